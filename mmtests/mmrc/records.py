"""The fields of a data file. ``docs/mmrc.md`` describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mmtests.errors import NOT_JSON, DataError


class UserRow(Struct):
    """What the user says at a turn."""

    text: str | None = None
    images: list[str] | str | None = None


class TurnRow(Struct):
    """A turn."""

    user: UserRow | str
    assistant: str | None = None


class QuestionRow(Struct):
    """A question."""

    ability: str
    question: str
    answer: str | bool
    id: str | int | None = None
    format: str | None = None
    choices: list[str] | dict[str, str] | None = None
    answer_items: list[str] | None = None
    answer_images: list[int] | None = None
    should_refuse: bool | None = None
    evidence_turns: list[int] | None = None


class ConversationRow(Struct):
    """A conversation and its questions."""

    id: str | int
    turns: list[TurnRow]
    questions: list[QuestionRow]
    topic: str | None = None
    domain: str | None = None


class Place(Struct, frozen=True):
    """Where in the file a record is, for error messages."""

    path: Path
    line: int | None = None
    """Of a file of JSON lines."""
    record: str | int | None = None
    """Its id, or until that is known its number in a JSON list."""
    told: Callable[[str], str] | None = None
    """From one of our fields to a word on where ``mapping.toml`` has it read from, which may be empty."""

    def error(self, problem: str, mend: str, field: str | None = None) -> DataError:
        if field and self.told is not None and (told := self.told(field)):
            mend = f"{mend} {told}"
        return DataError(self.path, problem, mend, line=self.line, record=self.record, field=field)


def raw_records(path: Path, content: bytes) -> Iterator[tuple[Place, Any | DataError]]:
    """Each record as it is in the file, with its place; in place of a line that is not JSON, the error.

    Both forms are known by the first character: ``[`` begins a JSON list, and all else is JSON lines.

    Raises:
        DataError: the file is empty, or begins as a list and is none.
    """
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise DataError(path, "the file is empty", "It must hold conversations, as JSON lines or as a JSON list.")
    if content.lstrip().startswith(b"["):
        try:
            records = msgspec.json.decode(content)
        except NOT_JSON as error:
            raise DataError(path, f"not JSON: {error}", "Is the file whole?") from error
        if not records:
            raise DataError(path, "the list is empty", "It must hold conversations.")
        yield from ((Place(path, record=number), record) for number, record in enumerate(records, 1))
        return
    for line, text in enumerate(content.split(b"\n"), 1):
        if not text.strip():
            continue
        place = Place(path, line)
        try:
            yield place, msgspec.json.decode(text)
        except NOT_JSON as error:
            yield place, place.error(f"not JSON: {error}", "Each line must be one whole JSON object.")
