"""The page that says how far the paper was reproduced, written from results alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from allalike.datasets import DATASETS, source_of
from crowd_data import load
from paper.cells import is_here
from paper.markup import markdown_rows
from paper.reported_tables import KINDS, SLIPS, TABLES, TOP_OF_THREE, solve_example

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from paper.cells import Cell, Line, Section
    from paper.figures import Figure

__all__ = ["CLOSE_POINTS", "Page", "count_close", "counted", "example_table"]

CLOSE_POINTS = (2, 3, 5)
_EXAMPLES = 3
_EXPLAINED_POINTS = 3  # above which a difference is explained
_GENERATED_PREFIX = "SYN"
_EXPECTED_METHODS = ("P-TD-D", "P-TD-AK", "iP-TD", "CRH", "CATD", "GTM", "DS", "EVD", "EXP")


@dataclass(frozen=True, kw_only=True)
class Page:
    """What the page tells.

    Parameters
    ----------
    example
        Whether the running example is on it.
    tables, figures
        The filled tables by name, and the figures.
    repetitions, fewer
        How often experiments were repeated, and methods that ran less often.
    as_labelled
        Whether slips of the paper were left as they are.

    >>> page = Page(example=True, tables={}, figures=[], repetitions=100, fewer={"MAS": 200}, as_labelled=False)
    >>> [line for line in page.write().splitlines() if line.startswith("#")]
    ['# Reproduction of the paper', '## How the paper is read', '## Table 1: the running example',
     '## Data']
    """

    example: bool
    tables: Mapping[str, Sequence[Section]]
    figures: Sequence[Figure]
    repetitions: int
    fewer: Mapping[str, int]
    as_labelled: bool

    def write(self) -> str:
        """Return the page in Markdown."""
        parts = [
            self._introduction(),
            *(["## How close", _summary(self.tables)] if self.tables else []),
            "## How the paper is read",
            self._interpretations(),
            *(["## Table 1: the running example", example_table()] if self.example else []),
            *(["## Figures", _FIGURES_NOTE, *map(_figure, self.figures)] if self.figures else []),
            *(["## Differences above 3 points, and why", _differences(self.tables)] if self.tables else []),
            "## Data",
            self._data(),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _introduction(self) -> str:
        from allalike import __version__

        less = "".join(f" ({method}: {most:,})" for method, most in self.fewer.items() if most < self.repetitions)
        raw = " --as-labelled" if self.as_labelled else ""
        return f"""# Reproduction of the paper

Meir et al., *Frustratingly Easy Truth Discovery* (AAAI 2023), compare truth discovery methods on simulated crowds and
on public data. This page compares the numbers of `allalike` {__version__} with the printed ones. It is written by

    python -m paper{raw} --repetitions {self.repetitions} -o reproduction

with the data sets below in the folder `ALLALIKE_DATA` (or fetched by `allalike datasets fetch`). It uses all cores, and
an interrupted run can be resumed with the same command.

In each of {self.repetitions:,} repetitions{less}, n workers and m tasks are sampled without replacement, every method
runs on the same sample, and errors are compared with those of the unweighted answer (UA). **RI** is the mean over the
repetitions of (error - error of UA) / (error + error of UA), without repetitions in which both are 0; **change** is
mean error / mean error of UA - 1. Both are in percent, and negative is better than UA. The standard error of a number
is 0.5 to 2 points with 1,000 repetitions, in the paper as well, so differences below 2 or 3 points are noise.
`results.csv` beside this page contains every cell of tables 2, 3, A, B and C with its
standard error; `python -m paper` also writes them as Markdown and LaTeX."""

    def _interpretations(self) -> str:
        if self.as_labelled:
            return "Every row is compared with what its label and caption say, although some do not fit (see below)."
        slips = "\n".join(f"- {slip.why}" for slip in SLIPS)
        return f"""Some rows and captions of the paper do not fit its numbers, which we conclude from how well our own
numbers fit. They are put right here; `--as-labelled` takes them as they are.

{slips}
- {TOP_OF_THREE}

The deviations of the workers of real SYN.N are folded at 0, which fits the printed numbers; truncated as the text has
it, they give the rows beside. TRI1, TRI2 and EMO are those parts of their data that fit the printed numbers: the
trials of one group of subjects each, and the first twenty headlines; the means of all trials of a subject, and all
headlines, give the rows beside. The paper draws from one crowd of 2,000 workers and tasks of each kind (four classes:
1,000), and another such crowd has an RI that differs by some points; here every hundred repetitions have a generated
crowd of their own, of 500 workers and tasks. Methods have these options, chosen once for a kind of label:

{_variants()}"""

    def _data(self) -> str:
        rows = [row for name in self.tables for row in TABLES[name].rows]
        sources = [KINDS[row.kind].sources.get(row.dataset, row.dataset) for row in rows]
        names = [name for name in dict.fromkeys(sources) if name in DATASETS]
        notes = _by_note({name: load(name).note for name in names if is_here(name)})
        absent = _by_note({name: source_of(name).note for name in names if not is_here(name)})
        parts = []
        if notes:
            parts.append(f"How the files are read, where the paper leaves it open:\n\n{notes}")
        if absent:
            parts.append(f"Not here, so that only the paper's numbers are shown:\n\n{absent}")
        return "\n\n".join(parts) or "No data sets were needed."


def _by_note(notes: Mapping[str, str]) -> str:
    """List what is to be known about data sets; some share a note."""
    names: dict[str, list[str]] = {}
    for name, note in notes.items():
        names.setdefault(note, []).append(name)
    return "\n".join(f"- {', '.join(named)}: {note}" for note, named in names.items() if note)


def _variants() -> str:
    """List the methods whose options were chosen, by reason."""
    chosen: dict[str, dict[str, list[str]]] = {}
    for name, kind in KINDS.items():
        for method, why in kind.variants.values():
            if why:
                chosen.setdefault(why, {}).setdefault(f"`{method}`", []).append(name)
    return "\n".join(
        f"- {', '.join(f'{method} for {_listed(kinds)}' for method, kinds in methods.items())}: {why}"
        for why, methods in chosen.items()
    )


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def count_close(cells: Iterable[Cell]) -> dict[str, Any]:
    """Count cells, and those that are within some points of the paper.

    >>> count_close([])
    {'cells': 0, 'within 2': 0, 'within 3': 0, 'within 5': 0}
    """
    differences = [abs(cell.difference) for cell in cells if not math.isnan(cell.difference)]
    return {
        "cells": len(differences),
        **{f"within {near}": sum(each <= near for each in differences) for near in CLOSE_POINTS},
    }


def counted(tables: Mapping[str, Sequence[Section]]) -> list[tuple[Line, Cell]]:
    """Return the cells that count, with their lines; another interpretation beside the first does not.

    >>> from paper.experiments import Results
    >>> from paper.cells import fill
    >>> sections = fill(TABLES["table-A"], Results({}))
    >>> sum(len(section.lines) for section in sections), len(counted({"table-A": sections})) // 10
    (15, 8)
    """
    lines = [line for sections in tables.values() for section in sections for line in section.lines]
    return [(line, cell) for line in lines if line.interpretation.counts for cell in line.cells]


def _summary(tables: Mapping[str, Sequence[Section]]) -> str:
    rows = {f"{name}: {TABLES[name].title}": counted({name: tables[name]}) for name in tables}
    everything = counted(tables)
    rows["all tables"] = everything
    rows["all tables without MAS"] = [pair for pair in everything if pair[1].column != "MAS"]
    rows[f"generated crowds, {', '.join(_EXPECTED_METHODS)}"] = [
        (line, cell)
        for line, cell in everything
        if line.interpretation.dataset.startswith(_GENERATED_PREFIX) and cell.column in _EXPECTED_METHODS
    ]
    listed = []
    for name, pairs in rows.items():
        count = count_close(cell for _, cell in pairs)
        shares = [f"{number} ({number / count['cells']:.0%})" if count["cells"] else "" for number in count.values()]
        listed.append([name, str(count["cells"]), *shares[1:]])
    return markdown_rows(["", "cells", *(f"within {near} points" for near in CLOSE_POINTS)], listed)


_FIGURES_NOTE = """Bands are standard errors. Those of differences are narrower, because all methods see
the same samples. The oracle (OA) knows the distance of each worker to the truth on these
very tasks, an advantage mostly with few tasks."""


def _figure(figure: Figure) -> str:
    missing = f" Not here: {', '.join(figure.missing())}." if figure.missing() else ""
    return f"### {figure.title}\n\n![{figure.title}](../pictures/{figure.name}.png)\n\n{figure.caption}{missing}"


def _differences(tables: Mapping[str, Sequence[Section]]) -> str:
    """List, by reason, the cells that are far from the paper; those within the noise are counted only."""
    by_reason: dict[str, list[str]] = {}
    far = [(line, cell) for line, cell in counted(tables) if abs(cell.difference) > _EXPLAINED_POINTS]
    noise = sum(cell.is_noise for _, cell in far)
    for line, cell in far:
        if not cell.is_noise:
            where = f"{line.row.table} {line.row.group} {line.row.dataset} {cell.column}".replace("  ", " ")
            text = f"{where} ({cell.percent:+.1f}, paper {cell.printed.percent:+.0f})"
            by_reason.setdefault(line.reason(cell), []).append(text)
    ordered = sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
    first = (
        f"{len(far)} numbers differ by more than {_EXPLAINED_POINTS} points. Of these, {noise} are within the noise:"
        " two standard errors of both numbers, where the paper's is taken to be as large as ours would be with 1,000"
        " repetitions."
    )
    reasons = [f"- **{why}** {len(cells)} cells, such as {'; '.join(cells[:_EXAMPLES])}." for why, cells in ordered]
    return "\n\n".join([first, "\n".join(reasons)])


def example_table() -> str:
    r"""Write the running example: what everyone says, and how far that is from the truth.

    >>> print("\n".join(example_table().splitlines()[2:5]))
    | answer of | question 1 | question 2 | question 3 | question 4 | error here | should be |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | worker 1 | 81.0 | 6.0 | 41.0 | -14.0 | 13.500 | 13.5 |
    """
    rows = [
        [answer.name, *(f"{label:.1f}" for label in answer.labels), f"{answer.error:.3f}", f"{answer.expected:g}"]
        for answer in solve_example()
    ]
    text = (
        "The truth is (80, 0, 40, -10). The paper prints the errors of the workers, truncated after one digit; the"
        " other errors were worked out apart from this library."
    )
    head = ["answer of", *(f"question {number}" for number in range(1, 5)), "error here", "should be"]
    return f"{text}\n\n{markdown_rows(head, rows)}"
