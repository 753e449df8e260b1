"""Replies on disk, found by everything that produced them."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mmtests.dialogue import Message
from mmtests.errors import UserError
from mmtests.fixtures.asking import Asking
from mmtests.fixtures.models.chat import ChatRequest, Generation
from mmtests.fixtures.store import Store, contents, key_of
from mmtests.reply import Reply, Sent
from mmtests.score import Record, Scale, Score, Verdict

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

    assert found == msgspec.structs.replace(reply, cached=True, key=b"key".hex())


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


def together(path: Path, names: str) -> list[str]:
    """Let several processes open the store at once and put 200 replies each. What each says of its trouble."""
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
        for name in names
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    return [writer.communicate(timeout=60)[0].strip() for writer in writers]


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    """Nothing is lost where several workers share the file, not even its making."""
    path = tmp_path / "store.sqlite"

    assert together(path, "ab") == ["None", "None"]

    store = Store(path)
    assert store.mended is None
    assert all(store.get(f"{name} {number}".encode()) is not None for name in "ab" for number in range(200))


def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    """What was put before the process died is there after it."""
    path = tmp_path / "store.sqlite"
    script = """
import os, sys
from pathlib import Path
from mmtests.fixtures.store import Store
from mmtests.reply import Reply

store = Store(Path(sys.argv[1]))
for number in range(50):
    store.put(str(number).encode(), Reply("A reply."))
os.abort()
"""
    subprocess.run([sys.executable, "-c", script, path], check=False, stderr=subprocess.DEVNULL)

    store = Store(path)
    assert all(store.get(str(number).encode()) is not None for number in range(50))


RECORD = Record(
    "a/b/single/1/turn-01",
    "a",
    "b",
    "B",
    "single",
    "1",
    1,
    "passed",
    score=Score(
        7, Scale(1, 10), "judge:j", verdict=Verdict(7, "Good.", "j", '{"Score": 7}', "strict", key=b"judged".hex())
    ),
    reply=Reply("Recorded.", "length", latency=0.5, cached=True, key=b"replied".hex()),
)


def recorded(folder: Path) -> None:
    """Leave a run's records beside a store, the last line cut off as a kill may leave it."""
    run = folder / "runs" / "20260101-000000-m"
    run.mkdir(parents=True)
    line = msgspec.json.encode(RECORD)
    (run / "records.jsonl").write_bytes(
        line + b"\n{}\nnoise\n" + line.replace(b"replied".hex().encode(), b"zz") + b"\n{"
    )
    (run / "run.json").write_text('{"model": {"alias": "openai:m"}}')


BROKEN = {
    "text": b"This is no database. " * 100,
    "header": b"SQLite format 3\0" + b"\1" * 4096,
    "noise": random.Random(0).randbytes(30_000),
    "short": b"SQL",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_moved_aside(content: bytes, tmp_path: Path) -> None:
    """A file that is no store, or no longer one, is kept under another name, and the records fill a new one."""
    path = tmp_path / "store.sqlite"
    path.write_bytes(content)
    (tmp_path / "store.sqlite-wal").write_bytes(b"log")
    recorded(tmp_path)

    store = Store(path)

    aside = next(one for one in tmp_path.glob("store.sqlite.broken-*") if one.name[-4:] not in ("-wal", "-shm"))
    assert aside.read_bytes() == content
    assert store.mended is not None
    assert store.mended.startswith("broken (file is not a database): it was moved to ")
    assert f"{aside.name}, and 2 replies and verdicts were taken from the records" in store.mended
    assert RECORD.reply is not None
    assert store.get(b"replied") == RECORD.reply
    assert store.get(b"judged") == Reply('{"Score": 7}', cached=True, key=b"judged".hex())
    store.close()
    assert store.trouble is None
    assert contents(path).models == {"j": 1, "openai:m": 1}
    assert Store(path).mended is None


@pytest.mark.parametrize("length", [0, 100, 5000, -4096])
def test_a_truncated_file(length: int, tmp_path: Path) -> None:
    """A store that was cut off anywhere is found out, at the latest when it is read, and made anew."""
    path = tmp_path / "store.sqlite"
    filled(path)
    path.write_bytes(path.read_bytes()[:length])
    recorded(tmp_path)

    store = Store(path)
    found = [store.get(key) for key in KEYS]

    assert found == [None] * len(KEYS)
    assert store.get(b"replied") is not None
    assert "2 replies and verdicts were taken from the records" in f"{store.mended} {store.trouble}"


KEYS = [random.Random(number).randbytes(32) for number in range(100)]


def filled(path: Path) -> None:
    """Make a store of many pages."""
    store = Store(path)
    for key in KEYS:
        store.put(key, reply_to(key), "openai:m")
    store.close()


def reply_to(key: bytes) -> Reply:
    """A reply that does not shrink."""
    return Reply(key.hex() + random.Random(key).randbytes(500).hex())


def test_noise_is_never_a_reply(tmp_path: Path) -> None:
    """Whatever bytes change: a reply comes back as it was, or not at all, and the store takes new ones."""
    path = tmp_path / "store.sqlite"
    filled(path)
    good = path.read_bytes()
    noise = random.Random(3)
    for _ in range(40):
        for file in tmp_path.iterdir():
            file.unlink()
        content = bytearray(good)
        for _ in range(noise.choice((1, 10, 100))):
            content[noise.randrange(len(content))] = noise.randrange(256)
        path.write_bytes(content)
        try:
            store = Store(path)
        except UserError:
            continue  # a header that asks for what SQLite cannot do
        for key in KEYS:
            found = store.get(key)
            assert found is None or found.text == reply_to(key).text
        store.put(b"new", Reply("New."))
        if store.trouble is None or "readonly" not in store.trouble:  # the header may say so
            assert store.get(b"new") is not None
        store.close()


def test_a_file_that_breaks_in_mid_run(tmp_path: Path) -> None:
    """The new store takes over, keeps what it is given, and the run is told of it."""
    path = tmp_path / "store.sqlite"
    filled(path)
    store = Store(path)
    path.write_bytes(path.read_bytes()[:4096] + random.Random(0).randbytes(60_000))

    store.put(b"key", Reply("A reply."))

    assert store.trouble is not None
    assert re.fullmatch(r"broken \(.* malformed\): it was moved to store\.sqlite\.broken-\S+, and 0 .*", store.trouble)
    store.close()
    assert Store(path).get(b"key") is not None


def test_others_follow_to_the_new_file(tmp_path: Path) -> None:
    """A process that has the broken file open goes on with the one that another process made, and tells of it."""
    path = tmp_path / "store.sqlite"
    filled(path)
    one, other, idle = Store(path), Store(path), Store(path)
    path.write_bytes(path.read_bytes()[:4096] + random.Random(0).randbytes(60_000))

    one.put(b"one", Reply("One."))
    other.put(b"other", Reply("Other."))

    assert one.get(b"other") is not None
    for store in (other, idle, one):
        store.close()
    assert (idle.trouble or "").startswith("broken in mid-run: it was moved to store.sqlite.broken-")
    assert len(set(tmp_path.glob("store.sqlite.broken-*[0-9]"))) == 1
    last = Store(path)
    assert last.get(b"one") is not None
    assert last.get(b"other") is not None


def test_a_store_that_is_deleted_in_mid_run(tmp_path: Path) -> None:
    """A new one is begun, without what the records have: whoever deletes it wants to ask anew."""
    path = tmp_path / "store.sqlite"
    filled(path)
    recorded(tmp_path)
    store = Store(path)
    path.unlink()

    store.put(b"key", Reply("A reply."))
    store.close()

    assert contents(path).entries == 1


def test_a_store_that_cannot_be_made_again(tmp_path: Path) -> None:
    """A run goes on without a store whose folder has become a file, and is told so."""
    folder = tmp_path / "folder"
    store = Store(folder / "store.sqlite")
    shutil.rmtree(folder)
    folder.touch()

    store.put(b"key", Reply("A reply."))

    assert store.get(b"key") is None
    store.close()
    assert store.trouble is not None
    assert store.trouble.startswith("it is gone, and no new one can be made: ")


def test_several_find_it_broken_at_once(tmp_path: Path) -> None:
    """One process moves it aside, and none loses what it writes."""
    path = tmp_path / "store.sqlite"
    path.write_bytes(BROKEN["noise"])
    recorded(tmp_path)

    assert together(path, "abcd") == ["None"] * 4

    store = Store(path)
    assert all(store.get(f"{name} {number}".encode()) is not None for name in "abcd" for number in range(200))
    assert store.get(b"replied") is not None
    assert len(list(tmp_path.glob("store.sqlite.broken-*"))) == 1


def test_a_store_of_another_version(tmp_path: Path) -> None:
    """It is moved aside with the versions named, and can still be read there."""
    path = tmp_path / "store.sqlite"
    filled(path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version=99")
    recorded(tmp_path)

    store = Store(path)

    assert store.mended is not None
    assert store.mended.startswith("of another version (99; this mmtests has 1): it was moved to ")
    assert store.get(b"replied") is not None
    (aside,) = tmp_path.glob("store.sqlite.broken-*")
    with contextlib.closing(sqlite3.connect(aside)) as database:
        assert database.execute("SELECT count(*) FROM replies").fetchone() == (len(KEYS),)


def test_a_database_of_something_else(tmp_path: Path) -> None:
    """Another program's database is neither moved nor written to."""
    path = tmp_path / "theirs.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE theirs (a)")
    with pytest.raises(UserError, match=r"theirs\.sqlite cannot be used: it is a database of something else"):
        Store(path)

    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]


def test_a_place_that_cannot_be_used(tmp_path: Path) -> None:
    """A folder in the store's place is for the user to move."""
    with pytest.raises(UserError, match=r"the store .* cannot be used: unable to open.*--store off"):
        Store(tmp_path)


def test_a_reply_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    """A damaged entry is asked for anew, and is no crash; nor is another key's reply taken for this one's."""
    store = Store(tmp_path / "store.sqlite")
    store.put(b"key", Reply("A reply."))
    store.put(b"other", Reply("Another reply."))
    assert store._database is not None
    (packed,) = store._database.execute("SELECT reply FROM replies WHERE key = ?", (b"key",)).fetchone()
    for damaged in (b"\x93\x01", packed[:-5], packed[:-1] + b"\0", b"", None, "text"):
        with contextlib.suppress(sqlite3.IntegrityError):
            store._database.execute("UPDATE replies SET reply = ? WHERE key = ?", (damaged, b"key"))
            assert store.get(b"key") is None
    store._database.execute("UPDATE replies SET reply = ?", (packed,))

    assert store.get(b"key") is not None
    assert store.get(b"other") is None


def test_a_store_that_becomes_unwritable(tmp_path: Path) -> None:
    """Trouble in mid-run is kept to be told at the end; a run does not fail for its store."""
    store = Store(tmp_path / "store.sqlite")
    assert store._database is not None
    store._database.execute("PRAGMA query_only=1")

    store.put(b"key", Reply("A reply."))

    assert store.trouble is not None
    assert store.get(b"key") is None


def test_asking_is_answered_with_the_key(tmp_path: Path) -> None:
    """A reply carries where the store has it, whether it was just kept or found; without a store it carries none."""
    key = key_of(IDENTITY, REQUEST).hex()

    async def ask(store: Store | None) -> Reply:
        return await Asking(Parrot(), store).ask(REQUEST)

    store = Store(tmp_path / "store.sqlite")
    kept, found, alone = asyncio.run(ask(store)), asyncio.run(ask(store)), asyncio.run(ask(None))
    store.close()

    assert [(reply.text, reply.cached, reply.key) for reply in (kept, found, alone)] == [
        ("Hello", False, key), ("Hello", True, key), ("Hello", False, "")
    ]  # fmt: skip
    assert contents(store.path).models == {"parrot": 1}


class Parrot:
    """A model that says what it is told."""

    name = "parrot"
    in_flight = 1
    needs_history = False

    def identity(self) -> dict[str, Any]:
        return IDENTITY

    async def chat(self, request: ChatRequest) -> Reply:
        return Reply(request.messages[-1].text)

    async def close(self) -> None:
        """There is nothing to close."""
