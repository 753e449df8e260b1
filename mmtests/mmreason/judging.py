"""What the judge is asked, and what is made of its replies.

The final answer is judged as VLMEvalKit does: extract it from the reply, then compare it. No image is shown to the judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from mmtests.benchmark import Judging, judged_once, score_of
from mmtests.dialogue import Item, Message
from mmtests.errors import UserError
from mmtests.mmreason.steps import read_steps
from mmtests.mmreason.tasks import SCALE
from mmtests.rubric import JudgeRequest, Rubric, load_rubric
from mmtests.score import Mode, Verdict
from mmtests.verdict import Reading, Unreadable

TEMPERATURES = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Of the five tries that the official script gives each question."""
_MAX_NEW_TOKENS = 128
"""Of an extraction or a comparison, as officially."""
_MAX_NEW_TOKENS_STEPS = 4096
"""Of our own choice: the judge writes out every step."""

API_FAILURE = "Failed to obtain answer via API"
"""VLMEvalKit's reply in place of one that it could not get. The official script asks again."""
NO_ANSWER = "null"
"""What the extraction rubric asks for where the reply gives no answer."""

_RUBRICS = {
    "extraction": ("response",),
    "comparison": ("extracted", "answer"),
    "steps": ("question", "reference_steps", "response"),
}
"""Name to the places that the template has."""
RUBRIC_FILES = tuple(f"mmreason_{name}.md" for name in _RUBRICS)

_LABEL = re.compile(
    r"^[*_`\s]*(?:the\s+)?(?:extracted\s+|final\s+)?answer(?:\s+is)?[*_`\s]*[:=][*_`\s]*", re.IGNORECASE
)


def load_rubrics(override: Path | None) -> dict[str, Rubric]:
    """Our rubrics, those in their place that the folder ``override`` has as ``mmreason_<name>.md``.

    The official prompts stand in VLMEvalKit's code, not in files, so that their names here are our own.

    Raises:
        UserError: the folder has none of them, or one lacks a place.
    """
    own = Path(__file__).parent / "rubrics"
    official = {name: f"mmreason_{name}.md" for name in _RUBRICS}
    if override is not None and not any((override / file).is_file() for file in official.values()):
        raise UserError(
            f"{override} has no judge prompt for mmreason. --rubrics takes a folder with {', '.join(official.values())}, "
            f"or some of them."
        )
    return {
        name: load_rubric(
            name, own, places, override if override and (override / official[name]).is_file() else None, official[name]
        )
        for name, places in _RUBRICS.items()
    }


def judge_answer(item: Item, reply: str, rubrics: Mapping[str, Rubric], mode: Mode) -> Judging:
    """Right or wrong: the answer is extracted, then compared unless it is the gold answer to the letter.

    A comparison without a readable verdict leaves the item unjudged. The official script takes it for wrong; ``summarise``
    gives that figure beside.
    """
    gold = item.turn.reference or ""
    extraction = yield _request("extraction", rubrics, read_extraction, response=reply)
    extracted = extracted_answer(extraction.raw, mode)
    if same(extracted, gold):
        score = score_of(replace(extraction, value=1.0), SCALE, mode)
        return replace(score, by_mode=_of_equal(extraction.raw, gold, mode),
                       explanation=f"the extracted answer is the gold answer to the letter: {gold.strip()!r}")  # fmt: skip
    comparison = yield _request(
        "comparison", rubrics, partial(read_comparison, mode=mode), extracted=extracted, answer=gold
    )
    score = score_of(comparison, SCALE, mode, earlier=(replace(extraction, by_mode={}, dimensions={}),))
    found = "equivalent" if score.value else "not equivalent"
    return replace(score, by_mode=_of_compared(extraction.raw, comparison, gold, mode),
                   explanation=f"extracted {extracted!r}, gold answer {gold!r}: {found}")  # fmt: skip


def judge_steps(item: Item, reply: str, rubrics: Mapping[str, Rubric], mode: Mode) -> Judging:
    """The mean worth of the reply's steps, which the judge tells apart and labels in one call (the paper reads as two)."""
    prompt = rubrics["steps"].fill(
        question=item.turn.user.text, reference_steps=item.turn.reference or "", response=reply
    )
    request = JudgeRequest("steps", (Message.of("user", prompt),), SCALE, read_steps, _MAX_NEW_TOKENS_STEPS)
    return judged_once(request, mode)


def extracted_answer(text: str, mode: Mode) -> str:
    """The answer that an extraction gave: the judge's whole reply; in strict mode without an echoed label before it."""
    return text if mode == "reference" else _LABEL.sub("", text).strip()


def same(extracted: object, gold: object) -> bool:
    """True if the two are equal to the letter, so that no judge need compare them. Case counts: 3 mW are not 3 MW."""
    return str(extracted).strip() == str(gold).strip()


def read_extraction(text: str) -> Reading:
    """1 for an answer, 0 for none. The answer itself is the whole reply.

    Raises:
        Unreadable: VLMEvalKit's text for a call that failed.
    """
    if API_FAILURE in text:
        raise Unreadable("it tells of a call that failed")
    return Reading(0.0 if text.strip() == NO_ANSWER else 1.0, text, "strict")


def read_comparison(text: str, mode: Mode) -> Reading:
    """1 for ``Yes``, 0 for ``No``; in strict mode also in another case, in quotes or emphasis, or with a full stop.

    Raises:
        Unreadable: anything else.
    """
    said = text.strip()
    exact = said in ("Yes", "No")
    if mode == "strict":
        said = said.strip("*_`\"'.! \n").capitalize()
    if said not in ("Yes", "No"):
        raise Unreadable("it is neither Yes nor No")
    return Reading(float(said == "Yes"), "", "strict" if exact else "lenient")


def _request(name: str, rubrics: Mapping[str, Rubric], read: Callable[[str], Reading], **values: str) -> JudgeRequest:
    prompt = (Message.of("user", rubrics[name].fill(**values)),)
    return JudgeRequest(name, prompt, SCALE, read, _MAX_NEW_TOKENS, TEMPERATURES)


def _of_equal(raw: str, gold: str, mode: Mode) -> dict[Mode, float | None]:
    """What each mode says where the one in use found the answers equal. None: it would have asked for a comparison."""
    return {"reference": 1.0 if mode == "reference" or same(raw, gold) else None, "strict": 1.0}


def _of_compared(raw: str, comparison: Verdict, gold: str, mode: Mode) -> dict[Mode, float | None]:
    """What each mode says where the one in use had the answers compared. None: it would have asked otherwise."""
    value = comparison.value
    plain = extracted_answer(raw, "strict")
    alike = plain == raw.strip()  # so that both modes ask the same
    if mode == "reference":
        # What was unreadable officially before this verdict may have been readable in strict mode.
        known = alike and comparison.attempts == 1
        return {"reference": value, "strict": 1.0 if same(plain, gold) else value if known else None}
    known = alike and comparison.read == "strict"
    return {"reference": 1.0 if same(raw, gold) else value if known else None, "strict": value}
