"""ROUGE-L F1 over words: how much of two texts is a common subsequence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.similarity import rouge_l

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "The", "你好", "-", "é"]), max_size=8).map(" ".join) | st.text()


@pytest.mark.parametrize(
    ("reply", "reference", "expected"),
    [
        ("police kill the gunman", "police killed the gunman", 3 / 4),
        ("the gunman kill police", "police killed the gunman", 1 / 2),
        ("a b c d", "a c", 2 * 2 / 6),
        ("the the the", "the", 2 * 1 / 4),
        ("the the", "the the the", 2 * 2 / 5),
        ("The Cat, sat!", "the cat sat", 1),
        ("snake_case", "snake case", 1),
        ("ÇA VA", "ça va", 1),
    ],
)
def test_known_values(reply: str, reference: str, expected: float) -> None:
    """Order matters, words count as often as they stand, and case and punctuation do not matter."""
    assert rouge_l(reply, reference) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("reply", "reference", "expected"),
    [
        ("我喜欢猫", "我喜欢狗", 3 / 4),
        ("猫", "猫，猫", 2 * 1 / 3),  # noqa: RUF001 - Chinese punctuation is meant
        ("ねこ", "ねずみ", 2 * 1 / 5),
        ("我 like 猫", "我 like 狗", 2 / 3),
    ],
)
def test_scripts_without_spaces(reply: str, reference: str, expected: float) -> None:
    """Chinese and Japanese are compared by character, and words between them by word."""
    assert rouge_l(reply, reference) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "   ", "?!", "😀", "_"])
def test_no_words(text: str) -> None:
    """A text without words is like no other, not even like itself."""
    assert rouge_l(text, "a b") == rouge_l("a b", text) == rouge_l(text, text) == 0


def test_nothing_in_common() -> None:
    """Texts without a common word score 0."""
    assert rouge_l("a b c", "d e f") == 0


@given(TEXTS, TEXTS)
def test_symmetry(one: str, other: str) -> None:
    """F1 is the same both ways, and from 0 to 1."""
    assert rouge_l(one, other) == rouge_l(other, one)
    assert 0 <= rouge_l(one, other) <= 1


@given(TEXTS.filter(lambda text: any(c.isalnum() for c in text)))
def test_identity(text: str) -> None:
    """A text with a word in it is wholly like itself."""
    assert rouge_l(text, text) == 1
