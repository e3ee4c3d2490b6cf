"""discover: from answers to truth, faults and weights."""

from __future__ import annotations

import platform
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.answers import Answers
from allalike.columns import Column
from allalike.domains import Domain, Matrix
from allalike.engines import ENGINES, Engine, Memory, Run
from allalike.errors import ConvergenceWarning, InputError, OptionError, UnsupportedError
from allalike.methods import METHODS, Method
from allalike.progress import report
from allalike.readers import read, read_gold
from allalike.registry import check_choice, make
from allalike.result import Result
from allalike.ties import Ties

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from allalike.blocks import Array, Floats
    from allalike.methods import Weighing

__all__ = ["discover", "weigh"]


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
    weighing = _weigh(chosen, run)
    report("deciding")
    found = _decide(run, weighing)
    settings = {
        "domain": answers.domain.describe(),
        "method": chosen.describe(),
        "engine": where.name,
        "seed": seed,
        "ties": ties,
    }
    return Result(answers, weighing, found, _summary(answers, weighing, found, settings))


def weigh(
    matrix: npt.ArrayLike,
    *,
    workers: Any = None,
    similarity: bool = False,
    method: str | Method = "iP-TD",
) -> pd.DataFrame:
    """Weigh workers whose distances to each other are known, or their similarities.

    A similarity a becomes the distance max(a) - a, and with ``weighting="chance"`` the weight is the average
    similarity itself.

    Parameters
    ----------
    matrix
        One row and one column per worker, symmetric; the diagonal does not count. NaN where two workers have no
        task in common.
    workers
        The ids of the workers; by default their numbers.
    similarity
        Whether large numbers mean close.
    method
        As in `discover`.

    >>> weigh([[0, 1, 4], [1, 0, 3], [4, 3, 0]], workers=["ada", "bob", "eve"], method="P-TD")
      worker  disparity  fault  weight
    0    ada        2.5    2.5     0.4
    1    bob        2.0    2.0     0.6
    2    eve        3.5    3.5     0.0
    """
    distances, farthest = _distances(matrix, similarity=similarity)
    n_workers = len(distances)
    ids = Column.of_objects("worker", list(range(n_workers)) if workers is None else list(workers))
    task = Column.of_objects("task", [0] * n_workers)
    label = Column.of_objects("label", list(range(n_workers)))
    if len(ids) != n_workers:
        raise InputError(f"There are {len(ids)} workers for a matrix of {n_workers} rows.")
    domain = Matrix(distances=distances, farthest=farthest)
    answers = Answers.of_columns(ids, task, label, domain, repeats="error")
    chosen = make(method, METHODS, "method") if isinstance(method, str) else method
    if not chosen.serves(domain):
        raise UnsupportedError(f"{chosen.name} needs the answers themselves. Use allalike.discover.")
    result = Result(answers, _weigh(chosen, Memory().load(answers, Ties())), {}, {})
    return result.workers.drop(columns="answers")


def _weigh(method: Method, run: Run) -> Weighing:
    weighing = method.weigh(run)
    if not weighing.converged:
        warnings.warn(
            f"{method.name} stopped at its limit of {weighing.iterations} rounds; more rounds may change the weights a"
            " little.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return weighing


def _decide(run: Run, weighing: Weighing) -> dict[str, Array]:
    """Find the truths with the weights, and beside them without."""
    by_rule = partial(run.domain.aggregate, ties=run.ties)
    found = run.collect(weighing.decide or by_rule, weighing.weight, weighing.fault)
    equal = np.ones(run.crowds.n_workers)
    unweighted = run.collect(by_rule, equal, weighing.fault)["label"]
    return {**found, "unweighted": unweighted, "changed": run.domain.differs(found["label"], unweighted)}


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
        "effective_workers": float(1 / np.square(weighing.weight).sum()),
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
    return float(answers.domain.distance(label[answers.gold_task], answers.gold_label).mean())


def _distances(matrix: npt.ArrayLike, *, similarity: bool) -> tuple[Floats, float | None]:
    try:
        values = np.array(matrix, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The matrix cannot be read as numbers: {error}.") from None
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not len(values):
        raise InputError(f"The matrix has shape {values.shape}. It needs one row and one column per worker.")
    np.fill_diagonal(values, np.nan)
    if np.isinf(values).any():
        raise InputError("The matrix has an infinite entry.")
    known = values[~np.isnan(values)]
    if not np.allclose(values, values.T, rtol=1e-9, atol=0, equal_nan=True):
        raise InputError("The matrix is not symmetric.")
    farthest = float(known.max()) if similarity and len(known) else None
    values = values if farthest is None else farthest - values
    if (values < 0).any():
        raise InputError("A distance is negative. Say similarity=True if large numbers mean close.")
    np.fill_diagonal(values, 0.0)
    return values, farthest
