"""Shapes: whether a table is a matrix, which of its columns names the rows, and which are no answers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from allalike.readers.column_names import SYNONYM, SYNONYMS, is_aside, is_gold, name_consensus, rate_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.readers.guessing.contents import Content, TableSample

GOLD = "gold labels"  # the reason for which a column is not a worker
_MOST_CLASSES = 20
_LEAST_COLUMNS = 3
_TIMES_MORE = 3  # a column with up to this many times as many values as usual is like the others
_MOST_COMMON = 0.8  # of the cells of a column have values that another column has, too
_MOST_NEAR = 0.8  # of the columns of numbers that may be cells of one matrix
_TEXT_WORDS = 4  # a text with this many words on average is free text
_OWN_NAME = 0.8  # a name that means one role only has this rate
_FEWEST_DIFFERENT = 10  # if this many rows or more all differ, a column holds no answers
_LONG_NAME, _LONG_ADDRESS = 1000, 400  # nobody looks for more behind this many characters
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_QUESTION = re.compile(r"(?:q|question|item|task)[\W_]*\d+.*|.*\?|.*\[.+\]", re.IGNORECASE)


@dataclass(frozen=True)
class Shape:
    """What the rows of a matrix are, tasks or workers, whether names say so, and which columns are its cells.

    It is ``alone`` unless it has two columns only, and there are others beside it and the one that names the rows.
    """

    rows: str
    named: bool
    cells: list[str]
    alone: bool = True


def find_shape(sample: TableSample) -> Shape | None:
    """Return what a table looks like as a matrix, or nothing if it does not.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> cells = {"q": ["q1", "q2", "q3", "q4"], "rater1": [*"abab"], "rater2": [*"abba"], "rater3": [*"aaab"]}
    >>> find_shape(TableSample(cells))
    Shape(rows='tasks', named=True, cells=['rater1', 'rater2', 'rater3'], alone=True)
    >>> find_shape(TableSample({"id": [1, 2, 3], "Anna": [*"aba"], "Bob": [*"abb"]})).cells
    ['Anna', 'Bob']
    >>> find_shape(TableSample({"user": ["x", "y"], "said": ["a", "b"]})) is None
    True
    """
    names = sample.names
    groups = (_hold_the_same(sample, _numbered(names)), _of_few_values(sample), _of_near_numbers(sample))
    alike = max(groups, key=len)
    if len(alike) < _LEAST_COLUMNS or 2 * len(alike) < len(names):
        alike = _find_two(sample)
    if not alike:
        return None
    shape = _find_rows(sample, alike)
    return shape if len(alike) > 2 or len(names) <= 3 else replace(shape, alone=False)


def _find_rows(sample: TableSample, alike: list[str]) -> Shape:
    """Tell what the rows of a matrix are, by the names of its cells and of other columns, and by its size."""
    others = [name for name in sample.names if name not in alike]
    if _stem(alike[0]) in SYNONYMS["worker"]:
        return Shape("tasks", True, alike)
    rates = [max((rate_name(name, role) for name in others), default=0.0) for role in ("task", "worker")]
    if sum(_QUESTION.fullmatch(name[:_LONG_NAME]) is not None for name in alike) > len(alike) / 2:
        return Shape("workers", not rates[1] < _OWN_NAME <= rates[0], alike)  # names of tasks on both sides say nothing
    if rates[0] != rates[1]:
        return Shape("tasks" if rates[0] > rates[1] else "workers", True, alike)
    return Shape("tasks" if sample.n_rows >= len(alike) else "workers", False, alike)


def _stem(name: str) -> str:
    """Return what stands before the first number of a name.

    >>> _stem("Q48_1"), _stem("worker 7"), _stem("ada"), _stem("17")
    ('q', 'worker', '', '#')
    """
    found = re.match(r"([^\d]*?)[\W_]*\d", name[:_LONG_NAME].strip().casefold())
    return (found[1] or "#") if found else ""


def _of_near_numbers(sample: TableSample) -> list[str]:
    """Return the columns of numbers whose middles lie within the range of nearly all others."""
    numbers = {
        name: (values.min(), np.median(values), values.max())
        for name, content in sample.contents.items()
        if content.kind in ("number", "whole") and len(values := content.numbers)
    }
    if 2 * sum(sample[name].kind == "number" for name in numbers) <= len(numbers):
        return []  # whole numbers may be ids as well
    return [
        name
        for name, (_, middle, _) in numbers.items()
        if sum(low <= middle <= high for low, _, high in numbers.values()) > _MOST_NEAR * len(numbers)
    ]


def _numbered(names: Sequence[str]) -> list[str]:
    """Return the columns that are called alike and numbered, if there are some."""
    stems = Counter(stem for name in names if (stem := _stem(name)))
    usual, number = stems.most_common(1)[0] if stems else ("", 0)
    return [name for name in names if _stem(name) == usual] if number >= _LEAST_COLUMNS else []


def _hold_the_same(sample: TableSample, names: Sequence[str]) -> list[str]:
    """Return columns if nearly all of them hold numbers with fractions, or about as many values, that others hold."""
    contents = [sample[name] for name in names if not sample[name].is_blank]
    if not contents:
        return []
    times = Counter(str(value) for content in contents for value in content.values)
    usual = sorted(content.n_present for content in contents)[len(contents) // 2]
    fitting = [
        content
        for content in contents
        if content.kind == "number"
        or (
            usual <= _TIMES_MORE * content.n_present <= _TIMES_MORE**2 * usual
            and 2 * sum(times[str(value)] > 1 for value in content.values) >= content.n_values
        )
    ]
    return list(names) if len(fitting) > 0.8 * len(contents) else []


def _of_few_values(sample: TableSample) -> list[str]:
    """Return the columns that have one small set of values in common."""
    few = {name: values for name in sample.names if (values := _list_classes(sample[name]))}
    times = Counter(value for values in few.values() for value in values)
    common = {value for value, count in times.items() if count > 1}
    return [name for name in few if _shares(sample[name], common)] if len(common) <= _MOST_CLASSES else []


def _list_classes(content: Content) -> set[str]:
    """Return the values of a column, if they are few."""
    if content.kind == "date" or content.n_present > _MOST_CLASSES:
        return set()
    return {str(content.values[code]) for code in set(content.codes[~content.missing].tolist())}


def _shares(content: Content, common: set[str]) -> bool:
    """Tell whether nearly all cells of a column have common values; a rare class may be one column's own."""
    known = np.array([str(value) in common for value in content.values], np.bool_)[content.codes]
    return bool(known[~content.missing].mean() >= _MOST_COMMON)


def _find_two(sample: TableSample) -> list[str]:
    """Return the two columns that have one small set of values, or a range of numbers, in common; none if several do.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> _find_two(TableSample({"id": [1, 2, 3], "ada": [2.5, 3.0, 2.0], "bob": [2.25, 3.5, 2.0]}))
    ['ada', 'bob']
    >>> _find_two(TableSample({"row": [1, 2, 3], "val": [2, 3, 1]}))
    []
    """
    ids = {name for name in sample.names[:1] if len(sample.names) > 2 and sample[name].n_values == sample.n_rows}
    free = [
        name
        for name in sample.names
        if name not in ids and not sample[name].is_blank and not is_gold(name) and not is_aside(name)
    ]
    pairs = [pair for pair in combinations(free[:_MOST_CLASSES], 2) if _are_two(sample, *pair)]
    return list(pairs[0]) if len(pairs) == 1 else []


def _are_two(sample: TableSample, left: str, right: str) -> bool:
    """Tell whether two columns may be two workers, or two questions: neither is called or looks like an id."""
    workers = sorted(rate_name(name, "worker") for name in (left, right))
    tasks = max(rate_name(name, "task") for name in (left, right))
    ids = {left, right} <= {*"xyzXYZ"} or tasks >= _OWN_NAME or (workers[1] >= _OWN_NAME and workers[0] < SYNONYM)
    if max(rate_name(name, "label") for name in (left, right)) >= SYNONYM:  # an answer and another column
        return False
    contents = sample[left], sample[right]
    recurs = any(content.n_present < _present(content) or content.kind == "number" for content in contents)
    if ids or not (recurs or any(sample[name].n_values == sample.n_rows for name in {*sample.names} - {left, right})):
        return False
    first, second = map(_list_classes, contents)
    if len(first | second) > 1 and first and second and _shares(contents[0], second) and _shares(contents[1], first):
        return True
    kinds = [content.kind for content in contents]
    if "number" not in kinds or not {*kinds} <= {"number", "whole"}:
        return False
    (low, high), (least, most) = ((content.numbers.min(), content.numbers.max()) for content in contents)
    middles = [float(np.median(content.numbers)) for content in contents]
    return bool(least <= middles[0] <= most and low <= middles[1] <= high)


def find_row_ids(sample: TableSample) -> str | None:
    """Return the first column if it names the rows of a matrix: no value twice, and no answers.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> find_row_ids(TableSample({"x": ["a", "b"], "ada": [1, 1]}))
    'x'
    >>> find_row_ids(TableSample({"ada": [1, 1], "bob": [1, 2]})) is None
    True
    """
    first, *others = sample.contents.values()
    if not others or first.kind in ("number", "date", "nested", "truth value") or first.missing.any():
        return None
    if first.n_values < sample.n_rows or (_stem(first.name) and others and _stem(first.name) == _stem(others[0].name)):
        return None
    if not _stem(first.name) and len(_numbered([other.name for other in others])) > _MOST_NEAR * len(others):
        return first.name
    answers = {str(value) for content in others for value in content.values[: _MOST_CLASSES + 1]}
    return first.name if sum(str(value) in answers for value in first.values) <= len(first.values) / 2 else None


def find_strangers(sample: TableSample, names: Sequence[str], rows: str = "task") -> dict[str, str]:
    """Return the columns of a matrix that are probably not answers, with the reason; each row is a task, or a worker.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> cells = {"ada": ["x", "y"], "bob": ["x", "x"], "gold": ["x", "y"], "day": ["2020-01-02", "2020-01-03"]}
    >>> find_strangers(TableSample(cells), list(cells))
    {'gold': 'gold labels', 'day': 'dates'}
    """
    contents = [sample[name] for name in names if not sample[name].is_blank]
    kinds = Counter(_family(content) for content in contents)
    usual, number = kinds.most_common(1)[0] if kinds else ("", 0)
    recur = [content for content in contents if content.n_present <= max(_present(content) / 2, 2)]
    mostly = {"usual": usual if 2 * number > len(contents) else "", "recur": 2 * len(recur) > len(contents)}
    reasons = {
        content.name: _reason(content, str(mostly["usual"]), recur=bool(mostly["recur"])) for content in contents
    }
    if rows == "task":
        reasons |= {name: reason or name_consensus(name) for name, reason in reasons.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def _present(content: Content) -> int:
    return int((~content.missing).sum())


def _family(content: Content) -> str:
    if content.kind in ("whole", "number", "truth value"):
        return "numbers"
    if content.kind in ("date", "url", "nested"):
        return content.kind
    return "free text" if content.words >= _TEXT_WORDS and content.n_present > 0.8 * _present(content) else "words"


def _reason(content: Content, usual: str, *, recur: bool) -> str:
    """Say why a column is no answers, where most columns are of the usual family, and recur or not."""
    if is_gold(content.name):
        return GOLD
    family = _family(content)
    if family != usual and (usual or family == "date"):
        plain = {"date": "dates", "url": "addresses", "nested": "nested values"}
        if family in plain or family == "free text" or "numbers" in (family, usual):
            return plain.get(family, family)
    values = [str(value) for value in content.values if value is not None]
    if values and all(len(value) <= _LONG_ADDRESS and _EMAIL.fullmatch(value) for value in values):
        return "e-mail addresses"
    if recur and content.n_present == _present(content) >= _FEWEST_DIFFERENT:
        return "all different"
    return "told by its name" if is_aside(content.name) else ""
