"""Each item ends in exactly one outcome, and the exit status says what the run is worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Loopback, last_user, verdict

Records = Callable[[], dict[str, Record]]


def judged(score: object) -> Callable[[dict[str, Any]], Answer]:
    """A server that is both the model and a judge who always gives the same score."""
    return lambda request: verdict(score) if request["model"] == "judge" else Answer(f"About {len(last_user(request))}")


def test_a_good_verdict_passes(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """An item whose score reaches the threshold passes, and a run of such items ends with 0."""
    server.behaviour = judged(9)

    result = run_benchmark("-k", "refinement and multi", judge=True)

    assert result.ret == 0
    assert {record.outcome for record in records().values()} == {"passed"}
    result.stdout.fnmatch_lines(["*multi*9.00*"])


def test_a_low_verdict_misses(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """A miss fails like any test, and shows what was asked, said and judged."""
    server.behaviour = judged(2)

    result = run_benchmark("-k", "refinement and multi and turn-02", judge=True)

    assert result.ret == 1
    assert {record.outcome for record in records().values()} == {"missed"}
    result.stdout.fnmatch_lines(
        ["*score 2 is below the threshold 5*", "user: *", "reply: About*", "judge:*", "threshold: 5"]
    )
