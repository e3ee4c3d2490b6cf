"""Writer: a form in which another tool takes a result, and what of the result there is to be written."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from allalike._core.options import Options
from allalike._core.registry import find
from allalike.errors import UnsupportedError
from allalike.readers.formats.files import Files
from allalike.readers.tools import PLAIN, TOOLS, Peek
from allalike.readers.tools.base import Original

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

T = TypeVar("T")


class Truth(NamedTuple):
    """What was found for a task: the label, or nothing, and how sure it is, if that is known.

    >>> Truth("t1", [{"start": 0, "end": 3, "class": "PER", "confidence": 0.75}], None).spans
    [(0, 3, 'PER')]
    """

    task: Any
    label: Any
    confidence: float | None

    @property
    def spans(self) -> list[tuple[int, int, Any]]:
        """Start, end and class of the spans that the label is."""
        return [(each["start"], each["end"], each.get("class")) for each in self.label]


@dataclass(frozen=True)
class Findings:
    """What of a result there is to be written."""

    domain: str
    truths: Callable[[], Iterator[Truth]]
    blocked: Mapping[Any, Sequence[str]] = field(default_factory=dict)
    inputs: tuple[Path, ...] = ()
    files: Files = field(default_factory=Files)
    model: str = "allalike"
    safe_csv: bool = False

    @cached_property
    def originals(self) -> dict[str, Original]:
        """What was shown in each task, by the task's name, as far as the tool's export says it."""
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

    def found(self) -> Iterator[tuple[Truth, Original]]:
        """Yield the truths that there are, each with what was shown; a picture is called like its task if need be."""
        for truth in self.truths():
            if truth.label is not None:
                yield truth, self.originals.get(str(self.part(truth.task)[0])) or Original(picture=str(truth.task))

    def part(self, task: Any) -> tuple[Any, str | None]:
        """Return the picture and the class that a task is about, if each class of a picture is a task of its own.

        >>> Findings("categorical", lambda: iter([])).part("cat.jpg/1")
        ('cat.jpg/1', None)
        """
        picture, _, kind = str(task).rpartition("/")
        areas = self.domain == "bitmap" and str(task) not in self.originals and picture in self.originals
        return (picture, kind) if areas else (task, None)


def list_classes(label: Any) -> list[Any]:
    """List the classes that a label is: several, or one.

    >>> list_classes(("x", "y")), list_classes("x")
    (['x', 'y'], ['x'])
    """
    return list(label) if isinstance(label, list | tuple | set | frozenset) else [label]


def check_flat(truth: Truth, tool: str) -> npt.NDArray[np.bool_]:
    """Return the pixels of a mask; refuse a volume, which a tool of pictures cannot hold."""
    pixels = np.asarray(truth.label, np.bool_)
    if pixels.ndim != 2:
        raise UnsupportedError(f"{tool} has masks of pictures, and task {truth.task!r} is a volume: leave {tool} out.")
    return pixels


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write records as JSON, one a line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def find_exports(tool: str, paths: Iterable[Path]) -> list[Path]:
    """Return those of some files that a tool wrote; the others are gold, or a history, or gone.

    >>> from pathlib import Path
    >>> find_exports("mturk", [Path("nowhere.csv")])
    []
    """
    reader = find(tool, TOOLS, "tool")()
    return [path for path in paths if reader.recognises(Peek(path))]


@dataclass(frozen=True)
class Writer(Options, ABC):
    """A form in which another tool takes a result: some files in a folder that is called like the writer.

    ``kinds`` are the kinds of labels that it takes; all if there are none. ``files`` are names of files, and patterns
    of names where these depend on the tasks. ``into`` is what truths are written into, where that must be the tool's
    own export.

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
        """Refuse labels that the tool has no form for, by the name of their kind if it is known, and other inputs.

        >>> from allalike.result.writers import CocoWriter
        >>> CocoWriter().check("real")
        Traceback (most recent call last):
        allalike.errors.UnsupportedError: Labels of the kind real cannot be written for coco. It takes: boxes, bitmap.
        """
        if domain is not None and self.kinds and domain not in self.kinds:
            raise UnsupportedError(
                f"Labels of the kind {domain} cannot be written for {self.name}. It takes: {', '.join(self.kinds)}."
            )
        if self.into and not find_exports(self.name, inputs):
            raise UnsupportedError(
                f"What is found is written for {self.name} into {self.into}, and the answers are not read from there."
            )

    def owns(self, name: str) -> bool:
        """Tell whether it may have written a file of this name into its folder.

        >>> from allalike.result.writers import CocoWriter
        >>> CocoWriter().owns("annotations.json"), CocoWriter().owns("notes.doc")
        (True, False)
        """
        return any(fnmatchcase(name, pattern) for pattern in self.files)

    def need(self, value: T | None, what: str, task: Any) -> T:
        """Return what a tool needs, or say that the answers do not come with it."""
        if value is None:
            raise UnsupportedError(
                f"{what} of task {task!r} cannot be found in the files that were read, and {self.name} needs it. Read"
                " the answers from the export of the tool that showed it, with all that belongs to it, such as the .txt"
                " files beside the .ann files of brat."
            )
        return value

    def list_boxes(
        self, truth: Truth, original: Original, *, percent: bool = False
    ) -> Iterator[tuple[list[float], Mapping[str, Any]]]:
        """Yield left, top, width and height of a truth's boxes, in pixels or percent, and all that is said of each."""
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
