"""The judge sees the whole conversation and the gold answer, and its verdict is read for the score and the metric."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mmtests.dialogue import BLIND, GOLD, MULTI, Item, Message, Setting, Text
from mmtests.errors import UserError
from mmtests.image import Image
from mmtests.mmrc.judging import judge_request, judged, load_rubrics, read_verdict
from mmtests.mmrc.questions import Question
from mmtests.mmrc.tasks import ABILITIES, TASKS
from mmtests.policies import combined
from mmtests.rubric import Rubric
from mmtests.score import Scale, Score, Verdict
from mmtests.verdict import Reading, Unreadable
from tests.mmrc.data import Json, chosen, conversation, items, question

BARE: Mapping[str, Rubric] = {
    ability: Rubric(
        ability,
        "{reply}|{conversation}|Q:{question}|O:{options}|A:{answer}|I:{items}|P:{pictures}|E:{expected}",
        "test",
    )
    for ability in ABILITIES
}
"""Rubrics that show what is put in their places, and nothing else."""


def sent(item: Item, *replies: str) -> list[Message]:
    """What the model was given, with these replies in its history."""
    messages = []
    for turn, said in zip(item.dialogue.turns, [*replies, None], strict=True):
        messages.append(turn.user)
        if said is not None:
            messages.append(Message.of("assistant", said))
    return messages


def parts(item: Item, reply: str, *replies: str, rubrics: Mapping[str, Rubric] = BARE) -> Message:
    """The one message that the judge gets."""
    (message,) = judge_request(item, reply, sent(item, *(replies or ("Own 1.", "Own 2.", "Own 3."))), rubrics).prompt
    return message


CONVERSATION = """Turn 1
User: [picture 1] <image>Look at this.
Assistant: Own 1.

Turn 2
User: It is my uncle's.
Assistant: Own 2.

Turn 3
User: [picture 2] <image>
Assistant: Own 3.

"""


@pytest.mark.parametrize("setting", [MULTI, GOLD, BLIND])
def test_the_conversation(tmp_path: Path, setting: Setting) -> None:
    """In every setting the judge sees what the user showed, numbered, and what the model took for its own replies."""
    (item,) = items(tmp_path, conversation(), setting)

    message = parts(item, "The reply.")

    assert message.role == "user"
    assert (
        message.shown
        == f"The reply.|{CONVERSATION}|Q:What is it?|O:(an open question)|A:A boat.|I:(not listed)|P:(not given)|E:no"
    )
    assert [image.place.partition("(")[2] for image in message.images] == [
        "field turns[0].user.images[0])", "field turns[2].user.images[0])",
    ]  # fmt: skip


def test_pictures_stand_in_their_places(tmp_path: Path) -> None:
    """Within a text, too; and pictures that were put together for the model are apart for the judge."""
    turn = {"user": {"text": "First <image>, then <image>.", "images": ["c1/1.png", "c1/2.png"]}, "assistant": "Yes."}
    (item,) = items(tmp_path, conversation(turns=[turn]))
    together = Item(combined(item.dialogue), combined(item.dialogue).turns[-1])

    shown = [parts(one, "R", "Own.").shown for one in (item, together)]

    assert "User: First [picture 1] <image>, then [picture 2] <image>.\nAssistant: Own.\n" in shown[0]
    assert shown[0] == shown[1]
    assert len(together.dialogue.turns[0].user.images) == 1


def test_nothing_inserted_is_expanded(tmp_path: Path) -> None:
    """Places within a reply, a question or the conversation are text."""
    row = conversation(question(question="{reply} {conversation} {answer}?"))
    (item,) = items(tmp_path, row)

    shown = parts(item, "{conversation} {answer}", "{reply}", "{question}", "").shown

    assert shown.startswith("{conversation} {answer}|Turn 1\n")
    assert "Assistant: {reply}\n" in shown
    assert "|Q:{reply} {conversation} {answer}?|" in shown


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (chosen(), "O:A. a boat\nB. a tree\nC. a house|A:B. a tree|"),
        (question(format="true-false", answer=False), "O:True\nFalse|A:False|"),
        (question("IE", answer_items=["tea", "green milk"]), "I:- tea\n- green milk|"),
        (question("IM", answer_images=[1, 2]), "P:1, 2|"),
        (question("AR"), "E:yes"),
        (question("AR", should_refuse=False), "E:no"),
    ],
)
def test_what_the_ability_demands(tmp_path: Path, asked: Json, shown: str) -> None:
    """Options, gold items, gold pictures, and whether to decline."""
    (item,) = items(tmp_path, conversation(asked))

    assert shown in parts(item, "R").shown


@pytest.mark.parametrize("ability", ABILITIES)
def test_our_own_rubrics(tmp_path: Path, ability: str) -> None:
    """Every place is filled, the conversation is there with its pictures, and the scale is the paper's."""
    (item,) = items(tmp_path, conversation(question(ability)))
    rubrics = load_rubrics(None)

    message = parts(item, "The reply.", rubrics=rubrics)

    assert rubrics[ability].source == "mmtests"
    assert CONVERSATION in message.shown
    assert not any("{" + place + "}" in message.shown for place in ("reply", "question", "options", "answer", "items"))
    assert not any("{" + place + "}" in message.shown for place in ("pictures", "expected", "conversation"))
    assert '"Score": <integer from 0 to 5>' in message.shown
    assert (TASKS[ability].scale, TASKS[ability].threshold, TASKS[ability].max_new_tokens) == (Scale(0, 5), 3.0, 256)
    assert sum(isinstance(part, Image) for part in message.parts) == 2
    assert all(part.text for part in message.parts if isinstance(part, Text))


def test_other_rubrics(tmp_path: Path) -> None:
    """Those in a folder ``mmrc`` take the place of ours, one by one; a folder without it changes nothing."""
    assert load_rubrics(tmp_path) == load_rubrics(None)

    (tmp_path / "mmrc").mkdir()
    (tmp_path / "mmrc/CR.md").write_text("{conversation} {question} {options} {answer} {reply}")
    rubrics = load_rubrics(tmp_path)

    assert rubrics["CR"].source == str(tmp_path / "mmrc/CR.md")
    assert {ability for ability, rubric in rubrics.items() if rubric.source == "mmtests"} == set(ABILITIES) - {"CR"}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("cr.md", "x", r"cr\.md: no rubric is called so\. .* CR\.md"),
        ("CR.md", "{conversation} {question} {options} {answer}", r"no place \{reply\}"),
        ("IE.md", "{conversation} {question} {options} {answer} {reply}", r"no place \{items\}"),
        ("CR.md", "{conversation} {conversation} {question} {options} {answer} {reply}", "stands twice"),
    ],
)
def test_bad_rubrics(tmp_path: Path, name: str, text: str, problem: str) -> None:
    """A name that is none, and a place that is missing or there twice."""
    (tmp_path / "mmrc").mkdir()
    (tmp_path / "mmrc" / name).write_text(text)

    with pytest.raises(UserError, match=problem):
        load_rubrics(tmp_path)


# Reading verdicts


def asked(ability: str, **more: Any) -> Question:
    """A question of which only the verdict matters."""
    return Question(ability, "open", "?", "!", **more)


EP_QUESTION = asked("IE", items=("tea", "milk"))
IMP_QUESTION = asked("IM", pictures=(1, 2))
RP_QUESTION = asked("AR", refuse=True)


@pytest.mark.parametrize(
    ("question", "more", "dimensions"),
    [
        (EP_QUESTION, {"Items": ["tea", "milk"], "Matched": ["tea", "milk"]}, {"EP": 1.0}),
        (EP_QUESTION, {"Items": ["a cup of tea", "salt"], "Matched": ["a cup of tea"]}, {"EP": 0.5}),
        (EP_QUESTION, {"Items": ["Tea", "salt"], "Matched": []}, {"EP": 0.5}),
        (EP_QUESTION, {"items": ["salt"], "matched": []}, {"EP": 0.0}),
        (EP_QUESTION, {"Items": [], "Matched": []}, {}),
        (EP_QUESTION, {"Items": [" "], "Matched": []}, {}),
        (IMP_QUESTION, {"Images": [2, 1]}, {"IMP": 1.0}),
        (IMP_QUESTION, {"Images": [2, 7]}, {"IMP": 0.5}),
        (IMP_QUESTION, {"Images": []}, {"IMP": 0.0}),
        (RP_QUESTION, {"Refused": True}, {"RP": 1.0}),
        (RP_QUESTION, {"Refused": False}, {"RP": 0.0}),
        # what the data does not need is not read
        (asked("IE"), {}, {}),
        (asked("IE"), {"Items": 3}, {}),
        (asked("IM"), {"Images": "two"}, {}),
        (asked("AR"), {"Refused": "yes"}, {}),
        (asked("CR", items=("tea",)), {}, {}),
    ],
)
def test_readings(question: Question, more: Json, dimensions: dict[str, float]) -> None:
    """The metric comes from the lists by its formula; where it is undefined there is none."""
    reading = read_verdict(json.dumps({"Rationale": "ok", **more, "Score": 4}), question)

    assert reading == Reading(4, "ok", "strict", dimensions=dimensions)


@pytest.mark.parametrize(
    ("question", "more", "fault"),
    [
        (EP_QUESTION, {}, "no 'Items'"),
        (EP_QUESTION, {"Items": ["tea"]}, "no 'Matched'"),
        (EP_QUESTION, {"Items": "tea", "Matched": []}, "'Items' is not a list of strings: 'tea'"),
        (EP_QUESTION, {"Items": ["tea", 1], "Matched": []}, "'Items' is not a list of strings"),
        (EP_QUESTION, {"Items": ["tea"], "Matched": ["milk"]}, "'Matched' has 'milk', which is not in 'Items'"),
        (EP_QUESTION, {"Items": None, "Matched": []}, "'Items' is not a list"),
        (IMP_QUESTION, {}, "no 'Images'"),
        (IMP_QUESTION, {"Images": 1}, "'Images' is not a list of whole numbers: 1"),
        (IMP_QUESTION, {"Images": ["1"]}, "'Images' is not a list of whole numbers"),
        (IMP_QUESTION, {"Images": [True]}, "'Images' is not a list of whole numbers"),
        (IMP_QUESTION, {"Images": [1.5]}, "'Images' is not a list of whole numbers"),
        (RP_QUESTION, {}, "no 'Refused'"),
        (RP_QUESTION, {"Refused": "true"}, "'Refused' is neither true nor false: 'true'"),
        (RP_QUESTION, {"Refused": 1}, "'Refused' is neither true nor false"),
    ],
)
def test_unreadable_metrics(question: Question, more: Json, fault: str) -> None:
    """What the metric needs and is not there, or of another type, makes the verdict unreadable, in words for the judge."""
    with pytest.raises(Unreadable, match=fault.replace("[", r"\[")):
        read_verdict(json.dumps({"Rationale": "ok", **more, "Score": 4}), question)


@pytest.mark.parametrize("score", [-1, 6, "five", None, True])
def test_unreadable_scores(score: object) -> None:
    """Only 0 to 5 is a score."""
    with pytest.raises(Unreadable):
        read_verdict(json.dumps({"Rationale": "ok", "Score": score}), asked("CR"))


@pytest.mark.parametrize("score", [0, 5, 2.5, "3"])
def test_readable_scores(score: object) -> None:
    """Both ends of the scale, and between."""
    assert read_verdict(json.dumps({"Rationale": "ok", "Score": score}), asked("CR")).value == float(str(score))


def test_a_lenient_verdict_has_its_metric() -> None:
    """A fence or single quotes around the object lose nothing of it."""
    text = "Here:\n```json\n{'Rationale': 'ok', 'Images': [1], 'Score': 3,}\n```"

    assert read_verdict(text, IMP_QUESTION) == Reading(3, "ok", "lenient", dimensions={"IMP": 0.5})


# The score


def score(item: Item, reply: str, verdict: Verdict) -> Score:
    """The score that a verdict leads to."""
    judging = judged(item, reply, sent(item, "a", "b", "c"), BARE, "reference")
    next(judging)
    with pytest.raises(StopIteration) as end:
        judging.send(verdict)
    value: Score = end.value.value
    return value


@pytest.mark.parametrize(("reply", "right"), [("B", 1.0), ("A", 0.0), ("B or C", 0.0)])
def test_accuracy_stands_beside_the_score(tmp_path: Path, reply: str, right: float) -> None:
    """The rule and the judge may differ: each has its say."""
    (item,) = items(tmp_path, conversation(chosen()))

    one = score(item, reply, Verdict(4, "ok", "j", "raw", "strict", dimensions={"IMP": 0.5}))

    assert (one.value, one.scorer, one.scale) == (4, "judge:j", Scale(0, 5))
    assert one.dimensions == {"IMP": 0.5, "accuracy": right}


def test_an_open_question_has_no_accuracy(tmp_path: Path) -> None:
    """There is nothing to pick."""
    (item,) = items(tmp_path, conversation())

    assert score(item, "B", Verdict(4, "ok", "j", "raw", "strict")).dimensions == {}
