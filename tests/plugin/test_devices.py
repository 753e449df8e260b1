"""With -n, each worker computes on a GPU of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

TEST = """
import os

def test_device(worker_id):
    print(f"{worker_id} on {os.environ.get('CUDA_VISIBLE_DEVICES')}")

def test_device_again(worker_id):
    print(f"{worker_id} on {os.environ.get('CUDA_VISIBLE_DEVICES')}")
"""


@pytest.fixture
def model(pytester: pytest.Pytester) -> Path:
    """A folder that passes for a model as long as nothing is asked of it."""
    folder = pytester.mkdir("model")
    (folder / "config.json").write_text("{}")
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    return folder


def test_each_worker_has_a_gpu_of_its_own(
    pytester: pytest.Pytester, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers and two GPUs: each sees one, and not the same."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    pytester.makepyfile(test_devices=TEST)

    result = pytester.runpytest_subprocess("--model", f"transformers:{model}", "-n2", "-rP")

    assert result.ret == 0
    seen = {line for line in result.outlines if line.startswith("gw")}
    assert seen == {"gw0 on 3", "gw1 on 5"}


@pytest.mark.parametrize(("gpus", "have"), [("", "no GPU"), ("0,1", "2 GPUs")])
def test_more_workers_than_devices(
    pytester: pytest.Pytester, model: Path, monkeypatch: pytest.MonkeyPatch, gpus: str, have: str
) -> None:
    """Workers that would share a device are a usage error, which says what to do instead."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpus)
    pytester.makepyfile(test_devices=TEST)

    result = pytester.runpytest_subprocess("--model", f"transformers:{model}", "-n3")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: -n starts 3 workers*there is {have}*--share-devices."])


def test_sharing_devices_on_purpose(pytester: pytest.Pytester, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who insists may share."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    pytester.makepyfile(test_devices=TEST)

    result = pytester.runpytest_subprocess("--model", f"transformers:{model}", "-n2", "--share-devices", "-rP")

    assert result.ret == 0
    assert {line for line in result.outlines if line.startswith("gw")} == {"gw0 on 7", "gw1 on 7"}
