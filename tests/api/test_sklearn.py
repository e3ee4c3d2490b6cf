"""A classifier of scikit-learn learns from a crowd, and joins it."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator

import allalike
from allalike.integrations.sklearn import CrowdClassifier

X, KNOWN = load_iris(return_X_y=True)
COLUMN_IS_A_WORKER = {"check_supervised_y_2d": "a matrix of one column is what one worker said, and needs no warning"}


def draw(seed: int = 0, per_sample: int = 2) -> npt.NDArray[np.int64]:
    """Return a few answers per sample, of workers who are right from 40 to 90 % of the time."""
    rng = np.random.default_rng(seed)
    right = np.linspace(0.4, 0.9, 12)
    said = np.where(rng.random((len(X), 12)) < right, KNOWN[:, None], rng.integers(0, 3, (len(X), 12)))
    return np.where(rng.random(said.shape).argsort(axis=1) < per_sample, said, -1)


@pytest.mark.long
def test_the_checks_of_scikit_learn_pass() -> None:
    done = check_estimator(CrowdClassifier(), expected_failed_checks=COLUMN_IS_A_WORKER, on_skip=None)
    assert {check["status"] for check in done} == {"passed", "skipped", "xfail"}
    assert [check["check_name"] for check in done if check["status"] == "xfail"] == list(COLUMN_IS_A_WORKER)


def test_truths_are_those_of_discover_and_weigh_what_is_learned() -> None:
    y = draw()
    model = CrowdClassifier(GaussianNB()).fit(X, y)
    result = allalike.discover(y, ties="first")  # of equally probable classes the model takes the first
    assert model.truth_.tolist() == result.truth["label"].tolist()
    np.testing.assert_allclose(model.worker_weights_, result.workers["weight"])
    table = result.probabilities.iloc[:, 1:].to_numpy()
    by_hand = GaussianNB().fit(X, table.argmax(axis=1), sample_weight=table.max(axis=1))
    np.testing.assert_allclose(model.predict_proba(X), by_hand.predict_proba(X))


def test_a_classifier_among_the_workers_makes_truths_better_where_answers_are_few() -> None:
    alone, joined = (CrowdClassifier(GaussianNB(), cv=cv).fit(X, draw(seed=3)) for cv in (None, 5))
    assert np.mean(joined.truth_ == KNOWN) > np.mean(alone.truth_ == KNOWN) + 0.05
    assert joined.trust_ > 0 == alone.trust_


def test_what_the_classifier_says_out_of_its_fold_is_multiplied_with_what_the_crowd_says() -> None:
    y, folds = draw(), KFold(3, shuffle=True, random_state=0)
    alone, joined = (CrowdClassifier(GaussianNB(), cv=cv).fit(X, y) for cv in (None, folds))
    crowd, guess = alone.posteriors_, np.empty_like(alone.posteriors_)
    for train, test in folds.split(X):
        learned = GaussianNB().fit(X[train], crowd[train].argmax(axis=1), sample_weight=crowd[train].max(axis=1))
        guess[test] = learned.predict_proba(X[test]).clip(1e-9)
    both = allalike.discover(np.column_stack([y, guess.argmax(axis=1)])).probabilities.iloc[:, 1:].to_numpy()
    frequent = both.mean(axis=0)
    tried = np.linspace(0, 3, 3001)
    powers = [softmax(np.log(frequent) + t * np.log(guess / frequent), axis=1) for t in tried]
    best = tried[np.argmax([(both * np.log(power)).sum() for power in powers])]
    assert joined.trust_ == pytest.approx(best, abs=2e-3)
    product = crowd * (guess / frequent) ** joined.trust_
    np.testing.assert_allclose(joined.posteriors_, product / product.sum(axis=1, keepdims=True), atol=1e-6)


def test_answers_may_be_a_matrix_or_a_frame_of_numbers_or_texts() -> None:
    y = draw()
    texts = np.where(y < 0, "", np.array(["a", "b", "c"])[y])
    nullable = pd.DataFrame(y).astype("Int64").replace(-1, pd.NA)
    forms: list[Any] = [y, np.where(y < 0, np.nan, y), pd.DataFrame(y), nullable, y.tolist()]
    found = [CrowdClassifier(GaussianNB()).fit(X, form).predict(X).tolist() for form in forms]
    assert all(each == found[0] for each in found)
    letters = CrowdClassifier(GaussianNB()).fit(X, texts).predict(X)
    assert ["abc".index(letter) for letter in letters] == found[0]


def test_a_vector_is_taken_for_the_truth() -> None:
    model = CrowdClassifier(GaussianNB(), cv=3).fit(X, KNOWN)
    np.testing.assert_allclose(model.predict_proba(X), GaussianNB().fit(X, KNOWN).predict_proba(X))
    assert cross_val_score(CrowdClassifier(GaussianNB()), X, KNOWN, cv=3).min() > 0.9
