"""Programs that start Spark: as spark-submit says, with clear errors, and nothing is left behind when they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from running.local_spark import need_spark

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [*need_spark(), pytest.mark.long]

TESTS = Path(__file__).parents[1]
ROWS = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y")]

STOPPED = f"""
import allalike
from allalike import Spark
rows = {ROWS}
result = allalike.discover(rows, engine=Spark())
session = Spark().start()
print(session.sparkContext.master, session.sparkContext.getConf().get("spark.driver.bindAddress"))
frame = session.createDataFrame(rows, ["worker", "task", "label"])
session.stop()
for attempt in (
    lambda: result.truth,
    lambda: result.save("nowhere", format="parquet"),
    lambda: allalike.discover(rows, engine=Spark(session)),
    lambda: allalike.discover(frame, engine=Spark()),
    lambda: allalike.discover(rows, engine=Spark(spark_master="local[none]")),
):
    try:
        attempt()
    except allalike.AllalikeError as error:
        print(error)
print(allalike.discover(rows, engine=Spark()).truth["label"].tolist())
"""


def test_the_master_of_spark_submit_counts_and_what_was_stopped_says_so(tmp_path: Path) -> None:
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": "--master local[3] pyspark-shell"}
    command = [sys.executable, "-c", STOPPED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)
    master, *stopped, wrong, labels = done.stdout.splitlines()
    assert master == "local[3] 127.0.0.1"
    assert stopped == ["The Spark session was stopped. Start a new one, and run it again."] * 4
    assert wrong == "Spark does not start with master 'local[none]'. SparkException: " + wrong.split(": ", 1)[1]
    assert "local[none]" in wrong.split(": ", 1)[1]
    assert labels == "['x', 'y']"


def run_program(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), environment.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, cwd=TESTS, env=environment
    )


def test_spark_says_nothing_unless_it_cannot_start_and_ends_with_the_program() -> None:
    program = f"""
import allalike
from allalike.engines.spark.session import find_context
from allalike.engines.spark import Spark
try:
    find_context(None, "nowhere")
except allalike.AllalikeError as error:
    print(error)
print(allalike.discover({ROWS}, engine=Spark(spark_master="local[1]")).truth["label"].tolist())
from pyspark import SparkContext
print(SparkContext._gateway.proc.pid)
"""
    done = run_program("-c", program)
    assert (done.stderr, done.returncode) == ("", 0)
    error, labels, process = done.stdout.splitlines()
    assert error.startswith("Spark does not start with master 'nowhere'. SparkException: ")
    assert labels == "['x', 'y']"
    wait(lambda: not Path("/proc", process).exists())


def test_spark_talks_to_this_machine_only() -> None:
    program = f"""
import allalike, psutil
from pyspark import SparkContext
print(allalike.discover({ROWS}, engine=allalike.Spark(spark_master="local[1]")).truth["label"].tolist())
own = psutil.Process()
found = [each for process in (own, *own.children(recursive=True)) for each in process.net_connections("inet")]
print(len(found), sorted({{end.ip for each in found for end in (each.laddr, each.raddr) if end}}))
"""
    labels, seen = run_program("-c", program).stdout.splitlines()
    assert labels == "['x', 'y']"
    number, places = seen.split(" ", 1)
    assert int(number) > 0
    assert set(json.loads(places.replace("'", '"'))) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def test_a_lost_executor_costs_time_and_nothing_else(tmp_path: Path) -> None:
    done = run_program("programs/lost_executor.py", str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout)
    assert (said["executors"], said["lost"]) == (2, 1)
    assert np.allclose(said["found"], said["expected"], rtol=1e-12)


INTERRUPTED = f"""
import os, pathlib, signal, sys, time, allalike
from allalike import Custom, Spark
def slow(one, other):
    from pyspark import TaskContext
    if TaskContext.get() is not None:
        pathlib.Path(os.environ["ALLALIKE_MARK"], "running").touch()
        time.sleep(600)
    return float(one != other)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
try:
    allalike.discover({ROWS}, domain=Custom(distance=slow), engine=Spark(spark_master="local[1]"))
except KeyboardInterrupt:
    sys.exit("Aborted!")
"""


def alive(mark: str) -> list[str]:
    """Return the processes that have a mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text()[:200])
        except OSError:  # it has ended meanwhile, or belongs to somebody else
            continue
    return found


def wait(done: Callable[[], object]) -> None:
    """Wait until it is done; the limit of every test ends what would never be."""
    while not done():
        time.sleep(0.1)


def check_end(tmp_path: Path, when: str, number: signal.Signals, expected: tuple[int, str]) -> None:
    """Send a signal to a program, and look how it ends and that nothing of it is left."""
    mark = f"ALLALIKE_MARK={tmp_path}"
    environment = {**os.environ, "ALLALIKE_MARK": str(tmp_path)}
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as program:
        try:
            begun = (tmp_path / "running").exists if when == "run" else lambda: len(alive(mark)) > 1
            wait(lambda: begun() or program.poll() is not None)
            time.sleep(0.3)  # to be further, wherever that is
            program.send_signal(number)
            _, said = program.communicate()
        finally:
            program.kill()  # if it was not ended
    assert (program.returncode, said) == expected
    wait(lambda: not alive(mark))


@pytest.mark.parametrize("when", ["start", "run"])
def test_nothing_is_left_behind_after_an_interrupt(tmp_path: Path, when: str) -> None:
    check_end(tmp_path, when, signal.SIGINT, (1, "Aborted!\n"))


@pytest.mark.usefixtures("ignored_interrupts")
@pytest.mark.parametrize("when", ["start", "run"])
def test_nothing_is_left_behind_by_a_program_that_is_to_end_and_ignores_interrupts(tmp_path: Path, when: str) -> None:
    check_end(tmp_path, when, signal.SIGTERM, (143, ""))
