"""Databases are read in a stream, once, and nothing is written to them."""

import shlex
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import duckdb
import pandas as pd
import pytest

import allalike
from allalike._core.system.addresses import Address
from allalike.engines import Engine
from allalike.errors import InputError, OptionError, OutputError, UnsupportedError
from allalike.readers.formats.remote_files import connected, run_statement
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


def test_a_table_and_a_query_give_what_a_file_gives(database: str, engine: Engine, truths: list[str]) -> None:
    by_table = allalike.discover(database, table="answers", engine=engine)
    query = "SELECT label, task, worker, 1 AS more FROM answers WHERE label <> 'w' ORDER BY task;"
    by_query = allalike.discover(database, query=query, engine=engine)
    assert by_table.truth["label"].tolist() == by_query.truth["label"].tolist() == truths
    pd.testing.assert_frame_equal(by_table.workers, allalike.discover(ROWS, engine=engine).workers)


def test_known_truths_come_beside_the_answers_by_a_query(database: str) -> None:
    run_all(database, ["CREATE TABLE gold AS SELECT DISTINCT task, 'x' AS truth FROM answers WHERE task = 't0'"])
    query = "SELECT answers.*, truth FROM answers LEFT JOIN gold ON answers.task = gold.task"
    result = allalike.discover(database, query=query, gold="column:truth")
    assert result.summary["gold"]["tasks"] == 1


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def recover(message: object) -> None:
    """Run the command that a message names, as the program sqlite3 would."""
    _, path, statements = shlex.split(str(message).partition("run: ")[2].partition(". Otherwise")[0])
    held = sqlite3.connect(path)
    held.executescript(statements)
    held.close()


def write_journal(database: Path, named: Path) -> None:
    """Write a journal beside a SQLite file that names another file as its super-journal."""
    name, magic = str(named).encode(), bytes.fromhex("d9d505f920a163d7")
    head = magic + struct.pack(">5I", 0, 0, database.stat().st_size // 4096, 512, 4096)
    tail = struct.pack(">I", (1 << 30) // 4096 + 1) + name + struct.pack(">2I", len(name), sum(name)) + magic
    Path(f"{database}-journal").write_bytes(head.ljust(512, b"\0") + tail)


def test_a_journal_that_names_a_file_of_the_user_does_not_remove_it(tmp_path: Path, truths: list[str]) -> None:
    path, mine, link = tmp_path / "crowd.db", tmp_path / "thesis.txt", tmp_path / "link.db"
    run_all(f"sqlite:///{path}", list(MAKE))
    link.symlink_to(path)
    write_journal(path, mine)
    mine.write_text("my work")
    before = read_files(tmp_path)
    for words in (["crowd.db"], ["sqlite:///crowd.db"], ["link.db"], ["crowd.db", "--query", "SELECT * FROM answers"]):
        done = call("discover", *words, "-o", "out", folder=tmp_path)
        assert done.returncode == 2
        assert "needs recovery: crowd.db-journal" in done.stderr
    assert read_files(tmp_path) == before
    run_all(f"sqlite:///{path}", ["SELECT * FROM answers"])  # as it was read once
    assert not mine.exists()
    assert allalike.discover(path).truth["label"].tolist() == truths


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_sqlite_file_that_needs_recovery_is_refused_with_the_command(
    mode: str, tmp_path: Path, truths: list[str]
) -> None:
    path = tmp_path / "crowd ' 1.db"
    run_all(f"sqlite:///{path}", [f"PRAGMA journal_mode = {mode}", *MAKE])
    begun = (
        f"import os, sqlite3\nheld = sqlite3.connect({str(path)!r}, isolation_level=None)\n"
        "held.execute('PRAGMA cache_size = 1')\nheld.execute('BEGIN')\nheld.execute('DELETE FROM answers')\n"
        "held.execute('CREATE TABLE more (a)')\nheld.executemany('INSERT INTO more VALUES (?)', [('x' * 9000,)] * 99)\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", begun], check=True)
    before = read_files(tmp_path)
    assert len(before) > 1
    with pytest.raises(InputError, match="needs recovery") as raised:
        allalike.discover(path)
    assert read_files(tmp_path) == before
    recover(raised.value)
    assert allalike.discover(path).truth["label"].tolist() == truths


def test_a_sqlite_file_is_read_alone_and_not_while_it_changes(tmp_path: Path, truths: list[str]) -> None:
    path = tmp_path / "crowd.db"
    run_all(f"sqlite:///{path}", ["PRAGMA journal_mode = wal", *MAKE])
    before = read_files(tmp_path)
    assert allalike.discover(path).truth["label"].tolist() == truths
    assert read_files(tmp_path) == before
    with pytest.raises(InputError, match="was changed while it was read"), connected(Address(f"sqlite:///{path}")):
        run_all(f"sqlite:///{path}", ["PRAGMA journal_mode = delete", "INSERT INTO answers VALUES ('a', 'b', 'c')"])


def test_a_duckdb_file_and_its_log_are_read_and_not_changed(tmp_path: Path, truths: list[str]) -> None:
    path = tmp_path / "crowd.duckdb"
    begun = f"import duckdb, os\nheld = duckdb.connect({str(path)!r})\n"
    begun += f"for each in {MAKE!r}: held.execute(each)\nos._exit(0)"
    subprocess.run([sys.executable, "-c", begun], check=True)
    before = read_files(tmp_path)
    assert before.keys() == {"crowd.duckdb", "crowd.duckdb.wal"}
    assert allalike.discover(path).truth["label"].tolist() == truths
    assert read_files(tmp_path) == before


HOSTILE = (
    "DROP TABLE answers",
    "/* SELECT */ DELETE FROM answers",
    "-- SELECT\nDELETE FROM answers",
    "WITH gone AS (DELETE FROM answers RETURNING *) SELECT * FROM gone",
    "WITH gone AS (SELECT 1) DELETE FROM answers",
    "SELECT 1 AS n INTO made",
    "CREATE TABLE made AS SELECT 1 AS n",
    "COPY (SELECT 1) TO PROGRAM 'touch {made}'",
    "COPY (SELECT 1) TO '{made}'",
    "SELECT 1; COPY (SELECT 1) TO PROGRAM 'touch {made}'",
    "SELECT 1 AS n) AS one; COPY (SELECT 1) TO '{made}'; SELECT * FROM (SELECT 1 AS n",
    "SELECT 1 AS n) AS one UNION SELECT * FROM (SELECT 2",
    "ATTACH '{made}' AS made",
    "VACUUM INTO '{made}'",
    "EXPORT DATABASE '{made}'",
    "INSTALL httpfs",
    "PRAGMA journal_mode = wal",
    "SELECT load_extension('{made}')",
    "SELECT nextval('numbers')",
    "SELECT answer()",
    "SELECT * FROM read_csv('{crowd}')",
    "SELECT * FROM '{crowd}'",
    "SELECT * FROM query('COPY (SELECT 1) TO nothing')",
    "",
    "; -- nothing",
)


def test_a_query_that_reads_changes_nothing_and_opens_no_files(database: str, crowd: Path) -> None:
    if database.startswith("postgresql"):
        body = "INSERT INTO answers VALUES (''a'', ''b'', ''c'') RETURNING 1"
        run_all(database, ["CREATE SEQUENCE numbers", f"CREATE FUNCTION answer() RETURNS int LANGUAGE sql AS '{body}'"])
    folder = Path(tempfile.mkdtemp(prefix="made-"))  # where the user of the server may write, too
    folder.chmod(0o777)
    try:
        for query in HOSTILE:
            with pytest.raises(InputError):
                allalike.read(database, query=query.format(made=folder / "made", crowd=crowd.as_posix()))
        assert not list(folder.iterdir())
    finally:
        shutil.rmtree(folder)
    assert run_all(database, ["SELECT count(*) FROM answers"]) == [(len(ROWS),)]
    if database.startswith("postgresql"):
        assert run_all(database, ["SELECT nextval('numbers')"]) == [(1,)]
    if database.startswith("duckdb"):
        run_all(database, [f"CREATE VIEW spy AS SELECT * FROM read_csv('{crowd.as_posix()}')"])
        with pytest.raises(InputError, match="disabled by configuration"):
            allalike.read(database, table="spy")


def test_a_connection_that_reads_runs_no_other_statement_either(database: str, crowd: Path) -> None:
    refused = {
        "sqlite": ["SELECT load_extension('x')"],
        "duckdb": ["SET threads = 1", "SET enable_external_access = true", f"SELECT * FROM '{crowd}'"],
        "postgresql": ["SET TRANSACTION READ WRITE"],
    }
    for statement in ("DELETE FROM answers", "CREATE TABLE made (n INT)", *refused[database.partition(":")[0]]):
        with pytest.raises(InputError), connected(Address(database)) as connection:
            [run_statement(connection, each) for each in ("SELECT count(*) FROM answers", statement)]


@pytest.mark.parametrize(
    "query",
    [
        "(SELECT worker, task, label FROM answers)",
        "WITH told AS (SELECT * FROM answers) SELECT * FROM told; -- all; of them",
        "SELECT worker, task, label, ';)' AS \"a;)\" FROM answers /* ; ) */ WHERE label <> ')'\n;\n",
        "select * from answers order by worker, task",
    ],
)
def test_a_query_may_have_comments_texts_and_a_semicolon_at_its_end(database: str, query: str) -> None:
    assert allalike.read(database, query=query).n_answers == len(ROWS)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({}, "has 2 tables. Name the table of answers, such as table='answers'"),
        ({"table": "answer"}, "has no table 'answer'. Did you mean 'answers'?"),
        ({"query": "SELECT FROM WHERE"}, " reports: "),
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
    assert done.stderr == "allalike: sqlite:// does not name a file. Write sqlite:///crowd.db.\n"


def test_a_result_is_not_loaded_from_an_address(tmp_path: Path) -> None:
    address = "postgresql://ada:sesame@host/crowd"
    for command in (["update", address, "a.csv"], ["plan", address], ["explain", address, "task", "t1"]):
        done = call(*command, folder=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("allalike: postgresql://ada@host/crowd is not a local folder.")
    with pytest.raises(UnsupportedError, match="not a local folder"):
        allalike.load(tmp_path / "crowd.duckdb")


def test_no_option_tells_a_password_that_was_put_in_the_wrong_place(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("worker,task,label\nada,1,x\nbob,1,x\n")
    address = "postgresql://ada:sesame@127.0.0.1:1/crowd"
    for option in ("--gold", "--gold-map", "--label-map", "--history", "--block-list", "--work-dir", "-o"):
        done = call("discover", "a.csv", option, address, "--force", "--no-report", folder=tmp_path)
        assert done.returncode == 2, option
        assert "sesame" not in done.stderr + done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("output", ["crowd.db", "new.duckdb", "sqlite:///new.db", "postgresql://ada:sesame@host/crowd"])
def test_a_database_is_refused_as_output_with_a_remedy(output: str, tmp_path: Path) -> None:
    run_all(f"sqlite:///{tmp_path / 'crowd.db'}", list(MAKE))
    before = read_files(tmp_path)
    done = call("discover", "crowd.db", "-o", output, "--overwrite", folder=tmp_path)
    assert done.returncode == 2
    assert "database" in done.stderr
    assert "folder" in done.stderr
    assert "CSV" in done.stderr
    assert "sesame" not in done.stderr
    with pytest.raises(OutputError, match="folder"):
        allalike.discover(ROWS).save(output)
    assert read_files(tmp_path) == before


def test_a_query_is_refused_for_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("worker,task,label\n")
    with pytest.raises(OptionError, match="query= is for databases, and .*answers.csv is not a database"):
        allalike.read(tmp_path / "answers.csv", query="SELECT 1")
