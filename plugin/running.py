"""The engine's place in a pytest session: planned when the selection is final, closed when the session ends."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from mmtests.benchmark import Benchmark
from mmtests.dialogue import Dialogue, Item
from mmtests.errors import UserError
from mmtests.fixtures.asking import Asking
from mmtests.fixtures.engine import Engine
from mmtests.fixtures.models.endpoint import Endpoint
from mmtests.fixtures.scoring import Scoring
from mmtests.fixtures.session import GIVEN, RUN, Given, Run
from mmtests.fixtures.store import Store
from mmtests.image import BadImage, Image, Source, check
from mmtests.plugin.collecting import Collecting
from mmtests.plugin.distribution import blocks_of, item_id, joint_histories, unit_of
from mmtests.plugin.settings import Settings

LOST = "mmtests_lost"
"""What a worker calls the addresses that it lost, in what it sends at its end."""


class Running:
    """In every process that runs tests, and in the controller, which only checks endpoints."""

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        model: Asking,
        scoring: Scoring,
        collecting: Collecting,
        store: Store | None,
        benchmarks: Mapping[str, Benchmark],
    ) -> None:
        self._config, self._settings, self._model, self._scoring = config, settings, model, scoring
        self._collecting, self._store, self._benchmarks = collecting, store, benchmarks
        self._uses: Counter[str] = Counter()
        self._bad: dict[str, str] = {}
        """Dialogues with images that cannot be used, and why not."""
        self._lost_in_workers: list[str] = []
        """As the workers told."""
        limits = {
            (name, task.name): task.max_new_tokens for name, one in benchmarks.items() for task in one.tasks.values()
        }
        may_cut = {name for name, one in benchmarks.items() if settings.cut_context and one.cut_left}
        self.engine = Engine(model, scoring, limits, may_cut)
        config.stash[RUN] = Run(self.engine, settings.thresholds)

    @property
    def counts(self) -> Engine | None:
        """What the engine knows of its progress; None where workers have the engines."""
        return None if self._controls_workers() else self.engine

    def pytest_report_header(self) -> list[str]:
        """Say what is tested, and how it is scored."""
        settings = self._settings
        judge = settings.judge.alias if settings.judge else "none, judged tasks are scored by proxy"
        limit = settings.model.arguments.get("max_new_tokens")
        cut = f" (at most {limit} new tokens instead of the benchmarks' own limits)" if limit else ""
        return [f"mmtests: model {settings.model.alias}{cut}, judge {judge}, scoring mode {settings.mode}"]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """The selection is final: plan the blocks. One block if this is the only process."""
        if self._controls_workers():
            return
        if not session.items and self._collecting.items and not session.testsfailed:
            raise pytest.UsageError(self._collecting.nothing_selected(self._config))
        selected = [
            item for node in session.items
            if (item := self._collecting.items.get(item_id(node.nodeid))) and not node.get_closest_marker("skip")
        ]  # fmt: skip
        selected = self._with_sound_images(selected)
        self._uses.update(item.id for item in selected)
        selected = list({item.id: item for item in selected}.values())
        blocks: dict[int, list[Any]] = {}
        joint = joint_histories(self._benchmarks)
        numbers = blocks_of([item.id for item in selected], _workers(self._config), joint)
        for item in selected:
            blocks.setdefault(numbers[unit_of(item.id, joint)], []).append(item)
        self.engine.plan(blocks.values())

    def _with_sound_images(self, selected: list[Item]) -> list[Item]:
        """Those whose images can be used. Better one message now than an item that fails after hours.

        A worker leaves it to the item that comes to such an image: it fails with the same words.

        Raises:
            pytest.UsageError: an image that cannot be used, unless such records are to be skipped.
        """
        skip = self._settings.skip_bad_records
        if self._config.option.collectonly or (hasattr(self._config, "workerinput") and not skip):
            return selected
        seen: dict[Source, str | None] = {}
        for dialogue in {item.dialogue.key: item.dialogue for item in selected}.values():
            for image in (*dialogue.images, *self._for_judge(dialogue)):
                if image.source not in seen:
                    seen[image.source] = _fault(image)
                if (fault := seen[image.source]) is None:
                    continue
                if not skip:
                    raise pytest.UsageError(fault)
                self._bad.setdefault(dialogue.key, fault)
        return [item for item in selected if item.dialogue.key not in self._bad]

    def _for_judge(self, dialogue: Dialogue) -> Iterable[Image]:
        task = self._benchmarks[dialogue.benchmark].tasks[dialogue.task]
        if self._scoring.judge is None or not task.judged:
            return ()
        return self._benchmarks[dialogue.benchmark].judge_images(dialogue)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Before the first test: are the endpoints there? Better one message now than one for each item."""
        if session.config.option.collectonly or hasattr(session.config, "workerinput"):
            return
        if not self._controls_workers() and not session.items:
            return
        judge = self._scoring.judge
        # What was collected stays until the end: the garbage collector need not walk it again and again.
        gc.collect()
        gc.freeze()
        try:
            for asking in (self._model, *([judge.asking] if judge else [])):
                if isinstance(asking.model, Endpoint):
                    self.engine.run(asking.model.check())
        except UserError as error:
            raise pytest.UsageError(str(error)) from error

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Before the fixtures of an item's test are made: a place for what it will be given."""
        run = self._config.stash[RUN]
        tested = (
            item.callspec.params.get("item")
            if isinstance(item, pytest.Function) and hasattr(item, "callspec")
            else None
        )
        run.given = None
        if isinstance(tested, Item) and (fault := self._bad.get(tested.dialogue.key)):
            pytest.skip(f"bad record skipped: {fault}")
        if isinstance(tested, Item):
            run.given = Given(tested.id, "", tested.dialogue.setting, tested)
            if self._benchmarks[tested.dialogue.benchmark].owns(item.nodeid, self._config.rootpath):
                item.stash[GIVEN] = (
                    run.given
                )  # a team's own test of the same item passes or fails, and is no score of it

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        """What the item was given is in its record now; unless another test wants it, too, let go of it."""
        run = self._config.stash[RUN]
        if run.given is not None and run.given.item is not None:
            self._uses[run.given.id] -= 1
            if not self._uses[run.given.id]:
                self.engine.forget(run.given.item)
        run.given = None

    def _controls_workers(self) -> bool:
        return bool(self._config.getoption("tx", None)) and not hasattr(self._config, "workerinput")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Stop whatever is under way. A worker tells the controller what its report must name."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[LOST] = self._lost_here()
        self._close()

    def pytest_unconfigure(self) -> None:
        """The same where the session never began."""
        self._close()

    def _close(self) -> None:
        self.engine.close()
        if self._store is not None:
            self._store.close()

    def worker_ended(self, sent: Mapping[str, Any]) -> None:
        """Take what a worker sent at its end."""
        self._lost_in_workers += sent.get(LOST, [])

    def _lost_here(self) -> list[str]:
        """Models with an address each that could not be reached."""
        judge = self._scoring.judge
        models = dict.fromkeys((self._model.model, *([judge.asking.model] if judge else [])))
        return [f"{model.name}: {url}" for model in models if isinstance(model, Endpoint) for url in model.lost]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """A store that could not be written, or an address that did not answer, is worth knowing."""
        for lost in dict.fromkeys((*self._lost_here(), *self._lost_in_workers)):
            terminalreporter.write_line(f"mmtests: {lost} did not answer and was left out", yellow=True)
        if self._store is not None and self._store.trouble is not None:
            terminalreporter.write_line(
                f"mmtests: the store {self._store.path} failed: {self._store.trouble}", yellow=True
            )


def _fault(image: Image) -> str | None:
    try:
        check(image)
    except BadImage as error:
        return str(error)
    return None


def _workers(config: pytest.Config) -> int:
    """How many processes share the items; 0 if this one has them all."""
    workerinput: Mapping[str, Any] = getattr(config, "workerinput", {})
    return int(workerinput.get("workercount", 0))
