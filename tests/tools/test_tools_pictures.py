"""Marks in pictures: boxes, points, and outlines that are the areas which other packages make of them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as coco_masks

import allalike
from allalike.errors import InputError
from files.tool_exports import CVAT, annotation, answers, opened, result, write
from files.tool_exports import coco as coco_file
from running.program import run

SQUARE = [[2.0, 1.0], [6.0, 1.0], [6.0, 4.0], [2.0, 4.0]]  # 12 pixels


def coco(*marks: dict[str, Any], size: tuple[int, int] | None = (10, 12)) -> dict[str, Any]:
    sides = {} if size is None else {"height": size[0], "width": size[1]}
    return {
        "images": [{"id": 1, "file_name": "a.jpg", **sides}, {"id": 2, "file_name": "b.jpg", **sides}],
        "annotations": [{"id": number, "image_id": 1, **mark} for number, mark in enumerate(marks)],
        "categories": [{"id": 3, "name": "cat"}, {"id": 4, "name": "dog"}],
    }


def flat(points: list[list[float]]) -> list[float]:
    return [number for point in points for number in point]


def drawn(*paths: Path, **options: Any) -> list[tuple[Any, ...]]:
    """Return worker, task and mask of each answer, in their order."""
    table = opened(*paths, **options)
    columns = table.load([str(table.roles[role]) for role in ("worker", "task", "label")])
    return list(zip(*(each if isinstance(each, list) else each.to_pylist() for each in columns.values()), strict=True))


def areas(*paths: Path, **options: Any) -> list[tuple[Any, Any, int]]:
    return [(worker, task, mask.area) for worker, task, mask in drawn(*paths, **options)]


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # of pycocotools
def test_polygons_and_run_lengths_of_coco_are_one_area_per_class_and_picture(tmp_path: Path) -> None:
    painted = np.zeros((10, 12), np.uint8, order="F")
    painted[5:9, 3:5] = 1
    packed = coco_masks.encode(painted)
    runs = {"size": packed["size"], "counts": packed["counts"].decode()}
    two = {"category_id": 3, "segmentation": [flat(SQUARE), [8, 0, 10, 0, 10, 2, 8, 2]]}
    ada = write(tmp_path / "ada.json", coco(two, {"category_id": 3, "segmentation": runs}))
    bob = write(tmp_path / "bob.json", coco({"category_id": 4, "segmentation": [flat(SQUARE)]}))
    assert areas(ada, bob, question="segmentation") == [
        ("ada", "a.jpg/cat", 12 + 4 + 8),
        ("bob", "a.jpg/cat", 0),
        ("ada", "a.jpg/dog", 0),
        ("bob", "a.jpg/dog", 12),
    ]
    assert "1 pictures in which nobody drew anything" in opened(ada, bob, question="segmentation").remarks[0]
    uncompressed = {"size": [10, 12], "counts": [5, 2, 113]}
    eve = write(tmp_path / "eve.json", coco({"category_id": 4, "segmentation": uncompressed}))
    found = {row[0]: row[2].pixels() for row in drawn(bob, eve, question="segmentation")}
    compressed = coco_masks.frPyObjects(uncompressed, 10, 12)
    assert np.array_equal(found["eve"], coco_masks.decode(compressed).astype(bool))


def test_a_picture_without_a_size_ends_where_its_outlines_do_and_that_is_said(tmp_path: Path) -> None:
    mark = {"category_id": 3, "segmentation": [flat(SQUARE)]}
    paths = [write(tmp_path / f"{name}.json", coco(mark, size=None)) for name in ("ada", "bob")]
    assert drawn(*paths, question="segmentation")[0][2].pixels().shape == (4, 6)
    assert "sizes of 1 pictures are unknown" in " ".join(opened(*paths, question="segmentation").remarks)


@pytest.mark.parametrize(
    ("drawing", "size", "words"),
    [
        ([flat(SQUARE)], (9, 12), "'a.jpg' .*9 x 12 .*10 x 12"),
        ([flat(SQUARE)], (10**6, 10**6), "'a.jpg' .*100 million"),
        ([flat(SQUARE)[1:]], (10, 12), "eve.json: annotation 1 .*x and y"),
        ({"size": [10, 12], "counts": [5, 2]}, (10, 12), "eve.json: annotation 1 .*run lengths"),
        ({"size": [9, 12], "counts": [5, 2, 101]}, (10, 12), "'a.jpg' .*9 x 12 .*10 x 12"),
    ],
)
def test_broken_areas_are_clear_errors(drawing: Any, size: tuple[int, int], words: str, tmp_path: Path) -> None:
    ada = write(tmp_path / "ada.json", coco({"category_id": 3, "segmentation": [flat(SQUARE)]}))
    eve = write(tmp_path / "eve.json", coco({"category_id": 3, "segmentation": drawing}, size=size))
    with pytest.raises(InputError, match=words):
        opened(ada, eve, question="segmentation")


def test_polygons_of_label_studio_are_in_percent_of_the_picture(tmp_path: Path) -> None:
    value = {"points": [[25, 10], [75, 10], [75, 50], [25, 50]], "polygonlabels": ["cat"], "closed": True}
    outline = result("polygonlabels", value, original_width=8, original_height=10)
    document = [{"id": 7, "annotations": [annotation(1, outline), annotation(2)]}]
    path = write(tmp_path / "tasks.json", document)
    assert areas(path) == [(1, 7, 16), (2, 7, 0)]
    assert drawn(path)[0][2].pixels().shape == (10, 8)
    assert allalike.read(path).domain.name == "bitmap"


def test_polygons_and_masks_of_cvat_are_one_question(tmp_path: Path) -> None:
    page = '<annotations><version>1.1</version><image name="a.jpg" width="12" height="10">%s</image></annotations>'
    polygon = '<polygon label="cat" points="2,1;6,1;6,4;2,4"/>'
    painted = '<mask label="cat" rle="1, 2, 2, 1" left="9" top="7" width="3" height="2"/>'
    ada, bob = write(tmp_path / "ada.xml", page % (polygon + painted)), write(tmp_path / "bob.xml", page % "")
    assert areas(ada, bob) == [("ada", "a.jpg", 12 + 3), ("bob", "a.jpg", 0)]
    on = np.argwhere(drawn(ada, bob)[0][2].pixels()[7:]).tolist()
    assert on == [[0, 10], [0, 11], [1, 11]]  # row after row


def test_frames_of_a_video_of_cvat_were_seen_by_all_and_have_its_size(tmp_path: Path) -> None:
    meta = "<meta><task><original_size><width>12</width><height>10</height></original_size></task></meta>"
    outline = '<polygon frame="{0}" outside="0" points="2,1;6,1;6,4;2,4"/>'
    box = '<box frame="{0}" outside="0" xtl="1" ytl="2" xbr="4" ybr="6"/><box frame="9" outside="1"/>'
    page = f'<annotations><version>1.1</version>{meta}<track id="0" label="car">{outline}{box}</track></annotations>'
    paths = [write(tmp_path / f"{name}.xml", page.format(frame)) for name, frame in (("ada", 3), ("bob", 4))]
    assert sorted(areas(*paths, question="areas")) == [("ada", 3, 12), ("ada", 4, 0), ("bob", 3, 0), ("bob", 4, 12)]
    assert drawn(*paths, question="areas")[0][2].pixels().shape == (10, 12)
    boxes = [(worker, frame, len(marks)) for worker, frame, marks in answers(*paths, question="boxes")]
    assert boxes == [("ada", 3, 1), ("ada", 4, 0), ("bob", 3, 0), ("bob", 4, 1)]


def zooniverse(path: Path, *values: Any, about: str = "") -> Path:
    head = "classification_id,user_name,workflow_id,metadata,annotations,subject_ids\n"
    cells = [json.dumps([{"task": "T0", "value": value}]).replace('"', '""') for value in values]
    rows = [f'{n},w{n},7,"{about}","{cell}",s1\n' for n, cell in enumerate(cells)]
    path.write_text(head + "".join(rows), encoding="utf-8")
    return path


def test_polygons_and_freehand_lines_of_zooniverse_are_areas(tmp_path: Path) -> None:
    old = {"tool": 0, "frame": 0, "points": [{"x": x, "y": y} for x, y in SQUARE], "tool_label": "Cell"}
    path = {"pathX": [2, 6, 6, 2], "pathY": [1, 1, 4, 4]}
    new = {"toolIndex": 0, "toolType": "freehandLine", **path, "tool_label": "Cell"}
    about = '{""subject_dimensions"": [{""naturalWidth"": 12, ""naturalHeight"": 10}]}'
    drawings = zooniverse(tmp_path / "c.csv", [old], [new], [], about=about)
    assert areas(drawings) == [("w0", "s1", 12), ("w1", "s1", 12), ("w2", "s1", 0)]
    assert drawn(drawings)[0][2].pixels().shape == (10, 12)
    unknown = '{""subject_dimensions"": [{""naturalWidth"": null, ""naturalHeight"": null}]}'
    assert drawn(zooniverse(tmp_path / "u.csv", [old], [new], about=unknown))[0][2].pixels().shape == (4, 6)
    other = {**old, "tool": 1, "tool_label": "Vessel"}
    two = zooniverse(tmp_path / "d.csv", [old, other], [new], [other])
    assert areas(two, question="T0: Vessel") == [("w0", "s1", 12), ("w1", "s1", 0), ("w2", "s1", 12)]
    broken = zooniverse(tmp_path / "e.csv", [{"tool": 0, "points": [{"x": 1}]}], [old])
    with pytest.raises(InputError, match="row 1"):
        opened(broken)


@pytest.mark.long
def test_twenty_people_outline_pictures_of_twelve_million_pixels(tmp_path: Path) -> None:
    paths = []
    for number in range(20):
        left, right = 1000.0 + number, 1800.0 + number
        mark = {"category_id": 3, "segmentation": [[left, 1000, right, 1000, right, 1600, left, 1600]]}
        paths.append(write(tmp_path / f"w{number:02}.json", coco(mark, size=(3000, 4000))))
    out = tmp_path / "out"
    run("discover", *paths, "--question", "segmentation", "-o", out, "--no-report", "-q", "--force")
    masks = allalike.read([str(path) for path in paths], question="segmentation").label
    assert sum(mask.bits.nbytes for mask in masks) < 20 * 3000 * 4000 / 8 / 20
    assert (out / "truth.csv").read_text(encoding="utf-8").count("labels/") == 1


def test_coco_has_boxes_key_points_areas_and_lists_of_results(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}/instances.json", coco_file(keypoints=[5, 6, 2])) for name in ("ada", "bob")]
    box = {"bbox": [1, 2, 3, 4], "label": "cat"}
    assert answers(*paths)[:2] == [("ada", "a.jpg", [box]), ("ada", "b.jpg", [])]
    assert areas(*paths, question="segmentation") == [("ada", "a.jpg", 1), ("bob", "a.jpg", 1)]
    assert answers(*paths, question="keypoints")[0] == ("ada", "a.jpg", [{"x": 5, "y": 6, "label": "eye"}])
    results = [{"image_id": 7, "category_id": 3, "bbox": [1, 2, 3, 4], "score": 0.5}]
    models = [write(tmp_path / f"{name}.json", results) for name in ("m1", "m2")]
    assert answers(*models)[0] == ("m1", 7, [{"bbox": [1, 2, 3, 4], "label": 3, "score": 0.5}])


def test_cvat_has_boxes_points_tags_and_their_attributes(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}/annotations.xml", CVAT) for name in ("ada", "bob")]
    box = {"bbox": [1.0, 2.0, 3.0, 4.0], "label": "cat"}
    assert answers(*paths, question="boxes")[:2] == [("ada", "a.jpg", [box]), ("ada", "b.jpg", [])]
    assert answers(*paths, question="tags") == [("ada", "a.jpg", "outside"), ("bob", "a.jpg", "outside")]
    assert answers(*paths, question="outside.light")[0] == ("ada", "a.jpg", "dim")
    assert [point["x"] for point in answers(*paths, question="points")[0][2]] == [1.0, 3.0]
    assert "2 marks of the kind 'cuboid'" in " ".join(opened(*paths, question="tags").remarks)
