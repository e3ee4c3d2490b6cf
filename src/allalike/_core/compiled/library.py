"""The compiled library: found beside this file, or not there, or not wanted (``ALLALIKE_COMPILED=0``).

A library that was cut off ends the process when it is loaded, or later. So its size and checksum are recorded when it
is made, and it is loaded only if it is still the same.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import warnings
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_SOURCES = ("passes.c", "numbers.h", "vectors.h")
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}
SWITCH = "ALLALIKE_COMPILED"
_DAMAGED = (
    "is damaged, and numpy takes its place: results are the same, and take several times as long. Install it again"
    " with: pip install --force-reinstall --no-deps allalike"
)


class NotCompiledError(Exception):
    """Arguments that no pass is compiled for, such as more cells than numbers of four bytes can count."""


Kernel = TypeVar("Kernel", bound="Callable[..., Any]")


def library_path() -> Path:
    """Return where the library is, if it was made."""
    return Path(__file__).with_name("passes" + _SUFFIX.get(sys.platform, ".so"))


@functools.cache
def find_library() -> ctypes.CDLL | None:
    """Load the library, once; None if there is none, or one that was made of other sources, or if it is not wanted.

    One that is damaged is not loaded either, which a warning says.
    """
    if os.environ.get(SWITCH) == "0" or not _record_path().is_file():
        return None
    if _is_damaged():
        warnings.warn(f"The compiled library {library_path()} {_DAMAGED}", stacklevel=2)
        return None
    try:
        library = ctypes.CDLL(str(library_path()))
        library.source.restype = ctypes.c_int64
        sources = b"".join(library_path().with_name(name).read_bytes() for name in _SOURCES)
        return library if library.source() == zlib.crc32(sources) else None
    except (OSError, AttributeError):
        return None


def _record_path() -> Path:
    """Return where the size and the checksum of the library are recorded, as hatch_build.py writes them."""
    return library_path().with_name(f"{library_path().name}.crc32")


def _is_damaged() -> bool:
    """Return whether the library is another than the one that was recorded."""
    try:
        recorded, data = _record_path().read_bytes().split(), library_path().read_bytes()
    except OSError:
        return _record_path().is_file()
    return recorded != [b"%d" % len(data), b"%08x" % zlib.crc32(data)]


def describe() -> str:
    """Say which twin runs."""
    if os.environ.get(SWITCH) == "0":
        return f"passes in numpy ({SWITCH}=0)"
    if _is_damaged():
        return f"passes in numpy (the compiled library {_DAMAGED})"
    if find_library() is not None:
        return "compiled passes"
    return "passes in numpy (the compiled ones are not in this installation; several times faster)"


def compiled(call: Callable[..., Any]) -> Callable[[Kernel], Kernel]:
    """Have a pass run in the place of a kernel in numpy, its twin, if there is a library, and it is made for this.

    A pass that is not made for its arguments returns `NotImplemented`, or raises `NotCompiledError`.
    """

    def choose(kernel: Kernel) -> Kernel:
        @functools.wraps(kernel)
        def run(*arguments: Any, **options: Any) -> Any:
            try:
                found = NotImplemented if find_library() is None else call(*arguments, **options)
            except NotCompiledError:
                found = NotImplemented
            return kernel(*arguments, **options) if found is NotImplemented else found

        return run  # type: ignore[return-value]

    return choose
