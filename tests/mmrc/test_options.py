"""Which option a reply picks: one that it names, and no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.mmrc.options import LETTERS, picked, picked_truth
from mmtests.mmrc.questions import Question

CHOICES = ("a red square", "a square", "Vitamin C", "none of these")


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B", "B"),
        ("B.", "B"),
        ("(B)", "B"),
        ("**B**", "B"),
        ("B. a square", "B"),
        ("B) A square, as you said.", "B"),
        ("A", "A"),
        ("A.", "A"),
        ("A: a red square", "A"),
        ("(A) it is", "A"),
        ("The answer is A.", "A"),
        ("Answer: **D**", "D"),
        ("The answer is option A, not B.", "A"),
        ("Not A and not B, so the answer is C", "C"),
        ("It was option A", "A"),
        ("You showed A", "A"),
        ("I would say D", "D"),
        ("You showed a red square.", "A"),
        ("A red square", "A"),
        ("You showed A  RED\nsquare.", "A"),
        ("a square", "B"),
        ("Vitamin C", "C"),
        ("It is vitamin C!", "C"),
        ("None of these.", "D"),
        ("Answer: A square", "B"),
        ("The answer is B, not a red square", "B"),
        ("\u7b54\u6848\u662fB\u3002", "B"),
        ("'B'", "B"),
        # nothing
        ("", None),
        ("I do not know.", None),
        ("A boat is on it.", None),
        ("I think so.", None),
        ("squares", None),
        ("b", None),
        ("E", None),
        ("Plan B's end", None),
        # several
        ("A or B", None),
        ("B or A", None),
        ("D and A, I think", None),
        ("B, C", None),
        ("B. a red square", None),
        ("a square or none of these", None),
        ("The answer is A. The answer is B.", None),
    ],
)
def test_picked(reply: str, letter: str | None) -> None:
    """By letter, by text or by both, but only one."""
    number = picked(reply, CHOICES)

    assert (None if number is None else LETTERS[number]) == letter


@pytest.mark.parametrize(
    ("reply", "number"), [("I", 8), ("I. nine", 8), ("The answer is I", 8), ("I think H", 7), ("I think so", None)]
)
def test_nine_options(reply: str, number: int | None) -> None:
    """The pronoun names no option."""
    assert picked(reply, ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]) == number


def test_options_with_signs() -> None:
    """Texts are compared as texts: signs mean nothing else, and stand at word ends or not."""
    assert picked("It costs $5 (net).", ["$5 (net)", "$55"]) == 0
    assert picked("c++", ["c", "c++"]) == 1
    assert picked("It costs $55.", ["$5", "$55"]) == 1


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("True", True),
        ("false.", False),
        ("That is TRUE, you said so.", True),
        ("That is not true.", False),
        ("It isn't true", False),
        ("It isn\u2019t false", True),
        ("True or false? True.", None),
        ("Yes", None),
        ("untrue", None),
        ("", None),
    ],
)
def test_picked_truth(reply: str, said: bool | None) -> None:
    """One of the two words, and a denial of it is the other."""
    assert picked_truth(reply) == {True: 0, False: 1, None: None}[said]


WORDS = st.lists(st.text("bcdfg", min_size=2, max_size=6), min_size=2, max_size=8, unique=True)


@given(WORDS, st.data())
def test_each_option_is_picked_by_what_it_says(choices: list[str], data: st.DataObject) -> None:
    """The letter, the text and both together pick their own option, and two options are none."""
    one, other = data.draw(st.permutations(range(len(choices))))[:2]

    assert picked(LETTERS[one], choices) == one
    assert picked(choices[one], choices) == one
    assert picked(f"{LETTERS[one]}. {choices[one]}", choices) == one
    assert picked(f"({LETTERS[one]}) or ({LETTERS[other]})", choices) is None
    assert picked(f"{choices[one]} and {choices[other]}", choices) is None


@given(st.text(max_size=60))
def test_any_reply(reply: str) -> None:
    """No reply is too odd, and none picks what is not there."""
    assert picked(reply, CHOICES) in (None, 0, 1, 2, 3)
    assert picked_truth(reply) in (None, 0, 1)


def test_accuracy() -> None:
    """1 or 0 where there are options, nothing where there are none."""
    choice = Question("IU", "multiple-choice", "Which?", "B. a square", CHOICES, 1)
    truth = Question("MR", "true-false", "So?", "False", (), 1)

    assert [choice.accuracy(reply) for reply in ("B", "A", "A or B", "")] == [1, 0, 0, 0]
    assert [truth.accuracy(reply) for reply in ("False", "True", "No")] == [1, 0, 0]
    assert Question("MR", "open", "What?", "B").accuracy("B") is None


def test_prompts() -> None:
    """Options are listed with their letters; a true/false question says so; an open one is as it is."""
    choice = Question("IU", "multiple-choice", "Which?", "B. no", ("yes", "no"), 1)

    assert choice.prompt == "Which?\nA. yes\nB. no\nAnswer with the letter of the one right option."
    assert Question("MR", "true-false", "So.", "True", (), 0).prompt == (
        "So.\nIs this true or false? Answer with one word."
    )
    assert Question("MR", "open", "What?", "A boat").prompt == "What?"
