"""discover: from answers to truth, faults and weights."""

from __future__ import annotations

import platform
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.answers import Answers
from allalike.engines import ENGINES, Engine, Memory
from allalike.errors import OptionError, UnsupportedError
from allalike.methods import METHODS, Method
from allalike.progress import report
from allalike.readers import read, read_gold
from allalike.registry import check_choice, make
from allalike.result import Result
from allalike.ties import Ties

if TYPE_CHECKING:
    from allalike.blocks import Array, Block, Floats
    from allalike.domains import Domain
    from allalike.engines import Run
    from allalike.methods import Weighing
    from allalike.methods.base import Decide

__all__ = [
    "apart_from_gold",
    "check_served",
    "collect_truths",
    "describe_answers",
    "discover",
    "find_engine",
    "find_ties",
    "find_versions",
    "take_answers",
]


def discover(
    answers: Any,
    *,
    domain: str | Domain | None = None,
    method: str | Method = "iP-TD",
    engine: str | Engine | None = None,
    gold: Any = None,
    seed: int = 0,
    ties: str = "random",
) -> Result:
    """Find the truth behind noisy answers, and how good each worker is.

    Parameters
    ----------
    answers
        A path or several (CSV, TSV, JSON lines, Parquet; globs too), a pandas, polars or pyarrow table, rows of
        (worker, task, label), or `Answers` from `allalike.read`.
    domain
        The kind of label: a name from `allalike.DOMAINS`, a `Domain`, or nothing to have it guessed.
    method
        A name from `allalike.METHODS`, with options in brackets if need be, or a `Method`.
    engine
        Where it runs: a name from `allalike.ENGINES` or an `Engine`. ``memory`` by default.
    gold
        Truths that are known: a path or a table with task and label, a mapping, or rows of (task, label). The
        summary reports the error against them, and OA uses them.
    seed
        Which of the possible draws to take where labels are tied.
    ties
        ``random`` draws a winner among equals by a hash of seed, task and label; ``first`` takes the first label.

    >>> import allalike
    >>> rows = [("ada", "t1", "cat"), ("bob", "t1", "cat"), ("eve", "t1", "dog"), ("ada", "t2", "dog"),
    ...         ("bob", "t2", "dog"), ("eve", "t2", "cat")]
    >>> result = allalike.discover(rows, gold={"t1": "cat"})
    >>> result.truth["label"].tolist(), result.summary["gold"]["error"]
    (['cat', 'dog'], 0.0)
    """
    draws = find_ties(seed, ties)
    chosen = make(method, METHODS, "method") if isinstance(method, str) else method
    where = find_engine(engine)
    answers = take_answers(answers, domain)
    check_served(chosen, answers.domain)
    if gold is not None:
        answers = read_gold(gold, answers)
    run = where.load(answers, draws)
    weighing = chosen.weigh_or_warn(run)
    report("deciding")
    found = collect_truths(run, weighing, unweighted=True)
    settings = {
        "domain": answers.domain.describe(),
        "method": chosen.describe(),
        "engine": where.name,
        "seed": seed,
        "ties": ties,
    }
    posteriors = partial(collect_posteriors, run, weighing) if weighing.probabilities else None
    return Result(answers, weighing, found, _summary(answers, weighing, found, settings), posteriors)


def find_ties(seed: int, ties: str) -> Ties:
    """Say how winners are drawn among equals: by the seed, or the first."""
    return Ties(seed, first=check_choice(ties, ("random", "first"), "ties") == "first")


def find_engine(engine: str | Engine | None) -> Engine:
    """Return the engine of this name, or the engine itself; the memory if none is given."""
    return make(engine, ENGINES, "engine") if isinstance(engine, str) else engine or Memory()


def take_answers(source: Any, domain: str | Domain | None) -> Answers:
    """Return answers as they are, or read them; those that are read already have a domain."""
    if not isinstance(source, Answers):
        return read(source, domain=domain)
    if domain is not None:
        raise OptionError("The answers have a domain already. Give it to allalike.read instead.")
    return source


def check_served(method: Method, domain: Domain) -> None:
    """Refuse a method that cannot deal with such labels, and name those that can."""
    if not method.serves(domain):
        able = [name for name, other in METHODS.items() if other().serves(domain)]
        kind = f"{domain.name} labels" + (f" of {domain.n_classes:,} classes" if domain.n_classes else "")
        raise UnsupportedError(
            f"{method.name} cannot serve {kind}: it needs {method.needs}. These methods can: {', '.join(able)}."
        )


def collect_truths(run: Run, weighing: Weighing, *, unweighted: bool = False) -> dict[str, Array]:
    """Find the truths of all tasks as the method decides them, and beside them those without weights if asked for."""
    by_rule = partial(run.domain.aggregate, ties=run.ties)
    own = weighing.decide or by_rule
    kernel = partial(_decide_both, own=own, by_rule=by_rule, domain=run.domain) if unweighted else own
    return run.collect(kernel, weighing.weight, weighing.fault, *weighing.parameters)


def collect_posteriors(run: Run, weighing: Weighing) -> Array:
    """Find how probable each class is, per task."""
    assert weighing.probabilities is not None
    found = run.collect(weighing.probabilities, weighing.weight, weighing.fault, *weighing.parameters)
    return found["probability"]


def _decide_both(
    block: Block, weights: Floats, faults: Floats, *more: Floats, own: Decide, by_rule: Decide, domain: Domain
) -> dict[str, Array]:
    found = own(block, weights, faults, *more)
    unweighted = by_rule(block, np.ones(block.n_workers), faults)["label"]
    return {**found, "unweighted": unweighted, "changed": domain.differs(block, found["label"], unweighted)}


def apart_from_gold(answers: Answers, label: Array) -> Floats:
    """Measure, per task with gold, how far the truth found is from the one known."""
    return answers.domain.apart(label[answers.gold_task], answers.gold_label)


def describe_answers(answers: Answers) -> dict[str, int]:
    """Count answers, workers and tasks for a summary."""
    return {"answers": answers.n_answers, "workers": len(answers.workers), "tasks": len(answers.tasks)}


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


def _summary(answers: Answers, weighing: Weighing, found: dict[str, Array], settings: dict[str, Any]) -> dict[str, Any]:
    summary = {
        **describe_answers(answers),
        **settings,
        "iterations": weighing.iterations,
        "converged": weighing.converged,
        "changed": int(found["changed"].sum()),
        "tied": int(found["tied"].sum()),
        "effective_workers": float(len(answers.crowds.sizes) / np.square(weighing.weight).sum()),
        **answers.notes,
    }
    if len(answers.gold_task):
        summary["gold"] = {
            **answers.notes.get("gold", {}),
            "error": float(apart_from_gold(answers, found["label"]).mean()),
            "unweighted_error": float(apart_from_gold(answers, found["unweighted"]).mean()),
        }
    return {**summary, "versions": find_versions()}
