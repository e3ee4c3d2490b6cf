"""Load a saved result, update it with more answers, and describe what changed."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import known_sums
from allalike._core.columns.factors import unite
from allalike._core.columns.values import Values, text_column
from allalike._core.system.addresses import find_folder
from allalike._core.system.progress import report
from allalike.api.discover import find_ties, load_run, read_whole, renew, solve
from allalike.engines.sample import pick_tasks
from allalike.engines.sums import select_workers
from allalike.errors import InputError, UnsupportedError
from allalike.methods.auto.sureness.intervals import adjust_probabilities
from allalike.readers.tools import PLAIN
from allalike.result.inputs.opening import Basis, Origin
from allalike.result.inputs.saved_files import check_complete
from allalike.result.inputs.state import read_state
from allalike.result.targets import result_output

if TYPE_CHECKING:
    import os

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.columns.hashes import Hashes
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Engine, Run
    from allalike.methods.base import Decide
    from allalike.result.inputs.state import SavedState
    from allalike.result.result import Result

    Change = dict[str, Any]


# load: a saved result, as it was, from what its folder keeps.


def load(folder: str | os.PathLike[str], *, engine: str | Engine | None = None) -> Result:
    r"""Load a saved result: the same truths, workers and summary, with all that a result can do.

    The answers are taken from the folder, and workers are weighed again as they were; so it works on another machine,
    and on another engine, where numbers may differ in the last digits. A result that was saved without its answers, or
    before allalike kept them, is refused.

    Parameters
    ----------
    folder
        Where `Result.save` or ``allalike discover`` wrote it.
    engine
        Where it runs, as in `discover`; it need not be where it ran before.

    >>> import allalike, tempfile
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = result.save(folder + "/out")
    ...     again = allalike.load(folder + "/out")
    >>> again.truth.equals(result.truth), again.workers.equals(result.workers), again.summary == result.summary
    (True, True, True)
    """
    state = read_state(find_folder(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there was to say was said when it was found
        result = solve(reopen(state, engine), [])
    told = {name: note for name, note in state.told["notes"].items() if name != "gold"}
    told |= {name: state.told[name] for name in ("warnings", "changes") if name in state.told}
    return replace(result, summary={**result.summary, **told})


def reopen(state: SavedState, engine: str | Engine | None) -> Basis:
    """Put the answers of a saved result where they are needed."""
    settings, kept = state.told["settings"], state.told["generations"][-1]
    answers = state.answers
    where, held = read_whole(answers.read().per_task() if state.told["per_task"] else answers, engine)
    run = load_run(where, held, state.gold, find_ties(settings["seed"], settings["ties"]), guessed=False)
    origin = Origin(state.scan, state.gold, history=state.history, gold_map=state.gold_map)
    counts = int(run.answer_counts.sum()), len(run.workers), run.n_tasks
    if counts != tuple(kept[name] for name in ("answers", "workers", "tasks")):
        raise InputError(
            f"The answers in {state.folder} are not those that were saved: there are {counts[0]:,} of {counts[1]:,}"
            f" workers to {counts[2]:,} tasks. Run 'allalike discover' again."
        )
    run = replace(run, notes=state.told["notes"])
    settings = {"engine": where.name, **settings}
    return Basis(run, state.method, origin, settings, generations=tuple(state.told["generations"]), renew=renew)


# Since: what changed when answers were added to a result: truths that turned, workers, and who copies.
#
# **Truths.** One turned if its task has another label now. Of numbers, which move a little each time, one turned if the
# old one is outside of the limits of 95 % of the new one, where these are known. Of other labels that are put together
# from parts of the answers, such as masks, nothing is said.
#
# **Workers** are compared with themselves: the mean distance of her new answers to the truths, as they are known now,
# minus that of the others' new answers, with the same of the old answers. So tasks that are harder, and for
# everybody, change nobody. Only tasks with three answers and more count, for she has a say in the truth herself. The
# difference is tested as two means with one variance, that of all her answers with two answers of the crowd beside
# them, by Student's distribution; workers with less than ten answers on either side are left out. Probabilities of
# all workers together are those of Holm (1979), and a change below 0.01 is one: so in one update of a hundred
# somebody is called changed who is not. Whoever changed is left out, and the others are looked at again.
#
# **Copies** are new if two of a group were not in one before.


_MIN_VOICES = 3  # answers of a task whose truth tells about workers
_SIGNIFICANT = 0.01
_MIN_ANSWERS = 10  # of a worker, old and new
_PRIOR_ANSWERS = 2  # of the crowd, beside those of a worker who hardly ever varies
_MAX_NAMED = 20  # of each kind, in a summary
_COLUMNS: Change = {
    **dict.fromkeys(("what", "worker", "task", "before", "now"), ""),
    **dict.fromkeys(("answers_before", "answers_now", "low", "high", "probability"), np.nan),
}


def find_changes(result: Result, state: SavedState, before: Run) -> tuple[dict[str, Any], dict[str, Values | Array]]:
    """Say what changed since a result was saved, from the answers before: for its summary, and as a table."""
    assert result.basis is not None
    assert result.basis.added is not None
    turned, n_known = _compare_truths(result, state)
    workers, n_tested = _compare_workers(result, before, result.basis.added)
    copies = _find_copies(result, [set(map(str, group)) for group in state.told["copies"]])
    told = {
        "answers": int(result.run.answer_counts.sum()) - int(state.told["generations"][-1]["answers"]),
        "set_aside": result.summary.get("repeats_set_aside", 0) - state.told["notes"].get("repeats_set_aside", 0),
        "labels": sorted(_list_labels(result.run.encoding) - _list_labels(before.encoding))[:_MAX_NAMED],
        "turned": None if turned is None else len(turned),
        "of": n_known,
        "truths": (turned or [])[:_MAX_NAMED],
        "tested": n_tested,
        "workers": workers[:_MAX_NAMED],
        "copies": copies[:_MAX_NAMED],
    }
    truths = [{"what": "truth", **each} for each in turned or []]
    return told, _list_columns(
        [*truths, *workers, *({"what": "copies", "worker": "; ".join(map(str, group))} for group in copies)]
    )


def _list_labels(encoding: Encoding) -> set[str]:
    return set(map(str, encoding.decode(np.arange(encoding.n_labels)).tolist())) if encoding.n_labels else set()


def _list_columns(rows: list[Change]) -> dict[str, Values | Array]:
    columns = {name: [row.get(name, empty) for row in rows] for name, empty in _COLUMNS.items()}
    kinds = {name: type(empty) for name, empty in _COLUMNS.items()}
    return {
        name: text_column(list(map(str, column))) if kinds[name] is str else np.array(column, kinds[name])
        for name, column in columns.items()
    }


def _compare_truths(result: Result, state: SavedState) -> tuple[list[Change] | None, int]:
    """Return the truths that turned, if that can be said, and of how many."""
    encoding, turned, n_known = result.run.encoding, [], 0
    read = [(task.hashes(), encoding.encode(label)) for task, label in state.truths()]
    old, codes = (np.concatenate(part) for part in zip(*read, strict=True))
    order = np.argsort(old)
    old, codes = old[order], codes[order]
    for piece in result.found.pieces() if len(old) else ():
        hashes = piece.tasks.hashes()
        place = np.searchsorted(old, hashes) % len(old)
        here = np.flatnonzero(old[place] == hashes)
        n_known += len(here)
        before, now = codes[place[here]], piece.found["label"][here]
        if "low" in piece.found:
            other = (before < piece.found["low"][here]) | (before > piece.found["high"][here])
        elif encoding.domain.recurring:
            other = encoding.kernels.differs(before, now, np.zeros(len(here)))
        else:
            return None, 0
        rows = np.flatnonzero(other)
        values = (piece.tasks.take(here[rows]), encoding.decode(before[rows]), encoding.decode(now[rows]))
        names = zip(*(each.tolist() for each in values), strict=True)
        turned += [{"task": task, "before": old_one, "now": new_one} for task, old_one, new_one in names]
    return turned, n_known


def _compare_workers(result: Result, before: Run, added: Hashes) -> tuple[list[Change], int]:
    """Return the workers who changed, and how many were tested; new answers are to tasks with the hashes ``added``."""
    run, arguments = result.run, result.weighing.arguments
    if run.encoding.offsets is not None:
        return [], 0
    own = result.weighing.decide_on(run)
    every = run.sum(partial(_sum_block, own=own, kernels=run.kernels), *arguments)
    now, then = pick_tasks(run, added), pick_tasks(before, added)
    prepared = run.encoding.prepare(now)
    truths = own(prepared, *select_workers(prepared, arguments))["label"]
    new = _sum_answers(now, now.label, now.worker, now, truths, run.kernels)
    if then.n_tasks:
        place, _ = unite([before.workers, run.workers])
        label = run.encoding.remap(then.label, before.encoding)
        new -= _sum_answers(then, label, place[then.worker], now, truths, run.kernels)
    sums = np.stack([every["answers"], every["distance"], every["square"]])
    return _test_workers(run.workers.tolist(), sums - new, new)


def _sum_block(
    block: Block, weights: Floats, faults: Floats, *more: Floats, own: Decide, kernels: Kernels
) -> dict[str, Floats]:
    """Add up each worker's distances to the truths of a block, and their squares."""
    label = own(block, weights, faults, *more)["label"]
    given = kernels.restore_answers(block, np.arange(len(block.label)))
    distance = kernels.distance_between(given, block.to_answers(label))
    distance = np.where(block.to_answers(block.sizes >= _MIN_VOICES), distance, np.nan)
    return {**known_sums(block, distance), "square": known_sums(block, distance**2)["distance"]}


def _sum_answers(block: Block, label: Array, worker: Array, now: Block, truths: Array, kernels: Kernels) -> Floats:
    """Count each worker's answers in a block, and add up their distances to the truths of now, and the squares."""
    order = np.argsort(now.task_hash)
    task = order[np.searchsorted(now.task_hash[order], block.task_hash)]
    place = block.to_answers(task)
    distance = kernels.distance_between(label, truths[place])
    known = ~np.isnan(distance) & (now.sizes[place] >= _MIN_VOICES)
    worker, distance = worker[known], distance[known]
    powers = (np.ones(len(distance)), distance, distance**2)
    return np.stack([np.bincount(worker, power, minlength=now.n_workers) for power in powers])


def _test_workers(names: list[Any], old: Floats, new: Floats) -> tuple[list[Change], int]:
    """Test each worker who has answers enough; return those who changed, and how many there were.

    The one whose change is the most improbable is left out, and the others are looked at again, lest she makes them
    look changed.
    """
    enough = np.flatnonzero((old[0] >= _MIN_ANSWERS) & (new[0] >= _MIN_ANSWERS))
    n_tested, crowd, found = len(enough), np.ones(old.shape[1], np.bool_), []
    while len(enough):
        *limits, chance = compare_means(old * crowd, new * crowd, enough)
        chance = adjust_probabilities(chance)
        first = int(np.argmin(chance))
        if chance[first] >= _SIGNIFICANT:
            break
        worker, (before, now, low, high) = int(enough[first]), (float(each[first]) for each in limits)
        counts = {"answers_before": int(old[0, worker]), "answers_now": int(new[0, worker])}
        means = {"before": before, "now": now, **counts, "low": low, "high": high, "probability": float(chance[first])}
        found.append({"worker": names[worker], "what": "better" if now < before else "worse", **means})
        crowd[worker] = False
        enough = np.delete(enough, first)
    return found, n_tested


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


def _find_copies(result: Result, known: list[set[str]]) -> list[list[Any]]:
    groups = result.weighing.insight.groups
    copies = [group for group in (groups.found if groups is not None else ()) if group.copies]
    named = [[result.run.workers[number] for number in group.members] for group in copies]
    return [names for names in named if not any(set(map(str, names)) <= each for each in known)]


def update(
    folder: str | os.PathLike[str], answers: Any, *, gold: Any = None, engine: str | Engine | None = None
) -> Result:
    """Add answers to a saved result, save the new one in its place, and say what changed.

    The old answers are taken from the folder, and are not written again. The new result is the one that all answers at
    once would give, and is saved as the old one was: tables of the same format, with a report if there was one, and
    ``changes.csv``. Until it is whole, the old one stays.

    Parameters
    ----------
    folder
        Where `Result.save` or ``allalike discover`` wrote the result, with its answers.
    answers
        The new ones, in any form that `discover` takes; they are read as the first ones were.
    gold
        Further truths that are known.
    engine
        Where it runs, ``memory`` or ``disk``; it need not be where it ran before.

    >>> import allalike, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "y")]).save(folder)
    ...     result = update(folder, [("eve", 1, "y"), ("kim", 1, "y"), ("lea", 1, "y"), ("eve", 3, "x")])
    ...     allalike.load(folder).summary == result.summary
    True
    >>> result.truth["label"].tolist(), result.summary["changes"]["turned"]
    (['y', 'y', 'x'], 1)
    """
    place = find_folder(folder)
    check_complete(place)
    result_output(place).check([])  # before hours of work
    state = read_state(place)
    if (how := state.told["saved"]) is None:
        raise UnsupportedError(f"The result in {place} is that of a panel. Run 'allalike jury' on all verdicts.")
    tools = {state.scan.files.tool, state.told["notes"].get("guessed", {}).get("tool")}
    if how["to"] and tools - {None, PLAIN}:
        raise UnsupportedError(
            f"The result in {place} was written for {', '.join(how['to'])}, too, which takes the exports of all"
            " answers. Run 'allalike discover' on them with --to."
        )
    basis = reopen(state, engine)
    result = renew(replace(basis, parts=state.files), answers, gold)
    told, table = find_changes(result, state, basis.run)
    result = replace(result, summary={**result.summary, "changes": told})
    report("saving")
    result.save_with({}, {}, place, changes=table, unchanged=state.digest, **how)
    return result
