"""Methods for classes on labels that come down to votes on classes, such as lists of objects.

The method sees the votes as if they were all there is (`allalike.domains.capabilities.Votes`), and knows nothing of
objects. What it decides on each vote is put together where the answers are. The disparity is that of the labels.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike.methods.base import Decide, Informed, Method, Weighing, without_gold
from allalike.methods.composed.fields import weigh_fields
from allalike.methods.steps.peers import Peers

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.ties import Ties
    from allalike.domains import Encoding
    from allalike.domains.capabilities import Votes
    from allalike.engines import Run

__all__ = ["serves", "weigh", "weigh_blindly"]


def serves(method: Method, labels: Encoding) -> bool:
    """Tell whether a method can deal with such labels, or with the votes that they come down to.

    >>> import allalike
    >>> boxes = allalike.read([("ada", 1, [[0, 0, 2, 2]])], domain="boxes").encoding
    >>> allalike.DS().serves(boxes), serves(allalike.DS(), boxes)
    (False, True)
    """
    if labels.fields is not None and labels.fields.alone:
        return all(each is None or serves(method, each) for _, each in labels.fields.encodings)
    votes = None if labels.things is None else labels.things.votes
    return method.serves(labels) or (votes is not None and method.serves(votes.encoding))


def weigh(method: Method, run: Run) -> Weighing:
    """Weigh the workers of a run by their answers, or else by the votes that these come down to."""
    fields, things = run.encoding.fields, run.encoding.things
    if fields is not None and fields.alone:
        return weigh_fields(run, fields, partial(weigh, method))
    votes = None if things is None else things.votes
    if votes is None or method.serves(run.encoding):
        return method.weigh(run)
    cast = run.map(votes.cast)
    counts = np.rint(cast.sum(_count_votes)["votes"]).astype(np.int64)
    cast = replace(cast, encoding=votes.encoding, answer_counts=counts)
    weighing = method.weigh(cast)
    decide = partial(_decide, own=weighing.decide_on(cast), votes=votes, ties=run.ties)
    return replace(
        weighing,
        disparity=Peers(run).unweighted.mean,
        decision=replace(weighing.decision, decide=decide, probabilities=None),
        skill=replace(weighing.skill, confusion=None),
        notes={**weighing.notes, "votes": "on groups of objects"},
    )


def weigh_blindly(method: Method, run: Run, weighing: Weighing) -> Weighing:
    """Weigh as if no truth were known, beside a weighing that used them."""
    fields = run.encoding.fields
    if not (fields is not None and fields.alone) and isinstance(method, Informed):
        return method.weigh_blindly(run, weighing)
    return weigh(without_gold(method), run)


def _count_votes(block: Block) -> dict[str, Floats]:
    return {"votes": block.per_worker(np.ones(len(block.label)))}


def _decide(
    block: Block, weights: Floats, faults: Floats, *more: Floats, own: Decide, votes: Votes[Encoding], ties: Ties
) -> dict[str, Array]:
    return votes.count(block, weights, own(votes.cast(block), weights, faults, *more), ties)
