"""jury: from the verdicts of judges, or the answers of models, to the panel's, and who of them is needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from allalike._core.options import check_number
from allalike.answers import Answers
from allalike.api.discover import discover
from allalike.api.judges.asking import Asked, JuryOptions, split_options
from allalike.api.judges.coverage import MIN_GOLD, OddsLine, SureLevels, decide_held_out, gather_sureness
from allalike.api.judges.finding import divide, read_groups
from allalike.api.judges.independence import Independence, Pivotal, correlate_errors, find_missed, find_turns
from allalike.api.judges.open_labels import OpenChance, decide_openly, find_chances, find_open_chance
from allalike.api.judges.outcomes import conclude
from allalike.api.judges.panel import Panel
from allalike.api.judges.rows import hear
from allalike.api.judges.scores import has_scale
from allalike.api.judges.scoring import judge_scores
from allalike.api.judges.shared_errors import Bonds, find_shared_errors
from allalike.api.judges.smaller_panels import SmallerPanelsOfClasses, WantedError, find_sizes
from allalike.api.judges.verdicts import NOBODY, PanelAnswers, Verdicts, take_verdicts
from allalike.engines.sample import sample_tasks
from allalike.errors import GoldError, OptionError, UnsupportedError
from allalike.methods import Auto, Weighing
from allalike.methods.auto.voices import find_error_correlation, with_voices
from allalike.methods.insight import VoiceGroups
from allalike.readers import ReadOptions, Scan, check_read_options
from allalike.result.prices import find_prices, read_prices
from allalike.result.summaries import describe_confidence, find_truths
from allalike.result.tables import worker_columns

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from allalike._core.blocks.block import Block, Floats
    from allalike.api.judges.coverage import HeldOut
    from allalike.api.judges.rows import Hearing
    from allalike.domains import Domain
    from allalike.engines import Engine, Run, TaskTable
    from allalike.result.result import Result

_MAX_JUDGES = 100
_MAX_ANSWERS = 50_000  # that are compared judge by judge
_TEMPERING_ANSWERS = 50_000  # that tell how sure open answers are
_LEAST_RATE, _LEAST_ODDS = 0.01, 0.01  # an answer of the worst judge is better than none


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
    asking, reading = split_options(how)
    check_read_options(jury, reading)
    share = float(check_number(keep, "keep", least=0))
    if share > 1:
        raise OptionError(f"keep is {keep!r}. It must be a share of what the panel is worth, at most 1.")
    least = None if min_confidence is None else float(check_number(min_confidence, "min_confidence", least=0))
    if least is not None and least > 1:
        raise OptionError(f"min_confidence is {min_confidence!r}. It must be a probability, at most 1.")
    needed = None if quorum is None else float(check_number(quorum, "quorum", least=0))
    most = None if max_error is None else float(check_number(max_error, "max_error", least=0))
    costs = None if prices is None else read_prices(prices)
    groups = None
    if by is not None:
        usual: ReadOptions = reading if isinstance(answers, Answers | Scan) else {"missing": "drop", **reading}
        answers, groups = read_groups(answers, by, domain=domain, **usual)
        domain, reading = None, {}
    asked = Asked.of(good, gold_drawn, groups, since)
    known = {"gold": gold, "gold_columns": gold_columns, "gold_map": gold_map}
    try:
        heard = hear(answers, asking, reading, domain=domain, gold=known)
        result = discover(heard.answers, engine=engine, seed=seed, ties=ties, **heard.gold)
    except GoldError as error:  # a panel always learns from known truths
        ways = [way for way in error.ways if "use_gold" not in way[1]]
        raise GoldError(error.args[0], lines=error.lines, ways=ways, **({} if ways else error.settles)) from error
    _check(result.run)
    price = None if costs is None else find_prices(costs, result.run.workers.tolist())
    needs = _Needs(least, needed, share, most)
    if result.run.encoding.nominal:
        return _judge(heard.detach(result), heard, price, needs, asked.infer_good(result.run))
    _refuse_for_scores(result.run, {"min_confidence": min_confidence})
    if not has_scale(result.run.encoding):
        _refuse_for_scores(result.run, {"good": good, "by": by, "since": since})
    result, findings = judge_scores(heard.detach(result), price, share, most, asked, heard.score_ballots, needed)
    return Panel(result, (*heard.find_outcomes(result, needed), *findings))


class _Needs(NamedTuple):
    """What is asked of a panel: how sure, of how many voices, which share of its worth, and how few errors."""

    least: float | None
    quorum: float | None
    keep: float
    max_error: float | None


def _refuse_for_scores(run: Run, given: Mapping[str, Any]) -> None:
    """Refuse what only classes have, probabilities, or what needs a scale at least."""
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        kinds = "classes" if wrong[0] == "min_confidence" else "classes, numbers or levels"
        raise UnsupportedError(
            f"{wrong[0]} is for verdicts that are {kinds}, and these are {run.domain.name} labels. Leave it out."
        )


def _judge(result: Result, heard: Hearing, price: Floats | None, needs: _Needs, asked: Asked) -> Panel:
    least, quorum, keep, max_error = needs
    run = result.run
    blind = Auto().weigh_blindly(run, result.weighing) if run.n_gold else result.weighing
    judging = _Judging.of(run, result.weighing, blind)
    unaware = find_truths(run, judging.sure_of(blind), unweighted=True)
    held_out = decide_held_out(run, _MAX_ANSWERS, judging.weigh) if run.n_gold >= MIN_GOLD else None
    tasks = gather_sureness(unaware, held_out)
    told = judging.sure_of(result.weighing, tasks.fit())
    ending = partial(conclude, groups=judging.groups, quorum=quorum, tie=heard.find_tie(run.encoding))
    known = run.n_gold > 0
    found = find_truths(run, told, unweighted=True, keep_gold=known, min_confidence=least, conclude=ending)
    verdicts = take_verdicts(run, _MAX_ANSWERS, judging.believe, _list_answers(unaware, held_out))
    judged, worth, whole, by_gold = _find_worth(verdicts)
    sizes = find_sizes(judged, judging.odds, worth, whole)
    summary = {**result.summary, "confidence": describe_confidence(run, told, found)}
    if least is not None:
        summary |= {"min_confidence": least, "abstained": int(found.total("abstained"))}
    right = _find_known_right(run)
    expected = right if by_gold else 1 - np.asarray(worker_columns(run, told)["error_rate"])
    result = replace(result, weighing=told, found=found, summary=summary)
    counts = run.answer_counts.astype(np.float64)
    about = run.workers, counts, keep, price, run.n_tasks, expected, by_gold
    wanted = [] if max_error is None else [WantedError.of(sizes, 1 - sizes.worth, max_error, run.workers)]
    return Panel(
        result=result,
        findings=(
            *heard.findings(result, judging.odds, quorum=quorum, keep=keep),
            SureLevels(tasks, right),
            Bonds(find_shared_errors(verdicts, judging.n_wrong), run.workers),
            SmallerPanelsOfClasses(sizes, *about),
            Pivotal(find_turns(verdicts, judging.odds), run.workers, found),
            Independence(run.workers, correlate_errors(verdicts), *find_missed(verdicts)),
            *wanted,
            *asked.find(run, unaware, _MAX_ANSWERS),
        ),
    )


def _find_known_right(run: Run) -> Floats:
    """Return, of each judge, how often she is right where the truth is known; NaN where it is not."""
    sums = run.sum(run.kernels.gold_sums)
    return 1 - divide(sums["distance"], sums["answers"])


def _check(run: Run) -> None:
    """Refuse answers of which every task is a problem of its own, and more judges than can be compared."""
    if len(run.problems.sizes) > 1:
        raise UnsupportedError("A jury is the same for all tasks: leave out per_task().")
    if len(run.workers) > _MAX_JUDGES:
        raise UnsupportedError(
            f"A jury compares every judge with every other, of up to {_MAX_JUDGES}, and these are {len(run.workers):,}"
            " workers. allalike.discover weighs as many as there are."
        )


@dataclass(frozen=True)
class _Judging:
    """How sure the panel is of an answer: by the probabilities of classes, or of open labels where classes are many."""

    run: Run
    rate: Floats
    groups: VoiceGroups
    blind: Weighing
    chance: OpenChance | None

    @classmethod
    def of(cls, run: Run, weighing: Weighing, blind: Weighing) -> _Judging:
        """Find it from what is known of the judges without known truths."""
        insight = weighing.insight
        assert insight.faults is not None
        groups = insight.groups or VoiceGroups.everyone(run.problems.n_workers)
        rate = insight.faults.best(blind.fault) if blind.skill.error_rate is None else blind.skill.error_rate
        rate = np.clip(np.nan_to_num(rate, nan=0.5), _LEAST_RATE, 1 - _LEAST_RATE)
        open_ = blind.decision.probabilities is None
        sample = sample_tasks(run, _TEMPERING_ANSWERS) if open_ else None
        n_labels = run.encoding.n_labels
        chance = None if sample is None else find_open_chance(sample, rate, groups, n_labels)
        return cls(run, rate, groups, blind, chance)

    @property
    def n_wrong(self) -> float:
        """How many wrong labels a task has, or seems to have."""
        return max(self.run.encoding.n_labels - 1.0, 1.0) if self.chance is None else self.chance.n_wrong

    @property
    def odds(self) -> Floats:
        """The log odds of each judge."""
        odds: Floats = np.maximum(np.log((1 - self.rate) * self.n_wrong / self.rate), _LEAST_ODDS)
        return odds

    def sure_of(self, weighing: Weighing, line: OddsLine | None = None) -> Weighing:
        """Return a weighing whose decisions have a probability."""
        if self.chance is None:
            return weighing
        told = find_error_correlation(self.run) if line is not None and line != OddsLine() else None
        how: dict[str, Any] = {
            "own": weighing.decide_on(self.run),
            "chance": self.chance,
            "line": line or OddsLine(),
            "correlation": told,
            "groups": self.groups,
        }
        source = "answers" if line is None or line == OddsLine() else "gold"
        notes: dict[str, Any] = {
            "temperature": self.chance.beta,
            "told_by": source,
            "wrong_labels": self.chance.n_wrong,
        }
        notes |= {} if told is None else {"error_correlation": told}
        parameters = (self.rate, *weighing.decision.parameters)
        return replace(
            weighing,
            decision=replace(weighing.decision, decide=partial(decide_openly, **how), parameters=parameters),
            insight=replace(weighing.insight, confidence=notes),
        )

    def weigh(self, run: Run) -> Weighing:
        """Weigh judges by some answers, and the truths that are known there, for decisions with a probability."""
        return self.sure_of(Auto().weigh(run))

    def believe(self, block: Block) -> Floats:
        """Return, per answer, how probable it is that its label is right."""
        if self.chance is not None:
            return find_chances(with_voices(block, groups=self.groups), self.rate, chance=self.chance)
        assert self.blind.decision.probabilities is not None
        found = self.blind.decision.probabilities(block, *self.blind.arguments)
        table = block.to_answers(found["probability"])
        chances: Floats = table[np.arange(len(table)), block.label]
        return chances


def _list_answers(found: TaskTable, held_out: HeldOut | None) -> Iterator[PanelAnswers]:
    """Yield what the panel says of tasks whose truths it does not know; what it says with others comes last."""
    for piece in found.pieces():
        yield PanelAnswers(piece.tasks.hashes(), piece.found["label"], piece.found["confidence"])
    if held_out is not None:
        yield PanelAnswers(held_out.task_hash, held_out.label, held_out.sure)


def _find_worth(verdicts: Verdicts) -> tuple[Verdicts, Floats, Floats, bool]:
    """Return the tasks that say what panels are worth, what each label there is, and the whole panel's verdict.

    It is told by known truths, if they are enough, or by the panel's probabilities.
    """
    by_gold = int(verdicts.known.sum()) >= MIN_GOLD
    some = verdicts.only(verdicts.known) if by_gold else verdicts
    right = np.arange(some.chance.shape[1]) == some.truth[:, None]
    worth = right.astype(np.float64) if by_gold else some.chance
    whole = np.where(some.panel == NOBODY, 0.0, worth[np.arange(len(worth)), some.panel])
    return some, worth, whole, by_gold
