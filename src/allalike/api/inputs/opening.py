"""Opening: answers and known truths, named in whatever way, and what is remembered of it to add more answers later."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from allalike._core.system.addresses import hide_in_word
from allalike._core.system.progress import report
from allalike.answers import Answers
from allalike.domains.contract import field_names
from allalike.engines.adding import add_answers, fit_answers
from allalike.errors import GoldError, OptionError, UnsupportedError
from allalike.readers import (
    COLUMN,
    EXPORT,
    NA,
    ReadOptions,
    Scan,
    find_unusual,
    gather_gold,
    is_within,
    open_gold,
    scan,
)
from allalike.readers.proposals import asking
from allalike.readers.sources import find_inputs, is_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from allalike._core.columns.hashes import Hashes
    from allalike.answers.gold import Gold
    from allalike.answers.history import History
    from allalike.domains import Domain
    from allalike.engines import Run
    from allalike.methods import Method

__all__ = ["Basis", "Origin", "inputs_of", "name_inputs", "open_source"]


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
        from allalike.api.inputs.gold_columns import name_what_holds_tasks

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
    from allalike.api.inputs.gold_columns import name_columns

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

    Parameters
    ----------
    run
        The answers as they were given, where they are.
    method, settings
        How truths are found: seed, ties, engine, and how sure they must be.
    origin
        How the answers were read, known truths, and what is known of workers.
    parts
        The files in which the answers were saved, and the answers that came since; nothing, if the run has to be asked.
    generations
        When a result was saved, what there was, and how many truths turned since the time before.
    renew, added
        What finds a result from a basis, more answers, and more gold; the hashes of the tasks that came last.

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
