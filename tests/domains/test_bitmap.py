"""Masks: packing, distances, majority, outlines, run lengths, and crowds that draw."""

from __future__ import annotations

import ast
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from scipy.spatial import distance as reference

import allalike
from allalike._core.blocks.block import Block, Ties
from allalike._core.masks.packed import Mask, fill_outline, of_run_lengths
from allalike.distances import overlap
from allalike.domains.bitmap import Bitmap
from allalike.errors import LabelError, OptionError
from allalike.readers import read_gold
from allalike.rules.vote import AnswerMasks, pixel_majority
from crowds.bitmap import answers, disc

Pixels = npt.NDArray[np.bool_]


def draw(seed: int, n: int = 5, height: int = 9, width: int = 21) -> list[Pixels]:
    """Draw masks that fill their picture to different degrees, one of them empty."""
    rng = np.random.default_rng(seed)
    return [rng.random((height, width)) < share for share in np.linspace(0, 0.8, n)]


def majority(masks: list[Pixels], weights: list[float]) -> tuple[Pixels, float]:
    packed = np.empty(len(masks), object)
    packed[:] = [Mask.of(mask) for mask in masks]
    block = Block.of(np.arange(len(masks))[:, None]).keeping(AnswerMasks(packed))
    found = pixel_majority(block, np.array(weights), np.zeros(len(masks)), Ties())
    return found.label[0].pixels(), float(found.confidence[0])


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 30), st.floats(0, 1))
def test_a_mask_comes_out_as_it_went_in(seed: int, height: int, width: int, share: float) -> None:
    pixels = np.random.default_rng(seed).random((height, width)) < share
    mask = Mask.of(pixels)
    assert np.array_equal(mask.pixels(), pixels)
    assert mask.area == pixels.sum()
    assert mask.bits.size <= height * math.ceil(width / 8)


@pytest.mark.parametrize(("name", "other"), [("jaccard", reference.jaccard), ("dice", reference.dice)])
@pytest.mark.parametrize("seed", range(5))
def test_distances_are_those_of_scipy(name: str, other: Any, seed: int) -> None:
    masks = draw(seed)
    domain = Bitmap(distance=name)
    store = domain.pack([domain.parse(mask) for mask in masks])
    i, j = np.triu_indices(len(masks), 1)
    expected = [other(masks[a].ravel(), masks[b].ravel()) for a, b in zip(i, j, strict=True)]
    assert domain.compare(store, i, store, j) == pytest.approx(expected)
    assert domain.compare(store, i, store, i) == pytest.approx(0)


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 14), st.integers(1, 80))
def test_all_pairs_have_in_common_what_sets_of_pixels_have(seed: int, n: int, height: int, width: int) -> None:
    masks = draw(seed, n, height, width)
    packed = [Mask.of(mask) for mask in masks]
    sets = [set(zip(*np.nonzero(mask), strict=True)) for mask in masks]
    expected = [[len(a & b) for b in sets] for a in sets]
    assert overlap.common_areas(packed).tolist() == expected
    assert [[overlap.common_area(a, b) for b in packed] for a in packed] == expected


def test_large_masks_are_compared_piece_by_piece() -> None:
    rng = np.random.default_rng(0)
    masks = [rng.random((1500, 1500)) < 0.5 for _ in range(3)]
    counts = overlap.common_areas([Mask.of(mask) for mask in masks])
    assert counts.tolist() == [[int((a & b).sum()) for b in masks] for a in masks]


@pytest.mark.parametrize("distance", Bitmap.distances)
def test_empty_masks_are_alike_and_one_apart_from_others(distance: str) -> None:
    domain = Bitmap(distance=distance)
    store = domain.pack([domain.parse(table) for table in ([[0, 0]], [[0, 1]], [[0, 0]], [[1, 0]])])
    pairs = np.array([0, 0, 1]), np.array([2, 1, 3])
    assert domain.compare(store, pairs[0], store, pairs[1]).tolist() == [0, 1, 1]


@pytest.mark.parametrize("seed", range(20))
def test_pixel_majority_is_that_of_a_plain_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masks = [rng.random((7, 19)) < rng.random() for _ in range(4)]
    weights = rng.integers(0, 4, 4).astype(np.float64)
    heard = weights if weights.any() else np.ones(4)
    found, confidence = majority(masks, list(weights))
    shares = []
    for row in range(7):
        for column in range(19):
            on = sum(w for w, mask in zip(heard, masks, strict=True) if mask[row, column])
            assert found[row, column] == (on > heard.sum() / 2)
            if on:
                shares.append(max(on, heard.sum() - on) / heard.sum())
    assert confidence == pytest.approx(np.mean(shares) if shares else 1)


def test_exactly_half_of_the_weight_is_off_even_where_sums_round() -> None:
    masks = [np.array([[row]], np.bool_) for row in (1, 1, 1, 0)]
    found, confidence = majority(masks, [0.1, 0.2, 0.3, 0.1 + 0.2 + 0.3])
    assert not found.any()
    assert confidence == pytest.approx(0.5)


def test_one_mask_is_its_own_majority_and_sure() -> None:
    mask = disc(9, 9, (4, 4), 3)
    found, confidence = majority([mask], [0.0])
    assert np.array_equal(found, mask)
    assert confidence == 1


def test_two_equal_workers_agree_on_what_both_drew() -> None:
    left, right = np.array([[1, 1, 0]], np.bool_), np.array([[0, 1, 1]], np.bool_)
    assert np.array_equal(majority([left, right], [1, 1])[0], left & right)


def test_nothing_drawn_is_a_sure_nothing() -> None:
    found, confidence = majority([np.zeros((3, 4), np.bool_)] * 3, [1, 2, 3])
    assert not found.any()
    assert found.shape == (3, 4)
    assert confidence == 1


def flooded(pixels: Pixels) -> Pixels:
    """Fill by hand: whatever a flood from outside does not reach through the sides of pixels."""
    height, width = pixels.shape
    reached, todo = set(), [(-1, -1)]
    while todo:
        row, column = todo.pop()
        inside = -1 <= row <= height and -1 <= column <= width
        wall = 0 <= row < height and 0 <= column < width and pixels[row, column]
        if inside and not wall and (row, column) not in reached:
            reached.add((row, column))
            todo += [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
    return np.array([[(row, column) not in reached for column in range(width)] for row in range(height)])


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 12), st.floats(0.3, 0.8))
def test_filling_is_a_flood_from_the_border(seed: int, height: int, width: int, share: float) -> None:
    pixels = np.random.default_rng(seed).random((height, width)) < share
    assert np.array_equal(fill_outline(pixels), flooded(pixels))
    assert np.array_equal(fill_outline(pixels), ndimage.binary_fill_holes(pixels))


def test_outlines_are_filled_when_asked() -> None:
    solid = disc(20, 30, (10, 14), 6)
    outline = solid & ~ndimage.binary_erosion(solid)
    assert np.array_equal(Bitmap(fill=True).parse(outline).pixels(), solid)
    assert np.array_equal(Bitmap().parse(outline).pixels(), outline)


def test_an_outline_with_a_gap_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="Filling added nothing"):
        Bitmap(fill=True).parse([[1, 1, 1], [1, 0, 0], [1, 1, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Bitmap(fill=True).parse(np.zeros((3, 3))).area == 0


def run_lengths(pixels: Pixels) -> list[int]:
    """Encode by hand: column after column, off first."""
    runs, last = [0], False
    for pixel in pixels.T.ravel().tolist():
        if pixel != last:
            runs, last = [*runs, 0], pixel
        runs[-1] += 1
    return runs


def compressed(runs: list[int]) -> str:
    """Write run lengths as COCO's rleToString does."""
    text = ""
    for place, run in enumerate(runs):
        value = run - runs[place - 2] if place > 2 else run
        while True:
            piece, value = value & 31, value >> 5
            more = value != (-1 if piece & 16 else 0)
            text += chr(48 + piece + 32 * more)
            if not more:
                break
    return text


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 40), st.floats(0, 1))
def test_run_lengths_come_out_as_they_went_in(seed: int, height: int, width: int, share: float) -> None:
    rough = np.random.default_rng(seed).random((height, width)) < share
    for pixels in (rough, disc(height, width, (height / 2, width / 3), height / 3)):
        runs = run_lengths(pixels)
        for counts in (runs, compressed(runs), compressed(runs).encode()):
            assert np.array_equal(of_run_lengths({"size": [height, width], "counts": counts}), pixels)


def test_run_lengths_are_read_as_cocos_own_code_writes_them() -> None:
    pixels = np.zeros((50, 40), np.bool_)
    pixels[5:40, 3:6], pixels[1, 4], pixels[9:12, 20:23] = True, True, True
    known = {"size": [50, 40], "counts": "k4S1;nNHR1<0Pf0POP[O000Yj0"}  # by pycocotools 2.0.11
    assert np.array_equal(Bitmap().parse(known).pixels(), pixels)
    assert np.array_equal(Bitmap().parse(json.dumps(known)).pixels(), pixels)
    assert compressed(run_lengths(pixels)) == known["counts"]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("nonsense", "a mask is a table of pixels"),
        (b"bytes", "a mask is a table of pixels"),
        ('{"size": [2, 2], "counts":', "line 1 column"),
        ("[" * 100_000, "nested more than 100 levels deep"),
        ([[1, 0], [1]], "not equally long"),
        ([1, 0, 1], "rows and columns"),
        ([["a", "b"]], "rows and columns"),
        (np.zeros((2, 2, 3)), "rows and columns"),
        (np.zeros((0, 3)), "0 x 3 pixels"),
        (np.array([[np.nan, 1]]), "not a finite number"),
        ({"size": [2, 2]}, "'size' and 'counts'"),
        ({"size": [2], "counts": [4]}, "height, width"),
        ({"size": [2, 2.5], "counts": [4]}, "height, width"),
        ({"size": [-2, -2], "counts": [4]}, "-2 x -2 pixels"),
        ({"size": [10**6, 10**6], "counts": [10**12]}, "more than 100 million"),
        ({"size": [2, 2], "counts": [3]}, "not those of 2 x 2"),
        ({"size": [2, 2], "counts": [5, -1]}, "not those of 2 x 2"),
        ({"size": [2, 2], "counts": [1.5, 2.5]}, "whole numbers"),
        ({"size": [2, 2], "counts": None}, "whole numbers"),
        ({"size": [2, 2], "counts": ""}, "cannot be read"),
        ({"size": [2, 2], "counts": "4 "}, "cannot be read"),
        ({"size": [2, 2], "counts": "\u00e4"}, "cannot be read"),
        ({"size": [2, 2], "counts": "o"}, "cannot be read"),
        ({"size": [2, 2], "counts": "o" * 20 + "0"}, "beyond all pictures"),
        ({"size": [2, 2], "counts": "9" * 5_000_000}, "not those of 2 x 2"),
    ],
)
def test_a_label_that_is_no_mask_is_refused_with_its_row(label: Any, reason: str) -> None:
    with pytest.raises(LabelError, match=f"The label in row 1 .*{reason}"):
        allalike.read([("ada", 1, label)], domain=Bitmap())


def test_masks_of_a_task_have_one_size() -> None:
    rows = [("ada", 1, np.ones((4, 5))), ("bob", 1, np.ones((5, 4))), ("ada", 2, np.ones((5, 4)))]
    with pytest.raises(LabelError, match="4 x 5 pixels, 5 x 4 pixels"):
        allalike.discover(rows, domain=Bitmap())
    assert len(allalike.discover(rows[1:], domain=Bitmap()).truth) == 2
    fitting = [rows[0], ("bob", 1, np.ones((4, 5)))]
    with pytest.raises(LabelError, match="4 x 5 pixels, 2 x 2 pixels"):
        allalike.discover(fitting, domain=Bitmap(), gold={1: np.ones((2, 2))})


@pytest.mark.parametrize(("options", "message"), [({"on": "black"}, "on is 'black'"), ({"fill": 1}, "fill is 1")])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Bitmap(**options)


@pytest.mark.parametrize(
    ("table", "on", "expected"),
    [
        ([[0, 7, 7]], None, [[0, 1, 1]]),
        ([[0, 1, 7]], 0, [[1, 0, 0]]),
        ([[0, 1, 7]], 7, [[0, 0, 1]]),
        (np.array([[0.0, 0.5]]), 0.5, [[0, 1]]),
        (np.array([[False, True]]), 0, [[1, 0]]),
        (np.array([[False, True]]), 255, [[0, 1]]),
    ],
)
def test_on_says_which_pixel_value_is_the_object(table: Any, on: float | None, expected: Any) -> None:
    assert Bitmap(on=on).parse(table).pixels().astype(int).tolist() == expected


def padded(rows: list[tuple[str, str, Any]], seed: int) -> list[tuple[str, str, Any]]:
    """Put background around the masks, of another width on each side for each task."""
    edges = {
        task: np.random.default_rng([seed, place]).integers(0, 70, (2, 2)) for place, (_, task, _) in enumerate(rows)
    }
    return [(worker, task, np.pad(mask, edges[task])) for worker, task, mask in rows]


@pytest.mark.parametrize("rule", [rule.name for rule in Bitmap.rules])
@pytest.mark.parametrize("method", ["UA", "P-TD", "iP-TD", "D-TD"])
def test_background_around_masks_changes_nothing(rule: str, method: str) -> None:
    rows = answers(seed=3, n=6, m=12, missing=0.2)
    rows += [(f"w{i:03d}", "tied", np.roll(disc(12, 40, (5, 5), 3), 5 * i, axis=1)) for i in range(5)]
    domain = Bitmap(rule=rule)
    plain = allalike.discover(rows, domain=domain, method=method)
    wide = allalike.discover(padded(rows, 1), domain=domain, method=method)
    assert plain.workers.equals(wide.workers)
    assert plain.truth["confidence"].tolist() == pytest.approx(wide.truth["confidence"].tolist())
    for here, there in zip(plain.truth["label"], wide.truth["label"], strict=True):
        cut = [mask[np.ix_(mask.any(axis=1), mask.any(axis=0))] for mask in (here, there)]
        assert np.array_equal(*cut)


def test_the_same_shape_elsewhere_is_another_mask() -> None:
    here = disc(12, 40, (5, 5), 3)
    rows = [(name, 1, np.roll(here, shift, axis=1)) for name, shift in (("ada", 0), ("bob", 20), ("eve", 0))]
    truth = allalike.discover(rows, domain=Bitmap(rule="medoid"), method="UA").truth
    assert truth["confidence"][0] == pytest.approx(2 / 3)
    assert np.array_equal(truth["label"][0], here)


@pytest.mark.parametrize("distance", Bitmap.distances)
@pytest.mark.parametrize("rule", [rule.name for rule in Bitmap.rules])
def test_good_workers_are_found_and_outvote_the_bad(rule: str, distance: str) -> None:
    rows = answers(seed=5, n=8, m=25, missing=0.1)
    domain = Bitmap(rule=rule, distance=distance)
    result = allalike.discover(rows, domain=domain)
    badness = np.random.default_rng(5).uniform(0, 1, 8) ** 2
    assert np.corrcoef(result.workers["fault"], badness)[0, 1] > 0.9
    assert result.truth["support"].between(0, 1).all()
    assert result.summary["domain"] == {
        "name": "bitmap", "distance": distance, "rule": rule, "fill": False, "on": "not 0",
    }  # fmt: skip


def test_identical_masks_weigh_the_same_and_have_no_fault() -> None:
    rows = [(worker, task, disc(9, 9, (4, 4), 2)) for worker in "abc" for task in (1, 2)]
    result = allalike.discover(rows, domain=Bitmap())
    assert result.workers["fault"].tolist() == [0, 0, 0]
    assert result.workers["weight"].tolist() == pytest.approx([1 / 3] * 3)
    assert result.truth["support"].tolist() == [1, 1]


def test_blocks_and_the_order_of_rows_change_nothing(engine: allalike.Engine) -> None:
    rows = answers(seed=7, n=5, m=9, missing=0.2)
    plain = allalike.discover(rows, domain=Bitmap())
    other = allalike.discover(rows[::-1], domain=Bitmap(), engine=engine)
    assert plain.workers["fault"].tolist() == pytest.approx(other.workers["fault"].tolist(), rel=1e-12)
    assert all(map(np.array_equal, plain.truth["label"], other.truth["label"]))


def test_masks_take_an_eighth_of_their_pixels() -> None:
    rng = np.random.default_rng(0)
    store = Bitmap().pack([Mask.of(rng.random((200, 300)) < 0.5) for _ in range(10)])
    assert sum(mask.bits.nbytes for mask in store.mask) <= 10 * 200 * 300 / 7.8


def boxed(boxes: list[Any], height: int, width: int) -> dict[str, Any]:
    """Return the pixels of all boxes, as run lengths."""
    columns = np.zeros((width, height), np.bool_)
    for (left, top), (right, bottom) in boxes:
        columns[round(left) : round(right), round(top) : round(bottom)] = True
    changes = np.flatnonzero(np.diff(columns.ravel(), prepend=False))
    return {"size": [height, width], "counts": np.diff(changes, prepend=0, append=columns.size).tolist()}


@pytest.mark.long
def test_bounding_boxes_are_masks_of_all_their_pixels(data: Path) -> None:
    import pandas as pd

    source = data / "bounding_boxes_braylan"
    frame = pd.read_csv(source / "data" / "boundingbox_data.csv")
    truth = json.loads((source / "data" / "boundingbox_gold.json").read_text())
    facts = json.loads((source / "SOURCE.json").read_text())["verification"]
    counts = (len(frame), frame["uid"].nunique(), frame["item"].nunique())
    assert counts == (facts["n_rows"], facts["n_workers"], facts["n_items"])
    assert frame["item"].value_counts().agg(["min", "max"]).tolist() == facts["labels_per_item"]
    frame = frame[frame["item"] % 4 == 0]  # masks of a quarter of the pictures are enough
    gold = {int(item): list(map(ast.literal_eval, boxes)) for item, boxes in truth.items() if int(item) % 4 == 0}
    drawn = [ast.literal_eval(text) for text in frame["annotation"]]
    corners = np.array([corner for boxes in [*drawn, *gold.values()] for box in boxes for corner in box])
    width, height = (np.ceil(corners.max(axis=0)).astype(int) + 1).tolist()
    labels = [boxed(boxes, height, width) for boxes in drawn]
    rows = list(zip(frame["uid"], frame["item"], labels, strict=True))
    known = {item: boxed(boxes, height, width) for item, boxes in gold.items()}
    answered = read_gold(known, allalike.read(rows, domain=Bitmap(rule="medoid")))
    result = allalike.discover(answered, method="auto(use_gold=False, plain=True)")
    assert result.summary["answers"] == len(frame)
    each = answered.encoding.kernels.distance_between(
        answered.label, np.repeat(answered.gold_label, np.diff(answered.starts))
    )
    assert result.summary["gold"]["error"] < 0.75 * each.mean()
