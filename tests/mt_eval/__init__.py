"""Tests of MT-Eval: its files, rules, judge prompts and tables."""
