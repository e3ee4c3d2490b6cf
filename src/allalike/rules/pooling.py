"""Pools of forecasts: the mean of log odds, and the median of each option.

A forecast gives each option of a task a probability. The plain mean of forecasts is too timid: where two know different
things, and each says 0.8, they together know more than either, and less sure forecasters draw the mean to the middle.
Means of log odds have less of it (Satopaa et al. 2014). For two options, with l(p) = log(p / (1 - p)),

    l(z) = sum_i w_i l(p_i) / sum_i w_i,

and for any number of them z is the weighted geometric mean of the p_i, scaled to a sum of 1: log p is the log odds but
for a constant that all options share.

Odds of 0 and 1 are infinite, and whoever gives them would decide alone. So probabilities are clipped to 0.01 and 0.99
(to 0.1 / k and 1 less that where k > 10 options have a chance at all). If no answer with weight exceeds the limit, the
largest probability is the limit, so that forecasts which are all the same stay as they are.

The pool takes forecasts as if all were unbiased. If all know the same, and are too sure of it, it is too sure as well.
"""

from dataclasses import replace

import numpy as np

from allalike._core.blocks.block import Block, Floats, Ties
from allalike.rules.base import Decision, unknown
from allalike.rules.mean import median, weighted_mean

_CLIP = 0.01
_CLIP_SHARE = 0.1  # of what each option has if all have the same


def log_odds(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the probabilities whose log odds are the weighted mean.

    It works where forecasters know different things. It fails where all know the same and are too sure of it: so is
    the pool.

    >>> import allalike
    >>> rows = [("ada", 1, 0.5), ("bob", 1, 0.9)]
    >>> found = allalike.discover(rows, domain=allalike.Probability(rule="log odds"), method="UA").truth
    >>> found["label"].round(2).tolist()
    [0.75]
    """
    weight, total = block.answer_weights(weights)
    counted = (weight > 0)[:, None]
    top = np.maximum.reduceat(np.where(counted, block.label, 0.0), block.starts)
    bottom = np.minimum.reduceat(np.where(counted, block.label, 1.0), block.starts)
    least = np.minimum(_CLIP, _CLIP_SHARE / np.count_nonzero(top, axis=1))[:, None]
    low, high = np.minimum(least, top), np.maximum(1 - least, bottom)
    chances = np.clip(block.label, block.to_answers(low), block.to_answers(high))
    logs = np.log(np.where(chances > 0, chances, 1.0))
    mean = weighted_mean(replace(block, label=logs), weight, total)
    return _decision(block, np.where(top > 0, np.exp(mean), 0.0))


def option_median(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the weighted median of each option's probabilities, scaled to a sum of 1; the mean where all are 0.

        z_o = median_i p_io / sum over options of the same

    It works where some forecasts are wild. It fails to be bolder than the forecasters are, and with many options
    medians hardly add up before they are scaled.

    >>> import allalike
    >>> rows = [("ada", 1, 0.5), ("bob", 1, 0.9), ("eve", 1, 0.8)]
    >>> found = allalike.discover(rows, domain=allalike.Probability(rule="median"), method="UA").truth
    >>> found["label"].round(2).tolist()
    [0.8]
    """
    medians = [median(replace(block, label=column), weights, faults, ties).label for column in block.label.T]
    label = np.stack(medians, axis=1)
    weight, total = block.answer_weights(weights)
    mean = weighted_mean(block, weight, total)
    return _decision(block, np.where(label.sum(axis=1, keepdims=True) > 0, label, mean))


def sharpened(chances: Floats, power: float) -> Floats:
    """Multiply log odds by a number: above 1, forecasts are drawn to 0 and 1.

    >>> sharpened(np.array([[0.25, 0.75]]), 2.0)
    array([[0.1, 0.9]])
    """
    return _scaled((chances / chances.max(axis=1, keepdims=True)) ** power)


def _decision(block: Block, chances: Floats) -> Decision:
    nothing = unknown(block.n_tasks)
    return Decision(_scaled(chances), nothing, nothing, np.zeros(block.n_tasks, np.bool_))


def _scaled(chances: Floats) -> Floats:
    scaled: Floats = chances / chances.sum(axis=1, keepdims=True)
    return scaled
