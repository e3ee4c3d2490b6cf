"""Measure confidences, ranks and intervals of the default on class crowds with gold labels.

python benchmarks/uncertainty.py                       # measure rows missing in docs/evidence/uncertainty.csv
python benchmarks/uncertainty.py --crowds 'mmlu_*'     # on these crowds

Each crowd is solved without gold labels, and with 20 and 50 random ones; the other gold labels are used to evaluate. A
pair of workers differs if their gold error rates differ by 1.96 standard errors. It is ordered if the intervals of
their relative errors (with gold labels, of their error rates without the common error) do not overlap.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import allalike
from allalike.methods.auto.uncertainty import NORMAL_QUANTILE, find_wilson_limits
from gold_crowds import FAMILIES, find_crowds
from public_data import use_data_beside_the_clone
from scores import find_calibration

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.answers import Answers

    Floats = npt.NDArray[np.float64]

TABLE = Path(__file__).parents[1] / "docs" / "evidence" / "uncertainty.csv"
GOLD = (0, 20, 50)
MEASURES = (
    *("calibration", "log_loss", "vote_log_loss", "share_error", "share_covered"),
    *("pairs", "ordered", "misordered", "workers", "covered", "width", "wider", "rate_error", "trust"),
)
COLUMNS = ("crowd", "family", "gold", *MEASURES)
_MIN_ANSWERS = 10  # to tasks with gold, of evaluated workers
_MAX_ANSWERS = 100_000
_LEAST = 0.01


def measure(answers: Answers, n_gold: int, seed: int = 0) -> dict[str, float]:
    """Return the measurements of a crowd with this number of gold labels."""
    known = np.random.default_rng(seed).permutation(len(answers.gold_task))[:n_gold]
    known.sort()
    given = replace(answers, gold_task=answers.gold_task[known], gold_label=answers.gold_label[known])
    result = allalike.discover(given if n_gold else replace(given, gold=None))
    judged = np.ones(len(answers.gold_task), bool)
    judged[known] = False
    return {**_measure_labels(result, answers, judged), **_measure_workers(result, answers, known)}


def _measure_labels(result: allalike.Result, answers: Answers, judged: npt.NDArray[np.bool_]) -> dict[str, float]:
    tasks = answers.tasks.take(answers.gold_task[judged]).tolist()
    table = result.truth.set_index("task").loc[tasks]
    possible = answers.gold_label[judged] < answers.encoding.n_labels
    gold = answers.encoding.decode(np.where(possible, answers.gold_label[judged], 0)).tolist()
    right, vote = (
        possible & (table[name].to_numpy(object) == np.array(gold, object)).astype(bool)
        for name in ("label", "unweighted")
    )
    confidence = table["confidence"].to_numpy(np.float64)
    share = _vote_shares(answers)[answers.gold_task[judged]]
    summary = result.summary["confidence"]
    low, high = summary["share_right_low"], summary["share_right_high"]
    return {
        "calibration": find_calibration(confidence, right),
        "log_loss": _log_loss(confidence, right),
        "vote_log_loss": _log_loss(share, vote),
        "share_error": abs(summary["share_right"] - right.mean()),
        "share_covered": float(low <= right.mean() <= high),
    }


def _vote_shares(answers: Answers) -> Floats:
    sizes = np.diff(answers.starts)
    task = np.repeat(np.arange(len(sizes)), sizes)
    pairs, votes = np.unique(task * answers.encoding.n_labels + answers.label, return_counts=True)
    most = np.zeros(len(sizes))
    np.maximum.at(most, pairs // answers.encoding.n_labels, votes)
    return np.asarray(most / np.maximum(sizes, 1))


def _log_loss(confidence: Floats, right: npt.NDArray[np.bool_]) -> float:
    chance = np.clip(confidence, _LEAST, 1 - _LEAST)
    return float(-np.log(np.where(right, chance, 1 - chance)).mean())


def _measure_workers(result: allalike.Result, answers: Answers, known: npt.NDArray[np.intp]) -> dict[str, float]:
    gold = np.full(len(answers.tasks), -1)
    gold[answers.gold_task] = answers.gold_label
    learned = np.zeros(len(answers.tasks), bool)
    learned[answers.gold_task[known]] = True
    task = np.repeat(np.arange(len(gold)), np.diff(answers.starts))
    asked, n_workers = gold[task] >= 0, len(answers.workers)
    n = np.bincount(answers.worker[asked], minlength=n_workers)
    wrong = np.bincount(answers.worker[asked], answers.label[asked] != gold[task[asked]], n_workers)
    rate = wrong / np.maximum(n, 1)
    found = result.weighing.uncertainty
    assert found is not None
    assert found.relative_error is not None
    assert found.relative_se is not None
    assert found.rank_low is not None
    able = np.flatnonzero((n >= _MIN_ANSWERS) & ~np.isnan(found.rank_low))
    error = (found.shrunk if len(known) else found.relative_error)[able]
    half = NORMAL_QUANTILE * found.relative_se[able]
    better = (error + half)[:, None] < error - half
    variance = (rate * (1 - rate) / np.maximum(n, 1))[able]
    gap = rate[able][:, None] - rate[able]
    differ = np.abs(gap) > NORMAL_QUANTILE * np.sqrt(variance[:, None] + variance)
    ordered = differ & (better | better.T)
    measured = {
        "pairs": float(differ.sum() / 2),
        "ordered": float(ordered.sum() / 2),
        "misordered": float((better & ordered & (gap > 0)).sum()),
        "rate_error": float(np.abs(found.shrunk - rate)[able].mean()) if len(able) else np.nan,
        "trust": np.nan if found.trust is None else found.trust,
    }
    if not len(known):
        return measured
    seen = learned[task]
    n_seen = np.bincount(answers.worker[seen], minlength=n_workers).astype(np.float64)
    wrong_seen = np.bincount(answers.worker[seen], answers.label[seen] != gold[task[seen]], n_workers)
    low, high = find_wilson_limits(wrong_seen / np.maximum(n_seen, 1), n_seen)
    able = np.flatnonzero((n >= _MIN_ANSWERS) & ~np.isnan(found.low))
    width = (found.high - found.low)[able]
    return {
        **measured,
        "workers": float(len(able)),
        "covered": float(((found.low <= rate) & (rate <= found.high))[able].mean()) if len(able) else np.nan,
        "width": float(np.median(width / (high - low)[able])) if len(able) else np.nan,
        "wider": float((width > (high - low)[able] + 1e-9).sum()),
    }


def summarise(rows: list[dict[str, Any]]) -> str:
    """Return the means over crowds and over families, for each number of gold labels."""
    table = pd.DataFrame(rows)
    lines = []
    for gold, part in table.groupby("gold"):
        family = part.groupby("family")[list(MEASURES)].mean(numeric_only=True)
        told = part["misordered"].sum() / max(part["ordered"].sum(), 1)
        by_family = (part.groupby("family")["misordered"].sum() / part.groupby("family")["ordered"].sum()).mean()
        lines.append(
            f"{gold} gold labels, {len(part)} crowds: ordered {part['ordered'].sum() / part['pairs'].sum():.2f} of the"
            f" pairs that differ, {told:.3f} wrongly (families {by_family:.3f}; mean of crowds"
            f" {(part['misordered'] / part['ordered']).mean():.3f})"
        )
        lines += [f"  {name}: crowds {part[name].mean():.3f}, families {family[name].mean():.3f}" for name in MEASURES]
    return "\n".join(lines)


def read_table() -> list[dict[str, Any]]:
    """Return the rows of the table, if there is one."""
    if not TABLE.exists():
        return []
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [
            {name: x if name in ("crowd", "family") else float(x or "nan") for name, x in row.items()}
            for row in csv.DictReader(file)
        ]


def main() -> None:
    """Measure all crowds, and write the table after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowds", default="*", help="patterns of crowds, separated by commas (default: all)")
    given = parser.parse_args()
    use_data_beside_the_clone()
    warnings.simplefilter("ignore", allalike.errors.DataNote)
    rows = read_table()
    measured = {row["crowd"] for row in rows}
    for crowd in find_crowds(tuple(FAMILIES), given.crowds.split(",")):
        if crowd.name in measured:
            continue
        answers, begin = crowd.read(), time.perf_counter()
        if not answers.encoding.nominal or len(answers.gold_task) <= 2 * max(GOLD) or answers.n_answers > _MAX_ANSWERS:
            continue
        for n_gold in GOLD:
            rows.append({"crowd": crowd.name, "family": crowd.family, "gold": n_gold, **measure(answers, n_gold)})
        print(f"{crowd.name}: {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    print(summarise(rows))


if __name__ == "__main__":
    main()
