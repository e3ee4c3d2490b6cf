"""What the default would be worth on a family of crowds if only the other families had chosen its constants.

Each variant changes one constant or leaves out one part of the default, and is tried on all crowds of a few classes.
For each family, the variant that is best on the others, on average over these families, is what somebody who had not
seen this family would have taken; what it is worth on this family is the figure that was **left out**.
"""

from __future__ import annotations

import csv
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from allalike.methods.auto.classes import ladder
from allalike.methods.auto.copies import copies
from league_page import tabulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

__all__ = [
    "CHOICES",
    "VARIANTS",
    "Choice",
    "Trial",
    "changed",
    "choose_by_others",
    "read_trials",
    "write_choices",
    "write_parts",
]

CHOICES = Path(__file__).parents[1] / "docs" / "evidence" / "unseen_choices.csv"
_CORES = ("core 0.5", "core 0.25", "core 0.125")
VARIANTS: dict[str, Mapping[tuple[ModuleType, str], Any]] = {
    "as it is": {},
    "readings also below two answers per task": {(ladder, "_MIN_ANSWERS"): 0.0},
    "readings also where most say one label only": {(ladder, "_MAX_ONE_LABEL"): 2.0},
    "the consensus as the only start": {(ladder, "STARTS"): ("consensus",)},
    "three cores": {(ladder, "STARTS"): ("consensus", *_CORES)},
    "identical from 95 %": {(copies, "_IDENTICAL"): 0.95},
    "identical from 99 %": {(copies, "_IDENTICAL"): 0.99},
    "clearly from 1.96 standard errors": {(ladder, "CLEARLY"): 1.96},
    "clearly from 3.29 standard errors": {(ladder, "CLEARLY"): 3.29},
    "two halvings": {(ladder, "_HALVINGS"): 2},
    "departures together from 70 %": {(copies, "_TOGETHER"): 0.7},
    "no copies": {(copies, "_FEWEST"): float("inf")},
    "nothing is refuted by answers left out and halves": {(ladder, "CLEARLY"): 1e9},
}


class Trial(NamedTuple):
    """What a variant found of the truths of a crowd, and what the vote did."""

    variant: str
    crowd: str
    family: str
    right: float
    vote: float


@dataclass(frozen=True)
class Choice:
    """The variant that the other families choose, and what it is worth on one.

    Parameters
    ----------
    family, variant
        The family that was left out, and the variant.
    left_out, chosen_on, vote
        Percent right on that family: of this variant, of the default as it is, and of the vote.
    """

    family: str
    variant: str
    left_out: float
    chosen_on: float
    vote: float


@contextmanager
def changed(values: Mapping[tuple[ModuleType, str], Any]) -> Iterator[None]:
    """Let constants have other values for a while."""
    before = {place: getattr(*place) for place in values}
    try:
        for (module, name), value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)


def choose_by_others(trials: Sequence[Trial]) -> list[Choice]:
    """Find, for each family, what the others would have chosen; the first variant is the default as it is."""
    variants = list(dict.fromkeys(trial.variant for trial in trials))
    families = list(dict.fromkeys(trial.family for trial in trials))

    def mean(variant: str, family: str, *, vote: bool = False) -> float:
        found = [trial for trial in trials if (trial.variant, trial.family) == (variant, family)]
        return 100 * fmean(trial.vote if vote else trial.right for trial in found)

    choices = []
    for family in families:
        others = [each for each in families if each != family]
        best = max(variants, key=lambda name: fmean(mean(name, other) for other in others))
        figures = mean(best, family), mean(variants[0], family), mean(best, family, vote=True)
        choices.append(Choice(family, best, *figures))
    return choices


def write_choices(trials: Sequence[Trial]) -> str:
    """Write the table of what was left out."""
    choices = choose_by_others(trials)
    rows = [
        [one.family, one.variant, *(f"{each:.1f}" for each in (one.vote, one.left_out, one.chosen_on))]
        for one in choices
    ]
    means = [fmean(getattr(one, name) for one in choices) for name in ("vote", "left_out", "chosen_on")]
    rows.append(["mean of families", "", *(f"{each:.1f}" for each in means)])
    return tabulate(["family left out", "what the others choose", "vote", "right, left out", "right, chosen on"], rows)


def write_parts(trials: Sequence[Trial]) -> str:
    """Write what each variant is worth on each family, as points above the vote."""
    families = list(dict.fromkeys(trial.family for trial in trials))
    rows = []
    for variant in dict.fromkeys(trial.variant for trial in trials):
        own = [[one.right - one.vote for one in trials if (one.variant, one.family) == (variant, f)] for f in families]
        gains = [100 * fmean(each) for each in own]
        rows.append([variant, *(f"{gain:+.2f}" for gain in (*gains, fmean(gains)))])
    return tabulate(["variant", *families, "mean of families"], rows)


def read_trials(path: Path) -> list[Trial]:
    """Read what was tried."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Trial(v, c, f, float(right), float(vote)) for v, c, f, right, vote in list(csv.reader(file))[1:]]
