"""The entry point of panels: let judges or models decide, and measure their accuracy, alone and together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from allalike._core.blocks.block import Floats
from allalike._core.options import check_choice, check_number
from allalike.answers import Answers
from allalike.discover import discover
from allalike.domains import Domain, Encoding
from allalike.domains.contract import choose_options
from allalike.engines import Engine, Run, TaskTable
from allalike.errors import GoldError, OptionError, UnsupportedError
from allalike.methods import Auto, Fit
from allalike.methods.auto.gold_regression import calibrate_scores
from allalike.methods.fit import CopyGroups
from allalike.panels.annotators import EPSILON, compare_with_humans
from allalike.panels.calibration import ConfidenceModel, describe_confidence, fit_gold
from allalike.panels.correlated_errors import (
    correlate_errors,
    describe_independence,
    describe_offsets,
    describe_pairs,
)
from allalike.panels.drift import Earlier, describe_drift, keep_verdicts, read_earlier
from allalike.panels.panel import Panel
from allalike.panels.rates import Estimate, describe_mean, describe_rate
from allalike.panels.repeats import describe_orders, describe_samples, describe_score_samples
from allalike.panels.rows import (
    HowAsked,
    JuryOptions,
    Reading,
    describe_unreadable,
    find_tie,
    read_groups,
    read_verdicts,
    split_options,
)
from allalike.panels.smaller_panels import Trials, describe_sizes, recommend
from allalike.panels.summary import GoldCorrection
from allalike.panels.verdicts import (
    NO_LABEL,
    SCORE,
    ClassVerdicts,
    ScoreVerdicts,
    Statistics,
    Verdicts,
    conclude,
    count_outcomes,
    divide,
    has_scale,
)
from allalike.readers import ReadOptions, Scan, check_read_options
from allalike.result.prices import find_prices, read_prices
from allalike.result.result import Result
from allalike.result.summaries import describe_confidence as summarise_confidence
from allalike.result.summaries import find_truths
from allalike.result.tables import worker_columns

_MAX_JUDGES = 100
_MAX_ANSWERS = 50_000  # that are compared judge by judge
_MAX_SCORES = 20_000  # that are compared judge by judge, and decided by every panel
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
    **how: Unpack[JuryOptions],
) -> Panel:
    """Let a panel of judges or models decide, and find the judges it needs and those with correlated errors.

    Parameters
    ----------
    answers, domain, engine, gold, min_confidence, seed, ties, gold_columns, gold_map, **how
        As in `discover`. Only classes have a confidence, from which the panel may abstain. Rows without a label are
        dropped, and counted as unreadable verdicts.
    prices
        Price of an answer of each judge: a mapping, or a table or its path with worker and price.
    quorum
        Effective number of answers that a verdict needs; below it, the panel is inconclusive.
    retain
        Share of the worth of the panel that the smallest panel, or fewer samples, must retain.
    positive
        Label or labels whose rate to find: the share of tasks with it. For numbers and levels a bound, such as
        ``">=4"``. With gold labels it is inferred for two classes one of which is called yes, pass, true, 1, correct or
        good.
    gold_drawn
        Sampling of the tasks with gold labels: at ``random``, also separately from those that the panel calls positive
        and from others, or by their ``truth``, such as as many positive ones as negative ones.
    by
        Column of the answers with the group of each task, for a rate of each group.
    baseline
        Folder of an earlier panel, to find the judges who changed since, and the change of the rate.
    humans, epsilon
        Judges who are human, for the alternative annotator test of all others, and its cost-benefit margin: 0.2 for
        experts, 0.15 for trained annotators, 0.1 for crowd workers.
    order, verdicts_name
        Column with the order in which a pair was shown, one of two, and whether verdicts name ``answers`` or the
        ``places`` where these were shown.
    sample
        Column that distinguishes the samples of a judge on one task, such as an epoch or a seed.
    tie, verdicts
        The label that means a tie, if it is not called so, and the labels that are verdicts, if not all are.

    >>> labels = {"ada": "xyxyxyxxyy", "bob": "xyxyxyxxyx", "eve": "xxxyxyxxxy", "kim": "xyyxxxyyyx"}
    >>> rows = [(judge, task, label) for judge, own in labels.items() for task, label in enumerate(own)]
    >>> panel = jury(rows, retain=0.9)
    >>> "".join(panel.truth["label"]), len(panel.smallest) < 4
    ('xyxyxyxxyx', True)
    """
    asked, reading = split_options(how)
    check_read_options(jury, reading)
    numbers = _check_numbers(retain=retain, min_confidence=min_confidence, quorum=quorum)
    costs = None if prices is None else read_prices(prices)
    groups = None
    if by is not None:
        usual: ReadOptions = reading if isinstance(answers, Answers | Scan) else {"missing": "drop", **reading}
        answers, value = read_groups(answers, by, domain=domain, **usual)
        groups, domain, reading = (by, value), None, {}
    listed = _list_positive(positive, gold_drawn)
    earlier = None if baseline is None else read_earlier(baseline)
    known = {"gold": gold, "gold_columns": gold_columns, "gold_map": gold_map}
    try:
        read = read_verdicts(answers, asked, reading, domain=domain, gold=known)
        result = discover(prefer_mean(read.answers), engine=engine, seed=seed, ties=ties, **read.gold)
    except GoldError as error:  # a panel always learns from gold labels
        suggestions = [way for way in error.suggestions if "use_gold" not in way[1]]
        raise GoldError(
            error.args[0], lines=error.lines, suggestions=suggestions, **({} if suggestions else error.options)
        ) from error
    run = result.run
    _check_run(run, {"min_confidence": min_confidence}, {"positive": positive, "by": by, "baseline": baseline})
    if read.repeated is not None:  # rows are not answers that could be read again
        result = replace(result, call=None, inputs=(*result.inputs, *read.inputs))
    inferred = find_positive(run.encoding) if listed is None and run.n_gold else None
    options = _Options(
        **numbers,
        asked=asked,
        price=None if costs is None else find_prices(costs, run.workers.tolist()),
        positive=listed if inferred is None else [inferred],
        inferred=inferred is not None,
        by_truth=gold_drawn == "truth",
        groups=groups,
        earlier=earlier,
    )
    judge = _judge_classes if run.encoding.nominal else _judge_scores
    panel = judge(result, read, options)
    if humans is None:
        return panel
    test, table = compare_with_humans(run, humans, epsilon)
    tables = {**panel.tables, "annotators": table}
    return replace(panel, facts={**panel.facts, "annotators": test}, tables=tables)


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Requirements of a panel, and questions about it."""

    retain: Any
    min_confidence: float | None
    quorum: float | None
    asked: HowAsked
    price: Floats | None
    positive: list[Any] | None
    inferred: bool
    by_truth: bool
    groups: tuple[str, Mapping[str, str]] | None
    earlier: Earlier | None


def _check_numbers(**given: float | None) -> dict[str, Any]:
    checked = {name: None if each is None else float(check_number(each, name, least=0)) for name, each in given.items()}
    for name, what in (("retain", "a share of the panel's worth"), ("min_confidence", "a probability")):
        if (checked[name] or 0) > 1:
            raise OptionError(f"{name} is {given[name]!r}. It must be {what}, at most 1.")
    return checked


def _list_positive(positive: Any, gold_drawn: str) -> list[Any] | None:
    check_choice(gold_drawn, ("random", "truth"), "gold_drawn")
    if positive is None:
        if gold_drawn == "truth":
            raise OptionError("gold_drawn is about the rate of positive tasks. Name the positive label with positive.")
        return None
    listed = list(positive) if isinstance(positive, Iterable) and not isinstance(positive, str) else [positive]
    if not listed:
        raise OptionError("positive is empty. Name the label, or labels, whose rate to find.")
    return listed


def _check_run(run: Run, of_classes: Mapping[str, Any], of_scales: Mapping[str, Any]) -> None:
    """Refuse runs that are no panel, and options that need other labels."""
    if run.worker_task is not None:
        raise UnsupportedError("A jury is the same for all tasks: leave out per_task().")
    if len(run.workers) > _MAX_JUDGES:
        raise UnsupportedError(
            f"A jury compares every judge with every other, of up to {_MAX_JUDGES}, and these are {len(run.workers):,}"
            " workers. allalike.discover weighs as many as there are."
        )
    needs = {} if run.encoding.nominal else {"classes": of_classes}
    if not run.encoding.nominal and not has_scale(run.encoding):
        needs["classes, numbers or levels"] = of_scales
    for kinds, given in needs.items():
        for name in (name for name, value in given.items() if value is not None):
            raise UnsupportedError(
                f"{name} is for verdicts that are {kinds}, and these are {run.domain.name} labels. Leave it out."
            )


def prefer_mean(answers: Answers | Scan) -> Answers | Scan:
    """Return verdicts whose ratings become means of opinions, unless the user chose another target."""
    choices = {"target": "mean"}
    if isinstance(answers, Scan):
        return replace(answers, choices={**answers.choices, **choices})
    encoding = answers.encoding
    return replace(answers, encoding=replace(encoding, domain=choose_options(encoding.domain, choices)))


def find_positive(encoding: Encoding) -> Any:
    """Return the positive one of two classes by its name, such as yes or pass; else None.

    >>> import allalike
    >>> [find_positive(allalike.read([("ada", 1, x), ("bob", 1, y)], domain="categorical").encoding)
    ...  for x, y in (("n", "y"), ("No", "Yes"))]
    [None, 'Yes']
    """
    if not encoding.nominal or encoding.n_labels != 2:
        return None
    positive = [each for each in encoding.decode(np.arange(2)).tolist() if str(each).strip().casefold() in _POSITIVE]
    return positive[0] if len(positive) == 1 else None


def _judge_classes(result: Result, read: Reading, options: _Options) -> Panel:
    """Return the panel of judges who give classes."""
    run, asked, least = result.run, options.asked, options.min_confidence
    model = ConfidenceModel.of(run, result.weighing)
    unaware, tasks = model.decide_tasks(_MAX_ANSWERS)
    weighing = model.with_confidence(result.weighing, fit_gold(tasks))
    tie = find_tie(run.encoding, asked.tie)
    ending = partial(conclude, groups=model.groups, quorum=options.quorum, tie=tie)
    gold = run.n_gold > 0
    found = find_truths(run, weighing, unweighted=True, keep_gold=gold, min_confidence=least, conclude=ending)
    summary = {**result.summary, "confidence": summarise_confidence(run, weighing, found)}
    if least is not None:
        summary |= {"min_confidence": least, "abstained": int(found.total("abstained"))}
    result = replace(result, weighing=weighing, found=found, summary=summary)
    verdicts = ClassVerdicts.of(run, _MAX_ANSWERS, model.find_probability, tasks, model.log_odds)
    parts, without = _describe_rows(result, read, options.quorum, tie)
    if read.repeated is not None and asked.order is not None:
        parts.append(describe_orders(read.repeated, read.verdicts_name, read.first_order, run.workers))
    if read.repeated is not None and asked.sample is not None:
        parts.append(describe_samples(read.repeated, result, model.log_odds, options.retain))
    assert weighing.uncertainty is not None
    error = np.asarray(worker_columns(run, weighing)[weighing.uncertainty.unit])
    accuracy = 1 - _find_gold_distance(run)
    parts += [describe_confidence(tasks, accuracy), describe_pairs(verdicts, model.n_wrong, run.workers)]
    parts += _describe_members(verdicts, result, correlate_errors(verdicts), accuracy, options, error)
    return Panel.of(result, [*parts, *_answer_questions(run, unaware, options)], without)


def _judge_scores(result: Result, read: Reading, options: _Options) -> Panel:
    """Return the panel of judges who give scores."""
    run, weighing = result.run, result.weighing
    blind = _fit_without_gold(result)
    unaware = find_truths(run, blind) if run.n_gold else result.found
    scores = ScoreVerdicts.of(run, blind, _MAX_SCORES)
    correlation, mean = correlate_errors(scores), None
    if options.quorum is not None and correlation is not None and len(correlation) > 1:
        mean = max(float(correlation[~np.eye(len(correlation), dtype=np.bool_)].mean()), 0.0)
    groups = weighing.copy_groups or CopyGroups.independent(len(run.workers))
    ending = partial(conclude, groups=groups, quorum=options.quorum, usual=SCORE, correlation=mean)
    found = find_truths(run, weighing, unweighted=True, keep_gold=run.n_gold > 0, conclude=ending)
    result = replace(result, found=found)
    parts, without = _describe_rows(result, read, options.quorum, NO_LABEL)
    parts.append(describe_offsets(scores, run.workers))
    if read.repeated is not None and options.asked.sample is not None:
        parts.append(describe_score_samples(read.repeated, scores.judged(), options.retain))
    if run.encoding.numeric:
        parts.append(_describe_correction(scores))
        parts += [] if options.by_truth else [describe_mean(run, unaware)]
    parts.append(describe_pairs(scores, 0.0, run.workers))
    distance = scores.unscale(_find_gold_distance(run))
    parts += _describe_members(scores, result, correlation, distance, options)
    if has_scale(run.encoding):
        parts += _answer_questions(run, unaware, options)
    return Panel.of(result, parts, without)


def _fit_without_gold(result: Result) -> Fit:
    """Return the fit of the judges without gold labels, with the errors estimated with them."""
    if not result.run.n_gold:
        return result.weighing
    blind, errors = Auto().fit_without_gold(result.run), result.weighing.uncertainty
    assert blind.uncertainty is not None
    assert errors is not None
    confidence, expect = blind.uncertainty.confidence, blind.uncertainty.expect
    return replace(blind, uncertainty=replace(errors, confidence=confidence, expect=expect))


def _describe_correction(scores: ScoreVerdicts) -> Statistics:
    """Return the RMSE of numbers on gold labels before and, held out, after their correction by gold labels."""
    block, gold = scores.block, np.full(scores.block.n_tasks, np.nan)
    gold[block.gold_task] = block.gold_label
    estimate = scores.decide_uncorrected(range(scores.n_judges))[0]["label"]
    assert scores.numbers is not None
    calibrated = calibrate_scores(scores.numbers, estimate, gold)
    if calibrated is None:
        return Statistics({})
    regression, before = calibrated.regression, float(np.sqrt(np.nanmean(np.square(estimate - gold))))
    facts = GoldCorrection(known=regression.known, before=before, after=before * regression.error)
    return Statistics({"gold_correction": facts})


def _find_gold_distance(run: Run) -> Floats:
    """Return, per judge, the mean distance to gold labels; NaN without any."""
    sums = run.sum(run.kernels.gold_sums)
    return divide(sums["distance"], sums["answers"])


def _describe_rows(
    result: Result, read: Reading, quorum: float | None, tie: int
) -> tuple[list[Statistics], tuple[list[Any], tuple[Any, ...]]]:
    """Return outcomes and unreadable verdicts, and the tasks that are undecided or unreadable."""
    run = result.run
    named = None if tie == NO_LABEL else run.encoding.decode(np.array([tie])).tolist()[0]
    unread, total = read.find_unread(result.summary)
    undecided, judges = read.find_silent(run.workers.tolist())
    unreadable = () if unread is None else unread.tasks
    outcomes = count_outcomes(result.found, quorum, named, len(undecided), len(unreadable), judges)
    return [outcomes, describe_unreadable(run.workers, total, unread)], (undecided, unreadable)


def _describe_members(
    verdicts: Verdicts,
    result: Result,
    correlation: Floats | None,
    known: Floats,
    options: _Options,
    error: Floats | None = None,
) -> list[Statistics]:
    """Return smaller panels, the effective number of judges and the recommendation."""
    run, trials = result.run, Trials(verdicts.judged())
    return [
        describe_sizes(trials, run, retain=options.retain, price=options.price, known=known, error=error),
        describe_independence(run.workers, correlation, *verdicts.ceiling),
        recommend(trials, options.retain, run.workers),
    ]


def _answer_questions(run: Run, unaware: TaskTable, options: _Options) -> list[Statistics]:
    """Return kept verdicts, the rate and the drift, from the verdicts without gold labels."""
    parts: list[Statistics] = []
    rate: Estimate | None = None
    if options.positive is not None:
        how = {"by_truth": options.by_truth, "inferred": options.inferred}
        part, rate = describe_rate(run, unaware, options.positive, options.groups, **how)
        parts.append(part)
    if run.encoding.offsets is not None:  # so that scores are unknown as they were given
        if options.earlier is not None:
            raise UnsupportedError("baseline compares scores as they were given: leave out bias of the label type.")
        return parts
    kept = keep_verdicts(run, unaware, _MAX_ANSWERS)
    if options.earlier is not None:
        parts.append(describe_drift(options.earlier, kept, run, options.positive, rate))
    return [Statistics({}, {"verdicts": kept}), *parts]
