"""What the official inference script left behind can be replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mmtests.errors import DataError, UserError
from mmtests.mt_eval.replies import read_replies as read
from tests.mt_eval.data import Json, turn


def read_replies(path: Path, model: str | None) -> dict[str, str | None]:
    """The replies' texts by turn id."""
    return {turn: recorded.text for turn, recorded in read(path, model).items()}


def dialogue(id: str, *replies: Json) -> Json:
    """A dialogue as the script writes it: a given turn, and one turn for each reply."""
    asked = [turn("More?", id=str(n), prompt="...", prompt_len=3, **reply) for n, reply in enumerate(replies, 2)]
    return {"id": id, "conv": [turn("Name a river.", sys="The Tamar.", asked=False), *asked]}


def said(text: str) -> Json:
    """What the script adds to a turn that went well."""
    return {"gen_resp": text, "error": False}


def leave(folder: Path, name: str, *rows: Json) -> Path:
    """Write an output file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("refinement/multi_MODEL.jsonl", "refinement/multi"),
        ("refinement/single_MODEL.jsonl", "refinement/single"),
        ("refinement/multi_gold_MODEL.jsonl", "refinement/gold"),
        ("expansion/multi_MODEL.jsonl", "expansion/multi"),
        ("follow-up/multi_gold_MODEL.jsonl", "follow-up/gold"),
        ("follow-up/single_MODEL.jsonl", "follow-up/single"),
        ("recollection/multi_cls_MODEL.jsonl", "recollection-cls/multi"),
        ("recollection/multi_cls_gold_MODEL.jsonl", "recollection-cls/gold"),
        ("recollection/single_global-inst_MODEL.jsonl", "recollection-global-inst/single"),
        ("recollection/multi_global-inst_gold_MODEL.jsonl", "recollection-global-inst/gold"),
    ],
)
@pytest.mark.parametrize("model", ["vicuna", "gpt-3.5-turbo", "my_model_v0.2"])
def test_file_names(tmp_path: Path, name: str, key: str, model: str) -> None:
    """Task, setting and model are read off the file's name and its folder's, dots and underscores included."""
    leave(tmp_path, name.replace("MODEL", model), dialogue("7", said("Yes.")))

    assert read_replies(tmp_path, None) == {f"mt_eval/{key}/7/turn-02": "Yes."}
    assert read_replies(tmp_path, model) == {f"mt_eval/{key}/7/turn-02": "Yes."}


def test_one_file_alone(tmp_path: Path) -> None:
    """The path may be one output file."""
    path = leave(tmp_path, "refinement/multi_a.jsonl", dialogue("7", said("Yes.")))
    leave(tmp_path, "refinement/single_b.jsonl", dialogue("7", said("No.")))

    assert read_replies(path, None) == {"mt_eval/refinement/multi/7/turn-02": "Yes."}


def test_turns_are_numbered_with_the_given_ones(tmp_path: Path) -> None:
    """Only turns that the model answered count, each under its place in the dialogue."""
    leave(tmp_path, "follow-up/multi_a.jsonl", dialogue("81", said("One."), said("")), dialogue("82", said("Three.")))

    assert read_replies(tmp_path, None) == {
        "mt_eval/follow-up/multi/81/turn-02": "One.",
        "mt_eval/follow-up/multi/81/turn-03": "",
        "mt_eval/follow-up/multi/82/turn-02": "Three.",
    }


@pytest.mark.parametrize("marked", [{"error": True}, {"error": True, "gen_resp": "stale"}, {}])
def test_errors(tmp_path: Path, marked: Json) -> None:
    """A turn on which the script failed, or that it did not reach, has no reply."""
    leave(tmp_path, "follow-up/multi_a.jsonl", dialogue("81", marked, said("Two.")))

    assert read_replies(tmp_path, None) == {
        "mt_eval/follow-up/multi/81/turn-02": None,
        "mt_eval/follow-up/multi/81/turn-03": "Two.",
    }


def test_files_of_one_model_are_read_together(tmp_path: Path) -> None:
    """All files of a model below the folder count; those of another model do not."""
    leave(tmp_path, "out/refinement/multi_a.jsonl", dialogue("7", said("Multi.")))
    leave(tmp_path, "out/refinement/single_a.jsonl", dialogue("7", said("Single.")))
    leave(tmp_path, "out/refinement/multi_b.jsonl", dialogue("7", said("Another.")))

    replies = read_replies(tmp_path, "a")

    assert replies == {
        "mt_eval/refinement/multi/7/turn-02": "Multi.",
        "mt_eval/refinement/single/7/turn-02": "Single.",
    }


@pytest.mark.parametrize("model", [None, "c"])
def test_several_models(tmp_path: Path, model: str | None) -> None:
    """Where there are several models and none of them is chosen, the message offers them."""
    leave(tmp_path, "refinement/multi_gpt-3.5-turbo.jsonl", dialogue("7", said("Yes.")))
    leave(tmp_path, "refinement/multi_my_model.jsonl", dialogue("7", said("No.")))

    with pytest.raises(UserError, match=r"gpt-3\.5-turbo, my_model: choose one with --model-arg name="):
        read_replies(tmp_path, model)


@pytest.mark.parametrize(
    "name", ["multi_a.jsonl", "refinement/outputs.jsonl", "chat/multi_a.jsonl", "refinement/a.txt"]
)
def test_no_usable_file(tmp_path: Path, name: str) -> None:
    """Files that the script would not have named so are no outputs, and the message shows a name that is."""
    leave(tmp_path, name, dialogue("7", said("Yes.")))

    with pytest.raises(UserError, match=r"refinement/multi_MODEL\.jsonl") as caught:
        read_replies(tmp_path, None)

    assert str(tmp_path) in str(caught.value)


def test_no_folder(tmp_path: Path) -> None:
    """A path that is not there is a mistake the user can mend."""
    with pytest.raises(UserError, match="nowhere"):
        read_replies(tmp_path / "nowhere", None)


@pytest.mark.parametrize("line", ['{"id": "7"}', "{", '{"id": 7, "conv": []}', "[]"])
def test_a_bad_line(tmp_path: Path, line: str) -> None:
    """A line that is no dialogue is refused with file and line."""
    path = leave(tmp_path, "refinement/multi_a.jsonl", dialogue("7", said("Yes.")))
    path.write_text(path.read_text(encoding="utf-8") + "\n\n" + line, encoding="utf-8")

    with pytest.raises(DataError) as caught:
        read_replies(tmp_path, None)

    assert (caught.value.path, caught.value.line) == (path, 3)
