"""Document annotation exports: brat and CoNLL."""

from __future__ import annotations

import re
from dataclasses import dataclass
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


# CoNLL: one token per line with its tags, a column or a file for each annotator.
#
# Every token is a task, and its tag is a class: so tags are weighed one by one. Where ``spans`` are asked for, every
# sentence is a task, and its tags are spans.


_TAG = re.compile(r"O|[BIESLUM]-\S+")
_NONE = ("?", "_", "-")  # these stand where a column has no tag
_ENDINGS = (".conll", ".conll03", ".conll2003", ".bio", ".iob", ".iob2", ".bioes", ".bilou")
_DOCUMENT = "-DOCSTART-"
_LOOK = 2000  # this many lines are looked at
_SPANS = "spans"


class CoNLL(Tool):
    r"""Columns as in CoNLL's shared tasks, with a tag for each token.

    >>> CoNLL().answers_in({"ada.conll": "Eve B-PER\nruns O\n", "bob.conll": "Eve O\nruns O\n"})
    [('ada', '1.1', 'B-PER'), ('ada', '1.2', 'O'), ('bob', '1.1', 'O'), ('bob', '1.2', 'O')]
    """

    name: ClassVar[str] = "conll"
    title: ClassVar[str] = "CoNLL columns"
    summary: ClassVar[str] = "a tag for each token (O, B-PER), with a column or a file for each annotator"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether lines end in tags, with an empty line between sentences."""
        if peek.ending not in ("", ".txt", ".tsv", *_ENDINGS) or not peek.start:
            return False
        lines = peek.start.splitlines()[:_LOOK]
        rows = [line.split() for line in lines if line.strip() and not line.startswith((_DOCUMENT, "#"))]
        tagged = [len(row) > 1 and _is_tag(row[-1]) for row in rows]
        marked = any("-" in row[-1][1:] for row, known in zip(rows, tagged, strict=True) if known)
        divided = marked and any(not line.strip() for line in lines[1:-1])
        known = tagged[1:] or tagged  # without a head
        return sum(known) > 0.95 * len(known) > 0 and (divided or peek.ending in _ENDINGS)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read a tag for each token."""
        found = Collection(self, paths, files)
        pages = [_Page.of(path, read_text(path, files.encoding)) for path in paths]
        by_column = files.worker_from is None and all(len(page.annotators) > 1 for page in pages)
        if by_column:
            for page in pages:
                prefix = "/".join(filter(None, found.place_of(page.path))) + ":" if len(pages) > 1 else ""
                for column in page.annotators:
                    _add(found, page, column, page.names[column], prefix)
            return found.table()
        if len(pages) == 1:
            raise _conll_one_annotator(found, pages[0])
        first: dict[str, _Page] = {}
        for page in pages:
            worker, document = found.place_of(page.path)
            _check_tokens(first.setdefault(document, page), page)
            _add(found, page, page.width - 1, worker, f"{document}:" if document else "")
        return found.table()


def _is_tag(cell: str) -> bool:
    return cell in _NONE or _TAG.fullmatch(cell) is not None


@dataclass(frozen=True)
class _Page:
    """The rows of a file with the place of each: sentence and token."""

    path: Path
    rows: list[tuple[int, int, list[str]]]
    names: list[str]

    @classmethod
    def of(cls, path: Path, text: str) -> _Page:
        lines = text.splitlines()
        delimiter = "\t" if sum("\t" in line for line in lines) > len(lines) / 4 else None
        rows: list[tuple[int, int, list[str]]] = []
        sentence, token, width = 1, 0, 0
        for number, line in enumerate(lines, start=1):
            cells = [cell.strip() for cell in line.split(delimiter)] if line.strip() else []
            if not cells or cells[0] == _DOCUMENT:
                sentence, token = (sentence + 1, 0) if token else (sentence, 0)
                continue
            if line.startswith("#") and len(cells) != width:
                continue
            width = width or len(cells)
            if len(cells) != width or width < 2:
                raise InputError(f"{path}: line {number} has {len(cells)} columns, where {max(width, 2)} should be.")
            token += 1
            rows.append((sentence, token, cells))
        if not rows:
            raise InputError(f"{path} holds no tokens.")
        return cls(path, *_without_head(rows))

    @property
    def width(self) -> int:
        return len(self.names)

    def values(self, column: int) -> set[str]:
        return {cells[column] for _, _, cells in self.rows}

    @property
    def layers(self) -> list[int]:
        """The columns that hold nothing but tags."""
        return [column for column in range(1, self.width) if all(map(_is_tag, self.values(column)))]

    @property
    def annotators(self) -> list[int]:
        """The columns of tags, if they share their classes: then each is an annotator's, and not another layer."""
        classes = {c: {value[2:] for value in self.values(c) if _TAG.fullmatch(value)} - {""} for c in self.layers}
        used = [column for column in classes if classes[column]]
        every = set().union(*classes.values()) if classes else set()
        shared = [c for c in used if any(classes[c] & classes[other] for other in used if other != c)]
        return self.layers if every and len(self.layers) > 1 and shared == used else []


def _without_head(rows: list[tuple[int, int, list[str]]]) -> tuple[list[tuple[int, int, list[str]]], list[str]]:
    """Return the rows, and the names of columns, which the first row may hold."""
    first, others = rows[0][2], rows[1:]
    width = len(first)
    tagged = [c for c in range(1, width) if others and all(_is_tag(cells[c]) for _, _, cells in others)]
    if tagged and not any(_is_tag(first[column]) for column in tagged):
        moved = [(sentence, token - (sentence == rows[0][0]), cells) for sentence, token, cells in others]
        return moved, first
    return rows, [f"column {number}" for number in range(1, width + 1)]


def _add(found: Collection, page: _Page, column: int, worker: str, prefix: str) -> None:
    if found.files.tag == _SPANS:
        _add_spans(found, page, column, worker, prefix)
        return
    longest, most = max(row[0] for row in page.rows), max(row[1] for row in page.rows)
    for sentence, token, cells in page.rows:
        task = f"{prefix}{sentence:0{len(str(longest))}d}.{token:0{len(str(most))}d}"
        if cells[column] in _NONE:
            found.leave_out("tokens without a tag")
        else:
            found.add(worker, task, cells[column], kind="classes")


def _add_spans(found: Collection, page: _Page, column: int, worker: str, prefix: str) -> None:
    """Add the tags of each sentence as one answer, if it has all of them."""
    tags: dict[int, list[str]] = {}
    for sentence, _, cells in page.rows:
        tags.setdefault(sentence, []).append(cells[column])
    for sentence, given in tags.items():
        if any(tag in _NONE for tag in given):
            found.leave_out("sentences without all tags")
        else:
            task = f"{prefix}{sentence:0{len(str(max(tags)))}d}"
            found.add(worker, task, given, question=_SPANS, kind="spans")


def _check_tokens(first: _Page, page: _Page) -> None:
    for (sentence, token, cells), (_, _, others) in zip(first.rows, page.rows, strict=False):
        if cells[0] != others[0]:
            raise InputError(
                f"{page.path}: token {token} of sentence {sentence} is {others[0]!r}, but {cells[0]!r} in"
                f" {first.path}. The files of all annotators must have the same tokens."
            )
    if len(first.rows) != len(page.rows):
        raise InputError(f"{page.path} has {len(page.rows):,} tokens, but {first.path} has {len(first.rows):,}.")


def _conll_one_annotator(found: Collection, page: _Page) -> InputError:
    samples = [f"{page.names[c]} ({', '.join(sorted(page.values(c))[:3])}, ...)" for c in range(page.width)]
    return InputError(
        f"{found.where}, holds {len(page.rows):,} tokens with {page.width} columns: {'; '.join(samples)}. These are"
        " the tags of one annotator. Give one file for each annotator, or one file with a column of tags for each."
    )
