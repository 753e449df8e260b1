"""A question as it is asked, and what is known about its answer."""

from __future__ import annotations

from msgspec import Struct

from mmtests.mmrc.metrics import EP, IMP, RP
from mmtests.mmrc.options import LETTERS, picked, picked_truth
from mmtests.mmrc.tasks import AR, IE, IM, MULTIPLE_CHOICE, OPEN, TRUE_FALSE

TRUTH = ("True", "False")
"""The options of a true/false question."""


class Question(Struct, frozen=True):
    """A question about a conversation."""

    ability: str
    format: str
    text: str
    answer: str
    """The gold answer in words: for multiple-choice the option with its letter, for true/false one of ``TRUTH``."""
    choices: tuple[str, ...] = ()
    """Of a multiple-choice question: two to 26."""
    right: int | None = None
    """The 0-based number of the right option; of a true/false question among ``TRUTH``. None for an open question."""
    items: tuple[str, ...] = ()
    """The gold items of information extraction; empty where the data lists none."""
    pictures: tuple[int, ...] = ()
    """The gold pictures of image management: 1-based over the conversation; empty where the data names none."""
    refuse: bool = False
    """Whether it should be declined. Only of answer refusal."""
    evidence: tuple[int, ...] = ()
    """The 1-based turns that the answer stands on; empty where the data names none."""

    @property
    def prompt(self) -> str:
        """The last user message."""
        if self.format == MULTIPLE_CHOICE:
            return f"{self.text}\n{self.options}\nAnswer with the letter of the one right option."
        if self.format == TRUE_FALSE:
            return f"{self.text}\nIs this true or false? Answer with one word."
        return self.text

    @property
    def options(self) -> str:
        """The options, one a line, with their letters."""
        return "\n".join(f"{letter}. {choice}" for letter, choice in zip(LETTERS, self.choices, strict=False))

    @property
    def metric(self) -> str | None:
        """The objective metric that the data allows for it."""
        if self.ability == IE and self.items:
            return EP
        if self.ability == IM and self.pictures:
            return IMP
        return RP if self.ability == AR and self.refuse else None

    def accuracy(self, reply: str) -> float | None:
        """1 if the reply picks the right option, else 0; None for an open question."""
        if self.format == OPEN:
            return None
        return float(self.picked(reply) == self.right)

    def picked(self, reply: str) -> int | None:
        """The 0-based number of the option that the reply picks."""
        return picked_truth(reply) if self.format == TRUE_FALSE else picked(reply, self.choices)
