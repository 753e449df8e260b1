"""The rule metrics, and what they say for themselves."""

from __future__ import annotations

from mmtests.dialogue import Item
from mmtests.milebench.answers import contains_answer, holds_needle
from mmtests.milebench.choices import chosen, key_of, place_of
from mmtests.milebench.normalise import normalise
from mmtests.milebench.rouge import likeness
from mmtests.milebench.tasks import SCALE
from mmtests.score import Mode, Score

_MODES: tuple[Mode, ...] = ("reference", "strict")
_SHOWN = 200
"""Characters of a text in an explanation."""


def score(item: Item, reply: str, mode: Mode) -> Score:
    """Score a reply by the metric of its subset, 0 to 1."""
    facts, gold = item.dialogue.facts, item.turn.reference or ""
    values: dict[Mode, float] = {}
    words: dict[Mode, str] = {}
    for one in _MODES:
        match facts["metric"]:
            case "choice":
                options = facts["choices"]
                picked = chosen(reply, options, one)
                values[one] = float(_is_gold(picked, options, gold, one))
                words[one] = f"expected {_expected(options, gold)}; extracted {picked or 'nothing'}"
            case "needle":
                values[one] = float(holds_needle(reply, gold, one))
                words[one] = f"expected the word {gold!r}; {_found(values[one])} in {_heard(reply, one)}"
            case "containment":
                values[one] = float(contains_answer(reply, gold, one))
                words[one] = f"expected the answer {gold!r}; {_found(values[one])} in {_heard(reply, one)}"
            case _:
                values[one] = likeness(reply, gold, one)
                words[one] = f"expected {_cut(gold)!r}; ROUGE-L f {values[one]:.3f} of {_heard(reply, one)}"
    by_mode: dict[Mode, float | None] = {**values}
    return Score(values[mode], SCALE, f"rule:{facts['metric']}", mode, by_mode, explanation=words[mode])


def _is_gold(picked: str, options: list[str], gold: str, mode: Mode) -> bool:
    place = place_of(gold, options)
    if place is None or mode == "reference":
        return place is not None and picked == key_of(place)
    # An option that stands twice is right under either key.
    return any(picked == key_of(at) and normalise(option) == normalise(gold) for at, option in enumerate(options))


def _expected(options: list[str], gold: str) -> str:
    place = place_of(gold, options)
    return _cut(gold) if place is None else f"{key_of(place)} ({_cut(options[place])})"


def _found(value: float) -> str:
    return "found" if value else "not found"


def _heard(reply: str, mode: Mode) -> str:
    """The reply as the rule saw it."""
    text = normalise(reply) if mode == "reference" else " ".join(reply.split())
    return repr(_cut(text)) if text else "an empty reply"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
