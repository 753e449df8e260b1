"""Scripts for the loopback server: what it answers to which turn of the embedded sample."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from mmtests.dialogue import SINGLE, Setting, turn_id
from mmtests.mt_eval import MTEval
from tests.loopback import Answer, Behaviour, verdict

Script = Callable[[str, int], Answer | None]
"""From a turn's id and how often it was asked before to an answer; None for a good one."""

MAX_CONTEXT = b"""{"error": {"code": "context_length_exceeded",
    "message": "This model's maximum context length is 4096 tokens. You asked for 5000."}}"""


def good(turn: str, before: int) -> Answer | None:
    """Nothing goes wrong."""
    return None


def scripted(model: Script = good, judge: Script = good, setting: Setting = SINGLE) -> Behaviour:
    """A server that is both the model and the judge.

    A good reply names its turn, so that the judge's prompt tells which one is judged. A good verdict is a 9.

    Args:
        setting: of the turns that are asked; the same messages may stand for a turn of another setting, too.
    """
    name_of = {
        tuple(one.user.text for one in dialogue.turns[: turn.number]): turn_id(dialogue, turn)
        for dialogue in MTEval().load(MTEval.sample, (setting,)).dialogues
        for turn in dialogue.turns
    }
    asked: Counter[tuple[str, str]] = Counter()

    def behave(request: dict[str, Any]) -> Answer:
        if request["model"] == "judge":
            turn = judged_turn(request)
            answer, fine = judge(turn, asked["judge", turn]), verdict(9)
        else:
            turn = name_of[tuple(m["content"] for m in request["messages"] if m["role"] == "user")]
            answer, fine = model(turn, asked["model", turn]), Answer(f"This is said at {turn}.")
        asked[request["model"] if request["model"] == "judge" else "model", turn] += 1
        return answer or fine

    return behave


def judged_turn(request: dict[str, Any]) -> str:
    """The turn whose reply the judge was shown."""
    return str(re.findall(r"said at (\S+/turn-\d\d)", request["messages"][0]["content"])[-1])


def of_model(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests to the model under test."""
    return [request for request in requests if request["model"] != "judge"]


def of_judge(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests to the judge."""
    return [request for request in requests if request["model"] == "judge"]
