"""Plan of the next answers: the workers to ask about each task, and the expected gain.

**Expected gain.** Let q_z be the probabilities of a task's classes. A worker with error rate e answers the true class
with probability r = 1 - e, and any other class with w = e / (k - 1). The planned answers have several possible outcomes
s. J_sz is the joint probability of outcome s and true class z. The probability of a correct label after the answers is

    sum_s max_z J_sz.

A single answer often cannot change a label, but three may. Therefore answers are chosen by their increase in

    sum_s sum_z J_sz^2 / sum_z J_sz,

the expected probability of the true class after the answers, which every informative answer increases. Only the three
likeliest classes are distinguished, and outcomes with nearly the same probabilities are merged.

**Assignment.** Each planned answer has the largest gain per unit of money (to within five per cent), given the answers
planned before. An upper bound on the gain per task is known before its workers are compared, so only the tasks with the
largest bounds are examined. Answers whose gain is too small for their price are not planned. No worker is asked about a
task that they or a member of their copy group have answered or will answer. Each worker has a maximum number of answers
per batch.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from allalike._core.columns.values import Values, frame_of
from allalike._core.options import check_number
from allalike._core.text_format import count
from allalike.engines.sample import pick_tasks
from allalike.errors import InputError, OptionError, UnsupportedError
from allalike.methods.auto.next_labels import expect_gains
from allalike.methods.auto.uncertainty import NORMAL_QUANTILE
from allalike.readers.formats.source import cells
from allalike.readers.sources import find_inputs, open_table
from allalike.result.messages import name_some
from allalike.result.saving import write_table
from allalike.result.summary import Section

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy.typing as npt
    import pandas as pd

    from allalike._core.blocks.block import Array, Floats
    from allalike.engines import Run, TaskTable
    from allalike.methods import Fit
    from allalike.result.result import Result

_N_CLASSES = 3  # classes that are distinguished
_MAX_OUTCOMES = 64  # of planned answers, before similar ones are merged
_STEP = 1 / 64  # resolution of probabilities when merging
_TINY = 1e-12
ANYONE = "anyone"  # a new worker
_NEARLY = 0.95  # share of the largest gain that is accepted
_STALE, _MANY = 0.02, 1000  # share of tasks, and number beside them, before bounds are computed again
_MIN_GAIN = 1e-9  # relative to the mean error, the smallest gain that counts
_ROUNDING = 1e-9
_DIGITS = 2.0**33  # ten digits
_FAIR_SHARES = 2.0  # default maximum per worker, relative to an equal share of the batch
_SPARE_TASKS = 4  # examined tasks per affordable answer


class TaskUncertainty:
    """Probability that the label of each task is wrong (``errors``), given the planned answers."""

    def __init__(self, likeliest: Floats, k: int) -> None:
        self.likeliest, self.k, self.errors = likeliest, k, 1 - likeliest[:, 0]
        self._planned: dict[int, Floats] = {}

    def bound(self, rate: float) -> Floats:
        """Return the gain of a first answer to each task."""
        return _compute_gains(self.likeliest[:, None], np.full(len(self.likeliest), rate), self.k)

    def value(self, task: int, rates: Floats) -> Floats:
        """Return the gain of one more answer to a task, for each error rate."""
        return _compute_gains(self._outcomes(task)[None], rates, self.k)

    def gain(self, task: int, rate: float) -> float:
        """Return the expected decrease in the error per answer, if one, three or five answers are needed for it."""
        outcomes = self._outcomes(task)
        whole, right = outcomes.sum(axis=1), _find_probabilities(rate, self.k)
        odds = np.log(right[0] / np.maximum(right[1], _TINY))
        return float(whole @ expect_gains(outcomes / whole[:, None], np.full(len(outcomes), odds), self.k))

    def add_answer(self, task: int, rate: float) -> None:
        """Plan an answer: split every outcome by the labels that the answer may have."""
        right, wrong = _find_probabilities(rate, self.k)
        before, n = self._outcomes(task), self.likeliest.shape[1]
        named = [before * np.where(np.arange(n) == label, right, wrong) for label in range(n)]
        others = [before * wrong * (self.k - n)] if self.k > n else []
        after = _merge_similar(np.concatenate([*named, *others]))
        self._planned[task] = after
        self.errors[task] = 1 - after.max(axis=1).sum()

    def _outcomes(self, task: int) -> Floats:
        return self._planned.get(task, self.likeliest[task : task + 1])


def keep_likeliest(table: Floats) -> Floats:
    """Return the probabilities of the likeliest classes, the largest first."""
    return np.sort(table, axis=1)[:, : -_N_CLASSES - 1 : -1]


def _find_probabilities(rate: Floats | float, k: int) -> tuple[Floats, Floats]:
    """Return a worker's probabilities of the true class and of any other class; at least as good as guessing."""
    wrong = np.minimum(rate, 1 - 1 / k) / (k - 1)
    return np.asarray(1 - (k - 1) * wrong), np.asarray(wrong)


def _compute_gains(joint: Floats, rates: Floats, k: int) -> Floats:
    """Return the gain of one more answer, for each table of joint probabilities and error rate."""
    right, wrong = (each[:, None, None] for each in _find_probabilities(rates, k))
    whole, squares = joint.sum(axis=2, keepdims=True), np.square(joint).sum(axis=2, keepdims=True)
    named = (np.square(right * joint) + wrong**2 * (squares - joint**2)) / (wrong * whole + (right - wrong) * joint)
    others = (k - joint.shape[2]) * wrong * squares / whole
    return np.asarray(named.sum(axis=(1, 2)) + (others - squares / whole).sum(axis=(1, 2)))


def _merge_similar(joint: Floats) -> Floats:
    """Merge outcomes with nearly the same probabilities if there are many."""
    joint = joint[joint.sum(axis=1) > _TINY]
    if len(joint) <= _MAX_OUTCOMES:
        return joint
    rounded = np.rint(joint / joint.sum(axis=1, keepdims=True) / _STEP)
    kinds, place = np.unique(rounded, axis=0, return_inverse=True)
    merged = np.zeros((len(kinds), joint.shape[1]))
    np.add.at(merged, place.ravel(), joint)
    return merged


class ExpectedError(Section):
    """Expected share of wrong labels with its 95 % interval."""

    expected: float
    ci_low: float
    ci_high: float

    def __str__(self) -> str:
        return f"{100 * self.expected:.1f} % of the labels ({100 * self.ci_low:.1f} to {100 * self.ci_high:.1f} %)"


class PlanStep(Section):
    """Counts and cost of planned answers, and the expected error with them."""

    answers: int
    cost: float
    tasks: int
    workers: int
    after: ExpectedError


class PlanSummary(Section):
    """Options of a plan, the expected error, the next batch, all answers, and whether to stop after them."""

    budget: float
    price: float | None
    batch: int | None
    min_gain: float
    max_per_worker: int
    tasks: int
    known: int
    before: ExpectedError
    next: PlanStep
    all: PlanStep
    stop: bool


@dataclass(frozen=True)
class CrowdUncertainty:
    """Uncertainty of the labels, and error rates of the workers."""

    tasks: Values
    state: Floats
    rates: Floats
    k: int
    truths: int = 0

    def of_tasks(self, rows: Any = slice(None)) -> TaskUncertainty:
        """Return the uncertainty of a selection of tasks."""
        return TaskUncertainty(self.state[rows], self.k)

    def describe_error(self, error: float) -> ExpectedError:
        """Return the expected error, a mean over tasks, with its 95 % interval."""
        n = max(len(self.tasks), 1)
        variance = error * (1 - error) * (1 / n + (1 / self.truths if self.truths else 0.0))
        spread = NORMAL_QUANTILE * math.sqrt(max(variance, 0.0))
        return ExpectedError(error, max(error - spread, 0.0), min(error + spread, 1.0))


def estimate_uncertainty(
    run: Run, fit: Fit, found: TaskTable, posteriors: Callable[[], TaskTable] | None
) -> CrowdUncertainty:
    """Estimate the uncertainty of labels that are not gold, for label types with probabilities."""
    faults, rates = fit.uncertainty, fit.error_rate
    confidence = None if faults is None else faults.confidence
    if run.worker_task is not None:
        raise UnsupportedError(
            "With per_task(), workers have no error rates beyond one task, so answers cannot be planned."
        )
    if posteriors is not None and rates is not None:
        tables = (keep_likeliest(piece.found["probability"]) for piece in posteriors().pieces())
    elif faults is not None and confidence is not None and run.encoding.nominal:
        columns = ("confidence", "second")
        tables = (np.column_stack([piece.found[name] for name in columns]) for piece in found.pieces())
        rates = faults.best(fit.fault)
    else:
        raise UnsupportedError(
            "Planning needs labels with an error rate, such as classes, found by the method auto. These labels are"
            f" {run.domain.name}. `result.next_tasks()` lists the least certain tasks."
        )
    tasks, states = [], []
    for piece, state in zip(found.pieces(), tables, strict=True):
        is_gold = np.isfinite(piece.found.get("gold", np.full(len(state), np.nan)))
        rows = np.flatnonzero(~is_gold & np.isfinite(state).all(axis=1))
        tasks.append(piece.tasks.take(rows))
        states.append(state[rows])
    truths = run.n_gold if confidence is not None and confidence.get("estimated_from") == "gold" else 0
    return CrowdUncertainty(Values.join(tasks), np.concatenate(states), rates, run.encoding.n_labels, truths)


class Assignment(NamedTuple):
    """Planned answer, with the positions of its task and its worker.

    ``gain`` is the expected decrease in the error per answer, with further equal answers if one has no effect.
    ``saved`` is the decrease in the error by this answer after those planned before.
    """

    task: int
    worker: int
    price: float
    gain: float
    saved: float


@dataclass
class Offers:
    """Workers to ask: error rate, price, copy group, maximum number of answers, and number of answers planned."""

    rate: Floats
    price: Floats
    group: npt.NDArray[np.intp]
    load: Floats

    def __post_init__(self) -> None:
        self.asked, self._rounded_rate = np.zeros(len(self.price)), _cut_digits(self.rate)

    def find(self, taken: set[int], left: float) -> Array:
        """Return the available workers for a task who are better than all others at no higher price, by price.

        Copy groups in ``taken`` are excluded. Among equal workers, the one with the fewest planned answers is returned.
        """
        able = (self.asked < self.load) & (self.price <= left * (1 + _ROUNDING))
        able &= ~np.isin(self.group, list(taken)) | (self.group < 0)
        order = np.flatnonzero(able)
        order = order[np.lexsort((self.asked[order], self._rounded_rate[order], self.price[order]))]
        rates = self._rounded_rate[order]
        better = rates < np.minimum.accumulate(np.append(np.inf, rates))[:-1]
        return np.asarray(order[better])

    def bound(self, uncertainty: TaskUncertainty, left: float) -> Floats:
        """Return an upper bound on the gain of an answer to each task, per unit of money."""
        able = self.find(set(), left)
        values = [uncertainty.bound(float(self.rate[each])) / self.price[each] for each in able]
        return _cut_digits(np.max(values, axis=0)) if len(able) else np.zeros(len(uncertainty.errors))

    def choose(self, uncertainty: TaskUncertainty, task: int, taken: set[int], left: float) -> tuple[float, int]:
        """Return the largest gain of an answer per unit of money, and its worker; -1 if no worker is available."""
        able = self.find(taken, left)
        if not len(able):
            return 0.0, -1
        values = _cut_digits(uncertainty.value(task, self.rate[able]) / self.price[able])
        first = int(values.argmax())
        return float(values[first]), int(able[first])


def find_offers(
    run: Run, fit: Fit, rates: Floats, prices: Mapping[str, float] | None, price: float | None = None
) -> Offers:
    """Return the workers to ask: those with a price, or all, and a new worker with a typical error rate.

    ``price`` applies to workers without a price of their own. Uninformative workers are not asked.
    """
    n, uncertainty = len(run.workers), fit.uncertainty
    known = np.isfinite(rates)
    if not known.any():
        raise UnsupportedError("No task has two answers, so error rates of workers are unknown. Ask any worker.")
    usual = float(np.average(rates[known], weights=run.answer_counts[known]))
    names = [*map(str, run.workers.tolist()), ANYONE]
    usual_price = 1.0 if price is None and prices is None else price
    price_of = {**({} if usual_price is None else dict.fromkeys(names, usual_price)), **(prices or {})}
    known_names = set(names)
    if strangers := [name for name in price_of if name not in known_names]:
        raise OptionError(
            f"The prices name {strangers[0]!r}, who has no answers. Spell workers as in the answers, or use {ANYONE!r}"
            " for a new worker."
        )
    costs = np.array([price_of.get(name, np.inf) for name in names])
    if uncertainty is not None and uncertainty.uninformative is not None:
        costs[:n][uncertainty.uninformative] = np.inf
    if not np.isfinite(costs).any():
        raise OptionError("There is no worker to ask: all workers with a price are uninformative.")
    if not costs.min() > 0:
        raise OptionError(f"The price of {names[int(costs.argmin())]!r} is 0. Give a price above 0, such as 0.05.")
    group = np.arange(n) if fit.copy_groups is None else fit.copy_groups.number
    return Offers(np.append(np.where(known, rates, usual), usual), costs, np.append(group, -1), np.full(n + 1, np.inf))


def assign(
    uncertainty: TaskUncertainty,
    offers: Offers,
    taken: Sequence[set[int]],
    left: float,
    most: float = np.inf,
    min_gain: float = 0.0,
) -> list[Assignment]:
    """Return the answers of a batch, until the money or the workers are exhausted."""
    stale, asked, cheapest = 0, list[Assignment](), float(offers.price.min())
    tasks = [(-value, task) for task, value in enumerate(offers.bound(uncertainty, left).tolist()) if value > 0]
    heapq.heapify(tasks)
    least = _MIN_GAIN * float(uncertainty.errors.mean()) if tasks else 0.0
    while tasks and len(asked) < most and left * (1 + _ROUNDING) >= cheapest:
        _, task = heapq.heappop(tasks)
        value, worker = offers.choose(uncertainty, task, taken[task], left)
        if worker >= 0 and tasks and value < -_NEARLY * tasks[0][0]:
            heapq.heappush(tasks, (-value, task))
            stale += 1
        elif worker >= 0:
            rate, price = float(offers.rate[worker]), float(offers.price[worker])
            before = float(uncertainty.errors[task])
            if (gain := uncertainty.gain(task, rate)) > max(min_gain * price, least):
                uncertainty.add_answer(task, rate)
                asked.append(Assignment(task, worker, price, gain, before - float(uncertainty.errors[task])))
                left -= price
                taken[task].add(int(offers.group[worker]))
                offers.asked[worker] += 1
                heapq.heappush(tasks, (-value, task))
        if stale > _STALE * (len(tasks) + _MANY):
            bounds, stale = offers.bound(uncertainty, left).tolist(), 0
            tasks = [(max(value, -bounds[each]), each) for value, each in tasks]
            heapq.heapify(tasks)
    return asked


def _cut_digits(values: Floats) -> Floats:
    """Round to ten digits, so that values that differ only by rounding are equal on every machine."""
    part, power = np.frexp(values)
    return np.asarray(np.ldexp(np.round(part * _DIGITS) / _DIGITS, power))


@dataclass(frozen=True)
class AnswerPlan:
    """Plan of the next answers, and their expected effect.

    >>> import allalike
    >>> crowd = {"ada": "xxyyxyxxyx", "bob": "xxyyxyxxyy", "eve": "xxyyxyxxxy", "kim": "xxyy"}
    >>> rows = [(worker, task, label) for worker, labels in crowd.items() for task, label in enumerate(labels)]
    >>> plan = allalike.discover(rows).plan(3, prices={"ada": 2, "kim": 1, "anyone": 1.5}, max_per_worker=1)
    >>> plan.table[["task", "worker", "price"]]
       task  worker  price
    0     8     kim    1.0
    1     9  anyone    1.5
    """

    table: pd.DataFrame
    facts: PlanSummary
    inputs: tuple[Path, ...] = ()

    @property
    def summary(self) -> dict[str, Any]:
        """Options, expected errors and counts as a dictionary."""
        return dict(msgspec.to_builtins(self.facts))

    def __repr__(self) -> str:
        plan = self.facts
        lines = [f"Expected error now: {plan.before}."]
        if plan.next.answers:
            answers, tasks = count(plan.next.answers, "answer"), count(plan.next.tasks, "task")
            cost = f"by {count(plan.next.workers, 'worker')} for {plan.next.cost:,.10g} of {plan.budget:,.10g}"
            lines.insert(0, f"Collect {answers} to {tasks} {cost}.")
            lines.append(f"Expected error with these answers: {plan.next.after}.")
        if plan.all.answers > plan.next.answers:
            costs = f"{plan.all.answers:,} answers for {plan.all.cost:,.10g}"
            lines.append(f"Expected error with all {costs}: {plan.all.after}.")
        if not plan.known:
            lines.append(
                "Without gold labels, this estimate misses errors that most workers share, so it may be far too low."
                " Half of such intervals held on public crowds. Gold labels measure the error."
            )
        if plan.stop:
            least = f"less than {plan.min_gain:g} errors per unit of money" if plan.min_gain else "no errors"
            then = f"Stop after {plan.all.cost:,.10g} of {plan.budget:,.10g}" if plan.all.answers else "Stop"
            lines.append(f"{then}: further answers are expected to prevent {least}.")
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, safe_csv: bool = False) -> Path:
        """Write the table as CSV atomically and return the path.

        An earlier plan is replaced. Another file is replaced only with ``overwrite``, and an input never. ``safe_csv``
        puts an apostrophe before texts that a spreadsheet would interpret as formulas.

        >>> import allalike, tempfile
        >>> plan = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x"), ("bob", 2, "x")]).plan(1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plan.save(folder + "/plan.csv").read_text(encoding="utf-8").splitlines()[0]
        'task,worker,price,gain'
        """
        return write_table(self.table, path, inputs=self.inputs, overwrite=overwrite, safe_csv=safe_csv)


def make_plan(
    result: Result[Any],
    budget: float,
    *,
    price: float | None,
    prices: Any,
    batch: int | None,
    max_per_worker: int | None,
    min_gain: float,
) -> AnswerPlan:
    """Plan answers for `Result.plan`."""
    run, fit = result.run, result.weighing
    check_number(budget, "budget", least=0)
    check_number(min_gain, "min_gain", least=0)
    check_number(1 if batch is None else batch, "batch", least=1, whole=True)
    check_number(1 if max_per_worker is None else max_per_worker, "max_per_worker", least=1, whole=True)
    if price is not None and check_number(price, "price", least=0) == 0:
        raise OptionError("price is 0. Give a price above 0, such as 0.05.")
    crowd = estimate_uncertainty(run, fit, result.found, result.posteriors)
    offers = find_offers(run, fit, crowd.rates, None if prices is None else read_prices(prices), price)
    cheapest = float(offers.price.min())
    if budget < cheapest:
        raise OptionError(
            f"budget {budget:,.10g} is too small: the cheapest answer costs {cheapest:,.10g}. Increase budget."
        )
    payable = budget / cheapest
    if max_per_worker is None:
        share = int(min(payable, batch or len(crowd.tasks))) / max(int(np.isfinite(offers.price[:-1]).sum()), 1)
        max_per_worker = int(max(np.ceil(_FAIR_SHARES * share), 1))
    offers.load[:-1] = max_per_worker  # anyone stands for many workers
    bounds = offers.bound(crowd.of_tasks(), budget)
    rows = np.sort(np.argsort(-bounds, kind="stable")[: int(min(_SPARE_TASKS * (payable + 1), len(bounds)))])
    tasks, uncertainty = crowd.tasks.take(rows), crowd.of_tasks(rows)
    taken = [set(offers.group[workers].tolist()) for workers in _list_answered(run, tasks)]
    now = assign(uncertainty, offers, taken, budget, batch or np.inf, min_gain)
    left = budget - sum(each.price for each in now)
    batches = max(np.ceil(left / cheapest / max(len(now), 1)), 1.0)  # that the remaining budget pays for
    later = replace(offers, load=batches * offers.load)
    asked = [*now, *assign(uncertainty, later, taken, left, min_gain=min_gain)]
    workers = [*run.workers.tolist(), ANYONE]
    columns: dict[str, Values | Array] = {
        "task": tasks.take(np.array([each.task for each in now], np.intp)),
        "worker": Values([workers[each.worker] for each in now]),
        "price": np.array([each.price for each in now], float),
        "gain": np.array([each.gain for each in now], float),
    }
    before = float(crowd.of_tasks().errors.mean()) if len(crowd.tasks) else 0.0

    def describe(planned: Sequence[Assignment]) -> PlanStep:
        saved = sum(each.saved for each in planned)
        return PlanStep(
            answers=len(planned),
            cost=float(sum(each.price for each in planned)),
            tasks=len({each.task for each in planned}),
            workers=len({each.worker for each in planned}),
            after=crowd.describe_error(before - saved / max(len(crowd.tasks), 1)),
        )

    whole = describe(asked)
    facts = PlanSummary(
        budget=budget,
        price=price,
        batch=batch,
        min_gain=min_gain,
        max_per_worker=max_per_worker,
        tasks=len(crowd.tasks),
        known=crowd.truths,
        before=crowd.describe_error(before),
        next=describe(now),
        all=whole,
        stop=budget - whole.cost >= cheapest,
    )
    return AnswerPlan(frame_of(columns), facts, (*result.inputs, *find_inputs(prices)))


def _list_answered(run: Run, tasks: Values) -> list[npt.NDArray[np.intp]]:
    """Return the workers who answered each of these tasks."""
    block = pick_tasks(run, tasks.hashes())
    of_task = np.split(block.worker, block.starts[1:])
    order = np.argsort(block.task_hash, kind="stable")
    places = order[np.searchsorted(block.task_hash[order], tasks.hashes())]
    return [of_task[place] for place in places]


# Prices per answer by each worker or judge.

_WORKER_COLUMNS = ("worker", "judge", "model")
_FORM = "Give prices as a mapping, or as a table with the columns worker and price"


def read_prices(source: Any) -> dict[str, float]:
    """Read the price per answer by each worker, from a mapping, a table or its path.

    A table needs a column worker, judge or model, and a column price.

    >>> read_prices({"ada": 0.002, "bob": "0.01"})
    {'ada': 0.002, 'bob': 0.01}
    """
    if isinstance(source, Mapping):
        rows = list(source.items())
    else:
        try:
            table = open_table(source)
        except InputError as error:
            raise InputError(f"The prices cannot be read. {error} {_FORM}.") from None
        name = next((column for column in _WORKER_COLUMNS if column in table.names), None)
        if name is None or "price" not in table.names:
            raise InputError(f"The prices have the columns {', '.join(table.names)}. {_FORM}.")
        rows = list(zip(*map(cells, table.load([name, "price"]).values()), strict=True))
    costs: dict[str, float] = {}
    for number, (worker, price) in enumerate(rows, start=1):
        if str(worker) in costs:
            raise InputError(
                f"The prices name {str(worker)!r} twice, the second time in row {number}. Delete one of the rows."
            )
        with suppress(TypeError, ValueError):
            costs[str(worker)] = float(price)
        if not 0 <= costs.get(str(worker), math.nan) < math.inf:
            raise OptionError(f"The price for {str(worker)!r} is {price!r}. Give a number that is 0 or more.")
    return costs


def find_prices(prices: Mapping[str, float], judges: Sequence[Any]) -> Floats:
    """Return the prices of these judges; raise an error for missing prices and unknown judges.

    >>> find_prices({"bob": 2.0, "ada": 1.0}, ["ada", "bob"])
    array([1., 2.])
    """
    names = [str(judge) for judge in judges]
    listed = {"strangers": [judge for judge in prices if judge not in names]}
    listed |= {"missing": [name for name in names if name not in prices], "judges": names}
    shown = {kind: name_some(list(map(repr, each)), len(each)) for kind, each in listed.items()}
    if listed["strangers"]:
        raise OptionError(
            f"The prices name {shown['strangers']}, but the judges are {shown['judges']}. Correct the names."
        )
    if listed["missing"]:
        raise OptionError(f"There is no price for {shown['missing']}. Give a price for every judge, 0 if it is free.")
    return np.array([prices[name] for name in names])
