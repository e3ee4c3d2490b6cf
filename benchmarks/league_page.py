"""The page of the league table."""

from __future__ import annotations

import datetime
import os
import re
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from allalike.panels.calibration import BINS
from allalike.result.summaries import find_versions
from league_figures import OURS
from league_reading import CLASSES, DEFAULT, read_figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from league_figures import Data, Figure, League

__all__ = ["renew_tables", "tabulate", "write_page"]

_MEASURES = {
    "Two classes": "Percent of the tasks with gold that are right; more is better.",
    "More than two classes": "Percent of the tasks with gold that are right; more is better.",
    "Hundreds of classes": "Percent of the tasks with gold that are right; more is better. Any answer is a class here:"
    " language models solve mathematical problems.",
    "Ratings": "Levels between a truth and gold, on average; less is better. Truths are medians, except for methods"
    " that take levels for classes. Mean is not of crowd-kit: it is the level next to the plain mean.",
    "Numbers": "Root of the mean squared distance to gold; less is better. crowd-kit has no method for numbers.",
    "Forecasts": "The Brier score against what happened, from 0 to 2; less is better. Truths are means of log odds."
    " crowd-kit has no method for probabilities.",
    "Rankings": "Kendall tau distance to gold, from 0 to 1; less is better. Truths are found by Borda's rule. crowd-kit"
    " ranks from comparisons of two items: each ranking was written as all of its pairs. choix and evalica fit the"
    " strengths of Bradley and Terry to these, task by task.",
    "Rankings with ties and gaps": "Kendall tau distance to gold, of the pairs of items that it orders, from 0 to 1;"
    " less is better. Truths are found by Borda's rule. choix and evalica fit the strengths of Bradley and Terry to all"
    " pairs that were compared.",
    "Texts": "1 - GLEU against gold, from 0 to 1; less is better. Truths are one of the answers, except for ROVER,"
    " which votes on words. TextRASA and TextHRRASA need embeddings: no language model is at hand, so they got word"
    " counts.",
    "Boxes, spans and points": "1 - F1 against gold, where a matched pair counts by how much it overlaps, from 0 to 1;"
    " less is better. Methods for classes vote on groups of objects. crowd-kit has no method for them; WBF is the"
    " weighted boxes fusion of ensemble-boxes, of which what more than half of the workers drew is kept."
    " [Objects](../labels/OBJECTS.md) has F1 itself, and what others report for names.",
    "Records": "Share of the fields of gold that are wrong; less is better. crowd-kit has no method for records.",
    "Masks, sets and others": "Distance to gold, from 0 to 1; less is better: Jaccard for masks and sets, the share"
    " of boxes without a partner for Braylan and Lease's boxes, compared by a distance of their own. crowd-kit has"
    " methods for masks only.",
}
_MAKERS = {
    "WBF": "ensemble-boxes",
    "Mean": "nobody",
    "choix": "choix",
    "evalica": "evalica",
    "STAPLE": "SimpleITK",
}  # of others that crowd-kit does not have
_SURE = {DEFAULT: DEFAULT, "DS": "DS", "UA": "vote share"}
_CALIBRATION = (
    "How far confidences are from how often labels are right: the expected calibration error over the tasks with gold,"
    f" in {BINS} bins of the confidence; less is better. auto and DS say how probable their label is; the vote share is"
    " the share of the workers who gave the label of the majority. None of them looks at gold, and so none can see"
    " errors that most workers share. The fewer tasks have gold, the larger is the error even of true probabilities."
)


def write_page(league: League) -> str:
    """Write the whole page."""
    shown = [_group(league, title, data) for title, data in league.groups.items()]
    classes = [one for title in CLASSES for one in league.groups.get(title, [])]
    together = [f"## {' and '.join(CLASSES)}", _ranking(league, classes)] if classes else []
    rest = [_sure(league, classes), _failures(league), _data(league)]
    parts = [_opening(league), read_figures(league), *shown, *together, *rest]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def renew_tables(page: str, league: League) -> str:
    """Put the tables of a league, in which some data sets were played, in the place of those that a page has."""
    done = tuple(f"| {figure.method} | {figure.data} | " for figure in league.figures if figure.error is not None)
    kept = [line for line in page.splitlines(keepends=True) if not line.startswith(done)]  # who has a figure by now
    sections = re.split(r"(?m)^(?=## )", "".join(kept))
    said = f"Of this table alone: measured on {datetime.datetime.now(datetime.UTC):%d %B %Y} with {_list_versions()}."
    new = {f"## {title}\n": _group(league, title, data) for title, data in league.groups.items()}
    heads = [next((head for head in new if section.startswith(head)), "") for section in sections]
    return "".join(
        f"{new[head]}\n\n{said}\n\n" if head else section for head, section in zip(heads, sections, strict=True)
    )


def _list_versions() -> str:
    others = [name for name in ("pandas", "scipy", "crowd-kit", "SimpleITK") if find_spec(name.replace("-", ""))]
    versions = {**find_versions(), **{name: version(name) for name in others}}
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _opening(league: League) -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    n_ours = len({OURS[figure.method].name for figure in league.figures if figure.is_ours})
    n_theirs = len({figure.method for figure in league.figures if not figure.is_ours})
    return f"""# League table

All {n_ours} methods of this library and {n_theirs} of others, most of them of crowd-kit, with their default options,
on the {len(league.data)} public data sets at hand, all complete. `make league` makes this page; all its figures, even
those in words, are computed.

- Where labels are tied, the winner is drawn. Our figures are averages over {league.seeds} draws, or fewer where a
  method is slow. crowd-kit breaks ties in its own way, mostly by taking the first label.
- auto was built while these data were at hand, and its constants were chosen with them in view. On new data it may be
  less far ahead than here: [Where it helps](UNSEEN.md).
- OA knows the truth when it weighs workers. It is shown for comparison and does not compete.
- **Bold** is the best on a data set, of ours and theirs; an empty cell means that a method is not for such labels, and
  † that it has no figure, for a reason given below.
- A mean rank is the average place over the data sets of a table; methods that hardly differ (by 1e-9) share their
  places. Only who has a figure on every data set is ranked.
- Seconds are CPU time, added up over the data sets of a table. Ours are those of preparing, weighing and deciding,
  theirs those of `fit_predict`. Reading files and numbering workers and tasks is not counted on either side. Who takes
  more than {league.limit:.0f} seconds on a data set is stopped.
- Measured with {_list_versions()}, on {os.cpu_count()} cores with {memory:.0f} GB of memory."""


def _group(league: League, title: str, data: Sequence[Data]) -> str:
    ours, theirs = league.methods(data, ours=True), league.methods(data, ours=False)
    parts = [f"## {title}", _MEASURES[title], _scores(league, data, ours)]
    if theirs:
        parts += ["Others on the same data:", _scores(league, data, theirs)]
    return "\n\n".join([*parts, _ranking(league, data)])


def _scores(league: League, data: Sequence[Data], methods: Sequence[str]) -> str:
    return tabulate(
        ["data", *methods],
        [
            [one.name, *(_cell(one, league.by_name.get((one.name, m)), league.best(one)) for m in methods)]
            for one in data
        ],
    )


def _cell(data: Data, figure: Figure | None, best: set[str]) -> str:
    if figure is None:
        return ""
    if figure.error is None:
        return "†"
    score = data.score(figure.error)
    return f"**{score}**" if figure.method in best else score


def _ranking(league: League, data: Sequence[Data]) -> str:
    """List who played on these data, best first; those who cannot be ranked come last."""
    own, all_ranks = (league.mean_ranks(data, theirs=theirs) for theirs in (False, True))
    others = league.methods(data, ours=True) + league.methods(data, ours=False)
    rows = []
    for method in dict.fromkeys([*all_ranks, *others]):
        place = [f"{found[method]:.2f}" if method in found else "" for found in (own, all_ranks)]
        maker = "" if method in league.methods(data, ours=True) else _MAKERS.get(method, "crowd-kit")
        n_best = sum(method in league.best(one) for one in data)
        rows.append([method, maker, *place, str(n_best), f"{league.seconds(data, method):.2f}"])
    head = ["method", "of", "mean rank among ours", "among all", f"best of {len(data)}", "seconds"]
    return f"Mean ranks among {len(own)} methods of ours, and among all {len(all_ranks)}:\n\n" + tabulate(head, rows)


def _sure(league: League, classes: Sequence[Data]) -> str:
    """Show how far confidences are from how often labels are right."""
    every = np.array([[league.calibration(one, method) for method in _SURE] for one in classes], float)
    whole = ~np.isnan(every).any(axis=-1)
    if not whole.any():
        return ""
    errors, data = every[whole], [one for one, known in zip(classes, whole, strict=True) if known]
    least = errors <= errors.min(axis=1, keepdims=True)
    rows = [
        [one.name, f"{one.gold:,}", *(f"**{error:.3f}**" if best else f"{error:.3f}" for error, best in cells)]
        for one, cells in zip(data, map(zip, errors, least), strict=True)
    ]
    rows.append(["mean", "", *(f"{error:.3f}" for error in errors.mean(axis=0))])
    counts = ", ".join(f"{name} on {n}" for name, n in zip(_SURE.values(), least.sum(axis=0), strict=True))
    said = f"Of these {len(data)} data sets, smallest is {counts}."
    return f"## How sure\n\n{_CALIBRATION} {said}\n\n{tabulate(['data', 'gold', *_SURE.values()], rows)}"


def _failures(league: League) -> str:
    """Say who has no figure where, and why."""
    found: dict[tuple[str, str], list[str]] = {}
    for figure in league.figures:
        if figure.failure:
            why = " ".join(figure.failure.split()).replace("|", "/")
            found.setdefault((figure.method, why), []).append(figure.data)
    rows = [[method, ", ".join(data), why] for (method, why), data in found.items()]
    said = tabulate(["method", "data", "why"], rows) if rows else "All have one everywhere."
    return f"## Who has no figure\n\n{said}"


def _data(league: League) -> str:
    rows = []
    for one in league.data:
        counts = [f"{n:,}" for n in (one.workers, one.tasks, one.answers, one.gold)]
        rows.append([one.name, one.domain, str(one.classes or ""), *counts, f"{one.alike:.2f}"])
    again = "\n".join(f"- `{name}`: {why}" for name, why in league.again.items())
    absent = f"Not here, as no public copy is known: {', '.join(league.missing)}." if league.missing else ""
    table = tabulate(["data", "labels", "classes", "workers", "tasks", "answers", "gold", "alike"], rows)
    return f"## The data\n\n{table}\n\n{absent}\n\nNo data are in the league twice. Left out are:\n\n{again}"


def tabulate(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; columns of figures stand to the right.

    >>> print(tabulate(["method", "error"], [["UA", "0.5"]]))
    | method | error |
    | --- | ---: |
    | UA | 0.5 |
    """
    body = list(rows)
    columns = zip(*body, strict=True)
    marks = ["---:" if all(_is_figure(cell) for cell in column) else "---" for column in columns]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, marks, *body])


def _is_figure(cell: str) -> bool:
    return not cell.strip("*†+0123456789.,-")
