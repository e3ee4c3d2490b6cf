"""Write `docs/evidence/LEADERBOARD.md` from the table beside it.

python benchmarks/leaderboard_page.py
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

from gold_crowds import AGAIN, FAMILIES
from leaderboard import CLASSES, TABLE, read_table
from scores import compare_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PAGE = TABLE.with_name("LEADERBOARD.md")
VOTE, DEFAULT = "UA", "auto"
_CLEARLY = 0.01  # p of McNemar's test
_COMPLETE = 0.9  # share of crowds that a method must solve to get a row
_SAME = 1e-9
_TITLES = {
    "ordinal": "ratings",
    "real": "numbers",
    "probability": "forecasts",
    "ranking": "rankings",
    "text": "texts",
    "boxes": "boxes, spans, points",
    "spans": "boxes, spans, points",
    "points": "boxes, spans, points",
    "record": "records",
}

Row = dict[str, Any]


def write_page(rows: Sequence[Row]) -> str:
    """Return the page."""
    classes = [row for row in rows if row["labels"] == "categorical"]
    others = [row for row in rows if row["labels"] != "categorical"]
    crowds = {row["crowd"] for row in rows}
    few = {row["crowd"] for row in classes if int(row["classes"] or 0) <= 100}
    again = "\n".join(f"- `{name}`: {why}" for name, why in AGAIN.items())
    families = "\n".join(f"- *{name}*: {text}" for name, text in FAMILIES.items())
    return f"""# Leaderboard

This page compares the default method with other methods and packages on {len(crowds)} crowds with gold labels:
{len({row["crowd"] for row in classes})} with classes, {len({row["crowd"] for row in others})} with other labels. No
method sees gold. `leaderboard.csv` beside this page contains every figure; `python benchmarks/leaderboard.py` measures
what is missing there and writes this page.

**The default was chosen on these crowds**, so its figures here show how well it was fitted. Its design was selected
among about 200 variants. Selected on all but one family of 72 crowds and measured on the family left out, the
prototype was right in 79.4 % of the tasks (mean of families; majority vote 75.0 %). On 68 further crowds that were not
used for it, it was right in 75.1 % of the tasks (majority vote 73.2 %, MACE 74.8 %, DS 73.7 %). These left-out figures
are the evidence.

## Classes

Percentage of correct labels, as a mean over the crowds of a family. *Above* and *below* count the crowds on which a
method differs from the majority vote clearly (McNemar's exact test, two-sided, p < 0.01), out of
{len(few)} crowds with at most 100 classes. *ECE* is the mean expected calibration error of the confidence. In the
majority vote (UA), tied labels share a task.

{_tabulate_classes([row for row in classes if row["crowd"] in few])}

{families}

† marks means without some crowds, on which the method failed or exceeded 120 CPU seconds.

## Other label types

Number of data sets on which the default has a smaller, equal or larger error than the unweighted mean, median or medoid
(UA), and the geometric mean of the ratio of their errors; below 1, a method is better than UA.

{_tabulate_others(others)}

## Adding a crowd or a method

Put a CSV file with the columns worker, task, label and gold into the folder that `ALLALIKE_CROWDS` names, and run
`python benchmarks/leaderboard.py`. To measure a function from a data frame (worker, task, label) to a label per task,
run `python benchmarks/leaderboard.py --function mymodule:aggregate`.

## Excluded data sets

No answers are scored twice. Excluded are:

{again}
"""


def _tabulate_classes(rows: Sequence[Row]) -> str:
    crowds = {row["crowd"]: row["family"] for row in rows}
    families = [family for family in FAMILIES if family in crowds.values()]
    lines = []
    for method in dict.fromkeys([*CLASSES, *(row["method"] for row in rows)]):
        mine = {row["crowd"]: row for row in rows if row["method"] == method and row["error"]}
        if len(mine) < _COMPLETE * len(crowds):
            continue
        means = [fmean(_accuracies(mine, crowds, family)) for family in families]
        marks = ["" if _is_complete(mine, crowds, family) else "†" for family in families]
        above, below = (_count_clear(mine.values(), *pair) for pair in (("better", "worse"), ("worse", "better")))
        measured = [float(row["calibration"]) for row in mine.values() if row["calibration"]]
        lines.append(
            [
                method
                if method in CLASSES
                else f"{method} (crowd-kit)".replace(" (crowd-kit) (crowd-kit)", " (crowd-kit)"),
                f"{fmean(means):.1f}",
                f"{fmean(100 * (1 - float(row['error'])) for row in mine.values()):.1f}",
                *(f"{mean:.1f}{mark}" for mean, mark in zip(means, marks, strict=True)),
                *((str(above), str(below)) if method in CLASSES and method != VOTE else ("", "")),
                f"{fmean(measured):.3f}" if measured else "",
            ]
        )
    lines.sort(key=lambda line: -float(line[1]))
    return tabulate(["method", "mean of families", "mean of crowds", *families, "above", "below", "ECE"], lines)


def _accuracies(mine: dict[str, Row], crowds: dict[str, str], family: str) -> list[float]:
    return [100 * (1 - float(row["error"])) for crowd, row in mine.items() if crowds[crowd] == family] or [math.nan]


def _is_complete(mine: dict[str, Row], crowds: dict[str, str], family: str) -> bool:
    return all(crowd in mine for crowd, own in crowds.items() if own == family)


def _count_clear(rows: Iterable[Row], wins: str, losses: str) -> int:
    pairs = [(int(row[wins]), int(row[losses])) for row in rows if row[wins] and row[losses]]
    return sum(won > lost and compare_pairs(won, lost) < _CLEARLY for won, lost in pairs)


def _tabulate_others(rows: Sequence[Row]) -> str:
    errors = {(row["crowd"], row["method"]): float(row["error"]) for row in rows if row["error"]}
    titles = {row["crowd"]: _TITLES.get(row["labels"], "sets, masks and others") for row in rows}
    methods = list(dict.fromkeys(row["method"] for row in rows if row["package"] == "allalike"))
    shown = [name for name in ("auto", "P-TD", "P-TD-AK", "iP-TD", "D-TD", "TOP2", "MAS") if name in methods]
    lines = []
    for title in dict.fromkeys(titles.values()):
        crowds = [crowd for crowd, own in titles.items() if own == title and (crowd, VOTE) in errors]
        differences = [errors[crowd, DEFAULT] - errors[crowd, VOTE] for crowd in crowds if (crowd, DEFAULT) in errors]
        counts = (
            sum(each < -_SAME for each in differences),
            sum(abs(each) <= _SAME for each in differences),
            sum(each > _SAME for each in differences),
        )
        ratios = [_compare(errors, crowds, method) for method in shown]
        lines.append([title, str(len(crowds)), *map(str, counts), *ratios])
    return tabulate(["labels", "data sets", "smaller", "equal", "larger", *shown], lines)


def _compare(errors: dict[tuple[str, str], float], crowds: Sequence[str], method: str) -> str:
    """Return the geometric mean of the ratios of a method's errors to those of UA; empty if any is missing."""
    if any((crowd, method) not in errors for crowd in crowds):
        return ""
    ratios = [(errors[crowd, method] + _SAME) / (errors[crowd, VOTE] + _SAME) for crowd in crowds]
    return f"{math.exp(fmean(map(math.log, ratios))):.3f}"


def tabulate(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    marks = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, marks, *lines])


def main() -> None:
    """Write the page."""
    PAGE.write_text(write_page(list(read_table().values())), encoding="utf-8")


if __name__ == "__main__":
    main()
