"""Measure what some known truths are worth to a panel of models, beside a vote, Dawid-Skene and single judges.

Panels whose truths are all known are told 0, 20, 50 or 200 of them, drawn at random, several times; what is counted is
how often each is right on the other tasks. *Best by these truths* is the judge with the most of them right, as a person
would choose her; *mean judge* and *best judge* are those of all truths. The panels are those of the folder of crowds
(see ``gold_crowds.py``), on which the default was not made.

    python benchmarks/jury_truths.py [-o docs/guide/JURY.md]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

import allalike
from allalike.errors import DataWarning
from gold_crowds import crowd_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PANELS = (
    *("feedback_fc", "triviaqa_judges", "reife_mtbench", "faithbench"),
    *("mmlu_biology", "mmlu_chemistry", "mmlu_economics", "mmlu_engineering", "mmlu_health"),
)
KNOWN = (0, 20, 50, 200)
DRAWS = 5
LEAST_LEFT = 100  # tasks on which it is counted who is right
BEGIN, END = "<!-- figures: benchmarks/jury_truths.py -->", "<!-- end of these figures -->"
Hits = npt.NDArray[np.float64]


class Judged(NamedTuple):
    """A panel as rows, with its truths, and how often each judge is right on each task (NaN where she is silent)."""

    name: str
    rows: list[tuple[int, int, str]]
    gold: dict[int, str]
    hits: Hits


def read(name: str) -> Judged:
    """Read a panel."""
    data = np.load(crowd_folder() / f"{name}.npz")
    worker, task, label, gold = (data[each] for each in ("W", "T", "L", "g"))
    hits = np.full((worker.max() + 1, len(gold)), np.nan)
    hits[worker, task] = label == gold[task]
    hits[:, gold < 0] = np.nan
    rows = [(int(w), int(t), f"c{c}") for w, t, c in zip(worker, task, label, strict=True)]
    return Judged(name, rows, {t: f"c{g}" for t, g in enumerate(gold.tolist()) if g >= 0}, hits)


def draw(panel: Judged, number: int) -> Iterator[dict[int, str]]:
    """Draw so many known truths, several times."""
    tasks = np.array(sorted(panel.gold))
    for seed in range(DRAWS if number else 1):
        known = np.random.default_rng([seed, number]).choice(tasks, number, replace=False).tolist()
        yield {task: panel.gold[task] for task in known}


def count_right(panel: Judged, known: dict[int, str], method: str) -> float:
    """Return how often a method is right on tasks whose truths it does not know."""
    truth = allalike.discover(panel.rows, domain="categorical", method=method, gold=known or None).truth
    said = dict(zip(truth["task"], truth["label"], strict=True))
    return float(np.mean([said.get(task) == label for task, label in panel.gold.items() if task not in known]))


def measure(panel: Judged) -> list[object]:
    """Return the cells of a panel."""
    each = np.nanmean(panel.hits, axis=1)
    cells: list[object] = [f"`{panel.name}`", len(each), len(panel.gold)]
    cells += [percent(count_right(panel, {}, method)) for method in ("UA", "DS")]
    for number in KNOWN:
        if len(panel.gold) - number < LEAST_LEFT:
            cells.append("-")
            continue
        found = [(count_right(panel, known, "auto"), choose_one(panel, known)) for known in draw(panel, number)]
        panel_right, best_right = np.mean(found, axis=0)
        cells.append(percent(panel_right) + (f" ({percent(best_right)})" if number else ""))
    return [*cells, percent(each.mean()), percent(each.max())]


def choose_one(panel: Judged, known: dict[int, str]) -> float:
    """Return how often the judge with the most known truths right is right on the other tasks; of equals their mean."""
    if not known:
        return np.nan
    told = list(known)
    right = np.nansum(panel.hits[:, told], axis=1)
    others = np.delete(panel.hits, told, axis=1)
    return float(np.nanmean(others[right == right.max()]))


def percent(share: float) -> str:
    """Write a share."""
    return f"{100 * share:.1f}"


def write(lines: Sequence[Sequence[object]]) -> str:
    """Write the table."""
    told = [f"panel, {number} known" + (" (best by these)" if number else "") for number in KNOWN]
    header = ["right in % of tasks", "judges", "tasks", "vote", "DS", *told, "mean judge", "best judge"]
    rule = ["---", *["--:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in [header, rule, *lines])


def main() -> None:
    """Measure, and print or write."""
    warnings.simplefilter("ignore", DataWarning)
    text = write([measure(read(name)) for name in PANELS])
    if "-o" not in sys.argv:
        print(text)
        return
    page = Path(sys.argv[sys.argv.index("-o") + 1])
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
