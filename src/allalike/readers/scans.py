"""Sources of answers with their read options, read at once or batch by batch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from allalike._core.options import choice, option
from allalike._core.registry import choose, find_close
from allalike._core.system.addresses import Address
from allalike._core.system.memory import check_memory
from allalike._core.system.progress import report
from allalike.answers import Answers
from allalike.answers.answers import SAMPLE_ROWS, Stream
from allalike.answers.cleaning import Cleaning, check_ids
from allalike.domains import DOMAINS, Domain
from allalike.domains.contract import choose_options, field_names, spell_domain
from allalike.domains.spelling import Spelling, match_key
from allalike.errors import ColumnError, InputError, OptionError
from allalike.readers.column_names import COLUMN, is_gold, is_path_into, list_names
from allalike.readers.formats import frames
from allalike.readers.formats.arrow import estimate_unpacked
from allalike.readers.formats.files import NA, Files, ReadOptions, check_read_options, list_labels, list_words
from allalike.readers.formats.remote_files import name_place
from allalike.readers.formats.source import Source, cells
from allalike.readers.gold import read_label_map
from allalike.readers.inference.columns import find_roles
from allalike.readers.inference.label_types import guess_domain
from allalike.readers.inference.samples import TableSample
from allalike.readers.proposals import LookUp, asking
from allalike.readers.reshaping.columns import (
    combine,
    fill_down,
    gather_objects,
    has_fields,
    join_columns,
    part_scales,
    part_table,
    spread_lists,
)
from allalike.readers.reshaping.comparisons import read_ballots, read_comparisons
from allalike.readers.reshaping.parts import SET, gather_parts
from allalike.readers.reshaping.wide import stack
from allalike.readers.sources import find_inputs, is_path, open_table
from allalike.readers.tools import PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allalike._core.columns.column import Column
    from allalike.answers.answers import Guess

# The steps that reshape a table, in order: before its columns are assigned to roles, and after.
COMPARISONS = (read_comparisons, read_ballots)
STEPS = (join_columns, spread_lists, gather_objects, *COMPARISONS)
LATER_STEPS = (fill_down, part_scales, gather_parts)

_OWN_NAMES = {role: role for role in ("worker", "task", "label")}
_FRAMES = {"pandas": "pandas", "polars": "polars", "pyarrow": "arrow", "datasets": "datasets", "pyspark": "pandas"}
_LOOKED_AT = 1000  # rows
_OF_ANY = ("decimal", "include", "exclude", "golden")  # options of files that also apply to other sources


@dataclass(frozen=True, kw_only=True)
class Scan(Files):
    """A source of answers with its read options; an engine reads it in place.

    ``choices`` replace the rule or the distance of the given or inferred domain, and ``frame`` is the kind of data
    frame of the source. The other parameters are those of `allalike.read`.

    >>> answers = Scan(source=[("ada", 7, "x"), ("bob", 7, "y"), ("eve", 7, "x")])
    >>> answers.read().n_answers, [len(batch["label"]) for batch in answers.stream().batches()]
    (3, [3])
    """

    source: Any
    columns: Mapping[str, str] = field(default_factory=dict)
    wide: str | None = choice(None, *frames.ROWS)
    duplicates: str | None = choice(None, "first", "last", "error", "add", SET)
    missing: str = choice("error", "drop")
    na_values: tuple[str, ...] | None = option(None, list_words)
    abstain_label: tuple[Any, ...] = option((), list_labels)
    label_map: Any = None
    domain: Domain | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    frame: str = "pandas"

    @property
    def size(self) -> int:
        """The total size of the local files in bytes, or 0 if there are none."""
        return sum(path.stat().st_size for path in self._near() if path.is_file())

    @property
    def unpacked(self) -> int:
        """The estimated size of the files in bytes once read, which exceeds their `size` for Parquet and Arrow."""
        parts = [part for path in self._near() for part in (path.rglob("*.parquet") if path.is_dir() else [path])]
        return sum(map(estimate_unpacked, filter(Path.is_file, parts)))

    def _near(self) -> list[Path]:
        listed = self.source if isinstance(self.source, list | tuple) else [self.source]
        held = [paths for name in listed if isinstance(name, Address) for paths in name.held.values()]
        found = find_inputs([name for name in listed if not isinstance(name, Address)])
        return [*chain.from_iterable(held), *(path for path in found if os.path.exists(path))]  # noqa: PTH110

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files and folders from which the answers are read."""
        return (*find_inputs(self.source), *find_inputs(self.label_map))

    @property
    def cleaning(self) -> Cleaning:
        """The cleaning of labels, and of rows without a label."""
        return Cleaning(
            missing=self.missing,
            abstain=tuple(map(match_key, self.abstain_label)),
            label_map=self._meanings,
            spelling=Spelling() if self.domain is None else self.domain.spelling,
        )

    @cached_property
    def _meanings(self) -> dict[Any, str]:
        return {} if self.label_map is None else read_label_map(self.label_map)

    def list_na(self, *, written: bool) -> tuple[str, ...] | None:
        """List the strings that mean a missing label: those of the options, or the defaults for text files."""
        words = self.na_values if self.na_values is not None else NA if written else None
        return None if words is None else tuple(word for word in words if match_key(word) not in self._meanings)

    @property
    def guess(self) -> Guess:
        """The function that infers the domain of labels, or its missing options."""
        return partial(guess_domain, opened=self.domain)

    @property
    def kept_duplicates(self) -> str | None:
        """The rule for repeated answers; parts of one answer are already joined."""
        return None if self.duplicates == SET else self.duplicates

    @property
    def known_domain(self) -> Domain | None:
        """The domain, if it is fully specified."""
        return None if self.domain is None or (self.domain.record and self.domain.record.is_open) else self.domain

    def kind(self, table: Source) -> Domain | None:
        """Return the given label type, or the one that the reader of a table knows."""
        known = self.domain is None and table.domain
        return choose(table.domain, DOMAINS, "domain", Domain) if known else self.known_domain

    def suited(self, table: Source) -> Scan:
        """Return the scan with the table's treatment of missing labels; exports have a row for each unanswered task."""
        return replace(self, missing=table.guessed.get("missing", self.missing))

    def has_fields(self, names: Sequence[str], where: str = "The table") -> bool:
        """Return whether a label consists of several columns of a table with these names."""
        return has_fields(names, field_names(self.domain), self.columns, where)

    def read(self) -> Answers:
        """Read all answers into memory."""
        report("reading")
        with asking(self):
            return self.finish(*self.opened())

    def finish(self, table: Source, picked: Mapping[str, str], guessed: dict[str, str]) -> Answers:
        """Read the columns of a table into memory."""
        size = table.n_bytes(list(picked.values()))
        check_memory(size, table.where, "Keep the answers on disk with engine='disk'.")
        columns, cleaning = self._split(table.columns(picked)), self.suited(table).cleaning
        rows = len(columns["label"])
        columns, _, dropped = cleaning.clean(columns)
        dropped.check(rows, cleaning.spelling.steps)
        for role in ("task", "worker"):  # one by one, so that only one of them is in memory unencoded
            check_ids(columns[role])
            _ = columns[role].factors
        notes = self._note(table, picked, guessed) | dropped.notes(rows)
        label, task, kind = columns["label"], columns["task"].factors[0], self.kind(table)
        if kind is None:
            first, where = (label.head(SAMPLE_ROWS), task[:SAMPLE_ROWS]), table.where
            kind = guess_domain(label, [(label, task)], len(label), lambda: first, where=where, opened=self.domain)
            notes["guessed"]["domain"] = spell_domain(kind)
        kind = choose_options(kind, self.choices)
        answers = Answers.of_columns(columns["worker"], columns["task"], label, kind, duplicates=self.kept_duplicates)
        answers.notes.update(notes)
        kept = [each.name for each in fields(self) if each.name not in ("source", "domain", "choices")]
        answers.read_options.update({name: getattr(self, name) for name in kept})
        return replace(answers, inputs=self.inputs, frame=self.frame)

    def stream(self) -> Stream:
        """Open the answers for reading batch by batch.

        CSV and Parquet files are read in batches of rows. All other sources are loaded into memory immediately.
        """
        with asking(self):
            table, picked, guessed = self.opened()
        notes = self._note(table, picked, guessed)

        def read_batches() -> Iterator[dict[str, Column]]:
            yield from map(self._split, table.batches(picked))
            if table.remarks:  # complete after the last batch
                notes["messages"] = list(table.remarks)

        return Stream(
            batches=read_batches,
            guess=partial(guess_domain, where=table.where, opened=self.domain),
            size=table.n_bytes(list(picked.values())),
            domain=self.kind(table),
            choices=self.choices,
            duplicates=self.kept_duplicates,
            cleaning=self.suited(table).cleaning,
            notes=notes,
        )

    def _note(self, table: Source, picked: Mapping[str, str], guessed: Mapping[str, str]) -> dict[str, Any]:
        """Return the notes: guessed columns and options, messages, and the column of gold labels."""
        found: dict[str, Any] = {"columns": dict(guessed)} if guessed else {}
        found |= {name: value for name, value in table.guessed.items() if name != "layout" or self.layout is None}
        known = table.domain if isinstance(table.domain, str) or table.domain.record else spell_domain(table.domain)
        if known and isinstance(known, str) and self.domain is None:
            found["domain"] = known
        notes = {"messages": list(table.remarks), **table.notes, "gold_column": _find_gold(table, picked)}
        return {"guessed": found, **{name: note for name, note in notes.items() if note or name == "silent"}}

    def _split(self, columns: dict[str, Column]) -> dict[str, Column]:
        """Return answers with label maps split into one answer per value."""
        pictures = None if self.domain is None else self.domain.pictures
        return columns if pictures is None or not pictures.splits else pictures.split(columns)

    def open(self) -> Source:
        """Open the source as a table, before its columns are assigned to roles.

        A file is read as a plain table if its tool's reader lacks the requested columns or layout.
        """
        names = list(self.columns.values())
        guesses, plain = self.tool is None, replace(self, tool=PLAIN)
        if guesses and any(map(is_path_into, names)):
            return open_table(self.source, plain)
        table = open_table(self.source, self)
        known = self.wide in (None, table.guessed.get("wide")) and all(name in table.names for name in names)
        if guesses and "tool" in table.guessed and not known:
            table = open_table(self.source, plain)
        self._check_tool(table)
        return self._reshape(table, STEPS) if self.wide is None else table

    def _check_tool(self, table: Source) -> None:
        """Refuse options for exports and matrices if the source is neither."""
        if self.layout is not None and "layout" not in table.guessed:
            raise OptionError(
                f"layout={self.layout!r} is for masks, but {table.where} is not a folder of masks. Omit it."
            )
        if "tool" in table.guessed or self.tool not in (None, PLAIN):
            return
        if self.question is not None and table.stream is not None:  # in a workbook it names a sheet
            raise OptionError(
                f"question={self.question!r} is for exports of tools, and {table.where} is a plain table. Omit it."
            )
        if self.wide is None and (self.include or self.exclude):
            listed = ", ".join(map(repr, (*self.include, *self.exclude)))
            raise InputError(f"include and exclude ({listed}) are for matrices, but wide is not given.", wide="tasks")

    def compared(self, table: Source) -> Source:
        """Return a table of comparisons or of ballots as a table of rankings, and other tables unchanged."""
        return self._reshape(table, COMPARISONS)

    def _reshape(self, table: Source, steps: Sequence[Callable[..., Source]]) -> Source:
        for step in steps:
            table = step(table, self.columns, self.domain)
        return table

    def opened(self, look_up: LookUp | None = None) -> tuple[Source, dict[str, str], dict[str, str]]:
        """Return a table, its columns of worker, task and label, and those of them that were guessed."""
        rows = self.source
        if (matrix := frames.find_matrix(rows)) is not None:
            if self.wide is not None or not frames.holds_rows(matrix):
                return frames.open_matrix(matrix, self.wide), _OWN_NAMES, {}
            rows = matrix.tolist()
        if frames.is_rows(rows):
            table = replace(frames.of_rows(rows), na=self.list_na(written=False))
            parts = self.duplicates == SET
            return (gather_parts(table, _OWN_NAMES, self.domain, SET) if parts else table), _OWN_NAMES, {}
        table = self.open() if look_up is None else look_up(self)
        table = replace(table, na=self.list_na(written=table.text or table.written))
        if self.wide is not None and table.guessed.get("wide") != self.wide:
            long, guessed = stack(table, self.wide, self.columns, self)
            return long, _OWN_NAMES, guessed
        columns = self.columns
        if self.domain is not None and self.has_fields(table.names, table.where):
            table, made = combine(table, field_names(self.domain))
            columns = {**columns, "label": made}
        found, picked, guessed = find_roles(table, columns, frozenset(table.na or ()))
        table = replace(found, na=table.na, domain=found.levels.get(picked["label"], found.domain))
        for step in LATER_STEPS:
            table = step(table, picked, self.domain, self.duplicates)
        return table, picked, guessed

    def pick(self, table: Source) -> tuple[dict[str, str], dict[str, str]]:
        """Return the columns of worker, task and label of a table, and those of them that were guessed."""
        return find_roles(table, self.columns, frozenset(self.list_na(written=table.text or table.written) or ()))[1:]

    def split(self, by: Sequence[str]) -> dict[tuple[str, ...], Scan]:
        """Return a scan for each combination of values of columns; the tasks of each scale remain separate."""
        table = self.open()
        picked, _ = self.pick(table)
        alike = replace(self.suited(table), columns={}, wide=None, **vars(Files()))
        return {values: replace(alike, source=part) for values, part in part_table(table, by, picked)}

    def beside(self, name: str, *, by: bool = False) -> Iterator[dict[str, Column]]:
        """Yield the tasks, and another column in place of the labels, in batches of rows."""
        if self.wide == "workers":
            raise ColumnError("With wide='workers' no column has gold labels. Pass them in a file.", gold=None)
        table, picked, _ = self.opened() if self.wide is None else (self.open(), {}, {})
        if name not in table.names:
            close = find_close(name, table.names)
            gold = {"gold": None if close is None else f"{COLUMN}{close}"}
            option = ({"by": close} if close else {}) if by else gold
            raise ColumnError(f"{table.where} has no column {name!r}. It has: {list_names(table.names)}.", **option)
        if self.wide is None:
            return table.batches({"task": picked["task"], "label": name})
        table, picked, _ = replace(self, include=(name,), exclude=()).opened()

        def keep(batch: dict[str, Column]) -> dict[str, Column]:
            rows = np.array([worker == name for worker in cells(batch["worker"])], np.bool_)
            return {role: column.keep(rows) for role, column in batch.items()}

        return map(keep, table.batches(picked))


def _find_gold(table: Source, picked: Mapping[str, str]) -> str:
    """Return the column of gold labels, detected by its name and content, or an empty text."""
    names = [name for name in table.names if is_gold(name) and name not in picked.values()]
    sample = TableSample(table.sample(_LOOKED_AT, [*picked.values(), *names]) if names else {})
    for name in names:
        gold, label = sample[name], sample[picked["label"]]
        numbers = {gold.kind, label.kind} <= {"whole", "number"}
        alike = numbers or len({*map(str, gold.values)} & {*map(str, label.values)}) > gold.n_present / 2
        if alike and sample.n_rows and sample.depends_on(name, picked["task"]):
            return name
    return ""


def find_frame(source: Any) -> str:
    """Return the kind of data frame of a source; pandas for other sources."""
    package = type(source).__module__.partition(".")[0]
    arrow = hasattr(source, "__arrow_c_stream__") or "duckdb" in package
    return _FRAMES.get(package, "arrow" if arrow else "pandas")


def read(source: Any, *, domain: str | Domain | None = None, **how: Unpack[ReadOptions]) -> Answers:
    """Read answers from files, a data frame, rows of (worker, task, label) or a matrix.

    Parameters
    ----------
    source
        One or more paths (CSV, JSON, Parquet, SQLite, DuckDB) or glob patterns, an address (``s3://...``,
        ``postgresql://...``), an open file, a table of pandas, polars, pyarrow, DuckDB, Hugging Face or any library
        that exports Arrow, a mapping of columns or ``{task: {worker: label}}``, rows of (worker, task, label), or a
        matrix.
    domain
        The label type: a name from `allalike.DOMAINS`, or a `Domain`. By default it is inferred.
    columns
        Columns of worker, task and label: ``{"worker": ..., "task": ..., "label": ...}``. In nested records they can be
        paths such as ``annotations[].user``. Columns that are not given are detected by name and content.
    wide
        ``tasks`` for one row per task and one column per worker, ``workers`` for one row per worker. By default a NumPy
        matrix of integers whose minimum is -1 is a label matrix: one row per task, and -1 is a missing answer.
    duplicates
        Treatment of repeated answers by a worker to a task: keep the ``first`` or the ``last``, or raise an ``error``.
        By default rankings are added up (``add``), and other label types keep the first. ``set`` joins the rows of a
        worker and a task into one answer; this is the default if a column contains the ids of classifications.
    missing
        Treatment of rows without a label: raise an ``error``, or ``drop`` them.
    na_values
        Texts that mean a missing label, besides blanks; by default NA, null and the like in text files and JSON.
    abstain_label
        One or more labels that mean that a worker gave no answer, such as -1.
    label_map
        Mapping of labels, or a file with the columns from and to.
    tool
        The tool that wrote the files (see `allalike list formats`); by default it is detected from their content.
    question
        Question to read from an export with several questions, such as a control of Label Studio.
    worker_from
        ``filename`` if each worker has a separate file.
    encoding
        Encoding of text; by default UTF-8, or as detected from the bytes of a file.
    decimal
        Decimal separator in a text file: a point or a comma.
    include, exclude
        Columns of a matrix to include or to exclude: names, or patterns such as ``Q*``.
    layout
        Layout of masks in a folder: ``tasks/workers`` for one folder per task, ``workers/tasks`` for one per worker.
    query, table
        Input from a database: the rows of a single ``SELECT``, or the name of a table.

    >>> answers = read({"annotator": ["ada", "bob"], "item": ["007", "007"], "vote": [1, 1]})
    >>> answers.notes["guessed"]["columns"]
    {'worker': 'annotator', 'task': 'item', 'label': 'vote'}
    """
    check_read_options(read, how)
    try:
        return scan(source, domain=domain, **how).read()
    except InputError as error:
        error.proposals = tuple(each for each in error.proposals if "gold" not in each.options)
        raise


def scan(source: Any, *, domain: str | Domain | None = None, **how: Unpack[ReadOptions]) -> Scan:
    """Return a source of answers with its read options, for an engine that reads it in place.

    The disk engine reads a stream, and Spark reads on its executors, so the answers need not fit in memory. The
    parameters are those of `read`. For Spark the source can also be a Spark data frame, a table name, or a remote path.

    >>> import allalike
    >>> source = scan([("ada", 7, 1.5), ("bob", 7, 2.5)], domain="real")
    >>> allalike.discover(source, engine="disk").truth["label"].tolist()
    [2.0]
    """
    check_read_options(scan, how)
    kind = None if domain is None else choose(domain, DOMAINS, "domain", Domain)
    held = frames.hold(source)
    listed = held if isinstance(held, list | tuple) else [held]
    for name in (each.name for each in fields(Files) if each.name not in _OF_ANY):
        if how.get(name) is not None and not all(map(is_path, listed)):
            raise OptionError(f"{name} is for files, but the source is of type {type(source).__name__}. Omit {name}.")
    given: dict[str, Any] = dict(how)
    columns = given.pop("columns", None) or {}
    if not isinstance(columns, Mapping):
        example = "columns={'worker': 'user', 'task': 'item', 'label': 'answer'}"
        raise ColumnError(f"columns is {columns!r}. Write it as a mapping of roles to columns: {example}.")
    columns = {role: name for role, name in columns.items() if name is not None}
    return Scan(source=name_place(held), domain=kind, frame=find_frame(source), columns=columns, **given)


def find_unusual(how: Mapping[str, Any]) -> dict[str, Any]:
    """Return the read options that differ from their defaults."""
    usual = vars(Scan(source=None))
    given = {name: value for name, value in how.items() if value is not None}
    return {name: value for name, value in given.items() if usual[name] is None or value != usual[name]}
