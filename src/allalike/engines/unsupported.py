"""Restrictions: what works on some engines only. Everything that is not in this table works on all of them."""

from __future__ import annotations

from dataclasses import dataclass

from allalike.errors import UnsupportedError

__all__ = ["RESTRICTIONS", "Restriction", "unsupported"]


@dataclass(frozen=True)
class Restriction:
    """Something that works on some engines only, and why not on the others."""

    what: str
    engines: tuple[str, ...]
    why: str

    def row(self) -> str:
        """Return it as a row of a Markdown table.

        >>> Restriction("this", ("memory",), "because").row()
        '| this | memory | because |'
        """
        return f"| {self.what} | {', '.join(self.engines)} | {self.why} |"


RESTRICTIONS = (
    Restriction("result.update", ("memory", "disk"), "blocks on the executors of Spark stay as they were made"),
)


def unsupported(what: str) -> UnsupportedError:
    """Return the error for something that an engine cannot do, which names engines that can.

    >>> print(unsupported("result.update"))
    result.update works on memory and disk only: blocks on the executors of Spark stay as they were made.
    """
    found = next(each for each in RESTRICTIONS if each.what == what)
    return UnsupportedError(f"{what} works on {' and '.join(found.engines)} only: {found.why}.")
