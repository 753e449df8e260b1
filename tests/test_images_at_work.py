"""Images through a whole run: what arrives, what is recorded, and what becomes of those that cannot be used."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmtests.benchmark import installed
from mmtests.dialogue import USUAL, Message
from mmtests.image import digest
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Loopback, pictures, text_of

BENCHMARKS = installed()  # here, for pytester forgets modules that a test was the first to import
MULTIMODAL = "mmdu or milebench or mmrc or mmreason"
Records = Callable[[], dict[str, Record]]


Shown = tuple[str, tuple[str, ...]]
"""A message by its text and the hashes of its pictures: some questions differ in their pictures alone."""


def references() -> dict[Shown, str]:
    """Every question of the samples with its reference reply."""
    return {
        (turn.user.text, tuple(map(digest, turn.user.images))): turn.reference or ""
        for benchmark in BENCHMARKS.values()
        for dialogue in benchmark.load(benchmark.sample, USUAL).dialogues
        for turn in dialogue.turns
    }


def shown(message: dict[str, Any]) -> Shown:
    """The same of what has arrived."""
    parts = [] if isinstance(message["content"], str) else message["content"]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return text_of(message), tuple(hashlib.sha256(base64.b64decode(url.partition(",")[2])).hexdigest() for url in urls)


def content(folder: Path) -> dict[str, Any]:
    """The summary of the run in a folder."""
    (run,) = (folder / ".mmtests" / "runs").iterdir()
    summary: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return summary


def with_verdict(request: dict[str, Any]) -> Answer:
    """A judge that is content with everything, whatever form it is asked for."""
    said = text_of(request["messages"][-1])
    keys = ("Creativity", "Richness", "Visual Perception", "Logical Coherence", "Answer Accuracy",
            "Image Relationship Understanding", "Overall Score")  # fmt: skip
    if all(key in said for key in keys):
        return Answer(json.dumps(dict.fromkeys(keys, 10)))
    if '"Steps"' in said:
        return Answer(json.dumps({"Steps": [{"Step": "One.", "Label": "correct"}]}))
    if "Yes" in said and "No" in said and '"Score"' not in said:
        return Answer("Yes")
    if '"Score"' not in said:
        return Answer("whatever")  # an extraction
    more = {"Items": [], "Matched": [], "Images": [], "Refused": True}
    return Answer(json.dumps({"Rationale": "Right.", "Score": 5, **more}))


def right(server: Loopback) -> None:
    """Let the server answer with the references, and judge with full marks."""
    known = references()

    def behave(request: dict[str, Any]) -> Answer:
        if request["model"] == "judge":
            return with_verdict(request)
        return Answer(known[shown(request["messages"][-1])] or "Seen.")

    server.behaviour = behave


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_a_tiny_model_sees_all_five_benchmarks(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, records: Records
) -> None:
    """One command, from nothing: every item is answered by a real vision-language model."""
    monkeypatch.setenv("MMTESTS_CACHE", str(pytester.path / "cache"))

    result = pytester.runpytest_subprocess(
        "--pyargs", "mmtests", "--model", "tiny-vl", "--limit", "1", "--tb=no", timeout=300
    )

    found = records().values()
    assert result.ret == 1  # noise passes nothing, and all of it was answered
    assert {record.benchmark for record in found} == set(BENCHMARKS)
    assert all(record.reply is not None for record in found)
    assert all(record.reply.sent.images > 0 for record in found if record.reply and record.benchmark != "mt_eval")


def test_full_marks_and_their_records(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """References earn full marks in every ability; records know pictures by their content and hold none."""
    right(server)

    result = run_benchmark("-k", MULTIMODAL, judge=True)

    assert result.ret == 0
    full = {"mmdu": 100.0, "milebench": 100.0, "mmrc": 5.0, "mmreason": 100.0}
    for benchmark in content(pytester.path)["benchmarks"]:
        for row in benchmark["rows"]:
            for name, cell in row["cells"].items():
                assert cell["mean"] == pytest.approx(full[benchmark["benchmark"]]), name
    found = records()
    item = found["mmdu/dialogue/multi/1/turn-01"]
    picture = BENCHMARKS["mmdu"].sample / "mmdu_pics"
    hashes = {hashlib.sha256(path.read_bytes()).hexdigest() for path in picture.iterdir()}
    assert item.images
    assert set(item.images) <= hashes
    assert "<image>" in item.user
    (run,) = (pytester.path / ".mmtests" / "runs").iterdir()
    assert b"base64" not in (run / "records.jsonl").read_bytes() + (run / "run.json").read_bytes()


def test_the_floor(server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester) -> None:
    """Nonsense, judged as such, earns the least there is."""

    def behave(request: dict[str, Any]) -> Answer:
        if request["model"] != "judge":
            return Answer("zzz")
        answer = with_verdict(request)
        text = (answer.text or "").replace("10", "0").replace('"Score": 5', '"Score": 0').replace("true", "false")
        return Answer({"Yes": "No", "whatever": "null"}.get(text, text.replace('"correct"', '"incorrect"')))

    server.behaviour = behave

    result = run_benchmark("-k", MULTIMODAL, judge=True)

    assert result.ret == 1
    for benchmark in content(pytester.path)["benchmarks"]:
        for row in benchmark["rows"]:
            assert {cell["mean"] for cell in row["cells"].values()} == {0.0}


def test_an_unsteady_server(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Refused and late items are failed, cut ones flagged, and only what was answered is scored."""

    def behave(request: dict[str, Any]) -> Answer:
        kind = zlib.crc32(text_of(request["messages"][-1]).encode()) % 4
        if kind == 0:
            body = b'{"error": {"message": "image_url is not supported", "code": null}}'
            return Answer(status=400, body=body)
        if kind == 1:
            return Answer(delay=5)
        return Answer("A reply.", finish="length" if kind == 2 else "stop")

    server.behaviour = behave

    result = run_benchmark("-k", "milebench", "--model-arg", "max_retries=0", "--concurrency=16")

    assert result.ret == 11
    outcomes = set()
    for record in records().values():
        text = record.user.replace("<image>", "")
        kind = zlib.crc32(text.encode()) % 4
        outcomes.add(kind)
        if kind < 2:
            assert record.outcome == "failed"
            assert record.score is None
            assert ("image_url is not supported" if kind == 0 else "no answer within") in (record.error or "")
        else:
            assert record.score is not None
            assert ("reply_cut" in record.flags) == (kind == 2)
    assert outcomes == {0, 1, 2, 3}


def test_a_model_that_takes_no_images(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """What has images is left out with the reason; blind, the same is asked without them."""
    result = run_benchmark("-k", "mmdu or follow-up", "--model-arg", "images=false", "--tb=no")

    assert {record.benchmark for record in records().values()} == {"mt_eval"}
    result.stdout.fnmatch_lines(["not scored: 7 items: has images, and openai:test takes none (--setting blind*"])

    run_benchmark("-k", "mmdu", "--setting", "blind", "--model-arg", "images=false", "--tb=no")

    blind = records()
    assert len(blind) == 7
    assert all("/blind/" in id and not record.images for id, record in blind.items())


def test_a_judge_that_takes_no_images(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """It judges the text, and every record and the report say so."""
    right(server)

    result = run_benchmark("-k", "mmdu", "--judge-arg", "images=false", judge=True)

    assert all("verdict_blind" in record.flags for record in records().values())
    assert not any(pictures(message) for request in server.requests if request["model"] == "judge"
                   for message in request["messages"])  # fmt: skip
    result.stdout.fnmatch_lines(["*7 verdict_blind*"])


def test_policies(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Images are made smaller or put into one, and each record says so."""
    run_benchmark("-k", "mmdu and 1/turn-01", "--image-policy", "combine", "--image-policy", "resize=64", "--tb=no")

    (request,) = server.requests
    (picture,) = pictures(request["messages"][-1])
    assert max(picture.size) <= 64
    assert "<Image 1> " in text_of(request["messages"][-1])
    (record,) = records().values()
    assert {"images_combined", "images_resized"} <= set(record.flags)


@pytest.mark.parametrize("policy", ["shrink", "resize=0", "resize=x", "combine=1"])
def test_a_policy_that_is_none(policy: str, run_benchmark: RunBenchmark) -> None:
    """It is named."""
    result = run_benchmark("--image-policy", policy)

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: --image-policy {policy}: it must be combine, or resize=PIXELS."])


def huge() -> bytes:
    """The head of a PNG of 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 64))


@pytest.fixture
def spoilt(pytester: pytest.Pytester) -> Callable[[bytes], Path]:
    """The MMDU sample with other bytes in the second dialogue's first picture."""

    def spoil(content: bytes) -> Path:
        folder = pytester.path / "data" / "mmdu"
        shutil.copytree(BENCHMARKS["mmdu"].sample, folder)
        record = json.loads((folder / "benchmark.json").read_text())[1]
        (folder / record["image"][0].lstrip("/")).write_bytes(content)
        return folder.parent

    return spoil


@pytest.mark.parametrize(
    ("bytes_", "says"),
    [(b"no picture at all", "is no picture"), (b"", "is no picture"), (huge(), "60000 x 60000 pixels|absurd size")],
    ids=["text", "empty", "huge"],
)
def test_a_bad_picture_ends_the_run_before_it_begins(
    bytes_: bytes, says: str, spoilt: Callable[[bytes], Path], server: Loopback, run_benchmark: RunBenchmark
) -> None:
    """One message names file, record and field, and nothing was asked."""
    result = run_benchmark("--data", str(spoilt(bytes_)))

    assert result.ret == 4
    assert server.requests == []
    result.stderr.re_match_lines([rf"ERROR: .*benchmark.json: record 2 \(field image\[0\]\): .*({says}).*"])


def test_a_bad_picture_is_skipped_on_request(
    spoilt: Callable[[bytes], Path], server: Loopback, run_benchmark: RunBenchmark, records: Records
) -> None:
    """The record's items are left out and counted; the rest runs."""
    result = run_benchmark("--data", str(spoilt(b"no picture")), "--skip-bad-records", "--tb=no")

    assert {record.dialogue for record in records().values()} == {"1"}
    result.stdout.fnmatch_lines(["not scored: 3 items: bad record skipped:*", "*record 2 (field image?0?)*"])


def test_a_bad_picture_with_workers(
    spoilt: Callable[[bytes], Path], server: Loopback, run_benchmark: RunBenchmark, records: Records
) -> None:
    """The items that meet it are failed, with the same words."""
    pytest.importorskip("xdist")

    result = run_benchmark("--data", str(spoilt(b"no picture")), "-n2", "--tb=no")

    assert result.ret == 11
    failed = {id: record.error or "" for id, record in records().items() if record.outcome == "failed"}
    assert {id.split("/")[3] for id in failed} == {"2"}
    assert any("record 2 (field image[0])" in error for error in failed.values())


def test_a_bad_record(pytester: pytest.Pytester, run_benchmark: RunBenchmark, server: Loopback) -> None:
    """It ends the run with what is wrong; on request it is skipped and counted in the report."""
    folder = pytester.path / "data" / "milebench"
    shutil.copytree(BENCHMARKS["milebench"].sample, folder)
    path = folder / "ObjectExistence" / "ObjectExistence.json"
    data = json.loads(path.read_text())
    data["data"][0]["response"] = "perhaps"
    path.write_text(json.dumps(data))

    refused = run_benchmark("--data", str(folder.parent), "-k", "ObjectExistence")

    assert refused.ret == 4
    refused.stderr.fnmatch_lines(["ERROR: *ObjectExistence.json: record 0: *perhaps*(field response)*"])
    assert server.requests == []

    skipped = run_benchmark("--data", str(folder.parent), "-k", "milebench", "--skip-bad-records", "--tb=no")

    skipped.stdout.fnmatch_lines(["skipped: 1 bad records of the data*"])
    (said,) = content(pytester.path)["skipped"]
    assert "record 0" in said


def test_nothing_left_after_skipping(pytester: pytest.Pytester, run_benchmark: RunBenchmark) -> None:
    """Where every record is bad, there is nothing to run, and the message says why."""
    folder = pytester.path / "data" / "mmreason"
    folder.mkdir(parents=True)
    head = "index\timage\tquestion\tanswer\tdiscipline\n"
    (folder / "MMReason_testmini.tsv").write_text(f"{head}1\t{'!' * 100}\tWhat?\t1\tMath\n")

    result = run_benchmark("--data", str(folder.parent), "--skip-bad-records")

    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --data *: all records were skipped, 1 bad ones. The first: *record 1: the base64*"]
    )


def test_a_message_is_cut_only_on_request(server: Loopback, run_benchmark: RunBenchmark) -> None:
    """``--context-policy left`` needs to know how to count, and says what is missing."""
    result = run_benchmark("-k", "milebench", "--context-policy", "left")

    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --context-policy left: model 'openai:test' must say context, image_tokens, tokenizer*"]
    )


def test_own_tests_show_images(pytester: pytest.Pytester, server: Loopback, run_benchmark: RunBenchmark) -> None:
    """``chat`` takes files of pictures; one that is not there fails its test and no other."""
    shutil.copy(next((BENCHMARKS["mmdu"].sample / "mmdu_pics").iterdir()), pytester.path / "a.png")
    pytester.makepyfile(
        """
        def test_there(chat):
            assert chat("What is this?", images=["a.png"]).text == "A reply."

        def test_not_there(chat):
            chat("What is this?", images=["b.png"])
        """
    )

    result = run_benchmark(first="test_own_tests_show_images.py")

    result.assert_outcomes(passed=1, errors=1)
    (request,) = server.requests
    assert [part["type"] for part in request["messages"][0]["content"]] == ["image_url", "text"]
    result.stdout.fnmatch_lines(["*no reply: b.png: the picture *b.png cannot be read*"])


def test_messages_know_their_images() -> None:
    """Text alone has none."""
    assert Message.of("user", "Hello").images == ()
