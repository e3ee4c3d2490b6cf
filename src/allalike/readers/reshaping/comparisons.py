"""Tables of comparisons: two items and the better of them in each row, read as rankings of two items.

    worker,left,right,winner            judge,model_a,model_b,winner
    ada,tea,milk,tea                    eve,gpt,llama,model_b
    bob,tea,milk,tie                    eve,llama,qwen,tie (bothbad)

The winner is one of the two, by its name or by its column, or it is a tie. All comparisons are one task, whose truth
ranks all items, unless another column is named as the task; a worker's comparisons of a task are added up.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from allalike._core.columns.values import arrow_of, numpy_of
from allalike._core.late import pa, pc
from allalike.errors import InputError
from allalike.readers.column_names import SYNONYM, rate_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from allalike.readers.formats.tables import Table

_PAIRS = (("left", "right"), ("model_a", "model_b"))
_WINNERS = ("winner", "label")
_FIRST, _SECOND = {"left", "a", "first", "model_a"}, {"right", "b", "second", "model_b"}
_TIES = {"tie", "tied", "draw", "equal", "same", "both", "neither", "both_bad", "bothbad", "both_good", "tie (bothbad)"}
LABEL, TASK = "comparison", "all comparisons"  # the columns that are made are called so
ALL = "all"  # the only task
_MARKS = re.compile(r"[<>=~{}\[,;|]")


class Columns(NamedTuple):
    """The names of the columns of two items, and of the better of them."""

    left: str
    right: str
    winner: str


def read_comparisons(table: Table, chosen: Mapping[str, str], *, asked: bool) -> Table:
    """Return a table of comparisons with rankings of two items for labels, and any other table as it is.

    Where the table has tasks of its own, or is a tool's export, it is read as comparisons only if that is asked for.

    >>> from allalike.readers.formats.tables import of_records
    >>> rows = [{"worker": "ada", "left": "x", "right": "y", "winner": winner} for winner in ("y", "tie")]
    >>> table = read_comparisons(of_records(rows), {}, asked=False)
    >>> table.roles, table.load(["comparison"])["comparison"].to_pylist()
    ({'worker': 'worker', 'task': 'all comparisons', 'label': 'comparison'}, ['y>x', 'x=y'])
    """
    found = find_columns(table.names)
    if found is None or "label" in chosen:
        return table
    others = [name for name in table.names if name not in found]
    has_task = any(rate_name(name, "task") >= SYNONYM for name in others)
    if not asked and (has_task or table.roles or found.winner == "label"):
        return table
    rates = {name: rate_name(name, "worker") for name in others if name not in chosen.values()}
    worker = max(rates, key=lambda name: rates[name], default="")
    roles = {"task": TASK, "label": LABEL} | ({"worker": worker} if rates.get(worker, 0.0) >= SYNONYM else {})

    def load(names: Sequence[str]) -> dict[str, Any]:
        loaded = {name: data() if callable(data) else data for name, data in table.load(_needed(names, found)).items()}
        return _add_columns(loaded, names, found, 0, table.where)

    def load_batches(names: Sequence[str]) -> Iterator[dict[str, Any]]:
        assert table.load_batches is not None
        rows = 0
        for batch in table.load_batches(_needed(names, found)):
            yield _add_columns(batch, names, found, rows, table.where)
            rows += len(batch[found.left])

    return replace(
        table,
        names=[*table.names, LABEL, TASK],
        load=load,
        load_batches=None if table.load_batches is None else load_batches,
        load_sample=None,
        parts=(),
        delimiter="",
        roles={role: roles[role] for role in ("worker", "task", "label") if role in roles},
        domain="ranking",
    )


def find_columns(names: Sequence[str]) -> Columns | None:
    """Return the columns of the two items and the winner, if a table has them.

    >>> find_columns(["judge", "Model_A", "Model_B", "winner"])
    Columns(left='Model_A', right='Model_B', winner='winner')
    """
    plain = {name.strip().casefold(): name for name in names}
    for left, right in _PAIRS:
        for winner in _WINNERS:
            if left in plain and right in plain and winner in plain:
                return Columns(plain[left], plain[right], plain[winner])
    return None


def _needed(names: Sequence[str], found: Columns) -> list[str]:
    return list(dict.fromkeys([*(name for name in names if name not in (LABEL, TASK)), *found]))


def _add_columns(
    loaded: Mapping[str, Any], names: Sequence[str], found: Columns, rows: int, where: str
) -> dict[str, Any]:
    """Return the columns that are asked for, with comparisons as text."""
    columns = dict(loaded)
    if LABEL in names:
        compared = [loaded[name] for name in found]
        texts = write_comparisons(compared, found, lambda row: f"{where}, row {rows + row + 1}")
        columns[LABEL] = pa.chunked_array([texts])
    if TASK in names:
        columns[TASK] = pa.chunked_array([pa.repeat(ALL, len(loaded[found.left]))])
    return {name: columns[name] for name in names}


def write_comparisons(compared: Sequence[Any], found: Columns, describe: Callable[[int], str]) -> Any:
    """Write three columns of comparisons as rankings, with nothing where there is no winner.

    Each different name is looked at once, and rows are compared by the numbers of their names. What to call a row of
    which something is wrong is told by a function of its number.

    >>> found = Columns("left", "right", "winner")
    >>> write_comparisons([["x", "x"], ["y", "[y]"], ["right", "tie"]], found, "Row {}".format).to_pylist()
    ['y>x', '[["x", "[y]"]]']
    """
    number: dict[str, int] = {"": 0}
    first, second, said = (_number(column, number) for column in compared)
    names = list(number)
    words = [name.casefold() for name in names]
    named = [_holds(words, {*sides, own.casefold()}) for sides, own in ((_FIRST, found.left), (_SECOND, found.right))]
    ties = _holds(words, _TIES) | np.array([word.startswith("tie") for word in words])
    blank = said == 0
    wins = (said == first) | ((said != second) & named[0][said])
    loses = ~wins & ((said == second) | named[1][said])
    wrong = ~blank & ((first == second) | (first == 0) | (second == 0) | ~(wins | loses | ties[said]))
    if wrong.any():
        row = int(np.argmax(wrong))
        _refuse(*(names[codes[row]] for codes in (first, second, said)), where=describe(row))
    first, second = np.where(loses, second, first), np.where(loses, first, second)
    listed, marks = pa.array(names, pa.large_string()), pa.array([">", "="], pa.large_string())
    mark = pc.if_else(arrow_of(wins | loses), *marks)
    texts = pc.binary_join_element_wise(listed.take(arrow_of(first)), listed.take(arrow_of(second)), mark)
    odd = np.array([_MARKS.search(name) is not None for name in names])
    rare = ~blank & (odd[first] | odd[second])
    if rare.any():
        pairs = zip(first[rare].tolist(), second[rare].tolist(), (wins | loses)[rare].tolist(), strict=True)
        written = [_written([names[a], names[b]], strict) for a, b, strict in pairs]
        texts = pc.replace_with_mask(texts, arrow_of(rare), pa.array(written, pa.large_string()))
    return pc.if_else(arrow_of(blank), pa.scalar(None, pa.large_string()), texts)


def _number(column: Any, number: dict[str, int]) -> npt.NDArray[np.int64]:
    """Number the names of a column, as they are written without blanks around them; a missing one is ''."""
    if isinstance(column, list):
        codes, values = np.arange(len(column)), column
    else:
        import pyarrow as pa

        column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        coded = plain.dictionary_encode(null_encoding="encode").combine_chunks()
        codes, values = numpy_of(coded.indices), coded.dictionary.to_pylist()
    names = ["" if value is None else str(value).strip() for value in values]
    numbers = np.fromiter((number.setdefault(name, len(number)) for name in names), np.int64, len(names))
    return numbers.take(codes)


def _holds(words: list[str], wanted: set[str]) -> npt.NDArray[np.bool_]:
    return np.array([word in wanted for word in words])


def _refuse(left: str, right: str, winner: str, *, where: str) -> NoReturn:
    """Say what is wrong with a comparison."""
    if not (left and right) or left == right:
        raise InputError(f"{where} compares {left!r} with {right!r}. Name two different items.")
    raise InputError(
        f"{where}: the winner is {winner!r}, which is neither {left!r} nor {right!r}. Write one of them, or tie."
    )


def _written(items: list[str], strict: bool) -> str:
    """Write a comparison of items whose names have marks that would mean something."""
    return json.dumps(items if strict else [items], ensure_ascii=False)
