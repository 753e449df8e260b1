"""Whole runs of the embedded sample: every item is asked with its pictures, scored, and ends in the tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmtests.dialogue import ADVERSARIAL, BLIND, SINGLE, Message, Text
from mmtests.image import data_url
from mmtests.milebench import MileBench
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Loopback

Records = Callable[[], dict[str, Record]]


def key(content: Any) -> str:
    """A request's user message, texts joined between images."""
    parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return "".join(part["text"] if part["type"] == "text" else part["image_url"]["url"] for part in parts)


def sent(message: Message) -> str:
    """The same, of a message of ours."""
    return "".join(part.text if isinstance(part, Text) else data_url(part) for part in message.parts)


@pytest.fixture
def answers() -> dict[str, str]:
    """The reference reply to each message of the sample. A message is recognised by its text and the bytes of its images."""
    loaded = MileBench().load(MileBench.sample, [SINGLE, ADVERSARIAL])
    return {sent(one.turns[0].user): one.turns[0].reference or "" for one in loaded.dialogues}


def knowing(answers: dict[str, str]) -> Callable[[dict[str, Any]], Answer]:
    return lambda request: Answer(answers[key(request["messages"][-1]["content"])])


def tables(pytester: pytest.Pytester) -> Any:
    last = max((pytester.path / ".mmtests" / "runs").iterdir())
    (benchmark,) = json.loads((last / "summary.json").read_text(encoding="utf-8"))["benchmarks"]
    return benchmark


def test_the_references(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester, answers: dict[str, str]
) -> None:
    """A model that gives the reference replies passes everywhere, with 100 in each column, in both sets."""
    server.behaviour = knowing(answers)

    result = run_benchmark("-k", "milebench", "--setting", "single,adversarial")

    assert result.ret == 0
    found = records()
    assert len(found) == len(answers) == 16
    assert {record.outcome for record in found.values()} == {"passed"}
    summary = tables(pytester)
    assert [row["setting"] for row in summary["rows"]] == ["single", "adversarial"]
    for row in summary["rows"]:
        assert {name: round(cell["mean"], 5) for name, cell in row["cells"].items()} == dict.fromkeys(row["cells"], 100)
    assert list(summary["rows"][0]["cells"]) == ["T-2", "T-3", "S-1", "S-3", "S-4", "N-1", "N-2", "I-1"]
    assert summary["gaps"][0]["abilities"] == {"T-2": 0}
    request = server.requests[0]
    assert request["max_tokens" if "max_tokens" in request else "max_completion_tokens"] == 512
    assert [message["role"] for message in request["messages"]] == ["user"]


def test_nonsense(server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester) -> None:
    """A model that talks nonsense misses everywhere, with 0 in each column, and each miss says why."""
    server.behaviour = lambda request: Answer("zebra quartz")

    result = run_benchmark("-k", "milebench")

    assert result.ret == 1
    assert {record.outcome for record in records().values()} == {"missed"}
    (row,) = tables(pytester)["rows"]
    assert {cell["mean"] for cell in row["cells"].values()} == {0}
    result.stdout.fnmatch_lines(["*expected B (to the right); extracted BAA*"])


def test_an_empty_reply(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Officially it chooses the third option; strictly it is wrong."""
    server.behaviour = lambda request: Answer("...")

    run_benchmark("-k", "milebench and (MovingDirection or GPR1200)")
    officially = {id: record.outcome for id, record in records().items()}
    run_benchmark("-k", "milebench and (MovingDirection or GPR1200)", "--scoring", "strict", "--run-dir", "strict")

    assert officially == {
        "milebench/GPR1200/single/0/turn-01": "passed",
        "milebench/MovingDirection/single/0/turn-01": "missed",
        "milebench/MovingDirection/single/1/turn-01": "passed",
    }
    strictly = [json.loads(line) for line in Path("strict/records.jsonl").read_text().splitlines()]
    assert [line["outcome"] for line in strictly if "outcome" in line] == ["missed"] * 3


def test_blind(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """In the ``blind`` setting no picture is sent."""
    server.behaviour = lambda request: Answer("yes")

    run_benchmark("-k", "milebench", "--setting", "blind")

    assert [record.setting for record in records().values()] == [BLIND] * 14
    assert len(server.requests) == 12  # two pairs differ by their pictures alone
    assert not any("data:image" in key(request["messages"][-1]["content"]) for request in server.requests)


def test_combined(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Combined, each message has one picture, the data's own where there is one, and names the others in its text."""
    server.behaviour = lambda request: Answer("to the right")

    run_benchmark("-k", "milebench and MovingDirection", "--image-policy", "combine")

    assert {id[-9:-8]: record.outcome for id, record in records().items()} == {"0": "passed", "1": "missed"}
    asked = [key(request["messages"][-1]["content"]) for request in server.requests]
    assert [message.count("data:image") for message in asked] == [1, 1]
    own = (MileBench.sample / "MovingDirection" / "combined_1_images" / "0-0.png").read_bytes()
    (dialogue, *_) = (one for one in MileBench().load(MileBench.sample, [SINGLE]).dialogues if "combined" in one.facts)
    (picture,) = MileBench().combine(dialogue).turns[0].user.images
    assert sum(message.startswith(data_url(picture)) for message in asked) == 1
    assert data_url(picture).startswith("data:image/png")
    assert own.startswith(b"\x89PNG")
    assert all("First: <Image 1>  then: <Image 2>  last: <Image 3> " in message for message in asked)


def test_replies_of_the_official_script(
    run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """``pred.json`` is scored without a model; a sample that it lacks is failed."""
    folder = pytester.path / "outputs" / "llava" / "MovingDirection"
    folder.mkdir(parents=True)
    (folder / "pred.json").write_text(json.dumps([{"sample_id": 0, "pred_response": "B"}]))

    result = pytester.runpytest_subprocess(
        "--pyargs", "mmtests", "--model", "replay:outputs", "-k", "milebench and MovingDirection", timeout=60
    )

    assert result.ret == 11
    assert [record.outcome for record in records().values()] == ["passed", "failed"]
