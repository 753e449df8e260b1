"""MileBench as a :class:`~mmtests.benchmark.Benchmark`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from mmtests.benchmark import Benchmark, Judging, Loaded
from mmtests.dialogue import ADVERSARIAL, BLIND, SINGLE, Dialogue, Item, Message, Setting, Text
from mmtests.errors import BadRecords
from mmtests.image import File, Image
from mmtests.milebench.aggregate import AGGREGATIONS, summarise
from mmtests.milebench.load import load, root_of
from mmtests.milebench.replies import read_replies
from mmtests.milebench.scoring import score
from mmtests.milebench.tasks import TASKS
from mmtests.policies import combined
from mmtests.reply import Recorded
from mmtests.rubric import Rubric
from mmtests.score import Mode, Record, Score
from mmtests.summary import BenchmarkSummary


class MileBench(Benchmark):
    """Long contexts of 2 to 109 images: temporal, semantic, needles in haystacks, retrieval. Scored by rules alone."""

    name = "milebench"
    title = "MileBench"
    tasks = TASKS
    settings: ClassVar[tuple[Setting, ...]] = (SINGLE, ADVERSARIAL, BLIND)
    aggregations = AGGREGATIONS
    sample = Path(__file__).parent / "sample"
    cut_left = True

    def recognises(self, folder: Path) -> bool:
        return root_of(folder) is not None

    def load(self, folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
        loaded = load(folder, settings, bad)
        # The sample has a few subsets on purpose.
        return replace(loaded, absent=()) if folder == self.sample else loaded

    def rubrics(self, override: Path | None) -> Mapping[str, Rubric]:
        return {}

    def score_by_rule(self, item: Item, reply: str, mode: Mode) -> Score:
        return score(item, reply, mode)

    def judge(
        self, item: Item, reply: str, sent: Sequence[Message], rubrics: Mapping[str, Rubric], mode: Mode
    ) -> Judging:
        raise NotImplementedError("no task of MileBench is judged")

    def proxy(self, item: Item, reply: str) -> tuple[float, str] | None:
        return None

    def facts(self, item: Item) -> Mapping[str, Any]:
        known = item.dialogue.facts
        return {name: known[name] for name in ("metric", "images", "depth") if known.get(name) is not None}

    def summarise(self, records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
        return summarise(records, aggregation)

    def combine(self, dialogue: Dialogue) -> Dialogue:
        """The data's own combined picture where there is one, else a grid; without the line breaks between images."""
        (turn,) = dialogue.turns
        breaks = frozenset(dialogue.facts.get("breaks", ()))
        parts = tuple(part for at, part in enumerate(turn.user.parts) if at not in breaks)
        plain = replace(dialogue, turns=(replace(turn, user=replace(turn.user, parts=parts)),))
        own = dialogue.facts.get("combined")
        changed = combined(plain, Image(File(own), _combined_place(dialogue)) if own else None)
        if changed is plain:
            return dialogue  # a message with one image, or none, stays as it is
        return _instruction_apart(changed, parts[0])

    def recorded_replies(self, path: Path, model: str | None) -> Mapping[str, Recorded]:
        return read_replies(path, model)


def _combined_place(dialogue: Dialogue) -> str:
    stem = f"{dialogue.task}{'-adv' if dialogue.setting == ADVERSARIAL else ''}"
    return f"{stem}.json: record {dialogue.id} (field task_instance.combined_1_images[0])"


def _instruction_apart(dialogue: Dialogue, instruction: Any) -> Dialogue:
    """The instruction as a text of its own again, so that a message that is cut keeps it and no more."""
    (turn,) = dialogue.turns
    picture, text = turn.user.parts
    assert isinstance(text, Text)
    length = 1 + len(instruction.text)  # the line break after the picture comes first
    parts = (picture, Text(text.text[:length]), Text(text.text[length:]))
    return replace(dialogue, turns=(replace(turn, user=replace(turn.user, parts=parts)),))
