"""Numbers on a circle: what begins again after a period."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import circmean

import allalike
from allalike import Circular, Record
from allalike.errors import LabelError, OptionError
from crowds.samples import crowd


def apart(left: float, right: float, period: float) -> float:
    encoding = allalike.read([("ada", 1, left), ("bob", 1, right)], domain=Circular(period=period))
    return float(encoding.encoding.kernels.distance_between(encoding.label[:1], encoding.label[1:])[0])


def test_directions_are_apart_as_their_points_on_a_circle() -> None:
    assert apart(350, 10, 360) == pytest.approx((1 - np.cos(np.radians(20))) / 2)
    assert apart(350, 10, 360) == pytest.approx(0.030154, abs=5e-7)
    assert apart(23, 1, 24) == pytest.approx((1 - np.cos(np.radians(30))) / 2)
    assert apart(-90, 270, 360) == pytest.approx(0, abs=1e-15)


def test_truths_are_the_circular_means_of_scipy() -> None:
    rows = crowd("circular", seed=1, n=6, m=20, missing=0.3)
    truth = allalike.discover(rows, domain="circular", method="UA").truth
    for task, label in zip(truth["task"], truth["label"], strict=True):
        expected = circmean([said for _, other, said in rows if other == task], high=360)
        assert np.cos(np.radians(label - expected)) == pytest.approx(1, abs=1e-12)


def test_a_number_and_the_same_a_period_later_are_one() -> None:
    rows = crowd("circular", seed=2, n=5, m=12)
    later = [(worker, task, said + 360 * (int(task[1:]) % 3 - 1)) for worker, task, said in rows]
    found, again = (allalike.discover(each, domain="circular", method="iP-TD") for each in (rows, later))
    assert found.workers["weight"].tolist() == pytest.approx(again.workers["weight"].tolist())
    assert found.truth["label"].tolist() == pytest.approx(again.truth["label"].tolist())
    assert found.truth["label"].between(0, 360, inclusive="left").all()


def test_turning_everything_turns_the_truth() -> None:
    rows = crowd("circular", seed=3, n=5, m=12)
    turned = [(worker, task, said + 77.5) for worker, task, said in rows]
    found, again = (allalike.discover(each, domain="circular", method="P-TD") for each in (rows, turned))
    assert found.workers["disparity"].tolist() == pytest.approx(again.workers["disparity"].tolist())
    assert ((found.truth["label"] + 77.5) % 360).tolist() == pytest.approx(again.truth["label"].tolist())


def test_opposite_directions_have_no_mean_and_one_is_drawn() -> None:
    rows = [(worker, task, 90 + 180 * worker) for worker in range(2) for task in range(40)]
    truth = allalike.discover(rows, domain="circular", method="UA").truth
    assert truth["tied"].all()
    assert set(truth["label"]) == {90, 270}
    assert truth["confidence"].max() < 1e-9


def test_a_field_of_a_record_may_be_circular() -> None:
    rows = [("ada", 1, {"wind": 350}), ("bob", 1, {"wind": 10}), ("ada", 2, {"wind": 1}), ("bob", 2, {"wind": 3})]
    found = allalike.discover(rows, domain=Record({"wind": "circular(period=360)"}), method="UA").truth
    assert found["wind"].tolist() == [0, 2]


def test_what_is_no_circle_is_refused() -> None:
    with pytest.raises(OptionError, match="period is -1. It must be more than 0"):
        Circular(period=-1)
    with pytest.raises(LabelError, match="'north' in row 2 is not a number"):
        allalike.read([("ada", 1, "12"), ("bob", 1, "north")], domain="circular")
