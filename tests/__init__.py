"""Tests of mmtests itself."""
