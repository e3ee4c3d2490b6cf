"""Measure panels of judges on public panels with gold labels and on simulated panels.

Each part answers one question and writes docs/evidence/panels_PART.csv, the source of the tables in PANELS.md. Public
panels come from the catalogue and the folder of crowds (see ``gold_crowds.py``); the default was not tuned on them.
Simulated panels have fixed seeds.

    python benchmarks/jury.py [PART ...] [--draws 200] [-o docs/evidence/PANELS.md]
"""

from __future__ import annotations

import argparse
import os
import re
import warnings
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

import allalike
from allalike._core.columns.hashes import mix
from allalike.errors import DataWarning
from allalike.panels.calibration import ConfidenceModel, find_calibration_error
from allalike.panels.correlated_errors import compare_classes, compare_squares, find_offsets, number_task_parts
from allalike.panels.drift import SIGNIFICANT, BothPanels, find_changes
from allalike.panels.rates import Counts, correct_rate, estimate_rate, estimate_share
from allalike.panels.verdicts import ClassVerdicts
from crowd_data import load
from gold_crowds import crowd_folder
from public_data import use_data_beside_the_clone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allalike import Panel

Row = dict[str, Any]
Floats = npt.NDArray[np.float64]

CATALOGUED = ("zeroeval_gsm8k", "zeroeval_math_l5", "llmbar_llm_judges")
CROWDS = (
    *("feedback_fc", "triviaqa_judges", "reife_mtbench", "faithbench"),
    *("mmlu_biology", "mmlu_chemistry", "mmlu_economics", "mmlu_engineering", "mmlu_health"),
)
BINARY = ("feedback_fc", "triviaqa_judges", "faithbench", "reife_mtbench", "mmlu_biology", "mmlu_health")
NUMBERS = ("calories", "coins_nested", "gk_1", "gk_3", "gk_5", "ncaa_r64")
FEELINGS = ("anger", "disgust", "fear", "joy", "sadness", "surprise", "valence")
LLMBAR = ("Natural", "GPTInst", "GPTOut", "Manual", "Neighbor")
ORDERS = ("as is", "swapped")
KNOWN = (20, 50, 200)  # gold labels
SEED = 5000  # panels with other seeds were used for development
FEW_DRAWS = 5  # of gold labels or judges


class Data(NamedTuple):
    """A public panel: its rows and gold labels."""

    name: str
    rows: list[tuple[Any, Any, Any]]
    gold: dict[Any, Any]


@cache
def read(name: str) -> Data:
    """Read a data set of the catalogue, or a crowd."""
    if name in CROWDS or name == "chexpert_readers":
        data = np.load(crowd_folder() / f"{name}.npz")
        rows = [(int(w), int(t), f"c{c}") for w, t, c in zip(data["W"], data["T"], data["L"], strict=True)]
        return Data(name, rows, {task: f"c{g}" for task, g in enumerate(data["g"].tolist()) if g >= 0})
    found = load(name)
    answers = found.answers
    workers, tasks = (
        answers.workers.take(answers.worker).tolist(),
        np.repeat(np.arange(answers.n_tasks), np.diff(answers.starts)),
    )
    labels = answers.encoding.decode(answers.label).tolist()
    return Data(name, list(zip(workers, answers.tasks.take(tasks).tolist(), labels, strict=True)), dict(found.gold))


@cache
def judge(name: str, told: bool) -> Panel:
    """Run a panel, with all gold labels or without any."""
    data = read(name)
    return allalike.jury(data.rows, domain="categorical", gold=data.gold if told else None)


def discover(rows: Any, **options: Any) -> Any:
    """Return the estimated labels."""
    return allalike.discover(rows, domain="categorical", **options).truth


def measure(truth: Any, gold: dict[Any, Any], *, but: Any = (), empty: float = 0.0) -> float:
    """Return the share of right labels; a task without a label counts as ``empty``."""
    labels = dict(zip(truth["task"], truth["label"], strict=True))
    tasks = [task for task in gold if task not in set(but)]
    right = [empty if labels.get(task) is None else float(labels[task] == gold[task]) for task in tasks]
    return 100 * float(np.mean(right))


# Public panels.


def compare_accuracy(draws: int) -> Iterator[Row]:
    """Compare the panel, with 0 to 200 gold labels, with majority vote, Dawid-Skene and the best judge."""
    for name in (*CATALOGUED, *CROWDS):
        data = read(name)
        table = pd.DataFrame(data.rows, columns=["worker", "task", "label"])
        hits = (
            (table["label"] == table["task"].map(data.gold)).groupby([table["worker"], table["task"]]).max().unstack()
        )
        hits = hits.reindex(columns=list(data.gold)).astype(float)
        right = hits.fillna(0.0).mean(axis=1) if name in CATALOGUED else hits.mean(axis=1)
        row: Row = {"panel": name, "judges": len(hits), "tasks": len(data.gold)}
        row |= {method: measure(discover(data.rows, method=method), data.gold) for method in ("UA", "DS")}
        row["gold_0"] = measure(discover(data.rows), data.gold)
        for number in KNOWN:
            if len(data.gold) - number < 100:
                continue
            found = []
            for seed in range(FEW_DRAWS):
                tasks = sorted(data.gold, key=str)
                known = np.random.default_rng([seed, number]).choice(len(tasks), number, replace=False)
                some = [tasks[each] for each in known]
                told = discover(data.rows, gold={task: data.gold[task] for task in some})
                best = hits[some].sum(axis=1)
                alone = hits.loc[best == best.max()].drop(columns=some).stack().mean()
                found.append((measure(told, data.gold, but=some), 100 * alone))
            row |= dict(zip((f"gold_{number}", f"best_{number}"), np.mean(found, axis=0), strict=True))
        yield row | {"mean_judge": 100 * right.mean(), "best_judge": 100 * right.max()}


def compare_confidence(draws: int) -> Iterator[Row]:
    """Compare confidences with accuracy; each task is decided without its gold label."""
    for name in CATALOGUED:
        panel = judge(name, told=True)
        tasks = ConfidenceModel.of(panel.run, panel.result.weighing).decide_tasks(50_000)[1].dropna(subset="wrong")
        for calibrated, prefix in ((False, "own"), (True, "")):
            confidence, wrong = tasks[prefix or "confidence"], tasks[f"{prefix}_wrong".strip("_")]
            error = find_calibration_error(confidence.to_numpy(), 1 - wrong.to_numpy())
            row: Row = {"panel": name, "calibrated": calibrated, "ece": error}
            for level in (0.0, 0.8, 0.9, 0.95):
                kept = confidence >= level
                row |= {f"answered_{level:g}": 100 * kept.mean(), f"right_{level:g}": 100 - 100 * wrong[kept].mean()}
            yield row


def compare_smaller(draws: int) -> Iterator[Row]:
    """Compare the smallest panel, chosen with and without gold labels, with the full panel; both run without gold."""
    for name in CATALOGUED:
        data = read(name)
        for told in (False, True):
            panel = judge(name, told)
            few, pairs = (panel.summary["panel"][each] for each in ("smallest", "pairs"))
            rows = [row for row in data.rows if row[0] in set(panel.smallest)]
            alone = pd.DataFrame(rows, columns=["worker", "task", "label"]) if few["size"] == 1 else discover(rows)
            yield {
                "panel": name,
                "gold": len(data.gold) if told else 0,
                "judges": len(panel.judges),
                "smallest": few["size"],
                "expected": 100 * few["worth"],
                "right": measure(alone, data.gold),
                "all_right": measure(judge(name, told=False).truth, data.gold),
                "recommended": (panel.summary["panel"].get("recommendation") or {}).get("chosen", ""),
                "correlated_pairs": pairs["found"],
                "pairs": pairs["compared"],
            }


def read_pairs() -> Iterator[Data]:
    """Read judges who saw pairs in both orders; the order is the last column."""
    for subset in LLMBAR:
        data = read(f"llmbar_llm_judges/{subset}")
        rows: list[Any] = [(w.removesuffix("/swapped"), t, x, ORDERS[w.endswith("/swapped")]) for w, t, x in data.rows]
        yield Data(f"LLMBar {subset}", rows, data.gold)
    found = np.load(crowd_folder() / "reife_mtbench.npz")
    columns = zip(*(found[name].tolist() for name in "WTL"), strict=True)
    rows = [(f"protocol {w // 50}, model {w % 25}", t, "AB"[c], ORDERS[w // 25 % 2]) for w, t, c in columns]
    yield Data("ReIFE MT-Bench", rows, {t: "AB"[g] for t, g in enumerate(found["g"].tolist()) if g >= 0})


def compare_orders(draws: int) -> Iterator[Row]:
    """Compare merging both orders with a vote on all verdicts, one order, and each order as a judge."""
    for data in read_pairs():
        judges = sorted({row[0] for row in data.rows})
        for size in (each for each in (3, 9) if each <= len(judges)):
            found = []
            for seed in range(2 * FEW_DRAWS):
                some = set(np.random.default_rng([seed, size]).choice(judges, size, replace=False).tolist())
                table = pd.DataFrame(data.rows, columns=["judge", "task", "label", "shown"])
                table = table[table["judge"].isin(some)]
                panel = allalike.jury(table, order="shown", verdicts_name="answers", domain="categorical")
                each = table.assign(judge=table["judge"] + table["shown"])[["judge", "task", "label"]]
                one = table.loc[table["shown"] == ORDERS[0], ["judge", "task", "label"]]
                orders = panel.summary["panel"]["orders"]
                truths = discover(each, method="UA"), discover(one), discover(each), panel.truth
                shares = 100 * orders["same"] / orders["pairs"], 100 * len(orders["biased"]) / size
                found.append([*shares, *(measure(truth, data.gold, empty=0.5) for truth in truths)])
            names = ("same", "biased", "vote", "one_order", "two_judges", "merged")
            row: Row = {"panel": data.name, "judges": size, "tasks": len(data.gold)}
            yield row | dict(zip(names, np.mean(found, axis=0), strict=True))


def compare_scores(draws: int) -> Iterator[Row]:
    """Compare the panel with the mean and the median of numbers: RMSE over the standard deviation of gold labels."""
    folder = crowd_folder() / "numbers"
    for name in NUMBERS:
        rows = pd.read_csv(folder / f"{name}.csv", dtype={"task": str, "worker": str})
        gold = pd.read_csv(folder / f"{name}_gold.csv", dtype={"task": str}).set_index("task")["label"]
        for judges in (15, 60):
            found = []
            for seed in range(FEW_DRAWS):
                drawn = np.random.default_rng([SEED + seed, judges]).choice(
                    rows["worker"].unique(), judges, replace=False
                )
                found.append(_find_errors(rows[rows["worker"].isin(drawn)], gold))
            errors = dict(zip(("auto", "mean", "median"), np.mean(found, axis=0), strict=True))
            yield {"panel": name, "judges": judges, "tasks": len(gold), **errors}
    for name in ("snow_wordsim", *(f"snow_emotion/{feeling}" for feeling in FEELINGS)):
        data = read(name)
        rows = pd.DataFrame(data.rows, columns=["worker", "task", "label"])
        errors = dict(zip(("auto", "mean", "median"), _find_errors(rows, pd.Series(data.gold)), strict=True))
        yield {"panel": name, "judges": rows["worker"].nunique(), "tasks": len(data.gold), **errors}


def _find_errors(rows: pd.DataFrame, gold: Any) -> list[float]:
    panel = allalike.jury(rows[["worker", "task", "label"]], domain="real").truth.set_index("task")["label"]
    tasks = rows.groupby("task")["label"]
    return [_rmse(each, gold.reindex(each.index)) / float(gold.std()) for each in (panel, tasks.mean(), tasks.median())]


def _rmse(estimate: Any, truth: Any) -> float:
    return float(np.sqrt(np.nanmean(np.square(np.asarray(estimate, float) - np.asarray(truth, float)))))


# Simulated panels.


def draw_scores(
    rng: np.random.Generator, judges: int, tasks: int, per: int, *, offset: float, differ: bool
) -> tuple[Floats, Floats, Floats]:
    """Simulate truths, scores (NaN if missing), and offsets of judges."""
    truth, offsets = rng.normal(0, 2, tasks), rng.normal(0, offset, judges)
    noise = rng.uniform(0.5, 2, judges) if differ else np.ones(judges)
    scores = truth[:, None] + offsets - offsets.mean() + noise * rng.normal(size=(tasks, judges))
    scores[np.argsort(rng.random(scores.shape), axis=1) >= per] = np.nan
    return truth, scores, offsets - offsets.mean()


def compare_offsets(draws: int) -> Iterator[Row]:
    """Compare the RMSE of panels with that of the mean and the median, for judges with offsets and unequal errors."""
    kinds = {"equal judges": (0.0, False), "offsets": (1.0, False), "offsets, unequal errors": (1.0, True)}
    for judges, tasks, per in ((3, 100, 3), (5, 100, 5), (12, 200, 3)):
        for kind, (offset, differ) in kinds.items():
            found = []
            for seed in range(max(draws // 12, 1)):
                rng = np.random.default_rng([SEED + seed, judges, per])
                truth, scores, _ = draw_scores(rng, judges, tasks, per, offset=offset, differ=differ)
                rows = [(f"j{i:02}", f"t{t:04}", float(x)) for (t, i), x in np.ndenumerate(scores) if not np.isnan(x)]
                panel = allalike.jury(rows, domain="real").truth["label"]
                estimates = panel, np.nanmean(scores, axis=1), np.nanmedian(scores, axis=1)
                found.append([_rmse(each, truth) for each in estimates])
            errors = dict(zip(("auto", "mean", "median"), np.mean(found, axis=0), strict=True))
            yield {"panel": f"{judges} judges, {per} per task: {kind}", **errors}


def compare_shared_errors(draws: int) -> Iterator[Row]:
    """Return the rates at which the pair with correlated errors, and another pair, are detected."""
    kinds: dict[str, Callable[..., pd.DataFrame]] = {
        "2 classes": partial(_share_classes, k=2),
        "2 classes, easy and hard tasks": partial(_share_classes, k=2, difficulty=1.5),
        "4 classes, easy and hard tasks": partial(_share_classes, k=4, difficulty=1.5),
        "4 classes, 70 % of errors on one label": partial(_share_classes, k=4, difficulty=1.5, decoy=0.7),
        "scores": _share_scores,
        "scores, easy and hard tasks": partial(_share_scores, hard=0.7),
    }
    for kind, compare in kinds.items():
        for judges in (5, 9) if kind.startswith("scores") else (3, 9):
            row: Row = {"panel": kind, "judges": judges}
            for tasks, bond in ((100, 0.3), (100, 0.5), (1000, 0.3), (100, 0.0), (1000, 0.0)):
                named = []
                for seed in range(max(draws // 5, 1)):
                    rng = np.random.default_rng([SEED + seed, judges, tasks, int(10 * bond)])
                    pairs = compare(rng, judges, tasks, bond)
                    first = (pairs["left"] == 0) & (pairs["right"] == 1)
                    other = ~first if bond else first | True
                    named.append((pairs["shared_errors"][first].any(), pairs["shared_errors"][other].any()))
                found, false = 100 * np.mean(named, axis=0)
                row |= {f"found_{bond:g}_{tasks}": found} if bond else {}
                row[f"false_{bond:g}_{tasks}"] = false
            yield row


def _share_classes(
    rng: np.random.Generator, judges: int, tasks: int, bond: float, *, k: int, difficulty: float = 0, decoy: float = 0
) -> pd.DataFrame:
    """Simulate judges with accuracy 55 to 95 %; the second copies the first on a share of the tasks."""
    truth, skill = rng.integers(k, size=tasks), rng.uniform(0.55, 0.95, judges)
    odds = np.log(skill / (1 - skill)) + difficulty * rng.standard_normal(tasks)[:, None]
    wrong = (truth[:, None] + rng.integers(1, k, (tasks, judges))) % k
    wrong = np.where(rng.random((tasks, judges)) < decoy, ((truth + rng.integers(1, k, tasks)) % k)[:, None], wrong)
    labels = np.where(rng.random((tasks, judges)) < 1 / (1 + np.exp(-odds)), truth[:, None], wrong)
    labels[:, 1] = np.where(rng.random(tasks) < bond, labels[:, 0], labels[:, 1])
    known, hashes = np.ones(tasks, bool), np.arange(tasks).astype(np.uint64)
    return compare_classes(
        ClassVerdicts(labels, np.ones((tasks, k)), truth, known * 1.0, known, truth, hashes), k - 1.0
    )


def _share_scores(rng: np.random.Generator, judges: int, tasks: int, bond: float, *, hard: float = 0) -> pd.DataFrame:
    """Simulate judges with this correlation between the errors of the first two."""
    errors = rng.normal(size=(tasks, judges))
    errors[:, 1] = bond * errors[:, 0] + np.sqrt(1 - bond**2) * errors[:, 1]
    errors *= rng.uniform(0.5, 2, judges) * np.exp(hard * rng.normal(size=tasks))[:, None]
    scores = rng.normal(0, 3, tasks)[:, None] + rng.normal(size=judges) + errors
    return compare_squares(scores[:, :, None], number_task_parts(mix(np.arange(tasks, dtype=np.uint64))))


def compare_intervals(draws: int) -> Iterator[Row]:
    """Return coverage and width of 95 % intervals for rates, means and offsets."""
    for se, sp in ((0.95, 0.95), (0.9, 0.7), (0.7, 0.6), (0.55, 0.5)):
        for number in KNOWN:
            rates = [_cover_rates(number, rate, se, sp, draws) for rate in (0.05, 0.2, 0.5, 0.8, 0.95)]
            least = {f"{name}_least": min(row[name] for row in rates) for name in ("double", "ppi", "rogan_gladen")}
            panel = f"rates, sensitivity {se:g}, specificity {sp:g}"
            yield {"panel": panel, "gold": number, **_average(rates), **least}
    for name in BINARY:
        for number in KNOWN[:2]:
            yield {"panel": name, "gold": number, **_cover_public(name, number, draws)}
    for judges, per in ((3, 3), (5, 3), (12, 3)):
        held = []
        for seed in range(draws):
            rng = np.random.default_rng([SEED + seed, judges])
            _, scores, offsets = draw_scores(rng, judges, 200, per, offset=1.0, differ=True)
            found = find_offsets(scores, np.arange(200) % 20)
            held += ((found["offset_ci_low"] <= offsets) & (offsets <= found["offset_ci_high"])).tolist()
        yield {"panel": f"offsets, {judges} judges, {per} per task", "gold": 0, "jackknife": 100 * np.mean(held)}


def _cover(truth: Floats, verdict: npt.NDArray[np.intp], number: int, rate: float) -> Row:
    """Return, per estimator, whether its interval contains the rate, and its width."""
    known = np.where(np.arange(len(truth)) < number, truth, np.nan)
    counts, predicted = Counts.of(verdict, known), verdict.astype(np.float64)
    powered = estimate_share(truth[:number], predicted[:number], predicted[number:])
    found = {"double": estimate_rate(counts), "ppi": powered, "rogan_gladen": correct_rate(counts)[0]}
    row: Row = {}
    for name, each in found.items():
        low, high = np.nan_to_num(each.ci_low, nan=0.0), np.nan_to_num(each.ci_high, nan=1.0)
        row |= {name: 100.0 * (low <= rate <= high), f"{name}_width": 100 * (min(high, 1.0) - max(low, 0.0))}
    return row


def _average(rows: list[Row]) -> Row:
    return {str(name): mean for name, mean in pd.DataFrame(rows).mean().items()}


def _cover_rates(number: int, rate: float, se: float, sp: float, draws: int) -> Row:
    rng, rows = np.random.default_rng([number, int(100 * rate), int(100 * se)]), []
    for _ in range(draws):
        truth = rng.random(1000) < rate
        verdict = np.where(truth, rng.random(1000) < se, rng.random(1000) >= sp)
        rows.append(_cover(truth.astype(np.float64), verdict.astype(np.intp), number, rate))
    return _average(rows)


@cache
def read_binary(name: str) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Return whether each task is positive (in the later half of the classes), by gold and by the panel."""
    data, positive = read(name), {f"c{c}" for c in range(int(np.load(crowd_folder() / f"{name}.npz")["k"]))}
    positive = set(sorted(positive, key=lambda each: int(each[1:]))[len(positive) // 2 :])
    labels = discover(data.rows).set_index("task")["label"]
    tasks = [task for task in data.gold if task in labels.index]
    truth = np.array([data.gold[task] in positive for task in tasks], float)
    return truth, labels[tasks].isin(positive).to_numpy().astype(np.intp)


def _cover_public(name: str, number: int, draws: int) -> Row:
    (truth, verdict), rng, rows = read_binary(name), np.random.default_rng(number), []
    for _ in range(draws):
        drawn = rng.integers(len(truth), size=len(truth))
        rows.append(_cover(truth[drawn], verdict[drawn], number, float(truth.mean())))
    return _average(rows)


def compare_drift(draws: int) -> Iterator[Row]:
    """Return the rates at which the third of five judges, with inverted verdicts, and another judge are detected."""
    right = np.array([0.95, 0.9, 0.85, 0.8, 0.75])
    for same in (True, False):
        for tasks in (100, 300, 1000):
            row: Row = {"panel": f"{tasks:,} {'shared' if same else 'other'} tasks"}
            for harsh in (0.0, 0.1, 0.2, 0.4):
                rng, named = np.random.default_rng([tasks, int(10 * harsh)]), []
                for _ in range(draws):
                    truth = rng.random((2, tasks)) < 0.6
                    truth[1] = truth[0] if same else truth[1]
                    labels = np.where(rng.random((2, tasks, 5)) < right, truth[..., None], ~truth[..., None])
                    labels[1, :, 2] &= rng.random(tasks) >= harsh
                    changed = _find_changed(*labels.astype(float), same=same)
                    named.append((2 in changed, bool(changed - {2} if harsh else changed)))
                found, false = 100 * np.mean(named, axis=0)
                row |= {f"found_{harsh:g}": found} if harsh else {}
                row[f"false_{harsh:g}"] = false
            yield row
    for name in ("triviaqa_judges", "faithbench", "mmlu_biology", "chexpert_readers"):
        table = pd.DataFrame(read(name).rows, columns=["judge", "task", "label"])
        labels = (
            table.assign(label=table["label"].str[1:].astype(float)).pivot_table("label", "task", "judge").to_numpy()
        )
        rng, false = np.random.default_rng(1), []
        for _ in range(max(draws // 4, 1)):
            then, now = np.array_split(rng.permutation(len(labels)), 2)
            false.append(bool(_find_changed(labels[then], labels[now], same=False)))
        yield {"panel": f"halves of {name}", "false_0": 100 * np.mean(false)}


def _find_changed(then: Floats, now: Floats, *, same: bool) -> set[int]:
    if not same:
        then, now = np.vstack([then, np.full_like(now, np.nan)]), np.vstack([np.full_like(then, np.nan), now])
    judges = list(map(str, range(then.shape[1])))
    changes = find_changes(BothPanels(judges, then, now, np.full(len(then), np.nan), scored=False))
    return set(changes.loc[changes["p_value"] * len(changes) < SIGNIFICANT, "judge"])


PARTS = {
    "accuracy": compare_accuracy,
    "confidence": compare_confidence,
    "smaller": compare_smaller,
    "shared_errors": compare_shared_errors,
    "orders": compare_orders,
    "intervals": compare_intervals,
    "drift": compare_drift,
    "scores": compare_scores,
    "offsets": compare_offsets,
}


def format_table(table: pd.DataFrame) -> str:
    """Format a Markdown table: numbers with one decimal, or three below one."""

    def write(value: Any) -> str:
        if isinstance(value, float):
            return "" if np.isnan(value) else f"{value:.0f}" if value == round(value) else f"{value:.1f}"
        return str(value)

    def write_column(column: pd.Series[Any]) -> list[str]:
        if column.dtype.kind == "f" and 0 < column.abs().max() < 2:
            return ["" if np.isnan(value) else f"{value:.3f}" for value in column]
        return [write(value) for value in column.tolist()]

    columns = {str(name).replace("_", " "): write_column(table[name]) for name in table}
    lines = [list(columns), ["---", *["--:"] * (len(columns) - 1)], *map(list, zip(*columns.values(), strict=True))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fill_page(page: Path) -> None:
    """Replace the tables of a page between <!-- table PART: COLUMNS --> and <!-- end -->."""

    def fill(found: re.Match[str]) -> str:
        table = pd.read_csv(page.parent / f"panels_{found[1]}.csv")
        return f"<!-- table {found[1]}: {found[2]} -->\n\n{format_table(table[found[2].split()])}\n\n<!-- end -->"

    text = page.read_text(encoding="utf-8")
    pattern = r"<!-- table (\w+): ([\w. ]+) -->.*?<!-- end -->"
    page.write_text(re.sub(pattern, fill, text, flags=re.S), encoding="utf-8")


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    parser.add_argument("--draws", type=int, default=200, help="simulated panels per row")
    parser.add_argument("--fill", action="store_true", help="only make the tables from the CSV files")
    parser.add_argument("-o", "--output", type=Path, help="page; its folder receives the CSV files")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    os.environ.setdefault("ALLALIKE_THREADS", "1")
    use_data_beside_the_clone()
    for part in [] if options.fill else options.parts or PARTS:
        table = pd.DataFrame(PARTS[part](options.draws)).round(4)
        if options.output is None:
            print(f"{part}\n{format_table(table)}\n")
        else:
            table.to_csv(options.output.parent / f"panels_{part}.csv", index=False, lineterminator="\n")
    if options.output is not None:
        fill_page(options.output)


if __name__ == "__main__":
    main()
