"""MMDU: A Multi-Turn Multi-Image Dialog Understanding Benchmark (Liu et al., arXiv 2406.11833)."""

from mmtests.mmdu.benchmark import MMDU

__all__ = ["MMDU"]
