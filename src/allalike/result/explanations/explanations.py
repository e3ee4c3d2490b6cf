"""Explanations: why a task has its truth, and what a worker is like, to be read or to be taken apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.problems import Problems
from allalike._core.columns.values import Values
from allalike._core.words import count
from allalike.answers.gold import History
from allalike.engines.sample import sample_tasks
from allalike.engines.shards import Shard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt
    import pandas as pd

    from allalike._core.blocks.block import Block
    from allalike.domains import Encoding
    from allalike.engines import Run, TaskTable
    from allalike.engines.memory import MemoryRun

_N_NAMED = 5
_MAX_LABEL = 40  # characters of a label in a sentence


class Flag(NamedTuple):
    """What is odd about a worker, and what says so.

    >>> Flag("few answers", "3 of her tasks were answered by others, too").name
    'few answers'
    """

    name: str
    evidence: str


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TaskExplanation:
    """Why a task has its truth; what is not known is NaN.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "y")]
    >>> allalike.discover(rows, method="UA").explain(task=1)
    Task 1: 'x', confidence 0.667; unweighted the same.
    3 answers. By weight 'x' has 0.667 and 'y' has 0.333: a margin of 0.333.
    The truth would be another one without ada or bob; or if one of these said 'y': ada or bob.
    See .answers and .labels.
    """

    task: Any
    truth: Any
    sureness: str
    confidence: float
    low: Any
    high: Any
    error: float
    unweighted: Any
    changed: bool
    tied: bool
    known: bool
    abstained: bool
    measure: str
    runner_up: Any
    runner_up_score: float
    margin: float
    spread: float
    n_tried: int
    answers: pd.DataFrame = field(hash=False)
    labels: pd.DataFrame = field(hash=False)

    def __repr__(self) -> str:
        return "\n".join([*self.sentences(), "See .answers and .labels."])

    def sentences(self) -> list[str]:
        """Say it in a few sentences."""
        return [sentence for sentence in (self._verdict(), self._say_margin(), self._say_deciders()) if sentence]

    def _verdict(self) -> str:
        sure = "" if math.isnan(self.confidence) else f", {self.sureness} {self.confidence:.3f}"
        if self.low is not None and self.low == self.low:
            low, high = (f"{end:.4g}" if isinstance(end, float) else str(end) for end in (self.low, self.high))
            sure = f", between {low} and {high} (95 %)"
        how = [
            *(["known beforehand"] if self.known else []),
            *(["a tie was broken"] if self.tied else []),
            *(["not sure enough to be told"] if self.abstained else []),
            *([f"unweighted {_shown(self.unweighted)}"] if self.changed else []),
            *(["unweighted the same"] if not (self.changed or self.tied) else []),
        ]
        return f"Task {self.task}: {_shown(self.truth)}{sure}; {', '.join(how)}."

    def _say_margin(self) -> str:
        number = count(len(self.answers), "answer")
        if math.isnan(self.margin):
            return f"{number}, {self.spread:.4g} from the truth on average." if not math.isnan(self.spread) else ""
        if self.runner_up is None:
            return f"{number}, all the same."
        own = self.runner_up_score + self.margin
        return (
            f"{number}. By {self.measure} {_shown(self.truth)} has {own:.3f} and {_shown(self.runner_up)} has"
            f" {self.runner_up_score:.3f}: a margin of {self.margin:.3f}."
        )

    def _say_deciders(self) -> str:
        if self.known:
            return "Whatever is answered, a truth that is known stays."
        if "moves" in self.answers:
            moves = self.answers["moves"]
            if moves.isna().all():
                return ""
            place = int(moves.fillna(-1.0).argmax())
            who = self.answers["worker"].iloc[place]
            return f"It moves most without {who}: by a distance of {moves.iloc[place]:.4g}."
        if len(self.answers) == 1:
            return f"Nobody but {self.answers['worker'].iloc[0]} answered it."
        left_out, changed = (
            self.answers["worker"][self.answers[name]].tolist() for name in ("if_left_out", "if_changed")
        )
        said = [f"without {_listed(left_out, 'or')}"] if left_out else []
        said += [f"if one of these said {_shown(self.runner_up)}: {_listed(changed, 'or')}"] if changed else []
        tried = "" if self.n_tried >= len(self.answers) else f" of the {self.n_tried:,} who count most"
        return (
            f"The truth would be another one {'; or '.join(said)}." if said else f"No single answer{tried} decides it."
        )

    def summary(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        names = ("task", "truth", self.sureness, "low", "high", "error", "unweighted", "changed", "tied", "known")
        values = {name: getattr(self, "confidence" if name == self.sureness else name) for name in names}
        more = {
            name: getattr(self, name)
            for name in ("abstained", "measure", "runner_up", "runner_up_score", "margin", "spread", "n_tried")
        }
        return {**_plain({**values, **more}), "answers": _records(self.answers), "labels": _records(self.labels)}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WorkerExplanation:
    """What a worker is like.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "y")]
    >>> allalike.discover(rows, method="UA").explain(worker="eve")
    Worker eve: 2 answers, weight 0.3333, fault 1; 1 of 2 are not the truth.
    Nearest, by mean distance on common tasks: ada (1 on 1), bob (1 on 1).
    Without her, 0 of 1 truths would be others, 0 away on average; 1 task has no other answer.
    See .colleagues and .disagreements.
    """

    worker: Any
    columns: Mapping[str, Any] = field(hash=False)
    flags: tuple[Flag, ...]
    disagrees: int
    compared: int
    without: Absence | None
    too_large: bool
    colleagues: pd.DataFrame = field(hash=False)
    disagreements: pd.DataFrame = field(hash=False)

    @property
    def nearest(self) -> pd.DataFrame:
        """The five colleagues who answer most like her."""
        return self.colleagues.head(_N_NAMED)

    @property
    def farthest(self) -> pd.DataFrame:
        """The five colleagues who answer least like her, and are not among the nearest; the farthest first."""
        return self.colleagues.iloc[_N_NAMED:].tail(_N_NAMED).iloc[::-1]

    def __repr__(self) -> str:
        return "\n".join([*self.sentences(), "See .colleagues and .disagreements."])

    def sentences(self) -> list[str]:
        """Say it in a few sentences."""
        facts = [f"{self.columns['answers']:,} answers", f"weight {self.columns['weight']:.4g}", *self._say_fault()]
        off = f"{self.disagrees:,} of {self.compared:,} are not the truth"
        flags = [f"{flag.name.capitalize()}: {flag.evidence}." for flag in self.flags]
        met = self._say_colleagues()
        return [f"Worker {self.worker}: {', '.join(facts)}; {off}.", *flags, *met, self._say_absence()]

    def _say_fault(self) -> list[str]:
        unit = next((name for name in ("error_rate", "rmse") if name in self.columns), "fault")
        if math.isnan(self.columns[unit]):
            return []
        low, high = (self.columns.get(name, math.nan) for name in ("low", "high"))
        limits = "" if math.isnan(low) or math.isnan(high) else f" ({low:.3g} to {high:.3g})"
        return [f"{unit.replace('_', ' ')} {self.columns[unit]:.3g}{limits}"]

    def _say_colleagues(self) -> list[str]:
        if not len(self.colleagues):
            return ["She has no task in common with anybody."]
        ends = {"Nearest": self.nearest.head(3), "Farthest": self.farthest.head(3)}
        return [
            f"{name}, by mean distance on common tasks: {_measured(table)}."
            for name, table in ends.items()
            if len(table)
        ]

    def _say_absence(self) -> str:
        if self.too_large:
            return "What would be without her is left out: there are more than a million answers."
        if self.without is None:
            return "Nobody else answered."
        gone = self.without
        only = f"; {gone.only:,} {'tasks have' if gone.only > 1 else 'task has'} no other answer" if gone.only else ""
        return (
            f"Without her, {gone.changed:,} of {gone.tasks:,} truths would be others, {gone.shift:.3g} away on average"
            f"{only}."
        )

    def summary(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        without = None if self.without is None else _plain(vars(self.without))
        return {
            **_plain(dict(self.columns)),
            "disagrees": self.disagrees,
            "compared": self.compared,
            "flags": [flag._asdict() for flag in self.flags],
            "without": without,
            "too_large": self.too_large,
            "nearest": _records(self.nearest),
            "farthest": _records(self.farthest),
            "disagreements": _records(self.disagreements),
        }


def _shown(label: Any) -> str:
    if isinstance(label, date):
        return str(label)
    text = f"{label:.6g}" if isinstance(label, float) else " ".join(repr(label).split())
    return text if len(text) <= _MAX_LABEL else f"{text[: _MAX_LABEL - 3]}..."


def _listed(names: list[Any], word: str) -> str:
    """List a few names.

    >>> _listed(["ada", "bob", "eve"], "or"), _listed(list("abcdefgh"), "or")
    ('ada, bob or eve', 'a, b, c, d, e or 3 more')
    """
    shown = [*map(str, names[:_N_NAMED]), *([f"{len(names) - _N_NAMED:,} more"] if len(names) > _N_NAMED else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {word} {shown[-1]}"


def _measured(table: pd.DataFrame) -> str:
    rows = zip(table["worker"], table["distance"], table["common"], strict=True)
    return ", ".join(f"{who} ({distance:.3g} on {common:,})" for who, distance, common in rows)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain_value(value) for name, value in values.items()}


def _plain_value(value: Any) -> Any:
    """Return what JSON can hold; what it cannot, as its text.

    >>> _plain_value(float("nan")), _plain_value(["a", 1]), _plain_value(1 + 2j)
    (None, ['a', 1], '(1+2j)')
    """
    value = value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_plain_value(each) for each in value]
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    columns = {name: [_plain_value(value) for value in table[name]] for name in table.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


# Absence: what the truths would be without a worker.
#
# Her answers are taken out, the others are weighed again by the same method, and all tasks are decided again. Tasks
# that only she answered have no truth then. The distance between both truths, on average over all other tasks, is how
# far she moves them; of classes it is the share of truths that are others.


MAX_ANSWERS = 1_000_000  # for more, all of it would take as long as the result itself


@dataclass(frozen=True)
class Absence:
    """What is otherwise without a worker.

    >>> Absence(changed=2, tasks=10, only=0, shift=0.2).changed
    2
    """

    changed: int
    tasks: int
    only: int
    shift: float


def find_absence(run: Run, found: TaskTable, again: Callable[[Run], TaskTable], worker: int) -> Absence | None:
    """Find the truths again without a worker, and compare; None where nobody else answered.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "y"), ("eve", 2, "y")], method="UA")
    >>> find_absence(result.run, result.found, result.again, 2).only
    1
    """
    rest = _leave_out(run, worker)
    if rest is None:
        return None
    label = again(rest).joined().found["label"]
    hashes = rest.shards[0].task_hash
    scatter = np.concatenate([run.kernels.scatter(block) for block in rest.blocks])
    changed, shift, compared = 0, 0.0, 0
    for piece in found.pieces():
        own = piece.tasks.hashes()
        place = np.minimum(np.searchsorted(hashes, own), len(hashes) - 1)
        here = np.flatnonzero(hashes[place] == own)
        before, after = piece.found["label"][here], label[place[here]]
        changed += int(np.count_nonzero(run.kernels.differs(before, after, scatter[place[here]])))
        shift += float(np.nansum(run.kernels.distance_between(before, after))) if len(here) else 0.0
        compared += len(here)
    return Absence(changed, compared, run.n_tasks - compared, shift / compared)


def _leave_out(run: Run, worker: int) -> MemoryRun | None:
    """Return a run in memory without the answers of a worker, and without her."""
    whole = sample_tasks(run, 2 * int(run.answer_counts.sum()))
    blocks = [_without(block, worker, run.encoding) for block in whole.blocks]
    blocks = [block for block in blocks if block.n_tasks]
    if not blocks:
        return None
    others = np.delete(np.arange(len(run.workers)), worker)
    past = run.history
    return replace(
        whole,
        shards=[Shard(blocks, *_name_tasks(blocks))],
        workers=run.workers.take(others),
        answer_counts=run.answer_counts[others],
        problems=Problems.single(len(others)),
        n_tasks=sum(block.n_tasks for block in blocks),
        n_gold=sum(len(block.gold_task) for block in blocks),
        history=None if past is None else History(past.answers[others], past.fault[others]),
    )


def _name_tasks(blocks: list[Block]) -> tuple[Values, npt.NDArray[np.int64]]:
    return Values(np.concatenate([block.task_hash for block in blocks])), np.concatenate([b.sizes for b in blocks])


def _without(block: Block, worker: int, encoding: Encoding) -> Block:
    """Return a block without the answers of a worker; those after her have the number before theirs."""
    stays = block.worker != worker
    sizes = np.add.reduceat(stays.astype(np.int64), block.starts)
    left = sizes > 0
    place = np.cumsum(left) - 1
    known = left[block.gold_task]
    rows = np.flatnonzero(stays)
    rest = replace(
        block,
        starts=np.cumsum(sizes[left]) - sizes[left],
        sizes=sizes[left],
        worker=block.worker[rows] - (block.worker[rows] > worker),
        label=block.label[rows],
        n_workers=block.n_workers - 1,
        task_hash=block.task_hash[left],
        gold_task=place[block.gold_task[known]],
        gold_label=block.gold_label[known],
        prepared={},
    )
    return encoding.prepare(rest) if rest.n_tasks else rest
