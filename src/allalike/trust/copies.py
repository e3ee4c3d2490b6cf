"""Copies: groups of workers who follow each other, found in classes.

An honest answer is as probable as the voices of the others make it (`surprise`). Who copies gives the same answer as
another one also where it is improbable: the fewer give it, the more it says. For a pair, at fidelity phi,

    s_ij = sum over common tasks of log(1 - phi), and log(1 - phi + phi/p) where both say the same,

with p the probability of the answer, in the mean of both directions; e^s has mean 1 among the honest, so s above
log(pairs) + 2 is rare in any crowd. Pairs that strong, and at least half as strong as the strongest, are joined, the
strongest first, and each new group is judged (`verdict`); if it only is alike, it is taken apart for good. A group that
is found has one voice from then on, by which all probabilities change, so this is repeated until nothing changes: for
phi = 0.9, 0.7, and 0.5, the tightest first, because the tighter one of two camps are the copies.

Two copiers are found with some thirty common tasks. A ring of copiers larger than the honest crowd is the crowd.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike.blocks.pairs import count_partners
from allalike.engines.sample import sample_tasks
from allalike.system.memory import free_memory
from allalike.trust.evidence import SURPLUS, Evidence, weigh_pairs
from allalike.trust.groups import Group, Groups, with_voices
from allalike.trust.parts import number_parts
from allalike.trust.surprise import find_follow, keep_slots, label_frequencies
from allalike.trust.verdict import Verdict, judge

if TYPE_CHECKING:
    from allalike.engines import Run

__all__ = ["find_copies"]

_FIDELITIES = (0.9, 0.7, 0.5)
_ROUNDS = 12
_FIT_ANSWERS = 60_000
_BYTES_PER_PAIR = 100  # of two workers in one order
_MAX_SHARE = 0.5  # of the free memory, for what nobody asked for

Workers = npt.NDArray[np.intp]


@dataclass
class Search:
    """The groups as far as they are found.

    Parameters
    ----------
    number
        Of each worker: the number of her group.
    apart
        With whom a worker is never to be joined.
    strength
        Of workers who were in a strong pair: by how much it was stronger than the logarithm of the number of pairs.
    """

    number: Workers
    apart: dict[int, set[int]] = field(default_factory=dict)
    strength: dict[int, float] = field(default_factory=dict)

    def members(self, group: int) -> Workers:
        """Return the members of a group."""
        return np.flatnonzero(self.number == group)

    def join(self, evidence: Evidence) -> set[int]:
        """Join the strongest pairs into groups, and return those that changed."""
        matrix = evidence.matrix
        changed: set[int] = set()
        seen = np.where(evidence.tells, matrix.data, 0.0)
        strong = np.flatnonzero(seen >= max(evidence.threshold, seen.max(initial=0.0) / 2))
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[strong]
        column, value = matrix.indices[strong], matrix.data[strong]
        for place in np.lexsort((column, row, -value)):
            left, right = self.number[row[place]], self.number[column[place]]
            beyond = float(value[place] - evidence.threshold + SURPLUS)
            self.strength[int(row[place])] = max(self.strength.get(int(row[place]), 0.0), beyond)
            if left >= right:
                continue
            one, two = self.members(left), self.members(right)
            if any(not self.apart.get(int(each), set()).isdisjoint(two.tolist()) for each in one):
                continue
            if matrix[one][:, two].sum() > 0:
                self.number[two] = left
                changed = (changed - {int(right)}) | {int(left)}
        return changed

    def undo(self, group: int, before: Workers) -> None:
        """Take a group apart into what it was, and never join these parts again."""
        members = self.members(group)
        self.number[members] = before[members]
        for each in members.tolist():
            others = members[before[members] != before[each]]
            self.apart.setdefault(each, set()).update(others.tolist())


def find_copies(run: Run, silent: npt.NDArray[np.bool_]) -> Groups | None:
    """Find the groups of copies among those who are not silent, and those who are only alike.

    Return None where the pairs of workers are too many to look at.

    >>> import allalike
    >>> from allalike.blocks.ties import Ties
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(4, size=60)
    >>> said = np.where(rng.random((8, 60)) < 0.6, truth, rng.integers(4, size=(8, 60)))
    >>> said[7] = np.where(rng.random(60) < 0.95, said[6], said[7])
    >>> rows = [(worker, task, int(label)) for (worker, task), label in np.ndenumerate(said)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="categorical"), Ties())
    >>> [group.members for group in find_copies(run, np.zeros(8, bool)).found if group.copies]
    [(6, 7)]
    """
    n = run.problems.n_workers
    if len(run.problems.sizes) > 1 or n < 3 or run.encoding.n_labels < 2:
        return Groups(np.arange(n), silent)
    if not _fits(run):
        return None
    n_answers = int(run.answer_counts.sum())
    near: Run = sample_tasks(run, n_answers if n_answers <= 1.5 * _FIT_ANSWERS else _FIT_ANSWERS, with_gold=False)
    frequency = label_frequencies(run)
    near = near.map(partial(keep_slots, frequency=frequency))
    far = near if near.n_tasks == run.n_tasks else run.map(partial(keep_slots, frequency=frequency))
    search, follow = Search(np.arange(n)), None
    evidence: dict[float, Evidence] = {}
    part: Workers | None = None
    for fidelity in _FIDELITIES:
        for _ in range(_ROUNDS):
            if not evidence:
                voice = partial(with_voices, groups=Groups(search.number.copy(), silent))
                follow = find_follow(near.map(voice), follow)
                evidence = weigh_pairs(far.map(voice), follow, _FIDELITIES)
                part = evidence[fidelity].find_parts() if part is None else part
            before = search.number.copy()
            changed = search.join(evidence[fidelity])
            if not changed:
                break
            for group, verdict in _judge(far, search.number, silent, changed).items():
                if not verdict.copies:
                    search.undo(group, before)
            if (search.number != before).any():
                evidence = {}
    return Groups(search.number, silent, _describe(far, search, silent), part)


def _fits(run: Run) -> bool:
    met = run.sum(count_partners)["partners"]
    pairs = np.minimum(met, run.problems.size - 1).sum()
    return bool(_BYTES_PER_PAIR * pairs <= _MAX_SHARE * free_memory())


def _judge(run: Run, number: Workers, silent: npt.NDArray[np.bool_], groups: Any) -> dict[int, Verdict]:
    heard = run.map(partial(with_voices, groups=Groups(number.copy(), silent)))
    return judge(heard, number, np.array(sorted(groups)))


def _describe(run: Run, search: Search, silent: npt.NDArray[np.bool_]) -> tuple[Group, ...]:
    """Say what is known of each group, and of those who are only alike."""
    n, found = len(search.number), []
    pairs = [(each, other) for each, others in search.apart.items() for other in others]
    left, right = np.array(pairs, np.intp).reshape(-1, 2).T
    part = number_parts(n, left, right)
    alike = np.unique(part, return_index=True)[1][part]  # the number of a group is that of its first member
    for number, copies in ((search.number, True), (alike, False)):
        groups = np.flatnonzero(np.bincount(number, minlength=n) > 1)
        verdicts = _judge(run, number, silent, groups) if len(groups) else {}
        for group, verdict in verdicts.items():
            members = tuple(np.flatnonzero(number == group).tolist())
            strength = max(search.strength.get(each, 0.0) for each in members)
            chance = min(1.0, float(np.exp(-strength)))
            found.append(Group(members, copies, verdict.common, verdict.rare, verdict.fidelity, chance))
    return tuple(found)
