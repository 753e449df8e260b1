"""A stand-in for the judged final answer in a run without a judge: is the answer in the usual place the gold one?"""

from __future__ import annotations

import re

_CUE = re.compile(r"\banswer\s*(?:is\b|[:=])[\s:*]*(.+)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?]\s")
_WRAPPED = re.compile(r"\\(?:text|mathrm|mathbf)\{([^{}]*)\}")
_IGNORED = re.compile(r"[$*`]|\\[()\[\],;!]")
_SPACE = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
"""Between two digits a space may part two numbers, so it stays."""
_TRAILING = ".,;:!?"


def final_answer(reply: str) -> str:
    """The last ``\\boxed{...}`` of a reply, else what follows its last "answer is" or "answer:", else its last line."""
    if (boxed := _boxed(reply)) is not None:
        return boxed
    if cues := _CUE.findall(reply):
        return str(cues[-1]).strip()
    lines = [line for line in reply.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def matches(reply: str, gold: str) -> bool:
    """True if the final answer, or its first sentence, is the gold answer but for case, spaces, dollar signs, emphasis and
    punctuation at the end. Equal values in another form do not match: that takes a judge."""
    found = final_answer(reply)
    wanted = _plain(gold)
    return bool(wanted) and wanted in (_plain(found), _plain(_SENTENCE_END.split(found, maxsplit=1)[0]))


def _boxed(reply: str) -> str | None:
    _, opened, rest = reply.rpartition("\\boxed{")
    if not opened:
        return None
    depth = 1
    for position, letter in enumerate(rest):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if not depth:
            return rest[:position]
    return None


def _plain(answer: str) -> str:
    inner = _boxed(answer)
    unwrapped = _WRAPPED.sub(r"\1", answer if inner is None else inner)
    plain = _SPACE.sub("", _IGNORED.sub("", unwrapped)).casefold().rstrip(_TRAILING)
    while plain.startswith("{") and plain.endswith("}"):
        plain = plain[1:-1]
    return plain
