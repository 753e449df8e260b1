"""MileBench: one test for each sample. ``item`` comes from the data; see docs/writing-tests.md for the fixtures."""

from __future__ import annotations

import pytest

from mmtests.reply import Reply
from mmtests.score import Score


@pytest.mark.mmtests("milebench", "ActionLocalization")
def test_action_localization(reply: Reply, score: Score, threshold: float) -> None:
    """When an action takes place in a row of frames."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "ActionPrediction")
def test_action_prediction(reply: Reply, score: Score, threshold: float) -> None:
    """What comes next."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "ActionSequence")
def test_action_sequence(reply: Reply, score: Score, threshold: float) -> None:
    """In which order things were done."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "ObjectExistence")
def test_object_existence(reply: Reply, score: Score, threshold: float) -> None:
    """Whether something was there."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "ObjectInteraction")
def test_object_interaction(reply: Reply, score: Score, threshold: float) -> None:
    """What was done with an object."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "MovingAttribute")
def test_moving_attribute(reply: Reply, score: Score, threshold: float) -> None:
    """What those that move look like."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "ObjectShuffle")
def test_object_shuffle(reply: Reply, score: Score, threshold: float) -> None:
    """Where a hidden object ends up."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "EgocentricNavigation")
def test_egocentric_navigation(reply: Reply, score: Score, threshold: float) -> None:
    """Where to go next, seen through one's own eyes."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "MovingDirection")
def test_moving_direction(reply: Reply, score: Score, threshold: float) -> None:
    """Which way an object moves."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "CounterfactualInference")
def test_counterfactual_inference(reply: Reply, score: Score, threshold: float) -> None:
    """What would have happened otherwise."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "StateChange")
def test_state_change(reply: Reply, score: Score, threshold: float) -> None:
    """What became of a thing."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "CharacterOrder")
def test_character_order(reply: Reply, score: Score, threshold: float) -> None:
    """In which order letters appear."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "SceneTransition")
def test_scene_transition(reply: Reply, score: Score, threshold: float) -> None:
    """How one scene follows another."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "WebQA")
def test_web_qa(reply: Reply, score: Score, threshold: float) -> None:
    """A question over web pages with pictures."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "TQA")
def test_tqa(reply: Reply, score: Score, threshold: float) -> None:
    """A question over a textbook lesson with figures."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "MultiModalQA")
def test_multi_modal_qa(reply: Reply, score: Score, threshold: float) -> None:
    """A question over text, tables and pictures."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "WikiVQA")
def test_wiki_vqa(reply: Reply, score: Score, threshold: float) -> None:
    """A question over a long article with pictures."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "SlideVQA")
def test_slide_vqa(reply: Reply, score: Score, threshold: float) -> None:
    """A question over a deck of slides."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "OCR-VQA")
def test_ocr_vqa(reply: Reply, score: Score, threshold: float) -> None:
    """A question over the words on covers."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "DocVQA")
def test_doc_vqa(reply: Reply, score: Score, threshold: float) -> None:
    """A question over the pages of a document."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "CLEVR-Change")
def test_clevr_change(reply: Reply, score: Score, threshold: float) -> None:
    """What has changed between two pictures."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "Spot-the-Diff")
def test_spot_the_diff(reply: Reply, score: Score, threshold: float) -> None:
    """What differs between two pictures."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "IEdit")
def test_iedit(reply: Reply, score: Score, threshold: float) -> None:
    """Which edit leads from one picture to the other."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "MMCoQA")
def test_mmcoqa(reply: Reply, score: Score, threshold: float) -> None:
    """A conversation over text and pictures."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "ALFRED")
def test_alfred(reply: Reply, score: Score, threshold: float) -> None:
    """The next step of a task in a house."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "nuscenes")
def test_nuscenes(reply: Reply, score: Score, threshold: float) -> None:
    """What surrounds a car, over six cameras."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "TextNeedleInAHaystack")
def test_text_needle_in_a_haystack(reply: Reply, score: Score, threshold: float) -> None:
    """A password in the text between many images."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "ImageNeedleInAHaystack")
def test_image_needle_in_a_haystack(reply: Reply, score: Score, threshold: float) -> None:
    """A password within one of many images."""
    assert score >= threshold


@pytest.mark.mmtests("milebench", "GPR1200")
def test_gpr1200(reply: Reply, score: Score, threshold: float) -> None:
    """Which of many images shows the same thing."""
    assert score >= threshold
