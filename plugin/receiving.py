"""Where reports arrive: write records, end with the tables, and choose the exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from mmtests.benchmark import Benchmark
from mmtests.plugin.collecting import Collecting
from mmtests.plugin.distribution import item_id
from mmtests.plugin.outcomes import ends_run_on, left_out_on, record_on, status
from mmtests.reports.folder import SUMMARY, RunFolder
from mmtests.reports.summary import RunSummary
from mmtests.score import Record

INCOMPLETE = 11
"""Exit status of a run in which items were not answered or not judged, and nothing else failed that is not of this
suite. Pytest owns 0 to 6; 10 is for gates."""

Summarise = Callable[[Sequence[Record], Mapping[str, str], Sequence[Record]], RunSummary]
"""From records, the items left out with their reasons, and stand-ins for items that were not run."""


class Receiving:
    """In the controller, or in the only process."""

    def __init__(
        self,
        folder: RunFolder,
        benchmarks: Mapping[str, Benchmark],
        collecting: Collecting,
        summarise: Summarise,
        root: Path,
        threshold: float | None = None,
    ) -> None:
        """
        Args:
            root: pytest's root folder.
            threshold: of all selected items, if the user set one.
        """
        self._root, self._threshold = root, threshold
        self._folder, self._benchmarks, self._summarise = folder, benchmarks, summarise
        self._collecting = collecting
        self._selected: dict[str, None] = {}
        self._records: dict[str, Record] = {}
        self._left_out: dict[str, str] = {}
        self._others_failed = False
        self._trouble: str | None = None
        self._summary: RunSummary | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Know what is to come."""
        self.select(item.nodeid for item in session.items)

    def select(self, nodeids: Iterable[str]) -> None:
        """Know which items are selected. With workers, what the first of them collected.

        Raises:
            pytest.UsageError: the user's threshold is outside of a selected item's scale.
        """
        for nodeid in nodeids:
            if (parsed := self._parsed(item_id(nodeid))) and self._benchmarks[parsed[0]].owns(nodeid, self._root):
                self._selected[item_id(nodeid)] = None
                scale = self._benchmarks[parsed[0]].tasks[parsed[1]].scale
                if self._threshold is not None and self._threshold not in scale:
                    raise pytest.UsageError(
                        f"--threshold {self._threshold:g}: outside the scale {scale} of {parsed[0]}/{parsed[1]}. Select tasks "
                        f"of one scale (-k), or set thresholds in [tool.mmtests.thresholds]."
                    )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the record, on disk before anything else happens."""
        record = record_on(report) or self._crashed(report)
        if record is not None:
            self._append(record)
            self._records[record.id] = _light(record)
            self._trouble = self._trouble or ends_run_on(report)
        elif (reason := left_out_on(report)) is not None:
            if item_id(report.nodeid) in self._selected:
                self._left_out[item_id(report.nodeid)] = reason
        elif report.failed:
            self._others_failed = True

    def _append(self, record: Record) -> None:
        if self._trouble is not None:
            return
        try:
            self._folder.append(record)
        except OSError as error:
            self._trouble = self._cannot_write(error)

    def _cannot_write(self, error: OSError) -> str:
        return (f"the run folder {self._folder.path} cannot be written: {error.strerror}. Make room and run the same "
                f"command again: replies that are in the store are not asked for again.")  # fmt: skip

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self) -> None:
        """Stop at what the user must mend first."""
        if self._trouble is not None:
            pytest.exit("mmtests stops here; the error is above", returncode=pytest.ExitCode.USAGE_ERROR)

    def _nothing_scored(self) -> str:
        """All items were left out: a gate must not take that for a pass."""
        reasons = dict.fromkeys(self._left_out.values())
        others = f" And {len(reasons) - 1} other reasons." if len(reasons) > 1 else ""
        return f"nothing was scored: all {len(self._left_out)} selected items were left out. {next(iter(reasons)).removesuffix('.')}.{others}"

    def _crashed(self, report: pytest.TestReport) -> Record | None:
        """A record for an item whose worker died: nobody else reports it."""
        if report.when in ("setup", "call", "teardown"):
            return None
        record = self._stand_in(item_id(report.nodeid), "its worker died")
        return (
            record
            if record is not None and self._benchmarks[record.benchmark].owns(report.nodeid, self._root)
            else None
        )

    def _parsed(self, name: str) -> tuple[str, str, str, str, int] | None:
        """Benchmark, task, setting, dialogue and turn of an item id."""
        pieces = name.split("/")
        turn = pieces[-1].removeprefix("turn-")
        if len(pieces) < 5 or pieces[0] not in self._benchmarks or not turn.isdecimal():
            return None
        return pieces[0], pieces[1], pieces[2], "/".join(pieces[3:-1]), int(turn)

    def _stand_in(self, name: str, error: str) -> Record | None:
        """A record of an item that made none."""
        if (parsed := self._parsed(name)) is None:
            return None
        benchmark, task, setting, dialogue, turn = parsed
        ability = self._benchmarks[benchmark].tasks[task].ability
        return Record(name, benchmark, task, ability, setting, dialogue, turn, "failed", error=error)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> object:
        """Call an outcome by our name."""
        return status(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the summary, and let the exit status say what the run is worth."""
        option = session.config.option
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and (option.keyword or option.markexpr):
            self._trouble = self._collecting.nothing_selected(session.config)
        if session.exitstatus == pytest.ExitCode.OK and self._left_out and not self._records:
            self._trouble = self._nothing_scored()
        unrun = [name for name in self._selected if name not in self._records and name not in self._left_out]
        stand_ins = [record for name in unrun if (record := self._stand_in(name, "not run"))]
        self._summary = self._summarise(list(self._records.values()), self._left_out, stand_ins)
        try:
            self._folder.write(SUMMARY, self._summary)
            self._folder.close()
        except OSError as error:
            self._trouble = self._trouble or self._cannot_write(error)
        if self._trouble is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            if not session.config.pluginmanager.hasplugin("terminalreporter"):
                print(f"ERROR: {self._trouble}", file=sys.stderr)
        elif (
            (self._summary.outcomes["failed"] or self._summary.outcomes["unjudged"])
            and not self._others_failed
            and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        ):
            session.exitstatus = INCOMPLETE

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The tables."""
        if self._summary is not None and (self._records or self._left_out):
            from mmtests.reports.terminal import render

            writer = terminalreporter._tw
            terminalreporter.section("mmtests")
            terminalreporter.write_line(render(self._summary, writer.fullwidth, writer.hasmarkup))
            terminalreporter.write_line(f"run folder: {self._folder.path}")
            if self._summary.not_run and self._trouble is None:
                terminalreporter.write_line(
                    f"{self._summary.not_run} items were not run. To go on, give the same command again: replies that are in "
                    f"the store are not asked for again."
                )
        if self._trouble is not None:
            terminalreporter.write_line(f"ERROR: {self._trouble}", red=True)


def _light(record: Record) -> Record:
    """A record without its texts, which are on disk by now: a run may have tens of thousands."""
    score = None if record.score is None else replace(record.score, explanation="", verdict=None, earlier=())
    return replace(record, score=score, reply=None, user="", images=(), reference=None)
