"""Sources: how Spark can read answers where they are, in data frames, tables, and files of text or Parquet.

Executors open files of text themselves where all machines see them under one path, and else get them from Spark in
lines; both are read as in memory. Small files of this machine, and all other kinds of answers, are not for the
executors: they are read here.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from allalike._core.system.addresses import find_address
from allalike.engines.spark.csv_files import TextFile, split_header
from allalike.engines.spark.inputs import FileInputs, FrameInputs
from allalike.engines.spark.rows import ROLES, Plan
from allalike.engines.spark.session import find_context, find_reason, find_session
from allalike.engines.spark.shuffle import SparkSource
from allalike.errors import InputError, UnsupportedError
from allalike.readers.column_names import pick_columns
from allalike.readers.formats.compression import ENDINGS as PACKED_ENDINGS
from allalike.readers.formats.endings import ENDINGS
from allalike.readers.formats.failures import check_names
from allalike.readers.formats.source import Source
from allalike.readers.reshaping.comparisons import ALL, BALLOTS, ELECTION, LABEL, TASK, Columns, find_columns
from allalike.readers.reshaping.rows import SET, has_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from allalike.readers import Scan

    Frame = Callable[[SparkSession], DataFrame]

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".parquet": "", ".pq": ""}
_TOOL_ENDINGS = (".soi", ".toc", ".toi", ".cat", ".xml", ".ann")
_MAKE_IT_LONG = "Make one row per answer, e.g. with unpivot."
_MAX_DRIVER_BYTES = 1 << 22  # of files of this machine, which the driver reads sooner than Spark begins


def find_source(source: Scan, session: Any, master: str | None) -> SparkSource | None:
    """Find out how Spark reads these answers; nothing if they are better read here."""
    given = source.source
    if source.domain is not None and source.domain.pictures and source.domain.pictures.splits:
        return None
    start, begin = partial(find_session, session, master), partial(find_context, session, master)
    if type(given).__module__.startswith("pyspark."):
        return _open_given(source, given)
    names = given if isinstance(given, list | tuple) else [given]
    if not names or not all(isinstance(name, str | os.PathLike) for name in names):
        return None
    paths = list(map(os.fspath, names))
    if (
        source.files.query
        or source.files.table
        or any(address.is_database for address in map(find_address, paths) if address)
    ):
        return None  # rows of a database are read here
    remote = any("://" in path for path in paths)
    if not remote and not (len(paths) == 1 and _may_be_table(paths[0])):
        return None if source.wide is not None else _open_local(source, start, begin, paths)
    if source.wide is not None:
        raise UnsupportedError(
            f"There is no file {paths[0]}, and what only Spark can read cannot be wide. {_MAKE_IT_LONG}"
        )
    return _open_uris(source, start(), paths) if remote else _open_table(source, start(), paths[0])


def _may_be_table(name: str) -> bool:
    plain = re.fullmatch(r"(?:\w+|`[^`]+`)(?:\.(?:\w+|`[^`]+`)){0,2}", name)
    return (
        plain is not None
        and not Path(name).exists()
        and Path(name).suffix.lower() not in (*ENDINGS, *PACKED_ENDINGS, *_TOOL_ENDINGS)
    )


def _open_given(source: Scan, given: Any) -> SparkSource:
    """Read a data frame in its own session."""
    from pyspark.sql.classic.dataframe import DataFrame

    if not isinstance(given, DataFrame):
        raise UnsupportedError(
            f"The Spark engine cannot read {type(given).__module__}.{type(given).__name__}. Give it a data frame of a"
            " SparkSession, and not one of Spark Connect."
        )
    if source.wide is not None:
        raise UnsupportedError(f"A wide Spark data frame cannot be read. {_MAKE_IT_LONG}")
    return _open_frame(source, find_session(given.sparkSession, None), lambda _: given, "The data frame")


def _open_frame(source: Scan, session: SparkSession, frame: Frame, where: str) -> SparkSource:
    if frame(session).isStreaming:
        raise UnsupportedError(f"{where} is a stream, which has no end. Write it down first, and read that.")
    names = frame(session).columns
    check_names(names, where)
    if source.has_fields(names, where):
        raise UnsupportedError(f"{where} has a column for each field. Make one column of them: F.struct(...).")

    def numbered(own: SparkSession) -> DataFrame:  # by their positions, for Spark may not distinguish names
        return frame(own).toDF(*map(str, range(len(names))))

    table = source.compared(_table_of(names, where, lambda: numbered(session)))
    picked, guessed = source.pick(table)
    if has_parts(table, picked, source.duplicates, source.domain):
        raise UnsupportedError(
            f"{where} has several rows for an answer. Make a set of them, F.collect_set(...), or keep one of them with"
            " duplicates='first'."
        )
    compared = find_columns(names) if LABEL in table.names[len(names) :] else None

    def rows(own: SparkSession) -> DataFrame:
        return numbered(own).select(*_select_from(names, picked, compared))

    scan = source if len(table.names) == len(names) else replace(source, domain=source.kind(table))
    return SparkSource(scan, FrameInputs(session, rows), Plan(1, compared=compared), guessed)


def _select_from(names: list[str], picked: dict[str, str], compared: Columns | None) -> list[Any]:
    """Return the columns of the roles, by their positions; a comparison is three columns, and perhaps of one task."""
    from pyspark.sql import functions as sql

    def column(name: str) -> Any:
        made = {TASK: ALL} if compared else {} if BALLOTS in names else {BALLOTS: ELECTION}
        return sql.lit(made[name]) if name in made else sql.col(str(names.index(name)))

    if compared is None:
        return [column(picked[role]).alias(role) for role in ROLES]
    label = sql.struct(*(column(name).alias(part) for part, name in compared._asdict().items()))
    return [column(picked["worker"]).alias("worker"), column(picked["task"]).alias("task"), label.alias("label")]


def _table_of(names: list[str], where: str, frame: Callable[[], DataFrame]) -> Source:
    """Return what tells the columns of a data frame apart: their names, and some rows where names are not enough."""

    def sample(_: object, rows: int | None) -> dict[str, Any]:
        table = frame().limit(rows or 0).toArrow()
        return dict(zip(names, table.columns, strict=True))

    return Source(names, sample, where)


def _open_table(source: Scan, session: SparkSession, name: str) -> SparkSource:
    from pyspark.errors import AnalysisException

    try:
        session.table(name)
    except AnalysisException as error:
        raise InputError(f"There is no file {name}, and Spark has no table of this name.") from error
    return _open_frame(source, session, lambda own: own.table(name), f"The table {name}")


def _open_local(
    source: Scan, start: Callable[[], SparkSession], begin: Callable[[], SparkContext], paths: list[str]
) -> SparkSource | None:
    """Read files of this machine, which all executors must see."""
    listed = [inner for path in paths for inner in _list_files(path)]
    if source.files.worker_from is not None:
        return None
    table = replace(source, source=listed).table()
    if source.has_fields(table.names, table.where):
        return None
    parts = table.parts or (table,)
    if (
        table.stream is None
        or len({part.text for part in parts}) > 1
        or any(part.text and not part.delimiter for part in parts)  # there is more to them than lines
        or sum(map(_count_bytes, parts)) <= _MAX_DRIVER_BYTES
    ):
        return None
    picked, guessed = source.pick(table)
    if has_parts(table, picked, source.duplicates, source.domain):
        return None
    source = source.suited(table)
    where = [os.path.abspath(part.where) for part in parts]  # noqa: PTH100
    found: SparkSource | None
    if table.text:
        files = {n: TextFile(n, part.where, part.names, part.delimiter, picked) for n, part in enumerate(parts)}
        found = SparkSource(source, FileInputs(begin(), where), Plan(1, files=files), guessed)
    else:
        found = _open_parquet(source, start(), where, picked, guessed)
    remarks = {"remarks": list(table.remarks)} if table.remarks else {}
    return found and replace(found, notes={"guessed": dict(table.guessed), **remarks})


def _open_parquet(
    source: Scan, session: SparkSession, where: list[str], picked: dict[str, str], guessed: dict[str, str]
) -> SparkSource | None:
    """Have Spark read Parquet files of this machine, unless it would read one once, or none of some kinds."""
    numbers = {path: number for number, path in enumerate(where)}
    paths = [f"file://{_escape(path)}" for path in numbers]
    schema = _schema(_column_types(session, paths, f"file://{where[0]}"), picked)
    if len(numbers) < len(where) or isinstance(schema, str):
        return None
    frame = partial(_load, paths=paths, schema=schema)
    uris = {uri: numbers[unquote(urlsplit(uri).path)] for uri in frame(session).inputFiles()}
    if len(uris) < len(numbers):  # Spark passes over files whose names begin with _ or .
        return None
    plan = Plan(1, file_numbers={_key(uri, len(uris)): number for uri, number in uris.items()})
    return _file_source(source, session, frame, plan, picked, guessed)


def _open_uris(source: Scan, session: SparkSession, paths: list[str]) -> SparkSource:
    """Read files wherever Spark finds them; those that are text must have the same columns."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    endings = {_ending(path) for path in paths}
    if None in endings or len(endings) > 1:
        raise InputError(f"Spark can read {', '.join(_DELIMITERS)} files, all of the same kind. These are {paths}.")
    try:
        return _open_remote(source, session, paths, _DELIMITERS[str(endings.pop())])
    except (Py4JError, PySparkException) as error:
        why = find_reason(str(error)) if isinstance(error, Py4JError) else str(error).splitlines()[0]
        raise InputError(f"Spark cannot read {paths}: {why}") from error


def _open_remote(source: Scan, session: SparkSession, paths: list[str], delimiter: str) -> SparkSource:
    uris = [uri for path in paths for uri in sorted(_load(session, [path]).inputFiles())]
    if not uris:
        raise InputError(f"There are no files in {paths}.")
    if delimiter:
        line = session.read.text(_escape(unquote(uris[0])), lineSep="\n").head()
        names = split_header("" if line is None else line[0], delimiter, uris[0])
        other = next((mark for mark in ";\t" if len(names) == 1 and delimiter == "," and mark in names[0]), None)
        if other:
            delimiter, names = other, split_header(names[0], other, uris[0])
    else:
        kinds = _column_types(session, paths, unquote(uris[0]))
        names = list(kinds)
    where = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    if source.duplicates == SET:
        raise UnsupportedError(f"Spark does not make sets of the rows of {where}. Read the files on this machine.")
    picked, guessed = pick_columns(names, source.columns, where)
    schema = None if delimiter else _schema(kinds, picked)
    if isinstance(schema, str):
        raise UnsupportedError(f"Spark cannot read the column {schema!r} of {uris[0]}. Give it another type or name.")
    keys = [_key(uri, len(uris)) for uri in uris]
    files = {
        key: TextFile(number, uri, names, delimiter, picked, unchecked=number > 0)
        for number, (key, uri) in enumerate(zip(keys, uris, strict=True))
    }
    plan = Plan(1, files=files) if delimiter else Plan(1, file_numbers={key: n for n, key in enumerate(keys)})
    return _file_source(source, session, partial(_load, paths=paths, schema=schema), plan, picked, guessed)


def _schema(kinds: dict[str, Any], picked: dict[str, str]) -> StructType | str:
    """Return the types of the picked columns alone, or the name of one that Spark cannot read or tell from another."""
    from pyspark.sql.types import StructField, StructType

    alike = Counter(["_metadata", *(name.lower() for name in kinds)])
    for name in picked.values():
        if kinds.get(name) is None or alike[name.lower()] > 1:
            return name
    return StructType([StructField(name, kinds[name]) for name in dict.fromkeys(picked.values())])


def _column_types(session: SparkSession, paths: list[str], first: str) -> dict[str, Any]:
    """Return the types of all columns of Parquet files, and nothing for those of which Spark does not know the type."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.types import StructType

    try:
        return {field.name: field.dataType for field in session.read.parquet(*paths).schema}
    except AnalysisException:  # because of one of them
        pass
    jvm: Any = session._jvm
    parquet = jvm.org.apache.parquet
    path = parquet.hadoop.util.HadoopInputFile.fromPath(
        jvm.org.apache.hadoop.fs.Path(first), session.sparkContext._jsc.hadoopConfiguration()
    )
    file = parquet.hadoop.ParquetFileReader.open(path)
    columns = file.getFileMetaData().getSchema().getFields()
    file.close()
    converter = jvm.org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter(
        session._jsparkSession.sessionState().conf()
    )
    kinds: dict[str, Any] = {}
    for column in columns:
        try:
            one = converter.convert(parquet.schema.MessageType("one", [column]))
            kind = StructType.fromJson(json.loads(one.json())).fields[0].dataType
        except AnalysisException:
            kind = None
        kinds[column.getName()] = None if kind is None or kind.typeName() == "time" else kind
    return kinds


def _file_source(
    source: Scan,
    session: SparkSession,
    frame: Frame,
    plan: Plan,
    picked: dict[str, str],
    guessed: dict[str, str],
) -> SparkSource:
    from pyspark.sql import functions as sql

    n_files = len(plan.files) + len(plan.file_numbers)
    split = [_hashed_path(n_files).alias("file"), sql.col("_metadata.file_block_start").alias("block")]

    def rows(own: SparkSession) -> DataFrame:
        return frame(own).select(*([sql.col("value")] if plan.text else _select_roles(picked)), *split)

    return SparkSource(source, FrameInputs(session, rows), plan, guessed)


def _load(session: SparkSession, paths: list[str], schema: StructType | None = None) -> DataFrame:
    """Read lines, or columns of Parquet."""
    return session.read.text(paths, lineSep="\n") if schema is None else session.read.schema(schema).parquet(*paths)


def _select_roles(picked: dict[str, str]) -> list[Any]:
    from pyspark.sql import functions as sql

    return [sql.col("`{}`".format(picked[role].replace("`", "``"))).alias(role) for role in ROLES]


def _hashed_path(n_files: int) -> Any:
    """Return the hash of a file's path as a column: paths would take more bytes in every row."""
    from pyspark.sql import functions as sql

    if n_files == 1:
        return sql.lit(0).cast("long")
    path = sql.col("_metadata.file_path")
    return sql.shiftleft(sql.crc32(path), 31).bitwiseXOR(sql.crc32(sql.reverse(path)))


def _key(uri: str, n_files: int) -> int:
    """Return the same hash as `_hashed_path`."""
    if n_files == 1:
        return 0
    path = re.sub("^file:/+", "file:/", uri)
    return (zlib.crc32(path.encode()) << 31) ^ zlib.crc32(path[::-1].encode())


def _ending(path: str) -> str | None:
    suffixes = [suffix.lower() for suffix in Path(path.rstrip("/")).suffixes if suffix.lower() != ".gz"]
    return suffixes[-1] if suffixes and suffixes[-1] in _DELIMITERS else None


def _list_files(path: str) -> list[str]:
    """Return the files of a folder into which Spark has written, or else the path."""
    folder = Path(path)
    if not folder.is_dir() or _ending(path) is None:
        return [path]
    inside = sorted(str(file) for file in folder.iterdir() if file.is_file() and file.name[0] not in "._")
    return inside or [path]


def _count_bytes(part: Any) -> int:
    return Path(part.where).stat().st_size


def _escape(path: str) -> str:
    r"""Return a path that is no pattern for Spark.

    >>> _escape("a[1].csv")
    'a\\[1\\].csv'
    """
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)
