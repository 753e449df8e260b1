"""MMDU as a :class:`~mmtests.benchmark.Benchmark`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from mmtests.benchmark import Benchmark, Judging, Loaded, judged_once
from mmtests.dialogue import BLIND, GOLD, MULTI, Dialogue, Item, Message, Setting
from mmtests.errors import BadRecords
from mmtests.image import Image
from mmtests.mmdu.aggregate import AGGREGATIONS, summarise
from mmtests.mmdu.judging import RUBRIC_FILES, judge_request, load_rubrics
from mmtests.mmdu.load import load, recognises
from mmtests.mmdu.replies import read_replies
from mmtests.mmdu.tasks import TASKS
from mmtests.reply import Recorded
from mmtests.rubric import Rubric
from mmtests.score import Mode, Record, Score
from mmtests.summary import BenchmarkSummary


class MMDU(Benchmark):
    """Long dialogues about several images, each reply rated by a judge on six dimensions and overall."""

    name = "mmdu"
    title = "MMDU"
    tasks = TASKS
    settings: ClassVar[tuple[Setting, ...]] = (MULTI, GOLD, BLIND)
    aggregations = AGGREGATIONS
    sample = Path(__file__).parent / "sample"
    rubric_files = RUBRIC_FILES

    def recognises(self, folder: Path) -> bool:
        return recognises(folder)

    def load(self, folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
        return load(folder, settings, bad)

    def rubrics(self, override: Path | None) -> Mapping[str, Rubric]:
        return load_rubrics(override)

    def score_by_rule(self, item: Item, reply: str, mode: Mode) -> Score:
        raise NotImplementedError("MMDU has no task that a rule scores")

    def judge(
        self, item: Item, reply: str, sent: Sequence[Message], rubrics: Mapping[str, Rubric], mode: Mode
    ) -> Judging:
        return judged_once(judge_request(item, reply, rubrics, mode), mode)

    def judge_images(self, dialogue: Dialogue) -> Iterable[Image]:
        """The data's own, whatever the model is shown."""
        images: tuple[Image, ...] = dialogue.facts["images"]
        return images

    def facts(self, item: Item) -> Mapping[str, Any]:
        return {}

    def summarise(self, records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
        return summarise(records, aggregation)

    def recorded_replies(self, path: Path, model: str | None) -> Mapping[str, Recorded]:
        return read_replies(path, model)
