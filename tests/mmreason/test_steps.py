"""The step score is the mean worth of the labels, and a verdict that does not label every step is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.mmreason.steps import WORTH, read_steps, shares, step_score
from mmtests.verdict import Unreadable

LABELS = st.lists(st.sampled_from(sorted(WORTH)), min_size=1, max_size=20)


def verdict(labels: list[str]) -> str:
    """A judge's good answer."""
    return json.dumps({"Steps": [{"Step": f"step {n}", "Label": label} for n, label in enumerate(labels, 1)]})


def test_worked_examples(reference: Callable[[str], Any]) -> None:
    """Our reading gives the worked examples; the paper's printed order would not."""
    cases = reference("worked_examples.json")["mmreason_intermediate"]

    assert [step_score(case["labels"]) for case in cases] == [case["S_inter"] for case in cases]
    literal = [case["S_inter_if_printed_order_taken_literally"] for case in cases]
    assert [step_score(case["labels"]) for case in cases] != literal
    assert len(cases) == 6


@pytest.mark.parametrize(
    ("labels", "score", "printed"),
    [
        (["correct"] * 3, 1.0, 0.0),
        (["correct", "unverifiable", "incorrect"], 0.5, 0.5),
        (["incorrect"] * 2, 0.0, 1.0),
        (["correct", "correct", "unverifiable", "incorrect"], 0.625, 0.375),
        (["unverifiable"], 0.5, 0.5),
        ([], None, None),
    ],
)
def test_step_score(labels: list[str], score: float | None, printed: float | None) -> None:
    """The same cases; the order that the paper prints would turn each score round."""
    assert step_score(labels) == score
    assert printed is None or score == 1 - printed


@given(LABELS)
def test_shares_make_the_score(labels: list[str]) -> None:
    """The shares add up to one, and weighted with their worth to the score."""
    read = read_steps(verdict(labels))

    assert read.dimensions == shares(labels)
    assert sum(read.dimensions.values()) == pytest.approx(1)
    assert sum(WORTH[label] * share for label, share in read.dimensions.items()) == pytest.approx(read.value)
    assert 0 <= read.value <= 1


GOOD = verdict(["correct", "incorrect"])


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (GOOD, "strict"),
        (f"\n{GOOD}\n", "strict"),
        (f"```json\n{GOOD}\n```", "lenient"),
        (f"Here it is: {GOOD} Good luck!", "lenient"),
        (GOOD.replace('"', "'"), "lenient"),
        (GOOD.replace("]", ",]"), "lenient"),
        (GOOD.replace("step 1", "step\n1"), "lenient"),
        (GOOD.replace("step 1", r"\sqrt{2}"), "lenient"),
        (GOOD.replace("Steps", "steps").replace("Label", "label").replace('"correct', '" Correct '), "strict"),
    ],
)
def test_forms(text: str, how: str) -> None:
    """Whatever is around the object or odd about its form, the labels are the same."""
    read = read_steps(text)

    assert (read.value, read.read) == (0.5, how)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no JSON object"),
        ("correct, incorrect", "no JSON object"),
        ("[]", "no list 'Steps'"),
        ('["correct"]', "no list 'Steps'"),
        ('{"Score": 1}', "no list 'Steps'"),
        ('{"Steps": 3}', "no list 'Steps'"),
        ('{"Steps": []}', "'Steps' is empty"),
        ('{"Steps": ["correct"]}', "step 1 is None"),
        ('{"Steps": [{"Step": "a"}]}', "step 1 is None"),
        ('{"Steps": [{"Label": "correct"}, {"Label": "right"}]}', "step 2 is 'right'"),
        ('{"Steps": [{"Label": 1}]}', "step 1 is 1"),
        ('{"Steps": [{"Label": ["correct"]}]}', r"step 1 is \['correct'\]"),
        (f"{GOOD} or rather {GOOD}", "no JSON object, or several"),
        ('{"Steps": [], "steps": [{"Label": "correct"}]}', "a key stands twice"),
        ('{"Steps": [{"Label": "correct", "Label": "incorrect"}]}', "a key stands twice"),
        (GOOD[:-10], "no JSON object"),
        ("{" * 50_000, "no JSON object"),
        ("{'Steps': [{'Label': str('correct')}]}", "no JSON object"),
    ],
)
def test_unreadable(text: str, says: str) -> None:
    """A verdict that leaves anything open is none, and the judge is told why."""
    with pytest.raises(Unreadable, match=says):
        read_steps(text)


def test_the_rationale() -> None:
    """A person can see which step was labelled how."""
    assert read_steps(GOOD).rationale == "correct: step 1; incorrect: step 2"
