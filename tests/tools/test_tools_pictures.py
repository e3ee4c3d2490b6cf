"""Exports of tools for pictures: one file for each annotator."""

from __future__ import annotations

from pathlib import Path

import pytest

from allalike.errors import InputError
from files.tool_exports import (
    CVAT,
    answers,
    coco,
    opened,
    write,
)


def test_coco_has_one_file_for_each_annotator(tmp_path: Path) -> None:
    ada, bob = (
        write(tmp_path / "ada/instances.json", coco()),
        write(tmp_path / "bob/instances.json", coco(bbox=[1, 2, 3, 5])),
    )
    box = {"bbox": [1, 2, 3, 4], "label": "cat"}
    assert answers(ada, bob)[:2] == [("ada", "a.jpg", [box]), ("ada", "b.jpg", [])]
    assert [(row[1], row[2].area) for row in answers(ada, bob, tag="segmentation")] == [("a.jpg", 1), ("a.jpg", 1)]
    with pytest.raises(InputError, match="1 marks in 2 pictures and does not say whose"):
        opened(ada)
    with pytest.raises(InputError, match="has no 'masks'. It has: bbox, segmentation"):
        opened(ada, bob, tag="masks")


def test_coco_has_key_points_and_lists_of_results(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.json", coco(keypoints=[5, 6, 2], num_keypoints=1)) for name in ("ada", "bob")]
    assert answers(*paths, tag="keypoints")[0] == ("ada", "a.jpg", [{"x": 5, "y": 6, "label": "eye"}])
    results = [{"image_id": 7, "category_id": 3, "bbox": [1, 2, 3, 4], "score": 0.5}]
    models = [write(tmp_path / f"{name}.json", results) for name in ("m1", "m2")]
    assert answers(*models)[0] == ("m1", 7, [{"bbox": [1, 2, 3, 4], "label": 3, "score": 0.5}])


def test_cvat_has_boxes_points_tags_and_their_attributes(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}/annotations.xml", CVAT) for name in ("ada", "bob")]
    box = {"bbox": [1.0, 2.0, 3.0, 4.0], "label": "cat"}
    assert answers(*paths, tag="boxes")[:2] == [("ada", "a.jpg", [box]), ("ada", "b.jpg", [])]
    assert answers(*paths, tag="tags") == [("ada", "a.jpg", "outside"), ("bob", "a.jpg", "outside")]
    assert answers(*paths, tag="outside.light")[0] == ("ada", "a.jpg", "dim")
    assert [point["x"] for point in answers(*paths, tag="points")[0][2]] == [1.0, 3.0]
    assert "2 marks of the kind 'cuboid'" in " ".join(opened(*paths, tag="tags").remarks)


def test_cvat_has_frames_of_a_video(tmp_path: Path) -> None:
    box = '<box frame="{}" outside="0" xtl="1" ytl="2" xbr="4" ybr="6"/><box frame="9" outside="1"/>'
    track = f'<track id="0" label="car">{box}</track>'
    text = "<annotations><version>1.1</version>{}</annotations>"
    paths = [
        write(tmp_path / f"{name}.xml", text.format(track.format(frame))) for name, frame in (("ada", 3), ("bob", 4))
    ]
    assert [(row[0], row[1], len(row[2])) for row in answers(*paths)] == [
        ("ada", 3, 1),
        ("ada", 4, 0),
        ("bob", 3, 0),
        ("bob", 4, 1),
    ]


def test_one_annotator_alone_is_told_what_to_give(exports: Path) -> None:
    with pytest.raises(InputError, match="24 marks in 14 pictures or frames, of one annotator. Give one file for each"):
        opened(exports / "cvat.xml")
    with pytest.raises(InputError, match="239 spans of 10 tags .* in one document, of one annotator"):
        opened(exports / "brat.ann")
    with pytest.raises(InputError, match="48 tokens with 4 columns: .*column 4 .I-LOC.*tags of one annotator"):
        opened(exports / "conll.txt")
