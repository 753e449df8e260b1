"""Replies that MT-Eval's official ``inference.py`` left behind: ``inference_outputs/<family>/<rest>_<model>.jsonl``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from mmtests.dialogue import GOLD, Setting
from mmtests.errors import NOT_JSON, DataError, UserError
from mmtests.mt_eval.load import FILES
from mmtests.reply import Recorded


class _TurnRow(Struct):
    do_inference: bool
    user: str | None = None
    gen_resp: str | None = None
    error: bool = False


class _DialogueRow(Struct):
    id: str
    conv: list[_TurnRow]


def read_replies(path: Path, model: str | None) -> dict[str, Recorded]:
    """Replies by turn id; without a text where the script marked an error.

    Args:
        path: one output file, or a folder with any number of them below it.
        model: which model's files to read, as their names give it; needed only where there are several.
    """
    files = [path] if path.is_file() else sorted(path.rglob("*.jsonl"))
    named = [(file, *parsed) for file in files if (parsed := _parse(file))]
    models = sorted({name for _, _, _, name in named})
    if model is not None:
        named = [entry for entry in named if entry[3] == model]
    if not named or (model is None and len(models) > 1):
        offer = f"the replies of {', '.join(models)}: choose one with --model-arg name=..." if models else (
            "no file named as MT-Eval's inference.py names them, such as refinement/multi_MODEL.jsonl")  # fmt: skip
        raise UserError(f"{path} holds {offer}")
    replies: dict[str, Recorded] = {}
    for file, task, setting, _ in named:
        replies.update(_read(file, task, setting))
    return replies


def _parse(file: Path) -> tuple[str, Setting, str] | None:
    """Task, setting and model of an output file, by its name and its folder's: the longest task that fits."""
    for name in sorted(FILES, key=len, reverse=True):
        family, _, rest = name.removesuffix(".jsonl").partition("_")
        if file.parent.name == family and file.name.startswith(f"{rest}_"):
            task, setting = FILES[name]
            model = file.stem.removeprefix(f"{rest}_")
            if model.startswith("gold_"):
                return task, GOLD, model.removeprefix("gold_")
            return task, setting, model
    return None


def _read(file: Path, task: str, setting: Setting) -> Iterator[tuple[str, Recorded]]:
    decoder = msgspec.json.Decoder(_DialogueRow)
    for line, text in enumerate(file.read_bytes().splitlines(), 1):
        if not text.strip():
            continue
        try:
            row = decoder.decode(text)
        except NOT_JSON as error:
            raise DataError(file, f"not a dialogue of MT-Eval's inference.py: {error}",
                            "Each line must be a JSON object with id and conv.", line=line) from error  # fmt: skip
        for number, turn in enumerate(row.conv, 1):
            if turn.do_inference:
                reply = None if turn.error else turn.gen_resp
                yield f"mt_eval/{task}/{setting}/{row.id}/turn-{number:02}", Recorded(reply, turn.user)
