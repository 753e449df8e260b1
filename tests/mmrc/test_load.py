"""Data files become one dialogue for each question, and a record that cannot be used is refused with its place and cure."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.dialogue import BLIND, GOLD, MULTI, SETTINGS, Text
from mmtests.errors import BadRecords, DataError
from mmtests.image import File, Image, Inline, check
from mmtests.mmrc import MMRC
from mmtests.mmrc.load import load
from mmtests.mmrc.tasks import ABILITIES
from tests.mmrc.data import PIXEL, Json, chosen, conversation, question, write

# The embedded sample


def test_the_sample() -> None:
    """Two conversations with a question of each ability, in each setting; every picture is one."""
    loaded = load(MMRC.sample, SETTINGS)

    assert MMRC().recognises(MMRC.sample)
    assert Counter((dialogue.setting, dialogue.task) for dialogue in loaded.dialogues) == {
        (setting, ability): 2 for setting in (MULTI, GOLD, BLIND) for ability in ABILITIES
    }
    assert (loaded.notes, loaded.absent, loaded.skipped) == ((), (), ())
    pictures = {image.source: image for d in loaded.dialogues for turn in d.turns for image in turn.user.images}
    assert len(pictures) == 4
    for image in pictures.values():
        check(image)
    formats = Counter(item.turn.facts["question"].format for d in loaded.dialogues for item in d.items)
    assert set(formats) == {"open", "multiple-choice", "true-false"}


def test_the_sample_answers_itself() -> None:
    """By proxy, each gold answer has full marks."""
    items = [item for dialogue in load(MMRC.sample, [MULTI]).dialogues for item in dialogue.items]

    assert [MMRC().proxy(item, item.turn.reference or "") for item in items if not MMRC().proxy(item, "")] == []
    assert {proxy[0] for item in items if (proxy := MMRC().proxy(item, item.turn.reference or ""))} == {1.0}


# What becomes of a record


def test_one_dialogue_a_question(tmp_path: Path) -> None:
    """Each question has its own copy of the history; all of a setting share its name."""
    write(tmp_path, conversation(question("IE"), question("AR"), question("IE"), question("IE")))

    dialogues = load(tmp_path, [MULTI, GOLD]).dialogues

    assert [item.id for dialogue in dialogues for item in dialogue.items] == [
        f"mmrc/{name.replace('S', setting)}/turn-04"
        for setting in ("multi", "gold")
        for name in ("IE/S/c1", "AR/S/c1", "IE/S/c1.2", "IE/S/c1.3")
    ]
    assert {(dialogue.setting, dialogue.trunk) for dialogue in dialogues} == {
        ("multi", "mmrc/multi/c1"), ("gold", "mmrc/gold/c1"),
    }  # fmt: skip
    assert len({tuple(map(id, dialogue.turns[:3])) for dialogue in dialogues if dialogue.setting == MULTI}) == 1
    assert {dialogue.system for dialogue in dialogues} == {None}
    assert [turn.id for turn in dialogues[2].turns] == ["1", "2", "3", "q3"]


def test_the_history_is_own_or_recorded(tmp_path: Path) -> None:
    """In multi and blind the model answers the history; in gold it is given. The question alone is scored."""
    write(tmp_path, conversation())

    multi, gold, blind = load(tmp_path, SETTINGS).dialogues

    assert [(turn.scored, turn.asked) for turn in multi.turns] == [(False, True)] * 3 + [(True, False)]
    assert [(turn.scored, turn.asked) for turn in blind.turns] == [(False, True)] * 3 + [(True, False)]
    assert [(turn.scored, turn.asked) for turn in gold.turns] == [(False, False)] * 3 + [(True, False)]
    assert [turn.reference for turn in gold.turns] == ["I see a boat.", "How nice.", "And a tree.", "A boat."]


def test_blind(tmp_path: Path) -> None:
    """No picture is left, and a message that was a picture alone says so, since an empty one cannot be sent."""
    write(tmp_path, conversation())

    (blind,) = load(tmp_path, [BLIND]).dialogues

    assert [turn.user.shown for turn in blind.turns] == [
        "Look at this.",
        "It is my uncle's.",
        "(a picture)",
        "What is it?",
    ]
    assert blind.trunk == "mmrc/blind/c1"
    assert [message.shown for message in blind.facts["shown"]] == [
        "<image>Look at this.", "It is my uncle's.", "<image>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "images", "shown"),
    [
        ("What is this?", [1], "<image>What is this?"),
        ("What is this?", [1, 2], "<image><image>What is this?"),
        ("<image>\nWhat is this?", [1], "<image>\nWhat is this?"),
        ("First <image>, then <image>.", [2, 1], "First <image>, then <image>."),
        ("", [1], "<image>"),
        (None, [1], "<image>"),
        ("Just text.", [], "Just text."),
        ("Just text.", None, "Just text."),
    ],
)
def test_places_of_pictures(tmp_path: Path, text: str | None, images: list[int] | None, shown: str) -> None:
    """Tags say where pictures are; without tags they come first."""
    files = None if images is None else [f"c1/{number}.png" for number in images]
    write(tmp_path, conversation(turns=[{"user": {"text": text, "images": files}, "assistant": "Yes."}]))

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    message = dialogue.turns[0].user
    assert message.shown == shown
    assert all(part.text for part in message.parts if isinstance(part, Text))
    assert [image.source for image in message.images] == [File(str(tmp_path / "images" / file)) for file in files or []]


def test_where_pictures_are(tmp_path: Path) -> None:
    """In images/, in the data folder, or in the record itself; errors will name record and field."""
    (tmp_path / "other.png").write_bytes(PIXEL)
    url = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    path = write(
        tmp_path,
        conversation(turns=[{"user": {"images": ["c1/1.png", "other.png", "images/c1/2.png", url]}, "assistant": ""}]),
    )

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    images = dialogue.turns[0].user.images
    assert [image.source for image in images] == [
        File(str(tmp_path / "images/c1/1.png")),
        File(str(tmp_path / "other.png")),
        File(str(tmp_path / "images/c1/2.png")),
        Inline(base64.b64encode(PIXEL).decode()),
    ]
    for image in images:
        check(image)
    assert images[1].place == f"{path}:1: record c1 (field turns[0].user.images[1])"


def test_a_single_picture_may_be_a_string(tmp_path: Path) -> None:
    """One picture needs no list."""
    write(tmp_path, conversation(turns=[{"user": {"text": "This?", "images": "c1/1.png"}}]))

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert dialogue.turns[0].user.shown == "<image>This?"


@pytest.mark.parametrize(
    ("answer", "choices"),
    [
        ("a tree", ["a boat", "a tree", "a house"]),
        (" A Tree", ["a boat", "a tree", "a house"]),
        ("B", ["a boat", "a tree", "a house"]),
        ("(b)", ["a boat", "a tree", "a house"]),
        ("B. a tree", ["a boat", "a tree", "a house"]),
        ("B", {"A": "a boat", "C": "a house", "B": "a tree"}),
        ("a tree", ["A. a boat", "B. a tree", "C. a house"]),
        ("B. a tree", ["A. a boat", "B. a tree", "C. a house"]),
    ],
)
def test_ways_to_write_choices(tmp_path: Path, answer: str, choices: Any) -> None:
    """With letters or without, the gold answer by text or by letter: all the same question."""
    write(tmp_path, conversation(chosen(answer=answer, choices=choices)))

    (item,) = next(iter(load(tmp_path, [MULTI]).dialogues)).items

    one = item.turn.facts["question"]
    assert one.choices == ("a boat", "a tree", "a house")
    assert (one.right, one.answer, item.turn.reference) == (1, "B. a tree", "B. a tree")


def test_a_choice_that_reads_like_a_letter(tmp_path: Path) -> None:
    """Letter and text together say which is meant."""
    write(tmp_path, conversation(chosen(answer="B. A", choices=["x", "A"])))

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert dialogue.turns[-1].facts["question"].right == 1


@pytest.mark.parametrize(("answer", "right"), [(True, 0), (False, 1), ("true", 0), ("False", 1)])
def test_ways_to_write_truth(tmp_path: Path, answer: object, right: int) -> None:
    """JSON's own values, or words."""
    write(tmp_path, conversation(question(format="true-false", answer=answer)))

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert dialogue.turns[-1].facts["question"].right == right
    assert dialogue.turns[-1].reference == ("True", "False")[right]


@pytest.mark.parametrize(
    ("ability", "more", "metric"),
    [
        ("IE", {"answer_items": ["boat"]}, "EP"),
        ("IE", {"answer_items": []}, None),
        ("IE", {}, None),
        ("IM", {"answer_images": [2, 1]}, "IMP"),
        ("IM", {"answer_images": None}, None),
        ("AR", {}, "RP"),
        ("AR", {"should_refuse": True}, "RP"),
        ("AR", {"should_refuse": False}, None),
        ("MR", {"answer_items": ["boat"], "answer_images": [1], "should_refuse": True}, None),
    ],
)
def test_metrics_that_the_data_allows(tmp_path: Path, ability: str, more: Json, metric: str | None) -> None:
    """Each objective metric belongs to one ability and needs its own field; an AR question is to be declined by default."""
    write(tmp_path, conversation(question(ability, **more)))

    (item,) = next(iter(load(tmp_path, [MULTI]).dialogues)).items

    assert MMRC().facts(item)["metric"] == metric


@pytest.mark.parametrize(
    ("evidence", "place"),
    [([1], "first third"), ([2], "middle third"), ([3], "last third"), ([3, 3], "last third"), ([1, 2], "several"),
     ([], None), (None, None)],
)  # fmt: skip
def test_facts(tmp_path: Path, evidence: list[int] | None, place: str | None) -> None:
    """A record knows its conversation's topic and length, and where the answer was."""
    write(tmp_path, conversation(question(evidence_turns=evidence), domain="sea"))

    (item,) = next(iter(load(tmp_path, [MULTI]).dialogues)).items

    assert json.loads(json.dumps(MMRC().facts(item))) == {
        "topic": "travel", "domain": "sea", "turns": 3, "format": "open", "metric": None, "evidence": place,
    }  # fmt: skip


def test_gold_needs_recorded_replies(tmp_path: Path) -> None:
    """A conversation with a gap has multi and no gold, and a note says so."""
    bare = conversation(id="c2", turns=[{"user": "Hi."}, {"user": "So?", "assistant": None}])
    path = write(tmp_path, conversation(), bare)

    loaded = load(tmp_path, [MULTI, GOLD])

    assert [dialogue.key for dialogue in loaded.dialogues] == [
        "mmrc/MR/multi/c1",
        "mmrc/MR/multi/c2",
        "mmrc/MR/gold/c1",
    ]
    assert loaded.notes == (
        f"{path.name} gives no reply at some turn of 1 of 2 conversations: they have no gold setting",
    )


def test_settings_it_does_not_have(tmp_path: Path) -> None:
    """Only those asked for that there are."""
    write(tmp_path, conversation())

    assert load(tmp_path, ["single", "adversarial"]).dialogues == []


@pytest.mark.parametrize("name", ["mmrc.jsonl", "mmrc.json"])
@pytest.mark.parametrize("form", ["lines", "list"])
def test_lines_or_list(tmp_path: Path, name: str, form: str) -> None:
    """Both forms are known by what is in them, with marks, blank lines and Windows line ends."""
    rows = [json.dumps(conversation(id=id)) for id in ("c1", "c2")]
    path = write(tmp_path, name=name)
    text = "\r\n" + "\r\n\r\n".join(rows) + "\n" if form == "lines" else f"\n[{', '.join(rows)}]\n"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())

    loaded = load(tmp_path, [MULTI])

    assert [dialogue.id for dialogue in loaded.dialogues] == ["c1", "c2"]
    assert loaded.files == {name: hashlib.sha256(path.read_bytes()).hexdigest()}


def test_numbers_as_ids(tmp_path: Path) -> None:
    """An id may be a number; the name is its digits."""
    write(tmp_path, conversation(id=7))

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert dialogue.id == "7"


def test_fields_that_are_not_read(tmp_path: Path) -> None:
    """They do no harm, and are named: one may be a slip of the pen."""
    row = conversation(question(answer_item=["x"]), extra=1)
    row["turns"][0]["user"]["image"] = "x.png"
    row["turns"][1]["time"] = "noon"
    write(tmp_path, row)

    (note,) = load(tmp_path, [MULTI]).notes

    assert note == (
        "mmrc.jsonl has fields that are not read: extra, questions[].answer_item, turns[].time, turns[].user.image"
    )


def test_a_large_file_loads_in_seconds(tmp_path: Path) -> None:
    """As many conversations as the paper has, with their pictures: nothing is opened, and history is shared."""
    turns = [
        {"user": {"text": "Look.", "images": ["c1/1.png"]} if n < 5 else "And?", "assistant": "Yes."} for n in range(15)
    ]
    asked = [question(ability) for ability in ABILITIES]
    write(tmp_path, *(conversation(*asked, id=f"c{n}", turns=turns) for n in range(5120)))

    begun = time.perf_counter()
    loaded = load(tmp_path, [MULTI])
    took = time.perf_counter() - begun

    assert len(loaded.dialogues) == 30720
    assert took < 20, "a few seconds on a quiet machine"


# What cannot be used


def turns(*users: object) -> list[Json]:
    """Turns with these users."""
    return [{"user": user, "assistant": "Yes."} for user in users]


BAD: dict[str, tuple[Json, str | None, str, str]] = {
    "no turns": (conversation(turns=[]), "turns", "has no turns", "at least one"),
    "no questions": (conversation() | {"questions": []}, "questions", "has no questions", "at least one"),
    "missing turns": ({"id": "c1", "questions": []}, "turns", "missing field `turns`", "docs/mmrc.md"),
    "turns of another type": (conversation(turns=["Hi."]), "turns[0]", "expected `object`, got `str`", "docs/mmrc.md"),
    "empty id": (conversation(id=" "), "id", "cannot be shown", "printable"),
    "id with a line break": (conversation(id="a\nb"), "id", "cannot be shown", "printable"),
    "empty turn": (
        conversation(turns=turns("Hi.", {"text": " "})), "turns[1].user", "says nothing and shows nothing", "a picture",
    ),
    "unknown ability": (conversation(question("XX")), "questions[0].ability", "unknown ability 'XX'", "IE, CR, IU"),
    "ability in lower case": (conversation(question("ie")), "questions[0].ability", "unknown ability 'ie'", "IE, CR"),
    "unknown format": (
        conversation(question(), question(format="mcq")), "questions[1].format", "unknown format 'mcq'", "multiple-choice",
    ),
    "empty question": (conversation(question(question=" ")), "questions[0].question", "question is empty", "text"),
    "empty answer": (conversation(question(answer="")), "questions[0].answer", "gold answer is empty", "Give one"),
    "missing answer": (
        conversation({"ability": "IE", "question": "?"}), "questions[0].answer", "missing field `answer`", "docs/mmrc.md",
    ),
    "truth for an open question": (
        conversation(question(answer=True)), "questions[0].answer", "the answer is true", "true-false",
    ),
    "no choices": (conversation(chosen(choices=None)), "questions[0].choices", "needs choices", "Give them"),
    "one choice": (conversation(chosen(choices=["a tree"])), "questions[0].choices", "needs choices", "Give them"),
    "twice the same choice": (
        conversation(chosen(choices=["a tree", "A  tree"])), "questions[0].choices", "stands twice", "of its own",
    ),
    "27 choices": (
        conversation(chosen(choices=[f"tree {n}" for n in range(27)])), "questions[0].choices", "27 choices", "At most 26",
    ),
    "odd letters": (
        conversation(chosen(choices={"A": "a tree", "C": "x"})), "questions[0].choices", "lettered A, C", "A, B, C",
    ),
    "gold not among the choices": (
        conversation(chosen(answer="a fox")), "questions[0].answer", "'a fox' is not among the choices", "or its letter",
    ),
    "gold that is one's text and another's letter": (
        conversation(chosen(choices=["B", "A"], answer="A")), "questions[0].answer",
        "'A' is the text of one choice and the letter of another", "'B. A'",
    ),
    "gold letter beyond the choices": (
        conversation(chosen(answer="D")), "questions[0].answer", "'D' is not among the choices", "or its letter",
    ),
    "choices of an open question": (
        conversation(question(choices=["a", "b"])), "questions[0].choices", "open question has choices", "multiple-choice",
    ),
    "choices of a true/false question": (
        conversation(question(format="true-false", answer=True, choices=["a", "b"])), "questions[0].choices",
        "has other choices", "Remove",
    ),
    "neither true nor false": (
        conversation(question(format="true-false", answer="perhaps")), "questions[0].answer", "neither true nor false",
        "values.answer",
    ),
    "evidence turn 0": (
        conversation(question(evidence_turns=[1, 0])), "questions[0].evidence_turns[1]", "0 is none of the conversation's 3",
        "from 1",
    ),
    "evidence turn beyond": (
        conversation(question(evidence_turns=[4])), "questions[0].evidence_turns[0]", "4 is none of the conversation's 3 turns",
        "from 1",
    ),
    "answer image beyond": (
        conversation(question("IM", answer_images=[1, 3])), "questions[0].answer_images[1]",
        "3 is none of the conversation's 2 pictures", "from 1",
    ),
    "empty item": (
        conversation(question("IE", answer_items=["x", ""])), "questions[0].answer_items[1]", "item is empty", "Remove",
    ),
    "items of another type": (
        conversation(question("IE", answer_items="tea; milk")), "questions[0].answer_items", "expected `array | null`",
        "docs/mmrc.md",
    ),
    "question id twice": (
        conversation(question(id="a"), question(id="a")), "questions[1].id", "'a' is already that of questions[0]", "unique",
    ),
    "no such picture": (
        conversation(turns=turns("Hi.", {"text": "", "images": ["c1/1.png", "c1/9.png"]})), "turns[1].user.images[1]",
        "there is no picture 'c1/9.png' in images/ or the data folder", "complete",
    ),
    "picture in no such folder": (
        conversation(turns=turns({"images": ["c9/1.png"]})), "turns[0].user.images[0]", "no picture 'c9/1.png'", "complete",
    ),
    "picture above the folder": (
        conversation(turns=turns({"images": ["../x.png"]})), "turns[0].user.images[0]", "'../x.png' leads out", "inside",
    ),
    "absolute path": (
        conversation(turns=turns({"images": ["/etc/passwd"]})), "turns[0].user.images[0]", "'/etc/passwd' leads out",
        "inside",
    ),
    "picture on the web": (
        conversation(turns=turns({"images": ["https://x.org/1.png"]})), "turns[0].user.images[0]", "is at an address",
        "files",
    ),
    "more tags than pictures": (
        conversation(turns=turns({"text": "<image> or <image>?", "images": ["c1/1.png"]})), "turns[0].user",
        "the text has 2 <image> and the turn 1 pictures", "its place",
    ),
    "fewer tags than pictures": (
        conversation(turns=turns({"text": "<image>?", "images": ["c1/1.png", "c1/2.png"]})), "turns[0].user",
        "the text has 1 <image> and the turn 2 pictures", "its place",
    ),
    "tags in a bare text": (
        conversation(turns=turns("What is in <image>?")), "turns[0].user", "the text has 1 <image> and the turn 0", "place",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_records(tmp_path: Path, name: str) -> None:
    """The error names file, line, record, field, what is wrong and what to do; on request the record is left out."""
    row, field, problem, mend = BAD[name]
    path = write(tmp_path, conversation(id="fine"), row)

    with pytest.raises(DataError) as caught:
        load(tmp_path, [MULTI])

    assert str(caught.value).startswith(f"{path}:2")
    assert f"(field {field})" in str(caught.value)
    assert problem in caught.value.problem
    assert mend in caught.value.mend
    bad = BadRecords(skip=True)
    loaded = load(tmp_path, [MULTI], bad)
    assert [dialogue.id for dialogue in loaded.dialogues] == ["fine"]
    assert loaded.skipped == (str(caught.value),)


def test_the_record_is_named(tmp_path: Path) -> None:
    """By its id, or in a list by its number while the id is unknown."""
    path = write(tmp_path, name="mmrc.json")
    path.write_text(json.dumps([conversation(), conversation(question("XX"), id="c2")]))
    with pytest.raises(DataError, match=r"mmrc.json: record c2: unknown ability"):
        load(tmp_path, [MULTI])

    path.write_text(json.dumps([conversation(), {"id": "c2"}]))
    with pytest.raises(DataError, match=r"mmrc.json: record 2: missing field"):
        load(tmp_path, [MULTI])


@pytest.mark.parametrize("second", ["c1", "7"])
def test_ids_are_unique(tmp_path: Path, second: str) -> None:
    """Also where one is a number and the other its digits."""
    write(tmp_path, conversation(), conversation(id=7), conversation(id=second))

    with pytest.raises(
        DataError, match=rf":3: record {second}: conversation id '{second}' is already that of line [12]"
    ):
        load(tmp_path, [MULTI])


def test_ids_of_second_questions_are_taken(tmp_path: Path) -> None:
    """An id that is another conversation's with ``.2`` would give two items one name."""
    write(tmp_path, conversation(question("IE"), question("IE")), conversation(question("IE"), id="c1.2"))

    with pytest.raises(DataError, match=r"its IE question would be called 'c1.2', as one of conversation 'c1'"):
        load(tmp_path, [MULTI])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        ("[]", "the list is empty"),
        ("[{}", "not JSON"),
        ("[1]", "expected `object`, got `int`"),
        ("{}", "missing field"),
        ("nonsense", "not JSON"),
        ('{"id": \n', "not JSON"),
        ('"text"', "expected `object`, got `str`"),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: str, problem: str) -> None:
    """Whatever is not conversations is refused with words."""
    (tmp_path / "mmrc.jsonl").write_text(content)

    with pytest.raises(DataError, match=problem):
        load(tmp_path, [MULTI])


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """Neither is a file in another encoding."""
    (tmp_path / "mmrc.jsonl").write_bytes(b'{"id": "\xff\xfe"}')

    with pytest.raises(DataError, match=r"mmrc.jsonl:1"):
        load(tmp_path, [MULTI])


def test_a_link_out_of_the_folder(tmp_path: Path) -> None:
    """A picture that is a link to somewhere else is not there."""
    outside = tmp_path / "outside.png"
    outside.write_bytes(PIXEL)
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder, conversation())
    (folder / "images/c1/2.png").unlink()
    (folder / "images/c1/2.png").symlink_to(outside)

    with pytest.raises(DataError, match=r"no picture 'c1/2.png'"):
        load(folder, [MULTI])


def test_no_data(tmp_path: Path) -> None:
    """A folder without a data file is not MMRC's."""
    assert not MMRC().recognises(tmp_path)
    with pytest.raises(DataError, match=r"there is no mmrc.jsonl or mmrc.json"):
        load(tmp_path, [MULTI])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "turns", "questions", "user", "text", "images", "ability", "answer"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    """Whatever a record is, it loads or is refused as data; nothing else is raised."""
    folder = tmp_path_factory.mktemp("any")
    (folder / "mmrc.jsonl").write_text(json.dumps(value))

    with contextlib.suppress(DataError):
        load(folder, [MULTI])


def test_pictures_are_not_opened(tmp_path: Path) -> None:
    """What is no picture is found by the check before a run, by record and field, and not here."""
    write(tmp_path, conversation())
    (tmp_path / "images/c1/1.png").write_bytes(b"no picture")

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    (image,) = dialogue.turns[0].user.images
    assert isinstance(image, Image)
    assert image.place.endswith("mmrc.jsonl:1: record c1 (field turns[0].user.images[0])")
