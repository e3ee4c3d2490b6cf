"""Wide tables: one row per task and one column per worker, or vice versa."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.lazy_imports import pa
from allalike._core.registry import did_you_mean, find_close
from allalike.errors import ColumnError, InputError, Proposal
from allalike.readers.column_names import COLUMN, check_chosen, list_names, pick_columns
from allalike.readers.formats.files import Files
from allalike.readers.formats.frames import ROWS
from allalike.readers.formats.source import Source, cells, concatenate, of_columns
from allalike.readers.inference.samples import GOLD, TableSample, find_row_ids, find_strangers

_LOOKED_AT = 10_000  # rows from which the kinds of columns are inferred


def stack(
    table: Source, wide: str, chosen: Mapping[str, str], files: Files | None = None
) -> tuple[Source, dict[str, str]]:
    """Convert a wide table into one of worker, task and label; also return the guessed columns.

    An empty cell is a missing answer. Rows are named by the chosen column, the column with the name of its role, the
    index of a frame, or the first column if its values are unique. Otherwise they are numbered.
    """
    files, (down, across) = files or Files(), ROWS[wide]
    if not table.names:
        raise ColumnError(f"{table.where} has no columns. Use a table with a column per {across}.")
    head = TableSample(table.sample(_LOOKED_AT), frozenset(table.na or ()))
    ids, guessed = _find_ids(table, head, down, chosen)
    names = _select([name for name in table.names if name != ids], files, table.where)
    if not names:
        raise ColumnError(f"{table.where} has no column of answers. Use a table with one per {across}.")
    _refuse_strangers(table, head, names, files, down)
    asked = {ids, *names}
    loaded = table.load([name for name in table.names if name in asked])
    labels = [table.column("label", loaded[name]) for name in names]
    present = [~label.missing() for label in labels]
    full = [place for place, here in enumerate(present) if here.any()]
    if not full:
        raise ColumnError(f"{table.where} has no answers: all of its cells are empty.")
    says = []
    if ids is None and table.index is None:
        says.append(f"No column names the rows: they are numbered from 1 ({down}s).")
    if empty := [name for name, here in zip(names, present, strict=True) if not here.any()]:
        says.append(f"{len(empty):,} {across}s have no answers and are excluded: {list_names(empty)}.")
    if unanswered := int((~np.logical_or.reduce(present)).sum()):
        says.append(f"{unanswered:,} {down}s have no answers and are excluded.")
    numbers = list(table.index if table.index is not None else range(1, len(labels[0]) + 1))
    rows = Column.of_objects(down, numbers) if ids is None else table.column(down, loaded[ids])
    heads = np.repeat(np.arange(len(full), dtype=np.int32), [int(present[place].sum()) for place in full])
    own = pa.DictionaryArray.from_arrays(pa.array(heads), pa.array([names[place] for place in full]))
    long = {
        down: Column(down, _join([rows.keep(present[place]).data for place in full]), text=rows.text),
        across: Column(across, pa.chunked_array([own.cast(pa.string())]), text=True),
        "label": Column("label", _join([labels[at].keep(present[at]).data for at in full]), text=labels[0].text),
    }
    made = of_columns({role: long[role] for role in ("task", "worker", "label")})
    return replace(made, guessed=table.guessed, remarks=(*table.remarks, *says), na=table.na), guessed


def _find_ids(
    table: Source, head: TableSample, down: str, chosen: Mapping[str, str]
) -> tuple[str | None, dict[str, str]]:
    """Return the column that names the rows, or None, and the guessed columns."""
    if chosen:
        check_chosen(table.names, chosen, table.where, roles=(down,))
        return chosen[down], {}
    with suppress(ColumnError):
        name = pick_columns(table.names, {}, table.where, roles=(down,))[down]
        if 2 * head[name].n_values > head.n_rows:
            return name, {down: name} if name != down else {}
    first = find_row_ids(head) if table.index is None else None
    return first, {} if first is None else {down: first}


def _select(names: Sequence[str], files: Files, where: str) -> list[str]:
    """Return the included columns, without the excluded ones."""
    chosen: dict[str, set[str]] = {"include": set(), "exclude": set()}
    for option, patterns in (("include", files.include), ("exclude", files.exclude)):
        for pattern in patterns:
            fitting = {name for name in names if name == pattern or fnmatchcase(name, pattern)}
            chosen[option] |= fitting
            if not fitting:
                others = tuple(each for each in patterns if each != pattern)
                close = find_close(pattern, names)
                ways = [others] if close is None else [(*others, close), others]
                what = f"{where} has no column {pattern!r}.{did_you_mean(pattern, names)} It has: {list_names(names)}."
                raise ColumnError(what, proposals=[Proposal({option: way}) for way in ways])
    return [
        name for name in names if (not files.include or name in chosen["include"]) and name not in chosen["exclude"]
    ]


def _refuse_strangers(table: Source, head: TableSample, names: Sequence[str], files: Files, down: str) -> None:
    """Refuse columns that are probably not answers, unless the columns of answers are listed."""
    strangers = {} if files.include else find_strangers(head, names, down)
    if not strangers:
        return
    listed = ", ".join(f"{name!r} ({reason})" for name, reason in strangers.items())
    proposals, hint = [Proposal({"exclude": (*files.exclude, *strangers)})], ""
    gold = [name for reason in (GOLD, "consensus") for name in strangers if strangers[name] == reason]
    if gold and down == "task":
        rest = tuple(name for name in (*files.exclude, *strangers) if name != gold[0])
        use = Proposal({"gold": f"{COLUMN}{gold[0]}", **({"exclude": rest} if rest else {})})
        proposals = [use, *proposals] if strangers[gold[0]] == GOLD else [*proposals, use]
        hint = f" Use {gold[0]!r} as gold labels, or exclude it."
    raise ColumnError(
        f"{table.where} has columns that are probably not answers: {listed}.{hint} If all are answers, name the columns"
        " of answers with include=.",
        proposals=proposals,
    )


def _join(parts: Sequence[Any]) -> Any:
    """Concatenate the columns of a matrix."""
    if any(isinstance(part, list) for part in parts):
        return [value for part in parts for value in cells(part)]
    parts = [part for part in parts if len(part)]
    kinds = {part.type for part in parts}
    if len(kinds) > 1:
        if not all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
            listed = ", ".join(sorted(map(str, kinds)))
            raise InputError(f"The columns of the wide table have different types: {listed}. Make them the same.")
        try:  # integers that an empty cell turned into floats
            parts = [part.cast(pa.int64()) for part in parts]
        except pa.ArrowInvalid:
            parts = [part.cast(pa.float64(), safe=False) for part in parts]
    whole = concatenate("label", parts).combine_chunks()  # one chunk, because one per column would be slow
    return whole if isinstance(whole, pa.ChunkedArray) else pa.chunked_array([whole])
