"""Pools of forecasts: the mean of log odds, and the median of each option.

A forecast is a probability for each option of a task. The arithmetic mean of forecasts is underconfident: if two
forecasters with different information both report 0.8, the combined information supports more than 0.8. Means of log
odds are less underconfident (Satopaa et al. 2014). For two options, with l(p) = log(p / (1 - p)),

    l(z) = sum_i w_i l(p_i) / sum_i w_i,

and for more options z is the weighted geometric mean of the p_i, scaled to a sum of 1, because log p equals the log
odds up to a constant shared by all options.

Log odds of 0 and 1 are infinite, so a single such forecast would determine the result. Probabilities are therefore
clipped to 0.01 and 0.99, or to 0.1 / k and 1 minus that for k > 10 possible options. If no answer with positive weight
exceeds the limit, the largest probability becomes the limit, so that identical forecasts remain unchanged.

Forecasts are treated as unbiased. If all forecasters share information and are overconfident, so is the pool.
"""

from dataclasses import replace

import numpy as np

from allalike._core.blocks.block import Block, Floats, Ties
from allalike.rules.base import Decision, unknown
from allalike.rules.mean import median, weighted_mean

_CLIP = 0.01
_CLIP_SHARE = 0.1  # of the uniform probability


def log_odds(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Return the probabilities with the weighted mean log odds.

    The rule works if forecasters have different information. It fails if all share the same information and are
    overconfident, because the pool is overconfident as well.

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
    """Return the weighted median of each option's probabilities, scaled to a sum of 1; the mean if all are 0.

        z_o = median_i p_io / sum over options of the same

    The rule works if some forecasts are outliers. It fails to correct underconfidence, and with many options the
    medians sum to much less than 1 before scaling.

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
    """Multiply log odds by a number; if it is above 1, forecasts move towards 0 and 1.

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
