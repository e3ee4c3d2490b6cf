"""Rows: reading verdicts together with the columns that tell in which order, and how often, judges were asked.

All rows are in memory for this, whatever the engine that weighs the judges afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.registry import find_close
from allalike._core.system.memory import free_memory
from allalike._core.words import count
from allalike.answers.cleaning import check_ids
from allalike.api.judges.ballots import JudgeBallots, find_tie
from allalike.api.judges.orders import name_answers
from allalike.api.judges.score_samples import ScoreBallots
from allalike.api.judges.unreadable import Unread, find_unread
from allalike.domains import Categorical
from allalike.domains.spelling import match_key
from allalike.errors import AllalikeError, ColumnError, InputError, OptionError, Proposal, UnsupportedError
from allalike.readers.column_names import list_names
from allalike.readers.proposals import asking
from allalike.readers.reshaping.long_tables import list_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.answers.cleaning import Cleaning
    from allalike.api.judges.asking import HowAsked
    from allalike.readers import Scan
    from allalike.readers.formats.tables import Table

__all__ = ["Read", "question_repeats", "read_rows"]

_SWAPPED = ("swap", "flip", "revers", "invert")  # how names of the second order begin
_OWN_NAMES = {role: role for role in ("worker", "task", "label")}
_USUAL = {
    "order": ("order", "position", "swapped", "swap", "flipped", "reversed", "presentation_order"),
    "sample": ("epoch", "sample", "run", "seed", "repeat", "iteration", "trial", "attempt", "replicate"),
}  # names of such columns
_SAMPLE_ROWS = 100_000
_MAX_SIDES = 10  # verdicts on a pair, from much better to much worse
_MAX_LISTED = 10


@dataclass(frozen=True)
class Read:
    """What was read: the ballots, whose verdicts could not be read, what labels named, and which order came first."""

    ballots: JudgeBallots | ScoreBallots
    unread: Unread
    about: str = ""
    first_order: str = ""


def read_rows(source: Scan, asked: HowAsked) -> Read:
    """Read verdicts in all orders and samples; labels name the same answer in both orders then.

    >>> import allalike
    >>> from allalike.api.judges.asking import HowAsked
    >>> rows = {"judge": ["ada"] * 4, "item": [1, 1, 2, 2], "verdict": [*"xxyx"], "epoch": [1, 2, 1, 2]}
    >>> found = read_rows(allalike.scan(rows), HowAsked(sample="epoch"))
    >>> found.ballots.reconcile().label
    array([ 0, -1])
    """
    if source.unpacked > free_memory() / 2:
        raise UnsupportedError(
            "Orders, samples and a list of verdicts are looked at in memory, and these files take more than half"
            " of the free memory once read. Make one row for each judge and task of them before."
        )
    if source.domain is None and (asked.order is not None or asked.verdicts):
        source = replace(source, domain=Categorical())  # which of two is better, or one of a few
    with asking(source):
        table, picked, guessed = source.opened()
        columns = _load(table, picked, asked)
        cleaning = source.suited(table).cleaning
        if asked.verdicts:
            columns["label"] = _only_verdicts(columns["label"], cleaning, asked.verdicts)
        unread = find_unread(lambda: [columns], cleaning, blank_counts=source.wide is None)
        judge, judges = columns["worker"].factors
        order, orders = _find_order(columns, asked.order)
        sample = columns["sample"].factors[0] if "sample" in columns else np.zeros(len(judge), np.int32)
        who = list(zip(judge.tolist(), order.tolist(), sample.tolist(), strict=True))
        made = {"worker": Column("worker", who), "task": columns["task"], "label": columns["label"]}
        whole = table.loaded_by(lambda names: {name: made[name] for name in names}, names=list(made), roles={})
        answers = source.finish(whole, _OWN_NAMES, guessed)
    own = np.array(answers.workers.tolist(), np.intp)[answers.worker]
    if answers.encoding.numeric and asked.order is None:
        return Read(ScoreBallots(answers, judges, own[:, 0]), unread)
    if not answers.encoding.nominal:
        raise UnsupportedError(
            f"One voice is made of classes or numbers, and these are {answers.domain.name} labels. Where each is a"
            " verdict as a whole, say so with domain='categorical'; of levels that are numbers, domain='real' takes the"
            " mean."
        )
    ballots = JudgeBallots(answers, judges, own[:, 0], own[:, 1], answers.label.astype(np.intp))
    ballots = replace(ballots, tie=find_tie(ballots.labels, asked.tie))
    if asked.order is None:
        return Read(ballots, unread)
    if len(ballots.labels) > _MAX_SIDES:
        raise UnsupportedError(
            f"Both orders of a pair become one voice where verdicts say which of two is better, or by how much. These"
            f" have {len(ballots.labels):,} different labels, such as {list_names(list(map(str, ballots.labels))[:3])}."
            f" Leave out order, or make one row for each judge and task before."
        )
    ballots, about = name_answers(ballots, asked.about)
    return Read(ballots, unread, about, orders[0])


def _load(table: Table, picked: Mapping[str, str], asked: HowAsked) -> dict[str, Column]:
    for option, name in asked.names.items():
        if name not in table.names:
            right = Proposal({option: find_close(name, table.names)})
            raise ColumnError(
                f"{table.where} has no column {name!r}. It has: {list_names(table.names)}.", proposals=[right]
            )
        if name in picked.values():
            role = next(role for role, other in picked.items() if other == name)
            raise OptionError(f"The column {name!r} is the {role} already. Name another, or another {role}.")
    loaded = table.load([*picked.values(), *asked.names.values()])
    columns = {role: table.column(role, loaded[name]) for role, name in {**picked, **asked.names}.items()}
    for role, column in columns.items():
        if role != "label":
            check_ids(column)
    return columns


def _only_verdicts(label: Column, cleaning: Cleaning, verdicts: tuple[Any, ...]) -> Column:
    """Leave nothing in the place of labels that are no verdicts."""
    known = {match_key(cleaning.spelling(str(each)) or str(each)) for each in verdicts}

    def read(value: Any) -> Any:
        meant = cleaning.spelling(value) if isinstance(value, str) else value
        return value if match_key(meant) in known else None

    label = cleaning.map_labels(label)
    values = label.data if isinstance(label.data, list) else label.data.to_pylist()
    found = [None if value is None else read(value) for value in values]
    if not any(each is not None for each in found) and any(each is not None for each in values):
        there = list_names(list(dict.fromkeys(str(each) for each in values if str(each or "").strip()))[:_MAX_LISTED])
        raise OptionError(
            f"No label is one of the verdicts {list_names(list(map(str, verdicts)))}. There are: {there}."
        )
    column = Column.of_objects("label", found)
    column.text, column.na = label.text, label.na
    return column


def _find_order(columns: Mapping[str, Column], name: str | None) -> tuple[Any, list[str]]:
    """Return, of each row, in which of two orders the pair was shown, and what these are called, the first first."""
    if name is None:
        return np.zeros(len(columns["label"]), np.int32), [""]
    code, values = columns["order"].factors
    names = [str(value) for value in values.tolist()]
    if len(names) != 2:
        listed = list_names(names[:5])
        raise InputError(
            f"The column {name!r} has {count(len(names), 'different value')}, such as {listed}. A pair has two orders."
        )
    return (1 - code, names[::-1]) if names[0].casefold().startswith(_SWAPPED) else (code, names)


def question_repeats(source: Any, asked: HowAsked) -> InputError | None:
    """Return what to ask where rows are further verdicts of a judge on a task, and a column of a usual name tells why.

    >>> import allalike
    >>> from allalike.api.judges.asking import HowAsked
    >>> rows = {"judge": ["ada"] * 4, "item": [1, 1, 2, 2], "verdict": [*"xxyx"], "epoch": [1, 2, 1, 2]}
    >>> print(question_repeats(allalike.scan(rows), HowAsked()))
    2 of 4 rows are further verdicts of a judge on a task, and 'epoch' tells them apart.
    Say it with one of these, the best first:
      sample='epoch'
      repeats='first'
    """
    if not hasattr(source, "opened") or source.wide is not None or source.repeats is not None:
        return None
    try:
        table, picked, _ = source.opened()
        found = _tell_apart(table, picked, asked)
    except AllalikeError:  # of which whoever reads them tells
        return None
    if found is None:
        return None
    repeats, rows, settles = found
    named = " and ".join(repr(name) for name in settles.values())
    return InputError(
        f"{repeats:,} of {rows:,} rows are further verdicts of a judge on a task, and {named}"
        f" tell{'s' if len(settles) == 1 else ''} them apart.",
        proposals=[Proposal(settles), Proposal({"repeats": "first"})],
    )


def _tell_apart(table: Table, picked: Mapping[str, str], asked: HowAsked) -> tuple[int, int, dict[str, str]] | None:
    """Return how many of some first rows are repeats, of how many, and the columns that tell them apart."""
    taken = {*picked.values(), *asked.names.values()}
    free = {name.casefold(): name for name in table.names if name not in taken}
    usual = {role: free[name] for role, names in _USUAL.items() for name in reversed(names) if name in free}
    usual = {role: name for role, name in usual.items() if role not in asked.names}
    keys = [picked["worker"], picked["task"], *(name for name in asked.names.values() if name in table.names)]
    if not usual:
        return None
    sample = table.sample(_SAMPLE_ROWS, [*keys, *usual.values()])
    cells = {name: list(map(str, list_values(data))) for name, data in sample.items()}
    rows = list(zip(*(cells[name] for name in keys), strict=True))
    repeats = left = len(rows) - len(set(rows))
    settles: dict[str, str] = {}
    for role, name in usual.items():
        told = [(*row, cell) for row, cell in zip(rows, cells[name], strict=True)]
        fewer = len(told) - len(set(told))
        if fewer < left and (role != "order" or len(set(cells[name])) == 2):
            rows, left, settles[role] = told, fewer, name
    return (repeats, len(rows), settles) if settles and left <= repeats / 2 else None
