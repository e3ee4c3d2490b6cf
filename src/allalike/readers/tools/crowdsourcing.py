"""Crowdsourcing exports: Amazon Mechanical Turk, Toloka, Figure Eight, crowd-kit and Potato."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.late import pc
from allalike._core.system.json_text import parse_json
from allalike.errors import InputError
from allalike.readers.tools.annotations import make_columns
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.figure_eight import FigureEight as FigureEight
from allalike.readers.tools.questions import as_sets, list_questions, pick_questions
from allalike.readers.tools.sheets import (
    BLANKS,
    as_text,
    find_name,
    join_units,
    keep_rows,
    leave_out,
    open_sheets,
    sample,
    tell_apart,
    texts,
    with_columns,
    with_roles,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table


# Items: several tasks that a form shows at once, each with inputs and answers that bear its number.


_NUMBERED = re.compile(r"(.*?)[._-]?(\d{1,3})(\D*)")
Numbers = dict[str, dict[int, str]]


def find_items(inputs: Sequence[str], questions: Sequence[str]) -> tuple[Numbers, Numbers]:
    """Return the names of inputs and of questions by their numbers, if both are numbered alike.

    >>> find_items(["Input.text1", "Input.text2"], ["Answer.q1", "Answer.q2", "Answer.comment"])
    ({'Input.text': {1: 'Input.text1', 2: 'Input.text2'}}, {'Answer.q': {1: 'Answer.q1', 2: 'Answer.q2'}})
    >>> find_items(["Input.text"], ["Answer.q1", "Answer.q2"])
    ({}, {})
    """
    shown, asked = _by_number(inputs), _by_number(questions)
    sizes = {frozenset(names) for names in shown.values() if len(names) > 1}
    asked = {stem: names for stem, names in asked.items() if frozenset(names) in sizes}
    sizes = {frozenset(names) for names in asked.values()}
    if len(sizes) != 1:
        return {}, {}
    return {stem: names for stem, names in shown.items() if frozenset(names) in sizes}, asked


def _by_number(names: Iterable[str]) -> Numbers:
    found: Numbers = {}
    for name in names:
        if match := _NUMBERED.fullmatch(name):
            found.setdefault(match[1] + match[3], {})[int(match[2])] = name
    return found


def stack_items(table: Table, shown: Numbers, asked: Numbers) -> tuple[Table, str, list[str]]:
    """Give every item a row of its own; return also the column that tells items apart, and those of the questions.

    An item is told by the first input that tells all of them apart, or else by all of its inputs. One without any input
    is none.

    >>> import pyarrow as pa
    >>> from allalike.readers.formats.tables import Table
    >>> columns = {"who": ["ada"], "text1": ["x"], "text2": ["y"], "q1": ["yes"], "q2": ["no"]}
    >>> table = Table(list(columns), lambda asked: {name: pa.chunked_array([columns[name]]) for name in asked})
    >>> stacked, task, questions = stack_items(table, *find_items(["text1", "text2"], ["q1", "q2"]))
    >>> [column.to_pylist() for column in stacked.load(["who", task, *questions]).values()]
    [['ada', 'ada'], ['x', 'y'], ['yes', 'no']]
    """
    numbers = sorted(next(iter(asked.values())))
    inputs = {stem: _stacked(table, [names[number] for number in numbers]) for stem, names in shown.items()}
    task, items = tell_apart(inputs)
    kept = [any(cell.strip() not in BLANKS for cell in cells) for cells in zip(*inputs.values(), strict=True)]
    stacks = {stem: [names[number] for number in numbers] for stem, names in {**shown, **asked}.items()}
    made = list(dict.fromkeys([*stacks, task]))
    numbered = {name for names in stacks.values() for name in names}
    others = [name for name in table.names if name not in numbered and name not in made]

    def cells(name: str) -> list[Any]:
        if name in stacks:
            return _stacked_any(table, stacks[name])
        return items if name == task else _stacked(table, [name] * len(numbers))

    def load(names: Sequence[str]) -> dict[str, Any]:
        return {name: _filtered(cells(name), kept) for name in names}

    remark = f"A form shows {len(numbers)} items, of which each is a task of its own, told by {task}."
    stacked = _transformed(table, [*others, *made], load, remark)
    return stacked, task, list(asked)


def stack_questions(table: Table, questions: Sequence[str]) -> tuple[Table, str, list[str]]:
    """Give every question a row of its own, where all people have answered the same form; return as `stack_items`.

    >>> import pyarrow as pa
    >>> from allalike.readers.formats.tables import Table
    >>> columns = {"who": ["ada"], "q1": ["yes"], "q2": ["no"]}
    >>> table = Table(list(columns), lambda asked: {name: pa.chunked_array([columns[name]]) for name in asked})
    >>> stacked, task, labels = stack_questions(table, ["q1", "q2"])
    >>> [column.to_pylist() for column in stacked.load(["who", task, *labels]).values()]
    [['ada', 'ada'], ['q1', 'q2'], ['yes', 'no']]
    """
    rows = len(_stacked_any(table, questions[:1]))
    names = [name for name in questions for _ in range(rows)]
    kept = [True] * len(names)
    columns: dict[str, Callable[[], Any]] = {
        "question": lambda: as_text(names),
        "answer": lambda: _filtered(_stacked_any(table, questions), kept),
    }

    def load(asked: Sequence[str]) -> dict[str, Any]:
        return {
            name: columns[name]() if name in columns else as_text(_stacked(table, [name] * len(questions)))
            for name in asked
        }

    others = [name for name in table.names if name not in questions]
    remark = f"All people have answered the same form, of which each question is a task: {', '.join(questions)}."
    return _transformed(table, [*others, *columns], load, remark), "question", ["answer"]


def _transformed(table: Table, names: list[str], load: Callable[[Sequence[str]], dict[str, Any]], remark: str) -> Table:
    remarks = (*table.remarks, remark)
    return replace(table, names=names, load=load, load_batches=None, n_bytes=lambda _: 0, parts=(), remarks=remarks)


def _stacked(table: Table, names: Sequence[str]) -> list[str]:
    return [value or "" for value in _stacked_any(table, names)]


def _stacked_any(table: Table, names: Sequence[str]) -> list[Any]:
    loaded = table.load(list(dict.fromkeys(names)))
    listed = {name: column if isinstance(column, list) else column.to_pylist() for name, column in loaded.items()}
    return [value for name in names for value in listed[name]]


def _filtered(values: list[Any], kept: list[bool]) -> Any:
    chosen = [value for value, stays in zip(values, kept, strict=True) if stays]
    if all(value is None or isinstance(value, str) for value in chosen):
        return as_text(chosen)
    return [frozenset([value]) if isinstance(value, str) else value for value in chosen]


_ANSWER, _INPUT = "answer.", "input."
_JSON = "taskanswers"
_TICKS = {"true": True, "on": True, "false": False, "off": False, "": False}
_CHECKBOX = "on"


class MTurk(Tool):
    r"""The results of a batch of Amazon Mechanical Turk.

    >>> rows = ["HITId,WorkerId,AssignmentStatus,Input.url,Answer.animal", "H1,ada,Approved,a.jpg,cat",
    ...         "H1,bob,Approved,a.jpg,dog", "H1,eve,Rejected,a.jpg,cat"]
    >>> MTurk().answers_in({"batch.csv": "\n".join(rows)})
    [('ada', 'H1', 'cat'), ('bob', 'H1', 'dog')]
    """

    name = "mturk"
    title = "Amazon Mechanical Turk"
    summary = "results of a batch (CSV): HITId, WorkerId, Input.*, Answer.*"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has workers, HITs and answers."""
        names = [name.strip().casefold() for name in peek.names]
        return {"hitid", "workerid"} <= set(names) and any(name.startswith(_ANSWER) for name in names)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open batches: a HIT is a task, and every field of the form a question."""
        table = open_sheets(paths, files)
        worker, task = find_name(table.names, "WorkerId"), find_name(table.names, "HITId")
        if worker is None or task is None:
            raise InputError(f"{table.where} is no batch of {self.title}: it has no column WorkerId, or none HITId.")
        table = leave_out(table, find_name(table.names, "AssignmentStatus"), {"rejected"}, "were rejected")
        inputs = _beginning(table, _INPUT)
        table, questions = _with_choices(*_unpacked(table, _beginning(table, _ANSWER)))
        shown, asked = find_items(inputs, questions)
        others = [name for name in table.names if name not in questions]
        if asked:
            table, task, questions = stack_items(table, shown, asked)
        elif len(set(texts(table, task))) > 1:
            table = join_units(table, worker, task, inputs)
        elif len(answered := list_questions(table, questions, others)) > 1 and files.tag is None:
            table, task, questions = stack_questions(table, answered)
        label, remark = pick_questions(table, questions, tag=files.tag, inputs=others)
        return with_roles(table, self.name, worker, task, label, [remark])


def _beginning(table: Table, start: str) -> list[str]:
    return [name for name in table.names if name.strip().casefold().startswith(start)]


def _unpacked(table: Table, questions: list[str]) -> tuple[Table, list[str]]:
    """Put every field of a form that came as JSON in a column of its own, as other forms have them."""
    packed = find_name(questions, f"Answer.{_JSON}")
    if packed is None:
        return table, questions
    forms = [_fields(cell, table.where, row) for row, cell in enumerate(texts(table, packed), start=1)]
    columns: dict[str, Callable[[], Any]] = {
        f"{_ANSWER.capitalize()}{path}": partial(_answers_at, path, forms)
        for path in dict.fromkeys(path for form in forms for path in form)
    }
    others = [name for name in questions if name != packed]
    return _without(with_columns(table, columns), [packed]), [
        *others,
        *(name for name in columns if name not in others),
    ]


def _answers_at(path: str, forms: Sequence[Mapping[str, str]]) -> Any:
    return as_text(form.get(path) for form in forms)


def _fields(cell: str, where: str, row: int) -> dict[str, str]:
    if not cell.strip():
        return {}
    fields: dict[str, str] = {}
    try:
        found = parse_json(cell)
        for number, form in enumerate(found if isinstance(found, list) else [found]):
            _flatten(form, f"{number + 1}" if number else "", fields)
    except ValueError as error:
        raise InputError(f"{where}: Answer.taskAnswers in row {row} is no JSON: {error}.") from None
    return fields


def _flatten(value: Any, path: str, fields: dict[str, str]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _flatten(inner, f"{path}.{key}" if path else str(key), fields)
    elif value is not None:
        fields[path] = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _with_choices(table: Table, questions: list[str]) -> tuple[Table, list[str]]:
    """Read the columns of a question's options as one, and cells with several choices as sets."""
    seen = sample(table, questions)
    groups: dict[str, list[str]] = {}
    for name in questions:
        stem, _, option = name.rpartition(".")
        ticks = {str(cell or "").strip().casefold() for cell in seen[name]}
        if stem.casefold() != _ANSWER[:-1] and option.casefold() != _CHECKBOX and ticks <= set(_TICKS):
            groups.setdefault(stem, []).append(name)
    groups = {stem: names for stem, names in groups.items() if len(names) > 1 and stem not in questions}
    columns: dict[str, Callable[[], Any]] = {stem: partial(_choices, table, names) for stem, names in groups.items()}
    for name in questions:
        if any("|" in (cell or "") for cell in seen[name]):
            joined = as_sets(texts(table, name), "|")
            if joined is not None:
                columns[name] = partial(list, joined)
    if not columns:
        return table, questions
    stems = {name: stem for stem, names in groups.items() for name in names}
    merged = _without(with_columns(table, columns), stems)
    return merged, list(dict.fromkeys(stems.get(name, name) for name in questions))


def _without(table: Table, names: Collection[str]) -> Table:
    """Return a table without columns that others stand for."""
    return replace(table, names=[name for name in table.names if name not in names])


def _choices(table: Table, names: list[str]) -> Any:
    """Return the option that is ticked in each row, or the set of those that are, if some rows have several."""
    options = [name.rpartition(".")[2] for name in names]
    cells = zip(*(texts(table, name) for name in names), strict=True)
    ticked = [
        [option for option, cell in zip(options, row, strict=True) if _TICKS.get(cell.strip().casefold())]
        for row in cells
    ]
    if all(len(row) < 2 for row in ticked):
        return as_text([row[0] if row else None for row in ticked])
    return [frozenset(row) for row in ticked]


# Toloka: the assignments of a pool.


_WORKER, _TASK, _STATUS = "ASSIGNMENT:worker_id", "ASSIGNMENT:task_id", "ASSIGNMENT:status"
_VERDICT = "ACCEPT:verdict"
_TOLOKA_INPUT, _OUTPUT, _GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
_LEFT_OUT = {"rejected", "skipped", "expired", "active", "blocked"}


class Toloka(Tool):
    r"""The assignments of a pool of Toloka.

    >>> rows = ["INPUT:url\tOUTPUT:animal\tASSIGNMENT:worker_id", "a.jpg\tcat\tada", "a.jpg\tdog\tbob"]
    >>> Toloka().answers_in({"pool.tsv": "\n".join(rows)})
    [('ada', 'a.jpg', 'cat'), ('bob', 'a.jpg', 'dog')]
    """

    name = "toloka"
    title = "Toloka"
    summary = "assignments of a pool (TSV): ASSIGNMENT:worker_id, INPUT:*, OUTPUT:*"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has outputs of workers."""
        return _WORKER in peek.names and any(name.startswith(_OUTPUT) for name in peek.names)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open assignments: every output is a question."""
        table = open_sheets(paths, files)
        worker = find_name(table.names, _WORKER)
        if worker is None:
            raise InputError(f"{table.where} has no column {_WORKER}, as the assignments of {self.title} have.")
        inputs = [name for name in table.names if name.startswith(_TOLOKA_INPUT)]
        table = _fill_in(table, worker)
        table = leave_out(table, find_name(table.names, _VERDICT), {"-"}, f"are not accepted ({_VERDICT})")
        table, task = _find_task(table, inputs)
        table = leave_out(table, find_name(table.names, _STATUS), _LEFT_OUT, "are not accepted (ASSIGNMENT:status)")
        if task == _TASK:
            table = join_units(table, worker, task, inputs)
        questions = [name for name in table.names if name.startswith(_OUTPUT)]
        label, remark = pick_questions(table, questions, tag=files.tag, inputs=inputs)
        truths = {name: name.replace(_OUTPUT, _GOLDEN, 1) for name in questions}
        return with_roles(table, self.name, worker, task, label, [remark], truths)


def _find_task(table: Table, inputs: list[str]) -> tuple[Table, str]:
    """Return the column that names tasks; exports without their ids have their inputs."""
    if _TASK in table.names:
        return table, _TASK
    if not inputs:
        raise InputError(f"{table.where} has no column {_TASK}, nor any that begins with {_TOLOKA_INPUT}.")
    task, cells = tell_apart({name: texts(table, name) for name in inputs})
    return (table if task in table.names else with_columns(table, {task: lambda: as_text(cells)})), task


def _fill_in(table: Table, worker: str) -> Table:
    """Give every row of an assignment what only its last one has; rows between assignments are empty."""
    said = [name for name in table.names if name.startswith((_TOLOKA_INPUT, _OUTPUT))]
    if not (said and pc.any(pc.equal(table.load([worker])[worker], "")).as_py()):
        return table
    filled = [any(cells) for cells in zip(*(texts(table, name) for name in said), strict=True)]
    table = keep_rows(table, np.array(filled, dtype=np.bool_))
    columns: dict[str, Callable[[], Any]] = {
        name: partial(_from_below, table, name) for name in table.names if name in (worker, _STATUS)
    }
    bare = sum(not person.strip() for person in texts(table, worker))
    remark = f"{bare:,} rows have no {worker}; they are of the same assignment as the next that has one."
    return replace(with_columns(table, columns), remarks=(*table.remarks, *([remark] if bare else [])))


def _from_below(table: Table, name: str) -> Any:
    cells, below = texts(table, name), ""
    for row in range(len(cells) - 1, -1, -1):
        below = cells[row] = cells[row] or below
    return as_text(cells)


# Crowd-Kit: tables of comparisons; its other tables have the columns of ours.


_WORKERS = ("worker", "performer")
_LEFT, _RIGHT, _LABEL = "left", "right", "label"
_PAIR = "left, right"


class CrowdKit(Tool):
    r"""Comparisons of two items as Crowd-Kit has them.

    >>> CrowdKit().answers_in({"pairs.csv": "worker,left,right,label\nada,tea,ale,tea\nbob,ale,tea,ale\n"})
    [('ada', 'ale | tea', 'tea'), ('bob', 'ale | tea', 'ale')]
    """

    name = "crowd-kit"
    title = "Crowd-Kit"
    summary = "comparisons (CSV): worker, left, right, label; its other tables are plain ones"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has comparisons by workers, and no tasks of its own."""
        names = set(peek.names)
        return {_LEFT, _RIGHT, _LABEL} <= names and bool(names & set(_WORKERS)) and "task" not in names

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open comparisons: two items are a task, in whatever order they stood, if a label names the better one."""
        table = open_sheets(paths, files)
        worker = next((name for name in _WORKERS if name in table.names), None)
        if worker is None or not {_LEFT, _RIGHT, _LABEL} <= set(table.names):
            raise InputError(f"{table.where} has not all columns of comparisons: worker, left, right, label.")
        rows = list(zip(*(texts(table, name) for name in (_LEFT, _RIGHT, _LABEL)), strict=True))
        named = all(label in (left, right, "") for left, right, label in rows)
        pairs = [" | ".join(sorted([left, right]) if named else [left, right]) for left, right, _ in rows]
        return with_roles(with_columns(table, {_PAIR: lambda: as_text(pairs)}), self.name, worker, _PAIR, _LABEL)


# Potato: annotated instances, with one column for each option of each question.


_USERS, _INSTANCE, _MARK = ("user", "user_id", "username"), "instance_id", ":::"
_UNTICKED = BLANKS | {"False", "false"}


class Potato(Tool):
    r"""The annotated instances of Potato.

    >>> Potato().answers_in({"annotated.csv": "instance_id,user,mood:::sad,mood:::glad\n7,ada,true,\n7,bob,,true\n"})
    [('ada', '7', 'sad'), ('bob', '7', 'glad')]
    """

    name = "potato"
    title = "Potato"
    summary = "annotated instances (CSV, TSV): user, instance_id and question:::option"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has instances, and options of questions."""
        return (
            _INSTANCE in peek.names
            and any(name in peek.names for name in _USERS)
            and any(_MARK in name for name in peek.names)
        )

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open instances: the options of a question that are filled are its answer."""
        table = open_sheets(paths, files)
        worker = find_name(table.names, *_USERS)
        groups: dict[str, list[str]] = {}
        for name in table.names:
            question, mark, _ = name.partition(_MARK)
            if mark:
                groups.setdefault(question, []).append(name)
        if worker is None or _INSTANCE not in table.names or not groups:
            raise InputError(
                f"{table.where} has not all columns of {self.title}: user, instance_id, question:::option."
            )
        answers = {question: _read_options(table, names) for question, names in groups.items()}
        rows = [dict(zip(answers, row, strict=True)) for row in zip(*answers.values(), strict=True)]
        table = with_columns(table, make_columns(list(answers), rows))
        label, remark = pick_questions(table, list(answers), tag=files.tag)
        return with_roles(table, self.name, worker, _INSTANCE, label, [remark])


def _read_options(table: Table, names: list[str]) -> list[Any]:
    """Return what each row says: which options, or what is written in the only column."""
    cells = [texts(table, name) for name in names]
    if len(names) == 1:
        return [None if cell.strip() in BLANKS else cell for cell in cells[0]]
    options = [name.partition(_MARK)[2] for name in names]
    ticked = (
        [o for o, cell in zip(options, row, strict=True) if cell.strip() not in _UNTICKED]
        for row in zip(*cells, strict=True)
    )
    return [chosen or None for chosen in ticked]
