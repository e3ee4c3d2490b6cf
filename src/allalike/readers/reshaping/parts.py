"""Parts of answers: tools that let people name several things write a row for each, with one id in all of them.

These rows are no repeated answers: together they are a set, such as the species in a picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.late import late_pattern
from allalike.domains import DOMAINS
from allalike.errors import OptionError
from allalike.readers.column_names import list_names
from allalike.readers.formats.source import cells
from allalike.readers.inference.samples import TableSample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from allalike.domains import Domain
    from allalike.readers.formats.source import Source

SET = "set"  # what becomes of the rows of a worker and a task that are one answer
_ID = late_pattern(r"(?i)classification|submission|assignment|(response|annotation|judge?ment|answer)[ _.-]?id")
_LOOKED_AT = 100_000  # rows


def find_id(table: Source, picked: Mapping[str, str]) -> str | None:
    """Return the column that is the id of an answer of several rows, if there is one.

    It is known by its name, because each id has one worker and one task, and because some have different labels.
    """
    ids = [name for name in table.names if name not in picked.values() and _ID.search(name)]
    sample = TableSample(table.sample(_LOOKED_AT, [*picked.values(), *ids]) if ids else {}, frozenset(table.na or ()))
    for name in ids:
        there = ~sample[picked["label"]].missing
        codes, labels = sample[name].codes[there], sample[picked["label"]].codes[there]
        several = len(np.unique([codes, labels], axis=1).T) > len(np.unique(codes))
        if several and all(sample.depends_on(picked[role], name) for role in ("worker", "task")):
            return name
    return None


def has_parts(table: Source, picked: Mapping[str, str], duplicates: str | None, domain: Domain | None) -> bool:
    """Return whether it is said, or an id says, that rows are parts of answers."""
    fits = domain is None or domain.name == SET
    if duplicates == SET and domain is not None and not fits:
        raise OptionError(f"duplicates is 'set', but the labels are said to be {domain.name}. Leave one of them out.")
    return fits and (duplicates == SET or (duplicates is None and find_id(table, picked) is not None))


def gather_parts(table: Source, picked: Mapping[str, str], domain: Domain | None, duplicates: str | None) -> Source:
    """Make a row of each answer, the set of what its rows name, where rows are parts of answers."""
    if not has_parts(table, picked, duplicates, domain):
        return table
    label, own = picked["label"], find_id(table, picked)
    keys = [picked["worker"], picked["task"], *([own] if own else [])]
    loaded = table.load(list(dict.fromkeys([*keys, label])))
    labels = table.column("label", loaded[label])
    ids = zip(*(cells(table.column("task", loaded[name])) for name in keys), strict=True)
    first, answers = _group(ids, cells(labels), labels.missing().tolist())
    sets = Column("label", [frozenset(answer) or None for answer in answers]).numbered(np.flatnonzero(first))
    same = f"Rows with the same {list_names([own])}" if own else "Rows of the same worker and task"
    guessed = table.guessed if duplicates == SET else {**table.guessed, "duplicates": SET}
    rows = table.with_rows(first, guessed=guessed)
    says = f"{same} are one answer: the set of what they name in {label!r}."
    return rows.with_step(lambda columns, _: columns | {label: sets}, adds=[label], says=[says], domain=DOMAINS[SET]())


def _group(keys: Iterable[Any], labels: list[Any], missing: list[bool]) -> tuple[Any, list[set[str | int]]]:
    """Mark the first row of each answer, and return what each answer names."""
    answers: dict[Any, set[str | int]] = {}
    first = np.zeros(len(labels), np.bool_)
    for row, (key, thing, gone) in enumerate(zip(keys, labels, missing, strict=True)):
        first[row] = key not in answers
        answer = answers.setdefault(key, set())
        if not gone:
            answer.add(thing if type(thing) is int else str(thing).strip())
    return first, list(answers.values())
