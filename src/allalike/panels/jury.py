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
from allalike.engines import Engine, Run, TaskTable
from allalike.errors import GoldError, OptionError, UnsupportedError
from allalike.methods.fit import CopyGroups
from allalike.panels.annotators import EPSILON, compare_with_humans
from allalike.panels.calibration import ConfidenceModel, describe_confidence, fit_gold
from allalike.panels.correlated_errors import (
    compare_classes,
    compare_scores,
    correlate_classes,
    correlate_scores,
    count_decided,
    describe_independence,
    describe_pairs,
)
from allalike.panels.drift import Earlier, describe_drift, keep_verdicts, read_earlier
from allalike.panels.panel import Panel
from allalike.panels.rates import describe_mean, describe_rate
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
from allalike.panels.scale import (
    choose_offsets,
    describe_scale_use,
    find_offsets,
    find_shared_offset,
    fit_without_gold,
    remove_offsets,
    remove_shared_offset,
)
from allalike.panels.smaller_panels import (
    Trials,
    describe_pivotal,
    describe_sizes,
    describe_wanted,
    find_sizes,
    recommend,
)
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
    keep: float = 0.99,
    max_error: float | None = None,
    good: Any = None,
    gold_drawn: str = "random",
    by: str | None = None,
    since: str | os.PathLike[str] | None = None,
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
    keep
        Share of the worth of the panel that the smallest panel, or fewer samples, must retain.
    max_error
        Error of the smallest panel to search for: a share of wrong verdicts, or for other labels an RMSE or a mean
        distance to the truth.
    good
        Label or labels whose rate to find: the share of tasks with it. For numbers and levels a bound, such as
        ``">=4"``. With gold labels it is inferred for two classes one of which is called yes, pass, true, 1, correct or
        good.
    gold_drawn
        Sampling of the tasks with gold labels: at ``random``, also separately from those that the panel calls good
        and from others, or by their ``truth``, such as as many good ones as bad ones.
    by
        Column of the answers with the group of each task, for a rate and a test of drift in each.
    since
        Folder of an earlier panel, to find the judges who changed since, and the change of the rate.
    humans, epsilon
        Judges who are human, for the alternative annotator test of all others, and its cost-benefit margin: 0.2 for
        experts, 0.15 for trained annotators, 0.1 for crowd workers.
    order, about
        Column with the order in which a pair was shown, one of two, and whether verdicts name ``answers`` or the
        ``places`` where these were shown; the latter is inferred if possible.
    sample
        Column that distinguishes the samples of a judge on one task, such as an epoch or a seed.
    tie, verdicts
        The label that means a tie, if it is not called so, and the labels that are verdicts, if not all are.

    >>> labels = {"ada": "xyxyxyxxyy", "bob": "xyxyxyxxyx", "eve": "xxxyxyxxxy", "kim": "xyyxxxyyyx"}
    >>> rows = [(judge, task, label) for judge, own in labels.items() for task, label in enumerate(own)]
    >>> panel = jury(rows, keep=0.9)
    >>> "".join(panel.truth["label"]), len(panel.smallest) < 4
    ('xyxyxyxxyx', True)
    """
    asked, reading = split_options(how)
    check_read_options(jury, reading)
    needs = _Needs(**_check_needs(keep=keep, min_confidence=min_confidence, quorum=quorum, max_error=max_error))
    costs = None if prices is None else read_prices(prices)
    groups = None
    if by is not None:
        usual: ReadOptions = reading if isinstance(answers, Answers | Scan) else {"missing": "drop", **reading}
        answers, value = read_groups(answers, by, domain=domain, **usual)
        groups, domain, reading = (by, value), None, {}
    question = _Question.of(good, gold_drawn, groups, since)
    known = {"gold": gold, "gold_columns": gold_columns, "gold_map": gold_map}
    try:
        read = read_verdicts(answers, asked, reading, domain=domain, gold=known)
        result = discover(read.answers, engine=engine, seed=seed, ties=ties, **read.gold)
    except GoldError as error:  # a panel always learns from gold labels
        suggestions = [way for way in error.suggestions if "use_gold" not in way[1]]
        raise GoldError(
            error.args[0], lines=error.lines, suggestions=suggestions, **({} if suggestions else error.options)
        ) from error
    run = result.run
    if run.worker_task is not None:
        raise UnsupportedError("A jury is the same for all tasks: leave out per_task().")
    if len(run.workers) > _MAX_JUDGES:
        raise UnsupportedError(
            f"A jury compares every judge with every other, of up to {_MAX_JUDGES}, and these are {len(run.workers):,}"
            " workers. allalike.discover weighs as many as there are."
        )
    if read.repeated is not None:  # rows are not answers that could be read again
        result = replace(result, call=None, inputs=(*result.inputs, *read.inputs))
    price = None if costs is None else find_prices(costs, run.workers.tolist())
    tested = None if humans is None else compare_with_humans(run, humans, epsilon)
    if run.encoding.nominal:
        panel = _judge_classes(result, read, asked, price, needs, question.infer_good(run))
    else:
        _refuse_for_scores(run, {"min_confidence": min_confidence})
        if not has_scale(run.encoding):
            _refuse_for_scores(run, {"good": good, "by": by, "since": since})
        panel = _judge_scores(result, read, asked, price, needs, question)
    if tested is None:
        return panel
    tables = {**panel.tables, "annotators": tested[1]}
    return replace(panel, facts={**panel.facts, "annotators": tested[0]}, tables=tables)


@dataclass(frozen=True)
class _Needs:
    """Requirements of a panel: its confidence, effective answers, retained worth and error."""

    keep: float
    min_confidence: float | None
    quorum: float | None
    max_error: float | None


def _check_needs(**given: float | None) -> dict[str, Any]:
    checked = {name: None if each is None else float(check_number(each, name, least=0)) for name, each in given.items()}
    for name, what in (("keep", "a share of what the panel is worth"), ("min_confidence", "a probability")):
        if (checked[name] or 0) > 1:
            raise OptionError(f"{name} is {given[name]!r}. It must be {what}, at most 1.")
    return checked


@dataclass(frozen=True)
class _Question:
    """Questions about the rate and drift: good labels, groups of tasks, and an earlier panel."""

    good: list[Any] | None = None
    by_truth: bool = False
    groups: tuple[str, Mapping[str, str]] | None = None
    earlier: Earlier | None = None
    inferred: bool = False

    @classmethod
    def of(cls, good: Any, gold_drawn: str, groups: Any, since: Any) -> _Question:
        """Check the options, and read the earlier panel."""
        listed = list(good) if isinstance(good, Iterable) and not isinstance(good, str) else [good]
        if not listed:
            raise OptionError("good is empty. Name the label, or labels, of which to find the rate.")
        by_truth = check_choice(gold_drawn, ("random", "truth"), "gold_drawn") == "truth"
        if by_truth and good is None:
            raise OptionError("gold_drawn is about the rate of good tasks. Name the label that is good with good.")
        return cls(None if good is None else listed, by_truth, groups, None if since is None else read_earlier(since))

    def infer_good(self, run: Run) -> _Question:
        """Ask for the rate of the positive class of two if gold labels can correct it."""
        positive = find_positive(run.encoding) if self.good is None and run.n_gold else None
        return self if positive is None else replace(self, good=[positive], inferred=True)

    def answer(self, run: Run, found: TaskTable) -> list[Statistics]:
        """Return kept verdicts, the rate and the drift, from the verdicts without gold labels."""
        parts, rate = [], None
        if self.good is not None:
            how = {"by_truth": self.by_truth, "inferred": self.inferred}
            part, rate = describe_rate(run, found, self.good, self.groups, **how)
            parts.append(part)
        if run.encoding.offsets is not None:  # so that scores are unknown as they were given
            if self.earlier is not None:
                raise UnsupportedError(
                    "since compares scores as they were given: leave out bias, which takes part of"
                    " them away. The panel does so by itself."
                )
            return parts
        kept = keep_verdicts(run, found, _MAX_ANSWERS, {} if self.groups is None else self.groups[1])
        if self.earlier is not None:
            parts.append(describe_drift(self.earlier, kept, run, self.good, rate))
        return [Statistics({}, {"verdicts": kept}), *parts]


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


def _refuse_for_scores(run: Run, given: Mapping[str, Any]) -> None:
    """Refuse options that need classes with probabilities, or a scale at least."""
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        kinds = "classes" if wrong[0] == "min_confidence" else "classes, numbers or levels"
        raise UnsupportedError(
            f"{wrong[0]} is for verdicts that are {kinds}, and these are {run.domain.name} labels. Leave it out."
        )


def _judge_classes(
    result: Result, read: Reading, asked: HowAsked, price: Floats | None, needs: _Needs, question: _Question
) -> Panel:
    """Return the panel of judges who give classes."""
    run, known = result.run, result.run.n_gold > 0
    model = ConfidenceModel.of(run, result.weighing)
    unaware, tasks = model.decide_tasks(_MAX_ANSWERS)
    weighing = model.with_confidence(result.weighing, fit_gold(tasks))
    tie, least = find_tie(run.encoding, asked.tie), needs.min_confidence
    ending = partial(conclude, groups=model.groups, quorum=needs.quorum, tie=tie)
    found = find_truths(run, weighing, unweighted=True, keep_gold=known, min_confidence=least, conclude=ending)
    summary = {**result.summary, "confidence": summarise_confidence(run, weighing, found)}
    if least is not None:
        summary |= {"min_confidence": least, "abstained": int(found.total("abstained"))}
    result = replace(result, weighing=weighing, found=found, summary=summary)
    verdicts = ClassVerdicts.of(run, _MAX_ANSWERS, model.find_probability, tasks, model.log_odds)
    accuracy = 1 - _find_gold_distance(run)
    parts, silent = _describe_rows(result, read, needs.quorum, tie)
    if read.repeated is not None and asked.order is not None:
        parts.append(describe_orders(read.repeated, read.about, read.first_order, run.workers))
    if read.repeated is not None and asked.sample is not None:
        parts.append(describe_samples(read.repeated, result, model.log_odds, needs.keep))
    parts += [
        describe_confidence(tasks, accuracy),
        describe_pairs(compare_classes(verdicts, model.n_wrong), run.workers, count_decided(verdicts)),
    ]
    expected = accuracy if verdicts.by_gold else 1 - np.asarray(worker_columns(run, weighing)["error_rate"])
    parts += _describe_members(result, verdicts, correlate_classes(verdicts), price, needs, expected)
    return Panel.of(result, [*parts, *question.answer(run, unaware)], silent)


def _judge_scores(
    result: Result, read: Reading, asked: HowAsked, price: Floats | None, needs: _Needs, question: _Question
) -> Panel:
    """Return the panel of judges who give scores, corrected for offsets where that helps."""
    given = ScoreVerdicts.of(result.run, fit_without_gold(result), _MAX_SCORES)
    scores, run = given, result.run
    offsets = choose_offsets(given)
    if offsets is not None:
        result = remove_offsets(result, offsets)
    unaware = find_truths(result.run, fit_without_gold(result)) if run.n_gold else result.found
    mean = describe_mean(result.run, unaware) if run.encoding.numeric and not question.by_truth else Statistics({})
    shared = find_shared_offset(result.run, unaware)
    if shared is not None:
        result = remove_shared_offset(result, shared)
    if result.run is not run:
        scores = ScoreVerdicts.of(result.run, fit_without_gold(result), _MAX_SCORES)
    correlation = correlate_scores(scores)
    result = replace(result, found=_conclude(result, correlation, needs.quorum))
    parts, silent = _describe_rows(result, read, needs.quorum, NO_LABEL)
    if given.numbers is not None:
        part = (given.task_hash >> np.uint64(8)).astype(np.int64)
        can_correct = run.encoding.numeric and run.encoding.offsets is None
        use = {"corrected": offsets is not None, "can_correct": can_correct}
        parts.append(describe_scale_use(run.workers, find_offsets(given.numbers, part), **use))
    if shared is not None:
        parts.append(Statistics({"shared_offset": shared.facts}))
    if read.repeated is not None and asked.sample is not None:
        parts.append(describe_score_samples(read.repeated, scores.judged(), needs.keep))
    parts += [mean, describe_pairs(compare_scores(scores), run.workers, scores.block.n_tasks)]
    distance = scores.unscale(_find_gold_distance(result.run))
    parts += _describe_members(result, scores, correlation, price, needs, distance)
    if has_scale(run.encoding):
        parts += question.answer(run, unaware)  # scores as they were given, however they are corrected
    return Panel.of(result, parts, silent)


def _describe_rows(
    result: Result, read: Reading, quorum: float | None, tie: int
) -> tuple[list[Statistics], tuple[list[Any], tuple[Any, ...]]]:
    """Return outcomes and unreadable verdicts, and the tasks that are undecided or unreadable."""
    run = result.run
    named = None if tie == NO_LABEL else run.encoding.decode(np.array([tie])).tolist()[0]
    unread, total = read.find_unread(result.summary)
    undecided, voiceless = read.find_silent(run.workers.tolist())
    unreadable = () if unread is None else unread.tasks
    outcomes = count_outcomes(result.found, quorum, named, len(undecided), len(unreadable), voiceless)
    return [outcomes, describe_unreadable(run.workers, total, unread)], (undecided, unreadable)


def _describe_members(
    result: Result,
    verdicts: Verdicts,
    correlation: Floats | None,
    price: Floats | None,
    needs: _Needs,
    known: Floats,
) -> list[Statistics]:
    """Return smaller panels, pivotal judges, the effective number of judges and the recommendation."""
    run, judged = result.run, verdicts.judged()
    trials = Trials(judged)
    sizes = find_sizes(trials)
    parts = [
        describe_sizes(judged, run, sizes, keep=needs.keep, price=price, known=known),
        describe_pivotal(verdicts, run.workers, result.found),
        describe_independence(run.workers, correlation, *verdicts.ceiling),
        recommend(trials, needs.keep, run.workers),
    ]
    if needs.max_error is not None:
        parts.append(describe_wanted(judged, sizes, needs.max_error, run.workers))
    return parts


def _find_gold_distance(run: Run) -> Floats:
    """Return, per judge, the mean distance to gold labels; NaN without any."""
    sums = run.sum(run.kernels.gold_sums)
    return divide(sums["distance"], sums["answers"])


def _conclude(result: Result, correlation: Floats | None, quorum: float | None) -> TaskTable:
    """Return the truths with their outcomes; correlated errors reduce the effective number of answers."""
    run, mean = result.run, None
    groups = result.weighing.copy_groups or CopyGroups.independent(len(run.workers))
    if quorum is not None and correlation is not None and len(correlation) > 1:
        mean = max(float(correlation[~np.eye(len(correlation), dtype=np.bool_)].mean()), 0.0)
    ending = partial(conclude, groups=groups, quorum=quorum, usual=SCORE, correlation=mean)
    return find_truths(run, result.weighing, unweighted=True, keep_gold=run.n_gold > 0, conclude=ending)
