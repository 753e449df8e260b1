"""The six abilities of MMRC, each a task of its own (paper section 3 and Table 3)."""

from __future__ import annotations

from mmtests.benchmark import Task
from mmtests.score import Scale

IE = "IE"
"""Information extraction."""
CR = "CR"
"""Cross-turn reasoning."""
IU = "IU"
"""Information update."""
IM = "IM"
"""Image management."""
MR = "MR"
"""Memory recall."""
AR = "AR"
"""Answer refusal."""

ABILITIES = (IE, CR, IU, IM, MR, AR)
"""The columns of Table 3, in its order."""

OPEN = "open"
MULTIPLE_CHOICE = "multiple-choice"
TRUE_FALSE = "true-false"
FORMATS = (OPEN, MULTIPLE_CHOICE, TRUE_FALSE)
"""The forms of a question (paper Table 2)."""

SCALE = Scale(0, 5)
"""The paper's text says 0 to 5 (section 4.1). Its criteria for people begin at 1 (appendix I), but Table 3 has means below."""

THRESHOLD = 3.0
"""By the paper's criteria for people (appendix I), 3 is the lowest score of a reply that is right in part; 2 is a failure."""

MAX_NEW_TOKENS = 256
"""The paper's limit for open models (section 4.1)."""

TASKS = {
    name: Task(name, name, SCALE, threshold=THRESHOLD, judged=True, max_new_tokens=MAX_NEW_TOKENS) for name in ABILITIES
}
