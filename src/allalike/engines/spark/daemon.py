"""The process from which Spark forks its Python workers, with their modules loaded."""

from __future__ import annotations

import gc
from importlib import import_module

_NEEDED = ("pyarrow.compute", "pyarrow.csv", "allalike.engines.spark.on_executors")


def serve() -> None:
    """Load modules, and fork a worker for each request by Spark."""
    from pyspark.daemon import manager

    for name in _NEEDED:
        import_module(name)
    gc.freeze()
    manager()


if __name__ == "__main__":
    serve()
