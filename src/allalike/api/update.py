"""Add answers to those that were found out about before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from allalike._core.system.progress import report
from allalike.answers import Answers
from allalike.api.results.targets import inputs_of
from allalike.engines.growing import Growing, grow
from allalike.errors import UnsupportedError
from allalike.readers import Scan, open_gold

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allalike.answers.gold import Gold
    from allalike.answers.history import History
    from allalike.engines import News, Run

__all__ = ["Origin"]


@dataclass(frozen=True)
class Origin:
    """How the answers of a run were read, from which files, the known truths, and what is known of workers.

    >>> from allalike import Memory, read
    >>> first = read([("ada", 1, "yes"), ("bob", 1, "yes")])
    >>> run, origin, news = Origin.of(first, None).grow(Memory().load(first), [("eve", 1, "no")], {1: "yes"})
    >>> run.answer_counts, run.n_gold, origin.gold is not None, news().after.n_answers
    (array([1, 1, 1]), 1, True, 3)
    """

    scan: Scan
    gold: Gold | None
    inputs: tuple[Path, ...] = ()
    history: History | None = None

    @classmethod
    def of(cls, source: Answers | Scan, gold: Gold | None) -> Origin:
        """Take over how answers were read, or are to be."""
        if isinstance(source, Scan):
            return cls(replace(source, source=None), gold)
        return cls(Scan(source=None, **source.read_options), gold or source.gold)

    def grow(self, run: Run, more: Any, gold: Any) -> tuple[Run, Origin, Callable[[], News]]:
        """Return a run over more answers, what is to be remembered of it, and what says what is new in it."""
        if not isinstance(run, Growing):
            raise UnsupportedError(
                "result.update works on memory and disk only: blocks on the executors of Spark stay as they were made."
            )
        if run.n_gold and self.gold is None:
            raise UnsupportedError(
                "It is not known where the known truths of these answers came from. Give them with gold= instead."
            )
        known, fresh = self.gold, None if gold is None else self._open_gold(run, gold)
        if fresh is not None:
            fresh.encode(run.encoding)  # so that errors name the rows of this gold
            known = fresh if known is None else known.joined(fresh)
        answers = self._read(run, more)
        report("adding answers")
        grown, news = grow(run, answers, repeats=self.scan.repeats, gold=known, fresh=fresh)
        return grown, replace(self, gold=known, inputs=(*self.inputs, *inputs_of(more, gold))), news

    def _open_gold(self, run: Run, gold: Any) -> Gold:
        return open_gold(gold, label_map=self.scan.label_map).split(run.domain)

    def _read(self, run: Run, more: Any) -> Answers:
        if isinstance(more, Answers):
            return more
        scan = more if isinstance(more, Scan) else replace(self.scan, source=more)
        return replace(scan, domain=run.domain, choices={}).read()
