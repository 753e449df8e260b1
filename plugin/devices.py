"""Which worker computes on which GPU: each on one of its own."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from mmtests.errors import UserError
from mmtests.plugin.settings import Settings


def assign(config: pytest.Config, settings: Settings) -> None:
    """In a worker, leave it one GPU. In the controller, see that there are enough.

    Must run before torch is imported, which looks at the GPUs once.

    Raises:
        UserError: several workers would load a local model on the same device.
    """
    local = [spec for spec in (settings.model, settings.judge) if spec and spec.backend == "transformers"]
    if not local:
        return
    gpus = visible_gpus()
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        if gpus:
            number = int(re.sub(r"\D", "", worker["workerid"]) or 0)
            os.environ["CUDA_VISIBLE_DEVICES"] = gpus[number % len(gpus)]
        return
    workers = len(config.getoption("tx", None) or ())
    if workers > max(len(gpus), 1) and not settings.share_devices:
        have = f"{len(gpus)} GPU{'s' if len(gpus) != 1 else ''}" if gpus else "no GPU"
        raise UserError(
            f"-n starts {workers} workers, and each would load {local[0].alias!r}; there is {have}. One process with a large "
            f"--batch-size is faster than several that share a device. Leave -n out, lower it to {max(len(gpus), 1)}, or "
            f"insist with --share-devices."
        )


def visible_gpus() -> list[str]:
    """Names of the GPUs that this process may use, as CUDA_VISIBLE_DEVICES gives them; without importing torch."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1")]
    numbers = [path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia[0-9]*")]
    return sorted(numbers, key=int)
