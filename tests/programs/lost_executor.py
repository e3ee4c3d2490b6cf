"""Have two executors read a file and run rounds, kill one in the middle, and say what came out; for test_spark."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark import SparkConf, SparkContext

import allalike
from allalike._core.blocks.block import Ties
from allalike.engines import Memory, Spark
from crowds.samples import crowd

if TYPE_CHECKING:
    from allalike.engines import Run

WORKERS = 20
ROUNDS = 5


def start(home: Path) -> SparkContext:
    """Start a cluster of two executors, which keep their files in a copy of Spark's folder."""
    for item in Path(pyspark.__file__).parent.iterdir():
        (home / item.name).symlink_to(item)
    os.environ |= {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        "spark.shuffle.io.retryWait": "200ms",  # not to wait long for what the lost executor had
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
    }
    conf = SparkConf().setMaster("local-cluster[2,1,512]").setAppName("test").setAll(list(settings.items()))
    return SparkContext(conf=conf)


def executors(home: Path) -> set[int]:
    """Return the processes of the executors, which this cluster runs in its own folder."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            if b"CoarseGrainedExecutorBackend" in command and home in (process / "cwd").readlink().parents:
                found.add(int(process.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


def slow(block: Any, weights: Any, kernel: Any) -> Any:
    time.sleep(0.3)
    return kernel(block, weights)


def rounds(run: Run, kernel: Any, during: Any) -> list[float]:
    weights = np.ones(WORKERS)
    for number in range(ROUNDS):
        during(number)
        sums = run.sum(kernel, weights)
        weights = 1 / (sums["distance"] / sums["weight"] + 0.1)
    return [float(weight) for weight in weights]


def main() -> None:
    home = Path(sys.argv[1]).resolve()
    context = start(home)
    path = home / "answers.parquet"
    columns = zip(*crowd("categorical", seed=1, n=WORKERS, m=100), strict=True)
    table = pa.table(dict(zip(("worker", "task", "label"), map(list, columns), strict=True)))
    pq.write_table(table, path, row_group_size=500)
    answers = allalike.scan(path, domain="categorical")
    run = Spark(partitions=8).open(allalike.scan(f"file://{path}", domain="categorical"), None, Ties())
    before: set[int] = set()
    while len(executors(home)) < 2:  # one alone may have read all of it on a busy machine
        time.sleep(0.05)

    def kill(number: int) -> None:
        if number == 2:
            before.update(executors(home))
            threading.Timer(0.6, os.kill, (min(before), signal.SIGKILL)).start()

    found = rounds(run, partial(slow, kernel=run.kernels.peer_sums), kill)
    lost = before - executors(home)
    memory = Memory().load(answers.read())
    expected = rounds(memory, memory.kernels.peer_sums, lambda number: None)
    print(json.dumps({"executors": len(before), "lost": len(lost), "found": found, "expected": expected}))  # noqa: T201
    context.stop()


if __name__ == "__main__":
    main()
