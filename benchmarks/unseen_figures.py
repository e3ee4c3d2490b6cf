"""What was measured on crowds whose truth is known, and what follows from it."""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

from unseen_scores import compare_pairs, count_voices

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["CLEAR", "ENOUGH", "FAR", "VOTE", "Figure", "Figures", "read_figures", "write_figures"]

VOTE = "UA"
CLEAR = 0.01  # a p below which a method is clearly better or worse than the vote
FAR = 0.015  # by which a method is far below the vote
ENOUGH = 20  # answers to tasks whose truth is known, by which the limits of a worker are judged


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Hold what a method did on a crowd; or why it could not.

    Parameters
    ----------
    crowd, family, tasks, workers, answers, classes, gold
        The crowd: its name and family, how many there are of each, and of how many tasks the truth is known.
    correlation
        That of the errors of two answers to a task, where the truth is known.
    method, version
        Who was measured, and with which version of the program.
    right
        The share of known truths that it finds; of the vote, those that are tied share a task.
    better, worse
        On how many tasks only the method is right, and only the vote.
    calibration
        The expected calibration error of its confidences.
    judged, within, allowed, above
        How many workers have limits and answers enough to judge them by, of how many the share of wrong answers is
        within the limits, of how many it may be, and who is worse than the upper limit for sure.
    seconds, failure
        CPU seconds, and why there is no figure.
    """

    crowd: str
    family: str
    tasks: int
    workers: int
    answers: int
    classes: int
    gold: int
    correlation: float | None
    method: str
    version: str
    right: float | None = None
    better: int = 0
    worse: int = 0
    calibration: float | None = None
    judged: int = 0
    within: int = 0
    allowed: int = 0
    above: int = 0
    seconds: float = 0.0
    failure: str = ""

    @property
    def clear(self) -> int:
        """1 if the method is clearly better than the vote, -1 if clearly worse, else 0."""
        if self.right is None or compare_pairs(self.better, self.worse) >= CLEAR:
            return 0
        return 1 if self.better > self.worse else -1

    @property
    def voices(self) -> float | None:
        """How many workers with independent errors this crowd counts like."""
        return None if self.correlation is None else count_voices(self.workers, self.correlation)


@dataclass(frozen=True)
class Figures:
    """All figures, one for each crowd and method."""

    every: Sequence[Figure]

    @cached_property
    def by_name(self) -> dict[tuple[str, str], Figure]:
        """The figures by crowd and method."""
        return {(figure.crowd, figure.method): figure for figure in self.every}

    @cached_property
    def methods(self) -> list[str]:
        """Who was measured."""
        return list(dict.fromkeys(figure.method for figure in self.every))

    def families(self, *names: str) -> list[str]:
        """Return those of these families that have figures."""
        return [name for name in names if self.crowds(name)]

    def crowds(self, *families: str) -> list[Figure]:
        """Return one figure of each crowd of these families, which tells what the crowd is."""
        found = {figure.crowd: figure for figure in reversed(self.every) if figure.family in families}
        return [found[name] for name in sorted(found, key=lambda name: (families.index(found[name].family), name))]

    def of(self, method: str, crowds: Iterable[Figure]) -> list[Figure]:
        """Return the figures of a method on these crowds, where it has any."""
        found = [self.by_name.get((crowd.crowd, method)) for crowd in crowds]
        return [figure for figure in found if figure is not None and figure.right is not None]

    def right(self, method: str, crowds: Sequence[Figure]) -> float | None:
        """Return the mean share of truths found, over the crowds on which it has a figure."""
        return _mean([figure.right for figure in self.of(method, crowds) if figure.right is not None])

    def by_family(self, method: str, *families: str) -> float | None:
        """Return the mean over families of the means over their crowds; None if one has none."""
        each = [self.right(method, self.crowds(family)) for family in self.families(*families)]
        return None if None in each else _mean([share for share in each if share is not None])

    def gain(self, method: str, crowds: Sequence[Figure]) -> float | None:
        """Return by how much it finds more than the vote, on average over the same crowds."""
        gaps = [self.gap(figure) for figure in self.of(method, crowds)]
        return _mean([gap for gap in gaps if gap is not None])

    def gap(self, figure: Figure) -> float | None:
        """Return by how much a method finds more than the vote on a crowd."""
        vote = self.by_name.get((figure.crowd, VOTE))
        return None if vote is None or vote.right is None or figure.right is None else figure.right - vote.right

    def clearly(self, method: str, crowds: Sequence[Figure], sign: int) -> list[Figure]:
        """Return where a method is clearly better (1) or worse (-1) than the vote, the largest difference first."""
        found = [figure for figure in self.of(method, crowds) if figure.clear == sign]
        return sorted(found, key=lambda figure: sign * (figure.worse - figure.better) / figure.gold)

    def far_below(self, method: str, crowds: Sequence[Figure]) -> list[Figure]:
        """Return where a method is below the vote by more than 1.5 points, the largest difference first."""
        gaps = {figure: self.gap(figure) for figure in self.of(method, crowds)}
        found = [figure for figure, gap in gaps.items() if gap is not None and gap < -FAR]
        return sorted(found, key=lambda figure: gaps[figure] or 0.0)

    def calibration(self, method: str, crowds: Sequence[Figure]) -> float | None:
        """Return the mean expected calibration error."""
        return _mean([figure.calibration for figure in self.of(method, crowds) if figure.calibration is not None])

    def merged(self, newer: Sequence[Figure]) -> Figures:
        """Return these figures with newer ones in their places, and what is new behind its crowd's others."""
        every = {**self.by_name, **{(figure.crowd, figure.method): figure for figure in newer}}
        crowds = list(dict.fromkeys(figure.crowd for figure in every.values()))
        return Figures(sorted(every.values(), key=lambda figure: crowds.index(figure.crowd)))


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def read_figures(path: Path) -> Figures:
    """Read figures; none if there is no such file."""
    if not path.exists():
        return Figures([])
    with path.open(encoding="utf-8", newline="") as file:
        return Figures([_read(row) for row in csv.DictReader(file)])


def write_figures(path: Path, figures: Figures) -> None:
    """Write figures, whole or not at all."""
    beside = path.with_name(f".{path.name}")
    with beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Figure)], lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _written(value) for name, value in asdict(each).items()} for each in figures.every)
    beside.replace(path)


def _written(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _read(row: dict[str, str]) -> Figure:
    kinds: dict[str, Any] = {"int": int, "float": float, "str": str, "float | None": _number}
    return Figure(**{field.name: kinds[str(field.type)](row[field.name]) for field in fields(Figure)})


def _number(text: str) -> float | None:
    return float(text) if text else None
