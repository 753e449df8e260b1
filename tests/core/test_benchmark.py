"""Benchmarks are found by their entry points, and each keeps its contract."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmtests.benchmark import GROUP, Benchmark, Loaded, installed
from mmtests.errors import UserError
from mmtests.score import Scale


@pytest.fixture
def afresh() -> Iterator[None]:
    """Entry points are looked for again in the test, and again after it."""
    installed.cache_clear()
    yield
    installed.cache_clear()


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Put a distribution with one entry point on the path."""
    info = folder / "extra-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {value}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(folder)


def test_mt_eval_is_installed() -> None:
    """MT-Eval is found by its name."""
    benchmark = installed()["mt_eval"]

    assert isinstance(benchmark, Benchmark)
    assert benchmark.title == "MT-Eval"
    assert benchmark.recognises(benchmark.sample)


@pytest.mark.parametrize("name", sorted(installed()))
def test_the_contract(name: str) -> None:
    """A benchmark's tasks go by their names, their thresholds are on their scales, and its sample fits them."""
    benchmark = installed()[name]

    loaded = benchmark.load(benchmark.sample, benchmark.settings)

    assert benchmark.name == name
    assert all(task.name == key for key, task in benchmark.tasks.items())
    assert all(task.threshold in task.scale for task in benchmark.tasks.values())
    assert {dialogue.task for dialogue in loaded.dialogues} <= set(benchmark.tasks)
    assert {dialogue.setting for dialogue in loaded.dialogues} == set(benchmark.settings)


def test_another_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, afresh: None) -> None:
    """A package adds a benchmark by an entry point."""
    (tmp_path / "extra_bench.py").write_text(
        "from mmtests.mt_eval import MTEval\n\n\nclass Extra(MTEval):\n    name = 'extra'\n", encoding="utf-8"
    )
    install(tmp_path, monkeypatch, "extra", "extra_bench:Extra")

    assert {"extra", "mt_eval"} <= set(installed())
    assert installed()["extra"].name == "extra"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("extra", "no_such_module:Extra", "does not load"),
        ("extra", "mmtests.mt_eval:NoSuchName", "does not load"),
        ("extra", "mmtests.benchmark:Benchmark", "does not load"),
        ("extra", "mmtests.mt_eval:MTEval", "must name a Benchmark called 'extra'"),
        ("extra", "builtins:dict", "must name a Benchmark called 'extra'"),
    ],
)
def test_a_bad_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, afresh: None, name: str, value: str, says: str
) -> None:
    """An entry point that does not give a benchmark of its name is reported with its name and value."""
    install(tmp_path, monkeypatch, name, value)

    with pytest.raises(UserError, match=says) as caught:
        installed()

    assert repr(name) in str(caught.value)
    assert value in str(caught.value)


@pytest.mark.parametrize(
    ("scale", "fraction", "point"),
    [(Scale(1, 10), 0, 1), (Scale(1, 10), 1, 10), (Scale(1, 10), 0.5, 5.5), (Scale(0, 10), 0.25, 2.5)],
)
def test_a_place_on_a_scale(scale: Scale, fraction: float, point: float) -> None:
    """A fraction of the way lies between the ends of the scale, both included."""
    assert scale.place(fraction) == point
    assert point in scale


@pytest.mark.parametrize("value", [0.99, 10.01, math.inf, math.nan])
def test_what_is_off_a_scale(value: float) -> None:
    """A scale ends at its ends."""
    assert value not in Scale(1, 10)


def test_a_scale_reads_as_its_ends() -> None:
    """A scale is written as its two ends."""
    assert str(Scale(1, 10)) == "1-10"
    assert str(Scale(0, 2.5)) == "0-2.5"


def test_the_digest_of_a_folder() -> None:
    """The digest does not depend on the order of the files, but on their names and contents."""
    one, same = (Loaded(Path("x"), (), dict(pairs)) for pairs in ([("a", "1"), ("b", "2")], [("b", "2"), ("a", "1")]))

    assert one.digest == same.digest
    assert one.digest != Loaded(Path("x"), (), {"a": "1", "b": "3"}).digest
    assert one.digest != Loaded(Path("x"), (), {"a": "1", "c": "2"}).digest
