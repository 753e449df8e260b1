"""MMRC as a :class:`~mmtests.benchmark.Benchmark`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from mmtests.benchmark import Benchmark, Judging, Loaded
from mmtests.dialogue import Dialogue, Item, Message, Setting
from mmtests.errors import BadRecords
from mmtests.image import Image
from mmtests.mmrc.aggregate import AGGREGATIONS, place_of, summarise
from mmtests.mmrc.judging import RUBRIC_FILES, judged, load_rubrics, question_of
from mmtests.mmrc.load import NAME, SETTINGS, load, recognises
from mmtests.mmrc.tasks import TASKS
from mmtests.rubric import Rubric
from mmtests.score import Mode, Record, Score
from mmtests.summary import BenchmarkSummary


class MMRC(Benchmark):
    """Long conversations with pictures, and after each of them questions on what was said and shown."""

    name = NAME
    title = "MMRC"
    tasks = TASKS
    settings: ClassVar[tuple[Setting, ...]] = SETTINGS
    aggregations = AGGREGATIONS
    sample = Path(__file__).parent / "sample"
    rubric_files = RUBRIC_FILES
    proxy_name = "rouge-l-or-option"
    one_history = True

    def recognises(self, folder: Path) -> bool:
        return recognises(folder)

    def load(self, folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
        return load(folder, settings, bad)

    def rubrics(self, override: Path | None) -> Mapping[str, Rubric]:
        return load_rubrics(override)

    def score_by_rule(self, item: Item, reply: str, mode: Mode) -> Score:
        raise NotImplementedError("a judge scores all of MMRC's tasks")

    def judge(
        self, item: Item, reply: str, sent: Sequence[Message], rubrics: Mapping[str, Rubric], mode: Mode
    ) -> Judging:
        return judged(item, reply, sent, rubrics, mode)

    def proxy(self, item: Item, reply: str) -> tuple[float, str] | None:
        """ROUGE-L for an open question; 1 or 0 for one with options."""
        question = question_of(item)
        right = question.accuracy(reply)
        if right is None:
            return super().proxy(item, reply)
        return right, f"the reply {'picks' if right else 'does not pick'} the right option, {question.answer!r}"

    def judge_images(self, dialogue: Dialogue) -> Iterable[Image]:
        """The data's own, whatever the model is shown."""
        return (image for message in dialogue.facts["shown"] for image in message.images)

    def facts(self, item: Item) -> Mapping[str, Any]:
        question, dialogue = question_of(item), item.dialogue
        turns = len(dialogue.turns) - 1
        return {
            "topic": dialogue.facts["topic"],
            "domain": dialogue.facts["domain"],
            "turns": turns,
            "format": question.format,
            "metric": question.metric,
            "evidence": place_of(question.evidence, turns),
        }

    def summarise(self, records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
        return summarise(records, aggregation)
