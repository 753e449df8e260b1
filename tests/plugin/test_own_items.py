"""A team's own tests of a benchmark's items stand beside the benchmark, and change nothing in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Loopback

MINE = """
import pytest

@pytest.mark.mmtests("mt_eval", "follow-up")
def test_short(reply):
    assert len(reply.text) < 5

@pytest.mark.mmtests("mt_eval", "follow-up")
def test_scored(score):
    assert score >= 0
"""


@pytest.mark.parametrize("order", [("mmtests", "test_mine.py"), ("test_mine.py", "mmtests")], ids=["after", "before"])
def test_own_tests_of_items_are_no_scores(
    server: Loopback,
    run_benchmark: RunBenchmark,
    records: Callable[[], dict[str, Record]],
    pytester: pytest.Pytester,
    order: tuple[str, str],
) -> None:
    """They pass and fail like any test; the items' records are the benchmark's alone, and each turn is asked once."""
    pytester.makepyfile(test_mine=MINE)
    server.behaviour = lambda request: Answer("A long enough answer.")

    result = run_benchmark(order[1], "-k", "follow-up and multi", "--tb=short", first=order[0])

    assert result.ret == 1
    assert len(server.requests) == 9
    assert {record.outcome for record in records().values()} == {"missed"}
    assert len(records()) == 9
    result.stdout.fnmatch_lines(["outcomes: 0 passed, 9 missed, 0 unjudged, 0 failed"])
    result.assert_outcomes(failed=18, passed=9, deselected=215)


def test_a_mark_that_names_no_task(run_benchmark: RunBenchmark, pytester: pytest.Pytester) -> None:
    """A typo in a mark is an error that names the tasks there are; the test does not vanish."""
    pytester.makepyfile(test_mine=MINE.replace("follow-up", "folow-up"))

    result = run_benchmark("test_mine.py", "-k", "multi")

    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*its mark names mt_eval/folow-up, and there is no such task*mt_eval/follow-up*"])


def test_a_project_without_benchmark_tests_is_told(
    server: Loopback, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever names a model, and collects nothing of a benchmark, learns how to."""
    pytester.makepyfile(test_mine="def test_mine():\n    pass")

    result = pytester.runpytest_subprocess("--model", "openai:test", "--model-arg", f"base_url={server.url}")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["mmtests: no benchmark item was collected.*--pyargs mmtests*"])


def test_a_part_is_no_whole(run_benchmark: RunBenchmark) -> None:
    """Averages over a selection say so."""
    result = run_benchmark("--limit", "1", "-k", "multi and not turn-03", "--tb=no")

    result.stdout.fnmatch_lines(["*of 166 items*", "PARTIAL: * of 166 items of MT-Eval were selected*"])


def test_a_replay_of_other_data_is_no_reply(
    server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester, records: Callable[[], dict[str, Record]]
) -> None:
    """A recorded reply to another question than the item's is not scored."""
    run_benchmark("-k", "follow-up and multi", "--run-dir", "first")
    recorded = pytester.path / "first" / "records.jsonl"
    recorded.write_text(recorded.read_text().replace('"user":"', '"user":"Not what is asked. ', 1))

    result = pytester.runpytest_subprocess(
        "--pyargs", "mmtests", "--model", "replay:first", "-k", "follow-up and multi"
    )

    assert result.ret == 11
    assert sum(record.outcome == "failed" for record in records().values()) == 1
    result.stdout.fnmatch_lines(["*answers another question*"])


def test_control_characters_do_not_act_on_the_terminal(server: Loopback, run_benchmark: RunBenchmark) -> None:
    """A reply that would clear the screen is shown as what it is."""
    server.behaviour = lambda request: Answer("\x1b[2Jgone\x07")

    result = run_benchmark("-k", "follow-up and multi and turn-03")

    assert "\x1b[2J" not in result.stdout.str()
    assert r"reply: \x1b[2Jgone\x07" in result.outlines


def test_a_file_that_is_no_store_stays_where_it_is(run_benchmark: RunBenchmark, pytester: pytest.Pytester) -> None:
    """A file named as the store by mistake is refused, not moved away."""
    notes = pytester.path / "notes.txt"
    notes.write_text("dear diary")

    result = run_benchmark("--store", "notes.txt", "-k", "follow-up")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert notes.read_text() == "dear diary"
    result.stderr.fnmatch_lines(["ERROR: the store *notes.txt cannot be used: this file is none.*"])
