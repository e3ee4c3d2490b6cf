"""Names of columns: which of them is the worker, the task and the label."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from allalike._core.registry import find_close
from allalike.errors import ColumnError, Proposal

COLUMN = "column:"  # is followed by the name of a column of the answers that has gold labels
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
        for word in reversed(words)  # of two that are written alike, the first counts
        for ending in (("", "s", "value", "text") if role == "label" else _DECORATIONS)
    }
    for role, words in SYNONYMS.items()
}
_MOST_LISTED = 40


def pick_columns(
    names: Sequence[str], chosen: Mapping[str, str], where: str, *, roles: Sequence[str] = tuple(SYNONYMS)
) -> tuple[dict[str, str], dict[str, str]]:
    """Find the column of each role: as chosen, by the role's own name, or by a synonym; return also what was guessed.

    >>> pick_columns(["WorkerId", "HITId", "Answer"], {}, "The table")[0]
    {'worker': 'WorkerId', 'task': 'HITId', 'label': 'Answer'}
    >>> pick_columns(["user", "annotator", "item", "label"], {}, "The table")
    Traceback (most recent call last):
    allalike.errors.ColumnError: The table has two candidates for the worker: 'user' and 'annotator'. Say it with
    columns={'worker': 'user'}.
    """
    check_chosen(names, chosen, where, roles=roles)
    picked = dict(chosen)
    for role in roles:
        if role not in picked:
            picked[role] = _guess(role, names, [name for name in names if name not in picked.values()], where)
    guessed = {role: name for role, name in picked.items() if role not in chosen and name != role}
    return {role: picked[role] for role in roles}, guessed


def check_chosen(
    names: Sequence[str], chosen: Mapping[str, str], where: str, *, roles: Sequence[str] = tuple(SYNONYMS)
) -> None:
    """Refuse columns that a table does not have, and one that has two roles.

    >>> check_chosen(["user", "item"], {"worker": "usr"}, "The table")
    Traceback (most recent call last):
    allalike.errors.ColumnError: The table has no column 'usr'. Did you mean 'user'? It has: 'user', 'item'. Say it with
    columns={'worker': 'user'}.
    """
    if not isinstance(chosen, Mapping):
        example = dict(zip(roles, names, strict=False))
        raise ColumnError(f"columns is {chosen!r}. Write it as a mapping of roles to columns: columns={example!r}.")
    for role, name in chosen.items():
        if role not in roles:
            raise ColumnError(f"columns names {role!r}. The roles are: {', '.join(roles)}.", columns={role: None})
        if name not in names:
            close = find_close(str(name), [each for each in names if each not in chosen.values()])
            meant = "" if close is None else f" Did you mean {close!r}?"
            raise ColumnError(
                f"{where} has no column {name!r}.{meant} It has: {list_names(names)}.", columns={role: close}
            )
        if list(chosen.values()).count(name) > 1:
            others = [other for other in chosen if chosen[other] == name and other != role]
            raise ColumnError(
                f"columns names {name!r} twice. Worker, task and label are columns of their own.",
                proposals=[Proposal({"columns": {other: None}}) for other in (*others, role)],
            )


def _guess(role: str, names: Sequence[str], free: Sequence[str], where: str) -> str:
    rates = {name: rate_name(name, role) for name in free}
    exact = [name for name, rate in rates.items() if rate == 1]
    candidates = exact or [name for name, rate in rates.items() if rate >= SYNONYM]
    if len(candidates) > 1 and not exact:  # a word that means this role before one that means several things
        candidates = [name for name in candidates if rates[name] > SYNONYM] or candidates
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        two = len(candidates) == 2
        listed = " and ".join(map(repr, candidates)) if two else list_names(candidates)
        count = "two candidates" if two else f"{len(candidates):,} candidates"
        raise ColumnError(f"{where} has {count} for the {role}: {listed}.", columns={role: candidates[0]})
    raise ColumnError(
        f"Cannot tell which column of {name_within(where)} contains the {role}. Columns: {list_names(names)}."
    )


def name_within(where: str) -> str:
    """Name a table within a sentence.

    >>> name_within("The table"), name_within("The.csv")
    ('the table', 'The.csv')
    """
    return where.replace("The ", "the ", 1) if where.startswith("The ") else where


SYNONYM = 0.6  # a name that means a role, but may mean others, has this rate


@cache
def rate_name(name: str, role: str) -> float:
    """Tell how much a name speaks for a role: 1 if it is the role's own, 0 if it says nothing, less if it is another's.

    >>> rate_name("Task", "task"), rate_name("WorkerId", "worker"), rate_name("id", "task")
    (1.0, 0.8, 0.6)
    >>> rate_name("Answer.emotion", "label"), rate_name("col3", "label"), rate_name("WorkTimeInSeconds", "worker")
    (0.4, 0.0, -0.4)
    """
    if "[]." in name:  # a path into nested records, of which the last key says what it is
        return rate_name(name.rpartition(".")[2], role)
    if name.strip().casefold() == role:
        return 1.0
    if word := _meaning(name, role):
        return SYNONYM if word in _VAGUE[role] else 0.8
    words = _words(name)
    if is_gold(name):
        return -0.8
    own = [word for word in words if word in SYNONYMS[role] and word not in ("id", "unit")]
    rest = [word for word in words if word not in _DECORATIONS]
    if own and rest and rest[-1] == own[-1]:
        return 0.5
    if any(word in _OTHERS["aside"] for word in words):
        return -0.4
    return 0.4 if own else 0.0


def is_gold(name: str) -> bool:
    """Tell whether a name says that a column holds known truths.

    >>> is_gold("gold"), is_gold("GOLDEN:q1"), is_gold("trueAnswer"), is_gold("label_gold"), is_gold("marigold")
    (True, True, True, True, False)
    """
    words = _words(name)
    return any(word in _OTHERS["gold"] for word in words) or "".join(words) in _OTHERS["gold"]


def name_consensus(name: str) -> str:
    """Return "consensus" or "majority" if a name means that a column has the one label of all workers.

    >>> [name_consensus(name) for name in ("Final_Label", "adjudicated", "majority vote", "final exam", "label")]
    ['consensus', 'consensus', 'majority', '', '']
    """
    words = {word for word in _words(name) if word not in (*_DECORATIONS, *SYNONYMS["label"], "result", "voting")}
    if not words or not words <= _OTHERS["consensus"] | _OTHERS["majority"]:
        return ""
    return "majority" if words & _OTHERS["majority"] else "consensus"


def is_aside(name: str) -> bool:
    """Tell whether a name says that a column holds something beside the answers, such as a time or an age.

    >>> is_aside("StartDate"), is_aside("Age"), is_aside("Duration (in seconds)"), is_aside("What time is it?")
    (True, True, True, False)
    """
    words = [word for word in _words(name) if word not in ("in", "of", "your", "my", *_DECORATIONS)]
    return bool(words) and all(word in _OTHERS["aside"] for word in words)


@cache
def _words(name: str) -> tuple[str, ...]:
    """Split a name where case changes, and at marks and numbers."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return tuple(word for word in re.split(r"[\W_\d]+", parted.casefold()) if word)


def _meaning(name: str, role: str) -> str:
    """Return the synonym of a role that a name is, whatever its case, punctuation and decoration.

    >>> _meaning("!amt_worker_ids", "worker"), _meaning("!amt_annotation_ids", "label"), _meaning("userVote", "label")
    ('worker', '', 'vote')
    """
    plain = re.sub(r"[^a-z0-9]", "", name.casefold()).removeprefix("amt")
    if role == "label":
        plain = re.sub("^(worker|user|annotator|crowd|given)", "", plain)
    return _MEANINGS[role].get(plain, "")


def list_names(names: Sequence[str]) -> str:
    """List names of columns, if there are many the first of them.

    >>> list_names(["user", "item"])
    "'user', 'item'"
    """
    shown = ", ".join(repr(name) for name in names[:_MOST_LISTED])
    more = len(names) - _MOST_LISTED
    return shown + (f" and {more} more" if more > 0 else "") if names else "none"
