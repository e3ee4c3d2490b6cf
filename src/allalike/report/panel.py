"""Panel section of a report: messages, pairs with correlated errors, and tables.

No text contains the name of a judge, so that the page can hide all names: sentences are split at names, and cells refer
to positions among the workers of the page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.text_format import cut
from allalike.report.report_data import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from allalike.report.report_data import Columns, Material
    from allalike.report.workers import People
    from allalike.result.messages import Message

_MAX_ROWS, _MAX_TEXT = 200, 120
_NAMING = ("worker", "judge", "other", "members")  # columns with names of judges
_MAX_RATIO = 4.0  # ratio with the strongest colour
_SOMEBODY = "another judge"

Split = list[str | int]


def find_places(material: Material, people: People, wanted: Iterable[object] | None = None) -> dict[str, int]:
    """Return the positions of workers by name: of all workers, or only of those in ``wanted``."""
    numbers = {str(worker): number for number, worker in enumerate(material.run.workers.tolist())}
    if wanted is not None:
        numbers = {name: numbers[name] for name in map(str, wanted) if name in numbers}
    return dict(zip(numbers, people.refer(np.array([*numbers.values()], np.intp)), strict=True))


def split_at(sentence: str, names: Iterable[object], places: dict[str, int]) -> Split:
    """Split a sentence at names, which become positions; names without a position are hidden.

    >>> split_at("ada and adam are copies.", ["ada", "adam"], {"ada": 3, "adam": 5})
    ['', 3, ' and ', 5, ' are copies.']
    """
    wanted = sorted({str(name) for name in names}, key=len, reverse=True)
    for name in wanted:
        if name not in places:
            sentence = sentence.replace(name, _SOMEBODY)
    known = [name for name in wanted if name in places]
    if not known:
        return [sentence]
    pieces = re.split(f"({'|'.join(map(re.escape, known))})", sentence)
    return [places[piece] if place % 2 else piece for place, piece in enumerate(pieces)]


def split_messages(messages: Sequence[Message], material: Material, people: People) -> list[Split]:
    """Return messages split at the names of workers."""
    places = find_places(material, people, [name for message in messages for name in message.names])
    return [split_at(message.sentence, message.names, places) for message in messages]


def describe_panel(material: Material, people: People) -> dict[str, Any] | None:
    """Return the messages and tables of a panel, or None for other results."""
    if not material.panel:
        return None
    places = find_places(material, people)
    tables = []
    for name, (title, table) in material.panel.items():
        if size := len(next(iter(table.values()))):
            columns = list(_list_columns(table, places))
            tables.append({"name": name, "title": title, "columns": columns, "more": max(size - _MAX_ROWS, 0)})
    return {"messages": split_messages(material.messages, material, people), "tables": tables}


def _list_columns(table: Columns, places: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Return each column with its title, and its values as workers, numbers or texts."""
    for name, column in table.items():
        values, title = column.tolist()[:_MAX_ROWS], name.replace("_", " ").replace("ci ", "CI ")
        title = title[:1].upper() + title[1:]
        if name in _NAMING:
            pieces = [[places[str(v)]] if str(v) in places else split_at(str(v), places, places) for v in values]
            yield {"title": title, "people": [[each for each in row if isinstance(each, int)] for row in pieces]}
        elif name != "task" and all(map(_is_number, values)):
            yield {"title": title, "numbers": [brief(each) if isinstance(each, float) else each for each in values]}
        else:
            shown = {None: "", False: "", True: "yes"}
            texts = [shown[value] if value is None or isinstance(value, bool) else str(value) for value in values]
            yield {"title": title, "texts": [cut(text, _MAX_TEXT) for text in texts]}


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def list_pairs(material: Material, people: People) -> list[tuple[int, int, float, bool]]:
    """Return pairs of judges with the strength of their shared errors, if any pair has correlated errors."""
    table = material.panel.get("pairs", ("", {}))[1]
    if not table or not any(table["shared_errors"].tolist()):
        return []
    places = find_places(material, people)
    left, right = ([places[str(each)] for each in table[name].tolist()] for name in ("judge", "other"))
    ratio = (
        (np.asarray(table["ratio"]) - 1) / (_MAX_RATIO - 1) if "ratio" in table else np.asarray(table["correlation"])
    )
    strength = np.clip(np.nan_to_num(ratio), 0.0, 1.0).tolist()
    return list(zip(left, right, strength, table["shared_errors"].tolist(), strict=True))
