"""What makes the runs of these tests quick and alike."""

from __future__ import annotations

import pytest

from tests.conftest import RunBenchmark

WITHOUT = "-p no:hypothesispytest -p no:syrupy -p no:anyio"
"""Other plugins of a developer's environment: importing them takes longer than many of the runs."""


@pytest.fixture(autouse=True)
def _alike(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", WITHOUT)


@pytest.fixture
def run_benchmark(run_benchmark: RunBenchmark, monkeypatch: pytest.MonkeyPatch) -> RunBenchmark:
    """Runs the embedded sample as everywhere, and without other plugins, too."""
    monkeypatch.setenv("PYTEST_ADDOPTS", WITHOUT)
    return run_benchmark
