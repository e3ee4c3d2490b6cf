"""Drawing: marks, axes and their numbers, as the elements of an SVG.

The page runs no script but its own, so what stands on it is a picture: it prints, it needs nothing to be seen, and
colours that are names of the style sheet (``currentColor``, ``var(--...)``) follow the light and the dark theme.
Nothing that a user wrote is in it: workers are marked by their aliases, and the script of the page finds the marks by
these, and gives them names, hints and clicks.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike.report.material import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from allalike._core.blocks.block import Array, Floats

BELOW = 42  # how high an axis is with its numbers and its title
_EDGE = 4  # around a picture
_LINE, _LETTER = 16, 7  # how high a line of text is, and how wide a letter
_ROOM = 52  # for the number of a tick
_MAX_WRITTEN = 1e7  # from which on numbers are written with an exponent
_MAX_DRAWN = 1e100
_FAINT, _CLEAR = {"stroke": "currentColor", "stroke_opacity": 0.12}, {"stroke": "currentColor", "stroke_opacity": 0.5}


def tag(name: str, *inside: str, **attributes: Any) -> str:
    """Write an element; numbers have two digits behind the point, for nobody sees more.

    >>> tag("text", "W1", x=0.123, text_anchor="end"), tag("line", x2=12.0)
    ('<text x="0.12" text-anchor="end">W1</text>', '<line x2="12"/>')
    """
    written = "".join(f' {key.replace("_", "-")}="{_write(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(inside)}</{name}>" if inside else f"<{name}{written}/>"


def _write(value: Any) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escape(str(value))


def draw_sheet(left: float, top: float, width: float, height: float, parts: Iterable[str]) -> str:
    """Put elements on a sheet, of which this part is seen.

    >>> draw_sheet(0, 0, 10, 10, [])[:34]
    '<svg xmlns="http://www.w3.org/2000'
    """
    size = (left - _EDGE, top - _EDGE, width + 2 * _EDGE, height + 2 * _EDGE)
    return tag(
        "svg",
        "".join(parts),
        xmlns="http://www.w3.org/2000/svg",
        role="group",
        width=size[2],
        height=size[3],
        viewBox=" ".join(map(_write, size)),
        font_family="sans-serif",
        font_size=12,
    )


def draw_text(x: float, y: float, text: str, anchor: str = "start", **more: Any) -> str:
    """Write a line, whose middle is so high.

    >>> draw_text(1, 2, "a < b")
    '<text x="1" y="2" dy="0.35em" text-anchor="start" fill="currentColor">a &lt; b</text>'
    """
    return tag("text", escape(text), x=x, y=y, dy="0.35em", text_anchor=anchor, fill="currentColor", **more)


def draw_mark(shape: str, x: float, y: float, area: float, **style: Any) -> str:
    """Draw a mark of this area: a circle, a triangle or a diamond.

    >>> draw_mark("diamond", 5, 5, 16, fill="none")
    '<path d="M3,5L5,3L7,5L5,7Z" fill="none"/>'
    """
    r, side = math.sqrt(area / math.pi), math.sqrt(area) / 2
    if shape == "circle":
        arc = f"a{_write(r)},{_write(r)},0,1,0"
        return tag("path", d=f"M{_write(x - r)},{_write(y)}{arc},{_write(2 * r)},0{arc},{_write(-2 * r)},0", **style)
    tall = side * math.sqrt(3) / 2
    corners = {
        "triangle": ((x, y - tall), (x - side, y + tall), (x + side, y + tall)),
        "diamond": ((x - side, y), (x, y - side), (x + side, y), (x, y + side)),
    }
    return tag("path", d=f"M{'L'.join(f'{_write(float(a))},{_write(float(b))}' for a, b in corners[shape])}Z", **style)


class Axis(NamedTuple):
    """Numbers along a side of a chart: from where to where they go, how long the side is, what they are, and ticks.

    >>> axis = Axis.over([0.2, 0.9], 200, "error")
    >>> axis.low, axis.high, axis.ticks, axis.place(0.5)
    (0.0, 1.0, (0.0, 0.5, 1.0), 100.0)
    """

    low: float
    high: float
    length: float
    title: str
    ticks: tuple[float, ...] = ()
    step: float = 1.0

    @classmethod
    def over(
        cls, values: Sequence[float], length: float, title: str, room: float = _ROOM, *, least: float = 0.0
    ) -> Axis:
        """Make the axis of 0 and all values, which ends at ticks; these are so far apart at least."""
        low, high = _spread(min(0.0, *values), max(0.0, *values))
        step = max(_find_step(high - low, length / room), least)
        return cls(step * math.floor(low / step), step * math.ceil(high / step), length, title).ticked(room, least)

    @classmethod
    def around(
        cls, values: Sequence[float], length: float, title: str, room: float = _ROOM, *, edge: float = 12
    ) -> Axis:
        """Make the axis of values that lie inside, with some room at its ends."""
        low, high = _spread(min(values), max(values))
        beside = edge * (high - low) / (length - 2 * edge)
        return cls(low - beside, high + beside, length, title).ticked(room)

    def ticked(self, room: float = _ROOM, least: float = 0.0) -> Axis:
        """Have ticks where there is room for their numbers."""
        step = max(_find_step(self.high - self.low, self.length / room), least)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return self._replace(ticks=tuple(step * number for number in range(first, last + 1)), step=step)

    def place(self, value: float) -> float:
        """Return how far along a value is."""
        return (value - self.low) / (self.high - self.low) * self.length

    @property
    def numbers(self) -> list[str]:
        """The ticks, as they are written."""
        last, top = math.floor(math.log10(self.step) + 1e-9), max(map(abs, self.ticks), default=0.0)
        if top >= _MAX_WRITTEN or self.step < 1 / _MAX_WRITTEN:
            digits = max(math.floor(math.log10(top or 1.0) + 1e-9) - last, 0) + 1
            return [f"{tick:.{digits}g}" for tick in self.ticks]
        return [f"{tick + 0.0:,.{max(0, -last)}f}" for tick in self.ticks]

    @property
    def room_beside(self) -> int:
        """How wide numbers and title are, where it stands upright."""
        return _LETTER * max(map(len, self.numbers), default=0) + _LINE + 10


def _spread(low: float, high: float) -> tuple[float, float]:
    """Make room around values that are the same; those that are beyond drawing have an axis from 0 to 1."""
    if max(abs(low), abs(high)) > _MAX_DRAWN or 0 < max(abs(low), abs(high)) < 1 / _MAX_DRAWN:
        return 0.0, 1.0
    half = 0.0 if high - low > 1e-9 * max(abs(low), abs(high)) else 0.05 * abs(low) or 0.5
    return low - half, high + half


def _find_step(width: float, most: float) -> float:
    """Return the smallest of 1, 2 and 5, and of these times powers of 10, of which there are so many at most.

    >>> _find_step(1.0, 6), _find_step(730.0, 6)
    (0.2, 200.0)
    """
    least = width / max(most, 1.0)
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def draw_below(x: Axis, height: float, *, upright: bool = True) -> list[str]:
    """Draw the axis below a chart that is so high, with upright lines through it or not.

    >>> draw_below(Axis.over([1.0], 100, "x"), 50)[-1]
    '<text x="50" y="84" dy="0.35em" text-anchor="middle" fill="currentColor">x</text>'
    """
    parts = [tag("line", x1=0, x2=x.length, y1=height, y2=height, **_CLEAR)]
    for tick, number in zip(x.ticks, x.numbers, strict=True):
        at = x.place(tick)
        parts += [tag("line", x1=at, x2=at, y1=0, y2=height, **_FAINT)] if upright else []
        parts.append(tag("line", x1=at, x2=at, y1=height, y2=height + 5, **_CLEAR))
        parts.append(draw_text(at, height + 14, number, "middle"))
    return [*parts, draw_text(x.length / 2, height + 34, x.title, "middle")]


def draw_beside(y: Axis, width: float) -> list[str]:
    """Draw the axis at the left of a chart that is so wide, with lines through it.

    >>> draw_beside(Axis.over([1.0], 100, "y"), 50)[0]
    '<line x1="0" x2="0" y1="0" y2="100" stroke="currentColor" stroke-opacity="0.5"/>'
    """
    parts = [tag("line", x1=0, x2=0, y1=0, y2=y.length, **_CLEAR)]
    for tick, number in zip(y.ticks, y.numbers, strict=True):
        at = y.length - y.place(tick)
        parts.append(tag("line", x1=0, x2=width, y1=at, y2=at, **_FAINT))
        parts.append(tag("line", x1=-5, x2=0, y1=at, y2=at, **_CLEAR))
        parts.append(draw_text(-8, at, number, "end"))
    left, middle = _LINE / 2 - y.room_beside, y.length / 2
    turned = f"rotate(-90 {_write(left)} {_write(middle)})"
    return [*parts, draw_text(left, middle, y.title, "middle", transform=turned)]


# Bins: where values are counted that are shown as a distribution.
#
# There are about twice as many as the root of the number of values. Values that differ by rounding only, such as the
# widths of the limits of numbers that everybody gave, have one bin: between them there is no room for more.


_SAME = 1e-9  # relative difference of values that differ by rounding only


def find_edges(values: Floats, most: int) -> Floats:
    """Return edges between which values are counted: more bins for more values, and one for those that are the same.

    >>> find_edges(np.array([0.0, 0.5, 1.0]), 20), find_edges(np.array([2.0, 2.0 + 1e-15]), 20)
    (array([0. , 0.2, 0.4, 0.6, 0.8, 1. ]), array([1.9, 2.1]))
    """
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high))
    if high - low <= _SAME * size:
        half = 0.05 * size or 0.05
        return np.array([low - half, high + half])
    return np.linspace(low, high, int(np.clip(2 * np.sqrt(len(values)), 5, most)) + 1)


# Charts of a report, as SVG.
#
# Each takes rows of plain data and returns a picture, or nothing where there is nothing to see. Workers are named by
# their aliases; these also are the label of each mark, by which the page finds it.


Row = dict[str, Any]
_MARK = "var(--mark)"
_FAULTS = [f"var(--fault-{number})" for number in range(1, 6)]
_SHAPES = {"usual": "circle", "uninformative": "triangle", "few answers": "diamond"}
_MAX_INTERVALS = 24
_MAX_LARGE = 60  # workers for whom a map has room
_BESIDE = 32  # room for the numbers of an axis that stands upright
_ALIAS = 124  # room for names that take the place of aliases
_STEP = 18  # from one worker to the next
_MAX_PAIRED = 40  # workers whose pairs are drawn


def chart_map(rows: Sequence[Row], unit: str) -> str | None:
    """Draw workers on a map: size is answers, colour is fault, a ring with a number is a group, shape is a flag.

    >>> row = {"x": 0, "y": 0, "alias": "W1", "answers": 5, "fault": 0.2, "shape": "usual", "group": ""}
    >>> chart_map([row, row], "fault").count('aria-label="W1"')
    2
    """
    if len(rows) < 2:
        return None
    width, height = 540, 400
    x, y = (Axis.around([row[name] for row in rows], size, "", edge=24) for name, size in (("x", width), ("y", height)))
    places = [(x.place(row["x"]), height - y.place(row["y"])) for row in rows]
    large = 600.0 if len(rows) <= _MAX_LARGE else 200.0
    areas = _areas(rows, large / 8, large)
    bounds = _bounds([row["fault"] for row in rows if row["fault"] is not None])
    look: Row = {"stroke": "var(--page)", "opacity": 0.9, "role": "img"}
    parts = [tag("rect", x=0, y=0, width=width, height=height, fill="none", stroke="var(--line)")]
    for row, place, area in zip(rows, places, areas, strict=True):
        fault = row["fault"]
        colour = "none" if fault is None else _FAULTS[sum(fault >= bound for bound in bounds)]
        parts.append(draw_mark(_SHAPES[row["shape"]], *place, area, fill=colour, aria_label=row["alias"], **look))
    for row, (left, top) in zip(rows, places, strict=True):
        if row["group"] != "":
            parts.append(draw_mark("circle", left, top, 900.0, fill="none", stroke="currentColor"))
            parts.append(draw_text(left + 18, top - 16, str(row["group"])))
    parts += [*_list_colours(unit, bounds, height), *_list_sizes(rows, areas, height), *_list_shapes(rows, height)]
    return draw_sheet(0, 0, width, height + 64, parts)


def _areas(rows: Sequence[Row], least: float, most: float) -> list[float]:
    top = max(max(row["answers"] for row in rows), 1)
    return [least + (most - least) * row["answers"] / top for row in rows]


def _bounds(shown: Sequence[float]) -> list[float]:
    """Return the faults at which one colour ends and the next begins."""
    low, high = (min(shown), max(shown)) if shown and min(shown) < max(shown) else (0.0, 1.0)
    return [low + (high - low) * number / len(_FAULTS) for number in range(1, len(_FAULTS))]


def _list_colours(unit: str, bounds: Sequence[float], top: float) -> Iterator[str]:
    """Say below a map which colour means what."""
    yield draw_text(0, top + 18, unit)
    for number, colour in enumerate(_FAULTS):
        yield tag("rect", x=36 * number, y=top + 28, width=36, height=14, fill=colour)
    for number, bound in enumerate(bounds, 1):
        yield draw_text(36 * number, top + 52, f"{bound:.2g}", "middle")


def _list_sizes(rows: Sequence[Row], areas: Sequence[float], top: float) -> Iterator[str]:
    """Say which size means how many answers: the smallest and the largest."""
    known = sorted((row["answers"], area) for row, area in zip(rows, areas, strict=True))
    yield draw_text(210, top + 18, "answers")
    for left, (answers, area) in zip((224, 304), sorted({known[0], known[-1]}), strict=False):
        yield draw_mark("circle", left, top + 42, area, fill="none", stroke="currentColor")
        yield draw_text(left + 18, top + 42, f"{answers:,}")


def _list_shapes(rows: Sequence[Row], top: float) -> Iterator[str]:
    """Say what shapes mean, where there are several."""
    shapes = [shape for shape in _SHAPES if any(row["shape"] == shape for row in rows)]
    for number, shape in enumerate(shapes if len(shapes) > 1 else []):
        yield draw_mark(_SHAPES[shape], 390, top + 16 + 20 * number, 80.0, fill="currentColor")
        yield draw_text(402, top + 16 + 20 * number, shape)


def chart_bins(values: Floats, title: str, what: str, counts: Array | None = None) -> str | None:
    """Draw how many values lie where; ``counts`` are those of the twentieths from 0 to 1, if they were counted before.

    >>> chart_bins(np.array([0.1, 0.2, 0.2]), "fault", "workers").count("<rect")
    5
    """
    finite = values[np.isfinite(values)]
    if counts is not None:
        used = np.flatnonzero(counts)
        edges = np.linspace(0, 1, 21)
        if not len(used):
            return None
        counts, edges = counts[used[0] :], edges[used[0] :]
    elif len(finite):
        counts, edges = np.histogram(finite, bins=find_edges(finite, 20))
    else:
        return None
    height = 180.0
    x = Axis(float(edges[0]), float(edges[-1]), 380.0, title).ticked()
    y = Axis.over([float(max(counts))], height, what, _BESIDE, least=1.0)
    axes = [*draw_beside(y, x.length), *draw_below(x, height, upright=False)]
    places = [x.place(float(edge)) for edge in edges]
    bars = [
        tag(
            "rect",
            x=places[i] + 0.5,
            y=height - y.place(float(n)),
            width=max(places[i + 1] - places[i] - 1, 0.5),
            height=y.place(float(n)),
            fill=_MARK,
            role="img",
            aria_label=f"{brief(edges[i], 3)} to {brief(edges[i + 1], 3)}: {n:,} {what}",
        )
        for i, n in enumerate(counts)
    ]
    return draw_sheet(-y.room_beside, -8, x.length + y.room_beside + 16, height + BELOW + 8, [*axes, *bars])


def chart_intervals(rows: Sequence[Row], unit: str, *, dots: bool = True) -> str | None:
    """Draw the intervals of the best and the worst workers, the best above, with estimates as dots.

    >>> chart_intervals([{"alias": "W1", "value": 0.2, "low": 0.1, "high": 0.4}], "error rate").count("W1")
    2
    """
    known = sorted((row for row in rows if row["value"] is not None), key=lambda row: row["value"])
    if not known:
        return None
    half = _MAX_INTERVALS // 2
    shown = known if len(known) <= _MAX_INTERVALS else [*known[:half], *known[-half:]]
    ends = [row[name] for row in shown for name in ("low", "value", "high") if row[name] is not None]
    x, height = Axis.over(ends, 300.0, unit), _STEP * len(shown)
    marks = [tag("line", x1=0, x2=0, y1=0, y2=height, stroke="currentColor", stroke_opacity=0.5)]
    for number, row in enumerate(shown):
        at = _STEP * (number + 0.5)
        marks.append(draw_text(-10, at, row["alias"], "end"))
        if row["low"] is not None and row["high"] is not None:
            low, high = x.place(row["low"]), x.place(row["high"])
            marks.append(tag("line", x1=low, x2=high, y1=at, y2=at, stroke=_MARK, stroke_width=2))
        if dots or row["low"] == row["high"]:
            dot: Row = {"fill": _MARK, "role": "img", "aria_label": row["alias"]}
            marks.append(draw_mark("circle", x.place(row["value"]), at, 70.0, **dot))
    return draw_sheet(-_ALIAS, 0, x.length + _ALIAS + 16, height + BELOW, [*draw_below(x, height), *marks])


def chart_gold(rows: Sequence[Row], unit: str) -> str | None:
    """Draw each worker's disparity against the mean distance to gold labels.

    >>> row = {"alias": "W1", "disparity": 0.4, "error": 0.2, "answers": 9}
    >>> chart_gold([row, row, row], "error").count("<path")
    3
    """
    if len(rows) < 3:
        return None
    height = 220.0
    x = Axis.around([row["disparity"] for row in rows], 380.0, "disparity: mean distance to the others")
    y = Axis.around([row["error"] for row in rows], height, f"{unit} on gold labels", _BESIDE)
    axes = [*draw_beside(y, x.length), *draw_below(x, height)]
    dots = [
        draw_mark(
            "circle",
            x.place(row["disparity"]),
            height - y.place(row["error"]),
            area,
            fill=_MARK,
            opacity=0.75,
            role="img",
            aria_label=row["alias"],
        )
        for row, area in zip(rows, _areas(rows, 40.0, 300.0), strict=True)
    ]
    return draw_sheet(-y.room_beside, -8, x.length + y.room_beside + 16, height + BELOW + 8, [*axes, *dots])


def chart_pairs(pairs: Sequence[tuple[int, int, float, bool]]) -> str | None:
    """Draw pairs of workers, each with how much they are wrong together, from 0 to 1, and whether that counts.

    >>> chart_pairs([(0, 1, 0.3, True), (0, 2, 0.0, False), (1, 2, 0.0, False)]).count("<rect")
    7
    """
    shown = sorted({worker for pair in pairs for worker in pair[:2]})
    if len(shown) < 3 or len(shown) > _MAX_PAIRED:
        return None
    at = {worker: _STEP * place for place, worker in enumerate(shown)}
    side = _STEP * len(shown)
    parts = [tag("rect", x=0, y=0, width=side, height=side, fill="none", stroke="var(--line)")]
    parts += [draw_text(-10, at[worker] + _STEP / 2, f"W{worker + 1}", "end") for worker in shown]
    for left, right, strength, bound in pairs:
        edge = {"stroke": "currentColor", "stroke_width": 1.5} if bound else {"stroke": "none"}
        for x, y in ((at[left], at[right]), (at[right], at[left])):
            look = {"fill": _MARK, "fill_opacity": 0.06 + 0.94 * strength, **edge}
            parts.append(tag("rect", x=x + 1, y=y + 1, width=_STEP - 2, height=_STEP - 2, **look))
    return draw_sheet(-_ALIAS, 0, side + _ALIAS + 16, side, parts)
