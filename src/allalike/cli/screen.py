"""The screen: what `allalike discover` prints about a result, in 80 columns and about 20 lines.

First the labels, then the best and the worst workers, and the next steps as commands that can be copied. What needs no
action is in the report and in the summary. Alpha and constant workers need another pass over the answers, and are left
out if there are more than 5 million.
"""

from __future__ import annotations

import math
import re
import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from allalike._core.words import count
from allalike.cli.console import WIDTH, Line, fold, keep_whole, tall_rows, visible
from allalike.cli.options import dress
from allalike.result.commands import complete_command
from allalike.result.messages import (
    Remark,
    percent,
    percent_of,
    remark_crowd,
    remark_gold,
    remark_reading,
    remark_sureness,
    say_changes,
    say_counts,
    two_digits,
)
from allalike.result.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    import numpy as np

    from allalike.engines import Piece
    from allalike.methods import Fit
    from allalike.result.result import Result

_N_WORKERS, _N_TASKS, _MIN_GOLD = 3, 3, 20  # workers at each end, tasks, and gold labels that intervals need
_MAX_ANSWERS = 5_000_000
_UNCERTAIN = 0.8  # confidence below which another answer is proposed
_BAR, _EIGHTHS = 8, "▏▎▍▌▋▊▉█"
_UNITS = {"error_rate": "error rate", "rmse": "RMSE"}
_JOINING = re.compile(r"the domain (.+) or a label map")
_OPENERS = {"darwin": "open", "win32": "start"}


def draw_screen(
    result: Result, paths: Sequence[Path], *, typed: Sequence[str] = (), known: Collection[str] = ()
) -> list[Line]:
    """Return the lines about a result: labels, least certain tasks, workers, next steps.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "x")], method="UA")
    >>> for line in draw_screen(result, [])[:2]:
    ...     print(line.text)
    4 answers by 2 workers on 2 tasks, 2 classes
    Ties were broken at random in 1 task.
    """
    from allalike.methods.auto.next_labels import rank_tasks
    from allalike.result.flags import list_reasons

    summary = Summary.from_dict(result.summary)
    look = summary.answers <= _MAX_ANSWERS
    flags = list_reasons(result.run, result.weighing, look=look)
    uncertain = rank_tasks(result.found.pieces(), _N_TASKS)
    kind = summary.domain.name if summary.domain.classes is None else count(summary.domain.classes, "class")
    workers = [*_describe_agreement(result, look=look), *map(dress, remark_crowd(summary, flagged=False))]
    lines = [
        Line(f"{say_counts(*summary.counts)}, {kind}", bold=True),
        *_fold([*_describe_labels(result, summary, look=look), *_describe_tasks(result, uncertain)]),
        Line(""),
        *worker_lines(result, flags),
        *_fold(workers, "  "),
    ]
    if steps := _list_steps(result, paths, typed=typed, known=known, flags=flags, uncertain=uncertain):
        lines += [Line(""), Line("Next steps", bold=True), *steps]
    return [*lines, Line(f"Saved in {visible(paths[0].parent)}.")] if paths else lines


def _fold(texts: Sequence[str], indent: str = "") -> list[Line]:
    return [Line(line) for text in texts for line in fold(f"{indent}{text}", f"{indent}  ")]


def _describe_labels(result: Result, summary: Summary, *, look: bool) -> list[str]:
    recurring = result.run.domain.recurring
    messages = [
        *remark_sureness(summary, _expect_unweighted(result) if look else None),
        *list(remark_gold(summary))[:1],
        *remark_reading(summary),
        *map(Remark, say_changes(summary, recurring=recurring)),
    ]
    return [dress(message) for message in messages]


def _describe_agreement(result: Result, *, look: bool) -> list[str]:
    """Describe Krippendorff's alpha, for surveys that of each scale."""
    if result.run.worker_task is not None or not (look or "agreement" in vars(result)):
        return []
    if result.run.domain.record is not None:
        from allalike.reliability.agreement import measure_scales  # which needs pandas

        scales = measure_scales(result.run)
        known = {name: each for name, each in scales.items() if each.run.n_tasks > 1 and not math.isnan(each.alpha)}
        listed = [f"{name} {each.alpha:.2f} ({count(each.run.n_tasks, 'question')})" for name, each in known.items()]
        return [f"Krippendorff's alpha by scale: {'; '.join(listed)}."] if listed else []
    found = result.agreement
    if math.isnan(found.alpha):
        return []
    limits = "" if math.isnan(found.ci_low) else f" ({found.ci_low:.2f} to {found.ci_high:.2f})"
    return [f"Agreement: Krippendorff's alpha {found.alpha:.2f}{limits}."]


def _expect_unweighted(result: Result) -> float | None:
    """Return the expected accuracy of the unweighted labels, by the probability of each class."""
    import numpy as np

    if result.posteriors is None or "confidence" not in result.summary or result.run.n_gold:
        return None
    if result.run.n_tasks * result.run.encoding.n_labels > _MAX_ANSWERS:
        return None
    beliefs, found = result.posteriors().joined(), result.found.joined()
    return float(np.mean(beliefs.found["probability"][np.arange(result.run.n_tasks), found.found["unweighted"]]))


# Workers: the best and the worst, with their error, the range of their rank, a bar for the weight, and flags.


def worker_lines(result: Result, flags: Sequence[Sequence[str]]) -> list[Line]:
    """Return a table of the best and the worst workers, each with flags.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("bob", 2, "x")], method="UA")
    >>> [line.flags for line in worker_lines(result, [[], ["few answers"]])]
    ['', '', 'few answers']
    """
    picked = _pick(result)
    table: list[Sequence[object]] = list(zip(*_worker_columns(result, picked).values(), strict=True))
    reasons: list[Sequence[str]] = [flags[number] for number in picked]
    if len(result.run.workers) > len(picked):
        table.insert(_N_WORKERS, ("...", *("" for _ in table[0][1:])))
        reasons.insert(_N_WORKERS, ())
    texts = tall_rows([tuple(_worker_columns(result, picked)), *table])
    width = max(len(text) for *_, text in texts)
    lines = [Line(texts[0][-1], bold=True)]
    for (*above, text), words in zip(texts[1:], reasons, strict=True):
        flag = ", ".join(words)
        beside = width + 2 + len(flag) <= WIDTH
        lines += [*map(Line, above), Line(f"{text:{width}}  ", flag) if flag and beside else Line(text)]
        if flag and not beside:
            lines.append(Line("    ", flag))
    return lines


def order_workers(result: Result) -> list[int]:
    """Return the numbers of the workers, by weight and then by error; those with few answers come last.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "x"), ("eve", 2, "x")]
    >>> order_workers(allalike.discover(rows, method="P-TD"))
    [1, 2, 0]
    """
    import numpy as np

    from allalike.result.tables import find_few

    weighing = result.weighing
    few = find_few(result.run, weighing)
    order = np.lexsort((np.nan_to_num(weighing.fault, nan=np.inf), -weighing.weight, few))
    return [int(number) for number in order]


def _pick(result: Result) -> list[int]:
    """Return the numbers of the best and the worst workers among those with enough answers."""
    from allalike.result.tables import find_few

    order = order_workers(result)
    known = len(order) - int(find_few(result.run, result.weighing).sum())
    order = order[:known] if known >= 2 * _N_WORKERS else order
    return [*order[:_N_WORKERS], *order[max(_N_WORKERS, len(order) - _N_WORKERS) :]]


def _worker_columns(result: Result, picked: list[int]) -> dict[str, Sequence[object]]:
    weight = result.weighing.weight
    blocks = _has_blocks()
    return {
        "worker": [str(result.run.workers[number]) for number in picked],
        "answers": result.run.answer_counts[picked].tolist(),
        **_error_columns(result.weighing, picked),
        "weight": [draw_bar(float(weight[number]) / float(weight.max()), blocks=blocks) for number in picked],
    }


def _error_columns(fit: Fit, picked: list[int]) -> dict[str, Sequence[object]]:
    """Return the errors of some workers, with their interval if gold labels support one, and the range of the rank."""
    from allalike.result.tables import fault_columns

    known = fit.uncertainty
    if known is None:
        return {"mean error": list(map(_write_error, fit.fault[picked].tolist()))}
    errors = fault_columns(fit, known)
    error, low, high = (errors[name][picked].tolist() for name in (known.unit, "ci_low", "ci_high"))
    write = percent_of if known.unit == "error_rate" else _write_error
    columns: dict[str, Sequence[object]] = {_UNITS.get(known.unit, "mean error"): list(map(write, error))}
    if not all(map(math.isnan, low)):
        ends = zip(low, high, strict=True)
        columns["95 % interval"] = [
            "" if math.isnan(one) else f"{write(one).removesuffix(' %')} to {write(other)}" for one, other in ends
        ]
    if known.rank_low is not None and known.rank_high is not None:
        columns["rank"] = _describe_ranks(known.rank_low[picked], known.rank_high[picked])
    return columns


def _write_error(error: float) -> str:
    return "" if math.isnan(error) else two_digits(error)


def _describe_ranks(low: np.ndarray, high: np.ndarray) -> list[str]:
    ranks = zip(low.tolist(), high.tolist(), strict=True)
    return [
        "" if math.isnan(one) else f"{one:.0f}" if one == other else f"{one:.0f} to {other:.0f}" for one, other in ranks
    ]


def draw_bar(share: float, *, blocks: bool) -> str:
    """Draw a share of 1 as a bar of blocks, or of number signs if the terminal has no blocks; only 0 has no bar.

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
    """Return whether standard output can show blocks."""
    try:
        _EIGHTHS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


# Tasks and next steps.


def _describe_tasks(result: Result, uncertain: Piece) -> list[str]:
    """Name the least certain tasks with their confidences, if these are known."""
    import numpy as np

    confidence = uncertain.found["confidence"]
    if not len(confidence) or not np.isfinite(confidence).all() or result.run.domain.name == "bitmap":
        return []
    tasks = zip(uncertain.tasks.tolist(), confidence.tolist(), strict=True)
    return [f"Least certain tasks: {', '.join(f'{keep_whole(task)} ({percent(each)})' for task, each in tasks)}."]


def _list_steps(
    result: Result,
    paths: Sequence[Path],
    *,
    typed: Sequence[str],
    known: Collection[str],
    flags: Sequence[Sequence[str]],
    uncertain: Piece,
) -> list[Line]:
    """List the next commands with their purpose, the most useful first."""
    from allalike.readers.sources import is_passing
    from allalike.result.saved import find_digest
    from allalike.result.targets import REPORT

    steps: list[tuple[str, str]] = []
    if typed and result.run.n_gold < _MIN_GOLD and "gold_column" in result.run.notes:
        gold = f"column:{result.run.notes['gold_column']}"
        steps.append((complete_command(typed, {"gold": gold}), "use the gold labels of this column"))
    elif typed and not result.run.n_gold:
        steps.append((complete_command(typed, {"gold": "gold.csv"}), f"label {_MIN_GOLD} random tasks yourself"))
    if similar := [text for text in Summary.from_dict(result.summary).warnings if typed and "label map" in text]:
        domain = _JOINING.search(similar[0])
        settings = {"domain": domain[1]} if domain else {"label_map": "map.csv"}
        steps.append((complete_command(typed, settings), "merge spellings of the same label"))
    pages = [path for path in paths if path.name == REPORT and not is_passing(path)]
    opener = _OPENERS.get(sys.platform, "xdg-open")
    steps += [(shlex.join([opener, str(page)]), "view the report") for page in pages]
    saved = bool(paths) and not is_passing(paths[0])
    folder = str(paths[0].parent) if paths else ""
    if saved and "explain" in known and (worker := _find_flagged(result, flags)) is not None:
        steps.append((shlex.join(["allalike", "explain", folder, "worker", worker]), "why this worker is flagged"))
    if typed and saved and find_digest(paths[0].parent) and result.run.worker_task is None:
        if (uncertain.found["confidence"] < _UNCERTAIN).any() and (budget := _count_plannable(result)):
            steps.append((shlex.join(["allalike", "plan", folder, "--budget", str(budget)]), "plan further answers"))
        steps.append((shlex.join(["allalike", "update", folder, "more.csv"]), "add answers later"))
    elif typed:
        steps.append((f"{complete_command(typed, {})} more.csv", "add answers later"))
    return [Line(line) for command, purpose in steps for line in _command_lines(command, purpose)]


def _find_flagged(result: Result, flags: Sequence[Sequence[str]]) -> str | None:
    """Return the worker to examine first: one who is clearly worse than the crowd, otherwise one to exclude."""
    from allalike.result.flags import flag_workers
    from allalike.result.summaries import find_worse

    worse = find_worse(result.run, result.weighing)
    kinds = flag_workers(result.run, result.weighing, flags)
    order = order_workers(result)[::-1]
    flagged = [] if worse is None else [number for number in order if number in worse.workers]
    flagged += [number for kind in ("look", "block") for number in order if kinds[number] == kind]
    return str(result.run.workers[flagged[0]]) if flagged else None


def _count_plannable(result: Result) -> int:
    """Count the uncertain tasks if further answers can be planned, otherwise return 0."""
    from allalike.errors import UnsupportedError

    with suppress(UnsupportedError):
        if result.summary["answers"] <= _MAX_ANSWERS and result.plan(1):
            return sum(int((piece.found["confidence"] < _UNCERTAIN).sum()) for piece in result.found.pieces())
    return 0


def _command_lines(command: str, purpose: str) -> list[str]:
    """Return a command with its purpose as a comment: behind it, or above it if the line would be too long."""
    line = f"  {visible(command)}  # {visible(purpose)}"
    return [line] if len(line) <= WIDTH else [f"  # {visible(purpose)}:", f"  {visible(command)}"]
