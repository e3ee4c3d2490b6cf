"""The entry point of panels: decide tasks by judges or models, and measure their accuracy."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np

from allalike._core.options import check_choice, check_number
from allalike.answers import Answers
from allalike.discover import discover
from allalike.domains import Domain, Encoding
from allalike.domains.contract import choose_options
from allalike.engines import Engine, Run, TaskTable
from allalike.errors import GoldError, OptionError, UnsupportedError
from allalike.methods import Auto
from allalike.methods.auto.gold_regression import calibrate_scores
from allalike.methods.fit import CopyGroups
from allalike.panels.annotators import EPSILON, compare_with_humans
from allalike.panels.calibration import ConfidenceModel, describe_confidence
from allalike.panels.correlated_errors import correlate_errors, describe_independence, describe_offsets, describe_pairs
from allalike.panels.drift import describe_drift, read_earlier
from allalike.panels.panel import Panel
from allalike.panels.rates import Groups, describe_mean, describe_rate
from allalike.panels.repeats import describe_repeats
from allalike.panels.rows import AskDesign, describe_outcomes, find_tie, read_groups, read_verdicts
from allalike.panels.smaller_panels import describe_sizes, recommend
from allalike.panels.summary import GoldCorrection, Rate
from allalike.panels.verdicts import (
    NO_LABEL,
    SCORE,
    ClassVerdicts,
    ScoreVerdicts,
    Statistics,
    Verdicts,
    conclude,
    divide,
    has_scale,
    sample_block,
)
from allalike.readers import ReadOptions, Scan, check_read_options
from allalike.result.plan import find_prices, read_prices
from allalike.result.result import Result
from allalike.result.summaries import describe_confidence as summarise_confidence
from allalike.result.summaries import find_truths
from allalike.result.tables import worker_columns
from allalike.sources import inputs_of

_MAX_JUDGES = 100
_MAX_ANSWERS = 50_000  # answers that are compared judge by judge
_MAX_SCORES = 20_000  # scores that are compared judge by judge, and decided by every panel
_POSITIVE = ("yes", "pass", "true", "1", "correct", "good")


def jury(
    answers: Any,
    *,
    domain: str | Domain | None = None,
    engine: str | Engine | None = None,
    gold: Any = None,
    prices: Any = None,
    min_confidence: float | None = None,
    quorum: float | None = None,
    retain: float = 0.99,
    positive: Any = None,
    gold_drawn: str = "random",
    by: str | None = None,
    baseline: str | os.PathLike[str] | None = None,
    humans: Iterable[Any] | None = None,
    epsilon: float = EPSILON,
    seed: int = 0,
    ties: str = "random",
    gold_columns: Mapping[str, str] | None = None,
    gold_map: Any = None,
    order: str | None = None,
    sample: str | None = None,
    verdicts_name: str | None = None,
    tie: Any = None,
    verdicts: Iterable[Any] | None = None,
    **reading: Unpack[ReadOptions],
) -> Panel:
    """Evaluate a panel of judges or models: verdicts, accuracy, correlated errors and smaller panels.

    Parameters
    ----------
    answers, domain, engine, gold, min_confidence, seed, ties, gold_columns, gold_map, **reading
        As in `discover`. The panel can abstain (``min_confidence``) on classes only. Rows without a label are excluded,
        and counted as unreadable verdicts.
    prices
        Price per answer by each judge: a mapping, or a table (or its path) with columns worker and price.
    quorum
        Minimum effective number of answers for a verdict. Below it, the panel is inconclusive.
    retain
        Share of the panel's worth that the smallest panel, or a smaller number of samples, must retain.
    positive
        Label or labels to estimate the rate of: the share of tasks with these labels. For numbers and levels, a bound
        such as ``">=4"``. With gold labels, it is inferred for two classes if one is called yes, pass, true, 1, correct
        or good.
    gold_drawn
        Sampling of the tasks with gold labels. ``random`` also includes separate random samples of the tasks that the
        panel calls positive and negative. ``truth`` is sampling by the true label, such as 50 of each.
    by
        Column of the answers with the group of each task, for a rate per group.
    baseline
        Folder of an earlier panel, to detect judges who have changed since, and to estimate the change in the rate.
    humans, epsilon
        Human judges, for the alternative annotator test of all other judges, and its cost-benefit margin: 0.2 for
        experts, 0.15 for trained annotators, 0.1 for crowd workers.
    order, verdicts_name
        Column with the order in which a pair was shown (two values), and the meaning of verdicts: ``answers``, or the
        ``places`` of the answers in this order.
    sample
        Column that distinguishes repeated samples by a judge on one task, such as an epoch or a seed.
    tie, verdicts
        Label that means a tie (default: tie, draw, equal, ...), and the labels that are verdicts (default: all).

    >>> labels = {"ada": "xyxyxyxxyy", "bob": "xyxyxyxxyx", "eve": "xxxyxyxxxy", "kim": "xyyxxxyyyx"}
    >>> rows = [(judge, task, label) for judge, own in labels.items() for task, label in enumerate(own)]
    >>> panel = jury(rows, retain=0.9)
    >>> "".join(panel.truth["label"]), len(panel.smallest) < 4
    ('xyxyxyxxyx', True)
    """
    listed = [each.strip() for each in verdicts.split(",")] if isinstance(verdicts, str) else verdicts or ()
    asked = AskDesign(order, sample, verdicts_name, tie, tuple(listed))
    check_read_options(jury, reading)
    _check_numbers(retain=retain, min_confidence=min_confidence, quorum=quorum)
    costs = None if prices is None else read_prices(prices)
    groups = None
    if by is not None:
        usual: ReadOptions = reading if isinstance(answers, Answers | Scan) else {"missing": "drop", **reading}
        answers, value = read_groups(answers, by, domain=domain, **usual)
        groups, domain, reading = (by, value), None, {}
    wanted, by_truth = _list_positive(positive, gold_drawn), gold_drawn == "truth"
    earlier = None if baseline is None else read_earlier(baseline)
    known = {"gold": gold, "gold_columns": gold_columns, "gold_map": gold_map}
    try:
        read = read_verdicts(answers, asked, reading, domain=domain, gold=known)
        result = discover(prefer_mean(read.answers), engine=engine, seed=seed, ties=ties, **read.gold)
    except GoldError as error:  # suggest no use_gold, because a panel always learns from gold labels
        proposals = [each for each in error.proposals if "use_gold" not in each.options]
        raise GoldError(error.args[0], lines=error.lines, proposals=proposals) from error
    run = result.run
    _check_run(run, min_confidence=min_confidence, positive=positive, by=by, baseline=baseline)
    if read.repeated is not None:
        result = replace(result, inputs=(*result.inputs, *inputs_of(gold)))
    if run.encoding.nominal:
        judged = _judge_classes(result, find_tie(run.encoding, tie), quorum, min_confidence)
    else:
        judged = _judge_scores(result, quorum)
    parts, undecided, unreadable = describe_outcomes(judged.result, read, quorum, judged.tie)
    parts += judged.parts
    if read.repeated is not None:
        parts += describe_repeats(read.repeated, asked, judged.result, judged.verdicts, retain)
    parts += _describe_members(judged, retain, costs)
    rates, rate = _describe_rates(run, judged.unaware, wanted, groups, by_truth=by_truth)
    parts += rates
    if earlier is not None:
        parts.append(describe_drift(earlier, run, rate))
    if humans is not None:
        parts.append(compare_with_humans(run, humans, epsilon))
    return Panel(judged.result, parts, undecided, unreadable)


def _check_numbers(**given: float | None) -> None:
    for name, value in given.items():
        if value is not None and float(check_number(value, name, least=0)) > 1 and name != "quorum":
            raise OptionError(f"{name} is {value!r}. It must be between 0 and 1.")


def _list_positive(positive: Any, gold_drawn: str) -> list[Any] | None:
    check_choice(gold_drawn, ("random", "truth"), "gold_drawn")
    if positive is None:
        if gold_drawn == "truth":
            raise OptionError("gold_drawn='truth' needs the positive label. Name it with positive=.")
        return None
    listed = list(positive) if isinstance(positive, Iterable) and not isinstance(positive, str) else [positive]
    if not listed:
        raise OptionError("positive is empty. Name at least one label whose rate to estimate.")
    return listed


def _check_run(run: Run, *, min_confidence: float | None, **of_scales: Any) -> None:
    """Raise an error for runs that are not panels, and for options of other label types."""
    if run.worker_task is not None:
        raise UnsupportedError("A panel needs the same weights on all tasks. Leave out per_task().")
    if len(run.workers) > _MAX_JUDGES:
        raise UnsupportedError(
            f"A panel has at most {_MAX_JUDGES} judges, because every pair is compared, but these are"
            f" {len(run.workers):,} workers. Use allalike.discover, which has no such limit."
        )
    wrong = {} if run.encoding.nominal or min_confidence is None else {"min_confidence": "classes"}
    if not run.encoding.nominal and not has_scale(run.encoding):
        wrong |= {name: "classes, numbers or levels" for name, value in of_scales.items() if value is not None}
    if of_scales["baseline"] is not None and run.encoding.offsets is not None:  # the original scores are unknown
        raise UnsupportedError("baseline compares the original scores. Leave out bias of the label type.")
    for name, kinds in wrong.items():
        raise UnsupportedError(
            f"{name} is for verdicts that are {kinds}, but these are {run.domain.name} labels. Leave it out."
        )


def prefer_mean(answers: Answers | Scan) -> Answers | Scan:
    """Return verdicts with the mean as the target for ratings, unless the user chose another target."""
    choices = {"target": "mean"}
    if isinstance(answers, Scan):
        return replace(answers, choices={**answers.choices, **choices})
    encoding = answers.encoding
    return replace(answers, encoding=replace(encoding, domain=choose_options(encoding.domain, choices)))


def find_positive(encoding: Encoding) -> Any:
    """Return the positive class of two by its name, such as yes or pass; else None.

    >>> import allalike
    >>> [find_positive(allalike.read([("ada", 1, x), ("bob", 1, y)], domain="categorical").encoding)
    ...  for x, y in (("n", "y"), ("No", "Yes"))]
    [None, 'Yes']
    """
    if not encoding.nominal or encoding.n_labels != 2:
        return None
    positive = [each for each in encoding.decode(np.arange(2)).tolist() if str(each).strip().casefold() in _POSITIVE]
    return positive[0] if len(positive) == 1 else None


class _Judged(NamedTuple):
    """A result with the verdicts of a panel, the verdicts without gold labels, and statistics of the judges."""

    result: Result
    verdicts: Verdicts
    unaware: TaskTable
    parts: list[Statistics]
    tie: int = NO_LABEL


def _judge_classes(result: Result, tie: int, quorum: float | None, least: float | None) -> _Judged:
    """Evaluate verdicts that are classes."""
    run = result.run
    model = ConfidenceModel.of(run, result.weighing)
    unaware, tasks, line = model.decide_tasks(_MAX_ANSWERS)
    weighing = model.with_confidence(result.weighing, line)
    ending = partial(conclude, groups=model.groups, quorum=quorum, tie=tie)
    gold = run.n_gold > 0
    found = find_truths(run, weighing, unweighted=True, keep_gold=gold, min_confidence=least, conclude=ending)
    summary = {**result.summary, "confidence": summarise_confidence(run, weighing, found)}
    if least is not None:
        summary |= {"min_confidence": least, "abstained": int(found.total("abstained"))}
    result = replace(result, weighing=weighing, found=found, summary=summary)
    verdicts = ClassVerdicts.of(run, _MAX_ANSWERS, model.find_probability, tasks, model.log_odds)
    parts = [describe_confidence(tasks), describe_pairs(verdicts, model.n_wrong, run.workers)]
    return _Judged(result, verdicts, unaware, parts, tie)


def _judge_scores(result: Result, quorum: float | None) -> _Judged:
    """Evaluate verdicts that are scores."""
    run, weighing = result.run, result.weighing
    blind, unaware, errors = weighing, result.found, weighing.uncertainty
    if run.n_gold:
        blind = Auto().fit_without_gold(run)
        assert errors is not None
        assert blind.uncertainty is not None
        errors = replace(errors, confidence=blind.uncertainty.confidence, expect=blind.uncertainty.expect)
        blind = replace(blind, uncertainty=errors)
        unaware = find_truths(run, blind)
    scores = ScoreVerdicts(run, blind, sample_block(run, _MAX_SCORES))
    groups = weighing.copy_groups or CopyGroups.independent(len(run.workers))
    ending = partial(conclude, groups=groups, quorum=quorum, usual=SCORE)
    found = find_truths(run, weighing, unweighted=True, keep_gold=run.n_gold > 0, conclude=ending)
    parts = [describe_offsets(scores, run.workers), describe_pairs(scores, 0.0, run.workers)]
    if run.encoding.numeric:
        parts.append(_describe_correction(scores))
    return _Judged(replace(result, found=found), scores, unaware, parts)


def _describe_correction(scores: ScoreVerdicts) -> Statistics:
    """Return the RMSE of numbers before and after their correction by gold labels, on held-out gold labels."""
    block, gold = scores.block, np.full(scores.block.n_tasks, np.nan)
    gold[block.gold_task] = block.gold_label
    estimate = scores.decide_uncorrected(tuple(range(scores.n_judges))).label
    assert scores.numbers is not None
    calibrated = calibrate_scores(scores.numbers, estimate, gold)
    if calibrated is None:
        return Statistics({})
    regression, before = calibrated.regression, float(np.sqrt(np.nanmean(np.square(estimate - gold))))
    facts = GoldCorrection(known=regression.known, before=before, after=before * regression.error)
    return Statistics({"gold_correction": facts})


def _describe_members(judged: _Judged, retain: float, costs: Any) -> list[Statistics]:
    """Return smaller panels, the effective number of judges and the recommendation."""
    verdicts, weighing, run = judged.verdicts, judged.result.weighing, judged.result.run
    price = None if costs is None else find_prices(costs, run.workers.tolist())
    sums = run.sum(run.kernels.gold_sums)
    some, known, error = verdicts.judged(), divide(sums["distance"], sums["answers"]), None
    if isinstance(verdicts, ScoreVerdicts):
        known = verdicts.unscale(known)
    elif weighing.uncertainty is not None:
        error = np.asarray(worker_columns(run, weighing)[weighing.uncertainty.unit])
    return [
        describe_sizes(some, run, retain=retain, price=price, known=known, error=error),
        describe_independence(run.workers, correlate_errors(verdicts), *verdicts.ceiling),
        recommend(some, retain, run.workers),
    ]


def _describe_rates(
    run: Run, unaware: TaskTable, positive: list[Any] | None, groups: Groups | None, *, by_truth: bool
) -> tuple[list[Statistics], Rate | None]:
    """Return the mean of numbers and the rate of positive labels, from verdicts without gold labels."""
    inferred = find_positive(run.encoding) if positive is None and run.n_gold else None
    positive = positive if inferred is None else [inferred]
    parts = [describe_mean(run, unaware)] if run.encoding.numeric and not by_truth else []
    if positive is None:
        return parts, None
    part, rate = describe_rate(run, unaware, positive, groups, by_truth=by_truth, inferred=inferred is not None)
    return [*parts, part], rate
