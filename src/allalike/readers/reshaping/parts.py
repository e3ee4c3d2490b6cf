"""Answers in several rows: tools that let workers name several things write one row per thing, with a common id.

These rows are not repeated answers: together they are a set. Further columns describe each thing, so that an answer is
a record:

    species                 the things, a set
    count zebra, ...        one field per counted thing, whose truth is a median
    behaviour               descriptions of things, a set such as {"zebra: eating", "lion: resting"}
    young                   for yes-or-no descriptions, the set of things with a yes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column, RecordColumn
from allalike._core.lazy_imports import late_pattern, pd
from allalike._core.limits import MAX_FIELDS
from allalike.domains import DOMAINS, Domain
from allalike.errors import OptionError
from allalike.readers.column_names import is_aside, list_names
from allalike.readers.formats.source import Source, cells, ready, texts
from allalike.readers.inference.samples import ColumnSample, TableSample

SET = "set"  # the option that joins the rows of a worker and a task
_ID = late_pattern(r"(?i)classification|submission|assignment|(response|annotation|judge?ment|answer)[ _.-]?id")
_COUNTS = late_pattern(  # also without vowels, as in Zooniverse
    r"(?i)(.*[ _.-])?(counts?|how[ _.-]?many|hwmn\w*|number|quantity|amount)([ _.-].*)?"
)
_COUNT = late_pattern(r"\s*\d+(\.0+)?\s*(\+|(-|to|–)\s*\d+)?\s*")  # noqa: RUF001
_FIRST_NUMBER = late_pattern(r"\d+(?:\.\d+)?")
_LOOKED_AT = 100_000  # rows
_MAX_VALUES = 30  # of a column that describes parts
_MAX_LEVELS = 30  # more distinct counts are numbers
_YES, _NO = frozenset({"1", "1.0", "true", "yes", "y", "t"}), frozenset({"0", "0.0", "false", "no", "n", "f"})

Answer = dict[str | int, int]  # the named things, each with the first of its rows
Cell = tuple[str, ...]  # the descriptions of a thing in a row
Numbers = npt.NDArray[np.int64]


def number_rows(keys: Sequence[npt.NDArray[Any]]) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Number the distinct combinations of codes in order of appearance; also mark the first row of each."""
    numbers: Numbers = np.zeros(len(keys[0]), np.int64)
    for codes in keys:
        numbers = pd.factorize(numbers * (int(codes.max(initial=0)) + 1) + codes)[0]
    first = np.zeros(len(numbers), np.bool_)
    first[np.unique(numbers, return_index=True)[1]] = True
    return numbers, first


def find_parts(
    table: Source, picked: Mapping[str, str], duplicates: str | None, domain: Domain | None
) -> tuple[list[str], list[str]] | None:
    """Return the columns that identify an answer and those that describe its parts, or None if each row is an answer.

    Rows are parts of one answer if the option requests it, or if a column is the id of a classification. Such a column
    is detected by its name, by one worker and one task per value, and by values with several labels.
    """
    open_record = domain is not None and domain.record is not None and not domain.record.field_names
    fits, given = domain is None or domain.name == SET or open_record, duplicates == SET
    if given and domain is not None and not fits:
        raise OptionError(f"duplicates='set' makes sets of labels, but domain is {domain.name!r}. Omit one of them.")
    others = [name for name in table.names if name not in picked.values()]
    ids = [name for name in others if _ID.search(name)]
    if duplicates not in (None, SET) or not fits or not (ids or given):
        return None
    head, keys = TableSample(table.sample(_LOOKED_AT), frozenset(table.na or ())), [picked["worker"], picked["task"]]
    label = head[picked["label"]]
    there = ~label.missing
    known = [
        name
        for name in ids
        if all(head.depends_on(key, name) for key in keys) and _differ(label.codes[there], head[name].codes[there])
    ]
    if not known and not given:
        return None
    keys += known[:1]
    answers, _ = number_rows([head[name].codes for name in keys])
    columns = [head[name] for name in others if name not in ids and (domain is None or domain.name != SET)]
    return keys, [column.name for column in columns if _describes_parts(column, answers, there)]


def _differ(codes: Numbers, groups: Numbers) -> bool:
    """Return whether values differ within groups."""
    return int(number_rows([groups, codes])[1].sum()) > len(np.unique(groups))


def _describes_parts(column: ColumnSample, answers: Numbers, present: npt.NDArray[np.bool_]) -> bool:
    """Return whether a column differs within answers, and is neither a time nor a row number within its answer."""
    rows = present & ~column.missing
    codes, answers = column.codes[rows], answers[rows]
    if column.kind == "date" or 2 * column.n_present > len(codes) or not _differ(codes, answers):
        return False
    if (column.n_present > _MAX_VALUES or is_aside(column.name)) and not _are_counts(column.name, column.present):
        return False
    if column.kind != "whole":
        return True
    places = pd.Series(answers).groupby(answers).cumcount().to_numpy()
    return not any(np.array_equal(column.numbers[codes], places + start) for start in (0, 1))


def _are_counts(name: str, values: Collection[str]) -> bool:
    """Return whether a column contains counts, judging by its name and its distinct values, such as 11-50."""
    return _COUNTS.fullmatch(name) is not None and len(values) > 0 and all(map(_COUNT.fullmatch, values))


def gather_parts(table: Source, picked: Mapping[str, str], domain: Domain | None, duplicates: str | None) -> Source:
    """Make one row per answer, if rows are parts of answers or a tool has stored details on the members of sets."""
    label = picked["label"]
    if label in table.details and (domain is None or domain.record is not None):
        return _take_details(table, label)
    found = find_parts(table, picked, duplicates, domain)
    if found is None:
        return table
    keys, beside = found
    loaded = table.load(list(dict.fromkeys([*keys, label, *beside])))
    labels = table.column("label", loaded[label])
    ids = TableSample({name: ready(loaded[name]) for name in keys})
    numbers, first = number_rows([ids[name].codes for name in keys])
    answers: list[Answer] = [{} for _ in range(int(first.sum()))]
    for row, (number, thing, gone) in enumerate(zip(numbers, cells(labels), labels.missing(), strict=True)):
        if not gone:
            answers[number].setdefault(thing if type(thing) is int else str(thing).strip(), row)
    sets = Column("label", [frozenset(answer) if answer else None for answer in answers])
    same = f"Rows with the same {list_names(keys[2:])}" if keys[2:] else "Rows of the same worker and task"
    values, kind, says = sets, DOMAINS[SET](), f"{same} are one answer: the set of their labels."
    if beside:
        read = {name: texts(table.column("label", loaded[name])) for name in beside}
        said = {name: [(text,) if text else () for text in each] for name, each in read.items()}
        values, kind, says = _make_records(label, sets, answers, said, f"{same} are one answer:")
    made = values.numbered(np.flatnonzero(first))
    guessed = table.guessed if duplicates == SET else {**table.guessed, "duplicates": SET}
    rows = table.with_rows(first, guessed=guessed)
    return rows.with_step(lambda columns, _: columns | {label: made}, adds=[label], says=[says], domain=kind)


def _take_details(table: Source, name: str) -> Source:
    """Return a table whose labels are records of sets and of the details that a tool stored on their members."""
    loaded = table.load([name, table.details[name]])
    answers: list[Answer] = []
    rows: list[Mapping[str, Cell]] = []
    for said in cells(loaded[table.details[name]]):
        answers.append(dict(zip(said, range(len(rows), len(rows) + len(said)), strict=True)))
        rows += said.values()
    questions = dict.fromkeys(question for each in rows for question in each)
    beside = {question: [each.get(question, ()) for each in rows] for question in questions}
    sets = Column("label", cells(loaded[name]))
    values, kind, says = _make_records(name, sets, answers, beside, f"An answer to {name!r} is")
    step = lambda columns, _: columns | {name: values}  # noqa: E731
    return table.with_step(step, adds=[name], whole=True, says=[says], domain=kind, n_bytes=lambda _: 0)


def _make_records(
    name: str, sets: Column, answers: Sequence[Answer], beside: Mapping[str, Sequence[Cell]], what: str
) -> tuple[Column, Domain, str]:
    """Make records of sets and descriptions of their members; return them, their domain and a message."""
    fields: dict[str, Column] = {name: sets}
    kinds: dict[str, Domain] = {name: DOMAINS[SET]()}
    different = {column: {text for cell in said for text in cell} for column, said in beside.items()}
    single = [column for column, said in beside.items() if max(map(len, said)) == 1]
    counts = [column for column in single if _are_counts(column, different[column])]
    others = [column for column in beside if column not in counts]
    times = Counter(thing for answer in answers for thing in answer)
    counted = [thing for thing, _ in times.most_common((MAX_FIELDS - 1 - len(others)) // max(len(counts), 1))]
    for column in counts:
        kind, numbers = _find_kind(different[column]), [cell[0] if cell else None for cell in beside[column]]
        for thing in sorted(counted, key=str):
            said = [numbers[answer[thing]] if thing in answer else None for answer in answers]
            if any(said):
                fields[f"{column} {thing}"], kinds[f"{column} {thing}"] = Column.of_objects("label", said), kind
    for column in others:
        affirmed = {text.casefold() for text in different[column]} <= _YES | _NO
        pairs = [[(thing, text) for thing, row in each.items() for text in beside[column][row]] for each in answers]
        fields[column] = Column("label", [_say_of_things(each, affirmed=affirmed) for each in pairs])
        kinds[column] = DOMAINS[SET]()
    says = f"{what} a record of the set {name!r} and of descriptions of its members: {list_names([*counts, *others])}."
    make: Any = DOMAINS["record"]
    return RecordColumn("label", fields), make(fields=tuple(kinds.items())), f"{says} For the set alone: domain='set'."


def _find_kind(counts: set[str]) -> Domain:
    """Return the label type of counts: levels of a scale, such as 11-50, or numbers if there are many."""
    from allalike.domains import Ordinal, Real

    if len(counts) > _MAX_LEVELS and all(map(_FIRST_NUMBER.fullmatch, counts)):
        return Real(distance="absolute")
    numbers = {count: float(found[0]) if (found := _FIRST_NUMBER.search(count)) else 0.0 for count in counts}
    return Ordinal(levels=tuple(sorted(counts, key=lambda count: (numbers[count], count))))


def _say_of_things(pairs: Sequence[tuple[str | int, str]], *, affirmed: bool) -> frozenset[str] | None:
    """Return the things of an answer with their descriptions, or only the affirmed things."""
    named = (str(thing) for thing, text in pairs if text.casefold() in _YES)
    told = named if affirmed else (f"{thing}: {text}" for thing, text in pairs)
    return frozenset(told) if pairs else None
