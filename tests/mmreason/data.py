"""Small sheets in MMReason's format, and records, for tests."""

from __future__ import annotations

import base64
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmtests.dialogue import SINGLE, Item, Setting
from mmtests.mmreason.load import load
from mmtests.mmreason.tasks import ANSWER, STEPS, TASKS
from mmtests.score import Mode, Outcome, Record, Score

PICTURES = [bytes([letter]) * 60 for letter in b"abc"]
ONE, TWO, THREE = (base64.b64encode(picture).decode() for picture in PICTURES)

FILE = "MMReason_testmini.tsv"


def row(**cells: str) -> dict[str, str]:
    """A row of a sheet; give what is different."""
    return {"index": "1", "image": ONE, "question": "How long is it?", "answer": "3", "discipline": "Math"} | cells


def write(folder: Path, *rows: dict[str, str], name: str = FILE) -> Path:
    """Write a sheet; its columns are those of the first row."""
    path = folder / name
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def items(folder: Path, *rows: dict[str, str], settings: Sequence[Setting] = (SINGLE,)) -> dict[str, Item]:
    """The items that a sheet gives, by task for the last row."""
    write(folder, *rows)
    return {one.task: item for one in load(folder, settings).dialogues for item in one.items}


def record(
    value: float | None,
    discipline: str = "Mathematics",
    *,
    task: str = ANSWER,
    setting: Setting = SINGLE,
    outcome: Outcome | None = None,
    by_mode: dict[Mode, float | None] | None = None,
    dimensions: dict[str, float] | None = None,
    scorer: str = "judge:test",
    id: str = "1",
    **facts: Any,
) -> Record:
    """What a run keeps of an item; without a value it has no score, and is unjudged unless said otherwise."""
    scale = TASKS[task].scale
    score = None
    if value is not None:
        score = Score(value, scale, scorer, by_mode=by_mode or {}, dimensions=dimensions or {})
    return Record(
        f"mmreason/{task}/{setting}/{id}/turn-01", "mmreason", task, TASKS[task].ability, setting, id, 1,
        outcome or ("unjudged" if value is None else "passed"), score=score,
        facts={"discipline": discipline, **facts},
    )  # fmt: skip


__all__ = ["ANSWER", "FILE", "ONE", "PICTURES", "STEPS", "THREE", "TWO", "items", "record", "row", "write"]
