"""A run from end to end: what reaches the model and the judge, and what becomes of their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmtests.dialogue import MULTI, Item, Text
from mmtests.image import Image, picture
from mmtests.mmdu import MMDU
from mmtests.mmdu.load import load
from mmtests.mmdu.tasks import DIMENSIONS, OVERALL
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Loopback, last_user, pictures, text_of
from tests.mmdu.data import verdict

Records = Callable[[], dict[str, Record]]
Json = dict[str, Any]

ITEMS = [item for dialogue in load(MMDU.sample, [MULTI]).dialogues for item in dialogue.items]
SECOND = "mmdu/dialogue/multi/1/turn-02"


def asked(request: Json) -> Item:
    """The turn of the sample that a request to the model is for, by its last text."""
    (found,) = [item for item in ITEMS if item.turn.user.text == last_user(request)]
    return found


def judged(request: Json) -> Item:
    """The turn of the sample that a request to the judge is about, by the question within its first message."""
    (found,) = [item for item in ITEMS if item.turn.facts["question"] in text_of(request["messages"][0])]
    return found


def playing(
    judge: Callable[[Json], str] = lambda request: verdict(8),
    model: Callable[[Json], str] = lambda request: f"About turn {asked(request).turn.number}.",
) -> Callable[[Json], Answer]:
    """A server that is both the model and the judge."""
    return lambda request: Answer((judge if request["model"] == "judge" else model)(request))


def summary(folder: Path) -> Json:
    """What the last run came to for MMDU."""
    last = max((folder / ".mmtests" / "runs").iterdir())
    (own,) = json.loads((last / "summary.json").read_text(encoding="utf-8"))["benchmarks"]
    assert own["benchmark"] == "mmdu"
    return dict(own)


def test_full_marks(server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester) -> None:
    """Reference replies that get a 10 throughout are 100 in each column, and pass."""
    server.behaviour = playing(lambda request: verdict(10), lambda request: asked(request).turn.reference or "")

    result = run_benchmark("-k", "mmdu", judge=True)

    assert result.ret == 0
    assert {record.outcome for record in records().values()} == {"passed"}
    assert len(records()) == 7
    for record in records().values():
        assert record.score is not None
        assert record.score.dimensions == dict.fromkeys(DIMENSIONS, 10)
        assert record.score.verdict is not None
        assert record.flags == ()
    (row,) = summary(pytester.path)["rows"]
    assert row["average"] == 100
    assert {cell["mean"] for cell in row["cells"].values()} == {100}
    for cells in summary(pytester.path)["tables"][0]["rows"].values():
        assert {cell["mean"] for cell in cells.values()} == {100}
    result.stdout.fnmatch_lines(["*multi*100.00*100.00*"])


def test_nonsense(server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester) -> None:
    """Replies that get a 1 throughout are 10 in each column, the floor of the prompt's scale, and miss."""
    server.behaviour = playing(lambda request: verdict(1), lambda request: "Blub.")

    result = run_benchmark("-k", "mmdu", judge=True)

    assert result.ret == 1
    assert {record.outcome for record in records().values()} == {"missed"}
    assert summary(pytester.path)["rows"][0]["average"] == 10


def test_unreadable_verdicts(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """A verdict that stays unreadable leaves its turn unjudged and the run incomplete; one that is mended counts."""

    def judge(request: Json) -> str:
        turn, first = judged(request).id, len(request["messages"]) == 1
        if turn == SECOND:
            return "I would say: 8 out of 10."
        return verdict(8, Richness=11) if first and turn.endswith("turn-01") else verdict(8)

    server.behaviour = playing(judge)

    result = run_benchmark("-k", "mmdu", judge=True)

    assert result.ret == 11
    found = records()
    assert {id: record.outcome for id, record in found.items() if record.outcome != "passed"} == {SECOND: "unjudged"}
    assert "no readable verdict in 3 attempts" in (found[SECOND].error or "")
    assert [id for id, record in found.items() if "verdict_asked_again" in record.flags] == [
        "mmdu/dialogue/multi/1/turn-01", "mmdu/dialogue/multi/2/turn-01",
    ]  # fmt: skip
    again = [r["messages"][-1]["content"] for r in server.requests if r["model"] == "judge" and len(r["messages"]) > 1]
    assert sum("'Richness' is 11, outside the scale 0-10" in text for text in again) == 2
    own = summary(pytester.path)
    (row,) = own["rows"]
    assert row["average"] == 80
    assert {(cell["scored"], cell["selected"]) for cell in row["cells"].values()} == {(6, 7)}
    pooled = {name: cells["Avg."]["mean"] for name, cells in own["tables"][0]["rows"].items()}
    assert pooled["multi: all by turn"] == pytest.approx(80 * 6 / 7)
    assert pooled["multi: all by dialogue"] == pytest.approx((60 + 80) / 2)
    result.stdout.fnmatch_lines(["*INCOMPLETE: 1 items have no score*"])


# What arrives


def shown(part: Text | Image) -> Any:
    """A part of a message as ``arrived`` gives it."""
    return part.text if isinstance(part, Text) else picture(part).tobytes()


def arrived(message: Json) -> list[Any]:
    """What a message is made of, in order: its texts, and the pixels of its pictures."""
    content = message["content"]
    if isinstance(content, str):
        return [content]
    decoded = iter(pictures(message))
    return [part["text"] if part["type"] == "text" else next(decoded).tobytes() for part in content]


@pytest.mark.parametrize("setting", ["multi", "gold"])
def test_the_pixels(server: Loopback, run_benchmark: RunBenchmark, setting: str) -> None:
    """Each request holds every message so far, each picture in its place among the texts; the judge gets all pictures of
    the dialogue in order, whatever the turn."""
    server.behaviour = playing()

    run_benchmark("-k", "mmdu", f"--setting={setting}", judge=True)

    to_model = [request for request in server.requests if request["model"] != "judge"]
    assert sorted(asked(request).id for request in to_model) == sorted(item.id for item in ITEMS)
    for request in to_model:
        item = asked(request)
        so_far = item.dialogue.turns[: item.turn.number]
        mine = [message for message in request["messages"] if message["role"] == "user"]
        assert [arrived(message) for message in mine] == [[shown(part) for part in turn.user.parts] for turn in so_far]
        replies = [message["content"] for message in request["messages"] if message["role"] == "assistant"]
        assert replies == [
            turn.reference if setting == "gold" else f"About turn {turn.number}." for turn in so_far[:-1]
        ]
        assert {message["role"] for message in request["messages"]} <= {"user", "assistant"}
        assert request["max_tokens"] == 2048
        assert request["temperature"] == 0
    assert max(sum(len(pictures(m)) for m in request["messages"]) for request in to_model) == 3
    to_judge = [request for request in server.requests if request["model"] == "judge"]
    assert sorted(judged(request).id for request in to_judge) == sorted(item.id for item in ITEMS)
    for request in to_judge:
        (message,) = request["messages"]
        text, *images = arrived(message)
        item = judged(request)
        assert images == [picture(image).tobytes() for image in item.dialogue.facts["images"]]
        assert len(images) == {"1": 3, "2": 2}[item.dialogue.id]
        assert f"About turn {item.turn.number}." in text
        assert (item.turn.reference or "no") in text


def test_blind(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """In the blind setting the model gets no picture at all, and the judge gets all of them."""
    server.behaviour = playing()

    result = run_benchmark("-k", "mmdu", "--setting=blind", judge=True)

    assert result.ret == 0
    assert {record.setting for record in records().values()} == {"blind"}
    for request in server.requests:
        count = sum(len(pictures(message)) for message in request["messages"])
        assert count == (len(judged(request).dialogue.facts["images"]) if request["model"] == "judge" else 0)


def test_a_judge_that_cannot_see(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """Its verdicts count and are flagged, and the report says that they do not compare with the paper's."""
    server.behaviour = playing()

    result = run_benchmark("-k", "mmdu", "--judge-arg", "images=false", judge=True)

    assert result.ret == 0
    assert all("verdict_blind" in record.flags for record in records().values())
    assert not any(pictures(r["messages"][0]) for r in server.requests if r["model"] == "judge")
    (note,) = summary(pytester.path)["notes"]
    assert "7 verdicts rest on texts alone" in note
    result.stdout.fnmatch_lines(["the judge takes no images: 7 verdicts*"])


def test_without_a_judge(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """Without a judge the references are matched: those themselves get 100 by proxy, and there are no dimensions."""
    server.behaviour = playing(model=lambda request: asked(request).turn.reference or "")

    result = run_benchmark("-k", "mmdu")

    assert result.ret == 0
    assert all("proxy" in record.flags for record in records().values())
    (row,) = summary(pytester.path)["rows"]
    assert (row["average"], row["proxy"], list(row["cells"])) == (100, True, [OVERALL])
    result.stdout.fnmatch_lines(["*multi*~100.00*"])


def test_smaller_pictures(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Pictures made smaller on the user's wish are smaller for the model, flagged, and whole for the judge."""
    server.behaviour = playing()

    run_benchmark("-k", "mmdu", "--image-policy", "resize=64", judge=True)

    sizes = {
        role: {one.size for r in server.requests if (r["model"] == "judge") is role
               for m in r["messages"] for one in pictures(m)}
        for role in (False, True)
    }  # fmt: skip
    assert sizes == {False: {(64, 64)}, True: {(128, 128)}}
    assert all("images_resized" in record.flags for record in records().values())


def test_results_of_the_official_scripts(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """Result files are scored in place of a model; a dialogue that has none, or of other data, is failed."""
    first, second = json.loads((MMDU.sample / "benchmark.json").read_text(encoding="utf-8"))
    for number, message in enumerate(first["conversations"][1::2], 1):
        message["value"] = f"Kept reply {number}."
    second["conversations"][0]["value"] = "<ImageHere>. Something else?"
    results = pytester.path / "results"
    results.mkdir()
    (results / "1.json").write_text(json.dumps(first))
    (results / "2.json").write_text(json.dumps(second))
    server.behaviour = playing()

    result = pytester.runpytest_subprocess(
        "--pyargs", "mmtests", "--model=replay:results", "-k", "mmdu", "--judge=openai:judge",
        "--judge-arg", f"base_url={server.url}", timeout=120,
    )  # fmt: skip

    assert result.ret == 11
    found = records()
    for number in range(1, 5):
        record = found[f"mmdu/dialogue/multi/1/turn-{number:02}"]
        assert record.outcome == "passed"
        assert record.reply is not None
        assert record.reply.text == f"Kept reply {number}."
    assert "answers another question" in (found["mmdu/dialogue/multi/2/turn-01"].error or "")
    assert found["mmdu/dialogue/multi/2/turn-02"].outcome == "passed"
    texts = [text_of(r["messages"][0]) for r in server.requests]
    assert sum(bool(re.search(r"Kept reply \d\.", text)) for text in texts) == 4
