"""Draw how answers become labels: the packages in the order in which data pass through them.

`make pictures` draws it.
"""

from __future__ import annotations

import html
from pathlib import Path

__all__ = ["PICTURE", "STEPS", "draw"]

PICTURE = Path(__file__).with_suffix(".svg")
STEPS = (
    ("readers", "formats, inference, reshaping, tools", "any file or table to columns: worker, task, label"),
    ("answers", "one row per answer", "missing labels are excluded, answers sorted by task"),
    ("domains", "one file per label type", "labels to codes, codes to prepared blocks"),
    ("engines", "memory, disk, spark", "a kernel on every block; sums are added in order"),
    ("methods", "one file per method, and auto/", "sums to error estimates, errors to weights"),
    ("rules", "plurality, mean, Borda, ...", "weighted labels of a task to its estimated label"),
    ("result", "tables, summary, messages", "what discover returns, saves and explains"),
    ("cli, report, serve", "interfaces", "print, draw and serve the result"),
)

# pixels
_WIDTH, _ROW, _TOP, _LEFT, _BOX = 840, 58, 24, 28, 300
_STYLE = """
  text { font: 15px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #24292f }
  .card { fill: #ffffff; stroke: #d0d7de }
  .room { fill: #f3f4f6; stroke: #d0d7de }
  .arrow { stroke: #1f6feb; stroke-width: 2 }
  .title { font-weight: 600 }
  .quiet { fill: #57606a; font-size: 13px }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .card { fill: #0d1117; stroke: #30363d }
    .room { fill: #1c2129; stroke: #30363d }
    .quiet { fill: #9aa4af }
  }
"""


def draw() -> str:
    """Return the picture as SVG."""
    height = 2 * _TOP + _ROW * len(STEPS) - (_ROW - 42)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        "<title>Data flow: " + html.escape(", ".join(room for room, _, _ in STEPS)) + "</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="12"/>',
    ]
    for number, (room, inside, does) in enumerate(STEPS):
        y = _TOP + number * _ROW
        if number:
            lines.append(f'<line class="arrow" x1="{_LEFT + 24}" y1="{y - 15}" x2="{_LEFT + 24}" y2="{y - 1}"/>')
        lines += [
            f'<rect class="room" x="{_LEFT}" y="{y}" width="{_BOX}" height="42" rx="6"/>',
            f'<text class="title" x="{_LEFT + 12}" y="{y + 18}">{html.escape(room)}</text>',
            f'<text class="quiet" x="{_LEFT + 12}" y="{y + 35}">{html.escape(inside)}</text>',
            f'<text x="{_LEFT + _BOX + 24}" y="{y + 26}">{html.escape(does)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
