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
    from allalike.methods import Weighing
    from allalike.methods.base import Decide

__all__ = ["discover"]


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
    check_choice(ties, ("random", "first"), "ties")
    chosen = make(method, METHODS, "method") if isinstance(method, str) else method
    where = make(engine, ENGINES, "engine") if isinstance(engine, str) else engine or Memory()
    if not isinstance(answers, Answers):
        answers = read(answers, domain=domain)
    elif domain is not None:
        raise OptionError("The answers have a domain already. Give it to allalike.read, not to discover.")
    if not chosen.serves(answers.domain):
        able = [name for name, other in METHODS.items() if other().serves(answers.domain)]
        raise UnsupportedError(
            f"{chosen.name} cannot serve {answers.domain.name} labels. These can: {', '.join(able)}."
        )
    if gold is not None:
        answers = read_gold(gold, answers)
    run = where.load(answers, Ties(seed, first=ties == "first"))
    weighing = chosen.weigh_or_warn(run)
    report("deciding")
    decide = partial(_decide, domain=run.domain, ties=run.ties, own=weighing.decide)
    found = run.collect(decide, weighing.weight, weighing.fault)
    settings = {
        "domain": answers.domain.describe(),
        "method": chosen.describe(),
        "engine": where.name,
        "seed": seed,
        "ties": ties,
    }
    return Result(answers, weighing, found, _summary(answers, weighing, found, settings))


def _decide(
    block: Block, weights: Floats, faults: Floats, *, domain: Domain, ties: Ties, own: Decide | None
) -> dict[str, Array]:
    """Find the truths of a block with the weights, and beside them without."""
    by_rule = partial(domain.aggregate, ties=ties)
    found = (own or by_rule)(block, weights, faults)
    unweighted = by_rule(block, np.ones(block.n_workers), faults)["label"]
    return {**found, "unweighted": unweighted, "changed": domain.differs(block, found["label"], unweighted)}


def _summary(answers: Answers, weighing: Weighing, found: dict[str, Array], settings: dict[str, Any]) -> dict[str, Any]:
    import pyarrow as pa

    from allalike import __version__

    summary = {
        "answers": answers.n_answers,
        "workers": len(answers.workers),
        "tasks": len(answers.tasks),
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
            "error": _error(answers, found["label"]),
            "unweighted_error": _error(answers, found["unweighted"]),
        }
    summary["versions"] = {
        "allalike": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }
    return summary


def _error(answers: Answers, label: Array) -> float:
    return float(answers.domain.apart(label[answers.gold_task], answers.gold_label).mean())
