"""The page on security: every promise has tests that exist, and what it says of CI and of systems is what is done."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide" / "SECURITY.md").read_text(encoding="utf-8")
WORKFLOW = ROOT / ".github" / "workflows" / "test.yml"
SYSTEMS = {
    "ubuntu": "Operating System :: POSIX :: Linux",
    "macos": "Operating System :: MacOS",
    "windows": "Operating System :: Microsoft :: Windows",
}

needs_workflow = pytest.mark.skipif(not WORKFLOW.is_file(), reason="what is released has no workflow")


def read_rows() -> list[tuple[str, str]]:
    """Return the promises of the table, each with a test."""
    return re.findall(r"^\| (.+) \| `(test_\w+\.py::test_\w+)` \|$", PAGE, re.MULTILINE)


def test_every_promise_has_tests_and_every_row_has_its_promise() -> None:
    promised = PAGE.partition("## What is promised")[2].partition("\n## ")[0]
    promises = [text.rstrip(".") for text in re.findall(r"^\*\*(.+?)\*\*", promised, re.MULTILINE)]
    assert len(promises) > 5
    assert {promise for promise, _ in read_rows()} == set(promises)


def test_every_test_that_the_page_names_is_there() -> None:
    rows = read_rows()
    assert len(rows) == PAGE.partition("| Promise | Test |")[2].count("\n|") - 1  # so that no row is written otherwise
    for file in {test.partition("::")[0] for _, test in rows}:
        [path] = (ROOT / "tests").rglob(file)
        tree = ast.parse(path.read_bytes())
        there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert {name for _, test in rows for of, _, name in [test.partition("::")] if of == file} <= there, file


@needs_workflow
def test_the_audit_runs_in_ci() -> None:
    for path in (WORKFLOW, ROOT / ".ci" / "run"):
        assert "make audit" in path.read_text(encoding="utf-8")


@needs_workflow
def test_the_systems_that_the_package_names_are_those_that_are_tested() -> None:
    [tested] = re.findall(r"system: \[(.*)\]", WORKFLOW.read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [each for each in project["classifiers"] if each.startswith("Operating System")]
    assert named == sorted({SYSTEMS[system.partition("-")[0]] for system in tested.split(", ")})
