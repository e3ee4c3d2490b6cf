"""Recognise the format of a file by its first bytes, its ending and its content, in this order."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from allalike.errors import InputError
from allalike.readers.formats.compression import check_archive, find_packing, inner_path, read_start
from allalike.readers.formats.encodings import decode_start, guess_encoding
from allalike.readers.formats.failures import guard, unreadable
from allalike.readers.formats.files import BOOKS, Files

if TYPE_CHECKING:
    from pathlib import Path

    from allalike.readers.formats.source import Source

# The function that opens each format, given a path and options; its module is imported when it is first needed.
ENDINGS = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), "text.open_delimited"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json_files.open_json"),
    **dict.fromkeys((".parquet", ".pq"), "arrow.open_parquet"),
    **dict.fromkeys((".feather", ".arrow"), "arrow.open_arrow"),
    **dict.fromkeys(BOOKS, "spreadsheets.open_sheet"),
    **dict.fromkeys((".xls", ".ods"), "spreadsheets.refuse_sheet"),
    **dict.fromkeys((".npz", ".npy"), "frames.refuse_matrix"),
    **dict.fromkeys((".soc", ".soi", ".toc", ".toi", ".cat"), "preflib.open_votes"),
}
_BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x93NUMPY": ".npy", b"\xd0\xcf\x11\xe0": ".xls"}
_TEXT_BYTES = 1 << 16
_TEXT_ENDINGS = ("", ".txt", ".text", ".dat", ".data", ".asc", ".lst", ".out", ".log")  # whose content shows the format


def open_file(path: Path, files: Files) -> Source:
    """Open a file by the opener of its format."""
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    try:
        module, name = ENDINGS[_find_ending(path)].split(".")
        if module == "arrow" and (packing := find_packing(path)):
            raise InputError(f"{path} is packed ({packing}), but this format cannot be read so. Unpack it first.")
        opened: Source = getattr(import_module(f"{__package__}.{module}"), name)(path, files)
    except OSError as error:
        raise unreadable(path, error) from error
    return opened


def _find_ending(path: Path) -> str:
    """Return the ending of a file's format, whatever the file is called."""
    start = guard(path, "a file", lambda: read_start(path, _TEXT_BYTES))
    ending = next((ending for mark, ending in _BEGINNINGS.items() if start.startswith(mark)), None)
    if start.startswith(b"PK\x03\x04"):  # an archive of a kind of its own, for others are unpacked by now
        if find_packing(path):
            raise InputError(f"{path} holds another archive, {inner_path(path).name}. Unpack it first.")
        names = check_archive(path)
        ending = ".xlsx" if "[Content_Types].xml" in names else ".ods" if "mimetype" in names else ".npz"
    ending = ending or inner_path(path).suffix.lower()
    if ending in ENDINGS:
        return ending
    text = decode_start(start, guess_encoding(start), path).lstrip()
    if any(ord(char) < 32 and char not in "\t\r\n\f\v" for char in text[:1000]):
        raise InputError(f"{path} is no text, and of no format that is known. Known endings: {', '.join(ENDINGS)}.")
    if ending not in _TEXT_ENDINGS or text.startswith("<"):
        raise InputError(
            f"{path} is of no format that is known. If it is text with columns, or JSON, give it such an ending. Known"
            f" endings: {', '.join(ENDINGS)}."
        )
    return ".json" if text.startswith(("[", "{")) else ".csv"
