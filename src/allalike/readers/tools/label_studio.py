"""Label Studio: tasks with the annotations of several people, and with predictions of models.

Each annotation is a list of results; a result belongs to a control of the labelling interface (``from_name``). A
control is a question of its own: what everybody chose, or which regions everybody marked.

Exports as JSON-MIN, CSV and TSV have one row for each annotation. The columns are those of the imported data, then
``id``, then one for each control, then who and when; or all of them in the order of the alphabet, and then the data
are what is the same in all annotations of a task.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.limits import MAX_PIXELS
from allalike._core.masks import Mask
from allalike._core.system.json_text import parse_json
from allalike.errors import InputError, UnsupportedError
from allalike.readers.formats.tables import cells
from allalike.readers.formats.text import open_delimited
from allalike.readers.tools.base import (
    Peek,
    UnexpectedValueError,
    get,
    get_id,
    get_list,
    get_number,
    get_numbers,
    get_object,
    get_scalar,
    get_text,
    load_records,
    unexpected,
)
from allalike.readers.tools.frame import KNOWN, Answer, Export, record_tool
from allalike.readers.tools.images import Areas

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from allalike._core.masks import Part

    Items = list[tuple[str, dict[str, Any]]]  # results, each with its kind

_CHOICES = {"choices": "choices", "taxonomy": "taxonomy", "pairwise": "selected"}
_VALUES = {"rating": "rating", "number": "number", "datetime": "datetime", "textarea": "text", "ranker": "ranker"}
_ANSWERS = {**_CHOICES, **_VALUES}  # these are about a task, and not about a region of it
_GEOMETRY = {
    "masks": {"rle"},
    "spans": {"start", "end"},
    "boxes": {"x", "y", "width", "height"},
    "ellipses": {"x", "y", "radiusX", "radiusY"},
    "polygons": {"points"},
    "points": {"x", "y"},
}
_CHANNELS = 4
_TASK_KEYS = {"data", "file_upload", "total_annotations", "inner_id", "predictions", "drafts"}
_SHEETS = ("annotations", "completions", "predictions")
_NEEDED = {"id", "annotator", "annotation_id"}
_ABOUT = {*_NEEDED, "created_at", "updated_at", "lead_time", "agreement", "sentiment_agreement", "completed_by"}


class _Sheet(NamedTuple):
    """What one worker said about one task, by control, and where that stands."""

    worker: Any
    task: Any
    results: dict[str, Items]
    at: str


def _is_task(record: dict[str, Any]) -> bool:
    annotations = next((record[key] for key in _SHEETS if key in record), None)
    if not isinstance(annotations, list):
        return False
    results = [item.get("result") for item in annotations if isinstance(item, dict)]
    return any(isinstance(result, list) for result in results) or (not annotations and bool(_TASK_KEYS & set(record)))


def _is_row(names: Iterable[str]) -> bool:
    """Return whether these are the columns of an export with one row for each annotation."""
    return set(names) >= _NEEDED and bool({"lead_time", "created_at", "updated_at"} & set(names))


def _is_export(peek: Peek) -> bool:
    return _is_row(peek.names) or any(_is_task(record) or _is_row(record) for record in peek.records)


def _list_texts(task: dict[str, Any]) -> list[str]:
    return [value for value in get_object(task, "data").values() if isinstance(value, str)]


def _name(task: dict[str, Any]) -> Any:
    """Return the id of a task, or what is shown in it where it has none, because it is yet to be imported."""
    texts = _list_texts(task)
    if len(texts) == 1 and get(task, "id", "inner_id") is None:
        return get_id(texts[0])
    return get_id(task, "id", "inner_id")


@record_tool("label-studio", "Label Studio", _is_export, shows=True)
def label_studio(export: Export) -> Iterator[Answer]:
    """Read annotations and predictions of tasks (JSON, JSON-MIN, CSV, TSV).

    Record: ``[{"id": 7, "annotations": [{"completed_by": 1, "result": [{"from_name": "q", "value": ...}]}]}]``.

    Who marked no region where others did saw none.
    """
    sheets: list[_Sheet] = []
    models: Counter[Any] = Counter()
    nameless = known = 0
    for path in export.paths:
        records = _load(path)
        if any(isinstance(record, dict) and _is_row(record) for record in records):
            records = _make_tasks(export, list(export.each(records, path)), path)
        for task in export.each(records, path):
            if export.originals is not None:
                _show(export, task)
            for annotation, is_model in _list_annotations(export, task):
                worker, is_named = _find_worker(annotation, is_model=is_model)
                worker = export.owner if export.by_file else worker
                models[worker] += is_model
                nameless += not (is_named or export.by_file)
                if annotation.get("ground_truth") is True:
                    known += 1
                    worker = KNOWN if export.files.golden else worker
                sheets.append(_Sheet(worker, _name(task), _sort_by_control(export, annotation), export.at))
    yield from _read_controls(export, sheets)
    if predicted := models.total():
        further = sum(count > 0 for count in models.values())
        export.remarks.append(f"{predicted:,} predictions count as answers of {further:,} further workers, the models.")
    if nameless:
        export.remarks.append(
            f"{nameless:,} annotations do not say by whom they are: each counts as a worker of its own."
        )
    if known:
        counted = "are known truths" if export.files.golden else "count like the others, unless gold='export' is said"
        export.remarks.append(f"{known:,} annotations are marked as ground truth; they {counted}.")


def _show(export: Export, task: dict[str, Any]) -> None:
    """Note a task with its results, which also say how large pictures are."""
    texts = _list_texts(task)
    shown = texts[0] if len(texts) == 1 else None  # which may be the name of a picture
    sheets = [each for key in _SHEETS for each in get_list(task, key) if isinstance(each, dict)]
    results = [item for sheet in sheets for item in get_list(sheet, "result")]
    sides = [(get(item, "original_width"), get(item, "original_height")) for item in results]
    known = next((pair for pair in sides if None not in pair), (None, None))
    export.show(_name(task), {**task, "results": results}, text=shown, picture=shown, sides=known, percent=True)


def _list_annotations(export: Export, task: dict[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield a task's annotations and predictions, and whether each is a prediction; count the rest."""
    if isinstance(drafts := task.get("drafts"), list):
        export.leave_out("drafts", len(drafts))
    for annotation in get_list(task, "annotations", "completions"):
        if get(annotation, "was_cancelled") or get(annotation, "skipped"):
            export.leave_out("skipped annotations")
        else:
            yield get_object(annotation), False
    for prediction in get_list(task, "predictions"):
        if isinstance(prediction, dict) and get_list(prediction, "result"):
            yield prediction, True


def _find_worker(annotation: dict[str, Any], *, is_model: bool) -> tuple[Any, bool]:
    """Return who made an annotation, and whether that is known."""
    if is_model:
        named = annotation.get("model_version") not in (None, "")
        return get_id(annotation, "model_version") if named else "prediction", True
    by = annotation.get("completed_by")
    if isinstance(by, dict):
        by = next((by[key] for key in ("email", "username", "id") if by.get(key) not in (None, "")), None)
    if by in (None, ""):
        by = get(annotation, "created_username", "annotator")
    if by is None:
        return f"annotation {get_id(annotation, 'unique_id', 'id')}", False
    name = get_id(by)
    return name.strip() if isinstance(name, str) else name, True


def _sort_by_control(export: Export, annotation: dict[str, Any]) -> dict[str, Items]:
    """Sort results by control; leave out what belongs to a region or to a relation of regions."""
    results = [(_find_kind(item), item) for item in get_list(annotation, "result")]
    regions = {str(item["id"]) for kind, item in results if kind not in _NO_REGIONS and item.get("id") is not None}
    controls: dict[str, Items] = {}
    for kind, item in results:
        if kind == "relation":
            export.leave_out("relations between regions")
        elif kind in _ANSWERS and (str(item.get("id")) in regions or item.get("item_index") is not None):
            export.leave_out(f"answers to {item.get('from_name')!r} about single regions or items")
        else:
            controls.setdefault(get_text(item, "from_name"), []).append((kind, item))
    return controls


def _find_kind(item: Any) -> str:
    """Return what kind of label a result is, by its type or by what it holds.

    >>> _find_kind({"type": "choices", "value": {"choices": ["sad"]}}), _find_kind({"value": {"x": 1, "y": 2}})
    ('choices', 'points')
    """
    kind = get_text(item, "type", default=None)
    if kind in _NO_REGIONS:
        return str(kind)
    keys = get_object(item, "value").keys()
    found = next((name for name, needed in _GEOMETRY.items() if needed <= keys), None)
    if found is None and kind is None:
        found = next((name for name, key in _ANSWERS.items() if key in keys), None)
    return found or "unknown regions"


_NO_REGIONS = {*_ANSWERS, "relation"}


def _read_controls(export: Export, sheets: list[_Sheet]) -> Iterator[Answer]:
    """Yield what everybody answered to each control."""
    kinds: dict[str, set[str]] = {}
    for sheet in sheets:
        for control, items in sheet.results.items():
            kinds.setdefault(control, set()).update(kind for kind, _ in items)
    for control, these in kinds.items():
        if these & {"masks", "polygons"}:
            yield from _read_areas(export, control, sheets)
            continue
        if len(these) > 1 and these & _ANSWERS.keys():
            raise InputError(f"{export.where}: the answers to {control!r} are mixed: {', '.join(sorted(these))}.")
        kind = these.pop() if len(these) == 1 else "unknown regions"
        for sheet in sheets:
            export.at = sheet.at
            items = sheet.results.get(control, [])
            if kind in _CHOICES:
                label: Any = tuple(choice for _, item in items for choice in _read_choices(kind, item.get("value")))
            elif kind in _VALUES:
                label = _read_value(kind, [item.get("value") for _, item in items])
            else:
                label = [_read_region(own, item) for own, item in items]
            yield Answer(sheet.worker, sheet.task, label, control, kind)


def _read_choices(kind: str, value: Any) -> list[str]:
    chosen = get(value, _CHOICES[kind])
    if isinstance(chosen, str):
        return [chosen]
    if kind == "taxonomy":
        paths = [path if isinstance(path, list) else [path] for path in get_list(chosen)]
        return [" / ".join(str(get_scalar(step)) for step in path) for path in paths]
    return [str(get_scalar(choice)) for choice in get_list(chosen)]


def _read_value(kind: str, values: list[Any]) -> Any:
    values = [value for each in values if (value := get(each, _VALUES[kind])) is not None]
    if not values:
        return None
    first = values[0]
    if kind == "textarea":
        texts = [value if isinstance(value, list) else [value] for value in values]
        return "\n".join(get_text(text) for part in texts for text in part)
    if kind != "ranker":
        return get_text(first) if kind == "datetime" else get_number(first)
    if isinstance(first, list):
        return [get_id(item) for item in first]
    buckets = [[get_id(item) for item in get_list(bucket)] for bucket in get_object(first).values()]
    return buckets[0] if len(buckets) == 1 else [bucket for bucket in buckets if bucket]


def _find_class(value: dict[str, Any]) -> str | None:
    """Return the class of a region; several are one of their own."""
    key = next((key for key in value if key.endswith("labels")), "labels")
    if isinstance(value.get(key), str):
        return str(value[key])
    return " + ".join(sorted(str(get_scalar(label)) for label in get_list(value, key))) or None


def _read_region(kind: str, item: dict[str, Any]) -> Any:
    """Return a region: a span as [start, end, class], everything else as an object with its class."""
    value = get_object(item, "value")
    if kind == "spans":
        return _read_span(item, value)
    region: dict[str, Any] = {}
    if kind == "boxes":
        region["bbox"] = [get_number(value, key) for key in ("x", "y", "width", "height")]
    elif kind == "ellipses":
        x, y, width, height = (get_number(value, key) for key in ("x", "y", "radiusX", "radiusY"))
        region["bbox"] = [x - width, y - height, 2 * width, 2 * height]
    elif kind == "points":
        region |= {key: get_number(value, key) for key in ("x", "y")}
    else:
        return dict(value)  # of a kind that we do not know, as it came
    if value.get("rotation"):
        region["rotation"] = get_number(value, "rotation")
    label = _find_class(value)
    return region if label is None else {**region, "label": label}


def _read_span(item: dict[str, Any], value: dict[str, Any]) -> list[Any]:
    """Return begin and end in the text, or in seconds; in a page, counted over the whole of its text."""
    offsets = value if value.get("globalOffsets") is None else value["globalOffsets"]
    start, end = get(offsets, "start"), get(offsets, "end")
    if isinstance(start, str) and item.get("type") != "timeserieslabels":
        raise UnexpectedValueError(
            f"the region {item.get('id')!r} of {item.get('from_name')!r} has no offsets in the whole text"
            " (globalOffsets). Export it anew with a newer Label Studio"
        )
    return [get_scalar(start), get_scalar(end), _find_class(value)]


def _read_areas(export: Export, control: str, sheets: list[_Sheet]) -> Iterator[Answer]:
    """Yield all that was outlined or painted with a control, each class by itself, and nothing if nothing was."""
    areas = Areas(export.where)
    for sheet in sheets:
        export.at = sheet.at
        areas.see(sheet.worker, sheet.task)
        for kind, item in sheet.results.get(control, []):
            value = get_object(item, "value")
            sized = item if item.get("original_width") is not None else value  # as in short exports
            if sized.get("original_width") is None:
                raise UnexpectedValueError(
                    f"the picture of {control!r} has no size (original_width and original_height), and its marks are in"
                    " percent of it. Export it as JSON, and not in a short form"
                )
            size = int(get_number(sized, "original_height")), int(get_number(sized, "original_width"))
            areas.see(sheet.worker, sheet.task, size)
            areas.draw(sheet.worker, sheet.task, _find_class(value) or "mask", _read_part(kind, value, *size))
    yield from areas.answers(export, control)


def _read_part(kind: str, value: dict[str, Any], height: int, width: int) -> Part:
    """Return an outline in pixels, or what was painted."""
    if kind == "masks":
        return Mask.of(_read_brush(get_numbers(value, "rle"), height, width))
    points = [get_numbers(point) for point in get_list(value, "points")]
    if kind != "polygons" or any(len(point) != 2 for point in points):
        raise unexpected(value, "points [x, y] of an outline, or what was painted", "value")
    return [[x * width / 100, y * height / 100] for x, y in points]


def _read_brush(rle: list[float], height: int, width: int) -> npt.NDArray[np.bool_]:
    """Return the mask of a brush in a picture of this size.

    What was painted is a stream of bits. It begins with the number of words (32 bits), the size of a word less one (5
    bits) and four sizes of runs less one (4 bits each). Runs follow: a bit that says whether one word is repeated, two
    bits that choose a size, the number of words less one in so many bits, and the word or the words. Words are the
    bytes of a picture with four channels, of which the last says where the brush was.

    >>> _read_brush([0, 0, 0, 8, 57, 27, 252, 96, 17, 255, 128], 1, 2)
    array([[False,  True]])
    """
    if not 0 < width * height <= MAX_PIXELS:
        raise UnexpectedValueError(f"the picture has {width} x {height} pixels. It must have 1 to {MAX_PIXELS:,}")
    packed, place = bytes(map(int, rle)), 0

    def take(size: int) -> int:
        nonlocal place
        start, place = place, place + size
        if place > 8 * len(packed):
            raise UnexpectedValueError("'rle' is no mask of Label Studio: it is cut off")
        some = int.from_bytes(packed[start // 8 : (place + 7) // 8], "big")
        return some >> (-place % 8) & ((1 << size) - 1)

    expected, number, size = width * height * _CHANNELS, take(32), take(5) + 1
    if number != expected or size > 8:
        raise UnexpectedValueError(f"'rle' has {number:,} words of {size} bits, where {expected:,} bytes are due")
    runs = [take(4) + 1 for _ in range(4)]
    words = np.zeros(number, np.uint8)
    at = 0
    while at < number:
        repeated = take(1)
        end = at + 1 + take(runs[take(2)])
        if end > number:
            raise UnexpectedValueError("'rle' has more words than it says")
        words[at:end] = take(size) if repeated else [take(size) for _ in range(end - at)]
        at = end
    return np.asarray(words.reshape(height, width, _CHANNELS)[:, :, -1] > 0)


def _load(path: Path) -> list[Any]:
    """Return the records of a file; those of a table have JSON in the fields that begin like that."""
    if not {suffix.lower() for suffix in path.suffixes} & {".csv", ".tsv"}:
        return load_records(path)
    table = open_delimited(path, delimiter="\t" if ".tsv" in path.name.lower() else ",")
    columns = {name: cells(column) for name, column in table.load(table.names).items()}
    return [dict(zip(columns, map(_parse_cell, row), strict=True)) for row in zip(*columns.values(), strict=True)]


def _parse_cell(text: Any) -> Any:
    if isinstance(text, str) and text[:1] in ("[", "{"):
        with suppress(ValueError):
            return parse_json(text, parse_constant=lambda _: None)
    return None if text == "" else text


def _make_tasks(export: Export, rows: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """Return a task with one annotation for each row of a short export."""
    if export.originals is not None:
        raise UnsupportedError(
            f"{path} has one row for each annotation, and does not say what the tasks and controls of the project are."
            " Export it from Label Studio as JSON."
        )
    controls = _find_controls(rows)
    if not controls:
        raise InputError(f"{path}: no column holds what was answered. It has: {', '.join(map(repr, rows[0]))}.")
    tasks = []
    for row in rows:
        results = [{"from_name": name, "value": value} for name in controls for value in _list_values(row.get(name))]
        tasks.append({"id": row.get("id"), "annotations": [{"completed_by": row.get("annotator"), "result": results}]})
    return tasks


def _list_values(cell: Any) -> list[dict[str, Any]]:
    """Return what a cell says, as the values of results have it."""
    if cell in (None, "", []):
        return []
    items = cell if isinstance(cell, list) else [cell]
    if any(isinstance(item, dict) for item in items):
        return items
    if isinstance(cell, list) and all(isinstance(item, list) for item in cell):
        return [{"taxonomy": cell}]
    if isinstance(cell, str | bool | list):
        return [{"choices": [str(get_scalar(item)) for item in items]}]
    return [{"number": cell}]


def _find_controls(rows: list[dict[str, Any]]) -> list[str]:
    """Return the columns that are neither data nor about the annotation itself."""
    names = [name for name in dict.fromkeys(key for row in rows for key in row) if name not in _ABOUT]
    heads = [list(row) for row in rows]
    if any(head != sorted(head) for head in heads):
        before = {key for head in heads if "id" in head for key in head[: head.index("id")]}
        return [name for name in names if name not in before]
    values: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for name in names:
            values.setdefault((name, repr(row.get("id"))), set()).add(repr(row.get(name)))
    varying = {name for (name, _), different in values.items() if len(different) > 1}  # within a task
    return [name for name in names if name in varying] or names
