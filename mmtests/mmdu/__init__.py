"""MMDU."""

from mmtests.mmdu.benchmark import MMDU

__all__ = ["MMDU"]
