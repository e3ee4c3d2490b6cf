"""Collections of objects: boxes in a picture, spans of a text, points on a map.

An answer is a list of objects, each somewhere and perhaps of a class. ``[]`` is an answer too: looked, and nothing was
there. Which objects of two answers are the same is found by how similar they are, s in [0, 1]: one to one and of the
same class for the distance (`allalike.distances.matching`), and whatever their classes for the groups of which the
truth is made (`allalike.rules.grouping`, `allalike.rules.fusion`). Both are found once, when a block is prepared.
"""

from __future__ import annotations

import json
import math
import struct
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from allalike._core.columns.hashes import mix
from allalike._core.columns.values import Values, arrow_of
from allalike._core.options import check_number, option, share, whole
from allalike.distances import matching
from allalike.distances.jaccard import chunks, ranges
from allalike.distances.matching import Edges, Members
from allalike.domains.capabilities import Marks, Votes
from allalike.domains.categorical import Categorical, ClassEncoding
from allalike.domains.contract import Encoding
from allalike.domains.pairwise import Pairwise, objects
from allalike.domains.spelling import json_list
from allalike.errors import LabelError, OptionError
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.fusion import Fused, fusion, put_together
from allalike.rules.grouping import GroupedObjects
from allalike.rules.vote import best_worker, medoid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike._core.columns.column import Column
    from allalike.domains.pairwise import Places
    from allalike.rules.mean import Drawings


# Parts of objects as they are written: coordinates, classes, and what all objects have in common.


NUMBERS = ("confidence", "class_confidence", "spread", "supporters")  # what is told of each object of a truth
_LARGEST_NUMBER = 1e150


class Known(NamedTuple):
    """What all objects have in common: their classes in order, and how many numbers say where each is.

    Where objects have no class, None is the only one; where there are no objects, there is none.
    """

    classes: tuple[Any, ...] = ()
    width: int = 0


def order_classes(classes: set[Any], name: str) -> tuple[Any, ...]:
    """Return classes in order; refuse those of different types.

    >>> order_classes({"dog", "cat"}, "boxes")
    ('cat', 'dog')
    >>> order_classes({"dog", None}, "boxes")
    Traceback (most recent call last):
    allalike.errors.LabelError: Some boxes have no class, and some have the class 'dog'. Give all of them a class, or
    none.
    """
    kinds = {type(each): each for each in classes}
    if len(kinds) > 1:
        named = [each for each in kinds.values() if each is not None]
        if None in classes:
            raise LabelError(
                f"Some {name} have no class, and some have the class {named[0]!r}. Give all of them a class, or none."
            )
        one, other = sorted(named, key=lambda each: type(each).__name__)[:2]
        raise LabelError(
            f"The classes of {name} are of different types: {one!r} and {other!r}. Give all of them the same type."
        )
    return tuple(sorted(classes))


def read_number(value: Any) -> float:
    """Return a coordinate, or raise ValueError.

    >>> read_number(-0.0)
    0.0
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"the coordinate {value!r} is not a number")
    if not math.isfinite(value) or abs(value) > _LARGEST_NUMBER:
        raise ValueError(f"the coordinate {value} is not finite, or too large")
    return float(value) + 0.0


def read_class(value: Any) -> Any:
    """Return a class, which is a text or a whole number, or raise ValueError.

    >>> read_class(0.93)
    Traceback (most recent call last):
    ValueError: 0.93 is no class, which is a text or a whole number
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        value.encode()  # half a character, as "\ud800", can be compared but not written
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{value!r} is no class, which is a text or a whole number")
    return value


_CELLS_PER_CHUNK = 1 << 22  # pairs of objects that may be compared together


def _check_quorum(value: Any, name: str) -> Any:
    if value == "auto":
        return value
    if isinstance(value, str):
        raise OptionError(f"{name} is {value!r}. It must be a number from 0 to below 1, or 'auto'.")
    return check_number(value, name, least=0, below=1)


@dataclass(frozen=True, kw_only=True)
class Matched(Marks, Pairwise):
    """Labels that are lists of objects, compared by the best matching of these."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("fusion", fusion),
        Rule("medoid", medoid),
        Rule("best worker", best_worker),
    )
    distances: ClassVar[tuple[str, ...]] = tuple(matching.DISTANCES)
    noise: ClassVar[General] = General(farthest=1.0)  # worthless objects are nowhere near the others
    thing: ClassVar[str] = "an object"
    class_key: ClassVar[str] = "class"
    number: ClassVar[type[int] | type[float]] = float
    width: ClassVar[int]
    overlap: float = share(0.3)
    quorum: float | str = option("auto", _check_quorum)
    most: int = whole(10_000, least=1)

    @abstractmethod
    def read_object(self, value: Any) -> tuple[tuple[float, ...], Any]:
        """Return the numbers and the class of one object, or raise ValueError with the reason."""

    @abstractmethod
    def columns(self, width: int) -> tuple[str, ...]:
        """Name the numbers of an object."""

    @abstractmethod
    def similarity(self, left: Floats, right: Floats) -> Floats:
        """Say how similar objects are, row by row."""

    @abstractmethod
    def reach(self, geometry: Floats) -> tuple[Floats, Floats]:
        """Return from where to where each object reaches on one axis."""

    @abstractmethod
    def find_middles(self, drawings: Drawings, ties: Ties) -> tuple[Floats, Array]:
        """Return where each group of drawings is, and which of them were drawn among equals."""

    def is_flat(self, geometry: Floats) -> npt.NDArray[np.bool_]:
        """Tell which objects have no extent, though they should, so that they are like themselves only."""
        return np.zeros(len(geometry), np.bool_)

    def read_answer(self, value: Any) -> list[Any]:
        """Return the objects of an answer as they are written."""
        if isinstance(value, str):
            value = json_list(value)
        elif isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, list | tuple):
            raise ValueError(f"it must be a list, of which each element is {self.thing}")
        return list(value)

    def form_of(self, value: Any) -> str:
        """Name the form in which an answer is written; an empty one may be in any."""
        return ""

    @property
    def cut(self) -> float:
        """The similarity from which objects count in a distance."""
        return self.overlap

    @property
    def formula(self) -> Callable[[Floats, Places, Places], Floats]:
        """The distance of two answers from what is matched, and from how many objects each has."""
        return matching.DISTANCES[str(self.distance)]

    @property
    def fused(self) -> bool:
        """Whether a truth is put together from what exceeds the quorum."""
        return self.rule == "fusion"

    @property
    def recurring(self) -> bool:
        """Whether a truth is one of the answers."""
        return not self.fused

    def parse(self, value: Any) -> tuple[Any, ...]:
        """Read an answer, as a tuple of objects in order."""
        given = self.read_answer(value)
        if len(given) > self.most:
            raise ValueError(f"it has {len(given):,} objects, and at most {self.most:,} are expected; raise most=")
        things = [(*numbers, name) for numbers, name in map(self.read_object, given)]
        widths = sorted({len(thing) - 1 for thing in things})
        if len(widths) > 1:
            raise ValueError(f"its objects have {widths[0]} and {widths[-1]} coordinates; give all of them as many")
        if len({type(thing[-1]) for thing in things}) > 1:
            raise ValueError("its objects have classes of different types, or only some have one")
        return tuple(sorted(things))

    def check_alike(self, labels: Column) -> list[Any]:
        """Return the parsed labels; refuse answers that do not go together, and name their rows."""
        codes, forms = labels.parsed(self.form_of)
        self._check_words(labels, codes, forms, "written in different forms")
        codes, parsed = labels.parsed(self.parse)
        named = ["" if not label else "without classes" if label[0][-1] is None else "with classes" for label in parsed]
        self._check_words(labels, codes, named, "given with and without classes")
        return parsed

    def _check_words(self, labels: Column, codes: Array, words: list[str], what: str) -> None:
        first = {word: code for code, word in reversed(list(enumerate(words))) if word}
        if len(first) > 1:
            one, other = sorted(first.items(), key=lambda item: item[1])[:2]
            rows = [labels.row(int(np.argmax(codes == code))) for _, code in (one, other)]
            raise LabelError(
                f"The {self.name} are {what}: row {rows[0]} is {one[0]}, row {rows[1]} is {other[0]}."
                " Write all of them alike."
            )

    def find_common(self, parsed: list[Any]) -> Known:
        """Return the classes that occur, which must be of one type, and how many numbers an object has."""
        things = [thing for label in parsed for thing in label]
        parts = {Known((thing[-1],), len(thing) - 1) for thing in things}
        return self.join_common(parts)

    def join_common(self, commons: Iterable[Known]) -> Known:
        """Join the classes of several parts."""
        known = list(commons)
        widths = {each.width for each in known if each.width}
        if len(widths) > 1:
            raise LabelError(f"The {self.name} have {min(widths)} and {max(widths)} numbers. Give all of them as many.")
        return Known(
            order_classes({name for each in known for name in each.classes}, self.name), max(widths, default=0)
        )

    def pack(self, parsed: list[Any]) -> matching.Collections:
        """Put all objects in one array."""
        width = next((len(label[0]) - 1 for label in parsed if label), self.width)
        return matching.pack(parsed, width)

    def unpack(self, store: matching.Collections, places: Array) -> npt.NDArray[np.object_]:
        """Return the answers as tuples of objects."""
        which, place = ranges(store.first[places], store.first[places + 1])
        rows = zip(store.geometry[place].tolist(), store.kind[place].tolist(), strict=True)
        found: list[list[Any]] = [[] for _ in places]
        for answer, (numbers, code) in zip(which.tolist(), rows, strict=True):
            found[answer].append((*numbers, store.classes[code]))
        return objects([tuple(label) for label in found])

    def compare(self, left: matching.Collections, i: Places, right: matching.Collections, j: Places) -> Floats:
        """Match the objects of two answers, for all pairs at once."""
        kinds = right.kind if right is left else right.kinds_among(left.classes)
        found = np.zeros(len(i))
        for part in chunks((left.sizes[i] + right.sizes[j]) ** 2, _CELLS_PER_CHUNK):
            one, own = ranges(left.first[i[part]], left.first[i[part] + 1])
            other, hers = ranges(right.first[j[part]], right.first[j[part] + 1])
            order = np.argsort(np.concatenate([2 * one, 2 * other + 1]), kind="stable")
            members = Members(
                np.concatenate([left.geometry[own], right.geometry[hers]])[order],
                np.concatenate([left.kind[own], kinds[hers]])[order],
                np.concatenate([2 * one, 2 * other + 1])[order],
                np.concatenate([one, other])[order],
            )
            edges = self.edges(members)
            answers = 2 * np.arange(len(i[part]))
            found[part] = self.measure(members, edges, members.task[edges.left], answers, answers + 1)
        return found

    def meet(self, members: Members) -> Edges:
        """Return all edges between the objects of a block, which come task after task."""
        count = np.bincount(members.task)
        first = np.concatenate([[0], np.cumsum(count)])
        found = [Edges(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        for part in chunks(count**2, _CELLS_PER_CHUNK):
            begin, end = first[part.start], first[part.stop]
            if end > begin:
                edges = self.edges(members.cut(slice(begin, end)))
                found.append(Edges(edges.left + begin, edges.right + begin, edges.similarity))
        return Edges(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def edges(self, members: Members) -> Edges:
        """Return all pairs of objects of different answers to a task that are similar, the earlier answer first."""
        left, right = matching.sweep(*self.reach(members.geometry), members.task)
        left, right = np.minimum(left, right), np.maximum(left, right)
        apart = members.answer[left] != members.answer[right]
        left, right = left[apart], right[apart]
        similarity = self.similarity(members.geometry[left], members.geometry[right])
        return Edges(left, right, similarity).keep((similarity > 0) & (similarity >= min(self.cut, self.overlap)))

    def match_edges(self, members: Members, edges: Edges) -> npt.NDArray[np.bool_]:
        """Tell which edges may be matched: those of the same class that are similar enough."""
        same: npt.NDArray[np.bool_] = members.kind[edges.left] == members.kind[edges.right]
        return same & (edges.similarity >= self.cut)

    def measure(self, members: Members, edges: Edges, pair: Places, left: Places, right: Places) -> Floats:
        """Measure how far answer left[k] is from answer right[k], given to which pair k each edge belongs.

        Members come answer after answer, and the first end of an edge belongs to the earlier answer.
        """
        if self.distance == "count":
            matched = np.zeros(len(left))
        else:
            which = self.match_edges(members, edges)
            edges, pair = edges.keep(which), pair[which]
            begins = np.flatnonzero(np.diff(members.task, prepend=-1))
            counts = np.diff(begins, append=len(members.task))
            local = members.answer - np.repeat(members.answer[begins], counts)
            most = int(local.max(initial=0)) + 1
            one = edges.left * most + local[edges.right]
            other = edges.right * most + local[edges.left]
            matched = matching.match(pair, one, other, edges.similarity, len(left))
        size = np.bincount(members.answer, minlength=int(max(left.max(initial=0), right.max(initial=0))) + 1)
        return np.clip(self.formula(matched, size[left], size[right]), 0.0, 1.0)

    def is_hit(self, similarity: Floats) -> npt.NDArray[np.bool_]:
        """Tell which objects of the same class are the same by how similar they are."""
        return np.asarray((similarity > 0) & (similarity >= self.overlap))

    def count_marks(self, said: Any, truth: Any) -> dict[Any, tuple[int, int, int]]:
        """Count, class by class, the objects of an answer that can be paired with those of the truth, one to one."""
        from scipy.optimize import linear_sum_assignment

        counts = {}
        for name in sorted({thing[-1] for thing in (*said, *truth)}, key=repr):
            one, other = ([thing[:-1] for thing in things if thing[-1] == name] for things in (said, truth))
            pairs = np.array([(a, b) for a in one for b in other], np.float64)
            same = self.is_hit(self.similarity(pairs[:, 0], pairs[:, 1])) if len(pairs) else np.zeros(0, np.bool_)
            table = same.reshape(len(one), len(other))
            counts[name] = int(table[linear_sum_assignment(table, maximize=True)].sum()), len(one), len(other)
        return counts

    def key(self, parsed: Any) -> str:
        """Write the objects; the bytes of numbers are much faster to hash than a tuple of tuples."""
        numbers = [number for thing in parsed for number in thing[:-1]]
        return struct.pack(f"<{len(numbers)}d", *numbers).hex() + repr([thing[-1] for thing in parsed])

    def present(self, parsed: Any, common: Known) -> list[dict[str, Any]]:
        """Return the objects, each as a dictionary."""
        return [self.show(thing) for thing in parsed]

    def show(self, thing: tuple[Any, ...]) -> dict[str, Any]:
        """Return an object as a dictionary."""
        shown = {name: self.number(value) for name, value in zip(self.columns(len(thing) - 1), thing, strict=False)}
        return shown if thing[-1] is None else {**shown, self.class_key: thing[-1]}

    def text(self, label: Any) -> str:
        """Write a list of objects in JSON."""
        return json.dumps(label, ensure_ascii=False)

    def describe(self) -> dict[str, Any]:
        """Return also from which similarity objects are the same, and the quorum."""
        return {**super().describe(), "overlap": self.overlap, "quorum": self.quorum}


# Votes on objects: what each thing is, for methods that need classes.
#
# A list of objects is no class. But the groups of objects of a task (`allalike.rules.grouping`) are questions of their
# own: what is this? Everyone who answered the task votes for the class that she gave to the thing, or for *nothing* if
# she did not see it. A method for classes can weigh workers by their votes and decide each of them, and the decisions
# put together are the truth. A task in which nobody saw anything is one vote, on which all agree.


@dataclass(frozen=True)
class ObjectVotes(Votes[Encoding]):
    """Votes on groups of objects."""

    classes: tuple[Any, ...]
    fusing: Callable[[Block], Block]
    describe: Callable[[Block, Fused], dict[str, Array]]

    @property
    def encoding(self) -> ClassEncoding:
        """The numbers of the classes, and of nothing."""
        return ClassEncoding.of(Categorical(), Values(arrow_of(np.arange(len(self.classes) + 1))))

    def cast(self, block: Block) -> Block:
        """Ask of each group what it is."""
        grouped = self._grouped(block)
        task, first = self._tasks(block, grouped)
        sizes = block.sizes[task]
        starts = np.cumsum(sizes) - sizes
        _, rows = ranges(block.starts[task], block.starts[task] + sizes)
        label = np.full(len(rows), len(self.classes), np.int32)
        vote = first[grouped.task[grouped.group]] + self._within(block, grouped)[grouped.group]
        label[starts[vote] + grouped.answer - block.starts[grouped.task[grouped.group]]] = grouped.kind
        number = np.arange(len(task)) - first[task]
        votes = replace(
            block,
            starts=starts,
            sizes=sizes,
            worker=block.worker[rows],
            label=label,
            task_hash=mix(block.task_hash[task] ^ mix(number.astype(np.uint64))),
            gold_task=block.gold_task[:0],
            gold_label=label[:0],
            prepared={},
            live=None if block.live is None else block.live[task],
        )
        return self.encoding.prepare(votes)

    def count(self, block: Block, weights: Floats, found: Mapping[str, Array], ties: Ties) -> dict[str, Array]:
        """Keep the groups that are not nothing, each of the class that was found."""
        grouped = self._grouped(block)
        _, first = self._tasks(block, grouped)
        vote = first[grouped.task] + self._within(block, grouped)
        label, sure = found["label"][vote], found["confidence"][vote]
        kept = label < len(self.classes)
        weight, _ = block.answer_weights(weights)
        block = self.fusing(block).keeping(grouped)
        share = np.where(kept, sure, 1 - sure)
        return self.describe(block, put_together(block, weight, kept, label, share, found["tied"][vote], ties))

    def _grouped(self, block: Block) -> GroupedObjects:
        """Return the groups with the numbers that classes have everywhere."""
        grouped = block[GroupedObjects]
        place = {name: code for code, name in enumerate(self.classes)}
        codes = np.array([place[name] for name in grouped.classes], np.int64)
        return replace(grouped, kind=codes[grouped.kind], classes=objects(self.classes))

    def _tasks(self, block: Block, grouped: GroupedObjects) -> tuple[Array, Array]:
        """Return the task of each vote, and the first vote of each task."""
        count = np.maximum(np.bincount(grouped.task, minlength=block.n_tasks), 1)
        return np.repeat(np.arange(block.n_tasks), count), np.cumsum(count) - count

    def _within(self, block: Block, grouped: GroupedObjects) -> Array:
        """Return the number of each group among those of its task."""
        count = np.bincount(grouped.task, minlength=block.n_tasks)
        return np.asarray(np.arange(len(grouped)) - (np.cumsum(count) - count)[grouped.task])
