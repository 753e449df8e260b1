"""What the judge is asked about a reply, and how its verdict is read (paper section 4.1).

The paper's judge prompts are pictures that were never released as text: these are our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmtests.benchmark import Judging, score_of
from mmtests.dialogue import Item, Message, Part, Text
from mmtests.errors import UserError
from mmtests.image import Image
from mmtests.mmrc.metrics import EP, IMP, RP, ep, imp, rp
from mmtests.mmrc.questions import TRUTH, Question
from mmtests.mmrc.tasks import ABILITIES, AR, IE, IM, SCALE
from mmtests.rubric import JudgeRequest, Rubric, load_rubric
from mmtests.score import Mode
from mmtests.verdict import Reading, Unreadable, read_object

ACCURACY = "accuracy"
"""The dimension of the rule for multiple-choice and true/false questions: 0 or 1."""

_CONVERSATION = "{conversation}"
_PLACES = ("conversation", "question", "options", "answer", "reply")
_MORE = {IE: "items", IM: "pictures", AR: "expected"}
"""The place that only this ability's rubric has."""
_FOLDER = "mmrc"
RUBRIC_FILES = tuple(f"{_FOLDER}/{ability}.md" for ability in ABILITIES)


def load_rubrics(override: Path | None) -> dict[str, Rubric]:
    """Our rubrics by ability; those that the folder ``override`` has in a folder ``mmrc`` take their place.

    Raises:
        UserError: a file there that is none of the six, or a rubric that lacks a place.
    """
    own = Path(__file__).parent / "rubrics"
    theirs = override / _FOLDER if override is not None and (override / _FOLDER).is_dir() else None
    names = {f"{ability}.md" for ability in ABILITIES}
    if theirs is not None and (strange := sorted(one.name for one in theirs.iterdir() if one.name not in names)):
        raise UserError(f"{theirs / strange[0]}: no rubric is called so. Those of MMRC are {', '.join(sorted(names))}.")
    rubrics = {}
    for ability in ABILITIES:
        places = (*_PLACES, *([_MORE[ability]] if ability in _MORE else []))
        name = f"{ability}.md"
        given = theirs if theirs is not None and (theirs / name).is_file() else None
        rubrics[ability] = rubric = load_rubric(ability, own, places, given, name)
        if rubric.template.count(_CONVERSATION) > 1:
            raise UserError(f"{rubric.source}: the place {_CONVERSATION} stands twice. It must stand once.")
    return rubrics


def judged(item: Item, reply: str, sent: Sequence[Message], rubrics: Mapping[str, Rubric], mode: Mode) -> Judging:
    """One question to the judge; beside its score, the rule's for questions with options."""
    question = question_of(item)
    verdict = yield judge_request(item, reply, sent, rubrics)
    score = score_of(verdict, SCALE, mode)
    right = question.accuracy(reply)
    return score if right is None else replace(score, dimensions={**score.dimensions, ACCURACY: right})


def question_of(item: Item) -> Question:
    """The question that an item asks."""
    question: Question = item.turn.facts["question"]
    return question


def judge_request(item: Item, reply: str, sent: Sequence[Message], rubrics: Mapping[str, Rubric]) -> JudgeRequest:
    """One user message: the ability's rubric, with the conversation and its pictures in their place."""
    question = question_of(item)
    rubric = rubrics[question.ability]
    values = {
        "question": question.text,
        "options": question.options or ("(an open question)" if question.right is None else "\n".join(TRUTH)),
        "answer": question.answer,
        "reply": reply,
        "items": "\n".join(f"- {one}" for one in question.items) or "(not listed)",
        "pictures": ", ".join(map(str, question.pictures)) or "(not given)",
        "expected": "yes" if question.refuse else "no",
    }
    # The pictures keep the conversation from being filled in as a text; and no text put in before may hold its place.
    head, _, tail = rubric.template.partition(_CONVERSATION)
    before, after = (replace(rubric, template=part).fill(**values) for part in (head, tail))
    parts = (Text(before), *conversation(item, sent), Text(after))
    return JudgeRequest(
        question.ability, (Message("user", parts),), SCALE, partial(read_verdict, question=question)
    )  # fmt: skip


def conversation(item: Item, sent: Sequence[Message]) -> list[Part]:
    """What the user said and showed, and what the model was told that it had replied.

    The pictures are the data's own, numbered over the conversation, also where the model got none (``blind``) or
    changed ones; the judge must know what is true.
    """
    replies = [message.text for message in sent if message.role == "assistant"]
    parts: list[Part] = []
    number = 0
    for turn, (user, said) in enumerate(zip(item.dialogue.facts["shown"], replies, strict=True), 1):
        parts.append(Text(f"Turn {turn}\nUser: "))
        for part in user.parts:
            if isinstance(part, Image):
                number += 1
                parts.append(Text(f"[picture {number}] "))
            parts.append(part)
        parts.append(Text(f"\nAssistant: {said.strip()}\n\n"))
    return parts


def read_verdict(text: str, question: Question) -> Reading:
    """The score, and the objective metric where the data allows for one.

    Raises:
        Unreadable: no score from 0 to 5, or not what the metric needs.
    """
    reading, found = read_object(text, SCALE)
    value: float | None = None
    if question.metric == EP:
        value = _ep(found, question)
    elif question.metric == IMP:
        value = imp(_numbers(found), question.pictures)
    elif question.metric == RP:
        value = rp([_truth(found)], [question.refuse])
    return (
        reading if value is None or question.metric is None else replace(reading, dimensions={question.metric: value})
    )


def _ep(found: Mapping[str, Any], question: Question) -> float | None:
    """The judge knows a gold item in other words; one in the very words is one whatever the judge says."""
    items, matched = _texts(found, "Items"), _texts(found, "Matched")
    if strange := [one for one in matched if ep([one], items) != 1]:
        raise Unreadable(f"'Matched' has {strange[0]!r}, which is not in 'Items'")
    return ep(items, [*question.items, *matched])


def _texts(found: Mapping[str, Any], name: str) -> list[str]:
    value = _value(found, name)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Unreadable(f"{name!r} is not a list of strings: {value!r}")
    return [one for one in value if one.strip()]


def _numbers(found: Mapping[str, Any]) -> list[int]:
    value = _value(found, "Images")
    if not isinstance(value, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in value):
        raise Unreadable(f"'Images' is not a list of whole numbers: {value!r}")
    return value


def _truth(found: Mapping[str, Any]) -> bool:
    value = _value(found, "Refused")
    if not isinstance(value, bool):
        raise Unreadable(f"'Refused' is neither true nor false: {value!r}")
    return value


def _value(found: Mapping[str, Any], name: str) -> Any:
    if name.casefold() not in found:
        raise Unreadable(f"the JSON object has no {name!r}")
    return found[name.casefold()]
