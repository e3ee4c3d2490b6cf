"""Elsewhere: results that go to a database, all within one transaction, from a work folder where they are made."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as pads

from allalike._core.late import pa
from allalike._core.system.claims import work_folder
from allalike._core.system.files import list_files
from allalike.errors import OutputError
from allalike.readers.formats.databases import connected, list_tables, quote, run_statement
from allalike.readers.formats.spooled import Spooled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from allalike._core.system.addresses import Address

__all__ = ["DatabaseOutput"]

_SUMMARY = "summary.json"


@dataclass(frozen=True, kw_only=True)
class DatabaseOutput:
    """The tables of a result in a database, replaced within one transaction.

    Parameters
    ----------
    address
        The database.
    find_own
        Lists the files of an earlier result by its summary, if it is one.
    overwrite
        Whether other tables may be replaced, too.
    read
        The table that answers come from, which stays in any case, as all others do if it is ``""`` and may be any.

    >>> from allalike._core.system.addresses import Address
    >>> output = DatabaseOutput(address=Address("postgresql://host/crowd"), find_own=list)
    >>> print(*output.name_written(["truth.parquet"]))
    postgresql://host/crowd (truth)
    """

    address: Address
    find_own: Callable[[str], list[str]]
    overwrite: bool = False
    read: str | None = None
    format = "parquet"

    def name_written(self, names: Iterable[str]) -> list[Path]:
        """Say where files went, as people see it."""
        return [Spooled.at(Path(name), f"{self.address} ({Path(name).stem})") for name in names]

    def check(self, names: Iterable[str]) -> None:
        """Refuse to write tables that must not be, or a database that cannot be written to."""
        listed = list(names)
        self._check_files(listed)
        if self._is_new:
            if not Path(self.address.file).absolute().parent.is_dir():
                raise OutputError(f"There is no folder for {self.address}. Make it first.")
            return
        with connected(self.address, write=True, failure=OutputError) as connection:
            self._find_replaced(connection, [Path(name).stem for name in listed])
            connection.rollback()

    @contextmanager
    def staged(self, names: Iterable[str] = ()) -> Iterator[Path]:
        """Give a folder to write to, whose tables are put into the database when all went well."""
        self.check(names)
        with work_folder() as folder:
            stage = folder / "new"
            stage.mkdir()
            yield stage
            new = self._is_new
            try:
                with connected(self.address, write=True, failure=OutputError) as connection:
                    self._write(connection, stage)
                    connection.commit()
            except BaseException:
                if new:
                    Path(self.address.file).unlink(missing_ok=True)
                raise

    @property
    def _is_new(self) -> bool:
        return bool(self.address.file) and not Path(self.address.file).exists()

    def _check_files(self, names: list[str]) -> None:
        beside = [name for name in names if ".parquet" not in name and name != _SUMMARY]
        if beside:
            raise OutputError(f"{beside[0]} is a file, and {self.address} holds tables only. Name a folder for it.")

    def _find_replaced(self, connection: Any, names: Iterable[str]) -> list[str]:
        """Return which tables have to go for these, or refuse; an earlier result goes as a whole."""
        there = list_tables(connection, self.address)
        rows = run_statement(connection, "SELECT * FROM summary LIMIT 2") if "summary" in there else []
        listed = self.find_own(rows[0][0]) if len(rows) == 1 and len(rows[0]) == 1 else []
        own = {Path(PurePosixPath(name).parts[0]).stem for name in listed}
        others = [name for name in names if name in there and name not in own]
        if inputs := [name for name in others if self.read in ("", name)]:
            raise OutputError(
                f"{self.address} has a table {inputs[0]!r}, which answers may come from, and which is never replaced."
                " Name another place for the output."
            )
        if others and not self.overwrite:
            raise OutputError(
                f"{self.address} has a table {others[0]!r} already, and allalike did not write it. Name another place"
                " for the output, or have it replaced with overwrite=True."
            )
        return [name for name in there if name in own or name in names]

    def _write(self, connection: Any, stage: Path) -> None:
        self._check_files(list_files(stage))
        tables = {  # written whole, or in parts
            path.stem: pads.dataset(sorted(map(str, path.glob("*.parquet"))) or str(path), format="parquet")
            for path in stage.glob("*.parquet")
        }
        summary = (stage / _SUMMARY).read_text(encoding="utf-8")
        tables["summary"] = pads.dataset(pa.table({"summary": [summary]}))
        for name in self._find_replaced(connection, tables):
            run_statement(connection, f"DROP TABLE {quote(name)}")
        for name, rows in tables.items():
            with connection.cursor() as cursor:
                if cursor.adbc_ingest(name, _read_rows(rows), mode="create") != rows.count_rows():
                    raise OutputError(f"{self.address} did not take all rows of {name!r}. Try it again.")


def _read_rows(rows: pads.Dataset) -> Any:
    """Return a reader of rows; lists and records are JSON in a database."""
    kinds = [pa.string() if pa.types.is_nested(each.type) else each.type for each in rows.schema]
    schema = pa.schema(list(zip(rows.schema.names, kinds, strict=True)))
    batches = (pa.record_batch(list(map(_flat, batch.columns)), schema=schema) for batch in rows.to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def _flat(column: Any) -> Any:
    if not pa.types.is_nested(column.type):
        return column
    rows = column.to_pylist()
    return pa.array([None if row is None else json.dumps(row, ensure_ascii=False, default=str) for row in rows])
