"""Verdict: whether workers who answer alike copy, or are only good.

The best workers are alike because they are right. If that were all, three rates of agreement on the tasks that two or
more of the group answered would fit together: gg between its members, go between members and others, oo between others
(other groups counting as one voice each). With c = d/(1 + d), where d is the probability that two errors coincide,

    (gg - c)(oo - c) = (go - c)^2

for any skills. Errors coincide most where a decoy attracts a share q = 0.6 of them: d = (q + r)^2 + (K - 2) r^2 with
r = (1 - q)/(K - 1); c = 1/2 for two classes, and d = q^2 for labels without number. So with

    D = gg oo - go^2 - c (gg + oo - 2 go),    star = c + (go - c)^2 / (oo - c),    rho = (gg - star)/(1 - star)

workers are **copies** if oo > c, D is above its standard error, and rho, the share of answers that skill does not
explain, is at least 1/2; or if they are identical: gg >= 0.97 on a hundred tasks where the others agree in less than
60 %.

Where the others agree less than c nothing but identical answers is called copied, and where most share a strong
misconception, experts look like copies: nothing but known truths tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike.blocks.block import sum_by
from allalike.blocks.voices import find_voices
from allalike.trust.surprise import MAX_NAMED_LABELS, Slots

if TYPE_CHECKING:
    from allalike.blocks.block import Block, Floats
    from allalike.engines import Run

__all__ = ["Verdict", "collision_bound", "judge"]

_DECOY_SHARE = 0.6
_STANDARD_ERRORS = 1.0
_MIN_FIDELITY = 0.5
_IDENTICAL, _IDENTICAL_TASKS, _DISAGREEING = 0.97, 100, 0.6
_RARE = 0.2  # share of the others who give an answer that is called rare
_EPS = 1e-12


@dataclass(frozen=True)
class Verdict:
    """What is to be thought of a group: how much of its answers skill does not explain, and the tasks that say so."""

    copies: bool
    fidelity: float
    common: int
    rare: int


def judge(run: Run, number: npt.NDArray[np.intp], wanted: npt.NDArray[np.intp]) -> dict[int, Verdict]:
    """Judge some groups of a run whose blocks have slots, and voices by these numbers."""
    judged = np.isin(number, wanted).astype(np.float64)
    rows = run.sum(group_sums, judged)["sums"]
    sums = np.zeros_like(rows)
    np.add.at(sums, number, rows)
    bound = collision_bound(run.encoding.n_classes or 0)
    return {int(group): _decide(sums[group], bound) for group in wanted}


def collision_bound(k: int) -> float:
    """Return c for k classes, or for labels without number if k is 0 or large.

    >>> collision_bound(2), round(collision_bound(4), 3), round(collision_bound(1000), 3)
    (0.5, 0.364, 0.265)
    """
    if k == 2:
        return 0.5
    share = _DECOY_SHARE
    rest = 0.0 if not 2 < k <= MAX_NAMED_LABELS else (1 - share) / (k - 1)
    collide = (share + rest) ** 2 + (k - 2) * rest**2
    return collide / (1 + collide)


def group_sums(block: Block, judged: Floats) -> dict[str, Floats]:
    """Add up the rates of agreement and their products over the tasks of each judged group, in a row of a member."""
    slots, voices = block[Slots], find_voices(block)
    width, n_groups = slots.frequency.shape[1], int(voices.group.max()) + 1
    task = block.to_answers(np.arange(block.n_tasks))
    votes = sum_by(task * width + slots.slot, voices.voice, block.n_tasks * width)
    cell, place = np.unique(voices.group * width + slots.slot, return_inverse=True)
    share, members = (
        sum_by(place, voices.voice, len(cell)),
        sum_by(place, np.where(voices.voice > 0, 1.0, 0.0), len(cell)),
    )
    group, first = cell // width, np.zeros(n_groups, np.intp)
    first[voices.group[::-1]] = np.arange(len(task))[::-1]
    at = task[first[group]] * width + cell % width
    square, mixed = sum_by(group, share**2, n_groups), sum_by(group, share * votes[at], n_groups)
    size = sum_by(group, members, n_groups)
    whole = votes.reshape(-1, width)
    others = whole.sum(axis=1)[task[first]] - 1
    alone = sum_by(task[first], square, block.n_tasks)[task[first]] - square
    asked = (judged[block.worker[first]] > 0) & (size > 1) & (others > 2 - 1e-6)
    size, others = np.where(asked, size, 2.0), np.where(asked, others, 2.0)
    inside = (size * square - 1) / (size - 1)
    between = (mixed - square) / others
    squares = np.square(whole).sum(axis=1)[task[first]]
    outside = (squares - 2 * mixed + square - alone) / (others * (others - 1))
    rarely = (members > 1) & ((votes[at] - share) < _RARE * others[group])
    rare = sum_by(group, np.where(rarely, 1.0, 0.0), n_groups)
    one = np.ones(n_groups)
    columns = np.column_stack([
        one, inside, between, outside,
        inside**2, between**2, outside**2, inside * between, inside * outside, between * outside, rare,
    ])  # fmt: skip
    columns[~asked] = 0.0
    sums = np.zeros((block.n_workers, columns.shape[1]))
    np.add.at(sums, block.worker[first], columns)
    return {"sums": sums}


def _decide(sums: Floats, bound: float) -> Verdict:
    tasks, rare = sums[0], int(sums[-1])
    if tasks < 2:
        return Verdict(copies=False, fidelity=float("nan"), common=int(tasks), rare=rare)
    inside, between, outside = mean = sums[1:4] / tasks
    gg, bb, oo, gb, go, bo = sums[4:10] / tasks
    cov = np.array([[gg, gb, go], [gb, bb, bo], [go, bo, oo]]) - np.outer(mean, mean)
    slope = np.array([outside - bound, -2 * (between - bound), inside - bound])
    error = np.sqrt(max(slope @ cov @ slope, 0.0) / (tasks - 1))
    excess = inside * outside - between**2 - bound * (inside + outside - 2 * between)
    skill = bound + (between - bound) ** 2 / max(outside - bound, _EPS)
    fidelity = (inside - skill) / (1 - skill) if skill < 1 else float("nan")
    copied = outside > bound and excess >= _STANDARD_ERRORS * error and excess > 0 and fidelity >= _MIN_FIDELITY
    identical = inside >= _IDENTICAL and tasks >= _IDENTICAL_TASKS and outside < _DISAGREEING
    return Verdict(copies=bool(copied or identical), fidelity=float(fidelity), common=int(tasks), rare=rare)
