"""``mmtests``, the command: what a run leaves behind is looked after here. Runs themselves are pytest's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mmtests import __version__
from mmtests.errors import UserError

STORE = Path(".mmtests") / "store.sqlite"
"""Where a run puts its store, below the project's root."""

UNUSED_DAYS = 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: without the program's name; by default the process's own.

    Returns:
        The exit status: 0, or 1 if there is no usable store. A usage error exits with 2.
    """
    options = _parser().parse_args(arguments)
    path: Path = options.store or _nearest(Path.cwd())
    try:
        lines = _pruned(path, options.older_than, options.model) if options.what == "prune" else _told(path)
    except UserError as error:
        print(f"mmtests: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("mmtests", description="Looks after what runs of mmtests leave behind.")
    parser.add_argument("--version", action="version", version=f"mmtests {__version__}")
    subjects = parser.add_subparsers(dest="subject", required=True, metavar="SUBJECT")
    store = subjects.add_parser("store", help="The replies and verdicts that are not asked for again")
    actions = store.add_subparsers(dest="what", required=True, metavar="ACTION")
    info = actions.add_parser("info", help="Say what is in it")
    prune = actions.add_parser("prune", help="Delete what no run has used for long")
    for action in (info, prune):
        action.add_argument("--store", metavar="FILE", type=Path, help=f"The store (default: {STORE} in this folder or the "
                            "nearest above it that has one)")  # fmt: skip
    prune.add_argument("--older-than", metavar="DAYS", type=_days, default=UNUSED_DAYS, help="Only what was last used so "
                       f"many days ago or earlier; 0 for all (default: {UNUSED_DAYS})")  # fmt: skip
    prune.add_argument("--model", metavar="NAME", help="Only what the model of this name said, as info names it")
    return parser


def _days(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


_days.__name__ = "number of days"  # argparse says: invalid number of days value: '-1'


def _nearest(folder: Path) -> Path:
    """The store that a run from this folder would use, as far as that can be told without pytest."""
    return next((parent / STORE for parent in (folder, *folder.parents) if (parent / STORE).is_file()), folder / STORE)


def _told(path: Path) -> list[str]:
    from mmtests.fixtures.store import contents

    found = contents(path)
    width = len(f"{found.entries:,}")
    models = [f"  {count:{width},} {model or '(no name)'}" for model, count in found.models.items()]
    return [
        f"store: {path}",
        f"entries: {found.entries:,}",
        f"bytes: {found.size:,}",
        *(["models:"] if models else []),
        *models,
    ]


def _pruned(path: Path, days: int, model: str | None) -> list[str]:
    from mmtests.fixtures.store import prune

    gone = prune(path, days, model)
    return [f"{path}: {gone.entries:,} entries deleted, {gone.size:,} bytes freed"]


if __name__ == "__main__":
    sys.exit(main())
