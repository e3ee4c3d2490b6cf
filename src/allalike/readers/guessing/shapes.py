"""Matrices: whether a table is one, what its rows are, and which of its columns are no answers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from allalike.readers.column_names import SYNONYM, SYNONYMS, is_aside, is_gold, name_consensus, rate_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from allalike.readers.guessing.contents import Content, TableSample

GOLD = "gold labels"  # the reason for which a column is not a worker
_MOST_CLASSES = 20
_LEAST_COLUMNS = 3
_MOST = 0.8  # of cells that have values of other columns, and of columns whose range contains the middle of another
_TEXT_WORDS = 4  # a text with this many words on average is free text
_FEWEST_DIFFERENT = 10  # if this many rows or more all differ, a column has no answers
_LONG_NAME, _LONG_ADDRESS = 1000, 400  # nobody looks for more behind this many characters
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_QUESTION = re.compile(r"(?:q|question|item|task)[\W_]*\d+.*|.*\?|.*\[.+\]", re.IGNORECASE)
_FAMILIES = {"date": "dates", "url": "addresses", "nested": "nested values"}


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
    cells = _find_cells(sample)
    if len(cells) < _LEAST_COLUMNS or 2 * len(cells) < len(sample.names):
        cells = _find_two(sample)
    if not cells:
        return None
    alone = len(cells) > 2 or len(sample.names) <= 3
    if _stem(cells[0]) in SYNONYMS["worker"]:
        return Shape("tasks", True, cells, alone)
    others = [name for name in sample.names if name not in cells]
    task, worker = (max((rate_name(name, role) for name in others), default=0.0) for role in ("task", "worker"))
    if sum(_QUESTION.fullmatch(name[:_LONG_NAME]) is not None for name in cells) > len(cells) / 2:
        return Shape("workers", not worker <= SYNONYM < task, cells, alone)  # tasks on both sides say nothing
    if task != worker:
        return Shape("tasks" if task > worker else "workers", True, cells, alone)
    return Shape("tasks" if sample.n_rows >= len(cells) else "workers", False, cells, alone)


def _stem(name: str) -> str:
    """Return what stands before the first number of a name."""
    found = re.match(r"([^\d]*?)[\W_]*\d", name[:_LONG_NAME].strip().casefold())
    return (found[1] or "#") if found else ""


def _find_cells(sample: TableSample) -> list[str]:
    """Return the columns that have a few classes, or a range of numbers, in common; numbered ones may have many."""
    contents = [content for content in sample.contents.values() if content.n_filled]
    few = [each for each in contents if _has_classes(each)]
    numbered = [sample[name] for name in _list_numbered([each.name for each in contents])]
    usual = sorted(each.n_present for each in numbered)[len(numbered) // 2] if numbered else 0
    sharing = _list_sharing([each for each in numbered if usual <= 3 * each.n_present <= 9 * usual], 0.5)
    groups = [_list_sharing(few, _MOST, _MOST_CLASSES)]
    if sum(each.kind == "number" or each.name in sharing for each in numbered) > _MOST * len(numbered):
        groups.append([each.name for each in numbered])
    numbers = {each.name: _measure_range(each) for each in contents if each.kind in ("number", "whole")}
    if 2 * sum(sample[name].kind == "number" for name in numbers) > len(numbers):  # whole ones may be ids as well
        least = _MOST * len(numbers)
        ranges = numbers.values()
        groups.append(
            [name for name in numbers if sum(low <= numbers[name][1] <= high for low, _, high in ranges) > least]
        )
    return max(groups, key=len)


def _list_sharing(contents: Sequence[Content], least: float, most: float = np.inf) -> list[str]:
    """Return the columns of which at least a share of the cells has values that others have, if these are not many."""
    times = Counter(value for content in contents for value in _list_values(content))
    common = {value for value, count in times.items() if count > 1}
    return [each.name for each in contents if len(common) <= most and _share_of(each, common) >= least]


def _list_numbered(names: Sequence[str]) -> list[str]:
    """Return the columns that are called alike and numbered, if there are some."""
    stems = Counter(stem for name in names if (stem := _stem(name)))
    usual, number = stems.most_common(1)[0] if stems else ("", 0)
    return [name for name in names if _stem(name) == usual] if number >= _LEAST_COLUMNS else []


def _has_classes(content: Content) -> bool:
    return content.kind != "date" and content.n_present <= _MOST_CLASSES


def _list_values(content: Content) -> set[str]:
    return {str(content.values[code]) for code in set(content.codes[~content.missing].tolist())}


def _share_of(content: Content, values: Collection[str]) -> float:
    """Return the share of filled cells that have one of some values."""
    known = np.array([str(value) in values for value in content.values], np.bool_)[content.codes]
    return float(known[~content.missing].mean())


def _measure_range(content: Content) -> tuple[float, float, float]:
    numbers = content.numbers[~np.isnan(content.numbers)]
    return float(numbers.min()), float(np.median(numbers)), float(numbers.max())


def _find_two(sample: TableSample) -> list[str]:
    """Return the two columns that have a few classes, or a range of numbers, in common; none if several do."""
    ids = {name for name in sample.names[:1] if len(sample.names) > 2 and sample[name].n_values == sample.n_rows}
    free = [
        name
        for name in sample.names
        if name not in ids and sample[name].n_filled and not is_gold(name) and not is_aside(name)
    ]
    pairs = [pair for pair in combinations(free[:_MOST_CLASSES], 2) if _are_two(sample, *pair)]
    return list(pairs[0]) if len(pairs) == 1 else []


def _are_two(sample: TableSample, left: str, right: str) -> bool:
    """Return whether two columns may be two workers, or two questions: neither is called or looks like an id."""
    rates = {role: sorted(rate_name(name, role) for name in (left, right)) for role in SYNONYMS}
    one_worker = rates["worker"][0] < SYNONYM < rates["worker"][1]
    if {left, right} <= {*"xyzXYZ"} or one_worker or rates["task"][1] > SYNONYM or rates["label"][1] >= SYNONYM:
        return False
    pair = sample[left], sample[right]
    recurs = any(content.n_present < content.n_filled or content.kind == "number" for content in pair)
    if not recurs and all(sample[name].n_values < sample.n_rows for name in {*sample.names} - {left, right}):
        return False
    values = [_list_values(content) for content in pair]
    shared = min(_share_of(pair[0], values[1]), _share_of(pair[1], values[0])) >= _MOST
    if shared and all(map(_has_classes, pair)) and len(values[0] | values[1]) > 1:
        return True
    if {content.kind for content in pair} not in ({"number"}, {"number", "whole"}):
        return False
    (low, middle, high), (least, other, most) = map(_measure_range, pair)
    return least <= middle <= most and low <= other <= high


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
    stem = _stem(first.name)
    if first.n_values < sample.n_rows or (stem and stem == _stem(others[0].name)):
        return None
    if not stem and len(_list_numbered([other.name for other in others])) > _MOST * len(others):
        return first.name
    answers = {str(value) for content in others for value in content.values[: _MOST_CLASSES + 1]}
    return first.name if _share_of(first, answers) <= 0.5 else None


def find_strangers(sample: TableSample, names: Sequence[str], rows: str = "task") -> dict[str, str]:
    """Return the columns of a matrix that are probably not answers, with the reason; each row is a task, or a worker.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> cells = {"ada": ["x", "y"], "bob": ["x", "x"], "gold": ["x", "y"], "day": ["2020-01-02", "2020-01-03"]}
    >>> find_strangers(TableSample(cells), list(cells))
    {'gold': 'gold labels', 'day': 'dates'}
    """
    contents = [sample[name] for name in names if sample[name].n_filled]
    families = Counter(map(_name_family, contents))
    usual, number = families.most_common(1)[0] if families else ("", 0)
    usual = usual if 2 * number > len(contents) else ""
    recur = 2 * sum(each.n_present <= max(each.n_filled / 2, 2) for each in contents) > len(contents)
    reasons = {each.name: _find_reason(each, usual, recur=recur) for each in contents}
    if rows == "task":
        reasons |= {name: reason or name_consensus(name) for name, reason in reasons.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def _name_family(content: Content) -> str:
    if content.kind in ("whole", "number", "truth value"):
        return "numbers"
    if content.kind in _FAMILIES:
        return _FAMILIES[content.kind]
    return "free text" if content.words >= _TEXT_WORDS and content.n_present > 0.8 * content.n_filled else "words"


def _find_reason(content: Content, usual: str, *, recur: bool) -> str:
    """Return why a column has no answers, where most columns are of the usual family, and their values recur or not."""
    if is_gold(content.name):
        return GOLD
    family = _name_family(content)
    if family != usual and (usual or family == "dates") and (family != "words" or usual == "numbers"):
        return family
    values = [str(value) for value in content.values if value is not None]
    if values and all(len(value) <= _LONG_ADDRESS and _EMAIL.fullmatch(value) for value in values):
        return "e-mail addresses"
    if recur and content.n_present == content.n_filled >= _FEWEST_DIFFERENT:
        return "all different"
    return "told by its name" if is_aside(content.name) else ""
