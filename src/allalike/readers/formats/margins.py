"""Margins: what stands around a table in a file, and is no part of it.

Above the header there may be a title, notes and comments; at the end there may be notes. They are known by what they
look like beside the rows between them:

    a title or a note    one cell is filled, where rows have three or more; or fewer than in rows, above a clear header
    a comment            begins with #
    a clear header       no cell recurs below, where those of other rows do; or it has words above numbers
"""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Row = list[str]

_MOST_ABOVE, _MOST_BELOW = 20, 50  # rows
_MIN_COLUMNS = 3
_FEW_ROWS = 5  # of which it cannot be said that a header stands among them
_RECURRING = 0.9  # of the values of a column, for one that does not recur to be a name
_NOTE_WORDS = 3
_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*%?\s*")
_NOTE = re.compile(
    r"\s*([#*†‡]|//|notes?\b|sources?\b|legend|exported|generated|created|quelle|anmerkung)", re.IGNORECASE
)


def count_above(rows: Sequence[Row]) -> int:
    """Count the rows before the header.

    >>> count_above([["My survey"], ["worker", "task", "label"], ["ada", "t1", "x"]])
    1
    >>> rows = [["ada", "t1", "x"], ["bob", "t1", "x"], ["ada", "t2", "y"], ["bob", "t2", "x"], ["eve", "t2", "y"]]
    >>> count_above([["Survey", " 2024"], ["worker", "task", "label"], *rows]), count_above([["task", "label"], *rows])
    (1, 0)
    """
    usual = _usual_width(rows)
    if usual < _MIN_COLUMNS:
        return 0
    full = next((place for place, row in enumerate(rows) if _reach(row) >= usual), 0)
    if 0 < full <= _MOST_ABOVE and _is_header(rows[full], rows[full + 1 :]):
        return full
    count = next((place for place, row in enumerate(rows) if not _is_above(row, usual)), 0)
    return count if count <= _MOST_ABOVE and len(rows) > count + 1 else 0


def _reach(row: Row) -> int:
    """Count the cells up to the last one that is filled."""
    return max((place for place, cell in enumerate(row, start=1) if cell.strip()), default=0)


def _is_above(row: Row, usual: int) -> bool:
    filled = [cell for cell in row if cell.strip()]
    comment = bool(filled) and filled[0].lstrip().startswith("#") and len(filled) != usual
    return len(filled) <= 1 or comment


def _usual_width(rows: Sequence[Row]) -> int:
    """Return how many cells most rows have in which more than one is filled."""
    widths = Counter(len(row) for row in rows if len(_filled(row)) > 1)
    return widths.most_common(1)[0][0] if widths else 0


def _is_header(first: Row, rows: Sequence[Row]) -> bool:
    """Tell whether a row is clearly one of names, by the rows below it."""
    if len(rows) < _FEW_ROWS:
        return False
    columns = [[row[place] for row in rows if place < len(row) and row[place].strip()] for place in range(len(first))]
    told = [_tell(cell, column) for cell, column in zip(first, columns, strict=True)]
    return "row" not in told and told.count("name") >= min(2, len(_filled(first)))


def _tell(cell: str, column: Sequence[str]) -> str:
    """Tell whether a cell is a name above a column, one of its values, or nothing of which it can be said."""
    if not cell.strip():
        return ""
    if cell in column:
        return "row"
    if column and all(map(_NUMBER.fullmatch, column)):
        return "row" if _NUMBER.fullmatch(cell) else "name"
    counts = Counter(column)
    recurring = sum(times for times in counts.values() if times > 1)
    return "name" if column and recurring >= _RECURRING * len(column) else ""


def count_below(rows: Sequence[Row], *, after_blank: Sequence[bool] = ()) -> int:
    """Count the rows behind the last one of a table; of each it may be known that it comes after a blank line.

    >>> count_below([["ada", "t1", "4"], ["bob", "t1", "5"], ["Note: collected in May."]])
    1
    """
    usual = _usual_width(rows)
    blank = after_blank or [False] * len(rows)
    if usual < _MIN_COLUMNS:
        return 0
    count, apart = 0, False
    for place in range(len(rows) - 1, max(len(rows) - 1 - _MOST_BELOW, 0), -1):
        if not _is_lone(rows[place]):
            break
        apart = apart or blank[place] or not _filled(rows[place])
        count = len(rows) - place
    return count if apart or all(map(_is_note, rows[len(rows) - count :])) else 0


def _filled(row: Row) -> list[str]:
    return [cell for cell in row if cell.strip()]


def _is_lone(row: Row) -> bool:
    return len(_filled(row)) <= 1


def _is_note(row: Row) -> bool:
    filled = _filled(row)
    return len(filled) == 1 and bool(_NOTE.match(filled[0]) or len(filled[0].split()) >= _NOTE_WORDS)


def find_blank_columns(rows: Sequence[Row]) -> int:
    """Count the first columns that are empty, header and all.

    >>> find_blank_columns([["", "task"], ["", "t1"]]), find_blank_columns([["", "task"], ["1", "t1"]])
    (1, 0)
    """
    reach = (next((place for place, cell in enumerate(row) if cell.strip()), len(row)) for row in rows if _filled(row))
    return min(reach, default=0)


def describe_margins(above: Sequence[Row], below: Sequence[Row], where: str, *, blank: int = 0) -> list[str]:
    """Say what was left out, in one sentence.

    >>> describe_margins([["My survey"]], [["Note: of May."]], "a.csv")
    ["Left out of a.csv: 1 row above the header ('My survey'), 1 row at the end ('Note: of May.')."]
    """
    parts = [
        f"{_count(above)} above the header ({_show(*above)})" if above else "",
        f"{_count(below)} at the end ({_show(*below)})" if below else "",
        f"the first {'column, which is' if blank == 1 else f'{blank} columns, which are'} empty" if blank else "",
    ]
    listed = ", ".join(filter(None, parts))
    return [f"Left out of {where}: {listed}."] if listed else []


def doubt_first_row(rows: Sequence[Row], where: str) -> list[str]:
    """Say that the first row below the header looks like one more header; it is read as an answer.

    >>> rows = [["ada", "t1", "4.5"], ["bob", "t1", "5"], ["ada", "t2", "3"], ["bob", "t2", "4"], ["eve", "t2", "4"]]
    >>> doubt_first_row([["Who?", "Which?", "How much?"], *rows], "a.csv")
    ["Row 1 of a.csv looks like a second header ('Who? Which? How much?'). Delete it if it is no answer."]
    >>> doubt_first_row(rows, "a.csv")
    []
    """
    if not rows or len(rows[0]) < _MIN_COLUMNS or not _is_header(rows[0], rows[1:]):
        return []
    return [f"Row 1 of {where} looks like a second header ({_show(rows[0])}). Delete it if it is no answer."]


def _count(rows: Sequence[Row]) -> str:
    return "1 row" if len(rows) == 1 else f"{len(rows)} rows"


def _show(*rows: Row) -> str:
    """Show the first row that is not empty."""
    text = next((" ".join(_filled(row)) for row in rows if _filled(row)), "")
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


class Beginning(io.RawIOBase):
    r"""The first bytes of a file, as if there were no more.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_bytes(b"a,b\nNote")
    ...     with Beginning(path, 4) as file:
    ...         file.readall()
    b'a,b\n'
    """

    def __init__(self, path: Path, n_bytes: int) -> None:
        super().__init__()
        self._file, self._left = path.open("rb"), n_bytes

    def readable(self) -> bool:
        """Bytes can be read from it."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read as many bytes as there is room for, and as are left."""
        view = memoryview(buffer).cast("B")
        read = self._file.read(min(len(view), self._left))
        view[: len(read)] = read
        self._left -= len(read)
        return len(read)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
