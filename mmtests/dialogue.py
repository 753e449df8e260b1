"""Dialogues, their turns, and the items made of them. Immutable: what a run adds is a reply and a score, never a change."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from mmtests.image import Image

Setting = str
"""How the same content is put to the model: one of ``SETTINGS``."""

MULTI: Setting = "multi"
"""The model's own replies are the history."""
SINGLE: Setting = "single"
"""One self-contained turn, without a history."""
GOLD: Setting = "gold"
"""The reference replies are the history."""
ADVERSARIAL: Setting = "adversarial"
"""The benchmark's own harder wording of the same questions (MileBench's ``-adv`` files)."""
BLIND: Setting = "blind"
"""The same questions without their images: what can be answered so needs no eyes, or was learnt by heart."""

SETTINGS: tuple[Setting, ...] = (MULTI, SINGLE, GOLD, ADVERSARIAL, BLIND)
USUAL: tuple[Setting, ...] = (MULTI, SINGLE)
"""Those that run unless others are asked for: the rest cost as much again and serve an ablation."""

Role = Literal["system", "user", "assistant"]


class Text(Struct, frozen=True, tag="text"):
    """A piece of text within a message."""

    text: str


Part = Text | Image
"""What a message is made of, in order."""


class Message(Struct, frozen=True):
    """One message of a conversation, as it is sent to a model."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """All its text, joined, without its images."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def images(self) -> tuple[Image, ...]:
        """Its images, in order."""
        return tuple(part for part in self.parts if isinstance(part, Image))

    @property
    def shown(self) -> str:
        """Its text with ``<image>`` where an image stands: for a person to read."""
        return "".join(part.text if isinstance(part, Text) else "<image>" for part in self.parts)

    @classmethod
    def of(cls, role: Role, text: str) -> Message:
        """A message of one piece of text."""
        return cls(role, (Text(text),))


class Turn(Struct, frozen=True):
    """One user message, and what is known about the reply to it."""

    number: int
    """1-based position among the turns of the dialogue, given turns included."""
    id: str
    """The id that the data file gives the turn."""
    user: Message
    reference: str | None
    """The reference reply; for a given turn, the reply that the history carries. None where the file has none."""
    scored: bool
    """True: the model must answer, and the reply is scored. False: the turn is given, with ``reference`` as its reply."""
    asked: bool = False
    """True for a turn that is not scored and that the model answers all the same: its own reply becomes the history."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the benchmark's own scorer needs to know about the turn."""


class Dialogue(Struct, frozen=True):
    """Ordered turns with one history, in one setting. Indivisible: it runs in one place, in order."""

    benchmark: str
    task: str
    setting: Setting
    id: str
    turns: tuple[Turn, ...]
    system: str | None = None
    """The system prompt, if the benchmark prescribes one."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the benchmark's own scorer needs to know about the dialogue."""
    flags: tuple[str, ...] = ()
    """What was done to it on the user's wish, for every record of it: ``images_resized``, ``images_combined``."""
    trunk: str = ""
    """A name that dialogues with the same history have in common: each asks its own last turn on a copy of it."""

    @property
    def key(self) -> str:
        """The name of the dialogue in every id: ``mt_eval/refinement/multi/3_sum_qa``."""
        return f"{self.benchmark}/{self.task}/{self.setting}/{self.id}"

    @property
    def images(self) -> Iterator[Image]:
        """All images of its user messages."""
        return (image for turn in self.turns for image in turn.user.images)

    @property
    def items(self) -> Iterator[Item]:
        """Its scored turns."""
        return (Item(self, turn) for turn in self.turns if turn.scored)


class Item(Struct, frozen=True):
    """One scored turn in one setting: one pytest test."""

    dialogue: Dialogue
    turn: Turn

    @property
    def id(self) -> str:
        """A path a person can read and select by: ``mt_eval/refinement/multi/3_sum_qa/turn-04``."""
        return turn_id(self.dialogue, self.turn)


def turn_id(dialogue: Dialogue, turn: Turn) -> str:
    """The id of a turn, scored or not."""
    return f"{dialogue.key}/turn-{turn.number:02}"


def dialogue_of(item_id: str) -> str:
    """The dialogue that an item id, or a pytest node id that ends in one, belongs to."""
    return item_id.rpartition("/turn-")[0] or item_id


def without_images(dialogue: Dialogue) -> Dialogue:
    """The dialogue in the ``blind`` setting: the same messages, all images left out."""
    turns = tuple(
        replace(turn, user=replace(turn.user, parts=tuple(part for part in turn.user.parts if isinstance(part, Text))))
        for turn in dialogue.turns
    )
    return replace(dialogue, setting=BLIND, turns=turns, trunk=f"{dialogue.trunk}/{BLIND}" if dialogue.trunk else "")


def with_images(messages: Sequence[Message], kept: Container[int]) -> tuple[Message, ...]:
    """The messages with only those of their images whose 0-based number, counted over all, is in ``kept``."""
    number = itertools.count()
    return tuple(
        replace(message, parts=tuple(part for part in message.parts if isinstance(part, Text) or next(number) in kept))
        for message in messages
    )
