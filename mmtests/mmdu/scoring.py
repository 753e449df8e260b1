"""What the official scripts and VLMEvalKit make of a judge's reply, and of all of them."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Mapping

from msgspec import Struct

from mmtests.mmdu.tasks import JUDGED, KEYS, PERCENT

Values = Mapping[str, int | None]
"""By key of the verdict; None where there is no such number."""


class Means(Struct, frozen=True):
    """VLMEvalKit's two rows for one column, in percent."""

    all: float | None
    """Over all turns, those without a number as zeros. None where there is no turn."""
    valid: float | None
    """Over the turns with a number. None where there is none, on which VLMEvalKit divides by zero."""


def official_values(text: str) -> Values:
    """The seven numbers that VLMEvalKit finds in a judge's reply.

    It takes the text from the first ``{`` to the last ``}``, and of each value the whole number, clipped to the ends of the
    scale. It runs that text as Python, which is not done here: it is parsed as a literal. A reply that would have to be
    calculated (``3+5``, two objects joined by ``and``) therefore holds nothing.
    """
    thing = _literal(text[text.find("{") : text.rfind("}") + 1])
    return {key: _whole(thing.get(key)) if isinstance(thing, dict) else None for key in KEYS}


def _literal(text: str) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd backslash in the judge's text is no concern of the user's
            return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _whole(value: object) -> int | None:
    if not isinstance(value, int | float | str):
        return None
    try:
        return min(max(int(value), int(JUDGED.low)), int(JUDGED.high))
    except (ValueError, OverflowError):
        return None


def pooled(values: Iterable[float | None]) -> Means:
    """The means of one column over all turns of all dialogues, each turn weighing the same (paper appendix D.1)."""
    every = list(values)
    found = [value for value in every if value is not None]
    total = PERCENT * sum(found)
    return Means(total / len(every) if every else None, total / len(found) if found else None)


def vlmevalkit(dialogues: Iterable[Iterable[str]]) -> dict[str, Means]:
    """Its table, by key.

    Args:
        dialogues: for each, the judge's reply to each turn.
    """
    verdicts = [official_values(text) for dialogue in dialogues for text in dialogue]
    return {key: pooled(verdict[key] for verdict in verdicts) for key in KEYS}
