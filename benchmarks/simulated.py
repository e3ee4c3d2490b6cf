"""Measure methods on simulated crowds, and write the tables of `docs/guide/CHOOSING.md`.

    python benchmarks/simulated.py             # measure, write docs/evidence/simulated.csv and the tables (two minutes)
    python benchmarks/simulated.py --tables    # only write the tables

All methods run on the same crowds, simulated with fixed seeds.
"""

from __future__ import annotations

import argparse
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import allalike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCS = Path(__file__).parents[1] / "docs"
PAGE, FIGURES = DOCS / "guide" / "CHOOSING.md", DOCS / "evidence" / "simulated.csv"
METHODS = {"UA": "majority vote", "iP-TD": "iP-TD", "DS": "DS", "MACE": "MACE", "auto": "`auto`"}
CROWDS = 25
_TABLE = re.compile(r"(<!-- figures: (.+?) -->\n\n).*?(?=\n\n|\n\Z)", flags=re.DOTALL)

Ints = npt.NDArray[np.int64]
Crowd = tuple[Ints, Ints]


def answer(rng: np.random.Generator, truth: Ints, wrong: Any, k: int) -> Ints:
    """Return answers (workers x tasks) with these error probabilities; a wrong answer is any other class."""
    error = np.broadcast_to(np.asarray(wrong, float), (len(wrong), len(truth)))
    others = (truth + rng.integers(1, k, error.shape)) % k
    return np.where(rng.random(error.shape) < error, others, truth)


def equal(rng: np.random.Generator) -> Crowd:
    """Ten workers who are right in 70 %, four classes."""
    truth = rng.integers(4, size=200)
    return truth, answer(rng, truth, np.full((10, 1), 0.3), 4)


def unequal(rng: np.random.Generator) -> Crowd:
    """Ten workers who err in 10 to 70 %, four classes."""
    truth = rng.integers(4, size=200)
    return truth, answer(rng, truth, rng.uniform(0.1, 0.7, (10, 1)), 4)


def experts(rng: np.random.Generator) -> Crowd:
    """Three workers who are right in 95 % and nine who are right in 35 %, four classes."""
    truth = rng.integers(4, size=200)
    return truth, answer(rng, truth, np.repeat([0.05, 0.65], [3, 9])[:, None], 4)


def confused(rng: np.random.Generator) -> Crowd:
    """Ten workers who each name one class as another, and are right in 80 % of the other tasks."""
    truth = rng.integers(4, size=200)
    labels = answer(rng, truth, np.full((10, 1), 0.2), 4)
    for row in labels:
        one, other = rng.choice(4, 2, replace=False)
        row[truth == one] = other
    return truth, labels


def hard(rng: np.random.Generator) -> Crowd:
    """Ten workers who are right in 60 to 95 %, and tasks of which some are harder for all, four classes."""
    truth, skill = rng.integers(4, size=200), rng.uniform(0.6, 0.95, (10, 1))
    odds = np.log(skill / (1 - skill)) + rng.normal(0, 1.5, 200)
    return truth, answer(rng, truth, 0.75 / (1 + np.exp(odds)), 4)


def copied(rng: np.random.Generator) -> Crowd:
    """Ten workers who are right in 70 %, of whom three copy a fourth, four classes."""
    truth, labels = equal(rng)
    labels[7:] = labels[6]
    return truth, labels


def constant(rng: np.random.Generator) -> Crowd:
    """Six workers who are right in 85 % and four who always give the frequent class, of 90 %."""
    truth = (rng.random(500) < 0.1).astype(np.int64)
    return truth, np.concatenate([answer(rng, truth, np.full((6, 1), 0.15), 2), np.zeros((4, 500), np.int64)])


def fooled(rng: np.random.Generator) -> Crowd:
    """Three workers who are right in 85 %, and seven whom a third of the tasks fools, two classes."""
    truth = rng.integers(2, size=200)
    labels, decoys = answer(rng, truth, np.full((10, 1), 0.15), 2), rng.random(200) < 1 / 3
    labels[3:, decoys] = answer(rng, truth, np.full((7, 1), 0.8), 2)[:, decoys]
    return truth, labels


def colluding(rng: np.random.Generator) -> Crowd:
    """Six workers who are right in 80 %, and three who agree on the same wrong class of four."""
    truth = rng.integers(4, size=100)
    return truth, np.concatenate([answer(rng, truth, np.full((6, 1), 0.2), 4), np.tile((truth + 1) % 4, (3, 1))])


KINDS: dict[str, Callable[[np.random.Generator], Crowd]] = {
    "equally good": equal,
    "unequal": unequal,
    "three experts among nine others": experts,
    "each confuses two classes": confused,
    "easy and hard tasks": hard,
    "three copy a fourth": copied,
    "four always give the frequent class": constant,
    "three of nine collude": colluding,
    "a third of the tasks fools most workers": fooled,
}


def some_answers(rng: np.random.Generator, answers: int) -> Crowd:
    """Return this number of answers to each of 200 tasks by thirty workers who err in 10 to 70 %, four classes."""
    truth = rng.integers(4, size=200)
    labels = answer(rng, truth, rng.uniform(0.1, 0.7, (30, 1)), 4)
    return truth, np.where(rng.random(labels.shape).argsort(axis=0) < answers, labels, -1)


def some_guess(rng: np.random.Generator, guessers: int) -> Crowd:
    """Return 100 tasks of four classes by ten workers, who guess or are right in 80 %."""
    truth = rng.integers(4, size=100)
    return truth, answer(rng, truth, np.repeat([0.2, 0.75], [10 - guessers, guessers])[:, None], 4)


def list_crowds() -> Iterator[tuple[str, str, Crowd]]:
    """Yield the table, its row and the crowd."""
    for seed in range(CROWDS):
        for number, (name, draw) in enumerate(KINDS.items()):
            yield "kinds", name, draw(np.random.default_rng([4, number, seed]))
        for answers in (1, 2, 3, 5, 7, 10, 15):
            yield "answers", str(answers), some_answers(np.random.default_rng([1, 4, answers, seed]), answers)
        for guessers in range(0, 10, 2):
            yield "guessers", str(guessers), some_guess(np.random.default_rng([3, guessers, seed]), guessers)


def measure() -> pd.DataFrame:
    """Return the mean share of wrong labels, with its standard error, per table, row and method."""
    errors = []
    for table, row, (truth, labels) in list_crowds():
        rows = [(worker, task, int(label)) for (worker, task), label in np.ndenumerate(labels) if label >= 0]
        answers = allalike.read(rows, domain="categorical")
        for method in METHODS:
            found = allalike.discover(answers, method=method).truth
            error = float(np.mean(found["label"].to_numpy() != truth[found["task"].to_numpy()]))
            errors.append((table, row, method, error))
    frame = pd.DataFrame(errors, columns=["table", "row", "method", "error"])
    groups = frame.groupby(["table", "row", "method"], sort=False)["error"]
    return pd.DataFrame({"error": groups.mean().round(4), "standard_error": groups.sem().round(4)}).reset_index()


def write_tables(figures: pd.DataFrame) -> None:
    """Write the tables of the page in percent, with the smallest error of each row in bold."""

    def tabulate(match: re.Match[str]) -> str:
        mine = figures[figures["table"] == match[2]]
        lines = [f"| | {' | '.join(METHODS.values())} |", "| --- |" + " --: |" * len(METHODS)]
        for row, errors in mine.groupby("row", sort=False):
            shown = [f"{100 * error:.1f}" for error in errors.set_index("method")["error"][list(METHODS)]]
            least = min(shown, key=float)
            lines.append(f"| {row} | {' | '.join(f'**{each}**' if each == least else each for each in shown)} |")
        return match[1] + "\n".join(lines)

    PAGE.write_text(_TABLE.sub(tabulate, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> None:
    """Measure, and write figures and tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", action="store_true", help="only write the tables")
    if not parser.parse_args().tables:
        warnings.simplefilter("ignore")  # small crowds
        measure().to_csv(FIGURES, index=False, lineterminator="\n")
    write_tables(pd.read_csv(FIGURES, dtype={"row": str}))


if __name__ == "__main__":
    main()
