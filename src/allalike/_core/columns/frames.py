"""Several columns as one table, of pandas or of Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.values import Values, arrow_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa

    Columns = Mapping[str, Values | npt.NDArray[np.generic]]

__all__ = ["frame_of", "table_of", "text_column"]


def frame_of(columns: Columns) -> pd.DataFrame:
    """Return columns as a pandas frame."""
    import pandas as pd

    return pd.DataFrame({n: c.series() if isinstance(c, Values) else c for n, c in columns.items()})


def table_of(columns: Columns) -> pa.Table:
    """Return columns as an Arrow table."""
    import pyarrow as pa

    arrays = [column.arrow() if isinstance(column, Values) else arrow_of(column) for column in columns.values()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def text_column(texts: list[str]) -> Values:
    """Return texts as a column, from their bytes (Arrow's own way imports pandas)."""
    import pyarrow as pa

    parts = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return Values(pa.LargeStringArray.from_buffers(len(parts), pa.py_buffer(ends), pa.py_buffer(b"".join(parts))))
