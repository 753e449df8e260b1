"""What a run shows and leaves behind, however it is run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mmtests import __version__
from mmtests.dialogue import MULTI
from mmtests.reports.folder import read_records
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Behaviour, Loopback, verdict
from tests.plugin.scripts import scripted

Records = Callable[[], dict[str, Record]]

INCOMPLETE = 11


def mixed() -> Behaviour:
    """One dialogue with every outcome: turn 2 is missed, turn 3 unjudged, turn 5 and all after it failed."""
    return scripted(
        model=lambda turn, before: Answer(status=500) if turn.endswith("1_sum_qa/turn-05") else None,
        judge=lambda turn, before: (
            {"02": verdict(2), "03": Answer("Good.")}.get(turn[-2:]) if "1_sum" in turn else None
        ),
        setting=MULTI,
    )


def content(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_run_leaves_the_same_behind_however_it_is_run(
    server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester
) -> None:
    """Verbosity, workers, a JUnit file or no terminal at all: records, summary and exit status are the same."""
    ways: dict[str, tuple[str, ...]] = {
        "verbose": ("-v", "--junitxml=junit.xml"),
        "workers": ("-q", "-n2"),
        "silent": ("-p", "no:terminal"),
    }
    found = {}
    for name, arguments in ways.items():
        server.behaviour = mixed()

        result = run_benchmark(
            "-k", "refinement and multi", "--store=off", f"--run-dir={name}", "--model-arg=max_retries=0",
            *arguments, judge=True,
        )  # fmt: skip

        assert result.ret == INCOMPLETE, name
        records = {r.id: (r.outcome, r.error, r.score and r.score.value, r.flags) for r in read_records(Path(name))}
        found[name] = records, content(Path(name) / "summary.json")
        if name == "verbose":
            result.stdout.fnmatch_lines(["*1_sum_qa/turn-01[]] PASSED*", "*1_sum_qa/turn-02[]] MISSED*"])
            result.stdout.fnmatch_lines(["*1_sum_qa/turn-03[]] UNJUDGED*", "*1_sum_qa/turn-05[]] NO REPLY*"])
        elif name == "workers":
            result.stdout.fnmatch_lines(["outcomes: 14 passed, 1 missed, 1 unjudged, 8 failed"])
        else:
            assert result.outlines == []
    assert found["workers"] == found["verbose"]
    assert found["silent"] == found["verbose"]
    assert found["verbose"][1]["outcomes"] == {"passed": 14, "missed": 1, "unjudged": 1, "failed": 8}
    assert found["verbose"][1]["complete"] is False
    cases = {case.get("name", ""): case for case in ElementTree.parse("junit.xml").getroot().iter("testcase")}
    assert len(cases) == 24
    missed = cases["test_refinement[mt_eval/refinement/multi/1_sum_qa/turn-02]"].find("failure")
    assert missed is not None
    assert "user: Mention both the storm and the swim." in (missed.text or "")
    assert "threshold: 5" in (missed.text or "")


def test_what_the_files_hold(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """A record has all about its item; ``run.json`` has all that makes runs comparable, the summary the tables."""
    server.behaviour = scripted(setting=MULTI)

    run_benchmark("-k", "refinement and multi and turn-02", "--limit", "1", judge=True)

    (record,) = records().values()
    assert (record.outcome, record.threshold, record.task, record.turn) == ("passed", 5, "refinement", 2)
    assert record.user == "Mention both the storm and the swim."
    assert record.reply is not None
    assert (record.reply.sent.turns, record.reply.completion_tokens) == (2, 5)
    assert record.score is not None
    assert (record.score.value, record.score.scorer, record.score.explanation) == (9, "judge:openai:judge", "Because.")
    (folder,) = (pytester.path / ".mmtests" / "runs").iterdir()
    run = content(folder / "run.json")
    fingerprint = run["fingerprint"]
    assert {
        "data",
        "settings",
        "scoring",
        "aggregation",
        "judge",
        "rubrics",
        "limit",
        "sample",
        "images",
        "context",
    } == set(fingerprint)
    assert len(fingerprint["data"]["mt_eval"]) == 64
    assert fingerprint["limit"] == 1
    assert fingerprint["judge"]["model"] == "judge"
    assert run["model"]["alias"] == "openai:test"
    assert run["embedded_sample"] is True
    assert run["versions"]["mmtests"] == __version__
    assert {"python", "pytest", "openai"} <= set(run["versions"])
    summary = content(folder / "summary.json")
    assert (summary["sample"], summary["complete"], summary["mode"]) == (True, True, "reference")
    assert summary["benchmarks"][0]["rows"][0]["cells"]["Refinement"]["mean"] == 9
    assert (pytester.path / ".mmtests" / ".gitignore").read_text() == "*\n"


def test_a_sample_and_proxies_are_marked(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Figures of the embedded sample, and scores made without a judge, are never shown as results."""
    result = run_benchmark("-k", "follow-up and multi and turn-03")

    result.stdout.fnmatch_lines(
        [
            "*judge none, judged tasks are scored by proxy*",
            "*MT-Eval (embedded sample): openai:test, no judge*",
            "*multi *~?.??*",
            "~ proxy: a likeness to the reference reply*",
            "The embedded sample is for trying things out. Its figures are not results*",
        ]
    )
    assert all(record.sample and "proxy" in record.flags for record in records().values())


def test_the_threshold_option(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """``--threshold`` holds for every task, over the project's own."""
    server.behaviour = scripted()

    result = run_benchmark("-k", "refinement and single and 1_sum_1", "--threshold", "9.5", judge=True)

    assert result.ret == 1
    assert [(record.outcome, record.threshold) for record in records().values()] == [("missed", 9.5)]
    result.stdout.fnmatch_lines(["*score 9 is below the threshold 9.5*"])


def test_thresholds_of_a_project(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """``[tool.mmtests.thresholds]`` sets them by task; a name with its benchmark wins."""
    pytester.makepyprojecttoml(
        """
        [tool.mmtests.thresholds]
        refinement = 8
        "mt_eval/refinement" = 9.5
        follow-up = 3
        """
    )
    server.behaviour = lambda request: verdict(4) if request["model"] == "judge" else Answer()

    run_benchmark("-k", "multi and (refinement and 1_sum_qa and turn-01 or follow-up and turn-03)", judge=True)

    assert {(r.task, r.threshold, r.outcome) for r in records().values()} == {
        ("refinement", 9.5, "missed"),
        ("follow-up", 3, "passed"),
    }


def test_other_ways_to_score_are_named(server: Loopback, run_benchmark: RunBenchmark) -> None:
    """``--scoring strict`` and ``--aggregation reference-code`` change figures, and the report says so."""
    server.behaviour = lambda request: verdict(7.9) if request["model"] == "judge" else Answer()

    result = run_benchmark(
        "-k", "follow-up and multi and turn-03", "--scoring=strict", "--aggregation=reference-code", "--run-dir=run",
        judge=True,
    )  # fmt: skip

    scores = [record.score for record in read_records(Path("run"))]
    assert [score and (score.value, score.by_mode["reference"]) for score in scores] == [(7.9, 7)] * 3
    result.stdout.fnmatch_lines(["multi: follow-up 7.90 (7.00 reference)"])
    result.stdout.fnmatch_lines(["aggregation: reference-code, not the paper's", "scoring mode: strict, not *"])
    assert content(Path("run/summary.json"))["mode"] == "strict"
    fingerprint = content(Path("run/run.json"))["fingerprint"]
    assert (fingerprint["scoring"], fingerprint["aggregation"]) == ("strict", "reference-code")


def test_a_run_that_stops_early_is_not_complete(
    server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester
) -> None:
    """Items that were selected and never ran have no score either: the summary must not call such a run complete."""
    server.behaviour = lambda request: verdict(2) if request["model"] == "judge" else Answer()

    result = run_benchmark("-k", "follow-up and multi", "-x", judge=True)

    (folder,) = (pytester.path / ".mmtests" / "runs").iterdir()
    result.assert_outcomes(failed=1, deselected=197)
    assert content(folder / "summary.json")["complete"] is False
