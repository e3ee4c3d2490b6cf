"""Boxes around objects in pictures, from Braylan and Lease (2020) and Marzahl and others (2020).

An answer is a list of boxes. The answers of Braylan and Lease are read twice: as boxes, and with their own distance,
1 minus F1 of boxes that overlap by half.
"""

from __future__ import annotations

import ast
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike.domains import Boxes as Drawn
from allalike.domains import Custom
from allalike.readers import read
from crowd_data.base import Parsed, Parser
from crowd_data.originals import load_json, read_columns

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Boxes = tuple[tuple[float, float, float, float], ...]

_DELETED = 8  # the field that says whether a box was deleted
_SIDE = re.compile(r'"([xy][12])": *"([-0-9.]+)"')
_MIN_OVERLAP = 0.5  # intersection over union from which on two boxes match


def unmatched(left: Boxes, right: Boxes) -> float:
    """Return 1 minus F1: the share of boxes that a maximum matching leaves unmatched."""
    from scipy.optimize import linear_sum_assignment

    if left == right or not left or not right:
        return float(left != right)
    match = _overlap(np.array(left, np.float64), np.array(right, np.float64)) >= _MIN_OVERLAP
    rows, columns = linear_sum_assignment(match, maximize=True)
    return 1 - 2 * int(match[rows, columns].sum()) / (len(left) + len(right))


def _overlap(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the Jaccard index of all pairs of boxes (left, top, right, bottom)."""
    corner = np.maximum(left[:, None, :2], right[None, :, :2])
    sides = np.clip(np.minimum(left[:, None, 2:], right[None, :, 2:]) - corner, 0, None)
    common: npt.NDArray[np.float64] = sides.prod(axis=2)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(axis=1) for boxes in (left, right)]
    together = areas[0][:, None] + areas[1][None, :] - common
    shares: npt.NDArray[np.float64] = np.divide(common, together, out=np.zeros_like(common), where=together > 0)
    return shares


def _drawn(folder: Path) -> Parsed:
    """Read the boxes of workers and the gold boxes; both files contain Python lists as text."""
    columns = read_columns(folder / "data" / "boundingbox_data.csv", "uid", "item", "annotation")
    rows = [(int(w), int(t), _boxes(ast.literal_eval(text))) for w, t, text in zip(*columns, strict=True)]
    truths = load_json(folder / "data" / "boundingbox_gold.json")
    gold = {int(task): _boxes(map(ast.literal_eval, texts)) for task, texts in truths.items()}
    note = (
        "Where the pictures come from is not said. Other readings match boxes one after the other, which finds fewer."
    )
    return Parsed(read(rows, domain=Custom(distance=unmatched, farthest=1.0)), gold, note)


def _drawn_as_boxes(folder: Path) -> Parsed:
    """Read the same answers as boxes."""
    parsed = _drawn(folder)
    answers = parsed.answers
    tasks = np.repeat(answers.tasks.tolist(), np.diff(answers.starts)).tolist()
    workers = np.array(answers.workers.tolist())[answers.worker].tolist()
    labels = [_listed(boxes) for boxes in answers.encoding.decode(answers.label).tolist()]
    gold = {task: _listed(boxes) for task, boxes in parsed.gold.items()}
    rows = list(zip(workers, tasks, labels, strict=True))
    return Parsed(read(rows, domain=Drawn()), gold, "Where the pictures come from is not said.")


def _listed(boxes: Boxes) -> list[list[float]]:
    return [list(box) for box in boxes]


def _graded(folder: Path, *, number: int) -> Parsed:
    """Read the boxes and grades of one round; a viewed picture without boxes is an empty answer."""
    where = folder / f"round{number}"
    gold = _read_export(where / "ground_truth.txt")
    rows = [
        (int(path.stem.rpartition("_")[2]), picture, boxes)
        for path in sorted(where.glob("participant_*.txt"))
        for picture, boxes in _read_export(path).items()
    ]
    note = "Boxes that were deleted, and those that were shown and refused, are none."
    return Parsed(read(rows, domain=Drawn()), gold, note)


def _read_export(path: Path) -> dict[str, list[list[Any]]]:
    """Read an export of EXACT: a line per box, and a line per view of a picture."""
    found: dict[str, list[list[Any]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("|")
        if line.startswith("["):
            found.setdefault(fields[0][1:], [])
        elif len(fields) > _DELETED and fields[0] != "image name":
            boxes = found.setdefault(fields[0], [])
            if fields[_DELETED] != "True":
                sides = dict(_SIDE.findall(fields[2]))
                boxes.append([*(float(sides[name]) for name in ("x1", "y1", "x2", "y2")), fields[1]])
    return found


def _boxes(corners: Iterable[Any]) -> Boxes:
    return tuple((float(left), float(top), float(right), float(bottom)) for (left, top), (right, bottom) in corners)


BOXES = (
    Parser("bounding_boxes_braylan", "bounding_boxes_braylan", "boxes around the objects in a picture", _drawn),
    Parser(
        "bounding_boxes_braylan/boxes",
        "bounding_boxes_braylan",
        "the same, matched by how much they overlap",
        _drawn_as_boxes,
    ),
    Parser(
        "boxes_cytology_eiph",
        "boxes_cytology_eiph",
        "which cells are where, and their grade",
        partial(_graded, number=1),
    ),
    Parser(
        "boxes_cytology_eiph/2",
        "boxes_cytology_eiph",
        "the same, beginning with a program's boxes",
        partial(_graded, number=2),
    ),
)
