"""Whole runs of the embedded sample against a server: full marks, the floor, and what is asked how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mmtests.mmrc.aggregate import summarise
from mmtests.mmrc.tasks import ABILITIES
from mmtests.score import Record
from mmtests.summary import BenchmarkSummary
from tests.conftest import RunBenchmark
from tests.loopback import Loopback
from tests.mmrc.data import HISTORY, Json, asks_history, behaving, full_marks, no_marks, pictures, right, said

Records = Callable[[], dict[str, Record]]
OURS = ("-k", "mmrc")


def summary_of(records: Records) -> BenchmarkSummary:
    """The tables over the last run's records."""
    return summarise(list(records().values()), "paper")


def of_model(server: Loopback) -> list[Json]:
    """The requests to the model under test."""
    return [request for request in server.requests if request["model"] != "judge"]


def test_full_marks(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """A model that answers with the gold answers has 5 everywhere, all of each objective metric, and all options right."""
    server.behaviour = behaving(right, full_marks)

    result = run_benchmark(*OURS, judge=True)

    assert result.ret == 0
    assert Counter(record.outcome for record in records().values()) == {"passed": 12}
    summary = summary_of(records)
    (row,) = summary.rows
    assert (row.setting, row.average) == ("multi", 5)
    assert {name: (cell.mean, cell.scored) for name, cell in row.cells.items()} == dict.fromkeys(ABILITIES, (5, 2))
    metrics, formats = summary.tables[:2]
    assert {name: (cell.mean, cell.scored, cell.selected) for name, cell in metrics.rows["multi"].items()} == {
        "EP": (1, 2, 2), "IMP": (1, 2, 2), "RP": (100, 2, 2),
    }  # fmt: skip
    assert formats.rows["multiple-choice, multi"]["accuracy"].mean == 100
    assert formats.rows["true-false, multi"]["accuracy"].mean == 100
    result.stdout.fnmatch_lines(["*multi*5.00*5.00*5.00*5.00*5.00*5.00*5.00*"])


def test_floor(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """A model that talks nonsense has 0 everywhere, and none of any metric."""
    server.behaviour = behaving(lambda text: "Wardrobes sing.", no_marks)

    result = run_benchmark(*OURS, judge=True)

    assert result.ret == 1
    assert Counter(record.outcome for record in records().values()) == {"missed": 12}
    summary = summary_of(records)
    assert summary.rows[0].average == 0
    assert {name: cell.mean for name, cell in summary.tables[0].rows["multi"].items()} == {"EP": 0, "IMP": 0, "RP": 0}
    assert {cells["accuracy"].mean for cells in summary.tables[1].rows.values() if "accuracy" in cells} == {0}


@pytest.mark.parametrize("store", [(), ("--store", "off")], ids=["store", "no-store"])
def test_each_history_turn_is_asked_once(
    server: Loopback, run_benchmark: RunBenchmark, records: Records, store: tuple[str, ...]
) -> None:
    """Six questions need the model's own replies to a conversation: each is made once. The questions see no each other."""
    server.behaviour = behaving(lambda text: f"Own reply to {text.strip()[:20]}", full_marks)

    run_benchmark(*store, *OURS, judge=True)

    asked = Counter(said(request["messages"][-1]).strip() for request in of_model(server) if asks_history(request))
    assert asked == dict.fromkeys(HISTORY, 1)
    last = [request for request in of_model(server) if not asks_history(request)]
    assert Counter(len(request["messages"]) for request in last) == {9: 6, 7: 6}
    assert {pictures(request) for request in last} == {2}
    assert all(said(m).startswith("Own reply to ") for one in last for m in one["messages"] if m["role"] == "assistant")
    assert {record.outcome for record in records().values()} == {"passed"}


def test_gold_asks_no_history(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """With the recorded replies as the history, only the questions are asked."""
    server.behaviour = behaving(right, full_marks)

    run_benchmark("--setting", "gold", *OURS, judge=True)

    assert len(of_model(server)) == 12
    assert not any(asks_history(request) for request in of_model(server))
    for request in of_model(server):
        messages = request["messages"]
        assert [said(m) for m in messages if m["role"] == "assistant"] == [
            HISTORY[said(m).strip()] for m in messages[:-1] if m["role"] == "user"
        ]
    assert set(records()) == {f"mmrc/{a}/gold/{c}" for a in ABILITIES for c in ("flag/turn-05", "dinner/turn-04")}


def test_blind_shows_no_picture(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """The model gets the text alone, and its own replies to it; the judge sees all the same."""
    server.behaviour = behaving(right, full_marks)

    run_benchmark("--setting", "blind", *OURS, judge=True)

    assert {pictures(request) for request in of_model(server)} == {0}
    assert {pictures(request) for request in server.requests if request["model"] == "judge"} == {2}
    assert len(of_model(server)) == 12 + len(HISTORY)
    assert {record.setting for record in records().values()} == {"blind"}


def test_without_a_judge(server: Loopback, run_benchmark: RunBenchmark, records: Records) -> None:
    """Proxies stand in: the gold answers have all of them, and no objective metric is made up."""
    server.behaviour = behaving(right, full_marks)

    result = run_benchmark(*OURS)

    assert result.ret == 0
    assert {record.score.scorer for record in records().values() if record.score} == {"proxy:rouge-l-or-option"}
    summary = summary_of(records)
    assert (summary.rows[0].average, summary.rows[0].proxy) == (5, True)
    assert [table.title for table in summary.tables if table.title == "Objective metrics"] == []


def test_an_unreadable_metric_is_asked_for_again(
    server: Loopback, run_benchmark: RunBenchmark, records: Records
) -> None:
    """A verdict without what the metric needs is no verdict; the judge is told, and then the item is unjudged."""

    def without_items(prompt: str) -> dict[str, object]:
        return {"Rationale": "Right.", "Score": 5}

    server.behaviour = behaving(right, without_items)

    result = run_benchmark("-k", "mmrc and (information_extraction or memory)", judge=True)

    assert result.ret == 11
    outcomes = {name.split("/")[1]: record.outcome for name, record in records().items()}
    assert outcomes == {"IE": "unjudged", "MR": "passed"}
    error = records()["mmrc/IE/multi/flag/turn-05"].error
    assert error is not None
    assert "no 'Items'" in error


def test_the_records_are_plain(server: Loopback, run_benchmark: RunBenchmark, pytester: pytest.Pytester) -> None:
    """A record holds the question's facts as JSON, and no pictures."""
    server.behaviour = behaving(right, full_marks)

    run_benchmark("-k", "image_management and dinner", judge=True)

    (path,) = Path(pytester.path).glob(".mmtests/runs/*/records.jsonl")
    (line,) = path.read_bytes().splitlines()
    assert msgspec.json.decode(line)["facts"] == {
        "topic": "home", "domain": "cooking", "turns": 3, "format": "multiple-choice", "metric": "IMP",
        "evidence": "last third",
    }  # fmt: skip
