"""Is the expected answer in the reply? (Needles in a haystack, and MMCoQA.)"""

from __future__ import annotations

import re

from mmtests.milebench.normalise import normalise, words
from mmtests.score import Mode


def holds_needle(reply: str, gold: str, mode: Mode) -> bool:
    """True if the reply gives the password.

    ``reference``: it is one of the words between white space. ``strict``: it stands there, whatever punctuation is around
    it or one separator between its digits, and is not part of a longer number or word.
    """
    if mode == "reference":
        return normalise(gold) in normalise(reply).split()
    characters = [re.escape(one) for one in gold.casefold() if one.isalnum()]
    if not characters:
        return False
    pattern = r"(?<![^\W_])(?<!\d[.,])" + r"[\s,._'\u2019-]?".join(characters) + r"(?![^\W_]|[.,]\d)"
    return re.search(pattern, reply.casefold()) is not None


def contains_answer(reply: str, gold: str, mode: Mode) -> bool:
    """True if the answer is part of the reply.

    ``reference``: as a substring, so that "Parisian" contains "Paris". ``strict``: as whole words in a row; in scripts
    without spaces as a substring.
    """
    if mode == "reference":
        return normalise(gold) in normalise(reply)
    wanted, said = words(gold), words(reply)
    if not wanted:
        return False
    if _UNSPACED.search(gold):
        return "".join(wanted) in "".join(said)
    return any(said[start : start + len(wanted)] == wanted for start in range(len(said) - len(wanted) + 1))


_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Lao, Japanese and Chinese."""
