"""Spans and points in files and exports of tools: what is recognised, and what is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.errors import InputError, LabelError
from running.program import call

SPANS = [[[0, 4, "PER"]], [[0, 4, "PER"], [9, 12, "LOC"]], []]


def rows(labels: list[Any]) -> list[tuple[int, int, Any]]:
    return [(worker, 1, label) for worker, label in enumerate(labels)]


@pytest.mark.parametrize(
    "labels",
    [
        SPANS,
        [json.dumps(spans) for spans in SPANS],
        [[{"start": start, "end": end, "label": tag} for start, end, tag in spans] for spans in SPANS],
        ["B-PER O O", "B-PER O B-LOC", "O O O"],
        [["B-PER", "O"], ["O", "O"]],
    ],
)
def test_spans_are_recognised(labels: list[Any]) -> None:
    assert allalike.read(rows(labels)).domain.name == "spans"


def test_single_tags_of_single_tokens_stay_classes() -> None:
    assert allalike.read(rows(["B-PER", "O", "B-PER", "O"])).domain.name == "categorical"


def test_points_are_recognised_and_the_radius_is_asked_for_with_the_command(tmp_path: Path) -> None:
    marks = [[{"x": 1.5, "y": 2, "tool": 0, "frame": 0, "details": []}, {"x": 31.5, "y": 42, "tool": 0}], []]
    with pytest.raises(LabelError, match=r"radius.* 50 is suggested.*domain='points\(radius=50\)'"):
        allalike.read(rows(marks))
    path = tmp_path / "marks.jsonl"
    lines = [{"worker": worker, "task": task, "label": mark} for task in (1, 2) for worker, mark in enumerate(marks)]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    asked = call("discover", path.name, folder=tmp_path)
    assert asked.returncode == 2
    assert "allalike discover marks.jsonl --domain 'points(radius=50)'" in asked.stderr
    assert not list(tmp_path.glob("*/"))


def test_stretches_in_seconds_are_not_taken_for_spans() -> None:
    with pytest.raises(LabelError, match="do not begin and end at whole numbers"):
        allalike.read(rows([[[0.5, 1.25, "bark"]], [[0.5, 1.5, "bark"]]]))


def test_doccano_marks_spans(exports: Path) -> None:
    assert allalike.read(exports / "doccano-spans.jsonl").domain.name == "spans"


def test_label_studio_marks_spans(exports: Path) -> None:
    answers = allalike.read(exports / "label-studio-coders.json", tag="label")
    assert (answers.domain.name, answers.n_answers) == ("spans", 89)
    assert {type(start) for label in answers.label for start, _, _ in label} == {float}


def test_brat_marks_spans(exports: Path, tmp_path: Path) -> None:
    text = (exports / "brat.ann").read_text(encoding="utf-8")
    for worker in ("ada", "bob"):
        (tmp_path / worker).mkdir()
        (tmp_path / worker / "text.ann").write_text(text, encoding="utf-8")
    answers = allalike.read(tmp_path)
    assert (answers.domain.name, len(answers.label[0])) == ("spans", 239)


def test_sentences_of_conll_are_spans_where_these_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "both.conll"
    path.write_text(
        "token ada bob\nAda B-PER B-PER\nLove I-PER O\nran O O\n\nBob O B-PER\n\nEve O ?\n", encoding="utf-8"
    )
    answers = allalike.read(path, tag="spans")
    assert answers.domain.name == "spans"
    assert answers.tasks.tolist() == ["1", "2", "3"]
    assert answers.n_answers == 5  # bob has not tagged the third
    assert [list(label) for label in answers.label[:2]] == [[(0.0, 2.0, "PER")], [(0.0, 1.0, "PER")]]
    assert allalike.read(path).domain.name == "categorical"
    with pytest.raises(InputError, match="none is called 'boxes'"):
        allalike.read(path, tag="boxes")


@pytest.mark.parametrize(
    ("head", "lines", "label", "domain"),
    [
        ("start,end,tag", ["ada,1,0,4,PER", "ada,1,9,12,LOC", "bob,1,,,"], "start end tag", "spans"),
        ("x,y", ["ada,1,0,4", "ada,1,9,12", "bob,1,,"], "x y", "points(radius=1)"),
    ],
)
def test_a_table_may_have_a_row_for_each(head: str, lines: list[str], label: str, domain: str, tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("\n".join([f"worker,task,{head}", *lines]), encoding="utf-8")
    answers = allalike.read(path, columns={"label": label}, domain=domain)
    assert sorted(map(len, answers.label)) == [0, 2]
