"""Spark is started as spark-submit says, ends with the program, and says in a sentence that it was stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local_spark import need_spark

if TYPE_CHECKING:
    from collections.abc import Callable

need_spark()

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
    lambda: allalike.discover(rows, engine=Spark(master="local[none]")),
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
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=environment, cwd=tmp_path
    )
    assert (done.stderr, done.returncode) == ("", 0)
    master, *stopped, wrong, labels = done.stdout.splitlines()
    assert master == "local[3] 127.0.0.1"
    assert stopped == ["The Spark session was stopped. Start another one, and begin anew."] * 4
    assert wrong == "Spark does not start with master 'local[none]'. SparkException: " + wrong.split(": ", 1)[1]
    assert "local[none]" in wrong.split(": ", 1)[1]
    assert labels == "['x', 'y']"


INTERRUPTED = f"""
import os, pathlib, signal, sys, time, allalike
from allalike import Custom, Spark
def slow(one, other):
    from pyspark import TaskContext
    if TaskContext.get() is not None:
        pathlib.Path(os.environ["ALLALIKE_MARK"], "running").touch()
        time.sleep(60)
    return float(one != other)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
try:
    allalike.discover({ROWS}, domain=Custom(distance=slow), engine=Spark(master="local[1]"))
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


def wait(until: float, done: Callable[[], object]) -> None:
    end = time.monotonic() + until
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("when", "number"), [("start", signal.SIGINT), ("start", signal.SIGTERM), ("run", signal.SIGINT)]
)
def test_nothing_is_left_behind_after_an_interrupt(tmp_path: Path, when: str, number: signal.Signals) -> None:
    mark = f"ALLALIKE_MARK={tmp_path}"
    environment = {**os.environ, "ALLALIKE_MARK": str(tmp_path)}
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as program:
        try:
            wait(60, (tmp_path / "running").exists if when == "run" else lambda: len(alive(mark)) > 1)
            time.sleep(0.3)
            program.send_signal(number)
            _, said = program.communicate(timeout=60)
        finally:
            program.kill()  # if it was not ended
    assert (program.returncode, said) == ((1, "Aborted!\n") if number == signal.SIGINT else (143, ""))
    wait(30, lambda: not alive(mark))
