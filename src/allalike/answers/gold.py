"""Gold: truths that are known beforehand, matched with the tasks of the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import sum_by
from allalike._core.columns.column import Column
from allalike._core.columns.matches import write_plainly
from allalike.errors import GoldError, InputError, LabelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allalike._core.blocks.block import Array
    from allalike._core.columns.values import Values
    from allalike.domains import Domain, Encoding

_PLAIN = (str, int, float)


@dataclass(frozen=True)
class Truths:
    """Known truths as codes, in the order of their tasks' ids."""

    tasks: Values
    label: Array


@dataclass(frozen=True)
class Gold:
    """Known truths as they came: a column of tasks, none of which comes twice, and one of labels.

    ``blank`` says how many tasks came without a label, and are left out, and ``stated`` whether somebody said what the
    labels mean among the answers, so that nobody need wonder.

    >>> from allalike._core.columns.column import Column
    >>> gold = Gold.of(Column.of_objects("task", ["t2", "t3", "t4"]), Column.of_objects("label", ["x", "y", None]))
    >>> gold.count(1, "t1")
    {'tasks': 1, 'without_answers': 1, 'blank': 1}
    """

    task: Column
    label: Column
    blank: int = 0
    stated: bool = False

    def __post_init__(self) -> None:
        for column in (self.task, self.label):
            missing = column.missing()
            if missing.any():
                raise GoldError(f"The gold has no {column.name} in row {column.row(int(np.argmax(missing)))}.")
        if not len(self.task):
            raise GoldError("The gold is empty." if not self.blank else "No row of the gold has a label.")
        codes, ids = self.task.factors
        if np.bincount(codes).max() > 1:
            twice = int(np.argmax(np.bincount(codes)))
            values, labels = self.label.parsed(lambda value: value)
            first, second = (labels[values[row]] for row in np.flatnonzero(codes == twice)[:2])
            raise _two_truths(ids[twice], first, second)

    @classmethod
    def of(
        cls, task: Column, label: Column, blank: npt.NDArray[np.bool_] | None = None, *, stated: bool = False
    ) -> Gold:
        """Leave out tasks without a label, as ``blank`` marks them, and truths that are there already.

        >>> task, label = Column.of_objects("task", [1, 1, 2]), Column.of_objects("label", ["x", "x", "y"])
        >>> len(Gold.of(task, label).task)
        2
        """
        blank = label.missing() if blank is None else blank
        lost = task.missing()
        if lost.any():
            raise GoldError(f"The gold has no task in row {task.row(int(np.argmax(lost)))}.")
        first = _mark_first(task.keep(~blank), label.keep(~blank))
        kept = np.flatnonzero(~blank)[first]
        stays = np.zeros(len(blank), np.bool_)
        stays[kept] = True
        return cls(task.keep(stays), label.keep(stays), int(blank.sum()), stated)

    def split(self, domain: Domain) -> Gold:
        """Return the truths one by one, where one stands for several, as the answers are split."""
        if domain.pictures is None or not domain.pictures.splits:
            return self
        split = domain.pictures.split({role: Column(role, _listed(getattr(self, role))) for role in ("task", "label")})
        return Gold(split["task"], split["label"], self.blank, self.stated)

    def encode(self, encoding: Encoding) -> tuple[Encoding, Truths]:
        """Turn the truths into codes; return also the encoding that knows them, for nobody need have answered them."""
        codes, ids = self.task.factors
        try:
            encoding, label = encoding.encode_gold(self.label)
        except LabelError as error:
            raise GoldError(f"The gold does not fit. {error}") from error
        return encoding, Truths(ids, label[np.argsort(codes)])

    def joined(self, more: Gold) -> Gold:
        """Return these truths and more; where both have a task, the truth that came later.

        >>> from allalike._core.columns.column import Column
        >>> one, two = (Gold(Column.of_objects("task", [1, task]), Column.of_objects("label", ["x", label]))
        ...             for task, label in ((2, "y"), (3, "z")))
        >>> one.joined(two).label.data.to_pylist()
        ['x', 'y', 'z']
        """
        tasks, labels = (_listed(*pair) for pair in ((self.task, more.task), (self.label, more.label)))
        truths = dict(zip(tasks, labels, strict=True))
        columns = Column.of_objects("task", list(truths)), _column(list(truths.values()))
        return Gold(*columns, self.blank + more.blank, self.stated and more.stated)

    def count(self, known: int, first_task: Any) -> dict[str, int]:
        """Say how many truths are those of tasks that were answered, which at least one must be."""
        _, ids = self.task.factors
        if not known:
            raise GoldError(
                f"None of the {len(ids)} tasks with gold was answered. The first is {ids[0]!r}; the first task of the"
                f" answers is {first_task!r}."
            )
        return {
            "tasks": known,
            "without_answers": len(ids) - known,
            **({"blank": self.blank} if self.blank else {}),
        }

    def find_unanswered(self, encoding: Encoding) -> list[Any]:
        """List the labels that nobody gave, each once.

        >>> import allalike
        >>> answers = allalike.read([("ada", 1, "cat"), ("bob", 1, "cat"), ("ada", 2, "dog")])
        >>> gold = Gold.of(Column.of_objects("task", [1, 2]), Column.of_objects("label", ["CAT", "dog"]))
        >>> gold.find_unanswered(answers.encoding)
        ['CAT']
        """
        encoding, truths = self.encode(encoding)
        rows = np.argsort(self.task.factors[0])[encoding.is_unanswered(truths.label)]
        if not len(rows):
            return []
        codes, values = self.label.parsed(lambda value: value)
        return [values[code] for code in dict.fromkeys(codes[np.sort(rows)].tolist())]


def match_truths(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the truth of each task, or refuse two that differ.

    >>> match_truths([("t1", "x"), ("t2", "y"), ("t1", "x")])
    {'t1': 'x', 't2': 'y'}
    """
    found: dict[Any, Any] = {}
    for task, label in pairs:
        if not _is_same(found.setdefault(task, label), label):
            raise _two_truths(task, found[task], label)
    return found


def _two_truths(task: Any, first: Any, second: Any) -> GoldError:
    return GoldError(f"The gold has two truths for task {task!r}, {first!r} and {second!r}. Keep one of them.")


def _mark_first(task: Column, label: Column) -> npt.NDArray[np.bool_]:
    """Mark the rows that are the first with this task and this label."""
    first, numbers = np.ones(len(task), np.bool_), task.factors[0]
    if np.bincount(numbers, minlength=1).max() <= 1:
        return first
    codes, values = label.parsed(lambda value: value)
    kept: dict[int, list[Any]] = {}
    for row, number in enumerate(numbers.tolist()):
        seen = kept.setdefault(number, [])
        first[row] = not any(_is_same(values[codes[row]], other) for other in seen)
        if first[row]:
            seen.append(values[codes[row]])
    return first


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, _PLAIN) and isinstance(other, _PLAIN):
        return write_plainly(one) == write_plainly(other)
    return bool(np.all(one == other))


def _listed(*columns: Column) -> list[Any]:
    """Return the values of all columns, one behind the other; if some are texts, so are numbers."""
    values = [
        parsed[code] for codes, parsed in (column.parsed(lambda value: value) for column in columns) for code in codes
    ]
    kinds = set(map(type, values))
    return list(map(str, values)) if str in kinds and kinds <= {str, int, float, bool} else values


def _column(labels: list[Any]) -> Column:
    try:
        return Column.of_objects("label", labels)
    except InputError:  # lists, and texts that are lists
        return Column("label", labels)


# History: what is known of workers from earlier answers.


_MAX_ANSWERS = 1e12  # as many as nobody ever gave
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class History:
    """What earlier answers say of each worker.

    >>> History.of(["eve", "ada"], [10, 5], [0.1, 0.2]).of_workers(["ada", "bob"])
    History(answers=array([5., 0.]), fault=array([0.2, 0. ]), workers=())
    """

    answers: Floats
    fault: Floats
    workers: tuple[Any, ...] = ()

    @classmethod
    def of(cls, workers: Sequence[Any], answers: Any, fault: Any) -> History:
        """Keep what is known of some workers; what is not known of them counts nothing."""
        number, mean = np.asarray(answers, np.float64), np.asarray(fault, np.float64)
        known = np.isfinite(number) & np.isfinite(mean) & (number > 0)
        counted = np.minimum(np.where(known, number, 0.0), _MAX_ANSWERS)
        return cls(counted, np.where(known, mean, 0.0), tuple(workers))

    def of_workers(self, workers: Sequence[Any], *, most: float = np.inf) -> History:
        """Return what is known of these workers, in their order; ids are the same if they are written the same.

        What is told of a worker several times, as where tables were put together, is added up. No fault is larger than
        ``most``, which is what labels of this kind can be apart.
        """
        place = {str(worker): number for number, worker in enumerate(workers)}
        known = np.array([place.get(str(worker), -1) for worker in self.workers], np.intp)
        here, size = known >= 0, len(workers)
        answers = sum_by(known[here], self.answers[here], size)
        total = sum_by(known[here], (self.answers * self.fault)[here], size)
        fault = np.minimum(total / np.where(answers > 0, answers, 1.0), most)
        every = np.array([place[str(worker)] for worker in workers], np.intp)  # a worker may come once for each task
        return History(answers[every], fault[every])

    @property
    def spread(self) -> tuple[float, float]:
        """The mean fault, and the variance of workers around it that chance in so many answers does not explain.

        An answer varies by fault (1 - fault) for classes, which is the least that a distance up to 1 can do.
        """
        total = self.answers.sum()
        if total <= 0:
            return 0.0, 0.0
        mean = float((self.answers * self.fault).sum() / total)
        between = float((self.answers * (self.fault - mean) ** 2).sum() / total)
        chance = max(mean * (1 - mean), 0.0) * float((self.answers > 0).sum()) / float(total)
        return mean, max(between - chance, 0.0)
