"""Every compiled pass gives the numbers of its twin in numpy, on drawn and on extreme answers."""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allalike._core.blocks.block import Block, LabelGroups, group_labels
from allalike._core.compiled import calls
from allalike._core.compiled.calls import Cells, cells_of
from allalike._core.compiled.library import find_library
from allalike.distances.hamming import _sparse_pair_sums
from allalike.engines.ranges import _connect
from allalike.methods.auto.confusion_matrices import LEVELS, _complete_rows, _weigh_strength, posterior
from allalike.methods.auto.voices import voices_of
from allalike.methods.steps.ballots import _count_others, add_up, count, count_votes

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = [(1, 1, 2), (3, 2, 2), (40, 7, 2), (60, 9, 3), (50, 12, 4), (30, 70, 5), (20, 5, 7), (25, 130, 20)]
"""Tasks, workers and labels: of all widths that are compiled apart, and of others."""


@pytest.fixture(autouse=True)
def _library() -> None:
    if find_library() is None:
        assert os.environ.get("ALLALIKE_COMPILED") != "required", "the passes must be compiled here"
        pytest.skip("no library was compiled here")


def draw(n_tasks: int, n_workers: int, k: int, seed: int = 0, *, grouped: bool = False, gold: bool = False) -> Block:
    """Draw a block of tasks with one answer, with many, with equal and with different ones."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, n_workers + 1, n_tasks)
    worker = np.concatenate([rng.permutation(n_workers)[:size] for size in sizes])
    label = np.minimum(rng.geometric(0.5, len(worker)) - 1, k - 1)
    known = rng.permutation(n_tasks)[: n_tasks // 3] if gold else np.empty(0, np.int64)
    block = Block(
        starts=np.cumsum(sizes) - sizes,
        sizes=sizes,
        worker=worker,
        label=label,
        workers=slice(None),
        n_workers=n_workers,
        task_hash=rng.integers(0, 2**63, n_tasks).astype(np.uint64),
        gold_task=np.sort(known),
        gold_label=rng.integers(0, k, len(known)),
    )
    block = block.keeping(group_labels(block, np.arange(k, dtype=np.uint64)))
    if not grouped:
        return block
    number, silent = rng.integers(0, max(n_workers // 3, 1), n_workers), rng.random(n_workers) < 0.2
    return block.keeping(voices_of(block, number[worker], silent[worker]))


def weigh(n_workers: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Draw weights, of which some are the same, 0, or very large or small."""
    rng = np.random.default_rng(seed)
    extremes = np.array([0.0, 1.0, 1.0, 1e-9, 1e6, 1e-300])
    return np.where(rng.random(n_workers) < 0.5, rng.choice(extremes, n_workers), rng.random(n_workers))


def draw_rows(n_workers: int, k: int, seed: int = 2) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Draw the logarithms of rows and of shares; some are next to 0."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(k, 0.3), (n_workers, k * LEVELS)).transpose(0, 2, 1)
    shares = rng.dirichlet(np.full(k * LEVELS, 0.3), 1)
    return np.log(np.maximum(rows, 1e-6)), np.tile(np.log(np.maximum(shares, 1e-12)), (n_workers, 1))


def agree(kernel: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Check that a kernel, which is a compiled pass here, gives the numbers of its twin."""
    compiled, twin = (each(*arguments, **options) for each in (kernel, inspect.unwrap(kernel)))
    assert inspect.unwrap(kernel) is not kernel
    if isinstance(twin, dict):
        assert list(compiled) == list(twin)
        compiled, twin = list(compiled.values()), list(twin.values())
    elif not isinstance(twin, tuple):
        compiled, twin = [compiled], [twin]
    for one, other in zip(compiled, twin, strict=True):
        left, right = (each if isinstance(each, np.ndarray) else each.toarray() for each in (one, other))
        assert left.shape == right.shape
        scale = np.abs(right[np.isfinite(right)]).max(initial=1.0)
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize("n_workers", [2**16, 2**17], ids=["beyond 2^31", "beyond 2^32"])
def test_more_cells_than_numbers_of_four_bytes_can_count(n_workers: int) -> None:
    """Workers and labels of high numbers give the sums of the same answers with low numbers."""
    small, k = draw(20, 6, 4, grouped=True), 40_000
    workers, labels = np.array([0, 1, 2**15, 54_000, n_workers - 2, n_workers - 1]), np.array([0, 7, k - 2, k - 1])
    large = replace(small, worker=workers[small.worker], label=labels[small.label], n_workers=n_workers)
    large = large.keeping(group_labels(large, np.arange(k, dtype=np.uint64)))
    few, weights = weigh(6), np.ones(n_workers)
    weights[workers] = few
    votes = count_votes(large, weights, k=k)
    np.testing.assert_allclose(votes[:, labels], count_votes(small, few, k=4))
    assert votes.sum() == pytest.approx(votes[:, labels].sum())
    agree(count_votes, large, weights, k=k)
    assert cells_of(large, k).cell.max() == int((large.worker * k + large.label).max())


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_ballots(shape: tuple[int, int, int], grouped: bool) -> None:
    _, n_workers, k = shape
    rng, block = np.random.default_rng(3), draw(*shape, grouped=grouped)
    cells = cells_of(block, k)
    agree(count_votes, block, weigh(n_workers), k=k)
    for width in (1, k, k * LEVELS):
        agree(add_up, cells, rng.normal(size=(n_workers, k, width)) * 1e3)
        agree(count, cells, rng.random((block.n_tasks, width)))
    before = rng.random((n_workers, k, 2))
    more = rng.random((block.n_tasks, 2))
    np.testing.assert_allclose(count(cells, more, before.copy()), before + count(cells, more), rtol=1e-12)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_posteriors(shape: tuple[int, int, int], grouped: bool) -> None:
    _, n_workers, k = shape
    agree(posterior, draw(*shape, grouped=grouped), *draw_rows(n_workers, k), k=k)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_agreement_with_the_others(shape: tuple[int, int, int], grouped: bool) -> None:
    _, n_workers, k = shape
    block = draw(*shape, grouped=grouped, gold=True)
    for weights in (np.ones(n_workers), weigh(n_workers)):
        agree(_count_others, block, weights[block.worker], block.label, k)


@pytest.mark.parametrize("k", [2, 3, 4, 6, 20])
@pytest.mark.parametrize("strength", [1.0, 32.0, 1024.0])
def test_rows(k: int, strength: float) -> None:
    rng = np.random.default_rng(5)
    said = np.where(rng.random((9, k, k)) < 0.3, 0.0, rng.gamma(0.3, 10 ** rng.uniform(-3, 6, (9, k, k))))
    expected = np.maximum(rng.dirichlet(np.full(k, 0.3), (9, k)).transpose(0, 2, 1), 1e-7)
    agree(_weigh_strength, said, expected, strength)
    by_level = rng.gamma(0.3, 100, (9, k, k, LEVELS))
    agree(_complete_rows, by_level, expected, rng.normal(size=(9, k, LEVELS)) * 5)


@pytest.mark.parametrize("shape", SHAPES)
def test_pairs_and_parts(shape: tuple[int, int, int]) -> None:
    n_workers, block = shape[1], draw(*shape)
    for rows in (slice(0, n_workers), slice(n_workers // 3, n_workers // 2), slice(n_workers - 1, n_workers)):
        agree(_sparse_pair_sums, block, rows, block[LabelGroups].group)
    agree(_connect, block)
    agree(_connect, draw(*shape, grouped=True))


def test_answers_of_dropped_tasks_are_those_of_the_dummy_worker() -> None:
    block = draw(40, 7, 2).without(np.arange(40) % 3 == 0)
    agree(posterior, block, *draw_rows(8, 2), k=2)


@pytest.mark.parametrize("cell", [-1, 14, 2**31 - 1])
def test_a_cell_that_is_not_there_is_refused(cell: int) -> None:
    block = draw(40, 7, 2)
    whole = cells_of(block, 2)
    wrong = whole.cell.copy()
    wrong[5] = cell
    with pytest.raises(ValueError, match="in the cells of 7 workers and 2 labels"):
        Cells(whole.starts, wrong, None, 7, 2)


def test_what_does_not_fit_is_refused() -> None:
    block = draw(40, 7, 2)
    cells = cells_of(block, 2)
    for call in (
        lambda: Cells(cells.starts[1:], cells.cell, None, 7, 2),
        lambda: Cells(cells.starts, cells.cell, np.ones(3), 7, 2),
        lambda: Cells(cells.starts, cells.cell.astype(np.int64), None, 7, 2),
        lambda: calls.add_up(cells, np.ones(13)),
        lambda: calls.count(cells, np.ones((39, 2))),
        lambda: calls.count(cells, np.ones((40, 2)), np.ones((7, 2, 3))),
        lambda: calls.count(cells, np.ones((40, 2)), np.ones((7, 2, 2), np.float32)),
        lambda: calls.count(cells, np.ones((40, 2)), np.ones((2, 2, 7)).T),
        lambda: calls.count_votes(block, np.ones(6), k=2),
        lambda: calls.posterior(block, np.ones((7, 2, 6)), np.ones((6, 6)), k=2),
        lambda: calls.count_others(block, np.ones(len(block.label)), block.label + 1, 2),
        lambda: calls.weigh_strength(np.ones((7, 65, 65)), np.ones((7, 65, 65)), 1.0),
        lambda: calls.weigh_strength(np.ones((7, 2, 2)), np.ones((6, 2, 2)), 1.0),
        lambda: calls.complete_rows(np.ones((7, 2, 2, 3)), np.ones((7, 2, 2)), np.ones((7, 2, 2))),
        lambda: calls.connect(replace(block, n_workers=3)),
        lambda: calls.sparse_pair_sums(block, slice(0, 8), block[LabelGroups].group),
        lambda: calls.sparse_pair_sums(block, slice(0, 7), block[LabelGroups].group[1:]),
    ):
        with pytest.raises(ValueError, match=r"There must|must be|must have"):
            call()
