"""Sources that Spark reads itself: data frames, tables, and remote files of text or Parquet.

The driver reads all other sources, including local files.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from allalike._core.columns.column import Column
from allalike._core.lazy_imports import pa
from allalike._core.system.addresses import find_address
from allalike.engines.routing import ROLES
from allalike.engines.spark.session import find_reason, find_session
from allalike.engines.spark.shuffle import SparkSource
from allalike.errors import InputError, UnsupportedError
from allalike.readers.formats.compression import ENDINGS as PACKED_ENDINGS
from allalike.readers.formats.files import ENDINGS
from allalike.readers.formats.read_errors import check_names
from allalike.readers.formats.source import Source
from allalike.readers.reshaping.comparisons import (
    ALL,
    BALLOTS,
    ELECTION,
    LABEL,
    TASK,
    Columns,
    find_columns,
    write_comparisons,
)
from allalike.readers.reshaping.parts import find_parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from allalike.readers import Scan

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".parquet": "", ".pq": ""}
_TOOL_ENDINGS = (".soi", ".toc", ".toi", ".cat", ".xml", ".ann")
_MAKE_IT_LONG = "Make one row per answer, for example with unpivot."


def find_source(source: Scan, session: Any, master: str | None) -> SparkSource | None:
    """Return the source if Spark can read it, or None if the driver must read it."""
    given = source.source
    if source.domain is not None and source.domain.pictures and source.domain.pictures.splits:
        return None
    start = partial(find_session, session, master)
    if type(given).__module__.startswith("pyspark."):
        return _open_given(source, given)
    names = given if isinstance(given, list | tuple) else [given]
    if not names or not all(isinstance(name, str | os.PathLike) for name in names):
        return None
    paths = list(map(os.fspath, names))
    if source.query or source.table or any(address.is_database for address in map(find_address, paths) if address):
        return None  # the driver reads databases
    remote = any("://" in path for path in paths)
    if not remote and not (len(paths) == 1 and _may_be_table(paths[0])):
        return None  # the driver reads local files
    if source.wide is not None:
        raise UnsupportedError(f"There is no file {paths[0]}, and Spark cannot read wide tables. {_MAKE_IT_LONG}")
    return _open_uris(source, start(), paths) if remote else _open_table(source, start(), paths[0])


def _may_be_table(name: str) -> bool:
    plain = re.fullmatch(r"(?:\w+|`[^`]+`)(?:\.(?:\w+|`[^`]+`)){0,2}", name)
    return (
        plain is not None
        and not Path(name).exists()
        and Path(name).suffix.lower() not in (*ENDINGS, *PACKED_ENDINGS, *_TOOL_ENDINGS)
    )


def _open_given(source: Scan, given: Any) -> SparkSource:
    """Open a data frame in its session."""
    from pyspark.sql.classic.dataframe import DataFrame

    if not isinstance(given, DataFrame):
        raise UnsupportedError(
            f"The Spark engine cannot read {type(given).__module__}.{type(given).__name__}. Use a data frame of a"
            " SparkSession, not of Spark Connect."
        )
    if source.wide is not None:
        raise UnsupportedError(f"A wide Spark data frame cannot be read. {_MAKE_IT_LONG}")
    find_session(given.sparkSession, None)
    return _open_frame(source, given, "The data frame")


def _open_frame(source: Scan, frame: DataFrame, where: str, *, text: bool = False) -> SparkSource:
    if frame.isStreaming:
        raise UnsupportedError(f"{where} is a stream, which has no end. Write it to a file first, and read the file.")
    names = frame.columns
    check_names(names, where)
    if source.has_fields(names, where):
        raise UnsupportedError(f"{where} has a column for each field. Combine them into one column: F.struct(...).")
    numbered = frame.toDF(*map(str, range(len(names))))  # by position, because Spark ignores case in names

    def sample(_: object, rows: int | None) -> dict[str, Any]:
        return dict(zip(names, numbered.limit(rows or 0).toArrow().columns, strict=True))

    table = source.compared(Source(names, sample, where, text=text))
    picked, guessed = source.pick(table)
    if find_parts(table, picked, source.duplicates, source.domain) is not None:
        raise UnsupportedError(
            f"{where} has several rows per answer. Combine them into a set, F.collect_set(...), or keep one with"
            " duplicates='first'."
        )
    compared = find_columns(names) if LABEL in table.names[len(names) :] else None
    rows = numbered.select(*_select_from(names, picked, compared))
    scan = source if len(table.names) == len(names) else replace(source, domain=source.kind(table))
    split = partial(_split, text=text, na=scan.list_na(written=text), compared=compared)
    return SparkSource(scan, rows, split, guessed)


def _split(batch: Any, text: bool, na: tuple[str, ...] | None, compared: Columns | None) -> dict[str, Column]:
    """Return the columns of a batch of a data frame; comparisons become texts, and times are in UTC."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    if compared is not None:  # rows are not numbered yet
        columns["label"] = write_comparisons(columns["label"].flatten(), compared, lambda _: "A row of the data frame")
    for role, data in columns.items():
        if pa.types.is_timestamp(data.type) and data.type.tz is not None:  # Spark's depends on a setting
            columns[role] = data.cast(pa.timestamp(data.type.unit, "UTC"))
    made = {role: Column(role, data, text=text) for role, data in columns.items()}
    made["label"].na = na
    return made


def _select_from(names: list[str], picked: dict[str, str], compared: Columns | None) -> list[Any]:
    """Return the columns of the roles by position; a comparison has three columns, and possibly a task."""
    from pyspark.sql import functions as sql

    def column(name: str) -> Any:
        made = {TASK: ALL} if compared else {} if BALLOTS in names else {BALLOTS: ELECTION}
        return sql.lit(made[name]) if name in made else sql.col(str(names.index(name)))

    if compared is None:
        return [column(picked[role]).alias(role) for role in ROLES]
    label = sql.struct(*(column(name).alias(part) for part, name in compared._asdict().items()))
    return [column(picked["worker"]).alias("worker"), column(picked["task"]).alias("task"), label.alias("label")]


def _open_table(source: Scan, session: SparkSession, name: str) -> SparkSource:
    from pyspark.errors import AnalysisException

    try:
        frame = session.table(name)
    except AnalysisException as error:
        raise InputError(f"There is no file {name}, and Spark has no table with this name.") from error
    return _open_frame(source, frame, f"The table {name}")


def _open_uris(source: Scan, session: SparkSession, paths: list[str]) -> SparkSource:
    """Open remote files with Spark."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    endings = {_ending(path) for path in paths}
    if None in endings or len(endings) > 1:
        raise InputError(f"Spark can read {', '.join(_DELIMITERS)} files, all of the same type, not {paths}.")
    delimiter = _DELIMITERS[str(endings.pop())]
    where = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    try:
        if not session.read.text(paths).inputFiles():
            raise InputError(f"There are no files in {paths}.")
        frame = _read_text(session, paths, delimiter) if delimiter else session.read.parquet(*paths)
        return _open_frame(source, frame, where, text=bool(delimiter))
    except (Py4JError, PySparkException) as error:
        why = find_reason(str(error)) if isinstance(error, Py4JError) else str(error).splitlines()[0]
        raise InputError(f"Spark cannot read {paths}: {why}") from error


def _read_text(session: SparkSession, paths: list[str], delimiter: str) -> DataFrame:
    """Read CSV text as Python's csv module does; Spark refuses rows of another length and different headers."""
    first = session.read.text(paths).inputFiles()[0]
    line = session.read.text(_escape(unquote(first)), lineSep="\n").head()
    header = "" if line is None else line[0]
    others = [mark for mark in ";\t" if delimiter == "," and "," not in header and mark in header]
    return session.read.option("columnPruning", "false").csv(
        paths,
        header=True,
        sep=others[0] if others else delimiter,
        quote='"',
        escape='"',
        multiLine=True,
        enforceSchema=False,
        mode="FAILFAST",
    )


def _ending(path: str) -> str | None:
    suffixes = [suffix.lower() for suffix in Path(path.rstrip("/")).suffixes if suffix.lower() != ".gz"]
    return suffixes[-1] if suffixes and suffixes[-1] in _DELIMITERS else None


def _escape(path: str) -> str:
    r"""Escape a path so that Spark does not read it as a pattern.

    >>> _escape("a[1].csv")
    'a\\[1\\].csv'
    """
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)
