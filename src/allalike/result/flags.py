"""Flags of workers: who needs a look, why, and whose answers should be excluded.

``block`` marks workers whose answers do not depend on the tasks: they are uninformative, always give the same class, or
copy. Of a copy group, the worker with most answers keeps counting, because the original is unknown. ``look`` marks
workers who are clearly worse than the crowd, and careless respondents of a survey. ``few`` marks workers with few
answers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import Block, Floats, sum_by
from allalike._core.columns.values import Values, text_column
from allalike._core.words import cut
from allalike.result.summaries import find_worse
from allalike.result.tables import function_columns, worker_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike._core.blocks.block import Array
    from allalike.engines import Run
    from allalike.methods import Fit

FLAGS = ("block", "look", "", "few")  # in the order in which workers are listed
_MAX_LOOKED_AT = 5_000_000  # answers, above which constant workers are not searched
_MAX_LABEL = 20  # characters
_FEW, _UNINFORMATIVE = "few answers", "uninformative"
_MAX_CLASSES = 1 << 12  # whose squared codes can be added up without rounding
_MIN_CHANCE = 0.01


def list_reasons(run: Run, weighing: Fit, *, look: bool = True) -> list[list[str]]:
    """Return per worker what is remarkable; constant workers need another pass over the answers (``look``)."""
    reasons: list[list[str]] = [[] for _ in range(len(run.workers))]
    known, groups = weighing.uncertainty, weighing.copy_groups
    marked = {} if known is None else {_UNINFORMATIVE: known.uninformative, _FEW: known.few}
    for words, workers in marked.items():
        for number in () if workers is None else np.flatnonzero(workers):
            reasons[number].append(words)
    for place, group in enumerate(groups.groups if groups is not None else (), 1):
        for number in group.members if group.copies else ():
            reasons[number].append(f"copies (group {place})")
    worse = find_worse(run, weighing)
    for number in worse.workers if worse is not None else ():
        reasons[number].append("worse than the crowd")
    if careless := run.notes.get("careless"):
        reasons = [words + careless.get(str(who), []) for words, who in zip(reasons, run.workers.tolist(), strict=True)]
    if look and int(run.answer_counts.sum()) <= _MAX_LOOKED_AT:
        for number, label in find_constant_workers(run).items():
            reasons[number].append(f"always {cut(str(label), _MAX_LABEL)}")
    return reasons


def flag_workers(run: Run, weighing: Fit, reasons: Sequence[Sequence[str]]) -> list[str]:
    """Return the flag of each worker, from the reasons."""
    originals, groups = set(), weighing.copy_groups
    for group in groups.groups if groups is not None else ():
        if group.copies:
            originals.add(max(group.members, key=lambda number: int(run.answer_counts[number])))
    return [_choose_flag(words, counts=number in originals) for number, words in enumerate(reasons)]


def _choose_flag(words: Sequence[str], *, counts: bool) -> str:
    if any(word == _UNINFORMATIVE or word.startswith("always ") for word in words):
        return "block"
    if any(word.startswith("copies") for word in words):
        return "look" if counts else "block"
    return "look" if set(words) - {_FEW} else "few" if words else ""


def flag_columns(run: Run, weighing: Fit) -> dict[str, Values | Array]:
    """Return the table of workers with flags and reasons, in the order of their ids.

    >>> import allalike
    >>> said = {"ada": "xyzxyzxyzx", "bob": "xyzxyzxyzz", "eve": "zzzzzzzzzz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method="UA")
    >>> table = flag_columns(result.run, result.weighing)
    >>> [table[name].tolist() for name in ("worker", "flag", "reason")]
    [['ada', 'bob', 'eve'], ['', '', 'block'], ['', '', 'always z']]
    """
    reasons = list_reasons(run, weighing)
    return {
        **worker_columns(run, weighing),
        **(function_columns(run) if run.notes.get("silent") is not None else {}),
        "flag": text_column(flag_workers(run, weighing, reasons)),
        "reason": text_column([", ".join(words) for words in reasons]),
    }


def put_flagged_first(columns: Mapping[str, Values | Array]) -> dict[str, Values | Array]:
    """Return a table of workers sorted by flag."""
    order = np.argsort([FLAGS.index(flag) for flag in columns["flag"].tolist()], kind="stable")
    return {
        name: column.take(order) if isinstance(column, Values) else column[order] for name, column in columns.items()
    }


def find_constant_workers(run: Run) -> dict[int, Any]:
    """Return the workers who always give the same class, each with it; none for labels other than classes.

    The codes of a worker's n answers are all equal if and only if their sum of squares is n times their squared mean:
    two exact sums per worker, on any engine. A worker who answers like the crowd gives a class of share s each time
    with probability s^n; only workers with a probability below 1 % are returned.

    >>> import allalike
    >>> said = {"ada": "xyzxyzxyzx", "bob": "xyzxyzxyzz", "eve": "zzzzzzzzzz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> find_constant_workers(allalike.discover(rows).run)
    {2: 'z'}
    """
    n_labels = run.encoding.n_labels
    if run.encoding.n_classes is None or not 1 < n_labels <= _MAX_CLASSES:
        return {}
    sums, answers = run.sum(_add_codes), np.maximum(run.answer_counts, 1)
    code = np.rint(sums["code"] / answers)
    same = (sums["code"] == answers * code) & (sums["square"] == answers * np.square(code))
    if not (same & (run.answer_counts > 0)).any():
        return {}
    share = run.total(partial(_add_shares, n_labels=n_labels))["share"] / run.n_tasks
    rare = np.minimum(share[code.astype(np.intp)], 1.0) ** answers < _MIN_CHANCE
    workers = np.flatnonzero(same & rare & (run.answer_counts > 0))
    labels = run.encoding.decode(code[workers].astype(np.intp)).tolist()
    return dict(zip(workers.tolist(), labels, strict=True))


def _add_codes(block: Block) -> dict[str, Floats]:
    code = block.label.astype(np.float64)
    return {
        "code": sum_by(block.worker, code, block.n_workers),
        "square": sum_by(block.worker, np.square(code), block.n_workers),
    }


def _add_shares(block: Block, *, n_labels: int) -> dict[str, Floats]:
    """Sum the share of each class in the answers to each task."""
    return {"share": sum_by(block.label, block.to_answers(1.0 / block.sizes), n_labels)}
