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
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from allalike._core.columns.objects import is_nothing
from allalike.api.discover import discover
from allalike.errors import DataWarning, InputError, UnsupportedError
from allalike.readers import read
from allalike.readers.formats.matrices import SILENT

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import check_cv
    from sklearn.utils import _safe_indexing, assert_all_finite, check_consistent_length, get_tags, indexable
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d, has_fit_parameter
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
_ROLES = {"worker", "task", "label"}


def _can(name: str) -> Any:
    """Return what tells whether the classifier inside can do something, before and after it has learned."""
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self._inner()), name))


class CrowdClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that learns from the answers of many workers, of whom nobody knows how good they are.

    Parameters
    ----------
    estimator
        The classifier that learns, or a pipeline that ends in one; by default `LogisticRegression(max_iter=1000)`. If
        it takes no weights of samples, it learns the most probable classes as if they were sure.
    method
        How truths are found in the answers, as in `allalike.discover`.
    cv
        In how many folds, or how, samples are split to let the classifier join the crowd as one more worker; by default
        she does not. It needs ``predict_proba``.

    Attributes
    ----------
    classes_
        The labels that occur in the answers, in order.
    estimator_
        The classifier that has learned.
    posteriors_
        How probable each class is, one row per sample; NaN where nobody answered, unless the classifier joined.
    truth_
        The most probable class of each sample that has one.
    worker_weights_
        How much each worker counts, in the order of the columns of ``y`` (or of ids); of one column it is 1.
    trust_
        With ``cv``, how far the classifier was trusted as a worker: t above.
    result_
        What `allalike.discover` found: its tables of workers, groups and so on. None if ``y`` has one column only.

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
        """Find the truths of samples in the answers of workers, and learn from them.

        Parameters
        ----------
        X
            The features of the samples, in any form that the classifier takes.
        y
            The answers: a matrix with one row per sample and one column per worker, where -1, NaN, None and empty texts
            are no answers; or a table or rows of worker, task and label, where the task is the number of the sample
            from 0. One column only, or a vector, is taken for the truth.
        """
        (X,) = indexable(X)  # noqa: N806
        crowd = _read_answers(y, _num_samples(X))
        self.classes_ = crowd.classes
        if crowd.n_workers == 1:
            self.result_, self.worker_weights_ = None, np.ones(1)
            known = crowd.one_hot()
        else:
            self.result_ = _discover(crowd, self.method)
            self.worker_weights_ = _find_weights(self.result_, crowd.n_workers)
            known = _find_posteriors(self.result_, crowd)
        self.trust_ = 0.0
        if self.cv is not None and self.result_ is not None:
            known, self.trust_ = self._join(X, known, crowd)
        self.posteriors_ = known
        answered = ~np.isnan(known).any(axis=1)
        self.truth_ = self.classes_[known[answered].argmax(axis=1)]
        self.estimator_ = self._learn(X, known, np.flatnonzero(answered))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the class of each sample."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @_can("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return how probable each class is, in the order of ``classes_``."""
        check_is_fitted(self)
        return self._spread(self.estimator_, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._inner()).input_tags
        return tags

    def _inner(self) -> Any:
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _learn(self, X: Any, known: Floats, samples: Codes) -> Any:  # noqa: N803
        """Return the classifier that has learned the most probable classes, with how sure they are as weights."""
        estimator = clone(self._inner())
        weighs = _name_weight(estimator)
        sure = known[samples].max(axis=1)
        weight = {} if weighs is None or (sure == 1).all() else {weighs: sure}
        return estimator.fit(_safe_indexing(X, samples), self.classes_[known[samples].argmax(axis=1)], **weight)

    def _spread(self, estimator: Any, X: Any) -> Floats:  # noqa: N803
        """Return probabilities with a column for each class, also for those that the classifier never saw."""
        spread = np.zeros((_num_samples(X), len(self.classes_)))
        spread[:, np.searchsorted(self.classes_, estimator.classes_)] = estimator.predict_proba(X)
        return spread

    def _join(self, X: Any, known: Floats, crowd: _Crowd) -> tuple[Floats, float]:  # noqa: N803
        """Return the probabilities with the classifier among the workers, and how far she is trusted."""
        answered = np.flatnonzero(~np.isnan(known).any(axis=1))
        guess = np.full_like(known, np.nan)
        folds = check_cv(self.cv, known[answered].argmax(axis=1), classifier=True)
        for train, test in folds.split(_safe_indexing(X, answered), known[answered].argmax(axis=1)):
            learned = self._learn(X, known, answered[train])
            guess[answered[test]] = self._spread(learned, _safe_indexing(X, answered[test]))
        silent = np.setdiff1d(np.arange(len(known)), answered)
        if len(silent):
            guess[silent] = self._spread(self._learn(X, known, answered), _safe_indexing(X, silent))
        joined = _find_posteriors(_discover(crowd.with_worker(guess.argmax(axis=1)), self.method), crowd)
        return _combine(known, guess, joined)


class _Crowd(NamedTuple):
    """Who said what of which sample, as numbers."""

    sample: Codes
    worker: Codes
    label: Codes
    classes: Any
    n_samples: int
    n_workers: int

    def with_worker(self, label: Codes) -> _Crowd:
        """Return the answers with those of one more worker, who answers everything."""
        samples, last = np.arange(self.n_samples), np.full(self.n_samples, self.n_workers)
        return self._replace(
            sample=np.concatenate([self.sample, samples]),
            worker=np.concatenate([self.worker, last]),
            label=np.concatenate([self.label, label]),
        )

    def one_hot(self) -> Floats:
        """Return probabilities that are 1 for what the only worker said."""
        known = np.full((self.n_samples, len(self.classes)), np.nan)
        known[self.sample] = np.eye(len(self.classes))[self.label]
        return known


def _read_answers(y: Any, n_samples: int) -> _Crowd:
    columns = getattr(y, "columns", ())
    if set(map(str, columns)) >= _ROLES or (isinstance(y, list) and y and isinstance(y[0], tuple)):
        return _read_rows(y, n_samples)
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")  # in the words that scikit-learn checks
    matrix = np.asarray(y)
    if matrix.ndim > 2 or matrix.ndim == 0:
        raise InputError(f"The answers have {matrix.ndim} dimensions. Give one row per sample, one column per worker.")
    check_consistent_length(np.empty(n_samples), matrix)
    if matrix.ndim == 1:
        matrix = column_or_1d(matrix, warn=True)
        assert_all_finite(matrix, input_name="y")
        check_classification_targets(matrix)
    sample, worker = np.nonzero(~_find_missing(matrix, several=matrix.ndim == 2).reshape(n_samples, -1))
    said = matrix.reshape(n_samples, -1)[sample, worker]
    if not len(said):
        raise InputError("There are no answers: all cells are empty, NaN or -1.")
    if said.dtype.kind == "f" and np.isinf(said).any():
        raise InputError("Some answers are infinite. Give classes, and -1 or NaN where a worker says nothing.")
    if said.dtype.kind == "f" and matrix.ndim == 2 and (said == np.floor(said)).all():
        said = said.astype(np.int64)
    classes, label = np.unique(said, return_inverse=True)
    return _Crowd(sample, worker, label.reshape(-1), classes, n_samples, matrix.reshape(n_samples, -1).shape[1])


def _find_missing(matrix: Any, *, several: bool) -> npt.NDArray[np.bool_]:
    """Mark cells without an answer; in a vector of truths every number is one."""
    if not several:
        return np.zeros(matrix.shape, np.bool_)
    if matrix.dtype.kind in "iuf":
        return np.asarray((matrix == SILENT) | np.isnan(matrix), np.bool_)
    empty = [is_nothing(cell) or (isinstance(cell, str) and not cell.strip()) for cell in matrix.ravel()]
    return np.array(empty, np.bool_).reshape(matrix.shape)


def _read_rows(rows: Any, n_samples: int) -> _Crowd:
    """Return a table, or rows, of worker, task and label."""
    answers = read(rows, domain="categorical")
    tasks = answers.tasks.tolist()
    if strange := [task for task in tasks if not isinstance(task, int) or not 0 <= task < n_samples]:
        raise InputError(
            f"The task {strange[0]!r} is no sample: they are numbered from 0 to {n_samples - 1}, as the rows of X."
        )
    names = np.array(answers.encoding.decode(np.arange(answers.encoding.n_labels)).tolist())
    classes, place = np.unique(names, return_inverse=True)
    sample = np.repeat(np.array(tasks), np.diff(answers.starts))
    return _Crowd(
        sample, answers.worker.astype(np.intp), place[answers.label], classes, n_samples, len(answers.workers)
    )


def _discover(crowd: _Crowd, method: Any) -> Any:
    columns = {"worker": crowd.worker.tolist(), "task": crowd.sample.tolist(), "label": crowd.label.tolist()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # `result_.notes` has them all
        return discover(columns, domain="categorical", method=method)


def _find_weights(result: Any, n_workers: int) -> Floats:
    """Return the weights of all workers, 0 of those who said nothing."""
    weights = np.zeros(n_workers)
    weights[result.workers["worker"].to_numpy()] = result.workers["weight"]
    return weights


def _find_posteriors(result: Any, crowd: _Crowd) -> Floats:
    """Return how probable each class is; where the method does not say so, the truth is sure."""
    known = np.full((crowd.n_samples, len(crowd.classes)), np.nan)
    if result.posteriors is None:
        known[result.truth["task"]] = np.eye(len(crowd.classes))[result.truth["label"]]
        return known
    table = result.probabilities
    known[table["task"]] = 0.0
    known[np.ix_(table["task"], table.columns[1:].to_numpy(np.intp))] = table.iloc[:, 1:]
    return known


def _name_weight(estimator: Any) -> str | None:
    """Return the argument of `fit` that takes weights of samples, of the last step in a pipeline."""
    if hasattr(estimator, "steps"):
        name, last = estimator.steps[-1]
        return f"{name}__sample_weight" if has_fit_parameter(last, "sample_weight") else None
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


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
