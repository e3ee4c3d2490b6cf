"""Temporary files for streams, which can be read once, and for remote data."""

from __future__ import annotations

import os
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from allalike._core.late import pa
from allalike._core.system.files import work_folder
from allalike.readers.formats.failures import check_names

_BLANK = b"\xef\xbb\xbf \t\r\n"
_CHUNK = 1 << 20
_BATCH_BYTES = 1 << 24  # of which a file of Arrow is made, for databases hand over much fewer at a time


class SpoolFolder:
    """A temporary folder that exists as long as this object."""

    def __init__(self) -> None:
        stack = ExitStack()
        self.path = stack.enter_context(work_folder())
        process = os.getpid()
        weakref.finalize(self, lambda: stack.close() if os.getpid() == process else None)  # not in a forked copy


class Spooled(type(Path())):  # type: ignore[misc]
    """A temporary file that has another name in messages."""

    called = "the open file"
    within: SpoolFolder | None = None

    @classmethod
    def at(cls, path: Path, called: str, within: SpoolFolder | None = None) -> Spooled:
        """Name a file; the folder that it is ``within`` exists as long as this path."""
        made = cls(os.fspath(path))
        made.called, made.within = called, within
        return made

    def __str__(self) -> str:
        return self.called

    def __fspath__(self) -> str:
        return str(super().__str__())


def spool(stream: IO[Any], folder: Path, called: str) -> Spooled:
    """Write a stream into a file with the ending of JSON or CSV, whichever it looks like."""
    raw = folder / "input"
    with raw.open("wb") as file:
        while part := stream.read(_CHUNK):
            file.write(part.encode() if isinstance(part, str) else part)
    with raw.open("rb") as file:
        start = file.read(1 << 16).lstrip(_BLANK)
    named = raw.with_suffix(".json" if start.startswith((b"[", b"{")) else ".csv")
    raw.rename(named)
    return Spooled.at(named, called)


def spool_open_file(stream: IO[Any]) -> Path:
    """Return the path of an open file of which nothing was read yet, or else a temporary file with the rest of it."""
    name = getattr(stream, "name", None)
    try:
        untouched = isinstance(name, str) and Path(name).is_file() and stream.tell() == 0
    except (OSError, ValueError):  # such as a text that is read line by line
        untouched = False
    if untouched:
        return Path(str(name))
    folder = SpoolFolder()
    return Spooled.at(spool(stream, folder.path, "the open file"), "the open file", folder)


def spool_batches(reader: Any, called: str) -> Spooled:
    """Write the batches of a reader into a file, which exists as long as the path."""
    check_names(reader.schema.names, called)
    schema = pa.schema([(each.name, _plain(pa.nulls(0, each.type)).type) for each in reader.schema])
    folder = SpoolFolder()
    path, waiting, size = folder.path / "input.arrow", [], 0
    with pa.ipc.new_file(os.fspath(path), schema) as writer:
        for batch in reader:
            waiting.append(pa.record_batch(list(map(_plain, batch.columns)), schema=schema))
            size += batch.nbytes
            if size >= _BATCH_BYTES:
                writer.write_table(pa.Table.from_batches(waiting).combine_chunks())
                waiting, size = [], 0
        writer.write_table(pa.Table.from_batches(waiting, schema).combine_chunks())
    return Spooled.at(path, called, folder)


def _plain(column: Any) -> Any:
    """Return a column without a dictionary, which may differ from batch to batch, and long numbers of a database."""
    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        return (values.cast(pa.string()) if pa.types.is_string_view(values.type) else values).take(column.indices)
    return column.storage.cast(pa.float64()) if getattr(column.type, "type_name", "") == "numeric" else column
