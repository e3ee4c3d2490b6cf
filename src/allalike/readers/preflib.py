"""PrefLib's files of strict complete orders (``.soc``), the format of the library of preference data (preflib.org).

A header of lines such as ``# ALTERNATIVE NAME 1: tea`` is followed by one line per order, ``12: 1,3,2``: twelve voters
put alternative 1 first, then 3, then 2. Voters have no names in such a file, so a voter of one file is nobody in
another: a worker's id is the name of the file and a number. The task is the file. Items are the names of the
alternatives, or their numbers where names are missing or not unique.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.columns.values import arrow_of
from allalike.errors import InputError, LabelError, TooLargeError
from allalike.readers.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["open_soc"]

_HEADER = re.compile(r"#\s*([^:]+?)\s*:\s*(.*)")
_NAME = re.compile(r"ALTERNATIVE NAME (\d+)")
_ORDER = re.compile(r"(\d+)\s*:\s*(.+)")
_MAX_VOTERS = 100_000_000


@dataclass
class _Votes:
    """The header, the names of alternatives, and the orders with their numbers of voters."""

    header: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    orders: list[list[str]] = field(default_factory=list)


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
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig") as file:
            votes = _read(path, file)
    except (UnicodeDecodeError, EOFError) as error:
        raise InputError(f"{path} cannot be read as PrefLib's text: {error}.") from error
    _check(path, votes)
    labels, stem = _labels(votes), path.name.split(".")[0]

    def load(asked: Sequence[str]) -> dict[str, Any]:
        import pyarrow as pa

        n_voters = sum(votes.counts)
        width = len(str(n_voters))
        order = np.repeat(np.arange(len(labels)), votes.counts)
        columns = {
            "worker": lambda: pa.array([f"{stem}:{number:0{width}d}" for number in range(1, n_voters + 1)]),
            "task": lambda: pa.array([stem]).take(arrow_of(np.zeros(n_voters, np.int64))),
            "label": lambda: pa.array(labels).take(arrow_of(order)),
        }
        return {name: columns[name]() for name in asked}

    return Table(["worker", "task", "label"], load, str(path))


def _read(path: Path, lines: Iterable[str]) -> _Votes:
    votes = _Votes()
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line.startswith("#"):
            entry = _HEADER.fullmatch(line)
            name = _NAME.fullmatch(entry[1]) if entry else None
            if entry and name:
                votes.names[str(int(name[1]))] = entry[2]
            elif entry:
                votes.header[entry[1]] = entry[2]
        elif line:
            _add(path, number, line, votes)
    return votes


def _add(path: Path, number: int, line: str, votes: _Votes) -> None:
    """Read a line of voters and their order."""
    where = f"Line {number} of {path}"
    if "{" in line:
        raise LabelError(f"{where} has ties: {line[:60]!r}. Tied rankings are not supported yet.")
    entry = _ORDER.fullmatch(line)
    order = [item.strip() for item in entry[2].split(",")] if entry else []
    if not entry or not all(item.isdecimal() for item in order):
        raise InputError(f"{where} is not of the form 'voters: 1,2,3': {line[:60]!r}.")
    order = [str(int(item)) for item in order]
    twice = next((item for item in order if order.count(item) > 1), None)
    if twice is not None:
        raise LabelError(f"{where} ranks alternative {twice} twice.")
    every = set(votes.names) or set(votes.orders[0] if votes.orders else order)
    if set(order) != every:
        odd = sorted(set(order) ^ every, key=int)
        raise LabelError(
            f"{where} does not rank the same alternatives as the others do: they differ in {', '.join(odd[:6])}."
            " Partial rankings are not supported yet."
        )
    votes.counts.append(int(entry[1]))
    votes.orders.append(order)


def _check(path: Path, votes: _Votes) -> None:
    kind = votes.header.get("DATA TYPE", "soc").lower()
    if kind != "soc":
        raise LabelError(f"{path} holds {kind!r} data. Strict complete orders (soc) are supported, others not yet.")
    n_voters = sum(votes.counts)
    if not n_voters:
        raise InputError(f"{path} holds no orders.")
    said = votes.header.get("NUMBER VOTERS", "")
    if said.isdecimal() and int(said) != n_voters:
        raise InputError(f"{path} says that it has {int(said):,} voters, but its lines have {n_voters:,}.")
    if n_voters > _MAX_VOTERS:
        raise TooLargeError(f"{path} has {n_voters:,} voters. At most {_MAX_VOTERS:,} can be taken one by one.")


def _labels(votes: _Votes) -> list[str]:
    """Write the orders with '>', or as JSON if a name would be misread."""
    unique = len(set(votes.names.values())) == len(votes.names) and all(votes.names.values())
    orders = [[votes.names[item] if unique and votes.names else item for item in order] for order in votes.orders]
    plain = not any(mark in item for item in votes.names.values() for mark in "<>=~{}[,;|")
    return [">".join(order) if plain or not unique else json.dumps(order, ensure_ascii=False) for order in orders]
