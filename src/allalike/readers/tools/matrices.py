"""Answers of peerannot and WRENCH: JSON with one object of all tasks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from allalike.errors import InputError
from allalike.readers.column_names import SYNONYMS
from allalike.readers.formats.frames import SILENT, as_label_matrix
from allalike.readers.tools.frame import Answer, Export, record_tool
from allalike.readers.tools.trees import get, get_numbers, get_object, get_scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.readers.tools.base import Peek


def _is_nested(peek: Peek) -> bool:
    """Return whether this is a mapping of mappings of labels, and not a table by columns."""
    document = peek.document if peek.ending == ".json" else None
    if not isinstance(document, dict) or not all(isinstance(value, dict) for value in document.values()):
        return False
    labels = [label for value in document.values() for label in value.values()]
    labels = [item for label in labels for item in (label if isinstance(label, list) else [label])]
    by_columns = {key.casefold() for key in document} & {word for words in SYNONYMS.values() for word in words}
    are_labels = all(label is None or isinstance(label, str | int | float) for label in labels)
    return bool(labels) and not by_columns and are_labels


@record_tool("peerannot", "peerannot", "labels by task and worker, {task: {worker: label}} (JSON)", _is_nested)
def peerannot(export: Export) -> Iterator[Answer]:
    """Read ``{"photo 1": {"0": 3, "1": 3}, "photo 2": {"0": 5}}``; several labels in a list are a set."""
    for path in export.paths:
        tasks = get_object(export.document(path))
        if not tasks:
            raise InputError(f"{path} holds no tasks.")
        for task, answers in tasks.items():
            export.at = f"{path}: task {task!r}"
            for worker, label in get_object(answers).items():
                several = tuple(map(get_scalar, label)) if isinstance(label, list) else None
                label = several if several is not None else get_scalar(label, default=None)
                yield Answer(export.owner if export.by_file else worker, task, label)
    export.remarks.append(
        "The outer keys are read as tasks, and the inner ones as workers. If it is the other way round, swap the"
        " columns: the worker is 'task', and the task is 'worker'."
    )


def _has_weak_labels(peek: Peek) -> bool:
    document = peek.document if isinstance(peek.document, dict) else {}
    task = next((task for task in document.values() if isinstance(task, dict)), {})
    return isinstance(task.get("weak_labels"), list)


@record_tool(
    "wrench",
    "WRENCH",
    "a label matrix: what labelling functions say of each task, -1 for nothing (JSON)",
    _has_weak_labels,
)
def wrench(export: Export) -> Iterator[Answer]:
    """Read ``{"0": {"label": 1, "weak_labels": [-1, 0, 1]}}``; functions are numbered from 0, ``label`` is gold."""
    silent, sizes = 0, set()
    for path in export.paths:
        split = f"{export.worker_of(path)}/" if len(export.paths) > 1 else ""  # each numbers its tasks from 0
        for name, task in get_object(export.document(path)).items():
            export.at = f"{path}: task {name!r}"
            labels = get_numbers(task, "weak_labels")
            sizes.add(len(labels))
            given = [(number, label) for number, label in enumerate(labels) if label != SILENT]
            silent += not given
            for number, label in given:
                yield Answer(str(number), f"{split}{name}", label, gold=get(task, "label"))
    if len(sizes) > 1:
        raise InputError(f"{export.where}, has tasks with {min(sizes)} and with {max(sizes)} weak labels.")
    export.finish = partial(as_label_matrix, silent=silent)
