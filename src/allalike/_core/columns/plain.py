"""Plain columns: whatever Arrow hands over becomes one of the types that can be sorted and counted, or Python objects.

Arrow has more types than its functions work with: views, runs, unions, short floats, extensions by others. Some of
their values have no form outside of Arrow, such as times after the year 9999.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["find_beyond", "find_twice", "find_zone", "make_plain"]


def make_plain(column: Any) -> Any:
    """Return a column of Arrow, in chunks, with a type that Arrow's functions know, or as a list of Python objects.

    >>> import pyarrow as pa
    >>> make_plain(pa.chunked_array([pa.array(["x"], pa.string_view())])).type
    DataType(large_string)
    >>> make_plain(pa.chunked_array([[{"x": 1}]]))
    [{'x': 1}]
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _of_dictionary(column)
    if isinstance(kind, pa.BaseExtensionType):
        return _of_extension(column)
    if pa.types.is_run_end_encoded(kind):
        return _of_runs(column)
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return column.to_pylist()
    plain = _plain_type(kind)
    return column if plain == kind else column.cast(plain)


def _plain_type(kind: Any) -> Any:
    import pyarrow as pa

    types = pa.types
    if types.is_float16(kind):
        return pa.float32()
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return pa.large_binary()
    if types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    return kind


def _of_dictionary(column: Any) -> Any:
    """Keep a dictionary, of plain values, without those that are missing or there twice."""
    import pyarrow as pa

    none = make_plain(pa.chunked_array([], column.type.value_type))
    if isinstance(none, list):
        return column.to_pylist()
    if not column.num_chunks:
        return none
    dictionaries = [_decoded(make_plain(pa.chunked_array([chunk.dictionary]))) for chunk in column.chunks]
    kind = pa.dictionary(column.type.index_type, dictionaries[0].type)
    whole = [each.combine_chunks() for each in dictionaries]
    if kind != column.type:
        parts = zip(column.chunks, whole, strict=True)
        column = pa.chunked_array([pa.DictionaryArray.from_arrays(part.indices, each) for part, each in parts], kind)
    if all(not each.null_count and len(each.unique()) == len(each) for each in whole):
        return column
    parts = zip(column.chunks, whole, strict=True)
    return pa.chunked_array([_without_repeats(part.indices, each) for part, each in parts])


def _without_repeats(places: Any, values: Any) -> Any:
    """Return a dictionary array in which each value is there once; written out, a few bytes could fill the memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kept = values.unique().drop_null()
    return pa.DictionaryArray.from_arrays(pc.index_in(values, kept).take(places), kept)


def _decoded(column: Any) -> Any:
    """Write out a column that is a dictionary itself."""
    import pyarrow as pa

    flat = isinstance(column, list) or not pa.types.is_dictionary(column.type)
    return column if flat else column.cast(column.type.value_type)


def _of_extension(column: Any) -> Any:
    """Return what an extension by others is stored as; ids that are universally unique as texts."""
    import pyarrow as pa

    if column.type.extension_name == "arrow.uuid":
        return pa.chunked_array([[None if value is None else str(value) for value in column.to_pylist()]], pa.string())
    return make_plain(pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type))


def _of_runs(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return make_plain(pc.run_end_decode(column))
    except pa.ArrowNotImplementedError:
        return column.to_pylist()


def find_zone(kind: Any) -> str | None:
    """Return the time zone in a type, or in those within it, that is not known here.

    >>> import pyarrow as pa
    >>> find_zone(pa.list_(pa.timestamp("us", "Nowhere/City"))), find_zone(pa.timestamp("us", "Europe/Paris"))
    ('Nowhere/City', None)
    """
    import pyarrow as pa

    zones = (str(each.tz) for each in _types(kind) if pa.types.is_timestamp(each) and not _is_known(each))
    return next(zones, None)


def _is_known(kind: Any) -> bool:
    import pyarrow as pa

    try:
        return pa.scalar(0, kind).as_py() is not None
    except (pa.ArrowException, LookupError, ValueError, OSError):
        return False


def find_twice(kind: Any) -> str | None:
    """Return the name that two fields of a record within a type have.

    >>> import pyarrow as pa
    >>> find_twice(pa.list_(pa.struct([("x", pa.int8()), ("x", pa.int8())])))
    'x'
    """
    import pyarrow as pa

    for each in _types(kind):
        names = [str(field.name) for field in each] if pa.types.is_struct(each) else []
        if len(set(names)) < len(names):
            return next(name for name in names if names.count(name) > 1)
    return None


def find_beyond(column: Any) -> int | None:
    """Return the place of the first date or time that is beyond the calendar, which ends with the year 9999.

    >>> import pyarrow as pa
    >>> find_beyond(pa.chunked_array([pa.array([0, 253402300800], pa.timestamp("s"))]))
    1
    """
    import pyarrow as pa

    if not any(map(pa.types.is_temporal, _types(column.type))) or _is_within(column):
        return None
    return next((place for place, value in enumerate(column) if not _is_shown(value)), None)


def _is_within(column: Any) -> bool:
    """Tell whether all values have a form in Python; of dates and times, the first and the last tell of all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not pa.types.is_temporal(kind) or pa.types.is_interval(kind):
        return _is_shown(column)
    numbers = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    ends = pc.min_max(numbers)
    return all(_is_shown(pa.scalar(ends[name].as_py(), numbers.type).cast(kind)) for name in ("min", "max"))


def _is_shown(value: Any) -> bool:
    """Tell whether a value of Arrow, or a column of them, can be had in Python."""
    try:
        value.as_py() if hasattr(value, "as_py") else value.to_pylist()
    except (ValueError, OverflowError):
        return False
    return True


def _types(kind: Any) -> Iterator[Any]:
    """Yield a type, and all types within it."""
    import pyarrow as pa

    yield kind
    if pa.types.is_dictionary(kind):
        yield from _types(kind.value_type)
    elif isinstance(kind, pa.BaseExtensionType):
        yield from _types(kind.storage_type)
    elif pa.types.is_run_end_encoded(kind):
        yield from _types(kind.value_type)
    else:
        for number in range(kind.num_fields):
            yield from _types(kind.field(number).type)
