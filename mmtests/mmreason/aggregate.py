"""From item scores to the paper's Tables 3, 4 and 5, in percent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mmtests.dialogue import BLIND, SINGLE, Setting
from mmtests.mmreason.names import DISCIPLINES, SOURCES
from mmtests.mmreason.steps import WORTH
from mmtests.mmreason.tasks import ANSWER, STEPS, TASKS
from mmtests.score import Record
from mmtests.summary import BenchmarkSummary, Cell, Gap, Row, Table, cell, dimension_cell

PAPER = "paper"
AGGREGATIONS = (PAPER,)

PERCENT = 100.0
OVERALL = "Overall"
FINAL = "final answer"
OFFICIAL = "final answer, unjudged as wrong"
INTERMEDIATE = "steps"
WITH_IMAGE, TEXT_ONLY, RELEVANCE = "with image", "text only", "relevance rate"

TABLE_5 = {
    "LLaMA-3.2-Vision-11B": {WITH_IMAGE: 11.7, TEXT_ONLY: 0.65, RELEVANCE: 94.5},
    "InternVL2.5-8B-MPO": {WITH_IMAGE: 12.4, TEXT_ONLY: 0.69, RELEVANCE: 94.5},
    "Qwen2.5-VL-7B": {WITH_IMAGE: 18.3, TEXT_ONLY: 0.73, RELEVANCE: 96.1},
    "GPT-4o": {WITH_IMAGE: 25.7, TEXT_ONLY: 0.78, RELEVANCE: 97.0},
}
"""The rows of Table 5 after filtering, as printed."""


def summarise(records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
    """The tables over the records of one run. There is one aggregation, the paper's."""
    answers = [record for record in records if record.task == ANSWER]
    steps = [record for record in records if record.task == STEPS]
    settings = [setting for setting in (SINGLE, BLIND) if any(r.setting == setting for r in answers)]
    columns = _ordered(DISCIPLINES, (_fact(record, "discipline") for record in answers))
    by_setting = {setting: [r for r in answers if r.setting == setting] for setting in settings}
    rows = {setting: row(setting, own, columns) for setting, own in by_setting.items()}
    both = SINGLE in rows and BLIND in rows
    tables = [
        _overall(by_setting, steps),
        _steps(steps),
        _by("source", SOURCES, by_setting),
        _by("level", (), by_setting),
        relevance(by_setting[SINGLE], by_setting[BLIND]) if both else None,
    ]
    return BenchmarkSummary(
        "mmreason", "MMReason", aggregation, columns, tuple(rows.values()),
        gaps=(gap(rows[SINGLE], rows[BLIND]),) if both else (),
        details=tuple(_details(setting, records) for setting in settings),
        tables=tuple(table for table in tables if table),
        unit="percent", average_title=OVERALL,
        notes=tuple(_notes(by_setting)),
    )  # fmt: skip


def row(setting: Setting, answers: Sequence[Record], columns: Sequence[str]) -> Row:
    """A line of Table 3: accuracy by discipline. The overall figure is over all questions alike, not the mean of columns."""
    cells = {name: _percent(own) for name in columns if (own := [r for r in answers if _fact(r, "discipline") == name])}
    pooled = _percent(answers)
    whole = bool(cells) and all(one.mean is not None for one in cells.values())
    return Row(setting, cells, pooled.mean if whole else None, tuple(cells), pooled.proxy)


def gap(minuend: Row, subtrahend: Row) -> Gap:
    """One row minus another, over the disciplines that both have whole. Overall only if those are all."""
    both = {}
    for name in minuend.cells:
        one, other = minuend.cells[name], subtrahend.cells.get(name)
        if other and one.complete and other.complete and one.mean is not None and other.mean is not None:
            both[name] = one.mean - other.mean
    whole = set(both) == {*minuend.cells, *subtrahend.cells}
    average = None
    if whole and minuend.average is not None and subtrahend.average is not None:
        average = minuend.average - subtrahend.average
    proxies = tuple(name for name in both if minuend.cells[name].proxy or subtrahend.cells[name].proxy)
    return Gap(minuend.setting, subtrahend.setting, both, average, tuple(minuend.cells), proxies)


def relevance_rate(with_image: float, text_only: float) -> float | None:
    """How much of the accuracy needs the image, in percent (Table 5). None where nothing is right with it either.

    Args:
        with_image, text_only: accuracies on one scale.
    """
    return PERCENT * (with_image - text_only) / with_image if with_image else None


def relevance(single: Sequence[Record], blind: Sequence[Record]) -> Table:
    """The multimodal relevance rate beside the two accuracies that it is made of."""
    seen, unseen = _percent(single), _percent(blind)
    rate = None if seen.mean is None or unseen.mean is None else relevance_rate(seen.mean, unseen.mean)
    cells = {
        WITH_IMAGE: seen,
        TEXT_ONLY: unseen,
        RELEVANCE: Cell(
            rate, seen.scored + unseen.scored, seen.selected + unseen.selected, seen.proxy or unseen.proxy
        ),
    }  # fmt: skip
    return Table(
        "Multimodal relevance (Table 5)", tuple(cells), {OVERALL: cells}, TABLE_5,
        "(with image - text only) / with image",
    )  # fmt: skip


def officially(answers: Sequence[Record]) -> Cell:
    """The accuracy as VLMEvalKit has it: a comparison without a readable verdict counts as wrong. A question without a reply
    has no score here either."""
    known = _percent(answers)
    unjudged = sum(record.outcome == "unjudged" for record in answers)
    counted = known.scored + unjudged
    mean = (known.mean or 0.0) * known.scored / counted if counted else None
    return Cell(mean, counted, known.selected, known.proxy)


def _overall(by_setting: Mapping[Setting, Sequence[Record]], steps: Sequence[Record]) -> Table | None:
    rows = {}
    for setting, answers in by_setting.items():
        rows[setting] = {FINAL: _percent(answers), OFFICIAL: officially(answers)}
        if own := [record for record in steps if record.setting == setting]:
            rows[setting][INTERMEDIATE] = _percent(own)
    note = "over all questions alike; steps over the questions with reference steps"
    return Table("Overall", (FINAL, OFFICIAL, INTERMEDIATE), rows, note=note) if rows else None


def _steps(steps: Sequence[Record]) -> Table | None:
    """The intermediate score, overall and by discipline, and how the labels share the steps of a mean reply."""
    columns = _ordered(DISCIPLINES, (_fact(record, "discipline") for record in steps))
    groups = {OVERALL: steps} | {name: [r for r in steps if _fact(r, "discipline") == name] for name in columns}
    rows = {
        name: {"score": _percent(own)} | {label: dimension_cell(own, label, PERCENT) for label in WORTH}
        for name, own in groups.items()
    }
    note = "score: correct 1, unverifiable 0.5, incorrect 0, the mean over a reply's steps"
    return Table("Intermediate steps", ("score", *WORTH), rows, note=note) if steps else None


def _by(fact: str, order: Sequence[str], by_setting: Mapping[Setting, Sequence[Record]]) -> Table | None:
    """Accuracy by what a column of the data says; None where it says nothing."""
    everything = (record for answers in by_setting.values() for record in answers)
    columns = _ordered(order, (_fact(record, fact) for record in everything))
    rows = {
        setting: {name: _percent(own) for name in columns if (own := [r for r in answers if _fact(r, fact) == name])}
        for setting, answers in by_setting.items()
    }
    return Table(f"Final answer by {fact}", columns, rows) if columns else None


def _details(setting: Setting, records: Sequence[Record]) -> Row:
    own = [record for record in records if record.setting == setting]
    return Row(setting, {name: _percent(mine) for name in TASKS if (mine := [r for r in own if r.task == name])})


def _notes(by_setting: Mapping[Setting, Sequence[Record]]) -> Iterable[str]:
    for setting, answers in by_setting.items():
        if unjudged := sum(record.outcome == "unjudged" for record in answers):
            yield (
                f"{setting}: {unjudged} of {len(answers)} final answers are unjudged and in no mean here; the official "
                f"script counts them as wrong: {officially(answers).mean:.2f}"
            )


def _percent(records: Iterable[Record]) -> Cell:
    return cell(records, PERCENT)


def _fact(record: Record, name: str) -> str:
    return str(record.facts.get(name, ""))


def _ordered(known: Sequence[str], found: Iterable[str]) -> tuple[str, ...]:
    """What was found, once each: the known names in their order, then others in theirs."""
    names = {name for name in found if name}
    return (*(name for name in known if name in names), *sorted(names - set(known)))
