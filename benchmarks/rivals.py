"""Methods of other packages, mostly crowd-kit, with the label types that they accept.

All run with default options. Workers and tasks are numbered before the clock starts, as for allalike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from allalike.domains.rankings.codes import unpack

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from allalike.answers import Answers

Solve = Callable[[Any], Any]  # from a frame to a label per task number

_SIDES = ("x1", "y1", "x2", "y2")
_EMBEDDED = 1024  # dimensions of a text embedding


def rivals_of(answers: Answers) -> dict[str, Solve]:
    """Return methods of other packages for this label type, by name; many label types have none."""
    from crowdkit import aggregation as kit

    if answers.domain.name == "categorical":
        plain = [kit.MajorityVote, kit.DawidSkene, kit.OneCoinDawidSkene, kit.MMSR]
        named = {f"{kind.__name__} (crowd-kit)": kind().fit_predict for kind in (kit.GLAD, kit.MACE)}  # name of ours
        binary = [kit.KOS] if answers.encoding.n_classes == 2 else []
        skilled = {kind.__name__: partial(_vote_by_skill, kind) for kind in (kit.Wawa, kit.ZeroBasedSkill)}
        return {kind.__name__: kind().fit_predict for kind in plain + binary} | named | skilled
    if answers.domain.name == "ordinal":
        return {"MajorityVote": kit.MajorityVote().fit_predict, "Mean": _round_mean}
    if answers.domain.name == "boxes" and find_spec("ensemble_boxes"):
        return {"WBF": _fuse_boxes}
    if answers.domain.name == "ranking":
        kits = {"BradleyTerry": _rank_each_task, "NoisyBradleyTerry": _rank_all_tasks} if are_orders(answers) else {}
        others = {"choix": _fit_by_choix, "evalica": _fit_by_evalica}  # which accept ties
        return kits | {name: partial(_rank_by, fit) for name, fit in others.items() if find_spec(name)}
    if answers.domain.name == "text":
        embedded = {kind.__name__: partial(_choose_text, kind) for kind in (kit.TextRASA, kit.TextHRRASA)}
        return {"ROVER": kit.ROVER(str.split, " ".join).fit_predict, **embedded}
    if answers.domain.name == "bitmap":
        kinds = (kit.SegmentationMajorityVote, kit.SegmentationEM, kit.SegmentationRASA)
        found: dict[str, Solve] = {kind.__name__: kind().fit_predict for kind in kinds}
        return {**found, "STAPLE": _estimate_masks} if find_spec("SimpleITK") else found
    return {}


def frame_of(answers: Answers) -> pd.DataFrame:
    """Convert answers to crowd-kit's format: a row per answer, or per pair of ranked items."""
    import pandas as pd

    task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
    labels = answers.encoding.decode(answers.label).tolist()
    if answers.domain.name == "ranking":
        return pd.DataFrame(list(_compare(answers, task)), columns=["worker", "task", "left", "right", "label"])
    column = {"text": "text", "bitmap": "segmentation"}.get(answers.domain.name, "label")
    return pd.DataFrame({"task": task, "worker": answers.worker, column: labels})


def are_orders(answers: Answers) -> bool:
    """Return whether all rankings are complete orders without ties."""
    labels = answers.encoding.decode(answers.label).tolist()
    return all(isinstance(label, list) and all(isinstance(item, str | int) for item in label) for label in labels)


def _compare(answers: Answers, task: npt.NDArray[np.int64]) -> Iterator[tuple[Any, ...]]:
    """Yield every pair of items of a ranking in an uninformative order, with the better one or None for a tie."""
    found, items = unpack(answers.label), answers.encoding.items  # type: ignore[attr-defined]
    order = np.lexsort((found.item, found.ranking))
    starts = np.flatnonzero(np.append(True, np.diff(found.ranking) > 0))
    for ranking in np.split(order, starts[1:]):
        label = found.label[ranking[0]]
        worker, number = int(answers.worker[label]), int(task[label])
        for one, other in combinations(ranking.tolist(), 2):
            pair = (number, items[found.item[one]]), (number, items[found.item[other]])
            better = pair[int(found.level[one] > found.level[other])]
            yield worker, number, *pair, None if found.level[one] == found.level[other] else better


def _vote_by_skill(kind: Any, frame: pd.DataFrame) -> Any:
    """Predict without a check that fails with new versions of scikit-learn."""
    from crowdkit.aggregation import MajorityVote

    return MajorityVote().fit_predict(frame, kind().fit(frame).skills_)


def _round_mean(frame: pd.DataFrame) -> Any:
    """Return the level nearest to the unweighted mean."""
    return frame.groupby("task")["label"].mean().round().astype(int)


def _fuse_boxes(frame: pd.DataFrame) -> dict[int, list[dict[str, Any]]]:
    """Fuse the boxes of each task with confidence 1; keep those drawn by more than half of the workers."""
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


def _estimate_masks(frame: pd.DataFrame) -> dict[int, Any]:
    """Return masks by STAPLE in SimpleITK, per task (Warfield, Zou, Wells 2004)."""
    import SimpleITK

    found: dict[Any, Any] = {}
    for task, part in frame.groupby("task"):
        masks = [SimpleITK.GetImageFromArray(np.asarray(mask, np.uint8)) for mask in part["segmentation"]]
        found[task] = SimpleITK.GetArrayFromImage(SimpleITK.STAPLE(masks, 1.0)) > 0.5
    return found


def _rank_each_task(frame: pd.DataFrame) -> dict[int, list[Any]]:
    from crowdkit.aggregation import BradleyTerry

    scores = [BradleyTerry(n_iter=100).fit_predict(part) for _, part in frame.groupby("task")]
    return {task: ranking for part in scores for task, ranking in _ordered(part).items()}


def _rank_all_tasks(frame: pd.DataFrame) -> dict[int, list[Any]]:
    """Rank the items of all tasks jointly, with one skill per worker."""
    from crowdkit.aggregation import NoisyBradleyTerry

    return _ordered(NoisyBradleyTerry().fit_predict(frame))


def _rank_by(fit: Callable[[Any], Mapping[Any, float]], frame: pd.DataFrame) -> dict[int, list[Any]]:
    """Rank the items of each task by strengths from another library."""
    import pandas as pd

    scores = [pd.Series(fit(part)) for _, part in frame.groupby("task")]
    return {task: ranking for part in scores for task, ranking in _ordered(part).items()}


def _fit_by_choix(part: pd.DataFrame) -> Mapping[Any, float]:
    """Return maximum likelihood strengths; a win counts as two wins, and a tie as one win each."""
    import choix

    items = sorted({*part["left"], *part["right"]})
    place = {item: number for number, item in enumerate(items)}
    wins: list[tuple[int, int]] = []
    for left, right, better in zip(part["left"], part["right"], part["label"], strict=True):
        sides = [(place[left], place[right]), (place[right], place[left])]
        wins += sides if better is None else 2 * [sides[int(better == right)]]
    return dict(zip(items, choix.opt_pairwise(len(items), wins), strict=True))


def _fit_by_evalica(part: pd.DataFrame) -> Mapping[Any, float]:
    import evalica

    items = sorted({*part["left"], *part["right"]})
    place = {item: str(number) for number, item in enumerate(items)}
    said = zip(part["left"], part["right"], part["label"], strict=True)
    kinds = [evalica.Winner.Draw if b is None else evalica.Winner.X if b == x else evalica.Winner.Y for x, _, b in said]
    found = evalica.bradley_terry(part["left"].map(place).tolist(), part["right"].map(place).tolist(), kinds)
    return {item: float(found.scores[place[item]]) for item in items}


def _ordered(scores: Any) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for task, item in scores.sort_values(ascending=False, kind="stable").index:
        found.setdefault(task, []).append(item)
    return found


def _choose_text(kind: Any, frame: pd.DataFrame) -> Any:
    return kind(_count_words).fit_predict(frame, None)


def _count_words(text: str) -> npt.NDArray[np.float64]:
    """Embed a text by word counts, because no language model is available."""
    places = [crc32(word.encode()) % _EMBEDDED for word in re.findall(r"\w+", text.lower())]
    counts = np.bincount(places, minlength=_EMBEDDED)
    return counts / max(float(np.linalg.norm(counts)), 1.0)
