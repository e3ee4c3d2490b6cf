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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Floats
    from allalike.api.planning.stakes import Stakes

__all__ = ["Assignment", "Offers", "Queues", "assign", "bound"]

_NEARLY = 0.95  # of the best, which is near enough
_STALE, _MANY = 0.02, 1000  # the share of tasks, and how many beside them, after which all are looked at anew
_LEAST_GAIN = 1e-9  # of the usual error, below which answers bring nothing
_ROUNDING = 1e-9
_DIGITS = 2.0**33  # ten of them


class Assignment(NamedTuple):
    """An answer that is asked for, of a task and a worker by their places.

    ``gain`` is by how much it is expected to lower the error, and ``saved`` by how much with all those before, as they
    stand.
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
        Of each worker: her error rate, or the variance of her answers.
    price
        What an answer of hers costs; infinite, if she cannot be asked.
    group
        The number of her group of copies; workers who are alone have one each, and below 0 it is a new one each time.
    load
        How many answers she may be asked for in a batch.

    >>> offers = Offers(np.array([0.1, 0.3, 0.2]), np.array([2.0, 1.0, 1.0]), np.arange(3), np.ones(3))
    >>> offers.cheapest, offers.best, Queues(offers).find(set(), 5.0), Queues(offers).find({2}, 5.0)
    (1.0, [2, 0], [2, 0], [1, 0])
    """

    rate: Floats
    price: Floats
    group: npt.NDArray[np.intp]
    load: Floats

    @property
    def cheapest(self) -> float:
        """The least price."""
        return float(self.price.min())

    @property
    def best(self) -> list[int]:
        """The workers of whom no other is as good and not dearer, the cheapest first."""
        return Queues(self).find(set(), np.inf)


class Queues:
    """Who may still be asked in a batch: a queue for each price, the best first, and of equals who was asked least."""

    def __init__(self, offers: Offers) -> None:
        self._offers, self.answers = offers, 0
        rates, groups = _cut_digits(offers.rate).tolist(), offers.group.tolist()
        queues: dict[float, list[tuple[float, int, int]]] = defaultdict(list)
        for worker in np.flatnonzero(np.isfinite(offers.price)).tolist():
            queues[float(offers.price[worker])].append((rates[worker], 0, worker))
        self._queues = [(price, sorted(queue)) for price, queue in sorted(queues.items())]
        self._groups = groups

    def find(self, taken: set[int], left: float) -> list[int]:
        """Return the workers of whom no other is as good and not dearer, for a task that some groups have answered."""
        found, least = [], np.inf
        for price, queue in self._queues:
            if price > left * (1 + _ROUNDING):
                break
            free = (each for each in queue if self._groups[each[2]] not in taken or self._groups[each[2]] < 0)
            first = next(free, None)
            if first is not None and first[0] < least:
                least = first[0]
                found.append(first[2])
        return found

    def ask(self, worker: int) -> None:
        """Ask a worker, who then stands behind her equals, or is not asked any more in this batch."""
        self.answers += 1
        queue = next(queue for price, queue in self._queues if price == self._offers.price[worker])
        place = next(place for place, each in enumerate(queue) if each[2] == worker)
        rate, asked, _ = queue.pop(place)
        if asked + 1 < self._offers.load[worker]:
            insort(queue, (rate, asked + 1, worker))


def assign(
    stakes: Stakes,
    offers: Offers,
    answered: Sequence[npt.NDArray[np.intp]],
    budget: float,
    batch: int | None = None,
    worth: float = 0.0,
) -> Iterator[Assignment]:
    """Yield what to ask next, as long as there is money and somebody to be asked.

    Parameters
    ----------
    stakes, offers
        What is at stake in each task, and whom one may ask.
    answered
        The workers who answered each task.
    budget
        How much may be spent.
    batch
        How many answers are asked for at a time; then everybody may be asked again.
    worth
        By how much a unit of money must lower the error.

    >>> from allalike.api.planning.stakes import ClassStakes
    >>> stakes = ClassStakes(np.array([[0.6, 0.4], [0.9, 0.1]]), 2)
    >>> offers = Offers(np.array([0.1, 0.2, 0.3]), np.ones(3), np.arange(3), np.ones(3))
    >>> [each[:2] for each in assign(stakes, offers, [np.array([0]), np.array([1])], 3)]
    [(0, 1), (1, 0), (0, 2)]
    """
    queues, left, saved, stale = Queues(offers), budget, 0.0, 0
    taken = [set(offers.group[workers].tolist()) for workers in answered]
    most = bound(stakes, offers, offers.best).tolist()
    tasks = [(-value, task) for task, value in enumerate(most) if value > 0]
    heapq.heapify(tasks)
    waiting: list[int] = []
    least = _LEAST_GAIN * float(stakes.errors.mean()) if tasks else 0.0
    while tasks and left * (1 + _ROUNDING) >= offers.cheapest:
        _, task = heapq.heappop(tasks)
        value, worker = _choose(stakes, task, offers, queues.find(taken[task], left))
        if worker < 0:
            waiting.append(task)
        elif tasks and value < -_NEARLY * tasks[0][0]:
            heapq.heappush(tasks, (-value, task))
            stale += 1
        else:
            rate, price = float(offers.rate[worker]), float(offers.price[worker])
            gain, before = stakes.gain(task, rate), float(stakes.errors[task])
            if gain > max(worth * price, least):
                stakes.take(task, rate)
                saved += before - float(stakes.errors[task])
                yield Assignment(task, worker, price, gain, saved)
                left -= price
                taken[task].add(int(offers.group[worker]))
                queues.ask(worker)
                heapq.heappush(tasks, (-value, task))
        if stale > _STALE * (len(tasks) + _MANY) and (able := queues.find(set(), left)):
            most, stale = bound(stakes, offers, able).tolist(), 0
            tasks = [(max(value, -most[each]), each) for value, each in tasks]
            heapq.heapify(tasks)
        if batch is not None and queues.answers and (not tasks or queues.answers == batch):
            queues = Queues(offers)
            tasks += [(-np.inf, each) for each in waiting]
            heapq.heapify(tasks)
            waiting.clear()


def bound(stakes: Stakes, offers: Offers, able: list[int]) -> Floats:
    """Return what the best answer of some workers to each task is worth at most, per unit of money."""
    return _cut_digits(np.max([stakes.bound(float(offers.rate[each])) / offers.price[each] for each in able], axis=0))


def _choose(stakes: Stakes, task: int, offers: Offers, able: list[int]) -> tuple[float, int]:
    """Return how much surer the best answer makes a task per unit of money, and whose it is; -1 if it is nobody's."""
    if not able:
        return 0.0, -1
    values = _cut_digits(stakes.value(task, offers.rate[able]) / offers.price[able])
    first = int(values.argmax())
    return float(values[first]), able[first]


def _cut_digits(values: Floats) -> Floats:
    """Round to ten digits, so that what is equal but for rounding ties, on every machine.

    >>> bool(_cut_digits(np.array([0.3]))[0] == _cut_digits(np.array([0.1 + 0.2]))[0])
    True
    """
    part, power = np.frexp(values)
    return np.asarray(np.ldexp(np.round(part * _DIGITS) / _DIGITS, power))
