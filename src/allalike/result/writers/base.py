"""Writers of results in the formats of other tools: base class, doccano and MTurk."""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from allalike._core.lazy_imports import pd
from allalike._core.options import Options
from allalike._core.registry import find
from allalike._core.system.tables import guard_text
from allalike.errors import UnsupportedError
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.files import Files
from allalike.readers.tools import PLAIN, TOOLS, FileProbe
from allalike.readers.tools.base import Original

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

T = TypeVar("T")
THING = "object"  # the class of boxes and masks that have none


class Truth(NamedTuple):
    """Estimated label of a task, or None, and its confidence, if it is known.

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
        """List of the classes in the label."""
        several = isinstance(self.label, list | tuple | set | frozenset)
        return list(self.label) if several else [self.label]


@dataclass(frozen=True)
class Findings:
    """Parts of a result that writers need."""

    domain: str
    truths: Callable[[], Iterator[Truth]]
    blocked: Mapping[Any, Sequence[str]] = field(default_factory=dict)
    inputs: tuple[Path, ...] = ()
    files: Files = field(default_factory=Files)
    model: str = "allalike"
    safe_csv: bool = False

    @cached_property
    def originals(self) -> dict[str, Original]:
        """Content of each task in the tool's export, by the task's name."""
        if self.files.tool in (None, PLAIN):
            return {}
        tool = find(self.files.tool, TOOLS, "tool")()
        exports = find_exports(tool.name, self.inputs)
        if not exports:
            raise UnsupportedError(
                f"The content of the tasks is in the export of {tool.title}, which a saved result does not contain. Run"
                " 'allalike discover' on the export with --to."
            )
        return tool.list_originals(exports, self.files)

    def found(self) -> Iterator[tuple[Truth, Original, Any, str | None]]:
        """Yield each estimated label, the content of its task, and the image and the class of the task."""
        for truth in self.truths():
            if truth.label is not None:
                picture, kind = self.part(truth.task)
                yield truth, self.originals.get(str(picture)) or Original(picture=str(truth.task)), picture, kind

    def part(self, task: Any) -> tuple[Any, str | None]:
        """Return the image and the class of a task if each class of an image is a separate task."""
        picture, _, kind = str(task).rpartition("/")
        areas = self.domain == "bitmap" and str(task) not in self.originals and picture in self.originals
        return (picture, kind) if areas else (task, None)


def find_exports(tool: str, paths: Iterable[Path]) -> list[Path]:
    """Return the files that are exports of a tool."""
    reader = find(tool, TOOLS, "tool")()
    return [path for path in paths if reader.recognises(FileProbe(path))]


@dataclass(frozen=True)
class Writer(Options, ABC):
    """Writer of a result in the format of another tool, as files in a folder with the name of the writer.

    ``kinds`` are the supported label types; empty for all. ``files`` are the names of the files, or patterns if the
    names depend on the tasks. ``into`` is the tool's export, if the labels are written into a copy of it.

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
        """Raise an error for label types that the tool does not support, and for answers without a needed export."""
        if domain is not None and self.kinds and domain not in self.kinds:
            raise UnsupportedError(
                f"{self.name} does not support {domain} labels. Supported label types: {', '.join(self.kinds)}."
            )
        if self.into and not find_exports(self.name, inputs):
            raise UnsupportedError(
                f"{self.name} needs answers from {self.into}, because the labels are written into a copy. Run 'allalike"
                " discover' on it."
            )

    def need(self, value: T | None, what: str, task: Any) -> T:
        """Return a value that the tool needs; raise an error if the answers lack it."""
        if value is None:
            raise UnsupportedError(
                f"{what} of task {task!r} is missing in the input, but {self.name} needs it. Read the answers from the"
                " export of the annotation tool, with all its files, such as the .txt files of brat."
            )
        return value

    def pixels(self, truth: Truth) -> npt.NDArray[np.bool_]:
        """Return the pixels of a mask; raise an error for a volume, because the tool supports images only."""
        pixels = np.asarray(truth.label, np.bool_)
        if pixels.ndim != 2:
            raise UnsupportedError(
                f"Task {truth.task!r} is a volume, but {self.name} supports masks of pictures only. Remove {self.name}."
            )
        return pixels

    def list_boxes(
        self, truth: Truth, original: Original, *, percent: bool = False
    ) -> Iterator[tuple[list[float], Mapping[str, Any]]]:
        """Yield left, top, width and height of each box in pixels or percent, and all fields of the box."""
        wide, high = 1.0, 1.0
        if percent != original.percent:
            size = self.need(original.size, "The size of the picture", truth.task)
            wide, high = (100 / side if percent else side / 100 for side in size)
        for box in truth.label:
            left, top, right, bottom = (box[side] for side in ("x1", "y1", "x2", "y2"))
            yield [left * wide, top * high, (right - left) * wide, (bottom - top) * high], box

    @abstractmethod
    def write(self, findings: Findings, folder: Path) -> None:
        """Write the files of this format into a folder."""


class DoccanoWriter(Writer):
    """Writer of doccano's JSONL: the documents, with the estimated labels under ``label`` as texts.

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
        """Write one line per document with its classes, or its spans and their classes."""
        with (folder / "import.jsonl").open("w", encoding="utf-8") as file:
            for truth, original, _, _ in findings.found():
                text = self.need(original.text, "The text", truth.task)
                own = original.record if findings.files.tool == self.name else {"id": truth.task, "text": text}
                labels: list[Any] = sorted(map(str, truth.classes)) if findings.domain != "spans" else []
                for start, end, label in truth.spans if findings.domain == "spans" else ():
                    labels.append([start, end, str(self.need(label, "The class of a span", truth.task))])
                file.write(json.dumps({**own, "label": labels}, ensure_ascii=False) + "\n")


_WAITING = ("submitted", "")  # the status of an undecided assignment
_REASON = "All of your answers are identical, regardless of the task."  # for a rejected worker


class MTurkWriter(Writer):
    """Writer of MTurk batches: the downloaded batch with decisions on undecided assignments, ready for upload.

    Workers who always give the same answer are rejected, with the reason in the column ``Reject``. Other workers on the
    block list stay undecided. Check them yourself, because a crowd may be wrong about a worker. All others have an
    ``x`` in the column ``Approve``. Assignments that were approved or rejected before, or have an entry in one of these
    columns, are not changed.

    >>> MTurkWriter().check("categorical")
    Traceback (most recent call last):
    allalike.errors.UnsupportedError: mturk needs answers from Batch_..._batch_results.csv, because the labels ...
    """

    name: ClassVar[str] = "mturk"
    summary: ClassVar[str] = "the batch with the columns Approve and Reject; doubtful workers stay undecided (CSV)"
    kinds: ClassVar[tuple[str, ...]] = ()
    files: ClassVar[tuple[str, ...]] = ("*.csv",)
    into: ClassVar[str] = "Batch_..._batch_results.csv"

    def write(self, findings: Findings, folder: Path) -> None:
        """Write each batch under its original name."""
        for path in find_exports(self.name, findings.inputs):
            if (folder / path.name).exists():
                raise UnsupportedError(f"Two batches are called {path.name}. Rename one of them.")
            table = pd.read_csv(io.StringIO(read_text(path)), dtype=str, keep_default_na=False).fillna("")
            table = _decide(table, findings.blocked)
            if findings.safe_csv:
                table = table.map(guard_text).rename(columns=guard_text)
            table.to_csv(folder / path.name, index=False, lineterminator="\n")


def _decide(batch: Any, blocked: Mapping[Any, Sequence[str]]) -> Any:
    """Return a batch with decisions on the undecided assignments."""
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
