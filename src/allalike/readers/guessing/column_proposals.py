"""Proposals of columns, or of the way round in which a matrix is read."""

from __future__ import annotations

import re
from itertools import permutations
from typing import TYPE_CHECKING, Any

from allalike.errors import Proposal
from allalike.readers.column_names import SYNONYMS, is_gold, rate_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.readers.formats.tables import Table
    from allalike.readers.guessing.candidates import Candidate
    from allalike.readers.guessing.contents import TableSample
    from allalike.readers.guessing.shapes import Shape

CLEAR_LEAD = 0.15  # a candidate is not taken without a question if the total of another comes as near
TELLING_RATE = 0.4  # a name says something if its rate is as high
_MOST_PROPOSED, _MAX_BEHIND = 10, 0.6  # so many candidates are proposed, whose total is no more behind the best
_UNLIKELY = -1.0  # nothing speaks for an arrangement but that it can be read
_MOST_ARRANGED = 5  # columns, of which all arrangements are tried
_MATRIX, _NAMED_SHAPE = 0.3, 0.3  # this much speaks for it beside what is read
_AGAINST_NAMES = 1.0  # and this much against a matrix that names say is the other way round
_AXIS = re.compile(r"(\S*[^a-zA-Z\s]|)([xyzXYZ])([^a-zA-Z\s]{0,6})")


def propose_shape(shape: Shape) -> list[Proposal]:
    """Propose to read a matrix, either way round; two columns among others are named.

    >>> from allalike.readers.guessing.shapes import Shape
    >>> [str(each) for each in propose_shape(Shape("tasks", True, ["ada", "bob"], alone=False))]
    ["wide='tasks', only=('ada', 'bob')", "wide='workers', only=('ada', 'bob')"]
    """
    turned = next(wide for wide in ("tasks", "workers") if wide != shape.rows)
    sure = _NAMED_SHAPE if shape.named else 0.0
    cells = {} if shape.alone else {"only": tuple(shape.cells)}
    return [
        Proposal({"wide": shape.rows, **cells}, score=_MATRIX + sure),
        Proposal({"wide": turned, **cells}, score=_MATRIX - _AGAINST_NAMES * shape.named),
    ]


def propose_columns(table: Table, sample: TableSample, candidates: Sequence[Candidate]) -> list[Proposal]:
    """Propose the best candidates, each of which says something else."""
    best: list[Candidate] = []
    for candidate in candidates:
        near = not best or candidate.total > best[0].total - _MAX_BEHIND
        if near and len(best) < _MOST_PROPOSED and not any(candidate.is_like(other, sample) for other in best):
            best.append(candidate)
    return [
        *(_propose_axes(sample, best[0]) if best and not table.roles else []),
        *(
            Proposal(
                {"columns": {r: name for r, name in each.columns.items() if r not in table.roles}}, score=each.total
            )
            for each in best
        ),
    ]


def find_axes(sample: TableSample, label: str) -> list[str]:
    """Return the columns of numbers that are x and y of the same thing, and perhaps z, if a label is one of them.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> sample = TableSample({"at_x": [1.5], "at_y": [2.5], "y": [3.5]})
    >>> find_axes(sample, "at_y"), find_axes(sample, "y")
    (['at_x', 'at_y'], [])
    """
    found = _AXIS.fullmatch(label)
    names = [f"{found[1]}{axis}{found[3]}" for axis in ("xyz" if found[2].islower() else "XYZ")] if found else []
    axes = [name for name in names if name in sample.names and sample[name].kind in ("whole", "number")]
    return axes if label in axes and axes[:2] == names[:2] else []


def _propose_axes(sample: TableSample, best: Candidate) -> list[Proposal]:
    """Propose x and y together: one vector, or points where a worker has several for a task."""
    worker, task, label = (best.columns[role] for role in SYNONYMS)
    axes = find_axes(sample, label)
    kind = "vector" if sample.kept(worker, task) == 1 else "points"
    columns = {**best.columns, "label": " ".join(axes)}
    return [Proposal({"columns": columns, "domain": kind}, score=best.total + CLEAR_LEAD)] if axes else []


def propose_names(table: Table, known: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns to propose, if names say something about every role, or one column is left for the last."""
    proposed = dict(known)
    for role in SYNONYMS:
        free = [name for name in table.names if name not in proposed.values()]
        best = max(free, key=lambda name: rate_name(name, role), default="")
        if role not in proposed and rate_name(best, role) >= TELLING_RATE:
            proposed[role] = best
    left = [name for name in table.names if name not in proposed.values() and not is_gold(name)]
    if len(left) == 1 and len(proposed) == len(SYNONYMS) - 1:
        proposed |= {role: left[0] for role in SYNONYMS if role not in proposed}
    return {"columns": proposed} if len(proposed) == len(SYNONYMS) else {}


def propose_any(names: Sequence[str], known: Mapping[str, str]) -> list[Proposal]:
    """Propose each way to give columns the roles that are not known, the best by their names first.

    >>> [str(each) for each in propose_any(["who", "item", "said"], {"label": "said"})]
    ["columns={'worker': 'who', 'task': 'item'}", "columns={'worker': 'item', 'task': 'who'}"]
    """
    roles = [role for role in SYNONYMS if role not in known]
    free = [name for name in names if name not in known.values() and not is_gold(name)][:_MOST_ARRANGED]
    ways = [dict(zip(roles, each, strict=True)) for each in permutations(free, len(roles))]
    ways.sort(key=lambda way: -sum(rate_name(name, role) for role, name in way.items()))
    return [Proposal({"columns": way}, score=_UNLIKELY) for way in ways]


def propose_first(proposal: Proposal) -> Proposal | None:
    """Propose the first of the elements that labels are in, if they are in a list of a worker's own.

    >>> columns = {"worker": "by[].who", "task": "id", "label": "by[].said[].choice"}
    >>> print(propose_first(Proposal({"columns": columns})))
    columns={'worker': 'by[].who', 'task': 'id', 'label': 'by[].said[0].choice'}
    """
    columns = dict(proposal.settles["columns"])
    before, inner, after = columns.get("label", "").rpartition("[]")
    if not inner or before.count("[]") < max(
        (name.count("[]") for role, name in columns.items() if role != "label"), default=0
    ):
        return None
    return Proposal({"columns": {**columns, "label": f"{before}[0]{after}"}}, score=proposal.score)
