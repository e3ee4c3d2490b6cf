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

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["BELOW", "Axis", "draw_below", "draw_beside", "draw_mark", "draw_sheet", "draw_text", "tag"]

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
