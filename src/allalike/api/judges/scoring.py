"""Scoring: a panel whose labels are near or far from each other, from what `discover` found to all that is known of it.

Numbers are decided without what is each judge's own way to use the scale, if that brings judges nearer to each other
(`allalike.api.judges.scale_use`), and without what all judges share, if known truths tell
(`allalike.api.judges.scores`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.api.judges.finding import divide
from allalike.api.judges.independence import (
    Independence,
    Pivotal,
    correlate_scores,
    find_missed_scores,
    find_score_turns,
)
from allalike.api.judges.off_together import find_off_together
from allalike.api.judges.outcomes import SCORE, conclude
from allalike.api.judges.samples import find_score_samples
from allalike.api.judges.scale_use import ScaleUse, choose_offsets, find_offsets
from allalike.api.judges.scores import find_shared_offset, has_scale, take_away, take_scores
from allalike.api.judges.smaller_panels import SmallerPanelsOfScores, WantedError
from allalike.engines import make_ready
from allalike.methods import Auto
from allalike.methods.insight import VoiceGroups
from allalike.result.summaries import compare_with_gold, find_truths, summarise, with_quorum

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike.api.judges.asking import Asked
    from allalike.api.judges.finding import Finding
    from allalike.api.judges.samples import ScoreBallots
    from allalike.api.judges.scores import Scores
    from allalike.domains.offsets import Offsets
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing
    from allalike.result.result import Result

_MAX_ANSWERS = 20_000  # that are compared judge by judge, and decided by every panel
_MAX_KEPT = 50_000  # answers for a later panel
_SETTINGS = ("method", "engine", "seed", "ties")


def judge_scores(
    result: Result,
    price: Floats | None,
    keep: float,
    max_error: float | None,
    asked: Asked,
    ballots: ScoreBallots | None = None,
    quorum: float | None = None,
) -> tuple[Result, tuple[Finding, ...]]:
    """Return the result of a panel, corrected where that helps, and what is known of the judges.

    >>> import allalike
    >>> from allalike.api.judges.asking import Asked
    >>> rng = np.random.default_rng(0)
    >>> rows = [(judge, task, task % 9 + 3.0 * place + rng.normal()) for place, judge in enumerate("abc")
    ...         for task in range(90)]
    >>> result, findings = judge_scores(allalike.discover(rows, domain="real"), None, 0.99, None, Asked())
    >>> findings[0].offset.value.round(), findings[0].corrected
    (array([-3., -0.,  3.]), ('offsets',))
    """
    given = _take(result)
    part = (given.block.task_hash >> np.uint64(8)).astype(np.int64)
    numbers, run = given.numbers, result.run
    offsets = choose_offsets(given)
    scores = given
    if offsets is not None:
        result = _correct(result, offsets)
        scores = _take(result)
    unaware = find_truths(result.run, _weigh_blindly(result)) if run.n_gold else result.found
    shared = find_shared_offset(result.run, unaware)
    if shared is not None:
        result = _decide_again(result, take_away(result.run, shared))
        scores = _take(result)
    result = replace(result, found=_conclude(result, scores, quorum))
    findings: list[Finding] = []
    if numbers is not None:
        taken = () if offsets is None else ("offsets",)
        named = run.encoding.offsets is not None
        can = run.encoding.numeric and not named
        findings.append(ScaleUse(run.workers, find_offsets(numbers, part), taken, can))
    findings += [] if shared is None else [shared]
    if ballots is not None:
        samples = find_score_samples(ballots, scores.judged(), keep)
        findings += [] if samples is None else [samples]
    findings += _find(result, scores, price, keep, max_error)
    if has_scale(run.encoding):
        findings += asked.find(run, unaware, _MAX_KEPT)  # scores as they were given, however they are corrected
    return result, tuple(findings)


def _conclude(result: Result, scores: Scores, quorum: float | None) -> TaskTable:
    """Return the truths, with what kind of verdict each is; errors that go together make fewer voices."""
    run, correlation = result.run, None if quorum is None else correlate_scores(scores)
    groups = result.weighing.insight.groups or VoiceGroups.everyone(run.problems.n_workers)
    together = None
    if correlation is not None and len(correlation) > 1:
        together = max(float(correlation[~np.eye(len(correlation), dtype=np.bool_)].mean()), 0.0)
    ending = partial(conclude, groups=groups, quorum=quorum, usual=SCORE, correlation=together)
    return find_truths(run, result.weighing, unweighted=True, keep_gold=run.n_gold > 0, conclude=ending)


def _find(result: Result, scores: Scores, price: Floats | None, keep: float, max_error: float | None) -> list[Finding]:
    run, judges, judged = result.run, result.run.workers, scores.judged()
    trials = judged.try_panels()
    sizes = trials.find_sizes(judged.value(trials.everybody), judged.agree)
    counts = run.answer_counts.astype(np.float64)
    sums = run.sum(run.kernels.gold_sums)
    known = divide(sums["distance"], sums["answers"])
    found: list[Finding] = [
        find_off_together(scores),
        SmallerPanelsOfScores(
            sizes, judges, counts, keep, price, judged, np.sqrt(known) if scores.is_square else known
        ),
        Pivotal(find_score_turns(scores), judges, result.found),
        Independence(judges, correlate_scores(scores), *find_missed_scores(scores)),
    ]
    if max_error is not None:
        found.append(WantedError.of(sizes, np.asarray(judged.error_of(sizes.worth)), max_error, judges))
    return found


def _take(result: Result) -> Scores:
    blind = _weigh_blindly(result)
    return take_scores(result.run, blind, _MAX_ANSWERS)


def _weigh_blindly(result: Result) -> Weighing:
    """Return how judges are weighed without known truths, and what is known of their faults."""
    if not result.run.n_gold:
        return result.weighing
    blind, faults = Auto().weigh_blindly(result.run, result.weighing), result.weighing.insight.faults
    return replace(blind, insight=replace(blind.insight, faults=faults))


def _correct(result: Result, offsets: Offsets) -> Result:
    """Return the result of the same answers without what is each judge's own."""
    run = result.run
    options: dict[str, Any] = {"bias": True}
    domain = replace(run.domain, **options)
    run = make_ready(replace(run, encoding=replace(run.encoding, domain=domain, offsets=offsets)))
    corrected = _decide_again(result, run)
    summary = dict(corrected.summary)
    if run.n_gold:
        honest = find_truths(run, _weigh_blindly(corrected), unweighted=True)
        summary["gold"] = {**result.summary["gold"], **compare_with_gold(run, corrected.weighing, honest)}
    return replace(corrected, summary=summary)


def _decide_again(result: Result, run: Run) -> Result:
    """Return the result of numbers that were moved; how far it was from known truths before is left as it is."""
    screening = result.weighing.insight.screening  # who copies, copies answers as they were given
    assert screening is not None
    weighing = with_quorum(run, Auto().weigh_screened(run, screening))
    found = find_truths(run, weighing, unweighted=True, keep_gold=run.n_gold > 0)
    settings = {"domain": run.encoding.describe(), **{name: result.summary[name] for name in _SETTINGS}}
    before = {"gold": result.summary["gold"]} if run.n_gold else {}
    summary = {**result.summary, **summarise(run, weighing, found, settings), **before}
    return replace(result, run=run, weighing=weighing, found=found, summary=summary, basis=None)
