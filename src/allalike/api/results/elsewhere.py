"""Elsewhere: results that go to a database, all within one transaction, from a work folder where they are made."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa
from allalike._core.system.addresses import name_database, split_table
from allalike._core.system.claims import work_folder
from allalike._core.system.files import list_files
from allalike.errors import OutputError
from allalike.readers.formats.databases import connected, list_tables, quote, run_statement
from allalike.readers.formats.spooled import Spooled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allalike._core.system.addresses import Address

__all__ = ["DatabaseOutput", "find_read_tables"]

_MARK = "allalike_result"  # the table that lists those that allalike wrote
_SUMMARY = "summary.json"
_OVERWRITE = "Name another place for the output, or have it replaced with overwrite=True."


@dataclass(frozen=True, kw_only=True)
class DatabaseOutput:
    """The tables of a result in a database, replaced within one transaction.

    Parameters
    ----------
    address
        The database.
    prefix
        How the names of the tables begin, so that several results have room.
    read
        Tables that were read, which are never replaced, as `find_read_tables` names them.
    overwrite
        Whether tables may be replaced that allalike did not write.

    >>> from allalike._core.system.addresses import Address
    >>> DatabaseOutput(address=Address("duckdb://", "crowd.duckdb"), prefix="birds").name_table("truth.parquet")
    'birds_truth'
    """

    address: Address
    prefix: str = ""
    read: frozenset[tuple[str, str]] = frozenset()
    overwrite: bool = False
    format = "parquet"

    def name_table(self, file: str) -> str:
        """Return the table that a file becomes."""
        return f"{self.prefix}_{Path(file).stem}" if self.prefix else Path(file).stem

    def name_written(self, names: Iterable[str]) -> list[Path]:
        """Say where files went, as people see it."""
        return [Spooled.at(Path(name), f"{self._shown} ({self.name_table(name)})") for name in names]

    @property
    def _shown(self) -> str:
        return split_table(str(self.address))[0]

    def check(self, names: Iterable[str]) -> None:
        """Refuse to write tables that must not be, or a database that cannot be written to."""
        listed = list(names)
        self._check_files(listed)
        if self.address.file and not Path(self.address.file).exists():
            if not Path(self.address.file).absolute().parent.is_dir():
                raise OutputError(f"There is no folder for {self.address}. Make it first.")
            return
        with connected(self.address, write=True, failure=OutputError) as connection:
            self._find_replaced(connection, map(self.name_table, listed))
            connection.rollback()

    @contextmanager
    def staged(self, names: Iterable[str] = ()) -> Iterator[Path]:
        """Give a folder to write to, whose tables are put into the database when all went well."""
        self.check(names)
        with work_folder() as folder:
            stage = folder / "new"
            stage.mkdir()
            yield stage
            new = bool(self.address.file) and not Path(self.address.file).exists()
            try:
                with connected(self.address, write=True, failure=OutputError) as connection:
                    self._write(connection, stage)
                    connection.commit()
            except BaseException:
                if new:
                    Path(self.address.file).unlink(missing_ok=True)
                raise

    def _check_files(self, names: list[str]) -> None:
        beside = [name for name in names if Path(name).suffix != ".parquet" and name != _SUMMARY]
        if beside:
            raise OutputError(f"{beside[0]} is a file, and {self._shown} holds tables only. Name a folder for it.")

    def _find_replaced(self, connection: Any, names: Iterable[str]) -> list[str]:
        """Return which tables have to go for these, or refuse; the whole result of this prefix goes."""
        there = set(list_tables(connection, self.address))
        own = {name for result, name in _list_written(connection, there) if result == self.prefix and name in there}
        others = [name for name in names if name in there and name not in own]
        for name in [*own, *others]:
            if (_place(self.address), name) in self.read:
                raise OutputError(
                    f"The table {name!r} of {self._shown} is an input of this run, and an input is never replaced. Name"
                    " another place for the output."
                )
        if others and not self.overwrite:
            raise OutputError(
                f"{self._shown} has a table {others[0]!r} already, and allalike did not write it. {_OVERWRITE}"
            )
        return [*own, *others]

    def _write(self, connection: Any, stage: Path) -> None:
        files = sorted(path for path in stage.iterdir() if path.suffix == ".parquet")
        self._check_files([name for name in list_files(stage) if ".parquet/" not in name])
        tables = {self.name_table(path.name): partial(_read_rows, path) for path in files}
        summary = pa.table({"summary": [(stage / _SUMMARY).read_text(encoding="utf-8")]})
        tables[self.name_table(_SUMMARY)] = summary.to_reader
        for name in self._find_replaced(connection, tables):
            run_statement(connection, f"DROP TABLE {quote(name)}")
        for name, rows in tables.items():
            with connection.cursor() as cursor:
                cursor.adbc_ingest(name, rows(), mode="create")
        _mark(connection, self.address, self.prefix, tables)


def _list_written(connection: Any, there: Iterable[str]) -> list[Any]:
    """List the tables that allalike wrote, each with the result that it is of."""
    return run_statement(connection, "SELECT result, name FROM allalike_result") if _MARK in there else []


def _mark(connection: Any, address: Address, prefix: str, names: Iterable[str]) -> None:
    """List the tables of a result, beside those of others."""
    there = list_tables(connection, address)
    kept = [(result, name) for result, name in _list_written(connection, there) if result != prefix]
    rows = [{"result": result, "name": name} for result, name in [*kept, *((prefix, name) for name in names)]]
    with connection.cursor() as cursor:
        cursor.adbc_ingest(_MARK, pa.Table.from_pylist(rows), mode="replace" if _MARK in there else "create")


def _place(address: Address) -> str:
    return str(Path(address.file).absolute()) if address.file else split_table(str(address))[0]


def find_read_tables(sources: Iterable[str], table: str) -> frozenset[tuple[str, str]]:
    """Return the tables among sources, each with its database: those that they name, or else this one.

    >>> find_read_tables(["postgresql://ada@host/crowd", "gold.csv"], "answers")
    frozenset({('postgresql://ada@host/crowd', 'answers')})
    """
    found = filter(None, map(name_database, sources))
    return frozenset((_place(address), named or table) for address, named in found)


def _read_rows(path: Path) -> Any:
    """Return the rows of a table that was written, whole or in parts; lists and records are JSON in a database."""
    import pyarrow.dataset as pads

    parts = sorted(map(str, path.glob("*.parquet"))) if path.is_dir() else [str(path)]
    found = pads.dataset(parts, format="parquet")
    kinds = [pa.string() if pa.types.is_nested(each.type) else each.type for each in found.schema]
    schema = pa.schema(list(zip(found.schema.names, kinds, strict=True)))
    batches = (
        pa.record_batch([_flat(column) for column in batch.columns], schema=schema) for batch in found.to_batches()
    )
    return pa.RecordBatchReader.from_batches(schema, batches)


def _flat(column: Any) -> Any:
    if not pa.types.is_nested(column.type):
        return column
    rows = column.to_pylist()
    return pa.array([None if row is None else json.dumps(row, ensure_ascii=False, default=str) for row in rows])
