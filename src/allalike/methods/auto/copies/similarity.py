"""Copy groups for labels with a distance: numbers, rankings, texts, sets, masks.

The mean distance between two independent workers follows from their errors. With errors f measured as distances to the
truth, the mean distance between workers i and j is about

    E_ij = f_i + f_j - gamma f_i f_j,

where gamma = 1/D, and D is the distance of a guess: a worker who guesses (f = D) has distance D to all others. For
numbers, distances are squared and gamma = 0. R is sqrt(E) for numbers, else E. A pair much closer than R has copied.

**Errors.** f_i is the weighted median over j of (q_ij - f_j) / (1 - gamma f_j), where q is the mean distance d (for
numbers, its square). Weights are sqrt(common tasks) (1 - gamma f_j), and a group counts once. Errors are updated in 30
rounds with a damping factor of one half. The median is robust to the small distances between copies.

**Evidence.** z = (d - R) / se. The standard error has two parts. The first is that of the mean, base / sqrt(common
tasks), where base is kappa R for numbers and kappa sqrt(E (1 - gamma E)) otherwise, and kappa is a median over pairs.
The second is that of R, because an error estimated from few peers is uncertain. All pairs may vary more than this, so a
negative median of z is subtracted, and z is divided by its spread above the median if this exceeds 0.8. A hit is a pair
with z below the normal quantile of 0.01 / pairs and a ratio d / R below a limit: 0.15, then 0.3, then 0.5, so that
tight copies are found first. Errors are estimated again after each merge. Two groups merge if at least half of the
pairs between them have five common tasks, and the mean ratio of these is below limit + 0.15. Hits outside groups are
reported as similar workers, who count separately.

Numbers need more evidence. On every task, two people with similar habits are slightly closer than their errors explain.
Copies give equal numbers on some tasks, and independent numbers on the others. Above the first limit, the coefficient
of variation of the distances between copies must therefore be 1.5 times the usual one. With normal errors and a share
phi of equal answers, its square is (pi / 2) / (1 - phi) - 1, nearly four times the usual at phi = 0.5.

The test fails if workers share errors for other reasons: experts who read the same book, or people who always answer
"about one half". The latter are uninformative (`allalike.methods.auto.screening`) and are excluded first. Pairs with
fewer than five common tasks are not compared, and loose copies need at least thirty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike.engines import Run
from allalike.engines.ranges import find_parts, number_parts
from allalike.methods.auto.copies.worker_pairs import LEAST_COMMON, WorkerPairs, find_worker_pairs, rank_peers
from allalike.methods.fit import CopyGroup, CopyGroups

# Medians of values by place, sorted by place once for all rounds. If most places have similarly many values, they are
# the rows of a table, which sorts several times faster.
_MAX_EMPTY = 8  # table cells per value
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Medians:
    """The place of each value, prepared for computing the median at each place."""

    place: Array
    count: Array
    cell: Array | None

    @classmethod
    def of(cls, place: Array, n: int) -> Medians:
        """Prepare the places of values; places are integers below n."""
        count = np.bincount(place, minlength=n)
        width = int(count.max(initial=0))
        if n * width > _MAX_EMPTY * len(place):
            return cls(place, count, None)
        rows = np.argsort(place, kind="stable")
        cell = np.empty(len(place), np.intp)
        cell[rows] = np.arange(len(place)) + np.repeat(np.arange(n) * width - np.cumsum(count) + count, count)
        return cls(place, count, cell)

    def find(self, values: Floats, weights: Floats) -> Floats:
        """Return the weighted median at each place (the mean of two if both qualify); NaN without values."""
        sort = self._sort_all if self.cell is None else self._sort_rows
        total = sum_by(self.place, weights, len(self.count))
        found = np.full(len(total), np.nan)
        known = np.flatnonzero((self.count > 0) & (total > 0))
        if len(known):
            found[known] = sort(values, weights, total, known)
        return found

    def _sort_rows(self, values: Floats, weights: Floats, total: Floats, known: Array) -> Floats:
        width = int(self.count.max())
        table, weight = np.full(len(self.count) * width, np.nan), np.zeros(len(self.count) * width)
        table[self.cell], weight[self.cell] = values, weights
        table, weight = table.reshape(-1, width)[known], weight.reshape(-1, width)[known]
        order = np.argsort(table, axis=1)  # NaN comes last
        order += np.arange(len(known))[:, None] * width
        running = np.cumsum(weight.ravel().take(order), axis=1)
        middle = np.zeros(len(known))
        for share in (0.5 - _ROUNDING, 0.5 + _ROUNDING):
            rank = np.minimum((running < (share * total[known])[:, None]).sum(axis=1), self.count[known] - 1)
            middle += table.ravel()[order[np.arange(len(known)), rank]] / 2
        return middle

    def _sort_all(self, values: Floats, weights: Floats, total: Floats, known: Array) -> Floats:
        order = np.lexsort((values, self.place))
        running = np.cumsum(weights[order])
        last = np.cumsum(self.count)[known]
        first = last - self.count[known]
        before = np.concatenate([[0.0], running])[first]
        middle = np.zeros(len(known))
        for share in (0.5 - _ROUNDING, 0.5 + _ROUNDING):
            at = np.clip(np.searchsorted(running, before + share * total[known]), first, last - 1)
            middle += values[order[at]] / 2
        return middle


Numbers = npt.NDArray[np.intp]
_STAGES = (0.15, 0.3, 0.5)  # limits of the ratio of copies
_SLACK = 0.15  # by which the mean ratio of a group may exceed the limit
_MIXED = 1.5  # coefficient of variation of the distances of loose copies, as a multiple of the usual
_LEVEL = 0.01  # probability of a false alarm in a crowd
_ROUNDS = 30
_MAX_PEERS = 50  # of a worker, in crowds with many pairs
_MANY_PAIRS = 100_000
_MOST_FAULT = 0.98  # largest error, as a share of the distance of a guess
_MEDIAN_ERROR = 1.25  # standard error of a median relative to that of a mean
_NORMAL_SPREAD = 1.4826  # normal standard deviation per median absolute deviation
_LEAST_SPREAD = 0.8  # of z; below 1, because each pair contributes to the errors that it is compared with


@dataclass(frozen=True)
class _Crowds:
    """Constants of the search: the pairs, gamma, and whether q is a squared distance."""

    met: WorkerPairs
    gamma: float
    squared: bool

    @property
    def compared(self) -> int:
        """Number of pairs with enough tasks in common."""
        return int((self.met.common >= LEAST_COMMON).sum())


@dataclass(frozen=True)
class _Evidence:
    """Per pair: ratio of actual to expected distance, z (both NaN if unknown), and whether distances are mixtures."""

    ratio: Floats
    z: Floats
    mixed: npt.NDArray[np.bool_]


def find_groups(run: Run, guess: float, dropped: npt.NDArray[np.bool_]) -> CopyGroups | None:
    """Detect copy groups among the workers of a run; None if there are too many pairs to compare.

    ``dropped`` workers are uninformative and belong to no group.
    """
    alone = CopyGroups.independent(len(dropped))
    if (run.answer_counts >= LEAST_COMMON).sum() < 2:
        return alone
    found = find_worker_pairs(run, dropped)
    if found is None:
        return None
    part = find_parts(run)
    met = found.some(~(dropped[found.left] | dropped[found.right]))
    if not (met.common >= LEAST_COMMON).any():
        return replace(alone, component=part)
    squared = run.encoding.noise.weighting == "inverse"
    crowds = _Crowds(met, 0.0 if squared or not np.isfinite(guess) or guess <= 0 else 1.0 / guess, squared)
    number, alike, evidence = _group(crowds, alone.number)
    return CopyGroups(number, _describe(run, crowds, number, alike, evidence), part)


def _group(crowds: _Crowds, number: Numbers) -> tuple[Numbers, Numbers, _Evidence]:
    """Merge workers into groups in stages; return the groups, the pairs of similar workers, and the evidence."""
    from scipy.special import ndtri

    met, limit = crowds.met, float(ndtri(_LEVEL / max(crowds.compared, 1)))
    number, hits = number.copy(), np.empty(0, np.intp)
    evidence = _weigh_evidence(crowds, number)
    for stage in _STAGES:
        merged = True
        while merged:
            hits = np.flatnonzero((evidence.z < limit) & (evidence.ratio < stage))
            hits = hits[np.lexsort((met.right[hits], met.left[hits], evidence.z[hits]))]
            copies = hits if stage == _STAGES[0] else hits[evidence.mixed[hits]]
            merged = _merge(met, evidence.ratio, number, copies, stage + _SLACK)
            evidence = _weigh_evidence(crowds, number) if merged else evidence
    return number, hits[number[met.left[hits]] != number[met.right[hits]]], evidence


def _merge(met: WorkerPairs, ratio: Floats, number: Numbers, hits: Numbers, most: float) -> bool:
    """Merge groups connected by hits, the strongest first, if their pairs are close; return whether any were merged."""
    if not (number[met.left[hits]] != number[met.right[hits]]).any():
        return False
    merged = False
    involved = np.isin(number, number[np.concatenate([met.left[hits], met.right[hits]])])
    near = np.flatnonzero((met.common >= LEAST_COMMON) & involved[met.left] & involved[met.right])
    known = {(int(met.left[k]), int(met.right[k])): float(ratio[k]) for k in near}
    members: dict[int, list[int]] = {}
    for worker in np.flatnonzero(involved).tolist():
        members.setdefault(int(number[worker]), []).append(worker)
    for hit in hits:
        one, other = sorted((int(number[met.left[hit]]), int(number[met.right[hit]])))
        if one == other:
            continue
        between = [known.get((min(i, j), max(i, j))) for i in members[one] for j in members[other]]
        close = [each for each in between if each is not None and not np.isnan(each)]
        if 2 * len(close) >= len(between) and np.mean(close) < most:
            number[members[other]] = one
            members[one] += members.pop(other)
            merged = True
    return merged


def _weigh_evidence(crowds: _Crowds, number: Numbers) -> _Evidence:
    """Estimate errors given these groups, and compare each pair with its expected distance."""
    met, gamma = crowds.met, crowds.gamma
    different = number[met.left] != number[met.right]
    fault, peers = _find_faults(crowds, number)
    left, right = fault[met.left], fault[met.right]
    expected = left + right - gamma * left * right
    root = np.sqrt(expected) if crowds.squared else expected
    tells = (met.common >= LEAST_COMMON) & (root > 0)
    safe = np.where(root > 0, root, 1.0)
    base, mixed = _spread(crowds, safe, different & tells)
    once = base / np.sqrt(met.common)
    error = _find_errors(crowds, once * (2 * safe if crowds.squared else 1.0), fault, peers, different & tells)
    slope = 2 * safe if crowds.squared else 1.0
    of_model = np.hypot((1 - gamma * right) * error[met.left], (1 - gamma * left) * error[met.right]) / slope
    total = np.hypot(once, of_model)
    tells &= total > 0
    z = np.full(len(root), np.nan)
    z[tells] = (met.mean - root)[tells] / total[tells]
    middle = np.nan_to_num(_median(z, tells & different))
    above = z - middle
    away = _median(above, tells & different & (above >= 0))
    z = (z - min(middle, 0.0)) / np.fmax(_LEAST_SPREAD, _NORMAL_SPREAD * away)
    return _Evidence(np.where(tells, met.mean / safe, np.nan), z, mixed)


def _spread(crowds: _Crowds, root: Floats, usual: npt.NDArray[np.bool_]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the expected standard deviation of the distances of each pair, and which pairs may be mixtures.

    Mixtures contain equal and independent answers. For numbers, these are the pairs whose coefficient of variation is
    much larger than usual; for other labels, all pairs.
    """
    mean, gamma = crowds.met.mean, crowds.gamma
    shape, model = (mean, root) if crowds.squared else (_bounded(mean, gamma), _bounded(root, gamma))
    safe = np.where(shape > 0, shape, 1.0)
    kappa = np.nan_to_num(_median(crowds.met.spread / safe, usual & (shape > 0)))
    mixed = crowds.met.spread >= _MIXED * kappa * mean
    return kappa * model, mixed if crowds.squared else np.ones(len(mean), bool)


def _bounded(distance: Floats, gamma: float) -> Floats:
    return np.asarray(np.sqrt(np.maximum(distance * (1 - gamma * distance), 0.0)))


def _find_faults(crowds: _Crowds, number: Numbers) -> tuple[Floats, Floats]:
    """Return each worker's error, and the effective number of peers from which it is estimated."""
    who, peer, mean, common = _directed(crowds.met, number)
    n = len(number)
    q = mean**2 if crowds.squared else mean
    gamma = crowds.gamma
    voice = 1.0 / np.bincount(number, minlength=n)[number]
    weight = np.sqrt(common) * voice[peer]
    most = _MOST_FAULT / gamma if gamma > 0 else np.inf
    medians = Medians.of(who, n)
    fault = np.clip(np.nan_to_num(medians.find(q, weight) / 2), 0.0, most)
    for _ in range(_ROUNDS):
        part = 1 - gamma * fault[peer]
        found = medians.find((q - fault[peer]) / part, weight * part)
        fault = np.clip(np.where(np.isnan(found), fault, (fault + found) / 2), 0.0, most)
    weight = weight * (1 - gamma * fault[peer])
    total, squares = (np.bincount(who, each, n) for each in (weight, weight**2))
    return fault, total**2 / np.where(squares > 0, squares, 1.0)


def _directed(met: WorkerPairs, number: Numbers) -> tuple[Numbers, Numbers, Floats, Floats]:
    """Return each worker's peers outside their group; if there are many, those with the most common tasks."""
    different = np.flatnonzero(number[met.left] != number[met.right])
    who = np.concatenate([met.left[different], met.right[different]])
    peer = np.concatenate([met.right[different], met.left[different]])
    mean, common = (np.tile(values[different], 2) for values in (met.mean, met.common))
    if len(different) > _MANY_PAIRS:
        order, rank = rank_peers(who, peer, common, len(number))
        kept = order[rank < _MAX_PEERS]
        who, peer, mean, common = who[kept], peer[kept], mean[kept], common[kept]
    return who, peer, mean, common


def _find_errors(crowds: _Crowds, once: Floats, fault: Floats, peers: Floats, usual: npt.NDArray[np.bool_]) -> Floats:
    """Return the standard error of each worker's error, given that of each pair."""
    met, gamma = crowds.met, crowds.gamma
    who = np.concatenate([met.left, met.right])
    each = np.concatenate([once / (1 - gamma * fault[met.right]), once / (1 - gamma * fault[met.left])])
    typical = _medians(who, each, np.tile(usual, 2), len(fault))
    return np.asarray(np.nan_to_num(_MEDIAN_ERROR * typical / np.sqrt(np.maximum(peers - 1, 1.0))))


def _median(values: Floats, which: npt.NDArray[np.bool_]) -> float:
    """Return the median of the selected values; NaN if there are none."""
    return float(_medians(np.zeros(len(values), np.intp), values, which, 1)[0])


def _medians(place: Numbers, values: Floats, which: npt.NDArray[np.bool_], n: int) -> Floats:
    """Return the median of the selected values at each place; NaN if there are none."""
    which = which & ~np.isnan(values)
    return Medians.of(place[which], n).find(values[which], np.ones(int(which.sum())))


def _describe(run: Run, crowds: _Crowds, number: Numbers, alike: Numbers, evidence: _Evidence) -> tuple[CopyGroup, ...]:
    """Describe each group: copies first, then similar workers."""
    part = number_parts(len(number), crowds.met.left[alike], crowds.met.right[alike])
    connected = np.unique(part, return_index=True)[1][part]
    found = _describe_groups(run, crowds, number, evidence, copies=True)
    return found + _describe_groups(run, crowds, connected, evidence, copies=False)


def _describe_groups(
    run: Run, crowds: _Crowds, number: Numbers, evidence: _Evidence, *, copies: bool
) -> tuple[CopyGroup, ...]:
    from scipy.special import ndtr

    several = np.flatnonzero(np.bincount(number, minlength=len(number)) > 1)
    if not len(several):
        return ()
    met, shared = crowds.met, run.sum(_count_shared, number.astype(np.float64))["shared"]
    inside = np.flatnonzero((number[met.left] == number[met.right]) & ~np.isnan(evidence.z))
    found = []
    for first in several:
        members, own = np.flatnonzero(number == first), inside[number[met.left[inside]] == first]
        found.append(
            CopyGroup(
                members=tuple(members.tolist()),
                copies=copies,
                common=round(float(shared[members].sum())),
                rare=round(float(met.same[own].sum())),
                fidelity=float(np.clip(1 - evidence.ratio[own].mean(), 0.0, 1.0)) if len(own) else np.nan,
                p_value=float(min(1.0, crowds.compared * ndtr(evidence.z[own].min(initial=np.inf)))),
            )
        )
    return tuple(found)


def _count_shared(block: Block, number: Floats) -> dict[str, Floats]:
    """Count the tasks that each worker's group shares; each of g answers counts as 1/g of a task."""
    group = number.take(block.worker).astype(np.intp)
    _, place, size = np.unique(block.task * len(number) + group, return_inverse=True, return_counts=True)
    return {"shared": block.per_worker(np.where(size > 1, 1.0 / size, 0.0)[place])}
