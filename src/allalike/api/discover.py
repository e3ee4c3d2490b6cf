"""discover: from answers to truth, faults and weights."""

from __future__ import annotations

import platform
import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.api.calibration import calibrate
from allalike.api.doubts import doubt_draws, find_doubts, warn_of
from allalike.api.groups import describe_trust
from allalike.api.history import read_history
from allalike.api.known import keep_known, rank_correlation
from allalike.api.opening import open_source
from allalike.api.recipes import write_recipe
from allalike.api.result import Result
from allalike.api.targets import inputs_of
from allalike.api.update import Origin
from allalike.blocks.ties import Ties
from allalike.engines import ENGINES, Engine, Memory
from allalike.errors import OptionError, UnsupportedError
from allalike.methods import METHODS, Method
from allalike.methods.votes import serves, weigh
from allalike.options import check_choice, check_number
from allalike.readers import Scan
from allalike.registry import choose
from allalike.system.memory import free_memory
from allalike.system.progress import report
from allalike.trust.numbers import find_truth_limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.answers import Answers
    from allalike.answers.gold import Gold
    from allalike.answers.history import History
    from allalike.api.doubts import Doubt
    from allalike.blocks.block import Array, Block, Floats
    from allalike.domains import Domain, Encoding, Kernels
    from allalike.engines import News, Run, TaskTable
    from allalike.methods import Weighing
    from allalike.methods.base import Decide

__all__ = [
    "check_served",
    "describe_answers",
    "discover",
    "find_ties",
    "find_truths",
    "find_versions",
    "open_run",
    "settle",
]


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
    columns: Mapping[str, str] | None = None,
    wide: str | None = None,
    missing: str = "error",
    repeats: str | None = None,
    abstain: Any = (),
    gold_columns: Mapping[str, str] | None = None,
) -> Result:
    """Find the truth behind noisy answers, and how good each worker is.

    Parameters
    ----------
    answers
        A path or several (CSV, TSV, JSON lines, Parquet; globs too), a pandas, polars or pyarrow table, rows of
        (worker, task, label), what `allalike.read` or `allalike.scan` returns, or with Spark its data frame or table.
    domain
        The kind of label: a name from `allalike.DOMAINS`, a `Domain`, or nothing to have it guessed.
    method
        A name from `allalike.METHODS`, with options in brackets if need be, or a `Method`. ``auto`` is the safe and
        most accurate one.
    engine
        Where it runs: a name from `allalike.ENGINES` or an `Engine`. By default ``memory``, and ``disk`` for files that
        are larger than half of the free memory.
    gold
        Truths that are known: a path or a table with task and label, a mapping, rows of (task, label), or
        ``"column:NAME"`` for a column of the answers' own table. The summary reports the error against them. OA uses
        them, and auto where the answers can be read in several ways.
    history
        What is known of workers from earlier answers, for auto: a result, the path of its table of workers, or a table
        with worker, answers and error_rate (or rmse).
    plain
        Whether to leave out what auto does about copies and about workers whose answers say nothing; the other methods
        are always as their papers have them.
    seed
        Which of the possible draws to take where labels are tied.
    ties
        ``random`` draws a winner among equals by a hash of seed, task and label; ``first`` takes the first label.
    min_confidence
        How sure a truth must be at least; tasks with less have no label.
    columns, wide, missing, repeats, abstain
        How the answers are read, as in `allalike.read`, which has further options for files.
    gold_columns
        Which columns of the gold are which, where their names do not tell: ``{"task": ..., "label": ...}``.

    Answers that are hardly what was meant give a `DataWarning`; what else is strange is in the summary's ``warnings``.

    >>> import allalike
    >>> rows = [("ada", "t1", "cat"), ("bob", "t1", "cat"), ("eve", "t1", "dog"), ("ada", "t2", "dog"),
    ...         ("bob", "t2", "dog"), ("eve", "t2", "cat")]
    >>> result = allalike.discover(rows, gold={"t1": "cat"})
    >>> result.truth["label"].tolist(), result.summary["gold"]["error"]
    (['cat', 'dog'], 0.0)
    """
    draws = find_ties(seed, ties)
    least: dict[str, Any] = {} if min_confidence is None else {"min_confidence": _check_confidence(min_confidence)}
    chosen = choose(method, METHODS, "method", Method)  # type: ignore[type-abstract]
    chosen = chosen.plainly() if plain else chosen
    past = None if history is None else open_history(history, chosen)
    how = {"columns": columns, "wide": wide, "missing": missing, "repeats": repeats, "abstain": abstain}
    source, known = open_source(answers, gold, gold_columns, domain=domain, **how)
    where, run = open_run(source, known, engine=engine, ties=draws)
    origin = replace(Origin.of(source, known), inputs=inputs_of(source, gold, history), history=past)
    check_served(chosen, run.encoding)
    doubts = find_doubts(run, origin.gold)
    warn_of(doubts, stacklevel=2)
    result = _solve(run, chosen, origin, doubts, engine=where.name, seed=seed, ties=ties, **least)
    if warning := chosen.limit_reached(result.weighing):
        warnings.warn(warning, stacklevel=2)
    return replace(result, recipe=write_recipe(source, gold, gold_columns, history))


def _solve(
    run: Run,
    method: Method,
    origin: Origin,
    doubts: list[Doubt],
    earlier: tuple[Weighing, News] | None = None,
    **settings: Any,
) -> Result:
    given, run = run, calibrate(run)
    if origin.history is not None:
        run.history = origin.history.of_workers(run.workers.tolist(), most=1.0 if run.encoding.n_classes else np.inf)
    weighing = settle(run, weigh(method, run, earlier))
    report("deciding")
    learns = run.n_gold > 0 and method.without_gold() != method
    find = partial(find_truths, run, unweighted=True, min_confidence=settings.get("min_confidence"))
    found = find(weighing, keep_gold=learns)
    honest = find(method.weigh_blindly(run, weighing)) if learns else found
    if "min_confidence" in settings and not found.count("confidence"):
        raise UnsupportedError(f"min_confidence is given, but {method.name} does not say how sure these truths are.")
    described = {"domain": {**run.encoding.describe(), **weighing.choices}, "method": method.describe(), **settings}
    posteriors = partial(find_posteriors, run, weighing) if weighing.probabilities else None

    renew = partial(_renew, given, method, origin, weighing, settings)
    summary = _summary(run, weighing, found, described)
    if run.n_gold:
        summary["gold"] = {**summary.get("gold", {}), **_compare_with_gold(run, weighing, honest)}
    doubts = [*doubts, *doubt_draws(summary["tied"], run.n_tasks)]
    summary["warnings"] = [doubt.what for doubt in doubts]
    return Result(run, weighing, found, summary, posteriors, renew, origin.inputs, partial(_find_again, method))


def _find_again(method: Method, run: Run) -> TaskTable:
    """Find the truths of another run as these were found."""
    return find_truths(run, weigh(method, run), keep_gold=run.n_gold > 0 and method.without_gold() != method)


def _renew(
    run: Run, method: Method, origin: Origin, weighing: Weighing, settings: dict[str, Any], more: Any, gold: Any
) -> Result:
    grown, remembered, news = origin.grow(run, more, gold)
    check_served(method, grown.encoding)
    doubts = find_doubts(grown, remembered.gold, again=True)
    warn_of(doubts, stacklevel=3)  # whoever called `Result.update`
    result = _solve(grown, method, remembered, doubts, (weighing, news), **settings)
    if warning := method.limit_reached(result.weighing):
        warnings.warn(warning, stacklevel=3)
    return result


def open_history(history: Any, method: Method) -> History:
    """Read what is known of workers, for a method that uses it."""
    if not method.uses_history:
        raise UnsupportedError(f"{method.name} does not use a history of workers. auto does.")
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
    where = _find_engine(engine, source)
    if isinstance(source, Scan) and where.reads(source):
        run = where.open(source, known, ties)
    else:
        whole = source.read() if isinstance(source, Scan) else source
        run = where.load(whole if known is None else whole.with_gold(known), ties)
    run.find_units()
    if engine is None and where.name != Memory.name:
        run.notes["guessed"] = {**run.notes.get("guessed", {}), "engine": where.name}
    return where, run


def _find_engine(engine: str | Engine | None, source: Answers | Scan) -> Engine:
    """Return the engine of this name, or the engine itself.

    If none is given, answers are kept in memory, unless they are files larger than half of what is free.
    """
    if engine is None:
        large = isinstance(source, Scan) and source.size > free_memory() / 2
        return ENGINES["disk"]() if large else Memory()
    return choose(engine, ENGINES, "engine", Engine)  # type: ignore[type-abstract]


def check_served(method: Method, labels: Encoding) -> None:
    """Refuse a method that cannot deal with such labels, and name those that can."""
    if not serves(method, labels):
        able = [name for name, other in METHODS.items() if serves(other(), labels)]
        kind = f"{labels.domain.name} labels" + (f" of {labels.n_classes:,} classes" if labels.n_classes else "")
        raise UnsupportedError(
            f"{method.name} cannot serve {kind}: it needs {method.needs}. These methods can: {', '.join(able)}."
        )


def settle(run: Run, weighing: Weighing) -> Weighing:
    """Return the weighing with a rule that is settled for its weights, where the rule depends on them in this way."""
    kernels = run.kernels
    settled = kernels if weighing.decide else kernels.settle(run.sum, weighing.weight)
    if settled is kernels:
        return weighing
    decide = partial(settled.aggregate, ties=run.ties)
    return replace(weighing, decide=decide, choices=settled.describe_choices())


def find_truths(
    run: Run,
    weighing: Weighing,
    *,
    unweighted: bool = False,
    keep_gold: bool = False,
    min_confidence: float | None = None,
) -> TaskTable:
    """Find the truths of all tasks as the method decides them, and beside them those without weights if asked for.

    If gold is kept, the truths that are known stand in the place of those found.
    Where truths are known, ``gold`` is how far the one found is from it, and NaN for all other tasks. Numbers have
    limits, ``low`` and ``high``, if the variances of workers are known. If truths must have some confidence,
    ``abstained`` tells which have less, and these count neither as changed nor as errors.
    """
    variance = None if weighing.trust is None else weighing.trust.variance
    equal = run.kernels.settle(run.sum, np.ones(run.problems.n_workers)) if unweighted else run.kernels
    kernel = partial(
        _decide,
        own=settle(run, weighing).decide or partial(run.kernels.aggregate, ties=run.ties),
        by_rule=partial(equal.aggregate, ties=run.ties) if unweighted else None,
        kernels=run.kernels,
        gold=run.n_gold > 0,
        keep=run.encoding if keep_gold else None,
        limits=None if variance is None else partial(find_truth_limits, groups=weighing.groups),
        least=min_confidence,
    )
    more = weighing.parameters if variance is None else (*weighing.parameters, variance)
    return run.find(kernel, weighing.weight, weighing.fault, *more)


def find_posteriors(run: Run, weighing: Weighing) -> TaskTable:
    """Find how probable each class is, per task."""
    assert weighing.probabilities is not None
    return run.find(weighing.probabilities, weighing.weight, weighing.fault, *weighing.parameters)


def _decide(
    block: Block,
    weights: Floats,
    faults: Floats,
    *more: Floats,
    own: Decide,
    by_rule: Decide | None,
    kernels: Kernels,
    gold: bool,
    keep: Encoding | None,
    limits: Decide | None,
    least: float | None,
) -> dict[str, Array]:
    found = own(block, weights, faults, *(more[:-1] if limits else more))
    if limits:
        found = {**found, **limits(block, weights, more[-1], found["label"], found["error"])}
    found = found if keep is None else keep_known(block, found, keep)
    labels = {"gold": found["label"]}
    if by_rule is not None:
        plain = by_rule(block, np.ones(block.n_workers), faults)["label"]
        found = {
            **found,
            "unweighted": plain,
            "changed": kernels.differs(found["label"], plain, kernels.scatter(block)),
        }
        labels["unweighted_gold"] = plain
    if gold:
        found |= {name: _gold_distance(block, label, kernels) for name, label in labels.items()}
    return found if least is None else _abstain(found, found["confidence"] < least)


def _abstain(found: dict[str, Array], unsure: Array) -> dict[str, Array]:
    errors = {name: np.where(unsure, np.nan, column) for name, column in found.items() if name.endswith("gold")}
    changed = {"changed": found["changed"] & ~unsure} if "changed" in found else {}
    return {**found, **errors, **changed, "abstained": unsure}


def _gold_distance(block: Block, label: Array, kernels: Kernels) -> Floats:
    distance = np.full(block.n_tasks, np.nan)
    if len(block.gold_task):
        distance[block.gold_task] = kernels.distance_between(label[block.gold_task], kernels.restore_gold(block))
    return distance


def describe_answers(run: Run) -> dict[str, int]:
    """Count answers, workers and tasks for a summary."""
    return {"answers": int(run.answer_counts.sum()), "workers": len(run.workers), "tasks": run.n_tasks}


def find_versions() -> dict[str, str]:
    """Say in a summary with which versions it was found."""
    import pyarrow as pa

    from allalike import __version__

    return {
        "allalike": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }


def _confidence(run: Run, weighing: Weighing, found: TaskTable) -> dict[str, Any]:
    """Say how sure the truths are, and how many answers a task has and how many independent ones they count like."""
    assert weighing.confidence is not None
    per_task = {"voices_per_task": found.mean("voices"), "answers_per_task": int(run.answer_counts.sum()) / run.n_tasks}
    return _rounded({**weighing.confidence, "mean": found.mean("confidence"), **per_task})


def _rounded(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Return notes with six digits of each number, of which the last ones depend on the order of additions."""
    return {name: _round(value) for name, value in notes.items()}


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return _rounded(value)
    return [_round(each) for each in value] if isinstance(value, list) else value


def _summary(run: Run, weighing: Weighing, found: TaskTable, settings: dict[str, Any]) -> dict[str, Any]:
    summary = {
        **describe_answers(run),
        **settings,
        "iterations": weighing.iterations,
        "converged": weighing.converged,
        "changed": int(found.total("changed")),
        "tied": int(found.total("tied")),
        **({"abstained": int(found.total("abstained"))} if "min_confidence" in settings else {}),
        **({"confidence": _confidence(run, weighing, found)} if weighing.confidence is not None else {}),
        **({"reading": _rounded(weighing.notes)} if weighing.notes else {}),
        **({"trust": _rounded(trust)} if (trust := describe_trust(run, weighing)) else {}),
        "effective_workers": float(len(run.problems.sizes) / np.square(weighing.weight).sum()),
        **run.notes,
    }
    return {**summary, "versions": find_versions()}


def _compare_with_gold(run: Run, weighing: Weighing, found: TaskTable) -> dict[str, Any]:
    """Say how far the truths are from those that are known, where these were not looked at, and who predicted it."""
    errors = {"error": found.mean("gold"), "unweighted_error": found.mean("unweighted_gold")}
    return {**errors, **rank_correlation(run, weighing.disparity)}
