"""COCO: masks as annotations of images, with run lengths as pycocotools reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.masks.packed import to_run_lengths
from allalike.api.writers.base import Findings, Truth, Writer

if TYPE_CHECKING:
    from pathlib import Path


__all__ = ["CocoWriter"]


class CocoWriter(Writer):
    """COCO's JSON: an image for each task, and its mask as one annotation of the category ``object``.

    >>> import tempfile, pathlib
    >>> from allalike.api.writers import Findings, Truth
    >>> found = Findings("bitmap", lambda: iter([Truth("cat.png", np.eye(2, dtype=np.bool_), 0.9)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     CocoWriter().write(found, pathlib.Path(folder))
    ...     written = json.loads(pathlib.Path(folder, "annotations.json").read_text())
    >>> written["annotations"][0]["segmentation"], written["annotations"][0]["bbox"]
    ({'size': [2, 2], 'counts': '0120'}, [0, 0, 2, 2])
    """

    name: ClassVar[str] = "coco"
    summary: ClassVar[str] = "masks as annotations of images, with run lengths"
    kinds: ClassVar[tuple[str, ...]] = ("bitmap",)
    files: ClassVar[tuple[str, ...]] = ("annotations.json",)

    def write(self, findings: Findings, folder: Path) -> None:
        """Write images, annotations and the category."""
        images: list[dict[str, Any]] = []
        annotations: list[dict[str, Any]] = []
        for number, truth in enumerate((each for each in findings.truths() if each.label is not None), start=1):
            height, width = truth.label.shape
            images.append({"id": number, "file_name": str(truth.task), "height": height, "width": width})
            annotations.append(_annotation(number, truth))
        document = {
            "info": {"description": f"Masks found by {findings.model}"},
            "images": images,
            "annotations": annotations,
            "categories": [{"id": 1, "name": "object", "supercategory": ""}],
        }
        (folder / "annotations.json").write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")


def _annotation(number: int, truth: Truth) -> dict[str, Any]:
    pixels = np.asarray(truth.label, np.bool_)
    return {
        "id": number,
        "image_id": number,
        "category_id": 1,
        "segmentation": to_run_lengths(pixels),
        "area": int(pixels.sum()),
        "bbox": _box(pixels),
        "iscrowd": 0,
        **({} if truth.confidence is None else {"score": truth.confidence}),
    }


def _box(pixels: np.ndarray[Any, np.dtype[np.bool_]]) -> list[int]:
    """Return left, top, width and height of what is on."""
    rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
    if not len(rows):
        return [0, 0, 0, 0]
    left, top = int(columns[0]), int(rows[0])
    return [left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top]
