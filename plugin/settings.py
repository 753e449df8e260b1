"""All that the user chose, checked at once and then frozen."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct, field, structs

from mmtests.benchmark import Benchmark
from mmtests.dialogue import SETTINGS, USUAL, Setting
from mmtests.errors import UserError
from mmtests.fixtures.models.pacing import Concurrency
from mmtests.fixtures.models.registry import ModelSpec, resolve
from mmtests.policies import ImagePolicies
from mmtests.score import Mode


class Project(Struct, frozen=True, forbid_unknown_fields=True):
    """``[tool.mmtests]`` in the user's pyproject.toml."""

    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)
    """By ``task`` or ``benchmark/task``."""


class Settings(Struct, frozen=True):
    """A run's settings."""

    model: ModelSpec
    judge: ModelSpec | None
    data: Path | None
    settings: tuple[Setting, ...]
    rubrics: Path | None
    limit: int | None
    sample: int | None
    seed: int
    thresholds: Mapping[tuple[str, str], float]
    """By benchmark and task."""
    threshold: float | None
    """Of all selected items, if the user set one."""
    mode: Mode
    aggregation: str
    concurrency: Concurrency
    share_devices: bool
    skip_bad_records: bool
    images: ImagePolicies
    cut_context: bool
    """True: a message that does not fit is cut from its left."""
    run_dir: Path | None
    store: Path | None


def read_settings(config: pytest.Config, benchmarks: Mapping[str, Benchmark]) -> Settings:
    """Read options and ``[tool.mmtests]``.

    Raises:
        UserError: whatever is wrong with them.
    """
    option = config.getoption
    project = _project(config.rootpath / "pyproject.toml")
    judge = option("--judge")
    known = {name for benchmark in benchmarks.values() for name in benchmark.aggregations}
    if option("--aggregation") not in known:
        raise UserError(f"--aggregation {option('--aggregation')}: unknown. Known: {', '.join(sorted(known))}.")
    if judge is None and (option("--judge-arg") or option("--rubrics")):
        raise UserError("--judge-arg and --rubrics need --judge MODEL: the run has no judge.")
    store = option("--store")
    return Settings(
        model=_local(resolve(option("--model"), option("--model-arg"), project.models, "--model"), config),
        judge=None
        if judge is None
        else _local(resolve(judge, option("--judge-arg"), project.models, "--judge"), config),
        data=_folder(option("--data"), "--data", config),
        settings=_settings(option("--setting"), str(option("keyword", ""))),
        rubrics=_folder(option("--rubrics"), "--rubrics", config),
        limit=option("--limit"),
        sample=option("--sample"),
        seed=option("--seed"),
        thresholds=_thresholds(project, option("--threshold"), benchmarks),
        threshold=option("--threshold"),
        mode=option("--scoring"),
        aggregation=option("--aggregation"),
        concurrency=option("--concurrency"),
        share_devices=option("--share-devices"),
        skip_bad_records=option("--skip-bad-records"),
        images=_image_policies(option("--image-policy")),
        cut_context=option("--context-policy") == "left",
        run_dir=_path(option("--run-dir"), config),
        store=None if store == "off" else _path(store, config) or config.rootpath / ".mmtests" / "store.sqlite",
    )


def _local(spec: ModelSpec, config: pytest.Config) -> ModelSpec:
    """The model with what the command line says of local models, if it is one."""
    if spec.backend != "transformers":
        return spec
    arguments = dict(spec.arguments)
    if (size := config.getoption("--batch-size")) != "auto":
        arguments["batch_size"] = size
    if config.getoption("--deterministic"):
        arguments |= {"batch_size": 1, "prefix_cache": 0}
    return structs.replace(spec, arguments=arguments)


def _project(path: Path) -> Project:
    if not path.is_file():
        return Project()
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("mmtests", {})
        return msgspec.convert(table, Project)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise UserError(f"{path}: [tool.mmtests]: {error}. It may have models and thresholds.") from error


def _path(written: str | None, config: pytest.Config) -> Path | None:
    return None if written is None else (config.invocation_params.dir / Path(written).expanduser()).resolve()


def _folder(written: str | None, option: str, config: pytest.Config) -> Path | None:
    path = _path(written, config)
    if path is not None and not path.is_dir():
        raise UserError(f"{option} {written}: there is no such folder ({path}).")
    return path


def _settings(written: Sequence[str], keyword: str) -> tuple[Setting, ...]:
    named = [name for entry in written for name in entry.split(",")]
    if unknown := [name for name in named if name not in SETTINGS]:
        raise UserError(f"--setting {unknown[0]}: unknown. Known: {', '.join(SETTINGS)}.")
    if named:
        return tuple(setting for setting in SETTINGS if setting in named)
    # -k asks for the others, too.
    return tuple(setting for setting in SETTINGS if setting in USUAL or re.search(rf"\b{setting}\b", keyword))


def _image_policies(written: Sequence[str]) -> ImagePolicies:
    policies = ImagePolicies()
    for policy in (one for entry in written for one in entry.split(",")):
        name, _, value = policy.partition("=")
        if policy == "combine":
            policies = structs.replace(policies, combine=True)
        elif name == "resize" and value.isdecimal() and int(value) > 0:
            policies = structs.replace(policies, resize=int(value))
        else:
            raise UserError(f"--image-policy {policy}: it must be combine, or resize=PIXELS.")
    return policies


def _thresholds(
    project: Project, everywhere: float | None, benchmarks: Mapping[str, Benchmark]
) -> dict[tuple[str, str], float]:
    tasks = {(name, task.name): task for name, benchmark in benchmarks.items() for task in benchmark.tasks.values()}
    known = {task for _, task in tasks} | {"/".join(key) for key in tasks}
    if unknown := [name for name in project.thresholds if name not in known]:
        raise UserError(
            f"[tool.mmtests.thresholds] {unknown[0]!r}: there is no such task. Known: {', '.join(sorted(known))}."
        )
    chosen = {}
    for (benchmark, name), task in tasks.items():
        own = project.thresholds.get(f"{benchmark}/{name}", project.thresholds.get(name, task.threshold))
        # Tasks have several scales: those that the option does not fit must not be selected, and receiving sees to that.
        chosen[benchmark, name] = own if everywhere is None or everywhere not in task.scale else everywhere
        if chosen[benchmark, name] not in task.scale:
            raise UserError(
                f"threshold {chosen[benchmark, name]:g} of {benchmark}/{name} is outside its scale {task.scale}."
            )
    return chosen
