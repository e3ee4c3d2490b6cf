"""Tables of rankings without a task column: comparisons of two items, and ballots of one election.

    worker,left,right,winner     judge,model_a,model_b,winner        voter,ranking
    ada,tea,milk,tea             eve,gpt,llama,model_b               ada,tea>milk>ale
    bob,tea,milk,tie             eve,llama,qwen,tie (bothbad)        bob,milk>tea>ale

The winner is the name or the column of one of the two items, or a tie. All comparisons are one task, whose truth ranks
all items, unless a column is chosen as the task. The comparisons by a worker in a task are added up.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.columns.values import arrow_of, numpy_of
from allalike._core.lazy_imports import pa, pc
from allalike.domains import DOMAINS, Domain
from allalike.domains.spelling import split_items
from allalike.errors import InputError
from allalike.readers.column_names import SYNONYM, is_aside, rate_name
from allalike.readers.formats.source import Columns as Loaded
from allalike.readers.formats.source import Source, value_type
from allalike.readers.inference.samples import TableSample

_PAIRS = (("left", "right"), ("model_a", "model_b"))
_WINNERS = ("winner", "label")
_FIRST, _SECOND = {"left", "a", "first", "model_a"}, {"right", "b", "second", "model_b"}
_TIES = {"tie", "tied", "draw", "equal", "same", "both", "neither", "both_bad", "bothbad", "both_good", "tie (bothbad)"}
LABEL, TASK = "comparison", "all comparisons"  # the names of the new columns
ALL = "all"  # the only task
_MARKS = re.compile(r"[<>=~{}\[,;|]")
BALLOTS, ELECTION = "all ballots", "election"  # the new column, and its only value
_RANKINGS = re.compile(r"(rank(ing|ed)?|ballot|preference|vote)(s|order|list)?|(rank|preference)?order(ing)?s?|orders?")
_VOTERS = re.compile(r"ballots?(id|no|number)?|votes?(id|no|number)")
_SEPARATORS = (">", ";", "|", ",")
_LOOKED_AT = 1000  # ballots
_MAX_ITEM_CHARACTERS = 60
_MIN_LISTS = 0.5  # minimum share of ballots with at least two items, and of items on several ballots
_ONE_TASK = (
    "No column is the task, so all ballots are one task: one election. If a column contains the election, choose it as"
    " the task."
)


class Columns(NamedTuple):
    """The columns of the two items and the winner."""

    left: str
    right: str
    winner: str


def find_columns(names: Sequence[str]) -> Columns | None:
    """Return the columns of the two items and the winner, or None."""
    plain = {name.strip().casefold(): name for name in names}
    found = (Columns(*pair, winner) for pair in _PAIRS for winner in _WINNERS)
    return next((Columns(*(plain[name] for name in each)) for each in found if {*each} <= plain.keys()), None)


def read_comparisons(table: Source, chosen: Mapping[str, str], domain: Domain | None) -> Source:
    """Convert comparisons into rankings of two items.

    If the table has a task column or is a tool's export, they are converted only if the domain is given.
    """
    found = find_columns(table.names)
    if found is None or "label" in chosen:
        return table
    others = [name for name in table.names if name not in found]
    asked = domain is not None and domain.repeats is not None
    if not asked and (table.roles or found.winner == "label" or _are_named(others, "task")):
        return table

    def step(columns: Loaded, before: int) -> Loaded:
        compared = [columns[name] for name in found]
        written = write_comparisons(compared, found, lambda row: f"{table.where}, row {before + row + 1}")
        made = {LABEL: written, TASK: pa.repeat(ALL, len(written))}
        return columns | {name: pa.chunked_array([column]) for name, column in made.items()}

    rates = {name: rate_name(name, "worker") for name in others if name not in chosen.values()}
    best = max(rates, key=lambda name: rates[name], default="")
    roles = {"worker": best} if rates.get(best, 0.0) >= SYNONYM else {}
    roles |= {"task": TASK, "label": LABEL}
    return table.with_step(step, adds=[LABEL, TASK], needs=found, roles=roles, domain="ranking")


def _are_named(names: Sequence[str], role: str) -> list[str]:
    return [name for name in names if rate_name(name, role) >= SYNONYM]


def write_comparisons(compared: Sequence[Any], found: Columns, describe: Callable[[int], str]) -> Any:
    """Return three columns of comparisons as rankings, with null for rows without a winner.

    Each distinct name is parsed once, and rows are compared by the numbers of their names. ``describe`` returns the
    name of a row for errors.
    """
    number: dict[str, int] = {"": 0}
    first, second, said = (_number(column, number) for column in compared)
    names = list(number)
    words = [name.casefold() for name in names]
    left = np.array([word in _FIRST or word == found.left.casefold() for word in words])
    right = np.array([word in _SECOND or word == found.right.casefold() for word in words])
    ties = np.array([word in _TIES or word.startswith("tie") for word in words])
    blank = said == 0
    wins = (said == first) | ((said != second) & left[said])
    loses = ~wins & ((said == second) | right[said])
    strict = wins | loses
    same = (first == second) | (first == 0) | (second == 0)
    if (wrong := ~blank & (same | ~(strict | ties[said]))).any():
        row = int(np.argmax(wrong))
        one, other, winner = (names[codes[row]] for codes in (first, second, said))
        if same[row]:
            raise InputError(f"{describe(row)} compares {one!r} with {other!r}. Give two different items.")
        raise InputError(
            f"{describe(row)}: the winner is {winner!r}, which is neither {one!r} nor {other!r}. Write one of them, or"
            " 'tie'."
        )
    first, second = np.where(loses, second, first), np.where(loses, first, second)
    listed, marks = pa.array(names, pa.large_string()), pa.array([">", "="], pa.large_string())
    mark = pc.if_else(arrow_of(strict), *marks)
    texts = pc.binary_join_element_wise(listed.take(arrow_of(first)), listed.take(arrow_of(second)), mark)
    odd = np.array([_MARKS.search(name) is not None for name in names])
    rare = ~blank & (odd[first] | odd[second])
    if rare.any():  # names with marks that rankings use
        pairs = [[names[first[row]], names[second[row]]] for row in np.flatnonzero(rare)]
        places = [pair if better else [pair] for pair, better in zip(pairs, strict[rare].tolist(), strict=True)]
        written = [json.dumps(each, ensure_ascii=False) for each in places]
        texts = pc.replace_with_mask(texts, arrow_of(rare), pa.array(written, pa.large_string()))
    return pc.if_else(arrow_of(blank), pa.scalar(None, pa.large_string()), texts)


def _number(column: Any, number: dict[str, int]) -> npt.NDArray[np.int64]:
    """Return the numbers of the stripped names of a column; a missing name is ''."""
    if isinstance(column, list):
        codes, values = np.arange(len(column)), column
    else:
        column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
        coded = column.cast(value_type(column.type)).dictionary_encode(null_encoding="encode").combine_chunks()
        codes, values = numpy_of(coded.indices), coded.dictionary.to_pylist()
    names = ["" if value is None else str(value).strip() for value in values]
    numbers = np.fromiter((number.setdefault(name, len(number)) for name in names), np.int64, len(names))
    return numbers.take(codes)


def read_ballots(table: Source, chosen: Mapping[str, str], *_: Any) -> Source:
    """Add a column with the only task to a table of voters and rankings."""
    if table.roles or table.domain or chosen.get("task", BALLOTS) != BALLOTS:
        return table
    label = chosen.get("label") or _find_name(table.names, _RANKINGS, chosen.values())
    free = [name for name in table.names if name != label]
    voters = _are_named(free, "worker") or [_find_name(free, _VOTERS, ())]
    worker = chosen.get("worker") or (voters[0] if len(voters) == 1 else "")
    others = [name for name in free if name != worker]
    if not label or not worker or _are_named(others, "task"):
        return table
    sample = TableSample(table.sample(_LOOKED_AT))
    alone = all(is_aside(name) or sample[name].n_values <= 1 for name in others)
    kind = _find_kind(sample[label].values) if alone and sample[worker].n_values == sample.n_rows > 1 else None
    if kind is None:
        return table
    roles = {"worker": worker, "task": BALLOTS, "label": label}
    return table.with_constant(BALLOTS, ELECTION, roles=roles, domain=kind, says=[_ONE_TASK])


def _find_name(names: Sequence[str], pattern: re.Pattern[str], taken: Any) -> str:
    """Return the only column whose name matches, or an empty text."""
    found = [name for name in names if name not in taken and pattern.fullmatch(re.sub(r"[\W_]", "", name.casefold()))]
    sure = [name for name in found if "rank" in name.casefold() or "preference" in name.casefold()]
    return next((each[0] for each in (found, sure) if len(each) == 1), "")


def _find_kind(ballots: Sequence[Any]) -> Domain | None:
    """Return the ranking domain with the separator of items, if most ballots are lists of the same items.

    Items must be short, unique within a ballot, and mostly on several ballots.
    """
    make: Callable[..., Domain] = DOMAINS["ranking"]
    texts = [ballot.strip() for ballot in ballots if isinstance(ballot, str) and ballot]
    if all(text.startswith("[") for text in texts):
        return make() if texts else None
    for mark in _SEPARATORS:
        lists = [split_items(re.sub(r"[={}]", mark, text) if mark == ">" else text, mark) for text in texts]
        if sum(len(items) > 1 for items in lists) < _MIN_LISTS * len(lists):
            continue
        often = Counter(item for items in lists for item in set(items))
        short = all(len(item) <= _MAX_ITEM_CHARACTERS for item in often)
        again = sum(times > 1 for times in often.values()) >= _MIN_LISTS * len(often)
        if short and again and all(len(set(items)) == len(items) for items in lists):
            return make() if mark == ">" else make(separator=mark)
        return None
    return None
