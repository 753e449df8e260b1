"""From the paths of a subset's annotation to its pictures, a hundred thousand of them."""

from __future__ import annotations

import os
from pathlib import Path

from mmtests.image import File, Folder


class Pictures:
    """A :class:`~mmtests.image.Folder` that looks at each folder below it once, and then at no path again."""

    def __init__(self, root: Path) -> None:
        self._folder = Folder(root)
        self._plain: dict[str, tuple[str, frozenset[str]]] = {}
        """Path of each folder that was found to be inside, and the names of its files that are no links."""

    def find(self, written: str) -> File | None:
        """The file, or None if there is none.

        Raises:
            ValueError: the path leads out of the folder. The text says where.
        """
        head, _, name = written.rpartition("/")
        path, names = self._plain.get(head, ("", frozenset()))
        if name in names:
            return File(path + name)
        found = self._folder.find(written)
        if found is not None and not path:
            path = found.path[: -len(name)]
            with os.scandir(path) as entries:
                plain = frozenset(one.name for one in entries if not one.is_symlink() and "\\" not in one.name)
            self._plain[head] = path, plain
        return found
