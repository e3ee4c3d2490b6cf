"""Results in the forms in which other tools take them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike._core.masks.packed import of_run_lengths, to_run_lengths
from allalike.api.writers import Findings, LabelStudioWriter, Truth
from allalike.cli import main
from allalike.errors import UnknownNameError, UnsupportedError
from allalike.readers.formats.files import Files

ROWS = [("ada", "t1", "x"), ("bob", "t1", "x"), ("eve", "t1", "y"), ("ada", "t2", "y"), ("bob", "t2", "y")]


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_files_for_other_tools_belong_to_the_result(tmp_path: Path) -> None:
    result = allalike.discover(ROWS, method="DS-1")
    paths = result.save(tmp_path / "out", to="label-studio")
    further = "label-studio/predictions.json"
    assert further in {path.relative_to(tmp_path / "out").as_posix() for path in paths}
    assert further in read(tmp_path / "out", "summary.json")["files"]
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
def test_each_kind_has_a_control_of_label_studio(
    domain: str, label: Any, kind: str, value: dict[str, Any], tmp_path: Path
) -> None:
    truths = [Truth(7, label, None), Truth(8, None, 0.5)]
    LabelStudioWriter().write(Findings(domain, lambda: iter(truths), model="allalike 1"), tmp_path)
    result = [{"id": "1", "from_name": "label", "to_name": "text", "type": kind, "value": value}]
    assert read(tmp_path, "predictions.json") == [
        {"data": {"text": "7"}, "predictions": [{"model_version": "allalike 1", "result": result}]},
        {"data": {"text": "8"}, "predictions": []},
    ]


def test_predictions_belong_to_the_tasks_and_the_control_of_an_export(tmp_path: Path) -> None:
    def result(control: str, kind: str, value: Any) -> dict[str, Any]:
        return {"id": "1", "from_name": control, "to_name": "doc", "type": kind, "value": {kind: value}}

    said = [result("mood", "choices", ["sad"]), result("topic", "taxonomy", [["Sport", "Golf"]]), {"type": "relation"}]
    tasks = [
        {"id": 5, "data": {"body": "…"}, "annotations": [{"result": said}, None, {"result": None}]},
        {"id": 6, "data": {"body": "b"}, "annotations": []},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    truths = [Truth(5, "Sport / Golf", 0.75), Truth(6, "Sport / Golf", 0.5)]
    about: dict[str, Any] = {"inputs": (path, tmp_path / "gone.json", tmp_path)}
    found = Findings("categorical", lambda: iter(truths), files=Files(tool="label-studio", tag="topic"), **about)
    LabelStudioWriter().write(found, tmp_path)
    first, second = read(tmp_path, "predictions.json")
    assert (first["id"], first["data"], second["data"]) == (5, {"body": "…"}, {"body": "b"})
    (prediction,) = first["predictions"]
    assert prediction["score"] == 0.75
    assert prediction["result"] == [result("topic", "taxonomy", [["Sport", "Golf"]])]
    with pytest.raises(UnsupportedError, match=r"Several of the controls .* categorical: mood \(choices\), topic"):
        LabelStudioWriter().write(replace(found, files=Files(tool="label-studio")), tmp_path)


def test_masks_for_coco_are_those_that_were_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    masks = [rng.random((5, 7)) < 0.4, np.zeros((3, 4), np.bool_)]
    rows = [(worker, f"image{task}.png", mask) for worker in "abc" for task, mask in enumerate(masks)]
    allalike.discover(rows, domain="bitmap", method="UA").save(tmp_path, to=["coco"])
    written = read(tmp_path, "coco/annotations.json")
    assert [image["file_name"] for image in written["images"]] == ["image0.png", "image1.png"]
    for mask, annotation in zip(masks, written["annotations"], strict=True):
        np.testing.assert_array_equal(of_run_lengths(annotation["segmentation"]), mask)
        left, top, width, height = annotation["bbox"]
        assert annotation["area"] == mask.sum() == mask[top : top + height, left : left + width].sum()


def test_run_lengths_are_those_of_pycocotools() -> None:
    from pycocotools import mask as coco

    rng = np.random.default_rng(0)
    for height, width, share in ((1, 1, 0.0), (1, 1, 1.0), (40, 30, 0.5), (300, 500, 0.001), (300, 500, 0.999)):
        pixels = rng.random((height, width)) < share
        theirs = coco.encode(np.asfortranarray(pixels.astype(np.uint8)))
        assert to_run_lengths(pixels) == {"size": theirs["size"], "counts": theirs["counts"].decode()}


def test_labels_without_a_form_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    result = allalike.discover([(w, 1, ["x", "y"]) for w in "abc"], domain="ranking", method="UA")
    for name in ("coco", "label-studio"):
        with pytest.raises(UnsupportedError, match=f"Labels of the kind ranking cannot be written for {name}"):
            result.save(tmp_path / "out", to=name)
    with pytest.raises(UnknownNameError, match="Did you mean 'coco'"):
        result.save(tmp_path / "out", to="cocoo")
    assert not (tmp_path / "out").exists()


def test_the_program_refuses_labels_without_a_form_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("allalike.api.discover.discover", lambda *_, **__: pytest.fail("it began"))
    Path("a.csv").write_text("worker,task,label\nada,1,2.5\nbob,1,3.5\n")
    with pytest.raises(SystemExit) as stop:
        main(["discover", "a.csv", "--domain", "real", "--to", "coco"])
    assert stop.value.code == 2
    assert "Labels of the kind real cannot be written for coco. It takes: boxes, bitmap." in capfd.readouterr().err


def test_the_program_writes_for_other_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(ROWS, columns=["worker", "task", "label"]).to_csv("answers.csv", index=False)
    call = [
        "discover",
        "answers.csv",
        "--method",
        "UA",
        "--force",
        "-o",
        "out",
        "--to",
        "label-studio",
    ]
    with pytest.raises(SystemExit) as stop:
        main(call)
    assert stop.value.code == 0
    assert "out/label-studio/predictions.json" in capfd.readouterr().out
    Path("other/label-studio").mkdir(parents=True)
    Path("other/label-studio/predictions.json").write_text("mine")
    with pytest.raises(SystemExit) as stop:
        main([*call, "-o", "other"])
    assert stop.value.code == 2
    assert "predictions.json is there already, and allalike did not write it" in capfd.readouterr().err
