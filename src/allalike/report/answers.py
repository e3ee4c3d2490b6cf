"""Answers beside truths: where each worker disagrees most, and which classes she takes for which.

An answer disagrees by its distance to the truth, times how sure that truth is: to contradict what nobody doubts weighs
more. The answers are those of some tasks in memory (`allalike.engines.sample.pick_tasks`), as codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Encoding, Kernels
    from allalike.report.tasks import ShownTasks

MIN_CONSTANT = 10  # answers that must be the same before a worker is said to answer always the same


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


def rate_disagreement(distance: Floats, confidence: Floats) -> Floats:
    """Return the strength of each disagreement: the distance to the label times its confidence, 1 if not known."""
    return np.nan_to_num(distance * np.nan_to_num(confidence, nan=1.0)).round(12)


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


def find_constant(judged: Judged, n_workers: int) -> npt.NDArray[np.bool_]:
    """Tell which workers gave the same class in ten answers or more, and no other.

    >>> same = np.zeros(10, np.int64)
    >>> find_constant(Judged(same, np.arange(10), same, same, np.zeros(10), np.ones(10)), 2)
    array([ True, False])
    """
    counts = np.bincount(judged.worker, minlength=n_workers)
    one = np.zeros(n_workers, np.int64)
    one[judged.worker] = judged.label
    other = np.bincount(judged.worker, judged.label != one[judged.worker], minlength=n_workers)
    return np.asarray((counts >= MIN_CONSTANT) & (other == 0))


def compare_pairs(block: Block, encoding: Encoding, workers: npt.NDArray[np.intp]) -> Floats:
    """Return how far each two of some workers are apart on average; NaN where they have no task in common.

    >>> import allalike
    >>> from allalike.engines.sample import pick_tasks
    >>> run = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x"), ("bob", 2, "x")]).run
    >>> compare_pairs(pick_tasks(run, np.empty(0, np.uint64), share=1.0), run.encoding, np.array([0, 1]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    place = np.full(block.n_workers, -1, np.intp)
    place[workers] = np.arange(len(workers))
    rows = np.flatnonzero(place[block.worker] >= 0)
    task = block.task[rows]
    tasks, sizes = np.unique(task, return_counts=True)
    matrix = np.full((len(workers), len(workers)), np.nan)
    if len(tasks):
        part = _restricted(block, rows, tasks, sizes, place, len(workers))
        sums = encoding.kernels.pair_sums(encoding.prepare(part), slice(0, len(workers)))
        distance, common = (s if isinstance(s, np.ndarray) else s.toarray() for s in (sums["distance"], sums["common"]))
        np.divide(distance, common, out=matrix, where=common > 0)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _restricted(
    block: Block, rows: Array, tasks: Array, sizes: Array, place: npt.NDArray[np.intp], n_workers: int
) -> Block:
    from dataclasses import replace

    return replace(
        block.pick(tasks, rows),
        starts=np.cumsum(sizes) - sizes,
        sizes=sizes,
        worker=place[block.worker[rows]],
        n_workers=n_workers,
    )
