"""Kinds of frames: which of those in which tables can go out answers came in."""

from __future__ import annotations

from typing import Any

__all__ = ["find_frame"]

_KINDS = {"pandas": "pandas", "polars": "polars", "pyarrow": "arrow", "datasets": "datasets", "pyspark": "pandas"}


def find_frame(source: Any) -> str:
    """Name the kind of frame that answers came in: that of pandas, unless they came in another one.

    >>> import pyarrow as pa
    >>> find_frame(pa.table({"worker": ["ada"]})), find_frame("answers.csv")
    ('arrow', 'pandas')
    """
    package = type(source).__module__.partition(".")[0]
    return _KINDS.get(package) or (
        "arrow" if hasattr(source, "__arrow_c_stream__") or "duckdb" in package else "pandas"
    )
