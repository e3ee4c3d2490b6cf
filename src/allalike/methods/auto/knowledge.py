"""Knows or guesses: worker w knows the label of a task with probability s_w, and otherwise guesses it.

The guess is label l with probability g_wl (Hovy and others: Learning whom to trust with MACE. 2013). With equal class
shares,

    P[c] ~ product over the answers with l = c of (1 + s_w / ((1 - s_w) g_wc)).

EM starts from vote shares. Each worker has half a prior answer that they knew, and as many that they guessed; their
guesses have prior answers with equal shares of the labels. Copies must be collapsed first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike.engines import Run
from allalike.engines.memory import MemoryRun
from allalike.engines.sample import join_blocks, sample_tasks
from allalike.methods.steps.vote_matrix import softmax

WORTH_SAMPLING = 300_000  # answers above which parts of the crowd represent it
_WORKER_ANSWERS, _LEAST_SAMPLE, _SAMPLE_ANSWERS = 200, 60_000, 400_000  # in a sample: per worker, and limits
_MUCH_LARGER = 1.5
_FEW_WORKERS = 0.05  # share of the workers who may have fewer answers in a sample
_FEW_ANSWERS = 20_000  # up to which fits are exact
_ROUNDS, _TOLERANCE = 60, 1e-5
_FEW_ROUNDS, _ROUGHLY = 25, 1e-3  # rounds of a fit from an earlier one; tolerance of this and of large fits
_FINAL_ROUNDS = 3
_MARGIN, _COMPARED_PRIOR = 3.0, 20.0  # nats; prior answers of a worker's guesses, for the comparison with class shares
_LEAST_REST, _MOST_REST = 0.25, 0.95  # share of other classes than the most frequent, relative to that of the answers
_LEAST, _LEAST_GUESS = 1e-3, 1e-4  # minimum distance of a skill from 0 and 1; minimum probability of a guess


def take_sample(run: Run, per_worker: float = _WORKER_ANSWERS, most: float = _SAMPLE_ANSWERS) -> MemoryRun:
    """Return all tasks of a small crowd, and otherwise a sample with enough answers of nearly every worker.

    95 % of the workers keep ``per_worker`` of their answers, unless the sample would be much larger than ``most``.
    """
    needed = count_needed(run, per_worker)
    return sample_tasks(run, int(most if needed > _MUCH_LARGER * most else needed))


def count_needed(run: Run, per_worker: float) -> float:
    """Return the size of a sample with so many answers of nearly every worker: that of a small crowd itself."""
    answers = run.answer_counts[run.answer_counts > 0]
    needed = float(answers.sum())
    if needed > WORTH_SAMPLING:
        needed = max(_LEAST_SAMPLE, per_worker * needed / float(np.quantile(answers, _FEW_WORKERS)))
    return needed


class Knowledge(NamedTuple):
    """Probability of knowing per worker, and of guessing each label if they do not know."""

    skill: Floats
    guess: Floats

    @property
    def evidence(self) -> Floats:
        """The log odds that an answer is right, per worker and label."""
        return np.asarray(np.log1p((self.skill / (1 - self.skill))[:, None] / self.guess))

    @property
    def confusion(self) -> Floats:
        """The confusion matrix of each worker."""
        guesses = ((1 - self.skill)[:, None] * self.guess)[:, :, None]
        matrix = guesses + self.skill[:, None, None] * np.eye(self.guess.shape[1])
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


class CellFit(NamedTuple):
    """Probability that each slot is right, skill of each worker, expected guesses of each cell, and log likelihood."""

    right: Floats
    skill: Floats
    guesses: Floats
    likelihood: float
    context: None = None


class ShareFit(NamedTuple):
    """Probability that each slot is right, the evidence of each worker's labels, class shares, and log likelihood.

    ``context`` contains the log odds of the classes from their shares, and from each answer, whatever its label.
    """

    right: Floats
    evidence: Floats
    share: Floats
    context: Floats
    likelihood: float


@dataclass(frozen=True)
class AnswerTable:
    """Answers of a sample as arrays, sorted by task and label.

    A ``slot`` is a distinct pair of task and label, a ``cell`` a distinct pair of worker and label.
    """

    task: Array
    worker: Array
    label: Array
    slot: Array
    slot_start: Array
    slot_task: Array
    task_start: Array
    cell: Array
    cell_worker: Array
    cell_label: Array
    n_workers: int
    n_tasks: int
    k: int
    gold: Array

    @classmethod
    def of(cls, sample: MemoryRun) -> AnswerTable:
        """List the answers of a sample."""
        block, k = join_blocks(sample.blocks, len(sample.workers)), sample.encoding.n_labels
        gold = np.full(block.n_tasks, np.nan)
        gold[block.gold_task] = block.gold_label
        label = block.label.astype(np.intp)
        return cls.sort(block.task, block.worker, label, n_workers=block.n_workers, k=k, gold=gold)

    @classmethod
    def sort(cls, task: Array, worker: Array, label: Array, *, n_workers: int, k: int, gold: Array) -> AnswerTable:
        """Sort answers; ``gold`` is the gold label of each task or NaN."""
        key = task * k + label
        order = np.argsort(key, kind="stable")
        task, worker, label, key = (each[order] for each in (task, worker, label, key))
        new_slot = np.append(True, np.diff(key) != 0)
        slot_start = np.flatnonzero(new_slot)
        slot_task = task[slot_start]
        cells, cell = np.unique(worker * k + label, return_inverse=True)
        return cls(
            task=task,
            worker=worker,
            label=label,
            slot=np.cumsum(new_slot) - 1,
            slot_start=slot_start,
            slot_task=slot_task,
            task_start=np.flatnonzero(np.append(True, np.diff(slot_task) != 0)),
            cell=cell,
            cell_worker=cells // k,
            cell_label=cells % k,
            n_workers=n_workers,
            n_tasks=len(gold),
            k=k,
            gold=gold,
        )

    def per_worker(self, values: Array) -> Floats:
        """Sum values of answers per worker."""
        return sum_by(self.worker, values, self.n_workers)

    def fit(self, weight: Floats | None = None, start: Floats | None = None, *, prior: float = 1.0) -> CellFit:
        """Fit the model by EM, with task weights and from probabilities of slots, if given.

        ``prior`` is the number of prior answers of a worker's guesses.
        """
        rounds = _ROUNDS if start is None else _FEW_ROUNDS
        tolerance = _TOLERANCE if start is None and len(self.task) <= _FEW_ANSWERS else _ROUGHLY
        n_cells, n_tasks = len(self.cell_worker), self.n_tasks
        slot_weight: Floats = np.ones(len(self.slot_start)) if weight is None else weight[self.slot_task]
        counts = np.bincount(self.cell, slot_weight[self.slot], n_cells)
        answers = np.bincount(self.cell_worker, counts, self.n_workers)
        given = np.diff(np.append(self.slot_start, len(self.slot)))
        unseen = np.maximum(self.k - np.bincount(self.slot_task, minlength=n_tasks), 0)
        shares: Floats = given / np.bincount(self.slot_task, given, n_tasks)[self.slot_task]
        right = shares if start is None else start
        hits = sum_by(self.cell, (slot_weight * right)[self.slot], n_cells)
        beyond_chance = np.bincount(self.cell_worker, hits - counts / self.k, self.n_workers) / (1 - 1 / self.k)
        new_skill, new_guesses = np.clip((beyond_chance + 0.5) / (answers + 1), 0.02, 0.98), counts - hits
        for _ in range(rounds):
            skill, guesses = new_skill, new_guesses
            all_guesses = np.bincount(self.cell_worker, guesses, self.n_workers)[self.cell_worker]
            guess = np.clip((guesses + prior / self.k) / (all_guesses + prior), _LEAST_GUESS, 1)
            own = skill[self.cell_worker]
            score = sum_by(self.slot, np.log1p(own / ((1 - own) * guess)).take(self.cell), len(right))
            top = np.maximum(np.maximum.reduceat(score, self.task_start), 0.0)
            odds: Floats = np.exp(score - top[self.slot_task])
            total = sum_by(self.slot_task, odds, n_tasks) + unseen * np.exp(-top)
            before, right = right, odds / total[self.slot_task]
            hits = sum_by(self.cell, (slot_weight * right)[self.slot], n_cells)
            known: Floats = hits * own / (own + (1 - own) * guess)
            new_guesses = counts - known
            knows = np.bincount(self.cell_worker, known, self.n_workers)
            new_skill = np.clip((knows + 0.5) / (answers + 1), _LEAST, 1 - _LEAST)
            if np.abs(right - before).max() < tolerance:
                break
        of_tasks = np.ones(n_tasks) if weight is None else weight
        likelihood = counts @ np.log((1 - own) * guess) + of_tasks @ (top + np.log(total / self.k))
        return CellFit(right, skill, guesses, float(likelihood))

    def fit_shares(self, weight: Floats | None = None, start: Floats | None = None) -> ShareFit:
        """Fit class shares and one accuracy per worker by EM, with task weights and from probabilities, if given.

        Wrong labels have the frequencies of the labels: P(l | c) = (1 - accuracy) f_l / (1 - f_c).
        """
        k, n_tasks, cell = self.k, self.n_tasks, self.task * self.k + self.label
        frequency = (np.bincount(self.label, minlength=k) + 1) / (len(self.label) + k)
        rest = np.log1p(-frequency)
        sizes = np.bincount(self.task, minlength=n_tasks)[:, None]
        of_task: Floats = np.ones(n_tasks) if weight is None else weight
        of_answer = of_task[self.task]
        answers, slot = self.per_worker(of_answer), cell[self.slot_start]
        if start is None:
            given = np.diff(np.append(self.slot_start, len(self.slot)))
            start = given / np.bincount(self.slot_task, given, n_tasks)[self.slot_task]
        belief = np.zeros((n_tasks, k))
        belief.flat[slot] = start
        for _ in range(_ROUNDS):
            before = belief
            accuracy = (self.per_worker(of_answer * belief.ravel()[cell]) + 1) / (answers + 2)
            share = (of_task @ belief + 1) / (of_task.sum() + k)
            evidence = np.log(accuracy / (1 - accuracy))[:, None] + rest - np.log(frequency)
            score = sum_by(cell, evidence[self.worker, self.label], n_tasks * k).reshape(-1, k)
            belief, likelihood = softmax(score + np.log(share) - sizes * rest)
            if np.abs(belief - before).max() < _ROUGHLY:
                break
        wrong = self.per_worker(of_answer * np.log(frequency)[self.label]) + answers * np.log(1 - accuracy)
        context = np.stack([np.log(share), -rest])
        return ShareFit(belief.ravel()[slot], evidence, share, context, float(of_task @ likelihood + wrong.sum()))

    def know(self, fit: CellFit, prior: float = 1.0) -> Knowledge:
        """Return the parameters of a fit as arrays with a row per worker."""
        guesses = np.zeros((self.n_workers, self.k))
        guesses[self.cell_worker, self.cell_label] = fit.guesses
        return Knowledge(fit.skill, _share_guesses(guesses, prior))

    def weigh(self, fit: CellFit | ShareFit) -> Floats:
        """Return the evidence of each worker's labels."""
        return fit.evidence if isinstance(fit, ShareFit) else self.know(fit).evidence

    def first_tasks(self, most: int) -> AnswerTable:
        """Return the first tasks, up to this number of answers."""
        if len(self.task) <= most:
            return self
        last = int(self.task[most])
        rows = self.task < last
        parts = self.task[rows], self.worker[rows], self.label[rows]
        return AnswerTable.sort(*parts, n_workers=self.n_workers, k=self.k, gold=self.gold[:last])


def _share_guesses(guesses: Floats, prior: float) -> Floats:
    guess = (guesses + prior / guesses.shape[1]) / (guesses.sum(axis=1) + prior)[:, None]
    return np.asarray(np.clip(guess, _LEAST_GUESS, 1))


def fit_knowledge(run: Run, sample: MemoryRun, counts: Floats, *, prior: float) -> Knowledge:
    """Fit the model to a sample, and in further rounds to the run, given the label counts of its workers."""
    table = AnswerTable.of(sample)
    known = table.know(table.fit(prior=prior), prior)
    for _ in range(_FINAL_ROUNDS if sample.n_tasks < run.n_tasks else 0):
        hits = run.sum(partial(_count_right, k=table.k), known.evidence)["hits"]
        knew = hits * -np.expm1(-known.evidence)
        skill = np.clip((knew.sum(axis=1) + 0.5) / (counts.sum(axis=1) + 1), _LEAST, 1 - _LEAST)
        known = Knowledge(skill, _share_guesses(counts - knew, prior))
    return known


def have_unequal_shares(table: AnswerTable) -> bool:
    """Return whether unequal class shares, with one accuracy per worker, are more likely than guesses.

    Then a rare label is a rare class rather than the answer of those who know. Errors make the most frequent class
    rarer among the answers than among the tasks. If nearly all other labels are errors, shares explain nothing.
    """
    if table.k < 2:
        return False
    some = table.first_tasks(_FEW_ANSWERS)
    fit = some.fit_shares()
    votes = np.bincount(some.label, minlength=some.k) / len(some.label)
    top = votes.argmax()
    plausible = _LEAST_REST * (1 - votes[top]) < 1 - fit.share[top] < _MOST_REST * (1 - votes[top])
    return bool(plausible and fit.likelihood > some.fit(prior=_COMPARED_PRIOR).likelihood + _MARGIN)


def find_class_probabilities(block: Block, evidence: Floats, *, k: int, context: Floats | None = None) -> Floats:
    """Return the probability of each class per task, given the evidence of the workers' labels, and class shares."""
    labels = evidence.ravel().take(block.worker * k + block.label)
    score = sum_by(block.task * k + block.label, labels, block.n_tasks * k).reshape(-1, k)
    if context is not None:
        score += context[0] + block.sizes[:, None] * context[1]
    return softmax(score)[0]


def find_right(block: Block, evidence: Floats, *, k: int, context: Floats | None = None) -> Floats:
    """Return the probability that each answer is right."""
    belief = find_class_probabilities(block, evidence, k=k, context=context)
    return belief.ravel().take(block.task * k + block.label)


def _count_right(block: Block, evidence: Floats, *, k: int) -> dict[str, Floats]:
    hits = sum_by(block.worker * k + block.label, find_right(block, evidence, k=k), block.n_workers * k)
    return {"hits": hits.reshape(-1, k)}
