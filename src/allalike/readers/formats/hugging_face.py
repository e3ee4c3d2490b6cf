"""Data sets of Hugging Face, whose features tell the names of classes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa, pc
from allalike.readers.formats.failures import check_columns
from allalike.readers.formats.tables import Table, join

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["of_data_set"]

_BATCH_ROWS = 100_000


def of_data_set(source: Any) -> Table:
    """Open a data set, its splits one below the other; classes by their names, and -1 is none of them.

    >>> import datasets
    >>> features = datasets.Features({"label": datasets.ClassLabel(names=["cat", "dog"])})
    >>> table = of_data_set(datasets.Dataset.from_dict({"label": [1, -1]}, features=features))
    >>> table.load(["label"])["label"].to_pylist()
    ['dog', None]
    """
    if isinstance(source, dict):
        return join([of_data_set(split) for split in source.values()])
    if not hasattr(source, "num_rows"):  # a stream, which is read now
        source = _hold(source)
    return Table(
        list(source.column_names),
        partial(_read, source),
        "The data set",
        load_batches=partial(_read_batches, source),
        load_sample=lambda asked, rows: _read(source.select(range(min(rows, len(source)))), asked),
        n_bytes=lambda _: int(source.data.nbytes),
    )


def _hold(stream: Any) -> Any:
    from datasets import Dataset

    return Dataset.from_list(list(stream), features=stream.features)


def _read(source: Any, asked: Sequence[str]) -> dict[str, Any]:
    table = source.select_columns(list(asked)).with_format("arrow")[:]
    columns = {name: _name_classes(table[name], source.features[name]) for name in asked}
    check_columns(columns, "The data set")
    return columns


def _read_batches(source: Any, asked: Sequence[str]) -> Iterator[dict[str, Any]]:
    before = 0
    for table in source.select_columns(list(asked)).with_format("arrow").iter(_BATCH_ROWS):
        columns = {name: _name_classes(table[name], source.features[name]).combine_chunks() for name in asked}
        check_columns(columns, "The data set", before=before)
        before += table.num_rows
        yield columns


def _name_classes(column: Any, feature: Any) -> Any:
    """Return the names of classes that are kept as numbers, and any other column as it is."""
    if type(feature).__name__ != "ClassLabel":
        return column
    known = pc.if_else(pc.less(column, 0), None, column)
    return pc.take(pa.array(feature.names, pa.string()), known)
