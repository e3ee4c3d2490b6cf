"""discover: from answers to truth, faults and weights."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Unpack

from allalike._core.blocks.block import DRAWN, Ties
from allalike._core.options import check_choice, check_number
from allalike._core.registry import choose, explain_name
from allalike._core.system.memory import free_memory
from allalike._core.system.progress import report
from allalike.checks import check_answers, check_read_answers, check_ties, list_skipped, note, warn_of
from allalike.engines import ENGINES, Engine, Memory, make_ready
from allalike.errors import GoldError, OptionError, UnsupportedError
from allalike.methods import METHODS, Method
from allalike.methods.base import Informed, limit_reached, without_gold
from allalike.methods.composed import serves, weigh, weigh_blindly
from allalike.readers import ReadOptions, Scan, check_read_options
from allalike.readers.formats.places import fetch_places
from allalike.readers.proposals import asking
from allalike.result.inputs.opening import Basis, Origin, inputs_of, name_inputs, open_source
from allalike.result.result import Result
from allalike.result.summaries import compare_with_gold, find_posteriors, find_truths, summarise, with_quorum

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from allalike.answers import Answers
    from allalike.answers.gold import Gold, History
    from allalike.checks import Issue
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run, TaskTable

_ORACLE = "OA"  # which cannot do without known truths


def discover(
    answers: Any,
    *,
    domain: str | Domain | None = None,
    method: str | Method = "auto",
    engine: str | Engine | None = None,
    gold: Any = None,
    history: Any = None,
    plain: bool = False,
    seed: int = 0,
    ties: str = "random",
    min_confidence: float | None = None,
    gold_columns: Mapping[str, str] | None = None,
    gold_map: Any = None,
    use_gold: bool = True,
    **how: Unpack[ReadOptions],
) -> Result:
    """Find the truth behind noisy answers, and how good each worker is.

    Parameters
    ----------
    answers
        A path or several (CSV, TSV, JSON lines, Parquet; globs too), an address (``s3://...``, ``postgresql://...``),
        a pandas, polars, pyarrow or Hugging Face table, whatever else hands over Arrow, rows of (worker, task, label),
        a label matrix, what `allalike.read` or `allalike.scan` returns, or with Spark its data frame or table. Tables
        of the result are of the kind that came in (`Result.tables_as`).
    domain
        The kind of label: a name from `allalike.DOMAINS`, a `Domain`, or nothing to have it guessed.
    method
        A name from `allalike.METHODS`, with options in brackets if need be, or a `Method`. ``auto`` takes
        weights only where the crowd bears them out, and else everyone counts the same.
    engine
        Where it runs: a name from `allalike.ENGINES` or an `Engine`. By default ``memory``, and ``disk`` for files that
        are larger than half of the free memory.
    gold
        Truths that are known: a path or a table with task and label, a mapping, rows of (task, label), or
        ``"column:NAME"`` for a column of the answers' own table, or ``"export"`` for what the tool marks as truths
        that wrote the answers, which are no answers then. auto and OA take them as evidence, once they were
        seen to fit the answers. The summary reports the error against them, of a run that does not see them.
    history
        What is known of workers from earlier answers, for auto: a result, its folder or its table of workers, or a
        table with worker, answers and error_rate (or rmse).
    plain
        Whether to leave out what auto does about copies and about workers whose answers say nothing; the other methods
        are always as their papers have them.
    seed
        Which of the possible draws to take where labels are tied.
    ties
        ``random`` draws a winner among equals by a hash of seed, task and label; ``first`` takes the first label.
    min_confidence
        How sure a truth must be at least; tasks with less have no label.
    gold_columns
        Which columns of the gold are which, where their names do not tell: ``{"task": ..., "label": ...}``.
    gold_map
        What the labels of the gold mean, if they are written otherwise than those of the answers: a mapping, a file
        with the columns from and to, or a text such as ``0=1,1=2``, and ``same`` if they are right.
    use_gold
        Whether known truths count as evidence; otherwise they only measure the error.
    **how
        How the answers are read, as `allalike.read` tells of each option: columns, wide, repeats, missing, na, abstain,
        label_map, tool, tag, worker_from, encoding, decimal, only, skip, layout, query, table.

    Answers that are hardly what was meant give a `DataWarning`, what was left out or looks strange a `DataNote`, which
    is one, too; `Result.notes` has them all.

    >>> import allalike
    >>> rows = [("ada", "t1", "cat"), ("bob", "t1", "cat"), ("eve", "t1", "dog"), ("ada", "t2", "dog"),
    ...         ("bob", "t2", "dog"), ("eve", "t2", "cat")]
    >>> result = allalike.discover(rows, gold={"t1": "cat"})
    >>> result.truth["label"].tolist(), result.summary["gold"]["error"]
    (['cat', 'dog'], 0.0)
    """
    check_read_options(discover, how)
    draws = find_ties(seed, ties)
    least: dict[str, Any] = {} if min_confidence is None else {"min_confidence": _check_confidence(min_confidence)}
    chosen = choose(method, METHODS, "method", Method)
    chosen = chosen.plainly() if plain and isinstance(chosen, Informed) else chosen
    chosen = chosen if use_gold else _leave_gold(chosen)
    past = None if history is None else open_history(history, chosen)
    source, known = open_source(answers, gold, gold_columns, gold_map, domain=domain, **how)
    where, held = read_whole(source, engine)
    first = check_read_answers(held)
    warn_of(first, stacklevel=2, source=source)
    try:
        run = load_run(where, held, known, draws, guessed=engine is None)
    except GoldError as error:
        raise _explain(error, where, held, known, gold) from error
    inputs = inputs_of(source, gold, history)
    origin = replace(Origin.of(source, known), inputs=inputs, history=past, gold_map=gold_map)
    run = remark_names(run, [method])
    check_served(chosen, run.encoding)
    issues = [*check_answers(run, origin.gold), *_check_gold(run, origin.gold, chosen, (held, gold))]
    warn_of((issue for issue in issues if issue not in first), stacklevel=2, source=source)
    settings = {"engine": where.name, "seed": seed, "ties": ties, **least}
    result = solve(Basis(run, chosen, origin, settings), issues)
    note(result.summary, issues, stacklevel=2)
    if warning := limit_reached(chosen, result.weighing):
        warnings.warn(warning, stacklevel=2)
    return replace(result, sources=name_inputs(source, gold, history))


def _explain(error: GoldError, where: Engine, held: Answers | Scan, known: Gold | None, gold: Any) -> GoldError:
    """Say what known truths may mean that cannot be matched with the answers as they are."""
    from allalike.gold import find_misfit
    from allalike.result.inputs.opening import name_what_holds_tasks

    if known is None or known.stated:
        return error
    misfit = find_misfit(load_run(where, held, None, DRAWN, guessed=False), known)
    if misfit is not None and misfit.maps:
        return misfit.refuse(usable=False)
    return name_what_holds_tasks(error, held, gold)


def _leave_gold(method: Method) -> Method:
    """Return the method as it is where nobody knows a truth."""
    if method.name == _ORACLE:
        raise OptionError("use_gold is False, but OA weighs workers by known truths. Leave one of them out.")
    return without_gold(method)


def _check_gold(
    run: Run, gold: Gold | None, method: Method, given: tuple[Answers | Scan, Any] | None = None
) -> list[Issue]:
    """Stop at known truths that do not fit, if they are evidence; wonder about them, if they only measure."""
    if gold is None or not run.n_gold:
        return []
    from allalike.gold import find_misfit

    misfit = find_misfit(run, gold)
    if misfit is not None and (method.name == _ORACLE or without_gold(method) != method):
        from allalike.result.inputs.opening import find_better_columns

        raise misfit.refuse(columns=find_better_columns(*given, gold) if given and not misfit.maps else None)
    return [] if misfit is None else [misfit.describe()]


def solve(basis: Basis, issues: list[Issue]) -> Result:
    """Weigh the workers, and find all truths."""
    given, method, origin, settings = basis.run, basis.method, basis.origin, basis.settings
    run = make_ready(given, origin.history)
    given = run if run.encoding is given.encoding else given  # whose sums are known, if they are as they were given
    learns = run.n_gold > 0 and without_gold(method) != method
    weighing = with_quorum(run, weigh(method, run))
    report("deciding")
    find = partial(find_truths, run, unweighted=True, min_confidence=settings.get("min_confidence"))
    found = find(weighing, keep_gold=learns)
    honest = find(weigh_blindly(method, run, weighing)) if learns else found
    if "min_confidence" in settings and not found.count("confidence"):
        raise UnsupportedError(f"min_confidence is given, but {method.name} does not say how sure these truths are.")
    described = {
        "domain": {**run.encoding.describe(), **weighing.decision.choices},
        "method": method.describe(),
        **settings,
    }
    posteriors = partial(find_posteriors, run, weighing) if weighing.decision.probabilities else None

    basis = replace(basis, run=given, renew=renew)
    summary = summarise(run, weighing, found, described)
    if run.n_gold:
        summary["gold"] = {**summary.get("gold", {}), **compare_with_gold(run, weighing, honest)}
    skipped = list_skipped(summary.get("reading", {}), settings.get("engine", ""))
    issues = [*issues, *check_ties(int(found.total("drawn")), run.n_tasks), *skipped]
    summary["warnings"] = [issue.text for issue in issues]
    inputs, again = origin.inputs, partial(_find_again, method)
    return Result(run, weighing, found, summary, posteriors, basis, inputs, again, files=origin.scan.files)


def _find_again(method: Method, run: Run) -> TaskTable:
    """Find the truths of another run as these were found."""
    return find_truths(run, weigh(method, run), keep_gold=run.n_gold > 0 and without_gold(method) != method)


def renew(basis: Basis, more: Any, gold: Any, *, stacklevel: int = 3) -> Result:
    """Find the result for more answers.

    Warnings are in the name of a caller so many levels up, as if this were `Result.update`.
    """
    whole = basis.add(more, gold)
    run, method, known = whole.run, whole.method, whole.origin.gold
    check_served(method, run.encoding)
    issues = check_answers(run, known, again=True)
    issues += _check_gold(run, known, method) if gold is not None else []
    warn_of(issues, stacklevel=stacklevel)
    result = solve(whole, issues)
    note(result.summary, issues, stacklevel=stacklevel)
    if warning := limit_reached(method, result.weighing):
        warnings.warn(warning, stacklevel=stacklevel)
    return result


def open_history(history: Any, method: Method) -> History:
    """Read what is known of workers, for a method that uses it."""
    if not isinstance(method, Informed):
        raise UnsupportedError(f"{method.name} does not use a history of workers. auto does.")
    from allalike.api.history import read_history

    return read_history(history)


def _check_confidence(least: Any) -> float:
    if float(check_number(least, "min_confidence", least=0)) > 1:
        raise OptionError(f"min_confidence is {least!r}. It must be a probability, at most 1.")
    return float(least)


def find_ties(seed: int, ties: str) -> Ties:
    """Say how winners are drawn among equals: by the seed, or the first."""
    if not isinstance(seed, Integral):
        raise OptionError(f"seed is {seed!r}. It must be a whole number.")
    return Ties(seed, first=check_choice(ties, ("random", "first"), "ties") == "first")


def open_run(
    source: Answers | Scan, known: Gold | None, *, engine: str | Engine | None, ties: Ties
) -> tuple[Engine, Run]:
    """Load answers into an engine, or have it read them where they are; return also which engine it is."""
    where, held = read_whole(source, engine)
    return where, load_run(where, held, known, ties, guessed=engine is None)


def read_whole(source: Answers | Scan, engine: str | Engine | None) -> tuple[Engine, Answers | Scan]:
    """Find the engine, and read the answers, unless it reads them itself."""
    where = _find_engine(engine, source)
    return where, source.read() if isinstance(source, Scan) and not where.reads(source) else source


def load_run(where: Engine, held: Answers | Scan, known: Gold | None, ties: Ties, *, guessed: bool) -> Run:
    """Load answers into an engine, and say in the notes which it is, if that was guessed."""
    if isinstance(held, Scan):
        with asking(held):
            run = where.open(held, known, ties)
    else:
        run = where.load(held if known is None else held.with_gold(known), ties)
    run = replace(run, frame=held.frame)
    if guessed and where.name != Memory.name:
        run = replace(run, notes={**run.notes, "guessed": {**run.notes.get("guessed", {}), "engine": where.name}})
    return run


def remark_names(run: Run, methods: Iterable[Any]) -> Run:
    """Return a run whose notes say what is called otherwise here, of the names that were given."""
    said = [note for method in methods if (note := explain_name(method, METHODS))]
    return replace(run, notes={**run.notes, "remarks": [*run.notes.get("remarks", ()), *said]}) if said else run


def _find_engine(engine: str | Engine | None, source: Answers | Scan) -> Engine:
    """Return the engine of this name, or the engine itself.

    If none is given, answers are kept in memory, unless the files take more than half of the free memory once read.
    """
    if engine is None:
        if isinstance(source, Scan):
            fetch_places(source.source, source.files.query, source.files.table)
        large = isinstance(source, Scan) and source.unpacked > free_memory() / 2
        return ENGINES["disk"]() if large else Memory()
    return choose(engine, ENGINES, "engine", Engine)


def check_served(method: Method, labels: Encoding) -> None:
    """Refuse a method that cannot deal with such labels, and name those that can."""
    if not serves(method, labels):
        able = [name for name, other in METHODS.items() if serves(other(), labels)]
        kind = f"{labels.domain.name} labels" + (f" of {labels.n_classes:,} classes" if labels.n_classes else "")
        raise UnsupportedError(
            f"{method.name} cannot serve {kind}: it needs {method.needs}. These methods can: {', '.join(able)}."
        )
