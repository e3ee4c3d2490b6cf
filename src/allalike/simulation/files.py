"""Files of a generated crowd: tables, and folders of masks."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa
from allalike._core.masks.files import write_masks
from allalike._core.masks.packed import Mask
from allalike._core.system.output import Output
from allalike.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["TABLES", "write_all", "write_pictures", "write_table"]

TABLES = (".csv", ".parquet")


def write_all(targets: Mapping[Path, Callable[[Path], None]], *, overwrite: bool = False) -> list[Path]:
    """Let each function write its file or folder; those of one folder are put in place together.

    Files that are there already are replaced only if they may be overwritten, and folders only if they are empty.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "note.txt")
    ...     _ = write_all({path: lambda beside: beside.write_text("done") and None})
    ...     path.read_text()
    'done'
    """
    stages: dict[Path, Path] = {}
    with ExitStack() as opened:
        for target in targets:
            _check_place(target)
            if target.parent not in stages:
                names = [other.name for other in targets if other.parent == target.parent and not other.is_dir()]
                output = Output(folder=target.parent, overwrite=overwrite, failure=f"{target} cannot be written")
                stages[target.parent] = opened.enter_context(output.staged(names))
        for target, write in targets.items():
            write(stages[target.parent] / target.name)
    return list(targets)


def _check_place(target: Path) -> None:
    if target.is_dir() and target.suffix.lower() in TABLES:
        raise OutputError(f"{target} cannot be written: it is a folder.")
    if target.is_dir() and any(target.iterdir()):
        raise OutputError(f"{target} cannot be written: it is a folder that is not empty. Name another, or remove it.")


def write_table(columns: Mapping[str, Any], path: Path) -> None:
    """Write columns as CSV or Parquet, as the ending says.

    >>> import pyarrow as pa, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table({"task": pa.array([7])}, Path(folder, "a.csv"))
    ...     Path(folder, "a.csv").read_text().split()
    ['"task"', '7']
    """
    table = pa.Table.from_arrays(list(columns.values()), names=list(columns))
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path)
    else:
        import pyarrow.csv as pacsv

        pacsv.write_csv(table, path, pacsv.WriteOptions(quoting_style="needed"))


def write_pictures(columns: Mapping[str, Any], folder: Path) -> None:
    """Write masks as image files, in one folder per task, and a manifest that says whose each of them is.

    >>> import numpy as np, pyarrow as pa, tempfile
    >>> from pathlib import Path
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
    paths: list[str | None] = [None] * len(tasks)
    for task, own in rows.items():
        written = write_masks([Mask.of(labels[row]) for row in own], [workers[row] for row in own], folder / task)
        for row, path in zip(own, written, strict=True):
            paths[row] = path

    write_table(
        {"worker": pa.array(workers), "task": pa.array(tasks), "path": pa.array(paths)}, folder / "manifest.csv"
    )
