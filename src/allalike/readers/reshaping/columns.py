"""Steps for labels in several columns, objects, lists of labels, merged cells, scales of questions, and groups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column, RecordColumn
from allalike._core.columns.values import arrow_of, is_nothing, numpy_of
from allalike._core.lazy_imports import pa, pc
from allalike._core.limits import MAX_FIELDS
from allalike._core.registry import find_close
from allalike._core.text_format import count
from allalike.answers.cleaning import check_ids
from allalike.domains import DOMAINS, Domain
from allalike.domains.contract import spell_domain
from allalike.domains.objects.keys import BOX_CLASS_KEYS, BOX_KEYS
from allalike.errors import ColumnError, InputError, LabelError, Proposal
from allalike.readers.column_names import list_names, pick_columns
from allalike.readers.formats.source import Columns, Source, cells, texts
from allalike.readers.inference.label_types import guess_domain
from allalike.readers.rating_scales import read_ratings
from allalike.readers.reshaping.parts import number_rows

_KINDS = {"place": "a place", "probability": "the probabilities of its options", "vector": "a vector"}
_LATITUDE = re.compile(r"(?i)(.*(?:^|[^a-z]))(?:lat|latitude)(\W*)")
_LONGITUDE = r"(?i){}(?:lon|lng|long|longitude){}"
_CHANCE = re.compile(r"(?i)(p|pr|prob|proba|probability)[ _.(\[-]+(.+?)[)\]]?")
_TOLERANCE = 0.011  # of the sum of probabilities, as for `allalike.Probability`
_PLAIN = ("categorical", "ordinal", "real", "text", "date")  # label types for which a list is several labels
_PLACE = "place"
_SIDES = tuple(keys for keys in BOX_KEYS if len(keys) > 1)
_FILL_IN = "Fill in all, or none."
_JOINED_ROWS, _LISTED_ROWS, _MERGED_ROWS = 1000, 100, 2000  # of a sample
_MIN_BLANK = 0.3  # of the rows
_NAME = "record"  # of the column made from the fields
_SHOWN = 12
_TO_CLASSES = "--include NAME --domain categorical."
_MIN_NUMBERS = 5  # distinct, rarely recurring ones that are measurements or counts


def _pick(names: Sequence[str], chosen: Mapping[str, str], *roles: str) -> dict[str, str] | None:
    try:
        return pick_columns(names, chosen, "", roles=roles)
    except ColumnError:
        return None


def split_label(table: Source, chosen: Mapping[str, str]) -> list[str]:
    """Return the columns that are chosen together as the label, such as ``lat lon``."""
    label = str(chosen.get("label", ""))
    words = label.split()
    return words if len(words) > 1 and label not in table.names and {*words} <= {*table.names} else []


def join_columns(table: Source, chosen: Mapping[str, str], domain: Domain | None) -> Source:
    """Replace several columns that form a label with a single column.

    They are chosen together, or detected by their names if no other column is the label. Examples are ``lat`` and
    ``lon``, and ``p_cat p_dog p_owl``, whose rows sum to 1.
    """
    kind, parts = _find_parts(table, chosen, "" if domain is None else domain.name)
    if not parts:
        return table
    label = " ".join(parts)
    options = [match[2] if (match := _CHANCE.fullmatch(name)) else name for name in parts]

    def step(columns: Columns, _: int) -> Columns:
        made: list[Any] = []
        for row, numbers in enumerate(_read_rows(table, columns, parts), start=1):
            if None in numbers and set(numbers) != {None}:
                raise LabelError(f"A part of the label in row {row} is blank, though others are not. {_FILL_IN}")
            as_label = dict(zip(options, numbers, strict=True)) if kind == "probability" else list(numbers)
            made.append(None if None in numbers else as_label)
        return columns | {label: made}

    return table.with_step(
        step,
        adds=[label],
        needs=parts,
        drops=parts,
        whole=True,
        says=[f"{', '.join(map(repr, parts[:-1]))} and {parts[-1]!r} together form the label, {_KINDS[kind]}."],
        roles={**table.roles, "label": label},
        domain=kind if domain is None else "",
    )


def _find_parts(table: Source, chosen: Mapping[str, str], asked: str) -> tuple[str, list[str]]:
    """Return the type of the label that several columns form, and the names of the columns."""
    if asked and asked not in _KINDS:
        return "", []
    named = {"probability": [name for name in table.names if _CHANCE.fullmatch(name)], "place": []}
    latitudes = [match for name in table.names if (match := _LATITUDE.fullmatch(name))]
    if len(latitudes) == 1:
        pattern = re.compile(_LONGITUDE.format(*map(re.escape, latitudes[0].groups())))
        longitudes = [name for name in table.names if pattern.fullmatch(name)]
        named["place"] = [latitudes[0][0], *longitudes] if len(longitudes) == 1 else []
    if "label" in chosen:
        words = split_label(table, chosen)
        kind = asked or next((kind for kind, parts in named.items() if parts == words), "")
        return kind, words if kind else []
    kinds = [kind for kind, parts in named.items() if len(parts) > 1 and asked in ("", kind)]
    if table.roles or len(kinds) != 1 or not _are_answers(table, chosen, named[kinds[0]], kinds[0]):
        return "", []
    return kinds[0], named[kinds[0]]


def _are_answers(table: Source, chosen: Mapping[str, str], parts: Sequence[str], kind: str) -> bool:
    """Return whether no other column is the label, and the columns are numbers that differ within tasks."""
    others = [name for name in table.names if name not in parts]
    picked = _pick(others, chosen, "worker", "task")
    if picked is None or _pick([name for name in others if name not in picked.values()], {}, "label"):
        return False
    try:
        sample = table.sample(_JOINED_ROWS, [picked["task"], *parts])
        rows = list(_read_rows(table, sample, parts))
    except InputError:
        return False
    sums = [sum(row) for row in rows if None not in row]
    odd = [total for total in sums if abs(total - 1) > _TOLERANCE]
    if odd and kind == "probability":
        raise ColumnError(
            f"{table.where} has columns that look like probabilities of options, {list_names(parts)}, but a row sums to"
            f" {odd[0]:.3g}, not to 1. Correct them, or choose one of the columns as the label.",
            columns={"label": parts[0]},
        )
    tasks = list(map(str, cells(sample[picked["task"]])))
    once = len(set(tasks)) == len(tasks)
    return bool(sums) and (once or len(set(zip(tasks, rows, strict=True))) > len(set(tasks)))


def _read_rows(table: Source, columns: Columns, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Return the numbers in each row of columns, or None for blank cells."""
    read = {name: cells(table.column("label", columns[name])) for name in names}
    return zip(*([_read_number(*each, name) for each in enumerate(read[name], 1)] for name in names), strict=True)


def _read_number(row: int, cell: Any, name: str) -> float | None:
    """Return a cell as a number, or None if it is blank."""
    if _is_blank(cell):
        return None
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise LabelError(f"{name} in row {row} is {cell!r}, which is not a number. Correct it.") from None


def _is_blank(cell: Any) -> bool:
    return not cell.strip() if isinstance(cell, str) else is_nothing(cell)


def gather_objects(table: Source, chosen: Mapping[str, str], domain: Domain | None) -> Source:
    """Join the rows of a worker and a task, each with one object, into one answer.

    The columns of an object's coordinates, and perhaps its class, are chosen together as the label, such as
    ``x1 y1 x2 y2 class``, or detected by the names that tools use. A row in which all of them are blank means that the
    worker saw no object.
    """
    parts = split_label(table, chosen)
    if "label" not in chosen and not table.roles and (domain is None or domain.name == "boxes"):
        names = {name.casefold(): name for name in reversed(table.names)}
        sides = next((keys for keys in _SIDES if all(key in names for key in keys)), ())
        kinds = [key for key in BOX_CLASS_KEYS if key in names][:1] if sides else []
        parts = [names[key] for key in (*sides, *kinds)]
    if not parts:
        return table
    others = [name for name in table.names if name not in parts]
    given = {role: name for role, name in chosen.items() if role != "label"}
    picked = pick_columns(others, given, table.where, roles=("worker", "task"))
    label = chosen.get("label", " ".join(parts))
    named = any({*sides} <= {name.casefold() for name in parts} for sides in _SIDES)

    def step(columns: Columns, _: int) -> Columns:
        ids = {name: table.column(role, columns[name]) for role, name in picked.items()}
        for column in ids.values():
            check_ids(column)
        numbers, first = number_rows([copy(column).factors[0] for column in ids.values()])  # factors drop the values
        answers: list[list[Any]] = [[] for _ in range(int(first.sum()))]
        rows = zip(*(cells(table.column(name, columns[name])) for name in parts), strict=True)
        for row, (number, said) in enumerate(zip(numbers, rows, strict=True), start=1):
            if thing := _read_object(dict(zip(parts, said, strict=True)), row):
                plain = {name.casefold(): each for name, each in thing.items()}
                answers[number].append(plain if named else list(thing.values()))
        made = Column("label", answers).numbered(np.flatnonzero(first))
        return {**{name: column.keep(first) for name, column in ids.items()}, label: made}

    return table.with_step(
        step,
        adds=[*picked.values(), label],
        needs=[*picked.values(), *parts],
        drops=table.names,
        whole=True,
        says=["Each row is an object. The rows of a worker and a task together are an answer."],
        text=False,
        roles={**picked, "label": label},
    )


def _read_object(said: dict[str, Any], row: int) -> dict[str, Any]:
    """Return the numbers and the class of one object, or nothing if all of its cells are blank."""
    names = list(said)
    kinds = [name for name in names if name.casefold() in BOX_CLASS_KEYS]
    if not kinds and len(names) % 2:
        kinds = names[-1:]  # with an odd number of columns, the last can only be a class
    thing = {name: cell if name in kinds else _read_number(row, cell, name) for name, cell in said.items()}
    blank = [name for name in names if name not in kinds and thing[name] is None]
    if len(blank) == len(names) - len(kinds):
        return {}
    if blank:
        raise LabelError(f"{blank[0]} in row {row} is blank, though others are not. {_FILL_IN}")
    filled = {name: each for name, each in thing.items() if not _is_blank(each)}
    return {name: each.strip() if isinstance(each, str) else each for name, each in filled.items()}


def spread_lists(table: Source, chosen: Mapping[str, str], domain: Domain | None) -> Source:
    """Make one row per label if tasks have lists of labels and there are no workers."""
    if table.text or table.roles or "worker" in chosen or (domain and domain.name not in _PLAIN):
        return table
    picked = _pick(table.names, chosen, "task", "label")
    if picked is None or _pick(table.names, {}, "worker"):
        return table
    task, label = picked["task"], picked["label"]
    try:
        lists = [each for each in cells(table.sample(_LISTED_ROWS, [label])[label]) if each is not None]
    except InputError:
        return table
    plain = all(
        isinstance(each, list | tuple) and not any(isinstance(value, list | tuple | dict) for value in each)
        for each in lists
    )
    if not plain or not any(len(each) > 1 for each in lists):
        return table

    def step(columns: Columns, _: int) -> Columns:
        rows = [
            (place, one, value)
            for one, values in zip(cells(columns[task]), cells(columns[label]), strict=True)
            for place, value in enumerate(values or (), start=1)
            if value is not None
        ]
        return dict(zip((_PLACE, task, label), map(list, zip(*rows, strict=True)), strict=True))

    says = f"Each task has a list of labels ({label!r}): positions in the list are read as workers."
    roles = {"worker": _PLACE, "task": task, "label": label}
    adds, needs = list(roles.values()), [task, label]
    return table.with_step(step, adds=adds, needs=needs, drops=table.names, whole=True, says=[says], roles=roles)


def fill_down(table: Source, picked: Mapping[str, str], *_: Any) -> Source:
    """Fill in workers or tasks that only the first of several rows contains, as with merged cells in spreadsheets.

    They are detected by the other id: every row has one, and once filled, no worker answers a task twice.
    """
    sample = table.sample(_MERGED_ROWS, [picked["worker"], picked["task"]]) if table.text else {}
    for role, other in (("task", "worker"), ("worker", "task")) if sample else ():
        name = picked[role]
        ids, others = ([str(each).strip() for each in cells(sample[picked[each]])] for each in (role, other))
        if not ids or not ids[0] or ids.count("") < _MIN_BLANK * len(ids) or "" in others:
            continue
        filled = _fill(pa.chunked_array([ids])).to_pylist()
        if len(set(filled)) > 1 and len(set(zip(filled, others, strict=True))) == len(filled):
            says = f"{table.where} has blank cells in {name!r}, which are filled with the value above."
            step = lambda columns, _, name=name: columns | {name: _fill(columns[name])}  # noqa: E731
            return table.with_step(step, adds=[name], needs=[name], whole=True, says=[says])
    return table


def _fill(column: Any) -> Any:
    """Fill blank cells with the value above."""
    kept = pc.if_else(pc.equal(pc.binary_length(pc.utf8_trim_whitespace(column)), 0), None, column)
    return pc.fill_null_forward(kept).fill_null("")


def part_table(
    table: Source, names: Sequence[str], picked: Mapping[str, str]
) -> Iterator[tuple[tuple[str, ...], Source]]:
    """Yield each combination of values of columns, with a table of its rows."""
    if missing := [name for name in names if name not in table.names]:
        free = [name for name in table.names if name not in {*names, *picked.values()}]
        close = find_close(missing[0], free) or next(iter(free), None)
        right = tuple(each for each in (*(name for name in names if name not in missing), close) if each)
        raise ColumnError(
            f"{table.where} has no column {missing[0]!r}. Columns: {list_names(table.names)}.",
            proposals=[Proposal({"by": right or None})],
        )
    held: dict[str, Column] = {}

    def load(asked: Sequence[str]) -> Columns:
        new = [name for name in asked if name not in held]
        for name, data in table.load(new).items() if new else ():
            held[name] = table.column("label" if name == picked.get("label") else "task", data)
        return {name: held[name] for name in asked}

    whole = table.loaded_by(load, roles=dict(picked))
    found = [Column("task", texts(table.column("label", data))).factors for data in table.load(names).values()]
    codes = np.stack([each for each, _ in found])
    for place in np.unique(codes, axis=1).T:
        values = tuple(str(known.tolist()[code]) for (_, known), code in zip(found, place, strict=True))
        yield values, whole.with_rows((codes == place[:, None]).all(axis=0), n_bytes=whole.n_bytes)


def has_fields(names: Sequence[str], fields: Sequence[str], columns: Mapping[str, str], where: str = "") -> bool:
    """Return whether the fields of a label are among the columns of a table; all must be, or none."""
    missing = [name for name in fields if name not in {*names}]
    if not fields or "label" in columns or len(missing) == len(fields):
        return False
    if missing:
        raise ColumnError(
            f"{where} has no column {missing[0]!r}, but other fields of the labels are columns. Add it, or remove it"
            f" from the fields. Columns: {list_names(names)}."
        )
    return True


def combine(table: Source, fields: Sequence[str]) -> tuple[Source, str]:
    """Return a table with the fields joined into one column, and its name; a row without any field has no label."""
    made = _NAME
    while made in {*table.names} - {*fields}:
        made = f"{made}_"

    def step(columns: Columns, _: int) -> Columns:
        parts = {name: table.column("label", columns[name]) for name in fields}
        return columns | {made: RecordColumn("label", parts)}

    roles = {role: name for role, name in table.roles.items() if role != "label"}
    written = table.text or table.written
    return table.with_step(step, adds=[made], needs=fields, drops=fields, roles=roles, written=written), made


def part_scales(table: Source, picked: Mapping[str, str], domain: Domain | None, *_: Any) -> Source:
    """Convert labels into records with one field per scale, for tasks with different scales such as survey questions.

    "Agree" and "Sometimes" are not two classes of one question. So a label fills only the field of its scale. Labels of
    different scales are never compared, each scale has its own label type, and a worker has one weight for all scales.
    """
    if domain is not None or not table.scales:
        return table
    name = picked["label"]
    loaded = table.load([name, picked["task"], table.scales])
    codes, scales = table.column("task", loaded[table.scales]).factors
    names = [str(each) for each in scales.tolist()]
    if len(names) > MAX_FIELDS:
        return table
    label, task = table.column("label", loaded[name]), table.column("task", loaded[picked["task"]]).factors[0]
    fields, kinds, listed, excluded = {}, {}, [], []
    for place in np.argsort(np.unique(codes, return_index=True)[1]):  # in order of appearance
        scale, rows = names[place], codes == place
        kinds[scale], beside = _guess(label.keep(rows), task[rows])
        missing = rows & numpy_of(pc.is_in(label.data, value_set=pa.array(beside, label.data.type)))
        if missing.any():
            excluded.append(f"{' and '.join(map(repr, beside))} in {scale} ({count(int(missing.sum()), 'answer')})")
        kept = pc.if_else(arrow_of(rows & ~missing), label.data, pa.scalar(None, label.data.type))
        fields[scale] = table.column("label", kept)
        questions = len(np.unique(task[rows]))
        listed.append(f"{scale} ({f'{questions} questions, ' if questions > 1 else ''}{kinds[scale].name})")
    kind, column, says = kinds[names[0]], fields[names[0]].data, []
    if len(names) > 1:
        make: Any = DOMAINS["record"]
        kind, column = make(fields=tuple(kinds.items()), one=True), RecordColumn("label", fields)
        says = [f"Questions have {len(names)} scales, each with its own label type: {_list_some(listed)}."]
    if excluded:
        says += [f"These mean no answer and are excluded: {', '.join(excluded)}. To count them: {_TO_CLASSES}"]
    if ratings := [scale for scale, own in kinds.items() if spell_domain(own) == "ordinal"]:
        says += [f"Integers are read as ratings (ordinal) in {_list_some(ratings)}. If they are codes of choices:"]
        says[-1] += f" {_TO_CLASSES}"
    step = lambda columns, _: columns | {name: column}  # noqa: E731
    return table.with_step(step, adds=[name], whole=True, says=says, domain=kind)


def _guess(column: Column, task: npt.NDArray[np.int32]) -> tuple[Domain, list[str]]:
    """Return the type of the labels of a scale, and the labels that mean no answer; classes if the type is unclear.

    Ratings from 0 to 10 are levels, and other numbers that rarely recur are measurements. If words describe only some
    of the ratings, the levels in between are named by number.
    """
    there = ~column.missing()
    given, place = column.keep(there), np.unique(task[there], return_inverse=True)[1].astype(np.int32)
    values = [str(value) for value in cells(given)]
    if ratings := read_ratings(dict.fromkeys(values)):
        make: Any = DOMAINS["ordinal"]
        written = {number: label for label, number in ratings.items()}
        levels = tuple(written.get(n, str(n)) for n in range(min(written), max(written) + 1))
        return make() if all(map(str.isdecimal, ratings)) else make(levels=levels), []
    try:
        kind = guess_domain(given, [(given, place)], len(place), lambda: (given, place))
    except InputError as error:
        codes = error.options.get("abstain_label", ())
        beside = [str(code) for code in (codes if isinstance(codes, tuple) else (codes,))]
        there[there] = [value not in beside for value in values]
        if beside and there.any():
            return _guess(column.keep(there), task[there])[0], beside
        return DOMAINS["categorical"](), []
    rare = kind.name == "categorical" and given.looks_numeric() and len({*values}) > len(place) / 2
    return DOMAINS["real"]() if rare and len({*values}) >= _MIN_NUMBERS else kind, []


def _list_some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
