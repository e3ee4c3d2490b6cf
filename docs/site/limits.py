"""The table of `docs/guide/LIMITS.md`, from the comments of `allalike._core.limits`: run it after a change."""

from __future__ import annotations

import re
from pathlib import Path

from allalike._core import limits

PAGE = Path(__file__).parents[1] / "guide" / "LIMITS.md"
_LIMIT = re.compile(r"^([A-Z_]+) = .*?  # (.+)$", re.MULTILINE)
_TABLE = re.compile(r"(?<=\| --- \| --- \| --- \|\n)(?:\|.*\n)+")


def draw() -> str:
    """Return the page with the limits as they are."""
    comments = _LIMIT.findall(Path(limits.__file__).read_text(encoding="utf-8"))
    rows = "".join(f"| `{name}` | {getattr(limits, name):,} | {comment} |\n" for name, comment in comments)
    return _TABLE.sub(lambda _: rows, PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.write_text(draw(), encoding="utf-8")
