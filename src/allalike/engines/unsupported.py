"""What works on some engines only. Everything that is not in this table works on all of them."""

from __future__ import annotations

from dataclasses import dataclass

from allalike.errors import UnsupportedError

__all__ = ["GAPS", "Gap", "gap"]


@dataclass(frozen=True)
class Gap:
    """Name something, the engines on which it works, and why not on the others."""

    what: str
    engines: tuple[str, ...]
    why: str

    def row(self) -> str:
        """Say it in a row of a Markdown table.

        >>> Gap("this", ("memory",), "because").row()
        '| this | memory | because |'
        """
        return f"| {self.what} | {', '.join(self.engines)} | {self.why} |"


GAPS = (Gap("result.update", ("memory", "disk"), "blocks on the executors of Spark stay as they were made"),)


def gap(what: str) -> UnsupportedError:
    """Return the error for something that an engine cannot do, which names engines that can.

    >>> print(gap("result.update"))
    result.update works on memory and disk only: blocks on the executors of Spark stay as they were made.
    """
    found = next(each for each in GAPS if each.what == what)
    return UnsupportedError(f"{what} works on {' and '.join(found.engines)} only: {found.why}.")
