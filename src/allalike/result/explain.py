"""Explain why a task has its label, and what a worker is like.

An answer counts by the weight of its worker times its effective number of answers, which copies share. Its **share** is
that of all answers to the task. Labels are ranked by probability where the method knows it, and else by their share;
the **margin** is by how much the label is ahead of the next one.

**Deciding answers.** The task is decided again with the same weights, once without each answer, and once with each
answer replaced by the runner-up. Labels that are put together from answers, such as means, move with every answer; then
the distance is given.

**Without a worker** the others are weighed again by the same method, and all tasks are decided again. Tasks that only
this worker answered have no label then.

Ids match as they came, or as they are written: ``"7"`` is the task 7 unless another one is called so.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, find_answer_weights, sum_by
from allalike._core.columns.matches import find_places
from allalike._core.columns.values import Values, frame_of
from allalike._core.late import pa
from allalike._core.registry import did_you_mean
from allalike.answers.gold import History
from allalike.engines.sample import pick_tasks, sample_tasks
from allalike.engines.shards import Shard
from allalike.engines.sums import Piece
from allalike.errors import UnknownNameError, UnsupportedError
from allalike.methods.auto.copy_groups import with_voices
from allalike.methods.base import without_gold
from allalike.methods.composed import weigh
from allalike.result.explanations import Absence, Flag, TaskExplanation, WorkerExplanation
from allalike.result.flags import find_constant_workers
from allalike.result.quality import rate_disagreement
from allalike.result.summaries import find_truths, find_worse
from allalike.result.tables import sureness, trust_columns, worker_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    import pandas as pd

    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run, TaskTable
    from allalike.engines.memory import MemoryRun
    from allalike.methods import Fit, Method

    Places = npt.NDArray[np.intp]

_N_NAMED = 5  # members of a group
_MAX_CLOSE = 20_000  # ids among which a close one is searched
_MAX_TRIED, _MAX_COSTLY_TRIED = 100, 25  # answers that are left out or changed, one after the other
_MAX_ANSWERS = 1_000_000  # with more, deciding without a worker would take as long as the result itself
_MAX_DISAGREEMENTS = 10
_MIN_COMMON = 5  # tasks that colleagues share; fewer only if there are no such colleagues


def explain_task(run: Run, weighing: Fit, table: TaskTable, task: Any) -> TaskExplanation:
    """Explain why a task has its label."""
    piece = _find_task(table, task)
    encoding, kernels = run.encoding, run.kernels
    values = {name: column[:1] for name, column in piece.found.items()}
    block = pick_tasks(run, piece.tasks.hashes())
    block = block.pick(np.arange(1), np.arange(int(block.sizes[0])))
    columns, share = _share_out(run, weighing, block)
    truth, known = values["label"], bool(values.get("known", np.zeros(1))[0])
    number, first = _number_labels(block.label, encoding)
    probabilities = weighing.probabilities
    if probabilities is None:
        score = sum_by(number, share, len(first))
    else:
        every = probabilities(encoding.prepare(block), *weighing.arguments)["probability"]
        score = every[0, block.label[first]]
    is_truth = _measure(block.label[first], truth, kernels) == 0
    order = np.argsort(-score, kind="stable")
    others = [place for place in order if not is_truth[place]]
    runner_up = block.label[first[others[0]]] if others and run.domain.recurring else None
    cheap = encoding.n_classes is not None or encoding.numeric
    most = 0 if known else _MAX_TRIED if cheap else _MAX_COSTLY_TRIED
    tried = np.argsort(-share, kind="stable")[:most]
    distance = _measure(block.label, truth, kernels)
    columns |= {"distance": distance, **_try_changes(run, weighing, block, tried, runner_up)}
    following = float(score[others[0]]) if others else 0.0
    names = encoding.decode(block.label[first])
    labels: dict[str, Any] = {
        "label": names.take(order),
        "answers": np.bincount(number, minlength=len(order))[order],
        "share": sum_by(number, share, len(order))[order],
        **({} if probabilities is None else {"probability": score[order]}),
    }
    ends = {"low": [np.nan], "high": [np.nan], **values, **encoding.truth_columns(values)}
    rivals = bool(others) and not encoding.numeric
    return TaskExplanation(
        task=piece.tasks[0],
        truth=encoding.decode(truth).tolist()[0],
        sureness=sureness(weighing),
        confidence=float(values["confidence"][0]),
        ci_low=ends["low"][0],
        ci_high=ends["high"][0],
        standard_error=float(values["error"][0]),
        unweighted=encoding.decode(values["unweighted"]).tolist()[0],
        changed=bool(values["changed"][0]),
        tied=bool(values["tied"][0]),
        is_gold=known,
        abstained=bool(values.get("abstained", np.zeros(1))[0]),
        measure="weight" if probabilities is None else "probability",
        runner_up=names.tolist()[others[0]] if rivals else None,
        runner_up_score=following if rivals else np.nan,
        margin=float(score[is_truth].sum()) - following if is_truth.any() and not encoding.numeric else np.nan,
        spread=_compute_spread(share, distance, squared=run.domain.distance == "squared"),
        n_tried=len(tried),
        answers=frame_of(columns).iloc[np.argsort(-share, kind="stable")].reset_index(drop=True),
        labels=frame_of(labels),
    )


def _find_task(table: TaskTable, task: Any) -> Piece:
    """Return the row of a task in the table of labels."""
    first: Values | None = None
    for piece in table.pieces():
        row = find_places(_to_column(task, piece.tasks), piece.tasks)
        if row[0] >= 0:
            return Piece(piece.tasks.take(row), piece.answers[row], {n: c[row] for n, c in piece.found.items()})
        first = first or piece.tasks
    assert first is not None
    raise _refuse_unknown("task", task, first)


def _to_column(name: Any, known: Values) -> Values:
    """Return an id as a column, of Python's where the others are."""
    name = name.item() if isinstance(name, np.generic) else name
    if isinstance(known.data, list):
        return Values([name])
    try:
        return Values(pa.array([name]))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return Values([name])


def _refuse_unknown(kind: str, name: Any, known: Values) -> UnknownNameError:
    some = [str(each) for each in known.take(np.arange(min(len(known), _MAX_CLOSE))).tolist()]
    hint = did_you_mean(str(name), some)
    return UnknownNameError(f"No {kind} is called {name!r}.{hint or f' The first is {some[0]!r}.'}")


def _share_out(run: Run, weighing: Fit, block: Block) -> tuple[dict[str, Any], Floats]:
    """Return the first columns of the table of answers, and the share of each; if nothing counts, all are equal."""
    groups, weight = weighing.copy_groups, weighing.weight[block.worker]
    voice = find_answer_weights(block if groups is None else with_voices(block, groups=groups)).weight
    counts = weight * voice
    share = counts / counts.sum() if counts.sum() > 0 else np.full(len(voice), 1 / len(voice))
    columns = {"worker": run.workers.take(block.worker), "label": run.encoding.decode(block.label), "weight": weight}
    if groups is not None:
        columns |= {"effective_answers": voice, "copy_group": trust_columns(weighing)["copy_group"].take(block.worker)}
    return {**columns, "share": share}, share


def _number_labels(codes: Array, encoding: Encoding) -> tuple[Places, Places]:
    """Return, per answer, the number of its label among those that differ, and where each of these is first."""
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
    """Return how far the answers are from the label, by their shares; a length where distances are squares."""
    known = ~np.isnan(distance)
    total = share[known].sum()
    if total <= 0:
        return math.nan
    mean = float((share[known] * distance[known]).sum() / total)
    return math.sqrt(mean) if squared else mean


def _try_changes(run: Run, weighing: Fit, block: Block, tried: Places, runner_up: Any) -> dict[str, Any]:
    """Decide without each of some answers, and with each changed; what was not tried changes nothing."""
    n, kernels = len(block.label), run.kernels
    moves, left_out, changed = np.full(n, np.nan), np.full(n, n == 1), np.zeros(n, np.bool_)

    def decide(part: Block) -> Array:
        return weighing.decide_on(run)(run.encoding.prepare(part), *weighing.arguments)["label"]

    def repeat(rows: Places) -> Block:
        """Return answers to the task as if they were answers to several tasks, one for each answer that is tried."""
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
    truths = decide(block).repeat(len(tried), axis=0)
    if n > 1 and len(tried):
        without = decide(repeat(np.concatenate([np.delete(np.arange(n), place) for place in tried])))
        left_out[tried] = kernels.differs(truths, without, scatter)
        moves[tried] = kernels.distance_between(truths, without)
    if not run.domain.recurring:
        return {"moves": moves}
    if runner_up is not None and len(tried):
        copies = repeat(np.tile(np.arange(n), len(tried)))
        for place in tried + np.arange(len(tried)) * n:  # one by one, because a label may be a tuple
            copies.label[place] = runner_up
        changed[tried] = kernels.differs(truths, decide(copies), scatter)
    return {"if_left_out": left_out, "if_changed": changed}


def explain_worker(run: Run, weighing: Fit, table: TaskTable, method: Method | None, name: Any) -> WorkerExplanation:
    """Explain what a worker is like; without a method, labels without the worker are not estimated."""
    if run.worker_task is not None:
        raise UnsupportedError("Every task is a problem of its own here, with its own workers. Explain a task.")
    worker = int(find_places(_to_column(name, run.workers), run.workers)[0])
    if worker < 0:
        raise _refuse_unknown("worker", name, run.workers)
    blocks = run.gather(partial(_pick_worker, kernels=run.kernels, number=worker))
    hashes, label = (np.concatenate([getattr(block, part) for block in blocks]) for part in ("task_hash", "label"))
    order = np.argsort(hashes, kind="stable")
    hashes, label = hashes[order], label[order]
    columns = {}
    for title, column in worker_columns(run, weighing).items():
        value = column[worker]
        columns[title] = value.item() if isinstance(value, np.generic) else value
    large = int(run.answer_counts.sum()) > _MAX_ANSWERS
    disagreements, disagrees, compared = _find_disagreements(run, weighing, table, hashes, label)
    return WorkerExplanation(
        worker=run.workers[worker],
        columns=columns,
        flags=tuple(_find_flags(run, weighing, worker)),
        disagrees=disagrees,
        compared=compared,
        without=None if method is None or large else _leave_out(run, table, method, worker),
        too_large=large,
        colleagues=_find_colleagues(run, worker),
        disagreements=disagreements,
    )


def _pick_worker(block: Block, *, kernels: Kernels, number: int) -> Block:
    """Return a block of nothing but the answers of one worker."""
    workers = np.arange(block.n_workers) if isinstance(block.workers, slice) else block.workers
    rows = np.flatnonzero(workers[block.worker] == number)
    return replace(
        block.pick(block.task[rows], rows),
        starts=np.arange(len(rows)),
        sizes=np.ones(len(rows), np.int64),
        worker=np.full(len(rows), number, np.intp),
        label=kernels.restore_answers(block, rows),
        workers=slice(None),
        gold_label=kernels.restore_gold(block)[:0],
    )


def _find_colleagues(run: Run, worker: int) -> pd.DataFrame:
    """Return the workers who share tasks with this one, the nearest first."""
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


def _find_disagreements(
    run: Run, weighing: Fit, table: TaskTable, hashes: Array, label: Array
) -> tuple[pd.DataFrame, int, int]:
    """Return the strongest disagreements with the labels, their number, and the number of answers compared."""
    kept: list[Piece] = []
    disagrees = compared = 0
    for piece in table.pieces():
        own = piece.tasks.hashes()
        place = np.minimum(np.searchsorted(hashes, own), len(hashes) - 1)
        here = np.flatnonzero(hashes[place] == own)
        if not len(here):
            continue
        answer, truth, confidence = label[place[here]], piece.found["label"][here], piece.found["confidence"][here]
        distance = run.kernels.distance_between(answer, truth)
        strength = rate_disagreement(distance, confidence)
        disagrees += int(np.count_nonzero(np.nan_to_num(distance) > 0))
        compared += len(here)
        best = np.argsort(-strength, kind="stable")[:_MAX_DISAGREEMENTS]
        columns = {"answer": answer, "truth": truth, "distance": distance, "sure": confidence, "strength": strength}
        chosen = {name: column[best] for name, column in columns.items()}
        kept.append(Piece(piece.tasks.take(here[best]), piece.answers[here[best]], chosen))
    whole = Piece.join(kept)
    order = np.argsort(-whole.found["strength"], kind="stable")[:_MAX_DISAGREEMENTS]
    rows = order[whole.found["strength"][order] > 0]
    picked = {name: column[rows] for name, column in whole.found.items()}
    columns = {
        "task": whole.tasks.take(rows),
        "label": run.encoding.decode(picked["answer"]),
        "truth": run.encoding.decode(picked["truth"]),
        sureness(weighing): picked["sure"],
        "distance": picked["distance"],
    }
    return frame_of(columns), disagrees, compared


def _find_flags(run: Run, weighing: Fit, worker: int) -> Iterator[Flag]:
    faults, groups = weighing.uncertainty, weighing.copy_groups
    if faults is not None and faults.few[worker]:
        yield Flag("few answers", f"{int(faults.shared[worker]):,} of the worker's tasks have other answers")
    if faults is not None and faults.uninformative is not None and faults.uninformative[worker]:
        assert faults.informativeness is not None
        assert faults.informativeness_se is not None
        value, error = faults.informativeness[worker], faults.informativeness_se[worker]
        yield Flag("uninformative", f"informativeness {value:.2g}, standard error {error:.2g}")
    for group in groups.groups if groups is not None else ():
        if worker in group.members:
            yield _describe_group(run.workers, group, worker)
    worse = find_worse(run, weighing)
    if worse is not None and worker in worse.workers:
        low, high, unit = worse.low[worker], worse.high[worker], worse.unit.replace("_", " ")
        known = f"{low:.3g} to {high:.3g}, the crowd's is {worse.mean:.3g}"
        more = f"{worse.relative[worker]:.3g} more than others on the same tasks"
        yield Flag(f"larger {unit}", known if np.isfinite(low) else more)
    constant = find_constant_workers(run)
    if worker in constant:
        yield Flag("always the same", f"all {int(run.answer_counts[worker]):,} answers are {constant[worker]!r}")


def _describe_group(workers: Values, group: Any, worker: int) -> Flag:
    others = [str(workers[number]) for number in group.members if number != worker]
    more = f" and {len(others) - _N_NAMED:,} more" if len(others) > _N_NAMED else ""
    together = "" if np.isnan(group.fidelity) else f", together in {100 * group.fidelity:.0f} % of them"
    return Flag(
        "copies" if group.copies else "alike",
        f"with {', '.join(others[:_N_NAMED])}{more}: {group.common:,} tasks in common, {group.rare:,} rare"
        f" answers shared{together}, by chance with probability {group.p_value:.2g}",
    )


def _leave_out(run: Run, table: TaskTable, method: Method, worker: int) -> Absence | None:
    """Decide all tasks without a worker, and compare; None if there are no other workers."""
    rest = _drop_worker(run, worker)
    if rest is None:
        return None
    learns = rest.n_gold > 0 and without_gold(method) != method
    label = find_truths(rest, weigh(method, rest), keep_gold=learns).joined().found["label"]
    hashes = rest.shards[0].task_hash
    scatter = np.concatenate([run.kernels.scatter(block) for block in rest.blocks])
    changed, shift, compared = 0, 0.0, 0
    for piece in table.pieces():
        own = piece.tasks.hashes()
        place = np.minimum(np.searchsorted(hashes, own), len(hashes) - 1)
        here = np.flatnonzero(hashes[place] == own)
        before, after = piece.found["label"][here], label[place[here]]
        changed += int(np.count_nonzero(run.kernels.differs(before, after, scatter[place[here]])))
        shift += float(np.nansum(run.kernels.distance_between(before, after))) if len(here) else 0.0
        compared += len(here)
    return Absence(changed, compared, run.n_tasks - compared, shift / compared)


def _drop_worker(run: Run, worker: int) -> MemoryRun | None:
    """Return a run in memory without a worker; those after them get the number before theirs."""
    whole, blocks = sample_tasks(run, 2 * int(run.answer_counts.sum())), []
    for block in whole.blocks:
        kept = block.worker != worker
        sizes = np.add.reduceat(kept.astype(np.int64), block.starts)
        left = np.flatnonzero(sizes)
        known = np.isin(block.gold_task, left)
        rest = replace(block, sizes=sizes).pick(left, np.flatnonzero(kept))
        rest = replace(
            rest,
            worker=rest.worker - (rest.worker > worker),
            n_workers=block.n_workers - 1,
            gold_task=np.searchsorted(left, block.gold_task[known]),
            gold_label=block.gold_label[known],
        )
        if rest.n_tasks:
            blocks.append(run.encoding.prepare(rest))
    if not blocks:
        return None
    others = np.delete(np.arange(len(run.workers)), worker)
    hashes, sizes = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("task_hash", "sizes"))
    past = run.history
    return replace(
        whole,
        shards=[Shard(blocks, Values(hashes), sizes)],
        workers=run.workers.take(others),
        answer_counts=run.answer_counts[others],
        n_tasks=len(sizes),
        n_gold=sum(len(block.gold_task) for block in blocks),
        history=None if past is None else History(past.answers[others], past.fault[others]),
    )
