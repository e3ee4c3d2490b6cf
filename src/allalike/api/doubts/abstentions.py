"""Abstentions: labels that may mean that there is no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.columns.matches import write_plainly

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["find_abstentions"]

_ABSTENTION_WORDS = """
    ? ?? - -- -1 unknown unsure unclear undecided skip skipped ignore abstain idk not_sure don't_know dont_know
    do_not_know can't_tell cannot_tell no_answer not_applicable
"""
_ABSTENTIONS = frozenset(word.replace("_", " ") for word in _ABSTENTION_WORDS.split())


def find_abstentions(labels: Iterable[Any]) -> list[Any]:
    """List labels that may mean that there is no answer: words for it, and -1 where no other is negative.

    >>> find_abstentions([-1, 0, 1]), find_abstentions([-1, 1]), find_abstentions(["cat", "dog", "Not sure"])
    ([-1], [], ['Not sure'])
    """
    known = list(labels)
    found = [label for label in known if write_plainly(label).casefold() in _ABSTENTIONS]
    written = {write_plainly(label) for label in known}
    sign = {"-1", "1"} <= written and "0" not in written
    return [label for label in found if not (sign and write_plainly(label) == "-1")]
