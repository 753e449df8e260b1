"""However a run ends, the same command goes on where it was, and comes to what an undisturbed run comes to."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mmtests.mt_eval.judging import load_rubrics
from mmtests.reports.folder import read_records
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Loopback, verdict
from tests.plugin.conftest import WITHOUT
from tests.plugin.scripts import of_judge, of_model

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and resource limits")

SELECTION = "(refinement or follow-up or recollection-cls) and not gold"

IN_FLIGHT = 4
"""Requests in flight to the model at most, and as many to the judge."""

INTERRUPTED, USAGE_ERROR, INCOMPLETE = 2, 4, 11


def derived(request: dict[str, Any]) -> Answer:
    """A model and a judge whose answers follow from what they are asked, and from nothing else."""
    digest = hashlib.sha256(json.dumps([request["model"], request["messages"]]).encode()).digest()
    if request["model"] == "judge":
        return verdict(1 + digest[0] % 10, f"Because of {digest.hex()[:8]}.")
    return Answer(f"Here is {digest.hex()[:8]}. " * (1 + digest[1] % 4))


def slowly(request: dict[str, Any]) -> Answer:
    """The same, 20 ms later."""
    answer = derived(request)
    answer.delay = 0.02
    return answer


def command(server: Loopback, *arguments: str, program: tuple[str, ...] = ("-m", "pytest")) -> list[str]:
    """The command that is given again and again."""
    url = f"base_url={server.url}"
    return [
        sys.executable, *program, "--pyargs", "mmtests", "-q", "--tb=no", "-rN", "-p", "no:cacheprovider",
        "--model=openai:test", "--model-arg", url, "--model-arg=max_retries=0",
        "--judge=openai:judge", "--judge-arg", url, "--judge-arg=max_retries=0",
        f"--concurrency={IN_FLIGHT}", "-k", SELECTION, *arguments,
    ]  # fmt: skip


def run(line: list[str], folder: Path) -> tuple[int, str]:
    """Exit status and output."""
    done = subprocess.run(line, cwd=folder, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def environment() -> dict[str, str]:
    """The environment, without what could change a run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "PYTEST_"))}
    kept.pop("CI", None)
    return kept | {"PYTEST_ADDOPTS": WITHOUT}


def last_run(folder: Path) -> Path:
    """The folder of the last run."""
    return max((folder / ".mmtests" / "runs").iterdir(), key=lambda one: one.stat().st_ctime_ns)


def result(folder: Path) -> tuple[dict[str, Any], dict[str, object]]:
    """What the last run comes to: its summary without the counts of cached flags, and each item's score."""
    last = last_run(folder)
    summary: dict[str, Any] = json.loads((last / "summary.json").read_text(encoding="utf-8"))
    summary["flags"] = {name: n for name, n in summary["flags"].items() if name not in ("cached", "verdict_cached")}
    return summary, {record.id: told(record) for record in read_records(last)}


def told(record: Record) -> object:
    """What must not depend on how often a run was stopped."""
    score = record.score
    return record.outcome, record.reply and record.reply.text, score and (score.value, score.by_mode, score.explanation)


@pytest.fixture(scope="module")
def one_server() -> Iterator[Loopback]:
    """Model and judge. One address for all tests, for it is part of what replies are found by."""
    with Loopback(derived) as loopback:
        yield loopback


class Undisturbed:
    """A run that nothing happened to."""

    def __init__(self, server: Loopback, folder: Path) -> None:
        self.folder = folder
        self.status, output = run(command(server), folder)
        assert self.status == 1, output  # some items are missed
        self.requests = server.requests[:]
        self.result = result(folder)


@pytest.fixture(scope="module")
def undisturbed(one_server: Loopback, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Once for all tests of this module."""
    return Undisturbed(one_server, tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def server(one_server: Loopback, undisturbed: Undisturbed) -> Loopback:
    """The server, asked nothing so far."""
    del one_server.requests[:]
    one_server.behaviour = derived
    return one_server


@pytest.fixture
def finished(undisturbed: Undisturbed, tmp_path: Path) -> Path:
    """A folder in which the run was done before."""
    shutil.copytree(undisturbed.folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def asked_again(requests: list[dict[str, Any]], known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests that were answered before."""
    answered = Counter(json.dumps(request, sort_keys=True) for request in known)
    return [request for request in requests if answered[json.dumps(request, sort_keys=True)]]


def test_a_process_killed_at_ten_moments(server: Loopback, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """SIGKILL at any moment loses only what was under way: the run that is let through comes to the same."""
    moments = random.Random(13)
    server.behaviour = slowly
    total = len(undisturbed.requests)
    for requests in sorted(moments.sample(range(1, total - 4 * IN_FLIGHT), 10)):
        process = subprocess.Popen(
            command(server), cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        beyond = max(requests, len(server.requests) + 1)
        wait_for(lambda beyond=beyond: len(server.requests) >= beyond)  # type: ignore[misc]
        time.sleep(moments.uniform(0, 0.02))
        process.kill()
        assert process.wait() == -signal.SIGKILL

    status, output = run(command(server), tmp_path)

    assert status == undisturbed.status, output
    assert result(tmp_path) == undisturbed.result
    assert len(server.requests) <= total + 10 * 2 * IN_FLIGHT


@pytest.fixture
def interrupted(server: Loopback, undisturbed: Undisturbed, tmp_path: Path) -> tuple[int, str, float]:
    """A run whose server falls silent in the middle, after Ctrl-C: status, output, and seconds it took to end."""
    half = len(undisturbed.requests) // 2
    server.behaviour = lambda request: derived(request) if len(server.requests) <= half else Answer(delay=60)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a child of a background shell would ignore it
    process = subprocess.Popen(
        command(server), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    signal.signal(signal.SIGINT, before)
    wait_for(lambda: len(server.requests) > half + 1)
    time.sleep(0.5)  # what was answered is scored
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    output, _ = process.communicate(timeout=30)
    return process.returncode, output, time.monotonic() - start


def test_ctrl_c(
    interrupted: tuple[int, str, float], server: Loopback, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    """It ends within seconds, writes down what is finished, and the same command goes on from there."""
    status, output, seconds = interrupted
    assert status == INTERRUPTED, output
    assert seconds < 8
    summary, done = result(tmp_path)
    assert done
    assert summary["not_run"] > 0
    assert done.items() <= undisturbed.result[1].items()
    answered = server.requests[: len(undisturbed.requests) // 2]

    del server.requests[:]
    server.behaviour = derived
    assert run(command(server), tmp_path)[0] == undisturbed.status

    assert result(tmp_path) == undisturbed.result
    assert asked_again(server.requests, answered) == []


def test_ctrl_c_says_how_to_go_on(interrupted: tuple[int, str, float]) -> None:
    """Whoever stops a run is told that nothing is lost."""
    assert "the same command again" in interrupted[1]


def test_a_lost_endpoint(server: Loopback, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """What an endpoint answered before it was lost is not asked for again when it is back."""
    half = len(undisturbed.requests) // 2
    server.behaviour = lambda request: derived(request) if len(server.requests) <= half else Answer(cut=0)
    status, output = run(command(server), tmp_path)
    assert status == INCOMPLETE, output
    answered = server.requests[:half]

    del server.requests[:]
    server.behaviour = derived
    status, output = run(command(server), tmp_path)

    assert status == undisturbed.status, output
    assert result(tmp_path) == undisturbed.result
    assert asked_again(server.requests, answered) == []


def test_a_full_disk(server: Loopback, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """A run that ended because nothing more could be written goes on when there is room."""
    script = tmp_path / "small_disk.py"
    script.write_text(
        "import resource, sys\n"
        "import pytest\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "sys.exit(pytest.main(sys.argv[1:]))\n"
    )
    status, output = run(command(server, program=(str(script),)), tmp_path)
    assert status == USAGE_ERROR, output
    assert "Make room and run the same command again" in output
    assert "Traceback" not in output
    assert 0 < len(list(read_records(last_run(tmp_path)))) < len(undisturbed.result[1])

    del server.requests[:]
    status, output = run(command(server), tmp_path)

    assert status == undisturbed.status, output
    assert result(tmp_path) == undisturbed.result
    assert len(server.requests) < len(undisturbed.requests)


def make_noise(folder: Path) -> Path:
    """Overwrite the store. The store."""
    store = folder / ".mmtests" / "store.sqlite"
    store.write_bytes(random.Random(1).randbytes(store.stat().st_size))
    return store


def test_a_broken_store_is_rebuilt(server: Loopback, undisturbed: Undisturbed, finished: Path) -> None:
    """A store of noise is told in one line and moved aside; what the records have is not asked of the model again."""
    store = make_noise(finished)
    noise = store.read_bytes()

    status, output = run(command(server), finished)

    (aside,) = store.parent.glob("store.sqlite.broken-*")
    (line,) = (line for line in output.splitlines() if "was broken (" in line)
    assert line.startswith(
        f"mmtests: the store {store} was broken (file is not a database): it was moved to {aside.name}"
    )
    assert aside.read_bytes() == noise
    assert status == undisturbed.status
    assert result(finished) == undisturbed.result
    assert of_model(server.requests) == []


def test_a_broken_store_is_rebuilt_with_its_verdicts(server: Loopback, finished: Path) -> None:
    """Nor is it asked of the judge."""
    make_noise(finished)

    run(command(server), finished)

    assert of_judge(server.requests) == []


def test_a_broken_store_without_records(server: Loopback, undisturbed: Undisturbed, finished: Path) -> None:
    """Where no run has left records everything is asked anew."""
    store = make_noise(finished)
    shutil.rmtree(store.parent / "runs")

    status, output = run(command(server), finished)

    assert "0 replies and verdicts were taken from the records" in output
    assert status == undisturbed.status
    assert result(finished) == undisturbed.result
    assert len(server.requests) == len(undisturbed.requests)


def test_a_killed_worker(server: Loopback, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """The items of a worker that is killed are run by others, but for the one it died of, which the next run does."""
    (tmp_path / "killer.py").write_text(
        "import os, signal\n"
        "from pathlib import Path\n"
        "def pytest_runtest_call(item):\n"
        "    if item.name.endswith('2_qa_rewrite/turn-03]') and not Path('killed').exists():\n"
        "        Path('killed').touch()\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    status, output = run(command(server, "-n2", "-p", "killer"), tmp_path)
    assert status in (1, INCOMPLETE), output
    (lost,) = (id for id, one in result(tmp_path)[1].items() if one != undisturbed.result[1][id])
    assert lost.endswith("2_qa_rewrite/turn-03")

    del server.requests[:]
    status, output = run(command(server), tmp_path)

    assert status == undisturbed.status, output
    assert result(tmp_path) == undisturbed.result
    assert server.requests == []


def test_a_finished_run_again(server: Loopback, undisturbed: Undisturbed, finished: Path) -> None:
    """Nothing is asked of model or judge."""
    status, output = run(command(server), finished)

    assert status == undisturbed.status, output
    assert result(finished) == undisturbed.result
    assert server.requests == []


def test_a_new_rubric(server: Loopback, undisturbed: Undisturbed, finished: Path) -> None:
    """Another rubric asks the judge alone, and once for each item that it judged before."""
    rubrics = finished / "rubrics"
    rubrics.mkdir()
    names = {
        "refinement_multi": "refinement_multi_evaluation",
        "refinement_single": "refinement_single_evaluation",
        "expansion": "expansion_evaluation",
        "follow-up": "mt-bench_evaluation",
    }
    for name, rubric in load_rubrics(None).items():
        (rubrics / f"{names[name]}.txt").write_text(f"{rubric.template}\nTake your time.")

    run(command(server, f"--rubrics={rubrics}"), finished)

    assert of_model(server.requests) == []
    assert len(server.requests) == len(of_judge(undisturbed.requests))
    assert all("Take your time." in request["messages"][0]["content"] for request in server.requests)


def test_an_unfinished_run_folder_is_gone_on_with(
    server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester
) -> None:
    """With a folder of its own, too, the same command goes on: the earlier records are kept beside the new ones."""
    command = ("-k", "follow-up and multi", "--run-dir", "mine")

    run_benchmark(*command, "-x")
    again = run_benchmark(*command)

    assert again.ret == 1
    assert (pytester.path / "mine" / "records-1.jsonl").is_file()
    assert len((pytester.path / "mine" / "records.jsonl").read_text().splitlines()) == 9
