"""Schemas: tables of Arrow with columns of all types, nested in each other, with odd names and odd values."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

_NAMES = ("worker", "task", "label", "", "a.b", "x[]", "é", "\0", "gold", "label", "a" * 300)
_ZONES = (None, "UTC", "+02:00", "Europe/Paris", "Nowhere/City", "", "+99:99")
_UNITS = ("s", "ms", "us", "ns")
_WIDTHS: dict[int, list[Any]] = {
    1: [pa.int8(), pa.uint8()],
    2: [pa.int16(), pa.uint16(), pa.float16()],
    4: [pa.int32(), pa.uint32(), pa.float32(), pa.date32(), pa.time32("s"), pa.time32("ms")],
    8: [
        *(pa.int64(), pa.uint64(), pa.float64(), pa.date64(), pa.time64("us"), pa.time64("ns")),
        *(pa.duration(unit) for unit in _UNITS),
        *(pa.timestamp(unit, zone) for unit in _UNITS for zone in _ZONES),
    ],
    16: [pa.decimal128(38, 10), pa.decimal128(7, -3), pa.month_day_nano_interval(), pa.binary(16)],
    32: [pa.decimal256(70, 3)],
    0: [pa.binary(0)],
}
if hasattr(pa, "decimal32"):  # which older ones lack
    _WIDTHS[4].append(pa.decimal32(5, 2))
    _WIDTHS[8].append(pa.decimal64(12, 0))
_TEXTS = (
    *("", "a", "b", "ada", " a", "1", "2.5", "007", "nan", "2024-01-02"),
    *("2024-01-02T10:00Z", "é", "\0", "[1, 2]", "a>b"),
)
_BYTES = (b"", b"a", b"\0", b"\xff", b"1", "é".encode())


def _mask(draw: st.DrawFn, rows: int) -> Any:
    return pa.array(draw(st.lists(st.booleans(), min_size=rows, max_size=rows)), pa.bool_())


def _valid(draw: st.DrawFn, rows: int) -> Any:
    """Return bits that say which rows have a value, or nothing if all have."""
    return _mask(draw, rows).buffers()[1] if draw(st.booleans()) and rows else None


def _fixed(draw: st.DrawFn, rows: int, _: int) -> Any:
    """Return values of one width, whatever their bits mean."""
    width = draw(st.sampled_from(sorted(_WIDTHS)))
    one = st.binary(min_size=width, max_size=width) | st.integers(0, 100).map(
        lambda number: number.to_bytes(32, "little")[:width]
    )
    data = b"".join(draw(st.lists(one, min_size=rows, max_size=rows)))
    buffers = [_valid(draw, rows), pa.py_buffer(data)]
    return pa.Array.from_buffers(draw(st.sampled_from(_WIDTHS[width])), rows, buffers)


def _strings(draw: st.DrawFn, rows: int, _: int) -> Any:
    texts, kinds = draw(
        st.sampled_from(
            [
                (_TEXTS, [pa.string(), pa.large_string(), pa.string_view()]),
                (_BYTES, [pa.binary(), pa.large_binary(), pa.binary_view()]),
            ]
        )
    )
    values = draw(st.lists(st.none() | st.sampled_from(texts), min_size=rows, max_size=rows))
    return pa.array(values, draw(st.sampled_from(kinds)))


def _nothing(draw: st.DrawFn, rows: int, _: int) -> Any:
    return pa.nulls(rows) if draw(st.booleans()) else _mask(draw, rows)


def _lengths(draw: st.DrawFn, rows: int, kind: Any) -> tuple[Any, int]:
    """Return where lists begin and end, and how many elements they have in all."""
    lengths = draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows))
    ends = [sum(lengths[:place]) for place in range(rows + 1)]
    return pa.array(ends, kind), ends[-1]


def _list(draw: st.DrawFn, rows: int, depth: int) -> Any:
    large = draw(st.booleans())
    ends, total = _lengths(draw, rows, pa.int64() if large else pa.int32())
    return (pa.LargeListArray if large else pa.ListArray).from_arrays(ends, _array(draw, total, depth - 1))


def _list_view(draw: st.DrawFn, rows: int, depth: int) -> Any:
    ends, total = _lengths(draw, rows, pa.int32())
    sizes = pa.array([ends[place + 1].as_py() - ends[place].as_py() for place in range(rows)], pa.int32())
    return pa.ListViewArray.from_arrays(ends[:rows], sizes, _array(draw, total, depth - 1))


def _equal_lists(draw: st.DrawFn, rows: int, depth: int) -> Any:
    size = draw(st.sampled_from([1, 2, 1 << 20] if not rows else [1, 2]))
    return pa.FixedSizeListArray.from_arrays(_array(draw, rows * size, depth - 1), size)


def _struct(draw: st.DrawFn, rows: int, depth: int) -> Any:
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3))
    return pa.StructArray.from_arrays([_array(draw, rows, depth - 1) for _ in names], names)


def _map(draw: st.DrawFn, rows: int, depth: int) -> Any:
    ends, total = _lengths(draw, rows, pa.int32())
    keys = pa.array(draw(st.lists(st.sampled_from(_TEXTS), min_size=total, max_size=total)), pa.string())
    return pa.MapArray.from_arrays(ends, keys, _array(draw, total, depth - 1))


def _dictionary(draw: st.DrawFn, rows: int, depth: int) -> Any:
    size = draw(st.integers(1, 3))
    places = st.none() | st.integers(0, size - 1)
    kind = draw(st.sampled_from([pa.int8(), pa.int32(), pa.uint32(), pa.uint64()]))
    indices = pa.array(draw(st.lists(places, min_size=rows, max_size=rows)), kind)
    return pa.DictionaryArray.from_arrays(indices, _array(draw, size, depth - 1), ordered=draw(st.booleans()))


def _runs(draw: st.DrawFn, rows: int, depth: int) -> Any:
    ends = sorted({*draw(st.lists(st.integers(1, max(rows, 1)), max_size=2)), rows} - {0})
    ends = [end for end in ends if end <= rows]
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), _array(draw, len(ends), depth - 1))


def _union(draw: st.DrawFn, rows: int, depth: int) -> Any:
    kinds = pa.array(draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows)), pa.int8())
    children = [_array(draw, rows, depth - 1) for _ in range(2)]
    if draw(st.booleans()):
        return pa.UnionArray.from_sparse(kinds, children)
    return pa.UnionArray.from_dense(kinds, pa.array(range(rows), pa.int32()), children)


def _extension(draw: st.DrawFn, rows: int, _: int) -> Any:
    stored = [
        (pa.uuid(), pa.array([bytes(16)] * rows, pa.binary(16))),
        (pa.bool8(), pa.array([2] * rows, pa.int8())),
        (pa.opaque(pa.int32(), "x", "y"), pa.array([1] * rows, pa.int32())),
        (pa.fixed_shape_tensor(pa.int8(), [1]), pa.array([[1]] * rows, pa.list_(pa.int8(), 1))),
    ]
    if hasattr(pa, "json_"):
        stored.append((pa.json_(), pa.array(['{"a": 1}'] * rows, pa.string())))
    return pa.ExtensionArray.from_storage(*draw(st.sampled_from(stored)))


_FLAT: list[Callable[[st.DrawFn, int, int], Any]] = [_fixed, _fixed, _strings, _strings, _nothing, _extension]
_NESTED: list[Callable[[st.DrawFn, int, int], Any]] = [
    *(_list, _list_view, _equal_lists, _struct, _map, _dictionary, _runs, _union)
]


def _array(draw: st.DrawFn, rows: int, depth: int) -> Any:
    """Return an array of any type, of so many rows, with so many arrays inside each other at most."""
    try:
        return draw(st.sampled_from(_FLAT + _NESTED if depth else _FLAT))(draw, rows, depth)
    except pa.ArrowException:  # of types that cannot be within each other
        return pa.nulls(rows)


_ANYTHING = st.binary(max_size=9)
_METADATA = st.none() | st.dictionaries(
    st.sampled_from([b"pandas", b"ARROW:schema", b"ARROW:extension:name", b"PARQUET:field_id", b"", b"\xff"]),
    _ANYTHING | st.sampled_from([b"{}", b'{"index_columns": ["x"], "columns": []}', b"arrow.json", b"arrow.uuid"]),
    max_size=2,
)


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Make a table; most have the columns that are looked for, and few of them can be read."""
    rows = draw(st.sampled_from([0, 1, 2, 3, 6]))
    usual = {
        "worker": pa.array(["ada", "bob", "eve"] * 2),
        "task": pa.array([1, 1, 1, 2, 2, 2]),
        "label": pa.array([*"xxyyyx"]),
    }
    odd = draw(st.sampled_from([["label"], ["label"], ["worker"], ["task"], ["worker", "task", "label"]]))
    names = [*usual, *draw(st.lists(st.sampled_from(_NAMES), max_size=2) if draw(st.booleans()) else st.just([]))]
    columns = [_array(draw, rows, 2) if name in odd or name not in usual else usual[name][:rows] for name in names]
    fields = [pa.field(name, each.type, metadata=draw(_METADATA)) for name, each in zip(names, columns, strict=True)]
    table = pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=draw(_METADATA)))
    return pa.concat_tables([table, table]).slice(1) if rows and draw(st.booleans()) else table
