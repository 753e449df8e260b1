"""MT-Eval: A Multi-Turn Capabilities Evaluation Benchmark for Large Language Models (Kwan et al., arXiv 2401.16745)."""

from mmtests.mt_eval.benchmark import MTEval

__all__ = ["MTEval"]
