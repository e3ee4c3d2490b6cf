"""The best and the worst workers, as lines with a bar of how much each counts, and what is remarkable about her."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from allalike.cli.console import WIDTH, Line, tall_rows
from allalike.telling.remark import two_digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.api.result import Result
    from allalike.methods import Weighing

__all__ = ["draw_bar", "order_workers", "worker_lines", "worker_rows"]

_N_SHOWN = 3  # at each end
_BAR = 8  # characters
_EIGHTHS = "▏▎▍▌▋▊▉█"


def worker_lines(result: Result, flags: Sequence[Sequence[str]]) -> list[Line]:
    """Write the best and the worst workers, each with her flags.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("bob", 2, "x")], method="UA")
    >>> [line.flags for line in worker_lines(result, [[], ["few answers"]])]
    ['', '', 'few answers']
    """
    table, picked = worker_rows(result), _pick(result, _N_SHOWN)
    remarks: list[Sequence[str]] = [(), *(flags[number] for number in picked)]
    if len(table) > len(remarks):
        remarks.insert(1 + _N_SHOWN, ())
    lines, texts = [], tall_rows(table)
    width = max(len(text) for *_, text in texts)
    for (*above, text), words in zip(texts, remarks, strict=True):
        lines += [*map(Line, above), *_with_flags(text, ", ".join(words), width)]
    return [lines[0]._replace(bold=True), *lines[1:]]


def _with_flags(text: str, flags: str, width: int) -> list[Line]:
    """Put flags behind a line, all of them in one column, or below it where there is no room."""
    if not flags:
        return [Line(text)]
    if width + 2 + len(flags) <= WIDTH:
        return [Line(f"{text:{width}}  ", flags)]
    return [Line(text), Line("    ", flags)]


def order_workers(result: Result) -> list[int]:
    """Return the numbers of the workers, by weight and then by fault; those who are hardly known come last.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "x"), ("eve", 2, "x")]
    >>> order_workers(allalike.discover(rows, method="P-TD"))
    [1, 2, 0]
    """
    import numpy as np

    from allalike.api.results.tables import find_few

    weighing = result.weighing
    few = find_few(result.run, weighing)
    order = np.lexsort((np.nan_to_num(weighing.fault, nan=np.inf), -weighing.weight, few))
    return [int(number) for number in order]


def _pick(result: Result, shown: int) -> list[int]:
    """Return the numbers of so many of the best workers, and of as many of the worst, of those who are known."""
    from allalike.api.results.tables import find_few

    order = order_workers(result)
    known = len(order) - int(find_few(result.run, result.weighing).sum())
    order = order[:known] if known >= 2 * shown else order
    return [*order[:shown], *order[max(shown, len(order) - shown) :]]


def worker_rows(result: Result, shown: int = _N_SHOWN) -> list[tuple[object, ...]]:
    """List the best and the worst workers, by weight and then by fault; the bar is as long as the weight is large.

    >>> import allalike
    >>> worker_rows(allalike.discover([("ada", 1, "x"), ("bob", 1, "x")], domain="text", method="UA"))[0]
    ('worker', 'answers', 'fault', 'weight')
    """
    weighing, ids = result.weighing, result.run.workers
    picked = _pick(result, shown)
    most = float(weighing.weight.max())
    blocks = _has_blocks()
    columns: dict[str, Sequence[object]] = {
        "worker": [str(ids[number]) for number in picked],
        "answers": result.run.answer_counts[picked].tolist(),
        **_fault_cells(weighing, picked),
        "weight": [draw_bar(float(weighing.weight[number]) / most, blocks=blocks) for number in picked],
    }
    lines: list[tuple[object, ...]] = list(zip(*columns.values(), strict=True))
    if len(weighing.weight) > len(picked):
        lines.insert(shown, ("...", *("" for _ in range(len(columns) - 1))))
    return [tuple(columns), *lines]


def _fault_cells(weighing: Weighing, picked: list[int]) -> dict[str, Sequence[object]]:
    """Return the faults of some workers, or what they are read as with its limits."""
    from allalike.api.results.tables import fault_columns

    faults = weighing.insight.faults
    if faults is None:
        return {"fault": weighing.fault[picked].tolist()}
    known = fault_columns(weighing, faults)
    low, high, fault = (known[name][picked].tolist() for name in ("low", "high", faults.unit))
    limits = [
        "" if math.isnan(left) else f"{two_digits(left)}..{two_digits(right)}"
        for left, right in zip(low, high, strict=True)
    ]
    return {faults.unit: fault, **({"low..high": limits} if any(limits) else {})}


def draw_bar(share: float, *, blocks: bool) -> str:
    """Draw a share of 1 as a bar of blocks, or of number signs where the terminal has no blocks; only 0 has no bar.

    >>> draw_bar(0.55, blocks=True), draw_bar(0.55, blocks=False), draw_bar(1e-6, blocks=True), draw_bar(0, blocks=True)
    ('████▍', '####', '▏', '')
    """
    if not share > 0:
        return ""
    if not blocks:
        return "#" * max(1, round(share * _BAR))
    full, rest = divmod(max(1, round(share * _BAR * len(_EIGHTHS))), len(_EIGHTHS))
    return _EIGHTHS[-1] * full + (_EIGHTHS[rest - 1] if rest else "")


def _has_blocks() -> bool:
    """Tell whether what is printed can be written with blocks."""
    try:
        _EIGHTHS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
