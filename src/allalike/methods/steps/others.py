"""Others: how the votes of all others stand on the task of an answer, without her who gave it and her group.

An answer takes its vote away from its own label alone. So whatever others vote is known from three numbers of each task
and label: the votes for it, the most votes for any **rival**, and how many rivals have as many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.voices import find_voices
from allalike.methods.steps.ballots import row_peaks, row_sums

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats

__all__ = ["OthersVotes", "count_others"]

_EPS = 1e-9  # votes, within which labels tie


class OthersVotes(NamedTuple):
    """The votes of the others, per answer.

    Parameters
    ----------
    own, top, total
        Those for its label, for the label that has most of them, and all.
    hit
        Whether its label is the one that has most, shared among all that have as many.
    """

    own: Floats
    top: Floats
    total: Floats
    hit: Floats


def count_others(block: Block, vote: Floats, label: Array, k: int) -> OthersVotes:
    """Count the votes of the others, given the vote of each answer and its label, one of k.

    >>> from allalike._core.blocks.block import Block
    >>> count_others(Block.of([[0], [1], [1]]), np.ones(3), np.array([0, 1, 1]), 2)
    OthersVotes(own=array([0., 1., 1.]), top=array([2., 1., 1.]), total=array([2., 2., 2.]), hit=array([0. , 0.5, 0.5]))
    """
    task, group = block.task, find_voices(block).group
    place = task * k + label
    votes = sum_by(place, vote, block.n_tasks * k).reshape(-1, k)
    n_groups = int(group.max()) + 1
    if n_groups < len(vote):
        inside = sum_by(group * k + label, vote, n_groups * k).reshape(-1, k)
        votes = votes.take(task, axis=0) - inside.take(group, axis=0)
        place = np.arange(len(vote)) * k + label
        own, total = votes.ravel().take(place), row_sums(votes)
    else:
        own, total = votes.ravel().take(place) - vote, block.to_answers(row_sums(votes)) - vote
    most, number = (table.ravel().take(place) for table in _find_rivals(votes))
    shared = 1 / np.where(own > most + _EPS, 1.0, 1.0 + number)
    return OthersVotes(own, np.maximum(own, most), total, np.where(own >= most - _EPS, shared, 0.0))


def _find_rivals(votes: Floats) -> tuple[Floats, Floats]:
    """Return of each place of a table the largest number elsewhere in its row, and how many are as large."""
    top = row_peaks(votes)[:, None]
    leads = votes >= top - _EPS
    n_leading = row_sums(leads.astype(np.float64))[:, None]
    behind = np.where(leads, -np.inf, votes)
    second = row_peaks(behind)[:, None]
    n_second = row_sums((behind >= second - _EPS).astype(np.float64))[:, None]
    alone = leads & (n_leading == 1)
    return np.where(alone, second, top), np.where(alone, n_second, n_leading - leads)
