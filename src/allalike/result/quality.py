"""Quality of workers: precision, recall and F1 by worker and tag, confusions, biases, and flags.

**Rates.** A worker's answers are compared with the labels of the same tasks:

    precision = hits / made        recall = hits / due        F1 = 2 hits / (made + due)

*made* counts the marks in the answers, *due* the marks in the labels, and *hits* the marks in both. A mark is a class,
an element of a set, an object (paired with an object of the same class in the label) or a pixel. The labels are the
estimated labels and, if there are any, gold labels. The rates are suitable for comparing workers with each other.
Because answers influence the estimated labels, the rates are too high for tasks with few answers.

**Flags.** ``block`` marks workers whose answers do not depend on the tasks: they are uninformative, always give the
same class, or copy. The worker with the most answers in a copy group is not blocked, because the original is unknown.
``look`` marks workers with a significantly larger error than the crowd, and careless respondents to a survey. ``few``
marks workers with few answers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import Block, Floats, sum_by
from allalike._core.columns.values import Values, text_column
from allalike._core.text_format import cut
from allalike.domains.contract import Marks
from allalike.engines.sample import pick_tasks
from allalike.errors import UnsupportedError
from allalike.result.messages import name_some
from allalike.result.summaries import Worse, find_worse, keep_known, with_quorum
from allalike.result.tables import function_columns, trust_columns, worker_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Encoding
    from allalike.engines import Run
    from allalike.methods import Fit

    Mark = tuple[int, str | None, dict[str, float]]

_ALL_TAGS, _UNHEARD = "(all)", "(not given)"  # the latter is a gold label that is in no answer
_COUNTS = ["hits", "made", "due"]
_MAX_CELLS = 1 << 24  # cells in tables of workers, labels and classes


def rate_disagreement(distance: Floats, confidence: Floats) -> Floats:
    """Return the strength of each disagreement: the distance to the label times its confidence (1 if unknown)."""
    return np.nan_to_num(distance * np.nan_to_num(confidence, nan=1.0)).round(12)


def rate_workers(run: Run, fit: Fit, *, kept: bool) -> dict[str, dict[str, Values | Array]]:
    """Return the columns of the tables of quality and, for classes, of confusions."""
    encoding, marks, k = run.encoding, run.domain if isinstance(run.domain, Marks) else None, run.encoding.n_labels
    few = encoding.n_classes is not None and len(run.workers) * (k + 1) * k <= _MAX_CELLS
    if run.worker_task is not None or (marks is None and not few):
        name = run.domain.name
        raise UnsupportedError(
            f"Precision and recall are not defined for {name} labels, or there are too many of them."
        )
    block = pick_tasks(run, np.empty(0, np.uint64), share=2.0)
    found = with_quorum(run, fit).decide_on(run)(encoding.prepare(block), *fit.arguments)
    found = keep_known(block, found, encoding) if kept else found
    against = {"": (np.arange(len(block.label)), found["label"][block.task])}
    if run.n_gold:
        place = block.to_answers(block.gold_row)
        rows = np.flatnonzero(place >= 0)
        against["gold_"] = rows, block.gold_label[place[rows]]
    if marks is not None:
        return {"quality": _rate(run, {name: _list_marks(block, marks, *each) for name, each in against.items()})}
    counts = {name: _count_confusions(block, k, *each) for name, each in against.items()}
    worker, truth, label = np.nonzero(counts[""][:, :k])  # without gold labels that are in no answer
    named = {"worker": run.workers.take(worker), "truth": encoding.decode(truth), "label": encoding.decode(label)}
    return {
        "quality": _rate(run, {name: _mark_classes(each, encoding) for name, each in counts.items()}),
        "confusion": {**named, "answers": counts[""][worker, truth, label]},
    }


def _rate(run: Run, listed: Mapping[str, list[Mark]]) -> dict[str, Values | Array]:
    """Return the columns of the table of quality, given the marks of workers compared with each kind of labels."""
    sums = {prefix: _gather(marks) for prefix, marks in listed.items()}
    rows = sorted(
        {row for each in sums.values() for row in each}, key=lambda row: (row[0], row[1] != _ALL_TAGS, row[1])
    )
    rated = {prefix: _divide([each.get(row, {}) for row in rows]) for prefix, each in sums.items()}
    return {
        "worker": run.workers.take(np.array([worker for worker, _ in rows], np.int64)),
        "tag": text_column([tag for _, tag in rows]),
        **{f"{prefix}{name}": column for prefix, each in rated.items() for name, column in each.items()},
    }


def _gather(marks: list[Mark]) -> dict[tuple[int, str], dict[str, list[float]]]:
    """Group the numbers by worker and tag, and by worker for all tags."""
    found: dict[tuple[int, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for worker, tag, numbers in marks:
        for row in {(worker, _ALL_TAGS), (worker, tag or _ALL_TAGS)}:
            for name, number in numbers.items():
                found[row][name].append(number)
    return found


def _divide(rows: list[dict[str, list[float]]]) -> dict[str, Array]:
    """Return the rates of each row, and the means of further numbers that are known."""
    hits, made, due = (np.array([sum(row.get(name, [])) for row in rows], np.float64) for name in _COUNTS)
    with np.errstate(invalid="ignore"):
        rates = {"precision": hits / made, "recall": hits / due, "f1": 2 * hits / (made + due)}
    more = dict.fromkeys(name for row in rows for name in row if name not in _COUNTS)
    known = {name: [[x for x in row.get(name, []) if not math.isnan(x)] for row in rows] for name in more}
    means = {name: np.array([np.mean(row) if row else np.nan for row in each]) for name, each in known.items()}
    return {**rates, "support": due.astype(np.int64), **means}


def _list_marks(block: Block, marks: Marks, rows: Array, truths: Array) -> list[Mark]:
    """Return the marks of each answer per tag, and further measures of the whole answer."""
    listed: list[Mark] = []
    for worker, label, truth in zip(block.worker[rows].tolist(), block.label[rows], truths, strict=True):
        for tag, counts in marks.count_marks(label, truth).items():
            named = None if tag is None else str(tag)
            listed.append((worker, named, dict(zip(_COUNTS, map(int, counts), strict=True))))
        listed.append((worker, None, {"made": 0, **marks.measure_marks(label, truth)}))
    return listed


def _count_confusions(block: Block, k: int, rows: Array, truths: Array) -> Array:
    """Count answers by worker, true label and given label; the last true label combines those that no answer has."""
    shape = (block.n_workers, k + 1, k)
    cell = np.ravel_multi_index((block.worker[rows], np.minimum(truths, k), block.label[rows]), shape)
    return np.bincount(cell, minlength=block.n_workers * (k + 1) * k).reshape(shape)


def _mark_classes(counts: Array, encoding: Encoding) -> list[Mark]:
    """Return confusion counts as marks: given labels count as made, and true labels as due."""
    tags = [*map(str, encoding.decode(np.arange(encoding.n_labels)).tolist()), _UNHEARD]
    made, hits = (np.pad(each, ((0, 0), (0, 1))) for each in (counts.sum(axis=1), counts.diagonal(axis1=1, axis2=2)))
    numbers = {"hits": hits, "made": made, "due": counts.sum(axis=2)}
    places = np.argwhere(made + numbers["due"] > 0).tolist()
    return [(i, tags[j], {name: float(each[i, j]) for name, each in numbers.items()}) for i, j in places]


# Flags.

FLAGS = ("block", "look", "", "few")  # in the order in which workers are listed
_MAX_LOOKED_AT = 5_000_000  # answers, above which constant workers are not searched
_MAX_LABEL = 20  # characters
_FEW, _UNINFORMATIVE = "few answers", "uninformative"
_MAX_CLASSES = 1 << 12  # classes whose squared codes can be added without rounding
_MIN_CHANCE = 0.01


class Flag(NamedTuple):
    """Unusual finding about a worker, and the evidence."""

    name: str
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.name[0].upper()}{self.name[1:]}{': ' if self.evidence else ''}{self.evidence}."


def list_flags(run: Run, fit: Fit) -> list[list[Flag]]:
    """Return the flags of each worker; constant workers need another pass over the answers."""
    flags: list[list[Flag]] = [[] for _ in range(len(run.workers))]
    known, groups, trust = fit.uncertainty, fit.copy_groups, trust_columns(fit)
    for number in () if known is None or known.uninformative is None else np.flatnonzero(known.uninformative):
        value, error = (np.asarray(trust[name])[number] for name in ("informativeness", "informativeness_se"))
        flags[number].append(Flag(_UNINFORMATIVE, f"informativeness {value:.2g}, standard error {error:.2g}"))
    shared = {} if known is None else {number: known.shared[number] for number in np.flatnonzero(known.few).tolist()}
    for number, tasks in shared.items():
        flags[number].append(Flag(_FEW, f"{int(tasks):,} of the worker's tasks have other answers"))
    for place, group in enumerate(groups.groups if groups is not None else (), 1):
        names = name_some([run.workers[number] for number in group.members], len(group.members))
        share = "" if np.isnan(group.fidelity) else f", copied in {100 * group.fidelity:.0f} % of them"
        evidence = f"{names} with {group.common:,} common tasks{share}, same rare answer in {group.rare:,}"
        for number in group.members if group.copies else ():
            flags[number].append(Flag(f"copies (group {place})", f"{evidence} (p = {group.p_value:.2g})"))
    if (worse := find_worse(run, fit)) is not None:
        for number, found in worse.evidence.items():
            flags[number].append(Flag("worse than the crowd", _describe_error(found, worse)))
    careless = run.notes.get("careless") or {}
    for number, worker in enumerate(run.workers.tolist() if careless else ()):
        flags[number] += map(Flag, careless.get(str(worker), ()))
    if int(run.answer_counts.sum()) <= _MAX_LOOKED_AT:
        for number, label in find_constant_workers(run).items():
            always = f"always {cut(str(label), _MAX_LABEL)}"
            flags[number].append(Flag(always, f"all {int(run.answer_counts[number]):,} answers"))
    return flags


def _describe_error(found: Mapping[str, float], worse: Worse) -> str:
    if "ci_low" not in found:
        return f"{found['relative_error']:.3g} more than others on the same tasks"
    interval = f"{found['ci_low']:.3g} to {found['ci_high']:.3g}"
    return f"{worse.unit.replace('_', ' ')} {interval}, the crowd's mean is {worse.mean:.3g}"


def flag_columns(run: Run, fit: Fit, flags: Sequence[Sequence[Flag]]) -> dict[str, Values | Array]:
    """Return the table of workers with flags and reasons, sorted by id."""
    originals, groups = set(), fit.copy_groups
    for group in groups.groups if groups is not None else ():
        if group.copies:
            originals.add(max(group.members, key=lambda number: int(run.answer_counts[number])))
    reasons = [[flag.name for flag in each] for each in flags]
    chosen = [_choose_flag(words, counts=number in originals) for number, words in enumerate(reasons)]
    return {
        **worker_columns(run, fit),
        **(function_columns(run) if run.notes.get("silent") is not None else {}),
        "flag": text_column(chosen),
        "reason": text_column([", ".join(words) for words in reasons]),
    }


def _choose_flag(words: Sequence[str], *, counts: bool) -> str:
    if any(word == _UNINFORMATIVE or word.startswith("always ") for word in words):
        return "block"
    if any(word.startswith("copies") for word in words):
        return "look" if counts else "block"
    return "look" if set(words) - {_FEW} else "few" if words else ""


def put_flagged_first(columns: Mapping[str, Values | Array]) -> dict[str, Values | Array]:
    """Return a table of workers sorted by flag."""
    order = np.argsort([FLAGS.index(flag) for flag in columns["flag"].tolist()], kind="stable")
    return {
        name: column.take(order) if isinstance(column, Values) else column[order] for name, column in columns.items()
    }


def find_constant_workers(run: Run) -> dict[int, Any]:
    """Return the workers who always give the same class, with that class; works for classes only.

    The codes of a worker's n answers are all equal if and only if their sum of squares is n times their squared mean.
    This takes two exact sums per worker on any engine. A worker who answers like the crowd has the probability s^n of
    always giving a class of share s. Only workers with a probability below 1 % are returned.
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
