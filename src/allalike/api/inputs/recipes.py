"""Recipes: how to read the answers of a saved result once more, as its summary tells it.

A summary says what the result is. Beside it, ``inputs`` names the files that the answers came from, and ``read`` how
they were read, as far as that is not the usual way: so the same answers can be looked at again. Answers that came from
Python objects have no recipe, nor have those with options that cannot be written, such as a distance of one's own.
"""

from __future__ import annotations

import json
import os
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.system.addresses import hide_in_word
from allalike.answers import Answers
from allalike.domains import DOMAINS, Domain
from allalike.readers import READ_OPTIONS, Scan, find_unusual, is_within, scan
from allalike.readers.formats.files import Files
from allalike.readers.label_maps import read_label_map
from allalike.readers.sources import find_inputs, is_passing, is_path

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["open_recipe", "read_domain", "read_scan", "write_domain", "write_recipe", "write_scan"]


_OF_DATABASES = ("query", "table")  # which say what to read, and not how; a stranger's query is not run


def write_recipe(
    source: Answers | Scan, gold: Any, gold_columns: Mapping[str, str] | None, history: Any, gold_map: Any = None
) -> dict[str, Any] | None:
    """Say from which files answers were read, and how; None where that cannot be said.

    >>> write_recipe(scan("/data/a.csv", repeats="last"), "column:truth", None, None)
    {'inputs': ['/data/a.csv'], 'read': {'repeats': 'last', 'gold': 'column:truth'}}
    >>> write_recipe(scan([("ada", 1, "x")]), None, None, None) is None
    True
    """
    how = vars(source) if isinstance(source, Scan) else {**vars(Scan(source=None)), **source.read_options}
    inputs = _name_inputs(source, how)
    further = {"label_map": how["label_map"], "gold": gold, "history": history}
    held = {**how, **vars(how["files"])}
    known = isinstance(source, Scan) or source.gold is None
    if not inputs or not known or not all(each is None or is_path(each) for each in further.values()):
        return None
    domain = source.domain if isinstance(source, Scan) else source.encoding.domain
    plain = {name: held[name] for name in READ_OPTIONS if name not in further}
    try:
        read = {
            **{name: _listed(value) for name, value in find_unusual(plain).items()},
            **({"choices": dict(how["choices"])} if how["choices"] else {}),
            **({"domain": write_domain(domain)} if domain is not None else {}),
            **{name: _name(each) for name, each in further.items() if each is not None},
            **({"gold_columns": dict(gold_columns)} if gold_columns else {}),
            **({"gold_map": _name_map(gold_map)} if gold_map is not None else {}),
            **({"per_task": True} if isinstance(source, Answers) and len(source.problems.sizes) > 1 else {}),
        }
        return {"inputs": inputs, "read": json.loads(json.dumps(read))}
    except (TypeError, ValueError):  # options that only Python can hold
        return None


def open_recipe(recipe: Mapping[str, Any]) -> tuple[Answers | Scan, dict[str, Any]]:
    """Return the answers of a recipe, and how `discover` is told of gold and history.

    >>> answers, known = open_recipe({"inputs": ["/data/a.csv"], "read": {"repeats": "last", "gold": "/data/gold.csv"}})
    >>> answers.source, answers.repeats, known
    (['/data/a.csv'], 'last', {'gold': '/data/gold.csv'})
    """
    read = dict(recipe["read"])
    known = {name: read.pop(name) for name in ("gold", "gold_columns", "gold_map", "history") if name in read}
    per_task, choices = read.pop("per_task", False), read.pop("choices", {})
    if "domain" in read:
        read["domain"] = read_domain(read["domain"])
    how: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in read.items()}
    source = replace(scan(list(recipe["inputs"]), **how), choices=choices)
    return (source.read().per_task() if per_task else source), known


def write_scan(how: Scan) -> dict[str, Any]:
    """Return how answers are read, as far as that is not the usual way, and what is in files written out.

    >>> write_scan(scan([], columns={"task": "photo"}, label_map={"y": "yes"}))
    {'columns': {'task': 'photo'}, 'label_map': [['y', 'yes']]}
    """
    held = {**vars(how), **vars(how.files)}
    plain = {name: held[name] for name in (*READ_OPTIONS, "golden") if name not in ("label_map", *_OF_DATABASES)}
    meant = [] if how.label_map is None else [list(pair) for pair in read_label_map(how.label_map).items()]
    read = {name: _listed(value) for name, value in find_unusual(plain).items()}
    return {**read, **({"label_map": meant} if meant else {})}


def read_scan(written: Mapping[str, Any]) -> Scan:
    """Return how answers were read, as it was written.

    >>> read_scan({"repeats": "last", "tool": "toloka"}).files.tool
    'toloka'
    """
    how: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in written.items()}
    if given := how.keys() & set(_OF_DATABASES):
        raise ValueError(f"{given} is not to be run again")
    files = Files(**{each.name: how.pop(each.name) for each in fields(Files) if each.name in how})
    return Scan(source=None, files=files, **{**how, "columns": dict(how.get("columns", {}))})


def _name_inputs(source: Answers | Scan, how: Mapping[str, Any]) -> list[str]:
    """Name the files of answers; those on other machines as they were."""
    if isinstance(source, Answers):
        further = set(find_inputs(how["label_map"])) if how["label_map"] is not None else set()
        return [str(path) for path in source.inputs if path not in further]
    names = source.source if isinstance(source.source, list | tuple) else [source.source]
    if not all(map(is_path, names)):
        return []
    return [path for name in names for path in (list(map(str, find_inputs(name))) or [hide_in_word(os.fspath(name))])]


def _name_map(gold_map: Any) -> Any:
    """Return a gold map that can be written: the whole path of a file, or the map itself."""
    from allalike.readers.gold_maps import is_written

    if is_path(gold_map) and not is_written(gold_map):
        return _name(gold_map)
    return dict(gold_map) if hasattr(gold_map, "items") else gold_map


def _name(path: Any) -> str:
    """Return the whole path of a file, or what people call it if it is there for the time being only."""
    name = str(path) if is_passing(path) else hide_in_word(os.fspath(path))
    return name if is_passing(path) or is_within(name) or "://" in name else str(Path(name).absolute())


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
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in written.items() if name != "name"
    }
    if "fields" in options:
        options["fields"] = [(name, kind and read_domain(kind)) for name, kind in options["fields"]]
    return DOMAINS[written["name"]](**options)
