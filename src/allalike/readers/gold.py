"""Gold labels from files, tables and mappings, and maps from their spellings to those in the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import numpy_of
from allalike._core.lazy_imports import pa, pc
from allalike.answers.cleaning import Cleaning
from allalike.answers.gold import Gold, join_values
from allalike.domains.spelling import match_key
from allalike.errors import ColumnError, GoldError, InputError, OptionError
from allalike.readers.column_names import COLUMN, pick_columns
from allalike.readers.formats.files import Files
from allalike.readers.reshaping.columns import combine, has_fields
from allalike.readers.sources import is_path, open_table
from allalike.readers.tools import find_tool

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.answers import Answers
    from allalike.readers.formats.source import Source

EXPORT = "export"  # name for gold labels that are marked in the export of a tool
SAME = "same"  # gold map for labels that are correct as they are
_ROLES = ("task", "label")
_GOLD_NAMES = (
    "gold golden goldlabel goldstandard truth groundtruth gt true truelabel trueanswer trueclass target correct"
    " correctanswer correctlabel expert expertlabel expertanswer reference solution key"
)
_BETWEEN_PAIRS = re.compile(r",(?=[^,=]*=)")


def is_within(gold: Any) -> bool:
    """Return whether gold labels are in the same files as the answers."""
    return isinstance(gold, str) and (gold == EXPORT or gold.startswith(COLUMN))


def is_truth(name: str) -> bool:
    """Return whether a column has a usual name for gold labels."""
    return re.sub(r"[\W_]", "", name.casefold()) in _GOLD_NAMES.split()


def read_gold(gold: Any, answers: Answers) -> Answers:
    """Return the answers with these gold labels; the notes count gold labels of tasks without answers."""
    return answers.with_gold(open_gold(gold).split(answers.domain))


def open_gold(
    gold: Any,
    *,
    columns: Mapping[str, str] | None = None,
    na: Iterable[str] = (),
    label_map: Any = None,
    gold_map: Any = None,
    fields: Sequence[str] = (),
    like: Callable[[], Mapping[str, str]] = dict,
    files: Files | None = None,
) -> Gold:
    """Read gold labels: a path or a table with task and label, a mapping, or rows of (task, label).

    The columns of a table are ``columns``, or found by name; the names of the answers' columns (``like``) take
    precedence. Tasks without a label are excluded and counted. In text files, the words in ``na`` also mean a missing
    label. ``label_map`` is that of the answers; ``gold_map`` maps gold labels to labels of the answers. The ``fields``
    of a label may be columns of the table. The export of a tool is read with the options in ``files``.
    """
    if isinstance(gold, Gold):
        return gold
    is_series = hasattr(gold, "items") and hasattr(gold, "index") and not hasattr(gold, "columns")
    if is_series or (isinstance(gold, Mapping) and not columns and not _is_table(gold, fields)):
        task, label = _of_pairs(list(gold.items()), columns)
    elif isinstance(gold, list | tuple) and gold and isinstance(gold[0], list | tuple):
        task, label = _of_pairs(gold, columns)
    else:
        task, label = _of_table(open_gold_table(gold, files), columns or {}, fields, like)
    return _map(task, label, _find_blank(label, na), label_map, gold_map)


def gather_gold(
    parts: Iterable[dict[str, Column]], *, na: Iterable[str] = (), label_map: Any = None, gold_map: Any = None
) -> Gold:
    """Return the gold labels from a column of the answers, which has them in some or all rows of each task.

    ``parts`` yields batches with the columns task and label.
    """
    words = tuple(na)
    pairs: list[tuple[Any, Any]] = []
    for part in parts:
        present = ~_find_blank(part["label"], words)
        codes, ids = part["task"].keep(present).factors
        label_codes, values = part["label"].keep(present).parsed(lambda value: value)
        different = np.unique(codes.astype(np.int64) * len(values) + label_codes).tolist()
        pairs += [(ids[pair // len(values)], values[pair % len(values)]) for pair in different]
    if not pairs:
        raise GoldError("No row of the gold table has a label.")
    task, label = (join_values(role, [pair[place] for pair in pairs]) for place, role in enumerate(_ROLES))
    return _map(task, label, label.missing(), label_map, gold_map)


def _map(task: Column, label: Column, blank: npt.NDArray[np.bool_], label_map: Any, gold_map: Any) -> Gold:
    label = label if label_map is None else Cleaning(label_map=read_label_map(label_map)).map_labels(label)
    label = label if gold_map is None else map_gold(label, gold_map)
    return Gold.of(task, label, blank, stated=gold_map is not None)


def _find_blank(label: Column, na: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Return a mask of rows without a label: missing, and in text files also blank or a word in ``na``."""
    missing = label.missing()
    if not (label.text and label.kind == "text"):
        return missing
    words = pc.is_in(pc.utf8_trim_whitespace(label.data), value_set=pa.array(["", *na], label.data.type))
    return missing | numpy_of(words).astype(np.bool_)


def _of_pairs(rows: Sequence[Any], chosen: Mapping[str, str] | None) -> tuple[Column, Column]:
    """Return the tasks and labels of pairs."""
    for row, pair in enumerate(rows, 1):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise GoldError(f"Row {row} of the gold labels is not a pair of task and label: {pair!r}.")
    if chosen:
        raise GoldError(f"gold_columns is {chosen!r}, but the gold labels are not a table. Remove gold_columns.")
    return Column.of_objects("task", [row[0] for row in rows]), Column.of_objects("label", [row[1] for row in rows])


def _is_table(gold: Mapping[Any, Any], fields: Sequence[str]) -> bool:
    """Return whether a mapping contains columns, judging by its names, instead of one label per task."""
    if set(_ROLES) <= set(gold) or (fields and {*fields} <= set(gold)):
        return True
    names = [str(name) for name, values in gold.items() if isinstance(values, list | tuple | np.ndarray)]
    named = list(filter(is_truth, names))
    with suppress(ColumnError):
        pick_columns(names, {"label": named[0]} if named else {}, "", roles=_ROLES)
        return len(names) == len(gold)
    return False


def open_gold_table(gold: Any, files: Files | None = None) -> Source:
    """Open gold labels from a table, or from the export of a tool with a single annotator."""
    if isinstance(gold, str) and not gold:
        raise GoldError("gold is ''. Name a file, or remove gold.")
    try:
        alone = is_path(gold) and Path(gold).is_file() and find_tool([Path(gold)], None) is not None
        return open_table(gold, replace(files or Files(), worker_from="filename") if alone else None)
    except InputError as error:
        raise GoldError(f"The gold labels cannot be read. {error}") from error


def _of_table(
    table: Source, chosen: Mapping[str, str], fields: Sequence[str], like: Callable[[], Mapping[str, str]]
) -> tuple[Column, Column]:
    """Return the columns of tasks and labels: chosen, usual for gold labels, or named as in the answers."""
    if not isinstance(chosen, Mapping):
        raise GoldError(f"gold_columns is {chosen!r}. Write it as {{'task': ..., 'label': ...}}.")
    if odd := [role for role in chosen if role not in _ROLES]:
        raise GoldError(f"gold_columns names {odd[0]!r}. The roles are: {', '.join(_ROLES)}.")
    if has_fields(table.names, fields, chosen, table.where):
        table, made = combine(table, fields)
        chosen = {**chosen, "label": made}
    named = [name for name in table.names if is_truth(name) and name not in chosen.values()]
    known = {**({"label": named[0]} if len(named) == 1 else {}), **chosen}
    if not set(_ROLES) <= {*known, *table.names}:
        free = [name for name in table.names if name not in known.values()]
        known = {**{role: name for role, name in like().items() if role in _ROLES and name in free}, **known}
    try:
        picked = pick_columns(table.names, known, table.where, roles=_ROLES)
    except ColumnError as error:
        wrong = [name for name in chosen.values() if name not in table.names]
        what = f"no column {wrong[0]!r}" if wrong else "no clear columns of task and label"
        what = f"{len(named)} columns of gold labels" if len(named) > 1 and not wrong else what
        raise GoldError(
            f"The gold labels cannot be read: {table.where} has {what}. Columns: {', '.join(map(repr, table.names))}."
        ) from error
    columns = table.columns(picked)
    return columns["task"], columns["label"]


def read_label_map(table: Any) -> dict[Any, str]:
    """Return the meaning of each spelling, from a mapping, pairs, or a table with the columns from and to.

    Blanks around a spelling are ignored, and 1 equals 1.0.

    >>> read_label_map({"yes": 1, "no": 0}), read_label_map([("y", "yes"), ("Y", "yes")])
    ({'yes': '1', 'no': '0'}, {'y': 'yes', 'Y': 'yes'})
    """
    if isinstance(table, Mapping):
        pairs = list(table.items())
    elif isinstance(table, list | tuple) and table and all(isinstance(p, list | tuple) and len(p) == 2 for p in table):
        pairs = list(table)
    else:
        pairs = _read_map_table(open_table(table))
    meant: dict[Any, str] = {}
    for spelling, meaning in pairs:
        if not isinstance(spelling, str | int | float) or not isinstance(meaning, str | int | float):
            raise InputError(f"The label map has {spelling!r} for {meaning!r}. Use texts or numbers.")
        key, text = match_key(spelling), str(meaning)
        if meant.setdefault(key, text) != text:
            raise InputError(f"The label map has two meanings for {spelling!r}: {meant[key]!r} and {text!r}. Keep one.")
    if not meant:
        raise InputError("The label map is empty. Add a row, or remove label_map.")
    return meant


def _read_map_table(table: Source) -> list[tuple[Any, Any]]:
    names = {name.strip().casefold(): name for name in table.names}
    picked = [names["from"], names["to"]] if {"from", "to"} <= names.keys() else table.names
    if len(picked) != 2:
        raise InputError(
            f"{table.where} is not a label map. Name two of its columns from and to: {', '.join(table.names)}."
        )
    columns = table.columns({"worker": picked[0], "task": picked[1]})
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


def map_gold(label: Column, gold_map: Any) -> Column:
    """Return gold labels in the spelling of the answers.

    ``gold_map`` is a mapping, a file with the columns from and to, a text such as ``0=no,1=yes`` (or JSON), or ``same``
    for labels that are correct as they are.

    >>> label = Column.of_objects("label", ["0", "1"])
    >>> [map_gold(label, each).data.to_pylist() for each in ("0=no,1=yes", {"0": "no"}, "same")]
    [['no', 'yes'], ['no', '1'], ['0', '1']]
    """
    if isinstance(gold_map, str) and gold_map == SAME:
        return label
    if is_written(gold_map) and not gold_map.lstrip().startswith("{"):
        pairs = [part.partition("=") for part in _BETWEEN_PAIRS.split(gold_map)]
        gold_map = [(spelling.strip(), meaning.strip()) for spelling, _, meaning in pairs]
    elif is_written(gold_map):
        try:
            gold_map = dict(json.loads(gold_map))
        except (ValueError, TypeError) as error:
            raise OptionError(f"gold_map is {gold_map!r}, which is not a JSON object. Correct it.") from error
    return Cleaning(label_map=read_label_map(gold_map)).map_labels(label)


def write_gold_map(meanings: Mapping[Any, Any]) -> str:
    """Format a gold map as a text that `map_gold` reads."""
    pairs = [(str(label), str(meaning)) for label, meaning in meanings.items()]
    if any(mark in text for pair in pairs for text in pair for mark in ",={"):
        return json.dumps(dict(pairs), ensure_ascii=False)
    return ",".join(f"{label}={meaning}" for label, meaning in pairs)


def is_written(gold_map: Any) -> bool:
    """Return whether a gold map is a text such as ``0=no,1=yes``, and not the name of a file."""
    if not isinstance(gold_map, str) or not (text := gold_map.strip()):
        return False
    return text == SAME or "=" in text or text.startswith("{")
