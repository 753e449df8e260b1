"""Means are over what was scored, and say what was not."""

from __future__ import annotations

import pytest

from mmtests.score import Mode, Record, Scale, Score
from mmtests.summary import Cell, average, cell

SCALE = Scale(0, 10)


def record(score: Score | None) -> Record:
    """A record of which only the score matters."""
    return Record("b/t/multi/1/turn-01", "b", "t", "Ability", "multi", "1", 1, "passed", score=score)


def scored(value: float, by_mode: dict[Mode, float | None] | None = None, scorer: str = "rule:test") -> Record:
    """A record with a score."""
    return record(Score(value, SCALE, scorer, by_mode=by_mode or {}))


def test_the_mean_of_a_cell() -> None:
    """The mean is over the scores."""
    assert cell([scored(2), scored(5)]) == Cell(3.5, 2, 2)
    assert cell([scored(2), scored(5)]).complete


def test_an_empty_cell() -> None:
    """Nothing selected has no mean, and is not complete."""
    assert cell([]) == Cell(None, 0, 0)
    assert not cell([]).complete


def test_records_without_a_score() -> None:
    """What has no score is counted as selected, and is not a zero."""
    assert cell([scored(4), record(None)]) == Cell(4, 1, 2)
    assert not cell([scored(4), record(None)]).complete
    assert cell([record(None)]) == Cell(None, 0, 1)


def test_a_cell_takes_any_iterable() -> None:
    """Records may come from a generator, which can be read only once."""
    assert cell(scored(value) for value in (1, 2, 3)) == Cell(2, 3, 3)


def test_one_proxy_marks_the_cell() -> None:
    """A cell with a stand-in's score is marked as such."""
    assert cell([scored(1), scored(2, scorer="proxy:rouge-l")]).proxy
    assert not cell([scored(1), scored(2)]).proxy


@pytest.mark.parametrize(
    ("records", "others"),
    [
        ([scored(10, {"reference": 10, "strict": 0}), scored(10, {"reference": 10, "strict": 10})], {"strict": 5}),
        ([scored(10, {"reference": 10, "strict": 10})], {}),
        ([scored(10, {"reference": 10, "strict": 4}), scored(2)], {"strict": 3}),
        ([scored(8, {"reference": 8, "strict": None}), scored(2, {"reference": 2, "strict": 2})], {"strict": 2}),
        ([scored(8, {"reference": 8, "strict": None})], {"strict": None}),
        ([scored(8), scored(2)], {}),
    ],
    ids=["differs", "agrees", "one has no modes", "one is left out", "all are left out", "none has modes"],
)
def test_other_modes(records: list[Record], others: dict[str, float | None]) -> None:
    """The mean in another mode is given where it differs: over what that mode scores, the others as they are."""
    assert cell(records).other_modes == others


def test_the_own_mode_is_no_other() -> None:
    """A run in strict mode shows what reference mode would have given."""
    strict = record(Score(4, SCALE, "rule:test", mode="strict", by_mode={"reference": 10, "strict": 4}))

    assert cell([strict]).other_modes == {"reference": 10}


def test_the_own_mode_dropped_here_alone() -> None:
    """A verdict that the official script drops is in the mean, and the official mean is shown beside it."""
    lenient = scored(9, {"reference": None, "strict": 9})
    plain = scored(3, {"reference": 3, "strict": 3})

    assert cell([lenient, plain]).mean == 6
    assert cell([lenient, plain]).other_modes == {"reference": 3}
    assert cell([lenient]).other_modes == {"reference": None}


@pytest.mark.parametrize(
    ("means", "names", "expected"),
    [
        ({"a": 1.0, "b": 4.0}, "ab", 2.5),
        ({"a": 1.0, "b": 4.0, "c": 9.0}, "ab", 2.5),
        ({"a": 0.0, "b": 0.0}, "ab", 0.0),
        ({"a": 1.0}, "ab", None),
        ({"a": 1.0, "b": None}, "ab", None),
        ({}, "ab", None),
        ({"a": 1.0}, "", None),
    ],
)
def test_average(means: dict[str, float | None], names: str, expected: float | None) -> None:
    """The average weighs the named cells alike, and there is none unless each of them has a mean."""
    cells = {name: Cell(mean, scored=number, selected=9) for number, (name, mean) in enumerate(means.items(), 1)}

    assert average(cells, names) == expected
