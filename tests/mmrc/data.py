"""Small data files in MMRC's format, for tests, and a server that knows the sample's answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mmtests.dialogue import MULTI, Item, Setting
from mmtests.mmrc import MMRC
from mmtests.mmrc.load import load
from mmtests.mmrc.questions import Question
from tests.loopback import Answer, Behaviour

Json = dict[str, Any]

PIXEL = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\x0c"
    b"IDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"
)


def question(ability: str = "MR", **more: Any) -> Json:
    """An open question."""
    return {"ability": ability, "question": "What is it?", "answer": "A boat.", **more}


def chosen(**more: Any) -> Json:
    """A multiple-choice question."""
    choices = ["a boat", "a tree", "a house"]
    return question(**{"format": "multiple-choice", "choices": choices, "answer": "a tree", **more})


def conversation(*questions: Json, **more: object) -> Json:
    """Three turns with two pictures."""
    return {
        "id": "c1",
        "topic": "travel",
        "turns": [
            {"user": {"text": "Look at this.", "images": ["c1/1.png"]}, "assistant": "I see a boat."},
            {"user": "It is my uncle's.", "assistant": "How nice."},
            {"user": {"images": ["c1/2.png"]}, "assistant": "And a tree."},
        ],
        "questions": list(questions) or [question()],
        **more,
    }


def write(folder: Path, *rows: Json, name: str = "mmrc.jsonl") -> Path:
    """Write a data file of JSON lines, and the two pictures."""
    pictures = folder / "images" / "c1"
    pictures.mkdir(parents=True, exist_ok=True)
    for number in (1, 2):
        (pictures / f"{number}.png").write_bytes(PIXEL)
    path = folder / name
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


def items(folder: Path, row: Json, setting: Setting = MULTI) -> list[Item]:
    """The items that a conversation gives in a setting."""
    write(folder, row)
    return [item for dialogue in load(folder, [setting]).dialogues for item in dialogue.items]


# A server for the embedded sample

SAMPLE: tuple[Item, ...] = tuple(
    item for dialogue in MMRC().load(MMRC.sample, [MULTI]).dialogues for item in dialogue.items
)
HISTORY: Mapping[str, str] = {
    turn.user.text.strip(): turn.reference or "" for item in SAMPLE for turn in item.dialogue.turns if not turn.scored
}
"""From what the user says at a history turn to the recorded reply."""
ANSWERS: Mapping[str, str] = {item.turn.user.text: item.turn.reference or "" for item in SAMPLE}
"""From what is asked at last to the gold answer."""
QUESTIONS: Mapping[str, Question] = {item.turn.facts["question"].text: item.turn.facts["question"] for item in SAMPLE}


def said(message: Json) -> str:
    """The text of a message of a request."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def pictures(request: Json) -> int:
    """How many pictures a request has."""
    return sum(
        part["type"] == "image_url"
        for message in request["messages"]
        if not isinstance(message["content"], str)
        for part in message["content"]
    )


def asks_history(request: Json) -> bool:
    """True for a request for the reply of a history turn."""
    return said(request["messages"][-1]).strip() in HISTORY


def question_in(prompt: str) -> Question:
    """The question that a judge's prompt is about."""
    return QUESTIONS[prompt.partition("<question>\n")[2].partition("\n</question>")[0]]


def full_marks(prompt: str) -> Json:
    """A verdict on the gold answer."""
    one = question_in(prompt)
    more: dict[str, Json] = {
        "IE": {"Items": list(one.items), "Matched": list(one.items)},
        "IM": {"Images": list(one.pictures)},
        "AR": {"Refused": True},
    }
    return {"Rationale": "Right.", **more.get(one.ability, {}), "Score": 5}


def no_marks(prompt: str) -> Json:
    """A verdict on nonsense."""
    more: dict[str, Json] = {
        "IE": {"Items": ["a wardrobe"], "Matched": []},
        "IM": {"Images": []},
        "AR": {"Refused": False},
    }
    return {"Rationale": "Nonsense.", **more.get(question_in(prompt).ability, {}), "Score": 0}


def behaving(model: Callable[[str], str], verdict: Callable[[str], Json]) -> Behaviour:
    """A server that is both the model, which knows the last user message, and the judge."""

    def behave(request: Json) -> Answer:
        text = said(request["messages"][-1])
        return Answer(json.dumps(verdict(text)) if request["model"] == "judge" else model(text))

    return behave


def right(text: str) -> str:
    """What the data has for a user message."""
    return ANSWERS.get(text) or HISTORY[text.strip()]
