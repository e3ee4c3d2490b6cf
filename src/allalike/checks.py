"""Checks of answers before methods run: warnings about columns that are probably misread, and notes on unusual data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import find_order
from allalike._core.columns.values import Values, find_places, shorten
from allalike._core.text_format import count
from allalike.answers import Answers
from allalike.answers.cleaning import find_misreadings
from allalike.engines.ranges import number_parts
from allalike.engines.sample import pick_tasks, sample_tasks
from allalike.errors import DataWarning
from allalike.readers.proposals import find_other_readings
from allalike.spellings import find_abstentions, find_same_ids, find_spellings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allalike._core.blocks.block import Array, Block
    from allalike.answers.gold import Gold
    from allalike.engines import Run
    from allalike.readers import Scan

NUMBERS = "The labels are"  # start of notes about the label type, whose content another message repeats
_SHOWN = 3  # labels or pairs named in a sentence
_SAMPLE_ANSWERS = 20_000
_MAX_LABELS, _MAX_IDS = 1 << 12, 1 << 14  # that are compared
_MIN_NUMBERS = 3  # distinct numbers that may be a scale: two are yes and no
_MAX_RATINGS = 11  # such as 0 to 10
_MANY_ANSWERS = 10  # per task: tasks may then be questions with different sets of labels
_MANY_WORKERS = 2  # times the number of tasks
_MIN_SWAPPED = 0.15  # excess agreement within workers over agreement within tasks
_MIN_SWAPPED_PAIRS = 50
_MAX_COUNTS = 1 << 22  # of labels, for each worker


@dataclass(frozen=True)
class Issue:
    """A sign that the answers were misread or are unusual; a severe issue makes every result worthless."""

    text: str
    severe: bool = False


def emit_warnings(issues: Iterable[Issue], *, stacklevel: int, source: Any = None) -> None:
    """Issue a `DataWarning` for each severe issue; the first warning proposes other ways to read ``source``."""
    for place, issue in enumerate(issue for issue in issues if issue.severe):
        others = find_other_readings(source) if place == 0 else ()
        warnings.warn(DataWarning(issue.text, proposals=others), stacklevel=stacklevel + 1)


def check_read_answers(answers: Answers | Scan) -> list[Issue]:
    """Return the severe issues that counts reveal; none for answers that have not been read yet."""
    return [issue for issue in _check_counts(answers) if issue.severe] if isinstance(answers, Answers) else []


def check_answers(run: Run, gold: Gold | None = None, *, again: bool = False) -> list[Issue]:
    """Return all issues, severe ones first; after an update (``again``), skip checks that read all answers.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, "x"), ("bob", 2, "x"), ("bob", 3, "y")]))
    >>> for issue in check_answers(run):
    ...     print(issue.severe, issue.text[:29])
    True No task has more than one ans
    False There are only two workers. B
    """
    issues = list(_check_counts(run, again=again))
    for check in (_check_spellings, _check_header, _check_abstentions, _check_domain, _check_crowd):
        issues += check(run)
    if not again:
        for check in (_check_swapped, _check_numbers):
            issues += check(run)
    if gold is not None:
        issues += _check_gold(run, gold)
    return sorted(issues, key=lambda issue: not issue.severe)


def check_ties(tied: int, tasks: int) -> list[Issue]:
    """Return an issue if most labels were tied."""
    if tied <= max(tasks / 2, 1):
        return []
    text = (
        f"{tied:,} of {tasks:,} labels were tied and chosen at random: there are too few answers per task, or too many"
        " different labels."
    )
    return [Issue(text)]


def list_skipped(reading: Mapping[str, Any], engine: str) -> list[Issue]:
    """Return an issue for each step of the default method that was skipped because it needs too much memory."""
    more = " Use engine='memory', or raise memory=." if engine == "disk" else ""
    skipped = {
        "copies": "The search for copy groups was skipped, because the pairs of workers need too much memory",
        "lack": "The confusion matrices were skipped, because they need too much memory",
    }
    return [
        Issue(f"{text}. Labels may differ from those of a run with more memory.{more}")
        for name, text in skipped.items()
        if name in reading
    ]


# Counts: one worker, task or label, repeated answers, and tasks without a second answer.


def _check_counts(run: Run | Answers, *, again: bool = False) -> Iterator[Issue]:
    odd = find_misreadings(run)
    yield from (Issue(text, severe=True) for text in _explain_misreadings(run, odd, again=again))
    if "apart" not in odd and 0 < run.n_single < run.n_tasks:
        yield Issue(f"{_share(run.n_single, run.n_tasks)} tasks have a single answer, which is used as their label.")


def _explain_misreadings(run: Run | Answers, odd: set[str], *, again: bool) -> Iterator[str]:
    """Explain each sign that columns were mistaken for others."""
    n_answers = int(run.answer_counts.sum())
    every = "The only answer is" if n_answers == 1 else f"All {n_answers:,} answers are"
    if "repeats" in odd:
        share = _share(run.notes["duplicates_removed"], n_answers + run.notes["duplicates_removed"])
        remedy = _explain_repeats(run, again=again)
        yield f"{share} rows repeat the worker and task of an earlier row, and were removed. {remedy}"
    if "worker" in odd:
        column = "" if "tool" in run.notes.get("guessed", {}) else f" {_question_column(run, 'worker')}"
        yield (
            f"{every} by one worker, {run.workers[0]!r}, and cannot be compared with others.{column} If there is one"
            " file per worker or model, read it with the files of the others. If there is one column per worker, read"
            " the table with wide='tasks'."
        )
    if "task" in odd:
        yield (
            f"{every} to one task. {_question_column(run, 'task')} If there is one column per task, read the table with"
            " wide='workers'."
        )
    if "label" in odd:
        only = list_labels(run)[0] if run.only_number is None else _show(run, run.only_number)
        yield f"All {n_answers:,} labels are the same, {shorten(only)}. {_question_column(run, 'label')}"
    if "apart" in odd:
        yield (
            f"No task has more than one answer ({n_answers:,} answers, {run.n_tasks:,} tasks), so workers cannot be"
            f" compared. If {_name_column(run, 'task')} numbers the rows, choose another column. If there is one column"
            " per worker, read the table with wide='tasks'."
        )
    if "unlike" in odd:
        yield (
            f"All {n_answers:,} labels are different, such as {list_labels(run)[0]!r}, so no two workers agree."
            f" {_question_column(run, 'label')} If the labels are texts or numbers, choose that domain."
        )


def _question_column(run: Run | Answers, role: str) -> str:
    return f"If {_name_column(run, role)} does not contain the {role}s, choose another column."


def _explain_repeats(run: Run | Answers, *, again: bool) -> str:
    if again:
        return (
            "If these answers were added before, there is nothing to do. If workers changed their answers, run"
            " 'allalike discover' on all answers with duplicates='last'."
        )
    return (
        f"If {_name_column(run, 'task')} ({run.n_tasks:,} different values) does not contain the tasks, or"
        f" {_name_column(run, 'worker')} ({len(run.workers):,}) the workers, choose other columns. If the rows of a"
        " worker and a task are parts of one answer, read them with duplicates='set'."
    )


def _check_crowd(run: Run) -> Iterator[Issue]:
    if run.worker_task is not None:
        return
    workers = len(run.workers)
    many = workers > _MANY_WORKERS * run.n_tasks > _MANY_WORKERS
    if workers == 2:
        yield Issue("There are only two workers. Both have the same weight, because disagreement shows no better one.")
    elif many and run.domain.name != "ranking" and "tool" not in run.notes.get("guessed", {}):
        yield Issue(
            f"There are {workers:,} workers and {run.n_tasks:,} tasks. If {_name_column(run, 'worker')} contains the"
            f" tasks and {_name_column(run, 'task')} the workers, swap the columns."
        )


def _check_swapped(run: Run) -> Iterator[Issue]:
    """Detect swapped columns or bad workers: one worker's answers agree more than the answers to one task."""
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
            f"Pairs of answers by one worker are equal in {100 * own:.0f} % of cases, pairs of answers to one task in"
            f" {100 * others:.0f} %. If {_name_column(run, 'worker')} contains the tasks and"
            f" {_name_column(run, 'task')} the workers, swap the columns. Otherwise many workers are uninformative."
        )


def _count_by_worker(block: Block, *, n_labels: int) -> dict[str, Array]:
    places = block.worker * n_labels + block.label
    return {"labels": np.bincount(places, minlength=block.n_workers * n_labels).reshape(-1, n_labels)}


# Labels and ids: spellings, header rows, abstentions, scales.


def _check_spellings(run: Run) -> Iterator[Issue]:
    """Detect different spellings of what is probably the same class, worker or task."""
    spellings = find_spellings(list_labels(run)) if run.encoding.nominal else None
    if spellings is not None and run.answer_counts.sum() >= _MANY_ANSWERS * run.n_tasks:
        spellings = max(map(find_spellings, _split_labels(run)), key=lambda part: part.labels if part else 0)
    if spellings is not None:
        yield Issue(
            f"{spellings.labels:,} labels differ only in spelling: {_list_pairs(spellings.pairs)}. If they mean the"
            f" same, {_propose_join(spellings.option)}."
        )
    for role, ids in (("workers", run.workers), ("tasks", run.sample_tasks)):
        pairs = [] if ids is None else find_same_ids(ids.take(np.arange(min(len(ids), _MAX_IDS))).tolist())
        if pairs:
            yield Issue(
                f"{2 * len(pairs):,} {role} differ only in spelling: {_list_pairs(pairs)}. If they are the same, unify"
                " their spelling."
            )


def _split_labels(run: Run) -> list[list[Any]]:
    """Split the labels by question: labels of the same question occur in the same tasks."""
    labels = list_labels(run)
    part = np.arange(len(labels))
    for block in sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).blocks:
        same = np.flatnonzero(block.task[1:] == block.task[:-1])
        left, right = block.label[same], block.label[same + 1]
        known = (left < len(labels)) & (right < len(labels))
        part = number_parts(len(labels), part[left[known]], part[right[known]])[part]
    return [[labels[i] for i in np.flatnonzero(part == number)] for number in np.unique(part)]


def _list_pairs(pairs: Sequence[tuple[Any, Any]]) -> str:
    return "; ".join(f"{one!r} and {other!r}" for one, other in pairs[:_SHOWN])


def _propose_join(option: str) -> str:
    return f"join them with the domain {option} or a label map" if option else "join them with a label map"


def _check_header(run: Run) -> Iterator[Issue]:
    name = _name_column(run, "worker")
    if name in {repr(each) for each in run.workers.take(np.arange(min(len(run.workers), _MAX_IDS))).tolist()}:
        yield Issue(
            f"One worker has the name of the column, {name}. If files were concatenated with their headers, remove the"
            " headers between the rows."
        )


def _check_abstentions(run: Run) -> Iterator[Issue]:
    labels = find_abstentions(list_labels(run)) if run.encoding.nominal else []
    known = any("abstain_label" in remark for remark in run.notes.get("messages", ()))  # from the reader of a tool
    if labels and run.encoding.n_labels > 2 and not known:
        listed = " and ".join(map(repr, labels[:_SHOWN]))
        yield Issue(f"The label {listed} may mean 'no answer'. Exclude it with abstain_label.")


def _check_domain(run: Run) -> Iterator[Issue]:
    """Check inferred label types: numbers read as classes, or vice versa, and the levels of a scale."""
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
            f"The levels are those in the answers, from {described['levels'][0]} to {described['levels'][-1]}."
            " If the scale has other levels, list all of them: domain='ordinal(levels=[...])'."
        )


# Outliers: codes such as -999, and few answers that carry most of the squared distance.
#
# A code is a number that occurs at least three times and is farther from all others than these are from each other.
# The squared distance is unsuitable if the largest 1 % of the deviations from the task medians make up half of the sum
# of squares. With normal errors this takes the largest 12 %, with Laplacian errors the largest 7 %. Workers with more
# than a quarter of these answers are inaccurate workers, and are not counted.

_OUTLIER_SAMPLE = 200_000
_MIN_ANSWERS = 3  # per task, so that its median is informative
_MAX_OUTLIERS = 0.01  # share of the answers
_MIN_OUTLIER_ANSWERS = 50  # answers needed for the check
_MIN_SQUARES = 0.5  # share of the sum of squares
_MIN_CODES = 3  # occurrences of a code
_BAD_SHARE = 0.25  # of a worker's answers


def _check_numbers(run: Run) -> Iterator[Issue]:
    """Detect ratings, codes and outliers in a sample of numbers."""
    if not run.encoding.numeric:
        return
    share = _OUTLIER_SAMPLE / int(run.answer_counts.sum())
    block = pick_tasks(run, np.empty(0, np.uint64), share=share if share < 1 else 2.0)
    if run.domain.spelling.numbers:
        numbers, times = np.unique(block.label, return_counts=True)
        whole = run.worker_task is None and np.all(numbers == np.round(numbers))
        if whole and _MIN_NUMBERS <= len(numbers) <= _MAX_RATINGS:
            yield Issue(
                f"Are these ratings? There are {len(numbers)} different labels, whole numbers from {numbers[0]:g} to"
                f" {numbers[-1]:g}. The domain ordinal (domain='ordinal') uses their order."
            )
        codes = list(_find_codes(numbers, times))
        yield from codes
        if codes:
            return
    if run.domain.distance == "squared" and run.worker_task is None:
        yield from _check_outliers(run, block)


def _check_outliers(run: Run, block: Block) -> Iterator[Issue]:
    enough = block.to_answers(block.sizes >= _MIN_ANSWERS)
    deviation = np.abs(block.label - block.to_answers(find_order(block).middle(block)))[enough]
    worker, label = block.worker[enough], block.label[enough]
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
            f"{int(far.sum()):,} of {len(far):,} answers make up {100 * share:.0f} % of the squared distance, such as"
            f" {shown} by {run.workers[int(worker[first])]!r}, so a few answers determine the weights. Remove them if"
            f" they are not answers, or use the absolute distance: domain='{run.domain.name}(distance=absolute)'."
        )


def _find_codes(numbers: Array, times: Array) -> Iterator[Issue]:
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
            f"{code} occurs {times[place]:,} times, and all other answers are between {low:g} and {high:g}. If it"
            f" means 'no answer', exclude it with abstain_label='{code}'."
        )


# Gold labels that no answer can match.


def _check_gold(run: Run, gold: Gold) -> Iterator[Issue]:
    without = run.notes.get("gold", {}).get("without_answers", 0)
    if without:
        ids = gold.task.factors[1]
        pieces = (piece.tasks.take(np.flatnonzero(piece.found["known"])) for piece in run.find(_mark_gold).pieces())
        first = ids[int(np.argmin(find_places(ids, Values.join(list(pieces)))))]
        share = _share(without, run.n_gold + without)
        yield Issue(f"{share} tasks with gold labels have no answers, such as {first!r}.")
    if unknown := gold.find_unanswered(run.encoding):
        labels = list_labels(run)
        known = ", ".join(map(repr, labels[:_SHOWN]))
        more = ", ..." if run.encoding.n_labels > _SHOWN else ""
        spellings = find_spellings([unknown[0], *labels])
        same = [other for one, other in (spellings.pairs if spellings else ()) if one == unknown[0]]
        hint = f" If it is {same[0]!r}, {_propose_join(spellings.option)}." if spellings and same else ""
        yield Issue(
            f"No answer has {count(len(unknown), 'gold label')}, such as {unknown[0]!r}."
            f"{f' The answers contain {known}{more}.' if known else ''}{hint}"
        )


def _mark_gold(block: Block) -> dict[str, Array]:
    known = np.zeros(block.n_tasks, np.bool_)
    known[block.gold_task] = True
    return {"known": known}


def list_labels(run: Run | Answers) -> list[Any]:
    """Return the classes, at most the first 4,096; empty for labels that are not classes."""
    known = np.arange(min(run.encoding.n_labels, _MAX_LABELS))
    return run.encoding.decode(known).tolist() if len(known) else []


def _show(run: Run | Answers, number: float) -> Any:
    """Return the label whose code is this number."""
    return run.encoding.decode(np.array([number]))[0]


def _name_column(run: Run | Answers, role: str) -> str:
    return repr(run.notes.get("guessed", {}).get("columns", {}).get(role, role))


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / whole:.0f} %)"
