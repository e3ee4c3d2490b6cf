"""Saved results: the cleaned answers, and the call that computes the result again.

The folder ``details/state`` contains the cleaned answers, the gold labels and the worker history as Parquet files, and
``call.json`` with the label type, the method, the settings and the reading options. A folder may come from an
untrusted source. Therefore its files must be regular files in the folder itself. ``call.json`` is validated before use,
and nothing in it is executed, or opened as a path or an address.
"""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass, fields
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import Values
from allalike._core.system.files import UNFINISHED, is_link
from allalike._core.system.json_text import parse_json
from allalike.answers import Answers
from allalike.answers.answers import Stream
from allalike.answers.cleaning import Cleaning
from allalike.answers.gold import Gold, History
from allalike.answers.storage import (
    UnwritableError,
    answer_columns,
    column_values,
    label_values,
    name_files,
    read_columns,
    refuse_value,
    write_columns,
)
from allalike.domains import DOMAINS, Domain
from allalike.domains.spelling import Spelling
from allalike.engines.base import list_answers
from allalike.errors import AllalikeError, InputError, UnsupportedError
from allalike.methods import METHODS
from allalike.readers import READ_OPTIONS, Scan, find_unusual
from allalike.readers.gold import is_written, read_label_map
from allalike.result.summary import MethodName, Section, Summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allalike.engines import Engine, Run
    from allalike.methods import Method

STATE = "details/state"
SUMMARY = "summary.json"
FORMAT = 4
_INDEX = "call.json"
_ROLES = ("worker", "task", "label")
_PACKED = 10  # approximate ratio of the size as text to the size as Parquet
_NO_COUNTS = {"answers": 0, "workers": 0, "tasks": 0}
_NEVER_KEPT = ("query", "table")  # an untrusted query is not run


class _ReadOptions(Section, kw_only=True, forbid_unknown_fields=True):
    """Reading options."""

    columns: dict[str, str] = {}
    wide: str | None = None
    duplicates: str | None = None
    missing: str | None = None
    na_values: tuple[str, ...] | None = None
    abstain_label: tuple[str | int | float | bool | None, ...] = ()
    label_map: tuple[tuple[str | int | float, str | int | float], ...] = ()
    tool: str | None = None
    question: str | None = None
    worker_from: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    layout: str | None = None
    golden: bool = False


class _Recognised(Section):
    """Inferred options of the first answers, and counts of gold labels."""

    guessed: dict[str, str | dict[str, str]] = {}
    gold: dict[str, int] = {}


class _Settings(Section, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of the estimation."""

    seed: int
    ties: str
    min_confidence: float | None = None


class SavedAs(Section):
    """Options of `Result.save`: the format of the tables, and further files."""

    format: str = "csv"
    to: tuple[str, ...] = ()
    report: bool = False
    probabilities: bool = False
    safe_csv: bool = False


class _KeptCall(Section, kw_only=True):
    """Call that made a result, as saved in ``call.json``."""

    format: int
    answers: tuple[int, int, int]
    domain: dict[str, Any]
    method: MethodName
    settings: _Settings
    read: _ReadOptions
    gold: tuple[int, bool, bool] | None
    gold_map: str | tuple[tuple[str | int | float, str | int | float], ...] | None
    per_task: bool
    notes: dict[str, Any]
    warnings: tuple[str, ...]
    changes: dict[str, Any] | None
    saved: SavedAs | None


@dataclass(frozen=True)
class Call:
    """Call that made a result; `update` and `load` repeat it with the same or more answers.

    Settings are seed, ties and min_confidence as in the summary.
    """

    run: Run
    engine: Engine
    method: Method
    settings: Mapping[str, Any]
    read: Scan
    gold: Gold | None = None
    gold_map: Any = None
    history: History | None = None


# Checks of the files of a saved result, before any of them is opened.


def check_own_file(path: Path) -> None:
    """Raise an error for a link, pipe, device or folder in place of a file of a saved result."""
    folder = path.parents[2] if path.parent.name == Path(STATE).name else path.parent
    if is_link(path):
        raise InputError(
            f"{path} is a link, but a saved result must consist of regular files. Make a copy without links and load"
            f" that: {shlex.join(['cp', '-rL', str(folder), 'copy'])}"
        )
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a regular file, but a saved result needs one. {_propose_save(folder)}")


def read_summary(folder: Path) -> dict[str, Any]:
    """Read the summary of a saved result; raise `OSError` if it is missing, `ValueError` or `TypeError` if invalid."""
    check_own_file(folder / SUMMARY)
    summary = parse_json((folder / SUMMARY).read_text(encoding="utf-8"))
    if not isinstance(summary, dict):
        raise TypeError("it is not a JSON object")
    return summary


def check_complete(folder: Path) -> None:
    """Raise an error for an incomplete result: the process was interrupted while saving, or files are missing.

    The summary is saved last. The names that it lists are looked up in this folder only.
    """
    if os.path.lexists(folder / UNFINISHED):
        raise InputError(
            f"The result in {folder} is incomplete: a process was interrupted while saving it. {_propose_save(folder)}"
        )
    if os.path.lexists(folder / SUMMARY):
        try:
            files = read_summary(folder).get("files", [])
        except (OSError, ValueError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{folder / SUMMARY} is not a valid summary. {_propose_save(folder)}") from None
        there = {f"{STATE}/{path.name}" for path in (folder / STATE).glob("*")}
        kept = [name for name in files if isinstance(name, str)] if isinstance(files, list) else []
        missing = next((name for name in kept if name.startswith(f"{STATE}/") and name not in there), None)
    else:
        missing = SUMMARY if os.path.lexists(folder / STATE) else None
    if missing:
        raise InputError(f"The result in {folder} is incomplete: {missing} is missing. {_propose_save(folder)}")


def _propose_save(folder: Path) -> str:
    command = shlex.join(["allalike", "discover", "answers.csv", "-o", str(folder)])
    return f"Save it again from its answers, for example with: {command}"


def find_digest(folder: Path) -> str:
    """Return a hash of the saved call, which changes with the result; empty if there is none."""
    path = folder / STATE / _INDEX
    check_own_file(path)
    return sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


# Writing.


def write_call(folder: Path, call: Call, summary: Mapping[str, Any], saved: SavedAs | None) -> None:
    """Write answers and call into a folder, with the options of `Result.save`."""
    run, method, gold_map = call.run, call.method, call.gold_map
    if METHODS.get(method.name) is not type(method):
        raise UnwritableError(f"{method.name} is a user-defined method")
    options = {each.name: getattr(method, each.name) for each in fields(method)}
    if any(hasattr(value, "items") for value in options.values()):
        raise UnwritableError(f"an option of {method.name} is a mapping")
    if gold_map is not None and not is_written(gold_map):
        gold_map = list(read_label_map(gold_map).items())
    kept = {
        "format": FORMAT,
        "answers": [int(run.answer_counts.sum()), len(run.workers), run.n_tasks],
        "domain": write_domain(run.domain),
        "method": {"name": method.name, "options": options},
        "settings": {name: call.settings[name] for name in ("seed", "ties", "min_confidence") if name in call.settings},
        "read": _write_scan(call.read),
        "gold": None if call.gold is None else [call.gold.blank, call.gold.stated, call.gold.label.text],
        "gold_map": gold_map,
        "per_task": run.worker_task is not None,
        "notes": dict(run.notes),
        "warnings": summary["warnings"],
        "changes": summary.get("changes"),
        "saved": None if saved is None else msgspec.to_builtins(saved),
    }
    digest = _digest(kept)
    folder.mkdir(parents=True)
    write_columns(folder, "answers", _list_rows(run))
    if call.gold is not None:
        task, label = column_values(call.gold.task), column_values(call.gold.label)
        if run.domain.pictures is not None:
            _, truths = call.gold.encode(run.encoding)
            task, label = truths.tasks, label_values(run.encoding, truths.label)
        write_columns(folder, "gold", [{"task": task, "label": label}])
    past = call.history
    if past is not None and past.workers:
        workers = Values(list(past.workers))
        write_columns(folder, "history", [{"worker": workers, "answers": past.answers, "fault": past.fault}])
    (folder / _INDEX).write_text(json.dumps({"sum": digest, "call": kept}, indent=1) + "\n", encoding="utf-8")


def _digest(kept: Mapping[str, Any]) -> str:
    return sha256(json.dumps(kept, default=refuse_value).encode()).hexdigest()


def _list_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Yield answers; labels of removed duplicates come last, as duplicates, to keep them in the vocabulary."""
    unseen = np.ones(run.encoding.n_labels, np.bool_)
    for answers in list_answers(run):
        yield answer_columns(answers)
        if unseen.size:
            unseen[answers.label] = False
    if codes := np.flatnonzero(unseen).tolist():
        first = np.zeros(len(codes), np.int64)
        worker, task = answers.workers.take(answers.worker[first]), answers.tasks.take(first)
        yield {"worker": worker, "task": task, "label": label_values(run.encoding, np.array(codes))}


def _write_scan(how: Scan) -> dict[str, Any]:
    """Return the reading options that differ from the defaults, and label maps as pairs."""
    names = [name for name in (*READ_OPTIONS, "golden") if name not in _NEVER_KEPT]
    read = find_unusual({name: vars(how)[name] for name in names})
    if "columns" in read:
        read["columns"] = dict(read["columns"])
    if "label_map" in read:
        read["label_map"] = list(read_label_map(how.label_map).items())
    return read


def write_domain(domain: Domain) -> dict[str, Any]:
    """Return a label type as JSON: its name, and the options that differ from the defaults."""
    own = DOMAINS.get(domain.name)
    if own is not type(domain) or domain.name == "custom":
        raise UnwritableError(f"label type {domain.name} has a user-defined distance or rule")
    usual, names = own(), [field.name for field in fields(domain) if field.init]
    options = {name: getattr(domain, name) for name in names if getattr(domain, name) != getattr(usual, name)}
    parts = [[name, kind and write_domain(kind)] for name, kind in (domain.record.fields if domain.record else ())]
    return {"name": domain.name, **options, **({"fields": parts} if parts else {})}


# Reading.


@dataclass(frozen=True, kw_only=True)
class StoredAnswers(Scan):
    """Answers in the files of a saved result, with a known label type."""

    stored: tuple[Path, ...] = ()

    @property
    def size(self) -> int:
        """Approximate size as text, in bytes."""
        return sum(path.stat().st_size for path in self.stored) * _PACKED

    def stream(self) -> Stream:
        """Return the answers as a stream of batches."""
        return Stream(
            batches=partial(read_columns, self.stored, _ROLES),
            guess=self.guess,
            size=self.size,
            domain=self.domain,
            duplicates=self.kept_duplicates,
            cleaning=Cleaning(spelling=Spelling(strip=False)),
        )

    def read(self) -> Answers:
        """Read all answers into memory."""
        assert self.domain is not None
        worker, task, label = _read_whole(self.stored, _ROLES)
        return Answers.of_columns(worker, task, label, self.domain, duplicates=self.kept_duplicates)


def _read_whole(paths: Sequence[Path], names: Sequence[str]) -> list[Column]:
    """Return whole columns; their parts are released one column after the other."""
    parts = list(read_columns(paths, names))
    return [Column(name, Values.join([column_values(part.pop(name)) for part in parts]).data) for name in names]


@dataclass(frozen=True)
class SavedCall:
    """Saved result: the validated call, the answers, the gold labels and the worker history."""

    folder: Path
    kept: _KeptCall
    method: Method
    read: Scan
    answers: StoredAnswers
    gold: Gold | None
    history: History | None
    digest: str

    def call(self, run: Run, engine: Engine) -> Call:
        """Return the call with the answers on an engine."""
        settings, written = {"engine": engine.name, **msgspec.to_builtins(self.kept.settings)}, self.kept.gold_map
        gold_map = dict(written) if isinstance(written, tuple) else written
        return Call(run, engine, self.method, settings, self.read, self.gold, gold_map, self.history)


def read_call(folder: Path) -> SavedCall:
    """Read the call that made a saved result; raise an error if the result cannot be loaded.

    >>> from pathlib import Path
    >>> read_call(Path("nowhere"))
    Traceback (most recent call last):
    allalike.errors.InputError: There is no result in nowhere. Name a folder that 'allalike discover' wrote.
    """
    place = folder / STATE
    check_complete(folder)
    for path in filter(is_link, (place.parent, place)):
        check_own_file(path)
    for path in sorted(place.glob("*")):
        check_own_file(path)
    if not (place / _INDEX).exists():
        raise _refuse(folder)
    try:
        index = parse_json((place / _INDEX).read_text(encoding="utf-8"))
        facts = index["call"]
        if facts["format"] == FORMAT and index["sum"] == _digest(facts):
            return _open(place, facts, find_digest(folder))
    except AllalikeError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise InputError(f"{place / _INDEX} is damaged or was edited. {_propose_save(folder)}") from error
    raise InputError(f"{place / _INDEX} was edited or saved by another allalike version. {_propose_save(folder)}")


def _refuse(folder: Path) -> AllalikeError:
    try:
        summary = read_summary(folder)
        why = summary.get("state", {}).get("not_kept", "by an older allalike")
    except (OSError, AttributeError):
        return InputError(f"There is no result in {folder}. Name a folder that 'allalike discover' wrote.")
    return UnsupportedError(
        f"The result in {folder} was saved without its answers ({why}), so it cannot be loaded. Run"
        f" 'allalike {'jury' if 'panel' in summary else 'discover'}' again."
    )


def _open(place: Path, facts: Mapping[str, Any], digest: str) -> SavedCall:
    try:
        kept = _KeptCall.from_dict(facts)
        domain = {name: kept.domain.get(name, "") for name in ("name", "rule", "distance")}
        Summary.from_dict({**_NO_COUNTS, **kept.notes, "domain": domain, "changes": kept.changes})
        guessed = _Recognised.from_dict(kept.notes).guessed
    except msgspec.ValidationError as error:
        raise InputError(
            f"{place / _INDEX} is invalid: {error}. It was not used. {_propose_save(place.parents[1])}"
        ) from None
    if kept.gold_map == () or (isinstance(kept.gold_map, str) and not is_written(kept.gold_map)):
        raise ValueError("a gold map that names a file")
    how = {**msgspec.structs.asdict(kept.read), "label_map": dict(kept.read.label_map) or None}
    if not set(guessed) - {"columns", "domain", "engine"}:
        how["columns"] = {**kept.notes.get("guessed", {}).get("columns", {}), **kept.read.columns}
    read = Scan(source=None, **find_unusual(how))
    duplicates = "first" if read.kept_duplicates in ("last", "error") else read.kept_duplicates
    answers = StoredAnswers(
        source=None, stored=_find(place, "answers"), domain=_read_domain(kept.domain), duplicates=duplicates
    )
    gold = history = None
    if kept.gold is not None:
        task, label = _read_whole(_find(place, "gold"), ("task", "label"))
        blank, stated, label.text = kept.gold
        gold = Gold(task, label, blank, stated)
    if name_files(place, "history"):
        worker, number, fault = _read_whole(_find(place, "history"), ("worker", "answers", "fault"))
        history = History.of(column_values(worker).tolist(), number.numbers, fault.numbers)
    method = METHODS[kept.method.name](**_as_tuples(kept.method.options))
    return SavedCall(place.parents[1], kept, method, read, answers, gold, history, digest)


def _find(place: Path, name: str) -> tuple[Path, ...]:
    if files := name_files(place, name):
        return tuple(files)
    raise InputError(f"{place} has no file {name}-1.parquet. {_propose_save(place.parents[1])}")


def _as_tuples(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}


def _read_domain(written: Mapping[str, Any]) -> Domain:
    """Return a label type from its JSON."""
    options = _as_tuples(written)
    name = options.pop("name")
    if "fields" in options:
        options["fields"] = [(field, kind and _read_domain(kind)) for field, kind in options["fields"]]
    return DOMAINS[name](**options)
