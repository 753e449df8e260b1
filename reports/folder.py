"""The folder a run leaves behind: ``records.jsonl``, ``summary.json`` and ``run.json``."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from mmtests.errors import NOT_JSON, DataError, UserError
from mmtests.reply import Recorded
from mmtests.score import Record

RECORDS = "records.jsonl"
SUMMARY = "summary.json"
RUN = "run.json"


class RunFolder:
    """Writes a run's files. A record is on disk as soon as its item is finished."""

    def __init__(self, path: Path) -> None:
        """Make the folder and begin its records. Records of a run that did not finish are set aside: this goes on from it.

        Raises:
            UserError: it cannot be written, or holds the records of a finished run.
        """
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            _hide_from_git(path)
        except OSError as error:
            raise UserError(f"the run folder {path} cannot be written: {error.strerror}. Name another with --run-dir."
                            ) from error  # fmt: skip
        if (path / RECORDS).exists() and _is_finished(path):
            raise UserError(
                f"the run folder {path} already holds the records of a run. Name another with --run-dir, or move them away."
            )
        try:
            _set_aside(path)
            self._records = (path / RECORDS).open("xb", buffering=0)
        except OSError as error:
            raise UserError(f"the run folder {path} cannot be written: {error.strerror}. Name another with --run-dir."
                            ) from error  # fmt: skip

    def append(self, record: Record) -> None:
        """Add a record, in one write.

        Raises:
            OSError: the disk is full, or the folder gone. What was written before stays.
        """
        line = msgspec.json.encode(record) + b"\n"
        written = self._records.write(line)
        if written != len(line):
            raise OSError(28, "No space left on device", str(self.path / RECORDS))

    def write(self, name: str, content: object) -> None:
        """Write a JSON file, whole or not at all.

        Raises:
            OSError: it cannot be written.
        """
        path = self.path / name
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
        temporary.replace(path)

    def close(self) -> None:
        self._records.close()


def _is_finished(path: Path) -> bool:
    """True if every item of the run in the folder has a score."""
    try:
        return bool(json.loads((path / SUMMARY).read_text(encoding="utf-8"))["complete"])
    except (OSError, ValueError, KeyError):
        return False


def _set_aside(path: Path) -> None:
    """Keep the records of a run that did not finish beside those of the one that goes on from it."""
    if not (path / RECORDS).exists():
        return
    free = next(number for number in itertools.count(1) if not (path / f"records-{number}.jsonl").exists())
    (path / RECORDS).rename(path / f"records-{free}.jsonl")
    (path / SUMMARY).unlink(missing_ok=True)


def _hide_from_git(path: Path) -> None:
    """Our default place, like pytest's own cache, is no part of the user's repository."""
    for parent in path.parents:
        if parent.name == ".mmtests":
            ignore = parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")


def read_records(path: Path) -> Iterator[Record]:
    """The records of a run: of its folder, or of a ``records.jsonl``. A last line that was cut off is left out.

    Raises:
        DataError: a line that is not a record.
    """
    file = path / RECORDS if path.is_dir() else path
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataError(
            file, f"cannot be read: {error.strerror}", "Name a run's folder or its records.jsonl."
        ) from error
    decoder = msgspec.json.Decoder(Record)
    lines = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            yield decoder.decode(line)
        except NOT_JSON as error:
            if number == len(lines):  # no line break after it: the run was killed while it wrote
                return
            raise DataError(file, f"not a record: {error}", "Was the file edited?", line=number) from error


def is_run(path: Path) -> bool:
    """True for a run's folder, or a file whose first line is one of our records."""
    if path.is_dir():
        return (path / RECORDS).is_file()
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline())
    except (OSError, ValueError):
        return False
    return isinstance(first, Mapping) and {"id", "outcome", "benchmark"} <= first.keys()


def recorded_replies(path: Path) -> dict[str, Recorded]:
    """The replies of an earlier run, by item id."""
    return {
        record.id: Recorded(record.reply.text if record.reply else None, record.user or None)
        for record in read_records(path)
    }
