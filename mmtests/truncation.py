"""MileBench's way to make a long message fit: its beginning goes, its instruction and its end stay (paper section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mmtests.dialogue import Part, Text


def truncate_left(
    parts: Sequence[Part], limit: int, image_tokens: int, count: Callable[[str], int]
) -> tuple[tuple[Part, ...], bool]:
    """The message cut to a number of tokens, as the official loader cuts it.

    The first text is the instruction and always kept, with what stands before it (the one picture of a combined message).
    What follows is walked from its end: a text is kept whole if it fits, then the image before it if that fits, and so on,
    up to the first thing that does not. Only the last text is cut if it alone is too long, from its left.

    Args:
        parts: of the message, its instruction first.
        limit: tokens for the whole message.
        image_tokens: what each image costs.
        count: tokens of a text. The line break that ends the instruction is not counted, as officially.

    Returns:
        The parts kept, and whether any were cut. An instruction that is itself longer than the limit is kept alone.
    """
    everything = tuple(parts)
    start = next((at + 1 for at, part in enumerate(everything) if isinstance(part, Text)), len(everything))
    head = everything[:start]
    left = limit - sum(count(part.text.removesuffix("\n")) if isinstance(part, Text) else image_tokens for part in head)
    end = len(everything)
    while end > start:
        first = _text_before(everything, start, end)
        text = "".join(part.text for part in everything[first:end] if isinstance(part, Text))
        cost = count(text) if text else 0
        if cost > left:
            if end == len(everything):
                cut = _ending(text, left, count)
                return (*head, Text(cut)) if cut else head, True
            break
        left, end = left - cost, first
        if end == start:
            break
        if image_tokens > left:
            break
        left, end = left - image_tokens, end - 1
    kept = everything[end:]
    return (everything, False) if end == start else ((*head, *kept), True)


def _text_before(parts: Sequence[Part], start: int, end: int) -> int:
    """Where the run of texts that ends at ``end`` begins."""
    while end > start and isinstance(parts[end - 1], Text):
        end -= 1
    return end


def _ending(text: str, limit: int, count: Callable[[str], int]) -> str:
    """The longest ending of the text that fits, by halving: a longer ending has no fewer tokens."""
    fits, too_long = len(text), 0  # places at which an ending may begin
    while limit > 0 and fits - too_long > 1:
        middle = (fits + too_long) // 2
        if count(text[middle:]) <= limit:
            fits = middle
        else:
            too_long = middle
    return text[fits:]
