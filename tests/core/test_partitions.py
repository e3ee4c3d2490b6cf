"""Partitions are as many as fit, about equally large, and leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from allalike._core.columns.column import Column
from allalike.answers import stream as streams
from allalike.engines.ingest.routes import route
from allalike.errors import OutputError
from allalike.readers import scan
from allalike.readers.formats import tables


def test_partitions_are_balanced_and_a_power_of_two(tmp_path: Path) -> None:
    tasks = pa.array([f"t{number:07d}" for number in range(64_000)])
    table = pa.table({"worker": ["w"] * 64_000, "task": tasks, "label": ["x"] * 64_000})
    for source in (table, table.set_column(1, "task", [np.arange(64_000)])):
        routed = route(scan(source, domain="categorical").stream(), tmp_path, memory=1 << 30, partitions=50)
        sizes = [len(routed.label(number)) for number in range(routed.n_partitions)]
        assert len(sizes) == 64
        assert max(sizes) < 1.25 * min(sizes)
        for number in range(64):
            routed.remove(number)
        assert not list(tmp_path.iterdir())


def test_the_number_of_partitions_follows_from_size_and_memory(tmp_path: Path) -> None:
    stream = scan([("w", number, "x") for number in range(5000)]).stream()
    for size, memory, partitions in ((0, 1, 1), (1 << 30, 1 << 30, 16), (1 << 40, 1 << 20, 1024)):
        routed = route(replace(stream, size=size), tmp_path, memory=memory)
        assert routed.n_partitions == pytest.approx(partitions, rel=0.02)
        assert len(list(tmp_path.iterdir())) == routed.n_partitions
        for number in range(routed.n_partitions):
            routed.remove(number)


def test_a_full_disk_is_a_clear_error_and_nothing_is_left(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    (tmp_path / "0.rows").symlink_to("/dev/full")
    with pytest.raises(OutputError, match=f"cannot write to its work folder {tmp_path}: No space left"):
        route(scan([("a", 1, "x"), ("b", 1, "x"), ("c", 1, "y")]).stream(), tmp_path, memory=1 << 30)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_run_leaves_nothing(
    stop: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_BATCH_ROWS", 4)
    monkeypatch.setattr(tables, "_SLICE_ROWS", 4)
    stream = scan([("a", number, "x") for number in range(20)], domain="categorical").stream()

    def batches() -> Iterator[dict[str, Column]]:
        for number, batch in enumerate(stream.batches()):
            if number == 3:
                assert list(tmp_path.iterdir())
                raise stop
            yield batch

    with pytest.raises(stop):
        route(replace(stream, batches=batches), tmp_path, memory=1 << 30)
    assert not list(tmp_path.iterdir())
