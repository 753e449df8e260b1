"""Whatever an endpoint does wrong: nothing is scored that was not answered, and the exit status says so."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mmtests.dialogue import GOLD, MULTI
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Loopback, verdict
from tests.plugin.scripts import MAX_CONTEXT, judged_turn, of_judge, of_model, scripted

Records = Callable[[], dict[str, Record]]

INCOMPLETE = 11
USAGE_ERROR = 4
SECRET = "sk-secret-123"

TEN_QUESTIONS = "refinement and single and (1_sum or 1_qa)"


def question(name: str) -> str:
    """The id of a refinement question in the single setting."""
    return f"mt_eval/refinement/single/{name}/turn-01"


FAULTS = {
    question("1_sum_1"): (Answer(status=429, headers={"Retry-After": "2"}), "HTTP 429: status 429, 2 tries"),
    question("1_sum_2"): (Answer(status=500), "HTTP 500: status 500, 2 tries"),
    question("1_sum_3"): (Answer(delay=3), "no answer within 1 s, 2 tries"),
    question("1_sum_4"): (Answer(cut=20), "connection to http://127.0.0.1:*failed, 2 tries*"),
    question("1_sum_5"): (Answer(body=b'{"choices": [{"mes'), "not a chat completion (3 times)"),
    question("1_qa_1"): (Answer(text=""), "empty reply (finish_reason 'stop') (3 times)"),
    question("1_qa_2"): (Answer(text=None), "empty reply (finish_reason 'stop') (3 times)"),
    question("1_qa_3"): (Answer(body=b'{"status": "ok"}'), "not a chat completion (3 times)"),
}
"""One fault for each of eight questions, and what the records say where it never ends."""

FAST = ("--model-arg", "max_retries=1", "--model-arg", "timeout=1")


def test_a_fault_that_passes_is_recovered_from(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Whatever goes wrong once is tried again, and the item is scored as if nothing had been."""
    times: dict[str, list[float]] = {}

    def once(turn: str, before: int) -> Answer | None:
        times.setdefault(turn, []).append(time.monotonic())
        return FAULTS[turn][0] if turn in FAULTS and before == 0 else None

    server.behaviour = scripted(model=once)

    result = run_benchmark("-k", TEN_QUESTIONS, *FAST, judge=True)

    assert result.ret == 0
    assert {record.outcome for record in records().values()} == {"passed"}
    assert {turn: len(asked) for turn, asked in times.items()} == {turn: 2 if turn in FAULTS else 1 for turn in times}
    assert len(times) == 10
    first, second = times[question("1_sum_1")]
    assert second - first >= 1.9, "Retry-After: 2 was not honoured"


def test_a_fault_that_lasts_fails_its_item(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """An item without a reply is failed for its own reason, is judged by nobody, and makes the run incomplete."""
    server.behaviour = scripted(model=lambda turn, before: FAULTS[turn][0] if turn in FAULTS else None)

    result = run_benchmark("-k", TEN_QUESTIONS, *FAST, judge=True)

    found = records()
    assert result.ret == INCOMPLETE
    result.stdout.fnmatch_lines(["*outcomes: 2 passed, 0 missed, 0 unjudged, 8 failed*"])
    result.stdout.fnmatch_lines(["*INCOMPLETE: 8 items have no score*"])
    for turn, (_, reason) in FAULTS.items():
        record = found.pop(turn)
        assert (record.outcome, record.score, record.reply) == ("failed", None, None)
        pytest.LineMatcher([record.error or ""]).fnmatch_lines([f"*{reason}*"])
    assert {record.outcome for record in found.values()} == {"passed"}
    assert {judged_turn(request) for request in of_judge(server.requests)} == set(found)


def test_a_dialogue_that_does_not_fit_is_not_cut(
    server: Loopback, run_benchmark: RunBenchmark, records: Records
) -> None:
    """An endpoint that says the context is too long is believed at once, and quoted."""
    server.behaviour = scripted(model=lambda turn, before: Answer(status=400, body=MAX_CONTEXT))

    result = run_benchmark("-k", "refinement and single and 1_sum_1", *FAST, judge=True)

    (record,) = records().values()
    assert result.ret == INCOMPLETE
    assert record.outcome == "failed"
    assert "does not fit the context: HTTP 400: context_length_exceeded This model's maximum" in (record.error or "")
    assert len(server.requests) == 1


def test_turns_after_a_missing_reply_fail(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """A running dialogue ends where a reply is missing: later turns are failed by name, other dialogues go on."""
    broken = "mt_eval/refinement/multi/1_sum_qa"
    server.behaviour = scripted(
        model=lambda turn, before: Answer(status=500) if turn == f"{broken}/turn-02" else None, setting=MULTI
    )

    result = run_benchmark("-k", "refinement and multi", "--model-arg", "max_retries=0", judge=True)

    found = records()
    later = [found.pop(f"{broken}/turn-{number:02}") for number in range(3, 13)]
    assert result.ret == INCOMPLETE
    assert {record.outcome for record in later} == {"failed"}
    assert {record.error for record in later} == {
        "no reply: turn 2 before it has no reply: HTTP 500: status 500, 1 tries"
    }
    assert found.pop(f"{broken}/turn-02").error == "no reply: HTTP 500: status 500, 1 tries"
    assert len(found) == 13
    assert {record.outcome for record in found.values()} == {"passed"}
    assert len(of_model(server.requests)) == 14, "turns after the missing reply were asked"


def test_a_gold_turn_fails_alone(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """With references as the history no turn stands on another's reply."""
    broken = "mt_eval/refinement/gold/1_sum_qa/turn-02"
    server.behaviour = scripted(model=lambda turn, before: Answer(status=500) if turn == broken else None, setting=GOLD)

    result = run_benchmark("-k", "gold and 1_sum_qa", "--model-arg", "max_retries=0", judge=True)

    found = records()
    assert result.ret == INCOMPLETE
    assert found.pop(broken).outcome == "failed"
    assert [record.outcome for record in found.values()] == ["passed"] * 11


def test_only_successes_are_stored(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """The same run again asks for what failed or was not judged, and for nothing else."""
    arguments = ("-k", "refinement and single and 1_sum", "--model-arg", "max_retries=0")
    unanswered, unjudged = question("1_sum_1"), question("1_sum_2")
    server.behaviour = scripted(
        model=lambda turn, before: Answer(status=500) if turn == unanswered else None,
        judge=lambda turn, before: Answer("I like it.") if turn == unjudged else None,
    )
    assert run_benchmark(*arguments, judge=True).ret == INCOMPLETE
    assert {id: record.outcome for id, record in records().items() if record.outcome != "passed"} == {
        unanswered: "failed",
        unjudged: "unjudged",
    }

    server.requests.clear()
    server.behaviour = scripted()
    assert run_benchmark(*arguments, judge=True).ret == 0
    assert len(of_model(server.requests)) == 1
    assert {judged_turn(request) for request in of_judge(server.requests)} == {unanswered, unjudged}
    assert set(records()[question("1_sum_3")].flags) == {"cached", "verdict_cached"}
    assert records()[unanswered].flags == ()

    server.requests.clear()
    assert run_benchmark(*arguments, judge=True).ret == 0
    assert server.requests == []
    assert {record.flags for record in records().values()} == {("cached", "verdict_cached")}


def test_half_characters(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Replies and verdicts may hold surrogates without their other half. The run goes on, and its files can be written."""
    odd = Answer('{"Rationale": "Half a \\ud83d face.", "Score": 9}')
    server.behaviour = lambda request: odd if request["model"] == "judge" else Answer("Half a \ud83d face.")

    result = run_benchmark("-k", "refinement and single and 1_sum_1", judge=True)

    assert result.ret == 0
    (record,) = records().values()
    assert record.reply is not None
    assert record.reply.text == "Half a \ufffd face."
    assert record.flags == ("reply_mended",)
    assert record.score is not None
    assert record.score.explanation == "Half a \ufffd face."


def test_a_judge_without_a_verdict_leaves_the_item_unjudged(
    server: Loopback, run_benchmark: RunBenchmark, records: Records
) -> None:
    """An unreadable verdict is asked for again with its fault named; without any the item has a reply and no score."""
    prose, silent, second = question("1_sum_1"), question("1_sum_2"), question("1_sum_3")

    def judge(turn: str, before: int) -> Answer | None:
        if turn == prose:
            return Answer("A fine reply, 8 of 10 I would say.")
        if turn == silent:
            return Answer(status=500)
        return verdict(11) if turn == second and before == 0 else None

    server.behaviour = scripted(judge=judge)

    result = run_benchmark("-k", "refinement and single and 1_sum", "--judge-arg", "max_retries=0", judge=True)

    found = records()
    assert result.ret == INCOMPLETE
    result.stdout.fnmatch_lines(["*outcomes: 3 passed, 0 missed, 2 unjudged, 0 failed*", "*INCOMPLETE: 2 items*"])
    for turn, reason in (
        (prose, "the judge openai:judge gave no readable verdict in 3 attempts; the last: it holds no JSON object"),
        (silent, "the judge openai:judge gave no reply: HTTP 500: status 500, 1 tries"),
    ):
        assert (found[turn].outcome, found[turn].score, found[turn].error) == ("unjudged", None, reason)
        assert found[turn].reply is not None
    conversations = [r["messages"] for r in of_judge(server.requests) if judged_turn(r) == prose]
    assert [len(messages) for messages in conversations] == [1, 3, 5]
    assert conversations[1][1]["content"] == "A fine reply, 8 of 10 I would say."
    assert "could not be read: it holds no JSON object." in conversations[1][2]["content"]
    corrected = [r["messages"] for r in of_judge(server.requests) if judged_turn(r) == second]
    assert "'Score' is 11, outside the scale 1-10" in corrected[1][2]["content"]
    assert "verdict_asked_again" in found[second].flags


@pytest.mark.parametrize(("ordinary", "status"), [(True, INCOMPLETE), (False, 1)])
def test_what_an_incomplete_run_ends_with(
    ordinary: bool, status: int, server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester
) -> None:
    """Missing evidence outweighs misses; a failing test that is none of ours outweighs both."""
    pytester.makepyfile(test_ordinary=f"def test_ordinary():\n    assert {ordinary}")
    server.behaviour = scripted(
        model=lambda turn, before: Answer(status=500) if turn == question("1_sum_1") else None,
        judge=lambda turn, before: verdict(2),
    )

    result = run_benchmark(
        "test_ordinary.py", "-k", "ordinary or refinement and single and (1_sum_1 or 1_sum_2)",
        "--model-arg", "max_retries=0", judge=True,
    )  # fmt: skip

    assert result.ret == status
    result.stdout.fnmatch_lines(["*outcomes: 0 passed, 1 missed, 0 unjudged, 1 failed*"])


def files_with(text: str, folder: Path) -> list[Path]:
    """Files in which a text stands."""
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.parametrize(("status", "workers"), [(401, ()), (404, ("-n2",))])
def test_an_answer_that_no_retry_mends_ends_the_run(
    status: int,
    workers: tuple[str, ...],
    server: Loopback,
    run_benchmark: RunBenchmark,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong key or model name is one usage error, and the key that the server repeats is shown nowhere."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    server.behaviour = lambda request: Answer(
        status=status, body=b'{"error": {"message": "No access for sk-secret-123 to test"}}'
    )

    result = run_benchmark("-k", "follow-up and multi", *workers)

    output = f"{result.stdout}\n{result.stderr}"
    assert SECRET in str(server.headers[0])
    assert SECRET not in output
    assert files_with(SECRET, pytester.path / ".mmtests") == []
    assert f"HTTP {status}: No access for *** to test" in output
    assert "Traceback" not in output
    assert result.ret == USAGE_ERROR


def test_a_failed_item_shows_its_reason_alone(
    server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is the whole message: no exceptions that led to it, which hold the server's words with the key."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    server.behaviour = lambda request: Answer(
        status=500, body=b'{"error": {"message": "sk-secret-123 is at its limit"}}'
    )

    result = run_benchmark("-k", "follow-up and multi/1 and turn-03", "--model-arg", "max_retries=0")

    assert result.ret == INCOMPLETE
    result.stdout.fnmatch_lines(["no reply: HTTP 500: [*][*][*] is at its limit, 1 tries"])
    assert files_with(SECRET, pytester.path / ".mmtests") == []
    assert SECRET not in result.stdout.str()
    assert "exception" not in result.stdout.str()


def test_a_key_in_a_long_message_is_hidden_whole(
    server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No part of the key is kept where the server's message is shortened."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    # Of the 300 characters that are kept, the last six are the key's first.
    long = f"{'x' * 293} {SECRET}"
    server.behaviour = lambda request: Answer(status=500, body=f'{{"error": {{"message": "{long}"}}}}'.encode())

    result = run_benchmark("-k", "follow-up and multi/1 and turn-03", "--model-arg", "max_retries=0")

    assert result.ret == INCOMPLETE
    assert files_with("sk-sec", pytester.path / ".mmtests") == []
    assert "sk-sec" not in result.stdout.str()


def test_a_password_in_the_address_is_kept_nowhere(
    server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester
) -> None:
    """An address may carry a password; it is used, and neither shown nor written."""
    address = server.url.replace("//", "//someone:hunter2@")

    result = run_benchmark("-k", "follow-up and multi and 1", "--model-arg", f"base_url={address}")

    assert server.requests
    assert "hunter2" not in result.stdout.str()
    assert files_with("hunter2", pytester.path / ".mmtests") == []
