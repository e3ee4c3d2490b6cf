"""Intervals: between which limits a worker's fault lies, in 95 of 100 cases.

A worker's estimated fault f^ scatters around her fault f for three reasons: her own answers are few, those of her peers
err too, and so does what the crowd is compared with. None of it is pulled to the crowd: limits that are shrunk cover
what they should only where all workers come from the population that was assumed.

**Shares** (classes, rankings). With n effective answers, her own part has the variance k f (1 - f) / n, where k is 1
for classes, whose answers are right or wrong, and smaller for rankings, each of which has many pairs. With the variance
B of an answer that comes from peers and V of the crowd, the limits are those f that f^ does not refute,

    (f - f^)^2 <= z^2 [ (k f (1 - f) + B) / n + V ],

a quadratic equation (Wilson 1927, where B = V = 0 and k = 1). So a worker without an error in five answers has not the
fault 0 for sure. Chance may bring f^ below 0 or above 1; if then no share fits, it is taken for 0 or 1.

**Squares** (numbers). Her mean squared distance to others p estimates f + mu, with mu the fault of the peers she met,
and has about the distribution of (f + mu) chi^2(nu) / nu (Satterthwaite 1946), with nu such that the variance is right:

    2 / nu = k h(r) / n + V / (f + mu)^2,    h = 2 r^2 + (4 r (1 - r) + 2 (1 - r)^2) / J,    r = f / (f + mu),

for J peers an answer; k is 1 for Gaussian errors and larger for heavy tails. Where p is below mu, it is taken for mu,
because no fault would fit: a good worker who was lucky is not known to be without fault. A limit is the f at which p is
a quantile, with the nu of this f: the fixed point of f = p nu / chi^2_q(nu) - mu.

Both fail where errors are shared: copies, or an attractive wrong answer, are not seen in how far answers are apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats

__all__ = [
    "NORMAL_QUANTILE",
    "TAIL",
    "find_share_limits",
    "find_square_limits",
    "find_wilson_limits",
    "relative_variance",
]

TAIL = 0.025  # how probably a limit is too high, and as probably the other too low
NORMAL_QUANTILE = 1.959963984540054
_ROUNDS = 12  # each of which halves what is missing
_ROUNDING = 1e-9
_LEAST_FREEDOM = 0.5  # degrees below which quantiles say nothing


def find_share_limits(
    fault: Floats, answers: Floats, *, scale: Floats, extra: Floats, common: Floats
) -> tuple[Floats, Floats]:
    """Return the limits of faults that are shares.

    Parameters
    ----------
    fault
        The estimates.
    answers
        How many answers they are worth.
    scale
        The variance of an answer as a multiple of f (1 - f).
    extra
        The variance of an answer that does not depend on the fault.
    common
        The variance of the estimate that no number of answers reduces.

    >>> low, high = find_share_limits(np.array([0.0, 0.2]), np.full(2, 10.0), scale=1.0, extra=0.0, common=0.0)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.057]), array([0.278, 0.51 ]))
    """
    square = NORMAL_QUANTILE**2
    own, rest = scale * square / answers, square * (extra / answers + common)
    low, high = _solve_quadratic(fault, own, rest)
    none_fits = np.isnan(low) | (high < 0) | (low > 1)
    if none_fits.any():
        inside = _solve_quadratic(np.clip(fault, 0.0, 1.0), own, rest)
        low, high = np.where(none_fits, inside, (low, high))
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def find_wilson_limits(share: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """Return the limits of shares of so many answers (Wilson 1927).

    >>> low, high = find_wilson_limits(np.array([0.0, 0.2]), np.full(2, 10.0))
    >>> low.round(3), high.round(3)
    (array([0.   , 0.057]), array([0.278, 0.51 ]))
    """
    nothing = np.zeros(len(share))
    return find_share_limits(share, answers, scale=nothing + 1, extra=nothing, common=nothing)


def _solve_quadratic(fault: Floats, own: Floats, rest: Floats) -> tuple[Floats, Floats]:
    """Return between which f the square of f - f^ is at most own f (1 - f) + rest; NaN if there is none."""
    middle = (fault + own / 2) / (1 + own)
    square = middle**2 - (fault**2 - rest) / (1 + own)
    width = np.sqrt(np.where(square < 0, np.nan, square))
    return middle - width, middle + width


def find_square_limits(
    distance: Floats, answers: Floats, *, peer_fault: Floats, peers: Floats, scale: Floats, common: Floats
) -> tuple[Floats, Floats]:
    """Return the limits of faults that are squares.

    Parameters
    ----------
    distance
        The mean squared distances to the peers.
    answers
        How many answers they are worth.
    peer_fault
        The mean fault of the peers that were met.
    peers
        How many there are, an answer.
    scale
        The variance of an answer as a multiple of that of Gaussian errors.
    common
        The variance of the estimate that no number of answers reduces.

    >>> low, high = find_square_limits(np.array([2.0]), np.array([10.0]), peer_fault=np.array([1.0]),
    ...                                peers=np.array([5.0]), scale=np.ones(1), common=np.zeros(1))
    >>> low.round(2), high.round(2)
    (array([0.35]), array([3.95]))
    """
    from scipy.special import chdtri

    limits = []
    distance = np.maximum(distance, peer_fault)  # below, no fault would fit
    for above in (TAIL, 1 - TAIL):
        limit = distance - peer_fault
        for _ in range(_ROUNDS):
            expected = limit + peer_fault
            share = np.divide(limit, expected, out=np.zeros_like(limit), where=expected > 0)
            noise = np.divide(common, expected**2, out=np.zeros_like(limit), where=expected > 0)
            variance = scale * relative_variance(share, peers) / answers + noise
            freedom = np.maximum(2 / np.maximum(variance, 1e-12), _LEAST_FREEDOM)
            found = np.maximum(distance * freedom / chdtri(freedom, above) - peer_fault, 0.0)
            limit = (limit + found) / 2
        limits.append(np.where(found <= _ROUNDING * distance, 0.0, found))
    return limits[0], limits[1]


def relative_variance(share: Floats, peers: Floats) -> Floats:
    """Return the variance of an answer's mean squared distance to its peers, if its own mean is 1.

    >>> relative_variance(np.array([1.0, 0.0]), np.array([4.0, 4.0]))
    array([2. , 0.5])
    """
    variance: Floats = 2 * share**2 + (4 * share * (1 - share) + 2 * (1 - share) ** 2) / peers
    return variance
