"""Scores come together to the paper's tables, and what has no score is never a zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mmtests.dialogue import GOLD, MULTI, SINGLE, Setting
from mmtests.mt_eval.aggregate import (
    AGGREGATIONS,
    PAPER,
    REFERENCE_CODE,
    gap,
    recollection,
    refinement_line,
    row,
    summarise,
)
from mmtests.mt_eval.tasks import ABILITIES, SINGLE_TURN_ABILITIES, TASKS
from mmtests.score import Record, Score
from mmtests.summary import Cell, average

CLS, GLOBAL = "recollection-cls", "recollection-global-inst"

PRINTED = 0.011
"""A mean of printed figures may differ by this much from the printed mean: both are rounded to two digits."""
PRINTED_DIFFERENCE = 0.016
"""As ``PRINTED``, where two columns of rounded figures are subtracted first."""

TABLE_2 = [
    {"Avg.": 9.03, "Recollection": 9.61, "Expansion": 9.07, "Refinement": 7.85, "Follow-up": 9.60},
    {"Avg.": 7.72, "Recollection": 6.90, "Expansion": 7.87, "Refinement": 6.92, "Follow-up": 9.21},
    {"Avg.": 6.11, "Recollection": 3.86, "Expansion": 5.87, "Refinement": 6.20, "Follow-up": 8.53},
]
"""GPT-4, GPT-3.5-Turbo and Llama-2-chat-7B, as printed."""

GPT_4 = {
    "ST Avg.": 9.17, "MT Avg.": 8.84, "MT-ST change": -0.33, "Recollection ST": 9.53, "Recollection MT": 9.61,
    "Expansion ST": 9.53, "Expansion MT": 9.07, "Refinement ST": 8.46, "Refinement MT": 7.85,
}  # fmt: skip
"""The row of Table 3."""


def whole(mean: float) -> Cell:
    """A cell with all its scores."""
    return Cell(mean, 1, 1)


def of_table_3(printed: Mapping[str, Any], column: str) -> dict[str, Cell]:
    """The cells of one setting in a row of Table 3."""
    return {ability: whole(printed[f"{ability} {column}"]) for ability in SINGLE_TURN_ABILITIES}


def record(task: str, value: float | None, *, setting: Setting = MULTI, turn: int = 1, **more: Any) -> Record:
    """What a run keeps of an item; without a value it has no score."""
    scale = TASKS[task].scale
    return Record(
        f"mt_eval/{task}/{setting}/1/turn-{turn:02}", "mt_eval", task, TASKS[task].ability, setting, "1", turn,
        "unjudged" if value is None else "passed",
        score=None if value is None else Score(value, scale, "rule:test"),
        **more,
    )  # fmt: skip


def one_of_each(setting: Setting = MULTI) -> list[Record]:
    """A record of each task."""
    values = {CLS: 10, GLOBAL: 0, "expansion": 6, "refinement": 7, "follow-up": 8}
    return [record(task, value, setting=setting) for task, value in values.items()]


# The paper's tables, from their own figures


@pytest.mark.parametrize("printed", TABLE_2)
def test_average_of_table_2(printed: dict[str, float]) -> None:
    """The average of a row is the plain mean of its four abilities."""
    cells = {ability: whole(printed[ability]) for ability in ABILITIES}

    assert row(MULTI, cells).average == pytest.approx(printed["Avg."], abs=PRINTED)


def test_all_of_table_2(reference: Callable[[str], Any]) -> None:
    """Each row of Table 2 has the average printed for it."""
    rows = reference("published_tables.json")["mteval"]["table2"]["rows"]

    assert len(rows) == 11
    for printed in rows:
        cells = {ability: whole(printed[ability]) for ability in ABILITIES}
        assert row(MULTI, cells).average == pytest.approx(printed["Avg."], abs=PRINTED), printed["Model"]


def check_table_3(printed: Mapping[str, Any]) -> None:
    """Check one row's averages and their difference."""
    single, multi = row(SINGLE, of_table_3(printed, "ST")), row(MULTI, of_table_3(printed, "MT"))
    change = gap(multi, single)

    assert single.average == pytest.approx(printed["ST Avg."], abs=PRINTED)
    assert average(multi.cells, SINGLE_TURN_ABILITIES) == pytest.approx(printed["MT Avg."], abs=PRINTED)
    assert change.average == pytest.approx(printed["MT-ST change"], abs=PRINTED_DIFFERENCE)
    assert change.average_of == single.average_of == SINGLE_TURN_ABILITIES


def test_a_row_of_table_3() -> None:
    """Single-turn averages and changes are over three abilities, as Follow-up is not in Table 3."""
    check_table_3(GPT_4)


def test_all_of_table_3(reference: Callable[[str], Any]) -> None:
    """Each row of Table 3 has the averages and the change printed for it."""
    rows = reference("published_tables.json")["mteval"]["table3"]["rows"]

    assert len(rows) == 11
    for printed in rows:
        check_table_3(printed)


@pytest.mark.parametrize(
    ("cls", "global_inst", "printed"), [(9.50, 9.71, 9.61), (9.20, 4.61, 6.90), (9.30, 9.75, 9.53)]
)
def test_recollection(cls: float, global_inst: float, printed: float) -> None:
    """Recollection is the plain mean of its two sub-tasks, however many items each has."""
    cell = recollection({CLS: Cell(cls, 100, 100), GLOBAL: Cell(global_inst, 280, 280)})

    assert cell.mean == pytest.approx(printed, abs=PRINTED)
    assert (cell.scored, cell.selected, cell.complete) == (380, 380, True)


@pytest.mark.parametrize(("form", "column"), [("Single-Turn", "ST"), ("Multi-Turn", "MT")])
def test_recollection_of_table_3_is_from_table_11(reference: Callable[[str], Any], form: str, column: str) -> None:
    """The sub-tasks of Table 11 give the Recollection of Table 3, in each row."""
    tables = reference("published_tables.json")["mteval"]
    printed = {line["Model"]: line[f"Recollection {column}"] for line in tables["table3"]["rows"]}

    assert len(printed) == 11
    for line in tables["table11"]["rows"]:
        cell = recollection({CLS: whole(line[f"CLS {form}"]), GLOBAL: whole(line[f"Global Inst. {form}"])})
        assert cell.mean == pytest.approx(printed[line["Model"]], abs=PRINTED), line["Model"]


# From records


def test_two_aggregations() -> None:
    """The paper weighs the sub-tasks of Recollection alike; the official code weighs them 100 to 280."""
    records = [record(CLS, 10)] * 100 + [record(GLOBAL, 5)] * 280

    means = {name: summarise(records, name).rows[0].cells["Recollection"].mean for name in AGGREGATIONS}

    assert means[PAPER] == 7.5
    assert means[REFERENCE_CODE] == pytest.approx(6.32, abs=0.005)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_a_whole_summary(aggregation: str) -> None:
    """With a score for each ability there is an average; the sub-tasks stand on their own in the details."""
    summary = summarise(one_of_each(), aggregation)

    (line,), (details,) = summary.rows, summary.details
    assert summary.aggregation == aggregation
    assert summary.columns == tuple(line.cells) == ABILITIES
    assert {ability: cell.mean for ability, cell in line.cells.items()} == {
        "Recollection": 5, "Expansion": 6, "Refinement": 7, "Follow-up": 8,
    }  # fmt: skip
    assert line.average == 6.5
    assert {task: cell.mean for task, cell in details.cells.items()} == {
        CLS: 10, GLOBAL: 0, "expansion": 6, "refinement": 7, "follow-up": 8,
    }  # fmt: skip


def test_rows_and_gaps_in_order() -> None:
    """Settings come as multi, single, gold, and multi is compared with each of the others that was run."""
    records = one_of_each(GOLD) + one_of_each(SINGLE) + one_of_each(MULTI)

    summary = summarise(records, PAPER)

    assert [line.setting for line in summary.rows] == [MULTI, SINGLE, GOLD]
    assert [(one.setting, one.minus, one.average) for one in summary.gaps] == [(MULTI, SINGLE, 0), (MULTI, GOLD, 0)]
    assert [one.average_of for one in summary.gaps] == [SINGLE_TURN_ABILITIES, ABILITIES]


def test_a_run_of_one_setting_has_no_gaps() -> None:
    """There is nothing to compare in a run of one setting."""
    assert summarise(one_of_each(SINGLE), PAPER).gaps == ()


def test_the_gap_is_a_difference() -> None:
    """Each ability's gap is multi-turn minus single-turn, and their mean is over three abilities."""
    single = [record("expansion", 9, setting=SINGLE), *(r for r in one_of_each(SINGLE) if r.task != "expansion")]

    (difference,) = summarise(one_of_each(MULTI) + single, PAPER).gaps

    assert difference.abilities == {"Recollection": 0, "Expansion": -3, "Refinement": 0, "Follow-up": 0}
    assert difference.average == -1


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_no_score_is_not_zero(aggregation: str) -> None:
    """An item without a score counts as selected and leaves the mean as it was, but incomplete."""
    records = [*one_of_each(), record(CLS, None), record("follow-up", None)]

    cells = summarise(records, aggregation).rows[0].cells

    for ability, mean, scored, selected in (("Recollection", 5, 2, 3), ("Follow-up", 8, 1, 2)):
        assert (cells[ability].mean, cells[ability].scored, cells[ability].selected) == (mean, scored, selected)
        assert not cells[ability].complete
    assert cells["Expansion"].complete


def test_an_incomplete_ability_has_no_gap() -> None:
    """A gap is only given between cells that are whole, and so the mean of the gaps."""
    records = [*one_of_each(MULTI), *one_of_each(SINGLE), record("refinement", None, setting=SINGLE)]

    (difference,) = summarise(records, PAPER).gaps

    assert "Refinement" not in difference.abilities
    assert "Expansion" in difference.abilities
    assert difference.average is None


@pytest.mark.parametrize("missing", ["Expansion", "Refinement", "Follow-up", "Recollection"])
def test_no_average_without_all_abilities(missing: str) -> None:
    """A run of some abilities has their cells and no average."""
    records = [one for one in one_of_each() if one.ability != missing]

    (line,) = summarise(records, PAPER).rows

    assert set(line.cells) == set(ABILITIES) - {missing}
    assert line.average is None


def test_an_ability_without_scores() -> None:
    """An ability that was run and never scored has a cell without a mean, and the row no average."""
    records = [one for one in one_of_each() if one.task != "expansion"] + [record("expansion", None)]

    (line,) = summarise(records, PAPER).rows

    assert (line.cells["Expansion"].mean, line.cells["Expansion"].selected) == (None, 1)
    assert line.average is None


def test_single_needs_no_follow_up() -> None:
    """The single-turn average is over three abilities, with or without Follow-up."""
    records = one_of_each(SINGLE)
    fewer = [one for one in records if one.task != "follow-up"]

    averages = [summarise(some, PAPER).rows[0].average for some in (records, fewer)]

    assert averages == [6, 6]


@pytest.mark.parametrize("present", [CLS, GLOBAL])
def test_half_of_recollection_has_no_mean(present: str) -> None:
    """One sub-task alone is not Recollection as the paper means it."""
    records = [one for one in one_of_each() if one.ability != "Recollection"] + [record(present, 10)]

    (line,) = summarise(records, PAPER).rows

    assert line.cells["Recollection"].mean is None
    assert line.average is None


def test_other_modes_of_recollection() -> None:
    """In another mode too, Recollection is the plain mean of its sub-tasks."""
    parts = {CLS: Cell(8.0, 2, 2, other_modes={"strict": 6.0}), GLOBAL: whole(4.0)}

    assert recollection(parts).other_modes == {"strict": 5.0}


def test_a_proxy_marks_recollection() -> None:
    """Recollection is by proxy if one of its sub-tasks is."""
    assert recollection({CLS: Cell(8.0, 2, 2, proxy=True), GLOBAL: whole(4.0)}).proxy
    assert not recollection({CLS: whole(8.0), GLOBAL: whole(4.0)}).proxy


def test_a_proxy_marks_its_row() -> None:
    """A score by proxy marks its cell and its row, and no other."""
    proxy = record("expansion", None, setting=SINGLE)
    stand_in = Score(5.0, TASKS["expansion"].scale, "proxy:rouge-l")
    marked = Record(**{name: getattr(proxy, name) for name in proxy.__struct_fields__} | {"score": stand_in})

    multi, single = summarise([*one_of_each(MULTI), marked], PAPER).rows

    assert single.proxy
    assert single.cells["Expansion"].proxy
    assert not multi.proxy


# By turn


def refined(turn: int, value: float | None, part: int, setting: Setting = MULTI) -> Record:
    """A refinement turn's record."""
    return record("refinement", value, setting=setting, turn=turn, facts={"part": part})


def test_refinement_by_turn() -> None:
    """The line has a mean at each turn, in order of number, then one for each NLP task."""
    values = {turn: 13 - turn if turn < 10 else None for turn in range(12, 0, -1)}
    records = [refined(turn, value, 1 if turn <= 6 else 2) for turn, value in values.items()]

    (line,) = summarise(records, PAPER).lines

    assert list(line.points) == [*map(str, range(1, 13)), "first task", "second task"]
    assert line.points["1"].mean == 12
    assert line.points["12"].mean is None
    assert line.points["first task"].mean == pytest.approx(9.5)
    assert (line.points["second task"].mean, line.points["second task"].complete) == (5, False)


def test_a_line_for_each_setting_with_turns() -> None:
    """Gold history has its own line; single turns have none, nor has a run without refinement."""
    records = [refined(1, 5, 1), refined(1, 7, 1, GOLD), refined(1, 9, 1, SINGLE), record("expansion", 3)]

    lines = summarise(records, PAPER).lines

    assert [(line.setting, line.points["first task"].mean) for line in lines] == [(MULTI, 5), (GOLD, 7)]
    assert refinement_line(SINGLE, records) is None
    assert refinement_line(MULTI, [record("expansion", 3)]) is None


def test_nothing_to_summarise() -> None:
    """No records give empty tables."""
    summary = summarise([], PAPER)

    assert (summary.rows, summary.gaps, summary.details, summary.lines) == ((), (), (), ())
