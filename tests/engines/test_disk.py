"""The disk engine: whatever the processes, the memory and the partitions, the same numbers; nothing is left behind."""

import gc
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import allalike
from allalike import Disk
from allalike._core.blocks.block import Ties
from allalike.engines.disk import DiskRun
from allalike.result.summaries import find_truths
from crowds import samples
from running.turns import in_turn
from running.updates import assert_same

Rows = list[tuple[str, str, str]]


def crowd(tasks: int = 400) -> Rows:
    return [(worker, task, "abcd"[label]) for worker, task, label in samples.crowd("categorical", seed=0, n=5, m=tasks)]


def write(path: Path, rows: Rows) -> Path:
    path.write_text("worker,task,label\n" + "".join(f"{','.join(row)}\n" for row in rows))
    return path


def work_folders(parent: Path) -> list[Path]:
    gc.collect()
    return list(parent.glob("allalike-*"))


@pytest.mark.parametrize("method", ["iP-TD", pytest.param("auto", marks=pytest.mark.long)])
def test_the_number_of_processes_does_not_change_a_bit(method: str) -> None:
    rows = crowd(100)
    found = [allalike.discover(rows, engine=Disk(partitions=16, processes=n), method=method) for n in (1, 2)]
    assert found[0].workers.equals(found[1].workers)
    assert found[0].truth.equals(found[1].truth)


@pytest.mark.parametrize(
    ("partitions", "method"), in_turn([(64, "auto"), (1, "auto"), (2, "auto"), (1024, "iP-TD")], 4)
)
def test_the_number_of_partitions_does_not_matter(partitions: int, method: str) -> None:
    rows = crowd()
    ours, memory = (
        allalike.discover(rows, engine=engine, method=method) for engine in (Disk(partitions=partitions), None)
    )
    assert_same(ours, memory)


def test_truths_come_in_order_however_few_are_put_in_order_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.engines.disk._TASKS_PER_SORT", 7)
    rows = crowd()
    result = allalike.discover(rows, engine=Disk(partitions=8))
    pieces = list(result.found.pieces())
    assert len(pieces) > 20
    assert result.truth["task"].tolist() == sorted({task for _, task, _ in rows})
    assert result.truth["label"].tolist() == allalike.discover(rows).truth["label"].tolist()


def test_the_work_folder_is_gone_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(allalike.AllalikeError, match="Row 3"):
        allalike.discover([("a", 1, "x"), ("b", 1, "y"), ("c", 1, None)], engine=Disk(work_dir=tmp_path))
    assert not work_folders(tmp_path)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_leaves_no_work_folder_and_no_half_result(tmp_path: Path, how: signal.Signals) -> None:
    work = tmp_path / "work"
    _interrupt(tmp_path, work, how)
    assert not list(work.iterdir())
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("ignored_interrupts")
def test_a_command_that_ignores_interrupts_can_be_ended_too(tmp_path: Path) -> None:
    work = tmp_path / "work"
    assert _interrupt(tmp_path, work, signal.SIGTERM) == 143
    assert not list(work.iterdir())


def _interrupt(tmp_path: Path, work: Path, how: signal.Signals) -> int:
    """Send a signal to a command in the middle of its work, and return the code with which it ends."""
    answers = write(tmp_path / "answers.csv", crowd(1_000))
    work.mkdir()
    program = str(Path(sys.executable).with_name("allalike"))
    engine, method = "disk(processes=2)", "DS(tol=0, max_iter=100000000)"
    command = [program, "discover", str(answers), "--engine", engine, "--method", method]
    with subprocess.Popen([*command, "--work-dir", str(work), "-o", str(tmp_path / "out")]) as process:
        try:
            while not list(work.glob("allalike-*/*/*.blocks")) and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(how)
            code = process.wait()
        finally:
            process.kill()  # if it was not ended
    assert code != 0
    return code


def test_a_full_disk_is_a_clear_error_and_nothing_is_left(tmp_path: Path) -> None:
    code = """
        import resource, sys, allalike
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        try:
            allalike.discover(sys.argv[1], engine=allalike.Disk(work_dir=sys.argv[2]))
        except allalike.AllalikeError as error:
            print(type(error).__name__, error)
    """
    answers = write(tmp_path / "answers.csv", crowd(5_000))
    command = [sys.executable, "-c", textwrap.dedent(code), str(answers), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("OutputError The disk engine cannot write to its work folder")
    assert "File too large" in done.stdout
    assert not work_folders(tmp_path)


@pytest.mark.long
def test_a_script_without_a_guard_is_not_run_again_in_every_process_and_its_distance_works(tmp_path: Path) -> None:
    """Processes do not import the script: not to run it again, and not to know what it defines."""
    script = tmp_path / "script.py"
    rows = crowd(60)
    script.write_text(
        "import allalike\nprint('once')\ndef apart(left, right):\n    return float(left != right)\n"
        f"engine = allalike.Disk(partitions=4, processes=2)\nkind = allalike.Custom(distance=apart)\nrows = {rows!r}\n"
        "print(len(allalike.discover(rows, engine=engine, method='P-TD').truth))\n"
        "print(*allalike.discover(rows, domain=kind, engine=engine, method='P-TD').truth['label'])\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    kind = allalike.Custom(distance=lambda left, right: float(left != right))
    expected = allalike.discover(rows, domain=kind, method="P-TD").truth["label"].tolist()
    assert done.stdout.split() == ["once", "60", *expected]


def test_files_larger_than_half_of_the_free_memory_go_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "answers.csv", crowd())
    assert "engine" not in allalike.discover(path).summary["guessed"]
    monkeypatch.setattr(import_module("allalike.discover"), "free_memory", lambda: path.stat().st_size)
    summary = allalike.discover(path).summary
    assert (summary["engine"], summary["guessed"]["engine"]) == ("disk", "disk")


def test_changed_blocks_go_away_with_their_run(tmp_path: Path) -> None:
    from allalike.readers import scan

    run = Disk(work_dir=tmp_path, partitions=2).open(scan(crowd()), None, Ties())
    changed = run.map(lambda block: block)
    [space] = work_folders(tmp_path)
    assert len(list(space.glob("allalike-*"))) == 2
    before, after = (each.sum(run.kernels.peer_sums, np.ones(len(run.workers))) for each in (run, changed))
    np.testing.assert_array_equal(before["distance"], after["distance"])
    del changed
    gc.collect()
    assert len(list(space.glob("allalike-*"))) == 1
    found = find_truths(run, allalike.UA().fit(run))
    assert found.joined().found["label"].shape == (run.n_tasks,)


def test_what_is_known_of_the_parts_does_not_grow_with_the_number_of_workers() -> None:
    rows = [(worker, worker // 5, "xy"[worker % 2]) for worker in range(20_000)]
    run = allalike.discover(rows, domain="categorical", engine=Disk(partitions=32), method="UA").run
    assert isinstance(run, DiskRun)
    assert len(run.shards.tallies) == 32
    assert len(pickle.dumps(run.shards.tallies)) < 32 * 8000
    assert run.answer_counts.tolist() == [1] * 20_000


def test_several_threads_may_use_one_result() -> None:
    result = allalike.discover(crowd(60), engine=Disk(partitions=4, processes=2), method="UA")
    with ThreadPoolExecutor(2) as threads:
        more = [[("new", f"task-{number}", "x")] for number in range(2)]
        found = list(threads.map(lambda answers: len(result.update(answers).truth), more))
    assert found == [61] * 2


def test_a_process_that_was_forked_does_not_remove_the_work_folder() -> None:
    code = """
        import os, sys, allalike
        rows = [(worker, task, "xy"[worker * task % 2]) for worker in range(4) for task in range(40)]
        result = allalike.discover(rows, engine=allalike.Disk(partitions=2, processes=2), method="P-TD")
        if os.fork() == 0:
            sys.exit(0)
        os.wait()
        print(len(result.truth), result.update([(9, 9, "x")]).summary["answers"])
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["40", "161"]


@pytest.mark.long
def test_an_update_with_a_new_class_does_not_keep_the_files_of_results_that_are_gone(tmp_path: Path) -> None:
    result = allalike.discover(crowd(2000), engine=Disk(work_dir=tmp_path, partitions=4), method="UA")
    sizes = []
    for number in range(4):
        result = result.update([("new", f"task-{number}", f"class-{number}")])
        gc.collect()
        sizes.append(sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()))
    assert sizes[-1] < 1.2 * sizes[0]
    assert len(result.truth) == 2004
