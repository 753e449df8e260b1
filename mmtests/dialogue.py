"""Dialogues, their turns, and the items made of them. Immutable: what a run adds is a reply and a score, never a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, field

Setting = str
"""How the same content is put to the model: ``multi``, ``single`` or ``gold``."""

MULTI: Setting = "multi"
"""The model's own replies are the history."""
SINGLE: Setting = "single"
"""One self-contained turn, without a history."""
GOLD: Setting = "gold"
"""The reference replies are the history."""

SETTINGS: tuple[Setting, ...] = (MULTI, SINGLE, GOLD)

Role = Literal["system", "user", "assistant"]


class Text(Struct, frozen=True, tag="text"):
    """A piece of text within a message."""

    text: str


Part = Text
"""What a message is made of, in order. Images join this union when the first benchmark with images does."""


class Message(Struct, frozen=True):
    """One message of a conversation, as it is sent to a model."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """All its text, joined."""
        return "".join(part.text for part in self.parts)

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

    @property
    def key(self) -> str:
        """The name of the dialogue in every id: ``mt_eval/refinement/multi/3_sum_qa``."""
        return f"{self.benchmark}/{self.task}/{self.setting}/{self.id}"

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
