"""Measure what becomes of pairs that judges saw in both orders, and whether limits of bias and steadiness hold.

Real pairs: accuracy of a vote, of each order as a judge, and of one verdict of both. Simulated: coverage of intervals.

    python benchmarks/jury_orders.py [-o docs/evidence/PANELS.md]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

import allalike
from allalike.errors import DataWarning
from allalike.panels.repeats import compare_orders, find_steadiness
from allalike.panels.rows import RepeatedVerdicts
from crowd_data import load

sys.path.insert(0, str(Path(__file__).parent))
from gold_crowds import crowd_folder
from jury import percent, table
from public_data import use_data_beside_the_clone

if TYPE_CHECKING:
    from collections.abc import Sequence


SUBSETS = ("Natural", "GPTInst", "GPTOut", "Manual", "Neighbor")
SIZES, DRAWS = (3, 9), 10
BEGIN, END = "<!-- figures: benchmarks/jury_orders.py -->", "<!-- end of figures of orders -->"
ORDERS = ("as is", "swapped")


class Pairs(NamedTuple):
    """Verdicts on pairs in both orders: judge, task, label, order; and the truths."""

    name: str
    rows: list[tuple[str, Any, str, str]]
    gold: dict[Any, str]


def read_llmbar(subset: str) -> Pairs:
    """Read a part of LLMBar, whose judges have a second name for the second order."""
    data = load(f"llmbar_llm_judges/{subset}")
    answers = data.answers
    labels, workers = answers.encoding.decode(answers.label).tolist(), answers.workers.take(answers.worker).tolist()
    tasks = answers.tasks.take(np.repeat(np.arange(answers.n_tasks), np.diff(answers.starts))).tolist()
    rows = [
        (worker.removesuffix("/swapped"), task, label, ORDERS[worker.endswith("/swapped")])
        for worker, task, label in zip(workers, tasks, labels, strict=True)
    ]
    return Pairs(f"LLMBar {subset}", rows, dict(data.gold))


def read_reife() -> Pairs:
    """Read verdicts of 25 models with four protocols, in two orders: the protocol changes last."""
    data = np.load(crowd_folder() / "reife_mtbench.npz")
    worker, task, label = (data[name].tolist() for name in ("W", "T", "L"))
    rows = [
        (f"protocol {w // 50}, model {w % 25}", t, "AB"[c], ORDERS[w // 25 % 2])
        for w, t, c in zip(worker, task, label, strict=True)
    ]
    return Pairs("ReIFE MT-Bench", rows, {t: "AB"[g] for t, g in enumerate(data["g"].tolist()) if g >= 0})


def count_right(truth: Any, gold: dict[Any, str]) -> float:
    """Return how often labels are right, and half of the tasks without one."""
    said = dict(zip(truth["task"], truth["label"], strict=True))
    return float(np.mean([0.5 if said.get(task) is None else said[task] == right for task, right in gold.items()]))


def compare(pairs: Pairs) -> list[list[object]]:
    """Compare what can be made of both orders, with panels of some sizes."""
    judges = sorted({judge for judge, *_ in pairs.rows})
    lines: list[list[object]] = []
    for size in (each for each in SIZES if each <= len(judges)):
        found = []
        for seed in range(DRAWS):
            some = set(np.random.default_rng([seed, size]).choice(judges, size, replace=False).tolist())
            rows = [row for row in pairs.rows if row[0] in some]
            names = ("judge", "task", "label", "shown")
            columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
            panel = allalike.jury(columns, order="shown", verdicts_name="answers", domain="categorical")
            each = [(f"{judge}, {order}", task, label) for judge, task, label, order in rows]
            one = [row[:3] for row in rows if row[3] == ORDERS[0]]
            told = panel.summary["panel"]["orders"]
            found.append(
                (
                    told["same"] / told["pairs"],
                    len(told["biased"]) / size,
                    count_right(allalike.discover(each, domain="categorical", method="UA").truth, pairs.gold),
                    count_right(allalike.discover(one, domain="categorical").truth, pairs.gold),
                    count_right(allalike.discover(each, domain="categorical").truth, pairs.gold),
                    count_right(panel.truth, pairs.gold),
                )
            )
        lines.append([pairs.name, len(pairs.gold), size, *map(percent, np.mean(found, axis=0).tolist())])
    return lines


def compare_all() -> str:
    """Compare on all sets."""
    sets = [*map(read_llmbar, SUBSETS), read_reife()]
    header = ["in %", "tasks", "judges", "same in both", "follow the position", "vote", "one order", "two judges"]
    return table([*header, "one voice"], [line for pairs in sets for line in compare(pairs)])


def draw(rng: np.random.Generator, tasks: int, judges: int, samples: int, bias: float, sure: float) -> Any:
    """Draw labels by task, judge, order and sample, of judges who follow the first place, or say what they like."""
    shape = (tasks, judges, 2, samples)
    likes = np.where(rng.random((tasks, judges)) < 0.5, sure, 1 - sure)[:, :, None, None]
    order = np.broadcast_to(np.arange(2)[None, None, :, None], shape)
    return np.where(rng.random(shape) < bias, order, rng.random(shape) > likes)


def ballots_of(label: Any) -> RepeatedVerdicts:
    """Return ballots from such labels."""
    task, judge, order, sample = (each.ravel() for each in np.indices(label.shape))
    n = label.shape[3]
    said = {"worker": (judge * 2 + order) * n + sample, "task": task, "label": np.array([*"AB"])[label.ravel() * 1]}
    answers = allalike.read(said, domain="categorical")
    who = np.array(answers.workers.tolist())[answers.worker] // n
    judges = allalike.read([(each, 0, "A") for each in range(label.shape[1])], domain="categorical").workers
    number = np.repeat(np.arange(answers.n_tasks), np.diff(answers.starts))
    rows = pd.DataFrame({"task": number, "judge": who // 2, "order": who % 2, "label": answers.label})
    return RepeatedVerdicts(rows, answers.tasks, judges, answers.encoding)


def cover() -> str:
    """Say how often the true bias and steadiness are within their limits."""
    lines = []
    for bias in (0.0, 0.15, 0.4, 0.8):
        cells = []
        for tasks in (15, 40, 150):
            for samples in (1, 4):
                rng = np.random.default_rng([tasks, samples, int(100 * bias), 11])
                found = ballots_of(draw(rng, tasks, 500, samples, bias, 0.8))
                orders = compare_orders(found)
                inside = [np.mean((orders.ci_low <= bias / 2) & (bias / 2 <= orders.ci_high))]
                if samples > 1:
                    chance = np.array([[bias * first + (1 - bias) * p for p in (0.8, 0.2)] for first in (0, 1)])
                    steady = np.mean(chance**2 + (1 - chance) ** 2)
                    low, high = (find_steadiness(found)[name] for name in ("steadiness_ci_low", "steadiness_ci_high"))
                    inside.append(np.mean((low <= steady) & (steady <= high)))
                cells.append(" / ".join(percent(float(each)) for each in inside))
        lines.append([f"{bias / 2:g}", *cells])
    header = [f"{tasks} tasks, {samples}" for tasks in (15, 40, 150) for samples in ("1 sample", "4 samples")]
    return table(["limits hold in %, position bias", *header], lines)


def write(parts: Sequence[tuple[str, str]]) -> None:
    """Print, or write into a page."""
    text = "\n\n".join(f"### {title}\n\n{figures}" for title, figures in parts)
    if "-o" not in sys.argv:
        print(text)
        return
    page = Path(sys.argv[sys.argv.index("-o") + 1])
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> None:
    """Measure, and print or write."""
    warnings.simplefilter("ignore", DataWarning)
    use_data_beside_the_clone()
    write(
        [
            ("What one voice of both orders changes", compare_all()),
            ("Do the limits of bias and steadiness hold?", cover()),
        ]
    )


if __name__ == "__main__":
    main()
