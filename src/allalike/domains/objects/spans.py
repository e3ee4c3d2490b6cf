"""Spans: segments of a text with optional tags, such as named entities.

    s(a, b) = positions in both / positions in either

Three distances are based on this similarity. ``overlap`` is the optimal matching of overlapping spans with the same
tag, weighted by similarity. ``exact`` matches only spans with equal start, end and tag. ``characters`` is the Jaccard
distance of sets of (position, tag) pairs, which ignores boundaries between adjacent spans.

The estimated position of a group of spans is the (start, end) pair with the largest weight. It is not an average, which
could split a word.

Spans work for named entities, in characters or tokens. They fail if workers disagree about boundaries, such as a whole
clause or only its noun: under ``exact``, a span with other boundaries counts as missing. ``overlap`` is less strict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Floats
from allalike._core.columns.column import Column
from allalike.distances import lengths, matching
from allalike.distances.matching import Edges, Members
from allalike.domains.contract import check_forms
from allalike.domains.objects.keys import SPAN_KEYS, TAG, are_tags
from allalike.domains.objects.objects import ObjectEncoding, Objects, class_of, read_coordinate
from allalike.domains.pairwise import Places
from allalike.domains.spelling import read_json, read_name
from allalike.rules.base import Rule
from allalike.rules.fusion import fusion
from allalike.rules.mean import take_most_frequent
from allalike.rules.positions import vote_on_positions
from allalike.rules.vote import CHOICES

CLASS_KEYS = ("class", "tag", "label", "type", "labels")
_LARGEST_POSITION = 1 << 53  # larger whole numbers are not exact


def split_tags(text: str) -> list[Any]:
    """Return the elements of a JSON list, or tags separated by whitespace."""
    if text.lstrip().startswith("["):
        return list(read_json(text, list))
    if not are_tags(tags := text.split()):
        raise ValueError("it is neither a JSON list of spans nor a list of token tags such as O and B-PER")
    return list(tags)


def read_tags(tags: Sequence[str]) -> list[list[Any]]:
    """Convert token tags to spans of token positions (IOB1, IOB2, BIOES, BILOU).

    An ``I-`` after ``O`` or after another tag starts a span, as in IOB1 and in malformed IOB2.

    >>> read_tags(["B-PER", "I-PER", "O", "I-LOC", "I-ORG", "B-ORG"])
    [[0, 2, 'PER'], [3, 4, 'LOC'], [4, 5, 'ORG'], [5, 6, 'ORG']]
    >>> read_tags(["U-PER", "B-LOC", "L-LOC", "E-LOC"])
    [[0, 1, 'PER'], [1, 3, 'LOC'], [3, 4, 'LOC']]
    """
    spans: list[list[Any]] = []
    going: list[Any] | None = None
    for place, tag in enumerate(tags):
        prefix, name = TAG.fullmatch(tag).groups()  # type: ignore[union-attr]
        if prefix is None:
            going = None
            continue
        if going is None or prefix in "BSU" or going[2] != name:
            going = [place, place, name]
            spans.append(going)
        going[1] = place + 1
        if prefix in "ELSU":
            going = None
    return [span if span[2] is not None else span[:2] for span in spans]


def read_span(value: Any) -> tuple[tuple[float, ...], Any]:
    """Parse the start, end and tag of a span, or raise ValueError with the reason."""
    if isinstance(value, dict):
        start, end, name = _take_keys(value)
    else:
        listed = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(listed, list | tuple) or len(listed) not in (2, 3):
            raise ValueError(f"a span must be [start, end], [start, end, tag] or an object, not {value!r}")
        start, end, *names = listed
        name = read_name(names[0], "the tag") if names and names[0] is not None else None
    begin, behind = _read_position(start), _read_position(end)
    if behind <= begin:
        raise ValueError(
            f"the span from {start} to {end} is empty or reversed; the end is the position after its last character"
        )
    return (begin, behind), name


def _take_keys(span: dict[str, Any]) -> tuple[Any, Any, Any]:
    keys = next((keys for keys in SPAN_KEYS if set(keys) <= set(span)), None)
    if keys is None:
        raise ValueError(f"the object {span!r} has no start and end")
    return span[keys[0]], span[keys[1]], class_of(span, CLASS_KEYS, "a span must have one tag")


def _read_position(value: Any) -> float:
    number = read_coordinate(value)
    if number != round(number) or not 0 <= number <= _LARGEST_POSITION:
        raise ValueError(f"the position {value} is not a whole number of at least 0")
    return number


@dataclass(frozen=True, kw_only=True)
class Spans(Objects):
    """Lists of spans in a text, compared by optimal matching of overlapping spans.

    A label is a list, or a list as JSON text. A span is ``[start, end]`` or ``[start, end, tag]``, or an object with
    ``start`` and ``end`` (or ``start_offset`` and ``end_offset``) and ``class``, ``tag``, ``label``, ``type`` or
    ``labels``. The end is the position after the last character. Spans may overlap. An answer may also contain one tag
    per token, as a list or separated by spaces: ``O B-PER I-PER`` (IOB, IOB2, BILOU, BIOES); positions are then token
    numbers. ``[]`` means no spans. Estimates are objects with ``start``, ``end``, ``class`` and their support.

    Parameters
    ----------
    overlap
        Minimum intersection over union of spans of the same object; the distance ``overlap`` counts any overlap.
    quorum
        Share of the weight that a span must exceed, from 0 to below 1; ``auto`` estimates it from the answers.
    most
        Maximum number of spans in an answer.
    rule
        Aggregation rule: ``fusion``, ``positions`` (each position separately), ``medoid`` or ``best worker``.
    distance
        ``overlap``, ``exact`` or ``characters``.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 4, "PER"]]), ("bob", 1, [[0, 4, "PER"], [9, 12, "LOC"]]), ("eve", 1, [[0, 5, "PER"]])]
    >>> result = allalike.discover(rows, domain=Spans(quorum=0.5), method="UA")
    >>> result.objects[["start", "end", "class", "n_workers"]].values.tolist()
    [[0, 4, 'PER', 3]]
    """

    name: ClassVar[str] = "spans"
    summary: ClassVar[str] = "lists of spans [start, end, tag], or tags such as B-PER; optimal matching"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("fusion", fusion),
        Rule("positions", vote_on_positions),
        *CHOICES,
    )
    distances: ClassVar[tuple[str, ...]] = ("overlap", "exact", "characters")
    _thing: ClassVar[str] = "a span"
    _width: ClassVar[int] = 2
    _number: ClassVar[type[int] | type[float]] = int
    _read_object = staticmethod(read_span)
    _find_middles = staticmethod(take_most_frequent)

    @property
    def _cut(self) -> float:
        return 0.0

    def _read_answer(self, value: Any) -> list[Any]:
        given = self._listed(value)
        return list(read_tags(given)) if are_tags(given) else given

    def _listed(self, value: Any) -> list[Any]:
        return split_tags(value) if isinstance(value, str) else super()._read_answer(value)

    def learn(self, labels: Column) -> ObjectEncoding:
        """Learn the tags; positions must all refer to characters or all to tokens."""
        codes, given = labels.parsed(self._listed)
        units = [("tags of tokens" if are_tags(each) else "spans of characters") if each else "" for each in given]
        check_forms(labels, codes, units)
        return super().learn(labels)

    def _columns(self, width: int) -> tuple[str, ...]:
        return "start", "end"

    def _similarity(self, left: Floats, right: Floats) -> Floats:
        both = np.maximum(np.minimum(left[:, 1], right[:, 1]) - np.maximum(left[:, 0], right[:, 0]), 0.0)
        either = (left[:, 1] - left[:, 0]) + (right[:, 1] - right[:, 0]) - both
        return np.asarray(both / either)

    def _find_near(self, members: Members) -> tuple[Places, Places]:
        return matching.sweep(members.geometry[:, 0], members.geometry[:, 1], members.task)

    def _match_edges(self, members: Members, edges: Edges) -> npt.NDArray[np.bool_]:
        if self.distance != "exact":
            return super()._match_edges(members, edges)
        which: npt.NDArray[np.bool_] = edges.similarity == 1
        equal = np.flatnonzero(which)
        which[equal] = members.kind[edges.left[equal]] == members.kind[edges.right[equal]]
        return which

    def _is_hit(self, similarity: Floats) -> npt.NDArray[np.bool_]:
        return np.asarray(similarity == 1)

    def _measure(self, members: Members, edges: Edges, pair: Places, left: Places, right: Places) -> Floats:
        if self.distance == "characters":
            return lengths.measure(lengths.join(members), left, right)
        return super()._measure(members, edges, pair, left, right)
