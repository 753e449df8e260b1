"""From item scores to the paper's Table 2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from mmtests.dialogue import BLIND, GOLD, MULTI, Setting
from mmtests.mmdu.published import TABLE_2
from mmtests.mmdu.scoring import pooled
from mmtests.mmdu.tasks import DIMENSIONS, KEYS, OVERALL, PERCENT
from mmtests.score import Record
from mmtests.summary import BenchmarkSummary, Cell, Gap, Line, Row, Table, cell, dimension_cell, sight_notes

PAPER = "paper"
"""Over all scored turns, each weighing the same; Avg. is the judge's own overall score (appendix D.1 and both codes)."""
AGGREGATIONS = (PAPER,)

AVERAGE = "Avg."
"""What Table 2 calls the overall score."""
_COLUMNS = (*DIMENSIONS, AVERAGE)

_COMPARE = (
    "Such figures do not compare with the paper's, whose judge sees all images of the dialogue (VLMEvalKit's does not)."
)

VALID = "valid by turn"
ALL = "all by turn"
VALID_MACRO = "valid by dialogue"
ALL_MACRO = "all by dialogue"


def summarise(records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
    """The tables over the records of one run."""
    by_setting = {
        setting: own for setting in (MULTI, GOLD, BLIND) if (own := [r for r in records if r.setting == setting])
    }
    rows = {setting: row(setting, own) for setting, own in by_setting.items()}
    gaps = [gap(rows[MULTI], rows[other]) for other in (GOLD, BLIND) if MULTI in rows and other in rows]
    details = [Row(setting, {OVERALL: cell(own, PERCENT)}) for setting, own in by_setting.items()]
    lines = [line(setting, own) for setting, own in by_setting.items()]
    judged = {setting: own for setting, own in by_setting.items() if not rows[setting].proxy}
    tables = [pooling(judged)] if judged else []
    if MULTI in judged and not any(record.sample for record in records):
        tables.append(beside_the_paper(rows[MULTI]))
    return BenchmarkSummary(
        "mmdu", "MMDU", aggregation, DIMENSIONS, tuple(rows.values()), tuple(gaps), tuple(details), tuple(lines),
        tuple(tables), "percent", AVERAGE, sight_notes(records, _COMPARE),
    )  # fmt: skip


def row(setting: Setting, records: Sequence[Record]) -> Row:
    """A line of Table 2. Its cells are the six dimensions and the overall score; the last of these alone is its average."""
    overall = cell(records, PERCENT)
    cells = {name: dimension_cell(records, name, PERCENT) for name in DIMENSIONS}
    if overall.proxy:
        cells = {name: one for name, one in cells.items() if one.scored}  # a stand-in has no dimensions to miss
    return Row(setting, {**cells, OVERALL: overall}, overall.mean, (OVERALL,), overall.proxy)


def gap(minuend: Row, subtrahend: Row) -> Gap:
    """One row minus another, over the columns that both have whole."""
    both = {
        name: difference
        for name in KEYS
        if (difference := _difference(minuend.cells.get(name), subtrahend.cells.get(name))) is not None
    }
    proxies = tuple(name for name in both if minuend.cells[name].proxy or subtrahend.cells[name].proxy)
    return Gap(minuend.setting, subtrahend.setting, both, both.get(OVERALL), (OVERALL,), proxies)


def _difference(minuend: Cell | None, subtrahend: Cell | None) -> float | None:
    if minuend is None or subtrahend is None or minuend.mean is None or subtrahend.mean is None:
        return None
    return minuend.mean - subtrahend.mean if minuend.complete and subtrahend.complete else None


def line(setting: Setting, records: Sequence[Record]) -> Line:
    """The overall score at each turn, over the dialogues that are that long."""
    turns = sorted({record.turn for record in records})
    points = {str(turn): cell((r for r in records if r.turn == turn), PERCENT) for turn in turns}
    return Line(f"{OVERALL} by turn", setting, points)


def pooling(by_setting: Mapping[Setting, Sequence[Record]]) -> Table:
    """The same columns by each rule that is in use: without or with zeros for turns that have no score, by turn or by
    dialogue (paper section 2.3)."""
    ways: Mapping[str, Callable[[Sequence[Record], str], Cell]] = {
        VALID: lambda records, key: _micro(records, key, zeros=False),
        ALL: lambda records, key: _micro(records, key, zeros=True),
        VALID_MACRO: lambda records, key: _macro(records, key, zeros=False),
        ALL_MACRO: lambda records, key: _macro(records, key, zeros=True),
    }
    rows = {
        f"{setting}: {name}": {column: way(records, key) for column, key in zip(_COLUMNS, KEYS, strict=True)}
        for setting, records in by_setting.items()
        for name, way in ways.items()
    }
    return Table(
        "By way of pooling", _COLUMNS, rows,
        note="all: a turn without a score counts as 0, as in VLMEvalKit's row of that name; valid: it is left out. By turn: "
        "each turn weighs the same, as in Table 2; by dialogue: each dialogue does, as section 2.3 of the paper says.",
    )  # fmt: skip


def _value(record: Record, key: str) -> float | None:
    if record.score is None:
        return None
    return record.score.value if key == OVERALL else record.score.dimensions.get(key)


def _micro(records: Iterable[Record], key: str, *, zeros: bool) -> Cell:
    values = [_value(record, key) for record in records]
    means = pooled(values)
    return Cell(means.all if zeros else means.valid, sum(value is not None for value in values), len(values))


def _macro(records: Iterable[Record], key: str, *, zeros: bool) -> Cell:
    """Over each dialogue's turns, then over the dialogues that have a mean."""
    dialogues: dict[str, list[Record]] = {}
    for record in records:
        dialogues.setdefault(record.dialogue, []).append(record)
    cells = [_micro(own, key, zeros=zeros) for own in dialogues.values()]
    means = [one.mean for one in cells if one.mean is not None]
    return Cell(fmean(means) if means else None, sum(one.scored for one in cells), sum(one.selected for one in cells))


def beside_the_paper(own: Row) -> Table:
    """The row, and those of the paper's Table 2."""
    cells = {column: own.cells[key] for column, key in zip(_COLUMNS, KEYS, strict=True) if key in own.cells}
    return Table(
        "Table 2 of the paper", _COLUMNS, {"this run": cells}, TABLE_2,
        "The paper's judge is GPT-4o, which sees the images, with a prompt of the paper's own.",
    )  # fmt: skip
