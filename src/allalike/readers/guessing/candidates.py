"""Candidates: which columns may be worker, task and label, by what they hold and what they are called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product, takewhile
from typing import TYPE_CHECKING, Any

from allalike.errors import ColumnError, Proposal
from allalike.readers.column_names import SYNONYMS, list_names, name_within, rate_name

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from allalike.readers.formats.tables import Table
    from allalike.readers.guessing.contents import Content, TableSample


# Looks: whether the values of a column look like ids of workers, or like what is asked about.


_LOOKED_AT = 50
_MAX_LENGTH = 200
_NUMBERED = re.compile(r"([A-Za-z]+(?:[ _-][A-Za-z]+)?)[\W_]*\d+")
_PERSON = re.compile(r"A[0-9A-Z]{9,14}|[^@\s]+@[^@\s]+\.[a-z]+|not-logged-in-\S+")
_MODEL = re.compile(
    r"(?:.*/)?(?:gpt|claude|llama|gemini|gemma|mistral|mixtral|qwen|deepseek|chatgpt|palm|phi)\b.*", re.I
)
_FILE = re.compile(r"(?:https?://.*|.*\.(?:jpe?g|png|gif|tiff?|txt|wav|mp[34]|pdf|json|html?))", re.I)
_TEXT_WORDS = 4


def rate_looks(content: Content, role: str) -> float:
    """Tell how much the values of a column look like workers or like tasks, from 0 to 1.

    Ids often say what they are, such as ``worker7``, ``q12``, an address, or a file; long texts are asked about.

    >>> import pyarrow as pa
    >>> from allalike.readers.guessing.contents import Content
    >>> ids = Content.of("c1", pa.chunked_array([["worker1", "worker2"]]))
    >>> rate_looks(ids, "worker"), rate_looks(ids, "task")
    (1.0, 0.0)
    >>> rate_looks(Content.of("c2", pa.chunked_array([["cat.jpg", "dog.jpg"]])), "task")
    1.0
    """
    values = [str(value)[:_MAX_LENGTH].strip() for value in content.values[:_LOOKED_AT] if value is not None]
    if not values or content.kind != "text":
        return 1.0 if role == "task" and content.kind == "url" else 0.0
    return sum(_looks_like(value, role) for value in values) / len(values)


def _looks_like(value: str, role: str) -> bool:
    named = _NUMBERED.fullmatch(value)
    if named is not None and rate_name(named[1], role) >= 0.6:
        return True
    if role == "worker":
        return bool(_PERSON.fullmatch(value) or _MODEL.fullmatch(value))
    return bool(_FILE.fullmatch(value)) or len(value.split()) >= _TEXT_WORDS


_NAME_WEIGHT = 0.35  # a name that is a role's own counts this much, where the best content counts 1
_OWN_NAME = 0.8  # a name that means one role only has this rate
_LOUD = 3.0  # such a name counts this many times against other roles
_MAX_LAG = 0.6  # a pair of worker and task that is rated this far below the best is not looked at further
_MOST_PAIRS = 8  # labels are looked for beside this many pairs of worker and task
_MOST_IDS = 14  # this many columns are tried as worker, and as task
_MOST_LABELS = 30  # this many columns are tried as label
_MAX_ID_LENGTH = 80  # longer texts are no ids of workers
_MIN_REPEATED = 5  # it takes this many tasks with several answers to tell whether a label belongs to the task
_SAME_IN_A_TASK, _SAME_OF_A_WORKER, _PART_OF_A_TASK, _ODD_LABEL = 0.15, 0.1, 0.3, 0.15  # columns that are hardly labels
_ONE_RULE_EACH = 0.6  # workers who are rules may say one class each, on which they agree where they meet
_EQUAL_RATE = 0.95  # a column with this share of another's rate is as good a task
_FEWER_WORKERS = 0.02  # this much is added where there are fewer workers than tasks
_RATE_OF_FEW_GAPS, _RATE_OF_GAPS = 0.8, 0.25  # an id that some rows lack counts less: they could not be read
_GAPS_WEIGHT = 0.5  # rows without a label count half
_MIN_LEAD = 0.3  # numbers that hardly recur are labels if they agree this clearly within tasks
_FEW_GAPS = 0.02  # gaps in a larger share of the rows are many
_MIN_STRUCTURE = 0.2  # agreement is not looked at where the structure is worse
_LEAD_WEIGHT = 0.15  # labels that clearly agree within tasks, and more than within workers, add this much each
_LOOKS_WEIGHT = 0.3  # ids that look like those of workers or of tasks add this much
_MOST_TOLD = 60  # so many columns are looked at for what is told of an id
_KEPT_POWER = 3  # rows of a worker and a task that an earlier row has count more than once against them
_SHARE_POWER = 0.25  # shares are taken to this power, so that small ones still count


@dataclass(frozen=True)
class Candidate:
    """Columns that may be worker, task and label, and how much speaks for it."""

    columns: dict[str, str]
    structure: float
    content: float
    total: float

    def is_like(self, other: Candidate, sample: TableSample) -> bool:
        """Tell whether another candidate says the same, with columns that say the same."""
        return all(sample.alike(name, other.columns[role]) for role, name in self.columns.items())


def find_candidates(sample: TableSample, chosen: Mapping[str, str]) -> list[Candidate]:
    """Return all columns that may be worker, task and label beside the chosen ones, the best first.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> told = {"a": [1, 1, 2, 2, 3, 3], "b": ["x", "y"] * 3, "c": [0, 0, 1, 1, 0, 1]}
    >>> find_candidates(TableSample(told), {"label": "c"})[0].columns
    {'worker': 'b', 'task': 'a', 'label': 'c'}
    """
    ids = _groups(sample, [name for name, content in sample.contents.items() if _may_be_id(content, sample)])
    workers = _best_named(sample, chosen, "worker", [group for group in ids if _may_be_worker(sample[group[0]])])
    places = _groups(sample, [name for name, each in sample.contents.items() if _may_be_measured_at(each, sample)])
    tasks = _best_named(sample, chosen, "task", [*ids, *places])
    every = _groups(sample, [name for name, content in sample.contents.items() if _may_be_label(content)])
    labels = _best_named(sample, chosen, "label", every)[:_MOST_LABELS]
    pairs = [
        (_rate_pair(sample, worker, task) + _rate_names({"worker": worker, "task": task}), worker, task)
        for worker, task in product(workers[:_MOST_IDS], tasks[:_MOST_IDS])
        if worker != task and not sample.alike(worker, task)
    ]
    pairs.sort(key=lambda pair: -pair[0])
    pairs = [pair for pair in pairs if pair[0] > pairs[0][0] - _MAX_LAG]
    candidates: list[Candidate] = []
    for _, worker, task in pairs[:_MOST_PAIRS]:
        finest = [task, *_finer_tasks(sample, worker, task, tasks)]
        free = [label for label in labels if label not in (worker, task)]
        candidates += [_rate(sample, {"worker": worker, "task": task, "label": label}, finest) for label in free]
    return sorted(candidates, key=lambda candidate: (-candidate.total, *candidate.columns.values()))


def rate_structure(
    sample: TableSample, columns: Mapping[str, str], *, whole: bool = True, known: Container[str] = ()
) -> float:
    """Tell how well columns make rows of answers, from 0 to 1, without a look at what labels say.

    Where a sample is not the whole table, tasks with one answer in it may have others, and are no fault. A label that
    is known to be one is not rated, and one that has the name of one may be the same in all answers of a worker.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> sample = TableSample({"who": ["a", "b"] * 2, "what": [1, 1, 2, 2], "topic": [1] * 4, "said": [0, 1, 1, 1]})
    >>> rate_structure(sample, {"worker": "who", "task": "what", "label": "said"})
    1.0
    >>> rate_structure(sample, {"worker": "who", "task": "topic", "label": "said"})
    0.0
    """
    worker, task, label = (columns[role] for role in SYNONYMS)
    pair = _rate_pair(sample, worker, task) if whole else sample.kept(worker, task)
    named = rate_name(label, "label") >= _OWN_NAME
    return pair if "label" in known else pair * _rate_label(sample, worker, [task], label, named=named)


def rate_content(sample: TableSample) -> float:
    """Tell how much columns called worker, task and label hold what they are called, from 0 to 1.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> cells = {"worker": [*"abab"], "task": [1, 1, 2, 2], "label": [*"xxyy"]}
    >>> rate_content(TableSample(cells)) > rate_content(TableSample({**cells, "task": cells["worker"]}))
    True
    """
    return _rate(sample, {role: role for role in SYNONYMS}, ["task"]).content


def _rate(sample: TableSample, columns: dict[str, str], tasks: Sequence[str]) -> Candidate:
    worker, task, label = (columns[role] for role in SYNONYMS)
    structure = _rate_pair(sample, worker, task) * _rate_label(sample, worker, tasks, label)
    agreement = sample.agreement(label, task) if structure > _MIN_STRUCTURE else 0.0
    content = structure * (0.5 + 0.5 * agreement)
    total = content + _rate_names(columns) + _rate_looks(sample, columns)
    if structure > _MIN_STRUCTURE:
        total += _LEAD_WEIGHT * (max(sample.lead(label, task), 0.0) + sample.lead(label, task, worker))
    total += _FEWER_WORKERS if sample[worker].n_values < sample[task].n_values else 0
    return Candidate(columns, structure, content, total)


def _finer_tasks(sample: TableSample, worker: str, task: str, tasks: Sequence[str]) -> list[str]:
    """Return columns that are as good a task: what follows from one of them is told about it, and no answer."""
    rate = _rate_pair(sample, worker, task)
    return [
        other
        for other in tasks[:_MOST_IDS]
        if other not in (worker, task) and _rate_pair(sample, worker, other) >= _EQUAL_RATE * rate
    ]


def _rate_looks(sample: TableSample, columns: Mapping[str, str]) -> float:
    return _LOOKS_WEIGHT * sum(_rate_look(sample, columns[role], role) for role in ("worker", "task"))


def _rate_look(sample: TableSample, name: str, role: str) -> float:
    """Tell how much an id looks like a role's, or what is told about it, such as the text or the picture of a task."""
    if (name, role) not in sample.looks:
        told = [other for other in sample.names[:_MOST_TOLD] if other != name and _is_told_of(sample, other, name)]
        sample.looks[name, role] = max(rate_looks(sample[each], role) for each in (name, *told))
    return sample.looks[name, role]


def _is_told_of(sample: TableSample, name: str, other: str) -> bool:
    """Tell whether a column has the same value wherever another has, and nearly as many."""
    return 2 * sample[name].n_values >= sample[other].n_values and sample.follows(name, other)


def _rate_names(columns: Mapping[str, str]) -> float:
    return _NAME_WEIGHT * sum(rate_name(name, role) - _other_role(name, role) for role, name in columns.items())


def _other_role(name: str, role: str) -> float:
    """Tell how much a name speaks for other roles, if that is more; one that can only mean another says so loudly."""
    other = max(rate_name(name, each) for each in SYNONYMS if each != role)
    return (_LOUD if other >= _OWN_NAME else 1.0) * other if other > rate_name(name, role) else 0.0


def _rate_pair(sample: TableSample, worker: str, task: str) -> float:
    """Rate worker and task: rows that stay, tasks with several workers, and workers with several tasks."""
    several = sample.shared(task, worker), sample.shared(worker, task)
    rate = sample.kept(worker, task) ** _KEPT_POWER * (several[0] * several[1]) ** _SHARE_POWER
    gaps = max(sample[worker].gaps, sample[task].gaps)
    return float(rate * (_RATE_OF_GAPS if gaps > _FEW_GAPS else _RATE_OF_FEW_GAPS if gaps else 1.0))


def _rate_label(sample: TableSample, worker: str, tasks: Sequence[str], label: str, *, named: bool = False) -> float:
    """Rate a label: it differs within tasks and within workers, and it recurs unless it is a number or a text."""
    content = sample[label]
    repeated = (sample.pair(tasks[0], worker).n_with_left > 1).sum()
    if content.n_present < 2:
        return 0.0
    if repeated >= _MIN_REPEATED and any(task != label and sample.follows(label, task) for task in tasks):
        return _SAME_IN_A_TASK
    if sample[worker].n_values >= 2 and sample.follows(label, worker) and not named:
        return _ONE_RULE_EACH if sample.lead(label, tasks[0]) >= 1 else _SAME_OF_A_WORKER
    if content.kind in ("date", "url", "records"):
        return _ODD_LABEL
    if label in tasks[1:] and sample.pair(label, tasks[0]).count <= 1.05 * content.n_values:
        return _PART_OF_A_TASK
    present = int((~content.missing).sum())
    full = 1 - _GAPS_WEIGHT * content.gaps
    if content.n_present > 0.9 * present > 10:  # hardly anything recurs
        number = 0.95 if sample.lead(label, tasks[0]) > _MIN_LEAD else 0.4
        rates = {"number": number, "whole": 0.3, "nested": 0.8}
        return full * rates.get(content.kind, 0.7 if content.words >= 3 else 0.2)
    return full


def _may_be_id(content: Content, sample: TableSample) -> bool:
    if content.kind in ("number", "date", "nested", "records", "truth value"):
        return False
    return 2 <= content.n_values < sample.n_rows


def _may_be_measured_at(content: Content, sample: TableSample) -> bool:
    """Tell whether a column says when or where something was measured, and not when somebody answered: it recurs."""
    return content.kind in ("date", "number") and 2 <= content.n_values <= sample.n_rows / 2


def _may_be_worker(content: Content) -> bool:
    return content.kind != "url" and content.length <= _MAX_ID_LENGTH


def _may_be_label(content: Content) -> bool:
    return content.n_present >= 2


def _groups(sample: TableSample, names: Sequence[str]) -> list[list[str]]:
    """Put columns together that say the same."""
    groups: dict[bytes, list[str]] = {}
    for name in names:
        groups.setdefault(sample[name].codes.tobytes(), []).append(name)
    return list(groups.values())


def _best_named(
    sample: TableSample, chosen: Mapping[str, str], role: str, groups: Sequence[Sequence[str]]
) -> list[str]:
    """Return the chosen column, or of each group of columns that which is best called and shortest; the best first."""
    if role in chosen:
        return [chosen[role]]
    free = [[name for name in group if name not in chosen.values()] for group in groups]
    best = [min(group, key=lambda name: (-rate_name(name, role), sample[name].length, name)) for group in free if group]
    return sorted(best, key=lambda name: -rate_name(name, role))


# Questions: what is asked where it is not clear which columns are worker, task and label.


EXAMPLE = (
    "No choice of columns works. A table that works has a row per answer, and tasks with answers by several workers:",
    "worker,task,label",
    "ada,photo1,cat",
    "bob,photo1,cat",
    "ada,photo2,dog",
    "bob,photo2,cat",
    "A table with a column per worker is read with wide='tasks', a file per worker with worker_from='filename'.",
)
_ROWS, _CELL, _NAME, _COLUMNS, _WIDTH = 3, 24, 60, 40, 110


def ask_columns(table: Table, sample: TableSample, why: str, proposals: Sequence[Proposal]) -> ColumnError:
    """Return the error that asks for columns: what was seen, what may be meant, and why that is not sure.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> from allalike.readers.formats.tables import of_records
    >>> rows = {"a": [1, 1], "b": ["x", "y"], "c": [0, 0]}
    >>> table = of_records([dict(zip(rows, row)) for row in zip(*rows.values())])
    >>> columns = {"worker": "b", "task": "a", "label": "c"}
    >>> print(ask_columns(table, TableSample(rows), "Nothing says so.", [Proposal({"columns": columns})]))
    Cannot tell which columns of the table contain worker, task and label. Nothing says so. Columns: 'a', 'b', 'c'.
      a  b  c
      1  x  0
      1  y  0
    Say it with columns={'worker': 'b', 'task': 'a', 'label': 'c'}.
    """
    return ColumnError(
        f"Cannot tell which columns of {name_within(table.where)} contain worker, task and label. {why} Columns:"
        f" {list_names(table.names)}.",
        lines=show_rows(sample),
        proposals=proposals,
    )


def ask_candidates(table: Table, role: str, candidates: Sequence[str]) -> ColumnError:
    """Return the error that asks which of several columns of an export has a role.

    >>> from allalike.readers.formats.tables import of_records
    >>> print(ask_candidates(of_records([{}]), "label", ("Answer.mood", "Answer.tone")))
    The table has 2 columns that may be the label: 'Answer.mood', 'Answer.tone'. The pattern 'Answer.*' takes each of
    them by itself.
    Say it with one of these, the best first:
      columns={'label': 'Answer.mood'}
      columns={'label': 'Answer.tone'}
    """
    what = f"{table.where} has {len(candidates)} columns that may be the {role}: {list_names(candidates)}."
    return ColumnError(
        what + (name_pattern(candidates) if role == "label" else ""),
        proposals=[Proposal({"columns": {role: name}}) for name in candidates],
    )


def name_pattern(labels: Sequence[str]) -> str:
    """Say that a pattern gives a result for each label, if they begin alike.

    >>> name_pattern(["q.a", "q.b"]), name_pattern(["a", "b"])
    (" The pattern 'q.*' takes each of them by itself.", '')
    """
    start = _common_start(labels) if len(labels) > 1 else ""
    return f" The pattern {start + '*'!r} takes each of them by itself." if start else ""


def _common_start(names: Sequence[str]) -> str:
    """Return what all names begin with, up to a mark."""
    first, last = min(names), max(names)
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))))
    found = re.match(r".*[^\w\s]|.*_", first[:same])
    return found[0] if found else ""


def show_rows(sample: TableSample) -> list[str]:
    """Write down the first rows, each cell cut; in a wide table each of its columns is a line.

    >>> from allalike.readers.guessing.contents import TableSample
    >>> show_rows(TableSample({"who": ["ada"], "what": ["x" * 40]}))
    ['  who  what', '  ada  xxxxxxxxxxxxxxxxxxxxx...']
    """
    contents = list(sample.contents.values())[:_COLUMNS]
    names = [_cut(content.name, _NAME) for content in contents]
    rows = [[_cut(content.row(place)) for content in contents] for place in range(min(_ROWS, sample.n_rows))]
    lines = _set([names, *rows])
    return lines if max(map(len, lines)) <= _WIDTH else _set([list(row) for row in zip(names, *rows, strict=True)])


def _set(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip() for row in rows
    ]


def _cut(value: Any, length: int = _CELL) -> str:
    text = " ".join(str("" if value is None else value).split())
    return text if len(text) <= length else text[: length - 3] + "..."
