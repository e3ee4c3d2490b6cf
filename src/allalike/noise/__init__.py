"""Noise: how workers err, what that says about their faults, how to weigh them, and how to draw their answers."""

from allalike._core.late import lend

__all__, __getattr__ = lend(__spec__)
