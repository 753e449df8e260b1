"""Other harnesses over the same number of trivial items, where they are installed.

Each grades replies that are there at once by exact match, with its defaults, but without a network: telemetry and
uploads are off.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from benchmarks.timing import Side

PYTEST_EVALS = """
import pytest


@pytest.mark.eval(name="items")
@pytest.mark.parametrize("n", range({items}))
def test_item(n, eval_bag):
    eval_bag.right = n >= 0


@pytest.mark.eval_analysis(name="items")
def test_all(eval_results):
    assert all(one.result.right for one in eval_results)
"""

DEEPEVAL = """
import pytest
from deepeval import assert_test
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase


class Exact(BaseMetric):
    threshold, async_mode = 1.0, False

    def measure(self, case, *args, **kwargs):
        self.score = float(case.actual_output == case.expected_output)
        self.success = self.score >= 1
        return self.score

    async def a_measure(self, case, *args, **kwargs):
        return self.measure(case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Exact"


@pytest.mark.parametrize("n", range({items}))
def test_item(n):
    assert_test(LLMTestCase(input=str(n), actual_output="a", expected_output="a"), [Exact()])
"""

INSPECT = """
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match


def replies():
    while True:
        output = ModelOutput.from_content("mockllm/model", "a")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        yield output


task = Task(dataset=[Sample(input=str(n), target="a") for n in range({items})], scorer=match())
logs = eval(task, model=get_model("mockllm/model", custom_outputs=replies()), display="none", log_dir="logs")
assert logs[0].status == "success", logs[0].error
"""

LM_EVAL_TASK = """
task: items
dataset_path: json
dataset_kwargs:
  data_files: {{test: items.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["\\n"]}}
metric_list: [{{metric: exact_match}}]
"""


def sides(folder: Path, items: int) -> list[Side]:
    """The harnesses that are installed."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    if _installed("pytest_evals"):
        _write(folder / "pytest_evals" / "test_items.py", PYTEST_EVALS.format(items=items))
        command = [sys.executable, "-m", "pytest", "-q", "--run-eval", "--run-eval-analysis", "-p", "no:mmtests"]
        found.append(Side("pytest-evals", command, folder / "pytest_evals"))
    if _installed("deepeval"):
        _write(folder / "deepeval" / "test_items.py", DEEPEVAL.format(items=items))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:mmtests"]
        environment = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
        found.append(Side("deepeval under pytest", command, folder / "deepeval", environment))
    if _installed("inspect_ai"):
        _write(folder / "inspect" / "items.py", INSPECT.format(items=items))
        found.append(Side("inspect_ai", [sys.executable, "items.py"], folder / "inspect"))
    if _installed("lm_eval"):
        place = folder / "lm_eval"
        _write(place / "items.yaml", LM_EVAL_TASK.format())
        _write(place / "items.jsonl", "".join(f'{{"question": "{n}", "answer": "lol"}}\n' for n in range(items)))
        command = [
            sys.executable,
            "-m",
            "lm_eval",
            "run",
            "--model",
            "dummy",
            "--tasks",
            "items",
            "--include_path",
            ".",
        ]
        found.append(Side("lm-eval", command, place, {"HF_DATASETS_OFFLINE": "1"}))
    return found


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
