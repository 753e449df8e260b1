"""Naming models, asking them over HTTP, and keeping their replies."""
