"""Pages of the reference: every public name has one home, and an index that leads there.

Functions, classes and packages have a page each, which mkdocstrings makes of their docstrings. Label types, methods
and engines have theirs in the textbook. Registries are in the index, with what is in them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import allalike
from allalike.readers.tools import TOOLS
from docstrings import read
from textbook import page_of

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["PACKAGES", "list_tools", "public_names", "reference_pages"]

PACKAGES = ("datasets", "errors", "noise", "simulation", "testing", "theory")


def public_names() -> dict[str, Any]:
    """Return what `import allalike` offers, by name."""
    return {name: getattr(allalike, name) for name in sorted(dir(allalike)) if not name.startswith("_")}


def reference_pages() -> dict[str, str]:
    """Return a page for each function, class and package, and the index of all public names."""
    names, textbook = public_names(), _textbook()
    functions = {name: thing for name, thing in names.items() if inspect.isroutine(thing)}
    classes = {name: thing for name, thing in names.items() if inspect.isclass(thing) and thing not in textbook}
    packages = {name: import_module(f"allalike.{name}") for name in PACKAGES}
    index = [
        "# Reference",
        "What `import allalike` offers. `help(allalike.discover)` shows the same in Python.",
        *_table("Functions", {f"../functions/{name}.md": (name, thing.__doc__) for name, thing in functions.items()}),
        *_table("Classes", {f"../classes/{name}.md": (name, thing.__doc__) for name, thing in classes.items()}),
        *_table(
            "Label types, methods and engines",
            {f"../{page}": (thing.__name__, thing.__doc__) for thing, page in textbook.items()},
        ),
        *_registries({name: thing for name, thing in names.items() if isinstance(thing, Mapping)}),
        *_table("Packages", {f"../packages/{name}.md": (name, package.__doc__) for name, package in packages.items()}),
    ]
    return {
        "reference/index.md": "\n\n".join(index) + "\n",
        **{f"functions/{name}.md": _object(name) for name in functions},
        **{f"classes/{name}.md": _object(name) for name in classes},
        **{f"packages/{name}.md": _package(package) for name, package in packages.items()},
    }


def list_tools() -> str:
    """Return a section on each tool whose exports are read, from the docstring of its reader."""
    tools = sorted(TOOLS.values(), key=lambda tool: tool.title.lower())
    parts = [f"### {tool.title}\n\n`--tool {tool.name}`. {read(tool.__doc__).text}" for tool in tools if tool.title]
    return "\n\n".join(["\n\n## Formats of exports", *parts]) + "\n"


def _object(name: str) -> str:
    return f"---\ntitle: {name}\n---\n\n::: allalike.{name}\n    options:\n      heading_level: 1\n"


def _textbook() -> dict[type, str]:
    """Return the page in the textbook of each class that has one there."""
    registries: dict[str, Mapping[str, type]] = {
        "domains": allalike.DOMAINS,
        "methods": allalike.METHODS,
        "engines": allalike.ENGINES,
    }
    return {some[name]: page_of(folder, name) for folder, some in registries.items() for name in some}


def _table(title: str, rows: Mapping[str, tuple[str, str | None]]) -> list[str]:
    lines = [f"| [`{name}`]({page}) | {read(docstring).summary} |" for page, (name, docstring) in rows.items()]
    return [f"## {title}", "\n".join(["| name | content |", "| --- | --- |", *lines])]


def _registries(registries: Mapping[str, Mapping[str, object]]) -> list[str]:
    lines = [f"| `{name}` | {', '.join(f'`{one}`' for one in some)} |" for name, some in registries.items()]
    return ["## Registries", "\n".join(["| name | entries |", "| --- | --- |", *lines])]


def _package(package: ModuleType) -> str:
    """Return the page of a package: its docstring, and the functions and classes that `allalike` itself lacks."""
    public = public_names()
    members = [
        name
        for name in package.__all__
        if (inspect.isroutine(thing := getattr(package, name)) or inspect.isclass(thing)) and name not in public
    ]
    blocks = [f"::: {package.__name__}.{name}" for name in members]
    return "\n\n".join([f"# {package.__name__}", read(package.__doc__).text, *blocks]) + "\n"
