"""Files of a generated crowd: tables, and folders of masks."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.errors import OutputError
from allalike.masks import files as pictures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["TABLES", "write_all", "write_pictures", "write_table"]

TABLES = (".csv", ".parquet")


def write_all(targets: Mapping[Path, Callable[[Path], None]]) -> list[Path]:
    """Let each function write its file or folder beside its place, and then rename all of them into place.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "note.txt")
    ...     _ = write_all({path: lambda beside: beside.write_text("done") and None})
    ...     path.read_text()
    'done'
    """
    made: dict[Path, Path] = {}
    with ExitStack() as stack:
        for target, write in targets.items():
            with _reasons(target):
                target.absolute().parent.mkdir(parents=True, exist_ok=True)
                beside = tempfile.TemporaryDirectory(prefix=".allalike-", dir=target.absolute().parent)
                made[target] = Path(stack.enter_context(beside), target.name)
                write(made[target])
                _check_place(target, made[target])
        for target, written in made.items():
            with _reasons(target):
                if target.is_dir():
                    target.rmdir()
                written.replace(target)
    return list(made)


@contextmanager
def _reasons(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}.") from error


def _check_place(target: Path, written: Path) -> None:
    if target.is_dir() and not written.is_dir():
        raise OSError(0, "it is a folder")
    if target.is_dir() and any(target.iterdir()):
        raise OSError(0, "it is a folder that is not empty. Name another, or remove it")


def write_table(columns: Mapping[str, Any], path: Path) -> None:
    """Write columns as CSV or Parquet, as the ending says.

    >>> import pyarrow as pa
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table({"task": pa.array([7])}, Path(folder, "a.csv"))
    ...     Path(folder, "a.csv").read_text().split()
    ['"task"', '7']
    """
    import pyarrow as pa

    table = pa.Table.from_arrays(list(columns.values()), names=list(columns))
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path)
    else:
        import pyarrow.csv as pacsv

        pacsv.write_csv(table, path, pacsv.WriteOptions(quoting_style="needed"))


def write_pictures(columns: Mapping[str, Any], folder: Path) -> None:
    """Write masks as image files, in one folder per task, and a manifest that says whose each of them is.

    >>> import numpy as np, pyarrow as pa
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_pictures({"task": pa.array(["t1"]), "label": [np.eye(2, dtype=np.bool_)]}, Path(folder, "masks"))
    ...     [path.name for path in Path(folder).glob("masks/*/*")]
    ['truth.png']
    """
    tasks, labels = columns["task"].to_pylist(), columns["label"]
    workers = columns["worker"].to_pylist() if "worker" in columns else ["truth"] * len(tasks)
    rows: dict[str, list[int]] = {}
    for row, task in enumerate(tasks):
        rows.setdefault(task, []).append(row)
    paths = [""] * len(tasks)
    for task, own in rows.items():
        names = [workers[row] for row in own]
        for row, path in zip(own, pictures.write_pictures([labels[r] for r in own], names, folder / task), strict=True):
            paths[row] = path
    import pyarrow as pa

    write_table(
        {"worker": pa.array(workers), "task": pa.array(tasks), "path": pa.array(paths)}, folder / "manifest.csv"
    )
