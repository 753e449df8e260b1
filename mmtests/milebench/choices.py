"""Which option did the reply choose? (Choice accuracy: all subsets but those of S-3, S-4 and the needles.)"""

from __future__ import annotations

import string
from collections.abc import Sequence

from mmtests.milebench.naming import named_option
from mmtests.milebench.normalise import normalise
from mmtests.score import Mode

_SPECIAL = frozenset("\\.^$*+?{}[]|()")


def key_of(index: int) -> str:
    """The letter of an option by its 0-based place: A to Z, then AA, AB, ..."""
    above, letter = divmod(index, 26)
    return (key_of(above - 1) if above else "") + string.ascii_uppercase[letter]


def place_of(gold: str, options: Sequence[str]) -> int | None:
    """The place of the first option that equals the gold answer after the official normalisation."""
    wanted = normalise(gold)
    return next((index for index, option in enumerate(options) if normalise(option) == wanted), None)


def chosen(reply: str, options: Sequence[str], mode: Mode) -> str:
    """What the reply chose.

    ``reference``: as the official script extracts it; not always the key of an option, and ``C`` for an empty reply.
    ``strict``: the key of an option, or nothing where the reply names none, or several.
    """
    if mode == "reference":
        return _extracted(normalise(reply), options)
    place = named_option(reply, options, [key_of(index) for index in range(len(options))])
    return "" if place is None else key_of(place)


def _extracted(reply: str, options: Sequence[str]) -> str:
    if not reply:
        return "C"
    # The script normalises the options when it reads them, and once more when it looks for them.
    once = {key_of(index): normalise(option) for index, option in enumerate(options)}
    with_keys = [normalise(f"{key} {option}") for key, option in once.items()]
    if found := _leftmost(with_keys, reply):
        return found[0].upper()
    bare = {key: normalise(option).replace(" ", "") for key, option in once.items()}
    found = _leftmost(list(bare.values()), reply.replace(" ", ""))
    # The script compares what it found with its own pattern, in which special characters are escaped.
    if found is not None and not _SPECIAL.intersection(found):
        for key, option in bare.items():
            if found.strip() == option:
                return key
    if len(reply) <= 2 and reply.upper() in once:
        return reply.upper()
    return "".join(letter.upper() for letter in reply if letter.upper() in once)


def _leftmost(needles: Sequence[str], haystack: str) -> str | None:
    """The needle that begins first; of several at one place, the first listed."""
    places = [(place, order) for order, needle in enumerate(needles) if (place := haystack.find(needle)) >= 0]
    return needles[min(places)[1]] if places else None
