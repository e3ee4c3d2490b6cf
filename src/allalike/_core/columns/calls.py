"""Calls: functions of Arrow that the smallest table needs, by their names.

Importing `pyarrow.compute`, as the methods of arrays do, makes a function and its documentation of each of 300 names.
That takes longer than reading a small table, and is not needed to call a few of them.
"""

from __future__ import annotations

from typing import Any

__all__ = ["call", "cast", "is_each"]


def call(name: str, *arguments: Any) -> Any:
    """Call a function without options.

    >>> import pyarrow as pa
    >>> call("unique", pa.array([2, 1, 2])).to_pylist(), call("take", pa.array(["a", "b"]), pa.array([1])).to_pylist()
    ([2, 1], ['b'])
    """
    from pyarrow._compute import call_function

    return call_function(name, list(arguments))


def cast(data: Any, kind: Any, *, safe: bool = True) -> Any:
    """Return an array as one of another type; if it is not safe, what does not fit is rounded or cut.

    >>> import pyarrow as pa
    >>> cast(pa.array(["7"]), pa.int64()).to_pylist(), cast(pa.array([2**53 + 1]), pa.float64(), safe=False).to_pylist()
    ([7], [9007199254740992.0])
    """
    from pyarrow._compute import CastOptions, call_function

    return call_function("cast", [data], CastOptions.safe(kind) if safe else CastOptions.unsafe(kind))


def is_each(data: Any, pattern: str) -> bool:
    """Tell whether a regular expression is found in each text.

    >>> import pyarrow as pa
    >>> is_each(pa.array(["12", "7"]), "^[0-9]+$"), is_each(pa.array(["12", "x"]), "^[0-9]+$")
    (True, False)
    """
    from pyarrow._compute import MatchSubstringOptions, call_function

    found = call_function("match_substring_regex", [data], MatchSubstringOptions(pattern))
    return bool(call_function("all", [found]).as_py())
