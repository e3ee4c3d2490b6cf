"""The tables of a result: truths, workers, and the tasks to ask next, as columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.values import Values, table_of, text_column
from allalike.api.frames import tell_apart
from allalike.api.writers import Truth
from allalike.methods.auto.sureness.faults import FEW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import numpy.typing as npt
    import pyarrow as pa

    from allalike._core.blocks.block import Array, Floats
    from allalike.domains import Encoding
    from allalike.domains.capabilities import Things
    from allalike.engines import Piece, Run
    from allalike.methods import Weighing
    from allalike.methods.insight import Faults, Insight

__all__ = [
    "OUTCOMES",
    "fault_columns",
    "find_few",
    "list_truths",
    "next_columns",
    "object_table",
    "probability_table",
    "sureness",
    "truth_columns",
    "truth_table",
    "worker_columns",
]

OUTCOMES = ("class", "tie", "inconclusive", "unreadable", "score")  # which a panel's verdict on a task may be


def worker_columns(run: Run, weighing: Weighing) -> dict[str, Values | Array]:
    """Return the columns of the table of workers."""
    columns: dict[str, Values | Array] = {
        **({"task": run.worker_task} if run.worker_task is not None else {}),
        "worker": run.workers,
        "answers": run.answer_counts,
        **({"earlier": run.history.answers.astype(np.int64)} if run.history is not None else {}),
    }
    insight = weighing.insight
    faults, error_rate = insight.faults, weighing.skill.error_rate
    own = weighing.skill.columns or _own_columns(run, weighing.weight)
    more = {**trust_columns(insight), **own}
    if faults is not None:
        known = {"shared": faults.shared, "disparity": weighing.disparity, **fault_columns(weighing, faults)}
        return {**columns, **known, "few": faults.few, "weight": weighing.weight, **more}
    rates = {} if error_rate is None else {"error_rate": error_rate}
    numbers = {"disparity": weighing.disparity, "fault": weighing.fault, "weight": weighing.weight}
    return {**columns, **numbers, **rates, **more}


def _own_columns(run: Run, weights: Floats) -> dict[str, Floats]:
    """Return what only labels of some kinds tell of workers."""
    able = run.encoding.fields, run.encoding.things, run.encoding.offsets
    found = [each.worker_columns(run.sum, weights) for each in able if each is not None]
    return {name: column for columns in found for name, column in columns.items()}


def trust_columns(insight: Insight) -> dict[str, Values | Array]:
    """Return the columns of the table of workers that say whose answers can be trusted."""
    signal, groups = insight.signal, insight.groups
    if signal is None or groups is None:
        return {}
    group = np.full(len(signal.value), "", dtype=object)
    for number, found in enumerate(groups.found, 1):
        if found.copies:
            group[list(found.members)] = str(number)
    return {
        "signal": signal.value,
        "signal_error": signal.error,
        "no_signal": signal.empty,
        "group": text_column(group.tolist()),
        **({"part": groups.part + 1} if groups.part is not None and groups.n_parts > 1 else {}),
    }


def fault_columns(weighing: Weighing, faults: Faults) -> dict[str, Floats]:
    """Return each worker's fault, what it is read as where that has another name, and the limits of the latter."""
    rate = weighing.skill.error_rate
    fault = faults.best(weighing.fault) if rate is None else weighing.fault
    told = fault if rate is None else rate
    read = np.sqrt if faults.unit == "rmse" else np.asarray
    low, high = faults.limits_around(told)
    return {"fault": fault, faults.unit: read(told), "low": read(low), "high": read(high)}


def find_few(run: Run, weighing: Weighing) -> npt.NDArray[np.bool_]:
    """Mark workers of whom little is known, for they have few answers that others gave, too, or few at all."""
    faults = weighing.insight.faults
    return run.answer_counts < FEW if faults is None else faults.few


def sureness(weighing: Weighing) -> str:
    """Name how sure a truth is: a confidence, or of auto where it knows no probability the support by weights."""
    insight = weighing.insight
    return "support" if insight.faults is not None and insight.confidence is None else "confidence"


def next_columns(piece: Piece, weighing: Weighing) -> dict[str, Values | Array]:
    """Return the columns of the table of tasks that are to be asked next."""
    return {
        "task": piece.tasks,
        sureness(weighing): piece.found["confidence"],
        "answers": piece.answers,
        "gain": piece.found["gain"],
    }


def truth_columns(
    piece: Piece, encoding: Encoding, weighing: Weighing, decode: Callable[[str], Values] | None = None
) -> dict[str, Values | Array]:
    """Return the columns of the table of truths; ``decode`` shows those of labels, by name, in another way."""
    show = decode or (lambda name: encoding.decode(piece.found[name]))
    own = encoding.truth_columns(piece.found)
    limits: dict[str, Values | Array] = {
        name: own.pop(name, piece.found[name]) for name in ("low", "high") if name in piece.found
    }
    label = own.pop("label", None) or show("label")
    assert isinstance(label, Values)
    return {
        "task": piece.tasks,
        "label": label.without(piece.found["abstained"]) if "abstained" in piece.found else label,
        **({"verdict": text_column([OUTCOMES[n] for n in piece.found["verdict"]])} if "verdict" in piece.found else {}),
        **own,
        **(limits or {sureness(weighing): piece.found["confidence"]}),
        "error": piece.found["error"],
        "answers": piece.answers,
        **({"voices": piece.found["voices"]} if "voices" in piece.found else {}),
        "tied": piece.found["tied"],
        "unweighted": show("unweighted"),
        "changed": piece.found["changed"],
        **({"known": piece.found["known"]} if "known" in piece.found else {}),
    }


def object_table(piece: Piece, *, things: Things[Encoding]) -> pa.Table:
    """Return the table of the objects that truths are made of."""
    return table_of(things.list_objects(piece.tasks, piece.found))


def probability_table(piece: Piece, *, encoding: Encoding) -> pa.Table:
    """Return the table of how probable each class is: a column for each."""
    found = piece.found["probability"]
    names = tell_apart(["task", *map(str, encoding.decode(np.arange(found.shape[1])).tolist())])
    return table_of(dict(zip(names, (piece.tasks, *found.T), strict=True)))


def list_truths(pieces: Iterable[Piece], encoding: Encoding, weighing: Weighing) -> Iterator[Truth]:
    """Yield the truth of each task, with its confidence where that is known."""
    for piece in pieces:
        columns = truth_columns(piece, encoding, weighing)
        tasks, labels, sure = (columns.get(name) for name in ("task", "label", sureness(weighing)))
        assert isinstance(tasks, Values)
        assert isinstance(labels, Values)
        known = [None] * len(tasks) if sure is None else [x if math.isfinite(x) else None for x in sure.tolist()]
        for task, label, confidence in zip(tasks.tolist(), labels.tolist(), known, strict=True):
            yield Truth(task, label, confidence)


def truth_table(piece: Piece, *, encoding: Encoding, weighing: Weighing, folder: Path) -> pa.Table:
    """Return the table of truths as it is written; labels that are files are written into the folder."""
    pictures = encoding.domain.pictures
    if pictures is None:
        return table_of(truth_columns(piece, encoding, weighing))

    def export(name: str) -> Values:
        kept = piece.found[name].copy()
        if name == "label" and "abstained" in piece.found:
            kept[piece.found["abstained"]] = None
        return pictures.export(kept, piece.tasks, folder / {"label": "labels"}.get(name, name))

    return table_of(truth_columns(piece, encoding, weighing, export))
