"""LEVELS: the truths of a few classes, and those of a vote where workers cannot be told apart.

Dawid and Skene give each worker a confusion matrix and each task a class. LEVELS gives a task also a **level** of
difficulty, pulls the matrices towards each other by as much as workers cannot be told apart (`rows`), begins at twelve
places and takes the most likely reading (`readings`). It decides for the class c with the largest

    (1 + gain / 0.02) P[c | answers] + (1 + 300 / N) (share of c in the votes of the consensus),

where the gain is by how many nats an answer the reading is more likely than those found from the plain votes and from
the consensus, and N the number of answers: few answers are no reason to leave what all agree on.

Where workers are alike by the F ratio (`consensus`), everybody counts the same. Twelve starts on all answers would cost
too much: beyond 200,000 answers the reading is chosen on a sample of the tasks, and a few rounds more are made on all.

It fails where most workers share a mistake or copy each other, and fifteen tasks do not tell the good from the lucky.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.blocks.voices import find_voices
from allalike.engines.sample import sample_tasks
from allalike.methods.base import Weighing
from allalike.methods.levels.ballots import ballots_of, vote_shares
from allalike.methods.levels.beliefs import (
    Evidence,
    calibrate,
    decide,
    decide_plainly,
    expect_accuracy,
    plain_probabilities,
    probabilities,
)
from allalike.methods.levels.consensus import ALIKE, find_consensus
from allalike.methods.levels.outlines import clearly_better, expected_hits, outline, second_reading
from allalike.methods.levels.readings import STARTS, Crowd, Reading, choose, find_confusions, mirror, read_from
from allalike.methods.levels.rows import LEVELS
from allalike.methods.levels.states import Levels, class_posterior, disagreement, find_levels, find_ranks
from allalike.methods.one_coin import DS1
from allalike.methods.steps.peers import Disparity, Peers
from allalike.methods.steps.weights import normalise
from allalike.system.memory import free_memory
from allalike.trust.confidence import common_error, error_rates
from allalike.trust.groups import Groups, give_voices, with_voices
from allalike.trust.peers import peer_sums

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.blocks.block import Array, Block, Floats
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun
    from allalike.methods.steps.looks import Look

__all__ = ["MAX_CLASSES", "weigh_classes"]

MAX_CLASSES = 20
_WORTH_SAMPLING = 1.5  # times as many answers as a sample has
_GOLD_MARGIN = 3.0  # nats by which known truths must speak against a reading to rule it out
_STANDARD_ERRORS = 3.0  # by which a start must be worse on the sample to be left out
_GAIN = 0.02  # nats an answer at which the posterior counts twice
_SIZE = 300.0  # answers with which the consensus counts twice
_TEMPERING_ANSWERS = 50_000  # that tell how sure truths are
_TABLES = 45  # of the probabilities of answers, in memory at a time: three of each reading, and those at work


def weigh_classes(run: Run, look: Look, *, sample_answers: int, use_gold: bool) -> Weighing:
    """Weigh the workers of a run whose labels are a few classes, given a look at the crowd."""
    groups = look.groups
    heard = give_voices(run, groups)
    crowd = _as_crowd(heard, groups, use_gold=use_gold)
    problems, consensus, k = run.problems, crowd.consensus, crowd.k
    alike = (consensus.strength >= ALIKE) | (problems.add(groups.speaks) < 3)
    weight = np.where(problems.spread(alike), 1.0, consensus.weight)
    peers = Peers(run)
    unweighted = peers.unweighted if groups.everyone_counts else Disparity(**_between_groups(heard), problems=problems)
    speaking = crowd.answers / np.maximum(run.answer_counts, 1)

    def weighing(error_rate: Floats, weight: Floats, *reading: Floats, **more: Any) -> Weighing:
        known = with_past(np.maximum(peers.comparable(error_rate), 0.0), run)
        shares = normalise(speaking * np.where(problems.spread(alike), 1.0, weight), problems)
        told: dict[str, Any] = {
            "disparity": unweighted.mean,
            "fault": known,
            "weight": shares,
            "error_rate": known,
            **more,
        }
        if look.signal is None:
            return Weighing(**told, **(_decide_plainly(run, reading, k) if reading else {}))
        return Weighing(**told, **_tell_how_sure(crowd, unweighted, alike, reading), **look.told)

    notes: dict[str, Any] = (
        {"f_ratio": float(consensus.ratio[0]), "prior_answers": float(consensus.strength[0])} if len(alike) == 1 else {}
    )
    notes = {**look.notes, **notes}
    if alike.all():
        return weighing(_common_errors(unweighted, groups, k), weight, notes={"workers": "alike", **notes})
    if not _fits(problems.n_workers, k):
        return replace(DS1().weigh(run), notes={"start": "one coin", "lack": "memory", **notes})
    find, ungrouped = partial(_find_reading, sample_answers=sample_answers), None
    if groups.has_copies:
        ungrouped = find(_as_crowd(give_voices(run, groups.apart), groups.apart, use_gold=use_gold)).reading
    found = find(crowd, ungrouped=ungrouped)
    reading = found.reading
    trusted = np.where(alike, 0.0, 1 + found.gain / _GAIN)
    agreed = np.where(alike, 1.0, 1 + _SIZE / problems.add(crowd.answers))
    blend = np.column_stack([problems.spread(trusted), problems.spread(agreed), weight])
    hits = expected_hits(reading.counts) / np.maximum(crowd.answers, 1e-12)
    if not groups.everyone_counts:
        hits = heard.sum(partial(hit_sums, k=k), reading.rows, reading.shares)["hits"] / run.answer_counts
    error_rate = np.where(problems.spread(alike), _common_errors(unweighted, groups, k), 1.0 - hits)
    return weighing(
        error_rate,
        run.encoding.noise.weight(np.maximum(peers.comparable(error_rate), 0.0), problems),
        reading.rows,
        reading.shares,
        blend,
        confusion=reading.found.confusion,
        notes={**found.notes, **notes},
    )


def with_past(fault: Floats, run: Run) -> Floats:
    """Return faults over these answers and earlier ones."""
    if run.history is None:
        return fault
    answers, earlier = run.answer_counts, run.history.answers
    return np.asarray((answers * fault + earlier * run.history.fault) / np.maximum(answers + earlier, 1))


def _decide_plainly(run: Run, reading: tuple[Floats, ...], k: int) -> dict[str, Any]:
    return {
        "decide": partial(decide_plainly, k=k, ties=run.ties),
        "parameters": reading,
        "probabilities": partial(plain_probabilities, k=k),
    }


def _tell_how_sure(
    crowd: Crowd, met: Disparity, alike: npt.NDArray[np.bool_], reading: tuple[Floats, ...]
) -> dict[str, Any]:
    """Return how truths are decided, and how sure they are."""
    run, groups, k = crowd.run, crowd.groups, crowd.k
    loud = np.where(groups.silent, 0.0, 1.0)
    rates = error_rates(
        loud * met.distance, loud * met.weight, crowd.answers, crowd.consensus.strength, k, run.problems
    )
    evidence = Evidence(np.where(groups.silent, (k - 1) / k, rates), crowd.answers, alike, reading, groups, k)
    large = len(run.problems.sizes) == 1 and run.answer_counts.sum() > _WORTH_SAMPLING * _TEMPERING_ANSWERS
    sample = sample_tasks(run, _TEMPERING_ANSWERS).map(partial(with_voices, groups=groups)) if large else run
    found = calibrate(run, sample, evidence, use_gold=crowd.use_gold)
    how: dict[str, Any] = {"k": k, "groups": groups}
    return {
        "decide": partial(decide, ties=run.ties, correlation=found.correlation, **how),
        "parameters": (found.trust, *reading),
        "probabilities": partial(probabilities, **how),
        "confidence": found.notes,
        "expect": partial(expect_accuracy, evidence=evidence),
    }


def _between_groups(run: Run) -> dict[str, Floats]:
    return run.sum(partial(peer_sums, kernels=run.kernels), np.ones(run.problems.n_workers))


def _common_errors(unweighted: Disparity, groups: Groups, k: int) -> Floats:
    """Return how often workers err who are alike; who is silent is not like them, and errs as she differs from them."""
    loud = np.where(groups.silent, 0.0, 1.0)
    heard = replace(unweighted, distance=loud * unweighted.distance, weight=loud * unweighted.weight)
    common = common_error(2 * heard.mubar, k)
    apart = (unweighted.mean - common) / np.maximum(1 - common * k / (k - 1), 1e-12)
    return np.where(groups.silent, np.clip(apart, 0.0, 1.0), common)


@dataclass(frozen=True)
class Found:
    """The reading that was chosen, what it gains over plain ones in nats an answer, and what is to be said of it."""

    reading: Reading
    gain: Floats
    notes: dict[str, Any]


def _find_reading(crowd: Crowd, sample_answers: int, *, ungrouped: Reading | None = None) -> Found:
    """Find the most likely reading: from all starts on a sample if there are more answers, then from the best on all.

    On all run the plain start, the core and the confusions that the sample cannot tell from the best; and where there
    are groups of copies, the reading in which everyone speaks for herself, which stays unless their voices refute it.
    """
    run, k, use_gold = crowd.run, crowd.k, crowd.use_gold
    single = len(run.problems.sizes) == 1
    n_answers = int(run.answer_counts.sum())
    some_only = single and n_answers > _WORTH_SAMPLING * sample_answers
    sample = sample_tasks(run, sample_answers if some_only else n_answers)
    whole = sample.n_tasks == run.n_tasks
    prepared, ranks = _prepare(sample, crowd.groups, k)
    some = replace(crowd, run=prepared) if whole else _as_crowd(prepared, crowd.groups, use_gold=use_gold)
    known = {} if ungrouped is None else {"ungrouped": (ungrouped.rows, ungrouped.shares)}
    known["confusion"] = find_confusions(prepared, k)
    alone = [read_from(some, start, known) for start in known if start == "ungrouped"]
    readings = [read_from(some, start, known) for start in STARTS]
    select = partial(_best_of, run=run, use_gold=use_gold)
    first = select([*alone, *readings])
    mirrors = [mirror(some, first, hardest) for hardest in (1, 2)]
    best = select([first, *mirrors])
    notes = _describe(some, best, [*alone, *readings, *mirrors]) if single else {}
    plain = select(readings[:2])
    if not whole:
        everything = replace(crowd, ranks=ranks)
        likely = _likely(some, [plain, *alone, select(readings[2:-1]), readings[-1]])
        if "confusion" in likely:
            known["confusion"] = find_confusions(run, k)
        readings = [read_from(everything, start, known) for start in likely]
        plain, first = readings[0], select(sorted(readings, key=lambda each: each.start[0] != "ungrouped"))
        mirrors = [mirror(everything, first, hardest) for hardest in (1, 2) if best.start[0] == f"mirror {hardest}"]
        best = select([first, *mirrors])
        notes["start"] = best.start[0]
    gain = np.maximum(best.likelihood - plain.likelihood, 0.0) / np.maximum(run.problems.add(crowd.answers), 1.0)
    return Found(best, gain, notes)


def _likely(crowd: Crowd, readings: list[Reading]) -> list[str]:
    """Return the starts of readings that may be the best: the first, and those that are not clearly worse."""
    outlines = [outline(crowd.run, reading, crowd.k) for reading in readings]
    best = max(outlines, key=lambda each: float(each.likelihood.sum()))
    return [each.start for each in outlines if each is outlines[0] or not clearly_better(best, each, _STANDARD_ERRORS)]


def _best_of(readings: list[Reading], run: Run, *, use_gold: bool) -> Reading:
    best = readings[0]
    for other in readings[1:]:
        best = choose(best, other, run, use_gold=use_gold)
    return best


def _as_crowd(run: Run, groups: Groups, *, use_gold: bool) -> Crowd:
    answers, k = run.sum(count_voices)["voices"], run.encoding.n_labels
    consensus = find_consensus(run, answers, k, groups.number, use_gold=use_gold)
    return Crowd(run, answers, consensus, k, groups, use_gold=use_gold)


def _describe(crowd: Crowd, best: Reading, readings: list[Reading]) -> dict[str, Any]:
    """Say which start won, and whether another reading fits as well, also with what is known."""
    fit = [each for each in readings if not crowd.use_gold or each.gold[0] >= best.gold[0] - _GOLD_MARGIN]
    outlines = [outline(crowd.run, reading, crowd.k) for reading in fit]
    chosen = next(each for each in outlines if each.start == best.start[0])
    plain = crowd.run.collect(partial(_vote, k=crowd.k))["label"]
    second = second_reading(chosen, outlines, plain, crowd.answers, crowd.run.workers)
    return {"start": chosen.start, **({"second_reading": second} if second else {})}


def _vote(block: Block, *, k: int) -> dict[str, Array]:
    return {"label": vote_shares(block, np.ones(block.n_workers), k=k).argmax(axis=1)}


def _fits(n_workers: int, k: int) -> bool:
    return 8 * _TABLES * n_workers * k * k * LEVELS <= free_memory()


def count_voices(block: Block) -> dict[str, Floats]:
    """Count the voices of each worker's answers."""
    return {"voices": block.per_worker(find_voices(block).voice)}


def hit_sums(block: Block, rows: Floats, shares: Floats, *, k: int) -> dict[str, Floats]:
    """Add up, per worker, how probably her answers are right, whatever her voice."""
    classes = class_posterior(block, rows, shares, k=k)
    return {"hits": block.per_worker(classes[block.to_answers(np.arange(block.n_tasks)), block.label])}


def _prepare(sample: MemoryRun, groups: Groups, k: int) -> tuple[MemoryRun, tuple[Floats, Floats]]:
    """Have the blocks keep their ballots and the levels of their tasks; return also what rank a disagreement has."""
    sample = sample.map(partial(with_voices, groups=groups))
    found = sample.collect(partial(disagreement, k=k))
    problem = np.repeat(np.arange(len(sample.problems.sizes)), sample.problems.sizes)[found["worker"]]
    rank = find_ranks(found["disagreement"], problem)
    rest = iter(np.split(find_levels(rank), np.cumsum([block.n_tasks for block in sample.blocks])[:-1]))
    order = np.argsort(found["disagreement"])
    prepared = sample.map(lambda block: block.keeping(ballots_of(block, k), Levels(next(rest))))
    return prepared, (found["disagreement"][order], rank[order])
