"""What is done to images is done on the user's wish alone: each in its place, everything else as it was, and flagged."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmtests.dialogue import Dialogue, Message, Text, Turn, turn_id
from mmtests.image import Grid, Image, Inline, Resized
from mmtests.policies import COMBINED, RESIZED, combined, resized


def image(name: str) -> Image:
    """A picture known by its name."""
    return Image(Inline(name), f"data.json: record 1 (field {name})")


def user(*parts: str | Image) -> Message:
    """A user message."""
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))


def dialogue(*messages: Message, **more: object) -> Dialogue:
    """A dialogue with these user messages."""
    turns = tuple(
        Turn(number, str(number), message, f"Reply {number}.", scored=number > 1, facts={"kept": number})
        for number, message in enumerate(messages, 1)
    )
    return replace(Dialogue("b", "t", "multi", "1", turns, "Be kind.", {"also": "kept"}), **more)


A, B, C = image("a"), image("b"), image("c")
THREE = dialogue(user("One ", A, " two ", B, "?"), user("And now?"), user(C, " and this?"))

PARTS = st.lists(st.sampled_from(["x", " ", "long text", A, B, C]), max_size=6)


def parts(one: Dialogue) -> list[list[str | Image]]:
    """What its user messages are made of."""
    return [[part.text if isinstance(part, Text) else part for part in turn.user.parts] for turn in one.turns]


# Smaller


def test_resized() -> None:
    """Each image keeps its place and its name, and its pixels are to be fewer."""
    smaller = resized(THREE, 336)

    assert parts(smaller) == [
        ["One ", replace(A, source=Resized(A.source, 336)), " two ", replace(B, source=Resized(B.source, 336)), "?"],
        ["And now?"],
        [replace(C, source=Resized(C.source, 336)), " and this?"],
    ]
    assert smaller.flags == (RESIZED,)
    assert [one.place for turn in smaller.turns for one in turn.user.images] == [A.place, B.place, C.place]


# Several in one


def test_combined() -> None:
    """A message with several images has one grid before its text, where each image's number takes its place."""
    joined = combined(THREE)

    assert parts(joined) == [
        [Image(Grid((A.source, B.source)), A.place), "\nOne <Image 1>  two <Image 2> ?"],
        ["And now?"],
        [C, " and this?"],
    ]
    assert joined.flags == (COMBINED,)


def test_combined_with_a_picture_that_the_data_brings() -> None:
    """The data's own combined picture takes the place of a grid."""
    own = image("combined")

    assert parts(combined(dialogue(user(A, B, "?")), own)) == [[own, "\n<Image 1> <Image 2> ?"]]


@given(st.lists(PARTS, min_size=1, max_size=4))
def test_any_message_combined(messages: list[list[str | Image]]) -> None:
    """No text and no image is lost or moved: the grid holds the images in order, the text says where each was."""
    before = dialogue(*(user(*message) for message in messages))
    after = combined(before)

    for old, new in zip(before.turns, after.turns, strict=True):
        if len(old.user.images) < 2:
            assert new == old
            continue
        grid, text = new.user.parts
        assert isinstance(grid, Image)
        assert grid.source == Grid(tuple(one.source for one in old.user.images))
        assert isinstance(text, Text)
        pieces = re.split(r"(<Image \d+> )", text.text.removeprefix("\n"))
        numbers = [piece for piece in pieces if piece.startswith("<Image")]
        assert numbers == [f"<Image {number}> " for number in range(1, len(old.user.images) + 1)]
        shown = "".join("<image>" if piece.startswith("<Image") else piece for piece in pieces)
        assert shown == old.user.shown
    assert (after == before) == all(len(turn.user.images) < 2 for turn in before.turns)


# Both


@pytest.mark.parametrize("change", [combined, lambda one: resized(one, 10)], ids=["combined", "resized"])
def test_all_else_is_kept(change: object) -> None:
    """System prompt, replies, facts, ids and what is scored stay as they were, and the original is untouched."""
    before = parts(THREE)

    after = change(THREE)  # type: ignore[operator]

    assert parts(THREE) == before != parts(after)
    kept = [replace(turn, user=old.user) for turn, old in zip(after.turns, THREE.turns, strict=True)]
    assert replace(after, turns=tuple(kept), flags=()) == THREE
    assert [turn_id(after, turn) for turn in after.turns] == [turn_id(THREE, turn) for turn in THREE.turns]


@pytest.mark.parametrize("change", [combined, lambda one: resized(one, 10)], ids=["combined", "resized"])
def test_nothing_to_do(change: object) -> None:
    """A dialogue without images is the same dialogue, and not flagged."""
    plain = dialogue(user("Hello?"), user("And?"), trunk="t")

    assert change(plain) is plain  # type: ignore[operator]


def test_one_image_needs_no_grid() -> None:
    """A dialogue with at most one image a message is not combined."""
    single = dialogue(user(A, "?"), user("And ", B))

    assert combined(single) is single
    assert combined(single, own=C) is single


def test_one_after_the_other() -> None:
    """The grid itself can be made smaller; both are flagged, in the order in which they were done."""
    both = resized(combined(dialogue(user(A, B, "?"))), 400)

    (message,) = (turn.user for turn in both.turns)
    assert message.parts == (
        Image(Resized(Grid((A.source, B.source)), 400), A.place), Text("\n<Image 1> <Image 2> ?"),
    )  # fmt: skip
    assert both.flags == (COMBINED, RESIZED)


def test_a_shared_history() -> None:
    """Dialogues with a history in common have it in common afterwards, and with no dialogue that was not changed."""
    shared = dialogue(user(A, B, "?"), trunk="7")

    assert combined(shared).trunk == f"7/{COMBINED}"
    assert resized(combined(shared), 9).trunk == f"7/{COMBINED}/{RESIZED}"
    assert resized(dialogue(user(A)), 9).trunk == ""
