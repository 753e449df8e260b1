"""MMReason: two tests for each question with reference steps, one for the others. Both score the same reply."""

from __future__ import annotations

import pytest

from mmtests.reply import Reply
from mmtests.score import Score


@pytest.mark.mmtests("mmreason", "answer")
def test_answer(reply: Reply, score: Score, threshold: float) -> None:
    """The final answer is equivalent to the gold one."""
    assert score >= threshold


@pytest.mark.mmtests("mmreason", "steps")
def test_steps(reply: Reply, score: Score, threshold: float) -> None:
    """The steps that lead to the answer hold against the reference solution."""
    assert score >= threshold
