"""Lists of objects: boxes in an image, spans of a text, points on a map.

An answer is a list of objects with positions and optional classes. The empty list ``[]`` is an answer as well: the
worker looked and found nothing. The objects in two answers are matched by their similarity s in [0, 1]. For the
distance, matches are one-to-one within a class (`allalike.distances.matching`). For the estimate, objects are grouped
across classes (`allalike.rules.grouping`, `allalike.rules.fusion`). Both are computed once per block.

The estimate keeps groups supported by more than the quorum of the weight, and has a table with one row per object. The
worker table contains miss rates and false alarm rates.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Add, Array, Block, Floats, Ties
from allalike._core.blocks.pairs import PairDistances, check_pairs, list_pairs
from allalike._core.columns.column import Column
from allalike._core.columns.hashes import hash_objects
from allalike._core.columns.values import Values
from allalike._core.options import check_number, option, share, whole
from allalike.distances import matching
from allalike.distances.jaccard import chunks, ranges
from allalike.distances.matching import Collections, Edges, Members
from allalike.domains.contract import Marks, Things, check_forms
from allalike.domains.objects.votes import ObjectVotes
from allalike.domains.pairwise import Pairwise, PairwiseEncoding, PairwiseKernels, Places, Stored, objects
from allalike.domains.spelling import read_list, read_name, read_number, write_json
from allalike.errors import LabelError, OptionError
from allalike.noise import General
from allalike.rules import Decision
from allalike.rules.base import Rule
from allalike.rules.fusion import NUMBERS, OBJECTS, QUORUMS, Fusing, choose_quorum, count_faults, count_guesses, fusion
from allalike.rules.grouping import GroupedObjects, group_objects
from allalike.rules.mean import Drawings, average
from allalike.rules.vote import CHOICES


class Known(NamedTuple):
    """The vocabulary of objects: their sorted classes, and the number of coordinates.

    If objects have no class, the only class is None; without objects, there are no classes.
    """

    classes: tuple[Any, ...] = ()
    width: int = 0


def read_coordinate(value: Any) -> float:
    """Return a valid coordinate, or raise ValueError."""
    return float(read_number(value, "the coordinate"))


def class_of(thing: Mapping[str, Any], keys: Sequence[str], rule: str) -> Any:
    """Return the class of an object under the first key present, or None; raise ValueError for several classes.

    >>> class_of({"x": 1, "label": ["cat"]}, ("class", "label"), "a box must have one class")
    'cat'
    """
    name = next((thing[key] for key in keys if thing.get(key) is not None), None)
    if isinstance(name, list | tuple):
        if len(name) != 1:
            raise ValueError(f"{rule}, but this one has {len(name)}: {name!r}")
        name = name[0]
    return None if name is None else read_name(name, "the class")


def _check_quorum(value: Any, name: str) -> Any:
    if value == "auto":
        return value
    if isinstance(value, str):
        raise OptionError(f"{name} is {value!r}. It must be a number at least 0 and below 1, or 'auto'.")
    return check_number(value, name, least=0, below=1)


@dataclass(frozen=True, kw_only=True)
class Objects(Marks, Pairwise):
    """Labels that are lists of objects.

    A parsed label is a sorted tuple of objects. An object is a tuple of its numbers and its class, which is None if
    objects have no classes. ``overlap`` is the minimum similarity for grouping, and ``_cut`` the minimum for the
    distance. ``_width`` is the number of numbers if there are no objects, and ``_number`` is their type.

    >>> from allalike.domains.objects.boxes import Boxes
    >>> issubclass(Boxes, Objects)
    True
    """

    rules: ClassVar[tuple[Rule, ...]] = (Rule("fusion", fusion), *CHOICES)
    distances: ClassVar[tuple[str, ...]] = tuple(matching.DISTANCES)
    noise: ClassVar[General] = General(farthest=1.0)  # random objects do not overlap the others
    _thing: ClassVar[str] = "an object"
    _class_key: ClassVar[str] = "class"
    _number: ClassVar[type[int] | type[float]] = float
    _counted: ClassVar[bool] = False  # whether the truth table has the number of objects
    _width: ClassVar[int]
    overlap: float = share(0.3)
    quorum: float | str = option("auto", _check_quorum)
    most: int = whole(10_000, least=1)
    _text = staticmethod(write_json)

    @abstractmethod
    def _read_object(self, value: Any) -> tuple[tuple[float, ...], Any]:
        """Parse the numbers and the class of one object, or raise ValueError with the reason."""

    @abstractmethod
    def _columns(self, width: int) -> tuple[str, ...]:
        """Return the names of an object's numbers."""

    @abstractmethod
    def _similarity(self, left: Floats, right: Floats) -> Floats:
        """Compute the similarity of objects row by row: in [0, 1], and 1 only for equal rows."""

    @abstractmethod
    def _find_near(self, members: Members) -> tuple[Array, Array]:
        """Return all candidate pairs of similar objects within tasks, such as those whose extents overlap."""

    def _find_middles(self, drawings: Drawings, ties: Ties) -> tuple[Floats, Array]:
        """Return the position of each group of objects, and whether it was chosen at random among equals."""
        means = [average(drawings, numbers) for numbers in drawings.geometry.T]
        return np.stack(means, axis=1), np.zeros(drawings.n_groups, np.bool_)

    def _read_answer(self, value: Any) -> list[Any]:
        """Return the unparsed objects of an answer."""
        return read_list(value, f"it must be a list whose elements are each {self._thing}")

    @property
    def _cut(self) -> float:
        """The minimum similarity of matched objects in a distance."""
        return self.overlap

    @property
    def _fused(self) -> bool:
        """Whether the estimate consists of the objects that exceed the quorum."""
        return self.rule in ("fusion", "positions")

    @property
    def recurring(self) -> bool:
        return not self._fused

    def _parse(self, value: Any) -> tuple[Any, ...]:
        given = self._read_answer(value)
        if len(given) > self.most:
            raise ValueError(
                f"it has {len(given):,} objects, but at most {self.most:,} are allowed; increase the option most"
            )
        things = [(*numbers, name) for numbers, name in map(self._read_object, given)]
        widths = sorted({len(thing) - 1 for thing in things})
        if len(widths) > 1:
            raise ValueError(f"its objects have {widths[0]} and {widths[-1]} coordinates; give all the same number")
        if len({type(thing[-1]) for thing in things}) > 1:
            raise ValueError("its objects have classes of different types, or only some of them have a class")
        return tuple(sorted(things))

    def _find_common(self, parsed: list[Any]) -> Known:
        things = [thing for label in parsed for thing in label]
        parts = {Known((thing[-1],), len(thing) - 1) for thing in things}
        return self._join_common(parts)

    def _join_common(self, commons: Iterable[Known]) -> Known:
        known = list(commons)
        widths = {each.width for each in known if each.width}
        if len(widths) > 1:
            raise LabelError(f"The {self.name} have {min(widths)} and {max(widths)} numbers. Give all the same number.")
        kinds = {type(name): name for each in known for name in each.classes}
        if len(kinds) > 1:
            found = sorted("no class" if name is None else f"the class {name!r}" for name in kinds.values())
            raise LabelError(
                f"Some {self.name} have {found[-1]}, and some have {found[0]}. Give all of them classes of one type, or"
                " none."
            )
        classes = {name for each in known for name in each.classes}
        return Known(tuple(sorted(classes)), max(widths, default=0))

    def _pack(self, parsed: list[Any]) -> matching.Collections:
        width = next((len(label[0]) - 1 for label in parsed if label), self._width)
        return matching.pack(parsed, width)

    def _compare(self, left: matching.Collections, i: Places, right: matching.Collections, j: Places) -> Floats:
        found = np.zeros(len(i))
        for part, members in matching.meet(left, i, right, j):
            edges, answers = self._edges(members), 2 * np.arange(part.stop - part.start)
            found[part] = self._measure(members, edges, members.task[edges.left], answers, answers + 1)
        return found

    def _meet(self, members: Members) -> Edges:
        """Return all edges between the objects of a block; objects are sorted by task."""
        count = np.bincount(members.task)
        first = np.concatenate([[0], np.cumsum(count)])
        found = [Edges(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        for part in chunks(count**2, matching.CELLS_PER_CHUNK):
            begin, end = first[part.start], first[part.stop]
            if end > begin:
                edges = self._edges(members.cut(slice(begin, end)))
                found.append(Edges(edges.left + begin, edges.right + begin, edges.similarity))
        return Edges(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def _edges(self, members: Members) -> Edges:
        """Return all similar pairs of objects from different answers to a task, the earlier answer's object first."""
        ends = np.sort(np.stack(self._find_near(members)), axis=0)
        left, right = ends[:, members.answer[ends[0]] != members.answer[ends[1]]]
        edges = Edges(left, right, self._similarity(members.geometry[left], members.geometry[right]))
        return edges.keep(self._is_edge(edges.similarity))

    def _is_edge(self, similarity: Floats) -> npt.NDArray[np.bool_]:
        """Return whether pairs are similar enough for grouping or matching."""
        return np.asarray((similarity > 0) & (similarity >= min(self._cut, self.overlap)))

    def _match_edges(self, members: Members, edges: Edges) -> npt.NDArray[np.bool_]:
        """Return whether edges may be matches: the same class and sufficient similarity."""
        same: npt.NDArray[np.bool_] = members.kind[edges.left] == members.kind[edges.right]
        return same & (edges.similarity >= self._cut)

    def _measure(self, members: Members, edges: Edges, pair: Places, left: Places, right: Places) -> Floats:
        """Compute the distance between answers left[k] and right[k], given the pair index k of each edge.

        Members are sorted by answer, and the first end of an edge belongs to the earlier answer.
        """
        if self.distance == "count":
            matched = np.zeros(len(left))
        else:
            which = self._match_edges(members, edges)
            edges, pair = edges.keep(which), pair[which]
            begins = np.flatnonzero(np.diff(members.task, prepend=-1))
            counts = np.diff(begins, append=len(members.task))
            local = members.answer - np.repeat(members.answer[begins], counts)
            most = int(local.max(initial=0)) + 1
            one = edges.left * most + local[edges.right]
            other = edges.right * most + local[edges.left]
            matched = matching.match(pair, one, other, edges.similarity, len(left))
        size = np.bincount(members.answer, minlength=int(max(left.max(initial=0), right.max(initial=0))) + 1)
        formula = matching.DISTANCES.get(str(self.distance), matching.DISTANCES["f1"])
        return np.clip(formula(matched, size[left], size[right]), 0.0, 1.0)

    def _is_hit(self, similarity: Floats) -> npt.NDArray[np.bool_]:
        """Return whether objects of the same class count as the same object, given their similarity."""
        return np.asarray((similarity > 0) & (similarity >= self.overlap))

    def count_marks(self, answer: Any, truth: Any) -> dict[Any, tuple[int, int, int]]:
        from scipy.optimize import linear_sum_assignment

        counts = {}
        for name in sorted({thing[-1] for thing in (*answer, *truth)}, key=repr):
            one, other = ([thing[:-1] for thing in things if thing[-1] == name] for things in (answer, truth))
            pairs = np.array([(a, b) for a in one for b in other], np.float64)
            same = self._is_hit(self._similarity(pairs[:, 0], pairs[:, 1])) if len(pairs) else np.zeros(0, np.bool_)
            table = same.reshape(len(one), len(other))
            counts[name] = int(table[linear_sum_assignment(table, maximize=True)].sum()), len(one), len(other)
        return counts

    def _key(self, parsed: Any) -> str:
        numbers = [number for thing in parsed for number in thing[:-1]]
        return struct.pack(f"<{len(numbers)}d", *numbers).hex() + repr([thing[-1] for thing in parsed])

    def _present(self, parsed: Any, common: Known) -> list[dict[str, Any]]:
        return [self.show(thing) for thing in parsed]

    def show(self, thing: tuple[Any, ...]) -> dict[str, Any]:
        """Convert an object to a dictionary."""
        shown = {name: self._number(value) for name, value in zip(self._columns(len(thing) - 1), thing, strict=False)}
        return shown if thing[-1] is None else {**shown, self._class_key: thing[-1]}

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "overlap": self.overlap, "quorum": self.quorum}

    def learn(self, labels: Column) -> ObjectEncoding:
        codes, parsed = labels.parsed(self._parse)
        forms = [
            f"{len(label[0]) - 1} coordinates and {'no class' if label[0][-1] is None else 'a class'}" if label else ""
            for label in parsed
        ]
        check_forms(labels, codes, forms)
        return ObjectEncoding(domain=self, common=self._find_common(parsed))


@dataclass(frozen=True, kw_only=True)
class ObjectEncoding(PairwiseEncoding, Things):
    """Parsed lists of objects, and their vocabulary."""

    domain: Objects
    common: Known

    @property
    def kernels(self) -> ObjectKernels:
        quorum = self.domain.quorum
        return ObjectKernels(domain=self.domain, quorum=0.5 if isinstance(quorum, str) else quorum)

    def prepare(self, block: Block) -> Block:
        check_pairs(block)  # before comparing objects
        stored = self.store(block)
        store = stored[Stored].store
        answer, place = ranges(store.first[stored.label], store.first[stored.label + 1])
        members = Members(store.geometry[place], store.kind[place], answer, stored.task[answer])
        edges = self.domain._meet(members)
        left, right = list_pairs(stored)
        one, other = answer[edges.left], answer[edges.right]
        later = stored.to_answers(stored.starts + stored.sizes) - 1 - np.arange(len(stored.label))
        first_pair = np.cumsum(later) - later
        apart = self.domain._measure(
            members, edges, first_pair[one] + other - one - 1, left.astype(np.intp), right.astype(np.intp)
        )
        pairs = PairDistances.mirrored(left, right, apart)
        grouped = self._group(stored, members, edges, store)
        return stored.keeping(self._hash_answers(stored), pairs, grouped)

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

    def _show(self, found: Mapping[str, Array]) -> list[list[dict[str, Any]]]:
        """Return the objects of each estimate, with their `NUMBERS` except for gold labels and unknown numbers."""
        labels: list[list[dict[str, Any]]] = self.decode(found["label"]).tolist()
        known = found.get("known", np.zeros(len(labels), np.bool_))
        for label, numbers, given in zip(labels, found[OBJECTS], known, strict=True) if OBJECTS in found else ():
            if not given:
                for thing, own in zip(label, numbers, strict=True):
                    thing.update(zip(NUMBERS, own, strict=True))
        return labels

    def truth_columns(self, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        shown = self._show(found)
        count = {"count": np.array(list(map(len, shown)), np.int64)} if self.domain._counted else {}
        return {"label": Values(shown, text=self.domain._text), **count}

    @property
    def votes(self) -> ObjectVotes:
        return ObjectVotes(self.common.classes or (None,), self.kernels.fusing)

    @property
    def things(self) -> Self:
        return self

    def list_objects(self, tasks: Values, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        domain, classes, width = self.domain, self.common.classes, self.common.width or self.domain._width
        gone = found.get("abstained", np.zeros(len(found["label"]), np.bool_))
        shown = [[] if left_out else label for label, left_out in zip(self._show(found), gone, strict=True)]
        things = list(chain.from_iterable(shown))
        kind = np.int64 if domain._number is int else np.float64
        task = np.repeat(np.arange(len(shown)), list(map(len, shown)))
        columns: dict[str, Values | Array] = {"task": tasks.take(task)}
        for name in domain._columns(width):
            columns[name] = np.array([thing[name] for thing in things], kind)
        if classes and classes != (None,):
            columns[domain._class_key] = Values([thing[domain._class_key] for thing in things])
        for name in NUMBERS:
            numbers = np.array([thing.get(name, np.nan) for thing in things], np.float64)
            counts = name == "n_workers" and not np.isnan(numbers).any()
            columns[name] = numbers.astype(np.int64) if counts else numbers
        return columns

    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        if not self.domain._fused:
            return {}
        quorum = self.kernels.choose_quorum(add, weights)[0].quorum
        sums = add(partial(count_faults, quorum=quorum), weights)
        with np.errstate(invalid="ignore"):
            return {"miss_rate": sums["missed"] / sums["kept"], "false_alarm_rate": sums["invented"] / sums["objects"]}


@dataclass(frozen=True, kw_only=True)
class ObjectKernels(PairwiseKernels):
    """Sums over pairs of answers, and estimates from groups of objects."""

    domain: Objects
    quorum: float

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        return super().decide(self.fusing(block), weights, faults, ties)

    def fusing(self, block: Block) -> Block:
        """Add the settings of fusion to a block."""
        return block.keeping(Fusing(self.quorum, self.domain._find_middles, self.domain._similarity))

    def choose_quorum(self, add: Add, weights: Floats) -> tuple[Self, dict[str, Any]]:
        if not self.domain._fused:
            return self, {}
        if self.domain.quorum != "auto":
            return self, {}
        sums = add(count_guesses, weights)
        quorum, goodness = choose_quorum(sums["hits"].sum(axis=0), sums["total"].sum(axis=0))
        curve = {
            f"{each:.2f}": round(value, 6) for each, value in zip(QUORUMS.tolist(), goodness.tolist(), strict=True)
        }
        return replace(self, quorum=quorum), {"quorum": quorum, "quorum_curve": curve}

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        return self.distance_between(left, right) > 1e-9
