"""How often known truths are taken for others that are right, and how often others are found out that are not.

Of each crowd of classes whose truths are known, all of these, or some at random, are compared with the plain vote: as
they are, counted from 0 in place of 1, and with the classes permuted. And crowds are drawn of which most workers are
wrong nearly always, but not all.

With ``left out`` each family in turn is tried with constants that a rule picks on the others, for the constants in use
were chosen with all of them in view. Votes are trusted to be right in 5 points less of the tasks than in any of these
crowds, rounded down to 5 points. And the nats that a reading needs are the least of 1, 2, 4 and 8 with which at most 1
of 1,000 draws of these crowds is refused.

    python benchmarks/gold_readings.py [families | left out]
"""

from __future__ import annotations

import sys
from math import floor
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np

import allalike
from allalike.api.doubts import class_readings
from allalike.api.doubts.class_readings import KnownClasses, is_contradicted, list_class_readings
from allalike.api.doubts.gold_readings import find_misfit
from allalike.readers import open_gold
from unseen_crowds import FAMILIES, find_crowds

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from allalike.answers import Answers

    Codes = npt.NDArray[np.int64]
    Crowd = tuple[Codes, Codes, int]  # truths and votes of tasks, and how many classes there are

SIZES, DRAWS = (None, 50, 20, 10, 5), 100
PICKING = 25  # draws, where constants are picked
GOOD = 0.8  # of the votes are right in crowds in which wrong truths must be found out


def find_votes(answers: Answers) -> Crowd:
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


def measure(truth: Codes, vote: Codes, n_labels: int, how: str, draws: int = DRAWS) -> Iterator[float]:
    """Yield for each number of known truths how often they are refused."""
    rng = np.random.default_rng(0)
    for size in SIZES:
        times = 1 if size is None else draws
        picks = (rng.choice(len(truth), min(size or len(truth), len(truth)), replace=False) for _ in range(times))
        yield float(np.mean([is_stopped(truth[pick], vote[pick], n_labels, how, rng) for pick in picks]))


def count_refused(crowds: list[Crowd], draws: int = DRAWS) -> tuple[int, int]:
    """Return how many draws of right truths are refused, and of how many."""
    refused = [round(draws * share) for crowd in crowds for share in list(measure(*crowd, "as they are", draws))[1:]]
    return sum(refused), draws * len(refused)


def pick_least_right(crowds: list[Crowd]) -> dict[bool, float]:
    """Pick how often votes are right at least: of two classes, and of more."""
    shares = [(k <= 2, float(np.mean(truth == vote))) for truth, vote, k in crowds]
    return {two: floor(20 * min(share for each, share in shares if each == two) - 1) / 20 for two in (True, False)}


def try_left_out(family: str, families: dict[str, list[Crowd]]) -> tuple[int, int]:
    """Print and return how many draws of a family are refused by what the others say."""
    others = [crowd for name, crowds in families.items() if name != family for crowd in crowds]
    with patch.object(class_readings, "_LEAST_RIGHT", least := pick_least_right(others)):
        for nats in (1.0, 2.0, 4.0, 8.0):
            with patch.object(class_readings, "_MIN_NATS", nats):
                refused, draws = count_refused(others, PICKING)
                if refused <= draws / 1000:
                    break
        with patch.object(class_readings, "_MIN_NATS", nats):
            refused, draws = count_refused(families[family])
    told = f"votes right in {least[True]:.2f} of two classes and {least[False]:.2f} of more, {nats:g} nats"
    print(f"{family:8} left out ({told}): {refused} of {draws:,} draws refused", flush=True)
    return refused, draws


def leave_out() -> None:
    """Print a line for each family that is left out, and the sums."""
    families = {name: read_crowds([name, *(["parts"] if name == "league" else [])]) for name in FAMILIES}
    del families["parts"]  # which are the same workers
    found = [try_left_out(family, families) for family in families]
    print(f"{sum(refused for refused, _ in found)} of {sum(draws for _, draws in found):,} draws refused")


def read_crowds(families: list[str]) -> list[Crowd]:
    """Return the truths, the votes and the number of classes of the crowds of some families."""
    crowds = [find_votes(crowd.read()) for crowd in find_crowds(families)]
    return [crowd for crowd in crowds if len(crowd[0])]


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
        crowds = read_crowds([family])
        for how in ("as they are", "from 0", "permuted"):
            tried = [
                (truth, vote, k)
                for truth, vote, k in crowds
                if how == "as they are" or (np.mean(truth == vote) >= GOOD and k <= 50)
            ]
            if not tried:  # whose data are not here
                continue
            shares = np.array([list(measure(*crowd, how)) for crowd in tried])
            told = ", ".join(
                f"{size or 'all'}: {100 * share:.2f} %" for size, share in zip(SIZES, shares.mean(axis=0), strict=True)
            )
            print(f"{family:8} {len(tried):3} crowds, truths {how}: refused of {told}", flush=True)
    for known in (100, 20, 10, 5):
        share = np.mean([draw_misled(seed, known) for seed in range(100)])
        print(f"drawn crowds that are misled, {known} truths: refused of {100 * share:.0f} %")


if __name__ == "__main__":
    if sys.argv[1:] == ["left", "out"]:
        leave_out()
    else:
        main(sys.argv[1:])
