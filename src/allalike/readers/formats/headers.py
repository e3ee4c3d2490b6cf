"""Find the header of a table of cells, the titles above it and the notes below it, in text and sheets alike."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = list[str]

MIN_COLUMNS = 3
_MAX_ABOVE, _MAX_BELOW = 20, 50  # rows
_MIN_ROWS = 5  # below a clear header
_HEADER_ROWS = 1000  # that are compared with the first
_RECURRING = 0.9  # of the values of a column, for one that does not recur to be a name
_NOTE_WORDS = 3
_MAX_DIGITS = 19  # numbers with more digits do not count columns
_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*%?\s*")
_NOTE = re.compile(
    r"\s*([#*†‡]|//|notes?\b|sources?\b|legend|exported|generated|created|quelle|anmerkung)", re.IGNORECASE
)


def count_above(rows: Sequence[Row]) -> int:
    """Count the rows before the header."""
    usual = _usual_width(rows)
    if usual < MIN_COLUMNS:
        return 0
    for place, row in enumerate(rows[: _MAX_ABOVE + 1]):
        if any(cell.strip() for cell in row[usual - 1 :]):  # the first that is as wide as most
            if place and _is_clear_header(row, rows[place + 1 :]):
                return place
            break
    for place, row in enumerate(rows[: _MAX_ABOVE + 1]):
        filled = _filled(row)
        is_comment = len(filled) != usual and filled[:1] and filled[0].lstrip().startswith("#")
        if len(filled) > 1 and not is_comment:
            return place if len(rows) > place + 1 else 0
    return 0


def count_below(rows: Sequence[Row]) -> int:
    """Count the rows behind the last one of a table: notes, or whatever comes after an empty row."""
    if _usual_width(rows) < MIN_COLUMNS:
        return 0
    count, are_notes, is_apart = 0, True, False
    for row in reversed(rows[1:][-_MAX_BELOW:]):
        filled = _filled(row)
        if len(filled) > 1:
            break
        count += 1
        is_apart = is_apart or not filled
        are_notes = are_notes and any(_NOTE.match(cell) or len(cell.split()) >= _NOTE_WORDS for cell in filled)
    return count if is_apart or are_notes else 0


def name_columns(first: Row, rows: Sequence[Row], where: str) -> tuple[list[str], list[str]]:
    """Return the names of columns, and a message if the first row is no header, or the second looks like one more."""
    numbered = [f"column{number}" for number in range(1, len(first) + 1)]
    if _is_answer(first, rows):
        listed = ", ".join(numbered[:3]) + " ..." * (len(first) > 3)
        return numbered, [f"{where} has no header: its columns are called {listed}."]
    names = [name if name.strip() else other for name, other in zip(first, numbered, strict=True)]
    if not rows or len(rows[0]) < MIN_COLUMNS or not _is_clear_header(rows[0], rows[1:]):
        return names, []
    return names, [f"Row 1 of {where} looks like a second header ({_show(rows[0])}). Delete it if it is no answer."]


def count_blank_columns(rows: Sequence[Row]) -> int:
    """Count the first columns that are empty, header and all."""
    begins = [next((place for place, cell in enumerate(row) if cell.strip()), None) for row in rows]
    return min((begin for begin in begins if begin is not None), default=0)


def describe_margins(above: Sequence[Row], below: Sequence[Row], where: str, *, blank: int = 0) -> list[str]:
    """Describe what was left out, in one sentence."""
    margins = (("above the header", list(filter(_filled, above))), ("at the end", list(filter(_filled, below))))
    parts = [f"{len(rows)} row{'s' * (len(rows) > 1)} {place} ({_show(rows[0])})" for place, rows in margins if rows]
    if blank:
        parts.append(f"the first {'column, which is' if blank == 1 else f'{blank} columns, which are'} empty")
    return [f"Left out of {where}: {', '.join(parts)}."] if parts else []


def _show(row: Row) -> str:
    text = " ".join(_filled(row))
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _filled(row: Row) -> Row:
    return [cell for cell in row if cell.strip()]


def _usual_width(rows: Sequence[Row]) -> int:
    """Return how many cells most rows have in which more than one is filled."""
    widths = Counter(len(row) for row in rows if len(_filled(row)) > 1)
    return widths.most_common(1)[0][0] if widths else 0


def _list_below(first: Row, rows: Sequence[Row]) -> list[tuple[str, Row]]:
    """Pair the cells of a row with the filled ones below them."""
    return [
        (cell, [row[place] for row in rows if place < len(row) and row[place].strip()])
        for place, cell in enumerate(first)
    ]


def _are_numbers(cells: Row) -> bool:
    return bool(cells) and all(map(_NUMBER.fullmatch, cells))


def _is_clear_header(first: Row, rows: Sequence[Row]) -> bool:
    """Return whether a row clearly has names of columns, by the rows below it."""
    if len(rows) < _MIN_ROWS:
        return False
    n_names = 0
    for cell, column in _list_below(first, rows):
        is_numeric = _are_numbers(column)
        if cell in column or (is_numeric and _NUMBER.fullmatch(cell)):
            return False
        recurring = sum(times for times in Counter(column).values() if times > 1)
        n_names += bool(cell.strip() and column and (is_numeric or recurring >= _RECURRING * len(column)))
    return n_names >= min(2, len(_filled(first)))


def _is_answer(first: Row, rows: Sequence[Row]) -> bool:
    """Return whether the first row is one like those below, and no header."""
    rows = [row for row in rows[:_HEADER_ROWS] if row != first]  # a header may be repeated, where files were joined
    if not rows or not all(cell.strip() for cell in first):
        return False
    numbers = [cell for cell in first if _NUMBER.fullmatch(cell)]
    recurring = fitting = with_repeats = 0
    for cell, column in _list_below(first, rows):
        is_number, is_numeric = _are_numbers([cell]), _are_numbers(column)
        if is_numeric and not is_number:  # a word above numbers
            return False
        fitting += is_number and is_numeric
        recurring += cell in column
        with_repeats += len(set(column)) < len(column)
    if len(set(first)) < len(first):  # names are different
        return recurring + fitting > 0
    if len(first) > MIN_COLUMNS and _is_counting(numbers):
        return False  # numbers of workers or tasks, above a matrix
    alike = sum(any(cell == own for cell, own in zip(row, first, strict=False)) for row in rows)
    if alike < 2 or 2 * recurring < with_repeats:  # a row of texts below the header may repeat some names
        return len(numbers) == len(first)
    return recurring > 1 or fitting > 0


def _is_counting(cells: Row) -> bool:
    """Return whether cells are whole numbers, one after the other."""
    if len(cells) < MIN_COLUMNS or not all(cell.strip().isdecimal() and len(cell) < _MAX_DIGITS for cell in cells):
        return False
    return [int(cell) for cell in cells] == list(range(int(cells[0]), int(cells[0]) + len(cells)))
