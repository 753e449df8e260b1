"""From what a record writes to a picture. None is opened here; that it exists is known from the folder's listing."""

from __future__ import annotations

import re
from pathlib import Path

from mmtests.image import File, Folder, Image, Inline, Source
from mmtests.mmrc.records import Place

OWN_FOLDER = "images"
"""The folder of pictures beside the data file."""

_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


class Pictures:
    """The pictures of a data folder."""

    def __init__(self, folder: Path, own: str | None) -> None:
        """
        Args:
            own: the name of the folder of pictures within ``folder``; None: ``images``.
        """
        self._folders = [Folder(one) for one in (folder / (own or OWN_FOLDER), folder) if one.is_dir()]
        self._names = f"{own or OWN_FOLDER}/ or the data folder"

    def find(self, written: str, place: Place, field: str) -> Image:
        """The picture.

        Raises:
            DataError: there is none, its path leads out of the folder, or it is elsewhere on the web.
        """
        return Image(self._source(written, place, field), f"{_told(place)} (field {field})")

    def _source(self, written: str, place: Place, field: str) -> Source:
        if opening := _DATA_URL.match(written):
            return Inline(written[opening.end() :])
        if _ADDRESS.match(written):
            raise place.error(
                f"the picture {written[:60]!r} is at an address",
                "Pictures must be files, or data URLs in base64.",
                field,
            )
        found: File | None = None
        try:
            found = next((file for folder in self._folders if (file := folder.find(written)) is not None), None)
        except ValueError as error:
            raise place.error(str(error), "Pictures must be inside of the data folder.", field) from None
        if found is None:
            raise place.error(f"there is no picture {written!r} in {self._names}", "Is the download complete?", field)
        return found


def _told(place: Place) -> str:
    at = f"{place.path}:{place.line}" if place.line else str(place.path)
    return f"{at}: record {place.record}"
