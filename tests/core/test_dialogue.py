"""Ids are paths that a person can read, and the parts of a dialogue find each other by them."""

from __future__ import annotations

import pytest

from mmtests.dialogue import Dialogue, Item, Message, Text, Turn, dialogue_of, turn_id


def dialogue(*scored: bool) -> Dialogue:
    """A dialogue with these turns."""
    turns = tuple(Turn(n, str(n), Message.of("user", "?"), "!", one) for n, one in enumerate(scored, 1))
    return Dialogue("mt_eval", "refinement", "multi", "3_sum_qa", turns)


def test_ids() -> None:
    """An item's id names benchmark, task, setting, dialogue and turn, the turn in two digits."""
    several = dialogue(*[True] * 12)

    ids = [item.id for item in several.items]

    assert several.key == "mt_eval/refinement/multi/3_sum_qa"
    assert ids[3] == "mt_eval/refinement/multi/3_sum_qa/turn-04"
    assert ids[11] == "mt_eval/refinement/multi/3_sum_qa/turn-12"
    assert sorted(ids) == ids


def test_items_are_the_scored_turns() -> None:
    """Given turns are no items, but count in the numbers."""
    mixed = dialogue(False, True, False, True)

    assert [item.turn.number for item in mixed.items] == [2, 4]
    assert turn_id(mixed, mixed.turns[0]) == "mt_eval/refinement/multi/3_sum_qa/turn-01"
    assert turn_id(mixed, mixed.turns[1]) == next(mixed.items).id == Item(mixed, mixed.turns[1]).id


def test_items_can_be_read_again() -> None:
    """Each look at the items starts anew."""
    one = dialogue(True, True)

    assert len(list(one.items)) == len(list(one.items)) == 2


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("mt_eval/refinement/multi/3_sum_qa/turn-04", "mt_eval/refinement/multi/3_sum_qa"),
        ("mt_eval/follow-up/single/81#3/turn-01", "mt_eval/follow-up/single/81#3"),
        ("test_x.py::test_y[mt_eval/a/multi/1/turn-01]", "test_x.py::test_y[mt_eval/a/multi/1"),
        ("b/t/multi/odd/turn-01/turn-02", "b/t/multi/odd/turn-01"),
        ("test_x.py::test_y", "test_x.py::test_y"),
        ("", ""),
    ],
)
def test_dialogue_of(id: str, expected: str) -> None:
    """The dialogue is what stands before the last turn; an id without a turn is its own."""
    assert dialogue_of(id) == expected


def test_every_item_belongs_to_its_dialogue() -> None:
    """An item's id leads back to the key of its dialogue."""
    mixed = dialogue(False, True, True)

    assert {dialogue_of(item.id) for item in mixed.items} == {mixed.key}


def test_the_text_of_a_message() -> None:
    """A message's text is that of its parts, joined."""
    assert Message("user", (Text("a "), Text("b"))).text == "a b"
    assert Message.of("assistant", "hi") == Message("assistant", (Text("hi"),))


def test_nothing_changes() -> None:
    """A dialogue cannot be changed: what a run adds is kept elsewhere."""
    one = dialogue(True)

    with pytest.raises(AttributeError):
        one.turns[0].reference = "other"  # type: ignore[misc]
