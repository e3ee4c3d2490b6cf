"""Ladder: from the plain vote to rich hypotheses on the answers, and no step that the crowd itself does not bear out.

1. **The vote** stands where nothing else is safe: fewer than four workers, fewer than two answers per task, workers who
   are alike, and crowds in which most answers come from workers who say one label only, such as labelling functions.
   Where workers are alike, or fewer than four, ties go to whoever is closer to the others; else they are drawn.
2. **Hypotheses** (`hypotheses`) that foresee answers left out clearly worse than the votes do are dropped
   (`left_out`). The likeliest that is left is taken, unless halves of the workers clearly refute it (`reproduction`).
3. Else the **weighted vote** of the consensus is taken, if it foresees answers as well and the halves side with it.
4. Else it is the vote. In all of this a group of copies has one voice.
5. Of two classes, each hypothesis has a mirror image that fits as well, and only the votes tell which is which. What
   overturns more than a third of them is not taken: either may be true.

Clearly is always what chance does in one of a hundred cases (2.576 standard errors), and was not fitted to anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import find_answer_weights, subtract_own_group
from allalike._core.columns.hashes import mix
from allalike._core.compiled.calls import cells_of
from allalike.engines.sample import draw_halves, halve, sample_tasks
from allalike.methods.auto.classes.consensus import ALIKE
from allalike.methods.auto.classes.hypotheses import STARTS, ClassCrowd, Hypothesis, choose, prepare, read_from
from allalike.methods.auto.classes.rows import class_posterior, classes_of
from allalike.methods.auto.sureness.intervals import Reliability, find_reliability
from allalike.methods.steps.ballots import add_up, by_problem, count_others, row_peaks, row_sums, softmax, vote_shares

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun


# Answers left out: whether a hypothesis foresees the answers of a worker better than the votes of the others do.
#
# Leave an answer i of worker w to task t out, with those of her whole group. What is decided for t then, with all
# parameters kept, is c(-i), and she **hits** if her label is c(-i): y_i = 1, shared among classes that tie. One coin a
# worker foresees the hits from her other answers,
#
#     a_i = (sum of her other y + 4 mean y) / (n_w - 1 + 4),    score_i = y log a + (1 - y) log((1 - a) / (k - 1)).
#
# d_t is the sum of the scores of a task under the hypothesis, less that under the plain votes, and
#
#     z = sum_t d_t / (standard deviation of d_t * sqrt(tasks))
#
# says how clearly the hypothesis foresees more (Vuong: Likelihood Ratio Tests for Model Selection and Non-Nested
# Hypotheses. Econometrica 57, 1989). It needs tasks to be independent of each other, and nothing of the workers. One
# coin scores, not the hypothesis's own rows: a rich model foresees answers better by being rich, not by being right.


FindHits = Callable[..., "Floats"]
_PRIOR = 4.0  # answers of a usual worker beside her own
_LOW = 1e-3  # no chance of a hit is closer to 0 or 1
_EPS = 1e-9


def find_vote_hits(block: Block, weights: Floats, *, k: int) -> Floats:
    """Return of each answer whether the votes of those who are not of her group decide for its label.

    >>> from allalike._core.blocks.block import Block
    >>> find_vote_hits(Block.of([[0], [1], [1]]), np.ones(3), k=2)
    array([0. , 0.5, 0.5])
    """
    return count_others(block, find_answer_weights(block).weight * weights.take(block.worker), block.label, k).hit


def find_class_hits(block: Block, rows: Floats, shares: Floats, *, k: int) -> Floats:
    """Return of each answer whether its label is the most probable class without the answers of her group."""
    own = find_answer_weights(block).weight[:, None] * rows[block.worker, block.label]
    states = add_up(cells_of(block, k), rows) + shares.take(block.first_worker, axis=0)
    others = classes_of(softmax(subtract_own_group(block, states, own))[0], k)
    least = row_peaks(others) - _EPS
    winners = row_sums((others >= least[:, None]).astype(np.float64))
    return np.where(others[np.arange(len(others)), block.label] >= least, 1.0 / winners, 0.0)


@dataclass(frozen=True)
class _Hits:
    """Of each answer: whether it is a hit, and its voice if others have answered, too."""

    hit: Floats
    met: Floats


@dataclass(frozen=True)
class _PlainScores:
    """Of each task: how well one coin a worker foresees the hits of its answers under the plain votes."""

    score: Floats


class Foreseen:
    """How plain votes foresee the answers of a run, with which hypotheses are compared."""

    def __init__(self, run: Run, k: int) -> None:
        self._k = k
        heard = self._look(run, find_vote_hits, np.ones(run.problems.n_workers))
        self._run = heard.map(partial(_keep_scores, coins=_toss(heard), k=k))

    def compare(self, find_hits: FindHits, *params: Floats) -> Floats:
        """Return z of each problem: how clearly what decides without an answer foresees more than votes do."""
        heard, problems = self._look(self._run, find_hits, *params), self._run.problems
        sums = heard.sum(partial(_gains, k=self._k), _toss(heard))
        gain, squares, tasks = (problems.add(sums[name]) for name in ("gain", "squares", "tasks"))
        variance = np.maximum(squares - gain**2 / np.maximum(tasks, 1.0), 0.0)
        told = variance > _EPS
        return np.where(told, gain / np.sqrt(np.where(told, variance, 1.0)), 0.0)

    def _look(self, run: Run, find_hits: FindHits, *params: Floats) -> Run:
        return run.map(partial(_keep_hits, find_hits=find_hits, params=params, k=self._k))


def _keep_hits(block: Block, *, find_hits: FindHits, params: tuple[Floats, ...], k: int) -> Block:
    voice = find_answer_weights(block).weight
    met = np.where(block.to_answers(block.per_task(voice) > 1 + _EPS), voice, 0.0)
    return block.keeping(_Hits(find_hits(block, *(each[block.workers] for each in params), k=k), met))


def _toss(heard: Run) -> Floats:
    """Return the coin of each worker: how many hits she has, in how many answers, and the mean of her problem."""
    problems, sums = heard.problems, heard.sum(_count_hits)
    mean = problems.total(sums["hits"]) / np.maximum(problems.total(sums["met"]), _EPS)
    return np.column_stack([sums["hits"], sums["met"], mean])


def _count_hits(block: Block) -> dict[str, Floats]:
    hits = block[_Hits]
    return {"hits": block.per_worker(hits.met * hits.hit), "met": block.per_worker(hits.met)}


def _keep_scores(block: Block, *, coins: Floats, k: int) -> Block:
    return block.keeping(_PlainScores(_score(block, coins[block.workers], k)))


def _score(block: Block, coins: Floats, k: int) -> Floats:
    """Return, per task, how well one coin a worker foresees the hits of the answers."""
    hit, met = block[_Hits].hit, block[_Hits].met
    hits, answers, mean = (column.take(block.worker) for column in coins.T)
    chance = (hits - met * hit + _PRIOR * mean) / np.maximum(answers - met + _PRIOR, _EPS)
    chance = np.clip(chance, _LOW, 1 - _LOW)
    return block.per_task(met * (hit * np.log(chance) + (1 - hit) * np.log((1 - chance) / (k - 1))))


def _gains(block: Block, coins: Floats, *, k: int) -> dict[str, Floats]:
    """Add up, for each problem, by how much the scores of its tasks are better than those of plain votes."""
    gain = _score(block, coins, k) - block[_PlainScores].score
    return {
        "gain": by_problem(block, gain),
        "squares": by_problem(block, gain**2),
        "tasks": by_problem(block, np.ones(block.n_tasks)),
    }


# Reproduction: whether two halves of the workers, each for herself, come to the same hypothesis on the answers.
#
# Workers are put into two halves at random, again and again. X_A and X_B are what the halves decide for a task by a
# hypothesis, V_A and V_B what they decide by plain votes. Two things are asked:
#
# - **Support**. Where a hypothesis overturns the vote in one half, does the hypothesis of the other half side with it?
#
#       S = sum([X_B = X_A] - [X_B = V_A]) / sqrt(sum of squares),    over tasks with X_A != V_A, and vice versa.
#
# - **Information**. Do the hypotheses of both halves tell more of each other than their votes do? I is the mutual
#   information of X_A and X_B less that of V_A and V_B, over its standard error: who always says the frequent class is
#   reproduced perfectly, and tells nothing.


def find_support(found: tuple[Array, Array], plain: tuple[Array, Array], problem: Array, n: int) -> Floats:
    """Return S of each of n problems, from what two halves decide for the tasks that both have answered.

    >>> found, plain = np.array([[0, 1, 1, 1], [0, 1, 1, 0]]), np.array([[0, 0, 0, 0], [0, 1, 1, 0]])
    >>> find_support(tuple(found), tuple(plain), np.zeros(4, int), 1).round(2)
    array([0.58])
    """
    total, squares = np.zeros(n), np.zeros(n)
    for (one, other), votes in ((found, plain[0]), (found[::-1], plain[1])):
        sides = np.where(one != votes, (other == one) * 1.0 - (other == votes), 0.0)
        total += np.bincount(problem, sides, n)
        squares += np.bincount(problem, sides**2, n)
    return np.asarray(total / np.sqrt(np.maximum(squares, 1.0)))


def find_information(found: tuple[Array, Array], plain: tuple[Array, Array], problem: Array, n: int, k: int) -> Floats:
    """Return I of each of n problems, likewise.

    >>> steady, told = (np.zeros(4, int),) * 2, (np.array([0, 1, 0, 1]),) * 2
    >>> find_information(told, steady, np.zeros(4, int), 1, 2), find_information(steady, told, np.zeros(4, int), 1, 2)
    (array([0.]), array([0.]))
    """
    gain = _shared(*found, problem, n, k) - _shared(*plain, problem, n, k)
    tasks = np.bincount(problem, minlength=n)
    mean = np.bincount(problem, gain, n) / np.maximum(tasks, 1)
    variance = np.bincount(problem, gain**2, n) - tasks * mean**2
    told = variance > _EPS
    return np.where(told, tasks * mean / np.sqrt(np.where(told, variance, 1.0)), 0.0)


def _shared(one: Array, other: Array, problem: Array, n: int, k: int) -> Floats:
    """Return, per task, by how many nats two labels are more probable together than each for itself."""
    joint: npt.NDArray[np.int64] = np.bincount((problem * k + one) * k + other, minlength=n * k * k).reshape(n, k, k)
    rows, columns, total = joint.sum(axis=2), joint.sum(axis=1), joint.sum(axis=(1, 2))
    together = joint[problem, one, other] * total[problem]
    return np.asarray(np.log(together / (rows[problem, one] * columns[problem, other])))


CLEARLY = 2.576  # standard errors, which chance reaches in one of a hundred cases
_MIN_ANSWERS = 2.0  # a task, below which nothing but the vote is stable
_MIN_WORKERS, _MIN_COMPARED = 4, 3  # for a hypothesis, and of whom one can be told from the others
_MAX_TURNED = 1 / 3  # of the votes on two classes
_MAX_ONE_LABEL = 0.5  # of the answers, which workers who say one label only may give
_ONE_LABEL_CHANCE = 1e-3  # of saying one label only, if one answered like the crowd
_HALVINGS = 4
_HALVED_ANSWERS = 50_000  # that tell whether a hypothesis is reproduced
_MIN_TASKS = 5  # that both halves have answered
_LEAST = 1e-9
_DRAW = 1e-6  # how far apart scores must be not to be tied
PLAIN = {
    "alike": "workers are alike",
    "camps": "workers are two camps, each of which agrees with itself only",
    "one label": "most answers come from workers who say one label only",
    "few answers": "there are fewer than two answers per task",
    "few workers": "there are fewer than four workers",
}
TURNED = "all else would overturn more than a third of the votes, and either may be true"
WAYS = ("vote", "weighted vote", "reading")  # to decide, from simple to rich


class Rung(NamedTuple):
    """What is taken."""

    taken: npt.NDArray[np.intp]
    hypothesis: Hypothesis
    borne_out: BorneOut
    others: list[Hypothesis]
    halves: Floats
    turned: npt.NDArray[np.bool_]


class Plain(NamedTuple):
    """Where the vote stands."""

    why: Array
    reliability: Reliability

    @property
    def stands(self) -> npt.NDArray[np.bool_]:
        """Of each problem: whether the vote stands."""
        return np.asarray(self.why != "")


def find_plain(run: Run, crowd: ClassCrowd) -> Plain:
    """Say, of each problem, why its votes are plain, where they need be."""
    problems, k = run.problems, crowd.k
    sums = run.sum(partial(_count_labels, k=k))
    tasks, voices = problems.add(sums["tasks"]), problems.add(crowd.answers)
    said, given = sums["labels"], sums["labels"].sum(axis=1)
    share = problems.add(said) / np.maximum(problems.add(given), 1.0)[:, None]
    chance = given * np.log(np.maximum(problems.spread(share)[np.arange(len(said)), said.argmax(axis=1)], 1e-12))
    constant = (said.max(axis=1) >= given) & (chance < np.log(_ONE_LABEL_CHANCE))
    one_label = problems.add(np.where(constant, given, 0.0)) / np.maximum(problems.add(given), 1.0)
    why, workers = np.full(len(tasks), "", dtype=object), problems.add(crowd.groups.speaks)
    why[workers < _MIN_WORKERS] = PLAIN["few workers"]
    why[crowd.consensus.strength >= ALIKE] = PLAIN["alike"]
    why[voices < _MIN_ANSWERS * tasks] = PLAIN["few answers"]
    why[one_label > _MAX_ONE_LABEL] = PLAIN["one label"]
    why[workers < _MIN_COMPARED] = PLAIN["few workers"]
    return Plain(why, find_reliability(run, k))


def climb_ladder(crowd: ClassCrowd, stands: npt.NDArray[np.bool_]) -> Rung:
    """Take, of each problem, the last step that the crowd bears out; its answers are in memory.

    Where votes stand, they are taken.
    """
    foreseen = Foreseen(crowd.run, crowd.k)
    hypotheses = [read_from(crowd, start) for start in STARTS]
    best = _best_of(hypotheses, crowd, foreseen)
    borne_out = _bear_out(crowd, best)
    differ = crowd.consensus.strength < ALIKE
    taken = np.zeros(len(differ), np.intp)
    weighs = foreseen.compare(find_vote_hits, crowd.consensus.weight) >= -CLEARLY
    weighs &= differ & borne_out.stands("weighted vote", least=0.0)
    reads = differ & np.isfinite(best.margin) & borne_out.stands("reading")
    turned = _find_turned(crowd, best)
    taken[weighs & ~turned["weighted vote"]] = WAYS.index("weighted vote")
    taken[reads & ~turned["reading"]] = WAYS.index("reading")
    taken[stands] = 0
    halves = np.choose(taken, [borne_out.again[name] for name in WAYS])
    return Rung(taken, best, borne_out, hypotheses, halves, (reads | weighs) & (taken == 0) & ~stands)


def _best_of(hypotheses: list[Hypothesis], crowd: ClassCrowd, foreseen: Foreseen) -> Hypothesis:
    """Return the likeliest hypothesis of each problem among those that do not foresee answers clearly worse than votes.

    Where all do, its margin is infinite.
    """
    while True:
        best = reduce(partial(choose, crowd=crowd), hypotheses)
        worse = foreseen.compare(find_class_hits, best.rows, best.shares) < -CLEARLY
        worse &= np.isfinite(best.margin)
        if not worse.any():
            return best
        out = [worse & (each.start == best.start) for each in hypotheses]
        hypotheses = [
            replace(each, margin=np.where(of, np.inf, each.margin)) for each, of in zip(hypotheses, out, strict=True)
        ]


def _find_turned(crowd: ClassCrowd, best: Hypothesis) -> dict[str, npt.NDArray[np.bool_]]:
    """Tell, of each problem, whether a weighted vote and a hypothesis overturn too many votes on two classes."""
    problems = crowd.run.problems
    if crowd.k > 2:
        return dict.fromkeys(WAYS[1:], np.zeros(len(problems.sizes), bool))
    sums = crowd.run.sum(partial(_count_turned, k=crowd.k), crowd.consensus.weight, best.rows, best.shares)
    tasks = problems.add(sums["tasks"])
    return {name: problems.add(sums[name]) > _MAX_TURNED * tasks for name in WAYS[1:]}


def _count_turned(block: Block, weights: Floats, rows: Floats, shares: Floats, *, k: int) -> dict[str, Floats]:
    """Count the tasks that are decided for a class which has fewer votes than the other, and all that are not tied."""
    votes = vote_shares(block, np.ones(block.n_workers), k=k)
    tables = vote_shares(block, weights, k=k), class_posterior(block, rows, shares, k=k)
    found = {"tasks": np.ptp(votes, axis=1) > _DRAW}
    for name, table in zip(WAYS[1:], tables, strict=True):
        found[name] = votes[np.arange(len(votes)), table.argmax(axis=1)] < votes.max(axis=1) - _DRAW
    return {name: by_problem(block, each.astype(np.float64)) for name, each in found.items()}


@dataclass(frozen=True)
class BorneOut:
    """How clearly halves of the workers bear out what is taken in place of the vote, the mean over all halvings."""

    support: dict[str, Floats]
    information: dict[str, Floats]
    again: dict[str, Floats]
    told: npt.NDArray[np.bool_]

    def stands(self, name: str, *, least: float = -CLEARLY) -> npt.NDArray[np.bool_]:
        """Tell, of each problem, whether the halves do not refute a way to decide, and support it so much at least."""
        return np.asarray(self.told & (self.support[name] >= least) & (self.information[name] >= -CLEARLY))

    def describe(self) -> dict[str, float]:
        """Return what a summary can say of a single problem."""
        return {"support": float(self.support["reading"][0]), "information": float(self.information["reading"][0])}


def _bear_out(crowd: ClassCrowd, best: Hypothesis) -> BorneOut:
    """Have halves of the workers decide, and compare what they find."""
    n, k = len(crowd.run.problems.sizes), crowd.k
    support, information, again = ({name: np.zeros(n) for name in WAYS} for _ in range(3))
    told = np.ones(n, bool)
    starts = [start for start in STARTS if (best.start == start).any()]
    sample = sample_tasks(crowd.run, _HALVED_ANSWERS, with_gold=False, again=True)
    for number in range(_HALVINGS):
        labels, problem = _decide_halves(sample, crowd, starts, number)
        tasks = np.bincount(problem, minlength=n)
        told &= tasks >= _MIN_TASKS
        for name, (one, other) in labels.items():
            same = np.bincount(problem, one == other, n)
            again[name] += same / np.maximum(tasks, 1) / _HALVINGS
        for name in WAYS[1:]:
            support[name] += find_support(labels[name], labels["vote"], problem, n) / _HALVINGS
            information[name] += find_information(labels[name], labels["vote"], problem, n, k) / _HALVINGS
    return BorneOut(support, information, again, told)


def _decide_halves(
    sample: MemoryRun, crowd: ClassCrowd, starts: list[str], number: int
) -> tuple[dict[str, tuple[Array, Array]], Array]:
    """Return what both halves decide, in several ways, for tasks that both have answered, and the problem of each."""
    run, order = halve(sample, draw_halves(sample, crowd.groups.number, number))
    half, _ = prepare(run, crowd.groups.take(order))
    best = _best_of([read_from(half, start) for start in starts], half, Foreseen(half.run, half.k))
    few = (half.consensus.strength >= ALIKE) | (half.run.problems.add(half.groups.speaks) < _MIN_COMPARED)
    use = run.problems.spread(~few & np.isfinite(best.margin)).astype(np.float64)
    params = best.rows, best.shares, use, half.consensus.weight
    part = run.problems.spread(np.arange(len(run.problems.sizes))).astype(np.float64)
    found = half.run.collect(partial(_decide, k=half.k, salt=number), part, *params)
    key = np.lexsort((found["part"], found["hash"], found["part"] // 2))
    part, task = found["part"][key], found["hash"][key]
    pair = np.flatnonzero((task[1:] == task[:-1]) & (part[1:] == part[:-1] + 1) & (part[:-1] % 2 == 0))
    labels = {name: found[name][key] for name in WAYS}
    return {name: (each[pair], each[pair + 1]) for name, each in labels.items()}, part[pair] // 2


def _decide(
    block: Block, part: Floats, rows: Floats, shares: Floats, use: Floats, weights: Floats, *, k: int, salt: int
) -> dict[str, Array]:
    """Decide tasks by votes, by the consensus, and by a hypothesis, where it is to be used.

    Ties are drawn by a hash of half, task and label: two halves that draw alike would seem to agree.
    """
    first = block.first_worker
    number = part.take(first).astype(np.int64)
    drawn = mix(block.task_hash ^ mix((number * _HALVINGS + salt).astype(np.uint64)))
    noise = mix(drawn[:, None] ^ np.arange(k, dtype=np.uint64)) / 2.0**64
    vote, consensus = (vote_shares(block, each, k=k) for each in (np.ones(block.n_workers), weights))
    hypothesis = np.where(use.take(first)[:, None] > 0, class_posterior(block, rows, shares, k=k), consensus)
    tables = {"vote": vote, "weighted vote": consensus, "reading": hypothesis}
    labels = {name: (table + _DRAW * noise).argmax(axis=1) for name, table in tables.items()}
    return {**labels, "hash": block.task_hash, "part": number}


def _count_labels(block: Block, *, k: int) -> dict[str, Floats]:
    """Count the labels of each worker, and the tasks of each problem."""
    cell = np.bincount(block.worker * k + block.label, minlength=block.n_workers * k).astype(np.float64)
    return {"labels": cell.reshape(-1, k), "tasks": by_problem(block, np.ones(block.n_tasks))}
