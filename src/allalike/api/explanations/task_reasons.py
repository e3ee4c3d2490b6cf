r"""Reasons for a truth: which answers with which weights led to it, and whose change would change it.

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
from allalike.api.explanations.explanations import TaskExplanation
from allalike.api.results.tables import sureness, trust_columns
from allalike.engines.sample import pick_tasks
from allalike.methods.auto.voices.groups import with_voices

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from allalike.domains import Encoding
    from allalike.engines import Piece, Run
    from allalike.methods import Weighing
    from allalike.methods.insight import Insight

    Places = npt.NDArray[np.intp]

__all__ = ["explain_task", "number_labels"]

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
