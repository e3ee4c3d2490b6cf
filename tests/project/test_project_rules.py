"""Rules of the project: names, sizes, the audit of packages, and the public interface."""

import ast
import json
import re
from collections import Counter
from difflib import unified_diff
from pathlib import Path

import pytest

import allalike
import audit
import sizes
from public_api import SNAPSHOT, describe

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


def test_no_test_module_imports_another_so_that_each_runs_alone() -> None:
    tests = [*ROOT.glob("tests/*/test_*.py"), *ROOT.glob("paper/test_*.py")]
    assert len(tests) > 50
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


SOUND = {"name": "numpy", "version": "2.0", "vulns": []}
UNKNOWN = {"name": "mine", "skip_reason": "Dependency not found"}
FLAWED = {"name": "old", "version": "1.0", "vulns": [{"id": "CVE-1", "fix_versions": ["1.1", "2.0"]}]}


def judge(*packages: object) -> tuple[str, bool]:
    return audit.judge(json.dumps({"dependencies": packages, "fixes": []}), "")


def test_a_known_vulnerability_fails_and_is_named() -> None:
    said, well = judge(SOUND, FLAWED, UNKNOWN)
    assert said.splitlines() == [
        "old 1.0: CVE-1, mended in 1.1, 2.0",
        "2 of 3 packages were audited, 1 vulnerabilities are known.",
    ]
    assert not well


def test_packages_that_nobody_knows_do_not_fail_but_are_counted() -> None:
    assert judge(SOUND, UNKNOWN) == ("1 of 2 packages were audited, 0 vulnerabilities are known.", True)


def test_without_a_network_it_says_so_and_does_not_fail() -> None:
    said, well = audit.judge("", "Traceback\nConnectionError: no route to host\n")
    assert said == "The registry of packages cannot be asked, so none was audited: ConnectionError: no route to host"
    assert well


def test_the_rules_hold() -> None:
    assert sizes.find_faults() == []


def test_a_package_may_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = sizes.TABLE.read_text(encoding="utf-8")
    table = tmp_path / "sizes.csv"
    table.write_text(text.replace("\nreaders,", "\nreaders,1,\nignored,"), encoding="utf-8")
    monkeypatch.setattr(sizes, "TABLE", table)
    assert [fault for fault in sizes.find_faults() if fault.startswith("readers: ")]


def test_the_public_face_is_the_one_that_was_agreed_on() -> None:
    agreed, found = SNAPSHOT.read_text(encoding="utf-8").splitlines(), describe().splitlines()
    changed = "\n".join(unified_diff(agreed, found, "agreed", "found", lineterm="", n=0))
    what_to_do = "If you mean this, run `python tests/programs/public_api.py`, and tell it in the CHANGELOG."
    assert not changed, f"{what_to_do}\n{changed}"


def test_nobody_is_shown_what_is_private() -> None:
    assert "_core" not in SNAPSHOT.read_text(encoding="utf-8")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    assert len(pages) > 30
    for page in pages:
        assert not re.search(r"^\W*(from|import) allalike\._core", page.read_text(encoding="utf-8"), re.MULTILINE), page
