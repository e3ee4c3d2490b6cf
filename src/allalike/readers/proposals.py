"""Proposals: options that resolve an error about reading answers, each tried on a sample before it is shown.

An error lists possible options, best first. Each is tried here by reading the answers with it. If that raises another
error, the options of this error are tried as well. Options that fail, or would stop a run, are not proposed.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.registry import choose
from allalike._core.text_format import count
from allalike.answers.cleaning import find_misreadings
from allalike.domains import DOMAINS, Domain
from allalike.errors import AllalikeError, ColumnError, InputError, LabelError, Proposal
from allalike.readers.column_names import COLUMN, EXAMPLE
from allalike.readers.formats.files import READ_OPTIONS, Files
from allalike.readers.inference.columns import UNLIKELY, list_readings, rate_content
from allalike.readers.inference.samples import TableSample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allalike.answers import Answers
    from allalike.readers.formats.source import Source

LookUp = Callable[[Any], "Source"]  # opens answers, unless they are already open
_MAX_SHOWN, _MAX_TRIED, _MAX_FURTHER = 5, 24, 2  # proposals, trials, and errors that follow one another
_PLAIN_KINDS = ("categorical", "ordinal", "real")  # label types that fit most labels
_SAMPLE_ROWS = 100_000
_SMALL_BYTES = 1 << 23  # smaller files are read completely
_LARGE_BYTES = 1 << 28  # for larger files, only the first option that works is proposed
_AT_ONCE = 0.3  # score of an option without a question about columns, which names would otherwise contribute
_MAX_CLASSES = 0.9  # share of the number of answers
_FEW_ROWS = 12  # fewer rows do not show whether columns were misread
_CHOOSING = {"columns", "wide", "include", "exclude", "question", "worker_from"}  # may select other answers
_ALONE = {"worker", "apart"}  # signs that all answers are by one worker
_UNSEEN = {"apart", "worker", "task", "label"}  # signs that a sample of the rows may show by chance
_ONE_WORKER = "If these are the answers of one worker or language model, read them with the files of the others."
_MAX_FILES, _MAX_BYTES = 20, 1 << 26  # number and size of the other files in a folder


@contextmanager
def asking(source: Any) -> Iterator[None]:
    """Try the proposals of an error that reading answers raises, and keep those that work."""
    try:
        yield
    except InputError as error:
        asked, unread = bool(error.proposals), isinstance(error, ColumnError)
        if any(each.preview for each in error.proposals) or not hasattr(source, "opened"):  # they are already tried
            raise
        if all(set(each.options) <= {"domain", "gold", *READ_OPTIONS} for each in error.proposals):
            found = find_proposals(source, error.proposals)
            alone = unread and not found
            if (alone or isinstance(error, LabelError)) and (whole := _propose_files(source, unread=alone)):
                found = whole
                error.args = (f"{error.args[0]} {_ONE_WORKER}",)
            error.proposals = tuple(found)
        if unread and asked and not error.proposals:
            error.lines = (*error.lines, *EXAMPLE)
        raise


def find_proposals(source: Any, options: Sequence[Proposal], *, strict: bool = False) -> list[Proposal]:
    """Return the options that work, best first, each with a preview of the answers.

    If ``strict`` is True, options that would stop a run are excluded even for few rows.
    """
    trials = _Trials(source, strict=strict)
    for option in _add_plain_kinds(options):
        trials.follow(option)
    found: list[Proposal] = []
    for each in sorted(trials.found or trials.odd, key=lambda proposal: -(proposal.score or 0.0)):
        if each.options not in [other.options for other in found]:  # several errors may propose it
            found.append(each)
    return found[:_MAX_SHOWN]


def find_other_readings(source: Any) -> list[Proposal]:
    """Return options that read answers in other ways, if they were probably misread."""
    if not hasattr(source, "opened") or source.wide is not None:
        return []
    try:
        table = source.open()
        found = find_proposals(source, list_readings(table, frozenset(source.list_na(written=table.text) or ())))
        return found or _propose_files(source)
    except AllalikeError:
        return []


@dataclass
class _Trials:
    """Trials of options for reading answers; with ``alone``, only the answers of a single worker are accepted."""

    source: Any
    strict: bool = False
    alone: bool = False
    found: list[Proposal] = field(default_factory=list)
    odd: list[Proposal] = field(default_factory=list)  # options for few rows that would stop a run
    tried: int = 0
    tables: dict[Any, Source] = field(default_factory=dict)

    def follow(self, option: Proposal, depth: int = 0) -> None:
        """Try an option and, if it raises an error, the proposals of that error."""
        enough = 1 if self.source.size > _LARGE_BYTES else _MAX_SHOWN
        if self.tried >= _MAX_TRIED or len(self.found) >= enough:
            return
        self.tried += 1
        try:
            self._read(option)
        except InputError as error:
            known = len(self.found)
            for further in _add_plain_kinds(error.proposals, _PLAIN_KINDS[:1]) if depth < _MAX_FURTHER else ():
                either = "abstain_label" in error.options and further in error.proposals[:2]
                if "domain" in further.options and len(self.found) > known and not either:
                    return  # a separate question, which is asked after the first one
                scores = [each.score for each in (option, further) if each.score is not None]
                columns = {**option.options.get("columns", {}), **further.options.get("columns", {})}
                options = {**option.options, **further.options, **({"columns": columns} if columns else {})}
                self.follow(Proposal(options, score=sum(scores) if scores else None), depth + 1)
        except AllalikeError:
            return

    def _read(self, option: Proposal) -> None:
        """Read all answers or the first rows with an option, and keep it unless they are probably misread."""
        source = _settle(self.source, option.options)
        table, picked, guessed = source.opened(self._look_up)
        small = 0 < self.source.size <= _SMALL_BYTES
        if not small:
            table = table.loaded_by(partial(table.sample, _SAMPLE_ROWS))
        columns = {role: column.data for role, column in table.columns(picked).items()}
        sample = TableSample(columns, frozenset(table.na or ()))
        rate = rate_content(sample, {role: role for role in columns})[1] if sample.n_rows else 0.0
        answers = source.finish(table, picked, guessed)
        misread = find_misreadings(answers)
        if self.alone:
            if _ALONE <= misread <= {*_ALONE, "unlike", "label"}:
                self.found.append(replace(option, preview=str(answers.workers[0])))
            return
        rows, whole = sample.n_rows, small or sample.n_rows < _SAMPLE_ROWS
        labels, score = answers.encoding, option.score or 0.0
        unlike = "domain" in option.options and labels.nominal and labels.n_labels > _MAX_CLASSES * answers.n_answers
        doubtful = bool(misread - (set() if whole else _UNSEEN)) and (self.strict or _CHOOSING & option.options.keys())
        doubtful = doubtful or (rows >= _FEW_ROWS and unlike)
        if doubtful and (rows >= _FEW_ROWS or score < 0):
            return
        rated = option.score is not None and score > UNLIKELY and "columns" in option.options
        gives = _describe(answers, whole=whole) + (", with gold labels" if "gold" in option.options else "")
        tried = Proposal(option.options, gives, score if rated else score + rate + _AT_ONCE)
        (self.odd if doubtful else self.found).append(tried)

    def _look_up(self, source: Any) -> Source:
        """Return a table that was opened with the same options and has the named columns, or open it."""
        key = (*(getattr(source, each.name) for each in fields(Files)), source.wide, repr(source.domain))
        if key not in self.tables or not {*source.columns.values()} <= {*self.tables[key].names}:
            self.tables[key] = source.open()
        return self.tables[key]


def _add_plain_kinds(options: Sequence[Proposal], kinds: Sequence[str] = _PLAIN_KINDS) -> list[Proposal]:
    """Return options, followed by other plain label types if they name one."""
    named = [str(each.options["domain"]) for each in options if "domain" in each.options]
    plain = bool(named) and {*named} <= {*_PLAIN_KINDS, "text", "set", "ranking", "date"}
    return [*options, *(Proposal({"domain": name}) for name in kinds if plain and name not in named)]


def _settle(source: Any, options: Mapping[str, Any]) -> Any:
    """Return the scan of answers with further options."""
    own = {name: value for name, value in options.items() if name not in ("columns", "domain")}
    if "gold" in own:  # a column of a matrix that is not a worker
        own["exclude"] = (*own.get("exclude", source.exclude), own.pop("gold").removeprefix(COLUMN))
    if "abstain_label" in own and not isinstance(own["abstain_label"], list | tuple):
        own["abstain_label"] = (own["abstain_label"],)
    if "domain" in options:
        own["domain"] = choose(options["domain"], DOMAINS, "domain", Domain)
    columns = {**source.columns, **options.get("columns", {})}
    columns = {role: name for role, name in columns.items() if name is not None}
    return replace(source, columns=columns, **own)


def _describe(answers: Answers, *, whole: bool) -> str:
    """Describe the numbers of labels, workers and tasks, and the answers per task."""
    labels, each = answers.encoding, answers.n_answers / max(answers.n_tasks, 1)
    kind = count(labels.n_labels, "class") if labels.nominal else f"{answers.domain.name} labels"
    mean = f"{each:,.0f}" if each >= 10 else f"{each:.1f}".removesuffix(".0")
    what = [kind, count(len(answers.workers), "worker"), count(answers.n_tasks, "task")]
    rows = "" if whole else f"in the first {_SAMPLE_ROWS:,} rows "
    return f"{rows}{', '.join(what)}, {mean} answer{'' if mean == '1' else 's'} per task"


def _propose_files(source: Any, *, unread: bool = False) -> list[Proposal]:
    """Propose to read a file with the answers of one worker together with the files of other workers.

    The proposal names the files in the same folder if they can be read together, and a placeholder otherwise. A file
    that cannot be read alone (``unread``) may contain texts written by a language model.
    """
    path = _find_single(source.source)
    if path is None or source.wide is not None or "worker" in source.columns:
        return []
    ways = [Proposal(), *([] if source.worker_from else [Proposal({"worker_from": "filename"})])]
    alone = _Trials(source, alone=True)
    for way in ways if unread else ways[:1]:
        alone.follow(way)
    if not alone.found:
        return []
    first, other = alone.found[0], path.with_name(f"other{path.suffix}")
    folder, pattern = path.parent, f"*{path.suffix}"
    if first.preview == path.absolute().parent.name:  # one folder per worker; dates in the names of files may differ
        folder, pattern = path.absolute().parent.parent, f"*/{re.sub('[0-9]+', '*', glob.escape(path.name))}"
        other = Path(os.path.relpath(folder / "other" / path.name))
    beside = [
        each if path.is_absolute() else Path(os.path.relpath(each))
        for each in sorted(folder.glob(pattern))
        if not each.samefile(path)
    ]
    small = len(beside) <= _MAX_FILES and sum(each.stat().st_size for each in beside) <= _MAX_BYTES
    for way in ways if beside and small else ():
        files = (str(path), *map(str, beside))
        if found := find_proposals(replace(source, source=list(files)), [way], strict=True):
            return [replace(each, files=files) for each in found]
    if unread and "domain" not in first.options:  # the domain extracts answers from the texts of a language model
        return []
    gives = f"replace {other} by the files of the others"
    return [Proposal(first.options, gives, files=(str(path), str(other)))]


def _find_single(source: Any) -> Path | None:
    """Return the file with the answers, if it is a single local file."""
    listed = source if isinstance(source, list | tuple) else [source]
    if len(listed) == 1 and isinstance(listed[0], str | os.PathLike):
        with suppress(OSError, ValueError):
            return path if (path := Path(listed[0])).is_file() else None
    return None
