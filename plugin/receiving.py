"""Where reports arrive: write records, end with the tables, and choose the exit status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from mmtests.benchmark import Benchmark
from mmtests.plugin.outcomes import left_out_on, record_on, status
from mmtests.reports.folder import SUMMARY, RunFolder
from mmtests.reports.summary import RunSummary
from mmtests.score import Record

INCOMPLETE = 11
"""Exit status of a run in which items were not answered or not judged, and nothing else failed that is not of this
suite. Pytest owns 0 to 6; 10 is for gates."""

Summarise = Callable[[list[Record], Mapping[str, int]], RunSummary]


class Receiving:
    """In the controller, or in the only process."""

    def __init__(self, folder: RunFolder, benchmarks: Mapping[str, Benchmark], summarise: Summarise) -> None:
        self._folder, self._benchmarks, self._summarise = folder, benchmarks, summarise
        self._records: dict[str, Record] = {}
        self._left_out: Counter[str] = Counter()
        self._others_failed = False
        self._trouble: str | None = None
        self._summary: RunSummary | None = None
        self._nothing_selected: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the record, on disk before anything else happens."""
        record = record_on(report) or self._crashed(report)
        if record is not None:
            self._records[record.id] = record
            self._append(record, report)
        elif (reason := left_out_on(report)) is not None:
            self._left_out[reason] += 1
        elif report.failed:
            self._others_failed = True

    def _append(self, record: Record, report: pytest.TestReport) -> None:
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
        """Stop at the first record that cannot be written."""
        if self._trouble is not None:
            pytest.exit(self._trouble, returncode=pytest.ExitCode.USAGE_ERROR)

    def _crashed(self, report: pytest.TestReport) -> Record | None:
        """A record for an item whose worker died: nobody else reports it."""
        if report.when in ("setup", "call", "teardown"):
            return None
        item_id = report.nodeid.partition("[")[2].removesuffix("]")
        pieces = item_id.split("/")
        if len(pieces) < 5 or pieces[0] not in self._benchmarks or not pieces[-1].startswith("turn-"):
            return None
        benchmark, task, setting, dialogue, turn = *pieces[:3], "/".join(pieces[3:-1]), pieces[-1]
        ability = self._benchmarks[benchmark].tasks[task].ability
        number = int(turn.removeprefix("turn-"))
        return Record(item_id, benchmark, task, ability, setting, dialogue, number, "failed", error="its worker died")

    def pytest_report_teststatus(self, report: pytest.TestReport) -> object:
        """Call an outcome by our name."""
        return status(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the summary, and let the exit status say what the run is worth."""
        self._summary = self._summarise(list(self._records.values()), self._left_out)
        try:
            self._folder.write(SUMMARY, self._summary)
            self._folder.close()
        except OSError as error:
            self._trouble = self._trouble or self._cannot_write(error)
        if self._trouble is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        elif (
            not self._summary.complete
            and not self._others_failed
            and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        ):
            session.exitstatus = INCOMPLETE

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The tables."""
        if self._summary is None or not (self._records or self._left_out):
            return
        from mmtests.reports.terminal import render

        writer = terminalreporter._tw
        terminalreporter.section("mmtests")
        terminalreporter.write_line(render(self._summary, writer.fullwidth, writer.hasmarkup))
        terminalreporter.write_line(f"run folder: {self._folder.path}")
        if self._trouble is not None:
            terminalreporter.write_line(f"ERROR: {self._trouble}", red=True)
