"""A program for tests: save results while killing the process at every step, or two at once, and look what is there.

Usage: killed_saves.py FOLDER SCENARIO:SIGNAL... It prints how many processes were ended, and asserts everything else.
"""

import ctypes
import os
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import allalike
from allalike._core.system import files
from allalike.errors import InputError
from allalike.history import read_history
from allalike.result.result import Result
from allalike.result.saving import result_names, result_output
from allalike.serve.session import Session

Files = dict[str, bytes]
_STEPS = {"open", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
_ROUNDS = 8
_NOTE = "notes.txt"


def made(seed: int, *, masks: bool) -> Result:
    rng = np.random.default_rng(seed)
    tasks = [f"t{number}" for number in range(1 + seed)]
    draw: Callable[[], object] = (lambda: rng.random((3, 3)) < 0.5) if masks else (lambda: str(rng.integers(3)))
    return allalike.discover([(worker, task, draw()) for task in tasks for worker in "abc"], method="UA")


os.environ["SOURCE_DATE_EPOCH"] = "0"  # so that what is saved again is the same


def content(folder: Path) -> Files:
    """Return all files but those in stages."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".allalike-" not in str(path.relative_to(folder))]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def in_child(work: Callable[[], object]) -> int:
    """Do something in another process, and return how it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        work()
    except KeyboardInterrupt:
        os._exit(1)
    except BaseException as error:
        sys.stderr.write(f"{error!r}\n")
        os._exit(3)
    os._exit(0)


def end_at(step: int, by: signal.Signals) -> None:
    """End this process before its n-th change of the disk, or the first after it that Python sees."""
    left = [step]

    def look(event: str, arguments: tuple[object, ...]) -> None:
        if event in _STEPS and not _opens_folder(event, arguments) and left[0] > 0:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), by)

    sys.addaudithook(look)


def _opens_folder(event: str, arguments: tuple[object, ...]) -> bool:
    """Tell whether it is a step on the way to a file, which changes nothing on the disk."""
    return event == "open" and isinstance(arguments[2], int) and bool(arguments[2] & os.O_DIRECTORY)


def kill_at_every_step(root: Path, scenario: str, by: signal.Signals) -> int:
    masks = "masks" in scenario
    old, new = (made(seed, masks=masks) for seed in (0, 1))
    files = []
    for number, result in enumerate((old, new)):
        result.save(root / f"as it should be {number}")
        files.append(content(root / f"as it should be {number}"))
    for step in range(1, 1000, 1 if by == signal.SIGKILL else 3):  # the others are waited for, or clean up
        folder = root / str(step) / "out"
        folder.parent.mkdir()
        if scenario != "new":
            shutil.copytree(root / "as it should be 0", folder)
        note = {}
        if "shared" in scenario:
            (folder / _NOTE).write_text("mine")
            note = {_NOTE: b"mine"}
        before, after = ({} if scenario == "new" else {**files[0], **note}), {**files[1], **note}

        def save(folder: Path = folder, step: int = step) -> None:
            end_at(step, by)
            new.save(folder)

        ended = in_child(save)
        there = content(folder)
        if ended == 0:
            assert there == after, sorted(there)
            assert step > 5
            return step
        assert ended in (-by, 1), ended
        if scenario in ("own", "own masks", "new") or by != signal.SIGKILL:
            assert there in (before, after), (step, sorted(there))
        assert there.items() >= note.items()
        if there not in (before, after):
            gone = "stepwise" in scenario and not folder.exists()  # between two renames
            assert gone or is_incomplete(folder), (step, sorted(there))
        result_output(folder).check(result_names("csv"))  # as the next run does before it begins
        new.save(folder)
        assert content(folder) == after, step
        assert allalike.load(folder).truth is not None
    raise AssertionError("It never ends.")


def is_incomplete(folder: Path) -> bool:
    """Return whether the result is reported as incomplete by whoever opens it, and nothing is changed by that."""
    there, messages = content(folder), set()
    session = Session(folder.parent, limit=1)
    opening = (allalike.load, lambda folder: allalike.update(folder, [("zoe", "t0", "1")]), session.show, read_history)
    for each in opening:
        try:
            each(folder)
        except InputError as error:
            messages.add(str(error))
    assert content(folder) == there
    return len(messages) == 1 and "is incomplete" in min(messages)


def save_thrice(result: Result, folder: Path) -> None:
    for _ in range(3):
        result.save(folder)


def save_at_once(root: Path, scenario: str) -> int:
    results = [made(seed, masks="masks" in scenario) for seed in (0, 1)]
    wanted = []
    for number, result in enumerate(results):
        result.save(root / f"as it should be {number}")
        wanted.append(content(root / f"as it should be {number}"))
    for round_ in range(_ROUNDS):
        folder = root / str(round_) / "out"
        folder.mkdir(parents=True)
        if "shared" in scenario:
            (folder / _NOTE).write_text("mine")
        readable, writable = os.pipe()
        children = []
        for result in results:
            child = os.fork()
            if child == 0:
                os.close(writable)
                os.read(readable, 1)  # until both are there
                os._exit(in_child(partial(save_thrice, result, folder)))
            children.append(child)
        os.close(readable)
        os.close(writable)
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
        there = content(folder)
        assert there.pop(_NOTE, b"mine") == b"mine"
        assert there in wanted, (round_, sorted(there))
        assert not list(folder.parent.rglob(".allalike-*"))
    return _ROUNDS


if __name__ == "__main__":
    vars(os)["fsync"] = lambda file: None  # which takes time, and matters only if the machine fails
    for case in sys.argv[2:]:
        scenario, how = case.split(":")
        place = Path(sys.argv[1], f"{scenario} {how}")
        place.mkdir()
        # or as on systems that cannot let folders change places in one step
        vars(files)["ctypes"] = object() if "stepwise" in scenario else ctypes
        sys.stdout.write(f"{case}\n")
        sys.stdout.flush()
        done = (
            kill_at_every_step(place, scenario, signal.Signals[how]) if how != "both" else save_at_once(place, scenario)
        )
        sys.stdout.write(f"{done}\n")
