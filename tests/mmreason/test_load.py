"""The TSV becomes dialogues, and whatever cannot be used is named or counted."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from mmtests.dialogue import BLIND, GOLD, MULTI, SETTINGS, SINGLE, Text
from mmtests.errors import BadRecords, DataError
from mmtests.image import Image, check, read
from mmtests.mmreason import MMReason
from mmtests.mmreason.load import load
from mmtests.mmreason.names import DISCIPLINES, SOURCES, discipline, source
from tests.mmreason.data import FILE, ONE, PICTURES, THREE, TWO, items, row, write


def wrong(folder: Path) -> str:
    """What is wrong with a folder."""
    with pytest.raises(DataError) as error:
        load(folder, SETTINGS)
    return str(error.value)


def test_a_row(tmp_path: Path) -> None:
    """A row is one question: its image, then its text as it is, and nothing else."""
    path = write(tmp_path, row(index="12", question=" What is it? "))

    loaded = load(tmp_path, [SINGLE])

    (dialogue,) = loaded.dialogues
    (turn,) = dialogue.turns
    assert dialogue.key == "mmreason/answer/single/12"
    assert dialogue.system is None
    assert dialogue.facts == {"discipline": "Mathematics"}
    assert (turn.number, turn.reference, turn.scored) == (1, "3", True)
    assert turn.user.shown == "<image> What is it? "
    assert [image.place for image in turn.user.images] == [f"{path}: record 12 (field image)"]
    assert [read(image) for image in turn.user.images] == [PICTURES[0]]
    assert loaded.files == {FILE: hashlib.sha256(path.read_bytes()).hexdigest()}


def test_several_images(tmp_path: Path) -> None:
    """All images of a list come before the question, in order."""
    (item,) = items(tmp_path, row(image=f"['{TWO}', '{ONE}']")).values()

    assert item.turn.user.shown == "<image><image>How long is it?"
    assert [read(image) for image in item.turn.user.images] == [PICTURES[1], PICTURES[0]]
    assert [image.place.rpartition(": ")[2] for image in item.turn.user.images] == [
        "record 1 (field image[0])",
        "record 1 (field image[1])",
    ]


def test_the_image_of_another_row(tmp_path: Path) -> None:
    """A row may show another's image, and keeps its place in the order."""
    write(tmp_path, row(index="1", image="2"), row(index="2", image=THREE))

    first, second = load(tmp_path, [SINGLE]).dialogues

    assert [first.id, second.id] == ["1", "2"]
    assert read(first.turns[0].user.images[0]) == PICTURES[2]
    assert first.turns[0].user.images[0].place.endswith("record 1 (field image)")


def test_steps_ask_the_same(tmp_path: Path) -> None:
    """With reference steps a row is scored twice; both tasks send the same messages, under the same trunk."""
    both = items(tmp_path, row(steps="['Read off 3.', 'So 3.']"))

    answer, steps = both["answer"], both["steps"]
    assert answer.turn.user == steps.turn.user
    assert answer.dialogue.trunk == steps.dialogue.trunk != ""
    assert (answer.turn.reference, steps.turn.reference) == ("3", "1. Read off 3.\n2. So 3.")


@pytest.mark.parametrize(
    ("cell", "read_as"),
    [
        ("", None),
        ("  ", None),
        ("[]", None),
        ("['', ' ']", None),
        ("['a', '', ' b ']", "1. a\n2. b"),
        ('["it\'s 3"]', "1. it's 3"),
        ("[ 'a' ]", "1. a"),
        (" First this.\nThen that. ", "First this.\nThen that."),
        ("[1] Read off. [2] Add.", "[1] Read off. [2] Add."),
    ],
)
def test_reference_steps(tmp_path: Path, cell: str, read_as: str | None) -> None:
    """Steps are a literal list, or text; a row without them has no item of that task."""
    steps = items(tmp_path, row(steps=cell)).get("steps")

    assert (steps.turn.reference if steps else None) == read_as


def test_steps_that_are_no_list(tmp_path: Path) -> None:
    """What begins like a list must be one."""
    write(tmp_path, row(steps="['a', 'b'"))

    assert "record 1: the cell is no literal list of texts" in wrong(tmp_path)
    assert "(field steps)" in wrong(tmp_path)


def test_no_steps_column(tmp_path: Path) -> None:
    """A reader is told why a task has no items."""
    write(tmp_path, row())
    assert load(tmp_path, [SINGLE]).notes == (
        f"{FILE} gives no reference steps (column 'steps'), so there are no items of the task 'steps'",
    )

    write(tmp_path, row(steps="Because."))
    assert load(tmp_path, [SINGLE]).notes == ()


def test_rows_without_an_image(tmp_path: Path) -> None:
    """They are left out in every setting, as officially, and counted."""
    some = [row(index=str(n), image="" if n % 2 else ONE, steps="a") for n in range(14)]
    write(tmp_path, *some)

    loaded = load(tmp_path, [SINGLE, BLIND])

    assert {dialogue.id for dialogue in loaded.dialogues} == {str(n) for n in range(0, 14, 2)}
    assert loaded.notes == (
        f"{FILE}: 7 of 14 rows have no image and are left out, as VLMEvalKit does: 1, 3, 5, 7, 9, ...",
    )
    assert loaded.skipped == ()


def test_blind(tmp_path: Path) -> None:
    """Without images the final answer is asked about, and not the steps."""
    write(tmp_path, row(steps="a"))

    dialogues = load(tmp_path, [BLIND]).dialogues

    assert [dialogue.key for dialogue in dialogues] == ["mmreason/answer/blind/1"]
    assert dialogues[0].turns[0].user.parts == (Text("How long is it?"),)
    assert dialogues[0].trunk != load(tmp_path, [SINGLE]).dialogues[0].trunk


def test_settings_asked_for(tmp_path: Path) -> None:
    """Of the settings asked for, those that the benchmark has are made, in its order."""
    write(tmp_path, row())

    assert [dialogue.setting for dialogue in load(tmp_path, SETTINGS).dialogues] == [SINGLE, BLIND]
    assert list(load(tmp_path, [MULTI, GOLD]).dialogues) == []


def test_source_and_level(tmp_path: Path) -> None:
    """Where the data says whence a question is and how hard, the item knows."""
    (item,) = items(tmp_path, row(source="MMMU_Pro", level=" hard ")).values()
    assert MMReason().facts(item) == {"discipline": "Mathematics", "source": "MMMU-Pro", "level": "hard"}

    (item,) = items(tmp_path, row(source="", level="")).values()
    assert MMReason().facts(item) == {"discipline": "Mathematics"}


@pytest.mark.parametrize("column", ["question", "answer", "discipline"])
def test_an_empty_cell(tmp_path: Path, column: str) -> None:
    """What is needed must be filled; the others go on if bad rows are skipped."""
    write(tmp_path, row(**{column: " "}), row(index="2"))

    assert f"record 1: the cell is empty (field {column})" in wrong(tmp_path)
    loaded = load(tmp_path, [SINGLE], BadRecords(skip=True))
    assert [dialogue.id for dialogue in loaded.dialogues] == ["2"]
    assert len(loaded.skipped) == 1


@pytest.mark.parametrize("column", ["index", "image", "question", "answer", "discipline"])
def test_a_missing_column(tmp_path: Path, column: str) -> None:
    """The five columns that the official code reads must be there."""
    cells = row()
    del cells[column]
    write(tmp_path, cells)

    assert f"there is no column {column!r}" in wrong(tmp_path)


def test_which_file(tmp_path: Path) -> None:
    """The official name, or the only one of its kind."""
    assert "no MMReason*.tsv" in wrong(tmp_path)

    write(tmp_path, row(index="a"), name="MMReason_full.tsv")
    assert load(tmp_path, [SINGLE]).dialogues[0].id == "a"

    write(tmp_path, row(index="b"), name="MMReason_other.tsv")
    assert "2 files MMReason*.tsv: MMReason_full.tsv, MMReason_other.tsv" in wrong(tmp_path)

    write(tmp_path, row(index="c"))
    assert load(tmp_path, [SINGLE]).dialogues[0].id == "c"


def test_a_file_without_rows(tmp_path: Path) -> None:
    """A header alone is no data."""
    (tmp_path / FILE).write_text("index\timage\tquestion\tanswer\tdiscipline\n")

    assert "the file has no rows" in wrong(tmp_path)


def test_recognises(tmp_path: Path) -> None:
    """A folder is MMReason's by its file's name."""
    assert not MMReason().recognises(tmp_path)
    (tmp_path / "MMReason_x.tsv").mkdir()
    assert not MMReason().recognises(tmp_path)
    write(tmp_path, row())
    assert MMReason().recognises(tmp_path)


@pytest.mark.parametrize(
    ("written", "named"),
    [
        *((name, name) for name in DISCIPLINES),
        ("Math", "Mathematics"), ("maths", "Mathematics"), ("Social", "Social Science"),
        ("social_sciences", "Social Science"), ("Humanities and Social Science", "Social Science"),
        ("Tech & Engineering", "Engineering"), ("Tech and Engineering", "Engineering"),
        ("Health&Medicine", "Health"), ("natural-science", "Science"), (" BUSINESS ", "Business"),
        ("Art & Design", "Art & Design"), (" Geography ", "Geography"),
    ],
)  # fmt: skip
def test_disciplines(written: str, named: str) -> None:
    """Obvious variants have the paper's name; what is unknown stays as it is."""
    assert discipline(written) == named


@pytest.mark.parametrize(
    ("written", "named"),
    [*((name, name) for name in SOURCES), ("mmmu_pro", "MMMU-Pro"), ("Newly collect (Ours)", "Newly collected"),
     ("MathVista", "MathVista")],
)  # fmt: skip
def test_sources(written: str, named: str) -> None:
    """The same for sources."""
    assert source(written) == named


def test_the_sample() -> None:
    """The embedded sample covers what the format can hold, and its pictures are pictures."""
    loaded = MMReason().load(MMReason.sample, SETTINGS)

    assert (loaded.notes, loaded.skipped) == ((), ())
    shown = [(one.task, one.setting, one.id, len(one.turns[0].user.images)) for one in loaded.dialogues]
    assert [(task, id, count) for task, setting, id, count in shown if setting == SINGLE] == [
        ("answer", "1", 1), ("steps", "1", 1), ("answer", "2", 1), ("answer", "3", 2), ("steps", "3", 2),
        ("answer", "4", 1), ("answer", "5", 1),
    ]  # fmt: skip
    assert [(task, count) for task, setting, _, count in shown if setting == BLIND] == [("answer", 0)] * 5
    images: list[Image] = [image for one in loaded.dialogues for image in one.turns[0].user.images]
    for image in images:
        check(image)
    assert {one.facts["discipline"] for one in loaded.dialogues} == set(DISCIPLINES) - {"Social Science"}
