"""Reasons to trust a worker, or not: her colleagues, where she disagrees most, and what is odd about her answers.

An answer disagrees by its distance to the truth, times how sure that truth is: to contradict what nobody doubts weighs
more. Colleagues are compared with her on common tasks; those with fewer than five of them are named only if nobody has
more, for a mean of few distances is chance.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import Values, frame_of
from allalike.api.explanations.absence import MAX_ANSWERS, find_absence
from allalike.api.explanations.explanations import Flag, WorkerExplanation
from allalike.api.explanations.task_reasons import number_labels
from allalike.api.results.summaries import find_worse
from allalike.api.results.tables import sureness, worker_columns
from allalike.engines.task_table import Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from allalike._core.blocks.block import Array, Block
    from allalike.domains import Kernels
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing

__all__ = ["explain_worker"]

_MAX_DISAGREEMENTS = 10
_MIN_COMMON = 5
_MIN_CONSTANT = 10  # answers that must be the same before a worker is said to answer always the same
_MAX_NAMED = 5  # colleagues of a group


def explain_worker(
    run: Run, weighing: Weighing, found: TaskTable, again: Callable[[Run], TaskTable] | None, worker: int
) -> WorkerExplanation:
    """Say what a worker is like, given her number.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")], method="UA")
    >>> explain_worker(result.run, result.weighing, result.found, result.again, 2).disagreements["task"].tolist()
    [1]
    """
    hers = _gather_answers(run, worker)
    columns = {name: _at(column, worker) for name, column in worker_columns(run, weighing).items()}
    large = int(run.answer_counts.sum()) > MAX_ANSWERS
    disagreements, disagrees, compared = _find_disagreements(run, weighing, found, hers)
    return WorkerExplanation(
        worker=run.workers[worker],
        columns=columns,
        flags=tuple(_find_flags(run, weighing, worker, hers)),
        disagrees=disagrees,
        compared=compared,
        without=None if again is None or large else find_absence(run, found, again, worker),
        too_large=large,
        colleagues=_find_colleagues(run, worker),
        disagreements=disagreements,
    )


def _at(column: Any, row: int) -> Any:
    value = column[row]
    return value.item() if isinstance(value, np.generic) else value


def _gather_answers(run: Run, worker: int) -> tuple[Any, Any]:
    """Return the hashes of her tasks, in order, and her labels as codes."""
    blocks = run.gather(partial(_answers_of, kernels=run.kernels, number=worker))
    hashes, label = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("task_hash", "label"))
    order = np.argsort(hashes, kind="stable")
    return hashes[order], label[order]


def _answers_of(block: Block, *, kernels: Kernels, number: int) -> Block:
    """Return a block of nothing but the answers of one worker."""
    workers = np.arange(block.n_workers) if isinstance(block.workers, slice) else np.append(block.workers, -1)
    mine = workers[block.worker] == number
    if block.live is not None:
        mine &= block.to_answers(block.live)
    rows = np.flatnonzero(mine)
    task = block.task[rows]
    return replace(
        block.pick(task, rows),
        starts=np.arange(len(rows)),
        sizes=np.ones(len(rows), np.int64),
        worker=np.full(len(rows), number, np.intp),
        label=kernels.restore_answers(block, rows),
        workers=slice(None),
        gold_label=kernels.restore_gold(block)[:0],
        live=None,
    )


def _find_colleagues(run: Run, worker: int) -> pd.DataFrame:
    """Return those she has tasks in common with, the nearest first."""
    sums = run.pairs(run.kernels.pair_sums, range(worker, worker + 1))
    distance, common = (
        (s if isinstance(s, np.ndarray) else s.toarray()).reshape(-1) for s in (sums["distance"], sums["common"])
    )
    common[worker] = 0
    met = np.flatnonzero(common >= _MIN_COMMON if (common >= _MIN_COMMON).any() else common > 0)
    mean = distance[met] / common[met]
    order = np.lexsort((-common[met], mean.round(12)))
    met, mean = met[order], mean[order]
    return frame_of(
        {"worker": run.workers.take(met), "common": np.ceil(common[met]).astype(np.int64), "distance": mean}
    )


def _find_disagreements(
    run: Run, weighing: Weighing, found: TaskTable, hers: tuple[Any, Any]
) -> tuple[pd.DataFrame, int, int]:
    """Return where she disagrees most with the truth, how often she does, and of how many answers that is known."""
    hashes, label = hers
    kept: list[Piece] = []
    disagrees = compared = 0
    for piece in found.pieces():
        own = piece.tasks.hashes()
        place = np.minimum(np.searchsorted(hashes, own), len(hashes) - 1)
        here = np.flatnonzero(hashes[place] == own)
        if not len(here):
            continue
        said, truth = label[place[here]], piece.found["label"][here]
        distance = run.kernels.distance_between(said, truth)
        sure = piece.found["confidence"][here]
        strength = np.nan_to_num(distance * np.nan_to_num(sure, nan=1.0)).round(12)
        disagrees += int(np.count_nonzero(np.nan_to_num(distance) > 0))
        compared += len(here)
        best = np.argsort(-strength, kind="stable")[:_MAX_DISAGREEMENTS]
        columns = {"said": said, "truth": truth, "distance": distance, "sure": sure, "strength": strength}
        chosen = {name: column[best] for name, column in columns.items()}
        kept.append(Piece(piece.tasks.take(here[best]), piece.answers[here[best]], chosen))
    whole = Piece.join(kept)
    order = np.argsort(-whole.found["strength"], kind="stable")[:_MAX_DISAGREEMENTS]
    rows = order[whole.found["strength"][order] > 0]
    picked = {name: column[rows] for name, column in whole.found.items()}
    table: dict[str, Values | Array] = {
        "task": whole.tasks.take(rows),
        "label": run.encoding.decode(picked["said"]),
        "truth": run.encoding.decode(picked["truth"]),
        sureness(weighing): picked["sure"],
        "distance": picked["distance"],
    }
    return frame_of(table), disagrees, compared


def _find_flags(run: Run, weighing: Weighing, worker: int, hers: tuple[Any, Any]) -> Iterator[Flag]:
    insight = weighing.insight
    faults, signal, groups = insight.faults, insight.signal, insight.groups
    if faults is not None and faults.few[worker]:
        yield Flag("few answers", f"{int(faults.shared[worker]):,} of her tasks were answered by others, too")
    if signal is not None and signal.empty[worker]:
        error = signal.error[worker]
        yield Flag("no signal", f"how much her answers say of the tasks is {signal.value[worker]:.2g} +- {error:.2g}")
    for group in groups.found if groups is not None else ():
        if worker in group.members:
            yield _describe_group(run.workers, group, worker)
    worse = find_worse(run, weighing)
    if worse is not None and worker in worse.workers:
        low, high = worse.low[worker], worse.high[worker]
        yield Flag(
            f"larger {worse.unit.replace('_', ' ')}", f"{low:.3g} to {high:.3g}, the crowd's is {worse.mean:.3g}"
        )
    label = hers[1]
    if len(label) >= _MIN_CONSTANT and len(number_labels(label[:_MIN_CONSTANT], run.encoding)[1]) == 1:
        first = np.repeat(label[:1], len(label), axis=0)
        if not np.any(run.kernels.distance_between(label, first) != 0):
            yield Flag("always the same", f"all her {len(label):,} answers are {run.encoding.decode(label[:1])[0]!r}")


def _describe_group(workers: Values, group: Any, worker: int) -> Flag:
    others = [str(workers[number]) for number in group.members if number != worker]
    more = f" and {len(others) - _MAX_NAMED:,} more" if len(others) > _MAX_NAMED else ""
    name = "copies" if group.copies else "alike"
    told = f"with {', '.join(others[:_MAX_NAMED])}{more}: {group.common:,} tasks in common, {group.rare:,} rare answers"
    fidelity = "" if np.isnan(group.fidelity) else f", together in {100 * group.fidelity:.0f} % of them"
    return Flag(name, f"{told} shared{fidelity}, by chance with probability {group.chance:.2g}")
