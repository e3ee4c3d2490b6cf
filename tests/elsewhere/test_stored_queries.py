"""A query that a saved result holds is never run: results keep none, and one that was written there is refused."""

import json
import sqlite3
from pathlib import Path

import pytest

import allalike
from allalike.errors import InputError
from allalike.result import saved
from running.elsewhere import ROWS
from running.program import call

STORED = "SELECT 'mallory' AS worker, task, label FROM answers"


def write_database(path: Path, rows: list[tuple[str, str, str]]) -> None:
    with sqlite3.connect(path) as held:
        held.execute("CREATE TABLE answers (worker TEXT, task TEXT, label TEXT)")
        held.executemany("INSERT INTO answers VALUES (?, ?, ?)", rows)
    held.close()


def test_a_result_keeps_no_query_and_no_table(tmp_path: Path) -> None:
    write_database(tmp_path / "crowd.db", ROWS)
    for option in (["--query", "SELECT * FROM answers WHERE 'sesame' = 'sesame'"], ["--table", "answers"]):
        done = call("discover", "crowd.db", *option, "-o", "out", "--no-report", folder=tmp_path)
        assert done.returncode == 0, done
        told = json.loads((tmp_path / "out" / "details" / "state" / "call.json").read_text(encoding="utf-8"))["call"]
        assert not told["read"].keys() & {"query", "table"}
        assert "sesame" not in json.dumps(told)


@pytest.mark.parametrize("stored", [{"query": STORED}, {"table": "answers"}])
def test_a_query_in_a_saved_result_is_refused_and_not_run(tmp_path: Path, stored: dict[str, str]) -> None:
    allalike.discover(ROWS).save(tmp_path / "out")
    write_database(tmp_path / "new.db", [("zoe", "t0", "x"), ("zoe", "t1", "y")])
    path = tmp_path / "out" / "details" / "state" / "call.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    index["call"]["read"] |= stored
    index["sum"] = saved._digest(index["call"])  # as whoever wrote it would
    path.write_text(json.dumps(index), encoding="utf-8")
    before = {each: each.read_bytes() for each in (tmp_path / "out").rglob("*") if each.is_file()}
    with pytest.raises(InputError, match=r"call\.json"):
        allalike.load(tmp_path / "out")
    for words in (["update", "out", "new.db"], ["plan", "out"], ["explain", "out", "task", "t0"]):
        done = call(*words, folder=tmp_path)
        assert done.returncode == 2
        assert "call.json" in done.stderr
    assert {each: each.read_bytes() for each in (tmp_path / "out").rglob("*") if each.is_file()} == before
