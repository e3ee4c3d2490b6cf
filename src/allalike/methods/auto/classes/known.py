"""Known truths: which ways to decide they speak against.

Beside the vote, the weighted vote and the hypotheses that the crowd suggests, there is one that **knows** these
truths: it begins at votes that are weighed by how many of them each worker said, and what she said there counts for the
truth alone. So that it is not judged by what it was told, truths are put into two halves, and those of each half are
found by a hypothesis that knows the other.

For two ways to decide, b is how many known truths one finds and the other does not, and c the other way round. One is
**clearly worse** if (b - c) / sqrt(b + c) < -2.576 (McNemar). What was to be taken stays, unless another way is
clearly better, or it finds fewer of fifty known truths and more than the plain vote does; then the way that finds most
is taken.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.voices import find_voices
from allalike._core.columns.hashes import mix
from allalike.methods.auto.classes.states import class_posterior
from allalike.methods.steps.ballots import row_peaks, row_sums, vote_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.methods.auto.classes.hypotheses import ClassCrowd, Hypothesis

__all__ = ["MANY", "JudgedByGold", "count_both", "judge", "reconsider"]

MANY = 50  # known truths, on which nothing is to be behind the vote, and which tell how sure truths are
_START = "known truths"
_CLEARLY = 2.576
_PRIOR = 4.0  # known truths that a usual worker has said, beside her own
_LOW = 0.01  # nobody is right more surely
_EPS = 1e-9


class JudgedByGold(NamedTuple):
    """What known truths say of the ways to decide: the vote, the weighted vote, and hypotheses.

    Parameters
    ----------
    hypotheses
        The hypotheses, of which the last knows the truths.
    hits, both, sure
        How many known truths each way finds, how many each two ways both, and how sure each way is of them, added up.
    """

    hypotheses: list[Hypothesis]
    hits: Floats
    both: Floats
    sure: Floats


def judge(crowd: ClassCrowd, hypotheses: list[Hypothesis]) -> JudgedByGold:
    """Let all ways to decide find the known truths of a single problem."""
    sums: dict[str, Floats] = {}
    for half in (0, 1):
        told = _read_with(crowd, _keep(crowd, 1 - half))
        tables = [table for hypothesis in (*hypotheses, told) for table in (hypothesis.rows, hypothesis.shares)]
        kernel = partial(count_both, hypotheses=tables, weights=crowd.consensus.weight, k=crowd.k)
        found = _keep(crowd, half).run.total(kernel)
        sums = {name: each + sums.get(name, 0.0) for name, each in found.items()}
    return JudgedByGold([*hypotheses, _read_with(crowd, crowd)], **sums)


def _keep(crowd: ClassCrowd, half: int) -> ClassCrowd:
    return replace(crowd, run=crowd.run.map(partial(_keep_half, half=half)))


def _keep_half(block: Block, *, half: int) -> Block:
    """Return the block with half of its known truths."""
    kept = mix(block.task_hash[block.gold_task]) % np.uint64(2) == half
    return replace(block, gold_task=block.gold_task[kept], gold_label=block.gold_label[kept])


def _read_with(crowd: ClassCrowd, known: ClassCrowd) -> Hypothesis:
    """Find the hypothesis that knows the truths of a run."""
    sums, k = known.run.sum(partial(_count_known, k=crowd.k)), crowd.k
    usual = sums["hits"].sum() / max(float(sums["known"].sum()), 1.0)
    right = np.clip((sums["hits"] + _PRIOR * usual) / (sums["known"] + _PRIOR), 1 / k, 1 - _LOW)
    weights = np.log(right * (k - 1) / (1 - right))
    return replace(crowd, run=known.run, use_gold=True).climb(_START, vote_shares, weights)


def _count_known(block: Block, *, k: int) -> dict[str, Floats]:
    """Count, per worker, her answers to tasks whose truth is known, and how many of them are right."""
    truth = np.full(block.n_tasks, k)
    truth[block.gold_task] = block.gold_label
    truth = block.to_answers(truth)
    voice = np.where(truth < k, find_voices(block).voice, 0.0)
    return {"known": block.per_worker(voice), "hits": block.per_worker(np.where(block.label == truth, voice, 0.0))}


def reconsider(taken: int, hits: Floats, both: Floats, n_known: int) -> int:
    """Return which way to take by known truths: the one that was to be taken, or another.

    Parameters
    ----------
    taken
        The number of the way that was to be taken.
    hits, both
        How many known truths each way finds, and each two ways both; the first way is the plain vote.
    n_known
        How many truths are known.

    >>> reconsider(1, np.array([40.0, 38.0]), np.array([[40.0, 30.0], [30.0, 38.0]]), 60)
    0
    >>> reconsider(0, np.array([30.0, 45.0]), np.array([[30.0, 30.0], [30.0, 45.0]]), 45)
    1
    """
    only = hits[:, None] - both  # which one finds and the other does not
    ahead = (only - only.T) / np.sqrt(np.maximum(only + only.T, 1.0))
    behind = n_known >= MANY and hits[taken] < hits[0] - _EPS
    if behind or (ahead[:, taken] > _CLEARLY).any():
        return int(hits.argmax())
    return taken


def count_both(block: Block, *, hypotheses: Sequence[Floats], weights: Floats, k: int) -> dict[str, Floats]:
    """Count known truths that each two ways to decide find both: votes, weighted votes, and hypotheses.

    Also how many each finds, and how sure it is of them, added up. Hypotheses are given by their rows and shares, one
    after the other. Of classes that tie each counts as much.
    """
    known = block.gold_label < k
    task, truth = block.gold_task[known], block.gold_label[known]
    everyone = np.ones(block.n_workers)
    tables = [vote_shares(block, each, k=k) for each in (everyone, weights[block.workers])]
    pairs = zip(hypotheses[::2], hypotheses[1::2], strict=True)
    tables += [class_posterior(block, rows[block.workers], shares[block.workers], k=k) for rows, shares in pairs]
    hits = np.array([_hits(table[task], truth) for table in tables])
    sure = np.array([row_peaks(table[task]).sum() for table in tables])
    return {"hits": hits.sum(axis=1), "both": hits @ hits.T, "sure": sure}


def _hits(table: Floats, truth: Array) -> Floats:
    top = row_peaks(table)
    best = table >= (top - _EPS)[:, None]
    return np.where(best[np.arange(len(table)), truth], 1.0 / row_sums(best.astype(np.float64)), 0.0)
