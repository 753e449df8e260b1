"""The value of an option does not change which project pytest is in."""

from __future__ import annotations

import json
import shutil

import pytest

from mmtests.mt_eval import MTEval
from tests.conftest import RunBenchmark
from tests.loopback import Loopback
from tests.plugin.scripts import scripted


def test_data_beside_the_project(
    server: Loopback,
    run_benchmark: RunBenchmark,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``--data ../elsewhere`` leaves the project's root, its pytest options and its thresholds in force, in workers too."""
    data, project = pytester.mkdir("elsewhere"), pytester.mkdir("project")
    shutil.copy(MTEval.sample / "refinement_multi.jsonl", data)
    (project / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = "-k turn-01"\n[tool.mmtests.thresholds]\nrefinement = 9.5\n'
    )
    monkeypatch.chdir(project)
    server.behaviour = scripted(setting="multi")

    result = run_benchmark("--data", "../elsewhere", "-n2", judge=True)

    assert result.ret == 1
    header = {f"mt_eval ({data}), scored turns:", f"rootdir: {project}", "configfile: pyproject.toml"}
    assert header <= set(result.outlines)
    result.stdout.fnmatch_lines(["outcomes: 0 passed, 2 missed, 0 unjudged, 0 failed"])
    (run,) = (project / ".mmtests" / "runs").iterdir()
    assert json.loads((run / "run.json").read_text())["embedded_sample"] is False
