"""Material of a report: a result, and values that several parts of the page need."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.reliability.agreement import measure_scales
from allalike.result.summary import Summary
from allalike.result.tables import sureness, worker_columns

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.reliability.agreement import Agreement
    from allalike.result.messages import Message
    from allalike.result.result import Result

Columns = Mapping[str, "Values | Array"]
_DIGITS = 4
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


class Material:
    """Contents of a report: a result, and the tables, notes and messages of a panel.

    >>> import allalike
    >>> material = Material(allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]))
    >>> material.workers["worker"].tolist(), material.summary.tasks
    (['ada', 'bob'], 1)
    """

    def __init__(
        self,
        result: Result[Any],
        panel: Mapping[str, tuple[str, Columns]] | None = None,
        notes: Mapping[str, Any] | None = None,
        messages: Sequence[Message] = (),
    ) -> None:
        self.result, self.run, self.fit = result, result.run, result.weighing
        self.panel, self.messages = panel or {}, messages
        self.facts = {**result.summary, **(notes or {})}
        self.summary = Summary.from_dict(self.facts)

    @cached_property
    def workers(self) -> Columns:
        """The columns of the table of workers."""
        return worker_columns(self.run, self.fit)

    @cached_property
    def flags(self) -> list[list[str]]:
        """The flags of each worker."""
        return [[flag.name for flag in flags] for flags in self.result._flags]

    @cached_property
    def agreement(self) -> Agreement | None:
        """The agreement of the workers, unless each task has weights of its own."""
        return self.result.agreement if self.run.worker_task is None else None

    @property
    def effects(self) -> Floats | None:
        """The effect of each worker on alpha."""
        return None if self.agreement is None else self.agreement.alpha - self.agreement.found.without

    @cached_property
    def scales(self) -> Mapping[str, Agreement]:
        """The agreement on each scale of a survey."""
        return {} if self.agreement is None else measure_scales(self.run)

    @property
    def unit(self) -> str:
        """The column of the table of workers that contains the error: error_rate, rmse or mean_error."""
        if self.fit.uncertainty is not None:
            return self.fit.uncertainty.unit
        return "mean_error" if self.fit.error_rate is None else "error_rate"

    @property
    def confidence_name(self) -> str:
        """The name of the confidence: ``confidence`` for a probability, ``support`` for a share of weights."""
        return sureness(self.fit)

    def numbers(self, name: str) -> Floats:
        """Return a column of the table of workers as numbers; NaN if there is none."""
        empty = np.full(len(self.run.workers), np.nan)
        return np.asarray(self.workers[name], np.float64) if name in self.workers else empty


def brief(number: Any, digits: int = _DIGITS) -> float | int | None:
    """Return a number with few digits, or None if it is not finite.

    >>> brief(0.123456), brief(2.0), brief(float("nan")), brief(float("inf"))
    (0.1235, 2, None, None)
    """
    value = float(number)
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def compact(data: Any) -> str:
    r"""Format data as JSON that is safe in an HTML page: without tags and surrogates.

    >>> compact({"a": ["</script>", 1]})
    '{"a":["\\u003c/script\\u003e",1]}'
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.translate(_ESCAPES).encode("utf-8", "backslashreplace").decode("utf-8")
