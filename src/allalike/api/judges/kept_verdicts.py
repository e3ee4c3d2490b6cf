"""Kept verdicts: what each judge said of each task, saved with a panel so that a later one can be compared with it.

Of many verdicts those on some whole tasks are kept, chosen by the hashes of their ids, so that another run keeps those
on the same tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import text_column
from allalike._core.late import pd
from allalike._core.system.addresses import find_folder
from allalike._core.system.formulas import unguard_text
from allalike.api.inputs.saved_files import SUMMARY, check_complete, check_own_file, read_summary
from allalike.api.judges.task_verdicts import find_ids
from allalike.engines.sample import sample_tasks
from allalike.errors import InputError
from allalike.telling.panel_summary import PanelSummary
from allalike.telling.schemas import JsonForm, describe_form, find_misfit
from allalike.telling.summary import LabelKind

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.task_groups import GroupColumn
    from allalike.engines import Run, TaskTable

__all__ = ["Earlier", "KeptVerdicts", "keep_verdicts", "read_earlier"]

_DIGITS = 12  # of numbers, of which sums and differences leave traces in the last ones
_COLUMNS = ("judge", "task", "label", "truth", "group")
_EARLIER = JsonForm(
    "What is read of the summary of an earlier panel.",
    {"panel": PanelSummary, "domain": LabelKind, "files": tuple[str, ...], "safe_csv?": bool},
)


@dataclass(frozen=True)
class KeptVerdicts:
    """Who said what: a row for each verdict, all of it as text; a truth or a group that is not known is empty."""

    judge: npt.NDArray[np.object_]
    task: npt.NDArray[np.object_]
    label: npt.NDArray[np.object_]
    truth: npt.NDArray[np.object_]
    group: npt.NDArray[np.object_]

    def describe(self) -> dict[str, Any]:
        """Return nothing: it is for later."""
        return {}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each verdict."""
        return {"verdicts": {name: text_column(getattr(self, name).tolist()) for name in _COLUMNS}}

    def judge_columns(self) -> Columns:
        """Return nothing: they are no statistics."""
        return {}


def keep_verdicts(run: Run, found: TaskTable, n_answers: int, groups: GroupColumn | None) -> KeptVerdicts:
    """Take about so many verdicts of a run.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y")], domain="categorical")
    >>> kept = keep_verdicts(result.run, result.found, 10, None)
    >>> kept.judge.tolist(), kept.task.tolist(), kept.label.tolist()
    (['ada', 'bob'], ['1', '1'], ['x', 'y'])
    """
    blocks = sample_tasks(run, n_answers).blocks
    judges = np.array([*map(str, run.workers.tolist())], object)
    rows: list[Sequence[npt.NDArray[Any]]] = []
    for block in blocks:
        ids = np.array([*map(str, find_ids(found, block.task_hash).tolist())], object)
        group = np.array(["" if groups is None else groups.value.get(each, "") for each in ids], object)
        truth = np.full(block.n_tasks, "", object)
        truth[block.gold_task] = _write(run, block.gold_label)
        task = block.task
        rows.append((judges[block.worker], ids[task], _write(run, block.label), truth[task], group[task]))
    return KeptVerdicts(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def _write(run: Run, label: Array) -> npt.NDArray[np.object_]:
    """Return labels as text; a truth that no judge gave is as good as unknown."""
    encoding = run.encoding
    if encoding.numeric:
        return np.array([f"{each:.{_DIGITS}g}" for each in encoding.decode(label).tolist()], object)
    names = np.array([*map(str, encoding.decode(np.arange(encoding.n_labels)).tolist()), ""], object)
    return np.asarray(names[label])


@dataclass(frozen=True)
class Earlier:
    """A panel that was saved: its verdicts, the kind of its labels, and its rate, if it had one."""

    folder: str
    verdicts: KeptVerdicts
    kind: str
    rate: Mapping[str, Any] | None

    def check(self, kind: str) -> None:
        """Refuse a panel with labels of another kind."""
        if self.kind != kind:
            raise InputError(
                f"The labels of the panel in {self.folder} are {self.kind}, and these are {kind}, so that they cannot"
                " be compared. Name a panel on the same kind of labels, or read both alike with domain=."
            )


def read_earlier(folder: str | os.PathLike[str]) -> Earlier:
    """Read what a panel saved of its verdicts.

    >>> read_earlier("nowhere")
    Traceback (most recent call last):
    allalike.errors.InputError: There is no panel in nowhere. Name a folder that 'allalike jury' wrote.
    """
    summary = _read_summary(find_folder(folder))
    names = [name for name in ("verdicts.csv", "verdicts.parquet") if name in summary.get("files", [])]
    if not names:
        raise InputError(
            f"The panel in {folder} kept no verdicts to compare with: only classes, numbers and levels are kept, and"
            " older versions kept none. Run 'allalike jury' on its files again."
        )
    return Earlier(
        str(folder),
        _read_table(Path(folder, names[0]), guarded=summary.get("safe_csv") is True),
        str(summary.get("domain", {}).get("name", "")),
        summary["panel"].get("rate"),
    )


def _read_summary(folder: Path) -> Any:
    check_complete(folder)
    check_own_file(folder / SUMMARY)
    try:
        summary = read_summary(folder)
    except OSError:
        raise InputError(f"There is no panel in {folder}. Name a folder that 'allalike jury' wrote.") from None
    except (ValueError, TypeError):
        summary = {}
    if find_misfit(summary, describe_form(_EARLIER)) is not None:
        raise InputError(f"{folder / SUMMARY} is not the summary of a panel. Name a folder that 'allalike jury' wrote.")
    return summary


def _read_table(path: Path, *, guarded: bool) -> KeptVerdicts:
    try:
        check_own_file(path)
        if path.suffix == ".parquet":
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(path, dtype=str, keep_default_na=False)
        columns = [table[name].astype(str).to_numpy(object) for name in _COLUMNS]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"The verdicts of the earlier panel, {path}, cannot be read: {error}") from None
    if guarded:
        columns = [np.array([unguard_text(each) for each in column], object) for column in columns]
    return KeptVerdicts(*columns)
