"""The call that made a result, apart from its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.answers.gold import Gold, History
    from allalike.engines import Engine, Run
    from allalike.methods import Method
    from allalike.readers import Scan


@dataclass(frozen=True)
class Call:
    """The call that made a result: what `update` and `load` need to repeat it with the same or more answers.

    Parameters
    ----------
    run
        The answers as they were loaded.
    engine, method, settings
        Engine, method, and the settings seed, ties and min_confidence as in the summary.
    read
        Read options without the source.
    gold, gold_map, history
        Gold labels, what they mean, and worker statistics from an earlier run.
    generations
        When results were saved, with how many answers, workers, tasks and changed labels.
    """

    run: Run
    engine: Engine
    method: Method
    settings: Mapping[str, Any]
    read: Scan
    gold: Gold | None = None
    gold_map: Any = None
    history: History | None = None
    generations: tuple[Mapping[str, Any], ...] = ()

    def dated(self, when: str, turned: int | None = None) -> Call:
        """Return the call with one more generation, unless the last one has the same answers."""
        run = self.run
        now = {"answers": int(run.answer_counts.sum()), "workers": len(run.workers), "tasks": run.n_tasks}
        if self.generations and now.items() <= self.generations[-1].items():
            return self
        return replace(self, generations=(*self.generations, {"when": when, **now, "turned": turned}))
