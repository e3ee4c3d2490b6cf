"""Panel: all that there is to say of a panel of judges, in the order in which it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.telling.judges.errors import (
    remark_bonds,
    remark_independence,
    remark_off_together,
    remark_orders,
    remark_pivotal,
)
from allalike.telling.judges.panels import (
    remark_costs,
    remark_limits,
    remark_outcomes,
    remark_scale_use,
    remark_scores,
    remark_shared_offset,
    remark_smallest,
    remark_smallest_scores,
    remark_unreadable,
    remark_verdicts,
    remark_wanted,
)
from allalike.telling.judges.rates import remark_drift, remark_rate, remark_samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allalike.telling.remark import Remark

TITLES = {  # of tables, in the order in which they are shown
    "judges": "Judges",
    "rates": "Rates",
    "ask": "Whose truths to find out next",
    "drift": "What changed since the earlier panel",
    "coverage": "What abstaining costs",
    "pairs": "Who is wrong with whom",
    "sizes": "What smaller panels are worth",
    "pivotal": "Tasks that one judge decides",
    "orders": "Both orders of a pair, and the position",
    "samples": "What fewer samples are worth",
}

_TOLD = (
    remark_verdicts,
    remark_scores,
    remark_rate,
    remark_drift,
    remark_outcomes,
    remark_unreadable,
    remark_orders,
    remark_samples,
    remark_scale_use,
    remark_shared_offset,
    remark_bonds,
    remark_off_together,
    remark_independence,
    remark_smallest,
    remark_smallest_scores,
    remark_costs,
    remark_wanted,
    remark_pivotal,
    remark_limits,
)


def remark_panel(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say what the panel decided, who is needed, who is wrong with whom, and what cannot be known.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y"), ("eve", 2, "y")]
    >>> next(remark_panel(allalike.jury(rows).summary)).sentence
    '6 verdicts of 3 judges on 2 tasks (categorical).'
    """
    for tell in _TOLD:
        yield from tell(found)
