"""Load a saved result, add answers to a result, and describe what changed."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.factors import unite
from allalike._core.columns.values import Values, text_column
from allalike._core.system.addresses import find_folder
from allalike._core.system.progress import report
from allalike.answers import Answers
from allalike.answers.storage import label_values
from allalike.checks import check_answers, emit_warnings
from allalike.discover import check_gold, check_served, find_ties, fit, load_run, read_whole
from allalike.engines.adding import add_answers, fit_answers
from allalike.engines.sample import pick_tasks
from allalike.engines.sums import select_workers
from allalike.errors import GoldError, InputError, UnsupportedError
from allalike.methods.auto.uncertainty import adjust_probabilities
from allalike.readers import EXPORT, Scan, is_within, open_gold
from allalike.readers.tools import PLAIN
from allalike.result.saved import Call, check_complete, read_call
from allalike.result.saving import result_output, save_result
from allalike.sources import inputs_of, open_gold_within

if TYPE_CHECKING:
    import os

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.hashes import Hashes
    from allalike.answers.gold import Gold
    from allalike.engines import Engine, Run
    from allalike.result.result import Result
    from allalike.result.saved import SavedCall

    Change = dict[str, Any]


def load(folder: str | os.PathLike[str], *, engine: str | Engine | None = None) -> Result:
    r"""Load a saved result with its labels, workers and summary.

    The answers are read from the folder, and the method is fitted again. Another machine or engine may change the last
    digits of numbers. Results that were saved without their answers are refused.

    Parameters
    ----------
    folder
        Folder written by `Result.save` or ``allalike discover``.
    engine
        Engine, as in `discover`; it may differ from the engine of the first run.

    >>> import allalike, tempfile
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = result.save(folder + "/out")
    ...     again = allalike.load(folder + "/out")
    >>> again.truth.equals(result.truth), again.workers.equals(result.workers), again.summary == result.summary
    (True, True, True)
    """
    return _load(read_call(find_folder(folder)), engine)


def _load(saved: SavedCall, engine: str | Engine | None) -> Result:
    kept = saved.kept
    where, held = read_whole(saved.answers.read().per_task() if kept.per_task else saved.answers, engine)
    run = load_run(where, held, saved.gold, find_ties(kept.settings.seed, kept.settings.ties), guessed=False)
    counts = int(run.answer_counts.sum()), len(run.workers), run.n_tasks
    if counts != kept.answers:
        raise InputError(
            f"The answers in {saved.folder} are not those that were saved: {counts[0]:,} by {counts[1]:,} workers"
            f" to {counts[2]:,} tasks. Run 'allalike discover' again."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were emitted by the first run
        result = fit(saved.call(replace(run, notes=kept.notes), where), [], stacklevel=3)
    notes = {name: value for name, value in kept.notes.items() if name != "gold"}
    changes = {} if kept.changes is None else {"changes": kept.changes}
    return replace(result, summary={**result.summary, **notes, "warnings": list(kept.warnings), **changes})


def extend(result: Result[Any], more: Any, gold: Any, *, stacklevel: int = 3) -> Result[Any]:
    """Return the result for its answers and further answers, for `Result.update`."""
    if result.call is None:
        raise UnsupportedError("This result cannot be updated. Run allalike.discover on all answers.")
    call, _ = _add(result.call, more, gold)
    return replace(_refit(call, gold, stacklevel + 1), inputs=(*result.inputs, *inputs_of(more, gold)))


def _refit(call: Call, gold: Any, stacklevel: int) -> Result:
    check_served(call.method, call.run.encoding)
    issues = check_answers(call.run, call.gold, again=True)
    issues += check_gold(call.run, call.gold, call.method) if gold is not None else []
    emit_warnings(issues, stacklevel=stacklevel)
    return fit(call, issues, stacklevel=stacklevel + 1)


def _add(call: Call, more: Any, gold: Any) -> tuple[Call, Answers]:
    """Read answers and gold labels with the options of the first run, add them, and also return the new answers."""
    run, known = call.run, call.gold
    if run.n_gold and known is None:
        raise UnsupportedError(
            "The source of the gold labels of these answers is unknown. Pass all gold labels with gold=."
        )
    if (fresh := _open_more_gold(call, more, gold)) is not None:
        fresh.encode(run.encoding)  # so that errors name the rows of this gold
        known = fresh if known is None else known.joined(fresh)
    answers = more
    if not isinstance(answers, Answers):
        scan = more if isinstance(more, Scan) else replace(call.read, source=more)
        answers = replace(scan, domain=run.domain, choices={}).read()
    answers = fit_answers(run, answers)
    report("adding answers")
    run = add_answers(call.engine, run, answers, duplicates=call.read.kept_duplicates, gold=known)
    return replace(call, run=run, gold=known), answers


def _open_more_gold(call: Call, more: Any, gold: Any) -> Gold | None:
    """Return further gold labels, including those that a tool marks among the new answers if its marks were used."""
    if gold is not None and not is_within(gold):
        return open_gold(gold, label_map=call.read.label_map, gold_map=call.gold_map).split(call.run.domain)
    if gold is None and not call.read.golden:
        return None
    named = more if isinstance(more, Answers | Scan) else replace(call.read, source=more, domain=call.run.domain)
    with suppress(*([GoldError] if gold is None else [])):  # not every file has marks
        return open_gold_within(named, gold or EXPORT, call.gold_map)[1]
    return None


def update(
    folder: str | os.PathLike[str], answers: Any, *, gold: Any = None, engine: str | Engine | None = None
) -> Result:
    """Add answers to a saved result, save the new result in its place, and describe what changed.

    The new result equals that of a run on all answers. It is saved in the same form as the old result (format of
    tables, report), together with ``changes.csv``. The old result stays until the new one is complete.

    Parameters
    ----------
    folder
        Folder of a result with its answers, written by `Result.save` or ``allalike discover``.
    answers
        New answers, in any form that `discover` accepts; they are read with the options of the first run.
    gold
        Further gold labels.
    engine
        Engine; it may differ from the engine of the first run.

    >>> import allalike, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "y")]).save(folder)
    ...     result = update(folder, [("eve", 1, "y"), ("kim", 1, "y"), ("lea", 1, "y"), ("eve", 3, "x")])
    ...     allalike.load(folder).summary == result.summary
    True
    >>> result.truth["label"].tolist(), result.summary["changes"]["n_changed"]
    (['y', 'y', 'x'], 1)
    """
    place = find_folder(folder)
    check_complete(place)
    result_output(place).check([])  # before hours of work
    saved = read_call(place)
    if (how := saved.kept.saved) is None:
        raise UnsupportedError(
            f"The folder {place} contains the result of a panel. Run 'allalike jury' on all verdicts."
        )
    tools = {saved.read.tool, saved.kept.notes.get("guessed", {}).get("tool")}
    if how.to and tools - {None, PLAIN}:
        raise UnsupportedError(
            f"The result in {place} was also written for {', '.join(how.to)}, which needs the exports of all"
            " answers. Run 'allalike discover' on them with --to."
        )
    before = _load(saved, engine)
    assert before.call is not None
    call, more = _add(before.call, answers, gold)
    result = _refit(call, gold, 3)
    changes, table = find_changes(before, result, more.tasks.hashes())
    result = replace(result, summary={**result.summary, "changes": changes})
    report("saving")
    save_result(result, place, how, tables={"changes": table}, unchanged=saved.digest)
    return result


# Changes after answers were added to a result: changed labels, changed workers, and new copies.
#
# **Labels.** A label has changed if its task has another label now. A number has changed if the old one is outside the
# 95 % confidence interval of the new one, if there is one. Labels that are composed of parts of answers, such as masks,
# are not compared.
#
# **Workers** are compared with their earlier answers. A worker's excess error is the mean distance of the worker's
# answers to the current labels, minus the mean distance of the other workers' answers. Harder tasks therefore do not
# change it. Only tasks with at least three answers count, because the worker's own answer influences the label. The old
# and new excess are compared by a t-test with a common variance, shrunk by two answers of the crowd. Workers with fewer
# than ten old or new answers are excluded. With Holm's correction (1979) at 0.01, 1 % of updates report a false change.
#
# **Copies** are new if two members of a group were not in the same group before.


_MIN_ANSWERS_PER_TASK = 3  # answers per task, for a label independent enough of the worker
_SIGNIFICANT = 0.01
_MIN_ANSWERS = 10  # of a worker, old and new
_PRIOR_ANSWERS = 2  # of the crowd, which shrink the variance of a worker
_MAX_COMPARED = 1_000_000  # answers; of more, a sample of the tasks without new answers
_MAX_NAMED = 20  # per kind, in a summary
_COLUMNS: Change = {
    **dict.fromkeys(("what", "worker", "task", "before", "now"), ""),
    **dict.fromkeys(("answers_before", "answers_now", "ci_low", "ci_high", "p_value"), np.nan),
}


def find_changes(before: Result, result: Result, added: Hashes) -> tuple[dict[str, Any], dict[str, Values | Array]]:
    """Return the changes after answers were added to the tasks with these hashes, for the summary and as a table."""
    changed, n_known = _compare_labels(before, result)
    workers, n_tested = _compare_workers(result, before.run, added)
    known = [set(map(str, group)) for group in _list_copies(before)]
    copies = [names for names in _list_copies(result) if not any(set(map(str, names)) <= each for each in known)]
    counts = [each.summary.get("duplicates_removed", 0) for each in (before, result)]
    labels = [
        set(map(str, each.run.encoding.decode(np.arange(each.run.encoding.n_labels)).tolist()))
        if each.run.encoding.n_labels
        else set()
        for each in (before, result)
    ]
    facts = {
        "answers": int(result.run.answer_counts.sum()) - int(before.run.answer_counts.sum()),
        "duplicates_removed": counts[1] - counts[0],
        "labels": sorted(labels[1] - labels[0])[:_MAX_NAMED],
        "n_changed": None if changed is None else len(changed),
        "of": n_known,
        "changed": (changed or [])[:_MAX_NAMED],
        "tested": n_tested,
        "workers": workers[:_MAX_NAMED],
        "copies": copies[:_MAX_NAMED],
    }
    rows = [{"what": "label", **each} for each in changed or []] + workers
    rows += [{"what": "copies", "worker": "; ".join(map(str, group))} for group in copies]
    columns = {name: [row.get(name, empty) for row in rows] for name, empty in _COLUMNS.items()}
    return facts, {
        name: text_column(list(map(str, column))) if _COLUMNS[name] == "" else np.array(column, np.float64)
        for name, column in columns.items()
    }


def _list_copies(result: Result) -> list[list[Any]]:
    groups = result.weighing.copy_groups
    copies = [group for group in (groups.groups if groups is not None else ()) if group.copies]
    return [[result.run.workers[number] for number in group.members] for group in copies]


def _compare_labels(before: Result, result: Result) -> tuple[list[Change] | None, int]:
    """Return the changed labels (None if they cannot be compared), and the number of labels compared."""
    encoding, changed, n_known = result.run.encoding, [], 0
    pieces = [(piece.tasks.hashes(), piece.found["label"]) for piece in before.found.pieces()]
    old, codes = (np.concatenate(part) for part in zip(*pieces, strict=True))
    codes = encoding.encode(Column("label", label_values(before.run.encoding, codes).data))
    order = np.argsort(old)
    old, codes = old[order], codes[order]
    for piece in result.found.pieces():
        hashes = piece.tasks.hashes()
        place = np.searchsorted(old, hashes) % len(old)
        here = np.flatnonzero(old[place] == hashes)
        n_known += len(here)
        then, now = codes[place[here]], piece.found["label"][here]
        if "low" in piece.found:
            other = (then < piece.found["low"][here]) | (then > piece.found["high"][here])
        elif encoding.domain.recurring:
            other = encoding.kernels.differs(then, now, np.zeros(len(here)))
        else:
            return None, 0
        rows = np.flatnonzero(other)
        values = (piece.tasks.take(here[rows]), encoding.decode(then[rows]), encoding.decode(now[rows]))
        names = zip(*(each.tolist() for each in values), strict=True)
        changed += [{"task": task, "before": old_one, "now": new_one} for task, old_one, new_one in names]
    return changed, n_known


def _compare_workers(result: Result, before: Run, added: Hashes) -> tuple[list[Change], int]:
    """Return the changed workers and the number tested; the tasks of new answers have the hashes ``added``."""
    run, arguments = result.run, result.weighing.arguments
    if run.encoding.offsets is not None:
        return [], 0
    share = _MAX_COMPARED / int(run.answer_counts.sum())
    block, earlier = pick_tasks(run, added, share=share if share < 1 else 2.0), pick_tasks(before, added)
    prepared = run.encoding.prepare(block)
    label = result.weighing.decide_on(run)(prepared, *select_workers(prepared, arguments))["label"]
    distance = run.kernels.distance_between(block.label, block.to_answers(label))
    known = ~np.isnan(distance) & (block.to_answers(block.sizes) >= _MIN_ANSWERS_PER_TASK)
    place, _ = unite([before.workers, run.workers])
    tasks = np.sort(added)
    pairs = np.searchsorted(tasks, earlier.task_hash[earlier.task]) * block.n_workers + place[earlier.worker]
    hashes = block.task_hash[block.task]
    answered = np.isin(np.searchsorted(tasks, hashes) * block.n_workers + block.worker, pairs)
    is_new = np.isin(hashes, tasks) & ~answered
    worker, powers = block.worker, (np.ones(len(distance)), distance, distance**2)
    old, new = (
        np.array([np.bincount(worker[rows], power[rows], minlength=block.n_workers) for power in powers], np.float64)
        for rows in (known & ~is_new, known & is_new)
    )
    return _test_workers(run.workers.tolist(), old, new)


def _test_workers(names: list[Any], old: Floats, new: Floats) -> tuple[list[Change], int]:
    """Test each worker with enough answers; return the workers who changed, and the number of workers tested.

    The worker with the smallest p-value is excluded before the others are tested again, because one change can make
    other workers look changed.
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
        means = {"before": before, "now": now, "ci_low": low, "ci_high": high, "p_value": float(chance[first])}
        counts = {"answers_before": int(old[0, worker]), "answers_now": int(new[0, worker])}
        what = "better" if now < before else "worse"
        found.append({"worker": names[worker], "what": what, **means, **counts})
        crowd[worker] = False
        enough = np.delete(enough, first)
    return found, n_tested


def compare_means(old: Floats, new: Floats, workers: Array) -> tuple[Floats, ...]:
    """Compare the means of some workers with those of all others, in old and new answers.

    The rows are counts, sums and sums of squares of all workers. Return each worker's excess before and now, the 95 %
    limits of their difference, and its p-value.

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
