r"""Since: what changed when answers were added to a result: truths that turned, workers, and who copies.

**Truths.** One turned if its task has another label now. Of numbers, which move a little each time, one turned if the
old one is outside of the limits of 95 % of the new one, where these are known. Of other labels that are put together
from parts of the answers, such as masks, nothing is said.

**Workers** are compared with themselves: the mean distance of her new answers to the truths, as they are known now,
minus that of the others' new answers, with the same of the old answers. So tasks that are harder, and for everybody,
change nobody. Only tasks with three answers and more count, for she has a say in the truth herself. The difference is
tested as two means with one variance, that of all her answers with two answers of the crowd beside them, by Student's
distribution; workers with less than ten answers on either side are left out. Probabilities of all workers together are
those of Holm (1979), and a change below 0.01 is one: so in one update of a hundred somebody is called changed who is
not. Whoever changed is left out, and the others are looked at again.

**Copies** are new if two of a group were not in one before.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import known_sums
from allalike._core.columns.values import Values, text_column
from allalike.answers.storage import column_values
from allalike.api.judges.changes import SIGNIFICANT, adjust

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.answers import Answers
    from allalike.api.inputs.state import SavedState
    from allalike.api.result import Result
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Piece
    from allalike.methods.base import Decide

__all__ = ["ChangeSince", "compare_means", "find_changes"]

_MIN_VOICES = 3  # answers of a task whose truth tells about workers
_MIN_ANSWERS = 10  # of a worker, old and new
_PRIOR_ANSWERS = 2  # of the crowd, beside those of a worker who hardly ever varies
_MAX_NAMED = 20  # of each kind, in a summary
_COUNTS, _LIMITS = ("answers_before", "answers_now"), ("low", "high", "probability")


@dataclass(frozen=True)
class ChangeSince:
    """A truth that turned, a worker who changed, or copies that are new.

    Numbers are those of workers: her mean distance to the truths beyond that of the others, before and now, in how many
    answers, the limits of the difference, of 95 %, and how probable it is if she did not change.
    """

    what: str  # truth, better, worse or copies
    name: Any
    before: Any = ""
    now: Any = ""
    answers_before: int = 0
    answers_now: int = 0
    low: float = np.nan
    high: float = np.nan
    probability: float = np.nan


def find_changes(
    result: Result, state: SavedState, known: Encoding
) -> tuple[dict[str, Any], dict[str, Values | Array]]:
    """Say what changed since a result was saved, whose labels are known: for its summary, and as a table."""
    assert result.basis is not None
    assert result.basis.news is not None
    news = result.basis.news()
    named, turned, n_known = _compare_truths(result, state, news.after)
    workers: list[ChangeSince] | None = None
    if result.run.encoding.offsets is None and len(named.tasks):
        kernel = partial(_sum_block, own=result.weighing.decide_on(result.run), kernels=result.run.kernels)
        every = result.run.sum(kernel, *result.weighing.arguments)
        new = _sum_answers(news.after, named, result.run.kernels)
        for part in news.before:
            new -= _sum_answers(part, named, result.run.kernels)
        sums = np.stack([every["answers"], every["distance"], every["square"]])
        workers = _test_workers(result.run.workers.tolist(), sums - new, new)
    copies = list(_find_copies(result, [set(map(str, group)) for group in state.told["copies"]]))
    told = {
        "answers": int(result.run.answer_counts.sum()) - int(state.told["counts"][0]),
        "set_aside": result.summary.get("repeats_set_aside", 0) - state.told["notes"].get("repeats_set_aside", 0),
        "labels": sorted(_list_labels(result.run.encoding) - _list_labels(known))[:_MAX_NAMED],
        "turned": None if turned is None else len(turned),
        "of": n_known,
        "truths": [{"task": each.name, "before": each.before, "now": each.now} for each in (turned or [])[:_MAX_NAMED]],
        "tested": 0 if workers is None else len(workers),
        "workers": [_tell(each) for each in workers or [] if each.what][:_MAX_NAMED],
        "copies": [each.name for each in copies][:_MAX_NAMED],
    }
    found = [*(turned or []), *(each for each in workers or [] if each.what), *copies]
    return told, _list_columns(found)


def _list_labels(encoding: Encoding) -> set[str]:
    return set(map(str, encoding.decode(np.arange(encoding.n_labels)).tolist())) if encoding.n_labels else set()


def _tell(change: ChangeSince) -> dict[str, Any]:
    told = {name: getattr(change, name) for name in ("before", "now", *_COUNTS, *_LIMITS)}
    return {"worker": change.name, "what": change.what, **told}


def _list_columns(found: list[ChangeSince]) -> dict[str, Values | Array]:
    rows = {each.name: [getattr(change, each.name) for change in found] for each in fields(ChangeSince)}
    kinds = dict.fromkeys(_COUNTS, "int64") | dict.fromkeys(_LIMITS, "float64")
    return {
        name: np.array(row, kinds[name]) if name in kinds else text_column(list(map(_write, row)))
        for name, row in rows.items()
    }


def _write(value: Any) -> str:
    """Write a cell; workers of a group as the table of groups has them."""
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _compare_truths(result: Result, state: SavedState, after: Answers) -> tuple[Piece, list[ChangeSince] | None, int]:
    """Return the truths of tasks that new answers name, those that turned, if that can be said, and of how many."""
    from allalike.engines.task_table import Piece

    encoding = result.run.encoding
    task, label = state.truth()
    old, codes = column_values(task).hashes(), encoding.encode(label)
    order = np.argsort(old)
    hashes, named, turned, n_known, tells = np.sort(after.tasks.hashes()), [], [], 0, False
    for piece in result.found.pieces():
        own = piece.tasks.hashes()
        mine = np.flatnonzero(_find_hashes(own, hashes) >= 0)
        label_only = {"label": piece.found["label"][mine]}
        named.append(Piece(piece.tasks.take(mine), piece.answers[mine], label_only))
        place = _find_hashes(own, old[order])
        here = np.flatnonzero(place >= 0)
        before, now = codes[order[place[here]]], piece.found["label"][here]
        n_known += len(here)
        if "low" in piece.found:
            other = (before < piece.found["low"][here]) | (before > piece.found["high"][here])
        elif encoding.domain.recurring:
            other = encoding.kernels.differs(before, now, np.zeros(len(here)))
        else:
            continue
        tells = True
        rows = np.flatnonzero(other)
        names = (piece.tasks.take(here[rows]), encoding.decode(before[rows]), encoding.decode(now[rows]))
        turned += [ChangeSince("truth", *each) for each in zip(*(values.tolist() for values in names), strict=True)]
    return Piece.join(named), turned if tells else None, n_known


def _find_hashes(wanted: Array, known: Array) -> Array:
    """Return the places of hashes among others, which are in order; -1 for those that are not there."""
    place = np.searchsorted(known, wanted) % max(len(known), 1)
    return np.where(known[place] == wanted, place, -1) if len(known) else np.full(len(wanted), -1)


def _sum_block(
    block: Block, weights: Floats, faults: Floats, *more: Floats, own: Decide, kernels: Kernels
) -> dict[str, Floats]:
    """Add up each worker's distances to the truths of a block, and their squares."""
    label = own(block, weights, faults, *more)["label"]
    given = kernels.restore_answers(block, np.arange(len(block.label)))
    distance = kernels.distance_between(given, block.to_answers(label))
    distance = np.where(block.to_answers(block.sizes >= _MIN_VOICES), distance, np.nan)
    return {**known_sums(block, distance), "square": known_sums(block, distance**2)["distance"]}


def _sum_answers(answers: Answers, truths: Piece, kernels: Kernels) -> Floats:
    """Count each worker's answers, and add up their distances to the truths, and the squares."""
    known_tasks = truths.tasks.hashes()
    order = np.argsort(known_tasks)
    place = np.repeat(order[_find_hashes(answers.tasks.hashes(), known_tasks[order])], np.diff(answers.starts))
    distance = kernels.distance_between(answers.label, truths.found["label"][place])
    known = ~np.isnan(distance) & (truths.answers[place] >= _MIN_VOICES)
    worker, distance = answers.worker[known], distance[known]
    powers = (np.ones(len(distance)), distance, distance**2)
    return np.stack([np.bincount(worker, power, minlength=len(answers.workers)) for power in powers])


def _test_workers(names: list[Any], old: Floats, new: Floats) -> list[ChangeSince]:
    """Test each worker who has answers enough; what is no change has no name.

    The one whose change is the most improbable is left out, and the others are looked at again, lest she makes them
    look changed.
    """
    enough = np.flatnonzero((old[0] >= _MIN_ANSWERS) & (new[0] >= _MIN_ANSWERS))
    crowd, found = np.ones(old.shape[1], np.bool_), []
    while len(enough):
        *means, chance = compare_means(old * crowd, new * crowd, enough)
        chance = adjust(chance)
        first = int(np.argmin(chance))
        is_found = bool(chance[first] < SIGNIFICANT)
        for k in [first] if is_found else range(len(enough)):
            worker, (before, now, low, high) = int(enough[k]), (float(each[k]) for each in means)
            what = ("better" if now < before else "worse") if is_found else ""
            counts = int(old[0, worker]), int(new[0, worker])
            found.append(ChangeSince(what, names[worker], before, now, *counts, low, high, float(chance[k])))
        crowd[enough[first]] = False
        enough = np.delete(enough, first) if is_found else enough[:0]
    return found


def compare_means(old: Floats, new: Floats, workers: Array) -> tuple[Floats, ...]:
    """Compare the means of some workers with those of all others, in old and new answers.

    The rows are counts, sums and sums of squares, of all workers. Returned are each one's excess before and now, the
    limits of their difference, of 95 %, and its probability.

    >>> old, new = np.array([[50.0, 500], [5, 50], [5, 50]]), np.array([[50.0, 500], [25, 50], [25, 50]])
    >>> [float(each[0].round(3)) for each in compare_means(old, new, np.array([0]))]
    [0.0, 0.4, 0.214, 0.586, 0.0]
    """
    from scipy.special import stdtr, stdtrit

    others = [side.sum(axis=1, keepdims=True) - side[:, workers] for side in (old, new)]
    mine = [side[:, workers] for side in (old, new)]
    n_others = [np.maximum(side[0], 1) for side in others]
    before, now = (m[1] / m[0] - o[1] / n for m, o, n in zip(mine, others, n_others, strict=True))
    total = (old + new).sum(axis=1)
    crowd = total[2] / max(total[0], 1) - (total[1] / max(total[0], 1)) ** 2
    n, s, ss = mine[0] + mine[1]
    variance = (ss - s**2 / n + _PRIOR_ANSWERS * crowd) / (n - 1 + _PRIOR_ANSWERS)
    spread = variance * (1 / mine[0][0] + 1 / mine[1][0]) + crowd * (1 / n_others[0] + 1 / n_others[1])
    error = np.sqrt(np.maximum(spread, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.nan_to_num(2 * stdtr(n - 2, -np.abs(now - before) / error), nan=1.0)
    half = stdtrit(n - 2, 0.975) * error
    return before, now, now - before - half, now - before + half, chance


def _find_copies(result: Result, known: list[set[str]]) -> Iterator[ChangeSince]:
    groups = result.weighing.insight.groups
    for group in groups.found if groups is not None else ():
        names = [result.run.workers[number] for number in group.members]
        if group.copies and not any(set(map(str, names)) <= each for each in known):
            yield ChangeSince("copies", names, now=len(names), probability=group.chance)
