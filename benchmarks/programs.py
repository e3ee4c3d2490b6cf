"""The programs that are measured, each in a process of its own: they know a ``path``, and ``report`` figures."""

__all__ = ["DISCOVER", "JOINS", "LIMITED", "PAIRS", "PANDAS", "READ", "RIVALS", "ROUND", "SPARK_ROUNDS"]

READ = """
import pyarrow.parquet as pq
before = tree_cpu()
pq.read_table(path, columns=["worker", "task", "label"])
report(cpu=tree_cpu() - before)
"""
DISCOVER = """
import allalike, allalike.discover, pyarrow.csv, pyarrow.parquet
from allalike.engines import Disk, Memory
before = tree_cpu()
result = allalike.discover(path, method="iP-TD(max_iter=10, tol=0)", engine={engine})
result.save(path + ".out", format="parquet")
report(cpu=tree_cpu() - before, tasks=result.summary["tasks"], changed=result.summary["changed"])
"""
LIMITED = """
from allalike.cli import main
try:
    main(["discover", path, "--engine", "disk", "--memory", "500MB", "--output", path + ".out", "--quiet"])
except SystemExit as end:
    report(failed=end.code or 0, cpu=tree_cpu())
"""
ROUND = """
import allalike, numpy as np
from allalike.engines import Memory
from allalike._core.blocks.block import Ties
answers = allalike.read(path)
run, weights = Memory().load(answers), np.ones(len(answers.workers))
values = np.random.default_rng(0).random(answers.n_answers)
def shortest(action):
    taken = []
    for _ in range(5):
        before = time.process_time()
        action()
        taken.append(time.process_time() - before)
    return min(taken)
ours = shortest(lambda: run.sum(run.kernels.peer_sums, weights))
report(
    round=ours,
    bincount=shortest(lambda: np.bincount(answers.worker, values)),
    unweighted=shortest(lambda: np.bincount(answers.worker)),
)
"""
SPARK_ROUNDS = """
import numpy as np
import allalike
from allalike.engines import Spark
from allalike._core.blocks.block import Ties
start = tree_cpu()
engine = Spark()
engine.start()
begun = tree_cpu()
run = engine.open(allalike.scan(path), None, Ties())
weights = np.ones(len(run.workers))
run.sum(run.kernels.peer_sums, weights)
opened = tree_cpu()
for _ in range(10):
    run.sum(run.kernels.peer_sums, weights)
report(start=begun - start, open=opened - begun, round=(tree_cpu() - opened) / 10)
"""
PAIRS = """
import numpy as np
import pyarrow as pa
import allalike
rng, workers, tasks = np.random.default_rng(0), {workers}, 50
truth, fault = rng.integers(0, 2, tasks), 0.05 + 0.4 * rng.random(workers)
label = truth ^ (rng.random((workers, tasks)) < fault[:, None])
worker, task = (numbers.ravel() for numbers in np.indices((workers, tasks)))
table = pa.table({{"worker": worker, "task": task, "label": label.ravel()}})
before = tree_cpu()
found = allalike.discover(table, domain="categorical", method="{method}")
report(cpu=tree_cpu() - before, error=float(np.mean(found.truth["label"].to_numpy() != truth)))
"""
JOINS = """
from pyspark.sql import SparkSession, functions as f
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").config(
    "spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "8g").config(
    "spark.sql.shuffle.partitions", "8").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
answers = spark.read.parquet(path).repartition(8, "task").persist()
weights = answers.select("worker").distinct().withColumn("weight", f.lit(1e0)).persist()
answers.count(), weights.count()
before = tree_cpu()
weighed = answers.join(weights, "worker")
total = weighed.groupBy("task").agg(f.sum("weight").alias("total"))
same = weighed.groupBy("task", "label").agg(f.sum("weight").alias("same"))
sums = (weighed.join(total, "task").join(same, ["task", "label"]).groupBy("worker").agg(
    f.sum(f.col("total") - f.col("same")).alias("distance"), f.sum(f.col("total") - f.col("weight")).alias("weight")))
rows = sums.collect()
report(round=tree_cpu() - before, workers=len(rows))
"""
RIVALS = """
import pandas
from crowdkit.aggregation import DawidSkene, MajorityVote, OneCoinDawidSkene
frame = pandas.read_parquet(path)
taken = {}
for method in (MajorityVote(), DawidSkene(n_iter=10, tol=0), OneCoinDawidSkene(n_iter=10, tol=0)):
    before = tree_cpu()
    method.fit_predict(frame)
    taken[type(method).__name__] = tree_cpu() - before
report(**taken)
"""
PANDAS = """
import pandas
before = tree_cpu()
frame = pandas.read_parquet(path)
weight = pandas.Series(1.0, frame["worker"].unique())
for _ in range(10):
    own = frame["worker"].map(weight)
    total = own.groupby(frame["task"]).transform("sum")
    same = own.groupby([frame["task"], frame["label"]]).transform("sum")
    sums = pandas.DataFrame({"distance": total - same, "peers": total - own}).groupby(frame["worker"]).sum()
    fault = sums["distance"] / sums["peers"]
    weight = (fault.max() - fault) / (fault.max() - fault).sum()
votes = frame["worker"].map(weight).groupby([frame["task"], frame["label"]]).sum().reset_index(name="weight")
truth = votes.loc[votes.groupby("task")["weight"].idxmax()]
truth.to_parquet(path + ".pandas")
report(pandas=tree_cpu() - before)
"""
