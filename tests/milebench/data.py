"""Small files in MileBench's official format, for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmtests.dialogue import SINGLE, Dialogue, Item, Setting
from mmtests.milebench.load import load

Json = dict[str, Any]


def sample(
    context: str = "{image#1}{image#2} Which way?", images: Sequence[str] = ("a.jpg", "b.jpg"), **more: Any
) -> Json:
    """A record as a file has it; ``more`` replaces its fields, or those of its ``task_instance``."""
    instance: Json = {"context": context, "images_path": list(images), "choice_list": ["to the left", "to the right"]}
    record: Json = {
        "sample_id": 0, "task_instruction_id": 0, "image_quantity_level": "Few", "response": "to the right",
    }  # fmt: skip
    for name, value in more.items():
        part = instance if name in ("choice_list", "combined_1_images") else record
        part[name] = value
        if value is None:
            del part[name]
    return record | {"task_instance": instance}


def write(
    root: Path,
    subset: str,
    *records: Json,
    kind: str = "multi-choice",
    instruction: object = ("Look.",),
    adversarial: bool = False,
    **meta: object,
) -> Path:
    """Write an annotation file, and an empty file for each image of its records."""
    folder = root / subset
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for record in records:
        for name in record.get("task_instance", {}).get("images_path", ()):
            if isinstance(name, str) and ".." not in name and not name.startswith("/"):
                path = folder / "images" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
    path = folder / f"{subset}{'-adv' if adversarial else ''}.json"
    head = {"task_instruction": instruction, "question_type": kind} | meta
    path.write_text(json.dumps({"meta_data": head, "data": records}, ensure_ascii=False), encoding="utf-8")
    return path


def dialogue(root: Path, subset: str, record: Json, setting: Setting = SINGLE, **more: Any) -> Dialogue:
    """The dialogue that a file of one record gives."""
    write(root, subset, record, **more)
    (one,) = load(root, [setting]).dialogues
    return one


def item(root: Path, subset: str, record: Json, **more: Any) -> Item:
    """Its item."""
    (one,) = dialogue(root, subset, record, **more).items
    return one
