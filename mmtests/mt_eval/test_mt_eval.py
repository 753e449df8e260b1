"""MT-Eval: one test for each scored turn. ``item`` comes from the data; see docs/writing-tests.md for the fixtures."""

from __future__ import annotations

import pytest

from mmtests.reply import Reply
from mmtests.score import Score


@pytest.mark.mmtests("mt_eval", "recollection-cls")
def test_recollection_cls(reply: Reply, score: Score, threshold: float) -> None:
    """The label asked for in the first turn is still the answer, many documents later."""
    assert score >= threshold


@pytest.mark.mmtests("mt_eval", "recollection-global-inst")
def test_recollection_global_inst(reply: Reply, score: Score, threshold: float) -> None:
    """An instruction given in the first turn still holds."""
    assert score >= threshold


@pytest.mark.mmtests("mt_eval", "expansion")
def test_expansion(reply: Reply, score: Score, threshold: float) -> None:
    """New tasks over the document of the first turn."""
    assert score >= threshold


@pytest.mark.mmtests("mt_eval", "refinement")
def test_refinement(reply: Reply, score: Score, threshold: float) -> None:
    """Instructions that pile up, each refining the last reply."""
    assert score >= threshold


@pytest.mark.mmtests("mt_eval", "follow-up")
def test_follow_up(reply: Reply, score: Score, threshold: float) -> None:
    """Questions that build on the replies before."""
    assert score >= threshold
