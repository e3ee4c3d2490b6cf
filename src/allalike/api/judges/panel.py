"""Panel: what a jury decided, how sure it is, who is wrong with whom, who is needed, and what it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import Values, frame_of, text_column
from allalike._core.words import count
from allalike.api.results.tables import trust_columns, worker_columns
from allalike.telling.summary import Summary

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from allalike._core.blocks.block import Array, Floats
    from allalike.api.judges.coverage import Coverage, Sureness
    from allalike.api.judges.panel_sizes import Sizes
    from allalike.api.judges.shared_errors import SharedErrors
    from allalike.api.result import Result

__all__ = ["Panel"]

_MAX_NAMED = 20  # pairs and groups that a summary names
_DIGITS = 6


@dataclass(frozen=True, repr=False)
class Panel:
    """The verdicts of a panel of judges, and what is known of the judges.

    What agreement cannot tell it does not say: errors that all judges share look like truth, and judges of one family
    agree with themselves. Known truths (``gold``) show both.

    Parameters
    ----------
    result
        The truths and workers, as `allalike.discover` finds them.
    shared_errors
        How often each two judges gave the same wrong label.
    panels
        What panels of each size are worth.
    by_gold
        Whether known truths say what panels are worth, and not the probabilities of the whole panel.
    tasks
        How sure the panel is of each task when it does not know truths, and whether it is right.
    answered
        How many tasks it answers at each level, and how often it is right.
    keep
        Which share of the whole panel's worth the smallest one keeps.
    prices
        What an answer of each judge costs, if it is known.

    >>> import allalike
    >>> said = {"ada": "xxyyzxyzyx", "bob": "xxyyzxyyyx", "eve": "xyyyzxxzyx", "kim": "yzxxzyyxyy"}
    >>> rows = [(judge, task, label) for judge, labels in said.items() for task, label in enumerate(labels)]
    >>> panel = allalike.jury(rows, prices={"ada": 0.02, "bob": 0.01, "eve": 0.01, "kim": 0.001})
    >>> "".join(panel.truth["label"]), panel.smallest
    ('xxyyzxyzyx', ['ada'])
    >>> panel.judges.columns.tolist()[-4:]
    ['in_smallest', 'price', 'cost', 'cost_per_correct']
    """

    result: Result
    shared_errors: SharedErrors
    panels: Sizes
    by_gold: bool
    tasks: Sureness
    answered: Coverage
    keep: float
    prices: Floats | None = None

    def __repr__(self) -> str:
        found = self.summary["panel"]
        few, (answers, many, tasks) = found["smallest"]["size"], Summary.from_dict(self.result.summary).counts
        right = "known" if self.by_gold else "expected"
        lines = [
            f"Panel of {count(many, 'judge')}: {count(answers, 'verdict')},"
            f" {count(tasks, 'task')}, {right} to be right {100 * self.panels.whole:.3g} % of the time.",
            f"{few:,} of {many:,} keep{'s' if few == 1 else ''} {100 * found['smallest']['kept']:.3g} % of that;"
            f" {found['pairs']['found']:,} of {found['pairs']['looked_at']:,} pairs are wrong together.",
        ]
        return "\n".join([*lines, 'See .truth, .judges, .pairs, .sizes, .coverage, .summary, .save("folder").'])

    @property
    def truth(self) -> pd.DataFrame:
        """One row per task: task, label (empty where the panel abstains), confidence, answers, unweighted, changed."""
        return self.result.truth

    @cached_property
    def judges(self) -> pd.DataFrame:
        """One row per judge: answers, error_rate with limits, accuracy on known truths, weight, group, price and cost.

        ``group`` numbers those who have one voice, ``wrong_together`` those whom pairs connect that are wrong together.
        """
        return frame_of(self._judge_columns())

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """One row per pair of judges, the most improbable first: how often both gave the same wrong label.

        >>> import allalike
        >>> rows = [(judge, task, "x" if judge == "ada" else "y") for judge in ("ada", "bob", "eve") for task in (1, 2)]
        >>> allalike.jury(rows).pairs.columns.tolist()[:6]
        ['judge', 'other', 'common', 'wrong', 'other_wrong', 'both_wrong']
        """
        return frame_of(self._pair_columns())

    @cached_property
    def sizes(self) -> pd.DataFrame:
        """One row per size of a panel: its best judges, what it is worth on tasks that did not choose it, its costs."""
        return frame_of(self._size_columns())

    @cached_property
    def coverage(self) -> pd.DataFrame:
        """One row per level: the share of tasks that are as sure, how often they are expected to be right, and are."""
        return frame_of(self.answered.columns())

    @property
    def smallest(self) -> list[Any]:
        """The judges of the smallest panel that keeps nearly all."""
        return [self.result.run.workers[judge] for judge in self._smallest]

    @property
    def _smallest(self) -> tuple[int, ...]:
        return self.panels.members[self.panels.smallest(self.keep)]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All numbers as what JSON can hold, and the pairs and groups that are named; unknown is None."""
        return {**self.result.summary, "panel": _rounded(self._describe())}

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
        ...     [path.name for path in panel.save(folder + "/out")][4:]
        ['judges.csv', 'pairs.csv', 'sizes.csv', 'coverage.csv', 'summary.json']
        """
        tables: dict[str, Mapping[str, Values | Array]] = {
            "judges": self._judge_columns(),
            "pairs": self._pair_columns(),
            "sizes": self._size_columns(),
            "coverage": self.answered.columns(),
        }
        notes = {"panel": self.summary["panel"]}
        how: dict[str, Any] = {"format": format, "overwrite": overwrite, "report": report, "safe_csv": safe_csv}
        return self.result.save_with(tables, notes, folder, **how)

    def _judge_columns(self) -> dict[str, Values | Array]:
        run, weighing = self.result.run, self.result.weighing
        told = worker_columns(run, weighing)
        names = ("worker", "answers", "error_rate", "low", "high")
        together = np.full(len(run.workers), "", dtype=object)
        for number, group in enumerate(self.shared_errors.groups(len(together)), 1):
            together[group] = str(number)
        members = np.isin(np.arange(len(together)), self._smallest)
        columns: dict[str, Values | Array] = {
            **{name: told[name] for name in names if name in told},
            "accuracy": self._accuracy,
            "weight": weighing.weight,
            **({"group": voices} if (voices := trust_columns(weighing.insight).get("group")) is not None else {}),
            "wrong_together": text_column(together.tolist()),
            "in_smallest": members,
        }
        if self.prices is None:
            return columns
        return {**columns, "price": self.prices, "cost": self.prices * run.answer_counts, **self._costs_of_judges()}

    @cached_property
    def _accuracy(self) -> Floats:
        """Of each judge: how often she is right where the truth is known; NaN where it is not."""
        run = self.result.run
        sums = run.sum(run.kernels.gold_sums)
        asked = sums["answers"]
        return np.where(asked > 0, 1 - sums["distance"] / np.maximum(asked, 1), np.nan)

    def _costs_of_judges(self) -> dict[str, Array]:
        assert self.prices is not None
        told = worker_columns(self.result.run, self.result.weighing)
        right = self._accuracy if self.by_gold else 1 - np.asarray(told["error_rate"])
        return {"cost_per_correct": _divide(self.prices, right)}

    def _pair_columns(self) -> dict[str, Values | Array]:
        found, ids = self.shared_errors, self.result.run.workers
        order = np.lexsort((found.right, found.left, found.probability))
        ratio = _divide(found.together, found.expected)
        return {
            "judge": text_column([str(ids[int(judge)]) for judge in found.left[order]]),
            "other": text_column([str(ids[int(judge)]) for judge in found.right[order]]),
            "common": found.common[order].astype(np.int64),
            "wrong": found.wrong_left[order].astype(np.int64),
            "other_wrong": found.wrong_right[order].astype(np.int64),
            "both_wrong": found.both_wrong[order].astype(np.int64),
            "together": found.together[order].astype(np.int64),
            "expected": found.expected[order],
            "ratio": ratio[order],
            "low": found.low[order],
            "high": found.high[order],
            "probability": found.probability[order],
            "wrong_together": found.found[order],
        }

    def _size_columns(self) -> dict[str, Values | Array]:
        found, ids = self.panels, self.result.run.workers
        columns: dict[str, Values | Array] = {
            "size": np.array([len(members) for members in found.members]),
            "members": text_column(["; ".join(str(ids[judge]) for judge in members) for members in found.members]),
            "accuracy": found.worth,
            "kept": _divide(found.worth, np.full(len(found.worth), found.whole)),
            "lost_low": found.low,
            "lost_high": found.high,
            "agreement": found.agreement,
        }
        if self.prices is None:
            return columns
        cost = np.array([self._cost_of(members) for members in found.members])
        correct = found.worth * self.result.run.n_tasks
        return {**columns, "cost": cost, "cost_per_correct": _divide(cost, correct)}

    def _cost_of(self, members: tuple[int, ...]) -> float:
        assert self.prices is not None
        judges = list(members)
        return float((self.prices[judges] * self.result.run.answer_counts[judges]).sum())

    def _describe(self) -> dict[str, Any]:
        place, found = self.panels.smallest(self.keep), self.panels
        sure = self.tasks.mended()
        return {
            "accuracy_from": "gold" if self.by_gold else "panel",
            "accuracy": found.whole,
            "calibration_error": {"own": self.tasks.calibration_error(), "mended": sure.calibration_error()},
            "coverage": [dict(zip(self.answered.columns(), row, strict=True)) for row in self._levels()],
            "smallest": {
                "size": len(found.members[place]),
                "members": self.smallest,
                "keep": self.keep,
                "accuracy": float(found.worth[place]),
                "kept": float(found.worth[place] / found.whole) if found.whole else 1.0,
                "lost": [float(found.low[place]), float(found.high[place])],
                "agreement": float(found.agreement[place]),
            },
            "pairs": self._describe_pairs(),
            **({} if self.prices is None else {"cost": self._describe_costs(place)}),
        }

    def _levels(self) -> list[list[float]]:
        rows: list[list[float]] = np.column_stack(list(self.answered.columns().values())).tolist()
        return rows

    def _describe_pairs(self) -> dict[str, Any]:
        columns, ids = self._pair_columns(), self.result.run.workers
        number = int(self.shared_errors.found.sum())
        names = ("judge", "other", "together", "expected", "low", "high", "probability")
        rows = zip(*(columns[name].tolist() for name in names), strict=True)
        found = [dict(zip(names, row, strict=True)) for row in rows]
        groups = self.shared_errors.groups(len(ids))
        return {
            "looked_at": len(self.shared_errors.left),
            "found": number,
            "tasks": self.shared_errors.n_tasks,
            "named": [row for row, bound in zip(found, columns["wrong_together"].tolist(), strict=True) if bound][
                :_MAX_NAMED
            ],
            "groups": [[ids[judge] for judge in group] for group in groups[:_MAX_NAMED]],
        }

    def _describe_costs(self, place: int) -> dict[str, Any]:
        everybody = self._cost_of(tuple(range(len(self.result.run.workers))))
        few, tasks = self._cost_of(self.panels.members[place]), self.result.run.n_tasks
        return {
            "panel": everybody,
            "panel_per_correct": _ratio(everybody, tasks * self.panels.whole),
            "smallest": few,
            "smallest_per_correct": _ratio(few, tasks * float(self.panels.worth[place])),
        }


def _divide(upper: Floats, lower: Floats) -> Floats:
    """Divide, with NaN where there is nothing to divide by."""
    known = lower > 0
    return np.where(known, upper / np.where(known, lower, 1.0), np.nan)


def _ratio(upper: float, lower: float) -> float:
    return upper / lower if lower > 0 else math.nan


def _rounded(value: Any) -> Any:
    """Return notes with six digits of each number, and None for what is not known."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value
