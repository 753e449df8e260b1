"""Scores come together to the paper's tables, and what has no score is never a zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

import pytest

from mmtests.dialogue import ADVERSARIAL, BLIND, SINGLE, Setting
from mmtests.milebench.aggregate import RANDOM, level, overall, row, summarise
from mmtests.milebench.needles import count_name, depth_name
from mmtests.milebench.published import RANDOM_OVERALL, RANDOM_SUBSETS, RANDOM_TASKS
from mmtests.milebench.tasks import ABILITIES, DIAGNOSTIC, REALISTIC, SCALE, SUBSETS, subsets_of
from mmtests.score import Record, Score
from mmtests.summary import BenchmarkSummary, Cell, Table

PRINTED = 0.1 + 1e-9
"""By how much a mean of printed figures may differ from the printed mean."""

DERIVED_OTHERWISE = {
    "table2": {
        # S-4 and S-5 are exchanged; the overall is over 26 subsets; the diagnostic cannot be derived.
        ("Random", "S-4"): (25.3, 0.0), ("Random", "S-5"): (0.0, 25.3),
        ("Random", "Realistic"): (22.3, 20.9), ("Random", "Diagnostic"): (5.5, 3.8),
        # N-1 and N-2 only.
        ("GPT-4V", "Diagnostic"): (99.4, 95.2), ("GPT-4o", "Diagnostic"): (99.4, 95.9),
        # LLaVA-1.5-13B's figures, and an overall of them.
        ("LLaVA-1.5-7B", "T-1"): (37.8, 37.0), ("LLaVA-1.5-7B", "T-2"): (45.5, 45.3),
        ("LLaVA-1.5-7B", "T-3"): (31.5, 31.8), ("LLaVA-1.5-7B", "T-4"): (46.4, 39.0),
        ("LLaVA-1.5-7B", "Realistic"): (38.0, 37.1),
        # LLaVA-1.6-7B's figures, and an overall of them.
        ("LLaVA-1.5-13B", "T-1"): (38.8, 37.8), ("LLaVA-1.5-13B", "T-2"): (44.4, 45.5),
        ("LLaVA-1.5-13B", "T-3"): (28.5, 31.5), ("LLaVA-1.5-13B", "T-4"): (33.0, 46.4),
        ("LLaVA-1.5-13B", "Realistic"): (40.3, 42.2),
        # One cell, and an overall with it.
        ("Mantis", "T-1"): (54.8, 44.8), ("Mantis", "Realistic"): (47.5, 46.4),
        ("LLaVA-1.6-13B", "T-1"): (32.8, 30.8), ("LLaVA-1.6-13B", "Realistic"): (37.5, 37.3),
        ("Open flamingo", "T-1"): (24.5, 25.2),
    },
    "table4": {
        ("Random", "S-4"): (25.3, 0.0), ("Random", "S-5"): (0.0, 25.3),
        ("Random", "Realistic"): (22.3, 20.9), ("Random", "Diagnostic"): (5.5, 3.8),
        # The row of Table 13 is shifted by a column.
        ("VILA", "T-1"): (34.5, 42.5), ("VILA", "T-2"): (39.1, 36.3), ("VILA", "T-3"): (32.3, 40.8),
        ("VILA", "T-4"): (46.4, 44.9), ("VILA", "Realistic"): (39.6, 40.9),
        # Not explained.
        ("Cheetor", "T-1"): (23.5, 23.2), ("Cheetor", "T-2"): (30.0, 21.0), ("Cheetor", "T-3"): (19.5, 35.5),
        ("Cheetor", "T-4"): (30.5, 24.8), ("Cheetor", "Realistic"): (26.0, 26.7),
    },
}  # fmt: skip
"""Cells of the paper that do not follow from its own subsets: printed, and derived."""

GPT_4O = {
    "ActionLocalization": 34.5, "ActionPrediction": 73.5, "ActionSequence": 77.5, "ObjectExistence": 52.0,
    "ObjectInteraction": 79.5, "MovingAttribute": 58.0, "ObjectShuffle": 37.5, "CounterfactualInference": 46.0,
    "StateChange": 54.0, "CharacterOrder": 86.5, "SceneTransition": 86.5, "WebQA": 79.5, "TQA": 80.0,
    "MultiModalQA": 85.0, "WikiVQA": 96.5, "CLEVR-Change": 20.3, "Spot-the-Diff": 18.1, "IEdit": 7.6, "MMCoQA": 70.0,
    "ALFRED": 24.4, "nuscenes": 86.5,
}  # fmt: skip
"""Some of its subsets, and what Table 2 makes of them."""
GPT_4O_TASKS = {"T-1": 61.8, "T-2": 56.8, "T-4": 68.3, "S-1": 85.3, "S-3": 15.3, "S-4": 47.2, "S-5": 86.5}


def whole(figures: Mapping[str, float]) -> dict[str, Cell]:
    """Cells with all their scores."""
    return {name: Cell(value, 1, 1) for name, value in figures.items()}


def record(
    subset: str,
    value: float | None,
    *,
    setting: Setting = SINGLE,
    id: str = "0",
    strict: float | None = None,
    **facts: Any,
) -> Record:
    """What a run keeps of an item; without a value it has no score."""
    by_mode = {"reference": value, "strict": value if strict is None else strict}
    return Record(
        f"milebench/{subset}/{setting}/{id}/turn-01", "milebench", subset, SUBSETS[subset][0], setting, id, 1,
        "unjudged" if value is None else "passed",
        score=None if value is None else Score(value, SCALE, "rule:x", by_mode=by_mode),  # type: ignore[arg-type]
        facts={"images": 2, **facts},
    )  # fmt: skip


def table(summary: BenchmarkSummary, title: str) -> Table:
    """The one table whose title begins so."""
    (found,) = [one for one in summary.tables if one.title.startswith(title)]
    return found


# The paper's tables


@pytest.mark.parametrize(("main", "parts"), [("table2", ("table11", "table12")), ("table4", ("table13", "table14"))])
def test_the_paper(reference: Callable[[str], Any], main: str, parts: tuple[str, str]) -> None:
    """Every task and overall figure follows from the subsets' figures, but those known to be in error, which are."""
    tables = reference("published_tables.json")["milebench"]
    realistic, diagnostic = tables[main]["columns"][-2:]
    wrong: dict[tuple[str, str], object] = {}
    compared = 0
    for printed in tables[main]["rows"]:
        model = printed["Model"].strip("*")
        figures = {subsets_of(ability)[0]: printed[ability] for ability in DIAGNOSTIC}
        for part in parts:
            (line,) = [one for one in tables[part]["rows"] if one["Model"].strip("*") == model]
            figures |= {name: line[column] for column, name in tables[part]["column_to_dataset"].items()}
        cells = whole(figures)
        derived = row(SINGLE, cells)
        found = {ability: derived.cells[ability].mean for ability in ABILITIES}
        found |= {"Realistic": derived.average, "Diagnostic": overall(derived.cells, cells, DIAGNOSTIC)}
        for name, value in found.items():
            said = printed[{"Realistic": realistic, "Diagnostic": diagnostic}.get(name, name)]
            assert value is not None
            compared += 1
            if abs(value - said) > PRINTED:
                wrong[model, name] = (said, pytest.approx(value, abs=0.0501))

    assert wrong == DERIVED_OTHERWISE[main]
    assert compared == 14 * len(tables[main]["rows"]) == {"table2": 322, "table4": 294}[main]


def test_gpt_4o() -> None:
    """Tasks are the plain means of their subsets (Tables 11 and 12 to Table 2)."""
    cells = row(SINGLE, whole(GPT_4O)).cells

    for ability, printed in GPT_4O_TASKS.items():
        assert cells[ability].mean == pytest.approx(printed, abs=PRINTED)


def test_table_3(reference: Callable[[str], Any]) -> None:
    """The gap is the normal set's overall minus the adversarial one's."""
    for printed in reference("published_tables.json")["milebench"]["table3"]["rows"]:
        records = [record(name, printed["Regular"] / 100) for name in SUBSETS]
        records += [record(name, printed["ADV"] / 100, setting=ADVERSARIAL) for name in SUBSETS]

        (gap,) = summarise(records, "paper").gaps

        assert (gap.setting, gap.minus) == (SINGLE, ADVERSARIAL)
        assert gap.average == pytest.approx(printed["Delta"])
        assert gap.abilities["T-1"] == pytest.approx(printed["Delta"])


def test_random_choice(reference: Callable[[str], Any]) -> None:
    """The random row is the paper's by subset; by task it differs where the paper's is in error."""
    tables = reference("published_tables.json")["milebench"]
    printed = {
        name: tables[part]["rows"][0][column]
        for part in ("table11", "table12")
        for column, name in tables[part]["column_to_dataset"].items()
    }
    table_2 = tables["table2"]["rows"][0]
    assert {name: value for name, value in RANDOM_SUBSETS.items() if SUBSETS[name][0] in REALISTIC} == printed
    assert {ability: RANDOM_TASKS[ability] for ability in ABILITIES} == {
        **{ability: table_2[ability] for ability in ABILITIES}, "S-4": table_2["S-5"], "S-5": table_2["S-4"],
    }  # fmt: skip


def test_random_choice_overall() -> None:
    """Derived as every other row is."""
    assert RANDOM_OVERALL == {"Realistic": 20.9, "Diagnostic": 3.8}


# The summary


def test_a_whole_run() -> None:
    """Percent, nine tasks in the average, three in the diagnostic, and each subset under its column."""
    values = dict.fromkeys(SUBSETS, 0.5) | {"ActionLocalization": 1.0, "GPR1200": 0.2}

    summary = summarise([record(name, value) for name, value in values.items()], "paper")

    (line,) = summary.rows
    assert summary.unit == "percent"
    assert summary.average_title == "Realistic"
    assert summary.columns == ABILITIES
    assert line.average_of == REALISTIC
    assert line.average == pytest.approx((200 / 3 + 8 * 50) / 9)
    assert table(summary, "Overall").rows[SINGLE]["Diagnostic"].mean == pytest.approx(40)
    assert table(summary, "Overall").published == {RANDOM: RANDOM_OVERALL}
    assert table(summary, "Tasks").rows[SINGLE]["T-1"].mean == pytest.approx(200 / 3)
    assert table(summary, "Temporal").rows[SINGLE]["AL"].mean == 100
    assert table(summary, "Temporal").rows[SINGLE]["MD"].mean == 50
    assert table(summary, "Temporal").published[RANDOM]["MA"] == 36.0
    assert table(summary, "Semantic").rows[SINGLE]["MD"].mean == 50
    assert len(table(summary, "Temporal").columns) == len(table(summary, "Semantic").columns) == 13
    assert table(summary, "Diagnostic").rows[SINGLE]["GPR1200"].mean == 20
    assert summary.notes == ()


def test_subsets_weigh_the_same() -> None:
    """A subset with many samples weighs no more than one with few."""
    records = [record("EgocentricNavigation", 1.0, id=str(number)) for number in range(9)]

    (line,) = summarise([*records, record("MovingDirection", 0.0)], "paper").rows

    assert line.cells["T-3"] == Cell(50.0, 10, 10)


def test_a_part_of_the_subsets() -> None:
    """A task is the mean of those that are there, a note says so, and there is no overall figure."""
    summary = summarise([record("EgocentricNavigation", 1.0), record("GPR1200", 1.0)], "paper")

    (line,) = summary.rows
    assert line.cells["T-3"].mean == 100
    assert line.average is None
    assert table(summary, "Overall").rows[SINGLE]["Diagnostic"] == Cell(None, 1, 1)
    assert summary.notes == ("single: tasks of which not all subsets are part of the run: T-3 1 of 2",)


def test_what_has_no_score_is_no_zero() -> None:
    """An item without a score makes its subset incomplete; a subset without any score leaves its task without a mean."""
    some = [
        record("EgocentricNavigation", 1.0),
        record("EgocentricNavigation", None, id="1"),
        record("MovingDirection", 1.0),
    ]
    none = [record("EgocentricNavigation", None), record("MovingDirection", 1.0)]

    (one,), (other,) = summarise(some, "paper").rows, summarise(none, "paper").rows

    assert one.cells["T-3"] == Cell(100.0, 2, 3)
    assert not one.cells["T-3"].complete
    assert other.cells["T-3"] == Cell(None, 1, 2)


def test_the_other_mode() -> None:
    """The figure of the other mode goes up to the task."""
    records = [record("EgocentricNavigation", 0.0, strict=1.0), record("MovingDirection", 1.0)]

    (line,) = summarise(records, "paper").rows

    assert line.cells["T-3"] == Cell(50.0, 2, 2, other_modes={"strict": 100.0})


def test_the_gap_to_the_blind_set() -> None:
    """What the pictures are worth."""
    records = [record("nuscenes", 0.75), record("nuscenes", 0.25, setting=BLIND)]

    (gap,) = summarise(records, "paper").gaps

    assert (gap.setting, gap.minus, gap.abilities) == (SINGLE, BLIND, {"S-5": 50.0})


def test_a_gap_needs_both() -> None:
    """No gap of a task with items without a score, and none overall."""
    records = [
        record("EgocentricNavigation", 1.0), record("nuscenes", 1.0),
        record("EgocentricNavigation", None, setting=ADVERSARIAL), record("nuscenes", 0.25, setting=ADVERSARIAL),
    ]  # fmt: skip

    (gap,) = summarise(records, "paper").gaps

    assert gap.abilities == {"S-5": 75.0}
    assert gap.average is None


@pytest.mark.parametrize(("images", "name"), [(2, "Few"), (5, "Few"), (6, "Medium"), (31, "Medium"), (32, "Many")])
def test_levels(images: int, name: str) -> None:
    """Fewer than 6, more than 31, and between."""
    assert level(images) == name


def test_by_number_of_images() -> None:
    """Plain means over samples; diagnostic subsets are not among the realistic ones."""
    records = [
        record("WebQA", 1.0, images=5), record("TQA", 0.0, images=3), record("TQA", 0.0, images=4, id="1"),
        record("TQA", 1.0, images=40, id="2"), record("GPR1200", 0.0, images=7),
    ]  # fmt: skip

    rows = table(summarise(records, "paper"), "By number of images").rows

    assert rows["all realistic"] == {"Few": Cell(100 * fmean([1, 0, 0]), 3, 3), "Many": Cell(100.0, 1, 1)}
    assert rows["TQA"] == {"Few": Cell(0.0, 2, 2), "Many": Cell(100.0, 1, 1)}
    assert rows["GPR1200"] == {"Medium": Cell(0.0, 1, 1)}


@pytest.mark.parametrize(
    ("depth", "name"),
    [(0, "0-10%"), (0.1, "10-20%"), (0.3, "30-40%"), (0.7, "70-80%"), (0.99, "90-100%"), (1, "90-100%")],
)
def test_depths(depth: float, name: str) -> None:
    """Ten equal parts, the end in the last; no part is missed by a rounding of binary fractions."""
    assert depth_name(depth) == name


@pytest.mark.parametrize(
    ("images", "name"),
    [(1, "2"), (2, "2"), (3, "3-4"), (4, "3-4"), (5, "5-8"), (16, "9-16"), (17, "17-32"), (64, "33-64"), (65, "65+"), (320, "65+")],
)  # fmt: skip
def test_numbers_of_images(images: int, name: str) -> None:
    """By doubling."""
    assert count_name(images) == name


def test_needles() -> None:
    """A grid of depth and number of images; where the depth is not known the sample counts in the row of all."""
    needle = "TextNeedleInAHaystack"
    records = [
        record(needle, 1.0, images=2, depth=0.5), record(needle, 0.0, images=8, depth=0.5, id="1"),
        record(needle, 0.0, images=8, id="2"),
    ]  # fmt: skip

    one = table(summarise(records, "paper"), needle)

    assert one.columns == ("all", "2", "5-8")
    assert one.rows == {
        "all": {"all": Cell(100 * fmean([1, 0, 0]), 3, 3), "2": Cell(100.0, 1, 1), "5-8": Cell(0.0, 2, 2)},
        "50-60%": {"all": Cell(50.0, 2, 2), "2": Cell(100.0, 1, 1), "5-8": Cell(0.0, 1, 1)},
    }
    assert "The depth of 1 of 3 is not in the data" in one.note
