"""Rubrics are filled in one pass, and refused where they lack a place."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.errors import UserError
from mmtests.rubric import Rubric, digests, load_rubric

PLACES = ("reply", "task")


def rubric(template: str) -> Rubric:
    """A rubric of this template."""
    return Rubric("test", template, "mmtests")


def test_places_are_filled() -> None:
    """Each named place is replaced wherever it stands, and other braces are left."""
    filled = rubric('{task}: {reply} {reply} {other} {} {"Score": 1}').fill(reply="R", task="T")

    assert filled == 'T: R R {other} {} {"Score": 1}'


@given(reply=st.text() | st.sampled_from(["{task}", "{reply}", r"\1 \g<0>"]), task=st.text())
def test_inserted_text_is_not_expanded(reply: str, task: str) -> None:
    """What is put in a place stands there as it is, whatever it holds."""
    assert rubric("a{reply}b{task}c").fill(reply=reply, task=task) == f"a{reply}b{task}c"


def test_digest() -> None:
    """The digest is of the template's text alone."""
    template = "{reply} é"

    assert rubric(template).digest == hashlib.sha256(template.encode()).hexdigest()
    assert Rubric("other", template, "elsewhere").digest == rubric(template).digest
    assert digests({"b": rubric("2"), "a": rubric("1")}) == {"a": rubric("1").digest, "b": rubric("2").digest}


def test_our_own(tmp_path: Path) -> None:
    """Without a folder of official prompt files, our own rubric is read."""
    (tmp_path / "clarity.md").write_text("{reply} {task} é", encoding="utf-8")

    found = load_rubric("clarity", tmp_path, PLACES, None, "clarity_evaluation.txt")

    assert found == Rubric("clarity", "{reply} {task} é", "mmtests")


def test_an_official_one(tmp_path: Path) -> None:
    """With such a folder, its file is read and named as the source."""
    path = tmp_path / "clarity_evaluation.txt"
    path.write_text("{reply} {task}", encoding="utf-8")

    found = load_rubric("clarity", tmp_path / "own", PLACES, tmp_path, path.name)

    assert found == Rubric("clarity", "{reply} {task}", str(path))


@pytest.mark.parametrize("content", [None, b"\xff{reply} {task}"], ids=["missing", "not UTF-8"])
def test_an_unreadable_file(tmp_path: Path, content: bytes | None) -> None:
    """A file that is missing or no text is named, with what --rubrics takes."""
    path = tmp_path / "clarity_evaluation.txt"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(UserError, match="--rubrics takes the folder") as caught:
        load_rubric("clarity", tmp_path, PLACES, tmp_path, path.name)

    assert str(path) in str(caught.value)


def test_a_missing_place(tmp_path: Path) -> None:
    """A template without one of its places is refused, by file and place."""
    path = tmp_path / "clarity_evaluation.txt"
    path.write_text("{reply} {Task}", encoding="utf-8")

    with pytest.raises(UserError, match=r"no place \{task\}\. It needs \{reply\}, \{task\}") as caught:
        load_rubric("clarity", tmp_path, PLACES, tmp_path, path.name)

    assert str(path) in str(caught.value)
