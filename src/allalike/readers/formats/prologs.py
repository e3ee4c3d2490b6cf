"""Prologs: what stands in XML before its first element, where entities are declared.

Entities let a small file stand for a huge one, or for another one. No tool that is read here declares any, so XML with
a document type is refused, in whatever encoding it is written; it is the parser that looks for it.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, NoReturn

from allalike.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_prolog"]

_CHUNK = 1 << 12


class _PrologEnd(Exception):  # noqa: N818
    """What is raised at the first element, after which nothing can be declared."""


def check_prolog(path: Path, stream: IO[bytes], tool: str) -> None:
    """Refuse XML that declares a type, which this tool never does; what is no XML is left to whoever reads it.

    >>> import io, pathlib
    >>> check_prolog(pathlib.Path("a.xml"), io.BytesIO(b"<?xml version='1.0'?><a/>"), "CVAT")
    >>> check_prolog(pathlib.Path("a.xml"), io.BytesIO("<!DOCTYPE a><a/>".encode("utf-16")), "CVAT")
    Traceback (most recent call last):
    allalike.errors.InputError: a.xml declares entities, which CVAT does not. It is not read.
    """
    from xml.parsers import expat  # nosec B407 # which is stopped before anything is expanded

    def refuse(*_: object) -> NoReturn:
        raise InputError(f"{path} declares entities, which {tool} does not. It is not read.")

    def stop(*_: object) -> NoReturn:
        raise _PrologEnd

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = refuse, stop
    try:
        while part := stream.read(_CHUNK):
            parser.Parse(part)
    except InputError:
        raise
    except (_PrologEnd, expat.ExpatError, LookupError, ValueError):  # such as an encoding that nobody knows
        return
