"""Framework for tools that write records: a reader is a function that yields answers.

`Export` opens files, numbers their records, names file and record in errors, chooses the question, converts choices
into classes or sets, and builds the table. If annotators have separate files, the path of a file identifies the
annotator and the document.

All regions of a class that a worker drew in an image form one mask. If there are several classes, each pair of an
image and a class drawn in it is a task, like the values of a label map. A worker who saw the image without drawing
the class has an empty mask. An image of unknown size is assumed to end with its outlines, because distances of masks do
not depend on its size.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.masks import Mask, check_size, draw
from allalike._core.registry import did_you_mean
from allalike._core.text_format import count
from allalike.answers.gold import match_truths
from allalike.errors import AllalikeError, InputError, Proposal
from allalike.readers.formats.read_errors import check_gaps, check_width
from allalike.readers.formats.source import Source
from allalike.readers.tools.base import (
    ROLES,
    FileProbe,
    Original,
    Tool,
    load_document,
    load_records,
    unexpected,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from allalike._core.masks import Part
    from allalike.readers.formats.files import Files

    Reader = Callable[["Export"], Iterable["Answer"]]
    Size = tuple[float, float] | None  # height and width of an image

REGIONS = frozenset({"boxes", "ellipses", "points", "polygons", "spans", "unknown regions"})  # may be an empty list
AREAS = "areas"  # outlined or painted
_IDS, _SCALARS, _TEXTS = frozenset({str, int}), frozenset({str, int, float, bool}), frozenset({str, tuple, list})
_MAX_LISTED = 12
_MIN_POINTS = 3  # of an outline that encloses an area
_ENDING = re.compile(r"(\.[a-z][a-z0-9]{1,9})?(\.(gz|bz2|xz|zst|zip))?$", re.IGNORECASE)


def build_table(
    tool: Tool, names: Iterable[str], load: Callable[[str], Any], where: str, roles: Sequence[Any], **facts: Any
) -> Source:
    """Return the table of a tool from a function that loads a column, and the names of worker, task and label."""
    facts["guessed"] = {**facts.get("guessed", {}), "tool": tool.name}
    read = lambda asked, _: {name: load(name) for name in asked}  # noqa: E731
    return Source(list(names), read, where, roles=dict(zip(ROLES, roles, strict=True)), **facts)


def spread(rows: Sequence[Mapping[str, Any]], where: str) -> dict[str, list[Any]]:
    """Return the columns of rows; absent fields of a row are missing."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    check_width(names, where)
    check_gaps(len(names) * len(rows) - sum(map(len, rows)), where)
    return {name: [row.get(name) for row in rows] for name in names}


def mark(label: Any, **shape: Any) -> dict[str, Any]:
    """Return a mark in an image, such as a box or a point, with its class if it has one."""
    return shape if label is None else {**shape, "label": label}


@dataclass(slots=True)
class Answer:
    """A worker's label for a task, as an answer to a question, with the columns ``gold``, ``sample`` and ``order``.

    A label that is a tuple contains choices: labels are classes if all answers have one choice, and sets otherwise. An
    empty label (None, or an empty text, tuple or list) is an empty list of regions if the ``kind`` of the answers to
    this question is a region, and otherwise a missing answer. An answer that ``is_gold`` is the gold label of its task.
    """

    worker: Any
    task: Any
    label: Any
    question: str = ""
    kind: str = ""
    is_gold: bool = False
    gold: Any = None
    sample: int | None = None
    order: int | None = None
    is_empty: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        for role, name in (("worker", self.worker), ("task", self.task)):
            if type(name) not in _IDS or name == "":
                raise unexpected(name, "a name or a whole number", role)
        choices = self.label if type(self.label) is tuple else ()
        if type(self.label) is dict or any(type(choice) not in _SCALARS for choice in choices):
            raise unexpected(self.label, "a text or a number", "label")
        self.is_empty = self.label is None or (type(self.label) in _TEXTS and not self.label)


@dataclass
class Areas:
    """Areas that workers drew in images, by image, class and worker, and the sizes of the images."""

    where: str
    sizes: dict[Hashable, tuple[int, int]] = field(default_factory=dict)
    drawn: dict[Hashable, dict[Any, dict[Any, list[Part]]]] = field(default_factory=dict)
    flat: int = 0

    def draw(self, worker: Any, picture: Hashable, kind: Any, part: Part, size: Size = None) -> None:
        """Add an outline or a painted area of a class, with the height and width of the image if known."""
        self.measure(picture, (part.height, part.width) if isinstance(part, Mask) else size)
        if isinstance(part, Mask) or len(part) >= _MIN_POINTS:
            self.drawn.setdefault(picture, {}).setdefault(kind, {}).setdefault(worker, []).append(part)
        else:
            self.flat += 1

    def measure(self, picture: Hashable, size: Size) -> None:
        """Record the height and width of an image; refuse a size that differs from a known one."""
        if size is None:
            return
        try:
            height, width = map(int, size)
            check_size(height, width)
        except (ValueError, OverflowError) as error:
            raise InputError(f"{self.where}: the size of the picture {picture!r} is not valid: {error}.") from None
        if self.sizes.setdefault(picture, (height, width)) != (height, width):
            known = " x ".join(map(str, self.sizes[picture]))
            raise InputError(
                f"{self.where}: {picture!r} has two sizes, {height} x {width} and {known} pixels. Correct the file."
            )

    def masks(self, seen: Iterable[tuple[Any, Hashable]]) -> Iterator[tuple[Any, Any, Any, Mask]]:
        """Yield worker, image, class and mask for all workers who saw an image in which the class was drawn."""
        viewers: dict[Hashable, dict[Any, None]] = {}
        for worker, picture in seen:
            viewers.setdefault(picture, {})[worker] = None
        for picture, kinds in self.drawn.items():
            if picture not in self.sizes:
                parts: list[Any] = [part for by in kinds.values() for some in by.values() for part in some]
                width, height = np.max([(1, 1), *(np.max(part, axis=0) for part in parts)], axis=0)
                self.measure(picture, (np.ceil(height), np.ceil(width)))
            for kind, by in kinds.items():
                for worker in viewers[picture]:
                    yield worker, picture, kind, draw(by.get(worker, []), *self.sizes[picture])


def record_tool(
    name: str, title: str, recognises: Callable[[FileProbe], bool], *, shows: bool = False
) -> Callable[[Reader], type[Tool]]:
    """Make a tool from a function that yields the answers of an export; with ``shows`` it also lists tasks' content.

    The first line of its docstring becomes the summary.

    >>> @record_tool("quiz", "Quiz", lambda peek: peek.has("player", "answered"))
    ... def quiz(export):
    ...     '''Read answers by player (JSON).'''
    ...     for record in export.records():
    ...         for question, answer in record["answered"].items():
    ...             yield Answer(record["player"], question, answer)
    >>> quiz.summary
    'answers by player (JSON)'
    """
    return lambda read: RecordTool.made_of(name, title, read, recognises=staticmethod(recognises), shows=shows)


class RecordTool(Tool):
    """A tool with a reader that yields the answers of an export."""

    shows: ClassVar[bool]

    def open(self, paths: Sequence[Path], files: Files) -> Source:
        """Open exports as one table."""
        export = Export(self, paths, files)
        export.read(self.reader)
        return export.finish(export.table())

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """List the content of each task by the task's name."""
        originals: dict[str, Original] = {}
        if self.shows:
            Export(self, paths, files, originals=originals).read(self.reader)
        return originals


@dataclass
class Export:
    """The files of a tool while a reader iterates over them, and its answers by question.

    ``path`` is the current file, ``number`` the number of the current record, and ``at`` its place for errors.
    ``originals`` collect the content of tasks if requested. A reader may replace ``finish``, which converts the table.
    """

    tool: Tool
    paths: Sequence[Path]
    files: Files
    originals: dict[str, Original] | None = None
    path: Path = Path()
    number: int = 0
    at: str = ""
    left_out: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)
    finish: Callable[[Source], Source] = lambda table: table
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    areas: dict[str, Areas] = field(default_factory=dict)
    _seen: Counter[tuple[Any, Any, bool]] = field(default_factory=Counter)
    _named: set[bool] = field(default_factory=set)

    def read(self, reader: Reader) -> None:
        """Collect all answers of a reader; its exceptions become errors that name the file and the record."""
        try:
            for answer in reader(self):
                self.answers.setdefault(answer.question, []).append(answer)
        except AllalikeError:
            raise
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
            reason = f"there is no {error}" if isinstance(error, KeyError) else str(error)
            if isinstance(error, TypeError | AttributeError):
                reason = "a value is of another type"
            raise InputError(f"{self.at or self.paths[0]} is not valid for {self.tool.title}: {reason}.") from error
        if self._named == {False} and len(self.paths) == 1:
            raise InputError(
                f"{self.where}, does not name the annotators. Give one file per annotator, with their name or in their"
                " folder."
            )
        for question in self.areas:
            self.answers.setdefault(question, []).extend(self._list_masks(question))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records of all files, in JSON Lines or in a list."""
        for path in self.paths:
            yield from self.each(load_records(path), path)

    def each(self, items: Iterable[Any], path: Path, what: str = "record") -> Iterator[dict[str, Any]]:
        """Yield the objects in a list of a file, and record the place of each for errors."""
        self.path = path
        for self.number, item in enumerate(items, start=1):
            self.at = f"{path}: {what} {self.number}"
            if not isinstance(item, dict):
                raise unexpected(item, "an object")
            yield item

    def document(self, path: Path) -> Any:
        """Return the value of a JSON file."""
        self.path, self.at = path, str(path)
        return load_document(path)

    @cached_property
    def places(self) -> dict[Path, tuple[str, str]]:
        """The annotator and the document of each file."""
        return place_files(self.paths, by_name=self.by_file)

    @property
    def by_file(self) -> bool:
        """Whether the file name is the worker, independently of the records."""
        return self.files.worker_from == "filename"

    @property
    def owner(self) -> str:
        """The annotator of the current file, identified by its name or folder."""
        return self.places[self.path][0]

    def worker(self, *named: Any) -> Any:
        """Return the first worker that is given; if records name none, or `by_file` is set, the owner of the file."""
        if self.by_file:
            return self.owner
        worker = next((name for name in named if name is not None), None)
        self._named.add(worker is not None)
        if len(self._named) > 1:
            raise unexpected(worker, "a worker in every record, or in none", "worker")
        return self.owner if worker is None else worker

    @property
    def where(self) -> str:
        """The files and the tool, for messages."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}, of {self.tool.title}"

    def leave_out(self, what: str, number: int = 1) -> None:
        """Count excluded items by their description."""
        if number:
            self.left_out[what] += number

    def see(self, worker: Any, task: Any, *, is_gold: bool = False) -> None:
        """Record that a worker saw a task; without marks, their answer is an empty list if other workers made marks."""
        Answer(worker, task, None)  # checks both names
        self._seen[worker, task, is_gold] += 1

    def draw(self, question: str, worker: Any, picture: Any, kind: Any, part: Part, size: Size = None) -> None:
        """Add an outline or a painted area of a class, by a worker who saw the image."""
        self.areas.setdefault(question, Areas(self.where)).draw(worker, picture, kind, part, size)

    def show(self, task: Any, record: Mapping[str, Any], **shown: Any) -> None:
        """Record the content of a task, if it is requested and not yet known."""
        if self.originals is not None:
            self.originals.setdefault(str(task), Original(record, **shown))

    def _list_masks(self, question: str) -> Iterator[Answer]:
        """Yield the masks of a question as answers."""
        areas, seen = self.areas[question], [(worker, picture) for worker, picture, _ in self._seen]
        unknown = len(areas.drawn.keys() - areas.sizes.keys())
        several = len({kind for kinds in areas.drawn.values() for kind in kinds}) > 1
        for worker, picture, kind, mask in areas.masks(seen):
            task = f"{picture}/{kind}" if several else picture
            yield Answer(worker, task, mask, question, AREAS, is_gold=self._seen[worker, picture, True] > 0)
        self.leave_out("outlines of fewer than three points", areas.flat)
        self.leave_out("pictures in which nobody drew anything", len({picture for _, picture in seen} - {*areas.drawn}))
        if unknown:
            self.remarks.append(f"The sizes of {unknown:,} pictures are unknown: they end with their outlines.")

    def table(self) -> Source:
        """Return the answers to the chosen question, or to the only one, as a table."""
        found = {name: {each.kind for each in own if not each.is_empty} for name, own in self.answers.items()}
        kinds = {name: own for name, own in found.items() if own}
        question = self._choose(kinds)
        if len(kinds[question]) > 1 and kinds[question] & {AREAS, *REGIONS} and not kinds[question] <= REGIONS:
            listed = ", ".join(sorted(kinds[question]))
            raise InputError(f"{self.where}: the answers to {question!r} are mixed: {listed}. They cannot be compared.")
        asked = self._select(question, kinds[question])
        answers, gold = ([each for each in asked if each.is_gold is wanted] for wanted in (False, True))
        if not answers:
            raise InputError(f"{self.where}, contains only answers that are marked as gold labels.")
        _unify(answers, gold)
        columns = {name: [getattr(each, name) for each in answers] for name in (*ROLES, "sample", "order", "gold")}
        columns = {name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)}
        if gold:
            known = match_truths((each.task, each.label) for each in gold)
            columns["gold"] = [known.get(task) for task in columns["task"]]
        workers, tasks = (len(set(columns[role])) for role in ("worker", "task"))
        return build_table(
            self.tool,
            columns,
            columns.__getitem__,
            f"{self.where} ({len(answers):,} answers by {workers:,} workers to {tasks:,} tasks)",
            ROLES,
            guessed={"question": question} if question and question != self.files.question else {},
            remarks=tuple(self._list_messages(question, columns, kinds)),
            notes={"samples": [name for name in ("sample", "order") if len(set(columns.get(name, ()))) > 1]},
            truths={"label": "gold"} if "gold" in columns else {},
        )

    def _select(self, question: str, kinds: set[str]) -> list[Answer]:
        """Return the answers to a question, with empty lists of regions; count other empty answers."""
        answers = self.answers[question]
        if AREAS not in kinds:
            silent = self._seen - Counter((each.worker, each.task, each.is_gold) for each in answers)
            answers += [Answer(worker, task, None, is_gold=is_gold) for worker, task, is_gold in silent.elements()]
        filled, empty = ([each for each in answers if each.is_empty is wanted] for wanted in (False, True))
        if kinds.isdisjoint(REGIONS):
            what = f"annotations without an answer to {question!r}" if question else "empty answers"
            self.leave_out(what, len(empty))
            return filled
        for each in empty:
            each.label = []
        return filled + empty

    def _list_messages(self, question: str, columns: Mapping[str, list[Any]], kinds: Iterable[str]) -> Iterator[str]:
        """Yield the messages about the export."""
        yield from self.remarks
        if (most := max(filter(None, columns.get("sample", ())), default=1)) > 1:
            yield f"The column 'sample' numbers the samples of an item, up to {most:,}."
        if not self.files.golden and any(known is not None for known in columns.get("gold", ())):
            yield "The column 'gold' contains gold labels, which are used only with gold='export'."
        if self.left_out:
            yield f"Excluded: {self._counted()}."
        if others := ", ".join(sorted({*kinds} - {question})):
            yield f"Read: the answers to {question!r}. The file also contains answers to {others}."

    def _choose(self, kinds: Mapping[str, set[str]]) -> str:
        """Return the question to read, or raise an error that lists the questions."""
        tag = self.files.question
        if not kinds:
            raise InputError(f"{self.where}, contains no answers{f': {self._counted()}' if self.left_out else ''}.")
        if tag is None and len(kinds) == 1:
            return next(iter(kinds))
        if tag is not None and (match := {name.casefold(): name for name in kinds}.get(tag.casefold())) is not None:
            return match
        counts = {name: sum(not (each.is_empty or each.is_gold) for each in self.answers[name]) for name in kinds}
        names = sorted(kinds, key=lambda name: (-counts[name], name))
        listed = [f"{name!r} ({', '.join(sorted(kinds[name]))}, {counts[name]:,} answers)" for name in names]
        more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
        unknown = f"no question {tag!r}.{did_you_mean(tag, names)} It has " if tag is not None else ""
        number = count(len(names), "question")
        raise InputError(
            f"{self.where}, has {unknown}{number}: {', '.join(listed[:_MAX_LISTED])}{more}. Choose one.",
            proposals=[Proposal({"question": name}) for name in sorted(names, key=lambda name: kinds[name] <= REGIONS)],
        )

    def _counted(self) -> str:
        return ", ".join(f"{number:,} {what}" for what, number in sorted(self.left_out.items()))


def _unify(answers: list[Answer], gold: list[Answer]) -> None:
    """Convert choices into classes or sets, and ids to a common type."""
    both = [*answers, *gold]
    chosen = [each.label for each in both if isinstance(each.label, tuple)]
    single = all(len(set(label)) == 1 for label in chosen)
    as_text = single and len({type(label[0]) for label in chosen}) > 1
    for each in both:
        if isinstance(each.label, tuple):
            first = each.label[0] if single else None
            each.label = frozenset(map(str, each.label)) if not single else str(first) if as_text else first
    for role, those in (("worker", answers), ("task", both)):  # types are mixed for a model among numbered people
        if len({type(getattr(each, role)) for each in those}) > 1:
            for each in those:
                setattr(each, role, str(getattr(each, role)))


def place_files(
    paths: Sequence[Path], *, by_name: bool = False, by_folder: bool = False
) -> dict[Path, tuple[str, str]]:
    """Return the worker and document of each file: the worker is its name if all names differ, or else its folder.

    With ``by_name``, it is the name if any names differ. The folder is the first level that is not common to all.
    """
    names = [_ENDING.sub("", path.name) or path.name for path in paths]
    folders = [path.absolute().parent.parts for path in paths]
    differing = (depth for depth, level in enumerate(zip(*folders, strict=False)) if len(set(level)) > 1)
    shared = next(differing, min(map(len, folders)))
    n_names = len(set(names))
    places = {}
    for path, name, folder in zip(paths, names, folders, strict=True):
        if not by_folder and (n_names == len(paths) or (by_name and n_names > 1)):
            places[path] = name, "/".join(folder[shared:]) if n_names < len(paths) else ""
        else:
            owner = folder[shared] if len(folder) > shared else folder[-1]
            places[path] = owner, "/".join([*folder[shared + 1 :], name])
    return places
