"""Without a judge, a final answer in the gold one's form is right, and the steps have no stand-in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.mmreason import MMReason
from mmtests.mmreason.proxy import final_answer, matches
from tests.mmreason.data import items, row


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("3", "3"),
        ("First.\nThen.\n\n It is 3. \n\n", "It is 3."),
        (r"So \boxed{\frac{1}{3}} m, not \boxed{4{}}.", "4{}"),
        (r"The answer is 5. \boxed{\frac{1}{3}}", r"\frac{1}{3}"),
        ("The answer is 4.\nNo: the answer is 5.\nBye.", "5."),
        ("Answer: 7\nThat was easy.", "7"),
        ("**Final Answer:** 7", "7"),
        ("The answer is: x = 2", "x = 2"),
        (r"A broken \boxed{3", r"A broken \boxed{3"),
        ("My answers vary.", "My answers vary."),
        ("", ""),
        (" \n", ""),
    ],
)
def test_final_answer(reply: str, found: str) -> None:
    """The last box, else the last that is called the answer, else the last line."""
    assert final_answer(reply) == found


@pytest.mark.parametrize(
    ("reply", "gold", "right"),
    [
        ("3", "3", True),
        ("The answer is 3.", "3", True),
        ("The answer is 3. I hope this helps!", "3", True),
        ("The answer is 3.5", "3", False),
        ("The answer is 3.5", "3.5", True),
        (r"\boxed{$30\,\text{ml}$}", "30 ml", True),
        ("$x = 2$", "X=2", True),
        ("Answer: **June**", "june.", True),
        (r"\boxed{\frac{1}{3}}", r"\frac{1}{3}", True),
        (r"\boxed{\frac{1}{3}}", "1/3", False),
        ("x=1,  y = 2", "x = 1, y = 2", True),
        ("1 2", "12", False),
        ("30", "3", False),
        ("3 or 4", "3", False),
        ("", "3", False),
        (".", "!", False),
    ],
)
def test_matches(reply: str, gold: str, right: bool) -> None:
    """Equal but for form; what is equal only in value is left to a judge."""
    assert matches(reply, gold) is right


@given(st.text("abcXYZ019/=+-^_", min_size=1, max_size=12))
def test_any_answer_in_the_usual_places(gold: str) -> None:
    """Boxed, called the answer, or alone on the last line, the gold answer matches, and nothing longer does."""
    for reply in (
        rf"So $\boxed{{{gold}}}$.",
        f"The answer is {gold}.",
        f"Answer: **{gold.upper()}**",
        f"Well.\n{gold}\n",
    ):
        assert matches(reply, gold)
        assert not matches(reply, f"{gold}7")


def test_the_stand_in(tmp_path: Path) -> None:
    """The benchmark has one for the answer, with its own name, and none for the steps."""
    both = items(tmp_path, row(steps="a"))

    assert MMReason.proxy_name == "final-answer"
    assert MMReason().proxy(both["answer"], "So 3") == (0.0, "final answer 'So 3' is not the gold answer")
    assert MMReason().proxy(both["answer"], "Answer: 3") == (1.0, "final answer '3' is the gold answer")
    assert MMReason().proxy(both["steps"], "a") is None
