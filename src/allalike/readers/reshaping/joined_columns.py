"""Joined columns: two that say where a place is, or one for each option that say how probable it is, are one label.

They are named together as the label, such as ``lat lon``, or ``x y`` with the domain ``vector``; or recognised by
their names where no other column is the label: ``lat`` and ``lon``, or ``p_cat p_dog p_owl`` of which the numbers of
each row add up to 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from allalike.errors import ColumnError, InputError, LabelError
from allalike.readers.column_names import list_names, pick_columns

if TYPE_CHECKING:
    from allalike.domains import Domain
    from allalike.readers.formats.tables import Table

__all__ = ["join_columns"]

_KINDS = {"place": "a place", "probability": "the probabilities of its options", "vector": "a vector"}
_LATITUDE = re.compile(r"(?i)(.*(?:^|[^a-z]))(?:lat|latitude)(\W*)")
_LONGITUDE = ("lon", "lng", "long", "longitude")
_CHANCE = re.compile(r"(?i)(p|pr|prob|proba|probability)[ _.(\[-]+(.+?)[)\]]?")
_SAMPLE_ROWS = 1000
_TOLERANCE = 0.011  # by which probabilities may miss 1, as for `allalike.Probability`


def join_columns(table: Table, chosen: Mapping[str, str], domain: Domain | None) -> Table:
    """Return a table with one column in the place of several that are a label together, and any other as it is.

    >>> from allalike.readers.formats.tables import of_records
    >>> said = [{"worker": "ada", "task": 1, "lat": "52.5", "lon": "13.4"}]
    >>> found = join_columns(of_records(said), {}, None)
    >>> found.names, found.domain, found.load(["lat lon"])["lat lon"]
    (['worker', 'task', 'lat lon'], 'place', [[52.5, 13.4]])
    """
    if not isinstance(chosen, Mapping) or (domain is not None and domain.name not in _KINDS):
        return table
    kind, parts = _find_parts(table, chosen, domain)
    if not parts:
        return table
    label, options = " ".join(parts), [_name_option(name) for name in parts]
    others = [name for name in table.names if name not in parts]

    def load(asked: Sequence[str]) -> dict[str, Any]:
        rest = [name for name in asked if name != label]
        loaded = table.load([*rest, *(parts if label in asked else ())])
        found = {name: loaded[name] for name in rest}
        if label in asked:
            rows = zip(*(_numbers(table, name, loaded[name]) for name in parts), strict=True)
            found[label] = [_join(row, kind, options, number) for number, row in enumerate(rows)]
        return found

    listed = ", ".join(map(repr, parts[:-1])) + f" and {parts[-1]!r}"
    return table.loaded_by(
        load,
        names=[*others, label],
        roles={**table.roles, "label": label},
        domain=kind if domain is None else "",
        remarks=[*table.remarks, f"{listed} together are the label, {_KINDS[kind]}."],
    )


def _find_parts(table: Table, chosen: Mapping[str, str], domain: Domain | None) -> tuple[str, list[str]]:
    """Return what the columns are that together are the label, and their names."""
    found = {"place": _find_place(table.names), "probability": _find_chances(table.names)}
    if "label" in chosen:
        words = str(chosen["label"]).split()
        kind = next((kind for kind, parts in found.items() if parts == words), "") if domain is None else domain.name
        several = len(words) > 1 and chosen["label"] not in table.names and all(word in table.names for word in words)
        return (kind, words) if kind and several else ("", [])
    kinds = [kind for kind, parts in found.items() if parts and (domain is None or domain.name == kind)]
    if table.roles or len(kinds) != 1 or not _are_answers(table, chosen, found[kinds[0]], kinds[0]):
        return "", []
    return kinds[0], found[kinds[0]]


def _find_place(names: Sequence[str]) -> list[str]:
    """Return the columns of latitude and longitude, if there is one of each."""
    known = {name.casefold(): name for name in names}
    latitudes = [(name, match) for name in names if (match := _LATITUDE.fullmatch(name))]
    if len(latitudes) != 1:
        return []
    name, match = latitudes[0]
    others = [known[key] for word in _LONGITUDE if (key := f"{match[1]}{word}{match[2]}".casefold()) in known]
    return [name, others[0]] if len(others) == 1 else []


def _find_chances(names: Sequence[str]) -> list[str]:
    found = [name for name in names if _CHANCE.fullmatch(name)]
    return found if len(found) > 1 else []


def _name_option(name: str) -> str:
    """Return the option whose probability a column has.

    >>> _name_option("p_cat"), _name_option("prob(dog)"), _name_option("owl")
    ('cat', 'dog', 'owl')
    """
    match = _CHANCE.fullmatch(name)
    return match[2] if match else name


def _are_answers(table: Table, chosen: Mapping[str, str], parts: Sequence[str], kind: str) -> bool:
    """Tell whether columns are numbers that workers gave, and no other column is the label."""
    others = [name for name in table.names if name not in parts]
    given = {role: name for role, name in chosen.items() if role != "label"}
    try:
        picked, _ = pick_columns(others, given, table.where, roles=("worker", "task"))
    except ColumnError:
        return False
    try:
        pick_columns([name for name in others if name not in picked.values()], {}, table.where, roles=("label",))
    except ColumnError:
        return _fit(table, picked["task"], parts, kind)
    return False


def _fit(table: Table, task: str, parts: Sequence[str], kind: str) -> bool:
    """Tell whether some rows have numbers that may be labels: of a task they differ, and chances add up to 1."""
    try:
        sample = table.sample(_SAMPLE_ROWS, [task, *parts])
        rows = list(zip(*(_numbers(table, name, sample[name]) for name in parts), strict=True))
    except InputError:
        return False
    full = [row for row in rows if None not in row]
    if not full:
        return False
    if kind == "probability":
        _check_sums(table, parts, full)
    tasks = sample[task] if isinstance(sample[task], list) else sample[task].to_pylist()
    return len(set(tasks)) == len(tasks) or len(set(zip(map(str, tasks), rows, strict=True))) > len(
        set(map(str, tasks))
    )


def _check_sums(table: Table, parts: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Refuse probabilities that do not add up to 1."""
    odd = next((sum(row) for row in rows if abs(sum(row) - 1) > _TOLERANCE), None)
    if odd is not None:
        raise ColumnError(
            f"{table.where} has columns that look like the probabilities of options, {list_names(parts)}, but those of"
            f" a row add up to {odd:.3g} and not to 1. Correct them, or take one of the columns as the label.",
            columns={"label": parts[0]},
        )


def _numbers(table: Table, name: str, data: Any) -> list[float | None]:
    """Return the cells of a column as numbers; None where there is none."""
    read = table.column("label", data() if callable(data) else data).data
    cells = read if isinstance(read, list) else read.to_pylist()
    return [_number(cell, name, row) for row, cell in enumerate(cells)]


def _number(cell: Any, name: str, row: int) -> float | None:
    if cell is None or cell != cell or (isinstance(cell, str) and not cell.strip()):
        return None
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise LabelError(f"{name} in row {row + 1} is {cell!r}, which is no number. Correct it.") from None


def _join(row: Sequence[float | None], kind: str, options: Sequence[str], number: int) -> Any:
    """Return a label, or nothing where all of its parts are blank."""
    if all(cell is None for cell in row):
        return None
    if None in row:
        raise LabelError(
            f"A part of the label in row {number + 1} is blank, though others are not. Fill in all, or none."
        )
    return dict(zip(options, row, strict=True)) if kind == "probability" else list(row)
