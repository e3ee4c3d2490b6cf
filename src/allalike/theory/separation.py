"""Separation: when the disparity of a bad worker is sure to be greater than that of a good one (squared distances)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.theory.arguments import as_number
from allalike.theory.biases import as_bias, bias_size, inner

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["hammer_spammer_conditions", "hammer_spammer_gap", "separates"]


def separates(good: float, bad: float, mean_fault: float, *, mean_bias: npt.ArrayLike | None = None) -> bool:
    """Tell whether workers with these faults are ordered rightly in every crowd: sqrt(bad) > sqrt(good) + 2 |b_T|.

    The size of the mean bias |b_T| is at most sqrt(mu), which is used where it is not given. So a fault above 9 mu is
    told from one below mu. If the condition fails, there is a crowd with this mean fault, and this mean bias, that
    does not put the bad worker behind the good one. Without mean bias any two faults are told apart.

    Parameters
    ----------
    good, bad
        The faults of two workers.
    mean_fault
        The mean fault of the others.
    mean_bias
        The mean bias of the others, or its size; by default nothing is known about it.

    >>> separates(0.99, 9.01, 1.0), separates(1.0, 9.0, 1.0)
    (True, False)
    >>> separates(1.0, 2.0, 1.0, mean_bias=0)
    True
    """
    good, bad = as_number(good, "good"), as_number(bad, "bad")
    shared = bias_size(mean_bias, as_number(mean_fault, "mean_fault"))
    return bool(np.sqrt(bad) > np.sqrt(good) + 2 * shared)


def hammer_spammer_gap(
    share: float,
    *,
    hammer_fault: float,
    spammer_fault: float,
    hammer_bias: npt.ArrayLike = 0.0,
    spammer_bias: npt.ArrayLike = 0.0,
) -> float:
    """Return by how much the expected disparity of spammers exceeds that of hammers.

    With alpha the share of spammers, and v = f - |b|^2 the variance, it is v_P - v_H + (1 - 2 alpha) |b_P - b_H|^2:
    spammers stand out if they are noisier, and, while they are fewer than half, if they lean another way. It is exact
    where everyone's others are spammers with probability alpha, and `hammer_spammer_conditions` follow from it.

    Parameters
    ----------
    share
        The share of spammers.
    hammer_fault, spammer_fault
        The fault of the good workers, and that of the bad ones, which is not smaller.
    hammer_bias, spammer_bias
        The bias of each: one number, or one for each task.

    >>> round(hammer_spammer_gap(0.7, hammer_fault=1, spammer_fault=1.1, hammer_bias=-1, spammer_bias=1), 9)
    -1.5
    """
    share, hammer, spammer = _crowd(share, hammer_fault, spammer_fault)
    b_h, b_p = as_bias(hammer_bias, hammer, "hammer_bias"), as_bias(spammer_bias, spammer, "spammer_bias")
    size_h, size_p, product = float(inner(b_h, b_h)), float(inner(b_p, b_p)), float(inner(b_h, b_p))
    noise = (spammer - size_p) - (hammer - size_h)
    return noise + (1 - 2 * share) * (size_p + size_h - 2 * product)


def hammer_spammer_conditions(
    share: float,
    *,
    hammer_fault: float,
    spammer_fault: float,
    hammer_bias: npt.ArrayLike = 0.0,
    spammer_bias: npt.ArrayLike = 0.0,
) -> tuple[str, ...]:
    """Name the conditions that hold, each of which makes spammers stand out whatever the directions of the biases.

    (a) b_H = 0 and 2 alpha |b_P|^2 < f_P - f_H, which is also necessary where b_H = 0; (b) f_H = 0 < f_P and
    alpha < 1/2; (c) alpha <= 1/2 and f_P - f_H > |b_P|^2 - |b_H|^2; (d) alpha <= 1/2, |b_P| <= |b_H| and f_P > f_H.
    In print (c) and (d) lack alpha <= 1/2, and are false without it, also for biases at right angles. If none holds,
    `hammer_spammer_gap` can tell, which needs the directions.

    Parameters
    ----------
    share
        The share of spammers, alpha.
    hammer_fault, spammer_fault
        The fault of the good workers, and that of the bad ones, which is not smaller.
    hammer_bias, spammer_bias
        The bias of each, or its size.

    >>> hammer_spammer_conditions(0.3, hammer_fault=0, spammer_fault=1, spammer_bias=1)
    ('a', 'b')
    >>> hammer_spammer_conditions(0.7, hammer_fault=1, spammer_fault=1.1, hammer_bias=-1, spammer_bias=1)
    ()
    """
    share, hammer, spammer = _crowd(share, hammer_fault, spammer_fault)
    b_h, b_p = as_bias(hammer_bias, hammer, "hammer_bias"), as_bias(spammer_bias, spammer, "spammer_bias")
    size_h, size_p = float(inner(b_h, b_h)), float(inner(b_p, b_p))
    holds = {
        "a": size_h == 0 and 2 * share * size_p < spammer - hammer,
        "b": hammer == 0 < spammer and share < 0.5,
        "c": share <= 0.5 and spammer - hammer > size_p - size_h,
        "d": share <= 0.5 and size_p <= size_h and spammer > hammer,
    }
    return tuple(name for name, held in holds.items() if held)


def _crowd(share: float, hammer: float, spammer: float) -> tuple[float, float, float]:
    share, hammer = as_number(share, "share", most=1), as_number(hammer, "hammer_fault")
    return share, hammer, as_number(spammer, "spammer_fault", least=hammer)
