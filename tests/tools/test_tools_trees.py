"""Exports of tools in JSON and lines of text: real ones, and their variants."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.domains.rankings.kernels import list_items
from allalike.errors import InputError
from files.tool_exports import (
    answers,
    counted,
    labelbox,
    opened,
    prodigy,
    recognised,
    write,
)

TOOL_OF_SAMPLE = {
    "brat.ann": "brat",
    "conll.txt": "conll",
    "cvat.xml": "cvat",
    "doccano-classes.jsonl": "doccano",
    "doccano-spans.jsonl": "doccano",
    "judgebench-Ray2333-41.jsonl": "judgebench",
    "label-studio-boxes.json": "label-studio",
    "label-studio-coders.json": "label-studio",
    "peerannot.json": "peerannot",
    "prodigy.jsonl": "prodigy",
}


@pytest.mark.parametrize(("sample", "tool"), TOOL_OF_SAMPLE.items())
def test_a_real_export_is_recognised_by_its_tool_alone(sample: str, tool: str, exports: Path) -> None:
    assert recognised(exports / sample) == [tool]


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_plain_records_are_no_export_of_a_tool(ending: str, tmp_path: Path) -> None:
    plain = [
        {"worker": "ada", "task": 1, "label": "x"},
        {"worker": "ada", "task": 1, "label": ["x", "y"], "text": "a tale"},
        {"annotator": "ada", "id": 1, "text": "a tale", "label": [[0, 1, "PER"]]},
        {"user_id": 7, "question_id": 1, "answer": "x", "score": 3},
        {"worker": {"0": "ada"}, "task": {"0": 1}, "label": {"0": "x"}},
    ]
    for number, record in enumerate(plain):
        assert recognised(write(tmp_path / f"{number}.{ending}", [record, record])) == []
        assert recognised(write(tmp_path / f"one{number}.json", record)) == []


def test_a_long_file_is_recognised_by_its_beginning(tmp_path: Path) -> None:
    images = [{"id": n, "file_name": f"{n}.jpg", "note": "x" * 300} for n in range(1000)]
    assert recognised(write(tmp_path / "coco.json", {"info": {}, "images": images, "annotations": []})) == ["coco"]
    tasks = [{"id": 1, "data": {"text": "x" * 200_000}, "annotations": [{"result": []}]}]
    assert recognised(write(tmp_path / "tasks.json", [{"id": 0, "annotations": [{"result": []}]}, *tasks])) == [
        "label-studio"
    ]


def test_records_that_a_program_wraps_are_read_all_the_same(tmp_path: Path) -> None:
    record = {"id": 1, "responses": [{"values": {"q": {"value": "x"}}, "user_id": "u", "status": "submitted"}]}
    path = write(tmp_path / "page.json", {"items": [record], "total": 1})
    assert recognised(path) == ["argilla"]
    assert answers(path) == [("u", 1, "x")]


def test_folders_are_annotators_where_files_have_the_same_names(tmp_path: Path) -> None:
    documents = [{"id": 1, "text": "x", "label": ["a"]}], [{"id": 2, "text": "x", "label": ["b"]}]
    paths = [
        write(tmp_path / f"{name}/part{number}.jsonl", document)
        for name in ("ada", "bob")
        for number, document in enumerate(documents)
    ]
    assert answers(*paths) == [("ada", 1, "a"), ("ada", 2, "b"), ("bob", 1, "a"), ("bob", 2, "b")]


def test_a_packed_export_is_read(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "answers.json.gz", "wt") as file:
        file.write('{"t1": {"ada": 1, "bob": 2}}')
    assert answers(tmp_path / "answers.json.gz") == [("ada", "t1", 1), ("bob", "t1", 2)]


def test_doccano_has_its_users_as_workers(exports: Path) -> None:
    assert answers(exports / "doccano-classes.jsonl") == [(1, 2591, 15), (1, 2592, 17), (1, 2593, 17)]
    spans = answers(exports / "doccano-spans.jsonl")
    assert [(row[0], row[1], len(row[2])) for row in spans] == [(1, 2578, 5), (2, 2578, 5), (2, 2580, 6)]
    assert spans[0][2][0] == [9, 14, "12"]


def test_doccano_has_one_file_for_each_annotator(tmp_path: Path) -> None:
    ada = write(tmp_path / "ada.jsonl", [{"id": 1, "text": "x", "label": ["sad"]}, {"id": 2, "text": "y", "label": []}])
    bob = write(tmp_path / "bob.jsonl", [{"id": 1, "text": "x", "label": ["sad"], "Comments": []}])
    assert answers(ada, bob) == [("ada", 1, "sad"), ("bob", 1, "sad")]
    with pytest.raises(InputError, match="holds 2 documents and does not say who labelled them"):
        opened(ada)


@pytest.mark.parametrize(
    ("record", "label"),
    [
        ({"labels": ["a", "b"]}, {"a", "b"}),
        ({"label": [[0, 3, "PER"]]}, [[0, 3, "PER"]]),
        (
            {"entities": [{"id": 1, "label": "PER", "start_offset": 0, "end_offset": 3}], "relations": []},
            [[0, 3, "PER"]],
        ),
        ({"annotations": [{"text": "a tale", "user": "ada"}]}, "a tale"),
        ({"bbox": [{"x": 1, "y": 2, "width": 3, "height": 4, "label": "c"}]}, [{"bbox": [1, 2, 3, 4], "label": "c"}]),
    ],
)
def test_doccano_writes_classes_spans_and_texts(record: dict[str, Any], label: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "all.jsonl", [{"id": 7, "text": "x", "username": "ada", **record}])
    assert recognised(path) == ["doccano"]
    assert answers(path) == [("ada", 7, label)]


def test_prodigy_has_the_answers_and_not_the_question(exports: Path) -> None:
    table = opened(exports / "prodigy.jsonl")
    assert counted(table) == (900, 29, 101)
    assert Counter(table.load(["label"])["label"]) == {"accept": 498, "reject": 326, "ignore": 76}


def test_prodigy_has_choices_spans_and_texts_where_they_were_accepted(tmp_path: Path) -> None:
    options = [{"id": "a"}, {"id": "b"}]
    rows = [
        prodigy("ada", options=options, accept=["a"]),
        prodigy("bob", options=options, accept=["b"]),
        prodigy("eve", options=options, accept=[], answer="ignore"),
    ]
    path = write(tmp_path / "choices.jsonl", rows)
    assert answers(path) == [("ada", 2, "a"), ("bob", 2, "b")]
    assert opened(path).remarks == ("Left out: 1 answers 'ignore'.",)
    span = {"start": 0, "end": 3, "label": "PER", "token_start": 0}
    rows = [prodigy("ada", _view_id="ner_manual", spans=[span]), prodigy("bob", _view_id="ner_manual", spans=[])]
    assert answers(write(tmp_path / "ner.jsonl", rows)) == [("ada", 2, [[0, 3, "PER"]]), ("bob", 2, [])]


def test_a_task_of_prodigy_is_its_input_where_the_hashes_of_tasks_join_nobody(tmp_path: Path) -> None:
    rows = [prodigy("ada", _task_hash=5), prodigy("bob", _task_hash=6)]
    assert [row[1] for row in answers(write(tmp_path / "a.jsonl", rows))] == [1, 1]
    assert [row[1] for row in answers(write(tmp_path / "b.jsonl", [*rows, prodigy("eve", _task_hash=6)]))] == [5, 6, 6]


def test_prodigy_without_names_needs_a_file_for_each_annotator(tmp_path: Path) -> None:
    ada, bob = write(tmp_path / "ada.jsonl", [prodigy(None)]), write(tmp_path / "bob.jsonl", [prodigy(None)])
    assert [row[0] for row in answers(ada, bob)] == ["ada", "bob"]
    with pytest.raises(InputError, match="does not say whose they are"):
        opened(ada)


@pytest.mark.parametrize(
    "record",
    [
        {
            "responses": [
                {"values": {"mood": {"value": "sad"}}, "user_id": "u1", "status": "submitted"},
                {"values": {"mood": {"value": "odd"}}, "user_id": "u2", "status": "submitted"},
                {"values": {"mood": {"value": "sad"}}, "user_id": "u3", "status": "discarded"},
                {"values": None, "user_id": "u4", "status": "discarded"},
            ]
        },
        {
            "responses": {
                "mood": [
                    {"value": "sad", "user_id": "u1"},
                    {"value": "odd", "user_id": "u2"},
                    {"value": "sad", "user_id": "u3", "status": "discarded"},
                ]
            },
            "suggestions": {"mood": {"value": "glad", "agent": "gpt"}},
        },
        {
            "mood.responses": ["sad", "odd", "sad"],
            "mood.responses.users": ["u1", "u2", "u3"],
            "mood.responses.status": ["submitted", "submitted", "draft"],
            "mood.suggestion": "glad",
        },
        {
            "mood": [
                {"user_id": "u1", "value": "sad", "status": "submitted"},
                {"user_id": "u2", "value": "odd", "status": "submitted"},
                {"user_id": "u3", "value": "odd", "status": "draft"},
            ]
        },
    ],
)
def test_argilla_has_responses_in_four_forms(record: dict[str, Any], tmp_path: Path) -> None:
    path = write(tmp_path / "records.json", [{"id": "r1", "fields": {"text": "x"}, **record}])
    assert recognised(path) == ["argilla"]
    assert answers(path) == [("u1", "r1", "sad"), ("u2", "r1", "odd")]
    assert opened(path).remarks[0].startswith("Left out: 1 responses that are d")


def test_argilla_asks_which_question_and_reads_each_kind(tmp_path: Path) -> None:
    values = {
        "stars": 4,
        "tags": ["a", "b"],
        "spans": [{"start": 0, "end": 3, "label": "PER"}],
        "rank": [{"value": "b", "rank": 2}, {"value": "a", "rank": 1}],
    }
    given = {name: {"value": value} for name, value in values.items()}
    path = write(
        tmp_path / "records.json", [{"id": 1, "responses": [{"values": given, "user_id": "u1", "status": "submitted"}]}]
    )
    with pytest.raises(InputError, match="has 4 questions: .*'rank'.*'stars'"):
        opened(path)
    labels = {name: answers(path, tag=name)[0][2] for name in values}
    assert labels == {"stars": 4, "tags": {"a", "b"}, "spans": [[0, 3, "PER"]], "rank": ["a", "b"]}


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
    assert opened(folder).remarks == ("Left out: 1 relations.",)
    with pytest.raises(InputError, match="in 2 documents, of one annotator") as error:
        opened(folder / "bob")
    assert error.value.settles == {"worker_from": "filename"}
    assert {row[0] for row in answers(folder / "bob", worker_from="filename")} == {"doc1", "doc2"}


def test_conll_has_a_column_or_a_file_for_each_annotator(tmp_path: Path) -> None:
    both = write(tmp_path / "both.txt", "token ada bob\nAda B-PER B-PER\nruns O ?\n\nBob O B-PER\n")
    assert recognised(both) == ["conll"]
    rows = [
        ("ada", "1.1", "B-PER"),
        ("ada", "1.2", "O"),
        ("ada", "2.1", "O"),
        ("bob", "1.1", "B-PER"),
        ("bob", "2.1", "B-PER"),
    ]
    assert answers(both) == rows
    assert opened(both).remarks == ("Left out: 1 tokens without a tag.",)
    ada = write(tmp_path / "ada.conll", "-DOCSTART- -X- O\n\nAda NN B-PER\nruns VB O\n\nBob NN O\n")
    bob = write(tmp_path / "bob.conll", "Ada NN B-PER\nruns VB O\n\nBob NN B-PER\n")
    assert answers(ada, bob) == [*rows[:4], ("bob", "1.2", "O"), rows[4]]
    moved = [write(tmp_path / f"{name}/doc.conll", ada.read_text()) for name in ("ada", "bob")]
    moved += [write(tmp_path / f"{name}/two.conll", "Eve NN B-PER\n") for name in ("ada", "bob")]
    assert [row[1] for row in answers(*moved) if row[0] == "ada"] == ["doc:1.1", "doc:1.2", "doc:2.1", "two:1.1"]
    other = write(tmp_path / "eve.conll", "Ada NN B-PER\nran VB O\n\nBob NN B-PER\n")
    with pytest.raises(InputError, match="token 2 of sentence 1 is 'ran', but 'runs'"):
        opened(ada, other)


def test_a_judge_of_judgebench_has_one_decision_for_each_pair(exports: Path) -> None:
    paths = sorted(exports.glob("judgebench-*.jsonl"))
    table = opened(*paths)
    assert counted(table) == (180, 3, 60)
    columns = table.load(["label", "gold"])
    right = sum(label == gold for label, gold in zip(*columns.values(), strict=True))
    assert "180 pairs were judged in both orders" in table.remarks[0]
    assert right > 100  # the decisions in the wrong order would be right as often as wrong


@pytest.mark.parametrize(
    ("decisions", "label"),
    [
        (["A>B", "B>A"], "A>B"),
        (["A>B", "A>B"], "A=B"),
        (["A=B", "A>B"], "B>A"),
        (["B>A"], "B>A"),
        ([None, "A>B"], "B>A"),
    ],
)
def test_decisions_in_both_orders_are_one(decisions: list[Any], label: str, tmp_path: Path) -> None:
    judgments = [None if said is None else {"judgment": {"judge_model": "m"}, "decision": said} for said in decisions]
    path = write(tmp_path / "m.jsonl", [{"pair_id": "p", "label": "A>B", "judgments": judgments}])
    assert answers(path) == [("m", "p", label)]


def test_alpaca_eval_has_preferences(tmp_path: Path) -> None:
    def row(who: str, preference: Any, output: str = "x") -> dict[str, Any]:
        asked = {"instruction": "Say x.", "output_1": output, "output_2": "y", "generator_1": "m", "generator_2": "n"}
        return {**asked, "annotator": who, "preference": preference}

    path = write(tmp_path / "annotations.json", [row("gpt", 1.0), row("ada", 2), row("bob", 0), row("eve", None)])
    assert recognised(path) == ["alpaca_eval"]
    assert answers(path) == [("ada", "Say x.", 2), ("bob", "Say x.", 1.5), ("gpt", "Say x.", 1)]
    more = answers(write(tmp_path / "more.json", [row("gpt", 1), row("gpt", 2, output="z")]))
    assert len({task for _, task, _ in more}) == 2


def test_mt_bench_has_winners_by_name_and_scores(tmp_path: Path) -> None:
    pair = {"question_id": 81, "model_1": "m", "model_2": "n", "judge": ["gpt-4", "pair-v2"], "turn": 1}
    person = {"question_id": 81, "model_a": "n", "model_b": "m", "judge": "author_1", "turn": 1, "winner": "model_b"}
    rows = [{**pair, "g1_winner": "model_1", "g2_winner": "tie"}, person, {**pair, "g1_winner": "error"}]
    path = write(tmp_path / "pairs.jsonl", rows)
    assert recognised(path) == ["mt-bench"]
    assert answers(path) == [("author_1", "81 | turn 1 | m | n", "m"), ("gpt-4 pair-v2", "81 | turn 1 | m | n", "m")]
    single = {"question_id": 81, "model": "m", "judge": ["gpt-4", "single-v1"], "turn": 2, "score": 7}
    assert answers(write(tmp_path / "single.jsonl", [single])) == [("gpt-4 single-v1", "81 | turn 2 | m", 7)]


def test_peerannot_has_workers_in_the_inner_keys(exports: Path) -> None:
    assert counted(opened(exports / "peerannot.json")) == (9, 4, 3)


@pytest.mark.parametrize(
    ("sample", "voters", "partial", "tied"),
    [("partial.soi", 475, 167, 0), ("tied.toc", 475, 0, 41), ("tied-partial.toi", 9788, 9781, 32)],
)
def test_orders_may_have_gaps_and_ties(sample: str, voters: int, partial: int, tied: int, exports: Path) -> None:
    answers = allalike.read(exports / sample)
    labels = answers.encoding.decode(answers.label).tolist()
    assert answers.domain.name == "ranking"
    assert len(labels) == voters
    assert sum(any(isinstance(place, list) for place in label) for label in labels) == tied
    n_items = max(len(list_items(tuple(map(tuple_of, label)))) for label in labels)
    assert sum(len(list_items(tuple(map(tuple_of, label)))) < n_items for label in labels) == partial


def tuple_of(place: Any) -> Any:
    return tuple(place) if isinstance(place, list) else place


def test_orders_that_happen_to_be_complete_are_rankings(tmp_path: Path) -> None:
    path = write(tmp_path / "v.toi", "# DATA TYPE: toi\n# NUMBER ALTERNATIVES: 2\n2: 2,{1}\n1: 1,2\n")
    assert allalike.read(path).domain.name == "ranking"
    with pytest.raises(InputError, match="has alternative 9, which has no name"):
        opened(write(tmp_path / "w.soi", "# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: y\n1: 9,1\n"))


@pytest.mark.parametrize(
    "record",
    [
        {"answers": [{"workerId": "w1", "answerContent": {"crowd-classifier": {"label": "cat"}}}], "id": "7"},
        {"answers": [{"workerId": "w1", "answerContent": {"pet": {"cat": True, "dog": False}}}], "id": "7"},
        {"humanAnswers": [{"workerId": "w1", "answerContent": {"pet": "cat"}}], "humanLoopName": "7"},
        {
            "datasetObjectId": "7",
            "annotations": [{"workerId": "w1", "annotationData": {"content": '{"pet": {"label": "cat"}}'}}],
        },
        {
            "source-ref": "7",
            "job": {"annotationsFromAllWorkers": [{"workerId": "w1", "annotationData": {"content": '{"pet": "cat"}'}}]},
        },
    ],
)
def test_ground_truth_has_the_answers_of_workers(record: dict[str, Any], tmp_path: Path) -> None:
    path = write(tmp_path / "responses.json", [record])
    assert recognised(path) == ["ground-truth"]
    assert answers(path) == [("w1", "7", "cat")]


def test_a_worker_response_file_of_ground_truth_is_about_its_folder(tmp_path: Path) -> None:
    said = {"answers": [{"workerId": "w1", "answerContent": {"pet": {"label": "cat"}}, "submissionTime": "2024"}]}
    paths = [write(tmp_path / f"iteration-1/{number}/2024-01-01_10.json", said) for number in (0, 1)]
    assert [row[1] for row in answers(*paths)] == ["0", "1"]


def test_labelbox_has_classifications_and_objects_of_labellers(tmp_path: Path) -> None:
    mood = {"name": "mood", "radio_answer": {"name": "sad"}}
    box = {"name": "cat", "bounding_box": {"left": 1, "top": 2, "width": 3, "height": 4}}
    rows = [labelbox("ada", classifications=[mood], objects=[box, {"name": "m", "mask": {}}]), labelbox("bob")]
    path = write(tmp_path / "export.ndjson", "\n".join(map(json.dumps, rows)))
    assert recognised(path) == ["labelbox"]
    assert answers(path, tag="mood") == [("ada", "a.jpg", "sad")]
    assert answers(path, tag="boxes") == [
        ("ada", "a.jpg", [{"bbox": [1, 2, 3, 4], "label": "cat"}]),
        ("bob", "a.jpg", []),
    ]
    assert "1 objects of other kinds, such as masks" in " ".join(opened(path, tag="boxes").remarks)
    old = {"DataRow ID": "r", "Created By": "ada", "Label": {"classifications": [{"title": "q", "answer": "a tale"}]}}
    assert answers(write(tmp_path / "old.json", [old])) == [("ada", "r", "a tale")]
