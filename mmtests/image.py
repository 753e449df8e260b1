"""Pictures of a dialogue: where each is, its bytes when they are needed, and its content hash.

Nothing here keeps a picture. A run may have a hundred thousand of them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import lzma
import math
import os
import struct
import zipfile
import zlib
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MOST_PIXELS = 100_000_000
"""Width times height from which a picture is taken for a mistake: 100 megapixels are 300 MB once decoded."""
MOST_BYTES = 256 << 20
"""Size from which a picture's file is taken for a mistake."""
_SIDE = 800
"""Pixels that each picture of a grid is made wide and high (MileBench's combined set)."""


class File(Struct, frozen=True, tag="file", gc=False):
    """A file on disk."""

    path: str


class Member(Struct, frozen=True, tag="member", gc=False):
    """A file within a zip archive. It is read from there; nothing is unpacked."""

    archive: str
    name: str


class Span(Struct, frozen=True, tag="span", gc=False):
    """Base64 text within a file, such as a cell of a TSV, by its place in bytes."""

    path: str
    offset: int
    length: int


class Inline(Struct, frozen=True, tag="inline", gc=False):
    """Base64 text, of a data URL."""

    base64: str


class Resized(Struct, frozen=True, tag="resized"):
    """A picture made smaller, so that its longer side has at most ``longest`` pixels."""

    source: Source
    longest: int


class Grid(Struct, frozen=True, tag="grid"):
    """Several pictures in one, each captioned with its number (MileBench, paper section 4.3, ``combine_images.py``)."""

    sources: tuple[Source, ...]


Source = File | Member | Span | Inline | Resized | Grid
"""Where a picture's bytes come from."""


class Image(Struct, frozen=True, tag="image", gc=False):
    """A picture within a message."""

    source: Source
    place: str
    """Where the data names it, for error messages: ``benchmark.json: record 7 (field image[2])``."""

    def __repr__(self) -> str:
        return f"Image({self.place!r})"


class BadImage(Exception):
    """A picture that cannot be used. The text names file, record, field and mend."""


def digest(image: Image) -> str:
    """SHA-256 of the picture's bytes, in hexadecimal: what caches and records know it by.

    Raises:
        BadImage: it cannot be read.
    """
    try:
        return _digest(image.source)
    except _Fault as fault:
        raise fault.at(image) from None


def read(image: Image) -> bytes:
    """The picture's bytes, encoded as they are found.

    Raises:
        BadImage: they cannot be read.
    """
    try:
        return _bytes(image.source)
    except _Fault as fault:
        raise fault.at(image) from None


def picture(image: Image) -> Picture:
    """The picture decoded, in RGB, turned as its EXIF data say.

    Raises:
        BadImage: it cannot be read, is no picture, is cut off, or is of an absurd size.
    """
    try:
        return _picture(image.source)
    except _Fault as fault:
        raise fault.at(image) from None


def check(image: Image) -> None:
    """See that a picture is there, is one, and has a sane size; reads no more than its head.

    Raises:
        BadImage: it is not.
    """
    try:
        _check(image.source)
    except _Fault as fault:
        raise fault.at(image) from None


_WEB = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png", b"GIF8": "image/gif"}


def data_url(image: Image) -> str:
    """The picture as a data URL: its own bytes in the formats that endpoints take (JPEG, PNG, GIF, WebP), else as PNG.

    Raises:
        BadImage: it cannot be read or converted, is no picture, is cut off, or is of an absurd size.
    """
    content = read(image)
    kind = next((kind for start, kind in _WEB.items() if content.startswith(start)), None)
    if kind is None and content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        kind = "image/webp"
    if kind is None:
        content, kind = _png(picture(image)), "image/png"
    elif not isinstance(image.source, Resized | Grid):  # those have been decoded to be made
        try:
            _decodes(image.source)
        except _Fault as fault:
            raise fault.at(image) from None
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


class _Fault(Exception):
    """What is wrong with a source, and how to mend it."""

    def __init__(self, problem: str, mend: str) -> None:
        super().__init__(problem)
        self.problem, self.mend = problem, mend

    def at(self, image: Image) -> BadImage:
        return BadImage(f"{image.place}: {self.problem}. {self.mend}")


@cache
def _digest(source: Source) -> str:
    return hashlib.sha256(_bytes(source)).hexdigest()


def _bytes(source: Source) -> bytes:
    match source:
        case File(path):
            try:
                with open(path, "rb") as file:
                    content = file.read(MOST_BYTES + 1)
            except OSError as error:
                raise _unreadable(path, error) from error
            return _sane(content, path)
        case Member(archive, name):
            return _member(archive, name)
        case Span(path, offset, length):
            try:
                with open(path, "rb") as file:
                    file.seek(offset)
                    text = file.read(length)
            except OSError as error:
                raise _unreadable(path, error) from error
            return _decoded(text)
        case Inline(text):
            return _decoded(text.encode())
        case _:
            return _png(_picture(source))


def _unreadable(path: str, error: OSError) -> _Fault:
    return _Fault(f"the picture {path} cannot be read: {error.strerror or error}", "Is the download complete?")


def _sane(content: bytes, name: str) -> bytes:
    if not content:
        raise _Fault(f"the picture {name} is empty", "Download it again.")
    if len(content) > MOST_BYTES:
        raise _Fault(f"the picture {name} has over {MOST_BYTES >> 20} MiB", "Replace it by a picture.")
    return content


@lru_cache(maxsize=8)
def _archive(path: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)


def _member(archive: str, name: str) -> bytes:
    try:
        with _archive(archive).open(name) as file:
            return _sane(file.read(MOST_BYTES + 1), f"{name} in {archive}")
    except KeyError:
        raise _Fault(f"{archive} has no {name}", "Is the download complete?") from None
    except (
        OSError, zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error,
        lzma.LZMAError,
    ) as error:  # fmt: skip
        raise _Fault(f"{name} in {archive} cannot be read: {error}", "Is the download complete?") from error


def _decoded(text: bytes) -> bytes:
    try:
        return _sane(base64.b64decode(b"".join(text.split()), validate=True), "in base64")
    except binascii.Error as error:
        raise _Fault(f"the base64 does not decode: {error}", "Write the picture's bytes in base64, whole.") from error


def _check(source: Source) -> None:
    match source:
        case Resized(inner, _):
            _check(inner)
        case Grid(sources):
            for one in sources:
                _check(one)
        case File(path):
            _look(path, source)
        case _:
            _look(io.BytesIO(_bytes(source)), source)


def _look(target: str | io.BytesIO, source: Source) -> None:
    """See by a picture's head that it is one, and of what size."""
    from PIL import Image as pillow

    with _pillow_faults(_name(source)), pillow.open(target) as opened:
        _sane_size(opened.size, source)


@cache
def _decodes(source: Source) -> None:
    """Read a picture to its end: an endpoint might answer to a part of one. Once, however often it is sent."""
    from PIL import Image as pillow
    from PIL import ImageSequence

    with _pillow_faults(_name(source)), pillow.open(io.BytesIO(_bytes(source))) as opened:
        _sane_size(opened.size, source)
        opened.draft("RGB", (1, 1))  # a JPEG at an eighth of its size, for a fraction of the time
        for frame in ImageSequence.Iterator(opened):
            frame.load()


def _picture(source: Source) -> Picture:
    from PIL import Image as pillow

    match source:
        case Resized(inner, longest):
            small = _picture(inner)
            small.thumbnail((longest, longest), pillow.Resampling.LANCZOS)
            return small
        case Grid(sources):
            return _grid([_picture(one) for one in sources])
        case _:
            with _pillow_faults(_name(source)), pillow.open(io.BytesIO(_bytes(source))) as opened:
                _sane_size(opened.size, source)
                opened.load()
                return _upright(opened).convert("RGB")


def _upright(opened: Picture) -> Picture:
    """As its EXIF data say that it is to be looked at; transformers and viewers do the same."""
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(opened)
    except Exception:  # noqa: BLE001 - broken EXIF data raise whatever they like, and the pixels are sound
        return opened


def _sane_size(size: tuple[int, int], source: Source) -> None:
    if math.prod(size) > MOST_PIXELS or not all(size):
        raise _Fault(
            f"the picture {_name(source)} has {size[0]} x {size[1]} pixels",
            f"At most {MOST_PIXELS:,} pixels are taken.",
        )


class _pillow_faults:
    """What Pillow raises for bytes that are no picture, as ours."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        if error is None or isinstance(error, _Fault) or not isinstance(error, Exception):
            return
        from PIL import Image as pillow
        from PIL import UnidentifiedImageError

        name = self._name
        if isinstance(error, UnidentifiedImageError):
            raise _Fault(f"the picture {name} is none that Pillow can read", "Replace it by a JPEG or PNG.") from None
        if isinstance(error, pillow.DecompressionBombError):
            raise _Fault(
                f"the picture {name} is of an absurd size", f"At most {MOST_PIXELS:,} pixels are taken."
            ) from None
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise _unreadable(name, error) from None
        raise _Fault(f"the picture {name} cannot be decoded: {error}", "Download it again.") from None


def _name(source: Source) -> str:
    match source:
        case File(path):
            return path
        case Member(archive, name):
            return f"{name} in {archive}"
        case Span(path, offset, _):
            return f"at byte {offset} of {path}"
        case _:
            return "in base64"


def _png(decoded: Picture) -> bytes:
    stream = io.BytesIO()
    decoded.save(stream, "PNG")
    return stream.getvalue()


def _grid(pictures: list[Picture]) -> Picture:
    """As many columns as the square root of their number, rounded up; row by row."""
    from PIL import Image as pillow
    from PIL import ImageDraw, ImageFont

    columns = math.ceil(math.sqrt(len(pictures)))
    rows = math.ceil(len(pictures) / columns)
    whole = pillow.new("RGB", (columns * _SIDE, rows * _SIDE), "white")
    draw = ImageDraw.Draw(whole)
    font = ImageFont.load_default(size=40)
    for number, one in enumerate(pictures, 1):
        left, top = (number - 1) % columns * _SIDE, (number - 1) // columns * _SIDE
        whole.paste(one.resize((_SIDE, _SIDE)), (left, top))
        caption = f"Image {number}"
        box = draw.textbbox((left + 10, top + 10), caption, font=font)
        draw.rectangle((box[0] - 6, box[1] - 6, box[2] + 6, box[3] + 6), fill="black")
        draw.text((left + 10, top + 10), caption, fill="white", font=font)
    return whole


class Folder:
    """A folder of pictures: from the path that a record gives to the file, without a look at the disk for each."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._listed: dict[Path, frozenset[str]] = {}

    def find(self, written: str) -> File | None:
        """The file, or None if there is none.

        Raises:
            ValueError: the path leads out of the folder. The text says where.
        """
        pure = Path(written)
        if "\0" in written:
            raise ValueError(f"the path {written!r} has a null character")
        if pure.is_absolute() or ".." in pure.parts or "\\" in written:
            raise ValueError(f"the path {written!r} leads out of the folder {self._root}")
        if not pure.parts:
            raise ValueError(f"the path {written!r} is the folder itself, not a file")
        path = self._root / pure
        parent = path.parent
        names = self._listed.get(parent)
        if names is None:
            names = self._listed[parent] = self._names(parent, written)
        if path.name not in names:
            return None
        return File(str(path))

    def _names(self, parent: Path, written: str) -> frozenset[str]:
        """Files of a folder, links included only if they lead to a file that is inside."""
        try:
            if not self._inside(parent):
                raise ValueError(f"the path {written!r} leads out of the folder {self._root}")
            with os.scandir(parent) as entries:  # which knows links and folders without a look at each
                return frozenset(
                    entry.name
                    for entry in entries
                    if (self._inside(entry) and os.path.isfile(entry) if entry.is_symlink() else not entry.is_dir())
                )
        except OSError:
            return frozenset()

    def _inside(self, path: str | os.PathLike[str]) -> bool:
        # Path.resolve would raise for a link that leads to itself.
        return Path(os.path.realpath(path)).is_relative_to(self._root)


class Archive:
    """The same for a zip archive."""

    def __init__(self, path: Path) -> None:
        """
        Raises:
            ValueError: not a zip archive, or one with members that would be written outside. The text says what.
        """
        self._path = path
        try:
            with zipfile.ZipFile(path) as opened:
                names = opened.namelist()
        except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError, struct.error) as error:
            raise ValueError(f"it cannot be read as a zip archive: {error}") from error
        for name in names:
            pure = Path(name)
            if pure.is_absolute() or ".." in pure.parts or "\\" in name:
                raise ValueError(f"its member {name!r} would be written outside of the folder it is unpacked into")
        self._names = frozenset(name for name in names if not name.endswith("/"))  # without the folders

    def find(self, written: str) -> Member | None:
        """The member, or None if there is none."""
        return Member(str(self._path), written) if written in self._names else None
