"""Page: the one that a person drops her answers on, with its style and its script."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from allalike.report.templates import make_template, read_asset

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PAGE_POLICY", "REPORT_POLICY", "render_page", "render_script", "render_style"]

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# A report may come from a folder of somebody else: it has no origin, so that it cannot ask this server for anything.
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline';"
    " img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_LAYOUTS = {"tasks": "a matrix: one row per task", "workers": "a matrix: one row per worker"}

_read = partial(read_asset, package="allalike.serve")


def render_page(limit: int) -> str:
    """Return the page, with all methods and kinds of label that can be chosen.

    >>> '<option value="P-TD"' in render_page(1000)
    True
    """
    from allalike import __version__
    from allalike.domains import DOMAINS
    from allalike.methods import METHODS
    from allalike.readers.tools import TOOLS

    return make_template(_read("page.html")).render(
        version=__version__,
        limit=limit,
        layouts=_LAYOUTS,
        tools={name: tool.title for name, tool in TOOLS.items()},
        methods=_summaries(METHODS),
        domains={name: summary for name, summary in _summaries(DOMAINS).items() if name != "custom"},
    )


def _summaries(registry: Mapping[str, type]) -> dict[str, str]:
    return {name: str(getattr(kind, "summary", "")) for name, kind in registry.items()}


def render_style() -> str:
    """Return the style that it shares with reports, and its own.

    >>> render_style()[:5]
    ':root'
    """
    return read_asset("style.css") + _read("page.css")


def render_script() -> str:
    """Return its script.

    >>> render_script()[:12]
    '"use strict"'
    """
    return _read("page.js")
