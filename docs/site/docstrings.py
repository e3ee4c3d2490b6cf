"""Docstrings as Markdown: text with formulas, options and examples, each where a page wants them.

A docstring of this library has a text, in which formulas are indented; perhaps a numpydoc section ``Parameters``; and
examples, which begin with ``>>>``. Markdown would take an example for a quotation, and numpydoc what follows the
parameters for one more of them. `read` takes the three apart, and `Rearranged` puts them into an order that the reader
of docstrings behind the reference understands.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import griffe

import allalike

__all__ = ["Docstring", "Rearranged", "read"]

_PARAMETERS = re.compile(r"^Parameters\n-+\n", re.MULTILINE)
_OPTION = re.compile(r"^([\w*]+(?:, [\w*]+)*)\n((?:    .*(?:\n+|$))+)", re.MULTILINE)
_NAME = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)")
_INDENT = "    "
_RETURNED = {
    "Agreement",
    "Agreements",
    "Answers",
    "Comparison",
    "Panel",
    "Result",
    "Scan",
    "Simulated",
}  # made by functions, not by users


@dataclass(frozen=True)
class Docstring:
    """A docstring in parts: its text and its examples as Markdown, and what each option means."""

    text: str
    options: dict[str, str]
    examples: str

    @property
    def summary(self) -> str:
        """The first paragraph of the text, in one line."""
        return " ".join(self.text.partition("\n\n")[0].split())

    @property
    def body(self) -> str:
        """What follows the first paragraph."""
        return self.text.partition("\n\n")[2]


def read(docstring: str | None) -> Docstring:
    r"""Take a docstring apart.

    >>> parts = read("A mean.\n\n    m = sum / n\n\nParameters\n----------\nn, k\n    How many.\n\n>>> 1 + 1\n2")
    >>> parts.text
    'A mean.\n\n```text\nm = sum / n\n```'
    >>> parts.options, parts.examples
    ({'n, k': 'How many.'}, '```pycon\n>>> 1 + 1\n2\n```')
    """
    before, _, after = _PARAMETERS.sub("\f", inspect.cleandoc(docstring or ""), count=1).partition("\f")
    options = {name: inspect.cleandoc(meaning) for name, meaning in _OPTION.findall(after)}
    paragraphs = _paragraphs(before) + _paragraphs(_OPTION.sub("", after))
    return Docstring(
        text="\n\n".join(_fenced(one) for one in paragraphs if not one.startswith(">>>")),
        options={name: link_names(" ".join(meaning.split())) for name, meaning in options.items()},
        examples="\n\n".join(f"```pycon\n{one}\n```" for one in paragraphs if one.startswith(">>>")),
    )


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text; neighbours that are indented are one formula."""
    found = [paragraph for paragraph in re.split(r"\n\s*\n", text.strip("\n")) if paragraph.strip()]
    blocks = groupby(found, key=lambda paragraph: paragraph.startswith(_INDENT))
    return [one for indented, some in blocks for one in (["\n\n".join(some)] if indented else some)]


def _fenced(paragraph: str) -> str:
    if paragraph.startswith(_INDENT):
        return f"```text\n{inspect.cleandoc(paragraph)}\n```"
    return link_names(paragraph)


def link_names(text: str) -> str:
    """Make links of the public names in a text.

    >>> link_names("As `allalike.CRH`, and `numpy`.")
    'As <autoref identifier="allalike.CRH" optional><code>allalike.CRH</code></autoref>, and `numpy`.'
    """

    def link(found: re.Match[str]) -> str:
        name = found[1].removeprefix("allalike.")
        if name.partition(".")[0] not in dir(allalike):
            return found[0]
        return f'<autoref identifier="allalike.{name}" optional><code>{found[1]}</code></autoref>'

    return _NAME.sub(link, text)


class Rearranged(griffe.Extension):
    """An extension of the reader of docstrings: text first, then parameters, then examples under their heading."""

    def on_object(self, *, obj: griffe.Object, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
        """Rewrite the docstring of an object that was read."""
        if obj.docstring is None:
            return
        parts = read(obj.docstring.value)
        shown = {} if obj.is_class and obj.name in _RETURNED else parts.options
        options = "\n".join(f"{name}\n{_INDENT}{meaning}" for name, meaning in shown.items())
        sections = {"Parameters": options, "Examples": parts.examples}
        headed = [f"{name}\n{'-' * len(name)}\n{text}" for name, text in sections.items() if text]
        obj.docstring.value = "\n\n".join([parts.text, *headed])
