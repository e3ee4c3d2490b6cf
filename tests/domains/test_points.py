"""Points: their forms, the radius, names, distances and middles."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import allalike
from allalike import Points, Result
from allalike._core.columns.column import Column
from allalike.distances.nearness import find_near
from allalike.errors import LabelError, OptionError
from allalike.testing import check_domain
from crowds.samples import Row, crowd
from running.program import call

ROWS = [("ada", 1, [[0, 0], [50, 50]]), ("bob", 1, [[3, 4], [50, 50]]), ("eve", 1, [[0, 0]])]


def solve(rows: list[Row], method: str = "UA", **options: Any) -> Result:
    return allalike.discover(rows, domain=Points(**{"radius": 10, **options}), method=method, plain=True)


def found(result: Result) -> list[tuple[float, ...]]:
    return [tuple(thing[axis] for axis in "xyz" if axis in thing) for thing in result.truth["label"][0]]


def distances(*labels: Any, **options: Any) -> list[float]:
    """Return the distances of all pairs of labels."""
    column = Column("label", list(labels))
    encoding = Points(**{"radius": 10, **options}).learn(column)
    codes = encoding.encode(column)
    left, right = np.triu_indices(len(labels), 1)
    measured: list[float] = encoding.kernels.distance_between(codes[left], codes[right]).tolist()
    return measured


def test_three_workers_are_as_far_apart_as_is_known() -> None:
    assert distances(*(label for _, _, label in ROWS)) == pytest.approx([1 / 4, 1 / 3, 2 / 3])
    workers = solve(ROWS, "P-TD(weighting='max')").workers
    assert workers["disparity"].tolist() == pytest.approx([7 / 24, 11 / 24, 12 / 24])
    assert workers["weight"].tolist() == pytest.approx([5 / 6, 1 / 6, 0])


def test_truths_are_the_means_of_what_most_have_seen() -> None:
    result = solve(ROWS, quorum=0.5)
    np.testing.assert_allclose(found(result), [(1, 4 / 3), (50, 50)])
    assert result.objects["confidence"].tolist() == pytest.approx([1, 2 / 3])
    assert result.truth["count"].tolist() == [2]
    np.testing.assert_allclose(found(solve(ROWS, "P-TD(weighting='max')")), [(0.5, 2 / 3), (50, 50)])


def plain_distance(left: list[Any], right: list[Any], *, form: str) -> float:
    """Compare two labels as it is defined."""
    if not left or not right:
        return float(bool(left) != bool(right))
    apart = np.linalg.norm(np.array(left)[:, None] - np.array(right)[None], axis=2)
    near = np.maximum(1 - apart / 10, 0) if form == "soft" else 1.0 * (apart < 10)
    matched = near[linear_sum_assignment(near, maximize=True)].sum()
    return float(1 - 2 * matched / (len(left) + len(right)))


@pytest.mark.parametrize("form", ["soft", "hard"])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_distances_are_what_a_plain_loop_says(form: str, width: int) -> None:
    rng = np.random.default_rng(width)
    labels = [rng.uniform(0, 40, (size, width)).round(1).tolist() for size in [*rng.integers(0, 8, 25), 0, 3]]
    expected = [plain_distance(one, other, form=form) for one, other in combinations(labels, 2)]
    assert distances(*labels, form=form) == pytest.approx(expected, abs=1e-12)
    rows = [(worker, 1, label) for worker, label in enumerate(labels)]
    agreed = allalike.agreement(rows, domain=Points(radius=10, form=form))
    assert agreed.observed == pytest.approx(np.mean(expected))


def test_a_tree_finds_the_pairs_that_a_plain_loop_finds() -> None:
    rng = np.random.default_rng(4)
    points, cell = rng.uniform(1e6, 1e6 + 30, (300, 2)).round(0), rng.integers(0, 5, 300)
    left, right = find_near(points, cell, 5.0)
    expected = {
        (i, j)
        for i, j in combinations(range(300), 2)
        if cell[i] == cell[j] and np.linalg.norm(points[i] - points[j]) <= 5
    }
    assert {tuple(sorted(pair)) for pair in zip(left.tolist(), right.tolist(), strict=True)} == expected
    assert len(left) == len(expected)


def test_the_geometric_median_is_where_the_sum_of_distances_is_least() -> None:
    rng = np.random.default_rng(5)
    clicks = rng.normal(0, 1.5, (5, 2))
    rows = [(worker, 1, [click.tolist()]) for worker, click in enumerate(clicks)]
    [middle] = found(solve(rows, middle="median", radius=40))

    def cost(place: Any) -> float:
        return float(np.linalg.norm(clicks - place, axis=1).sum())

    assert all(cost(middle) <= cost(middle + step) for step in rng.normal(0, 0.05, (200, 2)))
    far = [*rows[:4], (4, 1, [[15.0, 15.0]])]
    assert np.linalg.norm(found(solve(far, middle="median", radius=40))[0]) < np.linalg.norm(
        found(solve(far, radius=40))
    )


def test_a_worker_supports_a_thing_once() -> None:
    rows = [("ada", 1, [[0, 0], [1, 0], [2, 0]]), ("bob", 1, []), ("eve", 1, [[0, 0]])]
    assert found(solve(rows, quorum=0.5)) == [(0, 0)]


NAMES = ["nose", "chin"]


def test_named_points_are_compared_by_name_wherever_they_are() -> None:
    one, other = [[0, 0, "nose"], [5, 0, "chin"]], [[0, 5, "nose"]]
    assert distances(one, other, names=NAMES) == pytest.approx([1 - 2 * 0.5 / 3])
    crossed = [[5, 0, "nose"], [0, 0, "chin"]]
    assert distances(one, crossed, names=NAMES) == pytest.approx([0.5])
    rows = [("ada", 1, [[0, 0, "nose"]]), ("bob", 1, [[0, 0, "nose"]]), ("eve", 1, [[90, 0, "nose"], [0, 0, "chin"]])]
    result = solve(rows, names=NAMES, quorum=0.5)
    assert result.truth["label"][0][0]["class"] == "nose"
    assert found(result) == [(30, 0)]
    assert result.objects["supporters"].tolist() == [3]


@pytest.mark.parametrize(
    "keypoints", [[1, 2, 2, 0, 0, 0], {"keypoints": [1, 2, 1, 0, 0, 0]}, [{"keypoints": [1, 2, 2, 9, 9, 0]}]]
)
def test_key_points_of_coco_have_names_and_may_be_absent(keypoints: Any) -> None:
    assert Points(radius=1, names=NAMES).parse(keypoints) == ((1.0, 2.0, "nose"),)


@pytest.mark.parametrize(
    "label",
    [
        [[1, 2, "a"]],
        '[[1, 2, "a"]]',
        [{"x": 1, "y": 2, "label": "a"}],
        [{"x": 1, "y": 2, "width": 0.4, "keypointlabels": ["a"]}],  # Label Studio
        [{"x": 1, "y": 2, "tool": "a", "frame": 0, "details": []}],  # Zooniverse
    ],
)
def test_points_of_tools_are_the_same_points(label: Any) -> None:
    assert Points().parse(label) == ((1.0, 2.0, "a"),)


def test_moments_are_points_on_one_axis() -> None:
    rows = [("ada", 1, [3.2, 7.9]), ("bob", 1, [3.4, 20.0]), ("eve", 1, [3.3])]
    result = solve(rows, radius=0.5, quorum=0.5)
    np.testing.assert_allclose(found(result), [(3.3,)])
    assert list(result.objects)[:2] == ["task", "x"]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ([[0, float("nan")]], "not finite"),
        ([[0, float("inf")]], "not finite"),
        ([["1", 2]], "not a number"),
        ([[0, 0], [0, 0, 0]], "2 and 3 coordinates"),
        ([{"y": 1}], "no coordinates"),
        ([{"x": 1, "y": 2, "keypointlabels": ["a", "b"]}], "one class"),
        ([[]], "nowhere"),
        ([[0, 1, "a"], [0, 1]], "only some have one"),
        ([[0, 0]] * 10_001, "raise most="),
        ([{"keypoints": [1, 2, 2]}], r"names=\["),
    ],
)
def test_what_is_no_point_is_refused_with_its_row(label: Any, reason: str) -> None:
    with pytest.raises(LabelError, match=rf"row 2.*{reason}"):
        allalike.read([("ada", 1, [[0, 2]]), ("bob", 1, label)], domain="points(radius=1)")


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ([[1, 2, "nose"], [3, 4, "nose"]], "two points 'nose'"),
        ([[1, 2, "ear"]], "names has nose, chin"),
        ([1, 2], "need 6"),
    ],
)
def test_points_with_other_names_than_said_are_refused(label: Any, reason: str) -> None:
    with pytest.raises(LabelError, match=rf"row 2.*{reason}"):
        allalike.read([("ada", 1, [[0, 2, "nose"]]), ("bob", 1, label)], domain=Points(radius=1, names=NAMES))


def test_points_of_different_dimensions_are_refused() -> None:
    with pytest.raises(LabelError, match="row 1 is in 2 dimensions, row 2 is in 1 dimension"):
        allalike.read([("ada", 1, [[0, 2]]), ("bob", 1, [0, 2])], domain="points(radius=1)")


@pytest.mark.parametrize("options", [{"radius": 0}, {"radius": -1}, {"names": "nose"}, {"names": ["a", "a"]}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        Points(**options)


def test_a_radius_is_suggested_and_never_applied(tmp_path: Any) -> None:
    path = tmp_path / "clicks.csv"
    path.write_text('worker,task,label\nada,1,"[[0, 0], [30, 40]]"\nbob,1,"[[1, 1], [90, 90]]"\n', encoding="utf-8")
    with pytest.raises(LabelError, match=r"50 is suggested.*domain='points\(radius=50\)'"):
        allalike.discover(path, domain="points")
    refused = call("discover", path.name, "--domain", "points(middle=median)", folder=tmp_path)
    assert refused.returncode == 2
    assert "points(radius=50, middle=median)" in refused.stderr.replace("\n", " ")
    with pytest.raises(LabelError, match="suggest none"):
        allalike.read([("ada", 1, [[0, 0]]), ("bob", 1, [])], domain="points")


@pytest.mark.parametrize(
    "options", [{"middle": "median"}, {"form": "hard", "distance": "jaccard"}, {"distance": "count"}]
)
def test_points_keep_the_laws_of_domains(options: dict[str, Any]) -> None:
    check_domain(Points(radius=6, **options), crowd("points", seed=5, n=5, m=5, missing=0.2))


def test_moving_and_scaling_all_points_moves_and_scales_the_truth() -> None:
    rows = crowd("points", seed=6, n=5, m=6)
    first = allalike.discover(rows, domain=Points(radius=6, quorum=0.4), method="iP-TD")
    moved = [
        (worker, task, [{**point, "x": 4 * point["x"] - 8, "y": 4 * point["y"] + 16} for point in label])
        for worker, task, label in rows
    ]
    other = allalike.discover(moved, domain=Points(radius=24, quorum=0.4), method="iP-TD")
    np.testing.assert_allclose(other.workers["weight"], first.workers["weight"], rtol=1e-9)
    np.testing.assert_allclose(other.objects["x"], 4 * first.objects["x"] - 8, atol=1e-9)
    np.testing.assert_allclose(other.objects["y"], 4 * first.objects["y"] + 16, atol=1e-9)


def test_jaccard_keeps_the_triangle() -> None:
    rng = np.random.default_rng(8)
    labels = [rng.uniform(0, 25, (size, 2)).tolist() for size in rng.integers(0, 5, 14)]
    matrix = np.zeros((14, 14))
    matrix[np.triu_indices(14, 1)] = distances(*labels, distance="jaccard")
    matrix += matrix.T
    assert (matrix[:, None] <= matrix[:, :, None] + matrix[None] + 1e-9).all()
