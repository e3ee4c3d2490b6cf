"""Registries of classes by name, with suggestions for misspelled names."""

from __future__ import annotations

import dataclasses
import warnings
from collections import UserDict
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple, TypeVar, cast

from allalike._core.options import check_length
from allalike.errors import AliasWarning, OptionError, PluginError, UnknownNameError

T = TypeVar("T")


class Alias(NamedTuple):
    """A name used by other packages, the equivalent name in allalike if there is one, and a remark."""

    name: str
    ours: str
    details: str = ""


class Registry(UserDict[str, type[T]]):
    """Our classes of one kind by name, and after them the classes of other packages.

    Our classes are written as ``module:Class`` and imported at first use. Another package registers a class with an
    entry point in the group ``allalike.methods`` or ``allalike.domains``, under the class's own name. Such a class is
    imported by name (`find`, `make`, `choose`), or when `everything` is listed. As a mapping, a registry contains only
    our classes.
    """

    def __init__(
        self, kind: str, base: Any, package: str, homes: Mapping[str, str], elsewhere: Iterable[Alias] = ()
    ) -> None:
        super().__init__(cast("Mapping[str, type[T]]", homes))
        self.kind, self.base, self.package, self.homes = kind, base, package, homes
        self.elsewhere = {_letters(alias.name): alias for alias in elsewhere}

    def __getitem__(self, name: str) -> type[T]:
        found: Any = self.data[name]
        if isinstance(found, str):
            home, _, called = found.partition(":")
            found = self.data[name] = getattr(import_module(f"{self.package}.{home}"), called)
        return cast("type[T]", found)

    def __repr__(self) -> str:
        return f"<{self.kind}s {', '.join(self)}>"

    def find_class(self, called: str) -> type[T]:
        """Return the class with this Python name; the package uses this as its ``__getattr__``."""
        for name, home in self.homes.items():
            if home.endswith(f":{called}"):
                return self[name]
        raise AttributeError(f"module {self.package!r} has no attribute {called!r}")

    def everything(self) -> dict[str, type[T]]:
        """Return our classes and those of other packages, with a warning for each unusable one."""
        found = dict(self)
        for name, point in self.offered().items():
            try:
                found[name] = self.load(point)
            except PluginError as error:
                warnings.warn(str(error), stacklevel=2)
        return found

    def offered(self) -> dict[str, EntryPoint]:
        """Return the entry points of other packages, except for names that we use."""
        from importlib.metadata import entry_points

        points = entry_points(group=f"allalike.{self.kind}s")
        return {point.name: point for point in reversed(list(points)) if point.name not in self}

    def load(self, point: EntryPoint) -> type[T]:
        """Import a class of another package, and check it."""
        package = f"the package {point.dist.name}" if point.dist else "another package"
        offer = f"The {self.kind} {point.name!r} of {package} ({point.value})"
        try:
            cls = point.load()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise PluginError(f"{offer} cannot be imported: {reason}. Repair or remove the package.") from error
        if not isinstance(cls, type) or not issubclass(cls, self.base):
            raise PluginError(f"{offer} is not a subclass of allalike.{self.base.__name__}. Repair or remove it.")
        if (called := getattr(cls, "name", None)) != point.name:
            raise PluginError(f"{offer} has the name {called!r}. Give the class and its entry point one name.")
        return cls


def find(name: str, known: Mapping[str, T], kind: str) -> T:
    """Return the entry with this name, ignoring case.

    >>> find("p-td", {"P-TD": 1}, "method")
    1
    >>> find("PTD", {"UA": 0, "P-TD": 1}, "method")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No method is called 'PTD'. Did you mean 'P-TD'? Known methods: UA, P-TD.
    """
    if match := _match(name, known):
        return known[match]
    offered: dict[str, EntryPoint] = {}
    if isinstance(known, Registry):
        offered = known.offered()
        if match := _match(name, offered):
            return cast("T", known.load(offered[match]))
    alias = _find_alias(name, known)
    if alias and alias.ours:
        return known[alias.ours]
    names = [*known, *offered]
    hint = f" {alias.details}" if alias else did_you_mean(name, names)
    raise UnknownNameError(f"No {kind} is called {name!r}.{hint} Known {kind}s: {', '.join(names)}.")


def explain_name(given: Any, known: Mapping[str, Any]) -> str | None:
    """Return the message for another package's name that is replaced by ours.

    >>> from allalike.methods import METHODS
    >>> explain_name("KOS(max_iter=3)", METHODS)
    'KOS is called IBP here (with first messages of 1 instead of random ones).'
    """
    name = given.partition("(")[0] if isinstance(given, str) else ""
    alias = None if _match(name.strip(), known) else _find_alias(name, known)
    if alias is None or not alias.ours:
        return None
    return f"{alias.name} is called {alias.ours} here{alias.details and ' '}{alias.details}."


def _find_alias(name: str, known: Mapping[str, Any]) -> Alias | None:
    return known.elsewhere.get(_letters(name)) if isinstance(known, Registry) else None


def _letters(name: str) -> str:
    return "".join(mark for mark in name.casefold() if mark.isalnum())


def _match(name: str, known: Iterable[str]) -> str | None:
    return {key.casefold(): key for key in known}.get(name.casefold())


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion if a known name is similar, else an empty text.

    >>> did_you_mean("meen", ["mean", "median"])
    " Did you mean 'mean'?"
    """
    close = find_close(name, known)
    return f" Did you mean {close!r}?" if close is not None else ""


def find_close(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar known name, or None if no name is similar."""
    import difflib

    plain = {key.casefold(): key for key in known}
    close = difflib.get_close_matches(name.casefold(), plain, n=1)
    return plain[close[0]] if close else None


def make(spec: str, known: Mapping[str, type[T]], kind: str) -> T:
    """Construct an object from a class name with options in brackets.

    >>> from allalike.methods import METHODS
    >>> make("iP-TD(max_iter=3)", METHODS, "method").max_iter
    3
    >>> from allalike.domains import DOMAINS
    >>> make("ordinal(levels=[poor, fair, good])", DOMAINS, "domain").levels
    ('poor', 'fair', 'good')
    """
    check_length(spec, f"The {kind}")
    name, bracket, text = spec.strip().partition("(")
    name = name.strip()
    if not name or ")" in name or (bracket and not text.endswith(")")):
        raise UnknownNameError(f"{spec!r} is not the name of a {kind}. Known {kind}s: {', '.join(known)}.")
    cls: Any = find(name, known, kind)
    options = _parse_options(text[:-1], spec)
    fields = [field.name for field in dataclasses.fields(cls) if field.init]
    for option in options:
        if option not in fields:
            has = f"Its options are: {', '.join(fields)}." if fields else "It has no options."
            raise OptionError(f"{kind.capitalize()} {cls.name} has no option {option!r}. {has}")
    return cast("T", cls(**options))


def _parse_options(text: str, spec: str) -> dict[str, Any]:
    import ast

    def read(value: ast.expr) -> Any:
        if isinstance(value, ast.List | ast.Tuple):
            return [read(each) for each in value.elts]
        return value.id if isinstance(value, ast.Name) else ast.literal_eval(value)  # an unquoted word is a string

    try:
        call = ast.parse("f({})".format(text.replace("\\", r"\\")), mode="eval").body  # backslashes do not escape
        if isinstance(call, ast.Call) and not call.args and all(word.arg for word in call.keywords):
            return {str(word.arg): read(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise OptionError(f"The options in {spec!r} cannot be read. Write them as name(option=value, option='word').")


def choose(given: Any, known: Mapping[str, type[T]], kind: str, base: type[T]) -> T:
    """Return an object unchanged, or construct it from its class or name."""
    if isinstance(given, str):
        if note := explain_name(given, known):
            warnings.warn(AliasWarning(note), stacklevel=3)
        return make(given, known, kind)
    if isinstance(given, type) and issubclass(given, base):
        return given()
    if isinstance(given, base):
        return given
    raise OptionError(f"{given!r} is not a valid {kind}. Use one of {', '.join(known)}, or a {base.__name__} object.")
