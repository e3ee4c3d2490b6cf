"""Runner: all repetitions of all settings, on all cores. What is done is kept, and the next run goes on from there."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.lazy_imports import pd
from allalike._core.options import check_number
from allalike._core.system.files import Output
from allalike._core.system.processes import Processes
from allalike._core.system.progress import report
from paper.experiments.scores import Score, score_all
from paper.experiments.settings import CHUNK, Setting, solve

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from allalike._core.blocks.block import Floats

__all__ = ["Results", "run"]


@dataclass(frozen=True)
class Results:
    """The error of every repetition, of every method, in every setting; NaN where a method did not run.

    >>> setting = Setting(source="real SYN.N", workers=5, tasks=6, methods=("P-TD",), pool=100)
    >>> results = run([setting], repetitions=100, jobs=1)
    >>> results.table().columns.tolist()
    ['source', 'rule', 'workers', 'tasks', 'method', 'repetition', 'error']
    >>> [score.verdict for score in results.scores(setting)]
    ['worse', 'best']
    """

    errors: Mapping[Setting, Mapping[str, Floats]]

    def scores(self, setting: Setting, *, by: str = "ri", zero: str = "drop") -> list[Score]:
        """Score the methods of a setting, as in `score_all`; OA is never the best."""
        return score_all(self.errors[setting], by=by, zero=zero, aside=("OA",))

    def table(self) -> pd.DataFrame:
        """One row per setting, method and repetition."""
        parts = []
        for setting, errors in self.errors.items():
            for method, values in errors.items():
                ran = np.flatnonzero(~np.isnan(values))
                columns = {
                    "source": setting.source,
                    "rule": str(setting.rule),
                    "workers": setting.workers,
                    "tasks": setting.tasks,
                    "method": method,
                    "repetition": ran,
                    "error": values[ran],
                }
                parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)


class Repetitions(NamedTuple):
    """The methods that are still to run on a chunk of a setting."""

    setting: Setting
    chunk: int
    methods: tuple[str, ...]


def run(
    settings: Iterable[Setting],
    *,
    repetitions: int = 1000,
    fewer: Mapping[str, int] | None = None,
    jobs: int | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Results:
    """Repeat every setting, with the same samples for all its methods.

    The results do not depend on the number of processes, nor on whether the run was interrupted.

    Parameters
    ----------
    settings
        What to repeat.
    repetitions
        How often; rounded up to whole hundreds.
    fewer
        Methods that are too slow for this, and how often they run.
    jobs
        How many processes; by default one for each core.
    folder
        Where finished chunks are kept. What is there already is not run again.
    """
    settings = list(dict.fromkeys(settings))
    check_number(repetitions, "repetitions", least=1, whole=True)
    if jobs is not None:
        check_number(jobs, "jobs", least=1, whole=True)
    kept = _Kept(Path(folder) if folder is not None else None)
    chunks = -(-repetitions // CHUNK)
    todo = [
        Repetitions(setting, chunk, missing)
        for setting in settings
        for chunk in range(chunks)
        if (missing := _missing(setting, chunk, fewer or {}, kept))
    ]
    place = {source: number for number, source in enumerate(dict.fromkeys(setting.source for setting in settings))}
    todo.sort(key=lambda job: (place[job.setting.source], job.chunk))  # a crowd is drawn once for all its settings
    begin = time.perf_counter()
    with closing(_solve_all(todo, jobs or os.cpu_count() or 1)) as solved:
        for done, (job, errors) in enumerate(solved, 1):
            kept.add(job.setting, job.chunk, errors)
            left = (time.perf_counter() - begin) / done * (len(todo) - done)
            report(f"running experiments, {_duration(left)} left", done, len(todo))
    return Results({setting: kept.errors(setting, chunks) for setting in settings})


def _missing(setting: Setting, chunk: int, fewer: Mapping[str, int], kept: _Kept) -> tuple[str, ...]:
    wanted = [name for name in setting.methods if chunk * CHUNK < fewer.get(name.partition("(")[0], chunk * CHUNK + 1)]
    there = kept.chunk(setting, chunk)
    return tuple(name for name in wanted if name not in there)


def _solve_all(jobs: list[Repetitions], processes: int) -> Generator[tuple[Repetitions, dict[str, Floats]], None, None]:
    with Processes(processes, remedy="Use fewer processes (jobs).") as pool:
        yield from zip(jobs, pool.map(solve, jobs), strict=True)


def _duration(seconds: float) -> str:
    return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"about {seconds:.0f} s"


class _Kept:
    """The finished chunks, in memory, and in a folder if there is one."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._chunks: dict[tuple[str, int], dict[str, Floats]] = {}

    def chunk(self, setting: Setting, number: int) -> dict[str, Floats]:
        """Return what is known about a chunk; a file that cannot be read is as good as none."""
        place = setting.key, number
        if place not in self._chunks:
            self._chunks[place] = {}
            if self._folder is not None and (path := self._path(setting, number)).exists():
                try:
                    found = json.loads(path.read_text(encoding="utf-8"))["errors"]
                    self._chunks[place] = {name: np.array(values) for name, values in found.items()}
                except (OSError, ValueError, KeyError):
                    pass
        return self._chunks[place]

    def add(self, setting: Setting, number: int, errors: Mapping[str, Floats]) -> None:
        """Keep what was found."""
        chunk = self.chunk(setting, number)
        chunk.update(errors)
        if self._folder is None:
            return
        path = self._path(setting, number)
        record = {
            "setting": {name: value for name, value in asdict(setting).items() if name != "methods"},
            "chunk": number,
            "errors": {name: values.tolist() for name, values in chunk.items()},
        }
        with Output(folder=path.parent, overwrite=True).staged([path.name]) as stage:
            (stage / path.name).write_text(json.dumps(record), encoding="utf-8")

    def errors(self, setting: Setting, chunks: int) -> dict[str, Floats]:
        """Join the chunks of a setting."""
        nothing = np.full(CHUNK, np.nan)
        parts = [self.chunk(setting, number) for number in range(chunks)]
        return {name: np.concatenate([part.get(name, nothing) for part in parts]) for name in setting.methods}

    def _path(self, setting: Setting, number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"{setting.key}-{number:04d}.json"
