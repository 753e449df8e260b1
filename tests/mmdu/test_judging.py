"""The judge is shown what the official script shows it, and its verdict is read as that reads it, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.dialogue import BLIND, GOLD, MULTI, Item, Text
from mmtests.errors import UserError
from mmtests.mmdu import MMDU
from mmtests.mmdu.judging import judge_request, load_rubrics, read_verdict
from mmtests.mmdu.tasks import DIMENSIONS, KEYS, OVERALL
from mmtests.policies import combined, resized
from mmtests.rubric import Rubric
from mmtests.score import Mode, Scale, Verdict
from mmtests.verdict import Unreadable
from tests.mmdu.data import TAG, boats, loaded, verdict

MODES: tuple[Mode, ...] = ("reference", "strict")
BARE = {"dialogue": Rubric("dialogue", "Q:{question}|R:{reference}|A:{answer}", "test")}
"""A rubric that shows what is put in its places, and nothing else."""


def items(folder: Path, setting: str = MULTI) -> list[Item]:
    """The three items of ``boats``."""
    (dialogue,) = loaded(folder, boats(), settings=[setting])
    return list(dialogue.items)


# What is asked


@pytest.mark.parametrize("setting", [MULTI, GOLD, BLIND])
def test_the_prompt(tmp_path: Path, setting: str) -> None:
    """The question with its tags, the reference and the reply; then all images of the dialogue, whatever the turn, even
    where the model saw none."""
    for number, item in enumerate(items(tmp_path, setting)):
        request = judge_request(item, f"Reply {number}.", BARE, "reference")

        (message,) = request.prompt
        text, *images = message.parts
        question, reference = [
            (f"Image1: {TAG}. Image2: {TAG}. What do they share?", "Both are squares."),
            ("Which is warmer?", "The first."),
            (f"{TAG} And this?", "Cold."),
        ][number]
        assert message.role == "user"
        assert text == Text(f"Q:{question}|R:{reference}|A:Reply {number}.")
        assert tuple(images) == item.dialogue.facts["images"]
        assert len(images) == 3
        assert request.scale == Scale(0, 10)
        assert request.temperatures == ()


def test_the_judge_sees_the_images_themselves(tmp_path: Path) -> None:
    """Where the model is shown smaller or joined pictures, the judge still sees the dialogue's own."""
    (dialogue,) = loaded(tmp_path, boats())
    changed = resized(combined(dialogue), 4)

    (message,) = judge_request(next(changed.items), "?", BARE, "reference").prompt

    assert changed.turns != dialogue.turns
    assert message.images == dialogue.facts["images"]


def test_braces_in_a_reply(tmp_path: Path) -> None:
    """A reply that holds a place of the template is shown as it is."""
    item = items(tmp_path)[1]

    (message,) = judge_request(item, "{reference} {question}", BARE, "reference").prompt

    assert message.text == "Q:Which is warmer?|R:The first.|A:{reference} {question}"


def test_an_empty_reference(tmp_path: Path) -> None:
    """A turn without a reference is judged with an empty one."""
    record = boats()
    record["conversations"][3]["value"] = ""
    (dialogue,) = loaded(tmp_path, record)

    (message,) = judge_request(list(dialogue.items)[1], "Red.", BARE, "reference").prompt

    assert message.text == "Q:Which is warmer?|R:|A:Red."


def test_our_rubric() -> None:
    """It asks for all seven numbers by their names, and shows question, reference and reply once each."""
    rubric = load_rubrics(None)["dialogue"]

    assert all(rubric.template.count(f'"{key}"') == 2 for key in KEYS)
    assert all(rubric.template.count(place) == 1 for place in ("{question}", "{reference}", "{answer}"))
    assert rubric.source == "mmtests"
    filled = rubric.fill(question="Q!", reference="R!", answer="A!")
    assert filled.index("Q!") < filled.index("R!") < filled.index("A!")


def test_the_official_rubric(tmp_path: Path) -> None:
    """A folder with the official prompt takes the place of our own; without it, or without a place, it is refused."""
    with pytest.raises(UserError, match=r"mmdu_evaluation\.txt"):
        load_rubrics(tmp_path)
    path = tmp_path / "mmdu_evaluation.txt"
    path.write_text("[Question]\n{question}\n{answer}", encoding="utf-8")
    with pytest.raises(UserError, match=r"no place \{reference\}"):
        load_rubrics(tmp_path)
    path.write_text("{question}{reference}{answer}", encoding="utf-8")

    assert load_rubrics(tmp_path)["dialogue"].template == "{question}{reference}{answer}"


# How the answer is read


def test_a_whole_verdict() -> None:
    """The overall score is the value, the six are its dimensions, in the paper's order."""
    numbers = dict(zip(KEYS, (1, 2, 3, 4, 5, 6, 9), strict=True))

    for mode in MODES:
        reading = read_verdict(json.dumps({"Rationale": "So.", **numbers}), mode)
        assert reading.value == 9
        assert tuple(reading.dimensions) == DIMENSIONS
        assert tuple(reading.dimensions.values()) == (1, 2, 3, 4, 5, 6)
        assert (reading.rationale, reading.read) == ("So.", "strict")
        assert reading.by_mode == {"reference": 9, "strict": 9}


@given(st.lists(st.integers(0, 10), min_size=7, max_size=7))
def test_any_whole_numbers(numbers: list[int]) -> None:
    """Whole numbers on the scale are read alike in both modes, as JSON and as the official prompt has them."""
    scores = dict(zip(KEYS, numbers, strict=True))

    for text in (json.dumps(scores), f"I think so.\n{scores}", f"```json\n{json.dumps(scores, indent=1)}\n```"):
        for mode in MODES:
            reading = read_verdict(text, mode)
            assert {**reading.dimensions, OVERALL: reading.value} == scores
            assert reading.by_mode == {"reference": scores[OVERALL], "strict": scores[OVERALL]}
            assert reading.read == "strict"


@pytest.mark.parametrize(
    ("written", "by_reference", "by_strict"),
    [(7.9, 7, 7.9), ("8", 8, 8), (0.5, 0, 0.5), (10, 10, 10), (0, 0, 0), (" 8 ", 8, 8), (10.0, 10, 10)],
)
@pytest.mark.parametrize("key", ["Creativity", OVERALL])
def test_a_number_in_both_modes(key: str, written: object, by_reference: float, by_strict: float) -> None:
    """Reference mode makes numbers whole, as the official parsers do; strict mode takes what is written."""
    text = verdict(6, **{key: written})

    for mode, expected in (("reference", by_reference), ("strict", by_strict)):
        reading = read_verdict(text, mode)  # type: ignore[arg-type]
        assert (reading.value if key == OVERALL else reading.dimensions[key]) == expected
        assert reading.read == "strict"
        if key == OVERALL:
            assert reading.by_mode == {"reference": by_reference, "strict": by_strict}


@pytest.mark.parametrize(
    ("text", "value", "official"),
    [
        (verdict(7).lower(), 7, None),
        (verdict(7, **{OVERALL: "7.9"}), 7.9, None),
        (verdict(7, Creativity="7.0"), 7, 7),
        (verdict(7, Rationale=None), 7, None),
        (f"On {{x}} I think: {verdict(7)}", 7, None),
        (verdict(7)[:-1] + ",}", 7, 7),
        (f"{verdict(7)} and again {verdict(7)}", 7, None),
    ],
    ids=["lower case", "fraction as text", "dimension as text", "null", "braces before", "trailing comma", "twice"],
)
def test_what_the_official_parsers_miss(text: str, value: float, official: float | None) -> None:
    """What they would drop is read leniently where nothing needs to be guessed, and the reading says so."""
    reading = read_verdict(text, "reference")

    assert reading.value == value
    assert reading.by_mode["reference"] == official
    assert reading.read == ("strict" if text.endswith(",}") else "lenient")
    assert set(reading.dimensions) == set(DIMENSIONS)


def lacking(key: str) -> str:
    """A verdict without one of its numbers."""
    thing = json.loads(verdict())
    del thing[key]
    return json.dumps(thing)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        *((lacking(key), f"no '{key}'") for key in KEYS),
        *((verdict(7, **{key: 11}), f"'{key}' is 11, outside the scale 0-10") for key in KEYS),
        (verdict(7, **{OVERALL: -1}), "'Overall Score' is -1, outside the scale 0-10"),
        (verdict(7, Richness=10.5), "'Richness' is 10.5, outside the scale 0-10"),
        (verdict(7, Richness=-0.5), "'Richness' is -0.5, outside the scale 0-10"),
        (verdict(7, Richness="high"), "'Richness' is not a number: 'high'"),
        (verdict(7, Richness=None), "no 'Richness'"),
        (verdict(7, Richness=True), "'Richness' is not a number: True"),
        (verdict(7, Richness={"score": 7}), "'Richness' is not a number"),
        (verdict(7, Richness=[7]), "'Richness' is not a number"),
        ("Overall Score: 7", "no JSON object"),
        ("", "no JSON object"),
        (f"{verdict(7)} or rather {verdict(8)}", "several JSON objects with different values"),
        ("{'Creativity': 7} and {'Overall Score': 5}", "no 'Richness'"),
        (verdict(7).replace('"Creativity": 7', '"Creativity": 3+5'), "no JSON object"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_unreadable(text: str, fault: str, mode: Mode) -> None:
    """A verdict in which a number is missing, out of range or unclear is refused in words that a judge can act on."""
    with pytest.raises(Unreadable, match=fault):
        read_verdict(text, mode)


def test_a_quoted_verdict() -> None:
    """A verdict that the reply under judgement holds, quoted by a judge that then gives its own, is not taken for it."""
    with pytest.raises(Unreadable, match="different values"):
        read_verdict(f"The response says {verdict(10)}, which is absurd. {verdict(2)}", "reference")


def test_the_explanation_before_the_numbers() -> None:
    """What the official prompt wants said before the dictionary becomes the rationale."""
    text = f"Creativity: little new.\nOverall: fair.\n```python\n{dict.fromkeys(KEYS, 6)}\n```"

    assert read_verdict(text, "reference").rationale == "Creativity: little new.\nOverall: fair."


def test_the_score(tmp_path: Path) -> None:
    """One question to the judge; its overall score is the item's score and keeps the dimensions."""
    judging = MMDU().judge(items(tmp_path)[0], "Both are square.", (), BARE, "reference")
    request = next(judging)
    reading = request.read(verdict(8, Creativity=3))
    given_: Any = Verdict(
        reading.value, reading.rationale, "j", "raw", reading.read, by_mode=reading.by_mode,
        dimensions=reading.dimensions,
    )  # fmt: skip

    with pytest.raises(StopIteration) as end:
        judging.send(given_)

    score = end.value.value
    assert (score.value, score.scorer, score.scale) == (8, "judge:j", Scale(0, 10))
    assert score.dimensions == {**dict.fromkeys(DIMENSIONS, 8), "Creativity": 3}
    assert score.explanation == "Because."
