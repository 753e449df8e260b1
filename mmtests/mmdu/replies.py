"""Replies that MMDU's official scripts left behind: for each dialogue a copy of its record, with the model's replies in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mmtests.dialogue import MULTI
from mmtests.errors import DataError, UserError
from mmtests.mmdu.load import TAG, Said, decode
from mmtests.mmdu.tasks import DIALOGUE
from mmtests.reply import Recorded


def read_replies(path: Path, model: str | None) -> dict[str, Recorded]:
    """Replies by turn id.

    Args:
        path: one result file, a folder of them, or a folder with such a folder for each model.
        model: the folder to read, where there are several.

    Raises:
        UserError: there are none, or those of several models.
        DataError: a file that is none, or a dialogue that two files have.
    """
    replies: dict[str, Recorded] = {}
    seen: dict[str, Path] = {}
    for file in _files(path, model):
        try:
            row = decode(file, "1", file.read_bytes())
        except OSError as error:
            raise DataError(file, f"cannot be read: {error.strerror}", "Check its permissions.") from error
        id = str(row.id)
        if id in seen:
            raise DataError(file, f"{seen[id]} has this dialogue, too", "Remove one of them.", record=id, field="id")
        seen[id] = file
        replies.update(_of_dialogue(file, id, row.conversations))
    return replies


def _files(path: Path, model: str | None) -> list[Path]:
    if path.is_file():
        return [path]
    if model is None and (here := sorted(path.glob("*.json"))):
        return here
    models = {folder.name: found for folder in sorted(path.iterdir()) if (found := sorted(folder.glob("*.json")))}
    if model is not None and model in models:
        return models[model]
    if len(models) == 1 and model is None:
        return next(iter(models.values()))
    offer = (
        f"the replies of {', '.join(models)}: choose one with --model-arg name=..."
        if models
        else "no JSON files as MMDU's scripts leave them, one for each dialogue"
    )
    raise UserError(f"{path} holds {offer}")


def _of_dialogue(file: Path, id: str, conversations: list[Said]) -> Iterator[tuple[str, Recorded]]:
    for number, said in enumerate(conversations):
        wanted = "assistant" if number % 2 else "user"
        if said.role != wanted:
            raise DataError(file, f"the message is from {said.role!r}, where {wanted!r} is due",
                            "A result file is a copy of the dialogue's record.", record=id,
                            field=f"conversations[{number}].from")  # fmt: skip
    for number, (user, said) in enumerate(zip(conversations[::2], conversations[1::2], strict=False), 1):
        # Written as a message is shown to a person.
        asked = user.value.replace(TAG, "<image>")
        yield f"mmdu/{DIALOGUE}/{MULTI}/{id}/turn-{number:02}", Recorded(said.value, asked)
