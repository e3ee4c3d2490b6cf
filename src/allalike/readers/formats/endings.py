"""Recognise the format of a file by its first bytes, its ending and its content, in this order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from allalike.errors import InputError
from allalike.readers.formats.compression import check_archive, find_packing, inner_path, read_start
from allalike.readers.formats.delimited import open_delimited
from allalike.readers.formats.encodings import decode_start, find_encoding, guess_encoding
from allalike.readers.formats.failures import guard, unreadable
from allalike.readers.formats.files import BOOKS, Files
from allalike.readers.formats.frames import refuse_matrix
from allalike.readers.formats.parquet import PARQUET_ENDINGS, open_arrow, open_parquet
from allalike.readers.formats.tables import Table

Opener = Callable[[Path, Files], Table]


def _late(module: str, name: str) -> Callable[..., Table]:
    """Return a function of a module that is imported when it is first called."""
    return lambda *arguments: getattr(import_module(f"{__package__}.{module}"), name)(*arguments)


def _json(name: str) -> Opener:
    def open_encoded(path: Path, files: Files) -> Table:
        encoding = files.encoding or guard(path, "JSON", lambda: find_encoding(path))
        table = _late("json_files", name)(path, encoding)
        found = {} if files.encoding or encoding.startswith("utf-8") else {"encoding": encoding}
        return replace(table, guessed={**table.guessed, **found})

    return open_encoded


def _preflib(name: str) -> Opener:
    return lambda path, _: _late("preflib", name)(path)


def _unpacked(opener: Callable[[Path], Table]) -> Opener:
    """Return an opener for a format that cannot be read from a compressed stream."""

    def open_unpacked(path: Path, _: Files) -> Table:
        if packing := find_packing(path):
            raise InputError(f"{path} is packed ({packing}), but this format cannot be read so. Unpack it first.")
        return opener(path)

    return open_unpacked


ENDINGS: dict[str, Opener] = {
    ".csv": lambda path, files: open_delimited(path, ",", files),
    **dict.fromkeys((".tsv", ".tab"), lambda path, files: open_delimited(path, "\t", files)),
    **dict.fromkeys((".jsonl", ".ndjson"), _json("open_json_lines")),
    ".json": _json("open_json"),
    **dict.fromkeys(PARQUET_ENDINGS, _unpacked(open_parquet)),
    **dict.fromkeys((".feather", ".arrow"), _unpacked(open_arrow)),
    **dict.fromkeys(BOOKS, _late("spreadsheets", "open_sheet")),
    **dict.fromkeys((".xls", ".ods"), _late("spreadsheets", "refuse_sheet")),
    **dict.fromkeys((".npz", ".npy"), refuse_matrix),
    ".soc": _preflib("open_soc"),
    **dict.fromkeys((".soi", ".toc", ".toi"), _preflib("open_orders")),
    ".cat": _preflib("open_categories"),
}
_BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x93NUMPY": ".npy", b"\xd0\xcf\x11\xe0": ".xls"}
_TEXT_BYTES = 1 << 16
_TEXT_ENDINGS = ("", ".txt", ".text", ".dat", ".data", ".asc", ".lst", ".out", ".log")  # whose content tells the format


def open_file(path: Path, files: Files) -> Table:
    """Open a file by the opener of its format."""
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    try:
        return _find_opener(path)(path, files)
    except OSError as error:
        raise unreadable(path, error) from error


def _find_opener(path: Path) -> Opener:
    start = guard(path, "a file", lambda: read_start(path, _TEXT_BYTES))
    told = next((ending for mark, ending in _BEGINNINGS.items() if start.startswith(mark)), None)
    if start.startswith(b"PK\x03\x04"):  # an archive of a kind of its own, for others are unpacked by now
        if find_packing(path):
            raise InputError(f"{path} holds another archive, {inner_path(path).name}. Unpack it first.")
        told = _book_ending(path)
    ending = told or inner_path(path).suffix.lower()
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
