"""Flags: who needs a look, why, and whose answers are better left out.

A worker is flagged ``block`` if her answers say nothing about the tasks, or repeat another's: she always gives the same
class, carries no signal, or copies. Of a group of copies, one who gave most answers stays, for it is not known who
copied from whom, and their voice counts once anyway. ``look`` is for those who are clearly worse than the crowd, which
may have good reasons, and for careless respondents of a survey, as far as its reader knows; ``few`` is for those of
whom little is known.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import Block, Floats, sum_by
from allalike._core.columns.values import Values, text_column
from allalike.report.material import Material, cut
from allalike.report.people import find_flags
from allalike.result.tables import worker_columns
from allalike.telling.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing

FLAGS = ("block", "look", "", "few")  # in the order in which workers are listed
_MAX_LOOKED_AT = 5_000_000  # answers, from which on nobody waits for another look at them
_MAX_LABEL = 20  # characters
_FEW = "few answers"
_MAX_CLASSES = 1 << 12  # whose squared codes can be added up without rounding
_MIN_CHANCE = 0.01


def list_reasons(
    run: Run, weighing: Weighing, found: TaskTable, summary: Mapping[str, Any], *, look: bool = True
) -> list[list[str]]:
    """Say in words what is remarkable about each worker; who always gives the same answer only if one may look.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "x")])
    >>> list_reasons(result.run, result.weighing, result.found, result.summary)
    [['few answers'], ['few answers']]
    """
    parts: dict[str, Any] = {"run": run, "weighing": weighing, "found": found}
    parts |= {"summary": Summary.from_dict(dict(summary)), "workers": worker_columns(run, weighing)}
    reasons = find_flags(Material(**parts, next_tasks={}, agreement=None, effects=None))
    if look and int(run.answer_counts.sum()) <= _MAX_LOOKED_AT:
        for worker, label in find_monotonous(run).items():
            reasons[worker].append(f"always {cut(str(label), _MAX_LABEL)}")
    return reasons


def flag_workers(run: Run, weighing: Weighing, reasons: Sequence[Sequence[str]]) -> list[str]:
    """Flag each worker by the reasons to look at her.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "x"), ("kim", 1, "x")], method="UA")
    >>> flag_workers(result.run, result.weighing, [["no signal"], ["few answers"], [], ["worse than the crowd"]])
    ['block', 'few', '', 'look']
    """
    stays = _find_heads(run, weighing)
    return [_flag(words, stays=bool(stay)) for words, stay in zip(reasons, stays, strict=True)]


def _flag(words: Sequence[str], *, stays: bool) -> str:
    if any(word == "no signal" or word.startswith("always ") for word in words):
        return "block"
    if any(word.startswith("copies") for word in words):
        return "look" if stays else "block"
    return "look" if set(words) - {_FEW} else "few" if words else ""


def _find_heads(run: Run, weighing: Weighing) -> npt.NDArray[np.bool_]:
    """Mark one of each group of copies: who gave most answers, and of equal ones the first."""
    heads = np.zeros(len(run.workers), np.bool_)
    groups = weighing.insight.groups
    for group in () if groups is None else groups.found:
        if group.copies:
            members = np.array(group.members)
            heads[members[np.argmax(run.answer_counts[members])]] = True
    return heads


def flag_columns(
    run: Run, weighing: Weighing, found: TaskTable, summary: Mapping[str, Any]
) -> dict[str, Values | Array]:
    """Return the table of workers with flags and reasons, in the order of their ids.

    >>> import allalike
    >>> said = {"ada": "xyzxyzxyzx", "bob": "xyzxyzxyzz", "eve": "zzzzzzzzzz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method="UA")
    >>> table = flag_columns(result.run, result.weighing, result.found, result.summary)
    >>> [table[name].tolist() for name in ("worker", "flag", "reason")]
    [['ada', 'bob', 'eve'], ['', '', 'block'], ['', '', 'always z']]
    """
    reasons = list_reasons(run, weighing, found, summary)
    said = {"flag": flag_workers(run, weighing, reasons), "reason": [", ".join(words) for words in reasons]}
    columns = worker_columns(run, weighing)
    if run.notes.get("silent") is not None:
        from allalike.result.tables import function_columns  # which label matrices alone need

        columns |= function_columns(run)
    return {**columns, **{name: text_column(texts) for name, texts in said.items()}}


def put_flagged_first(columns: Mapping[str, Values | Array]) -> dict[str, Values | Array]:
    """Return a table of workers that begins with who needs a look, and ends with who is hardly known.

    >>> put_flagged_first({"worker": np.array([1, 2, 3]), "flag": text_column(["few", "", "block"])})["worker"].tolist()
    [3, 2, 1]
    """
    order = np.argsort([FLAGS.index(flag) for flag in columns["flag"].tolist()], kind="stable")
    return {
        name: column.take(order) if isinstance(column, Values) else column[order] for name, column in columns.items()
    }


def find_monotonous(run: Run) -> dict[int, Any]:
    """Return the workers who always give the same class, each with it; none where labels are no classes.

    The codes of a worker's n answers are all equal if and only if their sum of squares is n times their squared mean:
    two exact sums per worker, on any engine. Whoever gives a class of share s each time does so by chance with
    probability s^n, if they answer like everybody; only what is less probable than 1 % is a reason to look at them.

    >>> import allalike
    >>> said = {"ada": "xyzxyzxyzx", "bob": "xyzxyzxyzz", "eve": "zzzzzzzzzz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> find_monotonous(allalike.discover(rows).run)
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
    live = np.ones(block.n_tasks) if block.live is None else block.live.astype(np.float64)
    return {"share": sum_by(block.label, block.to_answers(live / block.sizes), n_labels)}
