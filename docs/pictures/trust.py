"""The pictures of the page on confidence, of simulated crowds: twenty per point, from fixed seeds.

`make pictures` draws them.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import allalike

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["PICTURES", "draw"]

FOLDER = Path(__file__).parent
_CROWDS = 20
_BLUE, _BROWN, _GREY = "#1f6feb", "#bc5a08", "#8c959f"

Lines = dict[str, "list[float]"]


class Picture(NamedTuple):
    """A function of lines, their points, and the labels of both axes."""

    lines: Callable[[Sequence[int]], Lines]
    points: Sequence[int]
    below: str
    beside: str


def answer(rng: np.random.Generator, truth: Any, skill: float, n: int = 1, k: int = 4) -> Any:
    """Return answers of workers who are right with the same probability."""
    shape = (n, len(truth))
    return np.where(rng.random(shape) < skill, truth, (truth + rng.integers(1, k, shape)) % k)


def rows_of(said: Any) -> list[tuple[int, int, int]]:
    """Return a table of answers as rows."""
    return [(worker, task, int(label)) for (worker, task), label in np.ndenumerate(said)]


def labels(said: Any, **options: Any) -> Any:
    """Estimate the labels."""
    return allalike.discover(rows_of(said), domain="categorical", **options).truth["label"].to_numpy()


def over_crowds(points: Sequence[int], *, measure: Callable[[np.random.Generator, int], dict[str, float]]) -> Lines:
    """Return the mean over crowds at each point."""
    lines: Lines = {}
    for point in points:
        found = [measure(np.random.default_rng(seed), point) for seed in range(_CROWDS)]
        for name in found[0]:
            lines.setdefault(name, []).append(100 * float(np.mean([each[name] for each in found])))
    return lines


def with_copiers(rng: np.random.Generator, copiers: int) -> dict[str, float]:
    """Draw seven honest workers, a bad one, and some who copy her."""
    truth = rng.integers(4, size=100)
    leader, own = answer(rng, truth, 0.35), answer(rng, truth, 0.25, copiers)
    copies = np.where(rng.random(own.shape) < 0.95, leader, own)
    said = np.concatenate([answer(rng, truth, 0.7, 7), leader, copies])
    found = {
        "auto": labels(said),
        "auto --no-screening": labels(said, screening=False),
        "majority vote": labels(said, method="UA"),
    }
    return {name: float(np.mean(each != truth)) for name, each in found.items()}


def with_constants(rng: np.random.Generator, constants: int) -> dict[str, float]:
    """Draw six good workers and some who always say the frequent class; return what part of the rare one is found."""
    truth = (rng.random(500) < 0.1).astype(int)
    said = np.concatenate([answer(rng, truth, 0.85, 6, k=2), np.zeros((constants, 500), int)])
    found = {
        "auto": labels(said),
        "auto --no-screening": labels(said, screening=False),
        "majority vote": labels(said, method="UA"),
    }
    return {name: float(np.mean(each[truth == 1] == 1)) for name, each in found.items()}


def with_gold(rng: np.random.Generator, known: int) -> dict[str, float]:
    """Draw a crowd most of which is fooled on a third of the tasks, of which some truths are known."""
    truth = rng.integers(2, size=150)
    said, fooled, hard = answer(rng, truth, 0.8, 12, k=2), answer(rng, truth, 0.2, 9, k=2), rng.random(150) < 1 / 3
    said[3:, hard] = fooled[:, hard]
    gold = {task: int(truth[task]) for task in range(known)} or None
    found = {"auto": labels(said, gold=gold), "majority vote": labels(said, method="UA")}
    return {name: float(np.mean((each != truth)[75:])) for name, each in found.items()}


def with_history(rng: np.random.Generator, earlier: int) -> dict[str, float]:
    """Return the errors of a batch of ten tasks after an earlier one of the same workers."""
    skills = (0.95, 0.9, 0.5, 0.45, 0.4)

    def batch(tasks: int) -> tuple[Any, Any]:
        truth = rng.integers(4, size=tasks)
        return truth, np.concatenate([answer(rng, truth, skill) for skill in skills])

    truth, said = batch(10)
    past = allalike.discover(rows_of(batch(earlier)[1]), domain="categorical") if earlier else None
    found = {"auto": labels(said, history=past), "majority vote": labels(said, method="UA")}
    return {name: float(np.mean(each != truth)) for name, each in found.items()}


PICTURES = {
    "copies": Picture(
        partial(over_crowds, measure=with_copiers),
        range(7),
        "copiers of a bad worker, with seven honest workers",
        "wrong labels, %",
    ),
    "signal": Picture(
        partial(over_crowds, measure=with_constants),
        range(7),
        "workers who always give the frequent class, with six good workers",
        "rare class found, %",
    ),
    "known": Picture(
        partial(over_crowds, measure=with_gold),
        (0, 10, 20, 30, 40, 50, 60, 75),
        "gold labels, of 150 tasks",
        "wrong labels of the other tasks, %",
    ),
    "history": Picture(
        partial(over_crowds, measure=with_history),
        (0, 10, 20, 50, 100, 300),
        "earlier answers per worker (five workers)",
        "wrong labels of ten tasks, %",
    ),
}


def draw(name: str) -> Path:
    """Draw a picture."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    picture = PICTURES[name]
    lines = picture.lines(picture.points)
    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    for (label, values), colour in zip(lines.items(), (_BLUE, _BROWN, _GREY), strict=False):
        axes.plot(picture.points, values, marker="o", markersize=4, color=colour, label=label)
    axes.set(xlabel=picture.below, ylabel=picture.beside, ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    path = FOLDER / f"{name}.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return path


if __name__ == "__main__":
    for each in sys.argv[1:] or PICTURES:
        draw(each)
