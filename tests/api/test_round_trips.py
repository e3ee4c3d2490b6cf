"""Truths written for a tool, and read again by the tool's reader: the same truths.

Packages of the tools are too heavy for these tests. What is written here was checked once by them: Label Studio's by
`LabelInterface.validate_prediction` and `validate_annotation` of label-studio-sdk 2.1.2, for each of `KINDS`; CVAT's
and COCO's boxes by the importers of datumaro 1.13.12; brat's by pybrat 0.1.7; doccano's by doccano 1.8.4.
"""

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allalike
from allalike._core.masks import to_brush, to_run_lengths
from allalike.errors import UnsupportedError
from allalike.result.writers import Findings, LabelStudioWriter, Truth
from crowds.copiers import attack, rows_of
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
def test_label_studio_reads_what_was_written(
    kind: str, values: dict[str, Any], more: dict[str, Any], form: str, tmp_path: Path
) -> None:
    found = allalike.discover(label_studio(kind, values, tmp_path, **more), question="tag", method="UA")
    path = written(found, tmp_path, f"label-studio(form={form})") / f"{form}.json"
    assert again(path, found, question="tag") == truths(found)
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


@pytest.mark.parametrize("tag", ["label", "Category"])
def test_a_real_project_of_label_studio_comes_back_as_it_was_found(tag: str, exports: Path, tmp_path: Path) -> None:
    found = allalike.discover(exports / "label-studio-coders.json", question=tag, method="UA")
    path = written(found, tmp_path, "label-studio(form=annotations)") / "annotations.json"
    assert again(path, found, question=tag) == truths(found)


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
    found = allalike.discover(files, question="tags")
    path = written(found, tmp_path, "cvat") / "annotations.xml"
    assert again(path, found, worker_from="filename") == truths(found) == {"a.jpg": "in"}
    assert '<image id="4" name="a.jpg">' in path.read_text(encoding="utf-8")
    frames = (
        '<annotations><meta/><track label="x"><box frame="3" xtl="0" ytl="0" xbr="1" ybr="1"/></track></annotations>'
    )
    video = [write(tmp_path / f"v{who}.xml", frames) for who in "ab"]
    for given, tag in ((files, "ellipses"), (video, None)):
        with pytest.raises(UnsupportedError):
            allalike.discover(given, question=tag).save(tmp_path / "no", to="cvat")
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
    [mark] = coco["annotations"]
    assert (mark["image_id"], mark["category_id"]) == (40, 3)
    assert mark["area"] == pytest.approx(mark["bbox"][2] * mark["bbox"][3])


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


def area(corner: int) -> dict[str, list[list[float]]]:
    """Return two outlines, one of each class."""
    return {
        kind: [[x, y], [x + 9, y], [x + 9, y + 6], [x, y + 6]] for kind, x, y in (("cat", corner, 2), ("dog", 20, 9))
    }


def test_areas_of_several_classes_are_one_picture_of_coco_again(tmp_path: Path) -> None:
    images = [{"id": 7 + n, "file_name": f"p{n}.jpg", "width": 40, "height": 20} for n in range(2)]
    kinds: list[dict[str, Any]] = [{"id": 3, "name": "cat"}, {"id": 5, "name": "dog"}]
    for n, worker in enumerate(("ada", "bob", "eve")):
        drawn = [
            {
                "image_id": image["id"],
                "category_id": kind["id"],
                "segmentation": [[side for point in area(3 + n // 2)[kind["name"]] for side in point]],
            }
            for image in images
            for kind in kinds
        ]
        write(tmp_path / f"{worker}.json", {"images": images, "annotations": drawn, "categories": kinds})
    files = [tmp_path / f"{worker}.json" for worker in ("ada", "bob", "eve")]
    found = allalike.discover(files, question="segmentation")
    assert list(truths(found)) == ["p0.jpg/cat", "p0.jpg/dog", "p1.jpg/cat", "p1.jpg/dog"]
    page = written(found, tmp_path, "coco") / "annotations.json"
    document = json.loads(page.read_text(encoding="utf-8"))
    assert document["images"] == images
    assert [(each["image_id"], each["category_id"]) for each in document["annotations"]] == [
        (7, 3),
        (7, 5),
        (8, 3),
        (8, 5),
    ]
    assert again(page, found, question="segmentation", worker_from="filename") == truths(found)


def test_masks_of_several_classes_are_one_task_of_label_studio_again(tmp_path: Path) -> None:
    brushes = {"cat": mask("##..", "##..", "...."), "dog": mask("....", "...#", "..##")}
    sizes = {"original_width": 4, "original_height": 3}
    painted = [
        {**result("brushlabels", {"format": "rle", "rle": to_brush(each), "brushlabels": [kind]}), **sizes}
        for kind, each in brushes.items()
    ]
    tasks = [
        {"id": n, "data": {"image": f"p{n}.jpg"}, "annotations": [annotation(who, *painted) for who in ("ada", "bob")]}
        for n in (1, 2)
    ]
    export = write(tmp_path / "export.json", tasks)
    found = allalike.discover(export)
    page = written(found, tmp_path, "label-studio") / "predictions.json"
    document = json.loads(page.read_text(encoding="utf-8"))
    assert [task["id"] for task in document] == [1, 2]
    assert again(page, found) == truths(found)
    assert {tuple(value.shape) for value in found.truth["label"]} == {(3, 4)}


@pytest.mark.parametrize("second", ["dog", "cat"])
def test_areas_are_masks_of_cvat_and_the_same_areas_again(second: str, tmp_path: Path) -> None:
    files = []
    for n, worker in enumerate(("ada", "bob", "eve")):
        drawn = [
            f'<polygon label="{kind}" points="{";".join(f"{x},{y}" for x, y in points)}"/>'
            for kind, points in zip(("cat", second), area(3 + n // 2).values(), strict=True)
        ]
        images = "".join(
            f'<image id="{n}" name="p{n}.jpg" width="40" height="20">{"".join(drawn)}</image>' for n in range(2)
        )
        files.append(write(tmp_path / f"{worker}.xml", f"<annotations><version>1.1</version>{images}</annotations>"))
    found = allalike.discover(files)
    assert len(truths(found)) == (4 if second == "dog" else 2)
    page = written(found, tmp_path, "cvat") / "annotations.xml"
    assert page.read_text(encoding="utf-8").count("<image ") == 2
    assert f'<mask label="{second}"' in page.read_text(encoding="utf-8")
    assert again(page, found, worker_from="filename") == truths(found)


ROWS = [("ada", "t1", "x"), ("bob", "t1", "x"), ("eve", "t1", "y"), ("ada", "t2", "y"), ("bob", "t2", "y")]


def read_json(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_files_for_other_tools_belong_to_the_result(tmp_path: Path) -> None:
    result = allalike.discover(ROWS, method="DS-1")
    paths = result.save(tmp_path / "out", to="label-studio")
    further = "label-studio/predictions.json"
    assert further in {path.relative_to(tmp_path / "out").as_posix() for path in paths}
    assert further in read_json(tmp_path / "out", "summary.json")["files"]
    result.save(tmp_path / "out")
    assert not (tmp_path / "out" / "label-studio").exists()


@pytest.mark.parametrize(
    ("domain", "label", "kind", "value"),
    [
        ("categorical", 3, "choices", {"choices": ["3"]}),
        ("set", ["a", "b"], "choices", {"choices": ["a", "b"]}),
        ("real", 2.5, "number", {"number": 2.5}),
        ("text", "Guten Tag", "textarea", {"text": ["Guten Tag"]}),
    ],
)
def test_label_types_have_controls_of_label_studio(
    domain: str, label: Any, kind: str, value: dict[str, Any], tmp_path: Path
) -> None:
    truths = [Truth(7, label, None), Truth(8, None, 0.5)]
    LabelStudioWriter().write(Findings(domain, lambda: iter(truths), model="allalike 1"), tmp_path)
    result = [{"id": "1", "from_name": "label", "to_name": "text", "type": kind, "value": value}]
    assert read_json(tmp_path, "predictions.json") == [
        {"data": {"text": "7"}, "predictions": [{"model_version": "allalike 1", "result": result}]},
        {"data": {"text": "8"}, "predictions": []},
    ]


def test_run_lengths_are_those_of_pycocotools() -> None:
    from pycocotools import mask as coco

    rng = np.random.default_rng(0)
    for height, width, share in ((1, 1, 0.0), (1, 1, 1.0), (40, 30, 0.5), (300, 500, 0.001), (300, 500, 0.999)):
        pixels = rng.random((height, width)) < share
        theirs = coco.encode(np.asfortranarray(pixels.astype(np.uint8)))
        assert to_run_lengths(pixels) == {"size": theirs["size"], "counts": theirs["counts"].decode()}


HEAD = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Input.url", "Answer.animal", "Approve", "Reject"]


def batch(path: Path) -> Path:
    """Write a batch of thirty HITs, in which eve always says the same; rows end before the decisions."""
    said = {"ada": "xyz", "bob": "xyz", "eve": "zzz", "kim": "xyz"}
    rows = [
        [f"H{hit}", f"A{hit}{who}", who, "Submitted", f"{hit}.jpg", label[hit % 3]]
        for who, label in said.items()
        for hit in range(30)
    ]
    rows[0][3] = "Approved"
    rows[1] += ["by hand", ""]
    rows[60][3] = "Rejected"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEAD, *rows])
    return path


def test_who_is_flagged_is_rejected_with_a_reason_and_all_others_are_approved(tmp_path: Path) -> None:
    path = batch(tmp_path / "Batch_1_batch_results.csv")
    found = allalike.discover(path)
    assert found.save_block_list(tmp_path / "block.txt") == ["eve"]
    made = written(found, tmp_path, "mturk") / path.name
    with made.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == HEAD
    with path.open(encoding="utf-8", newline="") as file:
        assert [row[:6] for row in list(csv.reader(file))[1:]] == [row[:6] for row in rows]
    decided = [(row[2], row[6], row[7]) for row in rows]
    why = "All of your answers are identical, regardless of the task."
    assert decided[:2] == [("ada", "", ""), ("ada", "by hand", "")]  # approved before, and decided by hand
    assert set(decided[2:60]) == {("ada", "x", ""), ("bob", "x", "")}
    assert decided[60] == ("eve", "", "")  # rejected before
    assert {(name, approve) for name, approve, reject in decided[61:90]} == {("eve", "")}
    assert all(reject.startswith(why) for _, _, reject in decided[61:90])
    assert set(decided[90:]) == {("kim", "x", "")}
    assert truths(allalike.discover(made)) == truths(found)


def test_who_repeats_what_others_say_is_left_to_a_person(tmp_path: Path) -> None:
    rows = [[hit, f"{hit}{who}", who, "Submitted", hit, label] for who, hit, label in rows_of(attack(1)[1])]
    path = tmp_path / "Batch_2_batch_results.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEAD[:6], *rows])
    found = allalike.discover(path)
    blocked = found.save_block_list(tmp_path / "block.txt")
    assert blocked
    with (written(found, tmp_path, "mturk") / path.name).open(encoding="utf-8", newline="") as file:
        decided = {(row["WorkerId"], row["Approve"], row["Reject"]) for row in csv.DictReader(file)}
    assert decided == {(who, "" if who in blocked else "x", "") for who in found.workers["worker"]}
