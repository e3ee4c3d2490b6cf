"""Add answers to a run: those of each shard are restored, joined with the new ones, and prepared again.

A task stays in its shard, so that engines need no more memory at a time than for the shard and the new answers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.problems import Problems
from allalike._core.columns.factors import unite
from allalike._core.columns.matches import cast_like
from allalike.engines.shards import REPEATS, Addition, count_up, restore
from allalike.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allalike.answers import Answers
    from allalike.answers.gold import Gold
    from allalike.engines.base import Run


def list_answers(run: Run) -> Iterator[Answers]:
    """Yield all answers of a run, those of a shard at a time.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 3), ("bob", 1, 3), ("bob", 2, 4)]))
    >>> [(part.workers.tolist(), part.tasks.tolist(), part.label.tolist()) for part in list_answers(run)]
    [(['ada', 'bob'], [1, 2], [0, 0, 1])]
    """
    for shard in run.each_shard():
        yield restore(shard, run.workers, run.encoding)


def add_answers(run: Run, more: Answers, *, repeats: str | None, gold: Gold | None = None) -> Run:
    """Return a run over the answers of another and more, which equals one over all of them.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 3), ("bob", 1, 3), ("bob", 2, 4)]))
    >>> whole = add_answers(run, allalike.read([("eve", 2, 4), ("bob", 3, 3)]), repeats="first")
    >>> whole.workers.tolist(), whole.answer_counts, whole.n_tasks
    (['ada', 'bob', 'eve'], array([1, 3, 1]), 3)
    """
    codes, workers = unite([run.workers, more.workers])
    place, other = np.split(codes, [len(run.workers)])
    encoding, truths = run.encoding.merge([more.encoding]), None
    if gold is not None:
        encoding, truths = gold.encode(encoding)
    new = more.among(workers, other)
    whole, tallies, counts = run.rebuild(
        Addition(new, run.encoding, run.workers, workers, place, encoding, truths, repeats)
    )
    known = count_up(tallies, counts, gold, {})
    known["notes"] = _notes(run.notes, more.notes, known["notes"])
    return replace(whole, workers=workers, encoding=encoding, problems=Problems.single(len(workers)), **known)


def fit_answers(run: Run, more: Answers) -> Answers:
    """Return answers with ids of the types that a run has; refuse those that do not go together with its own."""
    assert run.sample_tasks is not None
    if len(run.problems.sizes) > 1 or len(more.problems.sizes) > 1:
        raise UnsupportedError(
            "Where every task is a problem of its own, no answers can be added. Run it again on all answers."
        )
    if type(more.domain) is not type(run.domain):
        raise InputError(
            f"The new labels are {more.domain.name}, but those so far are {run.domain.name}. Read them with the same"
            " domain."
        )
    return replace(
        more,
        tasks=cast_like(more.tasks, run.sample_tasks, "tasks"),
        workers=cast_like(more.workers, run.workers, "workers"),
    )


def _notes(old: Mapping[str, Any], more: Mapping[str, Any], joined: Mapping[str, Any]) -> dict[str, Any]:
    """Add up what was set aside; what was guessed is what was guessed at first."""
    notes = {**old, **({"gold": joined["gold"]} if "gold" in joined else {})}
    for name in (*REPEATS, "missing_dropped", "abstained_dropped"):
        number = sum(part.get(name, 0) for part in (old, more, joined))
        if number:
            notes[name] = number
    return notes
