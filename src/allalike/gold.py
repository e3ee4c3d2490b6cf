"""Checks of gold labels against the majority vote before they are used, and label maps that would make them agree.

Gold labels that are spelled differently from the answers, such as 0, 1, 2 instead of 1, 2, 3, would overrule all
workers. The majority vote of the tasks needs no weights and is the same on every engine.

A label map is rated by the log likelihood ratio (in nats) of the votes, given mapped and unmapped gold labels. The
logarithm of the number of similar maps is subtracted, because one of many maps may fit by chance. The constants are
from 68 public crowds: the majority vote agreed with at least 35 % of the gold labels for two classes, and with at least
44 % for more. Gold labels are also accepted unmapped if enough workers clearly agree with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import lgamma, log
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import Values, find_places, shorten
from allalike._core.text_format import count
from allalike.checks import Issue
from allalike.errors import GoldError, Proposal
from allalike.readers.gold import SAME, write_gold_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block
    from allalike.answers.gold import Gold
    from allalike.engines import Run

    Codes = npt.NDArray[np.int64]

_MIN_RIGHT = {True: 0.3, False: 0.35}  # share of correct votes in any crowd, for two classes and for more
_MAX_RIGHT = 0.97
_SAME_ERROR = 0.5  # largest share of the errors on a class that are the same other class
_UNHEARD = 0.02  # probability that no answer has a gold label, if there are few classes
_FEW_LABELS = 20
_MAX_MAPPED = 60  # labels for which a map is searched
_MIN_NATS = 4.0
_MIN_FIT = 0.6  # of the tasks must agree under a map
_CONTRADICTED = 1e-3  # probability
_MIN_TASKS = 5  # with gold labels that no answer has, if there are many labels
_SUPPORTED = 0.01  # probability
_MIN_SUPPORT = 0.2  # share of the answers to tasks with gold labels, by workers who clearly agree with these
_MAX_COMMAND = 900  # characters
_MAX_SHOWN = 3


@dataclass(frozen=True)
class LabelMap:
    """A label map for gold labels: its description, its ``gold_map``, and the number of tasks that agree under it."""

    what: str
    gold_map: str
    agree: int


@dataclass(frozen=True)
class GoldVotes:
    """Gold labels and majority votes of tasks without tied votes.

    ``values`` are the distinct gold labels, and ``codes`` their indices in ``labels``, the labels of the answers
    (``len(labels)`` if no answer has it). Per task, ``gold`` is an index in ``values`` and ``vote`` one in ``labels``.
    """

    values: Sequence[Any]
    codes: Codes
    labels: Sequence[Any]
    gold: Codes
    vote: Codes

    @property
    def unheard(self) -> npt.NDArray[np.bool_]:
        """A mask of the gold labels that occur in no answer."""
        return self.codes >= len(self.labels)

    def count_agreeing(self, meant: Codes) -> int:
        """Count the tasks whose majority vote is the mapped gold label."""
        return int((meant[self.gold] == self.vote).sum())


@dataclass(frozen=True)
class GoldMisfit:
    """Gold labels that probably need a label map, and the label maps that fit, best first."""

    tasks: int
    agree: int
    unheard: tuple[Any, ...] = ()
    maps: tuple[LabelMap, ...] = ()

    @property
    def what(self) -> str:
        """A description of the mismatch."""
        labels = ", ".join(shorten(label) for label in self.unheard[:_MAX_SHOWN])
        more = f" and {len(self.unheard) - _MAX_SHOWN:,} more" if len(self.unheard) > _MAX_SHOWN else ""
        text = (
            "The gold labels do not match the answers: the majority vote agrees with gold on"
            f" {self.agree:,} of {count(self.tasks, 'task')}."
        )
        if self.unheard:
            text += f" No answer has the {'label' if len(self.unheard) == 1 else 'labels'} {labels}{more}."
        if self.maps:
            text += f" If {self.maps[0].what}, it agrees on {self.maps[0].agree:,}."
        return text

    def describe(self) -> Issue:
        """Return the issue for gold labels that are used only for evaluation."""
        best = [each for each in self.maps[:1] if len(each.gold_map) <= _MAX_COMMAND and "'" not in each.gold_map]
        return Issue(self.what + "".join(f" To map the labels, use gold_map='{each.gold_map}'." for each in best))

    def refuse(self, *, usable: bool = True) -> GoldError:
        """Return the error for gold labels used as evidence; if ``usable``, also suggest keeping them unmapped."""
        proposals = []
        for each in self.maps[:_MAX_SHOWN]:
            if len(each.gold_map) <= _MAX_COMMAND:
                agree = f"{each.agree:,} of {count(self.tasks, 'task')} agree"
                proposals.append(Proposal({"gold_map": each.gold_map}, f"if {each.what} ({agree})"))
        if usable:
            proposals.append(Proposal({"use_gold": False}, "to measure the error only"))
            proposals.append(Proposal({"gold_map": SAME}, "if the gold labels are correct as they are"))
        return GoldError(self.what, proposals=proposals)


def find_misfit(run: Run, gold: Gold) -> GoldMisfit | None:
    """Return the mismatch between gold classes and the answers, if any; None if the user mapped the labels.

    >>> import allalike
    >>> rows = [(worker, task, 1 + task % 3) for worker in "abc" for task in range(9)]
    >>> gold = allalike.readers.open_gold({task: task % 3 for task in range(9)})
    >>> run = allalike.Memory().load(allalike.read(rows, domain="categorical").with_gold(gold))
    >>> find_misfit(run, gold).maps
    (LabelMap(what='0 is 1, 1 is 2, 2 is 3', gold_map='0=1,1=2,2=3', agree=9),)
    """
    votes = None if gold.stated or not run.encoding.n_labels else _compare_with_votes(run, gold)
    if votes is None:
        return None
    maps = _find_maps(votes)
    unheard = [value for value, is_unheard in zip(votes.values, votes.unheard, strict=True) if is_unheard]
    none_heard = len(unheard) == len(votes.values)
    enough = len(votes.labels) <= _FEW_LABELS or len(votes.vote) >= _MIN_TASKS
    if not (maps or (enough and none_heard) or is_contradicted(votes)):
        return None
    if not none_heard and _is_supported(run):
        return None
    return GoldMisfit(len(votes.vote), votes.count_agreeing(votes.codes), tuple(unheard), tuple(maps))


def is_contradicted(votes: GoldVotes) -> bool:
    """Return whether fewer votes agree with gold than in any public crowd, or than expected by chance.

    >>> codes, many = np.array([0, 1]), np.arange(30) % 2
    >>> [is_contradicted(GoldVotes("xy", codes, "xy", many, vote)) for vote in (1 - many, many[::-1], many)]
    [True, True, False]
    """
    from scipy.special import bdtr

    n_labels, n_tasks = len(votes.labels), len(votes.vote)
    given = np.bincount(votes.codes[votes.gold], minlength=n_labels + 1)[:n_labels]
    chance = float(given @ np.bincount(votes.vote, minlength=n_labels)) / n_tasks**2
    least = min(_MIN_RIGHT[n_labels <= 2], chance)
    return bool(bdtr(votes.count_agreeing(votes.codes), n_tasks, least) < _CONTRADICTED)


def _find_maps(votes: GoldVotes) -> list[LabelMap]:
    """Return the label maps that the votes clearly support, best first."""
    proposals = [*_propose_spellings(votes), *_propose_assignment(votes)]
    rated = [(_compute_support(votes, meant, price), what, meant) for what, meant, price in proposals]
    rated.sort(key=lambda each: -each[0])
    best: dict[bytes, LabelMap] = {}
    for nats, what, meant in rated:
        agree = votes.count_agreeing(meant)
        if nats >= _MIN_NATS and agree >= _MIN_FIT * len(votes.vote):
            gold_map = write_gold_map({value: votes.labels[new] for value, new in _list_changes(votes, meant)})
            best.setdefault(meant[votes.gold].tobytes(), LabelMap(what, gold_map, agree))
    return list(best.values())


def _compute_support(votes: GoldVotes, meant: Codes, price: float) -> float:
    """Compute the log likelihood ratio of the votes for a map, in nats, minus its price."""
    changed, lost = (meant != votes.codes)[votes.gold], (meant >= len(votes.labels)) & ~votes.unheard
    if not changed.any() or lost.any():
        return 0.0
    gold, vote = votes.gold[changed], votes.vote[changed]
    n_labels, unheard = max(len(votes.labels), 2), votes.unheard[gold]
    fits, stays = vote == meant[gold], vote == votes.codes[gold]
    right = max(_MIN_RIGHT[n_labels == 2], float(stays.mean()))
    meets = float(np.clip(fits.mean(), 0.5, _MAX_RIGHT))
    wrong = np.where(unheard, 1.0, 1 - right)  # probability that a vote is wrong, if no label is mapped
    same = np.where(unheard | (n_labels > 2), _SAME_ERROR, 1.0)
    spread = (1 - same) / max(n_labels - 2, 1)
    as_given = np.where(stays, right, wrong * np.where(fits, same, np.maximum(spread, 1e-9)))
    as_meant = np.where(fits, meets, (1 - meets) / (n_labels - 1))
    support = float(np.log(as_meant / as_given).sum())
    if len(votes.labels) <= _FEW_LABELS:
        support -= log(_UNHEARD) * min(int((votes.unheard & (meant < len(votes.labels))).sum()), 2)
    return support - price


def _propose_spellings(votes: GoldVotes) -> Iterator[tuple[str, Codes, float]]:
    """Propose ignoring case and punctuation in labels that no answer has; yield text, codes and price."""

    def fold(value: Any) -> str:
        return "".join(mark for mark in str(value).casefold() if mark.isalnum())

    places: dict[str, list[int]] = {}
    for number, label in enumerate(votes.labels):
        places.setdefault(fold(label), []).append(number)
    meant = votes.codes.copy()
    for place in np.flatnonzero(votes.unheard):
        same = places.get(fold(votes.values[place]), [])
        if len(same) == 1:
            meant[place] = same[0]
    if (meant != votes.codes).any():
        yield "case and punctuation are ignored", meant, 0.0


def _propose_assignment(votes: GoldVotes) -> Iterator[tuple[str, Codes, float]]:
    """Propose the one-to-one map under which most tasks agree."""
    n_labels, n_values = len(votes.labels), len(votes.values)
    if max(n_labels, n_values) > _MAX_MAPPED:
        return
    counts = np.zeros((n_values, max(n_labels, n_values)))
    np.add.at(counts, (votes.gold, votes.vote), 1.0)
    own = np.flatnonzero(~votes.unheard)
    counts[own, votes.codes[own]] += 0.5  # breaks ties in favour of the unmapped label
    rows, columns = np.arange(n_values), counts.argmax(axis=1)
    if len(set(columns.tolist())) < n_values:
        from scipy.optimize import linear_sum_assignment  # a slow import

        rows, columns = linear_sum_assignment(-counts)
    meant = votes.codes.copy()
    meant[rows] = np.where(columns < n_labels, columns, n_labels)
    moved = int((meant != votes.codes).sum())
    if moved:
        pairs = [f"{value} is {votes.labels[new]}" for value, new in _list_changes(votes, meant)]
        price = lgamma(n_labels + 1) - lgamma(max(n_labels - moved, 0) + 1)
        yield ", ".join(pairs[:4]) + (", ..." if len(pairs) > 4 else ""), meant, price


def _list_changes(votes: GoldVotes, meant: Codes) -> list[tuple[Any, int]]:
    """List the mapped values, with the index of the label that each is mapped to."""
    triples = zip(votes.values, meant.tolist(), votes.codes.tolist(), strict=True)
    return [(value, new) for value, new, old in triples if new != old and new < len(votes.labels)]


def _compare_with_votes(run: Run, gold: Gold) -> GoldVotes | None:
    """Return gold labels and majority votes of the tasks without tied votes; None if there are no such tasks."""
    kernels = run.choose_quorum(np.ones(len(run.workers)))[0]
    aggregate = partial(kernels.aggregate, ties=run.ties)
    ids, votes = [], []
    for piece in run.find(partial(_vote, aggregate=aggregate, every=not run.n_gold)).pieces():
        kept = np.flatnonzero(piece.found["kept"])
        ids.append(piece.tasks.take(kept))
        votes.append(piece.found["label"][kept])
    place = find_places(gold.task.factors[1], Values.join(ids))
    voted = np.flatnonzero(place >= 0)
    if not len(voted):
        return None
    codes, parsed = gold.label.parsed(lambda value: value)
    in_order = codes[np.argsort(gold.task.factors[0])].astype(np.int64)
    used, number = np.unique(in_order[voted], return_inverse=True)
    every = list(parsed)
    values = [every[each] for each in used]
    labels = run.encoding.decode(np.arange(run.encoding.n_labels))
    if run.encoding.nominal:
        meant = np.asarray(run.encoding.encode_gold(Column.of_objects("label", values))[1], np.int64)
    else:
        meant = find_places(Values(values), labels)
        meant = np.where(meant < 0, len(labels), meant)
    return GoldVotes(values, meant, labels.tolist(), number, np.concatenate(votes)[place[voted]].astype(np.int64))


def _vote(block: Block, *, aggregate: Callable[..., Any], every: bool) -> dict[str, Array]:
    """Return majority votes, and a mask of untied votes for tasks with gold labels (all tasks if ``every``)."""
    decided = aggregate(block, np.ones(block.n_workers), np.zeros(block.n_workers))
    wanted = np.full(block.n_tasks, every)
    wanted[block.gold_task] = True
    return {"label": decided["label"], "kept": wanted & ~decided["tied"].astype(np.bool_)}


def _is_supported(run: Run) -> bool:
    """Return whether workers with many of the answers agree with the unmapped gold labels significantly often."""
    from scipy.special import bdtrc

    if not run.n_gold:
        return False
    sums = run.sum(run.kernels.gold_sums)
    answers = np.rint(sums["answers"]).astype(np.int64)
    met = answers - np.rint(sums["distance"]) if run.encoding.nominal else answers * 0
    clearly = bdtrc(met - 1, np.maximum(answers, 1), 0.5) < _SUPPORTED
    return bool(answers[clearly].sum() >= _MIN_SUPPORT * max(answers.sum(), 1))
