"""Which xdist worker runs what: whole dialogues, in blocks that every process works out alike.

xdist's own group modes either split dialogues or hang after a crash on current releases (pytest-xdist issues 1386 and
1378), so that we bring a scheduler of our own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from mmtests.benchmark import Benchmark
from mmtests.dialogue import dialogue_of

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController

LARGEST = 64
"""Dialogues of a block at most."""


def item_id(nodeid: str) -> str:
    """The item's id within a pytest node id."""
    return nodeid.partition("[")[2].removesuffix("]")


def joint_histories(benchmarks: Mapping[str, Benchmark]) -> frozenset[str]:
    """Names of the benchmarks whose tasks ask about one history."""
    return frozenset(name for name, benchmark in benchmarks.items() if benchmark.one_history)


def unit_of(name: str, joint: Container[str]) -> str:
    """What must not be divided: the dialogue of an item id or node id, or all that share its history.

    Args:
        joint: the benchmarks of ``joint_histories``.
    """
    dialogue = dialogue_of(item_id(name) or name)
    benchmark, _, rest = dialogue.partition("/")
    if benchmark not in joint:
        return dialogue
    _, _, below = rest.partition("/")  # without the task
    return f"{benchmark}/{below.partition('.')[0]}"


def blocks_of(names: Iterable[str], workers: int, joint: Container[str]) -> dict[str, int]:
    """Map each unit to the number of its block.

    Controller and workers call this on the same ids and agree without a message. Blocks are small enough that every
    worker gets at least two.

    Args:
        names: item ids or node ids.
        workers: how many processes share them; 0 for a single block.
        joint: as in ``unit_of``.
    """
    dialogues = list(dict.fromkeys(unit_of(name, joint) for name in names))
    size = max(1, min(LARGEST, len(dialogues) // (2 * workers))) if workers else max(1, len(dialogues))
    return {dialogue: index // size for index, dialogue in enumerate(dialogues)}


class Distributing:
    """Hooks that exist only with xdist."""

    def __init__(
        self,
        selected: Callable[[Sequence[str]], None],
        ended: Callable[[Mapping[str, Any]], None],
        benchmarks: Mapping[str, Benchmark],
    ) -> None:
        """
        Args:
            selected: is told what the workers collected.
            ended: is told what each worker sent at its end.
        """
        self._selected, self._ended = selected, ended
        self._joint = joint_histories(benchmarks)

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """A worker knows its items; all workers have the same."""
        self._selected(ids)

    def pytest_testnodedown(self, node: WorkerController) -> None:
        """A worker has ended. One that died has sent nothing."""
        self._ended(getattr(node, "workeroutput", {}))

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> BlockScheduling | None:
        """Schedule by blocks, unless the user asked for another mode by name."""
        return BlockScheduling(config, self._joint) if config.getoption("dist") == "load" else None


class BlockScheduling:
    """xdist's ``Scheduling`` protocol, with a block of dialogues as the unit of work.

    Attributes:
        registered: what each worker collected, ``{worker: ["test_x.py::test[a/1/turn-01]", ...]}``.
        pending: what each worker has still to do, ``{worker: {index: None, ...}}``, in order.
        units: blocks that no worker has yet, ``deque([[0, 1, 2], [3, 4]])``.
    """

    def __init__(self, config: pytest.Config, joint: Container[str]) -> None:
        self.config = config
        self._joint = joint
        self.numnodes = len(config.getoption("tx"))
        self.collection: list[str] | None = None
        self.registered: dict[WorkerController, list[str]] = {}
        self.pending: dict[WorkerController, dict[int, None]] = {}
        self.units: deque[list[int]] = deque()

    @property
    def nodes(self) -> list[WorkerController]:
        return list(self.pending)

    @property
    def collection_is_completed(self) -> bool:
        return len(self.registered) >= self.numnodes

    @property
    def tests_finished(self) -> bool:
        return self.collection_is_completed and not self.units and all(len(p) < 2 for p in self.pending.values())

    @property
    def has_pending(self) -> bool:
        return bool(self.units) or any(self.pending.values())

    def add_node(self, node: WorkerController) -> None:
        self.pending[node] = {}

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """A worker, or the one that replaces a dead worker, has collected."""
        if self.collection is None or list(collection) == self.collection:
            self.registered[node] = list(collection)

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        del self.pending[node][item_index]
        self._refill(node)

    def mark_test_pending(self, item: str) -> None:
        raise NotImplementedError("xdist asks for this only with --looponfail")

    def remove_pending_tests_from_node(self, node: WorkerController, indices: Sequence[int]) -> None:
        raise NotImplementedError("xdist asks for this only when it steals work")

    def remove_node(self, node: WorkerController) -> str | None:
        """A worker is gone. What it had left goes to the others, except the item it died of, which is returned."""
        left = list(self.pending.pop(node))
        if not left:
            return None
        assert self.collection is not None
        crashed, *rest = left
        if rest:
            self.units.appendleft(rest)
        for other in self.nodes:
            self._refill(other)
        return self.collection[crashed]

    def schedule(self) -> None:
        if self.collection is None:
            if self._collected_differently():
                return
            self.collection = next(iter(self.registered.values()))
            block = blocks_of(self.collection, self.numnodes, self._joint)
            units: dict[int, list[int]] = {}
            for index, nodeid in enumerate(self.collection):
                units.setdefault(block[unit_of(nodeid, self._joint)], []).append(index)
            self.units.extend(units.values())
            for node in self.nodes:  # one block for each before any gets a second
                if self.units:
                    self._send(node, self.units.popleft())
        for node in self.nodes:
            self._refill(node)

    def _collected_differently(self) -> bool:
        from xdist.report import report_collection_diff

        (first, ids), *others = self.registered.items()
        for node, other_ids in others:
            if difference := report_collection_diff(ids, other_ids, first.gateway.id, node.gateway.id):
                report = pytest.CollectReport(node.gateway.id, "failed", difference, [])
                self.config.hook.pytest_collectreport(report=report)
                return True
        return False

    def _refill(self, node: WorkerController) -> None:
        """Keep two items waiting: a worker starts one only once it knows the next."""
        if node.shutting_down or node not in self.registered:
            return
        while self.units and len(self.pending[node]) < 2:
            self._send(node, self.units.popleft())
        if not self.units and len(self.pending[node]) < 2:
            node.shutdown()

    def _send(self, node: WorkerController, unit: list[int]) -> None:
        self.pending[node].update(dict.fromkeys(unit))
        node.send_runtest_some(unit)
