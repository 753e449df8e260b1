"""``mmtests store``: what is in a store, and getting rid of what is not used."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import subprocess
import sys
import time
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from mmtests import __version__
from mmtests.fixtures.store import Store, contents
from mmtests.plugin.command import main
from mmtests.reply import Reply

TODAY = int(time.time() // 86400)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the command is given in: its store has 150 entries of three models."""
    monkeypatch.chdir(tmp_path)
    store = Store(store_in(tmp_path))
    for model, count in (("openai:new", 20), ("openai:old", 100), ("judge", 30)):
        for number in range(count):
            text = random.Random(number).randbytes(400).hex()
            store.put(f"{model} {number}".encode(), Reply(text), model)
    store.close()
    used(tmp_path, "openai:old", TODAY - 40)
    used(tmp_path, "judge", TODAY - 5)
    return tmp_path


def store_in(folder: Path) -> Path:
    """Where a run from this folder has its store."""
    return folder / ".mmtests" / "store.sqlite"


def used(folder: Path, model: str, day: int) -> None:
    """Let a model's replies have been used last on a day."""
    with contextlib.closing(sqlite3.connect(store_in(folder))) as database, database:
        database.execute("UPDATE replies SET used = ? WHERE model = ?", (day, model))


def test_info(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Path, entries, bytes on disk, and the models by name with their counts, the most first."""
    assert main(["store", "info"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        f"store: {store_in(folder)}",
        "entries: 150",
        f"bytes: {store_in(folder).stat().st_size:,}",
        "models:",
        "  100 openai:old",
        "   30 judge",
        "   20 openai:new",
    ]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ([], {"judge": 30, "openai:new": 20}),
        (["--older-than", "5"], {"openai:new": 20}),
        (["--older-than", "6"], {"judge": 30, "openai:new": 20}),
        (["--older-than", "41"], {"openai:old": 100, "judge": 30, "openai:new": 20}),
        (["--older-than", "0"], {}),
        (["--older-than", "0", "--model", "judge"], {"openai:old": 100, "openai:new": 20}),
        (["--model", "judge"], {"openai:old": 100, "judge": 30, "openai:new": 20}),
        (["--model", "nobody"], {"openai:old": 100, "judge": 30, "openai:new": 20}),
    ],
    ids=" ".join,
)
def test_prune(options: list[str], left: dict[str, int], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was last used so many days ago, or earlier, is deleted, and its room is free; the rest can be found."""
    before = store_in(folder).stat().st_size

    assert main(["store", "prune", *options]) == 0

    found = contents(store_in(folder))
    gone = 150 - sum(left.values())
    freed = before - store_in(folder).stat().st_size
    assert found.models == left
    assert capsys.readouterr().out == f"{store_in(folder)}: {gone} entries deleted, {freed:,} bytes freed\n"
    assert (freed > 0) == (gone > 0)
    assert (Store(store_in(folder)).get(b"openai:new 7") is not None) == ("openai:new" in left)


def test_use_is_noted(folder: Path) -> None:
    """An entry that a run finds again counts as used on that day."""
    store = Store(store_in(folder))
    for number in range(60):
        store.get(f"openai:old {number}".encode())
    store.close()

    main(["store", "prune"])

    assert contents(store_in(folder)).models == {"openai:old": 60, "judge": 30, "openai:new": 20}


def test_pruning_beside_a_run(folder: Path) -> None:
    """A run that has the store open goes on."""
    store = Store(store_in(folder))
    store.put(b"before", Reply("Before."))

    assert main(["store", "prune"]) == 0
    store.put(b"after", Reply("After."))

    assert store.get(b"before") is not None
    assert store.get(b"openai:old 1") is None
    store.close()
    assert store.trouble is None
    assert contents(store_in(folder)).entries == 52


def test_the_nearest_store_is_meant(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a folder below the project's the command finds the project's store."""
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)

    assert main(["store", "info"]) == 0

    assert capsys.readouterr().out.startswith(f"store: {store_in(folder)}\n")


@pytest.mark.parametrize("action", ["info", "prune"])
def test_no_store(action: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store that is not there is named, and not made."""
    missing = tmp_path / "none.sqlite"

    assert main(["store", action, "--store", str(missing)]) == 1

    assert capsys.readouterr().err == f"mmtests: there is no store {missing}.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "says"), [(b"noise" * 500, "is broken (file is not a database)"), (b"", "is empty")]
)
def test_a_store_that_is_none(content: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command moves nothing aside; the next run does."""
    path = tmp_path / "store.sqlite"
    path.write_bytes(content)

    assert main(["store", "info", "--store", str(path)]) == 1

    assert f"mmtests: the store {path} {says}" in capsys.readouterr().err
    assert path.exists()


@pytest.mark.parametrize(
    "wrong",
    [[], ["store"], ["store", "burn"], ["store", "prune", "--older-than", "-1"], ["store", "info", "--model", "a"]],
)
def test_a_wrong_command(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2, and the usage."""
    with pytest.raises(SystemExit) as ending:
        main(wrong)

    assert ending.value.code == 2
    assert capsys.readouterr().err.startswith("usage: mmtests ")


def test_the_program() -> None:
    """The project file names the command; it imports nothing heavy to tell its version."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entry = EntryPoint("mmtests", project["scripts"]["mmtests"], "console_scripts")
    script = (
        f"import sys; from {entry.module} import {entry.attr}\n"
        f"try: {entry.attr}(['--version'])\n"
        "finally: print([name for name in ('torch', 'openai', 'sqlite3') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.stdout.splitlines() == [f"mmtests {__version__}", "[]"]
    assert done.returncode == 0
