"""Level tables: which classes or levels two answers to the same task name, and what coefficients make of that.

With r_uc of the r_u answers to task u at level c, each task with several answers adds its pairs to two tables,

    coincidences   o_ck = sum over u of  r_uc (r_uk - [c = k]) / (r_u - 1)          each answer counts the same
    pairs          p_ck = mean over u of r_uc (r_uk - [c = k]) / (r_u (r_u - 1))    each task counts the same

and with n_c = sum_k o_ck, Krippendorff's alpha is, for any distance d of levels (Content Analysis, chapter 12),

    alpha = 1 - (n - 1) sum_ck o_ck d_ck / sum_ck n_c n_k d_ck

    ordinal    d_ck = (sum of n_g for g from c to k  -  (n_c + n_k) / 2)^2     levels are apart by the answers between
    interval   d_ck = (c - k)^2
    ratio      d_ck = ((c - k) / (c + k))^2                                    of numbers that are not negative

The ordinal distance depends on how often levels were chosen: it asks how many answers lie between two of them, and not
how many levels. Kappas take weights of agreement w_ck, 1 for the same level, 1 - |c - k| / (K - 1) (linear) or the same
with squares (quadratic), and

    Gwet's AC2           p_e = sum_ck w_ck  sum_c pi_c (1 - pi_c) / (K (K - 1))
    Brennan-Prediger     p_e = sum_ck w_ck / K^2
    Fleiss, weighted     p_e = sum_ck w_ck pi_c pi_k

It works for any scale that people know. It fails for scales with hundreds of levels: those are numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import Block, Floats, sum_by
from allalike.api.agreement.label_totals import count_labels
from allalike.api.agreement.resamples import draw_weights, find_limits

if TYPE_CHECKING:
    from allalike.api.agreement.resamples import TaskGroups
    from allalike.engines import Run

__all__ = ["LevelTables", "count_tables", "metric", "weights_of_agreement"]

_MAX_RESAMPLED = 20  # levels, of which tables are kept for each group of tasks


@dataclass(frozen=True)
class LevelTables:
    """Tables of all pairs of answers to the same task, by their levels.

    Parameters
    ----------
    groups
        The coincidences of each group of tasks, or of all at once where there are many levels.
    pairs
        The mean share of each pair of levels.
    shares
        The mean share of each level.

    >>> tables = LevelTables(np.array([[[4.0, 1.0], [1.0, 4.0]]]), np.array([[0.4, 0.1], [0.1, 0.4]]), np.ones(2) / 2)
    >>> round(tables.alpha("ordinal", np.arange(2)), 3), round(tables.correct(np.eye(2), "Fleiss"), 3)
    (0.64, 0.6)
    """

    groups: Floats
    pairs: Floats
    shares: Floats

    def alpha(self, name: str, levels: Floats) -> float:
        """Return Krippendorff's alpha by the distance of this name, given the numbers that levels are."""
        return float(_alpha(self.groups.sum(axis=0)[None], name, levels)[0])

    def limits(self, name: str, levels: Floats) -> tuple[float, float]:
        """Return its limits of 95 % in resamples of tasks; unknown where these are not kept apart."""
        n_groups, k, _ = self.groups.shape
        if n_groups < 2:
            return np.nan, np.nan
        drawn = draw_weights(n_groups) @ self.groups.reshape(n_groups, -1)
        return find_limits(_alpha(drawn.reshape(-1, k, k), name, levels))

    def correct(self, weights: Floats, name: str) -> float | None:
        """Return a coefficient that sets weighted agreement against that of chance; None if it is not defined."""
        k, agreed = len(weights), float((weights * self.pairs).sum())
        chance = {
            "Fleiss": lambda: float(self.shares @ weights @ self.shares),
            "Gwet": lambda: float(weights.sum() * (self.shares * (1 - self.shares)).sum() / (k * max(k - 1, 1))),
            "Brennan-Prediger": lambda: float(weights.sum() / k**2),
        }[name]()
        return None if np.isnan(agreed) or chance >= 1 - 1e-12 else (agreed - chance) / (1 - chance)


def metric(name: str, margins: Floats, levels: Floats) -> Floats:
    """Return how far each two levels are apart, for each row of margins: how often each level was chosen.

    >>> metric("ordinal", np.array([2.0, 4.0, 2.0]), np.arange(3)).tolist()
    [[0.0, 9.0, 36.0], [9.0, 0.0, 9.0], [36.0, 9.0, 0.0]]
    """
    if name == "ordinal":
        place = np.cumsum(margins, axis=-1) - margins / 2  # the middle of a level among all answers in order
        return np.asarray(np.square(place[..., :, None] - place[..., None, :]))
    apart, both = levels[:, None] - levels, np.abs(levels[:, None] + levels)
    if name == "ratio":
        apart = apart / np.where(both > 0, both, 1.0)
    return np.square(np.sign(apart) if name == "nominal" else apart).astype(np.float64)


def _alpha(tables: Floats, name: str, levels: Floats) -> Floats:
    margins = tables.sum(axis=-1)
    distance = np.broadcast_to(metric(name, margins, levels), tables.shape)
    n, expected = margins.sum(axis=-1), np.einsum("gc,gk,gck->g", margins, margins, distance)
    known = expected > 0
    observed = (n - 1) * np.einsum("gck,gck->g", tables, distance)
    return np.where(known, 1 - observed / np.where(known, expected, 1.0), np.nan)


def weights_of_agreement(n_levels: int, power: int) -> Floats:
    """Return how much two levels agree: linear with power 1, quadratic with 2, all or nothing with 0.

    >>> weights_of_agreement(3, 2).tolist()
    [[1.0, 0.75, 0.0], [0.75, 1.0, 0.75], [0.0, 0.75, 1.0]]
    """
    place = np.arange(n_levels)
    if not power:
        return np.eye(n_levels)
    return np.asarray(1 - (np.abs(place[:, None] - place) / max(n_levels - 1, 1)) ** power)


def count_tables(run: Run, groups: TaskGroups) -> LevelTables:
    """Count the pairs of answers to the same task by their levels, group by group where there are few levels.

    >>> import allalike
    >>> from allalike.api.agreement.resamples import TaskGroups
    >>> rows = [("ada", 1, 1), ("bob", 1, 2), ("ada", 2, 1), ("bob", 2, 1)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="ordinal"))
    >>> count_tables(run, TaskGroups(1)).groups.tolist()
    [[[2.0, 1.0], [1.0, 0.0]]]
    """
    k = run.encoding.n_labels
    apart = groups if k <= _MAX_RESAMPLED else None
    sums = run.total(partial(_count, n_levels=k, groups=apart))
    shares = run.total(partial(count_labels, n_labels=k))["share"] / run.n_tasks
    tasks = float(sums["tasks"])
    return LevelTables(sums["groups"], sums["pairs"] / tasks if tasks else np.full((k, k), np.nan), shares)


def _count(block: Block, *, n_levels: int, groups: TaskGroups | None) -> dict[str, Floats]:
    paired = block.sizes > 1 if block.live is None else (block.sizes > 1) & block.live
    cell = block.task * n_levels + block.label
    counts = np.bincount(cell, minlength=block.n_tasks * n_levels).reshape(-1, n_levels)[paired].astype(np.float64)
    size = block.sizes[paired].astype(np.float64)
    scaled = counts / (size - 1)[:, None]
    if groups is None:
        tables = (scaled.T @ counts - np.diag(scaled.sum(axis=0)))[None]
    else:
        group = groups.number(block.task_hash[paired])
        tables = np.zeros((groups.count, n_levels, n_levels))
        for c in range(n_levels):
            for k in range(c + 1):
                other = counts[:, k] - 1 if c == k else counts[:, k]
                tables[:, c, k] = tables[:, k, c] = sum_by(group, scaled[:, c] * other, groups.count)
    each = scaled / size[:, None]
    return {"groups": tables, "pairs": each.T @ counts - np.diag(each.sum(axis=0)), "tasks": np.array(float(len(size)))}
