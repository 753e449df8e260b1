"""The two scores of MMReason (paper sections 3 and 4): the final answer, and the steps that lead to it."""

from __future__ import annotations

from mmtests.benchmark import Task
from mmtests.score import Scale

ANSWER = "answer"
STEPS = "steps"

SCALE = Scale(0, 1)

_MAX_NEW_TOKENS = 2048
"""Of our own choice: VLMEvalKit leaves the limit to each model's wrapper. It is the same for both tasks, as they score
the same reply."""

TASKS = {
    ANSWER: Task(ANSWER, "Final answer", SCALE, threshold=1.0, judged=True, max_new_tokens=_MAX_NEW_TOKENS),
    STEPS: Task(STEPS, "Steps", SCALE, threshold=0.5, judged=True, max_new_tokens=_MAX_NEW_TOKENS),
}
