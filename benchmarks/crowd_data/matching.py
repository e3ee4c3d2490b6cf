"""Schema matching of Shraga and Gal (2022): pairs of terms of two schemas with the same meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike.domains import Set
from allalike.errors import InputError
from allalike.readers import read
from crowd_data.base import Parsed, Parser
from crowd_data.originals import bare_rows

if TYPE_CHECKING:
    from pathlib import Path

_TASK = "Excel - CIDX"
_FEW_MATCHERS_NOTE = "Only five matchers are public, and one task. The paper's own matchers are not."


def _matchers(folder: Path) -> Parsed:
    """Read each matcher's set of pairs of terms."""
    logs = sorted((folder / "DataFiles" / "ExperimentData").glob(f"*/{_TASK}/report.log"))
    if not logs:
        raise InputError(f"There are no logs of matchers in {folder}. Fetch the data set again.")
    rows = [(int(log.parts[-3]), _TASK, _matches(log)) for log in logs]
    truth = [(candidate, target) for candidate, target, _ in bare_rows(folder / "DataFiles" / "Excel2CIDX.csv")]
    return Parsed(read(rows, domain=Set()), {_TASK: sorted(truth)}, _FEW_MATCHERS_NOTE)


def _matches(log: Path) -> list[tuple[str, str]]:
    """Read the log of a matcher, who matches candidates with a target; the last confidence of a pair counts."""
    confidence: dict[tuple[str, str], float] = {}
    target = ""
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        _, _, _, _, action, *about = (part.strip() for part in line.split("|"))
        if action == "setTargetTerm":
            target = about[1]
        elif action == "matched":
            confidence[about[3], target] = float(about[4])
    return sorted(pair for pair, sure in confidence.items() if sure > 0)


MATCHING = (
    Parser("schema_matching_powarematch", "schema_matching_powarematch", "which terms of two schemas match", _matchers),
)
