r"""Reasons for the label of a task and for the weight of a worker.

A worker's answer counts by her weight times her **voice**: members of a group of copies share one. The **share** is
what it is of all that is heard on the task. Labels are ranked by how probable they are, where the method knows that,
and else by their share; the **margin** is by how much the truth is ahead of the next label.

**Whose change would change it.** The task is decided again, by the same method with the same weights, once without each
answer, and once with each answer replaced by the label that is next. The weights stay as they are, though a worker who
answers otherwise would be weighed a little otherwise. Truths that are put together from answers, such as means, move
with every answer: how far says more then than that they do.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.blocks.voices import find_voices
from allalike._core.columns.values import Values, frame_of
from allalike.engines.sample import pick_tasks
from allalike.engines.sums import Piece
from allalike.methods.auto.voices import with_voices
from allalike.result.explanations.explanations import (
    MAX_ANSWERS,
    Flag,
    TaskExplanation,
    WorkerExplanation,
    find_absence,
)
from allalike.result.summaries import find_worse
from allalike.result.tables import sureness, trust_columns, worker_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt
    import pandas as pd

    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing
    from allalike.methods.insight import Insight

    Places = npt.NDArray[np.intp]

_MAX_TRIED, _MAX_COSTLY_TRIED = 100, 25  # answers that are left out or changed, one after the other


def explain_task(run: Run, weighing: Weighing, piece: Piece) -> TaskExplanation:
    """Say why a task has its truth, given the row of it in the table of truths.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")], method="UA")
    >>> explain_task(result.run, result.weighing, result.found.joined()).answers["worker"].tolist()
    ['ada', 'bob', 'eve']
    """
    encoding, found = run.encoding, {name: column[:1] for name, column in piece.found.items()}
    block = pick_tasks(run, piece.tasks.hashes())
    block = block.pick(np.arange(1), np.arange(int(block.sizes[0])))
    insight = weighing.insight
    voice, share = _share_out(block, weighing.weight, insight)
    truth = found["label"]
    number, first = number_labels(block.label, encoding)
    score, measure = _score_labels(run, weighing, block, share, number, first)
    is_truth = _distances(block.label[first], truth, encoding) == 0
    order = np.argsort(-score, kind="stable")
    others = [place for place in order if not is_truth[place]]
    tried = _find_tried(share, encoding) if not found.get("known", np.zeros(1, np.bool_))[0] else np.empty(0, np.intp)
    runner_up = block.label[first[others[0]]] if others and run.domain.recurring else None
    answers = {
        "worker": run.workers.take(block.worker),
        "label": encoding.decode(block.label),
        "weight": weighing.weight[block.worker],
        **({"voice": voice, "group": _groups_of(insight, block.worker)} if insight.groups is not None else {}),
        "share": share,
        "distance": _distances(block.label, truth, encoding),
        **_try_changes(run, weighing, block, tried, runner_up),
    }
    rows = np.argsort(-share, kind="stable")
    following = float(score[others[0]]) if others else 0.0
    names = encoding.decode(block.label[first])
    limits = {"low": [np.nan], "high": [np.nan], **found, **encoding.truth_columns(found)}
    rivals = bool(others) and not encoding.numeric
    return TaskExplanation(
        task=piece.tasks[0],
        truth=_only(encoding.decode(truth)),
        sureness=sureness(weighing),
        confidence=float(found["confidence"][0]),
        low=limits["low"][0],
        high=limits["high"][0],
        error=float(found["error"][0]),
        unweighted=_only(encoding.decode(found["unweighted"])),
        changed=bool(found["changed"][0]),
        tied=bool(found["tied"][0]),
        known=bool(found.get("known", np.zeros(1))[0]),
        abstained=bool(found.get("abstained", np.zeros(1))[0]),
        measure=measure,
        runner_up=names.tolist()[others[0]] if rivals else None,
        runner_up_score=following if rivals else np.nan,
        margin=float(score[is_truth].sum()) - following if is_truth.any() and not encoding.numeric else np.nan,
        spread=_spread(share, _distances(block.label, truth, encoding), squared=run.domain.distance == "squared"),
        n_tried=len(tried),
        answers=frame_of(answers).iloc[rows].reset_index(drop=True),
        labels=_list_labels(names, number, share, score, order, measure),
    )


def number_labels(codes: Array, encoding: Encoding) -> tuple[Places, Places]:
    """Return, per answer, the number of its label among those that differ, and where each of these is first.

    >>> from allalike import Categorical, read
    >>> answers = read([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")])
    >>> number_labels(np.array([4, 2, 4]), answers.encoding)
    (array([1, 0, 1]), array([1, 0]))
    """
    if codes.dtype.kind not in "OV":  # neither objects nor records
        _, first, number = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        return number.reshape(-1), first
    firsts: list[int] = []
    number = np.empty(len(codes), np.intp)
    for row in range(len(codes)):
        same = _are_same(codes[firsts], codes[row : row + 1], encoding) if firsts else np.zeros(0, np.bool_)
        if not same.any():
            firsts.append(row)
        number[row] = np.argmax(same) if same.any() else len(firsts) - 1
    return number, np.array(firsts, np.intp)


def _only(values: Any) -> Any:
    return values.tolist()[0]


def _are_same(codes: Array, one: Array, encoding: Encoding) -> Array:
    differs = encoding.kernels.differs(codes, np.repeat(one, len(codes), axis=0), np.zeros(len(codes)))
    return np.asarray((_distances(codes, one, encoding) == 0) & ~differs)


def _distances(codes: Array, one: Array, encoding: Encoding) -> Floats:
    return encoding.kernels.distance_between(codes, np.repeat(one, len(codes), axis=0))


def _share_out(block: Block, weight: Floats, insight: Insight) -> tuple[Floats, Floats]:
    """Return the voice of each answer, and its share of what is heard; where nothing is, all count the same."""
    voice = find_voices(block if insight.groups is None else with_voices(block, groups=insight.groups)).voice
    heard = weight[block.worker] * voice
    return voice, heard / heard.sum() if heard.sum() > 0 else np.full(len(voice), 1 / len(voice))


def _groups_of(insight: Insight, workers: Places) -> Any:
    columns: dict[str, Any] = trust_columns(insight)
    return columns["group"].take(workers)


def _score_labels(
    run: Run, weighing: Weighing, block: Block, share: Floats, number: Places, first: Places
) -> tuple[Floats, str]:
    """Return how much speaks for each label, and what that is."""
    probabilities = weighing.decision.probabilities
    if probabilities is None:
        return sum_by(number, share, len(first)), "weight"
    table = probabilities(run.encoding.prepare(block), *weighing.arguments)["probability"]
    return table[0, block.label[first]], "probability"


def _find_tried(share: Floats, encoding: Encoding) -> Places:
    cheap = encoding.n_classes is not None or encoding.numeric
    return np.argsort(-share, kind="stable")[: _MAX_TRIED if cheap else _MAX_COSTLY_TRIED]


def _try_changes(run: Run, weighing: Weighing, block: Block, tried: Places, runner_up: Any) -> dict[str, Any]:
    """Decide without each of some answers, and with each changed; what was not tried changes nothing."""
    n, kernels = len(block.label), run.kernels
    moves, left_out, changed = np.full(n, np.nan), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    decide = partial(_decide, run, weighing)
    truth = decide(block)
    scatter = kernels.scatter(run.encoding.prepare(block)).repeat(len(tried))
    truths = truth.repeat(len(tried), axis=0)
    if n > 1 and len(tried):
        kept = np.concatenate([np.delete(np.arange(n), place) for place in tried])
        without = decide(_copy(block, kept, len(tried)))
        left_out[tried] = kernels.differs(truths, without, scatter)
        moves[tried] = kernels.distance_between(truths, without)
    left_out |= n == 1
    if not run.domain.recurring:
        return {"moves": moves}
    if runner_up is not None and len(tried):
        copies = _copy(block, np.tile(np.arange(n), len(tried)), len(tried))
        for place in tried + np.arange(len(tried)) * n:  # one by one, for a label may be a tuple
            copies.label[place] = runner_up
        changed[tried] = kernels.differs(truths, decide(copies), scatter)
    return {"if_left_out": left_out, "if_changed": changed}


def _decide(run: Run, weighing: Weighing, block: Block) -> Array:
    return weighing.decide_on(run)(run.encoding.prepare(block), *weighing.arguments)["label"]


def _copy(block: Block, rows: Places, n_copies: int) -> Block:
    """Return some answers to a task, as if they were the same number of answers to each of several tasks."""
    size = len(rows) // n_copies
    return replace(
        block,
        starts=np.arange(n_copies) * size,
        sizes=np.full(n_copies, size),
        worker=block.worker[rows],
        label=block.label[rows],
        task_hash=block.task_hash.repeat(n_copies),
    )


def _spread(share: Floats, distance: Floats, *, squared: bool) -> float:
    """Return how far the answers are from the truth, by their shares; a length where distances are squares."""
    known = ~np.isnan(distance)
    heard = share[known].sum()
    if heard <= 0:
        return float("nan")
    mean = float((share[known] * distance[known]).sum() / heard)
    return float(np.sqrt(mean)) if squared else mean


def _list_labels(
    names: Values, number: Places, share: Floats, score: Floats, order: Places, measure: str
) -> pd.DataFrame:
    columns: dict[str, Values | Array] = {
        "label": names.take(order),
        "answers": np.bincount(number, minlength=len(order))[order],
        "share": sum_by(number, share, len(order))[order],
    }
    return frame_of({**columns, **({"probability": score[order]} if measure == "probability" else {})})


# Reasons to trust a worker, or not: her colleagues, where she disagrees most, and what is odd about her answers.
#
# An answer disagrees by its distance to the truth, times how sure that truth is: to contradict what nobody doubts
# weighs more. Colleagues are compared with her on common tasks; those with fewer than five of them are named only if
# nobody has more, for a mean of few distances is chance.


_MAX_DISAGREEMENTS = 10
_MIN_COMMON = 5
_MIN_CONSTANT = 10  # answers that must be the same before a worker is said to answer always the same
_MAX_NAMED = 5  # colleagues of a group


def explain_worker(
    run: Run, weighing: Weighing, found: TaskTable, again: Callable[[Run], TaskTable] | None, worker: int
) -> WorkerExplanation:
    """Say what a worker is like, given her number.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")], method="UA")
    >>> explain_worker(result.run, result.weighing, result.found, result.again, 2).disagreements["task"].tolist()
    [1]
    """
    hers = _gather_answers(run, worker)
    columns = {name: _at(column, worker) for name, column in worker_columns(run, weighing).items()}
    large = int(run.answer_counts.sum()) > MAX_ANSWERS
    disagreements, disagrees, compared = _find_disagreements(run, weighing, found, hers)
    return WorkerExplanation(
        worker=run.workers[worker],
        columns=columns,
        flags=tuple(_find_flags(run, weighing, worker, hers)),
        disagrees=disagrees,
        compared=compared,
        without=None if again is None or large else find_absence(run, found, again, worker),
        too_large=large,
        colleagues=_find_colleagues(run, worker),
        disagreements=disagreements,
    )


def _at(column: Any, row: int) -> Any:
    value = column[row]
    return value.item() if isinstance(value, np.generic) else value


def _gather_answers(run: Run, worker: int) -> tuple[Any, Any]:
    """Return the hashes of her tasks, in order, and her labels as codes."""
    blocks = run.gather(partial(_answers_of, kernels=run.kernels, number=worker))
    hashes, label = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("task_hash", "label"))
    order = np.argsort(hashes, kind="stable")
    return hashes[order], label[order]


def _answers_of(block: Block, *, kernels: Kernels, number: int) -> Block:
    """Return a block of nothing but the answers of one worker."""
    workers = np.arange(block.n_workers) if isinstance(block.workers, slice) else np.append(block.workers, -1)
    mine = workers[block.worker] == number
    if block.live is not None:
        mine &= block.to_answers(block.live)
    rows = np.flatnonzero(mine)
    task = block.task[rows]
    return replace(
        block.pick(task, rows),
        starts=np.arange(len(rows)),
        sizes=np.ones(len(rows), np.int64),
        worker=np.full(len(rows), number, np.intp),
        label=kernels.restore_answers(block, rows),
        workers=slice(None),
        gold_label=kernels.restore_gold(block)[:0],
        live=None,
    )


def _find_colleagues(run: Run, worker: int) -> pd.DataFrame:
    """Return those she has tasks in common with, the nearest first."""
    sums = run.pairs(run.kernels.pair_sums, range(worker, worker + 1))
    distance, common = (
        (s if isinstance(s, np.ndarray) else s.toarray()).reshape(-1) for s in (sums["distance"], sums["common"])
    )
    common[worker] = 0
    met = np.flatnonzero(common >= _MIN_COMMON if (common >= _MIN_COMMON).any() else common > 0)
    mean = distance[met] / common[met]
    order = np.lexsort((-common[met], mean.round(12)))
    met, mean = met[order], mean[order]
    return frame_of(
        {"worker": run.workers.take(met), "common": np.ceil(common[met]).astype(np.int64), "distance": mean}
    )


def _find_disagreements(
    run: Run, weighing: Weighing, found: TaskTable, hers: tuple[Any, Any]
) -> tuple[pd.DataFrame, int, int]:
    """Return where she disagrees most with the truth, how often she does, and of how many answers that is known."""
    hashes, label = hers
    kept: list[Piece] = []
    disagrees = compared = 0
    for piece in found.pieces():
        own = piece.tasks.hashes()
        place = np.minimum(np.searchsorted(hashes, own), len(hashes) - 1)
        here = np.flatnonzero(hashes[place] == own)
        if not len(here):
            continue
        said, truth = label[place[here]], piece.found["label"][here]
        distance = run.kernels.distance_between(said, truth)
        sure = piece.found["confidence"][here]
        strength = np.nan_to_num(distance * np.nan_to_num(sure, nan=1.0)).round(12)
        disagrees += int(np.count_nonzero(np.nan_to_num(distance) > 0))
        compared += len(here)
        best = np.argsort(-strength, kind="stable")[:_MAX_DISAGREEMENTS]
        columns = {"said": said, "truth": truth, "distance": distance, "sure": sure, "strength": strength}
        chosen = {name: column[best] for name, column in columns.items()}
        kept.append(Piece(piece.tasks.take(here[best]), piece.answers[here[best]], chosen))
    whole = Piece.join(kept)
    order = np.argsort(-whole.found["strength"], kind="stable")[:_MAX_DISAGREEMENTS]
    rows = order[whole.found["strength"][order] > 0]
    picked = {name: column[rows] for name, column in whole.found.items()}
    table: dict[str, Values | Array] = {
        "task": whole.tasks.take(rows),
        "label": run.encoding.decode(picked["said"]),
        "truth": run.encoding.decode(picked["truth"]),
        sureness(weighing): picked["sure"],
        "distance": picked["distance"],
    }
    return frame_of(table), disagrees, compared


def _find_flags(run: Run, weighing: Weighing, worker: int, hers: tuple[Any, Any]) -> Iterator[Flag]:
    insight = weighing.insight
    faults, signal, groups = insight.faults, insight.signal, insight.groups
    if faults is not None and faults.few[worker]:
        yield Flag("few answers", f"{int(faults.shared[worker]):,} of her tasks were answered by others, too")
    if signal is not None and signal.empty[worker]:
        error = signal.error[worker]
        yield Flag("no signal", f"how much her answers say of the tasks is {signal.value[worker]:.2g} +- {error:.2g}")
    for group in groups.found if groups is not None else ():
        if worker in group.members:
            yield _describe_group(run.workers, group, worker)
    worse = find_worse(run, weighing)
    if worse is not None and worker in worse.workers:
        low, high = worse.low[worker], worse.high[worker]
        yield Flag(
            f"larger {worse.unit.replace('_', ' ')}", f"{low:.3g} to {high:.3g}, the crowd's is {worse.mean:.3g}"
        )
    label = hers[1]
    if len(label) >= _MIN_CONSTANT and len(number_labels(label[:_MIN_CONSTANT], run.encoding)[1]) == 1:
        first = np.repeat(label[:1], len(label), axis=0)
        if not np.any(run.kernels.distance_between(label, first) != 0):
            yield Flag("always the same", f"all her {len(label):,} answers are {run.encoding.decode(label[:1])[0]!r}")


def _describe_group(workers: Values, group: Any, worker: int) -> Flag:
    others = [str(workers[number]) for number in group.members if number != worker]
    more = f" and {len(others) - _MAX_NAMED:,} more" if len(others) > _MAX_NAMED else ""
    name = "copies" if group.copies else "alike"
    told = f"with {', '.join(others[:_MAX_NAMED])}{more}: {group.common:,} tasks in common, {group.rare:,} rare answers"
    fidelity = "" if np.isnan(group.fidelity) else f", together in {100 * group.fidelity:.0f} % of them"
    return Flag(name, f"{told} shared{fidelity}, by chance with probability {group.chance:.2g}")
