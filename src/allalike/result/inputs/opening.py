"""Opening: answers and known truths, named in whatever way, and what is remembered of it to add more answers later."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.matches import find_places
from allalike._core.system.addresses import hide_in_word
from allalike._core.system.progress import report
from allalike._core.words import count
from allalike.answers import Answers
from allalike.domains import DOMAINS, Domain
from allalike.domains.contract import field_names
from allalike.engines.adding import add_answers, fit_answers
from allalike.errors import AllalikeError, GoldError, OptionError, UnsupportedError
from allalike.readers import (
    COLUMN,
    EXPORT,
    NA,
    READ_OPTIONS,
    ReadOptions,
    Scan,
    find_unusual,
    gather_gold,
    is_within,
    open_gold,
    scan,
)
from allalike.readers.column_names import rate_name
from allalike.readers.formats.files import Files
from allalike.readers.gold import is_truth, open_gold_table, read_label_map
from allalike.readers.proposals import asking
from allalike.readers.sources import find_inputs, is_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from allalike._core.columns.hashes import Hashes
    from allalike.answers.gold import Gold, History
    from allalike.engines import Run
    from allalike.methods import Method
    from allalike.readers.formats.tables import Table


def open_source(
    answers: Any,
    gold: Any,
    gold_columns: Mapping[str, str] | None = None,
    gold_map: Any = None,
    *,
    domain: str | Domain | None = None,
    **how: Unpack[ReadOptions],
) -> tuple[Answers | Scan, Gold | None]:
    """Return answers as they are, or named, and the known truths; those that were read or named say how themselves."""
    if not isinstance(answers, Answers | Scan):
        answers = scan(answers, domain=domain, **how)
    elif given := find_unusual({"domain": domain, **how}):
        name = next(iter(given))
        raise OptionError(
            f"The answers have been read or named already. Give {name} to allalike.read or allalike.scan instead."
        )
    if is_within(gold):
        return _open_beside(answers, gold, gold_map)
    for name, said in (("gold_columns", gold_columns), ("gold_map", gold_map)):
        if gold is None and said:
            raise OptionError(f"{name} is {said!r}, but no gold is given.")
    try:
        known = None if gold is None else open_gold(gold, columns=gold_columns, gold_map=gold_map, **_how(answers))
        return answers, known if known is None else _split(known, answers)
    except GoldError as raised:
        error = name_what_holds_tasks(raised, answers, gold)
        if not set(answers.inputs) & set(find_inputs(gold)):
            raise error from raised
        said = f"{error.args[0]} The gold is the file of the answers: truths in a column of it are {COLUMN}NAME."
        raise GoldError(said, **error.settles) from raised


def _open_beside(answers: Answers | Scan, gold: str, gold_map: Any) -> tuple[Scan, Gold]:
    """Return answers, and the truths in a column of their table, which is no worker of a matrix then.

    Truths that a tool marks are no answers then, and stand in a column, too.
    """
    name = gold.removeprefix(COLUMN)
    if not isinstance(answers, Scan):
        raise GoldError(
            f"The answers have been read already, and the column {name!r} was not. Give what they were read from, or"
            " the truths."
        )
    if gold == EXPORT:
        answers = replace(answers, files=replace(answers.files, golden=True))
        name = _find_truths(answers)
    known = _split(gather_gold(answers.beside(name), gold_map=gold_map, **_spelling(answers)), answers)
    files = replace(answers.files, skip=(*answers.files.skip, name))
    return (answers if answers.wide is None else replace(answers, files=files)), known


def _find_truths(answers: Scan) -> str:
    """Name the column of the truths that the tool marks which wrote the answers."""
    with asking(answers):
        table, picked, _ = answers.opened()
    if picked["label"] not in table.truths:
        raise GoldError(
            f"{table.where} marks no truths: it is not from a tool that marks some, or none is marked in it. Give them"
            " in a file."
        )
    return table.truths[picked["label"]]


def _split(gold: Gold, answers: Answers | Scan) -> Gold:
    return gold if answers.domain is None else gold.split(answers.domain)


def _how(answers: Answers | Scan) -> dict[str, Any]:
    """Return also the fields that labels have, where these may be columns, and what the columns of the answers are."""
    files = answers.read_options.get("files") if isinstance(answers, Answers) else answers.files
    like = partial(name_columns, answers)
    return {**_spelling(answers), "fields": field_names(answers.domain), "like": like, "files": files}


def _spelling(answers: Answers | Scan) -> dict[str, Any]:
    """Return the words for no label, and what spellings mean."""
    how = answers.read_options if isinstance(answers, Answers) else vars(answers)
    return {"na": how.get("na") or NA, "label_map": how.get("label_map")}


def inputs_of(*sources: Any) -> tuple[Path, ...]:
    """Name the files and folders behind answers and gold.

    >>> [path.name for path in inputs_of(Scan(source="answers.csv"), "gold.csv")]
    ['answers.csv', 'gold.csv']
    """
    given = [source for source in sources if not is_within(source)]
    found = (s.inputs if isinstance(s, Answers | Scan) else find_inputs(s) for s in given)
    return tuple(path for inputs in found for path in inputs)


def name_inputs(*sources: Any) -> tuple[str, ...]:
    """Name the files behind answers and gold, and the addresses, without any password.

    >>> name_inputs(Scan(source=["/data/a.csv", "https://ada:secret@host/b.csv"]), "column:truth")
    ('/data/a.csv', 'https://***@host/b.csv')
    """
    given = [
        part for each in sources for part in ((each.source, each.label_map) if isinstance(each, Scan) else (each,))
    ]
    listed = [each if isinstance(each, list | tuple) and all(map(is_path, each)) else [each] for each in given]
    return tuple(text for names in listed for name in names for text in _name(name))


def _name(source: Any) -> list[str]:
    is_far = is_path(source) and "://" in os.fspath(source)
    return [hide_in_word(os.fspath(source))] if is_far else list(map(str, inputs_of(source)))


@dataclass(frozen=True)
class Origin:
    """How the answers of a run were read, from which files, the known truths, what is known of workers, and a gold map.

    >>> from allalike import Memory, read
    >>> first = read([("ada", 1, "yes"), ("bob", 1, "yes")])
    >>> run, origin, more = Origin.of(first, None).add(Memory().load(first), [("eve", 1, "no")], {1: "yes"})
    >>> run.answer_counts, run.n_gold, origin.gold is not None, more.n_answers
    (array([1, 1, 1]), 1, True, 1)
    """

    scan: Scan
    gold: Gold | None
    inputs: tuple[Path, ...] = ()
    history: History | None = None
    gold_map: Any = None

    @classmethod
    def of(cls, source: Answers | Scan, gold: Gold | None) -> Origin:
        """Take over how answers were read, or are to be."""
        if isinstance(source, Scan):
            return cls(replace(source, source=None), gold)
        return cls(Scan(source=None, **source.read_options), gold or source.gold)

    def add(self, run: Run, more: Any, gold: Any) -> tuple[Run, Origin, Answers]:
        """Return a run over more answers, what is to be remembered of it, and these."""
        if run.sample_tasks is None:
            raise UnsupportedError(
                "Answers can be added in memory and on disk only: blocks on executors of Spark stay as they were made."
            )
        if run.n_gold and self.gold is None:
            raise UnsupportedError(
                "It is not known where the known truths of these answers came from. Give them with gold= instead."
            )
        known, fresh = self.gold, self._open_gold(run, more, gold)
        if fresh is not None:
            fresh.encode(run.encoding)  # so that errors name the rows of this gold
            known = fresh if known is None else known.joined(fresh)
        answers = fit_answers(run, self._read(run, more))
        report("adding answers")
        whole = add_answers(run, answers, repeats=self.scan.kept_repeats, gold=known)
        return whole, replace(self, gold=known, inputs=(*self.inputs, *inputs_of(more, gold))), answers

    def _open_gold(self, run: Run, more: Any, gold: Any) -> Gold | None:
        """Return further truths; where a tool's own are gold, so are those that it marks among more answers."""
        if gold is not None and not is_within(gold):
            return open_gold(gold, label_map=self.scan.label_map, gold_map=self.gold_map).split(run.domain)
        if gold is None and not self.scan.files.golden:
            return None
        named = more if isinstance(more, Answers | Scan) else replace(self.scan, source=more, domain=run.domain)
        with suppress(*([GoldError] if gold is None else [])):  # for not all files mark some
            return _open_beside(named, gold or EXPORT, self.gold_map)[1]
        return None

    def _read(self, run: Run, more: Any) -> Answers:
        if isinstance(more, Answers):
            return more
        scan = more if isinstance(more, Scan) else replace(self.scan, source=more)
        return replace(scan, domain=run.domain, choices={}).read()


@dataclass(frozen=True)
class Basis:
    """What a result was found from.

    >>> import allalike
    >>> basis = allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]).basis
    >>> whole = basis.add([("eve", 1, "y")], None)
    >>> basis.run.n_tasks, int(whole.run.answer_counts.sum())
    (1, 3)
    """

    run: Run
    method: Method
    origin: Origin
    settings: Mapping[str, Any]
    parts: tuple[Path | Answers, ...] = ()
    generations: tuple[Mapping[str, Any], ...] = ()
    renew: Callable[..., Any] | None = field(default=None, compare=False)
    added: Hashes | None = field(default=None, compare=False)

    def dated(self, when: str, turned: int | None = None) -> Basis:
        """Return it with one more generation, unless the last one has all of these answers.

        >>> import allalike
        >>> basis = allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]).basis
        >>> basis.dated("2026-03-01T00:00:00Z").dated("2026-04-01T00:00:00Z").generations
        ({'when': '2026-03-01T00:00:00Z', 'answers': 2, 'workers': 2, 'tasks': 1, 'turned': None},)
        """
        run = self.run
        now = {"answers": int(run.answer_counts.sum()), "workers": len(run.workers), "tasks": run.n_tasks}
        if self.generations and now.items() <= self.generations[-1].items():
            return self
        return replace(self, generations=(*self.generations, {"when": when, **now, "turned": turned}))

    def add(self, more: Any, gold: Any) -> Basis:
        """Add answers."""
        run, origin, answers = self.origin.add(self.run, more, gold)
        parts = (*self.parts, answers) if self.parts else ()
        return replace(self, run=run, origin=origin, parts=parts, added=answers.tasks.hashes())


# Columns of gold: which are task and label, by the names that the answers have, and by what the columns hold.


_MAX_BYTES = 1 << 28  # of answers that are read to explain an error
_MIN_TASKS = 0.5  # of what a column of tasks holds


def name_columns(answers: Answers | Scan) -> Mapping[str, str]:
    """Name the columns that the answers were read from, as far as they are known or can be seen.

    >>> import allalike
    >>> name_columns(allalike.scan({"user": ["ada"], "photo": [1], "vote": ["x"]}, columns={"task": "photo"}))
    {'worker': 'user', 'task': 'photo', 'label': 'vote'}
    """
    if isinstance(answers, Answers):
        return {**answers.notes.get("guessed", {}).get("columns", {}), **answers.read_options.get("columns", {})}
    with suppress(AllalikeError):  # which whoever reads the answers will say
        return answers.pick(answers.table())[0] if answers.wide is None else {}
    return answers.columns


def name_what_holds_tasks(error: GoldError, answers: Answers | Scan, gold: Any) -> GoldError:
    """Return an error about the columns of gold with those that hold tasks of the answers, if there are such.

    >>> import allalike
    >>> answers = allalike.read([("ada", "t1", "x"), ("bob", "t1", "x"), ("ada", "t2", "y")])
    >>> print(name_what_holds_tasks(GoldError("No."), answers, {"task": ["x", "y"], "label": ["t1", "t2"]}))
    No. Its column 'label' holds 2 tasks of the answers. Say it with gold_columns={'task': 'label', 'label': 'task'}.
    """
    with suppress(AllalikeError, TypeError):
        if (held := _read(answers)) and (found := _find_columns(open_gold_table(gold), held)):
            named, known = found["task"], len(open_gold(gold, columns=found).task)
            said = f"{error.args[0]} Its column {named!r} holds {count(known, 'task')} of the answers."
            if _share(Column.of_objects("task", [named]), held.tasks):
                return GoldError(f"{said} So is its name: the header is missing. Write one, such as task,label.")
            return GoldError(said, lines=error.lines, gold_columns=found)
    return error


def find_better_columns(answers: Answers | Scan, gold: Any, known: Gold) -> dict[str, str]:
    """Return the columns of gold of which more labels are among those of the answers than in the one that was read.

    >>> import allalike
    >>> answers = allalike.read([("ada", "t1", "x"), ("bob", "t1", "x"), ("ada", "t2", "y")])
    >>> gold = {"task": ["t1", "t2"], "answer": ["x", "y"], "expert": ["eve", "eve"]}
    >>> find_better_columns(answers, gold, open_gold(gold))
    {'task': 'task', 'label': 'answer'}
    """
    with suppress(AllalikeError, TypeError):
        table = open_gold_table(gold)
        if (held := _read(answers)) and (found := _find_columns(table, held)):
            read = Column.of_objects("label", list(known.label.parsed(lambda value: value)[1]))
            first, second = (_share(each, _list_labels(held)) for each in (table.columns(found)["label"], read))
            return found if first > second else {}
    return {}


def _read(answers: Answers | Scan) -> Answers | None:
    if isinstance(answers, Answers):
        return answers
    return answers.read() if answers.size < _MAX_BYTES else None


def _find_columns(table: Table, answers: Answers) -> dict[str, str]:
    """Find a column of tasks, and beside it one of labels, by its name and by the labels of the answers in it."""
    columns = {name: table.columns({"task": name})["task"] for name in table.names}
    if len(columns) < 2:
        return {}
    tasks = {name: _share(column, answers.tasks) for name, column in columns.items()}
    task = max(tasks, key=tasks.__getitem__)
    labels = _list_labels(answers)
    named = {name: is_truth(name) + max(rate_name(name, "label"), 0.0) for name in columns}
    fits = {name: _share(column, labels) + named[name] for name, column in columns.items() if name != task}
    label = max(fits, key=fits.__getitem__)
    if tasks[task] < _MIN_TASKS or (len(fits) > 1 and not fits[label]):
        return {}
    return {"task": task, "label": label}


def _list_labels(answers: Answers) -> Any:
    return answers.encoding.decode(np.arange(answers.encoding.n_labels)) if answers.encoding.nominal else ()


def _share(column: Column, values: Any) -> float:
    """Return which share of what a column holds is among some values."""
    held = column.keep(~column.missing()).factors[1]
    return float((find_places(held, values) >= 0).mean()) if len(held) and len(values) else 0.0


# Recipes: how answers are read, and of what kind they are, as a saved result keeps it to read more of them.
#
# Only what is not usual is written. What Python alone can hold, such as a distance of one's own, is a `TypeError`.


_OF_DATABASES = ("query", "table")  # which say what to read, and not how; a stranger's query is not run
_KEPT = (*(name for name in READ_OPTIONS if name not in _OF_DATABASES), "golden")


def write_scan(how: Scan) -> dict[str, Any]:
    """Return how answers are read, as far as that is not the usual way, and what is in files written out.

    >>> from allalike import scan
    >>> write_scan(scan([], columns={"task": "photo"}, label_map={"y": "yes"}))
    {'columns': {'task': 'photo'}, 'label_map': [['y', 'yes']]}
    """
    held = {**vars(how), **vars(how.files)}
    plain = {name: held[name] for name in _KEPT if name != "label_map"}
    meant = [] if how.label_map is None else [list(pair) for pair in read_label_map(how.label_map).items()]
    read = {name: _listed(value) for name, value in find_unusual(plain).items()}
    return {**read, **({"label_map": meant} if meant else {})}


def read_scan(written: Mapping[str, Any]) -> Scan:
    """Return how answers were read, as it was written; a label map is a mapping then, which names no file.

    >>> read_scan({"repeats": "last", "tool": "toloka"}).files.tool
    'toloka'
    """
    if strange := written.keys() - set(_KEPT):
        raise ValueError(f"{sorted(strange)} are not options that a saved result has")
    how: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in written.items()}
    if "label_map" in how:
        how["label_map"] = dict(how["label_map"])
    files = Files(**{each.name: how.pop(each.name) for each in fields(Files) if each.name in how})
    return Scan(source=None, files=files, **{**how, "columns": dict(how.get("columns", {}))})


def _unusual(options: Any, usual: Any) -> dict[str, Any]:
    names = [field.name for field in fields(options) if field.init]
    return {name: getattr(options, name) for name in names if getattr(options, name) != getattr(usual, name)}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else dict(value) if hasattr(value, "items") else value


def write_domain(domain: Domain) -> dict[str, Any]:
    """Return a domain as a recipe has it: its name, and the options that are not the usual ones.

    >>> from allalike import Real
    >>> write_domain(Real(bias=True))
    {'name': 'real', 'bias': True}
    """
    own = DOMAINS.get(domain.name)
    if own is not type(domain):
        raise TypeError(f"{domain.name} is a domain of the user's own")
    parts = [[name, kind and write_domain(kind)] for name, kind in (domain.record.fields if domain.record else ())]
    return {"name": domain.name, **_unusual(domain, own()), **({"fields": parts} if parts else {})}


def read_domain(written: Mapping[str, Any]) -> Domain:
    """Return the domain that was written.

    >>> read_domain({"name": "real", "bias": True}).bias
    True
    """
    if not all(isinstance(written.get(name, ""), str) for name in ("rule", "distance")):
        raise TypeError("a rule and a distance are names")
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in written.items() if name != "name"
    }
    if "fields" in options:
        options["fields"] = [(name, kind and read_domain(kind)) for name, kind in options["fields"]]
    return DOMAINS[written["name"]](**options)
