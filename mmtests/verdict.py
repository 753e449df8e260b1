"""Reading a judge's reply: strictly first, then leniently, and never by guessing or by evaluating it as code."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from mmtests.score import Mode, Scale

_FENCE = re.compile(r"^```[A-Za-z]*\s*\n?(.*?)\n?```$", re.DOTALL)
_LONGEST = 20_000
"""Characters of a reply within which an object is looked for: a longer one is a runaway, not a verdict."""
_BRACES = 64
"""How many opening and closing braces are tried, so that a reply full of them costs little."""


class Unreadable(Exception):
    """The reply holds no verdict. The text says what is wrong, in words that a judge can act on."""


class Reading(Struct, frozen=True):
    """What was read from one reply of a judge."""

    value: float
    rationale: str
    read: Literal["strict", "lenient"]
    by_mode: Mapping[Mode, float | None] = field(default_factory=dict)


def read_score(text: str, scale: Scale, key: str = "Score", rationale_key: str = "Rationale") -> Reading:
    """Read a JSON object with a number on ``scale`` under ``key``.

    Accepted beyond the bare object: a code fence, text around it, single quotes, a trailing comma, raw line breaks in
    strings, keys in another case, and the number as a string.

    Raises:
        Unreadable: no such object, two objects that disagree, no number, or a number outside the scale.
    """
    found, how = _objects(text)
    keyed = [(_look_up(thing, key), thing) for thing in found]
    numbers = [(_number(value), thing) for value, thing in keyed if value is not None]
    if not found:
        raise Unreadable("it holds no JSON object")
    if not numbers:
        raise Unreadable(f"the JSON object has no {key!r}")
    values = {value for value, _ in numbers}
    if len(values) > 1:
        raise Unreadable(f"it holds several JSON objects with different values of {key!r}")
    value, thing = numbers[-1]
    if value is None:
        raise Unreadable(f"{key!r} is not a number: {_look_up(thing, key)!r}")
    if value not in scale:
        raise Unreadable(f"{key!r} is {value:g}, outside the scale {scale}")
    return Reading(value, str(_look_up(thing, rationale_key) or ""), how)


def _objects(text: str) -> tuple[list[dict[str, Any]], Literal["strict", "lenient"]]:
    stripped = text.strip()
    try:
        if isinstance(whole := json.loads(stripped), dict):
            return [whole], "strict"
    except ValueError:
        pass
    if fenced := _FENCE.match(stripped):
        stripped = fenced[1].strip()
    return list(_embedded(stripped[:_LONGEST])), "lenient"


def _embedded(text: str) -> Iterator[dict[str, Any]]:
    """The outermost objects in the text, left to right."""
    decoder = json.JSONDecoder(strict=False)
    position, tried = 0, 0
    while tried < _BRACES and (start := text.find("{", position)) >= 0:
        tried += 1
        position = start + 1
        try:
            thing, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            thing, end = _python_literal(text, start)
        if isinstance(thing, dict):
            yield thing
            position = end


def _python_literal(text: str, start: int) -> tuple[Any, int]:
    """A literal that is not JSON, such as ``{'Score': 7,}``: parsed as a literal, never run."""
    ends = [match.end() for match in re.finditer("}", text[start:])][:_BRACES]
    for end in ends:
        try:
            return ast.literal_eval(text[start : start + end]), start + end
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
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
