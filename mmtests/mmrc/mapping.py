"""``mapping.toml``: where a file whose names are not ours has our fields. ``docs/mmrc.md`` describes it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from mmtests.errors import DataError, described
from mmtests.mmrc.records import Place
from mmtests.mmrc.tasks import ABILITIES, FORMATS, TRUE_FALSE

FILE = "mapping.toml"

FIELDS: Mapping[str, tuple[str, ...]] = {
    "conversation": ("id", "topic", "domain", "turns", "questions"),
    "turn": ("user", "text", "images", "assistant", "role"),
    "question": (
        "id", "ability", "format", "question", "answer", "choices", "answer_items", "answer_images", "should_refuse",
        "evidence_turns",
    ),
}  # fmt: skip
"""Our fields by table of the mapping. ``text`` and ``images`` are those of ``user``."""

VALUES: Mapping[str, tuple[str, ...]] = {
    "ability": ABILITIES,
    "format": FORMATS,
    "answer": ("true", "false"),
    "role": ("user", "assistant"),
}
"""Our values by field, to which others may be mapped; ``answer`` is that of true/false questions."""

_ABSENT: Any = object()
_LISTED = re.compile(r"(turns|questions)\[\d+\]\.?(.*)")


class _File(Struct, forbid_unknown_fields=True):
    file: str | None = None
    images: str | None = None
    conversation: dict[str, str] = field(default_factory=dict)
    turn: dict[str, str] = field(default_factory=dict)
    question: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[str, str]] = field(default_factory=dict)


class FieldMapping:
    """Reads records by the mapping of a folder; without one, records are as they are."""

    def __init__(self, folder: Path) -> None:
        """
        Raises:
            DataError: the mapping cannot be used. Its key is named.
        """
        self.path = folder / FILE
        self.exists = self.path.is_file()
        written = self._read() if self.exists else _File()
        self.file, self.images = written.file, written.images
        tables = {"conversation": written.conversation, "turn": written.turn, "question": written.question}
        self._paths = {(table, key): path for table, keys in tables.items() for key, path in keys.items()}
        self._values = written.values
        self._unfound = set(self._paths)
        self._flat = ("turn", "role") in self._paths

    def _read(self) -> _File:
        try:
            written = msgspec.convert(tomllib.loads(self.path.read_text(encoding="utf-8")), _File)
        except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
            raise DataError(self.path, f"not TOML: {error}", "docs/mmrc.md describes the file.") from error
        except msgspec.ValidationError as error:
            problem, at = described(error)
            unknown = re.search(r"unknown field `(.+)`", problem)
            known = "file, images, conversation, turn, question, values"
            raise DataError(self.path, f"unknown key {unknown[1]!r}" if unknown else problem,
                            f"It may have {known}." if unknown else "docs/mmrc.md describes the file.", field=at) from error  # fmt: skip
        for table, known_keys in FIELDS.items():
            for key, path in getattr(written, table).items():
                self._known(key, known_keys, f"{table}.{key}")
                if not path or not all(path.split(".")):
                    raise self._error(f"{path!r} is no path", "Write names with dots between them.", f"{table}.{key}")
        for key, meanings in written.values.items():
            self._known(key, VALUES, f"values.{key}")
            for theirs, ours in meanings.items():
                if ours not in VALUES[key]:
                    raise self._error(
                        f"{ours!r} is no value of {key}", f"It must be one of {', '.join(VALUES[key])}.",
                        f"values.{key}.{theirs}",
                    )  # fmt: skip
        for key in ("user", "assistant") if "role" in written.turn else ():
            if key in written.turn:
                raise self._error(
                    f"{key!r} cannot stand beside 'role'",
                    "With role, turns is a list of messages, and text and images are those of a message.", f"turn.{key}",
                )  # fmt: skip
        if "user" in written.turn and written.turn.keys() & {"text", "images"}:
            raise self._error(
                "'user' cannot stand beside 'text' or 'images'", "Give the one or the others.", "turn.user"
            )
        return written

    def _known(self, key: str, known: Mapping[str, Any] | tuple[str, ...], at: str) -> None:
        if key not in known:
            raise self._error(f"unknown key {key!r}", f"Known here: {', '.join(known)}.", at)

    def _error(self, problem: str, mend: str, at: str) -> DataError:
        return DataError(self.path, problem, mend, field=at)

    def told(self, our_field: str) -> str:
        """Where one of our fields, as ``turns[3].user.text``, is read from; empty if the mapping does not say."""
        listed = _LISTED.fullmatch(our_field)
        table = {None: "conversation", "turns": "turn", "questions": "question"}[listed[1] if listed else None]
        names = re.split(r"[.\[]", listed[2] if listed else our_field)
        return " ".join(
            f"{FILE} reads {table}.{name} from {self._paths[table, name]!r}."
            for name in names
            if (table, name) in self._paths
        )

    def checked(self) -> None:
        """Call after all records.

        Raises:
            DataError: the mapping names a path that was in no record at all.
        """
        for table, key in self._paths:
            if (table, key) in self._unfound:
                raise self._error(
                    f"no record has {self._paths[table, key]!r}", "Mend the path, or remove the key.", f"{table}.{key}"
                )

    def row(self, record: Any, place: Place) -> Any:
        """A record under our names. What is not as it must be is left for the reader of our fields to find.

        Raises:
            DataError: the messages of a list of messages are out of order.
        """
        if not self.exists or not isinstance(record, dict):
            return record
        row = dict(self._fields(record, "conversation", FIELDS["conversation"]))
        if isinstance(turns := row.get("turns"), list):
            row["turns"] = self._folded(turns, place) if self._flat else [self._turn(turn) for turn in turns]
        if isinstance(questions := row.get("questions"), list):
            row["questions"] = [self._question(question) for question in questions]
        return row

    def _turn(self, entry: Any) -> dict[str, Any]:
        turn = dict(self._fields(entry, "turn", ("user", "assistant")))
        if self._paths.keys() & {("turn", "text"), ("turn", "images")}:
            turn["user"] = dict(self._fields(entry, "turn", ("text", "images")))
        return turn

    def _folded(self, messages: list[Any], place: Place) -> list[dict[str, Any]]:
        """Turns of a list of messages: a user's, and the assistant's after it."""
        turns: list[dict[str, Any]] = []
        for number, message in enumerate(messages):
            said = dict(self._fields(message, "turn", ("role", "text", "images")))
            role = self._value("role", said.pop("role", None))
            if role == "user":
                turns.append({"user": said})
            elif role == "assistant" and turns and "assistant" not in turns[-1]:
                turns[-1]["assistant"] = said.get("text")
            else:
                raise place.error(
                    f"message {number + 1} is of {role!r}, where user and assistant must follow each other",
                    f"values.role in {FILE} can map other names to these two.", f"turns[{number}].role",
                )  # fmt: skip
        return turns

    def _question(self, entry: Any) -> dict[str, Any]:
        question = dict(self._fields(entry, "question", FIELDS["question"]))
        for name in ("ability", "format"):
            if name in question:
                question[name] = self._value(name, question[name])
        if question.get("format") == TRUE_FALSE:
            question["answer"] = self._value("answer", question.get("answer"))
        return question

    def _value(self, name: str, value: Any) -> Any:
        return self._values.get(name, {}).get(str(value), value)

    def _fields(self, holder: Any, table: str, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        for name in names:
            path = self._paths.get((table, name))
            found = _at(holder, name if path is None else path)
            if found is not _ABSENT:
                self._unfound.discard((table, name))
                yield name, found


def _at(holder: Any, path: str) -> Any:
    """What is at the path. Numbers are places in a list, from 0; a name with a dot in it is found, too."""
    if isinstance(holder, dict) and path in holder:
        return holder[path]
    for step in path.split("."):
        if isinstance(holder, dict) and step in holder:
            holder = holder[step]
        elif isinstance(holder, list) and step.isdecimal() and int(step) < len(holder):
            holder = holder[int(step)]
        else:
            return _ABSENT
    return holder
