"""Outlook: how long a run will still take, by the steps that are ahead and the time of those behind.

A run says which steps it will take, and how much **work** each is: how many answers it goes over, however often, and
how long that takes beside other steps. What work takes is measured while it is done, and the last steps tell most of
it; before that, it is what an ordinary machine takes, and what reading took counts a little.

    left = seconds per work * (work left of this step + work of the steps ahead)

Steps that are skipped are ahead no longer, and a step that takes longer than was thought is never quite over. It works
where the work ahead is of the kind that was measured, and fails where a step is far more work than was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Outlook", "Steps", "tell_time"]

Steps = Sequence[tuple[str, float, float]]  # stages, how many answers each goes over, and the work of one of them

_USUAL_SECONDS = 1e-7  # for the work of one answer, on an ordinary machine
_USUAL_WORK = 1e7  # that is taken for measured on it
_COUNTS = {"reading": 0.2, "preparing": 0.0, "saving": 0.0}  # as measures of other work, which is of another kind
_FADING = 0.5  # of what was measured counts after another step
_NEARLY = 0.95  # how much of a step is done at most, unless it is over
_OVERDUE = 0.1  # of what a step has taken is left of it, at least
_MIN_SECONDS = 2.0  # to be measured, lest it be an accident
_LEAST_LEFT = 1.0  # second, as long as there is work
_SLACK, _SLACK_SECONDS = 0.15, 0.5  # by which a promise may be wrong before there is another


@dataclass
class _Count:
    """What counts itself, from the first to the last that was heard of it; another total is another count."""

    total: int = 0
    first: tuple[float, int] = (0.0, 0)
    last: tuple[float, int] = (0.0, 0)

    def note(self, now: float, done: int, total: int) -> None:
        if total != self.total or done < self.last[1]:
            self.total, self.first = total, (now, done)
        self.last = now, done

    def left(self, now: float) -> float | None:
        seconds, done = (last - first for last, first in zip(self.last, self.first, strict=True))
        if seconds < _MIN_SECONDS or not done:
            return None
        return max(seconds / done * (self.total - self.last[1]) - (now - self.last[0]), 0.0)


class Outlook:
    """How far a run is, and how long it will still take.

    Parameters
    ----------
    clock
        Tells the time in seconds.

    >>> now = 0.0
    >>> outlook = Outlook(clock=lambda: now)
    >>> outlook.expect([("weighing", 3e8, 1.0), ("deciding", 1e8, 1.0)])
    >>> outlook.note("weighing")
    >>> now = 30.0
    >>> outlook.advance(1e8)
    >>> tell_time(outlook.left()), outlook.step
    ('about 85 seconds', (1, 2))
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._steps: list[tuple[str, float, float]] = []
        self._place = -1  # of the present step
        self._begun = self._heard = clock()  # when it began, and when something was last heard of it
        self._done = 0.0  # answers that it has gone over
        self._measured = 0.0, 0.0  # seconds and work of the steps behind, as far as they count
        self._count = _Count()
        self._end: float | None = None  # that was promised

    @property
    def step(self) -> tuple[int, int] | None:
        """Which step it is, and of how many; nothing where nobody has said so."""
        return (self._place + 1, len(self._steps)) if self._place >= 0 else None

    @property
    def is_measured(self) -> bool:
        """Whether enough work was done here to say what the rest will take."""
        return self._measure()[0] >= _MIN_SECONDS

    def expect(self, steps: Steps, begun: int = 0) -> None:
        """Take note of the steps of a run, of which so many have begun."""
        self._place = min(self._place, begun - 1)  # first, for another thread may look meanwhile
        self._steps = list(steps)
        self._move(begun - 1)

    def note(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Take note of a stage; it is the next step of this name, or else something within the present one."""
        ahead = range(max(self._place, 0), len(self._steps))
        place = next((place for place in ahead if self._steps[place][0] == stage), None)
        if place is None:
            self._count.note(self._clock(), done, total)
            return
        self._move(place)
        if total:
            self._done = max(self._done, self._steps[place][1] * min(done / total, 1.0))
        self._heard = self._clock()

    def advance(self, answers: float) -> None:
        """Take note of answers that this step has gone over."""
        self._done += answers
        self._heard = self._clock()

    def left(self) -> float | None:
        """Return how many seconds are left, about, or nothing where it is not known.

        What was said before stands as long as it is not too wrong.
        """
        now = self._clock()
        left = self._estimate(now)
        if left is None:
            return None
        if self._end is None or abs(self._end - now - left) > _SLACK * left + _SLACK_SECONDS:
            self._end = now + left
        return max(self._end - now, _LEAST_LEFT)

    def _move(self, place: int) -> None:
        """Begin another step, unless it is the same."""
        if place != self._place:
            now = self._clock()
            self._measured = self._measure(now)
            self._place, self._begun, self._heard, self._done, self._count = place, now, now, 0.0, _Count()

    def _estimate(self, now: float) -> float | None:
        counted = self._count.left(now)
        if self._place < 0:
            return counted
        rate = self._rate()
        stage, answers, each = self._steps[self._place]
        pace = _pace(stage, rate)
        done = min(self._done * each + (now - self._heard) / pace, _NEARLY * answers * each)
        here = pace * (answers * each - done)
        if done >= _NEARLY * answers * each:
            here = max(here, _OVERDUE * (now - self._begun))
            rate = self._rate(now) if stage in _COUNTS else rate
        ahead = sum(_pace(stage, rate) * answers * each for stage, answers, each in self._steps[self._place + 1 :])
        return here + ahead + (counted or 0.0)

    def _rate(self, over: float | None = None) -> float:
        """Return how many seconds work takes."""
        seconds, work = self._measure(over)
        return (seconds + _USUAL_WORK * _USUAL_SECONDS) / (work + _USUAL_WORK)

    def _measure(self, over: float | None = None) -> tuple[float, float]:
        """Return seconds and work so far, as far as they count; if the present step is over, all of it."""
        seconds, work = self._measured
        if self._place < 0:
            return seconds, work
        stage, answers, each = self._steps[self._place]
        counts = _COUNTS.get(stage, 1.0)
        done = answers if over is not None and stage in _COUNTS else self._done
        if not counts * done:
            return seconds, work
        took = (self._heard if over is None else over) - self._begun
        return _FADING * seconds + counts * took, _FADING * work + counts * done * each


def _pace(stage: str, rate: float) -> float:
    """Return how many seconds the work of a stage takes; many threads do not help to read and to write."""
    return max(rate, _USUAL_SECONDS) if stage in _COUNTS else rate


def tell_time(seconds: float | None) -> str:
    """Say about how long something takes, and nothing if nobody knows.

    >>> tell_time(0.3), tell_time(7), tell_time(42), tell_time(90), tell_time(5000), tell_time(9000)
    ('about 1 second', 'about 7 seconds', 'about 40 seconds', 'about 90 seconds', 'about 83 minutes', 'about 2 hours')
    """
    if seconds is None:
        return ""
    if seconds < 1.5:
        return "about 1 second"
    if seconds < 10:
        return f"about {seconds:.0f} seconds"
    if seconds < 117.5:
        return f"about {5 * round(seconds / 5)} seconds"
    return f"about {seconds / 60:.0f} minutes" if seconds < 7200 else f"about {seconds / 3600:,.0f} hours"
