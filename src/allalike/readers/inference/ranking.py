"""Rank columns as worker, task and label, by what they contain and how they are named."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from allalike.readers.column_names import SYNONYM, SYNONYMS, rate_name

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from allalike.readers.inference.samples import ColumnSample, TableSample

_MAX_IDS, _MAX_LABELS, _MAX_PAIRS = 14, 30, 8  # columns tried as worker or task, as label, and pairs of worker and task
_MAX_BEHIND = 0.6  # of the score of a pair, behind the best
_MAX_ID_LENGTH = 80  # longer texts are not ids of workers
_MAX_SHOWN = 50  # values that tell whether tasks are files, addresses or texts
_SHOWN = re.compile(r"(?is:https?://.*|.*\.(?:jpe?g|png|gif|tiff?|txt|wav|mp[34]|pdf|json|html?)|(?:\S+\s+){3}.*)")
_NO_IDS = ("number", "date", "nested", "records", "truth value")


@dataclass(frozen=True)
class Candidate:
    """Columns that may be worker, task and label.

    ``structure`` rates from 0 to 1 whether rows are answers, ``content`` also whether the answers to a task agree, and
    ``score`` adds what the names say.
    """

    columns: dict[str, str]
    structure: float
    content: float
    score: float

    def is_like(self, other: Candidate, sample: TableSample) -> bool:
        """Return whether another candidate has columns with the same values."""
        return all(_are_same(sample, name, other.columns[role]) for role, name in self.columns.items())


def rank_columns(sample: TableSample, chosen: Mapping[str, str]) -> list[Candidate]:
    """Return all columns that may be worker, task and label beside the chosen ones, the best first."""

    def is_id(column: ColumnSample) -> bool:
        return column.kind not in _NO_IDS and 2 <= column.n_values < sample.n_rows

    def is_worker(column: ColumnSample) -> bool:
        length = sum(map(len, column.texts)) / len(column.texts)
        return is_id(column) and column.kind != "url" and length <= _MAX_ID_LENGTH

    def is_task(column: ColumnSample) -> bool:  # also a time or place of a measurement
        recurs = 2 <= column.n_values <= sample.n_rows / 2
        return is_id(column) or (column.kind in ("date", "number") and recurs)

    workers = _list_columns(sample, chosen, "worker", is_worker)[:_MAX_IDS]
    tasks = _list_columns(sample, chosen, "task", is_task)[:_MAX_IDS]
    labels = _list_columns(sample, chosen, "label", lambda column: column.n_present >= 2)[:_MAX_LABELS]
    pairs = [
        (_rate_pair(sample, worker, task) + _rate_names({"worker": worker, "task": task}), worker, task)
        for worker, task in product(workers, tasks)
        if worker != task and not _are_same(sample, worker, task)
    ]
    pairs.sort(key=lambda pair: -pair[0])
    candidates = []
    for score, worker, task in pairs[:_MAX_PAIRS]:
        if score > pairs[0][0] - _MAX_BEHIND:
            candidates += _rank_labels(sample, worker, task, tasks, labels)
    return sorted(candidates, key=lambda candidate: (-candidate.score, *candidate.columns.values()))


def _list_columns(
    sample: TableSample, chosen: Mapping[str, str], role: str, may_be: Callable[[ColumnSample], bool]
) -> list[str]:
    """Return the chosen column, or those that may be; of several with the same values the best named and shortest."""
    if role in chosen:
        return [chosen[role]]
    groups: dict[bytes, list[str]] = {}
    for column in sample.columns:
        if column.name not in chosen.values() and may_be(column):
            groups.setdefault(column.codes.tobytes(), []).append(column.name)
    best = [
        min(group, key=lambda name: (-rate_name(name, role), len("".join(sample[name].texts)), name))
        for group in groups.values()
    ]
    return sorted(best, key=lambda name: -rate_name(name, role))


def _are_same(sample: TableSample, name: str, other: str) -> bool:
    return np.array_equal(sample[name].codes, sample[other].codes)


def _rank_labels(
    sample: TableSample, worker: str, task: str, tasks: Sequence[str], labels: Sequence[str]
) -> list[Candidate]:
    """Rate each label beside a worker and a task, where other tasks may fit as well."""
    candidates = []
    beside = 0.3 * _rate_shown(sample, task) + 0.02 * (sample[worker].n_values < sample[task].n_values)
    least = 0.95 * _rate_pair(sample, worker, task)
    equal = [name for name in tasks if name not in (worker, task) and _rate_pair(sample, worker, name) >= least]
    for label in (label for label in labels if label not in (worker, task)):
        columns = {"worker": worker, "task": task, "label": label}
        finer = any(name != label and sample.depends_on(label, name) for name in equal)  # it is a property of a task
        coarse = label in equal and sample.count_partners(label, task).sum() <= 1.05 * sample[label].n_values
        structure, content = (
            rate * (0.15 if finer else 0.3 if coarse else 1.0) for rate in rate_content(sample, columns)
        )
        excess, error = sample.measure_agreement(label, task)
        clear = 0.15 * structure * min(max(excess, 0.0) / max(6 * error, 1e-9), 1.0)
        candidates.append(Candidate(columns, structure, content, content + clear + _rate_names(columns) + beside))
    return candidates


def rate_content(sample: TableSample, columns: Mapping[str, str]) -> tuple[float, float]:
    """Rate the structure of columns, and the structure together with the agreement of labels within tasks."""
    structure = rate_structure(sample, columns)
    return structure, structure * (0.5 + 0.5 * rate_agreement(sample, columns["label"], columns["task"]))


def rate_agreement(sample: TableSample, label: str, group: str) -> float:
    """Return the agreement of labels within groups beyond chance, less its standard error, from 0 to 1."""
    excess, error = sample.measure_agreement(label, group)
    return min(max(excess - error, 0.0), 1.0)


def rate_structure(
    sample: TableSample, columns: Mapping[str, str], *, whole: bool = True, known: Container[str] = ()
) -> float:
    """Rate how well columns make rows of answers, from 0 to 1.

    Tasks with one answer in a sample may have others unless it is the whole table. A known label is not rated.
    """
    worker, task, label = (columns[role] for role in SYNONYMS)
    pair = _rate_pair(sample, worker, task, whole=whole)
    return pair if "label" in known else pair * _rate_label(sample, worker, task, label)


def _rate_pair(sample: TableSample, worker: str, task: str, *, whole: bool = True) -> float:
    """Rate worker and task: no repeated rows, tasks with several workers, workers with several tasks, no gaps."""
    tasks, workers = sample.count_partners(worker, task), sample.count_partners(task, worker)
    kept = float(tasks.sum()) / max(sample.n_rows, 1)
    if not whole:
        return kept
    filled = min(sample[worker].n_filled, sample[task].n_filled) / sample.n_rows
    return float(kept**3 * ((workers > 1).mean() * (tasks > 1).mean()) ** 0.25 * filled)


def _rate_label(sample: TableSample, worker: str, task: str, label: str) -> float:
    """Rate a label: it differs within tasks and within workers, and it recurs unless it is a number or a text."""
    column = sample[label]
    excess, error = sample.measure_agreement(label, task)
    if column.n_present < 2:
        return 0.0
    if (sample.count_partners(task, worker) > 1).sum() >= 5 and sample.depends_on(label, task):
        return 0.15
    if sample[worker].n_values > 1 and sample.depends_on(label, worker) and rate_name(label, "label") <= SYNONYM:
        return 0.6 if excess > 6 * error > 0 else 0.1  # labelling functions may give one class each, and agree
    if column.kind in ("date", "url", "records"):
        return 0.15
    if not column.n_present > 0.9 * column.n_filled > 10:
        return 0.5 + 0.5 * column.n_filled / sample.n_rows
    if column.kind == "number":
        return 0.95 if excess > 2 * error else 0.4
    return {"whole": 0.3, "nested": 0.8}.get(column.kind, 0.7 if column.words >= 3 else 0.2)


def _rate_names(columns: Mapping[str, str]) -> float:
    """Rate names for their roles, and against them if they suit another role better."""
    rate = 0.0
    for role, name in columns.items():
        own, other = rate_name(name, role), max(rate_name(name, each) for each in SYNONYMS if each != role)
        rate += own - (other if other > own else 0.0)
    return 0.35 * rate


def _rate_shown(sample: TableSample, task: str) -> float:
    """Return the share of tasks that are files, addresses or texts, in this column or one that depends on it."""
    rates = [0.0]
    for column in sample.columns[:60]:
        same = column.name == task or (
            2 * column.n_values >= sample[task].n_values and sample.depends_on(column.name, task)
        )
        if same and column.kind in ("text", "url"):
            texts = column.texts[:_MAX_SHOWN]
            rates.append(sum(_SHOWN.fullmatch(text.strip()[:200]) is not None for text in texts) / len(texts))
    return max(rates)
