"""Encodings: how the characters of a text file are written, told by its bytes."""

from __future__ import annotations

import codecs
import io
import re
from typing import TYPE_CHECKING, TextIO, cast

from allalike.errors import InputError
from allalike.readers.formats.compression import open_bytes, read_start

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE_BYTES = 1 << 22  # this much is looked at; what comes behind must be written in the same way
_MAX_GUESS_BYTES = 1 << 17
_UTF8 = ("utf-8", "utf-8-sig")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SINGLE_BYTE = (
    *("cp1250", "iso8859_2", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r", "mac_roman"),
    *("cp850", "cp866"),
)
_MULTI_BYTE = ("cp932", "euc_jp", "gb18030", "big5", "cp949")
_WESTERN = r"a-zA-ZÀ-ÖØ-öø-ÿŒœŠšŽžŸ"
_TRIAL = "task,label\n"
_UNLIKELY = re.compile(
    "|".join(
        (
            rf"[{_WESTERN}][^\x00-\x7f{_WESTERN}\u2019\u00b4\u00b7\u2013\u2014][{_WESTERN}]",  # a sign within a word
            r"[a-zà-öø-ÿ][À-ÖØ-ÞŒŠŽŸ]",  # a capital behind a small letter
            r"[À-ÖØ-öø-ÿŒœŠšŽžŸ]{4}",  # many accents in a row
            r"[\u00f0\u00fe\u00b9\u00b3\u00bc\u00be\u00a5\u00a6\u00a8\u00ac\u00b8\u00d7\u00f7\u0192\u02c6\u2030\u2020\u2021]",
        )
    )
)  # in Western texts


def find_name(encoding: str) -> str:
    """Return Python's name of an encoding of files, or raise LookupError, TypeError or ValueError.

    Python also has codecs for other things, and some that cannot read a text piece by piece.

    >>> find_name("Latin1"), find_name("UTF8")
    ('iso8859-1', 'utf-8')
    >>> find_name("punycode")
    Traceback (most recent call last):
    LookupError: 'punycode' does not read what it has written
    """
    written = _TRIAL.encode(encoding)
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    read = "".join(decoder.decode(bytes([byte])) for byte in written) + decoder.decode(b"", final=True)
    if read != _TRIAL:
        raise LookupError(f"{encoding!r} does not read what it has written")
    return codecs.lookup(encoding).name


def find_encoding(path: Path) -> str:
    """Tell how the characters of a file are written: UTF-8, or what its first bytes tell.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.csv")
    ...     _ = path.write_bytes("café".encode("utf-16"))
    ...     find_encoding(path)
    'utf-16'
    """
    return guess_encoding(read_start(path, SAMPLE_BYTES))


def guess_encoding(sample: bytes) -> str:
    """Tell how the characters in some bytes are written; of very many, the last character may be cut.

    >>> guess_encoding("naïve".encode()), guess_encoding("naïve".encode("latin-1"))
    ('utf-8', 'cp1252')
    """
    marked = next((name for mark, name in _BOMS if sample.startswith(mark)), None)
    if marked:
        return marked
    if wide := _without_mark(sample):
        return wide
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=len(sample) < SAMPLE_BYTES)
    except UnicodeDecodeError:
        return _guess(sample)
    return "utf-8"


def _without_mark(sample: bytes) -> str:
    """Recognise UTF-16 without a mark: every other byte of what is mostly Latin is zero, and no other is."""
    start = sample[:2000]
    even, odd = start[0::2], start[1::2]
    for name, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if len(zeros) > 1 and zeros.count(0) > 0.9 * len(zeros) and not others.count(0):
            return name
    return ""


def _guess(sample: bytes) -> str:
    """Guess from the lines that are no ASCII."""
    lines = [line for line in sample.splitlines() if not line.isascii()]
    if 2 * sum(map(_is_utf8, lines)) >= len(lines):  # then some are damaged, and reading them will say which
        return "utf-8"
    telling = b"\n".join(lines)[:_MAX_GUESS_BYTES]
    western = _decode(telling, "cp1252")
    if western and len(_UNLIKELY.findall(western)) <= 0.02 * sum(not char.isascii() for char in western):
        return "cp1252"
    if kana := next((name for name in ("cp932", "euc_jp") if _has_kana(telling, name)), None):
        return kana
    from charset_normalizer import from_bytes  # which takes a while, and is rarely needed

    likely = [*_SINGLE_BYTE, *(name for name in _MULTI_BYTE if _is_apart(telling, name))]
    best = from_bytes(telling, cp_isolation=likely).best()
    return best.encoding if best is not None else "cp1252" if western else "latin-1"


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_apart(telling: bytes, encoding: str) -> bool:
    """Tell whether characters that are no ASCII hardly ever stand in one word with Latin letters."""
    text = _decode(telling, encoding)
    mixed = len(re.findall(r"[a-zA-Z][^\x00-\x7f]|[^\x00-\x7f][a-zA-Z]", text))
    return bool(text) and mixed <= 0.1 * sum(not char.isascii() for char in text)


def _decode(telling: bytes, encoding: str) -> str:
    """Return the text, or nothing if the bytes are none."""
    try:
        return telling.decode(encoding)
    except UnicodeDecodeError:
        return ""


def _has_kana(telling: bytes, encoding: str) -> bool:
    """Tell whether some bytes read as Japanese; short ones are easily taken for Korean otherwise."""
    foreign = [char for char in _decode(telling, encoding) if not char.isascii()]
    return sum("\u3041" <= char <= "\u30fe" for char in foreign) > 0.2 * len(foreign)


def open_text(path: Path, encoding: str | None = None) -> TextIO:
    r"""Open a text file for reading, unpacked and decoded on the way; the ends of lines stay as they are.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.csv")
    ...     _ = path.write_bytes("café\r\n".encode("latin-1"))
    ...     with open_text(path) as file:
    ...         file.read()
    'café\r\n'
    """
    encoding = encoding or find_encoding(path)
    return cast("TextIO", io.TextIOWrapper(open_bytes(path), with_mark(encoding), newline=""))


def read_text(path: Path, encoding: str | None = None) -> str:
    """Return all of a text file.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.json")
    ...     _ = path.write_bytes(b"[1]")
    ...     read_text(path)
    '[1]'
    """
    encoding = encoding or find_encoding(path)
    try:
        with open_text(path, encoding) as file:
            return file.read()
    except UnicodeError as error:
        raise undecodable(path, encoding, error) from error


def undecodable(path: Path, encoding: str, error: UnicodeError) -> InputError:
    """Return what to say about a file that is not written as it was taken to be, and what its bytes tell instead.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_bytes("café".encode())
    ...     print(undecodable(path, "ascii", UnicodeError("byte 0xc3 at 3")))
    /...a.csv is not written in ascii: byte 0xc3 at 3. Save it as UTF-8, or say how it is written. Say it with
    encoding='utf-8'.
    """
    reason = str(error).rstrip(".")
    found = find_encoding(path)
    return InputError(
        f"{path} is not written in {encoding}: {reason}. Save it as UTF-8, or say how it is written.",
        encoding=found if found != encoding else "latin-1",
    )


def with_mark(encoding: str) -> str:
    """Return the encoding that leaves out the mark with which Windows begins files of UTF-8.

    >>> with_mark("utf8"), with_mark("cp1252")
    ('utf-8-sig', 'cp1252')
    """
    return "utf-8-sig" if codecs.lookup(encoding).name in _UTF8 else encoding


def decode_start(sample: bytes, encoding: str, path: Path) -> str:
    """Decode the beginning of a file, whose last character may be cut; what is wrong is replaced.

    >>> from pathlib import Path
    >>> decode_start("née".encode()[:2], "utf-8", Path("a.csv"))
    'n'
    """
    try:
        return codecs.getincrementaldecoder(with_mark(encoding))(errors="replace").decode(sample)
    except UnicodeError as error:  # as of UTF-16 that does not say which of its two forms it has
        raise undecodable(path, encoding, error) from error
