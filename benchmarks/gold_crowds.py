"""Crowds with gold labels: files of other projects, and the public data sets of the catalogue.

The former are in the folder that ``ALLALIKE_CROWDS`` names, by default ``../shared/crowds``: ``NAME.npz`` with ``W``,
``T`` and ``L`` (worker, task and label of each answer, whole numbers) and ``g`` (gold label of each task, -1 is
unknown), or ``NAME.csv`` with the columns worker, task, label and gold. To add a crowd, put a CSV file there.

As a program it measures the benefit of 20, 50 and 200 random gold labels for numbers and ratings. It compares errors of
gold regression on tasks without gold with ridge regression on the workers' answers and isotonic regression of their
mean.

    python benchmarks/gold_crowds.py [--draws 10] [-o docs/evidence/gold_numbers.csv]
"""

from __future__ import annotations

import argparse
import os
import warnings
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

import allalike
from allalike.datasets import DATASETS, source_of
from allalike.datasets.downloads import find_folder
from allalike.methods.auto.gold_regression import calibrate_scores
from allalike.readers import read_gold
from crowd_data import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allalike.answers import Answers

AGAIN = {  # data sets that are not scored because they repeat others
    "predict_mandal2020/T?": "the forecasts of Pred.T1 to T4 as numbers",
    "snow_emotion/*": "the seven ratings of EMO, one by one",
    "EMO.first": "twenty of the hundred headlines of EMO",
    "TRI?.trials": "single trials of the second experiment, of which TRI2 is the mean",
    "TRANSL": "crowdwsa2019/T1 as the paper has it, with repeated answers as further workers",
    "bounding_boxes_braylan/boxes": "the same boxes, compared by their overlap",
    "bubil_crowd_segmentation/*": "parts of bubil_crowd_segmentation",
    "llmbar_llm_judges/*": "parts of llmbar_llm_judges",
    "sp_voting_rankings/*": "parts of sp_voting_rankings",
}

FAMILIES = {
    "panels": "panels of language models",
    "weak": "weak supervision: workers are labelling functions, many with one class only",
    "people": "people, and people beside networks or static analysers",
    "public": "public data sets of the catalogue",
}
CATALOGUED = "public"  # family of the data sets of the catalogue
_PANELS = ("feedback_*", "triviaqa_*", "reife_*", "faithbench", "zeroeval_*", "mmlu_*")
_WEAK = ("weak_*", "wrench_*")


@dataclass(frozen=True)
class Crowd:
    """Name and family of a crowd, and a function that reads its answers and gold labels."""

    name: str
    family: str
    read: Callable[[], Answers]


def crowd_folder() -> Path:
    """Return the folder of crowds outside the catalogue."""
    beside = Path(__file__).parents[2] / "shared" / "crowds"
    return Path(os.environ.get("ALLALIKE_CROWDS", beside))


def choose_data_sets() -> tuple[list[str], list[str]]:
    """Return the scored data sets of the catalogue that are available, and those that are missing."""
    wanted = [name for name in DATASETS if not _matches(name, tuple(AGAIN))]
    here = [name for name in wanted if find_folder(source_of(name))]
    return here, [name for name in wanted if name not in here]


def find_crowds(families: Sequence[str] = (), names: Sequence[str] = ("*",)) -> list[Crowd]:
    """Return the crowds, of these families if given, whose names match a pattern."""
    wanted = families or tuple(FAMILIES)
    public = choose_data_sets()[0] if CATALOGUED in wanted else []
    crowds = [*_list_files(), *(Crowd(name, CATALOGUED, partial(_load, name)) for name in public)]
    return [crowd for crowd in crowds if crowd.family in wanted and _matches(crowd.name, names)]


def _list_files() -> Iterator[Crowd]:
    for path in sorted([*crowd_folder().glob("*.npz"), *crowd_folder().glob("*.csv")]):
        family = "panels" if _matches(path.stem, _PANELS) else "weak" if _matches(path.stem, _WEAK) else "people"
        yield Crowd(path.stem, family, partial(_read_arrays if path.suffix == ".npz" else _read_table, path))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _load(name: str) -> Answers:
    return load(name).answers


def _read_table(path: Path) -> Answers:
    table = pd.read_csv(path, dtype=str)
    answers = allalike.read(table[["worker", "task", "label"]])
    known = table.dropna(subset=["gold"]).drop_duplicates("task")
    return read_gold(dict(zip(known["task"], known["gold"], strict=True)), answers)


def _read_arrays(path: Path) -> Answers:
    with np.load(path) as arrays:
        worker, task, label, gold = (np.asarray(arrays[name], np.int64) for name in "WTLg")
    table = pa.table({"worker": worker, "task": task, "label": label})
    answers = allalike.read(table, domain="categorical", columns={name: name for name in table.column_names})
    known = np.flatnonzero(gold >= 0)
    return read_gold(dict(zip(known.tolist(), gold[known].tolist(), strict=True)), replace(answers, frame="pandas"))


def blind(answers: Answers) -> Answers:
    """Return answers without their gold labels."""
    return replace(answers, gold_task=answers.gold_task[:0], gold_label=answers.gold_label[:0], gold=None)


# Numbers and ratings.

NUMBERS = ("calories", "gk_1", "gk_3", "gk_5", "ncaa_r64", "weather_pressure", "weather_temperature")
RATINGS = {"10k_prompts": range(1, 6), "lesion": range(7)}
FEELINGS = ("anger", "disgust", "fear", "joy", "sadness", "surprise", "valence")
GOLD = (20, 50, 200)


@dataclass(frozen=True)
class Scores:
    """A crowd of numbers or ratings: answers as a table, levels (None for numbers), and the truth of each task."""

    name: str
    family: str
    levels: list[int] | None
    answers: pd.DataFrame
    truth: pd.Series[float]

    @property
    def domain(self) -> str:
        """The label type, as an option."""
        return "real" if self.levels is None else f"ordinal(levels={self.levels}, target=mean)"

    def to_label(self, values: Any) -> Any:
        """Return values as labels; for ratings, the nearest level."""
        return values if self.levels is None else np.clip(np.rint(values), self.levels[0], self.levels[-1])


def read_scores() -> Iterator[Scores]:
    """Read the crowds of numbers and ratings; the truth of ratings by models is the mean rating of people."""
    folder = crowd_folder()
    for name, levels in RATINGS.items():
        models, people = (_read_scores(folder / "ratings" / f"{name}_{who}.csv") for who in ("models", "people"))
        truth = people.groupby("task")["label"].mean()
        yield Scores(name, "ratings by models", [*levels], models[models["task"].isin(truth.index)], truth)
    for name in NUMBERS:
        gold = _read_scores(folder / "numbers" / f"{name}_gold.csv").set_index("task")["label"]
        answers = _read_scores(folder / "numbers" / f"{name}.csv").dropna().drop_duplicates(["task", "worker"])
        yield Scores(name, name.split("_")[0], None, answers[answers["task"].isin(gold.index)], gold)
    for feeling in FEELINGS:
        data = load(f"snow_emotion/{feeling}")
        read, task = data.answers, np.repeat(np.arange(len(data.answers.tasks)), np.diff(data.answers.starts))
        ids, workers = (np.array(each.tolist(), str) for each in (read.tasks, read.workers))
        rows = pd.DataFrame({"worker": workers[read.worker], "task": ids[task], "label": read.label})
        truth = pd.Series({str(each): float(label) for each, label in dict(data.gold or {}).items()})
        yield Scores(f"emotion {feeling}", "emotion", None, rows, truth)


def _read_scores(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"worker": str, "task": str})


def measure_gold(crowd: Scores, draws: int) -> Iterator[dict[str, Any]]:
    """Measure the errors on tasks without gold, and the coverage of 95 % intervals, for each number of gold labels."""
    table = crowd.answers.pivot_table(index="task", columns="worker", values="label")
    scores, tasks, truth = table.to_numpy(), table.index, crowd.truth.reindex(table.index).to_numpy()
    known, mean = np.flatnonzero(np.isfinite(truth)), np.nanmean(scores, axis=1)
    filled = np.where(np.isnan(scores), mean[:, None], scores)
    rows_of = crowd.answers[["worker", "task", "label"]]
    result = allalike.discover(rows_of, domain=crowd.domain).truth.set_index("task")
    without = result["label"].reindex(tasks).to_numpy(float)
    for n in (n for n in GOLD if n <= 0.75 * len(known)):
        rows = []
        for seed in range(draws):
            use = np.random.default_rng([seed, n]).choice(known, n, replace=False)
            rest = np.setdiff1d(known, use)
            gold = np.full(len(truth), np.nan)
            gold[use] = crowd.to_label(truth[use])
            calibrated = calibrate_scores(scores, without, gold)
            assert calibrated is not None
            inside = (calibrated.ci_low <= truth) & (truth <= calibrated.ci_high)
            estimates = {
                "mean": mean,
                "without gold": without,
                "gold": calibrated.estimate,
                "ridge": _fit_ridge(filled, use, truth),
                "isotonic": _fit_isotonic(mean, use, truth),
            }
            errors = {name: _error(crowd, each[rest], truth[rest]) for name, each in estimates.items()}
            rows.append({**errors, "coverage": inside[rest].mean()})
        averages = {str(name): mean for name, mean in pd.DataFrame(rows).mean().round(4).items()}
        yield {
            "crowd": crowd.name,
            "family": crowd.family,
            "tasks": len(known),
            "labels": n,
            "draws": draws,
            **averages,
        }


def _fit_ridge(scores: Any, use: Any, truth: Any) -> Any:
    from sklearn.linear_model import RidgeCV

    return RidgeCV(alphas=np.logspace(-2, 4, 13)).fit(scores[use], truth[use]).predict(scores)


def _fit_isotonic(mean: Any, use: Any, truth: Any) -> Any:
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(out_of_bounds="clip").fit(mean[use], truth[use]).predict(mean)


def _error(crowd: Scores, values: Any, truth: Any) -> float:
    """Return the root mean squared error of numbers, or the mean absolute error of ratings."""
    error = crowd.to_label(values) - truth
    return float(np.sqrt((error**2).mean()) if crowd.levels is None else np.abs(error).mean())


def main() -> None:
    """Measure all crowds, print a summary, and write the table."""
    from public_data import use_data_beside_the_clone

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    use_data_beside_the_clone()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for crowd in read_scores():
        rows += measure_gold(crowd, options.draws)
        print(crowd.name, flush=True)
    table = pd.DataFrame(rows)
    if options.output is not None:
        table.to_csv(options.output, index=False)
    methods = ["mean", "gold", "ridge", "isotonic"]
    ratios = table[methods].div(table["without gold"], axis=0).assign(labels=table["labels"], family=table["family"])
    print("Error relative to the error without gold labels, mean of families")
    print(ratios.groupby(["labels", "family"]).mean().groupby("labels").mean().round(3))
    print("Worst crowd")
    print(ratios.groupby("labels")[methods].max().round(3))


if __name__ == "__main__":
    main()
