"""Theory of disparities: relation to faults, separation of good and bad workers, and required sample sizes."""

from math import floor, inf, pi, sqrt
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Floats
from allalike._core.options import check_number
from allalike.errors import OptionError

__all__ = [
    "aitken_error_bound",
    "cloned_disparity",
    "cosine_to_squared",
    "deviation_chance",
    "disparity_bounds",
    "distance_to_mean",
    "expected_agreement",
    "expected_disparity",
    "expected_disparity_one_coin",
    "gaussian_moments",
    "hammer_spammer_conditions",
    "hammer_spammer_gap",
    "inverse_bounds",
    "mallows_swaps",
    "metric_disparity_bounds",
    "metric_fault_bounds",
    "sample_size",
    "separates",
    "weight_shift",
]


# Arguments of formulas: numbers or arrays, within a range.

N = TypeVar("N", float, npt.NDArray[np.float64])


def _as_floats(values: Any, name: str) -> Floats:
    """Return finite numbers as an array."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        array = np.empty(0)
    if array.dtype.kind not in "iuf" or not array.size or not np.isfinite(array).all():
        raise OptionError(f"{name} is {values!r}. It must be a finite number, or an array of them.")
    return array.astype(np.float64)


def _as_numbers(values: N, name: str, *, least: float = 0, most: float = inf) -> N:
    """Return a number as a float and a list as an array, after checking their range."""
    array = _as_floats(values, name)
    for value in (array.min().item(), array.max().item()):
        if not least <= value <= most:
            span = f"{least} or more" if most == inf else f"from {least} to {most}"
            raise OptionError(f"{name} is {value!r}. It must be a number {span}.")
    checked: N = _plain(array)
    return checked


def _as_number(value: float, name: str, *, least: float = 0, most: float = inf) -> float:
    """Return one number, after checking its range."""
    if _as_floats(value, name).ndim:
        raise OptionError(f"{name} is {value!r}. It must be one number.")
    return _as_numbers(value, name, least=least, most=most)


def _as_row(values: npt.ArrayLike, name: str) -> Floats:
    """Return nonnegative numbers as an array with one dimension."""
    row: Floats = np.atleast_1d(_as_numbers(_as_floats(values, name), name))
    if row.ndim > 1:
        raise OptionError(f"{name} has {row.ndim} dimensions. Give a plain list of numbers.")
    return row


def _plain(values: Any) -> Any:
    """Return an array without dimensions as a number."""
    return float(values) if np.ndim(values) == 0 else values


# Identities.


def cosine_to_squared(cosine: N) -> N:
    """Return 2 (1 - cos), the squared distance between two unit vectors.

    Workers in descending order of their mean cosine with the others are in ascending order of disparity.

    >>> cosine_to_squared(0.5)
    1.0
    """
    return 2 * (1 - _as_numbers(cosine, "cosine", least=-1, most=1))


def distance_to_mean(disparity: npt.ArrayLike) -> Floats:
    """Return (n-1)/n (pi_i - mubar), each worker's squared distance to the mean answer, with mubar half the mean of pi.

    It is exact for squared distances if every worker answered every task, and is the estimate of P-TD-AK with ridge 4.

    Parameters
    ----------
    disparity
        The disparities of all workers.

    >>> distance_to_mean([20, 10, 26])  # of the answers 0, 2, 6, whose mean is 8/3
    array([ 7.11111111,  0.44444444, 11.11111111])
    """
    row = _as_row(disparity, "disparity")
    distance: Floats = (len(row) - 1) / len(row) * (row - row.mean() / 2)
    return distance


def cloned_disparity(disparity: N, workers: int, copies: int) -> N:
    """Return (n-1) pi_i / (n-1+r), a worker's disparity after r copies of the worker join the crowd.

    Copies have distance 0 from each other, so copied workers look better, whatever the distance. Disparities detect bad
    workers with independent errors, but not bad workers who agree with each other.

    Parameters
    ----------
    disparity
        The disparity before.
    workers
        Number of workers n, including the copied one.
    copies
        Number of copies r.

    >>> cloned_disparity(3.0, workers=5, copies=8)
    1.0
    """
    check_number(workers, "workers", least=2, whole=True)
    check_number(copies, "copies", least=0, whole=True)
    return _as_numbers(disparity, "disparity") * ((workers - 1) / (workers - 1 + copies))


# Expected disparity of a worker with a given fault.
#
# Let b_i be the bias of worker i, the expected answer minus the truth on each task. With independent errors, the
# expected squared distance to worker j is f_i + f_j - 2 <b_i, b_j>, where <x, y> is the mean over tasks of x y. The
# mean over the other workers gives the Anna Karenina theorem (Meir et al. 2023). It also holds for answers 0 and 1, and
# therefore for yes-or-no tasks and for the pairs of rankings.


def expected_disparity(fault: N, mean_fault: float, *, bias: npt.ArrayLike = 0.0, mean_bias: npt.ArrayLike = 0.0) -> N:
    """Return f_i + mu - 2 <b_i, b_T>, the expected disparity for squared distances.

    With the fault and the bias of one other worker in place of the means, it is the expected distance between the two
    workers. It holds for any errors that are independent across workers, Gaussian or not. Without bias, only f_i + mu
    remains, so disparities and faults order workers equally.

    Parameters
    ----------
    fault
        A worker's fault (mean squared bias plus variance), or an array of faults.
    mean_fault
        The mean fault of the others.
    bias
        The worker's bias: one number, or one per task. For an array of faults, one row per fault.
    mean_bias
        The mean bias of the others, in the same form.

    >>> expected_disparity(2.0, 3.0)
    5.0
    >>> expected_disparity(2.0, 3.0, bias=[1, -1], mean_bias=[1, 0])
    4.0
    """
    fault, mean_fault = _as_numbers(fault, "fault"), _as_number(mean_fault, "mean_fault")
    own, theirs = _as_bias(bias, fault, "bias"), _as_bias(mean_bias, mean_fault, "mean_bias")
    expected: N = _plain(fault + mean_fault - 2 * _inner(own, theirs))
    return expected


def expected_disparity_one_coin(fault: N, mean_fault: float, *, classes: int = 2) -> N:
    """Return mu + (1 - c mu) f_i with c = k / (k-1), the expected disparity under one-coin noise.

    It grows with the fault if and only if mu < (k-1) / k, that is, if the others are on average better than random
    guessing. Otherwise, the best workers are the farthest from the others.

    >>> expected_disparity_one_coin(0.25, 0.5)
    0.5
    >>> expected_disparity_one_coin(0.1, 0.4, classes=4)
    0.4466...
    """
    check_number(classes, "classes", least=2, whole=True)
    fault, mean_fault = _as_numbers(fault, "fault", most=1), _as_number(mean_fault, "mean_fault", most=1)
    return mean_fault + (1 - classes / (classes - 1) * mean_fault) * fault


def expected_agreement(accuracy: N, mean_accuracy: float, *, classes: int = 2) -> N:
    """Return p_i p + (1 - p_i)(1 - p) / (k-1), the probability that two workers agree.

    With two classes this is the identity of Kurvers et al. (2019). It equals 1 minus the expected disparity.

    >>> expected_agreement(0.75, 0.5)
    0.5
    >>> 1 - expected_disparity_one_coin(0.25, 0.5)
    0.5
    """
    check_number(classes, "classes", least=2, whole=True)
    p, q = _as_numbers(accuracy, "accuracy", most=1), _as_number(mean_accuracy, "mean_accuracy", most=1)
    return p * q + (1 - p) * (1 - q) / (classes - 1)


def mallows_swaps(phi: float, items: int) -> Floats:
    """Return the probability that Mallows noise swaps each pair of items: (1, 2), (1, 3), ..., (2, 3), ...

    Items that are g places apart in the true ranking keep their order with probability h(g+1) - h(g), where
    h(x) = x / (1 - phi^x) (Mallows 1957). The implementation avoids the difference, and also works for phi = 1. A
    ranking is treated as an answer of 0 or 1 for each pair; the probability of a swap is its bias. The result is
    the ``bias`` of `expected_disparity` with Kendall's tau, and its mean is the fault.

    Parameters
    ----------
    phi
        Dispersion: 0 for the true ranking only, 1 for uniformly random rankings.
    items
        Number of items.

    >>> mallows_swaps(0.5, 3).round(4)
    array([0.3333, 0.2381, 0.3333])
    """
    phi = _as_number(phi, "phi", most=1)
    check_number(items, "items", least=2, whole=True)
    powers = phi ** np.arange(items)
    sums = powers.cumsum()
    swap = 1 - (powers * np.arange(1, items + 1)).cumsum()[:-1] / (sums[:-1] * sums[1:])
    first, second = np.triu_indices(items, 1)
    swaps: Floats = swap[second - first - 1]
    return swaps


# Bounds on disparities, given faults, for unknown error models.


def disparity_bounds(fault: N, mean_fault: float, *, mean_bias: npt.ArrayLike | None = None) -> tuple[N, N]:
    """Return f_i + mu -+ 2 sqrt(f_i) |b_T|, bounds on the expected disparity for squared distances.

    The size of the mean bias |b_T| is at most sqrt(mu), which is the default. Then the disparity of a worker with
    f_i = g mu is between (1 - sqrt(g))^2 mu and (1 + sqrt(g))^2 mu. Workers who always give the same wrong answer
    reach both bounds.

    Parameters
    ----------
    fault, mean_fault
        The worker's fault (or an array of faults), and the mean fault of the others.
    mean_bias
        The mean bias of the others, or its size (default: unknown).

    >>> disparity_bounds(4.0, 1.0)
    (1.0, 9.0)
    >>> disparity_bounds(4.0, 1.0, mean_bias=0)
    (5.0, 5.0)
    """
    fault, mean_fault = _as_numbers(fault, "fault"), _as_number(mean_fault, "mean_fault")
    around: N = fault + mean_fault
    margin: N = _plain(2 * np.sqrt(fault) * _bias_size(mean_bias, mean_fault))
    return around - margin, around + margin


def metric_disparity_bounds(fault: N, faults: npt.ArrayLike) -> tuple[N, N]:
    """Return E_t max(f_i, f_t) and f_i + mu, bounds on the expected disparity for metrics.

    The upper bound is the triangle inequality and always holds. The lower bound requires a distance given by a norm,
    and errors that are symmetric around 0. It fails, for example, for labels that are usually wrong.

    Parameters
    ----------
    fault
        A worker's fault, or an array of faults.
    faults
        The faults of the others.

    >>> metric_disparity_bounds(2.0, [1.0, 3.0])
    (2.5, 4.0)
    """
    others, fault = _as_row(faults, "faults"), _as_numbers(fault, "fault")
    low: N = _plain(np.maximum(np.expand_dims(fault, -1), others).mean(axis=-1))
    high: N = fault + float(others.mean())
    return low, high


def metric_fault_bounds(disparity: N) -> tuple[N, N]:
    """Return pi_i / 2 and pi_i, bounds on the fault of a worker who is not better than average.

    They hold whenever both bounds of `metric_disparity_bounds` hold. For workers who are better than average, only the
    upper bound holds.

    >>> metric_fault_bounds(3.0)
    (1.5, 3.0)
    """
    disparity = _as_numbers(disparity, "disparity")
    return disparity / 2, disparity


# Separation: conditions under which bad workers have larger disparities than good workers (squared distances).


def separates(good: float, bad: float, mean_fault: float, *, mean_bias: npt.ArrayLike | None = None) -> bool:
    """Return whether every crowd orders workers with these faults correctly: sqrt(bad) > sqrt(good) + 2 |b_T|.

    The size of the mean bias |b_T| is at most sqrt(mu), which is the default: faults above 9 mu are separated from
    faults below mu. If the condition fails, some crowd with this mean fault and mean bias does not rank the bad worker
    behind the good one. Without mean bias, any two faults are separated.

    Parameters
    ----------
    good, bad
        The faults of two workers.
    mean_fault
        The mean fault of the others.
    mean_bias
        The mean bias of the others, or its size (default: unknown).

    >>> separates(0.99, 9.01, 1.0), separates(1.0, 9.0, 1.0)
    (True, False)
    >>> separates(1.0, 2.0, 1.0, mean_bias=0)
    True
    """
    good, bad = _as_number(good, "good"), _as_number(bad, "bad")
    shared = _bias_size(mean_bias, _as_number(mean_fault, "mean_fault"))
    return bool(np.sqrt(bad) > np.sqrt(good) + 2 * shared)


def hammer_spammer_gap(
    share: float,
    *,
    hammer_fault: float,
    spammer_fault: float,
    hammer_bias: npt.ArrayLike = 0.0,
    spammer_bias: npt.ArrayLike = 0.0,
) -> float:
    """Return the expected disparity of spammers minus the expected disparity of hammers.

    If alpha is the share of spammers and v = f - |b|^2 the variance, it is v_P - v_H + (1 - 2 alpha) |b_P - b_H|^2.
    Spammers stand out if their variance is larger or, while they are a minority, if their bias differs. The formula is
    exact if each other worker is a spammer with probability alpha. The `hammer_spammer_conditions` follow from it.

    Parameters
    ----------
    share
        The share of spammers.
    hammer_fault, spammer_fault
        Faults of good and of bad workers; the second must not be smaller.
    hammer_bias, spammer_bias
        Bias of each group: one number, or one per task.

    >>> round(hammer_spammer_gap(0.7, hammer_fault=1, spammer_fault=1.1, hammer_bias=-1, spammer_bias=1), 9)
    -1.5
    """
    share, hammer, spammer = _crowd(share, hammer_fault, spammer_fault)
    b_h, b_p = _as_bias(hammer_bias, hammer, "hammer_bias"), _as_bias(spammer_bias, spammer, "spammer_bias")
    size_h, size_p, product = float(_inner(b_h, b_h)), float(_inner(b_p, b_p)), float(_inner(b_h, b_p))
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
    """Return the conditions that hold, each of which implies larger disparities of spammers for any bias directions.

    (a) b_H = 0 and 2 alpha |b_P|^2 < f_P - f_H, which is also necessary where b_H = 0; (b) f_H = 0 < f_P and
    alpha < 1/2; (c) alpha <= 1/2 and f_P - f_H > |b_P|^2 - |b_H|^2; (d) alpha <= 1/2, |b_P| <= |b_H| and f_P > f_H.
    As printed in the paper, (c) and (d) lack alpha <= 1/2, without which they are false, even for orthogonal biases. If
    no condition holds, use `hammer_spammer_gap`, which needs the directions.

    Parameters
    ----------
    share
        The share of spammers, alpha.
    hammer_fault, spammer_fault
        Faults of good and of bad workers; the second must not be smaller.
    hammer_bias, spammer_bias
        Bias of each group, or its size.

    >>> hammer_spammer_conditions(0.3, hammer_fault=0, spammer_fault=1, spammer_bias=1)
    ('a', 'b')
    >>> hammer_spammer_conditions(0.7, hammer_fault=1, spammer_fault=1.1, hammer_bias=-1, spammer_bias=1)
    ()
    """
    share, hammer, spammer = _crowd(share, hammer_fault, spammer_fault)
    b_h, b_p = _as_bias(hammer_bias, hammer, "hammer_bias"), _as_bias(spammer_bias, spammer, "spammer_bias")
    size_h, size_p = float(_inner(b_h, b_h)), float(_inner(b_p, b_p))
    holds = {
        "a": size_h == 0 and 2 * share * size_p < spammer - hammer,
        "b": hammer == 0 < spammer and share < 0.5,
        "c": share <= 0.5 and spammer - hammer > size_p - size_h,
        "d": share <= 0.5 and size_p <= size_h and spammer > hammer,
    }
    return tuple(name for name, held in holds.items() if held)


def _crowd(share: float, hammer: float, spammer: float) -> tuple[float, float, float]:
    share, hammer = _as_number(share, "share", most=1), _as_number(hammer, "hammer_fault")
    return share, hammer, _as_number(spammer, "spammer_fault", least=hammer)


# Concentration: numbers of workers and tasks for which disparities are close to their expected values.
#
# M_t stands for the largest t-th absolute moment of an error (answer minus truth, including bias) of any worker on any
# task. Workers, and the errors of one worker on different tasks, are independent.

_ROUNDING_SHARE = 1e-12  # relative: rounding must not lower a bound that is an integer


def gaussian_moments(fault: float) -> tuple[float, float, float, float]:
    """Return the first four absolute moments of an unbiased Gaussian error with this variance.

    >>> [round(moment, 4) for moment in gaussian_moments(1.0)]
    [0.7979, 1.0, 1.5958, 3.0]
    """
    fault = _as_number(fault, "fault")
    first = sqrt(2 * fault / pi)
    return first, fault, 2 * fault * first, 3 * fault * fault


def sample_size(eps: float, delta: float, moments: npt.ArrayLike) -> tuple[int, int]:
    """Return numbers of workers and tasks for which a disparity is within eps of its mean with probability 1 - delta.

    These are the smallest integers with (Meir et al. 2023)

        n > 24 (4 M2^2 + 4 M2 + 2 M4) / (delta eps^2) + 1,
        m > max(12 (M4 + 4 M1 M3 + 4 M1^2 M2) / (delta eps^2), 3 M4 / delta).

    They are sufficient, and at least six times as large as the numbers that follow from `deviation_chance`. They depend
    on the unit of measurement, because the terms 4 M2 and 3 M4 / delta come from a deviation of 1 in the proof.

    Parameters
    ----------
    eps
        Largest deviation of a disparity from its expected value.
    delta
        Probability of a larger deviation.
    moments
        The first four absolute moments of errors, M1, M2, M3, M4.

    >>> sample_size(1.0, 0.2, gaussian_moments(1.0))
    (1682, 639)
    """
    check_number(eps, "eps", least=np.nextafter(0, 1).item())
    delta = _as_number(delta, "delta", least=np.nextafter(0, 1).item(), most=1)
    m1, m2, m3, m4 = _moments(moments)
    scale = delta * eps * eps
    workers = 24 * (4 * m2 * m2 + 4 * m2 + 2 * m4) / scale + 1
    tasks = max(12 * (m4 + 4 * m1 * m3 + 4 * m1 * m1 * m2) / scale, 3 * m4 / delta)
    return _above(workers), _above(tasks)


def deviation_chance(eps: float, workers: int, tasks: int, moments: npt.ArrayLike) -> float:
    """Return an upper bound on the probability that a disparity differs by more than eps from its mean.

    The variance of a disparity is at most V / (n-1) + W / m, where V = M4 + 4 M1 M3 + 4 M2^2 is due to the other
    workers and W = M4 + 4 M1 M3 + 4 M1^2 M2 to the worker's own errors. The bound follows from Chebyshev's inequality.
    It is not from the paper, and does not depend on the unit of measurement.

    Parameters
    ----------
    eps
        Largest deviation of a disparity from its expected value.
    workers, tasks
        Numbers of workers n and tasks m.
    moments
        The first four absolute moments of errors, M1, M2, M3, M4.

    >>> round(deviation_chance(1.0, 200, 200, gaussian_moments(1.0)), 4)
    0.114
    """
    check_number(eps, "eps", least=np.nextafter(0, 1).item())
    check_number(workers, "workers", least=2, whole=True)
    check_number(tasks, "tasks", least=1, whole=True)
    m1, m2, m3, m4 = _moments(moments)
    variance = (m4 + 4 * m1 * m3 + 4 * m2 * m2) / (workers - 1) + (m4 + 4 * m1 * m3 + 4 * m1 * m1 * m2) / tasks
    return min(1.0, variance / eps / eps)


def _moments(moments: npt.ArrayLike) -> tuple[float, float, float, float]:
    row = _as_row(moments, "moments")
    if len(row) != 4:
        raise OptionError(f"moments has {len(row)} numbers. Give four: the first to fourth absolute moment.")
    roots = row ** (1 / np.arange(1, 5))
    if (roots[:-1] > roots[1:] * (1 + 1e-9)).any():
        raise OptionError(f"moments is {moments!r}. No errors have such moments: the t-th root of M_t grows with t.")
    m1, m2, m3, m4 = row.tolist()
    return m1, m2, m3, m4


def _above(bound: float) -> int:
    return floor(bound * (1 + _ROUNDING_SHARE)) + 1


# Biases: mean errors on each task, with their sign.

_BIASES_ROUNDING_SHARE = 1e-9  # relative tolerance of a computed bias against its fault


def _as_bias(values: npt.ArrayLike, fault: float | Floats, name: str) -> Floats:
    """Return biases with tasks along the last axis, after checking them against the faults.

    A single number is the same bias on every task. A fault is the mean square of the bias plus the variance, so it is
    at least the mean square.

    >>> _as_bias([1, -1], 1.0, "bias")
    array([ 1., -1.])
    >>> _as_bias(2, 1.0, "bias")
    Traceback (most recent call last):
    allalike.errors.OptionError: bias has the mean square 4, but the fault is 1. A fault is at least the mean square.
    """
    bias = _as_floats(values, name)
    if bias.ndim and bias.shape[:-1] != np.shape(fault):
        raise OptionError(
            f"{name} has the shape {bias.shape}. Give one number, or one number per task, with one row per fault."
        )
    bias = np.atleast_1d(bias)
    square, limit = (np.ravel(a) for a in np.broadcast_arrays(_inner(bias, bias), fault))
    over = square > limit * (1 + _BIASES_ROUNDING_SHARE)
    if over.any():
        found, allowed = square[over][0], limit[over][0]
        raise OptionError(
            f"{name} has the mean square {found:g}, but the fault is {allowed:g}. A fault is at least the mean square."
        )
    return bias


def _bias_size(mean_bias: npt.ArrayLike | None, mean_fault: float) -> float:
    """Return the root mean square of a bias, or the largest that the fault allows."""
    square = mean_fault if mean_bias is None else np.square(_as_bias(mean_bias, mean_fault, "mean_bias")).mean()
    return float(np.sqrt(square))


def _inner(own: Floats, theirs: Floats) -> Floats:
    """Return <x, y>, the mean product over tasks."""
    tasks = {own.shape[-1], theirs.shape[-1]} - {1}
    if len(tasks) > 1:
        raise OptionError(f"The biases are on {own.shape[-1]} and on {theirs.shape[-1]} tasks. Give equal numbers.")
    product: Floats = (own * theirs).mean(axis=-1)
    return product


# Aitken's weights 1 / f with estimated faults, each within a relative error delta of the true fault.


def inverse_bounds(delta: float) -> tuple[float, float]:
    """Return 1 - delta and 1 + 2 delta, bounds of f / f-hat if f-hat is within (1 -+ delta) f.

    They require delta <= 1/2 (delta <= 1 in the paper), because 1 / (1 - delta) exceeds 1 + 2 delta for larger delta.

    >>> inverse_bounds(0.25)
    (0.75, 1.5)
    """
    delta = _as_number(delta, "delta", most=0.5)
    return 1 - delta, 1 + 2 * delta


def aitken_error_bound(error: float, delta: float, largest: float) -> float:
    """Return error + 50 delta s^2, a bound on the mean squared error of the weighted mean with estimated faults.

    It requires delta <= 1/2, and a truth that is not larger in absolute value than the largest answer. It is very
    loose. The bound from `weight_shift` needs neither.

    Parameters
    ----------
    error
        The mean squared error of the weighted mean with the true faults.
    delta
        Maximum relative error of the estimated faults.
    largest
        Largest absolute value of an answer, s.

    >>> aitken_error_bound(1.0, 0.01, 2.0)
    3.0
    """
    error, largest = _as_number(error, "error"), _as_number(largest, "largest")
    return error + 50 * _as_number(delta, "delta", most=0.5) * largest * largest


def weight_shift(delta: float) -> float:
    """Return the largest share of weight that moves between workers if estimated faults have a relative error of delta.

    It is (1 - sqrt(1 - delta^2)) / delta, about delta / 2, and is attained. The weighted mean moves by at most this
    share of the range of the answers. If the range is at most R on every task, the root mean squared error grows by at
    most R times this share. The bound is not from the paper.

    >>> weight_shift(0.6)
    0.333...
    """
    delta = _as_number(delta, "delta", most=1)
    return delta / (1 + sqrt(1 - delta * delta))
