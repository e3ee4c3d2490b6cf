"""Engines, which run kernels. The memory engine is the default; the others are imported at first use."""

from typing import TYPE_CHECKING

from allalike._core.registry import Registry
from allalike.engines.base import Engine, Run, make_ready
from allalike.engines.memory import Memory
from allalike.engines.sums import Piece, TaskTable

if TYPE_CHECKING:
    from allalike.engines.disk import Disk
    from allalike.engines.spark import Spark

__all__ = ["ENGINES", "Disk", "Engine", "Memory", "Piece", "Run", "Spark", "TaskTable", "make_ready"]

ENGINES: Registry[Engine] = Registry(
    "engine", Engine, __name__, {"memory": "memory:Memory", "disk": "disk:Disk", "spark": "spark:Spark"}
)

if not TYPE_CHECKING:
    __getattr__ = ENGINES.find_class
