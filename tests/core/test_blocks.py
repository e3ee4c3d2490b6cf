"""Blocks: pairs, sorted groups, medians in tables and stored labels are the same as by plain loops."""

from dataclasses import replace

import numpy as np
import pytest

import allalike
from allalike._core.blocks.block import Block, sort_within
from allalike._core.blocks.pairs import pair_chunks
from allalike.methods.auto.copies.likeness import Medians


def listed(block: Block, rows: slice | None, *, once: bool) -> list[tuple[int, int]]:
    chunks = pair_chunks(block, rows, once=once)
    return sorted(pair for left, right in chunks for pair in zip(left.tolist(), right.tolist(), strict=True))


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("rows", [None, slice(0, 5)])
def test_tasks_that_are_alike_have_the_pairs_that_any_tasks_have(rows: slice | None, once: bool) -> None:
    block = Block.of(np.zeros((5, 7)))
    uneven = replace(block, sizes=block.sizes.copy())
    uneven.__dict__["same_size"] = 0
    assert listed(block, rows, once=once) == listed(uneven, rows, once=once)
    assert len(listed(block, rows, once=once)) == 7 * (10 if once else 20)


@pytest.mark.parametrize("lonely", [0, 4000])
def test_medians_of_a_table_are_those_of_each_place(lonely: int) -> None:
    """Of values that are mostly at few of many places there is no table."""
    rng = np.random.default_rng(1)
    place, weight = rng.integers(40, size=600), rng.integers(0, 3, size=600).astype(float)
    values = rng.integers(9, size=600).astype(float)
    medians = Medians.of(place, 40 + lonely)
    assert (medians.cell is None) == bool(lonely)
    for at, found in enumerate(medians.find(values, weight)[:40]):
        mine = np.sort(np.repeat(values[place == at], weight[place == at].astype(int)))
        assert found == pytest.approx(np.median(mine)) if len(mine) else np.isnan(found)


def test_rankings_within_a_block_are_as_far_apart_as_anywhere() -> None:
    rng = np.random.default_rng(2)
    rows = [(worker, task, rng.permutation(4 + task % 2).tolist()) for worker in range(4) for task in range(6)]
    rows += [(worker, 6, [1, 2] if worker else [2, 3, 1]) for worker in range(4)]  # with a gap
    run = allalike.Memory().load(allalike.read(rows, domain="ranking"))
    [block] = run.blocks
    [(left, right)] = pair_chunks(block)
    found = run.kernels.distance_within(block, left, right)
    codes = run.kernels.restore_answers(block, np.arange(len(block.label)))
    assert found == pytest.approx(run.kernels.distance_between(codes[left], codes[right]), nan_ok=True)


def test_labels_that_are_stored_are_prepared_as_codes_are() -> None:
    texts = ["a b c", "a b d", "x y", "a b c", "x y z", "x"]
    answers = allalike.read([(place % 3, place // 3, text) for place, text in enumerate(texts)], domain="text")
    [block] = answers.blocks(10)
    encoding = answers.encoding
    plain, stored = encoding.prepare(block), encoding.prepare(encoding.store(block))
    weights = np.array([1.0, 2.0, 4.0])
    for one, other in zip(*(encoding.kernels.peer_distances(each, weights) for each in (plain, stored)), strict=True):
        assert one == pytest.approx(other)


@pytest.mark.parametrize("sizes", [[3, 3, 3], [5, 0, 4, 6], [1, 1000], [], [0, 0], [2] * 500])
def test_values_are_sorted_within_their_places_as_by_numpy(sizes: list[int]) -> None:
    rng = np.random.default_rng(len(sizes))
    place = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = rng.choice([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf, np.nan], len(place))
    assert sort_within(place, values, len(sizes)).tolist() == np.lexsort((values, place)).tolist()
