"""Rows: reading verdicts together with the columns that tell in which order, and how often, judges were asked.

All rows are in memory for this, whatever the engine that weighs the judges afterwards.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.matches import find_places
from allalike._core.registry import find_close
from allalike._core.system.memory import free_memory
from allalike._core.words import count
from allalike.answers import Answers
from allalike.answers.cleaning import check_ids
from allalike.api.judges.ballots import JudgeBallots, find_tie
from allalike.api.judges.coverage import MIN_GOLD
from allalike.api.judges.finding import ratio
from allalike.api.judges.orders import find_orders, name_answers
from allalike.api.judges.outcomes import Outcomes
from allalike.api.judges.samples import ScoreBallots, find_samples
from allalike.api.judges.verdicts import NOBODY
from allalike.domains import Categorical
from allalike.domains.spelling import match_key
from allalike.errors import AllalikeError, ColumnError, InputError, OptionError, Proposal, UnsupportedError
from allalike.readers import Scan, scan
from allalike.readers.column_names import list_names
from allalike.readers.formats.tables import cells
from allalike.readers.proposals import asking
from allalike.result.inputs.opening import inputs_of, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.answers.cleaning import Cleaning
    from allalike.api.judges.asking import HowAsked
    from allalike.api.judges.ballots import Reconciled
    from allalike.api.judges.finding import Columns, Finding
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run
    from allalike.readers import ReadOptions
    from allalike.readers.formats.tables import Table
    from allalike.result.result import Result

    Batches = Callable[[], Iterable[Mapping[str, Column]]]


# Unreadable verdicts: rows in which a judge was asked, but which have no label, or none that can be understood.
#
# Such a row is no verdict: it counts for no class, and it does not leave the panel in silence either. Empty cells of a
# matrix say that a judge was not asked, and are not among them.


_MAX_NAMED = 20


@dataclass(frozen=True)
class Unread:
    """How many rows of each judge cannot be read, of how many, and the tasks on which no row can be."""

    rows: Mapping[str, int] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)
    tasks: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Unreadable:
    """The verdicts that could not be read, as a panel tells of them."""

    judges: Values
    total: int
    unread: Unread | None

    def describe(self) -> dict[str, Any]:
        """Count them by judge, the most first; a judge of whom nothing could be read is named, too."""
        known = self.unread or Unread()
        named = [
            {"judge": judge, "unreadable": n, "asked": known.asked[judge], "share": ratio(n, known.asked[judge])}
            for judge, n in Counter(known.rows).most_common(_MAX_NAMED)
        ]
        told = {"verdicts": self.total, "judges": len(known.rows), "tasks": len(known.tasks), "named": named}
        return {"unreadable": told}

    def tables(self) -> dict[str, Columns]:
        """Return no table: those of judges and truths have it."""
        return {}

    def judge_columns(self) -> Columns:
        """Return how many verdicts of each judge could not be read, if that is known."""
        if self.unread is None:
            return {}
        rows = self.unread.rows
        return {"unreadable": np.array([rows.get(str(judge), 0) for judge in self.judges.tolist()], np.int64)}


def look_for_unread(source: Any) -> Unread | None:
    """Look at answers once more, to see whose verdicts could not be read; None if they cannot be looked at again."""
    if not hasattr(source, "stream"):
        return None
    try:
        stream = source.stream()
        return find_unread(stream.batches, stream.cleaning, blank_counts=source.wide is None)
    except AllalikeError:  # such as what only Spark can read
        return None


def find_unread(batches: Batches, cleaning: Cleaning, *, blank_counts: bool) -> Unread:
    """Count the rows that cannot be read, by judge, and name the tasks on which none can be.

    >>> import allalike
    >>> rows = {"worker": ["ada", "bob", "ada"], "task": [1, 1, 2], "label": ["x", None, None]}
    >>> stream = allalike.scan(rows).stream()
    >>> find_unread(stream.batches, stream.cleaning, blank_counts=True)
    Unread(rows={'bob': 1, 'ada': 1}, asked={'ada': 2, 'bob': 1}, tasks=(2,))
    """
    rows: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    tasks: dict[Any, None] = {}
    for batch in batches():
        gone, there = _find_gone(batch, cleaning, blank_counts=blank_counts)
        workers = _values(batch["worker"])
        asked.update(str(worker) for worker, is_there in zip(workers, there, strict=True) if is_there)
        rows.update(str(workers[row]) for row in np.flatnonzero(gone))
        tasks |= dict.fromkeys(_values(batch["task"].keep(gone)) if gone.any() else ())
    for batch in batches() if tasks else ():
        gone, there = _find_gone(batch, cleaning, blank_counts=blank_counts)
        for task in _values(batch["task"].keep(there & ~gone)):
            tasks.pop(task, None)
    return Unread(dict(rows), dict(asked), tuple(tasks))


def _find_gone(
    batch: Mapping[str, Column], cleaning: Cleaning, *, blank_counts: bool
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Mark the rows that cannot be read, and those that count."""
    blank, unparsed = cleaning.find_unreadable(batch["label"])
    return (blank | unparsed, np.ones(len(blank), np.bool_)) if blank_counts else (unparsed, ~blank)


def _values(column: Column) -> list[Any]:
    return column.data if isinstance(column.data, list) else column.data.to_pylist()


_SWAPPED = ("swap", "flip", "revers", "invert")  # how names of the second order begin
_OWN_NAMES = {role: role for role in ("worker", "task", "label")}
_USUAL = {
    "order": ("order", "position", "swapped", "swap", "flipped", "reversed", "presentation_order"),
    "sample": ("epoch", "sample", "run", "seed", "repeat", "iteration", "trial", "attempt", "replicate"),
}  # names of such columns
_SAMPLE_ROWS = 100_000
_MAX_SIDES = 10  # verdicts on a pair, from much better to much worse
_MAX_LISTED = 10


@dataclass(frozen=True)
class Read:
    """What was read: the ballots, whose verdicts could not be read, what labels named, and which order came first."""

    ballots: JudgeBallots | ScoreBallots
    unread: Unread
    about: str = ""
    first_order: str = ""


def read_rows(source: Scan, asked: HowAsked) -> Read:
    """Read verdicts in all orders and samples; labels name the same answer in both orders then.

    >>> import allalike
    >>> from allalike.api.judges.asking import HowAsked
    >>> rows = {"judge": ["ada"] * 4, "item": [1, 1, 2, 2], "verdict": [*"xxyx"], "epoch": [1, 2, 1, 2]}
    >>> found = read_rows(allalike.scan(rows), HowAsked(sample="epoch"))
    >>> found.ballots.reconcile().label
    array([ 0, -1])
    """
    if source.unpacked > free_memory() / 2:
        raise UnsupportedError(
            "Orders, samples and a list of verdicts are looked at in memory, and these files take more than half"
            " of the free memory once read. Make one row for each judge and task of them before."
        )
    if source.domain is None and (asked.order is not None or asked.verdicts):
        source = replace(source, domain=Categorical())  # which of two is better, or one of a few
    with asking(source):
        table, picked, guessed = source.opened()
        columns = _load(table, picked, asked)
        cleaning = source.suited(table).cleaning
        if asked.verdicts:
            columns["label"] = _only_verdicts(columns["label"], cleaning, asked.verdicts)
        unread = find_unread(lambda: [columns], cleaning, blank_counts=source.wide is None)
        judge, judges = columns["worker"].factors
        order, orders = _find_order(columns, asked.order)
        sample = columns["sample"].factors[0] if "sample" in columns else np.zeros(len(judge), np.int32)
        who = list(zip(judge.tolist(), order.tolist(), sample.tolist(), strict=True))
        made = {"worker": Column("worker", who), "task": columns["task"], "label": columns["label"]}
        whole = table.loaded_by(lambda names: {name: made[name] for name in names}, names=list(made), roles={})
        answers = source.finish(whole, _OWN_NAMES, guessed)
    own = np.array(answers.workers.tolist(), np.intp)[answers.worker]
    if answers.encoding.numeric and asked.order is None:
        return Read(ScoreBallots(answers, judges, own[:, 0]), unread)
    if not answers.encoding.nominal:
        raise UnsupportedError(
            f"One voice is made of classes or numbers, and these are {answers.domain.name} labels. Where each is a"
            " verdict as a whole, say so with domain='categorical'; of levels that are numbers, domain='real' takes the"
            " mean."
        )
    ballots = JudgeBallots(answers, judges, own[:, 0], own[:, 1], answers.label.astype(np.intp))
    ballots = replace(ballots, tie=find_tie(ballots.labels, asked.tie))
    if asked.order is None:
        return Read(ballots, unread)
    if len(ballots.labels) > _MAX_SIDES:
        raise UnsupportedError(
            f"Both orders of a pair become one voice where verdicts say which of two is better, or by how much. These"
            f" have {len(ballots.labels):,} different labels, such as {list_names(list(map(str, ballots.labels))[:3])}."
            f" Leave out order, or make one row for each judge and task before."
        )
    ballots, about = name_answers(ballots, asked.about)
    return Read(ballots, unread, about, orders[0])


def _load(table: Table, picked: Mapping[str, str], asked: HowAsked) -> dict[str, Column]:
    for option, name in asked.names.items():
        if name not in table.names:
            right = Proposal({option: find_close(name, table.names)})
            raise ColumnError(
                f"{table.where} has no column {name!r}. It has: {list_names(table.names)}.", proposals=[right]
            )
        if name in picked.values():
            role = next(role for role, other in picked.items() if other == name)
            raise OptionError(f"The column {name!r} is the {role} already. Name another, or another {role}.")
    loaded = table.load([*picked.values(), *asked.names.values()])
    columns = {role: table.column(role, loaded[name]) for role, name in {**picked, **asked.names}.items()}
    for role, column in columns.items():
        if role != "label":
            check_ids(column)
    return columns


def _only_verdicts(label: Column, cleaning: Cleaning, verdicts: tuple[Any, ...]) -> Column:
    """Leave nothing in the place of labels that are no verdicts."""
    known = {match_key(cleaning.spelling(str(each)) or str(each)) for each in verdicts}

    def read(value: Any) -> Any:
        meant = cleaning.spelling(value) if isinstance(value, str) else value
        return value if match_key(meant) in known else None

    label = cleaning.map_labels(label)
    values = label.data if isinstance(label.data, list) else label.data.to_pylist()
    found = [None if value is None else read(value) for value in values]
    if not any(each is not None for each in found) and any(each is not None for each in values):
        there = list_names(list(dict.fromkeys(str(each) for each in values if str(each or "").strip()))[:_MAX_LISTED])
        raise OptionError(
            f"No label is one of the verdicts {list_names(list(map(str, verdicts)))}. There are: {there}."
        )
    column = Column.of_objects("label", found)
    column.text, column.na = label.text, label.na
    return column


def _find_order(columns: Mapping[str, Column], name: str | None) -> tuple[Any, list[str]]:
    """Return, of each row, in which of two orders the pair was shown, and what these are called, the first first."""
    if name is None:
        return np.zeros(len(columns["label"]), np.int32), [""]
    code, values = columns["order"].factors
    names = [str(value) for value in values.tolist()]
    if len(names) != 2:
        listed = list_names(names[:5])
        raise InputError(
            f"The column {name!r} has {count(len(names), 'different value')}, such as {listed}. A pair has two orders."
        )
    return (1 - code, names[::-1]) if names[0].casefold().startswith(_SWAPPED) else (code, names)


def question_repeats(source: Any, asked: HowAsked) -> InputError | None:
    """Return what to ask where rows are further verdicts of a judge on a task, and a column of a usual name tells why.

    >>> import allalike
    >>> from allalike.api.judges.asking import HowAsked
    >>> rows = {"judge": ["ada"] * 4, "item": [1, 1, 2, 2], "verdict": [*"xxyx"], "epoch": [1, 2, 1, 2]}
    >>> print(question_repeats(allalike.scan(rows), HowAsked()))
    2 of 4 rows are further verdicts of a judge on a task, and 'epoch' tells them apart.
    Say it with one of these, the best first:
      sample='epoch'
      repeats='first'
    """
    if not hasattr(source, "opened") or source.wide is not None or source.repeats is not None:
        return None
    try:
        table, picked, _ = source.opened()
        found = _tell_apart(table, picked, asked)
    except AllalikeError:  # of which whoever reads them tells
        return None
    if found is None:
        return None
    repeats, rows, settles = found
    named = " and ".join(repr(name) for name in settles.values())
    return InputError(
        f"{repeats:,} of {rows:,} rows are further verdicts of a judge on a task, and {named}"
        f" tell{'s' if len(settles) == 1 else ''} them apart.",
        proposals=[Proposal(settles), Proposal({"repeats": "first"})],
    )


def _tell_apart(table: Table, picked: Mapping[str, str], asked: HowAsked) -> tuple[int, int, dict[str, str]] | None:
    """Return how many of some first rows are repeats, of how many, and the columns that tell them apart."""
    taken = {*picked.values(), *asked.names.values()}
    free = {name.casefold(): name for name in table.names if name not in taken}
    usual = {role: free[name] for role, names in _USUAL.items() for name in reversed(names) if name in free}
    usual = {role: name for role, name in usual.items() if role not in asked.names}
    keys = [picked["worker"], picked["task"], *(name for name in asked.names.values() if name in table.names)]
    if not usual:
        return None
    sample = table.sample(_SAMPLE_ROWS, [*keys, *usual.values()])
    texts = {name: list(map(str, cells(data))) for name, data in sample.items()}
    rows = list(zip(*(texts[name] for name in keys), strict=True))
    repeats = left = len(rows) - len(set(rows))
    settles: dict[str, str] = {}
    for role, name in usual.items():
        told = [(*row, cell) for row, cell in zip(rows, texts[name], strict=True)]
        fewer = len(told) - len(set(told))
        if fewer < left and (role != "order" or len(set(texts[name])) == 2):
            rows, left, settles[role] = told, fewer, name
    return (repeats, len(rows), settles) if settles and left <= repeats / 2 else None


# Hearing: from rows, of which a judge may have several for a task, to her one voice, and what is known of the rows.


@dataclass(frozen=True)
class Hearing:
    """What judges said, one voice for each on a task, or rows that are this already."""

    answers: Answers | Scan
    asked: HowAsked
    gold: dict[str, Any] = field(default_factory=dict)
    rows: Read | None = None
    voices: Reconciled | None = None
    inputs: tuple[Path, ...] = ()

    def detach(self, result: Result) -> Result:
        """Return a result that does not read rows as answers, where they are more than that."""
        if self.rows is None:
            return result
        return replace(result, basis=None, inputs=(*result.inputs, *self.inputs))

    def find_tie(self, encoding: Encoding) -> int:
        """Return the code of the label that means a tie, or -1."""
        if not encoding.nominal:
            return NOBODY
        return find_tie(encoding.decode(np.arange(encoding.n_labels)).tolist(), self.asked.tie)

    def findings(self, result: Result, odds: Floats, *, quorum: float | None, keep: float) -> list[Finding]:
        """Return what is known of the rows: outcomes, what could not be read, orders and samples."""
        run, found = result.run, self.find_outcomes(result, quorum)
        if self.rows is None:
            return found
        ballots = self.rows.ballots
        assert isinstance(ballots, JudgeBallots)
        if self.asked.order is not None:
            found.append(find_orders(ballots, self.rows.about, self.rows.first_order, run.workers))
        if self.asked.sample is not None:
            truth, by_gold = _find_truth(ballots, result)
            samples = find_samples(ballots, truth, ballots.find(run.workers), odds, by_gold=by_gold, keep=keep)
            found += [] if samples is None else [samples]
        return found

    def find_outcomes(self, result: Result, quorum: float | None) -> list[Finding]:
        """Find what became of each task, and whose verdicts could not be read."""
        run, tie = result.run, self.find_tie(result.run.encoding)
        named = None if tie == NOBODY else run.encoding.decode(np.array([tie])).tolist()[0]
        unread, total = self._find_unread(result.summary)
        lost = () if unread is None else unread.tasks
        outcomes = Outcomes(result.found, quorum, named, self._undecided, lost, self._find_voiceless(run))
        return [outcomes, Unreadable(run.workers, total, unread)]

    @property
    def score_ballots(self) -> ScoreBallots | None:
        """The samples of judges who score, if they have several."""
        ballots = None if self.rows is None or self.asked.sample is None else self.rows.ballots
        return ballots if isinstance(ballots, ScoreBallots) else None

    @property
    def _undecided(self) -> list[Any]:
        """The tasks on which every judge is undecided."""
        if self.rows is None or self.voices is None:
            return []
        tasks = self.rows.ballots.answers.tasks
        heard = np.bincount(self.voices.task[self.voices.label != NOBODY], minlength=len(tasks))
        return tasks.take(np.flatnonzero(heard == 0)).tolist()

    def _find_voiceless(self, run: Run) -> list[Any]:
        """Return the judges who are undecided on every task."""
        if self.rows is None or self.voices is None:
            return []
        asked = self.rows.ballots.judges.take(np.unique(self.voices.judge)).tolist()
        heard = set(run.workers.tolist())
        return [judge for judge in asked if judge not in heard]

    def _find_unread(self, summary: dict[str, Any]) -> tuple[Unread | None, int]:
        """Return whose verdicts could not be read, if that can be known, and how many."""
        if self.rows is not None:
            return self.rows.unread, sum(self.rows.unread.rows.values())
        wide = isinstance(self.answers, Scan) and self.answers.wide is not None
        total = summary.get("unparsed", {}).get("labels", 0) + (0 if wide else summary.get("missing_dropped", 0))
        return (look_for_unread(self.answers) if total else Unread()), total


def hear(
    answers: Any, asked: HowAsked, how: ReadOptions, *, domain: str | Domain | None, gold: dict[str, Any]
) -> Hearing:
    """Name what is to be weighed, or make one voice of the rows of each judge on each task."""
    if isinstance(answers, Answers):
        if asked.needs_rows:
            name = next(iter(asked.names.values()), "verdicts")
            raise OptionError(f"The answers have been read already, without {name!r}. Give what they were read from.")
        return Hearing(answers, asked, gold | {"domain": domain, **how})
    named = isinstance(answers, Scan)
    given: dict[str, Any] = {"domain": domain, **how} if named else {}
    usual: ReadOptions = {"missing": "drop", **how}
    source = answers if named else scan(answers, domain=domain, **usual)
    if question := question_repeats(source, asked):
        raise question
    if not asked.needs_rows:
        return Hearing(source, asked, gold | given)
    opened, known = open_source(source, **gold, **given)
    assert isinstance(opened, Scan)
    rows = read_rows(opened, asked)
    voices = None
    if isinstance(rows.ballots, ScoreBallots):
        heard = rows.ballots.hear()
    else:
        voices = rows.ballots.reconcile()
        if (voices.label == NOBODY).all():
            other = f" Look whether verdicts name {rows.about}." if rows.about else ""
            raise InputError(f"Every judge contradicts herself on every task, so that there is no verdict.{other}")
        heard = rows.ballots.hear(voices)
    heard = replace(heard if known is None else heard.with_gold(known), frame=opened.frame)
    return Hearing(heard, asked, {}, rows, voices, inputs_of(gold["gold"]))


def _find_truth(ballots: JudgeBallots, result: Result) -> tuple[Array, bool]:
    """Return, of each task, the code of its known truth where these are enough, or else of what the panel says."""
    piece, encoding = result.found.joined(), result.run.encoding
    place = find_places(ballots.answers.tasks, piece.tasks)
    code = {label: number for number, label in enumerate(ballots.labels)}
    labels = np.array([code.get(each, NOBODY) for each in encoding.decode(piece.found["label"]).tolist()], np.intp)
    by_gold = result.run.n_gold >= MIN_GOLD and "known" in piece.found
    labels = np.where(piece.found["known"], labels, NOBODY) if by_gold else labels
    return np.where(place >= 0, labels[place], NOBODY), by_gold
