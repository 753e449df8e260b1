"""Scores, verdicts, outcomes and the record that a run keeps of each item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from mmtests.dialogue import Setting
from mmtests.reply import Reply

Mode = Literal["reference", "strict"]
"""``reference`` reproduces the official scorer with its quirks; ``strict`` is the sane rule where that is wrong."""


class Scale(Struct, frozen=True):
    """The ends of a native scale, both reachable."""

    low: float
    high: float

    def place(self, fraction: float) -> float:
        """The point at ``fraction`` (0 to 1) of the way from ``low`` to ``high``."""
        return self.low + fraction * (self.high - self.low)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low:g}-{self.high:g}"


class Verdict(Struct, frozen=True):
    """What a judge said, as read."""

    value: float
    rationale: str
    judge: str
    raw: str
    """The judge's reply, whole."""
    read: Literal["strict", "lenient"]
    """``lenient``: the reply was not the bare JSON object asked for, but could be read without guessing."""
    attempts: int = 1
    """How often the judge was asked, this one included."""
    cached: bool = False
    by_mode: Mapping[Mode, float | None] = field(default_factory=dict)
    """What each mode reads; None where the official script would drop the verdict."""
    key: str = ""
    """Where the store has the judge's reply, as ``Reply.key``."""
    dimensions: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    """Those of the judge's reply; ``blind`` if it was to see images and cannot: they were left out of its prompt."""


class Score(Struct, frozen=True, eq=False):
    """A number on its native scale, and who says so. Compares with a threshold: ``assert score >= threshold``."""

    value: float
    scale: Scale
    scorer: str
    """``rule:NAME``, ``judge:NAME`` or ``proxy:rouge-l``."""
    mode: Mode = "reference"
    by_mode: Mapping[Mode, float | None] = field(default_factory=dict)
    """The value in each mode, where the scorer has more than one; None where that mode has no score."""
    dimensions: Mapping[str, float] = field(default_factory=dict)
    explanation: str = ""
    """One line for a person: what was checked, and what was found."""
    verdict: Verdict | None = None
    """The verdict that decided."""
    earlier: tuple[Verdict, ...] = ()
    """Verdicts of the calls that led to it, where the scorer takes several."""

    @property
    def proxy(self) -> bool:
        """True for a stand-in made without a judge. It is not comparable with a judged score."""
        return self.scorer.startswith("proxy:")

    def __repr__(self) -> str:
        return f"Score({self.value:g} of {self.scale}, {self.scorer})"

    def __float__(self) -> float:
        return self.value

    def __ge__(self, threshold: float) -> bool:
        return self.value >= float(threshold)

    def __gt__(self, threshold: float) -> bool:
        return self.value > float(threshold)

    def __le__(self, threshold: float) -> bool:
        return self.value <= float(threshold)

    def __lt__(self, threshold: float) -> bool:
        return self.value < float(threshold)


class Unjudged(Exception):
    """No readable verdict after the retries. The item has a reply, and no score."""


class NeedsJudge(Exception):
    """The item can only be scored by a judge, and the run has none."""


Outcome = Literal["passed", "missed", "unjudged", "failed"]
"""``missed``: answered, scored, below the threshold. ``unjudged``: no readable verdict. ``failed``: no reply."""

OUTCOMES: tuple[Outcome, ...] = ("passed", "missed", "unjudged", "failed")


class Record(Struct, frozen=True):
    """All that a run keeps about one item: one line of ``records.jsonl``."""

    id: str
    benchmark: str
    task: str
    ability: str
    setting: Setting
    dialogue: str
    turn: int
    outcome: Outcome
    threshold: float | None = None
    score: Score | None = None
    reply: Reply | None = None
    user: str = ""
    """The last user message, with ``<image>`` where an image stands."""
    images: tuple[str, ...] = ()
    """SHA-256 of each image of the last user message, in hexadecimal."""
    reference: str | None = None
    error: str | None = None
    """Why there is no reply, or no verdict."""
    flags: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the benchmark's aggregation needs: for a refinement turn, its NLP task's place in the dialogue."""
    sample: bool = False
    """True if the dialogue is of the embedded sample, not of the benchmark."""
