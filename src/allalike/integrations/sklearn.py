"""A scikit-learn classifier that learns from the answers of a crowd.

`allalike.discover` weights the workers' answers to the samples. The classifier learns the most probable class of each
sample, with its probability as the sample weight.

With ``cv``, the classifier also joins the crowd as a worker who sees features instead of samples. Its cross-validated
predictions are first added as answers, to estimate its accuracy among the workers. Then its probabilities r replace
these answers:

    p(c) ~ q(c) (r(c) / m(c))^t,

where q are the probabilities without the classifier, m are the class frequencies, and t is its trust. t maximises the
likelihood of the crowd's probabilities (including the classifier's answers) under the classifier alone. It is 0 for a
useless classifier, 1 for a calibrated one, and below 1 for an overconfident one. This works if features predict the
class, especially with few answers per sample. It fails if workers and the classifier are misled by the same features,
because their errors are assumed to be independent.

Requires the extra ``sklearn``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from allalike._core.lazy_imports import pd
from allalike.discover import discover
from allalike.errors import DataWarning, InputError, UnsupportedError
from allalike.readers.formats.frames import SILENT

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.utils import _safe_indexing, assert_all_finite, check_consistent_length, get_tags, indexable
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter, validate_data
except ImportError:
    raise UnsupportedError(
        "CrowdClassifier needs scikit-learn. Install it with: pip install 'allalike[sklearn]'."
    ) from None

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Codes = npt.NDArray[np.intp]

__all__ = ["CrowdClassifier"]

_LEAST = 1e-9  # minimum probability of a class
_MOST_TRUST = 3.0  # upper bound for underconfident classifiers


def _has_probabilities(model: CrowdClassifier) -> bool:
    """Return whether the inner classifier predicts probabilities, before and after fitting."""
    return hasattr(getattr(model, "estimator_", model._inner()), "predict_proba")


class CrowdClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that learns from the answers of workers with unknown accuracy.

    Attributes
    ----------
    classes_
        Classes in the answers, sorted.
    estimator_
        The fitted classifier.
    posteriors_
        Class probabilities, one row per sample; NaN for samples without answers, unless the classifier joined.
    truth_
        Most probable class per sample with answers.
    worker_weights_
        Weights of the workers, in the order of the columns of ``y``; 1 if there is one column.
    trust_
        With ``cv``, the trust t in the classifier as a worker.
    result_
        Result of `allalike.discover`; None if ``y`` has one column.

    >>> from sklearn.datasets import load_iris
    >>> X, known = load_iris(return_X_y=True)
    >>> rng = np.random.default_rng(0)
    >>> good = rng.random((150, 9)) < [0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.6, 0.5]
    >>> answers = np.where(good, known[:, None], rng.integers(0, 3, (150, 9)))
    >>> y = np.where(rng.random((150, 9)) < 0.3, answers, -1)  # about three answers per sample; -1 is none
    >>> model = CrowdClassifier(cv=5).fit(X, y)
    >>> model.predict(X[:3]), model.worker_weights_.shape
    (array([0, 0, 0]), (9,))
    """

    def __init__(self, estimator: Any = None, *, method: Any = "auto", cv: Any = None) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Estimate the class of each sample from the answers of workers, and fit the classifier to it."""
        (X,) = indexable(X)  # noqa: N806
        validate_data(self, X, skip_check_array=True)
        self.classes_, codes = _read_answers(y)
        check_consistent_length(X, codes)
        self.trust_, self.result_, self.worker_weights_ = 0.0, None, np.ones(1)
        if codes.shape[1] == 1:
            known = np.where(codes == SILENT, np.nan, np.eye(len(self.classes_))[codes[:, 0]])
        else:
            self.result_ = self._discover(codes)
            self.worker_weights_ = np.zeros(codes.shape[1])
            self.worker_weights_[self.result_.workers["worker"]] = self.result_.workers["weight"]
            known = _find_posteriors(self.result_, (len(codes), len(self.classes_)))
            if self.cv is not None:
                known, self.trust_ = self._join(X, known, codes)
        self.posteriors_ = known
        samples, self.truth_, weights = self._list_known(known)
        self.estimator_ = clone(self._inner()).fit(_safe_indexing(X, samples), self.truth_, **weights)
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the predicted class of each sample."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        return self._spread(self.estimator_.predict_proba(X), self.estimator_.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._inner()).input_tags
        return tags

    def _inner(self) -> Any:
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _discover(self, codes: Codes) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # listed in `result_.notes`
            said = np.ma.masked_array(codes, codes == SILENT)  # type: ignore[no-untyped-call]
            return discover(said, wide="tasks", domain="categorical", method=self.method)

    def _list_known(self, known: Floats) -> tuple[Codes, Any, dict[str, Floats]]:
        """Return the samples with a label, the labels, and confidences if the classifier supports weights."""
        samples = np.flatnonzero(~np.isnan(known).any(axis=1))
        name, last = getattr(self._inner(), "steps", [("", self._inner())])[-1]  # of a pipeline
        argument = f"{name}__sample_weight" if name else "sample_weight"
        sure = {argument: known[samples].max(axis=1)} if has_fit_parameter(last, "sample_weight") else {}
        return samples, self.classes_[known[samples].argmax(axis=1)], sure

    def _spread(self, probabilities: Floats, classes: Any) -> Floats:
        """Return probabilities with a column per class, including classes that the classifier never saw."""
        spread = np.zeros((len(probabilities), len(self.classes_)))
        spread[:, np.searchsorted(self.classes_, classes)] = probabilities
        return spread

    def _join(self, X: Any, known: Floats, codes: Codes) -> tuple[Floats, float]:  # noqa: N803
        """Return the probabilities with the classifier as a worker, and its trust."""
        samples, truth, weights = self._list_known(known)
        seen, guess = _safe_indexing(X, samples), np.empty_like(known)
        said = cross_val_predict(self._inner(), seen, truth, cv=self.cv, method="predict_proba", params=weights)
        guess[samples] = self._spread(said, np.unique(truth))
        if len(silent := np.flatnonzero(np.isnan(known).any(axis=1))):
            learned = clone(self._inner()).fit(seen, truth, **weights)
            guess[silent] = self._spread(learned.predict_proba(_safe_indexing(X, silent)), learned.classes_)
        joined = _find_posteriors(self._discover(np.column_stack([codes, guess.argmax(axis=1)])), known.shape)
        return _combine(known, guess, joined)


def _read_answers(y: Any) -> tuple[Any, Codes]:
    """Return the classes, and class codes by sample and worker, -1 if missing."""
    matrix = np.asarray(y)
    if matrix.ndim == 2:
        assert_all_finite(matrix, allow_nan=True, input_name="y")
        table = pd.DataFrame(matrix)
        there = ~(table.isna() | table.isin([SILENT, ""])).to_numpy()
    else:
        matrix = column_or_1d(matrix)
        assert_all_finite(matrix, input_name="y")
        check_classification_targets(matrix)
        matrix = matrix[:, np.newaxis]
        there = np.ones(matrix.shape, np.bool_)
    listed = matrix[there].tolist()
    if not listed:
        raise InputError("y has no answers: all cells are empty, NaN or -1.")
    if len({isinstance(each, str) for each in listed}) > 1:
        raise InputError("y mixes texts and other types. Pass a row per sample and a column per worker of one type.")
    said = np.array(listed)
    if said.dtype.kind == "f" and not there.all() and (said == np.floor(said)).all():
        said = said.astype(np.int64)  # integers converted to floats by empty cells
    codes = np.full(matrix.shape, SILENT)
    classes, codes[there] = np.unique(said, return_inverse=True)
    return classes, codes


def _find_posteriors(result: Any, shape: tuple[int, ...]) -> Floats:
    """Return class probabilities; 1 for the label if the method estimates no probabilities."""
    known = np.full(shape, np.nan)
    if result.posteriors is None:
        known[result.truth["task"]] = np.eye(shape[1])[result.truth["label"]]
        return known
    table = result.probabilities
    known[table["task"]] = 0.0
    known[np.ix_(table["task"], table.columns[1:].to_numpy(np.intp))] = table.iloc[:, 1:]
    return known


def _combine(known: Floats, guess: Floats, joined: Floats) -> tuple[Floats, float]:
    """Multiply the probabilities of the crowd and the classifier; also return the trust in the classifier.

    ``known`` are the crowd's probabilities without the classifier, and ``joined`` those with its answers.

    >>> crowd = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    >>> both, trust = _combine(crowd, np.array([[0.8, 0.2], [0.2, 0.8], [0.8, 0.2]]), crowd)
    >>> both.argmax(axis=1), trust > 0
    (array([0, 1, 0]), True)
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax, softmax

    mean = joined.mean(axis=0).clip(_LEAST)
    evidence = np.log(guess.clip(_LEAST) / mean)

    def miss(trust: float) -> float:
        return -float((joined * log_softmax(np.log(mean) + trust * evidence, axis=1)).sum())

    trust = float(minimize_scalar(miss, bounds=(0, _MOST_TRUST), method="bounded").x)
    before = np.where(np.isnan(known), mean, known).clip(_LEAST)
    return np.asarray(softmax(np.log(before) + trust * evidence, axis=1)), trust
