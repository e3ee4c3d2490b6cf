"""Sample simulated crowds, and write them to files.

Labels, workers, assignments, answers and copies have separate random streams, so that the workers do not depend on the
number of tasks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values, arrow_of
from allalike._core.lazy_imports import pa, pd
from allalike._core.masks import Mask, write_masks
from allalike._core.options import check_number
from allalike._core.system.files import Output
from allalike._core.system.tables import write_tables
from allalike.answers import Answers
from allalike.errors import OptionError, OutputError, TooLargeError
from allalike.simulation.models import Model, Parameters, id_column
from allalike.simulation.paper import as_model
from allalike.simulation.populations import Copiers

TABLES = (".csv", ".parquet")
_MAX_VALUES = 200_000_000  # numbers, items or pixels of all answers

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """Answers as arrays, sorted by task and worker.

    Classes are codes; rankings are codes of items, best first; intervals are pairs of bounds; masks are arrays of
    pixels. There is one truth per task. Per worker there are faults (mean distances to the truth), the parameters of
    errors by name, such as a standard deviation, and the source of a copier, otherwise -1.

    >>> drawn = simulate("k=4 SYN", workers=3, tasks=2).drawn
    >>> drawn.worker, drawn.task
    (array([0, 1, 2, 0, 1, 2]), array([0, 0, 0, 1, 1, 1]))
    """

    worker: Numbers
    task: Numbers
    label: Array
    truth: Array
    faults: Floats
    parameters: Parameters
    source: Numbers


@dataclass(frozen=True)
class Simulated:
    """A simulated crowd.

    Parameters
    ----------
    model
        Model of the crowd.
    drawn
        Sampled arrays.

    >>> crowd = simulate("binary SYN.HS", workers=3, tasks=4, seed=5)
    >>> crowd.answers.n_answers, crowd.faults
    (12, {'w1': 0.5, 'w2': 0.5, 'w3': 0.2})
    >>> crowd.truth
      task  label
    0   t1      1
    1   t2      0
    2   t3      1
    3   t4      0
    """

    model: Model
    drawn: Drawn

    @cached_property
    def answers(self) -> Answers:
        """The answers, for `allalike.discover`."""
        worker, task, label = (Column(name, column) for name, column in self.columns().items())
        return Answers.of_columns(worker, task, label, self.model.domain, duplicates="error")

    @cached_property
    def truth(self) -> pd.DataFrame:
        """One row per task: task, label. Can be passed as ``gold``."""
        return _frame(self._truth_columns())

    @cached_property
    def workers(self) -> pd.DataFrame:
        """One row per worker: worker, fault, the worker's parameters, and the source of copiers."""
        return _frame(self._worker_columns())

    @cached_property
    def faults(self) -> dict[str, float]:
        """Fault of each worker (mean distance to the truth), for `allalike.OA`."""
        return dict(zip(self._worker_ids.to_pylist(), self.drawn.faults.tolist(), strict=True))

    @cached_property
    def _worker_ids(self) -> Any:
        return id_column("w", len(self.drawn.faults))

    @cached_property
    def _task_ids(self) -> Any:
        return id_column("t", len(self.drawn.truth))

    def columns(self) -> dict[str, Any]:
        """Return the worker, task and label of each answer, as Arrow columns or lists.

        >>> simulate("mallows(items=3)", workers=2, tasks=1, seed=2).columns()["label"].to_pylist()
        ['c>a>b', 'a>b>c']
        """
        return {
            "worker": self._worker_ids.take(arrow_of(self.drawn.worker)),
            "task": self._task_ids.take(arrow_of(self.drawn.task)),
            "label": self.model.column(self.drawn.label),
        }

    def _truth_columns(self) -> dict[str, Any]:
        return {"task": self._task_ids, "label": self.model.column(self.drawn.truth)}

    def _worker_columns(self) -> dict[str, Any]:
        numbers = {"fault": self.drawn.faults, **self.drawn.parameters}
        columns = {"worker": self._worker_ids, **{name: arrow_of(values) for name, values in numbers.items()}}
        if (self.drawn.source >= 0).any():
            ids = self._worker_ids.to_pylist()
            columns["copies"] = Values([ids[source] if source >= 0 else "" for source in self.drawn.source]).arrow()
        return columns

    def save(
        self,
        answers: str | os.PathLike[str],
        *,
        truth: str | os.PathLike[str] | None = None,
        workers: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> list[Path]:
        """Write the answers, and optionally the truth and the workers; return the paths.

        Tables are CSV or Parquet, according to the file ending; masks are written to a new folder. Existing files are
        replaced only with ``overwrite``. The files of one folder are written atomically.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paths = simulate("k=4 SYN").save(folder + "/answers.csv", truth=folder + "/truth.parquet")
        ...     [path.name for path in paths]
        ['answers.csv', 'truth.parquet']
        """
        write = _write_pictures if self.model.pictures else _write_table
        wanted: list[tuple[Any, Callable[[], dict[str, Any]], Callable[..., None]]] = [
            (answers, self.columns, write),
            (truth, self._truth_columns, write),
            (workers, self._worker_columns, _write_table),
        ]
        targets: dict[Path, tuple[Callable[[], dict[str, Any]], Callable[..., None]]] = {}
        for path, columns, writes in wanted:
            if path is not None:
                if not os.fspath(path):
                    raise OptionError("The path is ''. Name a file, such as answers.csv.")
                _check_target(Path(path), targets, is_table=writes is _write_table)
                targets[Path(path)] = columns, writes
        stages: dict[Path, Path] = {}
        with ExitStack() as opened:
            for target in targets:
                if target.parent not in stages:
                    names = [other.name for other in targets if other.parent == target.parent and not other.is_dir()]
                    output = Output(folder=target.parent, overwrite=overwrite, failure=f"{target} cannot be written")
                    stages[target.parent] = opened.enter_context(output.staged(names))
            for target, (columns, writes) in targets.items():
                writes(columns(), stages[target.parent] / target.name)
        return list(targets)


def simulate(
    model: Model | str,
    *,
    workers: int = 20,
    tasks: int | None = None,
    answers_per_task: int | None = None,
    copiers: Copiers | None = None,
    seed: int = 0,
) -> Simulated:
    """Simulate a crowd with known labels and known errors.

    Parameters
    ----------
    model
        A name from `MODELS`, with options in brackets if necessary, or a `Model`.
    workers
        Number of workers.
    tasks
        Number of tasks. The default depends on the model; it is one for the rankings of the paper.
    answers_per_task
        Number of workers per task (default: all).
    copiers
        Copiers among the workers, if any.
    seed
        Random seed.

    >>> import allalike
    >>> crowd = simulate("real SYN.N", workers=30, tasks=50, seed=1)
    >>> summary = allalike.discover(crowd.answers, gold=crowd.truth).summary
    >>> summary["gold"]["error"] < summary["gold"]["unweighted_error"]
    True
    """
    chosen = as_model(model)
    tasks = chosen.usual_tasks if tasks is None else tasks
    each = workers if answers_per_task is None else answers_per_task
    for name, value, least in (("workers", workers, 1), ("tasks", tasks, 1), ("seed", seed, 0)):
        check_number(value, name, least=least, whole=True)
    check_number(each, "answers_per_task", least=1, whole=True)
    if each > workers:
        raise OptionError(f"answers_per_task is {each}, but there are {workers} workers. Add workers.")
    if max(workers, tasks * each * chosen.size) > _MAX_VALUES:
        values = f" with {chosen.size:,} values each" if chosen.size > 1 else ""
        raise TooLargeError(
            f"{tasks * each:,} answers{values} by {workers:,} workers are too many. At most {_MAX_VALUES:,} values are"
            " supported: use fewer tasks or workers."
        )
    of_workers, of_truths, of_asked, of_answers, of_copies = map(
        np.random.default_rng, np.random.SeedSequence(seed).spawn(5)
    )
    copiers = copiers or Copiers()
    source = copiers.appoint(workers, of_copies)
    parameters, truth = chosen.parameters(workers, of_workers), chosen.truths(tasks, of_truths)
    worker, task = _asked(workers, tasks, each, of_asked)
    label = chosen.answers(truth[task], {name: values[worker] for name, values in parameters.items()}, of_answers)
    faults = chosen.faults(parameters)
    if copiers.number:
        label, chance = copiers.copy(worker, task, label, source, of_copies)
        answers = np.maximum(np.bincount(worker, minlength=workers), 1)
        share = np.bincount(worker, chance, workers) / answers
        faults = faults + share * (faults[source] - faults)
    return Simulated(chosen, Drawn(worker, task, label, truth, faults, parameters, source))


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({name: Values(column).series() for name, column in columns.items()})


def _asked(workers: int, tasks: int, each: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Sample the workers who answer each task, in order."""
    if 2 * each <= workers:
        chosen = _subsets(workers, tasks, each, rng)
    else:
        stays = np.ones((tasks, workers), np.bool_)
        np.put_along_axis(stays, _subsets(workers, tasks, workers - each, rng), values=False, axis=1)
        chosen = np.nonzero(stays)[1].reshape(tasks, each)
    return chosen.ravel(), np.repeat(np.arange(tasks), each)


def _subsets(workers: int, tasks: int, size: int, rng: np.random.Generator) -> Numbers:
    """Sample different workers for each task, at most half of all workers; duplicates are resampled."""
    chosen = np.sort(rng.integers(workers, size=(tasks, size)), axis=1)
    rows = np.arange(tasks)
    while len(rows):
        again = chosen[rows, 1:] == chosen[rows, :-1]
        rows, again = rows[again.any(axis=1)], again[again.any(axis=1)]
        part = chosen[rows]
        part[:, 1:][again] = rng.integers(workers, size=int(again.sum()))
        chosen[rows] = np.sort(part, axis=1)
    return chosen


def _write_table(columns: Mapping[str, Any], path: Path) -> None:
    write_tables(path, [pa.Table.from_arrays(list(columns.values()), names=list(columns))])


def _write_pictures(columns: Mapping[str, Any], folder: Path) -> None:
    """Write masks as image files, in one folder per task, with a manifest of their workers."""
    tasks, labels = columns["task"].to_pylist(), columns["label"]
    workers = columns["worker"].to_pylist() if "worker" in columns else ["truth"] * len(tasks)
    rows: dict[str, list[int]] = {}
    for row, task in enumerate(tasks):
        rows.setdefault(task, []).append(row)
    paths: list[str | None] = [None] * len(tasks)
    for task, own in rows.items():
        written = write_masks([Mask.of(labels[row]) for row in own], [workers[row] for row in own], folder / task)
        for row, path in zip(own, written, strict=True):
            paths[row] = path
    manifest = {"worker": pa.array(workers), "task": pa.array(tasks), "path": pa.array(paths)}
    _write_table(manifest, folder / "manifest.csv")


def _check_target(path: Path, others: Iterable[Path], *, is_table: bool) -> None:
    """Raise an error unless a path fits its content, does not overlap with the others and can be written."""
    if is_table and path.suffix.lower() not in TABLES:
        raise OptionError(f"{path} must end in {' or '.join(TABLES)}.")
    if not is_table and path.suffix.lower() in TABLES:
        raise OptionError(f"{path} looks like a table, but masks go to a folder. Name one, such as {path.stem}.")
    here = path.resolve()
    for other in (other.resolve() for other in others):
        if here == other or here in other.parents or other in here.parents:
            raise OptionError(f"{path} is used twice, or is inside another output folder. Use another path.")
    if path.is_dir() and is_table:
        raise OutputError(f"{path} cannot be written: it is a folder.")
    if path.is_dir() and any(path.iterdir()):
        raise OutputError(f"{path} cannot be written: the folder is not empty. Use another name, or remove it.")
