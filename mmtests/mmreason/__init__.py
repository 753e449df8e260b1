"""MMReason."""

from mmtests.mmreason.benchmark import MMReason

__all__ = ["MMReason"]
