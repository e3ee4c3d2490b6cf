"""Ballots: a table of voters and rankings without a task is one election, whose ballots are one task.

voter,ranking            ballot_id,preferences
ada,tea>milk>ale         1,"tea, milk"
bob,milk>tea>ale         2,"milk, tea, ale"
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allalike.domains import DOMAINS, Domain
from allalike.domains.spelling import split_items
from allalike.readers.column_names import SYNONYM, is_aside, rate_name
from allalike.readers.guessing.contents import TableSample
from allalike.readers.sources import with_constant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.readers.formats.tables import Table

_RANKINGS = re.compile(r"(rank(ing|ed)?|ballot|preference|vote)(s|order|list)?|(rank|preference)?order(ing)?s?|orders?")
_VOTERS = re.compile(r"ballots?(id|no|number)?|votes?(id|no|number)")
_SEPARATORS = (">", ";", "|", ",")
_LOOKED_AT = 1000  # ballots
_MAX_ITEM_CHARACTERS = 60
_MIN_LISTS = 0.5  # of the ballots name two items or more, and of the items so many are on several ballots
BALLOTS, ELECTION = "all ballots", "election"  # the column that is made, and its only value
_ONE_TASK = (
    "No column is the task, so the ballots are one task: one election. If a column names the election, name that as the"
    " task."
)


def read_ballots(table: Table, chosen: Mapping[str, str]) -> Table:
    """Return a table of voters and rankings with a column for the only task, and any other table as it is.

    >>> from allalike.readers.formats.tables import of_records
    >>> rows = [{"voter": who, "ranking": said} for who, said in {"ada": "x>y", "bob": "y>x", "eve": "x>y"}.items()]
    >>> found = read_ballots(of_records(rows), {})
    >>> dict(found.roles), found.load(["all ballots"])["all ballots"].to_pylist()
    ({'worker': 'voter', 'task': 'all ballots', 'label': 'ranking'}, ['election', 'election', 'election'])
    """
    if table.roles or table.domain or chosen.get("task", BALLOTS) != BALLOTS:
        return table
    label = chosen.get("label") or _find_name(table.names, _RANKINGS, chosen.values())
    worker = chosen.get("worker") or _find_voter(table.names, label)
    others = [name for name in table.names if name not in (label, worker)]
    if not label or not worker or any(rate_name(name, "task") >= SYNONYM for name in others):
        return table
    sample = TableSample(table.sample(_LOOKED_AT))
    alone = all(is_aside(name) or sample[name].n_values <= 1 for name in others)
    kind = _find_kind(sample[label].values) if alone and sample[worker].n_values == sample.n_rows > 1 else None
    if kind is None:
        return table
    whole = with_constant(table, BALLOTS, ELECTION, "task")
    roles = {"worker": worker, "task": BALLOTS, "label": label}
    return replace(whole, roles=roles, domain=kind, parts=(), delimiter="", remarks=(*table.remarks, _ONE_TASK))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


def _find_name(names: Sequence[str], pattern: re.Pattern[str], taken: Any) -> str:
    """Return the only column with such a name."""
    found = [name for name in names if pattern.fullmatch(_plain(name)) and name not in taken]
    sure = [name for name in found if "rank" in name.casefold() or "preference" in name.casefold()]
    return found[0] if len(found) == 1 else sure[0] if len(sure) == 1 else ""


def _find_voter(names: Sequence[str], label: str) -> str:
    others = [name for name in names if name != label]
    voters = [name for name in others if rate_name(name, "worker") >= SYNONYM]
    return voters[0] if len(voters) == 1 else "" if voters else _find_name(others, _VOTERS, ())


def _find_kind(ballots: Sequence[Any]) -> Domain | None:
    """Return rankings with what stands between their items, if most ballots are lists of the same items.

    >>> _find_kind(["tea > milk", "milk > tea", "milk"]), _find_kind(["tea", "milk"])
    (Ranking(rule='borda', distance='kendall', gaps='unknown', ties='draw', separator=None), None)
    """
    texts = [ballot.strip() for ballot in ballots if isinstance(ballot, str)]
    make: Any = DOMAINS["ranking"]
    if not texts or len(texts) < len(ballots) or all(text.startswith("[") for text in texts):
        lists = [ballot for ballot in ballots if isinstance(ballot, list | tuple)]
        return make() if len(lists) == len(ballots) > 0 or texts else None
    for mark in _SEPARATORS:
        items = [split_items(re.sub(r"[={}]", mark, text) if mark == ">" else text, mark) for text in texts]
        if sum(len(each) > 1 for each in items) >= _MIN_LISTS * len(items):
            return (make() if mark == ">" else make(separator=mark)) if _are_items(items) else None
    return None


def _are_items(ballots: Sequence[Sequence[str]]) -> bool:
    """Return whether the pieces of ballots are short, different within a ballot, and mostly on several ballots."""
    often = Counter(item for ballot in ballots for item in set(ballot))
    short = all(len(item) <= _MAX_ITEM_CHARACTERS for item in often)
    again = sum(times > 1 for times in often.values()) >= _MIN_LISTS * len(often)
    return short and again and all(len(set(ballot)) == len(ballot) for ballot in ballots)
