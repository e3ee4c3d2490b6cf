"""Voting rules that give each item a score and sort by it, and the modal ranking.

Shares of weight are written w(...), and P(a, b) is the share that puts item a before item b. With weights, each rule is
its textbook self with w_i voters instead of one. Scores that are equal up to rounding are drawn, item by item.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Ties, group_labels
from allalike._core.blocks.pairs import AnswerHashes
from allalike.domains.rankings.ballots import Ballots, Ranked, decide
from allalike.rules.vote import plurality as most_given

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.rules.base import Decision


def borda(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by their mean position (Borda 1781).

    The score of an item is sum_i w_i (q - 1 - pos_i(a)), or just as well sum_b P(a, b). Where answers have ties or
    gaps, it is the mean, over those items b with which it was compared, of the share of weight that prefers it to b,
    a tie being half of it: what the evaluations of machine translation call expected wins (Koehn 2012).

        score(a) = sum_b P(a, b)

    It works with few answers and with ties and gaps, for every pair counts, and often finds what Kemeny does, at no
    cost. It fails to take the majority's favourite where a few put it last, and more items of one kind raise those
    above them.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c>d"), ("bob", 1, "a>b>c>d"), ("eve", 1, "b>c>d>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="borda"), method="UA").truth["label"].tolist()
    [['b', 'a', 'c', 'd']]
    """
    return decide(block, weights, ties, lambda votes: votes.by_score(votes.wins))


def plurality(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by the weight that puts them first.

    Items that nobody puts first are equal, and their order is drawn.

        score(a) = w(a is first)

    It works where only the best item is asked for. It fails to use what is said about all others, and two good
    items that are alike take each other's first places.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b"), ("bob", 1, "a>b"), ("eve", 1, "b>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="plurality"), method="UA").truth["label"].tolist()
    [['a', 'b']]
    """
    return decide(block, weights, ties, lambda votes: votes.by_score(votes.weight_of(votes.position == 0)))


def veto(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by the weight that puts them last, the least first.

    Items that nobody puts last are equal, and their order is drawn.

        score(a) = -w(a is last)

    It works where only the worst item matters. It fails to order the others: those that nobody puts last are drawn.

    >>> import allalike
    >>> rows = [("ada", 1, "b>a"), ("bob", 1, "a>b"), ("eve", 1, "a>b")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="veto"), method="UA").truth["label"].tolist()
    [['a', 'b']]
    """

    def find(votes: Ballots) -> Ranked:
        return votes.by_score(-votes.weight_of(votes.position == votes.n_items - 1))

    return decide(block, weights, ties, find)


def copeland(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by the number of others that they beat by majority; a draw counts half (Copeland 1951).

        score(a) = number of b with P(a, b) > 1/2, and half of those with P(a, b) = 1/2

    It works where majorities do not go in circles: an item that beats all others is first. It fails to tell items
    apart that beat as many others, for by how much does not count; with few items that is often.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "b>c>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="copeland"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    return decide(block, weights, ties, lambda votes: votes.by_score(np.sign(votes.margin).sum(axis=2)))


def maximin(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by min_b P(a, b), the weight behind them in their worst comparison (Simpson 1969, Kramer 1977).

        score(a) = min over b of P(a, b)

    It works where the best item is wanted that nobody beats clearly. It fails below the top: how an item does
    against all but its strongest rival does not count.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "b>a>c"), ("eve", 1, "a>c>b")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="maximin"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """

    def find(votes: Ballots) -> Ranked:
        myself = np.eye(votes.n_items, dtype=np.bool_)
        return votes.by_score(np.where(myself, 1.0, votes.before).min(axis=2))

    return decide(block, weights, ties, find)


def schulze(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by the number of others that they beat along chains of majorities (Schulze 2011).

    A chain is as strong as its weakest majority, and a beats b if its strongest chain to b is stronger than the one
    back. To beat is transitive, so the number of beaten items respects it.

        strength(a, b) = max over chains a > ... > b of the smallest majority in the chain

    It works where majorities go in circles, and agrees with them where they do not. It fails to be explained in a
    sentence, and with few answers many strengths are equal.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "b>c>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="schulze"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """

    def find(votes: Ballots) -> Ranked:
        strength = np.maximum(votes.margin, 0.0)
        for middle in range(votes.n_items):
            through = np.minimum(strength[:, :, middle, None], strength[:, None, middle, :])
            np.maximum(strength, through, out=strength)
        beats = strength - strength.transpose(0, 2, 1) > TOLERANCE
        return votes.by_score(beats.sum(axis=2).astype(np.float64))

    return decide(block, weights, ties, find)


def bucklin(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by how many places from the top it takes until more than half of the weight has named them.

    Among items with the same number of places, more weight is better.

        score(a) = least r with w(a is among the first r) > 1/2

    It works where most agree on a handful at the top. It fails to tell good from middling where everyone has other
    favourites: all are named late.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "b>a>c"), ("eve", 1, "c>b>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="bucklin"), method="UA").truth["label"].tolist()
    [['b', 'a', 'c']]
    """

    def find(votes: Ballots) -> Ranked:
        named = np.stack([votes.weight_at(places).cumsum(axis=1) for places in votes.position], axis=1)
        depth = np.argmax(named > 0.5 + TOLERANCE, axis=2)
        weight = np.take_along_axis(named, depth[:, :, None], axis=2)[:, :, 0]
        return votes.by_score(weight - depth)  # the weight lies between 1/2 and 1

    return decide(block, weights, ties, find)


def modal(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the ranking that was given with the largest total weight (Caragiannis, Procaccia and Shah 2014).

    It needs many answers: with few, all rankings differ.

        label = the ranking r with the largest sum_i w_i [x_i = r]

    It works with hundreds of answers of a few items each, where it finds the mode whatever the noise is. It fails
    with few.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "c>b>a"), ("eve", 1, "c>b>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="modal"), method="UA").truth["label"].tolist()
    [['c', 'b', 'a']]
    """
    hashes, first, code = np.unique(block[AnswerHashes].hashes, return_index=True, return_inverse=True)
    order = np.argsort(block.label[first], kind="stable")
    distinct, hashes = block.label[first[order]], hashes[order]
    coded = replace(block, label=np.argsort(order)[code])
    found = most_given(coded.keeping(group_labels(coded, hashes)), weights, faults, ties)
    return replace(found, label=distinct[found.label])
