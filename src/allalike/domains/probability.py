"""Probabilities: forecasts of events, and soft labels that express a worker's confidence in each class.

A label is a distribution p over the options of its task. The distance is the sum of squared differences,

    d(p, q) = sum_o (p_o - q_o)^2,

which for an outcome (1 for the observed option, 0 for all others) is the Brier score (1950), between 0 and 2. There is
no factor 1/2: a single number p means the distribution (1 - p, p), so the distance between p and q is 2 (p - q)^2, as
for lists. Sums over peers take linear time in the number of answers, as for vectors.

Soft labels work for forecasts, and for annotators who report their confidence. They fail if all forecasters are
overconfident or underconfident in the same way: only outcomes can reveal that, not answers (``sharpen``).

Tasks may have different options and different numbers of options, but all answers to a task must have the same options.
A code is a row: the index of the task's option set, the probabilities, and zeros up to the width of the largest set.
Between different tasks, for example for chance agreement, options are matched by position.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values, arrow_of
from allalike._core.options import number
from allalike.distances import euclidean
from allalike.distances.euclidean import CentredVectors
from allalike.domains.contract import Domain, Encoding, Kernels, check_forms
from allalike.domains.rankings.text import sort_items
from allalike.domains.spelling import list_some, read_json, read_name, write_json
from allalike.errors import GoldError, InputError, LabelError
from allalike.noise import Gaussian
from allalike.rules import Decision
from allalike.rules.base import Rule
from allalike.rules.mean import mean
from allalike.rules.pooling import log_odds, option_median, sharpened

# Written forms of forecasts: a probability, a list of probabilities, or a mapping from options to probabilities.


_WANTED = "a forecast is a probability, a list of probabilities, or a mapping from options to probabilities"
_YES_OR_NO = ("no", "yes")
_SUM_TOLERANCE = 0.011  # three numbers with two digits may add up to 0.99
_ROUNDING_ERROR = 1e-9  # sums within this distance of 1 need no scaling


class Forecast(NamedTuple):
    """A label: its written form, its sorted options, and their probabilities."""

    form: str
    options: tuple[Any, ...]
    chances: tuple[float, ...]


def read_forecast(value: Any) -> Forecast:
    """Parse a forecast; raise ValueError with the reason if it is invalid.

    >>> read_forecast(0.25)
    Forecast(form='number', options=('no', 'yes'), chances=(0.75, 0.25))
    >>> read_forecast('{"sun": 0.7, "rain": 0.3}')
    Forecast(form='mapping', options=('rain', 'sun'), chances=(0.3, 0.7))
    >>> read_forecast(70)
    Traceback (most recent call last):
    ValueError: 70 is not a probability between 0 and 1; divide percentages by 100
    """
    if isinstance(value, str):
        value = _read_text(value.strip())
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        # in a column of records, every value has the options of all tasks; those of other tasks are empty
        named = {read_name(option, "its option"): chance for option, chance in value.items() if chance is not None}
        return Forecast("mapping", tuple(sort_items(named)), _spread(named))
    if isinstance(value, list | tuple):
        return Forecast("list", tuple(range(len(value))), _spread(dict(enumerate(value))))
    yes = _chance(value)
    return Forecast("number", _YES_OR_NO, (1 - yes, yes))


def _read_text(text: str) -> Any:
    """Parse a number or JSON."""
    if text[:1] in ("[", "{"):
        return read_json(text, list if text[0] == "[" else dict, object_pairs_hook=_without_repeats)
    if text.endswith("%"):
        raise ValueError("a probability is between 0 and 1; divide percentages by 100")
    try:
        return float(text)
    except ValueError:
        raise ValueError(_WANTED) from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("it contains an option twice; keep one of them")
    return dict(pairs)


def _spread(given: dict[Any, Any]) -> tuple[float, ...]:
    """Return the probabilities in the order of their options, scaled to a sum of 1."""
    if not given:
        raise ValueError("it has no options")
    chances = [_chance(given[option]) for option in sort_items(given)]
    total = math.fsum(chances)
    if abs(total - 1) > _SUM_TOLERANCE:
        raise ValueError(f"its probabilities sum to {total:.6g} instead of 1; write 0 for impossible options")
    return tuple(chances) if abs(total - 1) <= _ROUNDING_ERROR else tuple(chance / total for chance in chances)


def _chance(value: Any) -> float:
    """Check a single probability."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        raise ValueError("a Boolean is not a probability; write 1 for yes and 0 for no")
    if not isinstance(value, int | float):
        raise ValueError(_WANTED)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a probability; to mark an answer as missing, remove its row")
    if not -_ROUNDING_ERROR <= value <= 1 + _ROUNDING_ERROR:
        hint = "; divide percentages by 100" if 1 < value <= 100 else ""
        raise ValueError(f"{value} is not a probability between 0 and 1{hint}")
    return min(max(float(value), 0.0), 1.0)


_MAX_SHOWN = 5  # options in a message
_LEAST_POWER = 0.01  # 0 would make all options equally probable


@dataclass(frozen=True, kw_only=True)
class Probability(Domain):
    """Probabilities, compared by the sum of squared differences: the Brier score if one of them is an outcome.

    A label is the probability of yes, a list of probabilities, or a mapping from options to probabilities (object or
    JSON). All labels must have the same form, which estimated labels also have. Probabilities are scaled to a sum of 1
    if their sum differs from 1 by at most 0.011. Different tasks may have different options, but all answers to a task
    must have the same options.

    Parameters
    ----------
    rule
        Aggregation rule: ``log odds`` (the mean of log odds), ``mean`` or ``median``, all weighted.
    sharpen
        Factor that multiplies the log odds of the estimate; a factor above 1 moves forecasts towards 0 and 1. It can
        only be tuned with gold labels.

    >>> import allalike
    >>> rows = [("ada", 1, 0.5), ("bob", 1, 0.9), ("eve", 1, 0.5)]
    >>> allalike.discover(rows, domain=Probability(rule="median"), method="UA").truth["label"].tolist()
    [0.5]
    >>> rows = [("ada", 1, {"sun": 0.5, "rain": 0.5}), ("bob", 1, {"sun": 1, "rain": 0})]
    >>> allalike.discover(rows, domain=Probability(rule="mean"), method="UA").truth["label"].tolist()
    [{'rain': 0.25, 'sun': 0.75}]
    """

    name: ClassVar[str] = "probability"
    summary: ClassVar[str] = "probabilities: of yes, or of each option; squared distance (Brier)"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("log odds", log_odds),
        Rule("mean", mean),
        Rule("median", option_median),
    )
    distances: ClassVar[tuple[str, ...]] = ("squared",)
    noise: ClassVar[Gaussian] = Gaussian()
    recurring: ClassVar[bool] = False
    sharpen: float = number(1.0, least=_LEAST_POWER)

    def learn(self, labels: Column) -> ProbabilityEncoding:
        codes, parsed = labels.parsed(read_forecast)
        form = parsed[codes[0]].form
        return ProbabilityEncoding(domain=self, form=form, sets=_in_order({forecast.options for forecast in parsed}))

    def describe(self) -> dict[str, Any]:
        about = super().describe()
        return about if self.sharpen == 1 else {**about, "sharpen": self.sharpen}


@dataclass(frozen=True)
class Facts:
    """Per task: the index of its option set, and whether all its answers are equal."""

    options: Floats
    unanimous: npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class ProbabilityKernels(Kernels):
    """Sums of squared distances in linear time."""

    domain: Probability

    def distance_between(self, left: Array, right: Array) -> Floats:
        return euclidean.square_lengths(left - right)

    def guess_distances(self, left: Array, right: Array) -> Floats:
        return euclidean.square_lengths(left[:, 1:] - right[:, 1:])

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        return euclidean.peer_distances(block, weights, block[CentredVectors].vectors)

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        found, power = super().decide(block, weights, faults, ties), self.domain.sharpen
        label = np.where(block[Facts].unanimous[:, None], block.label[block.starts], found.label)
        return replace(found, label=label if power == 1 else sharpened(label, power))

    def restore(self, block: Block, label: Array) -> Array:
        return np.column_stack([block[Facts].options, label])

    def restore_answers(self, block: Block, rows: Array) -> Array:
        return np.column_stack([block.to_answers(block[Facts].options)[rows], block.label[rows]])

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        return np.asarray((np.abs(left - right) > TOLERANCE).any(axis=1))


@dataclass(frozen=True, kw_only=True)
class ProbabilityEncoding(Encoding):
    """The written form of all labels and the sorted option sets."""

    kernels_type: ClassVar[type[Kernels]] = ProbabilityKernels
    domain: Probability
    form: str
    sets: tuple[tuple[Any, ...], ...]

    @property
    def width(self) -> int:
        """The number of options in the largest set."""
        return max(map(len, self.sets))

    @property
    def vocabulary(self) -> list[Any]:
        return [self.form, *self.sets]

    def merge(self, others: Sequence[Self]) -> Self:
        odd = next((other.form for other in others if other.form != self.form), None)
        if odd is not None:
            raise LabelError(f"Some labels have the form of a {self.form}, others that of a {odd}. Use one form.")
        return replace(self, sets=_in_order({each for part in (self, *others) for each in part.sets}))

    def encode(self, labels: Column) -> Floats:
        codes, parsed = labels.parsed(read_forecast)
        check_forms(
            labels, codes, [f"the form of a {forecast.form}" for forecast in parsed], f"the form of a {self.form}"
        )
        place = {options: number for number, options in enumerate(self.sets)}
        table = np.zeros((len(parsed), 1 + self.width))
        table[:, 0] = [place.get(forecast.options, -1) for forecast in parsed]
        chances = [forecast.chances if forecast.options in place else () for forecast in parsed]
        lengths = np.fromiter(map(len, chances), np.int64, len(chances))
        filled = np.arange(self.width) < lengths[:, None]
        table[:, 1:][filled] = np.fromiter(chain.from_iterable(chances), np.float64, int(lengths.sum()))
        return table[codes]

    def is_unanswered(self, truths: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(truths[:, 0] < 0)

    def remap(self, codes: Array, known: Self) -> Array:
        place = {options: number for number, options in enumerate(self.sets)}
        table = np.zeros((len(codes), 1 + self.width))
        table[:, 0] = np.array([*(place.get(options, -1) for options in known.sets), -1])[codes[:, 0].astype(np.int64)]
        table[:, 1 : codes.shape[1]] = codes[:, 1:]
        return table

    def decode(self, codes: Array) -> Values:
        if self.form == "number":
            return Values(arrow_of(codes[:, 2].copy()))
        sets = [self.sets[number] for number in codes[:, 0].astype(np.int64)]
        shown: list[Any] = [row[: len(options)] for options, row in zip(sets, codes[:, 1:].tolist(), strict=True)]
        if self.form == "mapping":
            shown = [dict(zip(options, row, strict=True)) for options, row in zip(sets, shown, strict=True)]
        return Values(shown, text=write_json)

    def prepare(self, block: Block) -> Block:
        sets, truths = block.label[block.starts, 0], block.gold_label
        self._compare_options("Two answers to a task", block.label[:, 0], block.to_answers(sets), LabelError)
        gold = truths[:, 1:] if len(block.gold_task) else np.empty((0, self.width))
        if len(block.gold_task):
            self._compare_options("A gold label and an answer", truths[:, 0], sets[block.gold_task], GoldError)
        block = replace(block, label=block.label[:, 1:], gold_label=gold)
        offsets = CentredVectors.of(block, block.label)
        unanimous = ~np.logical_or.reduceat(offsets.vectors.any(axis=1), block.starts)
        return block.keeping(Facts(sets, unanimous), offsets)

    def _compare_options(self, what: str, left: Floats, right: Floats, error: type[InputError]) -> None:
        """Raise an error if two sets of options differ."""
        odd = np.flatnonzero(left != right)
        if len(odd):
            sets = [int(side[odd[0]]) for side in (right, left)]
            one, other = (list_some(self.sets[number], _MAX_SHOWN) if number >= 0 else "others" for number in sets)
            raise error(f"{what} have different options: {one} and {other}. Give impossible options probability 0.")

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "form": self.form, "options": self.width}


def _in_order(sets: set[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    """Sort option sets; integers come before names."""
    return tuple(sorted(sets, key=lambda options: [(isinstance(option, str), option) for option in options]))
