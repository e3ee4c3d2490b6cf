"""Answers of peerannot and WRENCH."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from allalike.errors import InputError
from allalike.readers.column_names import SYNONYMS
from allalike.readers.formats.frames import SILENT, as_label_matrix
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_document

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table


class Peerannot(Tool):
    """peerannot's ``answers.json``, and every JSON of the form ``{task: {worker: label}}``.

    >>> Peerannot().answers_in({"answers.json": '{"photo 1": {"0": 3, "1": 3}, "photo 2": {"0": 5}}'})
    [('0', 'photo 1', 3), ('1', 'photo 1', 3), ('0', 'photo 2', 5)]
    """

    name: ClassVar[str] = "peerannot"
    title: ClassVar[str] = "peerannot"
    summary: ClassVar[str] = "labels by task and worker, {task: {worker: label}} (JSON)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file is one object of objects, of which all values are labels."""
        document = peek.document if peek.ending == ".json" else None
        return isinstance(document, dict) and _is_nested(document)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the labels; the outer keys are the tasks, the inner ones the workers."""
        found = Collection(self, paths, files)
        for path in paths:
            tasks = read_document(path)
            if not tasks.value:
                raise InputError(f"{path} holds no tasks.")
            for task, answers in tasks.fields().items():
                for worker, label in answers.fields().items():
                    who = found.worker_of(path) if files.worker_from == "filename" else worker
                    found.add(who, task, _label(label))
        found.remarks.append(
            "The outer keys are read as tasks, and the inner ones as workers. If it is the other way round, swap the"
            " columns: the worker is 'task', and the task is 'worker'."
        )
        return found.table()


def _label(label: Node) -> Any:
    """Return a label; several in a list are a set."""
    if isinstance(label.value, list):
        return tuple(item.scalar() for item in label.items())
    return None if label.value is None else label.scalar()


def _is_nested(document: dict[str, Any]) -> bool:
    """Tell whether this is a mapping of mappings of labels, and not a table by columns."""
    inner = [value for value in document.values() if isinstance(value, dict)]
    labels = [label for value in inner for label in value.values()]
    labels = [item for label in labels for item in (label if isinstance(label, list) else [label])]
    by_columns = {key.casefold() for key in document} & {word for words in SYNONYMS.values() for word in words}
    return (
        bool(labels)
        and len(inner) == len(document)
        and not by_columns
        and all(label is None or isinstance(label, str | int | float) for label in labels)
    )


# WRENCH: what labelling functions say, in the splits of a benchmark of weak supervision.


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
