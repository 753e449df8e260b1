"""MMReason's TSV, as VLMEvalKit reads it, to dialogues. ``docs/mmreason.md`` describes the format."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mmtests.benchmark import Loaded
from mmtests.dialogue import BLIND, SINGLE, Dialogue, Message, Setting, Text, Turn, without_images
from mmtests.errors import BadRecords, DataError
from mmtests.image import Image
from mmtests.mmreason.names import discipline, source
from mmtests.mmreason.tasks import ANSWER, STEPS
from mmtests.sheet import Row, literal_list, read_sheet

FILE = "MMReason_testmini.tsv"
"""What VLMEvalKit downloads."""
_FILES = "MMReason*.tsv"
_COLUMNS = ("question", "answer", "discipline")
_STEPS = "steps"
_SHOWN = 5


def files(folder: Path) -> list[Path]:
    """The benchmark's files that the folder has."""
    return sorted(path for path in folder.glob(_FILES) if path.is_file())


def load(folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
    """Read the TSV.

    Raises:
        DataError: no such file, several of which none is ``FILE``, or one that cannot be used, with its row and field.
    """
    bad = bad or BadRecords()
    path = _file(folder)
    dropped: list[str] = []
    rows = 0
    dialogues: list[Dialogue] = []
    for row in read_sheet(path, _COLUMNS, bad):
        rows += 1
        if not row.images:
            dropped.append(row.index)
            continue
        try:
            dialogues += _dialogues(path, row)
        except DataError as error:
            bad(error)
    if not rows and not bad.skipped:
        raise DataError(path, "the file has no rows", "Download it again.")
    return Loaded(
        folder,
        [*_in(SINGLE, settings, dialogues), *_in(BLIND, settings, dialogues)],
        {path.name: _digest(path)},
        notes=tuple(_notes(path, dialogues, dropped, rows)),
        skipped=tuple(map(str, bad.skipped)),
    )


def _file(folder: Path) -> Path:
    found = files(folder)
    if folder / FILE in found:
        return folder / FILE
    if len(found) != 1:
        names = f"{len(found)} files {_FILES}: {', '.join(path.name for path in found)}" if found else f"no {_FILES}"
        raise DataError(folder, f"the folder has {names}", f"Give it one, or one that is called {FILE}.")
    return found[0]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _in(setting: Setting, settings: Sequence[Setting], dialogues: Iterable[Dialogue]) -> Iterable[Dialogue]:
    """The dialogues in a setting, if it is asked for. Without images only the final answer is asked about, as in Table 5."""
    if setting not in settings:
        return ()
    if setting == SINGLE:
        return dialogues
    return (without_images(dialogue) for dialogue in dialogues if dialogue.task == ANSWER)


def _dialogues(path: Path, row: Row) -> list[Dialogue]:
    """What is asked about a row: the same question for each task, so that one reply serves both."""
    cells = row.cells
    for column in _COLUMNS:
        if not cells[column].strip():
            raise DataError(path, "the cell is empty", "Fill it, or remove the row.", record=row.index, field=column)
    pictures = tuple(
        Image(span, f"{path}: record {row.index} (field image{f'[{number}]' if len(row.images) > 1 else ''})")
        for number, span in enumerate(row.images)
    )
    user = Message("user", (*pictures, Text(cells["question"])))
    facts: dict[str, Any] = {"discipline": discipline(cells["discipline"])}
    if cells.get("source", "").strip():
        facts["source"] = source(cells["source"])
    if cells.get("level", "").strip():
        facts["level"] = cells["level"].strip()
    references = {ANSWER: cells["answer"]}
    if steps := reference_steps(path, row):
        references[STEPS] = steps
    return [
        Dialogue(
            "mmreason", task, SINGLE, row.index, (Turn(1, row.index, user, reference, scored=True),), facts=facts,
            trunk=f"mmreason/{row.index}",
        )
        for task, reference in references.items()
    ]  # fmt: skip


def reference_steps(path: Path, row: Row) -> str:
    """The reference solution of a row, as a judge is shown it; empty where there is none.

    Where and how the benchmark keeps its reference steps is not published. Read is a column ``steps`` that holds a literal
    list of texts, which are numbered, or any other text, which is taken as it is.

    Raises:
        DataError: the cell begins like a literal list of texts, and is none.
    """
    cell = row.cells.get(_STEPS, "").strip()
    if not cell.replace(" ", "").startswith(("['", '["', "[]")):
        return cell
    steps = [step.strip() for step in literal_list(path, row, _STEPS) if step.strip()]
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def _notes(path: Path, dialogues: Sequence[Dialogue], dropped: Sequence[str], rows: int) -> Iterable[str]:
    if dropped:
        more = ", ..." if len(dropped) > _SHOWN else ""
        yield (
            f"{path.name}: {len(dropped)} of {rows} rows have no image and are left out, as VLMEvalKit does: "
            f"{', '.join(dropped[:_SHOWN])}{more}"
        )
    if not any(dialogue.task == STEPS for dialogue in dialogues):
        yield f"{path.name} gives no reference steps (column {_STEPS!r}), so there are no items of the task {STEPS!r}"
