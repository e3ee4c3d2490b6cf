"""Results of Label Studio: what the controls of its interface hold, as labels.

What was painted with a brush is a stream of bits. It begins with the number of words (32 bits), the size of a word less
one (5 bits) and four sizes of runs less one (4 bits each). Runs follow: a bit that says whether one word is repeated,
two bits that choose a size, the number of words less one in so many bits, and the word or the words. Words are the
bytes of a picture with four channels, of which the last says where the brush was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.limits import MAX_PIXELS
from allalike._core.masks.packed import Mask
from allalike.errors import InputError
from allalike.readers.tools.areas import Areas

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike._core.masks.outlines import Part
    from allalike.readers.tools.collection import Collection
    from allalike.readers.tools.trees import Node

    Sheet = tuple[Any, Any, Mapping[str, list[Node]]]

__all__ = ["add_answers", "is_region"]

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
