"""Plots: pictures of a result and of a comparison, fit for a paper.

Here it is counted and chosen what `allalike.plots` draws. All pictures are made the same way from the same answers; of
more than 500 workers, map and matrix show those who gave most answers, and distances are those of at most 400,000
answers (20,000 where labels are costly to compare), as in a report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import frame_of
from allalike._core.late import pd
from allalike.api.results.tables import worker_columns
from allalike.engines.sample import pick_tasks
from allalike.methods import UA, Weighing
from allalike.report.content import Limits
from allalike.report.material import Material
from allalike.report.people import measure_distances, name_sureness, read_unit
from allalike.report.places import fill_unknown, order_workers, place_workers
from allalike.telling.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from allalike._core.blocks.block import Floats
    from allalike.api.agreement.agreement import Agreement
    from allalike.engines import Run, TaskTable

__all__ = ["Plots", "plot_comparison"]

_UNITS = {
    "error_rate": "error rate (share of answers)",
    "rmse": "rmse (in the unit of the labels)",
    "fault": "fault (distance to the truth)",
}
_RANKED_BY = {
    "error": "error (mean distance to known truths)",
    "same": "share of truths that are the same as other methods'",
    "distance": "mean distance to the truths of other methods",
}
_MIN_GOLD_ANSWERS = 3  # of a worker to tasks whose truth is known, as for the rank correlation
_HASHES = 2.0**64
_BINS = 20


@dataclass(frozen=True)
class Plots:
    """The pictures of a result; each is drawn into the axes that are given, and returned as axes.

    Without axes, it is drawn in a figure of its own that pyplot does not know. A notebook shows it at the end of a
    cell, and ``result.plot.map().figure.savefig("map.pdf")`` saves it.

    Parameters
    ----------
    run, weighing, found, summary
        As a result has them.
    measure
        What measures how much the workers agree.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "x")])
    >>> [label.get_text() for label in result.plot.workers().get_yticklabels()]
    ['ada', 'bob', 'eve']
    """

    run: Run
    weighing: Weighing
    found: TaskTable
    summary: Mapping[str, Any]
    measure: Callable[[], Agreement]

    def workers(self, ax: Axes | None = None) -> Axes:
        """Draw how far each worker errs, with the limits of 95 % where they are known, the best above.

        Of more than 40 workers, the 20 best and the 20 worst are shown. A ring with a number is a group that copies.

        Parameters
        ----------
        ax
            Where to draw; without it, in a figure of its own that a notebook shows.

        >>> import allalike
        >>> said = {"ada": "xxyyxyxx", "bob": "xxyyxyxy", "eve": "xyyyxyyx"}
        >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
        >>> allalike.discover(rows).plot.workers().get_xlabel()
        'error rate (share of answers)'
        """
        from allalike.plots import draw_workers

        return draw_workers(self._table(), self._unit, ax)

    def map(self, ax: Axes | None = None) -> Axes:
        """Draw workers on a map on which those who answer alike are close: size is answers, darkness is fault.

        It is classical scaling of the mean distances on common tasks. A ring with a number is a group that copies.

        Parameters
        ----------
        ax
            Where to draw; without it, in a figure of its own that a notebook shows.

        >>> import allalike
        >>> said = {"ada": "xxyyxyxx", "bob": "xxyyxyxy", "eve": "xyyyxyyx"}
        >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
        >>> len(allalike.discover(rows).plot.map().collections[0].get_offsets())
        3
        """
        from allalike.plots import draw_map

        shown, distances = self._distances()
        if not np.isfinite(distances[np.triu_indices(len(shown), 1)]).any():
            shown = shown[:0]  # nobody met anybody
        places = place_workers(fill_unknown(distances), self.weighing.disparity[shown]) if len(shown) else None
        table = self._table().iloc[shown]
        if places is not None:
            table = table.assign(x=places[:, 0], y=places[:, 1])
        return draw_map(table, self._unit, self._distance, ax)

    def confidence(self, ax: Axes | None = None) -> Axes:
        """Draw how sure the truths are, and which of them the weights changed; of numbers, how wide their limits are.

        Parameters
        ----------
        ax
            Where to draw; without it, in a figure of its own that a notebook shows.

        >>> import allalike
        >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "x")])
        >>> int(sum(bar.get_height() for bar in result.plot.confidence().patches))
        2
        """
        from allalike.plots import draw_confidence, draw_widths

        counts, total, widths = np.zeros((2, _BINS), np.int64), 0.0, []
        share = min(1.0, Limits().answers / max(self.run.n_tasks, 1))
        for piece in self.found.pieces():
            if "low" in piece.found:
                kept = piece.tasks.hashes() / _HASHES <= share
                widths.append((piece.found["high"] - piece.found["low"])[kept])
                continue
            sure = np.isfinite(piece.found["confidence"])
            known, changed = piece.found["confidence"][sure], piece.found["changed"][sure].astype(np.int64)
            bins = np.clip((known * _BINS + 1e-9).astype(np.int64), 0, _BINS - 1)
            counts += np.bincount(changed * _BINS + bins, minlength=2 * _BINS).reshape(2, _BINS)
            total += float(known.sum())
        if widths:
            return draw_widths(np.concatenate(widths), share < 1, ax)
        mean = total / max(int(counts.sum()), 1)
        return draw_confidence(counts, mean, name_sureness(self._material), ax)

    def agreement(self, ax: Axes | None = None) -> Axes:
        """Draw how far each two workers are apart, those who agree next to each other, below Krippendorff's alpha.

        Up to 40 workers are named. Pairs without a common task are hatched.

        Parameters
        ----------
        ax
            Where to draw; without it, in a figure of its own that a notebook shows.

        >>> import allalike
        >>> said = {"ada": "xxyyxyxx", "bob": "xxyyxyxy", "eve": "xyyyxyyx"}
        >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
        >>> allalike.discover(rows).plot.agreement().get_title()
        "Krippendorff's alpha 0.52 (-0.02 to 0.84)"
        """
        from allalike.plots import draw_matrix

        shown, distances = self._distances()
        order = order_workers(fill_unknown(distances))
        names = self._table()["worker"].iloc[shown[order]].tolist()
        told = _tell_alpha(self.measure()) if len(shown) else ""
        return draw_matrix(distances[np.ix_(order, order)], names, self._distance, told, ax)

    def faults(self, ax: Axes | None = None) -> Axes:
        """Draw how many workers err how far; where truths are known, each worker's disparity against her error.

        The latter needs three workers with three answers to tasks whose truth is known.

        Parameters
        ----------
        ax
            Where to draw; without it, in a figure of its own that a notebook shows.

        >>> import allalike
        >>> said = {"ada": "xxyyxyxx", "bob": "xxyyxyxy", "eve": "xyyyxyyx"}
        >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
        >>> allalike.discover(rows).plot.faults().get_ylabel()
        'workers'
        >>> allalike.discover(rows, gold=dict(enumerate("xxyyxyxx"))).plot.faults().get_ylabel()
        'error rate on known truths'
        """
        from allalike.plots import draw_errors, draw_faults

        table = self._known()
        if len(table) < 3:
            return draw_faults(self._table()["value"].to_numpy(), self._unit, ax)
        gold = Summary.from_dict(self.summary).gold
        known = gold and gold.disparity_predicts
        title = f"rank correlation {known.rank_correlation:.2f} ({known.low:.2f} to {known.high:.2f})" if known else ""
        return draw_errors(table, self._error, title, ax)

    @property
    def _material(self) -> Material:
        return Material(
            run=self.run,
            weighing=self.weighing,
            found=self.found,
            summary=Summary.from_dict(self.summary),
            workers=worker_columns(self.run, self.weighing),
            next_tasks={},
            agreement=None,
            effects=None,
        )

    @property
    def _unit(self) -> str:
        return _UNITS[read_unit(self._material)]

    @property
    def _distance(self) -> str:
        """What the distance of two workers on their common tasks is."""
        if self.run.domain.distance == "squared":
            return "root mean square difference of labels"
        if self.run.domain.distance == "hamming" and self.run.encoding.n_classes:
            return "share of different answers"
        return "mean distance of labels"

    @property
    def _error(self) -> str:
        """What the mean distance of a worker to known truths is."""
        if self.run.domain.distance == "squared":
            return "mean squared error"
        return "error rate" if self.run.encoding.nominal else "mean distance"

    def _table(self) -> pd.DataFrame:
        """Return the workers as rows of a picture."""
        material = self._material
        table = frame_of(material.workers)
        names = table["worker"].astype(str)
        flags = {"few answers": "few", "no signal": "no_signal"}
        mark = np.full(len(table), "usual", object)
        for word, column in flags.items():
            if column in table:
                mark[table[column].to_numpy(np.bool_)] = word
        return table.assign(
            worker=names if self.run.worker_task is None else names + " (" + table["task"].astype(str) + ")",
            value=table[read_unit(material)].astype(np.float64),
            low=table.get("low", np.nan),
            high=table.get("high", np.nan),
            group=table.get("group", ""),
            mark=mark,
        )

    def _distances(self) -> tuple[npt.NDArray[np.intp], Floats]:
        """Return the workers of a map or a matrix, and how far each two of them are apart."""
        limits = Limits()
        if len(self.run.problems.sizes) > 1:  # workers of different problems are nobody's neighbours
            return np.empty(0, np.intp), np.empty((0, 0))
        shown = np.sort(np.argsort(-self.run.answer_counts, kind="stable")[: limits.workers])
        block = pick_tasks(self.run, np.empty(0, np.uint64), share=limits.share(self.run))
        return shown, measure_distances(self.run, block, shown)

    def _known(self) -> pd.DataFrame:
        """Return workers with their disparity and their mean distance to known truths."""
        if not self.run.n_gold or len(self.run.problems.sizes) > 1:
            return pd.DataFrame()
        sums, disparity = self.run.sum(self.run.kernels.gold_sums), self.weighing.disparity
        asked = np.flatnonzero((sums["answers"] >= _MIN_GOLD_ANSWERS) & np.isfinite(disparity))
        error = sums["distance"][asked] / sums["answers"][asked]
        return pd.DataFrame({"disparity": disparity[asked], "error": error, "answers": sums["answers"][asked]})


def plot_comparison(
    rows: Sequence[Mapping[str, Any]], distances: Mapping[str, Floats], ranked_by: str, ax: Axes | None = None
) -> Axes:
    """Draw methods that were compared.

    Parameters
    ----------
    rows
        The rows of the table of a comparison.
    distances
        Of each method, how far its truths are from those that are known.
    ranked_by
        The column that is drawn.
    ax
        Where to draw.

    >>> rows = [{"method": "P-TD", "same": 0.9}, {"method": "UA", "same": 0.9}]
    >>> plot_comparison(rows, {}, "same").get_xlabel()
    "share of truths that are the same as other methods'"
    """
    from allalike.plots import draw_comparison

    limits = [_limit_mean(distances.get(row["method"], np.empty(0))) for row in rows]
    columns: dict[str, Any] = {
        "method": [row["method"] for row in rows],
        "value": [np.nan if row[ranked_by] is None else row[ranked_by] for row in rows],
        "low": [low for low, _ in limits],
        "high": [high for _, high in limits],
        "verdict": [row.get("verdict") or ("failed" if row.get("converged", True) is None else "") for row in rows],
    }
    return draw_comparison(pd.DataFrame(columns), _RANKED_BY[ranked_by], UA.name, ax)


def _limit_mean(values: Floats) -> tuple[float, float]:
    """Return the limits of 95 % of a mean of distances, by the t-distribution.

    >>> _limit_mean(np.array([0.0, 1.0, 1.0, 0.0, 1.0])), _limit_mean(np.ones(1))
    ((0.0, 1.28...), (nan, nan))
    """
    from scipy.stats import t

    n = len(values)
    if n < 2:
        return np.nan, np.nan
    half = float(t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))
    return max(float(values.mean()) - half, 0.0), float(values.mean()) + half


def _tell_alpha(agreement: Agreement) -> str:
    if np.isnan(agreement.alpha):
        return ""
    limits = "" if np.isnan(agreement.low) else f" ({agreement.low:.2f} to {agreement.high:.2f})"
    return f"Krippendorff's alpha {agreement.alpha:.2f}{limits}"
