"""Items: several tasks that a form shows at once, each with inputs and answers that bear its number."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allalike.readers.tools.sheets import BLANKS, as_text, tell_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from allalike.readers.formats.tables import Table

__all__ = ["find_items", "stack_items", "stack_questions"]

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
