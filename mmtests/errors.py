"""Mistakes a user can mend. Each is shown as one message, without a traceback, and ends the run with a usage error."""

from __future__ import annotations

from pathlib import Path


class UserError(Exception):
    """Something the user gave cannot be used. The message says what, where, and how to mend it."""


class DataError(UserError):
    """A data file that cannot be used.

    Args:
        path: the file.
        problem: what is wrong, in one clause.
        mend: what to do about it, in one sentence.
        line: the 1-based line of a JSON-lines file, if one line is to blame.
        field: the field to blame, as ``conv[3].do_inference``.
    """

    def __init__(
        self, path: Path, problem: str, mend: str, *, line: int | None = None, field: str | None = None
    ) -> None:
        place = f"{path}:{line}" if line else str(path)
        where = f" (field {field})" if field else ""
        super().__init__(f"{place}: {problem}{where}. {mend}")
        self.path, self.line, self.field, self.problem, self.mend = path, line, field, problem, mend


class MissingExtra(UserError):
    """A part of mmtests needs packages that are not installed."""

    def __init__(self, what: str, extra: str, missing: str) -> None:
        super().__init__(
            f"{what} needs the package {missing!r}, which is not installed: pip install 'mmtests[{extra}]'"
        )
