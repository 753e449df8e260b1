"""The final answer is judged in two stages as officially, with five tries each; the steps in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mmtests.benchmark import Judging
from mmtests.dialogue import Item
from mmtests.errors import UserError
from mmtests.mmreason import MMReason
from mmtests.mmreason.judging import (
    API_FAILURE,
    TEMPERATURES,
    extracted_answer,
    load_rubrics,
    read_comparison,
    read_extraction,
    same,
)
from mmtests.rubric import Rubric
from mmtests.score import Mode, Score, Verdict
from mmtests.verdict import Unreadable
from tests.mmreason.data import ONE, TWO, items, row

MODES: tuple[Mode, ...] = ("reference", "strict")

BARE: Mapping[str, Rubric] = {
    name: Rubric(name, template, "test")
    for name, template in {
        "extraction": "E:{response}",
        "comparison": "C:{extracted}|{answer}",
        "steps": "S:{question}|{reference_steps}|{response}",
    }.items()
}
"""Rubrics that show what is put in their places, and nothing else."""


class Judged(NamedTuple):
    """What came of judging."""

    score: Score | None
    """None: a question had no readable verdict."""
    calls: list[tuple[str, float]]
    """The rubric and the temperature of each."""
    prompts: list[str]
    """Of each question, once."""


def judged(judging: Judging, *replies: str) -> Judged:
    """Judge as the judge fixture does, with these replies one after another."""
    calls: list[tuple[str, float]] = []
    prompts = []
    said = iter(replies)
    try:
        request = next(judging)
        while True:
            prompts.append(request.prompt[0].text)
            verdict = None
            for attempt, temperature in enumerate(request.temperatures or (0.0, 0.0, 0.0), 1):
                calls.append((request.rubric, temperature))
                text = next(said)
                try:
                    read = request.read(text)
                except Unreadable:
                    continue
                verdict = Verdict(
                    read.value, read.rationale, "test", text, read.read, attempt, by_mode=read.by_mode,
                    dimensions=read.dimensions,
                )  # fmt: skip
                break
            if verdict is None:
                return Judged(None, calls, prompts)
            request = judging.send(verdict)
    except StopIteration as end:
        assert next(said, None) is None, "every reply was needed"
        return Judged(end.value, calls, prompts)


@pytest.fixture
def item(tmp_path: Path) -> Item:
    """A question whose answer is 3."""
    return items(tmp_path, row())["answer"]


def answer(item: Item, *replies: str, mode: Mode = "reference", reply: str = "It is 3.") -> Judged:
    """Judge a final answer."""
    return judged(MMReason().judge(item, reply, (), BARE, mode), *replies)


@pytest.mark.parametrize("n", range(10))
def test_worked_examples_of_the_score(item: Item, reference: Callable[[str], Any], n: int) -> None:
    """After the extraction there are the official calls at the official temperatures, and the official result; only where all
    five tries fail there is no score, where the official script says wrong."""
    case = reference("worked_examples.json")["mmreason_score"][n]

    found = answer(item, str(case["extract"]), *case["judge_replies"])

    assert item.turn.reference == case["answer"]
    assert found.calls[0] == ("extraction", 0.0)
    assert found.calls[1:] == [("comparison", temperature) for temperature in case["judge_calls_temperatures"]]
    if len(case["judge_replies"]) == 5:
        assert (found.score, case["score"]) == (None, False)
    else:
        assert found.score is not None
        assert found.score.value == float(case["score"])


@pytest.mark.parametrize("n", range(5))
def test_worked_examples_of_the_extraction(tmp_path: Path, reference: Callable[[str], Any], n: int) -> None:
    """The whole reply is the answer, after as many calls as officially; only where all five fail there is no score, where the
    official script goes on with an empty answer."""
    case = reference("worked_examples.json")["mmreason_extract"][n]
    item = items(tmp_path, row(answer="another"))["answer"]
    failed = case["calls"] == 5

    found = answer(item, *case["judge_replies"], *([] if failed else ["No"]))

    extractions = [temperature for rubric, temperature in found.calls if rubric == "extraction"]
    assert extractions == list(TEMPERATURES[: case["calls"]])
    if failed:
        assert (found.score, case["extract"]) == (None, "")
    else:
        assert found.prompts[1] == f"C:{case['extract']}|another"


@pytest.mark.parametrize(
    ("extraction", "comparisons", "temperatures", "value"),
    [
        ("3", [], [], 1),
        (" 3 ", [], [], 1),
        ("3.0", ["Yes"], [0.0], 1),
        ("3.0", ["No"], [0.0], 0),
        ("3.0", ["Yes\n"], [0.0], 1),
        ("3.0", ["yes", "Yes.", "Yes"], [0.0, 0.5, 1.0], 1),
        ("3.0", ["maybe"] * 5, [0.0, 0.5, 1.0, 1.5, 2.0], None),
        ("", ["No"], [0.0], 0),
        ("null", ["No"], [0.0], 0),
    ],
)
def test_two_stages(
    item: Item, extraction: str, comparisons: Sequence[str], temperatures: list[float], value: float | None
) -> None:
    """The same cases, written out."""
    found = answer(item, extraction, *comparisons)

    assert [temperature for _, temperature in found.calls[1:]] == temperatures
    assert (found.score.value if found.score else None) == value


def test_calls_that_failed(item: Item) -> None:
    """VLMEvalKit's text for a failed call is no extraction, and is asked for again at a higher temperature."""
    found = answer(item, f"{API_FAILURE}.", f"Sorry: {API_FAILURE}.", "3")

    assert found.calls == [("extraction", 0.0), ("extraction", 0.5), ("extraction", 1.0)]
    assert found.score is not None
    assert found.score.verdict is not None
    assert (found.score.value, found.score.verdict.attempts) == (1, 3)

    assert answer(item, *[API_FAILURE] * 5).score is None


def test_what_the_judge_is_shown(tmp_path: Path) -> None:
    """The extraction sees the reply alone, the comparison the two answers alone, and neither an image."""
    item = items(tmp_path, row(image=f"['{ONE}', '{TWO}']", answer=" 1/3 "))["answer"]
    judging = MMReason().judge(item, " It is {answer}. ", (), BARE, "reference")

    request = next(judging)
    assert len(request.prompt) == 1
    assert (request.prompt[0].images, request.prompt[0].text) == ((), "E: It is {answer}. ")
    assert (request.max_new_tokens, request.temperatures) == (128, (0.0, 0.5, 1.0, 1.5, 2.0))

    request = judging.send(Verdict(1, "", "test", " {answer} 0.3\n", "strict"))
    assert (request.prompt[0].images, request.prompt[0].text) == ((), "C: {answer} 0.3\n| 1/3 ")
    assert (request.max_new_tokens, request.temperatures) == (128, (0.0, 0.5, 1.0, 1.5, 2.0))
    judging.close()


def test_a_score_keeps_both_verdicts(item: Item) -> None:
    """The comparison decides; the extraction stands before it."""
    score = answer(item, "4", "No").score

    assert score is not None
    assert score.verdict is not None
    assert (score.verdict.raw, [verdict.raw for verdict in score.earlier]) == ("No", ["4"])
    assert (score.scorer, score.explanation) == ("judge:test", "extracted '4', gold answer '3': not equivalent")


def test_a_score_without_a_comparison(item: Item) -> None:
    """Equal answers are decided by the extraction; even a gold answer that reads null is right then."""
    score = answer(item, "3\n").score

    assert score is not None
    assert score.verdict is not None
    assert (score.value, score.verdict.raw, score.earlier) == (1, "3\n", ())
    assert score.explanation == "the extracted answer is the gold answer to the letter: '3'"


@pytest.mark.parametrize("mode", MODES)
def test_a_gold_answer_that_reads_null(tmp_path: Path, mode: Mode) -> None:
    """What counts is that the two are equal."""
    item = items(tmp_path, row(answer="null"))["answer"]

    score = answer(item, "null", mode=mode).score

    assert score is not None
    assert score.value == 1


@pytest.mark.parametrize(
    ("extraction", "comparisons", "mode", "value", "by_mode"),
    [
        ("3", [], "reference", 1, {"reference": 1, "strict": 1}),
        ("3", [], "strict", 1, {"reference": 1, "strict": 1}),
        ("4", ["No"], "reference", 0, {"reference": 0, "strict": 0}),
        ("4", ["No"], "strict", 0, {"reference": 0, "strict": 0}),
        ("Extracted Answer: 3", ["No"], "reference", 0, {"reference": 0, "strict": 1}),
        ("Extracted Answer: 3", [], "strict", 1, {"reference": None, "strict": 1}),
        ("Answer: 4", ["No"], "reference", 0, {"reference": 0, "strict": None}),
        ("Answer: 4", ["No"], "strict", 0, {"reference": None, "strict": 0}),
        ("4\n", ["No"], "reference", 0, {"reference": 0, "strict": 0}),
        ("4\n", ["No"], "strict", 0, {"reference": 0, "strict": 0}),
        ("3.0", ["Yes.", "No"], "reference", 0, {"reference": 0, "strict": None}),
        ("3.0", ["Yes."], "strict", 1, {"reference": None, "strict": 1}),
        ("3.0", ["**no**"], "strict", 0, {"reference": None, "strict": 0}),
        ("3.0", ["maybe", "YES"], "strict", 1, {"reference": None, "strict": 1}),
        ("3.0", ["Yes"], "strict", 1, {"reference": 1, "strict": 1}),
    ],
)
def test_modes(
    item: Item, extraction: str, comparisons: list[str], mode: Mode, value: float, by_mode: dict[Mode, float | None]
) -> None:
    """A score says what the other mode makes of it, unless that would have asked the judge something else."""
    score = answer(item, extraction, *comparisons, mode=mode).score

    assert score is not None
    assert (score.value, score.mode, score.by_mode) == (value, mode, by_mode)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("3", "3"), (" 3\n", "3"), ("Extracted Answer: 3", "3"), ("extracted answer:3", "3"), ("Answer: x = 3", "x = 3"),
        ("The final answer is: 3", "3"), ("**Extracted Answer:** 3", "3"), ("**Answer**: 3", "3"), ("Answer = 3", "3"),
        ("answer", "answer"), ("The answering machine: 3", "The answering machine: 3"), ("3 (Answer: 4)", "3 (Answer: 4)"),
    ],
)  # fmt: skip
def test_an_echoed_label(text: str, bare: str) -> None:
    """Strict mode takes a label before the answer away; in reference mode it is part of the answer."""
    assert extracted_answer(text, "strict") == bare
    assert extracted_answer(text, "reference") == text


@pytest.mark.parametrize(
    ("one", "other", "equal"), [("3", 3, True), (" 3", "3\n", True), ("3.0", "3", False), ("3 mW", "3 MW", False)]
)
def test_same(one: object, other: object, equal: bool) -> None:
    """Equal to the letter, but for the space around."""
    assert same(one, other) is equal


@pytest.mark.parametrize(
    ("text", "reference", "strict"),
    [
        ("Yes", 1, 1), ("No", 0, 0), (" Yes\n", 1, 1), ("yes", None, 1), ("NO", None, 0), ("Yes.", None, 1),
        ('"No"', None, 0), ("**Yes**", None, 1), ("Yes, they are", None, None), ("Yes No", None, None),
        ("", None, None), ("True", None, None), ("Not", None, None),
    ],
)  # fmt: skip
def test_read_comparison(text: str, reference: float | None, strict: float | None) -> None:
    """The official script takes exactly Yes or No; strict mode is less strict about their form alone."""
    for mode, value in (("reference", reference), ("strict", strict)):
        if value is None:
            with pytest.raises(Unreadable):
                read_comparison(text, mode)  # type: ignore[arg-type]
        else:
            assert read_comparison(text, mode).value == value  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "value"), [("3", 1), ("null", 0), (" null\n", 0), ("", 1), ("Null set", 1)])
def test_read_extraction(text: str, value: float) -> None:
    """The verdict of an extraction says whether there is an answer, and has it whole."""
    assert (read_extraction(text).value, read_extraction(text).rationale) == (value, text)


def test_steps(tmp_path: Path) -> None:
    """The judge sees question, reference steps and reply at once, and each label of its verdict is kept as a share."""
    item = items(tmp_path, row(steps="['Read off 3.']"))["steps"]
    verdict = (
        '{"Steps": [{"Step": "a", "Label": "correct"}, {"Step": "b", "Label": "unverifiable"}, '
        '{"Step": "c", "Label": "incorrect"}, {"Step": "d", "Label": "correct"}]}'
    )

    found = judged(MMReason().judge(item, "Three.", (), BARE, "reference"), verdict)

    assert found.prompts == ["S:How long is it?|1. Read off 3.|Three."]
    assert found.calls == [("steps", 0.0)]
    assert found.score is not None
    assert found.score.value == 0.625
    assert found.score.dimensions == {"correct": 0.5, "unverifiable": 0.25, "incorrect": 0.25}


def test_no_steps_is_no_score(tmp_path: Path) -> None:
    """A verdict without steps is asked for again, and never a zero."""
    item = items(tmp_path, row(steps="a"))["steps"]

    assert judged(MMReason().judge(item, "", (), BARE, "reference"), *['{"Steps": []}'] * 3).score is None


def test_our_rubrics(item: Item) -> None:
    """Ours have the places that are filled, and are marked as our own."""
    rubrics = load_rubrics(None)

    assert set(rubrics) == set(BARE)
    for name, rubric in rubrics.items():
        assert rubric.source == "mmtests"
        for place in ("response", "extracted", "answer", "question", "reference_steps"):
            assert ("{" + place + "}" in rubric.template) is ("{" + place + "}" in BARE[name].template), (name, place)


def test_rubrics_of_the_user(tmp_path: Path) -> None:
    """A folder's prompts take the place of ours, one by one; with none of them it is a mistake."""
    with pytest.raises(UserError, match=r"mmreason_extraction\.md"):
        load_rubrics(tmp_path)

    (tmp_path / "mmreason_comparison.md").write_text("{extracted} {answer}")
    rubrics = load_rubrics(tmp_path)
    assert rubrics["comparison"].source == str(tmp_path / "mmreason_comparison.md")
    assert rubrics["extraction"] == load_rubrics(None)["extraction"]

    (tmp_path / "mmreason_comparison.md").write_text("{extracted}")
    with pytest.raises(UserError, match=r"no place \{answer\}"):
        load_rubrics(tmp_path)
