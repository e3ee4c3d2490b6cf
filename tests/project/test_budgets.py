"""The size rules: files, functions and packages stay within their bounds, and the check finds what does not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sizes


def test_the_rules_hold() -> None:
    assert sizes.find_faults() == []


def test_a_package_may_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = sizes.TABLE.read_text(encoding="utf-8")
    table = tmp_path / "sizes.csv"
    table.write_text(text.replace("\nreaders,", "\nreaders,1,\nignored,"), encoding="utf-8")
    monkeypatch.setattr(sizes, "TABLE", table)
    assert [fault for fault in sizes.find_faults() if fault.startswith("readers: ")]


def test_docstrings_do_not_count() -> None:
    function = ast.parse("def add(a, b):\n    '''Add.\n\n    Two numbers.\n    '''\n    return a + b").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert sizes.count_code_lines(function) == 2
