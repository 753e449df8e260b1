"""The judge is asked what the official script asks, and its verdict is read as that reads it, or better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmtests.dialogue import GOLD, MULTI, SINGLE, Item, Message
from mmtests.errors import UserError
from mmtests.mt_eval.judging import constraints, document, judge_request, load_rubrics, parse_officially, read_verdict
from mmtests.rubric import Rubric
from mmtests.score import Mode, Scale
from mmtests.verdict import Unreadable
from tests.mt_eval.data import DOCUMENT, OPENING, follow_up, items, refinement, turn

MODES: tuple[Mode, ...] = ("reference", "strict")

COUNTED = "C:{content}|R:{response}|W:{num_words}|S:{num_sent}|K:{constraints}"
BARE: Mapping[str, Rubric] = {
    name: Rubric(name, template, "test")
    for name, template in {
        "refinement_multi": COUNTED,
        "refinement_single": COUNTED,
        "expansion": "C:{content}|K:{constraints}|R:{response}",
        "follow-up": "{conversation}|W:{num_words}|S:{num_sent}",
    }.items()
}
"""Rubrics that show what is put in their places, and nothing else."""

OFFICIAL_FILES = {
    "refinement_multi_evaluation.txt": COUNTED,
    "refinement_single_evaluation.txt": COUNTED,
    "expansion_evaluation.txt": "{content} {constraints} {response}",
    "mt-bench_evaluation.txt": "{conversation} {num_words} {num_sent}",
}


def prompt(
    item: Item,
    reply: str,
    mode: Mode = "reference",
    sent: Sequence[Message] = (),
    rubrics: Mapping[str, Rubric] = BARE,
) -> str:
    """The one message that the judge gets."""
    (message,) = judge_request(item, reply, sent, rubrics, mode).prompt
    return message.text


def parsed(text: str) -> int | str:
    """What the official parser makes of a reply, as the worked examples write it."""
    try:
        score = parse_officially(text)
    except (KeyError, TypeError, ValueError) as error:
        return f"raises {type(error).__name__}"
    return "dropped" if score is None else score


def test_worked_examples(reference: Callable[[str], Any]) -> None:
    """The official parser is reproduced: its scores, its dropped items and its exceptions."""
    examples = reference("worked_examples.json")["mteval_judge_parse"]

    wrong = [(case, got) for case in examples if (got := parsed(case["judge_reply"])) != case["score"]]

    assert len(examples) > 0
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{"Rationale":"ok","Score": 7}', 7),
        ('```json\n{"Rationale":"ok","Score": 7}\n```', 7),
        ('```json\n{"Rationale":"ok","Score": "8"}```', 8),
        ('{"Score": 7.9}', 7),
        ('{"Score": 0}', 0),
        ('{"Score": 11}', 11),
        ('```json\n{"Score": 7}\n```\n', "dropped"),
        (' ```json\n{"Score": 7}\n```', "dropped"),
        ("Score: 7", "dropped"),
        ('{"Score": "high"}', "raises ValueError"),
        ('{"score": 7}', "raises KeyError"),
        ('{"Score": null}', "raises TypeError"),
        ("[7]", "raises TypeError"),
    ],
)
def test_the_official_parser(text: str, score: int | str) -> None:
    """A fence is cut off only if it is exactly at the ends, any number is made whole, and no range is checked."""
    assert parsed(text) == score


@pytest.mark.parametrize(
    ("text", "by_reference", "by_strict", "official"),
    [
        ('{"Rationale": "ok", "Score": 7}', 7, 7, 7),
        ('{"Rationale": "ok", "Score": 7.9}', 7, 7.9, 7),
        ('```json\n{"Rationale": "ok", "Score": 7}\n```', 7, 7, 7),
        ('```json\n{"Rationale": "ok", "Score": 7}\n```\n', 7, 7, None),
        ('Sure: {"Rationale": "ok", "Score": 7.9}', 7.9, 7.9, None),
        ('{"Rationale": "ok", "score": 7}', 7, 7, None),
        ('{"Rationale": "ok", "Score": "7.9"}', 7.9, 7.9, None),
        ('{"Rationale": "ok", "Score": 1}', 1, 1, 1),
        ('{"Rationale": "ok", "Score": 10}', 10, 10, 10),
    ],
)
def test_a_verdict_in_both_modes(text: str, by_reference: float, by_strict: float, official: float | None) -> None:
    """Each mode has its value, and the reading tells what the official mean would have counted."""
    readings = {mode: read_verdict(text, mode) for mode in MODES}

    assert readings["reference"].value == by_reference
    assert readings["strict"].value == by_strict
    for reading in readings.values():
        assert reading.by_mode == {"reference": official, "strict": by_strict}
        assert reading.rationale == "ok"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"Rationale": "ok", "Score": 7}', "strict"),
        ('```json\n{"Rationale": "ok", "Score": 7}\n```\n', "lenient"),
    ],
)
def test_how_a_verdict_was_read(text: str, read: str) -> None:
    """A reading says whether the judge kept to the form asked for."""
    assert read_verdict(text, "reference").read == read


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"Rationale": "ok", "Score": 0}', "outside the scale 1-10"),
        ('{"Rationale": "ok", "Score": 0.5}', "outside the scale 1-10"),
        ('{"Rationale": "ok", "Score": 10.5}', "outside the scale 1-10"),
        ('{"Rationale": "ok", "Score": 11}', "outside the scale 1-10"),
        ('{"Rationale": "ok"}', "no 'Score'"),
        ('{"Rationale": "ok", "Score": null}', "no 'Score'"),
        ('{"Rationale": "ok", "Score": "high"}', "not a number"),
        ('{"Rationale": "ok", "Score": Infinity}', "not a number"),
        ("Score: 7", "no JSON object"),
        ("[7]", "no JSON object"),
        ("7", "no JSON object"),
        ("", "no JSON object"),
    ],
)
def test_no_verdict(text: str, says: str, mode: Mode) -> None:
    """A number that is missing or off the scale is no verdict, and the judge is told what is wrong."""
    with pytest.raises(Unreadable, match=says):
        read_verdict(text, mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_verdict_after_a_runaway(mode: Mode) -> None:
    """A verdict within what is nested too deep for the official parser is read, and not counted as official."""
    reading = read_verdict("[" * 15_000 + '{"Score": 7.9}', mode)

    assert (reading.value, reading.by_mode) == (7.9, {"reference": None, "strict": 7.9})


@pytest.mark.parametrize("mode", MODES)
def test_the_request_reads_in_its_mode(tmp_path: Path, mode: Mode) -> None:
    """A request carries the scale of the judged tasks and a reader for its mode."""
    item = items(tmp_path, "refinement_multi.jsonl", refinement(), MULTI)[0]

    request = judge_request(item, "A reply.", (), BARE, mode)

    assert request.scale == Scale(1, 10)
    assert request.read('{"Score": 7.9}').value == {"reference": 7, "strict": 7.9}[mode]
    assert [message.role for message in request.prompt] == ["user"]


def test_constraints_pile_up_and_start_anew(tmp_path: Path) -> None:
    """The instructions so far are numbered, one a line, and begin again at the second NLP task."""
    four = items(tmp_path, "refinement_multi.jsonl", refinement(), MULTI)

    assert [constraints(item) for item in four] == [
        "1. Sum up.",
        "1. Sum up.\n2. Use one line.",
        "1. Who sank?",
        "1. Who sank?\n2. Use one word.",
    ]


def test_a_task_that_comes_back_starts_anew(tmp_path: Path) -> None:
    """The list is emptied whenever the task code changes, even to one that stood before."""
    row = refinement()
    row["conv"].append(turn("Sum up again.", id="3_sum_1", inst="Sum up again."))

    last = items(tmp_path, "refinement_multi.jsonl", row, MULTI)[-1]

    assert constraints(last) == "1. Sum up again."


def test_a_single_instruction_is_not_numbered(tmp_path: Path) -> None:
    """A single turn's instruction is shown as it is, to the single-turn rubric."""
    row = {"id": "3_sum_1", "conv": [turn(OPENING + "Sum up.", id="3_sum_1", inst="Sum up.")]}
    (item,) = items(tmp_path, "refinement_single.jsonl", row, SINGLE)

    request = judge_request(item, "It sank.", (), BARE, "reference")

    assert constraints(item) == "Sum up."
    assert request.rubric == "refinement_single"


def test_gold_history_uses_the_rubric_for_many_turns(tmp_path: Path) -> None:
    """With reference replies as history, the constraints pile up as ever."""
    item = items(tmp_path, "refinement_multi.jsonl", refinement(), GOLD)[1]

    request = judge_request(item, "It sank.", (), BARE, "reference")

    assert request.rubric == "refinement_multi"
    assert constraints(item) == "1. Sum up.\n2. Use one line."


@pytest.mark.parametrize("instruction", ["Sum up.", "Sum up.\n\nIn the form\n\nTopic: x"])
@pytest.mark.parametrize("text", [DOCUMENT, "One line", "Has\n\nInstruction: of its own.\n\nEnd"])
def test_the_document(tmp_path: Path, text: str, instruction: str) -> None:
    """The document is what stands between the opening and the last instruction, for every turn of the dialogue."""
    row = refinement()
    row["conv"][0] |= {"user": f"Content: {text}\n\nInstruction: {instruction}", "inst": instruction}

    four = items(tmp_path, "refinement_multi.jsonl", row, MULTI)

    assert {document(item) for item in four} == {text}


def test_a_refinement_prompt(tmp_path: Path) -> None:
    """The prompt holds the document, the reply as it is, its counts and the constraints."""
    item = items(tmp_path, "refinement_multi.jsonl", refinement(), MULTI)[1]
    reply = " Dr. Fox sailed.  It sank! \n"

    assert prompt(item, reply) == f"C:{DOCUMENT}|R:{reply}|W:5|S:2|K:1. Sum up.\n2. Use one line."


@pytest.mark.parametrize(
    ("reply", "words", "sentences"),
    [("", 0, 0), ("One. Two! Three?", 3, 3), ("Dr. Smith came at 3 p.m. today.", 7, 1), ("a\nb\tc  d", 4, 1)],
)
def test_counts(tmp_path: Path, reply: str, words: int, sentences: int) -> None:
    """Words are what white space parts; sentences are those of an English sentence splitter."""
    item = items(tmp_path, "follow-up_multi.jsonl", follow_up(), MULTI)[0]

    assert prompt(item, reply).endswith(f"|W:{words}|S:{sentences}")


def test_an_expansion_prompt(tmp_path: Path) -> None:
    """Expansion shows one instruction and the stripped reply, in both settings."""
    many = {
        "id": "1",
        "conv": [turn(OPENING + "Sum up.", id="3_sum_1", inst="Sum up."), turn("Names?", id="3_ner_1", inst="Names?")],
    }
    one = {"id": "1#3_ner_1", "conv": [turn(OPENING + "Names?", id="1#3_ner_1", inst="Names?")]}
    last = items(tmp_path, "expansion_multi.jsonl", many, MULTI)[1]
    (alone,) = items(tmp_path, "expansion_single.jsonl", one, SINGLE)

    assert prompt(last, "  None.\n") == f"C:{DOCUMENT}|K:Names?|R:None."
    assert prompt(alone, "  None.\n") == f"C:{DOCUMENT}|K:Names?|R:None."


SENT = [
    Message.of("system", "Be good."),
    Message.of("user", "Name a river."),
    Message.of("assistant", "The Tamar."),
    Message.of("user", " How long is it? "),
    Message.of("assistant", " Some 99 km. "),
    Message.of("user", "And its source?"),
]
"""What the model was given before its last turn: its own reply differs from the reference."""


@pytest.mark.parametrize(
    ("setting", "mode", "said"),
    [
        (MULTI, "reference", "About 98 km."),
        (MULTI, "strict", "Some 99 km."),
        (GOLD, "reference", "About 98 km."),
        (GOLD, "strict", "About 98 km."),
    ],
)
def test_the_last_exchange_of_a_follow_up(tmp_path: Path, setting: str, mode: Mode, said: str) -> None:
    """Officially the judge sees the reference reply before; in strict mode, what the model itself had said."""
    last = items(tmp_path, "follow-up_multi.jsonl", follow_up(), setting)[1]

    conversation = prompt(last, " In Cornwall. ", mode, SENT).partition("|")[0]

    assert conversation.split("\n") == [
        "User: How long is it?",
        f"Assistant: {said}",
        "User: And its source?",
        "Assistant: In Cornwall.",
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_given_turn_comes_first(tmp_path: Path, mode: Mode) -> None:
    """Before the first reply of the model's own stands the given one, in both modes."""
    first = items(tmp_path, "follow-up_multi.jsonl", follow_up(), MULTI)[0]

    assert prompt(first, "98 km.", mode, SENT[:4]).startswith("User: Name a river.\nAssistant: The Tamar.\nUser: How")


def test_a_single_follow_up(tmp_path: Path) -> None:
    """Alone, a question and its reply are two lines."""
    (item,) = items(
        tmp_path, "follow-up_single.jsonl", {"id": "81#3", "conv": [turn("And its source? ", id="81#3")]}, SINGLE
    )

    assert prompt(item, "Woolley Moor.").partition("|")[0] == "User: And its source?\nAssistant: Woolley Moor."


@pytest.mark.parametrize(("mode", "shown"), [("reference", "a\nb"), ("strict", r"a\nb")])
def test_a_literal_line_break(tmp_path: Path, mode: Mode, shown: str) -> None:
    """The official script makes each backslash and n of the prompt a line break; strict mode leaves the reply alone."""
    item = items(tmp_path, "refinement_multi.jsonl", refinement(), MULTI)[0]

    assert f"|R:{shown}|" in prompt(item, r"a\nb", mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_cannot_fill_places(tmp_path: Path, mode: Mode) -> None:
    """A reply that holds the name of a place is shown as it is."""
    item = items(tmp_path, "refinement_multi.jsonl", refinement(), MULTI)[0]
    reply = "{content} {constraints} {num_words} {response}"

    assert f"|R:{reply}|W:4|" in prompt(item, reply, mode)


def test_our_rubric_is_filled(tmp_path: Path) -> None:
    """What our own rubric is filled with stands in it once."""
    ours = load_rubrics(None)
    item = items(tmp_path, "refinement_multi.jsonl", refinement(), MULTI)[1]

    text = prompt(item, "A reply of six words here.", rubrics=ours)

    assert "Words in the response: 6" in text
    assert text.count(DOCUMENT) == 1
    assert text.count("2. Use one line.") == 1


def test_our_rubrics_have_all_places() -> None:
    """Each of the four rubrics has the places that its prompt needs, and is marked as our own."""
    ours = load_rubrics(None)

    assert set(ours) == set(BARE)
    for name, rubric in ours.items():
        assert rubric.source == "mmtests"
        for place in ("content", "response", "num_words", "num_sent", "constraints", "conversation"):
            assert ("{" + place + "}" in rubric.template) is ("{" + place + "}" in BARE[name].template), (name, place)


def official_folder(folder: Path) -> Path:
    """A folder of prompt files named as the official ones."""
    for name, template in OFFICIAL_FILES.items():
        (folder / name).write_text(template, encoding="utf-8")
    return folder


def test_official_rubrics_are_used(tmp_path: Path) -> None:
    """A folder with the official prompt files takes the place of our own rubrics."""
    rubrics = load_rubrics(official_folder(tmp_path))

    assert {rubric.template for rubric in rubrics.values()} == set(OFFICIAL_FILES.values())
    assert {Path(rubric.source).name for rubric in rubrics.values()} == set(OFFICIAL_FILES)


@pytest.mark.parametrize("name", OFFICIAL_FILES)
def test_a_missing_official_rubric(tmp_path: Path, name: str) -> None:
    """A folder without one of the files is refused, by the file's name."""
    (official_folder(tmp_path) / name).unlink()

    with pytest.raises(UserError, match=name):
        load_rubrics(tmp_path)


@pytest.mark.parametrize(
    ("name", "place"),
    [(name, place) for name, text in OFFICIAL_FILES.items() for place in ("constraints", "num_sent") if place in text],
)
def test_an_official_rubric_without_a_place(tmp_path: Path, name: str, place: str) -> None:
    """A prompt file that lacks a place is refused, by the file's name and the place's."""
    path = official_folder(tmp_path) / name
    path.write_text(OFFICIAL_FILES[name].replace("{" + place + "}", ""), encoding="utf-8")

    with pytest.raises(UserError, match=rf"{name}.*no place \{{{place}\}}"):
        load_rubrics(tmp_path)
