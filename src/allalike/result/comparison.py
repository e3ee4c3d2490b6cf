"""Comparison: what many methods found in the same answers, ranked by error, or by how much they agree."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import TOLERANCE
from allalike._core.late import pd
from allalike._core.system.progress import report
from allalike.errors import GoldError
from allalike.frames import Frame, Framed
from allalike.methods import OA, UA, Method, Weighing
from allalike.result.tables import comparison_html, comparison_text
from allalike.result.targets import write_table
from allalike.telling.summary import Summary

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Kernels
    from allalike.engines import Run

_SIGNIFICANT = 0.05


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a method found, or why it failed, and how many seconds it took to weigh and decide.

    >>> from allalike.api.compare import compare
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]
    >>> compare(rows, methods="P-TD").outcomes["P-TD"].weighing.weight
    array([0.5, 0.5, 0. ])
    """

    method: Method
    seconds: float
    weighing: Weighing | None = None
    found: Mapping[str, Array] | None = None
    failure: str = ""

    @property
    def is_oracle(self) -> bool:
        """Whether the method knew what nobody knows."""
        return isinstance(self.method, OA)

    def describe(self) -> dict[str, Any]:
        """Say what it took, and whether it ended well."""
        found = self.weighing
        if found is None:
            return {"seconds": self.seconds, "iterations": None, "converged": None, "note": self.failure}
        return {"seconds": self.seconds, **dataclasses.asdict(found.rounds), "note": found.rounds.note}


@dataclass(frozen=True)
class Comparison(Framed[Frame]):
    """What all methods found in the same answers.

    Parameters
    ----------
    run
        The answers, with gold where there is any.
    outcomes
        What each method found, by its name with options.
    summary
        Counts, settings, versions and what was guessed; with gold also the best method.
    inputs
        The files and folders that answers and gold were read from, which `save` never replaces.

    >>> from allalike.api.compare import compare
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> found = compare(rows, methods=["P-TD-AK"])
    >>> found.agreement["distance"].round(1)
               UA  P-TD-AK
    UA        0.0     36.0
    P-TD-AK  36.0      0.0
    """

    run: Run
    outcomes: Mapping[str, Outcome]
    summary: dict[str, Any]
    inputs: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return comparison_text(Summary.from_dict(self.summary), self._listed)

    def _repr_html_(self) -> str:
        return comparison_html(Summary.from_dict(self.summary), self._listed)

    @cached_property
    def table(self) -> Frame:
        """One row per method, best first; those that failed come last.

        With gold: method, error (mean distance to gold), change and RI against UA in percent, verdict (best, tie,
        worse, oracle, failed), p, seconds, iterations, converged, note. Without: in place of error to p the average
        over the other methods of same (the share of tasks with the same label) and distance (between the truths).
        """
        return self._dress(self._listed)

    @property
    def _listed(self) -> pd.DataFrame:
        return pd.DataFrame(self.rows).astype({"iterations": "Int64", "converged": "boolean"})

    @cached_property
    def agreement(self) -> Frame:
        """Each method against each: the share of tasks with the ``same`` label, and the mean ``distance``."""
        names = list(self._labels)
        parts = {name: pd.DataFrame(part, names, names) for name, part in self._agreement.items()}
        return self._dress(pd.concat(parts, axis=1), "method")

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table, with None for what is not known."""
        scores = self._errors() if self.run.n_gold else self._averages()
        nothing = {column: "failed" if column == "verdict" else None for column in next(iter(scores.values()))}
        failed = {name: nothing for name in self.outcomes if name not in scores}
        return [{"method": name, **row, **self.outcomes[name].describe()} for name, row in (scores | failed).items()]

    @property
    def ranked_by(self) -> str:
        """What the table is sorted by: error, or without gold same; distance for truths that hardly ever are the same.

        These are numbers, and masks and sets that are put together from their parts; they are not kept as codes.
        """
        if self.run.n_gold:
            return "error"
        return "same" if self.run.domain.recurring else "distance"

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, safe_csv: bool = False) -> Path:
        """Write the table as CSV, whole or not at all, and return its path.

        An earlier table of this kind is replaced, another file only if it may be overwritten, and an input never. If
        the table must be safe, texts that a spreadsheet would take for formulas get an apostrophe before them.

        >>> import tempfile
        >>> from allalike.api.compare import compare
        >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = compare(rows, methods="P-TD").save(folder + "/table.csv")
        ...     path.read_text().splitlines()[0]
        'method,same,distance,seconds,iterations,converged,note'
        """
        return write_table(self._listed, path, inputs=self.inputs, overwrite=overwrite, safe_csv=safe_csv)

    @cached_property
    def _labels(self) -> dict[str, Array]:
        return {name: outcome.found["label"] for name, outcome in self.outcomes.items() if outcome.found is not None}

    @cached_property
    def distances(self) -> dict[str, Floats]:
        """Of each method, how far its truths are from gold, for the tasks where this is known for all methods."""
        distance = {name: outcome.found["gold"] for name, outcome in self.outcomes.items() if outcome.found is not None}
        known = ~np.isnan(np.stack(list(distance.values()))).any(axis=0)
        if not known.any():
            raise GoldError("There is no task with gold from which the distances of all truths are known.")
        return {name: values[known] for name, values in distance.items()}

    def _errors(self) -> dict[str, dict[str, Any]]:
        """Rank by error, and test whether the best of those that know no truth is better than the others."""
        error = {name: float(values.mean()) for name, values in self.distances.items()}
        order = sorted(error, key=lambda name: _rounded(error[name]))
        best = next(name for name in order if not self.outcomes[name].is_oracle)
        scores = {}
        for name in order:
            p, verdict = None, "best" if name == best else "oracle"
            if name != best and not self.outcomes[name].is_oracle:
                p = _p_value(self.distances[name], self.distances[best])
                verdict = "worse" if p < _SIGNIFICANT else "tie"
            scores[name] = {"error": error[name], **_against(error[name], error[UA.name]), "verdict": verdict, "p": p}
        return scores

    def _averages(self) -> dict[str, dict[str, Any]]:
        """Rank by the average agreement with the other methods."""
        same, distance = (_mean_of_others(self._agreement[measure]) for measure in ("same", "distance"))
        places = range(len(same))
        by = [_rounded(distance[place] if self.ranked_by == "distance" else 1 - same[place]) for place in places]
        names = list(self._labels)
        order = sorted(places, key=lambda place: by[place])
        return {names[k]: {"same": _if_known(same[k]), "distance": _if_known(distance[k])} for k in order}

    @cached_property
    def _agreement(self) -> dict[str, Floats]:
        labels, kernels = list(self._labels.values()), self.run.kernels
        scatter = self.run.collect(partial(_scatter, kernels=kernels))["scatter"]
        same, distance = np.eye(len(labels)), np.zeros((len(labels), len(labels)))
        pairs = list(combinations(range(len(labels)), 2))
        for done, (i, j) in enumerate(pairs):
            report("comparing truths", done, len(pairs))
            between = kernels.distance_between(labels[i], labels[j])
            known = ~np.isnan(between)
            equal = ~kernels.differs(labels[i], labels[j], scatter)
            same[i, j] = same[j, i] = _mean(equal[known])
            distance[i, j] = distance[j, i] = _mean(between[known])
        return {"same": same, "distance": distance}


def _scatter(block: Block, *, kernels: Kernels) -> dict[str, Array]:
    return {"scatter": kernels.scatter(block)}


def _against(error: float, unweighted: float) -> dict[str, float | None]:
    """Compare an error with that of UA, in percent.

    >>> _against(0.15, 0.25), _against(0.0, 0.0), _against(0.5, 0.0)
    ({'change': -40.0, 'RI': -25.0}, {'change': 0.0, 'RI': 0.0}, {'change': None, 'RI': 100.0})
    """
    if error == unweighted:
        return {"change": 0.0, "RI": 0.0}
    change = 100 * (error / unweighted - 1) if unweighted else None
    return {"change": change, "RI": 100 * (error - unweighted) / (error + unweighted)}


def _p_value(one: Floats, best: Floats) -> float:
    """Return how probable so large a difference is if both are equally good, by a paired t-test.

    Where all differences are the same, they have no variance, and their signs are tested instead.

    >>> _p_value(np.ones(3), np.zeros(3)), _p_value(np.ones(3), np.ones(3))
    (0.25, 1.0)
    """
    from scipy import stats

    difference = one - best
    largest = np.abs(difference).max()
    if largest <= TOLERANCE * max(np.abs(one).max(), np.abs(best).max()):
        return 1.0
    if np.ptp(difference) <= TOLERANCE * largest:
        return float(2.0 ** (1 - len(difference)))
    return float(stats.ttest_1samp(difference / largest, 0.0).pvalue)  # scaled, lest squares overflow


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else math.nan


def _mean_of_others(matrix: Floats) -> list[float]:
    """Average each row without its diagonal, and without what is not known."""
    others = [np.delete(row, place) for place, row in enumerate(matrix)]
    return [_mean(row[~np.isnan(row)]) for row in others]


def _rounded(value: float) -> float:
    """Round what is sorted, so that rounding does not change the order of methods; what is not known comes last."""
    return math.inf if math.isnan(value) else float(f"{value:.9g}")


def _if_known(value: float) -> float | None:
    return None if math.isnan(value) else value
