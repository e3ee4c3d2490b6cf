"""Rank columns as worker, task and label, by what they contain and what they are called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from allalike.readers.column_names import SYNONYM, SYNONYMS, is_gold, name_consensus, rate_name

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from allalike.readers.guessing.contents import Content, TableSample

EXAMPLE = (
    "No choice of columns works. A table that works has a row per answer, and tasks with answers by several workers:",
    "worker,task,label",
    "ada,photo1,cat",
    "bob,photo1,cat",
    "ada,photo2,dog",
    "bob,photo2,cat",
    "A table with a column per worker is read with wide='tasks', a file per worker with worker_from='filename'.",
)


_MOST_IDS, _MOST_LABELS, _MOST_PAIRS = 14, 30, 8  # columns tried as worker or task, as label, and pairs of the former


_MOST_BESIDE, _MOST_LOOKED_AT = 60, 50  # columns, and values of each, that tell whether tasks are shown


_MAX_BEHIND = 0.6  # of the rate of a pair behind that of the best


_MAX_ID_LENGTH = 80  # longer texts are no ids of workers


_SHOWN = re.compile(r"(?is:https?://.*|.*\.(?:jpe?g|png|gif|tiff?|txt|wav|mp[34]|pdf|json|html?)|(?:\S+\s+){3}.*)")


@dataclass(frozen=True)
class Candidate:
    """Columns that may be worker, task and label.

    ``structure`` rates whether rows are answers, ``content`` also whether the answers to a task agree, from 0 to 1, and
    ``total`` adds what the names say.
    """

    columns: dict[str, str]
    structure: float
    content: float
    total: float

    def is_like(self, other: Candidate, sample: TableSample) -> bool:
        """Return whether another candidate has the same columns, or such as have the same values."""
        return all(_are_same(sample, name, other.columns[role]) for role, name in self.columns.items())


def find_candidates(sample: TableSample, chosen: Mapping[str, str]) -> list[Candidate]:
    """Return all columns that may be worker, task and label beside the chosen ones, the best first.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> rows = {"a": [1, 1, 2, 2, 3, 3], "b": ["x", "y"] * 3, "c": [0, 0, 1, 1, 0, 1]}
    >>> find_candidates(TableSample(rows), {"label": "c"})[0].columns
    {'worker': 'b', 'task': 'a', 'label': 'c'}
    """
    odd = ("number", "date", "nested", "records", "truth value")

    def is_id(content: Content) -> bool:
        return content.kind not in odd and 2 <= content.n_values < sample.n_rows

    def is_worker(content: Content) -> bool:
        length = sum(map(len, content.texts)) / len(content.texts)
        return is_id(content) and content.kind != "url" and length <= _MAX_ID_LENGTH

    def is_task(content: Content) -> bool:  # also when or where something was measured, which recurs
        recurs = 2 <= content.n_values <= sample.n_rows / 2
        return is_id(content) or (content.kind in ("date", "number") and recurs)

    workers = _list_columns(sample, chosen, "worker", is_worker)[:_MOST_IDS]
    tasks = _list_columns(sample, chosen, "task", is_task)[:_MOST_IDS]
    labels = _list_columns(sample, chosen, "label", lambda content: content.n_present >= 2)[:_MOST_LABELS]
    pairs = [
        (_rate_pair(sample, worker, task) + _rate_names({"worker": worker, "task": task}), worker, task)
        for worker, task in product(workers, tasks)
        if worker != task and not _are_same(sample, worker, task)
    ]
    pairs.sort(key=lambda pair: -pair[0])
    pairs = [pair for pair in pairs[:_MOST_PAIRS] if pair[0] > pairs[0][0] - _MAX_BEHIND]
    candidates = [each for _, worker, task in pairs for each in _rate_labels(sample, worker, task, tasks, labels)]
    return sorted(candidates, key=lambda candidate: (-candidate.total, *candidate.columns.values()))


def _rate_labels(
    sample: TableSample, worker: str, task: str, tasks: Sequence[str], labels: Sequence[str]
) -> list[Candidate]:
    """Rate each label beside a worker and a task, where other tasks may be as good."""
    candidates = []
    beside = 0.3 * _rate_look(sample, task) + 0.02 * (sample[worker].n_values < sample[task].n_values)
    least = 0.95 * _rate_pair(sample, worker, task)
    equal = [name for name in tasks if name not in (worker, task) and _rate_pair(sample, worker, name) >= least]
    for label in (label for label in labels if label not in (worker, task)):
        columns = {"worker": worker, "task": task, "label": label}
        told = any(name != label and sample.follows(label, name) for name in equal)  # a property of a finer task
        part = label in equal and sample.count_partners(label, task).sum() <= 1.05 * sample[label].n_values
        structure, content = (rate * (0.15 if told else 0.3 if part else 1.0) for rate in rate_content(sample, columns))
        excess, error = sample.measure_agreement(label, task)
        clear = 0.15 * structure * min(max(excess, 0.0) / max(6 * error, 1e-9), 1.0)
        candidates.append(Candidate(columns, structure, content, content + clear + _rate_names(columns) + beside))
    return candidates


def _list_columns(
    sample: TableSample, chosen: Mapping[str, str], role: str, may_be: Callable[[Content], bool]
) -> list[str]:
    """Return the chosen column, or those that may be; of several with the same values the best called and shortest."""
    if role in chosen:
        return [chosen[role]]
    groups: dict[bytes, list[str]] = {}
    for name, content in sample.contents.items():
        if name not in chosen.values() and may_be(content):
            groups.setdefault(content.codes.tobytes(), []).append(name)
    best = [
        min(group, key=lambda name: (-rate_name(name, role), len("".join(sample[name].texts)), name))
        for group in groups.values()
    ]
    return sorted(best, key=lambda name: -rate_name(name, role))


def _are_same(sample: TableSample, name: str, other: str) -> bool:
    return np.array_equal(sample[name].codes, sample[other].codes)


def rate_content(sample: TableSample, columns: Mapping[str, str]) -> tuple[float, float]:
    """Rate the structure of columns, and the structure together with the agreement of labels within tasks."""
    structure = rate_structure(sample, columns)
    return structure, structure * (0.5 + 0.5 * rate_agreement(sample, columns["label"], columns["task"]))


def rate_agreement(sample: TableSample, label: str, group: str) -> float:
    """Rate how much more labels agree within a group than by chance, less the error of this, from 0 to 1."""
    excess, error = sample.measure_agreement(label, group)
    return min(max(excess - error, 0.0), 1.0)


def rate_structure(
    sample: TableSample, columns: Mapping[str, str], *, whole: bool = True, known: Container[str] = ()
) -> float:
    """Rate how well columns make rows of answers, from 0 to 1.

    Where a sample is not the whole table, tasks with one answer in it may have others, and are no fault. A label that
    is known to be one is not rated.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> sample = TableSample({"who": ["a", "b"] * 2, "what": [1, 1, 2, 2], "topic": [1] * 4, "said": [0, 1, 1, 1]})
    >>> [rate_structure(sample, {"worker": "who", "task": task, "label": "said"}) for task in ("what", "topic")]
    [1.0, 0.0]
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
    content = sample[label]
    if content.n_present < 2:
        return 0.0
    if (sample.count_partners(task, worker) > 1).sum() >= 5 and sample.follows(label, task):
        return 0.15
    named = rate_name(label, "label") > SYNONYM
    if sample[worker].n_values > 1 and sample.follows(label, worker) and not named:
        excess, error = sample.measure_agreement(label, task)
        return 0.6 if excess > 6 * error > 0 else 0.1  # labelling functions may give one class each, and agree
    if content.kind in ("date", "url", "records"):
        return 0.15
    if not content.n_present > 0.9 * content.n_filled > 10:
        return 0.5 + 0.5 * content.n_filled / sample.n_rows
    if content.kind == "number":
        excess, error = sample.measure_agreement(label, task)
        return 0.95 if excess > 2 * error else 0.4
    return {"whole": 0.3, "nested": 0.8}.get(content.kind, 0.7 if content.words >= 3 else 0.2)


def _rate_names(columns: Mapping[str, str]) -> float:
    """Rate names for their roles, and against them if they speak more for another."""
    rate = 0.0
    for role, name in columns.items():
        own, other = rate_name(name, role), max(rate_name(name, each) for each in SYNONYMS if each != role)
        rate += own - (other if other > own else 0.0)
    return 0.35 * rate


def _rate_look(sample: TableSample, task: str) -> float:
    """Return the share of tasks that are files, addresses or texts, or for each of which another column has such."""
    rates = [0.0]
    for name in sample.names[:_MOST_BESIDE]:
        content = sample[name]
        same = name == task or (2 * content.n_values >= sample[task].n_values and sample.follows(name, task))
        if same and content.kind in ("text", "url"):
            texts = content.texts[:_MOST_LOOKED_AT]
            rates.append(sum(_SHOWN.fullmatch(text.strip()[:200]) is not None for text in texts) / len(texts))
    return max(rates)


def name_pattern(labels: Sequence[str]) -> str:
    """Say that a pattern gives a result for each label, if their names begin in the same way.

    >>> name_pattern(["q.a", "q.b"]), name_pattern(["a", "b"])
    (" The pattern 'q.*' takes each of them by itself.", '')
    """
    start = re.fullmatch(r"(.*(?:[^\w\s]|_)).*(?:\n\1.*)+", "\n".join(labels))
    return f" The pattern {start[1] + '*'!r} takes each of them by itself." if start else ""


# Detect a column of a matrix that is the consensus of the other columns, and not a worker.


_MOST_CLASSES = 20


_MOST_CELLS = 1_000_000


_LEAST_COLUMNS, _LEAST_ROWS = 4, 20


MOST_DEPARTURES = 0.05  # of the rows, where a column is a consensus


_CLEAR_ERRORS = 2.0  # standard errors by which its departures are fewer than those of any other column


def find_consensus(sample: TableSample, names: Sequence[str]) -> str | None:
    """Return the column that agrees with the majority of the others in 95 % of the rows, clearly more than any does.

    A very good worker may do so as well, so it is a reason to mention the column, and not to exclude it.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> ada, bob, eve = "yxyyy" * 8, "xyyxy" * 8, "xxxyx" * 8
    >>> vote = ["x" if row.count("x") > 1 else "y" for row in zip(ada, bob, eve)]
    >>> cells = {"ada": [*ada], "bob": [*bob], "eve": [*eve], "kim": vote}
    >>> find_consensus(TableSample(cells), [*cells])
    'kim'
    """
    found = measure_departures(sample, [name for name in names if not is_gold(name) and not name_consensus(name)])
    if len(found) < _LEAST_COLUMNS:
        return None
    (first, (rate, rows)), (_, (other, _)) = sorted(found.items(), key=lambda item: item[1][0])[:2]
    clear = (other - rate) * rows >= _CLEAR_ERRORS * np.sqrt((other + rate) * rows) > 0
    return first if rows >= _LEAST_ROWS and rate <= MOST_DEPARTURES and clear else None


def measure_departures(sample: TableSample, names: Sequence[str]) -> dict[str, tuple[float, int]]:
    """Measure in which share of how many rows each column departs from the majority of the others; not for numbers."""
    n_rows = min(sample.n_rows, _MOST_CELLS // max(len(names), 1))
    numbers: dict[str, int] = {}
    codes = np.full((len(names), n_rows), -1, np.int64)
    for place, name in enumerate(names):
        content = sample[name]
        if content.n_present > _MOST_CLASSES or len(numbers) > 2 * _MOST_CLASSES:
            return {}
        number = np.array([numbers.setdefault(str(value), len(numbers)) for value in content.values], np.int64)
        codes[place] = np.where(content.missing, -1, number[content.codes])[:n_rows]
    votes = np.stack([(codes == number).sum(axis=0) for number in range(len(numbers) or 1)], axis=1)
    found = {}
    for name, own in zip(names, codes, strict=True):
        rows = np.flatnonzero(own >= 0)
        others = votes[rows].copy()
        others[np.arange(len(rows)), own[rows]] -= 1
        most = others.max(axis=1, initial=0)
        clear = (most > 0) & ((others == most[:, None]).sum(axis=1) == 1)  # rows in which the others have a majority
        if clear.any():
            found[name] = float((others[clear].argmax(axis=1) != own[rows][clear]).mean()), int(clear.sum())
    return found
