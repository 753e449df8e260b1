"""Endpoints under load, with faults now and then, and with replicas that go away: whole runs of the embedded sample."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mmtests.dialogue import MULTI
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Behaviour, Loopback
from tests.plugin.scripts import scripted

Records = Callable[[], dict[str, Record]]

JUDGED = "multi and (refinement or follow-up)"
NOBODY = "http://127.0.0.1:1/v1"
"""An address where nothing listens."""


@pytest.fixture
def second() -> Iterator[Loopback]:
    """Another endpoint."""
    with Loopback() as loopback:
        yield loopback


def now_and_then(turn: str, before: int) -> Answer | None:
    """A fault in 30 of 100 requests, which ones by turn and try alone."""
    dice = random.Random(f"{turn} {before}")
    if dice.random() >= 0.3:
        return None
    return dice.choice([Answer(status=429, headers={"Retry-After": "0.2"}), Answer(status=500), Answer(cut=20)])


def own_reply_and_verdict(record: Record) -> bool:
    """Whether an item got the reply to its own turn, and the verdict that the script gives."""
    return (
        record.outcome == "passed"
        and record.reply is not None
        and record.reply.text == f"This is said at {record.id}."
        and record.score is not None
        and record.score.value == 9
    )


@pytest.mark.parametrize("concurrency", ["auto", "3"])
def test_many_faults_cost_nothing_but_time(
    concurrency: str, server: Loopback, run_benchmark: RunBenchmark, records: Records
) -> None:
    """With a fault in 30 of 100 requests to model and judge every item gets its own reply and its own score."""
    server.behaviour = scripted(model=now_and_then, judge=now_and_then, setting=MULTI)
    patient = [
        f"{whose}={what}" for whose in ("--model-arg", "--judge-arg") for what in ("max_retries=12", "timeout=30")
    ]

    result = run_benchmark("-k", JUDGED, "--concurrency", concurrency, *patient, judge=True)

    found = records()
    assert result.ret == 0
    assert len(found) > 20
    assert [record.id for record in found.values() if not own_reply_and_verdict(record)] == []
    assert len(server.requests) > 2 * len(found), "there was no fault"
    if concurrency == "3":
        assert server.most_in_flight <= 6, "3 of the model and 3 of the judge"


def dying(server: Loopback, script: Behaviour) -> Behaviour:
    """As the script says, until a third request comes: then the server is gone in the midst of it."""

    def behave(request: dict[str, Any]) -> Answer:
        if len(server.requests) < 3:
            return script(request)
        if len(server.requests) == 3:
            server.__exit__(None, None, None)
        return Answer(cut=0)

    return behave


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_replica_that_dies_is_survived(
    workers: tuple[str, ...], server: Loopback, second: Loopback, run_benchmark: RunBenchmark, records: Records
) -> None:
    """A server is gone in mid-run: its dialogues go on at the other, and the run ends as if nothing had been."""
    server.behaviour = script = scripted(setting=MULTI)
    second.behaviour = dying(second, script)
    both = ("--model-arg", f"base_url={server.url},{second.url}", "--model-arg", "max_retries=1")

    result = run_benchmark("-k", JUDGED, *both, *workers, judge=True)

    found = records()
    assert result.ret == 0
    assert len(second.requests) >= 3, "it did not die"
    assert [record.id for record in found.values() if not own_reply_and_verdict(record)] == []
    result.stdout.fnmatch_lines([f"mmtests: openai:test: {second.url} did not answer and was left out"])


def test_a_replica_that_is_not_there_at_the_start(
    server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester
) -> None:
    """The run goes on with the one that answers, names the other at its end, and shows no password."""
    server.behaviour = scripted(setting=MULTI)
    dead = NOBODY.replace("//", "//someone:hunter2@")

    result = run_benchmark("-k", "refinement and multi", "--model-arg", f"base_url={dead},{server.url}", judge=True)

    assert result.ret == 0
    result.stdout.fnmatch_lines([f"mmtests: openai:test: {NOBODY} did not answer and was left out"])
    assert "hunter2" not in f"{result.stdout}{result.stderr}"
    written = [path for path in (pytester.path / ".mmtests").rglob("*") if path.is_file()]
    assert [path for path in written if b"hunter2" in Path(path).read_bytes()] == []


def test_without_any_replica_nothing_is_begun(server: Loopback, run_benchmark: RunBenchmark) -> None:
    """One usage error that names all addresses."""
    result = run_benchmark("-k", "refinement", "--model-arg", f'base_url=["{NOBODY}", "http://127.0.0.1:2/v1"]')

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    output = f"{result.stdout}{result.stderr}"
    assert f"{NOBODY} cannot be reached" in output
    assert "http://127.0.0.1:2/v1 cannot be reached" in output


def test_a_spent_budget_fails_its_item(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """An item whose question takes too long in all is failed by name; others are not."""
    slow = "mt_eval/refinement/multi/1_sum_qa/turn-01"
    server.behaviour = scripted(model=lambda turn, before: Answer(status=500) if turn == slow else None, setting=MULTI)

    result = run_benchmark(
        "-k", "refinement and multi and turn-01", "--model-arg", "max_retries=99", "--model-arg", "budget=3"
    )

    found = records()
    assert result.ret == 11
    assert "no reply within the budget of 3 s" in (found.pop(slow).error or "")
    assert found
    assert {record.outcome for record in found.values()} <= {"passed", "missed"}


@pytest.mark.parametrize("written", ["0", "many", "1.5"])
def test_no_number_of_requests(written: str, run_benchmark: RunBenchmark) -> None:
    """``--concurrency`` takes a positive number or auto."""
    result = run_benchmark("--concurrency", written)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*invalid positive whole number or auto value: '{written}'*"])
