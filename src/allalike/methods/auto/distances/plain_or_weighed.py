"""Plain or weighed: the weights of shrunken faults where the crowd itself bears them out, and else everyone the same.

Weights come from distances alone (`allalike.methods.auto.distances.shrunken`), for any kind of label. They are taken in
steps, as a reading of classes is (`allalike.methods.auto.classes.ladder`). **Everyone counts the same**

1. where workers are not told apart, or where there are fewer than two answers per task;
2. where halves of the workers refute the weights (`allalike.methods.auto.distances.plain_or_weighed`);
3. of numbers and levels, where weights would go to those who keep to the middle, or would shift all labels the same way
   by more than a tenth of what they gain, squared (`allalike.methods.auto.distances.plain_or_weighed`).

Where truths are known and clearly nearer to what the weights decide, or clearly farther, that is all that counts.
Clearly is what chance does in one of a hundred cases (2.576 standard errors); in step 3 in one of twenty (1.96), for
who errs there errs in all tasks at once.

**Voices.** Before that, copies are found (`allalike.methods.auto.copies.likeness`) and workers whose answers say
nothing about the tasks (`allalike.methods.auto.signal`). A group of copiers counts as one on every task, also
where everyone counts the same, unless halves of the workers side against it (S < 0): experts who know the truth look
like copies where most others do not. Then its members are alike, and each counts. Who carries no signal does not count
where there are many such workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import Ties, find_answer_weights, subtract_own_group, sum_by
from allalike._core.columns.hashes import mix
from allalike.engines.sample import draw_halves, halve, sample_tasks
from allalike.methods.auto.distances.levels import decide_levels, estimate_error_rates, estimate_profile
from allalike.methods.auto.distances.numbers import decide_by_voices, decide_surely
from allalike.methods.auto.distances.shrunken import ROUNDS, find_shrunken
from allalike.methods.auto.screening import find_guess_distances
from allalike.methods.auto.sureness.intervals import find_reliability
from allalike.methods.auto.voices import between_groups, give_voices
from allalike.methods.base import DecisionRule, Rounds, Skill, Weighing
from allalike.methods.insight import Insight
from allalike.methods.proximity import Peers, normalise

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.problems import Problems
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun
    from allalike.methods.auto.distances.shrunken import Shrunken
    from allalike.methods.insight import Screening, VoiceGroups
    from allalike.methods.proximity import Disparity


# Sides: whether half of the workers, who know nothing of a step, side with what the other half decides by it.
#
# A step is to weigh workers, or to let copiers count as one. Workers are halved. With U_A and V_A, what the first half
# decides for a task without the step and with it, and U_B, what the second decides plainly, as an independent witness,
#
#     g_t = d(U_A, U_B) - d(V_A, U_B),    and the same with both halves exchanged,
#
# says by how much the step brings the first half nearer to the second. S = sum g / sqrt(sum g^2), over the tasks that
# both have answered, is its support, the mean over several halvings. Below -2.576, which chance does in one of two
# hundred cases, the halves refute the step. The witness is plain: two halves that both keep to the middle agree with
# each other, and err together.


Way = Callable[
    ["Run", "VoiceGroups"], "tuple[VoiceGroups, Floats]"
]  # who speaks, and what workers weigh, in a run of halves
_HALVINGS = 4
_SAMPLE_ANSWERS = 20_000  # that tell whether halves side with a step


def count_alike(run: Run, groups: VoiceGroups) -> tuple[VoiceGroups, Floats]:
    """Let everyone count the same, and groups as one."""
    return groups, np.ones(run.problems.n_workers)


def find_support(run: Run, groups: VoiceGroups, before: Way, after: Way, witness: Way) -> Floats:
    """Return S of each problem: halves, in which groups stay together, decide before and after a step, and a witness.

    >>> import allalike
    >>> from allalike.methods.insight import VoiceGroups
    >>> rng = np.random.default_rng(0)
    >>> rows = [(i, t, rng.normal(scale=1 if i < 4 else 9)) for i in range(8) for t in range(50)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="real"))
    >>> def of_four(half, groups):
    ...     return groups, np.where(np.isin(half.workers.tolist(), range(4)), 1.0, 0.1)
    >>> find_support(run, VoiceGroups.everyone(8), count_alike, of_four, count_alike).round(1)
    array([3.3])
    """
    n = len(run.problems.sizes)
    support = np.zeros(n)
    sample = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).map(run.encoding.store)
    for number in range(_HALVINGS):
        half, order = halve(sample, draw_halves(sample, groups.number, number))
        half, inside = half.map(half.encoding.prepare), groups.take(order)
        found = {way: _decide_halves(half, *way(half, inside), number) for way in {before, after, witness}}
        gain, problem = _find_gains([found[way] for way in (before, after, witness)], half.kernels)
        largest = np.abs(gain).max(initial=0.0)
        gain = gain / (largest if largest > 0 else 1.0)  # whose squares might overflow
        squares = np.bincount(problem, gain**2, n)
        support += np.bincount(problem, gain, n) / np.sqrt(np.where(squares > 0, squares, 1.0)) / _HALVINGS
    return support


def _find_gains(found: list[dict[str, Array]], kernels: Kernels) -> tuple[Floats, Array]:
    """Return g of each task that both halves have answered, and the problem of each."""
    part, task = found[0]["part"], found[0]["hash"]
    key = np.lexsort((part, task, part // 2))
    part, task = part[key], task[key]
    pair = np.flatnonzero((task[1:] == task[:-1]) & (part[1:] == part[:-1] + 1) & (part[:-1] % 2 == 0))
    first, second = key[pair], key[pair + 1]
    gain = np.zeros(len(pair))
    if len(pair):
        measure, _ = kernels.compare_among(np.concatenate([each["label"] for each in found]))
        witness = 2 * len(task)  # where its labels begin
        for begin, sign in ((0, 1.0), (len(task), -1.0)):
            for one, other in ((first, second), (second, first)):
                gain += sign * np.nan_to_num(measure(begin + one, witness + other))
    return gain, part[pair] // 2


def _decide_halves(run: MemoryRun, groups: VoiceGroups, weight: Floats, salt: int) -> dict[str, Array]:
    kernels, _ = run.choose_quorum(np.where(groups.speaks, weight, 0.0))
    kernel = partial(_sides_decide, kernels=kernels, ties=Ties(salt), everyone=groups.everyone_counts)
    part = run.problems.spread(np.arange(len(run.problems.sizes)))
    columns = (part, groups.number, groups.silent)
    return run.collect(kernel, weight, *(each.astype(np.float64) for each in columns))


def _sides_decide(
    block: Block,
    weight: Floats,
    part: Floats,
    number: Floats,
    silent: Floats,
    *,
    kernels: Kernels,
    ties: Ties,
    everyone: bool,
) -> dict[str, Array]:
    """Decide the tasks of a block. Ties are drawn by half: two halves that draw alike would seem to agree."""
    side = part.take(block.first_worker).astype(np.int64)
    drawn = replace(block, task_hash=mix(block.task_hash ^ mix(side.astype(np.uint64))))
    label = decide_as_heard(drawn, weight, number, silent, kernels=kernels, ties=ties, everyone=everyone)
    return {"label": label, "hash": block.task_hash, "part": side}


def decide_as_heard(
    block: Block, weight: Floats, number: Floats, silent: Floats, *, kernels: Kernels, ties: Ties, everyone: bool
) -> Array:
    """Return the truths of a block's tasks, given the group of each worker, and whether she is silent."""
    fault = np.ones(len(weight))
    if everyone:
        return kernels.aggregate(block, weight, fault, ties=ties)["label"]
    return decide_by_voices(block, weight, fault, number, silent, kernels=kernels, ties=ties)["label"]


# Test whether weighting numeric labels rewards hedging, or shifts all labels the same way.
#
# A worker is close to the others because their errors are small, or because they stay near the middle: a forecast of
# 0.5 is never far from any other. And where answers are skewed, the low ones are close to each other, right or wrong.
# So weights by distance may change more than noise. With the plain mean U_t of a task, and the shares s_i of its
# answers with weights and p_i without, answer i moves the label of its task by (s_i - p_i) (x_i - U_t). For a worker
# w, with the mean u_i of the other answers to the task,
#
#     level_w = sum (s_i - p_i) (x_i - U_t),    slope_w = sum (s_i - p_i) * (cov_w(x_i - u_i, u_i) + v_w)
#
# measure by how much their weight moves all labels the same way, and by how much it spreads them. u_i does not
# contain the worker's own answer, but it is in both factors of the covariance. So v_w, the mean variance of the
# errors in u_i, is added: it is known from the scatter of the other answers. Then independent errors have slope 0 on
# average, however unequal they are. Tasks with two answers have no scatter. There v_w is what makes the mean over all
# workers 0, which is too large for workers who are close to the others by chance: if all tasks have two answers, and
# workers few, hedging is hardly found.
#
# Workers are independent of each other, tasks need not be, so the variance is estimated between workers (Liang and
# Zeger 1986: clusters):
#
#     z = sum_w level_w / sqrt(sum_w level_w^2),    and the same for the slope.
#
# A slope clearly below 0 is a crowd whose heavy workers hedge. A level clearly different from 0 is a choice between
# high and low workers, which distances cannot make, unless the slope is clearly above 0: then light workers know
# little about the tasks. Chance makes one level in twenty clear, however many answers there are. So the square of the
# shift is also compared with the variance that weights remove from a label: a small shift costs less than weights
# gain. A group of copies is one worker. For vectors, the slope is that of inner products, and z^2 of the level the
# mean over all coordinates that move.


class Pull(NamedTuple):
    """How clearly weights move labels, per problem."""

    level: Floats
    slope: Floats
    shift: Floats


def has_levels(encoding: Encoding) -> bool:
    """Return whether labels are numbers, or vectors of them, or levels in an order.

    >>> import allalike
    >>> [has_levels(allalike.read([("ada", 1, 2)], domain=name).encoding) for name in ("real", "ordinal", "text")]
    [True, True, False]
    """
    return encoding.noise.weighting == "inverse" or (encoding.n_classes is not None and not encoding.nominal)


def find_pull(run: Run, weight: Floats, groups: VoiceGroups) -> Pull:
    """Compute how clearly weights move the labels of tasks whose answers have these voices.

    >>> import allalike
    >>> from allalike.methods.insight import VoiceGroups
    >>> rows = [(worker, task, task * worker) for worker in range(1, 9) for task in range(5)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="real"))
    >>> pull = find_pull(run, 1.0 / np.arange(1, 9), VoiceGroups.everyone(8))  # who hedges more weighs more
    >>> pull.level.round(1), pull.slope.round(1), pull.shift.round(1)
    (array([1.7]), array([-1.7]), array([inf]))
    """
    problems = run.problems
    first = run.sum(partial(_mean_sums, kernels=run.kernels))
    tasks = np.maximum(problems.add(first["tasks"]), 1.0)
    middle = problems.add(first["mean"]) / tasks[:, None]
    sums = run.sum(partial(_pull_sums, kernels=run.kernels), weight, problems.spread(middle), _find_unit(run))
    each = {name: _by_group(groups.number, values) for name, values in sums.items()}
    answers = _above_zero(each["answers"].sum(axis=1))
    slope = each["moved"][:, 0] * _find_slopes(each, problems) / answers
    slope_z = problems.add(slope) / np.sqrt(_above_zero(problems.add(slope**2)))
    shift = problems.add(each["level"]) ** 2
    clear = shift / _above_zero(problems.add(each["level"] ** 2))
    level_z = np.sqrt(clear.sum(axis=1) / np.maximum((clear > 0).sum(axis=1), 1))
    removed = problems.add(each["removed"][:, 0] * each["squares"][:, 0] / answers) * tasks
    return Pull(level_z, slope_z, np.where(removed > 0, shift.sum(axis=1) / _above_zero(removed), np.inf))


def _by_group(number: npt.NDArray[np.intp], values: Floats) -> Floats:
    return np.column_stack([sum_by(number, column, len(number)) for column in values.T])


def _find_slopes(each: dict[str, Floats], problems: Problems) -> Floats:
    """Return, per worker, answers times the covariance of x - u and u, without the variance of the errors in u.

    Of tasks with three answers and more, the errors in u are known from their scatter. Of pairs they are not, and the
    mean of the covariance over all workers takes their place.
    """
    answers = each["answers"]
    n_coordinates = each["means"].shape[1] // 2
    means = (each["differences"] * each["means"]).reshape(len(answers), 2, n_coordinates).sum(axis=2)
    covariance = each["products"] - means / _above_zero(answers)
    twice = answers > 1 + _ROUNDING  # once is no covariance
    several, pairs = np.where(twice, covariance * answers / np.where(twice, answers - 1, 1.0), 0.0).T
    scatter, paired = np.where(twice, np.column_stack([each["scatter"][:, 0], answers[:, 1]]), 0.0).T
    usual = problems.total(pairs) / _above_zero(problems.total(paired))
    return np.asarray(several + scatter + pairs - usual * paired)


def _find_unit(run: Run) -> Floats:
    """Return a usual difference between two answers, in which squares are neither huge nor tiny."""
    sums = run.unweighted_peer_sums
    usual = run.problems.total(sums["distance"]) / np.maximum(run.problems.total(sums["weight"]), 1.0)
    return np.sqrt(_above_zero(usual))


def _above_zero(values: Floats) -> Floats:
    return np.where(values > 0, values, 1.0)


def _numbers(block: Block, weight: Floats, kernels: Kernels) -> tuple[Floats, Floats, Floats]:
    """Return the numbers of each answer, its share in its task without weights, and with them."""
    number = kernels.restore_answers(block, np.arange(len(block.label))).reshape(len(block.label), -1)
    voice = find_answer_weights(block).weight
    own = voice * weight.take(block.worker)
    shares = (part / block.to_answers(_above_zero(block.per_task(part))) for part in (voice, own))
    return number.astype(np.float64), *shares  # type: ignore[return-value]


def _mean_sums(block: Block, *, kernels: Kernels) -> dict[str, Floats]:
    """Add up the plain means of tasks."""
    number, share, _ = _numbers(block, np.ones(block.n_workers), kernels)
    return {"mean": _columns(block, share[:, None] * number), "tasks": block.per_worker(share)}


def _pull_sums(block: Block, weight: Floats, middle: Floats, unit: Floats, *, kernels: Kernels) -> dict[str, Floats]:
    """Add up, per worker, how their weight moves labels, and how their answers vary with the mean of the others."""
    number, share, heavy = _numbers(block, weight, kernels)
    number = (number - middle.take(block.worker, axis=0)) / unit.take(block.worker)[:, None]
    plain = block.to_answers(block.per_task(share[:, None] * number))
    voice = find_answer_weights(block).weight
    rows = voice[:, None] * np.column_stack([np.ones(len(number)), number])
    own, others = _divide(block, rows)
    _, squares = _divide(block, rows * own)  # of the others, each group once
    n_others, n_pairs = others[:, 0], others[:, 0] ** 2 - squares[:, 0]
    mean = others[:, 1:] / _above_zero(others[:, :1])
    several = n_pairs > _ROUNDING
    of_pairs = (others[:, 1:] ** 2 - squares[:, 1:]).sum(axis=1) / np.where(several, n_pairs, 1.0)
    scatter = np.where(several, (mean**2).sum(axis=1) - of_pairs, 0.0)  # variance of the errors in the mean
    sizes = voice[:, None] * np.column_stack([several, (n_others > _ROUNDING) & ~several])
    counted = sizes.sum(axis=1)
    shares = np.column_stack([share, heavy])
    variance = shares * _divide(block, shares)[0]
    difference = number - mean
    values = {
        "level": (heavy - share)[:, None] * (number - plain),
        "moved": np.where(counted > 0, heavy - share, 0.0)[:, None],
        "removed": np.where(counted > 0, variance[:, 0] - variance[:, 1], 0.0)[:, None],
        "answers": sizes,
        "differences": _outer(sizes, difference),
        "means": _outer(sizes, mean),
        "products": sizes * (difference * mean).sum(axis=1, keepdims=True),
        "scatter": (counted * scatter)[:, None],
        "squares": (counted * (difference**2).sum(axis=1))[:, None],
    }
    return {name: _columns(block, each) for name, each in values.items()}


def _outer(sizes: Floats, values: Floats) -> Floats:
    return (sizes[:, :, None] * values[:, None, :]).reshape(len(values), -1)


def _divide(block: Block, rows: Floats) -> tuple[Floats, Floats]:
    """Return, per answer, the sum of rows over its own group in its task, and over all others."""
    total = block.per_task(rows)
    others = subtract_own_group(block, total, rows)
    return block.to_answers(total) - others, others


def _columns(block: Block, values: Floats) -> Floats:
    return np.column_stack([block.per_worker(column) for column in values.T])


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
    """What was found with some groups."""

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
    return {"answers": block.per_worker(find_answer_weights(block).weight), "tasks": tasks}


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
