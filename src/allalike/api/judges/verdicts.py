"""Verdicts: the answers of a few judges as a table, beside what the panel says of each task and how sure it is.

Statistics of a panel compare every judge with every other on the same tasks. Judges are few, so a table with a row for
each task and a column for each judge holds all; of many answers it has some whole tasks, chosen by the hashes of their
ids, so that every engine has the same.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import number_within_tasks
from allalike._core.columns.values import Values, text_column
from allalike._core.late import pd
from allalike._core.registry import did_you_mean
from allalike._core.system.addresses import find_folder
from allalike._core.system.tables import unguard_text
from allalike.engines.sample import sample_tasks
from allalike.errors import InputError, OptionError, UnknownNameError
from allalike.result.inputs.saved_files import SUMMARY, check_complete, check_own_file, read_summary
from allalike.telling.panel_summary import PanelSummary
from allalike.telling.schemas import JsonForm, describe_form, find_misfit
from allalike.telling.summary import LabelKind

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.api.judges.finding import Columns, GroupColumn
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run, TaskTable

NOBODY = -1  # in place of a label: nobody, or not this judge, gave one


@dataclass(frozen=True)
class PanelAnswers:
    """What is known of some tasks: the hashes of their ids, a label as a code, and how sure it is."""

    task_hash: npt.NDArray[np.uint64]
    label: Array
    sure: Floats


@dataclass(frozen=True)
class Verdicts:
    """The answers of judges, a row for each task and a column for each judge."""

    said: npt.NDArray[np.intp]
    chance: Floats
    panel: npt.NDArray[np.intp]
    sure: Floats
    known: npt.NDArray[np.bool_]
    truth: npt.NDArray[np.intp]
    task_hash: npt.NDArray[np.uint64]

    @property
    def n_judges(self) -> int:
        """How many judges there are."""
        return int(self.said.shape[1])

    def only(self, tasks: npt.NDArray[np.bool_]) -> Verdicts:
        """Return the verdicts on some of the tasks."""
        return Verdicts(
            self.said[tasks],
            self.chance[tasks],
            self.panel[tasks],
            self.sure[tasks],
            self.known[tasks],
            self.truth[tasks],
            self.task_hash[tasks],
        )


def take_verdicts(
    run: Run, n_answers: int, believe: Callable[[Block], Floats], panel: Iterable[PanelAnswers]
) -> Verdicts:
    """Return about so many answers of a run as a table.

    >>> import allalike
    >>> answers = allalike.read([("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x")], domain="categorical")
    >>> run, tasks = allalike.Memory().load(answers), answers.tasks.hashes()
    >>> panel = PanelAnswers(tasks, np.array([1, 0]), np.array([0.6, 0.9]))  # y and x
    >>> found = take_verdicts(run, 100, lambda block: np.full(len(block.label), 0.5), [panel])
    >>> order = np.argsort(-found.sure)
    >>> found.said[order].tolist(), found.panel[order].tolist()
    ([[0, -1], [0, 1]], [0, 1])
    """
    blocks = sample_tasks(run, n_answers).blocks
    n, width = run.problems.n_workers, max(int(number_within_tasks(block)[1].max()) for block in blocks)
    parts = [_spread(block, believe(block), n, width) for block in blocks]
    said, chance, codes = (np.concatenate(column) for column in zip(*parts, strict=True))
    hashes = np.concatenate([block.task_hash for block in blocks])
    known, gold = np.zeros(len(hashes), bool), np.full(len(hashes), NOBODY)
    first = np.cumsum([0, *(block.n_tasks for block in blocks)])
    for begin, block in zip(first, blocks, strict=False):
        known[begin + block.gold_task] = True
        gold[begin + block.gold_task] = block.gold_label
    label, sure = _look_up(hashes, panel)
    decided = _number(codes, label)
    return Verdicts(said, chance, decided, sure, known, np.where(known, _number(codes, gold), decided), hashes)


def _spread(block: Block, chance: Floats, n: int, width: int) -> tuple[Array, Floats, Array]:
    """Return, of each task, what each judge said, and of each of its labels the chance and the code."""
    slot, _ = number_within_tasks(block)
    task = block.task
    said = np.full((block.n_tasks, n), NOBODY, np.intp)
    said[task, block.worker] = slot
    chances, codes = np.zeros((block.n_tasks, width)), np.full((block.n_tasks, width), NOBODY - 1, np.int64)
    chances[task, slot], codes[task, slot] = chance, block.label
    return said, chances, codes


def _look_up(hashes: npt.NDArray[np.uint64], panel: Iterable[PanelAnswers]) -> tuple[Array, Floats]:
    """Return the label and how sure it is of the tasks with these hashes."""
    order = np.argsort(hashes, kind="stable")
    label, sure = np.full(len(hashes), NOBODY, np.int64), np.zeros(len(hashes))
    for piece in panel:
        place = np.minimum(np.searchsorted(hashes[order], piece.task_hash), len(hashes) - 1)
        here = hashes[order][place] == piece.task_hash
        label[order[place[here]]], sure[order[place[here]]] = piece.label[here], piece.sure[here]
    return label, sure


def _number(codes: Array, label: Array) -> npt.NDArray[np.intp]:
    """Return the numbers of labels among those of their tasks, or -1 where nobody gave them."""
    same = codes == label[:, None]
    return np.where(same.any(axis=1), same.argmax(axis=1), NOBODY)


# Task verdicts: what a panel that does not know truths says of each task, good or not, and what is known of it.


_MAX_LISTED = 10
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)")
_BOUND = re.compile(rf"([<>]=?)\s*({_NUMBER.pattern})")
_COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal}
Bound = tuple[str, float]


@dataclass(frozen=True)
class TaskVerdicts:
    """What the panel says of each task, in the order of their ids."""

    verdict: npt.NDArray[np.intp]
    truth: Floats
    found: TaskTable

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Of which tasks the truth is known."""
        return ~np.isnan(self.truth)

    def hashes(self) -> npt.NDArray[np.uint64]:
        """Return the hashes of the ids."""
        return np.concatenate([piece.tasks.hashes() for piece in self.found.pieces()])


def gather_verdicts(run: Run, found: TaskTable, good: Sequence[Any]) -> TaskVerdicts:
    """Tell good labels from others, in what the panel found and in what is known.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 2, "y")])
    >>> told = gather_verdicts(result.run, result.found, ["x"])
    >>> told.verdict, told.truth
    (array([1, 0]), array([nan, nan]))
    """
    is_good = choose_good(run.encoding, good)
    label = np.concatenate([piece.found["label"] for piece in found.pieces()])
    truth: Floats = run.collect(partial(_take_good, kernels=run.kernels, is_good=is_good))["truth"]
    return TaskVerdicts(np.asarray(is_good(label)).astype(np.intp), truth, found)


def choose_good(encoding: Encoding, good: Sequence[Any]) -> Callable[[Array], Array]:
    """Return what tells good labels, as codes, from others: some classes or levels, or numbers within bounds.

    >>> import allalike
    >>> answers = allalike.read([("ada", 1, 2.5), ("bob", 1, 4.0)], domain="real")
    >>> choose_good(answers.encoding, [">=3"])(answers.label)
    array([False,  True])
    """
    bounds = [_read_bound(each) for each in good]
    if encoding.n_classes is None and encoding.numeric:
        return partial(_meets_any, bounds=[_need_bound(*each) for each in zip(good, bounds, strict=True)])
    if encoding.nominal or not any(bounds):
        return partial(np.isin, test_elements=find_codes(encoding, good))
    levels = encoding.decode(np.arange(encoding.n_labels)).tolist()
    numbers = [float(text) if _NUMBER.fullmatch(text) else math.nan for text in map(str, levels)]
    if any(map(math.isnan, numbers)):
        raise OptionError(f"good is {good[0]!r}, but the levels are no numbers. Name those that are good.")
    within = _meets_any(np.array(numbers), bounds=[bound for bound in bounds if bound])
    named = [each for each, bound in zip(good, bounds, strict=True) if not bound]
    return partial(np.isin, test_elements=np.union1d(np.flatnonzero(within), find_codes(encoding, named)))


def _read_bound(good: Any) -> Bound | None:
    found = _BOUND.fullmatch(str(good).strip())
    return None if found is None else (found[1], float(found[2]))


def _need_bound(good: Any, bound: Bound | None) -> Bound:
    if bound is not None:
        return bound
    try:
        return "==", float(good)
    except (TypeError, ValueError):
        raise OptionError(f"good is {good!r}, and labels are numbers. Write a bound, such as '>=4'.") from None


def _meets_any(numbers: Array, *, bounds: Sequence[Bound]) -> Array:
    return np.asarray(np.any([_COMPARE[sign](numbers, number) for sign, number in bounds], axis=0))


def find_codes(encoding: Encoding, good: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the codes of some labels, which must be among those that judges gave.

    >>> import allalike
    >>> answers = allalike.read([("ada", 1, "yes"), ("bob", 1, "no")], domain="categorical")
    >>> find_codes(answers.encoding, ["yse"])
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No verdict is 'yse'. Did you mean 'yes'? The verdicts are: no, yes.
    """
    known = {str(label): code for code, label in enumerate(encoding.decode(np.arange(encoding.n_labels)).tolist())}
    if len(good) >= len(known) > 1 and {*map(str, good)} >= known.keys():
        raise OptionError(f"good names every label, {', '.join(known)}, so that all tasks are. Leave some out.")
    if missing := [str(label) for label in good if str(label) not in known]:
        listed = ", ".join(list(known)[:_MAX_LISTED]) + (", ..." if len(known) > _MAX_LISTED else "")
        close = did_you_mean(missing[0], known)
        raise UnknownNameError(f"No verdict is {missing[0]!r}.{close} The verdicts are: {listed}.")
    return np.array([known[str(label)] for label in good], np.int64)


def _take_good(block: Block, *, kernels: Kernels, is_good: Callable[[Array], Array]) -> dict[str, Array]:
    truth = np.full(block.n_tasks, np.nan)
    if len(block.gold_task):
        truth[block.gold_task] = is_good(kernels.restore_gold(block))
    return {"truth": truth}


def find_ids(found: TaskTable, wanted: npt.NDArray[np.uint64]) -> Values:
    """Return the ids with these hashes, in the order of these.

    >>> import allalike
    >>> found = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 2, "y")]).found
    >>> find_ids(found, found.joined().tasks.hashes()[::-1]).tolist()
    [2, 1]
    """
    ids, hashes = [], []
    for piece in found.pieces():
        own = piece.tasks.hashes()
        here = np.flatnonzero(np.isin(own, wanted))
        ids.append(piece.tasks.take(here))
        hashes.append(own[here])
    all_hashes = np.concatenate(hashes)
    order = np.argsort(all_hashes, kind="stable")
    return Values.join(ids).take(order[np.searchsorted(all_hashes[order], wanted)])


# Kept verdicts: what each judge said of each task, saved with a panel so that a later one can be compared with it.
#
# Of many verdicts those on some whole tasks are kept, chosen by the hashes of their ids, so that another run keeps
# those on the same tasks.


_DIGITS = 12  # of numbers, of which sums and differences leave traces in the last ones
_COLUMNS = ("judge", "task", "label", "truth", "group")
_EARLIER = JsonForm(
    "What is read of the summary of an earlier panel.",
    {"panel": PanelSummary, "domain": LabelKind, "files": tuple[str, ...], "safe_csv?": bool},
)


@dataclass(frozen=True)
class KeptVerdicts:
    """Who said what: a row for each verdict, all of it as text; a truth or a group that is not known is empty."""

    judge: npt.NDArray[np.object_]
    task: npt.NDArray[np.object_]
    label: npt.NDArray[np.object_]
    truth: npt.NDArray[np.object_]
    group: npt.NDArray[np.object_]

    def describe(self) -> dict[str, Any]:
        """Return nothing: it is for later."""
        return {}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each verdict."""
        return {"verdicts": {name: text_column(getattr(self, name).tolist()) for name in _COLUMNS}}

    def judge_columns(self) -> Columns:
        """Return nothing: they are no statistics."""
        return {}


def keep_verdicts(run: Run, found: TaskTable, n_answers: int, groups: GroupColumn | None) -> KeptVerdicts:
    """Take about so many verdicts of a run.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y")], domain="categorical")
    >>> kept = keep_verdicts(result.run, result.found, 10, None)
    >>> kept.judge.tolist(), kept.task.tolist(), kept.label.tolist()
    (['ada', 'bob'], ['1', '1'], ['x', 'y'])
    """
    blocks = sample_tasks(run, n_answers).blocks
    judges = np.array([*map(str, run.workers.tolist())], object)
    rows: list[Sequence[npt.NDArray[Any]]] = []
    for block in blocks:
        ids = np.array([*map(str, find_ids(found, block.task_hash).tolist())], object)
        group = np.array(["" if groups is None else groups.value.get(each, "") for each in ids], object)
        truth = np.full(block.n_tasks, "", object)
        truth[block.gold_task] = _write(run, block.gold_label)
        task = block.task
        rows.append((judges[block.worker], ids[task], _write(run, block.label), truth[task], group[task]))
    return KeptVerdicts(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def _write(run: Run, label: Array) -> npt.NDArray[np.object_]:
    """Return labels as text; a truth that no judge gave is as good as unknown."""
    encoding = run.encoding
    if encoding.numeric:
        return np.array([f"{each:.{_DIGITS}g}" for each in encoding.decode(label).tolist()], object)
    names = np.array([*map(str, encoding.decode(np.arange(encoding.n_labels)).tolist()), ""], object)
    return np.asarray(names[label])


@dataclass(frozen=True)
class Earlier:
    """A panel that was saved: its verdicts, the kind of its labels, and its rate, if it had one."""

    folder: str
    verdicts: KeptVerdicts
    kind: str
    rate: Mapping[str, Any] | None

    def check(self, kind: str) -> None:
        """Refuse a panel with labels of another kind."""
        if self.kind != kind:
            raise InputError(
                f"The labels of the panel in {self.folder} are {self.kind}, and these are {kind}, so that they cannot"
                " be compared. Name a panel on the same kind of labels, or read both alike with domain=."
            )


def read_earlier(folder: str | os.PathLike[str]) -> Earlier:
    """Read what a panel saved of its verdicts.

    >>> read_earlier("nowhere")
    Traceback (most recent call last):
    allalike.errors.InputError: There is no panel in nowhere. Name a folder that 'allalike jury' wrote.
    """
    summary = _read_summary(find_folder(folder))
    names = [name for name in ("verdicts.csv", "verdicts.parquet") if name in summary.get("files", [])]
    if not names:
        raise InputError(
            f"The panel in {folder} kept no verdicts to compare with: only classes, numbers and levels are kept, and"
            " older versions kept none. Run 'allalike jury' on its files again."
        )
    return Earlier(
        str(folder),
        _read_table(Path(folder, names[0]), guarded=summary.get("safe_csv") is True),
        str(summary.get("domain", {}).get("name", "")),
        summary["panel"].get("rate"),
    )


def _read_summary(folder: Path) -> Any:
    check_complete(folder)
    check_own_file(folder / SUMMARY)
    try:
        summary = read_summary(folder)
    except OSError:
        raise InputError(f"There is no panel in {folder}. Name a folder that 'allalike jury' wrote.") from None
    except (ValueError, TypeError):
        summary = {}
    if find_misfit(summary, describe_form(_EARLIER)) is not None:
        raise InputError(f"{folder / SUMMARY} is not the summary of a panel. Name a folder that 'allalike jury' wrote.")
    return summary


def _read_table(path: Path, *, guarded: bool) -> KeptVerdicts:
    try:
        check_own_file(path)
        if path.suffix == ".parquet":
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(path, dtype=str, keep_default_na=False)
        columns = [table[name].astype(str).to_numpy(object) for name in _COLUMNS]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"The verdicts of the earlier panel, {path}, cannot be read: {error}") from None
    if guarded:
        columns = [np.array([unguard_text(each) for each in column], object) for column in columns]
    return KeptVerdicts(*columns)
