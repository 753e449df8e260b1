"""Replies that exist already are scored without a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmtests.dialogue import MULTI
from mmtests.mt_eval import MTEval
from mmtests.reports.folder import read_records
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Loopback
from tests.plugin.scripts import scripted

Records = Callable[[], dict[str, Record]]


def test_an_earlier_run_is_scored_again(
    server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester
) -> None:
    """The replies of a run's folder are scored anew; what had no reply has none now."""
    server.behaviour = scripted(
        model=lambda turn, before: Answer(status=500) if "1_sum_5" in turn else Answer(f"The swim at {turn}.")
    )
    selection = ("-k", "expansion and single or recollection-cls and single", "--store=off")
    first = run_benchmark(*selection, "--run-dir=first", "--model-arg=max_retries=0")
    asked = len(server.requests)

    again = pytester.runpytest_subprocess(
        "--pyargs", "mmtests", "--model=replay:first", *selection, "--run-dir=again", timeout=60
    )

    def scores(folder: str) -> dict[str, tuple[object, ...]]:
        return {r.id: (r.outcome, r.score and r.score.value) for r in read_records(Path(folder))}

    assert scores("again") == scores("first")
    assert len(scores("again")) == 24
    assert again.ret == first.ret
    assert len(server.requests) == asked


def test_a_selected_turn_is_scored_again(
    server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester
) -> None:
    """A run that selected turn 4 alone has no record of turns 1 to 3, and its turn 4 can still be scored again."""
    server.behaviour = scripted(setting=MULTI)
    selection = ("-k", "1_sum_qa and turn-04", "--store=off")
    run_benchmark(*selection, "--run-dir=first")

    pytester.runpytest_subprocess(
        "--pyargs", "mmtests", "--model=replay:first", *selection, "--run-dir=again", timeout=60
    )

    (first,), (again,) = read_records(Path("first")), read_records(Path("again"))
    assert again.error is None
    assert again.reply is not None
    assert first.reply is not None
    assert again.reply.text == first.reply.text
    assert again.outcome == first.outcome


def test_output_of_the_official_script_is_scored(pytester: pytest.Pytester, records: Records) -> None:
    """``inference_outputs`` of MT-Eval's own script are scored; a turn it marks as an error, or lacks, is failed."""
    rows: list[dict[str, Any]] = [
        json.loads(line)
        for line in (MTEval.sample / "recollection_multi_cls.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for turn in rows[0]["conv"]:
        turn |= {"gen_resp": turn["sys"]} if turn["do_inference"] else {}
    rows[0]["conv"][1]["gen_resp"] = "none of them"
    rows[0]["conv"][5] |= {"error": True, "gen_resp": ""}
    folder = pytester.path / "inference_outputs" / "recollection"
    folder.mkdir(parents=True)
    (folder / "multi_cls_vicuna.jsonl").write_text(json.dumps(rows[0]) + "\n")
    # Another model's replies lie beside: which are meant must be said.
    (folder / "multi_cls_mistral.jsonl").write_text(json.dumps(rows[0]) + "\n")
    arguments = ("--pyargs", "mmtests", "--model=replay:inference_outputs", "-k", "recollection-cls and multi")

    unclear = pytester.runpytest_subprocess(*arguments, timeout=60)
    result = pytester.runpytest_subprocess(*arguments, "--model-arg=name=vicuna", timeout=60)

    assert unclear.ret == 4
    unclear.stderr.fnmatch_lines(["*the replies of mistral, vicuna: choose one with --model-arg name=*"])
    found = {id.removeprefix("mt_eval/recollection-cls/multi/"): record for id, record in records().items()}
    assert result.ret == 11
    assert [found[f"1/turn-{n:02}"].outcome for n in range(2, 7)] == ["missed", "passed", "passed", "passed", "failed"]
    assert "marks this turn as failed" in (found["1/turn-06"].error or "")
    assert {record.outcome for id, record in found.items() if id.startswith("2/")} == {"failed"}
    assert "no reply is recorded for" in (found["2/turn-02"].error or "")
