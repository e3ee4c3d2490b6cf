"""Proposals: what would settle a question about answers, each tried on a sample before it is shown.

Who asks names what may be meant, the best first. Each of it is read here as it would be; a further question is answered
by what it proposes itself. What cannot be read, or would stop a run, is not proposed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from allalike._core.registry import choose
from allalike._core.words import count
from allalike.answers.cleaning import find_misreadings
from allalike.domains import DOMAINS, Domain
from allalike.errors import AllalikeError, ColumnError, InputError, LabelError, Proposal
from allalike.readers.column_names import COLUMN, SYNONYM, rate_name
from allalike.readers.formats.files import Files
from allalike.readers.guessing.candidates import EXAMPLE, rate_content
from allalike.readers.guessing.contents import TableSample
from allalike.readers.guessing.roles import list_readings
from allalike.readers.read_options import READ_OPTIONS
from allalike.readers.tools.base import Peek

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allalike.answers import Answers
    from allalike.readers.formats.tables import Table


# Files beside a file that have the same form, such as those of other language models.


_MOST_FILES = 20
_MOST_BYTES = 1 << 26  # of all of them


def find_single(source: Any) -> Path | None:
    """Return the file that answers come from, if it is a single one on this machine.

    >>> find_single(__file__) == find_single([__file__]) == Path(__file__), find_single("-"), find_single([])
    (True, None, None)
    """
    listed = source if isinstance(source, list | tuple) else [source]
    if len(listed) != 1 or not isinstance(listed[0], str | os.PathLike):
        return None
    path = Path(listed[0])
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def find_siblings(path: Path, *, folders: bool = False) -> list[Path]:
    r"""Return other files with the same form: those in the same folder, or of the same name in folders beside it.

    In ``folders`` beside it numbers in names, such as dates, may differ.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("a.csv", "b.csv", "c.csv"):
    ...         _ = Path(folder, name).write_text("id,said\n" if name < "c" else "id,gold\n")
    ...     [each.name for each in find_siblings(Path(folder, "a.csv"))]
    ['b.csv']
    """
    form = _find_form(path)
    named = re.sub(r"\d+", "*", re.sub(r"[\[\]?*]", "?", path.name))
    beside = path.absolute().parent.parent.glob(f"*/{named}") if folders else path.parent.glob(f"*{path.suffix}")
    try:
        files = [each for each in sorted(beside)[: _MOST_FILES + 1] if each.is_file() and not each.samefile(path)]
        size = sum(each.stat().st_size for each in files)
    except OSError:
        return []
    alike = [each for each in files if form and _find_form(each) == form] if size <= _MOST_BYTES else []
    return [Path(os.path.relpath(each)) if folders and not path.is_absolute() else each for each in alike]


def _find_form(path: Path) -> tuple[str, ...]:
    """Return the names of columns or of the fields of a record."""
    peek = Peek(path)
    return tuple(peek.names) or tuple(sorted(peek.records[0] if peek.records else ()))


MOST_SHOWN = 5
_MOST_TRIED = 24
_MOST_FURTHER = 2  # questions that come of an answer
_PLAIN_KINDS = ("categorical", "ordinal", "real")  # of label, which most labels can be read as
_SAMPLE_ROWS = 100_000
_SMALL_BYTES = 1 << 23  # a file that is no larger is read as a whole
_LARGE_BYTES = 1 << 28  # of a file that is larger the first that can be read is proposed alone
_AT_ONCE = 0.3  # what is read without a question about columns has this much more, as if names had spoken for it
_MOST_CLASSES = 0.9  # of the number of answers
_FEW_ROWS = 12  # fewer rows do not tell what is hardly meant
_CHOOSING = frozenset(
    {"columns", "wide", "only", "skip", "tag", "worker_from"}
)  # options that may choose what nobody meant
_ALONE = frozenset({"worker", "apart"})  # what the answers of one worker have
_LEAST_TASKS = 3  # of a file that may be one worker's
_ONE_WORKER = "If these are the answers of one worker or language model, the files of the others belong with it."
_UNSEEN = frozenset({"apart", "worker", "task", "label"})  # what a part of the rows does not tell


class Readable(Protocol):
    """Answers that are named, with the way to read them, as `Scan` has them."""

    @property
    def size(self) -> int:
        """How many bytes the files have."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Which column is which, as far as that was said."""

    @property
    def files(self) -> Files:
        """How files are read."""

    @property
    def wide(self) -> str | None:
        """What the rows of a matrix are."""

    @property
    def domain(self) -> Domain | None:
        """The kind of label, if it is given."""

    def table(self) -> Table:
        """Open the files."""

    def opened(self, look_up: LookUp | None = None) -> tuple[Table, dict[str, str], dict[str, str]]:
        """Return a table, which of its columns are which, and what was guessed."""

    def finish(self, table: Table, picked: Mapping[str, str], guessed: dict[str, str]) -> Answers:
        """Read the columns of a table."""


LookUp = Callable[[Any], "Table"]  # opens answers, unless they are open already


@contextmanager
def asking(source: Any) -> Iterator[None]:
    """Try what an error proposes that comes of reading answers, so that it proposes what can be read."""
    try:
        yield
    except InputError as error:
        asked = bool(error.proposals)
        if not any(each.gives for each in error.proposals) and hasattr(source, "opened"):
            _try(source, error)
            if asked and isinstance(error, ColumnError) and not error.proposals:
                error.lines = (*error.lines, *EXAMPLE)
        raise


def _try(source: Readable, error: InputError) -> None:
    """Put what was tried in the place of what an error proposes, unless it is about something else than reading."""
    known = {"domain", "gold", *READ_OPTIONS}
    if not all(set(each.settles) <= known for each in error.proposals):
        return
    found = find_proposals(source, error.proposals)
    unread = isinstance(error, ColumnError) and not found
    if (unread or isinstance(error, LabelError)) and (whole := _propose_files(source, unread=unread)):
        found = whole
        error.args = (f"{error.args[0]} {_ONE_WORKER}",)
    error.proposals = tuple(found)


def find_proposals(source: Readable, options: Sequence[Proposal], *, strict: bool = False) -> list[Proposal]:
    """Return those options that can be read, the best first, with what each would give.

    A ``strict`` search finds nothing that would stop a run.

    >>> import allalike
    >>> rows = {"who": ["ada", "bob", "eve"] * 4, "what": [n // 3 for n in range(12)], "said": [*"xxyyyyxxxyxy"]}
    >>> roles = [("who", "what", "said"), ("who", "said", "what")]
    >>> may_be = [Proposal({"columns": dict(zip(("worker", "task", "label"), names))}) for names in roles]
    >>> for each in find_proposals(allalike.scan(rows), may_be):
    ...     print(each, each.gives)
    columns={'worker': 'who', 'task': 'what', 'label': 'said'} 2 classes, 3 workers, 4 tasks, 3 answers a task
    """
    trials = _Trials(source, strict=strict)
    for option in _with_other_kinds(options):
        trials.follow(option)
    found: dict[str, Proposal] = {}
    for each in sorted(trials.found or trials.odd, key=lambda proposal: -(proposal.score or 0.0)):
        found.setdefault(repr(_in_order(each.settles)), each)  # several ways may lead to it
    return list(found.values())[:MOST_SHOWN]


def find_other_readings(source: Any) -> list[Proposal]:
    """Return in which other ways answers can be read, where those that were read are hardly meant.

    >>> import allalike
    >>> said = {"task": [n // 3 for n in range(12)], "label": [*"xxyyyyxxxyxy"]}
    >>> rows = {"worker": range(12), "who": [*"abc"] * 4, **said}
    >>> print(find_other_readings(allalike.scan(rows))[0])
    columns={'worker': 'who', 'task': 'task', 'label': 'label'}
    """
    if not hasattr(source, "opened") or source.wide is not None:
        return []
    try:
        table = source.table()
        found = find_proposals(source, list_readings(table, frozenset(source.list_na(written=table.text) or ())))
        return found or _propose_files(source)
    except AllalikeError:
        return []


def _propose_files(source: Any, *, unread: bool = False) -> list[Proposal]:
    """Propose to read the files of other workers with a file that has the answers of one.

    Those beside it that can be read together are named. Where there are none, a name stands for them, with the options
    that read the file itself; if it is ``unread``, only for the texts of a language model.
    """
    path = find_single(source.source)
    if path is None or source.wide is not None or "worker" in source.columns:
        return []
    ways = [Proposal(), *([] if source.files.worker_from else [Proposal({"worker_from": "filename"})])]
    alone = _Trials(source, alone=True)
    for way in ways if unread else ways[:1]:
        alone.follow(way)
    if not alone.found and not (unread and _may_be_alone(source)):
        return []
    first = alone.found[0] if alone.found else Proposal()
    folder = path.absolute().parent
    in_folder = first.gives == folder.name  # which names the worker
    files = (str(path), *map(str, find_siblings(path, folders=in_folder)))
    whole = replace(source, source=list(files))
    found = next(filter(None, (find_proposals(whole, [way], strict=True) for way in ways)), []) if files[1:] else []
    if found:
        return [replace(each, files=files) for each in found]
    if unread and "domain" not in first.settles:  # which extracts answers from the texts of a language model
        return []
    ending = "".join(path.suffixes[-2:] if path.suffix == ".gz" else [path.suffix])
    other = path.with_name(f"other{ending}" if path.name != f"other{ending}" else f"another{ending}")
    if in_folder:
        beside = folder.parent / "other" / path.name
        other = beside if path.is_absolute() else Path(os.path.relpath(beside))
    gives = f"with the files of the others in place of {other}"
    return [Proposal(first.settles, gives, files=(str(path), str(other)))]


def _may_be_alone(source: Readable) -> bool:
    """Return whether each row of a table may be another task of one worker.

    A column has as many values as there are rows, and none that is called as workers are has several.
    """
    try:
        table = source.table()
        sample = TableSample(table.sample(_SAMPLE_ROWS))
    except AllalikeError:
        return False
    named = all(name in table.names for name in source.columns.values())
    contents = sample.contents.values()
    several = any(rate_name(each.name, "worker") >= SYNONYM and each.n_values > 1 for each in contents)
    return named and not several and any(each.n_values == sample.n_rows >= _LEAST_TASKS for each in contents)


@dataclass
class _Trials:
    """What was tried of answers, and what of it can be read; ``alone`` looks for the answers of one worker."""

    source: Readable
    strict: bool = False
    alone: bool = False
    found: list[Proposal] = field(default_factory=list)
    odd: list[Proposal] = field(default_factory=list)  # of few rows, with which a run stops
    tried: int = 0
    tables: dict[Any, Table] = field(default_factory=dict)

    def follow(self, option: Proposal, depth: int = 0) -> None:
        """Try options, and where they lead to a question what that proposes."""
        if self.tried >= _MOST_TRIED or self._has_better(option):
            return
        self.tried += 1
        try:
            answers, rate, rows, whole = self._read(_settle(self.source, option.settles))
        except InputError as error:
            known = len(self.found)
            for further in _with_other_kinds(error.proposals, _PLAIN_KINDS[:1]) if depth < _MOST_FURTHER else ():
                kept = "abstain" in error.settles and further in error.proposals[:2]
                if "domain" in further.settles and len(self.found) > known and not kept:
                    break  # it is a question of its own, once the first is settled
                scores = [each.score for each in (option, further) if each.score is not None]
                score = sum(scores) if scores else None
                self.follow(Proposal(_merge(option.settles, further.settles), score=score), depth + 1)
            return
        except AllalikeError:
            return
        seen = find_misreadings(answers)
        if self.alone:
            if _ALONE <= seen <= {*_ALONE, "unlike", "label"}:
                self.found.append(replace(option, gives=str(answers.workers[0])))
            return
        odd = seen - (frozenset() if whole else _UNSEEN)
        hardly_meant = (odd and (self.strict or _CHOOSING & option.settles.keys())) or (
            "domain" in option.settles and rows >= _FEW_ROWS and _hardly_recur(answers)
        )
        if hardly_meant and (rows >= _FEW_ROWS or (option.score or 0.0) < 0):
            return
        rated = (option.score or -1.0) >= 0 and "columns" in option.settles
        score = (option.score or 0.0) + (0.0 if rated else rate + _AT_ONCE)
        gold = ", with gold labels" if "gold" in option.settles else ""
        tried = Proposal(option.settles, _describe(answers, whole=whole) + gold, score)
        (self.odd if hardly_meant else self.found).append(tried)

    def _has_better(self, option: Proposal) -> bool:
        """Tell whether enough was found for which more speaks, so that this need not be tried."""
        known = sorted(each.score or 0.0 for each in self.found)[-MOST_SHOWN:]
        enough = 1 if self.source.size > _LARGE_BYTES else MOST_SHOWN
        return len(known) >= enough and ("columns" not in option.settles or known[0] >= (option.score or 0.0))

    def _read(self, source: Readable) -> tuple[Answers, float, int, bool]:
        """Read answers, or those in the first rows; return also how good they are, how many rows, and if it is all."""
        table, picked, guessed = source.opened(self._look_up)
        few = table if 0 < self.source.size <= _SMALL_BYTES else _cut(table)
        columns = few.columns(picked)
        sample = TableSample({role: column.data for role, column in columns.items()}, frozenset(table.na or ()))
        whole = few is table or sample.n_rows < _SAMPLE_ROWS
        return source.finish(few, picked, guessed), rate_content(sample), sample.n_rows, whole

    def _look_up(self, source: Readable) -> Table:
        """Return a table that was opened in the same way, if it has the columns that are named, or open it."""
        key = source.files, source.wide, repr(source.domain)
        if key not in self.tables or not {*source.columns.values()} <= {*self.tables[key].names}:
            self.tables[key] = source.table()
        return self.tables[key]


def _cut(table: Table) -> Table:
    """Return a table of the first rows."""
    return replace(table, load=lambda asked: table.sample(_SAMPLE_ROWS, asked), load_batches=None, parts=())


def _with_other_kinds(options: Sequence[Proposal], kinds: Sequence[str] = _PLAIN_KINDS) -> list[Proposal]:
    """Return options, and where they name a plain kind of label others behind it.

    >>> [str(each) for each in _with_other_kinds([Proposal({"domain": "set"})])]
    ["domain='set'", "domain='categorical'", "domain='ordinal'", "domain='real'"]
    """
    named = [str(each.settles["domain"]) for each in options if "domain" in each.settles]
    plain = bool(named) and all(name in (*_PLAIN_KINDS, "text", "set", "ranking", "date") for name in named)
    return [*options, *(Proposal({"domain": name}) for name in kinds if plain and name not in named)]


def _settle(source: Any, settles: Mapping[str, Any]) -> Any:
    """Return answers that are named with further options."""
    own = {name: value for name, value in settles.items() if name not in ("columns", "domain")}
    of_files = {each.name: own.pop(each.name) for each in fields(Files) if each.name in own}
    if "gold" in own:  # a column of a matrix, which is not a worker then
        of_files["skip"] = (*of_files.get("skip", source.files.skip), own.pop("gold").removeprefix(COLUMN))
    if "abstain" in own and not isinstance(own["abstain"], list | tuple):
        own["abstain"] = (own["abstain"],)
    if "domain" in settles:
        own["domain"] = choose(settles["domain"], DOMAINS, "domain", Domain)
    columns = {**source.columns, **settles.get("columns", {})}
    columns = {role: name for role, name in columns.items() if name is not None}
    return replace(source, columns=columns, files=replace(source.files, **of_files), **own)


def _merge(settles: Mapping[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with further ones.

    >>> _merge({"tag": "Sheet1", "columns": {"task": "q"}}, {"columns": {"label": "said"}})
    {'tag': 'Sheet1', 'columns': {'task': 'q', 'label': 'said'}}
    """
    columns = {**settles.get("columns", {}), **further.get("columns", {})}
    return {**settles, **further, **({"columns": columns} if columns else {})}


def _hardly_recur(answers: Answers) -> bool:
    """Tell whether there are nearly as many classes as answers, so that labels are no classes."""
    return answers.encoding.nominal and answers.encoding.n_labels > _MOST_CLASSES * answers.n_answers


def _in_order(settles: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return options in an order that does not depend on which was found first.

    >>> _in_order({"wide": "tasks", "columns": {"task": "q", "label": "said"}})
    [('columns', [('label', 'said'), ('task', 'q')]), ('wide', 'tasks')]
    """
    return sorted((name, _in_order(value) if isinstance(value, dict) else value) for name, value in settles.items())


def _describe(answers: Answers, *, whole: bool) -> str:
    """Say how many labels, workers and tasks there are."""
    labels = answers.encoding
    kind = count(labels.n_labels, "class") if labels.nominal else f"{answers.domain.name} labels"
    each = answers.n_answers / max(answers.n_tasks, 1)
    told = [
        kind,
        count(len(answers.workers), "worker"),
        count(answers.n_tasks, "task"),
        f"{_shown(each)} answer{'' if _shown(each) == '1' else 's'} a task",
    ]
    return ("" if whole else f"in the first {_SAMPLE_ROWS:,} rows ") + ", ".join(told)


def _shown(number: float) -> str:
    """Write a mean, with a digit behind the point where that tells something.

    >>> _shown(28.31), _shown(2.25), _shown(3.0)
    ('28', '2.2', '3')
    """
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}".removesuffix(".0")
