"""Frame of the tools that write records: a reader is a function that yields answers, and all the rest happens here.

The frame opens files, numbers their records, names file and record in errors, chooses the question, makes choices
classes or sets, and builds the table. Where annotators have files of their own, the place of a file says whose it is,
and which document it is about.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from allalike._core.registry import did_you_mean
from allalike.answers.gold import match_truths
from allalike.errors import AllalikeError, InputError, Proposal
from allalike.readers.formats.failures import check_gaps, check_width
from allalike.readers.formats.tables import Table
from allalike.readers.tools.base import (
    REQUIRED,
    ROLES,
    Original,
    Peek,
    Tool,
    UnexpectedValueError,
    get_id,
    load_document,
    load_records,
    unexpected,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files

    Reader = Callable[["Export"], Iterable["Answer"]]

REGIONS = ("boxes", "ellipses", "points", "polygons", "spans", "unknown regions")
KNOWN = object()  # the worker of a label that a tool marks as truth, where that is gold, and no answer
_MAX_LISTED = 12
_ENDING = re.compile(r"(\.[a-z][a-z0-9]{1,9})?(\.(gz|bz2|xz|zst|zip))?$", re.IGNORECASE)


def build_table(
    tool: Tool,
    names: Sequence[str],
    load: Callable[[str], Any],
    where: str,
    roles: Sequence[str | tuple[str, ...]],
    *,
    guessed: Mapping[str, str],
    **facts: Any,
) -> Table:
    """Return the table of a tool, given a function that returns a column, and the names of worker, task and label."""
    return Table(
        list(names),
        lambda asked, _: {name: load(name) for name in asked},
        where,
        roles=dict(zip(ROLES, roles, strict=True)),
        guessed={**guessed, "tool": tool.name},
        **facts,
    )


def spread(rows: Sequence[Mapping[str, Any]], where: str) -> dict[str, list[Any]]:
    """Return the columns of rows; what a row lacks is missing."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    check_width(names, where)
    check_gaps(len(names) * len(rows) - sum(map(len, rows)), where)
    return {name: [row.get(name) for row in rows] for name in names}


# Tools that write records: their readers yield answers.


class Answer:
    """A worker's label of a task, as an answer to a question; ``more`` are further columns, such as a known truth.

    A label that is a tuple holds what was chosen: labels are classes if everybody chose one, and sets otherwise. An
    empty label (None, a text, tuple or list) says that nothing is there if the answers to this question are regions
    (``kind``), and is no answer otherwise.
    """

    __slots__ = ("kind", "question", "row")

    def __init__(self, worker: Any, task: Any, label: Any, question: str = "", kind: str = "", **more: Any) -> None:
        self.question, self.kind = question, kind
        self.row = {"worker": worker, "task": task, "label": label, **more}


def name_tool(tool: type[Tool], name: str, title: str, read: Callable[..., Any]) -> type[Tool]:
    """Name a tool, with a summary from the docstring of its reader: what it reads."""
    tool.name, tool.title = name, title
    tool.summary = (read.__doc__ or "").partition("\n")[0].removeprefix("Read ").removesuffix(".")
    update_wrapper(tool, read, updated=())
    return tool


def record_tool(
    name: str, title: str, recognises: Callable[[Peek], bool], *, shows: bool = False
) -> Callable[[Reader], type[Tool]]:
    """Make a tool of a function that yields the answers of an export, and perhaps notes what it ``shows`` in tasks.

    The first line of its docstring says what is read.

    >>> from allalike.readers.tools.base import get_object, get_scalar
    >>> @record_tool("quiz", "Quiz", lambda peek: peek.has("player", "answered"))
    ... def quiz(export):
    ...     '''Read answers by player (JSON).'''
    ...     for record in export.records():
    ...         for question, answer in get_object(record, "answered").items():
    ...             yield Answer(get_id(record, "player"), question, get_scalar(answer))
    >>> quiz.summary, quiz().answers_in({"quiz.jsonl": '{"player": "ada", "answered": {"q1": "Oslo"}}'})
    ('answers by player (JSON)', [('ada', 'q1', 'Oslo')])
    """

    def make(read: Reader) -> type[Tool]:
        class RecordTool(Tool):
            def recognises(self, peek: Peek) -> bool:
                return recognises(peek)

            def open(self, paths: Sequence[Path], files: Files) -> Table:
                export = Export(self, paths, files)
                export.read(read)
                return export.finish(export.table())

            def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
                originals: dict[str, Original] = {}
                if shows:
                    Export(self, paths, files, originals=originals).read(read)
                return originals

        return name_tool(RecordTool, name, title, read)

    return make


@dataclass
class Export:
    """The files of a tool while a reader goes through them, and its answers.

    ``path`` is the file that is being read, and ``at`` says where in it, for errors. ``originals`` are what was shown
    in tasks, if that is asked for. A reader may replace ``finish``, which is given the table.
    """

    tool: Tool
    paths: Sequence[Path]
    files: Files
    originals: dict[str, Original] | None = None
    path: Path | None = None
    at: str = ""
    left_out: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)
    finish: Callable[[Table], Table] = lambda table: table
    questions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    _empty: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _places: dict[Path, tuple[str, str]] = field(default_factory=dict)

    def read(self, reader: Reader) -> None:
        """Take all answers of a reader; whatever fails there is an error that names the file and the record."""
        try:
            for answer in reader(self):
                label, question = answer.row["label"], answer.question
                if label is None or (isinstance(label, str | tuple | list) and not label):
                    self._empty.setdefault(question, []).append(answer.row)  # until all answers are known
                else:
                    self.kinds.setdefault(question, answer.kind)
                    self.questions.setdefault(question, []).append(answer.row)
        except AllalikeError:
            raise
        except UnexpectedValueError as error:
            raise InputError(f"{self.at or self.paths[0]}: {error}.") from error
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
            reason = f"there is no {error}" if isinstance(error, KeyError) else str(error)
            if isinstance(error, TypeError | AttributeError):
                reason = "a value is of another type"
            raise InputError(f"{self.at or self.paths[0]} is not as {self.tool.title} writes it: {reason}.") from error

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records of all files, in JSON lines or in a list."""
        for path in self.paths:
            yield from self.each(load_records(path), path)

    def each(self, items: Iterable[Any], path: Path, what: str = "record") -> Iterator[dict[str, Any]]:
        """Yield the objects in a list of a file, and note which it is."""
        self.path, place = path, f"{path}: {what} "
        for number, item in enumerate(items, start=1):
            self.at = f"{place}{number}"
            if not isinstance(item, dict):
                raise unexpected(item, "an object")
            yield item

    def document(self, path: Path) -> Any:
        """Return the one value of a JSON file."""
        self.path, self.at = path, str(path)
        return load_document(path)

    @property
    def by_file(self) -> bool:
        """Whether the name of a file is the worker, whatever its records say."""
        return self.files.worker_from == "filename"

    @property
    def owner(self) -> str:
        """The worker to whom the file belongs that is being read, by its name or folder."""
        assert self.path is not None
        return self.place_of(self.path)[0]

    def worker(self, value: Any, *keys: str, default: Any = REQUIRED) -> Any:
        """Return the worker whom the first of these fields names, or the owner of the file if that was asked for."""
        return self.owner if self.by_file else get_id(value, *keys, default=default)

    def place_of(self, path: Path) -> tuple[str, str]:
        """Return whose file this is, and which of their documents."""
        if not self._places:
            self._places = place_files(self.paths, by_name=self.by_file)
        return self._places[path]

    @property
    def where(self) -> str:
        """The files and the tool, for messages."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}, of {self.tool.title}"

    def leave_out(self, what: str, number: int = 1) -> None:
        """Count what is no answer."""
        if number:
            self.left_out[what] += number

    def show(self, task: Any, record: Mapping[str, Any], **shown: Any) -> None:
        """Note what was shown in a task, if that is asked for and not yet known."""
        if self.originals is not None:
            self.originals.setdefault(str(task), Original(record, **shown))

    def table(self) -> Table:
        """Return the answers to the question that was asked for, or to the only one, as a table."""
        if not self.questions:
            raise InputError(f"{self.where}, holds no answers{f': {self._counted()}' if self.left_out else ''}.")
        question = self._choose()
        rows = self.questions[question]
        empty = self._empty.pop(question, [])
        if self.kinds[question] in REGIONS:
            rows += [{**{role: row[role] for role in ROLES}, "label": []} for row in empty]
        else:
            self.leave_out(
                f"annotations without an answer to {question!r}" if question else "empty answers", len(empty)
            )
        rows = _set_truths_apart(rows)
        if not rows:
            raise InputError(f"{self.where}, holds no answers beside those that are marked as truths.")
        workers, tasks = ({row[role] for row in rows} for role in ("worker", "task"))
        about = f"{self.where} ({len(rows):,} answers of {len(workers):,} workers to {len(tasks):,} tasks)"
        columns = spread(rows, about)
        return build_table(
            self.tool,
            list(columns),
            columns.__getitem__,
            about,
            ROLES,
            guessed={"tag": question} if question and question != self.files.tag else {},
            remarks=tuple(self._remark(question, columns)),
            samples=[name for name in ("sample", "order") if len(set(columns.get(name, ()))) > 1],
            truths={"label": "gold"} if "gold" in columns else {},
        )

    def _remark(self, question: str, columns: Mapping[str, list[Any]]) -> Iterator[str]:
        yield from self.remarks
        if (most := max(filter(None, columns.get("sample", ())), default=1)) > 1:
            yield f"The column 'sample' numbers the samples of an item, of which there are up to {most:,}."
        if not self.files.golden and any(known is not None for known in columns.get("gold", ())):
            yield "Known truths are in the column gold; they count only with gold='export'."
        if self.left_out:
            yield f"Left out: {self._counted()}."
        if len(self.questions) > 1:
            others = ", ".join(sorted(set(self.questions) - {question}))
            yield f"Read: the answers to {question!r}. The file also has answers to {others}."

    def _choose(self) -> str:
        """Return the name of the question to read, or ask which."""
        tag, names = self.files.tag, sorted(self.questions, key=lambda name: (-len(self.questions[name]), name))
        if tag is None and len(names) == 1:
            return names[0]
        if tag is not None and (match := {name.casefold(): name for name in names}.get(tag.casefold())) is not None:
            return match
        if tag is not None and names == [""]:
            raise InputError(f"{self.where}, has one question only, and none is called {tag!r}. Ask without a tag.")
        listed = [f"{name!r} ({self.kinds[name]}, {len(self.questions[name]):,} answers)" for name in names]
        more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
        has = ", ".join(listed[:_MAX_LISTED]) + more
        if tag is not None:
            raise InputError(f"{self.where}, has no question {tag!r}.{did_you_mean(tag, names)} It has: {has}.")
        best = sorted(names, key=lambda name: self.kinds[name] in REGIONS)
        raise InputError(
            f"{self.where}, has {len(names)} questions: {has}. Which is it?",
            proposals=[Proposal({"tag": name}) for name in best],
        )

    def _counted(self) -> str:
        return ", ".join(f"{number:,} {what}" for what, number in sorted(self.left_out.items()))


def _set_truths_apart(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make choices classes or sets and ids of one type; put what is known of tasks into a column of its own."""
    chosen = [row["label"] for row in rows if isinstance(row["label"], tuple)]
    single = all(len(set(label)) == 1 for label in chosen)
    as_text = single and len({type(label[0]) for label in chosen}) > 1
    mixed = [  # such as a model's name among the numbers of people
        role for role in ("worker", "task") if len({type(row[role]) for row in rows if row[role] is not KNOWN}) > 1
    ]
    answers: list[dict[str, Any]] = []
    truths: list[tuple[Any, Any]] = []
    for row in rows:
        label, known = row["label"], row["worker"] is KNOWN
        if isinstance(label, tuple):
            label = frozenset(map(str, label)) if not single else str(label[0]) if as_text else label[0]
        row = {**row, **{role: str(row[role]) for role in mixed}, "label": label}
        if known:
            truths.append((row["task"], label))
        else:
            answers.append(row)
    if truths:
        gold = match_truths(truths)
        answers = [{**row, "gold": gold.get(row["task"])} for row in answers]
    return answers


def place_files(
    paths: Sequence[Path], *, by_name: bool = False, by_folder: bool = False
) -> dict[Path, tuple[str, str]]:
    """Return worker and document of each file: the worker is its name if all names differ, and else its folder.

    With ``by_name`` it is the name if any differ. A folder is the first that is not everybody's.

    >>> from pathlib import Path
    >>> files = [Path("1/ada.json"), Path("1/bob.json"), Path("2/ada.json")]
    >>> list(place_files(files[:2]).values()), list(place_files(files).values())
    ([('ada', ''), ('bob', '')], [('1', 'ada'), ('1', 'bob'), ('2', 'ada')])
    """
    names = [_ENDING.sub("", path.name) or path.name for path in paths]
    folders = [path.absolute().parent.parts for path in paths]
    differing = (depth for depth, level in enumerate(zip(*folders, strict=False)) if len(set(level)) > 1)
    shared = next(differing, min(map(len, folders)))
    n_names = len(set(names))
    places = {}
    for path, name, folder in zip(paths, names, folders, strict=True):
        if not by_folder and (n_names == len(paths) or (by_name and n_names > 1)):
            places[path] = name, "/".join(folder[shared:]) if n_names < len(paths) else ""
        else:
            owner = folder[shared] if len(folder) > shared else folder[-1]
            places[path] = owner, "/".join([*folder[shared + 1 :], name])
    return places
