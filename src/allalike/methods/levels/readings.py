"""Readings: ways to read the same answers, each found from a start of its own, and the choice between them.

EM finds the reading that is most likely near where it begins. It begins at the consensus and at the plain votes; at
seven **cores**, the votes of the best workers who gave a share of the answers; and at the posterior of plain
Dawid-Skene, which knows who confuses which classes. The most likely reading wins, but cores and Dawid-Skene only by 3
nats. From it start two **mirrors**, in which the two most probable classes of hard tasks are exchanged, and which win
by 10 nats: where most workers are fooled in the same way, the mirror image fits better.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.blocks.voices import Voices, find_voices
from allalike.methods.levels.ballots import by_problem, count_ballots, vote_shares
from allalike.methods.levels.consensus import core_weights
from allalike.methods.levels.rows import LEVELS, Rows, estimate_rows, estimate_shares
from allalike.methods.levels.states import begin, class_posterior, count_states, mirrored_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from allalike.blocks.block import Array, Block, Floats
    from allalike.engines import Run
    from allalike.methods.levels.consensus import Consensus
    from allalike.trust.groups import Groups

__all__ = ["STARTS", "Crowd", "Reading", "choose", "find_confusions", "mirror", "read_from"]

_ROUNDS = 5
_FRACTIONS = (0.5, 0.35, 0.25, 0.18, 0.125, 0.09, 0.0625)  # of the answers, which a core gives
STARTS = ("consensus", "majority", *(f"core {fraction}" for fraction in _FRACTIONS), "confusion")
_MARGIN, _MIRROR_MARGIN = 3.0, 10.0  # nats
_EXCHANGED = 0.8  # of the tasks of each of some classes, if these have changed their names
_CONFUSION_ROUNDS = 50
_CONFUSION_PRIOR = 0.01  # answers in each cell
_SETTLED = 1e-7  # nats an answer that a round of Dawid-Skene gains at the end
_SAME = 1e-6  # nats


@dataclass(frozen=True)
class Reading:
    """One reading of the answers of each problem.

    Parameters
    ----------
    start
        Of each problem: the name of the start from which it was found.
    rows, shares
        The logarithms of the probabilities of answers and of states, with a row per worker.
    found
        The rows, with what they are made of.
    counts
        How often each worker probably gave each label to each state.
    likelihood, gold
        Of each problem: the log likelihood of its answers, and that of the truths that are known.
    margin
        Of each problem: by how many nats it must be more likely than others.
    """

    start: Array
    rows: Floats
    shares: Floats
    found: Rows
    counts: Floats
    likelihood: Floats
    gold: Floats
    margin: Floats


@dataclass(frozen=True)
class Crowd:
    """A run, with what every round of EM needs to know.

    Parameters
    ----------
    run
        Where the answers are.
    answers
        How many voices each worker has.
    consensus
        What agreement says of the workers.
    k
        How many labels there are.
    groups
        Who speaks with one voice.
    ranks
        Disagreements, in order, and the rank of each among those of all tasks; blocks that know the levels of their
        tasks need none.
    use_gold
        Whether the truths that are known count.
    """

    run: Run
    answers: Floats
    consensus: Consensus
    k: int
    groups: Groups
    ranks: tuple[Floats, Floats] | None = None
    use_gold: bool = False

    def climb(self, start: str, classes: Callable[..., Floats], *params: Floats, margin: float = 0.0) -> Reading:
        """Find a reading by a few rounds of EM from probabilities of the classes."""
        sums = self.run.sum(partial(begin, classes=classes, ranks=self.ranks, **self._how), *params)
        n = len(self.run.problems.sizes)
        return self.improve(sums, np.full(n, start, dtype=object), np.full(n, margin), rounds=_ROUNDS)

    @property
    def _how(self) -> dict[str, Any]:
        return {"k": self.k, "use_gold": self.use_gold}

    def improve(self, sums: dict[str, Floats], start: Array, margin: Floats, *, rounds: int) -> Reading:
        """Go on with rounds of EM from expected answers."""
        problems = self.run.problems
        for _ in range(rounds):
            found = estimate_rows(sums["counts"], self.answers, self.consensus.strength, problems, self.run.history)
            rows = np.log(found.probability)
            shares = problems.spread(np.log(estimate_shares(problems.add(sums["shares"]), self.k)))
            sums = self.run.sum(partial(count_states, **self._how), rows, shares)
        likelihood, gold = problems.add(sums["likelihood"]), problems.add(sums["gold"])
        return Reading(start, rows, shares, found, sums["counts"], likelihood, gold, margin)


def read_from(crowd: Crowd, start: str, known: Mapping[str, tuple[Floats, Floats]]) -> Reading:
    """Find the reading from a start that is no mirror.

    Known are the rows and shares of plain Dawid-Skene, and where there are copies those of the reading in which all
    speak for themselves; that one stands unless another is more likely by 3 nats beyond its own margin.
    """
    if start == "ungrouped":
        return crowd.climb(start, ungrouped_classes, *known[start])
    beside = _MARGIN if "ungrouped" in known else 0.0
    if start == "confusion":
        return crowd.climb(start, class_posterior, *known[start], margin=beside + _MARGIN)
    if start.startswith("core "):
        fraction = float(start.removeprefix("core "))
        weights = core_weights(crowd.run, crowd.consensus, crowd.answers, fraction, crowd.k, use_gold=crowd.use_gold)
        return crowd.climb(start, vote_shares, weights, margin=beside + _MARGIN)
    weights = crowd.consensus.weight if start == "consensus" else np.ones(crowd.run.problems.n_workers)
    return crowd.climb(start, vote_shares, weights, margin=beside)


def ungrouped_classes(block: Block, rows: Floats, shares: Floats, *, k: int) -> Floats:
    """Return how probable each class is if everyone who has a voice speaks for herself."""
    voice = np.where(find_voices(block).voice > 0, 1.0, 0.0)
    alone = replace(block, prepared={}).keeping(Voices(voice, np.arange(len(voice))))
    return class_posterior(alone, rows, shares, k=k)


def mirror(crowd: Crowd, reading: Reading, hardest: int) -> Reading:
    """Find the reading from the mirror image of another, on so many of the hardest levels."""
    order = np.argsort(reading.found.shift.mean(axis=1), axis=1, kind="stable")
    hard = np.zeros((len(order), LEVELS))
    np.put_along_axis(hard, order[:, :hardest], 1.0, axis=1)
    params = reading.rows, reading.shares, crowd.run.problems.spread(hard)
    other = crowd.climb(f"mirror {hardest}", mirrored_classes, *params, margin=_MIRROR_MARGIN)
    return replace(other, margin=np.where(_exchange_classes(crowd, reading, other), np.inf, other.margin))


def _exchange_classes(crowd: Crowd, one: Reading, other: Reading) -> npt.NDArray[np.bool_]:
    """Tell, for each problem, whether classes change their names between readings: two of them, or more in a circle.

    What the classes are called no likelihood can tell, for confusions can be any; workers mean what they say.
    """
    params = one.rows, one.shares, other.rows, other.shares
    both = crowd.run.problems.add(crowd.run.sum(partial(_count_both, k=crowd.k), *params)["both"])
    both = both.reshape(-1, crowd.k, crowd.k)
    moved = both / np.maximum(both.sum(axis=2, keepdims=True), 1e-12) > _EXCHANGED
    moved[:, np.arange(crowd.k), np.arange(crowd.k)] = False
    walks = np.linalg.matrix_power(moved.astype(np.float64), crowd.k)  # of k steps, which only a circle has
    return np.asarray(walks.any(axis=(1, 2)))


def _count_both(
    block: Block, rows: Floats, shares: Floats, other_rows: Floats, other_shares: Floats, *, k: int
) -> dict[str, Floats]:
    """Add up how probable each pair of classes is in two readings of a task."""
    one, other = (class_posterior(block, *each, k=k) for each in ((rows, shares), (other_rows, other_shares)))
    return {"both": by_problem(block, (one[:, :, None] * other[:, None, :]).reshape(-1, k * k))}


def choose(best: Reading, other: Reading, run: Run, *, use_gold: bool) -> Reading:
    """Return, for each problem, the more likely reading: the other one only if it is so by its margin."""
    one, two = (each.likelihood - each.margin + (each.gold if use_gold else 0.0) for each in (best, other))
    wins = two > one + _SAME
    if wins.all() or not wins.any():
        return other if wins.any() else best
    of_worker = run.problems.spread(wins)

    def pick(left: Any, right: Any) -> Any:
        if isinstance(left, Reading | Rows):
            names = [field.name for field in dataclasses.fields(left)]
            return replace(left, **{name: pick(getattr(left, name), getattr(right, name)) for name in names})
        flags = wins if len(left) == len(wins) else of_worker
        return np.where(flags.reshape(-1, *[1] * (left.ndim - 1)), right, left)

    merged: Reading = pick(best, other)
    return merged


def find_confusions(run: Run, k: int) -> tuple[Floats, Floats]:
    """Return the logarithms of the confusions and class shares of plain Dawid-Skene, from the shares of the votes."""
    problems = run.problems
    sums = run.sum(partial(_count_votes, k=k), np.ones(problems.n_workers))
    before = np.full(len(problems.sizes), -np.inf)
    for _ in range(_CONFUSION_ROUNDS):
        counts = sums["counts"] + _CONFUSION_PRIOR
        rows = np.log(counts / counts.sum(axis=1, keepdims=True))
        asked = problems.add(sums["shares"])
        shares = problems.spread(np.log(asked / asked.sum(axis=1, keepdims=True) + 1e-12))
        sums = run.sum(partial(count_states, k=k), rows, shares)
        likelihood = problems.add(sums["likelihood"])
        if (likelihood - before < _SETTLED * problems.add(run.answer_counts)).all():
            break
        before = likelihood
    return rows, shares


def _count_votes(block: Block, weights: Floats, *, k: int) -> dict[str, Floats]:
    return count_ballots(block, vote_shares(block, weights, k=k), k=k)
