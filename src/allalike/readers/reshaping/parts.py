"""Parts of answers: tools that let people name several things write a row for each, with one id in all of them.

These rows are no repeated answers: together they are a set. What else they say of each thing is kept beside it, so that
an answer is a record:

    species                 the things, a set
    count zebra, ...        a field for each thing that is counted, whose truth is a median
    behaviour               what else is said of things, as a set such as {"zebra: eating", "lion: resting"}
    young                   of what is only affirmed or denied, the things of which it is affirmed
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.columns.column import Column, RecordColumn
from allalike._core.late import late_pattern, pd
from allalike._core.limits import MAX_FIELDS
from allalike.domains import DOMAINS
from allalike.errors import OptionError
from allalike.readers.column_names import is_aside, list_names
from allalike.readers.formats.source import cells, texts
from allalike.readers.inference.samples import TableSample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from allalike.domains import Domain
    from allalike.readers.formats.source import Source
    from allalike.readers.inference.samples import Codes, ColumnSample

SET = "set"  # what becomes of the rows of a worker and a task that are one answer
_ID = late_pattern(r"(?i)classification|submission|assignment|(response|annotation|judge?ment|answer)[ _.-]?id")
_COUNTS = late_pattern(  # Zooniverse leaves out vowels
    r"(?i)(.*[ _.-])?(counts?|how[ _.-]?many|hwmn\w*|number|quantity|amount)([ _.-].*)?"
)
_COUNT = late_pattern(r"\s*\d+(\.0+)?\s*(\+|(-|to|–)\s*\d+)?\s*")  # noqa: RUF001
_FIRST_NUMBER = late_pattern(r"\d+(?:\.\d+)?")
_LOOKED_AT = 100_000  # rows
_MAX_VALUES = 30  # of a column that describes parts
_MAX_LEVELS = 30  # more different counts are numbers
_YES, _NO = frozenset({"1", "1.0", "true", "yes", "y", "t"}), frozenset({"0", "0.0", "false", "no", "n", "f"})

Answer = dict[str | int, int]  # the things that were named, each with the first of its rows
Cell = tuple[str, ...]  # what is said of a thing in a row: nothing, a text or several


class PartColumns(NamedTuple):
    """The columns that describe parts of answers: the id of the answer, counts, and others."""

    id: str | None
    counts: list[str]
    others: list[str]


def find_part_columns(table: Source, picked: Mapping[str, str], *, given: bool = False) -> PartColumns | None:
    """Return the columns of parts, or nothing if each row is an answer.

    Rows are parts of one answer if that is ``given``, or where a column is the id of a classification: by its name,
    because each of its values has one worker and one task, and because some have rows with different labels.
    """
    others = [name for name in table.names if name not in picked.values()]
    ids = [name for name in others if _ID.search(name)]
    if not ids and not given:
        return None
    head = TableSample(table.sample(_LOOKED_AT), frozenset(table.na or ()))
    label = head[picked["label"]]
    there = ~label.missing
    known = None
    for name in ids:
        one = all(head.depends_on(picked[role], name) for role in ("worker", "task"))
        if known is None and one and _differ(label.codes[there], head[name].codes[there]):
            known = name
    if known is None and not given:
        return None
    answers = np.zeros(head.n_rows, np.int64)
    for name in (picked["worker"], picked["task"], *([known] if known else [])):
        answers = np.unique(answers * head[name].n_values + head[name].codes, return_inverse=True)[1]
    found = PartColumns(known, [], [])
    for column in (head[name] for name in others if name not in ids):
        if not _describes_parts(column, answers, there):
            continue
        if are_counts(column.name, map(str, column.values), column.n_present):
            found.counts.append(column.name)
        elif column.n_present <= _MAX_VALUES and not is_aside(column.name):
            found.others.append(column.name)
    return found


def _differ(codes: Codes, groups: Codes) -> bool:
    """Return whether values differ within groups."""
    pairs = groups * np.int64(codes.max(initial=0) + 1) + codes
    return len(np.unique(pairs)) > len(np.unique(groups))


def _describes_parts(column: ColumnSample, answers: Codes, present: npt.NDArray[np.bool_]) -> bool:
    """Return whether a column differs within answers, and is neither a time nor the number of a row in its answer."""
    rows = present & ~column.missing
    codes, answers = column.codes[rows], answers[rows]
    if column.kind == "date" or 2 * column.n_present > len(codes) or not _differ(codes, answers):
        return False
    if column.kind != "whole":
        return True
    numbers = column.numbers[codes]
    places = pd.Series(numbers).groupby(answers).rank(method="first").to_numpy()
    return not any((numbers + first == places).all() for first in (0, 1))


def are_counts(name: str, values: Iterable[str], n_present: int) -> bool:
    """Return whether a column says how many things there are: by its name, and its distinct values, such as 11-50."""
    shown = [value for value in values if _COUNT.fullmatch(value)]
    return _COUNTS.fullmatch(name) is not None and bool(shown) and len(shown) >= n_present


def has_parts(table: Source, picked: Mapping[str, str], duplicates: str | None, domain: Domain | None) -> bool:
    """Return whether it is said, or an id says, that rows are parts of answers."""
    if not _may_have_parts(duplicates, domain):
        return False
    return find_part_columns(table, picked, given=duplicates == SET) is not None


def _may_have_parts(duplicates: str | None, domain: Domain | None) -> bool:
    record = None if domain is None else domain.record
    fits = domain is None or domain.name == SET or (record is not None and not record.field_names)
    if duplicates == SET and domain is not None and not fits:
        raise OptionError(f"duplicates is 'set', but the labels are said to be {domain.name}. Leave one of them out.")
    return duplicates in (None, SET) and fits


def gather_parts(table: Source, picked: Mapping[str, str], domain: Domain | None, duplicates: str | None) -> Source:
    """Make a row of each answer, where rows are parts of answers or a tool has kept details beside sets."""
    label = picked["label"]
    if label in table.details and (domain is None or domain.record is not None):
        return _take_details(table, label)
    if not _may_have_parts(duplicates, domain):
        return table
    found = find_part_columns(table, picked, given=duplicates == SET)
    if found is None:
        return table
    if domain is not None and domain.name == SET:
        found = PartColumns(found.id, [], [])
    beside = [*found.counts, *found.others]
    keys = [picked["worker"], picked["task"], *([found.id] if found.id else [])]
    loaded = table.load(list(dict.fromkeys([*keys, label, *beside])))
    labels = table.column("label", loaded[label])
    ids = zip(*(cells(table.column("task", loaded[name])) for name in keys), strict=True)
    first, answers = _group(ids, cells(labels), labels.missing().tolist())
    sets = Column("label", [frozenset(answer) if answer else None for answer in answers])
    same = f"Rows with the same {list_names([found.id])}" if found.id else "Rows of the same worker and task"
    if beside:
        read = {name: texts(table.column("label", loaded[name])) for name in beside}
        said = {name: [(text,) if text else () for text in each] for name, each in read.items()}
        values, kind, says = _make_records(label, sets, answers, found, said, f"{same} are one answer:")
    else:
        values, kind, says = sets, DOMAINS[SET](), f"{same} are one answer: the set of what they name."
    made = values.numbered(np.flatnonzero(first))
    guessed = table.guessed if duplicates == SET else {**table.guessed, "duplicates": SET}
    rows = table.with_rows(first, guessed=guessed)
    return rows.with_step(lambda columns, _: columns | {label: made}, adds=[label], says=[says], domain=kind)


def _group(keys: Iterable[Any], labels: list[Any], missing: list[bool]) -> tuple[Any, list[Answer]]:
    """Mark the first row of each answer, and return what it names."""
    answers: dict[Any, Answer] = {}
    first = np.zeros(len(labels), np.bool_)
    for row, (key, thing, gone) in enumerate(zip(keys, labels, missing, strict=True)):
        first[row] = key not in answers
        answer = answers.setdefault(key, {})
        if not gone:
            answer.setdefault(thing if type(thing) is int else str(thing).strip(), row)
    return first, list(answers.values())


def _take_details(table: Source, name: str) -> Source:
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
    found = PartColumns(None, counts, [question for question in beside if question not in counts])
    sets = Column("label", cells(loaded[name]))
    values, kind, says = _make_records(name, sets, answers, found, beside, f"An answer to {name!r} is")
    step = lambda columns, _: columns | {name: values}  # noqa: E731
    return table.with_step(step, adds=[name], whole=True, says=[says], domain=kind, n_bytes=lambda _: 0)


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
    """Return of what things something is said in each answer, and what, unless that is yes or no."""
    affirmed = {text.casefold() for cell in said for text in cell} <= _YES | _NO
    found: list[frozenset[str] | None] = []
    for answer in answers:
        pairs = [(thing, text) for thing, row in answer.items() for text in said[row]]
        named = (str(thing) for thing, text in pairs if text.casefold() in _YES)
        told = named if affirmed else (f"{thing}: {text}" for thing, text in pairs)
        found.append(frozenset(told) if pairs else None)
    return found
