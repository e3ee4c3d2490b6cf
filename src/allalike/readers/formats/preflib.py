"""PrefLib's files of orders and of categories, the format of the library of preference data (preflib.org).

A header of lines such as ``# ALTERNATIVE NAME 1: tea`` is followed by one line per order, ``12: 1,3,2``: twelve voters
put alternative 1 first, then 3, then 2. Orders are strict and complete in ``.soc``; in ``.toc`` they may have ties
(``1,{2,3}``), in ``.soi`` gaps, and in ``.toi`` both. Voters have no names in such a file, so a voter of one file is
nobody in another: a worker's id is the name of the file and a number. The task is the file. Items are the names of the
alternatives, or their numbers where names are missing or not unique. Alternatives that a voter leaves out are gaps in
the ranking: unknown to it, or the last, as the domain says (``ranking(gaps=last)``).

In ``.cat`` voters sort alternatives into categories, from the most to the least preferred: ``12: 1,{},{2,3}`` has
alternative 1 in the first category and nothing in the second. There every alternative is a task, and the name of its
category the label. Three categories or more are levels of a scale, and two are classes. Alternatives that a voter
leaves out have no answer, and neither have those in a category such as "no answer".
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import arrow_of
from allalike._core.late import pa
from allalike._core.limits import MAX_VOTERS
from allalike.domains import DOMAINS
from allalike.errors import InputError, LabelError, TooLargeError
from allalike.readers.formats.tables import Table
from allalike.readers.rating_scales import NO_OPINION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

_NAME = re.compile(r"(ALTERNATIVE|CATEGORY) NAME (\d{1,15})")
_ORDER = re.compile(r"(\d{1,15})\s*:\s*(.+)")
_LONG_NUMBER = re.compile(r"\d{16}")
_PLACES = re.compile(r"(?:\{[\d,]*\}|\d+)(?:,(?:\{[\d,]*\}|\d+))*")
_BETWEEN = re.compile(r"\d\s+\d")
_MOST_CATEGORIES = 100
_NO_ANSWER = NO_OPINION | {"abstain", "abstained", "abstention", "absent", "conflict", "unranked", "unrated"}


@dataclass
class _Votes:
    """The header, the names of alternatives and categories, and the orders with their numbers of voters."""

    header: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    orders: list[list[list[str]]] = field(default_factory=list)  # places, and the items at each


def open_soc(path: Path) -> Table:
    r"""Open a PrefLib file of strict complete orders: one task, and a worker for each voter.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "drinks.soc")
    ...     _ = path.write_text("# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: milk\n2: 2,1\n1: 1,2\n")
    ...     table = open_soc(path)
    >>> {name: values.to_pylist() for name, values in table.load(["worker", "label"]).items()}
    {'worker': ['drinks:1', 'drinks:2', 'drinks:3'], 'label': ['milk>tea', 'milk>tea', 'tea>milk']}
    """
    votes = _read(path, _add)
    _check(path, votes, "soc")
    return _table(path, votes)


def open_orders(path: Path) -> Table:
    r"""Open a PrefLib file of orders that may have ties and gaps.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "drinks.toi")
    ...     _ = path.write_text("# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: milk\n2: {2,1}\n1: 1\n")
    ...     open_orders(path).load(["label"])["label"].to_pylist()
    ['milk=tea', 'milk=tea', 'tea']
    """
    votes = _read(path, _add_loosely)
    _check(path, votes, "soc", "soi", "toc", "toi")
    return _table(path, votes)


def open_categories(path: Path) -> Table:
    r"""Open a PrefLib file of categories: a task for each alternative, and a worker for each voter.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "drinks.cat")
    ...     _ = path.write_text("# CATEGORY NAME 1: Yes\n# CATEGORY NAME 2: No\n2: 2,1\n1: {1,2},{}\n")
    ...     table = open_categories(path)
    >>> table.load(["label"])["label"].to_pylist()
    ['Yes', 'No', 'Yes', 'No', 'Yes', 'Yes']
    """
    votes = _read(path, _add_loosely)
    _check(path, votes, "cat")
    stem = path.name.split(".")[0]
    labels = _name_categories(path, votes)
    left_out = {place for place, label in enumerate(labels) if label.strip().casefold() in _NO_ANSWER}
    levels = [label for place, label in enumerate(labels) if place not in left_out]
    orders = [[[] if place in left_out else items for place, items in enumerate(order)] for order in votes.orders]
    n_answers = sum(count * sum(map(len, order)) for count, order in zip(votes.counts, orders, strict=True))
    if not n_answers:
        raise InputError(f"{path} holds no votes: all alternatives are in categories that mean no answer.")
    if n_answers > MAX_VOTERS:
        raise TooLargeError(f"{path} has {n_answers:,} answers. At most {MAX_VOTERS:,} can be taken one by one.")
    names = _find_names(votes) or {item: f"{stem}:{item}" for order in orders for place in order for item in place}
    make: Any = DOMAINS["ordinal"]
    domain = make(levels=tuple(reversed(levels))) if len(levels) > 2 else "categorical"
    remarks = tuple(f"The category {labels[place]!r} means no answer, and is excluded." for place in sorted(left_out))

    def load(asked: Sequence[str]) -> dict[str, Any]:
        return _load_categories(stem, votes.counts, orders, names, labels, asked)

    return Table(["worker", "task", "label"], load, str(path), domain=domain, remarks=remarks)


def _name_categories(path: Path, votes: _Votes) -> list[str]:
    """Return the name of each category, or its number where names are missing or not unique."""
    said = votes.header.get("NUMBER CATEGORIES", "")
    numbers = [int(number) for number in votes.categories]
    known = int(said) if said.isdecimal() and len(said) <= 3 else max(numbers, default=0)
    number = known or max(map(len, votes.orders))
    if number > _MOST_CATEGORIES:
        raise InputError(f"{path} has {number:,} categories, and {_MOST_CATEGORIES} are the most. Is it a .soc file?")
    odd = next((order for order in votes.orders if len(order) != number), None)
    if odd is not None:
        raise InputError(
            f"{path} has {number} categories, but a line of it has {len(odd)}. Write {{}} for a category without"
            " alternatives, and correct NUMBER CATEGORIES if it is wrong."
        )
    names = [votes.categories.get(str(place), "") for place in range(1, number + 1)]
    return names if all(names) and len(set(names)) == number else [str(place) for place in range(1, number + 1)]


def _load_categories(
    stem: str,
    counts: Sequence[int],
    orders: Sequence[list[list[str]]],
    names: Mapping[str, str],
    labels: Sequence[str],
    asked: Sequence[str],
) -> dict[str, Any]:
    tasks = {item: place for place, item in enumerate(names)}
    width, voters = len(str(sum(counts))), np.repeat(np.arange(len(counts)), counts)
    sizes = np.array([sum(map(len, order)) for order in orders], np.int64)[voters]
    lines = [
        np.array([(tasks[item], place) for place, items in enumerate(order) for item in items], np.int64).reshape(-1, 2)
        for order in orders
    ]
    cells = np.concatenate([np.tile(line, (count, 1)) for line, count in zip(lines, counts, strict=True)])
    columns: dict[str, Callable[[], tuple[list[str], Any]]] = {
        "worker": lambda: (
            [f"{stem}:{number:0{width}d}" for number in range(1, len(voters) + 1)],
            np.repeat(np.arange(len(voters)), sizes),
        ),
        "task": lambda: (list(names.values()), cells[:, 0]),
        "label": lambda: (list(labels), cells[:, 1]),
    }
    made = {name: columns[name]() for name in asked}
    return {name: pa.array(values, pa.large_string()).take(arrow_of(place)) for name, (values, place) in made.items()}


def _table(path: Path, votes: _Votes) -> Table:
    labels, stem = _labels(votes), path.name.split(".")[0]

    def load(asked: Sequence[str]) -> dict[str, Any]:
        n_voters = sum(votes.counts)
        width = len(str(n_voters))
        order = np.repeat(np.arange(len(labels)), votes.counts)
        columns = {
            "worker": lambda: pa.array([f"{stem}:{number:0{width}d}" for number in range(1, n_voters + 1)]),
            "task": lambda: pa.array([stem]).take(arrow_of(np.zeros(n_voters, np.int64))),
            "label": lambda: pa.array(labels).take(arrow_of(order)),
        }
        return {name: columns[name]() for name in asked}

    return Table(["worker", "task", "label"], load, str(path), domain="ranking")


def _read(path: Path, add: Callable[[Path, int, str, _Votes], None]) -> _Votes:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig") as file:
            return _read_lines(path, file, add)
    except (UnicodeDecodeError, EOFError) as error:
        raise InputError(f"{path} cannot be read as PrefLib's text: {error}.") from error


def _read_lines(path: Path, lines: Iterable[str], add: Callable[[Path, int, str, _Votes], None]) -> _Votes:
    votes = _Votes()
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line.startswith("#"):
            key, _, value = map(str.strip, line[1:].partition(":"))
            if name := _NAME.fullmatch(key):
                named = votes.names if name[1] == "ALTERNATIVE" else votes.categories
                named[str(int(name[2]))] = value
            elif key:
                votes.header[key] = value
        elif line:
            add(path, number, line, votes)
    return votes


def _add(path: Path, number: int, line: str, votes: _Votes) -> None:
    """Read a line of voters and their order."""
    where = f"Line {number} of {path}"
    if "{" in line:
        raise LabelError(f"{where} has ties: {line[:60]!r}. A file of orders with ties is called .toc, or .toi.")
    entry = _ORDER.fullmatch(line)
    order = [item.strip() for item in entry[2].split(",")] if entry else []
    if not entry or not all(item.isdecimal() for item in order) or _LONG_NUMBER.search(line):
        raise InputError(f"{where} is not of the form 'voters: 1,2,3': {line[:60]!r}.")
    order = [str(int(item)) for item in order]
    _check_once(where, order)
    first = [item for place in votes.orders[0] for item in place] if votes.orders else order
    every = set(votes.names) or set(first)
    if set(order) != every:
        odd = sorted(set(order) ^ every, key=int)
        raise LabelError(
            f"{where} does not rank the same alternatives as the others do: they differ in {', '.join(odd[:6])}."
            " A file of orders with gaps is called .soi, or .toi."
        )
    votes.counts.append(int(entry[1]))
    votes.orders.append([[item] for item in order])


def _add_loosely(path: Path, number: int, line: str, votes: _Votes) -> None:
    """Read a line of voters and their order, which may have ties and gaps, or their categories."""
    where, entry = f"Line {number} of {path}", _ORDER.fullmatch(line)
    written = "".join(entry[2].split()) if entry and not _BETWEEN.search(entry[2]) else ""
    if not entry or not _PLACES.fullmatch(written) or _LONG_NUMBER.search(line):
        raise InputError(f"{where} is not of the form 'voters: 1,{{2,3}}': {line[:60]!r}.")
    order = [str(int(item)) for item in re.findall(r"\d+", written)]
    _check_once(where, order)
    if odd := [item for item in order if votes.names and item not in votes.names]:
        raise LabelError(f"{where} has alternative {odd[0]}, which has no name in the head of the file.")
    places = [re.findall(r"\d+", place) for place in re.findall(r"\{[^}]*\}|\d+", written)]
    votes.counts.append(int(entry[1]))
    votes.orders.append([[str(int(item)) for item in place] for place in places])


def _check_once(where: str, order: list[str]) -> None:
    if len(set(order)) < len(order):
        twice = next(item for item, times in Counter(order).items() if times > 1)
        raise LabelError(f"{where} has alternative {twice} twice.")


def _check(path: Path, votes: _Votes, *kinds: str) -> None:
    kind = votes.header.get("DATA TYPE", kinds[0]).lower()
    if kind not in kinds:
        raise LabelError(f"{path} holds {kind!r} data. Its name should end with .{kind}.")
    n_voters = sum(votes.counts)
    if not n_voters or not any(map(any, votes.orders)):
        raise InputError(f"{path} holds no votes: no line such as '2: 1,{{2,3}}' has voters and alternatives.")
    said = votes.header.get("NUMBER VOTERS", "")
    if said.isdecimal() and not _LONG_NUMBER.search(said) and int(said) != n_voters:
        raise InputError(f"{path} says that it has {int(said):,} voters, but its lines have {n_voters:,}.")
    if n_voters > MAX_VOTERS:
        raise TooLargeError(f"{path} has {n_voters:,} voters. At most {MAX_VOTERS:,} can be taken one by one.")


def _labels(votes: _Votes) -> list[str]:
    """Write the orders with '>' and '=', or as JSON if a name would be misread."""
    names = _find_names(votes)
    orders = [[[names.get(item, item) for item in place] for place in order if place] for order in votes.orders]
    plain = not any(mark in item for item in names.values() for mark in "<>=~{}[,;|")
    return [_written(order, plain=plain) for order in orders]


def _find_names(votes: _Votes) -> dict[str, str]:
    """Return the names of alternatives, if all have one of their own."""
    unique = len(set(votes.names.values())) == len(votes.names) and all(votes.names.values())
    return votes.names if unique else {}


def _written(order: list[list[str]], *, plain: bool) -> str:
    if plain:
        return ">".join("=".join(place) for place in order)
    return json.dumps([place[0] if len(place) == 1 else place for place in order], ensure_ascii=False)
