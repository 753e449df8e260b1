"""The intermediate-step score (paper section 4): a verdict on each step of a reply, and their mean."""

from __future__ import annotations

import ast
import json
import warnings
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal

from mmtests.verdict import Reading, Unreadable

WORTH = {"correct": 1.0, "unverifiable": 0.5, "incorrect": 0.0}
"""What a step with each label counts.

The paper lists the labels as "correct, unverifiable, and incorrect" and their values as "0, 0.5, and 1, respectively". That
order is reversed by mistake: read literally, the best models of its Table 3 would have the lowest step scores, and wrong steps
would be worth most.
"""


def step_score(labels: Sequence[str]) -> float | None:
    """S_inter: the mean worth of a reply's steps, 0 to 1. None for no steps, of which the paper's mean is undefined.

    Raises:
        KeyError: an unknown label.
    """
    return fmean(WORTH[label] for label in labels) if labels else None


def shares(labels: Sequence[str]) -> dict[str, float]:
    """How much of the steps has each label, 0 to 1."""
    counts = Counter(labels)
    return {label: counts[label] / len(labels) for label in WORTH}


def read_steps(text: str) -> Reading:
    """Read ``{"Steps": [{"Step": "...", "Label": "correct"}, ...]}``.

    Accepted beyond the bare object: text or a code fence around it, single quotes, raw line breaks in strings, a trailing
    comma, keys and labels in another case.

    Raises:
        Unreadable: no such object, no steps, or a label that is none of the three.
    """
    thing, how = _object(text)
    steps = _look_up(thing, "Steps")
    if not isinstance(steps, list):
        raise Unreadable("the JSON object has no list 'Steps'")
    labels = [_label(number, step) for number, step in enumerate(steps, 1)]
    value = step_score(labels)
    if value is None:
        raise Unreadable("'Steps' is empty, and the score of no steps is undefined")
    rationale = "; ".join(
        f"{label}: {_look_up(step, 'Step') or '?'}" for step, label in zip(steps, labels, strict=True)
    )
    return Reading(value, rationale, how, dimensions=shares(labels))


def _label(number: int, step: Any) -> str:
    written = _look_up(step, "Label")
    label = written.strip().casefold() if isinstance(written, str) else written
    if label not in tuple(WORTH):
        raise Unreadable(f"the 'Label' of step {number} is {written!r}, none of {', '.join(WORTH)}")
    return str(label)


def _look_up(thing: Any, key: str) -> Any:
    if not isinstance(thing, dict):
        return None
    return next((value for name, value in thing.items() if str(name).casefold() == key.casefold()), None)


def _object(text: str) -> tuple[Any, Literal["strict", "lenient"]]:
    """The one object in the text."""
    try:
        return json.loads(text, object_pairs_hook=_unique), "strict"
    except (ValueError, RecursionError):
        pass
    inner = text[text.find("{") : text.rfind("}") + 1]
    try:
        return json.loads(inner, strict=False, object_pairs_hook=_unique), "lenient"
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd backslash in the judge's text is no concern of the user's
            return ast.literal_eval(inner), "lenient"  # parsed, never run
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        raise Unreadable("it holds no JSON object, or several") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    thing = {name.casefold(): value for name, value in pairs}
    if len(thing) < len(pairs):
        raise Unreadable("a key stands twice in the JSON object")
    return thing
