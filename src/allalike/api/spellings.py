"""Spellings: labels that may be one, and labels that may be none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.columns.matches import write_plainly

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["find_abstentions", "find_spellings", "find_truth_words", "name_joining"]

_WRAPPING = " \t\r\n\"'`*_()[]{}<>.,;:!"
_TRUTH_WORDS = ({"true", "yes", "y", "t", "1"}, {"false", "no", "n", "f", "0"})
_ABSTENTION_WORDS = """
    ? ?? - -- -1 unknown unsure unclear undecided skip skipped ignore abstain idk not_sure don't_know dont_know
    do_not_know can't_tell cannot_tell no_answer not_applicable
"""
_ABSTENTIONS = frozenset(word.replace("_", " ") for word in _ABSTENTION_WORDS.split())


def find_spellings(labels: Iterable[Any]) -> list[tuple[str, ...]]:
    """Group labels that differ only in case, blanks, quotes and brackets around them.

    >>> find_spellings(["A", "B", "[[A]]", "a", "+1", "-1", "New York", "new  york"])
    [('A', '[[A]]', 'a'), ('New York', 'new  york')]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            groups.setdefault(" ".join(label.strip(_WRAPPING).casefold().split()), []).append(label)
    return [tuple(group) for plain, group in groups.items() if plain and len(group) > 1]


def name_joining(groups: Iterable[tuple[str, ...]]) -> str:
    """Name the domain that takes spellings for one.

    >>> name_joining([("cat", "Cat")]), name_joining([("A", "[[A]]")])
    ('the domain categorical(lower=True)', "the domain categorical(extract='choice')")
    """
    case = all(len({label.strip().casefold() for label in group}) == 1 for group in groups)
    option = "lower=True" if case else "extract='choice'"
    return f"the domain categorical({option})"


def find_truth_words(labels: Iterable[Any]) -> list[list[Any]]:
    """Group labels that are different words for yes, and for no.

    >>> find_truth_words(["True", "TRUE", "1", "yes", "no"]), find_truth_words([0, 1]), find_truth_words(["yes", "no"])
    ([['True', 'TRUE', '1', 'yes']], [], [])
    """
    known = list(labels)
    groups = [[label for label in known if write_plainly(label).casefold() in words] for words in _TRUTH_WORDS]
    return [group for group in groups if len({write_plainly(label).casefold() for label in group}) > 1]


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
