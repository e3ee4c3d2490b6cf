"""The public face in words: every name, signature, method and field, and every command with its options.

`python tests/programs/public_api.py` writes it to `tests/public_api.txt`, which is committed, so that a change is seen
and meant.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import click

import allalike
from allalike.cli.app import app
from allalike.readers import ReadOptions

SNAPSHOT = Path(__file__).parents[1] / "public_api.txt"
PACKAGES = ("datasets", "errors", "noise", "simulation", "theory")  # reached as `allalike.theory`


def describe() -> str:
    """Return the public face, a line for each thing."""
    modules = [allalike, *(import_module(f"allalike.{name}") for name in PACKAGES)]
    things = {f"{module.__name__}.{name}": getattr(module, name) for module in modules for name in public_names(module)}
    first: dict[int, str] = {}
    lines: list[str] = []
    for name, thing in things.items():
        told = first.setdefault(id(thing), name)
        lines += [f"{name}: as {told}"] if told != name else describe_thing(name, thing, list(things.values()))
    return "\n".join([*lines, *describe_options(), *describe_command("allalike", app)]) + "\n"


def public_names(module: ModuleType) -> list[str]:
    return sorted(getattr(module, "__all__"))  # noqa: B009 (the stub of the package has no such name)


def describe_thing(name: str, thing: Any, others: list[Any]) -> Iterator[str]:
    if inspect.isclass(thing):
        bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
        yield f"class {name}{signature(thing)}" + (f", a kind of {bases}" if bases else "")
        yield from describe_members(thing, others)
    elif callable(thing):
        yield f"{name}{signature(thing)}"
    elif isinstance(thing, Mapping):
        yield f"{name}: {', '.join(map(str, thing))}"
    else:
        yield f"{name}: {type(thing).__name__}"


def describe_members(kind: type, others: list[Any]) -> Iterator[str]:
    """Describe what a class has that none of the described ones above it has in the same form."""
    homes = [home for home in kind.__mro__ if home.__module__.startswith("allalike")]
    names = {name for home in homes for name in vars(home) if not name.startswith("_")}
    names -= {field.name for field in fields(kind) if field.init} if is_dataclass(kind) else set()
    for name in sorted(names):
        member = describe_member(inspect.getattr_static(kind, name))
        above = [home for home in homes[1:] if home in others and hasattr(home, name)]
        if not above or describe_member(inspect.getattr_static(above[0], name)) != member:
            yield f"    .{name}{member}"


def describe_member(member: Any) -> str:
    if isinstance(member, property | cached_property):
        getter = member.fget if isinstance(member, property) else member.func
        return f" -> {inspect.signature(getter).return_annotation}" if getter else ""
    if isinstance(member, staticmethod | classmethod):
        return f"{signature(member.__func__)}, a {type(member).__name__}"
    return signature(member) if callable(member) else f": {type(member).__name__}"


def signature(thing: Any) -> str:
    try:
        found = inspect.signature(thing)
    except ValueError:  # a class of errors
        return "(...)"
    plain = [one.replace(annotation=Plain(one.annotation)) for one in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=Plain(found.return_annotation)))


class Plain:
    """An annotation, shown without quotes and module names, whether it is evaluated or not."""

    def __new__(cls, annotation: Any) -> Any:
        return annotation if annotation is inspect.Signature.empty else super().__new__(cls)

    def __init__(self, annotation: Any) -> None:
        text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        self.annotation = re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)

    def __repr__(self) -> str:
        return self.annotation


def describe_options() -> Iterator[str]:
    """Describe the options of reading, which `read`, `discover` and others have in common."""
    yield "ReadOptions"
    yield from (f"    {name}: {inspect.formatannotation(hint)}" for name, hint in get_type_hints(ReadOptions).items())


def describe_command(path: str, command: click.Command) -> Iterator[str]:
    yield f"$ {path}"
    for option in sorted(command.params, key=lambda option: (not isinstance(option, click.Argument), option.opts)):
        names = "/".join([*option.opts, *option.secondary_opts]) if isinstance(option, click.Option) else option.name
        several = getattr(option, "multiple", False) or option.nargs != 1
        facts = [option.type.name, *["required"] * option.required, *["several"] * several]
        default = option.default if isinstance(option.default, str | int | float) else None
        yield f"    {names}: {', '.join(facts)}" + (f" = {default}" if default else "")
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from describe_command(f"{path} {name}", command.commands[name])


if __name__ == "__main__":
    SNAPSHOT.write_text(describe(), encoding="utf-8")
