"""Files: the options of reading, and the format of each file by its first bytes, its ending and its content."""

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
from allalike.readers.formats.failures import guard, unreadable

if TYPE_CHECKING:
    from pathlib import Path

    from allalike.readers.formats.source import Source

BOOKS = (".xlsx", ".xlsm")
MANIFEST = "manifest.csv"  # of a folder of masks


class ReadOptions(TypedDict, total=False):
    """Read options, as documented by `allalike.read`: functions of answers take these as keywords.

    The usual values, and what they may be, are those of `Scan` and of `Files`.
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
    """Return the name of an encoding of text, as Python knows it."""
    try:
        return find_name(value)
    except (LookupError, TypeError, ValueError) as error:
        raise OptionError(
            f"{name} is {value!r}. Name one such as utf-8, latin-1, cp1252, utf-16 or shift_jis."
        ) from error


@dataclass(frozen=True, kw_only=True)
class Files(Options):
    """Options for reading files; the parameters are those of `allalike.read`.

    ``golden`` is for exports whose tool marks gold labels: what is marked is no answer then, but known.
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
    """Return the texts that say that there is no label."""
    several = isinstance(na_values, Iterable) and not isinstance(na_values, str)
    words = tuple(na_values) if several else (na_values,)
    if not all(isinstance(word, str) for word in words):
        raise OptionError(
            f"{name} is {na_values!r}. Give the texts that say that there is no label, such as ['NA', '?']."
        )
    return words


def list_labels(abstain_label: Any, _: str) -> tuple[Any, ...]:
    """Return the labels that mean no answer."""
    return tuple(abstain_label) if isinstance(abstain_label, list | tuple | set | frozenset) else (abstain_label,)


def check_read_options(function: Callable[..., Any], how: Mapping[str, Any]) -> None:
    """Refuse an option that a function does not have, and name those that it has."""
    for name in how:
        if name not in READ_OPTIONS:
            own = inspect.signature(function).parameters.values()
            known = [*(option.name for option in own if option.kind is option.KEYWORD_ONLY), *READ_OPTIONS]
            hint = did_you_mean(name, known)
            raise OptionError(f"allalike.{function.__name__} has no option {name!r}.{hint} It has {', '.join(known)}.")


# Which opener reads a file

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
