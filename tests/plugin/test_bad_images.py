"""Pictures and records that cannot be used are found before the first request, named, and left out on request."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pillow

from mmtests.benchmark import installed
from mmtests.score import Record
from tests.conftest import RunBenchmark
from tests.loopback import Loopback, pictures

BENCHMARKS = installed()  # here, for pytester forgets modules that a test was the first to import
Records = Callable[[], dict[str, Record]]


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int) -> bytes:
    """The head of a PNG of any size, and little more."""
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + _chunk(b"IDAT", zlib.compress(b"\0" * 64))


def cut_off() -> bytes:
    """A JPEG with a sound head that ends within its pixels."""
    stream = io.BytesIO()
    pillow.effect_noise((64, 64), 50).save(stream, "JPEG")
    return stream.getvalue()[:-500]


BAD = {
    "text": (b"no picture at all", r"the picture \S+ is none that Pillow can read\. Replace it by a JPEG or PNG\."),
    # A look at its head and an attempt to read it do not put this one alike.
    "empty": (b"", r"(the picture \S+ is none that Pillow can read|the picture \S+ is empty)\. .+"),
    "absurd": (png(60000, 60000), r"the picture \S+ (has 60000 x 60000 pixels|is of an absurd size)\b.+"),
    "large": (png(11000, 11000), r"the picture \S+ has 11000 x 11000 pixels\. At most 100,000,000 pixels are taken\."),
    "head": (b"\x89PNG\r\n\x1a\n", r"the picture \S+ is none that Pillow can read\. Replace it by a JPEG or PNG\."),
}
bad = pytest.mark.parametrize(("content", "says"), BAD.values(), ids=BAD)


class Data:
    """A copy of a benchmark's sample, to be spoilt."""

    def __init__(self, benchmark: str, folder: Path) -> None:
        self.folder = folder / benchmark
        shutil.copytree(BENCHMARKS[benchmark].sample, self.folder)

    @property
    def option(self) -> tuple[str, str]:
        return "--data", str(self.folder.parent)

    def picture(self, content: bytes) -> None:
        """Replace the second picture of MMDU's second dialogue, which its second turn shows first."""
        record = json.loads((self.folder / "benchmark.json").read_text())[1]
        (self.folder / record["image"][1].lstrip("/")).write_bytes(content)


@pytest.fixture
def copied(pytester: pytest.Pytester) -> Callable[[str], Data]:
    """Copies the sample of a benchmark by name."""
    return lambda benchmark: Data(benchmark, pytester.path / "data")


@pytest.fixture
def mmdu(copied: Callable[[str], Data]) -> Data:
    """A copy of MMDU's sample."""
    return copied("mmdu")


def complaint(result: pytest.RunResult) -> str:
    """The one error of a run that ended before it began."""
    output = f"{result.stdout}\n{result.stderr}"
    assert result.ret == 4, output
    assert "Traceback" not in output
    (error,) = [line for line in output.splitlines() if line.startswith("ERROR: ")]
    return error.removeprefix("ERROR: ")


# Pictures


@bad
def test_it_ends_the_run_before_it_begins(
    content: bytes, says: str, mmdu: Data, server: Loopback, run_benchmark: RunBenchmark
) -> None:
    """One message names file, record and field, and nothing was asked."""
    mmdu.picture(content)

    result = run_benchmark(*mmdu.option)

    place = re.escape(f"{mmdu.folder}/benchmark.json: record 2 (field image[1]): ")
    assert re.fullmatch(place + says, complaint(result))
    assert server.requests == []


def _milebench(data: Data) -> str:
    (data.folder / "GPR1200" / "images" / "c3.png").write_bytes(b"no picture")
    return "GPR1200.json: record 0 (field task_instance.images_path["


def _mmrc(data: Data) -> str:
    (data.folder / "images" / "flag-2.png").write_bytes(b"no picture")
    return "mmrc.jsonl"


def _mmreason(data: Data) -> str:
    (path,) = data.folder.glob("*.tsv")
    head, first, second, *others = path.read_text().split("\n")
    cells = second.split("\t")
    cells[1] = base64.b64encode(b"no picture " * 20).decode()
    path.write_text("\n".join([head, first, "\t".join(cells), *others]))
    return f"{path.name}: record 2 (field image"


@pytest.mark.parametrize("spoil", [_milebench, _mmrc, _mmreason], ids=lambda spoil: spoil.__name__[1:])
def test_it_is_named_in_every_benchmark(
    spoil: Callable[[Data], str], copied: Callable[[str], Data], server: Loopback, run_benchmark: RunBenchmark
) -> None:
    """Whatever the format of the data, the message says where in it the picture is."""
    data = copied(spoil.__name__[1:])
    place = spoil(data)

    said = complaint(run_benchmark(*data.option))

    assert said.removeprefix(f"{data.folder}/").startswith(place)
    assert "is none that Pillow can read" in said
    assert re.search(r"record \S+ \(field \S*image\S*\)|:\d+ \(field \S*image\S*\)", said), said
    assert server.requests == []


def test_it_matters_only_where_it_is_selected(mmdu: Data, server: Loopback, run_benchmark: RunBenchmark) -> None:
    """A picture that no selected item shows is not looked at."""
    mmdu.picture(b"no picture")

    result = run_benchmark(*mmdu.option, "-k", "multi/1", "--tb=no")

    assert result.ret == 1
    assert len(server.requests) == 4


@pytest.mark.parametrize("benchmark", ["mmdu", "mmrc"])
def test_what_only_the_judge_is_shown(
    benchmark: str, copied: Callable[[str], Data], server: Loopback, run_benchmark: RunBenchmark
) -> None:
    """The blind setting asks without pictures, and the judge sees them all the same: they are looked at first, too."""
    data = copied(benchmark)
    place = {"mmdu": "benchmark.json: record 2 (field image[1])", "mmrc": _mmrc(data) if benchmark == "mmrc" else ""}
    if benchmark == "mmdu":
        data.picture(b"no picture")

    said = complaint(run_benchmark(*data.option, "--setting", "blind", judge=True))

    assert said.startswith(f"{data.folder}/{place[benchmark]}")
    assert server.requests == []

    assert run_benchmark(*data.option, "--setting", "blind", "--tb=no").ret == 1  # without a judge nobody sees them


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
def test_it_is_skipped_on_request(
    workers: tuple[str, ...], mmdu: Data, server: Loopback, run_benchmark: RunBenchmark, records: Records,
    pytester: pytest.Pytester,
) -> None:  # fmt: skip
    """The record's items are left out and counted in the report, with what is wrong; the rest runs."""
    if workers:
        pytest.importorskip("xdist")
    mmdu.picture(b"no picture")

    result = run_benchmark(*mmdu.option, "--skip-bad-records", "--tb=no", *workers)

    assert result.ret == 1
    found = records()
    assert set(found) == {f"mmdu/dialogue/multi/1/turn-0{turn}" for turn in range(1, 5)}
    assert all(record.reply is not None for record in found.values())
    assert len(server.requests) == 4
    result.stdout.fnmatch_lines(["not scored: 3 items: bad record skipped:*", "*record 2 (field image?1?)*"])
    (run,) = (pytester.path / ".mmtests" / "runs").iterdir()
    summary = json.loads((run / "summary.json").read_text())
    ((reason, count),) = summary["not_scored"].items()
    assert reason.startswith(f"bad record skipped: {mmdu.folder}/benchmark.json: record 2 (field image[1]): ")
    assert count == 3
    assert summary["selected"] == {"mmdu": 7}
    assert summary["complete"]


@bad
def test_with_workers_its_items_are_failed(
    content: bytes, says: str, mmdu: Data, server: Loopback, run_benchmark: RunBenchmark, records: Records
) -> None:
    """Workers do not look at all pictures first: the item that shows it is failed with the same words, and not asked."""
    pytest.importorskip("xdist")
    mmdu.picture(content)

    result = run_benchmark(*mmdu.option, "-n2", "--tb=no")

    assert result.ret == 11
    failed = {id: record.error or "" for id, record in records().items() if record.outcome == "failed"}
    assert set(failed) == {f"mmdu/dialogue/multi/2/turn-0{turn}" for turn in (2, 3)}
    words = re.escape(f"{mmdu.folder}/benchmark.json: record 2 (field image[1]): ") + says
    assert re.fullmatch(f"no reply: {words}", failed["mmdu/dialogue/multi/2/turn-02"])
    assert re.fullmatch(f"no reply: turn 2 before it has no reply: {words}", failed["mmdu/dialogue/multi/2/turn-03"])
    assert len(server.requests) == 5  # four of the first dialogue, one of the second


def _of_mmdu(data: Data) -> str:
    data.picture(cut_off())
    return "record 2 (field image[1])"


def _within_mmrc(data: Data) -> str:
    path = data.folder / "mmrc.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    records[0]["turns"][0]["user"] = {
        "text": "What is this?", "images": ["data:image/jpeg;base64," + base64.b64encode(cut_off()).decode()]
    }  # fmt: skip
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return f"mmrc.jsonl:1: record {records[0]['id']} (field turns[0].user.images[0])"


@pytest.mark.parametrize("policy", [(), ("--image-policy", "resize=16")], ids=["as it is", "resized"])
@pytest.mark.parametrize("spoil", [_of_mmdu, _within_mmrc], ids=["file", "data URL"])
def test_pixels_that_end_too_soon(
    spoil: Callable[[Data], str], policy: tuple[str, ...], copied: Callable[[str], Data], server: Loopback,
    run_benchmark: RunBenchmark, records: Records,
) -> None:  # fmt: skip
    """Only decoding finds that out: the items that show it are failed with the place, and it is never sent."""
    data = copied("mmdu" if spoil is _of_mmdu else "mmrc")
    place = spoil(data)

    result = run_benchmark(*data.option, *policy, "--tb=no")

    assert result.ret == 11
    failed = [record.error or "" for record in records().values() if record.outcome == "failed"]
    assert failed
    assert len(failed) < len(records())
    for error in failed:
        assert f"{place}: the picture " in error
        assert "cannot be decoded" in error
    sent = [one for request in server.requests for message in request["messages"] for one in pictures(message)]
    assert sent  # and each could be decoded


# Records


def _not_among_choices(data: Data) -> str:
    path = data.folder / "ObjectExistence" / "ObjectExistence.json"
    content = json.loads(path.read_text())
    content["data"][0]["response"] = "perhaps"
    path.write_text(json.dumps(content))
    return "ObjectExistence.json: record 0: the answer 'perhaps' is none of the 2 choices (field response)."


def _picture_is_missing(data: Data) -> str:
    (data.folder / "MovingDirection" / "images" / "0_2.png").unlink()
    return "MovingDirection.json: record 0: there is no picture '0_2.png'"


def _picture_is_outside(data: Data) -> str:
    path = data.folder / "GPR1200" / "GPR1200.json"
    content: dict[str, Any] = json.loads(path.read_text())
    content["data"][0]["task_instance"]["images_path"][0] = "../../../secret.png"
    path.write_text(json.dumps(content))
    return "GPR1200.json: record 0: the path '../../../secret.png' leads out of the folder"


@pytest.mark.parametrize(
    "spoil", [_not_among_choices, _picture_is_missing, _picture_is_outside], ids=lambda spoil: spoil.__name__[1:]
)
def test_a_bad_record(
    spoil: Callable[[Data], str],
    copied: Callable[[str], Data],
    server: Loopback,
    run_benchmark: RunBenchmark,
    records: Records,
    pytester: pytest.Pytester,
) -> None:
    """It ends the run before it begins; on request it alone is left out, and summary and terminal count it."""
    data = copied("milebench")
    says = spoil(data)

    said = complaint(run_benchmark(*data.option))

    assert says in said
    assert server.requests == []

    result = run_benchmark(*data.option, "--skip-bad-records", "--tb=no")

    assert len(records()) == 13  # of 14
    assert len(server.requests) == 13
    (run,) = (pytester.path / ".mmtests" / "runs").iterdir()
    assert json.loads((run / "summary.json").read_text())["skipped"] == [said]
    result.stdout.fnmatch_lines(["  1 bad records skipped, the first: *", "skipped: 1 bad records of the data*"])


NESTED = {
    "mt_eval": "refinement_multi.jsonl", "mmdu": "benchmark.json", "milebench": "GPR1200/GPR1200.json", "mmrc": "mmrc.jsonl",
}  # fmt: skip


@pytest.mark.parametrize("benchmark", NESTED)
def test_a_file_nested_without_end(
    benchmark: str, copied: Callable[[str], Data], server: Loopback, run_benchmark: RunBenchmark
) -> None:
    """No reader can follow it; it is no JSON then, like any other that is broken."""
    data = copied(benchmark)
    (data.folder / NESTED[benchmark]).write_text("[" * 200_000)

    said = complaint(run_benchmark(*data.option))

    assert f"{data.folder}/{NESTED[benchmark]}" in said
    assert re.search(r"not JSON|expected `object`, got `array`", said)
    assert server.requests == []


@pytest.mark.parametrize("benchmark", ["mt_eval", "mmrc"])
def test_a_line_nested_without_end(
    benchmark: str, copied: Callable[[str], Data], server: Loopback, run_benchmark: RunBenchmark, records: Records
) -> None:
    """One line among good ones can be skipped on request."""
    data = copied(benchmark)
    path = data.folder / NESTED[benchmark]
    path.write_text('{"more": ' + "[" * 200_000 + "\n" + path.read_text())
    place = f"{path}:1: not JSON: "

    assert complaint(run_benchmark(*data.option)).startswith(place)

    result = run_benchmark(*data.option, "--skip-bad-records", "--limit", "1", "--tb=no")

    assert records()
    said = "".join(result.stdout.str().split())  # it may be wrapped anywhere
    assert "".join(f"skipped: 1 bad records of the data, in summary.json. The first: {place}".split()) in said


def test_no_record_is_left(pytester: pytest.Pytester, server: Loopback, run_benchmark: RunBenchmark) -> None:
    """Where every record is bad there is nothing to run, and the message says why."""
    folder = pytester.path / "data" / "mmreason"
    folder.mkdir(parents=True)
    head = "index\timage\tquestion\tanswer\tdiscipline\n"
    (folder / "MMReason_testmini.tsv").write_text(f"{head}1\t{'!' * 100}\tWhat?\t1\tMath\n")

    said = complaint(run_benchmark("--data", str(folder.parent), "--skip-bad-records"))

    assert "all records were skipped, 1 bad ones. The first: " in said
    assert "record 1: the base64" in said
    assert server.requests == []
