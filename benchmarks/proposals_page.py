"""Make the page on proposals from the figures beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

__all__ = ["FIGURES", "OUTCOMES", "PAGE", "write_figures", "write_page"]

OUTCOMES = ("at once", "first proposal", "another proposal", "no right proposal", "wrong in silence")
PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "PROPOSALS.md"
FIGURES = PAGE.with_name("proposals.csv")
_HALVES = {
    "reported": "Crowds that had no say",
    "chosen": "Crowds that scores were chosen on",
    "tables": "Tables of tools, which had a say too",
}
_OPENING = """# Is what it proposes right?

If a file does not say which columns are worker, task and label, the program asks, and
[proposes commands](../guide/FILES.md#column-detection). To measure how good they are, crowds whose answers are
known are written as files that do not say it: with other names or none, in another order, among ids, times, durations,
texts and remarks, as matrices, in several files, sheets and records. Each file is read as `discover` reads it, and what
it proposes is followed. A reading is right if it has every answer of the crowd and no other: where a few texts stand
among numbers, as in GSM8K, the first proposal leaves them out, and only the next one is right.

- *At once*: it was read right without a question.
- *First proposal* and *another proposal*: it asked, and that proposal is right.
- *No right proposal*: it asked, and nothing that it proposed is right.
- *Wrong in silence*: it was read without a question, and is not right.

Scores were chosen on 11 crowds and on tables of tools. The figures that count are those of 14 crowds of other families:
predictions, truthfulness of statements, dots, votes on films, translations, dogs, photos, products, models on GSM8K and
MMLU, FaithBench, Tiny ImageNet and judges of TriviaQA. Each gives up to 2,000 answers. `python
benchmarks/proposals.py --write` measures all of it and makes this page. Measured with allalike
{versions}.
"""


def write_figures(counts: Mapping[str, Mapping[str, Counter[str]]], version: str) -> None:
    """Write the outcomes of each half and each kind of file, in place of those of the same halves."""
    rows = [
        {"half": half, "file": file, "version": version, **{outcome: found[outcome] for outcome in OUTCOMES}}
        for half, files in counts.items()
        for file, found in files.items()
    ]
    known = pd.read_csv(FIGURES) if FIGURES.is_file() else pd.DataFrame(columns=["half", "file", "version", *OUTCOMES])
    kept = known[~known["half"].isin([*counts])]
    pd.concat([kept, pd.DataFrame(rows)]).to_csv(FIGURES, index=False)


def write_page() -> str:
    """Return the page."""
    figures = pd.read_csv(FIGURES)
    halves = {half: figures[figures["half"] == half] for half in _HALVES}
    parts = [f"## {_HALVES[half]}\n\n{_tabulate(found)}\n" for half, found in halves.items() if len(found)]
    versions = "; ".join(figures["version"].unique())
    return "\n".join([_OPENING.format(versions=versions), *parts])


def _tabulate(figures: pd.DataFrame) -> str:
    """Write outcomes as a table of Markdown, with their sum and their shares."""
    whole = figures[[*OUTCOMES]].sum()
    lines = [f"| file | {' | '.join(OUTCOMES)} |", "| --- |" + " ---: |" * len(OUTCOMES)]
    lines += [f"| {row.file} | " + " | ".join(map(str, row[4:])) + " |" for row in figures.itertuples()]
    lines.append("| all | " + " | ".join(str(whole[outcome]) for outcome in OUTCOMES) + " |")
    shares = " | ".join(f"{100 * whole[outcome] / whole.sum():.1f}" for outcome in OUTCOMES)
    return "\n".join([*lines, f"| in % | {shares} |"])
