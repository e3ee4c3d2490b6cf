"""One meaning for each name, in the sources; every test file stands alone."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import allalike

ROOT = Path(__file__).parents[2]
SOURCE = Path(allalike.__file__).parent


def test_no_two_public_classes_have_one_name() -> None:
    found = Counter(
        statement.name
        for path in SOURCE.rglob("*.py")
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


def test_no_test_module_imports_another_so_that_each_runs_alone() -> None:
    tests = [*ROOT.glob("tests/*/test_*.py"), *ROOT.glob("paper/test_*.py")]
    assert len(tests) > 150
    imported = {
        (file.name, name)
        for file in tests
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in imported_names(node)
        if name.rpartition(".")[2] in {test.stem for test in tests}
    }
    assert imported == set()


def imported_names(node: ast.AST) -> list[str]:
    """Return the modules that a statement imports, or may import."""
    if isinstance(node, ast.ImportFrom):
        return [str(node.module), *(alias.name for alias in node.names)]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
