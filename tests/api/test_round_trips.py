"""Truths written for a tool, and read again by the tool's reader: the same truths.

Packages of the tools are too heavy for these tests. What is written here was checked once by them: Label Studio's by
`LabelInterface.validate_prediction` and `validate_annotation` of label-studio-sdk 2.1.2, for each of `KINDS`; CVAT's
and COCO's boxes by the importers of datumaro 1.13.12; brat's by pybrat 0.1.7; doccano's by doccano 1.8.4.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike._core.masks.packed import to_brush
from allalike.errors import OptionError, UnsupportedError
from files.round_trips import again, mask, truths, written
from files.tool_exports import annotation, choice, result, write

TEXT = "Ada met Bob\nin Paris."
SPANS: dict[str, list[tuple[int, int, str]]] = {
    "ada": [(0, 3, "PER"), (8, 11, "PER")],
    "bob": [(0, 3, "PER"), (8, 11, "PER")],
    "eve": [(15, 20, "LOC")],
}
BOXES = {"ada": [10, 20, 30, 40], "bob": [11, 20, 30, 40], "eve": [10, 21, 30, 40]}


def label_studio(kind: str, values: dict[str, Any], folder: Path, **more: Any) -> Path:
    """Write an export of a project in which each of some people gave a task a value, and nobody the next one."""
    control = {"id": "r1", "from_name": "tag", "to_name": "shown", "type": kind, **more}
    said = [annotation(who, {**control, "value": value}) for who, value in values.items()]
    other = annotation("ada", choice("good", control="quality"))
    tasks = [{"id": 7, "data": {"body": TEXT}, "annotations": [*said, other]}]
    return write(folder / "project.json", tasks)


def test_a_brush_has_the_bytes_that_label_studio_itself_writes() -> None:
    # as encode_rle of label_studio_sdk.converter.brush (2.1.2) gives them for [0, 0, 0, 0, 255, 255, 255, 255]
    assert to_brush(mask(".#")) == [0, 0, 0, 8, 57, 27, 252, 96, 17, 255, 128]


KINDS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("choices", {who: {"choices": ["sad"]} for who in SPANS}, {}),
    ("taxonomy", {who: {"taxonomy": [["Sport", "Golf"]]} for who in SPANS}, {}),
    ("labels", {who: {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]} for who in SPANS}, {}),
    (
        "rectanglelabels",
        {
            who: dict(zip(("x", "y", "width", "height"), box, strict=True)) | {"rectanglelabels": ["a", "b"]}
            for who, box in BOXES.items()
        },
        {"original_width": 200, "original_height": 100},
    ),
    (
        "brushlabels",
        {who: {"format": "rle", "rle": to_brush(mask(".##", "..#")), "brushlabels": ["car"]} for who in SPANS},
        {"original_width": 3, "original_height": 2},
    ),
]


@pytest.mark.parametrize("form", ["predictions", "annotations"])
@pytest.mark.parametrize(("kind", "values", "more"), KINDS, ids=[kind for kind, _, _ in KINDS])
def test_label_studio_reads_again_what_was_found_in_its_export(
    kind: str, values: dict[str, Any], more: dict[str, Any], form: str, tmp_path: Path
) -> None:
    found = allalike.discover(label_studio(kind, values, tmp_path, **more), tag="tag", method="UA")
    path = written(found, tmp_path, f"label-studio(form={form})") / f"{form}.json"
    assert again(path, found, tag="tag") == truths(found)
    (task,) = json.loads(path.read_text(encoding="utf-8"))
    (sheet,) = task[form]
    assert (task["id"], task["data"]) == (7, {"body": TEXT})
    assert {(item["from_name"], item["to_name"], item["type"]) for item in sheet["result"]} == {("tag", "shown", kind)}
    assert ("score" in sheet) == (form == "predictions")
    if more:
        assert {key: sheet["result"][0][key] for key in more} == more


@pytest.mark.parametrize(("to", "name"), [("label-studio", "predictions.json"), ("cvat", "annotations.xml")])
def test_answers_that_are_no_export_come_back_too(to: str, name: str, tmp_path: Path) -> None:
    labels = {"ü b/1.jpg": "a<b & 'c'", "<&>.jpg": "日本"}
    found = allalike.discover([(who, *each) for who in SPANS for each in labels.items()], domain="categorical")
    assert again(written(found, tmp_path, to) / name, found, worker_from="filename") == truths(found) == labels
    bell = allalike.discover([(who, "bell\a.jpg", "x") for who in SPANS], domain="categorical")
    with pytest.raises(UnsupportedError, match=r"has '\\x07', which no XML can hold"):
        bell.save(tmp_path / "no", to="cvat")
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("tag", ["label", "Category"])
def test_a_real_project_of_label_studio_comes_back_as_it_was_found(tag: str, exports: Path, tmp_path: Path) -> None:
    found = allalike.discover(exports / "label-studio-coders.json", tag=tag, method="UA")
    path = written(found, tmp_path, "label-studio(form=annotations)") / "annotations.json"
    assert again(path, found, tag=tag) == truths(found)


def test_boxes_of_label_studio_become_pixels_for_others_and_percent_again(exports: Path, tmp_path: Path) -> None:
    found = allalike.discover(exports / "label-studio-boxes.json")
    found.save(tmp_path / "out", to=["label-studio", "coco", "cvat"])
    assert again(tmp_path / "out/label-studio/predictions.json", found) == truths(found)
    coco = json.loads((tmp_path / "out/coco/annotations.json").read_text(encoding="utf-8"))
    first = next(label for label in found.truth["label"] if label)[0]
    size = coco["images"][0]["width"], coco["images"][0]["height"]
    assert size == (320, 240)
    assert coco["annotations"][0]["bbox"][2] == pytest.approx((first["x2"] - first["x1"]) * 3.2)
    pair = [tmp_path / "out/coco/annotations.json", tmp_path / "out/cvat/annotations.xml"]
    one, other = (again(path, found, worker_from="filename") for path in pair)
    assert one == other
    with pytest.raises(UnsupportedError, match="The size of the picture of task 'a.jpg' cannot be found"):
        allalike.discover([("ada", "a.jpg", [[0, 0, 1, 1]])], domain="boxes").save(tmp_path / "no", to="label-studio")


def test_cvat_and_coco_read_again_what_was_found_in_files_of_cvat(exports: Path, tmp_path: Path) -> None:
    from pycocotools.coco import COCO

    text = (exports / "cvat.xml").read_text(encoding="utf-8")
    files = []
    for who, shift in (("ada", 0), ("bob", 3), ("eve", 6)):
        moved = re.sub(r'(xtl|ytl)="([\d.]+)"', lambda m, by=shift: f'{m[1]}="{float(m[2]) + by}"', text)  # type: ignore[misc]
        files.append(write(tmp_path / who / "annotations.xml", moved))
    found = allalike.discover(files, method="UA")
    found.save(tmp_path / "out", to=["cvat", "coco"])
    paths = [tmp_path / "out/cvat/annotations.xml", tmp_path / "out/coco/annotations.json"]
    for path in paths:
        assert again(path, found, worker_from="filename") == truths(found)
        measured = allalike.discover(files, gold=path, method="UA").summary["gold"]
        assert (measured["tasks"], measured["error"]) == (14, pytest.approx(0.0, abs=1e-9))
    assert "<name>Cats</name>" in paths[0].read_text(encoding="utf-8")
    seen = COCO(str(paths[1]))
    assert {each["name"] for each in seen.loadCats(seen.getCatIds())} == {"Cat", "Cats"}
    assert len(seen.getAnnIds()) == sum(map(len, found.truth["label"]))


def test_tags_are_written_for_cvat_and_what_it_cannot_take_is_refused(tmp_path: Path) -> None:
    seen = (
        '<annotations><version>1.1</version><meta/><image id="4" name="a.jpg"><tag label="{}"/>'
        '<ellipse label="x" cx="1" cy="1" rx="1" ry="1"/></image></annotations>'
    )
    files = [
        write(tmp_path / f"{who}.xml", seen.format(tag)) for who, tag in zip("abc", ("in", "in", "out"), strict=True)
    ]
    found = allalike.discover(files, tag="tags")
    path = written(found, tmp_path, "cvat") / "annotations.xml"
    assert again(path, found, worker_from="filename") == truths(found) == {"a.jpg": "in"}
    assert '<image id="4" name="a.jpg">' in path.read_text(encoding="utf-8")
    with pytest.raises(UnsupportedError, match="only areas, boxes and tags of pictures"):
        allalike.discover(files, tag="ellipses").save(tmp_path / "no", to="cvat")
    frames = (
        '<annotations><meta/><track label="x"><box frame="3" xtl="0" ytl="0" xbr="1" ybr="1"/></track></annotations>'
    )
    video = [write(tmp_path / f"v{who}.xml", frames) for who in "ab"]
    with pytest.raises(UnsupportedError, match="no frames of videos"):
        allalike.discover(video).save(tmp_path / "no", to="cvat")
    assert not (tmp_path / "no").exists()


def test_images_and_categories_of_coco_keep_their_numbers(tmp_path: Path) -> None:
    def page(box: list[int]) -> dict[str, Any]:
        images = [{"id": 40, "file_name": "a.jpg", "width": 90, "height": 60}, {"id": 41, "file_name": "b.jpg"}]
        marks = [{"id": 1, "image_id": 40, "category_id": 3, "bbox": box}]
        return {
            "images": images,
            "annotations": marks,
            "categories": [{"id": 3, "name": "cat"}, {"id": 9, "name": "dog"}],
        }

    files = [write(tmp_path / f"{who}.json", page(box)) for who, box in BOXES.items()]
    found = allalike.discover(files)
    path = written(found, tmp_path, "coco") / "annotations.json"
    assert again(path, found, worker_from="filename") == truths(found)
    coco = json.loads(path.read_text(encoding="utf-8"))
    assert [(each["id"], each.get("width")) for each in coco["images"]] == [(40, 90), (41, None)]
    assert [(each["image_id"], each["category_id"]) for each in coco["annotations"]] == [(40, 3)]


def test_spans_without_their_texts_are_refused(tmp_path: Path) -> None:
    found = allalike.discover([(who, "t1", spans) for who, spans in SPANS.items()], domain="spans")
    with pytest.raises(UnsupportedError, match="The text of task 't1' cannot be found"):
        found.save(tmp_path / "out", to="doccano")
    assert not (tmp_path / "out").exists()


def test_doccano_reads_again_what_was_found_in_its_files(tmp_path: Path) -> None:
    spans = {who: [{"id": 7, "text": TEXT, "label": said, "by": 1}] for who, said in SPANS.items()}
    found = allalike.discover([write(tmp_path / f"{who}.jsonl", rows) for who, rows in spans.items()])
    path = written(found, tmp_path, "doccano") / "import.jsonl"
    assert again(path, found, worker_from="filename") == truths(found)
    # Taken by doccano 1.8.4 as it is: its JSONLParser and its labels of spans and of categories.
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "id": 7,
        "text": TEXT,
        "by": 1,
        "label": list(map(list, SPANS["ada"])),
    }


def test_classes_of_doccano_come_back(exports: Path, tmp_path: Path) -> None:
    found = allalike.discover(exports / "doccano-classes.jsonl", domain="categorical")
    path = written(found, tmp_path, "doccano") / "import.jsonl"
    texts = {task: str(label) for task, label in truths(found).items()}  # which doccano's labels must be
    assert again(path, found, worker_from="filename") == texts
    assert '"annotations"' not in path.read_text(encoding="utf-8")


def test_a_writer_says_which_options_it_has(tmp_path: Path) -> None:
    found = allalike.discover([("ada", "t1", "x"), ("bob", "t1", "x")], method="UA")
    with pytest.raises(OptionError, match="form is 'drafts'. Choose one of: predictions, annotations"):
        found.save(tmp_path / "out", to="label-studio(form=drafts)")
    with pytest.raises(OptionError, match="Writer doccano has no option 'form'. It has none"):
        found.save(tmp_path / "out", to="doccano(form=drafts)")


def test_short_exports_of_label_studio_do_not_name_their_controls(tmp_path: Path) -> None:
    rows = [
        {"text": "a", "id": 1, "mood": "sad", "annotator": who, "annotation_id": who, "lead_time": 1} for who in (4, 5)
    ]
    found = allalike.discover(write(tmp_path / "min.json", rows), domain="categorical")
    with pytest.raises(UnsupportedError, match="Export it from Label Studio as JSON"):
        found.save(tmp_path / "out", to="label-studio")


def test_spans_in_pages_are_not_written(tmp_path: Path) -> None:
    value = {"start": "/p[1]", "end": "/p[1]", "globalOffsets": {"start": 0, "end": 3}, "hypertextlabels": ["PER"]}
    tasks = [{"id": 7, "data": {"html": TEXT}, "annotations": [annotation(1, result("hypertextlabels", value))]}]
    found = allalike.discover(write(tmp_path / "pages.json", tasks), domain="spans")
    with pytest.raises(UnsupportedError, match=r"None of the controls .* q \(hypertextlabels\)"):
        found.save(tmp_path / "out", to="label-studio")
