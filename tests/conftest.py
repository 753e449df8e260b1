"""What the tests of mmtests share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from mmtests.reports.folder import read_records
from mmtests.score import Record
from tests.loopback import Loopback

SHARED = Path(__file__).parents[2] / "shared"
"""Reference material; tests that use it are skipped where it is not."""


@pytest.fixture
def official_data() -> Path:
    """The folder of MT-Eval's full data."""
    folder = SHARED / "data" / "mt_eval"
    if not folder.is_dir():
        pytest.skip("the full MT-Eval data is not here")
    return folder


@pytest.fixture
def reference() -> Callable[[str], Any]:
    """Reads a JSON file of reference material by its name."""

    def read(name: str) -> Any:
        path = SHARED / "reference" / name
        if not path.is_file():
            pytest.skip(f"{name} is not here")
        return json.loads(path.read_text(encoding="utf-8"))

    return read


@pytest.fixture
def server() -> Iterator[Loopback]:
    """An endpoint on loopback; set ``server.behaviour`` to make it behave otherwise."""
    with Loopback() as loopback:
        yield loopback


class RunBenchmark(Protocol):
    """What ``run_benchmark`` gives."""

    def __call__(self, *args: str, judge: bool = False, first: str = "mmtests") -> pytest.RunResult: ...


@pytest.fixture
def run_benchmark(pytester: pytest.Pytester, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> RunBenchmark:
    """Runs the embedded sample against ``server`` in a subprocess, from an empty folder."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CI", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)

    def run(*args: str, judge: bool = False, first: str = "mmtests") -> pytest.RunResult:
        model = ["--model", "openai:test", "--model-arg", f"base_url={server.url}", "--model-arg", "timeout=2"]
        if judge:
            model += ["--judge", "openai:judge", "--judge-arg", f"base_url={server.url}", "--judge-arg", "timeout=2"]
        return pytester.runpytest_subprocess("--pyargs", first, *model, *args, timeout=120)

    return run


@pytest.fixture
def records(pytester: pytest.Pytester) -> Callable[[], dict[str, Record]]:
    """Reads the records of the last run in the test's folder, by item id."""

    def read() -> dict[str, Record]:
        last = max((pytester.path / ".mmtests" / "runs").iterdir())
        return {record.id: record for record in read_records(last)}

    return read
