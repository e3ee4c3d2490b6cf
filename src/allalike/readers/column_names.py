"""Column names: the roles that they suggest, and the usual names of gold label, consensus and other columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from allalike._core.registry import find_close
from allalike.errors import ColumnError, Proposal

EXAMPLE = (
    "No choice of columns works. A valid table has one row per answer, and tasks with answers by several workers:",
    "worker,task,label",
    "ada,photo1,cat",
    "bob,photo1,cat",
    "ada,photo2,dog",
    "bob,photo2,cat",
    "Read a table with one column per worker with wide='tasks', and one file per worker with worker_from='filename'.",
)
COLUMN = "column:"  # prefix for the name of a column of the answers that contains gold labels
SYNONYMS = {
    role: tuple(words.split())
    for role, words in {
        "worker": """
            worker annotator user rater source model performer coder judge labeler labeller participant
            subject sensor respondent voter reviewer player turker evaluator contributor crowdworker
            assessor grader tolker volunteer student expert username
        """,
        "task": """
            task item question q example document hit id object image sentence instance unit query problem
            sample orig record doc element subtask exercise pair subject tweet clip video post article
        """,
        "label": """
            label answer response annotation value vote rating score class category judgment judgement
            choice prediction estimate claim output opinion verdict decision preference winner forecast guess
            tag grade selection ranking
        """,
    }.items()
}
_DECORATIONS = ("", "id", "ids", "s", "name", "key", "index", "idx", "number", "no", "hash", "uid", "uuid")
_VAGUE = {
    "worker": {"source", "model", "subject", "expert", "player"},
    "task": {"id", "record", "element", "subject", "object", "sample", "post"},
    "label": {"value", "output", "class", "tag", "score", "grade"},
}
_OTHERS = {
    kind: frozenset(words.split())
    for kind, words in {
        "gold": "gold golden truth correct groundtruth target expected expectedans trueanswer goldstandard",
        "consensus": "adjudicated adjudication adjudicator consensus final agreed resolved reconciled konsens consenso",
        "majority": "majority aggregated aggregate mehrheit mayoria maggioranza maioria majorite meerderheid",
        "aside": """
            time times timestamp date created submitted started updated accepted start end at seconds duration elapsed
            ms ip country region city address latitude longitude channel status state version count total weight
            title description keywords reward url link email comment comments feedback note notes reason explanation
            rationale confidence conf certainty type text metadata meta session assignment treatment condition group
            age gender sex education language lang browser agent platform device batch campaign project workflow
            reference split collector datum startdatum enddatum zeitstempel uhrzeit fecha horodateur
        """,
    }.items()
}
_MEANINGS = {
    role: {
        word + ending: word
        for word in reversed(words)  # if two give the same key, the first one counts
        for ending in (("", "s", "value", "text") if role == "label" else _DECORATIONS)
    }
    for role, words in SYNONYMS.items()
}
_MAX_LISTED = 40
SYNONYM, _OWN_WORD = 0.6, 0.8  # scores of a word that may mean several roles, and of an unambiguous word


def pick_columns(
    names: Sequence[str], chosen: Mapping[str, str], where: str, *, roles: Sequence[str] = tuple(SYNONYMS)
) -> dict[str, str]:
    """Find the column of each role: the chosen one, or one named after the role or a synonym.

    >>> pick_columns(["WorkerId", "HITId", "Answer"], {}, "The table")
    {'worker': 'WorkerId', 'task': 'HITId', 'label': 'Answer'}
    >>> pick_columns(["user", "annotator", "item", "label"], {}, "The table")
    Traceback (most recent call last):
    allalike.errors.ColumnError: The table has two candidates for the worker: 'user' and 'annotator'. Use
    columns={'worker': 'user'}.
    """
    check_chosen(names, chosen, where, roles=roles)
    picked = dict(chosen)
    for role in (role for role in roles if role not in chosen):
        rates = {name: rate_name(name, role) for name in names if name not in picked.values()}
        best = max(rates.values(), default=0.0)
        matches = [name for name, rate in rates.items() if rate == best >= SYNONYM]
        if not matches:
            what = f"Cannot tell which column of {name_within(where)} contains the {role}. Columns:"
            raise ColumnError(f"{what} {list_names(names)}.")
        if len(matches) > 1:
            listed = " and ".join(map(repr, matches)) if len(matches) == 2 else list_names(matches)
            number = "two" if len(matches) == 2 else f"{len(matches):,}"
            raise ColumnError(f"{where} has {number} candidates for the {role}: {listed}.", columns={role: matches[0]})
        picked[role] = matches[0]
    return {role: picked[role] for role in roles}


def check_chosen(
    names: Sequence[str], chosen: Mapping[str, str], where: str, *, roles: Sequence[str] = tuple(SYNONYMS)
) -> None:
    """Raise an error if the table lacks a chosen column, or if a column has two roles."""
    for role, name in chosen.items():
        if role not in roles:
            raise ColumnError(f"columns names {role!r}. The roles are: {', '.join(roles)}.", columns={role: None})
        if name not in names:
            close = find_close(str(name), [each for each in names if each not in chosen.values()])
            meant = "" if close is None else f" Did you mean {close!r}?"
            what = f"{where} has no column {name!r}.{meant} Columns: {list_names(names)}."
            raise ColumnError(what, columns={role: close})
        others = [other for other in chosen if chosen[other] == name and other != role]
        if others:
            raise ColumnError(
                f"columns names {name!r} twice. Worker, task and label must be different columns.",
                proposals=[Proposal({"columns": {other: None}}) for other in (*others, role)],
            )


def name_within(where: str) -> str:
    """Return the name of a table for use within a sentence: "the table", or the name of a file unchanged."""
    return where.replace("The ", "the ", 1) if where.startswith("The ") else where


@cache
def rate_name(name: str, role: str) -> float:
    """Score how well a name fits a role, from 1 for the role itself to -0.8 for names of gold labels.

    >>> rate_name("Task", "task"), rate_name("WorkerId", "worker"), rate_name("id", "task")
    (1.0, 0.8, 0.6)
    >>> rate_name("Answer.emotion", "label"), rate_name("col3", "label"), rate_name("WorkTimeInSeconds", "worker")
    (0.4, 0.0, -0.4)
    """
    if "[]." in name:  # a path into nested records, whose last key is its name
        return rate_name(name.rpartition(".")[2], role)
    if name.strip().casefold() == role:
        return 1.0
    plain = re.sub(r"[^a-z0-9]", "", name.casefold()).removeprefix("amt")
    if role == "label":
        plain = re.sub("^(worker|user|annotator|crowd|given)", "", plain)
    if word := _MEANINGS[role].get(plain):
        return SYNONYM if word in _VAGUE[role] else _OWN_WORD
    if is_gold(name):
        return -0.8
    words = _split_words(name)
    own = [word for word in words if word in SYNONYMS[role] and word not in ("id", "unit")]
    rest = [word for word in words if word not in _DECORATIONS]
    if own and rest and rest[-1] == own[-1]:
        return 0.5
    if any(word in _OTHERS["aside"] for word in words):
        return -0.4
    return 0.4 if own else 0.0


def is_gold(name: str) -> bool:
    """Return whether a name implies that a column contains gold labels."""
    words = _split_words(name)
    return any(word in _OTHERS["gold"] for word in (*words, "".join(words)))


def name_consensus(name: str) -> str:
    """Return "consensus" or "majority" if a column with this name contains the joint label of all workers, else "".

    >>> [name_consensus(name) for name in ("Final_Label", "adjudicated", "majority vote", "final exam", "label")]
    ['consensus', 'consensus', 'majority', '', '']
    """
    words = {word for word in _split_words(name) if word not in (*_DECORATIONS, *SYNONYMS["label"], "result", "voting")}
    if not words or not words <= _OTHERS["consensus"] | _OTHERS["majority"]:
        return ""
    return "majority" if words & _OTHERS["majority"] else "consensus"


def is_aside(name: str) -> bool:
    """Return whether a name implies that a column contains metadata, such as a time or an age."""
    words = [word for word in _split_words(name) if word not in ("in", "of", "your", "my", *_DECORATIONS)]
    return bool(words) and all(word in _OTHERS["aside"] for word in words)


@cache
def _split_words(name: str) -> tuple[str, ...]:
    """Split a name at case changes, punctuation and digits."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return tuple(word for word in re.split(r"[\W_\d]+", parted.casefold()) if word)


def list_names(names: Sequence[str]) -> str:
    """Format column names: at most the first 40."""
    shown = ", ".join(repr(name) for name in names[:_MAX_LISTED])
    more = len(names) - _MAX_LISTED
    return shown + (f" and {more} more" if more > 0 else "") if names else "none"


def is_path_into(name: str) -> bool:
    """Return whether a name can only be a path through a list."""
    return re.search(r"\[\d*\]", str(name)) is not None
