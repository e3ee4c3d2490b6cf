"""Plan: whom to ask about which task with some money, what that brings, and when to stop.

Expected errors come from how sure the truths are, and from what planned answers would change about it
(`allalike.result.expected_gain`). Where the errors of workers are shared, truths are less sure than they seem, and no
answer of the same crowd changes that; so the limits reach from what is expected if all of it were found again by
another crowd to what half of this one finds again, and beyond by chance.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.columns.values import Values, frame_of
from allalike._core.options import check_number
from allalike._core.words import count
from allalike.engines.sample import pick_tasks
from allalike.errors import OptionError, UnsupportedError
from allalike.readers.sources import find_inputs
from allalike.result.expected_gain import estimate_uncertainty
from allalike.result.prices import read_prices
from allalike.result.targets import write_table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt
    import pandas as pd

    from allalike._core.blocks.block import Array, Floats
    from allalike.engines import Run, TaskTable
    from allalike.methods import Fit
    from allalike.result.expected_gain import CrowdUncertainty, TaskUncertainty


# Assigning: which worker is asked about which task, one answer after the other, until the money is spent.
#
# The next answer is always the one that is worth most per unit of money, but for five per cent, beside those that are
# planned already. What a task is worth at most is known before its workers are looked at, so that only tasks at the top
# are: never all pairs. Answers that are expected to lower the error too little for their price are not asked for.
# Nobody is asked about a task that she, or somebody who copies from her or from whom she copies, has answered or is to
# answer; and nobody more often in a batch than others do it, too.


ANYONE = "anyone"  # who has not answered yet
_NEARLY = 0.95  # of the best, which is near enough


_STALE, _MANY = 0.02, 1000  # the share of tasks, and how many beside them, after which all are looked at anew


_MIN_GAIN = 1e-9  # of the usual error, below which answers bring nothing
_ROUNDING = 1e-9
_DIGITS = 2.0**33  # ten of them


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
    run: Run, weighing: Fit, rates: Floats, prices: Mapping[str, float] | None, price: float | None = None
) -> Offers:
    """Return whom one may ask: workers with a price, or all, and a new one who is like the typical one.

    A price is that of all whom prices do not name. Nobody is asked whose answers say nothing about the tasks.
    """
    n, uncertainty = len(run.workers), weighing.uncertainty
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
    group = np.arange(n) if weighing.copy_groups is None else weighing.copy_groups.number
    return Offers(np.append(np.where(known, rates, usual), usual), costs, np.append(group, -1), np.full(n + 1, np.inf))


class Queues:
    """Who may still be asked in a batch: a queue for each price, the best first, and of equals who was asked least.

    >>> queues = Queues(Offers(np.array([0.1, 0.3, 0.2]), np.array([2.0, 1.0, 1.0]), np.arange(3), np.ones(3)))
    >>> queues.find(set(), 5.0), queues.find({2}, 5.0), queues.find({2}, 1.0)
    ([2, 0], [1, 0], [1])
    """

    def __init__(self, offers: Offers) -> None:
        self.offers, self._groups = offers, offers.group.tolist()
        rates = _cut_digits(offers.rate).tolist()
        queues: dict[float, list[tuple[float, int, int]]] = defaultdict(list)
        for worker in np.flatnonzero(np.isfinite(offers.price)).tolist():
            queues[float(offers.price[worker])].append((rates[worker], 0, worker))
        self._queues = {price: sorted(queues[price]) for price in sorted(queues)}

    def find(self, taken: set[int], left: float) -> list[int]:
        """Return the workers of whom no other is as good and not dearer, for a task that some groups have answered."""
        found, least = [], np.inf
        for price, queue in self._queues.items():
            if price > left * (1 + _ROUNDING):
                break
            free = (each for each in queue if self._groups[each[2]] not in taken or self._groups[each[2]] < 0)
            first = next(free, None)
            if first is not None and first[0] < least:
                least = first[0]
                found.append(first[2])
        return found

    def bound(self, uncertainty: TaskUncertainty, left: float) -> Floats:
        """Return what an answer to each task is worth at most, per unit of money."""
        rate, price, able = self.offers.rate, self.offers.price, self.find(set(), left)
        values = [uncertainty.bound(float(rate[each])) / price[each] for each in able]
        return _cut_digits(np.max(values, axis=0)) if able else np.zeros(len(uncertainty.errors))

    def choose(self, uncertainty: TaskUncertainty, task: int, taken: set[int], left: float) -> tuple[float, int]:
        """Return how much surer the best answer makes a task per unit of money, and whose it is; -1 if nobody's."""
        able = self.find(taken, left)
        if not able:
            return 0.0, -1
        values = _cut_digits(uncertainty.value(task, self.offers.rate[able]) / self.offers.price[able])
        first = int(values.argmax())
        return float(values[first]), able[first]

    def ask(self, worker: int) -> None:
        """Ask a worker, who then comes after equal workers, or is not asked again in this batch."""
        queue = self._queues[float(self.offers.price[worker])]
        rate, asked, _ = queue.pop([each[2] for each in queue].index(worker))
        if asked + 1 < self.offers.load[worker]:
            insort(queue, (rate, asked + 1, worker))


def assign(
    uncertainty: TaskUncertainty,
    offers: Offers,
    taken: Sequence[set[int]],
    left: float,
    most: float = np.inf,
    min_gain: float = 0.0,
) -> list[Assignment]:
    """Return the answers of a batch, as long as there is money and somebody to be asked.

    >>> from allalike.result.expected_gain import TaskUncertainty
    >>> uncertainty = TaskUncertainty(np.array([[0.6, 0.4], [0.9, 0.1]]), 2)
    >>> offers = Offers(np.array([0.1, 0.2, 0.3]), np.ones(3), np.arange(3), np.ones(3))
    >>> [each[:2] for each in assign(uncertainty, offers, [{0}, {1}], 3)]
    [(0, 1), (1, 0), (0, 2)]
    """
    queues, stale, asked = Queues(offers), 0, list[Assignment]()
    tasks = [(-value, task) for task, value in enumerate(queues.bound(uncertainty, left).tolist()) if value > 0]
    heapq.heapify(tasks)
    least = _MIN_GAIN * float(uncertainty.errors.mean()) if tasks else 0.0
    while tasks and len(asked) < most and left * (1 + _ROUNDING) >= offers.cheapest:
        _, task = heapq.heappop(tasks)
        value, worker = queues.choose(uncertainty, task, taken[task], left)
        if worker >= 0 and tasks and value < -_NEARLY * tasks[0][0]:
            heapq.heappush(tasks, (-value, task))
            stale += 1
        elif worker >= 0:
            rate, price, before = (
                float(offers.rate[worker]),
                float(offers.price[worker]),
                float(uncertainty.errors[task]),
            )
            if (gain := uncertainty.gain(task, rate)) > max(min_gain * price, least):
                uncertainty.add_answer(task, rate)
                asked.append(Assignment(task, worker, price, gain, before - float(uncertainty.errors[task])))
                left -= price
                taken[task].add(int(offers.group[worker]))
                queues.ask(worker)
                heapq.heappush(tasks, (-value, task))
        if stale > _STALE * (len(tasks) + _MANY):
            bounds, stale = queues.bound(uncertainty, left).tolist(), 0
            tasks = [(max(value, -bounds[each]), each) for value, each in tasks]
            heapq.heapify(tasks)
    return asked


def _cut_digits(values: Floats) -> Floats:
    """Round to ten digits, so that what is equal but for rounding ties, on every machine.

    >>> bool(_cut_digits(np.array([0.3]))[0] == _cut_digits(np.array([0.1 + 0.2]))[0])
    True
    """
    part, power = np.frexp(values)
    return np.asarray(np.ldexp(np.round(part * _DIGITS) / _DIGITS, power))


_FAIR_SHARES = 2.0  # of the answers of a batch: nobody is asked for more, unless it is said how many
_SPARE_TASKS = 4  # times as many tasks are looked at as answers can be paid for


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
    run: Run,
    weighing: Fit,
    found: TaskTable,
    posteriors: Callable[[], TaskTable] | None,
    *,
    budget: float,
    price: float | None = None,
    prices: Any = None,
    batch: int | None = None,
    max_per_worker: int | None = None,
    min_gain: float = 0.0,
    inputs: tuple[Path, ...] = (),
) -> AnswerPlan:
    """Plan answers, as `Result.plan` has it."""
    check_number(budget, "budget", least=0)
    check_number(min_gain, "min_gain", least=0)
    check_number(1 if batch is None else batch, "batch", least=1, whole=True)
    check_number(1 if max_per_worker is None else max_per_worker, "max_per_worker", least=1, whole=True)
    crowd = estimate_uncertainty(run, weighing, found, posteriors)
    each = None if price is None else float(check_number(price, "price", least=0))
    if each == 0:
        raise OptionError("price is 0. Answers that cost nothing need no plan: give a price above 0, such as 0.05.")
    offers = find_offers(run, weighing, crowd.rates, None if prices is None else read_prices(prices), each)
    if budget < offers.cheapest:
        raise OptionError(
            f"budget is {budget:,.10g}, and the cheapest answer costs {offers.cheapest:,.10g}. Give as much at least."
        )
    payable = budget / offers.cheapest
    offers = _limit_loads(offers, int(min(payable, batch or len(crowd.tasks))), max_per_worker)
    most = Queues(offers).bound(crowd.of_tasks(), budget)
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
    told = {"tasks": len(crowd.tasks), "known": crowd.truths, "before": crowd.describe_error(before)}
    said = {
        "budget": budget,
        "price": price,
        "batch": batch,
        "min_gain": min_gain,
        "max_per_worker": int(offers.load[0]),
    }
    steps = {name: _describe(each, before, crowd) for name, each in (("next", now), ("all", asked))}
    stop = budget - steps["all"]["cost"] >= offers.cheapest
    return AnswerPlan(frame_of(columns), {**said, **told, **steps, "stop": stop}, (*inputs, *find_inputs(prices)))


def _describe(asked: Sequence[Assignment], before: float, crowd: CrowdUncertainty) -> dict[str, Any]:
    """Say what some answers cost, and which error is expected with them."""
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
    """Say what a plan asks for, what it costs and brings, how far that can be trusted, and whether to stop.

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
