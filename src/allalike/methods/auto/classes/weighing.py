"""LEVELS: the truths of a few classes, and those of a vote where the crowd itself does not bear out anything else.

Dawid and Skene give each worker a confusion matrix and each task a class. LEVELS gives a task also a **level** of
difficulty, pulls the matrices towards each other by as much as workers cannot be told apart (`rows`), and begins at
six places (`hypotheses`). What is found counts only as far as answers left out and halves of the workers bear it out
(`ladder`): else the votes decide, weighed or plain.

Beyond 200,000 answers the ladder is climbed on a sample of the tasks, and a few rounds more are made on all.

It fails where most workers share a mistake, and fifteen tasks do not tell the good from the lucky.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.system.progress import report
from allalike.engines.sample import sample_tasks
from allalike.methods.auto.classes.beliefs import (
    decide,
    decide_plainly,
    expect_accuracy,
    find_errors,
    plain_probabilities,
    probabilities,
)
from allalike.methods.auto.classes.hypotheses import as_crowd, outline, prepare, second_hypothesis
from allalike.methods.auto.classes.known import learn
from allalike.methods.auto.classes.ladder import PLAIN, TURNED, WAYS, Plain, climb_ladder, find_plain
from allalike.methods.auto.classes.rows import LEVELS, class_posterior
from allalike.methods.auto.voices import between_groups, find_error_correlation, give_voices
from allalike.methods.base import DecisionRule, Skill, Weighing
from allalike.methods.insight import Insight, Signal, VoiceGroups
from allalike.methods.one_coin import DS1
from allalike.methods.proximity import Peers, normalise
from allalike.methods.steps.ballots import vote_shares

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.problems import Problems
    from allalike.engines import Run
    from allalike.methods.auto.classes.hypotheses import ClassCrowd
    from allalike.methods.auto.classes.known import Learned
    from allalike.methods.auto.classes.ladder import Rung
    from allalike.methods.insight import Screening

MAX_CLASSES = 20
_TIE = 1e-6  # of a vote, which decides only where votes tie
_WORTH_SAMPLING = 1.5  # times as many answers as a sample has
_TABLES = 20  # of the probabilities of answers, in memory at a time: two of each hypothesis, and those at work


def weigh_classes(run: Run, screening: Screening, *, sample_answers: int, use_gold: bool) -> Weighing:
    """Weigh the workers of a run whose labels are a few classes, given a screening of the crowd."""
    screening, problems = _hear_all(run, screening), run.problems
    groups = screening.groups
    heard = give_voices(run, groups)
    crowd = as_crowd(heard, groups)
    plain = find_plain(heard, crowd)
    if screening.camps:
        plain = plain._replace(why=np.array([PLAIN["camps"]], object))
    peers = Peers(run)
    unweighted = peers.unweighted if groups.everyone_counts else between_groups(heard)
    vote = _break_ties(unweighted.mean, plain, problems)
    if plain.stands.all():
        shares = plain.reliability.expect_again(), plain.reliability.expect_again_of_one()
        found = Taken((vote,), *shares, np.zeros(problems.n_workers, bool), {"taken": "vote"})
    elif not _fits(run, crowd.k):
        return replace(
            DS1().weigh(run), notes={"start": "one coin", "lack": "memory", **screening.notes, **_note(crowd, plain)}
        )
    else:
        found = _find_hypothesis(crowd, plain, vote, sample_answers)
    again = _doubts(crowd, plain, found)
    how: dict[str, Any] = {"k": crowd.k, "groups": groups}
    learns = use_gold and run.n_gold > 0 and len(problems.sizes) == 1
    known = _learn(run, (again, *found.hypothesis), how) if learns else None
    faults = find_errors(run, again, *found.hypothesis, known=known, **how)
    error_rate = with_past(faults.shrunk, run)
    weight = run.encoding.noise.weight(error_rate, problems)
    speaking = crowd.answers / np.maximum(run.answer_counts, 1)
    weighing = Weighing(
        disparity=unweighted.mean,
        fault=error_rate,
        weight=normalise(speaking * np.where(found.weighs | (known is not None), weight, 1.0), problems),
        decision=_decide_plainly(run, found.hypothesis, crowd.k, known),
        skill=Skill(error_rate=error_rate, confusion=found.confusion),
        notes={**found.notes, **screening.notes, **_note(crowd, plain), **_note_known(known)},
    )
    if screening.signal is None:
        return weighing
    decision, insight = _decide_surely(crowd, found, again, known)
    insight = replace(insight, signal=screening.signal, groups=groups, faults=faults)
    return replace(weighing, decision=decision, insight=insight)


def _break_ties(disparity: Floats, plain: Plain, problems: Problems) -> Floats:
    """Return weights of a vote that only break ties: where workers are alike or few, for those closer to the others."""
    few = np.isin(plain.why, [PLAIN["alike"], PLAIN["few workers"]])
    far = np.nan_to_num(disparity, nan=1.0)
    return np.where(problems.spread(few), 1 - _TIE * far / np.maximum(problems.peak(far), _TIE), 1.0)


def _doubts(crowd: ClassCrowd, plain: Plain, found: Taken) -> Floats:
    """Return, of each worker's problem: how much is found again, also by less, how often all err, if they are alike.

    Where they are, votes tell by that error how probable classes are.
    """
    problems, mean = crowd.run.problems, crowd.consensus.accuracy
    alike = plain.why == PLAIN["alike"]
    error = 1 - problems.add(crowd.answers * mean) / np.maximum(problems.add(crowd.answers), 1.0)
    error = np.where(alike, plain.reliability.error, error)
    return np.column_stack([problems.spread(each) for each in (found.again, found.by_less, error, alike)])


def _hear_all(run: Run, screening: Screening) -> Screening:
    """Give workers their voices back where nobody can tell copies, or who is without signal.

    Who says one label only, as most labelling functions do, agrees with all who say the same, and says nothing else.
    """
    groups = screening.groups
    if (groups.everyone_counts and not screening.camps) or len(run.problems.sizes) > 1:
        return screening
    everyone = VoiceGroups.everyone(run.problems.n_workers)
    why = find_plain(run, as_crowd(run, everyone)).why[0]
    if why == PLAIN["one label"]:
        notes = {name: note for name, note in screening.notes.items() if name != "camps"}
        return replace(screening, groups=everyone, signal=Signal.unknown(run.problems.n_workers), notes=notes)
    if groups.has_copies and why in (PLAIN["few answers"], PLAIN["few workers"]):
        return replace(screening, groups=groups.ungrouped)
    return screening


def _learn(run: Run, params: tuple[Floats, ...], how: dict[str, Any]) -> Learned:
    """Learn from known truths how far to follow what the crowd believes, and whom besides."""
    nobody = np.ones(run.problems.n_workers)
    return learn(run, lambda block: probabilities(block, nobody, nobody, *params, **how)["probability"], how["groups"])


def _note_known(known: Learned | None) -> dict[str, Any]:
    return {} if known is None else {"known_truths": {"tasks": known.number, "crowd": known.crowd}}


def _note(crowd: ClassCrowd, plain: Plain) -> dict[str, Any]:
    """Return what a summary can say of a single problem."""
    if len(plain.why) > 1:
        return {}
    why = str(plain.why[0])
    found = {"f_ratio": float(crowd.consensus.ratio[0]), "prior_answers": float(crowd.consensus.strength[0])}
    alike = {"workers": "alike"} if why == PLAIN["alike"] else {}
    return {**found, **alike, **({"why": why} if why else {})}


def with_past(fault: Floats, run: Run) -> Floats:
    """Return faults over these answers and earlier ones."""
    if run.history is None:
        return fault
    answers, earlier = run.answer_counts, run.history.answers
    return np.asarray((answers * fault + earlier * run.history.fault) / np.maximum(answers + earlier, 1))


def _decide_plainly(run: Run, hypothesis: tuple[Floats, ...], k: int, known: Learned | None) -> DecisionRule:
    how: dict[str, Any] = {"k": k, "known": known}
    return DecisionRule(partial(decide_plainly, ties=run.ties, **how), hypothesis, partial(plain_probabilities, **how))


def _decide_surely(
    crowd: ClassCrowd, found: Taken, again: Floats, known: Learned | None
) -> tuple[DecisionRule, Insight]:
    """Return how truths are decided, and how sure they are."""
    run, parameters = crowd.run, (again, *found.hypothesis)
    how: dict[str, Any] = {"k": crowd.k, "groups": crowd.groups, "known": known}
    by_gold = known is not None and known.power is not None
    source = "gold" if by_gold else "halves" if len(found.hypothesis) > 1 else "pairs"
    shares = {"found_again": found.again, "by_less": found.by_less}
    single = {name: float(each[0]) for name, each in shares.items() if len(each) == 1}
    correlation = find_error_correlation(run) if by_gold else None
    shared = {} if correlation is None else {"error_correlation": correlation}
    return DecisionRule(
        partial(decide, ties=run.ties, correlation=correlation, **how), parameters, partial(probabilities, **how)
    ), Insight(
        confidence={**single, "told_by": source, **shared},
        expect=partial(expect_accuracy, params=parameters, **how),
    )


@dataclass(frozen=True)
class Taken:
    """What was taken of each problem."""

    hypothesis: tuple[Floats, ...]
    again: Floats
    by_less: Floats
    weighs: npt.NDArray[np.bool_]
    notes: dict[str, Any]
    confusion: Floats | None = None


def _find_hypothesis(crowd: ClassCrowd, plain: Plain, vote: Floats, sample_answers: int) -> Taken:
    """Climb the ladder on a sample of the tasks, if there are more answers; then read all of them from there."""
    run, problems = crowd.run, crowd.run.problems
    single = len(problems.sizes) == 1
    n_answers = int(run.answer_counts.sum())
    report("choosing")
    some_only = single and n_answers > _WORTH_SAMPLING * sample_answers
    some, ranks = prepare(sample_tasks(run, sample_answers if some_only else n_answers), crowd.groups)
    rung = climb_ladder(some, plain.stands)
    hypothesis = rung.hypothesis
    report("weighing")
    if some.run.n_tasks < run.n_tasks:
        hypothesis = replace(crowd, ranks=ranks).climb(
            str(hypothesis.start[0]), class_posterior, hypothesis.rows, hypothesis.shares
        )
    reads, weighs = (problems.spread(rung.taken >= WAYS.index(name)) for name in ("reading", "weighted vote"))
    told, halves = plain.reliability, (rung.halves, rung.borne_out.again["vote"])
    again = np.where(plain.stands, told.expect_again(), told.extend(*halves))
    by_less = np.where(plain.stands, told.expect_again_of_one(), told.as_told(rung.halves))
    notes = _describe(some, rung) if single else {}
    whole = (
        np.where(weighs, crowd.consensus.weight, vote),
        reads.astype(np.float64),
        hypothesis.rows,
        hypothesis.shares,
    )
    return Taken(whole, again, by_less, weighs, notes, hypothesis.confusion)


def _describe(crowd: ClassCrowd, rung: Rung) -> dict[str, Any]:
    """Say what was taken of a single problem, how clearly halves bear it out, and what else fits too."""
    taken = WAYS[rung.taken[0]]
    if taken != WAYS[-1]:
        return {"taken": taken, **_told(rung)}
    outlines = [outline(crowd.run, hypothesis, crowd.k) for hypothesis in rung.others]
    chosen = next(each for each in outlines if each.start == rung.hypothesis.start[0])
    plain = crowd.run.collect(partial(_vote, k=crowd.k))["label"]
    second = second_hypothesis(chosen, outlines, plain, crowd.answers, crowd.run.workers)
    told = {"taken": taken, "start": chosen.start, **_told(rung)}
    return {**told, **({"second_reading": second} if second else {})}


def _told(rung: Rung) -> dict[str, Any]:
    why = {"why": TURNED} if rung.turned[0] else {}
    return {**rung.borne_out.describe(), **why}


def _vote(block: Block, *, k: int) -> dict[str, Array]:
    return {"label": vote_shares(block, np.ones(block.n_workers), k=k).argmax(axis=1)}


def _fits(run: Run, k: int) -> bool:
    return 8 * _TABLES * run.problems.n_workers * k * k * LEVELS <= run.free_memory
