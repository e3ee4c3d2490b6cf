"""Names of columns: which of them is the worker, the task and the label."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from allalike.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SYNONYMS", "pick_columns"]

SYNONYMS = {
    role: tuple(words.split())
    for role, words in {
        "worker": """
            worker annotator user rater source model performer coder judge labeler labeller participant
            subject sensor respondent voter reviewer player turker evaluator contributor crowdworker
            assessor grader
        """,
        "task": """
            task item question example document hit id object image sentence instance unit query problem
            sample orig record doc element subtask exercise
        """,
        "label": """
            label answer response annotation value vote rating score class category judgment judgement
            choice prediction estimate claim output opinion verdict
        """,
    }.items()
}
_DECORATIONS = ("", "id", "ids", "s", "name", "key", "index", "idx", "number", "no")


def pick_columns(
    names: Sequence[str], chosen: Mapping[str, str], where: str, *, roles: Sequence[str] = tuple(SYNONYMS)
) -> tuple[dict[str, str], dict[str, str]]:
    """Find the column of each role: as chosen, by the role's own name, or by a synonym; return also what was guessed.

    >>> pick_columns(["WorkerId", "HITId", "Answer"], {}, "The table")[0]
    {'worker': 'WorkerId', 'task': 'HITId', 'label': 'Answer'}
    >>> pick_columns(["user", "annotator", "item", "label"], {}, "The table")
    Traceback (most recent call last):
    allalike.errors.ColumnError: The table has two candidates for the worker: 'user' and 'annotator'. Say which with
    columns={'worker': 'user'} (--columns worker=user).
    """
    if not isinstance(chosen, Mapping):
        raise ColumnError(f"columns is {chosen!r}. Write it as {{'worker': ..., 'task': ..., 'label': ...}}.")
    for role, name in chosen.items():
        if role not in roles:
            raise ColumnError(f"columns names {role!r}. The roles are: {', '.join(roles)}.")
        if name not in names:
            raise ColumnError(f"{where} has no column {name!r}. It has: {_listed(names)}.")
        if list(chosen.values()).count(name) > 1:
            raise ColumnError(f"columns names {name!r} twice. Worker, task and label are columns of their own.")
    picked = dict(chosen)
    for role in roles:
        if role not in picked:
            picked[role] = _guess(role, [name for name in names if name not in chosen.values()], where)
    guessed = {role: name for role, name in picked.items() if role not in chosen and name != role}
    return {role: picked[role] for role in roles}, guessed


def _guess(role: str, names: Sequence[str], where: str) -> str:
    exact = [name for name in names if name.strip().casefold() == role]
    candidates = exact or [name for name in names if _means(name, role)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        listed = " and ".join(map(repr, candidates))
        count = "two candidates" if len(candidates) == 2 else f"{len(candidates)} candidates"
        raise ColumnError(
            f"{where} has {count} for the {role}: {listed}. Say which with columns={{{role!r}: {candidates[0]!r}}}"
            f" (--columns {role}={candidates[0]})."
        )
    raise ColumnError(
        f"{where} has no column that looks like the {role}. It has: {_listed(names)}. Say which it is with"
        f" columns={{{role!r}: ...}} (--columns {role}=...)."
    )


def _means(name: str, role: str) -> bool:
    """Tell whether a name is a synonym of a role, whatever its case, punctuation and decoration.

    >>> _means("!amt_worker_ids", "worker"), _means("!amt_annotation_ids", "label"), _means("workeranswer", "label")
    (True, False, True)
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    plain = re.sub(r"[^a-z0-9]", "", words.casefold()).removeprefix("amt")
    if role == "label":
        plain = re.sub("^(worker|user|annotator|crowd)", "", plain)
        return plain in {word + ending for word in SYNONYMS[role] for ending in ("", "s", "value", "text")}
    return plain in {word + ending for word in SYNONYMS[role] for ending in _DECORATIONS}


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "") if names else "none"
