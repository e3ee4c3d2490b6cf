"""Samples: many small problems, drawn from a crowd whose truths are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.problems import Problems
from allalike._core.columns.values import Values, arrow_of
from allalike.answers import Answers
from allalike.errors import GoldError, OptionError

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats

__all__ = ["Sample", "Sampler"]

_MAX_DRAWN_NUMBERS = 1 << 22  # random numbers

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """Independent problems as one set of answers, and of each task the problem that it belongs to."""

    answers: Answers
    problem: Numbers
    n_problems: int

    def mean(self, values: Floats) -> Floats:
        """Average one number per task over the tasks of each problem."""
        count = np.bincount(self.problem, minlength=self.n_problems)
        return np.bincount(self.problem, values, self.n_problems) / count


class Sampler:
    """A crowd from which workers and tasks are drawn, without repetition and in a random order.

    First the tasks are drawn, among those whose truth is known; then the workers, among those who answered at least one
    of these tasks. Answers that are missing stay missing, and a task that none of the workers answered is left out of
    its problem.

    >>> import allalike
    >>> crowd = allalike.simulate("binary SYN.N", workers=20, tasks=30)
    >>> from allalike.readers import read_gold
    >>> sampler = Sampler(read_gold(crowd.truth, crowd.answers))
    >>> sample = sampler.draw(workers=5, tasks=4, problems=3, rng=np.random.default_rng(0))
    >>> sample.answers.n_answers, sample.answers.problems.sizes, sample.problem
    (60, array([5, 5, 5]), array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]))
    """

    def __init__(self, answers: Answers) -> None:
        if not len(answers.gold_task):
            raise GoldError("Experiments need tasks whose truth is known. Give gold.")
        self.answers = answers
        task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
        place = np.full(len(answers.tasks), -1)
        place[answers.gold_task] = np.arange(len(answers.gold_task))
        known = place[task] >= 0
        self._row = np.full((len(answers.workers), len(answers.gold_task)), -1, np.int32)
        self._row[answers.worker[known], place[task[known]]] = np.flatnonzero(known)
        self._complete = bool((self._row >= 0).all())

    def draw(self, *, workers: int, tasks: int, problems: int, rng: np.random.Generator, first: int = 0) -> Sample:
        """Draw some problems; ``first`` is the number of the first, from which its tasks have their names."""
        n_workers, n_tasks = self._row.shape
        for name, asked, there in (("workers", workers, n_workers), ("tasks with gold", tasks, n_tasks)):
            if asked > there:
                raise OptionError(f"{asked} {name} cannot be drawn: there are {there}.")
        chosen_tasks = _subsets(n_tasks, tasks, problems, rng)
        able = None
        if not self._complete:
            able = np.stack([(self._row[:, some] >= 0).any(axis=1) for some in chosen_tasks])
            if (able.sum(axis=1) < workers).any():
                raise OptionError(f"{workers} workers cannot be drawn: some {tasks} tasks were answered by fewer.")
        chosen_workers = _subsets(n_workers, workers, problems, rng, able)
        return self._sample(chosen_workers, chosen_tasks, first)

    def _sample(self, workers: Numbers, tasks: Numbers, first: int) -> Sample:
        (problems, n), m = workers.shape, tasks.shape[1]
        row = self._row[workers[:, None, :], tasks[:, :, None]].reshape(problems * m, n)
        sizes = (row >= 0).sum(axis=1)
        asked = np.flatnonzero(sizes)
        local = np.repeat(np.arange(problems) * n, m)[:, None] + np.arange(n)
        there = row >= 0
        answers = Answers(
            workers=Values(arrow_of(np.arange(problems * n))),
            tasks=Values(arrow_of(first * m + asked)),
            encoding=self.answers.encoding,
            starts=np.concatenate([[0], np.cumsum(sizes[asked])]),
            worker=local[there].astype(np.int32),
            label=self.answers.label[row[there]],
            problems=Problems(np.full(problems, n)),
            gold_task=np.arange(len(asked)),
            gold_label=self.answers.gold_label[tasks.ravel()[asked]],
        )
        return Sample(answers, asked // m, problems)


def _subsets(n: int, size: int, problems: int, rng: np.random.Generator, able: Array | None = None) -> Numbers:
    """Draw a subset of so many numbers for each problem, in a random order.

    The order must not tell anything: data are often listed with the most frequent answers first, and some methods break
    ties by taking the first worker.
    """
    parts = []
    step = max(1, _MAX_DRAWN_NUMBERS // n)
    for begin in range(0, problems, step):
        keys = rng.random((min(step, problems - begin), n))
        if able is not None:
            keys[~able[begin : begin + step]] = np.inf
        chosen = np.argpartition(keys, size - 1, axis=1)[:, :size]
        order = np.argsort(np.take_along_axis(keys, chosen, axis=1), axis=1)
        parts.append(np.take_along_axis(chosen, order, axis=1))
    return np.concatenate(parts)
