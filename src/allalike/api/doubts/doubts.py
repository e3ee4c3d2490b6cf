"""Doubts: what in the answers makes one wonder whether they are what was meant."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import find_order, sum_by
from allalike._core.columns.matches import find_places
from allalike._core.columns.values import Values, shorten
from allalike.answers import Answers
from allalike.answers.cleaning import find_misreadings
from allalike.api.doubts.spellings import (
    Doubt,
    doubt_spellings,
    find_abstentions,
    find_spellings,
    list_labels,
    say_joining,
)
from allalike.engines.sample import sample_tasks
from allalike.telling.answers import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.answers.gold import Gold
    from allalike.engines import Run
    from allalike.readers import Scan


# Far answers: the few that carry most of the squared distance, where distances of numbers are squared.
#
# A square of a hundredfold error counts ten thousand times. So a few answers that are no measurements at all, such as
# -999 for "no reading", may decide which worker looks bad, and a worker is bad for one answer in a hundred. Of errors
# like those of Gauss, half of the sum of squares is carried by the largest 12 %, and with the heavy tails of Laplace by
# the largest 7 %. A warning is due where
#
#     the largest 1 % of the deviations |x - median of the task|, or one of 50 to 100, carry half of all squares,
#
# not counting a worker who gave more than a quarter of her answers like that: she simply is a bad one, which is what
# weights are for. Then squares are the wrong distance for these answers.
#
# They are looked for in the tasks with three answers or more, since the middle of two says nothing about either, and
# in some 200,000 answers of those tasks that the hashes of their ids choose. It fails where so many are far that half
# of the squares need more of them, which is a crowd of two kinds.
#
# **Codes** are found otherwise, for they may be as many as they like: a number that is given three times or more, and
# is farther from all others than these are from each other, such as 9999.


_FAR_SAMPLE = 200_000
_MIN_ANSWERS = 3  # to a task, for its middle to say anything
_FEW = 0.01  # of all answers, which are so many at least:
_MIN_TOLD = 50
_MOST = 0.5  # of the sum of squares
_MIN_CODES = 3  # times that a number is given which means something else
_BAD_SHARE = 0.25  # of a worker's answers that are far: she is bad, and they are no accidents


class FarAnswers(NamedTuple):
    """How many answers of how many are far, which share of the squares they carry, and the farthest with its worker."""

    number: int
    answers: int
    share: float
    worker: Any
    label: float


class Code(NamedTuple):
    """A number that may mean something else, how often it was given, and between which numbers all others are."""

    number: float
    times: int
    low: float
    high: float


def find_codes(run: Run) -> list[Code]:
    """Find numbers that are given again and again, far below or above all others.

    >>> import allalike
    >>> rows = [(worker, task, 20.0 + task) for worker in "abc" for task in range(5)]
    >>> rows += [(worker, 9, -999.0) for worker in "abc"]
    >>> find_codes(allalike.Memory().load(allalike.read(rows, domain="real")))
    [Code(number=-999.0, times=3, low=20.0, high=24.0)]
    """
    blocks = sample_tasks(run, _FAR_SAMPLE, with_gold=False).blocks
    numbers, times = np.unique(np.concatenate([block.label for block in blocks]), return_counts=True)
    first, last = 0, len(numbers) - 1
    outside: list[int] = []
    while last - first >= _MIN_CODES:
        below, above = numbers[first + 1] - numbers[first], numbers[last] - numbers[last - 1]
        place, gap = (first, below) if below >= above else (last, above)
        first, last = first + (place == first), last - (place == last)
        if times[place] < _MIN_CODES or gap <= numbers[last] - numbers[first]:
            break
        outside.append(place)
        low, high = float(numbers[first]), float(numbers[last])
    return [Code(float(numbers[place]), int(times[place]), low, high) for place in outside]


def find_far_answers(run: Run) -> FarAnswers | None:
    """Find the few answers that carry most of the squared distance, if there are such.

    >>> import allalike
    >>> rng = np.random.default_rng(0)
    >>> rows = [(worker, task, float(rng.normal())) for worker in "abcd" for task in range(20)]
    >>> find_far_answers(allalike.Memory().load(allalike.read(rows, domain="real"))) is None
    True
    >>> rows[7] = ("a", 7, -999.0)
    >>> find_far_answers(allalike.Memory().load(allalike.read(rows, domain="real")))
    FarAnswers(number=1, answers=80, share=0.999..., worker='a', label=-999.0)
    """
    if len(run.problems.sizes) > 1:
        return None
    parts = [_deviate(block) for block in sample_tasks(run, _FAR_SAMPLE, with_gold=False).blocks if block.n_tasks]
    if not parts:
        return None
    worker, label, away = (np.concatenate(column) for column in zip(*parts, strict=True))
    if len(away) < _MIN_TOLD or not away.any():
        return None
    square = np.square(away / away.max())
    order = np.lexsort((worker, label, -square))
    far = np.zeros(len(away), np.bool_)
    far[order[: max(int(_FEW * len(away)), 1)]] = True
    given, strange = (sum_by(worker, each.astype(np.float64), len(run.workers)) for each in (np.ones(len(far)), far))
    far &= (strange <= _BAD_SHARE * given)[worker]
    share = float(square[far].sum() / square.sum())
    if share <= _MOST:
        return None
    first = order[far[order]][0]
    return FarAnswers(int(far.sum()), len(far), share, run.workers[int(worker[first])], float(label[first]))


def _deviate(block: Block) -> tuple[Array, Floats, Floats]:
    """Return the workers, the labels and the deviations from the middle of their task, of answers that have one."""
    told = block.to_answers(block.sizes >= _MIN_ANSWERS)
    away = np.abs(block.label - block.to_answers(find_order(block).middle(block)))
    return block.worker[told], block.label[told], away[told]


_MIN_NUMBERS = 3  # different ones that may be a scale: two are yes and no
_MANY_WORKERS = 2  # times as many as there are tasks
_MIN_SWAPPED = 0.15  # by which a worker's answers agree more than those to a task
_MIN_SWAPPED_PAIRS = 50
_MAX_COUNTS = 1 << 22  # of labels, for each worker
_SHOWN_LABELS = 3
_MAX_RATINGS = 11  # such as 0 to 10
_SAMPLE_ANSWERS = 20_000
_MAX_IDS = 1 << 14  # of workers that are looked at


def find_doubts(run: Run, gold: Gold | None = None, *, again: bool = False) -> list[Doubt]:
    """Look at answers before any work is done on them; what makes every result worthless comes first.

    Where they are looked at again, because some were added, all of them are not gone over.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, "x"), ("bob", 2, "x"), ("bob", 3, "y")]))
    >>> for doubt in find_doubts(run):
    ...     print(doubt.severe, doubt.what[:29])
    True No task has two answers: 3 an
    False There are two workers only: b
    """
    looks = (doubt_spellings, _headers, _abstentions, _numbers, _levels, _crowd)
    found = [*_first_doubts(run, again=again), *(doubt for look in looks for doubt in look(run))]
    found += () if again else (*_swapped(run), *_ratings(run), *_far_answers(run))
    found += _truths(run, gold) if gold is not None else ()
    return sorted(found, key=lambda doubt: not doubt.severe)


def find_first_doubts(answers: Answers | Scan) -> list[Doubt]:
    """Look at answers before they are even compared with each other, which may take long; only severe doubts count.

    Of those that are not read yet nothing is known.

    >>> import allalike
    >>> found = allalike.read([("ada", 1, "x"), ("bob", 2, "y")], domain="categorical")
    >>> [doubt.what[:29] for doubt in find_first_doubts(found)]
    ['No task has two answers: 2 an']
    """
    return [doubt for doubt in _first_doubts(answers) if doubt.severe] if isinstance(answers, Answers) else []


def _first_doubts(run: Run | Answers, *, again: bool = False) -> list[Doubt]:
    """Look at what counting tells."""
    looks = (partial(_repeats, again=again), _single_values, _meetings, _different_labels)
    odd = find_misreadings(run)
    return [doubt for look in looks for doubt in look(run, odd)]


def doubt_draws(tied: int, tasks: int) -> list[Doubt]:
    """Wonder about truths of which most were drawn among equals."""
    if tied <= max(tasks / 2, 1):
        return []
    return [
        Doubt(
            f"{tied:,} of {tasks:,} truths were drawn among equals: there are too few answers per task, or too"
            " many labels."
        )
    ]


def doubt_skipped(reading: Mapping[str, Any], engine: str) -> list[Doubt]:
    """Warn of steps of the default method that were skipped because they need too much memory."""
    more = " Use engine='memory', or raise memory=." if engine == "disk" else ""
    skipped = {
        "copies": "The search for copies was skipped: the pairs of workers need too much memory",
        "signal": "The search for uninformative workers was skipped: workers and labels need too much memory",
        "lack": "The confusion models were skipped, and DS-1 took their place: the confusions need too much memory",
    }
    return [
        Doubt(f"{what}. Labels may differ from those of a run with more memory.{more}")
        for name, what in skipped.items()
        if name in reading
    ]


def _repeats(run: Run | Answers, odd: set[str], *, again: bool) -> Iterator[Doubt]:
    aside = run.notes.get("repeats_set_aside", 0)
    rows = int(run.answer_counts.sum()) + aside
    perhaps = (
        f" Perhaps {_column(run, 'task')}, of {run.n_tasks:,} different values, is not what was asked, or"
        f" {_column(run, 'worker')}, of {len(run.workers):,}, not who answered: then name the right columns. If"
        " the rows of a worker and a task are parts of one answer, read them with repeats='set'."
    )
    if again:
        perhaps = (
            " Perhaps they were added before: then there is nothing to do. If workers gave them anew, and the last"
            " ones shall count, run 'allalike discover' on all answers with repeats='last'."
        )
    if "repeats" in odd:
        said = f"{_share(aside, rows)} rows have a worker and a task that an earlier row has, and are set aside."
        yield Doubt(said + perhaps, severe=True)


def _single_values(run: Run | Answers, odd: set[str]) -> Iterator[Doubt]:
    """Wonder about one worker, one task or one label; an election is one task."""
    answers = int(run.answer_counts.sum())
    if "worker" in odd:
        column = f"Perhaps {_column(run, 'worker')} is not who answered: then name the right column."
        column = "" if "tool" in run.notes.get("guessed", {}) else f" {column}"
        yield Doubt(
            f"{_all(answers)} by one worker, {run.workers[0]!r}, and there are no others to compare them with.{column}"
            " If every worker or model has a file, the files of the others belong with it. If every one has a column,"
            " it is a matrix, to be read as wide.",
            severe=True,
        )
    if "task" in odd:
        yield Doubt(
            f"{_all(answers)} about one task. Perhaps {_column(run, 'task')} is not what was asked: then"
            " name the right column. If every task has a column, it is a matrix, to be read as wide.",
            severe=True,
        )
    if "label" in odd:
        only = _show(run, run.only_number) if run.only_number is not None else list_labels(run)[0]
        yield Doubt(
            f"All {answers:,} labels are the same, {shorten(only)}. Perhaps {_column(run, 'label')} is what was"
            " asked, and not what was answered: then name the right column.",
            severe=True,
        )


def _meetings(run: Run | Answers, odd: set[str]) -> Iterator[Doubt]:
    answers = int(run.answer_counts.sum())
    if "apart" in odd:
        yield Doubt(
            f"No task has two answers: {answers:,} answers to {run.n_tasks:,} tasks, so that no two workers can be"
            f" compared. Perhaps {_column(run, 'task')} numbers the rows, and is not what was asked: then name the"
            " right column. If every worker has a column, it is a matrix, to be read as wide.",
            severe=True,
        )
    elif 0 < run.n_single < run.n_tasks:
        yield Doubt(f"{_share(run.n_single, run.n_tasks)} tasks have one answer only, which is taken for the truth.")


def _different_labels(run: Run | Answers, odd: set[str]) -> Iterator[Doubt]:
    """Wonder about classes as many as answers."""
    answers = int(run.answer_counts.sum())
    if "unlike" in odd:
        yield Doubt(
            f"There are as many different labels as answers, {answers:,}, such as {list_labels(run)[0]!r}: no two"
            f" workers agree. Perhaps {_column(run, 'label')} is not what was answered: then name the right column. If"
            " these are texts or numbers, give them this domain.",
            severe=True,
        )


def _headers(run: Run) -> Iterator[Doubt]:
    """Wonder about a worker who is called as the column of workers is."""
    name = _column(run, "worker")
    if name in {repr(each) for each in run.workers.take(np.arange(min(len(run.workers), _MAX_IDS))).tolist()}:
        yield Doubt(
            f"One of the workers is called {name}, as the column is. Perhaps the header stands again between the rows,"
            " where files were joined: remove it there."
        )


def _numbers(run: Run) -> Iterator[Doubt]:
    """Wonder about numbers that were taken for classes, or the reverse, where nobody said what they are."""
    if "domain" not in run.notes.get("guessed", {}):
        return
    if run.encoding.numeric and run.domain.spelling.numbers:
        yield Doubt(f"{NUMBERS} read as numbers: a truth is a mean. For a vote, the domain is categorical.")
    elif run.encoding.nominal and run.encoding.n_labels >= _MIN_NUMBERS and _are_numbers(list_labels(run)):
        yield Doubt(
            f"{NUMBERS} {run.encoding.n_labels:,} different numbers, read as classes: a truth is what most said."
            " For a mean, the domain is real."
        )


def _ratings(run: Run) -> Iterator[Doubt]:
    """Wonder about numbers that may be levels of a scale."""
    if not run.encoding.numeric or not run.domain.spelling.numbers or run.worker_task is not None:
        return
    blocks = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).blocks
    numbers = np.unique(np.concatenate([block.label for block in blocks]))
    if _MIN_NUMBERS <= len(numbers) <= _MAX_RATINGS and np.all(numbers == np.round(numbers)):
        yield Doubt(
            f"Are these ratings? There are {len(numbers)} different labels, whole numbers from {numbers[0]:g} to"
            f" {numbers[-1]:g}. The domain ordinal (domain='ordinal') keeps their order, and a truth is one of them."
        )


def _levels(run: Run) -> Iterator[Doubt]:
    """Say between which numbers the levels of a scale are, where nobody named them."""
    told = run.encoding.describe()
    if told.get("levels_from") == "data":
        yield Doubt(
            f"The scale is taken to go from {told['levels'][0]} to {told['levels'][-1]}, as the answers do. If it has"
            " other levels, name all of them: domain='ordinal(levels=[...])'."
        )


def _far_answers(run: Run) -> Iterator[Doubt]:
    """Wonder about numbers that may mean something else, and about a few that carry most of the squared distance."""
    codes = find_codes(run) if run.encoding.numeric and run.domain.spelling.numbers else []
    for code in codes:
        yield Doubt(
            f"{code.number:g} was given {code.times:,} times, and all other answers are between {code.low:g} and"
            f" {code.high:g}. If it means that there is no answer, name it so (abstain='{code.number:g}')."
        )
    found = find_far_answers(run) if run.encoding.numeric and run.domain.distance == "squared" else None
    if found is not None and not codes:
        label = f"{found.label:g}" if run.domain.spelling.numbers else _show(run, found.label)
        yield Doubt(
            f"{found.number:,} of {found.answers:,} answers carry {100 * found.share:.0f} % of the squared distance,"
            f" such as {label} by {found.worker!r}, so that a few answers decide who is good. Leave them out if"
            f" they are no answers, or compare by absolute distance: domain='{run.domain.name}(distance=absolute)'."
        )


def _abstentions(run: Run) -> Iterator[Doubt]:
    """Wonder about classes that may be none."""
    found = find_abstentions(list_labels(run)) if run.encoding.nominal else []
    said = any("abstain" in remark for remark in run.notes.get("remarks", ()))  # by the reader of a tool
    if found and run.encoding.n_labels > 2 and not said:
        listed = " and ".join(map(repr, found[:_SHOWN_LABELS]))
        yield Doubt(f"The label {listed} may mean that there is no answer; named so (abstain), it is left out.")


def _show(run: Run | Answers, number: float) -> Any:
    """Return a number as the label that it is."""
    return run.encoding.decode(np.array([number]))[0]


def _are_numbers(labels: list[Any]) -> bool:
    return all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)


def _crowd(run: Run) -> Iterator[Doubt]:
    if run.worker_task is not None:
        return
    workers = len(run.workers)
    if workers == 2:
        yield Doubt("There are two workers only: both count the same, for their answers do not tell who is better.")
    elif (
        workers > _MANY_WORKERS * run.n_tasks > _MANY_WORKERS
        and run.domain.name != "ranking"
        and "tool" not in run.notes.get("guessed", {})
    ):
        yield Doubt(
            f"There are {workers:,} workers and {run.n_tasks:,} tasks: if {_column(run, 'worker')} is what was asked"
            f" and {_column(run, 'task')} who answered, name them the other way round."
        )


def _swapped(run: Run) -> Iterator[Doubt]:
    """Wonder about workers whose answers to different tasks agree more than the answers to one task do."""
    n_labels = run.encoding.n_labels
    if not run.encoding.nominal or run.worker_task is not None or len(run.workers) * n_labels > _MAX_COUNTS:
        return
    counts = run.sum(partial(_count_labels, n_labels=n_labels))["labels"]
    same, pairs = (counts * (counts - 1)).sum(), (run.answer_counts * (run.answer_counts - 1)).sum()
    met = run.unweighted_peer_sums
    shared = met["weight"].sum()
    if min(pairs, shared) < _MIN_SWAPPED_PAIRS:
        return
    own, others = float(same / pairs), float(1 - met["distance"].sum() / shared)
    chance = float(np.square(counts.sum(axis=0) / counts.sum()).sum())
    if own - max(others, chance) > _MIN_SWAPPED:
        yield Doubt(
            f"A worker's answers to different tasks are the same in {100 * own:.0f} %, different workers' answers to"
            f" one task in {100 * others:.0f} %. Perhaps {_column(run, 'worker')} is what was asked and"
            f" {_column(run, 'task')} who answered; if not, workers answer without looking."
        )


def _count_labels(block: Block, *, n_labels: int) -> dict[str, Array]:
    """Count how often each worker gave each label."""
    places = block.worker * n_labels + block.label
    return {"labels": np.bincount(places, minlength=block.n_workers * n_labels).reshape(-1, n_labels)}


def _truths(run: Run, gold: Gold) -> Iterator[Doubt]:
    """Wonder about known truths that no answer can meet."""
    without = run.notes.get("gold", {}).get("without_answers", 0)
    if without:
        yield Doubt(
            f"{_share(without, run.n_gold + without)} tasks with gold have no answers, the first of them"
            f" {_first_unanswered(run, gold)!r}."
        )
    if unknown := gold.find_unanswered(run.encoding):
        known = ", ".join(map(repr, list_labels(run)[:_SHOWN_LABELS]))
        more = ", ..." if run.encoding.n_labels > _SHOWN_LABELS else ""
        there = f" The answers have {known}{more}." if known else ""
        alike = find_spellings([unknown[0], *list_labels(run)])
        same = [other for one, other in (alike.pairs if alike else ()) if one == unknown[0]]
        hint = f" If it is {same[0]!r}, {say_joining(alike.option)}." if alike and same else ""
        yield Doubt(
            f"{len(unknown):,} of the labels in the gold occur in no answer, the first of them {unknown[0]!r}."
            f"{there}{hint}"
        )


def _first_unanswered(run: Run, gold: Gold) -> Any:
    ids = gold.task.factors[1]
    pieces = (piece.tasks.take(np.flatnonzero(piece.found["known"])) for piece in run.find(_mark_known).pieces())
    known = Values.join(list(pieces))
    return ids[int(np.argmin(find_places(ids, known)))]


def _mark_known(block: Block) -> dict[str, Array]:
    known = np.zeros(block.n_tasks, np.bool_)
    known[block.gold_task] = True
    return {"known": known}


def _all(answers: int) -> str:
    return "The only answer is" if answers == 1 else f"All {answers:,} answers are"


def _column(run: Run | Answers, role: str) -> str:
    return repr(run.notes.get("guessed", {}).get("columns", {}).get(role, role))


def _share(part: int, whole: int) -> str:
    """Write a part of a whole.

    >>> _share(7704, 8000)
    '7,704 of 8,000 (96 %)'
    """
    return f"{part:,} of {whole:,} ({100 * part / whole:.0f} %)"
