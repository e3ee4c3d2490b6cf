"""Page of a report: one HTML file without external files or network requests.

The template has no logic beyond loops and conditions, and escapes all values. The data of the tables are JSON in a
block that browsers do not run and that no character in the data can end. A Content-Security-Policy allows the script
and the style sheet of the page by their hashes, and embedded images. It forbids other scripts, `eval`, network
requests, frames and forms.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from allalike.report.content import describe
from allalike.report.report_data import compact

if TYPE_CHECKING:
    from collections.abc import Mapping

    import jinja2

    from allalike.report.report_data import Material


def make_template(text: str) -> jinja2.Template:
    """Return a template made from a text; values are escaped, and missing values raise an error.

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
    """Return the text of a template, a script or a style sheet of a package.

    >>> read_asset("style.css")[:5]
    ':root'
    """
    return (files(package) / "assets" / name).read_text("utf-8")


_STYLES = ("style.css", "page.css")
_SCRIPTS = ("elements.js", "labels.js", "tables.js", "panels.js", "pictures.js", "page.js")


def render(material: Material) -> str:
    """Return the HTML report of a result.

    >>> import allalike
    >>> page = render(allalike.discover([("ada", 1, "x"), ("<i>", 1, "y"), ("eve", 1, "x")])._material())
    >>> page[:15], "<i>" in page, "script-src 'sha256-" in page
    ('<!doctype html>', False, True)
    """
    content = describe(material)
    return write_page(content, content.pop("charts"))


def write_page(content: Mapping[str, Any], pictures: Mapping[str, str]) -> str:
    """Render the template with content and charts."""
    from markupsafe import Markup

    template = make_template(read_asset("page.html"))
    style, script = ("\n".join(map(read_asset, names)) for names in (_STYLES, _SCRIPTS))
    return template.render(
        **{name: value for name, value in content.items() if name != "data"},
        policy=Markup(find_policy(script, style)),  # nosec B704 # hashes
        pictures={name: Markup(svg) for name, svg in pictures.items()},  # nosec B704 # drawn from numbers and aliases
        style=Markup(style),  # nosec B704 # a file of this package
        script=Markup(script),  # nosec B704 # a file of this package
        data=Markup(compact(content["data"])),  # nosec B704 # JSON without <, > and &
        kind=content["data"]["kind"],
        data_people=content["data"]["people"],
        unit=content["data"]["unit"],
    )


def find_policy(script: str, style: str) -> str:
    """Return the Content-Security-Policy that allows one script and one style sheet, and no external content.

    >>> find_policy("", "")[:33]
    "default-src 'none'; script-src 's"
    """
    hashed = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    return (
        f"default-src 'none'; script-src 'sha256-{hashed[0]}'; style-src 'sha256-{hashed[1]}'; img-src data: blob:;"
        " base-uri 'none'; form-action 'none'"
    )
