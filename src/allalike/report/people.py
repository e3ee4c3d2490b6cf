"""People: the workers that a page shows, in the order of their weights, each with an alias.

All of them are shown up to a number. Where there are more, those are shown whom somebody should look at, and then those
who gave most answers. Workers who occur only as answers to a task come behind them, when they are first named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike.report.brevity import brief, cut

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array
    from allalike.report.material import Material

__all__ = ["People", "choose_workers", "find_flags", "name_sureness", "read_unit"]

_MAX_NAME = 120
_MAX_LOOKED_AT = 0.4  # share of those shown that may be there for their flags


class People:
    """The workers of a page: an alias is W and the place, from 1 on.

    Parameters
    ----------
    material
        What the report is made of.
    shown
        The numbers of those with a row of their own.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")])
    >>> people = People(result.material(), np.array([2]))
    >>> people.refer(np.array([0, 2])), people.names
    ([1, 0], ['eve', 'ada'])
    """

    def __init__(self, material: Material, shown: npt.NDArray[np.intp]) -> None:
        self.names: list[str] = []
        self.weights: list[float | int | None] = []
        self._run, self._weight = material.run, material.weighing.weight
        self._places: dict[int, int] = {}
        self.refer(shown)

    def refer(self, workers: Array) -> list[int]:
        """Return the places of workers among those named, where new ones are added."""
        return [self._place(number) for number in workers.tolist()]

    def forget(self, known: int) -> None:
        """Take back all workers behind the first ones, whom nothing refers to."""
        self.names, self.weights = self.names[:known], self.weights[:known]
        self._places = {number: place for number, place in self._places.items() if place < known}

    def _place(self, number: int) -> int:
        place = self._places.setdefault(number, len(self.names))
        if place == len(self.names):
            name, task = str(self._run.workers[number]), self._run.worker_task
            self.names.append(cut(name if task is None else f"{name} ({task[number]})", _MAX_NAME))
            self.weights.append(brief(self._weight[number]))
        return place


def read_unit(material: Material) -> str:
    """Name the column of the table of workers that says how far she errs: error_rate, rmse or fault."""
    faults = material.weighing.insight.faults
    if faults is not None:
        return faults.unit
    return "fault" if material.weighing.skill.error_rate is None else "error_rate"


def name_sureness(material: Material) -> str:
    """Name how sure a truth is: a confidence, or where auto knows no probability the support by weights."""
    insight = material.weighing.insight
    return "support" if insight.faults is not None and insight.confidence is None else "confidence"


def find_flags(material: Material) -> list[list[str]]:
    """Say in words what is remarkable about each worker."""
    flags: list[list[str]] = [[] for _ in range(len(material.run.workers))]
    table = material.workers
    for name, words in (("no_signal", "no signal"), ("few", "few answers")):
        if name in table:
            for number in np.flatnonzero(np.asarray(table[name])):
                flags[number].append(words)
    if "group" in table:
        for number, group in enumerate(table["group"].tolist()):
            if group:
                flags[number].append(f"copies (group {group})")
    if "low" in table and len(material.run.problems.sizes) == 1:
        for number in _find_worse(material):
            flags[number].append("worse than the crowd")
    return flags


def _find_worse(material: Material) -> npt.NDArray[np.intp]:
    trust = material.summary.trust
    if trust is None or trust.look_at is None:
        return np.empty(0, np.intp)
    table = material.workers
    low, few, empty = (np.asarray(table[name]) for name in ("low", "few", "no_signal"))
    return np.flatnonzero((np.nan_to_num(low, nan=-np.inf) > trust.look_at.crowd) & ~few & ~empty)


def choose_workers(material: Material, flags: list[list[str]], most: int) -> npt.NDArray[np.intp]:
    """Return the numbers of the workers that are shown, those with most weight first, and then those with least fault.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x"), ("eve", 2, "x")])
    >>> choose_workers(result.material(), [["few"], [], []], 2)
    array([0, 2])
    """
    weighing, answers = material.weighing, material.run.answer_counts
    chosen = np.arange(len(answers))
    if len(chosen) > most:
        flagged = np.array([bool(words) and words != ["few answers"] for words in flags])
        active = np.argsort(-answers, kind="stable")
        remarkable = active[flagged[active]][: int(_MAX_LOOKED_AT * most)]
        rest = active[~np.isin(active, remarkable)][: most - len(remarkable)]
        chosen = np.sort(np.concatenate([remarkable, rest]))
    fault = np.nan_to_num(weighing.fault[chosen], nan=np.inf)
    return np.asarray(chosen[np.lexsort((fault, -weighing.weight[chosen]))], np.intp)
