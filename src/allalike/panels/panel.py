"""The panel of judges, and the facts that its modules find beside the verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.columns.factors import order_of
from allalike._core.columns.values import Values, text_column
from allalike._core.words import count
from allalike.errors import UnsupportedError
from allalike.frames import Frame, Framed
from allalike.result.saving import write_page
from allalike.result.tables import trust_columns, truth_columns, worker_columns
from allalike.result.targets import REPORT
from allalike.telling.schemas import name_schema
from allalike.telling.summary import Summary

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import pandas as pd

    from allalike._core.blocks.block import Array
    from allalike.engines import Run
    from allalike.report.material import Material
    from allalike.result.result import Result

    Columns = Mapping[str, Values | Array]

_DIGITS = 6
_LIMITS = ("low", "high")


class PanelFacts(NamedTuple):
    """Part of what is known of a panel: notes for the summary, whole tables, and columns of the table of judges."""

    notes: Mapping[str, Any]
    tables: Mapping[str, Columns] = MappingProxyType({})
    judges: Columns = MappingProxyType({})

    @classmethod
    def join(cls, parts: Iterable[PanelFacts]) -> PanelFacts:
        """Put facts together, the first parts first."""
        notes: dict[str, Any] = {}
        tables: dict[str, Columns] = {}
        judges: dict[str, Values | Array] = {}
        for part in parts:
            notes |= part.notes
            tables |= part.tables
            judges |= part.judges
        return cls(notes, tables, judges)


def list_columns(frame: pd.DataFrame) -> dict[str, Values | Array]:
    """Return the columns of a frame as those of a table to be saved; all but numbers is text."""
    columns: dict[str, Values | Array] = {}
    for name, column in frame.items():
        is_number = column.dtype.kind in "biuf"
        columns[str(name)] = column.to_numpy() if is_number else text_column(column.tolist())
    return columns


@dataclass(frozen=True, repr=False)
class Panel(Framed[Frame]):
    """The verdicts of a panel of judges, and statistics of the judges.

    Agreement cannot show everything: errors that all judges share look like truth, and judges of one model family agree
    with each other. Gold labels (``gold``) show both.

    Parameters
    ----------
    result
        The truths and workers, as `allalike.discover` finds them.
    facts
        Correlated errors, smaller panels and all other statistics of the judges.
    undecided, unreadable
        The tasks on which every judge contradicts itself, and those of which no verdict can be read.

    >>> import allalike
    >>> said = {"ada": "xxyyzxyzyx", "bob": "xxyyzxyyyx", "eve": "xyyyzxxzyx", "kim": "yzxxzyyxyy"}
    >>> rows = [(judge, task, label) for judge, labels in said.items() for task, label in enumerate(labels)]
    >>> panel = allalike.jury(rows, prices={"ada": 0.02, "bob": 0.01, "eve": 0.01, "kim": 0.001})
    >>> "".join(panel.truth["label"]), panel.smallest
    ('xxyyzxyzyx', ['ada'])
    >>> panel.judges.columns.tolist()[-3:]
    ['decides', 'decides_right', 'adds_voices']
    """

    result: Result[Frame]
    facts: PanelFacts
    undecided: Sequence[Any] = ()
    unreadable: Sequence[Any] = ()

    @property
    def run(self) -> Run:  # type: ignore[override]
        """The answers, where they are."""
        return self.result.run

    def tables_as(self, frame: str) -> Any:
        """Return the same with tables of another kind of frame: pandas, polars, arrow or datasets."""
        return replace(self, result=self.result.tables_as(frame))

    def __repr__(self) -> str:
        found = self.summary["panel"]
        few, (answers, many, tasks) = found["smallest"]["size"], Summary.from_dict(self.result.summary).counts
        lines = [
            f"Panel of {count(many, 'judge')}: {count(answers, 'verdict')}, {count(tasks, 'task')}{_say_worth(found)}.",
            f"{few:,} of {many:,} keep{'s' if few == 1 else ''} {100 * found['smallest']['kept']:.3g} % of that;"
            f" {found['pairs']['found']:,} of {found['pairs']['looked_at']:,} pairs are wrong together.",
        ]
        see = 'See .truth, .judges, .pairs, .sizes, .pivotal, .summary, .report("report.html"), .save("folder").'
        return "\n".join([*lines, see])

    @cached_property
    def truth(self) -> Frame:
        """One row per task: task, label, verdict, confidence, answers, unweighted, changed.

        The ``verdict`` is a class or a score, a tie, inconclusive or unreadable; the last two have no label.
        """
        truth = self._silent_truths()
        return self.result.truth if truth is None else self._dress(truth)

    @cached_property
    def judges(self) -> Frame:
        """One row per judge: answers, error with limits, weight, group, what known truths say, price and cost.

        The error is ``error_rate`` of classes, ``rmse`` of squared distances, else ``fault``. ``group`` numbers those
        who have one voice, ``wrong_together`` those whom pairs connect that are wrong together. ``decides`` counts the
        tasks whose verdict turns without her, and ``adds_voices`` is what she adds to the panel's independent voices.
        """
        return self._dress(self._judge_columns)

    @cached_property
    def pairs(self) -> Frame:
        """One row per pair of judges, the most improbable first: how often both gave the same wrong label.

        >>> import allalike
        >>> rows = [(judge, task, "x" if judge == "ada" else "y") for judge in ("ada", "bob", "eve") for task in (1, 2)]
        >>> allalike.jury(rows).pairs.columns.tolist()[:6]
        ['judge', 'other', 'common', 'wrong', 'other_wrong', 'both_wrong']
        """
        return self._dress(self._tables["pairs"])

    @cached_property
    def sizes(self) -> Frame:
        """One row per size of a panel: its best judges, what it is worth on tasks that did not choose it, its costs."""
        return self._dress(self._tables["sizes"])

    @cached_property
    def coverage(self) -> Frame:
        """One row per level: the share of tasks that are as sure, how often they are expected to be right, and are.

        Only classes have it; of all other labels it is empty.
        """
        return self._dress(self._tables.get("coverage", {}))

    @cached_property
    def pivotal(self) -> Frame:
        """One row per task whose verdict turns without one judge, the least sure first: task, and who decides it.

        >>> import allalike
        >>> said = {"ada": "xxyy", "bob": "xxyx", "eve": "xxxy"}
        >>> rows = [(judge, task, label) for judge, labels in said.items() for task, label in enumerate(labels)]
        >>> allalike.jury(rows).pivotal[["task", "decided_by"]].sort_values("task").to_numpy().tolist()
        [[2, 'ada'], [3, 'ada']]
        """
        return self._dress(self._tables["pivotal"])

    @cached_property
    def rates(self) -> Frame:
        """One row for all tasks and one per group: the rate of what is good, with limits; empty if nothing is.

        >>> import allalike
        >>> rows = [(judge, task, "yes" if task < 3 else "no") for judge in ("ada", "bob", "eve") for task in range(4)]
        >>> allalike.jury(rows, gold={0: "yes", 1: "no", 3: "no"}, good="yes").rates[["tasks", "apparent", "rate"]]
           tasks  apparent   rate
        0      4      0.75  0.375
        """
        return self._dress(self._tables.get("rates", {}))

    @cached_property
    def ask(self) -> Frame:
        """One row per task whose truth to find out next, so that the rate is better known; empty if there is none."""
        return self._dress(self._tables.get("ask", {}))

    @cached_property
    def drift(self) -> Frame:
        """One row per test of a judge since an earlier panel, the most improbable first; empty without such a panel."""
        return self._dress(self._tables.get("drift", {}))

    @cached_property
    def orders(self) -> Frame:
        """One row per judge: how often she says the same in both orders of a pair, and her position bias with limits.

        >>> import allalike
        >>> rows = {"judge": [*"aabb"], "item": [1] * 4, "said": [*"xxxy"], "shown": [*"pqpq"]}
        >>> allalike.jury(rows, columns={"label": "said"}, order="shown", about="answers").orders["same"].tolist()
        [1.0, 0.0]
        """
        return self._frame("orders", "order")

    @cached_property
    def samples(self) -> Frame:
        """One row per judge, the panel first, and number of samples: how often it is right, and what it keeps.

        >>> import allalike
        >>> rows = {"judge": [*"aabb"], "item": [1] * 4, "said": [*"xxxx"], "epoch": [1, 2, 1, 2]}
        >>> allalike.jury(rows, columns={"label": "said"}, sample="epoch").samples["kept"].tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        """
        return self._frame("samples", "sample")

    def _frame(self, name: str, option: str) -> Frame:
        if name not in self._tables:
            raise UnsupportedError(f"Nothing is known about {name}. Name their column with {option}= of allalike.jury.")
        return self._dress(self._tables[name])

    @property
    def smallest(self) -> list[Any]:
        """The judges of the smallest panel that keeps nearly all."""
        members: list[Any] = self.summary["panel"]["smallest"]["members"]
        return members

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All numbers as what JSON can hold, and the pairs and groups that are named; unknown is None."""
        return {**self.result.summary, "panel": _rounded(self.facts.notes)}

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        format: str = "csv",  # noqa: A002
        overwrite: bool = False,
        report: bool = False,
        safe_csv: bool = False,
    ) -> list[Path]:
        """Write the files of the result and the tables of the panel into a folder, whole or not at all.

        Parameters
        ----------
        folder, format, overwrite, report, safe_csv
            As `Result.save` has them.

        >>> import allalike, tempfile
        >>> panel = allalike.jury([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in panel.save(folder + "/out")][6:]
        ['judges.csv', 'coverage.csv', 'pairs.csv', 'sizes.csv', 'pivotal.csv', 'verdicts.csv', 'summary.json']
        """
        truth = self._silent_truths()
        tables = {**({} if truth is None else {"truth": truth}), **self._tables}
        notes = {"schema": name_schema("jury"), "panel": self.summary["panel"]}
        how: dict[str, Any] = {"format": format, "overwrite": overwrite, "report": report, "safe_csv": safe_csv}
        return self.result.save_with(tables, notes, folder, **how)

    def report(self, path: str | os.PathLike[str] = REPORT, *, overwrite: bool = False) -> Path:
        """Write the page of `Result.report` with a part on the panel: what is said of it, a picture, and its tables.

        Parameters
        ----------
        path, overwrite
            As `Result.report` has them.

        >>> import allalike, tempfile
        >>> panel = allalike.jury([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     panel.report(folder + "/seen.html").read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        return write_page(self.material(), path, inputs=self.result.inputs, overwrite=overwrite)

    def material(self) -> Material:
        """Return what a report is made of."""
        return self.result.material_with(self._tables, {"panel": self.summary["panel"]})

    def _silent_truths(self) -> dict[str, Values | Array] | None:
        """Return the columns of the table of truths with the tasks without any verdict, in order, if there are such."""
        silent = [*self.undecided, *self.unreadable]
        if not silent:
            return None
        result = self.result
        columns = truth_columns(result.found.joined(), result.run.encoding, result.weighing)
        tasks = columns["task"]
        assert isinstance(tasks, Values)
        ids = _write_like(tasks, silent)
        order = order_of(Values([*tasks.tolist(), *ids]))
        verdicts = ["inconclusive"] * len(self.undecided) + ["unreadable"] * len(self.unreadable)
        known: dict[str, list[Any]] = {"task": ids, "verdict": verdicts, "answers": [0] * len(silent)}
        return {name: _extend(column, known.get(name), len(silent), order) for name, column in columns.items()}

    @property
    def _tables(self) -> dict[str, Columns]:
        return {"judges": self._judge_columns, **self.facts.tables}

    @property
    def _judge_columns(self) -> dict[str, Values | Array]:
        run, weighing = self.result.run, self.result.weighing
        columns, faults = worker_columns(run, weighing), weighing.insight.faults
        assert faults is not None
        group = trust_columns(weighing.insight).get("group")
        return {
            **{name: columns[name] for name in ("worker", "answers", faults.unit, *_LIMITS)},
            "weight": weighing.weight,
            **({} if group is None else {"group": group}),
            **self.facts.judges,
        }


def _write_like(tasks: Values, others: Sequence[Any]) -> list[Any]:
    """Return ids as others are written: as integers where these are, and otherwise as they came."""
    if all(isinstance(task, int) for task in tasks.tolist()[:1]):
        try:
            return [int(each) for each in others]
        except ValueError:
            pass
    return list(others)


def _extend(column: Values | Array, values: list[Any] | None, n: int, order: Array) -> Values | Array:
    """Append values, or nothing in so many rows, to a column of the same type if they fit, and sort it."""
    import pyarrow as pa

    if isinstance(column, Values):
        more = Values([None] * n if values is None else values)
        if not isinstance(column.data, list):
            with suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
                more = Values(pa.array(more.data, column.data.type))
        return Values.join([column, more]).take(order)
    if values is None:
        values = [False] * n if column.dtype == np.bool_ else [np.nan] * n
    joined: Array = np.concatenate([column, np.array(values)])[order]
    return joined


def _say_worth(found: dict[str, Any]) -> str:
    """Say how good the panel is, as far as that is known."""
    if "accuracy" in found:
        right = "known" if found["accuracy_from"] == "gold" else "expected"
        return f", {right} to be right {100 * found['accuracy']:.3g} % of the time"
    if found["error"] is None:
        return ""
    return (
        f", {found['error_unit']} {found['error']:.3g} {'(known)' if found['worth_from'] == 'gold' else '(expected)'}"
    )


def _rounded(value: Any) -> Any:
    """Return notes with six digits of each number, and None for what is not known."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value
