"""Each global instruction is checked as the official script checks it, and sanely in strict mode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mmtests.mt_eval.instructions import ARGUMENTS, LANGUAGES, follows

OPTIONS = ["My answer is yes.", "My answer is no."]

GIVEN: dict[str, dict[str, Any]] = {
    "startend:start_char": {"letter": "c"},
    "startend:start_emoji": {},
    "startend:end_phrase": {"end_phrase": "Any other questions?"},
    "language:response_language": {"lang": "French"},
    "format:json_format": {},
    "format:bullet_list": {"num_bullets": 2},
    "length_constraints:number_sentences": {"num_sentences": 3, "relation": "less than"},
    "keywords:existence": {"keywords": ["blue", "boat"]},
    "change_case:capital_letter": {},
    "change_case:lowercase": {},
    "punctuation:no_comma": {},
    "combination:two_responses": {},
    "content:placeholder": {"num_placeholder": 2},
    "format:constrained_response": {"response_options": OPTIONS},
}
"""Arguments for each of the 14 instructions."""

OBEYED = {
    "startend:start_char": ("Cats purr.", "The cat"),
    "startend:start_emoji": ("😀 hi", "hi 😀"),
    "startend:end_phrase": ("Sure. ANY other questions?", "Any other questions? Bye"),
    "language:response_language": ("Bonjour, comment allez-vous aujourd'hui ?", "Hello, how are you doing today?"),
    "format:json_format": ('```json\n{"a": 1}\n```', "{'a': 1}"),
    "format:bullet_list": ("* a\n- b", "* a\n* b\n* c"),
    "length_constraints:number_sentences": ("Dr. Smith came at 3 p.m. today. He left.", "One. Two. Three."),
    "keywords:existence": ("A BLUE boat.", "blue only"),
    "change_case:capital_letter": ("ÇA VA 123!", "HELLO WORLd"),
    "change_case:lowercase": ("ça va 123!", "Hello world"),
    "punctuation:no_comma": ("no commas here", "one, two"),
    "combination:two_responses": ("A ****** B", "A ****** A"),
    "content:placeholder": ("Dear [name], from [me]", "[a] only"),
    "format:constrained_response": ("I think: My answer is no.", "my answer is yes."),
}
"""For each instruction a reply that obeys it and one that does not, in both modes."""

QUIRKS: list[tuple[str, str, bool]] = [
    ("startend:start_emoji", "1️⃣ first", True),
    ("startend:start_emoji", "🇫🇷 salut", True),
    ("startend:end_phrase", 'Sure. "Any other questions?"', True),
    ("startend:end_phrase", "**Any other questions?**", True),
    ("language:response_language", "12345", False),
    ("language:response_language", "😀😀", False),
    ("format:json_format", "42", False),
    ("format:json_format", '"text"', False),
    ("format:json_format", "NaN", False),
    ("format:json_format", '{"a": NaN}', False),
    ("format:bullet_list", "*a\n*b", False),
    ("format:bullet_list", "• a\n• b", True),
    ("format:bullet_list", "---\n* a\n* b", True),
    ("format:bullet_list", "-5 degrees\n-7 degrees", False),
    ("length_constraints:number_sentences", "", False),
    ("keywords:existence", "bluebird in a boathouse", False),
    ("punctuation:no_comma", "", False),
    ("punctuation:no_comma", "一，二", False),  # noqa: RUF001 - a full-width comma is meant
    ("combination:two_responses", "A ******* B", False),
    ("content:placeholder", "[] []", False),
    ("content:placeholder", "[link](http://x) [y]", False),
    ("format:constrained_response", "My answer is yes. My answer is no.", False),
]
"""Replies that the official script judges wrongly, and what is right."""


def official(instruction: str, arguments: dict[str, Any], reply: str) -> bool | str:
    """The reference check's answer, or its one exception, as the worked examples write it."""
    try:
        return follows(instruction, arguments, reply, "reference")
    except IndexError:
        return "raises IndexError"


def test_worked_examples(reference: Callable[[str], Any]) -> None:
    """Reference mode gives what the official checks gave when they were really run."""
    examples = reference("worked_examples.json")["mteval_global_inst"]

    wrong = [
        (case, got)
        for case in examples
        if (got := official(case["inst_name"], case["inst_args"], case["response"])) != case["result"]
    ]

    assert {case["inst_name"] for case in examples} == set(ARGUMENTS)
    assert wrong == []


def test_every_instruction_is_tried() -> None:
    """The cases of this module cover the 14 instructions of the benchmark."""
    assert len(ARGUMENTS) == 14
    assert set(GIVEN) == set(OBEYED) == set(ARGUMENTS)


@pytest.mark.parametrize("mode", ["reference", "strict"])
@pytest.mark.parametrize("instruction", OBEYED)
def test_plain_cases(instruction: str, mode: Any) -> None:
    """A reply that plainly obeys passes in both modes, and one that plainly does not fails in both."""
    good, bad = OBEYED[instruction]

    assert follows(instruction, GIVEN[instruction], good, mode) is True
    assert follows(instruction, GIVEN[instruction], bad, mode) is False


@pytest.mark.parametrize(("instruction", "reply", "right"), QUIRKS)
def test_strict_mends_the_quirks(instruction: str, reply: str, right: bool) -> None:
    """Where the official check is wrong, reference mode repeats it and strict mode gives the sane answer."""
    assert follows(instruction, GIVEN[instruction], reply, "reference") is not right
    assert follows(instruction, GIVEN[instruction], reply, "strict") is right


@pytest.mark.parametrize("reply", ["", " ", "\n\t"])
def test_an_empty_reply_has_no_first_emoji(reply: str) -> None:
    """The official check stops on an empty reply; strict mode just says no."""
    with pytest.raises(IndexError):
        follows("startend:start_emoji", {}, reply, "reference")

    assert follows("startend:start_emoji", {}, reply, "strict") is False


def test_newer_emoji_do_not_count_in_reference_mode() -> None:
    """The official script's emoji list ends with version 15, whatever version is installed."""
    newest, newer = "\U0001fae8 hi", "\U0001fae9 hi"  # a face of version 15 and one of version 16

    assert follows("startend:start_emoji", {}, newest, "reference") is True
    assert follows("startend:start_emoji", {}, newer, "reference") is False


@pytest.mark.parametrize("nothing", [None, 0, "", False])
@pytest.mark.parametrize("mode", ["reference", "strict"])
def test_empty_arguments_are_dropped(nothing: object, mode: Any) -> None:
    """An argument that is null or otherwise empty is as good as absent: any number of bullets will do."""
    for arguments in ({}, {"num_bullets": nothing}):
        assert follows("format:bullet_list", arguments, "* a\n* b\n* c", mode) is True
        assert follows("format:bullet_list", arguments, "no bullets", mode) is False


def test_arguments_of_other_instructions_do_not_matter() -> None:
    """Rows as the hub gives them carry every argument, null where they have none."""
    nulls = dict.fromkeys(name for needed in ARGUMENTS.values() for name in needed)

    assert follows("content:placeholder", {**nulls, "num_placeholder": 2}, "[a] [b]", "reference") is True
    assert follows("content:placeholder", {**nulls, "num_placeholder": 3}, "[a] [b]", "reference") is False


def test_languages_are_detected_alike_every_time() -> None:
    """A reply that could be of several languages gets the same answer in each call."""
    answers = {follows("language:response_language", {"lang": "French"}, "sport club", "reference") for _ in range(60)}

    assert len(answers) == 1


def test_the_languages_are_those_langdetect_knows() -> None:
    """Each of the 30 languages has a code that the detector can answer."""
    from langdetect import PROFILES_DIRECTORY

    assert len(LANGUAGES) == 30
    assert set(LANGUAGES.values()) <= {path.name for path in Path(PROFILES_DIRECTORY).iterdir()}


def test_deep_nesting_is_no_json() -> None:
    """JSON too deep to be parsed counts as not JSON."""
    reply = "[" * 100_000

    assert follows("format:json_format", {}, reply, "reference") is False
    assert follows("format:json_format", {}, reply, "strict") is False


ANY_TEXT = st.text(st.characters(), max_size=80)
"""Lone surrogates included: a server's JSON can hold them."""
PIECES = st.lists(
    st.sampled_from(["*", "-", "* a", "\n", " ", "[", "]", "******", ",", "'", '"', "{", "}", "```json", "```", "1",
                     "😀", "\ufe0f", "\u20e3", "🇫", "Blue", "boat", "\ud800", "My answer is no.", "Any other questions?", "é"]),
    max_size=12,
).map("".join)  # fmt: skip
REPLIES = ANY_TEXT | PIECES


@settings(deadline=None, max_examples=150)
@given(instruction=st.sampled_from(sorted(GIVEN)), reply=REPLIES)
@example(instruction="startend:start_emoji", reply="")
def test_reference_raises_nothing_else(instruction: str, reply: str) -> None:
    """Any text gets yes or no in reference mode; only an empty reply to the emoji instruction stops it."""
    try:
        answer: object = follows(instruction, GIVEN[instruction], reply, "reference")
    except IndexError:
        assert instruction == "startend:start_emoji"
        assert not reply.strip()
    else:
        assert isinstance(answer, bool)


@settings(deadline=None, max_examples=150)
@given(instruction=st.sampled_from(sorted(GIVEN)), reply=REPLIES)
@example(instruction="startend:start_emoji", reply="")
def test_strict_raises_nothing(instruction: str, reply: str) -> None:
    """Any text gets yes or no in strict mode."""
    assert isinstance(follows(instruction, GIVEN[instruction], reply, "strict"), bool)
