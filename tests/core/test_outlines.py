"""Outlines are filled by the middles of pixels, as geometry has it and as other packages do it."""

from typing import Any

import numpy as np
import pytest
from matplotlib.path import Path
from pycocotools import mask as coco

from allalike._core.masks import Mask, draw


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # of pycocotools
@pytest.mark.parametrize("seed", range(40))
def test_pixels_are_on_whose_middles_lie_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    height, width, corners = (int(rng.integers(*limits)) for limits in ((5, 60), (5, 60), (3, 12)))
    angle, radius = np.sort(rng.random(corners)) * 2 * np.pi, rng.random(corners) * min(height, width) * 0.7
    points = np.c_[width / 2 + radius * np.cos(angle), height / 2 + radius * np.sin(angle)]  # beyond the picture, too
    closed, drawn = np.r_[points, points[:1]], draw([points.tolist()], height, width).pixels()
    rows, columns = np.mgrid[:height, :width] + 0.5
    inside = Path(closed, closed=True).contains_points(np.c_[columns.ravel(), rows.ravel()])
    assert np.array_equal(drawn.ravel(), inside)
    theirs: Any = coco.decode(coco.merge(coco.frPyObjects([points.ravel().tolist()], height, width))).astype(bool)
    assert (drawn != theirs).sum() <= 0.5 * np.hypot(*np.diff(closed, axis=0).T).sum()  # along the outline only


def test_the_area_of_a_polygon_is_that_of_geometry() -> None:
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    mask = draw([np.c_[2000 + 1400 * np.cos(angle), 1500 + 1400 * np.sin(angle)].tolist()], 3000, 4000)
    assert mask.area == pytest.approx(200 * 1400**2 * np.sin(2 * np.pi / 400), rel=1e-4)
    assert mask.bits.nbytes < 2801 * 2816 / 8  # cut to the object, eight pixels to a byte
    twice = [(1, 1), (7, 1), (7, 7), (1, 7)] * 2  # which leaves no hole, and in either direction
    assert draw([twice], 9, 9).area == draw([twice[::-1]], 9, 9).area == 36


@pytest.mark.parametrize("points", [[(1, 1)], [(1, 1), (5, 5)], [(-9, -9), (-5, -9), (-5, -5)], [(1, 1)] * 4])
def test_nothing_is_on_where_nothing_is_enclosed(points: list[tuple[float, float]]) -> None:
    mask = draw([points], 6, 7)
    assert (mask.area, mask.pixels().shape) == (0, (6, 7))


def test_several_masks_are_one_wherever_they_lie() -> None:
    tables = np.pad(np.random.default_rng(0).random((3, 5, 30)) < 0.2, ((0, 0), (3, 9), (11, 40)))
    assert np.array_equal(draw([Mask.of(table) for table in tables], *tables.shape[1:]).pixels(), tables.any(axis=0))
    assert draw([], 2, 3).pixels().shape == (2, 3)
