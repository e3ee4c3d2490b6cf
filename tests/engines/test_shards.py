"""Shards: the answers to some of the tasks, under a domain that knows what all shards share, give the same numbers."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from allalike import (
    DOMAINS,
    Bitmap,
    Categorical,
    Custom,
    Interval,
    Memory,
    Probability,
    Ranking,
    Real,
    Record,
    Set,
    Text,
    Vector,
)
from allalike._core.blocks.block import Array, Block, Floats, Ties
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values
from allalike.answers import Answers
from allalike.answers.gold import Gold
from allalike.domains import Domain, Encoding
from allalike.domains.categorical import ClassEncoding
from allalike.engines.sums import PairSums, Sums, select_workers
from allalike.errors import LabelError
from allalike.methods.proximity import loss_sums
from allalike.readers import read, read_gold
from crowds.samples import Row, crowd, kind
from running.turns import in_turn

N_SHARDS = 4
TIES = Ties(3)


def rows_of_matrices(seed: int) -> list[Row]:
    """Let workers name rows of matrices; a task has as many rows as its number says."""
    rng = np.random.default_rng(seed)
    return [(f"w{i:03d}", f"t{j:04d}", int(rng.integers(2 + j % 4))) for j in range(20) for i in range(6)]


def distances(size: int, seed: int) -> Floats:
    points = np.random.default_rng(seed).normal(size=(size, 2))
    found: Floats = np.linalg.norm(points[:, None] - points, axis=2)
    return found


MATRICES = {f"t{j:04d}": distances(2 + j % 4, j) for j in range(20)}
DOMAIN_CASES = {name: kind(name) for name in (*DOMAINS, "binary")}
OTHER_CASES: dict[str, Domain] = {
    **{f"real {rule.name}": Real(rule=rule.name) for rule in Real.rules},
    **{f"ranking {rule.name}": Ranking(rule=rule.name) for rule in Ranking.rules},
    "ranking footrule": Ranking(distance="footrule"),
    **{f"text {way}": Text(distance=way, lower=way == "edit", rule="best worker") for way in Text.distances},
    **{f"bitmap {rule.name}": Bitmap(rule=rule.name, distance="dice") for rule in Bitmap.rules},
    **{f"set {rule.name}": Set(rule=rule.name) for rule in Set.rules},
    **{f"interval {rule.name}": Interval(rule=rule.name) for rule in Interval.rules},
    **{
        f"vector {rule.name} {way}": Vector(rule=rule.name, distance=way)
        for rule in Vector.rules
        for way in Vector.distances
    },
    **{f"record {rule.name}": replace(kind("record"), rule=rule.name) for rule in Record.rules[1:]},
    **{f"probability {rule.name}": Probability(rule=rule.name) for rule in Probability.rules},
    "custom matrix": Custom(distance=distances(5, 1), rule="best worker"),
    "custom matrices": Custom(distance=MATRICES),
}
CASES = DOMAIN_CASES | OTHER_CASES


def rows_of(case: str, seed: int = 1) -> list[Row]:
    name = case.split()[0]
    return rows_of_matrices(seed) if "matri" in case else crowd(name, seed=seed, n=6, m=20, missing=0.3)


def gold_of(rows: list[Row]) -> dict[Any, Any]:
    """Take the first worker's answers to every other task for known truths."""
    return {task: label for worker, task, label in rows if worker == "w000" and int(task[1:]) % 2}


@dataclass(frozen=True)
class Shards:
    """The prepared blocks of all shards as they come out of a pickle, and the encoding that all of them share."""

    encoding: Encoding
    shards: list[Answers]
    blocks: list[list[Block]]

    def sum(self, kernel: Callable[..., Any], *params: Floats) -> dict[str, Floats]:
        sums = Sums(len(self.shards[0].workers))
        for blocks in self.blocks:
            for block in blocks:
                sums.add(block, kernel, params)
        return sums.arrays

    def pairs(self, kernel: Callable[..., Any]) -> dict[str, Any]:
        sums = PairSums(len(self.shards[0].workers))
        for blocks in self.blocks:
            for block in blocks:
                sums.add(block, kernel)
        return sums.result()

    def collect(self, kernel: Callable[..., Any], *params: Floats) -> dict[str, Array]:
        """Join what a kernel finds, in the order of tasks."""
        parts = [kernel(block, *select_workers(block, params)) for blocks in self.blocks for block in blocks]
        order = np.argsort([task for shard in self.shards for task in shard.tasks.tolist()])
        return {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}


def cut(rows: list[Row]) -> list[list[Row]]:
    """Cut rows into shards by task, none of which is a range of ids."""
    return [[row for row in rows if int(row[1][1:]) % N_SHARDS == number] for number in range(N_SHARDS)]


def labels(rows: list[Row]) -> Column:
    return Column.of_objects("label", [label for _, _, label in rows])


def shard_columns(rows: list[Row], workers: list[str]) -> tuple[Column, Column, Column]:
    """Return the columns of one shard; workers are numbered among all."""
    codes = np.array([workers.index(worker) for worker, _, _ in rows], np.int32)
    task = Column.of_objects("task", [task for _, task, _ in rows])
    return Column.of_codes("worker", codes, Values(workers)), task, labels(rows)


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing, protocol=5))


def merged(parts: Sequence[Any]) -> Any:
    """Return the encoding of all labels."""
    return parts[0].merge(parts[1:])


def shards_of(rows: list[Row], domain: Domain, gold: dict[Any, Any] | None = None) -> Shards:
    """Do what an engine does that never has all answers at one place."""
    parts, workers = cut(rows), sorted({worker for worker, _, _ in rows})
    encoding = pickled(merged([pickled(domain.learn(labels(part))) for part in parts]))
    truths = None
    if gold is not None:
        known = Gold(Column.of_objects("task", list(gold)), Column.of_objects("label", list(gold.values())))
        encoding, truths = known.encode(encoding)
    shards = [Answers.of_shard(*shard_columns(part, workers), encoding, repeats="error") for part in parts]
    shards = [shard if truths is None else shard.with_truths(truths) for shard in shards]
    blocks = [pickled([shard.encoding.prepare(block) for block in shard.blocks(10)]) for shard in shards]
    return Shards(pickled(encoding), shards, blocks)


def weights_of(shards: Shards) -> Floats:
    return np.random.default_rng(0).uniform(0.1, 1.0, len(shards.shards[0].workers))


@pytest.mark.parametrize("case", CASES)
def test_sums_over_shards_are_those_over_all_answers(case: str) -> None:
    rows, domain = rows_of(case), CASES[case]
    gold = gold_of(rows)
    shards = shards_of(rows, domain, gold)
    whole = Memory().load(read_gold(gold, read(rows, domain=domain)), TIES)
    weights, here, there = weights_of(shards), shards.encoding.kernels, whole.kernels
    kernels: list[tuple[Any, Any, tuple[Floats, ...]]] = [
        (here.peer_sums, there.peer_sums, (weights,)),
        (partial(loss_sums, kernels=here, ties=TIES), partial(loss_sums, kernels=there, ties=TIES), (weights,)),
        (here.gold_sums, there.gold_sums, ()),
    ]
    for mine, theirs, params in kernels:
        found, expected = shards.sum(mine, *params), whole.sum(theirs, *params)
        assert found.keys() == expected.keys()
        for name, sums in expected.items():
            assert np.isfinite(sums).all()
            np.testing.assert_allclose(found[name], sums, rtol=1e-12, atol=1e-12)
    pairs, expected_pairs = shards.pairs(here.pair_sums), whole.pairs(there.pair_sums)
    for name, matrix in expected_pairs.items():
        np.testing.assert_allclose(pairs[name], matrix, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", in_turn(CASES, 3))
def test_truths_of_shards_are_those_of_all_answers(case: str) -> None:
    rows, domain = rows_of(case), CASES[case]
    gold = gold_of(rows)
    shards = shards_of(rows, domain, gold)
    whole = Memory().load(read_gold(gold, read(rows, domain=domain)), TIES)
    weights, here, there = weights_of(shards), shards.encoding.kernels, whole.kernels
    decode, decode_whole = shards.encoding.decode, whole.encoding.decode
    found = shards.collect(partial(here.aggregate, ties=TIES), weights, weights)
    expected = whole.collect(partial(there.aggregate, ties=TIES), weights, weights)
    for name in ("confidence", "error", "tied"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, atol=1e-12)
    assert_same(decode(found["label"]).tolist(), decode_whole(expected["label"]).tolist(), domain)
    assert decode(found["label"]).arrow().type == decode_whole(expected["label"]).arrow().type
    assert shards.encoding.describe() == whole.encoding.describe()

    other = shards.collect(partial(here.aggregate, ties=TIES), np.ones_like(weights), weights)["label"]
    plain = whole.collect(partial(there.aggregate, ties=TIES), np.ones_like(weights), weights)["label"]
    np.testing.assert_allclose(
        here.distance_between(found["label"], other),
        there.distance_between(expected["label"], plain),
        rtol=1e-12,
        atol=1e-12,
    )
    scatter = shards.collect(lambda block: {"scatter": here.scatter(block)})["scatter"]
    differs = there.differs(expected["label"], plain, scatter)
    np.testing.assert_array_equal(here.differs(found["label"], other, scatter), differs)
    assert not here.differs(found["label"], found["label"], scatter).any()


def assert_same(found: list[Any], expected: list[Any], domain: Domain) -> None:
    assert list(map(type, found)) == list(map(type, expected))
    if isinstance(domain, Vector) or domain.spelling.numbers:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    for one, other in zip(found, expected, strict=True) if not isinstance(domain, Real | Vector) else ():
        if isinstance(domain, Probability):
            assert one == pytest.approx(other, rel=1e-12, abs=1e-12)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("case", CASES)
def test_the_order_of_shards_does_not_matter(case: str) -> None:
    rows, domain = rows_of(case), CASES[case]
    column = labels(rows)
    parts = [domain.learn(labels(part)) for part in cut(rows)]
    once, again = merged(parts), merged(parts[::-1])
    whole = domain.learn(column)
    for joined in (once, again):
        assert joined.describe() == whole.describe()
        np.testing.assert_array_equal(joined.encode(column), whole.encode(column))
        assert pickle.dumps(joined) == pickle.dumps(once)


@pytest.mark.parametrize(
    ("domain", "one", "other"),
    [
        (Vector(), [[1.0, 2.0]], [[1.0]]),
        (Probability(), [0.5], [[0.5, 0.5]]),
        (Set(), [["a"]], [[1]]),
        (Categorical(classes=2), ["a", "b"], ["c"]),
    ],
)
def test_labels_of_two_shards_that_do_not_go_together_are_refused(
    domain: Domain, one: list[Any], other: list[Any]
) -> None:
    parts = [domain.learn(Column("label", values)) for values in (one, other)]
    for order in (parts, parts[::-1]):
        with pytest.raises(LabelError):
            merged(order)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([["2", "10"], ["3", "2"]], [2, 3, 10]),
        ([["2", "10"], ["x"]], ["10", "2", "x"]),
        ([["2", "10"], ["007"]], ["007", "10", "2"]),
        ([["x"], ["y", "x"]], ["x", "y"]),
    ],
)
def test_labels_of_a_text_file_are_numbers_if_all_are(parts: list[list[str]], expected: list[Any]) -> None:
    columns = [Column("label", pa.chunked_array([part]), text=True) for part in parts]
    encoding = merged([Categorical().learn(column) for column in columns])
    everything = Column("label", pa.chunked_array(parts), text=True)
    whole = Categorical().learn(everything)
    assert isinstance(encoding, ClassEncoding)
    assert encoding.labels.tolist() == whole.labels.tolist() == expected
    codes = np.concatenate([encoding.encode(column) for column in columns])
    np.testing.assert_array_equal(codes, whole.encode(everything))
    np.testing.assert_array_equal(encoding.label_hash, whole.label_hash)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([[("b", 1)], [("a", 2), ("b", 1)]], [("a", 2), ("b", 1)]),
        ([[1 << 70], [5]], [5, 1 << 70]),
        ([[True], [False, True]], [False, True]),
        ([[1.5], [2]], [1.5, 2.0]),
    ],
)
def test_classes_of_any_type_are_joined(parts: list[list[Any]], expected: list[Any]) -> None:
    columns = [Column.of_objects("label", part) for part in parts]
    encoding = merged([Categorical().learn(column) for column in columns])
    decoded = [encoding.decode(encoding.encode(column)).tolist() for column in columns]
    assert decoded == parts
    assert encoding.decode(np.arange(len(expected))).tolist() == expected
