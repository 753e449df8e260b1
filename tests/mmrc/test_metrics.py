"""The objective metrics are the paper's formulas, and undefined where these divide by nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.mmrc.metrics import ep, imp, rp


@pytest.mark.parametrize(
    ("named", "labels", "value"),
    [
        (["tea", "milk"], ["tea", "milk"], 1.0),
        (["tea", "milk", "salt", "oil"], ["tea", "milk"], 0.5),
        (["tea"], ["tea", "milk", "rice"], 1.0),
        (["salt"], ["tea"], 0.0),
        (["tea", "tea", "milk"], ["tea"], 0.5),
        ([], ["tea"], None),
        (["Green  Tea", "green tea "], ["green tea"], 1.0),
    ],
)
def test_ep(named: list[str], labels: list[str], value: float | None) -> None:
    """Precision over distinct items, whatever their case."""
    assert ep(named, labels) == value


@pytest.mark.parametrize(
    ("retrieved", "gold", "value"),
    [
        ([1, 2], [1, 2], 1.0),
        ([1], [1, 2], 0.5),
        ([1, 2, 3, 4], [1, 2], 1.0),
        ([3], [1, 2], 0.0),
        ([], [1, 2], 0.0),
        ([1], [], None),
    ],
)
def test_imp(retrieved: list[int], gold: list[int], value: float | None) -> None:
    """In spite of its name a recall: pictures too many cost nothing."""
    assert imp(retrieved, gold) == value


@pytest.mark.parametrize(
    ("refused", "should", "value"),
    [
        ([1, 1, 0, 1], [1, 1, 1, 1], 0.75),
        ([0, 0], [1, 1], 0.0),
        ([1, 1, 1], [1, 0, 1], 1.0),
        ([1, 0, 0, 1, 1], [1, 1, 1, 1, 0], 0.5),
        ([0, 1], [1, 1], 0.5),
        ([1], [0], None),
        ([], [], None),
    ],
)
def test_rp(refused: list[int], should: list[int], value: float | None) -> None:
    """Only what should be declined counts."""
    assert rp(refused, should) == value


def test_rp_wants_pairs() -> None:
    """Every question has both."""
    with pytest.raises(ValueError, match="argument 2"):
        rp([True], [True, True])


def test_worked_examples(reference: Callable[[str], Any]) -> None:
    """Each worked example comes out exactly."""
    examples = reference("worked_examples.json")["mmrc_formulas"]

    assert {name: len(cases) for name, cases in examples.items()} == {"EP": 6, "IMP": 5, "RP": 5}
    assert [ep(case["model_items"], case["label_items"]) for case in examples["EP"]] == [
        c["EP"] for c in examples["EP"]
    ]
    assert [imp(c["retrieved"], c["gold"]) for c in examples["IMP"]] == [c["IMP"] for c in examples["IMP"]]
    assert [rp(c["refused"], c["should_refuse"]) for c in examples["RP"]] == [c["RP"] for c in examples["RP"]]


ITEMS = st.lists(st.text("abAB ", min_size=1, max_size=3).filter(str.strip))


@given(ITEMS, ITEMS)
def test_ep_is_a_share(named: list[str], labels: list[str]) -> None:
    """Within 0 and 1; whole if the labels are what was named; and no matter in what order or how often."""
    value = ep(named, labels)

    assert (value is None) == (not named)
    assert value is None or 0 <= value <= 1
    assert value is None or ep(named, [*labels, *named]) == 1
    assert ep([*reversed(named), *named], labels) == value


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_rp_is_the_mean_over_questions(pairs: list[tuple[bool, bool]]) -> None:
    """The formula over all questions is the mean of its values for each: a report may take either."""
    whole = rp([one for one, _ in pairs], [other for _, other in pairs])
    each = [value for one, other in pairs if (value := rp([one], [other])) is not None]

    assert whole == (pytest.approx(sum(each) / len(each)) if each else None)
