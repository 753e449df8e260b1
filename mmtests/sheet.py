"""Tab-separated files of the VLMEvalKit form: one record a row, images as base64 in a cell.

The images stay in the file. A row knows at which byte each begins.
"""

from __future__ import annotations

import ast
import base64
import binascii
import csv
import itertools
import mmap
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from mmtests.errors import BadRecords, DataError
from mmtests.image import Span

_LONGEST_REFERENCE = 64
"""Characters up to which the content of an image cell is the index of the row that has the image."""
_COLUMN = "image"
_END = "\0end of the sheet\0"
"""A line put after the last one. Where it turns up in a cell, a quote was opened and never closed."""


class Row(Struct, frozen=True):
    """A record."""

    index: str
    cells: Mapping[str, str]
    """By column, without the image's."""
    images: tuple[Span, ...]
    """Empty where the cell is empty."""


def read_sheet(path: Path, columns: Sequence[str], bad: BadRecords) -> Iterator[Row]:
    """Read the rows, in their order.

    Args:
        columns: those that must be there beside ``index`` and ``image``.
        bad: is told of a row without an index or with one that stands before, of one with too many or too few cells, and of an
            image cell that holds neither base64 nor a literal list of it nor the index of a row that does.

    Raises:
        DataError: what ``bad`` raises, and: the file cannot be read, is no such table, or lacks a column.
    """
    # A row may show the image of one further down, so that none can be given before all are read. What is kept of a row is
    # its text and its images' places.
    rows: list[tuple[str, Mapping[str, str], tuple[Span, ...] | str]] = []
    try:
        if not path.stat().st_size:
            raise DataError(path, "the file is empty", "Download it again.")
        with (
            path.open(encoding="utf-8-sig", newline="") as file,
            path.open("rb") as raw,
            mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            rows.extend(_rows(path, file, content, columns, bad))
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror or error}", "Check its permissions.") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(path, f"not a tab-separated file: {error}", "Download it again.") from error
    images = {index: found for index, _, found in rows if found and not isinstance(found, str)}
    for index, cells, found in rows:
        if isinstance(found, str):
            if found not in images:
                bad(DataError(path, f"the image cell {found!r} is too short for a picture in base64, and not the index of a "
                              f"row that has one", "Fill it with the picture's bytes in base64.", record=index,
                              field=_COLUMN))  # fmt: skip
                continue
            found = images[found]
        yield Row(index, cells, found)


def literal_list(path: Path, row: Row, column: str) -> list[str]:
    """The list of texts that a cell holds as a Python literal. It is parsed, and never run.

    Raises:
        DataError: it is none.
    """
    return _literal(path, row.index, column, row.cells.get(column, ""))


def _rows(
    path: Path, file: Iterator[str], content: mmap.mmap, columns: Sequence[str], bad: BadRecords
) -> Iterator[tuple[str, Mapping[str, str], tuple[Span, ...] | str]]:
    """Index, cells, and where the images are or the index of the row that has them."""
    needed = ("index", _COLUMN, *columns)
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 30))
    reader = csv.DictReader(itertools.chain(file, (_END,)), delimiter="\t")
    names = reader.fieldnames or ()
    _check_columns(path, names, needed)
    at = 0
    seen: set[str] = set()
    for number, cells in enumerate(reader, 1):
        if cells[names[0]] == _END:
            break
        index = (cells["index"] or "").strip()
        if any(isinstance(cell, str) and cell.endswith(_END) for cell in cells.values()):
            raise DataError(path, "a cell begins with a quote that is never closed",
                            "Put the whole cell in quotes, and double those within it.",
                            record=index[:_LONGEST_REFERENCE].removesuffix(_END) or f"row {number}")  # fmt: skip
        cell = (cells.pop(_COLUMN) or "").strip()
        try:
            _check_row(path, number, index, cells, seen, needed)
            seen.add(index)
            known = {name: value or "" for name, value in cells.items()}
            if cell and len(cell) <= _LONGEST_REFERENCE and not cell.startswith("["):
                yield index, known, cell
                continue
            spans, at = _spans(path, index, cell, content, at)
        except DataError as error:
            bad(error)
            continue
        yield index, known, spans


def _check_columns(path: Path, found: Sequence[str], needed: Sequence[str]) -> None:
    names = ", ".join(needed)
    if missing := [name for name in needed if name not in found]:
        raise DataError(path, f"there is no column {missing[0]!r}",
                        f"The first line must name {names}, with tabs between them.", field=missing[0])  # fmt: skip
    if twice := [name for name, count in Counter(found).items() if count > 1]:
        raise DataError(path, f"the column {twice[0]!r} stands twice", "Rename or remove one.", field=twice[0])


def _check_row(
    path: Path, number: int, index: str, cells: Mapping[str, str | None], seen: set[str], needed: Sequence[str]
) -> None:
    if not index:
        raise DataError(path, "the row has no index", "Give it one.", record=f"row {number}", field="index")
    if not index.isprintable():
        raise DataError(path, f"the index {index[:40]!r} cannot be shown", "Give it one of printable characters.",
                        record=f"row {number}", field="index")  # fmt: skip
    if index in seen:
        raise DataError(path, f"the index {index} stands twice", "Make it unique.", record=index, field="index")
    place = (
        f"{index[:40]} (row {number})"  # where cells are missing or too many, what stands for the index may be any text
    )
    if None in cells:
        raise DataError(path, "the row has more cells than there are columns",
                        "A cell with tabs in it needs quotes around it.", record=place)  # fmt: skip
    if missing := [name for name in needed if name != _COLUMN and cells[name] is None]:
        raise DataError(path, "the row has too few cells", "A cell with line breaks in it needs quotes around it.",
                        record=place, field=missing[0])  # fmt: skip


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


def _spans(path: Path, index: str, cell: str, content: mmap.mmap, at: int) -> tuple[tuple[Span, ...], int]:
    """Where the images of a cell are in the file, from byte ``at`` on, and where the last one ends.

    The same text further up, in another cell, is as good: what matters is which bytes it decodes to.
    """
    texts = _literal(path, index, _COLUMN, cell) if cell.startswith("[") else [cell] if cell else []
    spans = []
    for number, text in enumerate(texts):
        field = f"{_COLUMN}[{number}]" if cell.startswith("[") else _COLUMN
        try:
            written = text.encode("ascii")
            decoded = base64.b64decode(b"".join(written.split()), validate=True)
        except (binascii.Error, UnicodeEncodeError) as error:
            raise DataError(path, f"the base64 does not decode: {error}", "Write the picture's bytes in base64, whole.",
                            record=index, field=field) from error  # fmt: skip
        if not decoded:
            raise DataError(path, "the picture is empty", "Write the picture's bytes in base64.", record=index,
                            field=field)  # fmt: skip
        offset = content.find(written, at)
        if offset < 0:
            raise DataError(path, "the base64 is written with escapes, or in pieces",
                            "Write each picture as one plain text in quotes.", record=index, field=field)  # fmt: skip
        spans.append(Span(str(path), offset, len(written)))
        at = offset + len(written)
    return tuple(spans), at
