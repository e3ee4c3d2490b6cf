"""Places on the Earth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allalike
from allalike.errors import LabelError
from crowds.samples import crowd

BERLIN, PARIS, TOKYO = [52.52, 13.405], [48.8566, 2.3522], [35.6762, 139.6503]


def haversine(left: list[float], right: list[float]) -> float:
    """Return the way on the ground, in kilometres."""
    (p, a), (q, b) = np.radians(left), np.radians(right)
    h = np.sin((p - q) / 2) ** 2 + np.cos(p) * np.cos(q) * np.sin((a - b) / 2) ** 2
    return float(2 * 6371.0088 * np.arcsin(np.sqrt(h)))


@pytest.mark.parametrize(("left", "right", "km"), [(BERLIN, PARIS, 877.5), (PARIS, TOKYO, 9712)])
def test_places_are_apart_by_the_line_between_them(left: list[float], right: list[float], km: float) -> None:
    assert haversine(left, right) == pytest.approx(km, rel=2e-3)
    answers = allalike.read([("ada", 1, left), ("bob", 1, right)], domain="place(distance=euclidean)")
    [chord] = answers.encoding.kernels.distance_between(answers.label[:1], answers.label[1:])
    assert chord == pytest.approx(2 * 6371.0088 * np.sin(haversine(left, right) / (2 * 6371.0088)))


def test_the_mean_is_on_the_surface_and_halfway() -> None:
    rows: list[Any] = [("ada", 1, BERLIN), ("bob", 1, PARIS), ("ada", 2, [0, 170]), ("bob", 2, [0, -170])]
    rows += [("ada", 3, [80, 0]), ("bob", 3, [80, 180])]
    found = allalike.discover(rows, domain="place", method="UA").truth["label"].tolist()
    assert haversine(found[0], BERLIN) == pytest.approx(haversine(found[0], PARIS))
    assert haversine(found[0], BERLIN) == pytest.approx(haversine(BERLIN, PARIS) / 2)
    assert found[1] == pytest.approx([0, 180])
    assert found[2][0] == pytest.approx(90)


def test_turning_the_earth_turns_the_truth_and_nothing_else() -> None:
    rows = crowd("place", seed=1, n=5, m=15)
    turned = [(worker, task, [lat, (lon + 100 + 180) % 360 - 180]) for worker, task, (lat, lon) in rows]
    one, other = (allalike.discover(each, domain="place") for each in (rows, turned))
    assert one.workers["weight"].tolist() == pytest.approx(other.workers["weight"].tolist(), rel=1e-6)
    for (lat, lon), found in zip(one.truth["label"], other.truth["label"], strict=True):
        assert haversine([lat, lon + 100], found) < 1e-4


def test_errors_of_workers_are_in_kilometres() -> None:
    rng = np.random.default_rng(2)
    spread = [1.0, 5.0, 5.0, 20.0, 50.0]  # kilometres in each direction
    rows = [
        (f"w{i}", t, (np.array([10.0, 20.0]) + rng.normal(0, km / 111.2, 2)).tolist())
        for i, km in enumerate(spread)
        for t in range(200)
    ]
    rmse = allalike.discover(rows, domain="place").workers["rmse"].to_numpy()
    assert rmse[3:] == pytest.approx(np.sqrt(2) * np.array(spread[3:]), rel=0.15)


def test_opposite_places_have_no_middle_and_are_tied() -> None:
    rows = [("ada", 1, [0, 0]), ("bob", 1, [0, 180]), ("ada", 2, [5, 5]), ("bob", 2, [5, 5])]
    assert allalike.discover(rows, domain="place", method="UA").truth["tied"].tolist() == [True, False]


@pytest.mark.parametrize("place", [[91, 0], [1, 2, 3], "here", [float("nan"), 1], [True, 1], 7, [0, 400]])
def test_what_is_no_place_is_named_with_its_row(place: Any) -> None:
    rows = [("ada", 1, "[1, 2]" if isinstance(place, str) else [1, 2]), ("bob", 1, place)]
    with pytest.raises((LabelError, ValueError), match="row 2"):
        allalike.read(rows, domain="place")
