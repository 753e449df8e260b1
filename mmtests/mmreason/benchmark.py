"""MMReason as a :class:`~mmtests.benchmark.Benchmark`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from mmtests.benchmark import Benchmark, Judging, Loaded
from mmtests.dialogue import BLIND, SINGLE, Item, Message, Setting
from mmtests.errors import BadRecords
from mmtests.mmreason.aggregate import AGGREGATIONS, summarise
from mmtests.mmreason.judging import RUBRIC_FILES, judge_answer, judge_steps, load_rubrics
from mmtests.mmreason.load import files, load
from mmtests.mmreason.proxy import final_answer, matches
from mmtests.mmreason.tasks import ANSWER, TASKS
from mmtests.rubric import Rubric
from mmtests.score import Mode, Record, Score
from mmtests.summary import BenchmarkSummary


class MMReason(Benchmark):
    """Open questions over images that take several steps: is the final answer right, and are the steps?"""

    name = "mmreason"
    title = "MMReason"
    tasks = TASKS
    settings: ClassVar[tuple[Setting, ...]] = (SINGLE, BLIND)
    aggregations = AGGREGATIONS
    sample = Path(__file__).parent / "sample"
    rubric_files = RUBRIC_FILES
    proxy_name = "final-answer"
    one_history = True

    def recognises(self, folder: Path) -> bool:
        return bool(files(folder))

    def load(self, folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
        return load(folder, settings, bad)

    def rubrics(self, override: Path | None) -> Mapping[str, Rubric]:
        return load_rubrics(override)

    def score_by_rule(self, item: Item, reply: str, mode: Mode) -> Score:
        raise NotImplementedError("a judge scores both tasks")

    def judge(
        self, item: Item, reply: str, sent: Sequence[Message], rubrics: Mapping[str, Rubric], mode: Mode
    ) -> Judging:
        judged = judge_answer if item.dialogue.task == ANSWER else judge_steps
        return judged(item, reply, rubrics, mode)

    def proxy(self, item: Item, reply: str) -> tuple[float, str] | None:
        """Whether the final answer is the gold one in the same form. For the steps there is none."""
        if item.dialogue.task != ANSWER:
            return None
        right = matches(reply, item.turn.reference or "")
        return float(right), f"final answer {final_answer(reply)[:60]!r} {'is' if right else 'is not'} the gold answer"

    def facts(self, item: Item) -> Mapping[str, Any]:
        return dict(item.dialogue.facts)

    def summarise(self, records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
        return summarise(records, aggregation)
