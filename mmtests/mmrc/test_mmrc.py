"""MMRC: one test for each question on a conversation. ``item`` comes from the data; see docs/writing-tests.md."""

from __future__ import annotations

import pytest

from mmtests.reply import Reply
from mmtests.score import Score


@pytest.mark.mmtests("mmrc", "IE")
def test_information_extraction(reply: Reply, score: Score, threshold: float) -> None:
    """What was named in the conversation is found again, and nothing else."""
    assert score >= threshold


@pytest.mark.mmtests("mmrc", "CR")
def test_cross_turn_reasoning(reply: Reply, score: Score, threshold: float) -> None:
    """What several turns say is put together."""
    assert score >= threshold


@pytest.mark.mmtests("mmrc", "IU")
def test_information_update(reply: Reply, score: Score, threshold: float) -> None:
    """What was said last holds."""
    assert score >= threshold


@pytest.mark.mmtests("mmrc", "IM")
def test_image_management(reply: Reply, score: Score, threshold: float) -> None:
    """Which picture was which."""
    assert score >= threshold


@pytest.mark.mmtests("mmrc", "MR")
def test_memory_recall(reply: Reply, score: Score, threshold: float) -> None:
    """A detail of an early turn is still there."""
    assert score >= threshold


@pytest.mark.mmtests("mmrc", "AR")
def test_answer_refusal(reply: Reply, score: Score, threshold: float) -> None:
    """What was never said is not made up."""
    assert score >= threshold
