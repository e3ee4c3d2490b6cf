"""Write a simulated crowd of any size: shuffled rows with string ids, ten answers per task, four classes.

Workers answer in fixed groups of ten, or mixed, so that nearly every pair of workers shares a task. A row follows from
its number by hashing, so memory is constant and every machine writes the same file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.hashes import mix
from allalike._core.columns.values import arrow_of

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

PER_TASK, CLASSES = 10, 4
_BATCH = 1 << 20
_STRIDE = 2_654_435_761  # prime, so that its multiples visit every row once


def rows(begin: int, end: int, answers: int, workers: int, *, mixed: bool = False) -> tuple[Any, Any, Any]:
    """Return worker, task and class numbers of a range of rows of the shuffled table."""
    row = np.arange(begin, end, dtype=np.uint64) * np.uint64(_STRIDE) % np.uint64(answers)
    np.random.default_rng(begin).shuffle(row)
    task, place = row // np.uint64(PER_TASK), row % np.uint64(PER_TASK)
    step = np.uint64(max(workers // PER_TASK, 1))
    worker = (mix(row ^ np.uint64(1 << 43)) % step if mixed else mix(task)) + place * step
    worker %= np.uint64(workers)
    truth = mix(task ^ np.uint64(1 << 40)) % np.uint64(CLASSES)
    fault = 0.05 + 0.6 * _uniform(worker ^ np.uint64(1 << 41))
    wrong = _uniform(row ^ np.uint64(1 << 42)) < fault
    shift = np.where(wrong, 1 + mix(row) % np.uint64(CLASSES - 1), 0).astype(np.uint64)
    return worker, task, (truth + shift) % np.uint64(CLASSES)


def write_crowd(path: Path, answers: int, workers: int | None = None, *, mixed: bool = False) -> Path:
    """Write a crowd as CSV or Parquet, by file extension."""
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    workers = workers or max(answers // 1000, 20)
    schema = pa.schema([("worker", pa.string()), ("task", pa.string()), ("label", pa.string())])
    open_writer = pq.ParquetWriter if path.suffix == ".parquet" else pacsv.CSVWriter
    with open_writer(path, schema) as writer:
        for begin in range(0, answers, _BATCH):
            worker, task, label = rows(begin, min(begin + _BATCH, answers), answers, workers, mixed=mixed)
            columns = [_ids("w", worker, 7), _ids("t", task, 9), _ids("c", label, 1)]
            writer.write_batch(pa.record_batch(columns, schema=schema))
    return path


def write_verdicts(path: Path, judges: int, items: int) -> Path:
    """Write pass or fail verdicts of judges on items."""
    rng = np.random.default_rng(0)
    truth, error = rng.integers(0, 2, items), np.linspace(0.1, 0.4, judges)
    verdict = truth ^ (rng.random((judges, items)) < error[:, None])
    lines = [f"judge-{i},item-{j},{('fail', 'pass')[verdict[i, j]]}" for i in range(judges) for j in range(items)]
    path.write_text("\n".join(["worker,task,label", *lines, ""]), encoding="utf-8")
    return path


def _ids(letter: str, numbers: npt.NDArray[np.uint64], digits: int) -> Any:
    """Format numbers with a prefix letter and a fixed number of digits."""
    import pyarrow as pa

    text = np.empty((len(numbers), digits + 1), np.uint8)
    text[:, 0] = ord(letter)
    for place in range(digits):
        text[:, digits - place] = ord("0") + (numbers // np.uint64(10**place)) % np.uint64(10)
    ends = np.arange(len(numbers) + 1, dtype=np.int32) * (digits + 1)
    return pa.Array.from_buffers(pa.string(), len(numbers), [None, arrow_of(ends).buffers()[1], pa.py_buffer(text)])


def _uniform(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    return (mix(numbers) >> np.uint64(11)).astype(np.float64) / (1 << 53)
