"""ROUGE-L f as the package ``rouge`` 1.0.1 gives it, which the official scorer uses (S-3 and ALFRED)."""

from __future__ import annotations

from collections.abc import Sequence

from mmtests.milebench.normalise import normalise
from mmtests.score import Mode
from mmtests.similarity import rouge_l


def likeness(reply: str, gold: str, mode: Mode) -> float:
    """ROUGE-L f, 0 to 1.

    ``reference``: over sets of distinct words; the whole of a reply that repeats the reference is 0.999999995. ``strict``:
    over all words, each as often as it stands.
    """
    return _official(normalise(reply), normalise(gold)) if mode == "reference" else rouge_l(reply, gold)


def _official(reply: str, gold: str) -> float:
    replied, expected = _sentences(reply), _sentences(gold)
    if not replied or not expected:
        return 0.0  # nothing but periods, on which the package stops
    common: set[str] = set()
    for reference in expected:
        for sentence in replied:
            common |= _common(reference, sentence)
    precision = len(common) / len({word for sentence in replied for word in sentence})
    recall = len(common) / len({word for sentence in expected for word in sentence})
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


def _sentences(text: str) -> list[list[str]]:
    """Words by sentence. A sentence of spaces has one word, the empty one, as the package has it."""
    return [" ".join(sentence.split()).split(" ") for sentence in text.split(".") if sentence]


def _common(reference: Sequence[str], sentence: Sequence[str]) -> set[str]:
    """The words of one longest common subsequence: of several, the one that the package finds."""
    lengths = [[0] * (len(sentence) + 1)]
    for word in reference:
        above, row = lengths[-1], [0]
        for column, other in enumerate(sentence, 1):
            row.append(above[column - 1] + 1 if word == other else max(above[column], row[-1]))
        lengths.append(row)
    found = set()
    row_number, column = len(reference), len(sentence)
    while row_number and column:
        if reference[row_number - 1] == sentence[column - 1]:
            found.add(reference[row_number - 1])
            row_number, column = row_number - 1, column - 1
        elif lengths[row_number - 1][column] > lengths[row_number][column - 1]:
            row_number -= 1
        else:
            column -= 1
    return found
