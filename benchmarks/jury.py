"""Measure what a panel of models is worth, on three public sets and in drawn crowds, and write it into a page.

On the public sets: the panel against a plain vote, single models and Dawid-Skene, its probabilities, what abstaining
costs, the smallest panel, who is wrong together, and costs with prices that are made up. In drawn crowds: how often
judges who share errors are found, and how often others are called so. Known truths measure; the panel sees none of
them, unless it says so.

    python benchmarks/jury.py [-o docs/evidence/PANELS.md]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

import allalike
from allalike.panels.calibration import ConfidenceModel, calibrate, find_calibration_error
from allalike.panels.correlated_errors import compare_classes
from allalike.panels.verdicts import ClassVerdicts
from crowd_data import load

sys.path.insert(0, str(Path(__file__).parent))
from public_data import use_data_beside_the_clone

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allalike import Panel

SETS = ("zeroeval_gsm8k", "zeroeval_math_l5", "llmbar_llm_judges")
BEGIN, END = "<!-- figures: benchmarks/jury.py -->", "<!-- end of figures -->"
LEVELS = (0.0, 0.8, 0.9, 0.95)
GOLD, DRAWS = 50, 5
CROWDS = 40
OPEN_CROWDS, OPEN_TASKS = 6, 300
Rows = list[tuple[Any, Any, Any]]


class Data(NamedTuple):
    """A set as rows, with its truths, and the panel that does not know them and the one that does."""

    name: str
    rows: Rows
    gold: dict[Any, Any]
    blind: Panel
    told: Panel


def read(name: str) -> Data:
    """Read a set, and let both panels decide."""
    data = load(name)
    answers = data.answers
    labels = answers.encoding.decode(answers.label).tolist()
    workers, tasks = answers.workers.tolist(), answers.tasks.tolist()
    task_of = np.repeat(np.arange(len(tasks)), np.diff(answers.starts))
    rows = [(workers[w], tasks[t], label) for w, t, label in zip(answers.worker, task_of, labels, strict=True)]
    gold = dict(data.gold)
    how: dict[str, Any] = {"domain": "categorical"}
    return Data(name, rows, gold, allalike.jury(rows, **how), allalike.jury(rows, gold=gold, **how))


def accuracy(truth: Any, gold: dict[Any, Any], *, but: Iterable[Any] = ()) -> float:
    """Return how often labels are right, of all tasks; one without an answer is wrong."""
    said = dict(zip(truth["task"], truth["label"], strict=True))
    return float(np.mean([said.get(task) == label for task, label in gold.items() if task not in set(but)]))


def with_some_gold(data: Data) -> float:
    """Return how often the panel is right on other tasks when it knows fifty truths, on average over draws."""
    found = []
    for seed in range(DRAWS):
        known = np.random.default_rng([seed, GOLD]).choice(sorted(data.gold, key=str), GOLD, replace=False).tolist()
        panel = allalike.discover(data.rows, domain="categorical", gold={task: data.gold[task] for task in known})
        found.append(accuracy(panel.truth, data.gold, but=known))
    return float(np.mean(found))


def run_alone(rows: Rows) -> Any:
    """Return what the judges in these rows say as a panel of their own; one judge is her own."""
    if len({judge for judge, _, _ in rows}) == 1:
        return {"task": [task for _, task, _ in rows], "label": [label for _, _, label in rows]}
    return allalike.discover(rows, domain="categorical").truth


def table(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Write a table of Markdown, names to the left and numbers to the right."""
    rule = ["---", *["--:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in [header, rule, *lines])


def percent(share: float) -> str:
    """Write a share."""
    return "-" if np.isnan(share) else f"{100 * share:.1f}"


def compare(sets: Sequence[Data]) -> str:
    """Compare the panel with a vote, single models and Dawid-Skene."""
    lines = []
    for data in sets:
        judges = data.told.judges
        single = judges["accuracy"] * judges["answers"] / len(data.gold)
        others = [
            accuracy(allalike.discover(data.rows, domain="categorical", method=method).truth, data.gold)
            for method in ("UA", "DS")
        ]
        panel = accuracy(data.blind.truth, data.gold)
        rest = [panel, with_some_gold(data), *others, single.mean(), single.max()]
        lines.append([f"`{data.name}`", len(single), len(data.gold), *map(percent, rest)])
    header = ["right in % of tasks", "judges", "tasks", "panel", f"panel, {GOLD} known", "vote", "DS", "mean judge"]
    return table([*header, "best judge"], lines)


def abstain(sets: Sequence[Data]) -> str:
    """Say how sure the panel is, and how often it is right, with and without known truths."""
    lines = []
    for data in sets:
        known = ConfidenceModel.of(data.told.run, data.told.result.weighing).decide_tasks(50_000)[1]
        for name, tasks in (("as it says", known), ("mended", calibrate(known))):
            cells = []
            for level in LEVELS:
                kept = tasks["confidence"] >= level
                right = 1 - tasks.loc[kept, "wrong"].mean() if kept.any() else np.nan
                cells.append(f"{percent(kept.mean())} / {percent(float(right))}")
            lines.append([f"`{data.name}`, {name}", f"{find_calibration_error(tasks):.3f}", *cells])
    header = ["answered / right, in %", "ECE", "all", *(f"as sure as {level:g}" for level in LEVELS[1:])]
    return table(header, lines)


def smallest(sets: Sequence[Data]) -> str:
    """Say how small a panel may be, chosen without and with known truths, and what it is worth when it is run alone."""
    lines = []
    for data in sets:
        for name, panel in (("no truths", data.blind), ("truths", data.told)):
            members = set(panel.smallest)
            rows = [row for row in data.rows if row[0] in members]
            worth = accuracy(run_alone(rows), data.gold)
            found = panel.summary["panel"]["smallest"]
            lost = f"{100 * found['lost'][0]:.1f} to {100 * found['lost'][1]:.1f}"
            whole = accuracy(data.blind.truth, data.gold)
            who = f"{len(members)} of {len(data.blind.judges)}"
            lines.append(
                [f"`{data.name}`, {name}", who, percent(found["accuracy"]), lost, percent(worth), percent(whole)]
            )
    header = ["chosen with", "judges", "says it is right in %", "says it loses", "is right in %", "all judges %"]
    return table(header, lines)


def together(sets: Sequence[Data]) -> str:
    """Name those who are wrong together."""
    lines = []
    for data in sets:
        for name, panel in (("no truths", data.blind), ("truths", data.told)):
            found = panel.summary["panel"]["pairs"]
            groups = "; ".join(", ".join(map(str, group)) for group in found["groups"]) or "nobody"
            lines.append(
                [f"`{data.name}`, {name}", found["tasks"], f"{found['found']} of {found['looked_at']}", groups]
            )
    text = table(["", "tasks", "pairs", "groups"], lines)
    return text.replace("--: | --: | --:", "--: | --: | ---")


def costs(data: Data) -> str:
    """Say what a correct verdict costs, with prices that are made up."""
    judges = data.told.judges["worker"].tolist()
    order = data.told.judges["accuracy"].rank(method="first").astype(int).tolist()
    prices = {judge: 0.001 * 2 ** (place - 1) for judge, place in zip(judges, order, strict=True)}
    panel = allalike.jury(data.rows, domain="categorical", gold=data.gold, prices=prices)
    lines = [
        [f"`{row['worker']}`", f"{row['price']:g}", percent(row["accuracy"]), f"{row['cost_per_correct']:.4f}"]
        for row in panel.judges.sort_values("price").to_dict("records")
    ]
    cost, small = panel.summary["panel"]["cost"], panel.summary["panel"]["smallest"]
    lines.append(["the smallest panel", "", percent(small["accuracy"]), f"{cost['smallest_per_correct']:.4f}"])
    lines.append(["all", "", percent(panel.summary["panel"]["accuracy"]), f"{cost['panel_per_correct']:.4f}"])
    return table([f"`{data.name}`", "price (made up)", "right in %", "cost per correct"], lines)


def draw(
    rng: np.random.Generator, *, n: int, tasks: int, k: int, difficulty: float, decoy: float, bond: float
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Draw judges who are right in 55 to 95 %; the second answers as the first on some of the tasks."""
    truth = rng.integers(k, size=tasks)
    skill = rng.uniform(0.55, 0.95, n)
    odds = np.log(skill / (1 - skill)) + difficulty * rng.standard_normal(tasks)[:, None]
    wrong = (truth[:, None] + rng.integers(1, k, (tasks, n))) % k
    wrong = np.where(rng.random((tasks, n)) < decoy, ((truth + rng.integers(1, k, tasks)) % k)[:, None], wrong)
    said = np.where(rng.random((tasks, n)) < 1 / (1 + np.exp(-odds)), truth[:, None], wrong)
    said[:, 1] = np.where(rng.random(tasks) < bond, said[:, 0], said[:, 1])
    return said, truth


def look(said: npt.NDArray[np.intp], truth: npt.NDArray[np.intp], k: int) -> pd.DataFrame:
    """Look for shared errors where all truths are known."""
    n, every = len(truth), np.ones(len(truth), bool)
    verdicts = ClassVerdicts(said, np.ones((n, k)), truth, every * 1.0, every, truth, np.arange(n).astype(np.uint64))
    return compare_classes(verdicts, k - 1.0)


def alarms() -> str:
    """Say how often two who share errors are found, and in how many crowds another pair is named."""
    kinds = {
        "2 classes": (2, 0.0, 0.0),
        "2 classes, easy and hard tasks": (2, 1.5, 0.0),
        "4 classes, easy and hard tasks": (4, 1.5, 0.0),
        "the same, 70 % of errors on a decoy": (4, 1.5, 0.7),
    }
    lines = []
    for name, (k, difficulty, decoy) in kinds.items():
        for n in (3, 9):
            cells = []
            for tasks, bond in ((100, 0.3), (100, 0.5), (1000, 0.3), (100, 0.0), (1000, 0.0)):
                hits = others = 0
                for seed in range(CROWDS):
                    rng = np.random.default_rng([seed, n, tasks, k, int(10 * bond)])
                    how = {"difficulty": difficulty, "decoy": decoy, "bond": bond}
                    found = look(*draw(rng, n=n, tasks=tasks, k=k, **how), k)
                    bound = (found.left == 0) & (found.right == 1)
                    hits += bool(found.shared_errors[bound].any())
                    others += bool(found.shared_errors[~bound if bond else slice(None)].any())
                cells.append(
                    f"{100 * hits / CROWDS:.0f} ({100 * others / CROWDS:.0f})"
                    if bond
                    else f"{100 * others / CROWDS:.0f}"
                )
            lines.append([f"{name}, {n} judges", *cells])
    header = ["in % of crowds", "30 %, 100 tasks", "50 %, 100 tasks", "30 %, 1,000 tasks"]
    return table([*header, "nobody, 100 tasks", "nobody, 1,000 tasks"], lines)


def open_answers() -> str:
    """Say how far the probabilities of open answers are off in drawn crowds, with 200 labels that may be given."""
    kinds = {
        "errors on their own": (0.0, 0.0),
        "easy and hard tasks": (1.5, 0.0),
        "half of the errors on a decoy": (0.0, 0.5),
        "both": (1.5, 0.5),
    }
    lines = []
    for name, (difficulty, decoy) in kinds.items():
        cells = []
        for n in (2, 3, 5, 9):
            sure, wrong = (np.concatenate(column) for column in zip(*open_crowds(n, difficulty, decoy), strict=True))
            error = find_calibration_error(pd.DataFrame({"confidence": sure, "wrong": wrong}))
            cells.append(f"{error:.3f} ({percent(sure.mean())} / {percent(1 - wrong.mean())})")
        lines.append([name, *cells])
    return table(["ECE (expected / right, in %)", *(f"{n} judges" for n in (2, 3, 5, 9))], lines)


def open_crowds(n: int, difficulty: float, decoy: float) -> Iterable[tuple[Any, Any]]:
    """Yield how sure the panel is of each task, and whether it is wrong, in crowds right in 50 to 95 %."""
    for seed in range(OPEN_CROWDS):
        rng = np.random.default_rng([seed, n, int(10 * difficulty)])
        skill = rng.uniform(0.5, 0.95, n)
        odds = np.log(skill / (1 - skill)) + difficulty * rng.standard_normal(OPEN_TASKS)[:, None]
        wrong, attractive = rng.integers(1, 200, (OPEN_TASKS, n)), rng.integers(1, 200, OPEN_TASKS)
        wrong = np.where(rng.random(wrong.shape) < decoy, attractive[:, None], wrong)
        said = np.where(rng.random(wrong.shape) < 1 / (1 + np.exp(-odds)), 0, wrong)
        rows = [(f"j{judge}", task, f"{'' if x else task}x{x}") for (task, judge), x in np.ndenumerate(said)]
        truth = allalike.jury(rows, domain="categorical").truth
        yield truth["confidence"].to_numpy(), (~truth["label"].str.endswith("x0")).to_numpy().astype(float)


def main() -> None:
    """Measure, and print or write."""
    use_data_beside_the_clone()
    sets = [read(name) for name in SETS]
    parts = [
        ("### The panel and others", compare(sets)),
        ("### Abstaining", abstain(sets)),
        ("### The smallest panel", smallest(sets)),
        ("### Wrong together", together(sets)),
        ("### Costs", costs(sets[0])),
        ("### Are shared errors found?", alarms()),
        ("### Are the probabilities of open answers right?", open_answers()),
    ]
    text = "\n\n".join(f"{title}\n\n{figures}" for title, figures in parts)
    if "-o" not in sys.argv:
        print(text)
        return
    page = Path(sys.argv[sys.argv.index("-o") + 1])
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
