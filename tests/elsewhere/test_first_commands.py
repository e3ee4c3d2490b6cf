"""The first command for each place where answers lie, as the page on engines has it, finds what a file gives."""

import gzip
import re
import shlex
import sqlite3
from pathlib import Path

import adbc_driver_postgresql.dbapi
import duckdb
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from allalike._core.system.addresses import Address
from allalike.readers.formats.remote_files import find_system, run_statement
from running.elsewhere import CSV, ROWS
from running.program import call
from running.servers import Web

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "ENGINES.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Where answers lie")[2].partition("\n## ")[0]
COMMANDS = re.findall(r"^allalike (.+)$", SECTION, re.MULTILINE)


def find_command(start: str) -> list[str]:
    [found] = [command for command in COMMANDS if command.startswith(f"discover {start}")]
    return shlex.split(found)


def check(command: list[str], folder: Path, truths: list[str], **addresses: str) -> None:
    """Run a command of the page with addresses of this machine, in a folder with two databases and nothing else."""
    for written, real in addresses.items():
        command = [word.replace(written.replace("_", "://", 1), real) for word in command]
    with sqlite3.connect(folder / "crowd.db") as held:
        held.execute("CREATE TABLE answers (worker TEXT, task TEXT, label TEXT, round INT)")
        held.executemany("INSERT INTO answers VALUES (?, ?, ?, 2)", ROWS)
        held.execute("INSERT INTO answers VALUES ('ada', 't77', 'x', 1)")
    held.close()
    (folder / "answers.csv").write_text(CSV, encoding="utf-8")
    with duckdb.connect(folder / "crowd.duckdb") as made:
        made.execute(f"CREATE TABLE answers AS SELECT * FROM read_csv('{(folder / 'answers.csv').as_posix()}')")
    done = call(*command, "--no-report", "--quiet", folder=folder)
    assert done.returncode == 0, done.stderr
    assert pacsv.read_csv(folder / "allalike-out" / "truth.csv")["label"].to_pylist() == truths


def test_every_first_command_is_tried_here() -> None:
    starts = ("s3://", "'https://", "postgresql://", "sqlite://", "crowd.duckdb")
    assert len(COMMANDS) == len(starts)
    assert all(map(find_command, starts))


def test_the_command_for_s3(store: str, tmp_path: Path, crowd: Path, truths: list[str]) -> None:
    system, path = find_system(Address("s3://bucket/answers.parquet"))
    pq.write_table(pacsv.read_csv(crowd), tmp_path / "a.parquet")
    system.put_file(str(tmp_path / "a.parquet"), path)
    check(find_command("s3://"), tmp_path, truths)


def test_the_command_for_the_web(web: Web, tmp_path: Path, truths: list[str]) -> None:
    web.files["/answers/answers.csv.gz"] = gzip.compress(CSV.encode())
    check(find_command("'https://"), tmp_path, truths, **{"https_example.org": web.address})


def test_the_command_for_postgresql(postgres: str, tmp_path: Path, crowd: Path, truths: list[str]) -> None:
    with adbc_driver_postgresql.dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        run_statement(connection, "DROP TABLE IF EXISTS answers")
        cursor.adbc_ingest("answers", pacsv.read_csv(crowd), mode="create")
        connection.commit()
    check(find_command("postgresql://"), tmp_path, truths, **{"postgresql_host/crowd": postgres})
    assert "sesame" not in (tmp_path / "allalike-out" / "summary.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("start", ["sqlite://", "crowd.duckdb"])
def test_the_commands_for_databases_that_are_files(start: str, tmp_path: Path, truths: list[str]) -> None:
    check(find_command(start), tmp_path, truths)
