"""Detection of the encoding of a text file from its bytes."""

from __future__ import annotations

import codecs
import io
import warnings
from contextlib import suppress
from pathlib import Path

from allalike._core.lazy_imports import late_pattern
from allalike.errors import InputError
from allalike.readers.formats.compression import open_bytes, read_start

SAMPLE_BYTES = 1 << 22  # at the start of a file, from which its encoding is detected
_MAX_GUESS_BYTES = 1 << 17
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark is a prefix of this one
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LIKELY = (  # besides cp1252 and UTF-8, which are tried first
    *("cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8-r", "cp866", "macroman"),
    *("cp932", "euc-jp", "gb18030", "big5", "cp949"),
)
_ACCENTED = "À-ÖØ-öø-ÿŒœŠšŽžŸ"
_UNLIKELY_WESTERN = late_pattern(
    rf"[a-zA-Z{_ACCENTED}][^\x00-\x7f{_ACCENTED}\u2019\u00b4\u00b7\u2013\u2014][a-zA-Z{_ACCENTED}]"  # a sign in a word
    r"|[a-zà-öø-ÿ][À-ÖØ-ÞŒŠŽŸ]"  # an uppercase letter after a lowercase one
    rf"|[{_ACCENTED}]{{4}}"
    r"|[\u00f0\u00fe\u00b9\u00b3\u00bc\u00be\u00a5\u00a6\u00a8\u00ac\u00b8\u00d7\u00f7\u0192\u02c6\u2030\u2020\u2021]"
)
_TRIAL = "task,label\n"


def find_name(encoding: str) -> str:
    """Return Python's name of a text encoding, or raise LookupError, TypeError or ValueError.

    Codecs of Python that do not encode text, or that cannot decode incrementally, are refused.
    """
    written = _TRIAL.encode(encoding)
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    read = "".join(decoder.decode(bytes([byte])) for byte in written) + decoder.decode(b"", final=True)
    if read != _TRIAL:
        raise LookupError(f"{encoding!r} does not decode its own output")
    return codecs.lookup(encoding).name


def find_encoding(path: Path) -> str:
    """Guess the encoding of a file from its first bytes."""
    return guess_encoding(read_start(path, SAMPLE_BYTES))


def guess_encoding(sample: bytes) -> str:
    """Guess the encoding of bytes; the last character of a full sample may be incomplete."""
    for mark, name in _BOMS.items():
        if sample.startswith(mark):
            return name
    even, odd = sample[:2000:2], sample[1:2000:2]
    for name, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if len(zeros) > 1 and zeros.count(0) > 0.9 * len(zeros) and not others.count(0):  # mostly Latin letters
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=len(sample) < SAMPLE_BYTES)
    except UnicodeDecodeError:
        return _guess([line for line in sample.splitlines() if not line.isascii()])
    return "utf-8"


def _guess(lines: list[bytes]) -> str:
    """Guess the encoding of non-ASCII lines, not all of which are valid UTF-8."""
    if 2 * sum(bool(_decode(line, "utf-8")) for line in lines) >= len(lines):
        return "utf-8"  # with damaged lines, of which reading names the first
    telling = b"\n".join(lines)[:_MAX_GUESS_BYTES]
    western = _decode(telling, "cp1252")
    if western and len(_UNLIKELY_WESTERN.findall(western)) <= 0.02 * sum(not char.isascii() for char in western):
        return "cp1252"
    for name in ("cp932", "euc_jp"):  # chardet often detects short Japanese texts as Korean
        foreign = [char for char in _decode(telling, name) if not char.isascii()]
        if sum("\u3041" <= char <= "\u30fe" for char in foreign) > 0.2 * len(foreign):
            return name
    import chardet  # slow to import, and rarely needed

    with warnings.catch_warnings():  # about no match, which is handled below
        warnings.simplefilter("ignore")
        best = chardet.detect(telling, include_encodings=_LIKELY)["encoding"] or ""
    with suppress(LookupError):
        if _decode(telling, best):
            return find_name(best)
    return "cp1252" if western else "latin-1"


def _decode(data: bytes, encoding: str) -> str:
    """Return the decoded text, or an empty string if the bytes are not valid in this encoding."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return ""


def read_text(path: Path, encoding: str | None = None) -> str:
    """Return the content of a text file, with its original line endings."""
    encoding = encoding or find_encoding(path)
    try:
        with io.TextIOWrapper(open_bytes(path), with_mark(encoding), newline="") as file:
            return file.read()
    except UnicodeError as error:
        raise undecodable(path, encoding, error) from error


def undecodable(path: Path, encoding: str, error: UnicodeError, line: int | None = None) -> InputError:
    """Return the error for a file that is not in the assumed encoding; it proposes the detected one."""
    found = find_encoding(path)
    where = str(path) if line is None else f"{path}: line {line}"
    return InputError(
        f"{where} is not valid {encoding}: {str(error).rstrip('.')}. Save it as UTF-8, or name its encoding.",
        encoding=found if found != encoding else "latin-1",
    )


def with_mark(encoding: str) -> str:
    """Return the variant of an encoding that skips a byte order mark of UTF-8."""
    return "utf-8-sig" if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig") else encoding


def decode_start(sample: bytes, encoding: str, path: Path) -> str:
    """Decode the beginning of a file, whose last character may be incomplete; invalid bytes are replaced."""
    try:
        return codecs.getincrementaldecoder(with_mark(encoding))(errors="replace").decode(sample)
    except UnicodeError as error:  # such as UTF-16 without a mark of its byte order
        raise undecodable(path, encoding, error) from error
