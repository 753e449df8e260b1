"""What the judge is asked about a reply, and how its verdict is read (paper section 2.3 and appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from mmtests.dialogue import Item, Message, Text
from mmtests.mmdu.scoring import official_values
from mmtests.mmdu.tasks import DIMENSIONS, JUDGED, KEYS, OVERALL
from mmtests.rubric import JudgeRequest, Rubric, load_rubric
from mmtests.score import Mode
from mmtests.verdict import Reading, read_score

RUBRIC = "dialogue"
_OFFICIAL = "mmdu_evaluation.txt"
"""The official prompt stands within a script. Who has it puts it into a file of this name."""
_PLACES = ("question", "reference", "answer")
_MAX_NEW_TOKENS = 4096
"""The official judge script's limit: its prompt wants each dimension explained."""


RUBRIC_FILES = (_OFFICIAL,)


def load_rubrics(override: Path | None) -> dict[str, Rubric]:
    """Our rubric, or the one from the folder ``override``."""
    return {RUBRIC: load_rubric(RUBRIC, Path(__file__).parent / "rubrics", _PLACES, override, _OFFICIAL)}


def judge_request(item: Item, reply: str, rubrics: Mapping[str, Rubric], mode: Mode) -> JudgeRequest:
    """The prompt for the judge: one user message with the text, then all images of the dialogue, whatever the turn.

    The question keeps its tags, as in the official script. Earlier turns are not shown.
    """
    prompt = rubrics[RUBRIC].fill(
        question=str(item.turn.facts["question"]), reference=item.turn.reference or "", answer=reply
    )
    message = Message("user", (Text(prompt), *item.dialogue.facts["images"]))
    return JudgeRequest(RUBRIC, (message,), JUDGED, partial(read_verdict, mode=mode), _MAX_NEW_TOKENS)


def read_verdict(text: str, mode: Mode) -> Reading:
    """Read the overall score and the six dimensions.

    In reference mode each number is what the official parsers make of it (7.9 becomes 7), if they find it, and what stands
    there if they do not. The reading is strict where they find all seven, be there text around them or not.

    Raises:
        Unreadable: a number is missing, ambiguous or outside 0 to 10, in either mode.
    """
    readings = {key: read_score(text, JUDGED, key) for key in KEYS}
    written = {key: reading.value for key, reading in readings.items()}
    official = official_values(text)
    if mode == "strict":
        values = written
    else:
        values = {key: written[key] if (found := official[key]) is None else float(found) for key in KEYS}
    whole = all(value is not None for value in official.values())
    overall = official[OVERALL]
    return replace(
        readings[OVERALL],
        value=values[OVERALL],
        rationale=readings[OVERALL].rationale or _before(text),
        read="strict" if whole else "lenient",
        by_mode={"reference": None if overall is None else float(overall), "strict": written[OVERALL]},
        dimensions={name: values[name] for name in DIMENSIONS},
    )


def _before(text: str) -> str:
    """What the judge says before its numbers, as the official prompt wants it."""
    return text[: text.find("{")].replace("```json", "").replace("```python", "").replace("```", "").strip()
