"""Tables of a result as columns: labels, workers and next tasks; also its text and HTML representations."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import Values, shorten, table_of, text_column
from allalike._core.text_format import count
from allalike.answers.answers import format_columns
from allalike.frames import number_repeated
from allalike.methods.auto.uncertainty import FEW
from allalike.result.messages import (
    describe_gold_error,
    describe_label_confidence,
    describe_screening,
    format_counts,
    format_label_changes,
    list_notes,
)
from allalike.result.writers import Truth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Encoding
    from allalike.engines import Piece, Run, TaskTable
    from allalike.methods import Fit
    from allalike.methods.fit import Uncertainty
    from allalike.result.summary import Summary

ERRORS = ("error_rate", "rmse", "mean_error")  # the column of the table of workers is one of these
_IF_KNOWN = ("relative_error", "rank_low", "rank_high", "ci_low", "ci_high")
_MAIN_COLUMNS = ("task", "worker", "answers", *ERRORS, *_IF_KNOWN, "weight", "flag", "reason")
OUTCOMES = ("class", "tie", "inconclusive", "unreadable", "score")  # kinds of a panel's verdict on a task


def worker_columns(run: Run, fit: Fit) -> dict[str, Values | Array]:
    """Return the columns of the table of workers."""
    columns: dict[str, Values | Array] = {
        **({"task": run.worker_task} if run.worker_task is not None else {}),
        "worker": run.workers,
        "answers": run.answer_counts,
        **({"prior_answers": run.history.answers.astype(np.int64)} if run.history is not None else {}),
    }
    faults, error_rate = fit.uncertainty, fit.error_rate
    own = fit.columns or _own_columns(run, fit.weight)
    more = {**trust_columns(fit), **own}
    if faults is not None:
        known = {"shared_tasks": faults.shared, "disparity": fit.disparity, **fault_columns(fit, faults)}
        return {**columns, **known, "few_answers": faults.few, "weight": fit.weight, **more}
    error = {"mean_error": fit.fault} if error_rate is None else {"error_rate": error_rate}
    return {**columns, "disparity": fit.disparity, **error, "weight": fit.weight, **more}


def shorten_workers(columns: Mapping[str, Values | Array]) -> dict[str, Values | Array]:
    """Return the main columns of the table of workers, at most ten, without empty ones."""
    kept = {name: columns[name] for name in _MAIN_COLUMNS if name in columns}
    empty = [name for name in _IF_KNOWN if name in kept and np.isnan(np.asarray(kept[name], np.float64)).all()]
    kept = {name: column for name, column in kept.items() if name not in empty}
    if "ci_low" in kept:
        kept.pop("relative_error", None)  # an interval shows more
    return kept


def _own_columns(run: Run, weights: Floats) -> dict[str, Floats]:
    """Return the columns of workers that only some label types have."""
    able = run.encoding.fields, run.encoding.things, run.encoding.offsets
    tables = [each.worker_columns(run.sum, weights) for each in able if each is not None]
    return {name: column for columns in tables for name, column in columns.items()}


def trust_columns(fit: Fit) -> dict[str, Values | Array]:
    """Return the screening columns of the table of workers: informativeness, copy group, component."""
    known, groups = fit.uncertainty, fit.copy_groups
    if known is None or groups is None or known.uninformative is None:
        return {}
    assert known.informativeness is not None
    assert known.informativeness_se is not None
    group = np.full(len(groups.number), "", dtype=object)
    for number, each in enumerate(groups.groups, 1):
        if each.copies:
            group[list(each.members)] = str(number)
    return {
        "informativeness": known.informativeness,
        "informativeness_se": known.informativeness_se,
        "uninformative": known.uninformative,
        "copy_group": text_column(group.tolist()),
        **({"component": groups.component + 1} if groups.component is not None and groups.n_components > 1 else {}),
    }


def fault_columns(fit: Fit, faults: Uncertainty) -> dict[str, Floats]:
    """Return the estimated error of each worker, its interval, the error relative to the others, and the rank."""
    rate = fit.error_rate
    error = faults.best(fit.fault) if rate is None else rate
    scale = np.sqrt if faults.unit == "rmse" else np.asarray
    low, high = faults.interval_around(error)
    columns = {faults.unit: scale(error), "ci_low": scale(low), "ci_high": scale(high)}
    order = ("relative_error", "rank_low", "rank_high")
    return {**columns, **{name: each for name in order if (each := getattr(faults, name)) is not None}}


def find_few(run: Run, fit: Fit) -> npt.NDArray[np.bool_]:
    """Return whether each worker has few answers to shared tasks, or few answers if shared tasks are unknown."""
    faults = fit.uncertainty
    return run.answer_counts < FEW if faults is None else faults.few


def sureness(fit: Fit) -> str:
    """Return the name of the confidence column: ``support`` if auto estimates no probabilities."""
    known = fit.uncertainty
    return "support" if known is not None and known.confidence is None else "confidence"


def next_columns(piece: Piece, fit: Fit) -> dict[str, Values | Array]:
    """Return the columns of the table of next tasks."""
    return {
        "task": piece.tasks,
        sureness(fit): piece.found["confidence"],
        "answers": piece.answers,
        "gain": piece.found["gain"],
    }


def truth_columns(
    piece: Piece, encoding: Encoding, fit: Fit, decode: Callable[[str], Values] | None = None
) -> dict[str, Values | Array]:
    """Return the columns of the table of labels; ``decode`` replaces the decoding of the columns of labels."""
    show = decode or (lambda name: encoding.decode(piece.found[name]))
    own = encoding.truth_columns(piece.found)
    limits: dict[str, Values | Array] = {
        f"ci_{name}": own.pop(name, piece.found[name]) for name in ("low", "high") if name in piece.found
    }
    label = own.pop("label", None) or show("label")
    assert isinstance(label, Values)
    return {
        "task": piece.tasks,
        "label": label.without(piece.found["abstained"]) if "abstained" in piece.found else label,
        **({"verdict": text_column([OUTCOMES[n] for n in piece.found["verdict"]])} if "verdict" in piece.found else {}),
        **own,
        **(limits or {sureness(fit): piece.found["confidence"]}),
        "standard_error": piece.found["error"],
        "answers": piece.answers,
        **({"effective_answers": piece.found["voices"]} if "voices" in piece.found else {}),
        "tied": piece.found["tied"],
        "unweighted": show("unweighted"),
        "changed": piece.found["changed"],
        **({"is_gold": piece.found["known"]} if "known" in piece.found else {}),
    }


def object_table(piece: Piece, *, encoding: Encoding, **_: Any) -> pa.Table:
    """Return the table of the objects in labels."""
    assert encoding.things is not None
    return table_of(encoding.things.list_objects(piece.tasks, piece.found))


def probability_table(piece: Piece, *, encoding: Encoding, **_: Any) -> pa.Table:
    """Return the table of class probabilities, one column per class."""
    found = piece.found["probability"]
    names = number_repeated(["task", *map(str, encoding.decode(np.arange(found.shape[1])).tolist())])
    return table_of(dict(zip(names, (piece.tasks, *found.T), strict=True)))


def list_truths(pieces: Iterable[Piece], encoding: Encoding, fit: Fit) -> Iterator[Truth]:
    """Yield the label of each task, with its confidence if it is known."""
    for piece in pieces:
        columns = truth_columns(piece, encoding, fit)
        tasks, labels, sure = (columns.get(name) for name in ("task", "label", sureness(fit)))
        assert isinstance(tasks, Values)
        assert isinstance(labels, Values)
        known = [None] * len(tasks) if sure is None else [x if math.isfinite(x) else None for x in sure.tolist()]
        for task, label, confidence in zip(tasks.tolist(), labels.tolist(), known, strict=True):
            yield Truth(task, label, confidence)


def truth_table(piece: Piece, *, encoding: Encoding, fit: Fit, folder: Path) -> pa.Table:
    """Return the table of labels to write; masks and images are written as files into the folder."""
    pictures = encoding.domain.pictures
    if pictures is None:
        return table_of(truth_columns(piece, encoding, fit))

    def export(name: str) -> Values:
        kept = piece.found[name].copy()
        if name == "label" and "abstained" in piece.found:
            kept[piece.found["abstained"]] = None
        paths: Values = pictures.export(kept, piece.tasks, folder / {"label": "labels"}.get(name, name))
        return paths

    return table_of(truth_columns(piece, encoding, fit, export))


# Representations at a prompt and in a notebook.


_N_TRUTHS = 3  # labels at a prompt
_N_ROWS = 20  # rows of a table in a notebook


def result_text(summary: Summary, found: TaskTable, run: Run, *, has_groups: bool) -> str:
    """Describe a result: its counts, first labels, messages and attributes.

    >>> import allalike
    >>> allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y")], method="P-TD")
    Result: 4 answers by 3 workers on 2 tasks (categorical labels), by P-TD on memory.
      task 1: 'x'
      task 2: 'y'
    1 note: see .notes.
    See .truth, .workers, .summary, .next_tasks(), .save("folder").
    """
    piece = next(iter(found.pieces()))
    labels = run.encoding.decode(piece.found["label"][:_N_TRUTHS]).tolist()
    tasks = piece.tasks.take(np.arange(len(labels))).tolist()
    columns = summary.guessed.get("columns")
    remarks = (*describe_label_confidence(summary), *describe_gold_error(summary), *describe_screening(summary))
    notes, groups = list_notes(summary), ".groups, " if has_groups else ""
    return "\n".join(
        [
            f"Result: {describe_counts(summary)}, by {summary.method.name} on {summary.engine}.",
            *([f"Columns: {format_columns(columns)}."] if columns else []),
            *(f"  task {shorten(task)}: {shorten(label)}" for task, label in zip(tasks, labels, strict=True)),
            *format_label_changes(summary, recurring=run.domain.recurring),
            *(remark.sentence for remark in remarks),
            *([f"{count(len(notes), 'note')}: see .notes."] if notes else []),
            f'See .truth, .workers, {groups}.summary, .next_tasks(), .save("folder").',
        ]
    )


def result_html(text: str, tables: Mapping[str, pd.DataFrame]) -> str:
    """Return a text and the first and last rows of tables with titles as HTML.

    >>> import allalike
    >>> page = allalike.discover([("<b>", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])._repr_html_()
    >>> "&lt;b&gt;" in page, "<b>" in page
    (True, False)
    """
    from html import escape

    shown = {
        title: table.to_html(index=False, border=0, max_cols=12, max_rows=_N_ROWS) for title, table in tables.items()
    }
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in text.splitlines())
    return paragraphs + "".join(f"<h4>{title}</h4>{table}" for title, table in shown.items())


def describe_counts(summary: Summary) -> str:
    """Format the numbers of answers, workers and tasks, and the label type."""
    return f"{format_counts(*summary.counts)} ({summary.domain.name} labels)"


# Labelling functions, the workers of a label matrix, with the statistics of Snorkel's LFAnalysis.
#
# Coverage is the share of all tasks that a function labels, overlaps the share that another function labels as well,
# and conflicts the share that another function labels differently. Polarity is the set of labels that it gives.


def function_columns(run: Run) -> dict[str, Values | Array]:
    """Return the polarity, coverage, overlaps and conflicts of labelling functions."""
    if not run.encoding.nominal:
        return {}
    sums, n_tasks = run.sum(partial(_count, n_labels=run.encoding.n_labels)), run.n_tasks + run.notes["silent"]
    names = np.array(run.encoding.decode(np.arange(run.encoding.n_labels)).tolist(), dtype=object)
    shares = {name: sums[name] / n_tasks for name in ("overlaps", "conflicts")}
    polarity = text_column([", ".join(map(str, names[counts > 0])) for counts in sums["labels"]])
    return {"polarity": polarity, "coverage": run.answer_counts / n_tasks, **shares}


def _count(block: Block, *, n_labels: int) -> dict[str, Floats]:
    """Count the answers by each worker to shared tasks, to tasks with different answers, and with each label."""
    mixed = np.minimum.reduceat(block.label, block.starts) < np.maximum.reduceat(block.label, block.starts)
    cell = block.worker * n_labels + block.label
    return {
        "overlaps": block.per_worker(block.to_answers(block.sizes > 1).astype(np.float64)),
        "conflicts": block.per_worker(block.to_answers(mixed).astype(np.float64)),
        "labels": np.bincount(cell, minlength=block.n_workers * n_labels).reshape(-1, n_labels).astype(np.float64),
    }
