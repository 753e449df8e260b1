"""Where a needle lies: how deep in the context, and among how many images (paper section 3.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mmtests.dialogue import Part, Text

DEPTHS = tuple(f"{low}-{low + 10}%" for low in range(0, 100, 10))
"""The paper's ten equidistant depths."""
COUNTS = ("2", "3-4", "5-8", "9-16", "17-32", "33-64", "65+")
"""Numbers of images, by doubling: the paper has 2 to 64."""


def depth_of(parts: Sequence[Part], gold: str) -> float | None:
    """How deep in the context a text needle stands: its images before it, of all, 0 to 1.

    None where no text has the password, because it is within a picture: the annotation does not say in which.
    """
    needle = re.compile(rf"(?<!\w){re.escape(gold.strip())}(?!\w)")
    place = next((at for at, part in enumerate(parts) if isinstance(part, Text) and needle.search(part.text)), None)
    if place is None:
        return None
    before = sum(not isinstance(part, Text) for part in parts[:place])
    total = sum(not isinstance(part, Text) for part in parts)
    return before / total if total else None


def depth_name(depth: float) -> str:
    """Which of ``DEPTHS``; the very end belongs to the last."""
    return DEPTHS[min(int(depth * 10 + 1e-9), 9)]


def count_name(images: int) -> str:
    """Which of ``COUNTS``; a single image counts with two."""
    return COUNTS[min(max(images - 1, 1).bit_length() - 1, len(COUNTS) - 1)]
