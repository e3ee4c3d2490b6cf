"""Recipes: how answers are read, and of what kind they are, as a saved result keeps it to read more of them.

Only what is not usual is written. What Python alone can hold, such as a distance of one's own, is a `TypeError`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from allalike.domains import DOMAINS, Domain
from allalike.readers import READ_OPTIONS, Scan, find_unusual
from allalike.readers.formats.files import Files
from allalike.readers.label_maps import read_label_map

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["read_domain", "read_scan", "write_domain", "write_scan"]

_OF_DATABASES = ("query", "table")  # which say what to read, and not how; a stranger's query is not run
_KEPT = (*(name for name in READ_OPTIONS if name not in _OF_DATABASES), "golden")


def write_scan(how: Scan) -> dict[str, Any]:
    """Return how answers are read, as far as that is not the usual way, and what is in files written out.

    >>> from allalike import scan
    >>> write_scan(scan([], columns={"task": "photo"}, label_map={"y": "yes"}))
    {'columns': {'task': 'photo'}, 'label_map': [['y', 'yes']]}
    """
    held = {**vars(how), **vars(how.files)}
    plain = {name: held[name] for name in _KEPT if name != "label_map"}
    meant = [] if how.label_map is None else [list(pair) for pair in read_label_map(how.label_map).items()]
    read = {name: _listed(value) for name, value in find_unusual(plain).items()}
    return {**read, **({"label_map": meant} if meant else {})}


def read_scan(written: Mapping[str, Any]) -> Scan:
    """Return how answers were read, as it was written; a label map is a mapping then, which names no file.

    >>> read_scan({"repeats": "last", "tool": "toloka"}).files.tool
    'toloka'
    """
    if strange := written.keys() - set(_KEPT):
        raise ValueError(f"{sorted(strange)} are not options that a saved result has")
    how: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in written.items()}
    if "label_map" in how:
        how["label_map"] = dict(how["label_map"])
    files = Files(**{each.name: how.pop(each.name) for each in fields(Files) if each.name in how})
    return Scan(source=None, files=files, **{**how, "columns": dict(how.get("columns", {}))})


def _unusual(options: Any, usual: Any) -> dict[str, Any]:
    names = [field.name for field in fields(options) if field.init]
    return {name: getattr(options, name) for name in names if getattr(options, name) != getattr(usual, name)}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else dict(value) if hasattr(value, "items") else value


def write_domain(domain: Domain) -> dict[str, Any]:
    """Return a domain as a recipe has it: its name, and the options that are not the usual ones.

    >>> from allalike import Real
    >>> write_domain(Real(bias=True))
    {'name': 'real', 'bias': True}
    """
    own = DOMAINS.get(domain.name)
    if own is not type(domain):
        raise TypeError(f"{domain.name} is a domain of the user's own")
    parts = [[name, kind and write_domain(kind)] for name, kind in (domain.record.fields if domain.record else ())]
    return {"name": domain.name, **_unusual(domain, own()), **({"fields": parts} if parts else {})}


def read_domain(written: Mapping[str, Any]) -> Domain:
    """Return the domain that was written.

    >>> read_domain({"name": "real", "bias": True}).bias
    True
    """
    if not all(isinstance(written.get(name, ""), str) for name in ("rule", "distance")):
        raise TypeError("a rule and a distance are names")
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in written.items() if name != "name"
    }
    if "fields" in options:
        options["fields"] = [(name, kind and read_domain(kind)) for name, kind in options["fields"]]
    return DOMAINS[written["name"]](**options)
