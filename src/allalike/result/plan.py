"""Plan the next answers: which worker is asked about which task, and what that brings.

**Expected gain.** Let q_z be the probabilities of a task's classes. A worker with error rate e names the true class
with probability r = 1 - e, and any other one with w = e / (k - 1). Planned answers may turn out in several ways s; J_sz
is the joint probability of s and of the true class z. The task will be decided rightly with probability

    sum_s max_z J_sz.

One answer alone often cannot change a decision, though three may. So answers are chosen by how much they raise

    sum_s sum_z J_sz^2 / sum_z J_sz,

the probability of a class that is drawn by the probabilities after the answers: every informative answer raises it. Of
many classes the three likeliest are distinguished, and ways that lead to nearly the same probabilities are merged.

**Assigning.** The next answer is always the one that is worth most per unit of money, but for five per cent, beside
those that are planned already. What a task is worth at most is known before its workers are looked at, so that only
tasks at the top are: never all pairs. Answers that are expected to lower the error too little for their price are not
asked for. Nobody is asked about a task that they, or a member of their copy group, have answered or are to answer, and
nobody more often in a batch than others.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.columns.values import Values, frame_of
from allalike._core.options import check_number
from allalike._core.words import count
from allalike.engines.sample import pick_tasks
from allalike.errors import InputError, OptionError, UnsupportedError
from allalike.methods.auto.next_labels import expect_gains
from allalike.methods.auto.uncertainty import NORMAL_QUANTILE
from allalike.readers.formats.source import cells
from allalike.readers.sources import find_inputs, open_table
from allalike.result.saving import write_table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy.typing as npt
    import pandas as pd

    from allalike._core.blocks.block import Array, Floats
    from allalike.engines import Piece, Run, TaskTable
    from allalike.methods import Fit
    from allalike.result.result import Result

_TOLD_APART = 3  # classes
_MANY_WAYS = 64  # in which planned answers may turn out; of more, those that are nearly the same are merged
_STEP = 1 / 64  # between probabilities that are not told apart then
_TINY = 1e-12
ANYONE = "anyone"  # who has not answered yet
_NEARLY = 0.95  # of the best, which is near enough
_STALE, _MANY = 0.02, 1000  # the share of tasks, and how many beside them, after which all are looked at anew
_MIN_GAIN = 1e-9  # of the usual error, below which answers bring nothing
_ROUNDING = 1e-9
_DIGITS = 2.0**33  # ten of them
_FAIR_SHARES = 2.0  # of the answers of a batch: the most per worker by default
_SPARE_TASKS = 4  # times as many tasks are looked at as answers can be paid for


class TaskUncertainty:
    """The probability that each task will be decided wrongly (``errors``), with the answers that are planned."""

    def __init__(self, likeliest: Floats, k: int) -> None:
        self.likeliest, self.k, self.errors = likeliest, k, 1 - likeliest[:, 0]
        self._planned: dict[int, Floats] = {}

    def bound(self, rate: float) -> Floats:
        """Return how much surer a first answer makes each task."""
        return _compute_gains(self.likeliest[:, None], np.full(len(self.likeliest), rate), self.k)

    def value(self, task: int, rates: Floats) -> Floats:
        """Return how much surer one more answer makes a task."""
        return _compute_gains(self._ways(task)[None], rates, self.k)

    def gain(self, task: int, rate: float) -> float:
        """Return the gain of an answer, where it takes one, three or five of them to turn a decision."""
        ways = self._ways(task)
        whole, right = ways.sum(axis=1), _find_probabilities(rate, self.k)
        odds = np.log(right[0] / np.maximum(right[1], _TINY))
        return float(whole @ expect_gains(ways / whole[:, None], np.full(len(ways), odds), self.k))

    def add_answer(self, task: int, rate: float) -> None:
        """Plan an answer: every way becomes one for each label that it may give."""
        right, wrong = _find_probabilities(rate, self.k)
        before, told = self._ways(task), self.likeliest.shape[1]
        named = [before * np.where(np.arange(told) == label, right, wrong) for label in range(told)]
        others = [before * wrong * (self.k - told)] if self.k > told else []
        after = _merge_similar(np.concatenate([*named, *others]))
        self._planned[task] = after
        self.errors[task] = 1 - after.max(axis=1).sum()

    def _ways(self, task: int) -> Floats:
        return self._planned.get(task, self.likeliest[task : task + 1])


def keep_likeliest(table: Floats) -> Floats:
    """Return the probabilities of the likeliest classes, the largest first."""
    return np.sort(table, axis=1)[:, : -_TOLD_APART - 1 : -1]


def _find_probabilities(rate: Floats | float, k: int) -> tuple[Floats, Floats]:
    """Return how probably a worker names the true class, and a certain other one; at least as good as a guess."""
    wrong = np.minimum(rate, 1 - 1 / k) / (k - 1)
    return np.asarray(1 - (k - 1) * wrong), np.asarray(wrong)


def _compute_gains(ways: Floats, rates: Floats, k: int) -> Floats:
    """Return how much surer an answer makes a task, for each table of ways and rate."""
    right, wrong = (each[:, None, None] for each in _find_probabilities(rates, k))
    whole, squares = ways.sum(axis=2, keepdims=True), np.square(ways).sum(axis=2, keepdims=True)
    named = (np.square(right * ways) + wrong**2 * (squares - ways**2)) / (wrong * whole + (right - wrong) * ways)
    others = (k - ways.shape[2]) * wrong * squares / whole
    return np.asarray(named.sum(axis=(1, 2)) + (others - squares / whole).sum(axis=(1, 2)))


def _merge_similar(ways: Floats) -> Floats:
    """Count ways that lead to nearly the same probabilities as one, where there are many."""
    ways = ways[ways.sum(axis=1) > _TINY]
    if len(ways) <= _MANY_WAYS:
        return ways
    alike = np.rint(ways / ways.sum(axis=1, keepdims=True) / _STEP)
    kinds, place = np.unique(alike, axis=0, return_inverse=True)
    joined = np.zeros((len(kinds), ways.shape[1]))
    np.add.at(joined, place.ravel(), ways)
    return joined


@dataclass(frozen=True)
class CrowdUncertainty:
    """Uncertainty of the labels, and error rates of the workers."""

    tasks: Values
    state: Floats
    rates: Floats
    k: int
    truths: int = 0

    def of_tasks(self, rows: Any = slice(None)) -> TaskUncertainty:
        """Return the uncertainty of some of the tasks."""
        return TaskUncertainty(self.state[rows], self.k)

    def describe_error(self, error: float) -> dict[str, float]:
        """Return an expected error, a mean over tasks, with its 95 % interval."""
        n = max(len(self.tasks), 1)
        variance = error * (1 - error) * (1 / n + (1 / self.truths if self.truths else 0.0))
        spread = NORMAL_QUANTILE * math.sqrt(max(variance, 0.0))
        return {"expected": error, "ci_low": max(error - spread, 0.0), "ci_high": min(error + spread, 1.0)}


def estimate_uncertainty(
    run: Run, fit: Fit, found: TaskTable, posteriors: Callable[[], TaskTable] | None
) -> CrowdUncertainty:
    """Estimate the uncertainty of labels that are not gold, for label types with probabilities."""
    faults, rates = fit.uncertainty, fit.error_rate
    told = None if faults is None else faults.confidence
    if run.worker_task is not None:
        raise UnsupportedError(
            "With per_task(), workers have no error rates beyond one task, so answers cannot be planned."
        )
    if posteriors is not None and rates is not None:
        tables = (piece.found["probability"] for piece in posteriors().pieces())
        tasks, state = _collect(found, lambda _: keep_likeliest(next(tables)))
    elif faults is not None and told is not None and run.encoding.nominal:
        tasks, state = _collect(
            found, lambda piece: np.column_stack([piece.found["confidence"], piece.found["second"]])
        )
        rates = faults.best(fit.fault)
    else:
        raise UnsupportedError(
            "Planning needs labels with an error rate, such as classes, found by the method auto. These labels are"
            f" {run.domain.name}. `result.next_tasks()` lists the least certain tasks."
        )
    truths = run.n_gold if told is not None and told.get("estimated_from") == "gold" else 0
    return CrowdUncertainty(tasks, state, rates, run.encoding.n_labels, truths)


def _collect(found: TaskTable, tell: Callable[[Piece], Floats]) -> tuple[Values, Floats]:
    """Return the tasks without gold labels, and their state."""
    tasks, states = [], []
    for piece in found.pieces():
        state = tell(piece)
        unknown = np.isnan(piece.found.get("gold", np.full(len(state), np.nan)))
        rows = np.flatnonzero(unknown & np.isfinite(state.reshape(len(state), -1)).all(axis=1))
        tasks.append(piece.tasks.take(rows))
        states.append(state[rows])
    return Values.join(tasks), np.concatenate(states)


class Assignment(NamedTuple):
    """An answer that is asked for, of a task and a worker by their places.

    ``gain`` is by how much it is expected to lower the error, if need be with some more like it, and ``saved`` by how
    much it does so beside those before it.
    """

    task: int
    worker: int
    price: float
    gain: float
    saved: float


@dataclass(frozen=True)
class Offers:
    """Whom one may ask."""

    rate: Floats
    price: Floats
    group: npt.NDArray[np.intp]
    load: Floats

    @property
    def cheapest(self) -> float:
        """The least price."""
        return float(self.price.min())


def find_offers(
    run: Run, fit: Fit, rates: Floats, prices: Mapping[str, float] | None, price: float | None = None
) -> Offers:
    """Return whom one may ask: workers with a price, or all, and a new one who is like the typical one.

    A price is that of all whom prices do not name. Nobody is asked whose answers say nothing about the tasks.
    """
    n, uncertainty = len(run.workers), fit.uncertainty
    known = np.isfinite(rates)
    if not known.any():
        raise UnsupportedError("No task has two answers, so error rates of workers are unknown. Ask any worker.")
    usual = float(np.average(rates[known], weights=run.answer_counts[known]))
    names = [*map(str, run.workers.tolist()), ANYONE]
    usual_price = 1.0 if price is None and prices is None else price
    given = {**({} if usual_price is None else dict.fromkeys(names, usual_price)), **(prices or {})}
    there = set(names)
    if strangers := [name for name in given if name not in there]:
        raise OptionError(
            f"There is a price of {strangers[0]!r}, who has not answered yet. Name workers as the answers do, or"
            f" {ANYONE!r} for somebody new."
        )
    costs = np.array([given.get(name, np.inf) for name in names])
    if uncertainty is not None and uncertainty.uninformative is not None:
        costs[:n][uncertainty.uninformative] = np.inf
    if not np.isfinite(costs).any():
        raise OptionError("There is no worker to ask: all workers with a price are uninformative.")
    if not costs.min() > 0:
        raise OptionError(f"The price of {names[int(costs.argmin())]!r} is 0. What costs nothing needs no plan.")
    group = np.arange(n) if fit.copy_groups is None else fit.copy_groups.number
    return Offers(np.append(np.where(known, rates, usual), usual), costs, np.append(group, -1), np.full(n + 1, np.inf))


class Queue:
    """Who may still be asked in a batch, with how often they were."""

    def __init__(self, offers: Offers) -> None:
        self.offers, self.asked, self._rates = offers, np.zeros(len(offers.price)), _cut_digits(offers.rate)

    def find(self, taken: set[int], left: float) -> Array:
        """Return the workers of whom no other is as good and not dearer, for a task that some groups have answered.

        They are ordered by price; of equals who was asked least is one.
        """
        price, group = self.offers.price, self.offers.group
        able = (self.asked < self.offers.load) & (price <= left * (1 + _ROUNDING))
        able &= ~np.isin(group, list(taken)) | (group < 0)
        order = np.flatnonzero(able)
        order = order[np.lexsort((self.asked[order], self._rates[order], price[order]))]
        rates = self._rates[order]
        better = rates < np.minimum.accumulate(np.append(np.inf, rates))[:-1]
        return np.asarray(order[better])

    def bound(self, uncertainty: TaskUncertainty, left: float) -> Floats:
        """Return what an answer to each task is worth at most, per unit of money."""
        rate, price, able = self.offers.rate, self.offers.price, self.find(set(), left)
        values = [uncertainty.bound(float(rate[each])) / price[each] for each in able]
        return _cut_digits(np.max(values, axis=0)) if len(able) else np.zeros(len(uncertainty.errors))

    def choose(self, uncertainty: TaskUncertainty, task: int, taken: set[int], left: float) -> tuple[float, int]:
        """Return how much surer the best answer makes a task per unit of money, and whose it is; -1 if nobody's."""
        able = self.find(taken, left)
        if not len(able):
            return 0.0, -1
        values = _cut_digits(uncertainty.value(task, self.offers.rate[able]) / self.offers.price[able])
        first = int(values.argmax())
        return float(values[first]), int(able[first])


def assign(
    uncertainty: TaskUncertainty,
    offers: Offers,
    taken: Sequence[set[int]],
    left: float,
    most: float = np.inf,
    min_gain: float = 0.0,
) -> list[Assignment]:
    """Return the answers of a batch, as long as there is money and somebody to be asked."""
    queue, stale, asked = Queue(offers), 0, list[Assignment]()
    tasks = [(-value, task) for task, value in enumerate(queue.bound(uncertainty, left).tolist()) if value > 0]
    heapq.heapify(tasks)
    least = _MIN_GAIN * float(uncertainty.errors.mean()) if tasks else 0.0
    while tasks and len(asked) < most and left * (1 + _ROUNDING) >= offers.cheapest:
        _, task = heapq.heappop(tasks)
        value, worker = queue.choose(uncertainty, task, taken[task], left)
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
                queue.asked[worker] += 1
                heapq.heappush(tasks, (-value, task))
        if stale > _STALE * (len(tasks) + _MANY):
            bounds, stale = queue.bound(uncertainty, left).tolist(), 0
            tasks = [(max(value, -bounds[each]), each) for value, each in tasks]
            heapq.heapify(tasks)
    return asked


def _cut_digits(values: Floats) -> Floats:
    """Round to ten digits, so that what is equal but for rounding ties, on every machine."""
    part, power = np.frexp(values)
    return np.asarray(np.ldexp(np.round(part * _DIGITS) / _DIGITS, power))


@dataclass(frozen=True)
class AnswerPlan:
    """Answers to ask for next, and what they bring.

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
    summary: dict[str, Any]
    inputs: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(_describe_plan(self.summary))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, safe_csv: bool = False) -> Path:
        """Write the table as CSV, whole or not at all, and return the path.

        An earlier plan is replaced, another file only if it may be overwritten, and an input never. If the table must
        be safe, texts that a spreadsheet would take for formulas get an apostrophe before them.

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
    """Plan answers, as `Result.plan` has it."""
    run, fit = result.run, result.weighing
    check_number(budget, "budget", least=0)
    check_number(min_gain, "min_gain", least=0)
    check_number(1 if batch is None else batch, "batch", least=1, whole=True)
    check_number(1 if max_per_worker is None else max_per_worker, "max_per_worker", least=1, whole=True)
    crowd = estimate_uncertainty(run, fit, result.found, result.posteriors)
    each = None if price is None else float(check_number(price, "price", least=0))
    if each == 0:
        raise OptionError("price is 0. Answers that cost nothing need no plan: give a price above 0, such as 0.05.")
    offers = find_offers(run, fit, crowd.rates, None if prices is None else read_prices(prices), each)
    if budget < offers.cheapest:
        raise OptionError(
            f"budget is {budget:,.10g}, and the cheapest answer costs {offers.cheapest:,.10g}. Give as much at least."
        )
    payable = budget / offers.cheapest
    offers = _limit_loads(offers, int(min(payable, batch or len(crowd.tasks))), max_per_worker)
    most = Queue(offers).bound(crowd.of_tasks(), budget)
    rows = np.sort(np.argsort(-most, kind="stable")[: int(min(_SPARE_TASKS * (payable + 1), len(most)))])
    tasks, uncertainty = crowd.tasks.take(rows), crowd.of_tasks(rows)
    taken = [set(offers.group[workers].tolist()) for workers in _list_answered(run, tasks)]
    now = assign(uncertainty, offers, taken, budget, batch or np.inf, min_gain)
    left = budget - sum(each.price for each in now)
    batches = max(np.ceil(left / offers.cheapest / max(len(now), 1)), 1.0)  # which pay the rest
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
    steps = {name: _describe_step(each, before, crowd) for name, each in (("next", now), ("all", asked))}
    options = {"budget": budget, "price": price, "batch": batch, "min_gain": min_gain}
    summary = {
        **options,
        "max_per_worker": int(offers.load[0]),
        "tasks": len(crowd.tasks),
        "known": crowd.truths,
        "before": crowd.describe_error(before),
        **steps,
        "stop": budget - steps["all"]["cost"] >= offers.cheapest,
    }
    return AnswerPlan(frame_of(columns), summary, (*result.inputs, *find_inputs(prices)))


def _describe_step(asked: Sequence[Assignment], before: float, crowd: CrowdUncertainty) -> dict[str, Any]:
    """Return the cost of some answers, and the error that is expected with them."""
    saved = sum(each.saved for each in asked)
    return {
        "answers": len(asked),
        "cost": float(sum(each.price for each in asked)),
        "tasks": len({each.task for each in asked}),
        "workers": len({each.worker for each in asked}),
        "after": crowd.describe_error(before - saved / max(len(crowd.tasks), 1)),
    }


def _limit_loads(offers: Offers, answers: int, max_per_worker: int | None) -> Offers:
    """Limit how often a worker is asked in a batch, by default to twice the worker's share of the answers."""
    named = np.isfinite(offers.price[:-1])
    fair = np.ceil(_FAIR_SHARES * answers / max(int(named.sum()), 1))
    load = np.full(len(offers.price), float(max_per_worker or max(fair, 1.0)))
    load[-1] = np.inf
    return replace(offers, load=load)


def _list_answered(run: Run, tasks: Values) -> list[npt.NDArray[np.intp]]:
    """List who answered each of these tasks."""
    block = pick_tasks(run, tasks.hashes())
    of_task = np.split(block.worker, block.starts[1:])
    order = np.argsort(block.task_hash, kind="stable")
    places = order[np.searchsorted(block.task_hash[order], tasks.hashes())]
    return [of_task[place] for place in places]


def _describe_plan(summary: Mapping[str, Any]) -> list[str]:
    """Describe the answers of a plan, their cost, the expected error, its limits, and whether to stop.

    >>> told = {"expected": 0.1, "ci_low": 0.02, "ci_high": 0.15}
    >>> step = {"answers": 3, "cost": 6.0, "tasks": 2, "workers": 3, "after": told}
    >>> for line in _describe_plan({"budget": 6, "before": told, "next": step, "all": step, "min_gain": 0.0,
    ...                    "stop": False, "known": 40}):
    ...     print(line)
    Ask for 3 answers to 2 tasks, of 3 workers, for 6 of 6.
    Expected now: 10.0 % of the truths are wrong (2.0 to 15.0 %).
    With these answers: 10.0 % of the truths are wrong (2.0 to 15.0 %).
    """
    now, whole = summary["next"], summary["all"]
    lines = [f"Expected now: {_write(summary['before'])}."]
    if now["answers"]:
        asked = [count(now[name], name[:-1]) for name in ("answers", "tasks", "workers")]
        lines.insert(
            0, f"Ask for {asked[0]} to {asked[1]}, of {asked[2]}, for {now['cost']:,.10g} of {summary['budget']:,.10g}."
        )
        lines.append(f"With these answers: {_write(now['after'])}.")
    if whole["answers"] > now["answers"]:
        after = _write(whole["after"])
        lines.append(f"With all {whole['answers']:,} that are worth it, for {whole['cost']:,.10g}: {after}.")
    if not summary["known"]:
        lines.append(
            "This is the crowd's own estimate, which cannot see errors that most workers share, so it may be far too"
            " low. Half of such limits held on public crowds. Some known truths (gold) tell."
        )
    if summary["stop"]:
        least = f"as much as {summary['min_gain']:g} per unit of money" if summary["min_gain"] else "anything"
        then = f"Stop after {whole['cost']:,.10g} of {summary['budget']:,.10g}" if whole["answers"] else "Stop"
        lines.append(f"{then}: by this crowd's own estimate, nobody who may still be asked brings {least}.")
    return lines


def _write(error: Mapping[str, float]) -> str:
    shares = [f"{100 * error[name]:.1f}" for name in ("expected", "ci_low", "ci_high")]
    return f"{shares[0]} % of the truths are wrong ({shares[1]} to {shares[2]} %)"


# Prices of the answers of each worker or judge.

_WORKER_COLUMNS = ("worker", "judge", "model")
_FORM = "Prices are a mapping, or a table with the columns worker and price"
_MAX_NAMED = 5


def read_prices(source: Any) -> dict[str, float]:
    """Return the price of an answer of each judge, from a mapping, a table or its path.

    A table has a column worker (or judge, or model) and a column price.

    >>> read_prices({"ada": 0.002, "bob": "0.01"})
    {'ada': 0.002, 'bob': 0.01}
    """
    if isinstance(source, Mapping):
        return {str(judge): _check_price(judge, price) for judge, price in source.items()}
    try:
        table = open_table(source)
    except InputError as error:
        raise InputError(f"{_FORM}, and these cannot be read. {error}") from None
    name = next((column for column in _WORKER_COLUMNS if column in table.names), None)
    if name is None or "price" not in table.names:
        raise InputError(f"{_FORM}; these are there: {', '.join(table.names)}.")
    judges, prices = (cells(column) for column in table.load([name, "price"]).values())
    costs: dict[str, float] = {}
    for row, (judge, price) in enumerate(zip(map(str, judges), prices, strict=True), start=1):
        if judge in costs:
            raise InputError(f"The prices name {judge!r} twice, the second time in row {row}. Keep one of them.")
        costs[judge] = _check_price(judge, price)
    return costs


def find_prices(prices: Mapping[str, float], judges: Sequence[Any]) -> Floats:
    """Return the prices of these judges; missing prices and prices of others are refused.

    >>> find_prices({"bob": 2.0, "ada": 1.0}, ["ada", "bob"])
    array([1., 2.])
    """
    names = [str(judge) for judge in judges]
    if strangers := [judge for judge in prices if judge not in names]:
        raise OptionError(
            f"There is a price of {_list_names(strangers)}, but no such judge. The judges are {_list_names(names)}."
        )
    if missing := [name for name in names if name not in prices]:
        raise OptionError(
            f"There is no price of {_list_names(missing)}. Give one for every judge, 0 where it costs nothing."
        )
    return np.array([prices[name] for name in names])


def _check_price(judge: Any, price: Any) -> float:
    try:
        value = float(price)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise OptionError(f"The price of {str(judge)!r} is {price!r}. It must be a number, 0 or more.")
    return value


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(map(repr, names[:_MAX_NAMED])) + more
