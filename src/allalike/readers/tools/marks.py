"""Marks in images and texts: COCO and CVAT, with outlined and painted areas as masks; brat and CoNLL."""

from __future__ import annotations

import io
import math
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.masks import Mask, check_size, of_run_lengths
from allalike.errors import InputError, Proposal
from allalike.readers.formats.compression import check_prolog
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.read_errors import guard
from allalike.readers.tools.base import (
    FileProbe,
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

    Objects = dict[Any, dict[str, Any]]  # by id
    Sentences = list[list[list[str]]]  # rows of cells, one row per token

_WORKER = ("annotator", "annotator_id", "worker", "worker_id", "user", "user_id")
_FIELDS = {"bbox": "boxes", "keypoints": "points", "segmentation": AREAS, "caption": "texts"}
_SHAPES = {"box": "boxes", "ellipse": "ellipses", "polyline": "polylines", "points": "points"}


# COCO.


def _read_mark(found: dict[str, Any], key: str, category: Any) -> list[Any]:
    """Return the values of a field of a mark, with its class; areas are pairs of class and outline or mask."""
    if not _has(found, key):
        return []
    if key == "caption":
        return [get_text(found, key)]
    name = found.get("category_id") if category is None else category["name"]
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


def _is_coco(peek: FileProbe) -> bool:
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
    pages = [_read_coco(export, path) for path in export.paths]
    every = [found for _, _, _, marks in pages for found in marks]
    by_file = export.by_file or all(get(found, *_WORKER) is None for found in every)
    key = _choose_field(export, every)
    for path, images, categories, marks in pages:
        export.path = path
        labels: dict[Any, list[Any]] = {}
        if by_file:
            labels = {(export.worker(), image): [] for image in images}
        for found in export.each(marks, path, "annotation"):
            worker, image = export.worker(get(found, *_WORKER)), found["image_id"]
            if image not in images:
                raise unexpected(image, "the id of an image", "image_id")
            label = _read_mark(found, key, categories.get(found.get("category_id")))
            labels.setdefault((worker, image), []).extend(label)
        for (worker, image), label in labels.items():
            picture = get(images[image], "file_name", "id")
            export.see(worker, picture)
            if key != "segmentation":
                yield Answer(worker, picture, "\n".join(label) if key == "caption" else label, key, _FIELDS[key])
                continue
            sides = [get_number(images[image], side, default=None) for side in ("height", "width")]
            for name, part in label:
                export.draw(key, worker, picture, name, part, None if None in sides else (sides[0], sides[1]))


def _read_coco(export: Export, path: Path) -> tuple[Path, Objects, Objects, list[dict[str, Any]]]:
    """Return a file with its images and categories by id, and its marks; a list of results contains only marks."""
    document = export.document(path)
    document = {"annotations": document} if isinstance(document, list) else document
    images, categories = (
        {each["id"]: each for each in export.each(get_list(document, key), path, what)}
        for key, what in (("images", "image"), ("categories", "category"))
    )
    marks = list(export.each(get_list(document, "annotations"), path, "annotation"))
    for image in images.values():
        name = str(get(image, "file_name", "id"))
        export.show(name, image, picture=name, sides=(image.get("width"), image.get("height")))
    return path, images or {each["image_id"]: {"id": each["image_id"]} for each in marks}, categories, marks


def _choose_field(export: Export, marks: list[dict[str, Any]]) -> str:
    """Return the field of marks to read: the first that exists, or the question."""
    tag = export.files.question
    keys = [key for key in _FIELDS if any(_has(found, key) for found in marks)]
    if not keys:
        raise InputError(f"{export.where}, contains no marks with one of the fields {', '.join(_FIELDS)}.")
    if tag is None and len(keys) > 1:
        export.remarks.append(f"Read: {keys[0]!r} of each mark. Other questions: {', '.join(keys[1:])}.")
    return tag if tag in keys else keys[0]


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


def _is_cvat(peek: FileProbe) -> bool:
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
    pages = [_read_cvat(export, path) for path in export.paths]
    frames = {picture for _, marks in pages for picture in marks if isinstance(picture, int)}
    for worker, marks in pages:
        for picture in [*marks, *sorted(frames - marks.keys())]:
            export.see(worker, picture)
            for question, labels in marks.get(picture, {}).items():
                is_shape = question in _SHAPES.values()
                label, kind = (labels, question) if is_shape else (tuple(labels), "classes")
                yield Answer(worker, picture, label, question, kind)


def _read_cvat(export: Export, path: Path) -> tuple[str, dict[str | int, dict[str, list[Any]]]]:
    """Return the worker of a file, and the marks by image (or video frame) and question, with areas as masks."""
    export.path = path
    worker, root = export.worker(), parse_annotations(path)
    pictures: dict[str | int, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for number, image in enumerate(root.iter("image"), start=1):
        export.at = f"{path}: image {number}"
        name = image.attrib["name"]
        export.show(name, image.attrib, picture=name, sides=(image.get("width"), image.get("height")))
        marks = pictures[name]
        for shape in image:
            _add_shape(export, worker, name, shape, shape.get("label"), _read_size(image.get), marks)
    export.at = f"{path}: original_size"
    size = next((_read_size(video.findtext) for video in root.iter("original_size")), None)
    for number, track in enumerate(root.iter("track"), start=1):
        export.at = f"{path}: track {number}"
        for shape in track:
            if shape.get("outside") != "1":
                frame = int(shape.attrib["frame"])
                _add_shape(export, worker, frame, shape, track.get("label"), size, pictures[frame])
    return worker, pictures


def _add_shape(
    export: Export, worker: str, picture: Any, shape: Element, kind: str | None, size: Size, marks: dict[str, list[Any]]
) -> None:
    """Add a shape to the marks of an image: a tag with its attributes, an area, or regions with their class."""
    if shape.tag == "tag":
        marks["tags"].append(shape.attrib["label"])
        for attribute in shape.iter("attribute"):
            marks[f"{shape.get('label')}.{attribute.attrib['name']}"].append((attribute.text or "").strip())
    elif shape.tag == "polygon":
        export.draw(AREAS, worker, picture, kind, _read_points(shape), size)
    elif shape.tag == "mask":
        export.draw(AREAS, worker, picture, kind, _read_mask(shape, size), size)
    elif shape.tag in _SHAPES:
        marks[_SHAPES[shape.tag]] += [mark(kind or None, **region) for region in _read_regions(shape)]
    else:
        export.leave_out(f"marks of the kind {shape.tag!r}")


def _read_size(get_side: Callable[[str], str | None]) -> Size:
    """Return height and width, or None if one of them is missing."""
    height, width = get_side("height"), get_side("width")
    return (_parse(height), _parse(width)) if height and width else None


def _read_regions(shape: Element) -> list[dict[str, Any]]:
    if shape.tag == "box":
        left, top, right, bottom = (_parse(shape.attrib[name]) for name in ("xtl", "ytl", "xbr", "ybr"))
        turned = _parse(shape.get("rotation") or "0")
        return [{"bbox": [left, top, right - left, bottom - top], **({"rotation": turned} if turned else {})}]
    if shape.tag == "ellipse":
        x, y, width, height = (_parse(shape.attrib[name]) for name in ("cx", "cy", "rx", "ry"))
        return [{"bbox": [x - width, y - height, 2 * width, 2 * height]}]
    points = _read_points(shape)
    return [{"x": x, "y": y} for x, y in points] if shape.tag == "points" else [{"points": points}]


def _read_points(shape: Element) -> list[list[float]]:
    points = [[_parse(part) for part in pair.split(",")] for pair in shape.get("points", "").split(";") if pair.strip()]
    if any(len(point) != 2 for point in points):
        raise unexpected(shape.get("points"), "points 'x,y'", f"{shape.tag}.points")
    return points


_RUNS = re.compile(r"\s*\d{1,15}\s*(,\s*\d{1,15}\s*)*")


def _read_mask(shape: Element, size: Size) -> Mask:
    """Decode the row-wise run lengths of a mask within a box of the image."""
    left, top, width, height = (int(_parse(shape.attrib[name])) for name in ("left", "top", "width", "height"))
    if not _RUNS.fullmatch(lengths := shape.get("rle", "")):
        raise unexpected(lengths, "run lengths such as '1, 5'", "mask.rle")
    runs = list(map(int, lengths.split(",")))
    painted = of_run_lengths({"size": [width, height], "counts": runs}).T  # it decodes by column
    rows, columns = map(int, size or (0, 0))
    around = ((top, rows - top - height), (left, columns - left - width))
    if min(map(min, around)) < 0:
        known = "of unknown size" if size is None else f"of {rows} x {columns} pixels"
        raise ValueError(f"a mask of {height} x {width} pixels at {top}, {left} is outside a picture {known}")
    check_size(rows, columns)
    return Mask.of(np.pad(painted, around))


def _parse(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise unexpected(text, "a finite number")
    return number


# brat.

_SPAN = re.compile(r"T\d+\t(\S+) (\d{1,15} \d{1,15}(?:;\d{1,15} \d{1,15})*)(?:\t.*)?")
_OTHER = {"R": "relations", "*": "relations", "E": "events", "A": "attributes", "M": "attributes"}
_OTHER |= {"N": "normalisations", "#": "notes"}
_SPANS = "spans"


def _is_brat(peek: FileProbe) -> bool:
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


def _read_lines(export: Export, path: Path) -> list[str]:
    text: str = guard(path, "text", lambda: read_text(path, export.files.encoding))
    return text.splitlines()


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


def _is_conll(peek: FileProbe) -> bool:
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


@record_tool("conll", "CoNLL columns", _is_conll)
def conll(export: Export) -> Iterator[Answer]:
    """Read a tag per token (O, B-PER), with one column or file per annotator.

    Example line: ``Eve NNP B-PER``. Empty lines separate sentences. The task is a token, such as 3.07 for the seventh
    of the third sentence. With the question ``spans`` each sentence is a task, and its tags are spans.
    """
    pages = [_read_sentences(export, path) for path in export.paths]
    names = [_take_header(page) for page in pages]
    annotators = [_find_annotators(page) for page in pages]
    if export.files.worker_from is None and all(annotators):
        for path, page, heads, columns in zip(export.paths, pages, names, annotators, strict=True):
            prefix = "/".join(filter(None, export.places[path])) + ":" if len(pages) > 1 else ""
            for column in columns:
                yield from _list_tags(export, page, column, heads[column], prefix)
        return
    if len(pages) == 1:
        raise InputError(
            f"{export.where}, contains the tags of one annotator. Give one file per annotator, or one file with a"
            " column of tags per annotator."
        )
    first: dict[str, tuple[Path, Sentences]] = {}
    for path, page in zip(export.paths, pages, strict=True):
        worker, document = export.places[path]
        other, tokens = first.setdefault(document, (path, page))
        if [[row[0] for row in rows] for rows in tokens] != [[row[0] for row in rows] for rows in page]:
            raise InputError(_compare_tokens(path, page, other, tokens))
        yield from _list_tags(export, page, -1, worker, f"{document}:" if document else "")


def _read_sentences(export: Export, path: Path) -> Sentences:
    lines = _read_lines(export, path)
    delimiter = "\t" if sum("\t" in line for line in lines) > len(lines) / 4 else None
    sentences: Sentences = [[]]
    width = 0
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.split(delimiter)] if line.strip() else []
        if not cells or cells[0] == _DOCUMENT:
            sentences += [[]] if sentences[-1] else []
        elif not line.startswith("#") or len(cells) == width:
            width = width or len(cells)
            if len(cells) != width or width < 2:
                raise InputError(
                    f"{path}: line {number} has {len(cells)} columns instead of {max(width, 2)}. Correct the line."
                )
            sentences[-1].append(cells)
    if not width:
        raise InputError(f"{path} contains no tokens. Use a file with one token per line.")
    return sentences if sentences[-1] else sentences[:-1]


def _take_header(sentences: Sentences) -> list[str]:
    """Remove and return the names of columns, or return their numbers if the first row is a token."""
    head, *others = [row for rows in sentences for row in rows]
    tagged = [column for column in range(1, len(head)) if others and all(_is_tag(row[column]) for row in others)]
    if not tagged or any(_is_tag(head[column]) for column in tagged):
        return [f"column {number}" for number in range(1, len(head) + 1)]
    return sentences[0].pop(0)


def _find_annotators(sentences: Sentences) -> list[int]:
    """Return the columns of tags if they share classes: then each is an annotator, not an annotation layer."""
    columns = list(zip(*(row for rows in sentences for row in rows), strict=True))
    classes: dict[int, set[str]] = {}
    for column, tags in enumerate(columns[1:], start=1):
        if all(map(_is_tag, tags)):
            classes[column] = {tag[2:] for tag in tags if tag not in _NONE} - {""}
    used = [column for column in classes if classes[column]]
    shared = [c for c in used if any(classes[c] & classes[other] for other in used if other != c)]
    return list(classes) if used and len(classes) > 1 and shared == used else []


def _list_tags(export: Export, sentences: Sentences, column: int, worker: str, prefix: str) -> Iterator[Answer]:
    """Yield the tag of each token in a column, or the tags of each sentence for the question 'spans'."""
    longest, most = len(str(len(sentences))), len(str(max(map(len, sentences))))
    for number, rows in enumerate(sentences, start=1):
        place, tags = f"{prefix}{number:0{longest}d}", [row[column] for row in rows]
        if export.files.question != _SPANS:
            for token, tag in enumerate(tags, start=1):
                if tag not in _NONE:
                    yield Answer(worker, f"{place}.{token:0{most}d}", tag, kind="classes")
            export.leave_out("tokens without a tag", sum(tag in _NONE for tag in tags))
        elif set(tags).isdisjoint(_NONE):
            if tags:
                yield Answer(worker, place, tags, _SPANS, _SPANS)
        else:
            export.leave_out("sentences without all tags")


def _compare_tokens(path: Path, page: Sentences, other: Path, tokens: Sentences) -> str:
    """Return the message for two files with different tokens."""
    for sentence, (rows, others) in enumerate(zip(page, tokens, strict=False), start=1):
        for token, (row, known) in enumerate(zip(rows, others, strict=False), start=1):
            if row[0] != known[0]:
                return (
                    f"{path}: token {token} of sentence {sentence} is {row[0]!r}, but {known[0]!r} in {other}. The"
                    " files of all annotators must have the same tokens."
                )
    return f"{path} and {other} have sentences of different lengths. The files of all annotators must be aligned."
