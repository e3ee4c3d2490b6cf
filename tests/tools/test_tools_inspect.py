"""Logs of Inspect: who judged what, which verdicts are none, and what is wrong with an archive."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike._core import limits
from allalike.answers.misreadings import find_misreadings
from allalike.errors import InputError
from files.evaluation_logs import (
    SECRET,
    ZSTANDARD,
    eval_members,
    inspect_log,
    inspect_sample,
    panel_score,
    write_eval,
    write_zstandard,
)
from files.tool_exports import answers, opened, recognised, write

GRADERS = ["openai/a", {"model": "b", "config": {}}]
VOTES = {1: ("C", "C"), 2: ("I", "C"), 3: ("P", None)}
PANEL = inspect_log(
    [inspect_sample(item, {"model_graded_qa": panel_score(*votes)}) for item, votes in VOTES.items()], graders=GRADERS
)
ROWS = [("b", 1, "C"), ("b", 2, "C"), ("openai/a", 1, "C"), ("openai/a", 2, "I"), ("openai/a", 3, "P")]
FORMS = [ZSTANDARD, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED]


@pytest.mark.parametrize("method", FORMS)
def test_each_grader_of_a_panel_is_a_worker_in_an_archive(method: int, tmp_path: Path) -> None:
    path = write_eval(tmp_path / "log.eval", PANEL, method)

    assert recognised(path) == ["inspect"]
    assert answers(path) == ROWS
    assert "Left out: 1 cases without a verdict." in opened(path).remarks


def test_nothing_but_ids_and_verdicts_is_taken_from_a_log(tmp_path: Path) -> None:
    table = opened(write_eval(tmp_path / "log.eval", PANEL))

    assert table.names == ["worker", "task", "label", "sample"]
    assert SECRET not in repr(table.load(table.names))


def test_epochs_are_samples_of_which_the_first_is_read(tmp_path: Path) -> None:
    votes = {2: "I", 1: "C", 3: "I"}  # an archive has them in any order
    samples = [inspect_sample("x", {"match": vote, "includes": "C"}, epoch) for epoch, vote in votes.items()]
    path = write_eval(tmp_path / "log.eval", inspect_log(samples))
    table = opened(path)

    columns = table.load(["worker", "label", "sample"])
    assert sorted(zip(*columns.values(), strict=True))[3:] == [("match", "C", 1), ("match", "I", 2), ("match", "I", 3)]
    read = allalike.read(path)
    assert read.n_answers == 2
    assert read.encoding.decode(read.label).tolist() == ["C", "C"]
    assert "which there are up to 3" in table.remarks[0]


def test_many_samples_are_no_reason_to_doubt_the_columns(tmp_path: Path) -> None:
    samples = [
        inspect_sample(item, {"a": "CI"[item % 2], "b": "CI"[item % 2], "c": "C"}, epoch)
        for item in range(6)
        for epoch in (1, 2, 3)
    ]
    read = allalike.read(write_eval(tmp_path / "log.eval", inspect_log(samples)))
    assert (read.n_answers, read.notes["repeats_set_aside"]) == (18, 36)
    assert "repeats" not in find_misreadings(read)
    plain = [(judge, item, "x") for judge in "ab" for item in (1, 2) for _ in range(3)]
    assert "repeats" in find_misreadings(allalike.read(plain, domain="categorical"))


def test_refusals_are_no_class_beside_grades_but_one_beside_yes(tmp_path: Path) -> None:
    grades = [inspect_sample(1, {"a": "C", "b": "N", "c": 0.5}), inspect_sample(2, {"a": "I", "b": "P"})]
    table = opened(write(tmp_path / "log.json", inspect_log(grades)), tag="judges")
    assert set(table.load(["label"])["label"]) == {"C", "I", "P"}
    assert "Left out: 1 cases without a verdict." in table.remarks

    words = [inspect_sample(1, {"a": "Y", "b": "N"})]
    assert answers(write(tmp_path / "words.json", inspect_log(words))) == [("a", 1, "Y"), ("b", 1, "N")]


def models(tmp_path: Path, *names: str, **scores: Any) -> list[Path]:
    told = {"match": {"value": "C", "answer": "yes"}, **scores}
    return [write_eval(tmp_path / f"{name}.eval", inspect_log([inspect_sample(7, told)], model=name)) for name in names]


def test_several_models_are_workers_with_answers_or_scores(tmp_path: Path) -> None:
    paths = models(tmp_path, "a", "b")
    with pytest.raises(InputError, match="2 questions") as asked:
        opened(*paths)
    assert [proposal.settles for proposal in asked.value.proposals] == [{"tag": "answers"}, {"tag": "scores"}]
    assert answers(*paths, tag="scores") == [("a", 7, "C"), ("b", 7, "C")]
    table = opened(*paths, tag="answers")
    assert table.load(["worker", "label", "gold"]) == {"worker": ["a", "b"], "label": ["yes"] * 2, "gold": ["yes"] * 2}
    assert any("gold" in remark for remark in table.remarks)


def test_where_models_and_judges_vary_one_question_is_asked(tmp_path: Path) -> None:
    paths = models(tmp_path, "a", "b", includes="I")
    with pytest.raises(InputError) as asked:
        opened(*paths)
    tags = [proposal.settles["tag"] for proposal in asked.value.proposals]
    assert tags == ["judges", "answers", "scores: by includes", "scores: by match"]
    assert answers(*paths, tag="judges") == [
        ("includes", "7 | a", "I"),
        ("includes", "7 | b", "I"),
        ("match", "7 | a", "C"),
        ("match", "7 | b", "C"),
    ]
    assert answers(*paths, tag="scores: by includes") == [("a", 7, "I"), ("b", 7, "I")]


@pytest.mark.parametrize(
    ("scorers", "roles", "score", "judges"),
    [
        ([{"name": "qa", "options": {"model": ["a", "a"]}}], None, panel_score("C", "I"), ["a", "a (2)"]),
        ([{"name": "qa"}], None, panel_score("C", "I"), ["qa 1", "qa 2"]),
        ([{"name": "qa"}], None, panel_score("C", "I", judges=["x", "y"]), ["x", "y"]),
        (
            [{"name": "model_graded_qa"}],
            {"grader": [{"model": "a"}, {"model": "b"}]},
            panel_score("C", "I"),
            ["a", "b"],
        ),
        ([{"name": "model_graded_qa"}], {"grader": {"model": "a"}}, {"value": "C"}, ["a"]),
        ([{"name": "allalike/qa", "options": {"model": "a"}}], None, {"value": "C"}, ["a"]),
    ],
)
def test_judges_are_named_by_the_models_that_grade(
    scorers: Any, roles: Any, score: Any, judges: list[str], tmp_path: Path
) -> None:
    name = scorers[0]["name"].rpartition("/")[2]
    samples = [inspect_sample(1, {name: score, "match": "C"})]
    path = write(tmp_path / "log.json", inspect_log(samples, scorers=scorers, model_roles=roles))
    assert {worker for worker, _, _ in answers(path)} == {*judges, "match"}


def test_a_panel_that_kept_no_votes_is_told(tmp_path: Path) -> None:
    samples = [inspect_sample(1, {"model_graded_qa": "C", "match": "I"})]
    table = opened(write(tmp_path / "log.json", inspect_log(samples, graders=["a", "b"])))
    assert "1 panels that kept no verdict of their graders" in table.remarks[0]
    assert table.load(["worker"]) == {"worker": ["model_graded_qa", "match"]}


def test_a_score_of_several_values_has_a_question_for_each(tmp_path: Path) -> None:
    samples = [inspect_sample(1, {"a": {"value": {"clear": 1, "true": 2}}, "b": {"value": {"clear": 3, "true": None}}})]
    path = write(tmp_path / "log.json", inspect_log(samples))
    assert answers(path, tag="judges: clear") == [("a", 1, 1), ("b", 1, 3)]
    assert answers(path, tag="scores: true") == [("m", 1, 2)]


def test_what_a_killed_run_has_left_is_read(tmp_path: Path) -> None:
    members = eval_members(PANEL)
    del members["header.json"]
    failed = inspect_sample(4, {}, error={"message": SECRET})
    members |= eval_members(inspect_log([failed], graders=GRADERS)) | {"header.json": members["_journal/start.json"]}
    path = write_zstandard(tmp_path / "log.eval", members)
    assert answers(path) == ROWS
    assert "1 samples without a score" in opened(path).remarks[0]


def damaged(path: Path, **how: Any) -> str:
    with pytest.raises(InputError) as refused:
        opened(path, **how)
    assert path.name in str(refused.value)
    return str(refused.value)


def test_an_archive_that_is_cut_is_named(tmp_path: Path) -> None:
    path = write_eval(tmp_path / "log.eval", PANEL)
    whole = path.read_bytes()
    for end in (len(whole) // 2, len(whole) - 1, 4, 0):
        path.write_bytes(whole[:end])
        assert "Is it complete?" in damaged(path)


def test_wrong_bytes_in_an_archive_are_named(tmp_path: Path) -> None:
    path = write_eval(tmp_path / "log.eval", PANEL)
    whole = path.read_bytes()
    place = whole.rindex(b"PK\x03\x04")
    for wrong in (place, place + 70):  # before the file, and in it
        path.write_bytes(whole[:wrong] + bytes(8) + whole[wrong + 8 :])
        assert "header.json: " in damaged(path)


@pytest.mark.parametrize(("size", "said"), [(1 << 31, "unpacks to more than"), (7, "Is it complete?")])
def test_sizes_that_are_not_true_are_refused(size: int, said: str, tmp_path: Path) -> None:
    assert said in damaged(write_zstandard(tmp_path / "log.eval", eval_members(PANEL), size=size))


def test_what_is_encrypted_is_refused(tmp_path: Path) -> None:
    assert "it is encrypted" in damaged(write_zstandard(tmp_path / "log.eval", eval_members(PANEL), flags=1))


def test_a_log_may_have_more_files_than_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = eval_members(PANEL) | {f"more/{number}": b"" for number in range(limits.MAX_MEMBERS)}
    path = write_zstandard(tmp_path / "log.eval", members)
    assert answers(path) == ROWS
    monkeypatch.setattr("allalike.readers.formats.compression.MAX_SAMPLES", 10_003)
    assert "an archive may hold 10,003 files" in damaged(path)
