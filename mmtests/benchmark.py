"""The contract a benchmark meets, and the registry of those that are installed.

A package adds a benchmark by naming a subclass of :class:`Benchmark` in its ``pyproject.toml``::

    [project.entry-points."mmtests.benchmarks"]
    my_bench = "my_package.my_bench:MyBench"

and by shipping a test module whose functions carry ``@pytest.mark.mmtests("my_bench", "my-task")``.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from mmtests.dialogue import Dialogue, Item, Message, Setting
from mmtests.errors import UserError
from mmtests.reply import Recorded
from mmtests.rubric import JudgeRequest, Rubric
from mmtests.score import Mode, Record, Scale, Score
from mmtests.summary import BenchmarkSummary

GROUP = "mmtests.benchmarks"
"""The entry-point group."""


class Task(Struct, frozen=True):
    """A part of a benchmark that is scored on its own."""

    name: str
    ability: str
    """The report column it feeds."""
    scale: Scale
    threshold: float
    """The score from which an item passes, unless the user sets another."""
    judged: bool
    """True: a judge scores it. False: a rule does."""
    max_new_tokens: int
    """The benchmark's published limit."""


class Loaded(Struct, frozen=True):
    """What was found in a folder of data."""

    folder: Path
    dialogues: Sequence[Dialogue]
    files: Mapping[str, str]
    """Name to SHA-256 of each file read."""
    absent: tuple[str, ...] = ()
    """Official files that the folder does not have; their items are not part of the run."""
    notes: tuple[str, ...] = ()
    """What a reader of the results must know about the data."""

    @property
    def digest(self) -> str:
        """One SHA-256 over all files."""
        return hashlib.sha256(repr(sorted(self.files.items())).encode()).hexdigest()


class Benchmark(ABC):
    """One published evaluation. Knows data, prompts, rules and tables; nothing of pytest, HTTP or torch."""

    name: ClassVar[str]
    title: ClassVar[str]
    tasks: ClassVar[Mapping[str, Task]]
    settings: ClassVar[tuple[Setting, ...]]
    """The settings it has, in report order."""
    aggregations: ClassVar[tuple[str, ...]]
    """Names of the ways to aggregate, the paper's own first."""
    sample: ClassVar[Path]
    """The folder of the embedded sample, in the official file format."""

    def owns(self, nodeid: str) -> bool:
        """True for a pytest node of the benchmark's own test modules, which stand beside its class."""
        package = type(self).__module__.split(".")[-2]
        return nodeid.partition("::")[0].replace("\\", "/").split("/")[-2:-1] == [package]

    @abstractmethod
    def recognises(self, folder: Path) -> bool:
        """True if the folder holds at least one of the benchmark's files."""

    @abstractmethod
    def load(self, folder: Path, settings: Sequence[Setting]) -> Loaded:
        """Read the official files.

        Raises:
            DataError: a file that cannot be used.
        """

    @abstractmethod
    def rubrics(self, override: Path | None) -> Mapping[str, Rubric]:
        """The judge prompts by name: our own, or the official ones from the folder ``override``."""

    @abstractmethod
    def score_by_rule(self, item: Item, reply: str, mode: Mode) -> Score:
        """Score the reply to an item of a task that is not judged."""

    @abstractmethod
    def judge_request(
        self, item: Item, reply: str, sent: Sequence[Message], rubrics: Mapping[str, Rubric], mode: Mode
    ) -> JudgeRequest:
        """What to ask a judge about the reply.

        Args:
            sent: the messages the model was given; the last is the item's user message.
        """

    @abstractmethod
    def facts(self, item: Item) -> Mapping[str, object]:
        """What ``summarise`` must find in the item's record; JSON types only."""

    @abstractmethod
    def summarise(self, records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
        """Aggregate records to the paper's tables. Records without a score count as selected, never as zero."""

    def recorded_replies(self, path: Path, model: str | None) -> Mapping[str, Recorded]:
        """Replies that the benchmark's official scripts left at ``path``: by turn id.

        Raises:
            UserError: nothing usable there, or the replies of several models and ``model`` names none of them.
        """
        raise UserError(f"{self.name} has no official output format to replay from {path}")


@cache
def installed() -> Mapping[str, Benchmark]:
    """Every benchmark installed, by name, in name order.

    Raises:
        UserError: an entry point that does not load, or whose name is not its benchmark's.
    """
    found: dict[str, Benchmark] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            benchmark = point.load()()
        except Exception as error:
            raise UserError(f"benchmark {point.name!r} ({point.value}) does not load: {error!r}") from error
        if not isinstance(benchmark, Benchmark) or benchmark.name != point.name:
            raise UserError(f"entry point {point.name!r} ({point.value}) must name a Benchmark called {point.name!r}")
        found[point.name] = benchmark
    return found
