"""Kinds of label in one file: colours by sums, and things with four corners, keep the laws and measure what is true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allalike
from allalike import Boxes, Disk, Memory
from allalike.testing import check_domain
from crowds.boxes import answers as boxes
from crowds.samples import Row
from examples import domain_by_sums
from examples.domain_by_sums import Colours
from examples.domain_of_things import Corners, overlap

ENGINES = [Memory(block_answers=1), Disk(partitions=4)]


def colours(seed: int, n: int = 6, m: int = 12) -> list[Row]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 256, (m, 3))
    said = (truth + rng.normal(0, 1, (n, m, 3)) * np.linspace(2, 80, n)[:, None, None]).clip(0, 255).astype(np.uint8)
    return [(f"w{i}", f"t{j:02d}", f"#{bytes(said[i, j]).hex()}") for i, j in np.ndindex(n, m)]


def corners(box: dict[str, Any], turned: float = 0.0) -> list[Any]:
    """Return the corners of a box that is turned around its middle, in no particular order, and its class."""
    x, y = (box["x1"] + box["x2"]) / 2, (box["y1"] + box["y2"]) / 2
    a, b = (box["x2"] - box["x1"]) / 2, (box["y2"] - box["y1"]) / 2
    turn = np.array([[np.cos(turned), -np.sin(turned)], [np.sin(turned), np.cos(turned)]])
    around = np.array([[-a, -b], [a, b], [-a, b], [a, -b]]) @ turn.T + (x, y)
    return [*around.tolist(), box["class"]]


def test_colours_keep_the_laws_on_all_engines_in_a_page() -> None:
    assert len(Path(domain_by_sums.__file__).read_text(encoding="utf-8").splitlines()) <= 95
    check_domain(Colours(), colours(0), engines=ENGINES)


def test_sums_of_colours_are_those_of_vectors() -> None:
    rows = colours(1)
    numbers = [(who, task, [part / 255 for part in bytes.fromhex(label[1:])]) for who, task, label in rows]
    ours = allalike.discover(rows, domain=Colours(), method="P-TD").workers["disparity"]
    theirs = allalike.discover(numbers, domain="vector(distance='squared')", method="P-TD").workers["disparity"]
    np.testing.assert_allclose(3 * ours, theirs, rtol=1e-9)


def test_what_is_no_colour_is_said() -> None:
    with pytest.raises(allalike.AllalikeError, match="row 1 does not fit: a colour is a text such as '#ff8800'"):
        allalike.discover([("ada", 1, "red")], domain=Colours())


def test_corners_keep_the_laws_on_all_engines() -> None:
    rows = [(who, task, [corners(box, 0.3) for box in seen]) for who, task, seen in boxes(1, 5, 9, 0.2)]
    check_domain(Corners(), rows, engines=ENGINES)


def test_corners_of_boxes_find_what_boxes_find() -> None:
    rows = boxes(2, 6, 12, 0.1)
    turned = [(who, task, [corners(box) for box in seen]) for who, task, seen in rows]
    mine, theirs = (
        allalike.discover(said, domain=domain, method="iP-TD")
        for said, domain in ((turned, Corners(quorum=0.5)), (rows, Boxes(quorum=0.5)))
    )
    np.testing.assert_allclose(mine.workers["weight"], theirs.workers["weight"], rtol=1e-9)
    sides = mine.objects[["x1", "y1", "x3", "y3"]].to_numpy()
    np.testing.assert_allclose(sides, theirs.objects[["x1", "y1", "x2", "y2"]].to_numpy(), rtol=1e-9)


def test_a_square_and_the_same_one_turned_have_an_octagon_in_common() -> None:
    square = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    turned = square @ np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
    octagon = 8 * (np.sqrt(2) - 1)
    assert overlap(square, turned) == pytest.approx(octagon / (8 - octagon))
    assert overlap(square, square + 5) == 0.0
