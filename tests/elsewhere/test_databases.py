"""Databases are read in a stream, once, and results are written to them whole or not at all."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import duckdb
import pandas as pd
import pytest

import allalike
from allalike.engines import Engine
from allalike.errors import InputError, OptionError, OutputError, UnsupportedError
from allalike.readers.formats.databases import run_statement
from running.elsewhere import ROWS
from running.program import call

VALUES = ", ".join(f"('{worker}', '{task}', '{label}')" for worker, task, label in ROWS)
MAKE = ("CREATE TABLE answers (worker TEXT, task TEXT, label TEXT)", f"INSERT INTO answers VALUES {VALUES}")


@pytest.fixture(params=["sqlite", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("postgresql", "duckdb"))])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a database with a table of answers and another of something else."""
    statements = ["DROP SCHEMA IF EXISTS public CASCADE", "CREATE SCHEMA public"]
    if request.param == "postgresql":
        address = str(request.getfixturevalue("postgres"))[:]
        run_all(address, [*statements, *MAKE, "CREATE TABLE mine (n INT)"])
        return address
    address = f"{request.param}:///{(tmp_path / 'crowd.db').as_posix()}"
    run_all(address, [*MAKE, "CREATE TABLE mine (n INT)"])
    return address


def run_all(address: str, statements: list[str]) -> list[Any]:
    """Run statements with the database's own package, and return the rows of the last."""
    kind, _, path = address.partition(":///")
    if kind in ("sqlite", "duckdb"):
        held: Any = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(path)
        try:
            rows = [held.execute(each).fetchall() for each in statements][-1]
            held.commit()
            return list(rows)
        finally:
            held.close()
    with adbc_driver_postgresql.dbapi.connect(address) as connection:
        rows = [run_statement(connection, each) for each in statements][-1]
        connection.commit()
        return rows


def fail(*_: object) -> None:
    raise OSError("the connection is lost")


def test_a_table_and_a_query_give_what_a_file_gives(database: str, engine: Engine, truths: list[str]) -> None:
    by_table = allalike.discover(database, table="answers", engine=engine)
    query = "SELECT label, task, worker, 1 AS more FROM answers WHERE label <> 'w' ORDER BY task;"
    by_query = allalike.discover(database, query=query, engine=engine)
    assert by_table.truth["label"].tolist() == by_query.truth["label"].tolist() == truths
    pd.testing.assert_frame_equal(by_table.workers, allalike.discover(ROWS, engine=engine).workers)


def test_a_result_is_written_to_tables_and_replaces_only_what_allalike_wrote(
    database: str, truths: list[str], tmp_path: Path
) -> None:
    here = ["discover", database, "--table", "answers", "-q"]
    for _ in range(2):  # the second takes the place of the first
        done = call(*here, "-o", database, folder=tmp_path)
        assert done.returncode == 0, done
    rows = run_all(database, ["SELECT label, unweighted FROM truth ORDER BY task"])
    assert [label for label, _ in rows] == truths
    [(summary,)] = run_all(database, ["SELECT summary FROM summary"])
    assert json.loads(summary)["answers"] == len(ROWS)
    assert "sesame" not in summary
    run_all(database, ["DROP TABLE summary"])
    done = call(*here, "-o", database, folder=tmp_path)
    assert done.returncode == 2
    assert "already, and allalike did not write it" in done.stderr
    done = call(*here, "-o", database, "--overwrite", folder=tmp_path)
    assert done.returncode == 0, done
    run_all(database, ["DROP TABLE summary"])
    for table in (["--table", "truth"], ["--query", "SELECT 'w' AS worker, task, label FROM truth"]):
        done = call("discover", database, *table, "-o", database, "--overwrite", "--force", folder=tmp_path)
        assert done.returncode == 2
        assert "is never replaced" in done.stderr
    done = call(*here, "--label", "label", "--label", "task", "-o", database, folder=tmp_path)
    assert done.returncode == 2
    assert "A database takes one result" in done.stderr
    assert run_all(database, ["SELECT count(*) FROM answers"]) == [(len(ROWS),)]


def test_known_truths_come_beside_the_answers_by_a_query(database: str) -> None:
    run_all(database, ["CREATE TABLE gold AS SELECT DISTINCT task, 'x' AS truth FROM answers WHERE task = 't0'"])
    query = "SELECT answers.*, truth FROM answers LEFT JOIN gold ON answers.task = gold.task"
    result = allalike.discover(database, query=query, gold="column:truth")
    assert result.summary["gold"]["tasks"] == 1


def test_a_result_that_fails_midway_leaves_the_earlier_one(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = allalike.discover(ROWS)
    result.save(database)
    before = run_all(database, ["SELECT task, label FROM truth ORDER BY task"])
    monkeypatch.setattr("allalike.api.results.elsewhere._flat", fail)  # when old tables are gone
    with pytest.raises(OutputError, match=" says: |did not take all rows"):
        allalike.discover([(worker, task, "z") for worker, task, _ in ROWS]).save(database)
    assert run_all(database, ["SELECT task, label FROM truth ORDER BY task"]) == before


def test_a_program_that_is_killed_midway_leaves_the_earlier_result(database: str) -> None:
    allalike.discover(ROWS).save(database)
    before = run_all(database, ["SELECT task, label FROM truth ORDER BY task"])
    killed = (
        "import os, allalike, allalike.api.results.elsewhere as place\n"
        "def kill(column): os.kill(os.getpid(), 9)\n"
        "result = allalike.discover([(w, t, 'z') for w in 'abc' for t in range(9)])\n"
        f"place._flat = kill\nresult.save({database!r})"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", killed]).returncode == -9
    assert run_all(database, ["SELECT task, label FROM truth ORDER BY task"]) == before


def test_what_a_killed_program_began_in_sqlite_is_undone_to_be_read(tmp_path: Path, truths: list[str]) -> None:
    path = tmp_path / "crowd.db"
    run_all(f"sqlite:///{path}", list(MAKE))
    begun = (
        f"import os, sqlite3\nheld = sqlite3.connect({str(path)!r}, isolation_level=None)\n"
        "held.execute('PRAGMA cache_size = 1')\nheld.execute('BEGIN')\nheld.execute('DELETE FROM answers')\n"
        "held.execute('CREATE TABLE more (a)')\nheld.executemany('INSERT INTO more VALUES (?)', [('x' * 9000,)] * 99)\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", begun], check=True)
    assert (tmp_path / "crowd.db-journal").exists()
    assert allalike.discover(path).truth["label"].tolist() == truths


def test_a_database_that_could_not_be_written_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.api.results.elsewhere._flat", fail)
    for name in ("new.duckdb", "new.sqlite"):
        with pytest.raises(OutputError, match=" says: |did not take all rows"):
            allalike.discover(ROWS).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_query_that_reads_changes_nothing_and_opens_no_files(database: str, crowd: Path) -> None:
    for query in ("DROP TABLE answers", "DELETE FROM answers", "CREATE TABLE new AS SELECT 1 AS n"):
        with pytest.raises(InputError):
            allalike.read(database, query=query)
    assert run_all(database, ["SELECT count(*) FROM answers"]) == [(len(ROWS),)]
    if database.startswith("duckdb"):
        run_all(database, [f"CREATE VIEW spy AS SELECT * FROM read_csv('{crowd.as_posix()}')"])
        with pytest.raises(InputError, match="disabled by configuration"):
            allalike.read(database, table="spy")


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({}, "has 2 tables. Name that of the answers, such as table='answers'"),
        ({"table": "answer"}, "has no table 'answer'. Did you mean 'answers'?"),
        ({"query": "SELECT FROM WHERE"}, " says: "),
        ({"query": "SELECT 1", "table": "answers"}, "query= and table= are both given"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(database: str, how: dict[str, str], says: str) -> None:
    with pytest.raises((InputError, OptionError)) as raised:
        allalike.read(database, **how)  # type: ignore[arg-type]
    assert says in str(raised.value)
    assert "sesame" not in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_a_password_is_in_no_message_even_if_it_is_wrong(postgres: str, tmp_path: Path) -> None:
    for address in (postgres.replace("%2F", "+"), postgres.replace("%2F", "/")):
        done = call("discover", address, "-o", "out", folder=tmp_path)
        assert done.returncode == 2
        assert "sesame" not in done.stderr
        assert "postgresql://ada@127.0.0.1" in done.stderr
        assert len(done.stderr.strip().splitlines()) < 4


def test_numbers_ids_and_json_of_postgresql_are_plain(postgres: str) -> None:
    query = (
        "SELECT worker, ('00000000-0000-0000-0000-' || lpad(substr(task, 2), 12, '0'))::uuid AS task, 1.50::numeric AS"
        " label FROM (VALUES ('ada', 't1'), ('bob', 't1')) AS said (worker, task)"
    )
    answers = allalike.read(postgres, query=query)
    assert answers.encoding.domain.name == "real"
    assert answers.tasks.tolist() == ["00000000-0000-0000-0000-000000000001"]


def test_columns_of_sqlite_that_change_their_type_are_said(tmp_path: Path) -> None:
    path = tmp_path / "crowd.db"
    with sqlite3.connect(path) as held:
        held.execute("CREATE TABLE answers (worker, task, label)")
        held.executemany(
            "INSERT INTO answers VALUES (?, ?, ?)", [("ada", n, n if n < 2000 else "x") for n in range(3000)]
        )
    held.close()
    with pytest.raises(InputError, match=r"Type mismatch .*CAST\(\.\.\. AS TEXT\)"):
        allalike.read(path)
    query = "SELECT worker, task, CAST(label AS TEXT) AS label FROM answers"
    assert allalike.read(path, query=query, domain="text").n_answers == 3000


def test_masks_pages_and_other_tools_are_no_tables(tmp_path: Path) -> None:
    result = allalike.discover(ROWS)
    with pytest.raises(OutputError, match="report.html is a file"):
        result.save(tmp_path / "new.duckdb", report=True)
    with pytest.raises(OutputError, match="crowd-kit/.* is a file"):
        result.save(tmp_path / "new.duckdb", to="crowd-kit")
    (tmp_path / "answers.csv").write_text("worker,task,label\n")
    with pytest.raises(OptionError, match="query= is for databases, and .*answers.csv is none"):
        allalike.read(tmp_path / "answers.csv", query="SELECT 1")


def test_a_database_without_tables_is_said(tmp_path: Path) -> None:
    run_all(f"duckdb:///{tmp_path}/crowd.duckdb", ["SELECT 1"])
    for how in ({}, {"table": "answers"}):
        with pytest.raises(InputError, match="has no tables"):
            allalike.read(tmp_path / "crowd.duckdb", **how)  # type: ignore[arg-type]


def test_a_file_that_is_not_there_is_said_and_not_made(tmp_path: Path) -> None:
    for name in ("none.db", "sqlite:///none.db", "duckdb:///none.duckdb"):
        done = call("discover", name, "--table", "answers", folder=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"allalike: There is no {name}.\n")
    assert not list(tmp_path.iterdir())
    done = call("discover", "sqlite://", folder=tmp_path)
    assert done.stderr == "allalike: sqlite:// names no file. Write sqlite:///crowd.db.\n"


def test_a_result_is_not_loaded_from_an_address(tmp_path: Path) -> None:
    address = "postgresql://ada:sesame@host/crowd"
    for command in (["update", address, "a.csv"], ["next", address], ["explain", address, "task", "t1"]):
        done = call(*command, folder=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("allalike: postgresql://ada@host/crowd is no folder.")
    with pytest.raises(UnsupportedError, match="no folder"):
        allalike.load(tmp_path / "crowd.duckdb")


def test_no_option_tells_a_password_that_was_put_in_the_wrong_place(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("worker,task,label\nada,1,x\nbob,1,x\n")
    address = "postgresql://ada:sesame@127.0.0.1:1/crowd"
    for option in ("--gold", "--gold-map", "--label-map", "--history", "--block-list", "--folder", "-o"):
        done = call("discover", "a.csv", option, address, "--force", "--no-report", folder=tmp_path)
        assert done.returncode == 2, option
        assert "sesame" not in done.stderr + done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_lists_are_json_in_a_database(tmp_path: Path) -> None:
    rows = [("ada", 1, ["a", "b"]), ("bob", 1, ["a", "b"]), ("eve", 1, ["b", "a"])]
    allalike.discover(rows, domain="ranking").save(tmp_path / "new.sqlite")
    assert run_all(f"sqlite:///{tmp_path}/new.sqlite", ["SELECT label FROM truth"])[0][0].startswith(("[", "a"))
