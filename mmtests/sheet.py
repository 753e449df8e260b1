"""Tab-separated files of the VLMEvalKit form: one record a row, images as base64 in a cell.

The images stay in the file. A row knows at which byte each begins.
"""

from __future__ import annotations

import ast
import base64
import binascii
import csv
import mmap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from mmtests.errors import BadRecords, DataError
from mmtests.image import Span

_LONGEST_REFERENCE = 64
"""Characters up to which the content of an image cell is the index of the row that has the image."""
_COLUMN = "image"


class Row(Struct, frozen=True):
    """A record."""

    index: str
    cells: Mapping[str, str]
    """By column, without the image's."""
    images: tuple[Span, ...]
    """Empty where the cell is empty."""


def read_sheet(path: Path, columns: Sequence[str], bad: BadRecords) -> Iterator[Row]:
    """Read the rows.

    Args:
        columns: those that must be there beside ``index`` and ``image``.

    Raises:
        DataError: no such columns, an index that stands twice, or an image cell that holds neither base64 nor a literal list
            of it nor another row's index.
    """
    images: dict[str, tuple[Span, ...]] = {}
    seen: set[str] = set()
    waiting: list[tuple[str, str, Mapping[str, str]]] = []
    csv.field_size_limit(1 << 30)
    try:
        file = path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}", "Check its permissions.") from error
    with file, path.open("rb") as raw:
        if not path.stat().st_size:
            raise DataError(path, "the file is empty", "Download it again.")
        content = mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ)
        with content:
            reader = csv.DictReader(file, delimiter="\t")
            _check_columns(path, reader.fieldnames or (), ("index", _COLUMN, *columns))
            at = 0
            try:
                for number, cells in enumerate(reader, 1):
                    index = (cells.get("index") or "").strip()
                    cell = (cells.pop(_COLUMN) or "").strip()
                    try:
                        if not index:
                            raise DataError(
                                path, "the row has no index", "Give it one.", record=f"row {number}", field="index"
                            )
                        if index in seen:
                            raise DataError(
                                path, f"the index {index} stands twice", "Make it unique.", record=index, field="index"
                            )
                        seen.add(index)
                        if None in cells:
                            raise DataError(path, "the row has more cells than there are columns",
                                            "Tabs within a cell need quotes around it.", record=index)  # fmt: skip
                        known: Mapping[str, str] = {name: value or "" for name, value in cells.items()}
                        if cell and len(cell) <= _LONGEST_REFERENCE and not cell.startswith("["):
                            waiting.append((index, cell, known))
                            continue
                        spans, at = _spans(path, index, cell, content, at)
                    except DataError as error:
                        bad(error)
                        continue
                    images[index] = spans
                    yield Row(index, known, spans)
            except (csv.Error, UnicodeDecodeError) as error:
                raise DataError(path, f"not a tab-separated file: {error}", "Download it again.") from error
    for index, cell, cells_of in waiting:
        if cell not in images:
            bad(DataError(path, f"the image cell {cell!r} is neither base64 nor the index of a row with an image",
                          "Fill it with the picture's bytes in base64.", record=index, field=_COLUMN))  # fmt: skip
            continue
        yield Row(index, cells_of, images[cell])


def literal_list(path: Path, row: Row, column: str) -> list[str]:
    """The list of texts that a cell holds as a Python literal. It is parsed, and never run.

    Raises:
        DataError: it is none.
    """
    return _literal(path, row.index, column, row.cells.get(column, ""))


def _literal(path: Path, index: str, column: str, cell: str) -> list[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd backslash in the data is no concern of the user's
            value = ast.literal_eval(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        value = None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise DataError(path, f"the cell is no literal list of texts: {cell[:60]!r}", "It must read like ['one', 'two'].",
                        record=index, field=column)  # fmt: skip
    return value


def _check_columns(path: Path, found: Sequence[str], needed: Sequence[str]) -> None:
    if missing := [name for name in needed if name not in found]:
        raise DataError(path, f"there is no column {missing[0]!r}",
                        f"The first line must name {', '.join(needed)}, with tabs between them.", field=missing[0])  # fmt: skip


def _spans(path: Path, index: str, cell: str, content: mmap.mmap, at: int) -> tuple[tuple[Span, ...], int]:
    """Where the images of a cell are in the file, from byte ``at`` on, and where the last one ends."""
    texts = _literal(path, index, _COLUMN, cell) if cell.startswith("[") else [cell] if cell else []
    spans = []
    for number, text in enumerate(texts):
        field = f"{_COLUMN}[{number}]" if cell.startswith("[") else _COLUMN
        try:
            base64.b64decode(text.encode("ascii"), validate=True)
        except (binascii.Error, UnicodeEncodeError) as error:
            raise DataError(path, f"the base64 does not decode: {error}", "Write the picture's bytes in base64, whole.",
                            record=index, field=field) from error  # fmt: skip
        offset = content.find(text.encode("ascii"), at)
        assert offset >= 0, "what was read is in the file, in this order"
        spans.append(Span(str(path), offset, len(text)))
        at = offset + len(text)
    return tuple(spans), at
