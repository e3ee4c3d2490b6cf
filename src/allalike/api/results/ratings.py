"""Ratings: how workers do, label by label: confusions, precision and recall, biases of numbers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.late import pd
from allalike.api.frames import Frame, Framed
from allalike.api.results.quality import confusion_columns, quality_columns, rate_workers
from allalike.errors import UnknownNameError, UnsupportedError
from allalike.methods.auto.distances.numbers import find_biases
from allalike.methods.auto.voices.groups import give_voices
from allalike.telling.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike._core.blocks.block import Array
    from allalike._core.columns.values import Values
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing

__all__ = ["Rated"]


class Rated(Framed[Frame]):
    """What was found in a run, as far as it tells how workers do."""

    run: Run
    weighing: Weighing
    found: TaskTable
    summary: dict[str, Any]

    @property
    def keeps_gold(self) -> bool:
        """Whether known truths stand among those found."""
        return self.run.n_gold > 0 and "known" in next(iter(self.found.pieces())).found

    @cached_property
    def rated(self) -> Mapping[str, Mapping[str, Values | Array]]:
        """The tables of quality and confusions, those that there are."""
        return rate_workers(self.run, self.weighing, kept=self.keeps_gold)

    def confusion(self, worker: Any) -> Frame:
        """Return the probability that a worker gives each label (a column) to tasks of each class (a row).

        Parameters
        ----------
        worker
            Her id. Where every task is a problem of its own, no worker has a confusion matrix.

        >>> import allalike
        >>> said = {"ada": "xxyyxyxy", "bob": "xxyyxyxx", "eve": "xxyyxyyy", "kim": "yxxxyxxy", "lea": "xxyyxyxy"}
        >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
        >>> allalike.discover(rows).confusion("kim").round(1)
        label    x    y
        class
        x      0.6  0.4
        y      0.5  0.5
        """
        confusion, ids = self.weighing.skill.confusion, self.run.workers.tolist()
        if confusion is None:
            method = Summary.from_dict(self.summary).method.name
            raise UnsupportedError(f"{method} found no confusion matrices of these workers.")
        if ids.count(worker) != 1:
            raise UnknownNameError(
                f"No worker is called {worker!r}." if worker not in ids else f"{worker!r} is there for each task."
            )
        names = self.run.encoding.decode(np.arange(confusion.shape[1])).tolist()
        rows, columns = pd.Index(names, name="class"), pd.Index(names, name="label")
        return self._dress(pd.DataFrame(confusion[ids.index(worker)].T, index=rows, columns=columns), "class")

    @cached_property
    def quality(self) -> Frame:
        """One row per worker and tag: precision, recall, f1 and support, against the truths found.

        Of classes, levels, sets, objects and masks; the tag ``(all)`` is all of them together. Where truths are known,
        gold_precision and the like are against these. Masks also have dice, hausdorff, hausdorff_95 and
        surface_distance, means over pictures, in pixels or in the millimetres of volumes.

        >>> import allalike
        >>> rows = [("ada", 1, ["a", "b"]), ("bob", 1, ["a", "b"]), ("eve", 1, ["b", "c", "d"])]
        >>> allalike.discover(rows, domain="set", method="UA").quality.round(2).iloc[-5]
        worker         eve
        tag          (all)
        precision     0.33
        recall         0.5
        f1             0.4
        support          2
        Name: 6, dtype: object
        """
        return self._dress(quality_columns(self.run, self.weighing, kept=self.keeps_gold))

    @cached_property
    def confusions(self) -> Frame:
        """One row per worker, truth found and label: how many answers, of classes and levels.

        >>> import allalike
        >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y")]
        >>> allalike.discover(rows, method="UA").confusions.query("worker == 'eve'").values.tolist()
        [['eve', 'x', 'y', 1]]
        """
        return self._dress(confusion_columns(self.run, self.weighing, kept=self.keeps_gold))

    def bias(self) -> Frame:
        """Return by how much each worker's numbers are too high, on average, with the limits of 95 %.

        They are compared with the weighted mean of the others; a bias that all have in common is not seen.

        >>> import allalike
        >>> said = {"ada": [1, 5, 7, 2], "bob": [1, 5, 8, 1], "eve": [3, 7, 9, 4]}
        >>> rows = [(worker, task, float(x)) for worker, numbers in said.items() for task, x in enumerate(numbers)]
        >>> allalike.discover(rows, method="UA").bias().round(2)
          worker  bias   low  high
        0    ada  -1.0 -1.65 -0.35
        1    bob  -1.0 -2.30  0.30
        2    eve   2.0  1.35  2.65
        """
        if not self.run.encoding.numeric:
            name = self.run.domain.name
            raise UnsupportedError(f"A bias is known of numbers only, and these labels are {name}.")
        groups = self.weighing.insight.groups
        found = find_biases(self.run if groups is None else give_voices(self.run, groups), self.weighing.weight)
        tasks = {"task": self.run.worker_task} if self.run.worker_task is not None else {}
        return self._dress({**tasks, "worker": self.run.workers, **found._asdict()})
