"""Classes: majority vote, knows-or-guesses or confusion matrices, whichever the answers support.

Copies are collapsed first (`copy_groups`). Then one model is chosen:

1. **Knows or guesses** (`knowledge`) if most answers are by workers who give one label only, and for sparse data (fewer
   than two answers per task) unless class shares are unequal. It has only one skill and one distribution of guesses per
   worker, so it needs few answers and cannot swap classes.
2. The **majority vote** with fewer than three workers, or if an F test finds no difference between them (p >= .01).
3. Knows or guesses for three workers, unless class shares are unequal.
4. **Confusion matrices** with levels of difficulty (`confusion_matrices`), from six starts. If the split-half test
   (`split_half`) refutes them, knows-or-guesses is used if the test favours it, and the majority vote otherwise.

Class shares are unequal if a model with class shares and one accuracy per worker is more likely than knows-or-guesses,
which assumes equal shares and would take most labels of a frequent class for guesses.

With more than 300,000 answers, the model is chosen on a sample of the tasks, with about fifty answers per worker. Three
more rounds then run on all tasks.

Let p be the probability of a label under the model, and s its share of the votes. The **confidence** of the label is

    expit(logit((p + s) / 2) - 0.2),

because shared errors make p too large. With confusion matrices, s = p for a task with a single answer. Gold labels
calibrate confidences (`gold_calibration`). Error rates of workers come from a separate model (`uncertainty`).

The method fails if most workers share a mistake. Fifteen tasks cannot separate accurate workers from lucky ones.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, Ties
from allalike._core.system.progress import report
from allalike.engines import Run
from allalike.engines.memory import MemoryRun
from allalike.engines.sample import sample_tasks
from allalike.methods.auto.confusion_matrices import (
    EQUAL,
    LEVELS,
    ClassCrowd,
    Solution,
    class_posterior,
    describe_alternative,
    find_starts,
    prepare,
    refine,
    solve,
    strength_of,
)
from allalike.methods.auto.copy_groups import collapse, count_effective_voices, decide_collapsed, find_error_correlation
from allalike.methods.auto.gold_calibration import GoldFit, learn, lower_confidence, set_confidence
from allalike.methods.auto.knowledge import (
    AnswerTable,
    find_class_probabilities,
    fit_knowledge,
    have_unequal_shares,
    take_sample,
)
from allalike.methods.auto.next_labels import expect_gains
from allalike.methods.auto.screening import Screening
from allalike.methods.auto.split_half import CLEARLY, test_halves
from allalike.methods.auto.uncertainty import estimate_class_errors
from allalike.methods.fit import Decide, Fit
from allalike.methods.proximity import Peers, normalise
from allalike.methods.steps.vote_matrix import take_most_probable, vote_shares

MAX_CLASSES = 20
VOTE, KNOWS, MATRICES = "majority vote", "knows or guesses", "confusion matrices"
_MIN_ANSWERS = 2.0  # per task
_MIN_WORKERS = 4
_MAX_ONE_LABEL = 0.5  # share of answers by workers who give one label only
_ONE_LABEL_CHANCE = 1e-3  # probability that a worker with the crowd's frequencies gives one label only
_SIGNIFICANT = 0.01
_TIE = 1e-6  # of a vote: breaks ties only
_WORKER_ANSWERS = 50  # per worker, to choose a model
_GUESS_PRIOR = 10.0  # prior answers of a worker's guesses, times k
_HALVED_ANSWERS, _MANY_ANSWERS = 30_000, 20_000  # in the split-half test; many need fewer splits
_TABLES = 20  # tables of answer probabilities in memory at a time
WHY = {
    "camps": "workers are two camps, each of which agrees with itself only",
    "workers": "there are fewer than three workers",
    "three": "there are fewer than four workers",
    "one label": "most answers come from workers who give one label only",
    "sparse": "there are fewer than two answers per task",
    "equal": "workers are equally good",
    "refuted": "a split-half test does not support weights",
}


@dataclass(frozen=True)
class ChosenModel:
    """The chosen model, its parameters per worker, confusion matrices, and facts for the summary."""

    name: str
    params: tuple[Floats, ...]
    confusion: Floats | None = None
    notes: dict[str, Any] = field(default_factory=dict)


def fit_classes(run: Run, screening: Screening, *, sample_answers: int, use_gold: bool) -> Fit:
    """Fit the workers of a run whose labels are classes, after screening for copies."""
    groups, k = screening.groups, run.encoding.n_labels
    whole = collapse(run, groups)
    disparity = Peers(whole).unweighted.mean  # after collapsing, so that copies change nothing
    report("choosing")
    model = choose_model(whole, disparity, sample_answers, camps=screening.camps)
    params = tuple(each[groups.number] for each in model.params)
    how: dict[str, Any] = {"model": model.name, "k": k, "known": None}
    if use_gold and run.n_gold:
        how["known"] = learn(whole, lambda block: estimate(block, model.params, **how)[1])
    known = how["known"]

    def once(kernel: Decide) -> Decide:
        """Count each copy group once per task."""
        collapsed = partial(decide_collapsed, number=groups.number, encoding=run.encoding, decide=kernel)
        return collapsed if groups.has_copies else kernel

    report("weighing")
    sample, screened = take_sample(whole), screening.signal is not None
    uncertainty = estimate_class_errors(whole, sample, use_gold=use_gold, ranks=screened).take(groups.number)
    error_rate = _with_history(uncertainty.shrunk, run)
    weight = run.encoding.noise.weight(error_rate)
    members = np.bincount(groups.number, minlength=len(groups.number))[groups.number]
    weight = np.where(model.name != VOTE or known is not None, weight, 1.0) / members
    notes = {**model.notes, **screening.notes}
    if known is not None:
        notes["gold_calibration"] = {"tasks": known.number, "crowd": known.crowd}
    fit = Fit(
        disparity=disparity[groups.number],
        fault=error_rate,
        weight=normalise(weight),
        error_rate=error_rate,
        confusion=None if model.confusion is None else model.confusion[groups.number],
        decide=once(partial(decide, ties=run.ties, correlation=None, **how)),
        parameters=params,
        probabilities=once(partial(probabilities, **how)),
        notes=notes,
    )
    if screening.signal is None:
        return fit
    calibration = None if known is None else known.confidence
    correlation = None if calibration is None else find_error_correlation(run)
    confidence: dict[str, Any] = {"estimated_from": "model" if calibration is None else "gold"}
    confidence |= {} if correlation is None else {"error_correlation": correlation}
    if calibration is not None:
        listed = sample.collect(partial(_list_confidence, **how), *model.params)["confidence"]
        uncertainty = replace(uncertainty, share_se=calibration.share_error(listed))
    return replace(
        fit,
        decide=once(partial(decide, ties=run.ties, correlation=correlation, **how)),
        copy_groups=groups,
        uncertainty=replace(
            uncertainty,
            **screening.signal._asdict(),
            confidence=confidence,
            expect=partial(_expect_accuracy, params=params, listed=once(partial(_list_confidence, **how))),
        ),
    )


def _with_history(error_rate: Floats, run: Run) -> Floats:
    """Return error rates based on current and earlier answers."""
    if run.history is None:
        return error_rate
    answers, earlier = run.answer_counts, run.history.answers
    return np.asarray((answers * error_rate + earlier * run.history.fault) / np.maximum(answers + earlier, 1))


# Choice of the model --------------------------------------------------------------------------------------------------


def choose_model(run: Run, disparity: Floats, sample_answers: int, *, camps: bool = False) -> ChosenModel:
    """Choose the model for a run without copies."""
    crowd = ClassCrowd.of(run)
    answers, total = crowd.answers, crowd.answers.sum()
    workers, everyone = int((answers > 0).sum()), np.ones(len(answers))
    if camps or workers < 3:
        return ChosenModel(VOTE, (everyone,), notes={"chosen": VOTE, "why": WHY["camps" if camps else "workers"]})
    share = (crowd.counts.sum(axis=0) / total)[crowd.counts.argmax(axis=1)]
    constant = (crowd.counts.max(axis=1) >= answers) & (answers * np.log(share) < np.log(_ONE_LABEL_CHANCE))
    one_label = answers[constant].sum() > _MAX_ONE_LABEL * total
    if one_label or total < _MIN_ANSWERS * run.n_tasks:
        sample = take_sample(run, most=sample_answers)
        if one_label or not have_unequal_shares(AnswerTable.of(sample)):
            return _know_or_guess(crowd, sample, {"why": WHY["one label" if one_label else "sparse"]})
    sample = take_sample(run, _WORKER_ANSWERS, sample_answers)
    sampled = sample.n_tasks < run.n_tasks
    if 8 * _TABLES * len(answers) * crowd.k**2 * LEVELS > run.free_memory:
        return _know_or_guess(crowd, sample, {"lack": "memory"})
    some = prepare(sample)
    agreement, starts = find_starts(some)
    notes: dict[str, Any] = {"f_ratio": agreement.ratio, "prior_answers": agreement.strength}
    if agreement.p_value >= _SIGNIFICANT and strength_of(run.history) >= EQUAL:
        far = np.nan_to_num(disparity, nan=1.0)
        closer = 1 - _TIE * far / max(float(far.max()), _TIE)
        return ChosenModel(VOTE, (closer,), notes={"chosen": VOTE, "why": WHY["equal"], "workers": "equal", **notes})
    if workers < _MIN_WORKERS and not have_unequal_shares(AnswerTable.of(sample)):
        return _know_or_guess(crowd, sample, {"why": WHY["three"], **notes})
    halved = sample_tasks(sample, _HALVED_ANSWERS, with_gold=False, again=True)
    solutions = solve(some, agreement, starts)
    splits = 2 if sampled else 4 if halved.answer_counts.sum() >= _MANY_ANSWERS else 8
    notes["split_half"] = test_halves(halved, partial(_solve_half, like=solutions[0]), splits)
    if notes["split_half"] < -CLEARLY:
        if test_halves(halved, _know_half, splits) > 0:
            return _know_or_guess(crowd, sample, {"why": WHY["refuted"], **notes})
        return ChosenModel(VOTE, (everyone,), notes={"chosen": VOTE, "why": WHY["refuted"], **notes})
    alternative = describe_alternative(some, solutions, run.workers)
    chosen = refine(crowd, agreement.strength, solutions[0]) if sampled else solutions[0]
    notes |= {"chosen": MATRICES, "start": chosen.start, **({"alternative": alternative} if alternative else {})}
    return ChosenModel(MATRICES, (chosen.rows, chosen.shares), chosen.confusion, notes)


def _know_or_guess(crowd: ClassCrowd, sample: MemoryRun, notes: dict[str, Any]) -> ChosenModel:
    known = fit_knowledge(crowd.run, sample, crowd.counts, prior=_GUESS_PRIOR * crowd.k)
    return ChosenModel(KNOWS, (known.evidence,), known.confusion, {"chosen": KNOWS, **notes})


def _solve_half(run: MemoryRun, *, like: Solution) -> Floats:
    """Return class probabilities of a half, from the start of the solution for the crowd."""
    crowd = prepare(run)
    best = solve(crowd, *find_starts(crowd, like.start), like.place)[0]
    return class_posterior(run.blocks[0], best.rows, best.shares, k=crowd.k)


def _know_half(run: MemoryRun) -> Floats:
    crowd = ClassCrowd.of(run)
    evidence = fit_knowledge(run, run, crowd.counts, prior=_GUESS_PRIOR * crowd.k).evidence
    return find_class_probabilities(run.blocks[0], evidence, k=crowd.k)


# Labels ---------------------------------------------------------------------------------------------------------------


def estimate(
    block: Block, params: tuple[Floats, ...], *, model: str, k: int, known: GoldFit | None
) -> tuple[Floats, Floats]:
    """Return the scores that decide the class of each task, and the probabilities of the classes."""
    share = vote_shares(block, params[0] if model == VOTE else np.ones(block.n_workers), k=k)
    if model == VOTE:
        belief = share
    elif model == KNOWS:
        belief = find_class_probabilities(block, params[0], k=k)
    else:
        belief = class_posterior(block, *params, k=k)
    if model == MATRICES:
        share = np.where((block.sizes == 1)[:, None], belief, share)
    rows, label = np.arange(len(belief)), belief.argmax(axis=1)
    confidence = lower_confidence(belief[rows, label], share[rows, label])
    table = set_confidence((belief + share) / 2, label, confidence)
    if known is None:
        return belief, table
    table = known.apply(block, table)
    return table, table


def decide(
    block: Block,
    weights: Floats,
    faults: Floats,
    *params: Floats,
    ties: Ties,
    correlation: float | None,
    **how: Any,
) -> dict[str, Array]:
    """Return the most probable class of each task, with its confidence."""
    decides, table = estimate(block, params, **how)
    label = take_most_probable(block, decides, ties)
    confidence = table[np.arange(block.n_tasks), label["label"]]
    effective = {} if correlation is None else {"voices": count_effective_voices(block, correlation)}
    gain = expect_gains(table, np.full(block.n_tasks, np.log(3.0 * (how["k"] - 1))))
    return {**label, "confidence": confidence, "gain": gain, **effective}


def probabilities(block: Block, weights: Floats, faults: Floats, *params: Floats, **how: Any) -> dict[str, Array]:
    """Return the probability of each class per task."""
    return {"probability": estimate(block, params, **how)[1]}


def _expect_accuracy(run: Run, *, params: tuple[Floats, ...], listed: Decide) -> float:
    """Return the expected accuracy: the mean confidence of the labels."""
    return float(run.collect(listed, *params)["confidence"].mean())


def _list_confidence(block: Block, *params: Floats, **how: Any) -> dict[str, Array]:
    decides, table = estimate(block, params, **how)
    return {"confidence": table[np.arange(block.n_tasks), decides.argmax(axis=1)]}
