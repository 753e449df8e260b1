"""A picture is what its file holds wherever it lies, never lies outside of its folder, and is named when it is none."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import math
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image as pillow

from mmtests.image import (
    Archive,
    BadImage,
    File,
    Folder,
    Grid,
    Image,
    Inline,
    Member,
    Resized,
    Source,
    Span,
    check,
    data_url,
    digest,
    picture,
    read,
)

PLACE = "data.json: record 7 (field image[2])"
RED, BLUE = (255, 0, 0), (0, 0, 255)
Colour = tuple[int, int, int]


def content(kind: str = "PNG", colour: Colour = RED, size: tuple[int, int] = (12, 9), mode: str = "RGB") -> bytes:
    """The bytes of a picture."""
    stream = io.BytesIO()
    pillow.new("RGB", size, colour).convert(mode).save(stream, kind)
    return stream.getvalue()


def noise(kind: str = "PNG", side: int = 64) -> bytes:
    """The bytes of a picture that does not compress."""
    stream = io.BytesIO()
    pillow.frombytes("RGB", (side, side), os.urandom(3 * side * side)).save(stream, kind)
    return stream.getvalue()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(source: Source) -> Image:
    return Image(source, PLACE)


def inline(data: bytes) -> Image:
    """A picture of these bytes."""
    return image(Inline(encoded(data)))


def everywhere(folder: Path, data: bytes, name: str = "a.png") -> list[Image]:
    """The same bytes in a file, an archive (stored and packed), a cell of a table and a data URL."""
    (folder / name).write_bytes(data)
    sources: list[Source] = [File(str(folder / name)), Inline(encoded(data))]
    for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = folder / f"{kind}.zip"
        with zipfile.ZipFile(path, "w", kind) as opened:
            opened.writestr(f"pics/{name}", data)
        sources.append(Member(str(path), f"pics/{name}"))
    cell = encoded(data)
    table = folder / "table.tsv"
    table.write_text(f"index\timage\nä\t['{cell}']\n", encoding="utf-8")
    sources.append(Span(str(table), len("index\timage\nä\t['".encode()), len(cell)))
    return list(map(image, sources))


# The same bytes wherever they lie


@given(data=st.binary(min_size=1, max_size=200))
@settings(max_examples=25, deadline=None)
def test_bytes_and_digest(data: bytes) -> None:
    """The bytes are those that were written, and the digest is theirs, whatever the source."""
    with tempfile.TemporaryDirectory() as folder:
        for one in everywhere(Path(folder), data):
            assert read(one) == data
            assert digest(one) == hashlib.sha256(data).hexdigest()


def test_digests_of_changed_pictures() -> None:
    """A picture made smaller, or several in one, are pictures of their own."""
    one, other = Inline(encoded(content())), Inline(encoded(content(colour=BLUE)))
    sources: list[Source] = [one, other, Resized(one, 4), Grid((one, other)), Grid((other, one))]

    assert len({digest(image(source)) for source in sources}) == len(sources)
    assert digest(image(Grid((one, other)))) == digest(Image(Grid((one, other)), "elsewhere"))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_pictures_of_each_kind(tmp_path: Path, kind: str) -> None:
    """Every common kind is decoded alike from every source."""
    for one in everywhere(tmp_path, content(kind)):
        check(one)
        decoded = picture(one)
        assert (decoded.mode, decoded.size) == ("RGB", (12, 9))
        assert all(abs(a - b) < 6 for a, b in zip(at(decoded, 6, 4), RED, strict=True))


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "1", "CMYK", "LA"])
def test_pictures_of_each_mode(mode: str) -> None:
    """Grey, indexed, transparent and four-colour pictures become RGB."""
    data = content("TIFF" if mode == "CMYK" else "PNG", mode=mode)

    assert picture(inline(data)).mode == "RGB"


def at(decoded: Any, x: int, y: int) -> Any:
    return decoded.getpixel((x, y))


def test_a_picture_is_known_by_its_place() -> None:
    """In tracebacks a picture shows where the data names it, and not its base64."""
    assert repr(inline(content())) == f"Image({PLACE!r})"


# Data URLs


@pytest.mark.parametrize(
    ("kind", "sent"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")],
)
def test_a_data_url_keeps_the_bytes(tmp_path: Path, kind: str, sent: str) -> None:
    """What endpoints take is sent byte for byte, by what it is and not by what its name says."""
    data = content(kind)

    for one in everywhere(tmp_path, data, "wrong-name.bin"):
        assert data_url(one) == f"data:{sent};base64,{encoded(data)}"


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "PPM"])
def test_a_data_url_of_another_kind(kind: str) -> None:
    """What endpoints do not take is sent as PNG, pixel for pixel."""
    data = content(kind, colour=BLUE)

    head, _, body = data_url(inline(data)).partition(",")

    assert head == "data:image/png;base64"
    with pillow.open(io.BytesIO(base64.b64decode(body))) as sent, pillow.open(io.BytesIO(data)) as original:
        assert sent.convert("RGB").tobytes() == original.convert("RGB").tobytes()


def test_a_data_url_of_no_picture() -> None:
    """Text is not sent as if it were a picture."""
    with pytest.raises(BadImage, match=rf"^{PLACE_PATTERN}: .* is none that Pillow can read"):
        data_url(inline(b"just text"))


# Smaller


@given(width=st.integers(1, 60), height=st.integers(1, 60), longest=st.integers(1, 80))
@settings(max_examples=60, deadline=None)
def test_resize(width: int, height: int, longest: int) -> None:
    """The longer side becomes what was asked for, in proportion, and never more than it was."""
    small = picture(image(Resized(Inline(encoded(content(size=(width, height)))), longest)))

    assert max(small.size) == min(longest, max(width, height))
    scale = min(1, longest / max(width, height))
    assert small.width == pytest.approx(max(1, width * scale), abs=1)
    assert small.height == pytest.approx(max(1, height * scale), abs=1)


def test_resize_keeps_what_is_small_enough() -> None:
    """A picture that is small enough keeps its pixels."""
    data = noise(side=16)
    with pillow.open(io.BytesIO(data)) as original:
        for longest in (16, 17, 1000):
            assert picture(image(Resized(Inline(encoded(data)), longest))).tobytes() == original.tobytes()


def test_a_resized_picture_is_sent_as_png() -> None:
    """Its bytes are a PNG of the smaller size."""
    data = read(image(Resized(Inline(encoded(content("JPEG", size=(40, 20)))), 10)))

    with pillow.open(io.BytesIO(data)) as opened:
        assert (opened.format, opened.size) == ("PNG", (10, 5))


# Several in one


@pytest.mark.parametrize(
    ("count", "columns", "rows"), [(1, 1, 1), (2, 2, 1), (3, 2, 2), (4, 2, 2), (5, 3, 2), (9, 3, 3), (10, 4, 3)]
)
def test_grid(count: int, columns: int, rows: int) -> None:
    """Cells of 800 pixels, as many columns as the root of the number rounded up, filled row by row; the rest is white."""
    colours = [(20 * n + 20, 250 - 20 * n, 40) for n in range(count)]
    grid = Grid(tuple(Inline(encoded(content(colour=colour, size=(30, 7)))) for colour in colours))

    whole = picture(image(grid))

    assert whole.size == (800 * columns, 800 * rows)
    assert columns == math.ceil(math.sqrt(count))
    for cell in range(columns * rows):
        left, top = cell % columns * 800, cell // columns * 800
        expected = colours[cell] if cell < count else (255, 255, 255)
        for x, y in ((400, 400), (799, 799), (799, 0), (0, 799)):
            assert at(whole, left + x, top + y) == expected, cell


def colours(decoded: Any) -> set[Colour]:
    """Those that a picture has."""
    return {colour for _, colour in decoded.getcolors(1 << 20)}


def test_captions() -> None:
    """Each cell has a caption of white on black in its upper left corner, and nowhere else."""
    whole = picture(image(Grid((Inline(encoded(content(colour=RED))), Inline(encoded(content(colour=RED)))))))

    for left in (0, 800):
        corner = colours(whole.crop((left, 0, left + 260, 80)))
        assert {(0, 0, 0), (255, 255, 255), RED} <= corner
        assert colours(whole.crop((left, 80, left + 800, 800))) == {RED}
    assert whole.crop((0, 0, 260, 80)).tobytes() != whole.crop((800, 0, 1060, 80)).tobytes()


def test_a_grid_names_what_is_wrong_in_it() -> None:
    """One bad picture spoils the grid, which is then known by its place."""
    grid = image(Grid((Inline(encoded(content())), Inline(encoded(b"no picture")))))

    for use in (check, read, picture, data_url, digest):
        with pytest.raises(BadImage, match=PLACE_PATTERN):
            use(grid)


# Pictures that are none

PLACE_PATTERN = r"data\.json: record 7 \(field image\[2\]\)"
USES: list[Callable[[Image], object]] = [check, picture]


def absurd(width: int = 60_000, height: int = 60_000) -> bytes:
    """A PNG that says it is of this size, and holds next to nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")


def refused(one: Image, *uses: Callable[[Image], object]) -> set[str]:
    """What is said of a picture that cannot be used."""
    said = set()
    for use in uses or USES:
        with pytest.raises(BadImage) as caught:
            use(one)
        said.add(str(caught.value))
    assert all(text.startswith(f"{PLACE}: ") for text in said)
    return said


@pytest.mark.parametrize("data", [b"This is a text.\n", b"<svg/>", b"<html>Not found</html>", b"\x89PN", b"\xff\xd8"])
def test_what_is_no_picture(tmp_path: Path, data: bytes) -> None:
    """A text renamed to .png is no picture, wherever it lies."""
    for one in everywhere(tmp_path, data):
        for said in refused(one):
            assert "is none that Pillow can read" in said
            assert "Replace it by a JPEG or PNG." in said


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("size", [(60_000, 60_000), (10_001, 10_000), (1, 200_000_001)])
def test_an_absurd_size(tmp_path: Path, size: tuple[int, int]) -> None:
    """A picture that says it has more than 100 megapixels is refused by its head, and not decoded."""
    for one in everywhere(tmp_path, absurd(*size)):
        for said in refused(one):
            assert "absurd size" in said or "pixels. At most 100,000,000 pixels are taken." in said


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_truncated_picture(tmp_path: Path, kind: str, share: float) -> None:
    """Half a picture is refused when it is decoded; its head alone cannot tell."""
    data = noise(kind)
    for one in everywhere(tmp_path, data[: int(len(data) * share)]):
        for said in refused(one, picture):
            assert "cannot be decoded" in said or "is no picture" in said


def test_an_empty_picture(tmp_path: Path) -> None:
    """Zero bytes are no picture."""
    path = tmp_path / "a.png"
    path.touch()
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as opened:
        opened.writestr("a.png", b"")

    assert refused(image(File(str(path))), read, picture, data_url, digest) == {
        f"{PLACE}: the picture {path} is empty. Download it again."
    }
    refused(image(File(str(path))), check)
    assert "is empty" in refused(image(Member(str(tmp_path / "a.zip"), "a.png")), *USES, read).pop()
    assert "is empty" in refused(image(Inline("")), *USES, read).pop()


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (File("/nowhere/a.png"), "cannot be read: No such file or directory"),
        (Span("/nowhere/a.tsv", 0, 4), "cannot be read: No such file or directory"),
        (Member("/nowhere/a.zip", "a.png"), "cannot be read: .*No such file or directory"),
        (File("/"), "cannot be read: Is a directory"),
        (Inline("A"), "the base64 does not decode"),
        (Inline("ab=c"), "the base64 does not decode"),
        (Inline("Bäume"), "the base64 does not decode"),
        (Inline("a_b-"), "the base64 does not decode"),
    ],
)
def test_a_source_that_cannot_be_read(source: Source, problem: str) -> None:
    """A picture that is not there, or is no base64, is named with what to do."""
    for use in (check, read, picture, data_url, digest):
        with pytest.raises(BadImage, match=rf"^{PLACE_PATTERN}: .*{problem}.*\. .*[.?]$"):
            use(image(source))


def test_a_member_that_is_not_there(tmp_path: Path) -> None:
    """An archive that lacks the picture is named, and one that is none."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as opened:
        opened.writestr("a.png", content())
    (tmp_path / "b.zip").write_bytes(b"no archive")

    assert "has no b.png" in refused(image(Member(str(tmp_path / "a.zip"), "b.png"))).pop()
    assert "File is not a zip file" in refused(image(Member(str(tmp_path / "b.zip"), "b.png"))).pop()


def test_line_breaks_in_base64() -> None:
    """Base64 in lines is read."""
    data = content()

    assert read(image(Inline("\n ".join(encoded(data)[n : n + 20] for n in range(0, 999, 20))))) == data


@given(st.integers(0, 5_000), st.integers(1, 255))
@settings(max_examples=150, deadline=None)
@example(52, 255)
def test_a_broken_archive(position: int, change: int) -> None:
    """An archive in which a byte is wrong gives the picture, or one of the two errors that are foreseen."""
    stream = io.BytesIO()
    data = content() + b"abc" * 300
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("pics/a.png", data)
        opened.writestr("pics/b.png", data, zipfile.ZIP_LZMA)
        opened.writestr("pics/c.png", data, zipfile.ZIP_BZIP2)
    broken = bytearray(stream.getvalue())
    broken[position % len(broken)] ^= change
    with tempfile.NamedTemporaryFile(suffix=".zip") as file:
        file.write(broken)
        file.flush()
        with contextlib.suppress(ValueError):
            archive = Archive(Path(file.name))
            for name in ("pics/a.png", "pics/b.png", "pics/c.png"):
                if found := archive.find(name):
                    with contextlib.suppress(BadImage):
                        assert read(image(found)) == data


# Folders

NAMES = st.sampled_from(
    ["a.png", "sub", "b.png", "..", ".", "", "out", "loop", "dead", "secret", "inner", "~", "a\\b", "\0"]
)


def built(folder: Path) -> Path:
    """A folder with pictures, links that stay inside and links that do not, and beside it a secret."""
    root = folder / "pics"
    (root / "sub").mkdir(parents=True)
    (root / "a.png").write_bytes(b"a")
    (root / "sub" / "b.png").write_bytes(b"b")
    (folder / "secret").write_bytes(b"secret")
    (root / "out").symlink_to(folder)
    (root / "sub" / "secret").symlink_to(folder / "secret")
    (root / "inner").symlink_to(root / "sub")
    (root / "sub" / "a.png").symlink_to(root / "a.png")
    (root / "loop").symlink_to(root / "loop")
    (root / "dead").symlink_to(root / "nowhere")
    return root


@given(parts=st.lists(NAMES, max_size=6), absolute=st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_folder_is_never_left(parts: list[str], absolute: bool) -> None:
    """Whatever a record writes: a file that is inside, none, or an error."""
    with tempfile.TemporaryDirectory() as temporary:
        root = built(Path(temporary).resolve())
        written = ("/" if absolute else "") + "/".join(parts)
        try:
            found = Folder(root).find(written)
        except ValueError:
            return
        if found is not None:
            assert Path(found.path).resolve().is_relative_to(root)
            assert Path(found.path).is_file()
            assert Path(found.path).read_bytes() != b"secret"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("a.png", "a.png"), ("sub/b.png", "sub/b.png"), ("./a.png", "a.png"), ("sub//b.png", "sub/b.png"),
        ("inner/b.png", "inner/b.png"), ("sub/a.png", "sub/a.png"),
        ("c.png", None), ("sub/c.png", None), ("nowhere/a.png", None), ("a.png/b.png", None), ("sub", None),
        ("loop", None), ("loop/a.png", None), ("dead", None), ("dead/a.png", None), ("sub/secret", None), ("out", None),
        ("A.PNG", None), ("x" * 5000, None), ("x" * 5000 + "/a.png", None),
    ],
)  # fmt: skip
def test_find(tmp_path: Path, written: str, name: str | None) -> None:
    """Files inside are found, through links that stay inside, too; folders, dead links and links that lead out are not."""
    root = built(tmp_path)

    found = Folder(root).find(written)

    assert found == (None if name is None else File(str(root / name)))


@pytest.mark.parametrize(
    "written",
    [
        "/etc/passwd",
        "../secret",
        "sub/../../secret",
        "sub/..",
        "..",
        "out/secret",
        "..\\secret",
        "sub\\b.png",
    ],
)
def test_paths_that_lead_out(tmp_path: Path, written: str) -> None:
    """A path that leads out, or would on another system, is an error and not merely missing."""
    folder = Folder(built(tmp_path))

    for _ in range(2):  # what is known of a folder by then changes nothing
        with pytest.raises(ValueError, match="leads out of the folder"):
            folder.find(written)


@pytest.mark.parametrize(
    ("written", "says"), [("", "the folder itself"), (".", "the folder itself"), ("a\0.png", "null character")]
)
def test_paths_of_no_file(tmp_path: Path, written: str, says: str) -> None:
    """What can be no file's path is said to be that."""
    with pytest.raises(ValueError, match=says):
        Folder(built(tmp_path)).find(written)


def test_a_folder_that_is_a_link(tmp_path: Path) -> None:
    """The folder itself may be a link."""
    root = built(tmp_path)
    (tmp_path / "link").symlink_to(root)

    assert Folder(tmp_path / "link").find("a.png") == File(str(root / "a.png"))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """Nothing is in a folder that is not there, or that is a file."""
    (tmp_path / "file").touch()

    assert Folder(tmp_path / "nowhere").find("a.png") is None
    assert Folder(tmp_path / "file").find("a.png") is None


def test_one_look_for_each_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pictures a folder has, it is listed once."""
    listed: list[object] = []
    scandir = os.scandir

    def counting(path: Path) -> Any:
        listed.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counting)
    folder = Folder(built(tmp_path))

    for _ in range(3):
        for name in ("a.png", "b.png", "c.png", "sub/b.png"):
            folder.find(name)

    assert len(listed) == 2


# Archives


def packed(path: Path, *names: str) -> Path:
    """An archive with these members."""
    with zipfile.ZipFile(path, "w") as opened:
        for name in names:
            opened.writestr(name, content())
    return path


def test_members(tmp_path: Path) -> None:
    """A member is found by its exact name; a folder is none."""
    path = packed(tmp_path / "a.zip", "pics/", "pics/a.png")

    archive = Archive(path)

    assert archive.find("pics/a.png") == Member(str(path), "pics/a.png")
    assert read(image(Member(str(path), "pics/a.png"))) == content()
    for other in ("a.png", "pics/b.png", "pics/", "pics", "/pics/a.png", "pics/../pics/a.png", ""):
        assert archive.find(other) is None


@pytest.mark.parametrize("name", ["../a.png", "pics/../../a.png", "/a.png", "..\\a.png", "pics\\a.png", ".."])
def test_an_archive_that_would_write_outside(tmp_path: Path, name: str) -> None:
    """A member that leads out condemns the archive, whichever member is wanted."""
    path = packed(tmp_path / "a.zip", "pics/a.png", name)

    with pytest.raises(ValueError, match="would be written outside"):
        Archive(path)


@pytest.mark.parametrize("data", [b"", b"PK", b"no archive", b"PK\x05\x06" + b"\xff" * 18, None])
def test_what_is_no_archive(tmp_path: Path, data: bytes | None) -> None:
    """A file that is no archive, or is not there, is an error that says so."""
    path = tmp_path / "a.zip"
    if data is not None:
        path.write_bytes(data)

    with pytest.raises(ValueError, match="cannot be read as a zip archive"):
        Archive(path)


def test_half_an_archive(tmp_path: Path) -> None:
    """A download that stopped is an error."""
    path = packed(tmp_path / "a.zip", *(f"{n}.png" for n in range(50)))
    path.write_bytes(path.read_bytes()[:-300])

    with pytest.raises(ValueError, match="cannot be read as a zip archive"):
        Archive(path)


def animation(kind: str) -> bytes:
    """Three frames of noise."""
    frames = [pillow.frombytes("RGB", (32, 32), os.urandom(3 * 32 * 32)) for _ in range(3)]
    stream = io.BytesIO()
    frames[0].save(stream, kind, save_all=True, append_images=frames[1:])
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_an_animation_is_sent_whole(tmp_path: Path, kind: str) -> None:
    """As it is, if all its frames are there; cut within a later one it is as broken as any other picture."""
    whole = animation(kind)
    (tmp_path / "whole").write_bytes(whole)
    (tmp_path / "cut").write_bytes(whole[: len(whole) * 7 // 10])

    sent = data_url(image(File(str(tmp_path / "whole"))))
    assert base64.b64decode(sent.partition(",")[2]) == whole
    assert picture(image(File(str(tmp_path / "whole")))).size == (32, 32)

    with pytest.raises(BadImage, match=PLACE_PATTERN):
        data_url(image(File(str(tmp_path / "cut"))))


def test_a_picture_that_is_to_be_turned(tmp_path: Path) -> None:
    """Decoded it is as its EXIF data say, resized, too; sent as it is, it has them still."""
    path = tmp_path / "turned.jpg"
    lying = pillow.new("RGB", (64, 32), RED)
    exif = lying.getexif()
    exif[0x0112] = 6  # orientation: a quarter turn to the right
    lying.save(path, exif=exif)

    assert picture(image(File(str(path)))).size == (32, 64)
    assert picture(image(Resized(File(str(path)), 32))).size == (16, 32)
    assert base64.b64decode(data_url(image(File(str(path)))).partition(",")[2]) == path.read_bytes()


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_broken_exif_data_harm_nothing(tmp_path: Path) -> None:
    """The pixels are sound."""
    path = tmp_path / "odd.jpg"
    pillow.new("RGB", (64, 32), RED).save(path, exif=b"Exif\0\0MM\0*\0\0\xff\xff\xff\xff no such thing")

    assert picture(image(File(str(path)))).size == (64, 32)
