"""brat: spans in documents, one folder for each annotator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.errors import InputError, Proposal
from allalike.readers.tools.base import Original, Peek, Tool
from allalike.readers.tools.collection import Collection, place_files, place_in_folders
from allalike.readers.tools.trees import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["Brat"]

_SPAN = re.compile(r"T\d+\t(\S+) (\d{1,15} \d{1,15}(?:;\d{1,15} \d{1,15})*)(?:\t.*)?")
_OTHER = {"R": "relations", "E": "events", "A": "attributes", "M": "attributes", "N": "normalisations", "#": "notes"}
_OTHER |= {"*": "relations"}


class Brat(Tool):
    r"""brat's standoff files (``.ann``), in a folder for each annotator.

    >>> Brat().answers_in({"ada/news.ann": "T1\tPERSON 0 3\tEve", "bob/news.ann": "T1\tPLACE 0 3\tEve"})
    [('ada', 'news', [[0, 3, 'PERSON']]), ('bob', 'news', [[0, 3, 'PLACE']])]
    """

    name: ClassVar[str] = "brat"
    title: ClassVar[str] = "brat"
    summary: ClassVar[str] = "spans in documents, a folder of .ann files for each annotator"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether this is a file of annotations, or a folder with some."""
        if peek.path.is_dir():
            return next(peek.path.rglob("*.ann"), None) is not None
        return peek.ending == ".ann" or (peek.ending == ".txt" and peek.path.with_suffix(".ann").is_file())

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the spans of each annotator in each document."""
        found = Collection(self, paths, files)
        listed = [inner for path in paths for inner in _list(path)]
        spans = {path: _read(path, found, files.encoding) for path in listed}
        if files.worker_from != "filename" and len({path.absolute().parent for path in listed}) == 1:
            raise _one_annotator(found, spans)
        for path, place in _place(listed, files).items():
            found.add(*place, spans[path], kind="spans")
        return found.table()

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """Read the texts that lie beside the annotations."""
        places = _place([inner for path in paths for inner in _list(path)], files)
        texts = {
            document: text for path, (_, document) in places.items() if (text := path.with_suffix(".txt")).is_file()
        }
        return {document: Original(text=read_text(text, files.encoding)) for document, text in texts.items()}


def _list(path: Path) -> list[Path]:
    """Return the files of annotations in a folder, or this one if it is none of the texts that lie beside them."""
    return sorted(path.rglob("*.ann")) if path.is_dir() else [path] if path.suffix.lower() != ".txt" else []


def _place(listed: Sequence[Path], files: Files) -> dict[Path, tuple[str, str]]:
    """Return whose file each is, and of which document."""
    by_name = files.worker_from == "filename"
    places = place_files(listed, by_name=True) if by_name else place_in_folders(listed)
    return {path: (worker, document or "document") for path, (worker, document) in places.items()}


def _one_annotator(found: Collection, spans: dict[Path, list[Any]]) -> InputError:
    number = sum(map(len, spans.values()))
    tags = sorted({tag for those in spans.values() for _, _, tag in those})
    what = f"{len(spans):,} documents" if len(spans) > 1 else "one document"
    return InputError(
        f"{found.where}, holds {number:,} spans of {len(tags):,} tags ({', '.join(tags[:6])}"
        f"{', ...' if len(tags) > 6 else ''}) in {what}, of one annotator. Give one folder for each annotator, with"
        " files of the same names.",
        proposals=[Proposal({"worker_from": "filename"})] if len(spans) > 1 else [],
    )


def _read(path: Path, found: Collection, encoding: str | None) -> list[Any]:
    """Return the spans of a file; those with gaps are a span for each of their parts."""
    spans: list[Any] = []
    for number, line in enumerate(read_text(path, encoding).splitlines(), start=1):
        if not line.strip():
            continue
        entry = _SPAN.fullmatch(line)
        if entry:
            for part in entry[2].split(";"):
                start, end = map(int, part.split())
                spans.append([start, end, entry[1]])
        elif line[0] in _OTHER:
            found.leave_out(_OTHER[line[0]])
        else:
            raise InputError(f"{path}: line {number} is no annotation of brat: {line[:60]!r}.")
    return spans
