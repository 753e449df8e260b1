"""What a benchmark's results come to: the shape every report is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from msgspec import Struct

from mmtests.dialogue import Setting
from mmtests.score import Record


class Cell(Struct, frozen=True):
    """A mean over scored items."""

    mean: float | None
    """None where nothing was scored."""
    scored: int
    selected: int
    """Items that should have been scored; more than ``scored`` means that the mean is incomplete."""
    proxy: bool = False
    """True if any score in it is a proxy."""
    other_modes: Mapping[str, float | None] = {}
    """The same mean by each scoring mode's own rule, where it differs. The run's own mode is among them where verdicts that
    its official parser would drop were read leniently."""

    @property
    def complete(self) -> bool:
        return self.mean is not None and self.scored == self.selected


class Row(Struct, frozen=True):
    """One line of an ability table."""

    setting: Setting
    cells: Mapping[str, Cell]
    """By ability or sub-task, in column order. Absent: not part of the run."""
    average: float | None = None
    """None unless every ability of the average has a mean."""
    average_of: tuple[str, ...] = ()
    proxy: bool = False


class Gap(Struct, frozen=True):
    """How far one setting is from another, ability by ability, on the native scale."""

    setting: Setting
    minus: Setting
    abilities: Mapping[str, float]
    average: float | None
    average_of: tuple[str, ...]
    proxies: tuple[str, ...] = ()
    """Those of the abilities of which a side is a proxy."""

    @property
    def proxy(self) -> bool:
        return any(name in self.average_of for name in self.proxies)


class Line(Struct, frozen=True):
    """A mean at each turn of a dialogue."""

    title: str
    setting: Setting
    points: Mapping[str, Cell]
    """By turn number, then by named part."""


class Table(Struct, frozen=True):
    """A further table of a benchmark."""

    title: str
    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Cell]]
    """By the row's name, then by column. Absent: not part of the run."""
    published: Mapping[str, Mapping[str, float]] = {}
    """Rows that were not computed here but printed in the paper, to compare with."""
    note: str = ""


class BenchmarkSummary(Struct, frozen=True):
    """The tables of one benchmark."""

    benchmark: str
    title: str
    aggregation: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    gaps: tuple[Gap, ...] = ()
    details: tuple[Row, ...] = ()
    """Sub-tasks, by setting."""
    lines: tuple[Line, ...] = ()
    tables: tuple[Table, ...] = ()
    unit: str = ""
    """Of the figures, where they are not on the scores' own scale: ``percent``."""
    average_title: str = "Avg."
    """What the first column is called in the paper."""
    notes: tuple[str, ...] = ()
    """What a reader of these figures must know."""


def cell(records: Iterable[Record], factor: float = 1.0) -> Cell:
    """The mean score of the records. Those without a score count as selected only.

    Args:
        factor: what the mean is multiplied by: 100 for percent of scores from 0 to 1.
    """
    everything = list(records)
    scores = [record.score for record in everything if record.score is not None]
    mean = factor * fmean(score.value for score in scores) if scores else None
    others: dict[str, float | None] = {}
    for mode in sorted({mode for score in scores for mode in score.by_mode}):
        values = [value for score in scores if (value := score.by_mode.get(mode, score.value)) is not None]
        other = factor * fmean(values) if values else None
        if other != mean:
            others[mode] = other
    return Cell(mean, len(scores), len(everything), any(score.proxy for score in scores), others)


def dimension_cell(records: Iterable[Record], name: str, factor: float = 1.0) -> Cell:
    """The mean of one dimension of the scores. Scores without that dimension count as selected only."""
    everything = list(records)
    values = [
        record.score.dimensions[name] for record in everything if record.score and name in record.score.dimensions
    ]
    return Cell(factor * fmean(values) if values else None, len(values), len(everything))


def sight_notes(records: Sequence[Record], compare: str) -> tuple[str, ...]:
    """What a reader must know where the judge was not shown every image that it was to see.

    Args:
        compare: what such figures do not compare with, as a sentence.
    """
    faults = {
        "verdict_blind": "the judge takes no images: {} verdicts rest on texts alone",
        "verdict_images_dropped": "the judge takes fewer images than it was to see: {} verdicts rest on a part of them",
    }
    counts = {flag: sum(flag in record.flags for record in records) for flag in faults}
    return tuple(f"{faults[flag].format(count)}. {compare}" for flag, count in counts.items() if count)


def average(cells: Mapping[str, Cell], names: Iterable[str]) -> float | None:
    """The unweighted mean of the named cells' means; None if one has none."""
    means = [cells[name].mean if name in cells else None for name in names]
    present = [mean for mean in means if mean is not None]
    return fmean(present) if present and len(present) == len(means) else None
