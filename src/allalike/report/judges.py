"""Part of the report on a panel: its messages, a picture of pairs with correlated errors, and its tables.

No text contains the name of a judge: a sentence is cut where one stands, and a cell refers to a place among the people
of the page, so that the page can hide all of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import Values
from allalike._core.words import cut
from allalike.report.drawing import chart_pairs
from allalike.report.material import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allalike.report.material import Columns, Material
    from allalike.report.people import People
    from allalike.result.messages import Remark

_MAX_ROWS = 200
_MAX_TEXT = 120
_NAMING = ("worker", "judge", "other", "members")  # columns with names of judges
_MOST_MORE = 3.0  # ratio above 1 from which on all pairs have the strongest colour
_TASK = "task"  # an id, however much it looks like a number
_SOMEBODY = "another judge"


class _Judges:
    """The judges of a panel by what their ids are in writing."""

    def __init__(self, material: Material, people: People) -> None:
        ids = list(map(str, material.run.workers.tolist()))
        self.places = dict(zip(ids, people.refer(np.arange(len(ids))), strict=True))

    def split(self, sentence: str, names: Sequence[object]) -> list[str | int]:
        """Cut a sentence where names stand in it, which become places."""
        for name in {str(name) for name in names} - self.places.keys():  # without a verdict in this panel
            sentence = sentence.replace(name, _SOMEBODY)
        wanted = {str(name) for name in names} & self.places.keys()
        return _split_at(sentence, {name: self.places[name] for name in wanted})

    def find(self, text: str) -> list[int]:
        """Return the places of the judges whose names stand in a text."""
        return [piece for piece in self.split(text, list(self.places)) if isinstance(piece, int)]


def _split_at(sentence: str, places: Mapping[str, int]) -> list[str | int]:
    """Cut a sentence where names stand in it, and put their places there.

    >>> _split_at("ada and adam are copies.", {"ada": 3, "adam": 5})
    ['', 3, ' and ', 5, ' are copies.']
    """
    if not places:
        return [sentence]
    wanted = sorted(places, key=len, reverse=True)
    pieces = re.split(f"({'|'.join(map(re.escape, wanted))})", sentence)
    return [places[piece] if place % 2 else piece for place, piece in enumerate(pieces)]


def name_people(remarks: Iterable[Remark], material: Material, people: People) -> list[list[str | int]]:
    """Return messages about workers, cut where one is named."""
    numbers = {str(worker): number for number, worker in enumerate(material.run.workers.tolist())}
    said = []
    for remark in remarks:
        known = [str(name) for name in remark.names if str(name) in numbers]
        places = people.refer(np.array([numbers[name] for name in known], np.intp))
        said.append(_split_at(remark.sentence, dict(zip(known, places, strict=True))))
    return said


def describe_judges(material: Material, people: People) -> dict[str, Any] | None:
    """Return the messages and tables of a panel; nothing if the workers are no panel.

    >>> import allalike
    >>> from allalike.report.people import People
    >>> material = allalike.jury([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")])._material()
    >>> found = describe_judges(material, People(material, np.arange(3)))
    >>> found["said"][0], found["tables"][0]["columns"][0]
    (['3 verdicts by 3 judges on 1 task (categorical).'], {'title': 'worker', 'people': [[0], [1], [2]]})
    """
    if not material.panel:
        return None
    judges = _Judges(material, people)
    return {
        "said": [judges.split(each.sentence, each.names) for each in material.panel_messages],
        "tables": [
            {
                "name": name,
                "title": title,
                "columns": list(_list_columns(table, dict.fromkeys(_NAMING, judges))),
                "more": max(_count_rows(table) - _MAX_ROWS, 0),
            }
            for name, (title, table) in material.panel.items()
            if _count_rows(table)
        ],
    }


def describe_quality(material: Material, people: People) -> dict[str, Any] | None:
    """Return the table of worker quality, all questions together first, if there is one."""
    if not material.quality:
        return None
    table, number = material.quality, {each: place for place, each in enumerate(material.run.workers.tolist())}
    tags = table["tag"].tolist()
    order = np.argsort([tag != tags[0] for tag in tags], kind="stable")[:_MAX_ROWS]  # each worker's first row is of all
    some = {name: column.take(order) if isinstance(column, Values) else column[order] for name, column in table.items()}
    workers = people.refer(np.array([number[each] for each in some.pop("worker").tolist()], np.intp))
    columns = [{"title": "worker", "people": [[place] for place in workers]}, *_list_columns(some, {})]
    return {"name": "quality", "title": "Quality", "columns": columns, "more": len(tags) - len(order)}


def _count_rows(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _list_columns(columns: Columns, naming: Mapping[str, _Judges]) -> Iterator[dict[str, Any]]:
    """Return each column with its title, and its values as people, numbers or texts."""
    for name, column in columns.items():
        values, title = column.tolist()[:_MAX_ROWS], name.replace("_", " ")
        if name in naming:
            yield {"title": title, "people": [naming[name].find(str(value)) for value in values]}
        elif name != _TASK and all(map(_is_number, values)):
            yield {"title": title, "numbers": [brief(each) if isinstance(each, float) else each for each in values]}
        else:
            yield {"title": title, "texts": [_write(value) for value in values]}


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _write(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else ""
    return cut(str(value), _MAX_TEXT)


def draw_pairs(material: Material, people: People) -> str | None:
    """Draw pairs of judges by the strength of their shared errors, if some pair has correlated errors."""
    table = material.panel.get("pairs", ("", {}))[1]
    if not table or not np.any(table["shared_errors"].tolist()):
        return None
    judges = _Judges(material, people)
    left, right = ([judges.places[str(each)] for each in table[name].tolist()] for name in ("judge", "other"))
    strength = (np.asarray(table["ratio"]) - 1) / _MOST_MORE if "ratio" in table else np.asarray(table["correlation"])
    shown = np.clip(np.nan_to_num(strength), 0.0, 1.0).tolist()
    return chart_pairs(list(zip(left, right, shown, table["shared_errors"].tolist(), strict=True)))
