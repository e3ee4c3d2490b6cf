"""Element majority: the set of all elements for which more than half of the weight stands.

Each element is a vote of its own, yes or no, and every worker votes on all of them by naming some. The result is the
set that minimises the weighted sum of symmetric differences, and it need not be a set that anybody gave. It is small
where workers name different parts of a large truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.blocks.block import Array, Block, Floats, sum_by
from allalike.blocks.ties import TOLERANCE, Ties
from allalike.rules.base import Decision, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["element_groups", "element_majority"]


def element_groups(block: Block, answer: Array, code: Array, elements: Sequence[object]) -> dict[str, Array]:
    """Number the pairs of task and element that occur, given who names what as answers and codes of elements.

    Of all elements, the block keeps those that occur in it.

    >>> block, elements = Block.of([[0, 1], [2, 3]]), ["a", "b", "c"]
    >>> groups = element_groups(block, np.array([0, 1, 1, 3]), np.array([0, 0, 2, 2]), elements)
    >>> groups["element_group"], groups["group_task"], groups["group_element"], groups["elements"]
    (array([0, 0, 1, 2]), array([0, 0, 1]), array([0, 1, 1]), array(['a', 'c'], dtype=object))
    """
    task = block.to_answers(np.arange(block.n_tasks))
    width = max(len(elements), 1)
    pairs, group = np.unique(task[answer] * width + code, return_inverse=True)
    group_task, group_element = np.divmod(pairs, width)
    named, group_element = np.unique(group_element, return_inverse=True)
    return {
        "element_answer": answer,
        "element_group": group.astype(np.intp),
        "group_task": group_task,
        "group_element": group_element,
        "elements": np.fromiter((elements[place] for place in named), object, len(named)),
    }


def element_majority(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the elements that more than half of the weight names.

    An element with exactly half of the weight, up to a relative 1e-9, is out; nothing is drawn. Confidence is the
    share of the weight that agrees with the decision on an element, averaged over the elements that anyone named;
    where nobody named any, it is 1. The block needs its groups of elements (`element_groups`).

    >>> block = Block.of([[0], [1], [2]])  # {a, b}, {a}, {c}
    >>> groups = element_groups(block, np.array([0, 0, 1, 2]), np.array([0, 1, 0, 2]), ["a", "b", "c"])
    >>> found = element_majority(block.with_prepared(**groups), np.array([0.2, 0.4, 0.4]), np.zeros(3), Ties())
    >>> found.label, found.confidence.round(4)
    (array([('a',)], dtype=object), array([0.6667]))
    """
    group_task = block.prepared["group_task"]
    weight, total = block.answer_weights(weights)
    named = weight[block.prepared["element_answer"]]
    share = sum_by(block.prepared["element_group"], named, len(group_task)) / total[group_task]
    inside = share > (1 + TOLERANCE) / 2
    agreement = np.minimum(np.maximum(share, 1 - share), 1.0)
    count = np.bincount(group_task, minlength=block.n_tasks)
    confidence = np.where(count, sum_by(group_task, agreement, block.n_tasks) / np.maximum(count, 1), 1.0)
    drawn = np.zeros(block.n_tasks, np.bool_)
    return Decision(_sets(block, inside), np.minimum(confidence, 1.0), unknown(block.n_tasks), drawn)


def _sets(block: Block, inside: Array) -> Array:
    """Return each task's elements that are in, as a tuple in their order."""
    found = block.prepared["elements"][block.prepared["group_element"][inside]].tolist()
    ends = np.cumsum(np.bincount(block.prepared["group_task"][inside], minlength=block.n_tasks)).tolist()
    labels = np.empty(block.n_tasks, object)
    for task, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        labels[task] = tuple(found[begin:end])
    return labels
