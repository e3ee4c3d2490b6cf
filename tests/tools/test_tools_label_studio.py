"""Exports of Label Studio: every control in short, workers of every kind, and what is left out."""

from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.errors import InputError
from files.tool_exports import annotation, answers, choice, opened, pack, recognised, result, write

ABOUT = {"annotator": 1, "annotation_id": 2, "created_at": "2024", "lead_time": 1.5}
EYE = {"x": 1, "y": 2, "width": 0.3, "keypointlabels": ["eye"]}
ELLIPSE = {"x": 5, "y": 5, "radiusX": 2, "radiusY": 1, "ellipselabels": ["a"]}


def test_workers_are_numbers_addresses_annotations_or_models(tmp_path: Path) -> None:
    people = [
        annotation(7, choice("a")),
        annotation({"id": 8, "email": "b@x.org"}, choice("a")),
        annotation({"id": 9, "email": ""}, choice("b")),
        annotation(None, choice("b"), created_username=" c@x.org, 3"),
        annotation(None, choice("b")),
    ]
    guesses = [{"model_version": "", "result": [choice("b")]}, 12, {"model_version": "m", "result": []}]
    path = write(tmp_path / "tasks.json", [{"id": 1, "annotations": people, "predictions": guesses}])
    assert {row[0] for row in answers(path)} == {"7", "b@x.org", "9", "c@x.org, 3", "annotation 5", "prediction"}
    remarks = " ".join(opened(path).remarks)
    assert "1 annotations have no worker" in remarks
    assert "1 predictions count as answers by 1 further" in remarks
    assert {row[0] for row in answers(path, worker_from="filename")} == {"tasks"}
    old = write(tmp_path / "old.json", [{"id": 1, "completions": [{"id": 1001, "result": [choice("a")]}]}])
    assert answers(old) == [("annotation 1001", 1, "a")]


def test_what_was_skipped_and_what_is_about_regions_is_left_out(tmp_path: Path) -> None:
    span = result("labels", {"start": 0, "end": 3, "labels": ["PER"]}, "ner")
    people = [
        annotation(1, choice("a"), span, choice("sure", control="certainty")),
        annotation(2, choice("a", id="r2"), {"type": "relation", "from_id": "r1", "to_id": "r1"}),
        annotation(3, choice("b", id="r3"), was_cancelled=True),
    ]
    path = write(tmp_path / "tasks.json", [{"id": 1, "annotations": people}])
    assert answers(path, question="ner") == [(1, 1, [[0, 3, "PER"]]), (2, 1, [])]
    remarks = " ".join(opened(path, question="ner").remarks)
    assert all(words in remarks for words in ("'certainty'", "1 relations", "1 skipped"))


@pytest.mark.parametrize(
    ("kind", "values", "labels"),
    [
        ("choices", [{"choices": ["a"]}, {"choices": ["b"]}], ["a", "b"]),
        ("choices", [{"choices": ["a", "b"]}, {"choices": ["b"]}], [{"a", "b"}, {"b"}]),
        ("taxonomy", [{"taxonomy": [["x", "y"]]}, {"taxonomy": [["x"]]}], ["x / y", "x"]),
        ("rating", [{"rating": 4}, {"rating": 5}], [4, 5]),
        ("number", [{"number": 2.5}, {"number": 3}], [2.5, 3]),
        ("datetime", [{"datetime": "2024-01-01"}, {"datetime": "2024-01-02"}], ["2024-01-01", "2024-01-02"]),
        ("textarea", [{"text": ["a tale"]}, {"text": "another"}], ["a tale", "another"]),
        ("pairwise", [{"selected": "left"}, {"selected": "right"}], ["left", "right"]),
        ("ranker", [{"ranker": {"rank": ["a", "b"]}}, {"ranker": ["b", "a"]}], [["a", "b"], ["b", "a"]]),
        ("keypointlabels", [EYE], [[{"x": 1, "y": 2, "label": "eye"}]]),
        ("paragraphlabels", [{"start": "0", "end": "1", "globalOffsets": {"start": 3, "end": 9}}], [[[3, 9, None]]]),
        ("ellipselabels", [ELLIPSE], [[{"bbox": [3, 4, 4, 2], "label": "a"}]]),
    ],
)
def test_every_control_has_its_label(kind: str, values: list[Any], labels: list[Any], tmp_path: Path) -> None:
    people = [annotation(number, result(kind, value)) for number, value in enumerate(values)]
    path = write(tmp_path / "tasks.json", [{"id": 1, "annotations": people}])
    assert [row[2] for row in answers(path)] == labels


def test_a_brush_is_a_mask_for_each_class(tmp_path: Path) -> None:
    def brush(label: str, *alpha: int) -> dict[str, Any]:
        words = [word for value in alpha for word in (0, 0, 0, value)]
        value = {"format": "rle", "rle": pack(words), "brushlabels": [label]}
        return result("brushlabels", value, original_width=2, original_height=1)

    people = [annotation(1, brush("cat", 0, 255), brush("cat", 255, 0)), annotation(2, brush("cat", 0, 255))]
    rows = answers(write(tmp_path / "one.json", [{"id": 1, "annotations": people}]))
    assert [row[2].pixels().tolist() for row in rows] == [[[True, True]], [[False, True]]]
    people.append(annotation(3, brush("dog", 255, 255)))
    path = write(tmp_path / "two.json", [{"id": 1, "annotations": people}])
    areas = [(row[1], row[2].area) for row in answers(path)]
    assert areas == [("1/cat", 2), ("1/dog", 0), ("1/cat", 1), ("1/dog", 0), ("1/cat", 0), ("1/dog", 2)]
    assert allalike.read(path).domain.name == "bitmap"
    people[0]["result"][0]["value"]["rle"] = [0, 0, 0, 8, 1]
    with pytest.raises(InputError, match="record 1 .* 'rle' is truncated"):
        opened(write(tmp_path / "cut.json", [{"id": 1, "annotations": people}]))


@pytest.mark.parametrize("name", ["min.json", "rows.csv"])
def test_short_forms_are_refused_with_the_command_that_reads_them(name: str, tmp_path: Path) -> None:
    rows = [{"text": "a tale", "id": n // 2, "mood": "sad", **ABOUT, "annotator": n % 2} for n in range(6)]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    path = write(tmp_path / name, "\n".join(lines) if name == "rows.csv" else rows)
    assert recognised(path) == ["label-studio"]
    with pytest.raises(InputError, match=f"{name} has one row per annotation. Export it .* as JSON") as error:
        opened(path)
    assert allalike.read(path, **error.value.options).n_answers == 6


def test_a_control_of_boxes_and_polygons_is_refused_and_others_are_read(tmp_path: Path) -> None:
    size = {"original_width": 10, "original_height": 10}
    box = {"x": 1, "y": 2, "width": 3, "height": 4}
    outline = {"points": [[0, 0], [50, 0], [50, 50]]}
    people = [
        annotation(who, result("labels", {**box, "labels": ["a"]}, "l"), result("labels", outline, "l", **size), own)
        for who, own in ((1, result("rectangle", box, "r")), (2, choice("x", control="c")))
    ]
    path = write(tmp_path / "tasks.json", [{"id": 1, "annotations": people}])
    assert answers(path, question="r") == [(1, 1, [{"bbox": [1, 2, 3, 4]}]), (2, 1, [])]
    with pytest.raises(InputError, match="the answers to 'l' are mixed: areas, boxes"):
        opened(path, question="l")
