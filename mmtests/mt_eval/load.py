"""MT-Eval's official JSON-lines files, unchanged, to dialogues. ``docs/mt_eval.md`` describes the format."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mmtests.benchmark import Loaded
from mmtests.dialogue import GOLD, MULTI, SINGLE, Dialogue, Message, Setting, Turn
from mmtests.errors import NOT_JSON, BadRecords, DataError, described
from mmtests.mt_eval.classification import LABELS
from mmtests.mt_eval.instructions import ARGUMENTS, OPTIONAL_ARGUMENTS
from mmtests.mt_eval.tasks import (
    EXPANSION,
    FOLLOW_UP,
    RECOLLECTION_CLS,
    RECOLLECTION_GLOBAL_INST,
    REFINEMENT,
    SYSTEM_PROMPT,
)

FILES: dict[str, tuple[str, Setting]] = {
    "recollection_multi_cls.jsonl": (RECOLLECTION_CLS, MULTI),
    "recollection_single_cls.jsonl": (RECOLLECTION_CLS, SINGLE),
    "recollection_multi_global-inst.jsonl": (RECOLLECTION_GLOBAL_INST, MULTI),
    "recollection_single_global-inst.jsonl": (RECOLLECTION_GLOBAL_INST, SINGLE),
    "expansion_multi.jsonl": (EXPANSION, MULTI),
    "expansion_single.jsonl": (EXPANSION, SINGLE),
    "refinement_multi.jsonl": (REFINEMENT, MULTI),
    "refinement_single.jsonl": (REFINEMENT, SINGLE),
    "follow-up_multi.jsonl": (FOLLOW_UP, MULTI),
    "follow-up_single.jsonl": (FOLLOW_UP, SINGLE),
}
"""The ten official files: task, and the setting whose dialogues they hold."""

_DOCUMENT_OPENS = "Content: "
_DOCUMENT_CLOSES = "\n\nInstruction: "


class TurnRow(Struct):
    """A turn as the file has it."""

    user: str
    do_inference: bool
    id: str
    sys: str | None = None
    inst: str | None = None


class DialogueRow(Struct):
    """A dialogue as the file has it."""

    id: str
    conv: list[TurnRow]
    inst_name: str | None = None
    inst_args: dict[str, Any] | None = None


class Place(Struct, frozen=True):
    """Where in which file, for error messages."""

    path: Path
    line: int

    def error(self, problem: str, mend: str, field: str | None = None) -> DataError:
        return DataError(self.path, problem, mend, line=self.line, field=field)


def load(folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
    """Read those of the ten official files that the folder has and the settings need.

    Raises:
        DataError: a file that cannot be used, with its line and field.
    """
    bad = bad or BadRecords()
    dialogues: list[Dialogue] = []
    files: dict[str, str] = {}
    notes: list[str] = []
    absent = []
    for name, (task, setting) in FILES.items():
        wanted = [one for one in settings if one == setting or (one == GOLD and setting == MULTI)]
        path = folder / name
        if not wanted:
            continue
        if not path.is_file():
            absent.append(name)
            continue
        content = _content(path)
        files[name] = hashlib.sha256(content).hexdigest()
        read = list(_read(path, content, task, setting, bad))
        for one in wanted:
            if one == GOLD:
                gold = [
                    msgspec.structs.replace(dialogue, setting=GOLD) for dialogue in read if _has_references(dialogue)
                ]
                if len(gold) < len(read):
                    notes.append(
                        f"{name} gives no reference replies for {len(read) - len(gold)} of {len(read)} dialogues: "
                        f"they have no gold setting"
                    )
                dialogues += gold
            else:
                dialogues += read
    return Loaded(folder, dialogues, files, tuple(absent), tuple(notes), tuple(map(str, bad.skipped)))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}", "Check its permissions.") from error


def _has_references(dialogue: Dialogue) -> bool:
    """True if every turn whose reply becomes history has one to give."""
    return all(turn.reference for turn in dialogue.turns[:-1])


def _read(path: Path, content: bytes, task: str, setting: Setting, bad: BadRecords) -> Iterator[Dialogue]:
    decoder = msgspec.json.Decoder(DialogueRow)
    seen: dict[str, int] = {}
    lines = 0
    for line, text in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not text.strip():
            continue
        lines += 1
        place = Place(path, line)
        try:
            row = _decode(decoder, text, place)
            if not str(row.id).strip() or not str(row.id).isprintable():
                raise place.error(f"the id {row.id!r} cannot be shown", "Give it one of printable characters.", "id")
            if row.id in seen:
                raise place.error(
                    f"dialogue id {row.id!r} is already that of line {seen[row.id]}",
                    "Ids must be unique within a file; rename or remove one.", "id",
                )  # fmt: skip
            dialogue = _dialogue(row, task, setting, place)
        except DataError as error:
            bad(error)
            continue
        seen[row.id] = line
        yield dialogue
    if not lines:
        raise DataError(path, "the file is empty", "Download it again, or remove it to run without its task.")


def _decode(decoder: msgspec.json.Decoder[DialogueRow], text: bytes, place: Place) -> DialogueRow:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        problem, field = described(error)
        raise place.error(problem, "docs/mt_eval.md lists the fields and their types.", field) from error
    except NOT_JSON as error:
        raise place.error(f"not JSON: {error}", "Each line must be one whole JSON object.") from error


def _dialogue(row: DialogueRow, task: str, setting: Setting, place: Place) -> Dialogue:
    if not row.conv:
        raise place.error("the dialogue has no turns", "Give it at least one.", "conv")
    if not any(turn.do_inference for turn in row.conv):
        raise place.error(
            "no turn is to be answered by the model", "Set do_inference to true where it must answer.", "conv"
        )
    if setting == SINGLE and len(row.conv) != 1:
        raise place.error(f"a single-turn dialogue has {len(row.conv)} turns", "It must have exactly one.", "conv")
    turn_facts, facts = _FACTS[task](row, place)
    turns = tuple(
        Turn(number, turn.id, Message.of("user", turn.user), turn.sys or None, turn.do_inference, facts=known)
        for number, (turn, known) in enumerate(zip(row.conv, turn_facts, strict=True), 1)
    )
    for index, turn in enumerate(turns):
        if not turn.scored and turn.reference is None:
            raise place.error(
                "a given turn has no reply", "Fill sys, or set do_inference to true.", f"conv[{index}].sys"
            )
    return Dialogue("mt_eval", task, setting, row.id, turns, SYSTEM_PROMPT, facts)


Facts = tuple[list[dict[str, Any]], dict[str, Any]]
"""What the scorers need: for each turn, and for the dialogue."""


def _instructed(row: DialogueRow, place: Place) -> Facts:
    """Refinement and expansion: instructions over one document, which stands in the first turn."""
    opening = row.conv[0].user
    head, closes, _ = opening.rpartition(_DOCUMENT_CLOSES)
    if not closes or not head.startswith(_DOCUMENT_OPENS):
        raise place.error(
            "the first turn holds no document",
            "It must read 'Content: <document>', a blank line, 'Instruction: <instruction>'.",
            "conv[0].user",
        )
    known, part, step = [], 0, 0
    before = None
    for index, turn in enumerate(row.conv):
        if turn.inst is None:
            raise place.error("missing field `inst`", "Give the instruction part of user.", f"conv[{index}].inst")
        pieces = turn.id.split("_")
        if len(pieces) < 3:
            raise place.error(
                f"turn id {turn.id!r} names no document, task and step",
                "It must read like 3_sum_1.",
                f"conv[{index}].id",
            )
        code = "_".join(pieces[1:-1])
        part, step = (part, step + 1) if code == before else (part + 1, 1)
        before = code
        known.append({"inst": turn.inst, "nlp_task": code, "part": part, "step": step})
    return known, {"document": head.removeprefix(_DOCUMENT_OPENS)}


def _classified(row: DialogueRow, place: Place) -> Facts:
    for index, turn in enumerate(row.conv):
        if turn.do_inference and (turn.sys or "").strip().lower() not in LABELS:
            raise place.error(
                f"the gold label {turn.sys!r} is none of the {len(LABELS)} labels",
                f"sys must be one of {', '.join(LABELS)}.", f"conv[{index}].sys",
            )  # fmt: skip
    return [{} for _ in row.conv], {}


def _instructed_globally(row: DialogueRow, place: Place) -> Facts:
    if row.inst_name is None or row.inst_name not in ARGUMENTS:
        raise place.error(
            "missing field `inst_name`" if row.inst_name is None else f"unknown instruction {row.inst_name!r}",
            f"It must be one of {', '.join(ARGUMENTS)}.", "inst_name",
        )  # fmt: skip
    # Read by the `datasets` library, every row carries every argument of every instruction, null where it has none.
    arguments = {name: _whole(value) for name, value in (row.inst_args or {}).items() if value is not None}
    for name, kind in ARGUMENTS[row.inst_name].items():
        value = arguments.get(name)
        if value is None and name in OPTIONAL_ARGUMENTS:
            continue
        try:
            msgspec.convert(value, kind.type)
        except msgspec.ValidationError as error:
            raise place.error(
                f"instruction {row.inst_name!r} has no usable argument {name!r}: {value!r}",
                f"It must be {kind.words}.", f"inst_args.{name}",
            ) from error  # fmt: skip
    arguments = {name: arguments[name] for name in ARGUMENTS[row.inst_name] if name in arguments}
    return [{} for _ in row.conv], {"inst_name": row.inst_name, "inst_args": arguments}


def _whole(value: Any) -> Any:
    """Table libraries that fill in nulls turn whole numbers into floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(row: DialogueRow, place: Place) -> Facts:
    return [{} for _ in row.conv], {}


_FACTS: dict[str, Callable[[DialogueRow, Place], Facts]] = {
    REFINEMENT: _instructed,
    EXPANSION: _instructed,
    RECOLLECTION_CLS: _classified,
    RECOLLECTION_GLOBAL_INST: _instructed_globally,
    FOLLOW_UP: _plain,
}
