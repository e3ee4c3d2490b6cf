"""Voting rules: those that give each item a score and sort by it, the modal ranking, STV, ranked pairs, Bradley-Terry.

Shares of weight are written w(...), and P(a, b) is the share that puts item a before item b. With weights, each rule is
its textbook self with w_i voters instead of one. Scores that are equal up to rounding are drawn, item by item. STV
eliminates items, ranked pairs locks majorities in; both break a tie at the step where it arises, by the priorities of
the items in it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import TOLERANCE, group_labels
from allalike._core.blocks.pairs import AnswerHashes
from allalike._core.limits import MAX_ORDERED_ITEMS
from allalike.domains.rankings.ballots import Ballots, Ranked, check_time, decide, report_search, voting_rule
from allalike.domains.rankings.codes import unpack
from allalike.rules.vote import plurality as most_given

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike.rules.base import Decision

_PAIRS_AT_ONCE = 1 << 10  # whose progress is reported once
_NEVER = np.iinfo(np.int32).max


@voting_rule
def borda(votes: Ballots) -> Ranked:
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
    return votes.by_score(votes.wins)


@voting_rule
def plurality(votes: Ballots) -> Ranked:
    """Sort the items by the weight that puts them first.

    Items without first places are equal, and their order is drawn.

        score(a) = w(a is first)

    It works where only the best item is asked for. It fails to use what is said about all others, and two good
    items that are alike take each other's first places.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b"), ("bob", 1, "a>b"), ("eve", 1, "b>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="plurality"), method="UA").truth["label"].tolist()
    [['a', 'b']]
    """
    return votes.by_score(votes.weight_of(votes.position == 0))


@voting_rule
def veto(votes: Ballots) -> Ranked:
    """Sort the items by the weight that puts them last, the least first.

    Items without last places are equal, and their order is drawn.

        score(a) = -w(a is last)

    It works where only the worst item matters. It fails to order the others: those without last places are drawn.

    >>> import allalike
    >>> rows = [("ada", 1, "b>a"), ("bob", 1, "a>b"), ("eve", 1, "a>b")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="veto"), method="UA").truth["label"].tolist()
    [['a', 'b']]
    """
    return votes.by_score(-votes.weight_of(votes.position == votes.n_items - 1))


@voting_rule
def copeland(votes: Ballots) -> Ranked:
    """Sort the items by the number of others that they beat by majority; a draw counts half (Copeland 1951).

        score(a) = number of b with P(a, b) > 1/2, and half of those with P(a, b) = 1/2

    It works where majorities do not go in circles: an item that beats all others is first. It fails to tell items
    apart that beat as many others, for by how much does not count; with few items that is often.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "b>c>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="copeland"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    return votes.by_score(np.sign(votes.margin).sum(axis=2))


@voting_rule
def maximin(votes: Ballots) -> Ranked:
    """Sort the items by min_b P(a, b), the weight behind them in their worst comparison (Simpson 1969, Kramer 1977).

        score(a) = min over b of P(a, b)

    It works where the best item is wanted that no other beats clearly. It fails below the top: how an item does
    against all but its strongest rival does not count.

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
    strength = np.maximum(votes.margin, 0.0)
    for middle in range(votes.n_items):
        through = np.minimum(strength[:, :, middle, None], strength[:, None, middle, :])
        np.maximum(strength, through, out=strength)
    beats = strength - strength.transpose(0, 2, 1) > TOLERANCE
    return votes.by_score(beats.sum(axis=2).astype(np.float64))


@voting_rule
def bucklin(votes: Ballots) -> Ranked:
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
    named = np.stack([votes.weight_at(places).cumsum(axis=1) for places in votes.position], axis=1)
    depth = np.argmax(named > 0.5 + TOLERANCE, axis=2)
    weight = np.take_along_axis(named, depth[:, :, None], axis=2)[:, :, 0]
    return votes.by_score(weight - depth)  # the weight lies between 1/2 and 1


def modal(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the answer with the largest total weight (Caragiannis, Procaccia and Shah 2014).

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


@voting_rule
def stv(votes: Ballots) -> Ranked:
    """Strike out, again and again, the item that the least weight puts first; the last to be struck out is the best.

    Among items with equally little weight, one is drawn (single transferable vote; Hare 1859).

        struck out next = the a with the least w(a is first among those left)

    It works for choosing one item by people who know their first choices well. It fails to be monotone: more first
    places may harm an item.

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
    """Go through the majorities, the largest first, and keep each that contradicts none kept before (Tideman 1987).

    Majorities of the same size are taken in a drawn order, and two items that share the weight evenly go in a drawn
    order if nothing else orders them.

        kept = the majorities a > b, the largest first, unless a chain b > ... > a was kept before

    It works where majorities go in circles: the weakest of a circle is dropped. It fails to be quick with hundreds
    of items.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "a>b>c"), ("eve", 1, "b>c>a")]
    >>> allalike.discover(rows, domain=allalike.Ranking(rule="ranked pairs"), method="UA").truth["label"].tolist()
    [['a', 'b', 'c']]
    """
    check_time(votes.n_items, most=MAX_ORDERED_ITEMS, rule="ranked pairs")
    everyone = np.arange(votes.n_tasks)
    above = np.where(np.eye(votes.n_items, dtype=np.bool_), -1, _NEVER)  # the size by which one is above another
    above = np.tile(above.astype(np.int32), (votes.n_tasks, 1, 1))
    drawn = np.zeros(votes.n_tasks, np.bool_)
    majorities = _sort_majorities(votes)
    n_pairs = len(majorities[0])
    for k, (winner, loser, even, level) in enumerate(zip(*majorities, strict=True)):
        if k % _PAIRS_AT_ONCE == 0:
            report_search("ranked pairs", votes.n_items, k, n_pairs)
        against, implied = above[everyone, loser, winner], above[everyone, winner, loser] < _NEVER
        drawn |= against == level  # by one of the same size
        for task in np.flatnonzero((against == _NEVER) & ~implied).tolist():
            drawn[task] |= even[task]
            tops = np.flatnonzero(above[task, :, winner[task]] < _NEVER)
            corner = np.ix_([task], tops, np.flatnonzero(above[task, loser[task]] < _NEVER))
            above[corner] = np.minimum(above[corner], level[task])
    return Ranked(np.argsort(-(above < _NEVER).sum(axis=2), axis=1, kind="stable"), drawn)


def _sort_majorities(votes: Ballots) -> tuple[Array, ...]:
    """Return winner, loser, whether they are even, and the number of its size, of each pair of items: a row per pair.

    The largest come first; among equal ones, the priorities of winner and loser decide.
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


RIDGE = 0.1  # wins for either item of each pair that was compared
_TOLERANCE = 1e-9
_MAX_ROUNDS, _MAX_HALVINGS = 100, 30
_MAX_LOGIT = 500.0  # beyond which exp overflows, and nothing changes
_ROUNDING = 1e-10  # of the log likelihood, below which it has not changed
_DIGITS = 6  # of scores that separate items, for the iteration stops before the last ones are right


def bradley_terry(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by their strengths, under which the comparisons are most probable (Bradley and Terry 1952).

        P(a beats b) = p_a / (p_a + p_b) = 1 / (1 + exp(s_b - s_a)),        s = log p

    With n_ab the weighted number of times that a was preferred to b (a tie is half a time for either), the scores
    s maximise the concave function sum over a, b of n_ab log P(a beats b), by Newton's method, until no score moves by
    more than 1e-9. Either item of each pair that was compared is given a tenth of a win beforehand, so that no item is
    infinitely strong. The mean score of items that are connected by comparisons is 0. Standard errors come from the
    information in the comparisons, and ignore that errors of workers may be correlated.

    It works for comparisons of many items with few answers for each pair. It fails where preferences go in circles, and
    where some items were never compared with the others, not even through third ones: their scores have no common zero.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b"), ("bob", 1, "a>b"), ("eve", 1, "b>c"), ("joe", 1, "b>a")]
    >>> result = allalike.discover(rows, domain=allalike.Ranking(rule="bradley terry"), method="UA")
    >>> result.objects[["item", "score", "standard_error"]].round(2).values.tolist()
    [['a', 1.23, 1.35], ['b', 0.58, 1.17], ['c', -1.81, 2.24]]
    """
    strengths = np.empty(block.n_tasks, object)  # items, scores and standard errors of each task

    def find(votes: Ballots) -> Ranked:
        score, error = fit_strengths(votes.counts)
        for task, *columns in zip(votes.part.tasks.tolist(), votes.part.items, score, error, strict=True):
            strengths[task] = columns
        return votes.by_score(np.round(score, _DIGITS))

    decision = decide(block, weights, ties, find)
    ranked = unpack(decision.label)
    first = np.searchsorted(ranked.label, np.arange(block.n_tasks + 1))
    scores, errors = np.empty(block.n_tasks, object), np.empty(block.n_tasks, object)
    for task, (items, score, error) in enumerate(strengths):
        place = np.searchsorted(items, ranked.item[first[task] : first[task + 1]])
        scores[task], errors[task] = score[place], error[place]
    return replace(decision, more={"scores": scores, "standard_errors": errors})


def fit_strengths(counts: Floats, ridge: float = RIDGE) -> tuple[Floats, Floats]:
    """Return the scores of items and their standard errors, per table of how often a (row) was preferred to b (column).

    The pseudo-inverse of the information is the covariance of the scores; an item without comparisons has no error.

    >>> counts = np.array([[[0.0, 2.0], [1.0, 0.0]]])
    >>> score = fit_strengths(counts, ridge=0.0)[0][0]
    >>> round(float(np.exp(score[0] - score[1])), 9)
    2.0
    """
    wins = counts + ridge * (counts + counts.transpose(0, 2, 1) > 0) * (1.0 - np.eye(counts.shape[1]))
    games = wins + wins.transpose(0, 2, 1)
    means, score = _mean_of_connected(games), np.zeros(wins.shape[:2])
    chance, surprise = _find_odds(wins, score)
    for _ in range(_MAX_ROUNDS):  # steps of Newton's method
        gradient = wins.sum(axis=2) - np.einsum("tab,tab->ta", games, chance)
        laplacian, size = _find_information(games, chance)
        step: Floats = np.linalg.solve(laplacian / size + means, gradient[:, :, None] / size)[:, :, 0]
        for _ in range(_MAX_HALVINGS):  # until it makes the comparisons more probable
            chance, new = _find_odds(wins, score + step)
            worse = new > surprise * (1 + _ROUNDING)
            if not worse.any():
                break
            step[worse] /= 2
        score, surprise = score + step, new
        if np.abs(step).max(initial=0.0) <= _TOLERANCE:
            break
    laplacian, size = _find_information(games, chance)
    inverse = (np.linalg.inv(laplacian / size + means) - means) / size
    variance = np.diagonal(inverse, axis1=1, axis2=2)
    alone = np.diagonal(means, axis1=1, axis2=2) == 1
    error = np.where(alone, np.nan, np.sqrt(np.maximum(variance, 0.0)))
    return np.asarray(score - np.einsum("tab,tb->ta", means, score)), error


def _find_odds(wins: Floats, score: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities of wins under some scores, and the negative log likelihood of the comparisons."""
    gap = np.clip(score[:, None, :] - score[:, :, None], -_MAX_LOGIT, _MAX_LOGIT)
    chance = np.asarray(1 / (1 + np.exp(gap, out=gap)))
    return chance, np.asarray(-np.einsum("tab,tab->t", wins, np.log(chance)))


def _find_information(games: Floats, chance: Floats) -> tuple[Floats, Floats]:
    """Return the matrices of second derivatives, which are Laplacians, and the mean of each one's diagonal."""
    laplacian = games * chance * (chance - 1)
    items = np.arange(laplacian.shape[1])
    laplacian[:, items, items] = 0.0
    laplacian[:, items, items] = -laplacian.sum(axis=2)
    mean = np.trace(laplacian, axis1=1, axis2=2) / len(items)
    return laplacian, np.asarray(np.where(mean > 0, mean, 1.0)[:, None, None])


def _mean_of_connected(games: Floats) -> npt.NDArray[np.float64]:
    """Return the matrices that take the mean over connected items.

    Comparisons do not determine that mean. Added to the information, they make it invertible.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_tasks, n_items = games.shape[:2]
    task, a, b = np.nonzero(games)
    nodes = task * n_items + a, task * n_items + b
    graph = coo_array((np.ones(len(task), np.int8), nodes), shape=(n_tasks * n_items,) * 2)
    part = connected_components(graph, connection="strong")[1].reshape(n_tasks, n_items)  # it has both directions
    together: Array = part[:, :, None] == part[:, None, :]
    return np.asarray(together / together.sum(axis=2, keepdims=True))
