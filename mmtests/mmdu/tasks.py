"""MMDU's one task, and the six dimensions that its judge rates (paper section 2.3 and Table 2)."""

from __future__ import annotations

from mmtests.benchmark import Task
from mmtests.score import Scale

DIALOGUE = "dialogue"

DIMENSIONS = (
    "Creativity",
    "Richness",
    "Visual Perception",
    "Logical Coherence",
    "Answer Accuracy",
    "Image Relationship Understanding",
)
"""The columns of Table 2, in its order, by the names that the judge is to give them."""
OVERALL = "Overall Score"
"""The judge's own overall figure, which Table 2 prints as ``Avg.``: it is not the mean of the six."""
KEYS = (*DIMENSIONS, OVERALL)
"""What a verdict must hold."""

JUDGED = Scale(0, 10)
"""The paper's text. Its judge prompt asks for 1 to 10, and VLMEvalKit takes 0 to 10."""
PERCENT = 10
"""What scores are multiplied by in tables."""

TASKS = {
    DIALOGUE: Task(DIALOGUE, OVERALL, JUDGED, threshold=5.0, judged=True, max_new_tokens=2048),
}
