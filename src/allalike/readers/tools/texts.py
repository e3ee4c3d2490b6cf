"""Marks in texts: brat's standoff files, and CoNLL's columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from allalike.errors import InputError, Proposal
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.failures import guard
from allalike.readers.tools.frame import Answer, Export, place_files, record_tool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from allalike.readers.tools.base import Peek

_SPAN = re.compile(r"T\d+\t(\S+) (\d{1,15} \d{1,15}(?:;\d{1,15} \d{1,15})*)(?:\t.*)?")
_OTHER = {"R": "relations", "*": "relations", "E": "events", "A": "attributes", "M": "attributes"}
_OTHER |= {"N": "normalisations", "#": "notes"}

_TAG = re.compile(r"O|[BIESLUM]-\S+")
_NONE = ("?", "_", "-")  # these stand where a column has no tag
_ENDINGS = (".conll", ".conll03", ".conll2003", ".bio", ".iob", ".iob2", ".bioes", ".bilou")
_DOCUMENT = "-DOCSTART-"
_LOOK = 2000  # this many lines are looked at
_SPANS = "spans"


def _read_lines(export: Export, path: Path) -> list[str]:
    text: str = guard(path, "text", lambda: read_text(path, export.files.encoding))
    return text.splitlines()


def _is_brat(peek: Peek) -> bool:
    if peek.path.is_dir():
        return next(peek.path.rglob("*.ann"), None) is not None
    return peek.ending == ".ann" or (peek.ending == ".txt" and peek.path.with_suffix(".ann").is_file())


@record_tool("brat", "brat", _is_brat, shows=True)
def brat(export: Export) -> Iterator[Answer]:
    """Read spans in documents, a folder of .ann files for each annotator.

    Lines are such as ``T1<tab>PERSON 0 3<tab>Eve``; a span with gaps is one for each of its parts. Relations, events,
    attributes and notes are left out.
    """
    listed: list[Path] = []
    for path in export.paths:
        listed += sorted(path.rglob("*.ann")) if path.is_dir() else [path] if path.suffix.lower() != ".txt" else []
    if not listed:
        raise InputError(f"{export.where}, holds no files of annotations (.ann).")
    places = place_files(listed, by_name=export.by_file, by_folder=not export.by_file)
    if not export.by_file and len({worker for worker, _ in places.values()}) == 1:
        raise InputError(
            f"{export.where}, holds {len(listed):,} documents of one annotator. Give one folder for each annotator,"
            " with files of the same names.",
            proposals=[Proposal({"worker_from": "filename"})] if len(listed) > 1 else [],
        )
    for path, (worker, name) in places.items():
        document, text = name or "document", path.with_suffix(".txt")
        if export.originals is not None and text.is_file():
            export.show(document, {}, text=read_text(text, export.files.encoding))
        yield Answer(worker, document, _read_spans(export, path), kind=_SPANS)


def _read_spans(export: Export, path: Path) -> list[Any]:
    spans: list[Any] = []
    for number, line in enumerate(_read_lines(export, path), start=1):
        if entry := _SPAN.fullmatch(line):
            for part in entry[2].split(";"):
                start, end = map(int, part.split())
                spans.append([start, end, entry[1]])
        elif line[:1] in _OTHER:
            export.leave_out(_OTHER[line[0]])
        elif line.strip():
            raise InputError(f"{path}: line {number} is no annotation of brat: {line[:60]!r}.")
    return spans


def _is_tag(cell: str) -> bool:
    return cell in _NONE or _TAG.fullmatch(cell) is not None


def _is_conll(peek: Peek) -> bool:
    """Return whether lines end in tags, with an empty line between sentences."""
    if peek.ending not in ("", ".txt", ".tsv", *_ENDINGS) or not peek.start:
        return False
    lines = peek.start.splitlines()[:_LOOK]
    rows = [line.split() for line in lines if line.strip() and not line.startswith((_DOCUMENT, "#"))]
    tagged = [len(row) > 1 and _is_tag(row[-1]) for row in rows]
    marked = any("-" in row[-1][1:] for row, known in zip(rows, tagged, strict=True) if known)
    divided = marked and any(not line.strip() for line in lines[1:-1])
    known = tagged[1:] or tagged  # without a head
    return sum(known) > 0.95 * len(known) > 0 and (divided or peek.ending in _ENDINGS)


@dataclass(frozen=True)
class _Tokens:
    """The tokens of a file: the place of each (sentence and token) and its cells, and the names of columns."""

    path: Path
    rows: list[tuple[int, int, list[str]]]
    names: list[str]

    @classmethod
    def read(cls, export: Export, path: Path) -> _Tokens:
        lines = _read_lines(export, path)
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
        (begin, _, head), *others = rows
        tagged = [column for column in range(1, width) if others and all(_is_tag(row[2][column]) for row in others)]
        if not tagged or any(_is_tag(head[column]) for column in tagged):
            return cls(path, rows, [f"column {number}" for number in range(1, width + 1)])
        return cls(path, [(place, token - (place == begin), cells) for place, token, cells in others], head)

    def find_annotators(self) -> list[int]:
        """Return the columns of tags, if they share their classes: then each is an annotator's, and not a layer."""
        classes: dict[int, set[str]] = {}
        for column in range(1, len(self.names)):
            tags = {cells[column] for _, _, cells in self.rows}
            if all(map(_is_tag, tags)):
                classes[column] = {tag[2:] for tag in tags if tag not in _NONE} - {""}
        used = [column for column in classes if classes[column]]
        shared = [c for c in used if any(classes[c] & classes[other] for other in used if other != c)]
        return list(classes) if used and len(classes) > 1 and shared == used else []

    def answers(self, export: Export, column: int, worker: str, prefix: str) -> Iterator[Answer]:
        """Yield the tag of each token in a column, or those of each sentence if spans are asked for."""
        longest, most = (len(str(max(row[place] for row in self.rows))) for place in (0, 1))
        sentences: dict[str, list[str]] = {}
        for sentence, token, cells in self.rows:
            place, tag = f"{prefix}{sentence:0{longest}d}", cells[column]
            sentences.setdefault(place, []).append(tag)
            if export.files.question == _SPANS:
                continue
            if tag in _NONE:
                export.leave_out("tokens without a tag")
            else:
                yield Answer(worker, f"{place}.{token:0{most}d}", tag, kind="classes")
        for place, tags in sentences.items() if export.files.question == _SPANS else ():
            if any(tag in _NONE for tag in tags):
                export.leave_out("sentences without all tags")
            else:
                yield Answer(worker, place, tags, _SPANS, _SPANS)


@record_tool("conll", "CoNLL columns", _is_conll)
def conll(export: Export) -> Iterator[Answer]:
    """Read a tag for each token (O, B-PER), with a column or a file for each annotator.

    Lines are such as ``Eve NNP B-PER``, with an empty line between sentences. The task is a token, such as 3.07 for the
    seventh of the third sentence. With the question ``spans`` each sentence is a task, and its tags are spans.
    """
    pages = [_Tokens.read(export, path) for path in export.paths]
    annotators = [page.find_annotators() for page in pages]
    if export.files.worker_from is None and all(annotators):
        for page, columns in zip(pages, annotators, strict=True):
            prefix = "/".join(filter(None, export.places[page.path])) + ":" if len(pages) > 1 else ""
            for column in columns:
                yield from page.answers(export, column, page.names[column], prefix)
        return
    if len(pages) == 1:
        raise InputError(
            f"{export.where}, holds {len(pages[0].rows):,} tokens with the tags of one annotator. Give one file for"
            " each annotator, or one file with a column of tags for each."
        )
    first: dict[str, _Tokens] = {}
    for page in pages:
        worker, document = export.places[page.path]
        _check_tokens(first.setdefault(document, page), page)
        yield from page.answers(export, -1, worker, f"{document}:" if document else "")


def _check_tokens(first: _Tokens, page: _Tokens) -> None:
    for (sentence, token, cells), (_, _, others) in zip(first.rows, page.rows, strict=False):
        if cells[0] != others[0]:
            raise InputError(
                f"{page.path}: token {token} of sentence {sentence} is {others[0]!r}, but {cells[0]!r} in"
                f" {first.path}. The files of all annotators must have the same tokens."
            )
    if len(first.rows) != len(page.rows):
        raise InputError(f"{page.path} has {len(page.rows):,} tokens, but {first.path} has {len(first.rows):,}.")
