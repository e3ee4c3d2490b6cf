"""Explanations: why a task has its label, and what a worker is like, as sentences and as tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from allalike._core.words import count
from allalike.result.tables import ERRORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

_N_NAMED = 5  # workers in a sentence, and nearest colleagues
_MAX_LABEL = 40  # characters of a label in a sentence


class Flag(NamedTuple):
    """What is unusual about a worker, and the evidence."""

    name: str
    evidence: str


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TaskExplanation:
    """Why a task has its label; what is not known is NaN.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "y")]
    >>> allalike.discover(rows, method="UA").explain(task=1)
    Task 1: 'x', confidence 0.667; unweighted the same.
    3 answers. By weight 'x' has 0.667 and 'y' has 0.333: a margin of 0.333.
    The label would change without ada or bob; or if one of these said 'y': ada or bob.
    See .answers and .labels.
    """

    task: Any
    truth: Any
    sureness: str
    confidence: float
    ci_low: Any
    ci_high: Any
    standard_error: float
    unweighted: Any
    changed: bool
    tied: bool
    is_gold: bool
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
        parts = self._describe_label(), self._describe_margin(), self._describe_deciding_answers()
        return [sentence for sentence in parts if sentence]

    def _describe_label(self) -> str:
        confidence = "" if math.isnan(self.confidence) else f", {self.sureness} {self.confidence:.3f}"
        if self.ci_low is not None and self.ci_low == self.ci_low:
            low, high = (f"{end:.4g}" if isinstance(end, float) else str(end) for end in (self.ci_low, self.ci_high))
            confidence = f", between {low} and {high} (95 %)"
        notes = {
            "a gold label": self.is_gold,
            "a tie was broken": self.tied,
            "confidence too low": self.abstained,
            f"unweighted {_shorten(self.unweighted)}": self.changed,
            "unweighted the same": not (self.changed or self.tied),
        }
        listed = ", ".join(note for note, applies in notes.items() if applies)
        return f"Task {self.task}: {_shorten(self.truth)}{confidence}; {listed}."

    def _describe_margin(self) -> str:
        number = count(len(self.answers), "answer")
        if math.isnan(self.margin):
            return "" if math.isnan(self.spread) else f"{number}, {self.spread:.4g} from the truth on average."
        if self.runner_up is None:
            return f"{number}, all the same."
        return (
            f"{number}. By {self.measure} {_shorten(self.truth)} has {self.runner_up_score + self.margin:.3f} and"
            f" {_shorten(self.runner_up)} has {self.runner_up_score:.3f}: a margin of {self.margin:.3f}."
        )

    def _describe_deciding_answers(self) -> str:
        if self.is_gold:
            return "This is a gold label, which answers do not change."
        workers = self.answers["worker"]
        if "moves" in self.answers:
            moves = self.answers["moves"]
            if moves.isna().all():
                return ""
            place = int(moves.fillna(-1.0).argmax())
            return f"It moves most without {workers.iloc[place]}: by a distance of {moves.iloc[place]:.4g}."
        if len(self.answers) == 1:
            return f"Only {workers.iloc[0]} answered it."
        left_out, changed = (workers[self.answers[name]].tolist() for name in ("if_left_out", "if_changed"))
        parts = [f"without {_list_or(left_out)}"] if left_out else []
        if changed:
            parts.append(f"if one of these said {_shorten(self.runner_up)}: {_list_or(changed)}")
        if parts:
            return f"The label would change {'; or '.join(parts)}."
        tried = "" if self.n_tried >= len(self.answers) else f" of the {self.n_tried:,} who count most"
        return f"No single answer{tried} decides it."

    def summary(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        answers, labels, kind = (values.pop(name) for name in ("answers", "labels", "sureness"))
        values[kind] = values.pop("confidence")
        return {**_to_json(values), "answers": _list_records(answers), "labels": _list_records(labels)}


@dataclass(frozen=True)
class Absence:
    """What changes without a worker: labels that differ, of so many tasks, and tasks without other answers."""

    changed: int
    tasks: int
    only: int
    shift: float


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WorkerExplanation:
    """What a worker is like.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("eve", 2, "y")]
    >>> allalike.discover(rows, method="UA").explain(worker="eve")
    Worker eve: 2 answers, weight 0.3333, mean error 1; 1 of 2 differ from the label.
    Nearest, by mean distance on common tasks: ada (1 on 1), bob (1 on 1).
    Without this worker, 0 of 1 labels differ, by 0 on average; 1 task has no other answer.
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
        """The five colleagues who answer most like this worker."""
        return self.colleagues.head(_N_NAMED)

    @property
    def farthest(self) -> pd.DataFrame:
        """The five colleagues who answer least like this worker, and are not among the nearest; the farthest first."""
        return self.colleagues.iloc[_N_NAMED:].tail(_N_NAMED).iloc[::-1]

    def __repr__(self) -> str:
        return "\n".join([*self.sentences(), "See .colleagues and .disagreements."])

    def sentences(self) -> list[str]:
        """Say it in a few sentences."""
        facts = [f"{self.columns['answers']:,} answers", f"weight {self.columns['weight']:.4g}"]
        unit = next(name for name in ERRORS if name in self.columns)
        if not math.isnan(self.columns[unit]):
            low, high = (self.columns.get(name, math.nan) for name in ("ci_low", "ci_high"))
            interval = "" if math.isnan(low) or math.isnan(high) else f" ({low:.3g} to {high:.3g})"
            facts.append(f"{unit.replace('_', ' ')} {self.columns[unit]:.3g}{interval}")
        wrong = f"{self.disagrees:,} of {self.compared:,} differ from the label"
        lines = [f"Worker {self.worker}: {', '.join(facts)}; {wrong}."]
        lines += [f"{flag.name.capitalize()}: {flag.evidence}." for flag in self.flags]
        if not len(self.colleagues):
            lines.append("The worker shares no task with others.")
        for name, table in (("Nearest", self.nearest.head(3)), ("Farthest", self.farthest.head(3))):
            if len(table):
                rows = zip(table["worker"], table["distance"], table["common_tasks"], strict=True)
                listed = ", ".join(f"{worker} ({distance:.3g} on {common:,})" for worker, distance, common in rows)
                lines.append(f"{name}, by mean distance on common tasks: {listed}.")
        return [*lines, self._describe_absence()]

    def _describe_absence(self) -> str:
        if self.too_large:
            return "Labels without this worker are not estimated for more than a million answers."
        rest = self.without
        if rest is None:
            return "There are no other workers."
        only = f"; {rest.only:,} {'tasks have' if rest.only > 1 else 'task has'} no other answer" if rest.only else ""
        changed = f"{rest.changed:,} of {rest.tasks:,} labels differ"
        return f"Without this worker, {changed}, by {rest.shift:.3g} on average{only}."

    def summary(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            **_to_json(self.columns),
            "disagrees": self.disagrees,
            "compared": self.compared,
            "flags": [flag._asdict() for flag in self.flags],
            "without": None if self.without is None else _to_json(vars(self.without)),
            "too_large": self.too_large,
            "nearest": _list_records(self.nearest),
            "farthest": _list_records(self.farthest),
            "disagreements": _list_records(self.disagreements),
        }


def _shorten(label: Any) -> str:
    if isinstance(label, date):
        return str(label)
    text = f"{label:.6g}" if isinstance(label, float) else " ".join(repr(label).split())
    return text if len(text) <= _MAX_LABEL else f"{text[: _MAX_LABEL - 3]}..."


def _list_or(names: list[Any]) -> str:
    """List a few names."""
    shown = [*map(str, names[:_N_NAMED]), *([f"{len(names) - _N_NAMED:,} more"] if len(names) > _N_NAMED else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _to_json(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _to_json_value(value) for name, value in values.items()}


def _to_json_value(value: Any) -> Any:
    """Return a JSON value, or the text of what JSON cannot hold."""
    value = value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_to_json_value(each) for each in value]
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def _list_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    columns = {name: [_to_json_value(value) for value in table[name]] for name in table.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
