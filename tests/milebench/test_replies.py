"""What the official ``generate.py`` left behind is scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mmtests.errors import DataError, UserError
from mmtests.milebench.replies import read_replies
from mmtests.reply import Recorded


def write(folder: Path, *predictions: tuple[object, str | None]) -> Path:
    folder.mkdir(parents=True)
    path = folder / "pred.json"
    path.write_text(json.dumps([{"sample_id": id, "pred_response": text, "question": "?"} for id, text in predictions]))
    return path


def test_a_folder(tmp_path: Path) -> None:
    """Replies by subset, set and sample; other files are none of ours."""
    write(tmp_path / "llava" / "TQA", (3, "B"), ("04", None))
    write(tmp_path / "llava" / "TQA-adv", (3, "A"))
    write(tmp_path / "llava" / "SomethingElse", (3, "A"))

    assert read_replies(tmp_path, None) == {
        "milebench/TQA/single/3/turn-01": Recorded("B"),
        "milebench/TQA/single/4/turn-01": Recorded(None),
        "milebench/TQA/adversarial/3/turn-01": Recorded("A"),
    }


def test_several_models(tmp_path: Path) -> None:
    """Which model is meant must be said; a single file says it itself."""
    write(tmp_path / "llava" / "TQA", (3, "B"))
    other = write(tmp_path / "vila" / "TQA", (3, "C"))

    with pytest.raises(UserError, match=r"holds the replies of llava, vila: choose one with --model-arg name="):
        read_replies(tmp_path, None)
    assert read_replies(tmp_path, "llava")["milebench/TQA/single/3/turn-01"] == Recorded("B")
    assert read_replies(other, None)["milebench/TQA/single/3/turn-01"] == Recorded("C")
    with pytest.raises(UserError, match="choose one"):
        read_replies(tmp_path, "mantis")


def test_nothing_there(tmp_path: Path) -> None:
    """A folder without any says what is looked for."""
    with pytest.raises(UserError, match=r"MODEL/ActionLocalization/pred\.json"):
        read_replies(tmp_path, None)


@pytest.mark.parametrize("content", ["{", '{"a": 1}', '[{"sample_id": "x"}]', '[{"pred_response": "x"}]'])
def test_another_file(tmp_path: Path, content: str) -> None:
    """A file of another shape is refused by name."""
    path = write(tmp_path / "llava" / "TQA")
    path.write_text(content)

    with pytest.raises(DataError, match=r"pred\.json: not the output of MileBench's generate\.py"):
        read_replies(tmp_path, None)
