"""Stream: answers that are still to be read, batch after batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.columns.column import Column
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import numpy.typing as npt

    from allalike.columns.factors import Codes
    from allalike.domains import Domain

    Batch = dict[str, Column]
    Guess = Callable[[Column, Iterable[tuple[Column, Codes]], int], Domain]

__all__ = ["Stream", "check_ids", "drop_blanks", "gathered", "lacking"]

_ROWS, _BYTES = 1 << 19, 1 << 25  # of a batch, unless it is the last: so many rows, or so many bytes
_OBJECT = 1 << 9  # bytes of a Python object, about


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Hold the way to read answers, and what the user wants done with them.

    Parameters
    ----------
    batches
        Starts anew on every call, and yields the columns worker, task and label of some rows at a time.
    guess
        Tells the domain of labels, as `allalike.readers.kinds.guess_domain` does.
    size
        About how many bytes they are once read, or 0 if they are in memory already.
    domain
        The kind of label, if it is given.
    choices
        Another rule or distance of the domain, be that given or guessed.
    repeats, missing
        What to do with a worker's second answer to a task, and with rows without a label; see `allalike.read`.
    notes
        What was guessed about columns.

    >>> import allalike
    >>> stream = allalike.scan([("ada", 1, "x"), ("bob", 1, "y")]).stream()
    >>> [batch["worker"].data.to_pylist() for batch in stream.batches()]
    [['ada', 'bob']]
    """

    batches: Callable[[], Iterator[Batch]]
    guess: Guess
    size: int = 0
    domain: Domain | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    repeats: str = "first"
    missing: str = "error"
    notes: dict[str, Any] = field(default_factory=dict)


def drop_blanks(columns: Batch, missing: str, *, before: int | None = None) -> tuple[Batch, npt.NDArray[np.bool_]]:
    """Refuse rows without a label, or drop them; return also which rows have one.

    Of all rows it is known how many have none; of a batch, how many rows came ``before`` it.

    >>> from allalike.columns.column import Column
    >>> kept, labelled = drop_blanks({"label": Column.of_objects("label", ["x", None])}, "drop")
    >>> kept["label"].data.to_pylist(), labelled
    (['x'], array([ True, False]))
    """
    blank = columns["label"].missing()
    if blank.any() and missing == "error":
        raise _lacking(columns["label"], blank, before)
    if blank.any():
        columns = {role: column.keep(~blank) for role, column in columns.items()}
    return columns, ~blank


def check_ids(column: Column, *, before: int | None = None) -> None:
    """Refuse rows without an id.

    >>> from allalike.columns.column import Column
    >>> check_ids(Column.of_objects("task", ["t1", None]))
    Traceback (most recent call last):
    allalike.errors.InputError: Row 2 has no task, and 1 rows in all. Fill it in, or remove them.
    """
    blank = column.missing()
    if blank.any():
        raise _lacking(column, blank, before)


def lacking(role: str, row: int, count: int | None) -> InputError:
    """Say that a row has no worker, task or label, and how many rows in all, if that is known.

    >>> lacking("label", 2, 7).args[0][:45]
    'Row 2 has no label, and 7 rows in all. A miss'
    """
    what = f"Row {row} has no {role}" + ("." if count is None else f", and {count} rows in all.")
    if role != "label":
        return InputError(f"{what} Fill it in, or remove them.")
    return InputError(
        f"{what} A missing answer is a missing row: remove them, or have them dropped with missing='drop' (--missing"
        " drop)."
    )


def _lacking(column: Column, blank: npt.NDArray[np.bool_], before: int | None) -> InputError:
    row = column.row(int(np.argmax(blank)))
    return lacking(column.name, row if before is None else before + row, int(blank.sum()) if before is None else None)


def gathered(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Join small batches, so that each is worth its while.

    >>> from allalike.columns.column import Column
    >>> batch = {"label": Column.of_objects("label", ["x", "y"])}
    >>> [len(joined["label"]) for joined in gathered([batch, batch])]
    [4]
    """
    waiting: list[Batch] = []
    rows = size = 0
    for batch in batches:
        if waiting and _kinds(batch) != _kinds(waiting[0]):
            yield _joined(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows += len(batch["label"])
        size += sum(_size(column.data) for column in batch.values())
        if rows >= _ROWS or size >= _BYTES:
            yield _joined(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield _joined(waiting)


def _kinds(batch: Batch) -> list[Any]:
    return [list if isinstance(column.data, list) else column.data.type for column in batch.values()]


def _size(data: Any) -> int:
    return _OBJECT * len(data) if isinstance(data, list) else int(data.nbytes)


def _joined(batches: list[Batch]) -> Batch:
    import pyarrow as pa

    def join(role: str) -> Column:
        datas = [batch[role].data for batch in batches]
        if isinstance(datas[0], list):
            joined: Any = [value for data in datas for value in data]
        else:
            joined = pa.chunked_array([chunk for data in datas for chunk in data.chunks])
        return Column(role, joined, text=batches[0][role].text)

    return batches[0] if len(batches) == 1 else {role: join(role) for role in batches[0]}
