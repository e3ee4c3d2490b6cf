"""Try each variant of the default on all crowds of a few classes, and write down what it is worth.

python benchmarks/unseen_trials.py                        # half an hour: docs/evidence/unseen_choices.csv, UNSEEN.md
"""

from __future__ import annotations

import csv
import warnings
from statistics import fmean
from typing import TYPE_CHECKING

from allalike import Auto
from allalike.methods.auto.classes.weighing import MAX_CLASSES
from public_data import use_data_beside_the_clone
from unseen import play
from unseen_choices import CHOICES, VARIANTS, Trial, changed
from unseen_crowds import find_crowds
from unseen_figures import read_figures
from unseen_page import FIGURES, PAGE, write_page
from unseen_scores import share_ties

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__: list[str] = []


def _write(trials: Sequence[Trial]) -> None:
    with CHOICES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Trial._fields)
        writer.writerows((*trial[:3], f"{trial.right:.6f}", f"{trial.vote:.6f}") for trial in trials)


def main() -> None:
    """Try all variants, and write the page."""
    warnings.simplefilter("ignore")
    use_data_beside_the_clone()
    crowds = [(crowd, crowd.read()) for crowd in find_crowds(("panels", "weak", "people", "league"))]
    trials = []
    for variant, values in VARIANTS.items():
        with changed(values):
            for crowd, answers in crowds:
                if answers.encoding.n_labels <= MAX_CLASSES:  # of more, nothing of this is asked
                    right = play(Auto(), answers)["right"]
                    trials.append(Trial(variant, crowd.name, crowd.family, right, share_ties(answers)))
        print(
            variant, f"{100 * fmean(one.right - one.vote for one in trials if one.variant == variant):+.2f}", flush=True
        )
    _write(trials)
    PAGE.write_text(write_page(read_figures(FIGURES)), encoding="utf-8")


if __name__ == "__main__":
    main()
