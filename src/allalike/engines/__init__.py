"""Engines: where kernels run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from allalike.engines.base import Engine, Run, make_ready
from allalike.engines.growing import Growing
from allalike.engines.memory import Memory
from allalike.engines.news import News
from allalike.engines.task_table import Piece, TaskTable

if TYPE_CHECKING:
    from allalike.engines.disk import Disk
    from allalike.engines.spark import Spark

__all__ = ["ENGINES", "Disk", "Engine", "Growing", "Memory", "News", "Piece", "Run", "Spark", "TaskTable", "make_ready"]

_CLASSES = {"memory": "Memory", "disk": "Disk", "spark": "Spark"}


class _Engines(Mapping[str, type[Engine]]):
    """Import an engine when it is asked for: most people need the memory only."""

    def __getitem__(self, name: str) -> type[Engine]:
        engine: type[Engine] = getattr(import_module(f"allalike.engines.{name}"), _CLASSES[name])
        return engine

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


ENGINES: Mapping[str, type[Engine]] = _Engines()


def __getattr__(name: str) -> Any:
    """Import an engine by the name of its class."""
    home = next((home for home, known in _CLASSES.items() if known == name), None)
    if home is None:
        raise AttributeError(f"module 'allalike.engines' has no attribute {name!r}")
    return ENGINES[home]
