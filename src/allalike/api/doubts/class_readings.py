"""Readings of known classes: whether they are written as the answers are, and what else they may mean.

Known truths are compared with the plain vote of their tasks. A crowd may be wrong more often than right, but there are
limits: in 68 public crowds of classes the vote met at least 35 % of the truths of two classes, and 44 % of more. And a
crowd that errs does not take exactly one label for each other. So for each reading it is asked how much more probable
the votes are if the truths mean that, than if they mean what they say (in nats). A reading is punished for the number
of others of its kind, for one of many always fits by chance. All of these crowds were seen when the
constants were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.domains.spelling import match_key
from allalike.readers.gold_maps import write_gold_map

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    Codes = npt.NDArray[np.int64]

__all__ = ["KnownClasses", "Reading", "is_contradicted", "list_class_readings"]

_LEAST_RIGHT = {True: 0.3, False: 0.35}  # of the votes of any crowd, for two classes and for more
_SAME_ERROR = 0.5  # of the errors on one class that go to the same other one, at most
_MOST_RIGHT = 0.97
_UNHEARD = 0.02  # how probably a truth is one of few classes, and no answer of all is
_FEW_LABELS = 20
_MAX_MAPPED = 60  # labels for which a map is looked for
_MIN_NATS = 4.0
_MIN_FIT = 0.6  # of the tasks must agree under a reading
_CERTAIN = 1e-3


@dataclass(frozen=True)
class Reading:
    """What known truths may mean: in words, as a gold map, and how many tasks agree then."""

    what: str
    gold_map: str
    agree: int


@dataclass(frozen=True)
class KnownClasses:
    """Known truths of tasks whose vote is no draw.

    Parameters
    ----------
    values
        The different labels of the gold, as they came.
    given
        Their numbers among the labels of the answers; those that no answer has come after the last.
    labels
        The labels of the answers.
    truth, vote
        For each task, the place of its truth among the values, and the number of its vote among the labels.
    """

    values: Sequence[Any]
    given: Codes
    labels: Sequence[Any]
    truth: Codes
    vote: Codes

    @property
    def unheard(self) -> npt.NDArray[np.bool_]:
        """Which values no answer has."""
        return self.given >= len(self.labels)

    def agree(self, meant: Codes) -> int:
        """Count the tasks whose vote is what the truth means."""
        return int((meant[self.truth] == self.vote).sum())


def list_class_readings(known: KnownClasses) -> list[Reading]:
    """List other readings that the votes clearly speak for, the most probable first.

    >>> votes, truths = np.array([0, 1, 2, 2, 1, 0]), np.array([0, 1, 2, 2, 1, 0])
    >>> known = KnownClasses([0, 1, 2], np.array([3, 0, 1]), [1, 2, 3], truths, votes)
    >>> list_class_readings(known)
    [Reading(what='1 is added to each label', gold_map='0=1,1=2,2=3', agree=6)]
    """
    rated = [(_weigh(known, meant, ways), what, gold_map, meant) for what, gold_map, meant, ways in _propose(known)]
    rated.sort(key=lambda each: -each[0])
    best: dict[bytes, Reading] = {}
    for nats, what, gold_map, meant in rated:
        agree = known.agree(meant)
        if nats >= _MIN_NATS and agree >= _MIN_FIT * len(known.vote):
            best.setdefault(meant[known.truth].tobytes(), Reading(what, gold_map, agree))
    return list(best.values())


def is_contradicted(known: KnownClasses) -> bool:
    """Tell whether fewer votes meet the truths than those of any crowd would, or than would if they were drawn anew.

    >>> given, many = np.array([0, 1]), np.arange(30) % 2
    >>> [is_contradicted(KnownClasses("xy", given, "xy", many, vote)) for vote in (1 - many, many[::-1], many)]
    [True, True, False]
    """
    from scipy.special import bdtr

    said = np.bincount(known.given[known.truth], minlength=len(known.labels) + 1)[: len(known.labels)]
    drawn = float(said @ np.bincount(known.vote, minlength=len(known.labels))) / len(known.vote) ** 2
    least = min(_LEAST_RIGHT[len(known.labels) <= 2], drawn)
    return bool(bdtr(known.agree(known.given), len(known.vote), least) < _CERTAIN)


def _weigh(known: KnownClasses, meant: Codes, ways: float) -> float:
    """Return how much more probable a reading makes the votes, in nats, less the price of so many ways to read."""
    changed, lost = (meant != known.given)[known.truth], (meant >= len(known.labels)) & ~known.unheard
    if not changed.any() or lost.any():
        return 0.0
    truth, vote = known.truth[changed], known.vote[changed]
    n_labels, unheard = max(len(known.labels), 2), known.unheard[truth]
    fits, stays = vote == meant[truth], vote == known.given[truth]
    right = max(_LEAST_RIGHT[n_labels == 2], float(stays.mean()))
    meets = float(np.clip(fits.mean(), 0.5, _MOST_RIGHT))
    wrong = np.where(unheard, 1.0, 1 - right)  # how probably a vote is wrong, if truths are what they say
    same = np.where(unheard | (n_labels > 2), _SAME_ERROR, 1.0)
    spread = (1 - same) / max(n_labels - 2, 1)
    as_given = np.where(stays, right, wrong * np.where(fits, same, np.maximum(spread, 1e-9)))
    as_meant = np.where(fits, meets, (1 - meets) / (n_labels - 1))
    few = len(known.labels) <= _FEW_LABELS
    unlikely = -log(_UNHEARD) * min(int((known.unheard & (meant < len(known.labels))).sum()), 2) if few else 0.0
    return float(np.log(as_meant / as_given).sum()) + unlikely - ways


def _propose(known: KnownClasses) -> Iterator[tuple[str, str, Codes, float]]:
    """Yield readings in words, as gold maps, as numbers of labels, and the logarithm of how many there are like it."""
    yield from _other_spellings(known)
    yield from _sums(known)
    yield from _maps(known)


def _other_spellings(known: KnownClasses) -> Iterator[tuple[str, str, Codes, float]]:
    """Read labels that no answer has in another case, and with other marks."""
    folded: dict[str, list[int]] = {}
    for number, label in enumerate(known.labels):
        folded.setdefault(_fold(label), []).append(number)
    meant = known.given.copy()
    for place in np.flatnonzero(known.unheard):
        alike = folded.get(_fold(known.values[place]), [])
        if len(alike) == 1:
            meant[place] = alike[0]
    if (meant != known.given).any():
        yield "case and marks are those of the answers", _write(known, meant), meant, 0.0


def _sums(known: KnownClasses) -> Iterator[tuple[str, str, Codes, float]]:
    """Read whole numbers as others: counted from another one, or in the reverse order."""
    labels, values = _whole_numbers(known.labels), _whole_numbers(known.values)
    if not labels or not values:
        return
    place = {number: code for code, number in enumerate(labels)}
    low, high = min(labels), max(labels)
    for step in dict.fromkeys((1, -1, low - min(values), high - max(values))):
        if step:
            what = f"{abs(step)} is {'added to' if step > 0 else 'taken from'} each label"
            meant = _places([value + step for value in values], place)
            yield what, _write(known, meant), meant, log(4)
    total = low + high
    turned = _places([total - value for value in values], place)
    yield f"each label is taken from {total}", _write(known, turned), turned, log(4)


def _maps(known: KnownClasses) -> Iterator[tuple[str, str, Codes, float]]:
    """Give each label of the gold the label of the answers with which most tasks agree."""
    from scipy.optimize import linear_sum_assignment

    n_labels, n_values = len(known.labels), len(known.values)
    if max(n_labels, n_values) > _MAX_MAPPED:
        return
    counts = np.zeros((n_values, max(n_labels, n_values)))
    np.add.at(counts, (known.truth, known.vote), 1.0)
    own = np.flatnonzero(~known.unheard)
    counts[own, known.given[own]] += 0.5  # in doubt, a label is itself
    rows, columns = linear_sum_assignment(-counts)
    meant = known.given.copy()
    meant[rows] = np.where(columns < n_labels, columns, n_labels)
    moved = int((meant != known.given).sum())
    if moved:
        ways = lgamma(n_labels + 1) - lgamma(max(n_labels - moved, 0) + 1)
        yield _say_map(known, meant), _write(known, meant), meant, ways


def _say_map(known: KnownClasses, meant: Codes) -> str:
    pairs = [f"{v} is {known.labels[m]}" for v, m, _ in _changes(known, meant)]
    return ", ".join(pairs[:4]) + (", ..." if len(pairs) > 4 else "")


def _changes(known: KnownClasses, meant: Codes) -> list[tuple[Any, int, int]]:
    """List the values that mean another label, with the numbers of it and of what they say."""
    triples = zip(known.values, meant.tolist(), known.given.tolist(), strict=True)
    return [(value, new, old) for value, new, old in triples if new != old and new < len(known.labels)]


def _write(known: KnownClasses, meant: Codes) -> str:
    return write_gold_map({value: known.labels[new] for value, new, _ in _changes(known, meant)})


def _places(numbers: list[int], place: dict[int, int]) -> Codes:
    return np.array([place.get(number, len(place)) for number in numbers], np.int64)


def _whole_numbers(labels: Sequence[Any]) -> list[int]:
    """Return labels as whole numbers, or nothing if some are none."""
    texts = [str(match_key(label)) for label in labels]
    whole = all(text.lstrip("-").isdecimal() and text.isascii() for text in texts)
    return list(map(int, texts)) if whole else []


def _fold(value: Any) -> str:
    return "".join(mark for mark in str(value).casefold() if mark.isalnum())
