"""The entry point of panels: let judges or models decide, and measure how good they are, alone and together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

import numpy as np

from allalike._core.options import check_choice, check_number
from allalike.answers import Answers
from allalike.api.discover import discover
from allalike.errors import GoldError, OptionError, UnsupportedError
from allalike.methods.insight import VoiceGroups
from allalike.panels.calibration import (
    ConfidenceModel,
    describe_confidence,
    fit_gold,
)
from allalike.panels.correlated_errors import (
    compare_classes,
    compare_scores,
    correlate_classes,
    correlate_scores,
    count_decided,
    describe_independence,
    describe_pairs,
)
from allalike.panels.drift import describe_drift, keep_verdicts, read_earlier
from allalike.panels.panel import Panel, PanelFacts, list_columns
from allalike.panels.rates import describe_rate
from allalike.panels.repeated_verdicts import find_tie
from allalike.panels.repeats import describe_orders, describe_samples, describe_score_samples
from allalike.panels.rows import JuryOptions, describe_unread, hear, read_groups, split_options
from allalike.panels.scale import (
    choose_offsets,
    describe_scale_use,
    find_offsets,
    find_shared_offset,
    remove_offsets,
    remove_shared_offset,
    weigh_blindly,
)
from allalike.panels.smaller_panels import describe_pivotal, describe_sizes, describe_wanted, find_sizes
from allalike.panels.verdicts import (
    NOBODY,
    SCORE,
    ClassVerdicts,
    Scores,
    conclude,
    count_outcomes,
    divide,
    has_scale,
)
from allalike.readers import ReadOptions, Scan, check_read_options
from allalike.result.prices import find_prices, read_prices
from allalike.result.summaries import describe_confidence as summarise_confidence
from allalike.result.summaries import find_truths
from allalike.result.tables import worker_columns

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from allalike._core.blocks.block import Floats
    from allalike.domains import Domain, Encoding
    from allalike.engines import Engine, Run, TaskTable
    from allalike.panels.drift import Earlier
    from allalike.panels.rows import Hearing, HowAsked
    from allalike.panels.verdicts import Sample
    from allalike.result.result import Result

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
    seed: int = 0,
    ties: str = "random",
    gold_columns: Mapping[str, str] | None = None,
    gold_map: Any = None,
    **how: Unpack[JuryOptions],
) -> Panel:
    """Let a panel of judges or models decide, and say who is needed for it, and who is wrong with whom.

    Parameters
    ----------
    answers, domain, engine, gold, min_confidence, seed, ties, gold_columns, gold_map, **how
        As in `discover`. Only classes have a confidence, from which the panel may abstain. Rows without a label are
        dropped, and counted as verdicts that cannot be read.
    prices
        What an answer of each judge costs: a mapping, or a table or its path with worker and price.
    quorum
        On how many independent voices a verdict must rest, of whatever kind; on fewer, the panel is inconclusive.
    keep
        Which share of what the panel is worth the smallest panel, or fewer samples, must keep.
    max_error
        How much a panel may err: the smallest that does not err more is looked for. It is a share of wrong verdicts, or
        of numbers and other labels a distance to the truth, in their unit (RMSE, or the mean distance).
    good
        The label, or labels, of which to find the rate: the share of tasks for which they are right. Of numbers and
        levels a bound, such as ``">=4"``. With gold labels it is inferred for two classes one of which is called yes,
        pass, true, 1, correct or good.
    gold_drawn
        How the tasks with known truths were drawn: at ``random``, be it from those that the panel calls good and from
        others apart, or by their ``truth``, such as as many good ones as bad ones.
    by
        A column of the answers that says in which group a task is, for a rate and a look at drift in each.
    since
        The folder of an earlier panel, to find which judges changed since, and the rate.
    order, about
        The column that says in which of two orders a pair was shown, and whether verdicts name ``answers`` or the
        ``places`` where these were shown; the latter is found out, if it can be.
    sample
        The column that tells the samples of a judge on one task apart, such as an epoch or a seed.
    tie, verdicts
        The label that means a tie, if it is not called so, and the labels that are verdicts, if not all are.

    >>> said = {"ada": "xyxyxyxxyy", "bob": "xyxyxyxxyx", "eve": "xxxyxyxxxy", "kim": "xyyxxxyyyx"}
    >>> rows = [(judge, task, label) for judge, labels in said.items() for task, label in enumerate(labels)]
    >>> panel = jury(rows, keep=0.9)
    >>> "".join(panel.truth["label"]), len(panel.smallest) < 4
    ('xyxyxyxxyy', True)
    """
    asked, reading = split_options(how)
    check_read_options(jury, reading)
    needs = _Needs.of(keep, min_confidence, quorum, max_error)
    costs = None if prices is None else read_prices(prices)
    groups = None
    if by is not None:
        usual: ReadOptions = reading if isinstance(answers, Answers | Scan) else {"missing": "drop", **reading}
        answers, value = read_groups(answers, by, domain=domain, **usual)
        groups, domain, reading = (by, value), None, {}
    question = _Question.of(good, gold_drawn, groups, since)
    known = {"gold": gold, "gold_columns": gold_columns, "gold_map": gold_map}
    try:
        heard = hear(answers, asked, reading, domain=domain, gold=known)
        result = discover(heard.answers, engine=engine, seed=seed, ties=ties, **heard.gold)
    except GoldError as error:  # a panel always learns from gold labels
        ways = [way for way in error.ways if "use_gold" not in way[1]]
        raise GoldError(error.args[0], lines=error.lines, ways=ways, **({} if ways else error.settles)) from error
    _check(result.run)
    if heard.ballots is not None:  # rows are no answers that could be read again
        result = replace(result, basis=None, inputs=(*result.inputs, *heard.inputs))
    price = None if costs is None else find_prices(costs, result.run.workers.tolist())
    if result.run.encoding.nominal:
        return _judge_classes(result, heard, asked, price, needs, question.infer_good(result.run))
    _refuse_for_scores(result.run, {"min_confidence": min_confidence})
    if not has_scale(result.run.encoding):
        _refuse_for_scores(result.run, {"good": good, "by": by, "since": since})
    return _judge_scores(result, heard, asked, price, needs, question)


class _Needs(NamedTuple):
    """What a panel must reach: a confidence, a number of voices, a share of its worth, and few errors."""

    least: float | None
    quorum: float | None
    keep: float
    max_error: float | None

    @classmethod
    def of(cls, keep: float, least: float | None, quorum: float | None, max_error: float | None) -> Self:
        """Check the numbers."""
        share = float(check_number(keep, "keep", least=0))
        if share > 1:
            raise OptionError(f"keep is {keep!r}. It must be a share of what the panel is worth, at most 1.")
        given = {"min_confidence": least, "quorum": quorum, "max_error": max_error}
        sure, voices, most = (
            None if each is None else float(check_number(each, name, least=0)) for name, each in given.items()
        )
        if sure is not None and sure > 1:
            raise OptionError(f"min_confidence is {least!r}. It must be a probability, at most 1.")
        return cls(sure, voices, share, most)


@dataclass(frozen=True)
class _Question:
    """The rate and the drift that are asked for: good labels, groups of tasks, and an earlier panel."""

    good: list[Any] | None = None
    by_truth: bool = False
    groups: tuple[str, Mapping[str, str]] | None = None
    earlier: Earlier | None = None
    inferred: bool = False

    @classmethod
    def of(
        cls,
        good: Any,
        gold_drawn: str,
        groups: tuple[str, Mapping[str, str]] | None,
        since: str | os.PathLike[str] | None,
    ) -> Self:
        """Check what is asked for, and read the earlier panel."""
        listed = list(good) if isinstance(good, Iterable) and not isinstance(good, str) else [good]
        if not listed:
            raise OptionError("good is empty. Name the label, or labels, of which to find the rate.")
        by_truth = check_choice(gold_drawn, ("random", "truth"), "gold_drawn") == "truth"
        if by_truth and good is None:
            raise OptionError(
                "gold_drawn is about the rate of what is good, and nothing is: say with good which label."
            )
        return cls(None if good is None else listed, by_truth, groups, None if since is None else read_earlier(since))

    def infer_good(self, run: Run) -> _Question:
        """Ask for the rate of the positive class of two, if nothing was asked for and gold labels can correct it."""
        positive = find_positive(run.encoding) if self.good is None and run.n_gold else None
        return self if positive is None else replace(self, good=[positive], inferred=True)

    def answer(self, run: Run, found: TaskTable) -> list[PanelFacts]:
        """Return kept verdicts, the rate and the drift, from what the panel finds without gold labels."""
        facts, rate = [], None
        if self.good is not None:
            how = {"by_truth": self.by_truth, "inferred": self.inferred}
            told, rate = describe_rate(run, found, self.good, self.groups, **how)
            facts.append(told)
        if run.encoding.offsets is not None:  # so that it is unknown what judges said
            if self.earlier is not None:
                raise UnsupportedError(
                    "since compares scores as they were given: leave out bias, which takes part of"
                    " them away. The panel does so by itself."
                )
            return facts
        kept = keep_verdicts(run, found, _MAX_ANSWERS, {} if self.groups is None else self.groups[1])
        facts.insert(0, PanelFacts({}, {"verdicts": list_columns(kept)}))
        if self.earlier is not None:
            facts.append(describe_drift(self.earlier, kept, run, self.good, rate))
        return facts


def find_positive(encoding: Encoding) -> Any:
    """Return the one of two classes whose name says that it is the positive one, such as yes or pass; else None.

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
    """Refuse what only classes have, probabilities, or what needs a scale at least."""
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        kinds = "classes" if wrong[0] == "min_confidence" else "classes, numbers or levels"
        raise UnsupportedError(
            f"{wrong[0]} is for verdicts that are {kinds}, and these are {run.domain.name} labels. Leave it out."
        )


def _check(run: Run) -> None:
    """Refuse answers of which every task is a problem of its own, and more judges than can be compared."""
    if len(run.problems.sizes) > 1:
        raise UnsupportedError("A jury is the same for all tasks: leave out per_task().")
    if len(run.workers) > _MAX_JUDGES:
        raise UnsupportedError(
            f"A jury compares every judge with every other, of up to {_MAX_JUDGES}, and these are {len(run.workers):,}"
            " workers. allalike.discover weighs as many as there are."
        )


def _judge_classes(
    result: Result, heard: Hearing, asked: HowAsked, price: Floats | None, needs: _Needs, question: _Question
) -> Panel:
    """Return the panel of judges who give classes."""
    run, known = result.run, result.run.n_gold > 0
    model = ConfidenceModel.of(run, result.weighing)
    unaware, tasks = model.decide_tasks(_MAX_ANSWERS)
    weighing = model.with_confidence(result.weighing, fit_gold(tasks))
    tie = find_tie(run.encoding, asked.tie)
    ending = partial(conclude, groups=model.groups, quorum=needs.quorum, tie=tie)
    found = find_truths(run, weighing, unweighted=True, keep_gold=known, min_confidence=needs.least, conclude=ending)
    summary = {**result.summary, "confidence": summarise_confidence(run, weighing, found)}
    if needs.least is not None:
        summary |= {"min_confidence": needs.least, "abstained": int(found.total("abstained"))}
    result = replace(result, weighing=weighing, found=found, summary=summary)
    verdicts = ClassVerdicts.of(run, _MAX_ANSWERS, model.believe, tasks, model.odds)
    right = 1 - _find_gold_distance(run)
    facts, silent = _describe_rows(result, heard, needs.quorum, tie)
    ballots = heard.ballots
    if ballots is not None and asked.order is not None:
        facts.append(describe_orders(ballots, heard.about, heard.first_order, run.workers))
    if ballots is not None and asked.sample is not None:
        facts += describe_samples(ballots, result, model.odds, needs.keep)
    facts += [
        describe_confidence(tasks, right),
        describe_pairs(compare_classes(verdicts, model.n_wrong), run.workers, count_decided(verdicts)),
    ]
    expected = right if verdicts.by_gold else 1 - np.asarray(worker_columns(run, weighing)["error_rate"])
    judged = verdicts.judged()
    facts += _describe_members(result, verdicts, judged, correlate_classes(verdicts), price, needs, expected)
    facts += question.answer(run, unaware)
    return Panel(result, PanelFacts.join(facts), *silent)


def _judge_scores(
    result: Result, heard: Hearing, asked: HowAsked, price: Floats | None, needs: _Needs, question: _Question
) -> Panel:
    """Return the panel of judges who give scores, corrected for offsets where that helps."""
    given = Scores.of(result.run, weigh_blindly(result), _MAX_SCORES)
    scores, run, numbers = given, result.run, given.numbers
    offsets = choose_offsets(given)
    if offsets is not None:
        result = remove_offsets(result, offsets)
        scores = Scores.of(result.run, weigh_blindly(result), _MAX_SCORES)
    unaware = find_truths(result.run, weigh_blindly(result)) if run.n_gold else result.found
    shared = find_shared_offset(result.run, unaware)
    if shared is not None:
        result = remove_shared_offset(result, shared)
        scores = Scores.of(result.run, weigh_blindly(result), _MAX_SCORES)
    correlation = correlate_scores(scores)
    result = replace(result, found=_conclude(result, correlation, needs.quorum))
    facts, silent = _describe_rows(result, heard, needs.quorum, NOBODY)
    if numbers is not None:
        part = (given.task_hash >> np.uint64(8)).astype(np.int64)
        can_correct = run.encoding.numeric and run.encoding.offsets is None
        use = {"corrected": offsets is not None, "can_correct": can_correct}
        facts.append(describe_scale_use(run.workers, find_offsets(numbers, part), **use))
    if shared is not None:
        facts.append(shared.describe())
    judged = scores.judged()
    if heard.ballots is not None and asked.sample is not None:
        facts += describe_score_samples(heard.ballots, judged, needs.keep)
    facts.append(describe_pairs(compare_scores(scores), run.workers, scores.block.n_tasks))
    distance = scores.unscale(_find_gold_distance(result.run))
    facts += _describe_members(result, scores, judged, correlation, price, needs, distance)
    if has_scale(run.encoding):
        facts += question.answer(run, unaware)  # scores as they were given, however they are corrected
    return Panel(result, PanelFacts.join(facts), *silent)


def _describe_rows(
    result: Result, heard: Hearing, quorum: float | None, tie: int
) -> tuple[list[PanelFacts], tuple[list[Any], tuple[Any, ...]]]:
    """Return outcomes and unreadable verdicts, and the tasks without any voice: undecided and unreadable ones."""
    run = result.run
    named = None if tie == NOBODY else run.encoding.decode(np.array([tie])).tolist()[0]
    unread, total = heard.find_unread(result.summary)
    undecided, voiceless = heard.find_silent(run.workers.tolist())
    silent = undecided, () if unread is None else unread.tasks
    outcomes = count_outcomes(result.found, quorum, named, (*silent, voiceless))
    return [outcomes, describe_unread(run.workers, total, unread)], silent


def _describe_members(
    result: Result,
    sample: Sample,
    judged: Sample,
    correlation: Floats | None,
    price: Floats | None,
    needs: _Needs,
    known: Floats,
) -> list[PanelFacts]:
    """Return who is needed, who decides, and how independent judges are; ``judged`` tasks measure worth."""
    run, sizes = result.run, find_sizes(judged)
    facts = [
        describe_sizes(judged, run, sizes, keep=needs.keep, price=price, known=known),
        describe_pivotal(sample.leave_one_out(), sample, run.workers, result.found),
        describe_independence(run.workers, correlation, *sample.ceiling),
    ]
    if needs.max_error is not None:
        facts.append(describe_wanted(judged, sizes, needs.max_error, run.workers))
    return facts


def _find_gold_distance(run: Run) -> Floats:
    """Return, per judge, the mean distance to gold labels; NaN without any."""
    sums = run.sum(run.kernels.gold_sums)
    return divide(sums["distance"], sums["answers"])


def _conclude(result: Result, correlation: Floats | None, quorum: float | None) -> TaskTable:
    """Return the truths with their outcomes; correlated errors make fewer voices."""
    run, together = result.run, None
    groups = result.weighing.insight.groups or VoiceGroups.everyone(run.problems.n_workers)
    if quorum is not None and correlation is not None and len(correlation) > 1:
        together = max(float(correlation[~np.eye(len(correlation), dtype=np.bool_)].mean()), 0.0)
    ending = partial(conclude, groups=groups, quorum=quorum, usual=SCORE, correlation=together)
    return find_truths(run, result.weighing, unweighted=True, keep_gold=run.n_gold > 0, conclude=ending)
