"""Answers beside estimated labels: the answers to each task, and the disagreements and confusions of each worker.

An answer disagrees by its distance to the label, times the confidence of that label. The answers are those of some
tasks in memory (`allalike.engines.sample.pick_tasks`), as codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.words import cut
from allalike.report.material import brief
from allalike.result.quality import rate_disagreement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.columns.values import Values
    from allalike.domains import Kernels
    from allalike.report.labels import Labels
    from allalike.report.people import People
    from allalike.report.tasks import ShownTasks

MAX_NAME = 80  # characters of the id of a task
_MAX_DISAGREEMENTS = 10
_MAX_CLASSES = 8


@dataclass(frozen=True)
class Judged:
    """Answers whose task's truth is in a sample: who gave them, to which task, what they say, and how far off."""

    worker: npt.NDArray[np.intp]
    task: npt.NDArray[np.intp]
    label: Array
    truth: Array
    distance: Floats
    confidence: Floats


def judge_answers(block: Block, sample: ShownTasks, kernels: Kernels, workers: npt.NDArray[np.intp]) -> Judged:
    """Compare the answers of some workers with the truths of a sample of tasks."""
    place, here = sample.find(block.task_hash)
    asked = np.zeros(block.n_workers, np.bool_)
    asked[workers] = True
    rows = np.flatnonzero(block.to_answers(here) & asked[block.worker])
    task = block.to_answers(place)[rows]
    truth = sample.label[task]
    distance = kernels.distance_between(block.label[rows], truth) if len(rows) else np.empty(0)
    return Judged(block.worker[rows], task, block.label[rows], truth, distance, sample.confidence[task])


def pick_strongest(judged: Judged, most: int) -> npt.NDArray[np.intp]:
    """Return the places of each worker's strongest disagreements, worker after worker, the strongest first.

    >>> nobody = np.full(3, np.nan)
    >>> labels = np.array([1, 1, 0])
    >>> judged = Judged(np.array([0, 0, 1]), np.arange(3), labels, labels, np.array([0.2, 0.9, 0.0]), nobody)
    >>> pick_strongest(judged, 10)
    array([1, 0])
    """
    strength = rate_disagreement(judged.distance, judged.confidence)
    rows = np.flatnonzero(np.nan_to_num(judged.distance) > 0)
    order: npt.NDArray[np.intp] = rows[np.lexsort((judged.task[rows], -strength[rows], judged.worker[rows]))]
    worker = judged.worker[order]
    first = np.searchsorted(worker, worker, side="left")
    return order[np.arange(len(order)) - first < most]


def count_confusions(
    judged: Judged, n_labels: int, workers: npt.NDArray[np.intp], most: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """Count how often each of some workers gave a class (last axis) to tasks of another, for the most frequent classes.

    >>> judged = Judged(np.array([4, 4]), np.arange(2), np.array([0, 2]), np.array([0, 0]), np.zeros(2), np.ones(2))
    >>> classes, counts = count_confusions(judged, 3, np.array([4]), 2)
    >>> classes, counts.tolist()
    (array([0, 2]), [[[1, 1], [0, 0]]])
    """
    used = np.bincount(judged.truth, minlength=n_labels)[:n_labels] * 1.0
    used += np.bincount(judged.label, minlength=n_labels)[:n_labels]
    classes = np.sort(np.argsort(-used, kind="stable")[:most])
    place = np.full(n_labels + 1, -1, np.intp)
    place[classes] = np.arange(len(classes))
    row = np.full(int(max(judged.worker.max(initial=0), workers.max(initial=0))) + 1, -1, np.intp)
    row[workers] = np.arange(len(workers))
    places = (row[judged.worker], place[judged.truth], place[judged.label])
    kept = np.min(places, axis=0) >= 0
    counts = np.zeros((len(workers), len(classes), len(classes)), np.int64)
    np.add.at(counts, tuple(part[kept] for part in places), 1)
    return classes, counts


def list_answers(
    block: Block, rows: Mapping[int, int], people: People, labels: Labels, weight: Floats, most: int
) -> dict[int, list[Any]]:
    """Return, by the row of each task, its workers and labels, those with most weight first; at most so many.

    ``rows`` has the rows by the hashes of task ids.
    """
    place = {int(each): number for number, each in enumerate(block.task_hash)}
    tasks = np.array([place[each] for each in rows if each in place], np.intp)
    listed = [row for each, row in rows.items() if each in place]
    sizes = block.sizes[tasks]
    number = np.repeat(np.arange(len(tasks)), sizes)
    rank = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own = block.starts[tasks][number] + rank
    own = own[np.lexsort((-weight[block.worker[own]], number))][rank < most]
    ends = np.cumsum(np.minimum(sizes, most)).tolist()
    who, what = people.refer(block.worker[own]), labels.refer(block.label[own])
    return {row: [who[begin:end], what[begin:end]] for row, begin, end in zip(listed, [0, *ends], ends, strict=False)}


def list_disagreements(
    judged: Judged, task_ids: Values, people: People, labels: Labels
) -> tuple[dict[int, list[Any]], list[str]]:
    """Return each worker's strongest disagreements (task, answer, label, confidence), and the names of the tasks."""
    picked = pick_strongest(judged, _MAX_DISAGREEMENTS)
    place = np.array(people.refer(judged.worker[picked]), np.intp)
    picked, place = picked[np.argsort(place, kind="stable")], np.sort(place)
    names: dict[str, int] = {}
    ids = [cut(str(each), MAX_NAME) for each in task_ids.take(judged.task[picked]).tolist()]
    tasks = [names.setdefault(each, len(names)) for each in ids]
    said, truth = labels.refer(judged.label[picked]), labels.refer(judged.truth[picked])
    sure = [brief(each, 3) for each in judged.confidence[picked]]
    workers, starts = np.unique(place, return_index=True)
    bounds = [*starts.tolist(), len(place)]
    found = {
        worker: [column[begin:end] for column in (tasks, said, truth, sure)]
        for worker, begin, end in zip(workers.tolist(), bounds, bounds[1:], strict=False)
    }
    return found, list(names)


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
