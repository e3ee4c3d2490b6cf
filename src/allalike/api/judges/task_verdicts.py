"""Task verdicts: what a panel that does not know truths says of each task, good or not, and what is known of it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import Values
from allalike._core.registry import did_you_mean
from allalike.errors import OptionError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run, TaskTable

__all__ = ["TaskVerdicts", "choose_good", "find_codes", "find_ids", "gather_verdicts"]

_MAX_LISTED = 10
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)")
_BOUND = re.compile(rf"([<>]=?)\s*({_NUMBER.pattern})")
_COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal}

Bound = tuple[str, float]


@dataclass(frozen=True)
class TaskVerdicts:
    """What the panel says of each task, in the order of their ids.

    Parameters
    ----------
    verdict
        1 where it calls the task good, else 0.
    truth
        1 where the task is known to be good, 0 where it is known not to be, else NaN.
    found
        Where the ids are.
    """

    verdict: npt.NDArray[np.intp]
    truth: Floats
    found: TaskTable

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Of which tasks the truth is known."""
        return ~np.isnan(self.truth)

    def hashes(self) -> npt.NDArray[np.uint64]:
        """Return the hashes of the ids."""
        return np.concatenate([piece.tasks.hashes() for piece in self.found.pieces()])


def gather_verdicts(run: Run, found: TaskTable, good: Sequence[Any]) -> TaskVerdicts:
    """Tell good labels from others, in what the panel found and in what is known.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 2, "y")])
    >>> told = gather_verdicts(result.run, result.found, ["x"])
    >>> told.verdict, told.truth
    (array([1, 0]), array([nan, nan]))
    """
    is_good = choose_good(run.encoding, good)
    label = np.concatenate([piece.found["label"] for piece in found.pieces()])
    truth: Floats = run.collect(partial(_take_good, kernels=run.kernels, is_good=is_good))["truth"]
    return TaskVerdicts(np.asarray(is_good(label)).astype(np.intp), truth, found)


def choose_good(encoding: Encoding, good: Sequence[Any]) -> Callable[[Array], Array]:
    """Return what tells good labels, as codes, from others: some classes or levels, or numbers within bounds.

    >>> import allalike
    >>> answers = allalike.read([("ada", 1, 2.5), ("bob", 1, 4.0)], domain="real")
    >>> choose_good(answers.encoding, [">=3"])(answers.label)
    array([False,  True])
    """
    bounds = [_read_bound(each) for each in good]
    if encoding.n_classes is None and encoding.numeric:
        return partial(_meets_any, bounds=[_need_bound(*each) for each in zip(good, bounds, strict=True)])
    if encoding.nominal or not any(bounds):
        return partial(np.isin, test_elements=find_codes(encoding, good))
    levels = encoding.decode(np.arange(encoding.n_labels)).tolist()
    numbers = [float(text) if _NUMBER.fullmatch(text) else math.nan for text in map(str, levels)]
    if any(map(math.isnan, numbers)):
        raise OptionError(f"good is {good[0]!r}, but the levels are no numbers. Name those that are good.")
    within = _meets_any(np.array(numbers), bounds=[bound for bound in bounds if bound])
    named = [each for each, bound in zip(good, bounds, strict=True) if not bound]
    return partial(np.isin, test_elements=np.union1d(np.flatnonzero(within), find_codes(encoding, named)))


def _read_bound(good: Any) -> Bound | None:
    found = _BOUND.fullmatch(str(good).strip())
    return None if found is None else (found[1], float(found[2]))


def _need_bound(good: Any, bound: Bound | None) -> Bound:
    if bound is not None:
        return bound
    try:
        return "==", float(good)
    except (TypeError, ValueError):
        raise OptionError(f"good is {good!r}, and labels are numbers. Write a bound, such as '>=4'.") from None


def _meets_any(numbers: Array, *, bounds: Sequence[Bound]) -> Array:
    return np.asarray(np.any([_COMPARE[sign](numbers, number) for sign, number in bounds], axis=0))


def find_codes(encoding: Encoding, good: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the codes of some labels, which must be among those that judges gave.

    >>> import allalike
    >>> answers = allalike.read([("ada", 1, "yes"), ("bob", 1, "no")], domain="categorical")
    >>> find_codes(answers.encoding, ["yse"])
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No verdict is 'yse'. Did you mean 'yes'? The verdicts are: no, yes.
    """
    known = {str(label): code for code, label in enumerate(encoding.decode(np.arange(encoding.n_labels)).tolist())}
    if len(good) >= len(known) > 1 and {*map(str, good)} >= known.keys():
        raise OptionError(f"good names every label, {', '.join(known)}, so that all tasks are. Leave some out.")
    if missing := [str(label) for label in good if str(label) not in known]:
        listed = ", ".join(list(known)[:_MAX_LISTED]) + (", ..." if len(known) > _MAX_LISTED else "")
        close = did_you_mean(missing[0], known)
        raise UnknownNameError(f"No verdict is {missing[0]!r}.{close} The verdicts are: {listed}.")
    return np.array([known[str(label)] for label in good], np.int64)


def _take_good(block: Block, *, kernels: Kernels, is_good: Callable[[Array], Array]) -> dict[str, Array]:
    truth = np.full(block.n_tasks, np.nan)
    if len(block.gold_task):
        truth[block.gold_task] = is_good(kernels.restore_gold(block))
    return {"truth": truth}


def find_ids(found: TaskTable, wanted: npt.NDArray[np.uint64]) -> Values:
    """Return the ids with these hashes, in the order of these.

    >>> import allalike
    >>> found = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 2, "y")]).found
    >>> find_ids(found, found.joined().tasks.hashes()[::-1]).tolist()
    [2, 1]
    """
    ids, hashes = [], []
    for piece in found.pieces():
        own = piece.tasks.hashes()
        here = np.flatnonzero(np.isin(own, wanted))
        ids.append(piece.tasks.take(here))
        hashes.append(own[here])
    all_hashes = np.concatenate(hashes)
    order = np.argsort(all_hashes, kind="stable")
    return Values.join(ids).take(order[np.searchsorted(all_hashes[order], wanted)])
