"""What may be done to the images of a dialogue before it is put to a model, each only on the user's wish and flagged."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from mmtests.dialogue import Dialogue, Message, Part, Text
from mmtests.image import Grid, Image, Resized

RESIZED = "images_resized"
COMBINED = "images_combined"


def resized(dialogue: Dialogue, longest: int) -> Dialogue:
    """Every image made smaller where its longer side has more than ``longest`` pixels."""

    def shrink(message: Message) -> Message:
        return replace(
            message,
            parts=tuple(
                replace(part, source=Resized(part.source, longest)) if isinstance(part, Image) else part
                for part in message.parts
            ),
        )

    return _changed(dialogue, shrink, RESIZED)


def combined(dialogue: Dialogue, own: Image | None = None) -> Dialogue:
    """The images of each message that has several in one grid picture before its text, where ``<Image k>`` takes the place of
    the k-th (MileBench, paper section 4.3 and Table 4).

    Args:
        own: the combined picture that the data itself brings, for a dialogue with one message.
    """
    return _changed(dialogue, lambda message: _combine(message, own), COMBINED)


def _combine(message: Message, own: Image | None) -> Message:
    images = message.images
    if len(images) < 2:
        return message
    grid = own or Image(Grid(tuple(image.source for image in images)), images[0].place)
    number = 0
    text = ""
    for part in message.parts:
        if isinstance(part, Text):
            text += part.text
        else:
            number += 1
            text += f"<Image {number}> "
    parts: tuple[Part, ...] = (grid, Text(f"\n{text}"))
    return replace(message, parts=parts)


def _changed(dialogue: Dialogue, change: Callable[[Message], Message], flag: str) -> Dialogue:
    turns = tuple(replace(turn, user=change(turn.user)) for turn in dialogue.turns)
    if turns == dialogue.turns:
        return dialogue
    trunk = f"{dialogue.trunk}/{flag}" if dialogue.trunk else ""
    return replace(dialogue, turns=turns, flags=(*dialogue.flags, flag), trunk=trunk)


class ImagePolicies(Struct, frozen=True):
    """``--image-policy``."""

    resize: int | None = None
    """The most pixels of the longer side."""
    combine: bool = False
