"""Several workers share the items, and never a dialogue."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable

import pytest

from mmtests.dialogue import MULTI, dialogue_of
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Loopback
from tests.plugin.scripts import scripted

Records = Callable[[], dict[str, Record]]


def test_a_dialogue_stays_on_one_worker(server: Loopback, run_benchmark: RunBenchmark) -> None:
    """Both workers have work, each dialogue is run by one of them, and every turn is asked once."""
    asked: Counter[str] = Counter()
    server.behaviour = scripted(model=lambda turn, before: asked.update([turn]), setting=MULTI)

    result = run_benchmark("-n2", "-v", "--store=off", "-k", "multi and not global-inst")

    workers: dict[str, set[str]] = defaultdict(set)
    for line in result.outlines:
        if found := re.match(r"\[(gw\d)\].*(?:PASSED|MISSED).*\[(mt_eval/.*)\]", line):
            workers[dialogue_of(found[2])].add(found[1])
    assert len(workers) == 9
    assert all(len(ran) == 1 for ran in workers.values())
    assert set.union(*workers.values()) == {"gw0", "gw1"}
    assert set(asked.values()) == {1}
    assert len(asked) == 57


def test_a_worker_that_dies_fails_one_item(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """The item that a worker died of is failed with that reason; all others are done by the rest."""
    pytester.makepyfile(
        killer="""
        import os
        from pathlib import Path

        def pytest_runtest_call(item):
            if item.name.endswith("2_qa_rewrite/turn-03]") and not Path("killed").exists():
                Path("killed").touch()
                os._exit(1)
        """
    )
    pytester.syspathinsert()
    server.behaviour = scripted(setting=MULTI)

    result = run_benchmark("-n2", "-p", "killer", "-k", "refinement and multi", judge=True)

    found = records()
    dead = found.pop("mt_eval/refinement/multi/2_qa_rewrite/turn-03")
    assert (dead.outcome, dead.error) == ("failed", "its worker died")
    assert len(found) == 23
    assert {record.outcome for record in found.values()} == {"passed"}
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*INCOMPLETE: 1 items have no score*", "*1 x failed: its worker died*"])
