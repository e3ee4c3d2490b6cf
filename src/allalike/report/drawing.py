"""Drawing: charts that are described in Vega-Lite become SVG, when the page is written.

The page runs no script but its own, and forbids all others, and `eval`. So the library draws at write time, and what
stands on the page is a picture: it prints, it needs nothing to be seen, and colours that are names of the style sheet
(``currentColor``, ``var(--...)``) follow the light and the dark theme. Workers are marked by their aliases, so that no
text of a user is in it; the script of the page finds the marks by these, and gives them names, hints and clicks.
"""

from __future__ import annotations

import json
import re
import sys
from subprocess import PIPE, Popen, TimeoutExpired
from typing import TYPE_CHECKING, Any

from allalike._core.system.memory import give_back
from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Painter", "UndrawnError", "answer", "check_packages", "draw"]

_CONFIG: dict[str, Any] = {
    "background": None,
    "padding": 4,
    "view": {"stroke": None},
    "font": "sans-serif",
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "gridColor": "currentColor",
        "gridOpacity": 0.12,
        "domainColor": "currentColor",
        "domainOpacity": 0.5,
        "tickColor": "currentColor",
        "tickOpacity": 0.5,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 150,
        "labelOverlap": "greedy",
        "labelSeparation": 6,
    },
    "legend": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "symbolStrokeColor": "currentColor",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "text": {"color": "currentColor", "fontSize": 12},
}
_SECONDS = 60  # after which nothing will come of it
_TAG, _LONG_NUMBER = re.compile("<[^>]*>"), re.compile(r"(-?\d+\.\d)\d+")


def check_packages() -> None:
    """Refuse to write a report where the packages that it needs are missing, and say how to get them.

    >>> check_packages()
    """
    try:
        import jinja2  # noqa: F401
        import vl_convert  # noqa: F401
    except ModuleNotFoundError as error:
        raise UnsupportedError(
            f"A report needs {error.name}. Install it with: pip install 'allalike[report]'."
        ) from None


def draw(charts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Draw charts as SVG, here and now.

    >>> dots = {"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x"}}}
    >>> draw({"dots": dots})["dots"][:20]
    '<svg xmlns="http://w'
    """
    import vl_convert

    pictures = {}
    for name, chart in charts.items():
        more = chart.get("config", {})
        config = {part: {**value, **more[part]} if part in more else value for part, value in _CONFIG.items()}
        svg = vl_convert.vegalite_to_svg({**chart, "config": config})
        pictures[name] = _TAG.sub(_shorten, svg)
    return pictures


def _shorten(tag: re.Match[str]) -> str:
    """Take digits from a tag that nobody sees; what is written between tags stays."""
    return _LONG_NUMBER.sub(r"\1", tag[0]).replace(' opacity="1"', "")


class UndrawnError(Exception):
    """Why there are no charts."""


class Painter:
    """A process that draws charts: the library takes most of a second to start, in which the content is counted.

    It keeps the interpreter to itself while it draws, so a thread would not do; and where memory or file handles are
    scarce it ends the process that it is in, so this one must not be it.

    >>> with Painter() as painter:
    ...     painter.draw({})
    {}
    """

    def __enter__(self) -> Painter:
        give_back()  # for the other process
        command = [sys.executable or "", "-P", "-c", "from allalike.report.drawing import answer; answer()"]
        self._process: Popen[bytes] | None = None
        try:
            self._process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE)  # nosec B603 # this Python, no shell
        except OSError as error:
            self._failure = f"the process that draws them cannot be started ({error.strerror})"
        return self

    def __exit__(self, *failure: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def draw(self, charts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """Draw charts as SVG, or say why there are none."""
        if self._process is None:
            raise UndrawnError(self._failure)
        try:
            drawn, said = self._process.communicate(json.dumps(charts).encode(), timeout=_SECONDS)
        except (TimeoutExpired, OSError) as error:
            raise UndrawnError(f"the process that draws them did not answer ({type(error).__name__})") from error
        if self._process.returncode < 0:
            raise UndrawnError("the process that draws them was ended from outside, most likely for want of memory")
        if self._process.returncode:
            last = (said.decode(errors="replace").strip().splitlines() or ["without a word"])[-1]
            raise UndrawnError(f"the process that draws them failed ({last.rstrip('.')})")
        pictures: dict[str, str] = json.loads(drawn)
        return pictures


def answer() -> None:
    """Draw the charts that come on standard input, in a process of its own."""
    draw({"first": {"width": 1, "height": 1, "data": {"values": [{}]}, "mark": "point"}})
    sys.stdout.write(json.dumps(draw(json.load(sys.stdin))))
