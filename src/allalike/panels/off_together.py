"""Off together: judges whose scores err the same way, more than those of other two.

The mean squared difference of two judges is D_ik = f_i + f_k - 2 c_ik, with the variances f of their errors and the
covariance c of these. Where all errors are independent, D is a sum of one number for each judge, and the differences of
three judges tell all of theirs (Grubbs: On estimating precision of measuring instruments and product variability.
1948). So f is fitted to all pairs, by least squares weighed by the tasks that two have in common, and what a pair is
nearer to each other than the others let expect is the correlation of their errors beyond that of other pairs:

    expected_ik = f_i + f_k,   from all other pairs,
    rho_ik = (expected_ik - D_ik) / (2 sqrt(f_i f_k)).

No truth is needed for it, nor that judges are equally good. Errors that all judges share cancel out of every
difference: neither a hard task nor a trap for everybody makes a bond. Known truths are one judge more, for whom no
bonds are told. The distances of most labels are squares, too, be it of numbers, of levels (thermometers), of rankings
(votes on pairs) or of vectors. What errors of independent judges have in common in such spaces, because there are few
ways to be wrong, is a part of D that grows with both faults; it is fitted beside them, D = f_i + f_k - kappa f_i f_k,
where labels are rankings. Of labels of which nothing but a distance is known, such as texts, nothing is said.

**How probable it is.** The jackknife over 20 parts of the tasks gives the standard error, t with 19 degrees of freedom
the probability and the limits; the probability is multiplied by the number of pairs (Bonferroni), and is at least that
of D alone being so small, for a judge who hardly errs makes rho large by chance. Pairs below 0.01 are named, if rho is
0.1 and more. One bond makes other pairs look farther apart than expected, or bound, so the strongest
is taken out before the next is looked for. It takes five judges (or three and 50 known truths): of four, two pairs
cannot be told apart from the two others.

Offsets are taken away before, of numbers, levels and vectors: two lenient judges are not bound for being lenient.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import text_column
from allalike.engines.sample import pick_tasks
from allalike.panels.finding import connect_judges, number_groups

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.panels.finding import Columns
    from allalike.panels.scores import Scores


# Pair squares: how far each two judges are apart, in parts of the tasks, of which each can be left out.


_PARTS = 20


@dataclass(frozen=True)
class PairSquares:
    """Sums over the tasks of each part: squared distances of two judges, how many they are, and their difference.

    All have a row for each part, a row for each judge, and a column for each; known truths come last, if they are
    there. Differences have one more axis, for coordinates, and are 0 where labels have none.
    """

    square: Floats
    common: Floats
    difference: Floats

    def means(self) -> Floats:
        """Return the mean squared distance of all tasks, and behind it those without each part."""
        square, common, difference = (
            np.concatenate([each.sum(axis=0, keepdims=True), each.sum(axis=0) - each])
            for each in (self.square, self.common, self.difference)
        )
        safe = np.maximum(common, 1.0)
        lost = safe / np.maximum(safe - 1.0, 1.0) if self.difference.any() else 1.0
        return np.asarray((square / safe - np.square(difference / safe[..., None]).sum(axis=-1)) * lost)


def add_squares(scores: Scores) -> PairSquares:
    """Add up the squared distances of each two judges, in 20 parts of the tasks; known truths come last, if enough."""
    block, kernels = scores.block, scores.run.kernels
    part = (block.task_hash % np.uint64(_PARTS)).astype(np.intp)
    gold = scores.by_gold
    parts = []
    for number in np.unique(part):
        some = scores.run.encoding.prepare(pick_tasks(scores.run, block.task_hash[part == number]))
        sums = kernels.pair_sums(some, slice(0, some.n_workers))
        square, common = (_dense(sums[name]) for name in ("distance", "common"))
        if gold:
            known = kernels.gold_sums(some)
            square, common = (_border(*pair) for pair in ((square, known["distance"]), (common, known["answers"])))
        parts.append((square, common, np.zeros((*square.shape, 1))))
    return PairSquares(*(np.stack(column) for column in zip(*parts, strict=True)))


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)


def _border(matrix: Floats, edge: Floats) -> Floats:
    """Return a matrix with one row and column more."""
    return np.block([[matrix, edge[:, None]], [edge[None], np.zeros((1, 1))]])


def add_coordinates(table: Floats, truth: Floats | None, task_hash: npt.NDArray[np.uint64]) -> PairSquares:
    """Add up the same of labels with coordinates, whose differences are known, too; truths are NaN where not known."""
    table = table if truth is None else np.concatenate([table, truth[:, None]], axis=1)
    seen = np.asarray(~np.isnan(table).any(axis=2))
    level = np.where(seen[:, :, None], table - np.nanmean(table, axis=(0, 1)), 0.0)
    part = (task_hash % np.uint64(_PARTS)).astype(np.intp)
    parts = []
    for number in np.unique(part):
        x, there = level[part == number], seen[part == number].astype(np.float64)
        sums, squares = np.einsum("tix,tk->ikx", x, there), np.square(x).sum(axis=2).T @ there
        both = np.einsum("tix,tkx->ik", x, x)
        parts.append((squares + squares.T - 2 * both, there.T @ there, sums - sums.transpose(1, 0, 2)))
    return PairSquares(*(np.stack(column) for column in zip(*parts, strict=True)))


def jackknife(found: Floats) -> Floats:
    """Return the standard error of what all tasks say (the first row), given what they say without each part.

    >>> jackknife(np.array([[2.0], [1.5], [2.0], [2.5]]))  # the mean of 1, 2 and 3
    array([0.57735027])
    """
    left_out = found[1:]
    freedom = len(left_out) - 1
    return np.asarray(np.sqrt(np.square(left_out - left_out.mean(axis=0)).sum(axis=0) * freedom / (freedom + 1)))


_MIN_JUDGES, _MIN_WITH_GOLD = 5, 3
_MIN_PARTS = 3
_MIN_COMMON = 10  # tasks of two
_MIN_TASKS = 20
_SIGNIFICANT, _MIN_CORRELATION = 0.01, 0.1
_MAX_NAMED = 20  # pairs and groups that a summary names
_LEAST_FAULT = 0.02  # of the mean of all
_ROUNDS = 10
_ROUNDING = 1e-9
_NAMED = ("judge", "other", "correlation", "low", "high", "probability")


@dataclass(frozen=True)
class OffTogether:
    """How much the errors of each two judges correlate beyond those of others, a row for each pair."""

    judges: Values
    left: npt.NDArray[np.intp]
    right: npt.NDArray[np.intp]
    common: Floats
    distance: Floats
    expected: Floats
    correlation: Floats
    low: Floats
    high: Floats
    probability: Floats
    found: npt.NDArray[np.bool_]
    n_tasks: int

    @classmethod
    def nobody(cls, judges: Values, n_tasks: int) -> OffTogether:
        """Say nothing, for nothing can be compared."""
        pair, number = np.empty(0, np.intp), np.empty(0)
        numbers = dict.fromkeys(("common", "distance", "expected", *_NAMED[2:]), number)
        return cls(judges, pair, pair, **numbers, found=np.empty(0, bool), n_tasks=n_tasks)

    def describe(self) -> dict[str, Any]:
        """Count the pairs, and name the first of those who are off together."""
        columns = self.tables()["pairs"]
        rows = zip(*(columns[name].tolist() for name in _NAMED), strict=True)
        bound = columns["wrong_together"].tolist()
        named = [dict(zip(_NAMED, row, strict=True)) for row, is_bound in zip(rows, bound, strict=True) if is_bound]
        told = {
            "looked_at": len(self.left),
            "found": int(self.found.sum()),
            "tasks": self.n_tasks,
            "named": named[:_MAX_NAMED],
            "groups": [[self.judges[judge] for judge in group] for group in self._groups[:_MAX_NAMED]],
        }
        return {"pairs": told}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each pair, the most improbable first."""
        order = np.lexsort((self.right, self.left, -self.correlation, self.probability))
        numbers = {
            name: getattr(self, name)[order]
            for name in ("distance", "expected", "correlation", "low", "high", "probability")
        }
        columns: dict[str, Values | Array] = {
            "judge": text_column([str(self.judges[int(judge)]) for judge in self.left[order]]),
            "other": text_column([str(self.judges[int(judge)]) for judge in self.right[order]]),
            "common": self.common[order].astype(np.int64),
            **numbers,
            "wrong_together": self.found[order],
        }
        return {"pairs": columns}

    def judge_columns(self) -> Columns:
        """Number the groups of judges whom pairs connect that are off together."""
        return {"wrong_together": number_groups(len(self.judges), self._groups)}

    @property
    def _groups(self) -> list[list[int]]:
        return connect_judges(len(self.judges), self.left[self.found], self.right[self.found])


def find_off_together(scores: Scores) -> OffTogether:
    """Find whose errors correlate more than those of other pairs.

    >>> import allalike
    >>> from allalike.panels.scores import take_scores
    >>> rng = np.random.default_rng(0)
    >>> errors = rng.normal(size=(300, 6))
    >>> errors[:, 1] = 0.8 * errors[:, 0] + 0.6 * errors[:, 1]
    >>> rows = [("abcdef"[judge], task, 5.0 * task + error) for (task, judge), error in np.ndenumerate(errors)]
    >>> result = allalike.discover(rows, domain="real")
    >>> found = find_off_together(take_scores(result.run, result.weighing, 5000))
    >>> found.describe()["pairs"]["groups"]
    [['a', 'b']]
    """
    table, block, judges = scores.coordinates, scores.block, scores.run.workers
    if table is None and not (scores.run.encoding.noise.estimates_fault and scores.run.domain.recurring):
        return OffTogether.nobody(judges, block.n_tasks)
    if table is None:
        return compare_pairs(judges, add_squares(scores), block.n_tasks, gold=scores.by_gold, straight=False)
    truth = None
    if scores.by_gold:
        truth = np.full((block.n_tasks, table.shape[2]), np.nan)
        truth[block.gold_task] = block.gold_label.reshape(len(block.gold_task), -1)
    return compare_pairs(judges, add_coordinates(table, truth, block.task_hash), block.n_tasks, gold=scores.by_gold)


def compare_pairs(judges: Values, sums: PairSquares, n_tasks: int, *, gold: bool, straight: bool = True) -> OffTogether:
    """Compare the distance of each two judges with what the other pairs let expect."""
    from scipy.special import stdtr, stdtrit

    n, parts, common = len(judges), len(sums.square), sums.common.sum(axis=0)
    pairs = [(i, k) for i, k in combinations(range(n + gold), 2) if common[i, k] >= _MIN_COMMON]
    own = [place for place, (_, k) in enumerate(pairs) if k < n]
    if not own or n < (_MIN_WITH_GOLD if gold else _MIN_JUDGES) or n_tasks < _MIN_TASKS or parts < _MIN_PARTS:
        return OffTogether.nobody(judges, n_tasks)
    left, right = np.array(pairs, np.intp).T
    distance = sums.means()[:, left, right]
    fit = _Fit(distance, common[left, right], left, right, n + gold, straight)
    bound, found = np.zeros(len(pairs), bool), None
    while found is None or found.any():
        expected, rho = fit.leave_out(bound)
        z, nearer = (_find_z(each) for each in (rho, expected - distance))
        probability = np.maximum(np.minimum(stdtr(parts - 1, -z) * len(own), 1.0), stdtr(parts - 1, -nearer))
        found = (probability <= _SIGNIFICANT) & (rho[0] >= _MIN_CORRELATION) & ~bound & (right < n)
        bound[np.argmax(np.where(found, z, -np.inf))] |= found.any()
    width = stdtrit(parts - 1, 0.975) * jackknife(rho)
    return OffTogether(
        judges,
        left[own],
        right[own],
        common=common[left, right][own],
        distance=distance[0, own],
        expected=expected[0, own],
        correlation=rho[0, own],
        low=(rho[0] - width)[own],
        high=(rho[0] + width)[own],
        probability=probability[own],
        found=bound[own],
        n_tasks=n_tasks,
    )


def _find_z(found: Floats) -> Floats:
    """Return what all tasks say, in standard errors."""
    error = jackknife(found)
    return np.asarray(found[0] / np.where(error > 0, error, np.inf))


@dataclass(frozen=True)
class _Fit:
    """The mean squared distances of pairs, of all tasks and without each part, to which faults are fitted."""

    distance: Floats
    common: Floats
    left: npt.NDArray[np.intp]
    right: npt.NDArray[np.intp]
    n: int
    straight: bool

    def leave_out(self, bound: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return of each pair what the others that are not bound let expect, and the correlation beyond it."""
        left, right, distance = self.left, self.right, self.distance
        weight = np.where(bound, 0.0, self.common)
        inverse = self._invert(weight)
        bend, fault = np.zeros_like(distance), np.zeros((len(distance), self.n))
        for _ in range(1 if self.straight else _ROUNDS):
            fault = self._add((distance + bend) * weight) @ inverse
            if not self.straight:
                bend = self._bend(fault, weight)
        own = inverse[left, left] + inverse[left, right], inverse[right, right] + inverse[left, right]
        rest = (distance + bend - fault[:, left] - fault[:, right]) / np.maximum(1 - weight * sum(own), _ROUNDING)
        least = _LEAST_FAULT * np.abs(distance).mean(axis=1, keepdims=True) / 2
        one, other = (  # without the pair itself
            np.maximum(fault[:, side] - weight * part * rest, least)
            for side, part in zip((left, right), own, strict=True)
        )
        both = np.sqrt(one * other)
        return distance - rest, -rest / np.where(both > 0, 2 * both, np.inf)

    def _add(self, values: Floats) -> Floats:
        """Add up numbers of pairs over the pairs of each judge."""
        sides = np.eye(self.n)[self.left] + np.eye(self.n)[self.right]
        return np.asarray(values @ sides)

    def _invert(self, weight: Floats) -> Floats:
        """Return the inverse of the equations of least squares."""
        matrix = np.zeros((self.n, self.n))
        np.add.at(matrix, (self.left, self.right), weight)
        matrix += matrix.T
        return np.asarray(np.linalg.pinv(matrix + np.diag(matrix.sum(axis=1)), hermitian=True))

    def _bend(self, fault: Floats, weight: Floats) -> Floats:
        """Return kappa f_i f_k, by which independent errors have something in common."""
        product = np.maximum(fault[:, self.left], 0.0) * np.maximum(fault[:, self.right], 0.0)
        square = (weight * product**2).sum(axis=1)
        excess = fault[:, self.left] + fault[:, self.right] - self.distance
        kappa = (weight * product * excess).sum(axis=1) / np.where(square > 0, square, 1.0)
        return np.asarray(np.maximum(kappa, 0.0)[:, None] * product)
