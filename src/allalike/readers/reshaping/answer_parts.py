"""Parts of answers: rows that together are one answer, such as the species that somebody saw in a picture.

Tools that let people name several things write a row for each of them, with the id of the classification in all. These
rows are no repeated answers, of which one would count: together they are a set. What else the rows say of each thing is
kept beside it, so that an answer is a record:

    species                 the things, a set
    count zebra, ...        a field for each thing that is counted, whose truth is a median
    behaviour               what else is said of things, as a set such as {"zebra: eating", "lion: resting"}
    young                   of what is only affirmed or denied, the things of which it is affirmed
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column, RecordColumn
from allalike._core.limits import MAX_FIELDS
from allalike.domains import DOMAINS
from allalike.errors import OptionError
from allalike.readers.column_names import list_names
from allalike.readers.formats.cells import cells, texts
from allalike.readers.guessing.part_columns import PartColumns, are_counts, find_part_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.domains import Domain
    from allalike.readers.formats.tables import Table
    from allalike.readers.read_options import Reading

SET = "set"  # what becomes of the rows of a worker and a task that are one answer
_MAX_LEVELS = 30  # more different counts are numbers
_YES, _NO = frozenset({"1", "1.0", "true", "yes", "y", "t"}), frozenset({"0", "0.0", "false", "no", "n", "f"})
_FIRST_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Answer = dict[str | int, int]  # the things that were named, each with the first of its rows
Cell = tuple[str, ...]  # what is said of a thing in a row: nothing, a text or several


def gather_parts(table: Table, picked: Mapping[str, str], how: Reading) -> Table:
    """Make a row of each answer, where rows are parts of answers or a tool has kept details beside sets."""
    domain, label = how.domain, picked["label"]
    if label in table.details and (domain is None or domain.record is not None):
        return _take_details(table, label)
    if not _may_have_parts(how.repeats, domain):
        return table
    found = find_part_columns(table, picked, given=how.repeats == SET, open_kind=domain is None)
    if found is None:
        return table
    if domain is not None and domain.name == SET:
        found = replace(found, counts=(), others=())
    beside = (*found.counts, *found.others)
    loaded = table.load(list(dict.fromkeys([*picked.values(), *found.keys(picked), *beside])))
    labels = table.column("label", loaded[label])
    keys = [cells(table.column("task", loaded[name])) for name in found.keys(picked)]
    first, answers = _group(list(zip(*keys, strict=True)), cells(labels), labels.missing().tolist())
    sets = Column("label", [frozenset(answer) if answer else None for answer in answers])
    same = f"Rows with the same {list_names([found.id])}" if found.id else "Rows of the same worker and task"
    if beside:
        read = {name: texts(table.column("label", loaded[name])) for name in beside}
        said = {name: [(text,) if text else () for text in each] for name, each in read.items()}
        values, kind, says = _make_records(label, sets, answers, found, said, f"{same} are one answer:")
    else:
        values, kind, says = sets, DOMAINS[SET](), f"{same} are one answer: the set of what they name."
    made = values.numbered(np.flatnonzero(first))
    guessed = {**table.guessed, **({"repeats": SET} if found.recognised else {})}
    rows = table.with_rows(first, guessed=guessed)
    return rows.with_step(lambda columns, _: columns | {label: made}, adds=[label], says=[says], domain=kind)


def _group(keys: list[tuple[Any, ...]], labels: list[Any], missing: list[bool]) -> tuple[Any, list[Answer]]:
    """Mark the first row of each answer, and return what it names."""
    answers: dict[tuple[Any, ...], Answer] = {}
    first = np.zeros(len(keys), np.bool_)
    for row, (key, thing, gone) in enumerate(zip(keys, labels, missing, strict=True)):
        first[row] = key not in answers
        answer = answers.setdefault(key, {})
        if not gone:
            answer.setdefault(thing if type(thing) is int else str(thing).strip(), row)
    return first, list(answers.values())


def _take_details(table: Table, name: str) -> Table:
    """Return a table whose labels are records of sets and of what a tool has kept of their members."""
    loaded = table.load([name, table.details[name]])
    answers: list[Answer] = []
    rows: list[Mapping[str, Cell]] = []
    for said in cells(loaded[table.details[name]]):
        answers.append(dict(zip(said, range(len(rows), len(rows) + len(said)), strict=True)))
        rows += said.values()
    beside: dict[str, list[Cell]] = {}
    for question in dict.fromkeys(question for each in rows for question in each):
        beside[question] = [each.get(question, ()) for each in rows]
    counts = []
    for question, said in beside.items():
        different = {text for cell in said for text in cell}
        if are_counts(question, different, len(different)) and max(map(len, said)) == 1:
            counts.append(question)
    found = PartColumns(None, tuple(counts), tuple(question for question in beside if question not in counts))
    sets = Column("label", cells(loaded[name]))
    values, kind, says = _make_records(name, sets, answers, found, beside, f"An answer to {name!r} is")
    step = lambda columns, _: columns | {name: values}  # noqa: E731
    return table.with_step(step, adds=[name], whole=True, says=[says], domain=kind, n_bytes=lambda _: 0)


def has_parts(table: Table, picked: Mapping[str, str], repeats: str | None, domain: Domain | None) -> bool:
    """Tell whether it is said, or an id says, that rows are parts of answers."""
    if not _may_have_parts(repeats, domain):
        return False
    return find_part_columns(table, picked, given=repeats == SET, open_kind=False) is not None


def _may_have_parts(repeats: str | None, domain: Domain | None) -> bool:
    record = None if domain is None else domain.record
    fits = domain is None or domain.name == SET or (record is not None and not record.field_names)
    if repeats == SET and domain is not None and not fits:
        raise OptionError(f"repeats is 'set', but the labels are said to be {domain.name}. Leave one of them out.")
    return repeats in (None, SET) and fits


def _make_records(
    name: str, sets: Column, answers: list[Answer], found: PartColumns, beside: Mapping[str, Sequence[Cell]], what: str
) -> tuple[Column, Domain, str]:
    """Make records of sets and of what is said of their members; return also of what type they are, and what to say."""
    fields: dict[str, Column] = {name: sets}
    kinds: dict[str, Domain] = {name: DOMAINS[SET]()}
    times = Counter(thing for answer in answers for thing in answer)
    room = (MAX_FIELDS - 1 - len(found.others)) // max(len(found.counts), 1)
    counted = sorted((thing for thing, _ in times.most_common(room)), key=str)
    for column in found.counts:
        counts = [cell[0] if cell else None for cell in beside[column]]
        kind = _find_kind({count for count in counts if count})
        for thing in counted:
            said = [counts[answer[thing]] if thing in answer else None for answer in answers]
            if any(said):
                fields[f"{column} {thing}"], kinds[f"{column} {thing}"] = Column.of_objects("label", said), kind
    for column in found.others:
        fields[column] = Column("label", _say_of_things(answers, beside[column]))
        kinds[column] = DOMAINS[SET]()
    said_of = list_names([*found.counts, *found.others])
    says = (
        f"{what} a record of the set {name!r} and what is said of its members in {said_of}."
        " For the set alone: domain='set'."
    )
    make: Any = DOMAINS["record"]
    return RecordColumn("label", fields), make(fields=tuple(kinds.items())), says


def _find_kind(counts: set[str]) -> Domain:
    """Return the label type of counts: levels of a scale, which may be like 11-50, or numbers if there are many."""
    from allalike.domains import Ordinal, Real

    if len(counts) > _MAX_LEVELS and all(map(_FIRST_NUMBER.fullmatch, counts)):
        return Real(distance="absolute")
    numbers = {count: float(found[0]) if (found := _FIRST_NUMBER.search(count)) else 0.0 for count in counts}
    return Ordinal(levels=tuple(sorted(counts, key=lambda count: (numbers[count], count))))


def _say_of_things(answers: list[Answer], said: Sequence[Cell]) -> list[frozenset[str] | None]:
    """Return of what things something is said in each answer, and what, unless that is yes or no.

    >>> sorted(_say_of_things([{"lion": 0, "zebra": 1}], [("eating", "moving"), ("resting",)])[0])
    ['lion: eating', 'lion: moving', 'zebra: resting']
    >>> _say_of_things([{"lion": 0, "zebra": 1}, {"lion": 2}], [("yes",), ("no",), ()])
    [frozenset({'lion'}), None]
    """
    affirmed = {text.casefold() for cell in said for text in cell} <= _YES | _NO
    found: list[frozenset[str] | None] = []
    for answer in answers:
        pairs = [(thing, text) for thing, row in answer.items() for text in said[row]]
        named = (str(thing) for thing, text in pairs if text.casefold() in _YES)
        told = named if affirmed else (f"{thing}: {text}" for thing, text in pairs)
        found.append(frozenset(told) if pairs else None)
    return found
