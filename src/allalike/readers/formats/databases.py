"""Connect to databases by ADBC, and stream the rows of a table or query into a temporary file."""

from __future__ import annotations

import re
import shlex
from contextlib import contextmanager
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.registry import did_you_mean
from allalike._core.system.addresses import Address, reaching
from allalike._core.system.progress import report
from allalike.errors import InputError
from allalike.readers.formats.arrow_streams import spool_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.readers.formats.spooled import Spooled

_READING = {  # so that nothing is written, and rows come in the same order each time
    "postgresql": ("SET synchronize_seqscans = off", "SET TRANSACTION READ ONLY"),
    "sqlite": ("PRAGMA trusted_schema = OFF",),  # so that views call no function with side effects
    "duckdb": ("SET lock_configuration = true",),
}
_QUOTED = re.compile(  # comments, and texts and names in quotes
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\w*)\$.*?\$\1\$", re.DOTALL
)
_RECOVERY = "PRAGMA schema_version; PRAGMA wal_checkpoint(TRUNCATE)"
_LISTS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
    "": "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()",
}


@contextmanager
def connected(address: Address) -> Iterator[Any]:
    """Connect to a database, read-only, in a transaction; its failures are one line without secrets.

    SQLite opens the file alone: a journal beside it may name files, which SQLite would remove. DuckDB opens no other
    file either, which the views of a stranger's file may name.
    """
    if address.scheme in ("sqlite", "duckdb") and not address.file:
        raise InputError(f"{address} names no file. Write {address.scheme}:///crowd.db.")
    with reaching(address):
        before = _check_recovery(address)
        with _connect(address) as connection:
            yield connection
        if _check_recovery(address) != before:
            raise InputError(
                f"{address} was changed while it was read. Run the command again when no program writes to it."
            )


def _connect(address: Address) -> Any:
    kind = address.scheme if address.file else "postgresql"
    if kind == "duckdb":
        connection = import_module("adbc_driver_manager.dbapi").connect(
            driver=import_module("adbc_driver_duckdb").driver_path(),
            entrypoint="duckdb_adbc_init",
            db_kwargs={"path": address.file, "enable_external_access": "false", "access_mode": "READ_ONLY"},
        )
    else:
        alone = "mode=ro&immutable=1"  # which never looks at a journal
        place = f"{Path(address.file).absolute().as_uri()}?{alone}" if address.file else address[:]
        connection = import_module(f"adbc_driver_{kind}.dbapi").connect(place)
    for setting in _READING[kind]:
        run_statement(connection, setting)
    return connection


def _check_recovery(address: Address) -> tuple[int, int] | None:
    """Refuse a file of SQLite that needs recovery, and return the time and size of any file that is read."""
    if not address.file:
        return None
    path = Path(address.file).resolve()  # beside which SQLite looks for the journal
    journal, log = Path(f"{path}-journal"), Path(f"{path}-wal")
    left = journal if _holds_changes(journal) else log
    if address.scheme == "sqlite" and _holds_changes(left):
        names = " Recovery can remove other files, which a journal names." if left == journal else ""
        command = shlex.join(["sqlite3", address.file, _RECOVERY])
        raise InputError(
            f"{address} needs recovery: {left.name} beside it holds changes of a program that was killed or still"
            f" writes.{names} If you trust both files, run: {command}. Otherwise remove {left.name}."
        )
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _holds_changes(path: Path) -> bool:
    """Return whether a journal or log is in use: SQLite empties one, or writes zeros at its start, when it is done."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(1) not in (b"", b"\0")


def run_statement(connection: Any, statement: str) -> list[Any]:
    """Run a statement, and return its rows, if it has any."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def spool_rows(address: Address, query: str | None = None, table: str | None = None) -> Spooled:
    """Write the rows of a table or a query into a temporary file; without either, those of the only table."""
    report("reading")
    where = str(address)
    with connected(address) as connection, connection.cursor() as cursor:
        if query is None:
            listed = run_statement(connection, _LISTS.get(address.scheme, _LISTS[""]))
            known = sorted(str(name) for (name,) in listed)
            table = _find_table(known, table, address)
            where = f"{address} ({table})"
            parts = [table] if table in known else table.split(".")  # the schema and the table
            quoted = ".".join('"{}"'.format(part.replace('"', '""')) for part in parts)
            query = f"SELECT * FROM {quoted}"  # nosec B608
        else:
            query = _nest_query(query, address)
        cursor.execute(query)
        return spool_batches(cursor.fetch_record_batch(), where)


def _nest_query(query: str, address: Address) -> str:
    r"""Return a query as a subquery, where only a SELECT is allowed; refuse what would end the subquery.

    >>> _nest_query("SELECT 1 AS n; -- one", Address("sqlite:///crowd.db"))
    'SELECT * FROM (\nSELECT 1 AS n\n) AS answers'
    >>> _nest_query("COPY answers TO PROGRAM 'mail'", Address("postgresql://host/crowd"))
    Traceback (most recent call last):
    allalike.errors.InputError: The query of postgresql://host/crowd is not a single SELECT, and no other statement is
    run. Write one, such as query='SELECT worker, task, label FROM answers'.
    """
    bare = _QUOTED.sub(lambda part: (" " if part[0][:2] in ("--", "/*") else "x") * len(part[0]), query)
    bare = bare.rstrip("; \t\r\n")
    depths = accumulate({"(": 1, ")": -1}.get(character, 0) for character in bare)
    if not re.match(r"[\s(]*(select|with)\b", bare, re.IGNORECASE) or ";" in bare or min(depths) < 0:
        example = "SELECT worker, task, label FROM answers"
        raise InputError(
            f"The query of {address} is not a single SELECT, and no other statement is run. Write one, such as"
            f" query={example!r}."
        )
    return f"SELECT * FROM (\n{query[: len(bare)]}\n) AS answers"  # nosec B608 # which the connection only reads


def _find_table(known: list[str], table: str | None, address: Address) -> str:
    """Return the table that is named, or the only one."""
    if table in known or (table and "." in table):
        return table
    if not table and len(known) == 1:
        return known[0]
    if not known:
        raise InputError(f"{address} has no tables.")
    listed = f"It has: {', '.join(map(repr, known[:10]))}{' and more' if len(known) > 10 else ''}."
    if table:
        raise InputError(f"{address} has no table {table!r}.{did_you_mean(table, known)} {listed}")
    raise InputError(
        f"{address} has {len(known)} tables. Name that of the answers, such as table={known[0]!r}, or give a query=,"
        f" which may have known truths beside them. {listed}"
    )
