"""What the judge is asked about a reply, and how its verdict is read (paper section 3.3 and appendix)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from mmtests.dialogue import MULTI, SINGLE, Item, Message, Turn
from mmtests.mt_eval.sentences import count_sentences, count_words
from mmtests.mt_eval.tasks import EXPANSION, FOLLOW_UP, JUDGED, REFINEMENT
from mmtests.rubric import JudgeRequest, Rubric, load_rubric
from mmtests.score import Mode
from mmtests.verdict import Reading, Unreadable, read_score

_COUNTED = ("content", "response", "num_words", "num_sent", "constraints")

_RUBRICS = {
    "refinement_multi": (_COUNTED, "refinement_multi_evaluation.txt"),
    "refinement_single": (_COUNTED, "refinement_single_evaluation.txt"),
    "expansion": (("content", "constraints", "response"), "expansion_evaluation.txt"),
    "follow-up": (("conversation", "num_words", "num_sent"), "mt-bench_evaluation.txt"),
}
"""Name to the places that the template has, and the official file's name."""
RUBRIC_FILES = tuple(official for _, official in _RUBRICS.values())


def load_rubrics(override: Path | None) -> dict[str, Rubric]:
    """Our rubrics, or the official ones from the folder ``override``."""
    own = Path(__file__).parent / "rubrics"
    return {name: load_rubric(name, own, places, override, official) for name, (places, official) in _RUBRICS.items()}


def judge_request(
    item: Item, reply: str, sent: Sequence[Message], rubrics: Mapping[str, Rubric], mode: Mode
) -> JudgeRequest:
    """The prompt for the judge, as the official script builds it; one user message."""
    name = _rubric_of(item)
    counts = {"num_words": str(count_words(reply)), "num_sent": str(count_sentences(reply))}
    if name == "follow-up":
        values = {"conversation": _conversation(item, reply, sent, mode), **counts}
    elif name == "expansion":
        values = {"content": document(item), "constraints": item.turn.facts["inst"], "response": reply.strip()}
    else:
        values = {"content": document(item), "constraints": constraints(item), "response": reply, **counts}
    prompt = rubrics[name].fill(**values)
    if mode == "reference":
        prompt = prompt.replace("\\n", "\n")  # the official script does so to the whole prompt, replies included
    return JudgeRequest(name, (Message.of("user", prompt),), JUDGED, partial(read_verdict, mode=mode))


def _rubric_of(item: Item) -> str:
    if item.dialogue.task == REFINEMENT:
        return "refinement_single" if item.dialogue.setting == SINGLE else "refinement_multi"
    return {EXPANSION: "expansion", FOLLOW_UP: "follow-up"}[item.dialogue.task]


def document(item: Item) -> str:
    """The document that the dialogue is about, without what its first turn puts around it."""
    return str(item.dialogue.facts["document"])


def constraints(item: Item) -> str:
    """All instructions of the item's NLP task up to its turn, numbered; a single turn's one instruction as it is."""
    if item.dialogue.setting == SINGLE:
        return str(item.turn.facts["inst"])
    so_far = [
        turn.facts["inst"]
        for turn in item.dialogue.turns[: item.turn.number]
        if turn.facts["part"] == item.turn.facts["part"]
    ]
    return "\n".join(f"{number}. {instruction}" for number, instruction in enumerate(so_far, 1))


def _conversation(item: Item, reply: str, sent: Sequence[Message], mode: Mode) -> str:
    """The last exchange and this one.

    The official script shows the judge the previous *reference* reply, although the model went on from its own.
    Strict mode shows what the model really said.
    """
    lines = [f"User: {item.turn.user.text.strip()}", f"Assistant: {reply.strip()}"]
    previous = _previous(item)
    if previous is None:
        return "\n".join(lines)
    said = previous.reference or ""
    if mode == "strict" and item.dialogue.setting == MULTI:
        said = next((message.text for message in reversed(sent) if message.role == "assistant"), said)
    return "\n".join([f"User: {previous.user.text.strip()}", f"Assistant: {said.strip()}", *lines])


def _previous(item: Item) -> Turn | None:
    return item.dialogue.turns[item.turn.number - 2] if item.turn.number > 1 else None


def read_verdict(text: str, mode: Mode) -> Reading:
    """Read a score of 1 to 10.

    What the official parser reads is taken as it reads it (7.9 becomes 7). Where it would drop the verdict and a
    lenient reading finds one, that is taken, and the reading's ``by_mode`` says that the official mean leaves it out.

    Raises:
        Unreadable: no verdict, or one outside 1 to 10, in either mode.
    """
    lenient = read_score(text, JUDGED)
    try:
        official: float | None = parse_officially(text)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        official = None  # here the official script stops altogether
    if official is not None and official not in JUDGED:
        raise Unreadable(f"'Score' is {official:g}, outside the scale {JUDGED}")
    value = official if mode == "reference" and official is not None else lenient.value
    read = "lenient" if official is None else lenient.read  # the official parser wants the key as it is written
    return Reading(value, lenient.rationale, read, {"reference": official, "strict": lenient.value})


def parse_officially(text: str) -> int | None:
    """What the official script makes of a judge's reply; None where it drops the item.

    Raises:
        KeyError, TypeError, ValueError: as the official script does.
    """
    try:
        verdict = json.loads(text.removeprefix("```json").removesuffix("```"))
    except (json.JSONDecodeError, RecursionError):
        return None
    return int(verdict["Score"])
