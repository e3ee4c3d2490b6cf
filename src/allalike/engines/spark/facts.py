"""Facts: what is true of all rows that Spark has read, and columns made of their chunks.

Rows are numbered within their input. Once it is known how many rows there are before each split of a file, this gives
their numbers among all: in the order in which they stand in the files, and as errors name them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.factors import factorize, ranked
from allalike._core.columns.values import Values, arrow_of, is_string, numpy_of
from allalike._core.late import pa, pc
from allalike.answers.cleaning import Dropped
from allalike.engines.ingest.partitions import Vocabulary
from allalike.engines.ingest.routes import whole_numbers
from allalike.engines.spark.rows import ROLES, inspect_strings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allalike.engines.spark.rows import Digest, FirstText, Plan, Rows

    Shifts = dict[int, tuple[Rows, Rows]]


@dataclass(frozen=True, kw_only=True)
class InputFacts:
    """What is true of all rows."""

    n_read: int
    n_kept: int
    missing: dict[str, tuple[int, int, Any]]
    dropped: Dropped
    workers: Values
    text: frozenset[str]
    labels: Values | None
    first_rows: Any
    numeric: bool
    first_text: FirstText | None
    shifts: Shifts
    remarks: tuple[str, ...] = ()


def join_digests(digests: Iterable[Digest], plan: Plan) -> InputFacts | None:
    """Put together what is known of all inputs; nothing if files must be read whole."""
    text, label_text = plan.text, plan.label_text
    known = []
    workers = Vocabulary()
    for digest in digests:
        if digest.n_kept:
            workers.number(Column("worker", digest.workers))
        known.append(replace(digest, workers=None))  # of which there may be many, in every input
    if any(digest.cut_field for digest in known):
        return None
    known.sort(key=lambda digest: digest.number)
    shifts = _find_shifts(known)
    used = [digest for digest in known if digest.n_kept]
    _, ids = ranked(workers.values, text=text) if used else (None, Values([]))
    labels, rows = _join_labels(used, shifts, plan.max_numbered_labels)
    texts, whole = [], label_text
    if labels is None and label_text:
        for digest in used:
            first_text, own = digest.first_text, digest.whole_numbers["label"]
            if digest.labels is not None:
                first_text, own = inspect_strings(Values(digest.labels), digest.first_rows)
            if first_text is not None:
                texts.append((number_rows(first_text[0], shifts[digest.number]), first_text[1]))
            whole = whole and own
    elif labels is not None:
        whole = label_text and is_string(labels.data.type) and whole_numbers(labels.data) is not None
    flags = {
        "worker": text and len(ids) > 0 and not is_string(ids.data.type),
        "task": text and all(digest.whole_numbers["task"] for digest in used),
        "label": whole,
    }
    return InputFacts(
        n_read=sum(digest.n_read for digest in known),
        n_kept=sum(digest.n_kept for digest in known),
        missing=_join_missing(known, shifts),
        dropped=_join_dropped(known, shifts),
        workers=ids,
        text=frozenset(role for role, flag in flags.items() if flag),
        labels=labels,
        first_rows=rows,
        numeric=any(digest.numeric for digest in used),
        first_text=min(texts, default=None),
        shifts=shifts,
        remarks=tuple(dict.fromkeys(remark for digest in known for remark in digest.remarks)),
    )


def _find_shifts(digests: list[Digest]) -> Shifts:
    """Put all splits in order, and number their rows."""
    splits = sorted((split, digest.number, n) for digest in digests for n, (split, _) in enumerate(digest.splits))
    sizes = {digest.number: [rows for _, rows in digest.splits] for digest in digests}
    begins = {number: np.cumsum([0, *rows])[:-1] for number, rows in sizes.items()}
    shift = {number: np.zeros(len(rows), np.int64) for number, rows in sizes.items()}
    before = 0
    for _, number, n in splits:
        shift[number][n] = before - begins[number][n]
        before += sizes[number][n]
    return {number: (begins[number], shift[number]) for number in sizes}


def number_rows(rows: Any, shift: tuple[Rows, Rows]) -> Any:
    """Number the rows of an input among all.

    >>> number_rows(np.array([0, 1, 2]), (np.array([0, 2]), np.array([10, -2])))
    array([10, 11,  0])
    """
    begins, by = shift
    return rows + by[np.searchsorted(begins, rows, side="right") - 1]


def _join_labels(digests: list[Digest], shifts: Shifts, max_number: int) -> tuple[Values | None, Any]:
    """Return every different label, and its first row, unless there are many."""
    if any(digest.labels is None for digest in digests) or not digests:
        return None, None
    vocabulary = Vocabulary()
    first = np.empty(0, np.int64)
    for digest in digests:
        codes = vocabulary.number(Column("label", digest.labels))
        first = np.concatenate([first, np.full(len(vocabulary) - len(first), np.iinfo(np.int64).max)])
        np.minimum.at(first, codes, number_rows(digest.first_rows, shifts[digest.number]))
        if len(vocabulary) > max_number:
            return None, None
    order = np.argsort(first)
    return vocabulary.values.take(order), first[order]


def _join_missing(digests: list[Digest], shifts: Shifts) -> dict[str, tuple[int, int, Any]]:
    missing: dict[str, tuple[int, int, Any]] = {}
    for digest in digests:
        for role, (count, row, found) in digest.missing.items():
            among = int(number_rows(row, shifts[digest.number]))
            others, *first = missing.get(role, (0, among, found))
            missing[role] = (others + count, *min(first, [among, found], key=itemgetter(0)))
    return missing


def _join_dropped(digests: list[Digest], shifts: Shifts) -> Dropped:
    total = Dropped()
    for digest in digests:
        dropped = digest.dropped
        if dropped.example is not None:
            row, label = dropped.example
            dropped = replace(dropped, example=(int(number_rows(row, shifts[digest.number])), label))
        total += dropped
    return total


def read_chunks(chunks: Iterable[bytes], facts: InputFacts, limit: int | None = None) -> dict[str, Any] | None:
    """Return the columns of chunks, with their rows numbered among all, in order; up to a limit if there is one."""
    tables = []
    for chunk in chunks:
        table = pa.ipc.open_stream(pa.py_buffer(chunk)).read_all()
        rows = number_rows(numpy_of(table["row"]), facts.shifts[int(table.schema.metadata[b"input"])])
        if limit is not None:
            table, rows = table.filter(arrow_of(rows < limit)), rows[rows < limit]
        if len(rows):
            tables.append((rows, table))
    if not tables:
        return None
    tables.sort(key=lambda table: int(table[0][0]))
    rows = np.concatenate([own for own, _ in tables])
    columns = {role: _concatenate([table[role] for _, table in tables]) for role in ROLES}
    if np.any(rows[1:] < rows[:-1]):
        order = np.argsort(rows, kind="stable")
        columns = {role: column.take(arrow_of(order)) for role, column in columns.items()}
        rows = rows[order]
    return {**columns, "row": rows}


def _concatenate(columns: list[Any]) -> Any:
    """Put columns one behind the other, of which some may be dictionaries."""
    if len({column.type for column in columns}) > 1:
        columns = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in columns]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks])


def make_label_column(columns: dict[str, Any], facts: InputFacts) -> Column:
    """Return labels that know their rows."""
    return Column("label", columns["label"], text="label" in facts.text).numbered(columns["row"])


def make_columns(columns: dict[str, Any], facts: InputFacts) -> tuple[Column, Column, Column]:
    """Return worker, task and label as a shard is made of them; workers are numbered among all."""
    codes, own = Column("worker", columns["worker"], text="worker" in facts.text).factors
    among = numpy_of(pc.index_in(own.data, value_set=facts.workers.data))
    worker = Column.of_codes("worker", among[codes], facts.workers)
    task = Column.of_codes("task", *factorize(columns["task"], text="task" in facts.text, many=True))
    return worker, task, make_label_column(columns, facts)
