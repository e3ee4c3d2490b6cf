"""Recognise the format of a file by its first bytes, its ending and its content, in this order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from allalike.errors import InputError
from allalike.readers.formats.arrow import PARQUET_ENDINGS, open_arrow, open_parquet
from allalike.readers.formats.compression import check_archive, find_packing, inner_path, read_start
from allalike.readers.formats.encodings import decode_start, guess_encoding
from allalike.readers.formats.failures import guard, unreadable
from allalike.readers.formats.files import BOOKS, Files
from allalike.readers.formats.source import Source
from allalike.readers.formats.text import open_delimited

Opener = Callable[[Path, Files], Source]


def _open_late(module: str, name: str, *arguments: Any) -> Source:
    """Call a function of a module that is imported when it is first needed."""
    opened: Source = getattr(import_module(f"{__package__}.{module}"), name)(*arguments)
    return opened


def _open_unpacked(opener: Callable[[Path], Source], path: Path, _: Files) -> Source:
    """Open a file of a format that cannot be read from a compressed stream."""
    if packing := find_packing(path):
        raise InputError(f"{path} is packed ({packing}), but this format cannot be read so. Unpack it first.")
    return opener(path)


ENDINGS: dict[str, Opener] = {
    ".csv": lambda path, files: open_delimited(path, ",", files),
    **dict.fromkeys((".tsv", ".tab"), lambda path, files: open_delimited(path, "\t", files)),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), partial(_open_late, "json_files", "open_json")),
    **dict.fromkeys(PARQUET_ENDINGS, partial(_open_unpacked, open_parquet)),
    **dict.fromkeys((".feather", ".arrow"), partial(_open_unpacked, open_arrow)),
    **dict.fromkeys(BOOKS, partial(_open_late, "spreadsheets", "open_sheet")),
    **dict.fromkeys((".xls", ".ods"), partial(_open_late, "spreadsheets", "refuse_sheet")),
    **dict.fromkeys((".npz", ".npy"), partial(_open_late, "matrices", "refuse_matrix")),
    **dict.fromkeys((".soc", ".soi", ".toc", ".toi", ".cat"), partial(_open_late, "preflib", "open_votes")),
}
_BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x93NUMPY": ".npy", b"\xd0\xcf\x11\xe0": ".xls"}
_TEXT_BYTES = 1 << 16
_TEXT_ENDINGS = ("", ".txt", ".text", ".dat", ".data", ".asc", ".lst", ".out", ".log")  # whose content shows the format


def open_file(path: Path, files: Files) -> Source:
    """Open a file by the opener of its format."""
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    try:
        return _find_opener(path)(path, files)
    except OSError as error:
        raise unreadable(path, error) from error


def _find_opener(path: Path) -> Opener:
    start = guard(path, "a file", lambda: read_start(path, _TEXT_BYTES))
    ending = next((ending for mark, ending in _BEGINNINGS.items() if start.startswith(mark)), None)
    if start.startswith(b"PK\x03\x04"):  # an archive of a kind of its own, for others are unpacked by now
        if find_packing(path):
            raise InputError(f"{path} holds another archive, {inner_path(path).name}. Unpack it first.")
        ending = _book_ending(path)
    ending = ending or inner_path(path).suffix.lower()
    if ending in ENDINGS:
        return ENDINGS[ending]
    text = decode_start(start, guess_encoding(start), path).lstrip()
    if any(ord(char) < 32 and char not in "\t\r\n\f\v" for char in text[:1000]):
        raise InputError(f"{path} is no text, and of no format that is known. Known endings: {', '.join(ENDINGS)}.")
    if ending not in _TEXT_ENDINGS or text.startswith("<"):
        raise InputError(
            f"{path} is of no format that is known. If it is text with columns, or JSON, give it such an ending. Known"
            f" endings: {', '.join(ENDINGS)}."
        )
    return ENDINGS[".json"] if text.startswith(("[", "{")) else ENDINGS[".csv"]


def _book_ending(path: Path) -> str:
    names = check_archive(path)
    if "[Content_Types].xml" in names:
        return ".xlsx"
    return ".ods" if "mimetype" in names else ".npz"
