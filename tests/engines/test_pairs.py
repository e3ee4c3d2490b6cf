"""Pairs of workers and blocks: the same sums and weights for small crowds and for large ones, sparse or not."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

import allalike
from allalike import DOMAINS, EVD, EXP, IPTD, MAS, PTD, PTDAK, TOP2, Categorical, Method
from allalike._core.blocks import pairs as block_pairs
from allalike._core.blocks.block import Block, group_labels, sort_within
from allalike._core.blocks.pairs import MatrixSum, pair_chunks
from allalike.distances import hamming
from allalike.errors import TooLargeError
from allalike.methods.auto.copies.similarity import Medians
from allalike.methods.pairwise import mas
from allalike.methods.pairwise.mas import Distances
from allalike.methods.steps import pairs
from allalike.methods.steps.pairs import PairMatrix, all_pairs
from crowds.samples import crowd, kind, rows
from running.turns import in_turn

if TYPE_CHECKING:
    from allalike.answers import Answers
    from allalike.engines import Engine

Floats = npt.NDArray[np.float64]
every_form = pytest.mark.parametrize("form", ["dense", "sparse"])


def be_large(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Treat a crowd of three as a large one, read some pairs at a time, and keep them in one form."""
    monkeypatch.setattr(pairs, "_MAX_WHOLE_WORKERS", 2)
    monkeypatch.setattr(pairs, "_ENTRIES_PER_RANGE", 20)
    monkeypatch.setattr(block_pairs, "_MAX_DENSE_ENTRIES", 0)
    monkeypatch.setattr(block_pairs, "_DENSE_SHARE", {"dense": 0.0, "sparse": np.inf}[form])
    monkeypatch.setattr(pairs, "_MIN_DENSE_SHARE", {"dense": 0.0, "sparse": np.inf}[form])


def plain_pairs(answers: Answers) -> tuple[Floats, Floats]:
    """Add up distances and common tasks one by one."""
    n, fields = len(answers.workers), answers.encoding.fields
    distance, common = np.zeros((n, n)), np.zeros((n, n))
    [block] = answers.blocks(answers.n_answers)
    for first, size in zip(block.starts, block.sizes, strict=True):
        for i, j in permutations(range(first, first + size), 2):
            left, right = np.array([i]), np.array([j])
            [apart] = answers.encoding.kernels.distance_between(block.label[left], block.label[right])
            [shared] = [1.0] if fields is None else fields.kernels.shared(block.label[left], block.label[right])
            if not np.isnan(apart):
                distance[answers.worker[i], answers.worker[j]] += shared * apart
                common[answers.worker[i], answers.worker[j]] += shared
    return distance, common


def whole(matrix: PairMatrix) -> Floats:
    return np.asarray(matrix.matrix if isinstance(matrix.matrix, np.ndarray) else matrix.matrix.toarray())


@pytest.mark.parametrize("domain", in_turn([name for name in DOMAINS if name != "custom"], 2))
@every_form
def test_sums_of_pairs_are_those_of_one_by_one(
    domain: str, form: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = allalike.read(crowd(domain, seed=1, n=7, m=12, missing=0.4), domain=kind(domain))
    expected = plain_pairs(answers)
    small = all_pairs(engine.load(answers), each=0).measure(lambda pairs: (pairs.distance, pairs.common))
    np.testing.assert_allclose([whole(matrix) for matrix in small], expected, atol=1e-12)
    be_large(monkeypatch, form)
    large = all_pairs(engine.load(answers), each=0)
    assert len(large.ranges) > 1
    found = large.measure(lambda pairs: (pairs.distance, pairs.common))
    assert all(isinstance(each.matrix, np.ndarray) == (form == "dense") for each in found)
    np.testing.assert_allclose([whole(matrix) for matrix in found], expected, atol=1e-12)


METHODS: list[Method] = [
    *(EVD(diagonal=diagonal) for diagonal in ("lsq", "loglsq", "iterate", "raw")),
    *(EXP(), EXP(chance="mean"), EXP(chance="mean", tail="printed"), TOP2(), TOP2(size=3), TOP2(method="pair")),
    *(PTD(per_pair=True), PTDAK(per_pair=True), IPTD(per_pair=True), IPTD(per_pair=True, average=False)),
]


@pytest.mark.parametrize(
    ("method", "domain"),
    [  # of three kinds one in turn; all of them take long
        pytest.param(
            method, domain, marks=() if isinstance(method, EVD) or (number + place) % 3 == 0 else pytest.mark.long
        )
        for number, method in enumerate(METHODS)
        for place, domain in enumerate(["binary"] if isinstance(method, EVD) else ["binary", "categorical", "real"])
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::allalike.errors.ConvergenceWarning")
@every_form
def test_a_large_crowd_is_weighed_like_a_small_one(
    form: str, method: Method, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = allalike.read(crowd(domain, seed=2, n=12, m=40, missing=0.6), domain=kind(domain))
    small = allalike.discover(answers, method=method).weighing
    be_large(monkeypatch, form)
    large = allalike.discover(answers, method=method).weighing
    for column in ("disparity", "fault", "weight"):
        np.testing.assert_allclose(getattr(large, column), getattr(small, column), rtol=1e-9, atol=1e-12)


@every_form
def test_points_are_pulled_towards_their_distances(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    monkeypatch.setattr(mas, "_PAIRS_PER_STEP", 50)
    monkeypatch.setattr(mas, "_PRODUCTS_PER_TILE", 100)
    distance = np.triu(np.where(rng.random((17, 17)) < 0.7, rng.uniform(0.1, 2, (17, 17)), np.nan), 1)
    distance = distance + distance.T + np.diag(np.full(17, np.nan))
    known = ~np.isnan(distance)
    tiled = Distances(distance if form == "dense" else sparse.csr_array(np.nan_to_num(distance)))
    for expected, found in zip(
        (known.sum(1), np.nanmean(distance, 1), np.nanvar(distance, 1)), tiled.moments, strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    points = rng.normal(size=(3, 17, 4))
    apart = points[:, None] - points[:, :, None]  # from the first to the second
    length = np.linalg.norm(apart, axis=3) + np.eye(17)
    pull = np.where(known, distance / length - 1, 0.0)
    _, total, pulled = tiled.misfit(points)
    np.testing.assert_allclose(total, np.nansum(np.square(distance - length), axis=(1, 2)) / 2, rtol=1e-10)
    np.testing.assert_allclose(pulled, (pull[..., None] * apart).sum(axis=2), rtol=1e-10, atol=1e-12)


def test_sparse_matrices_compute_like_arrays() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(30, 30)) * (rng.random((30, 30)) < 0.3)
    values = values + values.T
    ranged = PairMatrix(sparse.csr_array(values))
    one, vector = PairMatrix(values), rng.normal(size=30)
    np.testing.assert_allclose(ranged.times(vector), vector @ values)
    np.testing.assert_allclose(ranged.totals(np.square), one.totals(np.square))
    np.testing.assert_allclose(ranged.peak(), values.max())
    for worker in range(30):
        np.testing.assert_array_equal(ranged.row(worker), values[worker])
    assert ranged.first(1.5) == one.first(1.5)
    for diagonal in (np.zeros(30), rng.normal(size=30)):
        (value, ours), (expected, leading) = ranged.leading(diagonal), one.leading(diagonal)
        np.testing.assert_allclose(value, expected)
        np.testing.assert_allclose(np.abs(ours), np.abs(leading), atol=1e-10)
    assert PairMatrix(np.zeros((3, 3))).leading(np.zeros(3))[0] == 0


def test_of_several_solutions_the_smallest_is_taken() -> None:
    """A path, a circle of four and a lonely worker: without odd circles, what one has more another may have less."""
    used = np.zeros((9, 9))
    for i, j in ((0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7), (7, 4)):
        used[i, j] = used[j, i] = 1
    degree, logs = used.sum(axis=1), (used * np.random.default_rng(6).normal(size=(9, 9))).sum(axis=1)
    logs = (used + np.diag(degree)) @ logs  # something that has a solution
    expected = np.linalg.lstsq(used + np.diag(degree), logs, rcond=None)[0]
    for matrix in (sparse.csr_array(used), used):
        np.testing.assert_allclose(PairMatrix(matrix).solve(degree, logs), expected, atol=1e-10)


def test_products_of_matrices_count_what_pairs_count() -> None:
    rng = np.random.default_rng(7)
    matrix = rng.integers(0, 3, (40, 9))
    answers = allalike.read(rows(matrix, present=rng.random(matrix.shape) < 0.8), domain=Categorical(classes=3))
    [block] = map(answers.encoding.prepare, answers.blocks(1000))
    assert hamming.is_crowded(block)
    distance, common = plain_pairs(answers)
    for some in (slice(0, 40), slice(11, 30), slice(39, 40)):
        found = hamming.pair_sums(block, some)
        np.testing.assert_array_equal(found["distance"], distance[some])
        np.testing.assert_array_equal(found["common"], common[some])
    thin = Block.of(np.zeros((2, 3), int))
    lonely = allalike.read([(w, t, "x") for t in range(40) for w in (2 * t, 2 * t + 1)])
    [apart] = map(lonely.encoding.prepare, lonely.blocks(1000))
    assert not hamming.is_crowded(apart)
    assert hamming.is_crowded(thin.keeping(group_labels(thin, np.arange(2, dtype=np.uint64))))


@pytest.mark.parametrize("at_once", [1, 7, 50, 1 << 20])
def test_pairs_of_some_workers_are_those_that_begin_with_them(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_pairs, "_PAIRS_PER_CHUNK", at_once)
    answers = allalike.read(crowd("categorical", seed=8, n=9, m=20, missing=0.5))
    [block] = answers.blocks(1000)
    task = block.to_answers(np.arange(block.n_tasks))
    everything = {(i, j) for i, j in permutations(range(answers.n_answers), 2) if task[i] == task[j]}
    for some in (None, slice(0, 9), slice(3, 6), slice(8, 9), slice(4, 4)):
        asked = some or slice(0, 9)
        chunks = list(pair_chunks(block, some))
        found = [pair for left, right in chunks for pair in zip(left.tolist(), right.tolist(), strict=True)]
        assert len(found) == len(set(found))
        assert set(found) == {(i, j) for i, j in everything if asked.start <= block.worker[i] < asked.stop}
        assert len(chunks) > 1 or at_once > 50 or some == slice(4, 4)
    [(left, right)] = pair_chunks(Block.of([[0, 1]]))
    assert len(left) == len(right) == 0


@pytest.mark.parametrize("few", [0, 1 << 20])
@pytest.mark.parametrize("share", [0.001, 0.02, 0.5])
def test_matrices_are_added_up_whatever_their_form(share: float, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_pairs, "_MAX_DENSE_ENTRIES", few)
    monkeypatch.setattr(block_pairs, "_MAX_WAITING_ENTRIES", 40)
    rng = np.random.default_rng(9)
    total, expected = MatrixSum((50, 60)), np.zeros((50, 60))
    for number in range(40):
        n = rng.integers(0, int(3000 * share) + 2)
        row, column, values = rng.integers(0, 50, n), rng.integers(0, 60, n), rng.normal(size=n)
        np.add.at(expected, (row, column), values)
        total.add_entries(row, column, values)
        part = rng.normal(size=(5, 6)) * (rng.random((5, 6)) < share)
        row, column = np.sort(rng.choice(50, 5, replace=False)), np.sort(rng.choice(60, 6, replace=False))
        expected[np.ix_(row, column)] += part
        total.add(part if number % 2 else sparse.csr_array(part), row, column)
    found = total.result()
    assert isinstance(found, np.ndarray) == (few > 0 or np.count_nonzero(expected) > 50 * 60 / 8)
    np.testing.assert_allclose(found if isinstance(found, np.ndarray) else found.toarray(), expected, atol=1e-12)


def scattered(n: int, m: int, size: int) -> Any:
    """Draw answers to tasks that a few of many workers answered."""
    rng = np.random.default_rng(10)
    table = {"worker": rng.integers(0, n, m * size), "task": np.repeat(np.arange(m), size)}
    faults = rng.uniform(0.05, 0.4, n)
    return {**table, "label": np.where(rng.random(m * size) < faults[table["worker"]], 1, 0)}


@pytest.mark.parametrize("method", [PTD(per_pair=True), EXP()], ids=repr)
def test_few_pairs_of_many_workers_take_little_memory(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.engines.base.free_memory", lambda: 50_000_000)
    import pandas as pd

    table = pd.DataFrame(scattered(5_000, 4_000, 4))  # all pairs would take 200 MB
    workers = allalike.discover(table, domain=Categorical(classes=2), method=method).workers
    assert len(workers) > 4_000
    assert workers["weight"].sum() == pytest.approx(1)


@pytest.mark.parametrize(("method", "remedy"), [(EXP(), "P-TD"), (MAS(), "P-TD"), (PTD(per_pair=True), "per_pair")])
def test_pairs_that_do_not_fit_are_refused(method: Method, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.engines.base.free_memory", lambda: 10_000_000)
    answers = [(worker, task, worker % (2 + task)) for worker in range(1500) for task in range(2)]
    with pytest.raises(TooLargeError, match=f"1,500 workers.*{remedy}"):
        allalike.discover(answers, domain="categorical", method=method)
    allalike.discover(answers, domain="categorical", method=PTD())


def test_a_fit_that_takes_hours_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mas, "_PAIR_SECONDS", 3.6e-4)
    answers = [(worker, 0, worker % 2) for worker in range(1001)]
    with pytest.raises(TooLargeError, match="300 hours.* 1,001 workers"):
        allalike.discover(answers, domain="categorical", method="MAS")
    with pytest.warns(allalike.ConvergenceWarning):
        allalike.discover(answers, domain="categorical", method=MAS(starts=1, max_iter=2))


def listed(block: Block, some: slice | None, *, once: bool) -> list[tuple[int, int]]:
    chunks = pair_chunks(block, some, once=once)
    return sorted(pair for left, right in chunks for pair in zip(left.tolist(), right.tolist(), strict=True))


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("some", [None, slice(0, 5)])
def test_tasks_that_are_alike_have_the_pairs_that_any_tasks_have(some: slice | None, once: bool) -> None:
    block = Block.of(np.zeros((5, 7)))
    uneven = replace(block, sizes=block.sizes.copy())
    uneven.__dict__["same_size"] = 0
    assert listed(block, some, once=once) == listed(uneven, some, once=once)
    assert len(listed(block, some, once=once)) == 7 * (10 if once else 20)


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
