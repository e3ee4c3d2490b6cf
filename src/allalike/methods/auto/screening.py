"""Screening: copy groups, and informativeness of the workers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from allalike._core.system.progress import report
from allalike.methods.auto.copy_groups import find_copies
from allalike.methods.auto.informativeness import measure_informativeness, with_squares
from allalike.methods.fit import CopyGroups

if TYPE_CHECKING:
    from allalike.engines import Run
    from allalike.methods.auto.informativeness import Informativeness

_MIN_COUNTED = 3


@dataclass(frozen=True)
class Screening:
    """Copy groups, and informativeness of the workers unless there is no screening.

    There are two ``camps`` if fewer than three workers would be left: groups of copies, of which any may be right.
    """

    groups: CopyGroups
    signal: Informativeness | None
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
    independent = CopyGroups.independent(len(run.workers))
    if plain:
        return Screening(independent, None)
    report("signal")
    run = with_squares(run)
    signal = measure_informativeness(run)
    if run.encoding.nominal or run.encoding.n_classes is not None:
        groups = find_copies(run)
    else:
        from allalike.methods.auto.copies.guesses import find_guess_distance
        from allalike.methods.auto.copies.likeness import find_groups

        groups = find_groups(run, find_guess_distance(run), signal.uninformative)
    if groups is None:
        return Screening(independent, signal, {"copies": "too many pairs of workers to look at"})
    if groups.has_copies and groups.counted.sum() < _MIN_COUNTED:
        similar = tuple(replace(group, copies=False) for group in groups.groups)
        groups = replace(groups, number=independent.number, groups=similar)
        return Screening(groups, signal, camps=True)
    return Screening(groups, signal)
