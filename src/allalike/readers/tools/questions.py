"""Questions: which columns of an export are answers to one, which of several is meant, and cells that hold several."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from allalike.errors import InputError, Proposal
from allalike.readers.tools.sheets import BLANKS, sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allalike.readers.formats.tables import Table

_ASIDE_NAMES = """
    time times timestamp duration seconds comment comments feedback useragent browser submit surveycode ip
"""
_ASIDE = frozenset(_ASIDE_NAMES.split())  # what forms ask or note beside their questions
_MIN_ANSWERS = 4  # fewer answers do not tell how often they recur
_MAX_CHOICES = 30  # more different ones, and longer, are lines of text
_BRACKETS = re.compile(r"\[[^\[\]]*\]")


def pick_questions(
    table: Table, names: Sequence[str], *, tag: str | None = None, inputs: Sequence[str] = ()
) -> tuple[str | tuple[str, ...], str]:
    """Choose the column of the labels among those of questions, or leave several; say also which are left out.

    A question that all have answered in the same way, or nobody, is left out where there are others, and so is what
    repeats one of the inputs. If one of the others has choices, it is that one; if none has, the only one with free
    text or marks; what forms ask or note beside their questions comes last. Of columns that say the same the first is
    taken.

    >>> from allalike.readers.formats.tables import of_records
    >>> rows = [{"q1": "yn"[row % 2], "q2": "abc"[row % 3], "why": f"because of {row}", "ok": "on"} for row in range(9)]
    >>> pick_questions(of_records(rows), ["q1", "why", "ok"])
    ('q1', 'No labels are taken from why (free text), ok (always the same).')
    >>> pick_questions(of_records(rows), ["q1", "q2", "why"])
    (('q1', 'q2', 'why'), '')
    """
    if tag is not None:
        return _tagged(table, names, tag), ""
    left, reasons = _sort(table, names, inputs)
    best = _find_best(left)
    if len(best) == 1:
        reasons, left = reasons | left, {best[0]: ""}
    if len(left) > 1:
        return tuple(left), ""
    others = ", ".join(f"{name} ({reasons[name]})" for name in names if name not in left)
    return next(iter(left)), f"No labels are taken from {others}." if others else ""


def list_questions(table: Table, names: Sequence[str], inputs: Sequence[str] = ()) -> list[str]:
    """Return the columns that are questions as `pick_questions` sees them, without those that come after others.

    >>> from allalike.readers.formats.tables import of_records
    >>> rows = [{"q1": "yn"[row % 2], "q2": "abc"[row % 3], "workTime": f"{row}.5"} for row in range(9)]
    >>> list_questions(of_records(rows), ["workTime", "q1", "q2"])
    ['q1', 'q2']
    """
    return _find_best(_sort(table, names, inputs)[0])


def _sort(table: Table, names: Sequence[str], inputs: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return questions with what their answers are, the best first, and why others are none."""
    if not names:
        raise InputError(f"{table.where} has no column with answers. It has: {', '.join(table.names)}.")
    inputs = [name for name in inputs if name in table.names]
    seen = sample(table, [*inputs, *names])
    said = {repr(seen.pop(name)): name for name in inputs}
    answers = {name: [value for value in column if not _is_blank(value)] for name, column in seen.items()}
    reasons: dict[str, str] = {}
    for name, values in answers.items():
        key = repr([sorted(map(repr, value)) if isinstance(value, frozenset) else value for value in seen[name]])
        kinds = len({repr(value) for value in values})
        if kinds < 2:
            reasons[name] = "always the same" if kinds else "empty"
        elif said.setdefault(key, name) != name:
            reasons[name] = f"the same as {said[key]}"
    left = {name: _describe(name, answers[name]) for name in names if name not in reasons or len(reasons) == len(names)}
    return dict(sorted(left.items(), key=lambda item: _rank(item[1]))), reasons


def _find_best(left: dict[str, str]) -> list[str]:
    first = _rank(next(iter(left.values())))
    return [name for name, kind in left.items() if _rank(kind) == first]


def _rank(kind: str) -> int:
    return {"": 0, "free text": 1, "marks": 1}.get(kind, 2)


def is_free_text(values: Sequence[Any]) -> bool:
    """Tell whether answers are what people wrote themselves: they are no numbers, and hardly any recur.

    >>> is_free_text(["I think so", "hardly", "no idea", "why not?"]), is_free_text(["yes", "no", "yes", "yes"])
    (True, False)
    """
    words = [value for value in values if isinstance(value, str)]
    if len(words) < _MIN_ANSWERS or all(map(_is_number, words)):
        return False
    return len({word.strip().casefold() for word in words}) > len(words) / 2


def _describe(name: str, values: Sequence[Any]) -> str:
    """Say what the answers to a question are, if they are no choices."""
    words = re.split(r"[\W_\d]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).casefold())
    if found := [word for word in words if word in _ASIDE]:
        return found[-1]
    if any(isinstance(item, dict) for value in values if isinstance(value, list) for item in value):
        return "marks"
    return "free text" if is_free_text(values) else ""


def _tagged(table: Table, names: Sequence[str], tag: str) -> str:
    found = [name for name in names if name == tag] or [
        name for name in names if name.casefold().endswith((f".{tag}".casefold(), f":{tag}".casefold()))
    ]
    if len(found) == 1:
        return found[0]
    if not names:
        raise InputError(f"{table.where} has no question {tag!r}, nor any other.")
    listed = ", ".join(map(repr, names))
    raise InputError(
        f"{table.where} has no question {tag!r}. Its questions: {listed}.",
        proposals=[Proposal({"tag": name}) for name in names],
    )


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip() in BLANKS)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def as_sets(cells: Sequence[str | None], separator: str = "\n") -> list[frozenset[str] | None] | None:
    r"""Return cells as sets if some of them hold several choices, or nothing if none does.

    Choices stand on lines of their own, or what else separates them, or in square brackets.

    >>> as_sets(["cat\ndog", "cat", None, ""]) == [{"cat", "dog"}, {"cat"}, None, None]
    True
    >>> as_sets(["[A] [B]", "[A]"]) == [{"[A]", "[B]"}, {"[A]"}], as_sets(["cat", "dog"])
    (True, None)
    """
    filled = [cell for cell in cells if cell and cell.strip()]
    if filled and all(not _BRACKETS.sub("", cell).strip() for cell in filled):
        parts = {cell: frozenset(_BRACKETS.findall(cell)) for cell in filled}
    elif any(separator in cell.strip() for cell in filled):
        parts = {cell: frozenset(part.strip() for part in cell.split(separator) if part.strip()) for cell in filled}
    else:
        return None
    if all(len(part) < 2 for part in parts.values()) or not _recur(parts.values(), len(filled)):
        return None
    return [parts[cell] if cell and cell.strip() else None for cell in cells]


def _recur(sets: Iterable[frozenset[str]], cells: int) -> bool:
    """Tell whether choices come from a list, and are no lines of a text."""
    kinds = {item for items in sets for item in items}
    return len(kinds) <= max(_MAX_CHOICES, cells / 10) and (len(kinds) < cells or cells < _MAX_CHOICES)
