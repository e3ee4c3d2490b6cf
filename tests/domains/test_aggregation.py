"""Aggregation rules of every label type, compared with plain loops, other libraries and manual results."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax

import allalike
from allalike import Memory
from allalike._core.blocks.block import Block, Ties, group_labels
from allalike._core.masks import Mask
from allalike.domains.bitmap import Bitmap, fill_outline
from allalike.rules.geometric import geometric_median
from allalike.rules.levels import level_mean, level_median
from allalike.rules.majority import AnswerMasks, pixel_majority
from crowds.label_types import disc
from crowds.plain_distances import PLAIN
from crowds.samples import crowd, kind

Plain = Callable[[Any, list[Any]], Any]  # shares of workers and their labels -> label, or label and confidence
pytestmark = pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning", "ignore::allalike.ConvergenceWarning")


def majority(share: Any, on: Any) -> tuple[Any, float]:
    """Decide each part separately; confidence is the mean over all named parts."""
    weight = share @ on
    named = on.any(axis=0)
    return weight > 0.5 + 1e-9, float(np.maximum(weight, 1 - weight)[named].mean()) if named.any() else 1.0


def set_majority(share: Any, labels: list[Any]) -> tuple[Any, float]:
    elements = sorted({element for label in labels for element in label})
    taken, confidence = majority(share, np.array([[element in label for element in elements] for label in labels]))
    return [element for element, keep in zip(elements, taken, strict=True) if keep], confidence


def interval_majority(share: Any, labels: list[Any]) -> tuple[Any, float]:
    at = np.arange(-300, 700)
    on = np.array([[any(begin <= x < end for begin, end in label) for x in at] for label in labels])
    taken, confidence = majority(share, on)
    edges = np.flatnonzero(np.diff(taken.astype(int))) + 1
    return at[edges].reshape(-1, 2).tolist(), confidence


def mask_majority(share: Any, labels: list[Any]) -> tuple[Any, float]:
    heard = [np.ravel(label) for label, weight in zip(labels, share, strict=True) if weight]
    taken, confidence = majority(share[share > 0], np.array(heard))
    return taken.reshape(np.shape(labels[0])), confidence


def middle(share: Any, numbers: Any) -> float:
    """Return the midpoint of all numbers with at most half of the weight on either side."""
    fits = [x for x in numbers if max(share[numbers < x].sum(), share[numbers > x].sum()) <= 0.5 + 1e-12]
    return float(min(fits) + max(fits)) / 2


def pool(rule: str) -> Plain:
    def decide(share: Any, labels: list[Any]) -> list[float]:
        chances = np.array([list(label.values()) for label in labels])
        if rule == "mean":
            return list(share @ chances)
        if rule == "median":
            middles = np.array([middle(share, column) for column in chances.T])
            return list(middles / middles.sum())
        low, high = np.minimum(0.01, chances.max(axis=0)), np.maximum(0.99, chances.min(axis=0))
        return list(softmax(share @ np.log(np.clip(chances, low, high))))

    return decide


RULES: dict[str, Plain] = {
    "set": set_majority,
    "interval": interval_majority,
    "bitmap": mask_majority,
    "real": lambda share, labels: share @ np.array(labels),
    "real(rule=median)": lambda share, labels: middle(share, np.array(labels)),
    "vector": lambda share, labels: share @ np.array(labels),
    "vector(distance=cosine)": lambda share, labels: share @ np.array(labels),
    "circular": lambda share, labels: np.degrees(np.angle(share @ np.exp(1j * np.radians(labels)))) % 360,
    "probability": pool("log odds"),
    "probability(rule=mean)": pool("mean"),
    "probability(rule=median)": pool("median"),
}


@pytest.mark.parametrize("block_answers", [1, 1000])
@pytest.mark.parametrize("method", ["UA", "P-TD"])
@pytest.mark.parametrize("spec", RULES)
def test_truths_are_those_of_a_plain_loop(spec: str, method: str, block_answers: int) -> None:
    rows = crowd(spec.partition("(")[0], seed=2, n=6, m=12, missing=0.3)
    result = allalike.discover(rows, domain=spec, method=method, engine=Memory(block_answers=block_answers))
    weights = dict(zip(result.workers["worker"], result.workers["weight"], strict=True))
    for task, label, confidence in result.truth[["task", "label", "confidence"]].itertuples(index=False):
        answers = [(weights[who], said) for who, where, said in rows if where == task]
        share = np.array([weight for weight, _ in answers]) / sum(weight for weight, _ in answers)
        expected = RULES[spec](share, [said for _, said in answers])
        if isinstance(expected, tuple):
            assert np.array_equal(label, expected[0])
            assert confidence == pytest.approx(expected[1])
        else:
            np.testing.assert_allclose([*label.values()] if isinstance(label, dict) else label, expected, rtol=1e-9)


CHOSEN = [spec for spec in PLAIN if any(rule.name == "medoid" for rule in type(kind(PLAIN[spec][0])).rules)]


@pytest.mark.parametrize("spec", CHOSEN)
def test_the_medoid_is_an_answer_with_the_least_sum_of_distances(spec: str) -> None:
    name, apart = PLAIN[spec]
    rows = crowd(name, seed=9, n=5, m=8, missing=0.3)
    domain = kind("custom") if spec == "custom" else f"{spec.rstrip(')')}{', ' if '(' in spec else '('}rule=medoid)"
    truth = allalike.discover(rows, domain=domain, method="UA").truth
    for task, label in zip(truth["task"], truth["label"], strict=True):
        labels = [said for _, where, said in rows if where == task]
        cost = [sum(apart(one, other) for other in labels) for one in labels]
        mine = sum(apart(strip(label), other) for other in labels)
        assert mine == pytest.approx(min(cost), rel=1e-9, abs=1e-12)


def strip(label: Any) -> Any:
    """Return only the positions and classes of objects."""
    told = {"confidence", "class_confidence", "spread", "n_workers"}
    if isinstance(label, list) and label and isinstance(label[0], dict):
        return [{name: value for name, value in thing.items() if name not in told} for thing in label]
    return label


@pytest.mark.parametrize("name", ["set", "interval", "vector", "text", "custom"])
def test_the_best_worker_is_the_one_with_the_largest_weight(name: str) -> None:
    rows = crowd(name, seed=4, n=5, m=8, missing=0.3)
    domain = replace(kind(name), rule="best worker")
    result = allalike.discover(rows, domain=domain, method="P-TD")
    weights = dict(zip(result.workers["worker"], result.workers["weight"], strict=True))
    for task, label in zip(result.truth["task"], result.truth["label"], strict=True):
        best = max((weights[who], said) for who, where, said in rows if where == task)
        assert label == best[1]


# Label type, labels of one task, the unweighted estimate, and its confidence if defined.
BY_HAND: list[tuple[Any, ...]] = [
    ("set", (["x", "y"], ["x"]), ["x"], 0.75),  # half is out
    ("set", ([], ["x"], ["x"]), ["x"]),
    ("set", ([], []), [], 1.0),
    ("set", ([10, 9], [9, 10], [2]), [9, 10]),
    ("set", ([("a", 1)], [("a",), ("a", 1)]), [("a", 1)]),
    ("interval", ([[0, 4]], [[2, 6]]), [[2, 4]], 4 / 6),
    ("interval", ([[0, 5]], [[0, 9]], [[5, 9]]), [[0, 9]]),  # members change, the majority goes on
    ("interval", ([], [[3, 3]]), [], 1.0),
    ("bitmap", ([[1, 1, 0]], [[0, 1, 1]]), [[0, 1, 0]], 2 / 3),
    ("bitmap", ([[0, 0]], [[0, 0]]), [[0, 0]], 1.0),
    ("tree", ("a/b/c", "a/b", "a/d"), "a/b", 2 / 3),
    ("tree", ("a/b/c", "a/b/c", "a/b", "x"), "a/b/c"),  # two of three at a/b or below
    ("tree", ("a/b", "a/c", "a/d"), "a"),
    ("tree", ("a", "b", "b/c"), "b"),  # most at the top, where half of the rest stop
    ("ordinal", (4, 5, 1), 4),
    ("ordinal(rule=mean)", (4, 5, 1), 3),  # of 10/3
    ("ordinal(levels=[poor, fair, good, great])", ("great", " good ", "poor"), "good"),
    ("place", ([0, 170], [0, -170]), [0, 180]),
    ("place", ([80, 0], [80, 180]), [90, 90]),
    ("place", ([0, 0], [60, 90]), [np.degrees(np.arctan2(np.sqrt(3), np.sqrt(5))), np.degrees(np.arctan(1 / 2))]),
    ("vector(distance=cosine)", ([1.0, 0.0], [-1.0, 0.0]), [0, 0]),
    ("ranking", ("x > y>z", "x>z>y", '["x", "y", "z"]'), ["x", "y", "z"]),
    ("ranking", ("[3, 1.0, 2]", "[3, 1, 2]"), [3, 1, 2]),
    ("ranking", ("10>9", "9>10"), ["9", "10"]),  # the first of equals is the first in order
    ("ranking", ("x10>x9", "x9>x10"), ["x10", "x9"]),
    ("ranking(rule=modal)", ("c>a>b", "a>c>b"), ["a", "c", "b"]),
    ("ranking(ties=keep)", ("a>b=c", "a>{c,b}"), ["a", ["b", "c"]]),
    ("text(lower=True)", ("The Cat", "the cat", "a dog"), "The Cat", 2 / 3),
    ("text", ("  Ünïcode\t猫 \U0001f600 ", "  Ünïcode\t猫 \U0001f600 ", "x"), "  Ünïcode\t猫 \U0001f600 "),
    ("probability", (0.5, 0.9), 0.75),  # odds of 1 and 9: 3
    ("probability", (0.5, 1.0), 0.9086748),  # 1 counts as 0.99, whose odds are 99: their root, 9.949874
    ("probability", (0.5, 0.0), 0.0913252),
    ("probability", (0.0, 1.0), 0.5),
    ("probability(rule=mean)", (0.5, 0.9), 0.7),
    ("probability(rule=median)", (0.1, 0.2, 0.6, 0.9), 0.4),
    ("probability", ([0.8, 0.1, 0.1], [0.2, 0.4, 0.4]), [0.5, 0.25, 0.25]),  # roots of 0.16, 0.04 and 0.04
    ("probability(rule=median)", ([1, 0, 0], [0, 1, 0], [0, 0, 1]), [1 / 3] * 3),
    ("probability", (0.003, 0.003), 0.003),
    ("probability", (0.001, 0.0), 0.001),  # clipping does not exceed the largest answer
    ("probability", ([0.34, 0.33, 0.34],), [34 / 101, 33 / 101, 34 / 101]),
    ("probability(sharpen=2)", (0.75, 0.75), 0.9),
    ("probability(sharpen=0.5, rule=mean)", (0.75, 0.75), float(expit(0.5 * logit(0.75)))),
    ("probability(sharpen=2)", ([0.5, 0.3, 0.2], [0.5, 0.3, 0.2]), [25 / 38, 9 / 38, 4 / 38]),
    ("probability(sharpen=30)", (1.0, 1.0), 1.0),
    ("date(distance=absolute)", ("2024-02-28", "2024-02-29", "9999-12-31"), "2024-02-29"),
]
BY_HAND += [
    ("date", labels, mean)
    for *labels, mean in [
        ("2023-02-28", "2023-03-01", "2023-03-01"),  # half a day is rounded up,
        ("1969-12-31", "1970-01-01", "1970-01-01"),  # also before 1970
        ("1900-02-28", "1900-03-02", "1900-03-01"),  # not a leap year
        ("0001-01-01", "0001-01-03", "0001-01-02"),
        ("9999-12-29", "9999-12-31", "9999-12-30"),
        ("2024-01-01T10:00", "2024-01-01 10:00:01", "2024-01-01T10:00:00.500"),
        ("9999-01-01T10:00:00.001", "9999-01-01T10:00:00,002", "9999-01-01T10:00:00.002"),
        ("2024-03-31T00:00Z", "2024-03-31T04:00Z", "2024-03-31T02:00:00Z"),
        ("2024-01-01T10:00Z", "2024-01-01T14:00+02:00", "2024-01-01T11:00:00Z"),
        ("2024-01-01T10:00-0330", "2024-01-01T12:00-03:30", "2024-01-01T11:00:00-03:30"),
        (date(2024, 1, 1), date(2024, 1, 3), date(2024, 1, 2)),
        (np.datetime64("2024-01-01"), np.datetime64("2024-01-03"), date(2024, 1, 2)),
        (np.datetime64("2024-01-01", "ns"), np.datetime64("2024-01-03", "ns"), pd.Timestamp("2024-01-02")),
        (datetime(2024, 1, 1), datetime(2024, 1, 1, 1), pd.Timestamp("2024-01-01T00:30")),
    ]
]


@pytest.mark.parametrize(("spec", "labels", "expected", "confidence"), [(*case, None)[:4] for case in BY_HAND])
def test_truths_are_those_found_by_hand(spec: str, labels: Any, expected: Any, confidence: float | None) -> None:
    for order in (labels, labels[::-1]):
        rows = [(worker, 1, label) for worker, label in enumerate(order)]
        truth = allalike.discover(rows, domain=spec, method="UA", ties="first").truth
        [found] = truth["label"]
        if spec.startswith(("place", "probability", "vector")):
            assert found == pytest.approx(expected, abs=5e-8)
        elif spec.startswith("text(lower"):
            assert found.lower() == expected.lower()
        else:
            assert np.array_equal(found, expected) if spec == "bitmap" else found == expected
        if confidence is not None:
            assert truth["confidence"].tolist() == pytest.approx([confidence])


@settings(max_examples=20)
@example([0.0, 1e-175])
@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=6))
def test_the_pool_of_two_options_is_the_mean_of_logits_of_scipy(chances: list[float]) -> None:
    top, bottom = max(chances), min(chances)
    clipped = np.clip(chances, min(0.01, top), max(0.99, bottom))
    expected = chances[0] if top == bottom or top == 0 or bottom == 1 else expit(logit(clipped).mean())
    rows = [(worker, 1, chance) for worker, chance in enumerate(chances)]
    found = allalike.discover(rows, domain="probability", method="UA").truth["label"][0]
    assert found == pytest.approx(expected, abs=1e-12)


def block_of(points: Any) -> Block:
    """Return a block of points[worker, task, coordinate]."""
    n, m, d = points.shape
    return replace(Block.of(np.arange(n * m).reshape(n, m)), label=points.transpose(1, 0, 2).reshape(-1, d))


def unrest(points: Any, weight: Any, label: Any) -> float:
    """Return the violation of the optimality condition of a geometric median, relative to the weight."""
    away = points - label
    length = np.linalg.norm(away, axis=1)
    here = length <= 1e-14 * length.max()
    pull = (np.where(here, 0, weight) / np.where(here, 1, length)) @ away
    return max(0.0, float(np.linalg.norm(pull) - weight[here].sum()) / float(weight.sum()))


@pytest.mark.parametrize(("n", "d"), [(3, 2), (4, 2), (5, 3), (10, 1), (7, 20), (30, 4)])
def test_geometric_medians_meet_their_condition(n: int, d: int) -> None:
    rng = np.random.default_rng(n * d)
    points, weight = rng.standard_normal((n, 300, d)), rng.uniform(0, 1, n)
    points[:, ::3, 1:] *= 1e-3  # almost on a line
    points[: n // 2, 1::3] = points[:1, 1::3]  # several equal points
    found = geometric_median(block_of(points), weight, np.zeros(n), Ties()).label
    assert max(unrest(points[:, t], weight, found[t]) for t in range(300)) < 1e-8


def test_geometric_medians_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    points, weight = rng.standard_normal((6, 10, 3)) + 5, rng.uniform(0.1, 1, 6)
    found = geometric_median(block_of(points), weight, np.zeros(6), Ties()).label

    def cost(z: Any, task: int) -> float:
        return float(weight @ np.linalg.norm(points[:, task] - z, axis=1))

    for task in range(10):
        best = minimize(cost, points[:, task].mean(axis=0), (task,), method="Nelder-Mead", options={"xatol": 1e-9})
        assert cost(found[task], task) <= best.fun * (1 + 1e-9)
        np.testing.assert_allclose(found[task], best.x, atol=1e-4)


@pytest.mark.parametrize("name", ["set", "vector", "ranking", "ordinal", "tree", "circular", "interval"])
def test_workers_without_any_weight_count_the_same(name: str) -> None:
    read = allalike.read(crowd(name, seed=1, n=4, m=5), domain=kind(name))
    (block,) = map(read.encoding.prepare, read.blocks(1000))
    none, ones = (read.encoding.kernels.decide(block, w, np.zeros(4), Ties()) for w in (np.zeros(4), np.ones(4)))
    assert read.encoding.decode(none.label).tolist() == read.encoding.decode(ones.label).tolist()
    np.testing.assert_array_equal(none.tied, ones.tied)


def test_exactly_half_of_the_weight_is_out_even_where_sums_round() -> None:
    packed = np.empty(4, object)
    packed[:] = [Mask.of(np.array([[on]])) for on in (True, True, True, False)]
    masks, halves = (
        Block.of(np.arange(4)[:, None]).keeping(AnswerMasks(packed)),
        np.array([0.1, 0.2, 0.3, 0.1 + 0.2 + 0.3]),
    )
    found = pixel_majority(masks, halves, np.zeros(4), Ties())
    assert not found.label[0].pixels().any()
    assert found.confidence[0] == pytest.approx(0.5)
    read = allalike.read([(f"w{i}", 1, ["x"] if i < 3 else []) for i in range(6)], domain="set")
    (block,) = map(read.encoding.prepare, read.blocks(100))
    weights = np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1]) * (1 + 1e-15)
    assert read.encoding.kernels.decide(block, weights, np.zeros(6), Ties()).label[0] == ()


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 30), st.floats(0.2, 0.9))
def test_packed_masks_keep_their_pixels_and_are_filled_as_by_scipy(
    seed: int, height: int, width: int, share: float
) -> None:
    pixels = np.random.default_rng(seed).random((height, width)) < share
    mask = Mask.of(pixels)
    assert np.array_equal(mask.pixels(), pixels)
    assert mask.area == pixels.sum()
    assert mask.bits.size <= height * -(-width // 8)
    assert np.array_equal(fill_outline(pixels), ndimage.binary_fill_holes(pixels))


def test_outlines_are_filled_when_asked_and_a_gap_is_warned_of() -> None:
    solid = disc(20, 30, (10, 14), 6)
    outline = solid & ~ndimage.binary_erosion(solid)
    assert np.array_equal(Bitmap(fill=True)._parse(outline).pixels(), solid)
    assert np.array_equal(Bitmap()._parse(outline).pixels(), outline)
    with pytest.warns(UserWarning, match="added no pixels"):
        Bitmap(fill=True)._parse([[1, 1, 1], [1, 0, 0], [1, 1, 1]])


def rate(answers: list[int]) -> Block:
    """Return a block of one task."""
    block = Block.of([[level] for level in answers])
    return block.keeping(group_labels(block, np.arange(max(answers) + 1, dtype=np.uint64)))


def test_the_median_level_has_the_least_weighted_sum_of_distances() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        levels, weights = rng.integers(0, 6, 6), rng.uniform(0.1, 1, 6)
        cost = (np.abs(np.arange(6)[:, None] - levels) * weights).sum(axis=1)
        label = int(level_median(rate([*levels.tolist()]), weights, np.zeros(6), Ties()).label[0])
        assert cost[label] == pytest.approx(cost.min())


def test_between_two_levels_the_heavier_one_is_taken_and_equal_ones_are_drawn() -> None:
    found = level_median(rate([0, 1, 3, 3]), np.ones(4), np.zeros(4), Ties())
    assert (found.label.tolist(), found.tied.tolist(), found.confidence.tolist()) == ([3], [False], [0.5])
    assert level_mean(rate([0, 0, 1, 3]), np.ones(4), np.zeros(4), Ties()).label.tolist() == [1]
    drawn = [level_median(rate([0, 3]), np.ones(2), np.zeros(2), Ties(seed)) for seed in range(20)]
    assert {int(found.label[0]) for found in drawn} == {0, 3}  # never an unanswered level between them
    assert all(found.tied[0] for found in drawn)


@pytest.mark.parametrize(
    ("spec", "labels"),
    [("circular", (90, 270)), ("tree", ("x", "y")), ("ranking", ("a>b", "b>a")), ("spans", ([[0, 10]], [[0, 11]]))],
)
def test_answers_without_a_middle_are_tied_and_one_is_drawn(spec: str, labels: tuple[Any, Any]) -> None:
    rows = [(worker, task, labels[worker]) for worker in range(2) for task in range(60)]
    truth = allalike.discover(rows, domain=spec, method="UA").truth
    assert truth["tied"].all()
    taken = truth["label"].astype(str).value_counts().tolist()
    assert len(taken) == 2
    assert min(taken) > 15
