"""Engines: where kernels run."""

from allalike.engines.base import Engine, Run
from allalike.engines.memory import Memory

__all__ = ["ENGINES", "Engine", "Memory", "Run"]

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (Memory,)}
