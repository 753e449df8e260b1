"""MMRC."""

from mmtests.mmrc.benchmark import MMRC

__all__ = ["MMRC"]
