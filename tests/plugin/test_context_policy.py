"""``--context-policy left``: a message that does not fit is cut from its left, on request and flagged; else never."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mmtests.dialogue import SINGLE, Message, Part, Text
from mmtests.fixtures.models.chat import ChatRequest, DoesNotFit, Generation
from mmtests.fixtures.models.fitting import fitted
from mmtests.image import File, Image, data_url
from mmtests.milebench import MileBench
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Loopback, order

Json = dict[str, Any]
Records = Callable[[], dict[str, Record]]

# Fitting one request: a token is a letter, an image is ten, and around each message and the reply there are eight.

IMAGE_TOKENS, AROUND = 10, 8
NEW = 5


def image(number: int) -> Image:
    return Image(File(f"{number}.png"), f"[{number}]")


def request(*parts: Part, before: tuple[Message, ...] = ()) -> ChatRequest:
    return ChatRequest((*before, Message("user", parts)), Generation(NEW), "d", "d/turn-01", may_cut=True)


def fit(asked: ChatRequest, context: int) -> tuple[ChatRequest, tuple[str, ...]]:
    return fitted(asked, context, NEW, IMAGE_TOKENS, len)


def needed(asked: ChatRequest) -> int:
    """Tokens of a request with its reply."""
    messages = asked.messages
    parts = [part for message in messages for part in message.parts]
    content = sum(len(part.text) if isinstance(part, Text) else IMAGE_TOKENS for part in parts)
    return content + AROUND * (len(messages) + 1) + NEW


def shown(asked: ChatRequest) -> str:
    """The last message as a string, with the number of each image."""
    return "".join(part.text if isinstance(part, Text) else part.place for part in asked.messages[-1].parts)


ASKED = request(Text("Look."), Text("First "), image(1), Text(" then "), image(2), Text(" which?"))


def test_what_fits_is_not_touched() -> None:
    """To the last token."""
    found, flags = fit(ASKED, needed(ASKED))

    assert found is ASKED
    assert flags == ()


@pytest.mark.parametrize(
    ("less", "kept"),
    [
        (1, "Look.[1] then [2] which?"),
        (6, "Look.[1] then [2] which?"),
        (7, "Look. then [2] which?"),
        (16, "Look. then [2] which?"),
        (17, "Look.[2] which?"),
        (22, "Look.[2] which?"),
        (23, "Look. which?"),
        (32, "Look. which?"),
        (33, "Look.which?"),
        (38, "Look.?"),
    ],
)
def test_what_does_not_fit_is_cut(less: int, kept: str) -> None:
    """One token too few cuts what is leftmost; the instruction stays, and so does what the reply needs."""
    context = needed(ASKED) - less

    found, flags = fit(ASKED, context)

    assert shown(found) == kept
    assert needed(found) <= context
    assert flags == ("context_cut",)


def test_an_instruction_alone_is_no_question() -> None:
    """Where nothing else of the message fits it is not asked."""
    asked = request(Text("Look."), image(1), Text("?"))

    for one in (asked, request(Text("Look."))):
        with pytest.raises(DoesNotFit, match="nothing of the last message but its instruction"):
            fit(one, needed(request(Text("Look."))) - (one is not asked))


def test_only_the_last_message_is_cut() -> None:
    """What was said before stays, and takes its room."""
    before = (
        Message.of("system", "Be brief."),
        Message("user", (image(7), Text("Hm?"))),
        Message.of("assistant", "Yes."),
    )
    asked = request(Text("Look."), Text("x" * 50), image(1), Text("?"), before=before)

    found, flags = fit(asked, needed(asked) - 1)

    assert found.messages[:3] == before
    assert shown(found) == "Look.[1]?"
    assert flags == ("context_cut",)
    assert (found.generation, found.dialogue, found.turn) == (asked.generation, asked.dialogue, asked.turn)


def test_a_history_that_leaves_no_room() -> None:
    """There is no reply then, and the text has the counts."""
    asked = request(Text("Look."), image(1), before=(Message.of("user", "x" * 100), Message.of("assistant", "y")))
    taken = needed(asked) - len("Look.") - IMAGE_TOKENS

    with pytest.raises(DoesNotFit, match="nothing of the last message but its instruction"):
        fit(asked, taken + 6)
    with pytest.raises(DoesNotFit, match=rf"context of {taken} tokens .* need {taken}$"):
        fit(asked, taken)


@example([], 1, 40)
@given(
    st.lists(st.one_of(st.text("ab", min_size=1, max_size=12), st.integers(1, 9)), max_size=8),
    st.integers(0, 30),
    st.integers(30, 200),
)
def test_the_result_fits(pieces: list[str | int], before: int, context: int) -> None:
    """Whatever is asked, what comes out fits; uncut and unflagged if it fitted before. If not even its end does, nothing."""
    parts = [Text(piece) if isinstance(piece, str) else image(piece) for piece in pieces]
    history = (Message.of("user", "h" * before), Message.of("assistant", "r")) if before else ()
    asked = request(Text("Look."), *parts, before=history)

    try:
        found, flags = fit(asked, context)
    except DoesNotFit:
        last = 1 if parts and isinstance(parts[-1], Text) else IMAGE_TOKENS if parts else 0
        assert needed(request(Text("Look."), before=history)) + last > context
        return

    assert needed(found) <= context
    assert (flags == ()) == (found == asked)
    if needed(asked) <= context:
        assert found is asked


# Whole runs

SHORT, LONG = "milebench/MovingDirection/single/1/turn-01", "milebench/MovingDirection/single/0/turn-01"
STORY = "It had rained since the morning, and nobody on the square looked up. " * 20
NEW_TOKENS = 20
SPACE, LINE_BREAK = "\u0120", "\u010a"
"""As a tokenizer of bytes writes them."""


@pytest.fixture
def tokenizer(pytester: pytest.Pytester) -> Path:
    """A tokenizer that makes one token of each letter, as it is saved."""
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    folder = pytester.mkdir("tokenizer")
    letters = [*map(chr, range(ord("!"), ord("~") + 1)), SPACE, LINE_BREAK]
    by_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": {letter: number for number, letter in enumerate(letters)}, "merges": []}
    (folder / "tokenizer.json").write_text(
        json.dumps(
            {"version": "1.0", "added_tokens": [], "pre_tokenizer": by_bytes, "decoder": by_bytes, "model": model}
        )
    )
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return folder


@pytest.fixture
def data(pytester: pytest.Pytester) -> tuple[str, str]:
    """``--data`` with two samples of one subset, the first of which begins with a long story."""
    folder = pytester.path / "data" / "milebench" / "MovingDirection"
    shutil.copytree(MileBench.sample / "MovingDirection", folder)
    path = folder / "MovingDirection.json"
    content = json.loads(path.read_text())
    instance = content["data"][0]["task_instance"]
    instance["context"] = STORY + instance["context"]
    path.write_text(json.dumps(content))
    return "--data", str(folder.parents[1])


@pytest.fixture
def counting(tokenizer: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    """The arguments of an endpoint that lets us count, by its context."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def arguments(context: int) -> list[str]:
        given = {"context": context, "image_tokens": 30, "tokenizer": tokenizer, "max_new_tokens": NEW_TOKENS}
        return [part for name, value in given.items() for part in ("--model-arg", f"{name}={value}")]

    return arguments


def arrived(server: Loopback) -> dict[str, list[Any]]:
    """What has arrived for each of the two samples, which show different pictures last."""
    found = {}
    for one in server.requests:
        (message,) = one["messages"]
        parts = order(message)
        found[LAST[_pixels(one)]] = parts
    return found


def _pixels(one: Json) -> str:
    urls = [part["image_url"]["url"] for part in one["messages"][0]["content"] if part["type"] == "image_url"]
    return str(urls[-1])


def _last_pictures() -> dict[str, str]:
    items = [item for one in MileBench().load(MileBench.sample, [SINGLE]).dialogues for item in one.items]
    return {data_url(item.turn.user.images[-1]): item.id for item in items if item.id in (SHORT, LONG)}


LAST = _last_pictures()


def tokens(parts: list[Any]) -> int:
    """Of a message as it arrived, with what the reply and the template need."""
    return sum(len(part.encode()) if isinstance(part, str) else 30 for part in parts) + 2 * AROUND + NEW_TOKENS


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ((), "context, image_tokens, tokenizer: "),
        (("context=500",), "image_tokens, tokenizer: "),
        (("context=500", "tokenizer=."), "image_tokens: "),
        (("context=500", "image_tokens=9"), "tokenizer: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_endpoint_that_cannot_count(
    given: tuple[str, ...], missing: str, server: Loopback, run_benchmark: RunBenchmark
) -> None:
    """The message says what is missing, and how to give it."""
    arguments = [part for one in given for part in ("--model-arg", one)]

    result = run_benchmark("-k", "milebench", "--context-policy", "left", *arguments)

    assert result.ret == 4
    assert server.requests == []
    (error,) = [line for line in result.errlines if line.startswith("ERROR: ")]
    assert error.startswith(f"ERROR: --context-policy left: model 'openai:test' must say {missing}")
    assert f"--model-arg {missing.split(',')[0].split(':')[0]}=..." in error


def test_a_tokenizer_that_does_not_load(server: Loopback, run_benchmark: RunBenchmark) -> None:
    """It is found before anything is asked, and named."""
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    arguments = [
        part for one in ("context=500", "image_tokens=9", "tokenizer=./no-such") for part in ("--model-arg", one)
    ]

    result = run_benchmark("-k", "milebench", "--context-policy", "left", *arguments)

    assert result.ret == 4
    assert server.requests == []
    (error,) = [line for line in result.errlines if line.startswith("ERROR: ")]
    assert error == (
        "ERROR: model 'openai:test': the tokenizer ./no-such is no folder. Name a folder that holds one, or a hub id such as "
        "organisation/model (--model-arg tokenizer=...)."
    )


def test_everything_is_sent_by_default(
    data: tuple[str, str], counting: Callable[[int], list[str]], server: Loopback, run_benchmark: RunBenchmark,
    records: Records,
) -> None:  # fmt: skip
    """Without the policy a model's context is the server's business."""
    run_benchmark(*data, *counting(400), "--tb=no")

    found = arrived(server)
    assert STORY in found[LONG][1]
    assert tokens(found[LONG]) > 1000
    assert not any("context_cut" in record.flags for record in records().values())


def test_only_where_there_is_such_a_rule(
    counting: Callable[[int], list[str]], server: Loopback, run_benchmark: RunBenchmark, records: Records
) -> None:
    """Other benchmarks' messages have no instruction to keep: they are sent whole."""
    run_benchmark("-k", "mmdu", *counting(80), "--context-policy", "left", "--tb=no")

    assert {record.benchmark for record in records().values()} == {"mmdu"}
    for record in records().values():
        assert record.reply is not None
        assert "context_cut" not in record.flags


@pytest.mark.parametrize(("context", "images"), [(400, 3), (345, 2), (280, 1)])
def test_a_long_message_is_cut(
    context: int, images: int, data: tuple[str, str], counting: Callable[[int], list[str]], server: Loopback,
    run_benchmark: RunBenchmark, records: Records,
) -> None:  # fmt: skip
    """Instruction and choices stay, and as many of the last pieces as fit; the record says so."""
    run_benchmark(*data, "--store=off", "--run-dir=whole", "--tb=no")
    whole = arrived(server)
    server.requests.clear()

    run_benchmark(*data, *counting(context), "--context-policy", "left", "--store=off", "--tb=no")

    cut = arrived(server)
    everything, kept = whole[LONG], cut[LONG]
    assert kept[0] == everything[0]  # the instruction
    assert kept[1:] == everything[-len(kept) + 1 :]
    assert kept[-1].endswith("Your answer is: ")
    assert "Choice list:" in kept[-1]
    assert STORY not in "".join(part for part in kept if isinstance(part, str))
    assert sum(not isinstance(part, str) for part in kept) == images
    assert tokens(kept) <= context < tokens([kept[0], *everything[-len(kept) :]])
    found = records()
    assert "context_cut" in found[LONG].flags
    for id, record in found.items():
        assert record.reply is not None
        assert record.reply.sent.images == sum(not isinstance(part, str) for part in cut[id])
        assert STORY in record.user or id == SHORT
    fits = tokens(whole[SHORT]) <= context
    assert fits == (context == 400)
    assert ("context_cut" in found[SHORT].flags) == (not fits)
    assert (cut[SHORT] == whole[SHORT]) == fits


def test_no_room_at_all(
    data: tuple[str, str], counting: Callable[[int], list[str]], server: Loopback, run_benchmark: RunBenchmark,
    records: Records,
) -> None:  # fmt: skip
    """A context that the reply alone fills is no reply, with the counts, and nothing is asked."""
    result = run_benchmark(*data, *counting(30), "--context-policy", "left", "--tb=no")

    assert result.ret == 11
    assert server.requests == []
    for record in records().values():
        assert record.outcome == "failed"
        assert "the context of 30 tokens leaves none for the last message" in (record.error or "")
