"""Tests of MileBench: its files, prompts, rules and tables."""
