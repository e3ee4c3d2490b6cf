"""Input that harms nothing: files of any bytes, and too many workers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allalike
from allalike import AllalikeError, errors
from allalike.methods import PTD


def test_every_error_is_a_builtin_too() -> None:
    for name in {*errors.__all__} - {"Proposal"}:
        kind = getattr(errors, name)
        builtin = (ValueError, LookupError, OSError, RuntimeError, ImportError, MemoryError, UserWarning)
        assert kind is AllalikeError or issubclass(kind, builtin), name


def test_distances_per_pair_of_too_many_workers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.engines.base.free_memory", lambda: 1 << 16)
    rows = {"worker": np.arange(20_001), "task": np.arange(20_001) // 3, "label": np.arange(20_001) % 2}
    with pytest.raises(MemoryError, match="Omit per_pair"):
        allalike.discover(rows, method=PTD(per_pair=True))


@settings(max_examples=100)
@given(content=st.binary(max_size=200) | st.text(alphabet='worker,tasklabel\n"1;\t', max_size=200).map(str.encode))
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_no_file_whatever_is_in_it_breaks_the_reader(content: bytes, ending: str, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("fuzz") / f"a.{ending}"
    path.write_bytes(content)
    try:
        allalike.read(path)
    except AllalikeError as error:
        assert str(error)
