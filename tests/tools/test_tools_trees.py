"""Exports of tools in JSON and lines of text: the forms that the small corpus of the golden record lacks."""

from pathlib import Path
from typing import Any

import pytest

from allalike.errors import InputError
from files.tool_exports import CVAT, answers, coco, labelbox, opened, prodigy, recognised, write

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus" / "tools"
FORMS = sorted(path for path in CORPUS.rglob("*") if path.is_file() and not path.name.startswith("broken"))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.relative_to(CORPUS).as_posix())
def test_an_export_is_recognised_by_its_tool_alone(path: Path, tmp_path: Path) -> None:
    assert recognised(path) == [path.parent.name]
    if path.suffix == ".jsonl":
        for line in path.read_text().splitlines():
            assert recognised(write(tmp_path / path.name, line)) == [path.parent.name]


def test_plain_files_are_no_export_of_a_tool(tmp_path: Path, data: Path) -> None:
    plain = [
        {"worker": "ada", "task": 1, "label": "x"},
        {"worker": "ada", "task": 1, "label": ["x", "y"], "text": "a tale"},
        {"annotator": "ada", "id": 1, "text": "a tale", "label": [[0, 1, "PER"]]},
        {"user_id": 7, "question_id": 1, "answer": "x", "score": 3},
        {"worker": {"0": "ada"}, "task": {"0": 1}, "label": {"0": "x"}},
    ]
    for record in plain:
        for name, value in (("a.json", [record, record]), ("a.jsonl", [record, record]), ("one.json", record)):
            assert recognised(write(tmp_path / name, value)) == []
    for path in sorted(path for path in data.rglob("*.csv") if path.is_file())[:40]:
        assert recognised(path) == [], path


def test_a_long_file_is_recognised_by_its_beginning(tmp_path: Path) -> None:
    images = [{"id": n, "file_name": f"{n}.jpg", "note": "x" * 300} for n in range(1000)]
    assert recognised(write(tmp_path / "coco.json", {"info": {}, "images": images, "annotations": []})) == ["coco"]
    tasks = [{"id": 1, "data": {"text": "x" * 200_000}, "annotations": [{"result": []}]}]
    path = write(tmp_path / "tasks.json", [{"id": 0, "annotations": [{"result": []}]}, *tasks])
    assert recognised(path) == ["label-studio"]


def test_folders_are_annotators_where_files_have_the_same_names(tmp_path: Path) -> None:
    documents = [{"id": 1, "text": "x", "label": ["a"]}], [{"id": 2, "text": "x", "label": ["b"]}]
    paths = [
        write(tmp_path / f"{name}/part{number}.jsonl", document)
        for name in ("ada", "bob")
        for number, document in enumerate(documents)
    ]
    assert answers(*paths) == [("ada", 1, "a"), ("ada", 2, "b"), ("bob", 1, "a"), ("bob", 2, "b")]


def submitted(values: Any, user: str = "u1", status: str = "submitted") -> dict[str, Any]:
    return {"values": values, "user_id": user, "status": status}


def said(value: Any, user: str = "u1", **more: Any) -> dict[str, Any]:
    return {"value": value, "user_id": user, **more}


MOODS = [("u1", "r1", "sad"), ("u2", "r1", "odd")]
ARGILLA: dict[str, dict[str, Any]] = {
    "list of responses": {
        "responses": [
            submitted({"mood": {"value": "sad"}}),
            submitted({"mood": {"value": "odd"}}, "u2"),
            submitted({"mood": {"value": "sad"}}, "u3", "discarded"),
            submitted(None, "u4", "discarded"),
        ]
    },
    "responses by question": {
        "responses": {"mood": [said("sad"), said("odd", "u2"), said("sad", "u3", status="discarded")]},
        "suggestions": {"mood": {"value": "glad", "agent": "gpt"}},
    },
    "flat": {
        "mood.responses": ["sad", "odd", "sad"],
        "mood.responses.users": ["u1", "u2", "u3"],
        "mood.responses.status": ["submitted", "submitted", "draft"],
        "mood.suggestion": "glad",
    },
    "questions at the top": {
        "mood": [said(*each, status="submitted") for each in (("sad",), ("odd", "u2"))]
        + [said("odd", "u3", status="draft")]
    },
}
W1 = {"workerId": "w1", "answerContent": {"pet": "cat"}}
CONTENT = {"workerId": "w1", "annotationData": {"content": '{"pet": {"label": "cat"}}'}}
RANKED = [{"value": "b", "rank": 2}, {"value": "a", "rank": 1}]
BOX, BBOX = {"x": 1, "y": 2, "width": 3, "height": 4}, {"bbox": [1, 2, 3, 4], "label": "cat"}
SIDES = {"left": 1, "top": 2, "width": 3, "height": 4}
PERSON = {"start": 0, "end": 3, "label": "PER"}
OFFSETS = {"id": 1, "label": "PER", "start_offset": 0, "end_offset": 3}
OPTIONS = [{"id": "a"}, {"id": "b"}]
DOC = {"id": 7, "text": "x"}
CAT = [("w1", "7", "cat")]
CLASSIFIER = {**W1, "answerContent": {"crowd-classifier": {"label": "cat"}}}
TICKS = {**W1, "answerContent": {"pet": {"cat": True, "dog": False}}}
RADIO = {"name": "mood", "radio_answer": {"name": "sad"}}
OBJECTS = [{"name": "cat", "bounding_box": SIDES}, {"name": "m", "mask": {}}]
PAIR = {"question_id": 81, "model_1": "m", "model_2": "n", "judge": ["gpt-4", "pair"], "turn": 1}
PERSON_SAID = {"question_id": 81, "model_a": "n", "model_b": "m", "judge": "ada", "turn": 1, "winner": "model_b"}
SCORED = {"question_id": 81, "model": "m", "judge": ["gpt-4", "single"], "turn": 2, "score": 7}
COMPARED = {"instruction": "Say x.", "output_1": "x", "output_2": "y", "generator_1": "m", "generator_2": "n"}
RECORDS: dict[str, tuple[list[Any], list[tuple[Any, ...]]]] = {
    **{
        f"argilla, {form}": ([{"id": "r1", "fields": {"text": "x"}, **record}], MOODS)
        for form, record in ARGILLA.items()
    },
    "argilla, wrapped": ([{"items": [{"id": "r1", **ARGILLA["flat"]}], "total": 1}], MOODS),
    "argilla, stars": ([{"id": 1, "responses": {"q": [said(4)]}}], [("u1", 1, 4)]),
    "argilla, tags": ([{"id": 1, "responses": {"q": [said(["a", "b"])]}}], [("u1", 1, {"a", "b"})]),
    "argilla, ranks": ([{"id": 1, "responses": {"q": [said(RANKED)]}}], [("u1", 1, ["a", "b"])]),
    "ground-truth, classifier": ([{"answers": [CLASSIFIER], "id": "7"}], CAT),
    "ground-truth, ticks": ([{"answers": [TICKS], "id": "7"}], CAT),
    "ground-truth, loop": ([{"humanAnswers": [W1], "humanLoopName": "7"}], CAT),
    "ground-truth, object": ([{"datasetObjectId": "7", "annotations": [CONTENT]}], CAT),
    "ground-truth, manifest": ([{"source-ref": "7", "job": {"annotationsFromAllWorkers": [CONTENT]}}], CAT),
    "doccano, sets": ([{**DOC, "username": "ada", "labels": ["a", "b"]}], [("ada", 7, {"a", "b"})]),
    "doccano, entities": (
        [{**DOC, "username": "u", "entities": [OFFSETS], "relations": []}],
        [("u", 7, [[0, 3, "PER"]])],
    ),
    "doccano, texts": ([{**DOC, "annotations": [{"text": "a tale", "user": "ada"}]}], [("ada", 7, "a tale")]),
    "doccano, boxes": ([{**DOC, "username": "ada", "bbox": [{**BOX, "label": "cat"}]}], [("ada", 7, [BBOX])]),
    "prodigy, choices, one ignored": (
        [prodigy("ada", options=OPTIONS, accept=["a"]), prodigy("eve", options=OPTIONS, accept=[], answer="ignore")],
        [("ada", 2, "a")],
    ),
    "prodigy, no spans": (
        [prodigy("ada", _view_id="ner_manual", spans=[PERSON]), prodigy("bob", _view_id="ner_manual", spans=[])],
        [("ada", 2, [[0, 3, "PER"]]), ("bob", 2, [])],
    ),
    "prodigy, sounds": (
        [prodigy("ada", _view_id="audio_manual", audio_spans=[{"start": 0.5, "end": 1.5, "label": "bark"}])],
        [("ada", 2, [[0.5, 1.5, "bark"]])],
    ),
    "prodigy, blocks": (
        [prodigy("ada", _view_id="blocks", spans=[{**PERSON, "token_start": 0, "token_end": 0}])],
        [("ada", 2, [[0, 3, "PER"]])],
    ),
    "prodigy, hashes of tasks that join nobody": (
        [prodigy("ada", _task_hash=5), prodigy("bob", _task_hash=6)],
        [("ada", 1, "accept"), ("bob", 1, "accept")],
    ),
    "mt-bench, winners": (
        [{**PAIR, "g1_winner": "model_1", "g2_winner": "tie"}, PERSON_SAID, {**PAIR, "g1_winner": "error"}],
        [("ada", "81 | turn 1 | m | n", "m"), ("gpt-4 pair", "81 | turn 1 | m | n", "m")],
    ),
    "mt-bench, scores": ([SCORED, {**SCORED, "score": -1}], [("gpt-4 single", "81 | turn 2 | m", 7)]),
    "alpaca_eval, preferences": (
        [
            {**COMPARED, "annotator": who, "preference": said}
            for who, said in zip("abcd", (1.0, 2, 0, None), strict=True)
        ],
        [("a", "Say x.", 1), ("b", "Say x.", 2), ("c", "Say x.", 1.5)],
    ),
    "alpaca_eval, other outputs": (
        [{**COMPARED, "annotator": "a", "preference": 1, "output_1": output} for output in ("x", "z")],
        [("a", "Say x. #85da7f0e", 1), ("a", "Say x. #9cb0d33a", 1)],
    ),
    "labelbox, radio": ([labelbox("ada", classifications=[RADIO]), labelbox("bob")], [("ada", "a.jpg", "sad")]),
    "labelbox, boxes beside masks": (
        [labelbox("ada", objects=OBJECTS), labelbox("bob")],
        [("ada", "a.jpg", [BBOX]), ("bob", "a.jpg", [])],
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_read(name: str, tmp_path: Path) -> None:
    records, expected = RECORDS[name]
    path = write(tmp_path / "export.jsonl", records)
    assert recognised(path) == [name.partition(",")[0]]
    assert answers(path, question={"labelbox, boxes beside masks": "boxes"}.get(name)) == expected
    if expected is MOODS:
        assert opened(path).remarks[0].startswith("Excluded: 1 responses")


NAMELESS = {
    "doccano": ("jsonl", [{"id": 1, "text": "x", "label": ["a"]}]),
    "prodigy": ("jsonl", [prodigy(None)]),
    "coco": ("json", coco()),
    "cvat": ("xml", CVAT),
}


@pytest.mark.parametrize("tool", NAMELESS)
def test_records_without_workers_need_a_file_for_each_annotator(tool: str, tmp_path: Path) -> None:
    ending, content = NAMELESS[tool]
    ada, bob = (write(tmp_path / f"{name}.{ending}", content) for name in ("ada", "bob"))
    question = "boxes" if tool == "cvat" else None
    assert {row[0] for row in answers(ada, bob, question=question)} == {"ada", "bob"}
    assert {row[0] for row in answers(ada, question=question, worker_from="filename")} == {"ada"}
    with pytest.raises(InputError, match="does not name the annotators"):
        opened(ada, question=question)


def test_some_records_without_workers_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "some.jsonl", [prodigy("ada"), prodigy(None)])
    with pytest.raises(InputError, match="record 2 .*'worker' is missing"):
        opened(path)


def test_a_worker_response_file_of_ground_truth_is_about_its_folder(tmp_path: Path) -> None:
    content = {"answers": [{**W1, "submissionTime": "2024"}]}
    paths = [write(tmp_path / f"iteration-1/{number}/2024-01-01_10.json", content) for number in (0, 1)]
    assert [row[1] for row in answers(*paths)] == ["0", "1"]


def test_brat_has_a_folder_for_each_annotator(tmp_path: Path) -> None:
    write(tmp_path / "all/ada/doc1.ann", "T1\tPER 0 3\tAda\nT2\tPER 5 8;10 12\tBo b\nR1\tkin Arg1:T1 Arg2:T2\n")
    write(tmp_path / "all/bob/doc1.ann", "T1\tPER 0 3\tAda\n")
    write(tmp_path / "all/bob/doc2.ann", "")
    rows = [
        ("ada", "doc1", [[0, 3, "PER"], [5, 8, "PER"], [10, 12, "PER"]]),
        ("bob", "doc1", [[0, 3, "PER"]]),
        ("bob", "doc2", []),
    ]
    folder = tmp_path / "all"
    assert recognised(folder) == ["brat"]
    assert answers(folder) == answers(folder / "ada", folder / "bob") == rows
    assert answers(folder / "ada" / "doc1.ann", folder / "bob" / "doc1.ann") == rows[:2]
    with pytest.raises(InputError, match="of one annotator") as error:
        opened(folder / "bob")
    assert error.value.options == {"worker_from": "filename"}
    assert {row[0] for row in answers(folder / "bob", worker_from="filename")} == {"doc1", "doc2"}


def test_conll_has_a_column_or_a_file_for_each_annotator(tmp_path: Path) -> None:
    both = write(tmp_path / "both.txt", "token ada bob\nAda B-PER B-PER\nruns O ?\n\nBob O B-PER\n")
    assert recognised(both) == ["conll"]
    tags = {"ada": ["B-PER", "O", "O"], "bob": ["B-PER", "O", "B-PER"]}
    places = ["1.1", "1.2", "2.1"]
    rows = [(name, place, tag) for name, own in tags.items() for place, tag in zip(places, own, strict=True)]
    assert answers(both) == [row for row in rows if row[:2] != ("bob", "1.2")]
    ada = write(tmp_path / "ada.conll", "-DOCSTART- -X- O\n\nAda NN B-PER\nruns VB O\n\nBob NN O\n")
    bob = write(tmp_path / "bob.conll", "Ada NN B-PER\nruns VB O\n\nBob NN B-PER\n")
    assert answers(ada, bob) == rows
    moved = [write(tmp_path / f"{name}/doc.conll", ada.read_text()) for name in ("ada", "bob")]
    moved += [write(tmp_path / f"{name}/two.conll", "Eve NN B-PER\n") for name in ("ada", "bob")]
    assert [row[1] for row in answers(*moved) if row[0] == "ada"] == ["doc:1.1", "doc:1.2", "doc:2.1", "two:1.1"]
    other = write(tmp_path / "eve.conll", "Ada NN B-PER\nran VB O\n\nBob NN B-PER\n")
    with pytest.raises(InputError, match="token 2 of sentence 1 .*'ran'"):
        opened(ada, other)
    moved_break = write(tmp_path / "sam.conll", "Ada NN B-PER\n\nruns VB O\nBob NN B-PER\n")
    with pytest.raises(InputError, match="token 1 of sentence 2 .*'runs'"):
        opened(ada, moved_break)
