"""Runs of the plugin as a user makes them: pytest in a subprocess, and a real server where a model is asked."""
