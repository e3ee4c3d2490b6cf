"""Compare methods on the same answers, by their errors on gold labels or by their agreement."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from allalike._core.blocks.block import TOLERANCE
from allalike._core.lazy_imports import pd
from allalike._core.registry import choose
from allalike._core.system.progress import progress_callback, report
from allalike.answers import Answers
from allalike.checks import check_answers, check_read_answers, emit_warnings
from allalike.discover import check_served, find_ties, load_run, note_aliases, read_whole
from allalike.engines import Engine, Run, make_ready
from allalike.errors import AllalikeError, GoldError, OptionError
from allalike.frames import Frame, FrameMixin
from allalike.gold import find_misfit
from allalike.methods import METHODS, OA, UA, Fit, Method
from allalike.methods.base import without_gold
from allalike.methods.composed import serves, weigh
from allalike.readers import ReadOptions, check_read_options
from allalike.result.messages import note
from allalike.result.saving import write_table
from allalike.result.summaries import describe_answers, find_truths, find_versions
from allalike.result.summary import Summary
from allalike.result.tables import describe_counts, result_html
from allalike.sources import inputs_of, open_source

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Domain, Kernels

_SIGNIFICANT = 0.05
_N_METHODS = 10  # at a prompt


def compare(
    answers: Any,
    *,
    gold: Any = None,
    domain: str | Domain | None = None,
    methods: str | Method | Iterable[str | Method] | None = None,
    engine: str | Engine | None = None,
    seed: int = 0,
    ties: str = "random",
    gold_columns: Mapping[str, str] | None = None,
    gold_map: Any = None,
    **how: Unpack[ReadOptions],
) -> Comparison:
    """Run several methods on the same answers, and rank them by their errors on gold labels or by their agreement.

    With gold labels, the error is the mean distance to them, change is error / error(UA) - 1, and RI is (error -
    error(UA)) / (error + error(UA)); negative values are better. A two-sided paired t-test of the distances per task,
    at the 5 % level, compares the best method with every other. It is not corrected for multiple comparisons. With few
    gold labels, a tie means only that the difference is not significant. OA uses the gold labels and is never called
    the best.

    Parameters
    ----------
    answers, domain, engine, seed, ties, gold_columns, gold_map, **how
        As in `discover`.
    gold
        Gold labels, as in `discover`. Without them, methods are compared with each other.
    methods
        Methods, their names, or a comma-separated list of names, with options in brackets if necessary. Default: all
        methods that accept the label type, and OA if there are gold labels. UA is always included.

    >>> answers = [(81, 6, 41, -14), (89, -6, 35, 4), (105, -18, 39, -5), (68, 9, 62, -10), (67, 20, 58, -20)]
    >>> rows = [(worker, task, float(x)) for worker, row in enumerate(answers) for task, x in enumerate(row)]
    >>> comparison = compare(rows, gold={0: 80.0, 1: 0.0, 2: 40.0, 3: -10.0}, methods="P-TD,P-TD-AK(ridge=4)")
    >>> comparison.table[["method", "error", "change", "RI", "verdict"]].round(2)
                 method  error  change     RI verdict
    0  P-TD-AK(ridge=4)   9.16  -37.76 -23.27    best
    1              P-TD  12.55  -14.65  -7.90     tie
    2                UA  14.71    0.00   0.00     tie
    """
    check_read_options(compare, how)
    draws, listed = find_ties(seed, ties), _split(methods) if isinstance(methods, str) else methods
    listed = [listed] if isinstance(listed, Method) else listed and list(listed)
    named = None if listed is None else [choose(each, METHODS, "method", Method) for each in listed]
    source, known = open_source(answers, gold, gold_columns, gold_map, domain=domain, **how)
    where, held = read_whole(source, engine)
    first = check_read_answers(held)
    emit_warnings(first, stacklevel=2, source=source)
    run = load_run(where, held, known, draws, guessed=engine is None)
    run = make_ready(note_aliases(run, listed or ()))
    chosen = _name_methods(named, run)
    truths = known or (source.gold if isinstance(source, Answers) else None)
    misfit = find_misfit(run, truths) if truths is not None and run.n_gold else None
    issues = [*check_answers(run, truths), *([misfit.describe()] if misfit else [])]
    emit_warnings((issue for issue in issues if issue not in first), stacklevel=2, source=source)
    outcomes = _solve(chosen, run)
    summary = _describe_run(run, where, seed=seed, ties=ties, complete=named is None)
    found = Comparison(run, outcomes, summary, inputs_of(answers, gold))
    if run.n_gold:
        summary["gold"] = {**run.notes.get("gold", {}), "compared": len(found.distances[UA.name])}
        summary["best"] = next(row["method"] for row in found.rows if row["verdict"] == "best")
    summary["ranked_by"] = found.ranked_by
    summary["warnings"] = [issue.text for issue in issues]
    summary["versions"] = find_versions()
    note(summary, issues, stacklevel=2)
    return found


def _describe_run(run: Run, where: Engine, *, seed: int, ties: str, complete: bool) -> dict[str, Any]:
    unfit = [name for name in METHODS if not serves(METHODS[name](), run.encoding)] if complete else []
    settings = {"domain": run.encoding.describe(), "engine": where.name, "seed": seed, "ties": ties}
    return {**describe_answers(run), **settings, "not_served": unfit, **run.notes}


def _split(text: str) -> list[str]:
    """Split names at commas outside brackets.

    >>> _split("P-TD, iP-TD(max_iter=3, tol=0),UA")
    ['P-TD', 'iP-TD(max_iter=3, tol=0)', 'UA']
    """
    parts, depth = [""], 0
    for mark in text:
        depth += (mark in "([{") - (mark in ")]}")
        if mark == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += mark
    return [part.strip() for part in parts]


def _name_methods(methods: Iterable[Method] | None, run: Run) -> dict[str, Method]:
    """Return UA and these methods, or all suitable ones, by name and options in the order of METHODS."""
    titled: dict[str, Method] = {UA.name: UA()}
    for method in [each() for each in METHODS.values()] if methods is None else methods:
        blind = isinstance(method, OA) and method.faults is None and not run.n_gold
        if methods is None and (blind or not serves(method, run.encoding)):
            continue
        check_served(method, run.encoding)
        if blind:
            raise GoldError("OA needs gold labels. Pass them with gold=, or omit OA.")
        values = {field: getattr(method, field.name) for field in fields(method) if field.repr}
        options = [f"{field.name}={value!r}" for field, value in values.items() if value != field.default]
        title = f"{method.name}({', '.join(options)})" if options else method.name
        if titled.setdefault(title, method) != method:
            raise OptionError(f"Two different methods are called {title}. Compare them separately.")
    places = {name: place for place, name in enumerate(METHODS)}
    return dict(sorted(titled.items(), key=lambda pair: places.get(pair[1].name, len(places))))


def _solve(methods: Mapping[str, Method], run: Run) -> dict[str, Outcome]:
    """Fit the methods without gold labels, and estimate the labels; all except UA may fail."""
    # Import before the first method, so that it does not seem slow.
    import scipy.sparse
    import scipy.special
    import scipy.stats  # noqa: F401

    _ = run.unweighted_peer_sums
    width, outcomes = max(map(len, methods)), {}
    for place, (name, method) in enumerate(methods.items()):
        report(f"comparing methods: {name:{width}}", place, len(methods))
        begin, solved = time.perf_counter(), dict[str, Any]()
        try:
            with progress_callback(lambda *_: None):  # rounds of one method are not progress of the comparison
                solved["weighing"] = weigh(without_gold(method), run)
                solved["found"] = find_truths(run, solved["weighing"]).joined().found
        except (AllalikeError, MemoryError) as error:
            if isinstance(method, UA):  # the baseline
                raise
            solved = {"failure": str(error) or "There is not enough memory."}
        outcomes[name] = Outcome(method=method, seconds=time.perf_counter() - begin, **solved)
    return outcomes


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The labels from a method, or the reason for its failure, and its run time in seconds."""

    method: Method
    seconds: float
    weighing: Fit | None = None
    found: Mapping[str, Array] | None = None
    failure: str = ""

    def describe(self) -> dict[str, Any]:
        """Return the run time, rounds, convergence and note."""
        fit = self.weighing
        if fit is None:
            return {"seconds": self.seconds, "iterations": None, "converged": None, "note": self.failure}
        notes = {"iterations": fit.iterations, "converged": fit.converged, "note": fit.limit_note}
        return {"seconds": self.seconds, **notes}


@dataclass(frozen=True)
class Comparison(FrameMixin[Frame]):
    """Labels that several methods estimate from the same answers, by name with options.

    >>> from allalike.compare import compare
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> comparison = compare(rows, methods=["P-TD-AK"])
    >>> comparison.agreement["distance"].round(1)
               UA  P-TD-AK
    UA        0.0     36.0
    P-TD-AK  36.0      0.0
    """

    run: Run
    outcomes: Mapping[str, Outcome]
    summary: dict[str, Any]
    inputs: tuple[Path, ...] = ()

    @property
    def facts(self) -> Summary:
        """The summary as a struct."""
        return Summary.from_dict(self.summary)

    def __repr__(self) -> str:
        shown = self._listed.head(_N_METHODS).drop(columns=["note"], errors="ignore")
        table = shown.to_string(index=False, float_format=lambda number: f"{number:.4g}")
        left = len(self.rows) - len(shown)
        return "\n".join([self._heading, table, *([f"... and {left} more in .table"] if left else [])])

    def _repr_html_(self) -> str:
        return result_html(self._heading, {"Methods": self._listed})

    @property
    def _heading(self) -> str:
        counts = describe_counts(self.facts)
        return f"Comparison: {counts}, {len(self.rows)} methods, ranked by {self.ranked_by}."

    @cached_property
    def table(self) -> Frame:
        """One row per method, best first; failed methods come last.

        Columns with gold labels: method, error (mean distance to gold), change and RI relative to UA in percent,
        verdict (best, tie, worse, oracle, failed), p, seconds, iterations, converged, note. Without gold labels, same
        (share of tasks with the same label) and distance (between labels) replace the columns from error to p. They are
        means over the other methods.
        """
        return self._to_frame(self._listed)

    @property
    def _listed(self) -> pd.DataFrame:
        return pd.DataFrame(self.rows).astype({"iterations": "Int64", "converged": "boolean"})

    @cached_property
    def agreement(self) -> Frame:
        """Share of tasks with the ``same`` label and mean ``distance``, for every pair of methods."""
        names = list(self._labels)
        parts = {name: pd.DataFrame(part, names, names) for name, part in self._agreement.items()}
        return self._to_frame(pd.concat(parts, axis=1), "method")

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Rows of the table; unknown values are None."""
        scores = self._errors() if self.run.n_gold else self._averages()
        nothing = {column: "failed" if column == "verdict" else None for column in next(iter(scores.values()))}
        failed = {name: nothing for name in self.outcomes if name not in scores}
        return [{"method": name, **row, **self.outcomes[name].describe()} for name, row in (scores | failed).items()]

    @property
    def ranked_by(self) -> str:
        """Column by which the table is sorted: error if there are gold labels, otherwise same or distance.

        It is distance for labels that rarely recur, such as numbers, and masks and sets combined from their parts.
        """
        if self.run.n_gold:
            return "error"
        return "same" if self.run.domain.recurring else "distance"

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, safe_csv: bool = False) -> Path:
        """Write the table as CSV atomically, and return its path.

        An earlier comparison table is replaced. Other files are replaced only with ``overwrite``, and inputs never are.
        With ``safe_csv``, texts that a spreadsheet would interpret as formulas get a leading apostrophe.

        >>> import tempfile
        >>> from allalike.compare import compare
        >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = compare(rows, methods="P-TD").save(folder + "/table.csv")
        ...     path.read_text().splitlines()[0]
        'method,same,distance,seconds,iterations,converged,note'
        """
        return write_table(self._listed, path, inputs=self.inputs, overwrite=overwrite, safe_csv=safe_csv)

    @cached_property
    def _labels(self) -> dict[str, Array]:
        return {name: outcome.found["label"] for name, outcome in self.outcomes.items() if outcome.found is not None}

    @cached_property
    def distances(self) -> dict[str, Floats]:
        """Distances to gold labels by method, for tasks where they are known for all methods."""
        distance = {name: outcome.found["gold"] for name, outcome in self.outcomes.items() if outcome.found is not None}
        known = ~np.isnan(np.stack(list(distance.values()))).any(axis=0)
        if not known.any():
            raise GoldError("No task has a gold label whose distance to the labels of all methods is known.")
        return {name: values[known] for name, values in distance.items()}

    def _errors(self) -> dict[str, dict[str, Any]]:
        """Rank by error, and test whether the best method, except oracles, is better than the others."""
        error = {name: float(values.mean()) for name, values in self.distances.items()}
        order = sorted(error, key=lambda name: _rounded(error[name]))
        oracles = [name for name in order if isinstance(self.outcomes[name].method, OA)]
        best, unweighted = next(name for name in order if name not in oracles), error[UA.name]
        scores = {}
        for name in order:
            p, verdict = None, "best" if name == best else "oracle"
            if name != best and name not in oracles:
                p = _p_value(self.distances[name], self.distances[best])
                verdict = "worse" if p < _SIGNIFICANT else "tie"
            more = error[name] - unweighted
            change = 100 * (error[name] / unweighted - 1) if unweighted and more else None if more else 0.0
            improvement = 100 * more / (error[name] + unweighted) if more else 0.0
            scores[name] = {"error": error[name], "change": change, "RI": improvement, "verdict": verdict, "p": p}
        return scores

    def _averages(self) -> dict[str, dict[str, Any]]:
        """Rank by the mean agreement with the other methods."""
        scores = {}
        for place, name in enumerate(self._labels):
            means = {measure: _mean(np.delete(table[place], place)) for measure, table in self._agreement.items()}
            scores[name] = {measure: None if math.isnan(mean) else mean for measure, mean in means.items()}

        def rank(name: str) -> float:
            mean = scores[name][self.ranked_by]
            return math.inf if mean is None else _rounded(mean if self.ranked_by == "distance" else 1 - mean)

        return {name: scores[name] for name in sorted(scores, key=rank)}

    @cached_property
    def _agreement(self) -> dict[str, Floats]:
        labels, kernels = list(self._labels.values()), self.run.kernels
        scatter = self.run.collect(partial(_scatter, kernels=kernels))["scatter"]
        same, distance = np.eye(len(labels)), np.zeros((len(labels), len(labels)))
        pairs = list(combinations(range(len(labels)), 2))
        for done, (i, j) in enumerate(pairs):
            report("comparing labels", done, len(pairs))
            between = kernels.distance_between(labels[i], labels[j])
            equal = ~kernels.differs(labels[i], labels[j], scatter)
            same[i, j] = same[j, i] = _mean(np.where(np.isnan(between), np.nan, equal))
            distance[i, j] = distance[j, i] = _mean(between)
        return {"same": same, "distance": distance}


def _scatter(block: Block, *, kernels: Kernels) -> dict[str, Array]:
    return {"scatter": kernels.scatter(block)}


def _p_value(one: Floats, best: Floats) -> float:
    """Return the p-value of a paired t-test, or of a sign test if all differences are equal.

    >>> _p_value(np.ones(3), np.zeros(3)), _p_value(np.ones(3), np.ones(3))
    (0.25, 1.0)
    """
    from scipy import stats

    difference = one - best
    largest = np.abs(difference).max()
    if largest <= TOLERANCE * max(np.abs(one).max(), np.abs(best).max()):
        return 1.0
    if np.ptp(difference) <= TOLERANCE * largest:
        return float(2.0 ** (1 - len(difference)))
    return float(stats.ttest_1samp(difference / largest, 0.0).pvalue)  # scaled so that squares do not overflow


def _mean(values: Array) -> float:
    """Return the mean of the known values."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def _rounded(value: float) -> float:
    """Round a sort key, so that rounding errors do not change the order."""
    return float(f"{value:.9g}")
