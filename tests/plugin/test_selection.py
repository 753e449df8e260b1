"""Which items a run has, and what is asked for them."""

from __future__ import annotations

import pytest

from mmtests.dialogue import MULTI, dialogue_of
from tests.conftest import RunBenchmark
from tests.loopback import Loopback
from tests.plugin.scripts import of_judge, of_model, scripted


def collected(result: pytest.RunResult) -> list[str]:
    """The ids of the items that ``--collect-only -q`` listed."""
    assert result.ret == 0
    return [line.partition("[")[2].removesuffix("]") for line in result.outlines if "::" in line]


def test_a_selected_turn_asks_for_the_turns_before_it(server: Loopback, run_benchmark: RunBenchmark) -> None:
    """Turn 4 needs turns 1 to 3 as its history: each is asked once, with the replies so far, and none is judged."""
    server.behaviour = scripted(setting=MULTI)

    result = run_benchmark("-v", "-k", "1_sum_qa and turn-04", judge=True)

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*::test_refinement[[]mt_eval/refinement/multi/1_sum_qa/turn-04[]] PASSED*"])
    asked = of_model(server.requests)
    replies = [f"This is said at mt_eval/refinement/multi/1_sum_qa/turn-{number:02}." for number in (1, 2, 3)]
    assert [len(request["messages"]) for request in asked] == [2, 4, 6, 8]
    assert [m["content"] for m in asked[-1]["messages"] if m["role"] == "assistant"] == replies
    assert asked[-1]["messages"][0]["role"] == "system"
    assert len(of_judge(server.requests)) == 1


def test_given_turns_are_not_asked_for(server: Loopback, run_benchmark: RunBenchmark) -> None:
    """Turns that the data gives stand in the history with the data's replies."""
    server.behaviour = scripted(setting=MULTI)

    run_benchmark("-k", "follow-up and multi/1 and turn-03", judge=True)

    (asked,) = of_model(server.requests)
    assert [m["role"] for m in asked["messages"]] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert asked["messages"][2]["content"].startswith("Basil, mint and chiv")


@pytest.mark.parametrize(
    ("keyword", "count", "holds"),
    [
        ("refinement", 44, "mt_eval/refinement/multi/1_sum_qa/turn-04"),
        ("mt_eval and recollection and not single", 38, "mt_eval/recollection-cls/multi/1/turn-02"),
        ("gold and refinement", 24, "mt_eval/refinement/gold/1_sum_qa/turn-04"),
    ],
)
def test_selecting_by_name(keyword: str, count: int, holds: str, run_benchmark: RunBenchmark) -> None:
    """``-k`` finds the pieces of an item's id, and brings in the gold setting where it names it."""
    found = collected(run_benchmark("--collect-only", "-q", "-k", keyword))

    assert len(found) == count
    assert holds in found


def test_the_setting_option(run_benchmark: RunBenchmark) -> None:
    """``--setting`` decides alone."""
    found = collected(run_benchmark("--collect-only", "-q", "--setting", "gold"))

    assert {id.split("/")[2] for id in found} == {"gold"}
    assert sum(id.startswith("mt_eval/") for id in found) == 85


def test_the_first_dialogues(run_benchmark: RunBenchmark) -> None:
    """``--limit`` takes whole dialogues, so many of each task and setting."""
    found = collected(run_benchmark("--collect-only", "-q", "--limit", "1", "--setting", "multi"))

    assert sorted({dialogue_of(id).removeprefix("mt_eval/") for id in found if id.startswith("mt_eval/")}) == [
        "expansion/multi/1",
        "follow-up/multi/1",
        "recollection-cls/multi/1",
        "recollection-global-inst/multi/1",
        "refinement/multi/1_sum_qa",
    ]
    assert sum("refinement" in id for id in found) == 12


def test_random_dialogues(run_benchmark: RunBenchmark) -> None:
    """``--sample`` chooses by ``--seed`` alone: not by what else is selected, and not by chance."""

    def choose(seed: int, *args: str) -> list[str]:
        return collected(run_benchmark("--collect-only", "-q", "--sample", "3", "--seed", str(seed), *args))

    first = choose(1)

    single = [id for id in first if "refinement/single" in id]
    assert len(single) == 3
    assert choose(1, "-k", "refinement and single") == single
    assert choose(2, "-k", "refinement and single") != single


def test_what_only_a_judge_can_score_is_left_out(server: Loopback, run_benchmark: RunBenchmark) -> None:
    """Without a judge, items that have no reference reply are skipped with the reason, counted, and not asked for."""
    result = run_benchmark("-rs", "-k", "refinement and single")

    assert result.ret == 4  # a gate must not take it for a pass that nothing was scored
    result.stdout.fnmatch_lines(
        ["ERROR: nothing was scored: all 20 selected items were left out. needs a judge: without one there is nothing*"]
    )
    result.stdout.fnmatch_lines(
        [
            "*not scored: 20 items: needs a judge: without one*",
            "SKIPPED *needs a judge: without one there is nothing to score it by (--judge MODEL)*",
        ]
    )
    assert server.requests == []
