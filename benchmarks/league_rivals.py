"""The methods of crowd-kit, for the league table: which there are for a kind of label, and how it takes answers.

All run with their default options. Workers and tasks are numbered beforehand, as ours are when the clock starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from allalike.answers import Answers

__all__ = ["Solve", "are_orders", "frame_of", "rivals_of"]

Solve = Callable[[Any], Any]  # from a frame to a truth per number of a task

_SIDES = ("x1", "y1", "x2", "y2")
_EMBEDDED = 1024  # coordinates of an embedded text


def rivals_of(answers: Answers) -> dict[str, Solve]:
    """Return the methods of others for such labels, by name, most of crowd-kit; many kinds of label have none."""
    from crowdkit import aggregation as kit

    if answers.domain.name == "categorical":
        plain = [kit.MajorityVote, kit.DawidSkene, kit.OneCoinDawidSkene, kit.GLAD, kit.MMSR, kit.MACE]
        binary = [kit.KOS] if answers.encoding.n_classes == 2 else []
        skilled = {kind.__name__: partial(_vote_by_skill, kind) for kind in (kit.Wawa, kit.ZeroBasedSkill)}
        return {kind.__name__: kind().fit_predict for kind in plain + binary} | skilled
    if answers.domain.name == "ordinal":
        return {"MajorityVote": kit.MajorityVote().fit_predict, "Mean": _round_mean}
    if answers.domain.name == "boxes" and find_spec("ensemble_boxes"):
        return {"WBF": _fuse_boxes}
    if answers.domain.name == "ranking" and are_orders(answers):
        return {"BradleyTerry": _rank_each_task, "NoisyBradleyTerry": _rank_all_tasks}
    if answers.domain.name == "text":
        embedded = {kind.__name__: partial(_choose_text, kind) for kind in (kit.TextRASA, kit.TextHRRASA)}
        return {"ROVER": kit.ROVER(str.split, " ".join).fit_predict, **embedded}
    if answers.domain.name == "bitmap":
        kinds = (kit.SegmentationMajorityVote, kit.SegmentationEM, kit.SegmentationRASA)
        return {kind.__name__: kind().fit_predict for kind in kinds}
    return {}


def frame_of(answers: Answers) -> pd.DataFrame:
    """Write answers as crowd-kit takes them: a row per answer, or per pair of items that an answer ranks."""
    import pandas as pd

    task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
    labels = answers.encoding.decode(answers.label).tolist()
    if answers.domain.name == "ranking":
        said = zip(answers.worker.tolist(), task.tolist(), labels, strict=True)
        rows = [(worker, number, *pair) for worker, number, ranking in said for pair in _compared(number, ranking)]
        return pd.DataFrame(rows, columns=["worker", "task", "left", "right", "label"])
    column = {"text": "text", "bitmap": "segmentation"}.get(answers.domain.name, "label")
    return pd.DataFrame({"task": task, "worker": answers.worker, column: labels})


def are_orders(answers: Answers) -> bool:
    """Tell whether all rankings are complete orders without ties, of which each pair of items can be written down."""
    labels = answers.encoding.decode(answers.label).tolist()
    return all(isinstance(label, list) and all(isinstance(item, str | int) for item in label) for label in labels)


def _compared(task: int, ranking: list[Any]) -> list[tuple[Any, Any, Any]]:
    """Compare each two items of a ranking, in an order that does not tell which is better.

    >>> _compared(7, ["b", "a"])
    [((7, 'a'), (7, 'b'), (7, 'b'))]
    """
    place = {item: at for at, item in enumerate(ranking)}
    pairs = combinations(sorted(ranking), 2)
    return [((task, i), (task, j), (task, min(i, j, key=place.__getitem__))) for i, j in pairs]


def _vote_by_skill(kind: Any, frame: pd.DataFrame) -> Any:
    """Do what `predict` of these classes does, but for a check that new versions of scikit-learn refuse to make."""
    from crowdkit.aggregation import MajorityVote

    return MajorityVote().fit_predict(frame, kind().fit(frame).skills_)


def _round_mean(frame: pd.DataFrame) -> Any:
    """Take the level next to the plain mean."""
    return frame.groupby("task")["label"].mean().round().astype(int)


def _fuse_boxes(frame: pd.DataFrame) -> dict[int, list[dict[str, Any]]]:
    """Fuse the boxes of each task, of which workers are as sure as can be; keep what more than half of them drew."""
    from ensemble_boxes import weighted_boxes_fusion

    found: dict[Any, list[dict[str, Any]]] = {}
    for task, part in frame.groupby("task"):
        drawn = [label for label in part["label"] if label]
        classes = sorted({box.get("class") for label in drawn for box in label}, key=str)
        size = max((box[side] for label in drawn for box in label for side in ("x2", "y2")), default=1.0)
        sides = [[[box[name] / size for name in _SIDES] for box in label] for label in drawn]
        kinds = [[classes.index(box.get("class")) for box in label] for label in drawn]
        sure = [[1.0] * len(label) for label in drawn]
        boxes, scores, names = weighted_boxes_fusion(sides, sure, kinds) if drawn else ([], [], [])
        kept = [
            {**dict(zip(_SIDES, (size * np.asarray(box, float)).tolist(), strict=True)), "class": classes[int(name)]}
            for box, score, name in zip(boxes, scores, names, strict=True)
            if score * len(drawn) > len(part) / 2
        ]
        found[task] = [{name: value for name, value in box.items() if value is not None} for box in kept]
    return found


def _rank_each_task(frame: pd.DataFrame) -> dict[int, list[Any]]:
    from crowdkit.aggregation import BradleyTerry

    scores = [BradleyTerry(n_iter=100).fit_predict(part) for _, part in frame.groupby("task")]
    return {task: ranking for part in scores for task, ranking in _ordered(part).items()}


def _rank_all_tasks(frame: pd.DataFrame) -> dict[int, list[Any]]:
    """Rank the items of all tasks at once, so that a worker's skill is the same in all."""
    from crowdkit.aggregation import NoisyBradleyTerry

    return _ordered(NoisyBradleyTerry().fit_predict(frame))


def _ordered(scores: Any) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for task, item in scores.sort_values(ascending=False, kind="stable").index:
        found.setdefault(task, []).append(item)
    return found


def _choose_text(kind: Any, frame: pd.DataFrame) -> Any:
    return kind(_count_words).fit_predict(frame, None)


def _count_words(text: str) -> npt.NDArray[np.float64]:
    """Embed a text by how often words occur in it: no model of a language is at hand.

    >>> _count_words("To be, or not to be").max().round(3)
    np.float64(0.632)
    """
    places = [crc32(word.encode()) % _EMBEDDED for word in re.findall(r"\w+", text.lower())]
    counts = np.bincount(places, minlength=_EMBEDDED)
    return counts / max(float(np.linalg.norm(counts)), 1.0)
