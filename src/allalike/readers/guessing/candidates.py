"""Readings: which columns may be worker, task and label, by what they hold and what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from allalike.readers.formats.column_names import SYNONYMS, rate_name

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from allalike.readers.guessing.contents import Content, Sample

__all__ = ["Reading", "find_readings", "rate_structure"]

_NAMES_COUNT = 0.25  # what a name that is a role's own counts, where the best content is 1
_FAR = 0.6  # from the best, for a pair of worker and task that is not looked at further
_MOST_PAIRS = 8  # of worker and task for which labels are looked for
_MOST_IDS = 14  # columns that may be worker or task
_MOST_LABELS = 30
_LONG = 80  # characters of a text that is no id
_FEW = 5  # tasks with several answers, from which it can be told whether a label belongs to the task itself
_SAME_IN_A_TASK, _SAME_OF_A_WORKER, _PART_OF_A_TASK, _ODD_LABEL = 0.15, 0.1, 0.3, 0.15
_AS_GOOD = 0.95
_USUAL = 0.02  # what it counts that there are fewer workers than tasks
_FEW_GAPS, _GAPS, _RARE = 0.8, 0.25, 0.02  # of what an id counts that some rows lack, for they could not be read
_HOPELESS = 0.2  # a structure for which agreement is not looked at
_SCARCE = 0.25  # the power of shares, of which small ones still count


@dataclass(frozen=True)
class Reading:
    """Which columns are worker, task and label, and how much speaks for it.

    Parameters
    ----------
    columns
        The name of each role's column.
    structure
        How well worker and task make rows, and the label can be a label, from 0 to 1.
    content
        The same, and how much labels agree within tasks.
    total
        The same, and how much names say so.
    """

    columns: dict[str, str]
    structure: float
    content: float
    total: float

    def is_like(self, other: Reading, sample: Sample) -> bool:
        """Tell whether another reading says the same, with columns that say the same."""
        return all(sample.alike(name, other.columns[role]) for role, name in self.columns.items())


def find_readings(sample: Sample, chosen: Mapping[str, str]) -> list[Reading]:
    """Return all readings with the chosen columns that are possible, the best first.

    >>> from allalike.readers.guessing.contents import Sample
    >>> told = {"a": [1, 1, 2, 2, 3, 3], "b": ["x", "y"] * 3, "c": [0, 0, 1, 1, 0, 1]}
    >>> find_readings(Sample(told), {"label": "c"})[0].columns
    {'worker': 'b', 'task': 'a', 'label': 'c'}
    """
    ids = _groups(sample, [name for name, content in sample.contents.items() if _may_be_id(content, sample)])
    workers = _candidates(sample, chosen, "worker", [group for group in ids if _may_be_worker(sample[group[0]])])
    tasks = _candidates(sample, chosen, "task", ids)
    every = _groups(sample, [name for name, content in sample.contents.items() if _may_be_label(content)])
    labels = _candidates(sample, chosen, "label", every)[:_MOST_LABELS]
    pairs = [
        (_rate_pair(sample, worker, task) + _names_count({"worker": worker, "task": task}), worker, task)
        for worker, task in product(workers[:_MOST_IDS], tasks[:_MOST_IDS])
        if worker != task and not sample.alike(worker, task)
    ]
    pairs.sort(key=lambda pair: -pair[0])
    pairs = [pair for pair in pairs if pair[0] > pairs[0][0] - _FAR]
    readings: list[Reading] = []
    for _, worker, task in pairs[:_MOST_PAIRS]:
        finest = [task, *_finer_tasks(sample, worker, task, tasks)]
        free = [label for label in labels if label not in (worker, task)]
        readings += [_rate(sample, {"worker": worker, "task": task, "label": label}, finest) for label in free]
    return sorted(readings, key=lambda reading: (-reading.total, *reading.columns.values()))


def rate_structure(
    sample: Sample, columns: Mapping[str, str], *, whole: bool = True, known: Container[str] = ()
) -> float:
    """Tell how well columns make rows of answers, from 0 to 1, without a look at what labels say.

    Where a sample is not the whole table, tasks with one answer in it may have others, and are no fault. A label that
    is known to be one is not rated.

    >>> from allalike.readers.guessing.contents import Sample
    >>> sample = Sample({"who": ["a", "b"] * 2, "what": [1, 1, 2, 2], "topic": [1] * 4, "said": [0, 1, 1, 1]})
    >>> rate_structure(sample, {"worker": "who", "task": "what", "label": "said"})
    1.0
    >>> rate_structure(sample, {"worker": "who", "task": "topic", "label": "said"})
    0.0
    """
    worker, task, label = (columns[role] for role in SYNONYMS)
    pair = _rate_pair(sample, worker, task) if whole else sample.kept(worker, task)
    return pair if "label" in known else pair * _rate_label(sample, worker, [task], label)


def _rate(sample: Sample, columns: dict[str, str], tasks: Sequence[str]) -> Reading:
    worker, task, label = (columns[role] for role in SYNONYMS)
    structure = _rate_pair(sample, worker, task) * _rate_label(sample, worker, tasks, label)
    agreement = sample.agreement(label, task) if structure > _HOPELESS else 0.0
    content = structure * (0.5 + 0.5 * agreement)
    usual = _USUAL if sample[worker].n_values < sample[task].n_values else 0
    return Reading(columns, structure, content, content + _names_count(columns) + usual)


def _finer_tasks(sample: Sample, worker: str, task: str, tasks: Sequence[str]) -> list[str]:
    """Return columns that are as good a task: what follows from one of them is told about it, and no answer."""
    rate = _rate_pair(sample, worker, task)
    return [
        other
        for other in tasks[:_MOST_IDS]
        if other not in (worker, task) and _rate_pair(sample, worker, other) >= _AS_GOOD * rate
    ]


def _names_count(columns: Mapping[str, str]) -> float:
    return _NAMES_COUNT * sum(rate_name(name, role) for role, name in columns.items())


def _rate_pair(sample: Sample, worker: str, task: str) -> float:
    """Rate worker and task: rows that stay, tasks with several workers, and workers with several tasks."""
    several = sample.shared(task, worker), sample.shared(worker, task)
    rate = sample.kept(worker, task) * (several[0] * several[1]) ** _SCARCE
    gaps = max(sample[worker].gaps, sample[task].gaps)
    return float(rate * (_GAPS if gaps > _RARE else _FEW_GAPS if gaps else 1.0))


def _rate_label(sample: Sample, worker: str, tasks: Sequence[str], label: str) -> float:
    """Rate a label: it differs within tasks and within workers, and it recurs unless it is a number or a text."""
    content = sample[label]
    repeated = (sample.pair(tasks[0], worker).n_with_left > 1).sum()
    if content.n_present < 2:
        return 0.0
    if repeated >= _FEW and any(task != label and sample.follows(label, task) for task in tasks):
        return _SAME_IN_A_TASK
    if sample[worker].n_values >= 2 and sample.follows(label, worker):
        return _SAME_OF_A_WORKER
    if content.kind in ("date", "url", "records"):
        return _ODD_LABEL
    if label in tasks[1:] and sample.pair(label, tasks[0]).count <= 1.05 * content.n_values:
        return _PART_OF_A_TASK
    present = int((~content.missing).sum())
    if content.n_present > 0.9 * present > 10:  # hardly anything recurs
        return {"number": 0.95, "whole": 0.3, "nested": 0.8}.get(content.kind, 0.7 if content.words >= 3 else 0.2)
    return 1.0


def _may_be_id(content: Content, sample: Sample) -> bool:
    if content.kind in ("number", "date", "nested", "records", "truth value"):
        return False
    return 2 <= content.n_values < sample.n_rows


def _may_be_worker(content: Content) -> bool:
    return content.kind != "url" and content.length <= _LONG


def _may_be_label(content: Content) -> bool:
    return content.n_present >= 2


def _groups(sample: Sample, names: Sequence[str]) -> list[list[str]]:
    """Put columns together that say the same."""
    groups: dict[bytes, list[str]] = {}
    for name in names:
        groups.setdefault(sample[name].codes.tobytes(), []).append(name)
    return list(groups.values())


def _candidates(sample: Sample, chosen: Mapping[str, str], role: str, groups: Sequence[Sequence[str]]) -> list[str]:
    """Return the chosen column, or of each group of columns that which is best called and shortest; the best first."""
    if role in chosen:
        return [chosen[role]]
    free = [[name for name in group if name not in chosen.values()] for group in groups]
    best = [min(group, key=lambda name: (-rate_name(name, role), sample[name].length, name)) for group in free if group]
    return sorted(best, key=lambda name: -rate_name(name, role))
