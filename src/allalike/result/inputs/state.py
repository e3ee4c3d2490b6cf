"""State: what a saved result keeps so that it can be loaded and go on, on another machine and engine, too.

The folder ``state`` beside the tables has the answers, as they were read and cleaned: a file for the first ones, and a
further one each time that answers were added, so that nothing is written twice. Beside them are known truths, what was
known of workers, the truths that were found, and ``state.json``: the format's version, the kind of label, the method,
how answers are read, and when they came. Nothing in it is executed, or used as a path or an address. It is checked
against a typed definition (`state_form`) before any of it is used, and all files are regular ones.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import Values
from allalike._core.system.files import is_link
from allalike._core.system.json_text import parse_json
from allalike.answers import Answers
from allalike.answers.cleaning import Cleaning
from allalike.answers.gold import Gold, History
from allalike.answers.storage import (
    answer_columns,
    column_values,
    label_values,
    name_files,
    read_columns,
    write_columns,
)
from allalike.answers.stream import Stream
from allalike.domains.spelling import Spelling
from allalike.engines.adding import list_answers
from allalike.errors import AllalikeError, InputError, UnsupportedError
from allalike.methods import METHODS, Method
from allalike.readers import Scan
from allalike.readers.gold import is_written, read_label_map
from allalike.result.inputs.opening import read_domain, read_scan, write_domain, write_scan
from allalike.result.inputs.saved_files import (
    STATE,
    check_complete,
    check_own_file,
    propose_save,
    read_summary,
    refuse_incomplete,
)
from allalike.result.inputs.state_form import find_wrong_setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allalike.domains import Domain, Encoding
    from allalike.engines import Piece, Run
    from allalike.result.inputs.opening import Basis

FORMAT = 2
_INDEX = "state.json"
_ROLES = ("worker", "task", "label")
_PACKED = 10  # answers take so many times as many bytes as text, about
_SETTINGS = ("seed", "ties", "min_confidence")


def find_date() -> str:
    """Return the time, as ISO 8601 has it, in UTC; that of SOURCE_DATE_EPOCH, if it is set.

    >>> len(find_date())
    20
    """
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdigit() else datetime.now(UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def write_state(
    folder: Path, basis: Basis, found: Iterable[Piece], copies: Sequence[Sequence[Any]], said: Mapping[str, Any]
) -> None:
    """Write what a result keeps into a folder, with what its summary said; what cannot be written is a `TypeError`."""
    folder.mkdir()
    run, origin = basis.run, basis.origin
    told = {**_describe(basis), **said, "copies": [list(map(str, group)) for group in copies]}
    for number, part in enumerate(basis.parts or (run,), 1):
        if isinstance(part, Path):
            _link(part, folder / f"answers-{number}.parquet")
        else:
            write_columns(folder, "answers", _list_rows(part))
    if origin.gold is not None:
        write_columns(folder, "gold", [_gold_columns(origin.gold, run.encoding)])
        told["gold"] = [origin.gold.blank, origin.gold.stated, origin.gold.label.text]
    past = origin.history
    if past is not None and past.workers:
        columns: dict[str, Any] = {"worker": Values(list(past.workers)), "answers": past.answers, "fault": past.fault}
        write_columns(folder, "history", [columns])
    label = partial(label_values, run.encoding)
    write_columns(folder, "truth", ({"task": each.tasks, "label": label(each.found["label"])} for each in found))
    n_files = len(name_files(folder, "answers"))
    index = {"format": FORMAT, "parts": n_files, "sum": _digest(json.dumps(told)), "told": told}
    (folder / _INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _describe(basis: Basis) -> dict[str, Any]:
    """Return what can be written as JSON."""
    origin, run = basis.origin, basis.run
    gold_map = origin.gold_map
    if gold_map is not None and not is_written(gold_map):
        gold_map = [list(pair) for pair in read_label_map(gold_map).items()]
    method = basis.method
    if METHODS.get(method.name) is not type(method):
        raise TypeError(f"{method.name} is a method of the user's own")
    options = {each.name: getattr(method, each.name) for each in fields(method)}
    if any(hasattr(value, "items") for value in options.values()):
        raise TypeError(f"{method.name} has an option that is a mapping")
    return {
        "domain": write_domain(run.domain),
        "method": {"name": method.name, "options": options},
        "settings": {name: basis.settings[name] for name in _SETTINGS if name in basis.settings},
        "read": write_scan(origin.scan),
        "gold_map": gold_map,
        "per_task": len(run.problems.sizes) > 1,
        "notes": dict(run.notes),
        "generations": basis.generations,
    }


def _list_rows(part: Run | Answers) -> Iterator[dict[str, Any]]:
    """Yield answers; at the end labels that were in none but those that were set aside, as such, so that they stay."""
    if isinstance(part, Answers):
        yield answer_columns(part)
        return
    unseen = np.ones(part.encoding.n_labels, np.bool_)
    for answers in list_answers(part):
        yield answer_columns(answers)
        if unseen.size:
            unseen[answers.label] = False
    if codes := np.flatnonzero(unseen).tolist():
        first = np.zeros(len(codes), np.int64)
        worker, task = answers.workers.take(answers.worker[first]), answers.tasks.take(first)
        yield {"worker": worker, "task": task, "label": label_values(part.encoding, np.array(codes))}


def _gold_columns(gold: Gold, encoding: Encoding) -> dict[str, Values]:
    if encoding.domain.pictures is None:
        return {"task": column_values(gold.task), "label": column_values(gold.label)}
    _, truths = gold.encode(encoding)
    return {"task": truths.tasks, "label": label_values(encoding, truths.label)}


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # where there are no links
        shutil.copyfile(path, target)


@dataclass(frozen=True, kw_only=True)
class StoredAnswers(Scan):
    """Answers in the files of a saved result, one after the other, of a kind of label that is known."""

    stored: tuple[Path, ...] = ()

    @property
    def size(self) -> int:
        """About how many bytes they would have as text."""
        return sum(path.stat().st_size for path in self.stored) * _PACKED

    def stream(self) -> Stream:
        """Read them batch after batch."""
        return Stream(
            batches=self._batches,
            guess=self.guess,
            size=self.size,
            domain=self.domain,
            repeats=self.kept_repeats,
            cleaning=Cleaning(spelling=Spelling(strip=False)),
        )

    def read(self) -> Answers:
        """Read all of them into memory."""
        assert self.domain is not None
        worker, task, label = _join(self._batches(), _ROLES)
        return Answers.of_columns(worker, task, label, self.domain, repeats=self.kept_repeats)

    def _batches(self) -> Iterator[dict[str, Column]]:
        return read_columns(self.stored, _ROLES)


def _join(batches: Iterable[dict[str, Column]], names: Sequence[str]) -> list[Column]:
    """Return whole columns; their parts are let go one column after the other."""
    parts = list(batches)
    return [Column(name, Values.join([column_values(part.pop(name)) for part in parts]).data) for name in names]


@dataclass(frozen=True)
class SavedState:
    """What a saved result kept, read with suspicion."""

    folder: Path
    told: Mapping[str, Any]
    domain: Domain
    method: Method
    scan: Scan
    files: tuple[Path, ...]
    digest: str

    @property
    def answers(self) -> StoredAnswers:
        """All answers. Within a file nothing comes twice; of what comes in two, the first that is read stays."""
        repeats = self.scan.kept_repeats
        files = self.files[::-1] if repeats == "last" else self.files
        kept = "first" if repeats in ("last", "error") else repeats
        return StoredAnswers(source=None, stored=files, domain=self.domain, repeats=kept)

    @cached_property
    def gold(self) -> Gold | None:
        """The truths that were known."""
        if "gold" not in self.told:
            return None
        task, label = self._columns("gold", "task", "label")
        blank, stated, label.text = self.told["gold"]
        return Gold(task, label, blank, stated)

    @property
    def gold_map(self) -> Any:
        """What labels of the gold mean: a mapping, or a text such as ``+1``; never the name of a file."""
        given = self.told["gold_map"]
        return dict(given) if isinstance(given, list) else given

    @cached_property
    def history(self) -> History | None:
        """What was known of workers."""
        if not name_files(self.folder, "history"):
            return None
        workers, answers, fault = self._columns("history", "worker", "answers", "fault")
        return History.of(column_values(workers).tolist(), answers.numbers, fault.numbers)

    def truths(self) -> Iterator[tuple[Values, Column]]:
        """Yield tasks, and the truths that were found, some at a time."""
        for batch in read_columns(self._find("truth"), ("task", "label"), complete=False):
            known = ~batch["label"].missing()
            yield column_values(batch["task"].keep(known)), batch["label"].keep(known)

    def _columns(self, name: str, *names: str) -> list[Column]:
        return _join(read_columns(self._find(name), names), names)

    def _find(self, name: str) -> list[Path]:
        if not (files := name_files(self.folder, name)):
            raise refuse_incomplete(self.folder.parent, f"{STATE}/{name}-1.parquet")
        return files


def find_digest(folder: Path) -> str:
    """Return what tells whether a saved result is still the same; nothing where there is none."""
    path = folder / STATE / _INDEX
    check_own_file(path)
    return sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def read_state(folder: Path) -> SavedState:
    """Read what a saved result kept, or say why it cannot be loaded.

    >>> read_state(Path("nowhere"))
    Traceback (most recent call last):
    allalike.errors.InputError: There is no result in nowhere. Name a folder that 'allalike discover' wrote.
    """
    place = folder / STATE
    check_complete(folder)
    _check_files(place)
    if not (place / _INDEX).exists():
        raise _refuse(folder)
    try:
        index = parse_json((place / _INDEX).read_text(encoding="utf-8"))
        if index["format"] != FORMAT:
            raise UnsupportedError(
                f"The result in {folder} was saved in format {index['format']!r}, by another allalike; this one reads"
                f" format {FORMAT}. Load it with that one, or run 'allalike discover' again."
            )
        return _open(place, index, find_digest(folder))
    except AllalikeError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise InputError(
            f"{place / _INDEX} is damaged, or is not what was saved there. Save the result again from its answers, for"
            f" example with: {propose_save(folder)}"
        ) from error


def _check_files(place: Path) -> None:
    """Refuse links, pipes, devices and folders among the files from which a result is loaded."""
    if is_link(place):
        check_own_file(place)
    for path in sorted(place.glob("*")):
        check_own_file(path)


def _open(place: Path, index: Mapping[str, Any], digest: str) -> SavedState:
    files, told = name_files(place, "answers"), index["told"]
    if index["sum"] != _digest(json.dumps(told)) or len(files) != index["parts"]:
        raise ValueError("something else was saved")
    if (wrong := find_wrong_setting(told)) is not None:
        raise InputError(
            f"{place / _INDEX} is not what allalike saves: {wrong} is missing, or not of its type. Nothing that"
            " it names is opened. Save the result again from its answers, for example with:"
            f" {propose_save(place.parent)}"
        )
    scan, domain = _as_recognised(read_scan(told["read"]), told["notes"]), read_domain(told["domain"])
    given = told["method"]["options"].items()
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in given}
    return SavedState(place, told, domain, METHODS[told["method"]["name"]](**options), scan, tuple(files), digest)


def _refuse(folder: Path) -> AllalikeError:
    """Say why a result cannot be loaded."""
    try:
        told = read_summary(folder)
        why = told.get("state", {}).get("not_kept", "by an older allalike")
    except (OSError, AttributeError):
        return InputError(f"There is no result in {folder}. Name a folder that 'allalike discover' wrote.")
    return UnsupportedError(
        f"The result in {folder} was saved without its answers ({why}), and cannot be loaded. Run 'allalike"
        f" {'jury' if 'panel' in told else 'discover'}' again."
    )


def _as_recognised(scan: Scan, notes: Mapping[str, Any]) -> Scan:
    """Return how answers are read, with the columns that were recognised in the first ones, if they were a table."""
    guessed = notes.get("guessed", {})
    if set(guessed) - {"columns", "domain", "engine"} or not guessed.get("columns"):
        return scan
    return replace(scan, columns={**guessed["columns"], **scan.columns})
