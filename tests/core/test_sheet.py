"""A sheet gives its rows in order, with the place of each image, and names the row and the field of whatever is wrong."""

from __future__ import annotations

import base64
import csv
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmtests.errors import BadRecords, DataError
from mmtests.image import Image, Span, read
from mmtests.sheet import Row, literal_list, read_sheet

COLUMNS = ("question",)
HEADER = ("index", "image", "question")


def encoded(content: bytes) -> str:
    """As in a cell."""
    return base64.b64encode(content).decode()


ONE, TWO, THREE = (encoded(bytes([letter]) * 60) for letter in b"abc")
"""Base64 of 80 letters each, so long that it is no other row's index."""


def write(path: Path, *rows: Sequence[str], header: Sequence[str] = HEADER, lines: str = "\n") -> Path:
    """Write a sheet as table libraries do."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator=lines)
        writer.writerow(header)
        writer.writerows(rows)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test's sheet is."""
    return tmp_path / "sheet.tsv"


def rows(path: Path, columns: Sequence[str] = COLUMNS) -> list[Row]:
    """All rows; anything wrong raises."""
    return list(read_sheet(path, columns, BadRecords()))


def pictures(row: Row) -> list[bytes]:
    """What the row's spans decode to."""
    return [read(Image(span, "here")) for span in row.images]


def wrong(path: Path) -> str:
    """What is wrong with a sheet."""
    with pytest.raises(DataError) as error:
        rows(path)
    return str(error.value)


def test_a_plain_sheet(path: Path) -> None:
    """Each row has its cells and the bytes of its image."""
    write(path, ("1", ONE, "What?"), ("x-2", TWO, "And here?"))

    found = rows(path)

    assert [(row.index, row.cells) for row in found] == [
        ("1", {"index": "1", "question": "What?"}),
        ("x-2", {"index": "x-2", "question": "And here?"}),
    ]
    assert [pictures(row) for row in found] == [[b"a" * 60], [b"b" * 60]]


def test_a_span_is_the_cell(path: Path) -> None:
    """A span counts bytes, not letters, from the start of the file."""
    write(path, ("1", ONE, "Größe, 大きさ?"), ("2", TWO, "?"))
    content = path.read_bytes()

    spans = [row.images for row in rows(path)]

    assert spans == [(Span(str(path), content.index(text.encode()), 80),) for text in (ONE, TWO)]


def test_columns_in_any_order(path: Path) -> None:
    """Columns are known by name; others come along."""
    write(path, ("What?", "hard", ONE, "7"), header=("question", "level", "image", "index"))

    (row,) = rows(path)

    assert row.cells == {"question": "What?", "level": "hard", "index": "7"}
    assert pictures(row) == [b"a" * 60]


@pytest.mark.parametrize(
    "text", ['He said "no".', '"Quoted"', "two\nlines", "a\ttab", "a\r\nbreak", '5" pipe', "", "[x]"]
)
def test_a_cell_comes_back(path: Path, text: str) -> None:
    """Quotes, tabs and line breaks within a cell are kept, and the row after it is in place."""
    write(path, ("1", ONE, text), ("2", TWO, "?"))

    first, second = rows(path)

    assert first.cells["question"] == text
    assert pictures(second) == [b"b" * 60]


def test_a_quote_within_an_unquoted_cell(path: Path) -> None:
    """A quote that does not begin a cell is a letter like others."""
    path.write_text(f'index\timage\tquestion\n1\t{ONE}\tA 5" pipe\n2\t{TWO}\t?\n', encoding="utf-8")

    assert [row.cells["question"] for row in rows(path)] == ['A 5" pipe', "?"]


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("lines", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_ways_to_write_a_file(path: Path, start: str, lines: str, end: str) -> None:
    """A byte order mark, line ends of either kind and a missing last one make no difference."""
    text = f"{start}index\timage\tquestion\n1\t{ONE}\tWhat?\n\n2\t['{TWO}', '{THREE}']\tWhy?{end}"
    path.write_bytes(text.replace("\n", lines).encode())

    first, second = rows(path)

    assert (first.index, first.cells["question"], pictures(first)) == ("1", "What?", [b"a" * 60])
    assert (second.index, second.cells["question"], pictures(second)) == ("2", "Why?", [b"b" * 60, b"c" * 60])


@pytest.mark.parametrize("cell", [f"['{ONE}', '{TWO}']", f'["{ONE}", "{TWO}"]', f"[ '{ONE}',\n '{TWO}', ]"])
def test_a_list_of_images(path: Path, cell: str) -> None:
    """A literal list gives its images in order, however it is quoted."""
    write(path, ("1", cell, "What?"))

    assert pictures(rows(path)[0]) == [b"a" * 60, b"b" * 60]


def test_the_same_image_twice(path: Path) -> None:
    """Equal images have a place each."""
    write(path, ("1", f"['{ONE}', '{ONE}']", "?"), ("2", ONE, "?"))

    first, second = rows(path)

    assert [pictures(first), pictures(second)] == [[b"a" * 60] * 2, [b"a" * 60]]
    assert len({*first.images, *second.images}) == 3


def test_base64_in_lines(path: Path) -> None:
    """Base64 may be broken into lines, as mail does."""
    content = bytes(range(200))
    write(path, ("1", base64.encodebytes(content).decode(), "?"), ("2", TWO, "?"), lines="\r\n")

    assert [pictures(row) for row in rows(path)] == [[content], [b"b" * 60]]


def test_an_empty_image(path: Path) -> None:
    """A row without an image is there, without one."""
    write(path, ("1", "", "?"), ("2", "[]", "?"), ("3", ONE, "?"))

    assert [len(row.images) for row in rows(path)] == [0, 0, 1]


def test_references_to_other_rows(path: Path) -> None:
    """A row may show the images of another, before or after it, and stays in its place."""
    write(path, ("1", "3", "a"), ("2", ONE, "b"), ("3", f"['{TWO}', '{THREE}']", "c"), ("4", "2", "d"))

    found = rows(path)

    assert [row.index for row in found] == ["1", "2", "3", "4"]
    assert [pictures(row) for row in found] == [
        [b"b" * 60, b"c" * 60],
        [b"a" * 60],
        [b"b" * 60, b"c" * 60],
        [b"a" * 60],
    ]


@pytest.mark.parametrize("rest", [("8", TWO, "?"), ("9", "", "?"), ("9", "1", "?")])
def test_a_reference_to_no_image(path: Path, rest: Sequence[str]) -> None:
    """The row referred to must be there, and have an image of its own."""
    write(path, ("1", "9", "?"), rest)

    assert "record 1: the image cell '9' is too short for a picture in base64, and not the index" in wrong(path)


def test_a_duplicate_index(path: Path) -> None:
    """An index stands once; the second row is to blame."""
    write(path, ("1", ONE, "a"), ("1", TWO, "b"))
    bad = BadRecords(skip=True)

    assert [row.cells["question"] for row in read_sheet(path, COLUMNS, bad)] == ["a"]
    assert "record 1: the index 1 stands twice (field index)" in str(bad.skipped[0])


def test_no_index(path: Path) -> None:
    """A row without an index is named by its number."""
    write(path, ("1", ONE, "a"), (" ", TWO, "b"))

    assert "record row 2: the row has no index (field index)" in wrong(path)


@pytest.mark.parametrize("missing", HEADER)
def test_a_missing_column(path: Path, missing: str) -> None:
    """A column that is needed and not there is named."""
    write(path, header=[name for name in HEADER if name != missing])

    assert f"there is no column {missing!r} (field {missing})" in wrong(path)


def test_a_column_twice(path: Path) -> None:
    """Two columns of the same name cannot be told apart."""
    write(path, ("1", ONE, "a", "b"), header=(*HEADER, "question"))

    assert "the column 'question' stands twice" in wrong(path)


def test_too_many_cells(path: Path) -> None:
    """A tab that should have been quoted makes a cell too many."""
    path.write_text(f"index\timage\tquestion\n1\t{ONE}\ta\tb\n", encoding="utf-8")

    assert "record 1 (row 1): the row has more cells than there are columns" in wrong(path)


def test_too_few_cells(path: Path) -> None:
    """A line break that should have been quoted makes two rows with cells too few; an optional cell may be missing."""
    path.write_text(f"index\timage\tquestion\tlevel\n1\t{ONE}\ta\n2\t{TWO}\n", encoding="utf-8")
    bad = BadRecords(skip=True)

    assert [row.cells for row in read_sheet(path, COLUMNS, bad)] == [{"index": "1", "question": "a", "level": ""}]
    assert "record 2 (row 2): the row has too few cells (field question)" in str(bad.skipped[0])


@pytest.mark.parametrize("rest", ["", "\n", f"\n2\t{TWO}\t?\n"])
def test_a_quote_that_is_never_closed(path: Path, rest: str) -> None:
    """The rows after it would be lost within the cell."""
    path.write_text(f'index\timage\tquestion\n1\t{ONE}\t"So{rest}', encoding="utf-8")

    assert "record 1: a cell begins with a quote that is never closed" in wrong(path)


@pytest.mark.parametrize(
    "cell",
    [
        "[__import__('pathlib').Path('ran').touch()]",
        "[open('ran', 'w').name]",
        "[(lambda: open('ran', 'w'))()]",
        "['a' if open('ran', 'w') else 'b']",
        f"['{ONE}'][0:open('ran', 'w')]",
        '[f\'{open("ran", "w")}\']',
        "[" * 10_000,
        "['" + ONE,
        "[1, 2]",
        f"[['{ONE}']]",
        f"[b'{ONE}']",
    ],
)
def test_a_list_that_is_none(path: Path, cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell is never run as code, in either place where a list may stand."""
    monkeypatch.chdir(path.parent)
    write(path, ("1", cell, "?"))
    assert "record 1: the cell is no literal list of texts" in wrong(path)

    write(path, ("1", ONE, cell))
    with pytest.raises(DataError, match=r"record 1: the cell is no literal list of texts.*field question"):
        literal_list(path, rows(path)[0], "question")

    assert os.listdir(path.parent) == ["sheet.tsv"]


@pytest.mark.parametrize(
    ("cell", "texts"), [("['a', \"b's\"]", ["a", "b's"]), ("[]", []), (r"['\d', 'two\nlines']", ["\\d", "two\nlines"])]
)
def test_a_literal_list(path: Path, cell: str, texts: list[str]) -> None:
    """Texts in a cell come back as they were written, without a warning about odd backslashes."""
    write(path, ("1", ONE, cell))

    assert literal_list(path, rows(path)[0], "question") == texts


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (ONE[:-1], "does not decode"),
        (ONE[:70] + "!" + ONE[71:], "does not decode"),
        (ONE[:70] + "ä" + ONE[71:], "does not decode"),
        ("data:image/png;base64," + ONE, "does not decode"),
        (f"['{ONE}', '?']", "does not decode.*image\\[1\\]"),
        (f"['{ONE}', '']", "is empty.*image\\[1\\]"),
        (f"['{ONE[:40]}' '{ONE[40:]}']", "in pieces.*image\\[0\\]"),
        (f"['\\x41{ONE[1:]}']", "with escapes"),
    ],
)
def test_an_image_that_is_none(path: Path, cell: str, says: str) -> None:
    """Base64 that does not decode, or cannot be found in the file as it is, is refused by record and field."""
    write(path, ("5", cell, "?"))

    with pytest.raises(DataError, match=f"record 5: .*{says}"):
        rows(path)


def test_a_bad_row_is_left_out_on_request(path: Path) -> None:
    """The rows around it stay, and one that shows its image is bad, too."""
    write(path, ("1", ONE, "?"), ("2", TWO[:-1], "?"), ("3", "2", "?"), ("4", THREE, "?"))
    bad = BadRecords(skip=True)

    found = list(read_sheet(path, COLUMNS, bad))

    assert [(row.index, pictures(row)) for row in found] == [("1", [b"a" * 60]), ("4", [b"c" * 60])]
    assert [error.field for error in bad.skipped] == ["image", "image"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"index\timage\tquestion\n1\t\xff\t?\n", "not a tab-separated file"),
        (b"\xff\xfe\x00", "not a tab-separated file"),
        (b"\n", "no column 'index'"),
        (b'{"a": 1}', "no column 'index'"),
    ],
)
def test_a_file_that_is_no_sheet(path: Path, content: bytes, says: str) -> None:
    """A file that is something else is refused whole."""
    path.write_bytes(content)

    assert says in wrong(path)


def test_no_file(path: Path) -> None:
    """A file that cannot be read is named."""
    assert f"{path}: cannot be read: No such file" in wrong(path)
    path.mkdir()
    assert f"{path}: cannot be read: Is a directory" in wrong(path)


def test_a_sheet_without_rows(path: Path) -> None:
    """A header alone has no rows."""
    assert rows(write(path)) == []


PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=20)
"""Without carriage returns, which Python's writer leaves unquoted."""
LONG = st.binary(min_size=49, max_size=120).map(lambda content: (encoded(content), [content]))
"""At least 65 letters of base64."""
LISTED = st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=4).map(
    lambda contents: (str([encoded(content) for content in contents]), contents)
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(PLAIN, st.one_of(LONG, LISTED)), max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_any_sheet_comes_back(written: list[tuple[str, tuple[str, list[bytes]]]], lines: str) -> None:
    """Whatever texts and images are written, they are read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.tsv"
        write(path, *((str(n), cell, text) for n, (text, (cell, _)) in enumerate(written)), lines=lines)

        found = rows(path)

        assert [row.index for row in found] == [str(n) for n in range(len(written))]
        assert [row.cells["question"] for row in found] == [text for text, _ in written]
        assert [pictures(row) for row in found] == [contents for _, (_, contents) in written]


@pytest.mark.skipif(sys.platform == "win32", reason="memory is measured as Unix has it")
def test_a_large_sheet(path: Path) -> None:
    """50 MB are read in a few seconds, and not kept."""
    picture = os.urandom(37_500)
    cell = encoded(picture)
    write(path, *((str(n), f"['{cell}', '{cell}']" if n % 2 else cell, "What is it?") for n in range(700)))
    assert path.stat().st_size > 50_000_000
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()

    found = rows(path)

    took = time.perf_counter() - begun
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert sum(len(row.images) for row in found) == 1050
    assert pictures(found[-1]) == [picture, picture]
    assert took < 10
    assert grown < 100_000  # KiB; the mapped file itself counts, and the system may drop it
