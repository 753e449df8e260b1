"""Scores come together to the paper's tables in percent, and what has no score is never a zero unless it says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.dialogue import BLIND, SINGLE
from mmtests.mmreason.aggregate import (
    FINAL,
    INTERMEDIATE,
    OFFICIAL,
    OVERALL,
    RELEVANCE,
    TABLE_5,
    TEXT_ONLY,
    WITH_IMAGE,
    officially,
    relevance_rate,
    summarise,
)
from mmtests.mmreason.names import DISCIPLINES
from mmtests.score import Record
from mmtests.summary import BenchmarkSummary, Cell, Table
from tests.mmreason.data import STEPS, record


def summary(*records: Record) -> BenchmarkSummary:
    """What the records come to."""
    return summarise(records, "paper")


def table(found: BenchmarkSummary, title: str) -> Table | None:
    """The table whose title begins so."""
    return next((one for one in found.tables if one.title.startswith(title)), None)


def cells(found: BenchmarkSummary, title: str, row: str) -> dict[str, Cell]:
    """A row of a table that is there."""
    one = table(found, title)
    assert one is not None
    return dict(one.rows[row])


def test_overall_is_pooled() -> None:
    """The overall figure is over all questions alike: 2 of 4 are 50 %, where the mean of the columns would be 66.7 %."""
    found = summary(
        record(1, "Mathematics"), record(0, "Mathematics"), record(0, "Mathematics"), record(1, "Business")
    )  # fmt: skip

    (row,) = found.rows
    assert found.average_title == OVERALL
    assert found.unit == "percent"
    assert row.average == 50
    assert row.average_of == ("Mathematics", "Business")
    assert row.cells["Mathematics"].mean == pytest.approx(100 / 3)
    assert row.cells["Business"] == Cell(100, 1, 1)


def test_columns() -> None:
    """Disciplines stand in the paper's order as found, then unknown ones."""
    found = summary(*(record(1, name) for name in ("Zoology", "Health", "Art", "Mathematics", "Social Science")))

    assert found.columns == ("Mathematics", "Social Science", "Health", "Art", "Zoology")
    assert summary().columns == ()
    assert summary().rows == ()
    assert summary().tables == ()


def test_unjudged_is_no_zero() -> None:
    """Without a verdict an item is in no mean; the official figure, which counts it as wrong, stands beside under its name."""
    found = summary(record(1, id="1"), record(0, id="2"), record(None, id="3"), record(None, outcome="failed", id="4"))

    (row,) = found.rows
    assert row.cells["Mathematics"] == Cell(50, 2, 4)
    assert not row.cells["Mathematics"].complete
    overall = cells(found, "Overall", SINGLE)
    assert overall[FINAL] == Cell(50, 2, 4)
    assert overall[OFFICIAL].mean == pytest.approx(100 / 3)
    assert (overall[OFFICIAL].scored, overall[OFFICIAL].selected) == (3, 4)
    assert found.notes == (
        "single: 1 of 4 final answers are unjudged and in no mean here; the official script counts them as wrong: 33.33",
    )


def test_all_judged_needs_no_note() -> None:
    """With all verdicts the official figure is the mean, and nothing needs to be said."""
    found = summary(record(1), record(0))

    assert cells(found, "Overall", SINGLE)[OFFICIAL] == cells(found, "Overall", SINGLE)[FINAL] == Cell(50, 2, 2)
    assert found.notes == ()


@given(st.lists(st.sampled_from([1, 0, None]), min_size=1))
def test_the_official_mean(values: list[int | None]) -> None:
    """It is the right ones by all that were answered."""
    one = officially([record(value) for value in values])

    assert one.mean == pytest.approx(100 * sum(value or 0 for value in values) / len(values))
    assert (one.scored, one.selected) == (len(values), len(values))


def test_no_overall_without_all_disciplines() -> None:
    """A discipline of which nothing is scored leaves no overall figure that compares."""
    found = summary(record(1, "Mathematics"), record(None, "Health"))

    (row,) = found.rows
    assert row.average is None
    assert row.cells["Health"] == Cell(None, 0, 1)


def test_proxies_are_marked() -> None:
    """A stand-in's score marks its column, the row and the tables."""
    found = summary(record(1, "Mathematics"), record(1, "Health", scorer="proxy:final-answer"))

    (row,) = found.rows
    assert (row.proxy, row.cells["Mathematics"].proxy, row.cells["Health"].proxy) == (True, False, True)
    assert cells(found, "Overall", SINGLE)[OFFICIAL].proxy


def test_the_other_mode() -> None:
    """Where the other mode would score otherwise, its mean is beside."""
    found = summary(record(0, by_mode={"reference": 0, "strict": 1}), record(1, by_mode={"reference": 1, "strict": 1}))

    assert found.rows[0].cells["Mathematics"].other_modes == {"strict": 100}


def test_steps() -> None:
    """The step score has a table of its own, overall and by discipline, with the shares of the labels, and is in no column."""
    half = {"correct": 0.5, "unverifiable": 0.0, "incorrect": 0.5}
    none = {"correct": 0.0, "unverifiable": 0.5, "incorrect": 0.5}
    found = summary(
        record(1, "Mathematics"), record(1, "Health"),
        record(0.5, "Health", task=STEPS, dimensions=half), record(0.25, "Health", task=STEPS, dimensions=none),
        record(None, "Mathematics", task=STEPS),
    )  # fmt: skip

    assert found.rows[0].cells == {"Mathematics": Cell(100, 1, 1), "Health": Cell(100, 1, 1)}
    assert cells(found, "Intermediate", OVERALL) == {
        "score": Cell(37.5, 2, 3), "correct": Cell(25, 2, 3), "unverifiable": Cell(25, 2, 3),
        "incorrect": Cell(50, 2, 3),
    }  # fmt: skip
    assert cells(found, "Intermediate", "Mathematics")["score"] == Cell(None, 0, 1)
    assert cells(found, "Intermediate", "Health")["score"] == Cell(37.5, 2, 2)
    assert cells(found, "Overall", SINGLE)[INTERMEDIATE] == Cell(37.5, 2, 3)
    assert found.details[0].cells == {"answer": Cell(100, 2, 2), "steps": Cell(37.5, 2, 3)}


def test_no_steps() -> None:
    """Without reference steps there is no such table."""
    assert table(summary(record(1)), "Intermediate") is None


def test_by_source_and_level() -> None:
    """Where the data says whence a question is, accuracy is also given by that, in Table 4's order."""
    found = summary(
        record(1, source="MMMU", level="hard"), record(0, source="MMMU", level="easy"), record(1, source="M3CoT"),
        record(1, source="Own"), record(1, setting=BLIND),
    )  # fmt: skip

    by_source = table(found, "Final answer by source")
    assert by_source is not None
    assert by_source.columns == ("M3CoT", "MMMU", "Own")
    assert by_source.rows[SINGLE]["MMMU"] == Cell(50, 2, 2)
    assert by_source.rows[BLIND] == {}
    assert cells(found, "Final answer by level", SINGLE) == {"easy": Cell(0, 1, 1), "hard": Cell(100, 1, 1)}
    assert table(summary(record(1)), "Final answer by") is None


def test_blind() -> None:
    """With both settings there are their gap and how much of the accuracy needs the image."""
    found = summary(
        record(1, "Mathematics"), record(1, "Health"), record(1, "Health"), record(0, "Health"),
        record(1, "Mathematics", setting=BLIND),
        *(record(0, "Health", setting=BLIND) for _ in range(3)),
    )  # fmt: skip

    assert [row.setting for row in found.rows] == [SINGLE, BLIND]
    (gap,) = found.gaps
    assert (gap.setting, gap.minus) == (SINGLE, BLIND)
    assert gap.abilities == {"Mathematics": 0, "Health": pytest.approx(200 / 3)}
    assert gap.average == 50
    assert gap.average_of == ("Mathematics", "Health")
    relevance = cells(found, "Multimodal relevance", OVERALL)
    assert relevance == {
        WITH_IMAGE: Cell(75, 4, 4), TEXT_ONLY: Cell(25, 4, 4), RELEVANCE: Cell(100.0 * (75 - 25) / 75, 8, 8)
    }  # fmt: skip


def test_an_incomplete_gap() -> None:
    """A discipline that is not whole on both sides is in no gap, and then there is no overall gap either."""
    found = summary(
        record(1, "Mathematics"), record(1, "Health"), record(None, "Health"),
        record(0, "Mathematics", setting=BLIND), record(0, "Health", setting=BLIND),
    )  # fmt: skip

    (gap,) = found.gaps
    assert (gap.abilities, gap.average) == ({"Mathematics": 100}, None)
    relevance = cells(found, "Multimodal relevance", OVERALL)[RELEVANCE]
    assert (relevance.mean, relevance.complete) == (100, False)


def test_one_setting_has_no_gap() -> None:
    """A gap takes two."""
    assert summary(record(1)).gaps == ()
    assert table(summary(record(1)), "Multimodal relevance") is None
    assert [row.setting for row in summary(record(1, setting=BLIND)).rows] == [BLIND]


@pytest.mark.parametrize(("seen", "unseen", "rate"), [(0, 0, None), (0, 5, None), (20, 0, 100), (20, 30, -50)])
def test_relevance_at_its_ends(seen: float, unseen: float, rate: float | None) -> None:
    """It is undefined where nothing is right, and negative where the image leads astray."""
    assert relevance_rate(seen, unseen) == rate


@pytest.mark.parametrize("model", TABLE_5)
def test_table_5_as_embedded(model: str) -> None:
    """The rows that reports show beside our figures give their own relevance rate, as far as they are rounded."""
    row = TABLE_5[model]
    assert relevance_rate(row[WITH_IMAGE], row[TEXT_ONLY]) == pytest.approx(row[RELEVANCE], abs=0.1)


def test_table_5(reference: Callable[[str], Any]) -> None:
    """The printed relevance rates come from the printed accuracies, as far as those are rounded; one is off by a hair more."""
    rows = reference("published_tables.json")["mmreason"]["table5"]["rows"]
    assert len(rows) == 8

    off = []
    for row in rows:
        seen, unseen, printed = row["Text & Visual"], row["Text-only"], row["Multimodal Relevance Rate"]
        half = 0.05 if unseen > 10 else 0.005
        low, rate, high = (
            relevance_rate(seen + step, unseen - step * half / 0.05) or 0.0 for step in (-0.05, 0.0, 0.05)
        )
        assert rate == pytest.approx(printed, abs=0.1)
        if not low - 0.05 <= printed <= high + 0.05:
            off.append((row["group"], row["Models"], round(high, 3)))
    assert off == [("After filtering", "Qwen2.5-VL-7B", 96.049)]  # printed as 96.1, which takes 96.05


def test_known_inconsistencies(reference: Callable[[str], Any]) -> None:
    """Two models have another accuracy in Table 3 than in Table 5 after filtering, and two the same: the paper's own errors."""
    tables = reference("published_tables.json")["mmreason"]
    by_size = {(row["Models"], row["Size"]): row["Overall Final"] for row in tables["table3"]["rows"]}
    after = {r["Models"]: r["Text & Visual"] for r in tables["table5"]["rows"] if r["group"] == "After filtering"}

    assert (by_size["Qwen-2.5-VL", "7B"], after["Qwen2.5-VL-7B"]) == (16.8, 18.3)
    assert (by_size["LLaMA-3.2-Vision", "11B"], after["LLaMA-3.2-Vision-11B"]) == (11.9, 11.7)
    assert by_size["InternVL-2.5-MPO", "8B"] == after["InternVL2.5-8B-MPO"] == 12.4
    assert by_size["GPT-4o-1120", "-"] == after["GPT4o"] == 25.7


def test_text_only_is_no_count_of_questions(reference: Callable[[str], Any]) -> None:
    """Of 1,384 questions no whole number gives 0.69 % (9.5) to two digits: not all text-only accuracies can be exact."""
    rows = reference("published_tables.json")["mmreason"]["table5"]["rows"]
    unseen = {row["Text-only"] for row in rows if row["group"] == "After filtering"}

    possible = {round(100 * right / 1384, 2) for right in range(1385)}
    assert unseen == {0.65, 0.69, 0.73, 0.78}
    assert not unseen <= possible


def test_overall_is_not_the_mean_of_disciplines(reference: Callable[[str], Any]) -> None:
    """Table 3's overall figure is far below the plain mean of its columns for GPT-4o, and no fixed mean of them for all."""
    rows = reference("published_tables.json")["mmreason"]["table3"]["rows"]
    columns = ("Math", "Business", "Science", "Engineering", "Social", "Health")
    means = {row["Models"]: sum(row[name] for name in columns) / len(columns) for row in rows}

    assert means["GPT-4o-1120"] == pytest.approx(30.5, abs=0.05)
    assert next(row["Overall Final"] for row in rows if row["Models"] == "GPT-4o-1120") == 25.7
    assert len(columns) == len(DISCIPLINES)
