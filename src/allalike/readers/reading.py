"""read and scan: from files, frames and rows to answers, now or when an engine wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.domains import DOMAINS, Domain
from allalike.readers.scanning import Scan
from allalike.registry import choose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.answers import Answers

__all__ = ["read", "scan"]


def read(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    wide: str | None = None,
    repeats: str = "first",
    missing: str = "error",
    domain: str | Domain | None = None,
) -> Answers:
    """Read answers from a file, several, a frame or rows of (worker, task, label).

    Parameters
    ----------
    source
        A path or several (CSV, TSV, JSON lines, JSON, Parquet; globs too), a pandas, polars or pyarrow table, a
        mapping of columns, or rows of (worker, task, label).
    columns
        Which column is which: ``{"worker": ..., "task": ..., "label": ...}``. What is not given is recognised by
        its name.
    wide
        ``tasks`` for one row per task and one column per worker, ``workers`` for one row per worker.
    repeats
        Which answer to keep where a worker answered a task more than once: ``first``, ``last``, or ``error``.
    missing
        What to do with rows without a label: ``error``, or ``drop`` them.
    domain
        The kind of label: a name from `allalike.DOMAINS`, a `Domain`, or nothing to have it guessed.

    >>> answers = read({"annotator": ["ada", "bob"], "item": ["007", "007"], "vote": [1, 1]})
    >>> answers.notes["guessed"]["columns"]
    {'worker': 'annotator', 'task': 'item', 'label': 'vote'}
    """
    return scan(source, columns=columns, wide=wide, repeats=repeats, missing=missing, domain=domain).read()


def scan(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    wide: str | None = None,
    repeats: str = "first",
    missing: str = "error",
    domain: str | Domain | None = None,
) -> Scan:
    """Name answers for `discover`, and say how to read them, as `read` does, but leave the reading to the engine.

    The disk engine reads files in a stream, and Spark on its executors, so that they need not fit in memory. The
    parameters are those of `read`; with Spark, the source may also be a Spark data frame, the name of a table, or a
    path that Spark can read.

    >>> import allalike
    >>> source = scan([("ada", 7, 1.5), ("bob", 7, 2.5)], domain="real")
    >>> allalike.discover(source, engine="disk").truth["label"].tolist()
    [2.0]
    """
    kind = None if domain is None else choose(domain, DOMAINS, "domain", Domain)  # type: ignore[type-abstract]
    return Scan(source=source, columns=columns or {}, wide=wide, repeats=repeats, missing=missing, domain=kind)
