"""The wheel has what the tree has."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FOLDERS = {
    "mmtests": "mmtests",
    "plugin": "mmtests/plugin",
    "fixtures": "mmtests/fixtures",
    "reports": "mmtests/reports",
}
"""Where each folder of the tree lies in the wheel."""

KINDS = (".py", ".md", ".jsonl", ".toml", ".jinja", ".typed")


def test_the_wheel_has_every_file(tmp_path: Path) -> None:
    """Modules, rubrics, sample, aliases, templates and the typing marker: each is in the wheel, and nothing else."""
    if importlib.util.find_spec("setuptools") is None:
        pytest.skip("setuptools is not installed, and nothing may be downloaded here")
    tree = tmp_path / "tree"  # building leaves files in the tree
    tree.mkdir()
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, tree)

    build = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index")
    done = subprocess.run([*build, "-w", tmp_path, tree], capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        entry_points = archive.read(next(n for n in archive.namelist() if n.endswith("entry_points.txt"))).decode()
    expected = {
        f"{place}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, place in FOLDERS.items()
        for path in (ROOT / folder).rglob("*")
        if path.suffix in KINDS or (path.is_file() and "sample" in path.parts) or path.name == "py.typed"
    }
    assert inside == expected
    assert "mmtests = mmtests.plugin" in entry_points
    assert "mt_eval = mmtests.mt_eval:MTEval" in entry_points
