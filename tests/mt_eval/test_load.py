"""The official files load unchanged, and a bad one is refused with its place and its cure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmtests.dialogue import GOLD, MULTI, SETTINGS, SINGLE, Dialogue
from mmtests.errors import DataError
from mmtests.mt_eval import MTEval
from mmtests.mt_eval.classification import LABELS, names_label
from mmtests.mt_eval.instructions import ARGUMENTS, follows
from mmtests.mt_eval.load import FILES, load
from tests.mt_eval.data import OPENING, Json, follow_up, global_inst, refinement, turn, write

SAMPLE = MTEval.sample


def items_by_task(dialogues: list[Dialogue]) -> dict[str, int]:
    """How many items each task has."""
    return dict(Counter(item.dialogue.task for dialogue in dialogues for item in dialogue.items))


def rows(path: Path) -> list[Json]:
    """The dialogues of a file, as it has them."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


# The full data


def test_multi_counts(official_data: Path) -> None:
    """The multi-turn files hold the paper's 168 dialogues and 1,170 turns."""
    loaded = load(official_data, [MULTI])

    by_task = items_by_task(list(loaded.dialogues))

    assert len(loaded.dialogues) == 168
    assert by_task == {
        "recollection-cls": 100,
        "recollection-global-inst": 280,
        "expansion": 70,
        "refinement": 480,
        "follow-up": 240,
    }
    assert sum(by_task.values()) == 1170
    assert loaded.absent == loaded.notes == ()


def test_single_counts(official_data: Path) -> None:
    """The single-turn files hold what can be built; the one that cannot is named as absent, or is whole."""
    loaded = load(official_data, [SINGLE])

    by_task = items_by_task(list(loaded.dialogues))

    follow_ups = by_task.pop("follow-up", None)
    assert by_task == {
        "recollection-cls": 100,
        "recollection-global-inst": 280,
        "expansion": 70,
        "refinement": 200,
    }
    assert (follow_ups, loaded.absent) in [(None, ("follow-up_single.jsonl",)), (240, ())]


def test_gold_counts(official_data: Path) -> None:
    """Gold history exists only where the file gives replies, and a note says where it does not."""
    loaded = load(official_data, [GOLD])
    given = all(
        turn["sys"] for row in rows(official_data / "recollection_multi_global-inst.jsonl") for turn in row["conv"]
    )

    by_task = items_by_task(list(loaded.dialogues))

    assert {dialogue.setting for dialogue in loaded.dialogues} == {GOLD}
    assert by_task.pop("recollection-global-inst", 0) == (280 if given else 0)
    assert by_task == {"recollection-cls": 100, "expansion": 70, "refinement": 480, "follow-up": 240}
    assert given or [
        note for note in loaded.notes if "recollection_multi_global-inst.jsonl" in note and "28 of 28" in note
    ]


def test_the_manifest(official_data: Path, reference: Callable[[str], Any]) -> None:
    """Each file gives as many dialogues, turns and items as its manifest counts."""
    manifest = reference("mt_eval_data_manifest.json")["files"]
    known = {name: counts for name, counts in manifest.items() if name in FILES}

    loaded = {name: load_alone(official_data, name) for name in known}

    assert len(known) == 9
    for name, counts in known.items():
        assert len(loaded[name]) == counts["dialogues"], name
        assert sum(len(dialogue.turns) for dialogue in loaded[name]) == counts["turns"], name
        assert sum(1 for dialogue in loaded[name] for _ in dialogue.items) == counts["inferred_turns"], name


def load_alone(folder: Path, name: str) -> list[Dialogue]:
    """The dialogues of one file, in its own setting."""
    task, setting = FILES[name]
    return [dialogue for dialogue in load(folder, [setting]).dialogues if dialogue.task == task]


def test_the_ids_are_unique(official_data: Path) -> None:
    """No two items of the full data share an id."""
    ids = [item.id for dialogue in load(official_data, SETTINGS).dialogues for item in dialogue.items]

    assert len(ids) > 2000
    assert len(set(ids)) == len(ids)


def test_refinement_has_two_tasks_of_six(official_data: Path) -> None:
    """Each refinement dialogue is two NLP tasks, each refined six times."""
    parts = Counter(
        (item.turn.facts["part"], item.turn.facts["step"])
        for dialogue in load_alone(official_data, "refinement_multi.jsonl")
        for item in dialogue.items
    )

    assert parts == {(part, step): 40 for part in (1, 2) for step in range(1, 7)}


# The embedded sample


def test_the_sample_has_all_files() -> None:
    """The sample holds the ten official files, with at least two dialogues in each."""
    loaded = load(SAMPLE, [MULTI, SINGLE])

    counts = Counter((dialogue.task, dialogue.setting) for dialogue in loaded.dialogues)

    assert loaded.absent == loaded.notes == ()
    assert set(loaded.files) == set(FILES)
    assert set(counts) == set(FILES.values())
    assert min(counts.values()) >= 2


def test_the_sample_has_gold_history() -> None:
    """Every multi-turn dialogue of the sample can be run with reference replies as history."""
    loaded = load(SAMPLE, [MULTI, GOLD])
    keys = {setting: {d.id + d.task for d in loaded.dialogues if d.setting == setting} for setting in (MULTI, GOLD)}

    assert keys[MULTI] == keys[GOLD]
    assert loaded.notes == ()


@pytest.mark.parametrize("mode", ["reference", "strict"])
def test_the_sample_obeys_its_instructions(mode: Any) -> None:
    """The reference replies to each of the 14 instructions pass their own rule, in both modes."""
    dialogues = [d for d in load(SAMPLE, [MULTI, SINGLE]).dialogues if d.task == "recollection-global-inst"]

    wrong = [
        item.id
        for dialogue in dialogues
        for item in dialogue.items
        if not follows(dialogue.facts["inst_name"], dialogue.facts["inst_args"], item.turn.reference or "", mode)
    ]

    assert {dialogue.facts["inst_name"] for dialogue in dialogues} == set(ARGUMENTS)
    assert wrong == []


def test_the_sample_has_valid_labels() -> None:
    """The gold labels of the sample are labels, which pass their own rule."""
    labels = [
        item.turn.reference or ""
        for dialogue in load(SAMPLE, [MULTI, SINGLE]).dialogues
        if dialogue.task == "recollection-cls"
        for item in dialogue.items
    ]

    assert len(labels) > 0
    assert set(labels) <= set(LABELS)
    assert all(names_label(label, label, "strict") for label in labels)


def test_the_sample_is_recognised(tmp_path: Path) -> None:
    """A folder is MT-Eval's if it has any of the ten files."""
    assert MTEval().recognises(SAMPLE)
    assert not MTEval().recognises(tmp_path)


# The format


def test_hub_form(tmp_path: Path) -> None:
    """Rows as the hub's library gives them, with every argument and null for those absent, load the same."""
    name = "recollection_multi_global-inst.jsonl"
    original = rows(SAMPLE / name)
    every = sorted({argument for row in original for argument in row["inst_args"]})
    filled = [row | {"inst_args": dict.fromkeys(every) | row["inst_args"]} for row in original]
    write(tmp_path, name, *filled)

    assert len(every) > 5
    assert load(tmp_path, [MULTI]).dialogues == load_alone(SAMPLE, name)


def test_turns_and_facts(tmp_path: Path) -> None:
    """A dialogue keeps the file's ids and order, its given turns, and the facts that its scorers need."""
    write(tmp_path, "refinement_multi.jsonl", refinement())
    write(tmp_path, "follow-up_multi.jsonl", follow_up())

    refined, followed = load(tmp_path, [MULTI]).dialogues

    assert refined.key == "mt_eval/refinement/multi/9_sum_qa"
    assert refined.system == "You are a helpful, respectful and honest assistant."
    assert [turn.id for turn in refined.turns] == ["3_sum_1", "3_sum_2", "3_qa_1", "3_qa_2"]
    assert [(turn.facts["part"], turn.facts["step"]) for turn in refined.turns] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert [turn.scored for turn in followed.turns] == [False, True, True]
    assert [item.id for item in followed.items] == [f"mt_eval/follow-up/multi/81/turn-0{n}" for n in (2, 3)]
    assert followed.turns[0].reference == "The Tamar."


def test_an_empty_reply_is_none(tmp_path: Path) -> None:
    """An empty ``sys`` means that the file has no reference reply."""
    write(tmp_path, "recollection_multi_global-inst.jsonl", global_inst("format:json_format", {}))

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert [turn.reference for turn in dialogue.turns] == ["ok.", None]


def test_gold_needs_replies_only_for_history(tmp_path: Path) -> None:
    """A dialogue whose last turn alone lacks a reply has a gold setting; one with a gap before has none."""
    short = global_inst("format:json_format", {})
    gap = short | {"id": "2", "conv": [*short["conv"], turn("More.", id="14-8")]}
    write(tmp_path, "recollection_multi_global-inst.jsonl", short, gap)

    loaded = load(tmp_path, [GOLD])

    assert [dialogue.key for dialogue in loaded.dialogues] == ["mt_eval/recollection-global-inst/gold/1"]
    assert len(loaded.notes) == 1
    assert "1 of 2 dialogues" in loaded.notes[0]


def test_absent_files(tmp_path: Path) -> None:
    """Files that the settings need and the folder lacks are named; those not needed are not."""
    write(tmp_path, "follow-up_multi.jsonl", follow_up())

    absent = load(tmp_path, [MULTI]).absent

    assert set(absent) == {n for n, (_, setting) in FILES.items() if setting == MULTI} - {"follow-up_multi.jsonl"}


def test_follow_up_single_is_used(tmp_path: Path) -> None:
    """The file that the benchmark's repository does not build is read where it is."""
    row = {"id": "81#3", "conv": [turn("And its source?", id="81#3")]}
    write(tmp_path, "follow-up_single.jsonl", row)

    loaded = load(tmp_path, [SINGLE])

    assert [dialogue.key for dialogue in loaded.dialogues] == ["mt_eval/follow-up/single/81#3"]
    assert "follow-up_single.jsonl" not in loaded.absent


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    """Each file read has its SHA-256, and the folder's digest changes with any of them."""
    path = write(tmp_path, "follow-up_multi.jsonl", follow_up())
    before = load(tmp_path, [MULTI])
    path.write_bytes(path.read_bytes() + b"\n")
    after = load(tmp_path, [MULTI])

    assert after.files == {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
    assert after.dialogues == before.dialogues
    assert after.digest != before.digest


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n  \n"])
def test_marks_and_blank_lines(tmp_path: Path, end: bytes) -> None:
    """A byte-order mark, blank lines and Windows line ends do no harm."""
    one, two = (json.dumps(follow_up() | {"id": id}).encode() for id in ("81", "82"))
    (tmp_path / "follow-up_multi.jsonl").write_bytes(b"\xef\xbb\xbf" + one + b"\r\n\n" + two + end)

    loaded = load(tmp_path, [MULTI])

    assert [dialogue.id for dialogue in loaded.dialogues] == ["81", "82"]


def test_a_line_separator_within_a_text(tmp_path: Path) -> None:
    """Only line feeds end a line of the file: a raw U+2028 or U+0085 belongs to the text."""
    row = follow_up()
    row["conv"][1]["user"] = "a\u2028b\u0085c"
    write(tmp_path, "follow-up_multi.jsonl", row)

    (dialogue,) = load(tmp_path, [MULTI]).dialogues

    assert dialogue.turns[1].user.text == "a\u2028b\u0085c"


# What cannot be used


def without(row: Json, *path: str | int) -> Json:
    """The row without one field."""
    copy = json.loads(json.dumps(row))
    *way, last = path
    holder = copy
    for step in way:
        holder = holder[step]
    del holder[last]
    return copy


def changed(row: Json, value: object, *path: str | int) -> Json:
    """The row with another value in one field."""
    copy = json.loads(json.dumps(row))
    *way, last = path
    holder = copy
    for step in way:
        holder = holder[step]
    holder[last] = value
    return copy


LABELLED = {
    "id": "1",
    "conv": [turn("Label.", id="instruction", sys="OK", asked=False), turn("A cup.", id="1", sys="sports")],
}
LONG_SINGLE = {"id": "81#3", "conv": [turn("One?", id="a"), turn("Two?", id="b")]}

BAD: dict[str, tuple[str, Json, str | None, str, str]] = {
    "missing conv": ("follow-up_multi", without(follow_up(), "conv"), None, "missing field `conv`", "docs/mt_eval.md"),
    "missing user": (
        "follow-up_multi",
        without(follow_up(), "conv", 1, "user"),
        None,
        "missing field `user`",
        "docs/mt_eval.md",
    ),
    "do_inference of a wrong type": (
        "follow-up_multi",
        changed(follow_up(), "yes", "conv", 2, "do_inference"),
        "conv[2].do_inference",
        "expected `bool`, got `str`",
        "docs/mt_eval.md",
    ),
    "no turns": ("follow-up_multi", changed(follow_up(), [], "conv"), "conv", "no turns", "at least one"),
    "nothing to answer": (
        "follow-up_multi",
        changed(follow_up(), follow_up()["conv"][:1], "conv"),
        "conv",
        "no turn is to be answered",
        "Set do_inference to true",
    ),
    "given turn without reply": (
        "follow-up_multi",
        changed(follow_up(), "", "conv", 0, "sys"),
        "conv[0].sys",
        "given turn has no reply",
        "Fill sys",
    ),
    "single with two turns": ("follow-up_single", LONG_SINGLE, "conv", "has 2 turns", "exactly one"),
    "missing inst": (
        "refinement_multi",
        without(refinement(), "conv", 1, "inst"),
        "conv[1].inst",
        "missing field `inst`",
        "Give the instruction",
    ),
    "no document": (
        "refinement_multi",
        changed(refinement(), "Sum up.", "conv", 0, "user"),
        "conv[0].user",
        "no document",
        "Content: <document>",
    ),
    "no instruction after the document": (
        "expansion_multi",
        changed(refinement(), OPENING.strip(), "conv", 0, "user"),
        "conv[0].user",
        "no document",
        "Instruction: <instruction>",
    ),
    "turn id without a task": (
        "refinement_multi",
        changed(refinement(), "7", "conv", 3, "id"),
        "conv[3].id",
        "names no document, task and step",
        "3_sum_1",
    ),
    "unknown instruction": (
        "recollection_multi_global-inst",
        global_inst("content:rhyme", {}),
        "inst_name",
        "unknown instruction 'content:rhyme'",
        "content:placeholder",
    ),
    "missing instruction": (
        "recollection_multi_global-inst",
        without(global_inst("format:json_format", {}), "inst_name"),
        "inst_name",
        "missing field `inst_name`",
        "format:json_format",
    ),
    "missing argument": (
        "recollection_multi_global-inst",
        global_inst("content:placeholder", {"letter": "c"}),
        "inst_args.num_placeholder",
        "no usable argument 'num_placeholder'",
        "whole number",
    ),
    "missing arguments": (
        "recollection_multi_global-inst",
        global_inst("keywords:existence", None),
        "inst_args.keywords",
        "no usable argument 'keywords'",
        "list",
    ),
    "argument of a wrong type": (
        "recollection_multi_global-inst",
        global_inst("length_constraints:number_sentences", {"num_sentences": "three"}),
        "inst_args.num_sentences",
        "'three'",
        "whole number",
    ),
    "unknown language": (
        "recollection_multi_global-inst",
        global_inst("language:response_language", {"lang": "Klingon"}),
        "inst_args.lang",
        "'Klingon'",
        "Vietnamese",
    ),
    "unknown label": (
        "recollection_multi_cls",
        changed(LABELLED, "poetry", "conv", 1, "sys"),
        "conv[1].sys",
        "gold label 'poetry'",
        "literature",
    ),
}
"""What is wrong: the file, its dialogue, the field to blame (None: the problem names it), the problem, the cure."""


@pytest.mark.parametrize("case", BAD)
def test_a_bad_dialogue(tmp_path: Path, case: str) -> None:
    """A dialogue that cannot be used is refused: the message names file, line, field, problem and cure."""
    stem, row, field, problem, mend = BAD[case]
    path = write(tmp_path, f"{stem}.jsonl")
    path.write_bytes(b"\n\n" + json.dumps(row).encode())

    with pytest.raises(DataError) as caught:
        load(tmp_path, [MULTI, SINGLE])

    assert (caught.value.path, caught.value.line) == (path, 3)
    assert field in (None, caught.value.field)
    for part in (f"{path}:3", problem, mend, field or ""):
        assert part in str(caught.value)


@pytest.mark.parametrize("text", [b"{", b"{'id': '1'}", b"not JSON", b'{"id": "\xff"}', b'{"id": "1", "conv": [NaN]}'])
def test_not_json(tmp_path: Path, text: bytes) -> None:
    """A line that is not JSON is refused with its number, counting blank lines."""
    path = write(tmp_path, "follow-up_multi.jsonl")
    path.write_bytes(json.dumps(follow_up()).encode() + b"\n\n" + text)

    with pytest.raises(DataError, match="not JSON") as caught:
        load(tmp_path, [MULTI])

    assert caught.value.line == 3
    assert "one whole JSON object" in str(caught.value)


def test_not_an_object(tmp_path: Path) -> None:
    """A line that is JSON but no dialogue is refused."""
    path = write(tmp_path, "follow-up_multi.jsonl")
    path.write_bytes(b"[1]")

    with pytest.raises(DataError, match="expected `object`, got `array`"):
        load(tmp_path, [MULTI])


def test_duplicate_ids(tmp_path: Path) -> None:
    """Two dialogues of one file cannot share an id; the message names both lines."""
    path = write(tmp_path, "follow-up_multi.jsonl", follow_up(), follow_up() | {"id": "82"}, follow_up())

    with pytest.raises(DataError, match="'81' is already that of line 1") as caught:
        load(tmp_path, [MULTI])

    assert (caught.value.path, caught.value.line, caught.value.field) == (path, 3, "id")
    assert "unique" in caught.value.mend


@pytest.mark.parametrize("name", ["", " ", "a\0b", "a\nb"])
def test_an_id_that_cannot_be_shown(tmp_path: Path, name: str) -> None:
    """Items are called by it."""
    path = write(tmp_path, "follow-up_multi.jsonl", follow_up() | {"id": name})

    with pytest.raises(DataError, match="cannot be shown") as caught:
        load(tmp_path, [MULTI])

    assert (caught.value.path, caught.value.line, caught.value.field) == (path, 1, "id")


def test_one_id_in_two_files(tmp_path: Path) -> None:
    """Ids need to be unique within a file only."""
    write(tmp_path, "follow-up_multi.jsonl", follow_up() | {"id": "1"})
    write(tmp_path, "refinement_multi.jsonl", refinement() | {"id": "1"})

    assert len(load(tmp_path, [MULTI]).dialogues) == 2


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_an_empty_file(tmp_path: Path, content: bytes) -> None:
    """A file without a dialogue is refused, by its name."""
    path = write(tmp_path, "follow-up_multi.jsonl")
    path.write_bytes(content)

    with pytest.raises(DataError, match="the file is empty") as caught:
        load(tmp_path, [MULTI])

    assert str(path) in str(caught.value)
    assert "remove it" in caught.value.mend
