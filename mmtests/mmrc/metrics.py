"""MMRC's objective metrics, by the paper's formulas (section 4.1). There is no code of the authors to compare with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

EP = "EP"
"""Extraction precision, 0 to 1, with information extraction."""
IMP = "IMP"
"""Image management precision, 0 to 1, with image management. By its formula it is a recall."""
RP = "RP"
"""Refusal precision, with answer refusal; the paper prints it in percent."""


def ep(named: Iterable[str], labels: Iterable[str]) -> float | None:
    """Of the distinct items that a reply names, the share that is among the labels: 0 to 1.

    Items are compared without regard to case and to the width of blanks. None for a reply that names none.
    """
    items = {plain(item) for item in named}
    return len(items & {plain(label) for label in labels}) / len(items) if items else None


def imp(retrieved: Iterable[int], gold: Iterable[int]) -> float | None:
    """Of the distinct gold pictures, the share that a reply points at: 0 to 1. Pictures too many cost nothing.

    None without gold pictures.
    """
    wanted = set(gold)
    return len(wanted & set(retrieved)) / len(wanted) if wanted else None


def rp(refused: Sequence[object], should: Sequence[object]) -> float | None:
    """Of the questions that should be declined, the share that was: 0 to 1. What is declined beyond costs nothing.

    Args:
        refused: for each question, whether the model declined.
        should: for each question, whether it should have.

    None without a question that should be declined.

    Raises:
        ValueError: the two are not of the same length.
    """
    wanted = [bool(did) for did, ought in zip(refused, should, strict=True) if ought]
    return sum(wanted) / len(wanted) if wanted else None


def plain(item: str) -> str:
    """An item as it is compared."""
    return " ".join(item.split()).casefold()
