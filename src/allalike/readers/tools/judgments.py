"""Judgments: the report of Figure Eight that has one unit a line, with all that was said about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.errors import InputError
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.failures import guard
from allalike.readers.formats.tables import Table
from allalike.readers.tools.annotations import make_columns
from allalike.readers.tools.sheets import as_text, with_columns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files

__all__ = ["holds_judgments", "open_judgments"]

_ABOUT = {"_unit_id": "unit_id", "_worker_id": "worker_id", "_tainted": "tainted"}


def holds_judgments(unit: Any) -> bool:
    """Tell whether an object is a unit with judgments of workers.

    >>> holds_judgments({"id": 1, "results": {"judgments": [{"worker_id": 7, "data": {"colour": "red"}}]}})
    True
    """
    results = unit.get("results") if isinstance(unit, dict) else None
    judgments = results.get("judgments") if isinstance(results, dict) else None
    return isinstance(judgments, list) and all(isinstance(one, dict) and "worker_id" in one for one in judgments)


def open_judgments(paths: Sequence[Path], files: Files) -> tuple[Table, list[str]]:
    r"""Open units as the table that the full report is; return also its questions.

    >>> import tempfile, pathlib
    >>> from allalike.readers.formats.files import Files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "job.json")
    ...     _ = path.write_text('{"id": 1, "results": {"judgments": [{"worker_id": 7, "data": {"colour": "red"}}]}}\n')
    ...     table, questions = open_judgments([path], Files())
    >>> table.load(["_worker_id", *questions])["colour"].to_pylist()
    ['red']
    """
    judgments = [one for path in paths for one in _read(path, files)]
    names = list(dict.fromkeys(name for one in judgments for name in one["data"]))
    if not names:
        raise InputError(f"{paths[0]} has no judgments.")
    about = {name: [_text(one.get(key)) for one in judgments] for name, key in _ABOUT.items()}

    def load(asked: Sequence[str]) -> dict[str, Any]:
        return {name: as_text(about[name]) for name in asked}

    where = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    table = Table(list(about), load, where, text=True)
    answers = [{str(name): _answer(value) for name, value in one["data"].items()} for one in judgments]
    return with_columns(table, make_columns(names, answers)), names


def _read(path: Path, files: Files) -> list[dict[str, Any]]:
    text = guard(path, "JSON lines", lambda: read_text(path, files.encoding))
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            unit = parse_json(line)
        except ValueError as error:
            raise InputError(f"{path}: line {number} cannot be read as JSON: {error}.") from None
        if not holds_judgments(unit):
            raise InputError(f"{path}: line {number} is no unit with judgments of workers.")
        for one in unit["results"]["judgments"]:
            data = one.get("data")
            found.append({"unit_id": unit.get("id"), **one, "data": data if isinstance(data, dict) else {}})
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _answer(value: Any) -> Any:
    """Return a choice as text, and several as a list of them."""
    return [_text(item) for item in value] if isinstance(value, list) else _text(value) or None
