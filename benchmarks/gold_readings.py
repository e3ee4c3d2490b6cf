"""How often known truths are taken for others that are right, and how often others are found out that are not.

Of each crowd of classes whose truths are known, all of these, or some at random, are compared with the plain vote: as
they are, counted from 0 in place of 1, and with the classes permuted. And crowds are drawn of which most workers are
wrong nearly always, but not all.

    python benchmarks/gold_readings.py [families]
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

import allalike
from allalike.api.doubts.class_readings import KnownClasses, is_contradicted, list_class_readings
from allalike.api.doubts.gold_readings import find_misfit
from allalike.readers import open_gold
from unseen_crowds import FAMILIES, find_crowds

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from allalike.answers import Answers

    Codes = npt.NDArray[np.int64]

SIZES, DRAWS = (None, 50, 20, 10, 5), 100
GOOD = 0.8  # of the votes are right in crowds in which wrong truths must be found out


def find_votes(answers: Answers) -> tuple[Codes, Codes, int]:
    """Return the truths and the votes of tasks that are no draws, as numbers of classes, and how many there are."""
    found = allalike.discover(answers, method="UA").truth
    labels = answers.encoding.decode(np.arange(answers.encoding.n_labels)).tolist()
    place = {label: code for code, label in enumerate(labels)}
    known = np.full(len(found), -1)
    known[answers.gold_task] = answers.gold_label
    kept = (known >= 0) & ~found["tied"].to_numpy()
    vote = np.array([place[label] for label in found["label"]])
    return known[kept], vote[kept], len(place)


def write_otherwise(truth: Codes, n_labels: int, how: str, rng: np.random.Generator) -> tuple[list[int], Codes]:
    """Return the labels that truths are written as, where the answers are 1, 2, and so on, and what they say."""
    numbers = truth + 1
    if how == "from 0":
        numbers = truth
    elif how == "permuted":
        shift = int(rng.integers(1, n_labels)) if n_labels > 1 else 0
        order = rng.permutation(n_labels)
        numbers = order[(np.argsort(order)[truth] + shift) % n_labels] + 1
    values, truth = np.unique(numbers, return_inverse=True)
    return values.tolist(), truth


def is_stopped(truth: Codes, vote: Codes, n_labels: int, how: str, rng: np.random.Generator) -> bool:
    """Tell whether truths that are written so are refused."""
    values, place = write_otherwise(truth, n_labels, how, rng)
    given = np.array([value - 1 if 1 <= value <= n_labels else n_labels for value in values])
    known = KnownClasses(values, given, list(range(1, n_labels + 1)), place, vote)
    return bool(list_class_readings(known)) or is_contradicted(known)


def measure(truth: Codes, vote: Codes, n_labels: int, how: str) -> Iterator[float]:
    """Yield for each number of known truths how often they are refused."""
    rng = np.random.default_rng(0)
    for size in SIZES:
        draws = 1 if size is None else DRAWS
        picks = (rng.choice(len(truth), min(size or len(truth), len(truth)), replace=False) for _ in range(draws))
        yield float(np.mean([is_stopped(truth[pick], vote[pick], n_labels, how, rng) for pick in picks]))


def draw_misled(seed: int, known: int) -> bool:
    """Tell whether truths are refused where three of ten workers are right in 90 %, and the others in 10 %."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 100)
    right = rng.random((10, 100)) < np.where(np.arange(10) < 3, 0.9, 0.1)[:, None]
    said = np.where(right, truth, 1 - truth)
    rows = [(worker, task, int(label)) for worker, labels in enumerate(said) for task, label in enumerate(labels)]
    gold = open_gold({task: int(truth[task]) for task in range(known)})
    return (
        find_misfit(allalike.Memory().load(allalike.read(rows, domain="categorical").with_gold(gold)), gold) is not None
    )


def main(families: list[str]) -> None:
    """Print a line for each family and way to write truths."""
    for family in families or list(FAMILIES):
        crowds = [find_votes(crowd.read()) for crowd in find_crowds([family])]
        crowds = [crowd for crowd in crowds if len(crowd[0])]
        for how in ("as they are", "from 0", "permuted"):
            tried = [
                (truth, vote, k)
                for truth, vote, k in crowds
                if how == "as they are" or (np.mean(truth == vote) >= GOOD and k <= 50)
            ]
            shares = np.array([list(measure(*crowd, how)) for crowd in tried])
            told = ", ".join(
                f"{size or 'all'}: {100 * share:.2f} %" for size, share in zip(SIZES, shares.mean(axis=0), strict=True)
            )
            print(f"{family:8} {len(tried):3} crowds, truths {how}: refused of {told}", flush=True)
    for known in (100, 20, 10, 5):
        share = np.mean([draw_misled(seed, known) for seed in range(100)])
        print(f"drawn crowds that are misled, {known} truths: refused of {100 * share:.0f} %")


if __name__ == "__main__":
    main(sys.argv[1:])
