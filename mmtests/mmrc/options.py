"""Which option a reply picks: a rule for multiple-choice and true/false questions, beside the judge's score.

Strict: a reply picks an option if it names that one and no other. The rule does not understand denial ("not B") except of
the words true and false; the judge does.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

LETTERS = string.ascii_uppercase

_DENIED = re.compile(r"\b(?:not|never|\w+n['\u2019]t)\s+(true|false)\b")
_TRUTH = re.compile(r"\b(true|false)\b")
_WORD = r"(?:(?![\u3040-\u30ff\u3400-\u9fff])\w)"
"""A letter or digit of a script that puts spaces between its words: what a word may not go on with."""
_ON = rf"(?:{_WORD}|['\u2019]\w)"
_STATED = rf"(?i:\banswer(?:\s+(?:is|would be|should be)|\s*:)(?:\s+(?:option|choice))?)\s*:?\s*[*_(\[]*([{{letters}}])(?!{_ON})"
"""As in "the answer is B", "Answer: (B)", "the answer is option B"."""
_CALLED = rf"(?i:\b(?:option|choice|letter))\s+[*_(\[]*([{{letters}}])(?!{_ON})"
"""As in "option B"."""
_MARKED = r"(?:^\s*[*_(\[]*|[(\[]|\*\*|__)([{letters}])(?:[)\].:,*_]|\s*$)"
"""As in "B", "B. A boat", "(B)", "**B**"; at the beginning of a line, or in brackets or emphasis anywhere."""
_ALONE = rf"(?<!{_WORD})(?<!\w['\u2019])([{{letters}}])(?!{_ON})"
_WORDS = "AI"
"""Letters that are English words, too. Before another word they are taken for that: "A boat", "I think"."""
_NO_WORD = r"(?!\s+(?!(?:or|and|nor)\b)\w)"


def picked(reply: str, choices: Sequence[str]) -> int | None:
    """The 0-based number of the option that a reply picks, by its letter or by its text; None for none or several.

    A reply that says "the answer is B" picks by that alone, whatever else it discusses.
    """
    letters = LETTERS[: len(choices)]
    named, rest = _by_text(reply, choices)
    stated = _numbers(_STATED, letters, rest)
    if len(stated) == 1:
        return stated.pop()
    named |= stated | _numbers(_CALLED, letters, rest) | _numbers(_MARKED, letters, rest)
    named |= _numbers(_ALONE, "".join(letter for letter in letters if letter not in _WORDS), rest)
    named |= _numbers(_ALONE + _NO_WORD, "".join(letter for letter in letters if letter in _WORDS), rest)
    return named.pop() if len(named) == 1 else None


def picked_truth(reply: str) -> int | None:
    """0 for a reply that says true, 1 for one that says false, None for neither or both. "Not true" is false."""
    said = _DENIED.sub(lambda denied: "false" if denied[1] == "true" else "true", reply.casefold())
    words = set(_TRUTH.findall(said))
    return None if len(words) != 1 else ("true", "false").index(words.pop())


def _numbers(pattern: str, letters: str, text: str) -> set[int]:
    if not letters:
        return set()
    found = re.findall(pattern.replace("{letters}", letters), text, re.MULTILINE)
    return {LETTERS.index(letter) for letter in found}


def _by_text(reply: str, choices: Sequence[str]) -> tuple[set[int], str]:
    """The options whose whole text is in the reply, and the reply without these texts.

    The longest are looked for first and taken out, so that "red square" does not name the option "square", too.
    """
    named, rest = set(), reply
    for number in sorted(range(len(choices)), key=lambda number: -len(choices[number])):
        words = r"\s+".join(map(re.escape, choices[number].split()))
        rest, count = re.subn(rf"(?<!{_WORD}){words}(?!{_WORD})", "\0", rest, flags=re.IGNORECASE)
        if count:
            named.add(number)
    return named, rest
