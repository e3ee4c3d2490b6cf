"""Framework for tools that write tables: delimited text or spreadsheets, loaded into columns that readers modify."""

from __future__ import annotations

import re
from itertools import compress
from typing import TYPE_CHECKING, Any

from allalike._core.lazy_imports import pa
from allalike.errors import InputError, Proposal
from allalike.readers.formats.files import open_file
from allalike.readers.formats.read_errors import check_gaps
from allalike.readers.formats.source import Source, join
from allalike.readers.tools.base import FileProbe, Tool
from allalike.readers.tools.frame import build_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files

    Roles = tuple[str, str, Sequence[str]]  # the columns of worker and task, and those of questions

BLANKS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "null", "#N/A"})
_ASIDE = re.compile(
    r"time|times|timestamp|duration|seconds|comments?|feedback|useragent|browser|submit|surveycode|ip"
)  # words in the names of columns that are not questions
_MANY_COLUMNS = 50  # short rows of a small file can have many missing cells
_RANKS = {"choices": 0, "free text": 1, "marks": 1}
_MIN_ANSWERS = 4  # required to detect free text
_MAX_CHOICES = 30  # more distinct ones are lines of text
_BRACKETS = re.compile(r"\[[^\[\]]*\]")


def sheet_tool(
    name: str, title: str, recognises: Callable[[FileProbe], bool]
) -> Callable[[Callable[[Sheet], Roles]], type[Tool]]:
    """Make a tool from a function that modifies the columns of an export and returns worker, task and questions."""
    return lambda read: SheetTool.made_of(name, title, read, recognises=staticmethod(recognises))


class SheetTool(Tool):
    """A tool with a reader that modifies the columns of an export."""

    def open(self, paths: Sequence[Path], files: Files) -> Source:
        """Open exports as one table."""
        sheet = Sheet([open_file(path, files) for path in paths], files)
        return sheet.table(self, *self.reader(sheet))


class Sheet:
    """The common columns of an export's files, which a tool modifies before it builds one table.

    ``inputs`` are the columns with the content of tasks. ``truths`` are columns of gold labels, and ``details`` columns
    of facts about choices, both by question. Details are not listed among the columns.
    """

    def __init__(self, tables: Sequence[Source], files: Files) -> None:
        joined = join(tables)
        if not joined.text:
            raise InputError(f"{joined.where} is not an export of this tool: it is neither delimited text nor a sheet.")
        if len(joined.names) > _MANY_COLUMNS:
            (first,) = joined.load(joined.names[:1]).values()
            check_gaps(len(joined.names) * len(first), joined.where)
        self.tables, self.joined, self.where = tables, joined, joined.where
        self.question, self.golden = files.question, files.golden
        self.columns: dict[str, Any] = joined.load(joined.names)
        self.remarks = list(dict.fromkeys(joined.remarks))
        self.inputs: Sequence[str] = ()
        self.truths: Mapping[str, str] = {}
        self.details: dict[str, str] = {}

    def cells(self, name: str) -> list[Any]:
        """Return the values of a column; missing texts are empty."""
        column = self.columns[name]
        if not isinstance(column, list):
            column = self.columns[name] = [cell or "" for cell in column.to_pylist()]
        return column

    def rows(self, names: Iterable[str]) -> list[tuple[Any, ...]]:
        """Return the rows of selected columns."""
        return list(zip(*map(self.cells, names), strict=True))

    def find(self, *wanted: str) -> str | None:
        """Return the first column with one of these names, ignoring case, or None."""
        return find_name(self.columns, *wanted)

    def need(self, *wanted: str, remedy: str = "Export it again with all columns.") -> str:
        """Return the first column with one of these names, or raise an error with a remedy."""
        found = self.find(*wanted)
        if found is None:
            raise InputError(f"{self.where} has no column {wanted[0]}. {remedy}")
        return found

    def starting(self, start: str) -> list[str]:
        """Return the columns whose names have this prefix, ignoring case."""
        return [name for name in self.columns if name.strip().casefold().startswith(start.casefold())]

    def place(self, row: int) -> str:
        """Return the file of a row and its number there, for messages; valid until rows are removed."""
        for table in self.tables:
            size = len(table.load(table.names[:1])[table.names[0]])
            if row < size:
                return f"{table.where}: row {row + 1}"
            row -= size
        raise IndexError(row)

    def keep(self, rows: Sequence[bool]) -> None:
        """Keep the selected rows."""
        for name, column in self.columns.items():
            is_list = isinstance(column, list)
            self.columns[name] = list(compress(column, rows)) if is_list else column.filter(pa.array(rows, pa.bool_()))

    def leave_out(self, name: str | None, values: Collection[str], why: str) -> None:
        """Exclude the rows with one of these values in a column, ignoring case, and add a message with their number."""
        rows = [cell.strip().casefold() not in values for cell in self.cells(name)] if name else []
        if not all(rows):
            self.remarks.append(f"{rows.count(False):,} of {len(rows):,} rows {why} and are excluded.")
            self.keep(rows)

    def stack(self, groups: Mapping[str, Sequence[str]]) -> None:
        """Concatenate the columns of each group into one, and repeat the other columns accordingly."""
        n_parts = len(next(iter(groups.values())))
        stacked = {}
        for name, parts in groups.items():
            values = [cell for part in parts for cell in self.cells(part)]
            if any(isinstance(cell, frozenset) for cell in values):
                values = [(frozenset([cell]) if cell else None) if isinstance(cell, str) else cell for cell in values]
            stacked[name] = values
        gone = {name for parts in groups.values() for name in parts}
        self.columns = {name: self.cells(name) * n_parts for name in self.columns if name not in gone} | stacked

    def join_units(self, worker: str, task: str, inputs: Sequence[str]) -> None:
        """Give tasks with the same inputs the same id, if workers share inputs but no task ids."""
        ids, workers, units = self.cells(task), self.cells(worker), self.rows(inputs)
        if not inputs or _are_shared(ids, workers) or not _are_shared(units, workers):
            return
        first: dict[Any, str] = {}
        for unit, name in zip(units, ids, strict=True):
            first[unit] = min(first.get(unit, name), name)
        self.remarks.append(
            f"Every {task} has one worker, so rows with the same {', '.join(inputs)} are read as one task:"
            f" {len(first):,} tasks instead of {len(set(ids)):,}."
        )
        self.columns[task] = [first[unit] for unit in units]

    def name_tasks(self, inputs: Sequence[str]) -> str:
        """Return the first input that distinguishes all tasks, or a new column with all inputs."""
        together = self.rows(inputs)
        n_tasks = len(set(together))
        if alone := next((name for name in inputs if len(set(self.cells(name))) == n_tasks), None):
            return alone
        self.columns[", ".join(inputs)] = [" | ".join(values) for values in together]
        return ", ".join(inputs)

    def table(self, tool: Tool, worker: str, task: str, questions: Sequence[str]) -> Source:
        """Build the table of a tool, with the labels of the best question, or with all questions if several are best.

        Rows without a label are missing answers.
        """
        label = self._choose(questions)
        truths = {name: column for name, column in self.truths.items() if column in self.columns}
        if filled := [column for column in truths.values() if not all(map(is_blank, self.cells(column)))]:
            self.remarks.append(f"Gold labels are in {', '.join(filled)}, and are used only with gold='export'.")
        return build_table(
            tool,
            [name for name in self.columns if name not in self.details.values()],
            lambda name: as_column(self.columns[name]),
            self.where,
            (worker, task, label),
            guessed={**self.joined.guessed, "missing": "drop"},
            text=True,
            decimal=self.joined.decimal,
            remarks=tuple(self.remarks),
            truths=truths,
            details=self.details,
        )

    def _choose(self, names: Sequence[str]) -> str | tuple[str, ...]:
        """Return the chosen question, or the best one, or all if several are best; add a message about the others."""
        if not names:
            raise InputError(f"{self.where} has no column with answers. It has: {', '.join(self.columns)}.")
        asked = self.question
        if asked is None:
            best, others, reasons = self.sort_questions(names)
            if len(best) > 1:
                return (*best, *others)
            if left_out := [f"{name} ({reasons[name]})" for name in names if name not in best]:
                self.remarks.append(f"These columns are not read as labels: {', '.join(left_out)}.")
            return best[0]
        endings = (f".{asked}".casefold(), f":{asked}".casefold())
        found = [name for name in names if name == asked]
        found = found or [name for name in names if name.casefold().endswith(endings)]
        if len(found) == 1:
            return found[0]
        raise InputError(
            f"{self.where} has no question {asked!r}. Its questions: {', '.join(map(repr, names))}.",
            proposals=[Proposal({"question": name}) for name in names],
        )

    def sort_questions(self, names: Sequence[str]) -> tuple[list[str], list[str], dict[str, str]]:
        """Return the best questions, the other questions by rank, and the reasons why columns are not the best.

        Columns with a single answer, and copies of an input or another question, are excluded if others remain. Choices
        rank first, then free text and marks, and then metadata of forms such as times.
        """
        seen = {tuple(self.cells(name)): name for name in self.inputs if name in self.columns}
        kinds: dict[str, str] = {}
        reasons: dict[str, str] = {}
        for name in names:
            values = self.cells(name)
            keys = tuple(cell if cell is None or isinstance(cell, str | frozenset) else repr(cell) for cell in values)
            different = {key for key in set(keys) if not is_blank(key)}
            if len(different) < 2:
                reasons[name] = "always the same" if different else "empty"
            elif seen.setdefault(keys, name) != name:
                reasons[name] = f"the same as {seen[keys]}"
            kinds[name] = _describe(name, [cell for cell, key in zip(values, keys, strict=True) if key in different])
        left = [name for name in names if name not in reasons] or list(names)
        ranks = {name: _RANKS.get(kinds[name], 2) for name in left}
        best = [name for name in left if ranks[name] == min(ranks.values())]
        others = sorted((name for name in left if name not in best), key=lambda name: ranks[name])
        return best, others, reasons | {name: kinds[name] for name in others}


def _describe(name: str, answers: Sequence[Any]) -> str:
    """Return the kind of answers to a question."""
    words = re.split(r"[\W_\d]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).casefold())
    if aside := list(filter(_ASIDE.fullmatch, words)):
        return aside[-1]
    if any(isinstance(item, dict) for answer in answers if isinstance(answer, list) for item in answer):
        return "marks"
    texts = [answer.strip().casefold() for answer in answers if isinstance(answer, str)]
    recur = len(texts) < _MIN_ANSWERS or all(map(is_number, texts)) or len(set(texts)) <= len(texts) / 2
    return "choices" if recur else "free text"


def _are_shared(tasks: Iterable[Any], workers: Iterable[str]) -> bool:
    """Return whether any task has two workers."""
    first: dict[Any, str] = {}
    return any(first.setdefault(task, worker) != worker for task, worker in zip(tasks, workers, strict=True))


def find_name(names: Iterable[str], *wanted: str) -> str | None:
    """Return the first column with one of these names, ignoring case, or None."""
    plain = {name.strip().casefold(): name for name in names}
    return next((plain[name.casefold()] for name in wanted if name.casefold() in plain), None)


def as_column(values: Any) -> Any:
    """Return strings as a text column, in which None is an empty field, and other labels unchanged."""
    if not isinstance(values, list) or not {*map(type, values)} <= {str, type(None)}:
        return values
    return pa.chunked_array([pa.array([value or "" for value in values], pa.string())])


def is_blank(cell: Any) -> bool:
    """Return whether a cell contains no answer."""
    return cell.strip() in BLANKS if isinstance(cell, str) else cell is None


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_sets(values: Sequence[str], separator: str = "\n") -> list[frozenset[str] | None] | None:
    """Return cells as sets if any of them has several choices, or else None.

    Choices are separated by line breaks or another separator, or are in square brackets: ``[A] [B]``.
    """
    filled = [cell for cell in values if cell.strip()]
    bracketed = all(not _BRACKETS.sub("", cell).strip() for cell in filled)
    sets = {}
    for cell in set(filled):
        choices = _BRACKETS.findall(cell) if bracketed else map(str.strip, cell.split(separator))
        sets[cell] = frozenset(filter(None, choices))
    kinds = {choice for choices in sets.values() for choice in choices}
    are_lines = len(kinds) > max(_MAX_CHOICES, len(filled) / 10) or len(kinds) >= max(len(filled), _MAX_CHOICES)
    if are_lines or all(len(choices) < 2 for choices in sets.values()):
        return None
    return [sets.get(cell) for cell in values]


def list_ticked(options: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the ticked options of each row: those whose cells are neither blank nor false."""
    rows = []
    for row in zip(*options.values(), strict=True):
        ticks = [not is_blank(cell) and cell.strip().casefold() not in ("false", "off") for cell in row]
        rows.append(list(compress(options, ticks)))
    return rows


def as_answers(values: Sequence[Any]) -> list[Any]:
    """Return answers as strings, or all as sets if one has several choices, or as lists of marks if one has marks."""
    if any(isinstance(value, list) and any(isinstance(item, dict) for item in value) for value in values):
        return [value if isinstance(value, list) or value is None else [value] for value in values]
    if any(isinstance(value, dict) or (isinstance(value, list) and len(value) > 1) for value in values):
        return [None if value is None else frozenset([value] if isinstance(value, str) else value) for value in values]
    return [(value[0] if value else None) if isinstance(value, list) else value for value in values]
