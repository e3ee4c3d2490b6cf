"""One meaning for each name: no two public classes share one, and no two modules of a room differ by an s."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import allalike

SOURCE = Path(allalike.__file__).parent
THEIRS = SOURCE / "compat"  # whose classes are called as those of the library that they stand in for


def test_no_two_public_classes_have_one_name() -> None:
    files = [path for path in SOURCE.rglob("*.py") if THEIRS not in path.parents]
    found = Counter(
        statement.name
        for path in files
        for statement in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_")
    )
    assert len(found) > 300
    assert [name for name, number in found.items() if number > 1] == []


def test_no_two_modules_of_a_room_differ_by_an_s() -> None:
    rooms = {path.parent for path in SOURCE.rglob("*.py")}
    names = {room: {path.stem for path in room.iterdir()} for room in rooms}
    twins = {(room.name, name) for room, found in names.items() for name in found if f"{name}s" in found}
    assert twins <= {("api", "result")}  # the class, above the room of what it is made of
