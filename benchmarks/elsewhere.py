"""Measure the disk engine on answers that come from a database, beside the same answers in a CSV file.

Peak memory with all processes must not grow with the rows, and truths and weights must be the same. PostgreSQL is
measured where an address is given: ``python benchmarks/elsewhere.py --postgresql postgresql://host/crowd``.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sqlite3
import tempfile
from pathlib import Path

import pyarrow.csv as pacsv

from crowd_file import write_crowd
from measuring import measure

PROGRAM = """
from allalike import Disk, discover
result = discover(path, table={table!r}, domain="categorical", engine=Disk(memory="500MB"))
result.save({out!r}, overwrite=True)
report(cpu=tree_cpu())
"""
SIZES = (1_000_000, 5_000_000)


def main() -> None:
    """Print a line for each source and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgresql", help="a database that may be written to")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    given = parser.parse_args()
    print("| source | answers | peak GB | CPU s | truths and weights |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for size in given.sizes:
            path = write_crowd(Path(folder, f"{size}.csv"), size)
            sources = [(str(path), None), (fill_sqlite(path), "answers")]
            if given.postgresql:
                sources.append((fill_postgresql(path, given.postgresql), "answers"))
            for source, table in sources:
                print(line(source, table, size, Path(folder)), flush=True)


def line(source: str, table: str | None, size: int, folder: Path) -> str:
    """Measure one source."""
    out = folder / "out"
    found = measure(PROGRAM.format(table=table, out=str(out)), source)
    same = hashlib.sha256(b"".join((out / name).read_bytes() for name in ("truth.csv", "workers.csv")))
    kind = source.partition("://")[0] if "://" in source else Path(source).suffix[1:]
    return f"| {kind} | {size:,} | {found.peak / 1e9:.2f} | {found.figures['cpu']:.0f} | {same.hexdigest()[:12]} |"


def fill_sqlite(path: Path) -> str:
    """Put a file into a table of SQLite."""
    made = path.with_suffix(".sqlite")
    with sqlite3.connect(made) as held, path.open(newline="", encoding="utf-8") as file:
        names = next(rows := csv.reader(file))
        held.execute(f"CREATE TABLE answers ({', '.join(f'{name} TEXT' for name in names)})")
        held.executemany(f"INSERT INTO answers VALUES ({', '.join('?' * len(names))})", rows)
    held.close()
    return str(made)


def fill_postgresql(path: Path, address: str) -> str:
    """Put a file into a table of PostgreSQL."""
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(address) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("answers", pacsv.open_csv(path), mode="replace")
        connection.commit()
    return address


if __name__ == "__main__":
    main()
