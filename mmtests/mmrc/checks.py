"""From a question as the file has it to a question that can be asked, or an error."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mmtests.mmrc.metrics import plain
from mmtests.mmrc.options import LETTERS
from mmtests.mmrc.questions import TRUTH, Question
from mmtests.mmrc.records import Place, QuestionRow
from mmtests.mmrc.tasks import ABILITIES, AR, FORMATS, MULTIPLE_CHOICE, OPEN, TRUE_FALSE


def question_of(row: QuestionRow, place: Place, field: str, *, turns: int, pictures: int) -> Question:
    """The question.

    Args:
        field: the row's, as ``questions[2]``.
        turns, pictures: how many the conversation has.

    Raises:
        DataError: anything about it that cannot be, with its field.
    """
    if row.ability not in ABILITIES:
        raise place.error(
            f"unknown ability {row.ability!r}", f"It must be one of {', '.join(ABILITIES)}; values.ability in mapping.toml "
            f"can map other names.", f"{field}.ability",
        )  # fmt: skip
    form = OPEN if row.format is None else row.format
    if form not in FORMATS:
        raise place.error(
            f"unknown format {form!r}", f"It must be one of {', '.join(FORMATS)}; values.format in mapping.toml can map "
            f"other names.", f"{field}.format",
        )  # fmt: skip
    if not row.question.strip():
        raise place.error("the question is empty", "Give it a text.", f"{field}.question")
    choices, right, answer = _answer(row, form, place, field)
    numbers = {"evidence_turns": (row.evidence_turns or [], turns, "turns"),
               "answer_images": (row.answer_images or [], pictures, "pictures")}  # fmt: skip
    for name, (given, most, what) in numbers.items():
        for index, number in enumerate(given):
            if not 1 <= number <= most:
                raise place.error(
                    f"{number} is none of the conversation's {most} {what}", "They are counted from 1.",
                    f"{field}.{name}[{index}]",
                )  # fmt: skip
    for index, item in enumerate(row.answer_items or []):
        if not item.strip():
            raise place.error("an item is empty", "Remove it.", f"{field}.answer_items[{index}]")
    return Question(
        row.ability, form, row.question, answer, choices, right, tuple(row.answer_items or ()),
        tuple(row.answer_images or ()), row.ability == AR and row.should_refuse is not False,
        tuple(row.evidence_turns or ()),
    )  # fmt: skip


def _answer(row: QuestionRow, form: str, place: Place, field: str) -> tuple[tuple[str, ...], int | None, str]:
    """Options, the number of the right one, and the gold answer in words."""
    if form == TRUE_FALSE:
        said = plain(str(row.answer))
        if row.choices and {plain(one) for one in row.choices} != {"true", "false"}:
            raise place.error("a true/false question has other choices", "Remove them.", f"{field}.choices")
        if said not in ("true", "false"):
            raise place.error(f"the answer {row.answer!r} is neither true nor false",
                              "values.answer in mapping.toml can map other words.", f"{field}.answer")  # fmt: skip
        right = ("true", "false").index(said)
        return (), right, TRUTH[right]
    if isinstance(row.answer, bool):
        raise place.error(f"the answer is {str(row.answer).lower()}, and the question {form}",
                          "Set its format to true-false, or give the answer as a text.", f"{field}.answer")  # fmt: skip
    if not row.answer.strip():
        raise place.error("the gold answer is empty", "Give one.", f"{field}.answer")
    if form == OPEN:
        if row.choices:
            raise place.error(
                "an open question has choices", f"Set its format to {MULTIPLE_CHOICE}.", f"{field}.choices"
            )
        return (), None, row.answer
    choices = _choices(row, place, f"{field}.choices")
    right = _right(row.answer, choices, place, f"{field}.answer")
    return choices, right, f"{LETTERS[right]}. {choices[right]}"


def _choices(row: QuestionRow, place: Place, field: str) -> tuple[str, ...]:
    if isinstance(row.choices, dict):
        letters = sorted(row.choices)
        if letters != list(LETTERS[: len(letters)]):
            raise place.error(f"the choices are lettered {', '.join(letters)}", "Letter them A, B, C ...", field)
        given = [row.choices[letter] for letter in letters]
    else:
        given = row.choices or []
    choices = _without_letters([choice.strip() for choice in given])
    if len(choices) < 2:
        raise place.error("a multiple-choice question needs choices, two at least", "Give them.", field)
    if len(choices) > len(LETTERS):
        raise place.error(f"there are {len(choices)} choices", f"At most {len(LETTERS)} can be lettered.", field)
    if not all(choices) or len({plain(choice) for choice in choices}) < len(choices):
        raise place.error("a choice is empty or stands twice", "Each must have a text of its own.", field)
    return choices


def _without_letters(choices: Sequence[str]) -> tuple[str, ...]:
    """The choices without letters of their own, if each carries the one that it will be given: ``B. a boat``."""
    stripped = [re.fullmatch(rf"\(?{letter}[.):]\s*(.+)", choice, re.DOTALL)
                for letter, choice in zip(LETTERS, choices, strict=False)]  # fmt: skip
    return (
        tuple(one[1] for one in stripped if one) if len(stripped) == len(choices) and all(stripped) else tuple(choices)
    )


def _right(answer: str, choices: Sequence[str], place: Place, field: str) -> int:
    """The number of the option that the gold answer is, by its text, by its letter, or by both."""
    meant = {number for number, choice in enumerate(choices) if plain(answer) == plain(choice)} | {
        number
        for number, (letter, choice) in enumerate(zip(LETTERS, choices, strict=False))
        if re.fullmatch(rf"\(?{letter}[.):]?(\s*{re.escape(choice)})?", answer.strip(), re.IGNORECASE)
    }
    if not meant:
        raise place.error(f"the gold answer {answer!r} is not among the choices",
                          "It must be the text of one of them, or its letter.", field)  # fmt: skip
    if len(meant) > 1:
        raise place.error(f"the gold answer {answer!r} is the text of one choice and the letter of another",
                          "Give letter and text, as in 'B. A'.", field)  # fmt: skip
    return meant.pop()
