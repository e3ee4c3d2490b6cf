"""SVG elements, and axes with their numbers.

Charts contain no text from users: a worker has an alias (``W1``), which the script of a page replaces with the name.
Colours are names from the style sheet (``currentColor``, ``var(--...)``), so they follow the theme.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

BELOW = 42  # height of an axis with its numbers and its title
_EDGE = 4  # margin around an image
_LINE, _LETTER = 16, 7  # height of a line of text, and width of a letter
_ROOM = 52  # width of the number of a tick
_MAX_WRITTEN = 1e7  # larger numbers have an exponent
_MAX_DRAWN = 1e100
_FAINT, _CLEAR = {"stroke": "currentColor", "stroke_opacity": 0.12}, {"stroke": "currentColor", "stroke_opacity": 0.5}


def tag(name: str, *inside: str, **attributes: Any) -> str:
    """Format an element; numbers have at most two decimals.

    >>> tag("text", "W1", x=0.123, text_anchor="end"), tag("line", x2=12.0)
    ('<text x="0.12" text-anchor="end">W1</text>', '<line x2="12"/>')
    """
    written = "".join(f' {key.replace("_", "-")}="{_write(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(inside)}</{name}>" if inside else f"<{name}{written}/>"


def _write(value: Any) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escape(str(value))


def draw_sheet(left: float, top: float, width: float, height: float, parts: Iterable[str]) -> str:
    """Return an SVG image of elements, with the visible part of the plane."""
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
    """Draw a line of text, vertically centred."""
    return tag("text", escape(text), x=x, y=y, dy="0.35em", text_anchor=anchor, fill="currentColor", **more)


def draw_circle(x: float, y: float, area: float, **style: Any) -> str:
    """Draw a circle as a path."""
    r = math.sqrt(area / math.pi)
    arc = f"a{_write(r)},{_write(r)},0,1,0"
    return tag("path", d=f"M{_write(x - r)},{_write(y)}{arc},{_write(2 * r)},0{arc},{_write(-2 * r)},0", **style)


class Axis(NamedTuple):
    """Numbers along a side of a chart: range, length in pixels, title, and the distance between ticks.

    >>> axis = Axis.over([0.2, 0.9], 200, "error")
    >>> axis.low, axis.high, axis.ticks, axis.place(0.5)
    (0.0, 1.0, [0.0, 0.5, 1.0], 100.0)
    """

    low: float
    high: float
    length: float
    title: str
    step: float

    @classmethod
    def over(
        cls, values: Sequence[float], length: float, title: str, room: float = _ROOM, *, least: float = 0.0
    ) -> Axis:
        """Return the axis of 0 and all values, which ends at ticks."""
        low, high = _spread(min(0.0, *values), max(0.0, *values))
        step = max(_find_step(high - low, length / room), least)
        return cls.between(step * math.floor(low / step), step * math.ceil(high / step), length, title, room, step)

    @classmethod
    def around(
        cls, values: Sequence[float], length: float, title: str, room: float = _ROOM, *, edge: float = 12
    ) -> Axis:
        """Return the axis of values with a margin at both ends."""
        low, high = _spread(min(values), max(values))
        beside = edge * (high - low) / (length - 2 * edge)
        return cls.between(low - beside, high + beside, length, title, room)

    @classmethod
    def between(
        cls, low: float, high: float, length: float, title: str, room: float = _ROOM, least: float = 0.0
    ) -> Axis:
        """Return the axis from one number to another."""
        return cls(low, high, length, title, max(_find_step(high - low, length / room), least))

    def place(self, value: float) -> float:
        """Return the distance of a value from the start, in pixels."""
        return (value - self.low) / (self.high - self.low) * self.length

    @property
    def ticks(self) -> list[float]:
        """The values that are marked with a number."""
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        return [self.step * number for number in range(first, last + 1)]

    @property
    def numbers(self) -> list[str]:
        """The numbers of the ticks."""
        ticks = self.ticks
        last, top = math.floor(math.log10(self.step) + 1e-9), max(map(abs, ticks), default=0.0)
        if top >= _MAX_WRITTEN or self.step < 1 / _MAX_WRITTEN:
            digits = max(math.floor(math.log10(top or 1.0) + 1e-9) - last, 0) + 1
            return [f"{tick:.{digits}g}" for tick in ticks]
        return [f"{tick + 0.0:,.{max(0, -last)}f}" for tick in ticks]

    @property
    def room_beside(self) -> int:
        """The width of the numbers and the title of a vertical axis."""
        return _LETTER * max(map(len, self.numbers), default=0) + _LINE + 10


def _spread(low: float, high: float) -> tuple[float, float]:
    """Return the limits of an axis, with a margin around equal values; 0 to 1 for values that cannot be drawn."""
    if max(abs(low), abs(high)) > _MAX_DRAWN or 0 < max(abs(low), abs(high)) < 1 / _MAX_DRAWN:
        return 0.0, 1.0
    half = 0.0 if high - low > 1e-9 * max(abs(low), abs(high)) else 0.05 * abs(low) or 0.5
    return low - half, high + half


def _find_step(width: float, most: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of 10 that gives at most ``most`` ticks."""
    least = width / max(most, 1.0)
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def draw_below(x: Axis, height: float, *, upright: bool = True) -> list[str]:
    """Draw the axis below a chart, with or without grid lines."""
    parts = [tag("line", x1=0, x2=x.length, y1=height, y2=height, **_CLEAR)]
    for tick, number in zip(x.ticks, x.numbers, strict=True):
        at = x.place(tick)
        parts += [tag("line", x1=at, x2=at, y1=0, y2=height, **_FAINT)] if upright else []
        parts.append(tag("line", x1=at, x2=at, y1=height, y2=height + 5, **_CLEAR))
        parts.append(draw_text(at, height + 14, number, "middle"))
    return [*parts, draw_text(x.length / 2, height + 34, x.title, "middle")]


def draw_beside(y: Axis, width: float) -> list[str]:
    """Draw the axis at the left of a chart, with grid lines."""
    parts = [tag("line", x1=0, x2=0, y1=0, y2=y.length, **_CLEAR)]
    for tick, number in zip(y.ticks, y.numbers, strict=True):
        at = y.length - y.place(tick)
        parts.append(tag("line", x1=0, x2=width, y1=at, y2=at, **_FAINT))
        parts.append(tag("line", x1=-5, x2=0, y1=at, y2=at, **_CLEAR))
        parts.append(draw_text(-8, at, number, "end"))
    left, middle = _LINE / 2 - y.room_beside, y.length / 2
    turned = f"rotate(-90 {_write(left)} {_write(middle)})"
    return [*parts, draw_text(left, middle, y.title, "middle", transform=turned)]
