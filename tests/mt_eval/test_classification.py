"""A reply is right if it names the label: anywhere officially, as a word and alone in strict mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mmtests.mt_eval.classification import LABELS, names_label


def test_worked_examples(reference: Callable[[str], Any]) -> None:
    """Reference mode gives what the official scorer gave when it was really run."""
    examples = reference("worked_examples.json")["mteval_cls"]

    wrong = [case for case in examples if names_label(case["pred"], case["gold"], "reference") != (case["score"] == 10)]

    assert len(examples) > 0
    assert wrong == []


@pytest.mark.parametrize(
    ("label", "reply", "official", "sane"),
    [
        ("science", "Science.", True, True),
        ("science", "The category is: Science", True, True),
        ("music", "**music**", True, True),
        ("music", "_music_", True, True),
        ("science", "computer-science", True, True),
        ("art", "martial arts", True, False),
        ("art", "start of the article", True, False),
        ("history", "Category: history / art", True, False),
        ("history", "History, and history again", True, True),
        ("art", "History", False, False),
        ("economics", "Economic", False, False),
        ("music", "", False, False),
        ("Music ", "music!", True, True),
    ],
)
def test_both_modes(label: str, reply: str, official: bool, sane: bool) -> None:
    """Strict mode wants the label as a word, and no other label beside it."""
    assert names_label(reply, label, "reference") is official
    assert names_label(reply, label, "strict") is sane


def test_the_labels_are_thirteen() -> None:
    """The benchmark has 13 labels, each one lower-case word."""
    assert len(set(LABELS)) == 13
    assert all(label.isalpha() and label.islower() for label in LABELS)


@given(
    label=st.sampled_from(LABELS),
    reply=st.lists(st.sampled_from(LABELS) | st.sampled_from([" ", "-", "S", "İ"]) | st.text(max_size=3)).map("".join),
)
@example(label="art", reply="ART")
def test_strict_is_the_narrower(label: str, reply: str) -> None:
    """What strict mode accepts, reference mode accepts."""
    if names_label(reply, label, "strict"):
        assert names_label(reply, label, "reference")


@given(label=st.sampled_from(LABELS), other=st.sampled_from(LABELS))
def test_strict_wants_one_label(label: str, other: str) -> None:
    """A reply that names two labels is right for neither; one that repeats a label is right for it."""
    assert names_label(f"{label}, {other}", label, "strict") is (label == other)
