"""Beginning a run: settings, data, models, store, run folder, and which object answers which hook."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from mmtests import __version__
from mmtests.benchmark import Benchmark, Loaded, installed
from mmtests.errors import UserError
from mmtests.fixtures.asking import Asking
from mmtests.fixtures.given import GivenByRun
from mmtests.fixtures.judge import Judge
from mmtests.fixtures.models.chat import ChatModel
from mmtests.fixtures.models.registry import ModelSpec, build
from mmtests.fixtures.scoring import PROXY, Scoring
from mmtests.fixtures.session import RUN as RUN_KEY
from mmtests.fixtures.store import Store
from mmtests.plugin.collecting import Collecting, load_data
from mmtests.plugin.devices import assign
from mmtests.plugin.outcomes import Outcomes
from mmtests.plugin.progress import Progressing
from mmtests.plugin.progress import wanted as progress_wanted
from mmtests.plugin.receiving import Receiving
from mmtests.plugin.running import Running
from mmtests.plugin.settings import Settings, read_settings
from mmtests.reply import Recorded
from mmtests.reports.folder import RUN, RunFolder, is_run, recorded_replies
from mmtests.reports.summary import RunSummary, summarise
from mmtests.rubric import Rubric, digests
from mmtests.score import Record


def start(config: pytest.Config) -> None:
    """Set up a run with a model under test.

    Raises:
        pytest.UsageError: with the one message that tells the user what to mend.
    """
    try:
        _start(config)
    except UserError as error:
        raise pytest.UsageError(str(error)) from error


def _start(config: pytest.Config) -> None:
    benchmarks = installed()
    settings = read_settings(config, benchmarks)
    assign(config, settings)
    data = load_data(settings, benchmarks)
    rubrics: dict[str, Mapping[str, Rubric]] = {}
    if settings.judge is not None:
        rubrics = _rubrics(settings.rubrics, [benchmarks[name] for name in data])
    store = None if settings.store is None else _store(settings.store, config)
    model, judge = _models(settings, benchmarks, store)
    if settings.cut_context and (obstacle := model.model.cannot_cut):
        raise UserError(f"--context-policy left: {obstacle}")
    scoring = Scoring(benchmarks, judge, rubrics, settings.mode)
    collecting = Collecting(data, settings, model, scoring, benchmarks)
    worker = hasattr(config, "workerinput")
    manager = config.pluginmanager
    running = Running(config, settings, model, scoring, collecting, store, benchmarks)
    manager.register(running, "mmtests-running")
    manager.register(GivenByRun(config.stash[RUN_KEY]), "mmtests-given")
    manager.register(collecting, "mmtests-collecting")
    manager.register(Outcomes(benchmarks, settings.data is None, worker), "mmtests-outcomes")
    if worker:
        return
    if config.option.collectonly:
        return
    folder = RunFolder(settings.run_dir or _new_folder(config.rootpath, settings.model.alias))
    described = _describe(config, settings, data, rubrics, model, judge)
    try:
        folder.write(RUN, described)
    except OSError as error:
        raise UserError(f"the run folder {folder.path} cannot be written: {error.strerror}") from error

    def summary(records: Sequence[Record], left_out: Mapping[str, str], unrun: Sequence[Record]) -> RunSummary:
        return summarise(
            records, benchmarks, model=settings.model.alias, judge=settings.judge.alias if settings.judge else None,
            mode=settings.mode, aggregation=settings.aggregation, left_out=left_out, unrun=unrun,
            available=collecting.available,
            skipped=[one for loaded in data.values() for one in loaded.skipped],
        )  # fmt: skip

    receiving = Receiving(folder, benchmarks, collecting, summary, config.rootpath, settings.threshold)
    manager.register(receiving, "mmtests-receiving")
    if manager.hasplugin("xdist"):
        from mmtests.plugin.distribution import Distributing

        manager.register(Distributing(receiving.select, running.worker_ended, benchmarks), "mmtests-distributing")
    if progress_wanted(config):
        manager.register(Progressing(config, running.counts), "mmtests-progress")


def _rubrics(folder: Path | None, benchmarks: Sequence[Benchmark]) -> dict[str, Mapping[str, Rubric]]:
    """Each benchmark's judge prompts: those of the user's folder for the benchmarks it is meant for, else our own.

    Raises:
        UserError: the folder is meant for none of them, or lacks a file of one.
    """
    meant = {
        one.name
        for one in benchmarks
        if folder is not None and any((folder / name).is_file() for name in one.rubric_files)
    }
    if folder is not None and not meant:
        known = "; ".join(f"{one.name}: {', '.join(one.rubric_files)}" for one in benchmarks if one.rubric_files)
        raise UserError(
            f"--rubrics {folder}: it holds none of the judge prompts that a benchmark has. They are {known}."
        )
    return {one.name: one.rubrics(folder if one.name in meant else None) for one in benchmarks}


def _store(path: Path, config: pytest.Config) -> Store:
    """Open the store. If it had to begin anew, say so."""
    store = Store(path)
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if store.mended is not None and terminal is not None:
        terminal.write_line(f"mmtests: the store {path} was {store.mended}", yellow=True)
    return store


def _models(
    settings: Settings, benchmarks: Mapping[str, Benchmark], store: Store | None
) -> tuple[Asking, Judge | None]:
    """The model under test, and the judge. One object where both are the same."""
    model = _asking(settings.model, settings, benchmarks, store)
    if settings.judge is None:
        return model, None
    same = (settings.judge.backend, settings.judge.name, settings.judge.arguments) == (
        settings.model.backend, settings.model.name, settings.model.arguments
    )  # fmt: skip
    if same and settings.model.backend != "replay":
        return model, Judge(Asking(model.model, store))
    return model, Judge(_asking(settings.judge, settings, benchmarks, store))


def _asking(spec: ModelSpec, settings: Settings, benchmarks: Mapping[str, Benchmark], store: Store | None) -> Asking:
    def recorded(path: str, name: str | None) -> Mapping[str, Recorded]:
        return _recorded(Path(path).expanduser(), name, benchmarks)

    chat_model: ChatModel = build(spec, concurrency=settings.concurrency, recorded=recorded)
    return Asking(chat_model, None if spec.backend == "replay" else store)


def _recorded(path: Path, name: str | None, benchmarks: Mapping[str, Benchmark]) -> Mapping[str, Recorded]:
    if not path.exists():
        raise UserError(f"--model replay:{path}: there is no such file or folder.")
    if is_run(path):
        return recorded_replies(path)
    faults = []
    for benchmark in benchmarks.values():
        try:
            return benchmark.recorded_replies(path, name)
        except UserError as error:
            faults.append(str(error))
    raise UserError(
        f"--model replay:{path}: neither a run of mmtests nor a benchmark's own output: {'; '.join(faults)}"
    )


def _new_folder(root: Path, model: str) -> Path:
    name = "".join(c if c.isalnum() or c in "-._" else "-" for c in model)[-60:]
    runs = root / ".mmtests" / "runs"
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{name}"
    taken = (runs / f"{stem}{f'-{n}' if n else ''}" for n in range(1000))
    return next(path for path in taken if not path.exists())


def _describe(
    config: pytest.Config,
    settings: Settings,
    data: Mapping[str, Loaded],
    rubrics: Mapping[str, Mapping[str, Rubric]],
    model: Asking,
    judge: Judge | None,
) -> dict[str, Any]:
    """The content of ``run.json``."""
    fingerprint = {
        "data": {name: loaded.digest for name, loaded in data.items()},
        "settings": settings.settings,
        "scoring": settings.mode,
        "aggregation": settings.aggregation,
        "images": settings.images,
        "context": "left" if settings.cut_context else "whole",
        "judge": dict(judge.asking.identity) if judge else PROXY,
        "rubrics": {name: digests(one) for name, one in rubrics.items()},
        "limit": settings.limit,
        "sample": [settings.sample, settings.seed] if settings.sample else None,
    }
    return {
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": [_without_secrets(str(argument)) for argument in config.invocation_params.args],
        "model": {"alias": settings.model.alias, **model.identity},
        "judge": {"alias": settings.judge.alias, **judge.asking.identity} if settings.judge and judge else None,
        "fingerprint": fingerprint,
        "embedded_sample": settings.data is None,
        "versions": {"mmtests": __version__, "python": platform.python_version(), **_versions()},
        "machine": {"platform": platform.platform(), "cpus": os.cpu_count(), "python": sys.implementation.name},
    }


def _without_secrets(argument: str) -> str:
    """An argument as it may be written down: without an address's password, and without request fields."""
    if argument.startswith("extra_body="):
        return "extra_body=***"
    return re.sub(r"//[^/@\s]+@", "//***@", argument)


def _versions() -> dict[str, str]:
    found = {}
    for package in ("pytest", "pytest-xdist", "torch", "transformers", "openai", "langdetect", "emoji"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
