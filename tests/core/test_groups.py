"""Values that are sorted within groups stand as numpy's own sort puts them."""

from __future__ import annotations

import numpy as np
import pytest

from allalike._core.blocks.block import sort_within


@pytest.mark.parametrize("sizes", [[3, 3, 3], [5, 0, 4, 6], [1, 1000], [], [0, 0], [2] * 500])
def test_values_are_sorted_within_their_places_as_by_numpy(sizes: list[int]) -> None:
    rng = np.random.default_rng(len(sizes))
    place = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = rng.choice([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf, np.nan], len(place))
    assert sort_within(place, values, len(sizes)).tolist() == np.lexsort((values, place)).tolist()
