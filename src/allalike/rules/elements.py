"""Element majority: the set of all elements for which more than half of the weight stands.

Each element is a vote of its own, yes or no, and every worker votes on all of them by naming some. The result is the
set that minimises the weighted sum of symmetric differences, and it need not be a set that anybody gave. It is small
where workers name different parts of a large truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, sum_by
from allalike.rules.base import Decision, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class NamedElements:
    """The elements that the answers of a block name, in groups of a task and an element."""

    answer: Array
    group: npt.NDArray[np.intp]
    task: Array
    element: Array
    elements: npt.NDArray[np.object_]


def name_elements(block: Block, answer: Array, code: Array, elements: Sequence[object]) -> NamedElements:
    """Number the pairs of task and element that occur, given who names what as answers and codes of elements.

    >>> block, elements = Block.of([[0, 1], [2, 3]]), ["a", "b", "c"]
    >>> named = name_elements(block, np.array([0, 1, 1, 3]), np.array([0, 0, 2, 2]), elements)
    >>> named.group, named.task, named.element, named.elements
    (array([0, 0, 1, 2]), array([0, 0, 1]), array([0, 1, 1]), array(['a', 'c'], dtype=object))
    """
    task = block.task
    width = max(len(elements), 1)
    pairs, group = np.unique(task[answer] * width + code, return_inverse=True)
    group_task, group_element = np.divmod(pairs, width)
    named, group_element = np.unique(group_element, return_inverse=True)
    occurring = np.fromiter((elements[place] for place in named), object, len(named))
    return NamedElements(answer, group.astype(np.intp), group_task, group_element, occurring)


def element_majority(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the elements that more than half of the weight names.

    An element with exactly half of the weight, up to a relative 1e-9, is out; nothing is drawn. Confidence is the
    share of the weight that agrees with the decision on an element, averaged over the elements that anyone named;
    where nobody named any, it is 1. The block needs its `NamedElements`.

        truth = the elements e with sum_i w_i [e in A_i] > sum_i w_i / 2

    It works where workers look at all elements. It fails where each names a few of many that are right: none of
    them then has half of the weight.

    >>> import allalike
    >>> rows = [("ada", 1, ["cat", "dog"]), ("bob", 1, ["dog"]), ("eve", 1, ["cow"])]
    >>> allalike.discover(rows, domain=allalike.Set(rule="majority"), method="UA").truth["label"].tolist()
    [['dog']]

    >>> block = Block.of([[0], [1], [2]])  # {a, b}, {a}, {c}
    >>> named = name_elements(block, np.array([0, 0, 1, 2]), np.array([0, 1, 0, 2]), ["a", "b", "c"])
    >>> found = element_majority(block.keeping(named), np.array([0.2, 0.4, 0.4]), np.zeros(3), Ties())
    >>> found.label, found.confidence.round(4)
    (array([('a',)], dtype=object), array([0.6667]))
    """
    named = block[NamedElements]
    weight, total = block.answer_weights(weights)
    share = sum_by(named.group, weight[named.answer], len(named.task)) / total[named.task]
    inside = share > (1 + TOLERANCE) / 2
    agreement = np.minimum(np.maximum(share, 1 - share), 1.0)
    count = np.bincount(named.task, minlength=block.n_tasks)
    confidence = np.where(count, sum_by(named.task, agreement, block.n_tasks) / np.maximum(count, 1), 1.0)
    drawn = np.zeros(block.n_tasks, np.bool_)
    return Decision(_sets(block, inside), np.minimum(confidence, 1.0), unknown(block.n_tasks), drawn)


def _sets(block: Block, inside: Array) -> Array:
    """Return each task's elements that are in, as a tuple in their order."""
    named = block[NamedElements]
    found = named.elements[named.element[inside]].tolist()
    ends = np.cumsum(np.bincount(named.task[inside], minlength=block.n_tasks)).tolist()
    labels = np.empty(block.n_tasks, object)
    for task, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        labels[task] = tuple(found[begin:end])
    return labels
