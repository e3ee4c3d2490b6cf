"""Gaps: what the pages made of docstrings lack of formula, when it works, when it fails, and an example.

Run as a program it prints them. The text of something is its module's docstring and its own, without the examples:

- a formula (not of engines): ``=``, ``~`` or ``<=`` with blanks around it, or the word minimise;
- when it works: the word works or suits; when it fails: the word fails;
- an example that a user could type: a line ``>>> ... allalike.discover(...)``.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import allalike
from docstrings import read
from textbook import rules_by_function

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["find_gaps"]

_MARKS = {
    "formula": re.compile(r" (=|~|<=|minimise) "),
    "when it works": re.compile(r"\b(works?|suits?)\b"),
    "when it fails": re.compile(r"\bfails?\b"),
}
_EXAMPLE = re.compile(r">>> .*\ballalike\.[A-Za-z]\w*\(")


def find_gaps() -> dict[str, list[str]]:
    """Return what each method, domain, engine and rule lacks, where it lacks something."""
    kinds: dict[str, Mapping[str, type]] = {
        "method": allalike.METHODS,
        "domain": allalike.DOMAINS,
        "engine": allalike.ENGINES,
    }
    things: dict[str, Any] = {f"{kind} {name}": some[name] for kind, some in kinds.items() for name in some}
    for name, functions in rules_by_function().items():
        things |= {f"rule {name} of {', '.join(domains)}": decide for decide, domains in functions.items()}
    found = {name: _gaps_of(thing, engine=name.startswith("engine ")) for name, thing in things.items()}
    return {name: gaps for name, gaps in found.items() if gaps}


def _gaps_of(thing: Any, *, engine: bool) -> list[str]:
    docstrings = [read(sys.modules[thing.__module__].__doc__), read(thing.__doc__)]
    text = " ".join(one.text for one in docstrings)
    gaps = [name for name, mark in _MARKS.items() if not mark.search(text) and not (engine and name == "formula")]
    return gaps if any(_EXAMPLE.search(one.examples) for one in docstrings) else [*gaps, "example"]


if __name__ == "__main__":
    for _name, _gaps in find_gaps().items():
        print(f"{_name}: no {', no '.join(_gaps)}")
