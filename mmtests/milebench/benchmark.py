"""MileBench as a :class:`~mmtests.benchmark.Benchmark`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from mmtests.benchmark import Benchmark, Judging, Loaded, Task
from mmtests.dialogue import SINGLE, Item, Message, Setting
from mmtests.errors import BadRecords
from mmtests.rubric import Rubric
from mmtests.score import Mode, Record, Score
from mmtests.summary import BenchmarkSummary


class MileBench(Benchmark):
    """Still to come."""

    name = "milebench"
    title = "MileBench"
    tasks: ClassVar[Mapping[str, Task]] = {}
    settings: ClassVar[tuple[Setting, ...]] = (SINGLE,)
    aggregations = ("paper",)
    sample = Path(__file__).parent / "sample"

    def recognises(self, folder: Path) -> bool:
        return False

    def load(self, folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
        return Loaded(folder, (), {})

    def rubrics(self, override: Path | None) -> Mapping[str, Rubric]:
        return {}

    def score_by_rule(self, item: Item, reply: str, mode: Mode) -> Score:
        raise NotImplementedError

    def judge(
        self, item: Item, reply: str, sent: Sequence[Message], rubrics: Mapping[str, Rubric], mode: Mode
    ) -> Judging:
        raise NotImplementedError

    def facts(self, item: Item) -> Mapping[str, Any]:
        return {}

    def summarise(self, records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
        raise NotImplementedError
