"""How far the run is: a live bar on a terminal, lines in a log."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.conftest import RunBenchmark
from tests.loopback import Answer, Loopback

pyte = pytest.importorskip("pyte")


def on_a_terminal(command: list[str], seen: Callable[[str], None], environment: dict[str, str]) -> tuple[int, str]:
    """Run on a pseudo terminal of 100 x 40; ``seen`` gets what it shows, again and again. Exit status and last sight."""
    leader, follower = pty.openpty()
    screen = pyte.Screen(100, 40)
    stream = pyte.ByteStream(screen)
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        if select.select([leader], [], [], 0.1)[0]:
            try:
                content = os.read(leader, 65536)
            except OSError:  # the other side is closed
                break
            if not content:
                break
            stream.feed(content)
            seen("\n".join(screen.display))
    os.close(leader)
    return process.wait(timeout=10), "\n".join(screen.display)


def test_a_bar_while_it_runs_and_nothing_after(pytester: pytest.Pytester, server: Loopback) -> None:
    """The bar counts items and replies in place of pytest's letters, and leaves nothing behind."""
    server.behaviour = lambda request: Answer("OK", delay=0.2)
    sights: set[str] = set()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    environment.pop("CI", None)
    command = [sys.executable, "-m", "pytest", "--pyargs", "mmtests", "--model", "openai:test", "--model-arg",
               f"base_url={server.url}", "-k", "follow-up and multi", "--tb=no", "-r", "N"]  # fmt: skip

    os.chdir(pytester.path)
    status, last = on_a_terminal(command, sights.add, environment)

    assert status == 1
    assert any("/9" in sight and "replies " in sight for sight in sights)
    assert not any("FFF" in sight for sight in sights)
    assert "replies " not in last
    assert "9 failed" in last


def test_no_bar_in_a_log(server: Loopback, run_benchmark: RunBenchmark) -> None:
    """Without a terminal, pytest's own output stays as it is."""
    result = run_benchmark("-k", "follow-up and multi", "--tb=no")

    result.stdout.fnmatch_lines(["*test_mt_eval.py FFFFFFFFF*100%*"])
    assert "\x1b" not in result.stdout.str()


def test_a_sign_of_life_in_a_log(server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester) -> None:
    """While an endpoint keeps a run waiting, a line now and then says where it stands."""
    server.behaviour = lambda request: Answer("OK", delay=0.3)
    pytester.makeconftest("import mmtests.plugin.progress as progress\nprogress.HEARTBEAT = 0.25")

    result = run_benchmark("-k", "follow-up and multi and turn-03", "--tb=no")

    result.stdout.fnmatch_lines(["mmtests: */3 items after * s: *replies */3"])
