"""Read options, and detection of a file's format from its first bytes, its extension and its content."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypedDict

from allalike._core.options import Options, choice, flag, option
from allalike._core.registry import did_you_mean
from allalike.errors import InputError, OptionError
from allalike.readers.formats.compression import check_archive, find_packing, inner_path, read_start
from allalike.readers.formats.encodings import decode_start, find_name, guess_encoding
from allalike.readers.formats.read_errors import guard, unreadable

if TYPE_CHECKING:
    from pathlib import Path

    from allalike.readers.formats.source import Source

BOOKS = (".xlsx", ".xlsm")
MANIFEST = "manifest.csv"  # of a folder of masks
NA = ("NA", "N/A", "NaN", "nan", "null", "None", "#N/A")  # missing labels of text files, besides empty fields


class ReadOptions(TypedDict, total=False):
    """Read options: keywords of the functions that read answers, documented by `allalike.read`.

    Defaults and allowed values are defined by `Scan` and `Files`.
    """

    columns: Mapping[str, str] | None
    wide: str | None
    duplicates: str | None
    missing: str
    na_values: Iterable[str] | None
    abstain_label: Any
    label_map: Any
    tool: str | None
    question: str | None
    worker_from: str | None
    encoding: str | None
    decimal: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    layout: str | None
    query: str | None
    table: str | None


READ_OPTIONS = tuple(ReadOptions.__annotations__)


def _check_encoding(value: Any, name: str) -> str:
    """Return Python's name of a text encoding."""
    try:
        return find_name(value)
    except (LookupError, TypeError, ValueError) as error:
        raise OptionError(
            f"{name} is {value!r}, which is not a text encoding. Give one such as utf-8, latin-1, cp1252, utf-16 or"
            " shift_jis."
        ) from error


@dataclass(frozen=True, kw_only=True)
class Files(Options):
    """Options for reading files; the parameters are those of `allalike.read`.

    With ``golden``, annotations that a tool marks as gold are gold labels instead of answers.
    """

    tool: str | None = None
    question: str | None = None
    worker_from: str | None = choice(None, "filename")
    encoding: str | None = option(None, _check_encoding)
    decimal: str = choice(".", ",")
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    layout: str | None = choice(None, "tasks/workers", "workers/tasks")
    query: str | None = None
    table: str | None = None
    golden: bool = flag(False)


def list_words(na_values: Any, name: str) -> tuple[str, ...]:
    """Return the texts that mean a missing label."""
    several = isinstance(na_values, Iterable) and not isinstance(na_values, str)
    words = tuple(na_values) if several else (na_values,)
    if not all(isinstance(word, str) for word in words):
        raise OptionError(f"{name} is {na_values!r}. Pass the texts that mean a missing label, such as ['NA', '?'].")
    return words


def list_labels(abstain_label: Any, _: str) -> tuple[Any, ...]:
    """Return the labels that mean no answer."""
    return tuple(abstain_label) if isinstance(abstain_label, list | tuple | set | frozenset) else (abstain_label,)


def check_read_options(function: Callable[..., Any], how: Mapping[str, Any]) -> None:
    """Refuse an unknown option of a function, and list the known ones."""
    for name in how:
        if name not in READ_OPTIONS:
            own = inspect.signature(function).parameters.values()
            known = [*(option.name for option in own if option.kind is option.KEYWORD_ONLY), *READ_OPTIONS]
            hint = did_you_mean(name, known)
            raise OptionError(f"allalike.{function.__name__} has no option {name!r}.{hint} It has {', '.join(known)}.")


# Openers of files.

# The function that opens each format, given a path and options. Its module is imported on first use.
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
_TEXT_ENDINGS = ("", ".txt", ".text", ".dat", ".data", ".asc", ".lst", ".out", ".log")  # format by content


def open_file(path: Path, files: Files) -> Source:
    """Open a file with the opener of its format."""
    if not path.exists():
        raise InputError(f"There is no file {path}. Check the path.")
    try:
        module, name = ENDINGS[_find_ending(path)].split(".")
        if module == "arrow" and (packing := find_packing(path)):
            raise InputError(f"{path} is compressed ({packing}), which this format does not support. Unpack it first.")
        opened: Source = getattr(import_module(f"{__package__}.{module}"), name)(path, files)
    except OSError as error:
        raise unreadable(path, error) from error
    return opened


def _find_ending(path: Path) -> str:
    """Return the extension of a file's format, which may differ from that of its name."""
    start = guard(path, "a file", lambda: read_start(path, _TEXT_BYTES))
    ending = next((ending for mark, ending in _BEGINNINGS.items() if start.startswith(mark)), None)
    if start.startswith(b"PK\x03\x04"):  # a spreadsheet or NumPy archive; other archives are already unpacked
        if find_packing(path):
            raise InputError(f"{path} contains another archive, {inner_path(path).name}. Unpack it first.")
        names = check_archive(path)
        ending = ".xlsx" if "[Content_Types].xml" in names else ".ods" if "mimetype" in names else ".npz"
    ending = ending or inner_path(path).suffix.lower()
    if ending in ENDINGS:
        return ending
    text = decode_start(start, guess_encoding(start), path).lstrip()
    if any(ord(char) < 32 and char not in "\t\r\n\f\v" for char in text[:1000]):
        raise InputError(f"{path} is binary, and of no known format. Known endings: {', '.join(ENDINGS)}.")
    if ending not in _TEXT_ENDINGS or text.startswith("<"):
        raise InputError(
            f"{path} is of no known format. If it is text with columns, rename it to .csv, and if it is JSON, to .json."
            f" Known endings: {', '.join(ENDINGS)}."
        )
    return ".json" if text.startswith(("[", "{")) else ".csv"
