"""Mistakes a user can mend. Each is shown as one message, without a traceback, and ends the run with a usage error."""

from __future__ import annotations

from pathlib import Path

import msgspec

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes that are no JSON, or are nested too deep for any reader."""


class UserError(Exception):
    """Something the user gave cannot be used. The message says what, where, and how to mend it."""


class DataError(UserError):
    """A data file that cannot be used.

    Args:
        path: the file.
        problem: what is wrong, in one clause.
        mend: what to do about it, in one sentence.
        line: the 1-based line of a JSON-lines file, if one line is to blame.
        record: the id or number of the record to blame, in files that have no such lines.
        field: the field to blame, as ``conv[3].do_inference``.
    """

    def __init__(
        self,
        path: Path,
        problem: str,
        mend: str,
        *,
        line: int | None = None,
        record: str | int | None = None,
        field: str | None = None,
    ) -> None:
        place = f"{path}:{line}" if line else str(path)
        if record is not None:
            place += f": record {record}"
        where = f" (field {field})" if field else ""
        super().__init__(f"{place}: {problem}{where}. {mend}")
        self.path, self.line, self.field, self.problem, self.mend = path, line, field, problem, mend


def described(error: msgspec.ValidationError) -> tuple[str, str | None]:
    """What msgspec found wrong, in our words, and in which field, as ``conv[3].do_inference``."""
    problem, _, path = str(error).partition(" - at ")
    missing = problem.partition("missing required field ")[2].strip("`")
    parts = (path.strip("`").removeprefix("$").removeprefix("."), missing)
    plainly = problem.replace("Object missing required field", "missing field").replace("Expected", "expected")
    return plainly, ".".join(part for part in parts if part) or None


class BadRecords:
    """What becomes of a record that cannot be used: by default it ends the run, on request it is skipped and counted."""

    def __init__(self, skip: bool = False) -> None:
        self.skip = skip
        self.skipped: list[DataError] = []

    def __call__(self, error: DataError) -> None:
        """
        Raises:
            DataError: the same, unless bad records are to be skipped.
        """
        if not self.skip:
            raise error
        self.skipped.append(error)


class MissingExtra(UserError):
    """A part of mmtests needs packages that are not installed."""

    def __init__(self, what: str, extra: str, missing: str) -> None:
        super().__init__(
            f"{what} needs the package {missing!r}, which is not installed: pip install 'mmtests[{extra}]'"
        )
