"""Distances of every label type, compared with plain definitions and other libraries."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import allalike
from allalike import DOMAINS, Domain, Memory
from allalike._core.blocks.block import Block, group_labels
from allalike._core.columns.column import Column
from allalike._core.registry import make
from allalike.distances import absolute, jaccard, matching, texts
from allalike.distances.matching import match
from crowds import plain_distances as plain
from crowds.label_types import distance
from crowds.plain_distances import PLAIN
from crowds.samples import crowd

Floats = npt.NDArray[np.float64]


def domain_of(spec: str) -> Domain:
    made: Domain = allalike.Custom(distance=distance) if spec == "custom" else make(spec, DOMAINS, "domain")
    return made


def measure(spec: str, labels: list[Any]) -> Floats:
    """Return the distances between all pairs of labels."""
    column = Column("label", labels)
    encoding = domain_of(spec).learn(column)
    codes = encoding.encode(column)
    i, j = (index.ravel() for index in np.indices((len(labels), len(labels))))
    return encoding.kernels.distance_between(codes[i], codes[j]).reshape(len(labels), -1)


@pytest.mark.parametrize("block_answers", [1, 1000])
@pytest.mark.parametrize("spec", PLAIN)
def test_disparity_is_the_mean_of_plain_distances_to_the_others(spec: str, block_answers: int) -> None:
    name, apart = PLAIN[spec]
    rows = crowd(name, seed=1, n=5, m=12, missing=0.4)
    engine = Memory(block_answers=block_answers)
    workers = allalike.discover(rows, domain=domain_of(spec), method="UA", engine=engine).workers
    for worker, found in zip(workers["worker"], workers["disparity"], strict=True):
        others = [(label, task) for who, task, label in rows if who != worker]
        mine = {task: label for who, task, label in rows if who == worker}
        expected = np.mean([apart(mine[task], label) for label, task in others if task in mine])
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


GRID = st.integers(0, 12)
NAME = st.sampled_from("ab")
CELLS = st.tuples(GRID, GRID).map(lambda pair: sorted(pair))
BOX = st.tuples(GRID, GRID, GRID, GRID, NAME).map(lambda b: [*map(min, b[:2], b[2:4]), *map(max, b[:2], b[2:4]), b[4]])
SPAN = st.tuples(GRID, st.integers(1, 6), NAME).map(lambda s: [s[0], s[0] + s[1], s[2]])
WORDS = st.lists(st.sampled_from(["a", "b", "c", "A", "é", "猫"]), max_size=12).map(" ".join)
# Labels with properties that are rare in crowds: empty ones, ties, touching borders, other alphabets.
DRAWN: dict[str, st.SearchStrategy[Any]] = {
    "set": st.lists(st.sampled_from("abcdefghi"), unique=True, max_size=9),
    "interval": st.lists(CELLS, max_size=4),
    "bitmap": st.lists(st.lists(st.booleans(), min_size=11, max_size=11), min_size=3, max_size=3),
    "boxes": st.lists(BOX, max_size=5),
    "spans": st.lists(SPAN, max_size=5),
    "points": st.lists(st.tuples(GRID, GRID, NAME).map(list), max_size=6),
    "text": WORDS | st.text("abé猫\U0001f600 ", max_size=8),
}
RARE = [spec for spec, (name, _) in PLAIN.items() if name in DRAWN]


@pytest.mark.parametrize("spec", RARE)
@settings(max_examples=15)
@given(data=st.data())
def test_distances_of_rare_labels_are_the_plain_ones(spec: str, data: st.DataObject) -> None:
    name, apart = PLAIN[spec]
    labels = data.draw(st.lists(DRAWN[name], min_size=2, max_size=5))
    found = measure(spec, labels)
    for i, j in np.ndindex(*found.shape):
        assert found[i, j] == pytest.approx(apart(labels[i], labels[j]), abs=1e-9)


METRICS = ["set", "interval", "boxes(distance=jaccard, overlap=0)", "points(radius=6, distance=jaccard)", "bitmap"]


@pytest.mark.parametrize("spec", METRICS)
@settings(max_examples=15)
@given(data=st.data())
def test_jaccard_keeps_the_triangle(spec: str, data: st.DataObject) -> None:
    found = measure(spec, data.draw(st.lists(DRAWN[PLAIN[spec][0]], min_size=3, max_size=4)))
    assert (found[:, None] <= found[:, :, None] + found[None] + 1e-9).all()


@pytest.mark.parametrize(
    ("spec", "module", "limit", "value"),
    [
        ("set", jaccard, "_ELEMENTS_PER_CHUNK", 7),
        ("interval", matching, "CELLS_PER_CHUNK", 50),
        ("text", texts, "_ENTRIES_AT_ONCE", 50),
        ("text", texts, "_LARGEST_CODE", 100),
    ],
)
def test_chunks_do_not_change_distances(
    spec: str, module: Any, limit: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = [label for _, _, label in crowd(spec, seed=0, n=5, m=8)]
    whole = measure(spec, labels)
    monkeypatch.setattr(module, limit, value)
    np.testing.assert_allclose(measure(spec, labels), whole, rtol=0, atol=1e-15)


def test_counts_of_words_beyond_a_byte_are_kept() -> None:
    labels = [" ".join(words) for words in (["a"] * 1000, ["a"] * 700, ["b", *["a"] * 300])]
    expected = [[plain.gleu(a, b) for b in labels] for a in labels]
    np.testing.assert_allclose(measure("text", labels), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("distance", ["gleu", "edit", "tokens"])
def test_labels_that_nobody_gave_are_compared_as_those_in_the_store(distance: str) -> None:
    answers = allalike.read(crowd("text", seed=0, n=6, m=5), domain=f"text(distance={distance})")
    kernels = answers.encoding.kernels
    [block] = map(answers.encoding.prepare, answers.blocks(100))
    first = block.label[block.starts]
    stored = kernels.distance_to(block, first)
    np.testing.assert_array_equal(stored, kernels.distance_to(block, kernels.restore(block, first)))
    codes = kernels.restore_answers(block, np.arange(len(block.label)))
    np.testing.assert_array_equal(kernels.distance_between(codes, np.repeat(codes[block.starts], block.sizes)), stored)


# Labels of one task -> manual distances (first and second, first and third, second and third).
BOXES = [[0, 0, 10, 10, "cat"], [20, 0, 30, 10, "dog"]], [[1, 0, 11, 10, "cat"], [20, 0, 30, 10, "dog"]]
BOXES = *BOXES, [[0, 0, 10, 10, "cat"], [40, 40, 50, 50, "cat"]]  # type: ignore[assignment]
NAMED = [[0, 4, "PER"], [9, 12, "PER"], [16, 24, "LOC"]], [[0, 4, "PER"], [16, 24, "LOC"]]
NAMED = *NAMED, [[9, 12, "PER"], [20, 24, "LOC"]]  # type: ignore[assignment]
CLICKS = [[0, 0], [50, 50]], [[3, 4], [50, 50]], [[0, 0]]
FACE = "points(radius=10, names=[nose, chin]"
BY_HAND: list[tuple[str, Any, list[float]]] = [
    ("boxes", BOXES, [1 / 11, 1 / 2, 13 / 22]),
    ("boxes(distance=jaccard)", BOXES, [1 / 6, 2 / 3, 26 / 35]),
    ("boxes(distance=count)", BOXES, [0, 0, 0]),
    ("boxes", ([[1, 1, 1, 5]], [[1, 1, 1, 5]], [[1, 1, 1, 4]]), [0, 1, 1]),  # without area
    ("boxes", ([], [], [[0, 0, 1, 1]]), [0, 1, 1]),
    ("spans", NAMED, [1 / 5, 2 / 5, 3 / 4]),
    ("spans(distance=exact)", NAMED, [0.2, 0.6, 1]),
    ("spans(distance=characters)", NAMED, [0.2, 8 / 15, 11 / 15]),
    ("points(radius=10)", CLICKS, [1 / 4, 1 / 3, 2 / 3]),
    (f"{FACE})", ([[0, 0, "nose"], [5, 0, "chin"]], [[0, 5, "nose"]], []), [2 / 3, 1, 1]),
    (f"{FACE})", ([[0, 0, "nose"], [5, 0, "chin"]], [[5, 0, "nose"], [0, 0, "chin"]], []), [1 / 2, 1, 1]),
    ("circular", (350, 10, -90), [0.0301536896, (1 - np.cos(np.radians(80))) / 2, (1 - np.cos(np.radians(100))) / 2]),
    ("circular(period=24)", (23, 1, 47), [(1 - np.cos(np.radians(30))) / 2, 0, (1 - np.cos(np.radians(30))) / 2]),
    ("tree", ("a/b/c", "a/b", "a/d"), [1 / 5, 3 / 5, 1 / 2]),
    ("text", ("the cat sat", "the cat sat on the mat", ""), [2 / 3, 1, 1]),
    ("text", ("a a a", "a b a", "The"), [2 / 3, 1, 1]),
    ("text(lower=True)", ("The Cat", "the cat", ""), [0, 1, 1]),
    ("text(tokens=words)", ("a cat, a mat.", "a cat , a mat .", ""), [0, 1, 1]),
    ("text(distance=edit, lower=True)", ("The Cat", "the cat", ""), [0, 1, 1]),
    ("text(distance=tokens, tokens=words)", ("b, a", "a , b", ""), [0, 1, 1]),
    ("probability", (0.0, 1.0, 0.7), [2, 0.98, 0.18]),
    ("probability", ([0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [1, 0, 0]), [0.32, 0.38, 1.26]),
    ("bitmap", ([[0, 0]], [[0, 1]], [[1, 0]]), [1, 1, 1]),
]


@pytest.mark.parametrize(("spec", "labels", "expected"), BY_HAND)
def test_distances_are_those_found_by_hand(spec: str, labels: Any, expected: list[float]) -> None:
    rows = [(f"w{k}", 1, label) for k, label in enumerate(labels)]
    answers = allalike.read(rows, domain=spec)
    found = answers.encoding.kernels.distance_between(answers.label[[0, 0, 1]], answers.label[[1, 2, 2]])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    disparity = allalike.discover(rows, domain=spec, method="UA").workers["disparity"]
    a, b, c = expected
    np.testing.assert_allclose(disparity, [(a + b) / 2, (a + c) / 2, (b + c) / 2], atol=1e-9)


def test_masks_of_large_pictures_are_compared_piece_by_piece() -> None:
    rng = np.random.default_rng(0)
    masks = [rng.random((1500, 1500)) < 0.5 for _ in range(3)]
    expected = [[1 - (a & b).sum() / (a | b).sum() for b in masks] for a in masks]
    np.testing.assert_allclose(measure("bitmap", masks), expected)


def test_a_large_part_of_few_edges_is_matched_as_well_as_by_a_whole_table() -> None:
    draw = np.random.default_rng(5)
    edges = np.unique(draw.integers(0, 400, (1200, 2)), axis=0)
    similarity = draw.random(len(edges))
    table = np.zeros((400, 400))
    table[edges[:, 0], edges[:, 1]] = similarity
    best = table[linear_sum_assignment(table, maximize=True)].sum()
    assert match(np.zeros(len(edges), np.int64), edges[:, 0], edges[:, 1], similarity, 1) == pytest.approx([best])


@pytest.mark.parametrize("n_levels", [2, 5, 17, 40])
def test_sums_of_linear_distances_are_those_of_all_pairs(n_levels: int) -> None:
    rng = np.random.default_rng(n_levels)
    block = Block.of(rng.integers(0, n_levels, (7, 20)))
    weights = rng.uniform(0, 1, 7)
    levels = block.label.reshape(20, 7)
    expected = (np.abs(levels[:, :, None] - levels[:, None]) * weights).sum(axis=2).ravel()
    for most in (1.0, 100.0):
        grouped = block.keeping(group_labels(block, np.arange(n_levels, dtype=np.uint64), most=most))
        np.testing.assert_allclose(absolute.level_distances(grouped, weights)[0], expected, atol=1e-12)
