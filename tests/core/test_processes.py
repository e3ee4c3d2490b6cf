"""Processes: what comes back is what was asked for, and nobody outlives the parent."""

import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from allalike._core.system.processes import Processes
from allalike.errors import TooLargeError


def test_processes_do_one_function_after_the_other() -> None:
    with Processes(2) as processes:
        for _ in range(2):
            assert list(processes.map(divmod, [(number, 2) for number in range(5)])) == [divmod(n, 2) for n in range(5)]
            assert list(processes.map(max, [(number, 2) for number in range(5)])) == [2, 2, 2, 3, 4]


def test_a_process_that_is_ended_from_outside_is_a_clear_error() -> None:
    with pytest.raises(TooLargeError, match="out. Buy some"), Processes(2, remedy="Buy some.") as processes:
        list(processes.map(signal.raise_signal, [(signal.SIGKILL,), (signal.SIGKILL,)]))


def test_a_function_of_the_prompt_is_sent_along() -> None:
    with Processes(2) as processes:
        assert list(processes.map(lambda number: number + 1, [(1,), (2,)])) == [2, 3]


def test_whoever_stops_listening_ends_what_is_under_way() -> None:
    with Processes(2) as processes:
        with closing(processes.map(time.sleep, [(0,), (600,), (600,)])) as done:
            assert next(done) is None
        assert list(processes.map(max, [(1, 2), (3, 4)])) == [2, 4]


WORKING = r"""
import signal, sys
from allalike._core.system.processes import Processes
signal.signal(signal.SIGINT, signal.default_int_handler)
processes = Processes(2)
list(processes.map(exec, [("import os, time; os.write(1, b'working\\n'); time.sleep(60)",)] * 2))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_children_end_with_their_parent_in_the_middle_of_a_job(how: signal.Signals) -> None:
    """The children write to the parent's standard output, which ends when the last of them has ended."""
    with subprocess.Popen([sys.executable, "-c", WORKING], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        try:
            assert [program.stdout.readline() for _ in range(2)] == ["working\n"] * 2
            program.send_signal(how)
            program.communicate(timeout=30)
        finally:
            program.kill()
    assert program.returncode != 0


@pytest.mark.filterwarnings("error")
def test_a_caller_may_stop_while_jobs_wait() -> None:
    """Otherwise loky's thread ends with a traceback, which is a warning here."""
    for _ in range(3):
        with Processes(2) as processes:
            results = processes.map(time.sleep, [(0.02,)] * 40)
            next(results)
            time.sleep(0.03)
            results.close()
