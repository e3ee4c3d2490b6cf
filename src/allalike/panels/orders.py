"""Orders: judges who saw each pair in both orders, how much they follow the position, and what their verdicts name.

**What verdicts name.** The label A may be an answer, whatever its place, or the place in which one was shown. Let x and
y be 1 where a judge says A in the first and in the second order. If both follow what is in the answers, x and y go
together if labels name answers, and against each other if they name places. A position that she likes moves x and y
whatever the task, and so has no part in how they vary together over tasks, however strong it is. With the scores

    c_t = sum over judges of (x - mean of x) (y - mean of y),

of each task t, the sum of all is compared with its standard deviation, the root of the sum of c_t^2: judges may agree
as they like, for tasks are what is independent. Above 3 labels name answers, below -3 places; between, nobody knows.

**Position bias** is the probability that a judge prefers what is shown first, less 1/2, over both orders of the same
pairs. With d_t the share of first places among her verdicts on t, less 1/2, it is the mean of d_t: if n pairs have a
verdict in each order, f of them for the first place twice and s for the second twice, (f - s) / 2n. Its limits are
those of Bonett and Price (Adjusted Wald confidence interval for a difference of binomial proportions based on paired
data. Journal of Educational and Behavioral Statistics 2012), which add one pair of either kind, with 1/m of its square
where m samples are in each order; its probability is that of an exact sign test of f against s. A judge follows the
position if this is below 0.05 for all judges together (Holm).

A judge who saw each pair in one order only, be it the first or the second by chance, has a bias, too: half of how much
more often she says A in the first order than in the second, which does not depend on how good A is. Its limits are
those of Agresti and Caffo (Simple and effective confidence intervals for proportions and differences of proportions.
The American Statistician 2000), and its probability is that of Fisher's exact test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.columns.values import text_column
from allalike.errors import InputError, OptionError, Proposal
from allalike.methods.auto.sureness.intervals import NORMAL_QUANTILE, adjust_probabilities, find_wilson_limits
from allalike.panels.asking import ANSWERS, PLACES
from allalike.panels.finding import divide
from allalike.panels.verdicts import NOBODY

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.panels.ballots import JudgeBallots
    from allalike.panels.finding import Columns

_SURE = 3.0  # standard deviations
_SIGNIFICANT = 0.05
_MAX_NAMED = 20
_PLACES = ({"first", "second"}, {"left", "right"}, {"top", "bottom"}, {"1st", "2nd"})  # which are no answers


@dataclass(frozen=True)
class BothOrders:
    """What each judge makes of the order, one number for each."""

    judges: Values
    heard: npt.NDArray[np.intp]
    about: str
    first_order: str
    pairs: Floats
    same: Floats
    single: Floats
    first: Floats
    second: Floats
    bias: Floats
    low: Floats
    high: Floats
    probability: Floats

    @property
    def follows(self) -> npt.NDArray[np.bool_]:
        """Who follows the position, by the tests of all judges together."""
        follows: npt.NDArray[np.bool_] = adjust_probabilities(np.nan_to_num(self.probability, nan=1.0)) < _SIGNIFICANT
        return follows

    def describe(self) -> dict[str, Any]:
        """Name those who follow the position, the strongest first."""
        rows = sorted(np.flatnonzero(self.follows).tolist(), key=lambda judge: -abs(self.bias[judge]))
        numbers = {"bias": self.bias, "low": self.low, "high": self.high}
        named = [
            {"judge": self.judges[judge], **{name: float(each[judge]) for name, each in numbers.items()}}
            for judge in rows[:_MAX_NAMED]
        ]
        told = {
            "about": self.about,
            "first_order": self.first_order,
            "pairs": int(self.pairs.sum()),
            "same": int(self.same.sum()),
            "one_order": int(self.single.sum()),
            "known": bool(np.isfinite(self.bias).any()),
            "follow": len(rows),
            "named": named,
        }
        return {"orders": told}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each judge."""
        low, high = find_wilson_limits(np.nan_to_num(divide(self.same, self.pairs)), np.maximum(self.pairs, 1e-9))
        columns: dict[str, Values | Array] = {
            "judge": text_column(list(map(str, self.judges.tolist()))),
            "pairs": self.pairs.astype(np.int64),
            "one_order": self.single.astype(np.int64),
            "same": divide(self.same, self.pairs),
            "same_low": np.where(self.pairs > 0, low, np.nan),
            "same_high": np.where(self.pairs > 0, high, np.nan),
            "first_twice": self.first.astype(np.int64),
            "second_twice": self.second.astype(np.int64),
            "position_bias": self.bias,
            "low": self.low,
            "high": self.high,
            "probability": self.probability,
        }
        return {"orders": columns}

    def judge_columns(self) -> Columns:
        """Return how often each judge says the same in both orders, and how much she follows the position."""
        same = divide(self.same, self.pairs)
        return {"same_in_both_orders": same[self.heard], "position_bias": self.bias[self.heard]}


def find_sides(ballots: JudgeBallots) -> tuple[int, int] | None:
    """Return the codes of the two labels that are no tie, if there are two."""
    sides = [code for code in np.unique(ballots.label).tolist() if code != ballots.tie]
    return (sides[0], sides[1]) if len(sides) == 2 else None


def weigh_readings(ballots: JudgeBallots) -> float:
    """Return by how many standard deviations labels rather name answers; they rather name places if it is negative.

    >>> import allalike
    >>> from allalike.panels.ballots import JudgeBallots
    >>> rows = [((judge, order), task, "AB"[(task + order) % 2]) for judge in "abc" for order in (0, 1)
    ...         for task in range(20)]
    >>> said = allalike.read(rows)
    >>> judge, order = np.array([["abc".index(j), o] for j, o in said.workers.tolist()])[said.worker].T
    >>> weigh_readings(JudgeBallots(said, said.workers, judge, order, said.label)) < -3
    True
    """
    sides = find_sides(ballots)
    if sides is None:
        return 0.0
    n_judges, n_tasks = len(ballots.judges), ballots.answers.n_tasks
    first, sided = (ballots.label == sides[0]).astype(np.float64), _sided(ballots)
    says = [_mean_by_task(ballots, first, (ballots.order == order) & sided) for order in (0, 1)]
    known = ~np.isnan(says[0] + says[1])
    both = np.maximum(sum_by(np.flatnonzero(known) % n_judges, np.ones(int(known.sum())), n_judges), 1.0)
    centred = []
    for each in says:
        filled = np.where(known, each, 0.0).reshape(n_tasks, n_judges)
        centred.append(np.where(known.reshape(n_tasks, n_judges), filled - filled.sum(axis=0) / both, 0.0))
    scores = (centred[0] * centred[1]).sum(axis=1)
    spread = float(np.sqrt(np.square(scores).sum()))
    return float(scores.sum()) / spread if spread > 0 else 0.0


def _sided(ballots: JudgeBallots) -> npt.NDArray[np.bool_]:
    sided: npt.NDArray[np.bool_] = ballots.label != ballots.tie
    return sided


def _mean_by_task(ballots: JudgeBallots, value: Floats, rows: npt.NDArray[np.bool_]) -> Floats:
    """Return the mean of some ballots for each task and judge, NaN where there is none."""
    place = (ballots.task * len(ballots.judges) + ballots.judge)[rows]
    size = ballots.answers.n_tasks * len(ballots.judges)
    return divide(sum_by(place, value[rows], size), sum_by(place, np.ones(len(place)), size))


def name_answers(ballots: JudgeBallots, about: str | None) -> tuple[JudgeBallots, str]:
    """Return ballots whose labels name the same answer in both orders, and what they named before.

    Who says nothing about it is asked, unless the labels tell.
    """
    sides = find_sides(ballots)
    if about is None:
        about = _guess_about(ballots, sides)
    if about == ANSWERS:
        return ballots, about
    if sides is None:
        raise OptionError("about is 'places', but there are not two labels for the two places, beside a tie.")
    swap = np.arange(int(ballots.label.max()) + 1)
    swap[list(sides)] = sides[::-1]
    return replace(ballots, label=np.where(ballots.order == 1, swap[ballots.label], ballots.label)), about


def _guess_about(ballots: JudgeBallots, sides: tuple[int, int] | None) -> str:
    if sides is None:
        return ANSWERS
    weight = weigh_readings(ballots)
    if abs(weight) > _SURE:
        return ANSWERS if weight > 0 else PLACES
    names = [str(ballots.labels[code]) for code in sides]
    if {name.casefold() for name in names} in _PLACES:
        return PLACES
    first = ANSWERS if weight >= 0 else PLACES
    raise InputError(
        f"Pairs were shown in two orders, and {names[0]!r} may be an answer, whatever its place, or the place in which"
        " an answer was shown: the verdicts do not tell.",
        proposals=[Proposal({"about": each}) for each in (first, PLACES if first == ANSWERS else ANSWERS)],
    )


def find_orders(ballots: JudgeBallots, about: str, first_order: str = "", heard: Values | None = None) -> BothOrders:
    """Find what each judge makes of the order, from ballots whose labels name the same answer in both orders.

    The answer that the first label names was shown first in the first order.
    """
    n_judges, n_tasks = len(ballots.judges), ballots.answers.n_tasks
    own = ballots.find(ballots.judges if heard is None else heard)
    voice = np.full((2, n_tasks, n_judges), NOBODY)
    for order in (0, 1):
        found = ballots.only(ballots.order == order).reconcile()
        voice[order, found.task, found.judge] = found.label
    both = (voice != NOBODY).all(axis=0)
    known: dict[str, Floats] = {
        "single": (voice != NOBODY).any(axis=0).sum(axis=0) - both.sum(axis=0).astype(np.float64),
        "pairs": both.sum(axis=0).astype(np.float64),
        "same": (both & (voice[0] == voice[1])).sum(axis=0).astype(np.float64),
    }
    sides = find_sides(ballots)
    if sides is None:
        known |= dict.fromkeys(("first", "second"), np.zeros(n_judges))
        known |= dict.fromkeys(("bias", "low", "high", "probability"), np.full(n_judges, np.nan))
        return BothOrders(ballots.judges, own, about, first_order, **known)
    twice = {
        name: ((voice[0] == one) & (voice[1] == other)).sum(axis=0).astype(np.float64)
        for name, one, other in (("first", *sides), ("second", *sides[::-1]))
    }
    known |= {**twice, **_find_bias(ballots, sides), **_test_signs(**twice)}
    if (never := known["pairs"] == 0).any():
        alone = _compare_orders(ballots, sides)
        known |= {name: np.where(never, each, known[name]) for name, each in alone.items()}
    return BothOrders(ballots.judges, own, about, first_order, **known)


def _find_bias(ballots: JudgeBallots, sides: tuple[int, int]) -> dict[str, Floats]:
    """Return the mean of d_t, and limits with one pair more for the first place, and one for the second."""
    shown_first = np.where(ballots.order == 0, sides[0], sides[1])
    says = np.where(_sided(ballots), ballots.label == shown_first, 0.5).astype(np.float64)
    mean = [_mean_by_task(ballots, says, ballots.order == order) for order in (0, 1)]
    d = ((mean[0] + mean[1]) / 2 - 0.5).reshape(-1, len(ballots.judges))
    n = (~np.isnan(d)).sum(axis=0).astype(np.float64)
    counts = sum_by(ballots.judge, np.ones(len(ballots.judge)), len(ballots.judges))
    total, squares = np.nansum(d, axis=0), np.nansum(np.square(d), axis=0)
    middle = total / (n + 2)
    more = 0.5 / divide(counts, 2 * n)  # m samples
    half = NORMAL_QUANTILE * np.sqrt(((squares + more) / (n + 2) - np.square(middle)) / (n + 2))
    unknown = np.where(n > 0, 0.0, np.nan)
    low, high = (np.clip(each, -0.5, 0.5) + unknown for each in (middle - half, middle + half))
    return {"bias": divide(total, n), "low": low, "high": high}


def _compare_orders(ballots: JudgeBallots, sides: tuple[int, int]) -> dict[str, Floats]:
    """Return half of how much more often each judge says the first label in the first order, as if by other pairs."""
    from scipy.stats import fisher_exact

    says = np.where(_sided(ballots), ballots.label == sides[0], 0.5).astype(np.float64)
    mean = [_mean_by_task(ballots, says, ballots.order == order).reshape(-1, len(ballots.judges)) for order in (0, 1)]
    n = np.array([(~np.isnan(each)).sum(axis=0) for each in mean], np.float64)
    hits = np.array([np.nansum(each, axis=0) for each in mean])
    share = (hits + 1) / (n + 2)
    half = NORMAL_QUANTILE * np.sqrt((share * (1 - share) / (n + 2)).sum(axis=0))
    middle, unknown = share[0] - share[1], np.where((n > 0).all(axis=0), 0.0, np.nan)
    low, high = (np.clip(each / 2, -0.5, 0.5) + unknown for each in (middle - half, middle + half))
    tables = np.stack([hits, n - hits]).round().transpose(2, 0, 1)
    probability = np.array([fisher_exact(table).pvalue for table in tables]) + unknown
    bias = (divide(hits[0], n[0]) - divide(hits[1], n[1])) / 2
    return {"bias": bias, "low": low, "high": high, "probability": probability}


def _test_signs(first: Floats, second: Floats) -> dict[str, Floats]:
    from scipy.stats import binom

    tail = binom.cdf(np.minimum(first, second), first + second, 0.5)
    return {"probability": np.where(first + second > 0, np.minimum(2 * tail, 1.0), np.nan)}
