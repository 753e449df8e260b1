"""Reference mode gives what the official scorer gives; strict mode what a careful reader would."""

from __future__ import annotations

import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.milebench import MileBench
from mmtests.milebench.answers import contains_answer, holds_needle
from mmtests.milebench.choices import chosen, key_of, place_of
from mmtests.milebench.normalise import normalise, words
from mmtests.milebench.rouge import likeness
from mmtests.similarity import rouge_l
from tests.milebench.data import item, sample

COLOURS = ("a blue cube", "a green cone", "a red ball", "a grey disk")
NUMBERS = ("1", "2", "3", "4")
DECIMALS = ("1.5", "2.5", "3.5", "4.5")
THOUSANDS = ("1,000", "2,000", "3,500", "10,000")
YES_NO = ("yes", "no")
MANY = tuple(f"Image {number}" for number in range(1, 41))

SAYS_C = "C"


def options_of(example: dict[str, Any]) -> tuple[str, ...]:
    """The options of a worked example; the forty images are only described there."""
    return MANY if isinstance(example["choices"], str) else tuple(example["choices"])


# Against the reference


def test_the_worked_examples(reference: Callable[[str], Any]) -> None:
    """Every entry is reproduced: normalisation, extraction and score of choices, needles, containment, ROUGE-L."""
    known = reference("worked_examples.json")
    checked = 0
    for one in known["milebench_normalise"]:
        assert normalise(one["in"]) == one["out"], one
        checked += 1
    for one in known["milebench_multichoice"]:
        options = options_of(one)
        extracted = chosen(one["pred"], options, "reference")
        place = place_of(one["gold"], options)
        assert place is not None
        assert (extracted, int(extracted == key_of(place))) == (one["extracted"], one["score"]), one
        checked += 1
    for name, rule in (("milebench_needle", holds_needle), ("milebench_mmcoqa", contains_answer)):
        for one in known[name]:
            assert rule(one["pred"], one["gold"], "reference") == one["score"], one
            checked += 1
    for one in known["milebench_rougeL_f"]:
        assert likeness(one["pred"], one["gold"], "reference") == pytest.approx(one["score"], abs=1e-6), one
        checked += 1
    assert checked == 82


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("B) red", "b red"),
        ("a-b 1,000", "ab 1000"),
        ("well-known fact", "well known fact"),
        ("a - b", "a  b"),
        ("It's 3.5 m.", "it's 3.5 m"),
        ("U.S.A.", "usa"),
        ("A: red", "a: red"),
        ("50%", "50%"),
        ("\"'A'\"", "'a'"),
        ("...", ""),
        ("." * 40, "." * 8),
    ],
)
def test_normalise(text: str, plain: str) -> None:
    """Marks beside a space go, others become spaces; no more than 32 periods go."""
    assert normalise(text) == plain


@pytest.mark.parametrize(
    ("options", "reply", "extracted"),
    [
        (COLOURS, "", "C"),
        (COLOURS, "...", "C"),
        (COLOURS, "(C)", "C"),
        (COLOURS, "C: a red ball", "C"),
        (COLOURS, "The answer is C", "AC"),
        (COLOURS, "the red ball", "DBA"),
        (COLOURS, "not a blue cube but a red ball", "A"),
        (NUMBERS, "13", "A"),
        (NUMBERS, "three", ""),
        (DECIMALS, "2.5", ""),
        (DECIMALS, "B. 2.5", "B"),
        (THOUSANDS, "10,000", "A"),
        (YES_NO, "unknown", "B"),
        (MANY, "Image 20", "B"),
        (MANY, "AD", "AD"),
        (MANY, "AD. Image 30", "A"),
    ],
)
def test_choices_as_officially(options: tuple[str, ...], reply: str, extracted: str) -> None:
    """The official extraction, quirks included."""
    assert chosen(reply, options, "reference") == extracted


@pytest.mark.parametrize(
    ("options", "reply", "key"),
    [
        # nothing said
        (COLOURS, "", ""), (COLOURS, "...", ""), (COLOURS, "I do not know", ""), (COLOURS, "CD", ""),
        # a key
        (COLOURS, "C", SAYS_C), (COLOURS, "c.", SAYS_C), (COLOURS, "(C)", SAYS_C), (COLOURS, "**C**", SAYS_C),
        (COLOURS, "The answer is C", SAYS_C), (COLOURS, "Answer: C", SAYS_C), (COLOURS, "answer is (C).", SAYS_C),
        (COLOURS, "I choose C", SAYS_C), (COLOURS, "Option C is right", SAYS_C),
        (COLOURS, "A is blue, so the answer is C because it rolls", SAYS_C),
        (COLOURS, "A because it is blue", "A"), (COLOURS, "The answer is not A", ""), (COLOURS, "not A but C", SAYS_C),
        (COLOURS, "A or C", ""), (COLOURS, "A is right", "A"), (COLOURS, "A car", ""), (COLOURS, "E", ""),
        # a text
        (COLOURS, "a red ball", SAYS_C), (COLOURS, "A RED BALL.", SAYS_C), (COLOURS, "the red ball", SAYS_C),
        (COLOURS, "The answer is A red ball", SAYS_C), (COLOURS, "It is a red ball, not a blue cube", SAYS_C),
        (COLOURS, "not a blue cube but a red ball", SAYS_C), (COLOURS, "a red ball or a blue cube", ""),
        (COLOURS, "a red balloon", ""),
        # both
        (COLOURS, "C. a red ball", SAYS_C), (COLOURS, "c) a red ball", SAYS_C), (COLOURS, "C a red ball", SAYS_C),
        (COLOURS, "C. a blue cube", ""), (COLOURS, "The answer is C, a blue cube", ""),
        (COLOURS, "C. It rolls, and a blue cube does not", SAYS_C),
        # numbers
        (NUMBERS, "13", ""), (NUMBERS, "The answer is 3", SAYS_C), (NUMBERS, "2 or 3", ""), (NUMBERS, "3.", SAYS_C),
        (NUMBERS, "-3", ""), (NUMBERS, "3.5", ""),
        (DECIMALS, "2.5", "B"), (DECIMALS, "It is 2.5 meters.", "B"), (DECIMALS, "12.5", ""), (DECIMALS, "B", "B"),
        (THOUSANDS, "10,000", "D"), (THOUSANDS, "1000", "A"), (THOUSANDS, "A", "A"),
        (("$5", "5%", "5"), "5%", "B"), (("$5", "5%", "5"), "It costs $5.", "A"), (("$5", "5%", "5"), "5", "C"),
        # words within words, and options within options
        (YES_NO, "unknown", ""), (YES_NO, "none of them", ""), (YES_NO, "No, it is gone.", "B"), (YES_NO, "no", "B"),
        (MANY, "Image 2", "B"), (MANY, "Image 20", "T"), (MANY, "Image 200", ""), (MANY, "AD", "AD"),
        (MANY, "AD. Image 30", "AD"), (MANY, "The answer is AD", "AD"),
        # options that are keys, or no words
        (("B", "A"), "A", "B"), (("+", "-"), "-", "B"), (("+", "-"), "A", "A"),
    ],
)  # fmt: skip
def test_choices_strictly(options: tuple[str, ...], reply: str, key: str) -> None:
    """Whole words, plain statements, and nothing from a reply of two minds."""
    assert chosen(reply, options, "strict") == key


@pytest.mark.parametrize(("place", "key"), [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA"), (701, "ZZ")])
def test_keys(place: int, key: str) -> None:
    """After Z come AA, AB, ..., then BA."""
    assert key_of(place) == key


@given(st.lists(st.text(string.ascii_lowercase + " .,1", min_size=1, max_size=8), min_size=1, max_size=30), st.data())
def test_a_plain_answer_is_right(options: list[str], data: st.DataObject) -> None:
    """In strict mode an option's text alone, and its key with a period, are that option, whatever the others are."""
    place = data.draw(st.integers(0, len(options) - 1))
    alike = {key_of(at) for at, option in enumerate(options) if option.strip() == options[place].strip()}

    said = chosen(options[place], options, "strict")

    assert said in alike or not options[place].strip(" .,")
    key = key_of(place)
    if not any(words(option) == (key.lower(),) for option in options):
        assert chosen(f"({key})", options, "strict") == key


@given(st.text(), st.lists(st.text(min_size=1), min_size=1, max_size=30))
def test_any_reply(reply: str, options: list[str]) -> None:
    """No reply and no options stop either rule; strict mode gives a key or nothing."""
    keys = {key_of(at) for at in range(len(options))}

    chosen(reply, options, "reference")

    assert chosen(reply, options, "strict") in keys | {""}


# Needles and containment


@pytest.mark.parametrize(
    ("reply", "reference_mode", "strict"),
    [
        ("The password is 1234567.", True, True),
        ("1,234,567", True, True),
        ("12345678", False, False),
        ("91234567", False, False),
        ("pass:1234567", False, True),
        ("**1234567**", False, True),
        ("'1234567'.", True, True),
        ("it is '1234567'", False, True),
        ("123-4567", False, True),
        ("1234 567", False, True),
        ("1 2 3 4 5 6 7", False, True),
        ("1234567.5", False, False),
        ("1234567,890", False, False),
        ("x1234567", False, False),
        ("", False, False),
    ],
)
def test_needles(reply: str, reference_mode: bool, strict: bool) -> None:
    """Officially a word between white space; strictly the number, whatever is around it."""
    assert holds_needle(reply, "1234567", "reference") is reference_mode
    assert holds_needle(reply, "1234567", "strict") is strict


@pytest.mark.parametrize(
    ("gold", "reply", "reference_mode", "strict"),
    [
        ("Paris", "The capital is Paris.", True, True),
        ("Paris", "Parisian", True, False),
        ("New York", "new-york", True, True),
        ("7 July", "july 7", False, False),
        ("1,200", "1200 people", True, True),
        ("1,200", "11200 people", True, False),
        ("Mr. Bean", "mr bean", True, True),
        ("O'Hara", "Scarlett O\u2019Hara", False, True),
        ("3.5", "13.5", True, False),
        ("\u6771\u4eac", "\u6771\u4eac\u3067\u3059", True, True),
        ("Paris", "", False, False),
    ],
)
def test_containment(gold: str, reply: str, reference_mode: bool, strict: bool) -> None:
    """Officially a substring; strictly whole words in a row."""
    assert contains_answer(reply, gold, "reference") is reference_mode
    assert contains_answer(reply, gold, "strict") is strict


# ROUGE-L


@pytest.mark.parametrize(
    ("gold", "reply", "expected"),
    [
        ("the red ball moved left", "the red ball moved left", 0.999999995),
        ("the red ball moved left", "The ball moved.", 0.75),
        ("the red ball moved left", "left moved ball red the", 0.2),
        ("the cat and the dog", "the the the", 0.4),
        ("the cat and the dog", "the cat the cat the cat", 2 / 3),
        ("add 1.5 cups", "add 5 cups", 6 / 7),
        ("x y", "...", 0.0),
        ("x y", "." * 40, 0.0),
        ("x y", "", 0.0),
    ],
)
def test_rouge_as_officially(gold: str, reply: str, expected: float) -> None:
    """Distinct words, and the package's own epsilon."""
    assert likeness(reply, gold, "reference") == pytest.approx(expected, abs=1e-8)


_SENTENCES = st.lists(
    st.sampled_from(["a", "b", "c", "d", "e.", ".", "1.5", "f. .", "\u00e4"]), min_size=1, max_size=14
)


@given(_SENTENCES, _SENTENCES)
def test_rouge_is_the_package(reply: list[str], gold: list[str]) -> None:
    """Bit for bit what ``rouge`` 1.0.1 gives."""
    package = pytest.importorskip("rouge")
    said, wanted = normalise(" ".join(reply)), normalise(" ".join(gold))
    try:
        expected = package.Rouge().get_scores(said, wanted)[0]["rouge-l"]["f"]
    except ValueError:
        expected = 0.0  # nothing but periods

    assert likeness(" ".join(reply), " ".join(gold), "reference") == expected


def test_long_texts() -> None:
    """A reply that would stop the package's recursion is scored."""
    text = " ".join(f"w{number}" for number in range(1500))

    assert likeness(text, text, "reference") == pytest.approx(1)


def test_rouge_strictly() -> None:
    """Words count as often as they stand."""
    assert (
        likeness("the the the", "the cat and the dog", "strict") == rouge_l("the the the", "the cat and the dog") == 0.5
    )


# As scores of items


def test_a_choice(tmp_path: Path) -> None:
    """The score says what was expected and what was extracted, and has both modes."""
    one = item(tmp_path, "MovingDirection", sample())

    reference_mode = MileBench().score_by_rule(one, "The answer is B", "reference")
    strict = MileBench().score_by_rule(one, "The answer is B", "strict")

    assert (reference_mode.value, strict.value) == (0, 1)
    assert reference_mode.by_mode == strict.by_mode == {"reference": 0, "strict": 1}
    assert reference_mode.scorer == "rule:choice"
    assert reference_mode.explanation == "expected B (to the right); extracted AB"
    assert strict.explanation == "expected B (to the right); extracted B"
    assert MileBench().score_by_rule(one, "", "strict").explanation == "expected B (to the right); extracted nothing"


def test_an_option_that_stands_twice(tmp_path: Path) -> None:
    """In strict mode it is right under either key; officially only under the first."""
    one = item(tmp_path, "MovingDirection", sample(choice_list=["up", "to the right", "To the right."]))

    assert MileBench().score_by_rule(one, "C", "strict").by_mode == {"reference": 0, "strict": 1}


@pytest.mark.parametrize(
    ("subset", "gold", "reply", "explanation"),
    [
        ("TextNeedleInAHaystack", "1234567", "It is 1234567.", "expected the word '1234567'; found in 'it is 1234567'"),
        ("MMCoQA", "Paris", "Rome", "expected the answer 'Paris'; not found in 'rome'"),
        ("ALFRED", "open it", "", "expected 'open it'; ROUGE-L f 0.000 of an empty reply"),
    ],
)
def test_other_metrics(tmp_path: Path, subset: str, gold: str, reply: str, explanation: str) -> None:
    """The others say the same of theirs."""
    one = item(tmp_path, subset, sample(response=gold, choice_list=None), kind="open-ended")

    assert MileBench().score_by_rule(one, reply, "reference").explanation == explanation
