"""Estimate labels and worker quality from answers: read, load, check, fit, estimate labels."""

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
from allalike.checks import check_answers, check_read_answers, check_ties, emit_warnings, list_skipped
from allalike.engines import ENGINES, Engine, Memory, make_ready
from allalike.errors import GoldError, OptionError, UnsupportedError
from allalike.gold import find_misfit
from allalike.methods import METHODS, Method
from allalike.methods.base import ScreeningMethod, limit_reached, without_gold
from allalike.methods.composed import fit_without_gold, serves, weigh
from allalike.readers import ReadOptions, Scan, check_read_options
from allalike.readers.formats.remote_files import fetch_places
from allalike.readers.proposals import asking
from allalike.result.messages import note
from allalike.result.result import Result
from allalike.result.saved import Call
from allalike.result.summaries import compare_with_gold, find_posteriors, find_truths, summarise, with_quorum
from allalike.sources import inputs_of, name_inputs, open_source, suggest_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allalike.answers import Answers
    from allalike.answers.gold import Gold, History
    from allalike.checks import Issue
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run

_ORACLE = "OA"  # which needs gold labels


def discover(
    answers: Any,
    *,
    domain: str | Domain | None = None,
    method: str | Method = "auto",
    engine: str | Engine | None = None,
    gold: Any = None,
    history: Any = None,
    screening: bool = True,
    seed: int = 0,
    ties: str = "random",
    min_confidence: float | None = None,
    gold_columns: Mapping[str, str] | None = None,
    gold_map: Any = None,
    use_gold: bool = True,
    **how: Unpack[ReadOptions],
) -> Result:
    """Estimate the correct label of each task, and the quality of each worker.

    Parameters
    ----------
    answers
        One or several paths (CSV, TSV, JSON lines, Parquet; globs are allowed), an address (``s3://...``,
        ``postgresql://...``), a pandas, polars, pyarrow or Hugging Face table, any other Arrow stream, rows of (worker,
        task, label), a label matrix, what `allalike.read` or `allalike.scan` returns, or a Spark data frame or table.
        Tables of the result have the same type (`Result.tables_as`).
    domain
        Label type: a name from `allalike.DOMAINS`, a `Domain`, or None to infer it.
    method
        A name from `allalike.METHODS`, with options in brackets if necessary, or a `Method`. ``auto`` weights workers
        only if a split-half test supports the weights.
    engine
        A name from `allalike.ENGINES` or an `Engine`. Default: ``memory``, or ``disk`` for files that are larger than
        half of the free memory.
    gold
        Gold labels: a path or a table with task and label, a mapping, rows of (task, label), ``"column:NAME"`` for a
        column of the table of answers, or ``"export"`` for gold labels that a tool marks in its export. auto and OA use
        them as evidence, after a check that they fit the answers. The error in the summary is estimated without them.
    history
        Worker statistics from an earlier run, for the method auto: a result, its folder, its table of workers, or a
        table with worker, answers and error_rate (or rmse).
    screening
        Whether auto screens the crowd for copies and uninformative workers.
    seed
        Random seed for breaking ties.
    ties
        ``random`` breaks ties by a hash of seed, task and label; ``first`` takes the first label.
    min_confidence
        Minimum confidence; tasks with a lower confidence get no label.
    gold_columns
        Columns of the gold labels, if their names are ambiguous: ``{"task": ..., "label": ...}``.
    gold_map
        Mapping from gold labels to answers, if they are spelled differently: a mapping, a file with the columns from
        and to, or a text such as ``0=1,1=2``; ``same`` if gold labels and answers mean the same.
    use_gold
        Whether gold labels are used as evidence, or only to measure the error.
    **how
        Options for reading the input, as in `allalike.read`: columns, wide, duplicates, missing, na_values,
        abstain_label, label_map, tool, question, worker_from, encoding, decimal, include, exclude, layout, query,
        table.

    Issues a `DataWarning` if the answers were probably misread, and a `DataNote` about excluded rows or unusual input.
    `Result.notes` lists all warnings.

    >>> import allalike
    >>> rows = [("ada", "t1", "cat"), ("bob", "t1", "cat"), ("eve", "t1", "dog"), ("ada", "t2", "dog"),
    ...         ("bob", "t2", "dog"), ("eve", "t2", "cat")]
    >>> result = allalike.discover(rows, gold={"t1": "cat"})
    >>> result.truth["label"].tolist(), result.summary["gold"]["error"]
    (['cat', 'dog'], 0.0)
    """
    check_read_options(discover, how)
    draws, chosen = find_ties(seed, ties), _choose_method(method, screening=screening, use_gold=use_gold)
    settings = {"seed": seed, "ties": ties, **_check_confidence(min_confidence)}
    past = None if history is None else _read_history(history, chosen)
    source, known = open_source(answers, gold, gold_columns, gold_map, domain=domain, **how)
    where, held = read_whole(source, engine)
    early = check_read_answers(held)
    emit_warnings(early, stacklevel=2, source=source)
    try:
        run = load_run(where, held, known, draws, guessed=engine is None)
    except GoldError as error:
        raise _explain_gold(error, where, held, known, gold) from error
    run = note_aliases(run, [method])
    check_served(chosen, run.encoding)
    if isinstance(source, Scan):
        read = replace(source, source=None)
    else:
        read, known = Scan(source=None, **source.read_options), known or source.gold
    issues = [*check_answers(run, known), *check_gold(run, known, chosen)]
    emit_warnings((issue for issue in issues if issue not in early), stacklevel=2, source=source)
    call = Call(run, where, chosen, {"engine": where.name, **settings}, read, known, gold_map, past)
    result = fit(call, issues, stacklevel=3)
    return replace(result, inputs=inputs_of(source, gold, history), sources=name_inputs(source, gold, history))


def fit(call: Call, issues: Sequence[Issue], *, stacklevel: int) -> Result:
    """Fit the method to the answers of a call, and estimate all labels; ``stacklevel`` is that of `warnings.warn`."""
    method, settings = call.method, call.settings
    run = make_ready(call.run, call.history)
    learns = run.n_gold > 0 and without_gold(method) != method
    weighing = with_quorum(run, weigh(method, run))
    report("deciding")
    estimate = partial(find_truths, run, unweighted=True, min_confidence=settings.get("min_confidence"))
    found = estimate(weighing, keep_gold=learns)
    if "min_confidence" in settings and not found.count("confidence"):
        raise UnsupportedError(f"{method.name} does not estimate the confidence of these labels. Omit min_confidence.")
    domain = {**run.encoding.describe(), **weighing.choices}
    summary = summarise(run, weighing, found, {"domain": domain, "method": method.describe(), **settings})
    if run.n_gold:
        honest = estimate(fit_without_gold(method, run)) if learns else found
        summary["gold"] = {**summary.get("gold", {}), **compare_with_gold(run, weighing, honest)}
    skipped = list_skipped(summary.get("model", {}), settings["engine"])
    issues = [*issues, *check_ties(int(found.total("drawn")), run.n_tasks), *skipped]
    summary["warnings"] = [issue.text for issue in issues]
    note(summary, issues, stacklevel=stacklevel)
    if warning := limit_reached(method, weighing):
        warnings.warn(warning, stacklevel=stacklevel)
    posteriors = partial(find_posteriors, run, weighing) if weighing.probabilities else None
    call = replace(call, run=run) if run.encoding is call.run.encoding else call  # keep the sums of the run
    return Result(run, weighing, found, summary, method, posteriors, call)


def _choose_method(method: str | Method, *, screening: bool, use_gold: bool) -> Method:
    chosen = choose(method, METHODS, "method", Method)
    chosen = chosen.without_screening() if not screening and isinstance(chosen, ScreeningMethod) else chosen
    if use_gold:
        return chosen
    if chosen.name == _ORACLE:
        raise OptionError("use_gold is False, but OA needs gold labels. Omit use_gold, or use another method.")
    return without_gold(chosen)


def _check_confidence(least: Any) -> dict[str, float]:
    if least is None:
        return {}
    if float(check_number(least, "min_confidence", least=0)) > 1:
        raise OptionError(f"min_confidence is {least!r}. It must be a probability between 0 and 1.")
    return {"min_confidence": float(least)}


def _read_history(history: Any, method: Method) -> History:
    if not isinstance(method, ScreeningMethod):
        raise UnsupportedError(f"{method.name} does not use a history of workers. Omit history, or use method='auto'.")
    from allalike.history import read_history

    return read_history(history)


def find_ties(seed: int, ties: str) -> Ties:
    """Return the rule for breaking ties: by the seed, or by the order of labels."""
    if not isinstance(seed, Integral):
        raise OptionError(f"seed is {seed!r}. It must be an integer.")
    return Ties(seed, first=check_choice(ties, ("random", "first"), "ties") == "first")


def read_whole(source: Answers | Scan, engine: str | Engine | None) -> tuple[Engine, Answers | Scan]:
    """Choose the engine, and read the answers into memory unless the engine itself reads them.

    The default is ``memory``, or ``disk`` if the answers need more than half of the free memory.
    """
    if engine is not None:
        where = choose(engine, ENGINES, "engine", Engine)
    else:
        if isinstance(source, Scan):
            fetch_places(source.source, source.query, source.table)
        large = isinstance(source, Scan) and source.unpacked > free_memory() / 2
        where = ENGINES["disk"]() if large else Memory()
    return where, source.read() if isinstance(source, Scan) and not where.reads(source) else source


def load_run(where: Engine, held: Answers | Scan, known: Gold | None, ties: Ties, *, guessed: bool) -> Run:
    """Load answers into an engine; the notes contain the engine if it was inferred."""
    if isinstance(held, Scan):
        with asking(held):
            run = where.open(held, known, ties)
    else:
        run = where.load(held if known is None else held.with_gold(known), ties)
    run = replace(run, frame=held.frame)
    if guessed and where.name != Memory.name:
        run = replace(run, notes={**run.notes, "guessed": {**run.notes.get("guessed", {}), "engine": where.name}})
    return run


def _explain_gold(error: GoldError, where: Engine, held: Answers | Scan, known: Gold | None, gold: Any) -> GoldError:
    """Add the possible meanings of the gold labels to the error."""
    if known is None or known.stated:
        return error
    misfit = find_misfit(load_run(where, held, None, DRAWN, guessed=False), known)
    if misfit is not None and misfit.maps:
        return misfit.refuse(usable=False)
    return suggest_columns(error, held, gold)


def check_gold(run: Run, gold: Gold | None, method: Method) -> list[Issue]:
    """Check that gold labels fit the answers: raise GoldError if they are evidence, and return an issue otherwise."""
    misfit = find_misfit(run, gold) if gold is not None and run.n_gold else None
    if misfit is None:
        return []
    if method.name == _ORACLE or without_gold(method) != method:
        raise misfit.refuse()
    return [misfit.describe()]


def note_aliases(run: Run, methods: Iterable[Any]) -> Run:
    """Add a remark to the notes of a run for each method name from another library."""
    remarks = [alias for method in methods if (alias := explain_name(method, METHODS))]
    return replace(run, notes={**run.notes, "messages": [*run.notes.get("messages", ()), *remarks]}) if remarks else run


def check_served(method: Method, labels: Encoding) -> None:
    """Raise UnsupportedError if the method does not accept these labels."""
    if not serves(method, labels):
        able = [name for name, other in METHODS.items() if serves(other(), labels)]
        kind = f"{labels.domain.name} labels" + (f" of {labels.n_classes:,} classes" if labels.n_classes else "")
        raise UnsupportedError(
            f"{method.name} does not accept {kind}: it needs {method.needs}. Use one of: {', '.join(able)}."
        )
