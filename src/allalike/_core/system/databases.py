"""Databases: connections by ADBC, which hands over Arrow in batches, and takes it within one transaction."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.system.addresses import Address, find_scheme, split_table
from allalike.errors import AllalikeError, InputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["connected", "list_tables", "quote", "run_statement"]

_LISTS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
    "": "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()",
}
_MOST_REASON = 300  # characters of what a database says


@contextmanager
def connected(address: Address, *, write: bool = False, failure: type[AllalikeError] = InputError) -> Iterator[Any]:
    """Connect to a database; what it refuses is an error in one line, without secrets.

    A query that only reads can change nothing, and with DuckDB not open other files either, which the views of a
    stranger's file may name. A transaction begins at once, and whoever writes ends it.

    >>> with connected(Address("sqlite:///nowhere.db", "nowhere.db")) as connection:
    ...     pass
    Traceback (most recent call last):
    allalike.errors.InputError: There is no file nowhere.db.
    """
    kind = {"postgres": "postgresql"}.get(find_scheme(address), find_scheme(address))
    if address.file and not write and not Path(address.file).exists():
        raise failure(f"There is no file {address}.")
    try:
        connection = _OPENERS[kind](address, write)
        with connection:
            yield connection
    except ImportError:
        raise UnsupportedError(
            f"{address} needs a driver of ADBC. Install it with: pip install 'allalike[sql]'."
        ) from None
    except AllalikeError:
        raise
    except Exception as error:  # of the drivers, and of Arrow while they read
        if not _is_theirs(error):
            raise
        raise failure(f"{address} cannot be {'written to' if write else 'read'}: {_reason(address, error)}.") from None


def _is_theirs(error: Exception) -> bool:
    return isinstance(error, OSError) or type(error).__module__.partition(".")[0] in ("adbc_driver_manager", "pyarrow")


def _reason(address: Address, error: Exception) -> str:
    """Return what a database said, in a line, and what to do where a column of SQLite has two types."""
    lines = [line.strip() for line in address.scrub(str(error)).splitlines() if line.strip()]
    said = next(iter(lines), type(error).__name__)[:_MOST_REASON].rstrip(". ")
    cast = ". Columns have one type here: give a query with CAST(... AS TEXT)" if "Type mismatch" in said else ""
    return said.partition(": ")[2] + cast if said.partition(": ")[0].isupper() else said + cast


def _open_postgresql(address: Address, write: bool) -> Any:
    connection = import_module("adbc_driver_postgresql.dbapi").connect(split_table(address[:])[0])
    for setting in () if write else ("synchronize_seqscans = off", "TRANSACTION READ ONLY"):  # the same order each time
        run_statement(connection, f"SET {setting}")
    return connection


def _open_sqlite(address: Address, write: bool) -> Any:
    path = Path(address.file).absolute()
    return import_module("adbc_driver_sqlite.dbapi").connect(f"{path.as_uri()}?mode={'rwc' if write else 'ro'}")


def _open_duckdb(address: Address, write: bool) -> Any:
    options = {"path": address.file, "enable_external_access": "false"}
    return import_module("adbc_driver_manager.dbapi").connect(
        driver=import_module("adbc_driver_duckdb").driver_path(),
        entrypoint="duckdb_adbc_init",
        db_kwargs=options if write else {**options, "access_mode": "READ_ONLY"},
    )


_OPENERS: dict[str, Callable[[Address, bool], Any]] = {
    "postgresql": _open_postgresql,
    "sqlite": _open_sqlite,
    "duckdb": _open_duckdb,
}


def run_statement(connection: Any, statement: str) -> list[Any]:
    """Run a statement, and return its rows, if it has any.

    >>> with connected(Address("duckdb://", ":memory:"), write=True) as connection:
    ...     run_statement(connection, "SELECT 1 + 1"), list_tables(connection, Address("duckdb://"))
    ([(2,)], [])
    """
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def list_tables(connection: Any, address: Address) -> list[str]:
    """List the tables and views of a database, in order."""
    return sorted(str(name) for (name,) in run_statement(connection, _LISTS.get(find_scheme(address), _LISTS[""])))


def quote(name: str) -> str:
    """Write the name of a table so that any is one.

    >>> quote("my answers")
    '"my answers"'
    """
    return '"' + name.replace('"', '""') + '"'
