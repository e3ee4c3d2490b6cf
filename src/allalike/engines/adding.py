"""Updates: the answers of a run are loaded together with new answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.factors import unite
from allalike._core.columns.values import Values, cast_like
from allalike.answers import Answers
from allalike.answers.answers import Stream
from allalike.answers.cleaning import Cleaning
from allalike.answers.storage import answer_columns
from allalike.domains.spelling import Spelling
from allalike.engines.base import Run, list_answers
from allalike.engines.shards import REPEATS
from allalike.errors import InputError, UnsupportedError
from allalike.readers import Scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.answers.gold import Gold
    from allalike.domains import Encoding
    from allalike.engines.base import Engine

_ANSWER_BYTES = 24  # approximate size of an answer as text


def add_answers(engine: Engine, run: Run, more: Answers, *, duplicates: str | None, gold: Gold | None = None) -> Run:
    """Return a run over the answers of a run and new ones, as if all had been loaded together.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 3), ("bob", 1, 3), ("bob", 2, 4)]))
    >>> whole = add_answers(allalike.Memory(), run, allalike.read([("eve", 2, 4), ("bob", 3, 3)]), duplicates="first")
    >>> whole.workers.tolist(), whole.answer_counts, whole.n_tasks
    (['ada', 'bob', 'eve'], array([1, 3, 1]), 3)
    """
    source = _GrownAnswers(source=None, run=run, more=more, domain=run.domain, duplicates=duplicates)
    if engine.reads(source):
        whole = engine.open(source, gold, run.ties)
    else:
        answers = source.read()
        whole = engine.load(answers if gold is None else answers.with_gold(gold), run.ties)
    notes = {**run.notes, **({"gold": whole.notes["gold"]} if "gold" in whole.notes else {})}
    for name in (*REPEATS, "missing_dropped", "abstained_dropped"):
        number = sum(part.get(name, 0) for part in (run.notes, more.notes, whole.notes))
        if number:
            notes[name] = number
    return replace(whole, notes=notes, frame=run.frame)


def fit_answers(run: Run, more: Answers) -> Answers:
    """Convert the ids of answers to the types of a run, or raise an error if they do not fit."""
    if run.worker_task is not None or more.separate_tasks:
        raise UnsupportedError("Answers cannot be added to a run with per_task(). Run it again on all answers.")
    if type(more.domain) is not type(run.domain):
        raise InputError(
            f"The new labels are {more.domain.name}, but the labels so far are {run.domain.name}. Read the new answers"
            f" with domain={run.domain.name!r}."
        )
    assert run.sample_tasks is not None
    tasks, workers = cast_like(more.tasks, run.sample_tasks, "tasks"), cast_like(more.workers, run.workers, "workers")
    return replace(more, tasks=tasks, workers=workers)


@dataclass(frozen=True, kw_only=True)
class _GrownAnswers(Scan):
    """The answers of a run, followed by new ones."""

    run: Run
    more: Answers

    @property
    def size(self) -> int:
        """The approximate number of bytes as text."""
        return (int(self.run.answer_counts.sum()) + self.more.n_answers) * _ANSWER_BYTES

    @cached_property
    def _encoding(self) -> Encoding:
        return self.run.encoding.merge([self.more.encoding])

    def stream(self) -> Stream:
        """Read one shard at a time."""
        return Stream(
            batches=self._batches,
            guess=self.guess,
            size=self.size,
            domain=self.run.domain,
            encoding=self._encoding,
            duplicates=self.duplicates,
            cleaning=Cleaning(spelling=Spelling(strip=False)),
        )

    def _batches(self) -> Iterator[dict[str, Column]]:
        assert self.run.sample_tasks is not None
        pairs = {
            "worker": (self.run.workers, self.more.workers),
            "task": (self.run.sample_tasks, self.more.tasks),
        }
        alike = {role: Values.join([each.take(np.zeros(1, np.int64)) for each in pair]) for role, pair in pairs.items()}
        for part in (*list_answers(self.run), self.more):
            columns = answer_columns(part.under(self._encoding))
            for role, values in alike.items():
                own = columns[role]
                columns[role] = Values(
                    own.tolist() if isinstance(values.data, list) else own.data.cast(values.data.type)
                )
            yield {role: Column(role, values.data) for role, values in columns.items()}

    def read(self) -> Answers:
        """Join all answers in memory; duplicates from the run come first."""
        codes, workers = unite([self.run.workers, self.more.workers])
        place, other = np.split(codes, [len(self.run.workers)])
        parts = [*(part.among(workers, place) for part in list_answers(self.run)), self.more.among(workers, other)]
        return Answers.join(parts, self._encoding, duplicates=self.duplicates)
