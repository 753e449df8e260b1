"""MMDU's official files, unchanged, to dialogues. ``docs/mmdu.md`` describes the format."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mmtests.benchmark import Loaded
from mmtests.dialogue import BLIND, GOLD, MULTI, Dialogue, Message, Part, Setting, Text, Turn, without_images
from mmtests.errors import NOT_JSON, BadRecords, DataError, described
from mmtests.image import Image
from mmtests.mmdu.pictures import ARCHIVE, FOLDER, Pictures
from mmtests.mmdu.tasks import DIALOGUE
from mmtests.sheet import literal_list, read_sheet

RECORDS = "benchmark.json"
SHEET = "MMDU.tsv"
"""VLMEvalKit's form of the same data."""
TAG = "<ImageHere>"
"""Stands in a user's text for the next image of the dialogue."""

_HEAD = 1 << 16
"""Bytes of ``benchmark.json`` within which a record of MMDU must name its conversations."""


class Said(Struct, rename={"role": "from"}):
    """One message, as a record has it."""

    role: str
    value: str


class DialogueRow(Struct):
    """A dialogue, as ``benchmark.json`` and the result files of the official scripts have it."""

    id: int | str
    conversations: list[Said]
    image: list[str] = msgspec.field(default_factory=list)


class Place(Struct, frozen=True):
    """Which record of which file, for error messages."""

    path: Path
    record: str

    def error(self, problem: str, mend: str, field: str | None = None) -> DataError:
        return DataError(self.path, problem, mend, record=self.record, field=field)


def recognises(folder: Path) -> bool:
    """True for a folder with MMDU's data. Its ``benchmark.json`` has too common a name to be taken by that alone."""
    if (folder / SHEET).is_file():
        return True
    if not (folder / RECORDS).is_file():
        return False
    if (folder / FOLDER).is_dir() or (folder / ARCHIVE).is_file():
        return True
    try:
        with (folder / RECORDS).open("rb") as file:
            return b'"conversations"' in file.read(_HEAD)
    except OSError:
        return False


def load(folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
    """Read ``benchmark.json`` with its pictures, or where there is none VLMEvalKit's ``MMDU.tsv``.

    No picture is opened.

    Raises:
        DataError: a file or record that cannot be used, by file, record and field.
    """
    bad = bad or BadRecords()
    path, notes, absent = folder / RECORDS, [], ()
    if path.is_file():
        content = _content(path)
        read = list(_of_records(path, content, bad))
        digest = hashlib.sha256(content).hexdigest()
        if (folder / SHEET).is_file():
            notes.append(f"{SHEET} is not read, as {RECORDS} is there")
    elif (folder / SHEET).is_file():
        path = folder / SHEET
        read = list(_of_sheet(path, bad))
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    else:
        return Loaded(folder, (), {}, absent=(RECORDS,))
    if not read and not bad.skipped:
        raise DataError(path, "there is no record in it", "Download it again.")
    dialogues: list[Dialogue] = []
    for setting in (one for one in (MULTI, GOLD, BLIND) if one in settings):
        if setting == MULTI:
            dialogues += read
        elif setting == BLIND:
            dialogues += map(without_images, read)
        else:
            gold = [replace(dialogue, setting=GOLD) for dialogue in read if _has_references(dialogue)]
            dialogues += gold
            if len(gold) < len(read):
                notes.append(
                    f"{path.name} lacks reference replies in {len(read) - len(gold)} of {len(read)} dialogues: "
                    f"they have no gold setting"
                )
    return Loaded(folder, dialogues, {path.name: digest}, absent, tuple(notes), tuple(map(str, bad.skipped)))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}", "Check its permissions.") from error


def _has_references(dialogue: Dialogue) -> bool:
    """True if every turn whose reply becomes history has one to give."""
    return all(turn.reference for turn in dialogue.turns[:-1])


def _of_records(path: Path, content: bytes, bad: BadRecords) -> Iterator[Dialogue]:
    pictures = Pictures(path)
    seen: set[str] = set()
    for name, raw in split(path, content):
        try:
            row = decode(path, name, raw)
            place = Place(path, str(row.id))
            if not str(row.id).strip():
                raise Place(path, name).error("the id is empty", "Give the dialogue one.", "id")
            if not str(row.id).isprintable():
                raise Place(path, name).error(
                    f"the id {row.id!r} cannot be shown", "Give it one of printable characters.", "id"
                )
            if str(row.id) in seen:
                raise place.error("another record before it has this id", "Ids must be unique; rename one.", "id")
            users, references = _turns(row.conversations, place)
            images = [_picture(pictures, written, number, place) for number, written in enumerate(row.image)]
            dialogue = _dialogue(str(row.id), users, references, images, place, "conversations[{}].value")
        except DataError as error:
            bad(error)
            continue
        seen.add(str(row.id))
        yield dialogue


def split(path: Path, content: bytes) -> list[tuple[str, msgspec.Raw]]:
    """The records of a list, or of an object whose values they are, undecoded, each with a name for error messages.

    Raises:
        DataError: it is neither.
    """
    try:
        whole = msgspec.json.decode(
            content.removeprefix(b"\xef\xbb\xbf"), type=list[msgspec.Raw] | dict[str, msgspec.Raw]
        )
    except msgspec.ValidationError as error:
        raise DataError(path, "it holds neither a list nor an object of records",
                        "docs/mmdu.md describes the format.") from error  # fmt: skip
    except NOT_JSON as error:
        raise DataError(path, f"not JSON: {error}", "Download it again.") from error
    if isinstance(whole, dict):
        return [(repr(key), raw) for key, raw in whole.items()]
    return [(f"number {number}", raw) for number, raw in enumerate(whole, 1)]


def decode(path: Path, name: str, raw: msgspec.Raw | bytes) -> DialogueRow:
    """One record.

    Args:
        name: what error messages call it if it has no usable id.

    Raises:
        DataError: it lacks a field, or has one of another type.
    """
    try:
        return msgspec.json.decode(raw, type=DialogueRow)
    except msgspec.ValidationError as error:
        problem, field = described(error)
        raise DataError(path, problem, "docs/mmdu.md lists the fields and their types.", field=field,
                        record=_id_of(raw) or name) from error  # fmt: skip
    except NOT_JSON as error:
        raise DataError(path, f"not JSON: {error}", "Download it again.", record=name) from error


def _id_of(raw: msgspec.Raw | bytes) -> str:
    """The id of a record that is otherwise not as it should be; empty if there is none."""
    try:
        thing: Any = msgspec.json.decode(raw)
    except NOT_JSON:
        return ""
    found = thing.get("id") if isinstance(thing, dict) else None
    return str(found) if isinstance(found, int | str) else ""


def _turns(conversations: Sequence[Said], place: Place) -> tuple[list[str], list[str]]:
    """The user's texts and the reference replies, in order."""
    if not conversations:
        raise place.error("the dialogue has no turns", "Give it at least one.", "conversations")
    for number, said in enumerate(conversations):
        wanted = "assistant" if number % 2 else "user"
        if said.role != wanted:
            raise place.error(
                f"the message is from {said.role!r}, where {wanted!r} is due",
                "Messages must alternate between user and assistant, and begin with user.",
                f"conversations[{number}].from",
            )
    if len(conversations) % 2:
        raise place.error(
            f"there are {len(conversations)} messages, so that the last question has no reply",
            "Add the reference reply, or remove the question.", "conversations",
        )  # fmt: skip
    for number, said in enumerate(conversations):
        if said.role == "assistant" and TAG in said.value:
            raise place.error(
                f"a reference reply holds the tag {TAG}", "Only a user's message can bring an image.",
                f"conversations[{number}].value",
            )  # fmt: skip
    return [said.value for said in conversations[::2]], [said.value for said in conversations[1::2]]


def _picture(pictures: Pictures, written: str, number: int, place: Place) -> Image:
    field = f"image[{number}]"
    try:
        source = pictures.find(written)
    except ValueError as error:
        raise place.error(str(error), f"Paths must read like /{FOLDER}/NAME.jpg.", field) from error
    if source is None:
        raise place.error(f"there is no picture {written!r} in {pictures.searched}", "Is the download complete?", field)
    return Image(source, f"{place.path}: record {place.record} (field {field})")


def _of_sheet(path: Path, bad: BadRecords) -> Iterator[Dialogue]:
    for row in read_sheet(path, ("question", "answer"), bad):
        place = Place(path, row.index)
        try:
            users, references = literal_list(path, row, "question"), literal_list(path, row, "answer")
            if len(users) != len(references):
                raise place.error(
                    f"there are {len(users)} questions and {len(references)} answers",
                    "Each question needs its reference reply.", "answer",
                )  # fmt: skip
            if not users:
                raise place.error("the dialogue has no turns", "Give it at least one.", "question")
            for number, reference in enumerate(references):
                if TAG in reference:
                    raise place.error(
                        f"a reference reply holds the tag {TAG}", "Only a user's message can bring an image.",
                        f"answer[{number}]",
                    )  # fmt: skip
            images = [
                Image(span, f"{path}: record {row.index} (field image[{number}])")
                for number, span in enumerate(row.images)
            ]
            dialogue = _dialogue(row.index, users, references, images, place, "question[{}]", step=1)
        except DataError as error:
            bad(error)
            continue
        yield dialogue


def _dialogue(
    id: str,
    users: Sequence[str],
    references: Sequence[str],
    images: Sequence[Image],
    place: Place,
    named: str,
    step: int = 2,
) -> Dialogue:
    """A dialogue in the multi setting.

    Args:
        named: the field of a user's text, with a place for its number, which counts in steps of ``step``.
    """
    tags = sum(user.count(TAG) for user in users)
    if tags != len(images):
        raise place.error(
            f"the questions hold {tags} tags {TAG}, and there are {len(images)} images",
            "Each tag stands for one image, in the same order.", "image",
        )  # fmt: skip
    turns, shown = [], 0
    for number, (user, reference) in enumerate(zip(users, references, strict=True)):
        if not user.strip():
            raise place.error("the question is empty", "Give it a text.", named.format(number * step))
        new = user.count(TAG)
        message = Message("user", _parts(user, images[shown : shown + new]))
        shown += new
        turns.append(
            Turn(number + 1, str(number + 1), message, reference or None, scored=True, facts={"question": user})
        )
    # The judge sees the dialogue's own images in each setting, even where the model sees none of them, or smaller ones.
    return Dialogue("mmdu", DIALOGUE, MULTI, id, tuple(turns), facts={"images": tuple(images)})


def _parts(user: str, images: Sequence[Image]) -> tuple[Part, ...]:
    """Text and images in the order in which they stand; between two tags without a text there is none."""
    texts = user.split(TAG)
    parts: list[Part] = []
    for text, image in zip(texts, (*images, None), strict=True):
        if text:
            parts.append(Text(text))
        if image is not None:
            parts.append(image)
    return tuple(parts)
