"""Positions: majority votes on the tag of each text position, joined into spans.

A position gets the tag with the largest weight if that weight exceeds the quorum. Adjacent positions with the same tag
form a span. A new span starts if more than half of the tag's weight comes from workers who start a span there. Between
two adjacent boundaries of a task's spans all positions are equal, so segments are processed instead of characters.

If workers agree on an entity but not on its boundaries, the result contains the positions covered by a quorum. Nested
spans are lost, because a position has only one tag.
"""

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, sum_by
from allalike.rules.base import Decision, split_by_task, unknown
from allalike.rules.fusion import Fusing
from allalike.rules.grouping import GroupedObjects
from allalike.rules.mean import draw_largest


def vote_on_positions(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Assign each position the tag supported by more than the quorum.

    The block must contain its `GroupedObjects`, with starts and ends, and its `Fusing`.

        tag(p) = the t with the largest c_t, if c_t > quorum,   c_t = share of the weight that covers p with t

    The rule works if each word has one tag. It fails for nested spans, and for adjacent names without a gap.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 4, "a"]]), ("bob", 1, [[2, 6, "a"]]), ("eve", 1, [[3, 9, "a"]])]
    >>> found = allalike.discover(rows, domain="spans(rule=positions, quorum=0.5)", method="UA")
    >>> found.truth["label"][0]
    [{'start': 2, 'end': 6, 'class': 'a'}]
    """
    grouped, quorum = block[GroupedObjects], block[Fusing].quorum
    weight, total = block.answer_weights(weights)
    values, stretch, tag, score, begun = _count_votes(block, weight)
    task = stretch // len(values)
    largest, drawn = draw_largest(stretch, score, block.task_hash[task], grouped.class_hash[tag], ties)
    stretch, task, tag = stretch[largest], task[largest], tag[largest]
    share = np.minimum(score[largest] / total[task], 1.0)
    kept = share > quorum * (1 + TOLERANCE)
    ends = _find_ends(block, values)
    place = np.searchsorted(ends, stretch)
    length = values[ends[place + 1] % len(values)] - values[stretch % len(values)]
    agreement = sum_by(task, np.where(kept, share, 1 - share) * length, block.n_tasks)
    covered = sum_by(task, length, block.n_tasks)
    anew = begun[largest] > score[largest] / 2 * (1 + TOLERANCE)
    place, tag, anew = place[kept], tag[kept], anew[kept]
    follows = (place[1:] == place[:-1] + 1) & (tag[1:] == tag[:-1]) & ~anew[1:]  # continues the previous segment
    first = np.flatnonzero(np.append(np.ones(len(place[:1]), np.bool_), ~follows))
    last = np.append(first[1:], int(kept.sum())) - 1 if len(first) else first
    start = values[stretch[kept][first] % len(values)]
    end = values[ends[place[last] + 1] % len(values)]
    names = grouped.classes[tag[first]].tolist()
    tied = np.isin(np.arange(block.n_tasks), task[drawn & kept])
    spans = split_by_task(list(zip(start.tolist(), end.tolist(), names, strict=True)), task[kept][first], block.n_tasks)
    sure = np.where(covered > 0, np.minimum(agreement / np.where(covered > 0, covered, 1.0), 1.0), 1.0)
    return Decision(spans, sure, unknown(block.n_tasks), tied)


def _tasks(block: Block) -> Array:
    """Return the task of each object."""
    return np.asarray(block.task[block[GroupedObjects].answer])


def _find_ends(block: Block, values: Floats) -> Array:
    """Return the distinct boundaries of all spans as keys: task times number of values, plus index of the value."""
    ends = np.searchsorted(values, block[GroupedObjects].geometry)
    return np.unique(_tasks(block)[:, None] * len(values) + ends)


def _count_votes(block: Block, weight: Floats) -> tuple[Floats, Array, Array, Floats, Floats]:
    """Return all distinct boundaries, and the weight of each tag in each segment.

    The last array is the weight of workers who start a span with this tag at the start of the segment.
    """
    grouped = block[GroupedObjects]
    values = np.unique(grouped.geometry)
    ends = _find_ends(block, values)
    base = _tasks(block) * len(values)
    begin, behind = (np.searchsorted(ends, base + np.searchsorted(values, side)) for side in grouped.geometry.T)
    count = behind - begin
    member = np.repeat(np.arange(len(count)), count)
    place = np.arange(len(member)) - np.repeat(np.cumsum(count) - count, count) + begin[member]
    n_tags, n_answers = max(len(grouped.classes), 1), len(weight)
    vote = ((place * n_tags + grouped.kind[member]) * n_answers) + grouped.answer[member]
    cast = np.unique(vote)  # overlapping spans of a worker with the same tag count once
    cells, cell = np.unique(cast // n_answers, return_inverse=True)
    own = weight[cast % n_answers]
    begins = np.isin(cast, vote[place == begin[member]])
    score, begun = sum_by(cell, own, len(cells)), sum_by(cell, np.where(begins, own, 0.0), len(cells))
    return values, ends[cells // n_tags], cells % n_tags, score, begun
