"""Hypotheses: ways to read the same answers, each found from a start of its own, and the choice between them.

EM finds the hypothesis that is most likely near where it begins. It begins at the votes of the consensus, and at those
of five **cores**: the best workers who together gave from a half to an eighth of the answers. The most likely
hypothesis wins, but one from a core only by 3 nats.

Two hypotheses fit as well as each other if the sum of the log likelihoods of the tasks under one, less those under the
other, is within two of its standard errors of 0 (Vuong: Likelihood Ratio Tests for Model Selection and Non-Nested
Hypotheses. Econometrica 57, 1989). If they decide many tasks differently, agreement cannot tell which of them is true.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import find_answer_weights
from allalike._core.compiled.calls import cells_of
from allalike.methods.auto.classes.consensus import core_weights, find_agreement, find_consensus
from allalike.methods.auto.classes.rows import (
    TaskLevels,
    begin,
    classes_of,
    count_states,
    disagreement,
    estimate_rows,
    estimate_shares,
    find_levels,
    find_ranks,
    posterior,
)
from allalike.methods.auto.voices import with_voices
from allalike.methods.steps.ballots import vote_shares

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.columns.values import Values
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun
    from allalike.methods.auto.classes.consensus import Consensus
    from allalike.methods.insight import VoiceGroups

_ROUNDS = 5
STARTS = ("consensus", "core 0.5", "core 0.35", "core 0.25", "core 0.18", "core 0.125")
_MARGIN = 3.0  # nats
_SAME = 1e-6  # nats
_MIN_DIFFERENT = 0.2  # of the tasks, which two hypotheses decide differently
_MIN_PLAIN = 0.5  # of the tasks, which any hypothesis worth mentioning decides as a vote does
_STANDARD_ERRORS = 2.0
_LEADERS = 3
_ROUNDING = 1e-12  # of disagreements


@dataclass(frozen=True)
class Hypothesis:
    """One way to read the answers of each problem."""

    start: Array
    rows: Floats
    shares: Floats
    confusion: Floats
    hits: Floats
    likelihood: Floats
    margin: Floats


@dataclass(frozen=True)
class ClassCrowd:
    """A run, with what every round of EM needs to know."""

    run: Run
    answers: Floats
    consensus: Consensus
    k: int
    groups: VoiceGroups
    ranks: tuple[Floats, Floats] | None = None

    def climb(self, start: str, classes: Callable[..., Floats], *params: Floats, margin: float = 0.0) -> Hypothesis:
        """Find a hypothesis by a few rounds of EM from probabilities of the classes."""
        sums = self.run.sum(partial(begin, classes=classes, ranks=self.ranks, k=self.k), *params)
        n = len(self.run.problems.sizes)
        return self.improve(sums, np.full(n, start, dtype=object), np.full(n, margin), rounds=_ROUNDS)

    def agree(self, weight: Floats) -> Floats:
        """Find how often each worker is right, as far as others with these weights can tell."""
        return find_agreement(self.run, self.consensus, weight, self.answers, k=self.k)

    @cached_property
    def agreement(self) -> Floats:
        """How often each worker is right, as far as the consensus can tell; all cores begin with it."""
        return self.agree(self.consensus.weight)

    def improve(self, sums: dict[str, Floats], start: Array, margin: Floats, *, rounds: int) -> Hypothesis:
        """Go on with rounds of EM from expected answers."""
        problems, near = self.run.problems, None
        for _ in range(rounds):
            found = estimate_rows(
                sums["counts"], self.answers, self.consensus.strength, problems, self.run.history, near
            )
            near = found.strength
            rows = found.logarithm
            shares = problems.spread(np.log(estimate_shares(problems.add(sums["shares"]), self.k)))
            sums = self.run.sum(partial(count_states, k=self.k), rows, shares)
        likelihood = problems.add(sums["likelihood"])
        hits = _expected_hits(sums["counts"])
        return Hypothesis(start, rows, shares, found.confusion, hits, likelihood, margin)


def _expected_hits(counts: Floats) -> Floats:
    """Return how many of each worker's answers are probably right.

    >>> _expected_hits(np.arange(8.0).reshape(1, 2, 4))
    array([14.])
    """
    n, k, _ = counts.shape
    hits: Floats = np.einsum("wccg->w", counts.reshape(n, k, k, -1))
    return hits


def read_from(crowd: ClassCrowd, start: str) -> Hypothesis:
    """Find the hypothesis from a start."""
    if start == "consensus":
        return crowd.climb(start, vote_shares, crowd.consensus.weight)
    fraction = float(start.removeprefix("core "))
    weights = core_weights(crowd.agreement, crowd.answers, fraction, crowd.run.problems, crowd.agree)
    return crowd.climb(start, vote_shares, weights, margin=_MARGIN)


def choose(best: Hypothesis, other: Hypothesis, crowd: ClassCrowd) -> Hypothesis:
    """Return, for each problem, the more likely hypothesis: the other one only if it is so by its margin."""
    one, two = (each.likelihood - each.margin for each in (best, other))
    wins = two > one + _SAME
    if wins.all() or not wins.any():
        return other if wins.any() else best
    of_worker = crowd.run.problems.spread(wins)

    def pick(left: Array, right: Array) -> Array:
        flags = wins if len(left) == len(wins) else of_worker
        return np.where(flags.reshape(-1, *[1] * (left.ndim - 1)), right, left)

    names = [field.name for field in dataclasses.fields(best)]
    return replace(best, **{name: pick(getattr(best, name), getattr(other, name)) for name in names})


def prepare(sample: MemoryRun, groups: VoiceGroups) -> tuple[ClassCrowd, tuple[Floats, Floats]]:
    """Have the blocks keep their cells and the levels of their tasks; return also what rank a disagreement has."""
    k = sample.encoding.n_labels
    sample = sample.map(partial(with_voices, groups=groups))
    found = sample.collect(partial(disagreement, k=k))
    problem = np.repeat(np.arange(len(sample.problems.sizes)), sample.problems.sizes)[found["worker"]]
    rank = find_ranks(found["disagreement"], problem)
    rest = iter(np.split(find_levels(rank), np.cumsum([block.n_tasks for block in sample.blocks])[:-1]))
    order = np.argsort(found["disagreement"])
    ranks = found["disagreement"][order], rank[order]
    new = np.append(
        True, (np.diff(ranks[0]) > _ROUNDING) | (np.diff(ranks[1]) != 0)
    )  # most tasks disagree as others do
    prepared = sample.map(lambda block: block.keeping(cells_of(block, k), TaskLevels(next(rest))))
    return as_crowd(prepared, groups), (ranks[0][new], ranks[1][new])


def as_crowd(run: Run, groups: VoiceGroups) -> ClassCrowd:
    """Find what every round of EM needs to know of a run whose answers have voices."""
    answers, k = run.sum(_count_voices)["voices"], run.encoding.n_labels
    consensus = find_consensus(run, answers, k, groups.number)
    return ClassCrowd(run, answers, consensus, k, groups)


def _count_voices(block: Block) -> dict[str, Floats]:
    return {"voices": block.per_worker(find_answer_weights(block).weight)}


@dataclass(frozen=True)
class Outline:
    """A hypothesis in outline."""

    start: str
    label: Array
    likelihood: Floats
    hits: Floats


def outline(run: Run, hypothesis: Hypothesis, k: int) -> Outline:
    """Return the outline of a hypothesis about one problem."""
    found = run.collect(partial(_decide_tasks, k=k), hypothesis.rows, hypothesis.shares)
    return Outline(str(hypothesis.start[0]), found["label"], found["likelihood"], hypothesis.hits)


def second_hypothesis(
    chosen: Outline, others: list[Outline], plain: Array, answers: Floats, workers: Values
) -> dict[str, Any] | None:
    """Describe the best other hypothesis that fits as well and decides many tasks differently, if there is any."""
    rivals = [other for other in others if _rivals(chosen, other, plain)]
    if not rivals:
        return None
    second = max(rivals, key=lambda other: float(other.likelihood.sum()))
    differs = second.label != chosen.label
    return {
        "start": second.start,
        "tasks": int(differs.sum()),
        "share": float(differs.mean()),
        "nats": float((chosen.likelihood - second.likelihood).sum()),
        "leaders": _leaders(chosen, answers, workers),
        "its_leaders": _leaders(second, answers, workers),
    }


def clearly_better(one: Outline, other: Outline, standard_errors: float) -> bool:
    """Return whether one hypothesis is more likely than another by more than so many standard errors."""
    lead = one.likelihood - other.likelihood
    return bool(lead.sum() > standard_errors * np.sqrt(len(lead)) * lead.std())


def _rivals(chosen: Outline, other: Outline, plain: Array) -> bool:
    different = float((other.label != chosen.label).mean())
    like_votes = float((other.label == plain).mean())
    return (
        different > _MIN_DIFFERENT and like_votes >= _MIN_PLAIN and not clearly_better(chosen, other, _STANDARD_ERRORS)
    )


def _leaders(hypothesis: Outline, answers: Floats, workers: Values) -> list[Any]:
    """Name the workers who are right most often, of those who gave as many answers as half of the workers did."""
    share = np.where(answers >= np.median(answers), hypothesis.hits / np.maximum(answers, 1.0), 0.0)
    return [workers[int(place)] for place in np.argsort(-share, kind="stable")[:_LEADERS]]


def _decide_tasks(block: Block, rows: Floats, shares: Floats, *, k: int) -> dict[str, Array]:
    states, likelihood = posterior(block, rows, shares, k=k)
    return {"label": classes_of(states, k).argmax(axis=1).astype(np.int32), "likelihood": likelihood}
