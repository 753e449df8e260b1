"""Whole runs of the embedded sample against an endpoint that is model and judge."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from mmtests.dialogue import SINGLE
from mmtests.mmreason import MMReason
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Behaviour, Loopback

Records = Callable[[], dict[str, Record]]

QUESTIONS = {
    dialogue.turns[0].user.text: dialogue.turns[0].reference or ""
    for dialogue in MMReason().load(MMReason.sample, [SINGLE]).dialogues
    if dialogue.task == "answer"
}
"""The sample's questions and answers."""


def text_of(request: dict[str, Any]) -> str:
    """The text of a request's last message, with or without images."""
    content = request["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def images_of(request: dict[str, Any]) -> int:
    """How many images it has."""
    content = request["messages"][-1]["content"]
    return 0 if isinstance(content, str) else sum(part["type"] == "image_url" for part in content)


def stage(request: dict[str, Any]) -> str:
    """What a request is: the model's, or which of the judge's."""
    if request["model"] != "judge":
        return "model"
    text = text_of(request)
    return "steps" if "<reference_solution>" in text else "comparison" if "<first_answer>" in text else "extraction"


def steps(*labels: str) -> Answer:
    """A judge's verdict on steps."""
    return Answer(json.dumps({"Steps": [{"Step": "a step", "Label": label} for label in labels]}))


def conversing(
    reply: Callable[[str], str], extraction: str | None = None, comparison: str = "No", labels: tuple[str, ...] = ()
) -> Behaviour:
    """A server that replies to a question, extracts (None: what the reply says after "answer: "), compares and labels."""

    def behave(request: dict[str, Any]) -> Answer:
        match stage(request):
            case "model":
                return Answer(reply(text_of(request)))
            case "steps":
                return steps(*labels)
            case "comparison":
                return Answer(comparison)
        said = text_of(request).rpartition("<response>")[2].partition("</response>")[0]
        return Answer(extraction if extraction is not None else said.rpartition("answer: ")[2].strip())

    return behave


def stages(server: Loopback) -> Counter[str]:
    """How often each was asked."""
    return Counter(map(stage, server.requests))


def test_full_marks(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """The gold answers are right without a comparison, and one reply to a question serves both tasks."""
    server.behaviour = conversing(lambda question: f"answer: {QUESTIONS[question]}", labels=("correct",) * 2)

    result = run_benchmark("-k", "mmreason", judge=True)

    assert result.ret == 0
    assert {record.outcome for record in records().values()} == {"passed"}
    assert stages(server) == {"model": 5, "extraction": 5, "steps": 2}
    assert sorted(images_of(request) for request in server.requests if stage(request) == "model") == [1, 1, 1, 1, 2]
    assert not any(images_of(request) for request in server.requests if stage(request) != "model")
    result.stdout.fnmatch_lines(["*MMReason*percent*", "*Overall*", "*single*100.00*"])


def test_two_workers(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Spread over processes, both tasks of a question still share one reply."""
    pytest.importorskip("xdist")
    server.behaviour = conversing(lambda question: f"answer: {QUESTIONS[question]}", labels=("correct",))

    result = run_benchmark("-k", "mmreason", "-n2", judge=True)

    assert result.ret == 0
    assert len(records()) == 7
    assert stages(server) == {"model": 5, "extraction": 5, "steps": 2}


def test_the_floor(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Nonsense is wrong by comparison, and its steps are worth nothing."""
    server.behaviour = conversing(lambda question: f"Blue. {question}", "null", "No", ("incorrect",))

    result = run_benchmark("-k", "mmreason", judge=True)

    assert result.ret == 1
    found = records()
    assert {record.outcome for record in found.values()} == {"missed"}
    assert {record.score.value for record in found.values() if record.score} == {0}
    assert stages(server) == {"model": 5, "extraction": 5, "comparison": 5, "steps": 2}
    result.stdout.fnmatch_lines(["*single*0.00*"])


def test_a_judge_that_cannot_decide(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """After five tries at the official temperatures an answer is unjudged, the run incomplete, and the official figure beside."""
    server.behaviour = conversing(lambda question: "It is 60.", "60", "maybe", ("correct",))

    result = run_benchmark("-k", "mmreason and answer", judge=True)

    assert result.ret == 11
    outcomes = Counter(record.outcome for record in records().values())
    assert outcomes == {"passed": 1, "unjudged": 4}
    tries: dict[str, list[float]] = {}
    for request in server.requests:
        if stage(request) == "comparison":
            tries.setdefault(text_of(request), []).append(request["temperature"])
    assert list(tries.values()) == [[0.0, 0.5, 1.0, 1.5, 2.0]] * 4
    result.stdout.fnmatch_lines(["*INCOMPLETE: 4 items have no score*"])


def test_steps_that_stay_empty(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """A verdict without steps is no score."""
    server.behaviour = conversing(lambda question: "Hm.", labels=())

    run_benchmark("-k", "mmreason and steps", judge=True)

    assert {record.outcome for record in records().values()} == {"unjudged"}


def test_without_a_judge(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Answers are compared by rule and marked as such; steps are left out, with the reason."""
    server.behaviour = conversing(lambda question: f"So.\n**Answer:** {QUESTIONS[question].upper()}.")

    result = run_benchmark("-k", "mmreason")

    assert result.ret == 0
    found = records()
    assert {record.score.scorer for record in found.values() if record.score} == {"proxy:final-answer"}
    assert {record.task for record in found.values() if record.score} == {"answer"}
    assert len(server.requests) == 5
    result.stdout.fnmatch_lines(["*single*~100.00*", "*not scored: 2 items: needs a judge*"])


def test_blind(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Without images the same questions are asked, and what then still is right needs none."""
    right = next(iter(QUESTIONS))
    blind: list[str] = []

    def reply(question: str) -> str:
        return f"answer: {QUESTIONS[question]}"

    def behave(request: dict[str, Any]) -> Answer:
        if stage(request) == "model" and not images_of(request):
            blind.append(text_of(request))
            return Answer(reply(right) if text_of(request) == right else "answer: none")
        return conversing(reply, labels=("correct",))(request)

    server.behaviour = behave

    result = run_benchmark("-k", "mmreason and answer", "--setting", "single", "--setting", "blind", judge=True)

    assert sorted(blind) == sorted(QUESTIONS)
    outcomes = Counter((record.setting, record.outcome) for record in records().values())
    assert outcomes == {("single", "passed"): 5, ("blind", "passed"): 1, ("blind", "missed"): 4}
    result.stdout.fnmatch_lines(
        [
            "*setting*single*blind*",
            "*Overall*100.00*20.00*+80.00*",
            "*Multimodal relevance*",
            "*Overall*80.00*",
            "*GPT-4o*25.7*",
        ]
    )


@pytest.mark.parametrize(("scoring", "calls", "outcome"), [("reference", 5, "missed"), ("strict", 0, "passed")])
def test_a_label_in_the_extraction(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, scoring: str, calls: int, outcome: str
) -> None:
    """A label that the judge puts before the answer costs a comparison in reference mode, and nothing in strict mode."""
    plain = conversing(lambda question: f"answer: {QUESTIONS[question]}")

    def behave(request: dict[str, Any]) -> Answer:
        answer = plain(request)
        return Answer(f"Extracted Answer: {answer.text}") if stage(request) == "extraction" else answer

    server.behaviour = behave

    run_benchmark("-k", "mmreason and answer", "--scoring", scoring, judge=True)

    assert stages(server)["comparison"] == calls
    assert {record.outcome for record in records().values()} == {outcome}
