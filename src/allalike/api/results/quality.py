"""Quality in the numbers that people know: precision, recall and F1 by worker and tag, confusions, Dice, borders.

Of a worker's answers and their tasks' truths, with so many hits, marks that she made and marks that were due,

    precision = hits / made        recall = hits / due        F1 = 2 hits / (made + due)

A mark is an answer of a class, an element of a set, an object (paired with one of the truth, of the same class) or a
pixel. Truths are those that were found, of which her own answers are a part, and beside them those that are known.
It works for comparing workers with each other. It flatters all of them where few answer each task.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import text_column
from allalike.api.results.deciding import keep_known, with_quorum
from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.columns.values import Values
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run
    from allalike.methods import Weighing
    from allalike.methods.base import Decide

    Decided = Callable[..., tuple[Array, Array, Array]]
    Sums = dict[tuple[int, str], dict[str, float]]  # of each worker and tag

__all__ = ["ALL_TAGS", "confusion_columns", "quality_columns", "rate_workers"]

ALL_TAGS, _UNHEARD = "(all)", "(not given)"  # the latter is a known truth that is in no answer
_COUNTS = ("hits", "made", "due")
_MAX_CELLS = 1 << 24  # of tables of workers and classes
_MAX_LOOKED_AT = 5_000_000  # answers, from which on nobody waits for another look at them
_MAX_COMPARED = 100_000  # the same of sets, objects and masks


def rate_workers(run: Run, weighing: Weighing, *, kept: bool) -> dict[str, dict[str, Values | Array]]:
    """Return the tables of quality and confusions, those that there are, unless it takes long to find them."""
    if int(run.answer_counts.sum()) > (_MAX_COMPARED if run.encoding.n_classes is None else _MAX_LOOKED_AT):
        return {}
    if not _is_rated(run, 1):
        return {}
    counts = _count_confusions(run, weighing, kept=kept) if _is_confused(run) else None
    return {
        "quality": quality_columns(run, weighing, kept=kept, counts=None if kept else counts),
        **({} if counts is None else {"confusion": _list_confusions(run, counts)}),
    }


def _is_confused(run: Run) -> bool:
    """Tell whether labels are classes or levels, few enough for a table of each worker."""
    return run.encoding.n_classes is not None and _is_rated(run, 2)


def _is_rated(run: Run, cells: int) -> bool:
    """Tell whether answers can be right in part or whole, of tables with so many cells for a worker and class."""
    if len(run.problems.sizes) > 1:
        return False
    if run.encoding.n_classes is None:
        return cells == 1 and run.domain.marks is not None
    return bool(len(run.workers) * run.encoding.n_labels**cells <= _MAX_CELLS)


def quality_columns(
    run: Run, weighing: Weighing, *, kept: bool, counts: Floats | None = None
) -> dict[str, Values | Array]:
    """Return the columns of the table of quality; known truths are ``kept`` if they stand among those found.

    Where confusions are ``counts`` already, nobody looks at the answers again.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y"), ("eve", 2, "y")]
    >>> allalike.discover(rows, method="UA").quality.round(2).query("worker == 'eve'")
      worker    tag  precision  recall    f1  support
    6    eve  (all)        0.5     0.5  0.50        2
    7    eve      x        NaN     0.0  0.00        1
    8    eve      y        0.5     1.0  0.67        1
    """
    found = _add_marks(run, weighing, kept=kept, gold=False) if counts is None else _sum_up(run, _margins(counts))
    known = _add_marks(run, weighing, kept=kept, gold=True) if run.n_gold else {}
    rows = sorted({*found, *known}, key=lambda row: (row[0], row[1] != ALL_TAGS, row[1]))
    rated = _rates([known.get(row, {}) for row in rows]) if known else {}
    return {
        "worker": run.workers.take(np.array([worker for worker, _ in rows], np.int64)),
        "tag": text_column([tag for _, tag in rows]),
        **_rates([found.get(row, {}) for row in rows]),
        **{f"gold_{name}": each for name, each in rated.items()},
    }


def _rates(sums: list[dict[str, float]]) -> dict[str, Array]:
    hits, made, due = (np.array([each.get(name, 0.0) for each in sums]) for name in _COUNTS)
    with np.errstate(invalid="ignore"):
        rates = {"precision": hits / made, "recall": hits / due, "f1": 2 * hits / (made + due)}
    more = dict.fromkeys(name for each in sums for name in each if name not in _COUNTS)
    means = {name: np.array([each.get(name, np.nan) for each in sums]) for name in more}
    return {**rates, "support": due.astype(np.int64), **means}


def _add_marks(run: Run, weighing: Weighing, *, kept: bool, gold: bool) -> Sums:
    """Return the sums of each worker and tag, and of each worker over all tags."""
    truths = _decided(run, weighing, 1, kept=kept, gold=gold)
    if run.encoding.n_classes is None:
        ids = np.arange(len(run.workers), dtype=np.float64)
        counted = run.collect(partial(_list_marks, truths=truths, domain=run.domain), ids, *weighing.arguments)
        return _join_marks([mark for task in counted["marks"] for mark in task])
    n_tags = run.encoding.n_labels + 1
    return _sum_up(run, run.sum(partial(_count_classes, truths=truths, n_tags=n_tags), *weighing.arguments))


def _margins(counts: Floats) -> dict[str, Floats]:
    """Return hits, made and due of each worker and label, from how often she gave which label where which was true."""
    return {"hits": counts.diagonal(axis1=1, axis2=2), "made": counts.sum(axis=1), "due": counts.sum(axis=2)}


def _sum_up(run: Run, sums: dict[str, Floats]) -> Sums:
    """Name the sums of each worker and label, and add those of all labels."""
    tags = [ALL_TAGS, *map(str, run.encoding.decode(np.arange(run.encoding.n_labels)).tolist()), _UNHEARD]
    every = {name: np.c_[table.sum(axis=1), table] for name, table in sums.items()}
    places = np.argwhere(every["made"] + every["due"] > 0).tolist()
    return {(i, tags[j]): {name: float(table[i, j]) for name, table in every.items()} for i, j in places}


def _decided(run: Run, weighing: Weighing, cells: int, *, kept: bool, gold: bool) -> Decided:
    """Return what lists answers beside their truths; refuse labels that are not counted as right and wrong."""
    if not _is_rated(run, cells):
        name = run.domain.name
        raise UnsupportedError(f"Labels of the kind {name} are not counted as right and wrong, or these are too many.")
    own = with_quorum(run, weighing).decide_on(run)
    return partial(_list_truths, own=own, encoding=run.encoding, kept=kept, gold=gold)


def _list_truths(
    block: Block, *given: Floats, own: Decide, encoding: Encoding, kept: bool, gold: bool
) -> tuple[Array, Array, Array]:
    """Return the places of answers to tasks with a truth, what they say, and the truths, as codes."""
    kernels = encoding.kernels
    if gold:
        place = block.to_answers(block.gold_row)
        rows = np.flatnonzero(place >= 0)
        return rows, kernels.restore_answers(block, rows), kernels.restore_gold(block)[place[rows]]
    found = own(block, *given)
    label = keep_known(block, found, encoding)["label"] if kept else found["label"]
    rows = np.flatnonzero(block.to_answers(np.ones(block.n_tasks, np.bool_) if block.live is None else block.live))
    return rows, kernels.restore_answers(block, rows), label[block.task[rows]]


def _count_classes(block: Block, *given: Floats, truths: Decided, n_tags: int) -> dict[str, Floats]:
    rows, said, truth = truths(block, *given)
    cell, size = block.worker[rows].astype(np.intp) * n_tags, block.n_workers * n_tags
    due = cell + np.minimum(truth, n_tags - 1)
    marks = {"hits": (cell + said)[said == truth], "made": cell + said, "due": due}
    return {
        name: np.bincount(each, minlength=size).reshape(-1, n_tags).astype(np.float64) for name, each in marks.items()
    }


def _list_marks(block: Block, ids: Floats, *given: Floats, truths: Decided, domain: Domain) -> dict[str, Array]:
    """Return, per task, what is right in each answer: worker, tag and counts, and further numbers of the whole."""
    tasks = np.empty(block.n_tasks, object)
    tasks[:] = [[] for _ in tasks]
    assert domain.marks is not None
    for row, said, truth in zip(*truths(block, *given), strict=True):
        worker, listed = int(ids[block.worker[row]]), tasks[block.task[row]]
        listed += [(worker, tag, counts, {}) for tag, counts in domain.marks.count_marks(said, truth).items()]
        listed.append((worker, None, (0, 0, 0), domain.marks.measure_marks(said, truth)))
    return {"marks": tasks}


def _join_marks(marks: list[tuple[int, Any, tuple[int, ...], dict[str, float]]]) -> Sums:
    """Add up counts by worker and tag, and average further numbers, where they are known."""
    found: Sums = defaultdict(lambda: dict.fromkeys(_COUNTS, 0.0))
    values: dict[tuple[int, str], list[float]] = defaultdict(list)
    for worker, tag, counts, more in marks:
        for row in {(worker, ALL_TAGS), (worker, ALL_TAGS if tag is None else str(tag))}:
            for name, count in zip(_COUNTS, counts, strict=True):
                found[row][name] += count
        for name, value in more.items():
            values[worker, name].append(value)
    for (worker, name), each in values.items():
        known = np.array(each)[~np.isnan(each)]
        found[worker, ALL_TAGS][name] = float(known.mean()) if len(known) else np.nan
    return found


def confusion_columns(run: Run, weighing: Weighing, *, kept: bool) -> dict[str, Values | Array]:
    """Return the columns of the table of confusions: how often each worker gave each label to tasks of each truth.

    Known truths that are in no answer are left out.
    """
    return _list_confusions(run, _count_confusions(run, weighing, kept=kept))


def _count_confusions(run: Run, weighing: Weighing, *, kept: bool) -> Floats:
    truths, k = _decided(run, weighing, 2, kept=kept, gold=False), run.encoding.n_labels
    counts = run.sum(partial(_confuse, truths=truths, n_labels=k), *weighing.arguments)["answers"]
    return np.asarray(counts.reshape(-1, k, k))


def _list_confusions(run: Run, counts: Floats) -> dict[str, Values | Array]:
    worker, truth, label = np.nonzero(counts)
    classes = run.encoding.decode(np.arange(counts.shape[1]))
    return {
        "worker": run.workers.take(worker),
        "truth": classes.take(truth),
        "label": classes.take(label),
        "answers": counts[worker, truth, label].astype(np.int64),
    }


def _confuse(block: Block, *given: Floats, truths: Decided, n_labels: int) -> dict[str, Floats]:
    rows, said, truth = truths(block, *given)
    heard = truth < n_labels
    rows, said, truth = rows[heard], said[heard], truth[heard]
    size = n_labels**2
    cell = block.worker[rows].astype(np.intp) * size + truth.astype(np.intp) * n_labels + said
    return {"answers": np.bincount(cell, minlength=block.n_workers * size).reshape(-1, size).astype(np.float64)}
