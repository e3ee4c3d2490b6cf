"""The compiled library: found beside this file, or not there, or not wanted (``ALLALIKE_COMPILED=0``)."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SWITCH", "compiled", "describe", "find_library", "library_path"]

_SOURCES = ("passes.c", "numbers.h", "vectors.h")
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}
SWITCH = "ALLALIKE_COMPILED"

Kernel = TypeVar("Kernel", bound="Callable[..., Any]")


def library_path() -> Path:
    """Return where the library is, if it was made."""
    return Path(__file__).with_name("passes" + _SUFFIX.get(sys.platform, ".so"))


@functools.cache
def find_library() -> ctypes.CDLL | None:
    """Load the library, once; None if there is none, or one that was made of other sources, or if it is not wanted."""
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        library = ctypes.CDLL(str(library_path()))
        library.source.restype = ctypes.c_int64
        sources = b"".join(library_path().with_name(name).read_bytes() for name in _SOURCES)
        return library if library.source() == zlib.crc32(sources) else None
    except (OSError, AttributeError):
        return None


def describe() -> str:
    """Say which twin runs."""
    if find_library() is not None:
        return "compiled passes"
    if os.environ.get(SWITCH) == "0":
        return f"passes in numpy ({SWITCH}=0)"
    return "passes in numpy (the compiled ones are not in this installation; several times faster)"


def compiled(call: Callable[..., Any]) -> Callable[[Kernel], Kernel]:
    """Have a pass run in the place of a kernel in numpy, its twin, if there is a library, and it is made for this.

    A pass that is not made for its arguments returns `NotImplemented`.
    """

    def choose(kernel: Kernel) -> Kernel:
        @functools.wraps(kernel)
        def run(*arguments: Any, **options: Any) -> Any:
            found = NotImplemented if find_library() is None else call(*arguments, **options)
            return kernel(*arguments, **options) if found is NotImplemented else found

        return run  # type: ignore[return-value]

    return choose
