"""Annotation tools that write one record per document or answer: Argilla, Prodigy, doccano, Labelbox, Ground Truth."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.readers.column_names import rate_name
from allalike.readers.tools.base import FileProbe, get, get_list, get_number, get_text, unexpected
from allalike.readers.tools.frame import REGIONS, Answer, Export, mark, record_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    Record = dict[str, Any]

_SHAPES = {  # kinds of marks by their distinctive field
    "start": "spans",
    "start_offset": "spans",
    "startOffset": "spans",
    "width": "boxes",
    "points": "polygons",
    "x": "points",
}
_FORMS = {"entities": "spans", "boundingBoxes": "boxes", "labels": "choices"}  # of answers to a form
_BOX = (("x", "left"), ("y", "top"), ("width",), ("height",))
_START, _END = ("start", "start_offset", "startOffset"), ("end", "end_offset", "endOffset")


def _read_label(value: Any) -> tuple[Any, str]:
    """Return the label of an answer, and its kind: choices, a number, texts, a ranking, or marks."""
    if not isinstance(value, dict | list):
        return ((value,), "choices") if isinstance(value, str) else (value, "numbers")
    if isinstance(value, dict):
        return _read_form(value)
    if value and isinstance(value[0], dict) and "rank" in value[0]:
        return [item["value"] for item in sorted(value, key=lambda item: get_number(item, "rank"))], "rankings"
    items = [_read_item(item) for item in value]
    kinds = {kind for kind, _ in items} or {"choices"}
    if len(kinds) > 1:
        raise unexpected(sorted(kinds), "annotations of one kind")
    kind, labels = kinds.pop(), [label for _, label in items]
    return (tuple(labels) if kind == "choices" else "\n".join(labels) if kind == "texts" else labels), kind


def _read_form(value: Record) -> tuple[Any, str]:
    """Return the label of a field of a form, and its kind."""
    for key, kind in _FORMS.items():
        if key in value:
            label, _ = _read_label(get_list(value, key))
            return label if kind == "choices" else list(label), kind
    if "label" in value:
        return (value["label"],), "choices"
    if not value or not all(isinstance(chosen, bool) for chosen in value.values()):
        raise unexpected(value, "an answer of a known form")
    if set(value) == {"on"}:  # a single checkbox
        return (str(value["on"]).lower(),), "choices"
    return tuple(name for name, chosen in value.items() if chosen), "choices"


def _read_item(item: Any) -> tuple[str, Any]:
    """Return the kind and the value of an item of an answer: a mark, a text, or a choice."""
    if isinstance(item, list):
        start, end, label = item
        return "spans", [get_number(start), get_number(end), str(label)]
    if not isinstance(item, dict):
        return "choices", item
    if not {*_SHAPES, *_END}.isdisjoint(item):
        return _read_mark(item, item.get("label"))
    return ("texts", get_text(item, "text")) if "text" in item else ("choices", item["label"])


def _read_mark(shape: Any, label: Any) -> tuple[str, Any]:
    """Return the kind of a mark, and the mark: a span as [start, end, class], other marks as an object with a class."""
    fields = () if isinstance(shape, list) else [key for key in _SHAPES if get(shape, key) is not None]
    kind = "polygons" if isinstance(shape, list) else _SHAPES[fields[0]] if fields else "spans"
    if kind == "spans":
        name = None if label is None else str(label)
        return kind, [get_number(shape, *_START), get_number(shape, *_END), name]
    if kind == "boxes":
        return kind, mark(label, bbox=[get_number(shape, *side) for side in _BOX])
    if kind == "points":
        return kind, mark(label, x=get_number(shape, "x"), y=get_number(shape, "y"))
    outline = get_list(shape["points"] if isinstance(shape, dict) else shape)
    if all(isinstance(point, dict) for point in outline):
        outline = [[get_number(point, "x"), get_number(point, "y")] for point in outline]
    return kind, mark(label, points=outline)


# Argilla.

_RESPONSES = ".responses"


def _has_responses(record: Record) -> bool:
    responses = record.get("responses")
    if isinstance(responses, list):
        return any(isinstance(item, dict) and isinstance(item.get("values"), dict) for item in responses)
    if isinstance(responses, dict):
        lists = [items for items in responses.values() if isinstance(items, list)]
        return bool(lists) and all(isinstance(item, dict) and "value" in item for items in lists for item in items)
    flat = any(key.endswith(_RESPONSES) and f"{key}.users" in record for key in record)
    return flat or any(map(_is_question, record.values()))


def _is_question(value: Any) -> bool:
    """Return whether a field is a list of responses, as in version 1."""
    keys = {"user_id", "value", "status"}
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) and keys <= v.keys() for v in value)


@record_tool("argilla", "Argilla", lambda peek: any(map(_has_responses, peek.records)))
def argilla(export: Export) -> Iterator[Answer]:
    """Read records with the responses of users to questions (JSON, JSONL).

    Record: ``{"id": 7, "responses": [{"user_id": "ada", "values": {"mood": {"value": "sad"}}}]}``, as returned by the
    API. Version 1 has a list of responses per question. Tables have columns of values, users and states.
    """
    own = len(export.paths) == 1 or export.by_file
    for record in export.records():
        task = get(record, "id", "external_id", "_server_id", "record_id")
        if task is None:
            place = "" if own else f"{'/'.join(filter(None, export.places[export.path]))}:"
            task = f"{place}{export.number}"
        for question, value, response in _list_responses(record):
            status = get(response, "status")
            if status in ("discarded", "draft", "missing"):
                export.leave_out(f"responses that are {status}")
                continue
            label, kind = _read_label(value)
            worker = export.worker(get(response, "user_id", "username", "user", "annotator"))
            yield Answer(worker, task, label, question, kind)


def _list_responses(record: Record) -> Iterator[tuple[str, Any, Any]]:
    """Yield question, value and response for all responses to a record."""
    responses = record.get("responses")
    if isinstance(responses, list):
        for response in responses:
            for question, value in (response["values"] or {}).items():
                yield question, get(value, "value"), response
        return
    for question, values in (record if responses is None else responses).items():
        if responses is not None or _is_question(values):
            for response in get_list(values):
                yield question, get(response, "value"), response
        elif question.endswith(_RESPONSES):
            users, states = (get_list(record, f"{question}.{each}") for each in ("users", "status"))
            if len(users) != len(get_list(values)):
                raise unexpected(users, "one user per value", f"{question}.users")
            states += ["submitted"] * (len(users) - len(states))
            for value, user, status in zip(get_list(values), users, states, strict=False):
                yield question.removesuffix(_RESPONSES), value, {"user_id": user, "status": status}


# Prodigy.

_HASHES = ("_task_hash", "_input_hash")
_ANNOTATOR = ("_annotator_id", "_session_id")


@record_tool("prodigy", "Prodigy", lambda peek: any(peek.has("answer", name) for name in _HASHES), shows=True)
def prodigy(export: Export) -> Iterator[Answer]:
    """Read answers accept, reject and ignore; choices; spans (JSONL).

    Record: ``{"text": "So it goes.", "_input_hash": 1, "_task_hash": 2, "_session_id": "ada", "answer": "accept"}``.
    The task is ``_input_hash`` if workers share only that hash. Accepted options and spans are the label.
    """
    workers: dict[str, dict[Any, set[Any]]] = {name: defaultdict(set) for name in _HASHES}
    answers = []
    for record in export.records():
        worker = export.worker(get(record, *_ANNOTATOR))
        answers.append((export.at, worker, record))
        for name in _HASHES:
            workers[name][record.get(name)].add(worker)
    whole = [name for name in _HASHES if None not in workers[name]] or [_HASHES[0]]
    key = next((name for name in whole if any(len(those) > 1 for those in workers[name].values())), whole[0])
    is_ignored = False
    for export.at, worker, record in answers:
        task, answer = record[key], get_text(record, "answer")
        export.show(task, record, text=record.get("text"))
        label, kind = _read_marks(record)
        if not kind:
            is_ignored |= answer == "ignore"
            yield Answer(worker, task, answer, kind="accept, reject or ignore")
        elif answer == "accept":
            yield Answer(worker, task, label, kind=kind)
        else:
            export.leave_out(f"answers {answer!r}")
    if is_ignored:
        export.remarks.append("'ignore' is read as a class. If it means no answer, set abstain_label='ignore'.")


def _read_marks(record: Record) -> tuple[Any, str]:
    """Return the choices, marks or text of a record, and their kind; no kind if only a verdict was requested."""
    view, spans = record.get("_view_id") or "", get_list(record, "spans", "audio_spans")
    view = "" if view == "blocks" else view  # each block has its own view
    manual = isinstance(view, str) and ("manual" in view or "relations" in view)  # workers mark spans
    if record.get("accept") is not None and (record.get("options") is not None or view == "choice"):
        return tuple(get_list(record, "accept")), "choices"
    if manual or (not view and any("token_start" in str(span) for span in spans)):
        return [_read_mark(span, get(span, "label"))[1] for span in spans], "spans"
    if view == "text_input" or (not view and record.get("user_input") is not None):
        return record.get("user_input"), "texts"
    return None, ""


# doccano.

_TEXT = ("text", "data", "filename")
_LABELS = ("label", "labels", "entities", "cats", "sentences", "bbox")
_DOCCANO_USER = ("username", "user")
_ABOUT = {*_LABELS, *_DOCCANO_USER, "annotations", "annotation_approver", "relations", "Comments"}


def _is_document(record: Record) -> bool:
    if not any(isinstance(record.get(key), str) for key in _TEXT):
        return False
    items = record.get("annotations")
    if isinstance(items, list):
        by_users = all(isinstance(item, dict) and "user" in item for item in items)
        return by_users and (bool(items) or "annotation_approver" in record)
    labels = [record[key] for key in _LABELS if key in record]
    return bool(labels) and all(isinstance(value, list) for value in labels)


def _is_doccano(peek: FileProbe) -> bool:
    """Return whether these are documents with labels and without a worker column."""
    names = {key for record in peek.records for key in record if key not in _DOCCANO_USER}
    return any(map(_is_document, peek.records)) and not any(rate_name(key, "worker") > 0 for key in names)


@record_tool("doccano", "doccano", _is_doccano, shows=True)
def doccano(export: Export) -> Iterator[Answer]:
    """Read documents with the annotations of users, or one file per annotator (JSONL).

    Record: ``{"id": 7, "text": "So it goes.", "annotations": [{"label": 1, "user": 4}, {"label": 2, "user": 5}]}``, or
    documents with labels such as ``"label": [[0, 2, "adverb"]]``.
    """
    for record in export.records():
        task = get(record, "id", "doc_id", "document_id", "example_id", *_TEXT)
        text = next((record[key] for key in _TEXT[:2] if isinstance(record.get(key), str)), None)
        export.show(task, {key: value for key, value in record.items() if key not in _ABOUT}, text=text)
        if "annotations" in record:
            by_user: dict[Any, list[Any]] = {}
            for item in get_list(record, "annotations"):
                by_user.setdefault(export.worker(get(item, "user")), []).append(item)
            export.leave_out("documents without an annotation", int(not by_user))
            for worker, items in by_user.items():
                label, kind = _read_label(items)
                yield Answer(worker, task, label, kind=kind)
            continue
        for key in _LABELS:
            if key in record:
                worker = export.worker(get(record, *_DOCCANO_USER))
                label, kind = _read_label(get_list(record, key))
                yield Answer(worker, task, label, key, kind)
        export.leave_out("relations between spans", len(get_list(record, "relations")))


# Labelbox.

_NAME = ("name", "title", "value")
_OBJECTS = ("bounding_box", "bbox", "polygon", "point", "location")


@record_tool("labelbox", "Labelbox", lambda peek: peek.has("data_row", "projects"))
def labelbox(export: Export) -> Iterator[Answer]:
    """Read classifications and objects of data rows, by labeller (NDJSON, JSON).

    Record: ``{"data_row": {"id": "a.jpg"}, "projects": {"p1": {"labels": [{"annotations": ..., ...}]}}}``. Questions
    are the classifications, ``boxes``, ``polygons``, ``points`` and ``spans``.
    """
    for record in export.records():
        task = get(record["data_row"], "global_key", "external_id", "id")
        for project in record["projects"].values():
            for label in get_list(project, "labels"):
                if get(get(label, "performance_details"), "skipped"):
                    export.leave_out("skipped labels")
                    continue
                worker = export.worker(get(get(label, "label_details"), "created_by"))
                export.see(worker, task)
                for question, answer in _read_labels(export, get(label, "annotations")).items():
                    yield Answer(worker, task, answer, question, question if question in REGIONS else "choices")


def _read_labels(export: Export, annotations: Any) -> Record:
    """Return the answers of a label by question: one or several choices, a text, or regions."""
    labels: Record = {}
    for item in get_list(annotations, "classifications"):
        several, one = get(item, "checklist_answers", "answers"), get(item, "radio_answer", "answer")
        if several is None and one is None:
            label = get_text(get(item, "text_answer"), "content", default=None)
        else:
            label = tuple(str(get(answer, *_NAME)) for answer in ([one] if several is None else several))
        labels[str(get(item, *_NAME))] = label
    regions: dict[str, list[Any]] = {}
    for item in get_list(annotations, "objects"):
        shape = get(item, *_OBJECTS)
        if shape is None:
            export.leave_out("objects of other kinds, such as masks")
        else:
            kind, region = _read_mark(shape, get(item, *_NAME))
            regions.setdefault(kind, []).append(region)
    return {**labels, **regions}


# SageMaker Ground Truth and Amazon A2I.

_LISTS = ("answers", "humanAnswers", "annotations")
_ALL = "annotationsFromAllWorkers"
_CONTENT = ("answerContent", "annotationData")


@record_tool(
    "ground-truth",
    "SageMaker Ground Truth",
    lambda peek: any(peek.has(f"{at}.workerId", f"{at}.{name}") for at in (*_LISTS, f"*.{_ALL}") for name in _CONTENT),
)
def ground_truth(export: Export) -> Iterator[Answer]:
    """Read answers of workers in worker-response files, consolidation requests or A2I (JSON).

    Record: ``{"datasetObjectId": "7", "answers": [{"workerId": "w1", "answerContent": {"animal": "cat"}}]}``. The task
    of a worker-response file is the name of its folder.
    """
    for record in export.records():
        folder = export.path.absolute().parent.name
        default = folder if folder.isdecimal() else export.path.name.split(".")[0]
        task = get(record, "datasetObjectId", "humanLoopName", "source-ref", "source", "id") or default
        lists = [record.get(key) for key in _LISTS]
        lists += [value.get(_ALL) for value in record.values() if isinstance(value, dict)]
        for response in (item for items in lists if isinstance(items, list) for item in items):
            content = get(response, "answerContent") or get(get(response, "annotationData"), "content")
            content = parse_json(content) if isinstance(content, str) else content
            for question, value in (content or {}).items():
                label, kind = _read_label(value)
                yield Answer(export.worker(get(response, "workerId")), task, label, question, kind)
