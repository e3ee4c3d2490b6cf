"""Points: clicks on objects in an image, body landmarks, moments of events.

    s(a, b) = max(0, 1 - |a - b| / radius)

The radius is the largest distance between two clicks on the same object, in the units of the data. It depends on the
objects, so it must be given. If it is missing, the error message suggests a value, estimated under the assumption that
no worker clicks on the same object twice.

If points have names, such as body landmarks, each name occurs at most once per answer. Points with the same name belong
to the same object, regardless of their positions. A point absent from one answer is unmatched.

Points work for cells, animals in aerial images, landmarks and moments. They fail if objects are closer to each other
than the radius, because their points are merged, and if the radius is smaller than the typical error of a click.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats
from allalike._core.columns.column import Column
from allalike._core.options import choice, number, option, share
from allalike.distances import matching
from allalike.distances.matching import Edges, Members
from allalike.distances.nearness import find_near, suggest_radius
from allalike.domains.contract import spell_domain
from allalike.domains.objects.objects import ObjectEncoding, Objects, class_of, read_coordinate
from allalike.domains.pairwise import Places
from allalike.domains.spelling import read_json, read_name
from allalike.errors import LabelError, OptionError

AXES = ("x", "y", "z")
CLASS_KEYS = ("class", "label", "keypointlabels", "tool", "name", "category", "category_id")
_KEYPOINTS = "keypoints"


def list_points(value: Any, names: Sequence[str] | None) -> list[Any]:
    """Return the unparsed points of an answer, or raise ValueError with the reason."""
    if isinstance(value, str):
        value = read_json(value, dict if value.lstrip().startswith("{") else list)
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], dict) and _KEYPOINTS in value[0]:
        value = value[0]
    if isinstance(value, dict) and _KEYPOINTS in value:
        return read_keypoints(value[_KEYPOINTS], names)
    if not isinstance(value, list | tuple):
        raise ValueError("it must be a list whose elements are each a point")
    flat = names is not None and len(value) > 0 and all(isinstance(each, int | float) for each in value)
    return read_keypoints(value, names) if flat else list(value)


def read_keypoints(row: Any, names: Sequence[str] | None) -> list[Any]:
    """Parse a row ``x, y, v, x, y, v, ...`` as named points, omitting absent ones.

    >>> read_keypoints([1, 2, 2, 0, 0], ["nose", "chin"])
    Traceback (most recent call last):
    ValueError: 2 names need 6 numbers x, y, v, but there are 5
    """
    if names is None:
        raise ValueError("the keypoints have no names; set names=['nose', ...]")
    if not isinstance(row, list | tuple) or len(row) != 3 * len(names):
        given = len(row) if isinstance(row, list | tuple) else "none"
        raise ValueError(f"{len(names)} names need {3 * len(names)} numbers x, y, v, but there are {given}")
    places = zip(row[::3], row[1::3], row[2::3], names, strict=True)
    return [[x, y, name] for x, y, v, name in places if read_coordinate(v) > 0]


def read_point(value: Any) -> tuple[tuple[float, ...], Any]:
    """Parse the coordinates and the class of a point, or raise ValueError with the reason."""
    if isinstance(value, dict):
        return _read_keys(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (read_coordinate(value),), None
    name = None
    if len(value) > 1 and (value[-1] is None or isinstance(value[-1], str)):
        *value, name = value
    if not value:
        raise ValueError("a point has no coordinates")
    return tuple(map(read_coordinate, value)), None if name is None else read_name(name, "the class")


def _read_keys(point: dict[str, Any]) -> tuple[tuple[float, ...], Any]:
    axes = [axis for axis in AXES if axis in point]
    if axes != list(AXES[: max(len(axes), 1)]):
        raise ValueError(f"the object {point!r} has no coordinates; use the keys x, y and z")
    name = class_of(point, CLASS_KEYS, "a point must have one class")
    return tuple(read_coordinate(point[axis]) for axis in axes), name


def _check_names(value: Any, name: str) -> tuple[str, ...]:
    words = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    if not words or not value or len(set(value)) < len(value):
        raise OptionError(f"{name} is {value!r}. It must be a list of different words, such as ['nose', 'chin'].")
    return tuple(value)


@dataclass(frozen=True, kw_only=True)
class Points(Objects):
    """Lists of points, compared by optimal one-to-one matching of nearby points.

    A label is a list, or a list as JSON text. A point is a list of coordinates ``[x, y]`` with an optional class,
    ``[x, y, "cell"]``, or an object with ``x``, ``y`` (and ``z``) and ``class``, ``label``, ``keypointlabels`` or
    ``tool``. On one axis a point is a number: ``[3.2, 7.9]`` are two moments. With ``names``, a COCO row
    ``x, y, v, x, y, v, ...`` is accepted as well. ``[]`` means no points. Estimates are objects with their coordinates,
    their class and their support; ``count`` is the number of points.

    Parameters
    ----------
    radius
        Largest distance between two points on the same object, in the units of the data.
    names
        Names of the points, if each occurs at most once in an answer.
    form
        ``soft``: similarity decreases with the distance. ``hard``: all points within the radius count equally.
    overlap
        Minimum similarity of points of the same object; 0 accepts all points within the radius.
    quorum
        Share of the weight that a point must exceed, from 0 to below 1; ``auto`` estimates it from the answers.
    most
        Maximum number of points in an answer.
    rule
        Aggregation rule: ``fusion``, ``medoid`` or ``best worker``.
    distance
        ``f1``, ``jaccard`` or ``count``.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 0], [50, 50]]), ("bob", 1, [[3, 4], [50, 50]]), ("eve", 1, [[0, 0]])]
    >>> result = allalike.discover(rows, domain=Points(radius=10, quorum=0.5), method="UA")
    >>> result.objects[["x", "y", "n_workers"]].round(3).values.tolist(), result.truth["count"].tolist()
    ([[1.0, 1.333, 3.0], [50.0, 50.0, 2.0]], [2])
    """

    name: ClassVar[str] = "points"
    summary: ClassVar[str] = "lists of points [x, y, class], or of moments; optimal matching within a radius"
    _thing: ClassVar[str] = "a point"
    _width: ClassVar[int] = 2
    radius: float | None = number(None, least=0, below=1e150)
    names: Sequence[str] | None = option(None, _check_names)
    form: str = choice("soft", "hard")
    _counted: ClassVar[bool] = True
    overlap: float = share(0.0)
    _read_object = staticmethod(read_point)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius == 0:
            raise OptionError("radius is 0. It must be positive: the largest distance of clicks on one object.")

    def learn(self, labels: Column) -> ObjectEncoding:
        """Learn the classes; without a radius, raise an error that suggests one."""
        encoding = super().learn(labels)
        if self.radius is not None:
            return encoding
        parsed = labels.parsed(self._parse)[1]
        store = matching.pack(parsed, encoding.common.width or self._width)
        radius = suggest_radius(store.geometry, np.repeat(np.arange(len(parsed)), store.sizes))
        why = f"The answers suggest {radius or 1:g}, because few points of the same answer are closer to each other."
        if radius is None:
            why = "The answers suggest no value, because no answer contains two distinct points; 1 is a guess."
        named = float(f"{radius or 1:g}")
        raise LabelError(
            "Set radius, the largest distance of two points on the same object, in the units of the data. "
            + why
            + " Check that it fits.",
            domain=spell_domain(replace(self, radius=int(named) if named.is_integer() else named)),
        )

    def _read_answer(self, value: Any) -> list[Any]:
        return list_points(value, self.names)

    def _parse(self, value: Any) -> tuple[Any, ...]:
        things = super()._parse(value)
        if self.names is not None:
            given = [thing[-1] for thing in things]
            if unknown := [name for name in given if name not in self.names]:
                raise ValueError(f"it has a point {unknown[0]!r}, but names are {', '.join(self.names)}")
            if len(set(given)) < len(given):
                twice = next(name for name in given if given.count(name) > 1)
                raise ValueError(f"it has two points {twice!r}, but each name may occur only once")
        return things

    def _columns(self, width: int) -> tuple[str, ...]:
        return AXES[:width] if width <= len(AXES) else tuple(f"x{axis}" for axis in range(1, width + 1))

    def _similarity(self, left: Floats, right: Floats) -> Floats:
        radius = self.radius or 1.0
        apart = np.linalg.norm(np.clip(left - right, -radius, radius) / radius, axis=1)
        return np.asarray(np.maximum(1 - apart, 0.0))

    def _find_near(self, members: Members) -> tuple[Array, Array]:
        if self.names is None:
            return find_near(members.geometry, members.task, self.radius or 0.0)
        same = np.zeros(len(members.task))
        return matching.sweep(same, same, members.task * len(self.names) + members.kind)

    def _is_edge(self, similarity: Floats) -> npt.NDArray[np.bool_]:
        return similarity > 0 if self.names is None else np.ones(len(similarity), np.bool_)

    def _measure(self, members: Members, edges: Edges, pair: Places, left: Places, right: Places) -> Floats:
        if self.form == "hard":
            edges = edges._replace(similarity=np.where(edges.similarity > 0, 1.0, 0.0))
        return super()._measure(members, edges, pair, left, right)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "radius": self.radius}
