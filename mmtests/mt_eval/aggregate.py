"""From item scores to the paper's Tables 2, 3, 4 and 11."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mmtests.dialogue import GOLD, MULTI, SINGLE, Setting
from mmtests.mt_eval.tasks import (
    ABILITIES,
    RECOLLECTION_CLS,
    RECOLLECTION_GLOBAL_INST,
    REFINEMENT,
    SINGLE_TURN_ABILITIES,
    TASKS,
)
from mmtests.score import Record
from mmtests.summary import BenchmarkSummary, Cell, Gap, Line, Row, average, cell

PAPER = "paper"
"""Recollection is the plain mean of its two sub-tasks: what the paper's tables print."""
REFERENCE_CODE = "reference-code"
"""Recollection is the mean over all its turns, so that the two sub-tasks weigh 100 to 280: what the official
``calculate_score.py`` computes, and the paper does not print."""

AGGREGATIONS = (PAPER, REFERENCE_CODE)


def summarise(records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
    """The tables over the records of one run."""
    settings = [setting for setting in (MULTI, SINGLE, GOLD) if any(r.setting == setting for r in records)]
    rows = [_row(setting, [r for r in records if r.setting == setting], aggregation) for setting in settings]
    by_setting = {row.setting: row for row in rows}
    gaps = [
        gap(by_setting[minuend], by_setting[subtrahend])
        for minuend, subtrahend in ((MULTI, SINGLE), (MULTI, GOLD))
        if minuend in by_setting and subtrahend in by_setting
    ]
    details = [_details(setting, [r for r in records if r.setting == setting]) for setting in settings]
    lines = [line for setting in settings if (line := refinement_line(setting, records))]
    return BenchmarkSummary(
        "mt_eval", "MT-Eval", aggregation, ABILITIES, tuple(rows), tuple(gaps), tuple(details), tuple(lines)
    )


def _row(setting: Setting, records: Sequence[Record], aggregation: str) -> Row:
    cells = {}
    for ability in ABILITIES:
        if own := [record for record in records if record.ability == ability]:
            tasks = {
                name: cell(r for r in own if r.task == name) for name, task in TASKS.items() if task.ability == ability
            }
            cells[ability] = recollection(tasks) if aggregation == PAPER and ability == "Recollection" else cell(own)
    return row(setting, cells)


def row(setting: Setting, cells: Mapping[str, Cell]) -> Row:
    """A line of Table 2 or 3: in ``single`` the average is over three abilities, as Table 3's."""
    names = SINGLE_TURN_ABILITIES if setting == SINGLE else ABILITIES
    proxy = any(cells[name].proxy for name in names if name in cells)
    return Row(setting, cells, average(cells, names), names, proxy)


def recollection(tasks: Mapping[str, Cell]) -> Cell:
    """The plain mean of the sub-tasks' means (paper Tables 2 and 11). No mean unless both sub-tasks have one."""
    parts = [tasks[RECOLLECTION_CLS], tasks[RECOLLECTION_GLOBAL_INST]]
    modes = {mode for part in parts for mode in part.other_modes}
    others = {
        mode: average(
            {str(n): Cell(p.other_modes.get(mode, p.mean), p.scored, p.selected) for n, p in enumerate(parts)},
            ("0", "1"),
        )
        for mode in sorted(modes)
    }
    return Cell(
        average(tasks, (RECOLLECTION_CLS, RECOLLECTION_GLOBAL_INST)),
        sum(part.scored for part in parts),
        sum(part.selected for part in parts),
        any(part.proxy for part in parts),
        others,
    )


def gap(minuend: Row, subtrahend: Row) -> Gap:
    """One row minus another, over the abilities that both have whole (paper Table 3)."""
    both = {
        ability: difference
        for ability in ABILITIES
        if (difference := _difference(minuend.cells.get(ability), subtrahend.cells.get(ability))) is not None
    }
    names = SINGLE_TURN_ABILITIES if SINGLE in (minuend.setting, subtrahend.setting) else ABILITIES
    mean = sum(both[name] for name in names) / len(names) if all(name in both for name in names) else None
    proxies = tuple(name for name in both if minuend.cells[name].proxy or subtrahend.cells[name].proxy)
    return Gap(minuend.setting, subtrahend.setting, both, mean, names, proxies)


def _difference(minuend: Cell | None, subtrahend: Cell | None) -> float | None:
    if minuend is None or subtrahend is None or minuend.mean is None or subtrahend.mean is None:
        return None
    return minuend.mean - subtrahend.mean if minuend.complete and subtrahend.complete else None


def _details(setting: Setting, records: Sequence[Record]) -> Row:
    """Each task on its own (the sub-tasks of Recollection are Table 11)."""
    cells = {name: cell(own) for name in TASKS if (own := [r for r in records if r.task == name])}
    return Row(setting, cells)


def refinement_line(setting: Setting, records: Sequence[Record]) -> Line | None:
    """Refinement at each turn, and over the first and the second NLP task (paper Table 4)."""
    own = [record for record in records if record.task == REFINEMENT and record.setting == setting]
    if setting == SINGLE or not own:
        return None
    points = {str(turn): cell(r for r in own if r.turn == turn) for turn in sorted({record.turn for record in own})}
    for part, name in ((1, "first task"), (2, "second task")):
        if chosen := [record for record in own if record.facts.get("part") == part]:
            points[name] = cell(chosen)
    return Line("Refinement by turn", setting, points)
