"""Basis: what a result was found from, so that it can go on, and be saved to go on elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from allalike.engines.growing import Growing, fit_answers
from allalike.methods.base import Streaming

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from allalike.answers import Answers
    from allalike.api.inputs.opening import Origin
    from allalike.engines import News, Run
    from allalike.methods import Method

__all__ = ["Basis", "Generation", "KeptFile"]


class Generation(NamedTuple):
    """What there was when a result was saved, and how many truths turned since the time before."""

    when: str
    answers: int
    workers: int
    tasks: int
    turned: int | None = None


class KeptFile(NamedTuple):
    """A file of answers that was saved, and what tells that it still is the same file.

    >>> from pathlib import Path
    >>> KeptFile.of(Path(fit_answers.__code__.co_filename)).is_same
    True
    """

    path: Path
    identity: tuple[int, int, int]

    @classmethod
    def of(cls, path: Path) -> KeptFile:
        """Look at a file as it is now."""
        status = path.stat()
        return cls(path, (status.st_ino, status.st_size, status.st_mtime_ns))

    @property
    def is_same(self) -> bool:
        """Whether nobody replaced or changed it."""
        try:
            return KeptFile.of(self.path) == self
        except OSError:
            return False


@dataclass(frozen=True)
class Basis:
    """What a result was found from.

    Parameters
    ----------
    run
        The answers as they were given, where they are.
    method, settings
        How truths are found: seed, ties, engine, and how sure they must be.
    origin
        How the answers were read, known truths, and what is known of workers.
    parts
        The files in which the answers were saved, and those that came since; nothing, if the run has to be asked.
    generations
        When answers came, as far as a saved result tells.
    renew, news
        What finds a result from a basis, what was found before, more answers, and more gold; what says what came last.

    >>> import allalike
    >>> basis = allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]).basis
    >>> grown = basis.grow([("eve", 1, "y")], None)
    >>> basis.run.n_tasks, int(grown.run.answer_counts.sum())
    (1, 3)
    """

    run: Run
    method: Method
    origin: Origin
    settings: Mapping[str, Any]
    parts: tuple[KeptFile | Answers | Run, ...] = ()
    generations: tuple[Generation, ...] = ()
    renew: Callable[..., Any] | None = field(default=None, compare=False)
    news: Callable[[], News] | None = field(default=None, compare=False)

    def dated(self, when: str, turned: int | None = None) -> Basis:
        """Return it with one more generation, unless the last one has all of these answers.

        >>> import allalike
        >>> basis = allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]).basis
        >>> basis.dated("2026-03-01T00:00:00Z").dated("2026-04-01T00:00:00Z").generations
        (Generation(when='2026-03-01T00:00:00Z', answers=2, workers=2, tasks=1, turned=None),)
        """
        now = Generation(when, int(self.run.answer_counts.sum()), len(self.run.workers), self.run.n_tasks, turned)
        same = self.generations and self.generations[-1][1:4] == now[1:4]
        return self if same else replace(self, generations=(*self.generations, now))

    def grow(self, more: Any, gold: Any) -> Basis:
        """Add answers."""
        run, origin, news, answers = self.origin.grow(self.run, more, gold)
        known: tuple[KeptFile | Answers | Run, ...] = self.parts
        if isinstance(self.method, Streaming):  # whose result depends on the order in which answers came
            known = known or (self.run,)
        assert isinstance(self.run, Growing)
        parts = (*known, fit_answers(self.run, answers)) if known else ()
        return replace(self, run=run, origin=origin, parts=parts, news=news)
