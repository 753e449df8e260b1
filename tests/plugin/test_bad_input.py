"""Whatever the user gets wrong is one clear message that says how to mend it, and exit status 4."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmtests.mt_eval import MTEval
from mmtests.reports.folder import read_records
from tests.loopback import Answer, Loopback

USAGE_ERROR = 4

Complains = Callable[..., str]

OPENAI = ("--model", "openai:test", "--model-arg", "base_url=http://127.0.0.1:1/v1")
"""A model that is never asked."""


@pytest.fixture
def complains(pytester: pytest.Pytester) -> Complains:
    """Runs the embedded sample with the arguments, and sees that one complaint is all that comes of it."""

    def run(*args: str) -> str:
        return complaint_of(pytester.runpytest_subprocess("--pyargs", "mmtests", *args, timeout=60))

    return run


def complaint_of(result: pytest.RunResult) -> str:
    """The one error of a run that ended with a usage error."""
    output = f"{result.stdout}\n{result.stderr}"
    errors = [line for line in output.splitlines() if line.startswith("ERROR: ")]
    assert result.ret == USAGE_ERROR, output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output
    assert len(errors) == 1, output
    return errors[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--model", "smolm2-135m"), ["smolm2-135m: no model has this alias. Did you mean smollm2-135m, ", "BACKEND:"]),
        (("--model", "ollama:llama3"), ["no backend 'ollama'", "transformers, openai, replay"]),
        ((*OPENAI, "--model-arg", "timeout"), ["--model-arg timeout: it must read KEY=VALUE"]),
        ((*OPENAI, "--model-arg", "tiemout=3"), ["unknown argument 'tiemout'. Did you mean 'timeout'?", "Known: model"]),
        ((*OPENAI, "--model-arg", "timeout=soon"), ["model 'openai:test': argument", "float", "timeout"]),
        (("--model", "gpt-4o"), ["model 'gpt-4o': no key. Set the environment variable OPENAI_API_KEY"]),
        ((*OPENAI, "--data", "nowhere"), ["--data nowhere: there is no such folder"]),
        ((*OPENAI, "--data", "."), ["--data ", "nothing usable is in it", "mt_eval"]),
        (
            (*OPENAI, "-k", "follow-up", "--deselect", "mt_eval/"),
            ["-k 'follow-up' with --deselect selects none of the"],
        ),
        ((*OPENAI, "--model-arg", "too_many_images=drop"), ["too_many_images: ", "fail, drop-oldest, drop-newest"]),
        ((*OPENAI, "-k", "refinment"), ["-k 'refinment' selects none of the", "expansion, follow-up", "single, multi"]),
        ((*OPENAI, "--threshold", "11"), ["--threshold 11: outside the scale"]),
        ((*OPENAI, "--judge-arg", "timeout=1"), ["--judge-arg and --rubrics need --judge MODEL"]),
        ((*OPENAI, "--aggregation", "median"), ["--aggregation median: unknown. Known: paper, reference-code"]),
        ((*OPENAI, "--setting", "golden"), ["--setting golden: unknown. Known: multi, single, gold"]),
        ((*OPENAI, "--run-dir", "taken.py"), ["the run folder", "taken.py", "cannot be written", "--run-dir"]),
        ((*OPENAI, "--run-dir", "taken.py/run"), ["the run folder", "taken.py/run", "cannot be written", "--run-dir"]),
        ((*OPENAI, "--run-dir", "earlier"), ["already holds the records of a run", "--run-dir"]),
        ((*OPENAI, "--store", "earlier"), ["the store", "earlier", "cannot be used: unable to open", "--store off"]),
        (("--model", "transformers:./nowhere"), ["there is no folder ./nowhere", "config.json"]),
        (("--model", "transformers:bare"), ["bare has no config.json"]),
        (("--model", "transformers:base"), ["base has no chat template", "--model-arg chat_template=FILE"]),
        (("--model", "replay:nowhere"), ["--model replay:nowhere: there is no such file or folder"]),
        (("--model", "replay:bare"), ["--model replay:bare: neither a run of mmtests nor", "refinement/multi_MODEL"]),
    ],
    ids=lambda value: " ".join(value).replace("--", "").removeprefix(" ".join(OPENAI).replace("--", "")).strip()
    if isinstance(value, tuple)
    else "",
)  # fmt: skip
def test_a_wrong_option(
    arguments: tuple[str, ...], says: list[str], complains: Complains, pytester: pytest.Pytester
) -> None:
    """The message names the option's value, and what would be right."""
    pytester.makefile(".py", taken="# a file: no folder can be made here")
    pytester.mkdir("bare")
    (pytester.mkdir("base") / "config.json").write_text("{}")
    earlier = pytester.mkdir("earlier")
    (earlier / "records.jsonl").write_text("")
    (earlier / "summary.json").write_text('{"complete": true}')

    complaint = complains(*arguments)

    assert [part for part in says if part not in complaint] == [], complaint


@pytest.mark.parametrize("option", [("--limit", "0"), ("--sample", "many"), ("--scoring", "lax")])
def test_a_value_of_the_wrong_kind(option: tuple[str, str], pytester: pytest.Pytester) -> None:
    """What the command line itself can tell is told with the option's name and value."""
    result = pytester.runpytest_subprocess("--pyargs", "mmtests", *OPENAI, *option, timeout=60)

    assert result.ret == USAGE_ERROR
    result.stderr.fnmatch_lines([f"*argument {option[0]}*{option[1]}*"])


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("[tool.mmtests]\nmodel = 'gpt-4o'", ["[tool.mmtests]", "unknown field `model`", "models and thresholds"]),
        ("[tool.mmtests.thresholds]\nrefinement = 'high'", ["[tool.mmtests]", "float", "thresholds"]),
        ("[tool.mmtests.thresholds]\nrefinment = 5", ["'refinment': there is no such task", "refinement"]),
        ("[tool.mmtests.thresholds]\nrefinement = 0", ["threshold 0 of mt_eval/refinement is outside its scale 1-10"]),
        ("[tool.mmtests.models.mine]\nbackend = 'vllm'", ["model 'mine': backend is 'vllm'", "openai"]),
    ],
    ids=["field", "type", "task", "scale", "backend"],
)
def test_a_wrong_project_file(table: str, says: list[str], complains: Complains, pytester: pytest.Pytester) -> None:
    """The project's own settings are checked like options."""
    pytester.makepyprojecttoml(f"[tool.pytest.ini_options]\n{table}")
    model = ("--model", "mine") if "mine" in table else OPENAI

    complaint = complains(*model)

    assert [part for part in says if part not in complaint] == [], complaint


def sample_rows() -> list[dict[str, Any]]:
    """The refinement dialogues of the embedded sample."""
    text = (MTEval.sample / "refinement_multi.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def lines(rows: list[dict[str, Any]]) -> str:
    """The content of a data file."""
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (lines(sample_rows()) + '{"id": "3", "conv": [', ["refinement_multi.jsonl:3: not JSON"]),
        (lines([sample_rows()[0], sample_rows()[0]]), ["refinement_multi.jsonl:2: ", "'1_sum_qa'", "that of line 1"]),
        (lines([{"id": "1"}]), ["refinement_multi.jsonl:1: missing field `conv`"]),
        ("", ["refinement_multi.jsonl: the file is empty"]),
    ],
    ids=["cut", "twice", "field", "empty"],
)
def test_a_wrong_data_file(content: str, says: list[str], complains: Complains, pytester: pytest.Pytester) -> None:
    """The message names file, line and field."""
    (pytester.mkdir("data") / "refinement_multi.jsonl").write_text(content)

    complaint = complains(*OPENAI, "--data", "data")

    assert [part for part in says if part not in complaint] == [], complaint


def test_a_file_that_is_no_store_is_moved_aside(server: Loopback, pytester: pytest.Pytester) -> None:
    """A broken store costs a line, and not the run."""
    pytester.makefile(".sqlite", mine="# a file, and not a short one: it is no store, or no longer one " * 2)

    result = pytester.runpytest_subprocess(
        "--pyargs", "mmtests", "--model=openai:test", f"--model-arg=base_url={server.url}", "--store=mine.sqlite",
        "-k", "follow-up and single and 1", timeout=60,
    )  # fmt: skip

    assert result.ret in (0, 1)
    result.stdout.fnmatch_lines(
        ["mmtests: the store *mine.sqlite was broken (file is not a database): it was moved to *"]
    )
    (aside,) = pytester.path.glob("mine.sqlite.broken-*")
    assert aside.read_text().startswith("# a file, and not a short one")


def test_an_endpoint_that_refuses(complains: Complains) -> None:
    """A closed port is named before anything is asked."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"

    complaint = complains("--model", "openai:test", "--model-arg", f"base_url={address}", "-k", "follow-up")

    assert f"model 'openai:test': the endpoint {address} cannot be reached" in complaint
    assert "--model-arg base_url" in complaint


def test_an_endpoint_that_hangs(complains: Complains) -> None:
    """An endpoint that takes connections and never answers is not waited for again with each item."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"

        complaint = complains(
            "--model", "openai:test", "--model-arg", f"base_url={address}", "--model-arg", "timeout=1", "-k", "follow-up"
        )  # fmt: skip

    assert f"the endpoint {address} does not answer. Is it up, and is --model-arg base_url right?" in complaint


def test_an_endpoint_that_rejects_the_key(complains: Complains, server: Loopback) -> None:
    """A wrong key is found out by one small request."""
    server.models = Answer(status=401)

    complaint = complains("--model", "openai:test", "--model-arg", f"base_url={server.url}", "-k", "follow-up")

    assert f"the endpoint {server.url} rejects the key in OPENAI_API_KEY (HTTP 401)" in complaint
    assert server.requests == []


def test_a_wrong_judge_is_found_before_the_model_is_asked(server: Loopback, complains: Complains) -> None:
    """The judge's endpoint is checked too, at the beginning."""
    complaint = complains(
        "--model", "openai:test", "--model-arg", f"base_url={server.url}",
        "--judge", "openai:judge", "--judge-arg", "base_url=http://127.0.0.1:1/v1", "-k", "follow-up",
    )  # fmt: skip

    assert "model 'openai:judge': the endpoint http://127.0.0.1:1/v1 cannot be reached" in complaint
    assert server.requests == []


def test_selecting_nothing_with_workers(server: Loopback, complains: Complains) -> None:
    """A selection without an item is the same mistake with workers, although only they collect."""
    complaint = complains(
        "--model", "openai:test", "--model-arg", f"base_url={server.url}", "-k", "refinment", "-n2"
    )  # fmt: skip

    assert "-k 'refinment' selects none of the" in complaint


def test_a_mistake_is_told_once_with_workers(pytester: pytest.Pytester) -> None:
    """Workers do not repeat what the first process has said."""
    result = pytester.runpytest_subprocess("--pyargs", "mmtests", "--model", "nobody", "-n2", timeout=60)

    assert "no model has this alias" in complaint_of(result)


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_disk_that_is_full_in_mid_run(server: Loopback, pytester: pytest.Pytester) -> None:
    """The run ends with one message, and every record written before is whole."""
    server.behaviour = lambda request: Answer("Basil, mint and chives are easy. " * 60)
    script = pytester.makepyfile(
        small_disk="""
        import resource, sys
        import pytest

        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
        sys.exit(pytest.main(sys.argv[1:]))
        """
    )

    result = pytester.run(
        sys.executable, script, "--pyargs", "mmtests", "-q", "--tb=no", "-rN", "--store=off", "--run-dir=run",
        "--model=openai:test", f"--model-arg=base_url={server.url}", "-k", "refinement and multi",
        timeout=60,
    )  # fmt: skip

    output = f"{result.stdout}\n{result.stderr}"
    written = list(read_records(Path("run")))
    assert result.ret == USAGE_ERROR
    assert 0 < len(written) < 24
    assert all(record.reply for record in written)
    assert (Path("run") / "records.jsonl").stat().st_size == 30_000
    assert "Traceback" not in output
    assert output.count("cannot be written") == 1
    assert "Make room and run the same command again" in output
