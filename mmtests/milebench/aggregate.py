"""From item scores to the paper's Tables 2, 3, 4, 11 and 12, in percent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from mmtests.dialogue import ADVERSARIAL, BLIND, SINGLE, Setting
from mmtests.milebench.needles import COUNTS, DEPTHS, count_name, depth_name
from mmtests.milebench.published import RANDOM_OVERALL, RANDOM_SUBSETS, RANDOM_TASKS
from mmtests.milebench.tasks import (
    ABILITIES,
    DIAGNOSTIC,
    IMAGE_NEEDLE,
    REALISTIC,
    SUBSETS,
    TEXT_NEEDLE,
    subsets_of,
)
from mmtests.score import Record
from mmtests.summary import BenchmarkSummary, Cell, Gap, Row, Table, average, cell

PAPER = "paper"
AGGREGATIONS = (PAPER,)

LEVELS = ("Few", "Medium", "Many")
"""Fewer than 6 images, 6 to 31, more than 31."""
RANDOM = "Random"
_PERCENT = 100
_SETTINGS = (SINGLE, ADVERSARIAL, BLIND)
_GAPS = ((SINGLE, ADVERSARIAL), (SINGLE, BLIND))
_OVERALL = {"Realistic": REALISTIC, "Diagnostic": DIAGNOSTIC}

Cells = Mapping[str, Cell]
BySubset = Mapping[str, Cells]
"""By setting, then by subset: ``{"single": {"ActionLocalization": Cell(...)}}``."""


def summarise(records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
    """The tables over the records of one run."""
    by_setting = {
        setting: own for setting in _SETTINGS if (own := [record for record in records if record.setting == setting])
    }
    subsets: BySubset = {setting: subset_cells(own) for setting, own in by_setting.items()}
    rows = {setting: row(setting, cells) for setting, cells in subsets.items()}
    gaps = [gap(rows[one], rows[other]) for one, other in _GAPS if one in rows and other in rows]
    tables = [
        *_overall_tables(rows, subsets),
        *_subset_tables(subsets),
        *(_levels(setting, own) for setting, own in by_setting.items()),
        *(table for setting, own in by_setting.items() for table in _needle_tables(setting, own)),
    ]
    return BenchmarkSummary(
        "milebench", "MileBench", aggregation, ABILITIES, tuple(rows.values()), tuple(gaps), tables=tuple(tables),
        unit="percent", average_title="Realistic", notes=tuple(_notes(subsets)),
    )  # fmt: skip


def subset_cells(records: Sequence[Record]) -> Cells:
    """The mean of each subset, in percent."""
    by_subset: dict[str, list[Record]] = {}
    for record in records:
        by_subset.setdefault(record.task, []).append(record)
    return {name: cell(by_subset[name], _PERCENT) for name in SUBSETS if name in by_subset}


def row(setting: Setting, subsets: Cells) -> Row:
    """A line of Table 2 or 4. Its average is Overall Realistic, the mean of nine tasks, if all their subsets have a mean."""
    cells = {
        ability: mean_cell(own)
        for ability in ABILITIES
        if (own := [subsets[name] for name in subsets_of(ability) if name in subsets])
    }
    return Row(setting, cells, overall(cells, subsets, REALISTIC), REALISTIC)


def overall(tasks: Cells, subsets: Cells, abilities: Sequence[str]) -> float | None:
    """The plain mean of the tasks; None unless each has all its subsets."""
    whole = all(name in subsets for ability in abilities for name in subsets_of(ability))
    return average(tasks, abilities) if whole else None


def mean_cell(cells: Sequence[Cell]) -> Cell:
    """The plain mean of means, each subset weighing the same. No mean unless all have one."""
    numbered = {str(number): one for number, one in enumerate(cells)}
    modes = sorted({mode for one in cells for mode in one.other_modes})
    others = {
        mode: average(
            {number: Cell(one.other_modes.get(mode, one.mean), 1, 1) for number, one in numbered.items()}, numbered
        )
        for mode in modes
    }
    return Cell(
        average(numbered, numbered),
        sum(one.scored for one in cells),
        sum(one.selected for one in cells),
        other_modes=others,
    )


def gap(minuend: Row, subtrahend: Row) -> Gap:
    """One row minus another, over the tasks that both have whole (paper Table 3)."""
    both = {}
    for ability in ABILITIES:
        one, other = minuend.cells.get(ability), subtrahend.cells.get(ability)
        if one and other and one.complete and other.complete and one.mean is not None and other.mean is not None:
            both[ability] = one.mean - other.mean
    mean = None
    if minuend.average is not None and subtrahend.average is not None and all(name in both for name in REALISTIC):
        mean = minuend.average - subtrahend.average
    return Gap(minuend.setting, subtrahend.setting, both, mean, REALISTIC)


def _overall_tables(rows: Mapping[Setting, Row], subsets: BySubset) -> Iterator[Table]:
    """Both overall columns, and the tasks once more, beside the paper's random choice."""
    lines = {}
    for setting, one in rows.items():
        line = {}
        for name, abilities in _OVERALL.items():
            if parts := [one.cells[ability] for ability in abilities if ability in one.cells]:
                whole = mean_cell(parts)
                known = overall(one.cells, subsets[setting], abilities) is not None
                line[name] = whole if known else Cell(None, whole.scored, whole.selected)
        lines[setting] = line
    yield Table(
        "Overall", tuple(_OVERALL), lines, {RANDOM: RANDOM_OVERALL},
        "Realistic: the mean of the nine tasks T-1 to S-5. Diagnostic: of N-1, N-2 and I-1. Each only if all its subsets are "
        "part of the run. Random is derived from the paper's Tables 11 and 12 by the same rule: Table 2 prints 22.3 and 5.5.",
    )  # fmt: skip
    yield Table(
        "Tasks (Table 2)", ABILITIES, {setting: one.cells for setting, one in rows.items()}, {RANDOM: RANDOM_TASKS},
        "Random is the paper's, with S-4 and S-5 exchanged back.",
    )  # fmt: skip


def _subset_tables(subsets: BySubset) -> Iterator[Table]:
    for title, abilities in (
        ("Temporal subsets (Table 11)", REALISTIC[:4]),
        ("Semantic subsets (Table 12)", REALISTIC[4:]),
        ("Diagnostic subsets", DIAGNOSTIC),
    ):
        names = [name for ability in abilities for name in subsets_of(ability)]
        lines = {
            setting: {SUBSETS[name][1]: cells[name] for name in names if name in cells}
            for setting, cells in subsets.items()
        }
        lines = {setting: line for setting, line in lines.items() if line}
        if lines:
            random = {SUBSETS[name][1]: RANDOM_SUBSETS[name] for name in names}
            note = ", ".join(f"{SUBSETS[name][1]} {name} ({SUBSETS[name][0]})" for name in names)
            yield Table(title, tuple(SUBSETS[name][1] for name in names), lines, {RANDOM: random}, note)


def level(images: int) -> str:
    """Which of ``LEVELS``, as the official scorer counts."""
    return LEVELS[0] if images < 6 else LEVELS[2] if images > 31 else LEVELS[1]


def _levels(setting: Setting, records: Sequence[Record]) -> Table:
    """By number of images: each realistic subset as in the official ``eval.json``, and all their samples together."""
    lines = {}
    realistic = [record for record in records if SUBSETS[record.task][0] in REALISTIC]
    for name, own in (("all realistic", realistic), *((n, [r for r in records if r.task == n]) for n in SUBSETS)):
        if own:
            lines[name] = _columns(own, LEVELS, _images_level)
    return Table(
        f"By number of images, {setting}", LEVELS, lines,
        note="Few: 2-5 images, Medium: 6-31, Many: 32 and more. Plain means over the samples of all subsets in a line.",
    )  # fmt: skip


def _needle_tables(setting: Setting, records: Sequence[Record]) -> Iterator[Table]:
    for task in (TEXT_NEEDLE, IMAGE_NEEDLE):
        own = [record for record in records if record.task == task]
        if not own:
            continue
        by_depth = {
            name: found
            for name in DEPTHS
            if (found := [r for r in own if "depth" in r.facts and depth_name(r.facts["depth"]) == name])
        }
        columns = [name for name in COUNTS if any(_images_count(r) == name for r in own)]
        lines = {
            name: {"all": cell(found, _PERCENT), **_columns(found, columns, _images_count)}
            for name, found in {"all": own, **by_depth}.items()
        }
        note = "Columns: number of images. Rows: depth of the needle in the context."
        if unknown := sum("depth" not in record.facts for record in own):
            note += f" The depth of {unknown} of {len(own)} is not in the data: they are in the row of all."
        yield Table(f"{task} by depth and number of images, {setting}", ("all", *columns), lines, note=note)


def _columns(records: Sequence[Record], names: Iterable[str], name_of: Callable[[Record], str]) -> dict[str, Cell]:
    """The mean of those records that each name stands for, where there are any."""
    return {name: cell(own, _PERCENT) for name in names if (own := [r for r in records if name_of(r) == name])}


def _images_level(record: Record) -> str:
    return level(record.facts.get("images", 0))


def _images_count(record: Record) -> str:
    return count_name(record.facts.get("images", 0))


def _notes(subsets: BySubset) -> Iterator[str]:
    for setting, cells in subsets.items():
        parts = []
        for ability in ABILITIES:
            names = subsets_of(ability)
            have = [name for name in names if name in cells]
            if have and len(have) < len(names):
                parts.append(f"{ability} {len(have)} of {len(names)}")
        if parts:
            yield f"{setting}: tasks of which not all subsets are part of the run: {', '.join(parts)}"
