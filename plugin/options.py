"""The command line."""

from __future__ import annotations

import pytest


def add_options(parser: pytest.Parser) -> None:
    """Declare every option of ours, with its default in its help."""
    group = parser.getgroup("mmtests", "mmtests: evaluation of chat models")
    add = group.addoption
    add("--model", metavar="MODEL", help="The model under test: an alias, or BACKEND:NAME with a backend of transformers, "
        "openai, replay. Without it no benchmark test is collected")  # fmt: skip
    add(
        "--model-arg",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="An argument of the model's backend (repeatable)",
    )
    add("--judge", metavar="MODEL", help="The model that judges, named like --model (default: none; judged tasks are then "
        "scored by a proxy against the reference reply)")  # fmt: skip
    add(
        "--judge-arg",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="An argument of the judge's backend (repeatable)",
    )
    add("--rubrics", metavar="DIR", help="Folder of a benchmark's official judge prompts, in place of ours")
    add("--data", metavar="DIR", help="Folder of official data files, or of one folder for each benchmark (default: the "
        "embedded sample)")  # fmt: skip
    add("--setting", metavar="NAME", action="append", default=[], help="How the content is put to the model: multi, single, "
        "gold, adversarial, blind (repeatable, or with commas; default: multi and single, and those that -k names)")  # fmt: skip
    add("--limit", metavar="N", type=_positive, help="Only the first N dialogues of each task and setting")
    add("--sample", metavar="N", type=_positive, help="Only N random dialogues of each task and setting")
    add("--seed", metavar="S", type=int, default=0, help="Seed of --sample (default: 0)")
    add("--threshold", metavar="X", type=float, help="Score from which a selected item passes, on its native scale (default: "
        "[tool.mmtests.thresholds], else the benchmark's)")  # fmt: skip
    add("--scoring", choices=("reference", "strict"), default="reference", help="reference: the official scorers, quirks "
        "included; strict: the sane rule where those are wrong (default: reference)")  # fmt: skip
    add("--aggregation", metavar="NAME", default="paper", help="How scores are aggregated (default: paper; MT-Eval also has "
        "reference-code)")  # fmt: skip
    add("--context-policy", choices=("whole", "left"), default="whole", help="Of a message that does not fit the model's context: "
        "whole fails; left cuts MileBench's from the left, whole pieces and images at a time, instruction kept, and flags it "
        "(its own rule; needs --model-arg image_tokens=N). Other benchmarks have no such rule (default: whole)")  # fmt: skip
    add("--concurrency", metavar="N|auto", type=_count_or_auto, default="auto", help="Requests in flight at an endpoint; auto: "
        "as many as it bears (default: auto)")  # fmt: skip
    add("--batch-size", metavar="N|auto", type=_count_or_auto, default="auto", help="Requests that a local model decodes "
        "together; halved where memory is short (default: auto, which begins with 16)")  # fmt: skip
    add("--deterministic", action="store_true", help="A local model decodes one request at a time and reads its whole history "
        "again each turn, so that no reply depends on what else is under way")  # fmt: skip
    add(
        "--share-devices",
        action="store_true",
        help="With -n, let several workers load a local model on the same device",
    )
    add("--image-policy", metavar="POLICY", action="append", default=[], help="What is done to images, and flagged: resize=PIXELS "
        "(the longer side at most; nothing is enlarged) or combine (those of a message in one grid picture; MileBench's combined "
        "set) (repeatable, or with commas; default: nothing)")  # fmt: skip
    add("--skip-bad-records", action="store_true", help="Leave out records of the data that cannot be used, and count them in "
        "the report (default: the first one ends the run)")  # fmt: skip
    add(
        "--run-dir",
        metavar="DIR",
        help="Folder for the run's records and summary (default: a new one in .mmtests/runs)",
    )
    add("--store", metavar="FILE", help="File of stored replies and verdicts, or off (default: .mmtests/store.sqlite)")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _count_or_auto(text: str) -> int | str:
    return text if text == "auto" else _positive(text)


_count_or_auto.__name__ = "positive whole number or auto"
_positive.__name__ = "positive whole number"  # argparse says: invalid positive whole number value: '0'
