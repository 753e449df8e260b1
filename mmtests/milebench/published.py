"""Figures of the paper that reports show beside a run's: the score of random choice, in percent."""

from __future__ import annotations

from statistics import fmean

from mmtests.milebench.tasks import ABILITIES, DIAGNOSTIC, REALISTIC, subsets_of

RANDOM_SUBSETS = {
    "ActionLocalization": 25.0, "ActionPrediction": 25.0, "ActionSequence": 25.0, "CharacterOrder": 33.3,
    "CounterfactualInference": 34.8, "EgocentricNavigation": 25.0, "MovingAttribute": 36.0, "MovingDirection": 25.0,
    "ObjectExistence": 33.3, "ObjectInteraction": 25.0, "ObjectShuffle": 33.3, "SceneTransition": 25.0,
    "StateChange": 33.3, "ALFRED": 0.0, "CLEVR-Change": 0.0, "DocVQA": 25.0, "IEdit": 0.0, "MMCoQA": 0.0,
    "MultiModalQA": 25.3, "nuscenes": 25.3, "OCR-VQA": 23.0, "SlideVQA": 25.7, "Spot-the-Diff": 0.0, "TQA": 25.0,
    "WebQA": 25.3, "WikiVQA": 25.0, "TextNeedleInAHaystack": 0.0, "ImageNeedleInAHaystack": 0.0, "GPR1200": 11.4,
}  # fmt: skip
"""Tables 11 and 12 as printed, and the three diagnostic subsets of Table 2."""

RANDOM_TASKS = {ability: round(fmean(RANDOM_SUBSETS[name] for name in subsets_of(ability)), 1) for ability in ABILITIES}
"""By the paper's own rule from its subsets. Table 2 prints the same, but S-4 and S-5 for each other."""

RANDOM_OVERALL = {
    "Realistic": round(fmean(RANDOM_TASKS[ability] for ability in REALISTIC), 1),
    "Diagnostic": round(fmean(RANDOM_TASKS[ability] for ability in DIAGNOSTIC), 1),
}
"""By the paper's own rule. Table 2 prints 22.3, the mean over 26 subsets, and 5.5, which cannot be derived."""
