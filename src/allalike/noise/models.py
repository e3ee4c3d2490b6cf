"""Noise models: how workers err, by label type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from allalike._core.options import Options, choice, number, share, whole
from allalike.errors import OptionError, UnsupportedError

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats

Seed: TypeAlias = "int | np.random.Generator"  # not looked up: NumPy loads its generators when they are asked for
_DUST_SHARE = 1e-12  # what is smaller than this share of what it was computed from is rounding


@dataclass(frozen=True, kw_only=True)
class Noise(Options):
    """A way to err: it turns disparities into faults and faults into weights, and draws answers with these faults.

    `weighting` is what P-TD does by default with the disparities of this noise, and `chance` the distance to the
    truth of a worker who guesses, where that is known.
    """

    name: ClassVar[str]
    weighting: ClassVar[str] = "max"
    estimates_fault: ClassVar[bool] = False

    @property
    def chance(self) -> float | None:
        """How far from the truth a guess is on average."""
        return None

    def fault(self, disparity: Floats, mubar: float) -> Floats:
        """Estimate the distance to the truth from the disparity and half the mean distance of two workers."""
        raise UnsupportedError(f"No fault can be estimated under {self.name} noise.")

    def bound_faults(self, fault: Floats, mubar: float) -> Floats:
        """Bring estimated faults into the range for which weights are defined."""
        return fault

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Weigh workers whose fault is known."""
        worst = peak(fault)
        return without_dust(worst - fault, worst)

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> Array:
        """Draw an answer for each truth and fault, which are matched as numpy does; a label's own axes come last."""
        raise UnsupportedError(f"No answers can be drawn under {self.name} noise.")

    def sample(self, truth: Array, faults: Floats, seed: Seed = 0) -> Array:
        """Draw one row of answers for each worker, given her fault: an answer to every task.

        >>> import numpy as np
        >>> from allalike.noise import OneCoin
        >>> OneCoin(classes=3).sample(np.array([0, 1, 2]), np.zeros(1))
        array([[0, 1, 2]])
        """
        return self.draw(np.asarray(truth)[None], np.asarray(faults)[:, None], np.random.default_rng(seed))


@dataclass(frozen=True, kw_only=True)
class General(Noise):
    """Noise of which only the distance is known, and at most how far a worthless answer is from the others.

    >>> import numpy as np
    >>> General().weight(np.array([1.0, 3.0]))
    array([2., 0.])
    """

    name: ClassVar[str] = "general"
    farthest: float | None = None

    @property
    def chance(self) -> float | None:
        """How far from the others a worthless answer is."""
        return self.farthest


def peak(values: Floats) -> float:
    """Return the largest number that is not NaN; NaN if there is none."""
    return float(np.fmax.reduce(values, initial=-np.inf)) if not np.isnan(values).all() else np.nan


def without_dust(values: Floats, scale: Floats | float) -> Floats:
    """Return values with 0 in place of what is rounding beside the scale, so that rounding decides nothing.

    >>> import numpy as np
    >>> without_dust(np.array([1e-3, -1e-15, 1e-17]), 1.0)
    array([0.001, 0.   , 0.   ])
    """
    return np.where(np.abs(values) > _DUST_SHARE * scale, values, 0.0)


def check_within(values: Any, most: float, what: str) -> Floats:
    """Return the values as an array if all of them lie between 0 and a limit.

    >>> check_within([0.5, 1.5], 1, "A probability of error")
    Traceback (most recent call last):
    allalike.errors.OptionError: A probability of error must be between 0 and 1, and one is 1.5.
    """
    array = np.asarray(values, np.float64)
    fits = (array >= 0) & (array <= most)
    if not fits.all():
        limit = f"between 0 and {most:g}" if np.isfinite(most) else "a number, at least 0"
        raise OptionError(f"{what} must be {limit}, and one is {array[~fits].flat[0]:g}.")
    return array


# Additive Gaussian noise on numbers, each worker with a variance of her own, which is her fault.
#
# Two workers with faults f_i and f_j are f_i + f_j apart on average (squared), so the faults solve a system of
# linear equations, one for each pair. With a ridge lambda >= 0 the least-squares solution is closed (Meir et al.
# 2023, the Anna Karenina theorem and its estimator):
#
#     f_i = [2(n-1) pi_i - 8n(n-1) / (4n + lambda - 4) * mubar] / (2n + lambda - 4),
#
# where pi_i is the disparity and mubar half the mean distance. With lambda = 4 it is the squared distance to the
# mean, hence never negative. With a smaller lambda the best workers often get an estimate <= 0, and what becomes
# of them matters: ``floor`` (the default) lifts it to a small share of mubar, ``clip`` to 1e-8, which makes such a
# worker a dictator, and ``zero`` gives her no weight, as the paper says, which throws away the best.
#
# The best weights for known variances are their inverses (Aitken 1935).


@dataclass(frozen=True, kw_only=True)
class Gaussian(Noise):
    """Independent Gaussian errors, with a variance for each worker.

    Parameters
    ----------
    ridge
        The paper's lambda: how much faults are drawn to zero. 0 is the maximum-likelihood estimate.
    nonpositive
        Treatment of a fault that is not positive: ``floor``, ``clip`` or ``zero``.
    floor
        The share of half the mean distance to which ``floor`` lifts a fault.

    >>> import numpy as np
    >>> pi = np.array([197.3125, 307.5625, 491.25, 319.75, 418.375])
    >>> Gaussian().fault(pi, 173.425).round(4)
    array([-25.9583, 121.0417, 365.9583, 137.2917, 268.7917])
    """

    name: ClassVar[str] = "Gaussian"
    weighting: ClassVar[str] = "inverse"
    estimates_fault: ClassVar[bool] = True
    ridge: float = number(0.0, least=0)
    nonpositive: str = choice("floor", "clip", "zero")
    floor: float = number(0.02, least=1e-12)

    def fault(self, disparity: Floats, mubar: float) -> Floats:
        """Estimate the variance of each worker's error."""
        n = np.float64(len(disparity))  # whose quotients of zeros are NaN: of one worker nothing is known
        with np.errstate(invalid="ignore", divide="ignore"):
            shared = 8 * n * (n - 1) / (4 * n + self.ridge - 4) * mubar
            fault = (2 * (n - 1) * disparity - shared) / (2 * n + self.ridge - 4)
        # Two workers and no ridge: one equation for two unknowns; the solution of minimum norm shares the distance.
        return np.where((n == 2) & (self.ridge == 0), disparity / 2, fault)

    def bound_faults(self, fault: Floats, mubar: float) -> Floats:
        """Deal with faults that are not positive."""
        if self.nonpositive == "floor":
            return np.maximum(fault, self.floor * mubar)
        if self.nonpositive == "clip":
            return np.clip(fault, 1e-8, 1e8)
        return np.where(without_dust(fault, mubar) > 0, fault, np.inf)  # whose inverse is no weight

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Weigh by the inverse variance."""
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / fault

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> Floats:
        """Add an error to each truth, given its variance."""
        sd = np.sqrt(check_within(faults, np.inf, "A variance"))
        shape = np.broadcast_shapes(np.shape(truth), sd.shape)
        answers: Floats = np.asarray(truth) + sd * rng.standard_normal(shape)
        return answers

    def sample(
        self,
        truth: Array,
        faults: Floats,
        seed: Seed = 0,
        *,
        bias: npt.ArrayLike = 0.0,
        between_tasks: npt.ArrayLike | None = None,
    ) -> Floats:
        """Draw one row of answers for each worker.

        Parameters
        ----------
        truth
            The number behind each task.
        faults
            The variance of each worker's errors, or the covariance of the errors of all workers in a task.
        seed
            Random seed.
        bias
            Mean error of a worker: one number per worker, or per worker and task.
        between_tasks
            The correlation of a worker's errors in different tasks. Without it they are independent.

        >>> import numpy as np
        >>> Gaussian().sample(np.array([1.0, 2.0]), np.zeros(2), bias=[0.0, 0.5])
        array([[1. , 2. ],
               [1.5, 2.5]])
        >>> Gaussian().sample(np.zeros(1), np.array([[1.0, -1.0], [-1.0, 1.0]])).sum().round(9) + 0.0
        np.float64(0.0)
        """
        errors = np.random.default_rng(seed).standard_normal((len(faults), len(truth)))
        if between_tasks is not None:
            errors = errors @ _root(between_tasks).T
        if np.ndim(faults) == 1:
            errors = np.sqrt(check_within(faults, np.inf, "A variance"))[:, None] * errors
        else:
            errors = _root(faults) @ errors
        off = np.asarray(bias, np.float64)
        answers: Floats = np.asarray(truth) + (off[:, None] if off.ndim == 1 else off) + errors
        return answers


def _root(covariance: npt.ArrayLike) -> Floats:
    """Return a matrix whose product with its transpose is this one; it may be singular, as that of copied errors."""
    matrix = np.asarray(covariance, np.float64)
    symmetric = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and np.allclose(matrix, matrix.T)
    if not symmetric:
        raise OptionError(f"A covariance must be a symmetric square matrix; this one has the shape {matrix.shape}.")
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -1e-9 * max(values[-1], 0.0) - 1e-300:
        raise OptionError(f"A covariance must have no negative eigenvalue; this one has {values[0]:g}.")
    root: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


# Laplace noise on numbers: errors whose size matters, not its square, each worker with a mean size of her own.
#
# Its density exp(-|x - t| / b) / (2 b) has heavier tails than that of Gauss: one answer that is far off is no surprise.
# The mean size b of a worker's errors is her fault. Where b is known, the most likely truth of a task minimises
# sum_i |x_i - t| / b_i: it is the weighted median with the weights 1 / b_i.
#
# The distance of two answers does not tell the faults of both: it is b_i + b_j - b_i b_j / (b_i + b_j) on average, and
# not their sum. So no fault is estimated from disparities; a disparity itself is one, up to what the others err.


@dataclass(frozen=True, kw_only=True)
class Laplace(Noise):
    """Independent errors with a mean size for each worker, and with heavy tails.

    >>> Laplace().weight(np.array([0.5, 2.0]))
    array([2. , 0.5])
    """

    name: ClassVar[str] = "Laplace"
    weighting: ClassVar[str] = "inverse"

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Weigh by the inverse of the mean size of errors."""
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / fault

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> Floats:
        """Add an error to each truth, given its mean size.

        >>> Laplace().draw(np.array([1.0, 2.0]), np.zeros(2), np.random.default_rng(0))
        array([1., 2.])
        """
        size = check_within(faults, np.inf, "A mean error")
        shape = np.broadcast_shapes(np.shape(truth), size.shape)
        answers: Floats = np.asarray(truth) + size * rng.laplace(size=shape)
        return answers


# One-coin noise on k classes: worker i errs with probability f_i, and then any wrong class is as likely.
#
# Two workers differ with probability f_i + f_j - c f_i f_j, where c = k / (k-1). Hence the disparity is
# pi_i = mu + (1 - c mu) f_i on average, with mu the mean fault (Meir et al. 2023, the one-coin corollary), and
#
#     f_i = (pi_i - mu) / (1 - c mu).
#
# For mu the paper takes half the mean distance (``mu="half"``). That is a little too small, because the mean
# distance is 2 mu - c mu^2 and not 2 mu; solving for mu (``mu="exact"``) makes the estimate consistent, with the
# same order of workers. The best weights for known faults are the log odds log((1 - f)(k - 1) / f) (Grofman, Owen
# and Feld 1983), or to first order 1 - f - 1/k. Workers worse than chance get weight 0.


_MIN_FAULT = 0.001  # a fault closer to 0 or 1 than this would weigh too much


@dataclass(frozen=True, kw_only=True)
class OneCoin(Noise):
    """Independent errors, with a probability for each worker.

    Parameters
    ----------
    classes
        Number of classes.
    mu
        Estimate of the mean fault: ``half`` the mean distance, or ``exact``.
    transform
        Conversion of a fault to a weight: ``log`` odds, or ``linear``.

    >>> import numpy as np
    >>> pi = np.array([0.34375, 0.375, 0.46875, 0.5625, 0.625])
    >>> OneCoin(classes=2).fault(pi, 0.2375).round(5)
    array([0.20238, 0.2619 , 0.44048, 0.61905, 0.7381 ])
    """

    name: ClassVar[str] = "one-coin"
    estimates_fault: ClassVar[bool] = True
    classes: int = 2
    mu: str = choice("half", "exact")
    transform: str = choice("log", "linear")

    @property
    def chance(self) -> float:
        """How often a guess is wrong."""
        return 1 - 1 / max(self.classes, 2)

    def fault(self, disparity: Floats, mubar: float) -> Floats:
        """Estimate the probability of each worker's error."""
        mu = mubar
        if self.mu == "exact":
            mu = self.chance * (1 - np.sqrt(max(0.0, 1 - 2 * mubar / self.chance)))
        slope = 1 - mu / self.chance
        return np.full(len(disparity), np.nan) if slope < 1e-9 else np.asarray((disparity - mu) / slope)

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Weigh by the log odds of being right."""
        fault = np.clip(fault, _MIN_FAULT, 1 - _MIN_FAULT)
        if self.transform == "linear":
            return without_dust(self.chance - fault, 1.0)
        return without_dust(np.log((1 - fault) * (max(self.classes, 2) - 1) / fault), 1.0)

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Err with the given probability, and then take any other class."""
        faults, classes = check_within(faults, 1, "A probability of error"), max(self.classes, 2)
        shape = np.broadcast_shapes(np.shape(truth), faults.shape)
        errs = rng.random(shape) < faults
        answers: npt.NDArray[np.int64] = (truth + errs * rng.integers(1, classes, shape)) % classes
        return answers


# Two-coin noise on two classes: a worker errs more often where the truth is one class than where it is the other.
#
# She answers 1 to a task of class 0 with probability a (a false alarm), and 0 to a task of class 1 with probability
# b (a miss). Where both are known and both classes are as likely, the answer 1 counts log((1 - b) / a) for class 1,
# and the answer 0 counts log((1 - a) / b) for class 0 (Dawid and Skene 1979, for two classes). The mean of the two is
# her weight; their difference is the same for all answers that she could give.


_MIN_PROBABILITY = 0.001  # a probability closer to 0 or 1 than this would weigh too much


@dataclass(frozen=True, kw_only=True)
class TwoCoin(Noise):
    """False alarms and misses; a worker's fault is the pair of their probabilities.

    >>> import numpy as np
    >>> TwoCoin().sample(np.array([0, 1, 1]), np.array([[0.0, 0.0], [0.0, 1.0]]))
    array([[0, 1, 1],
           [0, 0, 0]])
    """

    name: ClassVar[str] = "two-coin"

    @property
    def chance(self) -> float:
        """How often a guess is wrong."""
        return 0.5

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Weigh by the mean of what the two answers say.

        >>> import numpy as np
        >>> TwoCoin().weight(np.array([[0.2, 0.2], [0.1, 0.6], [0.5, 0.5]])).round(3)
        array([1.386, 0.896, 0.   ])
        """
        alarm, miss = np.clip(fault, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY).T
        weight: Floats = (np.log((1 - miss) / alarm) + np.log((1 - alarm) / miss)) / 2
        return weight

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Err with the probability that belongs to the true class."""
        faults = check_within(faults, 1, "A probability of error")
        if faults.ndim == 0 or faults.shape[-1] != 2:
            raise OptionError("Two-coin faults are pairs: the probability of a false alarm, and that of a miss.")
        errs = np.where(np.asarray(truth) == 1, faults[..., 1], faults[..., 0])
        wrong = rng.random(errs.shape) < errs
        answers: npt.NDArray[np.int64] = np.where(wrong, 1 - np.asarray(truth), truth)
        return answers


# Mallows noise on rankings: the further from the truth, the less likely.
#
# A ranking with K pairs in the wrong order has a probability proportional to phi^K (Mallows 1957): phi = 0 is the
# truth itself, phi = 1 any order alike. Repeated insertion draws such a ranking exactly (Doignon, Pekec and
# Regenwetter 2004): the items come in their true order, and the i-th is inserted v places before the end of those that
# are there, with a probability proportional to phi^v, v < i. Each such place is one more pair in the wrong order, so
#
#     E[K] = sum over i = 1..q of  (sum of v phi^v) / (sum of phi^v),   v = 0..i-1.
#
# The likelihood of a ranking is phi^K, hence workers whose phi is known are best weighed by -log(phi), and the best
# ranking is Kemeny's.


_MIN_PHI = 0.001  # a smaller phi would weigh too much


@dataclass(frozen=True, kw_only=True)
class Mallows(Noise):
    """Rankings that scatter around the truth; a worker's fault is her phi.

    >>> import numpy as np
    >>> Mallows().sample(np.array([[2, 0, 1]]), np.zeros(1))
    array([[[2, 0, 1]]])
    """

    name: ClassVar[str] = "Mallows"

    @property
    def chance(self) -> float:
        """How many of the pairs a guess has in the wrong order."""
        return 0.5

    def weight(self, fault: Floats, *_: Any) -> Floats:
        """Weigh by the logarithm of the likelihood."""
        weight: Floats = -np.log(np.clip(fault, _MIN_PHI, 1.0))
        return weight

    def expected_distance(self, phi: Floats, items: int) -> Floats:
        """Return the expected Kendall tau distance to the truth, as a share of all pairs.

        >>> import numpy as np
        >>> (6 * Mallows().expected_distance(np.array([0.3, 0.65, 0.9, 1.0]), 4)).round(4)
        array([0.972 , 2.1033, 2.7723, 3.    ])
        """
        places = np.arange(items)
        chances = check_within(phi, 1, "phi")[..., None] ** places
        wrong = np.cumsum(places * chances, axis=-1) / np.cumsum(chances, axis=-1)
        distance: Floats = wrong.sum(axis=-1) / max(items * (items - 1) / 2, 1)
        return distance

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> Array:
        """Insert the items of each true order, best first, one after the other."""
        order, phi = np.asarray(truth), check_within(faults, 1, "phi")
        items, shape = order.shape[-1], np.broadcast_shapes(order.shape[:-1], phi.shape)
        with np.errstate(divide="ignore"):  # at phi = 0 and 1, limits that no draw can tell from these
            log_phi = np.clip(np.log(phi), -700.0, -1e-15)
        position = np.zeros((items, *shape), np.int16)
        for i in range(1, items):
            # It goes back at most v places where a uniform draw is below (1 - phi^(v+1)) / (1 - phi^(i+1)).
            back = np.log1p(rng.random(shape) * np.expm1((i + 1) * log_phi)) / log_phi
            position[i] = i - np.minimum(back.astype(np.int16), i)
            position[:i] += position[:i] >= position[i]
        answers = np.empty((*shape, items), order.dtype)
        for place, item in zip(position, np.moveaxis(order, -1, 0), strict=True):
            np.put_along_axis(answers, place[..., None], np.broadcast_to(item, shape)[..., None], axis=-1)
        return answers


# Noise on sets of intervals: every start and every end is moved, and some intervals are overlooked.
#
# Starts and ends are whole numbers, such as places in a text. Each is moved by a Gaussian error whose standard
# deviation is the worker's fault; then all are put in order again, so that intervals stay apart or merge. How far
# such an answer is from the truth by Jaccard distance depends on the lengths, and has no closed form.


@dataclass(frozen=True, kw_only=True)
class IntervalNoise(Noise):
    """Bounds that are off; truths and answers are tables with a start and an end per interval.

    Parameters
    ----------
    length
        End of the line that contains the intervals; it starts at 0.
    miss
        Probability of missing an interval, which then ends at its start.

    >>> import numpy as np
    >>> IntervalNoise(length=50).sample(np.array([[[3, 9], [20, 40]]]), np.array([0.0, 2.0]), seed=1).tolist()
    [[[[3, 9], [20, 40]]], [[[5, 10], [19, 41]]]]
    """

    name: ClassVar[str] = "interval"
    length: int = whole(1000, least=1)
    miss: float = share(0.0)

    @property
    def chance(self) -> float:
        """How far from the truth an answer without a common point is."""
        return 1.0

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Move the bounds, put them in order, and forget some intervals."""
        shift, bounds = check_within(faults, np.inf, "A shift")[..., None, None], np.asarray(truth)
        shape = np.broadcast_shapes(bounds.shape, shift.shape)
        moved = np.rint(bounds + shift * rng.standard_normal(shape)).clip(0, self.length).astype(np.int64)
        answers: npt.NDArray[np.int64] = np.sort(moved.reshape(*shape[:-2], -1), axis=-1).reshape(shape)
        missed = rng.random(shape[:-1]) < self.miss
        answers[..., 1] = np.where(missed, answers[..., 0], answers[..., 1])
        return answers


# Noise on masks: outlines that wobble, and specks.
#
# The outline is moved inwards and outwards by a smooth random field: each pixel's distance to the outline (positive
# inside) plus the field decides whether it belongs to the answer. The field is Gaussian with the worker's fault as its
# standard deviation in pixels, everywhere, and smooth over `grain` pixels: it is drawn on a coarse grid and
# interpolated with weights whose squares sum to 1.


@dataclass(frozen=True, kw_only=True)
class MaskNoise(Noise):
    """Outlines that are some pixels off; truths and answers are tables of pixels, on or off.

    Parameters
    ----------
    grain
        Over how many pixels an outline is off in the same direction.
    specks
        Probability of inverting a further pixel.

    >>> import numpy as np
    >>> square = np.pad(np.ones((4, 4), np.bool_), 2)
    >>> MaskNoise().sample(square[None], np.array([0.0, 1.0]), seed=1).sum(axis=(1, 2, 3)).tolist()
    [16, 26]
    """

    name: ClassVar[str] = "mask"
    grain: int = whole(8, least=1)
    specks: float = share(0.0)

    @property
    def chance(self) -> float:
        """How far from the truth an answer without a common pixel is."""
        return 1.0

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
        """Move the outlines, and turn some pixels over."""
        shift, pixels = check_within(faults, np.inf, "A shift")[..., None, None], np.asarray(truth, np.bool_)
        shape = np.broadcast_shapes(pixels.shape, shift.shape)
        rows, columns = (_interpolation(size, self.grain) for size in shape[-2:])
        field = rows @ rng.standard_normal((*shape[:-2], rows.shape[1], columns.shape[1])) @ columns.T
        answers: npt.NDArray[np.bool_] = _inside(pixels) + shift * field > 0
        return answers ^ (rng.random(shape) < self.specks) if self.specks else answers


def _inside(pixels: npt.NDArray[np.bool_]) -> Floats:
    """Return how deep inside the object each pixel of each mask lies, in pixels up to the outline; below 0 outside.

    What lies behind the border is outside; a mask without an object stays without one.
    """
    depth, before = np.empty(pixels.shape), None
    for place in np.ndindex(pixels.shape[:-2]):
        same = before is not None and np.array_equal(pixels[place], pixels[before])  # as answers to one task are
        depth[place] = depth[before] if same else _depth(np.pad(pixels[place], 1))[1:-1, 1:-1]
        before = place
    return depth


def _depth(mask: npt.NDArray[np.bool_]) -> Floats:
    from scipy import ndimage

    distance: Any = ndimage.distance_transform_edt
    inner = distance(mask) - distance(~mask) if mask.any() else np.full(mask.shape, -np.inf)
    depth: Floats = inner - np.where(mask, 0.5, -0.5)
    return depth


def _interpolation(size: int, grain: int) -> Floats:
    """Return the weights of the points of a coarse grid for each pixel; their squares sum to 1."""
    pixel, point = np.arange(size)[:, None] / grain, np.arange(-(-(size - 1) // grain) + 1)
    weights = np.maximum(0.0, 1 - np.abs(pixel - point))
    rows: Floats = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return rows
