"""The screen: what `allalike discover` prints about a result, in 80 columns.

First what was found of the crowd and of the truths, then the best and the worst workers, the least sure tasks, and what
to do next, as commands that can be copied. Alpha, and who always gives the same answer, need another look at all
answers, and are left out where these are so many that somebody would wait for it.
"""

from __future__ import annotations

import math
import re
import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from allalike._core.words import count, show_number
from allalike.cli.console import WIDTH, Line, fold, keep_whole, shorten, tall_rows, visible
from allalike.cli.options import dress
from allalike.result.commands import complete_command
from allalike.result.messages import (
    Remark,
    percent,
    remark_crowd,
    remark_gold,
    remark_reading,
    remark_sureness,
    say_changes,
    say_counts,
    say_few,
    say_voices,
    two_digits,
)
from allalike.result.summary import LabelKind, Summary

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from allalike.engines import Piece
    from allalike.methods import Fit
    from allalike.result.result import Result


# The best and the worst workers, as lines with a bar of how much each counts, and what is remarkable about her.


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

    from allalike.result.tables import find_few

    weighing = result.weighing
    few = find_few(result.run, weighing)
    order = np.lexsort((np.nan_to_num(weighing.fault, nan=np.inf), -weighing.weight, few))
    return [int(number) for number in order]


def _pick(result: Result, shown: int) -> list[int]:
    """Return the numbers of so many of the best workers, and of as many of the worst, of those who are known."""
    from allalike.result.tables import find_few

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


def _fault_cells(weighing: Fit, picked: list[int]) -> dict[str, Sequence[object]]:
    """Return the faults of some workers, or what they are read as with its limits."""
    from allalike.result.tables import fault_columns

    faults = weighing.uncertainty
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


_MAX_ANSWERS = 5_000_000  # from which on nobody waits for another look at them
_N_UNSURE = 3
_MAX_LABEL = 30
_UNSURE = 0.8  # truths that are less sure are worth another answer
_JOINING = re.compile(r"the domain (.+) or a label map")
_OPENERS = {"darwin": "open", "win32": "start"}


def draw_screen(
    result: Result, paths: Sequence[Path], *, typed: Sequence[str] = (), known: Collection[str] = ()
) -> list[Line]:
    """Say what was found, about whom, and what to do next.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "x")], method="UA")
    >>> for line in draw_screen(result, [])[:3]:
    ...     print(line.text)
    4 answers of 2 workers to 2 tasks (categorical, 2 classes).
    Crowd: alpha 0.00; 2 answers per task.
    UA, 1 round.
    """
    from allalike.methods.auto.next_labels import rank_tasks
    from allalike.result.flags import list_reasons

    summary = Summary.from_dict(result.summary)
    look = summary.answers <= _MAX_ANSWERS
    flags = list_reasons(result.run, result.weighing, look=look)
    unsure = rank_tasks(result.found.pieces(), _N_UNSURE)
    lines = [Line(line) for text in _sentences(result, summary, look=look) for line in fold(text, "  ")]
    lines += [Line(""), *worker_lines(result, flags)]
    if table := _unsure_rows(result, unsure):
        lines += [Line(""), Line("Least sure:", bold=True), *(Line(line) for row in tall_rows(table) for line in row)]
    commands = _next_commands(result, paths, typed=typed, known=known, flags=flags, unsure=unsure)
    if commands:
        lines += [
            Line(""),
            Line("Next:", bold=True),
            *(Line(line) for each in commands for line in _command_lines(*each)),
        ]
    written = "Written: " + ", ".join(map(keep_whole, paths))
    return [*lines, Line(""), *map(Line, fold(written, "  "))]


def _sentences(result: Result, summary: Summary, *, look: bool) -> list[str]:
    rounds = Remark(f"{summary.method.name}, {count(summary.iterations, 'round')}.")
    remarks = [
        *(remark_reading(summary) or [rounds]),
        *map(Remark, say_changes(summary, recurring=result.run.domain.recurring)),
        *remark_sureness(summary, _expect_unweighted(result) if look else None),
        *remark_gold(summary),
        *remark_crowd(summary),
    ]
    counts = f"{say_counts(*summary.counts)} ({_describe_labels(summary.domain)})."
    crowd = [_crowd_text(result, summary, look=look), *(_scale_texts(result) if look else [])]
    return [counts, *crowd, *map(dress, remarks), *few_text(result)]


def _describe_labels(domain: LabelKind) -> str:
    if domain.classes is None:
        return domain.name
    return f"{domain.name}, {count(domain.classes, 'class')}{'' if domain.classes_from == 'data' else ' as given'}"


def few_text(result: Result) -> list[str]:
    """Say how many workers are hardly known, if there are any."""
    trust = result.weighing.uncertainty
    if trust is None or not trust.few.any():
        return []
    return [f"{say_few(int(trust.few.sum()), len(trust.few))} (few in the table of workers)."]


def _crowd_text(result: Result, summary: Summary, *, look: bool) -> str:
    """Say how much the workers agree, how many answers a task has, and how many independent ones they count like."""
    agreed = _alpha_text(result) if look or "agreement" in vars(result) else ""
    voices = say_voices(summary)
    number = show_number(summary.answers / summary.tasks)
    per_task = f"{number} answer{'' if number == '1' else 's'} per task"
    return f"Crowd: {agreed}{per_task}{', ' if voices else ''}{voices}."


def _alpha_text(result: Result) -> str:
    if result.run.worker_task is not None or math.isnan(result.agreement.alpha):
        return ""
    found = result.agreement
    limits = "" if math.isnan(found.low) else f" ({found.low:.2f} to {found.high:.2f})"
    return f"alpha {found.alpha:.2f}{limits}; "


def _scale_texts(result: Result) -> list[str]:
    """Say Krippendorff's alpha of each scale of a survey that has several."""
    if result.run.domain.record is None:
        return []
    from allalike.reliability.agreement import measure_scales  # which needs pandas

    scales = measure_scales(result.run)
    known = {name: found for name, found in scales.items() if found.run.n_tasks > 1 and not math.isnan(found.alpha)}
    listed = [f"{name} {found.alpha:.2f} ({count(found.run.n_tasks, 'question')})" for name, found in known.items()]
    alone = "; a scale with one question has none" if len(known) < len(scales) else ""
    return [f"Krippendorff's alpha by scale: {'; '.join(listed)}{alone}."] if listed else []


def _expect_unweighted(result: Result) -> float | None:
    """Return how often the unweighted answers are expected to be right, by what is believed of each class."""
    import numpy as np

    if result.posteriors is None or "confidence" not in result.summary or result.run.n_gold:
        return None
    if result.run.n_tasks * result.run.encoding.n_labels > _MAX_ANSWERS:
        return None
    beliefs, found = result.posteriors().joined(), result.found.joined()
    return float(np.mean(beliefs.found["probability"][np.arange(result.run.n_tasks), found.found["unweighted"]]))


def _unsure_rows(result: Result, unsure: Piece) -> list[tuple[object, ...]]:
    """List the least sure tasks, with their labels and how sure these are; none where that is not known."""
    import numpy as np

    from allalike.result.tables import sureness

    sure = unsure.found["confidence"]
    if not np.isfinite(sure).all() or result.run.domain.name == "bitmap":
        return []
    word = "sure" if sureness(result.weighing) == "confidence" else "of the weight"
    labels = result.run.encoding.decode(unsure.found["label"]).tolist()
    table = zip(unsure.tasks.tolist(), labels, sure.tolist(), unsure.answers.tolist(), strict=True)
    return [
        (
            str(task),
            shorten(label, _MAX_LABEL),
            f"{percent(probability)} {word}",
            count(answers, "answer"),
        )
        for task, label, probability, answers in table
    ]


def _next_commands(
    result: Result,
    paths: Sequence[Path],
    *,
    typed: Sequence[str],
    known: Collection[str],
    flags: Sequence[Sequence[str]],
    unsure: Piece,
) -> list[tuple[str, str]]:
    """List what to do next: commands, and what each is for."""
    from allalike.readers.sources import is_passing
    from allalike.result.saved import find_digest
    from allalike.result.targets import REPORT

    opener = _OPENERS.get(sys.platform, "xdg-open")
    pages = [path for path in paths if path.name == REPORT and not is_passing(path)]
    found = [(shlex.join([opener, str(page)]), "look at it") for page in pages]
    flagged = _find_flagged(result, flags) if "explain" in known and not is_passing(paths[0]) else None
    if flagged is not None:
        words = [str(paths[0].parent), "worker", flagged]
        found.append((shlex.join(["allalike", "explain", *words]), "why this worker is flagged"))
    if not typed:
        return found
    if can_update := not is_passing(paths[0]) and find_digest(paths[0].parent) and result.run.worker_task is None:
        folder = str(paths[0].parent)
        found += [(shlex.join(["allalike", "update", folder, "more.csv"]), "when more answers came")]
    if (unsure.found["confidence"] < _UNSURE).any():
        if not can_update:
            found.append((f"{complete_command(typed, {})} more.csv", "with more answers"))
        elif budget := _count_worth(result):
            words = ["allalike", "plan", folder, "--budget", str(budget)]
            found.append((shlex.join(words), "whom to ask about tasks that are not sure"))
    if alike := [said for said in Summary.from_dict(result.summary).warnings if "label map" in said]:
        told = _JOINING.search(alike[0])
        settles = {"domain": told[1]} if told else {"label_map": "map.csv"}
        found.append((complete_command(typed, settles), "join labels that mean the same"))
    if not result.run.n_gold:
        column = result.run.notes.get("gold_column")
        gold, purpose = ("gold.csv", "some known truths") if column is None else (f"column:{column}", "known truths")
        found.append((complete_command(typed, {"gold": gold}), f"with {purpose}"))
    return found


def _find_flagged(result: Result, flags: Sequence[Sequence[str]]) -> str | None:
    """Return the worker to look at first: one who is clearly worse than the crowd, before one to exclude."""
    from allalike.result.flags import flag_workers

    trust = Summary.from_dict(result.summary).trust
    if trust and trust.look_at:
        return str(trust.look_at.named[0].worker)
    kinds = flag_workers(result.run, result.weighing, flags)
    order = order_workers(result)[::-1]
    flagged = [number for kind in ("look", "block") for number in order if kinds[number] == kind]
    return str(result.run.workers[flagged[0]]) if flagged else None


def _count_worth(result: Result) -> int:
    """Count the tasks that are worth another answer; none where nobody can say what one would bring."""
    from allalike.errors import UnsupportedError

    with suppress(UnsupportedError):
        if result.summary["answers"] <= _MAX_ANSWERS and result.plan(1):
            return sum(int((piece.found["confidence"] < _UNSURE).sum()) for piece in result.found.pieces())
    return 0


def _command_lines(command: str, purpose: str) -> list[str]:
    """Write a command with its purpose as a comment: behind it, or above it where there is no room."""
    line = f"  {visible(command)}  # {visible(purpose)}"
    return [line] if len(line) <= WIDTH else [f"  # {visible(purpose)}:", f"  {visible(command)}"]
