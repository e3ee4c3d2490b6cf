"""Things come out of a pack as they went in, and small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from allalike._core.blocks.block import Block, LabelGroups, group_labels
from allalike._core.system.processes import pack, unpack

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array

MANY = 1 << 18


@dataclass(frozen=True)
class Pair:
    left: Any
    right: Any


def a_block() -> Block:
    rng = np.random.default_rng(0)
    block = Block.of(rng.integers(0, 4, (10, MANY // 10)))
    return block.keeping(group_labels(block, np.arange(4, dtype=np.uint64)))


def same(left: Array, right: Array) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


NUMBERS = st.one_of(stn.boolean_dtypes(), stn.integer_dtypes(), stn.unsigned_integer_dtypes(), stn.floating_dtypes())


@given(stn.arrays(NUMBERS, stn.array_shapes(min_dims=0, min_side=0)))
def test_arrays_of_every_type_and_shape_come_back_as_they_were(array: Array) -> None:
    assert same(array, unpack(pack(array)))


@given(
    st.sampled_from("iu").flatmap(lambda kind: st.sampled_from([f"{end}{kind}{n}" for end in "<>" for n in (2, 4, 8)]))
)
def test_the_largest_and_smallest_integers_come_back_as_they_were(dtype: str) -> None:
    ends = [edge for bits in (8, 16, 32, 64) for edge in (1 << bits, 1 << (bits - 1))]
    info = np.iinfo(dtype)
    for edge in ends:
        for value in (edge - 1, edge, edge + 1, -edge - 1, -edge, 1 - edge):
            for other in (0, -1, 1):
                if all(info.min <= number <= info.max for number in (value, other)):
                    array = np.array([value, other] * 4, dtype)
                    assert same(array, unpack(pack(array)))


@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.uint64, np.float32, np.float64, ">i8", "M8[s]", "U3", bool])
def test_large_arrays_of_every_order_come_back_as_they_were(dtype: Any) -> None:
    array = (np.arange(60_000) % 100).astype(dtype).reshape(100, 200, 3)
    for view in (array, np.asfortranarray(array), array[::2, ::-1], array[:, 1:5], array.T):
        assert same(view, unpack(pack(view)))


def test_integers_take_as_few_bytes_as_they_need() -> None:
    for top, size in ((200, 1), (-100, 1), (60_000, 2), (-30_000, 2), (4_000_000_000, 4), (1 << 40, 8)):
        array = np.full(MANY, top)
        assert len(pack(array)) - MANY * size < 500
        assert same(array, unpack(pack(array)))


def test_arrays_of_objects_and_records_come_back_as_they_were() -> None:
    objects = np.array([("a", 1), None, [2]], object)
    records = np.array([(1, 2.5), (3, 4.5)], [("number", "i8"), ("value", "f8")])
    back = unpack(pack({"objects": objects, "records": records}))
    assert back["objects"].tolist() == objects.tolist()
    assert same(back["records"], records)


def test_blocks_within_blocks_come_back_as_they_were() -> None:
    block = a_block()
    outer = block.keeping(block)
    back = unpack(pack([outer, outer]))
    assert back[0] is back[1]
    for one, other in ((block, back[0]), (block, back[0][Block])):
        assert other.workers == one.workers
        assert all(same(getattr(one, name), getattr(other, name)) for name in ("starts", "sizes", "worker", "label"))
        assert all(same(array, vars(other[LabelGroups])[name]) for name, array in vars(block[LabelGroups]).items())


def test_what_is_shared_is_packed_once_and_still_shared() -> None:
    store = np.random.default_rng(0).random(MANY)
    data = pack([Pair(store, 1), Pair(store, 2)])
    one, other = unpack(data)
    assert one.left is other.left
    assert len(data) < store.nbytes + 1000


def test_arrays_can_be_written_to() -> None:
    arrays = [np.ones(MANY), np.arange(MANY), np.ones(3), np.arange(3)]
    for data in (pack(arrays), bytearray(pack(arrays)), memoryview(pack(arrays))):
        for array in unpack(data):
            array[0] = 7
            assert array[0] == 7
