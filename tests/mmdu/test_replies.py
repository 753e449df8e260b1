"""What the official inference scripts left behind can be replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mmtests.errors import DataError, UserError
from mmtests.mmdu import MMDU
from mmtests.reply import Recorded
from tests.mmdu.data import boats, said


def left(folder: Path, id: int | str, *replies: str) -> Path:
    """A result file: the record with these replies in the place of the references."""
    folder.mkdir(parents=True, exist_ok=True)
    record = boats(id)
    for message, reply in zip(record["conversations"][1::2], replies, strict=True):
        message["value"] = reply
    path = folder / f"{id}.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def texts(path: Path, model: str | None = None) -> dict[str, str | None]:
    """The replies' texts by dialogue and turn."""
    return {
        id.removeprefix("mmdu/dialogue/multi/"): one.text for id, one in MMDU().recorded_replies(path, model).items()
    }


def test_a_folder_of_results(tmp_path: Path) -> None:
    """Each file is a dialogue; each assistant message the reply to the turn before it, empty ones too."""
    left(tmp_path, 7, "One.", "", "Three.")
    left(tmp_path, "x", "A.", "B.", "C.")

    assert texts(tmp_path) == {
        "7/turn-01": "One.", "7/turn-02": "", "7/turn-03": "Three.",
        "x/turn-01": "A.", "x/turn-02": "B.", "x/turn-03": "C.",
    }  # fmt: skip


def test_what_was_asked_is_kept(tmp_path: Path) -> None:
    """With each reply goes the question, its images as a message shows them, so that other data is noticed."""
    path = left(tmp_path, 7, "One.", "Two.", "Three.")

    replies = MMDU().recorded_replies(path, None)

    assert replies == {
        "mmdu/dialogue/multi/7/turn-01": Recorded("One.", "Image1: <image>. Image2: <image>. What do they share?"),
        "mmdu/dialogue/multi/7/turn-02": Recorded("Two.", "Which is warmer?"),
        "mmdu/dialogue/multi/7/turn-03": Recorded("Three.", "<image> And this?"),
    }


def test_folders_of_models(tmp_path: Path) -> None:
    """With a folder for each model, the one to read must be named; a single one needs no name."""
    left(tmp_path / "llava", 7, "a", "b", "c")
    assert texts(tmp_path) == {"7/turn-01": "a", "7/turn-02": "b", "7/turn-03": "c"}

    left(tmp_path / "qwen", 7, "d", "e", "f")

    with pytest.raises(UserError, match="the replies of llava, qwen: choose one with --model-arg name="):
        texts(tmp_path)
    with pytest.raises(UserError, match="the replies of llava, qwen"):
        texts(tmp_path, "other")
    assert texts(tmp_path, "qwen")["7/turn-01"] == "d"


def test_nothing_there(tmp_path: Path) -> None:
    """A folder without result files is refused."""
    with pytest.raises(UserError, match="no JSON files as MMDU's scripts leave them"):
        texts(tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "expected `object`, got `array`"),
        ('{"id": 7}', r"record 7: missing field `conversations`"),
        (
            json.dumps({"id": 7, "conversations": [*said("?", "!"), {"from": "assistant", "value": "!"}]}),
            r"record 7: the message is from 'assistant', where 'user' is due \(field conversations\[2\]\.from\)",
        ),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, content: str, problem: str) -> None:
    """A file that is no result is named with what is wrong in it."""
    (tmp_path / "7.json").write_text(content)

    with pytest.raises(DataError, match=rf"7\.json: .*{problem}"):
        texts(tmp_path)


def test_a_dialogue_twice(tmp_path: Path) -> None:
    """Two files with the same dialogue leave open which reply counts."""
    left(tmp_path, 7, "a", "b", "c").rename(tmp_path / "other.json")
    left(tmp_path, 7, "a", "b", "c")

    with pytest.raises(DataError, match=r"other\.json: record 7: .*7\.json has this dialogue, too \(field id\)"):
        texts(tmp_path)


def test_a_run_that_stopped(tmp_path: Path) -> None:
    """A last question without a reply has none recorded."""
    record: dict[str, Any] = boats(7)
    record["conversations"] = record["conversations"][:3]
    (tmp_path / "7.json").write_text(json.dumps(record))

    assert set(texts(tmp_path)) == {"7/turn-01"}
