"""Images through whole runs of all benchmarks: what arrives, what is scored, and what the records say of it."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pillow
from PIL import ImageOps

from mmtests.benchmark import installed
from mmtests.dialogue import BLIND, USUAL, Dialogue, Item
from mmtests.image import File
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Answer, Loopback, order, pictures, text_of
from tests.plugin.scripts import of_judge, of_model

BENCHMARKS = installed()  # here, for pytester forgets modules that a test was the first to import
SEEING = "mmdu or milebench or mmrc or mmreason"
FULL = {"mmdu": 100.0, "milebench": 100.0, "mmrc": 5.0, "mmreason": 100.0}
"""The best mean of each benchmark's columns."""
DIMENSIONS = (
    "Creativity", "Richness", "Visual Perception", "Logical Coherence", "Answer Accuracy",
    "Image Relationship Understanding",
)  # fmt: skip

Json = dict[str, Any]
Records = Callable[[], dict[str, Record]]
Shown = tuple[str, tuple[str, ...]]
"""A message by its text and the hashes of its pictures: some questions differ in their pictures alone."""


def dialogues(benchmark: str, *settings: str) -> Iterator[Dialogue]:
    """Those of a benchmark's sample."""
    one = BENCHMARKS[benchmark]
    yield from one.load(one.sample, settings or USUAL).dialogues


def items(*benchmarks: str) -> dict[str, Item]:
    """The items of samples, by id."""
    return {item.id: item for name in benchmarks for one in dialogues(name) for item in one.items}


def shown(message: Json) -> Shown:
    """A message that has arrived."""
    parts = [] if isinstance(message["content"], str) else message["content"]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return text_of(message), tuple(hashlib.sha256(base64.b64decode(url.partition(",")[2])).hexdigest() for url in urls)


def hashes(item: Item) -> tuple[str, ...]:
    """SHA-256 of each picture of an item's user message."""
    sources = [image.source for image in item.turn.user.images]
    return tuple(
        hashlib.sha256(Path(source.path).read_bytes()).hexdigest() for source in sources if type(source) is File
    )


def verdict(request: Json, full: bool = True) -> Answer:
    """A judge that gives all or nothing, in whatever form it is asked for."""
    said = text_of(request["messages"][-1])
    if all(name in said for name in DIMENSIONS):
        return Answer(json.dumps(dict.fromkeys((*DIMENSIONS, "Overall Score"), 10 if full else 0)))
    if '"Steps"' in said:
        return Answer(json.dumps({"Steps": [{"Step": "One.", "Label": "correct" if full else "incorrect"}]}))
    if '"Score"' in said:
        more = {"Items": [], "Matched": [], "Images": [], "Refused": full}
        return Answer(json.dumps({"Rationale": "Seen.", "Score": 5 if full else 0, **more}))
    if "Yes" in said and "No" in said:
        return Answer("Yes" if full else "No")
    return Answer("whatever" if full else "null")  # an extraction


@pytest.fixture
def knowing(server: Loopback) -> Loopback:
    """A server that answers with the references, and judges with full marks."""
    known: dict[Shown, str] = {}
    for name in BENCHMARKS:
        for one in dialogues(name):
            for turn in one.turns:
                sources = [image.source for image in turn.user.images]
                contents = [
                    Path(source.path).read_bytes() if type(source) is File else _of_tsv(source) for source in sources
                ]
                key = turn.user.text, tuple(hashlib.sha256(content).hexdigest() for content in contents)
                known[key] = turn.reference or ""

    def behave(request: Json) -> Answer:
        if request["model"] == "judge":
            return verdict(request)
        return Answer(known[shown(request["messages"][-1])] or "Seen.")

    server.behaviour = behave
    return server


def _of_tsv(source: Any) -> bytes:
    content = Path(source.path).read_bytes()[source.offset : source.offset + source.length]
    return base64.b64decode(content)


@pytest.fixture
def run_files(pytester: pytest.Pytester) -> Callable[[str], bytes]:
    """Reads a file of the last run's folder."""

    def read(name: str) -> bytes:
        return (max((pytester.path / ".mmtests" / "runs").iterdir()) / name).read_bytes()

    return read


RunFiles = Callable[[str], bytes]


def cells(summary: bytes) -> Iterator[tuple[str, str, Json]]:
    """Benchmark, column and content of each cell of a run's main tables."""
    for benchmark in json.loads(summary)["benchmarks"]:
        for row in benchmark["rows"]:
            for name, cell in row["cells"].items():
                yield benchmark["benchmark"], name, cell


# All benchmarks in one command


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_a_tiny_model_sees_all_five_benchmarks(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, records: Records
) -> None:
    """From nothing, every item is answered by a real vision-language model. It misses, and the run is whole all the same."""
    monkeypatch.setenv("MMTESTS_CACHE", str(pytester.path / "cache"))

    result = pytester.runpytest_subprocess(
        "--pyargs", "mmtests", "--model", "tiny-vl", "--limit", "1", "--tb=no", timeout=300
    )

    found = records()
    assert result.ret == 1
    assert {record.benchmark for record in found.values()} == set(BENCHMARKS)
    assert {record.outcome for record in found.values()} == {"missed"}
    everything = items(*BENCHMARKS)
    for id, record in found.items():
        assert record.reply is not None
        assert record.reply.text
        item = everything[id]
        so_far = item.dialogue.turns[: item.turn.number]
        assert record.reply.sent.images == sum(len(turn.user.images) for turn in so_far)
        assert (record.reply.sent.images > 0) == (record.benchmark != "mt_eval")
    result.stdout.no_fnmatch_line("*INCOMPLETE*")


def test_references_earn_full_marks(
    knowing: Loopback, run_benchmark: RunBenchmark, records: Records, run_files: RunFiles
) -> None:
    """A model that is right everywhere has the best mean in every ability, and passes every item."""
    result = run_benchmark("-k", SEEING, judge=True)

    assert result.ret == 0
    found = records()
    assert set(found) == set(items(*FULL))
    assert {record.outcome for record in found.values()} == {"passed"}
    scored = set()
    for benchmark, name, cell in cells(run_files("summary.json")):
        assert cell["mean"] == pytest.approx(FULL[benchmark]), (benchmark, name)
        assert cell["scored"] == cell["selected"] > 0
        scored.add(benchmark)
    assert scored == set(FULL)


def test_nonsense_earns_the_floor(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, run_files: RunFiles
) -> None:
    """A model that talks nonsense, and is judged so, has the least there is in every ability."""
    server.behaviour = lambda request: verdict(request, full=False) if request["model"] == "judge" else Answer("zzz")

    result = run_benchmark("-k", SEEING, "--tb=no", judge=True)

    assert result.ret == 1
    assert {record.outcome for record in records().values()} == {"missed"}
    means = {(benchmark, name): cell["mean"] for benchmark, name, cell in cells(run_files("summary.json"))}
    assert means == dict.fromkeys(means, 0.0)
    assert {benchmark for benchmark, _ in means} == set(FULL)


# A server that is not to be relied on

REFUSED, LATE, CUT, WELL = range(4)


def fate(text: str) -> int:
    """What becomes of a question, by its text alone."""
    return zlib.crc32(text.encode()) % 4


def unsteady(request: Json) -> Answer:
    """Refuses some questions, is late with some, and cuts the replies to others."""
    if request["model"] == "judge":
        return verdict(request)
    match fate(text_of(request["messages"][-1])):
        case 0:
            return Answer(status=400, body=b'{"error": {"message": "image_url is not supported", "code": null}}')
        case 1:
            return Answer(delay=5)
        case 2:
            return Answer("A reply.", finish="length")
        case _:
            return Answer("A reply.")


REASONS = {REFUSED: "HTTP 400: image_url is not supported", LATE: "no answer within 2 s, 1 tries"}


def test_an_unsteady_server(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, run_files: RunFiles
) -> None:
    """Refused and late items are failed with the reason, cut ones flagged, and only what was answered is judged and scored."""
    everything = items("milebench", "mmdu")
    server.behaviour = unsteady
    chosen = ("-k", "milebench or mmdu", "--model-arg", "max_retries=0", "--concurrency=32", "--tb=no")

    result = run_benchmark(*chosen, judge=True)

    found = records()
    assert result.ret == 11
    assert set(found) == set(everything)
    ends: list[int] = []
    for id, record in found.items():
        item = everything[id]
        fates = [fate(turn.user.text) for turn in item.dialogue.turns[: item.turn.number]]
        broken = next((number for number, one in enumerate(fates, 1) if one in REASONS), None)
        ends.append(fates[-1])
        if broken is None:
            assert record.score is not None
            assert record.reply is not None
            assert record.error is None
            assert ("reply_cut" in record.flags) == (fates[-1] == CUT)
        else:
            before = f"turn {broken} before it has no reply: " if broken < len(fates) else ""
            assert record.error == f"no reply: {before}{REASONS[fates[broken - 1]]}"
            assert (record.outcome, record.score, record.reply, record.images) == ("failed", None, None, ())
    assert set(ends) == {REFUSED, LATE, CUT, WELL}
    answered = [record for record in found.values() if record.reply is not None]
    assert len(of_judge(server.requests)) == sum(record.benchmark == "mmdu" for record in answered)
    judged = [cell for benchmark, _, cell in cells(run_files("summary.json")) if benchmark == "mmdu"]
    assert {(cell["mean"], cell["scored"], cell["selected"]) for cell in judged} == {
        (100, sum(record.benchmark == "mmdu" for record in answered), 7)
    }  # what has no reply is in no mean
    failed = len(found) - len(answered)
    result.stdout.fnmatch_lines([f"INCOMPLETE: {failed} items have no score*", "*failed: no reply: *"])

    server.requests.clear()
    server.behaviour = lambda request: verdict(request) if request["model"] == "judge" else Answer("A reply.")

    run_benchmark(*chosen, judge=True)

    again = records()
    assert all(record.reply is not None for record in again.values())
    assert {id for id, record in again.items() if "cached" in record.flags} == {record.id for record in answered}
    assert len(of_model(server.requests)) == failed


# What records hold


def test_records_know_pictures_by_their_content(
    knowing: Loopback, run_benchmark: RunBenchmark, records: Records, run_files: RunFiles
) -> None:
    """A record has the hash of each picture of its last user message and shows where they stand; no file has any picture."""
    run_benchmark("-k", SEEING, judge=True)

    found = records()
    asked = {shown(request["messages"][-1]) for request in of_model(knowing.requests)}
    for record in found.values():
        assert (record.user.replace("<image>", ""), record.images) in asked
        assert record.user.count("<image>") == len(record.images)
    for id, item in items("mmdu", "milebench", "mmrc").items():
        assert found[id].images == hashes(item)
    assert sum(len(record.images) for record in found.values()) > 40
    written = b"".join(map(run_files, ("records.jsonl", "run.json", "summary.json")))
    for trace in (b"base64", b"iVBOR", b"/9j/"):  # how every PNG and every JPEG begin in base64
        assert trace not in written


def test_only_what_shows_a_changed_picture_is_asked_again(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """Replies and verdicts are stored by what pictures show, wherever they lie."""
    server.behaviour = lambda request: verdict(request) if request["model"] == "judge" else Answer("A reply.")

    run_benchmark("-k", "mmdu", judge=True)

    assert not any("cached" in record.flags for record in records().values())
    server.requests.clear()

    run_benchmark("-k", "mmdu", judge=True)

    assert server.requests == []
    assert all({"cached", "verdict_cached"} <= set(record.flags) for record in records().values())

    folder = pytester.path / "copied" / "mmdu"
    shutil.copytree(BENCHMARKS["mmdu"].sample, folder)
    run_benchmark("--data", str(folder.parent), judge=True)

    assert server.requests == []

    first = json.loads((folder / "benchmark.json").read_text())[0]
    path = folder / first["image"][2].lstrip("/")  # which the third turn shows first
    with pillow.open(path) as opened:
        ImageOps.invert(opened.convert("RGB")).save(path)
    run_benchmark("--data", str(folder.parent), judge=True)

    found = records()
    anew = {id.partition("multi/")[2] for id, record in found.items() if "cached" not in record.flags}
    assert anew == {"1/turn-03", "1/turn-04"}
    assert len(of_model(server.requests)) == 2
    judged_anew = {id.partition("multi/")[2] for id, record in found.items() if "verdict_cached" not in record.flags}
    assert judged_anew == {f"1/turn-0{turn}" for turn in range(1, 5)}  # the judge sees all pictures of a dialogue
    assert found["mmdu/dialogue/multi/1/turn-03"].images == (hashlib.sha256(path.read_bytes()).hexdigest(),)


# Models that see nothing


def test_a_model_that_takes_no_images(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, run_files: RunFiles
) -> None:
    """What has images is left out with the reason and what to do about it; text runs."""
    result = run_benchmark("-k", f"{SEEING} or follow-up", "--model-arg", "images=false", "--tb=no")

    found = records()
    left_out = len(items(*FULL))
    assert {record.benchmark for record in found.values()} == {"mt_eval"}
    assert all(record.reply is not None for record in found.values())
    result.stdout.fnmatch_lines(
        [f"not scored: {left_out} items: has images, and openai:test takes none (--setting blind*"]
    )
    ((reason, number),) = json.loads(run_files("summary.json"))["not_scored"].items()
    assert (reason, number) == (
        "has images, and openai:test takes none (--setting blind asks the same without them)", left_out,
    )  # fmt: skip


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
def test_nothing_that_a_model_can_be_asked(
    workers: tuple[str, ...], server: Loopback, run_benchmark: RunBenchmark, run_files: RunFiles
) -> None:
    """A run that left everything out is no pass, and says why."""
    if workers:
        pytest.importorskip("xdist")

    result = run_benchmark("-k", SEEING, "--model-arg", "images=false", *workers)

    assert result.ret == 4
    assert server.requests == []
    number = len(items(*FULL))
    assert json.loads(run_files("summary.json"))["selected"] == {
        name: len(items(name)) for name in FULL
    }  # the summary is written all the same
    result.stdout.fnmatch_lines(
        [
            f"ERROR: nothing was scored: all {number} selected items were left out. has images, and openai:test takes none*"
        ]
    )


def test_blind(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """The blind setting is what such a model can be asked: the same questions, without a picture."""
    result = run_benchmark("-k", SEEING, "--setting", "blind", "--model-arg", "images=false", "--tb=no")

    found = records()
    assert set(found) == {item.id for name in FULL for one in dialogues(name, BLIND) for item in one.items}
    assert {record.benchmark for record in found.values()} == set(FULL)
    assert all("/blind/" in id and record.setting == BLIND for id, record in found.items())
    assert all(record.reply is not None and record.images == () for record in found.values())
    assert not any(pictures(message) for request in server.requests for message in request["messages"])
    result.stdout.no_fnmatch_line("not scored:*")


def test_a_judge_that_takes_no_images(knowing: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """It judges by the text alone, and every record and the report say so."""
    result = run_benchmark("-k", "mmdu", "--judge-arg", "images=false", judge=True)

    assert result.ret == 0
    found = records()
    assert len(found) == 7
    assert all("verdict_blind" in record.flags for record in found.values())
    assert all(
        record.score and record.score.verdict and record.score.verdict.flags == ("blind",) for record in found.values()
    )
    asked = of_judge(knowing.requests)
    assert len(asked) == 7
    assert not any(pictures(message) for request in asked for message in request["messages"])
    assert any(pictures(message) for request in of_model(knowing.requests) for message in request["messages"])
    result.stdout.fnmatch_lines(["flags: *7 verdict_blind*"])


def test_a_judge_that_takes_fewer_images(
    knowing: Loopback, run_benchmark: RunBenchmark, records: Records, run_files: RunFiles
) -> None:
    """What it is not shown is never a secret: each verdict and the report say so, and no less when it is stored."""
    chosen = ("-k", "mmdu", "--judge-arg", "max_images=1", "--judge-arg", "too_many_images=drop-newest")
    for source in ("judge", "store"):
        result = run_benchmark(*chosen, judge=True)

        assert result.ret == 0
        found = records()
        assert len(found) == 7
        for record in found.values():
            assert record.score is not None
            assert record.score.verdict is not None
            assert record.score.verdict.flags == ("images_dropped",)
            assert "verdict_images_dropped" in record.flags
            assert "images_dropped" not in record.flags  # the model saw them all
            assert ("verdict_cached" in record.flags) == (source == "store")
        result.stdout.fnmatch_lines(
            ["the judge takes fewer images than it was to see: 7 verdicts*", "flags: *7 verdict_images_dropped*"]
        )
    assert len(of_judge(knowing.requests)) == 7
    for request in of_judge(knowing.requests):
        assert sum(len(pictures(message)) for message in request["messages"]) == 1


def test_a_judge_over_its_cap(knowing: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """By default it is not asked, and what may be done is said in the words of its own options."""
    result = run_benchmark("-k", "mmdu", "--judge-arg", "max_images=1", "--tb=no", judge=True)

    assert result.ret == 11
    assert of_judge(knowing.requests) == []
    for record in records().values():
        assert (record.outcome, record.score) == ("unjudged", None)
        assert "max_images allows 1" in (record.error or "")
        assert "--judge-arg too_many_images=drop-oldest (or drop-newest)" in (record.error or "")
        assert "--model-arg" not in (record.error or "")
        assert "--image-policy" not in (record.error or "")


# Policies


def test_resized(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Every picture arrives small and in its proportions, and every record of a dialogue with pictures says so."""
    run_benchmark("-k", f"{SEEING} or follow-up", "--image-policy", "resize=16", "--tb=no")

    arrived = [one for request in server.requests for message in request["messages"] for one in pictures(message)]
    assert {max(one.size) for one in arrived} == {16}
    assert {min(one.size) for one in arrived} > {16}  # some are not square
    for record in records().values():
        assert ("images_resized" in record.flags) == (record.benchmark != "mt_eval")


def test_combined(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """No message has more than one picture, which stands before its text, and the dialogues that this changed say so."""
    everything = items(*FULL)

    run_benchmark("-k", SEEING, "--image-policy", "combine", "--tb=no")

    messages = [message for request in server.requests for message in request["messages"]]
    assert max(len(pictures(message)) for message in messages) == 1
    for record in records().values():
        several = any(len(turn.user.images) > 1 for turn in everything[record.id].dialogue.turns)
        assert ("images_combined" in record.flags) == several
        if len(everything[record.id].turn.user.images) > 1:
            assert len(record.images) == 1
            assert record.user.startswith("<image>\n")
            assert "<Image 2> " in record.user
    asked = [message for message in messages if "<Image 1> " in text_of(message)]
    assert asked
    for message in asked:
        first, *others = order(message)
        assert not isinstance(first, str)
        assert all(isinstance(part, str) for part in others)


def test_combined_and_resized(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Policies add up, however they are written: the one picture is made small."""
    run_benchmark("-k", "mmdu and 1/turn-01", "--image-policy", "resize=64,combine", "--tb=no")

    (request,) = server.requests
    (picture,) = pictures(request["messages"][-1])
    assert max(picture.size) == 64
    (record,) = records().values()
    assert {"images_combined", "images_resized"} <= set(record.flags)


@pytest.mark.parametrize(
    "policy", ["shrink", "resize", "resize=0", "resize=-1", "resize=1.5", "combine=1", "combine,x"]
)
def test_a_policy_that_is_none(policy: str, server: Loopback, run_benchmark: RunBenchmark) -> None:
    """The message names the option, the value and what it may be."""
    result = run_benchmark("--image-policy", policy)

    assert result.ret == 4
    assert server.requests == []
    wrong = policy.removeprefix("combine,")
    result.stderr.fnmatch_lines([f"ERROR: --image-policy {wrong}: it must be combine, or resize=PIXELS."])


# Tests of a team's own


@pytest.fixture
def red(pytester: pytest.Pytester) -> Path:
    """A picture beside the team's tests."""
    path = pytester.path / "red.png"
    pillow.new("RGB", (8, 8), (255, 0, 0)).save(path)
    return path


def test_own_tests_show_images(
    red: Path, server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester
) -> None:
    """Pictures stand before the text, in their order, and stay in the conversation."""
    pillow.new("RGB", (8, 8), (0, 0, 255)).save(pytester.path / "blue.jpg", quality=95)
    pytester.makepyfile(
        test_own="""
        from pathlib import Path

        def test_one(chat):
            assert chat("What colour?", images=["red.png"]).text == "A reply."

        def test_conversation(chat):
            talk = chat.conversation(system="Be brief.")
            talk.say("Which colours?", images=[Path("red.png"), Path("blue.jpg").resolve()])
            assert talk.say("And the first?").sent.images == 2
        """
    )

    result = run_benchmark(first="test_own.py")

    assert result.ret == 0
    result.assert_outcomes(passed=2)
    one, first, second = server.requests
    assert order(one["messages"][0]) == [(255, 0, 0), "What colour?"]
    mine = order(first["messages"][1])
    assert (mine[0], mine[2]) == ((255, 0, 0), "Which colours?")
    assert mine[1][2] > 250
    assert mine[1][0] < 5
    assert second["messages"][:2] == first["messages"]
    assert order(second["messages"][3]) == ["And the first?"]


def test_own_tests_whose_picture_is_not_there(
    red: Path, server: Loopback, run_benchmark: RunBenchmark, records: Records, pytester: pytest.Pytester
) -> None:
    """The test that shows it is failed, and says which file; no other is harmed, and nothing was sent for it."""
    (pytester.path / "text.png").write_text("no picture")
    (pytester.path / "folder.png").mkdir()
    pytester.makepyfile(
        test_own="""
        import pytest

        @pytest.mark.parametrize("name", ["gone.png", "text.png", "folder.png", "red.png"])
        def test_it(chat, record_score, name):
            record_score(float(chat("What colour?", images=[name]).text == "A reply."), ability=name)
        """
    )

    result = run_benchmark(first="test_own.py")

    assert result.ret == 11
    assert len(server.requests) == 1
    found = {id.partition("[")[2].rstrip("]"): record for id, record in records().items()}
    assert {name: record.outcome for name, record in found.items()} == {
        "gone.png": "failed", "text.png": "failed", "folder.png": "failed", "red.png": "passed"
    }  # fmt: skip
    folder = pytester.path
    assert found["gone.png"].error == (
        f"no reply: gone.png: the picture {folder}/gone.png cannot be read: No such file or directory. "
        f"Is the download complete?"
    )
    assert (found["text.png"].error or "").startswith(
        f"no reply: text.png: the picture {folder}/text.png is none that Pillow can read."
    )
    assert (found["folder.png"].error or "").startswith(f"no reply: folder.png: the picture {folder}/folder.png cannot")
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
