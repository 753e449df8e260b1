"""A mapping reads a file with other names, and a mapping that does not fit is refused by its key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mmtests.dialogue import GOLD, MULTI, Dialogue
from mmtests.errors import DataError
from mmtests.mmrc import MMRC
from mmtests.mmrc.load import load
from tests.mmrc.data import PIXEL, Json, chosen, conversation, question, write

MAPPING = """
file = "data/talks.json"
images = "pictures"

[conversation]
id = "conv_id"
topic = "meta.class"
turns = "dialog"
questions = "qa.0"

[turn]
text = "human.content"
images = "human.files"
assistant = "bot"

[question]
ability = "type"
format = "kind"
question = "q"
answer = "gold.text"
choices = "gold.options"
answer_items = "gold.items"
evidence_turns = "gold.turns"

[values.ability]
"Information Extraction" = "IE"
"1" = "MR"

[values.format]
mcq = "multiple-choice"
tf = "true-false"

[values.answer]
correct = "true"
"""

THEIRS: Json = {
    "conv_id": "c1",
    "meta": {"class": "travel"},
    "dialog": [
        {"human": {"content": "Look at this.", "files": ["c1/1.png"]}, "bot": "I see a boat."},
        {"human": {"content": "It is my uncle's."}, "bot": "How nice."},
        {"human": {"files": "c1/2.png"}, "bot": "And a tree."},
    ],
    "qa": [
        [
            {"type": "Information Extraction", "q": "What is it?", "gold": {"text": "A boat.", "items": ["boat"]}},
            {"type": 1, "kind": "mcq", "q": "What is it?",
             "gold": {"text": "a tree", "options": ["a boat", "a tree", "a house"], "turns": [3]}},
            {"type": "CR", "kind": "tf", "q": "What is it?", "gold": {"text": "correct"}},
        ]
    ],
}  # fmt: skip

OURS = conversation(
    question("IE", answer_items=["boat"]), chosen(evidence_turns=[3]), question("CR", format="true-false", answer=True)
)


def prepare(folder: Path, mapping: str = MAPPING, *rows: Json) -> Path:
    """A folder with a mapping, the file it names, and the pictures."""
    (folder / "mapping.toml").write_text(mapping)
    for number in (1, 2):
        (folder / "pictures/c1").mkdir(parents=True, exist_ok=True)
        (folder / f"pictures/c1/{number}.png").write_bytes(PIXEL)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/talks.json").write_text(json.dumps(list(rows or (THEIRS,))))
    return folder / "data/talks.json"


def plainly(dialogue: Dialogue) -> object:
    """What a dialogue asks, without the places of its pictures."""
    return (
        dialogue.key,
        [(turn.id, turn.user.shown, turn.reference, turn.asked, turn.facts) for turn in dialogue.turns],
        dialogue.facts["topic"],
    )


def test_other_names(tmp_path: Path) -> None:
    """A file with other names, nested otherwise and with other values, is the same as one in our format."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    ours.mkdir()
    prepare(theirs)
    write(ours, OURS)

    mapped, plain = load(theirs, [MULTI, GOLD]), load(ours, [MULTI, GOLD])

    assert MMRC().recognises(theirs)
    assert [plainly(one) for one in mapped.dialogues] == [plainly(one) for one in plain.dialogues]
    assert len(mapped.dialogues) == 6
    assert set(mapped.files) == {"talks.json", "mapping.toml"}
    assert mapped.notes == ()


def test_a_list_of_messages(tmp_path: Path) -> None:
    """Turns may be a flat list of messages with roles."""
    write(tmp_path, conversation() | {
        "turns": [
            {"from": "human", "value": "<image>Look.", "image": ["c1/1.png"]},
            {"from": "gpt", "value": "A boat."},
            {"from": "human", "value": "So?"},
        ]
    })  # fmt: skip
    (tmp_path / "mapping.toml").write_text(
        '[turn]\nrole = "from"\ntext = "value"\nimages = "image"\n[values.role]\nhuman = "user"\ngpt = "assistant"\n'
    )

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert [(turn.user.shown, turn.reference) for turn in dialogue.turns] == [
        ("<image>Look.", "A boat."), ("So?", None), ("What is it?", "A boat."),
    ]  # fmt: skip


@pytest.mark.parametrize("roles", [["gpt"], ["human", "gpt", "gpt"], ["human", "system"]])
def test_messages_out_of_order(tmp_path: Path, roles: list[str]) -> None:
    """A reply to nothing, a second reply and another role are refused."""
    write(tmp_path, conversation(turns=[{"from": role, "value": "Hm."} for role in roles]))
    (tmp_path / "mapping.toml").write_text(
        '[turn]\nrole = "from"\ntext = "value"\n[values.role]\nhuman = "user"\ngpt = "assistant"\n'
    )

    with pytest.raises(DataError, match=rf"message {len(roles)} is of .*\(field turns\[{len(roles) - 1}\].role\).*"):
        load(tmp_path, [MULTI])


def test_a_mapping_of_little(tmp_path: Path) -> None:
    """What is not mapped keeps our names."""
    write(tmp_path, {**{k: v for k, v in conversation().items() if k != "topic"}, "class": "sea"})
    (tmp_path / "mapping.toml").write_text('[conversation]\ntopic = "class"\n')

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert dialogue.facts["topic"] == "sea"


def test_a_name_with_a_dot(tmp_path: Path) -> None:
    """A field whose own name has a dot in it is found."""
    write(tmp_path, {**conversation(), "meta.topic": "sea"})
    (tmp_path / "mapping.toml").write_text('[conversation]\ntopic = "meta.topic"\n')

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert dialogue.facts["topic"] == "sea"


def test_a_user_elsewhere(tmp_path: Path) -> None:
    """``user`` may be mapped whole, as a string or an object of ours."""
    write(tmp_path, conversation(turns=[{"q": "Hi."}, {"q": {"text": "This?", "images": ["c1/1.png"]}}]))
    (tmp_path / "mapping.toml").write_text('[turn]\nuser = "q"\n')

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert [turn.user.shown for turn in dialogue.turns[:2]] == ["Hi.", "<image>This?"]


BAD: dict[str, tuple[str, str, str]] = {
    "no TOML": ("file = ", "not TOML", ""),
    "unknown key": ('fiel = "x"', "unknown key 'fiel'", "file, images, conversation"),
    "unknown table": ("[turns]\n", "unknown key 'turns'", "file, images, conversation"),
    "unknown field": ('[question]\nabilty = "x"', "unknown key 'abilty' (field question.abilty)", "id, ability"),
    "field of another table": ('[turn]\nid = "x"', "unknown key 'id' (field turn.id)", "user, text"),
    "path of another type": ("[turn]\ntext = 1", "expected `str`", ""),
    "empty path": ('[turn]\ntext = ""', "'' is no path (field turn.text)", "dots"),
    "path with a gap": ('[turn]\ntext = "a..b"', "'a..b' is no path (field turn.text)", "dots"),
    "unknown values": ("[values.abilities]\n", "unknown key 'abilities' (field values.abilities)", "ability, format"),
    "unknown value": (
        '[values.ability]\nextraction = "EI"', "'EI' is no value of ability (field values.ability.extraction)", "IE, CR",
    ),
    "role and assistant": (
        '[turn]\nrole = "a"\nassistant = "b"', "'assistant' cannot stand beside 'role' (field turn.assistant)", "messages",
    ),
    "user and text": ('[turn]\nuser = "a"\ntext = "b"', "'user' cannot stand beside", "the one or the others"),
    "no such file": ('file = "x.json"', "there is no file 'x.json' in the folder (field file)", "beside the mapping"),
    "file elsewhere": ('file = "../x.json"', "there is no file '../x.json' in the folder (field file)", "beside"),
    "no such pictures": ('images = "x"', "there is no folder 'x' in the folder (field images)", "beside the mapping"),
    "pictures elsewhere": ('images = ".."', "there is no folder '..' in the folder (field images)", "beside"),
    "path in no record": (
        '[question]\nanswer_items = "gold.itmes"', "no record has 'gold.itmes' (field question.answer_items)", "Mend",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_mappings(tmp_path: Path, name: str) -> None:
    """The error names the file and the key."""
    mapping, problem, mend = BAD[name]
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder, conversation())
    (tmp_path / "x.json").write_text("[]")
    (folder / "mapping.toml").write_text(mapping)

    with pytest.raises(DataError) as caught:
        load(folder, [MULTI])

    assert str(caught.value).startswith(f"{folder / 'mapping.toml'}: ")
    assert problem in str(caught.value)
    assert mend in caught.value.mend


@pytest.mark.parametrize(
    ("change", "field", "told"),
    [
        ({"conv_id": None}, "id", "conversation.id from 'conv_id'"),
        ({"dialog": [{"human": {"content": 1}}]}, "turns[0].user.text", "turn.text from 'human.content'"),
        (
            {"dialog": [{"human": {"content": "", "files": ["c1/9.png"]}}]}, "turns[0].user.images[0]",
            "turn.images from 'human.files'",
        ),
        ({"qa": [[{"type": "IF", "q": "?", "gold": {"text": "!"}}]]}, "questions[0].ability", "question.ability from 'type'"),
        ({"qa": [[{"type": "IE", "q": "?"}]]}, "questions[0].answer", "question.answer from 'gold.text'"),
        ({"qa": {}}, "questions", "conversation.questions from 'qa.0'"),
    ],
)  # fmt: skip
def test_errors_name_the_key(tmp_path: Path, change: Json, field: str, told: str) -> None:
    """What is wrong with a record is told with our field and the key that it was read by."""
    path = prepare(tmp_path, MAPPING, {**THEIRS, "conv_id": "c0"}, {**THEIRS, **change})

    with pytest.raises(DataError) as caught:
        load(tmp_path, [MULTI])

    assert str(caught.value).startswith(f"{path}: record ")
    assert f"(field {field})" in str(caught.value)
    assert caught.value.mend.endswith(f"mapping.toml reads {told}.")
