"""Replies that MileBench's official ``generate.py`` left behind: ``<output>/<model>/<Subset>/pred.json``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from mmtests.dialogue import ADVERSARIAL, SINGLE, Setting
from mmtests.errors import NOT_JSON, DataError, UserError
from mmtests.milebench.tasks import SUBSETS
from mmtests.reply import Recorded


class _Prediction(Struct):
    sample_id: int | str
    pred_response: str | None = None


def read_replies(path: Path, model: str | None) -> dict[str, Recorded]:
    """Replies by turn id.

    Args:
        path: one ``pred.json``, or a folder with any number of them below it. ``<Subset>-adv`` names the adversarial set.
        model: which model's files to read, as their folder gives it; needed only where there are several.
    """
    path = path.resolve()
    files = [path] if path.is_file() else sorted(path.rglob("pred.json"))
    named = [(file, *parsed) for file in files if (parsed := _parse(file))]
    models = sorted({name for *_, name in named})
    if model is not None:
        named = [entry for entry in named if entry[3] == model]
    if not named or (model is None and len(models) > 1):
        offer = f"the replies of {', '.join(models)}: choose one with --model-arg name=..." if models else (
            "no pred.json in a folder named as a subset of MileBench, such as MODEL/ActionLocalization/pred.json")  # fmt: skip
        raise UserError(f"{path} holds {offer}")
    replies: dict[str, Recorded] = {}
    for file, subset, setting, _ in named:
        replies.update(_read(file, subset, setting))
    return replies


def _parse(file: Path) -> tuple[str, Setting, str] | None:
    """Subset, setting and model of an output file, by its folders."""
    subset = file.parent.name.removesuffix("-adv")
    if subset not in SUBSETS:
        return None
    return subset, SINGLE if subset == file.parent.name else ADVERSARIAL, file.parent.parent.name


def _read(file: Path, subset: str, setting: Setting) -> Iterator[tuple[str, Recorded]]:
    try:
        predictions = msgspec.json.decode(file.read_bytes(), type=list[_Prediction])
        numbered = [(int(one.sample_id), one) for one in predictions]
    except (*NOT_JSON, ValueError) as error:
        raise DataError(file, f"not the output of MileBench's generate.py: {error}",
                        "It must be a list of objects with sample_id and pred_response.") from error  # fmt: skip
    for number, one in numbered:
        yield f"milebench/{subset}/{setting}/{number}/turn-01", Recorded(one.pred_response)
