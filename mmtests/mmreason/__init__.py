"""MMReason: an open-ended benchmark of multi-step reasoning over images (arXiv 2506.23563)."""

from mmtests.mmreason.benchmark import MMReason

__all__ = ["MMReason"]
