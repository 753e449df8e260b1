"""MT-Eval as a :class:`~mmtests.benchmark.Benchmark`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from mmtests.benchmark import Benchmark, Judging, Loaded, judged_once
from mmtests.dialogue import GOLD, MULTI, SINGLE, Item, Message, Setting
from mmtests.errors import BadRecords
from mmtests.mt_eval.aggregate import AGGREGATIONS, summarise
from mmtests.mt_eval.classification import names_label
from mmtests.mt_eval.instructions import follows
from mmtests.mt_eval.judging import RUBRIC_FILES, judge_request, load_rubrics
from mmtests.mt_eval.load import FILES, load
from mmtests.mt_eval.replies import read_replies
from mmtests.mt_eval.tasks import RECOLLECTION_CLS, RULED, TASKS
from mmtests.reply import Recorded
from mmtests.rubric import Rubric
from mmtests.score import Mode, Record, Score
from mmtests.summary import BenchmarkSummary

_MODES: tuple[Mode, ...] = ("reference", "strict")


class MTEval(Benchmark):
    """Refinement, expansion, follow-up and recollection over many turns, each beside its single-turn twin."""

    name = "mt_eval"
    title = "MT-Eval"
    tasks = TASKS
    settings: ClassVar[tuple[Setting, ...]] = (MULTI, SINGLE, GOLD)
    aggregations = AGGREGATIONS
    sample = Path(__file__).parent / "sample"
    rubric_files = RUBRIC_FILES

    def recognises(self, folder: Path) -> bool:
        return any((folder / name).is_file() for name in FILES)

    def load(self, folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
        return load(folder, settings, bad)

    def rubrics(self, override: Path | None) -> Mapping[str, Rubric]:
        return load_rubrics(override)

    def score_by_rule(self, item: Item, reply: str, mode: Mode) -> Score:
        by_mode: dict[Mode, float | None] = {one: _rule(item, reply, one) for one in _MODES}
        value = by_mode[mode]
        assert value is not None
        return Score(value, RULED, f"rule:{item.dialogue.task}", mode, by_mode, explanation=_explain(item))

    def judge(
        self, item: Item, reply: str, sent: Sequence[Message], rubrics: Mapping[str, Rubric], mode: Mode
    ) -> Judging:
        return judged_once(judge_request(item, reply, sent, rubrics, mode), mode)

    def facts(self, item: Item) -> Mapping[str, Any]:
        known = {name: item.turn.facts[name] for name in ("nlp_task", "part", "step") if name in item.turn.facts}
        if "inst_name" in item.dialogue.facts:
            known["inst_name"] = item.dialogue.facts["inst_name"]
        return known

    def summarise(self, records: Sequence[Record], aggregation: str) -> BenchmarkSummary:
        return summarise(records, aggregation)

    def recorded_replies(self, path: Path, model: str | None) -> Mapping[str, Recorded]:
        return read_replies(path, model)


def _rule(item: Item, reply: str, mode: Mode) -> float:
    if item.dialogue.task == RECOLLECTION_CLS:
        right = names_label(reply, item.turn.reference or "", mode)
    else:
        facts = item.dialogue.facts
        try:
            right = follows(facts["inst_name"], facts["inst_args"], reply, mode)
        except IndexError:
            right = False  # an empty reply, on which the official script stops
    return RULED.high if right else RULED.low


def _explain(item: Item) -> str:
    if item.dialogue.task == RECOLLECTION_CLS:
        return f"the reply should name {item.turn.reference!r}"
    facts = item.dialogue.facts
    arguments = ", ".join(f"{name}={value!r}" for name, value in facts["inst_args"].items())
    return f"the reply should obey {facts['inst_name']}" + (f" ({arguments})" if arguments else "")
