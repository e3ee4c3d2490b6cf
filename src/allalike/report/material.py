"""Material: what a report is made of, handed over by the result that it is about."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from allalike.methods.auto.next_labels import rank_tasks
from allalike.reliability.agreement import measure_scales
from allalike.result.summary import Summary
from allalike.result.tables import next_columns, worker_columns

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.engines import Run, TaskTable
    from allalike.methods import Fit
    from allalike.result.messages import Remark
    from allalike.result.result import Result

Columns = Mapping[str, "Values | Array"]


class Agreed(Protocol):
    """What a report says of how much workers agree; what is not defined is None, and what cannot be known is NaN."""

    @property
    def run(self) -> Run:
        """The answers, where they are."""

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha."""

    @property
    def ci_low(self) -> float:
        """Its lower limit, of 95 %."""

    @property
    def ci_high(self) -> float:
        """Its upper limit, of 95 %."""

    @property
    def ordinal(self) -> tuple[float, float, float]:
        """Krippendorff's ordinal alpha, of levels, and its limits."""

    @property
    def sampled_tasks(self) -> int | None:
        """The number of tasks in the sample; None if all answers were used."""

    def coefficients(self, *, pairs: bool = True) -> dict[str, float | None]:
        """Return all coefficients by their names."""


@dataclass(frozen=True, kw_only=True)
class Material:
    """A result in its parts, so that a report need not know who holds them together.

    >>> import allalike
    >>> material = gather(allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]))
    >>> material.workers["worker"].tolist(), material.summary.tasks
    (['ada', 'bob'], 1)
    """

    run: Run
    weighing: Fit
    found: TaskTable
    summary: Summary
    facts: Mapping[str, Any]
    workers: Columns
    next_tasks: Columns
    agreement: Agreed | None
    effects: Floats | None
    command: tuple[str, ...] = ()
    panel: Mapping[str, tuple[str, Columns]] = field(default_factory=dict)  # titles and tables by their names
    panel_messages: Sequence[Remark] = ()
    scales: Mapping[str, Agreed] = field(default_factory=dict)
    quality: Columns = field(default_factory=dict)


def gather(
    result: Result[Any],
    tables: Mapping[str, tuple[str, Columns]] | None = None,
    notes: Mapping[str, Any] | None = None,
    messages: Sequence[Remark] = (),
) -> Material:
    """Return the content of a report, with titled tables of a panel, notes and messages."""
    run, weighing, facts = result.run, result.weighing, {**result.summary, **(notes or {})}
    agreement = result.agreement if run.worker_task is None else None
    return Material(
        run=run,
        weighing=weighing,
        found=result.found,
        summary=Summary.from_dict(facts),
        facts=facts,
        workers=worker_columns(run, weighing),
        next_tasks=next_columns(rank_tasks(result.found.pieces(), _MAX_NEXT), weighing),
        agreement=agreement,
        effects=None if agreement is None else agreement.alpha - agreement.found.without,
        command=result.command,
        panel=tables or {},
        panel_messages=messages,
        scales={} if agreement is None else measure_scales(run),
        quality=result._rated.get("quality", {}),
    )


# Numbers with few digits, and data as JSON.


_DIGITS = 4
_MAX_NEXT = 100  # tasks that a report may name as the next


_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def brief(number: Any, digits: int = _DIGITS) -> float | int | None:
    """Return a number with few digits, and None for what is no number.

    >>> brief(0.123456), brief(2.0), brief(float("nan")), brief(float("inf"))
    (0.1235, 2, None, None)
    """
    value = float(number)
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def compact(data: Any) -> str:
    r"""Write data as JSON that can stand in a page: no sign in it begins a tag, and half characters are escaped.

    >>> compact({"a": ["</script>", 1]})
    '{"a":["\\u003c/script\\u003e",1]}'
    """
    return _encode(data).translate(_ESCAPES).encode("utf-8", "backslashreplace").decode("utf-8")
