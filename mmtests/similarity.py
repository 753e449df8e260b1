"""ROUGE-L, the stand-in for a judge where a reference reply exists."""

from __future__ import annotations

import unicodedata


def rouge_l(reply: str, reference: str) -> float:
    """ROUGE-L F1 over lower-cased words, 0 to 1 (Lin 2004, section 3, with beta = 1).

    The longest common subsequence counts each word as often as it stands. Scripts that put no space between words
    (Chinese, Japanese, Thai, Lao) are compared by character.
    """
    from rapidfuzz.distance import LCSseq

    said, wanted = _tokens(reply), _tokens(reference)
    if not said or not wanted:
        return 0.0
    common = LCSseq.similarity(said, wanted)
    return 2 * common / (len(said) + len(wanted))


def _tokens(text: str) -> list[str]:
    spaced = []
    for character in text.lower():
        if _unspaced(character):
            spaced.append(f" {character} ")
        elif character.isalnum() or unicodedata.category(character).startswith("M"):  # vowel signs belong to words
            spaced.append(character)
        else:
            spaced.append(" ")
    return "".join(spaced).split()


def _unspaced(character: str) -> bool:
    return (
        "\u0e00" <= character <= "\u0eff" or "\u3040" <= character <= "\u30ff" or "\u3400" <= character <= "\u9fff"
    ) and character.isalnum()
