"""Explanations of the label of a task and of the behaviour of a worker.

The influence of an answer is the weight of its worker times its effective number of answers, which the members of a
copy group share. Its **share** is its fraction of the total influence in the task. Labels are ranked by probability if
the method estimates it, otherwise by share. The **margin** is the difference between the label and the runner-up.

**Deciding answers.** The task is decided again with the same weights, once without each answer, and once with each
answer replaced by the runner-up. Labels that are computed from all answers, such as means, change with every answer.
For such labels, the distance is reported.

**Without a worker,** the same method weights the others again and decides all tasks again. Tasks that only this worker
answered then have no label.

An id is matched by its value or its text: ``"7"`` is the task 7 unless another task has the id ``"7"``.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, find_answer_weights, sum_by
from allalike._core.columns.values import Values, find_places, frame_of
from allalike._core.lazy_imports import pa
from allalike._core.registry import did_you_mean
from allalike._core.text_format import count
from allalike.answers.gold import History
from allalike.engines.memory import MemoryRun
from allalike.engines.sample import cut_block, pick_tasks
from allalike.engines.shards import Shard, fitting_answers
from allalike.errors import UnknownNameError, UnsupportedError
from allalike.methods.auto.copy_groups import with_voices
from allalike.methods.base import without_gold
from allalike.methods.composed import weigh
from allalike.result.quality import Flag, list_flags, rate_disagreement
from allalike.result.summaries import find_truths
from allalike.result.tables import ERRORS, sureness, trust_columns, worker_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import pandas as pd

    from allalike.domains import Encoding, Kernels
    from allalike.engines import Piece, Run, TaskTable
    from allalike.methods import Fit, Method

    Places = npt.NDArray[np.intp]

_N_NAMED = 5  # members of a group, workers in a sentence, and nearest colleagues
_MAX_LABEL = 40  # characters of a label in a sentence
_MAX_CLOSE = 20_000  # ids that are searched for a similar one
_MAX_TRIED, _MAX_COSTLY_TRIED = 100, 25  # answers that are removed or changed, one after the other
_MAX_ANSWERS = 1_000_000  # compared; with more, deciding without a worker would take as long as the result itself
_MAX_DISAGREEMENTS = 10
_MIN_COMMON = 5  # tasks that colleagues share; fewer only if there are no such colleagues


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TaskExplanation:
    """Explanation of the label of a task; unknown values are NaN.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "y")]
    >>> allalike.discover(rows, method="UA").explain(task=1)
    Task 1: 'x', confidence 0.667; unweighted the same.
    3 answers. By weight 'x' has 0.667 and 'y' has 0.333: a margin of 0.333.
    The label would change without ada or bob; or if one of these answered 'y': ada or bob.
    See .answers and .labels.
    """

    task: Any
    truth: Any
    sureness: str
    confidence: float
    ci_low: Any
    ci_high: Any
    standard_error: float
    unweighted: Any
    changed: bool
    tied: bool
    is_gold: bool
    abstained: bool
    measure: str
    runner_up: Any
    runner_up_score: float
    margin: float
    spread: float
    n_tried: int
    answers: pd.DataFrame = field(hash=False)
    labels: pd.DataFrame = field(hash=False)

    def __repr__(self) -> str:
        return "\n".join([*self.sentences(), "See .answers and .labels."])

    def sentences(self) -> list[str]:
        """Describe the label, its margin, and the answers that decide it."""
        confidence = "" if math.isnan(self.confidence) else f", {self.sureness} {self.confidence:.3f}"
        if self.ci_low is not None and self.ci_low == self.ci_low:
            low, high = (f"{end:.4g}" if isinstance(end, float) else str(end) for end in (self.ci_low, self.ci_high))
            confidence = f", between {low} and {high} (95 %)"
        notes = {
            "a gold label": self.is_gold,
            "a tie was broken": self.tied,
            "confidence too low": self.abstained,
            f"unweighted {_shorten(self.unweighted)}": self.changed,
            "unweighted the same": not (self.changed or self.tied),
        }
        listed = ", ".join(note for note, applies in notes.items() if applies)
        label = f"Task {self.task}: {_shorten(self.truth)}{confidence}; {listed}."
        return [
            sentence for sentence in (label, self._describe_margin(), self._describe_deciding_answers()) if sentence
        ]

    def _describe_margin(self) -> str:
        number = count(len(self.answers), "answer")
        if math.isnan(self.margin):
            return "" if math.isnan(self.spread) else f"{number}, at a mean distance of {self.spread:.4g} to the label."
        if self.runner_up is None:
            return f"{number}, all equal."
        return (
            f"{number}. By {self.measure} {_shorten(self.truth)} has {self.runner_up_score + self.margin:.3f} and"
            f" {_shorten(self.runner_up)} has {self.runner_up_score:.3f}: a margin of {self.margin:.3f}."
        )

    def _describe_deciding_answers(self) -> str:
        if self.is_gold:
            return "This is a gold label, so answers do not change it."
        workers = self.answers["worker"]
        if "moves" in self.answers:
            moves = self.answers["moves"].fillna(-1.0)
            place = int(moves.argmax())
            shift = f"It changes most without {workers.iloc[place]}: by a distance of {moves.iloc[place]:.4g}."
            return shift if moves.iloc[place] >= 0 else ""
        if len(self.answers) == 1:
            return f"The only answer is by {workers.iloc[0]}."
        parts = []
        for column, start in (
            ("if_left_out", "without"),
            ("if_changed", f"if one of these answered {_shorten(self.runner_up)}:"),
        ):
            names = list(map(str, workers[self.answers[column]]))
            names = [*names[:_N_NAMED], f"{len(names) - _N_NAMED:,} more"] if len(names) > _N_NAMED else names
            parts += [f"{start} {' or '.join([', '.join(names[:-1]), names[-1]][len(names) == 1 :])}"] if names else []
        if parts:
            return f"The label would change {'; or '.join(parts)}."
        tried = "" if self.n_tried >= len(self.answers) else f" of the {self.n_tried:,} with the largest shares"
        return f"No single answer{tried} decides the label."

    def summary(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values[values.pop("sureness")] = values.pop("confidence")
        return {name: _to_json(value) for name, value in values.items()}


class Absence(NamedTuple):
    """Labels without a worker: number of changed labels, compared tasks, tasks without other answers, mean distance."""

    changed: int
    tasks: int
    only: int
    shift: float


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WorkerExplanation:
    """Explanation of a worker's error, flags and similarity to others.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "y")]
    >>> allalike.discover(rows, method="UA").explain(worker="eve")
    Worker eve: 2 answers, weight 0.3333, mean error 1; 1 of 2 differ from the label.
    Nearest, by mean distance on common tasks: ada (1 on 1), bob (1 on 1).
    Without this worker, 0 of 1 labels differ, by 0 on average; 1 task has no other answer.
    See .colleagues and .disagreements.
    """

    worker: Any
    columns: Mapping[str, Any] = field(hash=False)
    flags: tuple[Flag, ...]
    disagrees: int
    compared: int
    without: Absence | None
    too_large: bool
    colleagues: pd.DataFrame = field(hash=False)
    disagreements: pd.DataFrame = field(hash=False)

    @property
    def nearest(self) -> pd.DataFrame:
        """The five most similar workers."""
        return self.colleagues.head(_N_NAMED)

    @property
    def farthest(self) -> pd.DataFrame:
        """The five least similar workers (none of the nearest), the least similar first."""
        return self.colleagues.iloc[_N_NAMED:].tail(_N_NAMED).iloc[::-1]

    def __repr__(self) -> str:
        return "\n".join([*self.sentences(), "See .colleagues and .disagreements."])

    def sentences(self) -> list[str]:
        """Describe the worker's error, flags and most similar workers, and the labels without the worker."""
        facts = [f"{self.columns['answers']:,} answers", f"weight {self.columns['weight']:.4g}"]
        unit = next(name for name in ERRORS if name in self.columns)
        if not math.isnan(self.columns[unit]):
            low, high = (self.columns.get(name, math.nan) for name in ("ci_low", "ci_high"))
            interval = "" if math.isnan(low) or math.isnan(high) else f" ({low:.3g} to {high:.3g})"
            facts.append(f"{unit.replace('_', ' ')} {self.columns[unit]:.3g}{interval}")
        wrong = f"{self.disagrees:,} of {self.compared:,} differ from the label"
        lines = [f"Worker {self.worker}: {', '.join(facts)}; {wrong}."]
        lines += map(str, self.flags)
        if not len(self.colleagues):
            lines.append("The worker has no task in common with others.")
        for name, table in (("Nearest", self.nearest.head(3)), ("Farthest", self.farthest.head(3))):
            rows = zip(table["worker"], table["distance"], table["common_tasks"], strict=True)
            listed = ", ".join(f"{worker} ({distance:.3g} on {common:,})" for worker, distance, common in rows)
            lines += [f"{name}, by mean distance on common tasks: {listed}."] if listed else []
        rest = self.without
        if self.too_large:
            lines.append("With more than a million answers, labels without this worker are not estimated.")
        elif rest is None:
            lines.append("There are no other workers.")
        else:
            changed = f"{rest.changed:,} of {rest.tasks:,} labels differ, by {rest.shift:.3g} on average"
            only = (
                f"; {count(rest.only, 'task')} {'have' if rest.only > 1 else 'has'} no other answer"
                if rest.only
                else ""
            )
            lines.append(f"Without this worker, {changed}{only}.")
        return lines

    def summary(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        names = ("disagrees", "compared", "flags", "without", "too_large", "nearest", "farthest", "disagreements")
        values = {**self.columns, **{name: getattr(self, name) for name in names}}
        return {name: _to_json(value) for name, value in values.items()}


def _shorten(label: Any) -> str:
    if isinstance(label, date):
        return str(label)
    text = f"{label:.6g}" if isinstance(label, float) else " ".join(repr(label).split())
    return text if len(text) <= _MAX_LABEL else f"{text[: _MAX_LABEL - 3]}..."


def _to_json(value: Any) -> Any:
    """Return a JSON value; a table becomes a list of rows, and other types become text."""
    if hasattr(value, "columns"):
        columns = {name: [_to_json(each) for each in value[name]] for name in value}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    value = value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Flag | Absence):
        return {name: _to_json(each) for name, each in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [_to_json(each) for each in value]
    return value if value is None or isinstance(value, str | int | bool) else str(value)


# Tasks.


def explain_task(run: Run, fit: Fit, table: TaskTable, task: Any) -> TaskExplanation:
    """Explain the label of a task."""
    whole, encoding = table.joined(), run.encoding
    piece = whole.take(np.array([_find_id("task", task, whole.tasks)]))
    values, block = piece.found, pick_tasks(run, piece.tasks.hashes())
    block = block.pick(np.arange(1), np.arange(int(block.sizes[0])))
    columns, share = _share_out(run, fit, block)
    label, is_gold = values["label"], bool(values.get("known", np.zeros(1))[0])
    codes, scores = _rank_labels(run, fit, block, share)
    measure, score = list(scores.items())[-1]
    is_label, names = _measure(codes, label, run.kernels) == 0, encoding.decode(codes)
    others = [] if encoding.numeric else np.flatnonzero(~is_label).tolist()
    margin = float(score[is_label].sum() - score[others[:1]].sum())
    most = 0 if is_gold else _MAX_TRIED if encoding.n_classes is not None or encoding.numeric else _MAX_COSTLY_TRIED
    by_share = np.argsort(-share, kind="stable")
    distance = _measure(block.label, label, run.kernels)
    rival = codes[others[0]] if others and run.domain.recurring else None
    columns |= {"distance": distance, **_try_changes(run, fit, block, by_share[:most], rival)}
    ends = {"low": [np.nan], "high": [np.nan], **values, **encoding.truth_columns(values)}
    return TaskExplanation(
        task=piece.tasks[0],
        truth=encoding.decode(label).tolist()[0],
        sureness=sureness(fit),
        confidence=float(values["confidence"][0]),
        ci_low=ends["low"][0],
        ci_high=ends["high"][0],
        standard_error=float(values["error"][0]),
        unweighted=encoding.decode(values["unweighted"]).tolist()[0],
        changed=bool(values["changed"][0]),
        tied=bool(values["tied"][0]),
        is_gold=is_gold,
        abstained=bool(values.get("abstained", np.zeros(1))[0]),
        measure="weight" if measure == "share" else measure,
        runner_up=names.tolist()[others[0]] if others else None,
        runner_up_score=float(score[others[0]]) if others else np.nan,
        margin=margin if is_label.any() and not encoding.numeric else np.nan,
        spread=_compute_spread(share, distance, squared=run.domain.distance == "squared"),
        n_tried=min(most, len(share)),
        answers=frame_of(columns).iloc[by_share].reset_index(drop=True),
        labels=frame_of({"label": names, **scores}),
    )


def _find_id(kind: str, name: Any, known: Values) -> int:
    """Return the position of an id; an id of another type is compared as a Python object."""
    name = name.item() if isinstance(name, np.generic) else name
    wanted = Values([name])
    if not isinstance(known.data, list):
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            wanted = Values(pa.array([name]))
    place = int(find_places(wanted, known)[0])
    if place < 0:
        ids = [str(each) for each in known.take(np.arange(min(len(known), _MAX_CLOSE))).tolist()]
        hint = did_you_mean(str(name), ids) or f" The first {kind} is {ids[0]!r}."
        raise UnknownNameError(f"No {kind} is called {name!r}.{hint}")
    return place


def _share_out(run: Run, fit: Fit, block: Block) -> tuple[dict[str, Any], Floats]:
    """Return the first columns of the table of answers, and the share of each; equal shares if all weights are 0."""
    groups, weight = fit.copy_groups, fit.weight[block.worker]
    effective = find_answer_weights(block if groups is None else with_voices(block, groups=groups)).weight
    counts = weight * effective
    share = counts / counts.sum() if counts.sum() > 0 else np.full(len(counts), 1 / len(counts))
    columns = {"worker": run.workers.take(block.worker), "label": run.encoding.decode(block.label), "weight": weight}
    if groups is not None:
        columns |= {"effective_answers": effective, "copy_group": trust_columns(fit)["copy_group"].take(block.worker)}
    return {**columns, "share": share}, share


def _rank_labels(run: Run, fit: Fit, block: Block, share: Floats) -> tuple[Array, dict[str, Array]]:
    """Return the distinct labels, best first, with their numbers of answers, shares and, if known, probabilities."""
    number, first = _number_labels(block.label, run.encoding)
    scores: dict[str, Array] = {"answers": np.bincount(number), "share": sum_by(number, share, len(first))}
    if fit.probabilities is not None:
        every = fit.probabilities(run.encoding.prepare(block), *fit.arguments)["probability"]
        scores["probability"] = every[0, block.label[first]]
    order = np.argsort(-list(scores.values())[-1], kind="stable")
    return block.label[first[order]], {name: column[order] for name, column in scores.items()}


def _number_labels(codes: Array, encoding: Encoding) -> tuple[Places, Places]:
    """Return the number of each answer's distinct label, and the first position of each distinct label."""
    if codes.dtype.kind not in "OV":  # neither objects nor records
        _, first, number = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        return number.reshape(-1), first
    firsts: list[int] = []
    number = np.empty(len(codes), np.intp)
    for row in range(len(codes)):
        same = np.zeros(0, np.bool_)
        if firsts:
            known, one = codes[firsts], codes[row : row + 1]
            differs = encoding.kernels.differs(known, np.repeat(one, len(known), axis=0), np.zeros(len(known)))
            same = np.asarray((_measure(known, one, encoding.kernels) == 0) & ~differs)
        if not same.any():
            firsts.append(row)
        number[row] = np.argmax(same) if same.any() else len(firsts) - 1
    return number, np.array(firsts, np.intp)


def _measure(codes: Array, one: Array, kernels: Kernels) -> Floats:
    return kernels.distance_between(codes, np.repeat(one, len(codes), axis=0))


def _compute_spread(share: Floats, distance: Floats, *, squared: bool) -> float:
    """Return the mean distance between answers and label, weighted by share; its square root for squared distances."""
    total = share[~np.isnan(distance)].sum()
    mean = float(np.nansum(share * distance) / total) if total > 0 else math.nan
    return math.sqrt(mean) if squared else mean


def _try_changes(run: Run, fit: Fit, block: Block, tried: Places, runner_up: Any) -> dict[str, Any]:
    """Decide the task with each tested answer removed, and with it changed; untested answers count as no change."""
    n, kernels = len(block.label), run.kernels
    moves, left_out, changed = np.full(n, np.nan), np.full(n, n == 1), np.zeros(n, np.bool_)

    def decide(part: Block) -> Array:
        return fit.decide_on(run)(run.encoding.prepare(part), *fit.arguments)["label"]

    def repeat(rows: Places) -> Block:
        """Return the answers as answers to several tasks, one per tested answer."""
        size = len(rows) // len(tried)
        return replace(
            block,
            starts=np.arange(len(tried)) * size,
            sizes=np.full(len(tried), size),
            worker=block.worker[rows],
            label=block.label[rows],
            task_hash=block.task_hash.repeat(len(tried)),
        )

    scatter = kernels.scatter(run.encoding.prepare(block)).repeat(len(tried))
    labels = decide(block).repeat(len(tried), axis=0)
    if n > 1 and len(tried):
        without = decide(repeat(np.concatenate([np.delete(np.arange(n), place) for place in tried])))
        left_out[tried] = kernels.differs(labels, without, scatter)
        moves[tried] = kernels.distance_between(labels, without)
    if not run.domain.recurring:
        return {"moves": moves}
    if runner_up is not None and len(tried):
        copies = repeat(np.tile(np.arange(n), len(tried)))
        for place in tried + np.arange(len(tried)) * n:  # one by one, because a label may be a tuple
            copies.label[place] = runner_up
        changed[tried] = kernels.differs(labels, decide(copies), scatter)
    return {"if_left_out": left_out, "if_changed": changed}


# Workers.


def explain_worker(run: Run, fit: Fit, table: TaskTable, method: Method | None, name: Any) -> WorkerExplanation:
    """Explain a worker; without a method, labels without the worker are not estimated."""
    if run.worker_task is not None:
        raise UnsupportedError("With per_task(), workers cannot be explained. Call explain(task=...) for a task.")
    worker = _find_id("worker", name, run.workers)
    n_answers = int(run.answer_counts.sum())
    large, found = n_answers > _MAX_ANSWERS, table.joined()
    block = pick_tasks(run, np.empty(0, np.uint64), share=_MAX_ANSWERS / n_answers if large else 2.0)
    rest = None if method is None or large else _drop_worker(run, block, worker)
    rows = np.flatnonzero(block.worker == worker)
    places = _find_tasks(found, block.task_hash[block.task[rows]])
    own, whole = block.label[rows[np.argsort(places)]], found.take(np.sort(places))
    distance = run.kernels.distance_between(own, whole.found["label"])
    strength = rate_disagreement(distance, whole.found["confidence"])
    order = np.argsort(-strength, kind="stable")[:_MAX_DISAGREEMENTS]
    order = order[strength[order] > 0]
    disagreements: dict[str, Values | Array] = {
        "task": whole.tasks.take(order),
        "label": run.encoding.decode(own[order]),
        "truth": run.encoding.decode(whole.found["label"][order]),
        sureness(fit): whole.found["confidence"][order],
        "distance": distance[order],
    }
    columns = {title: column[worker] for title, column in worker_columns(run, fit).items()}
    return WorkerExplanation(
        worker=run.workers[worker],
        columns={title: each.item() if isinstance(each, np.generic) else each for title, each in columns.items()},
        flags=tuple(list_flags(run, fit)[worker]),
        disagrees=int(np.count_nonzero(np.nan_to_num(distance) > 0)),
        compared=len(rows),
        without=None if rest is None or method is None else _compare_without(rest, run, found, method),
        too_large=large,
        colleagues=_find_colleagues(run, worker),
        disagreements=frame_of(disagreements),
    )


def _find_tasks(table: Piece, hashes: Array) -> Array:
    """Return the positions of the tasks with these hashes."""
    own = table.tasks.hashes()
    order = np.argsort(own)
    return np.asarray(order[np.searchsorted(own, hashes, sorter=order)])


def _find_colleagues(run: Run, worker: int) -> pd.DataFrame:
    """Return the workers who share tasks with this one, the most similar first."""
    sums = run.pairs(run.kernels.pair_sums, range(worker, worker + 1))
    distance, common = (
        (s if isinstance(s, np.ndarray) else s.toarray()).reshape(-1) for s in (sums["distance"], sums["common"])
    )
    common[worker] = 0
    met = np.flatnonzero(common >= _MIN_COMMON if (common >= _MIN_COMMON).any() else common > 0)
    mean = distance[met] / common[met]
    order = np.lexsort((-common[met], mean.round(12)))
    met, mean = met[order], mean[order]
    n_common = np.ceil(common[met]).astype(np.int64)
    return frame_of({"worker": run.workers.take(met), "common_tasks": n_common, "distance": mean})


def _drop_worker(run: Run, block: Block, worker: int) -> MemoryRun | None:
    """Return a run in memory without a worker, or None; the numbers of later workers decrease by one."""
    kept = block.worker != worker
    sizes = np.add.reduceat(kept.astype(np.int64), block.starts)
    left, others = np.flatnonzero(sizes), np.delete(np.arange(len(run.workers)), worker)
    if not len(left):
        return None
    known, past = np.isin(block.gold_task, left), run.history
    rest = replace(block, sizes=sizes).pick(left, np.flatnonzero(kept))
    rest = replace(
        rest,
        worker=rest.worker - (rest.worker > worker),
        n_workers=block.n_workers - 1,
        gold_task=np.searchsorted(left, block.gold_task[known]),
        gold_label=block.gold_label[known],
    )
    blocks = [run.encoding.prepare(part) for part in cut_block(rest, fitting_answers(len(others)))]
    return MemoryRun(
        [Shard(blocks, Values(rest.task_hash), rest.sizes)],
        workers=run.workers.take(others),
        answer_counts=run.answer_counts[others],
        n_tasks=rest.n_tasks,
        n_gold=len(rest.gold_task),
        encoding=run.encoding,
        ties=run.ties,
        notes={},
        threads=run.threads,
        history=None if past is None else History(past.answers[others], past.fault[others]),
    )


def _compare_without(rest: MemoryRun, run: Run, found: Piece, method: Method) -> Absence:
    """Compare the labels with those without a worker."""
    learns = rest.n_gold > 0 and without_gold(method) != method
    label = find_truths(rest, weigh(method, rest), keep_gold=learns).joined().found["label"]
    before = found.found["label"][_find_tasks(found, np.asarray(rest.shards[0].task_hash))]
    scatter = np.concatenate([run.kernels.scatter(block) for block in rest.blocks])
    changed = int(np.count_nonzero(run.kernels.differs(before, label, scatter)))
    shift = float(np.nansum(run.kernels.distance_between(before, label))) / len(label)
    return Absence(changed, len(label), run.n_tasks - len(label), shift)
