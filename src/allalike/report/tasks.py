"""Tasks of a page: all tasks, or the most important ones, with their answers.

One pass over the estimated labels selects the tasks with the least certain labels, with labels changed by weights, and
with many answers but no clear label. The same pass counts labels by confidence and keeps a sample of labels for
comparison with answers. The **uncertainty** of a label is 1 minus its confidence, or the width of its interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.text_format import cut
from allalike.engines.sums import Piece
from allalike.report.report_data import brief
from allalike.result.quality import rate_disagreement

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Kernels
    from allalike.report.labels import Labels
    from allalike.report.workers import People

_HASHES = 2.0**64
_MAX_DOUBT = 1e300  # uncertainty of unbounded intervals
_MAX_NAME = 80  # characters of the id of a task
_MAX_DISAGREEMENTS, _MAX_CLASSES = 10, 8


@dataclass(frozen=True)
class ShownTasks:
    """Tasks of a page, a sample of all tasks, the numbers of tasks by confidence and with a single answer."""

    shown: Piece
    sample: Piece
    counts: npt.NDArray[np.int64]
    single: int

    @property
    def found(self) -> dict[str, Array]:
        """The columns of the tasks of the page."""
        return self.shown.found


def choose_tasks(pieces: Iterable[Piece], most: int, share: float) -> ShownTasks:
    """Choose about ``most`` of the most important tasks, and a sample of a share of all tasks.

    >>> from allalike._core.columns.values import Values
    >>> found = {"label": np.array([0, 1]), "confidence": np.array([0.9, 0.6]), "changed": np.array([False, True])}
    >>> chosen = choose_tasks([Piece(Values(["t1", "t2"]), np.array([3, 1]), found)], 10, 1.0)
    >>> chosen.shown.tasks.tolist(), chosen.counts[[12, 18]].tolist(), chosen.single
    (['t2', 't1'], [1, 1], 1)
    """
    shown: Piece | None = None
    counts, single, sampled = np.zeros(20, np.int64), 0, []
    for piece in pieces:
        shown = _keep_most_important(piece if shown is None else Piece.join([shown, piece]), most)
        known = piece.found["confidence"][np.isfinite(piece.found["confidence"])]
        counts += np.bincount(np.clip((known * 20 + 1e-9).astype(np.int64), 0, 19), minlength=20)
        single += int(np.count_nonzero(piece.answers == 1))
        sampled.append(piece.take(np.flatnonzero(piece.tasks.hashes() / _HASHES < share)))
    assert shown is not None
    order = np.argsort(-measure_doubt(shown.found), kind="stable")
    return ShownTasks(shown.take(order), Piece.join(sampled), counts, single)


def measure_doubt(found: dict[str, Array]) -> Floats:
    """Return the uncertainty of each label, 0 if it is unknown.

    >>> measure_doubt({"confidence": np.array([0.75, np.nan])})
    array([0.25, 0.  ])
    """
    doubt: Floats = found["high"] - found["low"] if "low" in found else 1 - found["confidence"]
    return np.where(np.isnan(doubt), 0.0, np.minimum(doubt, _MAX_DOUBT))


def _keep_most_important(piece: Piece, most: int) -> Piece:
    if len(piece.answers) <= most:
        return piece
    doubt, changed = measure_doubt(piece.found).round(9), piece.found["changed"]
    firsts = (
        np.argsort(-doubt, kind="stable")[: most // 2],
        np.lexsort((-doubt, ~changed))[: min(most // 4, int(changed.sum()))],
        np.argsort(-doubt * piece.answers, kind="stable")[: most // 4],
    )
    return piece.take(np.unique(np.concatenate(firsts)))


def list_tasks(piece: Piece, labels: Labels) -> dict[str, Any]:
    """Return the columns of the table of tasks."""
    columns: dict[str, Any] = {
        "id": [cut(str(task), _MAX_NAME) for task in piece.tasks.tolist()],
        "label": labels.refer(piece.found["label"]),
        "unweighted": labels.refer(piece.found["unweighted"]),
        "answers": piece.answers.tolist(),
        "sure": [],
    }
    if "low" not in piece.found:
        columns["sure"] = [brief(value, 3) for value in piece.found["confidence"]]
    else:
        columns |= {name: [brief(value, 8) for value in piece.found[name]] for name in ("low", "high")}
        if not labels.encoding.domain.spelling.numbers:
            ends = [labels.encoding.decode(piece.found[name]).tolist() for name in ("low", "high")]
            columns["limits"] = ["" if low is None else f"{low} to {high}" for low, high in zip(*ends, strict=True)]
    marked = (name for name in ("changed", "tied", "known", "abstained") if name in piece.found)
    return columns | {name: np.flatnonzero(piece.found[name]).tolist() for name in marked}


# Comparison of answers with estimated labels, as codes: per task, and each worker's disagreements and confusions.


def list_answers(
    block: Block, piece: Piece, people: People, labels: Labels, weight: Floats, most: int
) -> dict[int, list[Any]]:
    """Return at most ``most`` workers and labels per task, by its row, those with the largest weight first."""
    place = {int(each): number for number, each in enumerate(block.task_hash)}
    listed: dict[int, list[Any]] = {}
    for row, each in enumerate(piece.tasks.hashes().tolist()):
        if each in place:
            start = block.starts[place[each]]
            own = np.arange(start, start + block.sizes[place[each]])
            own = own[np.argsort(-weight[block.worker[own]], kind="stable")][:most]
            listed[row] = [block.worker[own], block.label[own]]
    if not listed:
        return {}
    workers, codes = (np.concatenate(parts) for parts in zip(*listed.values(), strict=True))
    ends = np.cumsum([len(part[0]) for part in listed.values()]).tolist()
    who, what = people.refer(workers), labels.refer(codes)
    return {row: [who[begin:end], what[begin:end]] for row, begin, end in zip(listed, [0, *ends], ends, strict=False)}


@dataclass(frozen=True)
class Compared:
    """Answers by workers and the labels of a sample of tasks, as codes."""

    worker: npt.NDArray[np.intp]
    task: npt.NDArray[np.intp]
    label: Array
    truth: Array
    distance: Floats
    confidence: Floats


def compare_answers(block: Block, sample: Piece, kernels: Kernels, workers: npt.NDArray[np.intp]) -> Compared:
    """Compare the answers by the shown workers with the labels of a sample of tasks."""
    hashes = sample.tasks.hashes()
    order = np.argsort(hashes, kind="stable")
    nearest = np.searchsorted(hashes[order], block.task_hash)
    place = order[np.minimum(nearest, len(order) - 1)] if len(order) else np.zeros(len(nearest), np.intp)
    here = hashes[place] == block.task_hash if len(order) else np.zeros(len(nearest), np.bool_)
    wanted = np.isin(block.worker, workers)
    rows = np.flatnonzero(block.to_answers(here) & wanted)
    task = block.to_answers(place)[rows]
    truth = sample.found["label"][task]
    distance = kernels.distance_between(block.label[rows], truth) if len(rows) else np.empty(0)
    return Compared(block.worker[rows], task, block.label[rows], truth, distance, sample.found["confidence"][task])


def list_disagreements(
    compared: Compared, sample: Piece, people: People, labels: Labels
) -> tuple[dict[int, list[Any]], list[str]]:
    """Return each worker's strongest disagreements (task, answer, label, confidence), and the names of the tasks."""
    strength = rate_disagreement(compared.distance, compared.confidence)
    rows = np.flatnonzero(np.nan_to_num(compared.distance) > 0)
    rows = rows[np.lexsort((compared.task[rows], -strength[rows], compared.worker[rows]))]
    worker = compared.worker[rows]
    picked = rows[np.arange(len(rows)) - np.searchsorted(worker, worker) < _MAX_DISAGREEMENTS]
    names: dict[str, int] = {}
    ids = [cut(str(each), _MAX_NAME) for each in sample.tasks.take(compared.task[picked]).tolist()]
    columns = zip(
        people.refer(compared.worker[picked]),
        (names.setdefault(each, len(names)) for each in ids),
        labels.refer(compared.label[picked]),
        labels.refer(compared.truth[picked]),
        (brief(each, 3) for each in compared.confidence[picked]),
        strict=True,
    )
    found: dict[int, list[Any]] = {}
    for place, *cells in columns:
        for column, cell in zip(found.setdefault(place, [[], [], [], []]), cells, strict=True):
            column.append(cell)
    return found, list(names)


def count_confusions(
    compared: Compared, n_labels: int, workers: npt.NDArray[np.intp], labels: Labels
) -> dict[str, Any] | None:
    """Count each worker's answers by estimated and given label, for the most frequent classes."""
    if not n_labels or not len(compared.worker):
        return None
    used = np.bincount(compared.truth, minlength=n_labels)[:n_labels] * 1.0
    used += np.bincount(compared.label, minlength=n_labels)[:n_labels]
    classes = np.sort(np.argsort(-used, kind="stable")[:_MAX_CLASSES])
    place = np.full(n_labels + 1, -1, np.intp)
    place[classes] = np.arange(len(classes))
    row = np.full(int(max(compared.worker.max(), workers.max())) + 1, -1, np.intp)
    row[workers] = np.arange(len(workers))
    places = np.array([row[compared.worker], place[compared.truth], place[compared.label]])
    counts = np.zeros((len(workers), len(classes), len(classes)), np.int64)
    np.add.at(counts, tuple(places[:, places.min(axis=0) >= 0]), 1)
    tables = [table.ravel().tolist() for table in counts]
    return {"classes": labels.refer(classes), "left_out": max(n_labels - len(classes), 0), "counts": tables}
