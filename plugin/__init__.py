"""How pytest runs it: the hooks, each a few lines that delegate.

Every pytest session of an environment with mmtests imports this module, so that it imports nothing that costs time
until a model is named.
"""

from __future__ import annotations

import pytest

from mmtests.fixtures.given import chat, item, judge, record_score, reply, score, threshold
from mmtests.plugin.options import add_options

__all__ = [
    "chat",
    "item",
    "judge",
    "pytest_addoption",
    "pytest_configure",
    "pytest_load_initial_conftests",
    "record_score",
    "reply",
    "score",
    "threshold",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare our options."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """See to it that the value of an option of ours does not move the project's root."""
    if early_config.known_args_namespace.model is not None:
        from mmtests.plugin.rootdir import find_again

        find_again(early_config, args)


@pytest.hookimpl(trylast=True)  # after pytest's own, so that the terminal reporter is there
def pytest_configure(config: pytest.Config) -> None:
    """Begin a run if a model is named; else see to it that benchmark tests are left alone."""
    config.addinivalue_line("markers", "mmtests(benchmark, task): one test for each scored turn of a benchmark's task")
    if config.getoption("--model") is None:
        from mmtests.plugin.idle import Idle

        config.pluginmanager.register(Idle(), "mmtests-idle")
    else:
        from mmtests.plugin.starting import start

        start(config)
