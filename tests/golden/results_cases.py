"""Golden cases of whole results: all tables of every label type, gold, history, updates, comparisons, commands."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import allalike
from allalike import Copiers
from crowds.gold_misfits import MISFITS
from files.plain_rows import triples
from golden.methods_cases import KINDS, SHORT, crowd, find_served, label_type
from golden.record import add, attempt, case, digest, facts
from running.program import call

TABLES = ("groups", "probabilities", "objects", "confusions", "quality")  # not every label type has each


def describe(result: Any) -> dict[str, Any]:
    """Return the two tables and the summary of a result."""
    return {"truth": result.truth, "workers": result.workers, "summary": facts(result.summary)}


def record_label_type(kind: str, folder: Path) -> Any:
    """Return everything that a result of the default method has."""
    result = allalike.discover(crowd(kind, seed=4), domain=label_type(kind))
    task, worker = result.truth["task"][1], result.workers["worker"][1]
    agreement = result.agreement
    return {
        **describe(result),
        **{name: attempt(lambda name=name: getattr(result, name)) for name in TABLES},  # type: ignore[misc]
        "curve": attempt(result.learning_curve),
        "agreement": facts(agreement.summary()),
        "matrix": agreement.matrix,
        "task": facts(result.explain(task=task).summary()),
        "worker": facts(result.explain(worker=worker).summary()),
        "next": attempt(lambda: result.next_tasks(3)),
        "plan": attempt(lambda: facts(result.plan(6).summary)),
    }


for _kind in KINDS:
    add(f"labels/{_kind}", partial(record_label_type, _kind))


def with_gold(kind: str, folder: Path, **options: Any) -> Any:
    """Return a result with gold labels for two of three tasks: those of the best worker."""
    rows = crowd(kind, workers=6, tasks=24, missing=0.1)
    gold = {task: label for worker, task, label in rows if worker == "w001" and int(task[1:]) % 3}
    result = allalike.discover(rows, domain=label_type(kind), gold=gold, **options)
    return {"label": result.truth["label"], "weight": result.workers["weight"], "summary": facts(result.summary)}


for _kind in ("categorical", "real", "ordinal", "ranking", "boxes", "record"):
    add(f"gold/{_kind}", partial(with_gold, _kind))
add("gold/only to measure", partial(with_gold, "categorical", use_gold=False))


def map_gold(name: str, folder: Path) -> Any:
    """Return how gold in another spelling is asked about, and what its map gives."""
    rows, gold, gold_map = MISFITS[name]
    try:
        allalike.discover(rows, gold=gold)
        asked: Any = None
    except allalike.AllalikeError as error:
        asked = [type(error).__name__, getattr(error, "options", None)]
    result = allalike.discover(rows, gold=gold, gold_map=gold_map)
    return {"asked": asked, "gold": facts(result.summary["gold"]), "label": result.truth["label"]}


for _name in MISFITS:
    add(f"gold/{_name}", partial(map_gold, _name))


@case("screening/copies and uninformative workers")
def _copies(folder: Path) -> Any:
    drawn = allalike.simulate("k=4 SYN", workers=11, tasks=60, copiers=Copiers(number=4, fidelity=0.95, sources=1))
    names = "abcd"
    rows = [(worker, task, names[int(label)]) for worker, task, label in triples(drawn.answers)]
    rows += [("zz", task, "a") for task in sorted({task for _, task, _ in rows})]
    result, plain = allalike.discover(rows), allalike.discover(rows, screening=False)
    labels = {"label": "".join(result.truth["label"]), "plain": "".join(plain.truth["label"])}
    return {**labels, "workers": result.workers, "groups": result.groups, "summary": facts(result.summary)}


@case("screening/history")
def _history(folder: Path) -> Any:
    earlier = allalike.discover(crowd("categorical", seed=5, tasks=40), domain="categorical")
    return describe(allalike.discover(crowd("categorical"), domain="categorical", history=earlier))


def run_with(kind: str, folder: Path, **options: Any) -> Any:
    """Return a result with options of `discover`."""
    rows = [*crowd(kind), ("w000", "t0001", crowd(kind)[0][2]), ("late", "t0002", None)]
    return describe(allalike.discover(rows, **{"missing": "drop", "domain": kind, **options}))


OPTIONS: dict[str, dict[str, Any]] = {
    "min_confidence": {"min_confidence": 0.8},
    "first of ties": {"ties": "first", "method": "UA"},
    "another seed": {"seed": 7, "method": "UA"},
    "last of repeats": {"duplicates": "last", "method": "P-TD"},
    "label map": {"label_map": {0: "no", 1: "yes", 2: "yes"}},
    "abstentions": {"abstain_label": [2]},
}
for _name, _options in OPTIONS.items():
    add(f"runs/{_name}", partial(run_with, "categorical", **_options))


@case("runs/a problem per task")
def _per_task(folder: Path) -> Any:
    answers = allalike.read(crowd("real"), domain="real").per_task()
    return allalike.discover(answers, method="P-TD").workers


def update(kind: str, folder: Path) -> Any:
    """Return the files of a saved result, and its tables after more answers."""
    rows = crowd(kind, workers=6, tasks=10)
    first = allalike.discover(rows[:40], domain=label_type(kind), method="iP-TD")
    first.save(folder / "out")
    loaded = allalike.load(folder / "out")
    same = loaded.workers["weight"].tolist() == first.workers["weight"].tolist()
    files = sorted(path.relative_to(folder / "out").as_posix() for path in (folder / "out").rglob("*"))
    updated = allalike.update(folder / "out", rows[40:])
    again = first.update(rows[40:])
    return {
        "loads the same": same,
        "files": files,
        "label": updated.truth["label"],
        "weight": updated.workers["weight"],
        "weight in memory": again.workers["weight"],
        "summary": facts(updated.summary),
    }


for _kind in ("categorical", "real", "ranking", "set"):
    add(f"updates/{_kind}", partial(update, _kind))


def compare(kind: str, folder: Path, **options: Any) -> Any:
    """Return the table of all methods but those that need gold or are not the same on every machine."""
    rows, domain = crowd(kind, workers=6, tasks=12), label_type(kind)
    methods = [name for each, name in find_served() if each == kind and name not in ("OA", *SHORT)]
    found = allalike.compare(rows, domain=domain, methods=methods, **options)
    few = allalike.compare(rows, domain=domain, methods=["UA", "P-TD", "iP-TD"])
    table = found.table.sort_values("method", ignore_index=True)
    agreement = few.agreement
    cells = dict(zip([" ".join(column) for column in agreement.columns], agreement.to_numpy().T.tolist(), strict=True))
    return {"table": table, "summary": facts(found.summary), "agreement": cells}


for _kind in ("categorical", "real", "text"):
    add(f"comparisons/{_kind}", partial(compare, _kind))
add("comparisons/with gold", partial(compare, "binary", gold={f"t{n:04d}": n % 2 for n in range(12)}))


@case("agreement/by group")
def _groups(folder: Path) -> Any:
    rows = crowd("ordinal", workers=6, tasks=20)
    columns = dict(zip(("worker", "task", "label"), map(list, zip(*rows, strict=True)), strict=True))
    table = {**columns, "group": [task[-1] for task in columns["task"]]}
    found = allalike.agreement(table, domain="ordinal", by="group")
    return {"table": found.table, "summary": facts(found.summary())}


@case("agreement/weights from distances")
def _weights(folder: Path) -> Any:
    points = np.array([0.0, 0.1, 0.3, 1.0, 2.5])
    distances = np.abs(points[:, None] - points)
    return {method: allalike.weights_from_distances(distances, method=method) for method in ("P-TD", "iP-TD")}


def simulate(model: str, folder: Path) -> Any:
    drawn = allalike.simulate(model, workers=5, tasks=4, seed=2)
    labels = [label for *_, label in triples(drawn.answers)]
    return {"workers": drawn.workers, "labels": labels if len(str(labels)) < 1000 else digest(labels)}


for _name in allalike.MODELS:
    add(f"simulations/{_name}", partial(simulate, _name))

TEXT = "worker,task,label\n" + "".join(
    f"{w},t{t},{'abc'[(t + w * (t % 3)) % 3]}\n" for t in range(12) for w in range(5)
)
GOLD = "task,label\n" + "".join(f"t{t},{'abc'[t % 3]}\n" for t in range(6))
COMMANDS = """
discover a.csv --json
discover a.csv --method P-TD --gold gold.csv --json
discover a.csv --gold gold.csv --fail-above 0.0 -q
discover a.csv --fail-above 0.9 --gold gold.csv -q
discover none.csv
discover a.csv --method nobody
discover a.csv --worker nobody
discover a.csv --domain real
discover a.csv --gold a.csv --gold-columns task=task
discover a.csv --no-such-option
discover gold.csv
agreement a.csv --json
agreement a.csv --fail-under 0.99
compare a.csv --methods UA,P-TD,iP-TD --json
jury a.csv --json -o panel
jury a.csv --gold gold.csv --fail-under 0.99 -o panel2
explain allalike-out task t1 --json
explain allalike-out worker 1 --json
explain allalike-out task nobody
plan allalike-out --budget 4 --json
plan none
update allalike-out more.csv --json
simulate one-coin -o drawn.csv --workers 5 --tasks 9
simulate nobody -o drawn.csv
list domains
list methods
list rules
list formats
list schemas
datasets list
datasets show nobody
"""


@case("commands/exit codes")
def _commands(folder: Path) -> Any:
    (folder / "a.csv").write_text(TEXT)
    (folder / "gold.csv").write_text(GOLD)
    (folder / "more.csv").write_text("worker,task,label\n9,t1,a\n9,t2,b\n9,t40,c\n")
    found = {}
    for line in COMMANDS.strip().splitlines():
        done = call(*line.split(), *(["--no-report"] if line.startswith("discover") else []), folder=folder)
        printed = facts(json.loads(done.stdout)) if "--json" in line and done.returncode == 0 else None
        found[line] = [done.returncode, printed] if printed else done.returncode
    return found
