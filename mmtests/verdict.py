"""Reading a judge's reply: strictly first, then leniently, and never by guessing or by evaluating it as code."""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from mmtests.score import Mode, Scale

_FENCE = re.compile(r"^```[A-Za-z]*\s*\n?(.*?)\n?```$", re.DOTALL)
_DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_LONGEST = 20_000
"""Characters of a reply within which an object is looked for: a longer one is a runaway, not a verdict."""
_TRIES = 64
"""How many starts, and how many literals, are tried, so that a reply full of braces costs little."""


class Unreadable(Exception):
    """The reply holds no verdict. The text says what is wrong, in words that a judge can act on."""


class Reading(Struct, frozen=True):
    """What was read from one reply of a judge."""

    value: float
    rationale: str
    read: Literal["strict", "lenient"]
    by_mode: Mapping[Mode, float | None] = field(default_factory=dict)
    dimensions: Mapping[str, float] = field(default_factory=dict)
    """Further numbers of the verdict, by name."""


def read_score(text: str, scale: Scale, key: str = "Score", rationale_key: str = "Rationale") -> Reading:
    """Read a JSON object with a number on ``scale`` under ``key``.

    Accepted beyond the bare object: a code fence, text around it, single quotes, a trailing comma, raw line breaks in
    strings, keys in another case, and the number as a string.

    Raises:
        Unreadable: no such object, several candidates for the score, no number, or a number outside the scale.
    """
    return read_object(text, scale, key, rationale_key)[0]


def read_object(
    text: str, scale: Scale, key: str = "Score", rationale_key: str = "Rationale"
) -> tuple[Reading, Mapping[str, Any]]:
    """As ``read_score``, and with it the whole object that the number was in, its names in lower case."""
    whole = _bare_object(text)
    found, rest = ([whole], "") if whole is not None else _embedded(_without_fence(text)[:_LONGEST])
    keyed = [(value, thing) for thing in found if (value := _look_up(thing, key)) is not None]
    if not found:
        raise Unreadable("it holds no JSON object")
    if not keyed:
        raise Unreadable(f"the JSON object has no {key!r}")
    if re.search(rf"[\"']{re.escape(key)}[\"']\s*:", rest, re.IGNORECASE):
        # What was found may be a quotation, say of the reply that is judged, within a broken verdict.
        raise Unreadable(f"it names {key!r} outside the JSON object, too")
    if len({_number(value) for value, _ in keyed}) > 1:
        raise Unreadable(f"it holds several JSON objects with different values of {key!r}")
    value, thing = keyed[-1]
    number = _number(value)
    if number is None:
        raise Unreadable(f"{key!r} is not a number: {value!r}")
    if number not in scale:
        raise Unreadable(f"{key!r} is {number:g}, outside the scale {scale}")
    how: Literal["strict", "lenient"] = "lenient" if whole is None else "strict"
    reading = Reading(number, str(_look_up(thing, rationale_key) or ""), how)
    return reading, {str(name).casefold(): content for name, content in thing.items()}


def _bare_object(text: str) -> dict[str, Any] | None:
    try:
        whole = json.loads(text.strip(), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return whole if isinstance(whole, dict) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    thing = dict(pairs)
    if len(thing) < len(pairs):
        raise ValueError("a key stands twice")
    return thing


def _without_fence(text: str) -> str:
    fenced = _FENCE.match(text.strip())
    return fenced[1].strip() if fenced else text.strip()


def _embedded(text: str) -> tuple[list[dict[str, Any]], str]:
    """The outermost objects in the text, left to right, and the text around them."""
    found, rest, after = [], [], 0
    for thing, start, end in _outermost(text):
        found.append(thing)
        rest.append(text[after:start])
        after = end
    return found, "\n".join([*rest, text[after:]])


def _outermost(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_unique)
    literals = _Literals(text)
    position, starts = 0, 0
    while starts < _TRIES and (start := text.find("{", position)) >= 0:
        starts += 1
        position = start + 1
        try:
            thing, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            thing, end = literals.at(start)
        if isinstance(thing, dict):
            yield thing, start, end
            position = end


class _Literals:
    """Literals that are not JSON, such as ``{'Score': 7,}``: parsed as literals, never run, and only so many."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tries = _TRIES

    def at(self, start: int) -> tuple[Any, int]:
        """The literal that starts there, and where it ends."""
        end = start
        while self._tries and (end := self._text.find("}", end) + 1) > 0:
            self._tries -= 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # an odd backslash in the judge's text is no concern of the user's
                    return ast.literal_eval(self._text[start:end]), end
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                continue
        return None, start


def _look_up(thing: Mapping[Any, Any], key: str) -> Any:
    if key in thing:
        return thing[key]
    return next((value for name, value in thing.items() if str(name).casefold() == key.casefold()), None)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not _DECIMAL.fullmatch(value.strip()):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
