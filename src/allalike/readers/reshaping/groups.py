"""Groups: the rows of a table that have the same value in a column, such as those of a block or of some workers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.registry import find_close
from allalike.errors import ColumnError, Proposal
from allalike.readers.column_names import list_names
from allalike.readers.reshaping.long_tables import list_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from allalike.readers.formats.tables import Table

__all__ = ["part_table"]


def part_table(
    table: Table, names: Sequence[str], picked: Mapping[str, str]
) -> Iterator[tuple[tuple[str, ...], Table]]:
    """Yield the rows that have the same values in some columns, as tables, each with these values.

    >>> from allalike.readers.formats.tables import of_records
    >>> table = of_records([{"who": "ada", "sex": "f"}, {"who": "bob", "sex": "m"}, {"who": "eve", "sex": "f"}])
    >>> parts = part_table(table, ["sex"], {"worker": "who"})
    >>> [(values, part.load(["who"])["who"].data.to_pylist()) for values, part in parts]
    [(('f',), ['ada', 'eve']), (('m',), ['bob'])]
    """
    if missing := [name for name in names if name not in table.names]:
        free = [name for name in table.names if name not in {*names, *picked.values()}]
        close = find_close(missing[0], free) or next(iter(free), None)
        right = tuple(each for each in (*(name for name in names if name not in missing), close) if each)
        raise ColumnError(
            f"{table.where} has no column {missing[0]!r}. Columns: {list_names(table.names)}.",
            proposals=[Proposal({"by": right or None})],
        )
    held: dict[str, Column] = {}

    def load(asked: Sequence[str], rows: npt.NDArray[np.bool_]) -> dict[str, Any]:
        new = [name for name in asked if name not in held]
        for name, data in table.load(new).items() if new else ():
            role = "label" if name == picked.get("label") else "task"
            held[name] = table.column(role, data() if callable(data) else data)
        return {name: held[name].keep(rows) for name in asked}

    found = [Column("task", list_texts(table, data)).factors for data in table.load(names).values()]
    codes = np.stack([each for each, _ in found])
    for place in np.unique(codes, axis=1).T:
        rows = (codes == place[:, None]).all(axis=0)
        values = tuple(str(known.tolist()[code]) for (_, known), code in zip(found, place, strict=True))
        yield values, table.loaded_by(partial(load, rows=rows), roles=dict(picked))
