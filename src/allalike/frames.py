"""Result tables, in the same type of data frame as the answers.

Tables are polars frames for polars frames, Arrow tables for Arrow, DuckDB and other Arrow streams, Hugging Face data
sets for Hugging Face data sets, and pandas frames for files, rows and pandas frames. `FrameMixin.tables_as` selects
another type. Only pandas frames have an index; in the others, it becomes the first column.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic

from allalike._core.columns.values import Values, frame_of, table_of
from allalike._core.lazy_imports import pa, pd
from allalike._core.options import check_choice
from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import TypeVar

    from allalike._core.blocks.block import Array
    from allalike.engines import Run

    Frame = TypeVar("Frame", default=pd.DataFrame)
else:
    from typing import TypeVar

    Frame = TypeVar("Frame")

_EXTRAS = {"polars": "polars", "datasets": "huggingface"}


class FrameMixin(Generic[Frame]):
    """Base class of results with tables; its type parameter is the type of the frames (default: pandas).

    >>> import allalike, polars
    >>> frame = polars.DataFrame({"worker": ["ada", "bob"], "task": [1, 1], "label": ["x", "x"]})
    >>> type(allalike.discover(frame).truth).__module__.partition(".")[0]
    'polars'
    """

    run: Run

    def tables_as(self, frame: str) -> Any:
        """Return a copy with tables of another type: ``pandas``, ``polars``, ``arrow`` or ``datasets``.

        >>> import allalike
        >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x")])
        >>> result.tables_as("arrow").truth.column_names[:2]
        ['task', 'label']
        """
        return replace(
            self, run=replace(self.run, frame=check_choice(frame, ("pandas", "polars", "arrow", "datasets"), "frame"))
        )  # type: ignore[type-var]

    def _to_frame(self, table: Mapping[str, Values | Array] | pd.DataFrame, index: str = "") -> Frame:
        made: Frame = make_frame(table, self.run.frame, index)
        return made


def make_frame(table: Mapping[str, Values | Array] | pd.DataFrame, frame: str, index: str = "") -> Any:
    """Return columns or a pandas frame as a frame of type ``frame``; its index becomes the column ``index``.

    >>> import numpy as np
    >>> make_frame({"task": np.array([1, 2])}, "polars").shape
    (2, 1)
    """
    if frame == "pandas":
        return frame_of(table) if isinstance(table, Mapping) else table
    if not isinstance(table, Mapping):
        table = table if isinstance(table.index, pd.RangeIndex) else table.rename_axis(index=index).reset_index()
        names = [" ".join(map(str, name)).strip() if isinstance(name, tuple) else str(name) for name in table.columns]
        table = {each: _take_over(table.iloc[:, n]) for n, each in enumerate(number_repeated(names))}
    made = table_of({name: _typed(column) for name, column in table.items()})
    return made if frame == "arrow" else _hand_over(made, frame)


def number_repeated(names: Sequence[str]) -> list[str]:
    """Return distinct names: a repeated name, such as that of a class called task, gets a number.

    >>> number_repeated(["task", "x", "task"])
    ['task', 'x', 'task.2']
    """
    return [name if name not in names[:n] else f"{name}.{n}" for n, name in enumerate(names)]


def _take_over(column: pd.Series[Any]) -> Values:
    if column.dtype == object:
        return Values([None if missing else value for value, missing in zip(column, column.isna(), strict=True)])
    return Values(pa.Array.from_pandas(column))


def _typed(column: Values | Array) -> Values | Array:
    """Convert Python objects to Arrow, and sets to lists; values unknown to Arrow remain, and later become text."""
    if not isinstance(column, Values) or not isinstance(column.data, list):
        return column
    listed = [sorted(value) if isinstance(value, Set) else value for value in column.data]
    try:
        return Values(pa.array(listed))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return column


def _hand_over(table: pa.Table, frame: str) -> Any:
    """Convert an Arrow table to polars or to a Hugging Face data set."""
    try:
        package = import_module(frame)
    except ImportError:
        message = f"{frame} is not installed. Install it with: pip install 'allalike[{_EXTRAS[frame]}]'."
        raise UnsupportedError(message) from None
    return package.from_arrow(table) if frame == "polars" else package.Dataset(table)
