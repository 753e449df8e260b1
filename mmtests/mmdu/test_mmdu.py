"""MMDU: one test for each turn. ``item`` comes from the data; see docs/writing-tests.md for the fixtures."""

from __future__ import annotations

import pytest

from mmtests.reply import Reply
from mmtests.score import Score


@pytest.mark.mmtests("mmdu", "dialogue")
def test_dialogue(reply: Reply, score: Score, threshold: float) -> None:
    """Questions about several images that come in one after another, each building on the replies before."""
    assert score >= threshold
