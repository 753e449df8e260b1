"""Counting words and sentences as the official script does."""

from __future__ import annotations


def count_words(text: str) -> int:
    """Pieces between white space."""
    return len(text.split())


def count_sentences(text: str) -> int:
    """Sentences by NLTK's English Punkt model, from a package that carries its parameters and needs no download."""
    import punkt

    return len(punkt.sent_tokenize(text))
