"""A classifier that learns from a crowd: scikit-learn's interface, around any of its classifiers.

The answers of workers to the samples are weighed by `allalike.discover`. The classifier learns the most probable class
of each sample, with the probability as the sample's weight. So it learns little from what nobody knows, and much from
what is sure.

A classifier is one more worker, who has seen the features instead of the sample. With ``cv`` she joins the crowd. What
she says of a sample when she has learned from other samples only is first an answer like all others, so that it is
found out how good she is beside them. Then her probabilities r take the place of that answer:

    p(c) ~ q(c) (r(c) / m(c))^t,

where q are the probabilities without her, and m is how frequent the classes are. How far she is trusted, t, makes her
alone foresee best what the crowd finds with her among the workers: 0 if she is of no use, 1 if she is as sure as she
should be, and less if she is too sure. It works where features tell something of the class, and pays most where samples
have few answers. It fails where workers and the classifier are misled by the same features, for it takes their errors
to be independent.

Needs the extra ``sklearn``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from allalike._core.late import pd
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

_LEAST = 1e-9  # no class is impossible
_MOST_TRUST = 3.0  # a classifier who is far too unsure is not made surer than that


def _can_tell_probabilities(model: CrowdClassifier) -> bool:
    """Tell whether the classifier inside does, before and after it has learned."""
    return hasattr(getattr(model, "estimator_", model._inner()), "predict_proba")


class CrowdClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that learns from the answers of many workers, of whom nobody knows how good they are.

    Attributes
    ----------
    classes_
        The labels that occur in the answers, in order.
    estimator_
        The classifier that has learned.
    posteriors_
        Class probabilities, one row per sample; NaN for samples without answers, unless the classifier joined.
    truth_
        The most probable class of each sample that has one.
    worker_weights_
        Weights of the workers, in the order of the columns of ``y`` (or of ids); of one column it is 1.
    trust_
        With ``cv``, how far the classifier was trusted as a worker: t above.
    result_
        Result of `allalike.discover`. None if ``y`` has one column only.

    >>> from sklearn.datasets import load_iris
    >>> X, known = load_iris(return_X_y=True)
    >>> rng = np.random.default_rng(0)
    >>> good = rng.random((150, 9)) < [0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.6, 0.5]
    >>> said = np.where(good, known[:, None], rng.integers(0, 3, (150, 9)))
    >>> y = np.where(rng.random((150, 9)) < 0.3, said, -1)  # about three answers per sample; -1 is none
    >>> model = CrowdClassifier(cv=5).fit(X, y)
    >>> model.predict(X[:3]), model.worker_weights_.shape
    (array([0, 0, 0]), (9,))
    """

    def __init__(self, estimator: Any = None, *, method: Any = "auto", cv: Any = None) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Find the truths of samples in the answers of workers, and learn from them."""
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
        """Return the class of each sample."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(_can_tell_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return how probable each class is, in the order of ``classes_``."""
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
            warnings.simplefilter("ignore", DataWarning)  # `result_.notes` has them all
            said = np.ma.masked_array(codes, codes == SILENT)  # type: ignore[no-untyped-call]
            return discover(said, wide="tasks", domain="categorical", method=self.method)

    def _list_known(self, known: Floats) -> tuple[Codes, Any, dict[str, Floats]]:
        """Return the samples with a label, these labels, and their confidences if the classifier takes weights."""
        samples = np.flatnonzero(~np.isnan(known).any(axis=1))
        name, last = getattr(self._inner(), "steps", [("", self._inner())])[-1]  # which a pipeline has
        argument = f"{name}__sample_weight" if name else "sample_weight"
        sure = {argument: known[samples].max(axis=1)} if has_fit_parameter(last, "sample_weight") else {}
        return samples, self.classes_[known[samples].argmax(axis=1)], sure

    def _spread(self, probabilities: Floats, classes: Any) -> Floats:
        """Return probabilities with a column for each class, also for those that the classifier never saw."""
        spread = np.zeros((len(probabilities), len(self.classes_)))
        spread[:, np.searchsorted(self.classes_, classes)] = probabilities
        return spread

    def _join(self, X: Any, known: Floats, codes: Codes) -> tuple[Floats, float]:  # noqa: N803
        """Return the probabilities with the classifier among the workers, and how far she is trusted."""
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
    """Return the classes, and which of them each worker said of each sample, -1 where none."""
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
        raise InputError("There are no answers: all cells are empty, NaN or -1.")
    if len({isinstance(each, str) for each in listed}) > 1:
        raise InputError("Some answers are texts, and some are not. Give one row per sample and one column per worker.")
    said = np.array(listed)
    if said.dtype.kind == "f" and not there.all() and (said == np.floor(said)).all():
        said = said.astype(np.int64)  # of which empty cells have made floats
    codes = np.full(matrix.shape, SILENT)
    classes, codes[there] = np.unique(said, return_inverse=True)
    return classes, codes


def _find_posteriors(result: Any, shape: tuple[int, ...]) -> Floats:
    """Return how probable each class is; where the method does not say so, the truth is sure."""
    known = np.full(shape, np.nan)
    if result.posteriors is None:
        known[result.truth["task"]] = np.eye(shape[1])[result.truth["label"]]
        return known
    table = result.probabilities
    known[table["task"]] = 0.0
    known[np.ix_(table["task"], table.columns[1:].to_numpy(np.intp))] = table.iloc[:, 1:]
    return known


def _combine(known: Floats, guess: Floats, joined: Floats) -> tuple[Floats, float]:
    """Multiply what the crowd and the classifier say, and return also how far she is trusted.

    ``known`` is what the crowd says without her, and ``joined`` what it says with her answers among all others.

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
