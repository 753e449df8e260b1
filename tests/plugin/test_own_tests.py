"""Tests that a team writes itself, with the fixtures that the plugin gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Loopback, last_user, verdict

Records = Callable[[], dict[str, Record]]


def summary_in(folder: Path) -> dict[str, Any]:
    """The summary of the last run in the folder."""
    last = max((folder / ".mmtests" / "runs").iterdir())
    content: dict[str, Any] = json.loads((last / "summary.json").read_text(encoding="utf-8"))
    return content


def support(request: dict[str, Any]) -> Answer:
    """A model that answers with what it was asked, and has nothing to say about refunds; and a strict judge."""
    if request["model"] == "judge":
        return verdict(4)
    asked = last_user(request)
    return Answer(status=500) if "refund" in asked else Answer(f"You said: {asked}")


def test_own_scores_are_reported(server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester) -> None:
    """Scores that tests record, by rule or by the judge, stand in the summary and in a table by ability."""
    pytester.makepyfile(
        test_support="""
        import pytest

        def test_chat(chat, record_score):
            reply = chat("Hello", system="Be brief.")
            assert record_score(float("Hello" in reply.text), ability="Manners") >= 1

        def test_conversation(chat, record_score):
            talk = chat.conversation()
            talk.say("My name is Ada.")
            reply = talk.say("What is my name?", max_new_tokens=7)
            assert reply.sent.turns == 2
            assert record_score(0.25, ability="Manners", threshold=0.5) >= 0.5

        def test_judged(chat, judge, record_score):
            score = judge(f"Is this kind? {chat('Hello').text}", scale=(1, 5))
            assert record_score(score, ability="Kindness") >= 3

        def test_outside(record_score):
            with pytest.raises(ValueError, match="outside its scale 0-1"):
                record_score(7)

        def test_plain(chat):
            assert chat("Good day").text == "You said: Good day"
        """
    )
    server.behaviour = support

    result = run_benchmark("test_support.py", "-k", "test_support", judge=True)

    assert result.ret == 1
    result.assert_outcomes(passed=4, failed=1)
    own = {one["ability"]: (one["cell"]["mean"], one["cell"]["scored"]) for one in summary_in(pytester.path)["own"]}
    assert own == {"Manners": (0.625, 2), "Kindness": (4.0, 1)}
    result.stdout.fnmatch_lines(["*Own tests: openai:test*", "*Kindness*4.00*1-5*1/1*", "*Manners*0.62*0-1*2/2*"])
    result.stdout.fnmatch_lines(["MISSED test_support.py::test_conversation*"])
    asked = [request for request in server.requests if last_user(request) == "What is my name?"]
    assert [m["content"] for m in asked[0]["messages"]] == [
        "My name is Ada.", "You said: My name is Ada.", "What is my name?"
    ]  # fmt: skip
    assert asked[0]["max_tokens"] == 7


def test_own_tests_end_honestly(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """A test whose chat gets no reply is failed, and one without a judge is skipped: neither is a miss."""
    pytester.makepyfile(
        test_support="""
        def test_refund(chat, record_score):
            record_score(len(chat("I want a refund").text))

        def test_judged(judge):
            judge("Is this kind?")
        """
    )
    server.behaviour = support

    result = run_benchmark("test_support.py", "-k", "test_support", "--model-arg", "max_retries=0", "-rs")

    assert result.ret == 11
    (record,) = records().values()
    assert (record.id, record.outcome) == ("own/test_support.py::test_refund", "failed")
    assert record.error == "no reply: HTTP 500: status 500, 1 tries"
    result.stdout.fnmatch_lines(["*SKIPPED*needs a judge (--judge MODEL)*"])
