"""Pages of the repository as pages of the site: links that hold in both, and Markdown that both read alike.

The site has the files of `docs`, and those of the root that are read by people. A link between two of them is written
as the repository has them, `../CONTRIBUTING.md`, and rewritten here. What GitHub shows and Python-Markdown would not:
a list right below a line of text, and brackets such as <x, y> that are no HTML.
"""

from __future__ import annotations

import posixpath
import re

__all__ = ["HOMES", "adapt", "relink"]

# Where a file of the repository is on the site, if that is not its place below `docs`.
HOMES = {
    "README.md": "index.md",
    "docs/README.md": "QUESTIONS.md",
    **{name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE")},
}
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
_TAGS = "a|autoref|br|code|details|div|em|img|p|picture|source|strong|sub|summary|sup|u"
_CODE_OR_BRACKET = re.compile(rf"`+[^`]+`+|<(?!/?(?:{_TAGS})\b[^,<]*>|https?:|!--)")
_LIST_BELOW_TEXT = re.compile(r"^(?![-*>|#\s]|\d+\. )(.+)\n(?=- |1\. )", re.MULTILINE)


def relink(markdown: str, source: str) -> str:
    """Return a page of the repository with its links as they are on the site.

    >>> relink("[a](../../CHANGELOG.md) [b](../README.md#words) ![c](c.png) [d](https://d.org)", "docs/guide/FILES.md")
    '[a](../CHANGELOG.md) [b](../QUESTIONS.md#words) ![c](c.png) [d](https://d.org)'
    >>> relink("[how](docs/science/HOW_IT_WORKS.md)", "CONTRIBUTING.md")
    '[how](science/HOW_IT_WORKS.md)'
    """
    here = posixpath.dirname(_home(source))

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[1]))
        return f"]({posixpath.relpath(_home(target), here or '.')}{found[2] or ''})"

    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in _FENCE.split(markdown))


def _home(source: str) -> str:
    """Return where a file of the repository is on the site."""
    return HOMES.get(source, source.removeprefix("docs/"))


def adapt(markdown: str) -> str:
    r"""Return Markdown as Python-Markdown has to have it, and examples as what they are: a session.

    >>> adapt("The mean <x, y> of `<x>`:\n- one\n- two<!-- note -->")
    'The mean &lt;x, y> of `<x>`:\n\n- one\n- two<!-- note -->'
    >>> adapt("```python\n>>> 1\n1\n\n```")
    '```pycon\n>>> 1\n1\n\n```'
    """
    parts = _FENCE.split(markdown)
    parts[::2] = [_CODE_OR_BRACKET.sub(_escape, _LIST_BELOW_TEXT.sub(r"\1\n\n", part)) for part in parts[::2]]
    parts[1::2] = [part.replace("```python\n>>>", "```pycon\n>>>") for part in parts[1::2]]
    return "".join(parts)


def _escape(found: re.Match[str]) -> str:
    return "&lt;" if found[0] == "<" else found[0]
