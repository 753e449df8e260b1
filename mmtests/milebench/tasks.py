"""The 29 subsets of MileBench, the twelve tasks they feed, and how each is scored (paper Table 1 and appendix)."""

from __future__ import annotations

from typing import Literal

from mmtests.benchmark import Task
from mmtests.score import Scale

Metric = Literal["choice", "needle", "containment", "rouge-l"]
"""How a subset is scored: the option that was chosen, a password as a word, an answer as a part, ROUGE-L f."""

SCALE = Scale(0, 1)
MAX_NEW_TOKENS = 512
"""The official generation settings: greedy, 1 to 512 new tokens."""
THRESHOLDS: dict[Metric, float] = {"choice": 1.0, "needle": 1.0, "containment": 1.0, "rouge-l": 0.5}

REALISTIC = ("T-1", "T-2", "T-3", "T-4", "S-1", "S-2", "S-3", "S-4", "S-5")
"""Temporal and semantic multi-image tasks: the nine of Overall Realistic."""
DIAGNOSTIC = ("N-1", "N-2", "I-1")
"""Text needle, image needle, image retrieval: the three of Overall Diagnostic."""
ABILITIES = (*REALISTIC, *DIAGNOSTIC)
"""The columns of Tables 2 and 4, in their order."""

SUBSETS: dict[str, tuple[str, str, Metric]] = {
    "ActionLocalization": ("T-1", "AL", "choice"),
    "ActionPrediction": ("T-1", "AP", "choice"),
    "ActionSequence": ("T-1", "AS", "choice"),
    "ObjectExistence": ("T-2", "OE", "choice"),
    "ObjectInteraction": ("T-2", "OI", "choice"),
    "MovingAttribute": ("T-2", "MA", "choice"),
    "ObjectShuffle": ("T-2", "OS", "choice"),
    "EgocentricNavigation": ("T-3", "EN", "choice"),
    "MovingDirection": ("T-3", "MD", "choice"),
    "CounterfactualInference": ("T-4", "CI", "choice"),
    "StateChange": ("T-4", "SC", "choice"),
    "CharacterOrder": ("T-4", "CO", "choice"),
    "SceneTransition": ("T-4", "ST", "choice"),
    "WebQA": ("S-1", "WQ", "choice"),
    "TQA": ("S-1", "TQ", "choice"),
    "MultiModalQA": ("S-1", "CMQ", "choice"),
    "WikiVQA": ("S-1", "LTIQ", "choice"),
    "SlideVQA": ("S-2", "SQ", "choice"),
    "OCR-VQA": ("S-2", "OQ", "choice"),
    "DocVQA": ("S-2", "DQ", "choice"),
    "CLEVR-Change": ("S-3", "VCC1", "rouge-l"),
    "Spot-the-Diff": ("S-3", "VCC2", "rouge-l"),
    "IEdit": ("S-3", "VRE", "rouge-l"),
    "MMCoQA": ("S-4", "MD", "containment"),
    "ALFRED": ("S-4", "CED", "rouge-l"),
    "nuscenes": ("S-5", "SU", "choice"),
    "TextNeedleInAHaystack": ("N-1", "TextNeedle", "needle"),
    "ImageNeedleInAHaystack": ("N-2", "ImageNeedle", "needle"),
    "GPR1200": ("I-1", "GPR1200", "choice"),
}
"""Folder name to task, column in Tables 11 and 12 (where the paper has one), and metric. ``MD`` names a column of each
table: MovingDirection in Table 11, MMCoQA in Table 12."""

WITHOUT_LETTERS = "GPR1200"
"""The one subset whose options are listed without letters: it has more than there are in the alphabet."""

TEXT_NEEDLE, IMAGE_NEEDLE = "TextNeedleInAHaystack", "ImageNeedleInAHaystack"

TASKS = {
    name: Task(name, ability, SCALE, THRESHOLDS[metric], judged=False, max_new_tokens=MAX_NEW_TOKENS)
    for name, (ability, _, metric) in SUBSETS.items()
}


def subsets_of(ability: str) -> tuple[str, ...]:
    """The subsets that feed a task of the paper."""
    return tuple(name for name, (one, _, _) in SUBSETS.items() if one == ability)
