"""Label Studio: truths as predictions or annotations, to be imported into a project."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.masks import to_brush
from allalike._core.options import choice
from allalike.errors import UnsupportedError
from allalike.readers.tools.base import Original
from allalike.result.writers.base import Findings, Truth, Writer, check_flat, list_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


_VALUES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "choices": lambda label: {"choices": [str(each) for each in list_classes(label)]},
    "taxonomy": lambda label: {"taxonomy": [str(each).split(" / ") for each in list_classes(label)]},
    "pairwise": lambda label: {"selected": str(label)},
    "number": lambda label: {"number": label},
    "rating": lambda label: {"rating": label},
    "textarea": lambda label: {"text": [str(label)]},
}
_CLASSES = tuple(_VALUES)
_SERVED = {  # the controls that take each kind of labels, first that of answers which are no export
    "categorical": _CLASSES,
    "ordinal": _CLASSES,
    "set": ("choices", "taxonomy"),
    "real": ("number", "rating"),
    "text": ("textarea",),
    "spans": ("labels", "timeserieslabels"),
    "boxes": ("rectanglelabels", "rectangle"),
    "bitmap": ("brushlabels", "brush"),
}
_SIDES = ("x", "y", "width", "height")
_PICTURES = ("boxes", "bitmap")
_THING = "object"  # the class of masks that have none


@dataclass(frozen=True)
class LabelStudioWriter(Writer):
    """Tasks in Label Studio's JSON, each with its truth as a prediction or as an annotation.

    Where the answers are an export of Label Studio, tasks have their data, and truths belong to the control that was
    read. Otherwise the task is the text or the picture, and the control is called ``label``.

    >>> import tempfile, pathlib
    >>> from allalike.result.writers import Findings, Truth
    >>> found = Findings("categorical", lambda: iter([Truth("t1", "x", 0.9)]), model="allalike 1.0")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     LabelStudioWriter().write(found, pathlib.Path(folder))
    ...     print(pathlib.Path(folder, "predictions.json").read_text())
    [
    {"data": {"text": "t1"}, "predictions": [{"model_version": "allalike 1.0", "result": [{"id": "1", "from_name":
    "label", "to_name": "text", "type": "choices", "value": {"choices": ["x"]}}], "score": 0.9}]}
    ]
    """

    name: ClassVar[str] = "label-studio"
    summary: ClassVar[str] = "tasks with predictions, or with annotations: label-studio(form=annotations)"
    kinds: ClassVar[tuple[str, ...]] = tuple(_SERVED)
    files: ClassVar[tuple[str, ...]] = ("predictions.json", "annotations.json")
    form: str = choice("predictions", "annotations")

    def write(self, findings: Findings, folder: Path) -> None:
        """Write a task for each truth."""
        control = _choose(findings)
        with (folder / f"{self.form}.json").open("w", encoding="utf-8") as file:
            mark = "[\n"
            for name, group in groupby(findings.truths(), key=lambda truth: findings.part(truth.task)[0]):
                original = findings.originals.get(str(name), Original())
                truths = {findings.part(truth.task)[1]: truth for truth in group if truth.label is not None}
                made = [self._make(truths, original, control, findings.model)] if truths else []
                task = {**_task(name, original, control), self.form: made}
                file.write(mark + json.dumps(task, ensure_ascii=False))
                mark = ",\n"
            file.write("\n]\n" if mark == ",\n" else "[]\n")

    def _make(
        self, truths: Mapping[str | None, Truth], original: Original, control: _Control, model: str
    ) -> dict[str, Any]:
        """Return the prediction or the annotation of a truth, or of the masks of several classes."""
        names = {"from_name": control.from_name, "to_name": control.to_name, "type": control.type}
        values = [
            value for kind, truth in truths.items() for value in self._list_values(truth, original, control, kind)
        ]
        sure = [truth.confidence for truth in truths.values() if truth.confidence is not None]
        result = [{"id": str(number), **names, **value} for number, value in enumerate(values, start=1)]
        if self.form == "annotations":
            return {"created_username": model, "result": result, "was_cancelled": False, "ground_truth": False}
        return {"model_version": model, "result": result, **({"score": min(sure)} if sure else {})}

    def _list_values(
        self, truth: Truth, original: Original, control: _Control, kind: str | None
    ) -> list[dict[str, Any]]:
        """List what the results of a truth have beside the names of the control."""
        if control.type in _VALUES:
            return [{"value": _VALUES[control.type](truth.label)}]
        if control.type in _SERVED["spans"]:
            return [
                {
                    "value": {
                        "start": first,
                        "end": end,
                        **_words(original, first, end),
                        **control.name_class(label),
                    }
                }
                for first, end, label in truth.spans
            ]
        if control.type in _SERVED["bitmap"]:
            height, width = check_flat(truth, self.name).shape
            value = {"format": "rle", "rle": to_brush(truth.label), **control.name_class(kind or control.painted)}
            return [{**_sides((width, height)), "value": value}] if truth.label.any() else []
        boxes = (
            {**dict(zip(_SIDES, sides, strict=True)), "rotation": 0, **control.name_class(box.get("class"))}
            for sides, box in self.list_boxes(truth, original, percent=True)
        )
        return [{**_sides(original.size), "value": value} for value in boxes]


@dataclass(frozen=True)
class _Control:
    """A control of a project, and the classes that were marked with it; of masks also that which was read."""

    from_name: str
    to_name: str
    type: str
    classes: set[str] = field(default_factory=set)
    tag: str = ""

    @property
    def painted(self) -> str | None:
        """The class of masks that was read: that which the question names, or the only one."""
        behind = self.tag.removeprefix(f"{self.from_name}: ")
        return behind if behind in self.classes else next(iter(self.classes), _THING)

    def name_class(self, label: Any) -> dict[str, list[str]]:
        """Return the class of a region, as this control writes it."""
        if label is None or not self.type.endswith("labels"):
            return {}
        return {self.type: [str(label)] if str(label) in self.classes else str(label).split(" + ")}


def _choose(findings: Findings) -> _Control:
    """Return the control that was read."""
    served, tag = _SERVED[findings.domain], findings.files.question or ""
    controls: dict[str, _Control] = {}
    for item in (item for original in findings.originals.values() for item in original.record.get("results", ())):
        if isinstance(item.get("value"), dict):
            names = str(item.get("from_name")), str(item.get("to_name")), str(item.get("type"))
            control = controls.setdefault(names[0], _Control(*names, tag=tag))
            control.classes.update(map(str, list_classes(item["value"].get(control.type, ()))))
    if not controls:  # the answers are no export of Label Studio
        return _Control("label", "image" if findings.domain in _PICTURES else "text", served[0])
    named = [each for name, each in controls.items() if not tag or tag == name or tag.startswith(f"{name}: ")]
    fitting = [each for each in named if each.type in served]
    if len(fitting) != 1:
        listed = ", ".join(f"{each.from_name} ({each.type})" for each in (fitting or named or controls.values()))
        raise UnsupportedError(
            f"{'Several' if fitting else 'None'} of the controls of the project can take labels of the kind"
            f" {findings.domain}: {listed}. Those that can are of the types {', '.join(served)}; tag names one of them."
        )
    return fitting[0]


def _task(name: Any, original: Original, control: _Control) -> dict[str, Any]:
    """Return a task as the project has it, or one that consists of what was shown, or of its name."""
    if "data" in original.record:
        return {key: original.record[key] for key in ("id", "data") if key in original.record}
    shown = original.picture if control.to_name == "image" else original.text
    return {"data": {control.to_name: str(name) if shown is None else shown}}


def _words(original: Original, start: int, end: int) -> dict[str, str]:
    return {} if original.text is None else {"text": original.text[start:end]}


def _sides(size: tuple[int, int] | None) -> dict[str, int]:
    return {} if size is None else {"original_width": size[0], "original_height": size[1], "image_rotation": 0}
