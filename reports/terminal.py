"""A run's summary as text, with rich."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table as Grid

from mmtests.reports.summary import RunSummary
from mmtests.summary import BenchmarkSummary, Cell, Gap, Line, Row, Table

_SHOWN_ERRORS = 5
_PROXY_NOTE = "~ proxy: a likeness to the reference reply, on the judge's scale. Not comparable with judged scores."


def render(summary: RunSummary, width: int, color: bool) -> str:
    """The report that ends a run.

    Args:
        width: columns of the terminal.
        color: whether it shows colours.
    """
    stream = io.StringIO()
    console = Console(file=stream, width=max(width, 60), force_terminal=color, no_color=not color, highlight=False)
    for benchmark in summary.benchmarks:
        _abilities(console, benchmark, summary)
        _details(console, benchmark)
        for line in benchmark.lines:
            _line(console, line)
        for further in benchmark.tables:
            _further(console, further)
        for note in benchmark.notes:
            console.print(note, markup=False)
    _own(console, summary)
    for note in _notes(summary):
        console.print(note, markup=False)
    return stream.getvalue().rstrip("\n")


def _abilities(console: Console, benchmark: BenchmarkSummary, summary: RunSummary) -> None:
    judged = f"judge {summary.judge}" if summary.judge else "no judge"
    selected, available = _counts(summary, benchmark.benchmark)
    part = f", {selected} of {available} items" if selected < available else ""
    unit = f", {benchmark.unit}" if benchmark.unit else ""
    title = f"{benchmark.title}{' (embedded sample)' if summary.sample else ''}: {summary.model}, {judged}{part}{unit}"
    columns = benchmark.columns
    rows = [[row.setting, _number(row.average, row.proxy), *_cells(row.cells, columns)] for row in benchmark.rows]
    gaps = [
        [f"{gap.setting} - {gap.minus}", _signed(gap.average, gap.proxy), *_gap_cells(gap, columns)]
        for gap in benchmark.gaps
    ]
    counts = [
        [
            f"scored, {row.setting}",
            next((f"{c.scored}/{c.selected}" for name, c in row.cells.items() if name not in columns), ""),
            *(f"{c.scored}/{c.selected}" if (c := row.cells.get(name)) else "" for name in columns),
        ]
        for row in benchmark.rows
    ]
    _grid(console, title, ["setting", benchmark.average_title, *columns], [rows, gaps, counts], bold=True)


def _grid(
    console: Console, title: str, header: Sequence[str], sections: Sequence[Sequence[Sequence[str]]], bold: bool = False
) -> None:
    """A table; turned on its side where it is wider than the terminal."""
    lines = [header, *(line for section in sections for line in section)]
    if sum(_width(column) + 3 for column in zip(*lines, strict=True)) + 1 > console.width:
        header, *turned = ([*column] for column in zip(*lines, strict=True))
        sections = [turned]
    console.print(title, style="bold" if bold else "italic", markup=False)
    table = Grid()
    for number, name in enumerate(header):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for section in sections:
        if section:
            table.add_section()
        for line in section:
            table.add_row(*line)
    console.print(table)


def _width(column: Sequence[str]) -> int:
    """Columns of the terminal that it needs: its head may break between words, its figures may not."""
    head, *cells = column
    return max(len(word) for text in (*head.split(), *cells, "") for word in [text])


def _cells(cells: Mapping[str, Cell], columns: tuple[str, ...]) -> Iterator[str]:
    for column in columns:
        cell = cells.get(column)
        yield "" if cell is None else _mean(cell)


def _gap_cells(gap: Gap, columns: tuple[str, ...]) -> Iterator[str]:
    for column in columns:
        yield _signed(gap.abilities[column], column in gap.proxies) if column in gap.abilities else ""


def _details(console: Console, benchmark: BenchmarkSummary) -> None:
    """Sub-tasks where an ability has several, and the other scoring mode's figures where they differ."""
    for row in benchmark.details:
        parts = [f"{name} {_mean(cell)}{_other_modes(cell)}" for name, cell in row.cells.items()]
        console.print(f"{row.setting}: {', '.join(parts)}", markup=False)


def _other_modes(cell: Cell) -> str:
    others = [f"{_number(mean)} {mode}" for mode, mean in cell.other_modes.items()]
    return f" ({', '.join(others)})" if others else ""


def _line(console: Console, line: Line) -> None:
    points = "  ".join(f"{'' if name.isdigit() else f'{name} '}{_mean(cell)}" for name, cell in line.points.items())
    console.print(f"{line.title}, {line.setting}: {points}", markup=False)


def _further(console: Console, further: Table) -> None:
    computed = [[name, *_cells(cells, further.columns)] for name, cells in further.rows.items()]
    printed = [
        [f"{name} (paper)", *(f"{figures[column]:g}" if column in figures else "" for column in further.columns)]
        for name, figures in further.published.items()
    ]
    _grid(console, further.title, ["", *further.columns], [computed, printed])
    if further.note:
        console.print(further.note, markup=False)


def _own(console: Console, summary: RunSummary) -> None:
    if not summary.own:
        return
    console.print(f"Own tests: {summary.model}", style="bold", markup=False)
    table = Grid()
    for column in ("ability", "mean", "scale", "scored"):
        table.add_column(column, justify="left" if column == "ability" else "right")
    for own in summary.own:
        scale = str(own.scale) if own.scale else "mixed"
        mean = _number(own.cell.mean) if own.scale else "-"
        table.add_row(own.ability, mean, scale, f"{own.cell.scored}/{own.cell.selected}")
    console.print(table)


def _notes(summary: RunSummary) -> Iterator[str]:
    yield "outcomes: " + ", ".join(f"{count} {outcome}" for outcome, count in summary.outcomes.items())
    if summary.flags:
        yield "flags: " + ", ".join(f"{count} {flag}" for flag, count in summary.flags.items())
    if summary.skipped:
        yield f"skipped: {len(summary.skipped)} bad records of the data, in summary.json. The first: {summary.skipped[0]}"
    for reason, count in summary.not_scored.items():
        yield f"not scored: {count} items: {reason}"
    rows: list[Row] = [row for benchmark in summary.benchmarks for row in benchmark.rows]
    if any(cell.proxy for row in rows for cell in row.cells.values()):
        yield _PROXY_NOTE
    if any(benchmark.aggregation != "paper" for benchmark in summary.benchmarks):
        yield f"aggregation: {', '.join(benchmark.aggregation for benchmark in summary.benchmarks)}, not the paper's"
    for benchmark in summary.benchmarks:
        selected, available = _counts(summary, benchmark.benchmark)
        if selected < available:
            yield (
                f"PARTIAL: {selected} of {available} items of {benchmark.title} were selected (-k, --limit, ...). Averages are "
                f"over these, and not comparable with averages over all."
            )
    if summary.mode != "reference":
        yield f"scoring mode: {summary.mode}, not the published rules"
    if summary.sample:
        yield "The embedded sample is for trying things out. Its figures are not results of the benchmark (--data DIR)."
    if not summary.complete:
        missing = summary.outcomes["failed"] + summary.outcomes["unjudged"] + summary.not_run
        yield f"INCOMPLETE: {missing} items have no score, and they are in no mean (marked !). Why:"
        if summary.not_run:
            yield f"  {summary.not_run} x not run: the session ended first"
        for error, count in list(summary.errors.items())[:_SHOWN_ERRORS]:
            yield f"  {count} x {error}"
        if len(summary.errors) > _SHOWN_ERRORS:
            yield f"  and {len(summary.errors) - _SHOWN_ERRORS} other reasons, in summary.json"


def _counts(summary: RunSummary, benchmark: str) -> tuple[int, int]:
    """Items of a benchmark that were selected, and that there are."""
    return summary.selected.get(benchmark, 0), summary.available.get(benchmark, 0)


def _mean(cell: Cell) -> str:
    """A mean with its marks: ``~`` a proxy, ``!`` not of all that were selected."""
    return _number(cell.mean, cell.proxy) + ("" if cell.complete or cell.mean is None else "!")


def _number(value: float | None, proxy: bool = False) -> str:
    return "-" if value is None else f"{'~' if proxy else ''}{value:.2f}"


def _signed(value: float | None, proxy: bool) -> str:
    return "-" if value is None else f"{'~' if proxy else ''}{value:+.2f}"
