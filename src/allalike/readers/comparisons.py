"""Tables of comparisons: two items and the better of them in each row, read as rankings of two items.

    worker,left,right,winner            judge,model_a,model_b,winner
    ada,tea,milk,tea                    eve,gpt,llama,model_b
    bob,tea,milk,tie                    eve,llama,qwen,tie (bothbad)

The winner is one of the two, by its name or by its column, or it is a tie. All comparisons are one task, whose truth
ranks all items, unless another column is named as the task; a worker's comparisons of a task are added up.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from allalike.errors import InputError
from allalike.readers.names import rate_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allalike.readers.tables import Table

__all__ = ["read_comparisons"]

_PAIRS = (("left", "right"), ("model_a", "model_b"))
_WINNERS = ("winner", "label")
_FIRST, _SECOND = {"left", "a", "first", "model_a"}, {"right", "b", "second", "model_b"}
_TIES = {"tie", "tied", "draw", "equal", "same", "both", "neither", "both_bad", "bothbad", "both_good", "tie (bothbad)"}
_LABEL, _TASK = "comparison", "all comparisons"
_MARKS = re.compile(r"[<>=~{}\[,;|]")
_NAMED = 0.6  # the rate of a name that means a task


class _Columns(NamedTuple):
    left: str
    right: str
    winner: str


def read_comparisons(table: Table, chosen: Mapping[str, str], *, asked: bool) -> Table:
    """Return a table of comparisons with rankings of two items for labels, and any other table as it is.

    Where the table has tasks of its own, or is a tool's export, it is read as comparisons only if that is asked for.

    >>> from allalike.readers.tables import of_records
    >>> rows = [{"worker": "ada", "left": "x", "right": "y", "winner": winner} for winner in ("y", "tie")]
    >>> table = read_comparisons(of_records(rows), {}, asked=False)
    >>> table.roles, table.load(["comparison"])["comparison"].to_pylist()
    ({'worker': 'worker', 'task': 'all comparisons', 'label': 'comparison'}, ['y>x', 'x=y'])
    """
    found = _find(table.names)
    if found is None or "label" in chosen:
        return table
    others = [name for name in table.names if name not in found]
    has_task = any(rate_name(name, "task") >= _NAMED for name in others)
    if not asked and (has_task or table.roles or found.winner == "label"):
        return table
    rates = {name: rate_name(name, "worker") for name in others if name not in chosen.values()}
    worker = max(rates, key=lambda name: rates[name], default="")
    roles = {"task": _TASK, "label": _LABEL} | ({"worker": worker} if rates.get(worker, 0.0) >= _NAMED else {})

    def load(names: Sequence[str]) -> dict[str, Any]:
        loaded = {name: data() if callable(data) else data for name, data in table.load(_needed(names, found)).items()}
        return _add_columns(loaded, names, found, 0, table.where)

    def load_batches(names: Sequence[str]) -> Iterator[dict[str, Any]]:
        assert table.load_batches is not None
        rows = 0
        for batch in table.load_batches(_needed(names, found)):
            yield _add_columns(batch, names, found, rows, table.where)
            rows += len(batch[found.left])

    return replace(
        table,
        names=[*table.names, _LABEL, _TASK],
        load=load,
        load_batches=None if table.load_batches is None else load_batches,
        load_sample=None,
        parts=(),
        delimiter="",
        roles={role: roles[role] for role in ("worker", "task", "label") if role in roles},
        domain="ranking",
    )


def _find(names: Sequence[str]) -> _Columns | None:
    """Return the columns of the two items and the winner, if a table has them."""
    plain = {name.strip().casefold(): name for name in names}
    for left, right in _PAIRS:
        for winner in _WINNERS:
            if left in plain and right in plain and winner in plain:
                return _Columns(plain[left], plain[right], plain[winner])
    return None


def _needed(names: Sequence[str], found: _Columns) -> list[str]:
    return list(dict.fromkeys([*(name for name in names if name not in (_LABEL, _TASK)), *found]))


def _add_columns(
    loaded: Mapping[str, Any], names: Sequence[str], found: _Columns, rows: int, where: str
) -> dict[str, Any]:
    """Return the columns that are asked for, with comparisons as text."""
    import pyarrow as pa

    columns = dict(loaded)
    if _LABEL in names:
        values = [_listed(loaded[name]) for name in found]
        known: dict[tuple[Any, ...], str | None] = {}
        labels = []
        for row, given in enumerate(zip(*values, strict=True)):
            if given not in known:
                known[given] = _compare(*given, where=f"{where}, row {rows + row + 1}", found=found)
            labels.append(known[given])
        columns[_LABEL] = pa.chunked_array([pa.array(labels, pa.string())])
    if _TASK in names:
        columns[_TASK] = pa.chunked_array([pa.array(["all"] * len(loaded[found.left]), pa.string())])
    return {name: columns[name] for name in names}


def _listed(column: Any) -> list[Any]:
    return list(column) if isinstance(column, list) else list(column.to_pylist())


def _compare(left: Any, right: Any, winner: Any, *, where: str, found: _Columns) -> str | None:
    """Write a comparison as a ranking, or nothing where there is no winner."""
    if winner is None or str(winner).strip() == "":
        return None
    items = [str(item).strip() if item is not None else "" for item in (left, right)]
    if not all(items) or items[0] == items[1]:
        raise InputError(f"{where} compares {items[0]!r} with {items[1]!r}. Name two different items.")
    said = str(winner).strip()
    word = said.casefold()
    if said == items[0] or (said != items[1] and word in {*_FIRST, found.left.casefold()}):
        return _written(items)
    if said == items[1] or word in {*_SECOND, found.right.casefold()}:
        return _written(items[::-1])
    if word in _TIES or word.startswith("tie"):
        return _written([items])
    raise InputError(
        f"{where}: the winner is {said!r}, which is neither {items[0]!r} nor {items[1]!r}. Write one of them, or tie."
    )


def _written(ranking: list[Any]) -> str:
    """Write a comparison; names without marks need not be read again to be sure."""
    names = ranking if len(ranking) == 2 else ranking[0]
    if not any(_MARKS.search(name) for name in names):
        return (">" if len(ranking) == 2 else "=").join(names)
    return json.dumps(ranking, ensure_ascii=False)
