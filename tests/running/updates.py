"""What tests of updates share: engines, and how results are compared."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import allalike
from allalike import Disk, Memory, Result
from crowds.samples import Row, flattened

ENGINES = {"memory": Memory(), "small blocks": Memory(block_answers=1), "disk": Disk(partitions=3)}
NUMBERS = (
    *("confidence", "support", "standard_error", "disparity", "mean_error", "weight", "error_rate", "rmse"),
    *("ci_low", "ci_high", "informativeness", "informativeness_se", "effective_answers", "miss_rate"),
    "false_alarm_rate",
)
both_engines = pytest.mark.parametrize("engine", [ENGINES["small blocks"], ENGINES["disk"]], ids=["memory", "disk"])


def assert_same(found: Result, expected: Result) -> None:
    """Compare tables and summaries: labels and counts are equal, numbers but for rounding."""
    for mine, theirs in ((found.truth, expected.truth), (found.workers, expected.workers)):
        assert list(mine.columns) == list(theirs.columns)
        assert len(mine) == len(theirs)
        for name in mine:
            left, right = mine[name].tolist(), theirs[name].tolist()
            of_field = str(name).startswith("mean_error.") or str(name).endswith((".confidence", "size"))
            if expected.run.encoding.things is not None and name in ("label", "unweighted"):
                left, right = ([number for label in each for number in flattened(label)] for each in (left, right))
                np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)
            elif (name in NUMBERS and not isinstance(right[0], str)) or of_field or isinstance(right[0], float):
                np.testing.assert_allclose(
                    np.array(left, float), np.array(right, float), rtol=1e-9, atol=1e-12, err_msg=str(name)
                )
            else:
                assert same_values(left, right), name
    assert counted(found.summary) == counted(expected.summary)
    if "gold" in expected.summary:
        mine_gold, gold = flat(found.summary["gold"]), flat(expected.summary["gold"])
        assert mine_gold == pytest.approx(gold, rel=1e-9, abs=1e-12, nan_ok=True)


def flat(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table without tables in it."""
    inner = {name: value for name, value in table.items() if isinstance(value, dict)}
    rest = {name: value for name, value in table.items() if name not in inner}
    return rest | {f"{name} {key}": each for name, value in inner.items() for key, each in value.items()}


def same_values(left: list[Any], right: list[Any]) -> bool:
    if left and isinstance(left[0], np.ndarray):
        return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))
    if left and isinstance(left[0], list) and left[0] and isinstance(left[0][0], float):
        return len(left) == len(right) and bool(np.allclose(left, right, rtol=1e-9, atol=1e-12))
    if left and isinstance(left[0], dict):
        pairs = [(a[name], b[name]) for a, b in zip(left, right, strict=True) for name in {**a, **b}]
        return all(a == (pytest.approx(b, rel=1e-9) if isinstance(b, float) else b) for a, b in pairs)
    return [*map(type, left), *left] == [*map(type, right), *right]


def counted(summary: dict[str, Any]) -> dict[str, Any]:
    """Return what is the same however answers came; what repeated ones may mean is not."""
    left_out = {"guessed", "versions", "gold", "effective_workers", "engine", "warnings"}
    said = [each.partition(" If ")[0] for each in summary["warnings"]]
    return {"warnings": said, **{name: value for name, value in summary.items() if name not in left_out}}


def cut(rows: list[Row], parts: int, seed: int) -> list[list[Row]]:
    """Shuffle rows and cut them into parts of different sizes, none of which is empty."""
    rng = np.random.default_rng(seed)
    rows = [rows[place] for place in rng.permutation(len(rows))]
    bounds = [0, *np.sort(rng.choice(np.arange(1, len(rows)), parts - 1, replace=False)).tolist(), len(rows)]
    return [rows[begin:end] for begin, end in pairwise(bounds)]


def check(parts: list[Any], *, gold: list[Any] | None = None, **options: Any) -> tuple[Result, Result]:
    """Compare the first part updated by all others with all at once, by a quick method unless one is named."""
    options = {"method": "iP-TD", **options}
    golds = gold or [None] * len(parts)
    result = allalike.discover(parts[0], gold=golds[0], **options)
    for part, known in zip(parts[1:], golds[1:], strict=True):
        result = result.update(part, gold=known)
    known = {task: label for truths in golds if truths is not None for task, label in truths.items()}
    expected = allalike.discover([row for part in parts for row in part], gold=known or None, **options)
    assert_same(result, expected)
    return result, expected
