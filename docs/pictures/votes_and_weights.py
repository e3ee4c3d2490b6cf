"""The picture of the front page: five workers, their share in a majority vote and their weight.

`make pictures` draws it. It shows the README's own example, run again; numbers are written with a fixed number of
digits, so that the same example gives the same bytes.
"""

from __future__ import annotations

import doctest
import html
from pathlib import Path
from typing import Any

__all__ = ["PICTURE", "draw"]

PICTURE = Path(__file__).with_suffix(".svg")
_README = Path(__file__).parents[2] / "README.md"
_PHOTO, _SHOWN = 5, 6  # on which votes and weights differ, and how many are shown

# pixels, from the left and from the top
_WIDTH, _HEIGHT = 840, 348
_NAMES_X, _CELLS_X, _VOTES_X, _WEIGHTS_X = 28, 84, 424, 632
_TITLE_Y, _SUBTITLE_Y, _ROWS_Y = 40, 62, 88
_ROW, _CELL, _BAR, _SUM = 34, 50, 270, 180  # a worker, a photo, the bar of a weight of 1, that of all weights together

_STYLE = """
  text { font: 15px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #24292f }
  .card { fill: #ffffff; stroke: #d0d7de }
  .cell { fill: #f3f4f6 }
  .first { fill: #1f6feb }
  .second { fill: #bc5a08 }
  .title { font-weight: 600 }
  .quiet { fill: #57606a; font-size: 13px }
  .middle { text-anchor: middle }
  .end { text-anchor: end }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .card { fill: #0d1117; stroke: #30363d }
    .cell { fill: #1c2129 }
    .quiet { fill: #9aa4af }
  }
  .on { fill: #ffffff; font-weight: 600 }
"""


def draw() -> str:
    """Return the picture as SVG."""
    answers, weights = _run_example()
    votes = dict.fromkeys(answers, 1 / len(answers))
    said = {worker: labels[_PHOTO - 1] for worker, labels in answers.items()}
    winners = [_winner(said, shares) for shares in (weights, votes)]
    colours = {worker: "first" if label == winners[0] else "second" for worker, label in said.items()}
    title = f"Five workers named photos. Photo {_PHOTO}: {winners[1]} by majority vote, {winners[0]} by weight."
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{_HEIGHT - 1}" rx="12"/>',
        *_heading(_CELLS_X, "Five workers, eighteen photos", "the first six; correct labels unknown"),
        *_draw_answers(answers, colours),
        *_heading(_VOTES_X, "Majority vote", "equal weights"),
        *_draw_shares(_VOTES_X, votes, colours, f"{winners[1]} wins"),
        *_heading(_WEIGHTS_X, "allalike", "by agreement"),
        *_draw_shares(_WEIGHTS_X, weights, colours, f"{winners[0]} wins"),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _run_example() -> tuple[dict[str, list[str]], dict[str, float]]:
    """Run the first example of the README: what each worker said, and her weight."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(_README.read_text(encoding="utf-8")):
        exec(compile(example.source, str(_README), "single"), names)
        if "result" in names:
            break
    workers = names["result"].workers
    weights = dict(zip(workers["worker"], workers["weight"], strict=True))
    return {worker: labels.split()[:_SHOWN] for worker, labels in names["labels"].items()}, weights


def _winner(said: dict[str, str], shares: dict[str, float]) -> str:
    return max(said.values(), key=lambda label: sum(shares[worker] for worker in said if said[worker] == label))


def _draw_answers(answers: dict[str, list[str]], colours: dict[str, str]) -> list[str]:
    """Draw a row per worker and a cell per photo, those of the photo in question in colour."""
    lines = []
    for row, (worker, labels) in enumerate(answers.items()):
        y = _ROWS_Y + row * _ROW
        lines.append(_text(_NAMES_X, y + 18, worker))
        for column, label in enumerate(labels, 1):
            x, asked = _CELLS_X + (column - 1) * _CELL, column == _PHOTO
            lines.append(_box(x, y, _CELL - 6, 26, colours[worker] if asked else "cell"))
            lines.append(_text(x + _CELL / 2 - 3, y + 18, label, "middle on" if asked else "middle"))
    below = _ROWS_Y + len(answers) * _ROW + 34
    return [*lines, _text(_CELLS_X + (_PHOTO - 0.5) * _CELL - 3, below, f"photo {_PHOTO}", "middle quiet")]


def _draw_shares(x: int, shares: dict[str, float], colours: dict[str, str], verdict: str) -> list[str]:
    """Draw how much each worker counts, and below it the sum of each colour."""
    lines = []
    for row, (worker, share) in enumerate(shares.items()):
        y = _ROWS_Y + row * _ROW
        lines.append(_box(x, y + 4, _BAR * share, 18, colours[worker]))
        lines.append(_text(x + _BAR * share + 8, y + 18, f"{share:.2f}", "quiet"))
    y = _ROWS_Y + len(shares) * _ROW + 20
    first = sum(share for worker, share in shares.items() if colours[worker] == "first")
    return [
        *lines,
        _box(x, y, _SUM, 18, "second"),
        _box(x, y, _SUM * first, 18, "first"),
        _text(x, y + 44, verdict, "title"),
        _text(x + _SUM, y + 44, f"{100 * max(first, 1 - first):.0f} %", "end quiet"),
    ]


def _heading(x: int, title: str, subtitle: str) -> list[str]:
    return [_text(x, _TITLE_Y, title, "title"), _text(x, _SUBTITLE_Y, subtitle, "quiet")]


def _box(x: float, y: float, width: float, height: float, style: str) -> str:
    return f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4"/>'


def _text(x: float, y: float, words: str, style: str = "") -> str:
    named = f' class="{style}"' if style else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}">{html.escape(words)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8", newline="\n")
