"""Ingest: values are numbered as they come, and partitions are balanced."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allalike._core.blocks.block import Ties
from allalike._core.columns.column import Column
from allalike._core.columns.values import take_rows
from allalike.engines.ingest import route
from allalike.engines.routing import Vocabulary, whole_numbers
from allalike.engines.shards import of_answers
from allalike.errors import OutputError
from allalike.readers import scan

strings = st.text(alphabet=st.characters(codec="utf-8"), max_size=20) | st.sampled_from(["a", "b", "c"])


@settings(max_examples=200)
@given(
    batches=st.lists(st.lists(strings, min_size=1, max_size=20), min_size=1, max_size=6)
    | st.lists(st.lists(st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1), min_size=1), min_size=1, max_size=6)
    | st.lists(
        st.lists(st.floats(allow_nan=False).map(lambda number: number + 0.0), min_size=1), min_size=1, max_size=6
    )
    | st.lists(st.lists(st.tuples(st.integers(0, 2)), min_size=1), min_size=1, max_size=6),
)
def test_a_vocabulary_numbers_values_as_a_dictionary_does(batches: list[list[Any]]) -> None:
    known = Vocabulary()
    codes: list[int] = []
    for batch in batches:
        rows = np.arange(len(codes), len(codes) + len(batch))
        codes += known.number(Column.of_objects("worker", batch), rows).tolist()
    values = [repr(value) for batch in batches for value in batch]
    named = [repr(value) for value in known.values.tolist()]
    assert [named[code] for code in codes] == values
    assert len(known) == len(set(values)) == len(named)
    assert [values[row] for row in known.first_rows] == named
    assert all(values.index(name) == row for name, row in zip(named, known.first_rows, strict=True))


digits = st.text("0123456789-+ xeE.", min_size=1, max_size=20) | st.integers(-(10**19), 10**19).map(str)


@settings(max_examples=500)
@given(texts=st.lists(digits | st.sampled_from(["0", "-0", "00", "0x174876e800", "174876"]), min_size=1, max_size=4))
def test_strings_are_whole_numbers_if_python_writes_numbers_so(texts: list[str]) -> None:
    whole = all(re.fullmatch("0|-?[1-9][0-9]{0,17}", text) for text in texts)
    for kind_of_string in (pa.string(), pa.large_string()):
        numbers = whole_numbers(pa.array(["skipped", *texts], kind_of_string)[1:])
        assert (numbers is not None) == whole
        assert numbers is None or numbers.tolist() == [int(text) for text in texts]


@given(texts=st.lists(st.text(max_size=3), min_size=1), data=st.data())
def test_strings_of_one_length_are_taken_as_any_others(texts: list[str], data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        texts = [f"{text.encode().hex():0>24}" for text in texts]
    order = np.array(data.draw(st.permutations(range(len(texts)))))
    for kind_of_string in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        values = [text.encode() if "binary" in str(kind_of_string) else text for text in texts]
        taken = take_rows(pa.array([values[0], *values], kind_of_string)[1:], order)
        taken.validate(full=True)
        assert taken.to_pylist() == [values[place] for place in order]


def test_partitions_are_balanced(tmp_path: Path) -> None:
    tasks = pa.array([f"t{number:07d}" for number in range(64_000)])
    table = pa.table({"worker": ["w"] * 64_000, "task": tasks, "label": ["x"] * 64_000})
    for source in (table, table.set_column(1, "task", [np.arange(64_000)])):
        routed = route(scan(source, domain="categorical").stream(), tmp_path, 50)
        sizes = [len(label) for label, _ in routed.each_label()]
        assert len(sizes) == len(list(tmp_path.iterdir())) == 50
        assert max(sizes) < 1.25 * min(sizes)
        routed.make_shards(lambda number, answers: of_answers(answers), None, Ties())
        assert not list(tmp_path.iterdir())


def test_a_full_disk_is_a_clear_error(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    (tmp_path / "0.rows").symlink_to("/dev/full")
    with pytest.raises(OutputError, match=f"cannot write to its work folder {tmp_path}: No space left"):
        route(scan([("a", 1, "x"), ("b", 1, "x"), ("c", 1, "y")]).stream(), tmp_path, 1)
