"""The official files load unchanged, and a bad one is refused with its place and its cure."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mmtests.dialogue import ADVERSARIAL, BLIND, SETTINGS, SINGLE
from mmtests.errors import BadRecords, DataError
from mmtests.image import File, check
from mmtests.milebench import MileBench
from mmtests.milebench.load import load
from mmtests.milebench.pictures import Pictures
from mmtests.milebench.tasks import ABILITIES, SUBSETS, TASKS, subsets_of
from tests.milebench.data import Json, dialogue, item, sample, write

SUBSET = "MovingDirection"


# The taxonomy


def test_the_subsets() -> None:
    """29 subsets feed twelve tasks, as in the paper."""
    assert len(SUBSETS) == len(TASKS) == 29
    assert {ability: len(subsets_of(ability)) for ability in ABILITIES} == {
        "T-1": 3, "T-2": 4, "T-3": 2, "T-4": 4, "S-1": 4, "S-2": 3, "S-3": 3, "S-4": 2, "S-5": 1,
        "N-1": 1, "N-2": 1, "I-1": 1,
    }  # fmt: skip
    assert Counter(metric for _, _, metric in SUBSETS.values()) == {
        "choice": 22, "rouge-l": 4, "needle": 2, "containment": 1,
    }  # fmt: skip
    assert {task.threshold for name, task in TASKS.items() if SUBSETS[name][2] == "rouge-l"} == {0.5}
    assert {task.threshold for name, task in TASKS.items() if SUBSETS[name][2] != "rouge-l"} == {1.0}


def test_the_columns_of_the_paper(reference: Callable[[str], Any]) -> None:
    """Each column of Tables 11 and 12 is a subset of temporal or semantic tasks."""
    tables = reference("published_tables.json")["milebench"]
    for table, letter in (("table11", "T"), ("table12", "S")):
        columns = {column: name for name, (ability, column, _) in SUBSETS.items() if ability.startswith(letter)}
        assert columns == tables[table]["column_to_dataset"]


# What is there


def test_the_sample() -> None:
    """The embedded sample has every metric, an adversarial file and a combined picture; all its pictures are pictures."""
    loaded = MileBench().load(MileBench.sample, SETTINGS)

    metrics = Counter(one.facts["metric"] for one in loaded.dialogues if one.setting == SINGLE)
    assert metrics == {"choice": 6, "rouge-l": 3, "containment": 2, "needle": 3}
    assert {one.task for one in loaded.dialogues if one.setting == ADVERSARIAL} == {"ObjectExistence"}
    assert Counter(one.setting for one in loaded.dialogues) == {SINGLE: 14, ADVERSARIAL: 2, BLIND: 14}
    assert loaded.absent == loaded.notes == loaded.skipped == ()
    assert {Path(one.facts["combined"]).name for one in loaded.dialogues if "combined" in one.facts} == {"0-0.png"}
    for one in loaded.dialogues:
        for image in one.turns[0].user.images:
            check(image)


@pytest.mark.parametrize("top", [".", "MileBench"])
def test_the_folders(tmp_path: Path, top: str) -> None:
    """The subsets' folders are found where the archives put them, with or without a folder around them."""
    write(tmp_path / top, SUBSET, sample())
    write(tmp_path / top, "CLEVR-Change", sample(response="it moved", choice_list=None), kind="open-ended")

    loaded = MileBench().load(tmp_path, [SINGLE])

    assert MileBench().recognises(tmp_path)
    assert [one.key for one in loaded.dialogues] == [
        "milebench/MovingDirection/single/0",
        "milebench/CLEVR-Change/single/0",
    ]
    assert set(loaded.files) == {"MovingDirection/MovingDirection.json", "CLEVR-Change/CLEVR-Change.json"}
    assert len(loaded.absent) == 27
    assert "ALFRED" in loaded.absent


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    """A folder without any subset is not taken for MileBench's, nor one whose names differ in case."""
    write(tmp_path, "movingdirection", sample())

    assert not MileBench().recognises(tmp_path)


def test_the_settings(tmp_path: Path) -> None:
    """The ``-adv`` file is read for ``adversarial`` alone, and ``blind`` needs no more than the normal file."""
    write(tmp_path, SUBSET, sample())
    write(tmp_path, SUBSET, sample(choice_list=["to the right", "to the left"]), adversarial=True)

    by_setting = {setting: load(tmp_path, [setting]) for setting in SETTINGS}

    assert {setting: len(loaded.dialogues) for setting, loaded in by_setting.items()} == {
        "multi": 0, "single": 1, "gold": 0, "adversarial": 1, "blind": 1,
    }  # fmt: skip
    (adversarial,) = by_setting[ADVERSARIAL].dialogues
    (blind,) = by_setting[BLIND].dialogues
    assert adversarial.facts["choices"] == ["to the right", "to the left"]
    assert list(by_setting[ADVERSARIAL].files) == ["MovingDirection/MovingDirection-adv.json"]
    assert by_setting[ADVERSARIAL].absent[0] == "ActionLocalization-adv"
    assert blind.turns[0].user.images == ()
    assert "Which way?" in blind.turns[0].user.text


def test_an_item(tmp_path: Path) -> None:
    """A sample is one scored turn, whose reference is the text of the right option."""
    one = item(tmp_path, SUBSET, sample())

    assert one.id == "milebench/MovingDirection/single/0/turn-01"
    assert one.turn.reference == "to the right"
    assert one.dialogue.system is None
    assert MileBench().facts(one) == {"metric": "choice", "images": 2}


def test_both_shapes(tmp_path: Path) -> None:
    """Instructions in a list or an object, ids as numbers or digits, an answer that is a number."""
    listed = [sample(task_instruction_id=1), sample(sample_id="07", task_instruction_id="0")]
    write(tmp_path, SUBSET, *listed, instruction=["One.", "Two."])
    write(tmp_path, "StateChange", sample(task_instruction_id=1), sample(sample_id=2, task_instruction_id="b"),
          instruction={"1": "One.", "b": "Two."})  # fmt: skip
    write(tmp_path, "MMCoQA", sample(response=12, choice_list=None), kind="open-ended")

    first, second, third, fourth, last = load(tmp_path, [SINGLE]).dialogues

    assert [one.turns[0].user.text[:5] for one in (first, second, third, fourth)] == [
        "Two.\n",
        "One.\n",
        "One.\n",
        "Two.\n",
    ]
    assert [first.id, second.id] == ["0", "7"]
    assert last.turns[0].reference == "12"


def test_images_beside_the_folder(tmp_path: Path) -> None:
    """A picture is looked for in ``images/`` first, then in the subset's folder."""
    write(tmp_path, SUBSET, sample(images=["deep/a.jpg"], context="{image#1}?"))
    (tmp_path / SUBSET / "extra").mkdir()
    (tmp_path / SUBSET / "extra" / "b.jpg").touch()
    path = tmp_path / SUBSET / f"{SUBSET}.json"
    annotation = json.loads(path.read_text())
    annotation["data"][0]["task_instance"] |= {
        "images_path": ["deep/a.jpg", "extra/b.jpg"],
        "context": "{image#1}{image#2}",
    }
    path.write_text(json.dumps(annotation))

    (one,) = load(tmp_path, [SINGLE]).dialogues

    root = tmp_path.resolve() / SUBSET
    sources = [image.source for image in one.turns[0].user.images]
    assert sources == [File(str(root / "images/deep/a.jpg")), File(str(root / "extra/b.jpg"))]
    assert one.turns[0].user.images[1].place == "MovingDirection.json: record 0 (field task_instance.images_path[1])"


def test_the_question_type_decides(tmp_path: Path) -> None:
    """As officially, the type of the questions decides the rule, and the header says if that is not the paper's."""
    write(tmp_path, SUBSET, sample(response="it rolls", choice_list=None), kind="open-ended")
    write(tmp_path, "TextNeedleInAHaystack", sample(response="1234567", choice_list=None), kind="open-ended")

    loaded = load(tmp_path, [SINGLE])

    assert [one.facts["metric"] for one in loaded.dialogues] == ["rouge-l", "needle"]
    assert loaded.notes == ("MovingDirection.json is open-ended: scored by rouge-l, not by choice",)


def test_a_count_that_differs(tmp_path: Path) -> None:
    """Fewer samples than the file says are noted: the official scorer would stop."""
    write(tmp_path, SUBSET, sample(), num_sample=200)

    assert load(tmp_path, [SINGLE]).notes == ("MovingDirection.json has 1 samples, and its num_sample says 200",)


@pytest.mark.parametrize(
    ("context", "response", "given", "depth"),
    [
        ("{image#1} The password is 1234567. {image#2} Which?", "1234567", None, 0.5),
        ("The password is 1234567. {image#1} {image#2} Which?", "1234567", None, 0.0),
        ("{image#1} {image#2} It is 91234567. Which?", "1234567", None, None),
        ("{image#1} {image#2} Which?", "1234567", 0.3, 0.3),
    ],
)
def test_the_depth_of_a_needle(
    tmp_path: Path, context: str, response: str, given: float | None, depth: float | None
) -> None:
    """A text needle's depth is the share of images before it; another's is known only if the record says it."""
    one = item(tmp_path, "ImageNeedleInAHaystack", sample(context, response=response, choice_list=None, depth=given))

    assert MileBench().facts(one).get("depth") == depth


# What is refused


def without(name: str) -> Json:
    record = sample()
    del record[name]
    return record


def instance_without(name: str) -> Json:
    record = sample()
    del record["task_instance"][name]
    return record


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (sample(response="upwards"), "record 0: the answer 'upwards' is none of the 2 choices (field response)"),
        (sample(response=""), "record 0: the answer '' is empty (field response)"),
        (sample(response="?!"), "record 0: the answer '?!' is empty without its punctuation (field response)"),
        (sample(choice_list=None), "a multi-choice question without choices (field task_instance.choice_list)"),
        (sample(choice_list=[]), "a multi-choice question without choices (field task_instance.choice_list)"),
        (sample(task_instruction_id=1), "there is no task instruction 1 (field task_instruction_id). Known: 0."),
        (sample(task_instruction_id=-1), "there is no task instruction -1 (field task_instruction_id)"),
        (sample(sample_id="x1"), "data[0]: the sample id 'x1' is no whole number (field sample_id)"),
        (sample(sample_id="9" * 5000), "is no whole number (field sample_id)"),
        (sample(sample_id=-1), "data[0]: the sample id -1 is no whole number (field sample_id)"),
        (sample(images=[], context="?"), "record 0: the sample has no images (field task_instance.images_path)"),
        (sample(images=["a.jpg", "/etc/passwd"]), "leads out of the folder"),
        (sample(images=["a.jpg", "../../b.jpg"]), "leads out of the folder"),
        (sample(combined_1_images=["../x.jpg"]), "(field task_instance.combined_1_images[0])"),
        (sample(depth=1.5), "the depth 1.5 is not from 0 to 1 (field depth)"),
        (without("response"), "data[0]: missing field `response` (field response)"),
        (without("task_instance"), "data[0]: missing field `task_instance` (field task_instance)"),
        (without("sample_id"), "data[0]: missing field `sample_id` (field sample_id)"),
        (instance_without("images_path"), "missing field `images_path` (field task_instance.images_path)"),
        (instance_without("context"), "missing field `context` (field task_instance.context)"),
        (sample(response=None) | {"response": None}, "got `null` (field response)"),
        (sample(choice_list=["a", 2]), "(field task_instance.choice_list[1])"),
    ],
)  # fmt: skip
def test_a_bad_record(tmp_path: Path, record: Json, message: str) -> None:
    """A record that cannot be used is refused with its file, id and field; on request it is left out and counted."""
    path = write(tmp_path, SUBSET, record, sample(sample_id=5))
    skip = BadRecords(skip=True)

    with pytest.raises(DataError) as caught:
        load(tmp_path, [SINGLE])
    loaded = load(tmp_path, [SINGLE], skip)

    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert [one.id for one in loaded.dialogues] == ["5"]
    assert loaded.skipped == (str(caught.value),)


def test_a_missing_image(tmp_path: Path) -> None:
    """An image that is nowhere is named, with the field that asks for it."""
    write(tmp_path, SUBSET, sample())
    (tmp_path / SUBSET / "images" / "b.jpg").unlink()

    with pytest.raises(DataError, match=r"there is no picture 'b\.jpg'.*\(field task_instance\.images_path\[1\]\)"):
        load(tmp_path, [SINGLE])


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_that_leaves_the_folder(tmp_path: Path) -> None:
    """A link to a file elsewhere is no picture of the subset."""
    write(tmp_path / "data", SUBSET, sample())
    (tmp_path / "secret.jpg").touch()
    (tmp_path / "data" / SUBSET / "images" / "b.jpg").unlink()
    (tmp_path / "data" / SUBSET / "images" / "b.jpg").symlink_to(tmp_path / "secret.jpg")

    with pytest.raises(DataError, match=r"there is no picture 'b\.jpg'"):
        load(tmp_path / "data", [SINGLE])


def test_an_id_that_stands_twice(tmp_path: Path) -> None:
    """Ids are compared as numbers, as the official scorer compares them."""
    write(tmp_path, SUBSET, sample(sample_id=3), sample(sample_id="03"))

    with pytest.raises(
        DataError, match=r"record 3: sample 3 stands twice: it is already data\[0\] \(field sample_id\)"
    ):
        load(tmp_path, [SINGLE])


def test_a_missing_combined_picture(tmp_path: Path) -> None:
    """A combined picture that is not there matters to nobody who does not combine."""
    one = dialogue(tmp_path, SUBSET, sample(combined_1_images=["0-0.jpg"]))

    assert "combined" not in one.facts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "expected `object`, got `array`"),
        ('{"data": []}', "missing field `meta_data` (field meta_data)"),
        (
            '{"meta_data": {"task_instruction": [], "question_type": "open-ended"}, "data": []}',
            "the file has no samples",
        ),
        ('{"meta_data": {"question_type": "open-ended"}, "data": [1]}', "(field meta_data.task_instruction)"),
        (
            '{"meta_data": {"task_instruction": [], "question_type": "essay"}, "data": [1]}',
            "unknown question type 'essay'",
        ),
    ],
)
def test_a_bad_file(tmp_path: Path, content: str, message: str) -> None:
    """A file that is no annotation is refused whole, even if bad records are skipped."""
    path = write(tmp_path, SUBSET, sample())
    path.write_text(content)

    with pytest.raises(DataError) as caught:
        load(tmp_path, [SINGLE], BadRecords(skip=True))

    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_byte_order_mark(tmp_path: Path) -> None:
    """An editor's mark at the beginning does no harm."""
    path = write(tmp_path, SUBSET, sample())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    assert len(load(tmp_path, [SINGLE]).dialogues) == 1


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_FIELDS = ("sample_id", "task_instruction_id", "task_instance", "response", "depth")
_PARTS = ("context", "images_path", "choice_list", "combined_1_images")


@given(st.sampled_from([*_FIELDS, *_PARTS]), _ANYTHING | st.lists(st.text(max_size=5), max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_anything_in_a_field(tmp_path: Path, name: str, value: object) -> None:
    """Whatever stands in a field, the record is read, or refused with its place; nothing else is raised."""
    record = sample()
    (record["task_instance"] if name in _PARTS else record)[name] = value
    path = write(tmp_path, SUBSET, sample())
    head = {"task_instruction": ["Look."], "question_type": "multi-choice"}
    path.write_text(json.dumps({"meta_data": head, "data": [record]}), encoding="utf-8")
    skip = BadRecords(skip=True)

    loaded = load(tmp_path, [SINGLE], skip)

    assert len(loaded.dialogues) + len(loaded.skipped) == 1
    assert all(message.startswith(f"{path}: record ") for message in loaded.skipped)


def test_pictures(tmp_path: Path) -> None:
    """Every way to write the path of a picture leads to the same file; none leads out."""
    (tmp_path / "root" / "deep").mkdir(parents=True)
    (tmp_path / "out.jpg").touch()
    for name in ("a.jpg", "deep/b.jpg", "deep/c.jpg"):
        (tmp_path / "root" / name).touch()
    (tmp_path / "root" / "deep" / "link.jpg").symlink_to("b.jpg")
    (tmp_path / "root" / "deep" / "leak.jpg").symlink_to(tmp_path / "out.jpg")
    (tmp_path / "root" / "away").symlink_to(tmp_path)
    pictures = Pictures(tmp_path / "root")
    root = (tmp_path / "root").resolve()

    for _ in range(2):  # the second time from what is known
        for written, name in (
            ("a.jpg", "a.jpg"), ("./a.jpg", "a.jpg"), ("deep/b.jpg", "deep/b.jpg"), ("deep//c.jpg", "deep/c.jpg"),
            ("deep/c.jpg", "deep/c.jpg"), ("deep/link.jpg", "deep/link.jpg"),
        ):  # fmt: skip
            assert pictures.find(written) == File(str(root / name))
        assert [pictures.find(name) for name in ("x.jpg", "deep/x.jpg", "nowhere/a.jpg", "deep/leak.jpg")] == [None] * 4
        for written in ("../out.jpg", "deep/../../out.jpg", "/etc/passwd", "away/out.jpg", "deep/..", ".."):
            with pytest.raises(ValueError, match="leads out of the folder"):
                pictures.find(written)


def test_many_images(tmp_path: Path) -> None:
    """Loading opens no picture and takes no more than a moment for each thousand."""
    names = [f"{number}.jpg" for number in range(60)]
    context = "".join(f"{{image#{number}}}" for number in range(1, 61))
    write(tmp_path, SUBSET, *(sample(context, names, sample_id=number) for number in range(200)))

    start = time.perf_counter()
    loaded = load(tmp_path, [SINGLE])

    assert sum(len(one.turns[0].user.images) for one in loaded.dialogues) == 12_000
    assert time.perf_counter() - start < 5
