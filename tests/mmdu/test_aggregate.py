"""Scores come together to the paper's table, and what has no score is a zero only where the row says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.dialogue import BLIND, GOLD, MULTI, Setting
from mmtests.mmdu.aggregate import summarise
from mmtests.mmdu.published import TABLE_2
from mmtests.mmdu.scoring import vlmevalkit
from mmtests.mmdu.tasks import DIMENSIONS, JUDGED, KEYS, OVERALL
from mmtests.score import Record, Score
from mmtests.summary import BenchmarkSummary, Cell, Table

COLUMNS = (*DIMENSIONS, "Avg.")
SHORT = dict(zip(("C", "R", "VP", "LC", "AA", "IRU", "Avg."), COLUMNS, strict=True))
"""The columns of the paper's Table 2, as it heads them."""


def record(
    value: float | None,
    *,
    dialogue: str = "1",
    turn: int = 1,
    setting: Setting = MULTI,
    scorer: str = "judge:j",
    flags: tuple[str, ...] = (),
    sample: bool = False,
    **dimensions: float,
) -> Record:
    """What a run keeps of a turn; without a value it has no score. Dimensions are as the value, but for those given."""
    every = dict.fromkeys(DIMENSIONS, value or 0) | {name.replace("_", " "): one for name, one in dimensions.items()}
    score = None if value is None else Score(
        value, JUDGED, scorer, by_mode={"reference": value, "strict": value} if scorer.startswith("judge") else {},
        dimensions=every if scorer.startswith("judge") else {},
    )  # fmt: skip
    return Record(
        f"mmdu/dialogue/{setting}/{dialogue}/turn-{turn:02}", "mmdu", "dialogue", OVERALL, setting, dialogue, turn,
        "unjudged" if value is None else "passed", score=score, flags=flags, sample=sample,
    )  # fmt: skip


def several(dialogue: str, values: Iterable[float | None], **more: Any) -> list[Record]:
    """The turns of a dialogue."""
    return [record(value, dialogue=dialogue, turn=turn, **more) for turn, value in enumerate(values, 1)]


def table(summary: BenchmarkSummary, title: str) -> Table:
    """One of the further tables."""
    (found,) = [one for one in summary.tables if one.title == title]
    return found


def averages(summary: BenchmarkSummary, setting: Setting = MULTI) -> dict[str, float | None]:
    """The overall score by each way of pooling."""
    rows = table(summary, "By way of pooling").rows
    return {
        name.removeprefix(f"{setting}: "): cells["Avg."].mean
        for name, cells in rows.items()
        if name.startswith(f"{setting}: ")
    }


# The headline


def test_a_row() -> None:
    """Figures are in percent; the columns are the six dimensions in the paper's order, and Avg. is the overall score."""
    summary = summarise([record(6, Creativity=4), record(9, turn=2, Creativity=8, Richness=2)], "paper")

    (row,) = summary.rows
    assert (summary.benchmark, summary.unit, summary.average_title) == ("mmdu", "percent", "Avg.")
    assert summary.columns == (
        "Creativity", "Richness", "Visual Perception", "Logical Coherence", "Answer Accuracy",
        "Image Relationship Understanding",
    )  # fmt: skip
    assert {name: cell.mean for name, cell in row.cells.items()} == {
        **dict.fromkeys(DIMENSIONS, 75), "Creativity": 60, "Richness": 40, OVERALL: 75,
    }  # fmt: skip
    assert (row.average, row.average_of, row.proxy) == (75, (OVERALL,), False)
    assert all(cell.complete for cell in row.cells.values())


def test_turns_are_pooled() -> None:
    """A dialogue of one turn and one of three weigh one to three in the headline, and alike by dialogue."""
    summary = summarise([*several("a", [6]), *several("b", [9, 9, 9])], "paper")

    assert summary.rows[0].average == 82.5
    assert averages(summary) == {
        "valid by turn": 82.5, "all by turn": 82.5, "valid by dialogue": 75, "all by dialogue": 75,
    }  # fmt: skip


def test_no_score_is_not_zero() -> None:
    """A turn without a score is left out of the headline, which is incomplete; only the rows called all take it as 0."""
    summary = summarise([*several("a", [6, None, 6, None]), *several("b", [9])], "paper")

    (row,) = summary.rows
    assert row.average == 70
    for cell in row.cells.values():
        assert (cell.mean, cell.scored, cell.selected, cell.complete) == (70, 3, 5, False)
    assert averages(summary) == {
        "valid by turn": 70, "all by turn": 42, "valid by dialogue": 75, "all by dialogue": 60,
    }  # fmt: skip
    for cells in table(summary, "By way of pooling").rows.values():
        assert tuple(cells) == COLUMNS
        assert {(cell.scored, cell.selected) for cell in cells.values()} == {(3, 5)}
    assert "VLMEvalKit" in table(summary, "By way of pooling").note


def test_a_dialogue_without_scores() -> None:
    """By dialogue, one without any score has no mean of its own, or zero."""
    summary = summarise([*several("a", [None, None]), *several("b", [8])], "paper")

    assert averages(summary) == {
        "valid by turn": 80, "all by turn": pytest.approx(80 / 3), "valid by dialogue": 80, "all by dialogue": 40,
    }  # fmt: skip


def test_nothing_scored() -> None:
    """Without any score there is no mean, and no zero in its place."""
    (row,) = summarise([record(None)], "paper").rows

    assert row.average is None
    assert row.cells[OVERALL] == Cell(None, 0, 1)


def test_nothing_to_summarise() -> None:
    """No records give empty tables."""
    summary = summarise([], "paper")

    assert (summary.rows, summary.gaps, summary.details, summary.lines, summary.tables, summary.notes) == ((),) * 6


@given(st.lists(st.lists(st.none() | st.integers(0, 10), min_size=1, max_size=5), min_size=1, max_size=5))
def test_the_rows_of_vlmevalkit(dialogues: list[list[int | None]]) -> None:
    """From the same verdicts, the rows by turn are VLMEvalKit's."""
    records = [one for number, values in enumerate(dialogues) for one in several(str(number), values)]
    replies = [
        ["no dictionary" if value is None else str(dict.fromkeys(KEYS, value)) for value in values]
        for values in dialogues
    ]

    rows = table(summarise(records, "paper"), "By way of pooling").rows

    for column, key in zip(COLUMNS, KEYS, strict=True):
        means = vlmevalkit(replies)[key]
        assert rows["multi: all by turn"][column].mean == means.all
        assert rows["multi: valid by turn"][column].mean == means.valid


def test_the_other_mode() -> None:
    """Where strict mode reads another overall score, or the official parsers none, the details show both means."""
    kept = Score(7, JUDGED, "judge:j", by_mode={"reference": 7, "strict": 7.5})
    lost = Score(3, JUDGED, "judge:j", by_mode={"reference": None, "strict": 3})
    records = [
        Record(f"i{n}", "mmdu", "dialogue", OVERALL, MULTI, "1", n, "passed", score=score)
        for n, score in enumerate((kept, lost))
    ]

    (details,) = summarise(records, "paper").details

    assert details.cells[OVERALL].mean == 50
    assert details.cells[OVERALL].other_modes == {"reference": 70, "strict": 52.5}


# Settings


def test_settings_and_gaps() -> None:
    """Settings come as multi, gold, blind; multi is compared with each of the others, column by column."""
    records = [
        record(3, setting=BLIND), record(8, setting=GOLD, Creativity=9), record(7), record(7, turn=2),
    ]  # fmt: skip

    summary = summarise(records, "paper")

    assert [row.setting for row in summary.rows] == [MULTI, GOLD, BLIND]
    gold, blind = summary.gaps
    assert (gold.setting, gold.minus, gold.average, gold.average_of) == (MULTI, GOLD, -10, (OVERALL,))
    assert gold.abilities == {**dict.fromkeys(KEYS, -10), "Creativity": -20}
    assert (blind.minus, blind.average, blind.abilities) == (BLIND, 40, dict.fromkeys(KEYS, 40))
    assert not gold.proxy
    assert not blind.proxy


def test_an_incomplete_setting_has_no_gap() -> None:
    """A gap is only given between figures that are whole."""
    (gap,) = summarise([record(7), record(8, setting=GOLD), record(None, turn=2, setting=GOLD)], "paper").gaps

    assert (gap.abilities, gap.average) == ({}, None)


def test_by_turn() -> None:
    """The overall score at each turn, in order of number, over the dialogues that have it."""
    records = [*several("a", [10, *[4] * 10]), *several("b", [6, None]), *several("a", [1], setting=GOLD)]

    multi, gold = summarise(records, "paper").lines

    assert (multi.title, multi.setting, gold.setting) == ("Overall Score by turn", MULTI, GOLD)
    assert list(multi.points) == [*map(str, range(1, 12))]
    assert multi.points["1"].mean == 80
    assert (multi.points["2"].mean, multi.points["2"].scored, multi.points["2"].selected) == (40, 1, 2)
    assert multi.points["11"] == Cell(40, 1, 1)
    assert gold.points["1"].mean == 10


# Proxies, and judges that cannot see


def test_proxies_have_no_dimensions() -> None:
    """A run without a judge has an average by proxy, and no cell, pooling or comparison for what only a judge can say."""
    proxies = [record(4, scorer="proxy:rouge-l"), record(2, setting=BLIND, scorer="proxy:rouge-l")]

    summary = summarise(proxies, "paper")

    multi, _ = summary.rows
    assert set(multi.cells) == {OVERALL}
    assert (multi.average, multi.proxy, multi.cells[OVERALL].proxy) == (40, True, True)
    (gap,) = summary.gaps
    assert (gap.abilities, gap.average, gap.proxy) == ({OVERALL: 20}, 20, True)
    assert summary.tables == ()


def test_a_judge_that_cannot_see() -> None:
    """The reader is told how many verdicts rest on texts alone, and what they do not compare with."""
    records = [record(5, flags=("verdict_blind",)), record(5, turn=2, flags=("cached", "verdict_blind")), record(5)]

    (note,) = summarise(records, "paper").notes

    assert "takes no images: 2 verdicts" in note
    assert "not compare with the paper's" in note
    assert summarise([record(5)], "paper").notes == ()


# The paper's tables


def test_the_average_is_not_the_mean_of_six(reference: Callable[[str], Any]) -> None:
    """In no row of the paper's tables is Avg. the mean of the six, as far as rounding can tell."""
    printed = reference("published_tables.json")["mmdu"]
    rows = [row for row in printed["table2"]["rows"] if row["Models"] != "Delta"] + printed["table4"]["rows"]

    assert len(rows) == 17 + 15
    unlike = [row for row in rows if abs(fmean(row[short] for short in list(SHORT)[:6]) - row["Avg."]) > 0.1]
    higher = {
        row.get("Judgment Models") for row in rows if row["Avg."] > fmean(row[short] for short in list(SHORT)[:6])
    }
    assert len(unlike) >= 17 + 5
    assert higher >= {"Claude3-opus"}
    assert all(row in unlike for row in rows[:17])
    assert all(row["Avg."] < fmean(row[short] for short in list(SHORT)[:6]) for row in rows[:17])


def test_what_is_printed(reference: Callable[[str], Any]) -> None:
    """The figures kept to compare with are those of Table 2."""
    rows = reference("published_tables.json")["mmdu"]["table2"]["rows"]

    assert {
        row["Models"]: {column: row[short] for short, column in SHORT.items()}
        for row in rows
        if row["Models"] != "Delta"
    } == TABLE_2


def test_a_row_of_table_2() -> None:
    """GPT-4o's row: its Avg. of 70.2 is below the mean of the six, 70.33."""
    row = TABLE_2["GPT-4o"]

    assert row == dict(zip(COLUMNS, (63.7, 69.6, 66.7, 80.6, 73.3, 68.1, 70.2), strict=True))
    assert fmean(row[name] for name in DIMENSIONS) == pytest.approx(70.33, abs=0.01)


def test_beside_the_paper() -> None:
    """The multi row stands beside the paper's; a sample's does not, nor one of another setting."""
    beside = table(summarise([record(7, Creativity=3)], "paper"), "Table 2 of the paper")

    assert {column: cell.mean for column, cell in beside.rows["this run"].items()} == {
        **dict.fromkeys(COLUMNS, 70), "Creativity": 30,
    }  # fmt: skip
    assert beside.published is TABLE_2
    for others in ([record(7, sample=True)], [record(7, setting=GOLD)]):
        assert [one.title for one in summarise(others, "paper").tables] == ["By way of pooling"]
