"""Writer: a form in which another tool takes a result, and the parts of a result that are written."""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from allalike._core.late import pd
from allalike._core.options import Options
from allalike._core.registry import find
from allalike._core.system.tables import guard_text
from allalike.errors import UnsupportedError
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.files import Files
from allalike.readers.tools import PLAIN, TOOLS, Peek
from allalike.readers.tools.base import Original

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

T = TypeVar("T")
THING = "object"  # the class of boxes and masks that have none


class Truth(NamedTuple):
    """The estimated label of a task, or None, and its confidence, if that is known.

    >>> Truth("t1", [{"start": 0, "end": 3, "class": "PER", "confidence": 0.75}], None).spans
    [(0, 3, 'PER')]
    """

    task: Any
    label: Any
    confidence: float | None

    @property
    def spans(self) -> list[tuple[int, int, Any]]:
        """Start, end and class of the spans in the label."""
        return [(each["start"], each["end"], each.get("class")) for each in self.label]

    @property
    def classes(self) -> list[Any]:
        """The classes in the label: several, or one."""
        several = isinstance(self.label, list | tuple | set | frozenset)
        return list(self.label) if several else [self.label]


@dataclass(frozen=True)
class Findings:
    """The parts of a result that are written."""

    domain: str
    truths: Callable[[], Iterator[Truth]]
    blocked: Mapping[Any, Sequence[str]] = field(default_factory=dict)
    inputs: tuple[Path, ...] = ()
    files: Files = field(default_factory=Files)
    model: str = "allalike"
    safe_csv: bool = False

    @cached_property
    def originals(self) -> dict[str, Original]:
        """What was shown in each task, by the task's name, as far as the tool's export contains it."""
        if self.files.tool in (None, PLAIN):
            return {}
        tool = find(self.files.tool, TOOLS, "tool")()
        exports = find_exports(tool.name, self.inputs)
        if not exports:
            raise UnsupportedError(
                f"What was shown in the tasks is in the export of {tool.title}, which a saved result does not keep. Run"
                " 'allalike discover' on it, as a file, with --to."
            )
        return tool.list_originals(exports, self.files)

    def found(self) -> Iterator[tuple[Truth, Original, Any, str | None]]:
        """Yield each estimated label, what was shown, and the picture and the class that the task is about."""
        for truth in self.truths():
            if truth.label is not None:
                picture, kind = self.part(truth.task)
                yield truth, self.originals.get(str(picture)) or Original(picture=str(truth.task)), picture, kind

    def part(self, task: Any) -> tuple[Any, str | None]:
        """Return the picture and the class that a task is about, if each class of a picture is a task of its own."""
        picture, _, kind = str(task).rpartition("/")
        areas = self.domain == "bitmap" and str(task) not in self.originals and picture in self.originals
        return (picture, kind) if areas else (task, None)


def find_exports(tool: str, paths: Iterable[Path]) -> list[Path]:
    """Return the files that a tool wrote; others are gold, or a history, or gone."""
    reader = find(tool, TOOLS, "tool")()
    return [path for path in paths if reader.recognises(Peek(path))]


@dataclass(frozen=True)
class Writer(Options, ABC):
    """A form in which another tool takes a result: some files in a folder with the name of the writer.

    ``kinds`` are the label types that it takes; all if there are none. ``files`` are names of files, and patterns
    of names where these depend on the tasks. ``into`` is the tool's own export, where labels must be written into it.

    >>> from allalike.result.writers import WRITERS
    >>> list(WRITERS)
    ['label-studio', 'cvat', 'coco', 'doccano', 'mturk']
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    files: ClassVar[tuple[str, ...]]
    into: ClassVar[str] = ""

    def check(self, domain: str | None, inputs: Sequence[Path] = ()) -> None:
        """Refuse label types that the tool has no form for, and answers that are not its export where it needs that."""
        if domain is not None and self.kinds and domain not in self.kinds:
            raise UnsupportedError(
                f"Labels of the type {domain} cannot be written for {self.name}. It takes: {', '.join(self.kinds)}."
            )
        if self.into and not find_exports(self.name, inputs):
            raise UnsupportedError(
                f"The result for {self.name} is written into {self.into}, and the answers are not read from there."
            )

    def owns(self, name: str) -> bool:
        """Return whether it may have written a file of this name into its folder."""
        return any(fnmatchcase(name, pattern) for pattern in self.files)

    def need(self, value: T | None, what: str, task: Any) -> T:
        """Return a value that the tool needs; raise an error if the answers do not come with it."""
        if value is None:
            raise UnsupportedError(
                f"{what} of task {task!r} is not in the files that were read, but {self.name} needs it. Read answers"
                " from the export of the tool that showed it, with all its files, such as the .txt files of brat."
            )
        return value

    def pixels(self, truth: Truth) -> npt.NDArray[np.bool_]:
        """Return the pixels of a mask; refuse a volume, which a tool of pictures cannot hold."""
        pixels = np.asarray(truth.label, np.bool_)
        if pixels.ndim != 2:
            raise UnsupportedError(
                f"{self.name} has masks of pictures, and task {truth.task!r} is a volume: leave {self.name} out."
            )
        return pixels

    def list_boxes(
        self, truth: Truth, original: Original, *, percent: bool = False
    ) -> Iterator[tuple[list[float], Mapping[str, Any]]]:
        """Yield left, top, width and height of a truth's boxes, in pixels or percent, and all fields of each."""
        wide, high = 1.0, 1.0
        if percent != original.percent:
            size = self.need(original.size, "The size of the picture", truth.task)
            wide, high = (100 / side if percent else side / 100 for side in size)
        for box in truth.label:
            left, top, right, bottom = (box[side] for side in ("x1", "y1", "x2", "y2"))
            yield [left * wide, top * high, (right - left) * wide, (bottom - top) * high], box

    @abstractmethod
    def write(self, findings: Findings, folder: Path) -> None:
        """Write the files into a folder."""


class DoccanoWriter(Writer):
    """doccano's JSONL: the documents of the answers, with the estimated labels under ``label``, as texts.

    >>> import json, tempfile, pathlib
    >>> import allalike
    >>> document = {"id": 7, "text": "So it goes.", "annotations": [{"label": 1, "user": 4}, {"label": 1, "user": 5}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "all.jsonl").write_text(json.dumps(document))
    ...     result = allalike.discover(folder + "/all.jsonl", domain="categorical")
    ...     _ = result.save(folder + "/out", to="doccano")
    ...     print(pathlib.Path(folder, "out/doccano/import.jsonl").read_text())
    {"id": 7, "text": "So it goes.", "label": ["1"]}
    """

    name: ClassVar[str] = "doccano"
    summary: ClassVar[str] = "documents with spans or classes (JSONL)"
    kinds: ClassVar[tuple[str, ...]] = ("spans", "categorical", "set")
    files: ClassVar[tuple[str, ...]] = ("import.jsonl",)

    def write(self, findings: Findings, folder: Path) -> None:
        """Write a line for each document: its classes, or its spans with their classes, which must be texts."""
        with (folder / "import.jsonl").open("w", encoding="utf-8") as file:
            for truth, original, _, _ in findings.found():
                text = self.need(original.text, "The text", truth.task)
                own = original.record if findings.files.tool == self.name else {"id": truth.task, "text": text}
                labels: list[Any] = sorted(map(str, truth.classes)) if findings.domain != "spans" else []
                for start, end, label in truth.spans if findings.domain == "spans" else ():
                    labels.append([start, end, str(self.need(label, "The class of a span", truth.task))])
                file.write(json.dumps({**own, "label": labels}, ensure_ascii=False) + "\n")


_WAITING = ("submitted", "")  # the status of an undecided assignment
_REASON = "All of your answers are the same, whatever was asked."  # for a worker who is rejected


class MTurkWriter(Writer):
    """A batch as it was downloaded, with a decision on assignments that wait for one, to be uploaded.

    Workers who always give the same answer are rejected, with the reason in the column ``Reject``. Others of the block
    list, whose answers repeat or do not fit those of other workers, stay undecided: a person must look at them, because
    a crowd may be wrong about somebody. All others have an ``x`` in the column ``Approve``. An assignment that was
    approved or rejected before, or has an entry in one of these columns, stays as it is.

    >>> MTurkWriter().check("categorical")
    Traceback (most recent call last):
    allalike.errors.UnsupportedError: The result for mturk is written into Batch_..._batch_results.csv, and the ...
    """

    name: ClassVar[str] = "mturk"
    summary: ClassVar[str] = "the batch with the columns Approve and Reject; whom to look at is left open (CSV)"
    kinds: ClassVar[tuple[str, ...]] = ()
    files: ClassVar[tuple[str, ...]] = ("*.csv",)
    into: ClassVar[str] = "Batch_..._batch_results.csv"

    def write(self, findings: Findings, folder: Path) -> None:
        """Write each batch under its own name."""
        for path in find_exports(self.name, findings.inputs):
            if (folder / path.name).exists():
                raise UnsupportedError(f"Two batches are called {path.name}. Rename one of them.")
            table = pd.read_csv(io.StringIO(read_text(path)), dtype=str, keep_default_na=False).fillna("")
            table = _decide(table, findings.blocked)
            if findings.safe_csv:
                table = table.map(guard_text).rename(columns=guard_text)
            table.to_csv(folder / path.name, index=False, lineterminator="\n")


def _decide(batch: Any, blocked: Mapping[Any, Sequence[str]]) -> Any:
    """Return a batch with a decision on each assignment that waits for one."""
    from allalike.readers.tools.sheets import find_name

    names = list(batch.columns)
    worker, status, approve, reject = (
        find_name(names, name) or name for name in ("WorkerId", "AssignmentStatus", "Approve", "Reject")
    )
    batch = batch.reindex(columns=list(dict.fromkeys([*names, status, approve, reject])), fill_value="")
    decided = batch[[approve, reject]].map(str.strip).any(axis=1)
    waits = batch[status].str.strip().str.casefold().isin(_WAITING) & ~decided
    same = {str(each) for each, reasons in blocked.items() if any(why.startswith("always ") for why in reasons)}
    batch.loc[waits & batch[worker].isin(same), reject] = _REASON
    batch.loc[waits & ~batch[worker].isin(set(map(str, blocked))), approve] = "x"
    return batch
