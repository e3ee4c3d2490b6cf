"""Limited memory: pairs of workers are compared in ranges with the same result, and skipped searches are reported."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import allalike
from allalike import Disk, Memory, Result
from allalike._core.blocks import pairs
from allalike._core.blocks.block import Ties
from allalike._core.system.progress import progress_callback
from allalike.engines import budget, disk
from allalike.engines.base import Run
from allalike.engines.ranges import find_parts
from allalike.engines.sample import sample_tasks
from allalike.errors import DataNote
from allalike.methods.auto.copies import similarity, worker_pairs
from allalike.readers import scan
from crowds.copiers import check_alike, scattered

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from crowd_file import write_crowd

Rows = list[tuple[str, str, Any]]
MB = 10**6


def found_in_parts(rows: Rows, domain: str, engine: Any, memory: int, patch: pytest.MonkeyPatch) -> tuple[Result, int]:
    """Return the result with so little memory for pairs, and into how many parts these were cut."""
    cut = [0]
    with (
        patch.context() as short,
        progress_callback(lambda stage, _, total: cut.append(total if stage == "pairs" else 0)),
    ):
        short.setattr(Run, "pair_memory", memory)
        return allalike.discover(rows, domain=domain, engine=engine), max(cut)


@pytest.mark.parametrize(
    ("domain", "engine", "small"),
    [
        ("categorical", Memory(), 1 << 20),
        ("categorical", Memory(block_answers=300), 0),
        ("categorical", Disk(partitions=3), 0),
        ("real", Memory(), 1 << 20),
        ("real", Disk(partitions=3), 1 << 20),
    ],
    ids=repr,
)
def test_copies_are_the_same_in_parts(domain: str, engine: Any, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_MANY_PAIRS", 0)
    monkeypatch.setattr(similarity, "_MAX_PEERS", 20)
    monkeypatch.setattr(worker_pairs, "_MAX_PEERS", 30)
    rows, memory = scattered(domain), 60_000 if domain == "categorical" else 300_000
    whole = allalike.discover(rows, domain=domain)
    monkeypatch.setattr(pairs, "_MAX_DENSE_ENTRIES", small)  # of sums that are arrays
    found, cut = found_in_parts(rows, domain, engine, memory, monkeypatch)
    assert cut > (3 if domain == "categorical" else 1)
    check_alike(found, whole)


def test_pairs_that_tell_nothing_are_left_out_and_all_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Memory().load(allalike.read(scattered("real"), domain="real"))
    whole = worker_pairs.find_worker_pairs(run)
    monkeypatch.setattr(worker_pairs, "_MAX_PEERS", 20)
    monkeypatch.setattr(Run, "pair_memory", 300_000)
    dropped = np.arange(60) == 7
    found = worker_pairs.find_worker_pairs(run, dropped)
    assert whole is not None
    assert found is not None
    met = whole.some(~(dropped[whole.left] | dropped[whole.right]))
    pairs = [list(zip(each.left.tolist(), each.right.tolist(), strict=True)) for each in (met, found)]
    told = dict(zip(pairs[0], zip(met.common, met.mean, strict=True), strict=True))
    assert len(pairs[1]) < len(pairs[0])
    assert {pair for pair, (common, _) in told.items() if common >= 5} < set(pairs[1])
    for place, pair in enumerate(pairs[1]):
        assert told[pair] == pytest.approx((found.common[place], found.mean[place]))
    for worker in np.flatnonzero(~dropped).tolist():
        before, after = (
            [common for pair, common in each if worker in pair]
            for each in (zip(pairs[0], met.common, strict=True), zip(pairs[1], found.common, strict=True))
        )
        assert sorted(before)[-20:] == sorted(after)[-20:]


def test_parts_are_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    rows = [(int(w), t, "x") for t in range(60) for w in rng.choice(8, 2, replace=False) + 8 * rng.integers(5)]
    run = Memory(block_answers=20).load(allalike.read(rows, domain="categorical"))
    whole = find_parts(run)
    assert whole is not None
    assert len(set(whole.tolist())) >= 5
    monkeypatch.setattr(Run, "pair_memory", 6000)
    with progress_callback(lambda *event: cut.append(event[2])):
        cut: list[int] = []
        assert find_parts(run) is not None
        assert np.array_equal(find_parts(run), whole)  # type: ignore[arg-type]
    assert max(cut) > 3
    monkeypatch.setattr(Run, "pair_memory", 10)
    assert find_parts(run) is None


def test_copies_too_many_to_compare_are_not_looked_for_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = scattered("categorical")
    rows += [("copy of " + worker, task, label) for worker, task, label in rows if worker < "w030"]
    with pytest.warns(DataNote, match="search for copy groups was skipped"):
        found, _ = found_in_parts(rows, "categorical", None, 5_000, monkeypatch)
    assert any("search for copy groups was skipped" in each for each in found.notes)
    assert any("search for copy groups was skipped" in each for each in found.summary["warnings"])


def test_what_a_disk_run_may_take_is_what_its_limit_leaves() -> None:
    run = Disk(memory="500MB", partitions=2).open(scan(scattered("categorical")), None, Ties())
    before = run.free_memory
    taken = np.ones(100 * MB // 8)
    after = run.free_memory
    assert 0 < before <= 500 * MB
    assert 0 < sample_tasks(run, 100).free_memory <= 500 * MB
    assert before - after > 0.8 * taken.nbytes or after == budget._LITTLE_BYTES


@pytest.mark.parametrize(("memory", "number"), [("500MB", 1), ("1GB", 3), ("100GB", 64)])
def test_there_are_no_more_processes_than_memory_for_them(
    memory: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "_MIN_PARALLEL_ANSWERS", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    run = Disk(memory=memory, partitions=1).open(scan(scattered("categorical")), None, Ties())
    assert run.n_processes == number


CHILD = "import sys; from allalike.cli import main; main(sys.argv[1:])"


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("n_workers", [300, 20_000])
def test_a_program_stays_within_its_memory(n_workers: int, tmp_path: Path) -> None:
    path = write_crowd(tmp_path / "crowd.csv", 2_000_000, n_workers, mixed=True)
    options = ["--engine", "disk", "--memory", "500MB", "--output", str(tmp_path / "out")]
    child = psutil.Popen([sys.executable, "-c", CHILD, "discover", str(path), *options], stdout=subprocess.DEVNULL)
    peak = 0
    while child.poll() is None:
        peak = max(peak, sum(map(held, [child, *children(child)])))
        time.sleep(0.05)
    assert child.returncode == 0
    assert peak < 600 * MB  # with the process that draws the charts


def children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def held(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
