"""Rows of verdicts: unreadable rows, orders, samples, and their reconciliation into one verdict per judge and task.

A row with an empty label, or a label that cannot be parsed, is reported as unreadable. An empty cell of a matrix means
that the judge was not asked.

A judge may have seen a pair in both orders, several times each. These rows become one verdict: the label with the
largest share among samples, averaged over orders. Both orders have equal weight, so that the effect of the position
cancels out. If two labels have the same share, the judge is undecided: the verdict is a tie if there is a label for
ties, otherwise missing. Samples of scores become their mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column
from allalike._core.columns.factors import only_used
from allalike._core.columns.values import Values
from allalike._core.lazy_imports import pd
from allalike._core.options import check_choice
from allalike._core.registry import find_close
from allalike._core.system.memory import free_memory
from allalike._core.text_format import count
from allalike.answers import Answers
from allalike.answers.cleaning import Cleaning, check_ids
from allalike.domains import Categorical, Domain, Encoding
from allalike.domains.spelling import match_key
from allalike.errors import AllalikeError, ColumnError, InputError, OptionError, Proposal, UnsupportedError
from allalike.panels.summary import MAX_NAMED, OutcomeCounts, UnreadableCounts, UnreadableJudge
from allalike.panels.verdicts import CLASS, INCONCLUSIVE, NO_LABEL, SCORE, TIE, UNREADABLE, Codes, Statistics
from allalike.readers import ReadOptions, Scan, scan
from allalike.readers.column_names import list_names
from allalike.readers.formats.source import Source, cells
from allalike.readers.proposals import asking
from allalike.result.result import Result
from allalike.result.tables import OUTCOMES
from allalike.sources import open_source

ANSWERS, PLACES = "answers", "places"
_SWAPPED = ("swap", "flip", "revers", "invert")  # beginnings of the name of the second order
_USUAL = {
    "order": ("order", "position", "swapped", "swap", "flipped", "reversed", "presentation_order"),
    "sample": ("epoch", "sample", "run", "seed", "repeat", "iteration", "trial", "attempt", "replicate"),
}  # column names
_TIES = ("tie", "tied", "draw", "equal", "both", "neither", "a=b")
_PLACES = ({"first", "second"}, {"left", "right"}, {"top", "bottom"}, {"1st", "2nd"})  # not names of answers
_MOST_LABELS = 10  # with more, a label may be called a tie by chance
_EQUAL = 1e-9  # maximum difference between equal shares
_SAMPLE_ROWS = 100_000
_MAX_LISTED = 10  # labels in a message


@dataclass(frozen=True)
class AskDesign:
    """The design of the panel: orders, samples and verdicts."""

    order: str | None = None
    sample: str | None = None
    verdicts_name: str | None = None
    tie: Any = None
    verdicts: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.verdicts_name is not None:
            check_choice(self.verdicts_name, (ANSWERS, PLACES), "verdicts_name")
            if self.order is None:
                raise OptionError("verdicts_name needs pairs in two orders. Name the column of the order with order=.")
        if self.order is not None and self.order == self.sample:
            raise OptionError(
                f"order and sample are both {self.order!r}. Name two different columns, or leave out one option."
            )

    @property
    def names(self) -> dict[str, str]:
        """Columns other than judge, task and label."""
        named = {"order": self.order, "sample": self.sample}
        return {role: name for role, name in named.items() if name is not None}


# Unreadable verdicts.


class Unreadable(NamedTuple):
    """Number of ``unreadable`` and of all rows (``asked``) per judge, and the tasks without a readable verdict."""

    judges: pd.DataFrame
    tasks: tuple[Any, ...] = ()
    is_known: bool = True


def find_unreadable(batches: Iterable[Mapping[str, Column]], cleaning: Cleaning, *, blank_counts: bool) -> Unreadable:
    """Count unreadable rows per judge, and list the tasks without a readable row."""
    parts = []
    for batch in batches:
        blank, unparsed = cleaning.find_unreadable(batch["label"])
        names = [str(worker) for worker in _list_values(batch["worker"])]
        columns = {"judge": names, "task": _list_values(batch["task"]), "unreadable": unparsed | (blank & blank_counts)}
        parts.append(pd.DataFrame(columns)[blank_counts | ~blank])
    rows = pd.concat(parts)
    gone = rows.groupby("task", sort=False)["unreadable"].all()
    judges = rows.groupby("judge", sort=False).agg(unreadable=("unreadable", "sum"), asked=("unreadable", "size"))
    return Unreadable(judges, tuple(gone.index[gone].tolist()))


def _list_values(column: Column) -> list[Any]:
    return column.data if isinstance(column.data, list) else column.data.to_pylist()


# Repeated verdicts: a table with a row per verdict.


@dataclass(frozen=True)
class RepeatedVerdicts:
    """All readable verdicts: positions of task, judge and order, and labels as class codes or numbers."""

    rows: pd.DataFrame
    tasks: Values
    judges: Values
    encoding: Encoding
    tie: int = NO_LABEL
    verdicts_name: str = ""
    first_order: str = ""

    @property
    def labels(self) -> list[Any]:
        """Classes, in the order of their codes."""
        return self.encoding.decode(np.arange(self.encoding.n_labels)).tolist()

    def only(self, rows: Any) -> RepeatedVerdicts:
        """Return the verdicts in these rows."""
        return replace(self, rows=self.rows.iloc[np.asarray(rows)])

    def find(self, judges: Values) -> Codes:
        """Return the positions of judges."""
        place = {judge: number for number, judge in enumerate(self.judges.tolist())}
        return np.array([place[judge] for judge in judges.tolist()], np.intp)

    def find_sides(self) -> tuple[int, int] | None:
        """Return the codes of the labels other than a tie, if there are exactly two."""
        sides = [code for code in np.unique(self.rows["label"]).tolist() if code != self.tie]
        return (sides[0], sides[1]) if len(sides) == 2 else None

    @property
    def cell(self) -> Codes:
        """Number of the task, judge and order of each verdict."""
        rows = self.rows
        return np.asarray((rows["task"] * len(self.judges) + rows["judge"]) * 2 + rows["order"], np.intp)

    def draw(self, k: int, rng: np.random.Generator) -> RepeatedVerdicts:
        """Draw k samples per judge, task and order."""
        cell = self.cell
        order, size = np.argsort(cell + rng.random(len(cell))), np.bincount(cell)
        rank = np.arange(len(cell)) - (np.cumsum(size) - size)[cell[order]]
        return self.only(np.sort(order[rank < k]))

    def reconcile(self) -> pd.DataFrame:
        """Return one verdict per judge and task; its label is -1 if the judge is undecided."""
        if self.encoding.numeric:
            return self.rows.groupby(["task", "judge"])["label"].mean().reset_index()
        n_labels, label, cell = self.encoding.n_labels, self.rows["label"].to_numpy(), self.cell
        pair, share = cell // 2, 1 / np.bincount(cell)[cell]  # a pair is a task and a judge
        given, place = np.unique(pair * n_labels + label, return_inverse=True)
        score, (pair, label) = np.bincount(place, share), np.divmod(given, n_labels)
        first = np.flatnonzero(np.diff(pair, prepend=-1))
        best = score >= np.repeat(np.maximum.reduceat(score, first), np.diff(first, append=len(pair))) - _EQUAL
        chosen = np.maximum.reduceat(np.where(best, label, NO_LABEL), first)
        one = np.where(np.add.reduceat(best.astype(np.intp), first) > 1, self.tie, chosen)
        return pd.DataFrame(
            {"task": pair[first] // len(self.judges), "judge": pair[first] % len(self.judges), "label": one}
        )

    def name_answers(self, verdicts_name: str | None) -> RepeatedVerdicts:
        """Return verdicts whose labels name the same answer in both orders."""
        names, sides = list(map(str, self.labels)), self.find_sides()
        if verdicts_name is None and sides is not None:
            if {names[code].casefold() for code in sides} not in _PLACES:
                raise InputError(
                    f"Pairs were shown in two orders, and {names[sides[0]]!r} may name an answer or the place"
                    " where an answer was shown.",
                    proposals=[Proposal({"verdicts_name": each}) for each in (ANSWERS, PLACES)],
                )
            verdicts_name = PLACES
        if verdicts_name != PLACES:
            return replace(self, verdicts_name=ANSWERS)
        if sides is None:
            raise OptionError(
                "verdicts_name='places' needs exactly two labels for the places, apart from a tie."
                " Use verdicts_name='answers'."
            )
        label = self.rows["label"]
        swapped = label.replace({sides[0]: sides[1], sides[1]: sides[0]}).where(self.rows["order"] == 1, label)
        return replace(self, rows=self.rows.assign(label=swapped), verdicts_name=PLACES)


def find_tie(encoding: Encoding, named: Any = None) -> int:
    """Return the code of the class that means a tie: the named one, or the only one with a usual name."""
    if not encoding.nominal:
        return NO_LABEL
    labels = list(map(str, encoding.decode(np.arange(encoding.n_labels)).tolist()))
    texts = [label.strip().casefold() for label in labels]
    if named is not None:
        if (text := str(named).strip().casefold()) not in texts:
            raise OptionError(f"tie is {named!r}, which is not a verdict. Verdicts: {list_names(labels)}.")
        return texts.index(text)
    usual = [text for text in texts if text in _TIES] if len(texts) <= _MOST_LABELS else []
    return texts.index("tie" if "tie" in usual else usual[0]) if "tie" in usual or len(usual) == 1 else NO_LABEL


@dataclass(frozen=True)
class Reading:
    """Answers with one verdict per judge and task, and the rows they come from."""

    answers: Answers | Scan
    gold: dict[str, Any] = field(default_factory=dict)
    source: Scan | None = None
    repeated: RepeatedVerdicts | None = None
    unread: Unreadable | None = None

    def find_unread(self, summary: dict[str, Any]) -> tuple[Unreadable, int]:
        """Return the unreadable verdicts per judge, if they are known, and their number."""
        if self.unread is not None:
            return self.unread, int(self.unread.judges["unreadable"].sum())
        wide = self.source is not None and self.source.wide is not None
        total = summary.get("unparsed", {}).get("labels", 0) + (0 if wide else summary.get("missing_dropped", 0))
        if total and self.source is not None:
            with suppress(AllalikeError):  # such as tables that only Spark can read
                stream = self.source.stream()
                return find_unreadable(stream.batches(), stream.cleaning, blank_counts=not wide), total
        return Unreadable(pd.DataFrame({"unreadable": [], "asked": []}, dtype=int), is_known=not total), total


def describe_outcomes(
    result: Result, read: Reading, quorum: float | None, tie: int
) -> tuple[list[Statistics], list[Any], list[Any]]:
    """Count tasks by outcome and unreadable verdicts; return also the undecided and the unreadable tasks.

    On undecided tasks, every judge contradicts itself. Unreadable verdicts are counted per judge, the largest count
    first, including judges without a readable verdict.
    """
    run, undecided, judges = result.run, [], list[Any]()
    repeated = read.repeated
    if repeated is not None and not repeated.encoding.numeric:
        found = repeated.reconcile()
        silent = np.setdiff1d(np.arange(len(repeated.tasks)), found.loc[found["label"] != NO_LABEL, "task"])
        undecided, heard = repeated.tasks.take(silent).tolist(), {*run.workers.tolist()}
        judges = [each for each in repeated.judges.take(np.unique(found["judge"])).tolist() if each not in heard]
    unread, total = read.find_unread(result.summary)
    rows = unread.judges[unread.judges["unreadable"] > 0].sort_values("unreadable", ascending=False, kind="stable")
    counts = np.bincount(result.found.joined().found["verdict"], minlength=len(OUTCOMES)).tolist()
    outcomes = OutcomeCounts(
        classes=counts[CLASS],
        ties=counts[TIE],
        inconclusive=counts[INCONCLUSIVE] + len(undecided),
        unreadable=counts[UNREADABLE] + len(unread.tasks),
        scores=counts[SCORE],
        undecided=len(undecided),
        undecided_judges=tuple(judges),
        tie=None if tie == NO_LABEL else run.encoding.decode(np.array([tie])).tolist()[0],
        quorum=quorum,
        below_quorum=None if quorum is None else int(result.found.total("few")),
    )
    named = tuple(
        UnreadableJudge(judge=judge, unreadable=n, asked=asked, share=n / asked)
        for judge, n, asked in rows.head(MAX_NAMED).itertuples()
    )
    unreadable = UnreadableCounts(verdicts=total, judges=len(rows), tasks=len(unread.tasks), named=named)
    columns = {}
    if unread.is_known:
        by_judge = unread.judges["unreadable"].reindex(list(map(str, run.workers.tolist())), fill_value=0)
        columns = {"unreadable": by_judge.to_numpy()}
    parts = [Statistics({"outcomes": outcomes}), Statistics({"unreadable": unreadable}, {}, columns)]
    return parts, undecided, list(unread.tasks)


def read_verdicts(
    answers: Any, asked: AskDesign, how: ReadOptions, *, domain: str | Domain | None, gold: dict[str, Any]
) -> Reading:
    """Read answers, and reconcile rows into one verdict per judge and task if necessary."""
    needs_rows = bool(asked.names or asked.verdicts)
    if isinstance(answers, Answers):
        if needs_rows:
            name = next(iter(asked.names.values()), "verdicts")
            raise OptionError(f"The answers were already read without {name!r}. Pass the file or table instead.")
        return Reading(answers, gold | {"domain": domain, **how})
    given: dict[str, Any] = {"domain": domain, **how} if isinstance(answers, Scan) else {}
    usual: ReadOptions = {"missing": "drop", **how}
    source = answers if isinstance(answers, Scan) else scan(answers, domain=domain, **usual)
    ask_about_repeats(source, asked)
    if not needs_rows:
        return Reading(source, gold | given, source)
    opened, known = open_source(source, **gold, **given)
    assert isinstance(opened, Scan)
    merged, repeated, unread = read_rows(opened, asked)
    found = repeated.reconcile()
    if not repeated.encoding.numeric and (found["label"] == NO_LABEL).all():
        name = repeated.verdicts_name
        other = f" Check whether verdicts name {name} (verdicts_name)." if name else ""
        raise InputError(f"No verdicts left: every judge gave contradictory answers on every task.{other}")
    heard = found if repeated.encoding.numeric else found[found["label"] != NO_LABEL]
    task, tasks = only_used(heard["task"].to_numpy(np.int32), merged.tasks)
    judge, judges = only_used(heard["judge"].to_numpy(np.int32), repeated.judges)
    starts = np.concatenate([[0], np.cumsum(np.bincount(task, minlength=len(tasks)))])
    label = heard["label"].to_numpy().astype(merged.label.dtype)
    one = replace(merged, workers=judges, tasks=tasks, starts=starts, worker=judge, label=label, frame=opened.frame)
    return Reading(one, {"gold": known}, opened, repeated, unread)


def read_rows(source: Scan, asked: AskDesign) -> tuple[Answers, RepeatedVerdicts, Unreadable]:
    """Read verdicts in all orders and samples, with labels that name the same answer in both orders."""
    if source.unpacked > free_memory() / 2:
        raise UnsupportedError(
            "Orders, samples and a list of verdicts are processed in memory, but these files need more than half of"
            " the free memory. Merge the rows per judge and task first."
        )
    if source.domain is None and (asked.order is not None or asked.verdicts):
        source = replace(source, domain=Categorical())  # verdicts on pairs, or from a list, are classes
    with asking(source):
        table, picked, guessed = source.opened()
        columns = _load_columns(table, picked, asked)
        cleaning = source.suited(table).cleaning
        if asked.verdicts:
            columns["label"] = _only_verdicts(columns["label"], cleaning, asked.verdicts)
        unread = find_unreadable([columns], cleaning, blank_counts=source.wide is None)
        judge, judges = columns["worker"].factors
        order, first_order = _find_order(columns, asked.order)
        sample = columns["sample"].factors[0] if "sample" in columns else np.zeros(len(judge), np.int32)
        who = list(zip(judge.tolist(), order.tolist(), sample.tolist(), strict=True))
        made = {"worker": Column("worker", who), "task": columns["task"], "label": columns["label"]}
        whole = table.loaded_by(lambda names: {name: made[name] for name in names}, names=list(made), roles={})
        answers = source.finish(whole, {role: role for role in made}, guessed)
    encoding = answers.encoding
    if not encoding.nominal and not (encoding.numeric and asked.order is None):
        raise UnsupportedError(
            f"Repeated verdicts can be merged for classes and numbers, but these are {answers.domain.name} labels."
            " Read them as classes with domain='categorical', or take the mean of numeric levels with domain='real'."
        )
    own = np.array(answers.workers.tolist(), np.intp)[answers.worker]
    label = answers.label if encoding.numeric else answers.label.astype(np.intp)
    task = np.repeat(np.arange(answers.n_tasks), np.diff(answers.starts))
    rows = pd.DataFrame({"task": task, "judge": own[:, 0], "order": own[:, 1], "label": label})
    tie = find_tie(encoding, asked.tie)
    repeated = RepeatedVerdicts(rows, answers.tasks, judges, encoding, tie, first_order=first_order)
    return answers, repeated if asked.order is None else repeated.name_answers(asked.verdicts_name), unread


def _load_columns(table: Source, picked: Mapping[str, str], asked: AskDesign) -> dict[str, Column]:
    for option, name in asked.names.items():
        if name not in table.names:
            right = Proposal({option: find_close(name, table.names)})
            raise ColumnError(
                f"{table.where} has no column {name!r}. Columns: {list_names(table.names)}.", proposals=[right]
            )
        if name in picked.values():
            role = next(role for role, other in picked.items() if other == name)
            raise OptionError(f"The column {name!r} is already the {role}. Name another column, or another {role}.")
    loaded = table.load([*picked.values(), *asked.names.values()])
    columns = {role: table.column(role, loaded[name]) for role, name in {**picked, **asked.names}.items()}
    for role, column in columns.items():
        if role != "label":
            check_ids(column)
    return columns


def _only_verdicts(label: Column, cleaning: Cleaning, verdicts: tuple[Any, ...]) -> Column:
    """Replace labels that are not verdicts by None."""

    def write_key(value: Any) -> Any:
        return match_key((cleaning.spelling(value) or value) if isinstance(value, str) else value)

    known = {write_key(str(each)) for each in verdicts}
    label = cleaning.map_labels(label)
    values = _list_values(label)
    found = [value if value is not None and write_key(value) in known else None for value in values]
    given = list(dict.fromkeys(str(value) for value in values if str(value or "").strip()))
    if given and not any(value is not None for value in found):
        raise OptionError(
            f"No label is one of the verdicts {list_names(list(map(str, verdicts)))}. Labels:"
            f" {list_names(given[:_MAX_LISTED])}."
        )
    column = Column.of_objects("label", found)
    column.text, column.na = label.text, label.na
    return column


def _find_order(columns: Mapping[str, Column], name: str | None) -> tuple[npt.NDArray[Any], str]:
    """Return the order of each row, 0 or 1, and the name of the first order."""
    if name is None:
        return np.zeros(len(columns["label"]), np.int32), ""
    code, values = columns["order"].factors
    names = [str(value) for value in values.tolist()]
    if len(names) != 2:
        listed = list_names(names[:5])
        raise InputError(
            f"The column {name!r} has {count(len(names), 'different value')}, such as {listed}. It needs two."
        )
    return (1 - code, names[1]) if names[0].casefold().startswith(_SWAPPED) else (code, names[0])


def ask_about_repeats(source: Scan, asked: AskDesign) -> None:
    """Raise an error if a column with a usual name distinguishes rows that repeat a judge and a task."""
    if source.wide is not None or source.duplicates is not None:
        return
    try:
        table, picked, _ = source.opened()
    except AllalikeError:  # raised again when reading
        return
    keys = [picked["worker"], picked["task"], *(name for name in asked.names.values() if name in table.names)]
    free = {name.casefold(): name for name in table.names if name not in {*picked.values(), *keys}}
    usual = {role: next((free[name] for name in names if name in free), None) for role, names in _USUAL.items()}
    if not any(usual.values()):
        return
    sample = table.sample(_SAMPLE_ROWS, [*keys, *filter(None, usual.values())])
    rows = pd.DataFrame({name: list(map(str, cells(data))) for name, data in sample.items()})
    repeats = left = int(rows.duplicated(keys).sum())
    options: dict[str, str] = {}
    for role, name in usual.items():
        if name is None or role in asked.names or (role == "order" and rows[name].nunique() != 2):
            continue
        fewer = int(rows.duplicated([*keys, name]).sum())
        if fewer < left:
            keys, left, options[role] = [*keys, name], fewer, name
    if options and left <= repeats / 2:
        named = " and ".join(repr(name) for name in options.values())
        raise InputError(
            f"{repeats:,} of {len(rows):,} rows repeat a judge and a task, and {named}"
            f" distinguish{'es' if len(options) == 1 else ''} them.",
            proposals=[Proposal(options), Proposal({"duplicates": "first"})],
        )


def read_groups(
    answers: Any, by: str, *, domain: str | Domain | None = None, **how: Unpack[ReadOptions]
) -> tuple[Scan, dict[str, str]]:
    """Return the scan of the answers, and the value of a column per task, such as a topic or a language."""
    source, _ = open_source(answers, None, domain=domain, **how)
    if isinstance(source, Answers):
        raise OptionError(f"The answers were already read without the column {by!r}. Pass the file or table instead.")
    value: dict[str, str] = {}
    for part in source.beside(by, by=True):
        (task, ids), (group, names) = part["task"].factors, part["label"].factors
        for place, number in np.unique(np.stack([task, group]), axis=1).T.tolist():
            id_, name = str(ids.tolist()[place]), str(names.tolist()[number])
            if value.setdefault(id_, name) != name:
                raise InputError(
                    f"The task {id_!r} is in two groups of {by!r}, {value[id_]!r} and {name!r}. Name a column with the"
                    " same value in all rows of a task."
                )
    if source.wide is not None:  # the column is not a judge
        source = replace(source, exclude=(*source.exclude, by))
    return source, value
