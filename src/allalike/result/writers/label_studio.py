"""Writer for Label Studio: estimated labels as predictions or annotations for import into a project."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from allalike._core.masks import to_brush
from allalike._core.options import choice
from allalike.errors import UnsupportedError
from allalike.readers.tools.base import Original
from allalike.result.writers.base import THING, Findings, Truth, Writer

_VALUES: dict[str, Callable[[Truth], dict[str, Any]]] = {
    "choices": lambda truth: {"choices": list(map(str, truth.classes))},
    "taxonomy": lambda truth: {"taxonomy": [str(each).split(" / ") for each in truth.classes]},
    "pairwise": lambda truth: {"selected": str(truth.label)},
    "number": lambda truth: {"number": truth.label},
    "rating": lambda truth: {"rating": truth.label},
    "textarea": lambda truth: {"text": [str(truth.label)]},
}
_SERVED = {  # the controls for each label type; the first is the default without an export
    "categorical": tuple(_VALUES),
    "ordinal": tuple(_VALUES),
    "set": ("choices", "taxonomy"),
    "real": ("number", "rating"),
    "text": ("textarea",),
    "spans": ("labels", "timeserieslabels"),
    "boxes": ("rectanglelabels", "rectangle"),
    "bitmap": ("brushlabels", "brush"),
}


@dataclass(frozen=True)
class LabelStudioWriter(Writer):
    """Writer of Label Studio's JSON: tasks with the estimated label as a prediction or as an annotation.

    If the answers are an export of Label Studio, tasks have their original data and labels their original control.
    Otherwise the task is the text or the image, and the control is called ``label``.

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
        """Write one task per label."""
        control = _choose(findings)
        with (folder / f"{self.form}.json").open("w", encoding="utf-8") as file:
            mark = "[\n"
            for name, group in groupby(findings.truths(), key=lambda truth: findings.part(truth.task)[0]):
                original = findings.originals.get(str(name), Original())
                truths = {findings.part(truth.task)[1]: truth for truth in group if truth.label is not None}
                made = [self._make(truths, original, control, findings.model)] if truths else []
                shown = original.picture if control.to_name == "image" else original.text
                task = {key: original.record[key] for key in ("id", "data") if key in original.record}
                if "data" not in task:  # not an export of Label Studio
                    task = {"data": {control.to_name: str(name) if shown is None else shown}}
                file.write(mark + json.dumps({**task, self.form: made}, ensure_ascii=False))
                mark = ",\n"
            file.write("\n]\n" if mark == ",\n" else "[]\n")

    def _make(
        self, truths: Mapping[str | None, Truth], original: Original, control: _Control, model: str
    ) -> dict[str, Any]:
        """Return a prediction or an annotation with one label, or with the masks of several classes."""
        names = {"from_name": control.from_name, "to_name": control.to_name, "type": control.type}
        result: list[dict[str, Any]] = []
        for kind, truth in truths.items():
            for value in self._list_values(truth, original, control, kind):
                result.append({"id": str(len(result) + 1), **names, **value})
        if self.form == "annotations":
            return {"created_username": model, "result": result, "was_cancelled": False, "ground_truth": False}
        scores = [truth.confidence for truth in truths.values() if truth.confidence is not None]
        return {"model_version": model, "result": result, **({"score": min(scores)} if scores else {})}

    def _list_values(
        self, truth: Truth, original: Original, control: _Control, kind: str | None
    ) -> Iterator[dict[str, Any]]:
        """Yield the fields of the results of a label, without the names of the control."""
        if control.type in _VALUES:
            yield {"value": _VALUES[control.type](truth)}
        elif control.type in _SERVED["spans"]:
            for start, end, label in truth.spans:
                words = {} if original.text is None else {"text": original.text[start:end]}
                yield {"value": {"start": start, "end": end, **words, **control.name_class(label)}}
        elif control.type in _SERVED["bitmap"]:
            height, width = self.pixels(truth).shape
            value = {"format": "rle", "rle": to_brush(truth.label), **control.name_class(kind or control.painted)}
            yield from [{**_name_size((width, height)), "value": value}] if truth.label.any() else []
        else:
            for sides, box in self.list_boxes(truth, original, percent=True):
                place: dict[str, Any] = {**dict(zip(("x", "y", "width", "height"), sides, strict=True)), "rotation": 0}
                yield {**_name_size(original.size), "value": place | control.name_class(box.get("class"))}


@dataclass(frozen=True)
class _Control:
    """Control of a project, and its classes; for masks also the question that was read."""

    from_name: str
    to_name: str
    type: str
    classes: set[str] = field(default_factory=set)
    question: str = ""

    @property
    def painted(self) -> str | None:
        """The class of the masks: the class in the question, or the only one."""
        name = self.question.removeprefix(f"{self.from_name}: ")
        return name if name in self.classes else next(iter(self.classes), THING)

    def name_class(self, label: Any) -> dict[str, list[str]]:
        """Return the class of a region in the form of this control."""
        if label is None or not self.type.endswith("labels"):
            return {}
        return {self.type: [str(label)] if str(label) in self.classes else str(label).split(" + ")}


def _choose(findings: Findings) -> _Control:
    """Return the control that was read."""
    served, question = _SERVED[findings.domain], findings.files.question or ""
    controls: dict[str, _Control] = {}
    for item in (item for original in findings.originals.values() for item in original.record.get("results", ())):
        if isinstance(item.get("value"), dict):
            names = str(item.get("from_name")), str(item.get("to_name")), str(item.get("type"))
            control = controls.setdefault(names[0], _Control(*names, question=question))
            control.classes.update(map(str, Truth(None, item["value"].get(control.type, ()), None).classes))
    if not controls:  # the answers are not an export of Label Studio
        return _Control("label", "image" if findings.domain in ("boxes", "bitmap") else "text", served[0])
    named = [c for name, c in controls.items() if not question or question == name or question.startswith(f"{name}: ")]
    fitting = [each for each in named if each.type in served]
    if len(fitting) != 1:
        listed = ", ".join(f"{each.from_name} ({each.type})" for each in (fitting or named or controls.values()))
        raise UnsupportedError(
            f"{'Several controls' if fitting else 'No control'} of the project can hold {findings.domain} labels:"
            f" {listed}. Choose a control of one of these types with question=: {', '.join(served)}."
        )
    return fitting[0]


def _name_size(size: tuple[int, int] | None) -> dict[str, int]:
    return {} if size is None else {"original_width": size[0], "original_height": size[1], "image_rotation": 0}
