"""Gold labels, matched to the tasks of the answers, and worker statistics from earlier answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, sum_by
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values, write_plainly
from allalike.errors import GoldError, InputError, LabelError

if TYPE_CHECKING:
    from allalike.domains import Domain, Encoding

_PLAIN = (str, int, float)
_MAX_ANSWERS = 1e12
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Truths:
    """Gold labels as codes, in the order of their tasks' ids."""

    tasks: Values
    label: Array


@dataclass(frozen=True)
class Gold:
    """Gold labels as read: a column of distinct tasks and a column of labels.

    ``blank`` is the number of excluded tasks without a label. ``stated`` tells whether the user mapped the labels to
    those in the answers, so that no mapping is inferred.
    """

    task: Column
    label: Column
    blank: int = 0
    stated: bool = False

    def __post_init__(self) -> None:
        for column in (self.task, self.label):
            _refuse_missing(column)
        if not len(self.task):
            raise GoldError("No row of the gold table has a label." if self.blank else "The gold table is empty.")
        codes, ids = self.task.factors
        counts = np.bincount(codes)
        if counts.max() > 1:
            rows = np.flatnonzero(codes == np.argmax(counts))[:2]
            raise _two_truths(ids[int(np.argmax(counts))], *_list(self.label, rows))

    @classmethod
    def of(
        cls, task: Column, label: Column, blank: npt.NDArray[np.bool_] | None = None, *, stated: bool = False
    ) -> Gold:
        """Create gold labels without the tasks that ``blank`` marks and without duplicates."""
        blank = label.missing() if blank is None else blank
        _refuse_missing(task)
        stays = ~blank
        numbers = task.keep(stays).factors[0]
        if len(numbers) and np.bincount(numbers).max() > 1:
            match_truths(zip(_list(task.keep(stays)), _list(label.keep(stays)), strict=True))
            first = np.zeros(len(numbers), np.bool_)
            first[np.unique(numbers, return_index=True)[1]] = True
            stays[stays] = first
        return cls(task.keep(stays), label.keep(stays), int(blank.sum()), stated)

    def split(self, domain: Domain) -> Gold:
        """Split labels that contain several masks, as the answers are split."""
        if domain.pictures is None or not domain.pictures.splits:
            return self
        columns = {"task": Column("task", _list(self.task)), "label": Column("label", _list(self.label))}
        split = domain.pictures.split(columns)
        return Gold(split["task"], split["label"], self.blank, self.stated)

    def encode(self, encoding: Encoding) -> tuple[Encoding, Truths]:
        """Encode the labels; return also the encoding, extended by labels that occur in no answer."""
        codes, ids = self.task.factors
        try:
            encoding, label = encoding.encode_gold(self.label)
        except LabelError as error:
            raise GoldError(f"The gold labels cannot be encoded. {error}") from error
        return encoding, Truths(ids, label[np.argsort(codes)])

    def joined(self, more: Gold) -> Gold:
        """Return these labels and ``more``, which replaces labels of the same tasks; numbers become texts if needed."""
        tasks = join_values("task", [*_list(self.task), *_list(more.task)])
        labels = join_values("label", [*_list(self.label), *_list(more.label)])
        known = dict(zip(_list(tasks), _list(labels), strict=True))
        columns = join_values("task", list(known)), join_values("label", list(known.values()))
        return Gold(*columns, self.blank + more.blank, self.stated and more.stated)

    def count(self, known: int, first_task: Any) -> dict[str, int]:
        """Count the tasks with gold labels with and without answers; raise an error if none has answers."""
        _, ids = self.task.factors
        if not known:
            raise GoldError(
                f"None of the {len(ids)} tasks with gold labels has answers. The first of them is {ids[0]!r}, and the"
                f" first task with answers is {first_task!r}. Write both in the same way."
            )
        counts = {"tasks": known, "without_answers": len(ids) - known}
        return {**counts, "blank": self.blank} if self.blank else counts

    def find_unanswered(self, encoding: Encoding) -> list[Any]:
        """List the distinct labels that occur in no answer."""
        encoding, truths = self.encode(encoding)
        rows = np.sort(np.argsort(self.task.factors[0])[encoding.is_unanswered(truths.label)])
        if not len(rows):
            return []
        codes, values = self.label.parsed(lambda value: value)
        return [values[code] for code in dict.fromkeys(codes[rows].tolist())]


def match_truths(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the gold label of each task; raise an error if a task has two different ones."""
    labels: dict[Any, Any] = {}
    for task, label in pairs:
        first = labels.setdefault(task, label)
        plain = isinstance(first, _PLAIN) and isinstance(label, _PLAIN)
        if not (write_plainly(first) == write_plainly(label) if plain else np.all(first == label)):
            raise _two_truths(task, first, label)
    return labels


def _two_truths(task: Any, first: Any, second: Any) -> GoldError:
    return GoldError(f"Task {task!r} has two different gold labels, {first!r} and {second!r}. Keep one of them.")


def _refuse_missing(column: Column) -> None:
    missing = column.missing()
    if missing.any():
        row = column.row(int(np.argmax(missing)))
        raise GoldError(f"Row {row} of the gold labels has no {column.name}. Add it, or remove the row.")


def _list(column: Column, rows: Any = slice(None)) -> list[Any]:
    """Return the values of a column, or of some of its rows."""
    codes, values = column.parsed(lambda value: value)
    return [values[code] for code in codes[rows]]


def join_values(role: str, values: list[Any]) -> Column:
    """Concatenate parts of a column; numbers among texts become texts."""
    kinds = set(map(type, values))
    if str in kinds and kinds <= {str, int, float, bool}:
        values = list(map(str, values))
    try:
        return Column.of_objects(role, values)
    except InputError:  # lists, and texts that are lists
        return Column(role, values)


@dataclass(frozen=True)
class History:
    """Worker statistics from earlier answers."""

    answers: Floats
    fault: Floats
    workers: tuple[Any, ...] = ()

    @classmethod
    def of(cls, workers: Sequence[Any], answers: Any, fault: Any) -> History:
        """Create a history from statistics of some workers; missing statistics count as zero answers."""
        number, mean = np.asarray(answers, np.float64), np.asarray(fault, np.float64)
        known = np.isfinite(number) & np.isfinite(mean) & (number > 0)
        counted = np.minimum(np.where(known, number, 0.0), _MAX_ANSWERS)
        return cls(counted, np.where(known, mean, 0.0), tuple(workers))

    def of_workers(self, workers: Sequence[Any], *, most: float = np.inf) -> History:
        """Return the statistics of these workers, in their order; ids are compared as texts.

        Several statistics of a worker, as in concatenated tables, are combined. Mean errors are limited to ``most``,
        the largest possible distance between labels of this type.
        """
        place = {str(worker): number for number, worker in enumerate(workers)}
        known = np.array([place.get(str(worker), -1) for worker in self.workers], np.intp)
        here, size = known >= 0, len(workers)
        answers = sum_by(known[here], self.answers[here], size)
        total = sum_by(known[here], (self.answers * self.fault)[here], size)
        fault = np.minimum(total / np.where(answers > 0, answers, 1.0), most)
        every = np.array([place[str(worker)] for worker in workers], np.intp)  # a worker may occur once per task
        return History(answers[every], fault[every])

    @property
    def spread(self) -> tuple[float, float]:
        """The mean error, and the variance between workers beyond sampling error.

        The sampling variance of an answer is error (1 - error). This is exact for classes.
        """
        total = self.answers.sum()
        if total <= 0:
            return 0.0, 0.0
        mean = float((self.answers * self.fault).sum() / total)
        between = float((self.answers * (self.fault - mean) ** 2).sum() / total)
        chance = max(mean * (1 - mean), 0.0) * float((self.answers > 0).sum()) / float(total)
        return mean, max(between - chance, 0.0)
