"""Details: what a page shows of a task or of a worker when somebody clicks on it, as far as there is room."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.report.answers import Judged, count_confusions, pick_strongest
from allalike.report.material import Budget, brief, count_bytes, cut

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from allalike._core.blocks.block import Block
    from allalike._core.columns.values import Values
    from allalike.report.labels import Labels
    from allalike.report.people import People

MAX_NAME = 160  # characters of a task's id
_MAX_ANSWERS = 300  # of a task that are listed
_MAX_DISAGREEMENTS = 10
_MAX_CLASSES = 8
_ANSWERS_AT_ONCE, _COSTLY_ANSWERS_AT_ONCE = 60_000, 500
_ROOM_OF_ANSWER, _ROOM_OF_NAME, _ROOM_OF_DISAGREEMENT = 8, 60, 20  # bytes


def count_detailed(answers: npt.NDArray[np.int64], size: int) -> int:
    """Count the first tasks whose answers may fit into so many bytes, however short their labels are.

    >>> count_detailed(np.array([5, 5, 5]), 100)
    2
    """
    room = np.cumsum(np.minimum(answers, _MAX_ANSWERS)) * _ROOM_OF_ANSWER
    return int(np.searchsorted(room, size, side="right"))


def detail_tasks(
    block: Block, rows: Mapping[int, int], people: People, labels: Labels, weight: npt.NDArray[np.float64], size: int
) -> dict[int, list[Any]]:
    """Return the answers to tasks: who gave them and what they say, those with most weight first."""
    budget = Budget(size)
    place = {int(each): number for number, each in enumerate(block.task_hash)}
    tasks = np.array([place[each] for each in rows if each in place], np.intp)
    listed = [row for each, row in rows.items() if each in place]
    found: dict[int, list[Any]] = {}
    for some in _cut(block.sizes[tasks], _ANSWERS_AT_ONCE if labels.numbered else _COSTLY_ANSWERS_AT_ONCE):
        known = len(labels.shown)
        own, ends = _order_answers(block, tasks[some], weight)
        named = len(people.names)
        who, what = people.refer(block.worker[own]), labels.refer(block.label[own])
        begin = 0
        for row, end in zip(listed[some], ends.tolist(), strict=True):
            highest = max(known, max(what[begin:end]) + 1)
            fresh = max(named, max(who[begin:end]) + 1)
            room = labels.ends[highest] - labels.ends[known] + _ROOM_OF_NAME * (fresh - named)
            if not budget.take(room + _ROOM_OF_ANSWER * (end - begin)):
                labels.forget(known)
                people.forget(named)
                return found
            found[row] = [who[begin:end], what[begin:end]]
            begin, known, named = end, highest, fresh
    return found


def _cut(sizes: npt.NDArray[np.int64], most: int) -> list[slice]:
    """Cut a list into parts whose sizes add up to about so many.

    >>> _cut(np.array([3, 3, 3]), 5)
    [slice(0, 2, None), slice(2, 3, None)]
    """
    number = (np.cumsum(sizes) - sizes) // most
    bounds = [*np.flatnonzero(np.append(True, number[1:] != number[:-1])).tolist(), len(sizes)] if len(sizes) else []
    return [slice(begin, end) for begin, end in itertools.pairwise(bounds)]


def _order_answers(
    block: Block, tasks: npt.NDArray[np.intp], weight: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """Return the answers to tasks, those with most weight first, no more than are listed; and where each task ends."""
    sizes = block.sizes[tasks]
    number = np.repeat(np.arange(len(tasks)), sizes)
    rank = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own = block.starts[tasks][number] + rank
    own = own[np.lexsort((-weight[block.worker[own]], number))][rank < _MAX_ANSWERS]
    return own, np.cumsum(np.minimum(sizes, _MAX_ANSWERS))


def detail_workers(
    judged: Judged, task_ids: Values, people: People, labels: Labels, size: int
) -> tuple[dict[int, list[Any]], list[str]]:
    """Return each worker's strongest disagreements: task, answer, truth, how sure; and the tasks, each named once."""
    budget = Budget(size)
    found: dict[int, list[Any]] = {}
    picked = pick_strongest(judged, _MAX_DISAGREEMENTS)
    place = np.array(people.refer(judged.worker[picked]), np.intp)
    picked, place = picked[np.argsort(place, kind="stable")], np.sort(place)
    ids = task_ids.take(judged.task[picked]).tolist()
    tasks: dict[str, int] = {}
    sizes = np.unique(place, return_counts=True)[1]
    end = 0
    for some in _cut(sizes, _ANSWERS_AT_ONCE if labels.numbered else _COSTLY_ANSWERS_AT_ONCE):
        own = picked[end : end + int(sizes[some].sum())]
        known = len(labels.shown)
        said, truth = labels.refer(judged.label[own]), labels.refer(judged.truth[own])
        sure = [brief(each, 3) for each in judged.confidence[own]]
        first = end
        for number in sizes[some].tolist():
            begin, end = end, end + number
            mine = slice(begin - first, end - first)
            named = [cut(str(each), MAX_NAME) for each in ids[begin:end]]
            highest = max(known, max(said[mine]) + 1, max(truth[mine]) + 1)
            room = sum(count_bytes(each) for each in named if each not in tasks)
            room += labels.ends[highest] - labels.ends[known] + _ROOM_OF_DISAGREEMENT * number
            if not budget.take(room):
                labels.forget(known)
                return found, list(tasks)
            names = [tasks.setdefault(each, len(tasks)) for each in named]
            found[int(place[begin])] = [names, said[mine], truth[mine], sure[mine]]
            known = highest
    return found, list(tasks)


def table_of_confusions(
    judged: Judged, n_labels: int, workers: npt.NDArray[np.intp], labels: Labels
) -> dict[str, Any] | None:
    """Return how often each worker gave each of the most frequent classes to tasks of each of them."""
    if not n_labels or not len(judged.worker):
        return None
    classes, counts = count_confusions(judged, n_labels, workers, _MAX_CLASSES)
    return {
        "classes": labels.refer(classes),
        "left_out": max(n_labels - len(classes), 0),
        "counts": [table.ravel().tolist() for table in counts],
    }
