"""The Spark engine gives what memory gives, and its errors are clear."""

from __future__ import annotations

import importlib
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import allalike
from allalike.engines import Memory, Piece
from allalike.engines.shards import Cuts
from allalike.engines.spark import Spark
from allalike.engines.spark import engine as spark_engine
from allalike.engines.spark.engine import SparkRun
from allalike.engines.spark.session import find_context, find_java
from allalike.errors import EngineError, LabelError, OutputError, UnsupportedError
from crowds.samples import KINDS, crowd, flattened, kind
from running.local_spark import SPARK, need_spark
from running.turns import in_turn

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.answers import Answers
    from allalike.engines import Run

pytestmark = need_spark()

WORKERS = 8


@pytest.fixture(scope="session")
def spark() -> Spark:
    return SPARK


def some(domain: str = "categorical", m: int = 40, missing: float = 0.2) -> Answers:
    return allalike.read(crowd(domain, seed=1, n=WORKERS, m=m, missing=missing), domain=kind(domain))


@pytest.mark.parametrize("domain", ["categorical", "bitmap"])
def test_a_result_from_spark_keeps_its_answers_and_is_loaded_in_memory(
    domain: str, spark: Spark, tmp_path: Path
) -> None:
    found = allalike.discover(some(domain), engine=replace(spark, partitions=3), method="P-TD")
    found.save(tmp_path / "out")
    for engine in ("memory", spark):
        loaded = allalike.load(tmp_path / "out", engine=engine)
        assert [str(label) for label in loaded.truth["label"]] == [str(label) for label in found.truth["label"]]
        np.testing.assert_allclose(loaded.workers["weight"], found.workers["weight"], rtol=1e-12)
    assert allalike.update(tmp_path / "out", some(domain)).summary["changes"]["answers"] == 0


def weights() -> Floats:
    return np.linspace(0.5, 2.0, WORKERS)


def peer_sums(run: Run) -> dict[str, Floats]:
    return run.sum(run.kernels.peer_sums, weights())


def aggregate(run: Run) -> Any:
    return run.find(partial(run.kernels.aggregate, ties=run.ties), weights(), weights())


def close(left: dict[str, Any], right: dict[str, Any]) -> bool:
    dense = [
        {name: np.asarray(a.todense() if hasattr(a, "todense") else a) for name, a in x.items()} for x in (left, right)
    ]
    return left.keys() == right.keys() and all(np.allclose(dense[0][n], dense[1][n], 1e-12, 1e-12) for n in left)


def equal(left: Piece, right: Piece) -> bool:
    assert left.tasks.tolist() == right.tasks.tolist()
    assert np.array_equal(left.answers, right.answers)
    assert left.found.keys() == right.found.keys()
    plain = [name for name in left.found if name not in ("label", "objects")]
    numbers = all(np.allclose(left.found[n], right.found[n], 1e-12, equal_nan=True) for n in plain)
    if "objects" in left.found:
        return numbers and all(
            np.allclose(flattened(mine), flattened(theirs), 1e-9)
            for name in ("label", "objects")
            for mine, theirs in zip(left.found[name], right.found[name], strict=True)
        )
    return numbers and repr(left.found["label"].tolist()) == repr(right.found["label"].tolist())


@pytest.mark.parametrize("domain", in_turn(KINDS, 4))
def test_sums_pairs_and_truths_are_those_of_memory(spark: Spark, domain: str) -> None:
    answers = some(domain)
    memory, run = Memory().load(answers), spark.load(answers)
    assert run.shards.getNumPartitions() == 3
    assert close(peer_sums(memory), peer_sums(run))
    assert close(memory.pairs(memory.kernels.pair_sums), run.pairs(run.kernels.pair_sums))
    one, other = aggregate(memory), aggregate(run)
    assert [other.total(name) for name in ("tied", "error")] == pytest.approx([one.total(n) for n in ("tied", "error")])
    assert [other.count(name) for name in ("tied", "confidence")] == [one.count(n) for n in ("tied", "confidence")]
    if domain in ("vector", "probability"):
        assert np.allclose(one.joined().found["label"], other.joined().found["label"])
    else:
        assert equal(one.joined(), other.joined())


def test_tasks_that_are_problems_of_their_own_stay_so(spark: Spark) -> None:
    answers = some(m=10).per_task()
    memory, run = Memory().load(answers), spark.load(answers)
    ones = np.ones(answers.n_answers)
    assert close(memory.sum(memory.kernels.peer_sums, ones), run.sum(run.kernels.peer_sums, ones))
    assert run.worker_task is not None
    assert run.worker_task.tolist()[:3] == ["t0000"] * 3


@pytest.mark.parametrize("little", [0, 1 << 30], ids=["executors", "driver"])
@pytest.mark.long
def test_sums_of_many_partitions_are_the_same_in_every_run(
    spark: Spark, monkeypatch: pytest.MonkeyPatch, little: int
) -> None:
    monkeypatch.setattr(spark_engine, "_MAX_DRIVER_BYTES", little)
    answers = some("real")
    memory, run = Memory().load(answers), replace(spark, partitions=12).load(answers)
    once, again = peer_sums(run), peer_sums(run)
    assert all(np.array_equal(once[name], again[name]) for name in once)
    assert close(peer_sums(memory), once)
    assert close(memory.pairs(memory.kernels.pair_sums), run.pairs(run.kernels.pair_sums))


def test_large_parts_are_sent_in_halves(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_engine, "_MAX_PARCEL_BYTES", 2000)
    answers = some("text")
    run = spark.load(answers)
    assert run.shards.getNumPartitions() > 3
    assert equal(aggregate(Memory().load(answers)).joined(), aggregate(run).joined())


def double(block: Block) -> Block:
    return block.keeping(2.0)


def doubled(block: Block) -> dict[str, Floats]:
    return {"doubled": np.full(block.n_workers, block.prepared.get(float, 0.0))}


def test_changed_blocks_stand_beside_the_old_ones(spark: Spark) -> None:
    run = spark.load(some())
    changed = run.map(double)
    assert changed.sum(doubled)["doubled"].tolist() == [6.0] * WORKERS
    assert run.sum(doubled)["doubled"].tolist() == [0.0] * WORKERS


@pytest.mark.long
def test_a_function_written_at_a_prompt_reaches_the_executors(spark: Spark) -> None:
    rows = [(f"w{i}", f"t{j}", 10 * j + i) for i in range(4) for j in range(6)]
    domain = allalike.Custom(distance=lambda a, b: abs(a - b))
    memory, found = (allalike.discover(rows, domain=domain, engine=engine) for engine in (Memory(), spark))
    assert found.truth["label"].tolist() == memory.truth["label"].tolist()


def scattered(spark: Spark) -> SparkRun:
    """Return a run whose even tasks are in one shard, and whose odd ones in another."""
    rows = crowd("categorical", seed=1, n=WORKERS, m=40, missing=0.2)
    parts = [allalike.read([row for row in rows if int(row[1][1:]) % 2 == odd], domain="categorical") for odd in (0, 1)]
    one, other = (replace(spark, partitions=1).load(part) for part in parts)
    return replace(one, shards=one.shards.union(other.shards), cuts=Cuts(["t0011", "t0012", "t0030"]))


def test_tasks_of_many_shards_are_put_in_order(spark: Spark) -> None:
    found = aggregate(scattered(spark))
    pieces = list(found.pieces())
    assert [len(piece.tasks) for piece in pieces] == [11, 1, 18, 10]
    assert equal(Piece.join(pieces), aggregate(Memory().load(some())).joined())


def as_table(piece: Piece) -> pa.Table:
    return pa.table({"task": piece.tasks.arrow(), "label": pa.array(piece.found["label"].tolist())})


@pytest.mark.parametrize("in_order", [True, False])
def test_executors_write_parts_in_order(spark: Spark, tmp_path: Path, in_order: bool) -> None:
    run = spark.load(some()) if in_order else scattered(spark)
    path = tmp_path / "new" / "truth.parquet"
    aggregate(run).write(path, as_table)
    names = sorted(part.name for part in path.iterdir())
    assert names == [f"part-{number:05}.parquet" for number in range(3 if in_order else 4)]
    expected = as_table(aggregate(Memory().load(some())).joined())
    assert pa.concat_tables([pq.read_table(path / name) for name in names]).combine_chunks() == expected


def unwritable(piece: Piece) -> pa.Table:
    raise OSError(28, "No space left on device")


def test_a_full_disk_of_an_executor_is_a_clear_error(spark: Spark, tmp_path: Path) -> None:
    found = aggregate(spark.load(some()))
    with pytest.raises(OutputError, match=r"An executor cannot write .*part-0000.\.parquet: No space left on device\."):
        found.write(tmp_path / "truth.parquet", unwritable)
    assert not list((tmp_path / "truth.parquet").iterdir())


def refuse(block: Block, *_: Floats) -> dict[str, Floats]:
    raise LabelError("The label in row 3 does not fit.")


def fail(block: Block, *_: Floats) -> dict[str, Floats]:
    raise ZeroDivisionError("nothing to divide by")


def refused(block: Block) -> Block:
    raise LabelError("The block does not fit.")


def test_errors_of_ours_arrive_as_they_are(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    run = spark.load(some())
    for ask in (run.sum, run.pairs, run.find):
        with pytest.raises(LabelError, match=r"^The label in row 3 does not fit\.$"):
            ask(refuse)
    with pytest.raises(LabelError, match=r"^The block does not fit\.$"):
        run.map(refused).sum(doubled)
    monkeypatch.setattr(spark_engine, "_MAX_DRIVER_BYTES", 0)
    with pytest.raises(LabelError, match="row 3"):
        replace(spark, partitions=12).load(some()).sum(refuse)


@pytest.mark.long
def test_executors_that_lack_a_module_are_explained(
    spark: Spark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = spark.load(some())
    (tmp_path / "only_here.py").write_text("def kernel(block):\n    return {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnsupportedError, match=r"^The executors of Spark do not have only_here\. .*--py-files"):
        run.sum(importlib.import_module("only_here").kernel)


def test_what_nobody_needs_is_released_in_the_middle_of_a_call(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    context, released = find_context(None, "local[2]"), threading.Event()
    run = spark.load(some())
    peer_sums(run)
    owners = [aggregate(run), run]
    del run
    kept = set(context._jsc.getPersistentRDDs().keySet())
    gateway: Any = context._gateway
    connection = gateway._gateway_client.get_thread_connection()
    send = connection.socket.sendall

    def send_and_collect(data: bytes) -> None:
        send(data)
        owners.clear()

    with monkeypatch.context() as patched:
        patched.setattr(connection, "socket", SimpleNamespace(sendall=send_and_collect))
        assert gateway.jvm.PythonPartitioner._fqn.endswith("PythonPartitioner")
    spark_engine._releases().put((released.set,))
    released.wait()
    assert len(kept - set(context._jsc.getPersistentRDDs().keySet())) == 2


def test_the_active_session_is_used_again(spark: Spark) -> None:
    spark.load(some())
    context = find_context(None, "local[2]")
    assert context is find_context(None, None)
    assert context is find_context(SimpleNamespace(sparkContext=context), "local[*]")
    assert context.getConf().get("spark.ui.enabled") == "false"
    assert context.getConf().get("spark.driver.bindAddress") == "127.0.0.1"


@pytest.mark.parametrize("session", ["local[2]", object()])
def test_what_is_no_session_is_refused(session: object) -> None:
    with pytest.raises(UnsupportedError, match="Use a SparkSession"):
        Spark(session).load(some())


def test_a_master_that_is_not_there_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    with pytest.raises(EngineError, match="No Spark master responds at spark://127.0.0.1:1"):
        Spark(spark_master="spark://127.0.0.1:1").load(some())
    with pytest.raises(EngineError, match=r"YARN is not known\. Set HADOOP_CONF_DIR or YARN_CONF_DIR\."):
        Spark(spark_master="yarn").load(some())


def test_another_master_beside_the_active_one_is_refused(spark: Spark) -> None:
    run = spark.load(some())
    with pytest.raises(
        UnsupportedError, match=r"runs already with master 'local\[2\]', and cannot also run with 'local'"
    ):
        Spark(spark_master="local").load(some())
    assert Spark().load(some()).shards.context is run.shards.context
    peer_sums(run)


def a_java(folder: Path, version: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    (folder / "java").chmod(0o755)


def test_a_missing_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedError, match=r"there is none on the PATH\. .*apt install openjdk"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UnsupportedError, match="there is none in JAVA_HOME"):
        find_java()


@pytest.mark.parametrize(("version", "old"), [("1.8.0_292", "8"), ("11.0.2", "11"), ("17.0.1", ""), ("25-ea", "")])
def test_an_old_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, old: str) -> None:
    a_java(tmp_path / "bin", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if old:
        with pytest.raises(UnsupportedError, match=f"Java 17 or newer, and .*java is Java {old}\\. Install it"):
            find_java()
    else:
        assert find_java() == str(tmp_path / "bin" / "java")


def test_a_missing_or_old_pyspark_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "3.5.1")
    with pytest.raises(UnsupportedError, match="needs PySpark 4, not 3.5.1"):
        Spark().load(some())
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(UnsupportedError, match=r'not installed\. Install it with `pip install "allalike\[spark\]"`'):
        Spark().load(some())
