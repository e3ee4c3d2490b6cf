"""Rows of plain files, and what is read of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from allalike.answers import Answers
from allalike.readers import scan

ROWS = [("ada", "t1", "café"), ("bob", "t1", "thé"), ("eve", "t1", "café"), ("ada", "t2", "thé"), ("bob", "t2", "thé")]
HEADER = ("worker", "task", "label")
TEXT = "".join(",".join(row) + "\n" for row in [HEADER, *ROWS])


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(source: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Return what is read, which must be the same in memory and in a stream."""
    named = scan(source, **{"domain": "categorical", **options})
    answers = named.read()
    parts = [{role: batch[role].data.to_pylist() for role in HEADER} for batch in named.stream().batches()]
    streamed = {(str(worker), str(task)) for part in parts for worker, task, _ in zip(*part.values(), strict=True)}
    assert {(str(worker), str(task)) for worker, task, _ in triples(answers)} == streamed
    return triples(answers)


def triples(answers: Answers) -> list[tuple[Any, ...]]:
    workers, tasks = answers.workers.tolist(), answers.tasks.tolist()
    labels = answers.encoding.decode(answers.label).tolist()
    task = np.repeat(np.arange(len(tasks)), np.diff(answers.starts)).tolist()
    parts = zip(task, answers.worker.tolist(), labels, strict=True)
    return sorted((workers[worker], tasks[place], label) for place, worker, label in parts)


def as_parquet(table: Any, folder: Path) -> Path:
    pq.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def as_arrow(table: Any, folder: Path) -> Path:
    with pa.ipc.new_file(str(folder / "a.arrow"), table.schema) as file:
        file.write_table(table)
    return folder / "a.arrow"


def as_it_is(table: Any, folder: Path) -> Any:
    return table
