"""Voting rules: score-based rules, the modal ranking, STV, ranked pairs and Bradley-Terry.

Shares of weight are written w(...), and P(a, b) is the share that prefers item a to item b. With weights, each rule is
its textbook version with w_i voters for each answer. Items with equal scores, up to rounding, are ordered at random.
STV eliminates items and ranked pairs locks majorities; both break ties when they occur, by random priorities.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Array, Block, Floats, Ties, group_labels
from allalike._core.blocks.pairs import AnswerHashes
from allalike._core.limits import MAX_ORDERED_ITEMS
from allalike.domains.rankings.ballots import Ballots, Ranked, check_time, voting_rule
from allalike.rules.base import Decision
from allalike.rules.strengths import fit_strengths
from allalike.rules.vote import plurality as most_given

_NEVER = np.iinfo(np.int32).max


@voting_rule
def borda(votes: Ballots) -> Ranked:
    """Sort the items by their mean position (Borda 1781).

    The score of an item is sum_i w_i (q - 1 - pos_i(a)), or equivalently sum_b P(a, b). With ties or gaps, it is the
    mean share of weight that prefers the item, over all items compared with it. A tie counts half. Evaluations of
    machine translation call this score expected wins (Koehn 2012).

        score(a) = sum_b P(a, b)

    The rule works with few answers and with ties and gaps, because every pair counts, and often agrees with Kemeny's
    order at little cost. It fails to rank a majority favourite first if a minority ranks it last. Adding similar items
    raises the items above them.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c>d"), ("bob", 1, "a>b>c>d"), ("eve", 1, "b>c>d>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="borda"), method="UA").truth["label"].tolist()
    [['b', 'a', 'c', 'd']]
    """
    return votes.by_score(votes.wins)


@voting_rule
def plurality(votes: Ballots) -> Ranked:
    """Sort the items by the weight that ranks them first.

    Items that nobody ranks first are ordered at random.

        score(a) = w(a is first)

    The rule works if only the best item matters. It fails to use the rest of each ranking, and similar items split the
    first positions between them.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b"), ("bob", 1, "a>b"), ("eve", 1, "b>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="plurality"), method="UA").truth["label"].tolist()
    [['a', 'b']]
    """
    return votes.by_score(votes.weight_of(votes.position == 0))


@voting_rule
def veto(votes: Ballots) -> Ranked:
    """Sort the items by the weight that ranks them last, in increasing order.

    Items that nobody ranks last are ordered at random.

        score(a) = -w(a is last)

    The rule works if only the worst item matters. It fails to order the other items, whose order is random.

    >>> import allalike
    >>> rows = [("ada", 1, "b>a"), ("bob", 1, "a>b"), ("eve", 1, "a>b")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="veto"), method="UA").truth["label"].tolist()
    [['a', 'b']]
    """
    return votes.by_score(-votes.weight_of(votes.position == votes.n_items - 1))


@voting_rule
def copeland(votes: Ballots) -> Ranked:
    """Sort the items by the number of others that they beat by majority; a tie counts half (Copeland 1951).

        score(a) = number of b with P(a, b) > 1/2, and half of those with P(a, b) = 1/2

    The rule works if majorities have no cycles: an item that beats all others is first. It fails to distinguish items
    with equal numbers of wins, because margins are ignored. With few items, such ties are frequent.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "b>c>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="copeland"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    return votes.by_score(np.sign(votes.margin).sum(axis=2))


@voting_rule
def maximin(votes: Ballots) -> Ranked:
    """Sort the items by min_b P(a, b), their weight in the worst comparison (Simpson 1969, Kramer 1977).

        score(a) = min over b of P(a, b)

    The rule works if the best item should not clearly lose any comparison. It fails below the top, because only the
    strongest opponent of each item matters.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "b>a>c"), ("eve", 1, "a>c>b")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="maximin"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    myself = np.eye(votes.n_items, dtype=np.bool_)
    return votes.by_score(np.where(myself, 1.0, votes.before).min(axis=2))


@voting_rule
def schulze(votes: Ballots) -> Ranked:
    """Sort the items by the number of others that they beat along chains of majorities (Schulze 2011).

    The strength of a chain is its weakest majority. Item a beats b if its strongest chain to b is stronger than the
    strongest chain back. This relation is transitive, so the number of beaten items is consistent with it.

        strength(a, b) = max over chains a > ... > b of the smallest majority in the chain

    The rule works if majorities have cycles, and agrees with them if they have none. It fails if the rule must be easy
    to explain, and with few answers, because many strengths are equal.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "b>c>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="schulze"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    strength = np.maximum(votes.margin, 0.0)
    for middle in range(votes.n_items):
        through = np.minimum(strength[:, :, middle, None], strength[:, None, middle, :])
        np.maximum(strength, through, out=strength)
    beats = strength - strength.transpose(0, 2, 1) > TOLERANCE
    return votes.by_score(beats.sum(axis=2).astype(np.float64))


@voting_rule
def bucklin(votes: Ballots) -> Ranked:
    """Sort the items by the smallest number of top positions that more than half of the weight assigns to them.

    For equal numbers of positions, more weight is better.

        score(a) = least r with w(a is among the first r) > 1/2

    The rule works if most workers agree on a few items at the top. It fails to distinguish good items from average ones
    if favourites differ, because all scores are then large.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "b>a>c"), ("eve", 1, "c>b>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="bucklin"), method="UA").truth["label"].tolist()
    [['b', 'a', 'c']]
    """
    named = np.stack([votes.weight_at(places).cumsum(axis=1) for places in votes.position], axis=1)
    depth = np.argmax(named > 0.5 + TOLERANCE, axis=2)
    weight = np.take_along_axis(named, depth[:, :, None], axis=2)[:, :, 0]
    return votes.by_score(weight - depth)  # weight is between 1/2 and 1


def modal(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the answer with the largest total weight (Caragiannis, Procaccia and Shah 2014).

    The rule needs many answers, because few answers may all differ.

        label = the ranking r with the largest sum_i w_i [x_i = r]

    The rule works with hundreds of answers on a few items each, if the true ranking is the most frequent one. It fails
    with few answers.

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


@voting_rule
def stv(votes: Ballots) -> Ranked:
    """Repeatedly eliminate the item with the smallest weight of first positions; the last one remaining is the best.

    Among items with equally small weight, one is chosen at random (single transferable vote; Hare 1859).

        next eliminated = the a with the least w(a is first among the remaining items)

    The rule works if workers know their first choices well, and one item is to be chosen. It fails to be monotone: more
    first positions may harm an item.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>c>b"), ("eve", 1, "b>c>a"), ("joe", 1, "c>b>a"), ("kim", 1, "c>b>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="stv"), method="UA").truth["label"].tolist()
    [['c', 'a', 'b']]
    """
    everyone = np.arange(votes.n_tasks)
    priority = votes.priority(everyone)
    order = np.zeros((votes.n_tasks, votes.n_items), np.intp)
    out = np.zeros(order.shape, np.bool_)
    drawn = np.zeros(votes.n_tasks, np.bool_)
    for place in range(votes.n_items - 1, -1, -1):
        gone = votes.part.block.to_answers(out).T
        first = np.where(gone, votes.n_items, votes.position).argmin(axis=0)
        score = np.where(out, np.inf, votes.weight_at(first))
        least = score <= score.min(axis=1, keepdims=True) + TOLERANCE
        drawn |= least.sum(axis=1) > 1
        loser = np.lexsort((priority, least), axis=-1)[:, -1]
        order[:, place] = loser
        out[everyone, loser] = True
    return Ranked(order, drawn)


@voting_rule
def ranked_pairs(votes: Ballots) -> Ranked:
    """Lock majorities in decreasing order unless they contradict locked ones (Tideman 1987).

    Majorities of equal size are locked in random order. Two items with equal weight are ordered at random unless other
    items determine their order.

        locked = the majorities a > b in decreasing order, unless a chain b > ... > a was locked before

    The rule works if majorities have cycles: the weakest majority of a cycle is dropped. It fails for hundreds of
    items, because it is slow.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "b>c>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="ranked pairs"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    check_time(votes.n_items, most=MAX_ORDERED_ITEMS, rule="ranked pairs")
    everyone = np.arange(votes.n_tasks)
    above = np.where(np.eye(votes.n_items, dtype=np.bool_), -1, _NEVER)  # majority size that ranks one above the other
    above = np.tile(above.astype(np.int32), (votes.n_tasks, 1, 1))
    drawn = np.zeros(votes.n_tasks, np.bool_)
    for winner, loser, even, level in zip(*_sort_majorities(votes), strict=True):
        against, implied = above[everyone, loser, winner], above[everyone, winner, loser] < _NEVER
        drawn |= against == level  # locked by a majority of equal size
        for task in np.flatnonzero((against == _NEVER) & ~implied).tolist():
            drawn[task] |= even[task]
            tops = np.flatnonzero(above[task, :, winner[task]] < _NEVER)
            corner = np.ix_([task], tops, np.flatnonzero(above[task, loser[task]] < _NEVER))
            above[corner] = np.minimum(above[corner], level[task])
    return Ranked(np.argsort(-(above < _NEVER).sum(axis=2), axis=1, kind="stable"), drawn)


def _sort_majorities(votes: Ballots) -> tuple[Array, ...]:
    """Return winner, loser, whether they are equal, and the size level, with one row per pair of items.

    Pairs are sorted by decreasing size; random priorities of winner and loser break ties.
    """
    a, b = np.triu_indices(votes.n_items, 1)
    priority = votes.priority(np.arange(votes.n_tasks))
    margin = votes.margin[:, a, b]
    forth = np.where(margin == 0, priority[:, a] < priority[:, b], margin > 0)
    winner, loser, size = np.where(forth, a, b), np.where(forth, b, a), np.abs(margin)
    largest_first = np.argsort(-size, axis=1, kind="stable")
    step = -np.diff(np.take_along_axis(size, largest_first, axis=1), axis=1) > TOLERANCE
    level = np.zeros(size.shape, np.int32)
    np.put_along_axis(level, largest_first[:, 1:], step.cumsum(axis=1), axis=1)
    keys = (np.take_along_axis(priority, loser, axis=1), np.take_along_axis(priority, winner, axis=1), level)
    order = np.lexsort(keys, axis=-1)
    columns = winner, loser, size <= TOLERANCE, level
    return tuple(np.take_along_axis(values, order, axis=1).T for values in columns)


_DIGITS = 6  # digits of scores that separate items, limited by the tolerance of the iteration


@voting_rule
def bradley_terry(votes: Ballots) -> Ranked:
    """Sort the items by their maximum-likelihood strengths (Bradley and Terry 1952).

        P(a beats b) = p_a / (p_a + p_b) = 1 / (1 + exp(s_b - s_a)),        s = log p

    Let n_ab be the weighted number of times that a was preferred to b, with half a time for a tie. The scores s
    maximise the concave function sum over a, b of n_ab log P(a beats b). Newton's method runs until no score changes by
    more than 1e-9. Both items of each compared pair get a prior of 0.1 wins, so that strengths are finite. Scores of
    items connected by comparisons have mean 0. Standard errors follow from the information matrix, and ignore
    correlations between workers' errors.

    The rule works for comparisons of many items with few answers per pair. It fails if preferences have cycles, and for
    items that comparisons do not connect, even indirectly: their scores have no common zero.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b"), ("bob", 1, "a>b"), ("eve", 1, "b>c"), ("joe", 1, "b>a")]
    >>> result = allalike.discover(rows, domain=allalike.Ranking(rule="bradley terry"), method="UA")
    >>> result.objects[["item", "score", "standard_error"]].round(2).values.tolist()
    [['a', 1.23, 1.35], ['b', 0.58, 1.17], ['c', -1.81, 2.24]]
    """
    score, error = fit_strengths(votes.counts)
    ranked = votes.by_score(np.round(score, _DIGITS))
    columns = {"scores": score, "standard_errors": error}
    return ranked._replace(more={name: np.take_along_axis(v, ranked.order, axis=1) for name, v in columns.items()})
