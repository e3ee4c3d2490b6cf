"""Gold is looked at before it counts: whether it is written in the words and units of the answers.

Known truths that are written otherwise, such as 0, 1, 2 where answers are 1, 2, 3, would be believed against everybody.
They are compared with the plain vote, mean or median of their tasks, which needs no weights and is the same on every
engine. Workers whose answers clearly meet the truths as they are speak for these, even if the others do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.matches import find_places
from allalike._core.columns.objects import shorten
from allalike._core.columns.values import Values
from allalike._core.words import count
from allalike.api.doubts.class_readings import KnownClasses, Reading, is_contradicted, list_class_readings
from allalike.api.doubts.warning import Doubt
from allalike.errors import GoldError
from allalike.readers.gold_maps import SAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allalike._core.blocks.block import Array, Block
    from allalike.answers.gold import Gold
    from allalike.domains import Encoding
    from allalike.engines import Run

__all__ = ["GoldMisfit", "doubt_misfit", "find_misfit", "refuse_misfit"]

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
