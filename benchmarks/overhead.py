"""What the harness costs beside plain pytest, with a model that answers at once.

python -m benchmarks.overhead --items 1170 28720 --repeats 3
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.peers import sides as peer_sides
from benchmarks.timing import Side, alternate, machine, show
from benchmarks.workloads import write_dialogues

PLAIN = """
import pytest

ITEMS = {items}


@pytest.mark.parametrize("n", range(ITEMS), ids=[f"mt_eval/recollection-cls/multi/{{n // 10}}/turn-{{n % 10:02}}" for n in range(ITEMS)])
def test_item(n):
    assert n >= 0
"""


def sides(folder: Path, items: int, collect: bool) -> list[Side]:
    """Plain pytest, then mmtests, over as many items."""
    plain, ours = folder / "plain", folder / "ours"
    if not plain.exists():
        plain.mkdir(parents=True)
        (plain / "test_plain.py").write_text(PLAIN.format(items=items))
        write_dialogues(ours, items // 10, 10)
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(["--collect-only"] if collect else [])]
    model = ["--pyargs", "mmtests", "--model", "replay:replies", "--data=."]
    return [
        Side("plain pytest", [*pytest, "-p", "no:mmtests"], plain),
        Side("mmtests", [*pytest, *model], ours, before=lambda: shutil.rmtree(ours / ".mmtests", ignore_errors=True)),
    ]


def unused(folder: Path) -> list[Side]:
    """A one-line test, without mmtests and with it installed but unused."""
    folder.mkdir()
    (folder / "test_one.py").write_text("def test_one():\n    assert True\n")
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return [Side("without", [*pytest, "-p", "no:mmtests"], folder), Side("installed, unused", pytest, folder)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[1170, 28720])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for items in arguments.items:
            run = sides(folder / str(items), items, collect=False)
            run += peer_sides(folder / str(items) / "peers", items) if items <= 1170 else []
            alternate(run, arguments.repeats)
            show(f"{items} instant items, run", run)
            collect = sides(folder / str(items), items, collect=True)
            alternate(collect, arguments.repeats)
            show(f"{items} items, collection only", collect)
        nothing = unused(folder / "unused")
        alternate(nothing, 5 * arguments.repeats)
        show("a one-line test", nothing)
        extra = [b - a for a, b in zip(nothing[0].seconds, nothing[1].seconds, strict=True)]
        print(
            f"added by mmtests, installed but unused: {1000 * sorted(extra)[len(extra) // 2]:.0f} ms (median of pairs)"
        )


if __name__ == "__main__":
    main()
