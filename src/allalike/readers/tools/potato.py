"""Potato: annotated instances, with one column for each option of each question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.errors import InputError
from allalike.readers.tools.annotations import make_columns
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.questions import pick_questions
from allalike.readers.tools.sheets import BLANKS, find_name, open_sheets, texts, with_columns, with_roles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["Potato"]

_WORKERS, _TASK, _MARK = ("user", "user_id", "username"), "instance_id", ":::"
_UNTICKED = BLANKS | {"False", "false"}


class Potato(Tool):
    r"""The annotated instances of Potato.

    >>> Potato().answers_in({"annotated.csv": "instance_id,user,mood:::sad,mood:::glad\n7,ada,true,\n7,bob,,true\n"})
    [('ada', '7', 'sad'), ('bob', '7', 'glad')]
    """

    name = "potato"
    title = "Potato"
    summary = "annotated instances (CSV, TSV): user, instance_id and question:::option"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has instances, and options of questions."""
        return (
            _TASK in peek.names
            and any(name in peek.names for name in _WORKERS)
            and any(_MARK in name for name in peek.names)
        )

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open instances: the options of a question that are filled are its answer."""
        table = open_sheets(paths, files)
        worker = find_name(table.names, *_WORKERS)
        groups: dict[str, list[str]] = {}
        for name in table.names:
            question, mark, _ = name.partition(_MARK)
            if mark:
                groups.setdefault(question, []).append(name)
        if worker is None or _TASK not in table.names or not groups:
            raise InputError(
                f"{table.where} has not all columns of {self.title}: user, instance_id, question:::option."
            )
        answers = {question: _read(table, names) for question, names in groups.items()}
        rows = [dict(zip(answers, row, strict=True)) for row in zip(*answers.values(), strict=True)]
        table = with_columns(table, make_columns(list(answers), rows))
        label, remark = pick_questions(table, list(answers), tag=files.tag)
        return with_roles(table, self.name, worker, _TASK, label, [remark])


def _read(table: Table, names: list[str]) -> list[Any]:
    """Return what each row says: which options, or what is written in the only column."""
    cells = [texts(table, name) for name in names]
    if len(names) == 1:
        return [None if cell.strip() in BLANKS else cell for cell in cells[0]]
    options = [name.partition(_MARK)[2] for name in names]
    ticked = (
        [o for o, cell in zip(options, row, strict=True) if cell.strip() not in _UNTICKED]
        for row in zip(*cells, strict=True)
    )
    return [chosen or None for chosen in ticked]
