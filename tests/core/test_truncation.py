"""A message is cut as the official loader cuts it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.dialogue import Part, Text
from mmtests.image import File, Image
from mmtests.truncation import truncate_left

IMAGE_TOKENS = 10
END = " Q: colour? \nChoice list: \nA. red\nB. blue\nYour answer is: "


def image(number: int) -> Image:
    return Image(File(f"{number}.jpg"), f"[{number}]")


MESSAGE: tuple[Part, ...] = (
    Text("Look.\n"), Text("First "), image(1), Text(" then "), image(2), Text(" last "), image(3), Text(END),
)  # fmt: skip


def shown(parts: tuple[Part, ...]) -> str:
    """The parts as a string, with the number of each image."""
    return "".join(part.text if isinstance(part, Text) else part.place for part in parts)


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ((1000, 120), "First [1] then [2] last [3]" + END),
        ((110, 105), "[1] then [2] last [3]" + END),
        ((100, 95), " then [2] last [3]" + END),
        ((90,), "[2] last [3]" + END),
        ((85, 80), " last [3]" + END),
        ((75,), "[3]" + END),
        ((70,), END),
        *(((limit,), END[-(limit - 5) :]) for limit in range(20, 61, 5)),
    ],
)
def test_the_worked_example(limits: tuple[int, ...], kept: str) -> None:
    """With one token a character and ten an image, each length keeps what the official loader keeps."""
    for limit in limits:
        parts, cut = truncate_left(MESSAGE, limit, IMAGE_TOKENS, len)

        assert shown(parts) == "Look.\n" + kept
        assert cut is (limit < 111)


def test_what_fits_is_not_touched() -> None:
    """The very parts come back."""
    parts, cut = truncate_left(MESSAGE, 111, IMAGE_TOKENS, len)

    assert parts == MESSAGE
    assert not cut


def test_an_instruction_that_is_too_long() -> None:
    """The instruction is kept even if it alone exceeds the limit."""
    assert truncate_left(MESSAGE, 3, IMAGE_TOKENS, len) == ((Text("Look.\n"),), True)
    assert truncate_left(MESSAGE, 5, IMAGE_TOKENS, len) == ((Text("Look.\n"),), True)


def test_a_message_that_ends_with_an_image() -> None:
    """It is kept if it fits, and else nothing is."""
    parts = (Text("Look.\n"), Text("a"), image(1))

    assert truncate_left(parts, 15, IMAGE_TOKENS, len) == ((Text("Look.\n"), image(1)), True)
    assert truncate_left(parts, 14, IMAGE_TOKENS, len) == ((Text("Look.\n"),), True)


def test_a_combined_message() -> None:
    """The one picture before the instruction is kept with it, and counts."""
    parts = (image(1), Text("\nLook.\n"), Text("<Image 1> Which?"))

    cut = truncate_left(parts, 23, IMAGE_TOKENS, len)

    assert cut == ((image(1), Text("\nLook.\n"), Text(" Which?")), True)


def test_texts_are_counted_whole() -> None:
    """Several texts between two images are one for the tokenizer, and are cut as one."""
    parts = (Text("Look.\n"), image(1), Text("a b"), Text("c d"))

    def words(text: str) -> int:
        return len(text.split())

    assert truncate_left(parts, 4, 1, words) == ((Text("Look.\n"), Text("a b"), Text("c d")), True)
    assert truncate_left(parts, 3, 1, words) == ((Text("Look.\n"), Text(" bc d")), True)


def official(fragments: list[str], limit: int) -> tuple[str, int]:
    """What is kept, by the rule as formats.md words it: text with a tag for each image, and the number of images."""
    kept, left, images = "", limit, len(fragments) - 1
    shown_images = 0
    for number, fragment in enumerate(reversed(fragments)):
        if len(fragment) > left:
            if number == 0:
                kept = fragment[len(fragment) - left :] if left > 0 else ""
            break
        kept, left = fragment + kept, left - len(fragment)
        if number == images or left < IMAGE_TOKENS:
            break
        kept, left, shown_images = "#" + kept, left - IMAGE_TOKENS, shown_images + 1
    return kept, shown_images


@given(st.lists(st.text("abc", max_size=12), min_size=1, max_size=8), st.integers(0, 120))
def test_any_message(fragments: list[str], limit: int) -> None:
    """Whatever the message, the rule decides what is kept, and the limit is not exceeded."""
    parts: list[Part] = [Text("Look.\n")]
    for number, fragment in enumerate(fragments):
        if number:
            parts.append(image(number))
        if fragment:
            parts.append(Text(fragment))

    kept, cut = truncate_left(parts, 5 + limit, IMAGE_TOKENS, len)

    text = "".join(part.text if isinstance(part, Text) else "#" for part in kept)
    assert (text, sum(isinstance(part, Image) for part in kept)) == (
        "Look.\n" + official(fragments, limit)[0], official(fragments, limit)[1],
    )  # fmt: skip
    assert cut is (kept != tuple(parts))
    assert len(text) - 1 + (IMAGE_TOKENS - 1) * text.count("#") <= 5 + limit
