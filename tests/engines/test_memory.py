"""The memory engine: large files are read part by part, with the same result."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from crowds import samples
from running.updates import assert_same

WRITTEN = [kind for kind in samples.KINDS if kind not in ("bitmap", "custom")]  # whose labels fit into a column


@pytest.mark.parametrize(
    ("ending", "domain"),
    [
        pytest.param(ending, kind, marks=pytest.mark.long if (turn + place) % 4 else ())
        for turn, ending in enumerate(("csv", "parquet"))
        for place, kind in enumerate(WRITTEN)
    ],
)
def test_large_files_are_read_part_by_part_with_the_same_result(
    domain: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = samples.crowd(domain, seed=3, n=8, m=60, missing=0.3)
    written = [(w, t, label if isinstance(label, str | int | float) else _json(label)) for w, t, label in rows]
    frame = pd.DataFrame(written, columns=["worker", "task", "label"])
    path = tmp_path / f"answers.{ending}"
    (frame.to_csv if ending == "csv" else frame.to_parquet)(path, index=False)
    gold = {task: label for worker, task, label in rows if worker == "w000"}
    method = "auto" if domain == "categorical" else "iP-TD"
    whole = allalike.discover(path, domain=samples.kind(domain), gold=gold, method=method)
    monkeypatch.setattr("allalike.engines.memory._MIN_SHARDED_BYTES", 0)
    monkeypatch.setattr("allalike.engines.memory._SHARD_BYTES", 1 << 9)
    monkeypatch.setattr("allalike.engines.ingest.routes._ROWS_PER_SORT", 7)
    parts = allalike.discover(path, domain=samples.kind(domain), gold=gold, method=method)
    assert len(parts.run.shards) > 1  # type: ignore[attr-defined]
    assert_same(parts, whole)


def _json(label: Any) -> str:
    return json.dumps(label if isinstance(label, dict) else list(label))


@pytest.mark.parametrize("n_workers", [20, 40, 200])
def test_a_block_names_its_workers_only_where_few_of_all_occur_in_it(n_workers: int) -> None:
    rng = np.random.default_rng(n_workers)
    rows = [(int(w), t, int(rng.integers(3))) for t in range(40) for w in rng.choice(n_workers, 5, replace=False)]
    rows += [(w, 40, 1) for w in range(n_workers)]
    answers = allalike.read(rows, domain="categorical")
    starts = 0
    for block in answers.blocks(50):
        worker = answers.worker[starts : starts + len(block.worker)]
        starts += len(worker)
        few = len(set(worker.tolist())) < n_workers / 2
        assert isinstance(block.workers, np.ndarray) == few
        assert np.arange(n_workers)[block.workers][block.worker].tolist() == worker.tolist()
        assert block.n_workers == (len(set(worker.tolist())) if few else n_workers)
    assert starts == len(rows)
