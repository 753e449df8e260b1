"""All that a run comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from mmtests.benchmark import Benchmark
from mmtests.score import OUTCOMES, Mode, Record, Scale
from mmtests.summary import BenchmarkSummary, Cell, cell

OWN = "own"
"""In place of a benchmark's name, in records of tests that a team wrote itself."""


class OwnAbility(Struct, frozen=True):
    """The scores that a team's own tests recorded for one ability."""

    ability: str
    cell: Cell
    scale: Scale | None
    """None where the tests used several."""


class RunSummary(Struct, frozen=True):
    """The content of ``summary.json``."""

    model: str
    judge: str | None
    mode: Mode
    sample: bool
    """True if any of it is of an embedded sample: such figures are no benchmark results."""
    complete: bool
    """False if a selected item has no score, whether it was run or not."""
    not_run: int
    """Selected items that the session ended before."""
    selected: Mapping[str, int]
    """Items that were selected, by benchmark."""
    available: Mapping[str, int]
    """Items in the data and settings of the run, by benchmark. More than ``selected``: its figures are of a part."""
    outcomes: Mapping[str, int]
    flags: Mapping[str, int]
    not_scored: Mapping[str, int]
    """How many items the run left out, by reason."""
    errors: Mapping[str, int]
    """Why items are ``failed`` or ``unjudged``, most frequent first."""
    benchmarks: tuple[BenchmarkSummary, ...]
    own: tuple[OwnAbility, ...] = ()
    skipped: tuple[str, ...] = ()
    """Bad records of the data that were left out on request, each with what is wrong with it."""


def summarise(
    records: Sequence[Record],
    benchmarks: Mapping[str, Benchmark],
    *,
    model: str,
    judge: str | None,
    mode: Mode,
    aggregation: str,
    left_out: Mapping[str, str],
    unrun: Sequence[Record] = (),
    available: Mapping[str, int],
    skipped: Sequence[str] = (),
) -> RunSummary:
    """Aggregate a run's records.

    Args:
        left_out: item ids with the reason why the run left them out.
        aggregation: by name; a benchmark without one of that name uses its paper's.
        unrun: stand-ins for the selected items that were not run; they count as selected and as nothing else.
    """
    ordered = sorted(records, key=lambda record: record.id)  # the same sums in the same order, however they came in
    counts = Counter(record.outcome for record in ordered)
    selected = Counter(record.benchmark for record in (*ordered, *unrun) if record.benchmark != OWN)
    selected += Counter(name.partition("/")[0] for name in left_out)
    errors = Counter(f"{record.outcome}: {record.error}" for record in ordered if record.error)
    return RunSummary(
        model,
        judge,
        mode,
        any(record.sample for record in ordered),
        counts["failed"] == counts["unjudged"] == len(unrun) == 0,
        len(unrun),
        dict(selected),
        available,
        {outcome: counts[outcome] for outcome in OUTCOMES},
        dict(sorted(Counter(flag for record in ordered for flag in record.flags).items())),
        dict(Counter(left_out.values())),
        dict(errors.most_common()),
        tuple(
            benchmark.summarise(
                own, aggregation if aggregation in benchmark.aggregations else benchmark.aggregations[0]
            )
            for name, benchmark in benchmarks.items()
            if (own := [record for record in (*ordered, *unrun) if record.benchmark == name])
        ),
        _own([record for record in ordered if record.benchmark == OWN]),
        tuple(skipped),
    )


def _own(records: Sequence[Record]) -> tuple[OwnAbility, ...]:
    found = []
    for ability in sorted({record.ability for record in records}):
        mine = [record for record in records if record.ability == ability]
        scales = {record.score.scale for record in mine if record.score}
        found.append(OwnAbility(ability, cell(mine), next(iter(scales)) if len(scales) == 1 else None))
    return tuple(found)
