"""Assigning: which worker is asked about which task, one answer after the other, until the money is spent.

The next answer is always the one that is worth most per unit of money, but for five per cent, beside those that are
planned already. What a task is worth at most is known before its workers are looked at, so that only tasks at the top
are: never all pairs. Answers that are expected to lower the error too little for their price are not asked for.
Nobody is asked about a task that she, or somebody who copies from her or from whom she copies, has answered or is to
answer; and nobody more often in a batch than others do it, too.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike.errors import OptionError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Floats
    from allalike.api.planning.stakes import ClassStakes
    from allalike.engines import Run
    from allalike.methods import Weighing

__all__ = ["ANYONE", "Assignment", "Offers", "Queues", "assign", "find_offers"]

ANYONE = "anyone"  # who has not answered yet
_NEARLY = 0.95  # of the best, which is near enough
_STALE, _MANY = 0.02, 1000  # the share of tasks, and how many beside them, after which all are looked at anew
_LEAST_GAIN = 1e-9  # of the usual error, below which answers bring nothing
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
    """Whom one may ask.

    Parameters
    ----------
    rate
        Of each worker: the error rate.
    price
        What an answer of hers costs; infinite, if she cannot be asked.
    group
        The number of her group of copies; workers who are alone have one each, and below 0 it is a new one each time.
    load
        How many answers she may be asked for in a batch.
    """

    rate: Floats
    price: Floats
    group: npt.NDArray[np.intp]
    load: Floats

    @property
    def cheapest(self) -> float:
        """The least price."""
        return float(self.price.min())


def find_offers(
    run: Run, weighing: Weighing, rates: Floats, prices: Mapping[str, float] | None, price: float | None = None
) -> Offers:
    """Return whom one may ask: workers with a price, or all, and a new one who is like the typical one.

    A price is that of all whom prices do not name. Nobody is asked whose answers say nothing about the tasks.
    """
    insight, n = weighing.insight, len(run.workers)
    known = np.isfinite(rates)
    if not known.any():
        raise UnsupportedError("No task was answered twice, so that nobody knows how often workers err. Ask anyone.")
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
    if insight.signal is not None:
        costs[:n][insight.signal.empty] = np.inf
    if not np.isfinite(costs).any():
        raise OptionError("Nobody can be asked: no worker who has a price says anything about the tasks.")
    if not costs.min() > 0:
        raise OptionError(f"The price of {names[int(costs.argmin())]!r} is 0. What costs nothing needs no plan.")
    group = np.arange(n) if insight.groups is None else insight.groups.number
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

    def bound(self, stakes: ClassStakes, left: float) -> Floats:
        """Return what an answer to each task is worth at most, per unit of money."""
        rate, price, able = self.offers.rate, self.offers.price, self.find(set(), left)
        values = [stakes.bound(float(rate[each])) / price[each] for each in able]
        return _cut_digits(np.max(values, axis=0)) if able else np.zeros(len(stakes.errors))

    def choose(self, stakes: ClassStakes, task: int, taken: set[int], left: float) -> tuple[float, int]:
        """Return how much surer the best answer makes a task per unit of money, and whose it is; -1 if nobody's."""
        able = self.find(taken, left)
        if not able:
            return 0.0, -1
        values = _cut_digits(stakes.value(task, self.offers.rate[able]) / self.offers.price[able])
        first = int(values.argmax())
        return float(values[first]), able[first]

    def ask(self, worker: int) -> None:
        """Ask a worker, who then stands behind her equals, or is not asked any more in this batch."""
        queue = self._queues[float(self.offers.price[worker])]
        rate, asked, _ = queue.pop([each[2] for each in queue].index(worker))
        if asked + 1 < self.offers.load[worker]:
            insort(queue, (rate, asked + 1, worker))


def assign(
    stakes: ClassStakes,
    offers: Offers,
    taken: Sequence[set[int]],
    left: float,
    most: float = np.inf,
    worth: float = 0.0,
) -> list[Assignment]:
    """Return the answers of a batch, as long as there is money and somebody to be asked.

    Parameters
    ----------
    stakes
        What is at stake in each task, which is changed by what is planned.
    offers
        Whom one may ask.
    taken
        The groups of workers who answered each task, to which those are added who are asked.
    left
        How much may be spent.
    most
        How many answers may be asked for.
    worth
        By how much a unit of money must lower the error.

    >>> from allalike.api.planning.stakes import ClassStakes
    >>> stakes = ClassStakes(np.array([[0.6, 0.4], [0.9, 0.1]]), 2)
    >>> offers = Offers(np.array([0.1, 0.2, 0.3]), np.ones(3), np.arange(3), np.ones(3))
    >>> [each[:2] for each in assign(stakes, offers, [{0}, {1}], 3)]
    [(0, 1), (1, 0), (0, 2)]
    """
    queues, stale, asked = Queues(offers), 0, list[Assignment]()
    tasks = [(-value, task) for task, value in enumerate(queues.bound(stakes, left).tolist()) if value > 0]
    heapq.heapify(tasks)
    least = _LEAST_GAIN * float(stakes.errors.mean()) if tasks else 0.0
    while tasks and len(asked) < most and left * (1 + _ROUNDING) >= offers.cheapest:
        _, task = heapq.heappop(tasks)
        value, worker = queues.choose(stakes, task, taken[task], left)
        if worker >= 0 and tasks and value < -_NEARLY * tasks[0][0]:
            heapq.heappush(tasks, (-value, task))
            stale += 1
        elif worker >= 0:
            rate, price, before = float(offers.rate[worker]), float(offers.price[worker]), float(stakes.errors[task])
            if (gain := stakes.gain(task, rate)) > max(worth * price, least):
                stakes.take(task, rate)
                asked.append(Assignment(task, worker, price, gain, before - float(stakes.errors[task])))
                left -= price
                taken[task].add(int(offers.group[worker]))
                queues.ask(worker)
                heapq.heappush(tasks, (-value, task))
        if stale > _STALE * (len(tasks) + _MANY):
            bounds, stale = queues.bound(stakes, left).tolist(), 0
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
