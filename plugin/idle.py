"""Without a model: benchmark tests are not collected, and one line says how to run them."""

from __future__ import annotations

from typing import Any


class Idle:
    """Keeps benchmark tests out of a session that names no model."""

    def __init__(self) -> None:
        self._seen = False

    def pytest_pycollect_makeitem(self, obj: object) -> list[Any] | None:
        """Make nothing of a function that is marked as a benchmark's."""
        marks = getattr(obj, "pytestmark", None)
        if not isinstance(marks, list) or not any(getattr(mark, "name", None) == "mmtests" for mark in marks):
            return None
        self._seen = True
        return []

    def pytest_report_collectionfinish(self) -> str | None:
        """Say how to run what was left out, if anything was."""
        if not self._seen:
            return None
        return "mmtests: no model is named, so no benchmark test is collected. Run them: pytest --model smollm2-135m"
