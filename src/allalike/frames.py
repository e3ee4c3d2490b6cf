"""Frames: the tables of results in the kind of frame in which the answers came.

Answers from polars give tables of polars, those from Arrow, DuckDB or anything else that hands over a stream of Arrow
give tables of Arrow, and a data set of Hugging Face gives such data sets. Files, rows and frames of pandas give frames
of pandas. Whatever came in, `Framed.tables_as` gives another kind. Frames other than those of pandas have no index: it
becomes the first column.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic

from allalike._core.columns.values import Values, frame_of, table_of
from allalike._core.late import pa, pd
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


class Framed(Generic[Frame]):
    """What has tables: they are frames of the kind that came in, for a type checker those of pandas unless it is said.

    >>> import allalike, polars
    >>> frame = polars.DataFrame({"worker": ["ada", "bob"], "task": [1, 1], "label": ["x", "x"]})
    >>> type(allalike.discover(frame).truth).__module__.partition(".")[0]
    'polars'
    """

    run: Run

    def tables_as(self, frame: str) -> Any:
        """Return the same with tables of another kind of frame.

        >>> import allalike
        >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x")])
        >>> result.tables_as("arrow").truth.column_names[:2]
        ['task', 'label']
        """
        return replace(
            self, run=replace(self.run, frame=check_choice(frame, ("pandas", "polars", "arrow", "datasets"), "frame"))
        )  # type: ignore[type-var]

    def _dress(self, table: Mapping[str, Values | Array] | pd.DataFrame, index: str = "") -> Frame:
        dressed: Frame = dress(table, self.run.frame, index)
        return dressed


def dress(table: Mapping[str, Values | Array] | pd.DataFrame, frame: str, index: str = "") -> Any:
    """Return columns, or a frame of pandas, as a frame of this kind; an index becomes a column of this name.

    >>> import numpy as np
    >>> dress({"task": np.array([1, 2])}, "polars").shape
    (2, 1)
    """
    if frame == "pandas":
        return frame_of(table) if isinstance(table, Mapping) else table
    if not isinstance(table, Mapping):
        table = table if isinstance(table.index, pd.RangeIndex) else table.rename_axis(index=index).reset_index()
        names = [" ".join(map(str, name)).strip() if isinstance(name, tuple) else str(name) for name in table.columns]
        table = {each: _take_over(table.iloc[:, n]) for n, each in enumerate(tell_apart(names))}
    made = table_of({name: _typed(column) for name, column in table.items()})
    return made if frame == "arrow" else _hand_over(made, frame)


def tell_apart(names: Sequence[str]) -> list[str]:
    """Return names of which none is there twice, such as that of a class called task.

    >>> tell_apart(["task", "x", "task"])
    ['task', 'x', 'task.2']
    """
    return [name if name not in names[:n] else f"{name}.{n}" for n, name in enumerate(names)]


def _take_over(column: pd.Series[Any]) -> Values:
    if column.dtype == object:
        return Values([None if missing else value for value, missing in zip(column, column.isna(), strict=True)])
    return Values(pa.Array.from_pandas(column))


def _typed(column: Values | Array) -> Values | Array:
    """Return objects of Python as Arrow has them, sets as lists; those that it cannot hold stay, and become texts."""
    if not isinstance(column, Values) or not isinstance(column.data, list):
        return column
    listed = [sorted(value) if isinstance(value, Set) else value for value in column.data]
    try:
        return Values(pa.array(listed))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return column


def _hand_over(table: pa.Table, frame: str) -> Any:
    """Return a table of Arrow as one of polars or Hugging Face."""
    try:
        package = import_module(frame)
    except ImportError:
        said = f"Tables of {frame} need it. Install it with: pip install 'allalike[{_EXTRAS[frame]}]'."
        raise UnsupportedError(said) from None
    return package.from_arrow(table) if frame == "polars" else package.Dataset(table)
