"""From the picture paths of MMDU's records to where the pictures are."""

from __future__ import annotations

from pathlib import Path

from mmtests.errors import DataError
from mmtests.image import Archive, File, Folder, Member

FOLDER = "mmdu_pics"
ARCHIVE = "mmdu_pics.zip"


class Pictures:
    """The folder ``mmdu_pics`` beside the records, or where there is none ``mmdu_pics.zip``. Nothing is unpacked."""

    def __init__(self, beside: Path) -> None:
        """
        Raises:
            DataError: neither is there, or the archive cannot be used.
        """
        folder, archive = beside.parent / FOLDER, beside.parent / ARCHIVE
        self._folder = Folder(folder) if folder.is_dir() else None
        self._archive: Archive | None = None
        self.searched = folder if self._folder else archive
        if self._folder:
            return
        if not archive.is_file():
            raise DataError(beside, f"its pictures are not there: neither {FOLDER}/ nor {ARCHIVE} is beside it",
                            f"Put the folder {FOLDER} or the archive {ARCHIVE} into {beside.parent}.")  # fmt: skip
        try:
            self._archive = Archive(archive)
        except ValueError as error:
            raise DataError(archive, str(error), "Download it again.") from error

    def find(self, written: str) -> File | Member | None:
        """The picture that a record writes as ``/mmdu_pics/NAME``, with or without the slash or the folder; or None.

        Raises:
            ValueError: the path leads out of the folder. The text says where.
        """
        name = written.removeprefix("/").removeprefix(f"{FOLDER}/")
        if self._folder:
            return self._folder.find(name)
        assert self._archive is not None
        return self._archive.find(f"{FOLDER}/{name}") or self._archive.find(name)
