"""Tests of the vocabulary that all benchmarks share."""
