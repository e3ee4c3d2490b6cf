"""Units: what was asked, where a tool has given it several ids."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allalike.readers.tools.sheets import as_text, texts, with_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.readers.formats.tables import Table

__all__ = ["join_units", "tell_apart"]


def tell_apart(inputs: Mapping[str, Sequence[str]]) -> tuple[str, list[str]]:
    """Return the first input that tells all tasks apart, or else all of them together: its name, and the values.

    >>> tell_apart({"topic": ["sport", "sport"], "text": ["x", "y"]})
    ('text', ['x', 'y'])
    >>> tell_apart({"left": ["x", "x", "y"], "right": ["y", "z", "z"]})
    ('left, right', ['x | y', 'x | z', 'y | z'])
    """
    together = list(zip(*inputs.values(), strict=True))
    kinds = len(set(together))
    for name, cells in inputs.items():
        if len(set(cells)) == kinds:
            return name, list(cells)
    return ", ".join(inputs), [" | ".join(cells) for cells in together]


def join_units(table: Table, worker: str, task: str, inputs: Sequence[str]) -> Table:
    """Give tasks with the same inputs the same id, where no task has two workers but the same inputs have.

    >>> import pyarrow as pa
    >>> from allalike.readers.formats.tables import Table
    >>> columns = {"hit": ["h1", "h2", "h3"], "who": ["ada", "bob", "ada"], "text": ["x", "x", "y"]}
    >>> table = Table(list(columns), lambda asked: {name: pa.chunked_array([columns[name]]) for name in asked})
    >>> joined = join_units(table, "who", "hit", ["text"])
    >>> joined.load(["hit"])["hit"].to_pylist()
    ['h1', 'h1', 'h3']
    """
    if not inputs or _has_company(table, worker, task):
        return table
    ids, workers = texts(table, task), texts(table, worker)
    given = list(zip(*(texts(table, name) for name in inputs), strict=True))
    first: dict[Any, str] = {}
    people: dict[Any, set[str]] = {}
    for unit, person, key in zip(ids, workers, given, strict=True):
        first[key] = min(first.get(key, unit), unit)
        people.setdefault(key, set()).add(person)
    if all(len(each) < 2 for each in people.values()):
        return table
    remark = (
        f"Every {task} has one worker, so that rows with the same {', '.join(inputs)} are taken as one task:"
        f" {len(first):,} instead of {len(set(ids)):,}."
    )
    joined = with_columns(table, {task: lambda: as_text(first[key] for key in given)})
    return replace(joined, remarks=(*table.remarks, remark))


def _has_company(table: Table, worker: str, task: str) -> bool:
    """Tell whether a task has two workers; it is read no further than to the first that has."""
    seen: dict[Any, Any] = {}
    for batch in table.batches({"worker": worker, "task": task}):
        pairs = zip(batch["task"].data.to_pylist(), batch["worker"].data.to_pylist(), strict=True)
        if any(seen.setdefault(unit, person) != person for unit, person in pairs):
            return True
    return False
