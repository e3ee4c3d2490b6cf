"""Label Studio: tasks with the annotations of several people, and with predictions of models.

Each annotation is a list of results. A result belongs to a control of the labelling interface (``from_name``), and each
control is a question.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.limits import MAX_PIXELS
from allalike._core.masks import Mask
from allalike.errors import InputError, Proposal
from allalike.readers.tools.base import FileProbe, get, get_list, get_number, get_numbers, get_text, unexpected
from allalike.readers.tools.frame import Answer, Export, mark, record_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from allalike._core.masks import Part

    Items = list[tuple[str, dict[str, Any]]]  # results, each with its kind

_CHOICES = {"choices": "choices", "taxonomy": "taxonomy", "pairwise": "selected"}
_VALUES = {"rating": "rating", "number": "number", "datetime": "datetime", "textarea": "text", "ranker": "ranker"}
_ANSWERS = {**_CHOICES, **_VALUES}  # about a whole task, not about a region
_NO_REGIONS = {*_ANSWERS, "relation"}
_DRAWN = {"masks", "polygons"}
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
_NEEDED = {"id", "annotator", "annotation_id"}  # of a row in a short form
_ABOUT = {*_NEEDED, "created_at", "updated_at", "lead_time", "agreement", "sentiment_agreement", "completed_by"}


def _is_short(names: Iterable[str]) -> bool:
    """Return whether these are the names of a short form, with one row per annotation."""
    return set(names) >= _NEEDED and not {"lead_time", "created_at", "updated_at"}.isdisjoint(names)


def _is_export(peek: FileProbe) -> bool:
    if any(map(_is_short, [peek.names, *peek.records])) or any(peek.has(f"{key}.result") for key in _SHEETS):
        return True
    return any([] in map(each.get, _SHEETS) and _TASK_KEYS & {*each} for each in peek.records)


@record_tool("label-studio", "Label Studio", _is_export, shows=True)
def label_studio(export: Export) -> Iterator[Answer]:
    """Read annotations and predictions of tasks (JSON).

    Record: ``[{"id": 7, "annotations": [{"completed_by": 1, "result": [{"from_name": "q", "value": ...}]}]}]``.
    Choices are classes or sets. Regions are spans, boxes, points, or areas (polygons and brushes). Skipped annotations,
    drafts, and answers about single regions are excluded.
    """
    models: Counter[Any] = Counter()
    nameless = known = 0
    _refuse_short_forms(export.paths)
    for task in export.records():
        texts = [value for value in (task.get("data") or {}).values() if isinstance(value, str)]
        text = texts[0] if len(texts) == 1 else None
        name = get(task, "id", "inner_id")
        name = text if name is None else name  # a task without an id was not yet imported
        if export.originals is not None:
            _show(export, name, text, task)
        for annotation, author, is_model in _list_annotations(export, task):
            worker = export.worker(f"annotation {get(annotation, 'unique_id', 'id')}" if author is None else author)
            is_marked = annotation.get("ground_truth") is True
            is_gold = is_marked and export.files.golden
            models[worker] += is_model
            nameless += author is None and not export.by_file
            known += is_marked
            export.see(worker, name, is_gold=is_gold)
            for control, items in _sort_by_control(export, annotation).items():
                if {kind for kind, _ in items} & _DRAWN:
                    _draw(export, control, worker, name, items)
                if others := [item for item in items if item[0] not in _DRAWN]:
                    label, kind = _read_label(others)
                    yield Answer(worker, name, label, control, kind, is_gold=is_gold)
    if predicted := models.total():
        further = sum(count > 0 for count in models.values())
        export.remarks.append(f"{predicted:,} predictions count as answers by {further:,} further workers, the models.")
    if nameless:
        export.remarks.append(f"{nameless:,} annotations have no worker: each counts as a worker of its own.")
    if known:
        counted = "are gold labels" if export.files.golden else "count as answers unless gold='export' is given"
        export.remarks.append(f"{known:,} annotations are marked as ground truth; they {counted}.")


def _refuse_short_forms(paths: Iterable[Path]) -> None:
    """Refuse exports with one row per annotation, and propose to read them as plain tables."""
    for path in paths:
        peek = FileProbe(path)
        if names := next(filter(_is_short, [peek.names, *peek.records]), None):
            labels = [name for name in list(names)[list(names).index("id") + 1 :] if name not in _ABOUT] or ["label"]
            roles = {"worker": "annotator", "task": "id"}
            raise InputError(
                f"{path} has one row per annotation. Export it from Label Studio as JSON, or read it as a plain table"
                " if its labels are neither regions nor sets.",
                proposals=[Proposal({"tool": "plain", "columns": {**roles, "label": label}}) for label in labels],
            )


def _show(export: Export, name: Any, text: str | None, task: dict[str, Any]) -> None:
    """Record the content of a task with its results, which also contain the sizes of images."""
    sheets = [each for key in _SHEETS for each in get_list(task, key) if isinstance(each, dict)]
    results = [item for sheet in sheets for item in get_list(sheet, "result")]
    sides = [(get(item, "original_width"), get(item, "original_height")) for item in results]
    known = next((pair for pair in sides if None not in pair), (None, None))
    export.show(name, {**task, "results": results}, text=text, picture=text, sides=known, percent=True)


def _list_annotations(export: Export, task: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any, bool]]:
    """Yield annotations and predictions with their author, if any, and whether it is a model; count excluded ones."""
    if isinstance(drafts := task.get("drafts"), list):
        export.leave_out("drafts", len(drafts))
    for annotation in get_list(task, "annotations", "completions"):
        if get(annotation, "was_cancelled") or get(annotation, "skipped"):
            export.leave_out("skipped annotations")
            continue
        by = annotation.get("completed_by")
        if isinstance(by, dict):
            by = next((by[key] for key in ("email", "username", "id") if by.get(key) not in (None, "")), None)
        by = get(annotation, "created_username", "annotator") if by in (None, "") else by
        yield annotation, by.strip() if isinstance(by, str) else by, False
    for prediction in get_list(task, "predictions"):
        if isinstance(prediction, dict) and get_list(prediction, "result"):
            yield prediction, prediction.get("model_version") or "prediction", True


def _sort_by_control(export: Export, annotation: dict[str, Any]) -> dict[str, Items]:
    """Group results by control, without answers about single regions and relations between regions."""
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
    """Return the kind of a result's label, by its type or its fields."""
    kind = get_text(item, "type", default=None)
    if kind in _NO_REGIONS:
        return str(kind)
    keys = (item.get("value") or {}).keys()
    found = next((name for name, needed in _GEOMETRY.items() if needed <= keys), None)
    if found is None and kind is None:
        found = next((name for name, key in _ANSWERS.items() if key in keys), None)
    return found or "unknown regions"


def _read_label(items: Items) -> tuple[Any, str]:
    """Return the label of an annotation for one control, and its kind."""
    kinds = {kind for kind, _ in items}
    kind = kinds.pop() if len(kinds) == 1 else "unknown regions"
    if kind in _CHOICES:
        return tuple(choice for _, item in items for choice in _read_choices(kind, item.get("value"))), kind
    if kind in _VALUES:
        return _read_value(kind, [item.get("value") for _, item in items]), kind
    return [_read_region(own, item) for own, item in items], kind


def _read_choices(kind: str, value: Any) -> list[str]:
    chosen = get(value, _CHOICES[kind])
    if isinstance(chosen, str):
        return [chosen]
    if kind == "taxonomy":
        paths = [path if isinstance(path, list) else [path] for path in get_list(chosen)]
        return [" / ".join(map(str, path)) for path in paths]
    return list(map(str, get_list(chosen)))


def _read_value(kind: str, values: list[Any]) -> Any:
    values = [value for each in values if (value := get(each, _VALUES[kind])) is not None]
    if not values:
        return None
    first = values[0]
    if kind == "textarea":
        texts = [value if isinstance(value, list) else [value] for value in values]
        return "\n".join(text for part in texts for text in part)
    if kind != "ranker":
        return get_text(first) if kind == "datetime" else get_number(first)
    if isinstance(first, list):
        return first
    buckets = [bucket for bucket in first.values() if bucket]
    return buckets[0] if len(first) == 1 else buckets


def _find_class(value: dict[str, Any]) -> str | None:
    """Return the class of a region; several classes are joined into one."""
    classes = value.get(next((key for key in value if key.endswith("labels")), "labels"))
    return classes if isinstance(classes, str) else " + ".join(sorted(map(str, get_list(classes)))) or None


def _read_region(kind: str, item: dict[str, Any]) -> Any:
    """Return a region: a span as [start, end, class], others as an object with its class.

    Spans are in seconds or in characters; for HTML pages, of the whole text.
    """
    value = item["value"]
    if kind == "spans":
        offsets = value.get("globalOffsets") or value
        if isinstance(offsets.get("start"), str) and item.get("type") != "timeserieslabels":
            raise unexpected(None, "offsets in the whole text, as in newer exports", "globalOffsets")
        return [offsets.get("start"), offsets.get("end"), _find_class(value)]
    if kind == "boxes":
        region: dict[str, Any] = {"bbox": [get_number(value, key) for key in ("x", "y", "width", "height")]}
    elif kind == "ellipses":
        x, y, width, height = (get_number(value, key) for key in ("x", "y", "radiusX", "radiusY"))
        region = {"bbox": [x - width, y - height, 2 * width, 2 * height]}
    elif kind == "points":
        region = {key: get_number(value, key) for key in ("x", "y")}
    else:
        return dict(value)  # of an unknown kind, unchanged
    if value.get("rotation"):
        region["rotation"] = get_number(value, "rotation")
    return mark(_find_class(value), **region)


def _draw(export: Export, control: str, worker: Any, task: Any, items: Items) -> None:
    """Draw the outlines and painted areas of an annotation by one control."""
    for kind, item in items:
        if kind not in _DRAWN:
            continue
        value = item["value"]
        height, width = (int(get_number(item, f"original_{side}")) for side in ("height", "width"))
        part: Part
        if kind == "masks":
            part = Mask.of(_read_brush(get_numbers(value, "rle"), height, width))
        else:
            points = map(get_numbers, get_list(value, "points"))
            part = [[x * width / 100, y * height / 100] for x, y in points]
        export.draw(control, worker, task, _find_class(value) or "mask", part, (height, width))


def _read_brush(rle: list[float], height: int, width: int) -> npt.NDArray[np.bool_]:
    """Return the mask of a brush in an image of this size.

    The mask is a stream of bits. It begins with the number of words (32 bits), the size of a word minus one (5 bits),
    and four sizes of run lengths minus one (4 bits each). A run consists of a bit that is set if one word is repeated,
    two bits that choose a size, the number of words minus one with that size, and the word or words. Words are the
    bytes of an image with four channels, the last of which is the mask.

    >>> _read_brush([0, 0, 0, 8, 57, 27, 252, 96, 17, 255, 128], 1, 2)
    array([[False,  True]])
    """
    if not 0 < width * height <= MAX_PIXELS:
        raise ValueError(f"the picture has {width} x {height} pixels. It must have 1 to {MAX_PIXELS:,}")
    packed, place = bytes(map(int, rle)), 0

    def take(size: int) -> int:
        nonlocal place
        start, place = place, place + size
        if place > 8 * len(packed):
            raise ValueError("'rle' is truncated")
        some = int.from_bytes(packed[start // 8 : (place + 7) // 8], "big")
        return some >> (-place % 8) & ((1 << size) - 1)

    expected, number, size = width * height * _CHANNELS, take(32), take(5) + 1
    if number != expected or size > 8:
        raise ValueError(f"'rle' has {number:,} words of {size} bits, where {expected:,} bytes should be")
    runs = [take(4) + 1 for _ in range(4)]
    words = np.zeros(number, np.uint8)
    at = 0
    while at < number:
        repeated = take(1)
        end = at + 1 + take(runs[take(2)])
        if end > number:
            raise ValueError("'rle' has more words than its header specifies")
        words[at:end] = take(size) if repeated else [take(size) for _ in range(end - at)]
        at = end
    return np.asarray(words.reshape(height, width, _CHANNELS)[:, :, -1] > 0)
