"""Ids and labels that a spreadsheet would compute: written as they came, or with an apostrophe before them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import allalike
from allalike import Engine
from allalike._core.system.tables import guard_table, guard_text, unguard_text
from allalike.api.history import read_history
from allalike.errors import OptionError
from running.program import call

ROWS = [
    *[("=ada", "@t1", "=1+1"), ("bob", "@t1", "=1+1"), ("+eve", "@t1", "-1"), ("=ada", "'=t2", "-1")],
    *[("bob", "'=t2", "-1"), ("+eve", "-t3", "-x"), ("bob", "-t3", "-x"), ("=ada", "-t3", "-1")],
]
SAFE_TASKS = {"'@t1", "''=t2", "'-t3"}


def cells(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_texts_are_written_as_they_came_unless_they_shall_be_safe(tmp_path: Path, engine: Engine) -> None:
    result = allalike.discover(ROWS, domain="categorical", engine=engine)
    result.save(tmp_path / "plain")
    assert {row[0] for row in cells(tmp_path / "plain" / "truth.csv")[1:]} == {"@t1", "'=t2", "-t3"}
    result.save(tmp_path / "safe", safe_csv=True, probabilities=True)
    folder = tmp_path / "safe"
    truth = {row[0]: row[1] for row in cells(folder / "truth.csv")[1:]}
    assert truth == {"'@t1": "'=1+1", "''=t2": "-1", "'-t3": "'-x"}
    assert [row[0] for row in cells(folder / "workers.csv")] == ["worker", "'+eve", "'=ada", "bob"]
    assert {row[0] for row in cells(folder / "next.csv")[1:]} == SAFE_TASKS
    assert cells(folder / "probabilities.csv")[0] == ["task", "-1", "'-x", "'=1+1"]
    for path in folder.rglob("*.csv"):
        assert not [cell for row in cells(path) for cell in row if guard_text(cell) != cell and cell[0] != "'"]
    assert json.loads((folder / "summary.json").read_text())["safe_csv"] is True


def test_the_tables_of_a_panel_are_safe_too(tmp_path: Path) -> None:
    allalike.jury(ROWS, domain="categorical").save(tmp_path / "out", safe_csv=True)
    assert [row[0] for row in cells(tmp_path / "out" / "judges.csv")][1:] == ["'+eve", "'=ada", "bob"]


def test_a_history_that_is_safe_knows_the_same_workers(tmp_path: Path) -> None:
    result = allalike.discover(ROWS, domain="categorical")
    result.save(tmp_path, safe_csv=True)
    known = read_history(tmp_path / "workers.csv")
    assert known.of_workers(["=ada", "+eve"], most=1.0).answers.tolist() == [3.0, 2.0]


def test_the_program_says_it_and_explains_the_result_by_its_ids(tmp_path: Path) -> None:
    pd.DataFrame(ROWS, columns=["worker", "task", "label"]).to_csv(tmp_path / "a.csv", index=False)
    how = ("--domain", "categorical", "--no-report", "--force")
    done = call("discover", "a.csv", "-o", "out", "--safe-csv", *how, folder=tmp_path)
    assert done.returncode == 0
    assert "apostrophe before them (--safe-csv)" in done.stderr
    assert call("explain", "out", "worker", "=ada", folder=tmp_path).returncode == 0
    assert call("discover", "a.csv", "--safe-csv", "--format", "parquet", *how, folder=tmp_path).returncode == 2
    with pytest.raises(OptionError, match="format is 'parquet'"):
        allalike.discover(ROWS, domain="categorical").save(tmp_path / "o", format="parquet", safe_csv=True)


@given(st.text(alphabet="'=+-@\t\r\nx1.e＝ ", max_size=6))  # noqa: RUF001
@settings(max_examples=50)
@example("-1.5e-3")
@example("+.5")
@example("-1\n")
def test_what_is_guarded_is_no_formula_and_comes_back(text: str) -> None:
    guarded = guard_text(text)
    assert unguard_text(guarded) == text
    assert guarded[:1] not in set("=+-@\t\r\n＝") or float(guarded) is not None  # noqa: RUF001
    assert guard_table(pa.table({"a": [text]}))["a"].to_pylist() == [guarded]
