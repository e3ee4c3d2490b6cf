"""Questions: what people answered to each question of a survey, scale by scale."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike.report.brevity import cut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike._core.blocks.block import Array, Block
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.report.material import Agreed

__all__ = ["list_scales"]

_MAX_NAME, _MAX_LABEL = 120, 60


def list_scales(scales: Mapping[str, Agreed]) -> list[dict[str, Any]]:
    """Return each scale with its questions and its alpha; those with one question, which has no alpha, come first.

    Of each question there are its number of answers, the share of equal pairs of them, and the most frequent answer
    with its share. Questions whose answers cannot be counted, such as drawings, are left out.

    >>> import allalike
    >>> rows = [(who, "Did you?", {"used": said}) for who, said in zip("abcd", ["yes", "yes", "no", "yes"])]
    >>> result = allalike.discover(rows, domain=allalike.Record("used:categorical", one=True))
    >>> list_scales(result.material().scales)[0]["questions"]
    [{'name': 'Did you?', 'answers': '4', 'equal': '50 %', 'most': 'yes', 'share': '75 %'}]
    """
    listed = [
        {"name": cut(name, _MAX_NAME), "alpha": _say_alpha(each), "questions": _list_questions(each.run)}
        for name, each in scales.items()
    ]
    return sorted((scale for scale in listed if scale["questions"]), key=lambda scale: len(scale["questions"]) > 1)


def _say_alpha(agreement: Agreed) -> str:
    known = agreement.run.n_tasks > 1 and np.isfinite(agreement.alpha)
    return f"{agreement.alpha:.2f}" if known else ""


def _list_questions(run: Run) -> list[dict[str, str]]:
    piece = run.find(partial(_count_answers, kernels=run.kernels)).joined()
    rows = np.flatnonzero(piece.found["answers"])
    labels = run.encoding.decode(piece.found["label"][rows]).tolist()
    told = ([cut(str(task), _MAX_NAME) for task in piece.tasks.take(rows).tolist()], labels)
    numbers = (piece.found[name][rows].tolist() for name in ("answers", "equal", "share"))
    return [
        {
            "name": name,
            "answers": f"{answers:,}",
            "equal": f"{100 * equal:.0f} %" if answers > 1 else "",
            "most": cut(str(label), _MAX_LABEL),
            "share": f"{100 * share:.0f} %",
        }
        for name, label, answers, equal, share in zip(*told, *numbers, strict=True)
    ]


def _count_answers(block: Block, *, kernels: Kernels) -> dict[str, Array]:
    """Count the answers to each task, and those that are the most frequent one; a task that does not count has none."""
    codes = kernels.restore_answers(block, np.arange(len(block.label)))
    live = np.ones(block.n_tasks, np.bool_) if block.live is None else block.live
    if codes.ndim > 1 or codes.dtype.kind not in "biuf":
        live = np.zeros_like(live)
        kinds, kind = codes[:1], np.zeros(len(codes), np.intp)
    else:
        kinds, kind = np.unique(codes, return_inverse=True)
    counts = sum_by(block.task * len(kinds) + kind, np.ones(len(codes)), block.n_tasks * len(kinds))
    counts = counts.reshape(block.n_tasks, len(kinds))
    pairs = block.sizes * np.maximum(block.sizes - 1, 1)
    return {
        "label": kinds[counts.argmax(axis=1)],
        "answers": np.where(live, block.sizes, 0),
        "equal": (counts * (counts - 1)).sum(axis=1) / pairs,
        "share": counts.max(axis=1) / block.sizes,
    }
