"""Label Studio: truths as predictions that can be imported beside the tasks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.system.json_text import parse_json
from allalike.api.writers.base import Findings, Truth, Writer
from allalike.errors import InputError
from allalike.readers.formats.encodings import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


__all__ = ["LabelStudioWriter"]

_ENDINGS = (".json", ".jsonl", ".ndjson", ".gz", ".xz", ".zst", ".bz2", ".zip")
_TYPES = {"categorical": "choices", "set": "choices", "real": "number", "text": "textarea"}
_VALUES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "choices": lambda label: {"choices": [str(each) for each in _listed(label)]},
    "taxonomy": lambda label: {"taxonomy": [str(each).split(" / ") for each in _listed(label)]},
    "number": lambda label: {"number": label},
    "rating": lambda label: {"rating": label},
    "textarea": lambda label: {"text": [str(label)]},
}
_SERVED = {
    "categorical": ("choices", "taxonomy", "number", "rating", "textarea"),
    "set": ("choices", "taxonomy"),
    "real": ("number", "rating"),
    "text": ("textarea",),
}


class LabelStudioWriter(Writer):
    """Tasks with predictions in Label Studio's JSON, to be imported into a project.

    Where the answers are an export of Label Studio, tasks have their data, and predictions belong to the control that
    was read. Otherwise the task is the text, and the control is called ``label``.

    >>> import tempfile, pathlib
    >>> from allalike.api.writers import Findings, Truth
    >>> found = Findings("categorical", lambda: iter([Truth("t1", "x", 0.9)]), model="allalike 1.0")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     LabelStudioWriter().write(found, pathlib.Path(folder))
    ...     print(pathlib.Path(folder, "predictions.json").read_text())
    [
    {"data": {"text": "t1"}, "predictions": [{"model_version": "allalike 1.0", "result": [{"from_name": "label",
    "to_name": "text", "type": "choices", "value": {"choices": ["x"]}}], "score": 0.9}]}
    ]
    """

    name: ClassVar[str] = "label-studio"
    summary: ClassVar[str] = "predictions that Label Studio imports"
    kinds: ClassVar[tuple[str, ...]] = tuple(_TYPES)
    files: ClassVar[tuple[str, ...]] = ("predictions.json",)

    def write(self, findings: Findings, folder: Path) -> None:
        """Write a task for each truth."""
        export = _read_export(findings.inputs)
        control = export.choose(findings)
        with (folder / "predictions.json").open("w", encoding="utf-8") as file:
            mark = "[\n"
            for truth in findings.truths():
                task = {**export.task(truth.task), "predictions": _predict(truth, control, findings.model)}
                file.write(mark + json.dumps(task, ensure_ascii=False))
                mark = ",\n"
            file.write("\n]\n" if mark == ",\n" else "[]\n")


@dataclass(frozen=True)
class _Control:
    """A control of a project, and what was said with it."""

    from_name: str
    to_name: str
    type: str
    said: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Export:
    """What an export says of tasks and controls; nothing where there is none."""

    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    controls: dict[str, _Control] = field(default_factory=dict)

    def task(self, name: Any) -> dict[str, Any]:
        """Return the task of this name, or one that consists of it."""
        return self.tasks.get(str(name), {"data": {"text": str(name)}})

    def choose(self, findings: Findings) -> _Control:
        """Return the control that was read: that with which most of the truths were said."""
        fitting = [each for each in self.controls.values() if each.type in _SERVED[findings.domain]]
        if not fitting:
            return _Control("label", "text", _TYPES[findings.domain])
        if len(fitting) == 1:
            return fitting[0]
        found = {str(each) for truth in findings.truths() if truth.label is not None for each in _listed(truth.label)}
        return max(fitting, key=lambda control: len(found & control.said))


def _predict(truth: Truth, control: _Control, model: str) -> list[dict[str, Any]]:
    """Return the prediction of a truth; none where there is no truth."""
    if truth.label is None:
        return []
    result = {
        "from_name": control.from_name,
        "to_name": control.to_name,
        "type": control.type,
        "value": _VALUES[control.type](truth.label),
    }
    score = {} if truth.confidence is None else {"score": truth.confidence}
    return [{"model_version": model, "result": [result], **score}]


def _listed(label: Any) -> list[Any]:
    return list(label) if isinstance(label, list | tuple | set | frozenset) else [label]


def _read_export(paths: Iterable[Path]) -> _Export:
    """Read tasks and controls of the inputs that are exports of Label Studio."""
    export = _Export()
    for path in paths:
        if path.is_file() and path.suffix.lower() in _ENDINGS:
            for record in _read_records(path):
                _add(export, record)
    return export


def _read_records(path: Path) -> list[Any]:
    """Return the records of a JSON file, or none if it is no such file."""
    try:
        text = read_text(path)
        found = parse_json(text) if text.lstrip().startswith("[") else [parse_json(line) for line in text.splitlines()]
    except (OSError, ValueError, InputError):
        return []
    return found if isinstance(found, list) else []


def _add(export: _Export, record: Any) -> None:
    if not isinstance(record, dict) or not isinstance(record.get("data"), dict) or "id" not in record:
        return
    export.tasks[str(record["id"])] = {"id": record["id"], "data": record["data"]}
    sheets = [each for key in ("annotations", "completions", "predictions") for each in _items(record.get(key))]
    for item in (item for sheet in sheets if isinstance(sheet, dict) for item in _items(sheet.get("result"))):
        if isinstance(item, dict) and isinstance(item.get("value"), dict) and item.get("type") in _VALUES:
            names = str(item.get("from_name")), str(item.get("to_name"))
            control = export.controls.setdefault(names[0], _Control(*names, item["type"]))
            said = item["value"].get("text" if control.type == "textarea" else control.type)
            parts = [each if isinstance(each, list) else [each] for each in _items(said)] or [[said]]
            control.said.update(" / ".join(map(str, part)) for part in parts)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
