"""Rankings: labels that put a task's items in order, best first.

    kendall:   d(A, B) = pairs of items in opposite order / pairs that both compared; a tie is half way
    footrule:  d(A, B) = sum_a |pos_A(a) - pos_B(a)| / floor(q^2 / 2)   for q items

A ranking is a vote on each pair of its items, so a worker's distance to her peers needs no pairs of answers
(`allalike.domains.rankings.kendall`). How many rankings become one is an old question: there are
fifteen rules for it.

It works for orders of some items by everyone, for lists of the best few, for ties, and for comparisons of two items at
a time. It fails where a ranking is a matter of taste, for then there is no true order; where two workers compared no
pair in common, of whom nothing is known; and of many items with few comparisons each, most orders are as good.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Self

from allalike.domains.capabilities import Adding
from allalike.domains.rankings.codes import add_up, take_apart
from allalike.domains.rankings.encoding import RankingEncoding, RankingOptions
from allalike.domains.rankings.kernels import DISTANCES, list_items
from allalike.domains.rankings.voting import VOTING
from allalike.noise import General, Noise, OneCoin
from allalike.rules import Rule

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array
    from allalike._core.columns.column import Column


@dataclass(frozen=True, kw_only=True)
class Ranking(RankingOptions, Adding):
    """Orders of a task's items, best first, which may have ties and gaps.

    A label is text such as ``a>b>c``, ``a>b=c`` or ``a>{b,c}``, a JSON list or a Python list in which items that are
    tied stand in a list of their own, or ranks such as ``{"a": 1, "b": 2, "c": 2}``. A comparison of two items is a
    ranking too. Another task may have other items. A ranking comes back as a list, and as ``a>b=c`` in a file. Its
    confidence is the share of agreement behind it: 1 minus the weighted mean distance of the answers to it.

    Where a worker answers a task several times, her answers are added up (``repeats="add"`` of `allalike.read`): of
    each pair of items that she compared, it counts how often she preferred which, and she counts once.

    Parameters
    ----------
    rule
        How a task's rankings become one: ``borda``, ``plurality``, ``veto``, ``copeland``, ``kemeny``, ``slater``,
        ``modal``, ``minimax``, ``best worker``, ``maximin``, ``schulze``, ``ranked pairs``, ``bucklin``, ``stv`` or
        ``bradley terry``. Kemeny and Slater are exact up to 16 items, and minimax takes at most 8. Plurality, veto,
        minimax, bucklin and stv count places, and need complete rankings without ties.
    distance
        ``kendall`` (the share of pairs in opposite order, of those that both compared; a tie is half way) or
        ``footrule`` (how far items are displaced; without ties and gaps only).
    gaps
        What is known of items that a worker did not rank: nothing (``unknown``), or that they are behind all others
        and tied (``last``), as where workers name the best few.
    ties
        What becomes of items with equal scores: their order is drawn (``draw``), or the truth says that they are tied
        (``keep``); rules without scores always draw.
    separator
        What stands between the items of a text if not ``>``, such as ``";"``; the best comes first.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "c>b>a")]
    >>> found = allalike.discover(rows, domain=Ranking(rule="kemeny"), method="UA").truth
    >>> found["label"].tolist(), found["confidence"].round(3).tolist()
    ([['a', 'b', 'c']], [0.667])
    >>> rows = [("ada", 1, "a>b"), ("bob", 1, "b>c"), ("eve", 1, "a>b=c")]
    >>> allalike.discover(rows, domain="ranking", method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """

    name: ClassVar[str] = "ranking"
    summary: ClassVar[str] = "orders of a task's items, best first, with ties and gaps; Kendall tau, or the footrule"
    rules: ClassVar[tuple[Rule, ...]] = tuple(Rule(name, decide) for name, decide in VOTING.items())
    distances: ClassVar[tuple[str, ...]] = tuple(DISTANCES)

    @property
    def repeats(self) -> Self:
        """Comparisons add up."""
        return self

    def add(self, codes: Array, starts: Array) -> Array:
        """Put the rankings of each group of neighbours together: what a worker said of a task."""
        return add_up(codes, starts)

    def take_apart(self, codes: Array) -> tuple[Array, Array]:
        """Return single rankings."""
        return take_apart(codes)

    @property
    def noise(self) -> Noise:
        """Of each pair of items, a worker errs with a probability of her own."""
        return OneCoin(classes=2) if self.distance == "kendall" else General()

    def learn(self, labels: Column) -> RankingEncoding:
        """Number the items that occur, in their order, and find out how many the longest ranking has."""
        parsed = self.read(labels)[1]
        places = tuple(set(chain.from_iterable(parsed)))
        items = list_items(places)
        rankings = parsed if len(items) == len(places) else map(list_items, parsed)  # where some are tied
        return RankingEncoding.of(self, items, max(map(len, rankings), default=0))
