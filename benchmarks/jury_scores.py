"""Measure what a panel of scores is worth, in drawn panels and on public sets, and write it into a page.

Drawn panels: the error with and without what each judge does to the scale, how often its limits hold, how often judges
who err together are found, and how far criteria in vectors are off if one judge makes them up. Public sets: the panel
against the mean and the median of the same judges. Known truths measure; the panel sees none of them.

    python benchmarks/jury_scores.py [-o docs/evidence/PANELS.md]
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import allalike
from allalike._core.columns.hashes import mix
from allalike.panels.correlated_errors import compare_squares, find_offsets, number_task_parts
from crowd_data import load

sys.path.insert(0, str(Path(__file__).parent))
from jury import table
from public_data import use_data_beside_the_clone

if TYPE_CHECKING:
    from collections.abc import Sequence

Scores = npt.NDArray[np.float64]

BEGIN, END = "<!-- figures: benchmarks/jury_scores.py -->", "<!-- end of figures of scores -->"
PANELS, LIMIT_PANELS, BOND_PANELS = 16, 150, 60
SEED = 5000  # panels with other seeds were looked at while choosing
NUMBERS = Path(__file__).parents[2] / "shared" / "crowds" / "numbers"
CROWDS = ("calories", "coins_nested", "gk_1", "gk_3", "gk_5", "ncaa_r64")
FEELINGS = ("anger", "disgust", "fear", "joy", "sadness", "surprise", "valence")


def draw(
    rng: np.random.Generator, *, judges: int, tasks: int, per: int, offset: float, slope: float, differ: bool
) -> tuple[Scores, Scores, Scores]:
    """Draw truths, scores with NaN where a judge was not asked, and offsets."""
    truth = rng.normal(0, 2, tasks)
    offsets, slopes = rng.normal(0, offset, judges), np.exp(rng.normal(0, slope, judges))
    offsets, slopes = offsets - offsets.mean(), slopes / slopes.mean()
    noise = rng.uniform(0.5, 2, judges) if differ else np.ones(judges)
    said = truth[:, None] * slopes + offsets + noise * rng.normal(size=(tasks, judges))
    said[np.argsort(rng.random(said.shape), axis=1) >= per] = np.nan
    return truth, said, offsets


def rows_of(said: Scores) -> list[tuple[str, str, float]]:
    """Return scores as rows."""
    return [(f"j{i:02}", f"t{t:04}", float(x)) for (t, i), x in np.ndenumerate(said) if not np.isnan(x)]


def rmse(found: Any, truth: Any) -> float:
    """Return the root of the mean squared error."""
    return float(np.sqrt(np.nanmean(np.square(np.asarray(found) - np.asarray(truth)))))


def correct() -> str:
    """Say how far labels are off with and without weights and offsets of judges."""
    kinds = {
        "equal judges": (0.0, 0.0, False),
        "small offsets": (0.3, 0.0, False),
        "offsets": (1.0, 0.0, False),
        "offsets, judges differ": (1.0, 0.0, True),
        "slopes": (0.0, 0.3, False),
        "offsets and slopes, judges differ": (1.0, 0.3, True),
    }
    lines = []
    for judges, tasks, per in ((3, 100, 3), (5, 100, 5), (12, 200, 3)):
        for name, (offset, slope, differ) in kinds.items():
            errors = []
            for seed in range(PANELS):
                rng = np.random.default_rng([SEED + seed, judges, per])
                how: dict[str, Any] = {"offset": offset, "slope": slope, "differ": differ}
                truth, said, _ = draw(rng, judges=judges, tasks=tasks, per=per, **how)
                panel = allalike.jury(rows_of(said), domain="real")
                others = np.nanmean(said, axis=1), np.nanmedian(said, axis=1), panel.truth["label"]
                errors.append([rmse(each, truth) for each in others])
            cells = [f"{error:.3f}" for error in np.mean(errors, axis=0)]
            lines.append([f"{judges} judges, {per} a task: {name}", *cells])
    return table(["RMSE", "mean", "median", "panel"], lines)


def cover() -> str:
    """Say how often limits of offsets hold."""
    lines = []
    for judges, per in ((3, 3), (5, 5), (5, 3), (12, 3)):
        cells: list[str] = []
        for tasks in (50, 200, 1000):
            hits: list[bool] = []
            for seed in range(LIMIT_PANELS):
                rng = np.random.default_rng([SEED + seed, judges, tasks])
                _, said, true = draw(rng, judges=judges, tasks=tasks, per=per, offset=1.0, slope=0.3, differ=True)
                found = find_offsets(said, np.arange(tasks) % 20)
                inside = (found["offset_ci_low"] <= true) & (true <= found["offset_ci_high"])
                hits += inside[found["offset"].notna()].tolist()
            cells.append(f"{100 * np.mean(hits):.1f}")
        lines.append([f"{judges} judges, {per} a task", *cells])
    return table(["limits hold in %", *(f"offset, {tasks} tasks" for tasks in ("50", "200", "1,000"))], lines)


def bonds() -> str:
    """Say how often two whose errors correlate are found, and in how many panels another pair is named."""
    lines = []
    for judges in (5, 9):
        for hard in (0.0, 0.7):
            cells = []
            for tasks, bond in ((100, 0.3), (100, 0.6), (500, 0.3), (100, 0.0), (500, 0.0)):
                hits = others = 0
                for seed in range(BOND_PANELS):
                    rng = np.random.default_rng([SEED + seed, judges, tasks])
                    truth, errors = rng.normal(0, 3, tasks), rng.normal(size=(tasks, judges))
                    errors[:, 1] = bond * errors[:, 0] + np.sqrt(1 - bond**2) * errors[:, 1]
                    errors *= rng.uniform(0.5, 2, judges) * np.exp(hard * rng.normal(size=tasks))[:, None]
                    said = truth[:, None] + rng.normal(size=judges) + errors
                    part = number_task_parts(mix(np.arange(tasks, dtype=np.uint64)))
                    found = compare_squares(said[:, :, None], part)
                    bound = (found.left == 0) & (found.right == 1)
                    hits += bool(found.shared_errors[bound].any())
                    others += bool(found.shared_errors[~bound if bond else slice(None)].any())
                cells.append(_shares(hits, others) if bond else f"{100 * others / BOND_PANELS:.0f}")
            name = f"{judges} judges{', easy and hard tasks' if hard else ''}"
            lines.append([name, *cells])
    header = ["in % of panels", "0.3, 100 tasks", "0.6, 100 tasks", "0.3, 500 tasks", "nobody, 100 tasks"]
    return table([*header, "nobody, 500 tasks"], lines)


def _shares(hits: int, others: int) -> str:
    return f"{100 * hits / BOND_PANELS:.0f} ({100 * others / BOND_PANELS:.0f})"


def criteria() -> str:
    """Say how far vectors of four criteria are off, if one of five judges makes hers up, always too high."""
    median = allalike.Vector(rule="geometric median")
    kinds: dict[str, tuple[str | None, allalike.Domain]] = {
        "mean": ("UA", allalike.Vector()),
        "geometric median": ("UA", median),
        "panel": (None, allalike.Vector()),
        "panel, geometric median": (None, median),
    }
    lines = []
    for share in (0.0, 0.3, 1.0):
        errors = []
        for seed in range(PANELS):
            rng = np.random.default_rng([SEED + seed, int(10 * share)])
            truth = rng.normal(5, 2, (100, 4))
            said = truth[:, None] + rng.normal(size=(100, 5, 4))
            made_up = rng.random(100) < share
            said[made_up, 4] = rng.normal(9, 1, (int(made_up.sum()), 4))
            rows = [(f"j{i}", f"t{t:03}", said[t, i].tolist()) for t in range(100) for i in range(5)]
            errors.append([_vector_error(rows, truth, *how) for how in kinds.values()])
        lines.append([f"on {100 * share:.0f} % of tasks", *(f"{each:.3f}" for each in np.mean(errors, axis=0))])
    return table(["RMSE, one judge makes scores up", *kinds], lines)


def _vector_error(rows: Sequence[Any], truth: Scores, method: str | None, domain: allalike.Domain) -> float:
    found = allalike.discover(rows, domain=domain, method=method) if method else allalike.jury(rows, domain=domain)
    return rmse(np.stack(found.truth["label"].to_list()), truth)


def compare() -> str:
    """Compare the panel with the mean and the median, on public sets, in units of how much truths differ."""
    lines = []
    for name in CROWDS:
        rows = pd.read_csv(NUMBERS / f"{name}.csv", dtype={"task": str, "worker": str})
        gold = pd.read_csv(NUMBERS / f"{name}_gold.csv", dtype={"task": str}).set_index("task")["label"]
        for judges in (15, 60):
            found = []
            for seed in range(PANELS // 2):
                who = np.random.default_rng([SEED + seed, judges]).choice(
                    rows["worker"].unique(), judges, replace=False
                )
                found.append(_errors(rows[rows["worker"].isin(who)], gold))
            lines.append([f"`{name}`, {judges} drawn judges", len(gold), *(f"{x:.3f}" for x in np.mean(found, axis=0))])
    for name in ("snow_wordsim", *(f"snow_emotion/{feeling}" for feeling in FEELINGS)):
        data = load(name)
        answers = data.answers
        task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
        ids, workers = np.array(answers.tasks.tolist(), str), np.array(answers.workers.tolist(), str)
        rows = pd.DataFrame({"worker": workers[answers.worker], "task": ids[task], "label": answers.label})
        gold = pd.Series({str(each): float(label) for each, label in dict(data.gold).items()})
        lines.append([f"`{name}`, {len(workers)} judges", len(gold), *(f"{x:.3f}" for x in _errors(rows, gold))])
    return table(["RMSE / standard deviation of truths", "tasks", "panel", "mean", "median"], lines)


def _errors(rows: pd.DataFrame, gold: pd.Series[float]) -> list[float]:
    panel = allalike.jury(rows[["worker", "task", "label"]], domain="real").truth.set_index("task")["label"]
    tasks = rows.groupby("task")["label"]
    return [rmse(each, gold.reindex(each.index)) / float(gold.std()) for each in (panel, tasks.mean(), tasks.median())]


def main() -> None:
    """Measure, and print or write."""
    use_data_beside_the_clone()
    os.environ.setdefault("ALLALIKE_THREADS", "1")
    warnings.simplefilter("ignore")
    parts = [
        ("### Drawn panels with and without the correction", correct()),
        ("### Do limits of offsets hold?", cover()),
        ("### Are correlated errors found?", bonds()),
        ("### Criteria in vectors", criteria()),
        ("### Public sets of numbers", compare()),
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
