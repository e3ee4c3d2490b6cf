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
from allalike.errors import OptionError
from allalike.readers.column_names import list_names
from allalike.readers.guessing.part_columns import PartColumns, are_counts, find_part_columns
from allalike.readers.reshaping.wide import list_texts, list_values, take_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.domains import Domain
    from allalike.readers.formats.tables import Table

SET = "set"  # what becomes of the rows of a worker and a task that are one answer
_MAX_LEVELS = 30  # more different counts are numbers
_YES, _NO = frozenset({"1", "1.0", "true", "yes", "y", "t"}), frozenset({"0", "0.0", "false", "no", "n", "f"})
_FIRST_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Thing = str | int
Answer = dict[Thing, int]  # the things that were named, each with the first of its rows
Cell = tuple[str, ...]  # what is said of a thing in a row: nothing, a text or several


def gather_parts(
    table: Table, picked: Mapping[str, str], *, repeats: str | None = None, domain: Domain | None = None
) -> Table:
    """Return a table with a row for each answer, if rows are parts of answers, and else the table itself.

    >>> from allalike.readers.formats.tables import of_records
    >>> seen = [("ada", "lion", 2), ("ada", "zebra", 5), ("bob", "lion", 2)]
    >>> names = ("user", "species", "count", "photo", "classification_id")
    >>> rows = [dict(zip(names, (*each, photo, f"{each[0]} {photo}"))) for photo in range(3) for each in seen]
    >>> found = gather_parts(of_records(rows), {"worker": "user", "task": "photo", "label": "species"})
    >>> for label in found.load(["species"])["species"].data[:2]:
    ...     print(sorted(label["species"]), {name: label[name] for name in label if name != "species"})
    ['lion', 'zebra'] {'count lion': '2', 'count zebra': '5'}
    ['lion'] {'count lion': '2'}
    """
    if picked["label"] in table.details and (domain is None or domain.record is not None):
        return _take_details(table, picked["label"], table.details[picked["label"]])
    if not _may_have_parts(repeats, domain):
        return table
    found = find_part_columns(table, picked, given=repeats == SET)
    if found is None:
        return table
    return _gather(table, picked, replace(found, counts=(), others=()) if domain and domain.name == SET else found)


def _take_details(table: Table, name: str, details: str) -> Table:
    """Return a table whose labels are records of sets and of what is said of their members.

    >>> from allalike.readers.formats.tables import of_records
    >>> rows = [{"seen": frozenset({"lion"}), "said": {"lion": {"count": ("2",), "does": ("eats", "rests")}}}]
    >>> [label] = _take_details(of_records(rows), "seen", "said").load(["seen"])["seen"].data
    >>> label["count lion"], sorted(label["does"])
    ('2', ['lion: eats', 'lion: rests'])
    """
    columns = {key: data() if callable(data) else data for key, data in table.load([name, details]).items()}
    loaded = {key: data.data if isinstance(data, Column) else data for key, data in columns.items()}
    answers: list[Answer] = []
    cells: list[Mapping[str, Cell]] = []
    for said in loaded[details]:
        answers.append(dict(zip(said, range(len(cells), len(cells) + len(said)), strict=True)))
        cells += said.values()
    questions = list(dict.fromkeys(question for each in cells for question in each))
    beside = {question: [each.get(question, ()) for each in cells] for question in questions}
    texts = {question: {text for cell in beside[question] for text in cell} for question in questions}
    counts = [
        question
        for question in questions
        if are_counts(question, texts[question], len(texts[question])) and max(map(len, beside[question])) == 1
    ]
    others = [question for question in questions if question not in counts]
    found = PartColumns(None, tuple(counts), tuple(others))
    values, kind = _make_records(name, Column("label", loaded[name]), answers, found, beside)

    def load(names: Sequence[str]) -> dict[str, Any]:
        known = table.load([each for each in names if each != name])
        return {each: known.get(each, values) for each in names}

    remark = _say_records(f"An answer to {name!r} is", name, found)
    return table.loaded_by(load, n_bytes=lambda _: 0, remarks=(*table.remarks, remark), domain=kind)


def has_parts(table: Table, picked: Mapping[str, str], repeats: str | None, domain: Domain | None) -> bool:
    """Tell whether it is said, or an id says, that rows are parts of answers.

    >>> from allalike.readers.formats.tables import of_records
    >>> has_parts(of_records([{"worker": 1, "task": 1, "label": 1}]), {}, "first", None)
    False
    """
    if not _may_have_parts(repeats, domain):
        return False
    return find_part_columns(table, picked, given=repeats == SET) is not None


def _may_have_parts(repeats: str | None, domain: Domain | None) -> bool:
    record = None if domain is None else domain.record
    fits = domain is None or domain.name == SET or (record is not None and not record.field_names)
    if repeats == SET and domain is not None and not fits:
        raise OptionError(f"repeats is 'set', but the labels are said to be {domain.name}. Leave one of them out.")
    return repeats in (None, SET) and fits


def _gather(table: Table, picked: Mapping[str, str], found: PartColumns) -> Table:
    """Put the rows of each answer together."""
    asked = list(dict.fromkeys([*picked.values(), *([found.id] if found.id else []), *found.counts, *found.others]))
    loaded = {name: data() if callable(data) else data for name, data in table.load(asked).items()}
    label = table.column("label", loaded[picked["label"]])
    keys = [list_values(table.column("task", loaded[name]).data) for name in asked if name in found.keys(picked)]
    first, answers = _group(list(zip(*keys, strict=True)), list_values(label.data), label.missing().tolist())
    beside = {name: list_texts(table, loaded[name]) for name in (*found.counts, *found.others)}
    values, kind, remarks = _make_labels(picked["label"], answers, found, beside)
    rows = np.array(first, np.int64)

    def load(names: Sequence[str]) -> dict[str, Any]:
        others = table.load([name for name in names if name != picked["label"]])
        columns = {name: table.column("task", data() if callable(data) else data) for name, data in others.items()}
        taken = {name: column.replaced(take_values(column.data, rows), rows) for name, column in columns.items()}
        return {name: taken[name] if name in taken else values.numbered(rows) for name in names}

    return table.loaded_by(
        load,
        n_bytes=lambda _: 0,
        guessed={**table.guessed, **({"repeats": SET} if found.recognised else {})},
        remarks=(*table.remarks, *remarks),
        domain=kind,
    )


def _group(keys: list[tuple[Any, ...]], labels: list[Any], missing: list[bool]) -> tuple[list[int], list[Answer]]:
    """Return the first row of each answer, and what it names.

    >>> _group([("a", 1), ("b", 1), ("a", 1)], ["x", "", "y "], [False, True, False])
    ([0, 1], [{'x': 0, 'y': 2}, {}])
    """
    place: dict[tuple[Any, ...], int] = {}
    first: list[int] = []
    answers: list[Answer] = []
    for row, (key, thing, gone) in enumerate(zip(keys, labels, missing, strict=True)):
        number = place.setdefault(key, len(answers))
        if number == len(answers):
            answers.append({})
            first.append(row)
        if not gone:
            answers[number].setdefault(thing if type(thing) is int else str(thing).strip(), row)
    return first, answers


def _make_labels(
    name: str, answers: list[Answer], found: PartColumns, beside: Mapping[str, list[str]]
) -> tuple[Column, Domain, list[str]]:
    """Make sets of answers, or records with what stands beside things; return also of what kind, and what to say."""
    from allalike.domains import Set  # which few answers need

    sets = Column("label", [frozenset(answer) if answer else None for answer in answers])
    same = f"Rows with the same {list_names([found.id])}" if found.id else "Rows of the same worker and task"
    if not beside:
        return sets, Set(), [f"{same} are one answer: the set of what they name."]
    cells = {column: [(text,) if text else () for text in texts] for column, texts in beside.items()}
    return *_make_records(name, sets, answers, found, cells), [_say_records(f"{same} are one answer:", name, found)]


def _say_records(what: str, name: str, found: PartColumns) -> str:
    said_of = list_names([*found.counts, *found.others])
    return (
        f"{what} a record of the set {name!r} and what is said of its members in {said_of}."
        " For the set alone: domain='set'."
    )


def _make_records(
    name: str, sets: Column, answers: list[Answer], found: PartColumns, beside: Mapping[str, Sequence[Cell]]
) -> tuple[Column, Domain]:
    """Make records of sets and of what is said of their members; return also of what kind they are."""
    from allalike.domains import Record, Set

    fields: dict[str, Column] = {name: sets}
    kinds: dict[str, Domain] = {name: Set()}
    times = Counter(thing for answer in answers for thing in answer)
    room = (MAX_FIELDS - 1 - len(found.others)) // max(len(found.counts), 1)
    counted = sorted((thing for thing, _ in times.most_common(room)), key=str)
    for column in found.counts:
        texts = [cell[0] if cell else None for cell in beside[column]]
        kind = _kind_of_counts([text for text in texts if text])
        for thing in counted:
            said = [texts[answer[thing]] if thing in answer else None for answer in answers]
            if any(said):
                fields[f"{column} {thing}"], kinds[f"{column} {thing}"] = Column.of_objects("label", said), kind
    for column in found.others:
        fields[column] = Column("label", _say_of_things(answers, beside[column]))
        kinds[column] = Set()
    return RecordColumn("label", fields), Record(fields=tuple(kinds.items()))


def _kind_of_counts(cells: Sequence[str]) -> Domain:
    """Return the kind of counts: levels of a scale, which may be like 11-50, or numbers if there are many.

    >>> _kind_of_counts(["2", "10", "11-50", "", "2"]).levels
    ('2', '10', '11-50')
    """
    from allalike.domains import Ordinal, Real

    given = sorted({cell for cell in cells if cell}, key=_first_number)
    plain = all(_FIRST_NUMBER.fullmatch(cell) for cell in given)
    if plain and len(given) > _MAX_LEVELS:
        return Real(distance="absolute")
    return Ordinal(levels=tuple(given))


def _first_number(cell: str) -> tuple[float, str]:
    found = _FIRST_NUMBER.search(cell)
    return float(found[0]) if found else 0.0, cell


def _say_of_things(answers: list[Answer], cells: Sequence[Cell]) -> list[frozenset[str] | None]:
    """Return of what things something is said in each answer, and what, unless that is yes or no.

    >>> sorted(_say_of_things([{"lion": 0, "zebra": 1}], [("eating", "moving"), ("resting",)])[0])
    ['lion: eating', 'lion: moving', 'zebra: resting']
    >>> _say_of_things([{"lion": 0, "zebra": 1}, {"lion": 2}], [("yes",), ("no",), ()])
    [frozenset({'lion'}), None]
    """
    affirmed = {text.casefold() for cell in cells for text in cell} <= _YES | _NO
    found: list[frozenset[str] | None] = []
    for answer in answers:
        said = [(thing, text) for thing, row in answer.items() for text in cells[row]]
        parts = [
            str(thing) if affirmed else f"{thing}: {text}"
            for thing, text in said
            if not affirmed or text.casefold() in _YES
        ]
        found.append(frozenset(parts) if said else None)
    return found
