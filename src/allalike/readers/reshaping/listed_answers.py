"""Listed answers: a record for each task with all of its labels in a list, in which each place is a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from allalike.errors import ColumnError, InputError
from allalike.readers.column_names import pick_columns

if TYPE_CHECKING:
    from allalike.domains import Domain
    from allalike.readers.formats.tables import Table

__all__ = ["spread_lists"]

_PLAIN = ("categorical", "ordinal", "real", "text", "date")  # kinds of which a list is several labels
_PLACE = "place"
_SAMPLE_ROWS = 100


def spread_lists(table: Table, chosen: Mapping[str, str], domain: Domain | None) -> Table:
    """Return a table with a row for each label, if tasks have their labels in lists and there are no workers.

    >>> from allalike.readers.formats.tables import of_records
    >>> records = [{"task": "t1", "labels": ["x", "y"]}, {"task": "t2", "labels": ["x"]}]
    >>> found = spread_lists(of_records(records), {}, None)
    >>> found.load(["place", "task", "labels"])
    {'place': [1, 2, 1], 'task': ['t1', 't1', 't2'], 'labels': ['x', 'y', 'x']}
    """
    picked = _find(table, chosen, domain)
    if picked is None:
        return table
    task, label = picked["task"], picked["label"]

    def load(asked: Sequence[str]) -> dict[str, Any]:
        loaded = table.load([task, label])
        tasks, lists = (_listed(loaded[name]) for name in (task, label))
        rows = [
            (place, one, value)
            for one, values in zip(tasks, lists, strict=True)
            for place, value in enumerate(values or (), start=1)
            if value is not None
        ]
        columns = dict(zip((_PLACE, task, label), map(list, zip(*rows, strict=True)), strict=True))
        return {name: columns[name] for name in asked}

    said = f"Each task has its labels in a list ({label!r}): the places in it are taken for the workers."
    return table.loaded_by(
        load,
        names=[_PLACE, task, label],
        roles={"worker": _PLACE, "task": task, "label": label},
        remarks=[*table.remarks, said],
    )


def _find(table: Table, chosen: Mapping[str, str], domain: Domain | None) -> dict[str, str] | None:
    """Return the columns of tasks and of lists of labels, if a table has such and no column of workers."""
    if table.text or table.roles or not isinstance(chosen, Mapping) or "worker" in chosen:
        return None
    if (domain is not None and domain.name not in _PLAIN) or _pick(table, {}, ("worker",)):
        return None
    picked = _pick(table, chosen, ("task", "label"))
    if picked is None:
        return None
    try:
        lists = _listed(table.sample(_SAMPLE_ROWS, [picked["label"]])[picked["label"]])
    except InputError:
        return None
    plain = all(isinstance(each, list | tuple) and not any(map(_is_nested, each)) for each in lists if each is not None)
    return picked if plain and any(each and len(each) > 1 for each in lists) else None


def _pick(table: Table, chosen: Mapping[str, str], roles: Sequence[str]) -> dict[str, str] | None:
    try:
        return pick_columns(table.names, chosen, table.where, roles=roles)[0]
    except ColumnError:
        return None


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | tuple | dict)


def _listed(data: Any) -> list[Any]:
    read = data() if callable(data) else data
    return read if isinstance(read, list) else list(read.to_pylist())
