"""Draws: truths, workers and answers as arrays.

Truths, workers, who is asked, answers and copies come from streams of their own, so that a worker is the same whatever
the number of tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.options import check_number
from allalike.errors import OptionError, TooLargeError
from allalike.noise import Copiers
from allalike.simulation.paper import as_model

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike.domains import Encoding
    from allalike.simulation.models import Model, Parameters

_MAX_VALUES = 200_000_000  # numbers, items or pixels in all answers

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """The answer of every worker to every task.

    Parameters
    ----------
    labels
        The answers: workers, tasks, and the axes of a label, if it has any. Classes are codes, rankings
        are codes of items, best first, in a row for each answer; intervals are pairs of bounds, masks tables of pixels.
    truth
        The truth of each task, in the same form.
    faults
        Mean distance of each worker to the truth.
    parameters
        Parameters of the errors by name: a standard deviation, Mallows' phi.
    source
        Source of each copier, or -1.
    encoding
        Conversion between labels and codes.

    >>> crowd = pool("real SYN.HS", workers=3, tasks=4, seed=2)
    >>> crowd.labels.shape, crowd.parameters["sd"], crowd.faults.round(2)
    ((3, 4), array([1. , 0.2, 1. ]), array([1.  , 0.04, 1.  ]))
    """

    labels: Array
    truth: Array
    faults: Floats
    parameters: Parameters
    source: Numbers
    encoding: Encoding


@dataclass(frozen=True)
class Drawn:
    """Answers sorted by task and worker: their workers, tasks and labels, and beside them what a pool has.

    >>> drawn = draw(as_model("k=4 SYN"), workers=3, tasks=2)
    >>> drawn.worker, drawn.task
    (array([0, 1, 2, 0, 1, 2]), array([0, 0, 0, 1, 1, 1]))
    """

    worker: Numbers
    task: Numbers
    label: Array
    truth: Array
    faults: Floats
    parameters: Parameters
    source: Numbers


def pool(
    model: Model | str,
    *,
    workers: int,
    tasks: int | None = None,
    copiers: Copiers | None = None,
    seed: int = 0,
) -> Pool:
    """Draw a crowd in which everyone answers everything, as arrays.

    Parameters
    ----------
    model
        A name from `MODELS`, with options in brackets if need be, or a `Model`.
    workers, tasks
        Numbers of workers and tasks. The default number of tasks depends on the model: one for rankings of the paper.
    copiers
        Copiers among the workers, if any.
    seed
        Random seed.

    >>> crowd = pool("ranking SYN.N", workers=5, tasks=2)
    >>> crowd.labels.shape, crowd.truth.shape, crowd.faults.round(2)
    ((5, 2, 6), (2, 6), array([0.43, 0.23, 0.37, 0.31, 0.38]))
    """
    chosen = as_model(model)
    drawn = draw(chosen, workers=workers, tasks=tasks, copiers=copiers, seed=seed)
    labels = drawn.label.reshape(len(drawn.truth), workers, *drawn.truth.shape[1:]).swapaxes(0, 1)
    return Pool(labels, drawn.truth, drawn.faults, drawn.parameters, drawn.source, chosen.encoding)


def draw(
    model: Model,
    *,
    workers: int,
    tasks: int | None = None,
    answers_per_task: int | None = None,
    copiers: Copiers | None = None,
    seed: int = 0,
) -> Drawn:
    """Draw answers, as many to each task as asked for.

    >>> np.bincount(draw(as_model("k=4 SYN"), workers=9, tasks=3, answers_per_task=2).task)
    array([2, 2, 2])
    """
    tasks = model.usual_tasks if tasks is None else tasks
    for name, value, least in (("workers", workers, 1), ("tasks", tasks, 1), ("seed", seed, 0)):
        check_number(value, name, least=least, whole=True)
    each = _each(workers, answers_per_task)
    _check_size(workers, tasks * each, model.size)
    of_workers, of_truths, of_asked, of_answers, of_copies = map(
        np.random.default_rng, np.random.SeedSequence(seed).spawn(5)
    )
    copiers = copiers or Copiers()
    source = copiers.appoint(workers, of_copies)
    parameters, truth = model.parameters(workers, of_workers), model.truths(tasks, of_truths)
    worker, task = _asked(workers, tasks, each, of_asked)
    label = model.answers(truth[task], {name: values[worker] for name, values in parameters.items()}, of_answers)
    faults = model.faults(parameters)
    if copiers.number:
        label, chance = copiers.copy(worker, task, label, source, of_copies)
        answers = np.maximum(np.bincount(worker, minlength=workers), 1)
        share = np.bincount(worker, chance, workers) / answers
        faults = faults + share * (faults[source] - faults)
    return Drawn(worker, task, label, truth, faults, parameters, source)


def _each(workers: int, answers_per_task: int | None) -> int:
    if answers_per_task is None:
        return workers
    check_number(answers_per_task, "answers_per_task", least=1, whole=True)
    if answers_per_task > workers:
        raise OptionError(f"A task cannot have {answers_per_task} answers: there are {workers} workers.")
    return answers_per_task


def _check_size(workers: int, answers: int, size: int) -> None:
    if max(workers, answers * size) > _MAX_VALUES:
        each = f" with {size:,} values each" if size > 1 else ""
        raise TooLargeError(
            f"{answers:,} answers{each} of {workers:,} workers are too many at once; {_MAX_VALUES:,} values fit. Ask"
            " for fewer."
        )


def _asked(workers: int, tasks: int, each: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Draw which workers answer each task, in order."""
    if 2 * each <= workers:
        chosen = _subsets(workers, tasks, each, rng)
    else:
        stays = np.ones((tasks, workers), np.bool_)
        np.put_along_axis(stays, _subsets(workers, tasks, workers - each, rng), values=False, axis=1)
        chosen = np.nonzero(stays)[1].reshape(tasks, each)
    return chosen.ravel(), np.repeat(np.arange(tasks), each)


def _subsets(workers: int, tasks: int, size: int, rng: np.random.Generator) -> Numbers:
    """Draw different workers for each task, at most half of them: whoever is there already is drawn again."""
    chosen = np.sort(rng.integers(workers, size=(tasks, size)), axis=1)
    rows = np.arange(tasks)
    while len(rows):
        again = chosen[rows, 1:] == chosen[rows, :-1]
        rows, again = rows[again.any(axis=1)], again[again.any(axis=1)]
        part = chosen[rows]
        part[:, 1:][again] = rng.integers(workers, size=int(again.sum()))
        chosen[rows] = np.sort(part, axis=1)
    return chosen
