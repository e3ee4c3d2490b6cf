"""Results: the files of a folder that may be shown and saved, and nothing else that is on the disk."""

from __future__ import annotations

import tempfile
import zipfile
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from allalike.api.inputs.saved_files import read_summary
from allalike.api.results.targets import REPORT, list_saved, result_names
from allalike.errors import InputError
from allalike.telling.schemas import describe_form, find_misfit
from allalike.telling.summary import Summary
from allalike.telling.truths import list_facts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Found"]


@dataclass(frozen=True)
class Found:
    """A result: the files that its summary lists, by their names, and the page to look at.

    >>> Found().describe()
    {'files': [], 'page': False, 'facts': [], 'notes': []}
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    page: Path | None = None
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path, *, notes: tuple[str, ...] = ()) -> Found:
        """Find the files of a result; a link that leads out of the folder is none of them."""
        root = folder.resolve()
        listed = {name: folder / name for name in list_saved(folder)}
        order = [name.partition(".")[0] for name in result_names("csv")]
        names = sorted(listed, key=lambda name: (_place(name, order), name))
        files = {name: listed[name] for name in names if _is_inside(listed[name], root)}
        return cls(files, files.get(REPORT), _list_facts(folder), notes)

    def describe(self) -> dict[str, Any]:
        """Return what a page shows of it; files in folders of their own are in the archive only."""
        shown = {name: path for name, path in self.files.items() if "/" not in name and name != REPORT}
        listed = [{"name": name, "size": path.stat().st_size} for name, path in shown.items() if path.is_file()]
        return {"files": listed, "page": self.page is not None, "facts": [*self.facts], "notes": [*self.notes]}

    def pack(self, folder: Path) -> IO[bytes]:
        """Put all files into an archive, which is a file in the folder that goes when it is closed."""
        packed = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in {**self.files, **({REPORT: self.page} if self.page else {})}.items():
                archive.write(path, name)
        packed.seek(0)
        return packed


def _place(name: str, order: list[str]) -> int:
    """Return where a file stands among those of a result.

    >>> _place("workers.parquet", ["truth", "workers"]), _place("coco/x.json", ["truth", "workers"])
    (1, 2)
    """
    stem = name.partition(".")[0]
    return order.index(stem) if stem in order else len(order)


def _is_inside(path: Path, root: Path) -> bool:
    return path.is_file() and path.resolve().is_relative_to(root)


def _list_facts(folder: Path) -> tuple[str, ...]:
    """Say in a few words what the result is of."""
    try:
        summary = read_summary(folder)
    except (OSError, ValueError, TypeError, InputError):
        return ()
    if find_misfit(summary, describe_form(Summary)) is not None:
        return ()
    return tuple(list_facts(Summary.from_dict(summary)))
