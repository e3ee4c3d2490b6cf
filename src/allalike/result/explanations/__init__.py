"""Explanations: why a task was decided so, and why a worker counts so much."""
