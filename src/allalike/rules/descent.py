"""Descent: aggregation of classes in a tree by majority votes, starting at the root.

Workers may stop at different depths. Those who stop early give no information about lower levels, but their weight
still counts in each majority. A child is chosen if its subtree contains more than half of the weight in its parent's
subtree. At the top, the heaviest child is always chosen.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, sum_by
from allalike.rules.base import Decision, unknown
from allalike.rules.mean import draw_largest


@dataclass(frozen=True)
class Branches:
    """The tree nodes on the paths of a block's answers, grouped by task and node."""

    answer: Array
    group: npt.NDArray[np.intp]
    task: Array
    depth: Array
    parent: Array
    hashes: npt.NDArray[np.uint64]
    label: Array
    ways: list[tuple[str, ...]]

    def name(self, groups: Array) -> npt.NDArray[np.object_]:
        """Return the paths of nodes."""
        ends = zip(self.label[groups].tolist(), self.depth[groups].tolist(), strict=True)
        return np.fromiter((self.ways[label][: depth + 1] for label, depth in ends), object, len(groups))


def find_branches(block: Block, ways: list[tuple[str, ...]], nodes: npt.NDArray[np.uint64]) -> Branches:
    """Number the pairs of task and node, given the paths of labels and the hashes of their nodes."""
    answer, depth = np.nonzero(nodes[block.label])
    task = block.task[answer]
    hashes, code = np.unique(nodes[block.label[answer], depth], return_inverse=True)
    _, first, group = np.unique(task * max(len(hashes), 1) + code, return_index=True, return_inverse=True)
    parent = np.where(depth[first] > 0, group[first - 1], -1)
    return Branches(
        answer=answer,
        group=group.astype(np.intp),
        task=task[first],
        depth=depth[first],
        parent=parent,
        hashes=hashes[code[first]],
        label=block.label[answer[first]],
        ways=ways,
    )


def descend(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Descend the tree while one child contains more than half of the weight of its parent's subtree.

    Confidence is the share of weight in the subtree of the estimate. The block must contain its `Branches`.

        next = the child c with sum_i w_i [x_i at c or below] > sum_i w_i [x_i at the node or below] / 2

    The rule works if some workers are more specific than others: the estimate is as specific as a majority supports. It
    fails if answers scatter over the leaves of a branch: the estimate is then correct but general.

    >>> import allalike
    >>> rows = [("ada", 1, "animal/bird/owl"), ("bob", 1, "animal/bird"), ("eve", 1, "animal/cat")]
    >>> allalike.discover(rows, domain=allalike.Tree(rule="descent"), method="UA").truth["label"].tolist()
    ['animal/bird']
    """
    branches = block[Branches]
    weight, total = block.answer_weights(weights)
    score = sum_by(branches.group, weight[branches.answer], len(branches.task))
    here, tied = _begin(block, branches, score, ties)
    above = np.maximum(branches.parent, 0)
    leads = (branches.depth > 0) & (score > (1 + TOLERANCE) / 2 * score[above])
    for depth in range(1, int(branches.depth.max(initial=0)) + 1):
        below = np.flatnonzero(leads & (branches.depth == depth))
        below = below[branches.parent[below] == here[branches.task[below]]]
        here[branches.task[below]] = below
    confidence = np.minimum(score[here] / total, 1.0)
    return Decision(branches.name(here), confidence, unknown(block.n_tasks), tied)


def _begin(block: Block, branches: Branches, score: Floats, ties: Ties) -> tuple[Array, Array]:
    """Return the heaviest top-level group per task, and whether it was chosen at random."""
    top = np.flatnonzero(branches.depth == 0)
    task = branches.task[top]
    hashes, score = branches.hashes[top], score[top]
    order = np.argsort(np.argsort(branches.name(top)))
    chosen, tied = draw_largest(task, score, block.task_hash[task], hashes, ties, order)
    return top[chosen], tied
