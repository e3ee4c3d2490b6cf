"""Gold is looked at before it counts: whether it is written in the words and units of the answers.

Known truths that are written otherwise, such as 0, 1, 2 where answers are 1, 2, 3, would be believed against everybody.
They are compared with the plain vote, mean or median of their tasks, which needs no weights and is the same on every
engine. Workers whose answers clearly meet the truths as they are speak for these, even if the others do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import lgamma, log
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.matches import find_places
from allalike._core.columns.values import Values, shorten
from allalike._core.words import count
from allalike.api.doubts.spellings import Doubt
from allalike.domains.spelling import match_key
from allalike.errors import GoldError
from allalike.readers.gold import SAME, write_gold_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block
    from allalike.answers.gold import Gold
    from allalike.domains import Encoding
    from allalike.engines import Run

    Codes = npt.NDArray[np.int64]


# Readings of known classes: whether they are written as the answers are, and what else they may mean.
#
# Known truths are compared with the plain vote of their tasks. A crowd may be wrong more often than right, but there
# are limits: in 68 public crowds of classes the vote met at least 35 % of the truths of two classes, and 44 % of
# more. And a crowd that errs does not take exactly one label for each other. So for each reading it is asked how much
# more probable the votes are if the truths mean that, than if they mean what they say (in nats). A reading is
# punished for the number of others of its kind, for one of many always fits by chance. All of these crowds were seen
# when the constants were chosen.


_LEAST_RIGHT = {True: 0.3, False: 0.35}  # of the votes of any crowd, for two classes and for more
_SAME_ERROR = 0.5  # of the errors on one class that go to the same other one, at most
_MOST_RIGHT = 0.97
_UNHEARD = 0.02  # how probably a truth is one of few classes, and no answer of all is
_FEW_LABELS = 20
_MAX_MAPPED = 60  # labels for which a map is looked for
_MIN_NATS = 4.0
_MIN_FIT = 0.6  # of the tasks must agree under a reading
_CLASS_READINGS_CERTAIN = 1e-3


@dataclass(frozen=True)
class Reading:
    """What known truths may mean: in words, as a gold map, and how many tasks agree then."""

    what: str
    gold_map: str
    agree: int


@dataclass(frozen=True)
class KnownClasses:
    """Known truths of tasks whose vote is no draw."""

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
    return bool(bdtr(known.agree(known.given), len(known.vote), least) < _CLASS_READINGS_CERTAIN)


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


_MAX_CLASSES = 20  # of which it is strange if the gold has none
_MIN_TASKS = 5  # with truths that nobody gave, where there are more
_MIN_BORNE_OUT = 0.2  # of the answers to tasks with gold, by workers who clearly meet it
_CERTAIN = 0.01
_MAX_COMMAND = 900  # characters
_MAX_SHOWN = 3


@dataclass(frozen=True)
class GoldMisfit:
    """Known truths that are hardly meant as they are: on how many tasks they agree, and other readings, best first."""

    tasks: int
    agree: int
    unheard: tuple[Any, ...] = ()
    readings: tuple[Reading, ...] = ()

    @property
    def what(self) -> str:
        """What is wrong."""
        of = f"{self.agree:,} of {count(self.tasks, 'task')}"
        labels = ", ".join(shorten(label) for label in self.unheard[:_MAX_SHOWN])
        more = f" and {len(self.unheard) - _MAX_SHOWN:,} more" if len(self.unheard) > _MAX_SHOWN else ""
        unheard = f" No answer has its {'label' if len(self.unheard) == 1 else 'labels'} {labels}{more}."
        read = f" It agrees on {self.readings[0].agree:,} if {self.readings[0].what}." if self.readings else ""
        unheard = unheard if self.unheard else ""
        return f"The gold does not fit the answers: the majority vote agrees with it on {of}.{unheard}{read}"


def find_misfit(run: Run, gold: Gold) -> GoldMisfit | None:
    """Look at known truths; return what is strange about them, if anything is, unless it was said how they are meant.

    >>> import allalike
    >>> rows = [(worker, task, 1 + task % 3) for worker in "abc" for task in range(9)]
    >>> gold = allalike.readers.open_gold({task: task % 3 for task in range(9)})
    >>> run = allalike.Memory().load(allalike.read(rows, domain="categorical").with_gold(gold))
    >>> find_misfit(run, gold).readings
    (Reading(what='1 is added to each label', gold_map='0=1,1=2,2=3', agree=9),)
    """
    if gold.stated:
        return None
    return _look_at_classes(run, gold) if run.encoding.n_labels else None


def doubt_misfit(misfit: GoldMisfit) -> Doubt:
    """Wonder about known truths that do not fit, where they only measure errors."""
    best = [each for each in misfit.readings[:1] if len(each.gold_map) <= _MAX_COMMAND]
    said = "".join(f" If that is meant, say gold_map='{each.gold_map}'." for each in best if "'" not in each.gold_map)
    return Doubt(f"{misfit.what}{said}")


def refuse_misfit(misfit: GoldMisfit, *, usable: bool = True, columns: Mapping[str, str] | None = None) -> GoldError:
    """Return the error that stops at known truths that do not fit, with what may be done, if they are usable at all.

    Other ``columns`` of the gold may have truths that fit.
    """
    readings = [each for each in misfit.readings[:_MAX_SHOWN] if len(each.gold_map) <= _MAX_COMMAND]
    ways: list[tuple[str, dict[str, Any]]] = [
        (f"If {each.what} ({each.agree:,} of {count(misfit.tasks, 'task')} agree)", {"gold_map": each.gold_map})
        for each in readings
    ]
    as_it_is: list[tuple[str, dict[str, Any]]] = [
        ("To measure the error only", {"use_gold": False}),
        ("If the gold is right as it is", {"gold_map": SAME}),
    ]
    other = [(f"If its column {columns['label']!r} has the truths", {"gold_columns": dict(columns)})] if columns else []
    return GoldError(misfit.what, ways=[*other, *ways, *(as_it_is if usable else [])])


def _look_at_classes(run: Run, gold: Gold) -> GoldMisfit | None:
    labels = run.encoding.decode(np.arange(run.encoding.n_labels))
    truth, values = _list_truths(gold)
    voted, vote = _find_votes(run, gold)
    if not len(voted):
        return None
    used, truth = np.unique(truth[voted], return_inverse=True)
    values = [values[number] for number in used]
    known = KnownClasses(values, _number(values, labels, run.encoding), labels.tolist(), truth, vote)
    readings = list_class_readings(known)
    few = len(labels) <= _MAX_CLASSES or len(voted) >= _MIN_TASKS
    unheard = [value for value, is_unheard in zip(values, known.unheard, strict=True) if is_unheard]
    strange = bool(readings) or is_contradicted(known) or (few and len(unheard) == len(values))
    if not strange or (len(unheard) < len(values) and _is_borne_out(run)):
        return None
    return GoldMisfit(len(voted), known.agree(known.given), tuple(unheard), tuple(readings))


def _list_truths(gold: Gold) -> tuple[Array, list[Any]]:
    """Return the place of each task's truth among the different labels, in the order of the tasks' ids, and these."""
    codes, values = gold.label.parsed(lambda value: value)
    return codes[np.argsort(gold.task.factors[0])].astype(np.int64), list(values)


def _number(values: list[Any], labels: Values, encoding: Encoding) -> Array:
    """Number values among the labels; what is none of them has the number after the last."""
    if encoding.nominal:
        return np.asarray(encoding.encode_gold(Column.of_objects("label", values))[1], np.int64)
    place = find_places(Values(values), labels)
    return np.where(place < 0, len(labels), place)


def _find_votes(run: Run, gold: Gold) -> tuple[Array, Array]:
    """Return the gold tasks whose majority vote is not tied, and these votes."""
    kernels = run.choose_quorum(np.ones(run.problems.n_workers))[0]
    aggregate = partial(kernels.aggregate, ties=run.ties)
    ids, votes = [], []
    for piece in run.find(partial(_vote, aggregate=aggregate, gold=run.n_gold > 0)).pieces():
        kept = np.flatnonzero(piece.found["kept"])
        ids.append(piece.tasks.take(kept))
        votes.append(piece.found["label"][kept])
    place = find_places(gold.task.factors[1], Values.join(ids))
    voted = np.flatnonzero(place >= 0)
    return voted, np.concatenate(votes)[place[voted]].astype(np.int64)


def _vote(block: Block, *, aggregate: Callable[..., Any], gold: bool) -> dict[str, Array]:
    found = aggregate(block, np.ones(block.n_workers), np.zeros(block.n_workers))
    return {"label": found["label"], "kept": _mark(block, gold=gold) & ~found["tied"].astype(np.bool_)}


def _mark(block: Block, *, gold: bool) -> Array:
    """Mark tasks with gold, or all of them where the block knows of none."""
    known = np.full(block.n_tasks, not gold)
    known[block.gold_task] = True
    return known


def _is_borne_out(run: Run) -> bool:
    """Tell whether workers who gave much of the answers meet the gold as it is more often than not, clearly."""
    from scipy.special import bdtrc

    if not run.n_gold:
        return False
    sums = run.sum(run.kernels.gold_sums)
    answers = np.rint(sums["answers"]).astype(np.int64)
    met = answers - np.rint(sums["distance"]) if run.encoding.nominal else answers * 0
    clearly = bdtrc(met - 1, np.maximum(answers, 1), 0.5) < _CERTAIN
    return bool(answers[clearly].sum() >= _MIN_BORNE_OUT * max(answers.sum(), 1))
