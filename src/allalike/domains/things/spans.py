"""Spans: stretches of a text, each perhaps with a tag, such as the names in it.

    s(a, b) = positions in both / positions in either

From that three distances are made. ``overlap`` is the best matching of spans of the same tag that share anything, by
how much they share; ``exact`` matches spans whose start, end and tag are the same; ``characters`` is the Jaccard
distance of the pairs of a position and a tag, which knows nothing of where one span ends and the next begins.

The middle of several spans is the pair of start and end that most of the weight has given: ends that somebody meant,
and no average of them, which may lie within a word.

It works for names and other entities, in characters or in tokens. It fails where workers disagree about what a span is,
the whole clause or its noun: under ``exact`` such workers look as bad as those who saw nothing, and ``overlap`` is
kinder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike.distances import matching
from allalike.distances.positions import measure_positions
from allalike.domains.things.objects import Objects
from allalike.domains.things.span_forms import are_tags, name_form, read_span, read_tags, split_tags
from allalike.rules.base import Rule
from allalike.rules.choice import best_worker, medoid
from allalike.rules.fusion import fusion
from allalike.rules.middles import Drawings, take_most_frequent
from allalike.rules.positions import vote_on_positions

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.blocks.ties import Ties
    from allalike.distances.matching import Edges, Members
    from allalike.domains.pairwise import Places

__all__ = ["Spans"]


@dataclass(frozen=True, kw_only=True)
class Spans(Objects):
    """Lists of spans of a text, compared by the best matching of spans that overlap.

    A label is a list, or a text that is one in JSON. A span is ``[start, end]``, perhaps with a tag behind it, or an
    object with ``start`` and ``end`` (or ``start_offset`` and ``end_offset``) and ``class``, ``tag``, ``label``,
    ``type`` or ``labels``. The end is the position behind the last character. Spans may overlap. A whole answer may
    also be one tag for each token, as a list or with space between them: ``O B-PER I-PER`` (IOB, IOB2, BILOU, BIOES);
    positions are then numbers of tokens. ``[]`` says that nothing is there. Spans come back as objects with ``start``,
    ``end``, their ``class``, and how sure they are.

    Parameters
    ----------
    overlap
        The share of what two spans cover that both must cover for them to be the same thing; the distance ``overlap``
        counts all that they share.
    quorum
        The share of the weight that a span must exceed to be kept, from 0 to below 1; ``auto`` chooses it by the
        answers.
    most
        How many spans an answer may have.
    rule
        How a task's answers become one: ``fusion``, ``positions`` (each position by itself), ``medoid`` or ``best
        worker``.
    distance
        ``overlap``, ``exact`` or ``characters``.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 4, "PER"]]), ("bob", 1, [[0, 4, "PER"], [9, 12, "LOC"]]), ("eve", 1, [[0, 5, "PER"]])]
    >>> result = allalike.discover(rows, domain=Spans(quorum=0.5), method="UA")
    >>> result.objects[["start", "end", "class", "supporters"]].values.tolist()
    [[0, 4, 'PER', 3]]
    """

    name: ClassVar[str] = "spans"
    summary: ClassVar[str] = "lists of spans [start, end, tag], or tags such as B-PER; distance by the best matching"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("fusion", fusion),
        Rule("positions", vote_on_positions),
        Rule("medoid", medoid),
        Rule("best worker", best_worker),
    )
    distances: ClassVar[tuple[str, ...]] = ("overlap", "exact", "characters")
    thing: ClassVar[str] = "a span"
    width: ClassVar[int] = 2
    number: ClassVar[type[int] | type[float]] = int

    @property
    def cut(self) -> float:
        """Nothing: whatever is shared counts."""
        return 0.0

    @property
    def fused(self) -> bool:
        """Whether a truth is put together from what exceeds the quorum."""
        return self.rule in ("fusion", "positions")

    @property
    def formula(self) -> Callable[[Floats, Places, Places], Floats]:
        """1 minus F1."""
        return matching.DISTANCES["f1"]

    def read_answer(self, value: Any) -> list[Any]:
        """Return the spans of an answer as they are written, or made of tags."""
        given = self._listed(value)
        return list(read_tags(given)) if are_tags(given) else given

    def _listed(self, value: Any) -> list[Any]:
        return split_tags(value) if isinstance(value, str) else super().read_answer(value)

    def read_object(self, value: Any) -> tuple[tuple[float, ...], Any]:
        """Return the ends and the tag of a span."""
        return read_span(value)

    def form_of(self, value: Any) -> str:
        """Name the form in which spans are written."""
        return name_form(self._listed(value))

    def columns(self, width: int) -> tuple[str, ...]:
        """Name the ends."""
        return "start", "end"

    def similarity(self, left: Floats, right: Floats) -> Floats:
        """Return what is shared of what is covered."""
        both = np.maximum(np.minimum(left[:, 1], right[:, 1]) - np.maximum(left[:, 0], right[:, 0]), 0.0)
        either = (left[:, 1] - left[:, 0]) + (right[:, 1] - right[:, 0]) - both
        return np.asarray(both / either)

    def reach(self, geometry: Floats) -> tuple[Floats, Floats]:
        """Return both ends."""
        return geometry[:, 0], geometry[:, 1]

    def match_edges(self, members: Members, edges: Edges) -> npt.NDArray[np.bool_]:
        """Tell which edges may be matched: those of the same tag, and where it must be exact, of equal spans."""
        if self.distance != "exact":
            return super().match_edges(members, edges)
        which: npt.NDArray[np.bool_] = edges.similarity == 1
        equal = np.flatnonzero(which)
        which[equal] = members.kind[edges.left[equal]] == members.kind[edges.right[equal]]
        return which

    def is_hit(self, similarity: Floats) -> npt.NDArray[np.bool_]:
        """Tell which spans of the same tag are the same: those that begin and end at the same place."""
        return np.asarray(similarity == 1)

    def measure(self, members: Members, edges: Edges, pair: Places, left: Places, right: Places) -> Floats:
        """Measure distances by the positions that are covered, or by the spans that are matched."""
        if self.distance == "characters":
            return measure_positions(members, left, right)
        return super().measure(members, edges, pair, left, right)

    def find_middles(self, drawings: Drawings, ties: Ties) -> tuple[Floats, Array]:
        """Take the pair of ends that most of the weight has given."""
        return take_most_frequent(drawings, ties)
