"""State: what a saved result keeps so that it can be loaded and go on, on another machine and engine, too.

The folder ``state`` beside the tables has the answers, as they were read and cleaned: a file for the first ones, and a
further one each time that answers were added, so that nothing is written twice. Beside them are known truths, what was
known of workers, the truths that were found, and ``state.json``: the format's version, the kind of label, the method,
how answers are read, and when they came. Nothing in it is executed, and no file outside is named.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from itertools import count, groupby, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import Values
from allalike._core.system.json_text import parse_json
from allalike.answers import Answers
from allalike.answers.cleaning import Cleaning
from allalike.answers.gold import Gold
from allalike.answers.history import History
from allalike.answers.storage import answer_columns, column_values, count_rows, read_columns, unify, write_columns
from allalike.answers.stream import Stream
from allalike.api.inputs.opening import Generation, KeptFile
from allalike.api.inputs.recipes import read_domain, read_scan, write_domain, write_scan
from allalike.domains.spelling import Spelling
from allalike.engines.growing import Growing
from allalike.errors import AllalikeError, InputError, UnsupportedError
from allalike.methods import METHODS, Method
from allalike.methods.base import Streaming
from allalike.readers import Scan
from allalike.readers.formats.compression import check_regular
from allalike.readers.label_maps import read_label_map

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from allalike.api.inputs.opening import Basis
    from allalike.domains import Domain, Encoding
    from allalike.engines import Piece

__all__ = [
    "FORMAT",
    "STATE",
    "SavedState",
    "StoredAnswers",
    "find_date",
    "find_digest",
    "read_state",
    "why_not_kept",
    "write_state",
]

FORMAT = 1
STATE = "state"
_INDEX = "state.json"
_ROLES = ("worker", "task", "label")
_ANSWER_BYTES = 25  # of an answer in a text file, about
_SETTINGS = ("seed", "ties", "min_confidence")


def find_date() -> str:
    """Return the time, as ISO 8601 has it, in UTC; that of SOURCE_DATE_EPOCH, if it is set.

    >>> len(find_date())
    20
    """
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdigit() else datetime.now(UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def why_not_kept(basis: Basis | None) -> str:
    """Say why a result cannot be loaded later; nothing, if it can.

    >>> why_not_kept(None)
    'its answers were not kept'
    """
    if basis is None:
        return "its answers were not kept"
    if not isinstance(basis.run, Growing):
        return "its answers are on the executors of Spark"
    try:
        _describe(basis)
    except (TypeError, ValueError) as error:
        return f"what it was found with can be told in Python only: {error}"
    return ""


def _describe(basis: Basis) -> dict[str, Any]:
    """Return what can be written as JSON."""
    origin, run = basis.origin, basis.run
    gold_map = origin.gold_map
    if gold_map is not None:
        from allalike.readers.gold_maps import is_written

        gold_map = gold_map if is_written(gold_map) else [list(pair) for pair in read_label_map(gold_map).items()]
    if basis.method.name not in METHODS or METHODS[basis.method.name] is not type(basis.method):
        raise TypeError(f"{basis.method.name} is a method of the user's own")
    told = {
        "domain": write_domain(run.domain),
        "method": basis.method.describe(),
        "settings": {name: basis.settings[name] for name in _SETTINGS if name in basis.settings},
        "read": write_scan(origin.scan),
        "gold_map": gold_map,
        "per_task": len(run.problems.sizes) > 1,
        "notes": dict(run.notes),
        "counts": [int(run.answer_counts.sum()), len(run.workers), run.n_tasks],
        "generations": [list(each) for each in basis.generations],
    }
    return dict(json.loads(json.dumps(told)))


def write_state(
    folder: Path, basis: Basis, found: Iterable[Piece], copies: Sequence[Sequence[Any]], said: Mapping[str, Any]
) -> None:
    """Write what a result keeps into a folder, with what its summary said; what cannot be written is a `TypeError`."""
    folder.mkdir()
    run, origin = basis.run, basis.origin
    assert isinstance(run, Growing)
    told = _describe(basis)
    parts = _write_parts(folder, basis)
    if origin.gold is not None:
        write_columns(iter([folder / "gold.parquet"]), [_gold_columns(origin.gold, run.encoding)])
        told["gold"] = {"blank": origin.gold.blank, "stated": origin.gold.stated, "text": origin.gold.label.text}
    if origin.history is not None:
        past = origin.history
        columns: dict[str, Any] = {"worker": Values(list(past.workers)), "answers": past.answers, "fault": past.fault}
        write_columns(iter([folder / "history.parquet"]), [columns])
    decode = run.encoding.decode
    truths = ({"task": piece.tasks, "label": decode(piece.found["label"])} for piece in found)
    write_columns(iter([folder / "truth.parquet"]), truths)
    told |= {"parts": parts, "copies": [list(map(str, group)) for group in copies], **said}
    text = json.dumps({"format": FORMAT, **told}, indent=1, ensure_ascii=False)
    (folder / _INDEX).write_text(text + "\n", encoding="utf-8")


def _write_parts(folder: Path, basis: Basis) -> list[int]:
    """Write the answers that are not saved yet, and link the files of the others; say how many rows each file has."""
    kept = all(part.is_same for part in basis.parts if isinstance(part, KeptFile))
    parts = basis.parts if kept and basis.parts else (basis.run,)
    apart = isinstance(basis.method, Streaming)
    paths, counts = (folder / name for name in _name_files()), []
    for _, group in groupby(enumerate(parts), key=lambda each: _is_new(each, apart=apart)):
        sources = [part for _, part in group]
        if isinstance(sources[0], KeptFile):
            path = next(paths)
            _link(sources[0].path, path)
            counts.append(count_rows(path))
        else:
            counts += write_columns(paths, (rows for part in sources for rows in _list_rows(part, basis)))
    return counts


def _name_files() -> Iterator[str]:
    return (f"answers-{number}.parquet" for number in count(1))


def _is_new(part: tuple[int, Any], *, apart: bool) -> int:
    """Return a number that is the same for parts that go into one file: new answers, unless their order counts."""
    return -1 if isinstance(part[1], Answers) and not apart else part[0]


def _list_rows(part: Any, basis: Basis) -> Iterator[dict[str, Any]]:
    if isinstance(part, Answers):
        yield answer_columns(part.under(basis.run.encoding))
        return
    unseen = np.ones(part.encoding.n_labels, np.bool_)
    last = basis.origin.scan.kept_repeats == "last"
    for answers in part.each_answers() if last and unseen.size else ():
        unseen[answers.label] = False
    yield from _show_unseen(part, np.flatnonzero(unseen)) if last else ()
    for answers in part.each_answers():
        yield answer_columns(answers)
        if unseen.size:
            unseen[answers.label] = False
    yield from () if last else _show_unseen(part, np.flatnonzero(unseen))


def _show_unseen(run: Growing, codes: Any) -> Iterator[dict[str, Any]]:
    """Yield labels that were in no answer but those that were set aside, as such answers, so that they stay known."""
    if len(codes):
        first = next(run.each_answers())
        worker, task = np.full(len(codes), first.worker[0]), np.zeros(len(codes), np.int64)
        labels = first.encoding.decode(codes)
        yield {"worker": first.workers.take(worker), "task": first.tasks.take(task), "label": labels}


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # where there are no links
        shutil.copyfile(path, target)


def _gold_columns(gold: Gold, encoding: Encoding) -> dict[str, Values]:
    if encoding.domain.pictures is None:
        return {"task": column_values(gold.task), "label": column_values(gold.label)}
    _, truths = gold.encode(encoding)
    return {"task": truths.tasks, "label": encoding.decode(truths.label)}


@dataclass(frozen=True, kw_only=True)
class StoredAnswers(Scan):
    """Answers in the files of a saved result, one after the other, of a kind of label that is known."""

    n_answers: int = 0

    @property
    def size(self) -> int:
        """About how many bytes they would have as text."""
        return self.n_answers * _ANSWER_BYTES

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
        batches = list(self._batches())
        worker, task, label = (_join_columns([batch[role] for batch in batches]) for role in _ROLES)
        return Answers.of_columns(worker, task, label, self.domain, repeats=self.kept_repeats)

    def _batches(self) -> Iterator[dict[str, Column]]:
        schema = unify(self.source, _ROLES)
        for path in self.source:
            for batch in read_columns(path, _ROLES, schema):
                yield {**batch, "label": _wrap(batch["label"], self.domain)}


def _join_columns(columns: list[Column]) -> Column:
    import pyarrow as pa

    datas = [column.data for column in columns]
    if isinstance(datas[0], list):
        return Column(columns[0].name, [value for data in datas for value in data])
    return Column(columns[0].name, pa.chunked_array([chunk for data in datas for chunk in data.chunks]))


def _wrap(label: Column, domain: Domain | None) -> Column:
    """Return masks such that their pixels mean what they are, however pictures were read."""
    if domain is None or domain.pictures is None:
        return label
    from allalike._core.masks.layers import Layer

    return Column("label", [Layer(mask.astype(np.uint8), 1.0) for mask in label.data])


@dataclass(frozen=True)
class SavedState:
    """What a saved result kept, read with suspicion."""

    folder: Path
    told: Mapping[str, Any]
    domain: Domain
    method: Method
    scan: Scan
    generations: tuple[Generation, ...]
    digest: str

    @property
    def settings(self) -> dict[str, Any]:
        """Seed, ties, and how sure truths must be."""
        return dict(self.told["settings"])

    @cached_property
    def files(self) -> tuple[KeptFile, ...]:
        """The files of the answers, in the order in which they came."""
        names = islice(_name_files(), len(self.told["parts"]))
        with _checking(self.folder):
            files = tuple(KeptFile.of(self.folder / name) for name in names)
            if [count_rows(file.path) for file in files] != self.told["parts"]:
                raise ValueError("parts")
            return files

    def answers(self, first: int = 0, last: int | None = None) -> StoredAnswers:
        """Return the answers of some files, or of all."""
        repeats = self.scan.kept_repeats
        return StoredAnswers(
            source=[file.path for file in self.files[first:last]],
            domain=self.domain,
            repeats="first" if repeats == "error" else repeats,
            n_answers=sum(self.told["parts"][first:last]),
        )

    @cached_property
    def gold(self) -> Gold | None:
        """The truths that were known."""
        about = self.told.get("gold")
        if about is None:
            return None
        task, label = self._columns("gold.parquet", ("task", "label"))
        label = _wrap(label, self.domain)
        label.text = bool(about["text"])
        return Gold(task, label, int(about["blank"]), bool(about["stated"]))

    @cached_property
    def history(self) -> History | None:
        """What was known of workers."""
        if not (self.folder / "history.parquet").exists():
            return None
        workers, answers, fault = self._columns("history.parquet", ("worker", "answers", "fault"))
        return History.of(column_values(workers).tolist(), answers.numbers, fault.numbers)

    def truth(self) -> tuple[Column, Column]:
        """Return the tasks, and the truths that were found."""
        task, label = self._columns("truth.parquet", ("task", "label"))
        return task, _wrap(label, self.domain)

    def _columns(self, name: str, names: Sequence[str]) -> list[Column]:
        batches = list(read_columns(self.folder / name, names, complete=name != "truth.parquet"))
        return [_join_columns([batch[each] for batch in batches]) for each in names]


def find_digest(folder: Path) -> str:
    """Return what tells whether a saved result is still the same; nothing where there is none."""
    path = folder / STATE / _INDEX
    return sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def read_state(folder: Path) -> SavedState | None:
    """Read what a saved result kept; nothing, if it kept nothing.

    >>> from pathlib import Path
    >>> read_state(Path("nowhere")) is None
    True
    """
    place = folder / STATE
    if not (place / _INDEX).exists():
        return None
    with _checking(place):
        check_regular(place / _INDEX)
        digest, told = find_digest(folder), parse_json((place / _INDEX).read_text(encoding="utf-8"))
        version = told["format"]
        if not isinstance(version, int) or version > FORMAT:
            raise UnsupportedError(
                f"The result in {folder} was saved in format {version!r}, by a later allalike; this one reads formats"
                f" up to {FORMAT}. Install a newer one."
            )
        method, scan = told["method"], _as_recognised(read_scan(told["read"]), told["notes"])
        known = {name: tuple(each) if isinstance(each, list) else each for name, each in method["options"].items()}
        generations = tuple(
            Generation(str(when), int(n), int(w), int(t), k if k is None else int(k))
            for when, n, w, t, k in told["generations"]
        )
        for name, kind in (("settings", dict), ("notes", dict), ("parts", list), ("copies", list), ("warnings", list)):
            if not isinstance(told[name], kind):
                raise TypeError(name)
        told["warnings"] = list(map(str, told["warnings"]))
        if not told["parts"] or set(told["settings"]) - set(_SETTINGS):
            raise ValueError("parts")
        return SavedState(
            place, told, read_domain(told["domain"]), METHODS[method["name"]](**known), scan, generations, digest
        )


def _as_recognised(scan: Scan, notes: Mapping[str, Any]) -> Scan:
    """Return how answers are read, with the columns that were recognised in the first ones, if they were a table."""
    guessed = notes.get("guessed", {})
    if set(guessed) - {"columns", "domain", "engine"} or not guessed.get("columns"):
        return scan
    return replace(scan, columns={**guessed["columns"], **scan.columns})


@contextmanager
def _checking(place: Path) -> Iterator[None]:
    try:
        yield
    except AllalikeError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{place / _INDEX} is damaged, or is not what was saved there. Run 'allalike discover' again."
        ) from error
