"""Exports of Label Studio: real ones, and every control in short."""

from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.errors import InputError
from files.tool_exports import annotation, answers, choice, opened, pack, recognised, result, write


def test_workers_of_label_studio_are_numbers_addresses_or_annotations(tmp_path: Path) -> None:
    people = [
        annotation(7, choice("a")),
        annotation({"id": 8, "email": "b@x.org"}, choice("a")),
        annotation({"id": 9, "email": ""}, choice("b")),
        annotation(None, choice("b"), created_username=" c@x.org, 3"),
        annotation(None, choice("b")),
    ]
    path = write(tmp_path / "tasks.json", [{"id": 1, "annotations": people}])
    assert {row[0] for row in answers(path)} == {"7", "b@x.org", "9", "c@x.org, 3", "annotation 5"}
    assert "1 annotations do not say by whom" in opened(path).remarks[0]
    assert {row[0] for row in answers(path, worker_from="filename")} == {"tasks"}


def test_label_studio_leaves_out_what_was_skipped_and_what_is_about_regions(tmp_path: Path) -> None:
    span = result("labels", {"start": 0, "end": 3, "labels": ["PER"]}, "ner")
    people = [
        annotation(1, choice("a"), span, choice("sure", control="certainty")),
        annotation(2, choice("a", id="r2"), {"type": "relation", "from_id": "r1", "to_id": "r1"}),
        annotation(3, choice("b", id="r3"), was_cancelled=True),
    ]
    path = write(tmp_path / "tasks.json", [{"id": 1, "annotations": people}])
    table = opened(path, tag="ner")
    assert answers(path, tag="ner") == [(1, 1, [[0, 3, "PER"]]), (2, 1, [])]
    assert all(words in " ".join(table.remarks) for words in ("'certainty'", "1 relations", "1 skipped"))


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
        ("keypointlabels", [{"x": 1, "y": 2, "width": 0.3, "keypointlabels": ["eye"]}] * 2, None),
        ("paragraphlabels", [{"start": "0", "end": "1", "globalOffsets": {"start": 3, "end": 9}}] * 2, None),
        ("ellipselabels", [{"x": 5, "y": 5, "radiusX": 2, "radiusY": 1, "ellipselabels": ["a"]}] * 2, None),
    ],
)
def test_every_control_of_label_studio_has_its_label(
    kind: str, values: list[Any], labels: list[Any] | None, tmp_path: Path
) -> None:
    people = [annotation(number, result(kind, value)) for number, value in enumerate(values)]
    found = [row[2] for row in answers(write(tmp_path / "tasks.json", [{"id": 1, "annotations": people}]))]
    expected = {
        "keypointlabels": [{"x": 1, "y": 2, "label": "eye"}],
        "paragraphlabels": [[3, 9, None]],
        "ellipselabels": [{"bbox": [3, 4, 4, 2], "label": "a"}],
    }
    assert found == (labels if labels is not None else [expected[kind]] * 2)


def test_a_brush_of_label_studio_is_a_mask_for_each_class(tmp_path: Path) -> None:
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
    with pytest.raises(InputError, match="record 1: 'rle' .*cut off"):
        opened(write(tmp_path / "cut.json", [{"id": 1, "annotations": people}]))


def test_old_completions_and_predictions_without_a_version_are_read(tmp_path: Path) -> None:
    done = {"id": 1001, "result": [choice("a")]}
    guess = {"model_version": "", "result": [choice("b")]}
    path = write(tmp_path / "tasks.json", [{"id": 1, "completions": [done], "predictions": [guess, 12]}])
    assert answers(path) == [("annotation 1001", 1, "a"), ("prediction", 1, "b")]


def test_label_studio_rows_are_read_from_json_min_and_csv_alike(tmp_path: Path) -> None:
    about = {"annotator": 1, "annotation_id": 2, "created_at": "2024", "lead_time": 1.5}
    rows = [
        {"text": "a tale", "id": 1, "mood": "sad", **about},
        {"text": "a tale", "id": 1, "mood": {"choices": ["sad", "odd"]}, **about, "annotator": 2},
        {"text": "a tale", "id": 2, **about},
    ]
    path = write(tmp_path / "min.json", rows)
    assert recognised(path) == ["label-studio"]
    assert answers(path) == [(1, 1, {"sad"}), (2, 1, {"sad", "odd"})]
    head = "text,id,mood,annotator,annotation_id,created_at,lead_time\n"
    lines = 'a tale,1,sad,1,2,2024,1.5\na tale,1,"{""choices"": [""sad"", ""odd""]}",2,2,2024,1\na tale,2,,1,2,2024,1\n'
    flat = write(tmp_path / "rows.csv", head + lines)
    assert recognised(flat) == ["label-studio"]
    assert answers(flat) == [("1", "1", {"sad"}), ("2", "1", {"sad", "odd"})]


def test_regions_in_json_min_are_regions_and_a_row_without_them_saw_none(tmp_path: Path) -> None:
    about = {"annotator": 1, "annotation_id": 2, "lead_time": 1.5}
    box = {"x": 1, "y": 2, "width": 3, "height": 4, "rotation": 0, "rectanglelabels": ["Car"], "original_width": 600}
    rows = [{"image": "a.jpg", "id": 1, "label": [box], **about}, {"image": "b.jpg", "id": 2, **about}]
    path = write(tmp_path / "min.json", rows)
    assert answers(path) == [(1, 1, [{"bbox": [1, 2, 3, 4], "label": "Car"}]), (1, 2, [])]


def test_columns_in_the_order_of_the_alphabet_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    head = '"annotation_id"\t"annotator"\t"article"\t"created_at"\t"id"\t"lead_time"\t"mood"\t"text"\n'
    said = [(1, "ada", "sad"), (2, "bob", "odd")]
    lines = [f'{n}\t"{who}"\t"news"\t"2024"\t7\t1.5\t"{mood}"\t"a tale"\n' for n, who, mood in said]
    path = write(tmp_path / "rows.tsv", head + "".join(lines))
    assert answers(path) == [("ada", "7", "sad"), ("bob", "7", "odd")]
