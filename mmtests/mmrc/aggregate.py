"""From item scores to the paper's Table 3, and to tables of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mmtests.dialogue import BLIND, GOLD, MULTI, Setting
from mmtests.mmrc.judging import ACCURACY
from mmtests.mmrc.metrics import EP, IMP, RP
from mmtests.mmrc.tasks import ABILITIES, FORMATS, OPEN
from mmtests.score import Record
from mmtests.summary import BenchmarkSummary, Cell, Gap, Row, Table, average, cell, dimension_cell, sight_notes

PAPER = "paper"
"""Each ability is the mean over its questions, Overall the plain mean of the six (paper Table 3)."""
AGGREGATIONS = (PAPER,)
OVERALL = "Overall"

METRICS: Mapping[str, float] = {EP: 1.0, IMP: 1.0, RP: 100.0}
"""The objective metrics, and what they are multiplied by to read as in the paper."""

LENGTHS = ((1, 3), (4, 9), (10, 15), (16, 22))
"""Turns of a conversation, from and to; the paper's have 4 to 22."""
POSITIONS = ("first third", "middle third", "last third", "several")
"""Where in the conversation the evidence of a question is; ``several`` if in more than one third."""

_NOTE_METRICS = (
    "EP and IMP are fractions, RP is percent, as in the paper's Table 3. Each is the mean over all questions of the run that "
    "have what it needs; whether the paper pools so or averages conversations first is not said."
)
_COMPARE = "Such figures do not compare with those of a judge that sees the conversation's pictures."
_NOTE_FORMATS = "score: the judge's, 0 to 5. accuracy: percent of replies that pick the right option, by a rule; no judge takes part."


def summarise(records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
    """The tables over the records of one run."""
    by_setting = {
        setting: own for setting in (MULTI, GOLD, BLIND) if (own := [r for r in records if r.setting == setting])
    }
    rows = {setting: row(setting, by_ability(own)) for setting, own in by_setting.items()}
    gaps = [gap(rows[MULTI], rows[other]) for other in (GOLD, BLIND) if MULTI in rows and other in rows]
    tables = [table for table in (_metrics(by_setting), _formats(by_setting)) if table.rows]
    for setting, own in by_setting.items():
        for title, name_of, order in _CUTS:
            if len((table := _cut(f"{title}, {setting}", own, name_of, order)).rows) > 1:
                tables.append(table)
    return BenchmarkSummary(
        "mmrc", "MMRC", aggregation, ABILITIES, tuple(rows.values()), tuple(gaps), tables=tuple(tables),
        average_title=OVERALL, notes=sight_notes(records, _COMPARE),
    )  # fmt: skip


def by_ability(records: Iterable[Record]) -> dict[str, Cell]:
    """A cell for each ability that there are records of."""
    everything = list(records)
    return {name: cell(own) for name in ABILITIES if (own := [r for r in everything if r.ability == name])}


def row(setting: Setting, cells: Mapping[str, Cell]) -> Row:
    """A line of Table 3: Overall is the mean of the six abilities, however many questions each has."""
    return Row(setting, cells, average(cells, ABILITIES), ABILITIES, any(one.proxy for one in cells.values()))


def gap(minuend: Row, subtrahend: Row) -> Gap:
    """One row minus another, over the abilities that both have whole."""
    both = {
        name: (one.mean or 0.0) - (other.mean or 0.0)
        for name in ABILITIES
        if (one := minuend.cells.get(name))
        and (other := subtrahend.cells.get(name))
        and one.complete
        and other.complete
    }
    mean = sum(both.values()) / len(ABILITIES) if len(both) == len(ABILITIES) else None
    proxies = tuple(name for name in both if minuend.cells[name].proxy or subtrahend.cells[name].proxy)
    return Gap(minuend.setting, subtrahend.setting, both, mean, ABILITIES, proxies)


def _metrics(by_setting: Mapping[Setting, Sequence[Record]]) -> Table:
    rows = {setting: cells for setting, own in by_setting.items() if (cells := metric_cells(own))}
    unnamed = sum(
        r.facts.get("metric") == EP and r.score is not None and not r.score.proxy and EP not in r.score.dimensions
        for own in by_setting.values()
        for r in own
    )
    note = f" EP is undefined for {unnamed} replies that name no item: they are left out." if unnamed else ""
    return Table("Objective metrics", tuple(METRICS), rows, note=_NOTE_METRICS + note)


def metric_cells(records: Sequence[Record]) -> dict[str, Cell]:
    """EP, IMP and RP over those questions whose data allows for them, and whose scores are a judge's.

    A reply for which a metric is undefined is no part of it; an item without a score counts as selected.
    """
    cells = {}
    for name, factor in METRICS.items():
        meant = [r for r in records if r.facts.get("metric") == name and not (r.score and r.score.proxy)]
        if meant:
            defined = [r for r in meant if r.score is None or name in r.score.dimensions]
            cells[name] = dimension_cell(defined, name, factor)
    return cells


def _formats(by_setting: Mapping[Setting, Sequence[Record]]) -> Table:
    rows = {}
    for setting, records in by_setting.items():
        for form in FORMATS:
            if own := [r for r in records if r.facts.get("format") == form]:
                rows[f"{form}, {setting}"] = {"score": cell(own)} | (
                    {} if form == OPEN else {"accuracy": accuracy(own)}
                )
    return Table("By format of the question", ("score", "accuracy"), rows, note=_NOTE_FORMATS)


def accuracy(records: Iterable[Record]) -> Cell:
    """Percent of the replies that pick the right option. In a run without a judge, that is what the proxy is made of."""
    everything = list(records)
    right = [
        record.score.value / record.score.scale.high if record.score.proxy else record.score.dimensions[ACCURACY]
        for record in everything
        if record.score is not None
    ]
    return Cell(100 * sum(right) / len(right) if right else None, len(right), len(everything))


def _topic(facts: Mapping[str, Any]) -> str | None:
    return facts.get("topic")


def _length(facts: Mapping[str, Any]) -> str | None:
    if (turns := facts.get("turns")) is None:  # an item that was not run has no facts
        return None
    return next((f"{low}-{high}" for low, high in LENGTHS if low <= turns <= high), f"over {LENGTHS[-1][1]}")


def _evidence(facts: Mapping[str, Any]) -> str | None:
    return facts.get("evidence")


_CUTS: tuple[tuple[str, Callable[[Mapping[str, Any]], str | None], tuple[str, ...] | None], ...] = (
    ("By topic", _topic, None),
    ("By turns of the conversation", _length, (*(f"{low}-{high}" for low, high in LENGTHS), f"over {LENGTHS[-1][1]}")),
    ("By place of the evidence", _evidence, POSITIONS),
)
"""Title, the row that a record belongs to by its facts, and the order of the rows; None: by name."""


def _cut(
    title: str,
    records: Sequence[Record],
    name_of: Callable[[Mapping[str, Any]], str | None],
    order: Sequence[str] | None,
) -> Table:
    groups: dict[str, list[Record]] = {}
    for record in records:
        if name := name_of(record.facts):
            groups.setdefault(name, []).append(record)
    names = [name for name in order or sorted(groups) if name in groups]
    rows = {name: by_ability(groups[name]) for name in names}
    whole = {name: _overall(cells) for name, cells in rows.items()}
    if all(one.mean is None for one in whole.values()):
        return Table(title, ABILITIES, rows)
    return Table(title, (OVERALL, *ABILITIES), {name: {OVERALL: whole[name], **cells} for name, cells in rows.items()})


def _overall(cells: Mapping[str, Cell]) -> Cell:
    return Cell(
        average(cells, ABILITIES), sum(one.scored for one in cells.values()), sum(one.selected for one in cells.values()),
        any(one.proxy for one in cells.values()),
    )  # fmt: skip


def place_of(evidence: Sequence[int], turns: int) -> str | None:
    """In which third of so many turns the evidence is, one of ``POSITIONS``; None without evidence."""
    thirds = {3 * (turn - 1) // turns for turn in evidence}
    if not thirds:
        return None
    return POSITIONS[thirds.pop()] if len(thirds) == 1 else POSITIONS[-1]
