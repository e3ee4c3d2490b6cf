"""Open labels: the probability that an answer is right if answers are not a few classes, such as numbers or names.

With a few classes the wrong ones are known. Where everything may be answered, what matters is how often two wrong
answers are the same: if in one of m cases, a judge who errs with probability f answers as if there were m wrong labels,
each as probable. So its label gains the log odds w = log((1 - f) m / f), and

    P[c] ~ exp(beta score_c),    0 < beta <= 1,

for the labels that were given to a task and for those that nobody gave, as many as make m + 1 together. So two judges
who agree are the better evidence the less wrong answers agree, and one who is alone is right with probability 1 - f.

**m** is counted: pairs of answers to a task that are both not the label with the largest score, by those of them that
are the same; with it scores change, so it is counted again. **beta** is fitted to answers that are held out.

It fails where most are fooled by the same wrong answer: that label then has the largest score, and is not counted among
the wrong ones. Where one answer is written in several ways, judges who agree seem to differ, and probabilities are too
low. Gold labels mend both (`allalike.panels.calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import (
    Array,
    Block,
    Floats,
    find_answer_weights,
    number_within_tasks,
    subtract_own_group,
    sum_by,
)
from allalike.methods.auto.voices import count_effective_voices, with_voices

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run
    from allalike.methods.insight import VoiceGroups

_LEAST = 0.01  # no error rate is closer to 0 or 1
_ROUNDS = 3
_FIRST_WRONG_LABELS = 10.0
_PRIOR_PAIRS = 2.0  # of wrong answers of which one is the same
_MAX_EXPONENT = 700.0
_SAME = 1e-6  # nats
_TIE = 1e-9  # difference of probabilities that are the same
_CERTAIN = 1e-9  # by how much a probability differs from 0 and from 1, before its odds are taken
_TEMPERATURES = np.array([0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, *np.arange(3, 11) / 10])


class OddsLine(NamedTuple):
    """A line through log odds, by which confidences are calibrated; without one, they stay as they are."""

    shift: float = 0.0
    slope: float = 1.0

    def mend(self, confidence: Floats) -> Floats:
        """Return the probabilities whose log odds lie on the line.

        >>> OddsLine(0.0, 0.5).mend(np.array([0.5, 0.8])).round(3)
        array([0.5  , 0.667])
        """
        if self == NO_CHANGE:
            return confidence
        mended: Floats = 1 / (1 + np.exp(-(self.shift + self.slope * self.logit(confidence))))
        return mended

    @staticmethod
    def logit(confidence: Floats) -> Floats:
        """Return log odds, which are finite for 0 and 1, too."""
        inside = np.clip(confidence, _CERTAIN, 1 - _CERTAIN)
        odds: Floats = np.log(inside) - np.log1p(-inside)
        return odds


NO_CHANGE = OddsLine()


@dataclass(frozen=True)
class OpenChance:
    """What makes probabilities of open labels."""

    n_wrong: float
    beta: float


def find_open_chance(run: Run, error_rate: Floats, groups: VoiceGroups, n_labels: int) -> OpenChance:
    """Find how many wrong labels there seem to be, and the temperature that held-out answers tell.

    >>> import allalike
    >>> from allalike.methods.insight import VoiceGroups
    >>> rng = np.random.default_rng(1)
    >>> said = np.where(rng.random((4, 200)) < 0.7, 0, rng.integers(1, 4, (4, 200)))  # three wrong labels
    >>> rows = [(worker, task, f"x{label}") for (worker, task), label in np.ndenumerate(said)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="categorical"))
    >>> found = find_open_chance(run, np.full(4, 0.3), VoiceGroups.everyone(4), 4)
    >>> 2.3 < found.n_wrong <= 3, 0.5 < found.beta <= 1
    (True, True)
    """
    rate = np.clip(error_rate, _LEAST, 1 - _LEAST)
    heard = run.map(partial(with_voices, groups=groups))
    most, n_wrong = max(n_labels - 1.0, 1.0), min(_FIRST_WRONG_LABELS, max(n_labels - 1.0, 1.0))
    for _ in range(_ROUNDS):
        sums = heard.sum(partial(_wrong_pairs, n_wrong=n_wrong), rate)
        same, pairs = float(sums["same"].sum()), float(sums["pairs"].sum())
        n_wrong = float(np.clip((pairs + _PRIOR_PAIRS) / (same + 1), 1.0, most))
    likelihood = heard.sum(partial(_held_out, n_wrong=n_wrong), rate)["likelihood"].sum(axis=0)
    best = np.flatnonzero(likelihood >= likelihood.max() - _SAME)[-1]
    return OpenChance(n_wrong, float(_TEMPERATURES[best]))


def find_chances(block: Block, error_rate: Floats, *, chance: OpenChance) -> Floats:
    """Return, per answer, how probable it is that its label is right; the block may have voices.

    >>> from allalike._core.blocks.block import Block
    >>> block = Block.of([[7], [7], [5]])
    >>> find_chances(block, np.full(3, 0.2), chance=OpenChance(4.0, 1.0)).round(3)
    array([0.931, 0.931, 0.058])
    """
    group, score, count = _score(block, error_rate, chance.n_wrong)
    task = np.repeat(np.arange(block.n_tasks), count)
    first = np.cumsum(count) - count
    top = chance.beta * np.maximum.reduceat(score, first)
    share = np.exp(chance.beta * score - top[task])
    nobody = np.maximum(chance.n_wrong + 1 - count, 0.0) * np.exp(-top)
    probability: Floats = (share / (np.add.reduceat(share, first) + nobody)[task]).take(group)
    return probability


def decide_openly(
    block: Block,
    weights: Floats,
    faults: Floats,
    error_rate: Floats,
    *more: Floats,
    own: Callable[..., dict[str, Array]],
    chance: OpenChance,
    line: OddsLine,
    correlation: float | None,
    groups: VoiceGroups,
) -> dict[str, Array]:
    """Decide as ``own`` does; the confidence is the probability that the label is right.

    Where another label of the task is more probable, the one that is decided for has the mean of those ahead of it and
    of its own, for it is not known which of them is right.
    """
    found = own(block, weights, faults, *more)
    heard = with_voices(block, groups=groups)
    probability = find_chances(heard, np.clip(error_rate, _LEAST, 1 - _LEAST), chance=chance)
    group, _ = _label_groups(block)
    alone = 1 / np.bincount(group).take(group)  # so that each label of a task counts once
    chosen = block.label == block.to_answers(found["label"])
    decided = np.maximum.reduceat(np.where(chosen, probability, 0.0), block.starts)
    ahead = probability >= block.to_answers(decided) - _TIE
    mean = block.per_task(np.where(ahead, alone * probability, 0.0)) / block.per_task(np.where(ahead, alone, 0.0))
    known = {} if correlation is None else {"voices": count_effective_voices(heard, correlation)}
    return {**found, "confidence": line.mend(mean), **known}


def _label_groups(block: Block) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """Return, per answer, the number of its task's label among all such of the block, and per task how many it has."""
    slot, count = number_within_tasks(block)
    group: npt.NDArray[np.intp] = block.to_answers(np.cumsum(count) - count) + slot
    return group, count


def _score(
    block: Block, error_rate: Floats, n_wrong: float
) -> tuple[npt.NDArray[np.intp], Floats, npt.NDArray[np.int64]]:
    """Return, per answer, its group, per group its score, and per task the number of its groups."""
    group, count = _label_groups(block)
    return group, sum_by(group, _odds(block, error_rate, n_wrong), int(count.sum())), count


def _odds(block: Block, error_rate: Floats, n_wrong: float) -> Floats:
    odds = np.maximum(np.log((1 - error_rate) * n_wrong / error_rate), 0.0)
    own: Floats = find_answer_weights(block).weight * odds.take(block.worker)
    return own


def _wrong_pairs(block: Block, error_rate: Floats, *, n_wrong: float) -> dict[str, Floats]:
    """Count, with the first worker of each task, the pairs of answers that are not its likeliest label, and the same.

    Copies count once: a pair of voices counts by their product, and a voice makes no pair with itself.
    """
    group, score, count = _score(block, error_rate, n_wrong)
    task = np.repeat(np.arange(block.n_tasks), count)
    first = np.cumsum(count) - count
    wrong = score < np.maximum.reduceat(score, first)[task]
    ties = np.flatnonzero(~wrong)
    wrong[ties[np.diff(task[ties], prepend=-1) == 0]] = True  # of labels with the same score one is right
    voice = find_answer_weights(block).weight
    voices = sum_by(group, voice, len(score)) * wrong
    total = np.add.reduceat(voices, first)
    same = np.add.reduceat(voices * np.maximum(voices - 1, 0.0), first) / 2
    lead = block.first_worker
    return {
        "same": sum_by(lead, same, block.n_workers),
        "pairs": sum_by(lead, total * np.maximum(total - 1, 0.0) / 2, block.n_workers),
    }


def _held_out(block: Block, error_rate: Floats, *, n_wrong: float) -> dict[str, Floats]:
    """Add up, per worker, the log likelihoods of her answers given those of the others, a column per temperature."""
    slot, count = number_within_tasks(block)
    odds, width = _odds(block, error_rate, n_wrong), int(count.max())
    rows = odds[:, None] * np.eye(width)[slot]
    others = subtract_own_group(block, block.per_task(rows), rows)
    own = others[np.arange(len(slot)), slot]
    ahead = np.where(np.arange(width) < block.to_answers(count)[:, None], others - own[:, None], -np.inf)
    nobody = np.maximum(n_wrong + 1 - block.to_answers(count), 0.0)
    rate, voice, sums = error_rate.take(block.worker), find_answer_weights(block).weight, []
    for beta in _TEMPERATURES:
        named = np.exp(np.minimum(beta * ahead, _MAX_EXPONENT)).sum(axis=1)
        q = 1 / (named + nobody * np.exp(np.minimum(-beta * own, _MAX_EXPONENT)))
        sums.append(block.per_worker(voice * np.log(q * (1 - rate) + (1 - q) * rate / n_wrong)))
    return {"likelihood": np.stack(sums, axis=1)}
