"""Small files in MT-Eval's official format, for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmtests.dialogue import Item, Setting
from mmtests.mt_eval.load import load

Json = dict[str, Any]

DOCUMENT = "A fox built a raft.\n\nIt sank."
OPENING = f"Content: {DOCUMENT}\n\nInstruction: "


def turn(user: str, *, id: str = "1", sys: str = "", asked: bool = True, **more: object) -> Json:
    """A turn as a file has it."""
    return {"user": user, "sys": sys, "id": id, "do_inference": asked, **more}


def write(folder: Path, name: str, *rows: Json) -> Path:
    """Write a file of dialogues as the official ones are: one a line, no newline at the end."""
    path = folder / name
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


def items(folder: Path, name: str, row: Json, setting: Setting) -> Sequence[Item]:
    """The items that a file of one dialogue gives in a setting."""
    write(folder, name, row)
    (dialogue,) = load(folder, [setting]).dialogues
    return list(dialogue.items)


def refinement() -> Json:
    """Two NLP tasks over one document."""
    instructions = [
        ("3_sum_1", "Sum up."),
        ("3_sum_2", "Use one line."),
        ("3_qa_1", "Who sank?"),
        ("3_qa_2", "Use one word."),
    ]
    turns = [turn(inst, id=id, inst=inst, sys=f"reply to {id}") for id, inst in instructions]
    turns[0]["user"] = OPENING + "Sum up."
    return {"id": "9_sum_qa", "conv": turns}


def follow_up() -> Json:
    """A given turn, then two that the model answers."""
    return {
        "id": "81",
        "conv": [
            turn("Name a river.", id="1", sys="The Tamar.", asked=False),
            turn(" How long is it? ", id="2", sys=" About 98 km. "),
            turn("And its source?", id="3", sys="Woolley Moor."),
        ],
    }


def global_inst(name: str, arguments: Json | None, **more: object) -> Json:
    """An instruction that holds for one query."""
    return {
        "id": "1",
        "inst_name": name,
        "inst_args": arguments,
        "conv": [
            turn("Obey.", id="instruction", sys="ok.", asked=False),
            turn("Write me an invitation.", id="14-7"),
        ],
        **more,
    }
