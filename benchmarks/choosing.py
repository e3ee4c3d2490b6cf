"""Measure what the page on choosing says: who errs how much with how many workers and tasks, and in which crowds.

Crowds are drawn from fixed seeds. Public data are thinned: of each task some answers are drawn, and all else is left
out. ``-o docs/evidence/choosing.csv`` keeps the figures, of which `docs/pictures/choices.py` draws the pictures and
`choosing_tables.py` makes the tables of ``docs/guide/CHOOSING.md``; it takes a quarter of an hour.

    python benchmarks/choosing.py [-o FILE] [--crowds 25] [--draws 10]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import allalike
from crowd_data import load
from gold_crowds import choose_data_sets
from public_data import use_data_beside_the_clone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CROWDS", "METHODS", "NUMBERS"]

METHODS = ("UA", "iP-TD", "DS", "auto")
NUMBERS = ("mean", "median", "CRH", "iP-TD", "auto", "auto, absolute")
_MISSING = -1
_MOST_ANSWERS = 25_000  # of public sets, for the time it takes
_FEW_TASKS = 50
_MODELS = ("llmbar_llm_judges",)  # whose workers are no people
_ANSWERS = (1, 3, 5, 7, 10)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Crowd = tuple[Ints, Ints]


def answer(rng: np.random.Generator, truth: Ints, wrong: Any, k: int) -> Ints:
    """Let workers answer who err with these probabilities, and then say any other class."""
    error = np.broadcast_to(np.asarray(wrong, float), (len(wrong), len(truth)))
    others = (truth + rng.integers(1, k, error.shape)) % k
    return np.where(rng.random(error.shape) < error, others, truth)


def thin(rng: np.random.Generator, said: Ints, answers: int) -> Ints:
    """Keep so many answers to each task."""
    return np.where(rng.random(said.shape).argsort(axis=0) < answers, said, _MISSING)


def equal(rng: np.random.Generator) -> Crowd:
    """Draw ten workers who are right in 70 %, four classes."""
    truth = rng.integers(4, size=200)
    return truth, answer(rng, truth, np.full((10, 1), 0.3), 4)


def unequal(rng: np.random.Generator) -> Crowd:
    """Draw ten workers who err in 10 to 70 %, four classes."""
    truth = rng.integers(4, size=200)
    return truth, answer(rng, truth, rng.uniform(0.1, 0.7, (10, 1)), 4)


def experts(rng: np.random.Generator) -> Crowd:
    """Draw three workers who are right in 95 % and nine who are right in 35 %, four classes."""
    truth = rng.integers(4, size=200)
    return truth, answer(rng, truth, np.repeat([0.05, 0.65], [3, 9])[:, None], 4)


def confused(rng: np.random.Generator) -> Crowd:
    """Draw ten workers each of whom says one class for another of her own, and is right in 80 % of the rest."""
    truth = rng.integers(4, size=200)
    said = answer(rng, truth, np.full((10, 1), 0.2), 4)
    for row in said:
        one, other = rng.choice(4, 2, replace=False)
        row[truth == one] = other
    return truth, said


def hard(rng: np.random.Generator) -> Crowd:
    """Draw ten workers who are right in 60 to 95 %, and tasks of which some are harder for all, four classes."""
    truth, skill = rng.integers(4, size=200), rng.uniform(0.6, 0.95, (10, 1))
    odds = np.log(skill / (1 - skill)) + rng.normal(0, 1.5, 200)
    return truth, answer(rng, truth, 0.75 / (1 + np.exp(odds)), 4)


def copied(rng: np.random.Generator) -> Crowd:
    """Draw ten workers who are right in 70 %, of whom three copy a fourth, four classes."""
    truth, said = equal(rng)
    said[7:] = said[6]
    return truth, said


def constant(rng: np.random.Generator) -> Crowd:
    """Draw six workers who are right in 85 % and four who always say the frequent class, of 90 %."""
    truth = (rng.random(500) < 0.1).astype(np.int64)
    return truth, np.concatenate([answer(rng, truth, np.full((6, 1), 0.15), 2), np.zeros((4, 500), np.int64)])


def decoys(rng: np.random.Generator) -> Crowd:
    """Draw three workers who are right in 85 %, and seven whom a third of the tasks fools, two classes."""
    truth = rng.integers(2, size=200)
    said, fooled = answer(rng, truth, np.full((10, 1), 0.15), 2), rng.random(200) < 1 / 3
    said[3:, fooled] = answer(rng, truth, np.full((7, 1), 0.8), 2)[:, fooled]
    return truth, said


def wrong(rng: np.random.Generator) -> Crowd:
    """Draw four workers who are right in 85 % and six who are right in 30 %, two classes."""
    truth = rng.integers(2, size=200)
    return truth, answer(rng, truth, np.repeat([0.15, 0.7], [4, 6])[:, None], 2)


def liars(rng: np.random.Generator) -> Crowd:
    """Draw six workers who are right in 80 %, and three who agree to name the same wrong class of four."""
    truth = rng.integers(4, size=100)
    return truth, np.concatenate([answer(rng, truth, np.full((6, 1), 0.2), 4), np.tile((truth + 1) % 4, (3, 1))])


CROWDS: dict[str, Callable[[np.random.Generator], Crowd]] = {
    "equally good": equal,
    "unequal": unequal,
    "three experts among nine others": experts,
    "each confuses two classes of her own": confused,
    "easy and hard tasks": hard,
    "three copy a fourth": copied,
    "four always say the frequent class": constant,
    "most are fooled on a third of the tasks": decoys,
    "most are wrong more often than right": wrong,
    "three of nine lie together": liars,
}


def rows_of(said: Ints) -> list[tuple[int, int, int]]:
    """Return a table of answers as rows."""
    return [(worker, task, int(label)) for (worker, task), label in np.ndenumerate(said) if label != _MISSING]


def err(truth: Ints, said: Ints) -> Iterator[tuple[str, float]]:
    """Return the share of wrong truths that each method finds."""
    answers = allalike.read(rows_of(said), domain="categorical")
    for method in METHODS:
        found = allalike.discover(answers, method=method).truth
        yield method, float(np.mean(found["label"].to_numpy() != truth[found["task"].to_numpy()]))


def vary_answers(crowds: int) -> Iterator[tuple[Any, ...]]:
    """Have each task of 200 answered by some of thirty workers, who err in 5 to 45 % (10 to 70 % of four classes)."""
    for k, low, high in ((2, 0.05, 0.45), (4, 0.1, 0.7)):
        for answers in (1, 2, 3, 5, 7, 10, 15):
            for seed in range(crowds):
                rng = np.random.default_rng([1, k, answers, seed])
                truth = rng.integers(k, size=200)
                said = answer(rng, truth, rng.uniform(low, high, (30, 1)), k)
                for method, error in err(truth, thin(rng, said, answers)):
                    yield f"answers, {k} classes", "", answers, method, error


def vary_tasks(crowds: int) -> Iterator[tuple[Any, ...]]:
    """Have all workers answer all tasks, who err in 5 to 45 %; two classes."""
    for workers in (3, 5, 10):
        for tasks in (10, 30, 100, 300, 1000):
            for seed in range(crowds):
                rng = np.random.default_rng([2, workers, tasks, seed])
                truth = rng.integers(2, size=tasks)
                for method, error in err(truth, answer(rng, truth, rng.uniform(0.05, 0.45, (workers, 1)), 2)):
                    yield "tasks", f"{workers} workers", tasks, method, error


def vary_few(crowds: int) -> Iterator[tuple[Any, ...]]:
    """Have seven workers who are right in 65 % answer few tasks of four classes, in six times as many crowds."""
    for tasks in (5, 8, 15, 30):
        for seed in range(6 * crowds):
            rng = np.random.default_rng([7, tasks, seed])
            truth = rng.integers(4, size=tasks)
            for method, error in err(truth, answer(rng, truth, np.full((7, 1), 0.35), 4)):
                yield "few", "", tasks, method, error


def vary_bad(crowds: int) -> Iterator[tuple[Any, ...]]:
    """Have ten workers answer 100 tasks of four classes; some guess, the others are right in 80 %."""
    for bad in range(10):
        for seed in range(crowds):
            rng = np.random.default_rng([3, bad, seed])
            truth = rng.integers(4, size=100)
            said = answer(rng, truth, np.repeat([0.2, 0.75], [10 - bad, bad])[:, None], 4)
            for method, error in err(truth, said):
                yield "bad", "", bad, method, error


def vary_kinds(crowds: int) -> Iterator[tuple[Any, ...]]:
    """Draw all kinds of crowd."""
    for number, (name, draw) in enumerate(CROWDS.items()):
        for seed in range(crowds):
            for method, error in err(*draw(np.random.default_rng([4, number, seed]))):
                yield "kinds", name, 0, method, error


def vary_numbers(crowds: int) -> Iterator[tuple[Any, ...]]:
    """Have workers estimate 100 numbers, with the same or different deviations, or with heavy tails."""
    deviations: dict[str, Callable[[np.random.Generator], Floats]] = {
        "equally good": lambda rng: rng.normal(0, 1, (8, 100)),
        "unequal": lambda rng: rng.normal(0, rng.uniform(0.2, 2, (8, 1)), (8, 100)),
        "unequal, three workers": lambda rng: rng.normal(0, rng.uniform(0.2, 2, (3, 1)), (3, 100)),
        "unequal, heavy tails": lambda rng: rng.standard_t(2, (8, 100)) * rng.uniform(0.2, 2, (8, 1)),
        "unequal, each too high or low": lambda rng: rng.normal(
            rng.normal(0, 1, (8, 1)), rng.uniform(0.2, 2, (8, 1)), (8, 100)
        ),
    }
    for number, (name, draw) in enumerate(deviations.items()):
        for seed in range(crowds):
            rng = np.random.default_rng([5, number, seed])
            truth = rng.normal(0, 3, 100)
            table = truth + draw(rng)
            rows = [(worker, task, float(number)) for (worker, task), number in np.ndenumerate(table)]
            for method in NUMBERS:
                found = estimate(rows, table, method)
                yield "numbers", name, 0, method, float(np.sqrt(np.mean((found - truth) ** 2)))


def estimate(rows: list[tuple[int, int, float]], table: Floats, method: str) -> Floats:
    """Return the numbers that a method finds, or the plain mean or median."""
    if method == "mean":
        return np.asarray(table.mean(axis=0))
    if method == "median":
        return np.asarray(np.median(table, axis=0))
    name, _, distance = method.partition(", ")
    domain = allalike.Real(distance=distance or "squared")
    return allalike.discover(rows, domain=domain, method=name).truth["label"].to_numpy(float)


def thin_public(draws: int) -> Iterator[tuple[Any, ...]]:
    """Thin public sets of classes that have ten answers a task and more, to so many answers a task; keep all as 0."""
    use_data_beside_the_clone()
    for name in choose_data_sets()[0]:
        data = load(name)
        answers = data.answers
        few = answers.n_answers < 10 * len(answers.tasks)
        if answers.domain.name != "categorical" or few or answers.n_answers > _MOST_ANSWERS:
            continue
        frame = pd.DataFrame(
            {
                "worker": answers.worker,
                "task": np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts)),
                "label": answers.encoding.decode(answers.label).tolist(),
            }
        )
        gold = {place: data.gold[task] for place, task in enumerate(answers.tasks.tolist()) if task in data.gold}
        size = "few tasks" if len(answers.tasks) < _FEW_TASKS else "many tasks"
        part = f"public, {'models' if name in _MODELS else size}"
        for number in (*_ANSWERS, 0):
            for draw in range(draws if number else 1):
                rng = np.random.default_rng([6, number, draw])
                place = frame.assign(order=rng.random(len(frame))).groupby("task")["order"].rank()
                rows = frame[place <= number] if number else frame
                for method in METHODS:
                    found = allalike.discover(rows, domain=answers.domain, method=method).truth.set_index("task")
                    known = [task for task in gold if task in found.index]
                    error = float(np.mean([found["label"][task] != gold[task] for task in known]))
                    yield part, name, number, method, error
        print(name, file=sys.stderr, flush=True)


def average(measured: list[tuple[Any, ...]]) -> pd.DataFrame:
    """Return mean errors, with their standard errors and how many crowds were drawn."""
    keys = ["part", "crowd", "at", "method"]
    errors = pd.DataFrame(measured, columns=[*keys, "error"]).groupby(keys, sort=False)["error"]
    figures = {"error": errors.mean().round(4), "sem": errors.sem().round(4), "crowds": errors.size()}
    return pd.DataFrame(figures).reset_index()


def main() -> None:
    """Measure all, and keep means and their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/evidence/choosing.csv"))
    parser.add_argument("--crowds", type=int, default=25, help="how many crowds are drawn of each kind")
    parser.add_argument("--draws", type=int, default=10, help="how often public data are thinned")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")  # of crowds that are too small: that is what is measured
    parts = (vary_answers, vary_tasks, vary_few, vary_bad, vary_kinds, vary_numbers)
    measured = [row for part in parts for row in part(chosen.crowds)] + list(thin_public(chosen.draws))
    average(measured).to_csv(chosen.output, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
