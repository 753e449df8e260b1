"""What a model answered, with what was really sent."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

_SHOWN = 60
"""Characters of a reply in its repr: tracebacks show it, and the record has it whole."""

Finish = Literal["stop", "length", "other"]
"""Why the model stopped: of itself, at the token limit, or for another reason that its server gave."""


class Sent(Struct, frozen=True):
    """How much of the dialogue was really sent."""

    messages: int
    turns: int
    """User messages among them, this turn included."""
    images: int = 0


class Reply(Struct, frozen=True):
    """One reply of a chat model."""

    text: str
    finish: Finish = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reused_tokens: int = 0
    """Of the prompt's tokens, those whose key/value cache was kept from an earlier turn, so that they were not read again."""
    latency: float = 0.0
    """Seconds from asking to having it; of the call that first produced it, if the reply comes from the store."""
    cached: bool = False
    """True if it came from the store and the model was not asked."""
    sent: Sent = Sent(0, 0)
    flags: tuple[str, ...] = ()
    """Facts that may matter when reading a score: ``reply_cut``, ``reply_empty``, ``system_merged``, ``context_cut``, ..."""
    key: str = ""
    """Where the store has it, in hexadecimal: a record with it can give a lost store its entry back. Empty without one."""

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}..."
        return f"Reply({text!r})"


class Recorded(Struct, frozen=True):
    """A reply that was generated elsewhere, or in an earlier run."""

    text: str | None
    """None where the recording says that there was none."""
    user: str | None = None
    """The user message that it answers, if the recording has it."""


def mended(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair that lacks the other: JSON carries such, no file does."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class NoReply(Exception):
    """The model gave no reply that could be scored. The item is ``failed``; nothing is scored in its place."""
