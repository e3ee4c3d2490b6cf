"""Areas of several classes, written for a tool and read again by the tool's reader: the same truths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allalike
from allalike._core.masks.packed import to_brush
from allalike.errors import UnsupportedError
from files.round_trips import again, mask, truths, written
from files.tool_exports import annotation, result, write


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
    found = allalike.discover(files, tag="segmentation")
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
    assert again(page, found, tag="segmentation", worker_from="filename") == truths(found)


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


def test_a_volume_is_refused_by_tools_of_pictures(tmp_path: Path) -> None:
    volume = np.zeros((3, 4, 5), bool)
    volume[1:, 1:, 1:] = True
    found = allalike.discover([(who, task, volume) for who in ("ada", "bob") for task in ("t1", "t2")], domain="bitmap")
    for to in ("coco", "cvat", "label-studio"):
        with pytest.raises(UnsupportedError, match=f"{to} has masks of pictures, and task 't1' is a volume"):
            found.save(tmp_path / "out", to=to)
    assert not (tmp_path / "out").exists()
