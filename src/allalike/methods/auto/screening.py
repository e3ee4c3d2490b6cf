"""Screening: copy groups, informativeness of the workers, and the distance of a guess."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.system.progress import report
from allalike.engines.sample import sample_tasks
from allalike.errors import LabelError
from allalike.methods.auto.copy_groups import find_copies
from allalike.methods.auto.informativeness import measure_informativeness
from allalike.methods.fit import CopyGroups

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.methods.auto.informativeness import Informativeness

_MIN_COUNTED = 3
_SAMPLE_ANSWERS = 2000
_PAIRS = 20_000


@dataclass(frozen=True)
class Screening:
    """Copy groups, informativeness of the workers unless there is no screening, and the distance of a guess.

    There are two ``camps`` if fewer than three workers would be left: groups of copies, of which any may be right.
    """

    groups: CopyGroups
    signal: Informativeness | None
    guess: float | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    camps: bool = False


def screen(run: Run, *, plain: bool) -> Screening:
    """Detect copies and measure informativeness; with ``plain`` all workers count, and each for themselves.

    >>> import allalike
    >>> rows = [(worker, task, "y" if worker == "eve" else "xyz"[task % 3]) for worker in ("ada", "bob", "eve", "kim")
    ...         for task in range(30)]
    >>> run = allalike.Memory().load(allalike.read(rows))
    >>> screen(run, plain=False).signal.uninformative
    array([False, False,  True, False])
    """
    if run.encoding.numeric:  # copies and guesses are recognised by squared distances
        run = replace(run, encoding=replace(run.encoding, domain=replace(run.domain, distance="squared")))
    guess = None if run.encoding.nominal else find_guess_distance(run)
    independent = CopyGroups.independent(len(run.workers))
    if plain:
        return Screening(independent, None, guess)
    report("signal")
    signal = measure_informativeness(run)
    groups = find_copies(run, signal.uninformative)
    if groups is None:
        return Screening(independent, signal, guess, {"copies": "too many pairs of workers to look at"})
    if groups.has_copies and groups.counted.sum() < _MIN_COUNTED:
        similar = tuple(replace(group, copies=False) for group in groups.groups)
        groups = replace(groups, number=independent.number, groups=similar)
        return Screening(groups, signal, guess, camps=True)
    return Screening(groups, signal, guess)


def find_guess_distance(run: Run) -> float:
    """Return how far a guess is from the answers to its task.

    It is infinite for numbers, which may count from anywhere in each task, and where nothing is known: where there is
    one task, or where labels of different tasks cannot be compared, and the domain does not know it either.

    >>> import allalike
    >>> rows = [("ada", 1, {"x", "y"}), ("bob", 1, {"x"}), ("ada", 2, {"y"}), ("bob", 2, {"z"})]
    >>> find_guess_distance(allalike.Memory().load(allalike.read(rows, domain="set")))
    0.875
    """
    noise = run.encoding.noise
    if noise.weighting == "inverse":
        return np.inf
    unknown = np.inf if noise.chance is None else noise.chance
    sample = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False)
    blocks = [block for block in sample.blocks if block.n_tasks]
    if not blocks:
        return unknown
    code = np.concatenate([block.label for block in blocks])
    task = np.repeat(np.arange(sample.n_tasks), np.concatenate([block.sizes for block in blocks]))
    return _mean_distance(code, task, run.kernels, unknown)


def _mean_distance(code: Array, task: Array, kernels: Kernels, unknown: float) -> float:
    left, right = pair_up(len(code))
    different = task[left] != task[right]
    try:
        distance = (
            kernels.guess_distances(code[left[different]], code[right[different]]) if different.any() else np.empty(0)
        )
    except LabelError:  # of a user's own function that cannot compare labels of different tasks
        return unknown
    known = distance[~np.isnan(distance)]
    return float(known.mean()) if len(known) else unknown


def pair_up(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return all pairs of n answers, each once, or some of them in which everyone comes as often.

    >>> pair_up(3)
    (array([0, 1, 2]), array([1, 2, 0]))
    >>> len(pair_up(100)[0]), len(pair_up(1000)[0])
    (4950, 20500)
    """
    most = n // 2  # steps round the circle of answers, after which all pairs were met
    wanted = min(most, _PAIRS // max(n, 1) + 1)
    steps = np.unique(np.linspace(1, most, wanted).astype(np.int64))
    left, step = np.tile(np.arange(n), len(steps)), np.repeat(steps, n)
    once = (2 * step < n) | (left < step)  # half the way round, a pair would be met from both sides
    left, step = left[once], step[once]
    return left, (left + step) % max(n, 1)
