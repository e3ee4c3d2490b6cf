"""Frame of the tools that write records: a reader is a function that yields answers.

The frame opens files, numbers their records, names file and record in errors, checks ids and labels, chooses the
question, makes choices classes or sets, and builds the table. Where annotators have files of their own, the place of a
file says whose it is, and which document it is about.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.registry import did_you_mean
from allalike.answers.gold import match_truths
from allalike.errors import AllalikeError, InputError, Proposal
from allalike.readers.formats.compression import check_regular
from allalike.readers.formats.failures import check_gaps, check_width
from allalike.readers.formats.source import Source
from allalike.readers.tools.base import (
    ROLES,
    Original,
    Peek,
    Tool,
    UnexpectedValueError,
    load_document,
    load_records,
    make_tool,
    unexpected,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files

    Reader = Callable[["Export"], Iterable["Answer"]]

REGIONS = ("boxes", "ellipses", "points", "polygons", "spans", "unknown regions")
_IDS, _SCALARS = frozenset({str, int}), frozenset({str, int, float, bool})
_MAX_LISTED = 12
_ENDING = re.compile(r"(\.[a-z][a-z0-9]{1,9})?(\.(gz|bz2|xz|zst|zip))?$", re.IGNORECASE)


def build_table(
    tool: Tool, names: Iterable[str], load: Callable[[str], Any], where: str, roles: Sequence[Any], **facts: Any
) -> Source:
    """Return the table of a tool, given a function that returns a column, and the names of worker, task and label."""
    facts["guessed"] = {**facts.get("guessed", {}), "tool": tool.name}
    read = lambda asked, _: {name: load(name) for name in asked}  # noqa: E731
    return Source(list(names), read, where, roles=dict(zip(ROLES, roles, strict=True)), **facts)


def spread(rows: Sequence[Mapping[str, Any]], where: str) -> dict[str, list[Any]]:
    """Return the columns of rows; what a row lacks is missing."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    check_width(names, where)
    check_gaps(len(names) * len(rows) - sum(map(len, rows)), where)
    return {name: [row.get(name) for row in rows] for name in names}


class Answer:
    """A worker's label of a task, as an answer to a question; ``more`` are further columns, such as a gold label.

    A label that is a tuple holds what was chosen: labels are classes if all answers have one choice, and sets
    otherwise. An empty label (None, a text, tuple or list) means that nothing is there if the answers to this question
    are regions (``kind``), and is no answer otherwise. An answer that ``is_gold`` is the gold label of its task.
    """

    __slots__ = ("is_gold", "kind", "question", "row")

    def __init__(
        self,
        worker: Any,
        task: Any,
        label: Any,
        question: str = "",
        kind: str = "",
        *,
        is_gold: bool = False,
        **more: Any,
    ) -> None:
        self.question, self.kind, self.is_gold = question, kind, is_gold
        self.row = {"worker": worker, "task": task, "label": label, **more}
        if type(worker) not in _IDS or worker == "":
            raise unexpected(worker, "a name or a whole number", "worker")
        if type(task) not in _IDS or task == "":
            raise unexpected(task, "a name or a whole number", "task")
        for value in label if type(label) is tuple else ():
            if type(value) not in _SCALARS:
                raise unexpected(value, "a text or a number", "label")
        if type(label) is dict:
            raise unexpected(label, "a text or a number", "label")

    @property
    def is_empty(self) -> bool:
        """Whether the label is missing, or an empty text or list."""
        label = self.row["label"]
        return label is None or (isinstance(label, str | tuple | list) and not label)


def record_tool(
    name: str, title: str, recognises: Callable[[Peek], bool], *, shows: bool = False
) -> Callable[[Reader], type[Tool]]:
    """Make a tool of a function that yields the answers of an export, and perhaps notes what it ``shows`` in tasks.

    The first line of its docstring says what is read.

    >>> @record_tool("quiz", "Quiz", lambda peek: peek.has("player", "answered"))
    ... def quiz(export):
    ...     '''Read answers by player (JSON).'''
    ...     for record in export.records():
    ...         for question, answer in record["answered"].items():
    ...             yield Answer(record["player"], question, answer)
    >>> quiz.summary, quiz().answers_in({"quiz.jsonl": '{"player": "ada", "answered": {"q1": "Oslo"}}'})
    ('answers by player (JSON)', [('ada', 'q1', 'Oslo')])
    """
    return lambda read: make_tool(RecordTool, name, title, recognises, read, shows=shows)


class RecordTool(Tool):
    """A tool whose reader yields the answers of an export."""

    reader: ClassVar[Any]
    shows: ClassVar[bool]

    def open(self, paths: Sequence[Path], files: Files) -> Source:
        """Open exports as one table."""
        export = Export(self, paths, files)
        export.read(self.reader)
        return export.finish(export.table())

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """List what was shown in each task, by the task's name."""
        originals: dict[str, Original] = {}
        if self.shows:
            Export(self, paths, files, originals=originals).read(self.reader)
        return originals


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
    finish: Callable[[Source], Source] = lambda table: table
    questions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    _gold: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _empty: dict[str, list[Answer]] = field(default_factory=dict)
    _places: dict[Path, tuple[str, str]] = field(default_factory=dict)

    def read(self, reader: Reader) -> None:
        """Take all answers of a reader; whatever fails there is an error that names the file and the record."""
        try:
            for answer in reader(self):
                if answer.is_empty:
                    self._empty.setdefault(answer.question, []).append(answer)  # until all answers are known
                    continue
                self.kinds.setdefault(answer.question, answer.kind)
                rows = self.questions.setdefault(answer.question, [])
                if answer.is_gold:
                    rows = self._gold.setdefault(answer.question, [])
                rows.append(answer.row)
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

    def worker(self, *named: Any) -> Any:
        """Return the first worker who is named, or the owner of the file if that was asked for."""
        if self.by_file:
            return self.owner
        for name in named:
            if name is not None:
                return name
        return None

    def place_of(self, path: Path) -> tuple[str, str]:
        """Return whose file this is, and which of their documents."""
        if not self._places:
            self._places = place_files(self.paths, by_name=self.by_file)
        return self._places[path]

    def refuse_one_file(self, holds: str, remedy: str = "", **more: Any) -> None:
        """Refuse a single file, unless its name is said to be the worker."""
        check_regular(self.paths[0])
        if len(self.paths) == 1 and not self.by_file:
            remedy = (
                remedy or "Give one file for each annotator; the file's name, or that of its folder, is the worker."
            )
            raise InputError(f"{self.where}, holds {holds}. {remedy}", **more)

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

    def table(self) -> Source:
        """Return the answers to the question that was asked for, or to the only one, as a table."""
        if not self.questions:
            raise InputError(f"{self.where}, holds no answers{f': {self._counted()}' if self.left_out else ''}.")
        question = self._choose()
        answers, gold = self.questions[question], self._gold.get(question, [])
        empty = self._empty.get(question, [])
        if self.kinds[question] in REGIONS:
            for answer in empty:
                row = {**{role: answer.row[role] for role in ROLES}, "label": []}
                (gold if answer.is_gold else answers).append(row)
        else:
            what = f"annotations without an answer to {question!r}" if question else "empty answers"
            self.leave_out(what, len(empty))
        rows = _finish_rows(answers, gold)
        if not rows:
            raise InputError(f"{self.where}, holds no answers beside those that are marked as gold.")
        workers, tasks = ({row[role] for row in rows} for role in ("worker", "task"))
        about = f"{self.where} ({len(rows):,} answers of {len(workers):,} workers to {len(tasks):,} tasks)"
        columns = spread(rows, about)
        return build_table(
            self.tool,
            columns,
            columns.__getitem__,
            about,
            ROLES,
            guessed={"question": question} if question and question != self.files.question else {},
            remarks=tuple(self._describe(question, columns)),
            samples=[name for name in ("sample", "order") if len(set(columns.get(name, ()))) > 1],
            truths={"label": "gold"} if "gold" in columns else {},
        )

    def _describe(self, question: str, columns: Mapping[str, list[Any]]) -> Iterator[str]:
        """Yield the messages about what was read."""
        yield from self.remarks
        if (most := max(filter(None, columns.get("sample", ())), default=1)) > 1:
            yield f"The column 'sample' numbers the samples of an item, of which there are up to {most:,}."
        if not self.files.golden and any(known is not None for known in columns.get("gold", ())):
            yield "Gold labels are in the column gold; they count only with gold='export'."
        if self.left_out:
            yield f"Left out: {self._counted()}."
        if len(self.questions) > 1:
            others = ", ".join(sorted(set(self.questions) - {question}))
            yield f"Read: the answers to {question!r}. The file also has answers to {others}."

    def _choose(self) -> str:
        """Return the name of the question to read, or ask which."""
        tag, names = self.files.question, sorted(self.questions, key=lambda name: (-len(self.questions[name]), name))
        if tag is None and len(names) == 1:
            return names[0]
        if tag is not None and (match := {name.casefold(): name for name in names}.get(tag.casefold())) is not None:
            return match
        if tag is not None and names == [""]:
            raise InputError(f"{self.where}, has one question, without a name: {tag!r} is unknown. Leave out the tag.")
        listed = [f"{name!r} ({self.kinds[name]}, {len(self.questions[name]):,} answers)" for name in names]
        more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
        has = ", ".join(listed[:_MAX_LISTED]) + more
        if tag is not None:
            raise InputError(f"{self.where}, has no question {tag!r}.{did_you_mean(tag, names)} It has: {has}.")
        best = sorted(names, key=lambda name: self.kinds[name] in REGIONS)
        raise InputError(
            f"{self.where}, has {len(names)} questions: {has}. Which is it?",
            proposals=[Proposal({"question": name}) for name in best],
        )

    def _counted(self) -> str:
        return ", ".join(f"{number:,} {what}" for what, number in sorted(self.left_out.items()))


def _finish_rows(rows: list[dict[str, Any]], gold: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make choices classes or sets, and ids of one type; put gold labels into a column of their own."""
    both = [*rows, *gold]
    chosen = [row["label"] for row in both if isinstance(row["label"], tuple)]
    single = all(len(set(label)) == 1 for label in chosen)
    as_text = single and len({type(label[0]) for label in chosen}) > 1
    ids = {"worker": rows, "task": both}  # of mixed types are a model's name among the numbers of people
    mixed = [role for role, those in ids.items() if len({type(row[role]) for row in those}) > 1]

    def finish(row: dict[str, Any]) -> dict[str, Any]:
        label = row["label"]
        if isinstance(label, tuple):
            label = frozenset(map(str, label)) if not single else str(label[0]) if as_text else label[0]
        return {**row, **{role: str(row[role]) for role in mixed}, "label": label}

    finished = list(map(finish, rows))
    if not gold:
        return finished
    known = match_truths((row["task"], row["label"]) for row in map(finish, gold))
    return [{**row, "gold": known.get(row["task"])} for row in finished]


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
