"""From data to pytest items."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from mmtests.benchmark import Benchmark, Loaded
from mmtests.dialogue import Dialogue, Item
from mmtests.errors import BadRecords, UserError
from mmtests.fixtures.asking import Asking
from mmtests.fixtures.scoring import Scoring
from mmtests.plugin.settings import Settings
from mmtests.policies import ImagePolicies, resized


def load_data(settings: Settings, benchmarks: Mapping[str, Benchmark]) -> dict[str, Loaded]:
    """Each benchmark's dialogues: of the user's data folder, or of the embedded samples.

    Raises:
        UserError: nothing usable in the folder.
    """
    folders = {
        name: benchmark.sample if settings.data is None else _folder_of(settings.data, benchmark)
        for name, benchmark in benchmarks.items()
    }
    found = {
        name: _with_policies(
            benchmarks[name].load(folder, settings.settings, BadRecords(settings.skip_bad_records)),
            settings.images,
            benchmarks[name],
        )
        for name, folder in folders.items()
        if folder is not None
    }
    if settings.data is not None and not any(loaded.dialogues for loaded in found.values()):
        if skipped := [one for loaded in found.values() for one in loaded.skipped]:
            raise UserError(
                f"--data {settings.data}: all records were skipped, {len(skipped)} bad ones. The first: {skipped[0]}"
            )
        raise UserError(
            f"--data {settings.data}: nothing usable is in it. It must hold the official files of a benchmark, or a "
            f"folder of them named {' or '.join(benchmarks)}."
        )
    return found


def _with_policies(loaded: Loaded, policies: ImagePolicies, benchmark: Benchmark) -> Loaded:
    dialogues = loaded.dialogues
    if policies.combine:
        dialogues = [benchmark.combine(dialogue) for dialogue in dialogues]
    if policies.resize is not None:
        dialogues = [resized(dialogue, policies.resize) for dialogue in dialogues]
    return replace(loaded, dialogues=dialogues)


def _folder_of(data: Path, benchmark: Benchmark) -> Path | None:
    return next((folder for folder in (data / benchmark.name, data) if benchmark.recognises(folder)), None)


def choose(dialogues: Sequence[Dialogue], settings: Settings) -> list[Dialogue]:
    """Apply ``--limit`` and ``--sample`` to the dialogues of each task and setting."""
    groups: dict[tuple[str, str], list[Dialogue]] = {}
    for dialogue in dialogues:
        groups.setdefault((dialogue.task, dialogue.setting), []).append(dialogue)
    chosen = []
    for (task, setting), group in groups.items():
        if settings.sample is not None and settings.sample < len(group):
            # A generator for each group, so that choosing other tasks as well changes nothing.
            kept = random.Random(f"{settings.seed} {task} {setting}").sample(range(len(group)), settings.sample)
            group = [group[index] for index in sorted(kept)]
        chosen += group[: settings.limit]
    return chosen


class Collecting:
    """Makes one pytest item of each scored turn."""

    def __init__(
        self,
        data: Mapping[str, Loaded],
        settings: Settings,
        model: Asking,
        scoring: Scoring,
        benchmarks: Mapping[str, Benchmark],
    ) -> None:
        self._data, self._settings, self._model, self._scoring = data, settings, model, scoring
        self._benchmarks = benchmarks
        self._dialogues = {name: choose(loaded.dialogues, settings) for name, loaded in data.items()}
        self.items: dict[str, Item] = {}
        """Those made so far, by item id."""

    @property
    def available(self) -> dict[str, int]:
        """Items in the data by benchmark, before anything is selected."""
        return {
            name: sum(turn.scored for dialogue in loaded.dialogues for turn in dialogue.turns)
            for name, loaded in self._data.items()
        }

    def pytest_report_collectionfinish(self, config: pytest.Config) -> str | None:
        """Say so if the session has none of what the header promises."""
        if self.items:
            return None
        return (
            "mmtests: no benchmark item was collected. To run them beside your own tests: --pyargs mmtests YOUR_TESTS"
        )

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give a marked test function its items."""
        marker = metafunc.definition.get_closest_marker("mmtests")
        if marker is None:
            return
        benchmark, task = self._marked(marker, metafunc.function.__name__)
        if "item" not in metafunc.fixturenames:
            raise UserError(
                f"{metafunc.function.__name__}: a test of {task!r} must use the fixture reply, score or item."
            )
        parameters = []
        for item in self._items(benchmark, task):
            self.items[item.id] = item
            obstacle = self._obstacle(item, metafunc.fixturenames)
            marks = (pytest.mark.skip(reason=obstacle),) if obstacle else ()
            parameters.append(pytest.param(item, id=item.id, marks=marks))
        metafunc.parametrize("item", parameters)

    def _obstacle(self, item: Item, fixtures: Sequence[str]) -> str | None:
        """Why a test with these fixtures cannot be run in this run at all; None if it can."""
        if "reply" not in fixtures and "score" not in fixtures:
            return None
        if next(item.dialogue.images, None) is not None and not self._model.model.sees_images:
            return f"has images, and {self._model.name} takes none (--setting blind asks the same without them)"
        return self._scoring.obstacle(item) if "score" in fixtures else None

    def _items(self, benchmark: str, task: str) -> Iterator[Item]:
        for dialogue in self._dialogues.get(benchmark, ()):
            if dialogue.task == task:
                yield from dialogue.items

    def _marked(self, marker: pytest.Mark, function: str) -> tuple[str, str]:
        if len(marker.args) != 2 or marker.kwargs:
            raise UserError(f'{function}: the mark must read @pytest.mark.mmtests("BENCHMARK", "TASK").')
        benchmark, task = marker.args
        known = [f"{name}/{task}" for name, one in self._benchmarks.items() for task in one.tasks]
        if f"{benchmark}/{task}" not in known:
            raise UserError(
                f"{function}: its mark names {benchmark}/{task}, and there is no such task. Known: {', '.join(known)}."
            )
        return benchmark, task

    def pytest_pycollect_makeitem(self, obj: object) -> list[pytest.Item] | None:
        """Make nothing of a test whose task has no item in the data: pytest would make a placeholder."""
        marks = getattr(obj, "pytestmark", None)
        mark = next((m for m in marks if m.name == "mmtests"), None) if isinstance(marks, list) else None
        if mark is None:
            return None
        try:
            benchmark, task = self._marked(mark, getattr(obj, "__name__", repr(obj)))
        except UserError as error:
            raise pytest.Collector.CollectError(str(error)) from None
        return None if next(self._items(benchmark, task), None) else []

    def nothing_selected(self, config: pytest.Config) -> str:
        """What to say when ``-k`` or ``-m`` leaves no item."""
        option = config.option
        given = {
            f"-k {option.keyword!r}": option.keyword,
            f"-m {option.markexpr!r}": option.markexpr,
            "--deselect": option.deselect,
            "--lf": getattr(option, "lf", False),
        }
        chosen = " with ".join(name for name, used in given.items() if used)
        items = [item for dialogues in self._dialogues.values() for one in dialogues for item in one.items]
        tasks = sorted({item.dialogue.task for item in items})
        settings = dict.fromkeys(item.dialogue.setting for item in items)
        return (
            f"{chosen} selects none of the {len(items)} benchmark items. Their names read like {items[0].id}. "
            f"Tasks: {', '.join(tasks)}. Settings: {', '.join(settings)}."
        )

    def pytest_report_header(self) -> list[str]:
        """Count what there is to choose from."""
        return [line for name, loaded in self._data.items() for line in self._described(name, loaded)]

    def _described(self, name: str, loaded: Loaded) -> Iterator[str]:
        where = "embedded sample" if self._settings.data is None else str(loaded.folder)
        yield f"{name} ({where}), scored turns:"
        tasks = self._benchmarks[name].tasks
        counts = Counter(
            (dialogue.setting, dialogue.task) for dialogue in self._dialogues[name] for _ in dialogue.items
        )
        for setting in dict.fromkeys(setting for setting, _ in counts):
            by_ability: dict[str, dict[str, int]] = {}
            for task, count in ((task, count) for (one, task), count in counts.items() if one == setting):
                by_ability.setdefault(tasks[task].ability, {})[task] = count
            parts = ", ".join(f"{ability} {_sum(found)}" for ability, found in by_ability.items())
            yield f"  {setting} {sum(sum(found.values()) for found in by_ability.values())}: {parts}"
        if loaded.absent:
            yield f"  not in the folder, so not part of the run: {', '.join(loaded.absent)}"
        for note in loaded.notes:
            yield f"  {note}"
        if loaded.skipped:
            yield f"  {len(loaded.skipped)} bad records skipped, the first: {loaded.skipped[0]}"


def _sum(found: Mapping[str, int]) -> str:
    """380 (recollection-cls 100, recollection-global-inst 280)"""
    parts = ", ".join(f"{task} {count}" for task, count in found.items())
    return f"{sum(found.values())}" + (f" ({parts})" if len(found) > 1 else "")
