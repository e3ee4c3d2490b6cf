"""Checks of answers before any work is done: warnings that make every result worthless, and notes on strange data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import find_order
from allalike._core.columns.matches import find_places
from allalike._core.columns.values import Values, shorten
from allalike._core.words import count
from allalike.answers import Answers
from allalike.answers.cleaning import find_misreadings
from allalike.engines.ranges import number_parts
from allalike.engines.sample import sample_tasks
from allalike.errors import DataWarning
from allalike.readers.proposals import find_other_readings
from allalike.spellings import find_abstentions, find_near_words, find_same_ids, find_spellings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allalike._core.blocks.block import Array, Block
    from allalike.answers.gold import Gold
    from allalike.engines import Run
    from allalike.readers import Scan

NUMBERS = "The labels are"  # with which warnings about the label type begin, which the message on it repeats
_SHOWN = 3  # labels or pairs that a sentence names
_SAMPLE_ANSWERS = 20_000
_MAX_LABELS, _MAX_IDS = 1 << 12, 1 << 14  # that are compared
_MIN_NUMBERS = 3  # different ones that may be a scale: two are yes and no
_MAX_RATINGS = 11  # such as 0 to 10
_MANY_ANSWERS = 10  # per task, which may then be one of several questions with labels of its own
_MANY_WORKERS = 2  # times as many as there are tasks
_MAX_TYPOS = 0.05  # of the answers with the right word; or two
_MIN_SWAPPED = 0.15  # by which a worker's answers agree more than those to a task
_MIN_SWAPPED_PAIRS = 50
_MAX_COUNTS = 1 << 22  # of labels, for each worker


@dataclass(frozen=True)
class Issue:
    """A reason to doubt that the answers are what was meant; a severe one makes every result worthless."""

    text: str
    severe: bool = False


def warn_of(issues: Iterable[Issue], *, stacklevel: int, source: Any = None) -> None:
    """Give a `DataWarning` for each severe issue, in the name of a caller so many levels up.

    The first of them says in which other ways the source of the answers can be read.
    """
    for place, issue in enumerate(issue for issue in issues if issue.severe):
        others = find_other_readings(source) if place == 0 else ()
        warnings.warn(DataWarning(issue.text, proposals=others), stacklevel=stacklevel + 1)


def check_read_answers(answers: Answers | Scan) -> list[Issue]:
    """Return the severe issues that counting shows, before answers are compared; none if they are not read yet."""
    return [issue for issue in _check_counts(answers) if issue.severe] if isinstance(answers, Answers) else []


def check_answers(run: Run, gold: Gold | None = None, *, again: bool = False) -> list[Issue]:
    """Return all issues, severe ones first; if answers were added, without those that need a pass over all of them.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, "x"), ("bob", 2, "x"), ("bob", 3, "y")]))
    >>> for issue in check_answers(run):
    ...     print(issue.severe, issue.text[:29])
    True No task has two answers: 3 an
    False There are two workers only: b
    """
    issues = list(_check_counts(run, again=again))
    for check in (_check_spellings, _check_header, _check_abstentions, _check_domain, _check_crowd):
        issues += check(run)
    if not again:
        for check in (_check_swapped, _check_ratings, _check_far_answers):
            issues += check(run)
    if gold is not None:
        issues += _check_gold(run, gold)
    return sorted(issues, key=lambda issue: not issue.severe)


def check_ties(tied: int, tasks: int) -> list[Issue]:
    """Return an issue if most labels were drawn among equals."""
    if tied <= max(tasks / 2, 1):
        return []
    text = (
        f"{tied:,} of {tasks:,} truths were drawn among equals: there are too few answers per task, or too many labels."
    )
    return [Issue(text)]


def list_skipped(reading: Mapping[str, Any], engine: str) -> list[Issue]:
    """Return an issue for each step of the default method that was skipped because it needs too much memory."""
    more = " Use engine='memory', or raise memory=." if engine == "disk" else ""
    skipped = {
        "copies": "The search for copies was skipped: the pairs of workers need too much memory",
        "lack": "The confusion matrices were skipped, because they need too much memory",
    }
    return [
        Issue(f"{text}. Labels may differ from those of a run with more memory.{more}")
        for name, text in skipped.items()
        if name in reading
    ]


# Counts: one worker, task or label, repeats, and tasks that nobody shares.


def _check_counts(run: Run | Answers, *, again: bool = False) -> Iterator[Issue]:
    odd, n_answers = find_misreadings(run), int(run.answer_counts.sum())
    task = _name_column(run, "task")
    if "repeats" in odd:
        aside = run.notes["repeats_set_aside"]
        yield Issue(
            f"{_share(aside, n_answers + aside)} rows have a worker and a task that an earlier row has, and are set"
            f" aside.{_explain_repeats(run, again=again)}",
            severe=True,
        )
    yield from _check_single_values(run, odd)
    if "apart" in odd:
        yield Issue(
            f"No task has two answers: {n_answers:,} answers to {run.n_tasks:,} tasks, so that no two workers can be"
            f" compared. Perhaps {task} numbers the rows, and is not what was asked: then name the right column. If"
            " every worker has a column, it is a matrix, to be read as wide.",
            severe=True,
        )
    elif 0 < run.n_single < run.n_tasks:
        yield Issue(f"{_share(run.n_single, run.n_tasks)} tasks have one answer only, which is taken for the truth.")
    if "unlike" in odd:
        yield Issue(
            f"There are as many different labels as answers, {n_answers:,}, such as {list_labels(run)[0]!r}: no two"
            f" workers agree. Perhaps {_name_column(run, 'label')} is not what was answered: then name the right"
            " column. If these are texts or numbers, give them this domain.",
            severe=True,
        )


def _check_single_values(run: Run | Answers, odd: set[str]) -> Iterator[Issue]:
    """Check for one worker, one task or one label."""
    n_answers = int(run.answer_counts.sum())
    worker, task, label = (_name_column(run, role) for role in ("worker", "task", "label"))
    every = "The only answer is" if n_answers == 1 else f"All {n_answers:,} answers are"
    if "worker" in odd:
        column = f" Perhaps {worker} is not who answered: then name the right column."
        column = "" if "tool" in run.notes.get("guessed", {}) else column
        yield Issue(
            f"{every} by one worker, {run.workers[0]!r}, and there are no others to compare them with.{column}"
            " If every worker or model has a file, the files of the others belong with it. If every one has a column,"
            " it is a matrix, to be read as wide.",
            severe=True,
        )
    if "task" in odd:
        yield Issue(
            f"{every} about one task. Perhaps {task} is not what was asked: then name the right column. If every task"
            " has a column, it is a matrix, to be read as wide.",
            severe=True,
        )
    if "label" in odd:
        only = list_labels(run)[0] if run.only_number is None else _show(run, run.only_number)
        yield Issue(
            f"All {n_answers:,} labels are the same, {shorten(only)}. Perhaps {label} is what was asked, and not what"
            " was answered: then name the right column.",
            severe=True,
        )


def _explain_repeats(run: Run | Answers, *, again: bool) -> str:
    if again:
        return (
            " Perhaps they were added before: then there is nothing to do. If workers gave them anew, and the last ones"
            " shall count, run 'allalike discover' on all answers with duplicates='last'."
        )
    return (
        f" Perhaps {_name_column(run, 'task')}, of {run.n_tasks:,} different values, is not what was asked, or"
        f" {_name_column(run, 'worker')}, of {len(run.workers):,}, not who answered: then name the right columns. If"
        " the rows of a worker and a task are parts of one answer, read them with duplicates='set'."
    )


def _check_crowd(run: Run) -> Iterator[Issue]:
    if run.worker_task is not None:
        return
    workers = len(run.workers)
    many = workers > _MANY_WORKERS * run.n_tasks > _MANY_WORKERS
    if workers == 2:
        yield Issue("There are two workers only: both count the same, for their answers do not tell who is better.")
    elif many and run.domain.name != "ranking" and "tool" not in run.notes.get("guessed", {}):
        yield Issue(
            f"There are {workers:,} workers and {run.n_tasks:,} tasks: if {_name_column(run, 'worker')} is what was"
            f" asked and {_name_column(run, 'task')} who answered, name them the other way round."
        )


def _check_swapped(run: Run) -> Iterator[Issue]:
    """Detect workers whose answers to different tasks agree more than the answers to one task do."""
    n_labels = run.encoding.n_labels
    if not run.encoding.nominal or run.worker_task is not None or len(run.workers) * n_labels > _MAX_COUNTS:
        return
    counts = run.sum(partial(_count_by_worker, n_labels=n_labels))["labels"]
    same, pairs = (counts * (counts - 1)).sum(), (run.answer_counts * (run.answer_counts - 1)).sum()
    sums = run.unweighted_peer_sums
    shared = sums["weight"].sum()
    if min(pairs, shared) < _MIN_SWAPPED_PAIRS:
        return
    own, others = float(same / pairs), float(1 - sums["distance"].sum() / shared)
    chance = float(np.square(counts.sum(axis=0) / counts.sum()).sum())
    if own - max(others, chance) > _MIN_SWAPPED:
        yield Issue(
            f"A worker's answers to different tasks are the same in {100 * own:.0f} %, different workers' answers to"
            f" one task in {100 * others:.0f} %. Perhaps {_name_column(run, 'worker')} is what was asked and"
            f" {_name_column(run, 'task')} who answered; if not, workers answer without looking."
        )


def _count_by_worker(block: Block, *, n_labels: int) -> dict[str, Array]:
    places = block.worker * n_labels + block.label
    return {"labels": np.bincount(places, minlength=block.n_workers * n_labels).reshape(-1, n_labels)}


# Labels and ids: spellings, header rows, abstentions, scales.


def _check_spellings(run: Run) -> Iterator[Issue]:
    """Detect classes, workers and tasks that are probably the same."""
    spellings = find_spellings(list_labels(run)) if run.encoding.nominal else None
    if spellings is not None and run.answer_counts.sum() >= _MANY_ANSWERS * run.n_tasks:
        spellings = max(map(find_spellings, _split_labels(run)), key=lambda part: part.labels if part else 0)
    if spellings is not None:
        yield Issue(
            f"{spellings.labels:,} labels differ only in how they are written: {_list_pairs(spellings.pairs)}. If they"
            f" mean the same, {_propose_join(spellings.option)}."
        )
    elif typos := _find_typos(run):
        yield Issue(
            f"{count(len(typos), 'label')} may be a slip of the pen: {_list_pairs(typos)}. If so, {_propose_join('')}."
        )
    for role, ids in (("workers", run.workers), ("tasks", run.sample_tasks)):
        pairs = [] if ids is None else find_same_ids(ids.take(np.arange(min(len(ids), _MAX_IDS))).tolist())
        if pairs:
            yield Issue(
                f"{2 * len(pairs):,} {role} differ only in how they are written: {_list_pairs(pairs)}. If they are the"
                " same, write them alike."
            )


def _split_labels(run: Run) -> list[list[Any]]:
    """Split the labels by the questions that they answer: those of one question occur in the same tasks."""
    labels = list_labels(run)
    part = np.arange(len(labels))
    for block in sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).blocks:
        same = np.flatnonzero(block.task[1:] == block.task[:-1])
        left, right = block.label[same], block.label[same + 1]
        known = (left < len(labels)) & (right < len(labels))
        part = number_parts(len(labels), part[left[known]], part[right[known]])[part]
    return [[labels[i] for i in np.flatnonzero(part == number)] for number in np.unique(part)]


def _find_typos(run: Run) -> list[tuple[Any, Any]]:
    """Return words, and words near them that are hardly ever given."""
    labels = list_labels(run) if run.encoding.nominal else []
    near = find_near_words(labels)
    if not near:
        return []
    totals = run.total(partial(_count_labels, n_labels=run.encoding.n_labels))["labels"].tolist()
    times = dict(zip(labels, totals, strict=False))
    typos = []
    for one, other in near:
        right, wrong = (one, other) if times[one] >= times[other] else (other, one)
        if times[wrong] <= max(2, _MAX_TYPOS * times[right]) < times[right]:
            typos.append((right, wrong))
    return typos


def _count_labels(block: Block, *, n_labels: int) -> dict[str, Array]:
    return {"labels": np.bincount(block.label, minlength=n_labels)}


def _list_pairs(pairs: Sequence[tuple[Any, Any]]) -> str:
    return "; ".join(f"{one!r} and {other!r}" for one, other in pairs[:_SHOWN])


def _propose_join(option: str) -> str:
    return f"the domain {option} or a label map joins them" if option else "a label map joins them"


def _check_header(run: Run) -> Iterator[Issue]:
    name = _name_column(run, "worker")
    if name in {repr(each) for each in run.workers.take(np.arange(min(len(run.workers), _MAX_IDS))).tolist()}:
        yield Issue(
            f"One of the workers is called {name}, as the column is. Perhaps the header stands again between the rows,"
            " where files were joined: remove it there."
        )


def _check_abstentions(run: Run) -> Iterator[Issue]:
    labels = find_abstentions(list_labels(run)) if run.encoding.nominal else []
    known = any("abstain_label" in remark for remark in run.notes.get("remarks", ()))  # from the reader of a tool
    if labels and run.encoding.n_labels > 2 and not known:
        listed = " and ".join(map(repr, labels[:_SHOWN]))
        yield Issue(f"The label {listed} may mean that there is no answer. Exclude it with abstain_label.")


def _check_domain(run: Run) -> Iterator[Issue]:
    """Check guessed label types: numbers read as classes, or the reverse, and the ends of a scale."""
    encoding, labels = run.encoding, list_labels(run)
    if "domain" in run.notes.get("guessed", {}):
        numbers = all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)
        if encoding.numeric and run.domain.spelling.numbers:
            yield Issue(
                f"{NUMBERS} read as numbers, so means are estimated. For a majority vote, use the domain categorical."
            )
        elif encoding.nominal and encoding.n_labels >= _MIN_NUMBERS and numbers:
            yield Issue(
                f"{NUMBERS} {encoding.n_labels:,} different numbers, read as classes. To estimate means, use the domain"
                " real."
            )
    described = encoding.describe()
    if described.get("levels_from") == "data":
        yield Issue(
            f"The scale is taken to go from {described['levels'][0]} to {described['levels'][-1]}, as the answers do."
            " If it has other levels, name all of them: domain='ordinal(levels=[...])'."
        )


def _check_ratings(run: Run) -> Iterator[Issue]:
    if not run.encoding.numeric or not run.domain.spelling.numbers or run.worker_task is not None:
        return
    blocks = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).blocks
    numbers = np.unique(np.concatenate([block.label for block in blocks]))
    if _MIN_NUMBERS <= len(numbers) <= _MAX_RATINGS and np.all(numbers == np.round(numbers)):
        yield Issue(
            f"Are these ratings? There are {len(numbers)} different labels, whole numbers from {numbers[0]:g} to"
            f" {numbers[-1]:g}. The domain ordinal (domain='ordinal') uses their order."
        )


# Outliers: codes such as -999, and few answers that carry most of the squared distance.
#
# A code is a number that is given three times or more, and is farther from all others than these are from each other.
# Squares are the wrong distance if the largest 1 % of the deviations from the median of their task carry half of all
# squares; of normal errors it takes the largest 12 %, of Laplacian errors the largest 7 %. A worker with more than a
# quarter of such answers is simply a bad one, and does not count.

_OUTLIER_SAMPLE = 200_000
_MIN_ANSWERS = 3  # to a task, for its median to say anything
_MAX_OUTLIERS = 0.01  # of all answers, which are so many at least:
_MIN_OUTLIER_ANSWERS = 50
_MIN_SQUARES = 0.5  # of the sum of squares
_MIN_CODES = 3  # times that a code is given
_BAD_SHARE = 0.25  # of a worker's answers


def _check_far_answers(run: Run) -> Iterator[Issue]:
    codes = list(_find_codes(run)) if run.encoding.numeric and run.domain.spelling.numbers else []
    yield from codes
    squared = run.encoding.numeric and run.domain.distance == "squared" and run.worker_task is None
    if not squared or codes:
        return
    blocks = [block for block in sample_tasks(run, _OUTLIER_SAMPLE, with_gold=False).blocks if block.n_tasks]
    parts = [_find_deviations(block) for block in blocks]
    worker, label, deviation = map(np.concatenate, zip(*parts, strict=True)) if parts else np.empty((3, 0))
    if len(deviation) < _MIN_OUTLIER_ANSWERS or not deviation.any():
        return
    square = np.square(deviation / deviation.max())
    order = np.lexsort((worker, label, -square))
    far = np.zeros(len(square), np.bool_)
    far[order[: max(int(_MAX_OUTLIERS * len(far)), 1)]] = True
    n_far, n_answers = (np.bincount(each, minlength=len(run.workers)) for each in (worker[far], worker))
    far &= (n_far <= _BAD_SHARE * n_answers)[worker]
    share = float(square[far].sum() / square.sum())
    if share > _MIN_SQUARES:
        first = order[far[order]][0]
        shown = f"{label[first]:g}" if run.domain.spelling.numbers else _show(run, label[first])
        yield Issue(
            f"{int(far.sum()):,} of {len(far):,} answers carry {100 * share:.0f} % of the squared distance, such as"
            f" {shown} by {run.workers[int(worker[first])]!r}, so that a few answers decide who is good. Leave them out"
            f" if they are no answers, or compare by absolute distance: domain='{run.domain.name}(distance=absolute)'."
        )


def _find_codes(run: Run) -> Iterator[Issue]:
    blocks = sample_tasks(run, _OUTLIER_SAMPLE, with_gold=False).blocks
    numbers, times = np.unique(np.concatenate([block.label for block in blocks]), return_counts=True)
    first, last = 0, len(numbers) - 1
    codes: list[int] = []
    low, high = np.nan, np.nan
    while last - first >= _MIN_CODES:
        below, above = numbers[first + 1] - numbers[first], numbers[last] - numbers[last - 1]
        place, gap = (first, below) if below >= above else (last, above)
        first, last = first + (place == first), last - (place == last)
        if times[place] < _MIN_CODES or gap <= numbers[last] - numbers[first]:
            break
        codes.append(place)
        low, high = numbers[first], numbers[last]
    for place in codes:
        code = f"{numbers[place]:g}"
        yield Issue(
            f"{code} was given {times[place]:,} times, and all other answers are between {low:g} and {high:g}. If it"
            f" means that there is no answer, name it so (abstain_label='{code}')."
        )


def _find_deviations(block: Block) -> tuple[Array, Array, Array]:
    """Return worker, label and deviation from the median of its task, of answers to tasks with enough of them."""
    enough = block.to_answers(block.sizes >= _MIN_ANSWERS)
    deviation = np.abs(block.label - block.to_answers(find_order(block).middle(block)))
    return block.worker[enough], block.label[enough], deviation[enough]


# Gold labels that no answer can match.


def _check_gold(run: Run, gold: Gold) -> Iterator[Issue]:
    without = run.notes.get("gold", {}).get("without_answers", 0)
    if without:
        ids = gold.task.factors[1]
        pieces = (piece.tasks.take(np.flatnonzero(piece.found["known"])) for piece in run.find(_mark_gold).pieces())
        first = ids[int(np.argmin(find_places(ids, Values.join(list(pieces)))))]
        share = _share(without, run.n_gold + without)
        yield Issue(f"{share} tasks with gold have no answers, the first of them {first!r}.")
    if unknown := gold.find_unanswered(run.encoding):
        labels = list_labels(run)
        known = ", ".join(map(repr, labels[:_SHOWN]))
        more = ", ..." if run.encoding.n_labels > _SHOWN else ""
        spellings = find_spellings([unknown[0], *labels])
        same = [other for one, other in (spellings.pairs if spellings else ()) if one == unknown[0]]
        hint = f" If it is {same[0]!r}, {_propose_join(spellings.option)}." if spellings and same else ""
        yield Issue(
            f"{len(unknown):,} of the labels in the gold occur in no answer, the first of them {unknown[0]!r}."
            f"{f' The answers have {known}{more}.' if known else ''}{hint}"
        )


def _mark_gold(block: Block) -> dict[str, Array]:
    known = np.zeros(block.n_tasks, np.bool_)
    known[block.gold_task] = True
    return {"known": known}


def list_labels(run: Run | Answers) -> list[Any]:
    """Return the labels that occur, where labels are classes, or the first of them."""
    known = np.arange(min(run.encoding.n_labels, _MAX_LABELS))
    return run.encoding.decode(known).tolist() if len(known) else []


def _show(run: Run | Answers, number: float) -> Any:
    """Return a number as the label that it is."""
    return run.encoding.decode(np.array([number]))[0]


def _name_column(run: Run | Answers, role: str) -> str:
    return repr(run.notes.get("guessed", {}).get("columns", {}).get(role, role))


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / whole:.0f} %)"
