"""The same: labels, workers and tasks of which two are probably one, written differently."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.words import count
from allalike.api.doubts.spellings import find_near, find_slips, find_spellings, find_twins
from allalike.api.doubts.warning import Doubt
from allalike.engines.ranges import number_parts
from allalike.engines.sample import sample_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allalike._core.blocks.block import Array, Block
    from allalike.answers import Answers
    from allalike.engines import Run

__all__ = ["doubt_spellings", "list_labels", "say_joining"]

_SHOWN = 3
_SAMPLE_ANSWERS = 20_000
_MANY_ANSWERS = 10  # a task, which may then be one of several questions with labels of its own
_MAX_LABELS, _MAX_IDS = 1 << 12, 1 << 14  # that are looked at


def doubt_spellings(run: Run) -> Iterator[Doubt]:
    """Wonder about classes, workers and tasks that may be one."""
    found = find_spellings(list_labels(run)) if run.encoding.nominal else None
    if found is not None and run.answer_counts.sum() >= _MANY_ANSWERS * run.n_tasks:
        found = max(map(find_spellings, _label_parts(run)), key=lambda part: part.labels if part else 0)
    if found is not None:
        yield Doubt(
            f"{found.labels:,} labels differ only in how they are written: {_pairs(found.pairs)}. If they mean the"
            f" same, {say_joining(found.option)}."
        )
    elif slips := _slips(run):
        yield Doubt(
            f"{count(len(slips), 'label')} may be a slip of the pen: {_pairs(slips)}. If so, {say_joining('')}."
        )
    known = {"workers": run.workers, **({} if run.sample_tasks is None else {"tasks": run.sample_tasks})}
    for role, ids in known.items():
        if twins := find_twins(ids.take(np.arange(min(len(ids), _MAX_IDS))).tolist()):
            yield Doubt(
                f"{2 * len(twins):,} {role} differ only in how they are written: {_pairs(twins)}. If they are the same,"
                " write them alike."
            )


def _pairs(found: Sequence[tuple[Any, Any]]) -> str:
    return "; ".join(f"{one!r} and {other!r}" for one, other in found[:_SHOWN])


def _label_parts(run: Run) -> list[list[Any]]:
    """Put labels together that occur in the same tasks: others answer different questions."""
    labels = list_labels(run)
    part = np.arange(len(labels))
    for block in sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).blocks:
        same = np.flatnonzero(block.task[1:] == block.task[:-1])
        left, right = block.label[same], block.label[same + 1]
        known = (left < len(labels)) & (right < len(labels))
        part = number_parts(len(labels), part[left[known]], part[right[known]])[part]
    return [[labels[i] for i in np.flatnonzero(part == number)] for number in np.unique(part)]


def _slips(run: Run) -> list[tuple[Any, Any]]:
    labels = list_labels(run) if run.encoding.nominal else []
    near = find_near(labels)
    if not near:
        return []
    counts = run.total(partial(_count_all, n_labels=run.encoding.n_labels))["labels"]
    return find_slips(near, dict(zip(labels, counts.tolist(), strict=False)))


def _count_all(block: Block, *, n_labels: int) -> dict[str, Array]:
    return {"labels": np.bincount(block.label, minlength=n_labels)}


def say_joining(option: str) -> str:
    """Say what makes spellings one."""
    return f"the domain {option} or a label map joins them" if option else "a label map joins them"


def list_labels(run: Run | Answers) -> list[Any]:
    """Return the labels that occur, where labels are classes, or the first of them."""
    known = np.arange(min(run.encoding.n_labels, _MAX_LABELS))
    return run.encoding.decode(known).tolist() if len(known) else []
