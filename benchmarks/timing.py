"""Whole processes, timed in turn, so that what else the machine does hits all sides alike."""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table


@dataclass
class Side:
    """One way to do the work."""

    name: str
    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[], None] = lambda: None
    """Puts things in order before each run, untimed."""
    seconds: list[float] = field(default_factory=list)
    peak: float = 0.0
    """MiB of the largest single process."""

    def run(self) -> None:
        """Time it once.

        Raises:
            RuntimeError: it fails.
        """
        self.before()
        with tempfile.TemporaryFile() as output:
            started = time.perf_counter()
            process = subprocess.Popen(
                self.command, cwd=self.folder, env={**os.environ, **self.environment}, stdout=output, stderr=output
            )
            _, status, usage = os.wait4(process.pid, 0)
            self.seconds.append(time.perf_counter() - started)
            self.peak = max(self.peak, usage.ru_maxrss / 1024)
            if status:
                output.seek(0)
                raise RuntimeError(f"{self.name} failed:\n{output.read().decode(errors='replace')[-3000:]}")


def alternate(sides: Sequence[Side], repeats: int) -> None:
    """Run A B A B ..., after one untimed round that fills the caches of bytecode."""
    for side in sides:
        side.run()
        side.seconds.clear()
    for _ in range(repeats):
        for side in sides:
            side.run()


def show(title: str, sides: Sequence[Side]) -> None:
    """A table of medians, with the median of the paired ratios to the first side."""
    table = Table(title=title, title_justify="left")
    for column in ("", "seconds (median)", "ratio", "peak MiB"):
        table.add_column(column, justify="left" if not column else "right")
    first = sides[0]
    for side in sides:
        ratio = median(own / other for own, other in zip(side.seconds, first.seconds, strict=True))
        table.add_row(side.name, f"{median(side.seconds):.2f}", f"{ratio:.2f}", f"{side.peak:.0f}")
    Console().print(table)


def machine() -> str:
    """What the figures were measured on."""
    return f"{date.today()}, {os.cpu_count()} CPUs, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
