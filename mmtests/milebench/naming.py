"""The strict reading of an answer to a question with options: by words, and nothing where the reply is of two minds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mmtests.milebench.normalise import words

Words = tuple[str, ...]

_OPEN = r"[\s\"'(\[*]*"
_STATED = re.compile(rf"\b[Aa]nswer\b(?:\s+(?:is|would\s+be|must\s+be))?\s*[:=]?{_OPEN}([A-Z]{{1,2}})\b(?!['\u2019])")
"""``The answer is (C)``, ``Answer: C``."""
_OPENING = re.compile(rf"{_OPEN}([A-Z]{{1,2}}|[a-z])\s*[.):\]*]+(?=\s|$)")
"""``C. a red ball``, ``(c) a red ball``."""
_LETTER = re.compile(r"(?<![\w'\u2019.])([A-Z]{1,2})(?!['\u2019]|\.?\w)")
"""A capital that stands alone."""
_AFTER_KEYS = frozenset({"because", "since", "as", "and", "or", "but", "is", "was"})
"""Words that follow a key, and no article."""
_DENIALS = frozenset({"not", "nor", "neither", "never", "isn't", "aren't", "wasn't", "weren't"})
_ARTICLES = frozenset({"a", "an", "the"})


def named_option(reply: str, options: Sequence[str], keys: Sequence[str]) -> int | None:
    """The place of the option that the reply names, by its text or by its key; None for no option, or for several.

    The readings, from the plainest: the reply is an option, or a key; it states ``the answer is C``; it opens with ``C.`` or
    ``(C)``; it holds the text of one option as whole words; it holds one key as a capital on its own. The first that finds
    something decides. A key beside another option's text is no answer.
    """
    texts = [_bare(words(option)) for option in options]
    said = words(reply)
    if (whole := _whole(reply, said, options, texts)) is not None:
        return whole
    places = {key: place for place, key in enumerate(keys)}
    if len(said) == 1 and said[0].upper() in places:
        return places[said[0].upper()]
    stated = [match for match in _STATED.finditer(reply) if match[1] in places and not _is_text(reply, match, texts)]
    opening = _OPENING.match(reply)
    for match in (*stated[-1:], *((opening,) if opening else ())):
        if (place := places.get(match[1].upper())) is not None:
            beside = _opens_with(_bare(words(reply[match.end() :])), texts)
            return place if beside is None or texts[beside] == texts[place] else None
    if said and (place := places.get(said[0].upper())) is not None and texts[place] and _bare(said[1:]) == texts[place]:
        return place
    named = _named(said, texts) or {places[key] for key in _letters(reply) if key in places}
    return named.pop() if len(named) == 1 else None


def _bare(text: Words) -> Words:
    """Without an article before it."""
    return text[1:] if len(text) > 1 and text[0] in _ARTICLES else text


def _whole(reply: str, said: Words, options: Sequence[str], texts: Sequence[Words]) -> int | None:
    plain = reply.strip().casefold()
    same = (place for place, option in enumerate(options) if option.strip().casefold() == plain != "")
    alike = (place for place, text in enumerate(texts) if text == _bare(said) != ())
    return next(same, next(alike, None))


def _is_text(reply: str, match: re.Match[str], texts: Sequence[Words]) -> bool:
    """True if the capital is not a key but the first word of an option: ``The answer is A red ball``."""
    said = words(reply[match.start(1) :])
    return said[0] in _ARTICLES and _opens_with(_bare(said), texts) is not None


def _opens_with(said: Words, texts: Sequence[Words]) -> int | None:
    """The longest option that the words begin with."""
    found = [place for place, text in enumerate(texts) if text and said[: len(text)] == text]
    return max(found, key=lambda place: len(texts[place]), default=None)


def _named(said: Words, texts: Sequence[Words]) -> set[int]:
    """The options whose text stands in the reply, and is not denied there; no option within a longer one."""
    named, at = set(), 0
    firsts = {text[0] for text in texts if text}
    while at < len(said):
        place = _opens_with(said[at:], texts) if said[at] in firsts else None
        if place is None:
            at += 1
            continue
        before = next((word for word in reversed(said[:at]) if word not in _ARTICLES), "")
        if before not in _DENIALS:
            named.add(place)
        at += len(texts[place])
    return named


def _letters(reply: str) -> set[str]:
    """Capitals on their own that are no English words there, and are not denied."""
    found = set()
    for match in _LETTER.finditer(reply):
        before, after = words(reply[: match.start()])[-1:], re.match(r"\s+(\w+)", reply[match.end() :])
        follows = after[1] if after else ""
        article = match[1] == "A" and follows.islower() and follows not in _AFTER_KEYS
        if article or (match[1] == "I" and follows) or (before and before[0] in _DENIALS):
            continue
        found.add(match[1])
    return found
