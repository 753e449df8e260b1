"""From a test's end to its record, and how both are shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Generator, Mapping
from typing import Any, cast

import msgspec
import pytest

from mmtests.benchmark import Benchmark
from mmtests.fixtures.session import GIVEN, Given
from mmtests.image import BadImage, Image, digest
from mmtests.reports.summary import OWN
from mmtests.score import Outcome, Record, Score

RECORD = "mmtests_record"
"""The attribute of a test's report that carries its record; as JSON where it must cross process borders."""
ENDS_RUN = "mmtests_ends_run"
"""The attribute that carries what the user must mend before the run can go on."""
LEFT_OUT = "mmtests_left_out"
"""The attribute that carries why an item was left out."""

_LONGEST = 1500
"""Characters of a text shown with a miss; the record has it whole."""


class Outcomes:
    """Where the test ran: attach its record to its report."""

    def __init__(self, benchmarks: Mapping[str, Benchmark], sample: bool, travels: bool) -> None:
        """``travels``: True in a worker, whose reports must cross to the controller as plain types."""
        self._benchmarks, self._sample, self._travels = benchmarks, sample, travels

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Make the record when the test's outcome is known."""
        report = yield
        given = item.stash.get(GIVEN, None)
        if report.when == "setup" and report.skipped and item.get_closest_marker("mmtests"):
            report.__dict__[LEFT_OUT] = _reason(report)
        elif given is not None and _decides(report) and (record := self._record(given, report)) is not None:
            report.__dict__[RECORD] = msgspec.json.encode(record).decode() if self._travels else record
            report.__dict__[ENDS_RUN] = given.ends_run
            if record.outcome == "missed":
                _explain(report, record)
        return report

    def _record(self, given: Given, report: pytest.TestReport) -> Record | None:
        outcome: Outcome | None = given.outcome
        if outcome is None:
            outcome = "passed" if report.passed else "missed" if given.score is not None else None
        if given.item is None:
            if given.score is None and given.outcome is None:
                return None  # a test of the user's own that recorded no score
            return self._own(given, outcome or "failed")
        item, dialogue = given.item, given.item.dialogue
        benchmark = self._benchmarks[dialogue.benchmark]
        reply = given.answer.reply if given.answer else None
        return Record(
            id=item.id,
            benchmark=dialogue.benchmark,
            task=dialogue.task,
            ability=benchmark.tasks[dialogue.task].ability,
            setting=dialogue.setting,
            dialogue=dialogue.id,
            turn=item.turn.number,
            outcome=outcome or "failed",
            threshold=given.threshold,
            score=given.score,
            reply=reply,
            user=item.turn.user.shown,
            images=_digests(item.turn.user.images) if reply is not None else (),
            reference=item.turn.reference,
            error=given.error or (None if outcome else "the test itself failed"),
            flags=_flags(given),
            facts=dict(benchmark.facts(item)),
            sample=self._sample,
        )

    def _own(self, given: Given, outcome: Outcome) -> Record:
        return Record(
            given.id, OWN, given.ability, given.ability, given.setting, given.id, 1, outcome, given.threshold, given.score,
            error=given.error, flags=_flags(given),
        )  # fmt: skip

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Say what a failed comparison of a score means."""
        if not isinstance(left, Score) or not isinstance(right, int | float) or op not in (">=", ">"):
            return None
        return [f"score {left.value:g} is below the threshold {right:g} (scale {left.scale}, by {left.scorer})"]


def _decides(report: pytest.TestReport) -> bool:
    return report.when == "call" or (report.when == "setup" and report.failed)


def _reason(report: pytest.TestReport) -> str:
    longrepr = report.longrepr
    return str(longrepr[2]).removeprefix("Skipped: ") if isinstance(longrepr, tuple) else str(longrepr)


def _flags(given: Given) -> tuple[str, ...]:
    flags: list[str] = list(given.item.dialogue.flags) if given.item is not None else []
    if given.answer is not None:
        flags += given.answer.reply.flags
        flags += ["cached"] if given.answer.reply.cached else []
    if given.score is not None:
        flags += ["proxy"] if given.score.proxy else []
        verdicts = [*given.score.earlier, *([given.score.verdict] if given.score.verdict else [])]
        flags += ["verdict_cached"] if verdicts and all(verdict.cached for verdict in verdicts) else []
        flags += ["verdict_lenient"] if any(verdict.read == "lenient" for verdict in verdicts) else []
        flags += ["verdict_asked_again"] if any(verdict.attempts > 1 for verdict in verdicts) else []
        flags += dict.fromkeys(f"verdict_{flag}" for verdict in verdicts for flag in verdict.flags)
    return tuple(flags)


def _digests(images: tuple[Image, ...]) -> tuple[str, ...]:
    try:
        return tuple(map(digest, images))
    except BadImage:  # a recording answers without looking
        return ()


def _explain(report: pytest.TestReport, record: Record) -> None:
    """Put what was asked, said and judged below the traceback."""
    add = getattr(report.longrepr, "addsection", None)
    if add is None:
        return
    add(record.id, "\n".join(_told(record)))


def _told(record: Record) -> list[str]:
    told = [f"user: {_short(record.user)}"] if record.user else []
    if record.reply is not None:
        told.append(f"reply: {_short(record.reply.text)}")
    if record.score is not None:
        who = record.score.scorer
        told.append(
            f"{who}: {record.score.value:g} of {record.score.scale}. {_short(record.score.explanation)}".rstrip()
        )
    if record.reference and record.score is not None and record.score.proxy:
        told.append(f"reference: {_short(record.reference)}")
    told.append(f"threshold: {record.threshold:g}" if record.threshold is not None else "threshold: none")
    return told


def _short(text: str) -> str:
    """A text for the terminal: not too long, and without control characters that would act on it."""
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} [...] {text[-_LONGEST // 2 :]}"
    return "".join(c if c in "\n\t" or unicodedata.category(c) != "Cc" else f"\\x{ord(c):02x}" for c in cut)


def record_on(report: pytest.TestReport) -> Record | None:
    """The record that a report carries."""
    content = getattr(report, RECORD, None)
    if isinstance(content, str):
        content = report.__dict__[RECORD] = msgspec.json.decode(content, type=Record)
    return cast("Record | None", content)


def ends_run_on(report: pytest.TestReport) -> str | None:
    """What the user must mend before the run can go on, if the test met with that."""
    return cast("str | None", getattr(report, ENDS_RUN, None))


def left_out_on(report: pytest.TestReport) -> str | None:
    """Why the report's item was left out, if it was."""
    return cast("str | None", getattr(report, LEFT_OUT, None))


def status(report: pytest.TestReport) -> tuple[str, str, Any] | None:
    """Category, letter and word of a report, in our terms."""
    record = record_on(report)
    if record is None or not report.failed:
        return None
    if record.outcome == "missed":
        return "failed", "F", ("MISSED", {"red": True})
    if record.outcome == "unjudged":
        return "error", "U", ("UNJUDGED", {"yellow": True})
    return "error", "E", ("NO REPLY", {"yellow": True})
