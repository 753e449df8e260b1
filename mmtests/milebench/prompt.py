"""The user message of a sample: text and images in the order in which the model reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mmtests.dialogue import Part, Text
from mmtests.errors import DataError
from mmtests.image import File, Image
from mmtests.milebench.tasks import WITHOUT_LETTERS

_PLACEHOLDER = re.compile(r"\{(?:image|table)#([1-9][0-9]{0,5})\}")
_TAG = "<ImageHere>"
_BREAK = Text("\n")
UNPAIRED = "images_unpaired"
"""The flag of a sample whose images and placeholders are not one to one."""
_FIELD = "task_instance.context"

Fault = Callable[[str, str, str], DataError]
"""Problem, mend and field to an error that names the record."""


class Prompt(NamedTuple):
    """What follows the instruction."""

    parts: tuple[Part, ...]
    breaks: tuple[int, ...]
    """Which of the parts are line breaks that the official sample worker puts between and after adjacent images."""
    reordered: bool
    """True if the placeholders do not stand in the order of ``images_path``."""
    unpaired: bool
    """True if images and placeholders are not one to one."""


def with_choices(subset: str, context: str, choices: Sequence[str] | None) -> str:
    """The context with its options. Letters go on past Z as the official script's: ``[``, ``\\``, ..."""
    if choices is None:
        return context
    listed = choices if subset == WITHOUT_LETTERS else [f"{chr(65 + at)}. {text}" for at, text in enumerate(choices)]
    return "\n".join([f"{context}\nChoice list: ", *listed, "Your answer is: "])


def assemble(
    subset: str, context: str, choices: Sequence[str] | None, sources: Sequence[File], place: str, fault: Fault
) -> Prompt:
    """The context with its options, each placeholder an image: the k-th of ``images_path`` for number k.

    The official code gives images to placeholders in order, whatever their numbers, so that it shows others than are meant,
    or more placeholders than images, where the two are not one to one; part of the released data is so. Here a number that
    comes again shows its image again; one that no image has stays text, as officially; and images that no placeholder names
    stand before the context, so that none is lost.

    Args:
        sources: of ``images_path``.
        place: what names an image in messages, up to its index.
        fault: makes the error of this record.

    Raises:
        DataError: the text holds the official script's own mark for an image.
    """
    text = with_choices(subset, context, choices)
    if _TAG in text:
        raise fault(f"the text holds {_TAG}, which the official script takes for an image", "Write {image#k}.", _FIELD)
    texts, order = _split(text, len(sources))
    unnamed = sorted(set(range(len(sources))).difference(order))
    unpaired = bool(unnamed) or len(set(order)) < len(order) or len(order) < len(_PLACEHOLDER.findall(text))
    reordered = order != sorted(order)
    order, texts = [*unnamed, *order], ["", *[""] * (len(unnamed) - 1), *texts] if unnamed else texts
    parts: list[Part] = []
    breaks: list[int] = []
    if texts[0]:
        parts.append(Text(texts[0]))
    second = False
    for at, number in enumerate(order, 1):
        parts.append(Image(sources[number], f"{place}{number}])"))
        first = not second and at < len(order) and not texts[at]
        if first or second:
            breaks.append(len(parts))
            parts.append(_BREAK)
        second = first
        if texts[at]:
            parts.append(Text(texts[at]))
    return Prompt(tuple(parts), tuple(breaks), reordered, unpaired)


def _split(text: str, images: int) -> tuple[list[str], list[int]]:
    """The texts around the placeholders that have an image, and those placeholders' 0-based numbers."""
    pieces = _PLACEHOLDER.split(text)  # text, number, text, number, ..., text
    texts, order = [pieces[0]], []
    after = len(pieces[0])
    for number, following in zip(pieces[1::2], pieces[2::2], strict=True):
        end = text.index("}", after) + 1
        if int(number) <= images:
            order.append(int(number) - 1)
            texts.append(following)
        else:
            texts[-1] += text[after:end] + following
        after = end + len(following)
    return texts, order
