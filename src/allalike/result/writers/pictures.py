"""Writers of boxes, masks and tags of images for COCO (run lengths as in pycocotools) and CVAT."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar
from xml.etree import ElementTree  # nosec B405 # to write

import numpy as np

from allalike._core.masks import count_runs, to_run_lengths
from allalike.errors import UnsupportedError
from allalike.readers.tools.base import load_document
from allalike.readers.tools.marks import parse_annotations
from allalike.result.writers.base import THING, Findings, Truth, Writer, find_exports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from allalike.readers.tools.base import Original

_NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_AREAS = ("polygon", "mask")
_READ = ("areas", "boxes", "tags")  # the questions in CVAT's files that can be written


def _name_size(truth: Truth, original: Original) -> dict[str, int]:
    """Return the width and height of the image, if they are known."""
    size = truth.label.shape[::-1] if isinstance(truth.label, np.ndarray) else original.size or ()
    return dict(zip(("width", "height"), size, strict=False))


def _surround(pixels: np.ndarray[Any, np.dtype[np.bool_]]) -> list[int]:
    """Return left, top, width and height of a mask."""
    rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
    if not len(rows):
        return [0, 0, 0, 0]
    left, top = int(columns[0]), int(rows[0])
    return [left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top]


class CocoWriter(Writer):
    """Writer of COCO's JSON: one image per task, with its boxes or its mask as annotations.

    If the answers are COCO files, their images and categories are kept. Boxes and masks without a class have the
    category ``object``.

    >>> import tempfile, pathlib
    >>> from allalike.result.writers import Findings, Truth
    >>> found = Findings("bitmap", lambda: iter([Truth("cat.png", np.eye(2, dtype=np.bool_), 0.9)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     CocoWriter().write(found, pathlib.Path(folder))
    ...     written = json.loads(pathlib.Path(folder, "annotations.json").read_text())
    >>> written["annotations"][0]["segmentation"], written["annotations"][0]["bbox"]
    ({'size': [2, 2], 'counts': '0120'}, [0, 0, 2, 2])
    """

    name: ClassVar[str] = "coco"
    summary: ClassVar[str] = "images with boxes, or with masks as run lengths"
    kinds: ClassVar[tuple[str, ...]] = ("boxes", "bitmap")
    files: ClassVar[tuple[str, ...]] = ("annotations.json",)

    def write(self, findings: Findings, folder: Path) -> None:
        """Write images, annotations and categories."""
        categories = {str(each["name"]): each for each in _read_categories(findings)}
        unused = count(1 + max((each["id"] for each in categories.values()), default=0))
        ids = [each.record.get("id") for each in findings.originals.values()]
        numbered = len(set(ids)) < len(ids)  # each annotator's file numbers its images independently
        images: dict[Any, dict[str, Any]] = {}
        annotations: list[dict[str, Any]] = []
        only = next(iter(categories)) if len(categories) == 1 else THING
        for truth, original, picture, kind in findings.found():
            if picture not in images:
                number = {"id": len(images) + 1}
                named = {"file_name": original.picture or str(truth.task), **_name_size(truth, original)}
                own = dict(original.record) if "file_name" in original.record else named
                images[picture] = {**number, **own, **(number if numbered else {})}
            for label, mark, confidence in self._list_marks(findings.domain, truth, original, kind or only):
                if label not in categories:
                    categories[label] = {"id": next(unused), "name": label, "supercategory": ""}
                about = {"id": len(annotations) + 1, "image_id": images[picture]["id"]}
                score = {} if confidence is None else {"score": confidence}
                annotations.append({**about, "category_id": categories[label]["id"], **mark, **score, "iscrowd": 0})
        document = {
            "info": {"description": f"Labels estimated by {findings.model}"},
            "images": list(images.values()),
            "annotations": annotations,
            "categories": list(categories.values()),
        }
        (folder / "annotations.json").write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")

    def _list_marks(
        self, domain: str, truth: Truth, original: Original, kind: str
    ) -> Iterator[tuple[str, dict[str, Any], float | None]]:
        """Yield class, fields and confidence of each mark; a mask has the class ``kind``."""
        if domain == "bitmap":
            pixels = self.pixels(truth)
            mark = {"segmentation": to_run_lengths(pixels), "area": int(pixels.sum()), "bbox": _surround(pixels)}
            yield kind, mark, truth.confidence
            return
        for sides, box in self.list_boxes(truth, original):
            mark = {"segmentation": [], "bbox": sides, "area": sides[2] * sides[3]}
            yield str(box.get("class", THING)), mark, box.get("confidence")


def _read_categories(findings: Findings) -> list[dict[str, Any]]:
    """Return the categories in the COCO files of the answers."""
    paths = find_exports("coco", findings.inputs) if findings.files.tool == "coco" else []
    pages = [page for path in paths if isinstance(page := load_document(path), dict)]
    listed = [each for page in pages for each in page.get("categories") or [] if isinstance(each, dict)]
    return [each for each in listed if each.get("name") is not None and isinstance(each.get("id"), int)]


class CvatWriter(Writer):
    """Writer of CVAT's XML: one image per task, with its boxes, its mask, or its classes as tags.

    If the answers are CVAT files, their images are kept. Boxes and masks without a class have the class ``object``.

    >>> import tempfile, pathlib
    >>> from allalike.result.writers import Findings, Truth
    >>> box = {"x1": 1.0, "y1": 2.0, "x2": 31.0, "y2": 42.0, "class": "cat"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     CvatWriter().write(Findings("boxes", lambda: iter([Truth("a.jpg", [box], 0.9)])), pathlib.Path(folder))
    ...     print(*pathlib.Path(folder, "annotations.xml").read_text().splitlines()[-4:], sep=chr(10))
      <image id="0" name="a.jpg">
        <box label="cat" source="auto" occluded="0" xtl="1.0" ytl="2.0" xbr="31.0" ybr="42.0" z_order="0" />
      </image>
    </annotations>
    """

    name: ClassVar[str] = "cvat"
    summary: ClassVar[str] = "images with boxes, with masks, or with classes as tags (XML for images 1.1)"
    kinds: ClassVar[tuple[str, ...]] = ("boxes", "bitmap", "categorical", "ordinal", "set")
    files: ClassVar[tuple[str, ...]] = ("annotations.xml",)

    def write(self, findings: Findings, folder: Path) -> None:
        """Write images with their marks, and the list of labels."""
        own = findings.files.tool == self.name
        if own and (findings.files.question not in _READ or not findings.originals):
            raise UnsupportedError(
                "cvat supports areas, boxes and tags of pictures, but not frames of videos. Remove cvat from --to."
            )
        root = ElementTree.Element("annotations")
        ElementTree.SubElement(root, "version").text = "1.1"
        labels = _put(root, "meta", "task", "labels")
        pages = map(parse_annotations, find_exports("cvat", findings.inputs) if own else [])
        drawn = {mark.get("label") for page in pages for mark in page.iterfind(".//image/*") if mark.tag in _AREAS}
        only = str(drawn.pop()) if len(drawn) == 1 else THING  # the class of all areas
        images: dict[Any, ElementTree.Element] = {}
        for truth, original, picture, kind in findings.found():
            if picture not in images:
                sides = {side: str(length) for side, length in _name_size(truth, original).items()}
                named = {"id": str(len(images)), "name": original.picture or str(truth.task), **sides}
                images[picture] = ElementTree.SubElement(root, "image", dict(original.record) if own else named)
            for tag, label, attributes in self._list_marks(findings.domain, truth, original, kind or only):
                ElementTree.SubElement(images[picture], tag, {"label": label, "source": "auto", **attributes})
        for name in dict.fromkeys(str(mark.get("label")) for mark in root.iterfind("image/*")):
            _put(labels, "label", "name").text = name
        ElementTree.indent(root)
        if odd := _NO_XML.search(ElementTree.tostring(root, "unicode")):
            raise UnsupportedError(f"A task or a label contains {odd[0]!r}, which XML does not allow. Remove cvat.")
        ElementTree.ElementTree(root).write(folder / "annotations.xml", encoding="utf-8", xml_declaration=True)

    def _list_marks(
        self, domain: str, truth: Truth, original: Original, kind: str
    ) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield element, class and attributes of each mark; a mask has the class ``kind``."""
        if domain == "boxes":
            for (left, top, width, height), box in self.list_boxes(truth, original):
                sides = {"xtl": left, "ytl": top, "xbr": left + width, "ybr": top + height}
                places = {name: repr(float(side)) for name, side in sides.items()}
                label = str(self.need(box.get("class"), "The class of a box", truth.task))
                yield "box", label, {"occluded": "0", **places, "z_order": "0"}
        elif domain == "bitmap":
            pixels = self.pixels(truth)
            left, top, width, height = _surround(pixels)
            runs = count_runs(pixels[top : top + height, left : left + width].ravel()).tolist()
            around = {"left": left, "top": top, "width": width, "height": height}
            drawn = {"rle": ", ".join(map(str, runs)), **{name: str(side) for name, side in around.items()}}
            yield from [("mask", kind, {"occluded": "0", **drawn, "z_order": "0"})] if pixels.any() else []
        else:
            yield from (("tag", str(label), {}) for label in truth.classes)


def _put(element: ElementTree.Element, *tags: str) -> ElementTree.Element:
    """Nest elements with these tags in an element and return the innermost."""
    for tag in tags:
        element = ElementTree.SubElement(element, tag)
    return element
