"""ROUGE-L, the stand-in for a judge where a reference reply exists."""

from __future__ import annotations

import re

_WORDS = re.compile(r"[^\W_]+", re.UNICODE)


def rouge_l(reply: str, reference: str) -> float:
    """ROUGE-L F1 over lower-cased words, 0 to 1 (Lin 2004, section 3, with beta = 1).

    The longest common subsequence counts each word as often as it stands. Scripts that put no space between words
    (Chinese, Japanese, Thai) are compared by character.
    """
    from rapidfuzz.distance import LCSseq

    said, wanted = _tokens(reply), _tokens(reference)
    if not said or not wanted:
        return 0.0
    common = LCSseq.similarity(said, wanted)
    return 2 * common / (len(said) + len(wanted))


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    for word in _WORDS.findall(text.lower()):
        tokens += list(word) if _unspaced(word) else [word]
    return tokens


def _unspaced(word: str) -> bool:
    return any("\u0e00" <= c <= "\u0eff" or "\u3040" <= c <= "\u30ff" or "\u3400" <= c <= "\u9fff" for c in word)
