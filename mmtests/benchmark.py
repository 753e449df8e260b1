"""The contract a benchmark meets, and the registry of those that are installed.

A package adds a benchmark by naming a subclass of :class:`Benchmark` in its ``pyproject.toml``::

    [project.entry-points."mmtests.benchmarks"]
    my_bench = "my_package.my_bench:MyBench"

and by shipping a test module whose functions carry ``@pytest.mark.mmtests("my_bench", "my-task")``.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from mmtests.dialogue import Dialogue, Item, Message, Setting
from mmtests.errors import BadRecords, UserError
from mmtests.image import Image
from mmtests.policies import combined
from mmtests.reply import Recorded
from mmtests.rubric import JudgeRequest, Rubric
from mmtests.score import Mode, Record, Scale, Score, Verdict
from mmtests.similarity import rouge_l
from mmtests.summary import BenchmarkSummary

GROUP = "mmtests.benchmarks"
"""The entry-point group."""


Judging = Generator[JudgeRequest, Verdict, Score]
"""The questions to a judge that lead to one score."""


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
    skipped: tuple[str, ...] = ()
    """Bad records that were left out on request, each with what is wrong with it."""

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

    def owns(self, nodeid: str, root: Path) -> bool:
        """True for a pytest node of the benchmark's own test modules, which stand beside its class.

        Args:
            root: pytest's root folder. What is collected from elsewhere goes by its file's name alone.
        """
        package = type(self).__module__.split(".")[-2]
        file = nodeid.partition("::")[0].replace("\\", "/")
        if "/" in file:
            return file.split("/")[-2] == package
        return file == f"test_{package}.py" and not (root / file).exists()

    @abstractmethod
    def recognises(self, folder: Path) -> bool:
        """True if the folder holds at least one of the benchmark's files."""

    rubric_files: ClassVar[tuple[str, ...]] = ()
    """Names of the judge prompts that may stand in place of our own: a folder that has any of them is meant for it."""
    proxy_name: ClassVar[str] = "rouge-l"
    """What ``proxy`` measures."""
    one_history: ClassVar[bool] = False
    """True if dialogues of the same setting and id share their history, whatever their task, so that they are best run
    in one process. They must have the same ``trunk``."""

    cut_left: ClassVar[bool] = False
    """True if ``--context-policy left`` applies: messages begin with an instruction, which stays, and what follows may go."""

    @abstractmethod
    def load(self, folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
        """Read the official files.

        Args:
            settings: of those asked for, the benchmark makes the ones it has.
            bad: is told of each record that cannot be used, and raises unless such are to be skipped. None: raises.

        Raises:
            DataError: a file or record that cannot be used.
        """

    @abstractmethod
    def rubrics(self, override: Path | None) -> Mapping[str, Rubric]:
        """The judge prompts by name: our own, or the official ones from the folder ``override``."""

    @abstractmethod
    def score_by_rule(self, item: Item, reply: str, mode: Mode) -> Score:
        """Score the reply to an item of a task that is not judged."""

    @abstractmethod
    def judge(
        self, item: Item, reply: str, sent: Sequence[Message], rubrics: Mapping[str, Rubric], mode: Mode
    ) -> Judging:
        """Score the reply with a judge: yield what to ask, receive each verdict, return the score.

        ``judged_once`` is the whole of it where one verdict is the score.

        Args:
            sent: the messages the model was given; the last is the item's user message.
        """

    def judge_images(self, dialogue: Dialogue) -> Iterable[Image]:
        """Images that the judge is shown and that may not be the dialogue's own, as where these were left out."""
        return ()

    def proxy(self, item: Item, reply: str) -> tuple[float, str] | None:
        """A stand-in for a judged score in a run without a judge: 0 to 1, and how it was made. None: there is none.

        ROUGE-L against the reference reply, unless a benchmark has better.
        """
        if not item.turn.reference:
            return None
        likeness = rouge_l(reply, item.turn.reference)
        return likeness, f"ROUGE-L {likeness:.2f} against the reference reply"

    @abstractmethod
    def facts(self, item: Item) -> Mapping[str, object]:
        """What ``summarise`` must find in the item's record; JSON types only."""

    @abstractmethod
    def summarise(self, records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
        """Aggregate records to the paper's tables. Records without a score count as selected, never as zero."""

    def combine(self, dialogue: Dialogue) -> Dialogue:
        """The dialogue with the pictures of each message in one (``--image-policy combine``)."""
        return combined(dialogue)

    def recorded_replies(self, path: Path, model: str | None) -> Mapping[str, Recorded]:
        """Replies that the benchmark's official scripts left at ``path``: by turn id.

        Raises:
            UserError: nothing usable there, or the replies of several models and ``model`` names none of them.
        """
        raise UserError(f"{self.name} has no official output format to replay from {path}")


def judged_once(request: JudgeRequest, mode: Mode) -> Judging:
    """One question to the judge, whose verdict is the score."""
    verdict = yield request
    return score_of(verdict, request.scale, mode)


def score_of(verdict: Verdict, scale: Scale, mode: Mode, earlier: tuple[Verdict, ...] = ()) -> Score:
    """A verdict as a score."""
    return Score(
        verdict.value, scale, f"judge:{verdict.judge}", mode, verdict.by_mode, verdict.dimensions, verdict.rationale,
        replace(verdict, by_mode={}, dimensions={}), earlier,
    )  # fmt: skip


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
