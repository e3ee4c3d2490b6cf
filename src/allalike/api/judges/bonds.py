"""Bonds: the pairs of judges who are wrong together, as a panel tells of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import text_column
from allalike.api.judges.finding import divide
from allalike.api.judges.judge_groups import number_groups

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array
    from allalike._core.columns.values import Values
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.shared_errors import SharedErrors

__all__ = ["Bonds"]

_MAX_NAMED = 20  # pairs and groups that a summary names
_NAMED = ("judge", "other", "together", "expected", "low", "high", "probability")


@dataclass(frozen=True)
class Bonds:
    """How often each two judges gave the same wrong label, and who they are."""

    found: SharedErrors
    judges: Values

    def describe(self) -> dict[str, Any]:
        """Count the pairs, and name the first of those who are wrong together."""
        columns = self.tables()["pairs"]
        rows = zip(*(columns[name].tolist() for name in _NAMED), strict=True)
        bound = columns["wrong_together"].tolist()
        named = [dict(zip(_NAMED, row, strict=True)) for row, is_bound in zip(rows, bound, strict=True) if is_bound]
        told = {
            "looked_at": len(self.found.left),
            "found": int(self.found.found.sum()),
            "tasks": self.found.n_tasks,
            "named": named[:_MAX_NAMED],
            "groups": [[self.judges[judge] for judge in group] for group in self._groups[:_MAX_NAMED]],
        }
        return {"pairs": told}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each pair, the most improbable first."""
        found, ids = self.found, self.judges
        order = np.lexsort((found.right, found.left, found.probability))
        columns: dict[str, Values | Array] = {
            "judge": text_column([str(ids[int(judge)]) for judge in found.left[order]]),
            "other": text_column([str(ids[int(judge)]) for judge in found.right[order]]),
            "common": found.common[order].astype(np.int64),
            "wrong": found.wrong_left[order].astype(np.int64),
            "other_wrong": found.wrong_right[order].astype(np.int64),
            "both_wrong": found.both_wrong[order].astype(np.int64),
            "together": found.together[order].astype(np.int64),
            "expected": found.expected[order],
            "ratio": divide(found.together, found.expected)[order],
            "low": found.low[order],
            "high": found.high[order],
            "probability": found.probability[order],
            "wrong_together": found.found[order],
        }
        return {"pairs": columns}

    def judge_columns(self) -> Columns:
        """Number the groups of judges whom pairs connect that are wrong together."""
        return {"wrong_together": number_groups(len(self.judges), self._groups)}

    @property
    def _groups(self) -> list[list[int]]:
        return self.found.groups(len(self.judges))
