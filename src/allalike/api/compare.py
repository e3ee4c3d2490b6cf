"""compare: every method on the same answers, ranked by error against gold, or by how much they agree."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from allalike._core.registry import choose
from allalike._core.system.progress import report, watching
from allalike.answers import Answers
from allalike.api.discover import check_served, find_ties, load_run, read_whole, remark_names
from allalike.checks import check_answers, check_read_answers, note, warn_of
from allalike.engines import Engine, Run, make_ready
from allalike.errors import AllalikeError, GoldError, OptionError
from allalike.gold import find_misfit
from allalike.methods import METHODS, OA, UA, Method
from allalike.methods.base import without_gold
from allalike.methods.composed import serves, weigh
from allalike.readers import ReadOptions, check_read_options
from allalike.result.comparison import Comparison, Outcome
from allalike.result.inputs.opening import inputs_of, open_source
from allalike.result.summaries import describe_answers, find_truths, find_versions

if TYPE_CHECKING:
    from allalike.domains import Domain, Encoding


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
    """Run many methods on the same answers, and say which is best, or how much they agree.

    With gold, the error is the mean distance to it, change is error / error(UA) - 1, and RI is (error - error(UA)) /
    (error + error(UA)); negative is better. The best method is compared with each other by a two-sided paired t-test
    of the distances per task, at 95 %, not corrected for how many there are: with few tasks with gold, a tie means
    that a difference was not shown. OA knows the gold and never is the best.

    Parameters
    ----------
    answers, domain, engine, seed, ties, gold_columns, gold_map, **how
        As in `discover`.
    gold
        Known truths, as in `discover`. Without them, the methods are compared with each other.
    methods
        Names or methods, or names with commas between them, with options in brackets if need be. By default all that
        serve the domain; OA where there is gold. UA always is among them.

    >>> said = [(81, 6, 41, -14), (89, -6, 35, 4), (105, -18, 39, -5), (68, 9, 62, -10), (67, 20, 58, -20)]
    >>> rows = [(worker, task, float(x)) for worker, row in enumerate(said) for task, x in enumerate(row)]
    >>> found = compare(rows, gold={0: 80.0, 1: 0.0, 2: 40.0, 3: -10.0}, methods="P-TD,P-TD-AK(ridge=4)")
    >>> found.table[["method", "error", "change", "RI", "verdict"]].round(2)
                 method  error  change     RI verdict
    0  P-TD-AK(ridge=4)   9.16  -37.76 -23.27    best
    1              P-TD  12.55  -14.65  -7.90     tie
    2                UA  14.71    0.00   0.00     tie
    """
    check_read_options(compare, how)
    draws, listed = find_ties(seed, ties), _listed(methods)
    named = None if listed is None else [choose(each, METHODS, "method", Method) for each in listed]
    source, known = open_source(answers, gold, gold_columns, gold_map, domain=domain, **how)
    where, held = read_whole(source, engine)
    first = check_read_answers(held)
    warn_of(first, stacklevel=2, source=source)
    run = load_run(where, held, known, draws, guessed=engine is None)
    run = make_ready(remark_names(run, listed or ()))
    has_gold = run.n_gold > 0
    chosen = _serving(run.encoding, has_gold=has_gold) if named is None else named
    _check(chosen, run.encoding, has_gold=has_gold)
    truths = known or (source.gold if isinstance(source, Answers) else None)
    misfit = find_misfit(run, truths) if truths is not None and has_gold else None
    issues = [*check_answers(run, truths), *([misfit.describe()] if misfit else [])]
    warn_of((issue for issue in issues if issue not in first), stacklevel=2, source=source)
    outcomes = _solve_all(_titled([UA(), *chosen]), run)
    summary = {
        **describe_answers(run),
        "domain": run.encoding.describe(),
        "engine": where.name,
        "seed": seed,
        "ties": ties,
        "not_served": []
        if named is not None
        else [name for name in METHODS if not serves(METHODS[name](), run.encoding)],
        **run.notes,
    }
    found = Comparison(run, outcomes, summary, inputs_of(answers, gold))
    if has_gold:
        summary["gold"] = {**run.notes.get("gold", {}), "compared": len(found.distances[UA.name])}
        summary["best"] = next(row["method"] for row in found.rows if row["verdict"] == "best")
    summary["ranked_by"] = found.ranked_by
    summary["warnings"] = [issue.text for issue in issues]
    summary["versions"] = find_versions()
    note(summary, issues, stacklevel=2)
    return found


def _listed(methods: str | Method | Iterable[str | Method] | None) -> list[str | Method] | None:
    if methods is None:
        return None
    if isinstance(methods, str):
        return list(_split(methods))
    return list(methods) if isinstance(methods, Iterable) else [methods]


def _split(text: str) -> list[str]:
    """Split names at the commas outside brackets.

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


def _serving(labels: Encoding, *, has_gold: bool) -> list[Method]:
    made = [method() for method in METHODS.values()]
    return [method for method in made if serves(method, labels) and (has_gold or not isinstance(method, OA))]


def _check(methods: Iterable[Method], labels: Encoding, *, has_gold: bool) -> None:
    for method in methods:
        check_served(method, labels)
        if isinstance(method, OA) and method.faults is None and not has_gold:
            raise GoldError("OA needs known truths. Give them with gold=, or leave OA out.")


def _titled(methods: Iterable[Method]) -> dict[str, Method]:
    """Name methods by name and options, each once, in the order in which all tables have them."""
    titled: dict[str, Method] = {}
    for method in methods:
        title = _title(method)
        if titled.setdefault(title, method) != method:
            raise OptionError(f"Two methods are called {title}, but differ. Compare them one after the other.")
    places = {name: place for place, name in enumerate(METHODS)}
    return dict(sorted(titled.items(), key=lambda pair: places.get(pair[1].name, len(places))))


def _title(method: Method) -> str:
    """Write a method as it is called, with the options that are not the usual ones.

    >>> from allalike.methods import IPTD
    >>> _title(IPTD()), _title(IPTD(max_iter=3, weighting="max"))
    ('iP-TD', "iP-TD(max_iter=3, weighting='max')")
    """
    shown = [field for field in dataclasses.fields(method) if field.repr]
    options = [f"{f.name}={getattr(method, f.name)!r}" for f in shown if getattr(method, f.name) != f.default]
    return f"{method.name}({', '.join(options)})" if options else method.name


def _solve_all(methods: Mapping[str, Method], run: Run) -> dict[str, Outcome]:
    # Whichever method is the first to use these must not seem slow for it.
    import scipy.sparse
    import scipy.special
    import scipy.stats  # noqa: F401

    _ = run.unweighted_peer_sums
    width, outcomes = max(map(len, methods)), {}
    for place, (name, method) in enumerate(methods.items()):
        report(f"comparing methods: {name:{width}}", place, len(methods))
        with watching(lambda *_: None):  # the rounds of one method say nothing about how far all are
            outcomes[name] = _solve(method, run)
    return outcomes


def _solve(method: Method, run: Run) -> Outcome:
    begin = time.perf_counter()
    try:
        weighing = weigh(without_gold(method), run)
        found = find_truths(run, weighing).joined().found
    except (AllalikeError, MemoryError) as error:
        if isinstance(method, UA):  # without which nothing can be compared
            raise
        failure = str(error) or "There is not enough memory for this."
        return Outcome(method=method, seconds=time.perf_counter() - begin, failure=failure)
    return Outcome(method=method, seconds=time.perf_counter() - begin, weighing=weighing, found=found)
