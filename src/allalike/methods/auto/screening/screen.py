"""Screening: what `auto` finds out about a crowd before it weighs anybody: who carries no signal, and who copies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from allalike.methods.auto.copies.copies import find_copies
from allalike.methods.auto.copies.likeness import find_groups
from allalike.methods.auto.screening.guesses import find_guess_distances
from allalike.methods.auto.signal.classes import find_class_signal, silence
from allalike.methods.auto.signal.distances import find_signal
from allalike.methods.insight import Screening, VoiceGroups

if TYPE_CHECKING:
    from allalike._core.blocks.problems import Problems
    from allalike.engines import Run

__all__ = ["screen"]

_MIN_VOICES = 3


def screen(run: Run, *, plain: bool) -> Screening:
    """Find who carries no signal, and then who copies among the others; if ``plain``, everyone speaks for herself.

    >>> import allalike
    >>> rows = [(worker, task, "y" if worker == "eve" else "xyz"[task % 3]) for worker in ("ada", "bob", "eve", "kim")
    ...         for task in range(30)]
    >>> run = allalike.Memory().load(allalike.read(rows))
    >>> screen(run, plain=False).groups.silent, screen(run, plain=True).groups.silent
    (array([False, False,  True, False]), array([False, False, False, False]))
    """
    if run.encoding.numeric:  # copies and guesses are told apart by squares
        run = replace(run, encoding=replace(run.encoding, domain=replace(run.domain, distance="squared")))
    classes, nominal = run.encoding.n_classes is not None, run.encoding.nominal
    guess = None if nominal else find_guess_distances(run)
    if plain:
        return Screening(VoiceGroups.everyone(run.problems.n_workers), None, guess)
    signal = find_class_signal(run) if nominal else find_signal(run)
    silent = silence(signal, run.answer_counts, run.problems)
    found = find_copies(run, silent) if guess is None or classes else find_groups(run, guess, silent, signal.empty)
    notes = {} if signal.looked else {"signal": "too many workers and labels to look at"}
    if found is not None:
        return _hear_three(Screening(found, signal, guess, notes), run.problems)
    alone = VoiceGroups(np.arange(len(silent)), silent)
    notes["copies"] = "too many pairs of workers to look at"
    return _hear_three(Screening(alone, signal, guess, notes), run.problems)


def _hear_three(screening: Screening, problems: Problems) -> Screening:
    """Give the workers of a problem their voices back where fewer than three are left, of which any may be right."""
    groups = screening.groups
    few = problems.spread(problems.add(groups.speaks) < _MIN_VOICES)
    number, silent = np.where(few, np.arange(len(few)), groups.number), groups.silent & ~few
    found = tuple(replace(group, copies=group.copies and not few[group.members[0]]) for group in groups.found)
    camps = sum(group.copies for group in groups.found) - sum(group.copies for group in found)
    notes = {**screening.notes, "camps": camps} if camps else screening.notes
    return replace(screening, groups=replace(groups, number=number, silent=silent, found=found), notes=notes)
