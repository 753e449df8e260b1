"""The official files load unchanged, each image in its place, and a bad record is refused with its place and its cure."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmtests.dialogue import ADVERSARIAL, BLIND, GOLD, MULTI, SETTINGS, SINGLE, Dialogue, Message, Text
from mmtests.errors import BadRecords, DataError
from mmtests.image import Image, Member, check, picture
from mmtests.mmdu import MMDU
from mmtests.mmdu.load import load, recognises
from tests.mmdu.data import (
    BLUE,
    GREEN,
    RED,
    TAG,
    Json,
    archive,
    boats,
    boats_row,
    encoded,
    loaded,
    pictures,
    said,
    sheet,
    write,
)


def order(message: Message) -> list[object]:
    """What a message is made of, in order: its texts, and for each image the colour of its first pixel."""
    return [part.text if isinstance(part, Text) else colour(part) for part in message.parts]


def colour(image: Image) -> Any:
    return picture(image).getpixel((0, 0))


BOATS = [
    ["Image1: ", RED, ". Image2: ", GREEN, ". What do they share?"],
    ["Which is warmer?"],
    [BLUE, " And this?"],
]
"""What the user's messages of ``boats`` are made of."""


def users(dialogue: Dialogue) -> list[list[object]]:
    """What the user's messages are made of."""
    return [order(turn.user) for turn in dialogue.turns]


# The embedded sample


def test_the_sample() -> None:
    """The sample is small, has gold history throughout, and each of its pictures is one."""
    found = load(MMDU.sample, SETTINGS)

    counts = {
        setting: [len(list(one.items)) for one in found.dialogues if one.setting == setting] for setting in SETTINGS
    }
    assert counts == {MULTI: [4, 3], GOLD: [4, 3], BLIND: [4, 3], SINGLE: [], ADVERSARIAL: []}
    assert found.absent == found.notes == found.skipped == ()
    images = [image for one in found.dialogues for turn in one.turns for image in turn.user.images]
    assert len({image.place for image in images}) == 5
    for image in images:
        check(image)


def test_the_sample_is_written_as_the_official_file_is() -> None:
    """A list of records, picture paths with a slash before them, and no field beside the official ones."""
    records = json.loads((MMDU.sample / "benchmark.json").read_text(encoding="utf-8"))

    assert isinstance(records, list)
    for record in records:
        assert set(record) == {"id", "image", "conversations"}
        assert all(path.startswith("/mmdu_pics/") for path in record["image"])
        assert all(set(message) == {"from", "value"} for message in record["conversations"])
    written = {path.removeprefix("/mmdu_pics/") for record in records for path in record["image"]}
    assert written == {path.name for path in (MMDU.sample / "mmdu_pics").iterdir()}


# Where images stand


def test_each_tag_is_the_next_image(tmp_path: Path) -> None:
    """Tags are counted over the whole dialogue, and text stands before and after the images as it was written."""
    (dialogue,) = loaded(tmp_path, boats())

    assert users(dialogue) == BOATS
    assert [turn.reference for turn in dialogue.turns] == ["Both are squares.", "The first.", "Cold."]
    assert [turn.facts["question"] for turn in dialogue.turns] == [
        f"Image1: {TAG}. Image2: {TAG}. What do they share?", "Which is warmer?", f"{TAG} And this?",
    ]  # fmt: skip
    assert all(turn.scored for turn in dialogue.turns)
    assert dialogue.system is None


def test_images_side_by_side(tmp_path: Path) -> None:
    """Between two tags without a text, and at the ends of a message, there is no empty part; space is kept."""
    record = boats(conversations=said(f"{TAG}{TAG} {TAG}", "Three."))

    (dialogue,) = loaded(tmp_path, record)

    assert users(dialogue) == [[RED, GREEN, " ", BLUE]]


def test_the_same_image_twice(tmp_path: Path) -> None:
    """A path that stands twice is two images."""
    record = boats(image=["/mmdu_pics/red.png"] * 2, conversations=said(f"{TAG}?", "!", f"And {TAG}?", "!"))

    (dialogue,) = loaded(tmp_path, record)

    assert users(dialogue) == [[RED, "?"], ["And ", RED, "?"]]


def test_places(tmp_path: Path) -> None:
    """Each image knows file, record and field, for what may be found wrong with it later."""
    (dialogue,) = loaded(tmp_path, boats())

    images = dialogue.facts["images"]
    assert [image.place for image in images] == [
        f"{tmp_path / 'benchmark.json'}: record 7 (field image[{number}])" for number in range(3)
    ]
    assert images == tuple(image for turn in dialogue.turns for image in turn.user.images)


@pytest.mark.parametrize("form", ["/mmdu_pics/{}.png", "mmdu_pics/{}.png", "/{}.png", "{}.png"])
@pytest.mark.parametrize("packed", [False, True])
def test_forms_of_a_path(tmp_path: Path, form: str, packed: bool) -> None:
    """Paths are found with or without the slash and the folder's name, in the folder and in the archive."""
    (archive if packed else pictures)(tmp_path)
    write(tmp_path, boats(image=[form.format(name) for name in ("red", "green", "blue")]))

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert users(dialogue) == BOATS


def test_the_archive_is_read_where_it_is(tmp_path: Path) -> None:
    """Without the folder, pictures come from the archive, and nothing is unpacked."""
    archive(tmp_path)
    write(tmp_path, boats())

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert users(dialogue) == BOATS
    assert all(isinstance(image.source, Member) for image in dialogue.facts["images"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["benchmark.json", "mmdu_pics.zip"]


def test_no_picture_is_opened(tmp_path: Path) -> None:
    """Loading sees that pictures are there, and no more: what they hold is looked at later."""
    for path in pictures(tmp_path).iterdir():
        path.write_bytes(b"no picture")
    write(tmp_path, boats())

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert len(dialogue.facts["images"]) == 3


# Settings


def test_settings(tmp_path: Path) -> None:
    """Gold has the same messages; blind has them without images, and still hands the images to the judge."""
    multi, gold, blind = loaded(tmp_path, boats(), settings=SETTINGS)

    assert [one.setting for one in (multi, gold, blind)] == [MULTI, GOLD, BLIND]
    assert gold.turns == multi.turns
    assert users(blind) == [["Image1: ", ". Image2: ", ". What do they share?"], ["Which is warmer?"], [" And this?"]]
    assert blind.facts["images"] == multi.facts["images"]
    assert blind.turns[0].facts == multi.turns[0].facts


def test_only_the_settings_asked_for(tmp_path: Path) -> None:
    """What is not asked for, or does not exist, is not made."""
    assert [one.setting for one in loaded(tmp_path, boats(), settings=[SINGLE, GOLD])] == [GOLD]
    assert loaded(tmp_path, boats(), settings=[SINGLE]) == []


def test_a_dialogue_without_references_has_no_gold(tmp_path: Path) -> None:
    """An empty reference reply is none: the gold setting leaves the dialogue out and a note says so."""
    pictures(tmp_path)
    gone = boats(8)
    gone["conversations"][1]["value"] = ""
    write(tmp_path, boats(), gone)

    found = load(tmp_path, [MULTI, GOLD])

    assert [(one.setting, one.id) for one in found.dialogues] == [(MULTI, "7"), (MULTI, "8"), (GOLD, "7")]
    assert found.notes == ("benchmark.json lacks reference replies in 1 of 2 dialogues: they have no gold setting",)


# Forms of the file


def test_an_object_of_records(tmp_path: Path) -> None:
    """The records may be the values of an object."""
    pictures(tmp_path)
    (tmp_path / "benchmark.json").write_text(json.dumps({"a": boats(1), "b": boats("2x", set="more")}))

    assert [one.id for one in load(tmp_path, [MULTI]).dialogues] == ["1", "2x"]


def test_the_sheet(tmp_path: Path) -> None:
    """VLMEvalKit's form gives the same dialogue, with images read from the cells."""
    sheet(tmp_path, boats_row(), boats_row(8, question=["Blue?"], answer=["No."], image=""))

    first, second = load(tmp_path, [MULTI]).dialogues

    assert users(first) == BOATS
    assert [turn.reference for turn in first.turns] == ["Both are squares.", "The first.", "Cold."]
    assert first.turns[0].facts["question"].count(TAG) == 2
    assert first.facts["images"][2].place == f"{tmp_path / 'MMDU.tsv'}: record 7 (field image[2])"
    assert (second.id, users(second)) == ("8", [["Blue?"]])


def test_a_row_that_shows_the_pictures_of_another(tmp_path: Path) -> None:
    """A short image cell is the index of the row that has the pictures."""
    sheet(tmp_path, boats_row(8, image="7"), boats_row(7))

    other, own = load(tmp_path, [MULTI]).dialogues

    assert users(other) == users(own) == BOATS


def test_files_by_digest(tmp_path: Path) -> None:
    """What was read is known by name and SHA-256; of two forms the official one is read, and a note says so."""
    row = sheet(tmp_path, boats_row())
    assert load(tmp_path, [MULTI]).files == {"MMDU.tsv": hashlib.sha256(row.read_bytes()).hexdigest()}

    pictures(tmp_path)
    path = write(tmp_path, boats())
    found = load(tmp_path, [MULTI])

    assert found.files == {"benchmark.json": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert found.notes == ("MMDU.tsv is not read, as benchmark.json is there",)


def test_a_byte_order_mark(tmp_path: Path) -> None:
    """A byte order mark before the records does no harm."""
    pictures(tmp_path)
    path = write(tmp_path, boats())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    assert len(load(tmp_path, [MULTI]).dialogues) == 1


@pytest.mark.parametrize(
    ("prepare", "expected"),
    [
        (lambda folder: None, False),
        (lambda folder: sheet(folder, boats_row()), True),
        (lambda folder: write(folder, boats()), True),
        (lambda folder: write(folder, {"question": "of another benchmark"}), False),
        (lambda folder: (write(folder), pictures(folder)), True),
        (lambda folder: pictures(folder), False),
    ],
    ids=["nothing", "sheet", "records", "other records", "empty records beside pictures", "pictures alone"],
)
def test_recognised_folders(tmp_path: Path, prepare: Callable[[Path], object], expected: bool) -> None:
    """A file as common in name as benchmark.json must look like MMDU's."""
    prepare(tmp_path)

    assert recognises(tmp_path) is expected
    assert MMDU().recognises(tmp_path) is expected


def test_as_many_as_the_benchmark_has(tmp_path: Path) -> None:
    """A hundred times the benchmark's pictures load at once: none is opened or looked for on its own."""
    names = [f"{number:032x}.jpg" for number in range(2000)]
    pics = tmp_path / "mmdu_pics"
    pics.mkdir()
    for name in names:
        (pics / name).touch()
    texts = [text for _ in range(25) for text in (TAG * 20 + "?", "!")]
    write(tmp_path, *(boats(n, image=names[:500], conversations=said(*texts)) for n in range(110)))

    begun = time.process_time()
    found = load(tmp_path, [MULTI])

    assert len(found.dialogues) == 110
    assert sum(len(one.facts["images"]) for one in found.dialogues) == 55_000
    assert time.process_time() - begun < 20  # 120,000 files opened would take minutes


# What is refused


def refused(folder: Path, *records: Any) -> str:
    """The message that a file of these records gets."""
    with pytest.raises(DataError) as caught:
        loaded(folder, *records)
    return str(caught.value)


def changed(index: int, value: Json) -> Json:
    """``boats`` with another message in the place of one of its own."""
    record = boats()
    record["conversations"][index] = value
    return record


def without(name: str) -> Json:
    """``boats`` without a field."""
    return {key: value for key, value in boats().items() if key != name}


@pytest.mark.parametrize(
    ("record", "where", "problem"),
    [
        (boats(image=["/mmdu_pics/red.png"]), "record 7", r"3 tags <ImageHere>, and there are 1 images \(field image\)"),
        (boats(image=[]), "record 7", r"3 tags <ImageHere>, and there are 0 images \(field image\)"),
        (
            changed(1, {"from": "assistant", "value": f"Look: {TAG}"}), "record 7",
            r"a reference reply holds the tag .*\(field conversations\[1\]\.value\)",
        ),
        (
            changed(2, {"from": "assistant", "value": "Yes."}), "record 7",
            r"from 'assistant', where 'user' is due \(field conversations\[2\]\.from\)",
        ),
        (
            changed(0, {"from": "system", "value": "Be kind."}), "record 7",
            r"from 'system', where 'user' is due \(field conversations\[0\]\.from\)",
        ),
        (
            boats(conversations=boats()["conversations"][:5]), "record 7",
            r"5 messages, so that the last question has no reply \(field conversations\)",
        ),
        (boats(conversations=[], image=[]), "record 7", r"no turns \(field conversations\)"),
        (
            changed(2, {"from": "user", "value": " "}), "record 7",
            r"the question is empty \(field conversations\[2\]\.value\)",
        ),
        (
            boats(image=["/mmdu_pics/red.png", "/mmdu_pics/lost.png", "/mmdu_pics/blue.png"]), "record 7",
            r"no picture '/mmdu_pics/lost.png' in .*mmdu_pics \(field image\[1\]\)",
        ),
        (
            boats(image=["/mmdu_pics/red.png", "/mmdu_pics/../../etc/passwd", "x"]), "record 7",
            r"leads out of the folder .* \(field image\[1\]\)",
        ),
        (boats(image=["/mmdu_pics//etc/passwd", "x", "x"]), "record 7", r"leads out .* \(field image\[0\]\)"),
        (boats(image=["//etc/passwd", "x", "x"]), "record 7", r"leads out .* \(field image\[0\]\)"),
        (boats(image=["..\\red.png", "x", "x"]), "record 7", r"leads out .* \(field image\[0\]\)"),
        (boats(image=[7]), "record 7", r"expected `str`, got `int` \(field image\[0\]\)"),
        (boats(image="red.png"), "record 7", r"expected `array`, got `str` \(field image\)"),
        (without("conversations"), "record 7", r"missing field `conversations` \(field conversations\)"),
        (changed(1, {"from": "assistant"}), "record 7", r"missing field `value` \(field conversations\[1\]\.value\)"),
        (changed(1, {"value": "Yes."}), "record 7", r"missing field `from` \(field conversations\[1\]\.from\)"),
        (
            changed(1, {"from": "assistant", "value": None}), "record 7",
            r"expected `str`, got `null` \(field conversations\[1\]\.value\)",
        ),
        (without("id"), "record number 1", r"missing field `id` \(field id\)"),
        (boats(None), "record number 1", r"\(field id\)"),
        (boats(""), "record number 1", r"the id is empty \(field id\)"),
        (boats("a\0b"), "record number 1", r"the id 'a\\x00b' cannot be shown \(field id\)"),
        (boats([1]), "record number 1", r"\(field id\)"),
        (boats(1.5), "record number 1", r"\(field id\)"),
        (7, "record number 1", r"expected `object`, got `int`"),
    ],
)  # fmt: skip
def test_bad_records(tmp_path: Path, record: Any, where: str, problem: str) -> None:
    """A record that cannot be used is refused by file, record and field, and skipped if that is wished."""
    message = refused(tmp_path, record)

    assert message.startswith(f"{tmp_path / 'benchmark.json'}: {where}: ")
    assert re.search(problem, message)
    write(tmp_path, record, boats("good"))
    found = load(tmp_path, [MULTI], BadRecords(skip=True))
    assert [one.id for one in found.dialogues] == ["good"]
    assert found.skipped == (message,)


def test_no_images_named(tmp_path: Path) -> None:
    """A record without pictures and without tags is a dialogue like any other."""
    record = {"id": 1, "conversations": said("Hello?", "Hello.")}

    (dialogue,) = loaded(tmp_path, record)

    assert users(dialogue) == [["Hello?"]]


@pytest.mark.parametrize("ids", [(7, 7), (7, "7"), ("a", "a")])
def test_an_id_that_stands_twice(tmp_path: Path, ids: Sequence[int | str]) -> None:
    """Ids name items, and must be unique, however they are written."""
    message = refused(tmp_path, *map(boats, ids))

    assert f"record {ids[0]}: another record before it has this id (field id)" in message


def test_a_link_that_leads_out(tmp_path: Path) -> None:
    """A picture that is a link to a file outside of the folder is none."""
    (tmp_path / "secret").write_text("x")
    inside = pictures(tmp_path) / "link.png"
    inside.symlink_to(tmp_path / "secret")

    assert "no picture '/mmdu_pics/link.png'" in refused(tmp_path, boats(image=["/mmdu_pics/link.png", "x", "x"]))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[", "not JSON"),
        ('[{"id": 1,]', "not JSON"),
        ("", "not JSON"),
        ("\x00", "not JSON"),
        ('"text"', "neither a list nor an object of records"),
        ("7", "neither a list nor an object of records"),
        ("[]", "there is no record in it"),
        ("{}", "there is no record in it"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, problem: str) -> None:
    """A file that holds no records is refused whole, whether bad records are to be skipped or not."""
    pictures(tmp_path)
    (tmp_path / "benchmark.json").write_text(text)

    for bad in (BadRecords(), BadRecords(skip=True)):
        with pytest.raises(DataError, match=problem):
            load(tmp_path, [MULTI], bad)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are refused with the record's number."""
    pictures(tmp_path)
    (tmp_path / "benchmark.json").write_bytes(b'[{"id": "\xff\xfe", "conversations": []}]')

    with pytest.raises(DataError, match=r"benchmark\.json"):
        load(tmp_path, [MULTI])


def test_no_pictures_at_all(tmp_path: Path) -> None:
    """Without folder and archive the message says what is to be put where, even if bad records are to be skipped."""
    write(tmp_path, boats())

    with pytest.raises(DataError, match=r"neither mmdu_pics/ nor mmdu_pics\.zip is beside it\. Put .* into"):
        load(tmp_path, [MULTI], BadRecords(skip=True))


@pytest.mark.parametrize("member", ["../evil.png", "/etc/passwd", "mmdu_pics/../../evil.png", "a\\b.png"])
def test_an_archive_that_would_write_outside(tmp_path: Path, member: str) -> None:
    """An archive with members that lead out of a folder is refused whole."""
    archive(tmp_path, member)
    write(tmp_path, boats())

    with pytest.raises(DataError, match=r"mmdu_pics\.zip: its member .* would be written outside"):
        load(tmp_path, [MULTI])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"no archive"])
def test_an_archive_that_is_none(tmp_path: Path, content: bytes) -> None:
    """An archive that cannot be read is named."""
    (tmp_path / "mmdu_pics.zip").write_bytes(content)
    write(tmp_path, boats())

    with pytest.raises(DataError, match=r"mmdu_pics\.zip: it cannot be read as a zip archive"):
        load(tmp_path, [MULTI])


def test_a_picture_that_the_archive_lacks(tmp_path: Path) -> None:
    """A missing member is named with record, field and archive."""
    archive(tmp_path)
    write(tmp_path, boats(image=["/mmdu_pics/red.png", "/mmdu_pics/lost.png", "/mmdu_pics/blue.png"]))

    with pytest.raises(DataError, match=r"record 7: .*lost\.png' in .*mmdu_pics\.zip \(field image\[1\]\)"):
        load(tmp_path, [MULTI])


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (boats_row(answer=["one", "two"]), r"3 questions and 2 answers \(field answer\)"),
        (boats_row(image=encoded(RED)), r"3 tags <ImageHere>, and there are 1 images \(field image\)"),
        (boats_row(answer=["one", f"two {TAG}", "three"]), r"holds the tag .* \(field answer\[1\]\)"),
        (boats_row(question=[], answer=[], image=""), r"no turns \(field question\)"),
        (boats_row(question=["?", " ", "?"], image=""), r"the question is empty \(field question\[1\]\)"),
        (boats_row(question="What?"), r"no literal list of texts.* \(field question\)"),
        (boats_row(answer="__import__('os').system('true')"), r"no literal list of texts.* \(field answer\)"),
    ],
)
def test_bad_rows(tmp_path: Path, row: Json, problem: str) -> None:
    """A row that cannot be used is refused by file, index and field, and skipped if that is wished."""
    sheet(tmp_path, row, boats_row(8))

    with pytest.raises(DataError) as caught:
        load(tmp_path, [MULTI])

    assert str(caught.value).startswith(f"{tmp_path / 'MMDU.tsv'}: record 7: ")
    assert re.search(problem, str(caught.value))
    found = load(tmp_path, [MULTI], BadRecords(skip=True))
    assert [one.id for one in found.dialogues] == ["8"]
    assert found.skipped == (str(caught.value),)


def test_a_folder_without_the_files(tmp_path: Path) -> None:
    """Where neither form is there, nothing is found."""
    found = load(tmp_path, [MULTI])

    assert (found.dialogues, found.absent) == ((), ("benchmark.json",))
