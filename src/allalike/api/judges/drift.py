"""Drift: what changed since an earlier panel, judges and rate, as a panel tells of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import text_column
from allalike.api.judges.changes import SIGNIFICANT, Change, Said, adjust, compare_said, line_up
from allalike.api.judges.finding import divide
from allalike.api.judges.prevalence import Rate, subtract_rates
from allalike.api.judges.score_changes import compare_scores
from allalike.api.judges.task_verdicts import choose_good
from allalike.api.judges.verdicts import NOBODY
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Floats
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.kept_verdicts import Earlier, KeptVerdicts
    from allalike.domains import Encoding

__all__ = ["Drift"]

_MAX_NAMED = 20  # changes, and judges who came or went, in a summary


@dataclass(frozen=True)
class Drift:
    """What changed since an earlier panel.

    Parameters
    ----------
    earlier, kept
        The verdicts of the earlier panel and of this one.
    judges
        Who the judges of this one are.
    encoding
        What the labels of this one have in common.
    good
        The labels that make the rate, if there is one.
    rate
        The rate of this panel.
    """

    earlier: Earlier
    kept: KeptVerdicts
    judges: Sequence[str]
    encoding: Encoding
    good: Sequence[Any] | None = None
    rate: Rate | None = None

    @cached_property
    def said(self) -> Said:
        """Return the verdicts of both side by side."""
        said = line_up(self.earlier.verdicts, self.kept)
        if not said.judges:
            raise InputError(
                f"No judge of the panel in {self.earlier.folder} is in this one, so that nobody can have changed. Its"
                f" judges are: {', '.join(sorted({*self.earlier.verdicts.judge})[:_MAX_NAMED])}."
            )
        return said

    @cached_property
    def changes(self) -> list[Change]:
        """Return all tests."""
        if self.encoding.nominal:
            return compare_said(self.said, self._good_labels)
        return compare_scores(self.said, self._numbers)

    @cached_property
    def _numbers(self) -> Floats:
        """The number that each label of both panels stands for; of levels their place."""
        encoding, labels = self.encoding, self.said.labels
        try:
            if encoding.n_classes is None:
                return np.array([*map(float, labels)])
            levels = encoding.decode(np.arange(encoding.n_labels)).tolist()
            place = {str(level): float(code) for code, level in enumerate(levels)}
            return np.array([place[label] for label in labels])
        except (KeyError, ValueError) as error:
            raise InputError(
                f"The panel in {self.earlier.folder} has a label that is none of these: {error}. Name all levels of"
                " both panels: domain='ordinal(levels=[...])'."
            ) from None

    @cached_property
    def _good_labels(self) -> list[str] | None:
        """The labels of both panels that are good."""
        if self.good is None or self.encoding.nominal:
            return None if self.good is None else [*map(str, self.good)]
        is_good = choose_good(self.encoding, self.good)(self._numbers)
        return [label for label, here in zip(self.said.labels, is_good, strict=True) if here]

    @cached_property
    def probability(self) -> Floats:
        """How probable each change is, for all tests together."""
        return adjust(np.array([each.probability for each in self.changes]))

    def describe(self) -> dict[str, Any]:
        """Name the judges who changed, and tell what became of the rate."""
        then, now = {*self.earlier.verdicts.judge}, {*self.kept.judge}
        rows = self._rows()
        found = [row for row in rows if row["found"]]
        told = {
            "since": self.earlier.folder,
            "judges": len(self.said.judges),
            "shared_tasks": int(self.said.shared.sum()),
            "tests": len(rows),
            "found": len(found),
            "drifted": [self.said.judges[judge] for judge in self._drifted],
            "named": found[:_MAX_NAMED],
            "new_judges": sorted(now - then)[:_MAX_NAMED],
            "gone_judges": sorted(then - now)[:_MAX_NAMED],
        }
        return {"drift": {**told, **self._describe_rate()}}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each test, the most improbable first."""
        rows = self._rows()
        texts = ("judge", "group", "tasks", "what")
        columns: dict[str, Any] = {name: text_column([row[name] for row in rows]) for name in texts}
        numbers = ("before", "now", "low", "high", "n_before", "n_now", "probability", "found")
        kinds = (float, float, float, float, int, int, float, bool)
        columns |= {
            name: np.array([row[name] for row in rows], kind) for name, kind in zip(numbers, kinds, strict=True)
        }
        return {"drift": columns}

    def judge_columns(self) -> Columns:
        """Return on which share of the tasks in both panels each judge says something else, and whether she drifted."""
        said = self.said
        both = (said.then != NOBODY) & (said.now != NOBODY)
        other = (both & (said.then != said.now)).sum(axis=0)
        shares = divide(other.astype(np.float64), both.sum(axis=0).astype(np.float64))
        changed = dict(zip(said.judges, shares.tolist(), strict=True))
        drifted = {said.judges[judge] for judge in self._drifted}
        return {
            "changed": np.array([changed.get(judge, math.nan) for judge in self.judges]),
            "drifted": np.array([judge in drifted for judge in self.judges]),
        }

    @cached_property
    def _drifted(self) -> list[int]:
        found = self.probability < SIGNIFICANT
        return sorted({each.judge for each, is_found in zip(self.changes, found, strict=True) if is_found})

    def _rows(self) -> list[dict[str, Any]]:
        order = np.argsort(self.probability, kind="stable").tolist()
        found, judges = self.probability < SIGNIFICANT, self.said.judges
        return [
            {
                **self.changes[place]._asdict(),
                "judge": judges[self.changes[place].judge],
                "probability": float(self.probability[place]),
                "found": bool(found[place]),
            }
            for place in order
        ]

    def _describe_rate(self) -> dict[str, Any]:
        before = self.earlier.rate
        good = self._good_labels
        if self.rate is None or self.good is None or good is None or before is None:
            return {}
        if sorted(map(str, before["good"])) != sorted(map(str, self.good)):
            return {"rate": {"other_good": before["good"]}}
        then, now = _read_rate(before), self.rate
        told = {"before": then.describe(), "now": now.describe(), "difference": subtract_rates(now, then).describe()}
        effect = _find_effect(self.said, good, self._drifted)
        return {"rate": {**told, **({} if effect is None else {"effect": effect})}}


def _read_rate(told: Mapping[str, Any]) -> Rate:
    return Rate(*(math.nan if told[name] is None else float(told[name]) for name in Rate._fields))


def _find_effect(said: Said, good: Sequence[str], drifted: Sequence[int]) -> float | None:
    """Return by how much changed judges move the share that a vote calls good, on tasks that both panels have seen."""
    shared = said.only(said.shared)
    if not drifted or not len(shared.tasks):
        return None
    is_good = np.array([*(label in good for label in said.labels), False])
    back = shared.now.copy()
    for judge in drifted:
        back[:, judge] = np.where(shared.then[:, judge] == NOBODY, back[:, judge], shared.then[:, judge])
    return _vote(shared.now, is_good) - _vote(back, is_good)


def _vote(said: npt.NDArray[np.intp], is_good: npt.NDArray[np.bool_]) -> float:
    """Return the share of tasks that most judges call good; half a task where as many do as do not."""
    for_it = is_good[said].sum(axis=1) - 0.5 * (said != NOBODY).sum(axis=1)
    return float((0.5 + 0.5 * np.sign(for_it)).mean())
