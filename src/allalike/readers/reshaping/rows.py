"""Rows that are no answers: those of matrices are several, and of parts and objects several are one.

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
from contextlib import suppress
from copy import copy
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column, RecordColumn
from allalike._core.late import pa, pc
from allalike._core.limits import MAX_FIELDS
from allalike._core.registry import find_close
from allalike.answers.cleaning import check_ids
from allalike.domains import DOMAINS
from allalike.domains.objects.keys import BOX_CLASS_KEYS, BOX_KEYS
from allalike.errors import ColumnError, InputError, LabelError, OptionError, Proposal
from allalike.readers.column_names import COLUMN, check_chosen, list_names, pick_columns
from allalike.readers.formats.files import Files
from allalike.readers.formats.frames import ROWS
from allalike.readers.formats.source import cells, concatenate, of_columns, texts
from allalike.readers.inference.matrices import (
    GOLD,
    MAX_DEPARTURES,
    find_consensus,
    find_row_ids,
    find_strangers,
    measure_departures,
)
from allalike.readers.inference.parts import PartColumns, are_counts, find_part_columns
from allalike.readers.inference.samples import TableSample
from allalike.readers.reshaping.columns import read_number, split_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.domains import Domain
    from allalike.readers.formats.source import Columns, Source

_LOOKED_AT = 10_000  # this many rows tell what columns are
_SIDES = tuple(keys for keys in BOX_KEYS if len(keys) > 1)
_ORDER = ("task", "worker", "label")
SET = "set"  # what becomes of the rows of a worker and a task that are one answer
_MAX_LEVELS = 30  # more different counts are numbers
_YES, _NO = frozenset({"1", "1.0", "true", "yes", "y", "t"}), frozenset({"0", "0.0", "false", "no", "n", "f"})
_FIRST_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Answer = dict[str | int, int]  # the things that were named, each with the first of its rows
Cell = tuple[str, ...]  # what is said of a thing in a row: nothing, a text or several


def stack(
    table: Source, wide: str, chosen: Mapping[str, str], files: Files | None = None
) -> tuple[Source, dict[str, str]]:
    """Turn a wide table into one of worker, task and label; return also what was guessed.

    An empty cell is a missing answer. The column that names the rows is the chosen one, or that with the name of its
    role, the index of a frame, or the first one if it has no value twice; else the rows are numbered.
    """
    files, (down, across) = files or Files(), ROWS[wide]
    if not table.names:
        raise ColumnError(f"{table.where} has no columns.")
    head = TableSample(table.sample(_LOOKED_AT), frozenset(table.na or ()))
    ids, guessed = _find_ids(table, head, down, chosen)
    names = _select([name for name in table.names if name != ids], files, table.where)
    if not names:
        raise ColumnError(f"{table.where} has no column of answers. A wide table has one per {across}.")
    _refuse_strangers(table, head, names, files, down)
    asked = {ids, *names}
    loaded = table.load([name for name in table.names if name in asked])
    labels = [table.column("label", loaded[name]) for name in names]
    present = [~label.missing() for label in labels]
    full = [place for place, here in enumerate(present) if here.any()]
    if not full:
        raise ColumnError(f"{table.where} has no answers: all cells are empty.")
    consensus = find_consensus(head, names) if down == "task" and not files.include else None
    says = _describe(table, down, ids, consensus)
    if empty := [name for name, here in zip(names, present, strict=True) if not here.any()]:
        says.append(f"{len(empty):,} {across}s have no answers and are left out: {list_names(empty)}.")
    if unanswered := int((~np.logical_or.reduce(present)).sum()):
        says.append(f"{unanswered:,} {down}s have no answers and are left out.")
    numbers = list(table.index if table.index is not None else range(1, len(labels[0]) + 1))
    rows = Column.of_objects(down, numbers) if ids is None else table.column(down, loaded[ids])
    heads = np.repeat(np.arange(len(full), dtype=np.int32), [int(present[place].sum()) for place in full])
    own = pa.DictionaryArray.from_arrays(pa.array(heads), pa.array([names[place] for place in full]))
    long = {
        down: Column(down, _join([rows.keep(present[place]).data for place in full]), text=rows.text),
        across: Column(across, pa.chunked_array([own.cast(pa.string())]), text=True),
        "label": Column("label", _join([labels[at].keep(present[at]).data for at in full]), text=labels[0].text),
    }
    made = of_columns({role: long[role] for role in _ORDER})
    return replace(made, guessed=table.guessed, remarks=(*table.remarks, *says), na=table.na), guessed


def _describe(table: Source, down: str, ids: str | None, consensus: str | None) -> list[str]:
    says = []
    if ids is None and table.index is None:
        says.append(f"No column names the rows: they are numbered from 1 ({down}s).")
    if consensus:
        says.append(
            f"Column {consensus!r} agrees with the majority of the other columns in 95 % of the rows or more. If it is"
            f" their consensus and not a worker, exclude it with exclude={consensus!r}."
        )
    return says


def _find_ids(
    table: Source, head: TableSample, down: str, chosen: Mapping[str, str]
) -> tuple[str | None, dict[str, str]]:
    """Return the column that names the rows, if there is one, and what was guessed."""
    if chosen:
        check_chosen(table.names, chosen, table.where, roles=(down,))
        return chosen[down], {}
    with suppress(ColumnError):
        picked, guessed = pick_columns(table.names, {}, table.where, roles=(down,))
        if 2 * head[picked[down]].n_values > head.n_rows:
            return picked[down], guessed
    first = find_row_ids(head) if table.index is None else None
    return first, {} if first is None else {down: first}


def _select(names: Sequence[str], files: Files, where: str) -> list[str]:
    """Return the columns that are asked for, without those that are to be skipped."""
    chosen: dict[str, set[str]] = {}
    for option, patterns in (("include", files.include), ("exclude", files.exclude)):
        chosen[option] = set()
        for pattern in patterns:
            fitting = {name for name in names if name == pattern or fnmatchcase(name, pattern)}
            chosen[option] |= fitting
            if not fitting:
                close = find_close(pattern, names)
                meant = "" if close is None else f" Did you mean {close!r}?"
                others = tuple(each for each in patterns if each != pattern)
                ways = [(*others, close), others] if close is not None else [others]
                raise ColumnError(
                    f"{where} has no column {pattern!r}.{meant} It has: {list_names(names)}.",
                    proposals=[Proposal({option: way}) for way in ways],
                )
    return [
        name for name in names if (not files.include or name in chosen["include"]) and name not in chosen["exclude"]
    ]


def _refuse_strangers(table: Source, head: TableSample, names: Sequence[str], files: Files, down: str) -> None:
    """Refuse columns that are probably not answers, unless the columns of answers are named."""
    strangers = {} if files.include else find_strangers(head, names, down)
    if not strangers:
        return
    listed = ", ".join(f"{name!r} ({reason})" for name, reason in strangers.items())
    proposals, hint = [Proposal({"exclude": (*files.exclude, *strangers)})], ""
    gold = [name for reason in (GOLD, "consensus") for name in strangers if strangers[name] == reason]
    if gold and down == "task":
        workers = [name for name in names if name not in strangers]
        rate, rows = measure_departures(head, [*workers, gold[0]]).get(gold[0], (1.0, 0))
        computed = strangers[gold[0]] != GOLD and rows > 0 and rate <= MAX_DEPARTURES
        rest = tuple(name for name in (*files.exclude, *strangers) if name != gold[0])
        use = Proposal({"gold": f"{COLUMN}{gold[0]}", **({"exclude": rest} if rest else {})})
        proposals = [*proposals, use] if computed else [use, *proposals]
        hint = f" Use {gold[0]!r} as gold labels, or exclude it."
        hint += " It nearly always is the majority of the others, which it would confirm as gold." if computed else ""
    raise ColumnError(
        f"{table.where} has columns that are probably not answers: {listed}.{hint} If all are answers, name the columns"
        " of answers with include=.",
        proposals=proposals,
    )


def _join(parts: Sequence[Any]) -> Any:
    """Put the columns of a matrix one below the other."""
    if any(isinstance(part, list) for part in parts):
        return [value for part in parts for value in cells(part)]
    parts = [part for part in parts if len(part)]
    kinds = {part.type for part in parts}
    if len(kinds) > 1:
        if not all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
            listed = ", ".join(sorted(map(str, kinds)))
            raise InputError(f"The columns of the wide table have different types: {listed}. Make them the same.")
        try:  # whole numbers that an empty cell has turned into floats
            parts = [_as_whole_numbers(part) for part in parts]
        except pa.ArrowInvalid:
            parts = [part.cast(pa.float64(), safe=False) for part in parts]
    whole = concatenate("label", parts).combine_chunks()  # what is done chunk by chunk takes long with many columns
    return whole if isinstance(whole, pa.ChunkedArray) else pa.chunked_array([whole])


def _as_whole_numbers(part: Any) -> Any:
    """Return numbers as whole ones, or refuse; floats that do not fit are turned into others on some processors."""
    if pa.types.is_floating(part.type) and not pc.all(pc.less(pc.abs(part), 2.0**63)).as_py():
        raise pa.ArrowInvalid
    return part.cast(pa.int64())


def gather_objects(table: Source, chosen: Mapping[str, str], domain: Domain | None) -> Source:
    """Make an answer of the rows of a worker and a task, where each row is an object.

    The columns that say where an object is, and perhaps its class, are named together as the label, such as
    ``x1 y1 x2 y2 class``, or are recognised by the names that tools give them. A row in which all of them are blank
    says that the worker saw nothing.
    """
    parts = _find_parts(table, chosen, domain)
    if not parts:
        return table
    others = [name for name in table.names if name not in parts]
    given = {role: name for role, name in chosen.items() if role != "label"}
    picked, _ = pick_columns(others, given, table.where, roles=("worker", "task"))
    roles = {**picked, "label": chosen.get("label", " ".join(parts))}

    def step(columns: Columns, _: int) -> Columns:
        gathered = _gather(table, columns, picked, parts)
        return {name: gathered[role] for role, name in roles.items()}

    return table.with_step(
        step,
        adds=list(roles.values()),
        needs=[*picked.values(), *parts],
        drops=table.names,
        whole=True,
        says=["Each row is an object; the rows of a worker and a task together are an answer."],
        text=False,
        roles=roles,
    )


def _find_parts(table: Source, chosen: Mapping[str, str], domain: Domain | None) -> list[str]:
    """Return the columns of an object: those that are named together, or those that have the usual names."""
    if "label" in chosen:
        return split_label(table, chosen)
    if table.roles or (domain is not None and domain.name != "boxes"):
        return []
    names = {name.casefold(): name for name in reversed(table.names)}
    sides = next((keys for keys in _SIDES if all(key in names for key in keys)), ())
    kinds = [key for key in BOX_CLASS_KEYS if key in names][:1] if sides else []
    return [names[key] for key in (*sides, *kinds)]


def _gather(table: Source, columns: Columns, picked: Mapping[str, str], parts: Sequence[str]) -> dict[str, Column]:
    """Put the objects of each worker and task into a list."""
    ids = {role: table.column(role, columns[name]) for role, name in picked.items()}
    for column in ids.values():
        check_ids(column)
    worker, task = (copy(ids[role]).factors[0] for role in ("worker", "task"))  # which lets go of the values
    values = [cells(table.column(name, columns[name])) for name in parts]
    keys = [name.casefold() for name in parts]
    named = any(set(sides) <= set(keys) for sides in _SIDES)
    answers: dict[tuple[int, int], list[Any]] = {}
    first = np.zeros(len(worker), np.bool_)
    for row, (who, what, *said) in enumerate(zip(worker.tolist(), task.tolist(), *values, strict=True)):
        first[row] = (who, what) not in answers
        answer = answers.setdefault((who, what), [])
        if thing := _read_cells(said, keys, row):
            answer.append(dict(zip(keys, thing, strict=False)) if named else thing)
    label = Column("label", list(answers.values())).numbered(np.flatnonzero(first))
    return {**{role: column.keep(first) for role, column in ids.items()}, "label": label}


def _read_cells(row: list[Any], names: list[str], place: int) -> list[Any]:
    """Return the numbers and the class of one object; nothing if all of its cells are blank."""
    kinds = [name in BOX_CLASS_KEYS for name in names]
    if not any(kinds) and len(row) % 2:
        kinds[-1] = True  # an odd last one can only be a class
    pairs = zip(names, row, kinds, strict=True)
    numbers = [None if kind else read_number(cell, name, place + 1) for name, cell, kind in pairs]
    if all(number is None for number in numbers):
        return []
    found: list[Any] = []
    for name, cell, number, kind in zip(names, row, numbers, kinds, strict=True):
        if number is None and not kind:
            raise LabelError(f"{name} in row {place + 1} is blank, though others are not. Fill in all, or none.")
        if not kind:
            found.append(number)
        elif cell is not None and cell == cell and str(cell).strip():
            found.append(cell.strip() if isinstance(cell, str) else cell)
    return found


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
    guessed = {**table.guessed, **({"duplicates": SET} if found.recognised else {})}
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
    found = PartColumns(None, tuple(counts), tuple(question for question in beside if question not in counts))
    sets = Column("label", cells(loaded[name]))
    values, kind, says = _make_records(name, sets, answers, found, beside, f"An answer to {name!r} is")
    step = lambda columns, _: columns | {name: values}  # noqa: E731
    return table.with_step(step, adds=[name], whole=True, says=[says], domain=kind, n_bytes=lambda _: 0)


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
