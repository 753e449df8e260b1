"""The five tasks of MT-Eval and the four abilities they feed (paper section 3 and Table 2)."""

from __future__ import annotations

from mmtests.benchmark import Task
from mmtests.score import Scale

REFINEMENT = "refinement"
EXPANSION = "expansion"
FOLLOW_UP = "follow-up"
RECOLLECTION_CLS = "recollection-cls"
RECOLLECTION_GLOBAL_INST = "recollection-global-inst"

ABILITIES = ("Recollection", "Expansion", "Refinement", "Follow-up")
"""The columns of Table 2, in its order."""
SINGLE_TURN_ABILITIES = ("Recollection", "Expansion", "Refinement")
"""The columns of Table 3, which compares single-turn with multi-turn."""

SYSTEM_PROMPT = "You are a helpful, respectful and honest assistant."
"""The official inference script's default, for every model."""

JUDGED = Scale(1, 10)
RULED = Scale(0, 10)

_MAX_NEW_TOKENS = 1024


def _judged(name: str, ability: str) -> Task:
    return Task(name, ability, JUDGED, threshold=5.0, judged=True, max_new_tokens=_MAX_NEW_TOKENS)


def _ruled(name: str) -> Task:
    return Task(name, "Recollection", RULED, threshold=10.0, judged=False, max_new_tokens=_MAX_NEW_TOKENS)


TASKS = {
    task.name: task
    for task in (
        _ruled(RECOLLECTION_CLS),
        _ruled(RECOLLECTION_GLOBAL_INST),
        _judged(EXPANSION, "Expansion"),
        _judged(REFINEMENT, "Refinement"),
        _judged(FOLLOW_UP, "Follow-up"),
    )
}
