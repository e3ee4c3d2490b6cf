"""Templates: pages as they are written, which escape whatever they are given, and the style that all pages share."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2

__all__ = ["make_template", "read_asset"]


def make_template(text: str) -> jinja2.Template:
    """Make a template of a text; what it is given is escaped, and what it is not given is an error.

    >>> make_template("<b>{{ name }}</b>").render(name="<i>")
    '<b>&lt;i&gt;</b>'
    """
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(text)


@cache
def read_asset(name: str, package: str = "allalike.report") -> str:
    """Return a file beside the pages of a package: a template, a script or a style sheet.

    >>> read_asset("style.css")[:5]
    ':root'
    """
    return (files(package) / "assets" / name).read_text("utf-8")
