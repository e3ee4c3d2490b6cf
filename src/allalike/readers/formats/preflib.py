"""PrefLib files of rankings and categories, the format of the library of preference data (preflib.org).

A header of lines such as ``# ALTERNATIVE NAME 1: tea`` is followed by one line per ranking. In ``12: 1,3,2``, twelve
voters rank alternative 1 first, then 3, then 2. Rankings are strict and complete in ``.soc``. In ``.toc`` they may have
ties (``1,{2,3}``), in ``.soi`` omissions, and in ``.toi`` both. Voters are anonymous, so a worker's id is the file name
and a number. The file is the task. Items are the names of the alternatives, or their numbers if names are missing or
not unique.

In ``.cat`` voters sort alternatives into categories, from the most to the least preferred. ``12: 1,{},{2,3}`` has
alternative 1 in the first category and none in the second. Every alternative is a task, and the name of its category is
the label: a level of a scale, or one of two classes. An alternative without a category, or in one such as "no answer",
has no answer.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import arrow_of
from allalike._core.lazy_imports import pa
from allalike._core.limits import MAX_VOTERS
from allalike.domains import DOMAINS
from allalike.errors import InputError, LabelError, TooLargeError
from allalike.readers.formats.compression import inner_path
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.source import Source
from allalike.readers.rating_scales import NO_OPINION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files

_NAME = re.compile(r"(ALTERNATIVE|CATEGORY) NAME (\d{1,15})")
_PLACE = r"(?:\{(?:\d{1,15}(?:,\d{1,15})*)?\}|\d{1,15})"
_LINE = re.compile(rf"(\d{{1,15}}):({_PLACE}(?:,{_PLACE})*)")
_MAX_CATEGORIES = 100
_NO_ANSWER = NO_OPINION | {"abstain", "abstained", "abstention", "absent", "conflict", "unranked", "unrated"}


@dataclass
class _Votes:
    header: dict[str, str] = field(default_factory=dict)
    names: dict[str, dict[str, str]] = field(default_factory=lambda: {"ALTERNATIVE": {}, "CATEGORY": {}})
    counts: list[int] = field(default_factory=list)
    orders: list[list[list[str]]] = field(default_factory=list)  # places, and the alternatives at each


def open_votes(path: Path, files: Files) -> Source:
    """Open a PrefLib file: rankings of alternatives, or alternatives in categories."""
    kind, stem = inner_path(path).suffix.lower()[1:], path.name.split(".")[0]
    votes = _read(path, files, (kind,) if kind in ("soc", "cat") else ("soc", "soi", "toc", "toi"))
    names = votes.names["ALTERNATIVE"]
    if len(set(names.values())) < len(names) or not all(names.values()):
        names = {}  # alternatives are identified by their numbers
    if kind != "cat":
        labels = _write_orders(votes.orders, names)
        lines = [[(0, number)] for number in range(len(labels))]
        return _make_table(path, votes.counts, lines, [stem], labels, domain="ranking")
    labels = _name_categories(path, votes)
    levels = [label for label in labels if label.strip().casefold() not in _NO_ANSWER]
    items = names or {item: f"{stem}:{item}" for order in votes.orders for place in order for item in place}
    tasks = {item: number for number, item in enumerate(items)}
    lines = [
        [(tasks[item], place) for place, label in enumerate(labels) if label in levels for item in order[place]]
        for order in votes.orders
    ]
    if not any(lines):
        raise InputError(f"{path} contains no votes: all alternatives are in categories that mean no answer.")
    make: Any = DOMAINS["ordinal"]
    domain = make(levels=tuple(reversed(levels))) if len(levels) > 2 else "categorical"
    remarks = [f"The category {label!r} means no answer, and is excluded." for label in labels if label not in levels]
    return _make_table(path, votes.counts, lines, list(items.values()), labels, domain=domain, remarks=remarks)


def _write_orders(orders: Sequence[list[list[str]]], names: dict[str, str]) -> list[str]:
    """Return rankings as labels, written with '>' and '=', or as JSON if a name contains such a mark."""
    named = [[[names.get(item, item) for item in place] for place in order if place] for order in orders]
    if not any(mark in name for name in names.values() for mark in "<>=~{}[,;|"):
        return [">".join(map("=".join, order)) for order in named]
    single = [[place[0] if len(place) == 1 else place for place in order] for order in named]
    return [json.dumps(order, ensure_ascii=False) for order in single]


def _make_table(
    path: Path, counts: list[int], lines: list[list[tuple[int, int]]], tasks: list[str], labels: list[str], **more: Any
) -> Source:
    """Make a table of lines, each with its number of voters and their pairs of task and label."""
    sizes, n_voters = list(map(len, lines)), sum(counts)
    n_answers = max(n_voters, sum(count * size for count, size in zip(counts, sizes, strict=True)))
    if n_answers > MAX_VOTERS:
        raise TooLargeError(f"{path} has {n_answers:,} answers, and the limit is {MAX_VOTERS:,}. Split the file.")

    def read(asked: Sequence[str], _: int | None) -> dict[str, Any]:
        pairs = [np.tile(np.array(line).reshape(-1, 2), (n, 1)) for line, n in zip(lines, counts, strict=True)]
        places = dict(zip(("task", "label"), np.concatenate(pairs).astype(np.int64).T, strict=True))
        names = {"task": tasks, "label": labels}
        if "worker" in asked:
            stem, width = path.name.split(".")[0], len(str(n_voters))
            names["worker"] = [f"{stem}:{number:0{width}d}" for number in range(1, n_voters + 1)]
            places["worker"] = np.repeat(np.arange(n_voters), np.repeat(sizes, counts))
        return {name: pa.array(names[name], pa.large_string()).take(arrow_of(places[name])) for name in asked}

    return Source(["worker", "task", "label"], read, str(path), **more)


def _read(path: Path, files: Files, kinds: tuple[str, ...]) -> _Votes:
    """Read and check a file of one of these kinds; only rankings of ``soc`` must be strict and complete."""
    votes = _Votes()
    text = read_text(path, files.encoding or "utf-8")
    for number, line in enumerate(map(str.strip, io.StringIO(text, newline=None)), start=1):
        key, _, value = map(str.strip, line[1:].partition(":"))
        if not line.startswith("#"):
            if line:
                _add(votes, line, f"Line {number} of {path}", strict=kinds == ("soc",))
        elif name := _NAME.fullmatch(key):
            votes.names[name[1]][str(int(name[2]))] = value
        else:
            votes.header[key] = value
    kind = votes.header.get("DATA TYPE", kinds[0]).lower()
    if kind not in kinds:
        raise LabelError(f"{path} contains {kind!r} data. Rename it to end with .{kind}.")
    n_voters = sum(votes.counts)
    if not n_voters or not any(map(any, votes.orders)):
        raise InputError(f"{path} contains no votes: no line such as '2: 1,{{2,3}}' has voters and alternatives.")
    known = votes.header.get("NUMBER VOTERS", "")
    if known.isdecimal() and len(known) <= 15 and int(known) != n_voters:
        raise InputError(
            f"{path} has {int(known):,} voters by its header, but its lines have {n_voters:,}. Correct it."
        )
    return votes


def _add(votes: _Votes, line: str, where: str, *, strict: bool) -> None:
    """Add a line: a number of voters, and their ranking or categories."""
    if strict and "{" in line:
        raise LabelError(f"{where} has ties: {line[:60]!r}. Rename a file of rankings with ties to .toc, or .toi.")
    entry = _LINE.fullmatch(re.sub(r"\s*([:,{}])\s*", r"\1", line))
    if not entry:
        raise InputError(f"{where} is not of the form 'voters: 1,{'2,3' if strict else '{2,3}'}': {line[:60]!r}.")
    places = re.findall(r"\{[^}]*\}|\d+", entry[2])
    order = [[str(int(item)) for item in re.findall(r"\d+", place)] for place in places]
    items = [item for place in order for item in place]
    if twice := [item for item, times in Counter(items).items() if times > 1]:
        raise LabelError(f"{where} has alternative {twice[0]} twice. Remove one of them.")
    known = set(votes.names["ALTERNATIVE"])
    if strict:
        every = known or {item for place in (votes.orders or [order])[0] for item in place}
        if odd := sorted(set(items) ^ every, key=int):
            raise LabelError(
                f"{where} does not rank the same alternatives as the other lines: they differ in {', '.join(odd[:6])}."
                " Rename a file of rankings with gaps to .soi, or .toi."
            )
    elif unknown := [item for item in items if known and item not in known]:
        raise LabelError(f"{where} has alternative {unknown[0]}, which has no name in the header. Add its name.")
    votes.counts.append(int(entry[1]))
    votes.orders.append(order)


def _name_categories(path: Path, votes: _Votes) -> list[str]:
    """Return the names of the categories, or their numbers if names are missing or not unique."""
    named, known = votes.names["CATEGORY"], votes.header.get("NUMBER CATEGORIES", "")
    number = int(known) if known.isdecimal() and len(known) <= 3 else max(map(int, named), default=0)
    number = number or max(map(len, votes.orders))
    if number > _MAX_CATEGORIES:
        raise InputError(f"{path} has {number:,} categories, and the limit is {_MAX_CATEGORIES}. Is it a .soc file?")
    if odd := [len(order) for order in votes.orders if len(order) != number]:
        raise InputError(
            f"{path} has {number} categories, but a line of it has {odd[0]}. Write {{}} for a category without"
            " alternatives, and correct NUMBER CATEGORIES if it is wrong."
        )
    numbers = [str(place) for place in range(1, number + 1)]
    names = [named.get(place, "") for place in numbers]
    return names if all(names) and len(set(names)) == number else numbers
