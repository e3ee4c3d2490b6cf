"""Plain or weighed: the weights of shrunken faults where the crowd itself bears them out, and else everyone the same.

Weights come from distances alone (`allalike.methods.auto.distances.shrunken`), for any kind of label. They are taken in
steps, as a reading of classes is (`allalike.methods.auto.classes.ladder`). **Everyone counts the same**

1. where workers are not told apart, or where there are fewer than two answers per task;
2. where halves of the workers refute the weights (`allalike.methods.auto.distances.sides`);
3. of numbers and levels, where weights would go to those who keep to the middle, or would shift all labels the same way
   by more than a tenth of what they gain, squared (`allalike.methods.auto.distances.pulls`).

Where truths are known and clearly nearer to what the weights decide, or clearly farther, that is all that counts.
Clearly is what chance does in one of a hundred cases (2.576 standard errors); in step 3 in one of twenty (1.96), for
who errs there errs in all tasks at once.

**Voices.** Before that, copies are found (`allalike.methods.auto.copies.likeness`) and workers whose answers say
nothing about the tasks (`allalike.methods.auto.signal.distances`). A group of copiers counts as one on every task, also
where everyone counts the same, unless halves of the workers side against it (S < 0): experts who know the truth look
like copies where most others do not. Then its members are alike, and each counts. Who carries no signal does not count
where there are many such workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.voices import find_voices
from allalike.methods.auto.distances.decision import decide_by_voices, decide_surely
from allalike.methods.auto.distances.levels import decide_levels, estimate_error_rates, estimate_profile
from allalike.methods.auto.distances.pulls import find_pull, has_levels
from allalike.methods.auto.distances.shrunken import ROUNDS, find_shrunken
from allalike.methods.auto.distances.sides import count_alike, decide_as_heard, find_support
from allalike.methods.auto.screening.screen import find_guess_distances
from allalike.methods.auto.sureness.reliability import find_reliability
from allalike.methods.auto.voices.groups import between_groups, give_voices
from allalike.methods.base import DecisionRule, Rounds, Skill, Weighing
from allalike.methods.insight import Insight
from allalike.methods.steps.peers import Peers
from allalike.methods.steps.weights import normalise

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.ties import Ties
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.methods.auto.distances.shrunken import Shrunken
    from allalike.methods.insight import Screening, VoiceGroups
    from allalike.methods.steps.peers import Disparity

__all__ = ["weigh_distances"]

_CLEARLY = 2.576  # standard errors, which chance reaches in one of a hundred cases
_SURELY = 1.96  # standard errors, which chance reaches in one of twenty cases
_SHIFT = 0.1  # squared shift of all labels, of the variance that weights remove from a label
_MIN_ANSWERS = 2.0  # a task
_MAX_LEVELS = 20  # whose probabilities are estimated
_ROUNDING = 1e-9
_ALIKE = "workers are alike"
_FEW = "there are fewer than two answers per task"
_CAMPS = "workers are two camps, each of which agrees with itself only"
_REFUTED = "two halves of the workers do not bear out any weights"
_HEDGING = "weights would go to those who keep to the middle"
_SHIFTING = "weights would move all truths the same way, and agreement cannot tell whether that is right"
_KNOWN = "it is nearer to the truths that are known"


def weigh_distances(run: Run, screening: Screening, *, use_gold: bool = False) -> Weighing:
    """Weigh the workers of a run by how far they are from the others, where the crowd bears that out.

    If gold is used, a worker is compared with the truths that are known instead of with the others. Copies of a worker
    count as one with her, and who carries no signal does not count, as far as screening has shown it.
    """
    guess = find_guess_distances(run) if screening.guess is None else screening.guess
    found = _find(run, screening.groups, guess, use_gold=use_gold)
    if screening.camps:
        found = replace(found, why=np.full(len(found.why), _CAMPS, object))
    if screening.groups.has_copies:
        groups = _doubt_copies(run, screening.groups, guess, found.plain)
        if groups is not screening.groups:
            screening, found = replace(screening, groups=groups), _find(run, groups, guess, use_gold=use_gold)
    groups = screening.groups
    loud = normalise(np.where(groups.silent, 0.0, 1.0), run.problems)
    weight = np.where(run.problems.spread(found.plain), loud, found.shrunken.weight)
    single = np.where(groups.speaks, weight, 0.0)  # copies agree with each other, which says nothing of a rule
    kernels, choices = (run.kernels, {}) if groups.everyone_counts else run.choose_quorum(single)
    decision, insight, skill = _decide(run, groups, kernels), Insight(), Skill()
    if screening.signal is not None:
        insight = Insight(signal=screening.signal, groups=groups)
        if run.encoding.nominal and run.encoding.n_labels > 1:
            decision, confidence = _decide_surely(run, groups, kernels)
            insight = replace(insight, confidence=confidence)
        elif run.encoding.n_classes is not None and 2 <= run.encoding.n_labels <= _MAX_LEVELS:
            decision, confidence, skill = _decide_levels(run, groups, kernels, weight)
            insight = replace(insight, confidence=confidence)
    return Weighing(
        disparity=found.disparity.mean,
        fault=found.shrunken.fault,
        weight=weight,
        rounds=Rounds(ROUNDS),
        decision=replace(decision, choices=choices),
        skill=skill,
        notes={**screening.notes, **(_note(found, guess) if len(guess) == 1 else {})},
        insight=insight,
    )


def _decide(run: Run, groups: VoiceGroups, kernels: Kernels) -> DecisionRule:
    """Return how truths are decided: by the rule of the domain, among voices if these are not all the same."""
    if groups.everyone_counts:
        return DecisionRule()
    return DecisionRule(partial(decide_by_voices, kernels=kernels, ties=run.ties), _parameters(groups))


def _decide_surely(run: Run, groups: VoiceGroups, kernels: Kernels) -> tuple[DecisionRule, dict[str, Any]]:
    """Return how truths are decided between classes of which there are many, and how it is told how sure that is."""
    found = find_reliability(give_voices(run, groups), run.encoding.n_labels)
    again = found.expect_again()
    single = {"found_again": float(again[0])} if len(again) == 1 else {}
    shares = np.column_stack([run.problems.spread(each) for each in (again, found.error)])
    decide = partial(decide_surely, kernels=kernels, ties=run.ties, k=run.encoding.n_labels)
    return DecisionRule(decide, (*_parameters(groups), shares)), {**single, "told_by": "pairs"}


def _decide_levels(
    run: Run, groups: VoiceGroups, kernels: Kernels, weight: Floats
) -> tuple[DecisionRule, dict[str, Any], Skill]:
    """Return how labels are decided between a few levels, how their confidence was found, and error rates."""
    again = find_reliability(give_voices(run, groups), run.encoding.n_labels).expect_again()
    profile = estimate_profile(run, run.encoding.n_labels, weight, *_parameters(groups))
    parameters = (*_parameters(groups), profile, run.problems.spread((1 + again) / 2))
    single = {"found_again": float(again[0])} if len(again) == 1 else {}
    decide = partial(decide_levels, kernels=kernels, ties=run.ties)
    rates = estimate_error_rates(run, weight, *parameters)
    return DecisionRule(decide, parameters), {**single, "told_by": "pairs"}, Skill(error_rate=rates)


@dataclass(frozen=True)
class _Found:
    """What was found with some groups.

    Parameters
    ----------
    disparity
        How far workers are from the others.
    shrunken
        Their faults and weights.
    why
        Of each problem: why everyone counts the same; nothing where weights do.
    measured
        What the steps measured, of each problem.
    """

    disparity: Disparity
    shrunken: Shrunken
    why: Array
    measured: dict[str, Floats]

    @property
    def plain(self) -> npt.NDArray[np.bool_]:
        """Of each problem: whether everyone counts the same."""
        return np.asarray(self.why != "", np.bool_)


def _find(run: Run, groups: VoiceGroups, guess: Floats, *, use_gold: bool) -> _Found:
    unweighted = Peers(run).unweighted
    disparity = unweighted if groups.everyone_counts else between_groups(give_voices(run, groups))
    shrunken = find_shrunken(run, groups, guess, _unit(disparity), use_gold=use_gold)
    return _Found(disparity, shrunken, *_climb(run, groups, guess, shrunken, use_gold=use_gold))


def _weigh_halves(half: Run, groups: VoiceGroups, *, guess: Floats) -> tuple[VoiceGroups, Floats]:
    unit = _unit(between_groups(give_voices(half, groups)))
    return groups, find_shrunken(half, groups, np.repeat(guess, 2), unit).weight


def _doubt_copies(run: Run, groups: VoiceGroups, guess: Floats, plain: npt.NDArray[np.bool_]) -> VoiceGroups:
    """Return the groups without those whose members halves of the workers would rather have count each."""

    def together(half: Run, inside: VoiceGroups) -> tuple[VoiceGroups, Floats]:
        weight = _weigh_halves(half, inside, guess=guess)[1]
        return inside, np.where(half.problems.spread(np.repeat(plain, 2)), 1.0, weight)

    def each(half: Run, inside: VoiceGroups) -> tuple[VoiceGroups, Floats]:
        return together(half, inside.ungrouped)

    def witness(half: Run, inside: VoiceGroups) -> tuple[VoiceGroups, Floats]:
        return count_alike(half, inside.ungrouped)

    support = find_support(run, groups, each, together, witness)
    doubted = run.problems.spread(support < -_ROUNDING)
    if not doubted.any():
        return groups
    found = tuple(replace(one, copies=one.copies and not doubted[one.members[0]]) for one in groups.found)
    return replace(groups, number=np.where(doubted, np.arange(len(doubted)), groups.number), found=found)


def _unit(disparity: Disparity) -> Floats:
    """Return the mean distance of two workers, in which squares are neither huge nor tiny."""
    unit = 2 * disparity.mubar
    return np.where(unit > 0, unit, 1.0)


def _parameters(groups: VoiceGroups) -> tuple[Floats, Floats]:
    return groups.number.astype(np.float64), groups.silent.astype(np.float64)


def _climb(
    run: Run, groups: VoiceGroups, guess: Floats, found: Shrunken, *, use_gold: bool
) -> tuple[Array, dict[str, Floats]]:
    """Say of each problem why its weights are not borne out, or nothing, and what was measured."""
    problems, heard = run.problems, give_voices(run, groups)
    counts = heard.sum(_count)
    why = np.full(len(guess), "", dtype=object)
    why[problems.add(counts["answers"]) < _MIN_ANSWERS * problems.add(counts["tasks"])] = _FEW
    why[found.alike] = _ALIKE
    if (why != "").all():
        return why, {}
    support = find_support(run, groups, count_alike, partial(_weigh_halves, guess=guess), count_alike)
    measured = {"support": support}
    doubt = np.where(support < -_CLEARLY, _REFUTED, "").astype(object)
    if has_levels(run.encoding):
        pull = find_pull(heard, found.weight, groups)
        measured |= pull._asdict()
        doubt[(pull.level > _SURELY) & (pull.slope < _SURELY) & (pull.shift > _SHIFT)] = _SHIFTING
        doubt[pull.slope < -_SURELY] = _HEDGING
    if use_gold and run.n_gold:
        gain = _gain_on_gold(run, groups, found.weight)
        doubt = np.where(gain > _CLEARLY, "", np.where(gain < -_CLEARLY, _KNOWN, doubt))
    return np.where(why == "", doubt, why), measured


def _count(block: Block) -> dict[str, Floats]:
    """Count voices, and tasks in the row of a worker of their problem."""
    tasks = np.bincount(block.first_worker, minlength=block.n_workers).astype(np.float64)
    return {"answers": block.per_worker(find_voices(block).voice), "tasks": tasks}


def _gain_on_gold(run: Run, groups: VoiceGroups, weight: Floats) -> Floats:
    """Return, per problem, how clearly the truths that are known are nearer to what weights decide, in z over tasks."""
    everyone = np.ones(len(weight))
    plain, weighed = (run.choose_quorum(np.where(groups.speaks, each, 0.0))[0] for each in (everyone, weight))
    kernel = partial(_gold_sums, plain=plain, weighed=weighed, ties=run.ties, everyone=groups.everyone_counts)
    sums = run.sum(kernel, weight, *_parameters(groups))
    squares = run.problems.add(sums["squares"])
    return np.asarray(run.problems.add(sums["gain"]) / np.sqrt(np.where(squares > 0, squares, 1.0)))


def _gold_sums(
    block: Block, weight: Floats, *voices: Floats, plain: Kernels, weighed: Kernels, ties: Ties, everyone: bool
) -> dict[str, Floats]:
    """Add up, in the row of a worker of the problem, by how much weights bring truths nearer to those known."""
    gain = np.zeros(len(block.gold_task))
    if len(gain):
        gold = plain.restore_gold(block)
        for kernels, each, sign in ((plain, np.ones(len(weight)), 1.0), (weighed, weight, -1.0)):
            label = decide_as_heard(block, each, *voices, kernels=kernels, ties=ties, everyone=everyone)
            gain += sign * np.nan_to_num(kernels.distance_between(label[block.gold_task], gold))
    first = block.worker[block.starts[block.gold_task]]
    return {name: sum_by(first, each, block.n_workers) for name, each in (("gain", gain), ("squares", gain**2))}


def _note(found: _Found, guess: Floats) -> dict[str, Any]:
    """Return what a summary can say of a single problem; None is what nobody knows."""
    why, crowd = str(found.why[0]), found.shrunken.crowd
    taken = {"taken": "everyone the same", "why": why} if why else {"taken": "weights"}
    numbers = {"f_ratio": crowd.ratio, "prior_answers": crowd.strength, "guess_distance": guess, **found.measured}
    told = {name: float(each[0]) if np.isfinite(each[0]) else None for name, each in numbers.items()}
    return {**({"workers": "alike"} if why == _ALIKE else {}), **taken, **told}
