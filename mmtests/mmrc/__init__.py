"""MMRC: a benchmark of multimodal real-world conversation (arXiv 2502.11903)."""

from mmtests.mmrc.benchmark import MMRC

__all__ = ["MMRC"]
