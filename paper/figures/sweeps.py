"""Sweeps: crowds of growing size, from which the lines of a panel come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike.datasets import DATASETS, source_of
from crowd_data import load
from paper.experiments.settings import Setting
from paper.figures.base import here
from paper.reported_tables.interpretations import POOL

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Sweep", "settings_of"]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The sizes of one crowd to try.

    Parameters
    ----------
    source, methods, pool
        As in `Setting`.
    title
        What to call it; the source's name unless given.
    workers, tasks
        The numbers of workers to try with the usual number of tasks, and the other way round.
    usual
        The usual numbers of workers and tasks.

    >>> sweep = Sweep(source="k=4 SYN", methods=("P-TD",), workers=(3, 5), tasks=(5, 15))
    >>> [(setting.workers, setting.tasks) for setting in sweep.settings()]
    [(3, 15), (5, 15), (10, 5), (10, 15)]
    """

    source: str
    methods: tuple[str, ...]
    title: str = ""
    workers: tuple[int, ...] = (3, 5, 7, 10, 15, 20, 30, 50)
    tasks: tuple[int, ...] = (2, 5, 10, 15, 20, 30, 50, 100)
    usual: tuple[int, int] = (10, 15)
    pool: int = POOL

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.source)

    def over_workers(self) -> list[Setting]:
        """Return the experiments with more and more workers."""
        return [self._setting(n, self.usual[1]) for n in self.workers]

    def over_tasks(self) -> list[Setting]:
        """Return the experiments with more and more tasks."""
        return [self._setting(self.usual[0], m) for m in self.tasks]

    def settings(self) -> list[Setting]:
        """Return all experiments that fit the data."""
        most_workers, most_tasks = _most(self.source)
        both = [*self.over_workers(), *self.over_tasks()]
        return [setting for setting in both if setting.workers <= most_workers and setting.tasks <= most_tasks]

    def _setting(self, workers: int, tasks: int) -> Setting:
        fresh = self.source not in DATASETS
        return Setting(
            source=self.source, workers=workers, tasks=tasks, methods=self.methods, pool=self.pool, fresh=fresh
        )


def settings_of(sweeps: Iterable[Sweep]) -> list[Setting]:
    """Return the experiments of all sweeps whose data are here.

    >>> len(settings_of([Sweep(source="k=4 SYN", methods=("P-TD",))]))
    16
    """
    return [setting for sweep in sweeps if here(sweep.source) for setting in sweep.settings()]


def _most(source: str) -> tuple[float, float]:
    """Return how many workers and tasks can be drawn; a sweep of public data is made for them."""
    if source not in DATASETS or source_of(source).public:
        return np.inf, np.inf
    answers = load(source).answers
    return int(np.diff(answers.starts)[answers.gold_task].min()), len(answers.gold_task)
