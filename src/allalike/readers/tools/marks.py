"""Marks in images and texts: COCO and CVAT, with outlined and painted areas as masks; brat and CoNLL."""

from __future__ import annotations

import io
import math
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.masks import Mask, check_size, of_run_lengths
from allalike.errors import InputError, Proposal
from allalike.readers.formats.compression import check_prolog
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.failures import guard
from allalike.readers.tools.base import (
    Peek,
    UnexpectedValueError,
    get,
    get_list,
    get_number,
    get_numbers,
    get_text,
    read_bytes,
    unexpected,
)
from allalike.readers.tools.frame import AREAS, Answer, Export, mark, place_files, record_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from xml.etree.ElementTree import Element  # nosec B405 # its type only

    from allalike.readers.tools.frame import Size

_WORKER = ("annotator", "annotator_id", "worker", "worker_id", "user", "user_id")
_FIELDS = {"bbox": "boxes", "keypoints": "points", "segmentation": AREAS, "caption": "texts"}
_SHAPES = {"box": "boxes", "ellipse": "ellipses", "polyline": "polylines", "points": "points"}


# COCO.


class _Document(NamedTuple):
    """A COCO file: images and categories by id, and marks."""

    path: Path
    images: dict[Any, dict[str, Any]]
    categories: dict[Any, dict[str, Any]]
    marks: list[dict[str, Any]]

    @classmethod
    def read(cls, export: Export, path: Path) -> _Document:
        document = export.document(path)
        if isinstance(document, list):  # of results
            document = {"annotations": document}
        images, kinds = (
            {each["id"]: each for each in export.each(get_list(document, key), path, what)}
            for key, what in (("images", "image"), ("categories", "category"))
        )
        marks = list(export.each(get_list(document, "annotations"), path, "annotation"))
        for image in images.values():
            name = str(get(image, "file_name", "id"))
            export.show(name, image, picture=name, sides=(image.get("width"), image.get("height")))
        images = images or {each["image_id"]: {"id": each["image_id"]} for each in marks}
        return cls(path, images, kinds, marks)

    def read_mark(self, found: dict[str, Any], key: str) -> list[Any]:
        """Return the values of a field of a mark, with its class; areas are pairs of class and outline or mask."""
        if not _has(found, key):
            return []
        if key == "caption":
            return [get_text(found, key)]
        number = found.get("category_id")
        category = self.categories.get(number)
        name = number if category is None else category["name"]
        if key == "segmentation":
            if isinstance(found[key], dict):
                return [(name, Mask.of(of_run_lengths(found[key])))]
            outlines = [get_numbers(outline) for outline in get_list(found, key)]
            if any(len(outline) % 2 for outline in outlines):
                raise unexpected(found[key], "x and y of each point", key)
            return [(name, list(zip(outline[::2], outline[1::2], strict=True))) for outline in outlines]
        numbers = get_numbers(found, key)
        if key == "keypoints":
            points = list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=False))
            names = get_list(category, "keypoints") or range(1, len(points) + 1)
            return [mark(name, x=x, y=y) for name, (x, y, visible) in zip(names, points, strict=False) if visible]
        if len(numbers) != 4:
            raise unexpected(found[key], "[x, y, width, height]", key)
        score = get_number(found, "score", default=None)
        return [mark(name, bbox=numbers, **({} if score is None else {"score": score}))]


def _has(found: dict[str, Any], key: str) -> bool:
    return bool(found.get(key)) and (key != "keypoints" or found.get("num_keypoints") != 0)


def _is_coco(peek: Peek) -> bool:
    """Return whether a file contains images and annotations, or a list of detections."""
    if not isinstance(peek.document, dict):
        results = ("image_id" in each and not _FIELDS.keys().isdisjoint(each) for each in peek.records)
        return bool(peek.records) and all(results)
    return peek.has("annotations.image_id") or peek.has("images.id", "images.file_name")


@record_tool("coco", "COCO", _is_coco, shows=True)
def coco(export: Export) -> Iterator[Answer]:
    """Read boxes, outlines or key points in images, one file per annotator (JSON).

    File: ``{"images": [...], "categories": [...], "annotations": [{"image_id": 1, "bbox": [1, 2, 30, 40]}]}``, or a
    list of results, which contains only annotations. The worker is the file name, or the ``annotator`` of the marks.
    The question can be a field other than ``bbox``. The annotator of a file saw all of its images.
    """
    pages = [_Document.read(export, path) for path in export.paths]
    marks = [found for page in pages for found in page.marks]
    by_file = export.by_file or all(get(found, *_WORKER) is None for found in marks)
    if by_file:
        export.refuse_one_file(f"{len(marks):,} marks in {len(pages[0].images):,} pictures and no annotators")
    key = _choose_field(export, marks)
    for page in pages:
        labels: dict[Any, list[Any]] = {}
        if by_file:
            labels = {(export.places[page.path][0], image): [] for image in page.images}
        for found in export.each(page.marks, page.path, "annotation"):
            worker, image = export.owner if by_file else get(found, *_WORKER), found["image_id"]
            if image not in page.images:
                raise UnexpectedValueError(f"'image_id' is {image!r}, which is not the id of an image")
            labels.setdefault((worker, image), []).extend(page.read_mark(found, key))
        for (worker, image), label in labels.items():
            picture = get(page.images[image], "file_name", "id")
            export.see(worker, picture)
            if key != "segmentation":
                yield Answer(worker, picture, "\n".join(label) if key == "caption" else label, key, _FIELDS[key])
                continue
            sides = [get_number(page.images[image], side, default=None) for side in ("height", "width")]
            for name, part in label:
                export.draw(key, worker, picture, name, part, None if None in sides else (sides[0], sides[1]))


def _choose_field(export: Export, marks: list[dict[str, Any]]) -> str:
    """Return the field of marks to read: the first that exists, or the question."""
    tag = export.files.question
    keys = [key for key in _FIELDS if any(_has(found, key) for found in marks)]
    if not keys:
        raise InputError(f"{export.where}, contains no marks with one of the fields {', '.join(_FIELDS)}.")
    if tag is not None and tag not in keys:
        proposals = [Proposal({"question": key}) for key in keys]
        raise InputError(f"{export.where}, has no question {tag!r}. It has: {', '.join(keys)}.", proposals=proposals)
    if tag is None and len(keys) > 1:
        export.remarks.append(f"Read: {keys[0]!r} of each mark. Other questions: {', '.join(keys[1:])}.")
    return tag or keys[0]


# CVAT.


def parse_annotations(path: Path) -> Element:
    """Parse a file of annotations as XML, and refuse entities."""
    from xml.etree import ElementTree  # nosec B405 # entities are refused below

    data = read_bytes(path)
    check_prolog(path, io.BytesIO(data), "CVAT")
    try:
        return ElementTree.fromstring(data)  # nosec B314 # entities were refused
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(f"{path} cannot be read as XML: {error}. Check that it is complete.") from error


def _is_cvat(peek: Peek) -> bool:
    start = peek.start[:4096]
    marks = ("<meta>", "<image ", "<track ", "<version>")
    return peek.ending == ".xml" and "<annotations" in start and any(each in start for each in marks)


@record_tool("cvat", "CVAT", _is_cvat, shows=True)
def cvat(export: Export) -> Iterator[Answer]:
    """Read tags, boxes, outlines or points in images and videos, one file per annotator (XML).

    Image: ``<image id="0" name="a.jpg"><box label="cat" xtl="1" ytl="2" xbr="31" ybr="42"/></image>``. Questions are
    ``tags``, their attributes, ``boxes``, ``areas`` (polygons and masks), ``polylines``, ``points`` and ``ellipses``.
    Shapes in the tracks of a video are marks in its frames. A frame that one annotator marked counts as seen by all.
    """
    export.refuse_one_file("the marks of one annotator")
    pages = [_Page(export, path) for path in export.paths]
    frames = {picture for page in pages for picture in page.marks if isinstance(picture, int)}
    for page in pages:
        for picture in [*page.marks, *sorted(frames - page.marks.keys())]:
            export.see(page.worker, picture)
            for question, labels in page.marks.get(picture, {}).items():
                is_shape = question in _SHAPES.values()
                label, kind = (labels, question) if is_shape else (tuple(labels), "classes")
                yield Answer(page.worker, picture, label, question, kind)


class _Page:
    """A CVAT file: marks by image or video frame, and by question; areas are drawn into the export."""

    def __init__(self, export: Export, path: Path) -> None:
        self.export, self.worker = export, export.places[path][0]
        self.marks: dict[str | int, dict[str, list[Any]]] = {}
        root = parse_annotations(path)
        for number, image in enumerate(root.iter("image"), start=1):
            export.at = f"{path}: image {number}"
            name, size = image.attrib["name"], _read_size(image.get)
            export.show(name, image.attrib, picture=name, sides=(image.get("width"), image.get("height")))
            self.marks.setdefault(name, defaultdict(list))
            for shape in image:
                self.add(name, shape, shape.get("label"), size)
        export.at = f"{path}: original_size"
        size = next((_read_size(video.findtext) for video in root.iter("original_size")), None)
        for number, track in enumerate(root.iter("track"), start=1):
            export.at = f"{path}: track {number}"
            for shape in track:
                if shape.get("outside") != "1":
                    self.add(int(shape.attrib["frame"]), shape, track.get("label"), size)

    def add(self, picture: str | int, shape: Element, kind: str | None, size: Size) -> None:
        """Add a shape: a tag with its attributes, an area, or regions with their class."""
        marks = self.marks.setdefault(picture, defaultdict(list))
        if shape.tag == "tag":
            marks["tags"].append(shape.attrib["label"])
            for attribute in shape.iter("attribute"):
                marks[f"{shape.get('label')}.{attribute.attrib['name']}"].append((attribute.text or "").strip())
        elif shape.tag in ("polygon", "mask"):
            part: Any = _read_points(shape) if shape.tag == "polygon" else _read_mask(shape, size)
            self.export.draw(AREAS, self.worker, picture, kind, part, size)
        elif shape.tag in _SHAPES:
            marks[_SHAPES[shape.tag]] += [mark(kind or None, **region) for region in _read_regions(shape)]
        else:
            self.export.leave_out(f"marks of the kind {shape.tag!r}")


def _read_size(get_side: Callable[[str], str | None]) -> Size:
    """Return height and width, or None if one of them is missing."""
    height, width = get_side("height"), get_side("width")
    return (_parse(height), _parse(width)) if height and width else None


def _read_regions(shape: Element) -> list[dict[str, Any]]:
    if shape.tag == "box":
        left, top, right, bottom = _read_numbers(shape, "xtl", "ytl", "xbr", "ybr")
        turned = _parse(shape.get("rotation") or "0")
        return [{"bbox": [left, top, right - left, bottom - top], **({"rotation": turned} if turned else {})}]
    if shape.tag == "ellipse":
        x, y, width, height = _read_numbers(shape, "cx", "cy", "rx", "ry")
        return [{"bbox": [x - width, y - height, 2 * width, 2 * height]}]
    points = _read_points(shape)
    return [{"x": x, "y": y} for x, y in points] if shape.tag == "points" else [{"points": points}]


def _read_points(shape: Element) -> list[list[float]]:
    points = [[_parse(part) for part in pair.split(",")] for pair in shape.get("points", "").split(";") if pair.strip()]
    if any(len(point) != 2 for point in points):
        raise UnexpectedValueError(f"'{shape.tag}.points' is {shape.get('points')!r}, where points 'x,y' should be")
    return points


def _read_mask(shape: Element, size: Size) -> Mask:
    """Decode the row-wise run lengths of a mask within a box of the image."""
    left, top, width, height = map(int, _read_numbers(shape, "left", "top", "width", "height"))
    try:
        runs = list(map(int, shape.get("rle", "").split(",")))
    except ValueError:
        raise UnexpectedValueError(f"'mask.rle' is {shape.get('rle')!r}, where run lengths should be") from None
    painted = of_run_lengths({"size": [width, height], "counts": runs}).T  # it decodes by column
    rows, columns = map(int, size or (0, 0))
    around = ((top, rows - top - height), (left, columns - left - width))
    if min(map(min, around)) < 0:
        known = "of unknown size" if size is None else f"of {rows} x {columns} pixels"
        raise UnexpectedValueError(f"a mask of {height} x {width} pixels at {top}, {left} is outside a picture {known}")
    check_size(rows, columns)
    return Mask.of(np.pad(painted, around))


def _read_numbers(shape: Element, *names: str) -> list[float]:
    return [_parse(shape.attrib[name]) for name in names]


def _parse(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise UnexpectedValueError(f"{text!r} is not a finite number")
    return number


# brat.

_SPAN = re.compile(r"T\d+\t(\S+) (\d{1,15} \d{1,15}(?:;\d{1,15} \d{1,15})*)(?:\t.*)?")
_OTHER = {"R": "relations", "*": "relations", "E": "events", "A": "attributes", "M": "attributes"}
_OTHER |= {"N": "normalisations", "#": "notes"}
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
    """Read spans in documents, one folder of .ann files per annotator.

    Example line: ``T1<tab>PERSON 0 3<tab>Eve``. A discontinuous span becomes one span per part. Relations, events,
    attributes and notes are excluded.
    """
    listed: list[Path] = []
    for path in export.paths:
        listed += sorted(path.rglob("*.ann")) if path.is_dir() else [path] if path.suffix.lower() != ".txt" else []
    if not listed:
        raise InputError(f"{export.where}, contains no annotation files (.ann).")
    places = place_files(listed, by_name=export.by_file, by_folder=not export.by_file)
    if not export.by_file and len({worker for worker, _ in places.values()}) == 1:
        raise InputError(
            f"{export.where}, contains {len(listed):,} documents of one annotator. Give one folder per annotator, with"
            " files of the same names.",
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
            raise InputError(f"{path}: line {number} is not a brat annotation: {line[:60]!r}. Correct or remove it.")
    return spans


# CoNLL.

_TAG = re.compile(r"O|[BIESLUM]-\S+")
_NONE = ("?", "_", "-")  # marks of a missing tag
_ENDINGS = (".conll", ".conll03", ".conll2003", ".bio", ".iob", ".iob2", ".bioes", ".bilou")
_DOCUMENT = "-DOCSTART-"
_LOOK = 2000  # lines that are inspected


def _is_tag(cell: str) -> bool:
    return cell in _NONE or _TAG.fullmatch(cell) is not None


def _is_conll(peek: Peek) -> bool:
    """Return whether lines end with tags, and empty lines separate sentences."""
    if peek.ending not in ("", ".txt", ".tsv", *_ENDINGS) or not peek.start:
        return False
    lines = peek.start.splitlines()[:_LOOK]
    rows = [line.split() for line in lines if line.strip() and not line.startswith((_DOCUMENT, "#"))]
    tagged = [len(row) > 1 and _is_tag(row[-1]) for row in rows]
    marked = any("-" in row[-1][1:] for row, known in zip(rows, tagged, strict=True) if known)
    divided = marked and any(not line.strip() for line in lines[1:-1])
    known = tagged[1:] or tagged  # without a header
    return sum(known) > 0.95 * len(known) > 0 and (divided or peek.ending in _ENDINGS)


@dataclass(frozen=True)
class _Tokens:
    """The tokens of a file, each with its sentence and token number and its cells, and the names of columns."""

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
                raise InputError(
                    f"{path}: line {number} has {len(cells)} columns instead of {max(width, 2)}. Correct the line."
                )
            token += 1
            rows.append((sentence, token, cells))
        if not rows:
            raise InputError(f"{path} contains no tokens. Give a file with one token per line.")
        (begin, _, head), *others = rows
        tagged = [column for column in range(1, width) if others and all(_is_tag(row[2][column]) for row in others)]
        if not tagged or any(_is_tag(head[column]) for column in tagged):
            return cls(path, rows, [f"column {number}" for number in range(1, width + 1)])
        return cls(path, [(place, token - (place == begin), cells) for place, token, cells in others], head)

    def find_annotators(self) -> list[int]:
        """Return the columns of tags if they share classes: then each is an annotator, not an annotation layer."""
        classes: dict[int, set[str]] = {}
        for column in range(1, len(self.names)):
            tags = {cells[column] for _, _, cells in self.rows}
            if all(map(_is_tag, tags)):
                classes[column] = {tag[2:] for tag in tags if tag not in _NONE} - {""}
        used = [column for column in classes if classes[column]]
        shared = [c for c in used if any(classes[c] & classes[other] for other in used if other != c)]
        return list(classes) if used and len(classes) > 1 and shared == used else []

    def answers(self, export: Export, column: int, worker: str, prefix: str) -> Iterator[Answer]:
        """Yield the tag of each token in a column, or the tags of each sentence for the question 'spans'."""
        longest, most = (len(str(max(row[place] for row in self.rows))) for place in (0, 1))
        sentences: dict[str, list[str]] = {}
        for sentence, token, cells in self.rows:
            place, tag = f"{prefix}{sentence:0{longest}d}", cells[column]
            if export.files.question == _SPANS:
                sentences.setdefault(place, []).append(tag)
            elif tag in _NONE:
                export.leave_out("tokens without a tag")
            else:
                yield Answer(worker, f"{place}.{token:0{most}d}", tag, kind="classes")
        for place, tags in sentences.items():
            if set(tags).isdisjoint(_NONE):
                yield Answer(worker, place, tags, _SPANS, _SPANS)
            else:
                export.leave_out("sentences without all tags")


@record_tool("conll", "CoNLL columns", _is_conll)
def conll(export: Export) -> Iterator[Answer]:
    """Read a tag per token (O, B-PER), with one column or file per annotator.

    Example line: ``Eve NNP B-PER``. Empty lines separate sentences. The task is a token, such as 3.07 for the seventh
    of the third sentence. With the question ``spans`` each sentence is a task, and its tags are spans.
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
            f"{export.where}, contains {len(pages[0].rows):,} tokens with the tags of one annotator. Give one file per"
            " annotator, or one file with a column of tags per annotator."
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
        raise InputError(
            f"{page.path} has {len(page.rows):,} tokens, but {first.path} has {len(first.rows):,}. The files of all"
            " annotators must have the same tokens."
        )
