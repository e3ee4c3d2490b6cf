"""Inference of worker, task and label columns from names and content; an error asks if they are unclear."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

from allalike._core.text_format import cut
from allalike.errors import ColumnError, InputError, Proposal
from allalike.readers.column_names import (
    EXAMPLE,
    SYNONYM,
    SYNONYMS,
    check_chosen,
    is_gold,
    list_names,
    name_within,
    pick_columns,
    rate_name,
)
from allalike.readers.inference.samples import ColumnSample, TableSample, find_matrix

if TYPE_CHECKING:
    from allalike.readers.formats.source import Source

SAMPLE_ROWS, _MIN_SAMPLE_ROWS, _SAMPLE_CELLS = 100_000, 5_000, 240_000
_MIN_ROWS = 12  # fewer rows do not show what columns contain
_TRUSTED = 0.3  # smallest structure score to trust names, and smallest content score of a good candidate
_MIN_STRUCTURE, _CLEARLY_BETTER = 0.25, 2.0  # of a candidate that overrides names
_CLEAR_LEAD = 0.15  # lead in score of a candidate that is chosen without a question
_AGREEMENT_LEAD = 0.2  # without names, labels must agree this much more within tasks than within workers
_INFORMATIVE_NAME = 0.4
UNLIKELY = -1.0  # score of an assignment that no name supports
_MAX_PROPOSED, _MAX_BEHIND, _MAX_ARRANGED = 10, 0.6, 5  # candidates, scores behind the best, columns in any order
_MAX_FILES, _MAX_FILE_ROWS, _MAX_PATHS = 20, 10_000, 30
_ROWS_SHOWN, _CELL, _NAME, _COLUMNS_SHOWN, _WIDTH = 3, 24, 60, 40, 110
_MAX_IDS, _MAX_LABELS, _MAX_PAIRS = 14, 30, 8  # columns tried as worker or task, as label, and pairs of worker and task
_MAX_ID_LENGTH = 80  # longer texts are not ids of workers
_NO_IDS = ("number", "date", "nested", "records", "truth value")


def find_roles(
    table: Source, chosen: Mapping[str, str], na: frozenset[str] = frozenset()
) -> tuple[Source, dict[str, str], dict[str, str]]:
    """Find worker, task and label columns: chosen, known from a tool's reader, or inferred from names or content.

    Returns the table, the columns, and the inferred ones among them.

    Names decide unless the content is impossible, such as many answers by one worker to a task, or the same label in
    all answers to a task. Without valid names, the best candidate by content is used if it leads clearly; if not, an
    error asks.

    >>> from allalike.readers.formats.source import of_records
    >>> pairs = [(worker, nr) for worker in range(5) for nr in range(9)]
    >>> rows = [{"who": f"w{w}", "task": "all", "item": nr, "label": (nr + (w == nr)) % 2} for w, nr in pairs]
    >>> find_roles(of_records(rows), {"worker": "who"})[1]
    {'worker': 'who', 'task': 'item', 'label': 'label'}
    """
    if table.records is not None and any(name not in table.names for name in chosen.values()):
        table = _expand(table, table.records(), chosen)
    check_chosen(table.names, chosen, table.where)
    known = dict(chosen)
    for role, names in table.roles.items():
        if role not in chosen:
            if not isinstance(names, str):
                what = f"{table.where} has {len(names)} candidates for the {role}: {list_names(names)}."
                start = re.fullmatch(r"(.*(?:[^\w\s]|_)).*(?:\n\1.*)+", "\n".join(names)) if role == "label" else None
                what += f" To read each of them separately, use the pattern {start[1] + '*'!r}." if start else ""
                raise ColumnError(what, proposals=[Proposal({"columns": {role: name}}) for name in names])
            known[role] = names
    picked = {**{role: role for role in SYNONYMS}, **known}
    if len(known) < len(SYNONYMS) and set(table.names) != set(picked.values()):
        picked = _infer(table, known, na)
    guessed = {role: name for role, name in picked.items() if role not in chosen and name != role}
    return table, {role: picked[role] for role in SYNONYMS}, guessed


def _expand(table: Source, records: Sequence[Any], chosen: Mapping[str, str]) -> Source:
    """Return a table of paths into nested records: the chosen paths, and others through the same list."""
    from allalike.readers.formats.json_files import expand_records, list_paths

    def find_list(paths: Sequence[str]) -> str:
        """Return the innermost list that paths go through, such as ``annotations[]``."""
        return max((path[: path.rfind("[]") + 2] if "[]" in path else "" for path in paths), key=len, default="")

    paths = list(chosen.values())
    if len(paths) < len(SYNONYMS):
        same = (group for group in list_paths(records) if find_list(group) == find_list(paths))
        paths += next(same, [])
    try:
        return expand_records(records, list(dict.fromkeys(paths)), table.where)
    except ColumnError as error:
        wrong = {role: None for role, name in chosen.items() if name not in table.names}
        error.proposals = (Proposal({"columns": wrong}),)
        raise


def _infer(table: Source, known: Mapping[str, str], na: frozenset[str]) -> dict[str, str]:
    """Return the columns that names suggest; if their content is impossible, the best candidate, or raise an error."""
    by_name: dict[str, str] = {}
    unclear, structure, contents = "", 0.0, _Contents(table, known, na)
    try:
        by_name = pick_columns(table.names, known, table.where)
    except ColumnError as error:
        unclear = str(error.args[0])
    try:
        if by_name:
            named = TableSample(table.sample(SAMPLE_ROWS, list(by_name.values())), na)
            whole = named.n_rows < SAMPLE_ROWS
            structure = rate_structure(named, by_name, whole=whole, known=known) if named.n_rows >= _MIN_ROWS else 1.0
        if structure >= _TRUSTED or (by_name and not contents.beat(by_name, structure)):
            return by_name
        best = next(iter(contents.candidates), None)
    except InputError:  # reading reports it again if it concerns a needed column
        if by_name:
            return by_name
        raise
    if question := contents.ask_shape():
        raise question
    if best is None or best.content < _TRUSTED:
        raise _ask_paths(table, known) or contents.ask(what="" if best else unclear)
    if not contents.is_clear(by_name):
        raise contents.ask("Their names and values do not show it clearly.")
    return best.columns


# One ranker by content


@dataclass(frozen=True)
class Candidate:
    """Possible columns of worker, task and label.

    ``structure`` (0 to 1) rates how far rows look like answers, ``content`` also how far answers to a task agree, and
    ``score`` adds the names.
    """

    columns: dict[str, str]
    structure: float
    content: float
    score: float

    def is_like(self, other: Candidate, sample: TableSample) -> bool:
        """Return whether another candidate consists of columns with the same values."""
        return all(sample.are_same(name, other.columns[role]) for role, name in self.columns.items())


def rank_columns(sample: TableSample, chosen: Mapping[str, str]) -> list[Candidate]:
    """Return the candidates for worker, task and label that include the chosen columns, best first."""
    if sample.n_rows < _MIN_ROWS:
        return []
    workers, tasks, labels = (_list_columns(sample, chosen, role) for role in SYNONYMS)
    pairs = [
        (_rate_pair(sample, worker, task) + _rate_names({"worker": worker, "task": task}), worker, task)
        for worker, task in product(workers[:_MAX_IDS], tasks[:_MAX_IDS])
        if not sample.are_same(worker, task)
    ]
    pairs.sort(key=lambda pair: -pair[0])
    candidates = [
        _rate_label_beside(sample, {"worker": worker, "task": task, "label": label}, tasks[:_MAX_IDS])
        for score, worker, task in pairs[:_MAX_PAIRS]
        for label in labels[:_MAX_LABELS]
        if score > pairs[0][0] - _MAX_BEHIND and label not in (worker, task)
    ]
    return sorted(candidates, key=lambda candidate: (-candidate.score, *candidate.columns.values()))


def _list_columns(sample: TableSample, chosen: Mapping[str, str], role: str) -> list[str]:
    """Return the chosen column, or the possible ones; among equal columns, only that with the best, shortest name."""
    if role in chosen:
        return [chosen[role]]
    groups: dict[bytes, list[ColumnSample]] = {}
    for column in sample.columns:
        if column.name not in chosen.values() and _may_be(column, role, sample.n_rows):
            groups.setdefault(column.codes.tobytes(), []).append(column)
    best = [
        min(group, key=lambda each: (-rate_name(each.name, role), len("".join(each.texts)), each.name)).name
        for group in groups.values()
    ]
    return sorted(best, key=lambda name: -rate_name(name, role))


def _may_be(column: ColumnSample, role: str, n_rows: int) -> bool:
    if role == "label":
        return column.n_present >= 2
    is_id = column.kind not in _NO_IDS and 2 <= column.n_values < n_rows
    if role == "task":  # may also be the time or place of a measurement
        return is_id or (column.kind in ("date", "number") and 2 <= column.n_values <= n_rows / 2)
    return is_id and column.kind != "url" and sum(map(len, column.texts)) <= _MAX_ID_LENGTH * len(column.texts)


def _rate_label_beside(sample: TableSample, columns: dict[str, str], tasks: Sequence[str]) -> Candidate:
    """Rate a label given worker and task; a label that depends on another possible task column scores low."""
    worker, task, label = columns.values()
    least = 0.95 * _rate_pair(sample, worker, task)
    equal = [name for name in tasks if name not in (worker, task) and _rate_pair(sample, worker, name) >= least]
    finer = any(name != label and sample.depends_on(label, name) for name in equal)
    coarse = label in equal and sample.count_partners(label, task).sum() <= 1.05 * sample[label].n_values
    structure, content = (rate * (0.15 if finer else 0.3 if coarse else 1.0) for rate in rate_content(sample, columns))
    excess, error = sample.measure_agreement(label, task)
    clear = 0.15 * structure * min(max(excess, 0.0) / max(6 * error, 1e-9), 1.0)
    fewer = 0.02 * (sample[worker].n_values < sample[task].n_values)
    return Candidate(columns, structure, content, content + clear + _rate_names(columns) + fewer)


def rate_content(sample: TableSample, columns: Mapping[str, str]) -> tuple[float, float]:
    """Return the structure score of columns, and this score weighted by the agreement of labels within tasks."""
    structure = rate_structure(sample, columns)
    return structure, structure * (0.5 + 0.5 * rate_agreement(sample, columns["label"], columns["task"]))


def rate_agreement(sample: TableSample, label: str, group: str) -> float:
    """Return the chance-corrected agreement of labels within groups, minus its standard error, from 0 to 1."""
    excess, error = sample.measure_agreement(label, group)
    return min(max(excess - error, 0.0), 1.0)


def rate_structure(
    sample: TableSample, columns: Mapping[str, str], *, whole: bool = True, known: Container[str] = ()
) -> float:
    """Rate from 0 to 1 how far rows with these columns look like answers.

    Tasks with one answer count against the columns only in a ``whole`` table. If the label is known, it is not rated.
    """
    worker, task, label = (columns[role] for role in SYNONYMS)
    pair = _rate_pair(sample, worker, task, whole=whole)
    return pair if "label" in known else pair * _rate_label(sample, worker, task, label)


def _rate_pair(sample: TableSample, worker: str, task: str, *, whole: bool = True) -> float:
    """Rate worker and task: no repeated rows, several workers per task and tasks per worker, no missing ids."""
    tasks, workers = sample.count_partners(worker, task), sample.count_partners(task, worker)
    kept = float(tasks.sum()) / max(sample.n_rows, 1)
    if not whole:
        return kept
    filled = min(sample[worker].n_filled, sample[task].n_filled) / sample.n_rows
    return float(kept**3 * ((workers > 1).mean() * (tasks > 1).mean()) ** 0.25 * filled)


def _rate_label(sample: TableSample, worker: str, task: str, label: str) -> float:
    """Rate a label high if it varies within tasks and within workers, and recurs unless it is a number or a text."""
    column = sample[label]
    excess, error = sample.measure_agreement(label, task)
    if column.n_present < 2:
        return 0.0
    if (sample.count_partners(task, worker) > 1).sum() >= 5 and sample.depends_on(label, task):
        return 0.15
    if sample[worker].n_values > 1 and sample.depends_on(label, worker) and rate_name(label, "label") <= SYNONYM:
        return 0.6 if excess > 6 * error > 0 else 0.1  # each labelling function may return one class, and agree
    if column.kind in ("date", "url", "records"):
        return 0.15
    if not column.n_present > 0.9 * column.n_filled > 10:
        return 0.5 + 0.5 * column.n_filled / sample.n_rows
    if column.kind == "number":
        return 0.95 if excess > 2 * error else 0.4
    return {"whole": 0.3, "nested": 0.8}.get(column.kind, 0.7 if column.words >= 3 else 0.2)


def _rate_names(columns: Mapping[str, str]) -> float:
    """Score the names of columns; a name that fits another role better gets a negative score."""
    rate = 0.0
    for role, name in columns.items():
        own, other = rate_name(name, role), max(rate_name(name, each) for each in SYNONYMS if each != role)
        rate += own - (other if other > own else 0.0)
    return 0.35 * rate


# One question


@dataclass(frozen=True)
class _Contents:
    """A sample of a table, its candidates for worker, task and label, and the question about them."""

    table: Source
    known: Mapping[str, str] = field(default_factory=dict)
    na: frozenset[str] = frozenset()

    @cached_property
    def sample(self) -> TableSample:
        """A sample of the rows with all columns; it has fewer rows if there are many columns."""
        rows = max(_MIN_SAMPLE_ROWS, _SAMPLE_CELLS // max(len(self.table.names), 1))
        return TableSample(self.table.sample(min(SAMPLE_ROWS, rows)), self.na)

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Candidates for worker, task and label, best first."""
        return rank_columns(self.sample, self.known)

    def beat(self, by_name: Mapping[str, str], structure: float) -> bool:
        """Return whether the best candidate is so much better than the named columns that these must be wrong."""
        best = next(iter(self.candidates), None)
        if best is None or best.structure < max(_CLEARLY_BETTER * structure, _MIN_STRUCTURE):
            return False
        return all(name == by_name[role] or rate_name(name, role) >= 0 for role, name in best.columns.items())

    def is_clear(self, by_name: Mapping[str, str]) -> bool:
        """Return whether the best candidate leads, no name contradicts it, and two names or the content support it."""
        sample, best = self.sample, self.candidates[0]
        columns = best.columns
        lead = rate_agreement(sample, columns["label"], columns["task"])
        lead -= rate_agreement(sample, columns["label"], columns["worker"])
        fewer = sample[columns["worker"]].n_values <= sample[columns["task"]].n_values
        sure = lead >= _AGREEMENT_LEAD and fewer  # that worker and task are not swapped
        turned = {**columns, "worker": columns["task"], "task": columns["worker"]}
        for rival in self.candidates[1:]:
            near = rival.score > best.score - _CLEAR_LEAD and not best.is_like(rival, sample)
            if near and not (sure and rival.columns == turned):
                return False
        named = 0
        for role, name in columns.items():
            rate = rate_name(name, role)
            if (role not in self.known and rate < 0) or (name != by_name.get(role, name) and rate < _INFORMATIVE_NAME):
                return False
            named += role in self.known or rate >= _INFORMATIVE_NAME
        return named >= 2 or (sure and len(sample.names) == len(SYNONYMS))

    def ask(
        self, why: str = "None of them fits well.", *, what: str = "", ways: Sequence[Proposal] = ()
    ) -> ColumnError:
        """Return the error that asks for columns; it proposes ``ways``, candidates, or any assignment of columns."""
        names, listed = self.table.names, f" Columns: {list_names(self.table.names)}."
        proposals = [*ways, *self.propose()] or _propose_in_any_order(names, self.known)
        open_roles = [
            role for role in SYNONYMS if len({each.options.get("columns", {}).get(role) for each in proposals}) > 1
        ]
        where, one = name_within(self.table.where), len(open_roles) == 1 and not ways
        wanted = f"column of {where} contains the {open_roles[0]}" if one else ""
        unclear = f"Cannot tell which {wanted or f'columns of {where} contain worker, task and label'}. {why}"
        what = what + listed * bool(ways) or unclear + listed
        if len(names) < len(SYNONYMS):
            number = "is 1" if len(names) == 1 else f"are {len(names)}"
            what += f" Answers need three columns, but there {number}."
        return ColumnError(what, lines=[*_show_rows(self.sample), *([] if proposals else EXAMPLE)], proposals=proposals)

    def propose(self) -> list[Proposal]:
        """Propose the best different candidates."""
        best: list[Candidate] = []
        for each in self.candidates:
            near = each.score > self.candidates[0].score - _MAX_BEHIND and len(best) < _MAX_PROPOSED
            if not best or (near and not any(each.is_like(other, self.sample) for other in best)):
                best.append(each)
        chosen = [{role: name for role, name in each.columns.items() if role not in self.table.roles} for each in best]
        return [Proposal({"columns": own}, score=each.score) for own, each in zip(chosen, best, strict=True)]

    def ask_shape(self, *, any_matrix: bool = False) -> ColumnError | None:
        """Return the question of whether a table is a matrix, or each file a worker; None if neither is likely.

        ``any_matrix`` includes matrices in tables with other candidates for worker and task.
        """
        known, where, ways, what = self.known, self.table.where, [], ""
        matrix = find_matrix(self.sample) if "label" not in known and len(known) < 2 else None
        if matrix and self.candidates:  # two similar columns are weak evidence
            best = self.candidates[0]
            good = best.content >= _TRUSTED and (known or len(matrix.cells) == 2)
            apart = {best.columns["worker"], best.columns["task"]}.isdisjoint(matrix.cells)
            matrix = None if good or (apart and len(matrix.cells) > 2 and not any_matrix) else matrix
        if matrix:
            rows, named = (f"{next(iter(known))}s", True) if known else (matrix.rows, matrix.named)
            what = f"{where} has no clear columns of worker, task and label, but looks like a matrix with one row per"
            what += f" {rows.removesuffix('s') if named else 'task, or one per worker'}."
            cells = {} if matrix.alone else {"include": tuple(matrix.cells)}
            scores = {rows: 0.6 if named else 0.3, "workers" if rows == "tasks" else "tasks": -0.7 if named else 0.3}
            ways = [Proposal({"wide": rows, **cells}, score=score) for rows, score in scores.items()]
        if "worker" not in known and (task := _find_task_of_files(self.table)):
            ways = [Proposal({"worker_from": "filename"}, score=0.5), *ways]
            what = f"{where} have no clear column of the worker, but each file has each {task!r} once."
            what += " Each file may be one worker."
        return self.ask(what=what, ways=ways) if ways else None


def list_readings(table: Source, na: frozenset[str] = frozenset()) -> list[Proposal]:
    """Propose roles and shapes of a table based on its content, regardless of how it was read."""
    if table.roles:
        return []
    contents = _Contents(table, na=na)
    question = contents.ask_shape(any_matrix=True)
    return list(question.proposals) if question else contents.propose()


def _find_task_of_files(table: Source) -> str:
    """Return the task column if each file is a worker: its values are unique in a file and shared between files."""
    samples = [TableSample(part.sample(_MAX_FILE_ROWS)) for part in table.parts[:_MAX_FILES]]
    for name in sorted(table.names, key=lambda name: -rate_name(name, "task")) if len(samples) > 1 else ():
        counts = Counter(str(value) for sample in samples for value in sample[name].values)
        once = all(sample[name].n_values == sample.n_rows > 0 for sample in samples)
        if once and 2 * sum(count > 1 for count in counts.values()) > len(counts):
            return name
    return ""


def _propose_in_any_order(names: Sequence[str], known: Mapping[str, str]) -> list[Proposal]:
    """Propose all assignments of columns to the unknown roles, best names first."""
    roles = [role for role in SYNONYMS if role not in known]
    free = [name for name in names if name not in known.values() and not is_gold(name)][:_MAX_ARRANGED]
    ways = []
    for chosen in permutations(free, len(roles)):
        rates = [rate_name(name, role) for role, name in zip(roles, chosen, strict=True)]
        named = sum(rate >= _INFORMATIVE_NAME for rate in rates) + (len(free) == len(roles))  # the last one follows
        columns = {"columns": dict(zip(roles, chosen, strict=True))}
        ways.append((sum(rates), Proposal(columns, score=None if named >= len(roles) else UNLIKELY)))
    return [proposal for _, proposal in sorted(ways, key=lambda way: -way[0])]


def _ask_paths(table: Source, known: Mapping[str, str]) -> ColumnError | None:
    """Return the question that proposes paths into nested records, through the list with the best candidate."""
    from allalike.readers.formats.json_files import expand_records, list_paths

    records = table.records() if table.records else []
    lists = []
    for paths in list_paths(records):
        if not {*paths} <= {*table.names}:
            asked = list(dict.fromkeys((*known.values(), *paths)))[:_MAX_PATHS]
            lists.append(_Contents(expand_records(records, asked, table.where), known))
    best = max(lists, key=lambda each: each.candidates[0].score if each.candidates else UNLIKELY, default=None)
    return best.ask("Its records are nested.") if best else None


def _show_rows(sample: TableSample) -> list[str]:
    """Format the first rows with shortened cells; a wide table is transposed."""
    columns = []
    for column in sample.columns[:_COLUMNS_SHOWN]:
        values = [column.values[code] for code in column.codes[:_ROWS_SHOWN]]
        texts = [" ".join(str("" if value is None else value).split()) for value in values]
        columns.append([cut(" ".join(column.name.split()), _NAME), *(cut(text, _CELL) for text in texts)])

    def write(rows: Sequence[Sequence[str]]) -> list[str]:
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]

    lines = write(list(zip(*columns, strict=True)))
    return lines if max(map(len, lines), default=0) <= _WIDTH else write(columns)
