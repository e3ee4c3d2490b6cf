"""Objects: what boxes, spans and points have in common beside how they are compared.

A truth is made of the groups of objects that more than a quorum has seen (`allalike.rules.fusion`). What is told of
each of its objects stands beside its numbers in the label, and in a table of its own, with one row per object. Workers
are told how much of what the others saw they missed, and how much of what they saw the others did not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from allalike._core.blocks.block import Add, Array, Block, Floats, sum_by
from allalike._core.blocks.pairs import PairDistances, check_pairs, list_pairs
from allalike._core.columns.hashes import hash_objects
from allalike._core.columns.values import Values
from allalike.distances.jaccard import ranges
from allalike.distances.matching import Collections, Edges, Members
from allalike.domains.capabilities import Things
from allalike.domains.contract import Encoding
from allalike.domains.pairwise import PairwiseEncoding, PairwiseKernels, Stored, objects
from allalike.domains.things.matched import NUMBERS, Known, Matched, ObjectVotes
from allalike.rules.fusion import QUORUMS, Fused, Fusing, choose_quorum, count_guesses, fuse, list_labels, split
from allalike.rules.grouping import GroupedObjects, group_objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike._core.blocks.block import Ties
    from allalike._core.columns.column import Column
    from allalike.rules import Decision

_OBJECTS = "objects"  # the name of what was found about each object of a truth


@dataclass(frozen=True, kw_only=True)
class Objects(Matched):
    """Labels that are lists of objects.

    A domain below this one is made of a few functions. A parsed label is a tuple of objects in order, and an object a
    tuple of its numbers and its class, which is None where there are no classes.

    - ``read_object`` reads one object: its numbers, and its class or None. Where an answer may also be something else
      than a list, ``read_answer`` makes a list of objects of it. ``form_of`` names the form in which an answer is
      written, where forms must not be mixed.
    - ``columns`` names the numbers; ``width`` is how many there are where no object occurs, ``number`` their type.
    - ``similarity`` compares rows of numbers, in [0, 1], and is 1 only if they are the same.
    - ``reach`` returns the range of each object on one axis: objects whose ranges do not meet have nothing in common.
      ``edges`` finds all pairs that are similar by it; a domain may have a better way.
    - ``find_middles`` finds where groups of drawings are.
    - ``overlap`` is the similarity from which objects may be the same, and ``cut`` that from which they count in a
      distance, which is the same unless the domain says otherwise. ``match_edges`` says what else must be true to be
      matched, and ``measure`` finds distances from what is matched, or in any other way from the members.

    >>> from allalike.domains.things.boxes import Boxes
    >>> issubclass(Boxes, Objects)
    True
    """

    def learn(self, labels: Column) -> ObjectEncoding:
        """Find out which classes there are, and refuse answers that do not go together."""
        return ObjectEncoding(domain=self, common=self.find_common(self.check_alike(labels)))


@dataclass(frozen=True, kw_only=True)
class ObjectEncoding(PairwiseEncoding, Things[Encoding]):
    """Parsed lists of objects, and the classes of these."""

    domain: Matched
    common: Known

    @property
    def kernels(self) -> ObjectKernels:
        """Distances of pairs, and groups of objects."""
        quorum = self.domain.quorum
        return ObjectKernels(domain=self.domain, quorum=0.5 if isinstance(quorum, str) else quorum)

    def prepare(self, block: Block) -> Block:
        """Find which objects of a task are similar, and from that the distances of its answers and the groups."""
        check_pairs(block)  # before all objects are compared
        stored = self.store(block)
        store = stored[Stored].store
        members = list_members(stored, store)
        edges = self.domain.meet(members)
        left, right = list_pairs(stored)
        places = left.astype(np.intp), right.astype(np.intp)
        apart = self.domain.measure(members, edges, number_pairs(stored, members, edges), *places)
        pairs = PairDistances.mirrored(left, right, apart)
        grouped = self._group(stored, members, edges, store)
        return stored.keeping(self.hash_answers(stored), pairs, grouped)

    def _group(self, block: Block, members: Members, edges: Edges, store: Collections) -> GroupedObjects:
        close = edges.keep(edges.similarity >= self.domain.overlap)
        worker = block.worker[members.answer]
        rank = np.empty(len(worker), np.int64)
        rank[np.lexsort((worker, members.kind, *members.geometry.T[::-1], members.task))] = np.arange(len(worker))
        same = members.kind[close.left] == members.kind[close.right]
        group = group_objects(*close, same, members.answer, rank)
        task = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
        task[group] = members.task
        classes = objects(store.classes)
        return GroupedObjects(
            members.answer, group.astype(np.intp), members.geometry, members.kind, task, classes, hash_objects(classes)
        )

    def truth_columns(self, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        """Put what is told of each object beside its numbers."""
        labels = self.decode(found["label"]).tolist()
        told = self._told(found)
        shown = [
            [{**thing, **dict(zip(NUMBERS, numbers, strict=True))} for thing, numbers in zip(label, more, strict=True)]
            if more
            else label
            for label, more in zip(labels, told, strict=True)
        ]
        return {"label": Values(shown, text=self.domain.text)}

    @property
    def votes(self) -> ObjectVotes:
        """Votes on what each group of objects is."""
        return ObjectVotes(self.common.classes or (None,), self.kernels.fusing, describe_fused)

    @property
    def things(self) -> Self:
        """Truths are made of objects."""
        return self

    def list_objects(self, tasks: Values, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        """Return one row per object: its task, its numbers, its class, and what is told of it."""
        domain, classes, width = self.domain, self.common.classes, self.common.width or self.domain.width
        gone = found.get("abstained", np.zeros(len(found["label"]), np.bool_))
        rows = [
            (place, thing, told)
            for place, (label, more) in enumerate(zip(found["label"], self._told(found), strict=True))
            if not gone[place]
            for thing, told in zip(label, more or [(np.nan,) * len(NUMBERS)] * len(label), strict=True)
        ]
        kind = np.int64 if domain.number is int else np.float64
        columns: dict[str, Values | Array] = {"task": tasks.take(np.array([row[0] for row in rows], np.int64))}
        for place, name in enumerate(domain.columns(width)):
            columns[name] = np.array([row[1][place] for row in rows], kind)
        if classes and classes != (None,):
            columns[domain.class_key] = Values([row[1][-1] for row in rows])
        for place, name in enumerate(NUMBERS):
            numbers = np.array([row[2][place] for row in rows], np.float64)
            counts = name == "supporters" and not np.isnan(numbers).any()
            columns[name] = numbers.astype(np.int64) if counts else numbers
        return columns

    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        """Return the share of what was kept in her tasks that each worker missed, and that of hers which was not."""
        if not self.domain.fused:
            return {}
        sums = add(self.kernels.choose_quorum(add, weights)[0].count_faults, weights)
        with np.errstate(invalid="ignore"):
            return {"missed": sums["missed"] / sums["kept"], "invented": sums["invented"] / sums["objects"]}

    def _told(self, found: Mapping[str, Array]) -> list[Any]:
        """Return what was found about the objects of each truth, or None where that is not known."""
        if _OBJECTS not in found:
            return [None] * len(found["label"])
        known = found.get("known", np.zeros(len(found["label"]), np.bool_))
        return [None if given else more for more, given in zip(found[_OBJECTS], known, strict=True)]


def list_members(block: Block, store: Collections) -> Members:
    """List the objects of all answers, answer after answer."""
    answer, place = ranges(store.first[block.label], store.first[block.label + 1])
    task = block.task
    return Members(store.geometry[place], store.kind[place], answer, task[answer])


def number_pairs(block: Block, members: Members, edges: Edges) -> Array:
    """Return the number of each edge's pair of answers, among all pairs of a task in order."""
    place = np.arange(len(block.label)) - block.to_answers(block.starts)
    later = block.to_answers(block.sizes) - 1 - place
    first = np.cumsum(later) - later
    left, right = members.answer[edges.left], members.answer[edges.right]
    return np.asarray(first[left] + right - left - 1)


@dataclass(frozen=True, kw_only=True)
class ObjectKernels(PairwiseKernels):
    """Sums over pairs of answers, and truths made of groups of objects."""

    domain: Matched
    quorum: float

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        """Aggregate each task, with the quorum."""
        return super().decide(self.fusing(block), weights, faults, ties)

    def fusing(self, block: Block) -> Block:
        """Return the block with what it takes to fuse its objects."""
        return block.keeping(Fusing(self.quorum, self.domain.find_middles, self.domain.similarity))

    def aggregate(self, block: Block, weights: Floats, faults: Floats, *, ties: Ties) -> dict[str, Array]:
        """Find the truths, and what is told of each of their objects where these are fused."""
        if self.domain.rule != "fusion":
            return super().aggregate(block, weights, faults, ties=ties)
        return describe_fused(self.fusing(block), fuse(self.fusing(block), weights, ties))

    def choose_quorum(self, add: Add, weights: Floats) -> tuple[Self, dict[str, Any]]:
        """Choose the quorum, if that is asked for; tell how good each was, and how many objects have no extent."""
        if not self.domain.fused:
            return self, {}
        sums = add(self.count_objects, weights)
        flat = round(float(sums["flat"].sum()))
        told = {"without_extent": flat} if flat else {}
        if self.domain.quorum != "auto":
            return self, told
        quorum, goodness = choose_quorum(sums["hits"].sum(axis=0), sums["total"].sum(axis=0))
        curve = {
            f"{each:.2f}": round(value, 6) for each, value in zip(QUORUMS.tolist(), goodness.tolist(), strict=True)
        }
        return replace(self, quorum=quorum), {"quorum": quorum, "quorum_curve": curve, **told}

    def count_objects(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Add up, per worker, what chooses the quorum, and her objects without extent."""
        grouped = block[GroupedObjects]
        flat = sum_by(grouped.answer, np.where(self.domain.is_flat(grouped.geometry), 1.0, 0.0), len(block.label))
        return {**count_guesses(block, weights), "flat": block.per_worker(flat)}

    def count_faults(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Add up, per worker, the shares of the groups kept in her tasks and of those without her, and count hers."""
        grouped = block[GroupedObjects]
        weight, total = block.answer_weights(weights)
        share = sum_by(grouped.group, weight[grouped.answer], len(grouped)) / total[grouped.task]
        kept = share > self.quorum * (1 + 1e-9)
        worth = np.where(kept, np.minimum(share, 1.0), 0.0)
        asked = block.to_answers(sum_by(grouped.task, worth, block.n_tasks))
        seen = sum_by(grouped.answer, worth[grouped.group], len(weight))
        invented = sum_by(grouped.answer, np.where(kept, 0.0, 1.0)[grouped.group], len(weight))
        drawn = np.bincount(grouped.answer, minlength=len(weight)).astype(np.float64)
        missed = np.where(asked - seen > 1e-9 * asked, asked - seen, 0.0)
        columns = {"kept": asked, "missed": missed, "invented": invented, "objects": drawn}
        return {name: block.per_worker(values) for name, values in columns.items()}

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell which labels are apart by more than rounding."""
        return self.distance_between(left, right) > 1e-9


def describe_fused(block: Block, found: Fused) -> dict[str, Array]:
    """Return the truths of a block, how sure each is, and what is told of each of its objects."""
    columns = (found.confidence, found.class_confidence, found.spread, found.supporters)
    told = split(list(zip(*(column.tolist() for column in columns), strict=True)), found.task, block.n_tasks)
    return {
        "label": list_labels(block, found),
        "confidence": found.task_confidence,
        "error": np.full(block.n_tasks, np.nan),
        "tied": found.tied,
        _OBJECTS: told,
    }
