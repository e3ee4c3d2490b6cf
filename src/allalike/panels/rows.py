"""Rows of verdicts: which of them can be read, in which order and how often judges were asked, and in which groups.

All rows are in memory for this, whatever the engine that weighs the judges afterwards. A row without a label, or with
none that can be understood, is no verdict: it counts for no class, and it is reported. Empty cells of a matrix say that
a judge was not asked, and are not among them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column
from allalike._core.options import check_choice
from allalike._core.registry import find_close
from allalike._core.system.memory import free_memory
from allalike._core.words import count
from allalike.answers import Answers
from allalike.answers.cleaning import check_ids
from allalike.domains import Categorical
from allalike.domains.spelling import match_key
from allalike.errors import AllalikeError, ColumnError, InputError, OptionError, Proposal, UnsupportedError
from allalike.panels.panel import PanelFacts
from allalike.panels.repeated_verdicts import ANSWERS, PLACES, RepeatedVerdicts, Voices, find_tie, name_answers
from allalike.panels.verdicts import NOBODY, ratio
from allalike.readers import ReadOptions, Scan, scan
from allalike.readers.column_names import list_names
from allalike.readers.formats.tables import cells
from allalike.readers.proposals import asking
from allalike.result.inputs.opening import inputs_of, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from allalike._core.columns.values import Values
    from allalike.answers.cleaning import Cleaning
    from allalike.domains import Domain
    from allalike.panels.verdicts import Marks
    from allalike.readers.formats.tables import Table

    Batches = Callable[[], Iterable[Mapping[str, Column]]]

_OWN = ("order", "sample", "about", "tie", "verdicts")
_SWAPPED = ("swap", "flip", "revers", "invert")  # how names of the second order begin
_USUAL = {
    "order": ("order", "position", "swapped", "swap", "flipped", "reversed", "presentation_order"),
    "sample": ("epoch", "sample", "run", "seed", "repeat", "iteration", "trial", "attempt", "replicate"),
}  # names of such columns
_SAMPLE_ROWS = 100_000
_MAX_NAMED, _MAX_LISTED = 20, 10


class JuryOptions(ReadOptions, total=False):
    """How verdicts are read: as answers are, and how judges were asked, as `allalike.jury` tells of each option."""

    order: str | None
    sample: str | None
    about: str | None
    tie: Any
    verdicts: Iterable[Any] | None


@dataclass(frozen=True)
class HowAsked:
    """How judges were asked."""

    order: str | None = None
    sample: str | None = None
    about: str | None = None
    tie: Any = None
    verdicts: tuple[Any, ...] = ()

    @property
    def names(self) -> dict[str, str]:
        """The columns beside judge, task and label."""
        named = {"order": self.order, "sample": self.sample}
        return {role: name for role, name in named.items() if name is not None}

    @property
    def needs_rows(self) -> bool:
        """Whether verdicts are looked at row by row before they count."""
        return bool(self.names or self.verdicts)


def split_options(how: Mapping[str, Any]) -> tuple[HowAsked, ReadOptions]:
    """Return how judges were asked, and the options of reading."""
    own = {name: how[name] for name in _OWN if how.get(name) is not None}
    if "about" in own:
        check_choice(own["about"], (ANSWERS, PLACES), "about")
        if "order" not in own:
            raise OptionError("about says what verdicts name where pairs were shown in two orders. Name the column.")
    if own.get("order", "") == own.get("sample"):
        raise OptionError(f"order and sample are both {own['order']!r}. Name two columns, or one of them.")
    if "verdicts" in own:
        given = own["verdicts"]
        own["verdicts"] = tuple(each.strip() for each in given.split(",")) if isinstance(given, str) else tuple(given)
    return HowAsked(**own), cast("ReadOptions", {name: value for name, value in how.items() if name not in _OWN})


# Unreadable verdicts.


class Unread(NamedTuple):
    """The number of rows of each judge that cannot be read, of how many, and the tasks without any that can."""

    rows: Mapping[str, int] = {}
    asked: Mapping[str, int] = {}
    tasks: tuple[Any, ...] = ()


def look_for_unread(source: Any) -> Unread | None:
    """Look at answers once more for verdicts that could not be read; None if they cannot be looked at again."""
    if not hasattr(source, "stream"):
        return None
    try:
        stream = source.stream()
        return find_unread(stream.batches, stream.cleaning, blank_counts=source.wide is None)
    except AllalikeError:  # such as what only Spark can read
        return None


def find_unread(batches: Batches, cleaning: Cleaning, *, blank_counts: bool) -> Unread:
    """Count the rows that cannot be read, by judge, and list the tasks without any that can."""

    def mark_gone(label: Column) -> tuple[Marks, Marks]:
        """Mark the rows that cannot be read, and those that count."""
        blank, unparsed = cleaning.find_unreadable(label)
        return (blank | unparsed, np.ones(len(blank), np.bool_)) if blank_counts else (unparsed, ~blank)

    rows: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    tasks: dict[Any, None] = {}
    for batch in batches():
        gone, there = mark_gone(batch["label"])
        workers = _list_values(batch["worker"])
        asked.update(str(worker) for worker, is_there in zip(workers, there, strict=True) if is_there)
        rows.update(str(workers[row]) for row in np.flatnonzero(gone))
        tasks |= dict.fromkeys(_list_values(batch["task"].keep(gone)) if gone.any() else ())
    for batch in batches() if tasks else ():
        gone, there = mark_gone(batch["label"])
        for task in _list_values(batch["task"].keep(there & ~gone)):
            tasks.pop(task, None)
    return Unread(dict(rows), dict(asked), tuple(tasks))


def _list_values(column: Column) -> list[Any]:
    return column.data if isinstance(column.data, list) else column.data.to_pylist()


def describe_unread(judges: Values, total: int, unread: Unread | None) -> PanelFacts:
    """Count unreadable verdicts by judge, the most first; a judge without any that can be read is named, too."""
    known = unread or Unread()
    named = [
        {"judge": judge, "unreadable": n, "asked": known.asked[judge], "share": ratio(n, known.asked[judge])}
        for judge, n in Counter(known.rows).most_common(_MAX_NAMED)
    ]
    notes = {"verdicts": total, "judges": len(known.rows), "tasks": len(known.tasks), "named": named}
    columns = {}
    if unread is not None:
        columns["unreadable"] = np.array([unread.rows.get(str(judge), 0) for judge in judges.tolist()], np.int64)
    return PanelFacts({"unreadable": notes}, {}, columns)


# Reading rows.


@dataclass(frozen=True)
class Hearing:
    """What judges said, one voice for each on a task, or rows that are this already."""

    answers: Answers | Scan
    gold: dict[str, Any] = field(default_factory=dict)
    ballots: RepeatedVerdicts | None = None
    voices: Voices | None = None
    unread: Unread | None = None
    about: str = ""
    first_order: str = ""
    inputs: tuple[Path, ...] = ()

    def find_silent(self, heard: Iterable[Any]) -> tuple[list[Any], list[Any]]:
        """Return the tasks on which every judge is undecided, and the judges who are undecided on every task."""
        ballots, voices = self.ballots, self.voices
        if ballots is None or voices is None or ballots.answers.encoding.numeric:
            return [], []
        tasks, with_voice = ballots.answers.tasks, set(heard)
        n_heard = np.bincount(voices.task[voices.label != NOBODY], minlength=len(tasks))
        asked = ballots.judges.take(np.unique(voices.judge)).tolist()
        undecided = tasks.take(np.flatnonzero(n_heard == 0)).tolist()
        return undecided, [judge for judge in asked if judge not in with_voice]

    def find_unread(self, summary: dict[str, Any]) -> tuple[Unread | None, int]:
        """Return whose verdicts could not be read, if that can be known, and how many."""
        if self.unread is not None:
            return self.unread, sum(self.unread.rows.values())
        wide = isinstance(self.answers, Scan) and self.answers.wide is not None
        total = summary.get("unparsed", {}).get("labels", 0) + (0 if wide else summary.get("missing_dropped", 0))
        return (look_for_unread(self.answers) if total else Unread()), total


def hear(
    answers: Any, asked: HowAsked, how: ReadOptions, *, domain: str | Domain | None, gold: dict[str, Any]
) -> Hearing:
    """Return what is to be weighed, with one voice of the rows of each judge on each task."""
    if isinstance(answers, Answers):
        if asked.needs_rows:
            name = next(iter(asked.names.values()), "verdicts")
            raise OptionError(f"The answers have been read already, without {name!r}. Give what they were read from.")
        return Hearing(answers, gold | {"domain": domain, **how})
    named = isinstance(answers, Scan)
    given: dict[str, Any] = {"domain": domain, **how} if named else {}
    usual: ReadOptions = {"missing": "drop", **how}
    source = answers if named else scan(answers, domain=domain, **usual)
    if question := question_repeats(source, asked):
        raise question
    if not asked.needs_rows:
        return Hearing(source, gold | given)
    opened, known = open_source(source, **gold, **given)
    assert isinstance(opened, Scan)
    found = read_rows(opened, asked)
    assert found.ballots is not None
    voices = found.ballots.reconcile()
    if not found.ballots.answers.encoding.numeric and (voices.label == NOBODY).all():
        other = f" Look whether verdicts name {found.about}." if found.about else ""
        raise InputError(f"Every judge contradicts herself on every task, so that there is no verdict.{other}")
    heard = found.ballots.hear(voices)
    heard = replace(heard if known is None else heard.with_gold(known), frame=opened.frame)
    return replace(found, answers=heard, voices=voices, inputs=inputs_of(gold["gold"]))


def read_rows(source: Scan, asked: HowAsked) -> Hearing:
    """Read verdicts in all orders and samples; labels name the same answer in both orders then."""
    if source.unpacked > free_memory() / 2:
        raise UnsupportedError(
            "Orders, samples and a list of verdicts are looked at in memory, and these files take more than half"
            " of the free memory once read. Make one row for each judge and task of them before."
        )
    if source.domain is None and (asked.order is not None or asked.verdicts):
        source = replace(source, domain=Categorical())  # which of two is better, or one of a few
    with asking(source):
        table, picked, guessed = source.opened()
        columns = _load_columns(table, picked, asked)
        cleaning = source.suited(table).cleaning
        if asked.verdicts:
            columns["label"] = _only_verdicts(columns["label"], cleaning, asked.verdicts)
        unread = find_unread(lambda: [columns], cleaning, blank_counts=source.wide is None)
        judge, judges = columns["worker"].factors
        order, first_order = _find_order(columns, asked.order)
        sample = columns["sample"].factors[0] if "sample" in columns else np.zeros(len(judge), np.int32)
        who = list(zip(judge.tolist(), order.tolist(), sample.tolist(), strict=True))
        made = {"worker": Column("worker", who), "task": columns["task"], "label": columns["label"]}
        whole = table.loaded_by(lambda names: {name: made[name] for name in names}, names=list(made), roles={})
        answers = source.finish(whole, {role: role for role in made}, guessed)
    own, encoding = np.array(answers.workers.tolist(), np.intp)[answers.worker], answers.encoding
    if encoding.numeric and asked.order is None:
        return Hearing(
            answers, {}, RepeatedVerdicts(answers, judges, own[:, 0], own[:, 1], answers.label), unread=unread
        )
    if not encoding.nominal:
        raise UnsupportedError(
            f"One voice is made of classes or numbers, and these are {answers.domain.name} labels. Where each is a"
            " verdict as a whole, say so with domain='categorical'; of levels that are numbers, domain='real' takes the"
            " mean."
        )
    tie = find_tie(encoding, asked.tie)
    ballots = RepeatedVerdicts(answers, judges, own[:, 0], own[:, 1], answers.label.astype(np.intp), tie)
    if asked.order is None:
        return Hearing(answers, {}, ballots, unread=unread)
    ballots, about = name_answers(ballots, asked.about)
    return Hearing(answers, {}, ballots, unread=unread, about=about, first_order=first_order)


def _load_columns(table: Table, picked: Mapping[str, str], asked: HowAsked) -> dict[str, Column]:
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
    label = cleaning.map_labels(label)
    values = _list_values(label)
    found = []
    for value in values:
        meant = cleaning.spelling(value) if isinstance(value, str) else value
        found.append(value if value is not None and match_key(meant) in known else None)
    if not any(each is not None for each in found) and any(each is not None for each in values):
        there = list_names(list(dict.fromkeys(str(each) for each in values if str(each or "").strip()))[:_MAX_LISTED])
        raise OptionError(
            f"No label is one of the verdicts {list_names(list(map(str, verdicts)))}. There are: {there}."
        )
    column = Column.of_objects("label", found)
    column.text, column.na = label.text, label.na
    return column


def _find_order(columns: Mapping[str, Column], name: str | None) -> tuple[npt.NDArray[Any], str]:
    """Return, of each row, in which of two orders the pair was shown, and the name of the first."""
    if name is None:
        return np.zeros(len(columns["label"]), np.int32), ""
    code, values = columns["order"].factors
    names = [str(value) for value in values.tolist()]
    if len(names) != 2:
        listed = list_names(names[:5])
        raise InputError(
            f"The column {name!r} has {count(len(names), 'different value')}, such as {listed}. A pair has two orders."
        )
    return (1 - code, names[1]) if names[0].casefold().startswith(_SWAPPED) else (code, names[0])


def question_repeats(source: Any, asked: HowAsked) -> InputError | None:
    """Return what to ask where rows are further verdicts on a task, and a column of a usual name tells them apart."""
    if not hasattr(source, "opened") or source.wide is not None or source.repeats is not None:
        return None
    try:
        table, picked, _ = source.opened()
        found = _tell_apart(table, picked, asked)
    except AllalikeError:  # which reading raises again
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


def read_groups(
    answers: Any, by: str, *, domain: str | Domain | None = None, **how: Unpack[ReadOptions]
) -> tuple[Scan, dict[str, str]]:
    """Return the answers, named, and the value of a column for each task, such as a topic or a language."""
    source, _ = open_source(answers, None, domain=domain, **how)
    if isinstance(source, Answers):
        raise OptionError(
            f"The answers have been read already, without the column {by!r}. Give what they were read from."
        )
    value: dict[str, str] = {}
    for part in source.beside(by, by=True):
        (task, ids), (group, names) = part["task"].factors, part["label"].factors
        for place, number in np.unique(np.stack([task, group]), axis=1).T.tolist():
            id_, name = str(ids.tolist()[place]), str(names.tolist()[number])
            if value.setdefault(id_, name) != name:
                raise InputError(
                    f"The task {id_!r} is in two groups of {by!r}, {value[id_]!r} and {name!r}. Rates by group need a"
                    " column that says the same in all rows of a task."
                )
    if source.wide is not None:  # where it is no judge
        source = replace(source, files=replace(source.files, skip=(*source.files.skip, by)))
    return source, value
