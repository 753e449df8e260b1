"""Replies on disk, found by everything that produced them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mmtests.dialogue import Message
from mmtests.errors import UserError
from mmtests.fixtures.models.chat import ChatRequest, Generation
from mmtests.fixtures.store import Store, key_of
from mmtests.reply import Reply, Sent

IDENTITY: dict[str, Any] = {"backend": "openai", "model": "m", "seed": None}

REQUEST = ChatRequest(
    (Message.of("system", "Be brief."), Message.of("user", "Hello")),
    Generation(16),
    "a/b/multi/1",
    "a/b/multi/1/turn-01",
)


def test_a_reply_comes_back_whole(tmp_path: Path) -> None:
    """All of a reply is kept over the process's end, and marked as cached."""
    path = tmp_path / "new folder" / "store.sqlite"
    reply = Reply(
        "Grüße 🙂\n",
        "length",
        prompt_tokens=10,
        completion_tokens=5,
        latency=0.25,
        sent=Sent(2, 1),
        flags=("reply_cut",),
    )
    store = Store(path)
    store.put(b"key", reply)
    store.close()

    found = Store(path).get(b"key")

    assert found == msgspec.structs.replace(reply, cached=True)


def test_an_unknown_key_has_no_reply(tmp_path: Path) -> None:
    """A store that does not know says so."""
    assert Store(tmp_path / "store.sqlite").get(b"key") is None


def replaced(**changes: Any) -> ChatRequest:
    """The request with something changed."""
    return msgspec.structs.replace(REQUEST, **changes)


@pytest.mark.parametrize(
    ("identity", "request_", "sample"),
    [
        ({**IDENTITY, "model": "n"}, REQUEST, 0),
        ({**IDENTITY, "seed": 1}, REQUEST, 0),
        ({**IDENTITY, "revision": "main"}, REQUEST, 0),
        (IDENTITY, replaced(generation=Generation(17)), 0),
        (IDENTITY, replaced(generation=Generation(16, temperature=0.5)), 0),
        (IDENTITY, replaced(generation=Generation(16, top_p=0.5)), 0),
        (IDENTITY, replaced(generation=Generation(16, seed=1)), 0),
        (IDENTITY, replaced(messages=REQUEST.messages[1:]), 0),
        (IDENTITY, replaced(messages=(*REQUEST.messages, Message.of("user", "Hello"))), 0),
        (IDENTITY, replaced(messages=(Message.of("user", "Be brief."), REQUEST.messages[1])), 0),
        (IDENTITY, replaced(messages=(REQUEST.messages[0], Message.of("user", "Hello "))), 0),
        (IDENTITY, REQUEST, 1),
    ],
)
def test_whatever_can_change_the_reply_changes_its_key(
    identity: dict[str, Any], request_: ChatRequest, sample: int
) -> None:
    """Model, generation, messages, roles and sample each make another key."""
    assert key_of(identity, request_, sample) != key_of(IDENTITY, REQUEST)


def test_what_cannot_change_the_reply_does_not_change_its_key() -> None:
    """Neither the order in which the identity is told, nor where the question came from."""
    same = replaced(dialogue="x/y/multi/9", turn="x/y/multi/9/turn-07")

    assert key_of(dict(reversed(IDENTITY.items())), same) == key_of(IDENTITY, REQUEST)


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    """Nothing is lost where several workers share the file, not even its making."""
    path = tmp_path / "store.sqlite"
    script = """
import sys
from pathlib import Path
from mmtests.fixtures.store import Store
from mmtests.reply import Reply

sys.stdin.readline()  # so that all begin together
store = Store(Path(sys.argv[1]))
for number in range(200):
    store.put(f"{sys.argv[2]} {number}".encode(), Reply(sys.argv[2]))
print(store.trouble)
"""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, path, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in "ab"
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()

    assert [writer.communicate(timeout=60)[0].strip() for writer in writers] == ["None", "None"]
    store = Store(path)
    assert all(store.get(f"{name} {number}".encode()) is not None for name in "ab" for number in range(200))


@pytest.mark.parametrize("content", [b"This is no database. " * 100, b"SQLite format 3\0" + b"\1" * 4096])
def test_a_broken_file(content: bytes, tmp_path: Path) -> None:
    """A file that is no store, or no longer one, is named with what to do about it."""
    path = tmp_path / "store.sqlite"
    path.write_bytes(content)

    with pytest.raises(UserError, match=r"the store .*store\.sqlite cannot be used: .*--store off"):
        Store(path)
    assert path.read_bytes() == content


def test_a_reply_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    """An entry of another version of the program is asked for anew, and is no crash."""
    store = Store(tmp_path / "store.sqlite")
    store.put(b"key", Reply("A reply."))
    store._database.execute("UPDATE replies SET reply = ?", (b"\x93\x01\x02\x03",))

    assert store.get(b"key") is None


def test_a_store_that_becomes_unwritable(tmp_path: Path) -> None:
    """Trouble in mid-run is kept to be told at the end; a run does not fail for its store."""
    store = Store(tmp_path / "store.sqlite")
    store._database.execute("PRAGMA query_only=1")

    store.put(b"key", Reply("A reply."))

    assert store.trouble is not None
    assert store.get(b"key") is None
