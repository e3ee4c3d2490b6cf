"""CVAT: boxes or tags of pictures, as its XML for images (version 1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from xml.etree import ElementTree  # nosec B405 # to write

from allalike.api.writers.base import Findings, Truth, Writer, find_exports
from allalike.errors import UnsupportedError
from allalike.readers.tools.cvat import parse_annotations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from allalike.readers.tools.base import Original

__all__ = ["CvatWriter"]

_READ = ("boxes", "tags")  # the questions of CVAT's own files whose answers can be written


class CvatWriter(Writer):
    """CVAT's XML: an image for each task, with its boxes, or with its classes as tags.

    Where the answers are files of CVAT, images and labels are theirs.

    >>> import tempfile, pathlib
    >>> from allalike.api.writers import Findings, Truth
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
    summary: ClassVar[str] = "images with boxes, or with classes as tags (XML for images 1.1)"
    kinds: ClassVar[tuple[str, ...]] = ("boxes", "categorical", "ordinal", "set")
    files: ClassVar[tuple[str, ...]] = ("annotations.xml",)

    def write(self, findings: Findings, folder: Path) -> None:
        """Write images with their marks, and the labels that there are."""
        own = findings.files.tool == self.name
        if own and (findings.files.tag not in _READ or not findings.originals):
            raise UnsupportedError(
                f"For cvat only {' and '.join(_READ)} of pictures are written, and no frames of videos."
            )
        root = ElementTree.Element("annotations")
        ElementTree.SubElement(root, "version").text = "1.1"
        meta = ElementTree.SubElement(root, "meta")
        for number, (truth, original) in enumerate(findings.found()):
            sides = dict(zip(("width", "height"), map(str, original.size or ()), strict=False))
            named = {"id": str(number), "name": original.picture or str(truth.task), **sides}
            image = ElementTree.SubElement(root, "image", dict(original.record) if own else named)
            for tag, label, attributes in self._list_marks(findings.domain, truth, original):
                ElementTree.SubElement(image, tag, {"label": label, "source": "auto", **attributes})
        exports = find_exports(self.name, findings.inputs) if own else []
        meta.extend(
            next((known for path in exports for known in parse_annotations(path).iter("meta")), _list_labels(root))
        )
        ElementTree.indent(root)
        ElementTree.ElementTree(root).write(folder / "annotations.xml", encoding="utf-8", xml_declaration=True)

    def _list_marks(self, domain: str, truth: Truth, original: Original) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield the element of each mark of a truth, its label, and what else it says."""
        if domain != "boxes":
            several = truth.label if isinstance(truth.label, list | tuple | set | frozenset) else [truth.label]
            yield from (("tag", str(label), {}) for label in several)
            return
        for (left, top, width, height), box in self.list_boxes(truth, original):
            if "class" not in box:
                raise self.lacks("The class of a box", truth.task)
            sides = {"xtl": left, "ytl": top, "xbr": left + width, "ybr": top + height}
            places = {name: repr(float(side)) for name, side in sides.items()}
            yield "box", str(box["class"]), {"occluded": "0", **places, "z_order": "0"}


def _list_labels(root: ElementTree.Element) -> ElementTree.Element:
    """Describe a task by the labels that its marks have."""
    meta = ElementTree.Element("meta")
    labels = ElementTree.SubElement(ElementTree.SubElement(meta, "task"), "labels")
    for name in dict.fromkeys(str(mark.get("label")) for mark in root.iterfind("image/*")):
        ElementTree.SubElement(ElementTree.SubElement(labels, "label"), "name").text = name
    return meta
