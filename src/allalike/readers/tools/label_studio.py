"""Label Studio: its export, and the results of its controls as labels.

What was painted with a brush is a stream of bits. It begins with the number of words (32 bits), the size of a word less
one (5 bits) and four sizes of runs less one (4 bits each). Runs follow: a bit that says whether one word is repeated,
two bits that choose a size, the number of words less one in so many bits, and the word or the words. Words are the
bytes of a picture with four channels, of which the last says where the brush was.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from allalike._core.limits import MAX_PIXELS
from allalike._core.masks.packed import Mask
from allalike._core.system.json_text import parse_json
from allalike.errors import InputError, UnsupportedError
from allalike.readers.formats.delimited import open_delimited
from allalike.readers.tools.base import Original, Peek, Tool
from allalike.readers.tools.collection import KNOWN, Collection
from allalike.readers.tools.images import Areas
from allalike.readers.tools.sheets import listed
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from allalike._core.masks.packed import Part
    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

    Sheet = tuple[Any, Any, Mapping[str, list[Node]]]

_AREAS = {"masks", "polygons"}
_CHOICES = {"choices": "choices", "taxonomy": "taxonomy", "pairwise": "selected"}
_VALUES = {"rating": "rating", "number": "number", "datetime": "datetime", "textarea": "text", "ranker": "ranker"}
_SAYINGS = {**_CHOICES, **_VALUES}  # these are about a task, and not about a region of it
_GEOMETRY = {
    "masks": {"rle"},
    "spans": {"start", "end"},
    "boxes": {"x", "y", "width", "height"},
    "ellipses": {"x", "y", "radiusX", "radiusY"},
    "polygons": {"points"},
    "points": {"x", "y"},
}
_CHANNELS = 4


def _kind_of(item: Node) -> str:
    """Return what kind of label a result is, by its type or by what it holds.

    >>> from allalike.readers.tools.trees import Node
    >>> _kind_of(Node({"type": "choices", "value": {"choices": ["sad"]}}, "tasks.json"))
    'choices'
    """
    kind = None if item.raw("type") is None else item["type"].text()
    if kind in _SAYINGS:
        return str(kind)
    keys = set(item["value"].fields())
    found = next((name for name, needed in _GEOMETRY.items() if needed <= keys), None)
    if found is None and kind is None:
        found = next((name for name, key in _SAYINGS.items() if key in keys), None)
    return found or "unknown regions"


def is_region(item: Node) -> bool:
    """Tell whether a result marks something, and does not say something of the task."""
    return item.raw("type") != "relation" and _kind_of(item) not in _SAYINGS


def add_answers(found: Collection, sheets: Sequence[Sheet]) -> None:
    """Add what everybody answered to each control; who marked no region where others did saw none."""
    kinds: dict[str, set[str]] = {}
    for _, _, results in sheets:
        for control, items in results.items():
            kinds.setdefault(control, set()).update(map(_kind_of, items))
    for control, these in kinds.items():
        if these & _AREAS:
            _add_areas(found, control, sheets)
            continue
        if len(these) > 1 and these & _SAYINGS.keys():
            raise InputError(f"{found.where}: the answers to {control!r} are mixed: {', '.join(sorted(these))}.")
        kind = these.pop() if len(these) == 1 else "unknown regions"
        for worker, task, results in sheets:
            found.add(worker, task, _read_label(kind, results.get(control, [])), question=control, kind=kind)


def _add_areas(found: Collection, control: str, sheets: Sequence[Sheet]) -> None:
    """Add all that was outlined or painted with a control, each class by itself, and nothing if nothing was."""
    areas = Areas(found.where)
    for worker, task, results in sheets:
        areas.see(worker, task)
        for item in results.get(control, []):
            size = _size(item)
            areas.see(worker, task, size)
            areas.draw(worker, task, _class_of(item) or "mask", _part(item, *size))
    areas.add_to(found, control)


def _size(item: Node) -> tuple[int, int]:
    """Return height and width of the picture, which the result says, or in short exports its value."""
    about = item if item["original_width"].there else item["value"]
    if not about["original_width"].there:
        raise InputError(
            f"{item.where}: the picture of {item['value'].way!r} has no size (original_width and original_height), and"
            " its marks are in percent of it. Export it as JSON, and not in a short form."
        )
    return int(about["original_height"].number()), int(about["original_width"].number())


def _part(item: Node, height: int, width: int) -> Part:
    """Return an outline in pixels, or what was painted."""
    value = item["value"]
    if _kind_of(item) == "masks":
        return Mask.of(_decode_brush(item, height, width))
    if _kind_of(item) != "polygons":
        raise value.refused("points of an outline, or what was painted")
    points = [point.numbers() for point in value["points"].items()]
    if any(len(point) != 2 for point in points):
        raise value["points"].refused("points [x, y]")
    return [[x * width / 100, y * height / 100] for x, y in points]


def _read_label(kind: str, items: Sequence[Node]) -> Any:
    """Return one worker's label; nothing if she gave none."""
    if kind in _CHOICES:
        return tuple(choice for item in items for choice in _choices(kind, item["value"]))
    if kind in _VALUES:
        return _value(kind, items)
    return [_region(item) for item in items]


def _choices(kind: str, value: Node) -> list[str]:
    chosen = value[_CHOICES[kind]]
    if kind == "taxonomy":
        paths = [path.items() if isinstance(path.value, list) else [path] for path in chosen.items()]
        return [" / ".join(str(step.scalar()) for step in path) for path in paths]
    return [chosen.text()] if isinstance(chosen.value, str) else [str(choice.scalar()) for choice in chosen.items()]


def _value(kind: str, items: Sequence[Node]) -> Any:
    values = [value for item in items if (value := item["value"][_VALUES[kind]]).there]
    if not values:
        return None
    if kind == "ranker":
        return _ranking(values[0])
    if kind == "textarea":
        texts = [value.items() if isinstance(value.value, list) else [value] for value in values]
        return "\n".join(text.text() for part in texts for text in part)
    return values[0].text() if kind == "datetime" else values[0].number()


def _ranking(value: Node) -> list[Any]:
    """Return an order, or, where items were put into several buckets, the buckets in their order."""
    if isinstance(value.value, list):
        return [item.id() for item in value.items()]
    buckets = [[item.id() for item in bucket.items()] for bucket in value.fields().values()]
    return buckets[0] if len(buckets) == 1 else [bucket for bucket in buckets if bucket]


def _class_of(item: Node) -> str | None:
    """Return the class of a region; several are one of their own."""
    value = item["value"]
    key = next((key for key in value.fields() if key.endswith("labels")), "labels")
    labels = value[key]
    if isinstance(labels.value, str):
        return labels.text()
    return " + ".join(sorted(str(label.scalar()) for label in labels.items())) or None


def _region(item: Node) -> Any:
    """Return a region: a span as [start, end, class], everything else as an object with its class."""
    kind, value = _kind_of(item), item["value"]
    if kind == "spans":
        return _span(item)
    region: dict[str, Any] = {}
    if kind == "boxes":
        region["bbox"] = [value[key].number() for key in ("x", "y", "width", "height")]
    elif kind == "ellipses":
        x, y, width, height = (value[key].number() for key in ("x", "y", "radiusX", "radiusY"))
        region["bbox"] = [x - width, y - height, 2 * width, 2 * height]
    elif kind == "points":
        region |= {key: value[key].number() for key in ("x", "y")}
    else:
        return dict(value.value or {})  # of a kind that we do not know, as it came
    if value["rotation"].value:
        region["rotation"] = value["rotation"].number()
    label = _class_of(item)
    return region if label is None else {**region, "label": label}


def _span(item: Node) -> list[Any]:
    """Return begin and end in the text, or in seconds; in a page, counted over the whole of its text."""
    value = item["value"]
    offsets = value["globalOffsets"] if value["globalOffsets"].there else value
    ends = [offsets[key] for key in ("start", "end")]
    if isinstance(ends[0].value, str) and item["type"].value != "timeserieslabels":
        raise InputError(
            f"{item.where}: the region {item['id'].value!r} of {item['from_name'].value!r} has no offsets in the whole"
            " text (globalOffsets). Export it anew with a newer Label Studio."
        )
    return [*(end.scalar() for end in ends), _class_of(item)]


def _decode_brush(item: Node, height: int, width: int) -> npt.NDArray[np.bool_]:
    """Return the mask of a brush in a picture of this size, from a result of Label Studio.

    >>> from allalike.readers.tools.trees import Node
    >>> bits = f"{8:032b}" + f"{7:05b}" + f"{2:04b}" * 4 + "1" + "00" + "011" + f"{0:08b}" + "1" + "00" + "011"
    >>> bits += f"{255:08b}"
    >>> data = int(bits.ljust(88, "0"), 2).to_bytes(11)
    >>> _decode_brush(Node({"value": {"rle": list(data)}}, "tasks.json: record 1"), 1, 2)
    array([[False,  True]])
    """
    rle = item["value"]["rle"]
    if not 0 < width * height <= MAX_PIXELS:
        raise InputError(
            f"{rle.where}: the picture of {rle.way!r} has {width} x {height} pixels. It must have 1 to {MAX_PIXELS:,}."
        )
    try:
        words = _unpack_words(bytes(map(int, rle.numbers())), width * height * _CHANNELS)
    except ValueError as error:
        raise InputError(f"{rle.where}: {rle.way!r} is no mask of Label Studio: {error}.") from error
    return np.asarray(words.reshape(height, width, _CHANNELS)[:, :, -1] > 0)


def _unpack_words(packed: bytes, expected: int) -> npt.NDArray[np.uint8]:
    """Unpack so many words.

    >>> packed = [0, 0, 0, 18, 57, 27, 252, 96, 32, 1, 0, 6, 0, 40, 0, 192, 3, 128, 17, 56, 32]
    >>> _unpack_words(bytes(packed), 18).tolist()
    [1, 1, 1, 1, 2, 3, 5, 6, 7, 8, 4, 4, 4, 4, 4, 4, 4, 4]
    """
    place = 0

    def take(size: int) -> int:
        nonlocal place
        start, place = place, place + size
        if place > 8 * len(packed):
            raise ValueError("it is cut off")
        some = int.from_bytes(packed[start // 8 : (place + 7) // 8], "big")
        return some >> (-place % 8) & ((1 << size) - 1)

    number, size = take(32), take(5) + 1
    if number != expected or size > 8:
        raise ValueError(f"it has {number:,} words of {size} bits, where {expected:,} bytes are due")
    runs = [take(4) + 1 for _ in range(4)]
    words = np.zeros(number, np.uint8)
    at = 0
    while at < number:
        repeated = take(1)
        end = at + 1 + take(runs[take(2)])
        if end > number:
            raise ValueError("it has more words than it says")
        words[at:end] = take(size) if repeated else [take(size) for _ in range(end - at)]
        at = end
    return words


# Label Studio: tasks with the annotations of several people, and with predictions of models.
#
# Each annotation is a list of results; a result belongs to a control of the labelling interface (``from_name``). A
# control is a question of its own: what everybody chose, or which regions everybody marked.
#
# Exports as JSON-MIN, CSV and TSV have one row for each annotation. The columns are those of the imported data, then
# ``id``, then one for each control, then who and when; or all of them in the order of the alphabet, and then the data
# are what is the same in all annotations of a task.


_TASK_KEYS = {"data", "file_upload", "total_annotations", "inner_id", "predictions", "drafts"}
_SHEETS = ("annotations", "completions", "predictions")
_NEEDED = {"id", "annotator", "annotation_id"}
_ABOUT = {*_NEEDED, "created_at", "updated_at", "lead_time", "agreement", "sentiment_agreement", "completed_by"}


class LabelStudio(Tool):
    """Label Studio's exports: JSON, and with one row for each annotation JSON-MIN, CSV and TSV.

    >>> said = '{"completed_by": %s, "result": [{"type": "choices", "from_name": "q", "value": {"choices": ["%s"]}}]}'
    >>> task = '{"id": 7, "annotations": [%s, %s]}' % (said % (1, "sad"), said % (2, "glad"))
    >>> LabelStudio().answers_in({"project.json": f"[{task}]"})
    [(1, 7, 'sad'), (2, 7, 'glad')]
    """

    name: ClassVar[str] = "label-studio"
    title: ClassVar[str] = "Label Studio"
    summary: ClassVar[str] = "annotations and predictions of tasks (JSON, JSON-MIN, CSV, TSV)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether these are tasks with annotations, or rows of them."""
        return _is_row_head(peek.names) or any(_is_task(record) or _is_row(record) for record in peek.records)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the answers to one control."""
        found = Collection(self, paths, files)
        sheets: list[_Sheet] = []
        for path in paths:
            records = _read_rows(path) if _is_table(path) else read_records(path)
            if any(_is_row(record.value) for record in records):
                _add_rows(found, path, records)
                continue
            for task in records:
                sheets += [_Sheet.of(found, task, *annotation, path) for annotation in _annotations(task, found)]
        add_answers(found, [(sheet.worker, sheet.task, sheet.results) for sheet in sheets])
        _remark(found, sheets)
        return found.table()

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """List the tasks with their results, which also say how large pictures are."""
        tasks = [task for path in paths for task in ([] if _is_table(path) else read_records(path))]
        if not tasks or any(_is_row(task.value) for task in tasks):
            raise UnsupportedError(
                f"{paths[0]} has one row for each annotation, and does not say what the tasks and controls of the"
                " project are. Export it from Label Studio as JSON."
            )
        return {str(_name(task)): _original(task) for task in tasks}


def _is_task(record: dict[str, Any]) -> bool:
    annotations = next((record[key] for key in _SHEETS if key in record), None)
    if not isinstance(annotations, list):
        return False
    results = [item.get("result") for item in annotations if isinstance(item, dict)]
    return any(isinstance(result, list) for result in results) or (not annotations and bool(_TASK_KEYS & set(record)))


def _list_texts(task: Node) -> list[Node]:
    return [value for value in task["data"].fields().values() if isinstance(value.value, str)]


def _name(task: Node) -> str | int:
    """Return the id of a task, or what is shown in it where it has none, because it is yet to be imported."""
    own, texts = task.first("id", "inner_id"), _list_texts(task)
    return texts[0].id() if len(texts) == 1 and not own.there else own.id()


def _original(task: Node) -> Original:
    """Return a task with what was shown in it, if its data hold one text only, which may be the name of a picture."""
    texts = _list_texts(task)
    shown = texts[0].text() if len(texts) == 1 else None
    sheets = [each for key in _SHEETS for each in task[key].items()]
    results = [item for sheet in sheets if isinstance(sheet.value, dict) for item in sheet["result"].items()]
    sides = ((item.raw("original_width"), item.raw("original_height")) for item in results)
    known = next((pair for pair in sides if None not in pair), (None, None))
    record = {**task.value, "results": [item.value for item in results]}
    return Original(record, text=shown, picture=shown, sides=known, percent=True)


def _annotations(task: Node, found: Collection) -> list[tuple[Node, bool]]:
    """Return a task's annotations and predictions, and whether each is a prediction; count the rest."""
    if isinstance(drafts := task.raw("drafts"), list):
        found.leave_out("drafts", len(drafts))
    people = task.first("annotations", "completions").items()
    kept = [node for node in people if not (node.raw("was_cancelled") or node.raw("skipped"))]
    found.leave_out("skipped annotations", len(people) - len(kept))
    predictions = [node for node in task["predictions"].items() if isinstance(node.value, dict)]
    made = [node for node in predictions if node["result"].items()]
    return [*((node, False) for node in kept), *((node, True) for node in made)]


@dataclass(frozen=True)
class _Sheet:
    """What one worker said about one task: the results of each control."""

    worker: Any
    task: str | int
    results: dict[str, list[Node]]
    predicted: bool
    named: bool
    known: bool

    @classmethod
    def of(cls, found: Collection, task: Node, node: Node, predicted: bool, path: Path) -> _Sheet:
        worker: Any
        worker, named = (_model(node), True) if predicted else _person(node)
        if found.files.worker_from == "filename":
            worker, named = found.worker_of(path), True
        results = _by_control(node["result"].items(), found)
        known = node.raw("ground_truth") is True
        worker = KNOWN if known and found.files.golden else worker
        return cls(worker, _name(task), results, predicted, named, known)


def _model(prediction: Node) -> str | int:
    version = prediction["model_version"]
    return version.id() if version.there and version.value != "" else "prediction"


def _person(annotation: Node) -> tuple[str | int, bool]:
    """Return who made an annotation, and whether that is known."""
    by = annotation["completed_by"]
    if isinstance(by.value, dict):
        by = next((by[key] for key in ("email", "username", "id") if by[key].value not in (None, "")), by["id"])
    if by.value in (None, ""):
        by = annotation.first("created_username", "annotator")
    if by.there:
        name = by.id()
        return (name.strip() if isinstance(name, str) else name), True
    return f"annotation {annotation.first('unique_id', 'id').id()}", False


def _by_control(results: list[Node], found: Collection) -> dict[str, list[Node]]:
    """Sort results by control; leave out what belongs to a region or to a relation of regions."""
    marks = [is_region(item) for item in results]
    regions = {str(item.raw("id")) for item, mark in zip(results, marks, strict=True) if mark} - {"None"}
    controls: dict[str, list[Node]] = {}
    for item, mark in zip(results, marks, strict=True):
        if item.raw("type") == "relation":
            found.leave_out("relations between regions")
        elif not mark and (str(item.raw("id")) in regions or item.raw("item_index") is not None):
            found.leave_out(f"answers to {item.raw('from_name')!r} about single regions or items")
        else:
            controls.setdefault(item["from_name"].text(), []).append(item)
    return controls


def _remark(found: Collection, sheets: list[_Sheet]) -> None:
    predicted = sum(sheet.predicted for sheet in sheets)
    if predicted:
        models = len({sheet.worker for sheet in sheets if sheet.predicted})
        found.remarks.append(f"{predicted:,} predictions count as answers of {models:,} further workers, the models.")
    if nameless := sum(not sheet.named for sheet in sheets):
        found.remarks.append(
            f"{nameless:,} annotations do not say by whom they are: each counts as a worker of its own."
        )
    if known := sum(sheet.known for sheet in sheets):
        counted = "are known truths" if found.files.golden else "count like the others, unless gold='export' is said"
        found.remarks.append(f"{known:,} annotations are marked as ground truth; they {counted}.")


def _is_row_head(names: Sequence[str]) -> bool:
    """Tell whether these are the columns of an export with one row for each annotation.

    >>> _is_row_head(["text", "id", "sentiment", "annotator", "annotation_id", "created_at", "lead_time"])
    True
    """
    return set(names) >= _NEEDED and bool({"lead_time", "created_at", "updated_at"} & set(names))


def _is_row(record: dict[str, Any]) -> bool:
    """Tell whether a record is an annotation in the short form."""
    return _is_row_head(list(record))


def _is_table(path: Path) -> bool:
    """Tell whether a file is delimited text, by its ending."""
    return bool({suffix.lower() for suffix in path.suffixes} & {".csv", ".tsv"})


def _add_rows(found: Collection, path: Path, rows: list[Node]) -> None:
    """Add the answers of a file with one row for each annotation."""
    records = [row.value for row in rows]
    controls = _controls(records)
    if not controls:
        raise InputError(f"{path}: no column holds what was answered. It has: {', '.join(map(repr, records[0]))}.")
    by_file = found.files.worker_from == "filename"
    add_answers(
        found,
        [
            (
                found.worker_of(path) if by_file else row["annotator"].id(),
                row["id"].id(),
                {control: _items(row[control]) for control in controls},
            )
            for row in rows
        ],
    )


def _items(cell: Node) -> list[Node]:
    """Return what a cell says, as results have it."""
    value, items = cell.value, cell.items() if isinstance(cell.value, list) else [cell]
    if value in (None, "", []):
        return []
    if any(isinstance(item.value, dict) for item in items):
        return [Node({"value": item.value}, item) for item in items]
    if isinstance(value, list) and all(isinstance(item, list) for item in value):
        said: dict[str, Any] = {"taxonomy": value}
    elif isinstance(value, str | bool | list):
        said = {"choices": [str(item.scalar()) for item in items]}
    else:
        said = {"number": value}
    return [Node({"value": said}, cell)]


def _controls(records: list[dict[str, Any]]) -> list[str]:
    """Return the columns that are neither data nor about the annotation itself."""
    names = [name for name in dict.fromkeys(key for record in records for key in record) if name not in _ABOUT]
    heads = [list(record) for record in records]
    if all(head == sorted(head) for head in heads):
        return _varying(records, names) or names
    before = {key for head in heads if "id" in head for key in head[: head.index("id")]}
    return [name for name in names if name not in before]


def _varying(records: list[dict[str, Any]], names: list[str]) -> list[str]:
    """Return the columns that differ within a task."""
    seen: dict[tuple[str, str], str] = {}
    found: set[str] = set()
    for record in records:
        for name in names:
            value = repr(record.get(name))
            if seen.setdefault((name, repr(record.get("id"))), value) != value:
                found.add(name)
    return [name for name in names if name in found]


def _read_rows(path: Path) -> list[Node]:
    """Read a table of annotations, with JSON in its fields where they begin like that."""
    table = open_delimited(path, delimiter="\t" if ".tsv" in path.name.lower() else ",")
    columns = {name: listed(column) for name, column in table.load(table.names).items()}
    rows = zip(*columns.values(), strict=True)
    return [
        Node(dict(zip(columns, map(_cell, row), strict=True)), f"{path}: row {number}")
        for number, row in enumerate(rows, start=1)
    ]


def _cell(text: Any) -> Any:
    """Read a field that holds JSON, and leave others as they are."""
    if isinstance(text, str) and text[:1] in ("[", "{"):
        with suppress(ValueError):
            return parse_json(text)
    return None if text == "" else text
