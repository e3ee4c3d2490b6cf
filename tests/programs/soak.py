"""A program for tests: a thousand random runs over label types, methods, rules, engines and options.

Usage: soak.py [--runs 1000] [--first 0] [--spark]. Run number k is always the same, so `--first k --runs 1` does it
again. One crowd on two engines must have the same result, and so must the program and the library. It prints a line for
each failure, at last how many runs of each kind there were, and ends with 1 if any failed.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import allalike
from allalike import METHODS, AllalikeError, ConvergenceWarning, Disk, Memory, Spark
from allalike._core.registry import make
from allalike.errors import DataWarning
from allalike.testing import same_results
from crowds.samples import KINDS, Row, crowd, kind, sparse_crowd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike import Domain, Result
    from allalike.engines import Engine

PROGRAM = [sys.executable, "-c", "from allalike.cli import main; main()"]
SLOW = {"MAS": "MAS(starts=1)", "EBCC": "EBCC(starts=2, subtypes=3)"}
IN_FILES = ("categorical", "ordinal", "real", "set", "text", "interval", "ranking", "boxes", "spans", "vector")


@dataclass(frozen=True)
class Setting:
    """What is drawn for a run."""

    kind: str
    rows: list[Row]
    domain: Domain
    method: str
    gold: list[tuple[Any, Any]] | None
    seed: int
    plain: bool

    def discover(self, engine: Engine) -> Result:
        """Find the truth."""
        how = {"method": self.method, "gold": self.gold, "seed": self.seed, "screening": not self.plain}
        return allalike.discover(self.rows, domain=self.domain, engine=engine, **how)  # type: ignore[arg-type]


def draw(rng: np.random.Generator, kinds: Sequence[str]) -> Setting:
    """Draw a crowd, a method that serves its labels, a rule, and options."""
    name, seed = str(rng.choice(kinds)), int(rng.integers(10**6))
    n, m, missing = int(rng.integers(3, 12)), int(rng.integers(3, 40)), float(rng.choice([0, 0.3, 0.7]))
    rows = sparse_crowd(name, seed=seed) if rng.random() < 0.2 else crowd(name, seed=seed, n=n, m=m, missing=missing)
    if rng.random() < 0.2:
        rows = rows + [rows[place] for place in rng.integers(0, len(rows), 3)]  # asked twice
    domain = kind(name)
    domain = replace(domain, rule=str(rng.choice([rule.name for rule in domain.rules])))
    serving = [one for one in METHODS if make(SLOW.get(one, one), METHODS, "method").serves(domain)]
    method = str(rng.choice([*serving, "auto"]))
    known = {task: label for _, task, label in rows[:: int(rng.integers(1, 6))]}
    gold = list(known.items()) if method == "OA" or rng.random() < 0.3 else None
    shuffled = [rows[place] for place in rng.permutation(len(rows))]
    used, plain = SLOW.get(method, method), bool(rng.random() < 0.2)
    return Setting(name, shuffled, domain, used, gold, int(rng.integers(100)), plain)


def compare_engines(rng: np.random.Generator, folder: Path, spark: Engine | None) -> str | None:
    """Find the truth of one crowd in memory and elsewhere."""
    setting = draw(rng, KINDS)
    elsewhere = spark if spark and rng.random() < 0.5 else Disk(partitions=int(rng.integers(1, 9)), work_dir=folder)
    try:
        here = setting.discover(Memory())
    except AllalikeError as refused:  # then so elsewhere
        try:
            setting.discover(elsewhere)
        except AllalikeError as also:
            assert type(also) is type(refused), (also, refused)
            return "refused"
        raise AssertionError(f"refused in memory alone: {refused}") from refused
    same_results("Engines agree", here, setting.discover(elsewhere))
    return f"compare_engines, {type(elsewhere).__name__}"


def write(setting: Setting, file: Path) -> list[str]:
    """Write the answers of a setting, and return the words with which the program finds their truth."""
    names = ("worker", "task", "label")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in setting.rows]
    file.write_text("\n".join(lines) + "\n")
    words = ["discover", str(file), "--domain", setting.kind, "--rule", str(setting.domain.rule)]
    words += ["--method", setting.method, "--seed", str(setting.seed), "--no-report", "--force"]
    words += ["--no-screening"] * setting.plain
    if setting.gold:
        gold = file.with_name("gold.jsonl")
        gold.write_text("\n".join(json.dumps({"task": task, "label": label}) for task, label in setting.gold) + "\n")
        words += ["--gold", str(gold)]
    return words


def compare_program(rng: np.random.Generator, folder: Path, spark: Engine | None) -> str | None:
    """Find the truth of one crowd by the program and by the library."""
    setting = draw(rng, IN_FILES)
    words = write(setting, folder / "answers.jsonl")
    engine = str(rng.choice(["memory", "disk"]))
    done = subprocess.run(
        [*PROGRAM, *words, "--engine", engine, "-o", "out", "--json"], cwd=folder, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr, done.stderr
    try:
        here = setting.discover(Memory())
    except AllalikeError as refused:
        assert done.returncode == 2, (str(refused), done.stderr)
        return "refused"
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    expected = folder / "expected"
    here.save(expected)
    for table in ("truth.csv", "workers.csv"):
        assert (folder / "out" / table).read_text() == (expected / table).read_text(), f"{table} differs"
    return None


def perform(number: int, spark: Engine | None = None) -> tuple[str, str]:
    """Do the run of a number, and return what it tried and why it failed, if it did."""
    warnings.simplefilter("ignore", DataWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    rng = np.random.default_rng(number)
    attempt = (compare_engines, compare_program)[rng.choice(2, p=[0.8, 0.2])]
    with tempfile.TemporaryDirectory() as folder:
        try:
            outcome = attempt(rng, Path(folder), spark)
        except Exception as error:
            return attempt.__name__, f"run {number}, {attempt.__name__}: {type(error).__name__}: {error}"
    return outcome or attempt.__name__, ""


def main() -> int:
    """Do the runs, and say what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--spark", action="store_true", help="let Spark be one of the engines; in one process")
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.runs)
    counts: Counter[str] = Counter()
    failures = 0
    with ProcessPoolExecutor(initializer=signal.signal, initargs=(signal.SIGTERM, signal.SIG_DFL)) as pool:
        outcomes = map(partial(perform, spark=Spark()), numbers) if arguments.spark else pool.map(perform, numbers)
        for outcome, failure in outcomes:
            counts[outcome] += 1
            if failure:
                failures += 1
                sys.stdout.write(f"{failure}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{len(numbers)} runs, {failures} failed: {dict(counts)}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
