"""MileBench."""

from mmtests.milebench.benchmark import MileBench

__all__ = ["MileBench"]
