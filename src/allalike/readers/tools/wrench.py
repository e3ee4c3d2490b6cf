"""WRENCH: what labelling functions say, in the splits of a benchmark of weak supervision."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from allalike.errors import InputError
from allalike.readers.formats.matrices import SILENT, as_label_matrix
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import read_document

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["Wrench"]


class Wrench(Tool):
    """WRENCH's ``train.json``, ``valid.json`` and ``test.json``.

    >>> Wrench().answers_in({"train.json": '{"0": {"label": 1, "weak_labels": [-1, 0, 1], "data": {"text": "Hi!"}}}'})
    [('1', '0', 0), ('2', '0', 1)]
    """

    name: ClassVar[str] = "wrench"
    title: ClassVar[str] = "WRENCH"
    summary: ClassVar[str] = "a label matrix: what labelling functions say of each task, -1 for nothing (JSON)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file is one object of tasks that have weak labels."""
        document = peek.document if isinstance(peek.document, dict) else {}
        tasks = [task for task in document.values() if isinstance(task, dict)]
        return bool(tasks) and isinstance(tasks[0].get("weak_labels"), list)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the weak labels; functions are numbered from 0, and ``gold`` is the known label of a task."""
        found, silent, sizes = Collection(self, paths, files), 0, set()
        for path in paths:
            split = f"{found.worker_of(path)}/" if len(paths) > 1 else ""  # each numbers its tasks from 0
            for name, task in read_document(path).fields().items():
                labels = task["weak_labels"].items()
                sizes.add(len(labels))
                said = {n: label.value for n, label in enumerate(labels) if label.number() != SILENT}
                silent += not said
                for function, label in said.items():
                    found.add(str(function), f"{split}{name}", label, gold=task["label"].value)
        if len(sizes) > 1:
            raise InputError(f"{found.where}, has tasks with {min(sizes)} and with {max(sizes)} weak labels.")
        return as_label_matrix(found.table(), silent)
