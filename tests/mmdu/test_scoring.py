"""VLMEvalKit's figures are reproduced from the same replies of a judge, without running any of them as code."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.mmdu.scoring import Means, official_values, pooled, vlmevalkit
from mmtests.mmdu.tasks import KEYS, OVERALL

SEVENS = str(dict.fromkeys(KEYS, 7))

CALCULATED = {
    "two dictionaries joined by the word and -> evaluated as Python, second one wins": {
        "all": {"Creativity": 35.0, "Overall Score": 35.0},
        "valid": {"Creativity": 70.0, "Overall Score": 70.0},
    },
    "expression instead of a number is evaluated": {
        "all": {"Creativity": 0.0, "Overall Score": 0.0},
        "valid": {"Creativity": None, "Overall Score": None},
    },
}
"""The two worked examples that VLMEvalKit only reads by running the judge's text as Python: it makes 60 of the first
(``{...} and {...}`` is the second dictionary) and 80 and 70 of the second (``3+5``). Here the reply holds nothing."""


def table(dialogues: Sequence[Sequence[str]], keys: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """VLMEvalKit's two rows, rounded as the worked examples are."""
    means = vlmevalkit(dialogues)
    rows: dict[str, dict[str, float | None]] = {}
    for row in ("all", "valid"):
        figures = {key: getattr(means[key], row) for key in keys}
        rows[row] = {key: None if figure is None else round(figure, 4) for key, figure in figures.items()}
    return rows


def test_worked_examples(reference: Callable[[str], Any]) -> None:
    """Each example that needs no code gives VLMEvalKit's figures; the two that do are read as holding nothing."""
    examples = reference("worked_examples.json")["mmdu_vlmevalkit"]

    assert len(examples) == 9
    assert {example["case"] for example in examples} >= set(CALCULATED)
    for example in examples:
        expected = CALCULATED.get(example["case"], example["result"])
        got = table(example["dialogues(judge replies per turn)"], ("Creativity", OVERALL))
        assert got == expected, example["case"]


@pytest.mark.parametrize(
    ("dialogues", "creativity", "overall"),
    [
        ([[SEVENS]], (70, 70), (70, 70)),
        ([[f"First it is good. {SEVENS} That is all."]], (70, 70), (70, 70)),
        ([[SEVENS.replace("7", "6")], [SEVENS.replace("7", "9")] * 3], (82.5, 82.5), (82.5, 82.5)),
        ([[SEVENS, "no dictionary"]], (35, 70), (35, 70)),
        ([[SEVENS, "{'Creativity': 7} then {'Overall Score': 5}"]], (35, 70), (35, 70)),
        ([[SEVENS, "{'Creativity': 8}"]], (75, 75), (35, 70)),
        ([["{'Creativity': -3, 'Overall Score': 7}"]], (0, 0), (70, 70)),
        (
            [[SEVENS.replace("7", score, 1)] for score in ("'8'", "15", "7.9")],
            (83.3333, 83.3333), (70, 70),
        ),
    ],
)  # fmt: skip
def test_both_rows(dialogues: list[list[str]], creativity: tuple[float, float], overall: tuple[float, float]) -> None:
    """Turns are pooled; in ``all`` a turn without the number counts as zero, in ``valid`` not at all."""
    rows = table(dialogues, ("Creativity", OVERALL))

    assert (rows["all"]["Creativity"], rows["valid"]["Creativity"]) == creativity
    assert (rows["all"][OVERALL], rows["valid"][OVERALL]) == overall


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", 7), ("0", 0), ("10", 10), ("11", 10), ("1e300", 10), ("-0.9", 0), ("7.9", 7), ("10.99", 10), ("'8'", 8),
        ("' 8 '", 8), ("'-3'", 0), ("'٨'", 8), ("True", 1), ("'7.9'", None), ("'seven'", None), ("''", None),
        ("None", None), ("[7]", None), ("{'score': 7}", None), ("1e999", None), ("-1e999", None), ("7j", None),
    ],
)  # fmt: skip
def test_one_value(value: str, expected: int | None) -> None:
    """A value is what ``int`` makes of it, between 0 and 10, or failed."""
    found = official_values(f"{{'Creativity': {value}, 'Richness': 4}}")

    assert found["Creativity"] == expected
    assert found["Richness"] == 4
    assert found[OVERALL] is None
    assert tuple(found) == KEYS


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "}", "}{", "{}", "{7}", "{7, 8}", "[7]", "no braces", "{'Creativity': Score}", "{'Creativity': 3+5}",
        "{'Creativity': 7} and {'Creativity': 8}", "{**{'Creativity': 7}}", "{'Creativity': int('7')}", '{"Creativity": null}',
        "{" * 10_000, "{'a':" * 5_000 + "}", "{'Creativity': 7, 'Creativity'}", "{[]: 7}", "\x00{}",
    ],
)  # fmt: skip
def test_nothing_to_read(text: str) -> None:
    """What is no literal dictionary holds no number, and does no harm."""
    assert set(official_values(text).values()) == {None}


def test_nothing_is_run(tmp_path: Path) -> None:
    """A judge that was talked into writing code does not get it run."""
    mark = tmp_path / "mark"

    found = official_values(f"{{'Creativity': open({str(mark)!r}, 'w').write('x'), 'Overall Score': 9}}")

    assert not mark.exists()
    assert found[OVERALL] is None


@given(st.dictionaries(st.sampled_from(KEYS), st.integers(-20, 20)), st.text("abc ,.:7", max_size=20))
def test_any_dictionary(scores: dict[str, int], prose: str) -> None:
    """Written as Python or as JSON, with prose around it, each number is found and clipped."""
    expected = {key: min(max(scores[key], 0), 10) if key in scores else None for key in KEYS}

    assert official_values(f"{prose}{scores}{prose}") == expected
    assert official_values(f"{prose}{json.dumps(scores)}{prose}") == expected


@given(st.lists(st.none() | st.integers(0, 10), min_size=1))
def test_zeros_never_raise_a_mean(values: list[int | None]) -> None:
    """``all`` is ``valid`` scaled by the share of turns that have a number."""
    found = [value for value in values if value is not None]

    means = pooled(values)

    assert means.valid == (10 * sum(found) / len(found) if found else None)
    assert means.all == pytest.approx((means.valid or 0) * len(found) / len(values))


def test_no_turns() -> None:
    """Of nothing there is no mean."""
    assert pooled([]) == Means(None, None)
    assert pooled([None]) == Means(0, None)
