"""Judge prompt templates: text files with named places."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from mmtests.dialogue import Message
from mmtests.errors import UserError
from mmtests.score import Scale
from mmtests.verdict import Reading


class Rubric(Struct, frozen=True):
    """A judge prompt template."""

    name: str
    template: str
    source: str
    """The file it was read from, or ``mmtests`` for our own."""

    @property
    def digest(self) -> str:
        """SHA-256 of the template, in hexadecimal."""
        return hashlib.sha256(self.template.encode()).hexdigest()

    def fill(self, **values: str) -> str:
        """The prompt. Only the named places are replaced, all in one pass, so that no inserted text is expanded."""
        names = re.compile("|".join(re.escape("{" + name + "}") for name in values))
        return names.sub(lambda place: values[place[0][1:-1]], self.template)


class JudgeRequest(Struct, frozen=True):
    """What to ask a judge about one reply, and how to read the answer."""

    rubric: str
    prompt: tuple[Message, ...]
    scale: Scale
    read: Callable[[str], Reading]
    """Raises ``Unreadable``."""
    max_new_tokens: int = 1024
    temperatures: tuple[float, ...] = ()
    """Of the attempts, one after another with the same prompt, where the official script retries so. Empty: each attempt
    at 0, and after an unreadable reply the judge is told what was wrong with it."""


def load_rubric(name: str, own: Path, places: tuple[str, ...], override: Path | None, official: str) -> Rubric:
    """Our own rubric, or the benchmark's official one where a folder of those is given.

    Args:
        name: the rubric's name, also the stem of our own file.
        own: the folder of our own rubrics.
        places: the places that the template must have.
        override: the folder of official prompt files, or None.
        official: the official file's name.

    Raises:
        UserError: the folder lacks the file, or the file lacks a place.
    """
    path = own / f"{name}.md" if override is None else override / official
    try:
        template = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"rubric {name!r} cannot be read from {path}: {error}. --rubrics takes the folder that holds "
            f"the benchmark's own prompt files, {official!r} among them."
        ) from error
    if missing := [place for place in places if "{" + place + "}" not in template]:
        raise UserError(f"{path}: the rubric has no place {{{missing[0]}}}. It needs {_listed(places)}.")
    return Rubric(name, template, "mmtests" if override is None else str(path))


def digests(rubrics: Mapping[str, Rubric]) -> dict[str, str]:
    """Name to SHA-256, for a run's fingerprint."""
    return {name: rubric.digest for name, rubric in sorted(rubrics.items())}


def _listed(places: tuple[str, ...]) -> str:
    return ", ".join("{" + place + "}" for place in places)
