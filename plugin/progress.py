"""How far the run is: a live bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import pytest

from mmtests.plugin.outcomes import record_on

if TYPE_CHECKING:
    from rich.progress import Progress, Task

HEARTBEAT = 30.0
"""Seconds between two lines in a log."""


class Counts(Protocol):
    """What the engine knows."""

    @property
    def planned(self) -> int: ...

    @property
    def answered(self) -> int: ...

    @property
    def verdicts(self) -> int | None: ...


class Progressing:
    """Counts reports, and shows them. Items that wait for a reply are told apart from those that are done."""

    def __init__(self, config: pytest.Config, counts: Counts | None) -> None:
        """``counts``: the engine's, or None in a controller, whose workers have the engines."""
        self._config, self._counts = config, counts
        self._outcomes: Counter[str] = Counter()
        self._done = 0
        self._total = 0
        self._began = 0.0
        self._stream: TextIO | None = None
        self._bar: Progress | None = None
        self._over = threading.Event()
        self._live = _is_live(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """The first test: by now the total is known, also in a controller."""
        if self._began:
            return
        self._began = time.monotonic()
        session = self._config.pluginmanager.getplugin("session")
        self._total = getattr(session, "testscollected", 0)
        self._stream = _own_stream(self._config)
        if self._live:
            self._bar = self._show_bar(self._stream)
        else:
            threading.Thread(target=self._beat, name="mmtests-heartbeat", daemon=True).start()

    def _show_bar(self, stream: TextIO) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        reporter.showfspath = False
        reporter._show_progress_info = False
        reporter.ensure_newline()
        console = Console(file=stream, force_terminal=True)
        bar = Progress(
            BarColumn(), MofNCompleteColumn(), _told_by(self), TimeElapsedColumn(), console=console, transient=True,
            refresh_per_second=4,
        )  # fmt: skip
        bar.add_task("items", total=self._total or None)
        bar.start()
        return bar

    def told(self) -> str:
        """Where things stand, in a few words."""
        parts = [f"{count} {outcome}" for outcome, count in self._outcomes.items()]
        if self._counts is not None and self._counts.planned:
            parts.append(f"replies {self._counts.answered}/{self._counts.planned}")
            if self._counts.verdicts is not None:
                parts.append(f"verdicts {self._counts.verdicts}")
        return ", ".join(parts)

    def _beat(self) -> None:
        while not self._over.wait(HEARTBEAT):
            seconds = time.monotonic() - self._began
            if self._stream is not None:
                self._stream.write(
                    f"\nmmtests: {self._done}/{self._total} items after {seconds:.0f} s: {self.told()}\n"
                )
                self._stream.flush()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count."""
        if (record := record_on(report)) is not None:
            self._outcomes[record.outcome] += 1

    def pytest_runtest_logfinish(self) -> None:
        """One item more is done."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_teststatus(self) -> Generator[None, Any, Any]:
        """The bar takes the place of the letters."""
        status = yield
        return (status[0], "", status[2]) if self._bar is not None and status is not None else status

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Leave nothing behind on the terminal."""
        self._over.set()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def pytest_keyboard_interrupt(self) -> None:
        """The same when the run is cut short."""
        self.pytest_sessionfinish()

    def pytest_internalerror(self) -> None:
        """The same when pytest fails."""
        self.pytest_sessionfinish()


def wanted(config: pytest.Config) -> bool:
    """False where there is no terminal reporter, or where its own output says enough or should say little."""
    return config.pluginmanager.hasplugin("terminalreporter") and config.get_verbosity() == 0


def _is_live(config: pytest.Config) -> bool:
    reporter = config.pluginmanager.getplugin("terminalreporter")
    dull = os.environ.get("CI") or os.environ.get("TERM") in (None, "dumb")
    return bool(reporter.isatty) and not dull and config.option.capture != "no"


def _own_stream(config: pytest.Config) -> TextIO:
    """The terminal itself, which pytest's capture takes away while tests run."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        return os.fdopen(os.dup(1), "w", encoding="utf-8")
    with capture.global_and_fixture_disabled():
        return os.fdopen(os.dup(1), "w", encoding="utf-8")


def _told_by(progressing: Progressing) -> Any:
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Told(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(progressing.told())

    return Told()
